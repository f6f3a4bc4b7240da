// Certificates of sharding problems: the solver writes them, the separate checker derives
// them again from the problem's file. All of small random problems are accepted, with the
// optimum of exhaustive search; whatever is changed in a certificate or in its problem,
// what is still accepted is true.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "extract/shard/shard_solve.h"
#include "tests/testing.h"
#include "tools/check_certificate/certificate.h"

enum { MOST_NODES = 16, BRUTE_NODES = 6, MOST_STRATEGIES = 4 };
static const char PROBLEM[] = "test_certificate_sharding.problem.json";
static const char CERTIFICATE[] = "test_certificate_sharding.certificate";

typedef struct draw {
  eg_rng rng;
  uint32_t most_nodes, nodes, counts[MOST_NODES];
  int64_t most;
  bool loose; // nothing is forbidden
} draw;

static int64_t draw_cost(draw *d) {
  uint64_t kind = eg_rng_below(&d->rng, 12);
  if (kind < 2) return 0;
  if (kind == 2 && !d->loose)
    return EG_SHARD_INFINITE + (int64_t)eg_rng_below(&d->rng, 2);
  return (int64_t)eg_rng_below(&d->rng, (uint64_t)d->most + 1);
}

static void draw_problem(draw *d, eg_shard_problem *problem) {
  assert_ok(eg_shard_problem_init(problem, eg_allocator_heap()));
  int64_t cost[MOST_STRATEGIES], usage[MOST_STRATEGIES];
  int64_t table[MOST_STRATEGIES * MOST_STRATEGIES];
  d->nodes = 2 + (uint32_t)eg_rng_below(&d->rng, d->most_nodes - 1);
  for (uint32_t n = 0; n < d->nodes; n++) {
    uint32_t count = d->counts[n] = 1 + (uint32_t)eg_rng_below(&d->rng, MOST_STRATEGIES);
    for (uint32_t v = 0; v < count; v++) {
      cost[v] = draw_cost(d);
      usage[v] = (int64_t)eg_rng_below(&d->rng, 12);
    }
    int64_t first = (int64_t)eg_rng_below(&d->rng, 6) - 2;
    int64_t last = first + (int64_t)eg_rng_below(&d->rng, 6);
    assert_ok(eg_shard_problem_add_node(problem, first, last, cost, usage, count));
  }
  for (uint64_t e = eg_rng_below(&d->rng, 3 * (uint64_t)d->nodes); e-- > 0;) {
    uint32_t a = (uint32_t)eg_rng_below(&d->rng, d->nodes);
    uint32_t b = (uint32_t)eg_rng_below(&d->rng, d->nodes);
    bool function = eg_rng_below(&d->rng, 3) == 0 && !d->loose;
    for (uint32_t i = 0; a != b && i < d->counts[a] * d->counts[b]; i++) {
      table[i] = draw_cost(d);
      if (function && (i / d->counts[b] + 1) % d->counts[b] != i % d->counts[b])
        table[i] = EG_SHARD_INFINITE;
    }
    if (a != b) assert_ok(eg_shard_problem_add_edge(problem, a, b, table));
  }
  problem->limit = eg_rng_below(&d->rng, 6) == 0
                       ? INT64_MAX
                       : (int64_t)eg_rng_below(&d->rng, 4 * (uint64_t)d->nodes + 4);
}

static int64_t brute_force(const draw *d, const eg_shard_problem *problem) {
  uint32_t choice[MOST_NODES] = {0};
  int64_t best = EG_SHARD_INFINITE;
  for (uint32_t n = 0; n < d->nodes;) {
    int64_t cost, peak;
    assert_ok(eg_shard_certify(eg_allocator_heap(), problem, choice, &cost, &peak));
    if (peak <= problem->limit && cost < best) best = cost;
    for (n = 0; n < d->nodes && ++choice[n] == d->counts[n]; n++)
      choice[n] = 0;
  }
  return best;
}

