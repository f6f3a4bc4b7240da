// More is never dearer: random steps planned with rules and without, with four times the
// work, and for twice the nodes. Work decides, not the clock.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "optimize/plan_search.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/testing.h"

// Bounds are below costs; plans of fewer devices are not looked for where a gap of 0.1 %
// is left, at which a search may stop.
static const double ROUNDING = 1e-9, CLOSE = 1e-3;
enum { STEPS = 3, LEAST_WORK = 5, MORE_WORK = 4, CLOCK = 100000 };

/// A random step.
typedef struct step {
  eg_text text;
  eg_graph *graph;
  bool trains;
  eg_training_options training;
  const char *machine;
  uint32_t nodes;
} step;

// Fast and slow beside their links; one mesh each, so that many steps are planned.
#define MACHINE(overhead, peak)                                                          \
  "(egraph-machine 1)(name small)(nodes 1)(device (memory 80e9)(bandwidth 2e12)"         \
  "(overhead " overhead ")(peak (float32 " peak ")))(link near (latency 2e-6)"           \
  "(bandwidth 4e11))(link far (latency 5e-6)(bandwidth 5e10))(axis node nodes far)"      \
  "(axis gpu 2 near)(mesh (node nodes)(gpu 2))"
static const char *const MACHINES[] = {MACHINE("4e-6", "6.7e13"),
                                       MACHINE("1e-6", "1e13")};

static eg_rules *rules;

// ---- steps --------------------------------------------------------------------------

static void say(step *s, const char *format, ...) {
  va_list args;
  char line[1024];
  va_start(args, format);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  assert_true(length >= 0 && (size_t)length < sizeof line);
  assert_ok(eg_text_append(&s->text, line));
}

/// Products of one operand, which rules merge, joined by a gate.
static void draw_gated(step *s, int block, int width) {
  say(s, "(weight a%d \"float32[%d,%d]\")(weight b%d \"float32[%d,%d]\")", block, width,
      width, block, width, width);
  say(s, "(let p%d (matmul h%d a%d))(let q%d (matmul h%d b%d))(let g%d (sigmoid q%d))",
      block, block, block, block, block, block, block, block);
  say(s, "(let h%d (mul p%d g%d))\n", block + 1, block, block);
}

/// Two products with an activation between them, and a skip connection.
static void draw_residual(step *s, int block, int width, int inner) {
  say(s, "(weight a%d \"float32[%d,%d]\")(weight b%d \"float32[%d,%d]\")", block, width,
      inner, block, inner, width);
  say(s, "(let p%d (matmul h%d a%d))(let q%d (gelu p%d))(let r%d (matmul q%d b%d))",
      block, block, block, block, block, block, block, block);
  say(s, "(let h%d (add h%d r%d))\n", block + 1, block, block);
}

/// A product that sums its result with a bias: constants of rules meet trained weights.
static void draw_biased(step *s, int block, int width) {
  say(s, "(weight a%d \"float32[%d,%d]\")(weight b%d \"float32[%d]\")", block, width,
      width, block, width);
  say(s, "(let p%d (matmul h%d a%d))(let q%d (add p%d b%d))(let h%d (relu q%d))\n", block,
      block, block, block, block, block, block + 1, block);
}

static void draw_graph(step *s, eg_rng *rng) {
  int blocks = 1 + (int)eg_rng_below(rng, 2), batch = 8 << eg_rng_below(rng, 7);
  int width = 64 << eg_rng_below(rng, 6), inner = width << eg_rng_below(rng, 3);
  say(s, "(egraph-graph 1)(input h0 \"float32[%d,%d]\")\n", batch, width);
  for (int i = 0; i < blocks; i++)
    switch (eg_rng_below(rng, 3)) {
    case 0: draw_gated(s, i, width); break;
    case 1: draw_residual(s, i, width, inner); break;
    case 2: draw_biased(s, i, width); break;
    }
  say(s, "(output h%d)\n", blocks);
}

