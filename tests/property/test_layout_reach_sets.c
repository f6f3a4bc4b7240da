// Sets of layouts against exhaustive search: what the cheapest arborescence to each set
// costs, over every subset of arcs, and what limits on room and number lose.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_sets.h"
#include "tests/testing.h"

enum { LAYOUTS = 5, ARCS = 8, SUBSETS = 1 << LAYOUTS };

static uint32_t below(eg_rng *rng, uint32_t bound) {
  return (uint32_t)eg_rng_below(rng, bound);
}

/// Quarters: sums are exact.
static double draw_cost(eg_rng *rng) { return below(rng, 24) / 4.0; }

typedef struct sets_case {
  eg_layout_sets sets;
  uint32_t from[ARCS], to[ARCS], targets[LAYOUTS];
  double cost[ARCS], extra[LAYOUTS], base[LAYOUTS];
  double way[SUBSETS][LAYOUTS]; // [targets as bits][layout], exhaustive
  double least[SUBSETS];
} sets_case;

static void draw_case(eg_rng *rng, sets_case *c) {
  eg_layout_sets *s = &c->sets;
  eg_layout_sets_init(s, eg_allocator_heap());
  s->layouts = 1 + below(rng, LAYOUTS);
  s->arcs = below(rng, ARCS + 1);
  for (uint32_t a = 0; a < s->arcs; a++) {
    c->from[a] = below(rng, s->layouts);
    c->to[a] = below(rng, s->layouts);
    c->cost[a] = draw_cost(rng);
  }
  s->target_count = 0;
  for (uint32_t l = 0; l < s->layouts; l++) {
    c->base[l] = below(rng, 4) ? draw_cost(rng) : INFINITY;
    c->extra[s->target_count] = below(rng, 2) ? 0 : draw_cost(rng);
    if (below(rng, 4)) c->targets[s->target_count++] = l;
  }
  s->from = c->from;
  s->to = c->to;
  s->cost = c->cost;
  s->targets = c->targets;
  s->extra = c->extra;
  s->base = c->base;
  s->size = below(rng, LAYOUTS + 1);
  s->room = below(rng, 3) ? 40 : draw_cost(rng) * 3;
  s->most = below(rng, 2) ? UINT32_MAX : 1 + below(rng, 12);
}

static uint32_t reached_from(const sets_case *c, uint32_t source, uint32_t arcs) {
  uint32_t reached = 1u << source, before = 0;
  while (before != reached) {
    before = reached;
    for (uint32_t a = 0; a < c->sets.arcs; a++)
      if ((arcs >> a & 1) && (reached >> c->from[a] & 1)) reached |= 1u << c->to[a];
  }
  return reached;
}

static void lower_ways(sets_case *c, uint32_t source, uint32_t reached, double cost) {
  for (uint32_t set = 0; set < 1u << c->sets.target_count; set++) {
    bool has_all = true;
    for (uint32_t t = 0; t < c->sets.target_count; t++)
      has_all = has_all && (!(set >> t & 1) || (reached >> c->targets[t] & 1));
    if (has_all) c->way[set][source] = fmin(c->way[set][source], cost);
  }
}

static void solve_by_force(sets_case *c) {
  for (uint32_t set = 0; set < SUBSETS; set++)
    for (uint32_t l = 0; l < LAYOUTS; l++)
      c->way[set][l] = INFINITY;
  for (uint32_t arcs = 0; arcs < 1u << c->sets.arcs; arcs++) {
    double cost = 0;
    for (uint32_t a = 0; a < c->sets.arcs; a++)
      if (arcs >> a & 1) cost += c->cost[a];
    for (uint32_t l = 0; l < c->sets.layouts; l++)
      lower_ways(c, l, reached_from(c, l, arcs), cost);
  }
  for (uint32_t set = 0; set < 1u << c->sets.target_count; set++) {
    double extra = 0;
    c->least[set] = INFINITY;
    for (uint32_t t = 0; t < c->sets.target_count; t++)
      if (set >> t & 1) extra += c->extra[t];
    for (uint32_t l = 0; l < c->sets.layouts; l++)
      c->least[set] = fmin(c->least[set], c->base[l] + c->way[set][l] + extra);
  }
}

/// As bits of targets.
static uint32_t bits_of(eg_layout_set set) {
  uint32_t bits = 0;
  for (uint32_t i = 0, n = eg_layout_set_count(set); i < n; i++) {
    uint32_t target = eg_layout_set_member(set, i);
    assert_true(bits >> target == 0); // ascending
    bits |= 1u << target;
  }
  return bits;
}

static uint32_t count_bits(uint32_t bits) {
  uint32_t count = 0;
  for (; bits != 0; bits &= bits - 1)
    count++;
  return count;
}

/// Checks what was found; number_of: [targets as bits] the set, or UINT32_MAX.
static void check_found(const sets_case *c, uint32_t *number_of, size_t round) {
  const eg_layout_sets *s = &c->sets;
  for (uint32_t set = 0; set < SUBSETS; set++)
    number_of[set] = UINT32_MAX;
  assert_true(s->members.len <= s->most);
  for (uint32_t i = 0; i < s->members.len; i++) {
    uint32_t set = bits_of(s->members.data[i]);
    assert_true(number_of[set] == UINT32_MAX);
    assert_true((i == 0) == (set == 0));
    number_of[set] = i;
    assert_true(count_bits(set) <= s->size && c->least[set] <= s->room);
    for (uint32_t l = 0; l < s->layouts; l++)
      if (eg_layout_sets_cost(s, i, l) != c->way[set][l])
        fail_msg("round %zu: set %x from %u costs %g, not %g", round, set, l,
                 eg_layout_sets_cost(s, i, l), c->way[set][l]);
  }
}

