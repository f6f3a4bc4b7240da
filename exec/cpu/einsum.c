// Runs einsums of two operands that are one batched matrix product (ops/einsum.h).
//
// A packed product without a batch runs like a matmul. Others are products of matrices
// with steps, and batch dimensions in any order ([b,t,h,d] x [b,s,h,d] gives [b,h,t,s]
// without a copy). A tensor that is no matrix is packed: operands before the product, the
// result after it. Many small products, and scaled vectors, are faster on the reference
// kernel, so they are left to it.
// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum.h"
#include "exec/cpu/families.h"

enum { RESULT = EG_EINSUM_RESULT, A = EG_EINSUM_A, B = EG_EINSUM_B, TENSORS = 3 };
enum { MAX_DIMS = EGRAPH_MAX_RANK + 2 }; // batch, rows, columns

/// A tensor of the product as a matrix: its rows and its columns.
typedef struct matrix {
  uint32_t tensor;
  const eg_einsum_group *rows, *columns;
  bool is_packed; // a packed copy replaces the tensor
  bool is_turned;
  int64_t step;
} matrix;

typedef struct einsum_plan {
  const eg_einsum_nest *nest;
  const eg_einsum_groups *groups;
  matrix of[TENSORS]; // result = first factor times second factor
  const_dnnl_memory_desc_t desc[TENSORS];
} einsum_plan;

// ---- packed matrices ----------------------------------------------------------------

static bool lies_packed(const matrix *m) {
  int64_t along = m->is_turned ? m->rows->size : m->columns->size;
  int64_t across = m->is_turned ? m->columns->size : m->rows->size;
  return !m->is_packed && (across == 1 || m->step == along);
}

static egraph_status add_dense(eg_cpu_builder *builder, const einsum_plan *plan) {
  const matrix *a = &plan->of[A], *b = &plan->of[B];
  bool is_dense = plan->groups->batch.count == 0 && a->tensor == A;
  for (uint32_t t = 0; t < TENSORS; t++)
    is_dense = is_dense && lies_packed(&plan->of[t]);
  if (!is_dense) return eg_cpu_refuse(builder, "no plain product");
  return eg_cpu_add_product(builder, a->rows->size, b->columns->size, a->columns->size,
                            a->is_turned, b->is_turned);
}

// ---- matrices with steps ------------------------------------------------------------

static matrix matrix_of(const eg_einsum_nest *nest, uint32_t tensor,
                        const eg_einsum_group *rows, const eg_einsum_group *columns) {
  matrix m = {.tensor = tensor, .rows = rows, .columns = columns};
  m.is_packed = !eg_einsum_is_matrix(nest, tensor, rows, columns, &m.step, &m.is_turned);
  return m;
}

/// Sets result = a b in the plan of a product: a has the rows, b the columns.
static void set_factors(einsum_plan *plan, uint32_t a, const eg_einsum_group *rows,
                        uint32_t b, const eg_einsum_group *columns) {
  const eg_einsum_group *summed = &plan->groups->summed;
  plan->of[RESULT] = matrix_of(plan->nest, RESULT, rows, columns);
  plan->of[A] = matrix_of(plan->nest, a, rows, summed);
  plan->of[B] = matrix_of(plan->nest, b, summed, columns);
}

/// Describes a matrix of the product by batch, rows and columns; is_any: the kernel
/// chooses the format.
static egraph_status describe_matrix(eg_descs *descs, const einsum_plan *plan,
                                     const matrix *m, bool is_any,
                                     const_dnnl_memory_desc_t *out) {
  const eg_einsum_group *batch = &plan->groups->batch;
  int64_t dims[MAX_DIMS], strides[MAX_DIMS], stride = m->rows->size * m->columns->size;
  uint32_t rank = batch->count;
  for (uint32_t d = rank; d-- > 0;) {
    dims[d] = plan->nest->sizes[batch->labels[d]];
    strides[d] = m->is_packed ? stride : plan->nest->strides[m->tensor][batch->labels[d]];
    stride *= dims[d];
  }
  dims[rank] = m->rows->size;
  dims[rank + 1] = m->columns->size;
  if (is_any) return eg_dnnl_desc_any(descs, rank + 2, dims, out);
  bool is_turned = m->is_turned && !m->is_packed;
  int64_t step = m->is_packed ? m->columns->size : m->step;
  // The step of a single row or column has no effect, but oneDNN checks it.
  int64_t along = is_turned ? m->rows->size : m->columns->size;
  if (step < along) step = along;
  strides[rank] = is_turned ? 1 : step;
  strides[rank + 1] = is_turned ? step : 1;
  return eg_dnnl_desc_strided(descs, rank + 2, dims, strides, out);
}

/// True for a constant second factor stored as a matrix: the kernel chooses its format.
static bool is_constant_matrix(const eg_cpu_builder *builder, const einsum_plan *plan,
                               uint32_t t) {
  const matrix *m = &plan->of[t];
  return t == B && !m->is_packed && eg_spec_is_weight(builder->spec, m->tensor - A);
}

static egraph_status create(eg_cpu_builder *builder, einsum_plan *plan,
                            dnnl_primitive_desc_t *out) {
  eg_descs *descs = &builder->descs;
  const_dnnl_memory_desc_t second;
  for (uint32_t t = 0; t < TENSORS; t++)
    EG_TRY(describe_matrix(descs, plan, &plan->of[t], false, &plan->desc[t]));
  EG_TRY(describe_matrix(descs, plan, &plan->of[B], is_constant_matrix(builder, plan, B),
                         &second));
  dnnl_status_t made =
      dnnl_matmul_primitive_desc_create(out, builder->engine, plan->desc[A], second, NULL,
                                        plan->desc[RESULT], builder->plain);
  return eg_dnnl_own(descs, made, *out, "einsum");
}