static void step_init(step *s, eg_rng *rng) {
  *s = (step){.trains = eg_rng_below(rng, 2) == 0,
              .machine = MACHINES[eg_rng_below(rng, 2)],
              .nodes = 1U << eg_rng_below(rng, 2)};
  eg_text_init(&s->text, eg_allocator_heap());
  draw_graph(s, rng);
  const char *text = eg_text_of(&s->text);
  assert_ok(eg_graph_parse(NULL, "step", text, strlen(text), &s->graph));
  s->training = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
  s->training.loss = EG_LOSS_SQUARED_ERROR;
  s->training.optimizer = EG_OPTIMIZER_ADAM;
}

static void step_deinit(step *s) {
  eg_graph_destroy(s->graph);
  eg_text_deinit(&s->text);
}

// ---- plans --------------------------------------------------------------------------

/// What a plan may use.
typedef struct means {
  bool has_rules;
  uint32_t nodes;
  uint64_t work; // millions of steps
} means;

static double cost_with(const step *s, means with) {
  eg_machine machine;
  eg_plan_search found;
  egraph_search search = egraph_search_default();
  search.work_limit = with.work;
  search.saturate_time_limit = CLOCK;
  assert_ok(eg_machine_parse(NULL, "small", s->machine, strlen(s->machine), with.nodes,
                             &machine));
  const eg_request request = {.alloc = eg_allocator_heap(), .search = &search};
  const eg_plan_call call = {.request = &request,
                             .context = {.machine = &machine,
                                         .rules = with.has_rules ? rules : NULL,
                                         .plain_only = search.formats == 0},
                             .forward = s->graph,
                             .training = s->trains ? &s->training : NULL,
                             .budget = eg_budget_begin(&search)};
  eg_plan_search_init(&found, eg_allocator_heap());
  assert_ok(eg_plan_search_run(&call, &found));
  assert_true(found.has_plan);
  assert_ok(eg_plan_check(&found.planned.plan, eg_allocator_heap()));
  double cost = found.report.cost_after;
  assert_true(found.report.bound <= cost * (1 + ROUNDING));
  eg_plan_search_deinit(&found);
  eg_machine_deinit(&machine);
  return cost;
}

static void expect_no_dearer(const step *s, const char *what, means less, double with,
                             double without) {
  if (with <= without * (1 + CLOSE)) return;
  print_message("%s", eg_text_of(&s->text));
  fail_msg("%s: %.17g, without %.17g; machine %d, nodes %u%s%s, work %u", what, with,
           without, s->machine == MACHINES[1], (unsigned)less.nodes,
           s->trains ? ", training" : "", less.has_rules ? ", rules" : "",
           (unsigned)less.work);
}

static void more_is_never_dearer(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20261129)};
  size_t gains = 0, rounds = test_is_sanitized() ? 1 : test_rounds(STEPS);
  for (size_t i = 0; i < rounds; i++) {
    step s;
    step_init(&s, &rng);
    means least = {.nodes = s.nodes,
                   .work = (uint64_t)LEAST_WORK << (2 * eg_rng_below(&rng, 3))};
    means ruled = least, worked = least, doubled = least;
    ruled.has_rules = true;
    worked.work *= MORE_WORK;
    doubled.nodes *= 2;
    double cost = cost_with(&s, least), cheaper = cost_with(&s, ruled);
    gains += cheaper < cost * (1 - ROUNDING);
    expect_no_dearer(&s, "rules", least, cheaper, cost);
    expect_no_dearer(&s, "four times the work", least, cost_with(&s, worked), cost);
    expect_no_dearer(&s, "twice the nodes", least, cost_with(&s, doubled), cost);
    worked.has_rules = doubled.has_rules = true;
    expect_no_dearer(&s, "four times the work", ruled, cost_with(&s, worked), cheaper);
    expect_no_dearer(&s, "twice the nodes", ruled, cost_with(&s, doubled), cheaper);
    step_deinit(&s);
  }
  print_message("%zu steps, %zu of them cheaper with rules\n", rounds, gains);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(more_is_never_dearer)};
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  eg_rules_destroy(rules);
  return failed;
}
