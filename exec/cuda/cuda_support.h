// What all files of the back-end share: its state on the device, and a translation of
// status codes for each library. Only this file includes the headers of the CUDA runtime,
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

/// A device of a back-end: all work goes to one stream, in order.
typedef struct eg_cuda_device {
  int ordinal;
  int major, minor; // compute capability
  cudaStream_t stream;
  cublasLtHandle_t blas;
  cudnnHandle_t dnn; // NULL: cuDNN does not run here
  void *workspace;   // memory for cuBLASLt and cuDNN, EG_CUDA_WORKSPACE bytes
  int32_t *fault;    // in device memory; 1: an index was outside of its table
  struct eg_kernel_store *kernels; // that are compiled while the program runs
  const eg_plugin_host *host;
} eg_cuda_device;

enum { EG_CUDA_WORKSPACE = 256 << 20 };

/// Returns EGRAPH_OK, or a failure that names the call and the library's message:
/// EGRAPH_E_MEMORY when out of memory, otherwise EGRAPH_E_UNSUPPORTED.
egraph_status eg_cuda_check(cudaError_t code, const char *what);
egraph_status eg_cublas_check(cublasStatus_t code, const char *what);
egraph_status eg_cudnn_check(cudnnStatus_t code, const char *what);

#endif
