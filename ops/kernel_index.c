// Reads and writes elements of any type at indices. Elements are combined as double or
// int64; int64 wraps to the same bits as a narrower integer type.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ops/kernels.h"

// Reads index number `at` as a number in [0, size).
static egraph_status index_at(const eg_kernel_call *call, const eg_tensor *indices,
                              int64_t at, int64_t size, int64_t *out) {
  int64_t index = eg_tensor_get_int(indices, at);
  if (index < -size || index >= size)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "%s: index %lld at position %lld is outside of the %lld entries of the "
        "axis",
        eg_op_info_of(eg_kernel_op(call))->name, (long long)index, (long long)at,
        (long long)size);
  *out = index < 0 ? index + size : index;
  return EGRAPH_OK;
}

// ---- combining ----------------------------------------------------------------------

enum { SLOT_REDUCTION = 0 };
typedef enum reduction {
  REDUCE_NONE,
  REDUCE_ADD,
  REDUCE_MUL,
  REDUCE_MAX,
  REDUCE_MIN
} reduction;

static double combine_float(reduction how, double x, double y) {
  switch (how) {
  case REDUCE_ADD: return x + y;
  case REDUCE_MUL: return x * y;
  case REDUCE_MAX: return x > y || isnan(x) ? x : y;
  case REDUCE_MIN: return x < y || isnan(x) ? x : y;
  case REDUCE_NONE: break;
  }
  return y;
}

static uint64_t combine_int(reduction how, uint64_t x, uint64_t y, bool is_unsigned) {
  bool less = is_unsigned ? x < y : (int64_t)x < (int64_t)y;
  switch (how) {
  case REDUCE_ADD: return x + y;
  case REDUCE_MUL: return x * y;
  case REDUCE_MAX: return less ? y : x;
  case REDUCE_MIN: return less ? x : y;
  case REDUCE_NONE: break;
  }
  return y;
}

