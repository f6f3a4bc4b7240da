// Import of data movement: all positions become explicit attributes.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "onnx/read/build.h"

egraph_status eg_onnx_import_transpose(const eg_onnx_call *call) {
  eg_ints perm;
  bool present;
  int64_t reversed[EGRAPH_MAX_RANK];
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_attr_ints(call, "perm", &present, &perm));
  for (uint32_t i = 0; i < x.rank; i++)
    reversed[i] = (int64_t)x.rank - 1 - i;
  if (!present) perm = (eg_ints){.data = reversed, .len = x.rank};
  return eg_onnx_emit_node(
      call, EG_LIST(TRANSPOSE, EG_INTS(TRANSPOSE_PERM, perm.data, perm.len)));
}

// ---- split --------------------------------------------------------------------------

// Computes the sizes of a split into `count` equal parts; from set 18 on the last part
// may be smaller.
static egraph_status even_sizes(const eg_onnx_call *call, int64_t size, int64_t count,
                                eg_ints *out) {
  int64_t *sizes;
  if (count < 1 || count > (int64_t)call->output_count)
    return EG_FAIL(EGRAPH_E_PARSE, "it cannot be split into %" PRId64 " parts", count);
  int64_t part, last;
  bool is_even = call->reader->opset < 18;
  if (!(is_even ? eg_size_exact_div : eg_size_ceil_div)(size, count, &part))
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%" PRId64 " does not divide into %" PRId64 " equal parts", size,
                   count);
  EG_TRY(eg_onnx_repeat(call, part, (uint32_t)count, &sizes));
  if (!is_even && eg_size_mul(part, count - 1, &last) && eg_size_sub(size, last, &last))
    sizes[count - 1] = last;
  if (!eg_size_reaches(sizes[count - 1], 0))
    return EG_FAIL(EGRAPH_E_PARSE, "%" PRId64 " cannot be split into %" PRId64 " parts",
                   size, count);
  *out = (eg_ints){.data = sizes, .len = (uint32_t)count};
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_split(const eg_onnx_call *call) {
  eg_ints sizes;
  bool present;
  int64_t axis;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_attr_axis(call, 0, x.rank, &axis));
  EG_TRY(eg_onnx_sizes(call, "split", 1, &present, &sizes));
  EG_ONNX_INT(count, call, "num_outputs", (int64_t)call->output_count);
  if (!present) EG_TRY(even_sizes(call, x.dims[axis], count, &sizes));
  if (sizes.len != call->output_count)
    return EG_FAIL(EGRAPH_E_PARSE, "there are %" PRIu32 " sizes for %" PRIu32 " results",
                   sizes.len, call->output_count);
  return eg_onnx_emit_first(call, 1,
                            EG_LIST(SPLIT, EG_INT(SPLIT_AXIS, axis),
                                    EG_INTS(SPLIT_SIZES, sizes.data, sizes.len)));
}

// ---- slice --------------------------------------------------------------------------

// Clamps a bound, which may be negative, as ONNX does: a start into [0, size - 1] or [0,
// size], an end into [-1, size - 1] or [0, size].
static int64_t clamp_bound(int64_t bound, int64_t size, int64_t step, bool is_end) {
  if (bound < 0) bound += size;
  if (step > 0) return eg_onnx_clamp(bound, 0, size);
  return eg_onnx_clamp(bound, is_end || size == 0 ? -1 : 0, size - 1);
}

typedef struct slice_lists {
  eg_ints starts, ends, axes, steps;
  bool has_axes, has_steps;
} slice_lists;

static egraph_status read_slice(const eg_onnx_call *call, slice_lists *out) {
  bool has_starts, has_ends;
  EG_TRY(eg_onnx_sizes(call, "starts", 1, &has_starts, &out->starts));
  EG_TRY(eg_onnx_sizes(call, "ends", 2, &has_ends, &out->ends));
  EG_TRY(eg_onnx_ints(call, "axes", 3, &out->has_axes, &out->axes));
  EG_TRY(eg_onnx_const_ints(call, 4, &out->has_steps, &out->steps));
  uint32_t count = out->starts.len;
  if (!has_starts || !has_ends || out->ends.len != count ||
      (out->has_axes && out->axes.len != count) ||
      (out->has_steps && out->steps.len != count))
    return EG_FAIL(EGRAPH_E_PARSE, "starts, ends, axes and steps differ in length");
  return EGRAPH_OK;
}

