// Random graphs, optimized under random costs, compute what the original computes:
// whatever the extractor picks (any fusion, any memory format) must be right, so costs
// are drawn from a hash of the node and lead everywhere.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/testing.h"

enum { MAX_VALUES = 64, STEPS = 10 };

static const double BOUND =
    2e-3; // float32, up to ten operators deep, re-associated by the rules

typedef struct builder {
  egraph_graph *graph;
  eg_rng rng;
  egraph_value values[MAX_VALUES];
  int64_t channels[MAX_VALUES], size[MAX_VALUES]; // images: [1, channels, size, size]
  unsigned count, weights;
} builder;

static egraph_value weight(builder *b, uint32_t rank, const int64_t *dims) {
  char name[32];
  egraph_value value;
  (void)snprintf(name, sizeof name, "w%u", b->weights++);
  assert_ok(
      egraph_graph_add_weight(b->graph, name, EGRAPH_FLOAT32, rank, dims, NULL, &value));
  return value;
}

static egraph_value vector(builder *b, int64_t n) { return weight(b, 1, &n); }

static egraph_value add(builder *b, const char *op, const char *attrs, uint32_t count,
                        const egraph_value *inputs) {
  egraph_value value;
  assert_ok(egraph_graph_add(b->graph, NULL, op, attrs, inputs, count, &value));
  return value;
}

static void keep(builder *b, egraph_value value, int64_t channels, int64_t size) {
  b->channels[b->count] = channels;
  b->size[b->count] = size;
  b->values[b->count++] = value;
}

static void add_conv(builder *b, unsigned from) {
  static const int64_t widths[] = {16, 32, 24};
  static const int64_t groups[] = {1, 1, 2, 8};
  int64_t in = b->channels[from], out = widths[eg_rng_below(&b->rng, 3)];
  int64_t kernel = eg_rng_below(&b->rng, 2) == 0 ? 1 : 3;
  int64_t group = groups[eg_rng_below(&b->rng, 4)];
  if (in % group != 0 || out % group != 0) group = 1;
  char attrs[160];
  (void)snprintf(attrs, sizeof attrs,
                 ":strides [1 1] :pads [%d %d %d %d] :dilations [1 1] :group %d",
                 (int)kernel / 2, (int)kernel / 2, (int)kernel / 2, (int)kernel / 2,
                 (int)group);
  egraph_value inputs[3] = {b->values[from],
                            weight(b, 4, (int64_t[]){out, in / group, kernel, kernel})};
  bool biased = eg_rng_below(&b->rng, 2) == 0;
  if (biased) inputs[2] = vector(b, out);
  keep(b, add(b, "conv", attrs, biased ? 3 : 2, inputs), out, b->size[from]);
}

static void add_norm(builder *b, unsigned from) {
  int64_t c = b->channels[from];
  egraph_value inputs[] = {b->values[from], vector(b, c), vector(b, c), vector(b, c),
                           vector(b, c)};
  keep(b, add(b, "batch-normalization", NULL, 5, inputs), c, b->size[from]);
}

static void add_unary(builder *b, unsigned from) {
  static const char *const ops[] = {"relu", "relu", "sigmoid",
                                    "tanh", "gelu", "hard-swish"};
  keep(b, add(b, ops[eg_rng_below(&b->rng, 6)], NULL, 1, &b->values[from]),
       b->channels[from], b->size[from]);
}

static void add_pool(builder *b, unsigned from) {
  static const char attrs[] = ":kernel_shape [3 3] :strides [1 1] :pads [1 1 1 1]";
  bool max = eg_rng_below(&b->rng, 2) == 0;
  char text[96];
  (void)snprintf(text, sizeof text, "%s%s", attrs, max ? " :dilations [1 1]" : "");
  keep(b, add(b, max ? "max-pool" : "average-pool", text, 1, &b->values[from]),
       b->channels[from], b->size[from]);
}

static void add_scale(builder *b, unsigned from) {
  int64_t c = b->channels[from];
  egraph_value inputs[] = {b->values[from], weight(b, 4, (int64_t[]){1, c, 1, 1})};
  keep(b, add(b, eg_rng_below(&b->rng, 2) == 0 ? "mul" : "add", NULL, 2, inputs), c,
       b->size[from]);
}

/// A sum with, or a concatenation after, another image of fitting shape.
static void add_join(builder *b, unsigned from) {
  unsigned other = (unsigned)eg_rng_below(&b->rng, b->count);
  if (b->size[other] != b->size[from]) return;
  egraph_value inputs[] = {b->values[from], b->values[other]};
  if (b->channels[other] == b->channels[from])
    keep(b, add(b, "add", NULL, 2, inputs), b->channels[from], b->size[from]);
  else if (b->channels[other] + b->channels[from] <= 96)
    keep(b, add(b, "concat", ":axis 1", 2, inputs),
         b->channels[from] + b->channels[other], b->size[from]);
}

