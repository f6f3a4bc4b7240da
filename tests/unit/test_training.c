// Optimizers, accumulation, clipping and mixed precision of training steps, against a
// network, its gradients and its optimizers written by hand in plain C.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/kernels.h"
#include "tests/unit/training_kit.h"
#include "tests/unit/training_plain.h"

// ---- the graph beside it --------------------------------------------------------

static void set_params(stepper *s, const plain *n) {
  for (int p = 0; p < PARAMS; p++)
    for (int i = 0; i < param_sizes[p]; i++)
      eg_tensor_set_double(stepper_input(s, param_names[p]), i, n->w[p][i]);
  for (uint32_t p = 0; p < s->step.param_count && s->step.state_count != 0; p++) {
    const eg_training_param *param = &s->step.params[p];
    eg_value last = param->state[s->step.state_count - 1].entry;
    const char *of = eg_graph_value(s->step.graph, param->value.entry)->name;
    const char *name = eg_graph_value(s->step.graph, last)->name;
    if (strcmp(name + strlen(of), ".copy") == 0)
      eg_tensor_convert(stepper_input(s, of), stepper_input(s, name));
  }
}

static void set_rows(stepper *s, const plain *n, int first, int count) {
  for (int row = 0; row < count; row++) {
    for (int i = 0; i < IN; i++)
      eg_tensor_set_double(stepper_input(s, "x"), row * IN + i, n->x[first + row][i]);
    for (int k = 0; k < OUT; k++)
      eg_tensor_set_double(stepper_input(s, "target"), row * OUT + k,
                           n->target[first + row][k]);
  }
}

// Parameters and states of the step become those of the next one.
static void carry_states(stepper *s) {
  for (uint32_t p = 0; p < s->step.param_count; p++) {
    const eg_training_param *param = &s->step.params[p];
    stepper_carry(s, eg_graph_value(s->step.graph, param->value.entry)->name);
    for (uint32_t i = 0; i < s->step.state_count; i++)
      stepper_carry(s, eg_graph_value(s->step.graph, param->state[i].entry)->name);
  }
}

// One step as training.h says; the loss.
static double run_step(stepper *s, const plain *n, double rate, int step) {
  uint32_t count = s->step.micro_batches;
  int rows = ROWS / (int)count;
  double loss = 0;
  stepper_set(s, "learning_rate", rate);
  if (s->step.step.id != EG_VALUE_NONE.id) stepper_set(s, "step", step);
  for (uint32_t p = 0; p < s->step.param_count && count > 1; p++)
    stepper_set(s, eg_graph_value(s->step.graph, s->step.params[p].sum.entry)->name, 0);
  for (uint32_t i = 0; i < count; i++) {
    set_rows(s, n, (int)i * rows, rows);
    loss += stepper_run(s) / count;
    for (uint32_t p = 0; p < s->step.param_count && count > 1; p++)
      stepper_carry(s, eg_graph_value(s->step.graph, s->step.params[p].sum.entry)->name);
  }
  carry_states(s);
  return loss;
}

static double difference(stepper *s, const plain *n) {
  double worst = 0;
  for (int p = 0; p < PARAMS; p++)
    for (int i = 0; i < param_sizes[p]; i++) {
      double have = eg_tensor_get_double(stepper_input(s, param_names[p]), i);
      worst = fmax(worst, fabs(have - n->w[p][i]));
    }
  return worst;
}

static const double rates[] = {0.5, 0.25, 0.1};
enum { STEPS = sizeof rates / sizeof *rates };

// Three steps with another learning rate each.
static void compare(const char *text, const eg_training_options *options, double bound) {
  plain n;
  stepper s;
  plain_init(&n, options);
  stepper_init(&s, text, options);
  set_params(&s, &n);
  for (int step = 0; step < STEPS; step++) {
    double loss = run_step(&s, &n, rates[step], step + 1);
    plain_step(&n, rates[step], step + 1);
    if (!(fabs(loss - n.loss) <= bound) || !(difference(&s, &n) <= bound))
      fail_msg("%s, step %d: loss %.12g, by hand %.12g; parameters differ by %g",
               eg_optimizer_name(options->optimizer), step + 1, loss, n.loss,
               difference(&s, &n));
  }
  stepper_deinit(&s);
}

static eg_training_options options_of(eg_optimizer optimizer) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = optimizer;
  return options;
}

// Rounding only: a few hundred operations on numbers around 1.
static const double exact = 1e-12;

