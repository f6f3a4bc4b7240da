// Rows of steps in training steps of stacks of blocks in which one block stands for many:
// no plan of any solution holds less at its peak than any row of it says.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_step_row.h"
#include "tests/step_row_sum.h"
#include "tests/unit/unfold_kit.h"

enum { DRAWS = 4, VALUES = 40 }; // of a stack; of a plan

typedef struct stack {
  eg_text text;
  eg_rng rng;
  prices prices;
  eg_graph *forward;
  eg_blocks blocks;
  eg_folded folded;
  eg_training step;
  eg_training_info info;
  eg_plan_space space;
  eg_plan_model model;
  size_t round, rows, again;
  double most; // of a peak, in a row
} stack;

static void try_row(stack *s, const eg_layout_solution *solution, double peak,
                    uint32_t value) {
  eg_peak_row row;
  eg_peak_row_init(&row, eg_allocator_heap());
  assert_ok(
      eg_step_row_note(&row, &s->model, eg_allocator_heap(), value, EG_SPACE_NONE, NULL));
  double sum = step_row_sum(&s->model, &row, solution);
  s->rows++;
  s->most = fmax(s->most, sum / peak);
  if (sum > peak) {
    print_message("%s", eg_text_of(&s->text));
    fail_msg("round %zu: the step of value %u holds %.17g, the plan %.17g", s->round,
             value, sum, peak);
  }
  eg_peak_row_deinit(&row);
}

/// Of the cheapest plan at a price of memory.
static void try_priced(stack *s, double price) {
  const double both[EG_LAYOUT_MEMORY_ROWS] = {price, price};
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result result;
  eg_emitted_plan emitted;
  eg_plan_summary summary;
  options.time_limit_seconds = 600;
  options.work_limit = UNFOLD_WORK;
  options.relative_gap = 0.02;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_plan_model_price_memory(&s->model, both));
  assert_ok(eg_layout_solve(eg_allocator_heap(), &s->model.problem, &options, &result));
  assert_true(result.solutions.len != 0);
  const eg_layout_solution *solution = &result.solutions.data[0];
  assert_ok(eg_plan_emit(&s->model, eg_allocator_heap(), solution, &emitted));
  assert_ok(eg_plan_summary_make(&emitted.plan, eg_allocator_heap(), &summary));
  for (size_t v = 0; v < emitted.again_of.len; v++)
    s->again += emitted.again_of.data[v] != EG_SPACE_NONE;
  for (int i = 0; i < VALUES; i++)
    try_row(s, solution, summary.peak,
            (uint32_t)eg_rng_below(&s->rng, s->model.values.len));
  eg_emitted_plan_deinit(&emitted);
  eg_layout_result_deinit(&result);
}

static void stack_init(stack *s) {
  eg_training_options options;
  eg_text_init(&s->text, eg_allocator_heap());
  draw_stack(&s->rng, &s->text);
  draw_prices(&s->rng, &s->prices);
  draw_options(&s->rng, &options);
  s->forward = kit_parse("stack", eg_text_of(&s->text));
  assert_ok(eg_blocks_find(s->forward, &s->blocks));
  assert_ok(eg_blocks_fold(s->forward, &s->blocks, unfold_ends, &s->folded));
  assert_ok(eg_training_step(s->folded.graph, &options, &s->step));
  assert_ok(eg_training_info_init(&s->info, eg_allocator_heap(), &s->step, &s->folded));
  assert_ok(eg_training_info_seams(&s->info, eg_allocator_heap(), s->folded.graph,
                                   &s->folded.blocks, &s->step));
  s->info.info.makes_again = eg_rng_below(&s->rng, 4) != 0;
}

static void stack_deinit(stack *s) {
  eg_training_info_deinit(&s->info);
  eg_training_deinit(&s->step);
  eg_folded_deinit(&s->folded);
  eg_graph_destroy(s->forward);
  eg_text_deinit(&s->text);
}

static void try_stack(stack *s) {
  eg_tensor_egraph *egraph;
  eg_mesh mesh;
  const eg_plan_costs costs = {.self = &s->prices,
                               .node = price_node,
                               .transition = price_transition,
                               .halo = price_halo};
  assert_ok(eg_mesh_parse("a=2", &mesh));
  assert_ok(eg_tensor_egraph_create(NULL, s->step.graph, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  assert_ok(eg_plan_space_init(&s->space, eg_allocator_heap(), egraph, &s->info.info,
                               &mesh, &costs));
  assert_ok(eg_plan_model_init(&s->model, eg_allocator_heap(), &s->space));
  for (int draw = 0; draw < DRAWS; draw++)
    try_priced(s, draw * 10 * eg_rng_unit(&s->rng));
  eg_plan_model_deinit(&s->model);
  eg_plan_space_deinit(&s->space);
  eg_tensor_egraph_destroy(egraph);
}

static void no_stack_holds_less(void **state) {
  (void)state;
  static stack s;
  uint64_t seed = test_seed(20261219);
  for (size_t rounds = test_rounds(12); s.round < rounds; s.round++) {
    s.rng = (eg_rng){eg_hash_combine(seed, s.round)};
    stack_init(&s);
    try_stack(&s);
    stack_deinit(&s);
  }
  print_message("%zu rows, up to %.4f of the peak; %zu values made again\n", s.rows,
                s.most, s.again);
  assert_true(s.rows < 1000 || (s.most > 0.95 && s.again > 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_stack_holds_less)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
