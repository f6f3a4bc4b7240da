// matmul and gemm: result = act(scale * a b + addends), with broadcast batch dimensions.
// Operands are read through strides, so that a transposition only swaps two strides. A
// panel of COLUMNS columns of b is packed once in the accumulators' type and then
// multiplied by ROWS rows of a at a time; the inner loop is always contiguous.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "ops/kernels.h"

enum { ROWS = 4, COLUMNS = 64 };

// One matrix product [m,k] x [k,n]; strides in elements.
typedef struct eg_product {
  const void *a, *b;
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column;
} eg_product;

#define PRODUCT(suffix, type, sum)                                                       \
  EG_KERNEL_CLONES static void pack_##suffix(const eg_product *product, int64_t column,  \
                                             int64_t width, sum *panel) {                \
    const type *b = (const type *)product->b + column * product->b_column;               \
    for (int64_t k = 0; k < product->k; k++)                                             \
      for (int64_t j = 0; j < width; j++)                                                \
        panel[k * COLUMNS + j] = (sum)b[k * product->b_row + j * product->b_column];     \
  }                                                                                      \
  /* Rows beyond `rows` repeat the last one, so that the loop has a fixed count. */      \
  EG_KERNEL_CLONES static void multiply_##suffix(const eg_product *product, int64_t row, \
                                                 int64_t rows, const sum *panel,         \
                                                 sum sums[ROWS][COLUMNS]) {              \
    const type *a[ROWS];                                                                 \
    for (int64_t r = 0; r < ROWS; r++) {                                                 \
      a[r] =                                                                             \
          (const type *)product->a + (row + (r < rows ? r : rows - 1)) * product->a_row; \
      for (int64_t j = 0; j < COLUMNS; j++)                                              \
        sums[r][j] = 0;                                                                  \
    }                                                                                    \
    for (int64_t k = 0; k < product->k; k++) {                                           \
      const sum *b = panel + k * COLUMNS;                                                \
      const int64_t at = k * product->a_column;                                          \
      const sum a0 = (sum)a[0][at], a1 = (sum)a[1][at], a2 = (sum)a[2][at],              \
                a3 = (sum)a[3][at];                                                      \
      for (int64_t j = 0; j < COLUMNS; j++) {                                            \
        sums[0][j] += a0 * b[j];                                                         \
        sums[1][j] += a1 * b[j];                                                         \
        sums[2][j] += a2 * b[j];                                                         \
        sums[3][j] += a3 * b[j];                                                         \
      }                                                                                  \
    }                                                                                    \
  }                                                                                      \
  static void product_##suffix(const eg_product *product, const eg_finish *finish,       \
                               const int64_t row_steps[2], void *panel, void *result) {  \
    sum sums[ROWS][COLUMNS];                                                             \
    for (int64_t column = 0; column < product->n; column += COLUMNS) {                   \
      int64_t left = product->n - column, width = left < COLUMNS ? left : COLUMNS;       \
      pack_##suffix(product, column, width, panel);                                      \
      for (int64_t row = 0; row < product->m; row += ROWS) {                             \
        int64_t rows = product->m - row < ROWS ? product->m - row : ROWS;                \
        multiply_##suffix(product, row, rows, panel, sums);                              \
        for (int64_t r = 0; r < rows; r++) {                                             \
          eg_finish shifted = *finish;                                                   \
          for (uint32_t i = 0; i < finish->addends; i++)                                 \
            shifted.addend[i].data = (const type *)finish->addend[i].data +              \
                                     (row + r) * row_steps[i] +                          \
                                     column * finish->addend[i].step;                    \
          eg_finish_row(&shifted, sums[r], (size_t)width,                                \
                        (type *)result + (row + r) * product->n + column);               \
        }                                                                                \
      }                                                                                  \
    }                                                                                    \
  }
PRODUCT(f32, float, double)
PRODUCT(f64, double, double)
PRODUCT(int, uint64_t, uint64_t)

typedef void (*product_function)(const eg_product *, const eg_finish *, const int64_t *,
                                 void *panel, void *result);
static const product_function products[EG_WIDE_COUNT] = {product_f32, product_f64,
                                                         product_int, product_int};

// All matrix products of a call, one for every index of the batch dimensions. m or n is 1
// for an operand of rank 1.
typedef struct eg_contraction {
  eg_product product;
  eg_finish finish;
  uint32_t batch_rank;
  int64_t batch[EGRAPH_MAX_RANK];
  int64_t a_batch[EGRAPH_MAX_RANK], b_batch[EGRAPH_MAX_RANK];
  int64_t addend_batch[2][EGRAPH_MAX_RANK];
  int64_t addend_row[2];
} eg_contraction;

// Sets the row and column stride of a matrix operand, and the strides of its batch
// dimensions, which are right-aligned.
static void place_operand(const eg_type *type, bool transpose, uint32_t batch_rank,
                          int64_t *row, int64_t *column, int64_t *batch) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_dims_strides(type->rank, type->dims, strides);
  uint32_t own = type->rank - 2;
  *row = strides[own + (transpose ? 1 : 0)];
  *column = strides[own + (transpose ? 0 : 1)];
  for (uint32_t d = 0; d < batch_rank; d++) {
    uint32_t lead = batch_rank - own;
    batch[d] = d < lead || type->dims[d - lead] == 1 ? 0 : strides[d - lead];
  }
}

// Returns a vector as a matrix: a row on the left, a column on the right.
static eg_type as_matrix(const eg_type *type, bool is_left) {
  if (type->rank != 1) return *type;
  int64_t dims[2] = {is_left ? 1 : type->dims[0], is_left ? type->dims[0] : 1};
  return eg_type_of(type->dtype, 2, dims);
}

