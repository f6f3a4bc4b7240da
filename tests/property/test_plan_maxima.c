// Maxima that devices hold parts of, with several micro-batches: what UPDATE reads is
// that of the last one, from which the parts of FORWARD are kept; a sum over
// micro-batches is one of whole maxima, because a sum of parts is not.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "exec/rank_program.h"
#include "optimize/model/plan_emit.h"
#include "tests/unit/session_kit.h"

enum { ROWS = 8, COLUMNS = 3, MICRO_BATCHES = 3, STEPS = 2 };

// Three columns do not divide, so that rows are split and leave parts.
static const char kept[] =
    "(egraph-graph 1)(input x \"float32[8,3]\")(input w \"float32[3]\")"
    "(let m (reduce-max :axes [0] :keepdims 0 x))(let u (add w m))(output w u)";
static const eg_phase kept_phases[] = {EG_PHASE_FORWARD, EG_PHASE_UPDATE};
static const char summed[] =
    "(egraph-graph 1)(input x \"float32[8,3]\")(input w \"float32[3]\")"
    "(input s \"float32[3]\")(let m (reduce-max :axes [0] :keepdims 0 x))"
    "(let t (add s m))(let u (add w t))(output w u)(output s t)";
static const eg_phase summed_phases[] = {EG_PHASE_FORWARD, EG_PHASE_BACKWARD,
                                         EG_PHASE_UPDATE};

typedef struct task {
  const char *text;
  const eg_phase *phases;
  bool is_sum;
} task;

/// Work is dear, so that it is split; so are exchanges, which are cheapest once a step.
static egraph_status price_node(void *self, const eg_node_spec *local,
                                eg_node_price *out) {
  (void)self;
  out->seconds = 100 * eg_node_spec_flops(local);
  return EGRAPH_OK;
}

static double price_transition(void *self, const eg_transition *transition,
                               double bytes) {
  (void)self, (void)transition;
  return 1 + bytes;
}

static double price_halo(void *self, const eg_halo *halo, const eg_type *local) {
  (void)self, (void)halo, (void)local;
  return 1;
}

static void make_plan(const eg_graph *graph, const task *t, const char *mesh_text,
                      eg_emitted_plan *out) {
  const egraph_allocator heap = eg_allocator_heap();
  const eg_carried_value carried[] = {
      {.entry = eg_graph_input(graph, 1), .output = 0},
      {.entry = eg_graph_input(graph, eg_graph_input_count(graph) - 1),
       .output = 1,
       .is_sum = true}};
  eg_step_info info = {.micro_batches = MICRO_BATCHES,
                       .phases = t->phases,
                       .carried = carried,
                       .carried_count = t->is_sum ? 2 : 1,
                       .memory_limit = INFINITY};
  eg_plan_costs costs = {
      .node = price_node, .transition = price_transition, .halo = price_halo};
  eg_mesh mesh;
  eg_tensor_egraph *egraph;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  assert_ok(eg_mesh_parse(mesh_text, &mesh));
  assert_ok(eg_tensor_egraph_create(&heap, graph, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  assert_ok(eg_plan_space_init(&space, heap, egraph, &info, &mesh, &costs));
  assert_ok(eg_plan_model_init(&model, heap, &space));
  eg_layout_result_init(&result, heap);
  assert_ok(eg_layout_solve(heap, &model.problem, &options, &result));
  assert_int_equal(result.status, EG_LAYOUT_OPTIMAL);
  assert_ok(eg_plan_emit(&model, heap, &result.solutions.data[0], out));
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  eg_plan_space_deinit(&space);
  eg_tensor_egraph_destroy(egraph);
}

/// Whether parts of maxima are there in UPDATE, which joins them.
static bool joins_parts(const eg_plan *plan) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (step->is_move && step->phase == EG_PHASE_UPDATE &&
        step->transition.from == EG_SHARD_P_MAX)
      return true;
  }
  return false;
}

static float element(uint32_t micro_batch, uint32_t row, uint32_t column) {
  return (float)((micro_batch * 31 + row * 17 + column * 7) % 23) - 30; // below zero
}

/// What w is after all steps.
static float wanted(const task *t, uint32_t column) {
  float sum = 0, last = 0;
  for (uint32_t m = 0; m < MICRO_BATCHES; m++) {
    last = element(m, 0, column);
    for (uint32_t row = 1; row < ROWS; row++)
      last = fmaxf(last, element(m, row, column));
    sum += last;
  }
  return STEPS * (t->is_sum ? sum : last);
}

static void run_task(const task *t, const char *mesh) {
  static float x[MICRO_BATCHES][ROWS][COLUMNS], w[COLUMNS];
  eg_graph *graph = kit_parse("maxima", t->text);
  eg_emitted_plan made;
  make_plan(graph, t, mesh, &made);
  assert_true(joins_parts(&made.plan) != t->is_sum);
  uint32_t count = eg_graph_input_count(made.graph);
  uint32_t outputs = eg_graph_output_count(made.graph);
  eg_tensor inputs[MICRO_BATCHES * 3] = {{.data = NULL}};
  eg_tensor results[MICRO_BATCHES * 2] = {{.data = NULL}};
  for (uint32_t m = 0; m < MICRO_BATCHES; m++) {
    for (uint32_t i = 0; i < count; i++)
      inputs[m * count + i].type =
          eg_graph_value(made.graph, eg_graph_input(made.graph, i))->type;
    for (uint32_t row = 0; row < ROWS; row++)
      for (uint32_t column = 0; column < COLUMNS; column++)
        x[m][row][column] = element(m, row, column);
    inputs[m * count].data = x[m];
  }
  eg_tensor *left = &results[(MICRO_BATCHES - 1) * outputs];
  *left = (eg_tensor){.type = inputs[1].type, .data = w};
  const eg_plan_run run = {.rank = {.backend = "reference", .threads = 1, .seed = 1},
                           .channel = EG_CHANNEL_OPTIONS_DEFAULT,
                           .steps = STEPS,
                           .inputs = inputs,
                           .outputs = results};
  assert_ok(eg_plan_run_local(NULL, &made.plan, &run));
  for (uint32_t column = 0; column < COLUMNS; column++)
    assert_true(w[column] == wanted(t, column)); // whole numbers
  eg_emitted_plan_deinit(&made);
  eg_graph_destroy(graph);
}

static void maxima_of_micro_batches_are_whole(void **state) {
  (void)state;
  static const task tasks[] = {{kept, kept_phases, false}, {summed, summed_phases, true}};
  static const char *const meshes[] = {"gpu=2", "gpu=4", "a=2,b=2"};
  for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++)
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++)
      run_task(&tasks[t], meshes[m]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maxima_of_micro_batches_are_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