static void add_row(eg_text *text, const int64_t *row, size_t count, bool first) {
  assert_ok(eg_text_append(text, first ? "[" : ",["));
  for (size_t i = 0; i < count; i++)
    assert_ok(eg_text_printf(text, i == 0 ? "%" PRId64 : ",%" PRId64, row[i]));
  assert_ok(eg_text_append(text, "]"));
}

static void write_problem(const eg_shard_problem *p) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  uint32_t nodes = eg_shard_node_count(p), edges = eg_shard_edge_count(p);
  const uint32_t *begin = p->strategy_begin.data;
  assert_ok(eg_text_append(&text, "{\"problem\": {\"nodes\": {\"costs\": ["));
  for (uint32_t n = 0; n < nodes; n++)
    add_row(&text, p->cost.data + begin[n], begin[n + 1] - begin[n], n == 0);
  assert_ok(eg_text_append(&text, "], \"usages\": ["));
  for (uint32_t n = 0; n < nodes; n++)
    add_row(&text, p->usage.data + begin[n], begin[n + 1] - begin[n], n == 0);
  assert_ok(eg_text_append(&text, "], \"intervals\": ["));
  for (uint32_t n = 0; n < nodes; n++) {
    int64_t interval[2] = {p->first.data[n], p->last.data[n]};
    add_row(&text, interval, 2, n == 0);
  }
  assert_ok(eg_text_append(&text, "]}, \"edges\": {\"nodes\": ["));
  for (uint32_t e = 0; e < edges; e++) {
    int64_t ends[2] = {p->edge_ends.data[2 * e], p->edge_ends.data[2 * e + 1]};
    add_row(&text, ends, 2, e == 0);
  }
  assert_ok(eg_text_append(&text, "], \"costs\": ["));
  for (uint32_t e = 0; e < edges; e++)
    add_row(&text, p->table.data + p->table_begin.data[e],
            p->table_begin.data[e + 1] - p->table_begin.data[e], e == 0);
  assert_ok(eg_text_append(&text, "]}"));
  if (p->limit != INT64_MAX)
    assert_ok(eg_text_printf(&text, ", \"usage_limit\": %" PRId64, p->limit));
  assert_ok(eg_text_append(&text, "}}\n"));
  assert_ok(eg_file_write(PROBLEM, text.chars.data, text.chars.len));
  eg_text_deinit(&text);
}

static bool check_bytes(const char *bytes, size_t size, verdict *found, refusal *why) {
  input in;
  why->text[0] = '\0';
  assert_true(input_open_bytes(&in, CERTIFICATE, bytes, size, why));
  bool accepted = certificate_run(&in, PROBLEM, found);
  input_close(&in);
  if (!accepted && why->text[0] == '\0') fail_msg("refused without a reason");
  return accepted;
}

static void solve(const eg_shard_problem *problem, bool tiny, eg_shard_result *result) {
  eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
  options.certificate = CERTIFICATE;
  eg_shard_result_init(result, eg_allocator_heap());
  assert_ok(
      eg_shard_solve_without(eg_allocator_heap(), problem, &options, 0, tiny, result));
}

static void read_certificate(char **out, size_t *out_size) {
  assert_ok(
      eg_file_read(eg_allocator_heap(), CERTIFICATE, (size_t)1 << 30, out, out_size));
}

static void expect_verdict(const verdict *found, int64_t cost) {
  char text[32];
  (void)snprintf(text, sizeof text, "%" PRId64, cost);
  if (cost >= EG_SHARD_INFINITE) (void)snprintf(text, sizeof text, "none");
  assert_string_equal(found->cost, text);
  assert_string_equal(found->bound, text);
}

static void every_certificate_is_accepted_with_the_optimum(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261101);
  static const int64_t most[] = {4, 30, 1000, INT64_C(1) << 40, INT64_C(1) << 52};
  for (size_t round = 0; round < test_rounds(1500); round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)},
              .most = most[round % 5],
              .most_nodes = BRUTE_NODES};
    eg_shard_problem problem;
    eg_shard_result result;
    draw_problem(&d, &problem);
    write_problem(&problem);
    int64_t optimum = brute_force(&d, &problem);
    solve(&problem, round % 2 == 0, &result);
    assert_int_equal(result.cost, optimum);
    assert_int_equal(result.checked, optimum);
    char *bytes;
    size_t size;
    verdict found;
    refusal why;
    read_certificate(&bytes, &size);
    if (!check_bytes(bytes, size, &found, &why))
      fail_msg("round %zu: %s", round, why.text);
    expect_verdict(&found, optimum);
    eg_free(eg_allocator_heap(), bytes, size + 1, 1);
    eg_shard_result_deinit(&result);
    eg_shard_problem_deinit(&problem);
  }
}

