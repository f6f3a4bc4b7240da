// Reductions over any set of axes in one pass over the input, in order: neighbouring
// dimensions that are both kept or both reduced are merged, and each contiguous run
// is either folded into one accumulator or added to a row of them. Float32
// accumulates in float64.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/kernel_math.h"
#include "ops/kernels.h"

enum { SLOT_AXES = 0 };

// The input as groups of dimensions, alternately kept and reduced; `strides` are steps in
// the accumulators, 0 for a reduced group.
typedef struct eg_folding {
  uint32_t rank;
  int64_t dims[EGRAPH_MAX_RANK];
  int64_t strides[EGRAPH_MAX_RANK];
  int64_t results, reduced; // number of results, and of elements that each folds
} eg_folding;

static eg_folding folding_of(const eg_type *type, uint32_t axes) {
  eg_folding folding = {.results = 1, .reduced = 1};
  bool was_reduced = false;
  for (uint32_t d = 0; d < type->rank; d++) {
    bool reduced = (axes >> d & 1) != 0;
    if (folding.rank == 0 || reduced != was_reduced) folding.dims[folding.rank++] = 1;
    folding.dims[folding.rank - 1] *= type->dims[d];
    folding.strides[folding.rank - 1] = reduced ? 0 : 1;
    was_reduced = reduced;
  }
  if (folding.rank == 0) folding.dims[folding.rank++] = 1;
  for (uint32_t d = folding.rank; d-- > 0;) {
    if (folding.strides[d] == 0) {
      folding.reduced *= folding.dims[d];
    } else {
      folding.strides[d] = folding.results;
      folding.results *= folding.dims[d];
    }
  }
  return folding;
}

// Folds a row of input into one accumulator (step 0), or into one per element (step 1).
typedef void (*eg_fold_row)(const void *x, int64_t count, void *to, int64_t step);

#define MULTIPLY(y, x) ((y) * (x))
#define FOLD(suffix, name, type, sum, neutral, lanes, combine)                           \
  EG_KERNEL_CLONES static void name##_##suffix(const void *from, int64_t count,          \
                                               void *to, int64_t step) {                 \
    const type *in = from;                                                               \
    sum *out = to;                                                                       \
    if (step == 0) {                                                                     \
      sum all = (neutral);                                                               \
      EG_MATH_FOLD(sum, all, count, lanes, (sum)in[i], combine);                         \
      out[0] = combine(out[0], all);                                                     \
    } else {                                                                             \
      for (int64_t i = 0; i < count; i++)                                                \
        out[i] = combine(out[i], (sum)in[i]);                                            \
    }                                                                                    \
  }
#define FOLD_FLOAT(suffix, type)                                                         \
  FOLD(suffix, add, type, double, 0.0, EG_MATH_LANES, EG_MATH_ADD)                       \
  FOLD(suffix, multiply, type, double, 1.0, EG_MATH_LANES, MULTIPLY)                     \
  FOLD(suffix, larger, type, double, -(double)INFINITY, EG_MATH_WIDE_LANES,              \
       EG_MATH_LARGER)                                                                   \
  FOLD(suffix, smaller, type, double, (double)INFINITY, EG_MATH_WIDE_LANES,              \
       EG_MATH_SMALLER)
FOLD_FLOAT(f32, float)
FOLD_FLOAT(f64, double)
FOLD(i64, larger, int64_t, int64_t, INT64_MIN, EG_MATH_WIDE_LANES, EG_MATH_LARGER)
FOLD(i64, smaller, int64_t, int64_t, INT64_MAX, EG_MATH_WIDE_LANES, EG_MATH_SMALLER)
FOLD(u64, add, uint64_t, uint64_t, 0, EG_MATH_LANES, EG_MATH_ADD)
FOLD(u64, multiply, uint64_t, uint64_t, 1, EG_MATH_LANES, MULTIPLY)
FOLD(u64, larger, uint64_t, uint64_t, 0, EG_MATH_WIDE_LANES, EG_MATH_LARGER)
FOLD(u64, smaller, uint64_t, uint64_t, UINT64_MAX, EG_MATH_WIDE_LANES, EG_MATH_SMALLER)