static egraph_status emit_slice(const eg_onnx_call *call, uint32_t rank,
                                const int64_t *starts, const int64_t *ends,
                                const int64_t *steps, eg_onnx_ref result) {
  eg_attr_list list =
      EG_LIST(SLICE, EG_INTS(SLICE_STARTS, starts, rank), EG_INTS(SLICE_ENDS, ends, rank),
              EG_INTS(SLICE_STEPS, steps, rank));
  eg_onnx_ref input = eg_onnx_input(call, 0);
  return eg_onnx_emit(call, &list, &input, 1, &result, 1);
}

/// Clamps a bound of a slice as clamp_bound does, when the bound or the size is open;
/// false if the bound counts from the front at some sizes and from the end at others, or
/// is not known to be either.
static bool clamp_open(int64_t bound, int64_t size, int64_t step, bool is_end,
                       int64_t *out) {
  int64_t low = step > 0 ? 0 : is_end ? -1 : 0, high;
  if (!eg_size_sub(size, step > 0 ? 0 : 1, &high)) return false;
  if (step < 0 && !eg_size_at_least(size, 1)) return false;
  // Bounds of at least this size are beyond the ends of any dimension.
  if (!eg_size_is_open(bound) && (bound >= INT32_MAX || bound <= -INT32_MAX)) {
    *out = bound > 0 ? high : low;
    return true;
  }
  bool is_from_end = eg_size_at_least(-1, bound);
  if (!is_from_end && !eg_size_at_least(bound, 0)) return false;
  if (is_from_end && !eg_size_add(bound, size, &bound)) return false;
  return eg_size_max(bound, low, out) && eg_size_min(*out, high, out);
}

/// One axis of a slice.
typedef struct slice_axis {
  int64_t size, step;
  int64_t start, end; // as in the file, then clamped
} slice_axis;

static egraph_status clamp_axis(slice_axis *a) {
  if (!eg_size_is_open(a->size) && !eg_size_is_open(a->start) &&
      !eg_size_is_open(a->end)) {
    a->start = clamp_bound(a->start, a->size, a->step, false);
    a->end = clamp_bound(a->end, a->size, a->step, true);
    return EGRAPH_OK;
  }
  bool done = clamp_open(a->start, a->size, a->step, false, &a->start) &&
              clamp_open(a->end, a->size, a->step, true, &a->end);
  return done ? EGRAPH_OK : eg_onnx_decline("a bound has no expression");
}

egraph_status eg_onnx_import_slice(const eg_onnx_call *call) {
  slice_lists lists;
  int64_t starts[EGRAPH_MAX_RANK], ends[EGRAPH_MAX_RANK], steps[EGRAPH_MAX_RANK];
  uint32_t seen = 0;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(read_slice(call, &lists));
  for (uint32_t i = 0; i < x.rank; i++) {
    starts[i] = 0;
    ends[i] = x.dims[i];
    steps[i] = 1;
  }
  for (uint32_t i = 0; i < lists.starts.len; i++) {
    int64_t axis, step = lists.has_steps ? lists.steps.data[i] : 1;
    EG_TRY(eg_onnx_axis(lists.has_axes ? lists.axes.data[i] : (int64_t)i, x.rank, &axis));
    if (step == 0) return EG_FAIL(EGRAPH_E_PARSE, "a step is 0");
    if ((seen >> axis & 1) != 0)
      return EG_FAIL(EGRAPH_E_PARSE, "axis %" PRId64 " is given twice", axis);
    seen |= UINT32_C(1) << axis;
    slice_axis a = {.size = x.dims[axis],
                    .step = step,
                    .start = lists.starts.data[i],
                    .end = lists.ends.data[i]};
    EG_TRY(clamp_axis(&a));
    // All empty slices get the same attributes.
    if (eg_size_at_least(step > 0 ? a.start : a.end, step > 0 ? a.end : a.start))
      a = (slice_axis){.size = a.size, .step = 1};
    starts[axis] = a.start;
    ends[axis] = a.end;
    steps[axis] = a.step;
  }
  return emit_slice(call, x.rank, starts, ends, steps, eg_onnx_output(call, 0));
}

