// Structs of options of other versions: a shorter one has the defaults for what it lacks;
// a size of 0, and one that this library does not know, are refused by name.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "tests/testing.h"

/// More than the largest struct.
enum { ROOM = 4096 };

typedef struct kind_row {
  egraph_options_kind kind;
  const char *name;
  size_t size;
} kind_row;

#define ROW(id, name) {id, #name, sizeof(name)},
static const kind_row kinds[] = {EGRAPH_OPTIONS_LIST(ROW)};
#undef ROW
enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t size_of(const unsigned char *options) {
  size_t size;
  memcpy(&size, options, sizeof size);
  return size;
}

static void set_size(unsigned char *options, size_t size) {
  memcpy(options, &size, sizeof size);
}

static void defaults_have_the_size_of_their_struct(void **state) {
  (void)state;
#define CHECK(id, name) assert_int_equal(name##_default().size, sizeof(name));
  EGRAPH_OPTIONS_LIST(CHECK)
#undef CHECK
  assert_int_equal(egraph_session_options_default().seed, 1);
  assert_int_equal(egraph_terms_options_default().node_limit, 20000);
  assert_string_equal(egraph_search_default().extractor, "ilp");
  assert_string_equal(egraph_target_default().machine, "host");
}

/// Every length that ends where a word does: the given bytes, then the defaults.
static void a_shorter_struct_has_defaults_for_the_rest(void **state) {
  (void)state;
  for (size_t k = 0; k < KINDS; k++)
    for (size_t size = sizeof size; size <= kinds[k].size; size += sizeof size) {
      _Alignas(max_align_t) unsigned char given[ROOM], usual[ROOM], taken[ROOM];
      memset(given, 0x5a, sizeof given); // beyond `size`: not to be read
      memset(taken, 0x33, sizeof taken);
      set_size(given, size);
      egraph_options_fill(kinds[k].kind, usual, kinds[k].size);
      assert_ok(eg_options_take(kinds[k].kind, given, taken));
      assert_int_equal(size_of(taken), kinds[k].size);
      assert_memory_equal(taken + sizeof size, given + sizeof size, size - sizeof size);
      assert_memory_equal(taken + size, usual + size, kinds[k].size - size);
      assert_int_equal(taken[kinds[k].size], 0x33);
    }
}

