// Local search, the cuts that forcing keeps, and what stops at a limit.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/presolve/landmarks.h"
#include "extract/presolve/presolve.h"
#include "extract/presolve/reduced.h"
#include "extract/search/local_search.h"
#include "tests/testing.h"

static egraph_allocator heap(void) { return eg_allocator_heap(); }

static void start(eg_extract_problem *problem, uint32_t classes) {
  assert_ok(eg_extract_problem_init(problem, heap()));
  for (uint32_t i = 0; i < classes; i++) {
    uint32_t class;
    assert_ok(eg_extract_problem_add_class(problem, &class));
  }
  assert_ok(eg_extract_problem_add_root(problem, 0));
}

static void node(eg_extract_problem *problem, uint32_t class, double cost,
                 const uint32_t *children, uint32_t count) {
  assert_ok(eg_extract_problem_add_node(problem, class, cost, children, count, NULL));
}
#define NODE(problem, class, cost, ...)                                                  \
  node(problem, class, cost, (const uint32_t[]){__VA_ARGS__},                            \
       sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

// Tree greedy, then local search; returns the costs of both.
typedef struct climb {
  const eg_extract_problem *problem;
  double before, after;
} climb;

static egraph_status climb_with(egraph_allocator alloc, climb *c, eg_incumbent *incumbent,
                                eg_class_index *index, eg_u32s *choice) {
  eg_greedy greedy = {alloc, c->problem, index, 0};
  EG_TRY(eg_class_index_build(index, c->problem));
  EG_TRY(eg_u32s_resize(choice, c->problem->class_count));
  EG_TRY(eg_greedy_run(&greedy, EG_GREEDY_TREE, c->problem->cost.data, choice->data));
  EG_TRY(eg_incumbent_offer(incumbent, choice->data, &c->before));
  EG_TRY(eg_local_search_run(&greedy, incumbent, UINT64_MAX));
  return eg_extract_certify(alloc, c->problem, incumbent->choice.data, &c->after);
}

static egraph_status run_climb(egraph_allocator alloc, void *user) {
  climb *c = user;
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_incumbent incumbent;
  eg_class_index index;
  eg_u32s choice;
  EG_TRY(eg_incumbent_init(&incumbent, alloc, c->problem, &options));
  eg_class_index_init(&index, alloc);
  eg_u32s_init(&choice, alloc);
  egraph_status status = climb_with(alloc, c, &incumbent, &index, &choice);
  eg_u32s_deinit(&choice);
  eg_class_index_deinit(&index);
  eg_incumbent_deinit(&incumbent);
  return status;
}

static void local_search_sees_what_is_there_anyway(void **state) {
  (void)state;
  eg_extract_problem problem;
  start(&problem, 4);
  NODE(&problem, 0, 1, 1, 2);
  node(&problem, 1, 3, NULL, 0); // cheaper as a tree,
  NODE(&problem, 1, 0.5, 3);     // but class 3 is paid by class 2
  NODE(&problem, 2, 1, 3);
  node(&problem, 3, 4, NULL, 0);
  climb c = {.problem = &problem};
  assert_ok(run_climb(heap(), &c));
  assert_true(c.before == 9 && c.after == 6.5);
  test_every_allocation_failing(run_climb, &c);
  eg_extract_problem_deinit(&problem);
}

static void draw(eg_extract_problem *problem, eg_rng *rng, uint32_t classes) {
  start(problem, classes);
  for (uint32_t class = 0; class < classes; class ++) {
    node(problem, class, 8 * eg_rng_unit(rng), NULL, 0);
    for (uint32_t m = 0; m < 3; m++) {
      uint32_t children[3];
      for (uint32_t i = 0; i < 3; i++)
        children[i] = (uint32_t)eg_rng_below(rng, classes);
      node(problem, class, eg_rng_unit(rng), children, 1 + m);
    }
  }
}

static void local_search_never_loses_and_stays_acyclic(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260201);
  double before = 0, after = 0;
  for (size_t round = 0; round < test_rounds(200); round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_extract_problem problem;
    draw(&problem, &rng, 5 + (uint32_t)eg_rng_below(&rng, 60));
    climb c = {.problem = &problem};
    assert_ok(run_climb(heap(), &c)); // with the certificate
    assert_true(c.after <= c.before * (1 + 1e-12));
    before += c.before;
    after += c.after;
    eg_extract_problem_deinit(&problem);
  }
  assert_true(after < 0.99 * before);
}

