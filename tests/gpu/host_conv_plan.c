// A stand-in for exec/cuda/conv_plan.c where there is no device: what cuDNN would compute
// runs on the direct kernel, over the same strides, so that all that is around a plan is
// tested. Like cuDNN it refuses windows that do not fill the tensors; unlike cuDNN,
// tensors of three spatial dimensions, which leaves those to the direct kernel.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "exec/cuda/conv_plan.h"

static bool fills(const eg_conv_problem *p, uint32_t d) {
  int64_t span = (p->w[d + 2] - 1) * p->dilations[d] + 1;
  int64_t room = p->x[d + 2] + p->pads[d] + p->pads_end[d] - span;
  return p->y[d + 2] == room / p->strides[d] + 1;
}

static bool is_supported(const eg_conv_problem *p) {
  return p->rank == 4 && fills(p, 0) && fills(p, 1) && p->dtype != EGRAPH_INT8 &&
         p->dtype != EGRAPH_INT32 && p->dtype != EGRAPH_INT64;
}

egraph_status eg_conv_plan_create(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t device_properties,
                                  const eg_conv_problem *problem, eg_conv_plan *out) {
  (void)handle, (void)device_properties;
  if (!is_supported(problem))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the stand-in has no plan for a convolution");
  eg_conv_problem *copy = malloc(sizeof *copy);
  *copy = *problem;
  *out = (eg_conv_plan){.plan = (void *)copy};
  return EGRAPH_OK;
}

void eg_conv_plan_destroy(eg_conv_plan *plan) {
  free((void *)plan->plan);
  plan->plan = NULL;
}

/// N, C and the spatial dimensions last of EG_POOL_RANK.
static void spread(const int64_t *from, int64_t *out) {
  for (uint32_t d = 0; d < 4; d++)
    out[d < 2 ? d : d + 1] = from[d];
  out[2] = 0;
}

egraph_status eg_conv_plan_run(const eg_conv_plan *plan, const eg_cuda_device *device,
                               void *x, void *w, void *y) {
  const eg_conv_problem *p = (const void *)plan->plan;
  eg_direct_conv work = {.kind = (int32_t)p->kind,
                         .compute = EG_COMPUTE_F64,
                         .dtype = (int32_t)p->dtype,
                         .images = p->x[0],
                         .groups = p->x[1] / p->w[1],
                         .small_channels = p->w[0] / (p->x[1] / p->w[1]),
                         .large_channels = p->w[1],
                         .small = {1},
                         .large = {1},
                         .kernel = {1},
                         .stride = {1},
                         .dilation = {1}};
  for (uint32_t d = 0; d < 2; d++) {
    work.small[d + 1] = p->y[d + 2];
    work.large[d + 1] = p->x[d + 2];
    work.kernel[d + 1] = p->w[d + 2];
    work.stride[d + 1] = p->strides[d];
    work.dilation[d + 1] = p->dilations[d];
    work.pad[d + 1] = p->pads[d];
  }
  spread(p->y_strides, work.small_strides);
  spread(p->x_strides, work.large_strides);
  spread(p->w_strides, work.weight_strides);
  return eg_cuda_check(eg_launch_direct_conv(&work, y, x, w, device->stream),
                       "convolution");
}
