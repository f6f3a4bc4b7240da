// Recurrent layers: types and factors. Sequences of a batch are independent; a step needs
// all numbers of the step before.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "ops/recurrent.h"
#include "ops/typing.h"

enum { BIDIRECTIONAL = 2 }; // the order of the symbols

// ---- activations --------------------------------------------------------------------

#define GATE_FUNCTION(ID, NAME, HAS_ALPHA, HAS_BETA, ALPHA, BETA, VALUE)                 \
  static double at_##ID(double x, double alpha, double beta) {                           \
    (void)alpha, (void)beta;                                                             \
    return VALUE;                                                                        \
  }
EG_GATE_LIST(GATE_FUNCTION)

const eg_gate_info *eg_gate_find(const char *name, size_t length) {
#define GATE_ROW(ID, NAME, HAS_ALPHA, HAS_BETA, ALPHA, BETA, VALUE)                      \
  {NAME, HAS_ALPHA, HAS_BETA, ALPHA, BETA, at_##ID},
  static const eg_gate_info gates[] = {EG_GATE_LIST(GATE_ROW)};
  for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
    if (strlen(gates[i].name) == length && memcmp(gates[i].name, name, length) == 0)
      return &gates[i];
  return NULL;
}

uint32_t eg_recurrent_activations(eg_op op) {
  return op == EG_OP_LSTM ? 3 : op == EG_OP_GRU ? 2 : 1;
}

static eg_floats numbers_of(const eg_attrs *attrs, eg_attr_slot slot) {
  return attrs->slots[(int)slot - (int)EG_A_BASE_RNN].floats;
}

/// Reads the activation functions, in the order of the names. Returns their number; 0 for
/// an unknown name, or too many names.
static uint32_t read_gates(const eg_attrs *attrs, eg_activation out[EG_MAX_GATES]) {
  const char *at = attrs->slots[EG_A_RNN_ACTIVATIONS - EG_A_BASE_RNN].text;
  eg_floats alpha = numbers_of(attrs, EG_A_RNN_ACTIVATION_ALPHA);
  eg_floats beta = numbers_of(attrs, EG_A_RNN_ACTIVATION_BETA);
  uint32_t count = 0;
  while (*at != '\0') {
    size_t length = strcspn(at, " ");
    const eg_gate_info *info = eg_gate_find(at, length);
    if (info == NULL || count == EG_MAX_GATES) return 0;
    out[count] =
        (eg_activation){.info = info,
                        .alpha = count < alpha.len ? alpha.data[count] : info->alpha,
                        .beta = count < beta.len ? beta.data[count] : info->beta};
    count++;
    at += length + (at[length] == ' ');
  }
  return count;
}

// ---- the layer ----------------------------------------------------------------------

static int operand_or_none(uint32_t operand, uint32_t count) {
  return operand < count ? (int)operand : EG_ABSENT;
}

eg_recurrent eg_recurrent_of(const eg_attrs *attrs, const eg_type *x, const eg_type *w,
                             uint32_t count) {
  bool is_lstm = attrs->op == EG_OP_LSTM;
  eg_recurrent r = {.gates = is_lstm                  ? 4
                             : attrs->op == EG_OP_GRU ? 3
                                                      : 1,
                    .activations = eg_recurrent_activations((eg_op)attrs->op),
                    .is_lstm = is_lstm,
                    .bias = operand_or_none(3, count),
                    .h = operand_or_none(4, count),
                    .c = is_lstm ? operand_or_none(5, count) : EG_ABSENT,
                    .peepholes = is_lstm ? operand_or_none(6, count) : EG_ABSENT,
                    .lengths = operand_or_none(is_lstm ? 7 : 5, count)};
  r.is_batch_first = attrs->slots[EG_A_RNN_LAYOUT - EG_A_BASE_RNN].i != 0;
  r.directions =
      attrs->slots[EG_A_RNN_DIRECTION - EG_A_BASE_RNN].i == BIDIRECTIONAL ? 2 : 1;
  r.steps = x->dims[r.is_batch_first ? 1 : 0];
  r.batch = x->dims[r.is_batch_first ? 0 : 1];
  r.inputs = x->dims[2];
  r.hidden = w->dims[1] / r.gates;
  uint32_t given = read_gates(attrs, r.gate);
  for (uint32_t i = given; given != 0 && i < r.directions * r.activations; i++)
    r.gate[i] = r.gate[i - given];
  return r;
}

static egraph_status check_gates(const eg_typing *node, const eg_recurrent *r) {
  eg_activation gates[EG_MAX_GATES];
  uint32_t count = read_gates(node->attrs, gates);
  uint32_t all = (uint32_t)r->directions * r->activations;
  uint32_t alphas = numbers_of(node->attrs, EG_A_RNN_ACTIVATION_ALPHA).len;
  uint32_t betas = numbers_of(node->attrs, EG_A_RNN_ACTIVATION_BETA).len;
  if (count != r->activations && count != all)
    return eg_typing_fail(
        node, "attribute activations names %u functions that are known; it needs %u",
        count, all);
  if ((alphas != 0 && alphas != count) || (betas != 0 && betas != count))
    return eg_typing_fail(
        node,
        "activation_alpha and activation_beta have a number per activation, or none");
  for (uint32_t i = 0; i < count; i++)
    if (isnan(gates[i].alpha) || isnan(gates[i].beta))
      return eg_typing_fail(node, "activation %s needs its numbers", gates[i].info->name);
  return EGRAPH_OK;
}

static egraph_status check_shape(const eg_typing *node, int operand, eg_type wanted) {
  if (operand == EG_ABSENT) return EGRAPH_OK;
  const eg_type *type = &node->inputs[operand];
  if (eg_type_same_shape(type, &wanted) && type->dtype == wanted.dtype) return EGRAPH_OK;
  return eg_typing_fail(node, "operand %d is %s; it must be %s", operand,
                        eg_type_text_of(type).text, eg_type_text_of(&wanted).text);
}

static eg_type state_type(const eg_recurrent *r, egraph_dtype dtype) {
  if (r->is_batch_first)
    return eg_type_of(dtype, 3, (const int64_t[]){r->batch, r->directions, r->hidden});
  return eg_type_of(dtype, 3, (const int64_t[]){r->directions, r->batch, r->hidden});
}

static egraph_status check_operands(const eg_typing *node, const eg_recurrent *r) {
  egraph_dtype dtype = node->inputs[0].dtype;
  int64_t rows = node->inputs[1].dims[1];
  eg_type state = state_type(r, dtype);
  EG_TRY(check_shape(
      node, 1, eg_type_of(dtype, 3, (const int64_t[]){r->directions, rows, r->inputs})));
  EG_TRY(check_shape(
      node, 2, eg_type_of(dtype, 3, (const int64_t[]){r->directions, rows, r->hidden})));
  EG_TRY(check_shape(node, r->bias,
                     eg_type_of(dtype, 2, (const int64_t[]){r->directions, 2 * rows})));
  EG_TRY(check_shape(node, r->h, state));
  EG_TRY(check_shape(node, r->c, state));
  EG_TRY(
      check_shape(node, r->peepholes,
                  eg_type_of(dtype, 2, (const int64_t[]){r->directions, 3 * r->hidden})));
  return check_shape(node, r->lengths,
                     eg_type_of(EGRAPH_INT32, 1, (const int64_t[]){r->batch}));
}

egraph_status eg_infer_recurrent(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *w = &node->inputs[1];
  if (x->rank != 3 || w->rank != 3)
    return eg_typing_fail(node, "x %s and w %s need 3 dimensions",
                          eg_type_text_of(x).text, eg_type_text_of(w).text);
  eg_recurrent r = eg_recurrent_of(node->attrs, x, w, node->count);
  if (r.hidden == 0 || w->dims[1] % r.gates != 0 || w->dims[1] > INT32_MAX)
    return eg_typing_fail(node, "dimension 1 of w %s is no multiple of %u gates",
                          eg_type_text_of(w).text, r.gates);
  double clip = node->attrs->slots[EG_A_RNN_CLIP - EG_A_BASE_RNN].f;
  if (!(clip > 0.0)) return eg_typing_fail(node, "clip is %g; it must be positive", clip);
  EG_TRY(check_gates(node, &r));
  EG_TRY(check_operands(node, &r));
  int64_t first[4] = {r.steps, r.directions, r.batch, r.hidden};
  int64_t batch_first[4] = {r.batch, r.steps, r.directions, r.hidden};
  out[0] = eg_type_of(x->dtype, 4, r.is_batch_first ? batch_first : first);
  out[1] = state_type(&r, x->dtype);
  if (r.is_lstm) out[2] = out[1];
  return EGRAPH_OK;
}

static void index_operand(eg_factor *factor, int operand, int dim) {
  if (operand != EG_ABSENT) factor->input_dim[operand] = (int8_t)dim;
}

static void index_states(const eg_recurrent *r, eg_factor *factor, int dim) {
  index_operand(factor, r->h, dim);
  index_operand(factor, r->c, dim);
}

void eg_factors_recurrent(const eg_typing *node, eg_factors *out) {
  eg_recurrent r =
      eg_recurrent_of(node->attrs, &node->inputs[0], &node->inputs[1], node->count);
  int state = r.is_batch_first ? 0 : 1;
  eg_factor *batch = eg_factors_add(out, EG_FACTOR_PARALLEL, r.batch);
  batch->input_dim[0] = (int8_t)state;
  index_states(&r, batch, state);
  index_operand(batch, r.lengths, 0);
  batch->output_dim[0] = r.is_batch_first ? 0 : 2;
  eg_factor *step = eg_factors_add(out, EG_FACTOR_BLOCKED, r.steps);
  step->input_dim[0] = r.is_batch_first ? 1 : 0;
  step->output_dim[0] = r.is_batch_first ? 1 : 0;
  eg_factor *direction = eg_factors_add(out, EG_FACTOR_BLOCKED, r.directions);
  direction->output_dim[0] = r.is_batch_first ? 2 : 1;
  eg_factor *hidden = eg_factors_add(out, EG_FACTOR_BLOCKED, r.hidden);
  hidden->input_dim[2] = 2;
  hidden->output_dim[0] = 3;
  index_states(&r, direction, 1 - state);
  index_states(&r, hidden, 2);
  for (uint32_t i = 1; i < node->result_count; i++) {
    batch->output_dim[i] = (int8_t)state;
    direction->output_dim[i] = (int8_t)(1 - state);
    hidden->output_dim[i] = 2;
  }
  // Adds one factor for the sum that gives an element of a gate, and one for the gates.
  eg_factor *sum = eg_factors_add(out, EG_FACTOR_BLOCKED, r.inputs + r.hidden);
  sum->input_dim[0] = sum->input_dim[1] = 2;
  eg_factor *gates = eg_factors_add(out, EG_FACTOR_BLOCKED, r.gates);
  const int of_gates[] = {1, 2, r.bias, r.peepholes};
  for (size_t i = 0; i < sizeof of_gates / sizeof *of_gates; i++) {
    index_operand(direction, of_gates[i], 0);
    index_operand(gates, of_gates[i], 1);
  }
}
