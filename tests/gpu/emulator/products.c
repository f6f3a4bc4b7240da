// cuBLASLt as far as the back-end uses it: products as the descriptions say, done
// naively. As the library, a choice of kernel holds for the alignments that were told
// when it was searched: of matrices by preference, of the bias by its address.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cuda/cuda_support.h"
#include "ops/tensor.h"
#include "tests/gpu/emulator/emulator.h"

// ---- descriptions -----------------------------------------------------------------

typedef struct product_desc {
  cublasComputeType_t compute;
  cublasOperation_t trans_a, trans_b;
  cublasLtEpilogue_t epilogue;
  const void *bias;
} product_desc;

typedef struct matrix {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t ld, stride;
  int32_t batch;
} matrix;

typedef enum side { SIDE_A, SIDE_B, SIDE_C, SIDE_D, SIDES } side;

typedef struct preference {
  uint32_t alignment[SIDES];
} preference;

/// What cublasLtMatmulAlgo_t holds.
typedef struct algorithm {
  uint32_t alignment[SIDES], bias_alignment;
} algorithm;

#define DESC(desc) ((product_desc *)(void *)(desc))
#define MATRIX(layout) ((matrix *)(void *)(layout))

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  return *handle = malloc(1), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return free(handle), CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion(void) { return 0; }
const char *cublasLtGetStatusString(cublasStatus_t code) {
  return code == CUBLAS_STATUS_INVALID_VALUE ? "an alignment other than was searched for"
                                             : "not supported";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  product_desc *desc = calloc(1, sizeof *desc);
  (void)scale;
  *desc = (product_desc){.compute = compute, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
  return *out = (cublasLtMatmulDesc_t)(void *)desc, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return free(desc), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t bytes) {
  product_desc *p = DESC(desc);
  void *member = name == CUBLASLT_MATMUL_DESC_TRANSA         ? (void *)&p->trans_a
                 : name == CUBLASLT_MATMUL_DESC_TRANSB       ? (void *)&p->trans_b
                 : name == CUBLASLT_MATMUL_DESC_EPILOGUE     ? (void *)&p->epilogue
                 : name == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? (void *)&p->bias
                                                             : NULL;
  if (member == NULL) return CUBLAS_STATUS_NOT_SUPPORTED;
  return memcpy(member, value, bytes), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  matrix *m = calloc(1, sizeof *m);
  *m = (matrix){.type = type, .rows = rows, .columns = columns, .ld = ld, .batch = 1};
  return *out = (cublasLtMatrixLayout_t)(void *)m, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return free(layout), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void *value, size_t bytes) {
  matrix *m = MATRIX(layout);
  void *member = name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? (void *)&m->batch
                 : name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
                     ? (void *)&m->stride
                     : NULL;
  if (member == NULL) return CUBLAS_STATUS_NOT_SUPPORTED;
  return memcpy(member, value, bytes), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  preference *p = calloc(1, sizeof *p);
  for (int i = 0; i < SIDES; i++)
    p->alignment[i] = 256; // as the library
  return *out = (cublasLtMatmulPreference_t)(void *)p, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return free(preference), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t to,
                                     cublasLtMatmulPreferenceAttributes_t name,
                                     const void *value, size_t bytes) {
  static const cublasLtMatmulPreferenceAttributes_t names[SIDES] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  for (int i = 0; i < SIDES; i++)
    if (names[i] == name) memcpy(&((preference *)(void *)to)->alignment[i], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// ---- epilogues and types ----------------------------------------------------------

typedef struct epilogue {
  cublasLtEpilogue_t name;
  bool has_bias, has_relu, has_gelu;
} epilogue;

static const epilogue *find_epilogue(cublasLtEpilogue_t name) {
  static const epilogue epilogues[] = {{CUBLASLT_EPILOGUE_DEFAULT, false, false, false},
                                       {CUBLASLT_EPILOGUE_BIAS, true, false, false},
                                       {CUBLASLT_EPILOGUE_RELU, false, true, false},
                                       {CUBLASLT_EPILOGUE_RELU_BIAS, true, true, false},
                                       {CUBLASLT_EPILOGUE_GELU, false, false, true},
                                       {CUBLASLT_EPILOGUE_GELU_BIAS, true, false, true}};
  for (size_t i = 0; i < sizeof epilogues / sizeof *epilogues; i++)
    if (epilogues[i].name == name) return &epilogues[i];
  return NULL;
}

static bool find_dtype(cudaDataType type, egraph_dtype *out) {
  static const struct {
    cudaDataType type;
    egraph_dtype dtype;
  } rows[] = {{CUDA_R_32F, EGRAPH_FLOAT32},
              {CUDA_R_64F, EGRAPH_FLOAT64},
              {CUDA_R_16F, EGRAPH_FLOAT16},
              {CUDA_R_16BF, EGRAPH_BFLOAT16}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].type == type) return *out = rows[i].dtype, true;
  return false;
}

/// Up to the 256 bytes that allocations have.
static uint32_t alignment_of(const void *address) {
  uint32_t bits = (uint32_t)((uintptr_t)address | 256);
  return bits & (~bits + 1);
}

// ---- choice -----------------------------------------------------------------------

static bool fits(const matrix *m, uint64_t rows, uint64_t columns) {
  return m->rows == rows && m->columns == columns && m->ld >= (int64_t)rows;
}

// As the library: shapes must fit, and there are no epilogues for float64.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a_layout,
    cublasLtMatrixLayout_t b_layout, cublasLtMatrixLayout_t c_layout,
    cublasLtMatrixLayout_t d_layout, cublasLtMatmulPreference_t wish, int wanted,
    cublasLtMatmulHeuristicResult_t results[], int *count) {
  const product_desc *p = DESC(desc);
  const matrix *a = MATRIX(a_layout), *b = MATRIX(b_layout), *d = MATRIX(d_layout);
  egraph_dtype dtype;
  (void)handle, (void)c_layout, (void)wanted;
  bool turns_a = p->trans_a == CUBLAS_OP_T, turns_b = p->trans_b == CUBLAS_OP_T;
  uint64_t k = turns_a ? a->rows : a->columns;
  bool fit = fits(a, turns_a ? k : d->rows, turns_a ? d->rows : k) &&
             fits(b, turns_b ? d->columns : k, turns_b ? k : d->columns) &&
             a->batch == d->batch && b->batch == d->batch;
  if (!fit) return CUBLAS_STATUS_INVALID_VALUE;
  const epilogue *e = find_epilogue(p->epilogue);
  bool is_plain = p->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  *count = e != NULL && find_dtype(d->type, &dtype) && a->type == d->type &&
           b->type == d->type && (is_plain || d->type != CUDA_R_64F);
  algorithm choice = {.bias_alignment = alignment_of(p->bias)};
  memcpy(choice.alignment, wish, sizeof choice.alignment);
  memset(results, 0, sizeof *results);
  memcpy(&results->algo, &choice, sizeof choice);
  return *count != 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

// ---- work -------------------------------------------------------------------------

typedef struct product_work {
  eg_work base;
  product_desc desc;
  matrix sides[SIDES];
  void *data[SIDES];
  double scale, keep; // alpha, beta
} product_work;

static int64_t element_at(const matrix *m, int32_t batch, bool is_turned, uint64_t row,
                          uint64_t column) {
  uint64_t r = is_turned ? column : row, c = is_turned ? row : column;
  return batch * m->stride + (int64_t)r + (int64_t)c * m->ld;
}

static eg_tensor tensor_of(cudaDataType type, const void *data) {
  eg_tensor tensor = {.data = (void *)(uintptr_t)data};
  (void)find_dtype(type, &tensor.type.dtype);
  return tensor;
}

static bool has_matrix(const matrix *m, const void *data) {
  eg_tensor tensor = tensor_of(m->type, data);
  int64_t last = element_at(m, m->batch - 1, false, m->rows - 1, m->columns - 1);
  return eg_emulator_has_memory(data,
                                ((size_t)last + 1) * eg_dtype_bytes(tensor.type.dtype));
}

static double finish(const product_work *w, double value, uint64_t row) {
  const epilogue *e = find_epilogue(w->desc.epilogue);
  if (e->has_bias) {
    eg_tensor bias = tensor_of(w->sides[SIDE_D].type, w->desc.bias);
    value += eg_tensor_get_double(&bias, (int64_t)row);
  }
  if (e->has_gelu) // tanh(sqrt(2 / pi) (x + 0.044715 x^3))
    return 0.5 * value *
           (1 + tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
  return e->has_relu && value < 0 ? 0 : value;
}

static double sum_products(const product_work *w, int32_t n, uint64_t row,
                           uint64_t column) {
  const matrix *am = &w->sides[SIDE_A], *bm = &w->sides[SIDE_B];
  bool turns_a = w->desc.trans_a == CUBLAS_OP_T, turns_b = w->desc.trans_b == CUBLAS_OP_T;
  eg_tensor a = tensor_of(am->type, w->data[SIDE_A]);
  eg_tensor b = tensor_of(bm->type, w->data[SIDE_B]);
  uint64_t depth = turns_a ? am->rows : am->columns;
  double sum = 0;
  for (uint64_t k = 0; k < depth; k++)
    sum += eg_tensor_get_double(&a, element_at(am, n, turns_a, row, k)) *
           eg_tensor_get_double(&b, element_at(bm, n, turns_b, k, column));
  return sum;
}

static cudaError_t run_product(const eg_work *work) {
  const product_work *w = (const product_work *)work;
  const matrix *dm = &w->sides[SIDE_D], *cm = &w->sides[SIDE_C];
  eg_tensor d = tensor_of(dm->type, w->data[SIDE_D]);
  eg_tensor c = tensor_of(cm->type, w->data[SIDE_C]);
  for (int i = 0; i < SIDES; i++)
    if ((i != SIDE_C || w->keep != 0) && !has_matrix(&w->sides[i], w->data[i]))
      return cudaErrorIllegalAddress;
  for (int32_t n = 0; n < dm->batch; n++)
    for (uint64_t column = 0; column < dm->columns; column++)
      for (uint64_t row = 0; row < dm->rows; row++) {
        double value = w->scale * sum_products(w, n, row, column);
        if (w->keep != 0)
          value +=
              w->keep * eg_tensor_get_double(&c, element_at(cm, n, false, row, column));
        eg_tensor_set_double(&d, element_at(dm, n, false, row, column),
                             finish(w, value, row));
      }
  return cudaSuccess;
}

static void release_product(eg_work *work) { free(work); }

static bool is_as_searched(const product_work *w, const cublasLtMatmulAlgo_t *algo) {
  algorithm choice;
  memcpy(&choice, algo, sizeof choice);
  for (int i = 0; i < SIDES; i++)
    if (alignment_of(w->data[i]) < choice.alignment[i]) return false;
  return !find_epilogue(w->desc.epilogue)->has_bias ||
         alignment_of(w->desc.bias) >= choice.bias_alignment;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  (void)handle, (void)workspace, (void)workspace_bytes;
  product_work *w = calloc(1, sizeof *w);
  bool is_double = DESC(desc)->compute == CUBLAS_COMPUTE_64F;
  *w = (product_work){
      .base = {.run = run_product, .release = release_product},
      .desc = *DESC(desc),
      .sides = {*MATRIX(a_layout), *MATRIX(b_layout), *MATRIX(c_layout),
                *MATRIX(d_layout)},
      .data = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, (void *)(uintptr_t)c, d},
      .scale = is_double ? *(const double *)alpha : (double)*(const float *)alpha,
      .keep = is_double ? *(const double *)beta : (double)*(const float *)beta};
  if (!is_as_searched(w, algo)) return free(w), CUBLAS_STATUS_INVALID_VALUE;
  return eg_emulator_put(stream, &w->base) == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

// ---- cuDNN opens; its plans have a stand-in of their own (host_conv_plan.c) ---------

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  static int opened;
  return *handle = (cudnnHandle_t)&opened, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return (void)handle, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return (void)handle, (void)stream, CUDNN_STATUS_SUCCESS;
}
const char *cudnnGetErrorString(cudnnStatus_t status) {
  return (void)status, "the stand-in for cuDNN does not fail";
}
void cudnnGetLastErrorString(char *message, size_t max_size) {
  if (max_size != 0) message[0] = 0;
}
size_t cudnnGetVersion(void) { return CUDNN_VERSION; }
