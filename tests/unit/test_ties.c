// Weights that several operators share: found with their uses, untied, and trained then
// as those of a model that was written with separate weights.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/ties.h"
#include "tests/unit/training_kit.h"

// As PyTorch's exporter merges the gains of three normalizations; the embedding e is the
// output projection, too, and meant to be.
static const char *const tied = "(egraph-graph 1)(input i \"int64[6]\")(weight e "
                                "\"float32[5,4]\")(weight g \"float32[4]\")"
                                "(weight z \"float32[4]\")(weight w \"float32[4,4]\")"
                                "(let x (gather :axis 0 e i))"
                                "(let h1 (layer-normalization x g z))"
                                "(let m (matmul h1 w))"
                                "(let norm2 (identity g))"
                                "(let h2 (layer-normalization m norm2 z))"
                                "(let h3 (layer-normalization h2 g z))"
                                "(let t (transpose :perm [1 0] e))"
                                "(let y (matmul h3 t))(output y)";
static const char *const separate =
    "(egraph-graph 1)(input i \"int64[6]\")(weight e \"float32[5,4]\")(weight g "
    "\"float32[4]\")"
    "(weight z \"float32[4]\")(weight w \"float32[4,4]\")"
    "(let x (gather :axis 0 e i))"
    "(let h1 (layer-normalization x g z))"
    "(let m (matmul h1 w))"
    "(weight norm2 \"float32[4]\")(weight z_2 \"float32[4]\")"
    "(let h2 (layer-normalization m norm2 z_2))"
    "(weight g_2 \"float32[4]\")(weight z_3 \"float32[4]\")"
    "(let h3 (layer-normalization h2 g_2 z_3))"
    "(let t (transpose :perm [1 0] e))"
    "(let y (matmul h3 t))(output y)";

static const eg_parameter_wish all = {.freeze = NULL};
static const char *const gains[] = {"g", "z"};

static eg_graph *untie(const char *text, const char *const *patterns, uint32_t count) {
  eg_graph *graph = kit_parse("model", text), *out;
  assert_ok(
      eg_ties_untie(graph, eg_graph_output(graph, 0, NULL), &all, patterns, count, &out));
  assert_ok(eg_graph_check(out));
  eg_graph_destroy(graph);
  return out;
}

static void assert_text(const eg_graph *graph, const char *expected) {
  eg_graph *other = kit_parse("expected", expected);
  eg_text a, b;
  eg_text_init(&a, eg_graph_allocator(graph));
  eg_text_init(&b, eg_graph_allocator(graph));
  assert_ok(eg_graph_print(graph, &a));
  assert_ok(eg_graph_print(other, &b));
  assert_string_equal(eg_text_of(&a), eg_text_of(&b));
  eg_text_deinit(&b);
  eg_text_deinit(&a);
  eg_graph_destroy(other);
}

static void uses_are_found_through_operators_of_one_operand(void **state) {
  (void)state;
  static const struct {
    const char *weight, *node;
  } expected[] = {{"e", "x"},  {"e", "y"},  {"g", "h1"}, {"g", "h2"},
                  {"g", "h3"}, {"z", "h1"}, {"z", "h2"}, {"z", "h3"}};
  eg_graph *graph = kit_parse("model", tied);
  eg_tie_uses uses;
  eg_tie_uses_init(&uses, eg_graph_allocator(graph));
  assert_ok(eg_ties_find(graph, eg_graph_output(graph, 0, NULL), &all, &uses));
  assert_int_equal(uses.len, 8);
  for (size_t i = 0; i < uses.len; i++) {
    eg_graph_node_info node = eg_graph_node_at(graph, uses.data[i].node);
    assert_string_equal(eg_graph_value(graph, uses.data[i].weight)->name,
                        expected[i].weight);
    assert_string_equal(eg_graph_value(graph, node.results[0])->name, expected[i].node);
  }
  // What is frozen is tied to nothing; nor is what an operator reads twice.
  static const char *const frozen[] = {"*"};
  const eg_parameter_wish none = {.freeze = frozen, .freeze_count = 1};
  uses.len = 0;
  assert_ok(eg_ties_find(graph, eg_graph_output(graph, 0, NULL), &none, &uses));
  assert_int_equal(uses.len, 0);
  eg_graph_destroy(graph);
  graph = kit_parse(
      "twice", "(egraph-graph 1)(input x \"float32[4,4]\")(weight w \"float32[4,4]\")"
               "(let v (add w w))(let y (mul x v))(output y)");
  uses.len = 0;
  assert_ok(eg_ties_find(graph, eg_graph_output(graph, 0, NULL), &all, &uses));
  assert_int_equal(uses.len, 0);
  eg_graph_destroy(graph);
  eg_tie_uses_deinit(&uses);
}

