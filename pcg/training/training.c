// Builds a training step: a copy of the forward graph with its trained weights as inputs,
// the loss, the gradients, the accumulators, the optimizer.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/training.h"

#include <inttypes.h>
#include <string.h>

#include "base/owner.h"
#include "ops/build.h"
#include "ops/typing.h"
#include "pcg/graph/graph_internal.h"
#include "pcg/graph/node_cons.h"
#include "pcg/training/gradient.h"

// ---- names --------------------------------------------------------------------------

EG_NAME_DEFINE(eg_loss, eg_loss_name, EG_LOSS_LIST)
EG_FIND_DEFINE(eg_loss, eg_loss_find, EG_LOSS_LIST)
EG_NAME_DEFINE(eg_optimizer, eg_optimizer_name, EG_OPTIMIZER_LIST)
EG_FIND_DEFINE(eg_optimizer, eg_optimizer_find, EG_OPTIMIZER_LIST)
EG_NAME_DEFINE(eg_precision, eg_precision_name, EG_PRECISION_LIST)
EG_FIND_DEFINE(eg_precision, eg_precision_find, EG_PRECISION_LIST)

static const char COPY[] = "copy";

egraph_status eg_training_options_check(const eg_graph *forward,
                                        const eg_training_options *o) {
  if (o->output >= eg_graph_output_count(forward))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the loss is to be taken of output %" PRIu32
                   ", but the graph has %" PRIu32 " outputs; count from 0",
                   o->output, eg_graph_output_count(forward));
  if (o->micro_batches == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "micro_batches is 0; the least is 1");
  if ((unsigned)o->loss >= EG_LOSS_COUNT ||
      (unsigned)o->optimizer >= EG_OPTIMIZER_COUNT ||
      (unsigned)o->precision >= EG_PRECISION_COUNT)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no loss %d, no optimizer %d or no precision %d",
                   (int)o->loss, (int)o->optimizer, (int)o->precision);
  return EGRAPH_OK;
}

// Optimizers compute in the element type of each parameter (gradients in bfloat16 are
// cast to it): by formulas, or by one node for each parameter (Adam). The factor of
// clipping is computed in float64.

// ---- the update -----------------------------------------------------------------------

#define NONE UINT32_MAX

/// The formulas of an optimizer. Variables: w the weight, g its gradient, s the state
/// before and m after the step, l the learning rate, u momentum. A rule without formulas
/// is Adam: one node for each weight.
typedef struct optimizer_rule {
  uint32_t states;
  const char *state_name[EG_MAX_OPTIMIZER_STATES];
  const char *state, *weight; // after the step
  bool counts;                // steps
  bool separate;              // weight decay is not added to the gradient
} optimizer_rule;

#define ADAM_STATES .states = 2, .state_name = {"m", "v"}, .counts = true

static const optimizer_rule rules[EG_OPTIMIZER_COUNT] = {
    [EG_OPTIMIZER_SGD] = {.weight = "(sub w (mul l g))"},
    [EG_OPTIMIZER_MOMENTUM] = {.states = 1,
                               .state_name = {"velocity"},
                               .state = "(add (mul u s) g)",
                               .weight = "(sub w (mul l m))"},
    [EG_OPTIMIZER_ADAM] = {ADAM_STATES},
    [EG_OPTIMIZER_ADAMW] = {ADAM_STATES, .separate = true},
};

/// The numbers that the updates of all weights of an element type have in common.
typedef enum common_part {
  COMMON_SHARE,    // 1 / micro-batches
  COMMON_FACTOR,   // of clipping
  COMMON_DECAY,    // of weights
  COMMON_MOMENTUM, // of the velocity
  COMMON_RATE      // of learning
} common_part;
enum { COMMON_NORM = 0, COMMON_OF_DTYPE = 1 }; // variants of stamps

typedef struct updater {
  eg_node_cons *cons;
  eg_builder b;
  const eg_graph *forward;
  const eg_training_options *options;
  eg_training *training;
} updater;

/// Emits `number`, or casts `x` if it exists, to the builder's element type.
static eg_ref emit_common(updater *u, common_part part, double number, eg_ref x) {
  eg_stamp before = u->cons->stamp;
  u->cons->stamp = (eg_stamp){EG_STAMP_OF_NONE, EG_MADE_COMMON,
                              COMMON_OF_DTYPE + (uint32_t)u->b.dtype, part};
  eg_ref made = eg_ref_exists(x) ? eg_build_cast(&u->b, x, u->b.dtype)
                                 : eg_build_number(&u->b, number);
  u->cons->stamp = before;
  return made;
}

