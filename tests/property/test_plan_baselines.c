// Baselines: each is what its name says, none is cheaper than the plan, however early the
// search ends, and a plan costs the same when its steps are priced anew.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/price/plan_price.h"
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

static void setup(planned *p, const mlp_model *perceptron, const char *mesh,
                  uint32_t micro_batches) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = EG_OPTIMIZER_ADAM;
  options.micro_batches = micro_batches;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, perceptron);
  planned_init(p, &model, mesh[0] == 'n' ? "dgx-h100*2" : "dgx-h100*1", mesh, &options);
  eg_text_deinit(&model);
  p->compares = true;
}

static const eg_baseline_outcome *outcome(const planned *p, eg_baseline baseline) {
  const eg_baseline_outcome *o = &p->planning.baseline[baseline];
  assert_true(o->is_tried);
  assert_true(o->has_summary);
  return o;
}

/// How many collectives of a kind there are along an axis, in some phases.
static uint64_t count_of(const eg_baseline_outcome *o, uint32_t axis, int kind, int first,
                         int last) {
  uint64_t count = 0;
  for (int p = first; p <= last; p++)
    count += o->summary.exchange[p][axis][kind].count;
  return count;
}

static double bytes_of(const eg_baseline_outcome *o, uint32_t axis, int kind, int first,
                       int last) {
  double bytes = 0;
  for (int p = first; p <= last; p++)
    bytes += o->summary.exchange[p][axis][kind].bytes;
  return bytes;
}

// ---- what each is ---------------------------------------------------------------------

enum { WIDTH = 256, HIDDEN = 1024 };
static const mlp_model perceptron = {
    .layers = 4, .batch = 512, .width = WIDTH, .hidden = HIDDEN, .biased = true};
static const double WEIGHTS = 4.0 * (4 * WIDTH * HIDDEN + 2 * (WIDTH + HIDDEN));
enum { PARAMS = 8, LOSS_BYTES = 4 };

static void a_single_device_exchanges_nothing(void **state) {
  (void)state;
  planned p, alone;
  setup(&p, &perceptron, "gpu=8", 1);
  planned_run(&p, INFINITY);
  const eg_baseline_outcome *one = outcome(&p, EG_BASELINE_SINGLE);
  for (int k = 0; k < EG_EXCHANGES; k++)
    assert_int_equal(count_of(one, 0, k, F, U), 0);
  double work = 0;
  for (int phase = F; phase <= U; phase++)
    work += one->summary.node_seconds[phase];
  assert_true(fabs(work - one->cost) <= 1e-9 * work);
  // Which is what a machine of one device does.
  setup(&alone, &perceptron, "gpu=8", 1);
  alone.compares = false;
  alone.mesh = (eg_machine_mesh){.collectives = alone.machine.collectives};
  planned_run(&alone, INFINITY);
  assert_true(fabs(alone.planning.cost - one->cost) <= 1e-9 * one->cost);
  planned_deinit(&alone);
  planned_deinit(&p);
}

static void data_parallelism_reduces_each_gradient_once(void **state) {
  (void)state;
  for (uint32_t micro_batches = 1; micro_batches <= 2; micro_batches++) {
    planned p;
    setup(&p, &perceptron, "gpu=8", micro_batches);
    planned_run(&p, INFINITY);
    const eg_baseline_outcome *data = outcome(&p, EG_BASELINE_DATA);
    assert_int_equal(count_of(data, 0, ALL_REDUCE, B, U), PARAMS);
    assert_true(bytes_of(data, 0, ALL_REDUCE, B, U) == WEIGHTS);
    assert_int_equal(count_of(data, 0, ALL_REDUCE, F, F), micro_batches); // the loss
    assert_int_equal(count_of(data, 0, ALL_GATHER, F, U), 0);
    assert_int_equal(count_of(data, 0, REDUCE_SCATTER, F, U), 0);
    assert_int_equal(count_of(data, 0, ALL_TO_ALL, F, U), 0);
    planned_deinit(&p);
  }
}

static void zero_scatters_gradients_and_gathers_weights(void **state) {
  (void)state;
  planned p;
  setup(&p, &perceptron, "gpu=8", 2);
  planned_run(&p, INFINITY);
  static const eg_baseline stages[] = {EG_BASELINE_ZERO_1, EG_BASELINE_ZERO_2,
                                       EG_BASELINE_ZERO_3};
  for (int stage = 1; stage <= 3; stage++) {
    const eg_baseline_outcome *zero = outcome(&p, stages[stage - 1]);
    // Scattered once a step, or in every micro-batch.
    assert_int_equal(count_of(zero, 0, REDUCE_SCATTER, U, U), stage == 1 ? PARAMS : 0);
    assert_int_equal(count_of(zero, 0, REDUCE_SCATTER, B, B),
                     stage == 1 ? 0 : 2 * PARAMS);
    assert_int_equal(count_of(zero, 0, ALL_GATHER, U, U), stage == 3 ? 0 : PARAMS);
    assert_true(stage == 3 ? count_of(zero, 0, ALL_GATHER, F, F) == 2 * PARAMS
                           : count_of(zero, 0, ALL_GATHER, F, B) == 0);
    assert_int_equal(count_of(zero, 0, ALL_REDUCE, B, U), 0);
    if (stage == 1)
      assert_true(zero->memory < outcome(&p, EG_BASELINE_DATA)->memory);
    else
      assert_true(zero->memory < outcome(&p, stages[stage - 2])->memory);
  }
  planned_deinit(&p);
}

