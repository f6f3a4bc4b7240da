// Puts a training step together: a copy of the forward graph with its trained weights as
// inputs, the loss, the gradients, the accumulators, the optimizer.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/training.h"

#include "pcg/graph/graph_internal.h"
#include "pcg/training/gradient.h"
#include "pcg/training/training_loss.h"
#include "pcg/training/training_options.h"
#include "pcg/training/training_update.h"

// ---- building -----------------------------------------------------------------------

typedef struct maker {
  const eg_graph *forward;
  const eg_training_options *options;
  eg_training *out;
  eg_node_cons cons;
  eg_builder b;
  bool *needed;          // [forward values] by the loss
  eg_weight_fate *fates; // [forward values]
  eg_value *map;         // [forward values] in the step, as it is computed with
  eg_value *entry;       // [forward values] of trained weights
  eg_values operands, results;
  eg_text text;
} maker;

static egraph_status add_input(maker *m, const char *name, const eg_type *type,
                               eg_value *out) {
  EG_TRY(eg_graph_add_input(m->out->graph, name, type, out));
  return eg_node_cons_note(&m->cons, 1);
}

// "w.m"
static egraph_status add_state(maker *m, eg_value of, const char *suffix,
                               eg_training_state *out) {
  const eg_value_info *info = eg_graph_value(m->out->graph, of);
  eg_text_clear(&m->text);
  EG_TRY(eg_text_append(&m->text, info->name));
  EG_TRY(eg_text_append(&m->text, "."));
  EG_TRY(eg_text_append(&m->text, suffix));
  return add_input(m, eg_text_of(&m->text), &info->type, &out->entry);
}

// ---- forward ------------------------------------------------------------------------

static bool is_trained(const maker *m, uint32_t v) {
  return m->fates[v] == EG_FATE_TRAINED;
}

static egraph_status copy_leaf(maker *m, uint32_t id) {
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
  if (!m->options->mixed_precision || info->type.dtype != EGRAPH_FLOAT32 ||
      !m->needed[id])
    return EGRAPH_OK;
  eg_node_cons_stamp(&m->cons, id, EG_MADE_CAST);
  m->map[id] = eg_value_of(eg_build_cast(&m->b, eg_ref_of(m->map[id]), EGRAPH_BFLOAT16));
  return m->b.status;
}

// The name of a computed value, unless a cast has it: then it gets a new one.
static const char *free_name(const maker *m, eg_value value) {
  const char *name = eg_graph_value(m->forward, value)->name;
  eg_value taken;
  return eg_graph_find_value(m->out->graph, name, &taken) ? NULL : name;
}

// Attributes with float32 replaced by bfloat16.
static void lower_attrs(const eg_attrs *from, eg_attr *slots, eg_attrs *out) {
  *out = (eg_attrs){.op = from->op, .count = from->count, .slots = slots};
  for (uint32_t i = 0; i < from->count; i++) {
    slots[i] = from->slots[i];
    if (slots[i].kind == EG_ATTR_DTYPE && slots[i].i == EGRAPH_FLOAT32)
      slots[i].i = EGRAPH_BFLOAT16;
  }
}

static egraph_status copy_opaque(maker *m, uint32_t id, const char *const *names) {
  EG_TRY(eg_graph_add_copy(m->out->graph, m->forward, (eg_graph_node){id},
                           m->operands.data, names, m->results.data));
  return eg_node_cons_note(&m->cons, (uint32_t)m->results.len);
}

static egraph_status copy_node(maker *m, const eg_graph_node_info *node, uint32_t id) {
  m->operands.len = 0;
  for (uint32_t i = 0; i < node->input_count; i++)
    EG_TRY(eg_values_push(&m->operands, m->map[node->inputs[i].id]));
  EG_TRY(eg_values_resize(&m->results, node->result_count));
  const char **names;
  egraph_allocator alloc = m->out->alloc;
  EG_TRY(eg_alloc(alloc, node->result_count, sizeof *names, &names));
  for (uint32_t i = 0; i < node->result_count; i++)
    names[i] = free_name(m, node->results[i]);
  eg_attr slots[16];
  eg_attrs attrs = *node->attrs;
  if (m->options->mixed_precision) lower_attrs(node->attrs, slots, &attrs);
  eg_node_cons_stamp(&m->cons, node->results[0].id, EG_MADE_COPY);
  egraph_status status =
      node->attrs->op == EG_OP_OPAQUE
          ? copy_opaque(m, id, names)
          : eg_node_cons_add(&m->cons, node->name, &attrs, m->operands.data,
                             node->input_count, names, m->results.data);
  eg_free(alloc, names, node->result_count, sizeof *names);
  for (uint32_t i = 0; status == EGRAPH_OK && i < node->result_count; i++)
    m->map[node->results[i].id] = m->results.data[i];
  return status;
}

