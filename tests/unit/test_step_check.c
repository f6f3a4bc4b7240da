// Steps are equal to what another back-end computes of them, gradients that are nothing
// but rounding among them; planted errors are found.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "exec/step_check.h"
#include "tests/unit/training_kit.h"

// Attention with biases of q, k and v: the softmax cancels what the bias of k adds, so
// that its gradient is zero but for rounding.
#define ATTENTION                                                                        \
  "(egraph-graph 1)(input x \"float32[8,6,16]\")"                                        \
  "(weight wq \"float32[16,16]\")(weight bq \"float32[16]\")"                            \
  "(weight wk \"float32[16,16]\")(weight bk \"float32[16]\")"                            \
  "(weight wv \"float32[16,16]\")(weight bv \"float32[16]\")"                            \
  "(weight wo \"float32[16,5]\")"                                                        \
  "(let q0 (matmul x wq))(let q (add q0 bq))(let k0 (matmul x wk))(let k (add k0 bk))"   \
  "(let v0 (matmul x wv))(let v (add v0 bv))(let s (matmul :transB 1 q k))"              \
  "(let p (softmax s))(let o (matmul p v))(let r (relu o))(let y (matmul r wo))"         \
  "(output y)"

/// A step, and its tensors before and after, in rows of micro-batches.
typedef struct scene {
  eg_graph *forward;
  eg_training step;
  eg_step_check *check;
  kit_tensors before, after; // one micro-batch
} scene;

static eg_training_options options_of(eg_optimizer optimizer) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = optimizer;
  options.weight_decay = 0.01;
  return options;
}

static const char *input_name(const scene *s, uint32_t i) {
  return eg_graph_value(s->step.graph, eg_graph_input(s->step.graph, i))->name;
}

static eg_tensor *input_of(scene *s, const char *name) {
  for (uint32_t i = 0; i < s->before.count; i++)
    if (strcmp(input_name(s, i), name) == 0) return &s->before.items[i];
  fail_msg("no input '%s'", name);
  return NULL;
}

static eg_tensor *output_of(scene *s, const char *name) {
  for (uint32_t o = 0; o < s->after.count; o++) {
    const char *at;
    (void)eg_graph_output(s->step.graph, o, &at);
    if (strcmp(at, name) == 0) return &s->after.items[o];
  }
  fail_msg("no output '%s'", name);
  return NULL;
}

/// The outputs of a step on other kernels than the check has: what a plan leaves, but for
/// the order of its sums.
static void run_step(const eg_graph *step, scene *s) {
  eg_session *session;
  const eg_session_options other = {.backend = "reference", .threads = 1, .seed = 1};
  assert_ok(eg_session_create(NULL, step, &other, &session));
  assert_ok(eg_session_run(session, s->before.items, s->after.items));
  eg_session_destroy(session);
}

static void scene_init(scene *s, const char *text, const eg_training_options *options) {
  *s = (scene){.forward = kit_parse("model", text)};
  eg_rng rng = {test_seed(3)};
  const eg_session_options cpu = EG_SESSION_OPTIONS_DEFAULT;
  assert_ok(eg_training_step(s->forward, options, &s->step));
  assert_ok(eg_step_check_create(NULL, s->step.graph, &cpu, 1, &s->check));
  for (uint32_t i = 0; i < eg_graph_input_count(s->step.graph); i++) {
    eg_value value = eg_graph_input(s->step.graph, i);
    const eg_value_info *info = eg_graph_value(s->step.graph, value);
    kit_tensors_add(&s->before, &info->type);
    const eg_tensor *tensor = &s->before.items[i];
    bool is_state = strchr(info->name, '.') != NULL;
    for (int64_t e = 0; e < eg_type_elements(&tensor->type); e++)
      eg_tensor_set_double(tensor, e, is_state ? 0 : 2 * eg_rng_unit(&rng) - 1);
  }
  kit_outputs_alloc(s->step.graph, &s->after);
  eg_tensor_set_double(input_of(s, "learning_rate"), 0, 0.01);
  if (eg_graph_find_value(s->step.graph, "step", &(eg_value){0}))
    eg_tensor_set_double(input_of(s, "step"), 0, 1);
}

static void scene_deinit(scene *s) {
  kit_tensors_deinit(&s->after);
  kit_tensors_deinit(&s->before);
  eg_step_check_destroy(s->check);
  eg_training_deinit(&s->step);
  eg_graph_destroy(s->forward);
}

