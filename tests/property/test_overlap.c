// The bound of overlapped steps, and the shortest that is found, against drawn plans:
// two products in random sizes, alone or trained in one or two micro-batches, on machines
// of random links.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_emit.h"
#include "optimize/overlap.h"
#include "sim/plan/plan_simulation.h"
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/random_plans.h"

enum { DRAWN_PLANS = 150 };

/// Two products, the second of them of what the first makes or of the input, and a sum.
static void draw_model(eg_rng *rng, eg_text *out) {
  static const int sizes[] = {2, 4, 64, 256, 1024, 4096};
#define SIZE() sizes[eg_rng_below(rng, sizeof sizes / sizeof *sizes)]
  int batch = SIZE(), in = SIZE(), middle = SIZE();
  bool is_chain = eg_rng_below(rng, 2) != 0;
  int last = is_chain ? SIZE() : middle;
#undef SIZE
  assert_ok(eg_text_printf(out,
                           "(egraph-graph 1)(input x \"float32[%d,%d]\")"
                           "(weight v \"float32[%d,%d]\")(weight w \"float32[%d,%d]\")"
                           "(let h (matmul x v))(let y (matmul %s w))",
                           batch, in, in, middle, is_chain ? middle : in, last,
                           is_chain ? "h" : "x"));
  assert_ok(eg_text_append(out, is_chain ? "(output y)" : "(let z (add h y))(output z)"));
}

/// The layout problem of a step at some weights.
typedef struct priced {
  eg_machine_costs costs;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
} priced;

static void solve(const planned *p, eg_tensor_egraph *egraph,
                  const eg_cost_weights *weights, priced *out) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  out->costs = (eg_machine_costs){.mesh = &p->mesh, .weights = weights};
  assert_ok(eg_device_cost_init(&out->costs.device, &p->machine, NULL));
  out->costs.device.plain_only = true;
  eg_plan_costs asked = eg_machine_plan_costs(&out->costs);
  assert_ok(eg_plan_space_init(&out->space, eg_allocator_heap(), egraph, &p->info,
                               &p->mesh.mesh, &asked));
  assert_ok(eg_plan_model_init(&out->model, eg_allocator_heap(), &out->space));
  options.time_limit_seconds = 5;
  eg_layout_result_init(&out->result, eg_allocator_heap());
  assert_ok(
      eg_layout_solve(eg_allocator_heap(), &out->model.problem, &options, &out->result));
  assert_true(out->result.solutions.len > 0);
}

static void priced_deinit(priced *own) {
  eg_layout_result_deinit(&own->result);
  eg_plan_model_deinit(&own->model);
  eg_plan_space_deinit(&own->space);
}

static void emit(priced *own, eg_emitted_plan *out) {
  eg_machine_costs costs = own->costs;
  costs.weights = NULL;
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  assert_ok(eg_plan_emit(&own->model, eg_allocator_heap(), &own->result.solutions.data[0],
                         out));
  assert_ok(eg_plan_price(&out->plan, eg_allocator_heap(), &asked));
}

static const eg_graph *graph_of(const planned *p) {
  return p->is_training ? p->step.graph : p->forward;
}

static bool is_carried(const eg_plan *plan, uint32_t output) {
  for (size_t i = 0; i < plan->carried.len; i += 2)
    if (plan->carried.data[i] == output) return true;
  return false;
}

/// Outputs are whole, as planned ones are, but for those that enter the next step.
static void deliver(plan_maker *maker) {
  const eg_layout whole = {{0}, 0};
  eg_plan *plan = maker->plan;
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    uint32_t state = plan->output_states.data[o];
    if (!is_carried(plan, o))
      plan->output_states.data[o] = plan_reach(maker, state, &whole);
  }
}

