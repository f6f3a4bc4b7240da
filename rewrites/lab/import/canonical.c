// Finds the least text over all names of the variables. A sum is written as the
// sorted list of its summands, however it is nested; a product of matrices as the
// list of its factors.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/substitution.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_NAMED = 6, MAX_VARIABLES = 32, MAX_PARTS = 32, MAX_TEXT = 4096 };

typedef struct canon {
  const eg_substitution *subst;
  int32_t variables[MAX_VARIABLES];
  uint32_t names[MAX_VARIABLES]; // current names of the variables
  uint32_t variable_count;
  bool by_laws;
  bool is_too_large;
} canon;

// ---- variables ------------------------------------------------------------------------

static void add_variable(canon *c, int32_t variable) {
  if (variable >= 0) return;
  for (uint32_t i = 0; i < c->variable_count; i++)
    if (c->variables[i] == variable) return;
  if (c->variable_count == MAX_VARIABLES) {
    c->is_too_large = true;
    return;
  }
  c->names[c->variable_count] = c->variable_count;
  c->variables[c->variable_count++] = variable;
}

static void add_variables(canon *c, const eg_subst_side *side) {
  for (uint32_t i = 0; i < side->op_count; i++)
    for (uint32_t k = 0; k < side->ops[i].input_count; k++)
      add_variable(c, side->ops[i].inputs[k].op);
  for (uint32_t i = 0; i < c->subst->result_count; i++)
    add_variable(c, side->results[i].op);
}

static uint32_t name_of_variable(const canon *c, int32_t variable) {
  uint32_t i = 0;
  while (c->variables[i] != variable)
    i++;
  return c->names[i];
}

/// Moves to the next permutation of the names in lexicographic order; returns false after
/// the last.
static bool next_names(canon *c) {
  uint32_t *names = c->names, count = c->variable_count;
  uint32_t i = count, k = count;
  while (i >= 2 && names[i - 2] >= names[i - 1])
    i--;
  if (i < 2) return false;
  while (names[k - 1] <= names[i - 2])
    k--;
  uint32_t kept = names[i - 2];
  names[i - 2] = names[k - 1];
  names[k - 1] = kept;
  for (uint32_t a = i - 1, b = count - 1; a < b; a++, b--) {
    kept = names[a];
    names[a] = names[b];
    names[b] = kept;
  }
  return true;
}

// ---- terms ----------------------------------------------------------------------------

static egraph_status print_tensor(canon *c, const eg_subst_side *side,
                                  eg_subst_tensor tensor, eg_text *out);

static bool is_commutative(const eg_subst_op *op) {
  return op->kind == EG_SUBST_ADD || op->kind == EG_SUBST_MUL;
}

static bool is_associative(const canon *c, const eg_subst_op *op) {
  bool is_product = op->kind == EG_SUBST_MATMUL &&
                    op->parameter[EG_SUBST_PM_ACTIVATION] == EG_SUBST_ACT_NONE;
  return c->by_laws && (is_commutative(op) || is_product);
}

typedef struct parts {
  eg_text items[MAX_PARTS];
  uint32_t count;
} parts;

static void parts_init(parts *list, egraph_allocator alloc) {
  list->count = 0;
  for (uint32_t i = 0; i < MAX_PARTS; i++)
    eg_text_init(&list->items[i], alloc);
}

static void parts_deinit(parts *list) {
  for (uint32_t i = 0; i < MAX_PARTS; i++)
    eg_text_deinit(&list->items[i]);
}

/// Lists the operands of an operator; in place of an operand with the same law (such as a
/// sum in a sum), lists its operands.
static egraph_status add_parts(canon *c, const eg_subst_side *side, const eg_subst_op *op,
                               parts *list) {
  for (uint32_t i = 0; i < op->input_count; i++) {
    int32_t from = op->inputs[i].op;
    if (from >= 0 && is_associative(c, op) && op->kind == side->ops[from].kind &&
        op->parameter[EG_SUBST_PM_ACTIVATION] ==
            side->ops[from].parameter[EG_SUBST_PM_ACTIVATION]) {
      EG_TRY(add_parts(c, side, &side->ops[from], list));
      continue;
    }
    c->is_too_large = c->is_too_large || list->count == MAX_PARTS;
    if (c->is_too_large) return EGRAPH_OK;
    EG_TRY(print_tensor(c, side, op->inputs[i], &list->items[list->count++]));
  }
  return EGRAPH_OK;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(eg_text_of(a), eg_text_of(b));
}

