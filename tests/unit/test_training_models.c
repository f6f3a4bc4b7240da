// Training steps of whole models in float64: what plain gradient descent takes from each
// weight, against finite differences of the loss.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "pcg/graph/graph_copy.h"
#include "tests/unit/training_kit.h"

#define LET(name, term) "(let " name " (" term "))"
#define F64(kind, name, dims) "(" kind " " name " \"float64[" dims "]\")"

static const char perceptron[] = "(egraph-graph 1)" F64("input", "x", "4,3")
    F64("weight", "w1", "3,5") F64("weight", "b1", "5") F64("weight", "w2", "5,3")
        F64("weight", "b2", "3") LET("h", "matmul :act gelu x w1 b1")
            LET("p", "matmul h w2") LET("y", "add p b2") "(output y)";

static const char convolutions[] = "(egraph-graph 1)" F64("input", "x", "2,2,6,6")
    F64("weight", "w1", "4,2,3,3") F64("weight", "c1", "4") F64("weight", "s", "4") F64(
        "weight", "b", "4") F64("weight", "mean", "4") F64("weight", "variance", "4")
        F64("weight", "w2", "4,2,3,3") F64("weight", "w3", "3,4") F64("weight", "b3", "3")
            LET("a", "conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w1 c1") LET(
                "v", "square variance") LET("n", "batch-normalization a s b mean v")
                LET("r", "relu n") LET(
                    "m", "max-pool :kernel_shape [3 3] :strides [2 2] :pads [0 0 0 0]"
                         " :dilations [1 1] :ceil_mode 1 r")
                    LET("c",
                        "conv :strides [2 1] :pads [1 0 0 1] :dilations [1 1] :group 2"
                        " :act leaky-relu :act_alpha 0.1 m w2")
                        LET("g", "global-average-pool c") LET("f", "flatten g")
                            LET("y", "gemm :transB 1 f w3 b3") "(output y)";

static const char block[] = "(egraph-graph 1)" F64("input", "x", "2,3,4") F64(
    "weight", "s1", "4") F64("weight", "b1", "4") F64("weight", "wq", "4,4")
    F64("weight", "wk", "4,4") F64("weight", "wv", "4,4") F64("weight", "wo", "4,4") F64(
        "weight", "s2", "4") F64("weight", "w1", "4,6") F64("weight", "w2", "6,4")
        F64("weight", "wy", "4,5") LET("n", "layer-normalization x s1 b1") LET(
            "q0", "matmul n wq") LET("k0", "matmul n wk") LET("v0", "matmul n wv")
            LET("q1", "reshape :shape [2 3 2 2] q0") LET("k1",
                                                         "reshape :shape [2 3 2 2] k0")
                LET("v1", "reshape :shape [2 3 2 2] v0") LET(
                    "q", "transpose :perm [0 2 1 3] q1")
                    LET("k", "transpose :perm [0 2 1 3] k1") LET(
                        "v", "transpose :perm [0 2 1 3] v1") LET("scores",
                                                                 "matmul :transB 1 q k")
                        LET("root", "fill :dtype float64 :shape [] :value 0.7") LET(
                            "scaled", "mul scores root") LET("weights", "softmax scaled")
                            LET("read", "matmul weights v")
                                LET("back", "transpose :perm [0 2 1 3] read")
                                    LET("joined", "reshape :shape [2 3 4] back") LET(
                                        "o", "matmul joined wo") LET("r1", "add x o")
                                        LET("n2", "rms-normalization r1 s2") LET(
                                            "h", "matmul n2 w1")
                                            LET("g", "gelu :approximate tanh h") LET(
                                                "m", "matmul g w2") LET("r2", "add r1 m")
                                                LET("y", "matmul r2 wy") "(output y)";

