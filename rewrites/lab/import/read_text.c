// Reads Tensat's texts: equations of calls, "f(x,g(y))==z", one after the other without a
// separator, and rules of S-expressions, "(f x (g y))=>z". One grammar reads both:
//
//   file := (term ("==" | "=>") term)*
//   term := input_N | ?input_N | number | name | name(term, ...) | (name term ...)
//
// In a file of rules with two results, every two equations are one rule: a right side may
// use variables that only the left side of the other equation has.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/substitution.h"

enum { MAX_DEPTH = 64, MAX_NUMBERS = 6, MAX_NAME = 32 };

typedef struct text_op {
  const char *name;
  int32_t kind;
  uint32_t operands, least; // numbers of operands, and of number arguments at least
  // Parameters that the text's numbers set, in order; ends with 0, which is never set.
  int32_t parameters[MAX_NUMBERS];
} text_op;

#define PM(ID) EG_SUBST_PM_##ID
static const text_op text_ops[] = {
    {"matmul", EG_SUBST_MATMUL, 2, 0, {PM(ACTIVATION)}},
    {"conv2d",
     EG_SUBST_CONV,
     2,
     4,
     {PM(STRIDE_H), PM(STRIDE_W), PM(PAD), PM(ACTIVATION)}},
    {"poolavg",
     EG_SUBST_AVERAGE_POOL,
     1,
     5,
     {PM(KERNEL_H), PM(KERNEL_W), PM(STRIDE_H), PM(STRIDE_W), PM(PAD), PM(ACTIVATION)}},
    {"poolmax",
     EG_SUBST_MAX_POOL,
     1,
     5,
     {PM(KERNEL_H), PM(KERNEL_W), PM(STRIDE_H), PM(STRIDE_W), PM(PAD), PM(ACTIVATION)}},
    {"concat", EG_SUBST_CONCAT, 2, 1, {PM(AXIS), PM(RANK)}},
    {"split", EG_SUBST_SPLIT, 1, 1, {PM(AXIS)}},
    {"enlarge", EG_SUBST_ENLARGE, 1, 2, {PM(KERNEL_H), PM(KERNEL_W)}},
    {"merge", EG_SUBST_MERGE_GCONV, 1, 1, {PM(MERGE_COUNT)}},
    {"transpose", EG_SUBST_TRANSPOSE, 1, 0, {PM(PERM), PM(SHUFFLE)}},
    {"smul", EG_SUBST_SCALE, 2, 0, {0}},
    {"ewadd", EG_SUBST_ADD, 2, 0, {0}},
    {"ewmul", EG_SUBST_MUL, 2, 0, {0}},
    {"relu", EG_SUBST_RELU, 1, 0, {0}},
    {"sigmoid", EG_SUBST_SIGMOID, 1, 0, {0}},
    {"tanh", EG_SUBST_TANH, 1, 0, {0}},
    {"dropout", EG_SUBST_DROPOUT, 1, 0, {0}},
    {"batchnorm", EG_SUBST_BATCH_NORM, 5, 0, {0}},
    {"reshape", EG_SUBST_RESHAPE, 1, 0, {0}},
    {"Cpool", EG_SUBST_POOL_KERNEL, 0, 2, {PM(KERNEL_H), PM(KERNEL_W)}},
    {"Iconv", EG_SUBST_CONV_ONE, 0, 2, {PM(KERNEL_H), PM(KERNEL_W)}},
    {"Imatmul", EG_SUBST_MATMUL_ONE, 0, 0, {0}},
    {"Iewmul", EG_SUBST_MUL_ONE, 0, 0, {0}},
};
#undef PM

typedef struct text_reader {
  const char *name; // name of the file
  const char *at, *end, *line_start;
  uint32_t line;
  eg_substitution *rule;
  eg_subst_side *side;
} text_reader;

/// An argument of an operator in the text: a number or a tensor.
typedef struct text_term {
  bool is_number;
  int32_t number;
  eg_subst_tensor tensor;
} text_term;

