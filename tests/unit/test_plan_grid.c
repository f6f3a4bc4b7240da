// Baselines with a role per axis: their names, what they are, that none is cheaper than
// the plan, and that rules make no plan dearer.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_analysis.h"
#include "pcg/plan/plan_cost.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

static const eg_mesh GRID = {.axis_count = 2, .axes = {{"node", 4}, {"gpu", 8}}};

static void setup(planned *p, const mlp_model *perceptron, const char *machine,
                  const char *mesh, eg_optimizer optimizer) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = optimizer;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, perceptron);
  planned_init(p, &model, machine, mesh, &options);
  eg_text_deinit(&model);
}

// ---- names ----------------------------------------------------------------------------

static void expect_name(const char *text, const char *printed) {
  eg_axis_roles roles;
  eg_text name;
  eg_text_init(&name, eg_allocator_heap());
  assert_ok(eg_axis_roles_parse(text, &GRID, &roles));
  assert_ok(eg_axis_roles_print(&name, &roles, &GRID));
  assert_string_equal(eg_text_of(&name), printed);
  eg_text_deinit(&name);
}

static void baselines_are_names_or_a_role_per_axis(void **state) {
  (void)state;
  expect_name("zero-2", "zero-2");
  expect_name("gpu=tensor,node=data-parallel", "megatron");
  expect_name("node=idle,gpu=idle", "single-device");
  expect_name("node=idle,gpu=any", "node=idle,gpu=any");
  eg_axis_roles roles;
  static const char *const wrong[] = {"",
                                      "fsdp",
                                      "gpu=zero-1",
                                      "node=idle,gpu=fsdp",
                                      "node=idle,gpu=idle,gpu=any",
                                      "node=idle,gpu=any,",
                                      "node=idle,tpu=any",
                                      "node=,gpu=any"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_fails(eg_axis_roles_parse(wrong[i], &GRID, &roles), EGRAPH_E_ARGUMENT,
                 "there is no baseline");
  // Axes of one device need no role, and have none.
  eg_mesh thin = {.axis_count = 3, .axes = {{"a", 1}, {"b", 2}, {"c", 1}}};
  assert_ok(eg_axis_roles_parse("b=zero-1", &thin, &roles));
  assert_true(roles.axis_count == 1 && roles.role[0] == EG_AXIS_ZERO_1);
  assert_ok(eg_axis_roles_parse("megatron", &thin, &roles));
  assert_true(roles.axis_count == 1 && roles.role[0] == EG_AXIS_TENSOR);
}

static size_t list(const eg_mesh *mesh, bool has_gradients, uint32_t micro_batches,
                   eg_axis_roles_list *out) {
  eg_axis_roles_list_init(out, eg_allocator_heap());
  assert_ok(eg_baselines_of_mesh(mesh, has_gradients, micro_batches, out));
  return out->len;
}

static void every_mesh_has_its_baselines(void **state) {
  (void)state;
  static const eg_mesh none = {.axis_count = 0},
                       one = {.axis_count = 1, .axes = {{"gpu", 8}}},
                       three = {.axis_count = 3, .axes = {{"a", 2}, {"b", 2}, {"c", 2}}};
  eg_axis_roles_list all;
  assert_int_equal(list(&none, true, 2, &all), 1);
  eg_axis_roles_list_deinit(&all);
  assert_int_equal(list(&one, true, 2, &all), 6);
  eg_axis_roles_list_deinit(&all);
  // 36 products of six roles; of two stages of ZeRO there are 6; and one axis free.
  assert_int_equal(list(&GRID, true, 2, &all), 36 - 6 + 2);
  assert_int_equal(eg_axis_roles_baseline(&all.data[0], &GRID), EG_BASELINE_SINGLE);
  for (int b = 0; b < EG_BASELINES; b++) { // each of those with a name is there once
    int count = 0;
    for (size_t i = 0; i < all.len; i++)
      count += eg_axis_roles_baseline(&all.data[i], &GRID) == (eg_baseline)b;
    assert_int_equal(count, 1);
  }
  eg_axis_roles_list_deinit(&all);
  // The other products of idle, data-parallel, zero-3, tensor; stages 1 and 2 by name
  // only.
  assert_int_equal(list(&GRID, false, 1, &all), 16 + 2 + 2);
  eg_axis_roles_list_deinit(&all);
  assert_in_range(list(&three, true, 1, &all), 20, 64);
  eg_axis_roles_list_deinit(&all);
}

// ---- data parallelism on two axes -----------------------------------------------------

/// Of gradients along a slow axis only the part of a device, within 3 % of ZeRO-1.
static void data_parallelism_reduces_hierarchically(void **state) {
  (void)state;
  static const mlp_model model = {
      .layers = 4, .batch = 512, .width = 1024, .hidden = 4096};
  static const char *const machines[] = {"p3-16xlarge*8", "dgx-h100*8"};
  const double weights = 4.0 * 4 * 1024 * 4096;
  for (size_t m = 0; m < 2; m++) {
    planned p;
    setup(&p, &model, machines[m], "node=8,gpu=8", EG_OPTIMIZER_SGD);
    p.compares = true;
    planned_run(&p, INFINITY);
    const eg_baseline_outcome *data = &p.planning.baseline[EG_BASELINE_DATA];
    const eg_baseline_outcome *zero = &p.planning.baseline[EG_BASELINE_ZERO_1];
    double slow = 0;
    for (int phase = B; phase <= U; phase++)
      for (int k = 0; k < EG_EXCHANGES; k++)
        slow += data->summary.exchange[phase][0][k].bytes;
    assert_true(slow <= 2 * weights / 8 * 1.01);
    assert_true(data->cost <= zero->cost * 1.03);
    planned_deinit(&p);
  }
}

/// With states, whole on every device, too.
static void states_of_data_parallelism_stay_whole(void **state) {
  (void)state;
  static const mlp_model model = {.layers = 2, .batch = 64, .width = 256, .hidden = 1024};
  planned p;
  setup(&p, &model, "p3-16xlarge*2", "node=2,gpu=8", EG_OPTIMIZER_ADAM);
  p.compares = true;
  planned_run(&p, INFINITY);
  const eg_baseline_outcome *data = &p.planning.baseline[EG_BASELINE_DATA];
  const double weights = 4.0 * 2 * 256 * 1024;
  // Weights and two states enter, and gradients are kept.
  assert_true(data->summary.most[EG_STORE_CARRIED] >= 3 * weights);
  assert_true(data->summary.exchange[U][0][ALL_REDUCE].bytes +
                  data->summary.exchange[B][0][ALL_REDUCE].bytes <=
              weights / 8 * 1.01);
  planned_deinit(&p);
}

// ---- roles ----------------------------------------------------------------------------

static egraph_status plan_baseline(planned *p, const char *baseline) {
  const eg_plan_context context = {.machine = &p->machine};
  const eg_planner_input input = {.context = &context,
                                  .graph = p->step.graph,
                                  .info = &p->info,
                                  .mesh = &p->mesh,
                                  .budget = p->layout,
                                  .baseline = baseline};
  eg_planning_deinit(&p->planning);
  return eg_planner_run(eg_allocator_heap(), &input, &p->planning);
}

static void an_idle_axis_repeats_the_work(void **state) {
  (void)state;
  static const mlp_model model = {.layers = 2, .batch = 64, .width = 256, .hidden = 1024};
  planned p, alone;
  setup(&p, &model, "p3-16xlarge*2", "node=2,gpu=8", EG_OPTIMIZER_SGD);
  setup(&alone, &model, "p3-16xlarge*1", "gpu=8", EG_OPTIMIZER_SGD);
  static const char *const roles[][2] = {{"node=idle,gpu=zero-1", "zero-1"},
                                         {"node=idle,gpu=data-parallel", "data-parallel"},
                                         {"node=idle,gpu=tensor", "megatron"},
                                         {"node=idle,gpu=any", NULL}};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
    assert_ok(plan_baseline(&p, roles[i][0]));
    assert_ok(plan_baseline(&alone, roles[i][1]));
    assert_true(p.planning.has_plan && alone.planning.has_plan);
    assert_true(fabs(p.planning.cost - alone.planning.cost) <= 1e-9 * p.planning.cost);
    assert_int_equal(eg_plan_idle_axes(&p.planning.emitted.plan), 1);
    assert_int_equal(eg_plan_useful_devices(&p.planning.emitted.plan), 8);
  }
  planned_deinit(&alone);
  planned_deinit(&p);
}

