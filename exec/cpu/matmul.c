// Matrix products: act(op(a) op(b) + bias + z), and the ONNX Gemm of unit factors.
//
// Everything is brought to the fewest dimensions first: batch dimensions of a that b does
// not have become rows
// ([1,128,768] x [768,3072] is one 128 x 768 x 3072 product), equal batches become one.
// Transpositions are strides. A constant b is packed once into the format the kernel
// prefers, or into panels for a kernel of ours (panels.h).
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "exec/cpu/eltwise.h"
#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/panels.h"

enum { OPERAND_A, OPERAND_B, OPERAND_BIAS, OPERAND_Z };

typedef struct product {
  int64_t m, n, k;
  bool trans_a, trans_b;
  uint32_t batch_rank;
  int64_t batch_a[EGRAPH_MAX_RANK], batch_b[EGRAPH_MAX_RANK];
} product;

typedef struct matmul_plan {
  product shape;
  const_dnnl_memory_desc_t a, b, b_any, bias, result;
  bool row_bias; // the bias is one row, as the primitive takes it
  bool has_bias, has_z;
  eg_eltwise_chain act;      // to be fused
  eg_eltwise_chain act_pass; // or as a pass of its own
} matmul_plan;

// ---- shapes ---------------------------------------------------------------------

// Rows and columns of the stored matrix; a vector is a row as a, a column as b.
static void stored_matrix(const eg_type *type, bool is_a, int64_t *rows, int64_t *cols) {
  if (type->rank == 1) {
    *rows = is_a ? 1 : type->dims[0];
    *cols = is_a ? type->dims[0] : 1;
  } else {
    *rows = type->dims[type->rank - 2];
    *cols = type->dims[type->rank - 1];
  }
}

static uint32_t batch_rank_of(const eg_type *type) {
  return type->rank > 2 ? type->rank - 2 : 0;
}

static void batch_dims(const eg_type *type, uint32_t rank, int64_t *out) {
  uint32_t own = batch_rank_of(type), skip = rank - own;
  for (uint32_t d = 0; d < rank; d++)
    out[d] = d < skip ? 1 : type->dims[d - skip];
}

static product shape_of_product(const eg_type *a, const eg_type *b, bool trans_a,
                                bool trans_b) {
  product p = {.trans_a = trans_a && a->rank > 1, .trans_b = trans_b && b->rank > 1};
  int64_t rows, cols;
  stored_matrix(a, true, &rows, &cols);
  p.m = p.trans_a ? cols : rows;
  p.k = p.trans_a ? rows : cols;
  stored_matrix(b, false, &rows, &cols);
  p.n = p.trans_b ? rows : cols;
  uint32_t rank_a = batch_rank_of(a), rank_b = batch_rank_of(b);
  p.batch_rank = rank_a > rank_b ? rank_a : rank_b;
  batch_dims(a, p.batch_rank, p.batch_a);
  batch_dims(b, p.batch_rank, p.batch_b);
  return p;
}

static int64_t count_elements(const int64_t *dims, uint32_t rank) {
  int64_t count = 1;
  for (uint32_t d = 0; d < rank; d++)
    count *= dims[d];
  return count;
}

static void set_batch(product *p, uint32_t rank, int64_t a, int64_t b) {
  p->batch_rank = rank;
  p->batch_a[0] = a;
  p->batch_b[0] = b;
}

static void collapse(product *p) {
  int64_t a = count_elements(p->batch_a, p->batch_rank),
          b = count_elements(p->batch_b, p->batch_rank);
  bool equal = true;
  for (uint32_t d = 0; d < p->batch_rank; d++)
    equal = equal && p->batch_a[d] == p->batch_b[d];
  if (b == 1 && (!p->trans_a || a == 1)) {
    p->m *= a;
    set_batch(p, 0, 1, 1);
  } else if (equal || a == 1 || b == 1) {
    set_batch(p, 1, a, b);
  }
}

