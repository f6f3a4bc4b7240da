// Finds positions of extreme elements along an axis: arg-max, arg-min, top-k. NaN ranks
// above all numbers, as in numpy. Among equal elements, the lower index comes first,
// unless select_last_index is set; among NaN, always the first, as in ONNX Runtime.
// SPDX-License-Identifier: Apache-2.0
#include "ops/kernels.h"

// True when x[a] ranks strictly before x[b], which are elements along one axis.
typedef bool (*eg_rank_before)(const void *x, int64_t a, int64_t b);

#define RANK(suffix, type)                                                               \
  static bool larger_##suffix(const void *data, int64_t a, int64_t b) {                  \
    const type *x = data;                                                                \
    return x[a] > x[b] || (x[a] != x[a] && x[b] == x[b]);                                \
  }                                                                                      \
  static bool smaller_##suffix(const void *data, int64_t a, int64_t b) {                 \
    const type *x = data;                                                                \
    return x[a] < x[b] || (x[b] != x[b] && x[a] == x[a]);                                \
  }
RANK(f32, float)
RANK(f64, double)
RANK(i64, int64_t)
RANK(u64, uint64_t)

static eg_rank_before rank_before_of(eg_wide wide, bool is_largest) {
  static const eg_rank_before larger[EG_WIDE_COUNT] = {larger_f32, larger_f64, larger_i64,
                                                       larger_u64};
  static const eg_rank_before smaller[EG_WIDE_COUNT] = {smaller_f32, smaller_f64,
                                                        smaller_i64, smaller_u64};
  return is_largest ? larger[wide] : smaller[wide];
}

// Numbers of attributes that all operators of the family share.
enum { SLOT_AXIS = 0, SLOT_SELECT_LAST = 2 };

// True for NaN, which is extreme in both directions: numpy's argmin also stops at a NaN.
static bool is_nan_at(const eg_tensor *x, int64_t at) {
  if (!eg_dtype_is_float(x->type.dtype)) return false;
  double value = eg_tensor_get_double(x, at);
  return value != value;
}

static int64_t best_along(const eg_tensor *x, eg_rank_before before, int64_t at,
                          const eg_axis_view *view, bool is_last) {
  int64_t best = 0;
  bool best_is_nan = is_nan_at(x, at);
  for (int64_t i = 1; i < view->size; i++) {
    int64_t now = at + i * view->inner, then = at + best * view->inner;
    bool is_nan = is_nan_at(x, now);
    bool wins = is_nan || best_is_nan ? is_nan && !best_is_nan
                : is_last             ? !before(x->data, then, now)
                                      : before(x->data, now, then);
    if (!wins) continue;
    best = i;
    best_is_nan = is_nan;
  }
  return best;
}

egraph_status eg_kernel_arg_reduce(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0];
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(x->type.dtype, &wide)) return eg_kernel_refuse(call, x->type.dtype);
  eg_axis_view view = eg_axis_view_of(&x->type, eg_kernel_slot(call, SLOT_AXIS)->i);
  bool is_last = eg_kernel_slot(call, SLOT_SELECT_LAST)->i != 0;
  eg_rank_before before = rank_before_of(wide, eg_kernel_op(call) == EG_OP_ARG_MAX);
  if (view.size == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s: the axis is empty, it has no extreme element",
                   eg_op_info_of(eg_kernel_op(call))->name);
  for (int64_t o = 0; o < view.outer; o++)
    for (int64_t i = 0; i < view.inner; i++)
      eg_tensor_set_int(
          &call->outputs[0], o * view.inner + i,
          best_along(x, before, o * view.size * view.inner + i, &view, is_last));
  return EGRAPH_OK;
}

// ---- top-k: a stable merge sort of the positions along the axis ---------------------

// Merges the sorted runs [from, middle) and [middle, end) of `order` into `out`.
static void merge_runs(const void *x, eg_rank_before before, const int64_t *order,
                       int64_t from, int64_t middle, int64_t end, int64_t *out) {
  int64_t left = from, right = middle;
  for (int64_t i = from; i < end; i++) {
    bool take_right =
        left == middle || (right != end && before(x, order[right], order[left]));
    out[i] = take_right ? order[right++] : order[left++];
  }
}

// Sorts `order`, using `spare` of the same length; returns the array with the result.
static const int64_t *sort_positions(const void *x, eg_rank_before before, int64_t count,
                                     int64_t *order, int64_t *spare) {
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t from = 0; from < count; from += 2 * width) {
      int64_t middle = from + width < count ? from + width : count;
      int64_t end = middle + width < count ? middle + width : count;
      merge_runs(x, before, order, from, middle, end, spare);
    }
    int64_t *swap = order;
    order = spare;
    spare = swap;
  }
  return order;
}

static void top_k(const eg_kernel_call *call, eg_wide wide, int64_t *scratch) {
  const eg_tensor *x = &call->inputs[0];
  int64_t axis = eg_attr_at(call->attrs, EG_A_TOP_K_AXIS)->i;
  eg_axis_view view = eg_axis_view_of(&x->type, axis);
  int64_t kept = eg_axis_view_of(&call->outputs[0].type, axis).size;
  eg_rank_before before =
      rank_before_of(wide, eg_attr_at(call->attrs, EG_A_TOP_K_LARGEST)->i != 0);
  for (int64_t o = 0; o < view.outer; o++) {
    for (int64_t i = 0; i < view.inner; i++) {
      int64_t at = o * view.size * view.inner + i;
      for (int64_t k = 0; k < view.size; k++)
        scratch[k] = at + k * view.inner;
      const int64_t *order =
          sort_positions(x->data, before, view.size, scratch, scratch + view.size);
      for (int64_t k = 0; k < kept; k++) {
        int64_t place = (o * kept + k) * view.inner + i;
        eg_elements_copy(x, order[k], &call->outputs[0], place, 1);
        eg_tensor_set_int(&call->outputs[1], place, (order[k] - at) / view.inner);
      }
    }
  }
}

egraph_status eg_kernel_top_k(const eg_kernel_call *call) {
  const eg_type *type = &call->inputs[0].type;
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(type->dtype, &wide)) return eg_kernel_refuse(call, type->dtype);
  int64_t axis = eg_attr_at(call->attrs, EG_A_TOP_K_AXIS)->i;
  size_t count = (size_t)eg_axis_view_of(type, axis).size;
  int64_t *scratch;
  EG_TRY(eg_arena_alloc(call->scratch, count, 2 * sizeof *scratch, &scratch));
  top_k(call, wide, scratch);
  return EGRAPH_OK;
}
