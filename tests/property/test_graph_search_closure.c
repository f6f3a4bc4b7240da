// Backtracking without limits reaches every graph that the rules make of a random small
// one: as many graphs, and the same least cost, as a closure computed here on terms, by
// rules written in C. Greedy descent is never cheaper, the e-graph never dearer.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/testing.h"

// ---- terms ------------------------------------------------------------------------

enum { X, Z, NEG, RELU, ADD, SUB, MUL, OPS, MOST_TERMS = 4096, MOST_GRAPHS = 1500 };
static const char *const names[OPS] = {"x", "z", "neg", "relu", "add", "sub", "mul"};
static const int arities[OPS] = {0, 0, 1, 1, 2, 2, 2};

typedef struct term {
  int op, a, b; // operands, or -1
} term;

typedef struct oracle {
  term terms[MOST_TERMS];
  int count;
  int graphs[MOST_GRAPHS]; // terms
  int graph_count, operator_limit;
  double cost[OPS];
  bool is_too_large;
} oracle;

static int make(oracle *o, int op, int a, int b) {
  for (int i = 0; i < o->count; i++)
    if (o->terms[i].op == op && o->terms[i].a == a && o->terms[i].b == b) return i;
  o->is_too_large = o->is_too_large || o->count == MOST_TERMS;
  if (o->is_too_large) return 0;
  o->terms[o->count] = (term){op, a, b};
  return o->count++;
}

static void mark(const oracle *o, int t, bool *out) {
  if (t < 0 || out[t]) return;
  out[t] = true;
  mark(o, o->terms[t].a, out);
  mark(o, o->terms[t].b, out);
}

static double cost_of(const oracle *o, int t, int *out_operators) {
  static bool is_in[MOST_TERMS];
  double cost = 0;
  memset(is_in, 0, sizeof is_in);
  mark(o, t, is_in);
  *out_operators = 0;
  for (int i = 0; i < o->count; i++) {
    if (!is_in[i] || arities[o->terms[i].op] == 0) continue;
    cost += o->cost[o->terms[i].op];
    ++*out_operators;
  }
  return cost;
}

/// The term `in` with `to` wherever `from` is.
static int replace(oracle *o, int in, int from, int to) {
  if (in == from) return to;
  if (in < 0) return in;
  const term t = o->terms[in];
  return make(o, t.op, replace(o, t.a, from, to), replace(o, t.b, from, to));
}

// ---- rules, twice -----------------------------------------------------------------

static const char rules_text[] =
    "(egraph-rules 1)\n"
    "(rule twice (source \"test\") (lhs (neg (neg ?x))) (rhs ?x))\n"
    "(rule apart (source \"test\") (lhs (sub ?a ?b)) (rhs (add ?a (neg ?b))))\n"
    "(rule join (source \"test\") (lhs (add ?a (neg ?b))) (rhs (sub ?a ?b)))\n"
    "(rule swap (source \"test\") (lhs (add ?a ?b)) (rhs (add ?b ?a)))\n"
    "(rule pull (source \"test\") (lhs (mul (neg ?a) ?b)) (rhs (neg (mul ?a ?b))))\n"
    "(rule clip (source \"test\") (lhs (relu (relu ?x))) (rhs (relu ?x)))\n"
    "(rule grow (source \"test\") (lhs (as ?y (relu ?x))) (rhs (relu ?y)))\n";
enum { RULES = 7 };

static bool is_op(const oracle *o, int t, int op) { return o->terms[t].op == op; }

/// What a rule makes of a term, or -1.
static int rewrite(oracle *o, int rule, int t) {
  const term s = o->terms[t];
  switch (rule) {
  case 0: return s.op == NEG && is_op(o, s.a, NEG) ? o->terms[s.a].a : -1;
  case 1: return s.op == SUB ? make(o, ADD, s.a, make(o, NEG, s.b, -1)) : -1;
  case 2:
    return s.op == ADD && is_op(o, s.b, NEG) ? make(o, SUB, s.a, o->terms[s.b].a) : -1;
  case 3: return s.op == ADD ? make(o, ADD, s.b, s.a) : -1;
  case 4:
    return s.op == MUL && is_op(o, s.a, NEG)
               ? make(o, NEG, make(o, MUL, o->terms[s.a].a, s.b), -1)
               : -1;
  case 5: return s.op == RELU && is_op(o, s.a, RELU) ? s.a : -1;
  default: return s.op == RELU ? make(o, RELU, t, -1) : -1;
  }
}

// ---- the closure ------------------------------------------------------------------

static void keep(oracle *o, int graph) {
  int operators;
  (void)cost_of(o, graph, &operators);
  if (operators > o->operator_limit || o->is_too_large) return;
  for (int i = 0; i < o->graph_count; i++)
    if (o->graphs[i] == graph) return;
  o->is_too_large = o->graph_count == MOST_GRAPHS;
  if (!o->is_too_large) o->graphs[o->graph_count++] = graph;
}

static void expand(oracle *o, int graph) {
  bool is_in[MOST_TERMS] = {false};
  mark(o, graph, is_in);
  int terms = o->count;
  for (int t = 0; t < terms; t++)
    for (int rule = 0; is_in[t] && rule < RULES && !o->is_too_large; rule++) {
      int to = rewrite(o, rule, t);
      if (to >= 0) keep(o, replace(o, graph, t, to));
    }
}

