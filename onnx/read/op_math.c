// Import of pointwise operators and softmax.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/build.h"

static const double PI = 3.14159265358979323846;

// Emits ((a + b) + c) + d; all sums but the last are intermediate results.
static egraph_status emit_chain(const eg_onnx_call *call, eg_op op, eg_onnx_ref result) {
  if (call->input_count == 0) return EG_FAIL(EGRAPH_E_PARSE, "there are no operands");
  if (call->input_count == 1)
    return eg_onnx_emit_plain(call, EG_OP_IDENTITY, call->inputs, 1, result);
  eg_onnx_ref pair[2] = {call->inputs[0], EG_ONNX_NONE};
  for (uint32_t i = 1; i < call->input_count; i++) {
    eg_onnx_ref sum = result;
    if (i + 1 < call->input_count) EG_TRY(eg_onnx_fresh(call, &sum));
    pair[1] = call->inputs[i];
    EG_TRY(eg_onnx_emit_plain(call, op, pair, 2, sum));
    pair[0] = sum;
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_chain(const eg_onnx_call *call) {
  return emit_chain(call, call->op, eg_onnx_output(call, 0));
}

egraph_status eg_onnx_import_mean(const eg_onnx_call *call) {
  eg_onnx_ref pair[2];
  EG_ONNX_TYPE(type, call, 0);
  if (call->input_count == 1) return eg_onnx_import_chain(call);
  EG_TRY(eg_onnx_fresh(call, &pair[0]));
  EG_TRY(emit_chain(call, EG_OP_ADD, pair[0]));
  EG_TRY(eg_onnx_scalar(call, type.dtype, call->input_count, &pair[1]));
  return eg_onnx_emit_plain(call, EG_OP_DIV, pair, 2, eg_onnx_output(call, 0));
}

// ---- clip ---------------------------------------------------------------------------

// Emits a clip as min(max(x, low), high), where a bound is computed or x has integers.
static egraph_status emit_clip_chain(const eg_onnx_call *call) {
  eg_onnx_ref low = eg_onnx_input(call, 1), high = eg_onnx_input(call, 2);
  eg_onnx_ref pair[2] = {eg_onnx_input(call, 0), low}, result = eg_onnx_output(call, 0);
  bool has_low = low.id != EG_ONNX_NONE.id, has_high = high.id != EG_ONNX_NONE.id;
  if (!has_low && !has_high)
    return eg_onnx_emit_plain(call, EG_OP_IDENTITY, pair, 1, result);
  if (has_low) {
    eg_onnx_ref floor = result;
    if (has_high) EG_TRY(eg_onnx_fresh(call, &floor));
    EG_TRY(eg_onnx_emit_plain(call, EG_OP_MAX, pair, 2, floor));
    pair[0] = floor;
  }
  pair[1] = high;
  return has_high ? eg_onnx_emit_plain(call, EG_OP_MIN, pair, 2, result) : EGRAPH_OK;
}

// Reads a constant bound, an attribute before opset 11, else an operand. *out_constant is
// false if the operand is computed.
static egraph_status read_bound(const eg_onnx_call *call, const char *name,
                                uint32_t operand, double fallback, double *out,
                                bool *out_constant) {
  EG_TRY(eg_onnx_attr_float(call, name, fallback, out));
  egraph_status status = eg_onnx_const_double(
      call, operand, operand == 1 ? "bound 'min'" : "bound 'max'", true, out);
  *out_constant = status != EGRAPH_E_UNSUPPORTED;
  return *out_constant ? status : EGRAPH_OK;
}

egraph_status eg_onnx_import_clip(const eg_onnx_call *call) {
  double low, high;
  bool low_known, high_known;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(read_bound(call, "min", 1, -INFINITY, &low, &low_known));
  EG_TRY(read_bound(call, "max", 2, INFINITY, &high, &high_known));
  if (!low_known || !high_known || !eg_dtype_is_float(x.dtype))
    return emit_clip_chain(call);
  return eg_onnx_emit_first(
      call, 1, EG_LIST(CLIP, EG_FLOAT(CLIP_MIN, low), EG_FLOAT(CLIP_MAX, high)));
}

// ---- casts and the like -------------------------------------------------------------

egraph_status eg_onnx_import_cast(const eg_onnx_call *call) {
  egraph_dtype dtype;
  EG_ONNX_INT(to, call, "to", 0);
  if (!eg_onnx_find_dtype(to, &dtype))
    return eg_onnx_decline("the element type is not supported");
  return eg_onnx_emit_first(call, 1, EG_LIST(CAST, EG_DTYPE(CAST_TO, dtype)));
}

egraph_status eg_onnx_import_cast_like(const eg_onnx_call *call) {
  EG_ONNX_TYPE(like, call, 1);
  return eg_onnx_emit_first(call, 1, EG_LIST(CAST, EG_DTYPE(CAST_TO, like.dtype)));
}

// Imports a dropout as the identity, which it is in inference; declines a used mask.
egraph_status eg_onnx_import_dropout(const eg_onnx_call *call) {
  eg_ints training;
  bool present;
  if (eg_onnx_is_used(call, 1)) return eg_onnx_decline("the mask of a dropout is used");
  EG_TRY(eg_onnx_const_ints(call, 2, &present, &training));
  if (present && (training.len != 1 || training.data[0] != 0))
    return eg_onnx_decline("dropout in training");
  eg_onnx_ref input = eg_onnx_input(call, 0);
  return eg_onnx_emit_plain(call, EG_OP_IDENTITY, &input, 1, eg_onnx_output(call, 0));
}

// Imports a remainder. From operator set 28 on, it may have the divisor's sign for
// floating point, too.
egraph_status eg_onnx_import_mod(const eg_onnx_call *call) {
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_INT(fmod, call, "fmod", 0);
  if (fmod == 0 && eg_dtype_is_float(x.dtype) && call->reader->opset < 28)
    return eg_onnx_decline("a remainder of floating point with the divisor's sign");
  return eg_onnx_emit_node(call, EG_LIST(MOD, EG_INT(MOD_FMOD, fmod)));
}

// ---- softmax ------------------------------------------------------------------------

static eg_attr_list softmax_list(eg_op op, int64_t axis) {
  return op == EG_OP_SOFTMAX ? EG_LIST(SOFTMAX, EG_INT(SOFTMAX_AXIS, axis))
                             : EG_LIST(LOG_SOFTMAX, EG_INT(LOG_SOFTMAX_AXIS, axis));
}

// Emits softmax as before opset 13, where the input counts as a matrix: [dims before
// axis, dims from axis on].
static egraph_status emit_matrix_softmax(const eg_onnx_call *call, int64_t axis,
                                         const eg_type *x) {
  eg_attr_list flatten = EG_LIST(FLATTEN, EG_INT(FLATTEN_AXIS, axis));
  eg_onnx_ref input = eg_onnx_input(call, 0), matrix, soft;
  EG_TRY(eg_onnx_emit_fresh(call, flatten, &input, 1, &matrix));
  EG_TRY(eg_onnx_emit_fresh(call, softmax_list(call->op, 1), &matrix, 1, &soft));
  return eg_onnx_emit_reshape(call, soft, x->dims, x->rank, eg_onnx_output(call, 0));
}

egraph_status eg_onnx_import_softmax(const eg_onnx_call *call) {
  int64_t axis;
  bool old;
  EG_ONNX_TYPE(x, call, 0);
  EG_TRY(eg_onnx_matrix_axis(call, "softmax", x.rank, &old, &axis));
  if (old && axis + 1 != (int64_t)x.rank) return emit_matrix_softmax(call, axis, &x);
  return eg_onnx_emit_first(call, 1, softmax_list(call->op, axis));
}

/// Imports Gelu. For float64, ONNX and runtimes compute the approximation with
/// coefficients rounded to float32: results differ by 6e-9 from `gelu`, whose
/// coefficients are exact. For float32, runtimes have kernels with exact coefficients.
egraph_status eg_onnx_import_gelu(const eg_onnx_call *call) {
  static const char text[] = "(mul (mul 0.5 x) (add 1 (tanh (mul b (add x (mul a (mul "
                             "(square x) x)))))))";
  const double cubic = (double)0.044715F, scale = sqrt((double)(float)(2 / PI));
  EG_ONNX_STRING(approximate, call, "approximate", "none");
  EG_ONNX_TYPE(x, call, 0);
  if (x.dtype != EGRAPH_FLOAT64 || strcmp(approximate, "tanh") != 0)
    return eg_onnx_import_same(call);
  EG_ONNX_BUILDER(write, call);
  const eg_ref values[] = {eg_onnx_operand(&write, 0), eg_build_number(&write.b, cubic),
                           eg_build_number(&write.b, scale)};
  return eg_onnx_finish(&write, 0, eg_build_formula(&write.b, text, "xab", values));
}

// ---- formulas (read/formulas.def) -----------------------------------------------------

typedef struct formula {
  const char *name, *text, *attributes;
  double defaults[2];
} formula;

static const formula formulas[] = {
#define EG_ONNX_FORMULA(NAME, TEXT, ATTRIBUTES, A, B) {NAME, TEXT, ATTRIBUTES, {A, B}},
#include "onnx/read/formulas.def"
};

static const formula *formula_of(const char *name) {
  for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
    if (strcmp(formulas[i].name, name) == 0) return &formulas[i];
  return NULL;
}

// Reads the value of attribute number `index` of the list, or its default.
static egraph_status read_number(const eg_onnx_call *call, const formula *f,
                                 uint32_t index, double *out) {
  char name[16];
  const char *at = f->attributes;
  for (uint32_t i = 0; i < index && *at != '\0'; i++)
    at += strcspn(at, " ") + (at[strcspn(at, " ")] != '\0');
  size_t length = strcspn(at, " ");
  assert(length < sizeof name);
  memcpy(name, at, length);
  name[length] = '\0';
  *out = f->defaults[index];
  return length == 0 ? EGRAPH_OK : eg_onnx_attr_float(call, name, *out, out);
}

egraph_status eg_onnx_import_formula(const eg_onnx_call *call) {
  const formula *f = formula_of(call->node->op_type);
  eg_ref values[4] = {EG_REF_NONE, EG_REF_NONE, EG_REF_NONE, EG_REF_NONE};
  assert(f != NULL);
  EG_ONNX_TYPE(x, call, 0);
  if (eg_formula_uses(f->text, 'y')) EG_TRY(eg_onnx_input_type(call, 1, &x));
  if (!eg_dtype_is_float(x.dtype)) return eg_onnx_decline("it is not of floating point");
  EG_ONNX_BUILDER(write, call);
  for (uint32_t i = 0; i < 2; i++) {
    double number;
    EG_TRY(read_number(call, f, i, &number));
    values[i] = eg_onnx_operand(&write, i);
    if (eg_formula_uses(f->text, "ab"[i]))
      values[2 + i] = eg_build_number(&write.b, number);
  }
  return eg_onnx_finish(&write, 0, eg_build_formula(&write.b, f->text, "xyab", values));
}
