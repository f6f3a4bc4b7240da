// The order in which exchanges are issued, by hand: products in a row whose weights are
// gathered (ZeRO-3) or whose results are reduced.
// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_simulation.h"
#include "tests/testing.h"
#include "tests/unit/session_kit.h"

static const char three_text[] =
    "(egraph-graph 1)(input x \"float32[4,8]\")(weight u \"float32[8,8]\")"
    "(weight v \"float32[8,8]\")(weight w \"float32[8,8]\")"
    "(let a (matmul x u))(let b (matmul a v))(let c (matmul b w))"
    "(output a)(output b)(output c)";

static uint32_t value_of(const eg_graph *graph, const char *name) {
  eg_value value = EG_VALUE_NONE;
  assert_true(eg_graph_find_value(graph, name, &value));
  return value.id;
}

static void plan_begin(eg_plan *plan, const eg_graph *graph, const char *mesh) {
  eg_plan_init(plan, eg_allocator_heap());
  plan->graph = graph;
  plan->micro_batches = 1;
  assert_ok(eg_mesh_parse(mesh, &plan->mesh));
}

/// A state; digits of its layout: "R", "0" (split along dimension 0), "P".
static uint32_t add_state(eg_plan *plan, const char *name, char digit, uint32_t step) {
  eg_plan_state state = {.value = {value_of(plan->graph, name)}, .step = step};
  state.layout.sharding[0] = (uint8_t)(digit == 'R'   ? EG_SHARD_R
                                       : digit == 'P' ? EG_SHARD_P_SUM
                                                      : EG_SHARD_S0 + (digit - '0'));
  assert_ok(eg_plan_states_push(&plan->states, state));
  return (uint32_t)plan->states.len - 1;
}

static uint32_t add_move(eg_plan *plan, uint32_t from, char digit, uint32_t axis,
                         eg_transition_kind kind, eg_phase phase, double seconds) {
  const char *name = eg_graph_value(plan->graph, plan->states.data[from].value)->name;
  uint32_t step = (uint32_t)plan->steps.len;
  uint32_t to = add_state(plan, name, digit, step);
  assert_ok(eg_plan_steps_push(&plan->steps,
                               (eg_plan_step){.is_move = true,
                                              .phase = phase,
                                              .from = from,
                                              .to = to,
                                              .transition = {.kind = kind, .axis = axis},
                                              .seconds = seconds}));
  return to;
}

/// The node that makes `name` of two states.
static uint32_t add_node(eg_plan *plan, const char *name, uint32_t left, uint32_t right,
                         char digit, eg_phase phase, double seconds) {
  uint32_t step = (uint32_t)plan->steps.len;
  eg_value value = {value_of(plan->graph, name)};
  uint32_t result = add_state(plan, name, digit, step);
  eg_plan_step node = {.phase = phase,
                       .node = eg_graph_value(plan->graph, value)->node,
                       .operands = (uint32_t)plan->operands.len,
                       .seconds = seconds};
  assert_ok(eg_plan_steps_push(&plan->steps, node));
  assert_ok(eg_u32s_append(&plan->operands, (uint32_t[]){left, right, result}, 3));
  return result;
}

/// Tasks by step, of the only micro-batch.
static eg_task_times step_times(const eg_plan_simulation *s, uint32_t step) {
  for (uint32_t t = 0; t < s->tasks.tasks.len; t++)
    if (s->tasks.tasks.data[t].step == step)
      return eg_task_graph_times(s->tasks.graph, t);
  fail();
  return (eg_task_times){0};
}

/// Three products, each with the gather of its weight before it: steps gather u, a,
/// gather v, b, gather w, c.
static void make_zero3(const eg_graph *graph, double gather, double product,
                       eg_plan *out) {
  static const char *const weights[] = {"u", "v", "w"};
  static const char *const results[] = {"a", "b", "c"};
  uint32_t at, entries[3];
  plan_begin(out, graph, "gpu=2");
  at = add_state(out, "x", '0', EG_PLAN_NONE);
  for (int i = 0; i < 3; i++)
    entries[i] = add_state(out, weights[i], '0', EG_PLAN_NONE);
  for (int i = 0; i < 3; i++) {
    uint32_t whole = add_move(out, entries[i], 'R', 0, EG_TRANSITION_ALL_GATHER,
                              EG_PHASE_FORWARD, gather);
    at = add_node(out, results[i], at, whole, '0', EG_PHASE_FORWARD, product);
    assert_ok(eg_u32s_push(&out->output_states, at));
  }
}

