// Planning against exhaustive search on random small steps: every operator, phases,
// micro-batches, carried values, memory limits, one and two axes, equal terms; and the
// plans that are emitted, whose steps add up to the optimum.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_emit.h"
#include "optimize/search/planner.h"
#include "optimize/space/groups.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/plan_brute.h"
#include "tests/plan_equal_terms.h"

enum { MOST_VISITS = 100000 };

/// A case, what the planner makes of it, and the exhaustive search.
typedef struct trial {
  plan_case c;
  size_t round;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  size_t given_up;
  size_t formatted; // plans with memory formats other than plain
  size_t ahead;     // plans in which something that weights make is there from the start
} trial;

static plan_brute brute;

static bool near(double a, double b) { return fabs(a - b) <= 2e-9 * fabs(b) + 1e-12; }

static void plan(trial *t) {
  egraph_allocator heap = eg_allocator_heap();
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  assert_ok(eg_plan_space_init(&t->space, heap, t->c.egraph, &t->c.info, &t->c.mesh,
                               &t->c.costs));
  assert_ok(eg_plan_model_init(&t->model, heap, &t->space));
  eg_layout_result_init(&t->result, heap);
  assert_ok(eg_layout_solve(heap, &t->model.problem, &options, &t->result));
}

static void forget(trial *t) {
  eg_layout_result_deinit(&t->result);
  eg_plan_model_deinit(&t->model);
  eg_plan_space_deinit(&t->space);
}

static void fail_case(trial *t, const char *what, double got, double wanted) {
  print_message("%s", eg_text_of(&t->c.text));
  fail_msg("round %zu: %s %.17g, wanted %.17g", t->round, what, got, wanted);
}

// ---- emission -----------------------------------------------------------------------

static double seconds_of(const eg_plan *plan) {
  double seconds = 0;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    seconds += step->seconds * (step->phase == EG_PHASE_UPDATE ? 1 : plan->micro_batches);
  }
  return seconds;
}

static bool has_formats(const eg_plan *plan) {
  for (size_t s = 0; s < plan->states.len; s++)
    if (plan->states.data[s].layout.format != EG_FORMAT_PLAIN) return true;
  return false;
}

static bool has_ahead(const eg_plan *plan) {
  for (size_t s = 0; s < plan->states.len; s++)
    if (plan->states.data[s].step == EG_PLAN_NONE &&
        eg_graph_value(plan->graph, plan->states.data[s].value)->kind ==
            EG_VALUE_COMPUTED)
      return true;
  return false;
}

static void expect_emitted(trial *t) {
  eg_emitted_plan emitted;
  assert_ok(eg_plan_emit(&t->model, eg_allocator_heap(), &t->result.solutions.data[0],
                         &emitted));
  assert_ok(eg_plan_check(&emitted.plan, eg_allocator_heap()));
  assert_ok(eg_graph_check(emitted.graph));
  if (!near(seconds_of(&emitted.plan), t->result.cost))
    fail_case(t, "steps take", seconds_of(&emitted.plan), t->result.cost);
  t->formatted += has_formats(&emitted.plan);
  t->ahead += has_ahead(&emitted.plan);
  eg_emitted_plan_deinit(&emitted);
}

// ---- the optimum --------------------------------------------------------------------

/// The most that any row has.
static double most_of(const trial *t, const double *memory) {
  double most = 0;
  for (uint32_t r = 0; r < t->model.problem.memory_rows; r++)
    most = fmax(most, memory[r]);
  return most;
}

static void expect_no_memory(trial *t) {
  double wanted, least = most_of(t, t->result.least_memory);
  if (t->result.status != EG_LAYOUT_NO_MEMORY)
    fail_case(t, "status", t->result.status, EG_LAYOUT_NO_MEMORY);
  bool is_sure = plan_brute_solve(&brute, true, (double)INFINITY, least + 0.5, &wanted);
  if (is_sure && !near(least, wanted)) fail_case(t, "least memory", least, wanted);
  if (is_sure && wanted <= t->c.info.memory_limit)
    fail_case(t, "limit", t->c.info.memory_limit, wanted);
}

static void expect_optimum(trial *t) {
  plan(t);
  if (t->result.solutions.len == 0) {
    expect_no_memory(t);
    return;
  }
  double wanted, cost = t->result.cost;
  if (t->result.status != EG_LAYOUT_OPTIMAL) fail_case(t, "status", t->result.status, 0);
  bool is_sure = plan_brute_solve(&brute, false, t->c.info.memory_limit,
                                  cost * (1 + 1e-9) + 1e-12, &wanted);
  t->given_up += !is_sure;
  if (!near(cost, wanted) || (is_sure && wanted > cost * (1 + 0.9e-9) + 0.9e-12))
    fail_case(t, "cost", cost, wanted);
  expect_emitted(t);
}