// The table is used twice, as an embedding and as the classifier.
static const char embedding[] =
    "(egraph-graph 1)(input ids \"int64[2,4]\")" F64("weight", "table", "5,3")
        F64("weight", "place", "4,3") F64("weight", "w", "3,6") F64("weight", "u", "3,3")
            LET("e", "gather table ids") LET("p", "add e place")
                LET("t", "matmul p w") "(let [a b] (split :axis -1 :sizes [3 3] t))" LET(
                    "gate", "sigmoid b") LET("z", "mul a gate") LET("zu", "matmul z u")
                    LET("y", "matmul :transB 1 zu table") "(output y)";

typedef struct model {
  const char *name, *text, *input;
  eg_loss loss;
  uint64_t classes;
} model;

static const model models[] = {
    {"perceptron", perceptron, "x", EG_LOSS_SQUARED_ERROR, 0},
    {"perceptron", perceptron, "x", EG_LOSS_CROSS_ENTROPY, 3},
    {"perceptron", perceptron, "x", EG_LOSS_CROSS_ENTROPY_OF, 3},
    {"convolutions", convolutions, "x", EG_LOSS_CROSS_ENTROPY, 3},
    {"block", block, "x", EG_LOSS_CROSS_ENTROPY, 5},
    {"embedding", embedding, "ids", EG_LOSS_CROSS_ENTROPY, 5},
};

static eg_training_options descent(eg_loss loss) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = loss;
  options.optimizer = EG_OPTIMIZER_SGD;
  return options;
}

static const char *param_name(const stepper *s, uint32_t i) {
  return eg_graph_value(s->step.graph, s->step.params[i].value.entry)->name;
}

static void draw_all(stepper *s, const model *m, eg_rng *rng) {
  stepper_draw(s, m->input, rng, m->classes);
  stepper_draw(s, "target", rng, m->classes);
  stepper_set(s, "learning_rate", 1);
  for (uint32_t i = 0; i < s->step.param_count; i++)
    stepper_draw(s, param_name(s, i), rng, 1);
}

// With learning rate 1 the gradient is what the weight loses.
static void check_param(stepper *s, const model *m, const char *name) {
  const double step = 1e-5;
  eg_tensor *w = stepper_input(s, name);
  int64_t count = eg_type_elements(&w->type);
  double *gradient = malloc((size_t)count * sizeof *gradient);
  assert_non_null(gradient);
  (void)stepper_run(s);
  for (int64_t i = 0; i < count; i++)
    gradient[i] =
        eg_tensor_get_double(w, i) - eg_tensor_get_double(stepper_output(s, name), i);
  for (int64_t i = 0; i < count; i++) {
    double at = eg_tensor_get_double(w, i);
    eg_tensor_set_double(w, i, at - step);
    double below = stepper_run(s);
    eg_tensor_set_double(w, i, at + step);
    double want = (stepper_run(s) - below) / (2 * step);
    eg_tensor_set_double(w, i, at);
    if (!(fabs(want - gradient[i]) <= 1e-7 * fmax(1, fabs(want))))
      fail_msg("%s: element %lld of %s: %.12g, by differences %.12g", m->name,
               (long long)i, name, gradient[i], want);
  }
  free(gradient);
}

static void steps_of_whole_models_agree_with_finite_differences(void **state) {
  (void)state;
  eg_rng rng = {test_seed(5)};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    stepper s;
    eg_training_options options = descent(models[i].loss);
    stepper_init(&s, models[i].text, &options);
    draw_all(&s, &models[i], &rng);
    for (uint32_t p = 0; p < s.step.param_count; p++)
      check_param(&s, &models[i], param_name(&s, p));
    stepper_deinit(&s);
  }
}

// The same model in float32.
static char *narrowed(const char *text) {
  size_t length = strlen(text);
  char *copy = malloc(length + 1);
  assert_non_null(copy);
  memcpy(copy, text, length + 1);
  for (char *at = strstr(copy, "float64"); at != NULL; at = strstr(at, "float64"))
    memcpy(at, "float32", strlen("float32"));
  return copy;
}