// ---- pad ----------------------------------------------------------------------------

// Reads the pads, two for each dimension, from a list that may cover some axes only.
static egraph_status read_pads(const eg_onnx_call *call, uint32_t rank, int64_t *out) {
  eg_ints pads, axes;
  bool present, has_axes;
  EG_TRY(eg_onnx_sizes(call, "pads", 1, &present, &pads));
  EG_TRY(eg_onnx_const_ints(call, 3, &has_axes, &axes));
  uint32_t count = has_axes ? axes.len : rank;
  if (!present || pads.len / 2 != count || pads.len % 2 != 0)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "there are %" PRIu32 " pads for %" PRIu32 " dimensions", pads.len,
                   count);
  for (uint32_t i = 0; i < 2 * rank; i++)
    out[i] = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t axis = i;
    if (has_axes) EG_TRY(eg_onnx_axis(axes.data[i], rank, &axis));
    out[axis] = pads.data[i];
    out[rank + axis] = pads.data[count + i];
  }
  return EGRAPH_OK;
}

/// Splits a pad into the size that it adds and the size that it cuts, both not negative.
static bool split_pad(int64_t *pad, int64_t *out_cut) {
  return eg_size_sub(0, *pad, out_cut) && eg_size_max(*out_cut, 0, out_cut) &&
         eg_size_max(*pad, 0, pad);
}

/// Checks that a dimension is as large as the pads cut. Runtimes require only that the
/// result size is not negative, which is weaker if the other end grows; then the node is
/// declined unless the check holds at all sizes.
static egraph_status check_cut(const eg_type *x, uint32_t dim, const int64_t *grown,
                               int64_t cut_begin, int64_t cut_end, bool is_constant) {
  bool grows = is_constant && (grown[dim] != 0 || grown[x->rank + dim] != 0);
  int64_t cut, size = x->dims[dim];
  if (!eg_size_add(cut_begin, cut_end, &cut) || cut == 0) return EGRAPH_OK;
  if (grows && !eg_size_at_least(size, cut))
    return eg_onnx_decline("a pad cuts more than there is at some sizes");
  if (grows || eg_size_reaches(size, cut)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_PARSE, "pads cut more than dimension %" PRIu32 " has", dim);
}

// Emits a slice for negative pads, which cut. Then *inout_input is the slice, and no pad
// is negative.
static egraph_status cut_negative(const eg_onnx_call *call, const eg_type *x,
                                  bool is_constant, int64_t *pads,
                                  eg_onnx_ref *inout_input) {
  int64_t starts[EGRAPH_MAX_RANK], ends[EGRAPH_MAX_RANK], steps[EGRAPH_MAX_RANK];
  bool any = false;
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t cut_end;
    steps[i] = 1;
    if (!split_pad(&pads[i], &starts[i]) || !split_pad(&pads[x->rank + i], &cut_end) ||
        !eg_size_sub(x->dims[i], cut_end, &ends[i]))
      return eg_onnx_decline("a pad has no expression");
    EG_TRY(check_cut(x, i, pads, starts[i], cut_end, is_constant));
    any = any || starts[i] != 0 || cut_end != 0;
  }
  if (!any) return EGRAPH_OK;
  EG_TRY(eg_onnx_fresh(call, inout_input));
  return emit_slice(call, x->rank, starts, ends, steps, *inout_input);
}

