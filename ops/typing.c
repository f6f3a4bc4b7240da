// Shared functions of inference and factors: checks, windows, factors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/typing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- messages -------------------------------------------------------------------

egraph_status eg_typing_fail_saying(const eg_typing *node, const char *format, ...) {
  char message[768];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return EG_FAIL(EGRAPH_E_TYPE, "%s: %s", node->info->name, message);
}

eg_type_text eg_type_text_of(const eg_type *type) {
  eg_type_text out;
  size_t used = (size_t)snprintf(
      out.text, sizeof out.text, "%s[",
      type->dtype < EGRAPH_DTYPE_COUNT ? eg_dtype_name(type->dtype) : "unknown");
  for (uint32_t i = 0; i < type->rank; i++)
    used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%" PRId64,
                             i == 0 ? "" : ",", eg_size_example(type->dims[i]));
  (void)snprintf(out.text + used, sizeof out.text - used, "]");
  return out;
}

// ---- checks ---------------------------------------------------------------------

egraph_status eg_typing_same_dtype(const eg_typing *node, uint32_t first) {
  for (uint32_t i = first; i < node->count; i++)
    if (node->inputs[i].dtype != node->inputs[0].dtype)
      return eg_typing_fail(node,
                            "operand %u is %s but operand 0 is %s; insert a cast so that "
                            "both agree",
                            i, eg_dtype_name(node->inputs[i].dtype),
                            eg_dtype_name(node->inputs[0].dtype));
  return EGRAPH_OK;
}

egraph_status eg_typing_min_rank(const eg_typing *node, uint32_t operand, uint32_t rank) {
  assert(operand < node->count);
  if (node->inputs[operand].rank >= rank) return EGRAPH_OK;
  return eg_typing_fail(node, "operand %u is %s; it needs at least %u dimensions",
                        operand, eg_type_text_of(&node->inputs[operand]).text, rank);
}

egraph_status eg_typing_axis(const eg_typing *node, int64_t axis, uint32_t rank,
                             uint32_t *out) {
  int64_t limit = rank;
  if (axis < -limit || axis >= limit)
    return eg_typing_fail(node,
                          "axis %" PRId64 " is outside [%" PRId64 ", %" PRId64
                          ") of a rank-%u tensor",
                          axis, -limit, limit, rank);
  *out = (uint32_t)(axis < 0 ? axis + limit : axis);
  return EGRAPH_OK;
}

egraph_status eg_typing_list(const eg_typing *node, const char *name, eg_ints list,
                             uint32_t len, int64_t least) {
  if (list.len != len)
    return eg_typing_fail(node, "attribute %s has %u entries; this operand needs %u",
                          name, list.len, len);
  for (uint32_t i = 0; i < len; i++)
    if (least != INT64_MIN && !eg_size_at_least(list.data[i], least))
      return eg_typing_fail(
          node, "entry %u of attribute %s is %" PRId64 "; the least is %" PRId64, i, name,
          list.data[i], least);
  return EGRAPH_OK;
}

egraph_status eg_typing_indices(const eg_typing *node) {
  egraph_dtype dtype = node->inputs[1].dtype;
  if (dtype == EGRAPH_INT64 || dtype == EGRAPH_INT32) return EGRAPH_OK;
  return eg_typing_fail(node, "indices are %s; they must be int32 or int64",
                        eg_dtype_name(dtype));
}

egraph_status eg_typing_shape(const eg_typing *node, egraph_dtype dtype, eg_ints shape,
                              eg_type *out) {
  if (shape.len > EGRAPH_MAX_RANK)
    return eg_typing_fail(node, "the shape has %u dimensions; at most %d are supported",
                          shape.len, EGRAPH_MAX_RANK);
  *out = eg_type_of(dtype, shape.len, shape.data);
  return EGRAPH_OK;
}

