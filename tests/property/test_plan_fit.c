// Plans within a memory limit, of random small steps: the peak of every plan is what is
// reported, and within the limit; what is said to do does; and no solution that is known
// to fit is cheaper than the bound.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_fit.h"
#include "pcg/plan/plan_cost.h"
#include "tests/peak_brute.h"
#include "tests/plan_cases.h"

enum { SOLUTIONS = 8 };

typedef struct trial {
  plan_case c;
  size_t round;
  eg_plan_space space;
  eg_plan_model model;
  size_t limits, fitting, refused, made_again;
} trial;

static void fail_case(trial *t, const char *what, double got, double wanted) {
  print_message("%s", eg_text_of(&t->c.text));
  fail_msg("round %zu: %s %.17g, wanted %.17g", t->round, what, got, wanted);
}

static double peak_of(const eg_plan *plan) {
  eg_plan_summary summary;
  assert_ok(eg_plan_summary_make(plan, eg_allocator_heap(), &summary));
  double total = 0;
  for (int s = 0; s < EG_STORES; s++)
    total += summary.at_peak[s];
  assert_true(total == summary.peak);
  return summary.peak;
}

static void fit(trial *t, double limit, eg_fitted_plan *out) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_plan_model_limit_memory(&t->model, limit);
  eg_fitted_plan_init(out, eg_allocator_heap());
  assert_ok(eg_plan_fit(&t->model, eg_allocator_heap(), &options, false, out));
  assert_true(t->model.problem.memory_limit[0] == limit);
  if (!out->has_plan) {
    assert_true(out->status == EG_LAYOUT_NO_MEMORY || out->status == EG_LAYOUT_UNKNOWN);
    return;
  }
  assert_ok(eg_plan_check(&out->emitted.plan, eg_allocator_heap()));
  double peak = peak_of(&out->emitted.plan);
  if (peak != out->memory) fail_case(t, "memory", out->memory, peak);
  if (peak > limit) fail_case(t, "peak", peak, limit);
  assert_true(out->bound <= out->cost * (1 + 1e-9));
}

/// The cheapest solutions that fit, however they were found, are not below the bound.
static void expect_bound(trial *t, double limit, const eg_fitted_plan *fitted) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result result;
  options.solutions = SOLUTIONS;
  eg_plan_model_limit_memory(&t->model, limit);
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &t->model.problem, &options, &result));
  for (size_t i = 0; i < result.solutions.len; i++) {
    eg_emitted_plan emitted;
    assert_ok(eg_plan_emit(&t->model, eg_allocator_heap(), &result.solutions.data[i],
                           &emitted));
    double cost = result.solutions.data[i].cost;
    if (peak_of(&emitted.plan) <= limit && cost < fitted->bound * (1 - 1e-9))
      fail_case(t, "bound", fitted->bound, cost);
    eg_emitted_plan_deinit(&emitted);
  }
  eg_layout_result_deinit(&result);
}

static void try_limit(trial *t, double limit, double least_cost) {
  eg_fitted_plan fitted, again;
  fit(t, limit, &fitted);
  t->limits++;
  t->fitting += fitted.has_plan;
  if (fitted.has_plan) {
    assert_true(fitted.cost >= least_cost * (1 - 1e-9));
    expect_bound(t, limit, &fitted);
  } else {
    t->refused++;
    if (!(fitted.least_memory > limit))
      fail_case(t, "least memory", fitted.least_memory, limit);
    fit(t, fitted.least_memory, &again);
    assert_true(again.has_plan);
    eg_fitted_plan_deinit(&again);
  }
  eg_fitted_plan_deinit(&fitted);
}

static void try_case(trial *t) {
  egraph_allocator heap = eg_allocator_heap();
  eg_fitted_plan free;
  assert_ok(eg_plan_space_init(&t->space, heap, t->c.egraph, &t->c.info, &t->c.mesh,
                               &t->c.costs));
  assert_ok(eg_plan_model_init(&t->model, heap, &t->space));
  fit(t, (double)INFINITY, &free);
  assert_int_equal(free.status, EG_LAYOUT_OPTIMAL);
  for (int i = 0; i < 2; i++) // bytes are whole
    try_limit(t, floor(free.memory * (0.3 + 0.7 * eg_rng_unit(&t->c.rng))), free.cost);
  eg_fitted_plan_deinit(&free);
  eg_plan_model_deinit(&t->model);
  eg_plan_space_deinit(&t->space);
}

