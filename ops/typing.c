// Dispatch of inference and factors to the operator families, and their common checks.
// SPDX-License-Identifier: Apache-2.0
#include "ops/typing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct family {
  egraph_status (*infer)(const eg_typing *node, eg_type *out);
  void (*factors)(const eg_typing *node, const eg_type *results, uint32_t result_count,
                  eg_factors *out);
} family;

static const family families[EG_OP_COUNT] = {
#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, ...)                            \
  [EG_OP_##ID] = {eg_infer_##FAMILY, eg_factors_##FAMILY},
#include "ops/op_table.def"
};

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
  // Integers wrap before an activation, and accumulators hold more than they do.
  if (act->i == EG_ACT_NONE || eg_dtype_is_float(node->inputs[0].dtype)) return EGRAPH_OK;
  return eg_typing_fail(node,
                        "activation number %" PRId64 " needs floating point, not %s",
                        act->i, eg_dtype_name(node->inputs[0].dtype));
}

bool eg_window_reach(const eg_window *window, int64_t *out) {
  int64_t gaps;
  return eg_size_sub(window->kernel, 1, &gaps) &&
         eg_size_mul(gaps, window->dilation, &gaps) && eg_size_add(gaps, 1, out);
}

/// Of open sizes at which the kernel does not fit: runtimes cut the quotient towards zero
/// and refuse what is negative.
static bool cut_positions(int64_t span, int64_t stride, int64_t *out) {
  int64_t lack;
  return eg_size_sub(0, span, &lack) && eg_size_max(lack, 0, &lack) &&
         eg_size_floor_div(lack, stride, &lack) && eg_size_max(span, 0, out) &&
         eg_size_floor_div(*out, stride, out) && eg_size_sub(*out, lack, out) &&
         eg_size_add(*out, 1, out) && eg_size_reaches(*out, 0);
}

/// With ceil_mode a window that hangs over the end counts, if it begins before the end
/// padding.
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
  assert(factors->count < EG_MAX_FACTORS);
  eg_factor *factor = &factors->factor[factors->count++];
  *factor = (eg_factor){.kind = kind, .size = size};
  memset(factor->input_dim, EG_NO_DIM, sizeof factor->input_dim);
  memset(factor->output_dim, EG_NO_DIM, sizeof factor->output_dim);
  return factor;
}

eg_factor *eg_factors_add_dim(eg_factors *factors, eg_factor_kind kind,
                              const eg_type *result, uint32_t dim) {
  eg_factor *factor = eg_factors_add(factors, kind, result->dims[dim]);
  factor->input_dim[0] = factor->output_dim[0] = (int8_t)dim;
  return factor;
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

// ---- dispatch -------------------------------------------------------------------

static egraph_status check_operands(const eg_typing *node) {
  const eg_op_info *info = node->info;
  bool enough = (int64_t)node->count >= info->min_inputs;
  bool too_many = info->max_inputs >= 0 && (int64_t)node->count > info->max_inputs;
  if (!enough || too_many)
    return eg_typing_fail(node, "got %u operands; it takes %s %d", node->count,
                          !enough && info->min_inputs != info->max_inputs ? "at least"
                          : info->min_inputs != info->max_inputs          ? "at most"
                                                                          : "exactly",
                          enough ? info->max_inputs : info->min_inputs);
  for (uint32_t i = 0; i < node->count; i++) {
    egraph_status status = eg_type_check(&node->inputs[i]);
    if (status != EGRAPH_OK)
      return eg_fail_context(status, "%s: operand %u", info->name, i);
  }
  return EGRAPH_OK;
}

// The flags of a row say which dtypes operand 0 may have.
static egraph_status check_dtype(const eg_typing *node) {
  unsigned flags = node->info->flags;
  if (node->count == 0 || (flags & EG_OPF_ANY) != 0) return EGRAPH_OK;
  egraph_dtype dtype = node->inputs[0].dtype;
  bool is_bool = dtype == EGRAPH_BOOL;
  const char *wanted = NULL;
  if ((flags & EG_OPF_BOOL) != 0)
    wanted = is_bool ? NULL : "bool";
  else if ((flags & EG_OPF_FLOAT) != 0)
    wanted = eg_dtype_is_float(dtype) ? NULL : "floating point";
  else if ((flags & EG_OPF_INTEGER) != 0)
    wanted = is_bool || eg_dtype_is_float(dtype) ? "an integer" : NULL;
  else if ((flags & EG_OPF_SIGNED) != 0)
    wanted = is_bool || eg_dtype_is_unsigned(dtype) ? "a number with a sign" : NULL;
  else
    wanted = is_bool ? "a number" : NULL;
  if (wanted == NULL) return EGRAPH_OK;
  return eg_typing_fail(node, "operand 0 is %s; it must be %s (insert a cast)",
                        eg_dtype_name(dtype), wanted);
}

static egraph_status check_results(const eg_typing *node, const eg_type *results,
                                   uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    egraph_status status = eg_type_check(&results[i]);
    if (status != EGRAPH_OK)
      return eg_fail_context(status, "%s: result %u", node->info->name, i);
  }
  return EGRAPH_OK;
}

