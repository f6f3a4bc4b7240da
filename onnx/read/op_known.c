// Import of operators whose result sizes depend on values: the result is computed here
// if the operand is known, otherwise the node becomes opaque.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "onnx/read/op.h"

enum { MOST_ELEMENTS = 1 << 20 };

static egraph_status known_operand(const eg_onnx_call *call, eg_tensor *out) {
  static const char why[] = "the size of its result depends on values that are not known";
  EG_TRY(eg_onnx_known_operand(call, 0, why, out));
  return eg_type_elements(&out->type) > MOST_ELEMENTS ? eg_onnx_decline(why) : EGRAPH_OK;
}

static bool is_zero(const eg_tensor *x, int64_t at) {
  return eg_dtype_is_float(x->type.dtype) ? eg_tensor_get_double(x, at) == 0
                                          : eg_tensor_get_int(x, at) == 0;
}

// Computes [rank, n]: the positions of the elements that are not zero, in order.
egraph_status eg_onnx_import_non_zero(const eg_onnx_call *call) {
  eg_tensor x, out;
  EG_TRY(known_operand(call, &x));
  if (x.type.rank == 0) return eg_onnx_decline("the operand is a scalar");
  int64_t elements = eg_type_elements(&x.type), count = 0, place = 0;
  for (int64_t i = 0; i < elements; i++)
    count += !is_zero(&x, i);
  eg_type type = eg_type_of(EGRAPH_INT64, 2, (const int64_t[]){x.type.rank, count});
  eg_onnx_ref result = eg_onnx_output(call, 0);
  EG_TRY(eg_onnx_array(call, &type, &result, &out));
  for (int64_t i = 0; i < elements; i++) {
    if (is_zero(&x, i)) continue;
    int64_t rest = i;
    for (uint32_t d = x.type.rank; d-- > 0; rest /= x.type.dims[d])
      eg_tensor_set_int(&out, (int64_t)d * count + place, rest % x.type.dims[d]);
    place++;
  }
  return EGRAPH_OK;
}

// ---- unique -------------------------------------------------------------------------

/// Slices of x along an axis: [outer, count, inner].
typedef struct slices {
  eg_tensor x;
  int64_t outer, count, inner;
} slices;

static int64_t place_of(const slices *s, int64_t slice, int64_t element) {
  int64_t o = element / s->inner, i = element % s->inner;
  return (o * s->count + slice) * s->inner + i;
}

// Compares two elements. NaN equals NaN and is larger than all numbers.
static int compare_elements(const eg_tensor *x, int64_t a, int64_t b) {
  if (eg_dtype_is_float(x->type.dtype)) {
    double left = eg_tensor_get_double(x, a), right = eg_tensor_get_double(x, b);
    if (isnan(left) || isnan(right)) return isnan(left) - isnan(right);
    return (left > right) - (left < right);
  }
  int64_t left = eg_tensor_get_int(x, a), right = eg_tensor_get_int(x, b);
  if (eg_dtype_is_unsigned(x->type.dtype))
    return ((uint64_t)left > (uint64_t)right) - ((uint64_t)left < (uint64_t)right);
  return (left > right) - (left < right);
}

static int compare_slices(const slices *s, int64_t a, int64_t b) {
  int order = 0;
  for (int64_t e = 0; order == 0 && e < s->outer * s->inner; e++)
    order = compare_elements(&s->x, place_of(s, a, e), place_of(s, b, e));
  return order;
}

// Sorts the slices by a stable merge sort; returns the list with the result.
static int64_t *sort_slices(const slices *s, int64_t *order, int64_t *spare) {
  for (int64_t width = 1; width < s->count; width *= 2) {
    for (int64_t from = 0; from < s->count; from += 2 * width) {
      int64_t middle = from + width < s->count ? from + width : s->count;
      int64_t end = middle + width < s->count ? middle + width : s->count;
      int64_t left = from, right = middle;
      for (int64_t i = from; i < end; i++) {
        bool take_right =
            left == middle ||
            (right != end && compare_slices(s, order[right], order[left]) < 0);
        spare[i] = take_right ? order[right++] : order[left++];
      }
    }
    int64_t *swap = order;
    order = spare;
    spare = swap;
  }
  return order;
}

