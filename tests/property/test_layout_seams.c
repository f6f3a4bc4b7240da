// Rows of equal blocks, written out and solved, against bounds from one block that is cut
// open at its seams (extract/layout/layout_bound.h): links forward and back, several
// readers of one value, operators that may leave a link unread.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_bound.h"

#include <math.h>

#include "extract/layout/layout_solve.h"
#include "tests/testing.h"

enum { LAYOUTS = 4, VALUES = 4, STRATEGIES = 4, INPUTS = 4, LINKS = 6, MOST_COPIES = 6 };
enum { HEAD, PART, TAIL, KINDS };

/// An operator's table: of inputs that the block at hand lacks the needs are left out.
typedef struct table {
  uint32_t need[STRATEGIES][INPUTS + LINKS], output[STRATEGIES];
  double cost[STRATEGIES];
} table;

typedef struct row {
  uint32_t values, layouts, copies, links;
  uint32_t inputs[VALUES]; // a value reads so many of those before it in its block
  // A link is read by value `user` of the block after (forward) or before that of `made`.
  uint32_t made[LINKS], user[LINKS];
  bool is_forward[LINKS], may_be_unread[VALUES];
  table tables[KINDS][VALUES], unread[KINDS][VALUES];
  double arc[KINDS][VALUES][LAYOUTS][LAYOUTS];
} row;

static uint32_t below(eg_rng *rng, uint32_t bound) {
  return (uint32_t)eg_rng_below(rng, bound);
}

static void draw_table(eg_rng *rng, const row *r, table *t) {
  for (int s = 0; s < STRATEGIES; s++) {
    for (int i = 0; i < INPUTS + LINKS; i++)
      t->need[s][i] = below(rng, r->layouts);
    t->output[s] = below(rng, r->layouts);
    t->cost[s] = 3 * eg_rng_unit(rng);
  }
}

/// Values of the first half go forward, the others back, so that nothing is cyclic.
static void draw(eg_rng *rng, row *r) {
  *r = (row){.values = 2 + below(rng, VALUES - 1),
             .layouts = 2 + below(rng, LAYOUTS - 1),
             .copies = 2 + below(rng, MOST_COPIES - 1),
             .links = 1 + below(rng, LINKS)};
  uint32_t half = (r->values + 1) / 2;
  for (uint32_t v = 0; v < r->values; v++) {
    r->inputs[v] = below(rng, v + 1);
    r->may_be_unread[v] = below(rng, 4) == 0;
  }
  for (uint32_t i = 0; i < r->links; i++) {
    r->is_forward[i] = below(rng, 2) == 0;
    uint32_t first = r->is_forward[i] ? 0 : half;
    uint32_t count = r->is_forward[i] ? half : r->values - half;
    r->made[i] = first + below(rng, count);
    r->user[i] = first + below(rng, count);
  }
  for (int k = 0; k < KINDS; k++)
    for (uint32_t v = 0; v < r->values; v++) {
      draw_table(rng, r, &r->tables[k][v]);
      draw_table(rng, r, &r->unread[k][v]);
      for (uint32_t a = 0; a < r->layouts; a++)
        for (uint32_t b = 0; b < r->layouts; b++)
          r->arc[k][v][a][b] = 2 * eg_rng_unit(rng);
    }
}

// ---- problems -------------------------------------------------------------------------

/// Blocks one after the other; what a value reads of link i is `read` of it, or NONE.
typedef struct blocks {
  const row *r;
  eg_layout_problem p;
  uint32_t first[MOST_COPIES + 2]; // of the values of a block
} blocks;

static void add_values(blocks *b, uint32_t block, int kind, double times) {
  const row *r = b->r;
  for (uint32_t v = 0; v < r->values; v++) {
    uint32_t value;
    assert_ok(eg_layout_problem_add_value(&b->p, r->layouts, times, times, &value));
    if (v == 0) b->first[block] = value;
    for (uint32_t x = 0; x < r->layouts; x++)
      for (uint32_t y = 0; y < r->layouts; y++) {
        eg_layout_arc arc = {value, x, y, r->arc[kind][v][x][y], {0}};
        if (x != y) assert_ok(eg_layout_problem_add_arc(&b->p, &arc));
      }
  }
}