static void check_issued(const eg_plan *plan, const eg_machine_mesh *links,
                         eg_issue issue, const double *starts, const double *ends) {
  eg_plan_simulation s;
  eg_plan_simulation_init(&s, eg_allocator_heap());
  assert_ok(eg_plan_simulate(plan, links, issue, &s));
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    eg_task_times times = step_times(&s, i);
    if (times.start != starts[i] || times.end != ends[i])
      fail_msg("step %u runs from %g to %g, not from %g to %g", i, times.start, times.end,
               starts[i], ends[i]);
  }
  eg_plan_simulation_deinit(&s);
}

static void check_ends(const eg_plan *plan, const eg_machine_mesh *links,
                       const double *starts, const double *ends) {
  check_issued(plan, links, EG_ISSUE_AHEAD, starts, ends);
}

static void gathers_run_one_reader_ahead(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("three", three_text);
  eg_plan plan;
  // Gathers decide: each waits for the one before.
  make_zero3(graph, 4, 3, &plan);
  check_ends(&plan, NULL, (double[]){0, 4, 4, 8, 8, 12}, (double[]){4, 7, 8, 11, 12, 15});
  eg_plan_deinit(&plan);
  // Products decide: that of w waits until the reader of v begins.
  make_zero3(graph, 1, 10, &plan);
  check_ends(&plan, NULL, (double[]){0, 1, 1, 11, 11, 21},
             (double[]){1, 11, 2, 21, 12, 31});
  // Two readers ahead it need not wait.
  check_issued(&plan, NULL, EG_ISSUE_AHEAD_2, (double[]){0, 1, 1, 11, 2, 21},
               (double[]){1, 11, 2, 21, 3, 31});
  // So it does in the next micro-batch: that of u waits until the reader of w begins.
  plan.micro_batches = 2;
  eg_plan_simulation s;
  eg_plan_simulation_init(&s, eg_allocator_heap());
  assert_ok(eg_plan_simulate(&plan, NULL, EG_ISSUE_AHEAD, &s));
  assert_true(s.seconds == 61);
  assert_true(s.wait[EG_PHASE_FORWARD][0][EG_TRANSITION_ALL_GATHER].seconds == 1);
  for (uint32_t t = 0; t < s.tasks.tasks.len; t++)
    if (s.tasks.tasks.data[t].step == 0 && s.tasks.tasks.data[t].micro_batch == 1)
      assert_true(eg_task_graph_times(s.tasks.graph, t).start == 21);
  eg_plan_simulation_deinit(&s);
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

/// What is written over waits for its gather, which must not wait for readers behind it:
/// u is gathered, left as a, then read by c; in between b reads a.
static void gathers_do_not_wait_for_what_waits_for_them(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("three", three_text);
  eg_plan plan;
  plan_begin(&plan, graph, "gpu=2");
  uint32_t x = add_state(&plan, "x", '0', EG_PLAN_NONE);
  uint32_t u = add_state(&plan, "u", '0', EG_PLAN_NONE);
  uint32_t v = add_state(&plan, "v", '0', EG_PLAN_NONE);
  uint32_t w = add_state(&plan, "w", 'R', EG_PLAN_NONE);
  const eg_transition_kind gather = EG_TRANSITION_ALL_GATHER;
  uint32_t all_u = add_move(&plan, u, 'R', 0, gather, EG_PHASE_FORWARD, 1);
  uint32_t all_v = add_move(&plan, v, 'R', 0, gather, EG_PHASE_FORWARD, 1);
  uint32_t a = add_node(&plan, "a", x, w, '0', EG_PHASE_FORWARD, 1);
  uint32_t b = add_node(&plan, "b", a, all_v, '0', EG_PHASE_FORWARD, 1);
  uint32_t c = add_node(&plan, "c", b, all_u, '0', EG_PHASE_FORWARD, 1);
  assert_ok(eg_u32s_append(&plan.output_states, (uint32_t[]){a, b, c}, 3));
  assert_ok(eg_u32s_append(&plan.carried, (uint32_t[]){0, value_of(graph, "u")}, 2));
  check_ends(&plan, NULL, (double[]){0, 1, 1, 2, 3}, (double[]){1, 2, 2, 3, 4});
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

/// Partial sums of a, reduced only where the update reads them, go under b and c.
static void reductions_go_under_what_follows(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("three", three_text);
  eg_plan plan;
  plan_begin(&plan, graph, "gpu=2");
  uint32_t x = add_state(&plan, "x", '0', EG_PLAN_NONE);
  uint32_t u = add_state(&plan, "u", 'R', EG_PLAN_NONE);
  uint32_t w = add_state(&plan, "w", 'R', EG_PLAN_NONE);
  uint32_t a = add_node(&plan, "a", x, u, 'P', EG_PHASE_BACKWARD, 2);
  uint32_t b = add_node(&plan, "b", x, u, '0', EG_PHASE_BACKWARD, 3);
  uint32_t sum = add_move(&plan, a, 'R', 0, EG_TRANSITION_ALL_REDUCE, EG_PHASE_UPDATE, 4);
  uint32_t c = add_node(&plan, "c", sum, w, 'R', EG_PHASE_UPDATE, 1);
  assert_ok(eg_u32s_append(&plan.output_states, (uint32_t[]){a, b, c}, 3));
  check_ends(&plan, NULL, (double[]){0, 2, 2, 6}, (double[]){2, 5, 6, 7});
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

/// Two reductions at once: over one class of links they take turns, over two they do not.
static void classes_of_links_are_streams(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("three", three_text);
  eg_machine_mesh links = {.links = {{.link = 0}, {.link = 1}}};
  eg_plan plan;
  plan_begin(&plan, graph, "node=2,gpu=2");
  uint32_t x = add_state(&plan, "x", '0', EG_PLAN_NONE);
  uint32_t u = add_state(&plan, "u", 'R', EG_PLAN_NONE);
  uint32_t a = add_node(&plan, "a", x, u, 'P', EG_PHASE_FORWARD, 1);
  uint32_t b = add_node(&plan, "b", x, u, 'P', EG_PHASE_FORWARD, 1);
  uint32_t first =
      add_move(&plan, a, 'R', 0, EG_TRANSITION_ALL_REDUCE, EG_PHASE_FORWARD, 8);
  uint32_t second =
      add_move(&plan, b, 'R', 1, EG_TRANSITION_ALL_REDUCE, EG_PHASE_FORWARD, 8);
  uint32_t c = add_node(&plan, "c", first, second, 'R', EG_PHASE_FORWARD, 1);
  assert_ok(eg_u32s_append(&plan.output_states, (uint32_t[]){a, b, c}, 3));
  check_ends(&plan, &links, (double[]){0, 1, 1, 2, 10}, (double[]){1, 2, 9, 10, 11});
  links.links[1].link = 0;
  check_ends(&plan, &links, (double[]){0, 1, 1, 9, 17}, (double[]){1, 2, 9, 17, 18});
  check_ends(&plan, NULL, (double[]){0, 1, 1, 9, 17}, (double[]){1, 2, 9, 17, 18});
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

static void check_as(const eg_plan *plan, const eg_simulation_setup *setup,
                     const double *starts, const double *ends) {
  eg_plan_simulation s;
  eg_plan_simulation_init(&s, eg_allocator_heap());
  assert_ok(eg_plan_simulate_as(plan, setup, &s));
  for (uint32_t t = 0; t < s.tasks.tasks.len; t++) {
    eg_task_times times = eg_plan_task_times(&s.tasks, t);
    uint32_t i = s.tasks.tasks.data[t].step;
    if (times.start != starts[i] || times.end != ends[i])
      fail_msg("step %u runs from %g to %g, not from %g to %g", i, times.start, times.end,
               starts[i], ends[i]);
  }
  eg_plan_simulation_deinit(&s);
}

/// Reductions of 128 bytes along two axes, by rings of two rounds of 64 bytes, over one
/// port of 64 bytes per second: the first one has a round to itself, then they share the
/// port.
static void rounds_of_two_axes_share_a_port(void **state) {
  (void)state;
  static const char text[] = "(egraph-machine 1)(name n)(compute free)"
                             "(link port (latency 0) (bandwidth 64) (ports switch))"
                             "(link other (latency 0) (bandwidth 64) (ports switch))"
                             "(axis node 2 %s)(axis gpu 2 port)";
  static const char *const links[] = {"port", "other"};
  static const double starts[2][5] = {{0, 1, 1, 2, 5}, {0, 1, 1, 2, 4}};
  static const double ends[2][5] = {{1, 2, 4, 5, 6}, {1, 2, 3, 4, 5}};
  eg_graph *graph = kit_parse("three", three_text);
  eg_plan plan;
  plan_begin(&plan, graph, "node=2,gpu=2");
  uint32_t x = add_state(&plan, "x", 'R', EG_PLAN_NONE);
  uint32_t u = add_state(&plan, "u", 'R', EG_PLAN_NONE);
  uint32_t a = add_node(&plan, "a", x, u, 'P', EG_PHASE_FORWARD, 1);
  uint32_t b = add_node(&plan, "b", x, u, 'P', EG_PHASE_FORWARD, 1);
  uint32_t first =
      add_move(&plan, a, 'R', 0, EG_TRANSITION_ALL_REDUCE, EG_PHASE_FORWARD, 2);
  uint32_t second =
      add_move(&plan, b, 'R', 1, EG_TRANSITION_ALL_REDUCE, EG_PHASE_FORWARD, 2);
  uint32_t c = add_node(&plan, "c", first, second, 'R', EG_PHASE_FORWARD, 1);
  assert_ok(eg_u32s_append(&plan.output_states, (uint32_t[]){a, b, c}, 3));
  for (int i = 0; i < 2; i++) {
    char machine_text[512];
    eg_machine machine;
    eg_machine_mesh mesh;
    (void)snprintf(machine_text, sizeof machine_text, text, links[i]);
    assert_ok(
        eg_machine_parse(NULL, "m", machine_text, strlen(machine_text), 0, &machine));
    assert_ok(eg_machine_find_mesh(&machine, &plan.mesh, &mesh));
    eg_simulation_setup setup = {.links = &mesh, .machine = &machine};
    check_as(&plan, &setup, starts[i], ends[i]);
    setup.all_devices = true;
    check_as(&plan, &setup, starts[i], ends[i]);
    eg_machine_deinit(&machine);
  }
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

/// A product of 3 s beside a reduction of 2 s that begins when it does: half as fast for
/// 2 s is 1 s of work, and 2 s are left.
static void products_beside_a_reduction_take_longer(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("three", three_text);
  eg_plan plan;
  plan_begin(&plan, graph, "gpu=2");
  uint32_t x = add_state(&plan, "x", '0', EG_PLAN_NONE);
  uint32_t u = add_state(&plan, "u", 'R', EG_PLAN_NONE);
  uint32_t w = add_state(&plan, "w", 'R', EG_PLAN_NONE);
  uint32_t a = add_node(&plan, "a", x, u, 'P', EG_PHASE_BACKWARD, 2);
  uint32_t b = add_node(&plan, "b", x, u, '0', EG_PHASE_BACKWARD, 3);
  uint32_t sum = add_move(&plan, a, 'R', 0, EG_TRANSITION_ALL_REDUCE, EG_PHASE_UPDATE, 2);
  uint32_t c = add_node(&plan, "c", sum, w, 'R', EG_PHASE_UPDATE, 1);
  assert_ok(eg_u32s_append(&plan.output_states, (uint32_t[]){a, b, c}, 3));
  eg_simulation_setup setup = {.beside = 2};
  check_as(&plan, &setup, (double[]){0, 2, 2, 6}, (double[]){2, 6, 4, 7});
  setup.issue = EG_ISSUE_IN_ORDER; // nothing is beside anything
  check_as(&plan, &setup, (double[]){0, 2, 5, 7}, (double[]){2, 5, 7, 8});
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

static void what_stands_for_several_blocks_is_refused(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("three", three_text);
  eg_plan plan;
  eg_plan_simulation s;
  make_zero3(graph, 1, 1, &plan);
  plan.states.data[0].more_blocks = 3;
  eg_plan_simulation_init(&s, eg_allocator_heap());
  assert_int_equal(eg_plan_simulate(&plan, NULL, EG_ISSUE_AHEAD, &s), EGRAPH_E_ARGUMENT);
  eg_plan_simulation_deinit(&s);
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

static void a_plan_without_steps_takes_no_time(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("three", three_text);
  eg_plan plan;
  eg_plan_simulation s;
  plan_begin(&plan, graph, "");
  (void)add_state(&plan, "x", 'R', EG_PLAN_NONE);
  eg_plan_simulation_init(&s, eg_allocator_heap());
  assert_ok(eg_plan_simulate(&plan, NULL, EG_ISSUE_AHEAD, &s));
  assert_true(s.seconds == 0 && s.peak_bytes == 4 * 8 * 4);
  eg_plan_simulation_deinit(&s);
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gathers_run_one_reader_ahead),
      cmocka_unit_test(gathers_do_not_wait_for_what_waits_for_them),
      cmocka_unit_test(reductions_go_under_what_follows),
      cmocka_unit_test(classes_of_links_are_streams),
      cmocka_unit_test(rounds_of_two_axes_share_a_port),
      cmocka_unit_test(products_beside_a_reduction_take_longer),
      cmocka_unit_test(what_stands_for_several_blocks_is_refused),
      cmocka_unit_test(a_plan_without_steps_takes_no_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
