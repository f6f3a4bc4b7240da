// Matrix products on cuBLASLt, and einsums.
//
// A stage computes a matrix product: result = alpha op(a) op(b) + beta z, with bias and
// activation where cuBLASLt can include them.
//
// cuBLASLt's matrices are stored by columns, egraph's by rows: for cuBLASLt a row-major
// matrix is its own transpose. Therefore it computes resultT = bT aT, and b comes first
// in every call. The innermost batch dimension is a strided batch, the others are a loop.
// float32 is computed without TF32.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"

#include <assert.h>

#include "exec/cuda/strided.h"
#include "ops/einsum.h"

/// A product; steps and strides in elements.
typedef struct device_product {
  int64_t m, n, k;
  bool trans_a, trans_b;
  int64_t step_a, step_b, step_result; // from stored row to row; 0: rows are packed
  eg_loop_plan batch;                  // tensors: result, a, b
  egraph_dtype dtype;
  double alpha, beta;            // factors of the product and of z
  bool has_bias, has_z, has_act; // in the call; z is stored like the result
  eg_act act;                    // RELU or GELU_TANH
} device_product;

enum { MOST_LOOPS = 1024 }; // most calls of cuBLASLt for one product

/// A stage that computes a product. Addresses: result, a, b, then bias and z if present.
typedef struct product_payload {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, result; // as cuBLASLt sees the matrices
  cublasLtMatmulAlgo_t algo[2];        // [1]: all addresses are multiples of WIDE
  union {
    float f;
    double d;
  } alpha, beta;
  bool has_bias, has_z;
  uint32_t loops; // number of batch dimensions in the loop
  int64_t dims[EGRAPH_MAX_RANK];
  int64_t steps[EG_LOOP_TENSORS][EGRAPH_MAX_RANK]; // bytes
} product_payload;

enum { WIDE = 16 }; // bytes to which algo[1] needs addresses aligned

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

/// Describes a row-major matrix of rows x columns, and its batch.
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