static void add_operator(blocks *b, uint32_t block, uint32_t v, const table *t,
                         const uint32_t *read) {
  const row *r = b->r;
  uint32_t inputs[INPUTS + LINKS], column[INPUTS + LINKS], count = 0, op;
  for (uint32_t i = 0; i < r->inputs[v]; i++) {
    column[count] = i;
    inputs[count++] = b->first[block] + i;
  }
  for (uint32_t i = 0; read != NULL && i < r->links; i++) {
    if (r->user[i] != v || read[i] == EG_LAYOUT_NONE) continue;
    column[count] = INPUTS + i;
    inputs[count++] = read[i];
  }
  assert_ok(
      eg_layout_problem_add_operator(&b->p, b->first[block] + v, inputs, count, &op));
  for (int s = 0; s < STRATEGIES; s++) {
    uint32_t needs[INPUTS + LINKS];
    for (uint32_t i = 0; i < count; i++)
      needs[i] = t->need[s][column[i]];
    eg_layout_strategy strategy = {needs, t->output[s], t->cost[s], {0}};
    assert_ok(eg_layout_problem_add_strategy(&b->p, &strategy));
  }
}

static void add_operators(blocks *b, uint32_t block, int kind, const uint32_t *read) {
  const row *r = b->r;
  for (uint32_t v = 0; v < r->values; v++) {
    add_operator(b, block, v, &r->tables[kind][v], read);
    if (r->may_be_unread[v]) add_operator(b, block, v, &r->unread[kind][v], NULL);
    assert_ok(eg_layout_problem_add_root(&b->p, b->first[block] + v, NULL, 0));
  }
}

/// Every copy for itself.
static double solve_row(const row *r) {
  blocks b = {.r = r};
  uint32_t count = r->copies + 2;
  assert_ok(eg_layout_problem_init(&b.p, eg_allocator_heap()));
  for (uint32_t i = 0; i < count; i++)
    add_values(&b, i, i == 0 ? HEAD : i == count - 1 ? TAIL : PART, 1);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t read[LINKS];
    for (uint32_t k = 0; k < r->links; k++) {
      uint32_t from = r->is_forward[k] ? i - 1 : i + 1;
      read[k] = from < count ? b.first[from] + r->made[k] : EG_LAYOUT_NONE;
    }
    add_operators(&b, i, i == 0 ? HEAD : i == count - 1 ? TAIL : PART, read);
  }
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result result;
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &b.p, &options, &result));
  assert_true(result.status == EG_LAYOUT_OPTIMAL);
  double cost = result.cost;
  eg_layout_result_deinit(&result);
  eg_layout_problem_deinit(&b.p);
  return cost;
}

/// An end of a link: all layouts, and absent; kept of `from`, or of nothing.
static uint32_t add_end(blocks *b, uint32_t from) {
  const row *r = b->r;
  uint32_t end, op;
  assert_ok(eg_layout_problem_add_value(&b->p, r->layouts + 1, 1, 0, &end));
  assert_ok(
      eg_layout_problem_add_operator(&b->p, end, &from, from != EG_LAYOUT_NONE, &op));
  for (uint32_t l = 0; l < r->layouts; l++) {
    eg_layout_strategy strategy = {.needs = &l, .output = l};
    assert_ok(eg_layout_problem_add_strategy(&b->p, &strategy));
  }
  eg_layout_strategy absent = {.output = r->layouts};
  assert_ok(eg_layout_problem_add_operator(&b->p, end, NULL, 0, &op));
  assert_ok(eg_layout_problem_add_strategy(&b->p, &absent));
  assert_ok(eg_layout_problem_add_root(&b->p, end, NULL, 0));
  return end;
}

/// Head, one copy for all, tail: free of each other.
static void open_row(const row *r, blocks *b, eg_layout_seam_list *seams) {
  uint32_t read[KINDS][LINKS];
  *b = (blocks){.r = r};
  assert_ok(eg_layout_problem_init(&b->p, eg_allocator_heap()));
  for (int k = 0; k < KINDS; k++)
    add_values(b, (uint32_t)k, k, k == PART ? r->copies : 1);
  for (uint32_t i = 0; i < r->links; i++) {
    uint32_t made[2], got[2]; // at the front seam, at the back seam
    for (uint32_t e = 0; e < 2; e++) {
      uint32_t block = r->is_forward[i] ? e : e + 1;
      made[e] = add_end(b, b->first[block] + r->made[i]);
      got[e] = add_end(b, EG_LAYOUT_NONE);
    }
    bool f = r->is_forward[i];
    read[HEAD][i] = f ? EG_LAYOUT_NONE : got[0];
    read[PART][i] = f ? got[0] : got[1];
    read[TAIL][i] = f ? got[1] : EG_LAYOUT_NONE;
    eg_layout_seam seam = {.before = f ? made[0] : got[0],
                           .first = f ? got[0] : made[0],
                           .last = f ? made[1] : got[1],
                           .after = f ? got[1] : made[1],
                           .times = r->copies};
    assert_ok(eg_layout_seam_list_push(seams, seam));
  }
  for (int k = 0; k < KINDS; k++)
    add_operators(b, (uint32_t)k, k, read[k]);
}

// ---- bounds ---------------------------------------------------------------------------