/// Describes a tensor by its labels as dimensions, as stored and as packed.
static egraph_status describe_packing(eg_descs *descs, const einsum_plan *plan,
                                      const matrix *m, const_dnnl_memory_desc_t *lying,
                                      const_dnnl_memory_desc_t *packed) {
  uint32_t labels[EG_MAX_LABELS];
  int64_t dims[EGRAPH_MAX_RANK] = {1}, strides[EG_MAX_LABELS] = {1};
  int64_t own[EGRAPH_MAX_RANK] = {1};
  uint32_t count =
      eg_einsum_packed(plan->nest, plan->groups, m->rows, m->columns, labels, strides);
  for (uint32_t i = 0; i < count; i++) {
    dims[i] = plan->nest->sizes[labels[i]];
    own[i] = plan->nest->strides[m->tensor][labels[i]];
  }
  if (count == 0) count = 1;
  EG_TRY(eg_dnnl_desc_strided(descs, count, dims, own, lying));
  return eg_dnnl_desc_strided(descs, count, dims, strides, packed);
}

/// Finds the memory where factor `t` of the product is read; updates its descriptor.
static egraph_status read_matrix(eg_cpu_builder *builder, einsum_plan *plan, uint32_t t,
                                 const_dnnl_primitive_desc_t primitive, eg_place *out) {
  const matrix *m = &plan->of[t];
  const_dnnl_memory_desc_t lying = plan->desc[t], packed;
  if (is_constant_matrix(builder, plan, t)) {
    plan->desc[t] = eg_dnnl_weights_of(primitive);
    return eg_cpu_read_as(builder, m->tensor - A, lying, plan->desc[t], out);
  }
  *out = eg_cpu_read(builder, m->tensor - A);
  if (!m->is_packed) return EGRAPH_OK;
  EG_TRY(describe_packing(&builder->descs, plan, m, &lying, &packed));
  return eg_cpu_read_as(builder, m->tensor - A, lying, packed, out);
}

static egraph_status add_strided(eg_cpu_builder *builder, einsum_plan *plan) {
  static const int arguments[] = {DNNL_ARG_DST, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  const matrix *result = &plan->of[RESULT];
  dnnl_primitive_desc_t primitive;
  eg_stage_arg args[TENSORS];
  eg_place places[TENSORS] = {eg_place_result(0)};
  EG_TRY(create(builder, plan, &primitive));
  EG_TRY(read_matrix(builder, plan, A, primitive, &places[A]));
  EG_TRY(read_matrix(builder, plan, B, primitive, &places[B]));
  if (result->is_packed)
    places[RESULT] =
        eg_cpu_scratch(builder, (size_t)eg_type_bytes(&builder->spec->results[0]));
  for (uint32_t t = 0; t < TENSORS; t++)
    args[t] = (eg_stage_arg){arguments[t], places[t], plan->desc[t]};
  EG_TRY(eg_cpu_name(builder, primitive));
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, primitive, args, TENSORS));
  if (!result->is_packed) return EGRAPH_OK;
  const_dnnl_memory_desc_t lying, packed;
  EG_TRY(describe_packing(&builder->descs, plan, result, &lying, &packed));
  return eg_cpu_add_reorder(builder, &builder->run, places[RESULT], packed,
                            eg_place_result(0), lying);
}

// ---- the family ---------------------------------------------------------------------

static egraph_status check_factors(const eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  bool has_elements = true;
  for (uint32_t i = 0; i < spec->input_count; i++) {
    has_elements = has_elements && eg_type_elements(&spec->inputs[i]) != 0;
    if (spec->inputs[i].dtype != EGRAPH_FLOAT32)
      return eg_cpu_refuse(builder, "oneDNN kernels here take float32");
  }
  if (!has_elements) return eg_cpu_refuse(builder, "nothing to multiply");
  return EGRAPH_OK;
}

/// True when the products are large enough: oneDNN's overhead for each product of a batch
/// takes longer than a small product does.
static bool is_worth_while(const eg_einsum_groups *groups) {
  enum { LEAST = 64 }; // multiplications
  int64_t rows = groups->rows.size, columns = groups->columns.size;
  int64_t summed = groups->summed.size;
  if (groups->batch.count == 0) return rows * columns * summed > 1;
  bool is_vector = rows == 1 || columns == 1;
  bool is_number = rows == 1 && columns == 1;
  return !is_number && !(is_vector && summed == 1) && rows * columns * summed >= LEAST;
}

egraph_status eg_cpu_einsum(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_einsum_nest nest;
  eg_einsum_groups groups;
  EG_TRY(check_factors(builder));
  EG_TRY(eg_einsum_nest_of(spec->attrs, spec->inputs, spec->input_count,
                           &spec->results[0], &nest));
  if (!eg_einsum_group_labels(&nest, &groups))
    return eg_cpu_refuse(builder, "only matrix products have a kernel");
  if (!is_worth_while(&groups))
    return eg_cpu_refuse(builder, "the products are too small");
  einsum_plan plan = {.nest = &nest, .groups = &groups};
  set_factors(&plan, A, &groups.rows, B, &groups.columns);
  // A transposed result is the row-major product bT aT.
  if (plan.of[RESULT].is_turned) set_factors(&plan, B, &groups.columns, A, &groups.rows);
  egraph_status status = add_dense(builder, &plan);
  return status == EGRAPH_E_UNSUPPORTED ? add_strided(builder, &plan) : status;
}