/// What a step left is what the next one begins with.
static void go_on(scene *s, double number) {
  for (uint32_t o = 0; o < s->after.count; o++) {
    const char *name;
    (void)eg_graph_output(s->step.graph, o, &name);
    if (strcmp(name, "loss") == 0) continue;
    eg_tensor *to = input_of(s, name);
    memcpy(to->data, s->after.items[o].data, eg_type_bytes(&to->type));
  }
  if (eg_graph_find_value(s->step.graph, "step", &(eg_value){0}))
    eg_tensor_set_double(input_of(s, "step"), 0, number);
}

static eg_step_verdict verdict_of(scene *s) {
  eg_step_verdict verdict;
  assert_ok(eg_step_check_run(s->check, s->before.items, s->after.items, &verdict));
  return verdict;
}

static void assert_equal(scene *s) {
  eg_step_verdict v = verdict_of(s);
  if (!(v.excess <= 1))
    fail_msg("'%s' is off by %g, %g times what is allowed", v.output, v.error, v.excess);
}

static void assert_found(scene *s, const char *output) {
  eg_step_verdict v = verdict_of(s);
  if (!(v.excess > 1)) fail_msg("the error was not found: %g", v.excess);
  assert_string_equal(v.output, output);
}

static void steps_on_other_kernels_are_equal(void **state) {
  (void)state;
  for (int optimizer = 0; optimizer < EG_OPTIMIZER_COUNT; optimizer++) {
    scene s;
    const eg_training_options options = options_of((eg_optimizer)optimizer);
    scene_init(&s, ATTENTION, &options);
    for (int step = 1; step <= 4; step++) {
      run_step(s.step.graph, &s);
      assert_equal(&s);
      go_on(&s, step + 1);
    }
    scene_deinit(&s);
  }
}

// The gradient of bk is noise: its moments may be any such noise, and its weight a step
// of full length in any direction, as long as that is the update of these moments.
static void noise_may_be_any_noise(void **state) {
  (void)state;
  scene s;
  const eg_training_options options = options_of(EG_OPTIMIZER_ADAMW);
  scene_init(&s, ATTENTION, &options);
  run_step(s.step.graph, &s);
  float *m = output_of(&s, "bk.m")->data, *w = output_of(&s, "bk")->data;
  float *v = output_of(&s, "bk.v")->data;
  const float *before = input_of(&s, "bk")->data;
  double scale = 0;
  for (int i = 0; i < 16; i++)
    scale = fmax(scale, fabs(m[i]));
  assert_true(scale > 0 && scale < 1e-7);
  for (int i = 0; i < 16; i++) {
    bool is_larger = i % 2 == 0; // four times the noise, 16 times its square
    m[i] *= is_larger ? 4 : -1;
    v[i] *= is_larger ? 16 : 1;
    w[i] = (float)(before[i] * (1 - 0.01 * 0.01) -
                   0.01 * (m[i] / (1 - 0.9)) / (sqrt(v[i] / (1 - 0.999)) + 1e-8));
  }
  assert_equal(&s);
  w[3] = before[3]; // an update that does not follow from the moments
  assert_found(&s, "bk");
  scene_deinit(&s);
}

// ---- planted errors -------------------------------------------------------------

/// Moments and weight of one parameter as another run left them.
static void take_parameter(scene *s, const kit_tensors *from, const char *name) {
  for (uint32_t o = 0; o < s->after.count; o++) {
    const char *at;
    (void)eg_graph_output(s->step.graph, o, &at);
    size_t length = strlen(name);
    if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == '.'))
      memcpy(s->after.items[o].data, from->items[o].data,
             eg_type_bytes(&s->after.items[o].type));
  }
}

static const char *const weights[] = {"wq", "bq", "wk", "wv", "bv", "wo"};
static const eg_optimizer adams[] = {EG_OPTIMIZER_ADAM, EG_OPTIMIZER_ADAMW};

// One gradient of a rank's part of the batch alone, as if it were not reduced.
static void a_dropped_reduction_is_found(void **state) {
  (void)state;
  for (size_t a = 0; a < 2; a++)
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
      scene s, part;
      const eg_training_options options = options_of(adams[a]);
      scene_init(&s, ATTENTION, &options);
      scene_init(&part, ATTENTION, &options);
      eg_tensor *x = input_of(&part, "x"), *target = input_of(&part, "target");
      run_step(s.step.graph, &s);
      for (int64_t i = 4 * 6 * 16; i < 8 * 6 * 16; i++)
        eg_tensor_set_double(x, i, 0);
      for (int64_t i = 4 * 6 * 5; i < 8 * 6 * 5; i++)
        eg_tensor_set_double(target, i, 0);
      run_step(part.step.graph, &part);
      take_parameter(&s, &part.after, weights[w]);
      eg_step_verdict v = verdict_of(&s);
      assert_true(v.excess > 1);
      assert_int_equal(strncmp(v.output, weights[w], 2), 0);
      scene_deinit(&part);
      scene_deinit(&s);
    }
}

