// The parts of the exact solver, each alone on problems small enough to work by hand.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/class_graph.h"
#include "extract/containers.h"
#include "extract/dual_ascent.h"
#include "extract/ilp_glpk.h"
#include "extract/presolve/presolve.h"
#include "extract/search/exact.h"
#include "extract/search/local_search.h"
#include "extract/search/separate.h"
#include "tests/testing.h"

static egraph_allocator heap(void) { return eg_allocator_heap(); }

typedef struct fixture {
  eg_extract_problem problem;
  eg_parts parts;
  eg_presolve presolve;
} fixture;

static void begin(fixture *f, uint32_t classes) {
  assert_ok(eg_extract_problem_init(&f->problem, heap()));
  for (uint32_t i = 0, class; i < classes; i++)
    assert_ok(eg_extract_problem_add_class(&f->problem, &class));
}

static void node(fixture *f, uint32_t class, double cost, const uint32_t *children,
                 uint32_t count) {
  assert_ok(eg_extract_problem_add_node(&f->problem, class, cost, children, count, NULL));
}
#define NODE(f, class, cost, ...)                                                        \
  node((f), (class), (cost), (const uint32_t[]){__VA_ARGS__},                            \
       sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define LEAF(f, class, cost) node((f), (class), (cost), NULL, 0)

// Only the passes of `enabled` run.
static void presolve_on(fixture *f, egraph_allocator alloc, uint32_t enabled,
                        double cutoff) {
  eg_parts_init(&f->parts, alloc, eg_extract_node_count(&f->problem));
  assert_ok(eg_presolve_init(&f->presolve, alloc, &f->parts));
  assert_ok(eg_reduced_from(&f->presolve.spare, &f->problem));
  assert_ok(eg_presolve_load(&f->presolve, &f->presolve.spare));
  f->presolve.disabled = ~enabled;
  f->presolve.cutoff = cutoff;
  assert_ok(eg_presolve_run(&f->presolve));
}

static void presolve_with(fixture *f, uint32_t enabled, double cutoff) {
  presolve_on(f, heap(), enabled, cutoff);
}

static void expect_size(const fixture *f, uint32_t nodes, uint32_t edges) {
  assert_int_equal(eg_extract_node_count(&f->presolve.model.problem), nodes);
  assert_int_equal(f->presolve.model.problem.children.len, edges);
}

static void end(fixture *f) {
  eg_presolve_deinit(&f->presolve);
  eg_parts_deinit(&f->parts);
  eg_extract_problem_deinit(&f->problem);
}

static uint32_t only(eg_extract_pass pass) { return 1u << pass; }

static void reach_drops_what_is_not_reached_or_not_derivable(void **state) {
  (void)state;
  fixture f;
  begin(&f, 4);
  LEAF(&f, 0, 5);
  NODE(&f, 0, 1, 1); // needs 1, which needs itself through 2
  NODE(&f, 1, 1, 2);
  NODE(&f, 2, 1, 1);
  LEAF(&f, 3, 1); // nobody asks
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  presolve_with(&f, only(EG_PASS_REACH), INFINITY);
  expect_size(&f, 1, 0);
  assert_int_equal(f.presolve.model.problem.class_count, 1);
  end(&f);
}

static void dominated_drops_dearer_nodes_with_more_children(void **state) {
  (void)state;
  fixture f;
  begin(&f, 3);
  NODE(&f, 0, 2, 1);
  NODE(&f, 0, 2, 1, 2); // same cost, more children
  NODE(&f, 0, 1, 2);    // cheaper, but other children
  NODE(&f, 0, 2, 1);    // a copy
  LEAF(&f, 1, 1);
  LEAF(&f, 2, 1);
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  presolve_with(&f, only(EG_PASS_DOMINATED), INFINITY);
  expect_size(&f, 2 + 2, 2); // of the first two only node 0 and node 2 survive
  end(&f);
}

static void detach_drops_edges_to_roots_outside_cycles(void **state) {
  (void)state;
  fixture f;
  begin(&f, 3);
  NODE(&f, 0, 1, 1, 2);
  NODE(&f, 1, 1, 2); // 1 and 2 form a cycle: the edge between them stays
  NODE(&f, 2, 1, 1);
  LEAF(&f, 2, 1);
  for (uint32_t class = 0; class < 3; class ++)
    assert_ok(eg_extract_problem_add_root(&f.problem, class));
  presolve_with(&f, only(EG_PASS_DETACH), INFINITY);
  expect_size(&f, 4, 2);
  end(&f);
}

static void collapse_pays_single_roots_and_removes_free_names(void **state) {
  (void)state;
  fixture f;
  begin(&f, 4);
  NODE(&f, 0, 7, 1, 3);
  NODE(&f, 1, 0, 2);
  LEAF(&f, 2, 3);
  LEAF(&f, 2, 4);
  LEAF(&f, 3, 5);
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  presolve_with(&f, only(EG_PASS_COLLAPSE), INFINITY);
  expect_size(&f, 2, 0); // the two members of class 2, now a root
  assert_true(f.presolve.model.offset == 12);
  assert_int_equal(f.presolve.model.problem.roots.len, 1);
  // The way back: everything that was paid or renamed is chosen.
  uint32_t reduced[4] = {EG_EXTRACT_NONE, EG_EXTRACT_NONE, 0, EG_EXTRACT_NONE};
  uint32_t choice[4];
  memset(choice, 0xff, sizeof choice);
  assert_ok(eg_reduced_expand(&f.presolve.model, &f.parts, &f.problem, reduced, choice));
  double cost = 0;
  assert_ok(eg_extract_certify(heap(), &f.problem, choice, &cost));
  assert_true(cost == 15);
  end(&f);
}

static void merge_multiplies_a_class_into_its_only_user(void **state) {
  (void)state;
  fixture f;
  begin(&f, 4);
  NODE(&f, 0, 1, 1, 2);
  LEAF(&f, 0, 100);
  LEAF(&f, 1, 10);
  NODE(&f, 1, 20, 3);
  NODE(&f, 2, 2, 3);
  LEAF(&f, 3, 5);
  LEAF(&f, 3, 6);
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  presolve_with(&f, only(EG_PASS_MERGE), INFINITY);
  const eg_extract_problem *left = &f.presolve.model.problem;
  // 1 and 2 merge into the first node: {1 + 10 + 2, child 3}, {1 + 20 + 2, child 3}; 3
  // then has two users and stays.
  assert_int_equal(eg_extract_node_count(left), 5);
  double sum = 0;
  for (uint32_t n = 0; n < 5; n++)
    sum += left->cost.data[n];
  assert_true(sum == 100 + 13 + 23 + 5 + 6);
  end(&f);
}

/// A heap that knows the most it had to hold.
typedef struct peak_heap {
  size_t live, peak;
} peak_heap;

static void *resize_counted(void *self, void *memory, size_t old_size, size_t new_size) {
  peak_heap *counted = self;
  const egraph_allocator below = heap();
  counted->live += new_size - old_size;
  if (counted->live > counted->peak) counted->peak = counted->live;
  return below.resize(below.self, memory, old_size, new_size);
}

/// Bytes that merging a chain of nodes takes, each with a class of its own that stays.
static size_t peak_of_merged_chain(uint32_t length) {
  enum { MEMBERS = 8 }; // more than are multiplied
  fixture f;
  begin(&f, 2 * length);
  for (uint32_t i = 0; i < length; i++) {
    if (i + 1 < length)
      NODE(&f, i, 1, i + 1, length + i);
    else
      NODE(&f, i, 1, length + i);
    for (uint32_t m = 0; m < MEMBERS; m++)
      LEAF(&f, length + i, 1 + m);
  }
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  peak_heap counted = {0};
  const egraph_allocator alloc = {.resize = resize_counted, .self = &counted};
  presolve_on(&f, alloc, only(EG_PASS_MERGE), INFINITY);
  expect_size(&f, 1 + MEMBERS * length, length); // one node is left of the chain
  end(&f);
  assert_int_equal(counted.live, 0);
  return counted.peak;
}

static void merge_takes_memory_in_proportion(void **state) {
  (void)state;
  size_t small = peak_of_merged_chain(500), large = peak_of_merged_chain(4000);
  assert_true(large < 10 * small); // capacities double: up to 8 times, and a little
}

static void landmarks_find_hidden_cycles_and_implied_children(void **state) {
  (void)state;
  fixture f;
  begin(&f, 4);
  LEAF(&f, 0, 9);
  NODE(&f, 0, 1, 1, 3); // 3 is implied by 1
  NODE(&f, 1, 1, 3);
  NODE(&f, 1, 2, 2, 3);
  NODE(&f, 2, 1, 0); // 0 below 2 below 1
  LEAF(&f, 3, 1);
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  presolve_with(&f, only(EG_PASS_IMPLIED), INFINITY);
  expect_size(&f, 6, 5);
  eg_presolve_deinit(&f.presolve);
  eg_parts_deinit(&f.parts);
  // Node 0 -> 1 now needs 2, and so itself, in every derivation.
  f.problem.children.data[f.problem.child_begin.data[2]] = 2;
  presolve_with(&f, only(EG_PASS_CYCLIC), INFINITY);
  expect_size(&f, 5, 4);
  end(&f);
}

static void forced_makes_roots_and_bound_drops_what_is_too_dear(void **state) {
  (void)state;
  fixture f;
  begin(&f, 3);
  NODE(&f, 0, 1, 1);
  NODE(&f, 0, 2, 1, 2);
  LEAF(&f, 1, 10);
  LEAF(&f, 2, 10);
  LEAF(&f, 2, 30);
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  presolve_with(&f, only(EG_PASS_FORCED), INFINITY);
  assert_int_equal(f.presolve.model.problem.roots.len, 2);
  eg_presolve_deinit(&f.presolve);
  eg_parts_deinit(&f.parts);
  presolve_with(&f, only(EG_PASS_BOUND), 22);
  expect_size(&f, 3, 1); // the second node of the root, and the dear leaf
  assert_true(f.presolve.bound == 11 && !f.presolve.closed);
  eg_presolve_deinit(&f.presolve);
  eg_parts_deinit(&f.parts);
  presolve_with(&f, only(EG_PASS_BOUND), 11);
  assert_true(f.presolve.closed);
  end(&f);
}

static void dual_ascent_sees_what_two_branches_share(void **state) {
  (void)state;
  // 0 needs 1 and 2; each costs 3 by itself, or comes free with 3, which costs 4.
  fixture f;
  begin(&f, 4);
  NODE(&f, 0, 0, 1, 2);
  LEAF(&f, 1, 3);
  NODE(&f, 1, 0, 3);
  LEAF(&f, 2, 3);
  NODE(&f, 2, 0, 3);
  LEAF(&f, 3, 4);
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  eg_class_index index;
  eg_class_index_init(&index, heap());
  assert_ok(eg_class_index_build(&index, &f.problem));
  eg_cuts cuts;
  assert_ok(eg_cuts_init(&cuts, heap()));
  eg_doubles price;
  eg_doubles_init(&price, heap());
  assert_ok(eg_doubles_append(&price, f.problem.cost.data, f.problem.cost.len));
  double bound = 0;
  assert_ok(eg_dual_ascent_run(&f.problem, &index, &f.problem.roots,
                               (eg_ascent_limits){.max_cuts = 100}, price.data, &bound,
                               &cuts));
  assert_true(bound > 3 && bound <= 4); // the optimum is 4, one branch alone gives 3
  double charged = 0;
  for (size_t n = 0; n < price.len; n++) {
    assert_true(price.data[n] >= 0);
    charged += f.problem.cost.data[n] - price.data[n];
  }
  assert_true(charged >= bound && eg_cuts_count(&cuts) >= 2);
  eg_doubles_deinit(&price);
  eg_cuts_deinit(&cuts);
  eg_class_index_deinit(&index);
  eg_extract_problem_deinit(&f.problem);
}

static void components_come_children_first(void **state) {
  (void)state;
  fixture f;
  begin(&f, 5);
  NODE(&f, 0, 1, 1);
  NODE(&f, 1, 1, 2, 3);
  NODE(&f, 2, 1, 1); // {1, 2} is a cycle
  LEAF(&f, 2, 1);
  LEAF(&f, 3, 1);
  eg_class_index index;
  eg_class_index_init(&index, heap());
  assert_ok(eg_class_index_build(&index, &f.problem));
  eg_u32s component, order;
  eg_u32s_init(&component, heap());
  eg_u32s_init(&order, heap());
  assert_ok(eg_components_find(&f.problem, &index, &component, &order));
  assert_int_equal(component.data[1], component.data[2]);
  assert_true(component.data[3] < component.data[1]);
  assert_true(component.data[1] < component.data[0]);
  assert_int_equal(order.len, 5);
  eg_u32s_deinit(&order);
  eg_u32s_deinit(&component);
  eg_class_index_deinit(&index);
  eg_extract_problem_deinit(&f.problem);
}

static void the_heap_gives_entries_in_order(void **state) {
  (void)state;
  eg_cost_heap entries;
  eg_cost_heap_init(&entries, heap());
  eg_rng rng = {test_seed(5)};
  for (uint32_t i = 0; i < 500; i++)
    assert_ok(eg_cost_heap_add(&entries, (double)eg_rng_below(&rng, 50), i));
  eg_cost_entry last = {-1, 0};
  while (entries.len != 0) {
    eg_cost_entry entry = eg_cost_heap_take(&entries);
    assert_true(entry.cost > last.cost ||
                (entry.cost == last.cost && entry.item > last.item));
    last = entry;
  }
  eg_cost_heap_deinit(&entries);
}

static void a_minimum_cut_separates_source_and_sink(void **state) {
  (void)state;
  // 0 -> 1 -> 3 with capacities 5 and 2, 0 -> 2 -> 3 with 1 and 4: the cut is 3.
  eg_flow flow;
  eg_flow_init(&flow, heap());
  uint8_t side[4] = {0};
  for (int largest = 0; largest <= 1; largest++) {
    assert_ok(eg_flow_start(&flow, 4));
    assert_ok(eg_flow_add(&flow, 0, 1, 5));
    assert_ok(eg_flow_add(&flow, 1, 3, 2));
    assert_ok(eg_flow_add(&flow, 0, 2, 1));
    assert_ok(eg_flow_add(&flow, 2, 3, 4));
    eg_flow_min_cut(&flow, 0, 3, largest, side);
    assert_true(!side[1] && side[2] && side[3]);
  }
  eg_flow_deinit(&flow);
}

static void add_row(eg_lp_rows *rows, uint32_t a, uint32_t b, double lower) {
  assert_ok(eg_lp_rows_item(rows, a, 1.0));
  assert_ok(eg_lp_rows_item(rows, b, 1.0));
  assert_ok(eg_lp_rows_end(rows, lower));
}

static void the_bound_of_a_linear_program_is_its_optimum(void **state) {
  (void)state;
  const double cost[] = {1, 1, 1};
  eg_lp *lp = NULL;
  eg_lp_rows rows;
  assert_ok(eg_lp_create(heap(), 3, cost, &lp));
  assert_ok(eg_lp_rows_init(&rows, heap()));
  add_row(&rows, 0, 1, 1);
  add_row(&rows, 1, 2, 1);
  add_row(&rows, 0, 2, 1);
  assert_ok(eg_lp_add_rows(lp, &rows));
  eg_lp_state outcome;
  assert_ok(eg_lp_solve(lp, 10, INFINITY, &outcome));
  assert_int_equal(outcome, EG_LP_OPTIMAL);
  assert_true(fabs(eg_lp_bound(lp) - 1.5) < 1e-9);
  assert_true(fabs(eg_lp_values(lp)[1] - 0.5) < 1e-9);
  // Without column 0 the other two have to be there.
  assert_ok(eg_lp_fix_zero(lp, 0));
  assert_ok(eg_lp_solve(lp, 10, INFINITY, &outcome));
  assert_true(fabs(eg_lp_bound(lp) - 2) < 1e-9);
  // The middle row is slack now and may go without a change.
  assert_ok(eg_lp_purge(lp, 0, 0.5));
  assert_int_equal(eg_lp_row_count(lp), 2);
  assert_ok(eg_lp_solve(lp, 10, INFINITY, &outcome));
  assert_true(fabs(eg_lp_bound(lp) - 2) < 1e-9);
  assert_ok(eg_lp_fix_zero(lp, 1));
  assert_ok(eg_lp_solve(lp, 10, INFINITY, &outcome));
  assert_int_equal(outcome, EG_LP_INFEASIBLE);
  eg_lp_rows_deinit(&rows);
  eg_lp_destroy(lp);
}

static void a_ray_that_was_tampered_with_proves_nothing(void **state) {
  (void)state;
  const double floor[] = {0, 0, 0}, ceiling[] = {0, 0, 1};
  eg_lp_rows rows;
  assert_ok(eg_lp_rows_init(&rows, heap()));
  add_row(&rows, 0, 1, 1);
  add_row(&rows, 1, 2, 1);
  add_row(&rows, 0, 2, 1);
  static const struct {
    double ray[3];
    bool proves;
  } CASES[] = {{{1, 0, 0}, true},     {{0, 1, 1}, false},        {{0, 0, 0}, false},
               {{1, 0.5, 0.5}, true}, {{-1, 0, 0}, false},       {{1e-9, 0, 0}, true},
               {{0, 1, 0}, false},    {{INFINITY, 0, 0}, false}, {{NAN, 1, 0}, false}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    double scratch[6], value;
    assert_true(eg_lp_ray_proves(&rows, 3, floor, ceiling, CASES[i].ray, scratch,
                                 &value) == CASES[i].proves);
  }
  eg_lp_rows_deinit(&rows);
}

static bool has_binary_solution(const eg_lp_rows *rows, uint32_t fixed) {
  enum { COLUMNS = 7 };
  for (uint32_t x = 0; x < 1u << COLUMNS; x++) {
    bool good = (x & fixed) == 0;
    for (uint32_t r = 0; r < eg_lp_rows_count(rows) && good; r++) {
      double sum = 0;
      for (uint32_t i = rows->begin.data[r]; i < rows->begin.data[r + 1]; i++)
        sum += rows->coefficients.data[i] * (x >> rows->columns.data[i] & 1);
      good = sum >= rows->lower.data[r];
    }
    if (good) return true;
  }
  return false;
}

// Limits are results: what GLPK calls infeasible must come with a ray that proves it.
static void every_infeasible_program_has_a_ray(void **state) {
  (void)state;
  enum { COLUMNS = 7 };
  uint64_t seed = test_seed(20261125);
  size_t infeasible = 0, rounds = test_rounds(2000);
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    double cost[COLUMNS];
    uint32_t fixed = (uint32_t)eg_rng_below(&rng, 1u << COLUMNS);
    for (uint32_t j = 0; j < COLUMNS; j++)
      cost[j] = eg_rng_unit(&rng) * 10;
    eg_lp *lp = NULL;
    eg_lp_rows rows;
    assert_ok(eg_lp_create(heap(), COLUMNS, cost, &lp));
    assert_ok(eg_lp_rows_init(&rows, heap()));
    for (uint64_t r = 0; r < 3 + eg_rng_below(&rng, 8); r++) {
      for (uint32_t j = 0; j < COLUMNS; j++) {
        uint64_t sign = eg_rng_below(&rng, 5);
        if (sign < 3) assert_ok(eg_lp_rows_item(&rows, j, sign == 0 ? -1 : 1));
      }
      assert_ok(eg_lp_rows_end(&rows, (double)eg_rng_below(&rng, 2)));
    }
    assert_ok(eg_lp_add_rows(lp, &rows));
    for (uint32_t j = 0; j < COLUMNS; j++)
      if (fixed >> j & 1) assert_ok(eg_lp_fix_zero(lp, j));
    eg_lp_state outcome;
    assert_ok(eg_lp_solve(lp, 10, INFINITY, &outcome));
    assert_int_not_equal(outcome, EG_LP_LIMIT);
    infeasible += outcome == EG_LP_INFEASIBLE;
    if (outcome == EG_LP_INFEASIBLE) assert_false(has_binary_solution(&rows, fixed));
    eg_lp_rows_deinit(&rows);
    eg_lp_destroy(lp);
  }
  assert_true(infeasible > rounds / 20);
}