/// Returns the gradient of a parameter, with the type of the weight: the mean over the
/// step's micro-batches.
static eg_ref read_gradient(updater *u, const eg_training_param *param) {
  bool is_one = u->training->micro_batches == 1;
  eg_ref sum = eg_ref_of(is_one ? param->gradient : param->sum.exit);
  u->b.dtype = eg_build_type(&u->b, eg_ref_of(param->value.entry))->dtype;
  sum = eg_build_cast(&u->b, sum, u->b.dtype);
  if (is_one) return sum;
  double number = 1.0 / u->training->micro_batches;
  eg_ref share = emit_common(u, COMMON_SHARE, number, EG_REF_NONE);
  return EG_BUILD(&u->b, EG_OP_MUL, sum, share);
}

/// Emits the sum of squares of a gradient, as float64.
static eg_ref emit_square(updater *u, const eg_training_param *param) {
  eg_builder *b = &u->b;
  eg_ref g = read_gradient(u, param);
  eg_ref squares = EG_BUILD(b, EG_OP_SQUARE, g);
  uint32_t rank = eg_build_type(b, g)->rank, all = (UINT32_C(1) << rank) - 1;
  eg_ref sum = eg_build_reduce(b, EG_OP_REDUCE_SUM, squares, all, false);
  return eg_build_cast(b, sum, EGRAPH_FLOAT64);
}

/// Emits the gradient that the optimizer reads, without weight decay.
static eg_ref emit_final(updater *u, const eg_training_param *param, eg_ref clip) {
  eg_ref g = read_gradient(u, param);
  if (!eg_ref_exists(clip)) return g;
  u->b.dtype = eg_build_type(&u->b, g)->dtype;
  eg_ref factor = emit_common(u, COMMON_FACTOR, 0, clip);
  return EG_BUILD(&u->b, EG_OP_MUL, g, factor);
}

/// Appends the parameters in the order in which the forward graph reads them. `param_of`:
/// scratch, [forward values] parameter; NONE: none, or already appended.
static egraph_status list_params(const updater *u, eg_u32s *param_of, eg_u32s *out) {
  EG_TRY(eg_u32s_fill(param_of, eg_graph_value_count(u->forward), NONE));
  for (uint32_t p = 0; p < u->training->param_count; p++)
    param_of->data[u->training->params[p].weight.id] = p;
  for (uint32_t n = 0; n < eg_graph_node_count(u->forward); n++) {
    eg_graph_node_info node = eg_graph_node_at(u->forward, (eg_graph_node){n});
    for (uint32_t i = 0; i < node.input_count; i++) {
      uint32_t *param = &param_of->data[node.inputs[i].id];
      if (*param != NONE) EG_TRY(eg_u32s_push(out, *param));
      *param = NONE;
    }
  }
  for (uint32_t v = 0; v < param_of->len; v++) // weights that no node reads: outputs
    if (param_of->data[v] != NONE) EG_TRY(eg_u32s_push(out, param_of->data[v]));
  return EGRAPH_OK;
}

/// Emits the factor of clipping: limit / max(norm of all gradients, limit).
static eg_ref emit_factor(updater *u, const eg_u32s *params) {
  eg_builder *b = &u->b;
  eg_ref total = EG_REF_NONE;
  for (size_t i = 0; i < params->len; i++) {
    const eg_training_param *param = &u->training->params[params->data[i]];
    eg_node_cons_stamp(u->cons, param->weight.id, EG_MADE_NORM);
    eg_ref square = emit_square(u, param);
    total = i == 0 ? square : EG_BUILD(b, EG_OP_ADD, total, square);
  }
  b->dtype = EGRAPH_FLOAT64;
  u->cons->stamp = (eg_stamp){EG_STAMP_OF_NONE, EG_MADE_COMMON, COMMON_NORM, 0};
  eg_ref c = eg_build_number(b, u->options->clip_norm);
  return EG_FORMULA(b, "(div c (max c (sqrt n)))", "cn", c, total);
}

/// Emits the factor of clipping. The sum of squares follows the order of layers, not the
/// order of weights in a file, so that like layers have like parts of the sum.
static egraph_status emit_clip(updater *u, eg_ref *out) {
  EG_LOCAL(eg_u32s, param_of, u->training->alloc);
  EG_LOCAL(eg_u32s, params, u->training->alloc);
  *out = EG_REF_NONE;
  if (u->options->clip_norm <= 0) return EGRAPH_OK;
  EG_TRY(list_params(u, &param_of, &params));
  *out = emit_factor(u, &params);
  return EGRAPH_OK;
}

