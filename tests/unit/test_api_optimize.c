// egraph_optimize through the public functions: reports, options, cancelling,
// determinism, and a whole small flow with every allocation failing.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

typedef struct bench {
  egraph_graph *graph;
  egraph_rules *rules;
  egraph_costs *costs;
} bench;

/// The layer, the fusion rule, and a microsecond for everything.
static bench open_bench(api_kit *kit) {
  bench b;
  egraph_costs_options options = {.size = sizeof options, .override_cost = api_unit_cost};
  b.graph = api_layer(&kit->alloc);
  assert_ok(egraph_rules_create(&kit->alloc, &b.rules));
  assert_ok(egraph_rules_add_text(b.rules, "mine.rules", api_fusion_rules));
  assert_ok(egraph_costs_create(&kit->alloc, &options, &b.costs));
  return b;
}

static void close_bench(bench *b) {
  egraph_graph_destroy(b->graph);
  egraph_rules_destroy(b->rules);
  egraph_costs_destroy(b->costs);
}

static egraph_result *optimize(api_kit *kit, const bench *b,
                               const egraph_options *options) {
  egraph_result *result;
  assert_ok(egraph_optimize(&kit->alloc, b->graph, b->rules, b->costs, options, &result));
  return result;
}

static void a_layer_becomes_one_operator(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  egraph_result *result = optimize(kit, &b, NULL);
  const egraph_report *report = egraph_result_report(result);
  assert_int_equal(report->nodes_before, 2);
  assert_int_equal(report->nodes_after, 1);
  assert_true(fabs(report->cost_before - 2e-6) < 1e-12);
  assert_true(fabs(report->cost_after - 1e-6) < 1e-12);
  assert_true(report->bound <= report->cost_after * (1 + 1e-9));
  assert_true(report->gap >= 0 && report->gap < 1e-9);
  assert_string_equal(report->status, "optimal");
  assert_string_equal(report->stop, "saturated");
  assert_true(report->iterations >= 1 && report->nodes >= 4 && report->classes >= 3);
  assert_true(report->tree_cost >= report->cost_after * (1 - 1e-9));
  assert_true(report->dag_cost >= report->cost_after * (1 - 1e-9));
  assert_true(report->total_seconds >= report->saturate_seconds);
  assert_int_equal(report->measured, 0);
  egraph_comparison c;
  assert_ok(egraph_compare(&kit->alloc, b.graph, egraph_result_graph(result), NULL, &c));
  assert_true(c.max_error < 1e-5);
  egraph_result_destroy(result);
  egraph_result_destroy(NULL);
  close_bench(&b);
}

static void the_result_says_which_rules_did_what(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  egraph_result *result = optimize(kit, &b, NULL);
  assert_int_equal(egraph_result_rule_count(result), 1);
  egraph_rule_report rule = egraph_result_rule(result, 0);
  assert_string_equal(rule.name, "fuse");
  assert_true(rule.matches >= 1); // once per iteration
  assert_int_equal(rule.rejected, 0);
  assert_int_equal(rule.nodes, 1);
  assert_int_equal(rule.unions, 1);
  char *text;
  assert_ok(egraph_result_explain(&kit->alloc, result, &text));
  assert_non_null(strstr(text, "matmul"));
  assert_non_null(strstr(text, "fuse"));
  assert_non_null(strstr(text, " 1 us"));
  egraph_string_free(&kit->alloc, text);
  // The result stands alone: nothing it says is borrowed from what made it.
  close_bench(&b);
  assert_string_equal(egraph_result_rule(result, 0).name, "fuse");
  assert_ok(egraph_result_explain(&kit->alloc, result, &text));
  egraph_string_free(&kit->alloc, text);
  assert_int_equal(egraph_graph_info_of(egraph_result_graph(result)).nodes, 1);
  egraph_result_destroy(result);
}

static void a_rule_that_is_off_does_nothing(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  assert_ok(egraph_rules_enable(b.rules, "mine", false));
  egraph_result *result = optimize(kit, &b, NULL);
  assert_int_equal(egraph_result_report(result)->nodes_after, 2);
  assert_int_equal(egraph_result_rule(result, 0).matches, 0);
  egraph_result_destroy(result);
  close_bench(&b);
}

// ---- options ---------------------------------------------------------------------

static egraph_result *optimize_within(api_kit *kit, const bench *b,
                                      const egraph_search *search) {
  const egraph_options options = {.size = sizeof options, .search = search};
  return optimize(kit, b, &options);
}