static void a_wrong_beta_is_found(void **state) {
  (void)state;
  for (size_t a = 0; a < 2; a++)
    for (int second = 0; second < 2; second++) {
      scene s, other;
      eg_training_options options = options_of(adams[a]);
      scene_init(&s, ATTENTION, &options);
      *(second ? &options.beta2 : &options.beta1) *= 1.0001;
      scene_init(&other, ATTENTION, &options);
      run_step(other.step.graph, &s);
      eg_step_verdict v = verdict_of(&s);
      assert_true(v.excess > 1);
      scene_deinit(&other);
      scene_deinit(&s);
    }
}

// The second step reads one weight as it was before the first.
static void a_stale_weight_is_found(void **state) {
  (void)state;
  for (size_t a = 0; a < 2; a++)
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
      scene s;
      const eg_training_options options = options_of(adams[a]);
      scene_init(&s, ATTENTION, &options);
      run_step(s.step.graph, &s);
      eg_tensor *weight = input_of(&s, weights[w]);
      size_t bytes = eg_type_bytes(&weight->type);
      char *old = malloc(bytes), *fresh = malloc(bytes);
      assert_true(old != NULL && fresh != NULL);
      memcpy(old, weight->data, bytes);
      go_on(&s, 2);
      memcpy(fresh, weight->data, bytes);
      memcpy(weight->data, old, bytes);
      run_step(s.step.graph, &s);
      memcpy(weight->data, fresh, bytes);
      eg_step_verdict v = verdict_of(&s);
      assert_true(v.excess > 1);
      free(fresh);
      free(old);
      scene_deinit(&s);
    }
}

/// An error of 1e-4 in a gradient, in all its elements, with the update that follows.
static void plant_in_gradient(scene *s, const char *name, double decay_in_gradient) {
  char first[16], second[16];
  snprintf(first, sizeof first, "%s.m", name);
  snprintf(second, sizeof second, "%s.v", name);
  float *m = output_of(s, first)->data, *v = output_of(s, second)->data;
  eg_tensor *w = output_of(s, name);
  const float *before = input_of(s, name)->data;
  for (int64_t i = 0; i < eg_type_elements(&w->type); i++) {
    double g = 10.0 * m[i] * (1 + 1e-4);
    m[i] = (float)(0.1 * g);
    v[i] = (float)(0.001 * g * g);
    double kept = decay_in_gradient > 0 ? 1 : 1 - 0.01 * 0.01;
    ((float *)w->data)[i] =
        (float)(before[i] * kept -
                0.01 * (m[i] / (1 - 0.9)) / (sqrt(v[i] / (1 - 0.999)) + 1e-8));
  }
}

static void an_error_of_1e_4_in_one_gradient_is_found(void **state) {
  (void)state;
  for (size_t a = 0; a < 2; a++)
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
      scene s;
      char moment[16];
      const eg_training_options options = options_of(adams[a]);
      scene_init(&s, ATTENTION, &options);
      run_step(s.step.graph, &s);
      assert_equal(&s);
      plant_in_gradient(&s, weights[w], adams[a] == EG_OPTIMIZER_ADAM ? 1 : 0);
      snprintf(moment, sizeof moment, "%s.m", weights[w]);
      eg_step_verdict v = verdict_of(&s);
      if (!(v.excess > 1)) fail_msg("%s: not found: %g", weights[w], v.excess);
      assert_int_equal(strncmp(v.output, moment, 3), 0);
      scene_deinit(&s);
    }
}

// The kernels of the two sides add 4,096 terms of one sign in other orders, so that they
// differ by far more than a moved input explains.
static void long_sums_may_have_any_order(void **state) {
  (void)state;
  static const char biased[] =
      "(egraph-graph 1)(input x \"float32[2048,96]\")(weight b \"float32[96]\")"
      "(let s (square x))(let y (add s b))(output y)";
  for (size_t a = 0; a < 2; a++) {
    scene s;
    const eg_training_options options = options_of(adams[a]);
    scene_init(&s, biased, &options);
    run_step(s.step.graph, &s);
    assert_equal(&s);
    plant_in_gradient(&s, "b", adams[a] == EG_OPTIMIZER_ADAM ? 1 : 0);
    eg_step_verdict v = verdict_of(&s);
    assert_true(v.excess > 1);
    scene_deinit(&s);
  }
}

