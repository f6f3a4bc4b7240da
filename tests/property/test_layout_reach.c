// The exact search of the layout solver against exhaustive search: whatever room and rows
// it is given, what it proves is no more than the optimum; with enough of both it finds
// it. Then with a memory limit, and with every allocation failing.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_gap.h"
#include "tests/layout_draw.h"
#include "tests/testing.h"

enum { ENOUGH_ROWS = 1 << 16 };

// ---- one minimization ---------------------------------------------------------------

typedef struct reach {
  eg_layout_view view;
  eg_layout_task task;
  eg_layout_clock clock;
  eg_layout_search search;
  eg_layout_active active;
  eg_layout_ascent *ascent;
  eg_layout_excess excess;
  bool any;
} reach;

static void open_reach(reach *r, const eg_layout_problem *p, eg_layout_measure measure) {
  egraph_allocator alloc = eg_allocator_heap();
  *r = (reach){.task = eg_layout_task_of(measure), .clock.deadline = INFINITY};
  if (measure == EG_LAYOUT_COST) r->task.limit[EG_LAYOUT_ROW] = p->memory_limit[0];
  assert_ok(eg_layout_view_init(&r->view, alloc, p));
  assert_ok(eg_layout_search_init(&r->search, alloc, &r->view, &r->task, &r->clock));
  assert_ok(eg_layout_active_init(&r->active, alloc, &r->view));
  eg_layout_excess_init(&r->excess, alloc);
  assert_ok(eg_layout_presolve(&r->active, &r->task));
  r->any = !r->active.infeasible;
  if (!r->any) return;
  assert_ok(eg_layout_ascent_create(&r->search, &r->active, &r->ascent));
}

static void close_reach(reach *r) {
  eg_layout_ascent_destroy(r->ascent);
  eg_layout_excess_deinit(&r->excess);
  eg_layout_active_deinit(&r->active);
  eg_layout_search_deinit(&r->search);
  eg_layout_view_deinit(&r->view);
}

/// A pass of the ascent at a time, which looks for no solution: the clock has run out.
static void climb_a_little(reach *r, uint32_t passes) {
  r->clock.deadline = 0;
  for (uint32_t i = 0; i < passes && r->any; i++)
    assert_ok(
        eg_layout_ascent_climb(r->ascent, EG_LAYOUT_MOST_PASSES, &r->excess, &r->any));
  r->clock = (eg_layout_clock){.deadline = INFINITY};
}

static double optimum_of(const brute_result *exact, eg_layout_measure measure) {
  if (measure == EG_LAYOUT_MEMORY) return exact->least_memory;
  return exact->any ? exact->best[0].sum[0] : INFINITY;
}

static bool near(double a, double b) { return fabs(a - b) <= 2e-9 * fabs(b) + 1e-12; }

static void check_bound(const reach *r, double optimum, size_t round) {
  if (r->search.bound > optimum && !near(r->search.bound, optimum))
    fail_msg("round %zu: bound %.17g, optimum %.17g", round, r->search.bound, optimum);
  double value = eg_layout_search_value(&r->search);
  if (value < optimum && !near(value, optimum))
    fail_msg("round %zu: a solution costs %.17g, optimum %.17g", round, value, optimum);
}

// ---- elimination --------------------------------------------------------------------

/// What elimination says of how far it got.
static void check_reach(const reach *r, const eg_layout_eliminated *out, double room,
                        double optimum, size_t round) {
  double within = r->excess.bound + room;
  assert_int_not_equal(out->reach, EG_LAYOUT_REACH_NONE);
  if (out->reach == EG_LAYOUT_REACH_ROOM && optimum < within && !near(optimum, within))
    fail_msg("round %zu: nothing below %.17g, optimum %.17g", round, within, optimum);
}

static double draw_room(eg_rng *rng, const reach *r, double optimum) {
  static const double PARTS[] = {0, 0.25, 0.5, 1, 1.5, 3};
  double gap = isfinite(optimum) ? fmax(optimum - r->excess.bound, 0) : 5;
  return PARTS[draw_below(rng, 6)] * gap + (draw_below(rng, 4) == 0 ? 1 : 0);
}

static void eliminate_a_little(eg_rng *rng, reach *r, double optimum, size_t round,
                               size_t *counts) {
  for (int i = 0; i < 3; i++) {
    eg_layout_eliminated out;
    double room = draw_room(rng, r, optimum);
    uint32_t rows = 1u << draw_below(rng, 7);
    assert_ok(eg_layout_ascent_eliminate(r->ascent, &r->excess, room, rows, &out));
    check_reach(r, &out, room, optimum, round);
    check_bound(r, optimum, round);
    counts[out.reach]++;
  }
}