static void a_size_that_no_version_has_is_refused_by_name(void **state) {
  (void)state;
  for (size_t k = 0; k < KINDS; k++) {
    const struct {
      size_t size;
      const char *part;
    } bad[] = {{0, ".size is 0; begin with"},
               {sizeof(size_t) - 1, "no size of the struct"},
               {sizeof(size_t) + 1, "no size of the struct"},
               {kinds[k].size + 1, "of which this library knows"},
               {kinds[k].size + sizeof(size_t), "of which this library knows"},
               {SIZE_MAX, "of which this library knows"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      _Alignas(max_align_t) unsigned char given[ROOM] = {0}, taken[ROOM];
      set_size(given, bad[i].size);
      assert_fails(eg_options_take(kinds[k].kind, given, taken), EGRAPH_E_ARGUMENT,
                   kinds[k].name);
      assert_non_null(strstr(egraph_last_error(), bad[i].part));
    }
  }
}

/// A caller with a newer header is told by the library, not written beyond.
static void a_newer_header_is_told(void **state) {
  (void)state;
  for (size_t k = 0; k < KINDS; k++) {
    _Alignas(max_align_t) unsigned char newer[ROOM], taken[ROOM];
    size_t size = kinds[k].size + 2 * sizeof size;
    memset(newer, 0x5a, sizeof newer);
    egraph_options_fill(kinds[k].kind, newer, size);
    assert_int_equal(size_of(newer), size);
    assert_int_equal(newer[size - 1], 0);
    assert_int_equal(newer[size], 0x5a);
    assert_fails(eg_options_take(kinds[k].kind, newer, taken), EGRAPH_E_ARGUMENT,
                 "take the header that belongs to it");
  }
}

/// The functions look at it: one that takes each kind.
static void functions_refuse_options_without_a_size(void **state) {
  (void)state;
  egraph_graph *graph;
  egraph_value x;
  const int64_t dims[] = {2};
  assert_ok(egraph_graph_create(NULL, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 1, dims, &x));
  assert_ok(egraph_graph_add_output(graph, NULL, x));
  egraph_rules *rules;
  egraph_costs *costs;
  egraph_result *result;
  egraph_session *session;
  egraph_plan *plan;
  egraph_graph *other;
  egraph_comparison comparison;
  egraph_step_check *check;
  egraph_shard *shard;
  egraph_shard_plan *shard_plan;
  egraph_terms *terms;
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_costs_create(NULL, NULL, &costs));
  assert_ok(egraph_shard_create(NULL, &shard));
  assert_ok(egraph_terms_create(NULL, &terms));
#define REFUSES(type, call)                                                              \
  do {                                                                                   \
    type none = {.size = 0};                                                             \
    assert_fails(call, EGRAPH_E_ARGUMENT, #type ".size is 0");                           \
  } while (0)
  REFUSES(egraph_load_options, egraph_graph_load(NULL, "x.onnx", &none, &other));
  REFUSES(egraph_load_options, egraph_graph_parse(NULL, "x", "", 0, &none, &other));
  REFUSES(egraph_costs_options, egraph_costs_create(NULL, &none, &costs));
  REFUSES(egraph_options, egraph_optimize(NULL, graph, rules, costs, &none, &result));
  REFUSES(egraph_session_options, egraph_session_create(NULL, graph, &none, &session));
  REFUSES(egraph_session_options,
          egraph_step_check_create(NULL, graph, &none, 1, &check));
  REFUSES(egraph_compare_options, egraph_compare(NULL, graph, graph, &none, &comparison));
#define REFUSES_GROUP(type, member)                                                      \
  do {                                                                                   \
    const type none = {.size = 0};                                                       \
    const egraph_options given = {.size = sizeof given, .member = &none};                \
    assert_fails(egraph_optimize(NULL, graph, rules, costs, &given, &result),            \
                 EGRAPH_E_ARGUMENT, #type ".size is 0");                                 \
  } while (0)
  REFUSES_GROUP(egraph_target, target);
  REFUSES_GROUP(egraph_training, training);
  REFUSES_GROUP(egraph_search, search);
  REFUSES_GROUP(egraph_constraints, constraints);
  REFUSES_GROUP(egraph_baselines, compare);
#undef REFUSES_GROUP
  REFUSES(egraph_shard_options, egraph_shard_solve(NULL, shard, &none, &shard_plan));
  REFUSES(egraph_terms_options, egraph_terms_saturate(terms, &none, NULL));
  char *text;
  egraph_generate_report report;
  REFUSES(egraph_generate_options, egraph_rules_generate(NULL, &none, &text, &report));
#undef REFUSES
  egraph_target ours = egraph_target_default();
  assert_ok(egraph_optimize(NULL, graph, NULL, NULL, NULL, &result));
  assert_ok(egraph_result_take_plan(result, &plan));
  egraph_result_destroy(result);
  ours.size = 0;
  assert_fails(egraph_plan_price(plan, &ours, NULL), EGRAPH_E_ARGUMENT, "size is 0");
  const egraph_plan_run_options none = {.seed = 1};
  assert_fails(egraph_plan_run_local(NULL, plan, &none, NULL, 0, NULL, 0),
               EGRAPH_E_ARGUMENT, "egraph_plan_run_options.size is 0");
  egraph_plan_destroy(plan);
  egraph_terms_destroy(terms);
  egraph_shard_destroy(shard);
  egraph_costs_destroy(costs);
  egraph_rules_destroy(rules);
  egraph_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_have_the_size_of_their_struct),
      cmocka_unit_test(a_shorter_struct_has_defaults_for_the_rest),
      cmocka_unit_test(a_size_that_no_version_has_is_refused_by_name),
      cmocka_unit_test(a_newer_header_is_told),
      cmocka_unit_test(functions_refuse_options_without_a_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
