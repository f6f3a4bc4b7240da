// More is never dearer: random steps planned with rules and without, with four times the
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "optimize/plan_search.h"
#include "rewrites/rule_files.h"
#include "tests/testing.h"

static const double CLOSE = 1e-9;
enum { STEPS = 3, LEAST_WORK = 10, MORE_WORK = 4, CLOCK = 100000 };

/// A random step.
typedef struct step {
  eg_text text;
  eg_graph *graph;
  bool trains;
  eg_training_options training;
  const char *machine; // without its number of nodes
  uint32_t nodes;
} step;

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
  int blocks = 1 + (int)eg_rng_below(rng, 3), batch = 8 << eg_rng_below(rng, 7);
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
  static const char *const machines[] = {"dgx-h100", "p3-16xlarge"};
  *s = (step){.trains = eg_rng_below(rng, 2) == 0,
              .machine = machines[eg_rng_below(rng, 2)]};
  s->nodes = 1U << eg_rng_below(rng, 3);
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
  char name[64];
  eg_machine machine;
  eg_plan_search found;
  egraph_search search = egraph_search_default();
  search.work_limit = with.work;
  search.saturate_time_limit = CLOCK;
  (void)snprintf(name, sizeof name, "%s*%u", s->machine, (unsigned)with.nodes);
  assert_ok(eg_machine_load(NULL, name, &machine));
  eg_plan_search_input input = {.alloc = eg_allocator_heap(),
                                .forward = s->graph,
                                .training = s->trains ? &s->training : NULL,
                                .machine = &machine,
                                .memory_limit = INFINITY,
                                .rules = with.has_rules ? rules : NULL,
                                .search = &search};
  eg_plan_search_init(&found, eg_allocator_heap());
  assert_ok(eg_plan_search_run(&input, &found));
  assert_true(found.has_plan);
  assert_ok(eg_plan_check(&found.planned.plan, eg_allocator_heap()));
  double cost = found.report.cost_after;
  assert_true(found.report.bound <= cost * (1 + CLOSE));
  eg_plan_search_deinit(&found);
  eg_machine_deinit(&machine);
  return cost;
}

static void expect_no_dearer(const step *s, const char *what, means less, double with,
                             double without) {
  if (with <= without * (1 + CLOSE)) return;
  print_message("%s", eg_text_of(&s->text));
  fail_msg("%s: %.17g, without %.17g; %s*%u%s%s, work %u", what, with, without,
           s->machine, (unsigned)less.nodes, s->trains ? ", training" : "",
           less.has_rules ? ", rules" : "", (unsigned)less.work);
}

static void more_is_never_dearer(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20261129)};
  size_t gains = 0, rounds = test_rounds(STEPS);
  for (size_t i = 0; i < rounds; i++) {
    step s;
    step_init(&s, &rng);
    means least = {.nodes = s.nodes, .work = LEAST_WORK << (2 * eg_rng_below(&rng, 3))};
    means ruled = least, worked = least;
    ruled.has_rules = true;
    worked.work *= MORE_WORK;
    double cost = cost_with(&s, least), cheaper = cost_with(&s, ruled);
    gains += cheaper < cost * (1 - CLOSE);
    expect_no_dearer(&s, "rules", least, cheaper, cost);
    expect_no_dearer(&s, "four times the work", least, cost_with(&s, worked), cost);
    worked.has_rules = true;
    expect_no_dearer(&s, "four times the work", ruled, cost_with(&s, worked), cheaper);
    step_deinit(&s);
  }
  print_message("%zu steps, %zu of them cheaper with rules\n", rounds, gains);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(more_is_never_dearer)};
  assert_ok(eg_rules_create(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  eg_rules_destroy(rules);
  return failed;
}