static void each_use_gets_a_weight_of_its_own(void **state) {
  (void)state;
  static const char *const everything[] = {"*"}, *const one[] = {"e"};
  eg_graph *graph = untie(tied, gains, 2);
  assert_text(graph, separate);
  eg_graph_destroy(graph);
  // What is made of the tied weight is made of each of its own; names stay unique.
  graph = untie(tied, one, 1);
  eg_value y, t, w;
  assert_true(eg_graph_find_value(graph, "y", &y));
  eg_graph_node_info node = eg_graph_node_at(graph, eg_graph_value(graph, y)->node);
  t = node.inputs[1];
  assert_string_equal(eg_graph_value(graph, t)->name, "t");
  w = eg_graph_node_at(graph, eg_graph_value(graph, t)->node).inputs[0];
  assert_string_equal(eg_graph_value(graph, w)->name, "e_2");
  eg_graph_destroy(graph);
  // Untied graphs have no ties left.
  graph = untie(tied, everything, 1);
  eg_tie_uses uses;
  eg_tie_uses_init(&uses, eg_graph_allocator(graph));
  assert_ok(eg_ties_find(graph, eg_graph_output(graph, 0, NULL), &all, &uses));
  assert_int_equal(uses.len, 0);
  eg_tie_uses_deinit(&uses);
  eg_graph_destroy(graph);
}

static void data_is_shared_and_names_are_free(void **state) {
  (void)state;
  static const char *const everything[] = {"*"};
  // "b_2" is taken; b is read through an Identity by the first use, too; an output and an
  // operator beside the loss read what is made of it.
  eg_graph *graph =
      untie("(egraph-graph 1)(input x \"float32[2,2]\")(weight a \"float32[2]\" [3 "
            "5])(weight b_2 \"float32[2]\")"
            "(let b (identity a))(let p (add x b))(let q (mul p b))(let r (mul q b_2))"
            "(let s (mul x b))(output y r)(output s)(output b)",
            everything, 1);
  assert_text(graph,
              "(egraph-graph 1)(input x \"float32[2,2]\")(weight a \"float32[2]\" [3 5])"
              "(weight b_2 \"float32[2]\")"
              "(let b (identity a))(let p (add x b))"
              "(weight b_3 \"float32[2]\" [3 5])(let q (mul p b_3))"
              "(let r (mul q b_2))(let s (mul x b))"
              "(output y r)(output s)(output b)");
  eg_graph_destroy(graph);
}

static void patterns_that_match_no_tie_are_refused(void **state) {
  (void)state;
  static const char *const near[] = {"gaim"}, *const single[] = {"w"},
                           *const everything[] = {"*"};
  eg_graph *graph = kit_parse("model", tied), *out = NULL;
  eg_value y = eg_graph_output(graph, 0, NULL);
  assert_fails(eg_ties_untie(graph, y, &all, single, 1, &out), EGRAPH_E_ARGUMENT,
               "no tied weight has a name like 'w'");
  eg_graph_destroy(graph);
  graph = kit_parse("model", "(egraph-graph 1)(input x \"float32[2,4]\")"
                             "(weight gain \"float32[4]\")(let a (mul x gain))"
                             "(let y (mul a gain))(output y)");
  assert_fails(eg_ties_untie(graph, eg_graph_output(graph, 0, NULL), &all, near, 1, &out),
               EGRAPH_E_ARGUMENT,
               "no tied weight has a name like 'gaim'; did you mean 'gain'?");
  assert_null(out);
  eg_graph_destroy(graph);
  graph = untie("(egraph-graph 1)(input x \"float32[2,4]\")(weight w \"float32[4,4]\")"
                "(let y (matmul x w))(output y)",
                everything, 1);
  assert_int_equal(eg_graph_value_count(graph), 3);
  eg_graph_destroy(graph);
}

