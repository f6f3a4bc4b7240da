// Import of reductions, top-k and cumulative sums.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "onnx/read/build.h"

// Reads axes from attribute or operand. An empty list means all axes; with
// noop_with_empty_axes, no axis.
static egraph_status read_axes(const eg_onnx_call *call, uint32_t rank, eg_ints *out) {
  bool present;
  int64_t *all;
  EG_TRY(eg_onnx_ints(call, "axes", 1, &present, out));
  EG_ONNX_INT(noop, call, "noop_with_empty_axes", 0);
  if (out->len == 0 && noop == 0) {
    EG_TRY(eg_onnx_repeat(call, 0, rank, &all));
    for (uint32_t i = 0; i < rank; i++)
      all[i] = i;
    *out = (eg_ints){.data = all, .len = rank};
    return EGRAPH_OK;
  }
  return eg_onnx_sorted_axes(call, *out, rank, out);
}

static egraph_status emit_reduce(const eg_onnx_call *call, eg_onnx_ref input,
                                 eg_onnx_ref result) {
  eg_ints axes;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(read_axes(call, x.rank, &axes));
  EG_ONNX_INT(keepdims, call, "keepdims", 1);
  eg_attr_list list = eg_onnx_list(call->op, NULL, 0);
  list.slots[0].ints = axes; // all reductions have these two slots first
  list.slots[1].i = keepdims != 0;
  return eg_onnx_emit(call, &list, &input, 1, &result, 1);
}

// Emits the maximum ("or") or minimum ("and") of bool, computed on the numbers 0 and 1.
static egraph_status emit_reduce_bool(const eg_onnx_call *call) {
  eg_attr_list to_number = EG_LIST(CAST, EG_DTYPE(CAST_TO, EGRAPH_UINT8));
  eg_onnx_ref input = eg_onnx_input(call, 0), number, most;
  EG_TRY(eg_onnx_emit_fresh(call, to_number, &input, 1, &number));
  EG_TRY(eg_onnx_fresh(call, &most));
  EG_TRY(emit_reduce(call, number, most));
  return eg_onnx_emit_on(call, &most, 1, EG_LIST(CAST, EG_DTYPE(CAST_TO, EGRAPH_BOOL)));
}

egraph_status eg_onnx_import_reduce(const eg_onnx_call *call) {
  EG_ONNX_TYPE(x, call, 0);
  if (x.dtype == EGRAPH_BOOL &&
      (call->op == EG_OP_REDUCE_MAX || call->op == EG_OP_REDUCE_MIN))
    return emit_reduce_bool(call);
  return emit_reduce(call, eg_onnx_input(call, 0), eg_onnx_output(call, 0));
}

// Emits a pointwise operator, then the sum.
static egraph_status emit_sum_of(const eg_onnx_call *call, eg_op op, eg_onnx_ref result) {
  eg_onnx_ref input = eg_onnx_input(call, 0), mapped;
  EG_TRY(eg_onnx_emit_fresh(call, eg_onnx_list(op, NULL, 0), &input, 1, &mapped));
  return emit_reduce(call, mapped, result);
}

egraph_status eg_onnx_import_reduce_l1(const eg_onnx_call *call) {
  return emit_sum_of(call, EG_OP_ABS, eg_onnx_output(call, 0));
}

egraph_status eg_onnx_import_reduce_sum_square(const eg_onnx_call *call) {
  return emit_sum_of(call, EG_OP_SQUARE, eg_onnx_output(call, 0));
}

egraph_status eg_onnx_import_reduce_l2(const eg_onnx_call *call) {
  eg_onnx_ref sum;
  EG_TRY(eg_onnx_want_floats(call));
  EG_TRY(eg_onnx_fresh(call, &sum));
  EG_TRY(emit_sum_of(call, EG_OP_SQUARE, sum));
  return eg_onnx_emit_plain(call, EG_OP_SQRT, &sum, 1, eg_onnx_output(call, 0));
}

egraph_status eg_onnx_import_reduce_log_sum(const eg_onnx_call *call) {
  eg_onnx_ref sum;
  EG_TRY(eg_onnx_want_floats(call));
  EG_TRY(eg_onnx_fresh(call, &sum));
  EG_TRY(emit_reduce(call, eg_onnx_input(call, 0), sum));
  return eg_onnx_emit_plain(call, EG_OP_LOG, &sum, 1, eg_onnx_output(call, 0));
}