static void emit_adam(updater *u, eg_ref g, eg_training_param *param) {
  const eg_training_options *options = u->options;
  const eg_ref inputs[] = {
      eg_ref_of(param->value.entry),         eg_ref_of(param->state[0].entry),
      eg_ref_of(param->state[1].entry),      g,
      eg_ref_of(u->training->learning_rate), eg_ref_of(u->training->step)};
  const eg_attr slots[] = {
      {.kind = EG_ATTR_FLOAT, .f = options->beta1},
      {.kind = EG_ATTR_FLOAT, .f = options->beta2},
      {.kind = EG_ATTR_FLOAT, .f = options->epsilon},
      {.kind = EG_ATTR_FLOAT, .f = options->weight_decay},
      {.kind = EG_ATTR_INT, .i = rules[options->optimizer].separate},
  };
  eg_ref results[] = {EG_REF_NONE, EG_REF_NONE, EG_REF_NONE};
  eg_build_results(&u->b, EG_OP_ADAM_UPDATE, slots, inputs, 6, results);
  param->value.exit = eg_value_of(results[0]);
  param->state[0].exit = eg_value_of(results[1]);
  param->state[1].exit = eg_value_of(results[2]);
}

static void emit_formulas(updater *u, eg_ref g, eg_training_param *param) {
  const eg_training_options *options = u->options;
  const optimizer_rule *rule = &rules[options->optimizer];
  eg_builder *b = &u->b;
  eg_ref w = eg_ref_of(param->value.entry), m = EG_REF_NONE;
  b->dtype = eg_build_type(b, w)->dtype;
  if (options->weight_decay != 0) {
    eg_ref d = emit_common(u, COMMON_DECAY, options->weight_decay, EG_REF_NONE);
    g = EG_FORMULA(b, "(add g (mul d w))", "gdw", g, d, w);
  }
  if (rule->state != NULL) {
    eg_ref k = emit_common(u, COMMON_MOMENTUM, options->momentum, EG_REF_NONE);
    eg_ref s = eg_ref_of(param->state[0].entry);
    m = EG_FORMULA(b, rule->state, "usg", k, s, g);
    param->state[0].exit = eg_value_of(m);
  }
  eg_ref l = emit_common(u, COMMON_RATE, 0, eg_ref_of(u->training->learning_rate));
  param->value.exit = eg_value_of(EG_FORMULA(b, rule->weight, "wlgm", w, l, g, m));
}

/// Emits the next copy of a weight in bfloat16, where the precision keeps copies.
static void emit_copy(updater *u, eg_training_param *param) {
  eg_training_state *copy = &param->state[rules[u->options->optimizer].states];
  if (copy->entry.id == EG_VALUE_NONE.id) return;
  copy->exit =
      eg_value_of(eg_build_cast(&u->b, eg_ref_of(param->value.exit), EGRAPH_BFLOAT16));
}

/// Emits the update phase: sets value.exit and state[].exit of every parameter
/// from gradient, or sum.exit if there is one, and the step's inputs. Fails
/// with EGRAPH_E_MEMORY.
static egraph_status emit_update(eg_node_cons *cons, const eg_graph *forward,
                                 const eg_training_options *options,
                                 eg_training *training) {
  updater u = {.cons = cons,
               .b = eg_node_cons_builder(cons),
               .forward = forward,
               .options = options,
               .training = training};
  eg_ref clip;
  EG_TRY(emit_clip(&u, &clip));
  for (uint32_t i = 0; i < training->param_count; i++) {
    eg_training_param *param = &training->params[i];
    eg_node_cons_stamp(cons, param->weight.id, EG_MADE_UPDATE);
    eg_ref g = emit_final(&u, param, clip);
    if (rules[options->optimizer].weight == NULL)
      emit_adam(&u, g, param);
    else
      emit_formulas(&u, g, param);
    emit_copy(&u, param);
  }
  return u.b.status;
}

// ---- building -----------------------------------------------------------------------

typedef struct maker {
  const eg_graph *forward;
  const eg_training_options *options;
  eg_training *out;
  eg_node_cons cons;
  eg_builder b;
  bool *needed;          // [forward values] the loss depends on the value
  eg_weight_fate *fates; // [forward values]
  eg_value *map;         // [forward values] value in the step that computing reads
  eg_value *entry;       // [forward values] input for a trained weight
  eg_values operands, results;
  eg_values sent_back; // forward inputs whose cotangents are outputs
  eg_text text;
  eg_arena rows; // memory until the step is built
} maker;

