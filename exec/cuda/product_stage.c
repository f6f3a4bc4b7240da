// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/product_stage.h"

enum { MOST_LOOPS = 1024 }; // calls for one product

/// A stage. Addresses: result, a, b, then bias and z if they go along.
typedef struct product_payload {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, result; // as the library sees them
  cublasLtMatmulAlgo_t algo[2];        // [1]: all addresses are multiples of WIDE
  union {
    float f;
    double d;
  } alpha, beta;
  bool has_bias, has_z;
  uint32_t loops; // dimensions
  int64_t dims[EGRAPH_MAX_RANK];
  int64_t steps[EG_LOOP_TENSORS][EGRAPH_MAX_RANK]; // bytes
} product_payload;

enum { WIDE = 16 }; // bytes

static void release_product(void *data) {
  product_payload *payload = data;
  if (payload->desc != NULL) (void)cublasLtMatmulDescDestroy(payload->desc);
  if (payload->a != NULL) (void)cublasLtMatrixLayoutDestroy(payload->a);
  if (payload->b != NULL) (void)cublasLtMatrixLayoutDestroy(payload->b);
  if (payload->result != NULL) (void)cublasLtMatrixLayoutDestroy(payload->result);
}

// ---- descriptors ----------------------------------------------------------------

static bool data_type_of(egraph_dtype dtype, cudaDataType_t *out) {
  switch ((int)dtype) {
  case EGRAPH_FLOAT32: *out = CUDA_R_32F; return true;
  case EGRAPH_FLOAT64: *out = CUDA_R_64F; return true;
  case EGRAPH_FLOAT16: *out = CUDA_R_16F; return true;
  case EGRAPH_BFLOAT16: *out = CUDA_R_16BF; return true;
  }
  return false;
}

static egraph_status set_desc(cublasLtMatmulDesc_t desc,
                              cublasLtMatmulDescAttributes_t name, const void *value,
                              size_t bytes) {
  return eg_cublas_check(cublasLtMatmulDescSetAttribute(desc, name, value, bytes),
                         "attribute of a product");
}

/// A row-major matrix of rows x columns, and its batch.
static egraph_status make_layout(cublasLtMatrixLayout_t *out, cudaDataType_t type,
                                 int64_t rows, int64_t columns, int64_t step,
                                 int32_t batch, int64_t stride) {
  EG_TRY(eg_cublas_check(cublasLtMatrixLayoutCreate(out, type, (uint64_t)columns,
                                                    (uint64_t)rows,
                                                    step != 0 ? step : columns),
                         "layout of a matrix"));
  EG_TRY(
      eg_cublas_check(cublasLtMatrixLayoutSetAttribute(
                          *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
                      "layout of a matrix"));
  return eg_cublas_check(
      cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                       &stride, sizeof stride),
      "layout of a matrix");
}