static eg_fold_row fold_row_of(eg_op op, eg_wide wide) {
  static const eg_fold_row add[EG_WIDE_COUNT] = {add_f32, add_f64, add_u64, add_u64};
  static const eg_fold_row multiply[EG_WIDE_COUNT] = {multiply_f32, multiply_f64,
                                                      multiply_u64, multiply_u64};
  static const eg_fold_row larger[EG_WIDE_COUNT] = {larger_f32, larger_f64, larger_i64,
                                                    larger_u64};
  static const eg_fold_row smaller[EG_WIDE_COUNT] = {smaller_f32, smaller_f64,
                                                     smaller_i64, smaller_u64};
  if (op == EG_OP_REDUCE_MAX) return larger[wide];
  if (op == EG_OP_REDUCE_MIN) return smaller[wide];
  return op == EG_OP_REDUCE_PROD ? multiply[wide] : add[wide];
}

typedef union eg_sum {
  double f;
  int64_t i;
  uint64_t u;
} eg_sum;

// Returns the result of a reduction of no elements.
static eg_sum neutral(eg_op op, eg_wide wide) {
  bool is_float = wide == EG_WIDE_F32 || wide == EG_WIDE_F64;
  if (op == EG_OP_REDUCE_PROD) return is_float ? (eg_sum){.f = 1.0} : (eg_sum){.u = 1};
  if (op == EG_OP_REDUCE_MAX) {
    if (is_float) return (eg_sum){.f = -(double)INFINITY};
    return wide == EG_WIDE_I64 ? (eg_sum){.i = INT64_MIN} : (eg_sum){.u = 0};
  }
  if (op == EG_OP_REDUCE_MIN) {
    if (is_float) return (eg_sum){.f = (double)INFINITY};
    return wide == EG_WIDE_I64 ? (eg_sum){.i = INT64_MAX} : (eg_sum){.u = UINT64_MAX};
  }
  return is_float ? (eg_sum){.f = 0.0} : (eg_sum){.u = 0};
}

static void fold_all(const eg_folding *folding, const eg_tensor *x, eg_fold_row fold,
                     eg_sum *sums) {
  int64_t index[EGRAPH_MAX_RANK] = {0};
  uint32_t inner = folding->rank - 1;
  int64_t count = folding->dims[inner];
  size_t bytes = (size_t)count * eg_dtype_bytes(x->type.dtype);
  const unsigned char *row = x->data;
  if (folding->reduced == 0) return;
  do {
    int64_t at = 0;
    for (uint32_t d = 0; d < inner; d++)
      at += index[d] * folding->strides[d];
    fold(row, count, sums + at, folding->strides[inner]);
    row += bytes;
  } while (eg_index_next(inner, folding->dims, index));
}

// Writes sums divided by `divisor`. The mean of integers truncates; the mean of no
// elements is NaN, or 0 for integers.
static void write_sums(eg_wide wide, const eg_sum *sums, const eg_folding *folding,
                       int64_t divisor, void *to) {
  for (int64_t i = 0; i < folding->results; i++) {
    switch (wide) {
    case EG_WIDE_F32: ((float *)to)[i] = (float)(sums[i].f / (double)divisor); break;
    case EG_WIDE_F64: ((double *)to)[i] = sums[i].f / (double)divisor; break;
    case EG_WIDE_I64: ((int64_t *)to)[i] = divisor == 0 ? 0 : sums[i].i / divisor; break;
    case EG_WIDE_U64:
      ((uint64_t *)to)[i] = divisor == 0 ? 0 : sums[i].u / (uint64_t)divisor;
      break;
    case EG_WIDE_COUNT: break;
    }
  }
}