static void a_single_number_is_found(void **state) {
  (void)state;
  scene s;
  const eg_training_options options = options_of(EG_OPTIMIZER_SGD);
  scene_init(&s, ATTENTION, &options);
  run_step(s.step.graph, &s);
  float *loss = output_of(&s, "loss")->data, right = *loss;
  *loss = right * 1.0001f;
  assert_found(&s, "loss");
  *loss = NAN;
  assert_found(&s, "loss");
  *loss = right;
  ((float *)output_of(&s, "wo")->data)[7] *= 1.0001f;
  assert_found(&s, "wo");
  scene_deinit(&s);
}

// Sums over micro-batches are compared in each row, the update in the last.
static void micro_batches_are_followed(void **state) {
  (void)state;
  scene s;
  eg_training_options options = options_of(EG_OPTIMIZER_ADAM);
  options.micro_batches = 2;
  scene_init(&s, ATTENTION, &options);
  eg_step_check_destroy(s.check);
  const eg_session_options cpu = EG_SESSION_OPTIONS_DEFAULT;
  assert_ok(eg_step_check_create(NULL, s.step.graph, &cpu, 2, &s.check));
  uint32_t inputs = s.before.count, outputs = s.after.count;
  eg_tensor before[64], after[64];
  assert_true(2 * inputs <= 64 && 2 * outputs <= 64);
  for (uint32_t i = 0; i < inputs; i++)
    before[i] = before[inputs + i] = s.before.items[i]; // the same batch twice
  // What the plan leaves: the first run's sums enter the second.
  run_step(s.step.graph, &s);
  float loss = *(float *)output_of(&s, "loss")->data;
  kit_tensors kept = {0};
  kit_outputs_alloc(s.step.graph, &kept);
  for (uint32_t i = 0; i < inputs; i++) {
    const char *name = input_name(&s, i);
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".sum") == 0)
      memcpy(s.before.items[i].data, output_of(&s, name)->data,
             eg_type_bytes(&s.before.items[i].type));
  }
  run_step(s.step.graph, &s);
  for (uint32_t o = 0; o < outputs; o++) {
    after[o] = after[outputs + o] = s.after.items[o];
    const char *name;
    (void)eg_graph_output(s.step.graph, o, &name);
    if (strcmp(name, "loss") != 0) after[o].data = NULL;
  }
  eg_step_verdict v;
  assert_ok(eg_step_check_run(s.check, before, after, &v));
  assert_true(v.excess <= 1 && loss > 0);
  *(float *)output_of(&s, "loss")->data *= 1.0001f;
  assert_ok(eg_step_check_run(s.check, before, after, &v));
  assert_true(v.excess > 1);
  kit_tensors_deinit(&kept);
  scene_deinit(&s);
}

static egraph_status make_check(egraph_allocator alloc, void *user) {
  scene *s = user;
  eg_step_check *check;
  eg_step_verdict verdict;
  const eg_session_options plain = {.backend = "reference", .threads = 1, .seed = 1};
  EG_TRY(eg_step_check_create(&alloc, s->step.graph, &plain, 1, &check));
  egraph_status status =
      eg_step_check_run(check, s->before.items, s->after.items, &verdict);
  eg_step_check_destroy(check);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  scene s;
  const eg_training_options options = options_of(EG_OPTIMIZER_SGD);
  scene_init(&s,
             "(egraph-graph 1)(input x \"float32[2,3]\")(weight w \"float32[3,2]\")"
             "(let y (matmul x w))(output y)",
             &options);
  run_step(s.step.graph, &s);
  test_every_allocation_failing(make_check, &s);
  scene_deinit(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_on_other_kernels_are_equal),
      cmocka_unit_test(noise_may_be_any_noise),
      cmocka_unit_test(a_dropped_reduction_is_found),
      cmocka_unit_test(a_wrong_beta_is_found),
      cmocka_unit_test(a_stale_weight_is_found),
      cmocka_unit_test(an_error_of_1e_4_in_one_gradient_is_found),
      cmocka_unit_test(long_sums_may_have_any_order),
      cmocka_unit_test(a_single_number_is_found),
      cmocka_unit_test(micro_batches_are_followed),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
