// SPDX-License-Identifier: Apache-2.0
#include "ops/meaning.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_WORD = 32, MANY_DIGITS = 16 };

// ---- formulas -----------------------------------------------------------------------

// Reads "(mul d (sub 1 (square y)))" from left to right, with a stack of the calls that
// still collect operands.
typedef struct reader {
  const char *at;
  const char *names;      // letters of operands
  const eg_op_info *info; // operator whose attributes words may name, or NULL
  eg_formula *out;
} reader;

// Copies the next word of a formula and moves the cursor behind it.
static void read_word(reader *r, char out[MAX_WORD]) {
  size_t length = strcspn(r->at, " ()");
  assert(length != 0 && length < MAX_WORD && "a formula of this program");
  memcpy(out, r->at, length);
  out[length] = '\0';
  r->at += length;
}

static uint8_t add_formula_term(reader *r, const eg_formula_term *term) {
  assert(r->out->count < EG_FORMULA_TERMS);
  r->out->terms[r->out->count] = *term;
  return (uint8_t)r->out->count++;
}

// True for a literal with so many digits that it stands for a number such as 1/6, rounded
// to a double.
static bool has_many_digits(const char *word) {
  uint32_t digits = 0;
  for (; *word != '\0'; word++)
    digits += isdigit((unsigned char)*word) != 0;
  return digits >= MANY_DIGITS;
}

static eg_formula_term read_atom(const reader *r, const char *word) {
  assert(word[0] != '\0');
  eg_formula_term term = {.kind = EG_FORMULA_NUMBER};
  const char *letter = word[1] == '\0' ? strchr(r->names, word[0]) : NULL;
  if (letter != NULL) {
    term.kind = EG_FORMULA_OPERAND;
    term.which = (uint8_t)(letter - r->names);
    return term;
  }
  for (uint16_t i = 0; r->info != NULL && i < r->info->attr_count; i++)
    if (strcmp(r->info->attrs[i].name, word) == 0) {
      term.kind = EG_FORMULA_ATTR;
      term.which = (uint8_t)i;
      return term;
    }
  bool parsed = eg_parse_double(word, &term.number);
  assert(parsed && "an operand, an attribute, or a number");
  (void)parsed;
  term.is_rounded = has_many_digits(word);
  return term;
}

static void read_formula(reader *r) {
  eg_formula_term stack[MAX_DEPTH];
  uint32_t depth = 0;
  for (;;) {
    char word[MAX_WORD];
    uint8_t made;
    while (*r->at == ' ')
      r->at++;
    if (*r->at == '(') {
      assert(depth < MAX_DEPTH);
      stack[depth] = (eg_formula_term){.kind = EG_FORMULA_CALL};
      r->at++;
      read_word(r, word);
      bool found = eg_op_find(word, &stack[depth++].op);
      assert(found && "an operator of the table");
      (void)found;
      continue;
    }
    if (*r->at == ')') {
      assert(depth > 0 && stack[depth - 1].count > 0);
      r->at++;
      made = add_formula_term(r, &stack[--depth]);
    } else {
      read_word(r, word);
      const eg_formula_term atom = read_atom(r, word);
      made = add_formula_term(r, &atom);
    }
    if (depth == 0) return;
    eg_formula_term *top = &stack[depth - 1];
    assert(top->count < EG_FORMULA_OPERANDS);
    top->kids[top->count++] = made;
  }
}

void eg_formula_read(const char *text, const char *names, eg_op op, eg_formula *out) {
  assert(text != NULL && names != NULL);
  out->count = 0;
  reader r = {.at = text,
              .names = names,
              .info = op < EG_OP_COUNT ? eg_op_info_of(op) : NULL,
              .out = out};
  read_formula(&r);
}

bool eg_formula_of(eg_op op, eg_formula *out) {
  const char *text = eg_op_info_of(op)->formula;
  if (text != NULL) eg_formula_read(text, "xyz", op, out);
  return text != NULL;
}

// ---- activations --------------------------------------------------------------------

eg_fused_act eg_fused_act_of(const eg_attrs *attrs) {
  const eg_attr *act = eg_attr_of_role(attrs, EG_AR_ACT); // its numbers come next
  return (eg_fused_act){.act = (eg_act)act[0].i, .alpha = act[1].f, .beta = act[2].f};
}

eg_op eg_act_operator(eg_act act) {
#define ACT_OP(id, name, op) [id] = EG_OP_##op,
  static const eg_op ops[EG_ACT_COUNT] = {EG_ACT_LIST(ACT_OP)};
#undef ACT_OP
  assert(act < EG_ACT_COUNT);
  return ops[act];
}

eg_attrs eg_act_attrs(eg_act act, double alpha, double beta, eg_attr slots[2]) {
  eg_op op = eg_act_operator(act);
  uint16_t count = eg_op_info_of(op)->attr_count;
  assert(count <= 2);
  eg_attrs_defaults(op, slots);
  for (uint16_t i = 0; i < count; i++)
    if (slots[i].kind == EG_ATTR_FLOAT) slots[i].f = i == 0 ? alpha : beta;
  if (op == EG_OP_GELU) slots[0].i = act == EG_ACT_GELU_TANH;
  return (eg_attrs){.op = (uint16_t)op, .count = count, .slots = slots};
}

// ---- windows ------------------------------------------------------------------------

static eg_ints ints_of_role(const eg_attrs *attrs, eg_attr_role role) {
  const eg_attr *attr = eg_attr_of_role(attrs, role);
  return attr != NULL ? attr->ints : (eg_ints){.data = NULL};
}

bool eg_op_windows(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                   eg_windows *out) {
  assert(count == 0 || inputs != NULL);
  *out = (eg_windows){.kernel = ints_of_role(attrs, EG_AR_KERNEL),
                      .strides = ints_of_role(attrs, EG_AR_STRIDES),
                      .pads = ints_of_role(attrs, EG_AR_PADS),
                      .dilations = ints_of_role(attrs, EG_AR_DILATIONS)};
  if (out->strides.data == NULL) return false;
  for (uint32_t i = 0; i < count && out->kernel.data == NULL; i++)
    if (eg_op_role((eg_op)attrs->op, i) == EG_ROLE_WEIGHT && inputs[i].rank > 2)
      out->kernel = (eg_ints){.data = inputs[i].dims + 2, .len = inputs[i].rank - 2};
  return out->kernel.data != NULL;
}