/// The shortest step of random plans: any strategies, any layouts of what enters.
static double find_shortest(const planned *p, uint64_t seed) {
  eg_machine_costs costs = {.mesh = &p->mesh};
  double best = INFINITY;
  assert_ok(eg_device_cost_init(&costs.device, &p->machine, NULL));
  costs.device.plain_only = true;
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  for (uint32_t i = 0; i < DRAWN_PLANS; i++) {
    eg_plan plan;
    eg_plan_simulation s;
    eg_plan_init(&plan, eg_allocator_heap());
    plan.graph = graph_of(p);
    plan.micro_batches = p->info.micro_batches;
    plan.mesh = p->mesh.mesh;
    for (uint32_t c = 0; c < p->info.carried_count; c++) {
      assert_ok(eg_u32s_push(&plan.carried, p->info.carried[c].output));
      assert_ok(eg_u32s_push(&plan.carried, p->info.carried[c].entry.id));
    }
    plan_maker maker = {.plan = &plan,
                        .rng = {seed + i},
                        .phases = p->info.phases,
                        .strategy = UINT32_MAX};
    plan_make(&maker);
    deliver(&maker);
    assert_ok(eg_plan_price(&plan, eg_allocator_heap(), &asked));
    eg_plan_simulation_init(&s, eg_allocator_heap());
    assert_ok(eg_plan_simulate_shortest(&plan, &p->mesh, INFINITY, &s));
    best = fmin(best, s.seconds);
    eg_plan_simulation_deinit(&s);
    eg_plan_deinit(&plan);
  }
  return best;
}

/// As optimize/plan_search.c does.
/// Returns the overlapped seconds of the cheapest plan.
static double search(const planned *p, eg_tensor_egraph *egraph, eg_overlap *out) {
  double first = 0;
  eg_overlap_init(out, &p->mesh, p->info.micro_batches, INFINITY, 0);
  do {
    const eg_cost_weights weights = eg_overlap_prices(out);
    priced at;
    eg_emitted_plan emitted;
    double seconds;
    solve(p, egraph, &weights, &at);
    assert_int_equal(at.result.status, EG_LAYOUT_OPTIMAL);
    eg_overlap_set_bound(out, at.result.bound);
    emit(&at, &emitted);
    assert_ok(eg_overlap_add(out, &emitted.plan, eg_allocator_heap(), &seconds));
    if (out->plans == 1) first = seconds;
    eg_emitted_plan_deinit(&emitted);
    priced_deinit(&at);
  } while (eg_overlap_next(out, 1e-6));
  return first;
}

static void no_plan_is_shorter_than_the_bound(void **state) {
  (void)state;
  eg_rng rng = {test_seed(60)};
  uint32_t gains = 0, shortest = 0, rounds = (uint32_t)test_rounds(60);
  double worst = 0;
  for (uint32_t round = 0; round < rounds; round++) {
    eg_text model, machine;
    eg_tensor_egraph *egraph;
    eg_overlap overlap;
    planned p;
    eg_text_init(&model, eg_allocator_heap());
    eg_text_init(&machine, eg_allocator_heap());
    draw_model(&rng, &model);
    plan_draw_machine(&rng, &machine);
    eg_training_options training = EG_TRAINING_OPTIONS_DEFAULT;
    training.loss = EG_LOSS_SQUARED_ERROR;
    training.micro_batches = 1 + round % 2;
    training.optimizer = round % 8 < 4 ? EG_OPTIMIZER_SGD : EG_OPTIMIZER_ADAM;
    planned_init(&p, &model, eg_text_of(&machine), "node=2,gpu=2",
                 round % 4 < 2 ? NULL : &training);
    assert_ok(eg_tensor_egraph_create(NULL, graph_of(&p), &egraph));
    double first = search(&p, egraph, &overlap), drawn = find_shortest(&p, round * 1000);
    if (overlap.bound > fmin(drawn, overlap.shortest) * (1 + 1e-9))
      fail_msg("round %u: bound %.17g, but a step takes %.17g", round, overlap.bound,
               fmin(drawn, overlap.shortest));
    assert_true(overlap.shortest <= first);
    shortest += overlap.shortest <= drawn * (1 + 1e-9);
    gains += overlap.shortest < first * (1 - 1e-6);
    worst = fmax(worst, 1 - overlap.bound / overlap.shortest);
    eg_tensor_egraph_destroy(egraph);
    planned_deinit(&p);
    eg_text_deinit(&model);
    eg_text_deinit(&machine);
  }
  print_message("of %u steps, no drawn plan is shorter in %u; shorter than that of the "
                "cheapest plan in %u; largest gap %.3g\n",
                rounds, shortest, gains, worst);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_plan_is_shorter_than_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