static void try_case(trial *t) {
  plan_choices_init(&brute.of, t->c.egraph, &t->c.info, &t->c.mesh, &t->c.costs);
  brute.most_visits = MOST_VISITS;
  expect_optimum(t);
  double memory =
      t->result.solutions.len == 0 ? 0 : most_of(t, t->result.solutions.data[0].memory);
  forget(t);
  if (case_below(&t->c, 2) == 0) return;
  t->c.info.memory_limit =
      floor(memory * (0.4 + 0.6 * eg_rng_unit(&t->c.rng))) + 0.5; // bytes are whole
  expect_optimum(t);
  forget(t);
}

/// Only rules whose nodes have one result each, as the exhaustive search wants.
static bool has_room_for(void *user, uint32_t rule) {
  static const char *const others[] = {"merge", "concat", "parallel"};
  const char *file = eg_rule_file(user, rule);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strstr(file, others[i]) != NULL) return false;
  return true;
}

/// As many nodes as the exhaustive search has room for.
static uint32_t apply(plan_case *c, eg_rules *rules) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  uint32_t before = eg_engine_node_count(eg_tensor_egraph_engine(c->egraph));
  options.node_limit = before < 20 ? 26 : before;
  options.iteration_limit = 2;
  options.use_rule = has_room_for;
  options.use_rule_user = rules;
  assert_ok(eg_plan_apply_rules(c->egraph, &c->info, rules, &options, &report));
  uint32_t made = report.nodes - before;
  eg_saturation_report_deinit(&report);
  return made;
}

/// Adds groups, as far as the exhaustive search has room; returns their number.
static uint32_t group(plan_case *c) {
  eg_engine *engine = eg_tensor_egraph_engine(c->egraph);
  uint32_t before = eg_engine_node_count(engine);
  assert_ok(eg_engine_rebuild(engine));
  assert_ok(eg_groups_add(c->egraph, &c->info, true));
  return eg_engine_node_count(engine) - before;
}

/// `rules` may be NULL.
static void try_rounds(uint64_t seed, size_t rounds, const case_limits *limits,
                       bool has_equal, eg_rules *rules) {
  static trial t;
  uint32_t made = 0, grouped = 0;
  t.given_up = t.formatted = t.ahead = 0;
  for (t.round = 0; t.round < rounds; t.round++) {
    plan_case_init(&t.c, eg_hash_combine(seed, t.round), limits);
    if (has_equal) case_draw_equal(&t.c);
    if (rules != NULL) made += apply(&t.c, rules);
    if (rules == NULL && t.round % 2 == 1) grouped += group(&t.c);
    try_case(&t);
    plan_case_deinit(&t.c);
  }
  print_message("%u nodes made by rules\n", made);
  assert_true(rules == NULL || made > rounds);
  print_message("%u groups\n", grouped);
  assert_true(rules != NULL || limits->formats != 0 || rounds < 60 || grouped != 0);
  print_message("%zu of %zu searches given up\n", t.given_up, 2 * rounds);
  assert_true(t.given_up * 50 <= rounds);
  print_message("%zu plans with memory formats\n", t.formatted);
  print_message("%zu plans with constants made ahead\n", t.ahead);
  bool is_few = rounds < 60; // chance decides which cases they are
  assert_true(is_few || t.ahead * 20 > rounds);
  assert_true(limits->formats == 0 ? t.formatted == 0
                                   : is_few || t.formatted * 15 > rounds);
}

static void steps_on_one_axis_are_planned_to_the_optimum(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 6, .axes = 1, .has_phases = false};
  try_rounds(test_seed(20261101), test_rounds(500), &limits, false, NULL);
}

static void steps_in_phases_are_planned_to_the_optimum(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 5, .axes = 1, .has_phases = true};
  try_rounds(test_seed(20261102), test_rounds(500), &limits, false, NULL);
}

static void steps_on_two_axes_are_planned_to_the_optimum(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 3, .axes = 2, .has_phases = true};
  try_rounds(test_seed(20261103), test_rounds(200), &limits, false, NULL);
}

static void memory_formats_are_planned_to_the_optimum(void **state) {
  (void)state;
  const case_limits one = {
      .nodes = 4, .axes = 1, .formats = 1u << EG_FORMAT_NHWC | 1u << EG_FORMAT_NCHW8C};
  const case_limits two = {.nodes = 2, .axes = 2, .formats = 1u << EG_FORMAT_NCHW8C};
  const case_limits phases = {
      .nodes = 3, .axes = 1, .has_phases = true, .formats = 1u << EG_FORMAT_NHWC};
  try_rounds(test_seed(20261107), test_rounds(200), &one, false, NULL);
  try_rounds(test_seed(20261108), test_rounds(100), &two, false, NULL);
  try_rounds(test_seed(20261109), test_rounds(100), &phases, true, NULL);
}

static void equal_terms_are_chosen_with_their_layouts(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 4, .axes = 1, .has_phases = true};
  try_rounds(test_seed(20261104), test_rounds(500), &limits, true, NULL);
}