static void a_solution_below_a_planted_bound_is_an_error(void **state) {
  (void)state;
  for (int planted = 0; planted <= 1; planted++) {
    fixture f = {.problem = {0}};
    begin(&f, 1);
    LEAF(&f, 0, 1000);
    LEAF(&f, 0, 900);
    assert_ok(eg_extract_problem_add_root(&f.problem, 0));
    eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
    eg_incumbent incumbent;
    double cost;
    assert_ok(eg_incumbent_init(&incumbent, heap(), &f.problem, &options));
    const uint32_t dear[] = {0}, cheap[] = {1};
    assert_ok(eg_incumbent_offer(&incumbent, dear, &cost));
    eg_incumbent_raise(&incumbent, planted ? 900.9 : 900);
    if (planted)
      assert_fails(eg_incumbent_offer(&incumbent, cheap, &cost), EGRAPH_E_INTERNAL,
                   "is above the cost 900 of a solution");
    else
      assert_ok(eg_incumbent_offer(&incumbent, cheap, &cost));
    eg_incumbent_deinit(&incumbent);
    eg_extract_problem_deinit(&f.problem);
  }
}

static bool stop_at_once(void *user) {
  (*(uint32_t *)user)++;
  return true;
}

static void an_interrupted_linear_program_does_no_harm(void **state) {
  (void)state;
  enum { COLUMNS = 400 };
  double cost[COLUMNS];
  eg_rng rng = {11};
  for (uint32_t j = 0; j < COLUMNS; j++)
    cost[j] = 1 + eg_rng_unit(&rng);
  eg_lp *lp = NULL;
  eg_lp_rows rows;
  assert_ok(eg_lp_create(heap(), COLUMNS, cost, &lp));
  assert_ok(eg_lp_rows_init(&rows, heap()));
  for (uint32_t i = 0; i < 3 * COLUMNS; i++) {
    uint32_t a = (uint32_t)eg_rng_below(&rng, COLUMNS - 1);
    add_row(&rows, a, a + 1 + (uint32_t)eg_rng_below(&rng, COLUMNS - a - 1), 1);
  }
  assert_ok(eg_lp_add_rows(lp, &rows));
  uint32_t calls = 0;
  eg_lp_interrupt(lp, stop_at_once, &calls);
  eg_lp_state outcome;
  for (int again = 0; again < 2; again++) {
    assert_ok(eg_lp_solve(lp, 10, INFINITY, &outcome));
    assert_int_equal(outcome, EG_LP_LIMIT);
    assert_int_equal(calls, 1);
    assert_true(eg_lp_bound(lp) >= 0 && eg_lp_bound(lp) <= 2 * COLUMNS);
    assert_ok(eg_lp_fix_zero(lp, 0));
    assert_ok(eg_lp_add_rows(lp, &rows));
    assert_ok(eg_lp_purge(lp, 0, -1));
  }
  eg_lp_rows_deinit(&rows);
  eg_lp_destroy(lp);
}