/// Groups of equal slices: first[g] is the first slice of group g, group[s] the group of
/// slice s. Groups are sorted, or in the order of their first slices.
typedef struct groups {
  int64_t count, *first, *group, *size;
} groups;

static egraph_status find_groups(eg_arena *arena, const slices *s, bool sorted,
                                 groups *out) {
  int64_t *order, *spare, n = s->count;
  EG_NEW(arena, (size_t)n, order);
  EG_NEW(arena, (size_t)n, spare);
  EG_NEW(arena, (size_t)n, out->first);
  EG_NEW(arena, (size_t)n, out->group);
  EG_NEW(arena, (size_t)n, out->size);
  for (int64_t i = 0; i < n; i++)
    order[i] = i;
  order = sort_slices(s, order, spare);
  for (int64_t i = 0; i < n; i++) {
    bool begins = i == 0 || compare_slices(s, order[i - 1], order[i]) != 0;
    if (begins) out->first[out->count++] = order[i];
    out->group[order[i]] = out->count - 1;
  }
  if (!sorted) { // renumber groups by their first slices
    int64_t *rank, met = 0;
    EG_NEW(arena, (size_t)n, rank);
    for (int64_t i = 0; i < n; i++)
      if (out->first[out->group[i]] == i) rank[out->group[i]] = met++;
    for (int64_t i = 0; i < n; i++)
      out->group[i] = rank[out->group[i]];
    for (int64_t i = n; i-- > 0;)
      out->first[out->group[i]] = i;
  }
  for (int64_t i = 0; i < n; i++)
    out->size[i] = 0;
  for (int64_t i = 0; i < n; i++)
    out->size[out->group[i]]++;
  return EGRAPH_OK;
}

static egraph_status define_counts(const eg_onnx_call *call, uint32_t index,
                                   const int64_t *data, int64_t count) {
  eg_type type = eg_type_of(EGRAPH_INT64, 1, &count);
  return eg_onnx_define_result(call, index, &type, data);
}

static egraph_status define_slices(const eg_onnx_call *call, const slices *s,
                                   const groups *g, eg_type type) {
  eg_onnx_ref result = eg_onnx_output(call, 0);
  size_t size = eg_dtype_bytes(type.dtype);
  eg_tensor out;
  EG_TRY(eg_onnx_array(call, &type, &result, &out));
  slices to = *s;
  to.count = g->count;
  for (int64_t k = 0; k < g->count; k++)
    for (int64_t e = 0; e < s->outer * s->inner; e++)
      memcpy((unsigned char *)out.data + (size_t)place_of(&to, k, e) * size,
             (const unsigned char *)s->x.data +
                 (size_t)place_of(s, g->first[k], e) * size,
             size);
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_unique(const eg_onnx_call *call) {
  slices s = {.outer = 1, .inner = 1};
  groups g = {0};
  int64_t axis = 0;
  EG_TRY(known_operand(call, &s.x));
  EG_ONNX_INT(sorted, call, "sorted", 1);
  s.count = eg_type_elements(&s.x.type);
  eg_type type = eg_type_of(s.x.type.dtype, 1, &s.count);
  if (eg_onnx_attr(call, "axis") != NULL) {
    EG_TRY(eg_onnx_attr_int(call, "axis", 0, &axis));
    EG_TRY(eg_onnx_axis(axis, s.x.type.rank, &axis));
    type = s.x.type;
    s.count = type.dims[axis];
    for (uint32_t d = 0; d < type.rank; d++)
      *(d < (uint32_t)axis ? &s.outer : &s.inner) *=
          d == (uint32_t)axis ? 1 : type.dims[d];
  }
  if (eg_type_elements(&s.x.type) == 0) return eg_onnx_decline("it has no element");
  EG_TRY(find_groups(&call->reader->arena, &s, sorted != 0, &g));
  type.dims[axis] = g.count;
  EG_TRY(define_slices(call, &s, &g, type));
  EG_TRY(define_counts(call, 1, g.first, g.count));
  EG_TRY(define_counts(call, 2, g.group, s.count));
  return define_counts(call, 3, g.size, g.count);
}