static bool is_leaf(const maker *m, uint32_t v) {
  eg_value_kind kind = eg_graph_value(m->forward, (eg_value){v})->kind;
  return kind == EG_VALUE_INPUT || (kind == EG_VALUE_WEIGHT && m->needed[v]);
}

// Leaves first: they keep their names.
static egraph_status copy_forward(maker *m) {
  uint32_t values = eg_graph_value_count(m->forward);
  for (uint32_t v = 0; v < values; v++)
    if (is_leaf(m, v)) EG_TRY(copy_leaf(m, v));
  for (uint32_t v = 0; v < values; v++) {
    const eg_value_info *info = eg_graph_value(m->forward, (eg_value){v});
    if (is_leaf(m, v)) EG_TRY(lower_leaf(m, v));
    if (info->kind != EG_VALUE_COMPUTED || info->result != 0) continue;
    eg_graph_node_info node = eg_graph_node_at(m->forward, info->node);
    bool wanted = false;
    for (uint32_t i = 0; i < node.result_count; i++)
      wanted = wanted || m->needed[node.results[i].id];
    if (wanted) EG_TRY(copy_node(m, &node, info->node.id));
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
  if (out->param_count == 0)
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
                                 .state = {none, none}};
    eg_node_cons_stamp(&m->cons, v, EG_MADE_STATE);
    if (out->micro_batches > 1)
      EG_TRY(add_state(m, param->value.entry, "sum", &param->sum));
    for (uint32_t i = 0; i < out->state_count; i++)
      EG_TRY(add_state(m, param->value.entry,
                       eg_optimizer_state_name(m->options->optimizer, i),
                       &param->state[i]));
  }
  return EGRAPH_OK;
}

static egraph_status add_scalars(maker *m) {
  const eg_type scalar = {.dtype = EGRAPH_FLOAT64};
  eg_node_cons_stamp(&m->cons, EG_STAMP_OF_NONE, EG_MADE_STATE);
  EG_TRY(add_input(m, "learning_rate", &scalar, &m->out->learning_rate));
  if (!eg_optimizer_counts(m->options->optimizer)) return EGRAPH_OK;
  return add_input(m, "step", &scalar, &m->out->step);
}

// ---- phases -------------------------------------------------------------------------

// The output as the loss takes it: in float32 where it was computed in less.
static egraph_status emit_loss(maker *m, eg_value output, eg_ref *y,
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
      eg_loss_forward(&m->b, m->options->loss, *y, eg_ref_of(m->out->target), terms);
  m->out->loss = eg_value_of(loss);
  return m->b.status;
}

/// The gradient of one micro-batch, and the sum with those of the micro-batches before.
static egraph_status emit_gradient(maker *m, eg_value found, eg_training_param *param) {
  eg_ref w = eg_ref_of(param->value.entry), g = eg_ref_of(found);
  eg_node_cons_stamp(&m->cons, param->weight.id, EG_MADE_GRADIENT);
  // Only piecewise constant operators lead to the loss: the gradient is zero.
  if (!eg_ref_exists(g)) g = eg_build_fill(&m->b, eg_build_type(&m->b, w), 0);
  param->gradient = eg_value_of(g);
  if (m->out->micro_batches == 1) return m->b.status;
  eg_node_cons_stamp(&m->cons, param->weight.id, EG_MADE_SUM);
  eg_ref sum = EG_BUILD(&m->b, EG_OP_ADD, eg_ref_of(param->sum.entry), g);
  param->sum.exit = eg_value_of(sum);
  return m->b.status;
}

static egraph_status emit_backward(maker *m, eg_value output, eg_ref y,
                                   const eg_loss_terms *terms) {
  eg_training *out = m->out;
  eg_node_cons_stamp(&m->cons, output.id, EG_MADE_SEED);
  const eg_gradient_seed seed = {eg_value_of(y),
                                 eg_value_of(eg_loss_backward(&m->b, terms))};
  EG_TRY(m->b.status);
  EG_TRY(eg_values_resize(&m->operands, out->param_count));
  EG_TRY(eg_values_resize(&m->results, out->param_count));
  for (uint32_t i = 0; i < out->param_count; i++)
    m->operands.data[i] = out->params[i].value.entry;
  EG_TRY(eg_graph_gradient(&m->cons, &seed, 1, m->operands.data, out->param_count,
                           m->results.data));
  for (uint32_t i = 0; i < out->param_count; i++)
    EG_TRY(emit_gradient(m, m->results.data[i], &out->params[i]));
  return EGRAPH_OK;
}