typedef struct tally {
  size_t tight, broken;
  double least, sum; // bound / cost
} tally;

/// `fault`: potentials that no row adds up to. `ceiling`: of the bound, of the row's
/// cost.
static void try_row(const row *r, bool has_fault, double ceiling, tally *t) {
  eg_open_options options = {.time_limit_seconds = 20};
  eg_layout_seam_list seams;
  eg_layout_potentials potentials;
  blocks open;
  double wanted = solve_row(r), climbed, searched;
  options.ceiling = ceiling * wanted;
  uint64_t work;
  eg_layout_seam_list_init(&seams, eg_allocator_heap());
  open_row(r, &open, &seams);
  eg_layout_potentials_init(&potentials, eg_allocator_heap(), &seams);
  assert_ok(eg_layout_open_climb(eg_allocator_heap(), &open.p, &options, &potentials,
                                 &climbed, &work));
  for (size_t i = 0; i < potentials.front.len; i++) {
    assert_true(potentials.back.data[i] <= potentials.front.data[i]);
    if (has_fault) potentials.back.data[i] = potentials.front.data[i] + 0.3;
  }
  assert_ok(eg_layout_open_search(eg_allocator_heap(), &open.p, &options, &potentials,
                                  &searched));
  assert_true(searched <= options.ceiling * (1 + 1e-9));
  bool is_broken = searched > wanted * (1 + 1e-9);
  if (!has_fault && (is_broken || climbed > wanted * (1 + 1e-9)))
    fail_msg("climbed to %.17g, searched to %.17g, the row costs %.17g", climbed,
             searched, wanted);
  double best = fmax(climbed, searched);
  t->tight += best >= wanted * (1 - 1e-6);
  t->broken += is_broken;
  t->least = fmin(t->least, best / wanted);
  t->sum += best / wanted;
  eg_layout_potentials_deinit(&potentials);
  eg_layout_problem_deinit(&open.p);
  eg_layout_seam_list_deinit(&seams);
}

static void rows_cost_no_less_than_bounds(void **state) {
  (void)state;
  static row r;
  tally t = {.least = 1}, low = t;
  eg_rng rng = {test_seed(20261124)};
  size_t rounds = test_rounds(400);
  for (size_t i = 0; i < rounds; i++) {
    draw(&rng, &r);
    try_row(&r, false, i % 2 == 0 ? INFINITY : 1.000001, &t);
    try_row(&r, false, 0.9, &low);
  }
  print_message(
      "%zu rows: %zu bounds are the cost; %.3g of it on average, %.3g at least\n", rounds,
      t.tight, t.sum / (double)rounds, t.least);
  assert_true(t.tight * 8 > rounds && t.sum > 0.9 * (double)rounds);
}

static void potentials_that_do_not_cancel_are_seen(void **state) {
  (void)state;
  static row r;
  tally t = {.least = 1};
  eg_rng rng = {test_seed(20261125)};
  size_t rounds = test_rounds(40);
  for (size_t i = 0; i < rounds; i++) {
    draw(&rng, &r);
    try_row(&r, true, INFINITY, &t);
  }
  assert_true(t.broken > 0);
}

static void seams_of_unlike_values_are_refused(void **state) {
  (void)state;
  static row r;
  eg_rng rng = {test_seed(20261126)};
  eg_layout_seam_list seams;
  eg_layout_potentials potentials;
  blocks open;
  double bound;
  uint64_t work;
  draw(&rng, &r);
  eg_layout_seam_list_init(&seams, eg_allocator_heap());
  open_row(&r, &open, &seams);
  eg_open_options options = {.time_limit_seconds = 1};
  eg_layout_potentials_init(&potentials, eg_allocator_heap(), &seams);
  seams.data[0].after = 0; // a value of the head, without absent
  assert_int_equal(eg_layout_open_climb(eg_allocator_heap(), &open.p, &options,
                                        &potentials, &bound, &work),
                   EGRAPH_E_ARGUMENT);
  seams.data[0].after = UINT32_MAX;
  assert_int_equal(eg_layout_open_climb(eg_allocator_heap(), &open.p, &options,
                                        &potentials, &bound, &work),
                   EGRAPH_E_ARGUMENT);
  assert_int_equal(eg_layout_open_search(eg_allocator_heap(), &open.p, &options,
                                         &potentials, &bound), // no ceiling
                   EGRAPH_E_ARGUMENT);
  eg_layout_potentials_deinit(&potentials);
  eg_layout_problem_deinit(&open.p);
  eg_layout_seam_list_deinit(&seams);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_cost_no_less_than_bounds),
      cmocka_unit_test(potentials_that_do_not_cancel_are_seen),
      cmocka_unit_test(seams_of_unlike_values_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