static void what_does_not_divide_is_said(void **state) {
  (void)state;
  planned p;
  setup(&p, &(mlp_model){.layers = 2, .batch = 6, .width = 16, .hidden = 64},
        "dgx-h100*1", "gpu=8", EG_OPTIMIZER_SGD);
  assert_fails(plan_baseline(&p, "data-parallel"), EGRAPH_E_ARGUMENT,
               "the batch of 6 does not divide by 8");
  assert_ok(plan_baseline(&p, "megatron"));
  assert_true(p.planning.has_plan);
  p.compares = true;
  planned_run(&p, INFINITY);
  static const eg_baseline split[] = {EG_BASELINE_DATA, EG_BASELINE_ZERO_1,
                                      EG_BASELINE_ZERO_2, EG_BASELINE_ZERO_3};
  for (size_t i = 0; i < 4; i++) {
    const eg_baseline_outcome *o = &p.planning.baseline[split[i]];
    assert_true(o->is_tried && !o->has_summary);
    assert_true(o->obstacle.batch == 6 && o->obstacle.parts == 8);
  }
  assert_true(p.planning.baseline[EG_BASELINE_MEGATRON].has_summary);
  planned_deinit(&p);
  // Two axes cut a batch one within the other; weights are another matter.
  setup(&p, &(mlp_model){.layers = 1, .batch = 4, .width = 3, .hidden = 5}, "dgx-h100*2",
        "node=2,gpu=8", EG_OPTIMIZER_SGD);
  assert_fails(plan_baseline(&p, "node=data-parallel,gpu=zero-1"), EGRAPH_E_ARGUMENT,
               "the batch of 4 does not divide by 16");
  assert_fails(plan_baseline(&p, "megatron"), EGRAPH_E_ARGUMENT,
               "no weight divides by 8");
  assert_ok(plan_baseline(&p, "node=data-parallel,gpu=idle"));
  assert_true(p.planning.has_plan);
  planned_deinit(&p);
}

