// Einsum. What two operands give is one batched matrix product (ops/einsum_groups.h).
// cuBLASLt wants the labels of a group to be one dimension, and rows or columns to lie
// together. A tensor that does not lie so is copied: operands before the product, the
// result after it. Other einsums run on a kernel of ours, which takes up to three
// operands.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/product_stage.h"
#include "ops/einsum_groups.h"

_Static_assert((int)EG_EINSUM_TENSORS <= (int)EG_LOOP_TENSORS, "the kernel takes a nest");

// ---- as a product ---------------------------------------------------------------

/// A copy of a tensor between where it lies and packed scratch memory, which takes its
/// place in the nest.
static egraph_status add_packing(eg_cuda_builder *builder, eg_einsum_nest *n,
                                 uint32_t tensor, const eg_einsum_groups *f,
                                 const eg_einsum_group *rows,
                                 const eg_einsum_group *columns, eg_device_place own,
                                 eg_device_place scratch) {
  uint32_t labels[EG_MAX_LABELS];
  eg_block packed = {.place = scratch}, lying = {.place = own};
  uint32_t count = eg_einsum_packed(n, f, rows, columns, labels, packed.strides);
  int64_t dims[EG_MAX_LABELS];
  for (uint32_t i = 0; i < count; i++) {
    dims[i] = n->sizes[labels[i]];
    lying.strides[i] = n->strides[tensor][labels[i]];
    n->strides[tensor][labels[i]] = packed.strides[i];
  }
  bool is_result = tensor == EG_EINSUM_RESULT;
  return eg_cuda_add_move(builder, count, dims,
                          eg_dtype_bytes(builder->spec->results[0].dtype),
                          is_result ? &lying : &packed, is_result ? &packed : &lying);
}

static egraph_status add_operand(eg_cuda_builder *builder, eg_einsum_nest *n,
                                 uint32_t tensor, const eg_einsum_groups *f,
                                 const eg_einsum_group *rows,
                                 const eg_einsum_group *columns,
                                 eg_device_place *out_place, int64_t *out_step,
                                 bool *out_is_turned) {
  *out_place = eg_device_operand(tensor - 1);
  if (eg_einsum_is_matrix(n, tensor, rows, columns, out_step, out_is_turned))
    return EGRAPH_OK;
  *out_place =
      eg_cuda_scratch(builder, eg_type_bytes(&builder->spec->inputs[tensor - 1]));
  EG_TRY(add_packing(builder, n, tensor, f, rows, columns, eg_device_operand(tensor - 1),
                     *out_place));
  (void)eg_einsum_is_matrix(n, tensor, rows, columns, out_step, out_is_turned);
  return EGRAPH_OK;
}

/// result = a b, with the result row-major as the product sees it.
static egraph_status add_stages(eg_cuda_builder *builder, eg_einsum_nest *n,
                                const eg_einsum_groups *f, uint32_t a, uint32_t b) {
  const eg_type *result = &builder->spec->results[0];
  eg_product product = {.m = f->rows.size,
                        .n = f->columns.size,
                        .k = f->summed.size,
                        .batch = {.tensors = 3},
                        .dtype = result->dtype,
                        .alpha = 1.0};
  eg_device_place places[3] = {eg_device_result(0)};
  eg_einsum_nest lying = *n;
  bool is_turned, is_packed;
  EG_TRY(add_operand(builder, n, a, f, &f->rows, &f->summed, &places[1], &product.step_a,
                     &product.trans_a));
  EG_TRY(add_operand(builder, n, b, f, &f->summed, &f->columns, &places[2],
                     &product.step_b, &product.trans_b));
  is_packed = !eg_einsum_is_matrix(n, EG_EINSUM_RESULT, &f->rows, &f->columns,
                                   &product.step_result, &is_turned) ||
              is_turned;
  if (is_packed) {
    uint32_t labels[EG_MAX_LABELS];
    int64_t strides[EG_MAX_LABELS];
    uint32_t count = eg_einsum_packed(n, f, &f->rows, &f->columns, labels, strides);
    places[0] = eg_cuda_scratch(builder, eg_type_bytes(result));
    for (uint32_t i = 0; i < count; i++)
      n->strides[EG_EINSUM_RESULT][labels[i]] = strides[i];
    product.step_result = f->columns.size;
  }
  for (uint32_t i = 0; i < f->batch.count; i++) {
    uint32_t l = f->batch.labels[i];
    eg_loop_add(
        &product.batch, n->sizes[l],
        (int64_t[]){n->strides[EG_EINSUM_RESULT][l], n->strides[a][l], n->strides[b][l]});
  }
  EG_TRY(eg_cuda_add_product(builder, &product, places));
  if (!is_packed) return EGRAPH_OK;
  return add_packing(builder, &lying, EG_EINSUM_RESULT, f, &f->rows, &f->columns,
                     eg_device_result(0), places[0]);
}

