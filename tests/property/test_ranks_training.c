// Whole training steps in random layouts on ranks, against one device: two layers, cross
// entropy, Adam, several micro-batches and steps.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/random_plans.h"
#include "tests/unit/rank_training.h"

static const char forward_text[] =
    "(egraph-graph 1)(input x \"float32[8,4]\")(weight v \"float32[4,8]\")"
    "(weight b \"float32[8]\")(weight w \"float32[8,4]\")"
    "(let p (matmul x v))(let q (add p b))(let h (relu q))(let y (matmul h w))(output y)";

static void make_plan(const problem *p, const char *mesh, uint64_t seed, eg_plan *out) {
  eg_graph *graph = p->training.graph;
  eg_plan_init(out, eg_allocator_heap());
  out->graph = graph;
  out->micro_batches = MICRO_BATCHES;
  assert_ok(eg_mesh_parse(mesh, &out->mesh));
  for (uint32_t i = 0; i < p->pair_count; i++) {
    assert_ok(eg_u32s_push(&out->carried, p->pairs[i].output));
    assert_ok(eg_u32s_push(&out->carried, eg_graph_input(graph, p->pairs[i].input).id));
  }
  plan_maker maker = {
      .plan = out, .rng = {seed}, .phases = p->phases, .strategy = UINT32_MAX};
  plan_make(&maker);
}

static void training_steps_in_any_layout_give_the_same_weights(void **state) {
  (void)state;
  static const char *const meshes[] = {"", "a=2", "a=4", "a=2,b=2", "a=2,b=2,c=2"};
  uint64_t seed = test_seed(40);
  for (size_t round = 0; round < test_rounds(25); round++) {
    problem p;
    eg_plan plan;
    kit_tensors want;
    eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
    options.micro_batches = MICRO_BATCHES;
    problem_init(&p, forward_text, &options);
    make_plan(&p, meshes[round % 5], seed + round, &plan);
    p.plan = &plan;
    train_alone(&p, &want);
    train_on_ranks(&p);
    double error = kit_error(&want, &p.have);
    // Adam divides by the root of what may be all but nothing.
    if (!(error < 1e-3))
      fail_msg("mesh '%s', seed %u: error %g", meshes[round % 5],
               (unsigned)(seed + round), error);
    kit_tensors_deinit(&want);
    eg_plan_deinit(&plan);
    problem_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_steps_in_any_layout_give_the_same_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