// The loss and all that Adam changes, on oneDNN and by the reference kernels.
static void steps_run_on_the_cpu_back_end(void **state) {
  (void)state;
  eg_rng rng = {test_seed(6)};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    stepper s;
    kit_tensors outputs;
    eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
    options.loss = models[i].loss;
    options.clip_norm = 1;
    char *text = narrowed(models[i].text);
    stepper_init(&s, text, &options);
    draw_all(&s, &models[i], &rng);
    stepper_set(&s, "step", 1);
    (void)stepper_run(&s);
    kit_run(s.step.graph, "cpu", 1, &s.inputs, &outputs);
    double error = kit_error(&s.outputs, &outputs);
    if (!(error <= 1e-3)) fail_msg("%s: error %g", models[i].name, error);
    kit_tensors_deinit(&outputs);
    stepper_deinit(&s);
    free(text);
  }
}

// ---- what is in the graph -------------------------------------------------------

static bool same_node(const eg_graph_node_info *a, const eg_graph_node_info *b) {
  return a->attrs == b->attrs && a->input_count == b->input_count &&
         (a->input_count == 0 ||
          memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) == 0);
}

static void no_node_is_dead_or_there_twice(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    stepper s;
    eg_training_options options = descent(models[i].loss);
    options.optimizer = EG_OPTIMIZER_ADAMW;
    options.weight_decay = 0.1;
    options.clip_norm = 1;
    options.micro_batches = 4;
    stepper_init(&s, models[i].text, &options);
    eg_graph *pruned;
    assert_ok(eg_graph_pruned(s.step.graph, &pruned));
    uint32_t count = eg_graph_node_count(s.step.graph);
    assert_int_equal(eg_graph_node_count(pruned), count);
    eg_graph_destroy(pruned);
    for (uint32_t a = 0; a < count; a++)
      for (uint32_t b = 0; b < a; b++) {
        eg_graph_node_info x = eg_graph_node_at(s.step.graph, (eg_graph_node){a});
        eg_graph_node_info y = eg_graph_node_at(s.step.graph, (eg_graph_node){b});
        assert_false(same_node(&x, &y));
      }
    stepper_deinit(&s);
  }
}

static uint32_t count_nodes(const eg_training *step, eg_phase phase, eg_op op) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < eg_graph_node_count(step->graph); n++) {
    eg_graph_node node = {n};
    count += eg_training_phase(step, node) == phase &&
             (eg_op)eg_graph_node_at(step->graph, node).attrs->op == op;
  }
  return count;
}

// Transposes of activations (the heads of attention) are moved back, weights are not
// moved.
static void backward_reads_weights_as_they_are(void **state) {
  (void)state;
  stepper s;
  eg_training_options options = descent(EG_LOSS_CROSS_ENTROPY);
  stepper_init(&s, block, &options);
  assert_int_equal(count_nodes(&s.step, EG_PHASE_FORWARD, EG_OP_TRANSPOSE), 4);
  assert_int_equal(count_nodes(&s.step, EG_PHASE_BACKWARD, EG_OP_TRANSPOSE), 4);
  assert_int_equal(count_nodes(&s.step, EG_PHASE_FORWARD, EG_OP_MATMUL), 9);
  // Each of the 6 activations, and both operands of the 2 products of attention; each of
  // the 7 weights.
  assert_int_equal(count_nodes(&s.step, EG_PHASE_BACKWARD, EG_OP_MATMUL), 11);
  assert_int_equal(count_nodes(&s.step, EG_PHASE_BACKWARD, EG_OP_EINSUM), 7);
  assert_int_equal(s.step.param_count, 10);
  stepper_deinit(&s);
}