static void megatron_reduces_activations_on_the_inner_axis(void **state) {
  (void)state;
  planned p;
  setup(&p, &perceptron, "node=2,gpu=8", 1);
  planned_run(&p, INFINITY);
  const eg_baseline_outcome *grid = outcome(&p, EG_BASELINE_MEGATRON);
  // Along the nodes: a gradient each. Within them: after every pair of layers, and back
  // but for the first, of a batch that the nodes share.
  double activation = 4.0 * 512 / 2 * WIDTH;
  assert_int_equal(count_of(grid, 0, ALL_REDUCE, B, U), PARAMS);
  assert_int_equal(count_of(grid, 0, ALL_GATHER, F, U), 0);
  assert_int_equal(count_of(grid, 1, ALL_REDUCE, F, F), 2);
  assert_int_equal(count_of(grid, 1, ALL_REDUCE, B, B), 1);
  assert_true(bytes_of(grid, 1, ALL_REDUCE, F, B) == 3 * activation);
  assert_int_equal(count_of(grid, 1, REDUCE_SCATTER, F, U), 0);
  planned_deinit(&p);
}

/// The same of a transformer: two each way in a block, but for the first one's input,
/// where only the gradients of the norm are added up; data parallelism and ZeRO exchange
/// each gradient once.
static void baselines_of_a_transformer_are_the_known_ones(void **state) {
  (void)state;
  static const transformer_model m = {.layers = 2,
                                      .batch = 16,
                                      .sequence = 128,
                                      .hidden = 1024,
                                      .heads = 16,
                                      .dtype = "float32"};
  enum { PER_BLOCK = 10, BLOCKS = 2 };
  planned p;
  eg_text model;
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  eg_text_init(&model, eg_allocator_heap());
  model_transformer(&model, &m);
  planned_init(&p, &model, "dgx-h100*1", "gpu=8", &options);
  eg_text_deinit(&model);
  p.compares = true;
  p.layout.time_limit_seconds = 100;
  planned_run(&p, INFINITY);
  const eg_baseline_outcome *grid = outcome(&p, EG_BASELINE_MEGATRON);
  double activation = 4.0 * 16 * 128 * 1024;
  assert_int_equal(count_of(grid, 0, ALL_REDUCE, F, F), 2 * BLOCKS);
  assert_true(bytes_of(grid, 0, ALL_REDUCE, F, F) == 2 * BLOCKS * activation);
  assert_int_equal(count_of(grid, 0, ALL_REDUCE, B, U), 2 * BLOCKS - 1 + 2);
  assert_true(bytes_of(grid, 0, ALL_REDUCE, B, U) ==
              (2 * BLOCKS - 1) * activation + 2 * 4.0 * 1024);
  const eg_baseline_outcome *data = outcome(&p, EG_BASELINE_DATA);
  assert_int_equal(count_of(data, 0, ALL_REDUCE, B, U), PER_BLOCK * BLOCKS);
  assert_int_equal(count_of(data, 0, ALL_REDUCE, F, F), 1);
  assert_int_equal(count_of(data, 0, ALL_GATHER, F, U), 0);
  const eg_baseline_outcome *zero = outcome(&p, EG_BASELINE_ZERO_2);
  assert_int_equal(count_of(zero, 0, REDUCE_SCATTER, B, B), PER_BLOCK * BLOCKS);
  assert_int_equal(count_of(zero, 0, ALL_GATHER, U, U), PER_BLOCK * BLOCKS);
  planned_deinit(&p);
}

// ---- what none is ---------------------------------------------------------------------

static double least_of(const planned *p) {
  double least = INFINITY;
  for (int b = 0; b < EG_BASELINES; b++) {
    const eg_baseline_outcome *o = &p->planning.baseline[b];
    if (o->is_tried &&
        (o->status == EG_LAYOUT_OPTIMAL || o->status == EG_LAYOUT_FEASIBLE))
      least = fmin(least, o->cost);
  }
  return least;
}

static mlp_model random_perceptron(eg_rng *rng) {
  static const int sizes[] = {8, 12, 64, 100, 256, 1024};
  return (mlp_model){.layers = 1 + (int)eg_rng_below(rng, 2),
                     .batch = sizes[eg_rng_below(rng, 6)],
                     .width = sizes[eg_rng_below(rng, 6)],
                     .hidden = sizes[eg_rng_below(rng, 6)],
                     .biased = eg_rng_below(rng, 2) == 0};
}

