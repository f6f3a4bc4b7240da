// Import of losses: the negative logarithm of the probability of the right class.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "onnx/read/build.h"

typedef enum reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN } reduction;

typedef struct loss {
  reduction reduction;
  bool has_ignored;
  int64_t ignored; // elements of this class do not count
} loss;

static egraph_status read_loss(const eg_onnx_call *call, loss *out) {
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(target, call, 1);
  EG_ONNX_STRING(text, call, "reduction", "mean");
  EG_TRY(eg_onnx_attr_int(call, "ignore_index", 0, &out->ignored));
  out->has_ignored = eg_onnx_attr(call, "ignore_index") != NULL;
  if (strcmp(text, "none") != 0 && strcmp(text, "sum") != 0 && strcmp(text, "mean") != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute 'reduction' is '%.40s'", text);
  out->reduction = text[0] == 'n' ? LOSS_NONE : text[0] == 's' ? LOSS_SUM : LOSS_MEAN;
  bool fits = x.rank >= 2 && target.rank == x.rank - 1;
  for (uint32_t i = 0; fits && i < target.rank; i++)
    fits = target.dims[i] == x.dims[i + (i > 0)];
  if (!fits)
    return EG_FAIL(EGRAPH_E_PARSE, "scores [N, C, ..] and classes [N, ..] do not fit");
  return EGRAPH_OK;
}

static eg_ref sum_of(eg_builder *b, eg_op op, eg_ref x) {
  uint32_t rank = eg_build_type(b, x)->rank;
  return eg_build_reduce(b, op, x, (UINT32_C(1) << rank) - 1, false);
}

// Emits -log_probability[n, class[n, ..], ..].
static eg_ref pick(eg_onnx_builder *write, eg_ref log_probability, eg_ref classes) {
  eg_type column = *eg_build_type(&write->b, classes), flat = column;
  memmove(column.dims + 2, column.dims + 1, (column.rank - 1) * sizeof *column.dims);
  column.dims[1] = 1;
  column.rank++;
  eg_attr_list list = EG_LIST(GATHER_ELEMENTS, EG_INT(GATHER_ELEMENTS_AXIS, 1));
  classes = eg_build_reshape(&write->b, classes, column.rank, column.dims);
  eg_ref picked =
      eg_onnx_write(write, list, (const eg_ref[]){log_probability, classes}, 2);
  picked = EG_BUILD(&write->b, EG_OP_NEG, picked);
  return eg_build_reshape(&write->b, picked, flat.rank, flat.dims);
}

// Emits the loss of log probabilities, with classes [N, ..] and optional weights [C].
static eg_ref emit_loss(eg_onnx_builder *write, const loss *how, eg_ref scores) {
  eg_builder *b = &write->b;
  egraph_dtype dtype = eg_build_type(b, scores)->dtype;
  eg_ref classes = eg_onnx_operand(write, 1), weights = eg_onnx_operand(write, 2);
  eg_ref ignored = EG_REF_NONE, weight = EG_REF_NONE;
  if (how->has_ignored) {
    b->dtype = eg_build_type(b, classes)->dtype;
    eg_ref number = eg_build_number(b, (double)how->ignored);
    ignored = EG_BUILD(b, EG_OP_EQUAL, classes, number);
    classes = EG_FORMULA(b, "(where i 0 c)", "ic", ignored, classes);
  }
  b->dtype = dtype;
  eg_ref each = pick(write, scores, classes);
  if (eg_ref_exists(weights)) weight = EG_BUILD(b, EG_OP_GATHER, weights, classes);
  if (how->has_ignored && eg_ref_exists(weights))
    weight = EG_FORMULA(b, "(where i 0 w)", "iw", ignored, weight);
  else if (how->has_ignored)
    weight = EG_FORMULA(b, "(where i 0 1)", "i", ignored);
  if (how->has_ignored) each = EG_FORMULA(b, "(where i 0 e)", "ie", ignored, each);
  if (eg_ref_exists(weight)) each = EG_BUILD(b, EG_OP_MUL, each, weight);
  if (how->reduction == LOSS_NONE) return each;
  if (how->reduction == LOSS_MEAN && !eg_ref_exists(weight))
    return sum_of(b, EG_OP_REDUCE_MEAN, each);
  each = sum_of(b, EG_OP_REDUCE_SUM, each);
  if (how->reduction == LOSS_SUM) return each;
  weight = sum_of(b, EG_OP_REDUCE_SUM, weight);
  return EG_BUILD(b, EG_OP_DIV, each, weight);
}

egraph_status eg_onnx_import_nll_loss(const eg_onnx_call *call) {
  loss how;
  EG_TRY(read_loss(call, &how));
  EG_ONNX_BUILDER(write, call);
  return eg_onnx_finish(&write, 0, emit_loss(&write, &how, eg_onnx_operand(&write, 0)));
}

egraph_status eg_onnx_import_cross_entropy(const eg_onnx_call *call) {
  loss how;
  EG_TRY(read_loss(call, &how));
  EG_ONNX_BUILDER(write, call);
  eg_ref scores = eg_onnx_operand(&write, 0);
  eg_ref log_probability = eg_onnx_write(
      &write, EG_LIST(LOG_SOFTMAX, EG_INT(LOG_SOFTMAX_AXIS, 1)), &scores, 1);
  eg_ref result = emit_loss(&write, &how, log_probability);
  EG_TRY(write.b.status);
  EG_TRY(eg_onnx_finish(&write, 0, result));
  return eg_onnx_finish(&write, 1, log_probability);
}
