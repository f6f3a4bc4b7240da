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

// ---- exchanges beside computing -------------------------------------------------------

/// Only what takes time is an exchange that is worth a place of its own.
static void draw_seconds(eg_plan *plan, uint64_t seed) {
  eg_rng rng = {seed};
  for (size_t i = 0; i < plan->steps.len; i++)
    plan->steps.data[i].seconds = (double)eg_rng_below(&rng, 4);
}

static uint32_t count_updates(const eg_plan *plan) {
  uint32_t count = 0;
  for (size_t i = 0; i < plan->steps.len; i++)
    count += plan->steps.data[i].phase == EG_PHASE_UPDATE;
  return count;
}

/// That the plan in its order of issue is a plan. Counts exchanges that left their place,
/// and steps of the update that stand before others.
static void check_issued(const eg_plan *plan, eg_issue issue, uint32_t *moved,
                         uint32_t *early) {
  eg_plan issued;
  eg_plan_init(&issued, eg_allocator_heap());
  assert_ok(eg_plan_issued(plan, issue, &issued));
  assert_ok(eg_plan_check(&issued, eg_allocator_heap()));
  assert_int_equal(issued.steps.len, plan->steps.len);
  for (size_t i = 0; i < plan->steps.len; i++)
    *moved += issued.steps.data[i].is_move != plan->steps.data[i].is_move;
  *early += count_updates(plan) - count_updates(&issued);
  eg_plan_deinit(&issued);
}

static void assert_same_bits(const kit_tensors *want, const kit_tensors *have,
                             const char *mesh, uint64_t seed, eg_issue issue) {
  for (uint32_t i = 0; i < want->count; i++)
    if (memcmp(want->items[i].data, have->items[i].data,
               eg_type_bytes(&want->items[i].type)) != 0)
      fail_msg("mesh '%s', seed %u, issue %d: output %u differs", mesh, (unsigned)seed,
               (int)issue, i);
}

static void overlapped_steps_give_the_same_bits(void **state) {
  (void)state;
  static const char *const meshes[] = {"a=2", "a=4", "a=2,b=2", "a=2,b=2,c=2"};
  uint64_t seed = test_seed(42);
  uint32_t moved = 0, early = 0;
  for (size_t round = 0; round < test_rounds(24); round++) {
    problem p;
    eg_plan plan;
    kit_tensors want;
    eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
    options.micro_batches = MICRO_BATCHES;
    problem_init(&p, forward_text, &options);
    make_plan(&p, meshes[round % 4], seed + round, &plan);
    draw_seconds(&plan, seed + round);
    p.plan = &plan;
    train_on_ranks(&p);
    want = p.have;
    kit_outputs_alloc(p.training.graph, &p.have);
    p.overlaps = true;
    for (int issue = EG_ISSUE_AHEAD_4; issue < EG_ISSUES; issue++) {
      p.issue = (eg_issue)issue;
      check_issued(&plan, p.issue, &moved, &early);
      train_on_ranks(&p);
      assert_same_bits(&want, &p.have, meshes[round % 4], seed + round, p.issue);
    }
    kit_tensors_deinit(&want);
    eg_plan_deinit(&plan);
    problem_deinit(&p);
  }
  assert_true(moved > 0);
  assert_true(early > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_steps_in_any_layout_give_the_same_weights),
      cmocka_unit_test(overlapped_steps_give_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
