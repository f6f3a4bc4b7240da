// The price of a graph in memory formats (baselines/term_prices.h) beside the exact
// choice of formats by the product's own extractor, under random costs: never below it,
// and the same where every value has one reader, or where there is no choice.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "baselines/term_prices.h"
#include "optimize/single/optimizer.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rules.h"
#include "tests/testing.h"

#define MICRO 1e-6

/// Random by the text; changes of format, which may be made one after the other, cost all
/// the same.
static bool random_cost(void *user, const eg_node_spec *spec, double *out) {
  eg_text text;
  *out = 300 * MICRO;
  if (eg_node_spec_is_reorder(spec)) return true;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_node_spec_print(&text, spec));
  uint64_t seed = *(const uint64_t *)user;
  uint64_t hash = eg_hash_bytes(seed, text.chars.data, text.chars.len);
  *out = MICRO * (double)(1 + hash % 1000);
  eg_text_deinit(&text);
  return true;
}

/// A row of convolutions, pools, sums with a weight, activations; `joins` adds earlier
/// values. Two outputs where the last but one is an output, too.
static eg_graph *random_graph(eg_rng *rng, bool joins) {
  eg_text text;
  eg_graph *graph;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_append(&text, "(egraph-graph 1)\n(input v0 \"float32[1,32,6,6]\")\n"
                                  "(weight w \"float32[32,32,3,3]\")\n"
                                  "(weight b \"float32[1,32,1,1]\")\n"));
  int steps = 2 + (int)eg_rng_below(rng, 7);
  for (int i = 0; i < steps; i++) {
    static const char *const forms[] = {
        "(conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] v%d w)", "(relu v%d)",
        "(average-pool :kernel_shape [3 3] :strides [1 1] :pads [1 1 1 1] v%d)",
        "(softmax :axis 1 v%d)", "(add v%d b)"};
    char form[128];
    bool is_join = joins && i > 1 && eg_rng_below(rng, 3) == 0;
    const char *drawn = forms[i == 0 ? 0 : eg_rng_below(rng, 5)];
    if (is_join)
      (void)snprintf(form, sizeof form, "(add v%d v%d)", i,
                     (int)eg_rng_below(rng, (uint64_t)i));
    else
      (void)snprintf(form, sizeof form, drawn, i); // NOLINT: forms are those above
    assert_ok(eg_text_printf(&text, "(let v%d %s)\n", i + 1, form));
  }
  assert_ok(eg_text_printf(&text, "(output v%d)\n", steps));
  if (joins && eg_rng_below(rng, 2) == 0)
    assert_ok(eg_text_printf(&text, "(output v%d)\n", steps - 1));
  assert_ok(eg_graph_parse(NULL, "test", text.chars.data, text.chars.len, &graph));
  eg_text_deinit(&text);
  return graph;
}

static double exact_of(const eg_graph *graph, eg_cost_model *costs) {
  egraph_search search = egraph_search_default();
  eg_rules *none;
  eg_optimization *result;
  assert_ok(eg_rules_create_checked(NULL, &none));
  const eg_optimizer_input input = {.graph = graph,
                                    .rules = none,
                                    .costs = costs,
                                    .formats = UINT32_MAX,
                                    .search = &search};
  assert_ok(eg_optimizer_run(eg_allocator_heap(), &input, &result));
  double cost = result->report.cost_after;
  assert_string_equal(result->report.status, "optimal");
  eg_optimization_destroy(result);
  eg_rules_destroy(none);
  return cost;
}

static double price_of(const eg_graph *graph, eg_cost_model *costs) {
  const eg_term_costs of = {.model = costs, .formats = ~1u};
  eg_term_store store;
  eg_term_prices prices;
  eg_graph_figures figures;
  uint32_t roots[2], count = eg_graph_output_count(graph);
  assert_ok(eg_term_store_init(&store, eg_allocator_heap(), graph));
  eg_term_prices_init(&prices, &store, &of);
  for (uint32_t i = 0; i < count; i++)
    roots[i] = eg_term_store_root(&store, i);
  assert_ok(eg_term_prices_graph(&prices, roots, count, &figures));
  eg_term_prices_deinit(&prices);
  eg_term_store_deinit(&store);
  return figures.seconds;
}

static void compare_prices(bool joins) {
  uint64_t seed = test_seed(1);
  double above = 0, sum = 0;
  for (size_t round = 0; round < test_rounds(150); round++) {
    eg_rng rng = {seed + round};
    uint64_t drawn = eg_rng_next(&rng);
    const eg_cost_options options = {
        .machine = "toy", .override_cost = random_cost, .user = &drawn};
    eg_cost_model *costs;
    eg_graph *graph = random_graph(&rng, joins);
    assert_ok(eg_cost_model_create(NULL, &options, &costs));
    double exact = exact_of(graph, costs), price = price_of(graph, costs);
    if (price < exact * (1 - 1e-9) || (!joins && price > exact * (1 + 1e-9))) {
      eg_text text;
      eg_text_init(&text, eg_allocator_heap());
      assert_ok(eg_graph_print(graph, &text));
      print_error("seed %llu: exact %.9g, price %.9g\n%s\n",
                  (unsigned long long)(seed + round), exact, price, eg_text_of(&text));
      fail();
    }
    above += price - exact;
    sum += exact;
    eg_cost_model_destroy(costs);
    eg_graph_destroy(graph);
  }
  assert_true(above <= 0.05 * sum); // on the whole the two passes are near the optimum
}

static void chains_are_priced_exactly(void **state) {
  (void)state;
  compare_prices(false);
}

static void other_graphs_are_priced_from_above(void **state) {
  (void)state;
  compare_prices(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_are_priced_exactly),
      cmocka_unit_test(other_graphs_are_priced_from_above)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
