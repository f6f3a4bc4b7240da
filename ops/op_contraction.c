// Matrix products.
//
//   matmul  ... (i k), (k j) -> (i j): k is a sum, the rest is parallel; batch
//           dimensions broadcast
//   gemm    the same for rank 2
//
// The result is linear in a and in b. Bias and z are added, so they must be partial sums
// whenever the result is a partial sum (joint_linear). An activation must not be applied
// to partial sums, so with one the factor k is BLOCKED.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

/// The dimensions that the loop indices of a product have in a and b; EG_NO_DIM if a
/// vector lacks the index.
typedef struct product {
  int a_row, a_sum, b_sum, b_column;
  uint32_t a_batch, b_batch; // leading batch dimensions
} product;

static product product_of(const eg_type *a, const eg_type *b, bool trans_a,
                          bool trans_b) {
  int last_a = (int)a->rank - 1, last_b = (int)b->rank - 1;
  product p = {
      .a_row = EG_NO_DIM, .a_sum = last_a, .b_sum = last_b, .b_column = EG_NO_DIM};
  if (a->rank >= 2) {
    p.a_row = trans_a ? last_a : last_a - 1;
    p.a_sum = trans_a ? last_a - 1 : last_a;
    p.a_batch = a->rank - 2;
  }
  if (b->rank >= 2) {
    p.b_column = trans_b ? last_b - 1 : last_b;
    p.b_sum = trans_b ? last_b : last_b - 1;
    p.b_batch = b->rank - 2;
  }
  return p;
}

static egraph_status check_sum(const eg_typing *node, const product *p) {
  const eg_type *a = &node->inputs[0], *b = &node->inputs[1];
  if (eg_size_agree(a->dims[p->a_sum], b->dims[p->b_sum])) return EGRAPH_OK;
  return eg_typing_fail(node,
                        "%s times %s: %" PRId64
                        " columns of the left operand meet %" PRId64
                        " rows of the right one; check transA and transB",
                        eg_type_text_of(a).text, eg_type_text_of(b).text,
                        a->dims[p->a_sum], b->dims[p->b_sum]);
}

// Checks operand `index`, which is added to the result.
static egraph_status check_addend(const eg_typing *node, uint32_t index,
                                  const eg_type *result, bool whole) {
  const eg_type *addend = &node->inputs[index];
  bool fits = whole ? eg_type_agrees(addend, result) : eg_broadcasts_to(addend, result);
  if (fits) return EGRAPH_OK;
  return eg_typing_fail(node, "operand %u is %s; it must %s the result %s", index,
                        eg_type_text_of(addend).text,
                        whole ? "have the shape of" : "broadcast to",
                        eg_type_text_of(result).text);
}

static egraph_status infer_product(const eg_typing *node, const product *p,
                                   eg_type *out) {
  const eg_type *a = &node->inputs[0], *b = &node->inputs[1];
  eg_type type = eg_type_of(a->dtype, p->a_batch, a->dims);
  eg_type batch = eg_type_of(a->dtype, p->b_batch, b->dims);
  EG_TRY(check_sum(node, p));
  EG_TRY(eg_typing_broadcast(node, &batch, &type));
  if (p->a_row != EG_NO_DIM) type.dims[type.rank++] = a->dims[p->a_row];
  if (p->b_column != EG_NO_DIM) type.dims[type.rank++] = b->dims[p->b_column];
  *out = type;
  return EGRAPH_OK;
}

egraph_status eg_infer_matmul(const eg_typing *node, eg_type *out) {
  const eg_type *a = &node->inputs[0], *b = &node->inputs[1];
  bool trans_a = eg_attr_at(node->attrs, EG_A_MATMUL_TRANS_A)->i != 0;
  bool trans_b = eg_attr_at(node->attrs, EG_A_MATMUL_TRANS_B)->i != 0;
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_activation(node, eg_attr_at(node->attrs, EG_A_MATMUL_ACT)));
  EG_TRY(eg_typing_min_rank(node, 0, trans_a ? 2 : 1));
  EG_TRY(eg_typing_min_rank(node, 1, trans_b ? 2 : 1));
  product p = product_of(a, b, trans_a, trans_b);
  EG_TRY(infer_product(node, &p, out));
  for (uint32_t i = 2; i < node->count; i++)
    EG_TRY(check_addend(node, i, out, i == 3));
  return EGRAPH_OK;
}

