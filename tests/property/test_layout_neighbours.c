// Windows around the best solution of a layout problem: what they find is a solution, no
// cheaper than exhaustive search says and no dearer than before, and mostly the best of
// all where a window holds everything. Prices and the bound are as before.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_gap.h"
#include "tests/layout_draw.h"
#include "tests/testing.h"

typedef struct near_case {
  eg_layout_problem problem;
  eg_layout_view view;
  eg_layout_task task;
  eg_layout_clock clock;
  eg_layout_search search;
  eg_layout_active active;
  eg_layout_ascent *ascent;
  eg_layout_excess excess;
  bool any;
} near_case;

/// A solution by greed among costs that are drawn, so that a better one is near.
static void find_first(eg_rng *rng, near_case *c) {
  eg_doubles favour;
  eg_doubles_init(&favour, eg_allocator_heap());
  for (size_t s = 0; s < c->active.strategy.len; s++)
    assert_ok(eg_doubles_push(&favour, -20 * eg_rng_unit(rng)));
  assert_ok(eg_layout_greedy(&c->search, &c->active, favour.data));
  eg_doubles_deinit(&favour);
}

/// With a pass of the ascent, which looks for no solution: the clock has run out.
static void open_case(eg_rng *rng, near_case *c, bool plain) {
  egraph_allocator alloc = eg_allocator_heap();
  *c = (near_case){.clock.deadline = INFINITY};
  draw_problem(rng, &c->problem, draw_below(rng, 2), plain);
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    c->task.limit[m] = INFINITY;
  assert_ok(eg_layout_view_init(&c->view, alloc, &c->problem));
  assert_ok(eg_layout_search_init(&c->search, alloc, &c->view, &c->task, &c->clock));
  assert_ok(eg_layout_active_init(&c->active, alloc, &c->view));
  eg_layout_excess_init(&c->excess, alloc);
  assert_ok(eg_layout_presolve(&c->active, &c->task));
  c->any = !c->active.infeasible;
  if (!c->any) return;
  find_first(rng, c);
  assert_ok(eg_layout_ascent_create(&c->search, &c->active, &c->ascent));
  c->clock.deadline = 0;
  assert_ok(eg_layout_ascent_climb(c->ascent, 1, &c->excess, &c->any));
  c->clock = (eg_layout_clock){.deadline = INFINITY};
}

static void close_case(near_case *c) {
  eg_layout_ascent_destroy(c->ascent);
  eg_layout_excess_deinit(&c->excess);
  eg_layout_active_deinit(&c->active);
  eg_layout_search_deinit(&c->search);
  eg_layout_view_deinit(&c->view);
  eg_layout_problem_deinit(&c->problem);
}

static bool near(double a, double b) { return fabs(a - b) <= 2e-9 * fabs(b) + 1e-12; }

/// Prices of all labels, as they stand.
static void copy_prices(const near_case *c, eg_doubles *out) {
  const eg_layout_factors *f = eg_layout_ascent_factors(c->ascent);
  eg_doubles_init(out, eg_allocator_heap());
  assert_ok(eg_doubles_append(out, f->price.data, f->price.len));
  for (size_t i = 0; i < f->dead.len; i++)
    assert_ok(eg_doubles_push(out, f->dead.data[i]));
}

static void check_restored(const near_case *c, const eg_doubles *prices, double bound) {
  eg_doubles now;
  copy_prices(c, &now);
  assert_int_equal(now.len, prices->len);
  for (size_t i = 0; i < now.len; i++)
    assert_true(now.data[i] == prices->data[i]);
  eg_doubles_deinit(&now);
  assert_true(eg_layout_ascent_factors(c->ascent)->active == &c->active);
  assert_true(c->search.bound == bound);
}

typedef struct counts {
  size_t solved, improved, best, told;
} counts;

/// What is told while windows are searched, each time they ask.
typedef struct told {
  eg_layout_clock *clock;
  double bound; // the highest
  size_t times;
} told;

static bool note_told(void *user, double cost, double bound, double seconds) {
  (void)cost, (void)seconds;
  told *t = user;
  t->bound = fmax(t->bound, bound);
  t->times++;
  t->clock->asked_seconds = -INFINITY;
  return false;
}

static void try_windows(near_case *c, size_t size, counts *seen, size_t round) {
  static brute_result exact;
  eg_doubles prices;
  double before = eg_layout_search_value(&c->search), bound = c->search.bound;
  brute_force(&c->problem, &exact);
  copy_prices(c, &prices);
  told heard = {.clock = &c->clock, .bound = -INFINITY};
  c->clock.progress = note_told;
  c->clock.user = &heard;
  assert_ok(eg_layout_neighbours(&c->search, &c->active, c->ascent, size));
  c->clock.progress = NULL;
  check_restored(c, &prices, bound);
  assert_true(heard.bound <= bound); // of a part none is told
  seen->told += heard.times;
  eg_doubles_deinit(&prices);
  double value = eg_layout_search_value(&c->search);
  double optimum = exact.any ? exact.best[0].sum[0] : INFINITY;
  if (value > before || (value < optimum && !near(value, optimum)))
    fail_msg("round %zu: %.17g before, now %.17g, optimum %.17g", round, before, value,
             optimum);
  if (!isfinite(before) || near(before, optimum)) return;
  seen->solved++;
  seen->improved += value < before;
  seen->best += near(value, optimum);
}

/// Windows of one value or of all that hang together.
static void search_windows(uint64_t seed, size_t size, counts *seen) {
  size_t rounds = test_rounds(2000);
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    near_case c;
    open_case(&rng, &c, round % 4 != 0);
    if (c.any) try_windows(&c, size, seen, round);
    close_case(&c);
  }
  assert_true(seen->solved > rounds / 40 && seen->told > rounds);
}

static void windows_of_one_value_find_better_solutions(void **state) {
  (void)state;
  counts seen = {0};
  search_windows(test_seed(20260401), 1, &seen);
  assert_true(seen.improved > seen.solved / 4);
}

static void windows_of_all_values_find_the_best_solution(void **state) {
  (void)state;
  counts seen = {0};
  search_windows(test_seed(20260402), 100, &seen);
  assert_true(seen.best > seen.solved - seen.solved / 8);
}

static void without_a_solution_there_is_nothing_near(void **state) {
  (void)state;
  eg_rng rng = {20260403};
  near_case c;
  open_case(&rng, &c, true);
  assert_true(c.any);
  c.search.has_best = false;
  assert_ok(eg_layout_neighbours(&c.search, &c.active, c.ascent, 10));
  assert_false(c.search.has_best);
  close_case(&c);
}

static egraph_status look(egraph_allocator alloc, void *user) {
  near_case *c = user;
  egraph_allocator kept = c->search.alloc;
  c->search.alloc = alloc; // of what a search makes
  egraph_status status = eg_layout_neighbours(&c->search, &c->active, c->ascent, 2);
  c->search.alloc = kept;
  assert_true(eg_layout_ascent_factors(c->ascent)->active == &c->active);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (uint64_t round = 0; round < 12; round++) {
    eg_rng rng = {eg_hash_combine(20260404, round)};
    near_case c;
    open_case(&rng, &c, true);
    if (c.any && c.search.has_best) test_every_allocation_failing(look, &c);
    close_case(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_of_one_value_find_better_solutions),
      cmocka_unit_test(windows_of_all_values_find_the_best_solution),
      cmocka_unit_test(without_a_solution_there_is_nothing_near),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