// Emits a pad in mode "wrap": every dimension is a ring, whose end comes before its
// front. Pads are not negative.
static egraph_status emit_ring(const eg_onnx_call *call, const eg_type *x,
                               const int64_t *pads) {
  EG_ONNX_BUILDER(write, call);
  eg_ref y = eg_onnx_operand(&write, 0);
  for (uint32_t d = 0; d < x->rank; d++) {
    int64_t begin = pads[d], end = pads[x->rank + d], size = x->dims[d], first;
    if (begin < 0 || end < 0 || eg_size_is_open(begin) || eg_size_is_open(end) ||
        !eg_size_at_least(size, begin) || !eg_size_at_least(size, end) ||
        !eg_size_sub(size, begin, &first))
      return eg_onnx_decline("it goes round more than once, or cuts, at some sizes");
    eg_ref front = begin > 0 ? eg_onnx_range_of(&write, y, d, first, size, 1) : y;
    eg_ref back = end > 0 ? eg_onnx_range_of(&write, y, d, 0, end, 1) : y;
    if (begin > 0) y = eg_onnx_concat(&write, front, y, d);
    if (end > 0) y = eg_onnx_concat(&write, y, back, d);
  }
  return eg_onnx_finish(&write, 0, y);
}

egraph_status eg_onnx_import_pad(const eg_onnx_call *call) {
  int64_t pads[2 * EGRAPH_MAX_RANK];
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_STRING(mode, call, "mode", "constant");
  if (strcmp(mode, "constant") != 0 && strcmp(mode, "reflect") != 0 &&
      strcmp(mode, "edge") != 0 && strcmp(mode, "wrap") != 0)
    return eg_onnx_decline("the pad mode is not supported");
  EG_TRY(read_pads(call, x.rank, pads));
  if (strcmp(mode, "wrap") == 0) return emit_ring(call, &x, pads);
  EG_ONNX_FLOAT(value, call, "value", 0.0);
  EG_TRY(eg_onnx_const_double(call, 2, "the pad value", true, &value));
  eg_onnx_ref input = eg_onnx_input(call, 0);
  EG_TRY(cut_negative(call, &x, strcmp(mode, "constant") == 0, pads, &input));
  return eg_onnx_emit_on(call, &input, 1,
                         EG_LIST(PAD, EG_INTS(PAD_PADS, pads, 2 * x.rank),
                                 EG_SYMBOL(PAD_MODE, mode), EG_FLOAT(PAD_VALUE, value)));
}

// ---- expand and tile ----------------------------------------------------------------

egraph_status eg_onnx_import_expand(const eg_onnx_call *call) {
  eg_ints shape;
  bool present;
  int64_t dims[EGRAPH_MAX_RANK];
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_const_sizes(call, 1, &present, &shape));
  if (!present) return EG_FAIL(EGRAPH_E_PARSE, "the shape is absent");
  uint32_t rank = shape.len > x.rank ? shape.len : x.rank;
  if (rank > EGRAPH_MAX_RANK) return eg_onnx_decline("the rank is too large");
  for (uint32_t i = 0; i < rank; i++) {
    int64_t own = i >= rank - x.rank ? x.dims[i - (rank - x.rank)] : 1;
    int64_t wanted = i >= rank - shape.len ? shape.data[i - (rank - shape.len)] : 1;
    if (!eg_size_broadcast(own, wanted, &dims[i])) dims[i] = wanted; // does not fit
  }
  return eg_onnx_emit_first(call, 1, EG_LIST(EXPAND, EG_INTS(EXPAND_SHAPE, dims, rank)));
}

egraph_status eg_onnx_import_tile(const eg_onnx_call *call) {
  eg_ints repeats;
  bool present;
  EG_TRY(eg_onnx_const_sizes(call, 1, &present, &repeats));
  if (!present) return EG_FAIL(EGRAPH_E_PARSE, "the repeats are absent");
  return eg_onnx_emit_first(
      call, 1, EG_LIST(TILE, EG_INTS(TILE_REPEATS, repeats.data, repeats.len)));
}
