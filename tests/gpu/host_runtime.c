// A stand-in for the CUDA runtime and for the part of cuBLASLt that the back-end uses, in
// host memory: streams are in order and done at once, a block has one thread, nothing can
// be captured. With it the back-end's own code, kernels included, runs and is tested
// where there is no device. cuDNN does not open.
// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cuda/cuda_headers.h"

enum { HOST_ALIGNMENT = 256, PATTERN_BYTES = 1 << 20 };

// ---- device, streams --------------------------------------------------------------

// Two devices, which share their memory.
cudaError_t cudaGetDeviceCount(int *count) { return *count = 2, cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  return *can = device != peer, cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return (void)device, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device) {
  (void)attribute, (void)device;
  return *value = 0, cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  (void)device;
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "host");
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  return *version = CUDART_VERSION, cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t code) { return (void)code, "failure"; }
const char *cudaGetErrorName(cudaError_t code) { return (void)code, "failure"; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  (void)flags;
  return *stream = malloc(1), cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return free(stream), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return (void)stream, cudaSuccess;
}

// What comes before an event is done when it is recorded.
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  (void)flags;
  return *event = malloc(1), cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return free(event), cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return (void)event, (void)stream, cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return (void)event, cudaSuccess; }

// ---- memory -----------------------------------------------------------------------

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  (void)device;
  return *pool = NULL, cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                    void *value) {
  return (void)pool, (void)attribute, (void)value, cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool,
                                 const struct cudaMemAccessDesc *access, size_t count) {
  return (void)pool, (void)access, (void)count, cudaSuccess;
}
// What is not written shows: fresh memory is filled with a pattern.
cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
  size_t padded = (bytes + HOST_ALIGNMENT - 1) / HOST_ALIGNMENT * HOST_ALIGNMENT;
  (void)stream;
  *out = aligned_alloc(HOST_ALIGNMENT, padded);
  if (*out == NULL) return cudaErrorMemoryAllocation;
  memset(*out, 0xa5, padded < PATTERN_BYTES ? padded : PATTERN_BYTES);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
  (void)stream;
  return free(memory), cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  (void)stream;
  return memset(memory, value, bytes), cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind, (void)stream;
  return memcpy(to, from, bytes), cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_step, const void *from,
                              size_t from_step, size_t bytes, size_t rows,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind, (void)stream;
  for (size_t i = 0; i < rows; i++)
    memcpy((char *)to + i * to_step, (const char *)from + i * from_step, bytes);
  return cudaSuccess;
}

// ---- graphs: refused, so that the way around them is taken --------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  return (void)stream, (void)mode, cudaErrorStreamCaptureUnsupported;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  return (void)stream, (void)graph, cudaErrorStreamCaptureUnsupported;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return (void)exec, (void)graph, (void)flags, cudaErrorNotSupported;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return (void)exec, (void)stream, cudaErrorNotSupported;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return (void)graph, cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return (void)exec, cudaSuccess; }

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  return *handle = NULL, CUDNN_STATUS_NOT_INITIALIZED;
}

// ---- cuBLASLt: what a call says, done naively ---------------------------------------

typedef struct host_product {
  cublasComputeType_t compute;
  cublasOperation_t trans_a, trans_b;
  cublasLtEpilogue_t epilogue;
  const void *bias;
} host_product;

typedef struct host_matrix {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t ld, stride;
  int32_t batch;
} host_matrix;

#define PRODUCT(desc) ((host_product *)(void *)(desc))
#define MATRIX(layout) ((const host_matrix *)(const void *)(layout))

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  return *handle = malloc(1), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return free(handle), CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion(void) { return 0; }
const char *cublasLtGetStatusString(cublasStatus_t code) { return (void)code, "failure"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  host_product *product = calloc(1, sizeof *product);
  (void)scale;
  product->compute = compute;
  product->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  return *out = (cublasLtMatmulDesc_t)(void *)product, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return free(desc), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t bytes) {
  host_product *p = PRODUCT(desc);
  void *member = name == CUBLASLT_MATMUL_DESC_TRANSA     ? (void *)&p->trans_a
                 : name == CUBLASLT_MATMUL_DESC_TRANSB   ? (void *)&p->trans_b
                 : name == CUBLASLT_MATMUL_DESC_EPILOGUE ? (void *)&p->epilogue
                                                         : (void *)&p->bias;
  return memcpy(member, value, bytes), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  host_matrix *matrix = calloc(1, sizeof *matrix);
  *matrix =
      (host_matrix){.type = type, .rows = rows, .columns = columns, .ld = ld, .batch = 1};
  return *out = (cublasLtMatrixLayout_t)(void *)matrix, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return free(layout), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void *value, size_t bytes) {
  host_matrix *matrix = (host_matrix *)(void *)layout;
  void *member = name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? (void *)&matrix->batch
                                                            : (void *)&matrix->stride;
  return memcpy(member, value, bytes), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  return *out = malloc(1), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return free(preference), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t name,
                                     const void *value, size_t bytes) {
  (void)preference, (void)name, (void)value, (void)bytes;
  return CUBLAS_STATUS_SUCCESS;
}