/// `plain`: relations say all there is.
static void eliminate_all(reach *r, double optimum, bool plain, size_t round) {
  eg_layout_eliminated out;
  double room = isfinite(optimum) ? fmax(optimum - r->excess.bound, 0) + 1 : 1000;
  assert_ok(eg_layout_ascent_eliminate(r->ascent, &r->excess, room, ENOUGH_ROWS, &out));
  check_reach(r, &out, room, optimum, round);
  check_bound(r, optimum, round);
  if (!plain) return;
  assert_int_equal(out.found, isfinite(optimum));
  if (isfinite(optimum) && !near(eg_layout_search_value(&r->search), optimum))
    fail_msg("round %zu: found %.17g, optimum %.17g", round,
             eg_layout_search_value(&r->search), optimum);
  if (out.found && !near(r->search.bound, optimum))
    fail_msg("round %zu: proven %.17g, optimum %.17g", round, r->search.bound, optimum);
}

static void try_elimination(eg_rng *rng, const eg_layout_problem *p, bool plain,
                            size_t round, size_t *counts) {
  static brute_result exact;
  eg_layout_measure measure = draw_below(rng, 4) ? EG_LAYOUT_COST : EG_LAYOUT_MEMORY;
  reach r;
  brute_force(p, &exact);
  double optimum = optimum_of(&exact, measure);
  open_reach(&r, p, measure);
  climb_a_little(&r, 1 + draw_below(rng, 3));
  assert_true(r.any || isinf(optimum));
  if (r.any) eliminate_a_little(rng, &r, optimum, round, counts);
  if (r.any) eliminate_all(&r, optimum, plain, round);
  close_reach(&r);
}

static void elimination_proves_no_more_than_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260321);
  size_t rounds = test_rounds(3000), counts[EG_LAYOUT_REACH_NONE + 1] = {0};
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    bool plain = round % 4 != 0;
    eg_layout_problem p;
    draw_problem(&rng, &p, round % 2 == 0, plain);
    try_elimination(&rng, &p, plain, round, counts);
    eg_layout_problem_deinit(&p);
  }
  for (int reached = 0; reached < EG_LAYOUT_REACH_NONE; reached++)
    assert_true(counts[reached] > rounds / 20);
}

// Prices, labels that are out of reach and a solution are the ascent's then.
static void elimination_goes_on_where_the_ascent_stops(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260322);
  size_t rounds = test_rounds(1500);
  for (size_t round = 0; round < rounds; round++) {
    static brute_result exact;
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_layout_problem p;
    reach r;
    eg_layout_eliminated out;
    draw_problem(&rng, &p, round % 2 == 0, true);
    brute_force(&p, &exact);
    double optimum = optimum_of(&exact, EG_LAYOUT_COST);
    open_reach(&r, &p, EG_LAYOUT_COST);
    if (r.any)
      assert_ok(
          eg_layout_ascent_climb(r.ascent, EG_LAYOUT_MOST_PASSES, &r.excess, &r.any));
    if (r.any) {
      check_bound(&r, optimum, round);
      assert_ok(eg_layout_ascent_eliminate(r.ascent, &r.excess, 1000, ENOUGH_ROWS, &out));
      check_bound(&r, optimum, round);
      assert_true(near(eg_layout_search_value(&r.search), optimum) ||
                  (isinf(optimum) && !r.search.has_best));
    }
    close_reach(&r);
    eg_layout_problem_deinit(&p);
  }
}

// ---- two parts that share nothing ---------------------------------------------------

/// A value made in layout 0 or 1 at `cost` each and wanted in both, an arc each way.
static void add_part(eg_layout_problem *p, double cost) {
  uint32_t value;
  assert_ok(eg_layout_problem_add_value(p, 2, 1, 1, &value));
  assert_ok(eg_layout_problem_add_operator(p, value, NULL, 0, NULL));
  for (uint32_t l = 0; l < 2; l++) {
    eg_layout_strategy s = {NULL, l, cost, {0}};
    eg_layout_arc arc = {value, l, 1 - l, cost, {0}};
    assert_ok(eg_layout_problem_add_strategy(p, &s));
    assert_ok(eg_layout_problem_add_arc(p, &arc));
  }
  for (uint32_t l = 0; l < 2; l++)
    assert_ok(eg_layout_problem_add_root(p, value, &l, 1));
}

