// Rows of steps, of random small steps: no plan of any solution holds less at its peak
// than any row of it says, and some rows say more than what is kept from phase to phase.
// What is forbidden within a limit is in no plan whose peak is the limit.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_forbid.h"
#include "optimize/search/plan_step_row.h"
#include "optimize/search/planner.h"
#include "optimize/space/groups.h"
#include "pcg/plan/plan_cost.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/plan_cases.h"
#include "tests/step_row_sum.h"

enum { SOLUTIONS = 4, DRAWS = 4, ENODES = 40 };

typedef struct trial {
  plan_case c;
  const eg_rules *rules; // of variants, or NULL
  uint32_t times;        // equal blocks that two thirds of the values made stand for
  size_t round, rows, tight, limits, forbidden;
  eg_plan_space space;
  eg_plan_model model;
} trial;

static void try_row(trial *t, const eg_layout_solution *solution, double peak,
                    uint32_t value, uint32_t into, const uint32_t *like) {
  eg_peak_row row;
  eg_plan_needs needs;
  eg_peak_row_init(&row, eg_allocator_heap());
  eg_plan_needs_init(&needs, eg_allocator_heap());
  assert_ok(eg_plan_needs_find(&needs, &t->model));
  assert_ok(
      eg_step_row_make(&row, &t->model, eg_allocator_heap(), &needs, value, into, like));
  double sum = step_row_sum(&t->model, &row, solution);
  t->rows++;
  t->tight += sum == peak;
  if (sum > peak) {
    print_message("%s", eg_text_of(&t->c.text));
    fail_msg("round %zu: the step of value %u into %u holds %.17g, the plan %.17g",
             t->round, value, into, sum, peak);
  }
  eg_plan_needs_deinit(&needs);
  eg_peak_row_deinit(&row);
}

/// What is kept as it enters counts once in a plan, and twice in rows.
static bool counts_twice(const trial *t, const eg_layout_solution *solution) {
  double kept[EG_LAYOUT_MEMORY_ROWS];
  assert_ok(eg_plan_sum_kept(&t->model, eg_allocator_heap(), solution, kept));
  for (uint32_t r = 0; r < t->model.problem.memory_rows; r++)
    if (kept[r] < solution->memory[r]) return true;
  return false;
}

static void try_limit(trial *t, const eg_layout_solution *solution, double peak) {
  const eg_layout_problem *problem = &t->model.problem;
  eg_plan_forbidden forbidden;
  if (counts_twice(t, solution)) return;
  eg_plan_forbidden_init(&forbidden, eg_allocator_heap());
  assert_ok(eg_plan_forbid_large(&t->model, eg_allocator_heap(), peak, &forbidden));
  t->limits++;
  t->forbidden += forbidden.count;
  bool is_kept = !forbidden.is_all;
  for (uint32_t v = 0; v < t->model.values.len; v++)
    is_kept = is_kept && (solution->strategy.data[v] == EG_LAYOUT_NONE ||
                          !problem->forbidden.data[solution->strategy.data[v]]);
  for (uint32_t a = 0; a < eg_layout_arc_count(problem); a++)
    is_kept = is_kept && !(solution->arc_used.data[a] && problem->arc_forbidden.data[a]);
  if (!is_kept) {
    print_message("%s", eg_text_of(&t->c.text));
    fail_msg("round %zu: a plan of %.17g bytes is forbidden", t->round, peak);
  }
  eg_plan_forbid_undo(&t->model, &forbidden);
  for (uint32_t s = 0; s < problem->forbidden.len; s++)
    assert_false(problem->forbidden.data[s]);
  for (uint32_t a = 0; a < problem->arc_forbidden.len; a++)
    assert_false(problem->arc_forbidden.data[a]);
  eg_plan_forbidden_deinit(&forbidden);
}

/// `like`: strategies of another plan.
static void try_solution(trial *t, const eg_layout_solution *solution,
                         const uint32_t *like) {
  const eg_layout_problem *problem = &t->model.problem;
  eg_emitted_plan emitted;
  eg_plan_summary summary;
  assert_ok(eg_plan_emit(&t->model, eg_allocator_heap(), solution, &emitted));
  assert_ok(eg_plan_summary_make(&emitted.plan, eg_allocator_heap(), &summary));
  try_limit(t, solution, summary.peak);
  for (uint32_t v = 0; v < t->model.values.len; v++) {
    try_row(t, solution, summary.peak, v, EG_SPACE_NONE, NULL);
    try_row(t, solution, summary.peak, v, EG_SPACE_NONE, like);
    for (uint32_t place = problem->place_begin.data[v];
         place < problem->place_begin.data[v + 1]; place++)
      try_row(t, solution, summary.peak, v, place, NULL);
  }
  eg_emitted_plan_deinit(&emitted);
}

/// Of the cheapest plans.
static void try_cheapest(trial *t) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result result;
  options.solutions = SOLUTIONS;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &t->model.problem, &options, &result));
  for (size_t i = 0; i < result.solutions.len; i++)
    try_solution(t, &result.solutions.data[i],
                 result.solutions.data[(i + 1) % result.solutions.len].strategy.data);
  eg_layout_result_deinit(&result);
}