static void try_rounds(uint64_t seed, size_t rounds, const case_limits *limits) {
  static trial t;
  t = (trial){.round = 0};
  for (; t.round < rounds; t.round++) {
    plan_case_init(&t.c, eg_hash_combine(seed, t.round), limits);
    try_case(&t);
    plan_case_deinit(&t.c);
  }
  print_message("%zu limits: %zu plans, %zu refused\n", t.limits, t.fitting, t.refused);
  bool is_few = t.limits < 20; // all or none of them may suffice
  assert_true(is_few || (t.refused > 0 && t.fitting > 0));
}

static void forward_plans_fit(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 6, .axes = 1, .has_phases = false};
  try_rounds(test_seed(20261121), test_rounds(12), &limits);
}

static void plans_in_phases_fit(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 6, .axes = 1, .has_phases = true};
  try_rounds(test_seed(20261122), test_rounds(12), &limits);
}

static void plans_on_two_axes_fit(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 3, .axes = 2, .has_phases = true};
  try_rounds(test_seed(20261123), test_rounds(3), &limits);
}

/// A weight that FORWARD makes anew and UPDATE reads stands where the old one was: a
/// limit of the peak is kept, and nothing below it.
static void what_leaves_for_the_next_step_is_kept_where_it_entered(void **state) {
  (void)state;
  static trial t;
  t = (trial){.c.limits = {.axes = 1}};
  eg_text_init(&t.c.text, eg_allocator_heap());
  assert_ok(eg_mesh_parse("gpu=2", &t.c.mesh));
  case_draw_prices(&t.c);
  plan_case_read(
      &t.c, "(egraph-graph 1)\n(weight w \"float32[8,8]\")\n"
            "(weight u \"float32[8,8]\")\n(let v (mul w u))\n"
            "(let r (reduce-sum :axes [0] :keepdims 0 v))\n(output v)\n(output r)\n");
  t.c.phases[1] = EG_PHASE_UPDATE;
  t.c.carried[0] = (eg_carried_value){.entry = {0}, .output = 0};
  t.c.info.carried_count = 1;
  for (t.c.info.micro_batches = 1; t.c.info.micro_batches <= 2; t.c.info.micro_batches++)
    try_case(&t);
  plan_case_deinit(&t.c);
}

// ---- exhaustive search --------------------------------------------------------------

enum { MOST_TRIED = 1500 };

static bool makes_again(const eg_emitted_plan *emitted) {
  for (size_t v = 0; v < emitted->again_of.len; v++)
    if (emitted->again_of.data[v] != UINT32_MAX) return true;
  return false;
}

/// Without the choice to make values again no plan is cheaper, and the cheapest plan
/// without a limit costs the same: bounds of such plans hold.
static void expect_no_loss(trial *t, const peak_brute *brute) {
  const double limits[] = {brute->plans[0].peak, (double)INFINITY};
  eg_plan_model with = t->model;
  t->c.info.makes_again = false;
  assert_ok(eg_plan_model_init(&t->model, eg_allocator_heap(), &t->space));
  for (int i = 0; i < 2; i++) {
    eg_fitted_plan fitted;
    peak_plan best;
    assert_true(peak_brute_best(brute, limits[i], &best));
    fit(t, limits[i], &fitted);
    double cost = fitted.has_plan ? fitted.cost : (double)INFINITY;
    if (cost < best.cost * (1 - 1e-9)) fail_case(t, "without", cost, best.cost);
    if (isinf(limits[i]) && cost > best.cost * (1 + 1e-9))
      fail_case(t, "without, unlimited", cost, best.cost);
    assert_false(fitted.has_plan && makes_again(&fitted.emitted));
    eg_fitted_plan_deinit(&fitted);
  }
  eg_plan_model_deinit(&t->model);
  t->model = with;
  t->c.info.makes_again = true;
}