static void optimizers_agree_with_plain_c(void **state) {
  (void)state;
  for (int optimizer = 0; optimizer < EG_OPTIMIZER_COUNT; optimizer++)
    for (int decays = 0; decays < 2; decays++) {
      eg_training_options options = options_of((eg_optimizer)optimizer);
      options.weight_decay = decays * 0.3;
      compare(NETWORK("float64", "8"), &options, exact);
    }
}

static void gradients_are_clipped_by_their_common_norm(void **state) {
  (void)state;
  static const double limits[] = {0.01, 1e6};
  for (int optimizer = 0; optimizer < EG_OPTIMIZER_COUNT; optimizer++)
    for (int i = 0; i < 2; i++) {
      eg_training_options options = options_of((eg_optimizer)optimizer);
      options.clip_norm = limits[i];
      compare(NETWORK("float64", "8"), &options, exact);
    }
}

static void micro_batches_add_up_to_the_batch(void **state) {
  (void)state;
  for (int optimizer = 0; optimizer < EG_OPTIMIZER_COUNT; optimizer++) {
    eg_training_options options = options_of((eg_optimizer)optimizer);
    options.micro_batches = 4;
    options.clip_norm = 0.2;
    options.weight_decay = 0.1;
    compare(NETWORK("float64", "2"), &options, exact);
  }
}

// ---- mixed precision ------------------------------------------------------------

// bfloat16 has 8 bits: activations and gradients are off by some 0.4 % each.
static void mixed_precision_stays_near_full_precision(void **state) {
  (void)state;
  eg_training_options options = options_of(EG_OPTIMIZER_MOMENTUM);
  compare(NETWORK("float32", "8"), &options, 1e-5);
  options.precision = EG_PRECISION_BF16;
  compare(NETWORK("float32", "8"), &options, 3e-2);
}

/// Sums of four gradients in bfloat16 lose another bit.
static void sums_in_bfloat16_stay_near_full_precision(void **state) {
  (void)state;
  eg_training_options options = options_of(EG_OPTIMIZER_MOMENTUM);
  options.precision = EG_PRECISION_BF16_SUMS;
  options.micro_batches = 4;
  compare(NETWORK("float32", "2"), &options, 6e-2);
}

/// Trains the network twice, with casts and with copies of the weights.
static void train_twice(const char *text, eg_training_options *options) {
  static const eg_precision both[] = {EG_PRECISION_BF16, EG_PRECISION_BF16_WEIGHTS};
  plain n;
  stepper s[2];
  plain_init(&n, options);
  for (int i = 0; i < 2; i++) {
    options->precision = both[i];
    stepper_init(&s[i], text, options);
    set_params(&s[i], &n);
  }
  for (int step = 0; step < STEPS; step++) {
    double cast = run_step(&s[0], &n, rates[step], step + 1);
    double copied = run_step(&s[1], &n, rates[step], step + 1);
    assert_true(cast == copied);
    for (int p = 0; p < PARAMS; p++) {
      const eg_tensor *a = stepper_input(&s[0], param_names[p]),
                      *b = stepper_input(&s[1], param_names[p]);
      assert_memory_equal(a->data, b->data, eg_type_bytes(&a->type));
    }
  }
  for (int i = 0; i < 2; i++)
    stepper_deinit(&s[i]);
}

/// A copy is what the cast of each micro-batch is; gradients are summed alike.
static void copies_in_bfloat16_train_the_same_bits(void **state) {
  (void)state;
  for (int optimizer = 0; optimizer < EG_OPTIMIZER_COUNT; optimizer++)
    for (int clips = 0; clips < 2; clips++) {
      eg_training_options options = options_of((eg_optimizer)optimizer);
      options.clip_norm = clips * 0.2;
      options.weight_decay = 0.1;
      train_twice(NETWORK("float32", "8"), &options);
      options.micro_batches = 4;
      train_twice(NETWORK("float32", "2"), &options);
    }
}

/// Casts are named "v" and a number; so may be what the user has.
static void mixed_precision_bears_names_like_its_own(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-graph 1)(input v2 \"float32[4,3]\")(weight v1 \"float32[3,3]\")"
      "(let v0 (matmul v2 v1))(weight v3 \"float32[3,3]\")(let v4 (matmul v0 v3))"
      "(let v5 (relu v4))(output v5)";
  stepper s;
  eg_training_options options = options_of(EG_OPTIMIZER_SGD);
  options.precision = EG_PRECISION_BF16;
  stepper_init(&s, text, &options);
  assert_int_equal(s.step.param_count, 2);
  assert_non_null(stepper_input(&s, "v2"));
  assert_non_null(stepper_output(&s, "v1"));
  assert_non_null(stepper_output(&s, "v3"));
  stepper_deinit(&s);
}