// Too large for brute force, large enough for cases; the solver's optimum, found without
// and with a proof, has to be derived.
static void proofs_with_cases_are_accepted_and_need_every_case(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261104);
  size_t branched = 0;
  for (size_t round = 0; round < test_rounds(150); round++) {
    draw d = {.rng = {eg_hash_combine(seed, round)},
              .most = 60,
              .most_nodes = MOST_NODES,
              .loose = true};
    eg_shard_problem problem;
    eg_shard_result result;
    draw_problem(&d, &problem);
    problem.limit = 3 * (int64_t)d.nodes;
    write_problem(&problem);
    solve(&problem, true, &result);
    char *bytes;
    size_t size;
    verdict found;
    refusal why;
    read_certificate(&bytes, &size);
    if (!check_bytes(bytes, size, &found, &why))
      fail_msg("round %zu: %s", round, why.text);
    expect_verdict(&found, result.cost);
    char *cases = strstr(bytes, "closed\n");
    bool branches = strstr(bytes, "\nbranch ") != NULL;
    branched += branches;
    if (branches) { // the first case is left out
      memmove(cases, cases + strlen("closed\n"), strlen(cases + strlen("closed\n")) + 1);
      assert_false(check_bytes(bytes, strlen(bytes), &found, &why));
    }
    eg_free(eg_allocator_heap(), bytes, size + 1, 1);
    eg_shard_result_deinit(&result);
    eg_shard_problem_deinit(&problem);
  }
  print_message("%zu with cases\n", branched);
  assert_true(branched > test_rounds(150) / 50);
}

// Changes a number, drops a line, or repeats one.
static void tamper(eg_rng *rng, char *bytes, size_t *size) {
  size_t at = eg_rng_below(rng, *size);
  if (eg_rng_below(rng, 3) != 0) {
    while (bytes[at] < '0' || bytes[at] > '9')
      at = (at + 1) % *size;
    bytes[at] = (char)('0' + (bytes[at] - '0' + 1 + (int)eg_rng_below(rng, 8)) % 10);
    return;
  }
  size_t begin = at, end = at;
  while (begin != 0 && bytes[begin - 1] != '\n')
    begin--;
  while (end < *size && bytes[end] != '\n')
    end++;
  if (end < *size) end++;
  memmove(bytes + begin, bytes + end, *size - end);
  *size -= end - begin;
}

// What is accepted is true: a choice of that cost exists, and nothing is cheaper than the
// bound.
static void expect_truth(const verdict *found, int64_t optimum, const char *bytes) {
  bool infeasible = strcmp(found->cost, "none") == 0;
  int64_t cost = infeasible ? EG_SHARD_INFINITE : strtoll(found->cost, NULL, 10);
  int64_t bound = strcmp(found->bound, "none") == 0 ? EG_SHARD_INFINITE
                                                    : strtoll(found->bound, NULL, 10);
  if ((!infeasible && cost < optimum) || bound > optimum)
    fail_msg("cost %s and bound %s are accepted, but the optimum is %" PRId64 ":\n%s",
             found->cost, found->bound, optimum, bytes);
}

