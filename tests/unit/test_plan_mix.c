// Steps whose equal blocks are as different plans have them
// (optimize/search/plan_folded.h).
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "optimize/search/planner.h"
#include "tests/testing.h"

enum { BLOCKS = 8, BATCH = 256, WIDTH = 512 };
static const uint64_t WORK = 100000000; // any plan that fits will do

typedef struct step {
  eg_graph *graph;
  eg_training training;
  eg_training_info info;
  eg_blocks blocks;
  eg_machine machine;
  eg_machine_mesh mesh;
  eg_plan_context context;
} step;

static void step_init(step *s, int width) {
  eg_text text;
  eg_mesh mesh;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_printf(&text, "(egraph-graph 1)(input x \"float32[%d,%d]\")\n", BATCH,
                           width));
  for (int i = 0; i < BLOCKS; i++)
    assert_ok(
        eg_text_printf(&text, "(weight w%d \"float32[%d,%d]\")\n", i, width, width));
  for (int i = 0; i < BLOCKS; i++) {
    if (i == 0)
      assert_ok(eg_text_append(&text, "(let m0 (matmul x w0))"));
    else
      assert_ok(eg_text_printf(&text, "(let m%d (matmul h%d w%d))", i, i - 1, i));
    assert_ok(eg_text_printf(&text, "(let h%d (tanh m%d))\n", i, i));
  }
  assert_ok(eg_text_printf(&text, "(output h%d)\n", BLOCKS - 1));
  const char *chars = eg_text_of(&text);
  assert_ok(eg_graph_parse(NULL, "chain", chars, strlen(chars), &s->graph));
  eg_text_deinit(&text);
  eg_training_options training = EG_TRAINING_OPTIONS_DEFAULT;
  training.loss = EG_LOSS_SQUARED_ERROR;
  training.optimizer = EG_OPTIMIZER_ADAM;
  assert_ok(eg_training_step(s->graph, &training, &s->training));
  assert_ok(eg_blocks_find(s->graph, &s->blocks));
  assert_true(s->blocks.count >= 4);
  assert_ok(eg_training_info_init(&s->info, eg_allocator_heap(), &s->training, NULL));
  assert_ok(eg_training_info_mark(&s->info, eg_allocator_heap(), s->graph, &s->blocks,
                                  &s->training));
  assert_ok(eg_machine_load(NULL, "dgx-h100*1", &s->machine));
  assert_ok(eg_mesh_parse("gpu=8", &mesh));
  assert_ok(eg_machine_find_mesh(&s->machine, &mesh, &s->mesh));
}

static void step_deinit(step *s) {
  eg_machine_deinit(&s->machine);
  eg_training_info_deinit(&s->info);
  eg_training_deinit(&s->training);
  eg_graph_destroy(s->graph);
}

static eg_planner_input input_of(step *s, double limit) {
  s->info.info.memory_limit = limit;
  s->context = (eg_plan_context){.machine = &s->machine};
  eg_planner_input input = {.context = &s->context,
                            .graph = s->training.graph,
                            .info = &s->info.info,
                            .mesh = &s->mesh,
                            .budget = EG_LAYOUT_OPTIONS_DEFAULT};
  input.budget.work_limit = WORK;
  return input;
}

/// `baseline`: NULL: the cheapest.
static void plan(step *s, const char *baseline, eg_planning *out) {
  eg_planner_input input = input_of(s, INFINITY);
  input.baseline = baseline;
  assert_ok(eg_planner_run(eg_allocator_heap(), &input, out));
}

static void mix(step *s, double limit, const eg_planning *small, const eg_planning *cheap,
                eg_planning *out) {
  eg_planner_input input = input_of(s, limit);
  const eg_plan *kind[] = {&small->emitted.plan, &cheap->emitted.plan};
  assert_ok(eg_planner_mix(eg_allocator_heap(), &input, kind, 2, out));
  if (!out->has_plan) return;
  eg_plan_summary summary;
  assert_ok(eg_plan_check(&out->emitted.plan, eg_allocator_heap()));
  assert_ok(eg_plan_summary_make(&out->emitted.plan, eg_allocator_heap(), &summary));
  assert_true(fabs(summary.seconds - out->cost) <= 1e-9 * out->cost);
  assert_true(summary.peak == out->memory);
  assert_true(out->memory <= limit);
}

static void as_many_blocks_are_cheap_as_fit(void **state) {
  (void)state;
  step s;
  eg_planning cheap, small, none, some, all;
  step_init(&s, WIDTH);
  plan(&s, NULL, &cheap);
  plan(&s, "zero-3", &small);
  assert_true(small.has_plan && small.cost > cheap.cost);
  mix(&s, small.memory, &small, &cheap, &none);
  mix(&s, (small.memory + cheap.memory) / 2, &small, &cheap, &some);
  mix(&s, INFINITY, &small, &cheap, &all);
  assert_true(none.has_plan && some.has_plan && all.has_plan);
  assert_true(none.cost <= small.cost * (1 + 1e-9));
  assert_true(some.cost < none.cost && all.cost < some.cost);
  eg_planning_deinit(&all);
  mix(&s, 0.9 * small.memory, &small, &cheap, &all);
  assert_false(all.has_plan && all.memory > 0.9 * small.memory);
  eg_planning_deinit(&all);
  eg_planning_deinit(&some);
  eg_planning_deinit(&none);
  eg_planning_deinit(&small);
  eg_planning_deinit(&cheap);
  step_deinit(&s);
}

static void plans_of_another_step_mix_to_none(void **state) {
  (void)state;
  step s, other;
  eg_planning mine, theirs, mixed;
  step_init(&s, WIDTH);
  step_init(&other, WIDTH / 2);
  plan(&s, NULL, &mine);
  plan(&other, NULL, &theirs);
  mix(&s, INFINITY, &mine, &theirs, &mixed);
  assert_false(mixed.has_plan);
  eg_planning_deinit(&mixed);
  eg_planning_deinit(&theirs);
  eg_planning_deinit(&mine);
  step_deinit(&other);
  step_deinit(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_many_blocks_are_cheap_as_fit),
      cmocka_unit_test(plans_of_another_step_mix_to_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