static cublasLtEpilogue_t epilogue_of(const eg_product *plan) {
  if (plan->has_act && plan->act == EG_ACT_RELU)
    return plan->has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (plan->has_act)
    return plan->has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return plan->has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static egraph_status make_desc(const eg_product *plan, bool is_double,
                               product_payload *out) {
  cublasOperation_t first = plan->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = plan->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = epilogue_of(plan);
  EG_TRY(eg_cublas_check(
      cublasLtMatmulDescCreate(&out->desc,
                               is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                               is_double ? CUDA_R_64F : CUDA_R_32F),
      "description of a product"));
  EG_TRY(set_desc(out->desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
  EG_TRY(set_desc(out->desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
  return set_desc(out->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
}

/// The kernel for addresses that are multiples of `alignment`. That of the bias is taken
/// from an address: here one that is a multiple of no more; every run sets its own.
static egraph_status find_algo(const eg_cuda_device *device, const product_payload *p,
                               uint32_t alignment, cublasLtMatmulAlgo_t *out) {
  static const cublasLtMatmulPreferenceAttributes_t names[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  size_t workspace = EG_CUDA_WORKSPACE;
  const void *bias = (const char *)device->workspace + alignment;
  if (p->has_bias)
    EG_TRY(set_desc(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  EG_TRY(eg_cublas_check(cublasLtMatmulPreferenceCreate(&preference), "preference"));
  cublasStatus_t code = cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (code == CUBLAS_STATUS_SUCCESS)
      code = cublasLtMatmulPreferenceSetAttribute(preference, names[i], &alignment,
                                                  sizeof alignment);
  if (code == CUBLAS_STATUS_SUCCESS)
    code = cublasLtMatmulAlgoGetHeuristic(device->blas, p->desc, p->b, p->a, p->result,
                                          p->result, preference, 1, &found, &count);
  (void)cublasLtMatmulPreferenceDestroy(preference);
  EG_TRY(eg_cublas_check(code, "choice of a kernel"));
  if (count == 0 || found.state != CUBLAS_STATUS_SUCCESS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "cuBLASLt has no kernel for a product");
  *out = found.algo;
  return EGRAPH_OK;
}

/// The innermost batch dimension is the library's, the others are looped over.
static egraph_status plan_loops(const eg_product *plan, const eg_device_loop *batch,
                                product_payload *out) {
  int64_t calls = 1, element = (int64_t)eg_dtype_bytes(plan->dtype);
  if (batch->rank == 0) return EGRAPH_OK;
  out->loops = (uint32_t)batch->rank - 1;
  for (uint32_t d = 0; d < out->loops; d++) {
    calls *= out->dims[d] = batch->dims[d];
    for (uint32_t t = 0; t < 3; t++)
      out->steps[t][d] = batch->strides[t][d] * element;
  }
  return calls <= MOST_LOOPS
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_UNSUPPORTED, "a product of too many batches");
}

static egraph_status make_payload(const eg_cuda_builder *builder, const eg_product *plan,
                                  product_payload *out) {
  eg_device_loop batch;
  cudaDataType_t type;
  if (!eg_loop_merge(&plan->batch, &batch) || !data_type_of(plan->dtype, &type))
    return eg_cuda_refuse(builder, "its type");
  bool is_double = plan->dtype == EGRAPH_FLOAT64;
  int64_t none[3] = {0}, *inner = none;
  int64_t strides[3] = {0};
  for (uint32_t t = 0; t < 3 && batch.rank != 0; t++)
    strides[t] = batch.strides[t][batch.rank - 1];
  if (batch.rank != 0) inner = strides;
  int32_t count = batch.rank != 0 ? (int32_t)batch.dims[batch.rank - 1] : 1;
  if (batch.rank != 0 && batch.dims[batch.rank - 1] > INT32_MAX)
    return eg_cuda_refuse(builder, "too many batches");
  EG_TRY(plan_loops(plan, &batch, out));
  EG_TRY(make_desc(plan, is_double, out));
  out->has_bias = plan->has_bias;
  out->has_z = plan->has_z;
  EG_TRY(make_layout(&out->result, type, plan->m, plan->n, plan->step_result, count,
                     inner[0]));
  EG_TRY(make_layout(&out->a, type, plan->trans_a ? plan->k : plan->m,
                     plan->trans_a ? plan->m : plan->k, plan->step_a, count, inner[1]));
  EG_TRY(make_layout(&out->b, type, plan->trans_b ? plan->n : plan->k,
                     plan->trans_b ? plan->k : plan->n, plan->step_b, count, inner[2]));
  EG_TRY(find_algo(builder->device, out, (uint32_t)eg_dtype_bytes(plan->dtype),
                   &out->algo[0]));
  EG_TRY(find_algo(builder->device, out, WIDE, &out->algo[1]));
  if (is_double) {
    out->alpha.d = plan->alpha;
    out->beta.d = plan->has_z ? plan->beta : 0.0;
  } else {
    out->alpha.f = (float)plan->alpha;
    out->beta.f = plan->has_z ? (float)plan->beta : 0.0f;
  }
  return EGRAPH_OK;
}

// ---- running --------------------------------------------------------------------

static bool is_wide(const product_payload *p, void *const *addresses) {
  uintptr_t bits = 0;
  for (uint32_t i = 0; i < 3u + p->has_bias + p->has_z; i++)
    bits |= (uintptr_t)addresses[i];
  for (uint32_t d = 0; d < p->loops; d++)
    bits |= (uintptr_t)(p->steps[0][d] | p->steps[1][d] | p->steps[2][d]);
  return bits % WIDE == 0;
}

static egraph_status multiply(const eg_cuda_device *device, const product_payload *p,
                              const cublasLtMatmulAlgo_t *algo, char *result,
                              const char *a, const char *b, const char *z) {
  return eg_cublas_check(cublasLtMatmul(device->blas, p->desc, &p->alpha, b, p->b, a,
                                        p->a, &p->beta, z, p->result, result, p->result,
                                        algo, device->workspace, EG_CUDA_WORKSPACE,
                                        device->stream),
                         "product");
}

static egraph_status run_product(const eg_cuda_device *device, const void *payload,
                                 void *const *addresses) {
  const product_payload *p = payload;
  const void *bias = p->has_bias ? addresses[3] : NULL;
  char *result = addresses[0];
  const char *z = p->has_z ? addresses[3 + p->has_bias] : result;
  const cublasLtMatmulAlgo_t *algo = &p->algo[is_wide(p, addresses)];
  int64_t index[EGRAPH_MAX_RANK] = {0};
  if (p->has_bias)
    EG_TRY(set_desc(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  for (;;) {
    int64_t at[3] = {0};
    for (uint32_t d = 0; d < p->loops; d++)
      for (uint32_t t = 0; t < 3; t++)
        at[t] += index[d] * p->steps[t][d];
    EG_TRY(multiply(device, p, algo, result + at[0], (const char *)addresses[1] + at[1],
                    (const char *)addresses[2] + at[2], z + at[0]));
    uint32_t d = p->loops;
    while (d > 0 && ++index[d - 1] == p->dims[d - 1])
      index[--d] = 0;
    if (d == 0) return EGRAPH_OK;
  }
}

egraph_status eg_cuda_add_product(eg_cuda_builder *builder, const eg_product *product,
                                  const eg_device_place *places) {
  product_payload payload = {.desc = NULL};
  uint32_t count = 3u + product->has_bias + product->has_z;
  egraph_status status = make_payload(builder, product, &payload);
  if (status == EGRAPH_OK)
    status = eg_cuda_add(builder, run_product, &payload, sizeof payload, release_product,
                         places, count);
  if (status != EGRAPH_OK) release_product(&payload);
  builder->kernel = "cuBLASLt";
  return status;
}