static void try_option(api_kit *kit, const bench *b, const egraph_search *search,
                       bool legal, const char *name) {
  const egraph_options options = {.size = sizeof options, .search = search};
  egraph_result *result = NULL;
  egraph_status status =
      egraph_optimize(&kit->alloc, b->graph, b->rules, b->costs, &options, &result);
  if (legal) {
    assert_ok(status);
    egraph_result_destroy(result);
  } else {
    assert_fails(status, EGRAPH_E_ARGUMENT, name);
    assert_null(result);
  }
}

/// The largest whole number a double holds exactly that fits uint64_t and exceeds `high`.
#define ABOVE(high) ((high) + ((high) < 1e15 ? 1.0 : (high) / 1024.0))

static void options_are_legal_within_their_ranges_only(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  egraph_search search;
#define EGRAPH_OPTION(type, name, initial, low, high, readers, help)                     \
  search = egraph_search_default();                                                      \
  assert_true(search.name == (type)(initial));                                           \
  search.name = (type)(low);                                                             \
  try_option(kit, &b, &search, true, #name);                                             \
  search.name = (type)(high);                                                            \
  try_option(kit, &b, &search, true, #name);                                             \
  search.name = (type)ABOVE((double)(high));                                             \
  try_option(kit, &b, &search, false, #name);                                            \
  if ((double)(low) > 0) {                                                               \
    search.name = (type)0;                                                               \
    try_option(kit, &b, &search, false, #name);                                          \
  }
#include "include/egraph_search.def"
  search = egraph_search_default();
  search.time_limit = NAN;
  try_option(kit, &b, &search, false, "time_limit");
  search.time_limit = -2;
  try_option(kit, &b, &search, false, "time_limit");
  search = egraph_search_default();
  search.relative_gap = INFINITY;
  try_option(kit, &b, &search, false, "relative_gap");
  close_bench(&b);
}

static void names_of_extractors_and_schedulers_are_checked(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  static const char *const extractors[] = {"ilp", "dag", "tree"};
  static const char *const schedulers[] = {"backoff", "simple"};
  egraph_search search = egraph_search_default();
  for (size_t i = 0; i < 3; i++) {
    search.extractor = extractors[i];
    search.scheduler = schedulers[i % 2];
    egraph_result *result = optimize_within(kit, &b, &search);
    assert_int_equal(egraph_result_report(result)->nodes_after, 1);
    egraph_result_destroy(result);
  }
  search.extractor = "guess";
  try_option(kit, &b, &search, false, "unknown extractor 'guess'; use ilp, dag or tree");
  search.extractor = NULL;
  try_option(kit, &b, &search, false, "unknown extractor ''");
  search = egraph_search_default();
  search.scheduler = "never";
  try_option(kit, &b, &search, false, "unknown scheduler 'never'");
  search.scheduler = NULL;
  try_option(kit, &b, &search, false, "unknown scheduler ''");
  close_bench(&b);
}

static void budgets_of_zero_keep_the_graph(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  static const char *const stops[] = {"node-limit", "iteration-limit", "time-limit",
                                      "byte-limit"};
  for (size_t i = 0; i < 4; i++) {
    egraph_search search = egraph_search_default();
    if (i == 0) search.node_limit = 0;
    if (i == 1) search.iteration_limit = 0;
    if (i == 2) search.time_limit = 0;
    if (i == 3) search.byte_limit = 0;
    search.time_limit = 0;
    if (i != 2) search.saturate_time_limit = 1;
    egraph_result *result = optimize_within(kit, &b, &search);
    assert_string_equal(egraph_result_report(result)->stop, stops[i]);
    assert_int_equal(egraph_result_report(result)->nodes_after, 2);
    egraph_result_destroy(result);
  }
  close_bench(&b);
}

// ---- cancelling ------------------------------------------------------------------

typedef struct canceller {
  const char *phase;
  uint32_t calls, calls_after;
  bool cancelled;
} canceller;

static bool cancel_in_phase(void *user, const char *phase, const char *line) {
  canceller *c = user;
  c->calls++;
  c->calls_after += c->cancelled;
  assert_true(line[0] != '\0');
  c->cancelled = c->cancelled || strcmp(phase, c->phase) == 0;
  return c->cancelled;
}

static void cancelling_gives_the_best_so_far(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  static const char *const phases[] = {"saturate", "profile", "extract", "never"};
  for (size_t i = 0; i < 4; i++) {
    canceller c = {.phase = phases[i]};
    egraph_options options = egraph_options_default();
    options.progress = cancel_in_phase;
    options.user = &c;
    egraph_result *result = optimize(kit, &b, &options);
    const egraph_report *report = egraph_result_report(result);
    assert_true(report->cost_after <= report->cost_before);
    assert_true(c.calls >= 1);
    assert_int_equal(c.calls_after, 0);
    assert_string_equal(report->stop, i < 3 ? "cancelled" : "saturated");
    egraph_comparison compared;
    assert_ok(egraph_compare(&kit->alloc, b.graph, egraph_result_graph(result), NULL,
                             &compared));
    assert_true(compared.max_error < 1e-5);
    egraph_result_destroy(result);
  }
  close_bench(&b);
}

// ---- determinism -----------------------------------------------------------------

/// Two branches that share work, with choices to make.
static egraph_graph *branches(api_kit *kit) {
  egraph_graph *graph;
  egraph_value x, w[2], y[2], sum;
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 4,
                                   (int64_t[]){1, 16, 8, 8}, &x));
  for (int i = 0; i < 2; i++) {
    assert_ok(egraph_graph_add_weight(graph, i == 0 ? "a" : "b", EGRAPH_FLOAT32, 4,
                                      (int64_t[]){16, 16, 3, 3}, NULL, &w[i]));
    assert_ok(egraph_graph_add(graph, NULL, "conv",
                               ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]",
                               (egraph_value[]){x, w[i]}, 2, &y[i]));
    assert_ok(egraph_graph_add(graph, NULL, "relu", NULL, &y[i], 1, &y[i]));
  }
  assert_ok(egraph_graph_add(graph, NULL, "add", NULL, y, 2, &sum));
  assert_ok(egraph_graph_add_output(graph, "y", sum));
  return graph;
}

static char *optimized_bytes(api_kit *kit, const egraph_graph *graph, uint64_t threads,
                             const char *path, size_t *out_size) {
  egraph_rules *rules;
  egraph_costs *costs;
  egraph_result *result;
  egraph_search search = egraph_search_default();
  const egraph_options options = {.size = sizeof options, .search = &search};
  egraph_costs_options costs_options = {
      .size = sizeof costs_options, .database = "test_api_optimize.db", .measure = true};
  search.threads = threads;
  assert_ok(egraph_rules_create(&kit->alloc, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  assert_ok(egraph_costs_create(&kit->alloc, &costs_options, &costs));
  assert_ok(egraph_optimize(&kit->alloc, graph, rules, costs, &options, &result));
  assert_ok(egraph_graph_save(egraph_result_graph(result), path));
  egraph_result_destroy(result);
  egraph_costs_destroy(costs);
  egraph_rules_destroy(rules);
  char *bytes = api_read_file(path, out_size);
  (void)remove(path);
  return bytes;
}

static void the_same_database_gives_the_same_file(void **state) {
  api_kit *kit = *state;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_optimize.db");
  (void)remove(kit->path);
  egraph_graph *graph = branches(kit);
  static const char *const paths[] = {"test_api_optimize.onnx",
                                      "test_api_optimize.egraph"};
  for (size_t p = 0; p < 2; p++) {
    size_t size[3];
    char *bytes[3];
    // The first run measures; what it stores is what the later ones read.
    for (uint64_t i = 0; i < 3; i++)
      bytes[i] = optimized_bytes(kit, graph, i == 2 ? 2 : 1, paths[p], &size[i]);
    for (int i = 1; i < 3; i++) {
      assert_int_equal(size[0], size[i]);
      assert_memory_equal(bytes[0], bytes[i], size[0]);
    }
    for (int i = 0; i < 3; i++)
      free(bytes[i]);
  }
  (void)remove("test_api_optimize.db-wal");
  (void)remove("test_api_optimize.db-shm");
  egraph_graph_destroy(graph);
}

// ---- odd graphs ------------------------------------------------------------------

static void graphs_without_outputs_or_operators_are_optimized(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  egraph_graph_destroy(b.graph);
  assert_ok(egraph_graph_create(&kit->alloc, &b.graph));
  for (int i = 0; i < 3; i++) {
    egraph_value x = {0};
    if (i == 1)
      assert_ok(
          egraph_graph_add_input(b.graph, "x", EGRAPH_FLOAT32, 1, (int64_t[]){4}, &x));
    if (i == 2) assert_ok(egraph_graph_add_output(b.graph, "y", x));
    egraph_result *result = optimize(kit, &b, NULL);
    egraph_graph_info info = egraph_graph_info_of(egraph_result_graph(result));
    assert_int_equal(info.nodes, 0);
    assert_int_equal(info.inputs, i >= 1);
    assert_int_equal(info.outputs, i == 2);
    egraph_result_destroy(result);
  }
  close_bench(&b);
}

static void an_output_that_needs_only_weights_is_computed_ahead(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  egraph_value w, y;
  float data[3] = {-1, 2, -3};
  assert_ok(
      egraph_graph_add_weight(b.graph, "c", EGRAPH_FLOAT32, 1, (int64_t[]){3}, data, &w));
  assert_ok(egraph_graph_add(b.graph, NULL, "relu", NULL, &w, 1, &y));
  assert_ok(egraph_graph_add_output(b.graph, "constant", y));
  egraph_result *result = optimize(kit, &b, NULL);
  assert_int_equal(egraph_graph_info_of(egraph_result_graph(result)).nodes, 1);
  egraph_comparison c;
  assert_ok(egraph_compare(&kit->alloc, b.graph, egraph_result_graph(result), NULL, &c));
  assert_true(c.max_error < 1e-5);
  egraph_result_destroy(result);
  close_bench(&b);
}

/// Anything in a blocked format is ten times as fast.
static bool prefer_blocks(void *user, const egraph_cost_query *query,
                          double *out_seconds) {
  (void)user;
  *out_seconds = strstr(query->text, "@nChw") != NULL ? 1e-7 : 1e-6;
  return true;
}

static const char in_blocks[] =
    "(egraph-graph 1)\n"
    "(input x \"float32[1,32,8,8]\")\n"
    "(weight w \"float32[32,32,3,3]\")\n"
    "(let b (identity x) :formats [nChw16c])\n"
    "(let c (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] b w) :formats "
    "[nChw16c])\n"
    "(let r (relu c) :formats [nChw16c])\n"
    "(let y (identity r))\n"
    "(output y)\n";

static void an_input_that_the_search_cannot_reach_is_kept(void **state) {
  api_kit *kit = *state;
  bench b = {NULL, NULL, NULL};
  egraph_costs_options costs = {.size = sizeof costs, .override_cost = prefer_blocks};
  egraph_search search = egraph_search_default();
  search.formats = 0; // the search then knows row-major only
  (void)snprintf(kit->path, sizeof kit->path, "test_api_blocks.egraph");
  api_write_file(kit->path, in_blocks, strlen(in_blocks));
  assert_ok(egraph_graph_load(&kit->alloc, kit->path, NULL, &b.graph));
  assert_ok(egraph_rules_create(&kit->alloc, &b.rules));
  assert_ok(egraph_costs_create(&kit->alloc, &costs, &b.costs));
  egraph_result *result = optimize_within(kit, &b, &search);
  const egraph_report *report = egraph_result_report(result);
  assert_true(report->cost_after == report->cost_before);
  assert_true(report->cost_before > 0 && report->cost_before < 2e-6);
  assert_int_equal(report->nodes_after, 4);
  char *text;
  assert_ok(egraph_result_explain(&kit->alloc, result, &text));
  assert_non_null(strstr(text, "conv"));
  assert_non_null(strstr(text, "original"));
  assert_non_null(strstr(text, " 100 ns"));
  assert_non_null(strstr(text, "@nChw16c"));
  egraph_string_free(&kit->alloc, text);
  egraph_comparison c;
  assert_ok(egraph_compare(&kit->alloc, b.graph, egraph_result_graph(result), NULL, &c));
  assert_true(c.max_error == 0);
  egraph_result_destroy(result);
  close_bench(&b);
}

static void a_rule_that_changes_types_is_named(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  egraph_rules_trust(b.rules, true);
  assert_ok(egraph_rules_add_text(b.rules, "unsound.rules",
                                  "(egraph-rules 1)\n"
                                  "(rule shrink (source \"nobody\") (lhs (relu ?x))\n"
                                  "  (rhs (reduce-sum :axes [0] ?x)))\n"));
  egraph_result *result = NULL;
  assert_fails(egraph_optimize(&kit->alloc, b.graph, b.rules, b.costs, NULL, &result),
               EGRAPH_E_TYPE, "shrink");
  assert_null(result);
  close_bench(&b);
}

static bool price_all_alike(void *user, const egraph_cost_query *query,
                            double *out_seconds) {
  (void)query;
  *out_seconds = *(const double *)user;
  return true;
}

static void costs_of_nothing_and_of_infinity_are_borne(void **state) {
  api_kit *kit = *state;
  bench b = open_bench(kit);
  static const double prices[] = {0.0, 1e300, INFINITY};
  for (size_t i = 0; i < 3; i++) {
    double price = prices[i];
    egraph_costs_options costs = {
        .size = sizeof costs, .override_cost = price_all_alike, .user = &price};
    egraph_costs_destroy(b.costs);
    assert_ok(egraph_costs_create(&kit->alloc, &costs, &b.costs));
    egraph_result *result = optimize(kit, &b, NULL);
    const egraph_report *report = egraph_result_report(result);
    assert_true(report->cost_after <= report->cost_before);
    assert_true(report->gap >= 0 && report->gap <= 1);
    assert_true(report->bound >= 0);
    egraph_comparison c;
    assert_ok(
        egraph_compare(&kit->alloc, b.graph, egraph_result_graph(result), NULL, &c));
    assert_true(c.max_error < 1e-5);
    egraph_result_destroy(result);
  }
  close_bench(&b);
}

// ---- memory ----------------------------------------------------------------------

static egraph_status use_result(egraph_allocator alloc, const egraph_graph *graph,
                                const egraph_result *result, egraph_costs *costs) {
  char *text = NULL;
  egraph_comparison c;
  egraph_validation v;
  egraph_compare_options options = {
      .size = sizeof options, .repeats = 1, .backend = "reference"};
  egraph_status status = egraph_result_explain(&alloc, result, &text);
  egraph_string_free(&alloc, text);
  if (status == EGRAPH_OK)
    status = egraph_compare(&alloc, graph, egraph_result_graph(result), &options, &c);
  if (status == EGRAPH_OK) status = egraph_costs_validate(costs, graph, 1, 1, &v);
  return status;
}

static egraph_status run_session(egraph_allocator alloc, const egraph_graph *graph) {
  float x[32] = {0}, y[24];
  egraph_tensor in = {.dtype = EGRAPH_FLOAT32, .rank = 2, .dims = {4, 8}, .data = x};
  egraph_tensor out = {.dtype = EGRAPH_FLOAT32, .rank = 2, .dims = {4, 6}, .data = y};
  egraph_session *session = NULL;
  egraph_status status = egraph_session_create(&alloc, graph, NULL, &session);
  if (status == EGRAPH_OK) status = egraph_session_run(session, &in, 1, &out, 1);
  egraph_session_destroy(session);
  return status;
}

static egraph_status whole_flow(egraph_allocator alloc, void *user) {
  (void)user;
  bench b = {NULL, NULL, NULL};
  egraph_result *result = NULL;
  egraph_costs_options costs = {
      .size = sizeof costs, .override_cost = api_unit_cost, .backend = "reference"};
  egraph_status status = egraph_graph_create(&alloc, &b.graph);
  if (status == EGRAPH_OK) status = api_build_layer(b.graph);
  if (status == EGRAPH_OK) status = egraph_rules_create(&alloc, &b.rules);
  if (status == EGRAPH_OK) egraph_rules_trust(b.rules, true);
  if (status == EGRAPH_OK)
    status = egraph_rules_add_text(b.rules, "mine.rules", api_fusion_rules);
  if (status == EGRAPH_OK) status = egraph_costs_create(&alloc, &costs, &b.costs);
  if (status == EGRAPH_OK)
    status = egraph_optimize(&alloc, b.graph, b.rules, b.costs, NULL, &result);
  if (status == EGRAPH_OK) status = run_session(alloc, egraph_result_graph(result));
  if (status == EGRAPH_OK) status = use_result(alloc, b.graph, result, b.costs);
  egraph_result_destroy(result);
  close_bench(&b);
  return status;
}

static void every_allocation_of_the_whole_flow_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(whole_flow, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(a_layer_becomes_one_operator),
      api_test(the_result_says_which_rules_did_what),
      api_test(a_rule_that_is_off_does_nothing),
      api_test(options_are_legal_within_their_ranges_only),
      api_test(names_of_extractors_and_schedulers_are_checked),
      api_test(budgets_of_zero_keep_the_graph),
      api_test(cancelling_gives_the_best_so_far),
      api_test(the_same_database_gives_the_same_file),
      api_test(graphs_without_outputs_or_operators_are_optimized),
      api_test(an_output_that_needs_only_weights_is_computed_ahead),
      api_test(an_input_that_the_search_cannot_reach_is_kept),
      api_test(a_rule_that_changes_types_is_named),
      api_test(costs_of_nothing_and_of_infinity_are_borne),
      cmocka_unit_test(every_allocation_of_the_whole_flow_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
