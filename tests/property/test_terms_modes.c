// Random terms and random rules: neither incremental search nor threads change the
// e-graph.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

enum { MAX_TEXT = 8192, MAX_TERM = 512, START_TERMS = 4, MAX_ROWS = 16, RULES = 5 };

typedef struct random_source {
  uint64_t state;
} random_source;

static uint32_t below(random_source *r, uint32_t limit) {
  r->state = eg_hash_bytes(r->state, &r->state, sizeof r->state);
  return (uint32_t)((r->state >> 32) % limit);
}

static const char *const HEADS[] = {"f", "+", "*", "g"};
static const uint32_t ARITIES[] = {1, 2, 2, 3};

// A term over the leaves; `depth` bounds it.
static size_t write_term(random_source *r, char *out, const char *const *leaves,
                         uint32_t leaf_count, uint32_t depth) {
  if (depth == 0 || below(r, 4) == 0)
    return (size_t)sprintf(out, "%s", leaves[below(r, leaf_count)]);
  uint32_t head = below(r, 4);
  size_t n = (size_t)sprintf(out, "(%s", HEADS[head]);
  for (uint32_t i = 0; i < ARITIES[head]; i++) {
    out[n++] = ' ';
    n += write_term(r, out + n, leaves, leaf_count, depth - 1);
  }
  return n + (size_t)sprintf(out + n, ")");
}

typedef struct problem {
  char rules[MAX_TEXT], terms[START_TERMS][MAX_TERM];
} problem;

static const char *const CONSTANTS[] = {"a", "b", "0"};

// The right sides use ?x and ?y, which the left sides bind.
static void make_problem(random_source *r, problem *out) {
  static const char *const variables[] = {"?x", "?y", "a"};
  static const char *const lefts[] = {"(%s ?x ?y)", "(%s ?x (%s ?y ?x))",
                                      "(%s (%s ?x ?y) 0)"};
  size_t n = (size_t)sprintf(out->rules, "(egraph-rules 1 symbolic)\n");
  for (uint32_t i = 0; i < RULES; i++) {
    char left[64], right[MAX_TERM];
    const char *first = HEADS[1 + below(r, 2)], *second = HEADS[1 + below(r, 2)];
    switch (below(r, 3)) {
    case 0: (void)snprintf(left, sizeof left, lefts[0], first); break;
    case 1: (void)snprintf(left, sizeof left, lefts[1], first, second); break;
    default: (void)snprintf(left, sizeof left, lefts[2], first, second); break;
    }
    (void)write_term(r, right, variables, 3, 2);
    n +=
        (size_t)sprintf(out->rules + n, "(rule r%u (lhs %s) (rhs %s))\n", i, left, right);
  }
  if (below(r, 2) == 0)
    n += (size_t)sprintf(out->rules + n,
                         "(rule both (lhs (* ?x ?y) (+ ?x ?z)) (rhs (+ ?z ?x) (g ?x ?y "
                         "?z)))\n");
  if (below(r, 4) == 0)
    (void)sprintf(out->rules + n, "(rule any (lhs ?x) (rhs (+ ?x 0)))\n");
  for (uint32_t i = 0; i < START_TERMS; i++)
    (void)write_term(r, out->terms[i], CONSTANTS, 3, 4);
}

typedef struct outcome {
  egraph_terms_iteration rows[MAX_ROWS];
  uint32_t row_count;
  char stop[24];
  bool equal[START_TERMS][START_TERMS];
  uint64_t smallest[START_TERMS];
} outcome;

static bool note_iteration(void *user, const egraph_terms_iteration *iteration) {
  outcome *o = user;
  assert_true(o->row_count < MAX_ROWS);
  o->rows[o->row_count++] = *iteration;
  return false;
}

static egraph_terms *saturate(const problem *p, bool naive, uint32_t threads,
                              outcome *out) {
  egraph_terms *terms;
  egraph_class roots[START_TERMS];
  *out = (outcome){.row_count = 0};
  assert_ok(egraph_terms_create(NULL, &terms));
  assert_ok(egraph_terms_add_rule_text(terms, "rules", p->rules));
  for (uint32_t i = 0; i < START_TERMS; i++)
    assert_ok(egraph_terms_add(terms, "term", p->terms[i], &roots[i]));
  egraph_terms_options options = egraph_terms_options_default();
  options.scheduler = "simple";
  options.iteration_limit = 4;
  options.node_limit = 3000;
  options.time_limit = 1e9;
  options.naive = naive;
  options.threads = threads;
  options.on_iteration = note_iteration;
  options.user = out;
  egraph_terms_report report;
  assert_ok(egraph_terms_saturate(terms, &options, &report));
  (void)snprintf(out->stop, sizeof out->stop, "%s", report.stop);
  assert_ok(egraph_terms_check(terms));
  for (uint32_t i = 0; i < START_TERMS; i++) {
    char *text;
    assert_ok(egraph_terms_smallest(NULL, terms, roots[i], &text, &out->smallest[i]));
    egraph_string_free(NULL, text);
    for (uint32_t j = 0; j < START_TERMS; j++)
      out->equal[i][j] = egraph_terms_are_equal(terms, roots[i], roots[j]);
  }
  return terms;
}

// At the node limit the order of matches decides what still has room.
static bool is_comparable(const outcome *o) { return strcmp(o->stop, "node-limit") != 0; }

static void assert_same(const outcome *a, const outcome *b) {
  assert_string_equal(a->stop, b->stop);
  assert_int_equal(a->row_count, b->row_count);
  for (uint32_t i = 0; i < a->row_count; i++) {
    assert_int_equal(a->rows[i].nodes, b->rows[i].nodes);
    assert_int_equal(a->rows[i].classes, b->rows[i].classes);
  }
  assert_memory_equal(a->equal, b->equal, sizeof a->equal);
  assert_memory_equal(a->smallest, b->smallest, sizeof a->smallest);
}

static void every_way_of_searching_makes_the_same_graph(void **state) {
  (void)state;
  random_source r = {test_seed(20261122)};
  size_t compared = 0, rounds = test_rounds(600);
  for (size_t round = 0; round < rounds; round++) {
    problem p;
    make_problem(&r, &p);
    outcome naive, other;
    egraph_terms_destroy(saturate(&p, true, 1, &naive));
    static const struct {
      bool naive;
      uint32_t threads;
    } modes[] = {{false, 1}, {false, 3}, {true, 2}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes && is_comparable(&naive); i++) {
      egraph_terms_destroy(saturate(&p, modes[i].naive, modes[i].threads, &other));
      assert_same(&naive, &other);
      compared++;
    }
  }
  assert_true(compared >= rounds);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_way_of_searching_makes_the_same_graph)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
