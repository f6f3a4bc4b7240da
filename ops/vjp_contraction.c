// Gradients of matrix products and einsums. The backward pass reads a weight as it is
// stored, transposed by attribute, and needs no second copy. If an operand has fewer
// dimensions than the result (a weight under a batch), its gradient is one einsum that
// sums over the others, so that each of these sums may be split.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/einsum.h"
#include "ops/vjp_internal.h"

enum { A, B, BIAS, Z };

typedef struct product {
  eg_ref a, b, d;
  bool trans_a, trans_b;
} product;

static eg_ref emit_matmul(eg_builder *b, eg_ref x, eg_ref y, bool trans_x, bool trans_y) {
  eg_attr slots[8];
  eg_attrs_defaults(EG_OP_MATMUL, slots);
  slots[EG_A_MATMUL_TRANS_A - EG_A_BASE_MATMUL].i = trans_x;
  slots[EG_A_MATMUL_TRANS_B - EG_A_BASE_MATMUL].i = trans_y;
  return eg_build_node(b, EG_OP_MATMUL, slots, (const eg_ref[]){x, y}, 2);
}

// These functions emit the cotangents for y = op(a) op(b), where d is the cotangent of y:
// a' = d op(b)^T, b' = op(a)^T d, or their transposes.
static eg_ref matmul_a(eg_builder *b, const product *p) {
  if (p->trans_a) return emit_matmul(b, p->b, p->d, p->trans_b, true);
  return emit_matmul(b, p->d, p->b, false, !p->trans_b);
}
static eg_ref matmul_b(eg_builder *b, const product *p) {
  if (p->trans_b) return emit_matmul(b, p->d, p->a, true, p->trans_a);
  return emit_matmul(b, p->a, p->d, !p->trans_a, false);
}

// Labels: 0 row, 1 sum, 2 column, 3 + i the i-th batch dimension from the last.
enum { ROW, SUM, COLUMN, BATCH };

static eg_labels operand_labels(const eg_type *type, bool first, bool transposed) {
  eg_labels labels = {.rank = type->rank};
  uint32_t matrix = type->rank < 2 ? type->rank : 2;
  for (uint32_t i = 0; i + matrix < type->rank; i++)
    labels.label[i] = (uint8_t)(BATCH + type->rank - matrix - 1 - i);
  uint8_t outer = first ? ROW : COLUMN;
  bool sum_last = first != transposed;
  if (matrix == 2) labels.label[type->rank - 2] = sum_last ? outer : SUM;
  if (matrix != 0) labels.label[type->rank - 1] = sum_last || matrix == 1 ? SUM : outer;
  return labels;
}

static eg_labels result_labels(const eg_type *a, const eg_type *b, const eg_type *y) {
  eg_labels labels = {.rank = y->rank};
  uint32_t rows = a->rank >= 2, columns = b->rank >= 2, at = y->rank - rows - columns;
  for (uint32_t i = 0; i < at; i++)
    labels.label[i] = (uint8_t)(BATCH + at - 1 - i);
  if (rows != 0) labels.label[at++] = ROW;
  if (columns != 0) labels.label[at] = COLUMN;
  return labels;
}

static void note_einsum_sizes(const eg_type *type, const eg_labels *labels,
                              int64_t *sizes) {
  for (uint32_t i = 0; i < labels->rank; i++)
    if (sizes[labels->label[i]] == 1) sizes[labels->label[i]] = type->dims[i];
}

static eg_ref contract_operand(const eg_vjp *v, const product *p, uint32_t operand) {
  assert(operand <= 1);
  const eg_type *a = eg_vjp_type(v, A), *b = eg_vjp_type(v, B);
  const eg_type *y = eg_build_type(v->b, p->d);
  const eg_labels of[] = {operand_labels(a, true, p->trans_a),
                          operand_labels(b, false, p->trans_b)};
  int64_t sizes[EG_MAX_LABELS];
  for (int i = 0; i < EG_MAX_LABELS; i++)
    sizes[i] = 1;
  eg_labels result = result_labels(a, b, y);
  note_einsum_sizes(a, &of[A], sizes);
  note_einsum_sizes(b, &of[B], sizes);
  eg_ref operands[] = {operand == A ? p->d : p->a, operand == A ? p->b : p->d};
  eg_labels labels[] = {operand == A ? result : of[A], operand == A ? of[B] : result};
  // The operand that has the rows of the result comes first, as in a matrix product.
  if (operand == A ? p->trans_a : p->trans_b) {
    const eg_ref first = operands[0];
    const eg_labels first_labels = labels[0];
    operands[0] = operands[1];
    labels[0] = labels[1];
    operands[1] = first;
    labels[1] = first_labels;
  }
  return eg_build_contract(v->b, operands, labels, 2, sizes, &of[operand],
                           operand == A ? a : b);
}