/// Every graph that the rules make, in every layout.
static void graphs_that_rules_make_are_chosen_with_their_layouts(void **state) {
  (void)state;
  static const char *const variants[] = {"explore-algebra", "explore-conv",
                                         "explore-matmul"};
  const case_limits limits = {.nodes = 4, .axes = 1, .has_phases = true};
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    assert_ok(eg_rules_enable(rules, variants[i], true));
  try_rounds(test_seed(20261105), test_rounds(100), &limits, false, rules);
  eg_rules_destroy(rules);
}

// ---- by hand ------------------------------------------------------------------------

/// A case of two devices where only compute and collectives' latency cost.
static void trial_read(trial *t, const char *text) {
  t->c = (plan_case){.rng = {1}};
  eg_text_init(&t->c.text, eg_allocator_heap());
  assert_ok(eg_text_append(&t->c.text, text));
  assert_ok(eg_mesh_parse("gpu=2", &t->c.mesh));
  case_draw_prices(&t->c);
  t->c.prices = (case_prices){.per_flop = 1, .latency = {100}};
  for (uint32_t k = 0; k < EG_TRANSITION_KINDS; k++)
    t->c.prices.factor[k] = 1;
  t->c.costs.compute_is_free = false;
  plan_case_read(&t->c, text);
}

/// a (b c) has a product without a name; it must not take one that is still to come.
static void names_of_the_graph_are_kept_for_its_values(void **state) {
  (void)state;
  static trial t;
  trial_read(&t, "(egraph-graph 1)\n"
                 "(input a \"float32[8,2]\")\n"
                 "(input b \"float32[2,8]\")\n"
                 "(input c \"float32[8,2]\")\n"
                 "(let ab (matmul a b))\n"
                 "(let v3 (matmul ab c))\n"
                 "(output v3)\n");
  case_associate_class(&t.c, eg_tensor_egraph_root(t.c.egraph, 0));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(t.c.egraph)));
  plan(&t);
  expect_emitted(&t);
  forget(&t);
  plan_case_deinit(&t.c);
}

/// y = a b = x w is made without w, which it enters the next step as: by two devices it
/// would be cheaper as a partial sum.
static void nothing_leaves_a_step_as_a_partial_sum(void **state) {
  (void)state;
  static trial t;
  trial_read(&t, "(egraph-graph 1)\n"
                 "(input a \"float32[3,2]\")\n"
                 "(input b \"float32[2,3]\")\n"
                 "(input x \"float32[3,3]\")\n"
                 "(input w \"float32[3,3]\")\n"
                 "(let y (matmul a b))\n"
                 "(let z (matmul x w))\n"
                 "(output y)\n");
  eg_value w, z;
  assert_true(eg_graph_find_value(t.c.graph, "w", &w));
  assert_true(eg_graph_find_value(t.c.graph, "z", &z));
  t.c.carried[t.c.info.carried_count++] = (eg_carried_value){.entry = w, .output = 0};
  case_unite(&t.c, eg_tensor_egraph_root(t.c.egraph, 0),
             eg_tensor_egraph_value_class(t.c.egraph, z));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(t.c.egraph)));
  try_case(&t);
  plan_case_deinit(&t.c);
}

/// h is made in FORWARD and read in both phases behind it: kept once, it takes the bytes
/// of one h beside those of x.
static void what_two_phases_read_is_kept_once(void **state) {
  (void)state;
  static trial t;
  trial_read(&t, "(egraph-graph 1)\n"
                 "(input x \"float32[3]\")\n"
                 "(let h (exp x))\n"
                 "(let b (relu h))\n"
                 "(let u (tanh h))\n"
                 "(output b)\n(output u)\n");
  t.c.phases[1] = EG_PHASE_BACKWARD;
  t.c.phases[2] = EG_PHASE_UPDATE;
  t.c.info.memory_limit = 2 * 3 * sizeof(float);
  plan_choices_init(&brute.of, t.c.egraph, &t.c.info, &t.c.mesh, &t.c.costs);
  brute.most_visits = MOST_VISITS;
  expect_optimum(&t);
  assert_int_equal(t.result.status, EG_LAYOUT_OPTIMAL);
  assert_true(t.result.solutions.data[0].memory[0] == t.c.info.memory_limit);
  forget(&t);
  plan_case_deinit(&t.c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_on_one_axis_are_planned_to_the_optimum),
      cmocka_unit_test(steps_in_phases_are_planned_to_the_optimum),
      cmocka_unit_test(steps_on_two_axes_are_planned_to_the_optimum),
      cmocka_unit_test(memory_formats_are_planned_to_the_optimum),
      cmocka_unit_test(equal_terms_are_chosen_with_their_layouts),
      cmocka_unit_test(graphs_that_rules_make_are_chosen_with_their_layouts),
      cmocka_unit_test(names_of_the_graph_are_kept_for_its_values),
      cmocka_unit_test(nothing_leaves_a_step_as_a_partial_sum),
      cmocka_unit_test(what_two_phases_read_is_kept_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
