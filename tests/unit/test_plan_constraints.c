// Constraints: their text, what they mean for plans, and what is said of those that name
// nothing or leave nothing.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

// ---- text -----------------------------------------------------------------------------

static egraph_status read_text(eg_plan_constraints *out, const char *text,
                               bool has_head) {
  eg_plan_constraints_init(out, eg_allocator_heap());
  return eg_plan_constraints_parse(out, "file", text, strlen(text), has_head);
}

static void print_all(const eg_plan_constraints *constraints, eg_text *out) {
  for (size_t i = 0; i < constraints->rows.len; i++) {
    assert_ok(eg_plan_constraint_print(out, &constraints->rows.data[i]));
    assert_ok(eg_text_append(out, "\n"));
  }
}

static void statements_print_as_they_are_read(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-constraints 1) ; a comment\n"
      "(pin w1 gpu=S0 node=R) (pin \"a (name)\" *=S)\n"
      "(forbid (all states) R P (axis gpu))\n"
      "(forbid (all activations) S1 all-gather (phase backward))\n"
      "(deliver y *=S1 gpu=?) (deliver (all outputs) node=S) (pin w gpu=?)\n";
  static const char expected[] =
      "(pin \"w1\" gpu=S0)\n(pin \"w1\" node=R)\n(pin \"a (name)\" *=S)\n"
      "(forbid (all states) R P (axis gpu))\n"
      "(forbid (all activations) S1 all-gather (phase backward))\n"
      "(deliver \"y\" *=S1)\n(deliver \"y\" gpu=?)\n(deliver (all outputs) node=S)\n"
      "(pin \"w\" gpu=?)\n";
  eg_plan_constraints first, second;
  eg_text a, b;
  eg_text_init(&a, eg_allocator_heap());
  eg_text_init(&b, eg_allocator_heap());
  assert_ok(read_text(&first, text, true));
  print_all(&first, &a);
  assert_string_equal(eg_text_of(&a), expected);
  assert_int_equal(first.rows.data[1].line, 2);
  assert_int_equal(first.rows.data[1].column, 1);
  assert_ok(read_text(&second, expected, false));
  print_all(&second, &b);
  assert_string_equal(eg_text_of(&b), expected);
  eg_plan_constraints_deinit(&first);
  eg_plan_constraints_deinit(&second);
  eg_text_deinit(&a);
  eg_text_deinit(&b);
}

static void wrong_texts_name_their_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "file:1:1: constraints begin with (egraph-constraints 1)"},
      {"(egraph-constraints 2)", "file:1:1: constraints begin with"},
      {"(egraph-constraints 1)\n pin", "file:2:2: expected (pin VALUE"},
      {"(egraph-constraints 1)\n(pin)", "file:2:1: expected (pin VALUE"},
      {"(egraph-constraints 1)\n(pin w)", "file:2:1: expected (pin VALUE AXIS=LAYOUT"},
      {"(egraph-constraints 1)\n(pin w gpu)", "file:2:8: expected AXIS=LAYOUT"},
      {"(egraph-constraints 1)\n(pin w =R)", "file:2:8: expected AXIS=LAYOUT"},
      {"(egraph-constraints 1)\n(pin w gpu=S99)", "file:2:8: expected AXIS=LAYOUT"},
      {"(egraph-constraints 1)\n(pin w gpu=Q)", "file:2:8: expected AXIS=LAYOUT"},
      {"(egraph-constraints 1)\n(pin (all ducks) gpu=R)", "file:2:6: expected the name"},
      {"(egraph-constraints 1)\n(forbid w)", "file:2:1: expected (forbid VALUE"},
      {"(egraph-constraints 1)\n(forbid w (axis gpu))", "file:2:1: expected (forbid"},
      {"(egraph-constraints 1)\n(forbid w move)", "file:2:11: expected a layout"},
      {"(egraph-constraints 1)\n(forbid w R (axis a) (axis b))",
       "file:2:22: expected one"},
      {"(egraph-constraints 1)\n(forbid w R (phase noon))", "file:2:13: expected one"},
      {"(egraph-constraints 1)\n(pin w gpu=R", "file:2:1: "},
      {"(egraph-constraints 1)\n(deliver y)", "file:2:1: expected (deliver VALUE AXIS"},
      {"(egraph-constraints 1)\n(deliver y gpu=Q)", "file:2:12: expected AXIS=LAYOUT"},
      {"(egraph-constraints 1)\n(deliver (all weights) gpu=R)",
       "file:2:10: expected the name of an output, or (all outputs)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_plan_constraints constraints;
    assert_fails(read_text(&constraints, cases[i].text, true), EGRAPH_E_PARSE,
                 cases[i].message);
    assert_int_equal(constraints.rows.len, 0);
    eg_plan_constraints_deinit(&constraints);
  }
  eg_plan_constraints constraints;
  eg_plan_constraints_init(&constraints, eg_allocator_heap());
  assert_fails(eg_plan_constraints_read(&constraints, "no/such.constraints"), EGRAPH_E_IO,
               "no/such");
  eg_plan_constraints_deinit(&constraints);
}