// Combines elements of `to` from number `place` on with those of `from` from `at` on.
static void combine_elements(reduction how, const eg_tensor *from, int64_t at,
                             const eg_tensor *to, int64_t place, int64_t count) {
  egraph_dtype dtype = to->type.dtype;
  if (how == REDUCE_NONE) {
    eg_elements_copy(from, at, to, place, count);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    if (eg_dtype_is_float(dtype))
      eg_tensor_set_double(to, place + i,
                           combine_float(how, eg_tensor_get_double(to, place + i),
                                         eg_tensor_get_double(from, at + i)));
    else
      eg_tensor_set_int(to, place + i,
                        (int64_t)combine_int(how,
                                             (uint64_t)eg_tensor_get_int(to, place + i),
                                             (uint64_t)eg_tensor_get_int(from, at + i),
                                             eg_dtype_is_unsigned(dtype)));
}

// ---- elements along an axis ---------------------------------------------------------

// Called for every index: `at` is the number of the index, `place` the number of the data
// element to which it points.
typedef void (*element_visit)(const eg_kernel_call *call, int64_t at, int64_t place);

static egraph_status for_elements(const eg_kernel_call *call, int64_t axis,
                                  element_visit visit) {
  const eg_type *data = &call->inputs[0].type, *type = &call->inputs[1].type;
  int64_t strides[EGRAPH_MAX_RANK], index[EGRAPH_MAX_RANK] = {0};
  uint32_t along = eg_axis_of(data, axis);
  int64_t count = eg_type_elements(type);
  eg_dims_strides(data->rank, data->dims, strides);
  for (int64_t at = 0; at < count; at++) {
    int64_t place = 0, entry = 0;
    EG_TRY(index_at(call, &call->inputs[1], at, data->dims[along], &entry));
    for (uint32_t d = 0; d < data->rank; d++)
      place += (d == along ? entry : index[d]) * strides[d];
    visit(call, at, place);
    (void)eg_index_next(type->rank, type->dims, index);
  }
  return EGRAPH_OK;
}

static void gather_one(const eg_kernel_call *call, int64_t at, int64_t place) {
  eg_elements_copy(&call->inputs[0], place, &call->outputs[0], at, 1);
}

static void scatter_one(const eg_kernel_call *call, int64_t at, int64_t place) {
  combine_elements((reduction)eg_kernel_slot(call, SLOT_REDUCTION)->i, &call->inputs[2],
                   at, &call->outputs[0], place, 1);
}

egraph_status eg_kernel_gather_elements(const eg_kernel_call *call) {
  return for_elements(call, eg_attr_at(call->attrs, EG_A_GATHER_ELEMENTS_AXIS)->i,
                      gather_one);
}

static void copy_data(const eg_kernel_call *call) {
  size_t bytes = eg_type_bytes(&call->outputs[0].type);
  if (bytes != 0) memmove(call->outputs[0].data, call->inputs[0].data, bytes);
}

egraph_status eg_kernel_scatter_elements(const eg_kernel_call *call) {
  copy_data(call);
  return for_elements(call, eg_attr_at(call->attrs, EG_A_SCATTER_ELEMENTS_AXIS)->i,
                      scatter_one);
}

// ---- tuples of indices --------------------------------------------------------------

// The data as [batch, indexed dimensions, block]; a tuple of indices points to a block.
typedef struct tuples {
  int64_t count, per_batch, length, block;
  int64_t strides[EGRAPH_MAX_RANK];
  const int64_t *dims; // sizes of the indexed dimensions
  int64_t batch_stride;
} tuples;

static tuples tuples_of(const eg_kernel_call *call, uint32_t batch) {
  assert(batch < call->inputs[0].type.rank);
  const eg_type *data = &call->inputs[0].type, *indices = &call->inputs[1].type;
  uint32_t length = (uint32_t)indices->dims[indices->rank - 1];
  tuples t = {.count = eg_dims_product(indices->dims, 0, indices->rank - 1),
              .per_batch = eg_dims_product(indices->dims, batch, indices->rank - 1),
              .length = length,
              .block = eg_dims_product(data->dims, batch + length, data->rank),
              .dims = data->dims + batch,
              .batch_stride = eg_dims_product(data->dims, batch, data->rank)};
  eg_dims_strides(data->rank - batch, data->dims + batch, t.strides);
  return t;
}

static egraph_status tuple_place(const eg_kernel_call *call, const tuples *t,
                                 int64_t number, int64_t *out) {
  int64_t place = number / t->per_batch * t->batch_stride;
  for (int64_t i = 0; i < t->length; i++) {
    int64_t index = 0;
    EG_TRY(index_at(call, &call->inputs[1], number * t->length + i, t->dims[i], &index));
    place += index * t->strides[i];
  }
  *out = place;
  return EGRAPH_OK;
}

egraph_status eg_kernel_gather_nd(const eg_kernel_call *call) {
  tuples t =
      tuples_of(call, (uint32_t)eg_attr_at(call->attrs, EG_A_GATHER_ND_BATCH_DIMS)->i);
  for (int64_t n = 0; n < t.count; n++) {
    int64_t place = 0;
    EG_TRY(tuple_place(call, &t, n, &place));
    eg_elements_copy(&call->inputs[0], place, &call->outputs[0], n * t.block, t.block);
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_scatter_nd(const eg_kernel_call *call) {
  reduction how = (reduction)eg_kernel_slot(call, SLOT_REDUCTION)->i;
  tuples t = tuples_of(call, 0);
  copy_data(call);
  for (int64_t n = 0; n < t.count; n++) {
    int64_t place = 0;
    EG_TRY(tuple_place(call, &t, n, &place));
    combine_elements(how, &call->inputs[2], n * t.block, &call->outputs[0], place,
                     t.block);
  }
  return EGRAPH_OK;
}

// ---- trilu, one-hot, reversed sequences ---------------------------------------------

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

egraph_status eg_kernel_trilu(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  uint32_t rank = x->type.rank;
  int64_t height = x->type.dims[rank - 2], width = x->type.dims[rank - 1];
  int64_t rows = eg_dims_product(x->type.dims, 0, rank - 1);
  bool upper = eg_attr_at(call->attrs, EG_A_TRILU_UPPER)->i != 0;
  int64_t k = clamp(eg_attr_at(call->attrs, EG_A_TRILU_K)->i, -height - 1, width + 1);
  memset(y->data, 0, eg_type_bytes(&y->type));
  for (int64_t row = 0; row < rows; row++) {
    int64_t edge = clamp(row % height + k + !upper, 0, width);
    int64_t from = upper ? edge : 0, to = upper ? width : edge;
    eg_elements_copy(x, row * width + from, y, row * width + from, to - from);
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_one_hot(const eg_kernel_call *call) {
  const eg_tensor *indices = &call->inputs[0], *values = &call->inputs[1];
  const eg_tensor *to = &call->outputs[0];
  eg_axis_view view =
      eg_axis_view_of(&to->type, eg_attr_at(call->attrs, EG_A_ONE_HOT_AXIS)->i);
  bool is_float = eg_dtype_is_float(indices->type.dtype);
  for (int64_t o = 0; o < view.outer; o++)
    for (int64_t i = 0; i < view.inner; i++) {
      int64_t at = o * view.inner + i;
      double real = is_float ? eg_tensor_get_double(indices, at) : 0;
      bool sane = fabs(real) < 0x1p62; // any other number is no index
      int64_t hot = is_float ? (sane ? (int64_t)real : -view.size - 1)
                             : eg_tensor_get_int(indices, at);
      if (hot < 0 && hot >= -view.size) hot += view.size;
      for (int64_t k = 0; k < view.size; k++)
        eg_elements_copy(values, k == hot, to, (o * view.size + k) * view.inner + i, 1);
    }
  return EGRAPH_OK;
}

egraph_status eg_kernel_reverse_sequence(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  uint32_t rank = x->type.rank;
  uint32_t time =
      eg_axis_of(&x->type, eg_attr_at(call->attrs, EG_A_REVERSE_SEQUENCE_TIME_AXIS)->i);
  uint32_t batch =
      eg_axis_of(&x->type, eg_attr_at(call->attrs, EG_A_REVERSE_SEQUENCE_BATCH_AXIS)->i);
  int64_t index[EGRAPH_MAX_RANK] = {0}, strides[EGRAPH_MAX_RANK];
  int64_t count = eg_type_elements(&x->type);
  eg_dims_strides(rank, x->type.dims, strides);
  for (int64_t at = 0; at < count; at++) {
    int64_t length = eg_tensor_get_int(&call->inputs[1], index[batch]);
    if (length < 0 || length > x->type.dims[time])
      return EG_FAIL(
          EGRAPH_E_ARGUMENT,
          "reverse-sequence: length %lld of batch %lld is not within [0, %lld]",
          (long long)length, (long long)index[batch], (long long)x->type.dims[time]);
    int64_t moved = index[time] < length ? length - 1 - 2 * index[time] : 0;
    eg_elements_copy(x, at + moved * strides[time], y, at, 1);
    (void)eg_index_next(rank, x->type.dims, index);
  }
  return EGRAPH_OK;
}

// ---- determinants: elimination with the largest pivot of each column ----------------

static double determinant_of(double *a, int64_t n) {
  assert(n >= 0);
  double product = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++)
      if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
    if (pivot != k) product = -product;
    for (int64_t j = 0; pivot != k && j < n; j++) {
      double held = a[k * n + j];
      a[k * n + j] = a[pivot * n + j];
      a[pivot * n + j] = held;
    }
    product *= a[k * n + k];
    if (a[k * n + k] == 0) return 0;
    for (int64_t i = k + 1; i < n; i++) {
      double factor = a[i * n + k] / a[k * n + k];
      for (int64_t j = k; j < n; j++)
        a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return product;
}

egraph_status eg_kernel_det(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  int64_t n = x->type.dims[x->type.rank - 1], matrices = eg_type_elements(&y->type);
  size_t elements = (size_t)(n * n);
  double *a;
  EG_TRY(eg_arena_alloc(call->scratch, elements, sizeof *a, &a));
  for (int64_t m = 0; m < matrices; m++) {
    for (size_t i = 0; i < elements; i++)
      a[i] = eg_tensor_get_double(x, m * n * n + (int64_t)i);
    eg_tensor_set_double(y, m, determinant_of(a, n));
  }
  return EGRAPH_OK;
}
