// Import and export of recurrent layers. The operands of our operators are ordered by
// how often they are present; an absent operand before a present one becomes zeros.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/op.h"
#include "onnx/write/writer.h"
#include "ops/recurrent.h"

enum { MOST_OPERANDS = 8, MOST_TEXT = 128 };

/// The positions in ONNX of the operands of our operator, in our order.
typedef struct order {
  uint32_t count;
  uint32_t onnx[MOST_OPERANDS];
} order;

static order order_of(eg_op op) {
  if (op == EG_OP_LSTM) return (order){8, {0, 1, 2, 3, 5, 6, 7, 4}};
  return (order){6, {0, 1, 2, 3, 5, 4}};
}

static eg_attr_slot slot_of(eg_op op, eg_attr_slot of_rnn) {
  int base = op == EG_OP_LSTM  ? EG_A_BASE_LSTM
             : op == EG_OP_GRU ? EG_A_BASE_GRU
                               : EG_A_BASE_RNN;
  return (eg_attr_slot)(base + ((int)of_rnn - (int)EG_A_BASE_RNN));
}

// ---- activations --------------------------------------------------------------------

/// A recurrent layer's activation functions by direction and gate, with alpha and beta.
typedef struct gates {
  char text[MOST_TEXT];
  double alpha[EG_MAX_GATES], beta[EG_MAX_GATES];
  uint32_t count;
  bool has_numbers;
} gates;

/// Returns the next number if the activation takes such a parameter, else `usual`.
static double next_number(eg_floats list, uint32_t *cursor, bool takes, double usual,
                          bool *has_numbers) {
  if (!takes || *cursor >= list.len) return usual;
  double value = list.data[(*cursor)++];
  *has_numbers = *has_numbers || value != usual;
  return value;
}

static egraph_status add_gate(gates *g, const char *name, size_t length, eg_floats alpha,
                              eg_floats beta, uint32_t cursor[2]) {
  const eg_gate_info *info = eg_gate_find(name, length);
  size_t used = strlen(g->text);
  if (info == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "activation '%.*s' is not known",
                   (int)(length < 40 ? length : 40), name);
  if (g->count == EG_MAX_GATES || used + length + 2 > MOST_TEXT)
    return EG_FAIL(EGRAPH_E_PARSE, "there are too many activations");
  if (used != 0) g->text[used++] = ' ';
  memcpy(g->text + used, name, length);
  g->alpha[g->count] =
      next_number(alpha, &cursor[0], info->has_alpha, info->alpha, &g->has_numbers);
  g->beta[g->count++] =
      next_number(beta, &cursor[1], info->has_beta, info->beta, &g->has_numbers);
  if (isnan(g->alpha[g->count - 1]) || isnan(g->beta[g->count - 1]))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "activation '%s' has no numbers, and runtimes differ in what is meant",
                   info->name);
  return EGRAPH_OK;
}

static egraph_status read_gates(const eg_onnx_call *call, gates *out) {
  const Onnx__AttributeProto *names = eg_onnx_attr(call, "activations");
  eg_floats alpha, beta;
  bool present;
  uint32_t cursor[2] = {0, 0};
  *out = (gates){.count = 0};
  EG_TRY(eg_onnx_attr_floats(call, "activation_alpha", &present, &alpha));
  EG_TRY(eg_onnx_attr_floats(call, "activation_beta", &present, &beta));
  for (size_t i = 0; names != NULL && i < names->n_strings; i++)
    EG_TRY(add_gate(out, (const char *)names->strings[i].data, names->strings[i].len,
                    alpha, beta, cursor));
  if (out->count == 0 && (alpha.len != 0 || beta.len != 0))
    return eg_onnx_decline("it has numbers for activations that it does not name");
  return EGRAPH_OK;
}

/// Sets the attributes for activation functions. If both directions have the same names
/// and no unusual numbers, only one direction is stored.
static void set_gates(eg_attr_list *list, gates *g) {
  eg_attr_slot names = slot_of(list->op, EG_A_RNN_ACTIVATIONS);
  uint32_t half = eg_recurrent_activations(list->op);
  if (g->count == 0) return;
  if (!g->has_numbers && g->count == 2 * half) {
    size_t length = strlen(g->text) / 2;
    if (g->text[length] == ' ' && memcmp(g->text, g->text + length + 1, length) == 0)
      g->text[length] = '\0';
  }
  eg_attr_list_set_string(list, names, g->text);
  if (!g->has_numbers) return;
  eg_attr_list_set_floats(list, slot_of(list->op, EG_A_RNN_ACTIVATION_ALPHA), g->alpha,
                          g->count);
  eg_attr_list_set_floats(list, slot_of(list->op, EG_A_RNN_ACTIVATION_BETA), g->beta,
                          g->count);
}