static cublasLtEpilogue_t epilogue_of(const device_product *plan) {
  if (plan->has_act && plan->act == EG_ACT_RELU)
    return plan->has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (plan->has_act)
    return plan->has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return plan->has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static egraph_status make_desc(const device_product *plan, bool is_double,
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

/// Finds the kernel for addresses that are multiples of `alignment`. cuBLASLt derives the
/// alignment of the bias from an address: here from one that is a multiple of no more
/// than `alignment`; every run sets its own address.
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

/// Gives the innermost batch dimension to cuBLASLt as a stride; loops over the others.
static egraph_status plan_loops(const device_product *plan, const eg_device_loop *batch,
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

static egraph_status make_payload(const eg_cuda_builder *builder,
                                  const device_product *plan, product_payload *out) {
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

/// Appends the product. The addresses are: result, a, b, then bias and z if included.
/// Fails with EGRAPH_E_UNSUPPORTED when no kernel includes all of them.
static egraph_status append_product(eg_cuda_builder *builder,
                                    const device_product *product,
                                    const eg_device_place *places) {
  assert(product->m > 0 && product->n > 0 && product->k > 0);
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

// ---- matrix products of operators ---------------------------------------------------

// Matrix products: act(op(a) op(b) + bias + z), and ONNX's Gemm. Batch dimensions of a
// that b lacks become rows. bias, relu, gelu (tanh) and z are included where cuBLASLt has
// a kernel for them; otherwise they follow as pointwise stages.

enum { OPERAND_A, OPERAND_B, OPERAND_BIAS, OPERAND_Z };

// ---- shapes ---------------------------------------------------------------------

// Finds the shape of a matrix; a vector is a row for a, a column for b.
static void matrix_of(const eg_type *type, bool is_a, int64_t *rows, int64_t *columns) {
  uint32_t rank = type->rank;
  *rows = rank > 1 ? type->dims[rank - 2] : is_a ? 1 : type->dims[0];
  *columns = rank > 1 ? type->dims[rank - 1] : is_a ? type->dims[0] : 1;
}

static uint32_t batch_rank_of(const eg_type *type) {
  return type->rank > 2 ? type->rank - 2 : 0;
}

static int64_t batch_size_of(const eg_type *type) {
  int64_t size = 1;
  for (uint32_t d = 0; d < batch_rank_of(type); d++)
    size *= type->dims[d];
  return size;
}

static void batch_strides(const eg_type *type, uint32_t rank, int64_t matrix,
                          int64_t *dims, int64_t *out) {
  uint32_t own = batch_rank_of(type), lead = rank - own;
  for (uint32_t d = rank; d-- > 0;) {
    dims[d] = d < lead ? 1 : type->dims[d - lead];
    out[d] = dims[d] == 1 ? 0 : matrix;
    matrix *= dims[d];
  }
}

static void plan_shape(const eg_type *a, const eg_type *b, bool trans_a, bool trans_b,
                       device_product *plan) {
  int64_t rows, columns;
  plan->trans_a = trans_a && a->rank > 1;
  plan->trans_b = trans_b && b->rank > 1;
  matrix_of(a, true, &rows, &columns);
  plan->m = plan->trans_a ? columns : rows;
  plan->k = plan->trans_a ? rows : columns;
  matrix_of(b, false, &rows, &columns);
  plan->n = plan->trans_b ? rows : columns;
  plan->batch.tensors = 3;
  if (batch_size_of(b) == 1 && !plan->trans_a) {
    plan->m *= batch_size_of(a);
    return;
  }
  uint32_t rank_a = batch_rank_of(a), rank_b = batch_rank_of(b);
  uint32_t rank = rank_a > rank_b ? rank_a : rank_b;
  int64_t dims_a[EGRAPH_MAX_RANK], dims_b[EGRAPH_MAX_RANK], dims[EGRAPH_MAX_RANK];
  int64_t of_a[EGRAPH_MAX_RANK], of_b[EGRAPH_MAX_RANK], of_result[EGRAPH_MAX_RANK];
  batch_strides(a, rank, plan->m * plan->k, dims_a, of_a);
  batch_strides(b, rank, plan->k * plan->n, dims_b, of_b);
  int64_t stride = plan->m * plan->n;
  for (uint32_t d = rank; d-- > 0;) {
    dims[d] = dims_a[d] > dims_b[d] ? dims_a[d] : dims_b[d];
    of_result[d] = stride;
    stride *= dims[d];
  }
  for (uint32_t d = 0; d < rank; d++)
    eg_loop_add(&plan->batch, dims[d], (int64_t[]){of_result[d], of_a[d], of_b[d]});
}

// ---- families -------------------------------------------------------------------

static egraph_status add_product(eg_cuda_builder *builder, const device_product *plan,
                                 uint32_t bias, uint32_t z) {
  eg_device_place places[5] = {eg_device_result(0), eg_device_operand(OPERAND_A),
                               eg_device_operand(OPERAND_B)};
  uint32_t count = 3;
  if (plan->has_bias) places[count++] = eg_device_operand(bias);
  if (plan->has_z) places[count++] = eg_device_operand(z);
  return append_product(builder, plan, places);
}

static bool is_row(const eg_type *addend, const device_product *plan) {
  return addend->rank != 0 && addend->dims[addend->rank - 1] == plan->n &&
         eg_type_elements(addend) == plan->n && addend->dtype == plan->dtype;
}

/// Appends the product with bias, activation and z as far as cuBLASLt allows, or else
/// without bias and activation.
static egraph_status add_best_product(eg_cuda_builder *builder, device_product *plan,
                                      uint32_t bias, uint32_t z) {
  egraph_status status = add_product(builder, plan, bias, z);
  if (status != EGRAPH_E_UNSUPPORTED || !(plan->has_bias || plan->has_act)) return status;
  // The activation is applied last, so it cannot be included when the bias is not.
  plan->has_bias = plan->has_act = false;
  return add_product(builder, plan, bias, z);
}

egraph_status eg_cuda_matmul(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *result = &spec->results[0];
  eg_act act = (eg_act)eg_attr_at(spec->attrs, EG_A_MATMUL_ACT)->i;
  bool bias = spec->input_count > OPERAND_BIAS, z = spec->input_count > OPERAND_Z;
  device_product plan = {.dtype = result->dtype, .alpha = 1.0, .beta = 1.0, .act = act};
  plan_shape(&spec->inputs[OPERAND_A], &spec->inputs[OPERAND_B],
             eg_attr_at(spec->attrs, EG_A_MATMUL_TRANS_A)->i != 0,
             eg_attr_at(spec->attrs, EG_A_MATMUL_TRANS_B)->i != 0, &plan);
  bool has_epilogue = plan.dtype != EGRAPH_FLOAT64;
  plan.has_bias = bias && has_epilogue && spec->inputs[OPERAND_B].rank > 1 &&
                  is_row(&spec->inputs[OPERAND_BIAS], &plan);
  plan.has_z = z && eg_type_same_shape(&spec->inputs[OPERAND_Z], result);
  plan.has_act = (act == EG_ACT_RELU || act == EG_ACT_GELU_TANH) && has_epilogue &&
                 plan.has_bias == bias && plan.has_z == z;
  EG_TRY(add_best_product(builder, &plan, OPERAND_BIAS, OPERAND_Z));
  if (bias && !plan.has_bias)
    EG_TRY(eg_cuda_add_addend(builder, OPERAND_BIAS, &spec->inputs[OPERAND_BIAS]));
  if (z && !plan.has_z)
    EG_TRY(eg_cuda_add_addend(builder, OPERAND_Z, &spec->inputs[OPERAND_Z]));
  return plan.has_act ? EGRAPH_OK : eg_cuda_add_act(builder);
}

// Computes alpha a b + beta c, where c broadcasts. A c whose shape differs from the
// result's is added unscaled, which needs beta 1.
egraph_status eg_cuda_gemm(eg_cuda_builder *builder) {
  enum { OPERAND_C = 2 };
  const eg_node_spec *spec = builder->spec;
  const eg_type *result = &spec->results[0];
  device_product plan = {.dtype = result->dtype,
                         .alpha = eg_attr_at(spec->attrs, EG_A_GEMM_ALPHA)->f,
                         .beta = eg_attr_at(spec->attrs, EG_A_GEMM_BETA)->f};
  bool has_c = spec->input_count > OPERAND_C && plan.beta != 0.0;
  plan_shape(&spec->inputs[OPERAND_A], &spec->inputs[OPERAND_B],
             eg_attr_at(spec->attrs, EG_A_GEMM_TRANS_A)->i != 0,
             eg_attr_at(spec->attrs, EG_A_GEMM_TRANS_B)->i != 0, &plan);
  plan.has_z = has_c && eg_type_same_shape(&spec->inputs[OPERAND_C], result);
  if (has_c && !plan.has_z) {
    if (plan.beta != 1.0) return eg_cuda_refuse(builder, "beta with a broadcast c");
    plan.has_bias =
        plan.dtype != EGRAPH_FLOAT64 && is_row(&spec->inputs[OPERAND_C], &plan);
  }
  EG_TRY(add_best_product(builder, &plan, OPERAND_C, OPERAND_C));
  if (!has_c || plan.has_z || plan.has_bias) return EGRAPH_OK;
  return eg_cuda_add_addend(builder, OPERAND_C, &spec->inputs[OPERAND_C]);
}

// ---- einsum -------------------------------------------------------------------------

// An einsum of two operands is one batched matrix product (ops/einsum.h). cuBLASLt
// requires that the labels of a group are one dimension, and that rows or columns are
// contiguous. A tensor with another layout is copied: operands before the product, the
// result after it. Other einsums, of up to three operands, run on egraph's kernel.

_Static_assert((int)EG_EINSUM_TENSORS <= (int)EG_LOOP_TENSORS, "the kernel takes a nest");

// ---- as a product ---------------------------------------------------------------

/// Adds a kernel to the program that copies a tensor between its own memory and packed
/// scratch memory. The scratch memory replaces the tensor in the einsum's loop nest.
static egraph_status add_packing(eg_cuda_builder *builder, eg_einsum_nest *n,
                                 uint32_t tensor, const eg_einsum_groups *f,
                                 const eg_einsum_group *rows,
                                 const eg_einsum_group *columns, eg_device_place own,
                                 eg_device_place scratch) {
  uint32_t labels[EG_MAX_LABELS];
  eg_block packed = {.place = scratch}, lying = {.place = own};
  uint32_t count = eg_einsum_packed(n, f, rows, columns, labels, packed.strides);
  int64_t dims[EG_MAX_LABELS];
  for (uint32_t i = 0; i < count; i++) {
    dims[i] = n->sizes[labels[i]];
    lying.strides[i] = n->strides[tensor][labels[i]];
    n->strides[tensor][labels[i]] = packed.strides[i];
  }
  bool is_result = tensor == EG_EINSUM_RESULT;
  return eg_cuda_add_move(builder, count, dims,
                          eg_dtype_bytes(builder->spec->results[0].dtype),
                          is_result ? &lying : &packed, is_result ? &packed : &lying);
}

static egraph_status add_operand(eg_cuda_builder *builder, eg_einsum_nest *n,
                                 uint32_t tensor, const eg_einsum_groups *f,
                                 const eg_einsum_group *rows,
                                 const eg_einsum_group *columns,
                                 eg_device_place *out_place, int64_t *out_step,
                                 bool *out_is_turned) {
  *out_place = eg_device_operand(tensor - 1);
  if (eg_einsum_is_matrix(n, tensor, rows, columns, out_step, out_is_turned))
    return EGRAPH_OK;
  *out_place =
      eg_cuda_scratch(builder, eg_type_bytes(&builder->spec->inputs[tensor - 1]));
  EG_TRY(add_packing(builder, n, tensor, f, rows, columns, eg_device_operand(tensor - 1),
                     *out_place));
  (void)eg_einsum_is_matrix(n, tensor, rows, columns, out_step, out_is_turned);
  return EGRAPH_OK;
}

/// Appends the product result = a b; the result is row-major in the product's dimensions.
static egraph_status add_stages(eg_cuda_builder *builder, eg_einsum_nest *n,
                                const eg_einsum_groups *f, uint32_t a, uint32_t b) {
  const eg_type *result = &builder->spec->results[0];
  device_product product = {.m = f->rows.size,
                            .n = f->columns.size,
                            .k = f->summed.size,
                            .batch = {.tensors = 3},
                            .dtype = result->dtype,
                            .alpha = 1.0};
  eg_device_place places[3] = {eg_device_result(0)};
  eg_einsum_nest lying = *n;
  bool is_turned, is_packed;
  EG_TRY(add_operand(builder, n, a, f, &f->rows, &f->summed, &places[1], &product.step_a,
                     &product.trans_a));
  EG_TRY(add_operand(builder, n, b, f, &f->summed, &f->columns, &places[2],
                     &product.step_b, &product.trans_b));
  is_packed = !eg_einsum_is_matrix(n, EG_EINSUM_RESULT, &f->rows, &f->columns,
                                   &product.step_result, &is_turned) ||
              is_turned;
  if (is_packed) {
    uint32_t labels[EG_MAX_LABELS];
    int64_t strides[EG_MAX_LABELS];
    uint32_t count = eg_einsum_packed(n, f, &f->rows, &f->columns, labels, strides);
    places[0] = eg_cuda_scratch(builder, eg_type_bytes(result));
    for (uint32_t i = 0; i < count; i++)
      n->strides[EG_EINSUM_RESULT][labels[i]] = strides[i];
    product.step_result = f->columns.size;
  }
  for (uint32_t i = 0; i < f->batch.count; i++) {
    uint32_t l = f->batch.labels[i];
    eg_loop_add(
        &product.batch, n->sizes[l],
        (int64_t[]){n->strides[EG_EINSUM_RESULT][l], n->strides[a][l], n->strides[b][l]});
  }
  EG_TRY(append_product(builder, &product, places));
  if (!is_packed) return EGRAPH_OK;
  return add_packing(builder, &lying, EG_EINSUM_RESULT, f, &f->rows, &f->columns,
                     eg_device_result(0), places[0]);
}

static egraph_status add_as_product(eg_cuda_builder *builder, eg_einsum_nest n) {
  eg_einsum_groups f;
  int64_t step;
  bool is_turned;
  if (!eg_einsum_group_labels(&n, &f))
    return eg_cuda_refuse(builder, "it is no matrix product");
  // A transposed result is the row-major product bT aT.
  if (!eg_einsum_is_matrix(&n, EG_EINSUM_RESULT, &f.rows, &f.columns, &step,
                           &is_turned) ||
      !is_turned)
    return add_stages(builder, &n, &f, EG_EINSUM_A, EG_EINSUM_B);
  eg_einsum_groups turned = {f.batch, f.columns, f.rows, f.summed};
  return add_stages(builder, &n, &turned, EG_EINSUM_B, EG_EINSUM_A);
}

// ---- as a loop ------------------------------------------------------------------

EG_DEVICE_STAGE(run_contraction, eg_contraction, "contraction kernel",
                eg_launch_contraction(work, addresses, device->stream))

static egraph_status add_loop(eg_cuda_builder *builder, const eg_einsum_nest *n) {
  const eg_type *result = &builder->spec->results[0];
  eg_contraction work = {.operands = (int32_t)n->tensors - 1,
                         .dtype = (int32_t)result->dtype};
  eg_loop_plan kept = {.tensors = n->tensors}, folded = {.tensors = n->tensors};
  eg_device_place places[EG_LOOP_TENSORS] = {eg_device_result(0)};
  eg_compute compute;
  if (!eg_accumulation_of(result->dtype, &compute))
    return eg_cuda_refuse(builder, "its element type");
  work.compute = (int32_t)compute;
  for (uint32_t l = 0; l < n->labels; l++)
    if (n->sizes[l] > 1)
      eg_loop_add(n->is_result[l] ? &kept : &folded, n->sizes[l],
                  (int64_t[]){n->strides[0][l], n->strides[1][l], n->strides[2][l],
                              n->strides[3][l]});
  if (!eg_loop_merge(&kept, &work.kept) || !eg_loop_merge(&folded, &work.folded))
    return eg_cuda_refuse(builder, "too many dimensions");
  for (uint32_t i = 1; i < n->tensors; i++)
    places[i] = eg_device_operand(i - 1);
  builder->kernel = "CUDA contraction";
  return eg_cuda_add(builder, run_contraction, &work, sizeof work, NULL, places,
                     n->tensors);
}

egraph_status eg_cuda_einsum(eg_cuda_builder *builder) {
  const eg_cuda_builder mark = *builder;
  eg_einsum_nest n;
  const eg_node_spec *spec = builder->spec;
  EG_TRY(eg_einsum_nest_of(spec->attrs, spec->inputs, spec->input_count,
                           &spec->results[0], &n));
  egraph_status status = add_as_product(builder, n);
  if (status != EGRAPH_E_UNSUPPORTED) return status;
  eg_cuda_rewind(builder, &mark);
  return add_loop(builder, &n);
}