static egraph_status add_input(maker *m, const char *name, const eg_type *type,
                               eg_value *out) {
  EG_TRY(eg_graph_add_input(m->out->graph, name, type, out));
  return eg_node_cons_note(&m->cons, 1);
}

/// Sets m->text to the name of an optimizer state, such as "w.m".
static egraph_status write_state_name(maker *m, const char *of, const char *suffix) {
  eg_text_clear(&m->text);
  return eg_text_printf(&m->text, "%s.%s", of, suffix);
}

/// Adds an input "w.suffix" with the sizes of the input `of`, "w".
static egraph_status add_entry(maker *m, eg_value of, const char *suffix,
                               egraph_dtype dtype, eg_value *out) {
  const eg_value_info *info = eg_graph_value(m->out->graph, of);
  eg_type type = info->type;
  type.dtype = dtype;
  EG_TRY(write_state_name(m, info->name, suffix));
  return add_input(m, eg_text_of(&m->text), &type, out);
}

static bool is_lowered(const maker *m) {
  return m->options->precision != EG_PRECISION_MODEL;
}

static bool keeps_copies(const maker *m) {
  return m->options->precision >= EG_PRECISION_BF16_WEIGHTS;
}

// ---- forward ------------------------------------------------------------------------

static bool is_trained(const maker *m, uint32_t v) {
  return m->fates[v] == EG_FATE_TRAINED;
}

static egraph_dtype dtype_of(const maker *m, eg_value value) {
  return eg_graph_value(m->out->graph, value)->type.dtype;
}

static egraph_status copy_forward_leaf(maker *m, uint32_t id) {
  const eg_value_info *info = eg_graph_value(m->forward, (eg_value){id});
  eg_value value;
  eg_node_cons_stamp(&m->cons, id, EG_MADE_COPY);
  if (info->kind == EG_VALUE_INPUT || is_trained(m, id)) {
    EG_TRY(add_input(m, info->name, &info->type, &value));
  } else {
    EG_TRY(
        eg_graph_add_weight(m->out->graph, info->name, &info->type, info->data, &value));
    EG_TRY(eg_node_cons_note(&m->cons, 1));
  }
  m->entry[id] = m->map[id] = value;
  return EGRAPH_OK;
}

static egraph_status lower_leaf(maker *m, uint32_t id) {
  const eg_value_info *info = eg_graph_value(m->forward, (eg_value){id});
  if (!is_lowered(m) || info->type.dtype != EGRAPH_FLOAT32 || !m->needed[id])
    return EGRAPH_OK;
  eg_node_cons_stamp(&m->cons, id, EG_MADE_CAST);
  if (is_trained(m, id) && keeps_copies(m))
    return add_entry(m, m->entry[id], COPY, EGRAPH_BFLOAT16, &m->map[id]);
  m->map[id] = eg_value_of(eg_build_cast(&m->b, eg_ref_of(m->map[id]), EGRAPH_BFLOAT16));
  return m->b.status;
}

/// Returns the name of a computed value of the forward graph; NULL: a cast has this name,
/// and the value gets a new one.
static const char *free_name(const maker *m, eg_value value) {
  const char *name = eg_graph_value(m->forward, value)->name;
  eg_value taken;
  return eg_graph_find_value(m->out->graph, name, &taken) ? NULL : name;
}

/// Copies attributes with float32 replaced by bfloat16.
static void lower_attrs(const eg_attrs *from, eg_attr *slots, eg_attrs *out) {
  *out = (eg_attrs){.op = from->op, .count = from->count, .slots = slots};
  for (uint32_t i = 0; i < from->count; i++) {
    slots[i] = from->slots[i];
    if (slots[i].kind == EG_ATTR_DTYPE && slots[i].i == EGRAPH_FLOAT32)
      slots[i].i = EGRAPH_BFLOAT16;
  }
}

static egraph_status copy_opaque_node(maker *m, uint32_t id, const char *const *names) {
  EG_TRY(eg_graph_add_copy(m->out->graph, m->forward, (eg_graph_node){id},
                           m->operands.data, names, m->results.data));
  return eg_node_cons_note(&m->cons, (uint32_t)m->results.len);
}

