// Shared by all files of the back-end: its state on the device, and one translation of
// status codes per library. The one place that includes the headers of the CUDA runtime,
// cuBLASLt and cuDNN.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CUDA_SUPPORT_H
#define EG_EXEC_CUDA_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "exec/plugin/plugin_abi.h"

/// One device as a back-end uses it: work goes to one stream, in order.
typedef struct eg_cuda_device {
  int ordinal;
  int major, minor; // compute capability
  cudaStream_t stream;
  cublasLtHandle_t blas;
  cudnnHandle_t dnn; // NULL: cuDNN does not run here, convolutions have no kernel
  void *workspace;   // of cuBLASLt and cuDNN, EG_CUDA_WORKSPACE bytes
  int32_t *fault;    // on the device; 1: an index was outside of its table
  const eg_plugin_host *host;
} eg_cuda_device;

enum { EG_CUDA_WORKSPACE = 256 << 20 };

/// EGRAPH_OK, or a failure that names the call and what the library says: out of memory
/// is EGRAPH_E_MEMORY, everything else EGRAPH_E_UNSUPPORTED.
egraph_status eg_cuda_check(cudaError_t code, const char *what);
egraph_status eg_cublas_check(cublasStatus_t code, const char *what);
egraph_status eg_cudnn_check(cudnnStatus_t code, const char *what);

#endif
