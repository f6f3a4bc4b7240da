// Import of normalizations.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/build.h"

// ONNX gives this default as a 32-bit float.
static const double usual_epsilon = 1e-5F;

// Emits batch normalization in training: it uses the statistics of this batch, and
// updates the running ones. Operands: x, scale, bias, running mean and variance; results:
// y, new running mean and variance.
static egraph_status emit_batch_norm_training(const eg_onnx_call *call, double epsilon) {
  int64_t along[EGRAPH_MAX_RANK];
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_FLOAT(momentum, call, "momentum", 0.9F);
  if (x.rank < 2) return EG_FAIL(EGRAPH_E_PARSE, "the operand has no channels");
  for (uint32_t i = 0; i < x.rank; i++)
    along[i] = i == 1 ? x.dims[1] : 1;
  EG_ONNX_BUILDER(write, call);
  eg_builder *b = &write.b;
  uint32_t others = ((UINT32_C(1) << x.rank) - 1) & ~2U;
  eg_ref input = eg_onnx_operand(&write, 0), row[4];
  for (uint32_t i = 0; i < 4; i++)
    row[i] = eg_build_reshape(b, eg_onnx_operand(&write, i + 1), x.rank, along);
  eg_ref mean = eg_build_reduce(b, EG_OP_REDUCE_MEAN, input, others, true);
  eg_ref centred = EG_BUILD(b, EG_OP_SUB, input, mean);
  eg_ref square = EG_BUILD(b, EG_OP_SQUARE, centred);
  eg_ref variance = eg_build_reduce(b, EG_OP_REDUCE_MEAN, square, others, true);
  eg_ref small = eg_build_number(b, epsilon), kept = eg_build_number(b, momentum);
  eg_ref y = EG_FORMULA(b, "(add (mul (div c (sqrt (add v e))) s) b)", "cvesb", centred,
                        variance, small, row[0], row[1]);
  static const char moved[] = "(add (mul r m) (mul x (sub 1 m)))";
  mean = EG_FORMULA(b, moved, "rmx", row[2], kept, mean);
  variance = EG_FORMULA(b, moved, "rmx", row[3], kept, variance);
  mean = eg_build_reshape(b, mean, 1, &x.dims[1]);
  variance = eg_build_reshape(b, variance, 1, &x.dims[1]);
  EG_TRY(eg_onnx_finish(&write, 0, y));
  EG_TRY(eg_onnx_finish(&write, 1, mean));
  return eg_onnx_finish(&write, 2, variance);
}

egraph_status eg_onnx_import_batch_norm(const eg_onnx_call *call) {
  EG_ONNX_INT(spatial, call, "spatial", 1);
  EG_ONNX_INT(training, call, "training_mode", 0);
  EG_ONNX_FLOAT(epsilon, call, "epsilon", usual_epsilon);
  if (spatial != 1) return eg_onnx_decline("batch normalization per position");
  if (training != 0) return emit_batch_norm_training(call, epsilon);
  return eg_onnx_emit_node(call,
                           EG_LIST(BATCH_NORM, EG_FLOAT(BATCH_NORM_EPSILON, epsilon)));
}

static egraph_status read_axis_and_epsilon(const eg_onnx_call *call, int64_t *out_axis,
                                           double *out_epsilon) {
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_attr_axis(call, -1, x.rank, out_axis));
  return eg_onnx_attr_float(call, "epsilon", usual_epsilon, out_epsilon);
}

// Emits mean and 1 / sqrt(mean((x - mean)^2) + epsilon) of x: the second and third result
// of the ONNX operator.
static egraph_status emit_statistics(const eg_onnx_call *call, int64_t axis,
                                     double epsilon) {
  EG_ONNX_TYPE(x, call, 0);
  if (x.dtype != EGRAPH_FLOAT32)
    return eg_onnx_decline("the mean of a layer normalization in another precision");
  int64_t axes[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < x.rank - (uint32_t)axis; i++)
    axes[i] = axis + i;
  eg_attr_list mean =
      EG_LIST(REDUCE_MEAN, EG_INTS(REDUCE_MEAN_AXES, axes, x.rank - (uint32_t)axis));
  eg_onnx_ref input = eg_onnx_input(call, 0), average = eg_onnx_output(call, 1);
  if (average.id == EG_ONNX_NONE.id) EG_TRY(eg_onnx_fresh(call, &average));
  EG_TRY(eg_onnx_emit(call, &mean, &input, 1, &average, 1));
  if (!eg_onnx_is_used(call, 2)) return EGRAPH_OK;
  eg_onnx_ref pair[2] = {input, average}, step;
  eg_onnx_ref square, sum;
  EG_TRY(eg_onnx_emit_fresh(call, EG_PLAIN(SUB), pair, 2, &step));
  EG_TRY(eg_onnx_emit_fresh(call, EG_PLAIN(SQUARE), &step, 1, &square));
  EG_TRY(eg_onnx_emit_fresh(call, mean, &square, 1, &pair[0]));
  EG_TRY(eg_onnx_scalar(call, x.dtype, epsilon, &pair[1]));
  EG_TRY(eg_onnx_emit_fresh(call, EG_PLAIN(ADD), pair, 2, &sum));
  return eg_onnx_emit_plain(call, EG_OP_RSQRT, &sum, 1, eg_onnx_output(call, 2));
}

egraph_status eg_onnx_import_layer_norm(const eg_onnx_call *call) {
  int64_t axis;
  double epsilon;
  EG_TRY(read_axis_and_epsilon(call, &axis, &epsilon));
  if (eg_onnx_is_used(call, 1) || eg_onnx_is_used(call, 2))
    EG_TRY(emit_statistics(call, axis, epsilon));
  uint32_t count = eg_onnx_input(call, 2).id != EG_ONNX_NONE.id ? 3 : 2;
  return eg_onnx_emit_first(call, count < call->input_count ? count : call->input_count,
                            EG_LIST(LAYER_NORM, EG_INT(LAYER_NORM_AXIS, axis),
                                    EG_FLOAT(LAYER_NORM_EPSILON, epsilon)));
}

egraph_status eg_onnx_import_rms_norm(const eg_onnx_call *call) {
  int64_t axis;
  double epsilon;
  EG_TRY(read_axis_and_epsilon(call, &axis, &epsilon));
  return eg_onnx_emit_node(call, EG_LIST(RMS_NORM, EG_INT(RMS_NORM_AXIS, axis),
                                         EG_FLOAT(RMS_NORM_EPSILON, epsilon)));
}

// Declines sets up to 20, where scale and bias are per group: that is another operator.
egraph_status eg_onnx_import_group_norm(const eg_onnx_call *call) {
  if (call->reader->opset < 21) return eg_onnx_decline("scale and bias are per group");
  EG_ONNX_INT(groups, call, "num_groups", 0);
  EG_ONNX_FLOAT(epsilon, call, "epsilon", usual_epsilon);
  return eg_onnx_emit_node(call,
                           EG_LIST(GROUP_NORM, EG_INT(GROUP_NORM_NUM_GROUPS, groups),
                                   EG_FLOAT(GROUP_NORM_EPSILON, epsilon)));
}
