// Landmarks as bit rows and as shared sets, against the definition; what readers rely on
// when limits strike; the sets themselves; and dual ascent in bulk.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "extract/dual_ascent.h"
#include "extract/presolve/landmarks.h"
#include "extract/presolve/presolve.h"
#include "tests/extract_brute.h"
#include "tests/testing.h"

enum { MOST_CLASSES = 90, MOST_NUMBERS = 400 };

static const eg_patience endless = {INFINITY, NULL};

static egraph_allocator heap(void) { return eg_allocator_heap(); }

// ---- sets ------------------------------------------------------------------------

static bool members_are(const eg_sets *sets, uint32_t set, const bool *expected) {
  for (uint32_t i = 0; i < MOST_NUMBERS; i++)
    if (eg_sets_has(sets, set, i) != expected[i]) return false;
  return true;
}

static void expect_list(const eg_sets *sets, uint32_t set, const bool *expected) {
  eg_u32s list;
  eg_u32s_init(&list, heap());
  assert_ok(eg_sets_list(sets, set, &list));
  size_t at = 0;
  for (uint32_t i = 0; i < MOST_NUMBERS; i++)
    if (expected[i]) assert_true(at < list.len && list.data[at++] == i);
  assert_int_equal(at, list.len);
  eg_u32s_deinit(&list);
}

static void sets_are_those_of_bits(void **state) {
  (void)state;
  enum { SETS = 40, ROUNDS = 400 };
  static bool model[SETS][MOST_NUMBERS];
  uint32_t id[SETS] = {0};
  eg_rng rng = {test_seed(11)};
  eg_sets sets;
  eg_sets_init(&sets, heap());
  assert_ok(eg_sets_start(&sets));
  for (int round = 0; round < ROUNDS; round++) {
    size_t a = eg_rng_below(&rng, SETS), b = eg_rng_below(&rng, SETS),
           c = eg_rng_below(&rng, SETS);
    uint32_t member = (uint32_t)eg_rng_below(&rng, MOST_NUMBERS), result;
    bool both = eg_rng_below(&rng, 3) == 0, next[MOST_NUMBERS];
    if (both)
      assert_ok(eg_sets_intersection(&sets, id[a], id[b], &result));
    else
      assert_ok(eg_sets_union(&sets, id[a], id[b], &result));
    for (uint32_t i = 0; i < MOST_NUMBERS; i++)
      next[i] = both ? model[a][i] && model[b][i] : model[a][i] || model[b][i];
    uint32_t single;
    assert_ok(eg_sets_single(&sets, member, &single));
    assert_ok(eg_sets_union(&sets, single, result, &id[c]));
    next[member] = true;
    memcpy(model[c], next, sizeof next);
    if (round % 50 == 49) assert_ok(eg_sets_compact(&sets, id, SETS));
    assert_true(members_are(&sets, id[c], model[c]));
    for (size_t other = 0; other < SETS; other++) // equal sets, equal ids
      assert_int_equal(id[other] == id[c],
                       memcmp(model[other], model[c], sizeof model[c]) == 0);
  }
  for (size_t s = 0; s < SETS; s++)
    expect_list(&sets, id[s], model[s]);
  eg_sets_deinit(&sets);
}

static void a_range_has_all_below_its_end(void **state) {
  (void)state;
  eg_sets sets;
  eg_sets_init(&sets, heap());
  assert_ok(eg_sets_start(&sets));
  for (uint32_t count = 0; count < MOST_NUMBERS; count += 37) {
    uint32_t range;
    bool expected[MOST_NUMBERS] = {false};
    memset(expected, true, count);
    assert_ok(eg_sets_range(&sets, count, &range));
    assert_true(members_are(&sets, range, expected));
  }
  eg_sets_deinit(&sets);
}

// ---- problems --------------------------------------------------------------------

typedef struct fixture {
  eg_extract_problem problem;
  eg_class_index index;
  bool need[MOST_CLASSES][MOST_CLASSES]; // by definition
} fixture;

