// The planner as a whole: what it refuses, meshes with axes of one device, memory that is
// limited, and failing allocations.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_cost.h"
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

static void setup(planned *p, const char *machine, const char *mesh) {
  static const mlp_model perceptron = {
      .layers = 2, .batch = 512, .width = 256, .hidden = 1024};
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, &perceptron);
  planned_init(p, &model, machine, mesh, &options);
  eg_text_deinit(&model);
}

static eg_planner_input input_of(const planned *p, const eg_plan_context *context) {
  return (eg_planner_input){.context = context,
                            .graph = p->is_training ? p->step.graph : p->forward,
                            .info = &p->info,
                            .mesh = &p->mesh,
                            .budget = p->layout};
}

// ---- what is refused ------------------------------------------------------------------

/// y leaves the step and would enter the next one as w, of another shape or kind of
/// numbers.
static void what_is_carried_keeps_its_type(void **state) {
  (void)state;
  static const struct {
    const char *weight, *message;
  } ROWS[] = {
      {"(weight w \"float32[8]\")",
       "output 'y' (float32[4,8]) cannot enter the next step "
       "as 'w' (float32[8])"},
      {"(weight w \"float64[4,8]\")", "as 'w' (float64[4,8])"},
  };
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    planned p;
    eg_text model;
    eg_value w;
    eg_text_init(&model, eg_allocator_heap());
    model_begin(&model);
    model_add(&model, "(input x \"float32[4,8]\")%s(let y (relu x))(output y)",
              ROWS[i].weight);
    planned_init(&p, &model, "dgx-h100*1", "gpu=8", NULL);
    eg_text_deinit(&model);
    assert_true(eg_graph_find_value(p.forward, "w", &w));
    const eg_carried_value carried = {.entry = w, .output = 0};
    p.info.carried = &carried;
    p.info.carried_count = 1;
    const eg_plan_context context = {.machine = &p.machine};
    eg_planner_input input = input_of(&p, &context);
    assert_fails(eg_planner_run(eg_allocator_heap(), &input, &p.planning), EGRAPH_E_TYPE,
                 ROWS[i].message);
    planned_deinit(&p);
  }
}

// ---- axes of one device ---------------------------------------------------------------

static void expect_whole(const eg_plan *plan, const eg_mesh *mesh) {
  assert_true(eg_mesh_same(&plan->mesh, mesh));
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (mesh->axes[a].size > 1) continue;
    for (size_t i = 0; i < plan->states.len; i++)
      assert_int_equal(plan->states.data[i].layout.sharding[a], EG_SHARD_R);
    for (size_t i = 0; i < plan->steps.len; i++)
      assert_int_equal(plan->steps.data[i].action[a], EG_ACTION_REPLICATE);
  }
}

static void axes_of_one_device_cost_nothing(void **state) {
  (void)state;
  static const struct {
    const char *machine, *plain, *mesh;
  } ROWS[] = {
      {"dgx-h100*1", "gpu=8", "node=1,gpu=8"},
      {"dgx-h100*1", "gpu=8", "gpu=8,end=1"},
      {"dgx-h100*1", "a=2,b=4", "n=1,a=2,m=1,b=4"},
      {"host*1", "", "cpu=1"},
  };
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    planned plain, more;
    setup(&plain, ROWS[i].machine, ROWS[i].plain);
    setup(&more, ROWS[i].machine, ROWS[i].mesh);
    planned_run(&plain, (double)INFINITY);
    planned_run(&more, (double)INFINITY);
    assert_int_equal(more.planning.status, EG_LAYOUT_OPTIMAL);
    assert_true(more.planning.cost == plain.planning.cost);
    assert_true(plain.planning.places > 0);
    assert_int_equal(more.planning.places, plain.planning.places);
    assert_int_equal(more.planning.arcs, plain.planning.arcs);
    expect_whole(&more.planning.emitted.plan, &more.mesh.mesh);
    planned_deinit(&plain);
    planned_deinit(&more);
  }
}

// ---- memory ---------------------------------------------------------------------------

static void expect_peak(const planned *p) {
  eg_plan_summary summary;
  assert_ok(
      eg_plan_summary_make(&p->planning.emitted.plan, eg_allocator_heap(), &summary));
  assert_true(summary.peak == p->planning.memory);
}

/// What is there for a step or two counts as well as what is kept.
static void peaks_are_within_the_limit(void **state) {
  (void)state;
  planned p;
  setup(&p, "dgx-h100*1", "gpu=8");
  planned_run(&p, (double)INFINITY);
  expect_peak(&p);
  double peak = p.planning.memory, kept = p.planning.kept, cost = p.planning.cost;
  assert_true(kept < peak);
  planned_run(&p, peak);
  assert_int_equal(p.planning.status, EG_LAYOUT_OPTIMAL);
  assert_true(p.planning.cost == cost);
  double limit = kept + (peak - kept) / 2; // enough for what it keeps
  planned_run(&p, limit);
  if (p.planning.has_plan) {
    expect_peak(&p);
    assert_true(p.planning.memory <= limit && p.planning.cost >= cost);
  } else {
    assert_int_equal(p.planning.status, EG_LAYOUT_UNKNOWN);
    assert_true(p.planning.least_memory > limit);
  }
  planned_run(&p, 16);
  assert_int_equal(p.planning.status, EG_LAYOUT_NO_MEMORY);
  double least = p.planning.least_memory;
  planned_run(&p, least);
  assert_true(p.planning.has_plan && p.planning.memory <= least);
  planned_deinit(&p);
}

// ---- memory that fails ----------------------------------------------------------------

static egraph_status plan(egraph_allocator alloc, void *user) {
  planned *p = user;
  const eg_plan_context context = {.machine = &p->machine};
  eg_planner_input input = input_of(p, &context);
  EG_TRY(eg_planner_run(alloc, &input, &p->planning));
  eg_planning_deinit(&p->planning);
  return EGRAPH_OK;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_begin(&model);
  model_add(&model, "(input x \"float32[4,8]\")(weight w \"float32[8,8]\")"
                    "(let y (matmul x w))(output y)");
  planned_init(&p, &model, "dgx-h100*1", "node=1,gpu=8", NULL);
  eg_text_deinit(&model);
  planned_run(&p, (double)INFINITY);
  p.info.memory_limit = p.planning.memory - 1; // several plans are tried
  eg_planning_deinit(&p.planning);
  test_every_allocation_failing(plan, &p);
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_carried_keeps_its_type),
      cmocka_unit_test(axes_of_one_device_cost_nothing),
      cmocka_unit_test(peaks_are_within_the_limit),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