static void nothing_untrue_is_accepted_of_tampered_certificates(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261102);
  size_t refused = 0, accepted = 0;
  for (size_t round = 0; round < test_rounds(250); round++) {
    draw d = {
        .rng = {eg_hash_combine(seed, round)}, .most = 1000, .most_nodes = BRUTE_NODES};
    eg_shard_problem problem;
    eg_shard_result result;
    draw_problem(&d, &problem);
    write_problem(&problem);
    int64_t optimum = brute_force(&d, &problem);
    solve(&problem, true, &result);
    char *bytes, *copy;
    size_t size;
    read_certificate(&bytes, &size);
    copy = malloc(size + 1);
    assert_non_null(copy);
    for (int i = 0; i < 12; i++) {
      memcpy(copy, bytes, size + 1);
      size_t left = size;
      tamper(&d.rng, copy, &left);
      copy[left] = '\0';
      verdict found;
      refusal why;
      bool good = check_bytes(copy, left, &found, &why);
      refused += !good;
      accepted += good;
      if (good) expect_truth(&found, optimum, copy);
    }
    // The certificate of another problem.
    size_t i = eg_rng_below(&d.rng, problem.cost.len);
    problem.cost.data[i] += problem.cost.data[i] < EG_SHARD_INFINITE ? 1 : 0;
    write_problem(&problem);
    verdict found;
    refusal why;
    if (check_bytes(bytes, size, &found, &why))
      expect_truth(&found, brute_force(&d, &problem), bytes);
    free(copy);
    eg_free(eg_allocator_heap(), bytes, size + 1, 1);
    eg_shard_result_deinit(&result);
    eg_shard_problem_deinit(&problem);
  }
  print_message("%zu refused, %zu accepted and true\n", refused, accepted);
  assert_true(refused >= 300);
}

// Replaces the first line that begins with `name`.
static void replace_line(eg_text *text, const char *bytes, const char *name,
                         const char *line) {
  const char *at = strstr(bytes, name);
  assert_non_null(at);
  const char *end = strchr(at, '\n');
  eg_text_clear(text);
  assert_ok(eg_text_append_bytes(text, bytes, (size_t)(at - bytes)));
  assert_ok(eg_text_append(text, line));
  assert_ok(eg_text_append(text, end));
}

static void raised_bounds_lowered_costs_and_dropped_cases_are_refused(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261103);
  for (size_t round = 0; round < test_rounds(150); round++) {
    draw d = {
        .rng = {eg_hash_combine(seed, round)}, .most = 100, .most_nodes = BRUTE_NODES};
    eg_shard_problem problem;
    eg_shard_result result;
    draw_problem(&d, &problem);
    write_problem(&problem);
    int64_t optimum = brute_force(&d, &problem);
    solve(&problem, true, &result);
    char *bytes, line[64];
    size_t size;
    verdict found;
    refusal why;
    read_certificate(&bytes, &size);
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    if (optimum < EG_SHARD_INFINITE) {
      (void)snprintf(line, sizeof line, "bound %" PRId64, optimum + 1);
      replace_line(&text, bytes, "bound ", line);
      assert_false(check_bytes(text.chars.data, text.chars.len, &found, &why));
      (void)snprintf(line, sizeof line, "cost %" PRId64, optimum - 1);
      replace_line(&text, bytes, "cost ", line);
      assert_false(check_bytes(text.chars.data, text.chars.len, &found, &why));
      (void)snprintf(line, sizeof line, "cost none");
      replace_line(&text, bytes, "cost ", line);
      assert_false(check_bytes(text.chars.data, text.chars.len, &found, &why));
    }
    // Without a case the bound may still be that of a filter before.
    replace_line(&text, bytes, "closed", "");
    if (check_bytes(text.chars.data, text.chars.len, &found, &why))
      expect_truth(&found, optimum, text.chars.data);
    eg_text_deinit(&text);
    eg_free(eg_allocator_heap(), bytes, size + 1, 1);
    eg_shard_result_deinit(&result);
    eg_shard_problem_deinit(&problem);
  }
}

static int forget_files(void **state) {
  (void)state;
  (void)remove(PROBLEM);
  (void)remove(CERTIFICATE);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_certificate_is_accepted_with_the_optimum),
      cmocka_unit_test(proofs_with_cases_are_accepted_and_need_every_case),
      cmocka_unit_test(nothing_untrue_is_accepted_of_tampered_certificates),
      cmocka_unit_test(raised_bounds_lowered_costs_and_dropped_cases_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, forget_files);
}