// Makes a factor (loop index) index result dimension `dim` and the dimensions of the
// addends that broadcast to it.
static void index_result(const eg_typing *node, const eg_type *result, uint32_t dim,
                         eg_factor *factor) {
  factor->output_dim[0] = (int8_t)dim;
  for (uint32_t i = 2; i < node->count; i++)
    factor->input_dim[i] = (int8_t)eg_broadcast_dim(&node->inputs[i], result, dim);
}

// Returns the dimension of an operand for batch dimension `dim` of the result; EG_NO_DIM
// if it is absent or stretched.
static int batch_dim(const eg_type *operand, uint32_t batch, uint32_t result_batch,
                     uint32_t dim, int64_t size) {
  uint32_t shift = result_batch - batch;
  if (dim < shift || operand->dims[dim - shift] != size) return EG_NO_DIM;
  return (int)(dim - shift);
}

static void factors_product(const eg_typing *node, const eg_type *result,
                            const product *p, bool keeps_sums, eg_factors *out) {
  const eg_type *a = &node->inputs[0], *b = &node->inputs[1];
  uint32_t batch = p->a_batch > p->b_batch ? p->a_batch : p->b_batch, dim = 0;
  for (; dim < batch; dim++) {
    int64_t size = result->dims[dim];
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, size);
    factor->input_dim[0] = (int8_t)batch_dim(a, p->a_batch, batch, dim, size);
    factor->input_dim[1] = (int8_t)batch_dim(b, p->b_batch, batch, dim, size);
    index_result(node, result, dim, factor);
  }
  if (p->a_row != EG_NO_DIM) {
    eg_factor *row = eg_factors_add(out, EG_FACTOR_PARALLEL, a->dims[p->a_row]);
    row->input_dim[0] = (int8_t)p->a_row;
    index_result(node, result, dim++, row);
  }
  if (p->b_column != EG_NO_DIM) {
    eg_factor *column = eg_factors_add(out, EG_FACTOR_PARALLEL, b->dims[p->b_column]);
    column->input_dim[1] = (int8_t)p->b_column;
    index_result(node, result, dim, column);
  }
  eg_factor *sum = eg_factors_add(out, keeps_sums ? EG_FACTOR_SUM : EG_FACTOR_BLOCKED,
                                  a->dims[p->a_sum]);
  sum->input_dim[0] = (int8_t)p->a_sum;
  sum->input_dim[1] = (int8_t)p->b_sum;
  if (!keeps_sums) return;
  out->linear = eg_operand_bits(2);
  out->joint_linear = eg_operand_bits(node->count) & ~eg_operand_bits(2);
}

void eg_factors_matmul(const eg_typing *node, eg_factors *out) {
  product p = product_of(&node->inputs[0], &node->inputs[1],
                         eg_attr_at(node->attrs, EG_A_MATMUL_TRANS_A)->i != 0,
                         eg_attr_at(node->attrs, EG_A_MATMUL_TRANS_B)->i != 0);
  bool keeps_sums = eg_attr_at(node->attrs, EG_A_MATMUL_ACT)->i == EG_ACT_NONE;
  factors_product(node, node->results, &p, keeps_sums, out);
}

egraph_status eg_infer_gemm(const eg_typing *node, eg_type *out) {
  const eg_type *a = &node->inputs[0], *b = &node->inputs[1];
  EG_TRY(eg_typing_same_dtype(node, 1));
  if (a->rank != 2 || b->rank != 2)
    return eg_typing_fail(node, "%s times %s: both must be matrices; use matmul",
                          eg_type_text_of(a).text, eg_type_text_of(b).text);
  product p = product_of(a, b, eg_attr_at(node->attrs, EG_A_GEMM_TRANS_A)->i != 0,
                         eg_attr_at(node->attrs, EG_A_GEMM_TRANS_B)->i != 0);
  EG_TRY(infer_product(node, &p, out));
  return node->count == 3 ? check_addend(node, 2, out, false) : EGRAPH_OK;
}

void eg_factors_gemm(const eg_typing *node, eg_factors *out) {
  product p = product_of(&node->inputs[0], &node->inputs[1],
                         eg_attr_at(node->attrs, EG_A_GEMM_TRANS_A)->i != 0,
                         eg_attr_at(node->attrs, EG_A_GEMM_TRANS_B)->i != 0);
  factors_product(node, node->results, &p, true, out);
}
