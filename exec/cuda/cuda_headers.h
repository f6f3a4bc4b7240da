// The one place that includes the headers of the CUDA runtime, cuBLASLt and cuDNN.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CUDA_HEADERS_H
#define EG_EXEC_CUDA_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#endif