static void mixed_precision_computes_in_bfloat16_and_keeps_float32(void **state) {
  (void)state;
  stepper s;
  eg_training_options options = options_of(EG_OPTIMIZER_ADAM);
  options.precision = EG_PRECISION_BF16;
  options.micro_batches = 2;
  stepper_init(&s, NETWORK("float32", "4"), &options);
  const eg_graph *graph = s.step.graph;
  uint32_t products = 0;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    if (node.attrs->op != EG_OP_MATMUL) continue;
    const eg_type *type = &eg_graph_value(graph, node.results[0])->type;
    assert_int_equal(type->dtype, EGRAPH_BFLOAT16);
    products++;
  }
  assert_int_equal(products, 5); // 2 forward, 1 for h, 2 for weights
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    eg_value output = eg_graph_output(graph, i, NULL);
    assert_int_equal(eg_graph_value(graph, output)->type.dtype, EGRAPH_FLOAT32);
  }
  stepper_deinit(&s);
}

// ---- names, tables, errors ------------------------------------------------------

static void names_are_found_again(void **state) {
  (void)state;
  for (int i = 0; i < EG_LOSS_COUNT; i++) {
    eg_loss loss;
    assert_true(eg_loss_find(eg_loss_name((eg_loss)i), &loss));
    assert_int_equal(loss, i);
  }
  for (int i = 0; i < EG_OPTIMIZER_COUNT; i++) {
    eg_optimizer optimizer;
    assert_true(eg_optimizer_find(eg_optimizer_name((eg_optimizer)i), &optimizer));
    assert_int_equal(optimizer, i);
  }
  for (int i = 0; i < EG_PRECISION_COUNT; i++) {
    eg_precision precision;
    assert_true(eg_precision_find(eg_precision_name((eg_precision)i), &precision));
    assert_int_equal(precision, i);
  }
  eg_loss loss;
  eg_optimizer optimizer;
  assert_false(eg_loss_find("regret", &loss));
  assert_false(eg_optimizer_find("hope", &optimizer));
}

static eg_value output_named(const eg_graph *graph, const char *name) {
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    const char *at;
    eg_value value = eg_graph_output(graph, i, &at);
    if (strcmp(at, name) == 0) return value;
  }
  return EG_VALUE_NONE;
}

static void entries_and_exits_have_one_name_and_type(void **state) {
  (void)state;
  stepper s;
  eg_training_options options = options_of(EG_OPTIMIZER_ADAMW);
  options.micro_batches = 2;
  stepper_init(&s, NETWORK("float64", "4"), &options);
  const eg_graph *graph = s.step.graph;
  assert_int_equal(s.step.param_count, PARAMS);
  for (uint32_t p = 0; p < s.step.param_count; p++) {
    const eg_training_param *param = &s.step.params[p];
    assert_string_equal(eg_graph_value(s.forward, param->weight)->name, param_names[p]);
    const eg_training_state states[] = {param->value, param->sum, param->state[0],
                                        param->state[1]};
    static const char *const suffixes[] = {"", ".sum", ".m", ".v"};
    for (int i = 0; i < 4; i++) {
      char name[32];
      snprintf(name, sizeof name, "%s%s", param_names[p], suffixes[i]);
      const eg_value_info *entry = eg_graph_value(graph, states[i].entry);
      const eg_value_info *exit = eg_graph_value(graph, states[i].exit);
      assert_int_equal(entry->kind, EG_VALUE_INPUT);
      assert_string_equal(entry->name, name);
      assert_true(eg_type_same(&entry->type, &exit->type));
      assert_int_equal(output_named(graph, name).id, states[i].exit.id);
    }
  }
  stepper_deinit(&s);
}

typedef struct bad_step {
  const char *text;
  uint32_t output, micro_batches;
  egraph_status status;
  const char *message;
} bad_step;