egraph_status eg_onnx_import_top_k(const eg_onnx_call *call) {
  int64_t k = -1;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_const_int(call, 1, "k", true, &k));
  EG_TRY(eg_onnx_attr_int(call, "k", k, &k));
  EG_ONNX_INT(axis, call, "axis", -1);
  EG_ONNX_INT(largest, call, "largest", 1);
  EG_ONNX_INT(sorted, call, "sorted", 1);
  EG_TRY(eg_onnx_axis(axis, x.rank, &axis));
  return eg_onnx_emit_first(call, 1,
                            EG_LIST(TOP_K, EG_INT(TOP_K_K, k), EG_INT(TOP_K_AXIS, axis),
                                    EG_INT(TOP_K_LARGEST, largest != 0),
                                    EG_INT(TOP_K_SORTED, sorted != 0)));
}

egraph_status eg_onnx_import_cum_sum(const eg_onnx_call *call) {
  int64_t axis;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_const_int(call, 1, "the axis", false, &axis));
  EG_ONNX_INT(exclusive, call, "exclusive", 0);
  EG_ONNX_INT(reverse, call, "reverse", 0);
  EG_TRY(eg_onnx_axis(axis, x.rank, &axis));
  eg_attr_list list = {.op = call->op,
                       .slots = {{.kind = EG_ATTR_INT, .i = axis},
                                 {.kind = EG_ATTR_INT, .i = exclusive != 0},
                                 {.kind = EG_ATTR_INT, .i = reverse != 0}}};
  return eg_onnx_emit_first(call, 1, list);
}

// ---- reductions that are several nodes ----------------------------------------------

static eg_ref reduced(eg_onnx_builder *write, eg_op op, eg_ref x, eg_ints axes,
                      bool keep) {
  uint32_t dims = 0;
  for (uint32_t i = 0; i < axes.len; i++)
    dims |= UINT32_C(1) << axes.data[i];
  return eg_build_reduce(&write->b, op, x, dims, keep);
}

// Emits log(sum(exp(x - m))) + m, where m is the maximum, or 0 if that is not finite.
egraph_status eg_onnx_import_log_sum_exp(const eg_onnx_call *call) {
  eg_ints axes;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(read_axes(call, x.rank, &axes));
  EG_ONNX_INT(keepdims, call, "keepdims", 1);
  if (!eg_dtype_is_float(x.dtype)) return eg_onnx_decline("it is not of floating point");
  EG_ONNX_BUILDER(write, call);
  eg_builder *b = &write.b;
  eg_ref input = eg_onnx_operand(&write, 0);
  eg_ref most = reduced(&write, EG_OP_REDUCE_MAX, input, axes, true);
  most = EG_FORMULA(b, "(where (is-inf m) 0 m)", "m", most);
  eg_ref powers = EG_FORMULA(b, "(exp (sub x m))", "xm", input, most);
  eg_ref sum = reduced(&write, EG_OP_REDUCE_SUM, powers, axes, true);
  eg_ref y = EG_FORMULA(b, "(add (log s) m)", "sm", sum, most);
  if (keepdims == 0 && axes.len != 0)
    y = eg_onnx_write(
        &write, EG_LIST(SQUEEZE, EG_INTS(SQUEEZE_AXES, axes.data, axes.len)), &y, 1);
  return eg_onnx_finish(&write, 0, y);
}

// Emits (x - mean(x)) / (sqrt(mean(x^2) - mean(x)^2) + 1e-9), as ONNX defines it.
egraph_status eg_onnx_import_mean_variance(const eg_onnx_call *call) {
  static const int64_t usual[3] = {0, 2, 3};
  eg_ints axes;
  bool present;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_attr_ints(call, "axes", &present, &axes));
  if (!present) axes = (eg_ints){.data = usual, .len = 3};
  EG_TRY(eg_onnx_sorted_axes(call, axes, x.rank, &axes));
  EG_ONNX_BUILDER(write, call);
  eg_builder *b = &write.b;
  eg_ref input = eg_onnx_operand(&write, 0);
  eg_ref square = EG_BUILD(b, EG_OP_SQUARE, input);
  eg_ref mean = reduced(&write, EG_OP_REDUCE_MEAN, input, axes, true);
  square = reduced(&write, EG_OP_REDUCE_MEAN, square, axes, true);
  return eg_onnx_finish(&write, 0,
                        EG_FORMULA(b,
                                   "(div (sub x m) (add (sqrt (sub s (square m))) 1e-9))",
                                   "xms", input, mean, square));
}