/// However early the search ends, of all roles of two axes.
static void no_grid_is_cheaper_than_the_plan(void **state) {
  (void)state;
  static const char *const machines[] = {"p3-16xlarge*2", "dgx-h100*2"};
  eg_rng rng = {test_seed(17)};
  static const int sizes[] = {16, 48, 256, 1024};
  for (size_t round = 0; round < 2; round++) {
    planned p;
    mlp_model model = {.layers = 1 + (int)eg_rng_below(&rng, 2),
                       .batch = sizes[eg_rng_below(&rng, 4)],
                       .width = sizes[eg_rng_below(&rng, 4)],
                       .hidden = sizes[eg_rng_below(&rng, 4)]};
    setup(&p, &model, machines[round], "node=2,gpu=8", EG_OPTIMIZER_ADAM);
    p.layout.relative_gap = 1; // the first plan ends the search
    planned_run(&p, INFINITY);
    double cost = p.planning.cost;
    eg_axis_roles_list all;
    (void)list(&p.mesh.mesh, true, 1, &all);
    p.layout.relative_gap = 0;
    for (size_t i = 0; i < all.len; i++) {
      eg_text name;
      eg_text_init(&name, eg_allocator_heap());
      assert_ok(eg_axis_roles_print(&name, &all.data[i], &p.mesh.mesh));
      egraph_status status = plan_baseline(&p, eg_text_of(&name));
      if (status != EGRAPH_E_ARGUMENT) assert_ok(status);
      if (status == EGRAPH_OK && p.planning.has_plan &&
          p.planning.cost < cost * (1 - 1e-9))
        fail_msg("%s costs %g, the plan %g", eg_text_of(&name), p.planning.cost, cost);
      eg_text_deinit(&name);
    }
    eg_axis_roles_list_deinit(&all);
    planned_deinit(&p);
  }
}

// ---- rules ----------------------------------------------------------------------------