// Three terms: classes 0 = abc, 1 = ab, 2 = ac, 3 = bc, 4 = a, 5 = b, 6 = c.
static void draw_sum(eg_extract_problem *problem) {
  start(problem, 7);
  NODE(problem, 0, 1, 1, 6);
  NODE(problem, 0, 1, 2, 5);
  NODE(problem, 0, 1, 3, 4);
  NODE(problem, 1, 1, 4, 5);
  NODE(problem, 2, 1, 4, 6);
  NODE(problem, 3, 1, 5, 6);
  for (uint32_t term = 4; term < 7; term++)
    node(problem, term, 1, NULL, 0);
}

// Runs the pass that forces, then others.
static egraph_status force_all(egraph_allocator alloc, eg_parts *parts,
                               const eg_extract_problem *problem, uint32_t then,
                               eg_cuts *out) {
  eg_presolve presolve;
  EG_TRY(eg_presolve_init(&presolve, alloc, parts));
  presolve.disabled = ~(1u << EG_PASS_FORCED);
  egraph_status status = eg_reduced_from(&presolve.spare, problem);
  if (status == EGRAPH_OK) status = eg_presolve_load(&presolve, &presolve.spare);
  if (status == EGRAPH_OK) status = eg_presolve_run(&presolve);
  presolve.disabled = ~then;
  if (status == EGRAPH_OK) status = eg_presolve_run(&presolve);
  if (status == EGRAPH_OK) status = eg_reduced_list_cuts(&presolve.model, parts, out);
  eg_presolve_deinit(&presolve);
  return status;
}

typedef struct forcing {
  const eg_extract_problem *problem;
  uint32_t then, cuts, items;
} forcing;

static egraph_status run_forcing(egraph_allocator alloc, void *user) {
  forcing *f = user;
  eg_parts parts;
  eg_cuts cuts;
  eg_parts_init(&parts, alloc, eg_extract_node_count(f->problem));
  egraph_status status = eg_cuts_init(&cuts, alloc);
  if (status == EGRAPH_OK) status = force_all(alloc, &parts, f->problem, f->then, &cuts);
  if (status == EGRAPH_OK) {
    f->cuts = eg_cuts_count(&cuts);
    f->items = (uint32_t)cuts.nodes.len;
  }
  eg_cuts_deinit(&cuts);
  eg_parts_deinit(&parts);
  return status;
}

static void forcing_keeps_who_may_use_the_class(void **state) {
  (void)state;
  eg_extract_problem problem;
  draw_sum(&problem);
  forcing alone = {.problem = &problem};
  assert_ok(run_forcing(heap(), &alone));
  assert_int_equal(alone.cuts, 3); // a, b, c: each used in one of three nodes
  assert_int_equal(alone.items, 9);
  // Detached, and multiplied into the root: every product uses all three.
  forcing merged = {.problem = &problem,
                    .then = 1u << EG_PASS_DETACH | 1u << EG_PASS_MERGE};
  assert_ok(run_forcing(heap(), &merged));
  assert_true(merged.cuts == 3 && merged.items == 9);
  test_every_allocation_failing(run_forcing, &merged);
  eg_extract_problem_deinit(&problem);
}

static void limits_leave_valid_results(void **state) {
  (void)state;
  eg_extract_problem problem;
  draw_sum(&problem);
  eg_class_index index;
  eg_class_index_init(&index, heap());
  assert_ok(eg_class_index_build(&index, &problem));
  double price[9], bound = -1;
  memcpy(price, problem.cost.data, sizeof price);
  assert_ok(eg_dual_ascent_run(&problem, &index, &problem.roots,
                               (eg_ascent_limits){.max_work = 1}, price, &bound, NULL));
  assert_true(bound >= 0 && bound <= 5);
  uint32_t tree[7], late[7];
  eg_greedy greedy = {heap(), &problem, &index, 1 << 20};
  assert_ok(eg_greedy_run(&greedy, EG_GREEDY_TREE, problem.cost.data, tree));
  assert_ok(eg_greedy_run_until(&greedy, EG_GREEDY_DAG, problem.cost.data, 0, late));
  assert_memory_equal(tree, late, sizeof tree);
  eg_landmarks landmarks;
  eg_landmarks_init(&landmarks, heap());
  bool done = true;
  assert_ok(
      eg_landmarks_find(&landmarks, &problem, &index, (eg_patience){0, NULL}, &done));
  assert_false(done);
  eg_landmarks_deinit(&landmarks);
  eg_class_index_deinit(&index);
  eg_extract_problem_deinit(&problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(local_search_sees_what_is_there_anyway),
      cmocka_unit_test(local_search_never_loses_and_stays_acyclic),
      cmocka_unit_test(forcing_keeps_who_may_use_the_class),
      cmocka_unit_test(limits_leave_valid_results),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
