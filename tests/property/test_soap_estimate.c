// The seconds that searches over configurations of operators (FlexFlow's simulator)
// expect, against the simulation of the plan that comes of them: random small steps,
// configurations and machines.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_emit.h"
#include "optimize/soap/soap_walk.h"
#include "sim/plan/plan_simulation.h"
#include "tests/unit/plan_found_kit.h"

enum { CHOICES = 8, WALKS = 2, MOST_OPERATORS = 4 };
// Of steps of one micro-batch, of several, as shares of the simulated seconds: measured
// with 800 rounds, with some room.
static const double MOST_ABOVE[] = {1.5, 1.5}, MOST_BELOW[] = {0.35, 0.35},
                    MOST_MEAN[] = {0.04, 0.04};

/// A chain of products and functions; some values are read again further on.
static void draw_model(eg_rng *rng, eg_text *out) {
  static const int sizes[] = {64, 256, 1024};
  static const int batches[] = {32, 256, 2048};
  int n = sizes[eg_rng_below(rng, 3)];
  uint32_t count = 2 + (uint32_t)eg_rng_below(rng, MOST_OPERATORS - 1);
  assert_ok(eg_text_printf(out, "(egraph-graph 1)(input x0 \"float32[%d,%d]\")",
                           batches[eg_rng_below(rng, 3)], n));
  for (uint32_t i = 0; i < count; i++)
    assert_ok(eg_text_printf(out, "(weight w%u \"float32[%d,%d]\")", i, n, n));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t from = eg_rng_below(rng, 3) == 0 ? (uint32_t)eg_rng_below(rng, i + 1) : i;
    assert_ok(eg_text_printf(out, "(let p%u (matmul x%u w%u))(let x%u (%s p%u%s))", i,
                             from, i, i + 1, from == i ? "tanh" : "add", i,
                             from == i ? "" : " x0"));
  }
  assert_ok(eg_text_printf(out, "(output x%u)", count));
}

/// The layout problem of a step.
typedef struct asked {
  eg_machine_costs costs;
  eg_plan_space space;
  eg_plan_model model;
  eg_plan_question question;
} asked;

static void asked_init(asked *a, const planned *p, eg_tensor_egraph *egraph) {
  a->costs = (eg_machine_costs){.mesh = &p->mesh};
  assert_ok(eg_device_cost_init(&a->costs.device, &p->machine, NULL));
  a->costs.device.plain_only = true;
  eg_plan_costs costs = eg_machine_plan_costs(&a->costs);
  assert_ok(eg_plan_space_init(&a->space, eg_allocator_heap(), egraph, &p->info,
                               &p->mesh.mesh, &costs));
  assert_ok(eg_plan_model_init(&a->model, eg_allocator_heap(), &a->space));
  a->question = (eg_plan_question){.alloc = eg_allocator_heap(),
                                   .model = &a->model,
                                   .mesh = &p->mesh,
                                   .memory_limit = INFINITY,
                                   .layout = EG_LAYOUT_OPTIONS_DEFAULT};
}

static void asked_deinit(asked *a) {
  eg_plan_model_deinit(&a->model);
  eg_plan_space_deinit(&a->space);
}

/// Seconds of the plan of strategies, gathers up to four readers ahead; false: no plan.
static bool simulate(asked *a, const planned *p, const uint32_t *strategy, double *out) {
  eg_layout_completer *completer;
  eg_layout_solution solution;
  eg_emitted_plan emitted;
  eg_plan_simulation s;
  bool is_solution;
  assert_ok(
      eg_layout_completer_create(eg_allocator_heap(), &a->model.problem, &completer));
  assert_ok(eg_layout_complete(completer, strategy, &solution, &is_solution));
  eg_layout_completer_destroy(completer);
  if (!is_solution) return false;
  assert_ok(eg_plan_emit(&a->model, eg_allocator_heap(), &solution, &emitted));
  eg_plan_simulation_init(&s, eg_allocator_heap());
  assert_ok(eg_plan_simulate(&emitted.plan, &p->mesh, EG_ISSUE_AHEAD_4, &s));
  *out = s.seconds;
  eg_plan_simulation_deinit(&s);
  eg_emitted_plan_deinit(&emitted);
  eg_layout_solution_deinit(&solution);
  return true;
}

typedef struct errors {
  double above[2], below[2], sum[2]; // of one micro-batch, of several
  uint32_t compared[2];
} errors;