/// Not even where the search ends with its first plan.
static void rules_make_no_plan_dearer(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  static const mlp_model models[] = {{2, 64, 256, 1024, true}, {3, 16, 64, 64, true}};
  static const char *const meshes[] = {"gpu=8", "node=2,gpu=8"};
  for (size_t m = 0; m < 2; m++)
    for (size_t k = 0; k < 2; k++) {
      planned p;
      setup(&p, &models[m], meshes[k][0] == 'n' ? "p3-16xlarge*2" : "p3-16xlarge*1",
            meshes[k], EG_OPTIMIZER_SGD);
      planned_run(&p, INFINITY);
      double given = p.planning.cost;
      assert_true(p.planning.status == EG_LAYOUT_OPTIMAL);
      p.rules = rules;
      planned_run(&p, INFINITY);
      assert_true(p.planning.cost <= given * (1 + 1e-9));
      // The graph as it was given is solved to the gap; rules search no further.
      p.layout.relative_gap = 1e-3;
      planned_run(&p, INFINITY);
      assert_true(p.planning.cost <= given * (1 + 1e-3));
      planned_deinit(&p);
    }
  eg_rules_destroy(rules);
}

// ---- limits ---------------------------------------------------------------------------

/// Links between nodes are slow, so one node does well, in far less than all the work.
static void fewer_devices_are_not_cheaper(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  for (size_t m = 0; m < 2; m++) {
    planned few, all;
    mlp_model model = {.layers = 2, .batch = 64, .width = 512, .hidden = 1024};
    setup(&all, &model, "p3-16xlarge*4", "node=4,gpu=8", EG_OPTIMIZER_ADAM);
    setup(&few, &model, "p3-16xlarge*4", "node=4,gpu=8", EG_OPTIMIZER_ADAM);
    all.rules = few.rules = m == 1 ? rules : NULL;
    assert_ok(plan_baseline(&few, "node=idle,gpu=any"));
    assert_int_equal(few.planning.status, EG_LAYOUT_OPTIMAL);
    all.layout.work_limit = UINT64_C(4000000000);
    planned_run(&all, INFINITY);
    assert_true(all.planning.cost <= few.planning.cost * (1 + 1e-9));
    planned_deinit(&all);
    planned_deinit(&few);
  }
  eg_rules_destroy(rules);
}

static planned late; // the search that runs out of time
double __real_eg_clock_seconds(void);
double __wrap_eg_clock_seconds(void);

/// Once the late search has a plan, a day passes between two looks at the clock.
double __wrap_eg_clock_seconds(void) {
  static double days;
  days += late.planning.has_plan;
  return __real_eg_clock_seconds() + 86400 * days;
}

/// A search with the time for one plan says which baselines it has not compared.
static void late_baselines_are_counted(void **state) {
  (void)state;
  planned p;
  mlp_model model = {.layers = 3, .batch = 64, .width = 512, .hidden = 1024};
  setup(&late, &model, "p3-16xlarge*4", "node=4,gpu=8", EG_OPTIMIZER_ADAM);
  setup(&p, &model, "p3-16xlarge*4", "node=4,gpu=8", EG_OPTIMIZER_ADAM);
  late.layout.time_limit_seconds = p.layout.time_limit_seconds = 3600;
  planned_run(&late, INFINITY);
  assert_true(late.planning.has_plan && late.planning.untried > 0);
  planned_deinit(&late);
  late.planning.has_plan = false;
  planned_run(&p, INFINITY);
  assert_true(p.planning.has_plan && p.planning.untried == 0);
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(baselines_are_names_or_a_role_per_axis),
      cmocka_unit_test(every_mesh_has_its_baselines),
      cmocka_unit_test(data_parallelism_reduces_hierarchically),
      cmocka_unit_test(states_of_data_parallelism_stay_whole),
      cmocka_unit_test(an_idle_axis_repeats_the_work),
      cmocka_unit_test(what_does_not_divide_is_said),
      cmocka_unit_test(no_grid_is_cheaper_than_the_plan),
      cmocka_unit_test(rules_make_no_plan_dearer),
      cmocka_unit_test(fewer_devices_are_not_cheaper),
      cmocka_unit_test(late_baselines_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
