// Optimizers in the element type of each parameter: as formulas, or as one node per
// parameter (Adam). The factor of clipping is computed in float64.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/training_update.h"

#define NONE UINT32_MAX

/// Variables: w the weight, g its gradient, s the state before and m after the step, l
/// the learning rate, u momentum. Without formulas: Adam's, one node per weight.
typedef struct optimizer_rule {
  uint32_t states;
  const char *state_name[EG_MAX_OPTIMIZER_STATES];
  const char *state, *weight; // after the step
  bool counts;                // steps
  bool separate;              // weight decay is no part of the gradient
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

bool eg_optimizer_counts(eg_optimizer optimizer) { return rules[optimizer].counts; }
uint32_t eg_optimizer_states(eg_optimizer optimizer) { return rules[optimizer].states; }
const char *eg_optimizer_state_name(eg_optimizer optimizer, uint32_t state) {
  return rules[optimizer].state_name[state];
}

/// What the updates of all weights of an element type have in common.
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

/// A number, or a value cast, in the builder's element type.
static eg_ref emit_common(updater *u, common_part part, double number, eg_ref x) {
  eg_stamp before = u->cons->stamp;
  u->cons->stamp = (eg_stamp){EG_STAMP_OF_NONE, EG_MADE_COMMON,
                              COMMON_OF_DTYPE + (uint32_t)u->b.dtype, part};
  eg_ref made = eg_ref_exists(x) ? eg_build_cast(&u->b, x, u->b.dtype)
                                 : eg_build_number(&u->b, number);
  u->cons->stamp = before;
  return made;
}

// The mean over micro-batches.
static eg_ref emit_gradient(updater *u, const eg_training_param *param) {
  eg_ref sum = eg_ref_of(param->sum.exit);
  if (u->training->micro_batches == 1) return eg_ref_of(param->gradient);
  u->b.dtype = eg_build_type(&u->b, sum)->dtype;
  double number = 1.0 / u->training->micro_batches;
  eg_ref share = emit_common(u, COMMON_SHARE, number, EG_REF_NONE);
  return EG_BUILD(&u->b, EG_OP_MUL, sum, share);
}

// The sum of squares of a gradient, as float64.
static eg_ref emit_square(updater *u, const eg_training_param *param) {
  eg_builder *b = &u->b;
  eg_ref g = emit_gradient(u, param);
  eg_ref squares = EG_BUILD(b, EG_OP_SQUARE, g);
  uint32_t rank = eg_build_type(b, g)->rank, all = (UINT32_C(1) << rank) - 1;
  eg_ref sum = eg_build_reduce(b, EG_OP_REDUCE_SUM, squares, all, false);
  return eg_build_cast(b, sum, EGRAPH_FLOAT64);
}

// The gradient as the optimizer takes it, but for weight decay.
static eg_ref emit_final(updater *u, const eg_training_param *param, eg_ref clip) {
  eg_ref g = emit_gradient(u, param);
  if (!eg_ref_exists(clip)) return g;
  u->b.dtype = eg_build_type(&u->b, g)->dtype;
  eg_ref factor = emit_common(u, COMMON_FACTOR, 0, clip);
  return EG_BUILD(&u->b, EG_OP_MUL, g, factor);
}

/// Appends the parameters in the order in which the forward graph reads them. `param_of`
/// is scratch: [values of the forward graph] parameter; NONE: none, or listed.
static egraph_status list_params(const updater *u, eg_u32s *param_of, eg_u32s *out) {
  for (uint32_t v = 0; v < eg_graph_value_count(u->forward); v++)
    EG_TRY(eg_u32s_push(param_of, NONE));
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
  for (uint32_t v = 0; v < param_of->len; v++) // no node reads it: it is the output
    if (param_of->data[v] != NONE) EG_TRY(eg_u32s_push(out, param_of->data[v]));
  return EGRAPH_OK;
}

// limit / max(norm, limit)
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

/// Layers follow each other in the sum, in whatever order a file has their weights: those
/// that are alike have like parts of it.
static egraph_status emit_clip(updater *u, eg_ref *out) {
  eg_u32s param_of, params;
  *out = EG_REF_NONE;
  if (u->options->clip_norm <= 0) return EGRAPH_OK;
  eg_u32s_init(&param_of, u->training->alloc);
  eg_u32s_init(&params, u->training->alloc);
  egraph_status status = list_params(u, &param_of, &params);
  if (status == EGRAPH_OK) *out = emit_factor(u, &params);
  eg_u32s_deinit(&params);
  eg_u32s_deinit(&param_of);
  return status;
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

egraph_status eg_training_emit_update(eg_node_cons *cons, const eg_graph *forward,
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
  }
  return u.b.status;
}