static void parts_that_share_nothing_add_up(void **state) {
  (void)state;
  for (double room = 0; room < 16; room += 0.5) {
    eg_layout_problem p;
    reach r;
    eg_layout_eliminated out;
    assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
    for (int i = 0; i < 4; i++)
      add_part(&p, 1);
    open_reach(&r, &p, EG_LAYOUT_COST);
    climb_a_little(&r, 1);
    assert_ok(eg_layout_ascent_eliminate(r.ascent, &r.excess, room, ENOUGH_ROWS, &out));
    check_reach(&r, &out, room, 8, 0);
    check_bound(&r, 8, 0);
    assert_int_equal(out.found, r.search.has_best);
    eg_layout_problem_deinit(&p);
    close_reach(&r);
  }
}

// ---- choices ------------------------------------------------------------------------

/// A value that is made of nothing at `own`, or of `input` in layout 1 for nothing.
static void add_choice(eg_layout_problem *p, uint32_t input, double own) {
  uint32_t value, need = 1;
  eg_layout_strategy of_nothing = {NULL, 0, own, {0}}, of_input = {&need, 0, 0, {0}};
  assert_ok(eg_layout_problem_add_value(p, 1, 1, 1, &value));
  assert_ok(eg_layout_problem_add_operator(p, value, NULL, 0, NULL));
  assert_ok(eg_layout_problem_add_strategy(p, &of_nothing));
  assert_ok(eg_layout_problem_add_operator(p, value, &input, 1, NULL));
  assert_ok(eg_layout_problem_add_strategy(p, &of_input));
  assert_ok(eg_layout_problem_add_root(p, value, NULL, 0));
}

// Two share a transition, which is worth its cost only to both: prices split it, so that
// one of them is cheaper by its price without.
static void a_choice_is_what_the_relations_say(void **state) {
  (void)state;
  eg_layout_problem p;
  uint32_t shared;
  reach r;
  eg_layout_eliminated out;
  assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
  assert_ok(eg_layout_problem_add_value(&p, 2, 1, 1, &shared));
  assert_ok(eg_layout_problem_add_operator(&p, shared, NULL, 0, NULL));
  eg_layout_strategy made = {NULL, 0, 0, {0}};
  eg_layout_arc arc = {shared, 0, 1, 5, {0}};
  assert_ok(eg_layout_problem_add_strategy(&p, &made));
  assert_ok(eg_layout_problem_add_arc(&p, &arc));
  add_choice(&p, shared, 2);
  add_choice(&p, shared, 4);
  open_reach(&r, &p, EG_LAYOUT_COST);
  climb_a_little(&r, 1);
  assert_ok(eg_layout_ascent_eliminate(r.ascent, &r.excess, 20, ENOUGH_ROWS, &out));
  assert_int_equal(out.reach, EG_LAYOUT_REACH_ALL);
  assert_true(near(r.search.bound, 5));
  assert_true(near(eg_layout_search_value(&r.search), 5)); // 2 and the transition: 7
  close_reach(&r);
  eg_layout_problem_deinit(&p);
}

// ---- a part that is done before another grows --------------------------------------

enum { WIDE = 40 };

/// Two values in any layout, and two operators that read both, at random costs for every
/// pair of layouts. Returns what the best pair costs.
static double add_wide_part(eg_rng *rng, eg_layout_problem *p) {
  uint32_t read[2], made[2];
  double cost[2][WIDE][WIDE], least = INFINITY;
  for (int i = 0; i < 2; i++) {
    assert_ok(eg_layout_problem_add_value(p, WIDE, 1, 1, &read[i]));
    assert_ok(eg_layout_problem_add_operator(p, read[i], NULL, 0, NULL));
    for (uint32_t l = 0; l < WIDE; l++) {
      eg_layout_strategy s = {NULL, l, 0, {0}};
      assert_ok(eg_layout_problem_add_strategy(p, &s));
    }
  }
  for (int i = 0; i < 2; i++) {
    assert_ok(eg_layout_problem_add_value(p, 1, 1, 1, &made[i]));
    assert_ok(eg_layout_problem_add_operator(p, made[i], read, 2, NULL));
    for (uint32_t k = 0; k < WIDE * WIDE; k++) {
      cost[i][k / WIDE][k % WIDE] = 1 + 9 * eg_rng_unit(rng);
      eg_layout_strategy s = {
          (uint32_t[]){k / WIDE, k % WIDE}, 0, cost[i][k / WIDE][k % WIDE], {0}};
      assert_ok(eg_layout_problem_add_strategy(p, &s));
    }
    assert_ok(eg_layout_problem_add_root(p, made[i], NULL, 0));
  }
  for (int x = 0; x < WIDE; x++)
    for (int y = 0; y < WIDE; y++)
      least = fmin(least, cost[0][x][y] + cost[1][x][y]);
  return least;
}