static int64_t divisor_of(const eg_kernel_call *call, const eg_folding *folding) {
  if (eg_kernel_op(call) != EG_OP_REDUCE_MEAN) return 1;
  int64_t count = eg_attr_at(call->attrs, EG_A_REDUCE_MEAN_COUNT)->i;
  return count != 0 ? count : folding->reduced;
}

egraph_status eg_kernel_reduce(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0];
  eg_op op = eg_kernel_op(call);
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(x->type.dtype, &wide) || call->outputs[0].type.dtype != x->type.dtype)
    return eg_kernel_refuse(call, call->outputs[0].type.dtype);
  uint32_t axes = eg_axis_bits(&x->type, eg_kernel_slot(call, SLOT_AXES)->ints);
  eg_folding folding = folding_of(&x->type, axes);
  eg_sum *sums, start = neutral(op, wide);
  EG_TRY(eg_arena_alloc(call->scratch, (size_t)folding.results, sizeof *sums, &sums));
  for (int64_t i = 0; i < folding.results; i++)
    sums[i] = start;
  fold_all(&folding, x, fold_row_of(op, wide), sums);
  write_sums(wide, sums, &folding, divisor_of(call, &folding), call->outputs[0].data);
  return EGRAPH_OK;
}

// ---- running sums and products -------------------------------------------------------

/// A running sum over [outer, size, inner], from the end if `reverse`; an `exclusive` sum
/// does not include the current element.
typedef struct running {
  eg_axis_view view;
  bool exclusive, reverse;
} running;

#define RUNNING(name, type, sum, start, combine)                                         \
  static void name(const running *r, const void *from, void *to) {                       \
    const type *x = from;                                                                \
    type *y = to;                                                                        \
    const eg_axis_view v = r->view;                                                      \
    const int64_t step = r->reverse ? -v.inner : v.inner;                                \
    for (int64_t o = 0; o < v.outer; o++)                                                \
      for (int64_t i = 0; i < v.inner; i++) {                                            \
        int64_t at = (o * v.size + (r->reverse ? v.size - 1 : 0)) * v.inner + i;         \
        sum total = (start);                                                             \
        for (int64_t k = 0; k < v.size; k++, at += step) {                               \
          const sum before = total;                                                      \
          total = combine(total, (sum)x[at]);                                            \
          y[at] = (type)(r->exclusive ? before : total);                                 \
        }                                                                                \
      }                                                                                  \
  }
RUNNING(sum_f32, float, double, 0, EG_MATH_ADD)
RUNNING(sum_f64, double, double, 0, EG_MATH_ADD)
RUNNING(sum_int, uint64_t, uint64_t, 0, EG_MATH_ADD)
RUNNING(product_f32, float, double, 1, MULTIPLY)
RUNNING(product_f64, double, double, 1, MULTIPLY)
RUNNING(product_int, uint64_t, uint64_t, 1, MULTIPLY)

egraph_status eg_kernel_cum_sum(const eg_kernel_call *call) {
  enum { AXIS, EXCLUSIVE, REVERSE };
  typedef void (*run)(const running *r, const void *from, void *to);
  static const run sums[EG_WIDE_COUNT] = {sum_f32, sum_f64, sum_int, sum_int};
  static const run products[EG_WIDE_COUNT] = {product_f32, product_f64, product_int,
                                              product_int};
  const eg_tensor *x = &call->inputs[0];
  running r = {.view = eg_axis_view_of(&x->type, eg_kernel_slot(call, AXIS)->i),
               .exclusive = eg_kernel_slot(call, EXCLUSIVE)->i != 0,
               .reverse = eg_kernel_slot(call, REVERSE)->i != 0};
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(x->type.dtype, &wide)) return eg_kernel_refuse(call, x->type.dtype);
  bool multiplies = eg_kernel_op(call) == EG_OP_CUM_PROD;
  (multiplies ? products : sums)[wide](&r, x->data, call->outputs[0].data);
  return EGRAPH_OK;
}
