// Optimizers in the element type of each parameter: as formulas, or as one node per
// parameter (Adam). The factor of clipping is computed in float64.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training_update.h"
#include "pcg/node_cons.h"

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

// The mean over micro-batches.
static eg_ref emit_gradient(eg_builder *b, const eg_training *training,
                            const eg_training_param *param) {
  eg_ref sum = eg_ref_of(param->sum.exit);
  if (training->micro_batches == 1) return eg_ref_of(param->gradient);
  b->dtype = eg_build_type(b, sum)->dtype;
  eg_ref share = eg_build_number(b, 1.0 / training->micro_batches);
  return EG_BUILD(b, EG_OP_MUL, sum, share);
}

// The sum of squares of a gradient, as float64.
static eg_ref emit_square(eg_builder *b, const eg_training *training,
                          const eg_training_param *param) {
  eg_ref g = emit_gradient(b, training, param);
  eg_ref squares = EG_BUILD(b, EG_OP_SQUARE, g);
  uint32_t rank = eg_build_type(b, g)->rank, all = (UINT32_C(1) << rank) - 1;
  eg_ref sum = eg_build_reduce(b, EG_OP_REDUCE_SUM, squares, all, false);
  return eg_build_cast(b, sum, EGRAPH_FLOAT64);
}

// limit / max(norm, limit)
static eg_ref emit_clip(eg_builder *b, double limit, const eg_training *training) {
  eg_ref total = EG_REF_NONE;
  if (limit <= 0) return EG_REF_NONE;
  for (uint32_t i = 0; i < training->param_count; i++) {
    eg_ref square = emit_square(b, training, &training->params[i]);
    total = i == 0 ? square : EG_BUILD(b, EG_OP_ADD, total, square);
  }
  b->dtype = EGRAPH_FLOAT64;
  eg_ref c = eg_build_number(b, limit);
  return EG_FORMULA(b, "(div c (max c (sqrt n)))", "cn", c, total);
}

// The gradient as the optimizer takes it, but for weight decay.
static eg_ref emit_final(eg_builder *b, const eg_training *training,
                         const eg_training_param *param, eg_ref clip) {
  eg_ref g = emit_gradient(b, training, param);
  if (!eg_ref_exists(clip)) return g;
  eg_ref factor = eg_build_cast(b, clip, eg_build_type(b, g)->dtype);
  return EG_BUILD(b, EG_OP_MUL, g, factor);
}

static void emit_adam(eg_builder *b, const eg_training_options *options,
                      const eg_training *training, eg_ref g, eg_training_param *param) {
  const eg_ref inputs[] = {
      eg_ref_of(param->value.entry),      eg_ref_of(param->state[0].entry),
      eg_ref_of(param->state[1].entry),   g,
      eg_ref_of(training->learning_rate), eg_ref_of(training->step)};
  const eg_attr slots[] = {
      {.kind = EG_ATTR_FLOAT, .f = options->beta1},
      {.kind = EG_ATTR_FLOAT, .f = options->beta2},
      {.kind = EG_ATTR_FLOAT, .f = options->epsilon},
      {.kind = EG_ATTR_FLOAT, .f = options->weight_decay},
      {.kind = EG_ATTR_INT, .i = rules[options->optimizer].separate},
  };
  eg_ref results[] = {EG_REF_NONE, EG_REF_NONE, EG_REF_NONE};
  eg_build_results(b, EG_OP_ADAM_UPDATE, slots, inputs, 6, results);
  param->value.exit = eg_value_of(results[0]);
  param->state[0].exit = eg_value_of(results[1]);
  param->state[1].exit = eg_value_of(results[2]);
}

static void emit_formulas(eg_builder *b, const eg_training_options *options,
                          const eg_training *training, eg_ref g,
                          eg_training_param *param) {
  const optimizer_rule *rule = &rules[options->optimizer];
  eg_ref w = eg_ref_of(param->value.entry), m = EG_REF_NONE;
  b->dtype = eg_build_type(b, w)->dtype;
  if (options->weight_decay != 0) {
    eg_ref d = eg_build_number(b, options->weight_decay);
    g = EG_FORMULA(b, "(add g (mul d w))", "gdw", g, d, w);
  }
  if (rule->state != NULL) {
    eg_ref u = eg_build_number(b, options->momentum);
    eg_ref s = eg_ref_of(param->state[0].entry);
    m = EG_FORMULA(b, rule->state, "usg", u, s, g);
    param->state[0].exit = eg_value_of(m);
  }
  eg_ref l = eg_build_cast(b, eg_ref_of(training->learning_rate), b->dtype);
  param->value.exit = eg_value_of(EG_FORMULA(b, rule->weight, "wlgm", w, l, g, m));
}

void eg_training_emit_update(eg_builder *b, const eg_training_options *options,
                             eg_training *training) {
  eg_ref clip = emit_clip(b, options->clip_norm, training);
  for (uint32_t i = 0; i < training->param_count; i++) {
    eg_training_param *param = &training->params[i];
    eg_ref g = emit_final(b, training, param, clip);
    if (rules[options->optimizer].weight == NULL)
      emit_adam(b, options, training, g, param);
    else
      emit_formulas(b, options, training, g, param);
  }
}