static bool fits(const host_matrix *m, uint64_t rows, uint64_t columns) {
  return m->rows == rows && m->columns == columns && m->ld >= (int64_t)rows;
}

// As the library: shapes must fit, and only known element types have kernels.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a_layout,
    cublasLtMatrixLayout_t b_layout, cublasLtMatrixLayout_t c_layout,
    cublasLtMatrixLayout_t d_layout, cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t results[], int *count) {
  const host_product *p = PRODUCT(desc);
  const host_matrix *a = MATRIX(a_layout), *b = MATRIX(b_layout), *d = MATRIX(d_layout);
  (void)handle, (void)c_layout, (void)preference, (void)wanted;
  uint64_t k = p->trans_a == CUBLAS_OP_T ? a->rows : a->columns;
  bool fit = fits(a, p->trans_a == CUBLAS_OP_T ? k : d->rows,
                  p->trans_a == CUBLAS_OP_T ? d->rows : k) &&
             fits(b, p->trans_b == CUBLAS_OP_T ? d->columns : k,
                  p->trans_b == CUBLAS_OP_T ? k : d->columns) &&
             a->batch == d->batch && b->batch == d->batch;
  if (!fit) return CUBLAS_STATUS_INVALID_VALUE;
  *count = d->type == CUDA_R_32F || d->type == CUDA_R_64F;
  memset(results, 0, sizeof *results);
  return *count != 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static double read_element(const host_matrix *m, const void *data, int64_t at) {
  return m->type == CUDA_R_64F ? ((const double *)data)[at]
                               : (double)((const float *)data)[at];
}

static int64_t element_at(const host_matrix *m, int32_t batch, bool is_transposed,
                          uint64_t row, uint64_t column) {
  uint64_t r = is_transposed ? column : row, c = is_transposed ? row : column;
  return batch * m->stride + (int64_t)r + (int64_t)c * m->ld;
}

static double finish(const host_product *p, const host_matrix *d, double value,
                     uint64_t row) {
  bool has_bias =
      p->epilogue == CUBLASLT_EPILOGUE_BIAS || p->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  if (has_bias) value += read_element(d, p->bias, (int64_t)row);
  bool has_relu =
      p->epilogue == CUBLASLT_EPILOGUE_RELU || p->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  return has_relu && value < 0 ? 0 : value;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  const host_product *p = PRODUCT(desc);
  const host_matrix *am = MATRIX(a_layout), *bm = MATRIX(b_layout),
                    *cm = MATRIX(c_layout), *dm = MATRIX(d_layout);
  bool is_double = p->compute == CUBLAS_COMPUTE_64F;
  double scale = is_double ? *(const double *)alpha : (double)*(const float *)alpha;
  double keep = is_double ? *(const double *)beta : (double)*(const float *)beta;
  bool a_turned = p->trans_a == CUBLAS_OP_T, b_turned = p->trans_b == CUBLAS_OP_T;
  uint64_t depth = a_turned ? am->rows : am->columns;
  (void)handle, (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
  for (int32_t n = 0; n < dm->batch; n++)
    for (uint64_t column = 0; column < dm->columns; column++)
      for (uint64_t row = 0; row < dm->rows; row++) {
        double sum = 0;
        for (uint64_t k = 0; k < depth; k++)
          sum += read_element(am, a, element_at(am, n, a_turned, row, k)) *
                 read_element(bm, b, element_at(bm, n, b_turned, k, column));
        int64_t at = element_at(dm, n, false, row, column);
        double value = scale * sum;
        if (keep != 0)
          value += keep * read_element(cm, c, element_at(cm, n, false, row, column));
        value = finish(p, dm, value, row);
        if (dm->type == CUDA_R_64F)
          ((double *)d)[at] = value;
        else
          ((float *)d)[at] = (float)value;
      }
  return CUBLAS_STATUS_SUCCESS;
}