static void no_baseline_is_cheaper(void **state) {
  (void)state;
  static const char *const meshes[] = {"gpu=8", "node=2,gpu=8", "a=2,b=4"};
  eg_rng rng = {test_seed(7)};
  int seeded = 0;
  for (size_t round = 0; round < test_rounds(9); round++) {
    planned p;
    mlp_model model = random_perceptron(&rng);
    setup(&p, &model, meshes[round % 3], 1 + (uint32_t)eg_rng_below(&rng, 2));
    planned_run(&p, INFINITY);
    double proven = p.planning.cost;
    assert_true(proven <= least_of(&p) * (1 + 1e-9));
    assert_string_equal(p.planning.seed, "");
    p.layout.relative_gap = 1; // the first plan ends the search
    p.compares = false;
    planned_run(&p, INFINITY);
    assert_true(p.planning.cost >= proven * (1 - 1e-9));
    assert_true(p.planning.cost <= least_of(&p) * (1 + 1e-9));
    assert_true(p.planning.bound <= proven * (1 + 1e-9));
    seeded += p.planning.seed[0] != '\0';
    // Within a limit of memory, too, that not all of them keep.
    planned_run(&p, p.planning.memory);
    if (p.planning.has_plan) {
      assert_true(p.planning.memory <= p.info.memory_limit);
      assert_true(p.planning.cost <= least_of(&p) * (1 + 1e-9));
    }
    planned_deinit(&p);
  }
  print_message("%d of the plans were a baseline's\n", seeded);
}

/// One is planned whatever the limit, for as long as it takes to have a plan.
static void without_time_no_baseline_is_cheaper(void **state) {
  (void)state;
  static const char *const meshes[] = {"gpu=8", "node=2,gpu=8", "a=2,b=4"};
  eg_rng rng = {test_seed(8)};
  for (size_t round = 0; round < test_rounds(6); round++) {
    planned p;
    mlp_model model = random_perceptron(&rng);
    setup(&p, &model, meshes[round % 3], 1);
    p.layout.time_limit_seconds = 1e-9;
    p.compares = false;
    planned_run(&p, INFINITY);
    assert_true(p.planning.has_plan);
    if (p.planning.status != EG_LAYOUT_OPTIMAL) assert_true(isfinite(least_of(&p)));
    assert_true(p.planning.cost <= least_of(&p) * (1 + 1e-9));
    assert_true(p.planning.bound <= p.planning.cost);
    planned_deinit(&p);
  }
}

/// Whoever's plan it is.
static void seeds_keep_to_constraints(void **state) {
  (void)state;
  static const struct {
    const char *text, *value;
    uint8_t digit;
    bool is_so;
  } cases[] = {{"(pin w0 gpu=S1)", "w0", S1, true},
               {"(pin (all weights) *=S0)", "w0", S0, true},
               {"(pin x0 gpu=R)", "x0", R, true},
               {"(forbid w0 R)", "w0", R, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    planned p;
    eg_plan_constraints constraints;
    setup(&p, &perceptron, "gpu=8", 1);
    p.layout.relative_gap = 1;
    p.constraints = &constraints;
    eg_plan_constraints_init(&constraints, eg_allocator_heap());
    assert_ok(eg_plan_constraints_parse(&constraints, "f", cases[i].text,
                                        strlen(cases[i].text), false));
    planned_run(&p, INFINITY);
    assert_true(p.planning.has_plan);
    assert_true(p.planning.cost <= least_of(&p) * (1 + 1e-9));
    assert_int_equal(planned_digit(&p, cases[i].value, 0) == cases[i].digit,
                     cases[i].is_so);
    eg_plan_constraints_deinit(&constraints);
    planned_deinit(&p);
  }
}

// ---- prices ---------------------------------------------------------------------------

static void steps_priced_anew_cost_the_same(void **state) {
  (void)state;
  static const char *const meshes[] = {"gpu=8", "node=2,gpu=8", "a=2,b=4"};
  for (int m = 0; m < 3; m++) {
    planned p;
    setup(&p, &(mlp_model){2, 512, WIDTH, HIDDEN, true}, meshes[m], 2);
    p.compares = false;
    planned_run(&p, INFINITY);
    eg_plan *plan = &p.planning.emitted.plan;
    for (size_t i = 0; i < plan->steps.len; i++)
      plan->steps.data[i].seconds = 1;
    eg_machine_costs costs = {.mesh = &p.mesh};
    assert_ok(eg_device_cost_init(&costs.device, &p.machine, NULL));
    eg_plan_costs asked = eg_machine_plan_costs(&costs);
    assert_ok(eg_plan_price(plan, eg_allocator_heap(), &asked));
    assert_true(fabs(planned_seconds(&p) - p.planning.cost) <= 1e-9 * p.planning.cost);
    planned_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_single_device_exchanges_nothing),
      cmocka_unit_test(data_parallelism_reduces_each_gradient_once),
      cmocka_unit_test(zero_scatters_gradients_and_gathers_weights),
      cmocka_unit_test(megatron_reduces_activations_on_the_inner_axis),
      cmocka_unit_test(baselines_of_a_transformer_are_the_known_ones),
      cmocka_unit_test(no_baseline_is_cheaper),
      cmocka_unit_test(without_time_no_baseline_is_cheaper),
      cmocka_unit_test(seeds_keep_to_constraints),
      cmocka_unit_test(steps_priced_anew_cost_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