static egraph_status matrix_desc(eg_descs *descs, const int64_t *batch,
                                 uint32_t batch_rank, int64_t rows, int64_t cols,
                                 bool transposed, const_dnnl_memory_desc_t *out) {
  int64_t dims[EGRAPH_MAX_RANK], strides[EGRAPH_MAX_RANK], stride = rows * cols;
  for (uint32_t d = batch_rank; d-- > 0;) {
    dims[d] = batch[d];
    strides[d] = stride;
    stride *= batch[d];
  }
  dims[batch_rank] = rows;
  dims[batch_rank + 1] = cols;
  strides[batch_rank] = transposed ? 1 : cols;
  strides[batch_rank + 1] = transposed ? rows : 1;
  return eg_dnnl_desc_strided(descs, batch_rank + 2, dims, strides, out);
}

static egraph_status plan_descs(eg_descs *descs, matmul_plan *plan) {
  const product *p = &plan->shape;
  uint32_t rank = p->batch_rank;
  int64_t batch[EGRAPH_MAX_RANK], ones[EGRAPH_MAX_RANK], dims_b[EGRAPH_MAX_RANK];
  for (uint32_t d = 0; d < rank; d++) {
    batch[d] = p->batch_a[d] > p->batch_b[d] ? p->batch_a[d] : p->batch_b[d];
    dims_b[d] = p->batch_b[d];
    ones[d] = 1;
  }
  dims_b[rank] = p->k;
  dims_b[rank + 1] = p->n;
  EG_TRY(matrix_desc(descs, p->batch_a, rank, p->m, p->k, p->trans_a, &plan->a));
  EG_TRY(matrix_desc(descs, p->batch_b, rank, p->k, p->n, p->trans_b, &plan->b));
  EG_TRY(eg_dnnl_desc_any(descs, rank + 2, dims_b, &plan->b_any));
  EG_TRY(matrix_desc(descs, ones, rank, 1, p->n, false, &plan->bias));
  return matrix_desc(descs, batch, rank, p->m, p->n, false, &plan->result);
}

// ---- primitive ------------------------------------------------------------------

// A product as it will run. Not fused: the epilogue has to follow.
typedef struct matmul_choice {
  dnnl_primitive_desc_t primitive;
  dnnl_primitive_desc_t again; // not fused, for b as packed; NULL: none is needed
  bool is_fused, sums;         // sums: the result is laid over z
} matmul_choice;

static egraph_status describe(eg_cpu_builder *builder, const matmul_plan *plan,
                              const_dnnl_memory_desc_t b,
                              const_dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t *out) {
  dnnl_status_t made = dnnl_matmul_primitive_desc_create(
      out, builder->engine, plan->a, b, plan->row_bias ? plan->bias : NULL, plan->result,
      attr);
  return eg_dnnl_own(&builder->descs, made, *out, "matmul");
}

static egraph_status describe_fused(eg_cpu_builder *builder, const matmul_plan *plan,
                                    const_dnnl_memory_desc_t b, matmul_choice *choice) {
  dnnl_primitive_attr_t attr;
  EG_TRY(eg_cpu_attr_with_epilogue(plan->has_z ? plan->result : NULL, choice->sums,
                                   &plan->act, &attr));
  egraph_status status = describe(builder, plan, b, attr, &choice->primitive);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

// What keeps the NaN that a fused activation loses.
static egraph_status describe_again(eg_cpu_builder *builder, const matmul_plan *plan,
                                    matmul_choice *choice) {
  if (!eg_eltwise_loses_nan(&plan->act)) return EGRAPH_OK;
  if (!eg_invalid_flag_works(eg_omp_threads()))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "matmul: what loses NaN goes unnoticed");
  return describe(builder, plan, eg_dnnl_weights_of(choice->primitive), builder->plain,
                  &choice->again);
}

