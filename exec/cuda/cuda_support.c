// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_support.h"

egraph_status eg_cuda_check(cudaError_t code, const char *what) {
  if (code == cudaSuccess) return EGRAPH_OK;
  egraph_status status =
      code == cudaErrorMemoryAllocation ? EGRAPH_E_MEMORY : EGRAPH_E_UNSUPPORTED;
  return EG_FAIL(status, "CUDA: %s: %s (%s)", what, cudaGetErrorString(code),
                 cudaGetErrorName(code));
}

egraph_status eg_cublas_check(cublasStatus_t code, const char *what) {
  if (code == CUBLAS_STATUS_SUCCESS) return EGRAPH_OK;
  egraph_status status =
      code == CUBLAS_STATUS_ALLOC_FAILED ? EGRAPH_E_MEMORY : EGRAPH_E_UNSUPPORTED;
  return EG_FAIL(status, "cuBLASLt: %s: %s", what, cublasLtGetStatusString(code));
}

egraph_status eg_cudnn_check(cudnnStatus_t code, const char *what) {
  if (code == CUDNN_STATUS_SUCCESS) return EGRAPH_OK;
  char detail[256] = "";
  cudnnGetLastErrorString(detail, sizeof detail);
  egraph_status status =
      code == CUDNN_STATUS_ALLOC_FAILED ? EGRAPH_E_MEMORY : EGRAPH_E_UNSUPPORTED;
  return EG_FAIL(status, "cuDNN: %s: %s %s", what, cudnnGetErrorString(code), detail);
}