static egraph_status copy_forward_node(maker *m, const eg_graph_node_info *node,
                                       uint32_t id) {
  m->operands.len = 0;
  for (uint32_t i = 0; i < node->input_count; i++)
    EG_TRY(eg_values_push(&m->operands, m->map[node->inputs[i].id]));
  EG_TRY(eg_values_resize(&m->results, node->result_count));
  EG_LOCAL(eg_arena, arena, m->out->alloc);
  const char **names;
  EG_NEW(&arena, node->result_count, names);
  for (uint32_t i = 0; i < node->result_count; i++)
    names[i] = free_name(m, node->results[i]);
  eg_attr slots[16];
  eg_attrs attrs = *node->attrs;
  if (is_lowered(m)) lower_attrs(node->attrs, slots, &attrs);
  eg_node_cons_stamp(&m->cons, node->results[0].id, EG_MADE_COPY);
  EG_TRY(node->attrs->op == EG_OP_OPAQUE
             ? copy_opaque_node(m, id, names)
             : eg_node_cons_add(&m->cons, node->name, &attrs, m->operands.data,
                                node->input_count, names, m->results.data));
  for (uint32_t i = 0; i < node->result_count; i++)
    m->map[node->results[i].id] = m->results.data[i];
  return EGRAPH_OK;
}

static bool is_step_leaf(const maker *m, uint32_t v) {
  eg_value_kind kind = eg_graph_value(m->forward, (eg_value){v})->kind;
  return kind == EG_VALUE_INPUT || (kind == EG_VALUE_WEIGHT && m->needed[v]);
}

/// Copies the forward graph. Inputs and weights come first: they keep their names.
static egraph_status copy_forward(maker *m) {
  uint32_t values = eg_graph_value_count(m->forward);
  for (uint32_t v = 0; v < values; v++)
    if (is_step_leaf(m, v)) EG_TRY(copy_forward_leaf(m, v));
  for (uint32_t v = 0; v < values; v++) {
    const eg_value_info *info = eg_graph_value(m->forward, (eg_value){v});
    if (is_step_leaf(m, v)) EG_TRY(lower_leaf(m, v));
    if (info->kind != EG_VALUE_COMPUTED || info->result != 0) continue;
    eg_graph_node_info node = eg_graph_node_at(m->forward, info->node);
    if (eg_node_any_result(&node, m->needed))
      EG_TRY(copy_forward_node(m, &node, info->node.id));
  }
  return EGRAPH_OK;
}

static void begin_phase(maker *m, eg_phase phase) {
  m->out->phase_begin[phase] = eg_graph_node_count(m->out->graph);
}

// ---- leaves of the step -------------------------------------------------------------

static egraph_status add_params(maker *m) {
  eg_training *out = m->out;
  for (uint32_t v = 0; v < eg_graph_value_count(m->forward); v++)
    out->param_count += is_trained(m, v);
  bool is_stage = m->options->is_inner || m->options->sent_back_count != 0;
  if (out->param_count == 0 && !is_stage)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "there is nothing to train: the output depends on no weight that looks "
        "like a parameter; choose another output, or name weights to train");
  EG_TRY(eg_alloc(out->alloc, out->param_count, sizeof *out->params, &out->params));
  uint32_t count = 0;
  for (uint32_t v = 0; v < eg_graph_value_count(m->forward); v++) {
    if (!is_trained(m, v)) continue;
    const eg_training_state none = {EG_VALUE_NONE, EG_VALUE_NONE};
    eg_training_param *param = &out->params[count++];
    *param = (eg_training_param){.weight = {v},
                                 .value = {m->entry[v], EG_VALUE_NONE},
                                 .gradient = EG_VALUE_NONE,
                                 .sum = none,
                                 .state = {none, none, none}};
    uint32_t own = rules[m->options->optimizer].states;
    egraph_dtype type = eg_graph_value(m->forward, (eg_value){v})->type.dtype;
    bool sums_halves = m->options->precision == EG_PRECISION_BF16_SUMS;
    if (keeps_copies(m) && m->map[v].id != m->entry[v].id)
      param->state[own].entry = m->map[v];
    eg_node_cons_stamp(&m->cons, v, EG_MADE_STATE);
    if (out->micro_batches > 1)
      EG_TRY(add_entry(m, param->value.entry, "sum",
                       sums_halves ? dtype_of(m, m->map[v]) : type, &param->sum.entry));
    for (uint32_t i = 0; i < own; i++)
      EG_TRY(add_entry(m, param->value.entry, rules[m->options->optimizer].state_name[i],
                       type, &param->state[i].entry));
  }
  return EGRAPH_OK;
}

static egraph_status add_scalars(maker *m) {
  const eg_type scalar = {.dtype = EGRAPH_FLOAT64};
  eg_node_cons_stamp(&m->cons, EG_STAMP_OF_NONE, EG_MADE_STATE);
  EG_TRY(add_input(m, "learning_rate", &scalar, &m->out->learning_rate));
  if (!rules[m->options->optimizer].counts) return EGRAPH_OK;
  return add_input(m, "step", &scalar, &m->out->step);
}

