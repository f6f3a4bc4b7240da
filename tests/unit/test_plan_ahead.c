// What of a plan is there before a run: constants as they enter, and slices of them.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/random_plans.h"

static const char text[] = "(egraph-graph 1)(input x \"float32[8,8]\")"
                           "(weight w \"float32[8,8]\")(let y (matmul x w))"
                           "(let z (matmul w x))(output y)(output z)";

typedef struct fixture {
  eg_graph *graph;
  eg_plan plan;
  plan_maker maker;
  uint32_t x, w; // states as they enter, whole
} fixture;

static void open_fixture(fixture *f) {
  static const eg_layout whole = {0};
  eg_value x, w;
  *f = (fixture){.graph = kit_parse("test", text)};
  eg_plan_init(&f->plan, eg_allocator_heap());
  f->plan.graph = f->graph;
  f->plan.micro_batches = 1;
  assert_ok(eg_mesh_parse("gpu=2", &f->plan.mesh));
  f->maker = (plan_maker){.plan = &f->plan, .strategy = UINT32_MAX};
  assert_true(eg_graph_find_value(f->graph, "x", &x));
  assert_true(eg_graph_find_value(f->graph, "w", &w));
  f->x = plan_add_state(&f->maker, x.id, &whole, EG_PLAN_NONE);
  f->w = plan_add_state(&f->maker, w.id, &whole, EG_PLAN_NONE);
}

static void close_fixture(fixture *f) {
  eg_plan_deinit(&f->plan);
  eg_graph_destroy(f->graph);
}

static uint32_t slice(fixture *f, uint32_t state, uint32_t dim) {
  uint32_t to = state;
  assert_true(plan_move(&f->maker, &to, 0, (uint8_t)(EG_SHARD_S0 + dim)));
  return to;
}

/// A step that reads two states; what it makes does not matter here.
static void read_states(fixture *f, uint32_t a, uint32_t b) {
  static const eg_layout whole = {0};
  eg_graph_node_info info = eg_graph_node_at(f->graph, (eg_graph_node){0});
  eg_plan_step step = {.node = {0}, .operands = (uint32_t)f->plan.operands.len};
  uint32_t made =
      plan_add_state(&f->maker, info.results[0].id, &whole, (uint32_t)f->plan.steps.len);
  assert_ok(eg_u32s_append(&f->plan.operands, (uint32_t[]){a, b, made}, 3));
  assert_ok(eg_plan_steps_push(&f->plan.steps, step));
}

/// Expects of each state listed, in the end, whether it is there ahead.
static void expect(const fixture *f, const uint32_t *states, const bool *want,
                   size_t count) {
  bool *have = calloc(f->plan.states.len, sizeof *have);
  assert_non_null(have);
  assert_ok(eg_plan_ahead(&f->plan, eg_allocator_heap(), have));
  for (size_t i = 0; i < count; i++)
    if (have[states[i]] != want[i]) fail_msg("state %u", states[i]);
  free(have);
}

static void slices_of_weights_are_and_of_inputs_are_not(void **unused) {
  (void)unused;
  fixture f;
  open_fixture(&f);
  uint32_t rows = slice(&f, f.x, 0), columns = slice(&f, f.w, 1);
  read_states(&f, f.x, columns);
  read_states(&f, rows, columns);
  expect(&f, (uint32_t[]){f.x, rows, f.w, columns}, (bool[]){false, false, true, true},
         4);
  close_fixture(&f);
}

/// Two halves are a whole; with a third, or beside the whole, they would take more.
static void slices_take_no_more_than_the_weight(void **unused) {
  (void)unused;
  for (int reads_whole = 0; reads_whole < 2; reads_whole++) {
    fixture f;
    open_fixture(&f);
    uint32_t rows = slice(&f, f.w, 0), columns = slice(&f, f.w, 1);
    read_states(&f, f.x, rows);
    read_states(&f, f.x, columns);
    if (reads_whole) read_states(&f, f.x, f.w);
    expect(&f, (uint32_t[]){f.w, rows, columns},
           (bool[]){true, !reads_whole, !reads_whole}, 3);
    close_fixture(&f);
  }
}

/// What leaves for the next step is made in the step, whatever it is a slice of.
static void what_is_carried_is_not(void **unused) {
  (void)unused;
  fixture f;
  open_fixture(&f);
  uint32_t rows = slice(&f, f.w, 0);
  read_states(&f, f.x, rows);
  assert_ok(eg_u32s_append(&f.plan.output_states, (uint32_t[]){rows, rows}, 2));
  expect(&f, &rows, (bool[]){true}, 1);
  eg_value x = f.plan.states.data[f.x].value, w = f.plan.states.data[f.w].value;
  assert_ok(eg_u32s_append(&f.plan.carried, (uint32_t[]){0, x.id}, 2));
  expect(&f, &rows, (bool[]){false}, 1);
  f.plan.carried.data[1] = w.id; // nor is it a constant then
  expect(&f, (uint32_t[]){f.w, rows}, (bool[]){false, false}, 2);
  close_fixture(&f);
}

static egraph_status find_ahead(egraph_allocator alloc, void *user) {
  bool flags[64];
  return eg_plan_ahead(&((fixture *)user)->plan, alloc, flags);
}

static void failing_allocations_are_survived(void **unused) {
  (void)unused;
  fixture f;
  open_fixture(&f);
  test_every_allocation_failing(find_ahead, &f);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_of_weights_are_and_of_inputs_are_not),
      cmocka_unit_test(slices_take_no_more_than_the_weight),
      cmocka_unit_test(what_is_carried_is_not),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