static void place_operands(eg_contraction *work, const eg_kernel_call *call, bool trans_a,
                           bool trans_b) {
  const eg_type a = as_matrix(&call->inputs[0].type, true);
  const eg_type b = as_matrix(&call->inputs[1].type, false);
  // A vector is not transposed.
  trans_a = trans_a && call->inputs[0].type.rank > 1;
  trans_b = trans_b && call->inputs[1].type.rank > 1;
  eg_product *product = &work->product;
  product->a = call->inputs[0].data;
  product->b = call->inputs[1].data;
  product->m = a.dims[a.rank - (trans_a ? 1 : 2)];
  product->k = a.dims[a.rank - (trans_a ? 2 : 1)];
  product->n = b.dims[b.rank - (trans_b ? 2 : 1)];
  work->batch_rank = (a.rank > b.rank ? a.rank : b.rank) - 2;
  place_operand(&a, trans_a, work->batch_rank, &product->a_row, &product->a_column,
                work->a_batch);
  place_operand(&b, trans_b, work->batch_rank, &product->b_row, &product->b_column,
                work->b_batch);
  for (uint32_t d = 0; d < work->batch_rank; d++)
    work->batch[d] = call->outputs[0].type.dims[d];
}

// Sets the strides of an addend, which broadcasts to the result without the dimensions of
// size 1 that vector operands got.
static void place_addend(eg_contraction *work, const eg_kernel_call *call,
                         const eg_tensor *addend, double factor) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  const eg_type *result = &call->outputs[0].type;
  uint32_t i = work->finish.addends++;
  eg_broadcast_strides(result, &addend->type, strides);
  for (uint32_t d = 0; d < work->batch_rank; d++)
    work->addend_batch[i][d] = strides[d];
  uint32_t at = work->batch_rank;
  if (call->inputs[0].type.rank > 1) work->addend_row[i] = strides[at++];
  int64_t column = call->inputs[1].type.rank > 1 ? strides[at] : 0;
  work->finish.addend[i] =
      (eg_addend){.data = addend->data, .step = column, .factor = factor};
}

static int64_t offset_of(uint32_t rank, const int64_t *index, const int64_t *strides) {
  int64_t offset = 0;
  for (uint32_t d = 0; d < rank; d++)
    offset += index[d] * strides[d];
  return offset;
}

static void run_products(const eg_contraction *work, void *panel, void *result) {
  int64_t index[EGRAPH_MAX_RANK] = {0};
  int64_t size = work->finish.wide == EG_WIDE_F32 ? 4 : 8;
  unsigned char *out = result;
  uint32_t rank = work->batch_rank;
  do {
    eg_product product = work->product;
    eg_finish finish = work->finish;
    product.a =
        (const unsigned char *)product.a + offset_of(rank, index, work->a_batch) * size;
    product.b =
        (const unsigned char *)product.b + offset_of(rank, index, work->b_batch) * size;
    for (uint32_t i = 0; i < finish.addends; i++)
      finish.addend[i].data = (const unsigned char *)finish.addend[i].data +
                              offset_of(rank, index, work->addend_batch[i]) * size;
    products[finish.wide](&product, &finish, work->addend_row, panel, out);
    out += product.m * product.n * size;
  } while (eg_index_next(rank, work->batch, index));
}

static egraph_status run_contraction(const eg_kernel_call *call,
                                     const eg_contraction *work) {
  assert(call->scratch != NULL);
  void *panel;
  size_t panels = (size_t)work->product.k;
  EG_TRY(eg_arena_alloc(call->scratch, panels, COLUMNS * sizeof(double), &panel));
  run_products(work, panel, call->outputs[0].data);
  return EGRAPH_OK;
}

egraph_status eg_kernel_matmul(const eg_kernel_call *call) {
  const eg_attrs *attrs = call->attrs;
  eg_contraction work = {.finish = {.scale = 1.0}};
  egraph_dtype dtype = call->inputs[0].type.dtype;
  if (!eg_wide_find(dtype, &work.finish.wide)) return eg_kernel_refuse(call, dtype);
  EG_TRY(eg_row_act_find(call, work.finish.wide, &work.finish.act));
  place_operands(&work, call, eg_attr_at(attrs, EG_A_MATMUL_TRANS_A)->i != 0,
                 eg_attr_at(attrs, EG_A_MATMUL_TRANS_B)->i != 0);
  for (uint32_t i = 2; i < call->input_count; i++)
    place_addend(&work, call, &call->inputs[i], 1.0);
  return run_contraction(call, &work);
}

static bool is_whole_number(double value) {
  return value >= -0x1p62 && value <= 0x1p62 && (double)(int64_t)value == value;
}

egraph_status eg_kernel_gemm(const eg_kernel_call *call) {
  const eg_attrs *attrs = call->attrs;
  double alpha = eg_attr_at(attrs, EG_A_GEMM_ALPHA)->f;
  double beta = eg_attr_at(attrs, EG_A_GEMM_BETA)->f;
  eg_contraction work = {.finish = {.scale = alpha}};
  egraph_dtype dtype = call->inputs[0].type.dtype;
  if (!eg_wide_find(dtype, &work.finish.wide)) return eg_kernel_refuse(call, dtype);
  if (!eg_dtype_is_float(dtype) && !(is_whole_number(alpha) && is_whole_number(beta)))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "gemm: alpha %g and beta %g must be whole numbers for %s elements",
                   alpha, beta, eg_dtype_name(dtype));
  place_operands(&work, call, eg_attr_at(attrs, EG_A_GEMM_TRANS_A)->i != 0,
                 eg_attr_at(attrs, EG_A_GEMM_TRANS_B)->i != 0);
  if (call->input_count == 3) place_addend(&work, call, &call->inputs[2], beta);
  return run_contraction(call, &work);
}