static void add_step(builder *b) {
  static void (*const steps[])(builder *, unsigned) = {
      add_conv, add_conv, add_norm, add_unary, add_pool, add_scale, add_join, add_join};
  unsigned from =
      b->count - 1 - (unsigned)eg_rng_below(&b->rng, b->count < 3 ? b->count : 3);
  steps[eg_rng_below(&b->rng, sizeof steps / sizeof *steps)](b, from);
}

/// Image branch, then a small attention-like tail on the flattened image.
static void add_tail(builder *b) {
  unsigned last = b->count - 1;
  int64_t rows = b->channels[last], columns = b->size[last] * b->size[last];
  char shape[64];
  (void)snprintf(shape, sizeof shape, ":shape [1 %d %d]", (int)rows, (int)columns);
  egraph_value x = add(b, "reshape", shape, 1, &b->values[last]);
  egraph_value q = add(b, "matmul", NULL, 2,
                       (egraph_value[]){x, weight(b, 2, (int64_t[]){columns, 8})});
  q = add(b, "add", NULL, 2, (egraph_value[]){q, vector(b, 8)});
  egraph_value k = add(b, "matmul", NULL, 2,
                       (egraph_value[]){x, weight(b, 2, (int64_t[]){columns, 8})});
  k = add(b, "transpose", ":perm [0 2 1]", 1, &k);
  egraph_value s = add(b, "matmul", NULL, 2, (egraph_value[]){q, k});
  s = add(b, "softmax", ":axis 2", 1, &s);
  egraph_value y = add(b, "matmul", NULL, 2, (egraph_value[]){s, x});
  y = add(b, "gelu", NULL, 1, &y);
  assert_ok(egraph_graph_add_output(b->graph, "tail", y));
}

static egraph_graph *random_graph(uint64_t seed) {
  builder b = {.rng = {seed}};
  assert_ok(egraph_graph_create(NULL, &b.graph));
  egraph_value x;
  assert_ok(egraph_graph_add_input(b.graph, "x", EGRAPH_FLOAT32, 4,
                                   (int64_t[]){1, 16, 6, 6}, &x));
  keep(&b, x, 16, 6);
  for (int i = 0; i < STEPS; i++)
    add_step(&b);
  assert_ok(egraph_graph_add_output(b.graph, "image", b.values[b.count - 1]));
  if (seed % 2 == 0) add_tail(&b);
  return b.graph;
}

static bool random_cost(void *user, const egraph_cost_query *query, double *out_seconds) {
  uint64_t hash = eg_hash_bytes(*(uint64_t *)user, query->text, strlen(query->text));
  *out_seconds = 1e-6 * (1.0 + (double)(hash % 1000));
  return true;
}

/// `algorithm` NULL: the e-graph.
static void check_algorithm(const egraph_graph *graph, const egraph_rules *rules,
                            const char *algorithm, uint64_t seed) {
  egraph_costs_options options = {
      .size = sizeof options, .override_cost = random_cost, .user = &seed};
  egraph_search search = egraph_search_default();
  const egraph_options limits = {.size = sizeof limits, .search = &search};
  search.algorithm = algorithm;
  search.graph_limit = 20;
  search.node_limit = 1500;
  search.time_limit = 2;
  egraph_costs *costs;
  egraph_result *result;
  assert_ok(egraph_costs_create(NULL, &options, &costs));
  assert_ok(egraph_optimize(NULL, graph, rules, costs, &limits, &result));
  const egraph_report *report = egraph_result_report(result);
  assert_true(report->cost_after <= report->cost_before * (1 + 1e-12));
  egraph_compare_options compare = {.size = sizeof compare, .repeats = 1, .seed = seed};
  egraph_comparison comparison;
  assert_ok(
      egraph_compare(NULL, graph, egraph_result_graph(result), &compare, &comparison));
  if (!(comparison.max_error <= BOUND)) {
    char *before, *after;
    assert_ok(egraph_graph_text(NULL, graph, &before));
    assert_ok(egraph_graph_text(NULL, egraph_result_graph(result), &after));
    print_error("seed %llu, search %s: error %g\n%s\nbecame\n%s\n",
                (unsigned long long)seed, algorithm != NULL ? algorithm : "e-graph",
                comparison.max_error, before, after);
    fail();
  }
  egraph_result_destroy(result);
  egraph_costs_destroy(costs);
}

static void check_seeds(size_t rounds, const char *const *algorithms, size_t count) {
  uint64_t seed = test_seed(1);
  egraph_rules *rules;
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  for (size_t round = 0; round < rounds; round++) {
    egraph_graph *graph = random_graph(seed + round);
    for (size_t i = 0; i < count; i++)
      check_algorithm(graph, rules, algorithms[i], seed + round);
    egraph_graph_destroy(graph);
  }
  egraph_rules_destroy(rules);
}

static void optimized_graphs_compute_the_same(void **state) {
  (void)state;
  check_seeds(test_rounds(60), (const char *const[]){NULL}, 1);
}

static void graphs_that_other_searches_find_compute_the_same(void **state) {
  (void)state;
  check_seeds(test_rounds(30), (const char *const[]){"backtracking", "greedy"}, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(optimized_graphs_compute_the_same),
      cmocka_unit_test(graphs_that_other_searches_find_compute_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
