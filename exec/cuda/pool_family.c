// Pooling and its gradients: windows over up to three spatial dimensions.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/strided.h"

enum { SLOT_KERNEL, SLOT_STRIDES, SLOT_PADS, SLOT_DILATIONS };

/// Sets the windows over `large` whose results are `small`. The spatial dimensions are
/// the last ones of EG_POOL_RANK; the dimensions before them have size 1.
static void set_window(const eg_attr *slots, const eg_type *small, const eg_type *large,
                       eg_pooling *work) {
  uint32_t spatial = large->rank - 2, lead = EG_POOL_RANK - spatial;
  int64_t from[EGRAPH_MAX_RANK] = {0}, to[EGRAPH_MAX_RANK] = {0};
  eg_type_strides(large, from);
  eg_type_strides(small, to);
  for (uint32_t d = 0; d < 2; d++) {
    work->large_strides[d] = from[d];
    work->small_strides[d] = to[d];
  }
  for (uint32_t d = 0; d < EG_POOL_RANK; d++) {
    work->small[d] = work->large[d] = work->kernel[d] = 1;
    work->stride[d] = work->dilation[d] = 1;
    if (d < lead) continue;
    uint32_t s = d - lead;
    work->small[d] = small->dims[s + 2];
    work->large[d] = large->dims[s + 2];
    work->kernel[d] = slots[SLOT_KERNEL].ints.data[s];
    work->stride[d] = slots[SLOT_STRIDES].ints.data[s];
    work->pad[d] = slots[SLOT_PADS].ints.data[s];
    work->pad_end[d] = slots[SLOT_PADS].ints.data[spatial + s];
    if (work->is_max) work->dilation[d] = slots[SLOT_DILATIONS].ints.data[s];
    work->large_strides[d + 2] = from[s + 2];
    work->small_strides[d + 2] = to[s + 2];
  }
}

static egraph_status make_work(const eg_cuda_builder *builder, const eg_type *small,
                               const eg_type *large, bool is_max, eg_attr_slot include,
                               eg_pooling *out) {
  const eg_attrs *attrs = builder->spec->attrs;
  eg_compute compute;
  if (large->rank > EG_POOL_RANK + 2)
    return eg_cuda_refuse(builder, "too many dimensions");
  if (!eg_accumulation_of(large->dtype, &compute))
    return eg_cuda_refuse(builder, "its element type");
  *out = (eg_pooling){.images = large->dims[0],
                      .channels = large->dims[1],
                      .is_max = is_max,
                      .include_pad = !is_max && eg_attr_at(attrs, include)->i != 0,
                      .compute = (int32_t)compute,
                      .dtype = (int32_t)large->dtype};
  set_window(attrs->slots, small, large, out);
  return EGRAPH_OK;
}

EG_DEVICE_STAGE(run_pooling, eg_pooling, "pooling kernel",
                eg_launch_pooling(work, addresses[0], addresses[1], device->stream))

egraph_status eg_cuda_pool(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_pooling work;
  EG_TRY(make_work(builder, &spec->results[0], &spec->inputs[0],
                   spec->attrs->op == EG_OP_MAX_POOL, EG_A_AVERAGE_POOL_COUNT_INCLUDE_PAD,
                   &work));
  eg_device_place places[] = {eg_device_result(0), eg_device_operand(0)};
  builder->kernel = "CUDA pooling";
  return eg_cuda_add(builder, run_pooling, &work, sizeof work, NULL, places, 2);
}

// ---- gradients ------------------------------------------------------------------

EG_DEVICE_STAGE(run_pool_grad, eg_pooling, "gradient of pooling kernel",
                eg_launch_pool_grad(work, addresses[0], addresses[1], addresses[2],
                                    device->stream))

// Appends a gradient of pooling. The gradient of an average has no operand x.
egraph_status eg_cuda_pool_grad(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  bool is_max = spec->attrs->op == EG_OP_MAX_POOL_GRAD;
  uint32_t cotangent = spec->input_count - 1;
  eg_pooling work;
  EG_TRY(make_work(builder, &spec->inputs[cotangent], &spec->results[0], is_max,
                   EG_A_AVERAGE_POOL_GRAD_COUNT_INCLUDE_PAD, &work));
  eg_device_place places[] = {eg_device_result(0), eg_device_operand(0),
                              eg_device_operand(cotangent)};
  builder->kernel = "CUDA gradient of pooling";
  return eg_cuda_add(builder, run_pool_grad, &work, sizeof work, NULL, places, 3);
}