egraph_status eg_typing_axes(const eg_typing *node, eg_ints axes, uint32_t rank) {
  int64_t least = 0;
  for (uint32_t i = 0; i < axes.len; i++) {
    if (axes.data[i] < least || axes.data[i] >= rank)
      return eg_typing_fail(node,
                            "entry %u of attribute axes is %" PRId64
                            "; axes must be ascending, distinct and below the rank %u",
                            i, axes.data[i], rank);
    least = axes.data[i] + 1;
  }
  return EGRAPH_OK;
}

bool eg_broadcasts_to(const eg_type *type, const eg_type *to) {
  if (type->rank > to->rank) return false;
  uint32_t shift = to->rank - type->rank;
  for (uint32_t i = 0; i < type->rank; i++)
    if (!eg_size_stretches_to(type->dims[i], to->dims[i + shift])) return false;
  return true;
}

int eg_broadcast_dim(const eg_type *type, const eg_type *to, uint32_t dim) {
  assert(dim < to->rank && type->rank <= to->rank);
  uint32_t shift = to->rank - type->rank;
  if (dim < shift || type->dims[dim - shift] != to->dims[dim]) return EG_NO_DIM;
  return (int)(dim - shift);
}

egraph_status eg_typing_broadcast(const eg_typing *node, const eg_type *type,
                                  eg_type *inout) {
  eg_type wide = type->rank > inout->rank ? *type : *inout;
  const eg_type *narrow = type->rank > inout->rank ? inout : type;
  uint32_t shift = wide.rank - narrow->rank;
  for (uint32_t i = 0; i < narrow->rank; i++) {
    int64_t *dim = &wide.dims[i + shift], met = *dim;
    if (!eg_size_broadcast(met, narrow->dims[i], dim))
      return eg_typing_fail(
          node,
          "shapes %s and %s do not broadcast: %" PRId64 " meets %" PRId64
          " when aligned at the last dimension; reshape an operand",
          eg_type_text_of(inout).text, eg_type_text_of(type).text, met, narrow->dims[i]);
  }
  *inout = eg_type_of(inout->dtype, wide.rank, wide.dims);
  return EGRAPH_OK;
}

egraph_status eg_typing_activation(const eg_typing *node, const eg_attr *act) {
  assert(act->kind == EG_ATTR_SYMBOL && act->i < EG_ACT_COUNT);
  // Refuses integers: they should wrap before the activation, but accumulators, to which
  // it is applied, are wider.
  if (act->i == EG_ACT_NONE || eg_dtype_is_float(node->inputs[0].dtype)) return EGRAPH_OK;
  return eg_typing_fail(node,
                        "activation number %" PRId64 " needs floating point, not %s",
                        act->i, eg_dtype_name(node->inputs[0].dtype));
}

bool eg_window_reach(const eg_window *window, int64_t *out) {
  assert(window->dilation >= 0);
  int64_t gaps;
  return eg_size_sub(window->kernel, 1, &gaps) &&
         eg_size_mul(gaps, window->dilation, &gaps) && eg_size_add(gaps, 1, out);
}

/// Computes the window positions for an open size that the kernel may exceed: runtimes
/// round the quotient towards zero and refuse a negative result.
static bool cut_positions(int64_t span, int64_t stride, int64_t *out) {
  int64_t lack;
  return eg_size_sub(0, span, &lack) && eg_size_max(lack, 0, &lack) &&
         eg_size_floor_div(lack, stride, &lack) && eg_size_max(span, 0, out) &&
         eg_size_floor_div(*out, stride, out) && eg_size_sub(*out, lack, out) &&
         eg_size_add(*out, 1, out) && eg_size_reaches(*out, 0);
}