/// Other costs are of other plans.
static void draw_costs(trial *t) {
  eg_layout_problem *problem = &t->model.problem;
  for (size_t s = 0; s < problem->cost.len; s++)
    problem->cost.data[s] *= eg_rng_unit(&t->c.rng);
  for (size_t a = 0; a < problem->arc_cost.len; a++)
    problem->arc_cost.data[a] *= eg_rng_unit(&t->c.rng);
}

static void add_variants(trial *t) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  options.node_limit = ENODES;
  assert_ok(eg_plan_apply_rules(t->c.egraph, &t->c.info, t->rules, &options, &report));
  eg_saturation_report_deinit(&report);
  assert_ok(eg_groups_add(t->c.egraph, &t->c.info, true));
}

/// True when a value leaves the step as an input or weight of the next step, or enters
/// it.
static bool is_carried(const trial *t, uint32_t v) {
  bool leaves = t->space.values.data[v].is_entry;
  for (uint32_t i = 0; i < t->c.info.carried_count; i++)
    leaves = leaves || v == eg_plan_space_value(
                                &t->space, eg_tensor_egraph_root(
                                               t->c.egraph, t->c.info.carried[i].output));
  return leaves;
}

static void try_case(trial *t) {
  egraph_allocator heap = eg_allocator_heap();
  if (t->rules != NULL) add_variants(t);
  assert_ok(eg_plan_space_init(&t->space, heap, t->c.egraph, &t->c.info, &t->c.mesh,
                               &t->c.costs));
  for (uint32_t v = 0; v < t->space.values.len; v++)
    if (!is_carried(t, v) && eg_rng_below(&t->c.rng, 3) != 0)
      t->space.values.data[v].times = t->times;
  assert_ok(eg_plan_model_init(&t->model, heap, &t->space));
  eg_plan_model_limit_memory(&t->model, INFINITY);
  for (int draw = 0; draw < DRAWS; draw++) {
    try_cheapest(t);
    draw_costs(t);
  }
  eg_plan_model_deinit(&t->model);
  eg_plan_space_deinit(&t->space);
}

static void try_rounds(uint64_t seed, size_t rounds, const case_limits *limits,
                       const eg_rules *rules, uint32_t times) {
  static trial t;
  t = (trial){.rules = rules, .times = times};
  for (; t.round < rounds; t.round++) {
    plan_case_init(&t.c, eg_hash_combine(seed, t.round), limits);
    try_case(&t);
    plan_case_deinit(&t.c);
  }
  print_message("%zu rows, %zu of them the peak; %zu limits, %zu choices forbidden\n",
                t.rows, t.tight, t.limits, t.forbidden);
  assert_true(t.rows < 20000 || t.tight > 0);
  assert_true(t.limits < 100 || t.forbidden > 0);
}

static void no_forward_plan_holds_less(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 6, .axes = 1, .has_phases = false};
  try_rounds(test_seed(20261211), test_rounds(20), &limits, NULL, 1);
}

static void no_plan_in_phases_holds_less(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 7, .axes = 1, .has_phases = true};
  try_rounds(test_seed(20261212), test_rounds(30), &limits, NULL, 1);
}

static void no_plan_on_two_axes_holds_less(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 5, .axes = 2, .has_phases = true};
  try_rounds(test_seed(20261213), test_rounds(4), &limits, NULL, 1);
}

static void no_plan_of_variants_holds_less(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 5, .axes = 1, .has_phases = true};
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  try_rounds(test_seed(20261214), test_rounds(12), &limits, rules, 1);
  eg_rules_destroy(rules);
}

static void no_step_of_adam_holds_less(void **state) {
  (void)state;
  const case_limits limits = {
      .nodes = 3, .axes = 1, .has_phases = true, .is_training = true};
  try_rounds(test_seed(20261215), test_rounds(12), &limits, NULL, 1);
}

/// One block of many counts, up to the last byte: 12 / 187 * 187 is more than 12.
static void no_block_of_many_holds_less(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 6, .axes = 1, .has_phases = true};
  try_rounds(test_seed(20261216), test_rounds(30), &limits, NULL, 187);
}

static void no_plan_that_makes_again_holds_less(void **state) {
  (void)state;
  const case_limits limits = {
      .nodes = 7, .axes = 1, .has_phases = true, .makes_again = true};
  try_rounds(test_seed(20261217), test_rounds(30), &limits, NULL, 1);
}

static void no_step_of_adam_that_makes_again_holds_less(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 3,
                              .axes = 1,
                              .has_phases = true,
                              .is_training = true,
                              .makes_again = true};
  try_rounds(test_seed(20261218), test_rounds(12), &limits, NULL, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_forward_plan_holds_less),
      cmocka_unit_test(no_plan_in_phases_holds_less),
      cmocka_unit_test(no_plan_on_two_axes_holds_less),
      cmocka_unit_test(no_plan_of_variants_holds_less),
      cmocka_unit_test(no_step_of_adam_holds_less),
      cmocka_unit_test(no_block_of_many_holds_less),
      cmocka_unit_test(no_plan_that_makes_again_holds_less),
      cmocka_unit_test(no_step_of_adam_that_makes_again_holds_less),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