static egraph_status add_as_product(eg_cuda_builder *builder, eg_einsum_nest n) {
  eg_einsum_groups f;
  int64_t step;
  bool is_turned;
  if (!eg_einsum_group_labels(&n, &f))
    return eg_cuda_refuse(builder, "it is no matrix product");
  // A turned result is a row-major one of bT aT.
  if (!eg_einsum_is_matrix(&n, EG_EINSUM_RESULT, &f.rows, &f.columns, &step,
                           &is_turned) ||
      !is_turned)
    return add_stages(builder, &n, &f, EG_EINSUM_A, EG_EINSUM_B);
  eg_einsum_groups turned = {f.batch, f.columns, f.rows, f.summed};
  return add_stages(builder, &n, &turned, EG_EINSUM_B, EG_EINSUM_A);
}

// ---- as a loop ------------------------------------------------------------------

static egraph_status run_contraction(const eg_cuda_device *device, const void *payload,
                                     void *const *addresses) {
  return eg_cuda_check(eg_launch_contraction(payload, addresses, device->stream),
                       "contraction kernel");
}

static egraph_status add_loop(eg_cuda_builder *builder, const eg_einsum_nest *n) {
  const eg_type *result = &builder->spec->results[0];
  eg_contraction work = {.operands = (int32_t)n->tensors - 1,
                         .dtype = (int32_t)result->dtype};
  eg_loop_plan kept = {.tensors = n->tensors}, folded = {.tensors = n->tensors};
  eg_device_place places[EG_LOOP_TENSORS] = {eg_device_result(0)};
  eg_compute compute;
  if (!eg_accumulation_of(result->dtype, &compute))
    return eg_cuda_refuse(builder, "its element type");
  work.compute = (int32_t)compute;
  for (uint32_t l = 0; l < n->labels; l++)
    if (n->sizes[l] > 1)
      eg_loop_add(n->is_result[l] ? &kept : &folded, n->sizes[l],
                  (int64_t[]){n->strides[0][l], n->strides[1][l], n->strides[2][l],
                              n->strides[3][l]});
  if (!eg_loop_merge(&kept, &work.kept) || !eg_loop_merge(&folded, &work.folded))
    return eg_cuda_refuse(builder, "too many dimensions");
  for (uint32_t i = 1; i < n->tensors; i++)
    places[i] = eg_device_operand(i - 1);
  builder->kernel = "CUDA contraction";
  return eg_cuda_add(builder, run_contraction, &work, sizeof work, NULL, places,
                     n->tensors);
}

egraph_status eg_cuda_einsum(eg_cuda_builder *builder) {
  const eg_cuda_builder mark = *builder;
  eg_einsum_nest n;
  const eg_node_spec *spec = builder->spec;
  EG_TRY(eg_einsum_nest_of(spec->attrs, spec->inputs, spec->input_count,
                           &spec->results[0], &n));
  egraph_status status = add_as_product(builder, n);
  if (status != EGRAPH_E_UNSUPPORTED) return status;
  eg_cuda_rewind(builder, &mark);
  return add_loop(builder, &n);
}
