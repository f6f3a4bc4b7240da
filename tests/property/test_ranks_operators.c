// Every strategy of every operator, executed on ranks and compared with a single device:
// the cases of ops_cases.def (large ones shortened), and the same with dimensions
// two and four times as long where they are still well-typed, on 2, 3 and 4 ranks.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops_fixture.h"
#include "tests/unit/random_plans.h"

static const char *const meshes[] = {"a=2", "a=3", "a=4", "a=2,b=2"};

/// How a case is resized: dimensions above 32 are divided, those above 1 multiplied.
typedef struct resize {
  int64_t divisor, factor, most_elements;
} resize;
static const resize resizes[] = {
    {1, 1, 110000}, {8, 1, 110000}, {64, 1, 110000}, {1, 2, 20000}, {1, 4, 20000}};

/// A graph of one node. False when the operands are not well-typed or too large, and when
/// no dimension changes: the case as it is comes once.
static bool graph_of(const ops_case *row, const resize *size, eg_graph **out) {
  fixture f;
  eg_value inputs[FIXTURE_MAX_TYPES], results[FIXTURE_MAX_TYPES];
  eg_type types[FIXTURE_MAX_TYPES];
  bool fits = true, changes = size->divisor == 1 && size->factor == 1;
  fixture_init(&f, row);
  assert_ok(eg_graph_create(NULL, out));
  for (uint32_t i = 0; i < f.count; i++) {
    for (uint32_t d = 0; d < f.inputs[i].rank; d++) {
      int64_t *dim = &f.inputs[i].dims[d], before = *dim;
      if (*dim > 32)
        *dim /= size->divisor;
      else if (*dim != 1)
        *dim *= size->factor;
      changes = changes || *dim != before;
    }
    char name[16];
    snprintf(name, sizeof name, "x%u", i);
    fits = fits && eg_type_elements(&f.inputs[i]) <= size->most_elements;
    assert_ok(eg_graph_add_input(*out, name, &f.inputs[i], &inputs[i]));
  }
  uint32_t count = eg_op_results(&f.attrs);
  fits = fits && changes && eg_op_infer(&f.attrs, f.inputs, f.count, types) == EGRAPH_OK;
  for (uint32_t r = 0; fits && r < count; r++)
    fits = eg_type_elements(&types[r]) <= size->most_elements;
  if (fits)
    assert_ok(eg_graph_add_node(*out, "node", &f.attrs, inputs, f.count, NULL, results));
  for (uint32_t r = 0; fits && r < count; r++)
    assert_ok(eg_graph_add_output(*out, NULL, results[r]));
  fixture_deinit(&f);
  return fits;
}

static uint32_t count_strategies(const eg_graph *graph, const eg_mesh *mesh) {
  eg_plan plan = {.graph = graph, .mesh = *mesh};
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  eg_node_spec spec;
  eg_spread spread;
  eg_strategies all;
  eg_strategies_init(&all, eg_allocator_heap());
  assert_ok(eg_plan_spec(&plan, &(eg_plan_step){.node = {0}}, &arena, &spec));
  assert_ok(eg_spread_init(&spec, &spread));
  assert_ok(eg_spread_strategies(&spread, mesh, &arena, &all));
  uint32_t count = (uint32_t)all.len;
  eg_strategies_deinit(&all);
  eg_arena_deinit(&arena);
  return count;
}

static void run_strategy(const ops_case *row, const eg_graph *graph, const eg_mesh *mesh,
                         uint32_t strategy, const kit_tensors *inputs,
                         const kit_tensors *want) {
  eg_plan plan;
  eg_plan_init(&plan, eg_allocator_heap());
  plan.graph = graph;
  plan.mesh = *mesh;
  plan_maker maker = {.plan = &plan, .rng = {strategy}, .strategy = strategy};
  plan_make(&maker);
  kit_tensors have;
  kit_outputs_alloc(graph, &have);
  eg_plan_run run = {.rank = EG_RANK_OPTIONS_DEFAULT,
                     .channel = EG_CHANNEL_OPTIONS_DEFAULT,
                     .steps = 2,
                     .inputs = inputs->items,
                     .outputs = have.items};
  run.rank.backend = "reference";
  egraph_status status = eg_plan_run_local(NULL, &plan, &run);
  double error = status == EGRAPH_OK ? kit_error(want, &have) : INFINITY;
  if (!(error <= plan_tolerance(want))) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_mesh_print(&text, mesh));
    fail_msg("%s %s (%s) on %s, strategy %u: error %g, %s", eg_op_info_of(row->op)->name,
             row->attrs, row->inputs, eg_text_of(&text), strategy, error,
             status == EGRAPH_OK ? "" : egraph_last_error());
  }
  kit_tensors_deinit(&have);
  eg_plan_deinit(&plan);
}

/// Returns how many strategies there were.
static uint32_t run_case(const ops_case *row, const eg_graph *graph) {
  kit_tensors inputs, want;
  uint32_t all = 0;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "reference", 1, &inputs, &want);
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
    eg_mesh mesh;
    assert_ok(eg_mesh_parse(meshes[i], &mesh));
    uint32_t count = count_strategies(graph, &mesh);
    for (uint32_t s = 0; s < count; s++)
      run_strategy(row, graph, &mesh, s, &inputs, &want);
    all += count;
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  return all;
}

static void every_strategy_computes_what_one_device_does(void **state) {
  (void)state;
  uint32_t all = 0, cases = 0;
  for (uint32_t i = 0; i < OPS_CASES; i++) {
    bool has_run = false;
    for (size_t k = 0; k < sizeof resizes / sizeof *resizes; k++) {
      eg_graph *graph;
      bool is_done = has_run && resizes[k].divisor != 1; // it was not too large
      if (graph_of(&ops_cases[i], &resizes[k], &graph) && !is_done) {
        all += run_case(&ops_cases[i], graph);
        has_run = true;
        cases++;
      }
      eg_graph_destroy(graph);
    }
    if (!has_run)
      fail_msg("%s %s: not run", eg_op_info_of(ops_cases[i].op)->name,
               ops_cases[i].inputs);
  }
  print_message("%u strategies of %u cases\n", all, cases);
  assert_true(all > 4 * cases); // more than replication on every mesh
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_strategy_computes_what_one_device_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