static void check_lost(const sets_case *c, const uint32_t *number_of, size_t round) {
  const eg_layout_sets *s = &c->sets;
  bool is_full = s->members.len == s->most;
  for (uint32_t set = 0; set < 1u << s->target_count; set++) {
    if (count_bits(set) > s->size || number_of[set] != UINT32_MAX) continue;
    if (c->least[set] < s->lost)
      fail_msg("round %zu: set %x costs %g, but only %g is lost", round, set,
               c->least[set], s->lost);
    assert_true(is_full || !(c->least[set] <= s->room));
  }
  if (!is_full) assert_true(s->lost > s->room);
}

static void check_parts(const sets_case *c, const uint32_t *number_of) {
  const eg_layout_sets *s = &c->sets;
  for (uint32_t i = 0; i < s->members.len; i++)
    for (uint32_t k = 0; k < eg_layout_set_count(s->members.data[i]); k++) {
      uint32_t member = eg_layout_set_member(s->members.data[i], k);
      uint32_t wanted = number_of[bits_of(s->members.data[i]) & ~(1u << member)];
      assert_true(wanted != UINT32_MAX);
      assert_int_equal(eg_layout_sets_without(s, i, k), wanted);
    }
}

static void sets_are_what_exhaustive_search_finds(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260311);
  size_t rounds = test_rounds(2000);
  static sets_case c;
  size_t full = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    uint32_t number_of[SUBSETS];
    draw_case(&rng, &c);
    solve_by_force(&c);
    for (int again = 0; again < 2; again++) {
      assert_ok(eg_layout_sets_find(&c.sets));
      check_found(&c, number_of, round);
      check_lost(&c, number_of, round);
      check_parts(&c, number_of);
    }
    full += c.sets.members.len == c.sets.most;
    eg_layout_sets_deinit(&c.sets);
  }
  assert_true(full > rounds / 16);
}

// Three layouts of which any may be asked for, the last one free; there is no place for
// it any more, so what is lost is no more than it costs.
static void a_set_without_a_place_is_lost_at_its_cost(void **state) {
  (void)state;
  const uint32_t from[] = {0, 0}, to[] = {1, 2}, targets[] = {1, 2};
  const double cost[] = {5, 0}, extra[] = {0, 0}, base[] = {0, INFINITY, INFINITY};
  eg_layout_sets s;
  eg_layout_sets_init(&s, eg_allocator_heap());
  s.layouts = 3;
  s.arcs = 2;
  s.from = from;
  s.to = to;
  s.cost = cost;
  s.targets = targets;
  s.extra = extra;
  s.target_count = 2;
  s.base = base;
  s.room = 100;
  s.size = 2;
  s.most = 2; // none, and the first one
  assert_ok(eg_layout_sets_find(&s));
  assert_int_equal(s.members.len, 2);
  assert_true(s.lost == 0);
  eg_layout_sets_deinit(&s);
}

static void sets_of_the_largest_size_are_found(void **state) {
  (void)state;
  enum { MANY = EG_LAYOUT_SET_SIZE + 1 };
  uint32_t from[MANY - 1], to[MANY - 1], targets[MANY];
  double cost[MANY - 1], extra[MANY] = {0}, base[MANY];
  for (uint32_t i = 0; i < MANY; i++) {
    targets[i] = i;
    base[i] = i == 0 ? 0 : INFINITY;
    if (i + 1 == MANY) break;
    from[i] = i; // a chain
    to[i] = i + 1;
    cost[i] = 1;
  }
  eg_layout_sets s;
  eg_layout_sets_init(&s, eg_allocator_heap());
  s.layouts = MANY;
  s.arcs = MANY - 1;
  s.from = from;
  s.to = to;
  s.cost = cost;
  s.targets = targets;
  s.extra = extra;
  s.target_count = MANY;
  s.base = base;
  s.size = EG_LAYOUT_SET_SIZE;
  s.most = UINT32_MAX;
  assert_ok(eg_layout_sets_find(&s));
  assert_int_equal(s.members.len, (1 << MANY) - 1); // all but that of all
  assert_true(isinf(s.lost));
  for (uint32_t i = 1; i < s.members.len; i++) {
    uint32_t last = 0;
    for (uint32_t set = bits_of(s.members.data[i]); set > 1; set >>= 1)
      last++;
    assert_true(eg_layout_sets_cost(&s, i, 0) == last); // the chain up to there
  }
  eg_layout_sets_deinit(&s);
}

static egraph_status find_sets(egraph_allocator alloc, void *user) {
  sets_case *c = user;
  eg_layout_sets s;
  eg_layout_sets_init(&s, alloc);
  eg_words members = s.members;
  eg_doubles way = s.way;
  eg_flatmap index = s.index;
  s = c->sets;
  s.members = members;
  s.way = way;
  s.index = index;
  egraph_status status = eg_layout_sets_find(&s);
  eg_layout_sets_deinit(&s);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static sets_case c;
  for (uint64_t round = 0; round < 20; round++) {
    eg_rng rng = {eg_hash_combine(20260312, round)};
    draw_case(&rng, &c);
    test_every_allocation_failing(find_sets, &c);
    eg_layout_sets_deinit(&c.sets);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_are_what_exhaustive_search_finds),
      cmocka_unit_test(a_set_without_a_place_is_lost_at_its_cost),
      cmocka_unit_test(sets_of_the_largest_size_are_found),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