static void expect_best(trial *t, const peak_brute *brute, double limit) {
  eg_fitted_plan fitted;
  peak_plan best;
  bool is_there = peak_brute_best(brute, limit, &best);
  fit(t, limit, &fitted);
  t->limits++;
  if (is_there != fitted.has_plan) fail_case(t, "a plan", fitted.has_plan, is_there);
  if (is_there) {
    t->fitting++;
    assert_int_equal(fitted.status, EG_LAYOUT_OPTIMAL);
    if (fabs(fitted.cost - best.cost) > 1e-9 * best.cost)
      fail_case(t, "cost", fitted.cost, best.cost);
    if (fitted.memory > best.peak) fail_case(t, "peak", fitted.memory, best.peak);
    t->made_again += makes_again(&fitted.emitted);
  } else {
    t->refused++;
    assert_int_equal(fitted.status, EG_LAYOUT_NO_MEMORY);
    if (!(fitted.least_memory > limit))
      fail_case(t, "least memory", fitted.least_memory, limit);
  }
  eg_fitted_plan_deinit(&fitted);
}

/// Limits below, at, between and above the peaks of all plans.
static bool try_all_plans(trial *t) {
  static peak_brute brute;
  eg_plan_model_limit_memory(&t->model, (double)INFINITY);
  if (!peak_brute_run(&brute, &t->model, MOST_TRIED) || brute.count == 0) return false;
  double least = (double)INFINITY, most = 0;
  for (uint32_t i = 0; i < brute.count; i++) {
    least = fmin(least, brute.plans[i].peak);
    most = fmax(most, brute.plans[i].peak);
  }
  expect_best(t, &brute, least - 1);
  expect_best(t, &brute, least);
  for (int i = 0; i < 2; i++) {
    double peak = brute.plans[eg_rng_below(&t->c.rng, brute.count)].peak;
    expect_best(t, &brute, peak);
    expect_best(t, &brute, peak - 1);
  }
  expect_best(t, &brute, most);
  expect_best(t, &brute, (double)INFINITY);
  if (t->c.limits.makes_again) expect_no_loss(t, &brute);
  return true;
}

// ---- values made again ----------------------------------------------------------------

/// Appends the nodes of a step that has reasons to make values again: FORWARD makes a
/// wide chain of narrow inputs, which BACKWARD reads from its end on. Phases follow the
/// nodes.
static void write_chain(trial *t, uint32_t length) {
  static const char *const unary[] = {"tanh", "relu", "exp", "neg"};
  eg_text *text = &t->c.text;
  uint32_t rows = 4 + 4 * case_below(&t->c, 2), nodes = 0;
  eg_text_append(text, "(egraph-graph 1)\n");
  for (const char *name = "acd"; *name != '\0'; name++)
    eg_text_printf(text, "(input %c \"float32[%u,%d]\")\n", *name, rows, 1);
  eg_text_printf(text, "(input b \"float32[1,%u]\")\n(let f0 (matmul a b))\n", rows);
  t->c.phases[nodes++] = EG_PHASE_FORWARD;
  for (uint32_t i = 1; i <= length; i++) {
    bool is_view = case_below(&t->c, 3) == 0, is_sum = case_below(&t->c, 3) == 0;
    if (is_view)
      eg_text_printf(text, "(let f%u (reshape :shape [%u %u] f%u))\n", i, rows, rows,
                     i - 1);
    else if (is_sum)
      eg_text_printf(text, "(let f%u (add f%u d))\n", i, i - 1);
    else
      eg_text_printf(text, "(let f%u (%s f%u))\n", i, unary[case_below(&t->c, 4)], i - 1);
    t->c.phases[nodes++] = EG_PHASE_FORWARD;
  }
  eg_text_printf(text, "(let s (reduce-sum :axes [0 1] :keepdims 0 f%u))\n", length);
  t->c.phases[nodes++] = EG_PHASE_FORWARD;
  eg_text_append(text, "(let g0 (matmul c b))\n");
  t->c.phases[nodes++] = EG_PHASE_BACKWARD;
  for (uint32_t i = 0; i <= length; i++) {
    if (case_below(&t->c, 4) == 0) // not read
      eg_text_printf(text, "(let g%u (tanh g%u))\n", i + 1, i);
    else
      eg_text_printf(text, "(let g%u (mul g%u f%u))\n", i + 1, i, length - i);
    t->c.phases[nodes++] = EG_PHASE_BACKWARD;
  }
  eg_text_printf(text, "(let r (reduce-sum :axes [0 1] :keepdims 0 g%u))\n", length + 1);
  t->c.phases[nodes++] = EG_PHASE_BACKWARD;
  eg_text_append(text, "(output s)\n(output r)\n");
}