// ---- plans ----------------------------------------------------------------------------

static const mlp_model perceptron = {
    .layers = 2, .batch = 64, .width = 32, .hidden = 128};

static void setup(planned *p, const char *mesh) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = EG_OPTIMIZER_ADAM;
  options.micro_batches = 2;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, &perceptron);
  planned_init(p, &model, "dgx-h100*1", mesh, &options);
  eg_text_deinit(&model);
}

static egraph_status try_with(planned *p, const char *text) {
  eg_plan_constraints constraints;
  assert_ok(read_text(&constraints, text, false));
  p->constraints = &constraints;
  egraph_status status = planned_try(p, INFINITY);
  p->constraints = NULL;
  eg_plan_constraints_deinit(&constraints);
  return status;
}

static double cost_with(planned *p, const char *text) {
  assert_ok(try_with(p, text));
  assert_true(p->planning.has_plan);
  assert_ok(eg_plan_check(&p->planning.emitted.plan, eg_allocator_heap()));
  return p->planning.cost;
}

/// Whether a value is ever in a layout with this digit on an axis.
static bool is_ever(const planned *p, const char *name, uint32_t axis, uint8_t digit) {
  const eg_plan *plan = &p->planning.emitted.plan;
  for (size_t i = 0; i < plan->states.len; i++)
    if (strcmp(eg_graph_value(plan->graph, plan->states.data[i].value)->name, name) ==
            0 &&
        plan->states.data[i].layout.sharding[axis] == digit)
      return true;
  return false;
}