// True when the operand is a matrix with the batch dimensions of the result.
static bool has_whole_batch(const eg_vjp *v, const eg_type *operand, const eg_type *y) {
  bool matrices = eg_vjp_type(v, A)->rank >= 2 && eg_vjp_type(v, B)->rank >= 2;
  if (!matrices || operand->rank != y->rank) return false;
  return memcmp(operand->dims, y->dims, (y->rank - 2) * sizeof *y->dims) == 0;
}

static void product_rule(const eg_vjp *v, const product *p) {
  if (v->b->status != EGRAPH_OK) return;
  const eg_type *y = eg_build_type(v->b, p->d);
  for (uint32_t i = A; i <= B; i++) {
    if (!v->wanted[i]) continue;
    if (!has_whole_batch(v, eg_vjp_type(v, i), y))
      v->out[i] = contract_operand(v, p, i);
    else
      v->out[i] = i == A ? matmul_a(v->b, p) : matmul_b(v->b, p);
  }
}

void eg_vjp_matmul(const eg_vjp *v) {
  const product p = {.a = v->inputs[A],
                     .b = v->inputs[B],
                     .d = eg_vjp_before_activation(v),
                     .trans_a = eg_attr_at(v->attrs, EG_A_MATMUL_TRANS_A)->i != 0,
                     .trans_b = eg_attr_at(v->attrs, EG_A_MATMUL_TRANS_B)->i != 0};
  product_rule(v, &p);
  for (uint32_t i = BIAS; i < v->input_count; i++)
    if (v->wanted[i]) v->out[i] = eg_build_sum_to(v->b, p.d, eg_vjp_type(v, i));
}

static eg_ref scaled(eg_builder *b, eg_ref x, double factor) {
  if (factor == 1) return x;
  eg_ref number = eg_build_number(b, factor);
  return EG_BUILD(b, EG_OP_MUL, x, number);
}

void eg_vjp_gemm(const eg_vjp *v) {
  eg_ref d = v->cotangents[0];
  if (v->wanted[A] || v->wanted[B]) {
    const product p = {.a = v->inputs[A],
                       .b = v->inputs[B],
                       .d = scaled(v->b, d, eg_attr_at(v->attrs, EG_A_GEMM_ALPHA)->f),
                       .trans_a = eg_attr_at(v->attrs, EG_A_GEMM_TRANS_A)->i != 0,
                       .trans_b = eg_attr_at(v->attrs, EG_A_GEMM_TRANS_B)->i != 0};
    product_rule(v, &p);
  }
  if (!eg_vjp_wants(v, BIAS)) return;
  eg_ref bias = scaled(v->b, d, eg_attr_at(v->attrs, EG_A_GEMM_BETA)->f);
  v->out[BIAS] = eg_build_sum_to(v->b, bias, eg_vjp_type(v, BIAS));
}

// ---- einsum ---------------------------------------------------------------------

// Emits the cotangent of operand `at` of an einsum: the product of all other operands and
// the cotangent of the result.
static eg_ref einsum_operand(const eg_vjp *v, const eg_einsum *terms, uint32_t at,
                             eg_ref *operands, eg_labels *labels) {
  assert(at < v->input_count);
  uint32_t count = 0;
  operands[count] = v->cotangents[0];
  labels[count++] = terms->result;
  for (uint32_t i = 0; i < v->input_count; i++) {
    if (i == at) continue;
    operands[count] = v->inputs[i];
    labels[count++] = terms->operands[i];
  }
  return eg_build_contract(v->b, operands, labels, count, terms->sizes,
                           &terms->operands[at], eg_vjp_type(v, at));
}

static egraph_status einsum_rule(const eg_vjp *v, eg_arena *arena) {
  eg_type *types;
  eg_ref *operands;
  eg_labels *labels;
  eg_einsum terms;
  EG_TRY(eg_arena_alloc(arena, v->input_count, sizeof *types, &types));
  EG_TRY(eg_arena_alloc(arena, v->input_count, sizeof *operands, &operands));
  EG_TRY(eg_arena_alloc(arena, v->input_count, sizeof *labels, &labels));
  EG_TRY(eg_arena_alloc(arena, v->input_count, sizeof *labels, &terms.operands));
  for (uint32_t i = 0; i < v->input_count; i++)
    types[i] = *eg_vjp_type(v, i);
  EG_TRY(eg_einsum_labels(v->attrs, types, v->input_count, &terms));
  for (uint32_t i = 0; i < v->input_count; i++)
    if (v->wanted[i]) v->out[i] = einsum_operand(v, &terms, i, operands, labels);
  return v->b->status;
}

void eg_vjp_einsum(const eg_vjp *v) {
  EG_LOCAL(eg_arena, arena, v->b->alloc);
  eg_build_keep(v->b, einsum_rule(v, &arena));
}