static egraph_status add_exit(maker *m, eg_training_state state) {
  if (state.entry.id == EG_VALUE_NONE.id) return EGRAPH_OK;
  return eg_graph_add_output(
      m->out->graph, eg_graph_value(m->out->graph, state.entry)->name, state.exit);
}

static egraph_status add_outputs(maker *m) {
  const eg_training *out = m->out;
  EG_TRY(eg_graph_add_output(out->graph, "loss", out->loss));
  for (uint32_t i = 0; i < out->param_count; i++) {
    const eg_training_param *param = &out->params[i];
    EG_TRY(add_exit(m, param->value));
    EG_TRY(add_exit(m, param->sum));
    for (uint32_t n = 0; n < EG_MAX_OPTIMIZER_STATES; n++)
      EG_TRY(add_exit(m, param->state[n]));
  }
  return EGRAPH_OK;
}

static egraph_status make_step(maker *m) {
  eg_value output = eg_graph_output(m->forward, m->options->output, NULL);
  const eg_value_info *info = eg_graph_value(m->forward, output);
  eg_loss_terms terms;
  eg_ref y;
  if (!info->typed)
    return EG_FAIL(EGRAPH_E_TYPE,
                   "the type of output '%.200s' is not known; declare it (value_info)",
                   info->name);
  EG_TRY(eg_parameters_find(m->forward, output, &m->options->parameters, m->fates,
                            m->needed));
  begin_phase(m, EG_PHASE_FORWARD);
  EG_TRY(copy_forward(m));
  EG_TRY(emit_loss(m, output, &y, &terms));
  EG_TRY(add_scalars(m));
  EG_TRY(add_params(m));
  begin_phase(m, EG_PHASE_BACKWARD);
  EG_TRY(emit_backward(m, output, y, &terms));
  begin_phase(m, EG_PHASE_UPDATE);
  EG_TRY(eg_training_emit_update(&m->cons, m->forward, m->options, m->out));
  begin_phase(m, EG_PHASE_COUNT);
  return add_outputs(m);
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status allocate(maker *m) {
  uint32_t values = eg_graph_value_count(m->forward);
  egraph_allocator alloc = m->out->alloc;
  EG_TRY(eg_alloc(alloc, values, sizeof *m->needed, &m->needed));
  EG_TRY(eg_alloc(alloc, values, sizeof *m->fates, &m->fates));
  EG_TRY(eg_alloc(alloc, values, sizeof *m->map, &m->map));
  EG_TRY(eg_alloc(alloc, values, sizeof *m->entry, &m->entry));
  for (uint32_t v = 0; v < values; v++)
    m->map[v] = EG_VALUE_NONE;
  EG_TRY(eg_graph_create(&alloc, &m->out->graph));
  EG_TRY(eg_node_cons_init(&m->cons, m->out->graph));
  m->cons.stamps = &m->out->stamps;
  m->b = eg_node_cons_builder(&m->cons);
  return EGRAPH_OK;
}

static void release(maker *m) {
  uint32_t values = eg_graph_value_count(m->forward);
  egraph_allocator alloc = m->out->alloc;
  eg_node_cons_deinit(&m->cons);
  eg_values_deinit(&m->operands);
  eg_values_deinit(&m->results);
  eg_text_deinit(&m->text);
  eg_free(alloc, m->entry, values, sizeof *m->entry);
  eg_free(alloc, m->map, values, sizeof *m->map);
  eg_free(alloc, m->fates, values, sizeof *m->fates);
  eg_free(alloc, m->needed, values, sizeof *m->needed);
}

egraph_status eg_training_step(const eg_graph *forward,
                               const eg_training_options *options, eg_training *out) {
  EG_TRY(eg_training_options_check(forward, options));
  egraph_allocator alloc = eg_graph_allocator(forward);
  eg_training made = {.loss = EG_VALUE_NONE,
                      .target = EG_VALUE_NONE,
                      .learning_rate = EG_VALUE_NONE,
                      .step = EG_VALUE_NONE,
                      .state_count = eg_optimizer_states(options->optimizer),
                      .micro_batches = options->micro_batches,
                      .alloc = alloc};
  eg_stamps_init(&made.stamps, alloc);
  maker m = {.forward = forward, .options = options, .out = &made};
  eg_flatmap_init(&m.cons.nodes, alloc);
  eg_values_init(&m.operands, alloc);
  eg_values_init(&m.results, alloc);
  eg_text_init(&m.text, alloc);
  egraph_status status = allocate(&m);
  if (status == EGRAPH_OK) status = make_step(&m);
  release(&m);
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
  eg_phase phase = EG_PHASE_FORWARD;
  while (phase + 1 < EG_PHASE_COUNT && node.id >= training->phase_begin[phase + 1])
    phase++;
  return phase;
}