static void an_error_inside_glpk_is_a_status(void **state) {
  (void)state;
  const double cost[] = {1, 1};
  for (int again = 0; again < 2; again++) { // also after the first environment is gone
    eg_lp *lp = NULL;
    eg_lp_rows rows;
    assert_ok(eg_lp_create(heap(), 2, cost, &lp));
    assert_ok(eg_lp_rows_init(&rows, heap()));
    add_row(&rows, 1, 1, 1); // GLPK aborts on a column that comes twice
    assert_fails(eg_lp_add_rows(lp, &rows), EGRAPH_E_INTERNAL, "GLPK gave up");
    eg_lp_state outcome;
    assert_fails(eg_lp_solve(lp, 1, INFINITY, &outcome), EGRAPH_E_INTERNAL, "died");
    eg_lp_rows_deinit(&rows);
    eg_lp_destroy(lp);
  }
}

static egraph_status lp_with(egraph_allocator alloc, void *user) {
  (void)user;
  const double cost[] = {1, 1, 1};
  eg_lp *lp = NULL;
  eg_lp_rows rows;
  EG_TRY(eg_lp_create(alloc, 3, cost, &lp));
  egraph_status status = eg_lp_rows_init(&rows, alloc);
  for (int i = 0; status == EGRAPH_OK && i < 12; i++) {
    eg_lp_rows_clear(&rows);
    status = eg_lp_rows_item(&rows, 0, 1.0);
    if (status == EGRAPH_OK) status = eg_lp_rows_item(&rows, 2, 1.0);
    if (status == EGRAPH_OK) status = eg_lp_rows_end(&rows, 1.0 / (1 + i));
    if (status == EGRAPH_OK) status = eg_lp_add_rows(lp, &rows);
  }
  eg_lp_state outcome;
  if (status == EGRAPH_OK) status = eg_lp_solve(lp, 1, INFINITY, &outcome);
  if (status == EGRAPH_OK) status = eg_lp_purge(lp, 0, 0.5);
  eg_lp_rows_deinit(&rows);
  eg_lp_destroy(lp);
  return status;
}

