// Chains of equal, alternating and skipping blocks, planned as by default (folded first)
// and unfolded to the end: no bound is above the cost of the unfolded optimum, no plan
// above its limit of memory, and the default is as cheap. EG_TEST_CHAINS sets how many.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "optimize/fold/whole_step.h"
#include "pcg/plan/plan_cost.h"
#include "tests/testing.h"

static const double SECONDS = 900, CLOSE = 0.005; // work decides, not the clock
static const uint64_t WORK = UINT64_C(100000000);
enum { CHAINS = 8 };

typedef struct chain {
  eg_text text;
  eg_graph *graph;
  eg_machine machine;
  eg_machine_mesh mesh;
  bool trains;
  eg_training_options training;
  double limit;
} chain;

static void draw_graph(eg_rng *rng, eg_text *text) {
  static const char *const acts[] = {"relu", "gelu", "tanh"};
  int blocks = 2 + (int)eg_rng_below(rng, 11), batch = 8 << eg_rng_below(rng, 8);
  int width = 64 << eg_rng_below(rng, 6), kind = (int)eg_rng_below(rng, 3);
  int other = kind == 1 ? 2 * width : width; // alternating: wide and narrow in turn
  const char *act = acts[eg_rng_below(rng, 3)];
  assert_ok(eg_text_printf(text, "(egraph-graph 1)(input x \"float32[%d,%d]\")\n", batch,
                           width));
  for (int i = 0; i < blocks; i++)
    assert_ok(eg_text_printf(text, "(weight w%d \"float32[%d,%d]\")\n", i,
                             i % 2 == 0 ? width : other, i % 2 == 0 ? other : width));
  for (int i = 0; i < blocks; i++) {
    char from[8] = "x";
    if (i > 0) (void)snprintf(from, sizeof from, "h%d", i - 1);
    bool skips = kind == 2;
    assert_ok(eg_text_printf(text, "(let m%d (matmul %s w%d))(let %s%d (%s m%d))\n", i,
                             from, i, skips ? "a" : "h", i, act, i));
    if (skips) assert_ok(eg_text_printf(text, "(let h%d (add %s a%d))\n", i, from, i));
  }
  assert_ok(eg_text_printf(text, "(output h%d)\n", blocks - 1));
}

static void chain_init(chain *c, eg_rng *rng) {
  static const char *const meshes[] = {"gpu=8", "node=2,gpu=4", "gpu=4"};
  static const char *const machines[] = {"dgx-h100*1", "p3-16xlarge*1"};
  *c = (chain){.trains = eg_rng_below(rng, 2) == 0, .limit = INFINITY};
  eg_mesh mesh;
  uint32_t drawn = (uint32_t)eg_rng_below(rng, 2);
  eg_text_init(&c->text, eg_allocator_heap());
  draw_graph(rng, &c->text);
  const char *text = eg_text_of(&c->text);
  assert_ok(eg_graph_parse(NULL, "chain", text, strlen(text), &c->graph));
  assert_ok(eg_machine_load(NULL, machines[eg_rng_below(rng, 2)], &c->machine));
  assert_ok(eg_mesh_parse(meshes[drawn], &mesh));
  assert_ok(eg_machine_find_mesh(&c->machine, &mesh, &c->mesh));
  c->training = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
  c->training.loss = EG_LOSS_SQUARED_ERROR;
  c->training.optimizer = EG_OPTIMIZER_ADAM;
}

static void chain_deinit(chain *c) {
  eg_machine_deinit(&c->machine);
  eg_graph_destroy(c->graph);
  eg_text_deinit(&c->text);
}

static void plan(const chain *c, bool folds, eg_planning *out) {
  const eg_whole_input in = {.forward = c->graph,
                             .training = c->trains ? &c->training : NULL,
                             .folds = folds,
                             .memory_limit = c->limit};
  const eg_plan_context context = {.machine = &c->machine};
  eg_planner_input planner = {
      .context = &context, .mesh = &c->mesh, .budget = EG_LAYOUT_OPTIONS_DEFAULT};
  eg_whole_step *step;
  planner.budget.time_limit_seconds = SECONDS;
  planner.budget.work_limit = WORK;
  assert_ok(eg_whole_step_create(eg_allocator_heap(), &in, false, &step));
  assert_ok(eg_whole_step_plan(step, &planner, out));
  eg_whole_step_destroy(step);
  if (!out->has_plan) return;
  eg_plan_summary summary;
  assert_ok(eg_plan_check(&out->emitted.plan, eg_allocator_heap()));
  assert_false(eg_plan_is_folded(&out->emitted.plan));
  assert_ok(eg_plan_summary_make(&out->emitted.plan, eg_allocator_heap(), &summary));
  assert_true(fabs(summary.seconds - out->cost) <= 1e-9 * out->cost);
  assert_true(summary.peak == out->memory);
  if (summary.peak > c->limit)
    fail_msg("peak %.17g, limit %.17g", summary.peak, c->limit);
}

typedef struct tally {
  size_t proven, folded, limited, dearer;
} tally;

/// The default against the whole step alone; the plan's memory where there is one.
static double compare(const chain *c, tally *t) {
  eg_planning whole, usual;
  plan(c, false, &whole);
  plan(c, true, &usual);
  bool is_proven = whole.has_plan && whole.status == EG_LAYOUT_OPTIMAL;
  double least = fmin(whole.has_plan ? whole.cost : INFINITY,
                      usual.has_plan ? usual.cost : INFINITY);
  if (usual.bound > least * (1 + 1e-9) ||
      (is_proven && usual.cost < whole.cost * (1 - 1e-9)))
    fail_msg("%s bound %.17g, cost %.17g; unfolded %.17g%s", eg_text_of(&c->text),
             usual.bound, usual.cost, whole.cost, is_proven ? ", proven" : "");
  if (whole.status == EG_LAYOUT_NO_MEMORY) assert_false(usual.has_plan);
  t->proven += is_proven;
  t->dearer += is_proven && !(usual.cost <= whole.cost * (1 + CLOSE));
  double memory = usual.has_plan ? usual.memory : 0;
  eg_planning_deinit(&usual);
  eg_planning_deinit(&whole);
  return memory;
}

static void defaults_are_as_cheap_and_bounds_hold(void **state) {
  (void)state;
  const char *asked = getenv("EG_TEST_CHAINS");
  size_t chains = asked != NULL ? (size_t)strtoul(asked, NULL, 10) : CHAINS;
  eg_rng rng = {test_seed(20261123)};
  tally t = {0};
  for (size_t i = 0; i < chains; i++) {
    chain c;
    chain_init(&c, &rng);
    double memory = compare(&c, &t);
    if (memory > 0 && eg_rng_below(&rng, 3) == 0) { // a limit that binds
      c.limit = memory * (0.5 + 0.05 * (double)eg_rng_below(&rng, 10));
      t.limited++;
      (void)compare(&c, &t);
    }
    chain_deinit(&c);
  }
  print_message(
      "%zu chains, %zu limits: %zu proven unfolded, of these %zu dearer by more "
      "than 0.5 %%\n",
      chains, t.limited, t.proven, t.dearer);
  assert_true(t.proven * 2 > chains);
  assert_true(t.dearer * 100 <= t.proven);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_as_cheap_and_bounds_hold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