// With fused post-ops where that is fast, otherwise without.
static egraph_status choose(eg_cpu_builder *builder, const matmul_plan *plan,
                            matmul_choice *choice) {
  const_dnnl_memory_desc_t b =
      eg_spec_is_weight(builder->spec, OPERAND_B) ? plan->b_any : plan->b;
  choice->is_fused = !plan->has_bias || plan->row_bias;
  // What is computed again needs z as it was.
  choice->sums = choice->is_fused && plan->has_z &&
                 eg_cpu_may_overlay(builder, OPERAND_Z) &&
                 !eg_eltwise_loses_nan(&plan->act);
  if (choice->is_fused) {
    bool nothing_to_fuse = !plan->has_z && plan->act.count == 0;
    egraph_status status = describe_fused(builder, plan, b, choice);
    if (status == EGRAPH_OK) {
      if (nothing_to_fuse) return EGRAPH_OK;
      status = eg_cpu_fuses_well(choice->primitive)
                   ? describe_again(builder, plan, choice)
                   : EG_FAIL(EGRAPH_E_UNSUPPORTED, "matmul: fused, it would be slow");
      if (status == EGRAPH_OK) return EGRAPH_OK;
    }
    if (status != EGRAPH_E_UNSUPPORTED || nothing_to_fuse) return status;
  }
  choice->is_fused = choice->sums = false;
  return describe(builder, plan, b, builder->plain, &choice->primitive);
}

/// Appends the primitive; it takes z along with `adds_z`.
static egraph_status add_stage(eg_cpu_builder *builder, const matmul_plan *plan,
                               const_dnnl_primitive_desc_t primitive, eg_place b,
                               bool adds_z) {
  eg_stage_arg args[5] = {{DNNL_ARG_SRC, eg_cpu_read(builder, OPERAND_A), plan->a},
                          {DNNL_ARG_WEIGHTS, b, eg_dnnl_weights_of(primitive)},
                          {DNNL_ARG_DST, eg_place_result(0), plan->result}};
  uint32_t count = 3;
  if (plan->row_bias)
    args[count++] =
        (eg_stage_arg){DNNL_ARG_BIAS, eg_cpu_read(builder, OPERAND_BIAS), plan->bias};
  if (adds_z)
    args[count++] = (eg_stage_arg){DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                                   eg_cpu_read(builder, OPERAND_Z), plan->result};
  return eg_cpu_add_primitive(builder, &builder->run, primitive, args, count);
}

// What the primitive did not do.
static egraph_status add_rest(eg_cpu_builder *builder, const matmul_plan *plan,
                              bool is_fused) {
  eg_epilogue epilogue = {.act = plan->act_pass.count != 0 || is_fused ? plan->act_pass
                                                                       : plan->act};
  if (!is_fused && plan->has_bias && !plan->row_bias)
    epilogue.addends[epilogue.count++] = OPERAND_BIAS;
  if (!is_fused && plan->has_z) epilogue.addends[epilogue.count++] = OPERAND_Z;
  return eg_cpu_add_epilogue(builder, &epilogue);
}

static egraph_status add_stages(eg_cpu_builder *builder, const matmul_plan *plan,
                                const matmul_choice *choice) {
  eg_place b;
  EG_TRY(eg_cpu_read_as(builder, OPERAND_B, plan->b,
                        eg_dnnl_weights_of(choice->primitive), &b));
  EG_TRY(eg_cpu_name(builder, choice->primitive));
  EG_TRY(add_stage(builder, plan, choice->primitive, b,
                   plan->has_z && choice->is_fused && !choice->sums));
  EG_TRY(add_rest(builder, plan, choice->is_fused));
  if (choice->again == NULL) return EGRAPH_OK;
  eg_cpu_exchange_lists(builder);
  egraph_status status = add_stage(builder, plan, choice->again, b, false);
  if (status == EGRAPH_OK) status = add_rest(builder, plan, false);
  eg_cpu_exchange_lists(builder);
  return status;
}

// ---- products with constant matrices ------------------------------------------------

static bool fits_panels(const eg_cpu_builder *builder, const matmul_plan *plan) {
  enum { FEWEST_ROWS = 4, LEAST_DEPTH = 16 };
  const eg_node_spec *spec = builder->spec;
  const product *p = &plan->shape;
  return eg_panels_work() && p->batch_rank == 0 && !p->trans_a && p->m >= FEWEST_ROWS &&
         p->k >= LEAST_DEPTH && eg_spec_is_weight(spec, OPERAND_B) &&
         (!plan->has_bias || (plan->row_bias && eg_spec_is_weight(spec, OPERAND_BIAS)));
}