// The small part leaves a relation of no variables, which later diffusion meets.
static void a_part_that_is_done_counts_in_what_is_left(void **state) {
  (void)state;
  for (double share = 0.5; share < 1.5; share += 0.05) {
    eg_rng rng = {20260325};
    eg_layout_problem p;
    reach r;
    eg_layout_eliminated out;
    assert_ok(eg_layout_problem_init(&p, eg_allocator_heap()));
    add_part(&p, 1);
    double optimum = 2 + add_wide_part(&rng, &p);
    open_reach(&r, &p, EG_LAYOUT_COST);
    climb_a_little(&r, 1);
    double room = share * (optimum - r.excess.bound);
    assert_ok(eg_layout_ascent_eliminate(r.ascent, &r.excess, room, ENOUGH_ROWS, &out));
    check_reach(&r, &out, room, optimum, 0);
    check_bound(&r, optimum, 0);
    if (share > 1.01) assert_true(near(eg_layout_search_value(&r.search), optimum));
    close_reach(&r);
    eg_layout_problem_deinit(&p);
  }
}

// ---- limits -------------------------------------------------------------------------

static void try_close(eg_rng *rng, eg_layout_problem *p, size_t round, size_t *closed) {
  static brute_result free, limited;
  reach r;
  eg_layout_pool pool;
  eg_layout_pool_init(&pool, eg_allocator_heap());
  brute_force(p, &free);
  draw_limit(rng, p, &free);
  brute_force(p, &limited);
  double optimum = optimum_of(&limited, EG_LAYOUT_COST);
  open_reach(&r, p, EG_LAYOUT_COST);
  if (r.any)
    assert_ok(eg_layout_close_gap(&r.search, &r.active, r.ascent, &r.excess, &pool));
  check_bound(&r, optimum, round);
  double value = eg_layout_search_value(&r.search);
  if (r.active.infeasible && !near(value, optimum) && !(isinf(value) && isinf(optimum)))
    fail_msg("round %zu: no solution but %.17g, optimum %.17g", round, value, optimum);
  if (r.search.has_best)
    assert_true(r.search.best.sum[EG_LAYOUT_ROW] <= p->memory_limit[0] * (1 + 1e-9));
  *closed += isfinite(p->memory_limit[0]) && isfinite(optimum) && near(value, optimum) &&
             near(r.search.bound, optimum);
  eg_layout_pool_deinit(&pool);
  close_reach(&r);
}

static void closing_keeps_below_the_optimum_under_a_limit(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260323);
  size_t rounds = test_rounds(2000), closed = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_layout_problem p;
    draw_problem(&rng, &p, round % 2 == 0, round % 3 != 0);
    try_close(&rng, &p, round, &closed);
    eg_layout_problem_deinit(&p);
  }
  assert_true(closed > rounds / 8);
}

// ---- memory -------------------------------------------------------------------------

static egraph_status eliminate(egraph_allocator alloc, void *user) {
  reach *r = user;
  eg_layout_eliminated out;
  egraph_allocator kept = r->search.alloc;
  r->search.alloc = alloc; // of what elimination makes
  egraph_status status = eg_layout_ascent_eliminate(r->ascent, &r->excess, 6, 8, &out);
  r->search.alloc = kept;
  return status;
}

static void every_allocation_of_an_elimination_may_fail(void **state) {
  (void)state;
  for (uint64_t round = 0; round < 12; round++) {
    eg_rng rng = {eg_hash_combine(20260324, round)};
    eg_layout_problem p;
    reach r;
    draw_problem(&rng, &p, true, true);
    open_reach(&r, &p, EG_LAYOUT_COST);
    if (r.any) climb_a_little(&r, 2);
    if (r.any) test_every_allocation_failing(eliminate, &r);
    close_reach(&r);
    eg_layout_problem_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elimination_proves_no_more_than_the_optimum),
      cmocka_unit_test(elimination_goes_on_where_the_ascent_stops),
      cmocka_unit_test(parts_that_share_nothing_add_up),
      cmocka_unit_test(a_choice_is_what_the_relations_say),
      cmocka_unit_test(a_part_that_is_done_counts_in_what_is_left),
      cmocka_unit_test(closing_keeps_below_the_optimum_under_a_limit),
      cmocka_unit_test(every_allocation_of_an_elimination_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