// ---- import -------------------------------------------------------------------------

static egraph_status read_rest(const eg_onnx_call *call, int64_t hidden,
                               eg_attr_list *list) {
  int64_t last;
  eg_op op = list->op;
  EG_ONNX_STRING(direction, call, "direction", "forward");
  EG_ONNX_INT(layout, call, "layout", 0);
  EG_ONNX_INT(stated, call, "hidden_size", hidden);
  EG_ONNX_FLOAT(clip, call, "clip", (double)INFINITY);
  if (stated != hidden)
    return EG_FAIL(EGRAPH_E_PARSE, "hidden_size is %" PRId64 " but R has %" PRId64,
                   stated, hidden);
  if (strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0 &&
      strcmp(direction, "bidirectional") != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute 'direction' is '%.40s'", direction);
  eg_attr_list_set_symbol(list, slot_of(op, EG_A_RNN_DIRECTION), direction);
  eg_attr_list_set_int(list, slot_of(op, EG_A_RNN_LAYOUT), layout != 0);
  // Old files write 0 for no limit.
  eg_attr_list_set_float(list, slot_of(op, EG_A_RNN_CLIP),
                         clip > 0.0 ? clip : (double)INFINITY);
  if (op == EG_OP_RNN) return EGRAPH_OK;
  bool is_lstm = op == EG_OP_LSTM;
  EG_TRY(
      eg_onnx_attr_int(call, is_lstm ? "input_forget" : "linear_before_reset", 0, &last));
  eg_attr_list_set_int(
      list, is_lstm ? EG_A_LSTM_INPUT_FORGET : EG_A_GRU_LINEAR_BEFORE_RESET, last != 0);
  return EGRAPH_OK;
}

/// Returns the type that an absent operand of our operator would have.
static eg_type absent_type(const eg_attr_list *list, uint32_t operand, const eg_type *x,
                           const eg_type *r) {
  eg_attrs attrs = eg_attr_list_attrs(list);
  bool is_batch_first = eg_attr_at(&attrs, slot_of(list->op, EG_A_RNN_LAYOUT))->i != 0;
  int64_t directions = r->dims[0], rows = r->dims[1], hidden = r->dims[2];
  int64_t batch = x->dims[is_batch_first ? 0 : 1];
  if (operand == 3)
    return eg_type_of(x->dtype, 2, (const int64_t[]){directions, 2 * rows});
  if (operand == 6)
    return eg_type_of(x->dtype, 2, (const int64_t[]){directions, 3 * hidden});
  if (is_batch_first)
    return eg_type_of(x->dtype, 3, (const int64_t[]){batch, directions, hidden});
  return eg_type_of(x->dtype, 3, (const int64_t[]){directions, batch, hidden});
}

egraph_status eg_onnx_import_recurrent(const eg_onnx_call *call) {
  gates g;
  order from = order_of(call->op);
  eg_onnx_ref operands[MOST_OPERANDS], results[3];
  uint32_t count = 0;
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(r, call, 2);
  if (x.rank != 3 || r.rank != 3 || r.dims[1] > INT32_MAX || r.dims[2] > INT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "X and R need three dimensions");
  eg_attr_list list = eg_onnx_list(call->op, NULL, 0);
  EG_TRY(read_gates(call, &g));
  set_gates(&list, &g);
  EG_TRY(read_rest(call, r.dims[2], &list));
  for (uint32_t i = 0; i < from.count; i++) {
    operands[i] = eg_onnx_input(call, from.onnx[i]);
    if (operands[i].id != EG_ONNX_NONE.id) count = i + 1;
  }
  for (uint32_t i = 3; i < count; i++)
    if (operands[i].id == EG_ONNX_NONE.id) {
      eg_type zeros = absent_type(&list, i, &x, &r);
      EG_TRY(eg_onnx_emit_zeros(call, &zeros, &operands[i]));
    }
  uint32_t result_count = call->op == EG_OP_LSTM ? 3 : 2;
  for (uint32_t i = 0; i < result_count; i++)
    results[i] = eg_onnx_output(call, i);
  return eg_onnx_emit(call, &list, operands, count, results, result_count);
}

// ---- export -------------------------------------------------------------------------

/// Writes the attributes of activations that are not the default.
static egraph_status put_gates(eg_onnx_body *body, Onnx__NodeProto *node,
                               const eg_onnx_item *item) {
  eg_op op = (eg_op)item->attrs->op;
  const eg_attr *names = eg_attr_at(item->attrs, slot_of(op, EG_A_RNN_ACTIVATIONS));
  bool numbers =
      eg_attr_at(item->attrs, slot_of(op, EG_A_RNN_ACTIVATION_ALPHA))->floats.len != 0 ||
      eg_attr_at(item->attrs, slot_of(op, EG_A_RNN_ACTIVATION_BETA))->floats.len != 0;
  eg_attr usual = eg_attr_default(op, (uint16_t)(names - item->attrs->slots));
  if (!numbers && eg_attr_same(names, &usual)) return EGRAPH_OK;
  eg_recurrent r =
      eg_recurrent_of(item->attrs, &item->inputs[0], &item->inputs[1], item->input_count);
  const char *words[EG_MAX_GATES];
  double alpha[EG_MAX_GATES], beta[EG_MAX_GATES];
  uint32_t alphas = 0, betas = 0, count = (uint32_t)r.directions * r.activations;
  for (uint32_t i = 0; i < count; i++) {
    words[i] = r.gate[i].info->name;
    if (r.gate[i].info->has_alpha) alpha[alphas++] = r.gate[i].alpha;
    if (r.gate[i].info->has_beta) beta[betas++] = r.gate[i].beta;
  }
  EG_TRY(eg_onnx_put_strings(body, node, "activations", words, count));
  if (alphas != 0)
    EG_TRY(
        eg_onnx_put_floats(body, node, "activation_alpha", (eg_floats){alpha, alphas}));
  return betas == 0 ? EGRAPH_OK
                    : eg_onnx_put_floats(body, node, "activation_beta",
                                         (eg_floats){beta, betas});
}

static egraph_status put_rest(eg_onnx_body *body, Onnx__NodeProto *node,
                              const eg_onnx_item *item) {
  eg_op op = (eg_op)item->attrs->op;
  const eg_op_info *info = eg_op_info_of(op);
  double clip = eg_attr_at(item->attrs, slot_of(op, EG_A_RNN_CLIP))->f;
  int64_t layout = eg_attr_at(item->attrs, slot_of(op, EG_A_RNN_LAYOUT))->i;
  uint16_t last = (uint16_t)(info->attr_count - 1);
  EG_TRY(eg_onnx_put_int(body, node, "hidden_size", item->inputs[2].dims[2]));
  EG_TRY(eg_onnx_put_slot(body, node, &info->attrs[0], &item->attrs->slots[0]));
  if (layout != 0) EG_TRY(eg_onnx_put_int(body, node, "layout", 1));
  if (clip != (double)INFINITY) EG_TRY(eg_onnx_put_float(body, node, "clip", clip));
  if (op == EG_OP_RNN || item->attrs->slots[last].i == 0) return EGRAPH_OK;
  return eg_onnx_put_slot(body, node, &info->attrs[last], &item->attrs->slots[last]);
}

egraph_status eg_onnx_write_recurrent(eg_onnx_body *body, const eg_onnx_item *item) {
  eg_op op = (eg_op)item->attrs->op;
  order from = order_of(op);
  const char *names[MOST_OPERANDS];
  uint32_t count = 0;
  Onnx__NodeProto *node;
  for (uint32_t i = 0; i < MOST_OPERANDS; i++)
    names[i] = "";
  for (uint32_t i = 0; i < item->input_count; i++) {
    names[from.onnx[i]] = item->input_names[i];
    if (from.onnx[i] + 1 > count) count = from.onnx[i] + 1;
  }
  EG_TRY(eg_onnx_put_item(body, eg_op_info_of(op)->onnx, names, count, item, &node));
  EG_TRY(put_gates(body, node, item));
  return put_rest(body, node, item);
}