// Blocks of classes: children are in the own block, either way, or in an earlier one.
static void draw_nodes(fixture *f, eg_rng *rng, uint32_t block) {
  for (uint32_t class = 0; class < f->problem.class_count; class ++) {
    uint32_t members = (uint32_t)eg_rng_below(rng, 4), children[10];
    if (members == 0 && eg_rng_below(rng, 4) != 0) members = 1;
    uint32_t above = (class / block + 1) * block;
    if (above > f->problem.class_count) above = f->problem.class_count;
    for (uint32_t m = 0; m < members; m++) {
      uint32_t count = (uint32_t)eg_rng_below(rng, m == 0 ? 3 : 4);
      if (eg_rng_below(rng, 20) == 0) count = 10;
      for (uint32_t i = 0; i < count; i++)
        children[i] = (uint32_t)eg_rng_below(rng, above);
      assert_ok(eg_extract_problem_add_node(
          &f->problem, class, (double)eg_rng_below(rng, 9), children, count, NULL));
    }
  }
}

static void draw(fixture *f, eg_rng *rng, uint32_t most) {
  assert_ok(eg_extract_problem_init(&f->problem, heap()));
  f->problem.class_count = 2 + (uint32_t)eg_rng_below(rng, most - 1);
  draw_nodes(f, rng, 1 + (uint32_t)eg_rng_below(rng, f->problem.class_count));
  assert_ok(eg_extract_problem_add_root(&f->problem, f->problem.class_count - 1));
  eg_class_index_init(&f->index, heap());
  assert_ok(eg_class_index_build(&f->index, &f->problem));
}

static void end(fixture *f) {
  eg_class_index_deinit(&f->index);
  eg_extract_problem_deinit(&f->problem);
}

// Whether every node of `class` has a child whose row holds `needed`.
static bool is_supported(const fixture *f, uint32_t class, uint32_t needed,
                         bool (*has)(const void *rows, uint32_t class, uint32_t needed),
                         const void *rows) {
  for (uint32_t m = f->index.member_begin.data[class];
       m < f->index.member_begin.data[class + 1]; m++) {
    uint32_t node = f->index.members.data[m];
    bool found = false;
    for (uint32_t i = f->problem.child_begin.data[node];
         i < f->problem.child_begin.data[node + 1]; i++)
      found = found || has(rows, f->problem.children.data[i], needed);
    if (!found) return false;
  }
  return true;
}

static bool has_by_definition(const void *rows, uint32_t class, uint32_t needed) {
  return ((const fixture *)rows)->need[class][needed];
}

static void define(fixture *f) {
  memset(f->need, true, sizeof f->need);
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t c = 0; c < f->problem.class_count; c++)
      for (uint32_t d = 0; d < f->problem.class_count; d++) {
        if (c == d || !f->need[c][d] || is_supported(f, c, d, has_by_definition, f))
          continue;
        f->need[c][d] = false;
        moved = true;
      }
  }
}

static bool has_found(const void *rows, uint32_t class, uint32_t needed) {
  return eg_landmarks_has(rows, class, needed);
}

static void expect_listed(const fixture *f, const eg_landmarks *landmarks) {
  eg_u32s list;
  eg_u32s_init(&list, heap());
  for (uint32_t c = 0; c < f->problem.class_count; c++) {
    list.len = 0;
    assert_ok(eg_landmarks_list(landmarks, c, &list));
    size_t count = 0;
    for (uint32_t d = 0; d < f->problem.class_count; d++)
      count += eg_landmarks_has(landmarks, c, d);
    assert_int_equal(list.len, count);
    for (size_t i = 0; i < list.len; i++)
      assert_true(eg_landmarks_has(landmarks, c, list.data[i]));
  }
  eg_u32s_deinit(&list);
}

// ---- rows ------------------------------------------------------------------------