// ---- characters -----------------------------------------------------------------------

static egraph_status fail(const text_reader *r, const char *what) {
  return EG_FAIL(EGRAPH_E_PARSE, "%s:%u:%u: %s", r->name, r->line,
                 (unsigned)(r->at - r->line_start) + 1, what);
}

static void skip_blanks(text_reader *r) {
  for (; r->at < r->end &&
         (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n');
       r->at++)
    if (*r->at == '\n') {
      r->line++;
      r->line_start = r->at + 1;
    }
}

static bool take(text_reader *r, char c) {
  skip_blanks(r);
  if (r->at == r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool take_word(text_reader *r, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
  r->at += length;
  return true;
}

static egraph_status read_whole(text_reader *r, int32_t *out) {
  if (r->at == r->end || !is_digit(*r->at)) return fail(r, "a number is missing here");
  for (*out = 0; r->at < r->end && is_digit(*r->at); r->at++) {
    *out = *out * 10 + (*r->at - '0');
    if (*out > EG_SUBST_VARIABLES) return fail(r, "a number this large has no meaning");
  }
  return EGRAPH_OK;
}

// ---- terms ----------------------------------------------------------------------------

/// Adds an operator to the side, or returns an equal one that the side has.
static egraph_status add_op(text_reader *r, const eg_subst_op *op, int32_t output,
                            text_term *out) {
  uint32_t at = 0;
  while (at < r->side->op_count && memcmp(&r->side->ops[at], op, sizeof *op) != 0)
    at++;
  if (at == r->side->op_count && !eg_subst_add_op(r->rule, r->side, op))
    return fail(r, "an operand is missing here");
  *out = (text_term){.tensor = {.op = (int32_t)at, .output = output}};
  return EGRAPH_OK;
}

static egraph_status read_text_term(text_reader *r, uint32_t depth, text_term *out);

/// Reads the numbers and operands of an operator up to its closing bracket.
static egraph_status read_arguments(text_reader *r, uint32_t depth, bool has_commas,
                                    eg_subst_op *op, int32_t *numbers, uint32_t *count) {
  while (!take(r, ')')) {
    text_term argument;
    if (has_commas && (op->input_count != 0 || *count != 0) && !take(r, ','))
      return fail(r, "a comma or a bracket is missing here");
    EG_TRY(read_text_term(r, depth + 1, &argument));
    if (!argument.is_number && !eg_subst_add_input(op, argument.tensor))
      return fail(r, "an operator with too many operands");
    if (argument.is_number && op->input_count != 0)
      return fail(r, "numbers stand before operands");
    if (argument.is_number && *count == MAX_NUMBERS)
      return fail(r, "an operator with too many numbers");
    if (argument.is_number) numbers[(*count)++] = argument.number;
  }
  return EGRAPH_OK;
}

/// Ends the reading of a part of a split, which is written as `split_0(axis, x)`, or as
/// split_0 of a split.
static egraph_status end_part(text_reader *r, eg_subst_op *op, int32_t output,
                              const int32_t *numbers, uint32_t count, text_term *out) {
  if (op->input_count != 1 || count > 1)
    return fail(r, "split_0 and split_1 are written as split_0(axis,x) or "
                   "(split_0 (split axis x))");
  if (count == 1) {
    eg_subst_set(op, EG_SUBST_PM_AXIS, numbers[0]);
    return add_op(r, op, output, out);
  }
  if (r->rule->is_too_large) return EGRAPH_OK; // its operators are not kept
  int32_t of = op->inputs[0].op;
  if (of < 0 || r->side->ops[of].kind != EG_SUBST_SPLIT)
    return fail(r, "split_0 and split_1 take a split");
  *out = (text_term){.tensor = {.op = of, .output = output}};
  return EGRAPH_OK;
}

static egraph_status end_op(text_reader *r, const text_op *kind, eg_subst_op *op,
                            const int32_t *numbers, uint32_t count, text_term *out) {
  uint32_t most = 0;
  while (most < MAX_NUMBERS && kind->parameters[most] != 0)
    most++;
  if (op->input_count != kind->operands || count < kind->least || count > most)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s:%u: %s has %u numbers and %u operands; it takes %u to %u and %u",
                   r->name, r->line, kind->name, count, op->input_count, kind->least,
                   most, kind->operands);
  op->kind = kind->kind;
  for (uint32_t i = 0; i < count; i++)
    eg_subst_set(op, kind->parameters[i], numbers[i]);
  return add_op(r, op, 0, out);
}

static egraph_status read_name(text_reader *r, char name[MAX_NAME]) {
  uint32_t length = 0;
  skip_blanks(r);
  for (; r->at < r->end; r->at++) {
    char c = *r->at;
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !is_digit(c) && c != '_') break;
    if (length + 1 == MAX_NAME) return fail(r, "a name this long is that of no operator");
    name[length++] = c;
  }
  name[length] = '\0';
  return length != 0 ? EGRAPH_OK : fail(r, "a term is missing here");
}

static egraph_status read_operator(text_reader *r, uint32_t depth, bool is_list,
                                   text_term *out) {
  char name[MAX_NAME];
  int32_t numbers[MAX_NUMBERS];
  uint32_t count = 0;
  eg_subst_op op = {.kind = EG_SUBST_SPLIT};
  if (depth == MAX_DEPTH) return fail(r, "terms are nested too deep");
  EG_TRY(read_name(r, name));
  if (is_list || take(r, '('))
    EG_TRY(read_arguments(r, depth, !is_list, &op, numbers, &count));
  if (strcmp(name, "split_0") == 0 || strcmp(name, "split_1") == 0)
    return end_part(r, &op, name[6] - '0', numbers, count, out);
  for (size_t i = 0; i < sizeof text_ops / sizeof *text_ops; i++)
    if (strcmp(text_ops[i].name, name) == 0)
      return end_op(r, &text_ops[i], &op, numbers, count, out);
  return EG_FAIL(EGRAPH_E_PARSE, "%s:%u: %s is no operator of Tensat's texts", r->name,
                 r->line, name);
}

/// Reads the name of a constant. Equations follow each other without a blank, so these
/// names must end by themselves.
static bool take_constant(text_reader *r, eg_subst_op *out) {
  if (take_word(r, "Imatmul"))
    out->kind = EG_SUBST_MATMUL_ONE;
  else if (take_word(r, "Iewmul"))
    out->kind = EG_SUBST_MUL_ONE;
  return out->kind >= 0;
}

static egraph_status read_text_term(text_reader *r, uint32_t depth, text_term *out) {
  *out = (text_term){.is_number = false};
  if (take(r, '(')) return read_operator(r, depth, true, out);
  (void)take(r, '?');
  if (r->at < r->end && is_digit(*r->at)) {
    out->is_number = true;
    return read_whole(r, &out->number);
  }
  eg_subst_op constant = {.kind = -1};
  if (take_constant(r, &constant)) return add_op(r, &constant, 0, out);
  if (!take_word(r, "input_")) return read_operator(r, depth, false, out);
  int32_t variable;
  EG_TRY(read_whole(r, &variable));
  if (variable == 0) return fail(r, "variables count from input_1");
  out->tensor.op = -variable;
  return EGRAPH_OK;
}

// ---- equations ------------------------------------------------------------------------

static egraph_status read_side(text_reader *r, eg_subst_side *side,
                               eg_subst_tensor *out) {
  text_term term;
  r->side = side;
  EG_TRY(read_text_term(r, 0, &term));
  if (term.is_number) return fail(r, "a side is a term, not a number");
  *out = term.tensor;
  return EGRAPH_OK;
}

static egraph_status read_equation(text_reader *r, eg_substitution *out) {
  eg_subst_tensor left, right;
  *out = (eg_substitution){.result_count = 0};
  r->rule = out;
  EG_TRY(read_side(r, &out->left, &left));
  skip_blanks(r);
  if (!take_word(r, "==") && !take_word(r, "=>"))
    return fail(r, "== or => is missing here, and another side");
  EG_TRY(read_side(r, &out->right, &right));
  eg_subst_add_result(out, left, right);
  return EGRAPH_OK;
}

// ---- rules of two results -------------------------------------------------------------

typedef struct freedom {
  bool any;     // some right side has a variable that its left side lacks
  bool is_said; // the left side of the other equation has it
} freedom;

static void note_free(const eg_substitution *rule, const eg_substitution *other,
                      freedom *inout) {
  for (uint32_t i = 0; i < rule->right.op_count; i++)
    for (uint32_t k = 0; k < rule->right.ops[i].input_count; k++) {
      int32_t op = rule->right.ops[i].inputs[k].op;
      if (op >= 0 || eg_subst_side_has(&rule->left, rule->result_count, op)) continue;
      inout->any = true;
      if (!eg_subst_side_has(&other->left, other->result_count, op))
        inout->is_said = false;
    }
}

static bool are_pairs(const eg_substitutions *list) {
  freedom found = {.is_said = true};
  if (list->len % 2 != 0) return false;
  for (size_t i = 0; i < list->len; i++)
    note_free(&list->data[i], &list->data[i ^ 1], &found);
  return found.any && found.is_said;
}

static eg_subst_tensor moved(eg_subst_tensor tensor, const int32_t *places) {
  if (tensor.op >= 0) tensor.op = places[tensor.op];
  return tensor;
}

/// Adds the operators of another substitution's side, equal operators once; returns the
/// result among them.
static eg_subst_tensor join_side(eg_substitution *into, eg_subst_side *side,
                                 const eg_subst_side *other) {
  int32_t places[EG_SUBST_OPS];
  for (uint32_t i = 0; i < other->op_count; i++) {
    eg_subst_op op = other->ops[i];
    for (uint32_t k = 0; k < op.input_count; k++)
      op.inputs[k] = moved(op.inputs[k], places);
    uint32_t at = 0;
    while (at < side->op_count && memcmp(&side->ops[at], &op, sizeof op) != 0)
      at++;
    places[i] = (int32_t)at;
    if (at == side->op_count) (void)eg_subst_add_op(into, side, &op);
  }
  return moved(other->results[0], places);
}

static void join_substitution(eg_substitution *into, const eg_substitution *other) {
  into->is_too_large = into->is_too_large || other->is_too_large;
  if (into->is_too_large) return;
  eg_subst_tensor left = join_side(into, &into->left, &other->left);
  eg_subst_tensor right = join_side(into, &into->right, &other->right);
  eg_subst_add_result(into, left, right);
}

static void join_pairs(eg_substitutions *list) {
  for (size_t i = 0; i + 1 < list->len; i += 2) {
    join_substitution(&list->data[i], &list->data[i + 1]);
    list->data[i / 2] = list->data[i];
  }
  list->len /= 2;
}

egraph_status eg_subst_read_text(const char *name, const char *bytes, size_t size,
                                 eg_subst_file *out) {
  text_reader r = {
      .name = name, .at = bytes, .end = bytes + size, .line_start = bytes, .line = 1};
  out->origin = EG_SUBST_FROM_TENSAT;
  for (skip_blanks(&r); r.at < r.end; skip_blanks(&r)) {
    eg_substitution rule;
    if (out->list.len == EG_SUBST_MOST)
      return EG_FAIL(EGRAPH_E_PARSE, "%s: more than %d substitutions; split the file",
                     name, EG_SUBST_MOST);
    EG_TRY(read_equation(&r, &rule));
    EG_TRY(eg_substitutions_push(&out->list, rule));
  }
  if (are_pairs(&out->list)) join_pairs(&out->list);
  return EGRAPH_OK;
}