/// Counts the positions of a window. With ceil_mode a window that extends over the end
/// counts if it begins before the end padding.
static bool count_positions(const eg_window *window, int64_t size, int64_t span,
                            bool ceil_mode, int64_t *out) {
  int64_t begins, whole, most;
  if (!cut_positions(span, window->stride, &whole)) return false;
  *out = whole;
  if (!ceil_mode) return true;
  return eg_size_ceil_div(span, window->stride, out) && eg_size_add(*out, 1, out) &&
         eg_size_add(size, window->pad_begin - 1, &begins) &&
         eg_size_floor_div(begins, window->stride, &most) &&
         eg_size_add(most, 1, &most) && eg_size_max(most, whole, &most) &&
         eg_size_min(*out, most, out);
}

egraph_status eg_window_fits(const eg_typing *node, const eg_window *window,
                             int64_t size) {
  int64_t reach;
  bool fits = !eg_size_is_open(size) ||
              (eg_window_reach(window, &reach) &&
               eg_size_reaches(size, reach - window->pad_begin - window->pad_end));
  return fits ? EGRAPH_OK : eg_typing_fail(node, "the kernel may not fit");
}

egraph_status eg_window_positions(const eg_typing *node, const eg_window *window,
                                  int64_t size, bool ceil_mode, int64_t *out) {
  int64_t reach, padded, span;
  if (!eg_window_reach(window, &reach) ||
      !eg_size_add(size, window->pad_begin, &padded) ||
      !eg_size_add(padded, window->pad_end, &padded) ||
      !eg_size_sub(padded, reach, &span))
    return eg_typing_fail(node, "the size of a window or of its padding overflows");
  bool is_open = eg_size_is_open(span) && eg_size_reaches(size, 1);
  if (!is_open && !eg_size_at_least(span, 0))
    return eg_typing_fail(node,
                          "the kernel reaches over %" PRId64
                          " elements but the padded input has %" PRId64
                          "; use a smaller kernel or dilation, or more padding",
                          reach, padded);
  if (is_open) eg_size_wish(span);
  if (!count_positions(window, size, span, ceil_mode, out))
    return eg_typing_fail(node, "the number of windows has no expression");
  return EGRAPH_OK;
}

// ---- factors --------------------------------------------------------------------

eg_factor *eg_factors_add(eg_factors *factors, eg_factor_kind kind, int64_t size) {
  assert(kind <= EG_FACTOR_BLOCKED);
  assert(factors->count < EG_MAX_FACTORS);
  eg_factor *factor = &factors->factor[factors->count++];
  *factor = (eg_factor){.kind = kind, .size = size};
  memset(factor->input_dim, EG_NO_DIM, sizeof factor->input_dim);
  memset(factor->output_dim, EG_NO_DIM, sizeof factor->output_dim);
  return factor;
}

eg_factor *eg_factors_add_dim(eg_factors *factors, eg_factor_kind kind,
                              const eg_type *result, uint32_t dim) {
  assert(dim < result->rank);
  eg_factor *factor = eg_factors_add(factors, kind, result->dims[dim]);
  factor->input_dim[0] = factor->output_dim[0] = (int8_t)dim;
  return factor;
}

eg_factor *eg_factors_add_dims(eg_factors *factors, const eg_type *result,
                               uint32_t blocked) {
  eg_factor *first = &factors->factor[factors->count];
  for (uint32_t dim = 0; dim < result->rank; dim++)
    eg_factors_add_dim(factors,
                       (blocked >> dim & 1) != 0 ? EG_FACTOR_BLOCKED : EG_FACTOR_PARALLEL,
                       result, dim);
  return first;
}

void eg_factors_add_pointwise(const eg_typing *node, const eg_type *result,
                              eg_factors *out) {
  for (uint32_t dim = 0; dim < result->rank; dim++) {
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, result->dims[dim]);
    factor->output_dim[0] = (int8_t)dim;
    for (uint32_t i = 0; i < node->count; i++)
      factor->input_dim[i] = (int8_t)eg_broadcast_dim(&node->inputs[i], result, dim);
  }
}

uint32_t eg_operand_bits(uint32_t count) {
  uint32_t rows = count < EG_FACTOR_ROWS ? count : EG_FACTOR_ROWS;
  return (UINT32_C(1) << rows) - 1;
}
