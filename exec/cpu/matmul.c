// Matrix products: act(op(a) op(b) + bias + z), and ONNX's Gemm with unit factors.
//
// Shapes are first reduced to the fewest dimensions: batch dimensions of a that b lacks
// become rows ([1,128,768] x [768,3072] is one 128 x 768 x 3072 product), equal batches
// become one. Transpositions are strides. A constant b is packed once, into the format
// that the kernel prefers, or into panels for egraph's kernel (panels.h).
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "exec/cpu/families.h"
#include "exec/cpu/fused.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/panels.h"

enum { OPERAND_A = EG_FUSED_X, OPERAND_B = EG_FUSED_W };

typedef struct product {
  int64_t m, n, k;
  bool trans_a, trans_b;
  uint32_t batch_rank;
  int64_t batch_a[EGRAPH_MAX_RANK], batch_b[EGRAPH_MAX_RANK];
} product;

typedef struct matmul_plan {
  eg_fused_plan fused;
  product shape;
  bool has_bias;
} matmul_plan;

// ---- shapes ---------------------------------------------------------------------

// Finds rows and columns as stored; a vector is a row as operand a, a column as
// operand b.
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
  eg_fused_plan *fused = &plan->fused;
  EG_TRY(matrix_desc(descs, p->batch_a, rank, p->m, p->k, p->trans_a, &fused->x));
  EG_TRY(matrix_desc(descs, p->batch_b, rank, p->k, p->n, p->trans_b, &fused->weights));
  EG_TRY(eg_dnnl_desc_any(descs, rank + 2, dims_b, &fused->any_weights));
  EG_TRY(matrix_desc(descs, ones, rank, 1, p->n, false, &fused->bias));
  return matrix_desc(descs, batch, rank, p->m, p->n, false, &fused->result);
}

static egraph_status describe_matmul(eg_cpu_builder *builder, const eg_fused_plan *plan,
                                     const_dnnl_memory_desc_t weights,
                                     const_dnnl_primitive_attr_t attr,
                                     dnnl_primitive_desc_t *out) {
  dnnl_status_t made = dnnl_matmul_primitive_desc_create(
      out, builder->engine, plan->x, weights, plan->bias, plan->result, attr);
  return eg_dnnl_own(&builder->descs, made, *out, "matmul");
}

// ---- products with constant matrices ------------------------------------------------

static bool fits_panels(const eg_cpu_builder *builder, const matmul_plan *plan) {
  enum { FEWEST_ROWS = 4, LEAST_DEPTH = 16 };
  const eg_node_spec *spec = builder->spec;
  const product *p = &plan->shape;
  return eg_panels_work() && p->batch_rank == 0 && !p->trans_a && p->m >= FEWEST_ROWS &&
         p->k >= LEAST_DEPTH && eg_spec_is_weight(spec, OPERAND_B) &&
         (!plan->has_bias ||
          (!plan->fused.bias_follows && eg_spec_is_weight(spec, EG_FUSED_BIAS)));
}

static egraph_status add_panels(eg_cpu_builder *builder, matmul_plan *plan) {
  static const uint32_t operands[] = {OPERAND_A, OPERAND_B, EG_FUSED_BIAS, EG_FUSED_Z};
  const product *p = &plan->shape;
  eg_panel_product panels = {.rows = p->m,
                             .depth = p->k,
                             .columns = p->n,
                             .b_row = p->trans_b ? 1 : p->n,
                             .b_column = p->trans_b ? p->k : 1,
                             .has_bias = plan->has_bias,
                             .has_z = plan->fused.has_z};
  eg_epilogue epilogue =
      eg_cpu_epilogue_of_own(builder, &plan->fused, &panels.low, &panels.high);
  EG_TRY(eg_cpu_add_panels(builder, &panels, operands));
  return eg_cpu_add_epilogue(builder, &epilogue);
}

static egraph_status compile_product(eg_cpu_builder *builder, matmul_plan *plan) {
  const eg_node_spec *spec = builder->spec;
  eg_fused_plan *fused = &plan->fused;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].dtype != EGRAPH_FLOAT32)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "matmul: oneDNN kernels here take float32");
  collapse(&plan->shape);
  EG_TRY(plan_descs(&builder->descs, plan));
  fused->op = "matmul";
  fused->describe = describe_matmul;
  if (!eg_spec_is_weight(spec, OPERAND_B)) fused->any_weights = fused->weights;
  if (plan->has_bias) { // the kernel takes a row
    const eg_type *bias = &spec->inputs[EG_FUSED_BIAS];
    fused->bias_follows = bias->rank == 0 || eg_type_elements(bias) != plan->shape.n ||
                          bias->dims[bias->rank - 1] != plan->shape.n;
  }
  if (!plan->has_bias || fused->bias_follows) fused->bias = NULL;
  if (eg_eltwise_is_slow(&fused->act) || eg_eltwise_loses_infinities(&fused->act)) {
    fused->act_pass = fused->act;
    fused->act.count = 0;
  }
  if (fits_panels(builder, plan)) return add_panels(builder, plan);
  eg_fused_choice choice = {.is_fused = !fused->bias_follows};
  // A kernel that computes the result again needs z unchanged.
  choice.sums = choice.is_fused && fused->has_z &&
                eg_cpu_may_overlay(builder, EG_FUSED_Z) &&
                !eg_eltwise_loses_nan(&fused->act);
  EG_TRY(eg_fused_choose(builder, fused, &choice));
  return eg_cpu_add_fused(builder, fused, &choice);
}

egraph_status eg_cpu_matmul(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  matmul_plan plan = {
      .shape = shape_of_product(&spec->inputs[OPERAND_A], &spec->inputs[OPERAND_B],
                                eg_attr_at(attrs, EG_A_MATMUL_TRANS_A)->i != 0,
                                eg_attr_at(attrs, EG_A_MATMUL_TRANS_B)->i != 0),
      .has_bias = spec->input_count > EG_FUSED_BIAS,
      .fused.has_z = spec->input_count > EG_FUSED_Z,
      .fused.act = eg_eltwise_of_act(attrs)};
  return compile_product(builder, &plan);
}

egraph_status eg_cpu_gemm(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_attrs *attrs = spec->attrs;
  bool has_c = spec->input_count > EG_FUSED_BIAS;
  if (eg_attr_at(attrs, EG_A_GEMM_ALPHA)->f != 1.0 ||
      (has_c && eg_attr_at(attrs, EG_A_GEMM_BETA)->f != 1.0))
    return eg_cpu_refuse(builder, "only unit factors have a kernel");
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