// ---- phases -------------------------------------------------------------------------

/// Adds the loss. The output is cast back if it was computed in bfloat16.
static egraph_status add_loss(maker *m, eg_value output, eg_ref *y,
                              eg_loss_terms *terms) {
  const eg_value_info *info = eg_graph_value(m->forward, output);
  eg_type target;
  eg_node_cons_stamp(&m->cons, output.id, EG_MADE_CAST);
  *y = eg_build_cast(&m->b, eg_ref_of(m->map[output.id]), info->type.dtype);
  EG_TRY(m->b.status);
  EG_TRY(eg_loss_target(m->options->loss, eg_build_type(&m->b, *y), &target));
  eg_node_cons_stamp(&m->cons, output.id, EG_MADE_LOSS);
  EG_TRY(add_input(m, "target", &target, &m->out->target));
  eg_ref loss =
      eg_loss_emit(&m->b, m->options->loss, *y, eg_ref_of(m->out->target), terms);
  m->out->loss = eg_value_of(loss);
  return m->b.status;
}

/// Returns the input that the forward pass reads as a weight: the weight, or its copy.
static eg_value read_entry(const maker *m, const eg_training_param *param) {
  return keeps_copies(m) ? m->map[param->weight.id] : param->value.entry;
}

/// Emits the gradient of one micro-batch, and its sum with the gradients of
/// earlier micro-batches.
static egraph_status emit_gradient(maker *m, eg_value found, eg_training_param *param) {
  eg_ref w = eg_ref_of(read_entry(m, param)), g = eg_ref_of(found);
  eg_node_cons_stamp(&m->cons, param->weight.id, EG_MADE_GRADIENT);
  // Only piecewise constant operators lead to the loss: the gradient is zero.
  if (!eg_ref_exists(g)) g = eg_build_fill(&m->b, eg_build_type(&m->b, w), 0);
  param->gradient = eg_value_of(g);
  if (m->out->micro_batches == 1) return m->b.status;
  eg_node_cons_stamp(&m->cons, param->weight.id, EG_MADE_SUM);
  g = eg_build_cast(&m->b, g, dtype_of(m, param->sum.entry));
  eg_ref sum = EG_BUILD(&m->b, EG_OP_ADD, eg_ref_of(param->sum.entry), g);
  param->sum.exit = eg_value_of(sum);
  return m->b.status;
}

/// Adds an input for the cotangent of a stage's output, which the next stage sends.
static egraph_status add_arriving(maker *m, uint32_t output, eg_gradient_seed *out) {
  eg_value value = eg_graph_output(m->forward, output, NULL);
  const eg_value_info *made = eg_graph_value(m->out->graph, m->map[value.id]);
  EG_TRY(write_state_name(m, eg_graph_value(m->forward, value)->name, "cotangent"));
  eg_node_cons_stamp(&m->cons, value.id, EG_MADE_SEED);
  out->value = m->map[value.id];
  return add_input(m, eg_text_of(&m->text), &made->type, &out->cotangent);
}

/// Adds an input for the cotangent of each floating-point output, and fills seeds[outputs
/// of the forward graph].
static egraph_status add_all_arriving(maker *m, eg_gradient_seed *seeds,
                                      uint32_t *out_count) {
  *out_count = 0;
  for (uint32_t o = 0; o < eg_graph_output_count(m->forward); o++) {
    eg_value value = eg_graph_output(m->forward, o, NULL);
    if (eg_dtype_is_float(eg_graph_value(m->forward, value)->type.dtype))
      EG_TRY(add_arriving(m, o, &seeds[(*out_count)++]));
  }
  return EGRAPH_OK;
}

static egraph_status find_sent_back(maker *m) {
  for (uint32_t i = 0; i < m->options->sent_back_count; i++) {
    eg_value input;
    const char *name = m->options->sent_back[i];
    if (!eg_graph_find_value(m->forward, name, &input) ||
        eg_graph_value(m->forward, input)->kind != EG_VALUE_INPUT ||
        !eg_dtype_is_float(eg_graph_value(m->forward, input)->type.dtype))
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "the stage has no floating-point input '%.200s' to send a cotangent "
                     "back for",
                     name);
    EG_TRY(eg_values_push(&m->sent_back, input));
  }
  return EGRAPH_OK;
}

