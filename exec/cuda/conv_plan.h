// Plans convolutions and their gradients as graphs of cuDNN: describes the problem,
// chooses an engine, executes it. Only conv_plan.c calls cuDNN's graph interface. All
// steps before execution also work without a device, from device properties in text form.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CONV_PLAN_H
#define EG_EXEC_CONV_PLAN_H

#include "exec/cuda/cuda_support.h"
#include "exec/cuda/device_kernels.h"

/// Dimensions of a tensor: N, C and two or three spatial dimensions.
enum { EG_CONV_MAX_RANK = 5 };

/// x is the large tensor, y the small one; any of x, w and y may be the result.
typedef struct eg_conv_problem {
  eg_conv_kind kind;
  egraph_dtype dtype;
  uint32_t rank; // 4 or 5
  int64_t x[EG_CONV_MAX_RANK], w[EG_CONV_MAX_RANK], y[EG_CONV_MAX_RANK];
  int64_t x_strides[EG_CONV_MAX_RANK], w_strides[EG_CONV_MAX_RANK];
  int64_t y_strides[EG_CONV_MAX_RANK];
  int64_t pads[EG_CONV_MAX_RANK], pads_end[EG_CONV_MAX_RANK]; // [rank - 2]
  int64_t strides[EG_CONV_MAX_RANK], dilations[EG_CONV_MAX_RANK];
  int64_t alignment; // alignment of all addresses, bytes
  bool allows_winograd;
} eg_conv_problem;

typedef struct eg_conv_plan {
  cudnnBackendDescriptor_t plan;
  int64_t workspace_bytes;
} eg_conv_plan;

/// Makes the first plan of cuDNN's heuristics that is deterministic, exact for the
/// element type (no TF32 for float32) and needs at most EG_CUDA_WORKSPACE. `handle` is
/// the handle of the device; if it is NULL, `device_properties` is a finalized
/// descriptor. Fails with EGRAPH_E_UNSUPPORTED when there is no such plan.
egraph_status eg_conv_plan_create(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t device_properties,
                                  const eg_conv_problem *problem, eg_conv_plan *out);
void eg_conv_plan_destroy(eg_conv_plan *plan); // a plan of zeros is allowed
egraph_status eg_conv_plan_run(const eg_conv_plan *plan, const eg_cuda_device *device,
                               void *x, void *w, void *y);

#endif
