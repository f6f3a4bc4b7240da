// Optimizers as formulas, in the element type of each parameter; what is one number for
// the whole step is computed in float64.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training_update.h"
#include "pcg/node_cons.h"

/// Variables: w the weight, g its gradient; s and t the states before, m and v the states
/// after; l the learning rate (counted: divided by 1 - beta1^step), k = 1 / sqrt(1 -
/// beta2^step), f = 1 - learning rate * weight decay; u momentum, p and q beta1 and 1 -
/// beta1, r and z beta2 and 1 - beta2, e epsilon.
typedef struct optimizer_rule {
  uint32_t states;
  const char *state_name[EG_MAX_OPTIMIZER_STATES];
  const char *state[EG_MAX_OPTIMIZER_STATES]; // after the step
  const char *weight;
  bool counts;   // steps
  bool separate; // weight decay is no part of the gradient
} optimizer_rule;

#define ADAM_STATES                                                                      \
  .states = 2, .state_name = {"m", "v"}, .counts = true,                                 \
  .state = {"(add (mul p s) (mul q g))", "(add (mul r t) (mul z (square g)))"}

static const optimizer_rule rules[EG_OPTIMIZER_COUNT] = {
    [EG_OPTIMIZER_SGD] = {.weight = "(sub w (mul l g))"},
    [EG_OPTIMIZER_MOMENTUM] = {.states = 1,
                               .state_name = {"velocity"},
                               .state = {"(add (mul u s) g)"},
                               .weight = "(sub w (mul l m))"},
    [EG_OPTIMIZER_ADAM] = {ADAM_STATES,
                           .weight = "(sub w (div (mul l m) (add (mul (sqrt v) k) e)))"},
    [EG_OPTIMIZER_ADAMW] = {ADAM_STATES, .separate = true,
                            .weight = "(sub (mul w f) (div (mul l m) (add (mul (sqrt v) "
                                      "k) e)))"},
};

bool eg_optimizer_counts(eg_optimizer optimizer) { return rules[optimizer].counts; }
uint32_t eg_optimizer_states(eg_optimizer optimizer) { return rules[optimizer].states; }
const char *eg_optimizer_state_name(eg_optimizer optimizer, uint32_t state) {
  return rules[optimizer].state_name[state];
}

/// Numbers of the whole step, float64 scalars.
typedef struct step_numbers {
  eg_ref rate, root, keep; // l, k, f
  eg_ref clip;             // factor of all gradients; EG_REF_NONE: 1
} step_numbers;

static step_numbers emit_numbers(eg_builder *b, const eg_training_options *options,
                                 const eg_training *training) {
  const optimizer_rule *rule = &rules[options->optimizer];
  eg_ref rate = eg_ref_of(training->learning_rate), t = eg_ref_of(training->step);
  step_numbers out = {rate, EG_REF_NONE, EG_REF_NONE, EG_REF_NONE};
  b->dtype = EGRAPH_FLOAT64;
  if (rule->counts) {
    eg_ref p = eg_build_number(b, options->beta1), r = eg_build_number(b, options->beta2);
    out.rate = EG_FORMULA(b, "(div l (sub 1 (pow p t)))", "lpt", rate, p, t);
    out.root = EG_FORMULA(b, "(rsqrt (sub 1 (pow r t)))", "rt", r, t);
  }
  if (rule->separate) {
    eg_ref d = eg_build_number(b, options->weight_decay);
    out.keep = EG_FORMULA(b, "(sub 1 (mul l d))", "ld", rate, d);
  }
  return out;
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

static eg_ref emit_scalar(eg_builder *b, eg_ref number, egraph_dtype dtype) {
  return eg_ref_exists(number) ? eg_build_cast(b, number, dtype) : number;
}

// The gradient as the optimizer takes it.
static eg_ref emit_final(eg_builder *b, const eg_training_options *options,
                         const eg_training *training, const eg_training_param *param,
                         const step_numbers *numbers) {
  eg_ref g = emit_gradient(b, training, param), w = eg_ref_of(param->value.entry);
  egraph_dtype dtype = eg_build_type(b, w)->dtype;
  b->dtype = dtype;
  if (eg_ref_exists(numbers->clip)) {
    eg_ref factor = emit_scalar(b, numbers->clip, dtype);
    g = EG_BUILD(b, EG_OP_MUL, g, factor);
  }
  if (options->weight_decay != 0 && !rules[options->optimizer].separate) {
    eg_ref d = eg_build_number(b, options->weight_decay);
    g = EG_FORMULA(b, "(add g (mul d w))", "gdw", g, d, w);
  }
  return g;
}

enum { VARIABLES = 15 };
static const char variables[VARIABLES + 1] = "wgstmvlkfupqrze";
enum { W, G, S, T, M, V, L, K, F, U, P, Q, R, ZETA, E };

static void emit_param(eg_builder *b, const eg_training_options *options,
                       const eg_training *training, const step_numbers *numbers,
                       eg_training_param *param) {
  const optimizer_rule *rule = &rules[options->optimizer];
  egraph_dtype dtype = eg_build_type(b, eg_ref_of(param->value.entry))->dtype;
  const double constants[] = {options->momentum, options->beta1,     1 - options->beta1,
                              options->beta2,    1 - options->beta2, options->epsilon};
  const int of[] = {U, P, Q, R, ZETA, E};
  eg_ref values[VARIABLES];
  values[W] = eg_ref_of(param->value.entry);
  values[G] = emit_final(b, options, training, param, numbers);
  values[S] = eg_ref_of(param->state[0].entry);
  values[T] = eg_ref_of(param->state[1].entry);
  values[M] = values[V] = EG_REF_NONE;
  values[L] = emit_scalar(b, numbers->rate, dtype);
  values[K] = emit_scalar(b, numbers->root, dtype);
  values[F] = emit_scalar(b, numbers->keep, dtype);
  b->dtype = dtype;
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    bool used = eg_formula_uses(rule->weight, variables[of[i]]);
    for (uint32_t n = 0; n < rule->states; n++)
      used = used || eg_formula_uses(rule->state[n], variables[of[i]]);
    values[of[i]] = used ? eg_build_number(b, constants[i]) : EG_REF_NONE;
  }
  for (uint32_t n = 0; n < rule->states; n++) {
    values[M + n] = eg_build_formula(b, rule->state[n], variables, values);
    param->state[n].exit = eg_value_of(values[M + n]);
  }
  param->value.exit = eg_value_of(eg_build_formula(b, rule->weight, variables, values));
}

void eg_training_emit_update(eg_builder *b, const eg_training_options *options,
                             eg_training *training) {
  step_numbers numbers = emit_numbers(b, options, training);
  numbers.clip = emit_clip(b, options->clip_norm, training);
  for (uint32_t i = 0; i < training->param_count; i++)
    emit_param(b, options, training, &numbers, &training->params[i]);
}