static void rows_are_the_greatest_fixpoint(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {test_seed(12)};
  for (size_t round = 0; round < test_rounds(200); round++) {
    draw(&f, &rng, MOST_CLASSES);
    define(&f);
    for (int dense = 0; dense <= 1; dense++) {
      eg_landmarks landmarks;
      bool done;
      eg_landmarks_init(&landmarks, heap());
      landmarks.dense_bytes = dense ? SIZE_MAX : 0;
      landmarks.limits.steps_per_edge = 1 << 20;
      assert_ok(eg_landmarks_find(&landmarks, &f.problem, &f.index, endless, &done));
      assert_true(done && landmarks.dense == dense);
      for (uint32_t c = 0; c < f.problem.class_count; c++)
        for (uint32_t d = 0; d < f.problem.class_count; d++)
          assert_int_equal(f.need[c][d], eg_landmarks_has(&landmarks, c, d));
      expect_listed(&f, &landmarks);
      eg_landmarks_deinit(&landmarks);
    }
    end(&f);
  }
}

static void limits_leave_rows_true_and_supported(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {test_seed(13)};
  size_t gave_up = 0;
  for (size_t round = 0; round < test_rounds(200); round++) {
    draw(&f, &rng, MOST_CLASSES);
    define(&f);
    eg_landmarks landmarks;
    bool done;
    eg_landmarks_init(&landmarks, heap());
    landmarks.dense_bytes = 0;
    landmarks.limits.steps_per_edge = eg_rng_below(&rng, 4);
    landmarks.limits.set_nodes = (uint32_t)eg_rng_below(&rng, 100);
    assert_ok(eg_landmarks_find(&landmarks, &f.problem, &f.index, endless, &done));
    assert_true(done);
    gave_up += landmarks.shared.gave_up;
    for (uint32_t c = 0; c < f.problem.class_count; c++)
      for (uint32_t d = 0; d < f.problem.class_count; d++) {
        if (!eg_landmarks_has(&landmarks, c, d)) continue;
        assert_true(f.need[c][d]);
        assert_true(c == d || is_supported(&f, c, d, has_found, &landmarks));
      }
    for (uint32_t c = 0; c < f.problem.class_count; c++)
      assert_true(eg_landmarks_has(&landmarks, c, c));
    eg_landmarks_deinit(&landmarks);
    end(&f);
  }
  assert_true(gave_up > 0);
}

// ---- readers ---------------------------------------------------------------------

static double sum_by_definition(const fixture *f, uint32_t node, const double *weight,
                                const uint64_t *paid) {
  double sum = 0;
  for (uint32_t d = 0; d < f->problem.class_count; d++) {
    bool needed = false;
    for (uint32_t i = f->problem.child_begin.data[node];
         i < f->problem.child_begin.data[node + 1]; i++)
      needed = needed || f->need[f->problem.children.data[i]][d];
    if (needed && !eg_bits_has(paid, d)) sum += weight[d];
  }
  return sum;
}

static void check_sums(const fixture *f, eg_rng *rng, const eg_landmarks *landmarks) {
  double weight[MOST_CLASSES];
  uint64_t paid[2] = {eg_rng_next(rng) & eg_rng_next(rng), 0};
  for (uint32_t d = 0; d < MOST_CLASSES; d++)
    weight[d] = (double)eg_rng_below(rng, 5);
  eg_landmark_sums sums;
  eg_landmark_sums_init(&sums, heap());
  assert_ok(eg_landmark_sums_start(&sums, landmarks, &f->problem, weight, paid));
  for (uint32_t n = 0; n < eg_extract_node_count(&f->problem); n++) {
    double expected = sum_by_definition(f, n, weight, paid);
    uint32_t own = f->problem.node_class.data[n];
    uint32_t children =
        f->problem.child_begin.data[n + 1] - f->problem.child_begin.data[n];
    bool cyclic = eg_landmarks_node_has(landmarks, &f->problem, n, own);
    double found = eg_landmark_sums_of(&sums, n);
    if (cyclic) continue;
    assert_true(children <= 8 || landmarks->dense ? found == expected
                                                  : found <= expected);
  }
  eg_landmark_sums_deinit(&sums);
}

static void sums_count_every_class_once(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {test_seed(14)};
  for (size_t round = 0; round < test_rounds(200); round++) {
    draw(&f, &rng, MOST_CLASSES);
    define(&f);
    for (int dense = 0; dense <= 1; dense++) {
      eg_landmarks landmarks;
      bool done;
      eg_landmarks_init(&landmarks, heap());
      landmarks.dense_bytes = dense ? SIZE_MAX : 0;
      assert_ok(eg_landmarks_find(&landmarks, &f.problem, &f.index, endless, &done));
      check_sums(&f, &rng, &landmarks);
      eg_landmarks_deinit(&landmarks);
    }
    end(&f);
  }
}

