// Sizes as expressions: random ones have the values that numbers have, equal and ordered
// pairs are so at all sizes that are tried, and what a handle is computed into by other
// arithmetic is no size.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "ops/size.h"
#include "tests/testing.h"

enum { DIMS = 3, NODES = 19, POINTS = 60 };

typedef bool operation(int64_t a, int64_t b, int64_t *out);

static bool floor_numbers(int64_t a, int64_t b, int64_t *out) {
  *out = a / b - (a % b != 0 && a < 0);
  return true;
}
static bool ceil_numbers(int64_t a, int64_t b, int64_t *out) {
  return floor_numbers(a + b - 1, b, out);
}
static bool add_numbers(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static bool sub_numbers(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}
static bool mul_numbers(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static bool min_numbers(int64_t a, int64_t b, int64_t *out) {
  *out = a < b ? a : b;
  return true;
}
static bool max_numbers(int64_t a, int64_t b, int64_t *out) {
  *out = a > b ? a : b;
  return true;
}

static const struct {
  operation *on_sizes, *on_numbers;
  bool by_number;
} operations[] = {
    {eg_size_add, add_numbers, false},     {eg_size_sub, sub_numbers, false},
    {eg_size_mul, mul_numbers, false},     {eg_size_min, min_numbers, false},
    {eg_size_max, max_numbers, false},     {eg_size_floor_div, floor_numbers, true},
    {eg_size_ceil_div, ceil_numbers, true}};

/// Expressions, and their values at points; the first ones are dimensions.
typedef struct expressions {
  eg_open_sizes *sizes;
  uint32_t count;
  int64_t size[NODES], dims[POINTS][DIMS], value[POINTS][NODES];
} expressions;

static void begin(expressions *e, eg_rng *rng) {
  static const char *const names[DIMS] = {"a", "b", "c"};
  assert_ok(eg_open_sizes_create(eg_allocator_heap(), &e->sizes));
  for (uint32_t i = 0; i < DIMS; i++) {
    eg_open_dim dim = {.name = names[i], .input = "x", .axis = i, .example = 11 + i};
    assert_ok(eg_open_sizes_add_dim(e->sizes, &dim, &e->size[i]));
  }
  e->count = DIMS;
  for (uint32_t p = 0; p < POINTS; p++)
    for (uint32_t i = 0; i < DIMS; i++) {
      uint64_t most = p < 20 ? 3 : p < 40 ? 9 : 60;
      e->value[p][i] = e->dims[p][i] = 1 + (int64_t)eg_rng_below(rng, most);
    }
}

static void add_one(expressions *e, eg_rng *rng) {
  uint32_t op = (uint32_t)eg_rng_below(rng, sizeof operations / sizeof *operations);
  uint32_t a = (uint32_t)eg_rng_below(rng, e->count);
  uint32_t b = (uint32_t)eg_rng_below(rng, e->count);
  int64_t number = 1 + (int64_t)eg_rng_below(rng, 8);
  bool is_number = operations[op].by_number || eg_rng_below(rng, 2) == 0;
  int64_t other = is_number ? number : e->size[b];
  if (!operations[op].on_sizes(e->size[a], other, &e->size[e->count])) return;
  for (uint32_t p = 0; p < POINTS; p++)
    if (!operations[op].on_numbers(e->value[p][a], is_number ? number : e->value[p][b],
                                   &e->value[p][e->count]))
      return; // beyond all sizes
  e->count++;
}

static void check_values(const expressions *e) {
  for (uint32_t i = 0; i < e->count; i++)
    for (uint32_t p = 0; p < POINTS; p++) {
      int64_t value = eg_size_at(e->size[i], e->dims[p]);
      if (value != INT64_MAX) assert_int_equal(value, e->value[p][i]);
    }
}

static void check_pair(const expressions *e, uint32_t i, uint32_t k) {
  int64_t a = e->size[i], b = e->size[k];
  bool same = eg_size_same(a, b), order = eg_size_at_least(a, b);
  bool differs = eg_size_differs(a, b);
  for (uint32_t p = 0; p < POINTS; p++) {
    int64_t x = e->value[p][i], y = e->value[p][k];
    if (same) assert_int_equal(x, y);
    if (order) assert_true(x >= y);
    if (differs) assert_int_not_equal(x, y);
  }
}

static void expressions_are_what_numbers_are(void **state) {
  (void)state;
  eg_rng rng = {.state = test_seed(1)};
  for (uint32_t instance = 0; instance < test_rounds(200); instance++) {
    expressions e = {.count = 0};
    begin(&e, &rng);
    for (uint32_t i = DIMS; i < NODES; i++)
      add_one(&e, &rng);
    check_values(&e);
    for (uint32_t i = 0; i < e.count; i++)
      for (uint32_t k = 0; k < e.count; k++)
        check_pair(&e, i, k);
    eg_open_sizes_release(e.sizes);
  }
}

static int64_t two(eg_open_sizes **out, int64_t *out_b) {
  int64_t a;
  eg_open_dim dim = {.name = "a", .input = "x", .example = 12};
  assert_ok(eg_open_sizes_create(eg_allocator_heap(), out));
  assert_ok(eg_open_sizes_add_dim(*out, &dim, &a));
  dim.name = "b";
  assert_ok(eg_open_sizes_add_dim(*out, &dim, out_b));
  return a;
}

static void handles_are_no_numbers(void **state) {
  (void)state;
  eg_open_sizes *sizes;
  int64_t b, a = two(&sizes, &b);
  assert_true(eg_size_is_open(a));
  assert_false(eg_size_is_broken(a));
  for (int64_t k = 1; k < 200; k++) {
    assert_true(eg_size_is_broken(a + k));
    assert_true(eg_size_is_broken(a - k));
    assert_false(eg_size_is_open(a + k) || eg_size_is_open(a - k));
    if (k > 1) assert_true(eg_size_is_broken(a / k) || a / k < INT64_C(1) << 48);
  }
  assert_false(eg_size_is_open(INT64_MAX) || eg_size_is_open(INT64_MIN));
  eg_open_sizes_release(sizes);
}

/// While a model is read its operators make facts; later nothing does.
static void facts_hold_once_they_are_noted(void **state) {
  (void)state;
  eg_open_sizes *sizes;
  int64_t b, sum, half, twice, meeting, a = two(&sizes, &b);
  assert_true(eg_size_floor_div(a, 2, &half));
  assert_true(eg_size_mul(half, 2, &twice));
  assert_false(eg_size_same(a, twice));
  assert_false(eg_size_agree(a, 1)); // it may be stretched
  assert_true(eg_size_agree(a, twice));
  assert_true(eg_size_reaches(b, 3));
  assert_true(eg_size_broadcast(a, b, &meeting));
  eg_open_sizes_close(sizes);
  assert_true(eg_size_same(a, twice));
  assert_true(eg_size_mul(a, b, &sum));
  assert_true(eg_size_mul(twice, b, &twice));
  assert_true(eg_size_same(sum, twice));
  assert_true(eg_size_at_least(b, 3));
  assert_false(eg_size_at_least(b, 4));
  assert_true(eg_size_at_least(half, 1)); // as 2 divides a
  assert_false(eg_size_at_least(half, 2));
  assert_false(eg_size_agree(a, b));
  assert_true(eg_size_broadcast(b, a, &sum));
  assert_int_equal(sum, meeting);
  assert_true(eg_size_stretches_to(a, meeting));
  assert_false(eg_size_stretches_to(meeting, a));
  eg_open_sizes_release(sizes);
}

/// The example moves where facts want it to, but not what the caller gives.
static void examples_keep_facts(void **state) {
  (void)state;
  eg_open_sizes *sizes;
  int64_t b, half, up, more, a = two(&sizes, &b);
  const bool given[2] = {true, false};
  bool found;
  assert_true(eg_size_floor_div(b, 8, &half));
  assert_true(eg_size_mul(half, 8, &up));
  assert_true(eg_size_agree(up, b));
  assert_true(eg_size_add(a, 4, &more));
  assert_true(eg_size_agree(more, b));
  eg_open_sizes_close(sizes);
  assert_ok(eg_open_sizes_choose_examples(sizes, given, NULL, 0, &found));
  assert_true(found);
  assert_int_equal(eg_size_example(a), 12);
  assert_int_equal(eg_size_example(b), 16);
  eg_open_sizes_release(sizes);
}

/// Two sizes that must move at once, the nearest that are tried, and nothing is empty.
static void examples_meet_several_facts(void **state) {
  (void)state;
  eg_open_sizes *sizes;
  const bool given[2] = {false, false};
  bool found;
  int64_t b, third, all, rest, cut, part, a = two(&sizes, &b);
  assert_true(eg_size_floor_div(a, 21, &third)); // 21 divides a
  assert_true(eg_size_mul(third, 21, &all));
  assert_true(eg_size_agree(all, a));
  assert_true(eg_size_floor_div(b, 5, &part)); // 5 divides b, and a is 3/5 b + 3
  assert_true(eg_size_mul(part, 5, &rest));
  assert_true(eg_size_agree(rest, b));
  assert_true(eg_size_mul(part, 3, &part));
  assert_true(eg_size_add(part, 3, &part));
  assert_true(eg_size_agree(part, a));
  assert_true(eg_size_sub(40, a, &cut)); // x[a:40]
  assert_true(eg_size_max(cut, 0, &cut));
  eg_open_sizes_close(sizes);
  assert_ok(eg_open_sizes_choose_examples(sizes, given, &cut, 1, &found));
  assert_true(found);
  assert_int_equal(eg_size_example(a), 21);
  assert_int_equal(eg_size_example(b), 30);
  eg_open_sizes_release(sizes);
}

/// Bounds that facts give hold of what is computed, too; nothing more does.
static void bounds_reach_into_floors(void **state) {
  (void)state;
  eg_open_sizes *sizes;
  int64_t b, less, up, twice, a = two(&sizes, &b);
  assert_true(eg_size_reaches(a, 3));
  assert_true(eg_size_sub(a, 2, &less));
  assert_true(eg_size_ceil_div(less, 7, &up));
  assert_true(eg_size_at_least(less, 1));
  assert_true(eg_size_at_least(up, 1));
  assert_false(eg_size_at_least(up, 2));
  assert_true(eg_size_mul(less, 2, &twice));
  assert_true(eg_size_at_least(twice, 2));
  assert_false(eg_size_at_least(twice, 3));
  assert_true(eg_size_sub(b, 2, &less));
  assert_false(eg_size_at_least(less, 1));
  eg_open_sizes_release(sizes);
}

static void sizes_are_printed(void **state) {
  (void)state;
  eg_open_sizes *sizes;
  eg_text text;
  int64_t b, size, a = two(&sizes, &b);
  eg_text_init(&text, eg_allocator_heap());
  assert_true(eg_size_mul(a, b, &size));
  assert_true(eg_size_mul(size, 3, &size));
  assert_true(eg_size_sub(size, 7, &size));
  assert_ok(eg_size_print(&text, size));
  assert_string_equal(eg_text_of(&text), "3*a*b - 7");
  eg_text_clear(&text);
  assert_true(eg_size_max(a, 4, &size));
  assert_true(eg_size_floor_div(size, 3, &size));
  assert_ok(eg_size_print(&text, size));
  assert_string_equal(eg_text_of(&text), "max(0, floor((a) / 3) - 1) + 1");
  eg_text_deinit(&text);
  eg_open_sizes_release(sizes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_are_what_numbers_are),
      cmocka_unit_test(handles_are_no_numbers),
      cmocka_unit_test(facts_hold_once_they_are_noted),
      cmocka_unit_test(examples_keep_facts),
      cmocka_unit_test(examples_meet_several_facts),
      cmocka_unit_test(bounds_reach_into_floors),
      cmocka_unit_test(sizes_are_printed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
