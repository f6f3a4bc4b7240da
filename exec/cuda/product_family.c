// Matrix products: act(op(a) op(b) + bias + z), and ONNX's Gemm. Batch dimensions of a
// that b does not have become rows. bias, relu, gelu (tanh) and z go along where cuBLASLt
// has a kernel for it, else they follow as pointwise stages.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/product_stage.h"

enum { OPERAND_A, OPERAND_B, OPERAND_BIAS, OPERAND_Z };

// ---- shapes ---------------------------------------------------------------------

// A vector is a row as a, a column as b.
static void matrix_of(const eg_type *type, bool is_a, int64_t *rows, int64_t *columns) {
  uint32_t rank = type->rank;
  *rows = rank > 1 ? type->dims[rank - 2] : is_a ? 1 : type->dims[0];
  *columns = rank > 1 ? type->dims[rank - 1] : is_a ? type->dims[0] : 1;
}

static uint32_t batch_rank_of(const eg_type *type) {
  return type->rank > 2 ? type->rank - 2 : 0;
}

static int64_t batch_size_of(const eg_type *type) {
  int64_t size = 1;
  for (uint32_t d = 0; d < batch_rank_of(type); d++)
    size *= type->dims[d];
  return size;
}

static void batch_strides(const eg_type *type, uint32_t rank, int64_t matrix,
                          int64_t *dims, int64_t *out) {
  uint32_t own = batch_rank_of(type), lead = rank - own;
  for (uint32_t d = rank; d-- > 0;) {
    dims[d] = d < lead ? 1 : type->dims[d - lead];
    out[d] = dims[d] == 1 ? 0 : matrix;
    matrix *= dims[d];
  }
}

static void plan_shape(const eg_type *a, const eg_type *b, bool trans_a, bool trans_b,
                       eg_product *plan) {
  int64_t rows, columns;
  plan->trans_a = trans_a && a->rank > 1;
  plan->trans_b = trans_b && b->rank > 1;
  matrix_of(a, true, &rows, &columns);
  plan->m = plan->trans_a ? columns : rows;
  plan->k = plan->trans_a ? rows : columns;
  matrix_of(b, false, &rows, &columns);
  plan->n = plan->trans_b ? rows : columns;
  plan->batch.tensors = 3;
  if (batch_size_of(b) == 1 && !plan->trans_a) {
    plan->m *= batch_size_of(a);
    return;
  }
  uint32_t rank_a = batch_rank_of(a), rank_b = batch_rank_of(b);
  uint32_t rank = rank_a > rank_b ? rank_a : rank_b;
  int64_t dims_a[EGRAPH_MAX_RANK], dims_b[EGRAPH_MAX_RANK], dims[EGRAPH_MAX_RANK];
  int64_t of_a[EGRAPH_MAX_RANK], of_b[EGRAPH_MAX_RANK], of_result[EGRAPH_MAX_RANK];
  batch_strides(a, rank, plan->m * plan->k, dims_a, of_a);
  batch_strides(b, rank, plan->k * plan->n, dims_b, of_b);
  int64_t stride = plan->m * plan->n;
  for (uint32_t d = rank; d-- > 0;) {
    dims[d] = dims_a[d] > dims_b[d] ? dims_a[d] : dims_b[d];
    of_result[d] = stride;
    stride *= dims[d];
  }
  for (uint32_t d = 0; d < rank; d++)
    eg_loop_add(&plan->batch, dims[d], (int64_t[]){of_result[d], of_a[d], of_b[d]});
}

// ---- families -------------------------------------------------------------------

static egraph_status add_product(eg_cuda_builder *builder, const eg_product *plan,
                                 uint32_t bias, uint32_t z) {
  eg_device_place places[5] = {eg_device_result(0), eg_device_operand(OPERAND_A),
                               eg_device_operand(OPERAND_B)};
  uint32_t count = 3;
  if (plan->has_bias) places[count++] = eg_device_operand(bias);
  if (plan->has_z) places[count++] = eg_device_operand(z);
  return eg_cuda_add_product(builder, plan, places);
}

static bool is_row(const eg_type *addend, const eg_product *plan) {
  return addend->rank != 0 && addend->dims[addend->rank - 1] == plan->n &&
         eg_type_elements(addend) == plan->n && addend->dtype == plan->dtype;
}