static void wrong_input_is_refused(void **state) {
  (void)state;
#define HEAD "(egraph-graph 1)(input x \"float32[1,4,2]\")(weight w \"float32[4]\")"
  static const bad_step rows[] = {
      {NETWORK("float32", "8"), 1, 1, EGRAPH_E_ARGUMENT, "has 1 outputs"},
      {NETWORK("float32", "8"), 0, 0, EGRAPH_E_ARGUMENT, "micro_batches is 0"},
      {HEAD "(let y (relu x))(output y)", 0, 1, EGRAPH_E_ARGUMENT, "nothing to train"},
      {HEAD "(let s (shape :start 0 :end 1 w))(output s)", 0, 1, EGRAPH_E_TYPE,
       "cannot be taken of int64[1]"},
      {HEAD "(let a (reshape :shape [2 2 1] w))(let y (merge-gconv :group 2 :count 2 a))"
            "(output y)",
       0, 1, EGRAPH_E_UNSUPPORTED, "merge-gconv (node 1): merge-gconv: is not"},
      {HEAD "(let y (opaque LSTM w) :types [\"float32[2]\"] :record \"00\")(output y)", 0,
       1, EGRAPH_E_UNSUPPORTED, "opaque: is not differentiable"},
      {HEAD "(let y (opaque LSTM w) :types [none] :record \"00\")(output y)", 0, 1,
       EGRAPH_E_TYPE, "the type of output 'y' is not known"},
      {"(egraph-graph 1)(input target \"float32[4]\")(weight w \"float32[4]\")"
       "(let y (mul target w))(output y)",
       0, 1, EGRAPH_E_ARGUMENT, "'target' is taken"},
  };
#undef HEAD
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    eg_graph *graph = kit_parse("model", rows[i].text);
    eg_training step;
    eg_training_options options = options_of(EG_OPTIMIZER_SGD);
    options.output = rows[i].output;
    options.micro_batches = rows[i].micro_batches;
    assert_fails(eg_training_step(graph, &options, &step), rows[i].status,
                 rows[i].message);
    eg_graph_destroy(graph);
  }
}

// A weight behind rounding has a gradient: zero.
static void a_weight_without_influence_keeps_its_value(void **state) {
  (void)state;
  stepper s;
  eg_training_options options = options_of(EG_OPTIMIZER_SGD);
  stepper_init(&s,
               "(egraph-graph 1)(input x \"float64[3]\")(weight w \"float64[3]\")"
               "(let r (round w))(let y (mul x r))(output y)",
               &options);
  stepper_set(&s, "w", 1.75);
  stepper_set(&s, "x", 3);
  stepper_set(&s, "learning_rate", 1);
  assert_true(stepper_run(&s) == 36);
  for (int i = 0; i < 3; i++)
    assert_true(eg_tensor_get_double(stepper_output(&s, "w"), i) == 1.75);
  stepper_deinit(&s);
}

static void copy_named(stepper *from, const char *output, stepper *to,
                       const char *input) {
  const eg_tensor *made = stepper_output(from, output);
  eg_tensor *given = stepper_input(to, input);
  assert_true(eg_type_bytes(&made->type) == eg_type_bytes(&given->type));
  memcpy(given->data, made->data, eg_type_bytes(&made->type));
}

static void expect_same(stepper *a, stepper *b, const char *output) {
  const eg_tensor *x = stepper_output(a, output), *y = stepper_output(b, output);
  for (int64_t i = 0; i < eg_type_elements(&x->type); i++)
    assert_true(fabs(eg_tensor_get_double(x, i) - eg_tensor_get_double(y, i)) < 1e-12);
}

#define STAGE_LEAVES(more)                                                               \
  "(egraph-graph 1)(input x \"float64[4,3]\")(weight v \"float64[3,5]\")" more
#define STAGE_FRONT "(let p (matmul x v))(let h (tanh p))(let s (mul h h))"
#define STAGE_BACK                                                                       \
  "(let q (matmul h w))(let r (reduce-sum :axes [1] :keepdims 1 s))(let y (add q r))"    \
  "(output y)"