static eg_typing typing_of(const eg_attrs *attrs, const eg_type *inputs, uint32_t count) {
  assert(attrs->op < EG_OP_COUNT);
  const eg_op_info *info = eg_op_info_of((eg_op)attrs->op);
  assert(attrs->count == info->attr_count);
  return (eg_typing){.attrs = attrs, .info = info, .inputs = inputs, .count = count};
}

uint32_t eg_op_results(const eg_attrs *attrs) {
  int fixed = eg_op_info_of((eg_op)attrs->op)->results;
  if (fixed != 0) return (uint32_t)fixed;
  return attrs->op == EG_OP_SPLIT ? eg_attr_at(attrs, EG_A_SPLIT_SIZES)->ints.len : 0;
}

// ---- open dimensions ------------------------------------------------------------

static bool is_broken(const eg_attr *slot) {
  if (slot->kind == EG_ATTR_INT)
    return (uint64_t)slot->i >> 62 == 1 && eg_size_is_broken(slot->i);
  for (uint32_t i = 0; slot->kind == EG_ATTR_INTS && i < slot->ints.len; i++)
    if ((uint64_t)slot->ints.data[i] >> 62 == 1 && eg_size_is_broken(slot->ints.data[i]))
      return true;
  return false;
}

static egraph_status check_open(const eg_typing *node) {
  bool is_open = eg_attrs_any_open(node->attrs);
  for (uint32_t i = 0; i < node->count; i++)
    is_open = is_open || eg_type_is_open(&node->inputs[i]);
  if (!is_open) return EGRAPH_OK;
  unsigned flags = node->info->flags;
  if (eg_attrs_any_open(node->attrs) && (flags & EG_OPF_OPEN_ATTRS) == 0)
    return eg_typing_fail(node, "an attribute has the size of an open dimension");
  for (uint16_t i = 0; i < node->attrs->count; i++)
    if (is_broken(&node->attrs->slots[i]))
      return eg_typing_fail(node, "an attribute is no size of an open dimension");
  if ((flags & (EG_OPF_OPEN | EG_OPF_POINTWISE)) != 0) return EGRAPH_OK;
  return eg_typing_fail(node, "it needs the sizes of all dimensions");
}

enum { FEW_RESULTS = 3 };

egraph_status eg_op_infer(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                          eg_type *out_results) {
  eg_typing node = typing_of(attrs, inputs, count);
  EG_TRY(check_operands(&node));
  EG_TRY(check_dtype(&node));
  EG_TRY(check_open(&node));
  uint32_t results = eg_op_results(attrs);
  // Only split has more results; its parts are never larger than the operand it checked.
  if (results > FEW_RESULTS) return families[attrs->op].infer(&node, out_results);
  eg_type found[FEW_RESULTS] = {0};
  EG_TRY(families[attrs->op].infer(&node, found));
  EG_TRY(check_results(&node, found, results));
  memcpy(out_results, found, results * sizeof *found);
  return EGRAPH_OK;
}

egraph_status eg_op_factors(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                            eg_factors *out) {
  eg_typing node = typing_of(attrs, inputs, count);
  uint32_t result_count = eg_op_results(attrs);
  eg_type few[FEW_RESULTS];
  eg_factors factors = {.count = 0};
  if (result_count <= FEW_RESULTS) {
    EG_TRY(eg_op_infer(attrs, inputs, count, few));
  } else {
    // A split into many parts is checked without storing them; its factors are those of
    // its operand's dimensions.
    EG_TRY(check_operands(&node));
    EG_TRY(check_dtype(&node));
    EG_TRY(families[attrs->op].infer(&node, NULL));
  }
  families[attrs->op].factors(&node, result_count <= FEW_RESULTS ? few : inputs,
                              result_count, &factors);
  *out = factors;
  return EGRAPH_OK;
}