static void a_linear_program_survives_every_failing_allocation(void **state) {
  (void)state;
  test_every_allocation_failing(lp_with, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reach_drops_what_is_not_reached_or_not_derivable),
      cmocka_unit_test(dominated_drops_dearer_nodes_with_more_children),
      cmocka_unit_test(detach_drops_edges_to_roots_outside_cycles),
      cmocka_unit_test(collapse_pays_single_roots_and_removes_free_names),
      cmocka_unit_test(merge_multiplies_a_class_into_its_only_user),
      cmocka_unit_test(merge_takes_memory_in_proportion),
      cmocka_unit_test(landmarks_find_hidden_cycles_and_implied_children),
      cmocka_unit_test(forced_makes_roots_and_bound_drops_what_is_too_dear),
      cmocka_unit_test(dual_ascent_sees_what_two_branches_share),
      cmocka_unit_test(components_come_children_first),
      cmocka_unit_test(the_heap_gives_entries_in_order),
      cmocka_unit_test(a_minimum_cut_separates_source_and_sink),
      cmocka_unit_test(the_bound_of_a_linear_program_is_its_optimum),
      cmocka_unit_test(an_interrupted_linear_program_does_no_harm),
      cmocka_unit_test(an_error_inside_glpk_is_a_status),
      cmocka_unit_test(a_ray_that_was_tampered_with_proves_nothing),
      cmocka_unit_test(every_infeasible_program_has_a_ray),
      cmocka_unit_test(a_solution_below_a_planted_bound_is_an_error),
      cmocka_unit_test(a_linear_program_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