/// Adds the cotangents of inputs, for which earlier pipeline stages wait, as outputs;
/// zero if no output depends on the input.
static egraph_status add_sent_back(maker *m, const eg_value *found) {
  for (size_t i = 0; i < m->sent_back.len; i++) {
    eg_value input = m->sent_back.data[i], entry = m->entry[input.id];
    eg_ref cotangent = eg_ref_of(found[i]);
    eg_node_cons_stamp(&m->cons, input.id, EG_MADE_GRADIENT);
    if (!eg_ref_exists(cotangent))
      cotangent = eg_build_fill(&m->b, eg_build_type(&m->b, eg_ref_of(entry)), 0);
    EG_TRY(m->b.status);
    EG_TRY(write_state_name(m, eg_graph_value(m->forward, input)->name, "cotangent"));
    EG_TRY(
        eg_graph_add_output(m->out->graph, eg_text_of(&m->text), eg_value_of(cotangent)));
  }
  return EGRAPH_OK;
}

/// Emits the gradients of all parameters, and the cotangents that are sent back.
static egraph_status emit_backward(maker *m, const eg_gradient_seed *seeds,
                                   uint32_t seed_count) {
  eg_training *out = m->out;
  uint32_t params = out->param_count, sent = (uint32_t)m->sent_back.len;
  EG_TRY(eg_values_resize(&m->operands, params + sent));
  EG_TRY(eg_values_resize(&m->results, params + sent));
  for (uint32_t i = 0; i < params; i++)
    m->operands.data[i] = read_entry(m, &out->params[i]);
  for (uint32_t i = 0; i < sent; i++)
    m->operands.data[params + i] = m->entry[m->sent_back.data[i].id];
  EG_TRY(eg_graph_gradient(&m->cons, seeds, seed_count, m->operands.data, params + sent,
                           m->results.data));
  for (uint32_t i = 0; i < params; i++)
    EG_TRY(emit_gradient(m, m->results.data[i], &out->params[i]));
  return add_sent_back(m, m->results.data + params);
}

/// Emits the backward pass from the loss.
static egraph_status emit_backward_of_loss(maker *m, eg_value output, eg_ref y,
                                           const eg_loss_terms *terms) {
  eg_node_cons_stamp(&m->cons, output.id, EG_MADE_SEED);
  const eg_gradient_seed seed = {eg_value_of(y),
                                 eg_value_of(eg_loss_emit_gradient(&m->b, terms))};
  EG_TRY(m->b.status);
  return emit_backward(m, &seed, 1);
}

/// Emits the backward pass from the cotangents of all outputs.
static egraph_status emit_backward_of_outputs(maker *m) {
  eg_gradient_seed *seeds;
  uint32_t count;
  EG_LOCAL(eg_arena, scratch, m->out->alloc);
  EG_NEW(&scratch, eg_graph_output_count(m->forward), seeds);
  EG_TRY(add_all_arriving(m, seeds, &count));
  return emit_backward(m, seeds, count);
}

static egraph_status add_exit(maker *m, eg_training_state state) {
  if (state.entry.id == EG_VALUE_NONE.id) return EGRAPH_OK;
  return eg_graph_add_output(
      m->out->graph, eg_graph_value(m->out->graph, state.entry)->name, state.exit);
}

static egraph_status add_step_outputs(maker *m) {
  const eg_training *out = m->out;
  if (!m->options->is_inner) EG_TRY(eg_graph_add_output(out->graph, "loss", out->loss));
  for (uint32_t o = 0; m->options->is_inner && o < eg_graph_output_count(m->forward);
       o++) {
    const char *name;
    eg_value value = eg_graph_output(m->forward, o, &name);
    EG_TRY(eg_graph_add_output(out->graph, name, m->map[value.id]));
  }
  for (uint32_t i = 0; i < out->param_count; i++) {
    const eg_training_param *param = &out->params[i];
    EG_TRY(add_exit(m, param->value));
    EG_TRY(add_exit(m, param->sum));
    for (uint32_t n = 0; n < out->state_count; n++)
      EG_TRY(add_exit(m, param->state[n]));
  }
  return EGRAPH_OK;
}

/// Finds which weights are trained, and the values that the step needs: all on which the
/// loss depends, or any output of a stage without a loss.
static egraph_status find_parameters(maker *m) {
  const eg_parameter_wish *wish = &m->options->parameters;
  if (!m->options->is_inner)
    return eg_parameters_find(m->forward,
                              eg_graph_output(m->forward, m->options->output, NULL), wish,
                              m->fates, m->needed);
  uint32_t values = eg_graph_value_count(m->forward);
  eg_weight_fate *fates;
  bool *needed;
  EG_LOCAL(eg_arena, scratch, m->out->alloc);
  EG_NEW(&scratch, values, fates);
  EG_NEW(&scratch, values, needed);
  for (uint32_t o = 0; o < eg_graph_output_count(m->forward); o++) {
    EG_TRY(eg_parameters_find(m->forward, eg_graph_output(m->forward, o, NULL), wish,
                              fates, needed));
    for (uint32_t v = 0; v < values; v++) {
      if (fates[v] > m->fates[v]) m->fates[v] = fates[v];
      m->needed[v] = m->needed[v] || needed[v];
    }
  }
  return EGRAPH_OK;
}