// Presolve keeps an optimum with bit rows, with sets, and with sets that lack landmarks.
static void presolve_keeps_an_optimum_with_sets(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {test_seed(15)};
  for (size_t round = 0; round < test_rounds(600); round++) {
    draw(&f, &rng, 12);
    double best = brute_force(&f.problem);
    eg_parts parts;
    eg_presolve presolve;
    eg_parts_init(&parts, heap(), eg_extract_node_count(&f.problem));
    assert_ok(eg_presolve_init(&presolve, heap(), &parts));
    assert_ok(eg_reduced_from(&presolve.spare, &f.problem));
    assert_ok(eg_presolve_load(&presolve, &presolve.spare));
    presolve.cutoff = isfinite(best) ? best + 0.5 : INFINITY;
    presolve.landmarks.dense_bytes = 0;
    if (round % 2 != 0) presolve.landmarks.limits.steps_per_edge = 0;
    if (round % 3 == 0) presolve.landmarks.limits.set_nodes = 3;
    presolve.disabled = (uint32_t)eg_rng_next(&rng) & (uint32_t)eg_rng_next(&rng);
    assert_ok(eg_presolve_run(&presolve));
    if (!isfinite(best)) assert_true(presolve.closed || !isfinite(presolve.cutoff));
    if (isfinite(best)) {
      assert_false(presolve.closed);
      assert_true(presolve.bound <= best + 1e-9);
      double left = brute_force(&presolve.model.problem) + presolve.model.offset;
      assert_true(fabs(left - best) < 1e-9);
    }
    eg_presolve_deinit(&presolve);
    eg_parts_deinit(&parts);
    end(&f);
  }
}

// bound + reduced costs of any solution <= its costs, so the optimum of the reduced costs
// may miss that of the costs by at least the bound.
static void level_ascent_keeps_bound_and_prices_valid(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {test_seed(16)};
  size_t closed = 0, open = 0;
  for (size_t round = 0; round < test_rounds(600); round++) {
    draw(&f, &rng, 12);
    assert_ok(eg_extract_problem_add_root(&f.problem, 0));
    double best = brute_force(&f.problem), bound;
    uint32_t rounds = 1 + (uint32_t)eg_rng_below(&rng, 6);
    assert_ok(eg_level_ascent_run(heap(), &f.problem, &f.index, rounds, endless,
                                  f.problem.cost.data, &bound));
    assert_int_equal(isfinite(best), isfinite(bound));
    for (size_t n = 0; n < f.problem.cost.len; n++)
      assert_true(f.problem.cost.data[n] >= 0);
    if (isfinite(best)) assert_true(bound + brute_force(&f.problem) <= best + 1e-9);
    closed += bound > best - 1e-9;
    open += bound < best;
    end(&f);
  }
  assert_true(closed > open);
}

static void level_ascent_of_a_chain_is_its_length(void **state) {
  (void)state;
  fixture f;
  assert_ok(eg_extract_problem_init(&f.problem, heap()));
  f.problem.class_count = 5;
  for (uint32_t class = 0; class < 5; class ++) {
    uint32_t below = class - 1;
    assert_ok(eg_extract_problem_add_node(&f.problem, class, 1 + class, &below,
                                          class != 0, NULL));
  }
  assert_ok(eg_extract_problem_add_root(&f.problem, 4));
  eg_class_index_init(&f.index, heap());
  assert_ok(eg_class_index_build(&f.index, &f.problem));
  double bound;
  assert_ok(eg_level_ascent_run(heap(), &f.problem, &f.index, 3, (eg_patience){0, NULL},
                                f.problem.cost.data, &bound));
  assert_true(bound == 0); // the deadline has passed
  assert_ok(eg_level_ascent_run(heap(), &f.problem, &f.index, 3, endless,
                                f.problem.cost.data, &bound));
  assert_true(bound == 15);
  end(&f);
}