static void what_is_pinned_is_so_and_no_cheaper(void **state) {
  (void)state;
  planned p;
  setup(&p, "gpu=8");
  double free_cost = cost_with(&p, "");
  static const struct {
    const char *text, *value;
    uint8_t digit;
  } cases[] = {
      {"(pin w0 gpu=S1)", "w0", S1},
      {"(pin w0 gpu=S0)", "w0", S0},
      {"(pin w0.m gpu=S0)", "w0.m", S0},
      {"(pin x1 *=S1)", "x1", S1},
      {"(pin x0 gpu=R)", "x0", R},
      {"(pin w1.sum gpu=P)", "w1.sum", P},
      {"(pin (all weights) *=S1)", "w1", S1},
      {"(pin (all batches) *=S0)", "x0", S0},
      {"(pin (all inputs) *=S0)", "target", S0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(cost_with(&p, cases[i].text) >= free_cost * (1 - 1e-9));
    assert_int_equal(planned_digit(&p, cases[i].value, 0), cases[i].digit);
  }
  planned_deinit(&p);
}

static void what_is_forbidden_is_never_so(void **state) {
  (void)state;
  planned p;
  setup(&p, "a=2,b=4");
  double free_cost = cost_with(&p, "");
  static const uint8_t digits[] = {R, P, S0, S1};
  static const char *const words[] = {"R", "P", "S0", "S1"};
  static const char *const values[] = {"x0", "h0", "x1", "w0", "w1"};
  for (size_t v = 0; v < sizeof values / sizeof *values; v++)
    for (size_t d = 0; d < sizeof digits; d++) {
      char text[64];
      (void)snprintf(text, sizeof text, "(forbid %s %s (axis b))", values[v], words[d]);
      assert_true(cost_with(&p, text) >= free_cost * (1 - 1e-9));
      assert_false(is_ever(&p, values[v], 1, digits[d]));
    }
  planned_deinit(&p);
}

static void forbidden_moves_do_not_happen(void **state) {
  (void)state;
  planned p;
  setup(&p, "gpu=8");
  // Split batches and whole weights leave gradients to be added up.
  static const char batches[] = "(pin (all batches) *=S0) (pin (all weights) *=R)"
                                "(forbid (all activations) all-gather all-to-all)"
                                "(forbid (all batches) all-gather all-to-all)";
  char text[512];
  (void)snprintf(text, sizeof text,
                 "%s(forbid (all sums) all-reduce reduce-scatter (phase backward))"
                 "(forbid (all gradients) all-reduce reduce-scatter)",
                 batches);
  (void)cost_with(&p, text);
  static const double weight = 4.0 * 32 * 128;
  assert_int_equal(planned_count(&p, &(collectives){B, 0, ALL_REDUCE, 0, weight}), 0);
  assert_int_equal(planned_count(&p, &(collectives){B, 0, REDUCE_SCATTER, 0, weight}), 0);
  assert_true(planned_count(&p, &(collectives){U, 0, ALL_REDUCE, 0, weight}) +
                  planned_count(&p, &(collectives){U, 0, REDUCE_SCATTER, 0, weight}) >=
              2);
  planned_deinit(&p);
}

static void statements_that_name_nothing_say_so(void **state) {
  (void)state;
  planned p;
  setup(&p, "gpu=8");
  assert_fails(try_with(&p, "(pin w0 gpu=R)\n(pin w7 gpu=R)"), EGRAPH_E_ARGUMENT,
               "file:2:1: there is no value 'w7' in the step; take the name");
  assert_fails(try_with(&p, "(pin w0 cpu=R)"), EGRAPH_E_ARGUMENT,
               "file:1:1: there is no axis 'cpu' in the mesh gpu=8");
  p.info.micro_batches = 2;
  p.info.carried_count = 0; // nothing is kept: there are no states
  assert_fails(try_with(&p, "(forbid (all states) R)"), EGRAPH_E_ARGUMENT,
               "file:1:1: the step has no states; remove");
  planned_deinit(&p);
}

static void statements_that_leave_nothing_say_so(void **state) {
  (void)state;
  planned p;
  setup(&p, "gpu=8");
  assert_fails(try_with(&p, "(pin w0 gpu=S4)"), EGRAPH_E_ARGUMENT,
               "file:1:1: this leaves 'w0' (float32[32,128]) no layout on axis gpu=8");
  assert_fails(try_with(&p, "(forbid w0 R S1)\n(forbid w0 S0)"), EGRAPH_E_ARGUMENT,
               "file:2:1: this leaves 'w0'");
  assert_fails(try_with(&p, "(pin (all weights) *=R)\n(pin (all weights) *=S)"),
               EGRAPH_E_ARGUMENT, "file:2:1: none of 2 weights can be so");
  // Each has layouts left, but none from which the product can be made.
  assert_fails(try_with(&p, "(pin w1 gpu=S1)\n(forbid h0 S1)\n(forbid w0 R P S0)\n"
                            "(forbid h0 all-gather all-reduce all-to-all)\n"
                            "(pin h0 gpu=R)\n(pin w1 *=S)"),
               EGRAPH_E_ARGUMENT, "no plan; loosen");
  planned_deinit(&p);
}

static void a_kind_leaves_out_what_cannot_be_so(void **state) {
  (void)state;
  static const char text[] = "(egraph-graph 1)\n(input x0 \"float32[64,32]\")\n"
                             "(weight w \"float32[32,30]\") (weight b \"float32[30]\")\n"
                             "(let y (matmul x0 w)) (let z (add y b)) (output z)\n";
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  eg_text model;
  planned p;
  eg_text_init(&model, eg_allocator_heap());
  assert_ok(eg_text_append(&model, text));
  planned_init(&p, &model, "dgx-h100*1", "gpu=8", &options);
  eg_text_deinit(&model);
  (void)cost_with(&p, "(pin (all weights) *=S) (forbid (all states) R)");
  assert_int_equal(planned_digit(&p, "w", 0), S0);
  assert_int_equal(planned_digit(&p, "b", 0), R);
  assert_int_equal(planned_digit(&p, "w.m", 0), S0);
  planned_deinit(&p);
}

// ---- outputs --------------------------------------------------------------------------

/// In which layout an output leaves the step, along an axis.
static uint8_t delivered_digit(const planned *p, const char *output, uint32_t axis) {
  const eg_plan *plan = &p->planning.emitted.plan;
  for (uint32_t o = 0; o < eg_graph_output_count(plan->graph); o++) {
    const char *name;
    (void)eg_graph_output(plan->graph, o, &name);
    if (strcmp(name, output) == 0)
      return plan->states.data[plan->output_states.data[o]].layout.sharding[axis];
  }
  fail_msg("the plan has no output '%s'", output);
  return R;
}

/// y = x w, and z = relu(y), which leaves as "rest".
static void setup_outputs(planned *p, const char *mesh) {
  static const char text[] = "(egraph-graph 1)\n(input x \"float32[64,32]\")\n"
                             "(weight w \"float32[32,30]\")\n"
                             "(let y (matmul x w)) (let z (relu y))\n"
                             "(output y) (output rest z)\n";
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  assert_ok(eg_text_append(&model, text));
  planned_init(p, &model, "dgx-h100*1", mesh, NULL);
  eg_text_deinit(&model);
}

static void outputs_are_delivered_whole_until_told_otherwise(void **state) {
  (void)state;
  planned p;
  setup_outputs(&p, "a=2,b=4");
  double whole = cost_with(&p, "");
  assert_int_equal(delivered_digit(&p, "y", 0), R);
  assert_int_equal(delivered_digit(&p, "rest", 1), R);
  // Of what an axis is told another one is not.
  double one_axis = cost_with(&p, "(deliver y b=S0)");
  assert_int_equal(delivered_digit(&p, "y", 0), R);
  assert_int_equal(delivered_digit(&p, "y", 1), S0);
  assert_int_equal(delivered_digit(&p, "rest", 1), R);
  double both = cost_with(&p, "(deliver (all outputs) *=S0)");
  assert_int_equal(delivered_digit(&p, "y", 0), S0);
  assert_int_equal(delivered_digit(&p, "rest", 1), S0);
  // Whatever is cheapest is no dearer than anything else; nothing is put together.
  double any = cost_with(&p, "(deliver (all outputs) *=?)");
  EXPECT(&p, 0, {F, 0, ALL_GATHER, 0, 0});
  assert_true(any <= both && both < one_axis && one_axis <= whole && any < whole);
  planned_deinit(&p);
}

static void statements_about_an_output_narrow_each_other(void **state) {
  (void)state;
  planned p;
  setup_outputs(&p, "gpu=8");
  (void)cost_with(&p, "(deliver (all outputs) *=?) (deliver y gpu=R)");
  assert_int_equal(delivered_digit(&p, "y", 0), R);
  // Made as partial sums, and yet delivered in parts of rows.
  (void)cost_with(&p, "(deliver y gpu=S0) (pin y gpu=P)");
  assert_int_equal(planned_digit(&p, "y", 0), P);
  assert_int_equal(delivered_digit(&p, "y", 0), S0);
  // A statement before another one does not matter.
  (void)cost_with(&p, "(forbid y R) (deliver y gpu=S0)");
  assert_int_equal(delivered_digit(&p, "y", 0), S0);
  // Of two dimensions one divides.
  (void)cost_with(&p, "(deliver (all outputs) gpu=S)");
  assert_int_equal(delivered_digit(&p, "rest", 0), S0);
  planned_deinit(&p);
}

static void what_cannot_be_delivered_is_refused(void **state) {
  (void)state;
  planned p;
  setup_outputs(&p, "gpu=8");
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"(deliver y gpu=S1)", "file:1:1: this leaves 'y' (float32[64,30]) no layout"},
      {"(deliver y gpu=S0)\n(deliver y gpu=R)", "file:2:1: this leaves 'y'"},
      {"(deliver y gpu=P)", "file:1:1: output 'y' would be delivered as partial results"},
      {"(deliver (all outputs) gpu=M)", "would be delivered as partial results"},
      {"(deliver x gpu=R)", "file:1:1: 'x' is no output of the step"},
      {"(deliver v gpu=R)", "file:1:1: there is no value 'v' in the step"},
      {"(deliver y cpu=R)", "file:1:1: there is no axis 'cpu' in the mesh gpu=8"},
      {"(forbid y R)", "outputs are delivered as R unless (deliver y gpu=S) says"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_fails(try_with(&p, cases[i].text), EGRAPH_E_ARGUMENT, cases[i].message);
  planned_deinit(&p);
}

/// A weight leaves a training step as it entered: to deliver it is to pin it.
static void what_is_carried_is_delivered_as_it_enters(void **state) {
  (void)state;
  planned p;
  setup(&p, "gpu=8");
  const char *name = "", *value = "";
  for (uint32_t o = 0; strcmp(name, "w0") != 0; o++) {
    assert_true(o < eg_graph_output_count(p.step.graph));
    eg_value next = eg_graph_output(p.step.graph, o, &name);
    value = eg_graph_value(p.step.graph, next)->name;
  }
  char text[96];
  (void)snprintf(text, sizeof text, "(deliver %s gpu=S1)", value);
  double delivered = cost_with(&p, text);
  assert_int_equal(planned_digit(&p, "w0", 0), S1);
  double pinned = cost_with(&p, "(pin w0 gpu=S1)");
  assert_true(fabs(delivered - pinned) <= 1e-9 * pinned);
  (void)snprintf(text, sizeof text, "(deliver %s gpu=S1) (pin w0 gpu=S0)", value);
  assert_fails(try_with(&p, text), EGRAPH_E_ARGUMENT, "no plan; loosen");
  planned_deinit(&p);
}

// ---- allocations ----------------------------------------------------------------------

static egraph_status everything(egraph_allocator alloc, void *user) {
  static const char text[] =
      "(pin w0 gpu=S1) (forbid (all states) R) (deliver (all outputs) *=?)";
  const planned *p = user;
  eg_plan_constraints constraints;
  eg_planning planning = {.has_plan = false};
  eg_plan_constraints_init(&constraints, alloc);
  egraph_status status =
      eg_plan_constraints_parse(&constraints, "file", text, sizeof text - 1, false);
  const eg_plan_context context = {.machine = &p->machine};
  const eg_planner_input input = {.context = &context,
                                  .graph = p->step.graph,
                                  .info = &p->info,
                                  .mesh = &p->mesh,
                                  .budget = p->layout,
                                  .constraints = &constraints};
  if (status == EGRAPH_OK) status = eg_planner_run(alloc, &input, &planning);
  eg_planning_deinit(&planning);
  eg_plan_constraints_deinit(&constraints);
  return status;
}

static egraph_status print_one(egraph_allocator alloc, void *user) {
  static const char bad[] = "(pin w9 gpu=S0)";
  const planned *p = user;
  eg_plan_constraints constraints;
  eg_planning planning = {.has_plan = false};
  eg_plan_constraints_init(&constraints, alloc);
  egraph_status status =
      eg_plan_constraints_parse(&constraints, "file", bad, sizeof bad - 1, false);
  const eg_plan_context context = {.machine = &p->machine};
  const eg_planner_input input = {.context = &context,
                                  .graph = p->forward,
                                  .info = &p->info,
                                  .mesh = &p->mesh,
                                  .budget = p->layout,
                                  .constraints = &constraints};
  if (status == EGRAPH_OK) status = eg_planner_run(alloc, &input, &planning);
  eg_planning_deinit(&planning);
  eg_plan_constraints_deinit(&constraints);
  return status == EGRAPH_E_ARGUMENT ? EGRAPH_OK : status;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  planned p;
  setup(&p, "gpu=8");
  test_every_allocation_failing(everything, &p);
  planned_deinit(&p);
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, &perceptron);
  planned_init(&p, &model, "dgx-h100*1", "gpu=8", NULL);
  eg_text_deinit(&model);
  test_every_allocation_failing(print_one, &p);
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(statements_print_as_they_are_read),
      cmocka_unit_test(wrong_texts_name_their_place),
      cmocka_unit_test(what_is_pinned_is_so_and_no_cheaper),
      cmocka_unit_test(what_is_forbidden_is_never_so),
      cmocka_unit_test(forbidden_moves_do_not_happen),
      cmocka_unit_test(statements_that_name_nothing_say_so),
      cmocka_unit_test(statements_that_leave_nothing_say_so),
      cmocka_unit_test(a_kind_leaves_out_what_cannot_be_so),
      cmocka_unit_test(outputs_are_delivered_whole_until_told_otherwise),
      cmocka_unit_test(statements_about_an_output_narrow_each_other),
      cmocka_unit_test(what_cannot_be_delivered_is_refused),
      cmocka_unit_test(what_is_carried_is_delivered_as_it_enters),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