static egraph_status make_step(maker *m) {
  eg_value output = eg_graph_output(m->forward, m->options->output, NULL);
  const eg_value_info *info = eg_graph_value(m->forward, output);
  bool is_inner = m->options->is_inner;
  eg_loss_terms terms;
  eg_ref y;
  if (!info->typed)
    return EG_FAIL(EGRAPH_E_TYPE,
                   "the type of output '%.200s' is not known; declare it (value_info)",
                   info->name);
  EG_TRY(find_parameters(m));
  EG_TRY(find_sent_back(m));
  begin_phase(m, EG_PHASE_FORWARD);
  EG_TRY(copy_forward(m));
  if (!is_inner) EG_TRY(add_loss(m, output, &y, &terms));
  EG_TRY(add_scalars(m));
  EG_TRY(add_params(m));
  begin_phase(m, EG_PHASE_BACKWARD);
  EG_TRY(is_inner ? emit_backward_of_outputs(m)
                  : emit_backward_of_loss(m, output, y, &terms));
  begin_phase(m, EG_PHASE_UPDATE);
  EG_TRY(emit_update(&m->cons, m->forward, m->options, m->out));
  begin_phase(m, EG_PHASE_COUNT);
  return add_step_outputs(m);
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status allocate(maker *m) {
  uint32_t values = eg_graph_value_count(m->forward);
  egraph_allocator alloc = m->out->alloc;
  EG_NEW(&m->rows, values, m->needed);
  EG_NEW(&m->rows, values, m->fates);
  EG_NEW(&m->rows, values, m->map);
  EG_NEW(&m->rows, values, m->entry);
  for (uint32_t v = 0; v < values; v++)
    m->map[v] = EG_VALUE_NONE;
  EG_TRY(eg_graph_create(&alloc, &m->out->graph));
  EG_TRY(eg_node_cons_init(&m->cons, m->out->graph));
  m->cons.stamps = &m->out->stamps;
  m->b = eg_node_cons_builder(&m->cons);
  return EGRAPH_OK;
}

#define MAKER                                                                            \
  (eg_flatmap, cons.nodes), (eg_values, operands, results, sent_back), (eg_text, text),  \
      (eg_arena, rows)

egraph_status eg_training_step(const eg_graph *forward,
                               const eg_training_options *options, eg_training *out) {
  EG_TRY(eg_training_options_check(forward, options));
  egraph_allocator alloc = eg_graph_allocator(forward);
  eg_training made = {.loss = EG_VALUE_NONE,
                      .target = EG_VALUE_NONE,
                      .learning_rate = EG_VALUE_NONE,
                      .step = EG_VALUE_NONE,
                      .state_count = rules[options->optimizer].states +
                                     (options->precision >= EG_PRECISION_BF16_WEIGHTS),
                      .micro_batches = options->micro_batches,
                      .alloc = alloc};
  eg_stamps_init(&made.stamps, alloc);
  maker m = {.forward = forward, .options = options, .out = &made};
  EG_INIT_MEMBERS(&m, alloc, MAKER)
  egraph_status status = allocate(&m);
  if (status == EGRAPH_OK) status = make_step(&m);
  EG_DEINIT_MEMBERS(&m, MAKER)
  if (status != EGRAPH_OK) {
    eg_training_deinit(&made);
    return status;
  }
  *out = made;
  return EGRAPH_OK;
}

void eg_training_deinit(eg_training *training) {
  eg_free(training->alloc, training->params, training->param_count,
          sizeof *training->params);
  eg_graph_destroy(training->graph);
  eg_stamps_deinit(&training->stamps);
  training->params = NULL;
  training->graph = NULL;
  training->param_count = 0;
}

eg_phase eg_training_phase(const eg_training *training, eg_graph_node node) {
  assert(node.id < training->phase_begin[EG_PHASE_COUNT]);
  eg_phase phase = EG_PHASE_FORWARD;
  while (phase + 1 < EG_PHASE_COUNT && node.id >= training->phase_begin[phase + 1])
    phase++;
  return phase;
}
