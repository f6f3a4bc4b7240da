// The LP text means the same as the problem: random problems, written, read back by a
// reader of its own and solved by trying everything.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/extract.h"
#include "extract/search/lp_format.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "tests/testing.h"

enum { MAX_X = 13, MAX_T = 8, MAX_ROWS = 200, CLASSES = 6 };

// A row over x, t and fixed_cost: sum <sense> right.
typedef struct lp_row {
  double x[MAX_X], t[MAX_T], fixed, right;
  bool equal;
} lp_row;

typedef struct lp {
  lp_row objective, rows[MAX_ROWS];
  uint32_t row_count, x_count;
  double t_high[MAX_T];
} lp;

static void expect(const char **at, const char *text) {
  while (isspace((unsigned char)**at))
    ++*at;
  if (strncmp(*at, text, strlen(text)) != 0) fail_msg("no '%s' at: %.40s", text, *at);
  *at += strlen(text);
}

static bool accept(const char **at, const char *text) {
  while (isspace((unsigned char)**at))
    ++*at;
  if (strncmp(*at, text, strlen(text)) != 0) return false;
  *at += strlen(text);
  return true;
}

static double number(const char **at) {
  char *end;
  double value = strtod(*at, &end);
  assert_true(end != *at);
  *at = end;
  return value;
}

// Terms up to "<=", "=" or what follows the objective.
static void read_terms(const char **at, lp_row *row) {
  for (bool any = false;; any = true) {
    double sign = accept(at, "-") ? -1 : 1;
    bool plus = sign > 0 && accept(at, "+");
    while (isspace((unsigned char)**at))
      ++*at;
    bool starts = isdigit((unsigned char)**at) || **at == 'x' || **at == 't' ||
                  strncmp(*at, "fixed_cost", 10) == 0;
    if (!starts) {
      assert_true(!plus);
      return;
    }
    assert_true(plus || sign < 0 || !any);
    double factor = isdigit((unsigned char)**at) ? number(at) : 1;
    if (accept(at, "fixed_cost")) {
      row->fixed += sign * factor;
      continue;
    }
    bool is_x = accept(at, "x");
    if (!is_x) expect(at, "t");
    unsigned which = (unsigned)number(at);
    assert_true(which < (is_x ? (unsigned)MAX_X : (unsigned)MAX_T));
    (is_x ? row->x : row->t)[which] += sign * factor;
  }
}

static void read_rows(const char **at, lp *out) {
  while (!accept(at, "Bounds")) {
    lp_row *row = &out->rows[out->row_count++];
    assert_true(out->row_count <= MAX_ROWS);
    *row = (lp_row){.fixed = 0};
    *at = strchr(*at, ':') + 1;
    read_terms(at, row);
    row->equal = !accept(at, "<=");
    if (row->equal) expect(at, "=");
    row->right = number(at);
  }
}

static void read_lp(const char *text, lp *out) {
  memset(out, 0, sizeof *out);
  while (*text == '\\')
    text = strchr(text, '\n') + 1;
  expect(&text, "Minimize");
  expect(&text, "cost:");
  read_terms(&text, &out->objective);
  expect(&text, "Subject To");
  read_rows(&text, out);
  while (accept(&text, "0 <= t")) {
    unsigned which = (unsigned)number(&text);
    assert_true(which < MAX_T);
    expect(&text, "<=");
    out->t_high[which] = number(&text);
  }
  expect(&text, "Binaries");
  while (accept(&text, "x"))
    assert_int_equal((uint32_t)number(&text), out->x_count++);
  expect(&text, "End\n");
  assert_int_equal(*text, '\0');
}

// Levels that satisfy all rows, raised from 0 until nothing is violated: each row with t
// says t_a >= t_b - (right - x part).
static bool has_levels(const lp *p, const double *left) {
  double t[MAX_T] = {0};
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t r = 0; r < p->row_count; r++) {
      int up = -1, down = -1;
      for (int i = 0; i < MAX_T; i++) {
        if (p->rows[r].t[i] > 0) up = i;
        if (p->rows[r].t[i] < 0) down = i;
      }
      if (up < 0) continue;
      double least = t[up] + left[r] - p->rows[r].right;
      if (least <= t[down] + 1e-9) continue;
      t[down] = least;
      moved = true;
      if (t[down] > p->t_high[down] + 1e-9) return false;
    }
  }
  return true;
}

static double value_of(const lp_row *row, uint32_t bits) {
  double sum = row->fixed;
  for (uint32_t i = 0; i < MAX_X; i++)
    if ((bits >> i) & 1) sum += row->x[i];
  return sum;
}

static bool is_solution(const lp *p, uint32_t bits) {
  double left[MAX_ROWS];
  for (uint32_t r = 0; r < p->row_count; r++) {
    const lp_row *row = &p->rows[r];
    bool has_t = false;
    for (int i = 0; i < MAX_T; i++)
      has_t = has_t || row->t[i] != 0;
    left[r] = value_of(row, bits);
    if (has_t) continue;
    if (left[r] > row->right + 1e-9) return false;
    if (row->equal && left[r] < row->right - 1e-9) return false;
  }
  return has_levels(p, left);
}