/// The product with all that may go along, or without bias and activation.
static egraph_status add_best_product(eg_cuda_builder *builder, eg_product *plan,
                                      uint32_t bias, uint32_t z) {
  egraph_status status = add_product(builder, plan, bias, z);
  if (status != EGRAPH_E_UNSUPPORTED || !(plan->has_bias || plan->has_act)) return status;
  // An activation follows everything it is of.
  plan->has_bias = plan->has_act = false;
  return add_product(builder, plan, bias, z);
}

egraph_status eg_cuda_matmul(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *result = &spec->results[0];
  eg_act act = (eg_act)eg_attr_at(spec->attrs, EG_A_MATMUL_ACT)->i;
  bool bias = spec->input_count > OPERAND_BIAS, z = spec->input_count > OPERAND_Z;
  eg_product plan = {.dtype = result->dtype, .alpha = 1.0, .beta = 1.0, .act = act};
  plan_shape(&spec->inputs[OPERAND_A], &spec->inputs[OPERAND_B],
             eg_attr_at(spec->attrs, EG_A_MATMUL_TRANS_A)->i != 0,
             eg_attr_at(spec->attrs, EG_A_MATMUL_TRANS_B)->i != 0, &plan);
  bool has_epilogue = plan.dtype != EGRAPH_FLOAT64;
  plan.has_bias = bias && has_epilogue && spec->inputs[OPERAND_B].rank > 1 &&
                  is_row(&spec->inputs[OPERAND_BIAS], &plan);
  plan.has_z = z && eg_type_same_shape(&spec->inputs[OPERAND_Z], result);
  plan.has_act = (act == EG_ACT_RELU || act == EG_ACT_GELU_TANH) && has_epilogue &&
                 plan.has_bias == bias && plan.has_z == z;
  EG_TRY(add_best_product(builder, &plan, OPERAND_BIAS, OPERAND_Z));
  if (bias && !plan.has_bias) EG_TRY(eg_cuda_add_addend(builder, OPERAND_BIAS));
  if (z && !plan.has_z) EG_TRY(eg_cuda_add_addend(builder, OPERAND_Z));
  if (plan.has_act) return EGRAPH_OK;
  return eg_cuda_add_act(builder, act, eg_attr_at(spec->attrs, EG_A_MATMUL_ACT_ALPHA)->f,
                         eg_attr_at(spec->attrs, EG_A_MATMUL_ACT_BETA)->f);
}

// alpha a b + beta c, where c broadcasts. A c that is not of the result's shape is
// added as it is, which needs beta 1.
egraph_status eg_cuda_gemm(eg_cuda_builder *builder) {
  enum { OPERAND_C = 2 };
  const eg_node_spec *spec = builder->spec;
  const eg_type *result = &spec->results[0];
  eg_product plan = {.dtype = result->dtype,
                     .alpha = eg_attr_at(spec->attrs, EG_A_GEMM_ALPHA)->f,
                     .beta = eg_attr_at(spec->attrs, EG_A_GEMM_BETA)->f};
  bool has_c = spec->input_count > OPERAND_C && plan.beta != 0.0;
  plan_shape(&spec->inputs[OPERAND_A], &spec->inputs[OPERAND_B],
             eg_attr_at(spec->attrs, EG_A_GEMM_TRANS_A)->i != 0,
             eg_attr_at(spec->attrs, EG_A_GEMM_TRANS_B)->i != 0, &plan);
  plan.has_z = has_c && eg_type_same_shape(&spec->inputs[OPERAND_C], result);
  if (has_c && !plan.has_z) {
    if (plan.beta != 1.0) return eg_cuda_refuse(builder, "beta with a broadcast c");
    plan.has_bias =
        plan.dtype != EGRAPH_FLOAT64 && is_row(&spec->inputs[OPERAND_C], &plan);
  }
  EG_TRY(add_best_product(builder, &plan, OPERAND_C, OPERAND_C));
  if (!has_c || plan.has_z || plan.has_bias) return EGRAPH_OK;
  return eg_cuda_add_addend(builder, OPERAND_C);
}