// ---- failures --------------------------------------------------------------------

static egraph_status find_with(egraph_allocator alloc, void *user) {
  const fixture *f = user;
  eg_landmarks landmarks;
  eg_landmark_sums sums;
  double weight[MOST_CLASSES] = {0};
  uint64_t paid[2] = {0, 0};
  bool done;
  eg_landmarks_init(&landmarks, alloc);
  eg_landmark_sums_init(&sums, alloc);
  landmarks.dense_bytes = 0;
  landmarks.limits.set_nodes = 20;
  egraph_status status =
      eg_landmarks_find(&landmarks, &f->problem, &f->index, endless, &done);
  if (status == EGRAPH_OK)
    status = eg_landmark_sums_start(&sums, &landmarks, &f->problem, weight, paid);
  double price[MOST_CLASSES] = {0}, bound;
  if (status == EGRAPH_OK && eg_extract_node_count(&f->problem) <= MOST_CLASSES)
    status =
        eg_level_ascent_run(alloc, &f->problem, &f->index, 1, endless, price, &bound);
  eg_landmark_sums_deinit(&sums);
  eg_landmarks_deinit(&landmarks);
  return status;
}

static void sets_survive_every_failing_allocation(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {3};
  draw(&f, &rng, MOST_CLASSES / 4);
  test_every_allocation_failing(find_with, &f);
  end(&f);
}

static void sets_end_at_the_deadline(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {4};
  draw(&f, &rng, MOST_CLASSES);
  eg_landmarks landmarks;
  bool done = true;
  eg_landmarks_init(&landmarks, heap());
  landmarks.dense_bytes = 0;
  assert_ok(
      eg_landmarks_find(&landmarks, &f.problem, &f.index, (eg_patience){0, NULL}, &done));
  assert_false(done);
  eg_landmarks_deinit(&landmarks);
  end(&f);
}

static bool stop_and_count(void *user, double cost, double bound, double seconds) {
  (void)cost, (void)bound, (void)seconds;
  ++*(int *)user;
  return true;
}

static void steps_end_when_progress_says_so(void **state) {
  (void)state;
  static fixture f;
  eg_rng rng = {5};
  draw(&f, &rng, MOST_CLASSES);
  assert_ok(eg_extract_problem_add_root(&f.problem, 0));
  for (int step = 0; step < 3; step++) {
    int asked = 0;
    eg_extract_options options = {
        .time_limit_seconds = 1e6, .progress = stop_and_count, .user = &asked};
    eg_incumbent incumbent;
    assert_ok(eg_incumbent_init(&incumbent, heap(), &f.problem, &options));
    incumbent.asked_seconds = -INFINITY;
    eg_patience patience = eg_patience_of(&incumbent);
    eg_landmarks landmarks;
    bool done = false;
    double bound = 0;
    eg_landmarks_init(&landmarks, heap());
    landmarks.dense_bytes = step == 0 ? SIZE_MAX : 0;
    if (step == 2)
      assert_ok(eg_level_ascent_run(heap(), &f.problem, &f.index, 3, patience,
                                    f.problem.cost.data, &bound));
    else
      assert_ok(eg_landmarks_find(&landmarks, &f.problem, &f.index, patience, &done));
    assert_int_equal(asked, 1);
    assert_true(!done && bound == 0);
    eg_landmarks_deinit(&landmarks);
    eg_incumbent_deinit(&incumbent);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_are_those_of_bits),
      cmocka_unit_test(a_range_has_all_below_its_end),
      cmocka_unit_test(rows_are_the_greatest_fixpoint),
      cmocka_unit_test(limits_leave_rows_true_and_supported),
      cmocka_unit_test(sums_count_every_class_once),
      cmocka_unit_test(presolve_keeps_an_optimum_with_sets),
      cmocka_unit_test(level_ascent_keeps_bound_and_prices_valid),
      cmocka_unit_test(level_ascent_of_a_chain_is_its_length),
      cmocka_unit_test(sets_survive_every_failing_allocation),
      cmocka_unit_test(sets_end_at_the_deadline),
      cmocka_unit_test(steps_end_when_progress_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