static double solve(const lp *p) {
  double best = INFINITY;
  for (uint32_t bits = 0; bits < UINT32_C(1) << p->x_count; bits++) {
    double cost = value_of(&p->objective, bits);
    if (cost < best && is_solution(p, bits)) best = cost;
  }
  return best;
}

static void draw(eg_rng *rng, bool any_sign, eg_extract_problem *problem) {
  assert_ok(eg_extract_problem_init(problem, eg_allocator_heap()));
  for (uint32_t i = 0; i < CLASSES; i++) {
    uint32_t class;
    assert_ok(eg_extract_problem_add_class(problem, &class));
  }
  for (uint32_t n = 0; n < MAX_X; n++) {
    uint32_t children[2], count = (uint32_t)eg_rng_below(rng, 3);
    for (uint32_t i = 0; i < count; i++)
      children[i] = (uint32_t)eg_rng_below(rng, CLASSES);
    double cost = (double)eg_rng_below(rng, 8) / 4 - (any_sign ? 0.75 : 0);
    assert_ok(
        eg_extract_problem_add_node(problem, n % CLASSES, cost, children, count, NULL));
  }
  for (int i = 0; i < 2; i++)
    assert_ok(eg_extract_problem_add_root(problem, (uint32_t)eg_rng_below(rng, CLASSES)));
}

static void check(const eg_extract_problem *problem, uint32_t disabled) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.disabled_passes = disabled;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), problem, &options, &result));
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(
      eg_lp_format_reduced(eg_allocator_heap(), problem, &options, result.cost, &text));
  static lp read;
  read_lp(eg_text_of(&text), &read);
  double found = solve(&read);
  if (!(found == result.cost || fabs(found - result.cost) < 1e-9))
    fail_msg("solved %g, written %g:\n%s", result.cost, found, eg_text_of(&text));
  eg_text_deinit(&text);
  eg_extract_result_deinit(&result);
}

static void the_text_has_the_same_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20260401);
  size_t rounds = test_rounds(300);
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_extract_problem problem;
    draw(&rng, round % 3 == 0, &problem);
    check(&problem, UINT32_MAX);
    check(&problem, ~UINT32_C(1));
    check(&problem, (uint32_t)eg_rng_next(&rng));
    check(&problem, 0);
    eg_extract_problem_deinit(&problem);
  }
}

static void the_text_of_a_small_problem(void **state) {
  (void)state;
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  uint32_t a, b;
  assert_ok(eg_extract_problem_add_class(&problem, &a));
  assert_ok(eg_extract_problem_add_class(&problem, &b));
  assert_ok(eg_extract_problem_add_node(&problem, a, 0.25, &b, 1, NULL));
  assert_ok(eg_extract_problem_add_node(&problem, b, 1, &a, 1, NULL));
  assert_ok(eg_extract_problem_add_node(&problem, b, 2e-7, NULL, 0, NULL));
  assert_ok(eg_extract_problem_add_root(&problem, a));
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_lp_format_print(&text, &problem, 3));
  const char *body = strstr(eg_text_of(&text), "Minimize");
  assert_non_null(body);
  assert_string_equal(body, "Minimize\n cost: 3.0 fixed_cost + 0.25 x0 + x1 + 2e-07 x2\n"
                            "Subject To\n fixed: fixed_cost = 1\n root_0: + x0 = 1\n"
                            " level_1_0: + t0 - t1 + 2.0 x1 <= 1\n"
                            " one_1: + x1 + x2 <= 1\n"
                            " need_0_1: + x0 - x1 - x2 <= 0\n"
                            " level_0_1: + t1 - t0 + 2.0 x0 <= 1\n"
                            "Bounds\n 0 <= t0 <= 1\n 0 <= t1 <= 1\n"
                            "Binaries\n x0\n x1\n x2\nEnd\n");
  eg_text_deinit(&text);
  eg_extract_problem_deinit(&problem);
}

static egraph_status write_reduced(egraph_allocator alloc, void *user) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.disabled_passes = ~UINT32_C(1);
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = eg_lp_format_reduced(alloc, user, &options, INFINITY, &text);
  eg_text_deinit(&text);
  return status;
}

static void writing_survives_every_failing_allocation(void **state) {
  (void)state;
  for (int any_sign = 0; any_sign < 2; any_sign++) {
    eg_rng rng = {5};
    eg_extract_problem problem;
    draw(&rng, any_sign != 0, &problem);
    test_every_allocation_failing(write_reduced, &problem);
    eg_extract_problem_deinit(&problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_text_of_a_small_problem),
      cmocka_unit_test(the_text_has_the_same_optimum),
      cmocka_unit_test(writing_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