// ---- steps ---------------------------------------------------------------------------

enum { STEPS = 4 };

static char *printed(const eg_graph *graph, eg_text *text) {
  eg_text_init(text, eg_graph_allocator(graph));
  assert_ok(eg_graph_print(graph, text));
  return text->chars.data;
}

/// Trains for some steps; `losses` gets their losses.
static void train(const char *text, double *losses, eg_tensor *out_gain) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  eg_rng rng = {test_seed(41)};
  stepper s;
  stepper_init(&s, text, &options);
  for (uint32_t i = 0; i < s.step.param_count; i++) {
    const char *name = eg_graph_value(s.step.graph, s.step.params[i].value.entry)->name;
    bool is_gain = name[0] == 'g' || name[0] == 'n';
    if (name[0] == 'e' || name[0] == 'w')
      stepper_draw(&s, name, &rng, 0);
    else
      stepper_set(&s, name, is_gain ? 1 : 0);
  }
  stepper_draw(&s, "i", &rng, 5);
  stepper_draw(&s, "target", &rng, 5);
  stepper_set(&s, "learning_rate", 0.05);
  for (int step = 0; step < STEPS; step++) {
    stepper_set(&s, "step", step + 1);
    losses[step] = stepper_run(&s);
    for (uint32_t o = 0; o < eg_graph_output_count(s.step.graph); o++) {
      const char *name;
      (void)eg_graph_output(s.step.graph, o, &name);
      if (strcmp(name, "loss") != 0) stepper_carry(&s, name);
    }
  }
  const eg_tensor *gain = stepper_output(&s, "g");
  memcpy(out_gain->data, gain->data, eg_type_bytes(&gain->type));
  stepper_deinit(&s);
}

static void untied_weights_train_as_separate_ones(void **state) {
  (void)state;
  double losses[3][STEPS];
  float gain[3][4];
  eg_graph *graph = untie(tied, gains, 2);
  eg_text text;
  const char *const models[] = {printed(graph, &text), separate, tied};
  for (int i = 0; i < 3; i++) {
    eg_tensor to = {.data = gain[i]};
    train(models[i], losses[i], &to);
  }
  assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
  assert_memory_equal(gain[0], gain[1], sizeof gain[0]);
  assert_true(losses[0][0] == losses[2][0]);
  assert_true(losses[0][STEPS - 1] != losses[2][STEPS - 1]);
  assert_true(losses[0][STEPS - 1] < losses[0][0]);
  eg_text_deinit(&text);
  eg_graph_destroy(graph);
}

static egraph_status untie_with(egraph_allocator alloc, void *user) {
  eg_graph *graph, *out = NULL;
  (void)user;
  EG_TRY(eg_graph_parse(&alloc, "model", user, strlen(user), &graph));
  egraph_status status =
      eg_ties_untie(graph, eg_graph_output(graph, 0, NULL), &all, gains, 2, &out);
  if (status == EGRAPH_OK) eg_graph_destroy(out);
  eg_graph_destroy(graph);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("model", tied);
  eg_text text;
  test_every_allocation_failing(untie_with, printed(graph, &text));
  eg_text_deinit(&text);
  eg_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uses_are_found_through_operators_of_one_operand),
      cmocka_unit_test(each_use_gets_a_weight_of_its_own),
      cmocka_unit_test(data_is_shared_and_names_are_free),
      cmocka_unit_test(patterns_that_match_no_tie_are_refused),
      cmocka_unit_test(untied_weights_train_as_separate_ones),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