/// Other functions than clips are a pass behind it.
static egraph_status add_panels(eg_cpu_builder *builder, matmul_plan *plan) {
  static const uint32_t operands[] = {OPERAND_A, OPERAND_B, OPERAND_BIAS, OPERAND_Z};
  const product *p = &plan->shape;
  eg_panel_product panels = {.rows = p->m,
                             .depth = p->k,
                             .columns = p->n,
                             .b_row = p->trans_b ? 1 : p->n,
                             .b_column = p->trans_b ? p->k : 1,
                             .has_bias = plan->has_bias,
                             .has_z = plan->has_z};
  eg_epilogue epilogue = {.act = plan->act_pass.count != 0 ? plan->act_pass : plan->act};
  eg_eltwise_take_clip(&epilogue.act, &panels.low, &panels.high);
  if (plan->has_z && eg_cpu_may_overlay(builder, OPERAND_Z)) builder->overlay = OPERAND_Z;
  EG_TRY(eg_cpu_add_panels(builder, &panels, operands));
  return eg_cpu_add_epilogue(builder, &epilogue);
}

static egraph_status compile_product(eg_cpu_builder *builder, matmul_plan *plan) {
  const eg_node_spec *spec = builder->spec;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].dtype != EGRAPH_FLOAT32)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "matmul: oneDNN kernels here take float32");
  collapse(&plan->shape);
  EG_TRY(plan_descs(&builder->descs, plan));
  if (plan->has_bias) {
    const eg_type *bias = &spec->inputs[OPERAND_BIAS];
    plan->row_bias = bias->rank != 0 && eg_type_elements(bias) == plan->shape.n &&
                     bias->dims[bias->rank - 1] == plan->shape.n;
  }
  if (eg_eltwise_is_slow(&plan->act) || eg_eltwise_loses_infinities(&plan->act)) {
    plan->act_pass = plan->act;
    plan->act.count = 0;
  }
  if (fits_panels(builder, plan)) return add_panels(builder, plan);
  matmul_choice choice = {0};
  EG_TRY(choose(builder, plan, &choice));
  if (choice.sums) builder->overlay = OPERAND_Z;
  return add_stages(builder, plan, &choice);
}

egraph_status eg_cpu_matmul(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  matmul_plan plan = {
      .shape = shape_of_product(&spec->inputs[OPERAND_A], &spec->inputs[OPERAND_B],
                                eg_attr_at(attrs, EG_A_MATMUL_TRANS_A)->i != 0,
                                eg_attr_at(attrs, EG_A_MATMUL_TRANS_B)->i != 0),
      .has_bias = spec->input_count > OPERAND_BIAS,
      .has_z = spec->input_count > OPERAND_Z,
      .act = eg_eltwise_of_act((eg_act)eg_attr_at(attrs, EG_A_MATMUL_ACT)->i,
                               eg_attr_at(attrs, EG_A_MATMUL_ACT_ALPHA)->f,
                               eg_attr_at(attrs, EG_A_MATMUL_ACT_BETA)->f)};
  return compile_product(builder, &plan);
}

egraph_status eg_cpu_gemm(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  bool has_c = spec->input_count > OPERAND_BIAS;
  if (eg_attr_at(attrs, EG_A_GEMM_ALPHA)->f != 1.0 ||
      (has_c && eg_attr_at(attrs, EG_A_GEMM_BETA)->f != 1.0))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "gemm: only unit factors have a kernel");
  matmul_plan plan = {
      .shape = shape_of_product(&spec->inputs[OPERAND_A], &spec->inputs[OPERAND_B],
                                eg_attr_at(attrs, EG_A_GEMM_TRANS_A)->i != 0,
                                eg_attr_at(attrs, EG_A_GEMM_TRANS_B)->i != 0),
      .has_bias = has_c};
  return compile_product(builder, &plan);
}

egraph_status eg_cpu_add_product(eg_cpu_builder *builder, int64_t m, int64_t n, int64_t k,
                                 bool a_is_turned, bool b_is_turned) {
  matmul_plan plan = {
      .shape = {.m = m, .n = n, .k = k, .trans_a = a_is_turned, .trans_b = b_is_turned}};
  return compile_product(builder, &plan);
}