/// Of one device: on more, there are too many plans for exhaustive search.
static void chain_init(trial *t, uint64_t seed) {
  t->c = (plan_case){.rng = {seed}, .limits = {.makes_again = true}};
  eg_text_init(&t->c.text, eg_allocator_heap());
  case_draw_prices(&t->c);
  t->c.prices.has_free_views = case_below(&t->c, 4) != 0; // as those of machines
  write_chain(t, 1 + case_below(&t->c, 4));
  plan_case_read(&t->c, eg_text_of(&t->c.text));
  t->c.info.micro_batches = 1 + case_below(&t->c, 2);
}

static void chains_make_again(uint64_t seed, size_t wanted) {
  static trial t;
  size_t compared = 0;
  t = (trial){.round = 0};
  for (; compared < wanted && t.round < 20 * wanted; t.round++) {
    chain_init(&t, eg_hash_combine(seed, t.round));
    assert_ok(eg_plan_space_init(&t.space, eg_allocator_heap(), t.c.egraph, &t.c.info,
                                 &t.c.mesh, &t.c.costs));
    assert_ok(eg_plan_model_init(&t.model, eg_allocator_heap(), &t.space));
    compared += try_all_plans(&t);
    eg_plan_model_deinit(&t.model);
    eg_plan_space_deinit(&t.space);
    plan_case_deinit(&t.c);
  }
  print_message("%zu chains of %zu: %zu limits, %zu plans, %zu refused, %zu make again\n",
                compared, t.round, t.limits, t.fitting, t.refused, t.made_again);
  assert_int_equal(compared, wanted);
  assert_true(wanted < 10 || t.made_again > 0);
}

static void chains_on_one_device_make_again_as_exhaustive_search_says(void **state) {
  (void)state;
  chains_make_again(test_seed(20261203), test_rounds(60));
}

static void compare_with_all(uint64_t seed, size_t wanted, const case_limits *limits) {
  static trial t;
  size_t compared = 0;
  t = (trial){.round = 0};
  for (; compared < wanted && t.round < 20 * wanted; t.round++) {
    plan_case_init(&t.c, eg_hash_combine(seed, t.round), limits);
    assert_ok(eg_plan_space_init(&t.space, eg_allocator_heap(), t.c.egraph, &t.c.info,
                                 &t.c.mesh, &t.c.costs));
    assert_ok(eg_plan_model_init(&t.model, eg_allocator_heap(), &t.space));
    compared += try_all_plans(&t);
    eg_plan_model_deinit(&t.model);
    eg_plan_space_deinit(&t.space);
    plan_case_deinit(&t.c);
  }
  print_message("%zu steps of %zu: %zu limits, %zu plans, %zu refused, %zu make again\n",
                compared, t.round, t.limits, t.fitting, t.refused, t.made_again);
  assert_int_equal(compared, wanted);
  assert_true(limits->makes_again || t.made_again == 0);
}

static void small_steps_fit_as_exhaustive_search_says(void **state) {
  (void)state;
  const case_limits limits = {.nodes = 3, .axes = 1, .has_phases = true};
  compare_with_all(test_seed(20261124), test_rounds(20), &limits);
}

static void small_steps_of_adam_fit_as_exhaustive_search_says(void **state) {
  (void)state;
  const case_limits limits = {
      .nodes = 1, .axes = 1, .has_phases = true, .is_training = true};
  compare_with_all(test_seed(20261125), test_rounds(8), &limits);
}

static void small_steps_make_again_as_exhaustive_search_says(void **state) {
  (void)state;
  const case_limits limits = {
      .nodes = 3, .axes = 1, .has_phases = true, .makes_again = true};
  compare_with_all(test_seed(20261201), test_rounds(20), &limits);
}

static void plans_that_make_again_fit(void **state) {
  (void)state;
  const case_limits limits = {
      .nodes = 6, .axes = 1, .has_phases = true, .makes_again = true};
  try_rounds(test_seed(20261202), test_rounds(12), &limits);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_leaves_for_the_next_step_is_kept_where_it_entered),
      cmocka_unit_test(small_steps_fit_as_exhaustive_search_says),
      cmocka_unit_test(small_steps_of_adam_fit_as_exhaustive_search_says),
      cmocka_unit_test(small_steps_make_again_as_exhaustive_search_says),
      cmocka_unit_test(plans_that_make_again_fit),
      cmocka_unit_test(chains_on_one_device_make_again_as_exhaustive_search_says),
      cmocka_unit_test(forward_plans_fit),
      cmocka_unit_test(plans_in_phases_fit),
      cmocka_unit_test(plans_on_two_axes_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