static void print_parameters(const eg_subst_op *op, eg_text *out) {
  static const int32_t printed[] = {EG_SUBST_PM_ACTIVATION, EG_SUBST_PM_AXIS,
                                    EG_SUBST_PM_STRIDE_H,   EG_SUBST_PM_STRIDE_W,
                                    EG_SUBST_PM_PAD,        EG_SUBST_PM_PARALLEL_DIM,
                                    EG_SUBST_PM_DEGREE,     EG_SUBST_PM_PERM};
  for (size_t i = 0; i < sizeof printed / sizeof *printed; i++)
    if (op->parameter[printed[i]] != 0)
      eg_text_printf(out, ".%" PRId32 "=%" PRId32, printed[i], op->parameter[printed[i]]);
  if (op->kind != EG_SUBST_CONV) // the kernel of a convolution is an operand
    eg_text_printf(out, ".%" PRId32 "x%" PRId32, op->parameter[EG_SUBST_PM_KERNEL_H],
                   op->parameter[EG_SUBST_PM_KERNEL_W]);
}

// Prints a tensor as a term. The recursion is at most EG_SUBST_OPS deep; the length limit
// stops texts in which shared terms are written too often.
static egraph_status print_tensor(canon *c, const eg_subst_side *side,
                                  eg_subst_tensor tensor, eg_text *out) {
  c->is_too_large = c->is_too_large || out->chars.len > MAX_TEXT;
  if (c->is_too_large) return EGRAPH_OK;
  if (tensor.op < 0)
    return eg_text_printf(out, "%" PRIu32, name_of_variable(c, tensor.op));
  const eg_subst_op *op = &side->ops[tensor.op];
  EG_LOCAL(parts, list, out->chars.alloc);
  EG_TRY(add_parts(c, side, op, &list));
  if (is_commutative(op))
    qsort(list.items, list.count, sizeof *list.items, compare_texts);
  eg_text_printf(out, "(%" PRId32 ":%" PRId32, op->kind, tensor.output);
  print_parameters(op, out);
  for (uint32_t i = 0; i < list.count; i++)
    eg_text_printf(out, " %s", eg_text_of(&list.items[i]));
  c->is_too_large = c->is_too_large || out->chars.len >= MAX_TEXT;
  return eg_text_append(out, ")");
}

// ---- substitutions --------------------------------------------------------------------

/// Prints the results of both sides as "left = right", in order; with the sides exchanged
/// if is_flipped.
static egraph_status print_named(canon *c, bool is_flipped, eg_text *out,
                                 bool *out_are_same) {
  const eg_subst_side *left = is_flipped ? &c->subst->right : &c->subst->left;
  const eg_subst_side *right = is_flipped ? &c->subst->left : &c->subst->right;
  EG_LOCAL(parts, list, out->chars.alloc);
  *out_are_same = true;
  for (uint32_t i = 0; i < c->subst->result_count; i++) {
    eg_text *item = &list.items[list.count++];
    EG_TRY(print_tensor(c, left, left->results[i], item));
    size_t length = item->chars.len;
    EG_TRY(eg_text_append(item, "="));
    EG_TRY(print_tensor(c, right, right->results[i], item));
    const char *text = eg_text_of(item);
    if (item->chars.len != 2 * length + 1 || memcmp(text, text + length + 1, length) != 0)
      *out_are_same = false;
  }
  qsort(list.items, list.count, sizeof *list.items, compare_texts);
  eg_text_clear(out);
  for (uint32_t i = 0; i < list.count; i++)
    eg_text_printf(out, "%s;", eg_text_of(&list.items[i]));
  return eg_text_status(out);
}

static egraph_status print_least(canon *c, eg_text *text, eg_text *out,
                                 bool *out_are_same) {
  for (uint32_t i = 0; i < c->variable_count; i++)
    c->names[i] = i;
  eg_text_clear(out);
  do {
    for (int flipped = 0; flipped < 2 && !c->is_too_large; flipped++) {
      EG_TRY(print_named(c, flipped == 1, text, out_are_same));
      bool is_less = out->chars.len == 0 || strcmp(eg_text_of(text), eg_text_of(out)) < 0;
      if (!is_less || c->is_too_large) continue;
      eg_text_clear(out);
      EG_TRY(eg_text_append(out, eg_text_of(text)));
    }
  } while (!c->is_too_large && c->variable_count <= MAX_NAMED && next_names(c));
  return EGRAPH_OK;
}

egraph_status eg_subst_canonical(const eg_substitution *subst, egraph_allocator alloc,
                                 eg_text *out) {
  canon c = {.subst = subst, .is_too_large = subst->is_too_large};
  bool are_same = true;
  EG_LOCAL(eg_text, text, alloc);
  eg_text_clear(out);
  add_variables(&c, &subst->left);
  add_variables(&c, &subst->right);
  for (int by_laws = 1; by_laws >= 0 && are_same && !c.is_too_large; by_laws--) {
    c.by_laws = by_laws == 1;
    EG_TRY(print_least(&c, &text, out, &are_same));
  }
  if (c.is_too_large) eg_text_clear(out);
  return EGRAPH_OK;
}