/// A plan that is known takes what its configurations take, and a walk from it ends with
/// a plan that is expected to take no longer, in no more memory than there is.
static void walk_from(asked *a, const uint32_t *strategy, double expected) {
  enum { STEPS = 200000 };
  eg_soap soap;
  eg_soap_walk walk;
  eg_plan_answer answer = {.stop = EG_PLAN_STOP_EXHAUSTED};
  double known;
  eg_u32s_init(&answer.strategy, eg_allocator_heap());
  assert_ok(eg_soap_init(&soap, &a->question, strategy));
  assert_ok(eg_soap_walk_init(&walk, &soap, &a->question, true));
  assert_ok(eg_soap_start_known(&soap, &walk.choice));
  assert_ok(eg_soap_simulate(&soap, walk.choice.data, &known));
  assert_true(fabs(known - expected) <= 1e-9 * expected);
  assert_memory_equal(soap.strategy.data, strategy, soap.strategy.len * sizeof *strategy);
  double limit = a->model.problem.memory_limit[0] = soap.memory[0];
  assert_ok(eg_soap_walk_on(&walk, STEPS));
  assert_true(walk.shortest <= known && walk.proposals > 1);
  assert_ok(eg_soap_walk_answer(&walk, &answer));
  assert_int_equal(answer.strategy.len, soap.strategy.len);
  assert_ok(eg_soap_simulate(&soap, walk.best.data, &known));
  assert_true(known == walk.shortest && soap.memory[0] <= limit);
  a->model.problem.memory_limit[0] = INFINITY;
  eg_soap_walk_deinit(&walk);
  eg_soap_deinit(&soap);
  eg_u32s_deinit(&answer.strategy);
}

static void compare(asked *a, const planned *p, eg_rng *rng, errors *out) {
  eg_soap soap;
  eg_u32s choice;
  bool has_many = p->info.micro_batches > 1;
  eg_u32s_init(&choice, eg_allocator_heap());
  assert_ok(eg_soap_init(&soap, &a->question, NULL));
  assert_ok(eg_soap_start(&soap, &choice));
  for (int c = 0; c < CHOICES; c++) {
    double expected, simulated = 0;
    for (uint32_t l = 0; c != 0 && l < choice.len; l++) // first: data parallelism
      choice.data[l] = (uint32_t)eg_rng_below(rng, eg_soap_option_count(&soap, l));
    assert_ok(eg_soap_simulate(&soap, choice.data, &expected));
    if (isinf(expected)) continue;
    assert_true(simulate(a, p, soap.strategy.data, &simulated));
    if (c < WALKS) walk_from(a, soap.strategy.data, expected);
    double error = expected / simulated - 1;
    out->above[has_many] = fmax(out->above[has_many], error);
    out->sum[has_many] += fabs(error);
    out->below[has_many] = fmax(out->below[has_many], -error);
    out->compared[has_many]++;
  }
  eg_soap_deinit(&soap);
  eg_u32s_deinit(&choice);
}

static void estimates_are_near_the_simulation(void **state) {
  (void)state;
  static const uint32_t micro_batches[] = {1, 2, 4, 8};
  eg_rng rng = {test_seed(90)};
  uint32_t rounds = (uint32_t)test_rounds(80);
  errors found = {.above = {0, 0}};
  for (uint32_t round = 0; round < rounds; round++) {
    eg_text model, machine;
    eg_tensor_egraph *egraph;
    planned p;
    asked a;
    eg_text_init(&model, eg_allocator_heap());
    eg_text_init(&machine, eg_allocator_heap());
    draw_model(&rng, &model);
    plan_draw_machine(&rng, &machine);
    eg_training_options training = EG_TRAINING_OPTIONS_DEFAULT;
    training.loss = EG_LOSS_SQUARED_ERROR;
    training.micro_batches = micro_batches[round % 4];
    training.optimizer = round % 8 < 4 ? EG_OPTIMIZER_SGD : EG_OPTIMIZER_ADAM;
    planned_init(&p, &model, eg_text_of(&machine), "node=2,gpu=2", &training);
    assert_ok(eg_tensor_egraph_create(NULL, p.step.graph, &egraph));
    asked_init(&a, &p, egraph);
    compare(&a, &p, &rng, &found);
    asked_deinit(&a);
    eg_tensor_egraph_destroy(egraph);
    planned_deinit(&p);
    eg_text_deinit(&model);
    eg_text_deinit(&machine);
  }
  assert_true(found.compared[0] >= rounds / 4 && found.compared[1] >= rounds);
  for (int many = 0; many < 2; many++) {
    double mean = found.sum[many] / found.compared[many];
    print_message("%u steps of %s: mean error %.3g, at most %.3g above and %.3g below\n",
                  found.compared[many],
                  many ? "several micro-batches" : "one micro-batch", mean,
                  found.above[many], found.below[many]);
    assert_true(found.above[many] <= MOST_ABOVE[many]);
    assert_true(found.below[many] <= MOST_BELOW[many] && mean <= MOST_MEAN[many]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(estimates_are_near_the_simulation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