/// Two stages, of which one sends two values to the other, make the step of the whole.
static void stages_make_the_step_of_the_whole(void **state) {
  (void)state;
  static const char *const sent_back[] = {"h", "s"};
  eg_rng rng = {test_seed(5)};
  eg_training_options whole_options = options_of(EG_OPTIMIZER_SGD),
                      front_options = whole_options, back_options = whole_options;
  stepper whole, front, back;
  front_options.is_inner = true;
  back_options.sent_back = sent_back;
  back_options.sent_back_count = 2;
  stepper_init(&whole, STAGE_LEAVES("(weight w \"float64[5,2]\")") STAGE_FRONT STAGE_BACK,
               &whole_options);
  stepper_init(&front, STAGE_LEAVES("") STAGE_FRONT "(output h)(output s)",
               &front_options);
  stepper_init(&back,
               "(egraph-graph 1)(input h \"float64[4,5]\")(input s \"float64[4,5]\")"
               "(weight w \"float64[5,2]\")" STAGE_BACK,
               &back_options);
  static const char *const drawn[] = {"x", "v", "w", "target"};
  for (size_t i = 0; i < 4; i++) {
    stepper_draw(&whole, drawn[i], &rng, 2);
    stepper *to = i < 2 ? &front : &back;
    const eg_tensor *from = stepper_input(&whole, drawn[i]);
    memcpy(stepper_input(to, drawn[i])->data, from->data, eg_type_bytes(&from->type));
  }
  stepper_set(&whole, "learning_rate", 0.25);
  stepper_set(&front, "learning_rate", 0.25);
  stepper_set(&back, "learning_rate", 0.25);
  double loss = stepper_run(&whole);
  assert_ok(eg_session_run(front.session, front.inputs.items, front.outputs.items));
  copy_named(&front, "h", &back, "h");
  copy_named(&front, "s", &back, "s");
  assert_true(fabs(stepper_run(&back) - loss) < 1e-12);
  copy_named(&back, "h.cotangent", &front, "h.cotangent");
  copy_named(&back, "s.cotangent", &front, "s.cotangent");
  assert_ok(eg_session_run(front.session, front.inputs.items, front.outputs.items));
  expect_same(&whole, &front, "v");
  expect_same(&whole, &back, "w");
  stepper_deinit(&back);
  stepper_deinit(&front);
  stepper_deinit(&whole);
}

static void a_stage_sends_back_for_inputs_alone(void **state) {
  (void)state;
  static const char *const wrong[] = {"v"};
  eg_training_options options = options_of(EG_OPTIMIZER_SGD);
  eg_training step;
  options.sent_back = wrong;
  options.sent_back_count = 1;
  eg_graph *graph = kit_parse("model", STAGE_LEAVES("") STAGE_FRONT "(output s)");
  assert_fails(eg_training_step(graph, &options, &step), EGRAPH_E_ARGUMENT,
               "no floating-point input 'v'");
  eg_graph_destroy(graph);
}

static egraph_status make_step(egraph_allocator alloc, void *user) {
  static const char text[] = NETWORK("float32", "8");
  eg_graph *graph;
  eg_training step;
  EG_TRY(eg_graph_parse(&alloc, "model", text, sizeof text - 1, &graph));
  egraph_status status = eg_training_step(graph, user, &step);
  if (status == EGRAPH_OK) eg_training_deinit(&step);
  eg_graph_destroy(graph);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_CROSS_ENTROPY;
  options.micro_batches = 2;
  options.clip_norm = 1;
  options.precision = EG_PRECISION_BF16;
  test_every_allocation_failing(make_step, &options);
  options.precision = EG_PRECISION_BF16_WEIGHTS;
  test_every_allocation_failing(make_step, &options);
  static const char *const sent_back[] = {"x"};
  options.is_inner = true;
  options.sent_back = sent_back;
  options.sent_back_count = 1;
  test_every_allocation_failing(make_step, &options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(optimizers_agree_with_plain_c),
      cmocka_unit_test(gradients_are_clipped_by_their_common_norm),
      cmocka_unit_test(micro_batches_add_up_to_the_batch),
      cmocka_unit_test(mixed_precision_stays_near_full_precision),
      cmocka_unit_test(sums_in_bfloat16_stay_near_full_precision),
      cmocka_unit_test(copies_in_bfloat16_train_the_same_bits),
      cmocka_unit_test(mixed_precision_bears_names_like_its_own),
      cmocka_unit_test(mixed_precision_computes_in_bfloat16_and_keeps_float32),
      cmocka_unit_test(names_are_found_again),
      cmocka_unit_test(entries_and_exits_have_one_name_and_type),
      cmocka_unit_test(wrong_input_is_refused),
      cmocka_unit_test(a_weight_without_influence_keeps_its_value),
      cmocka_unit_test(stages_make_the_step_of_the_whole),
      cmocka_unit_test(a_stage_sends_back_for_inputs_alone),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