// What phase O reads of the phases before it are accumulators only.
static void the_update_reads_accumulators_and_states_only(void **state) {
  (void)state;
  stepper s;
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.micro_batches = 2;
  options.clip_norm = 1;
  stepper_init(&s, embedding, &options);
  const eg_training *step = &s.step;
  bool *constant = calloc(eg_graph_value_count(step->graph), sizeof *constant);
  assert_non_null(constant);
  assert_ok(eg_graph_weight_only(step->graph, constant));
  for (uint32_t n = step->phase_begin[EG_PHASE_UPDATE];
       n < eg_graph_node_count(step->graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(step->graph, (eg_graph_node){n});
    for (uint32_t i = 0; i < node.input_count; i++) {
      const eg_value_info *info = eg_graph_value(step->graph, node.inputs[i]);
      bool allowed = info->kind != EG_VALUE_COMPUTED || constant[node.inputs[i].id] ||
                     eg_training_phase(step, info->node) == EG_PHASE_UPDATE;
      for (uint32_t p = 0; p < step->param_count; p++)
        allowed = allowed || step->params[p].sum.exit.id == node.inputs[i].id;
      assert_true(allowed);
    }
  }
  free(constant);
  stepper_deinit(&s);
}

static void statistics_of_batch_normalization_are_not_trained(void **state) {
  (void)state;
  static const char text[] = "(egraph-graph 1)" F64("input", "x", "2,3")
      F64("weight", "s", "3") F64("weight", "b", "3") F64("weight", "mean", "3")
          F64("weight", "variance", "3")
              LET("y", "batch-normalization x s b mean variance") "(output y)";
  stepper s;
  eg_training_options options = descent(EG_LOSS_SQUARED_ERROR);
  stepper_init(&s, text, &options);
  assert_int_equal(s.step.param_count, 2);
  assert_string_equal(param_name(&s, 0), "s");
  assert_string_equal(param_name(&s, 1), "b");
  stepper_deinit(&s);
}

static void scalars_and_frozen_weights_are_not_trained(void **state) {
  (void)state;
  static const char text[] = "(egraph-graph 1)" F64("input", "x", "2,3")
      F64("weight", "s", "") F64("weight", "w", "3,3") F64("weight", "b", "3")
          LET("p", "matmul x w") LET("q", "mul p s") LET("y", "add q b") "(output y)";
  static const char *const frozen[] = {"w"};
  stepper s;
  eg_training_options options = descent(EG_LOSS_SQUARED_ERROR);
  options.parameters = (eg_parameter_wish){.freeze = frozen, .freeze_count = 1};
  stepper_init(&s, text, &options);
  assert_int_equal(s.step.param_count, 1);
  assert_string_equal(param_name(&s, 0), "b");
  assert_int_equal(count_nodes(&s.step, EG_PHASE_BACKWARD, EG_OP_MATMUL), 0);
  stepper_deinit(&s);
  eg_graph *graph = kit_parse("model", text);
  static const char *const unknown[] = {"q"};
  options.parameters.freeze = unknown;
  eg_training step;
  assert_fails(eg_training_step(graph, &options, &step), EGRAPH_E_ARGUMENT,
               "has a name like 'q'");
  eg_graph_destroy(graph);
}

static void steps_are_the_same_each_time_and_as_text(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
    options.loss = models[i].loss;
    eg_text text[3];
    for (int n = 0; n < 3; n++)
      eg_text_init(&text[n], eg_allocator_heap());
    for (int n = 0; n < 2; n++) {
      stepper s;
      stepper_init(&s, models[i].text, &options);
      assert_ok(eg_graph_print(s.step.graph, &text[n]));
      stepper_deinit(&s);
    }
    eg_graph *back = kit_parse("step", eg_text_of(&text[0]));
    assert_ok(eg_graph_print(back, &text[2]));
    eg_graph_destroy(back);
    assert_string_equal(eg_text_of(&text[0]), eg_text_of(&text[1]));
    assert_string_equal(eg_text_of(&text[0]), eg_text_of(&text[2]));
    for (int n = 0; n < 3; n++)
      eg_text_deinit(&text[n]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_of_whole_models_agree_with_finite_differences),
      cmocka_unit_test(steps_run_on_the_cpu_back_end),
      cmocka_unit_test(no_node_is_dead_or_there_twice),
      cmocka_unit_test(backward_reads_weights_as_they_are),
      cmocka_unit_test(the_update_reads_accumulators_and_states_only),
      cmocka_unit_test(statistics_of_batch_normalization_are_not_trained),
      cmocka_unit_test(scalars_and_frozen_weights_are_not_trained),
      cmocka_unit_test(steps_are_the_same_each_time_and_as_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