/// The least cost of all graphs that the rules make of one.
static double close_graph(oracle *o, int graph) {
  double least = INFINITY;
  int operators;
  (void)cost_of(o, graph, &operators);
  o->operator_limit = 2 * operators;
  keep(o, graph);
  for (int i = 0; i < o->graph_count && !o->is_too_large; i++)
    expand(o, o->graphs[i]);
  for (int i = 0; i < o->graph_count; i++) {
    double cost = cost_of(o, o->graphs[i], &operators);
    if (cost < least) least = cost;
  }
  return least;
}

// ---- random graphs ----------------------------------------------------------------

static int draw_term(oracle *o, eg_rng *rng, int steps) {
  make(o, X, -1, -1);
  make(o, Z, -1, -1);
  for (int i = 0; i < steps; i++) {
    int op = NEG + (int)eg_rng_below(rng, OPS - NEG);
    int a = o->count - 1 - (int)eg_rng_below(rng, 2);
    int b = arities[op] == 2 ? (int)eg_rng_below(rng, (uint64_t)o->count) : -1;
    make(o, op, a, b);
  }
  return o->count - 1;
}

static egraph_graph *graph_of(const oracle *o, int root) {
  egraph_graph *graph;
  egraph_value values[MOST_TERMS];
  assert_ok(egraph_graph_create(NULL, &graph));
  for (int i = 0; i <= root; i++) {
    const term t = o->terms[i];
    const int64_t four = 4;
    if (arities[t.op] == 0) {
      assert_ok(egraph_graph_add_input(graph, names[t.op], EGRAPH_FLOAT32, 1, &four,
                                       &values[i]));
      continue;
    }
    egraph_value operands[2] = {values[t.a], values[t.b < 0 ? t.a : t.b]};
    assert_ok(egraph_graph_add(graph, NULL, names[t.op], NULL, operands,
                               (uint32_t)arities[t.op], &values[i]));
  }
  assert_ok(egraph_graph_add_output(graph, "y", values[root]));
  return graph;
}

static bool cost_by_operator(void *user, const egraph_cost_query *query, double *out) {
  const oracle *o = user;
  *out = 0;
  for (int op = NEG; op < OPS; op++)
    if (strcmp(names[op], query->op) == 0) *out = 1e-6 * o->cost[op];
  return true;
}

// ---- the comparison ---------------------------------------------------------------

typedef struct bench {
  const egraph_graph *graph;
  const egraph_rules *rules;
  egraph_costs *costs;
} bench;

/// The cost that an algorithm (NULL: the e-graph) comes to, in microseconds.
static double cost_by(const bench *b, const char *algorithm, uint64_t *out_queued) {
  egraph_search search = egraph_search_default();
  const egraph_options options = {.size = sizeof options, .search = &search};
  egraph_result *result;
  egraph_comparison comparison;
  search.algorithm = algorithm;
  search.alpha = 1e6;
  search.graph_limit = 1000000;
  search.scheduler = "simple";
  search.iteration_limit = 100;
  assert_ok(egraph_optimize(NULL, b->graph, b->rules, b->costs, &options, &result));
  const egraph_report *report = egraph_result_report(result);
  *out_queued = report->graphs_queued;
  double cost = 1e6 * report->cost_after;
  if (algorithm == NULL) assert_string_equal(report->status, "optimal");
  if (algorithm != NULL && algorithm[0] == 'b')
    assert_string_equal(report->stop, "exhausted");
  assert_ok(
      egraph_compare(NULL, b->graph, egraph_result_graph(result), NULL, &comparison));
  assert_true(comparison.max_error < 1e-5);
  egraph_result_destroy(result);
  return cost;
}

/// False: the closure is too large to be computed here.
static bool check_seed(const egraph_rules *rules, uint64_t seed) {
  static oracle o;
  eg_rng rng = {seed};
  memset(&o, 0, sizeof o);
  for (int op = NEG; op < OPS; op++)
    o.cost[op] = 1 + (double)eg_rng_below(&rng, 40) / 8;
  int root = draw_term(&o, &rng, 3 + (int)eg_rng_below(&rng, 4));
  egraph_graph *graph = graph_of(&o, root);
  double least = close_graph(&o, root);
  if (o.is_too_large) {
    egraph_graph_destroy(graph);
    return false;
  }
  egraph_costs_options options = {
      .size = sizeof options, .override_cost = cost_by_operator, .user = &o};
  bench b = {.graph = graph, .rules = rules};
  assert_ok(egraph_costs_create(NULL, &options, &b.costs));
  uint64_t queued, ignored;
  double all = cost_by(&b, "backtracking", &queued);
  double descent = cost_by(&b, "greedy", &ignored);
  double own = cost_by(&b, NULL, &ignored);
  if (queued != (uint64_t)o.graph_count || fabs(all - least) > 1e-9 * (1 + least) ||
      descent < all - 1e-9 || own > all + 1e-9) {
    char *text;
    assert_ok(egraph_graph_text(NULL, graph, &text));
    print_error("seed %llu: %d graphs, cost %g; backtracking %llu, %g; greedy %g; "
                "e-graph %g\n%s\n",
                (unsigned long long)seed, o.graph_count, least,
                (unsigned long long)queued, all, descent, own, text);
    fail();
  }
  egraph_costs_destroy(b.costs);
  egraph_graph_destroy(graph);
  return true;
}

static void backtracking_reaches_the_closure(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(150), closed = 0;
  egraph_rules *rules;
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_rules_add_text(rules, "test.rules", rules_text));
  for (size_t round = 0; round < rounds; round++)
    closed += check_seed(rules, seed + round);
  assert_true(closed >= rounds / 3);
  egraph_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(backtracking_reaches_the_closure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
