// Public functions of extraction from serialized e-graphs.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

static const char sharing[] =
    "{\"nodes\": {\"r\": {\"children\": [\"a\", \"b\"], \"eclass\": \"R\", \"cost\": 0},"
    "\"a\": {\"children\": [\"s\"], \"eclass\": \"A\"}, \"a2\": {\"eclass\": \"A\", "
    "\"cost\": 3}, \"b\": {\"children\": [\"s\"], \"eclass\": \"B\"}, \"b2\": "
    "{\"eclass\": \"B\", \"cost\": 3}, \"s\": {\"eclass\": \"S\", \"cost\": 3}, "
    "\"lonely\": {\"eclass\": \"L\"}}, \"root_eclasses\": [\"R\"]}";

static egraph_extraction *load(api_kit *kit, const char *text) {
  egraph_extraction *extraction = NULL;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_extract.json");
  api_write_file(kit->path, text, strlen(text));
  assert_ok(egraph_extraction_load(&kit->alloc, kit->path, &extraction));
  return extraction;
}

static void an_e_graph_is_read_and_extracted(void **state) {
  egraph_extraction *extraction = load(*state, sharing);
  egraph_extract_report r = egraph_extraction_report(extraction);
  assert_string_equal(r.status, "none");
  assert_true(r.nodes == 7 && r.classes == 5 && isinf(r.cost));
  assert_int_equal(egraph_extraction_choice_count(extraction), 0);
  assert_ok(egraph_extraction_run(extraction, NULL));
  r = egraph_extraction_report(extraction);
  assert_string_equal(r.status, "optimal");
  assert_true(r.cost == 5 && r.bound == 5 && r.gap == 0 && r.seconds >= 0);
  assert_true(r.tree_cost >= 5 && r.dag_cost >= 5);
  assert_int_equal(egraph_extraction_choice_count(extraction), 4);
  egraph_extract_choice c = egraph_extraction_choice(extraction, 3);
  assert_string_equal(c.class_name, "S");
  assert_string_equal(c.node_name, "s");
  egraph_extraction_destroy(extraction);
  egraph_extraction_destroy(NULL);
}

static void a_later_run_replaces_the_result(void **state) {
  egraph_extraction *extraction = load(*state, sharing);
  assert_ok(egraph_extraction_run(extraction, NULL));
  egraph_extract_options options = {.size = sizeof options, .extractor = "tree"};
  assert_ok(egraph_extraction_run(extraction, &options));
  egraph_extract_report r = egraph_extraction_report(extraction);
  assert_true(r.cost == 6 && r.bound < 6 && isinf(r.dag_cost));
  assert_int_equal(egraph_extraction_choice_count(extraction), 3);
  options.extractor = "best";
  assert_fails(egraph_extraction_run(extraction, &options), EGRAPH_E_ARGUMENT,
               "no extractor 'best'");
  assert_true(egraph_extraction_report(extraction).cost == 6); // kept
  egraph_extraction_destroy(extraction);
}

static void options_out_of_range_are_refused(void **state) {
  egraph_extraction *extraction = load(*state, sharing);
  static const struct {
    egraph_extract_options options;
    const char *part;
  } cases[] = {
      {{.size = sizeof(egraph_extract_options), .time_limit = -1}, "time limit"},
      {{.size = sizeof(egraph_extract_options), .time_limit = NAN}, "time limit"},
      {{.size = sizeof(egraph_extract_options), .relative_gap = -0.5}, "gap"},
      {{.size = sizeof(egraph_extract_options), .passes = "reach,rich"},
       "no presolve pass 'rich'"},
      {{.size = sizeof(egraph_extract_options), .passes = "reach, merge"}, "' merge'"},
      {{.size = sizeof(egraph_extract_options), .passes = "-reach,merge"}, "not both"},
      {{.size = sizeof(egraph_extract_options), .extractor = ""}, "no extractor ''"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_fails(egraph_extraction_run(extraction, &cases[i].options), EGRAPH_E_ARGUMENT,
                 cases[i].part);
  egraph_extract_options options = {.size = sizeof options, .passes = "reach,merge,"};
  assert_ok(egraph_extraction_run(extraction, &options));
  assert_true(egraph_extraction_report(extraction).cost == 5);
  egraph_extraction_destroy(extraction);
}

static void the_passes_have_names(void **state) {
  (void)state;
  uint32_t count = 0;
  for (; egraph_extract_pass(count).name != NULL; count++)
    assert_true(strlen(egraph_extract_pass(count).text) > 5);
  assert_true(count >= 10);
  assert_string_equal(egraph_extract_pass(0).name, "reach");
  assert_null(egraph_extract_pass(UINT32_MAX).name);
}

static void add_up(void *user, uint32_t pass, const egraph_extract_pass_report *detail) {
  egraph_extract_pass_report *sum = user;
  assert_non_null(egraph_extract_pass(pass).name);
  assert_true(detail->seconds >= 0);
  sum->runs += detail->runs;
  sum->nodes += detail->nodes;
  sum->classes += detail->classes;
}

static void passes_say_what_they_take_away(void **state) {
  egraph_extraction *extraction = load(*state, sharing);
  egraph_extract_pass_report sum = {.runs = 0};
  assert_ok(egraph_extraction_try_passes(extraction, NULL, add_up, &sum));
  assert_true(sum.runs >= 2 && sum.nodes >= 1 && sum.nodes <= 7 && sum.classes <= 5);
  egraph_extract_options options = {.size = sizeof options, .passes = "reach"};
  sum = (egraph_extract_pass_report){.runs = 0};
  assert_ok(egraph_extraction_run(extraction, NULL));
  assert_ok(egraph_extraction_try_passes(extraction, &options, add_up, &sum));
  assert_true(sum.nodes == 1 && sum.classes == 1); // the lonely one
  egraph_extraction_destroy(extraction);
}

static void what_cannot_be_derived_is_infeasible(void **state) {
  api_kit *kit = *state;
  egraph_extraction *extraction =
      load(kit, "{\"nodes\": {\"a\": {\"eclass\": \"c\", \"children\": [\"a\"]}}, "
                "\"root_eclasses\": [\"c\"]}");
  assert_ok(egraph_extraction_run(extraction, NULL));
  egraph_extract_report r = egraph_extraction_report(extraction);
  assert_string_equal(r.status, "infeasible");
  assert_true(isinf(r.cost));
  assert_int_equal(egraph_extraction_choice_count(extraction), 0);
  assert_ok(egraph_extraction_save_lp(extraction, NULL, kit->path));
  egraph_extraction_destroy(extraction);
}

static void files_that_are_none_are_refused(void **state) {
  api_kit *kit = *state;
  egraph_extraction *extraction = NULL;
  assert_fails(egraph_extraction_load(&kit->alloc, "absent.json", &extraction),
               EGRAPH_E_IO, "absent.json");
  (void)snprintf(kit->path, sizeof kit->path, "test_api_extract.json");
  api_write_file(kit->path, "{\"problem\": {}}", 15);
  assert_fails(egraph_extraction_load(&kit->alloc, kit->path, &extraction),
               EGRAPH_E_PARSE, "egraph shard");
  assert_null(extraction);
}

static void the_model_is_written(void **state) {
  api_kit *kit = *state;
  egraph_extraction *extraction = load(kit, sharing);
  egraph_extract_options options = {.size = sizeof options, .passes = "reach"};
  assert_ok(egraph_extraction_save_lp(extraction, &options, kit->path));
  size_t size;
  char *text = api_read_file(kit->path, &size);
  assert_non_null(strstr(text, "Minimize"));
  assert_non_null(strstr(text, "Binaries"));
  free(text);
  assert_fails(egraph_extraction_save_lp(extraction, &options, "no/folder/x.lp"),
               EGRAPH_E_IO, "no/folder");
  egraph_extraction_destroy(extraction);
}

typedef struct call {
  const char *input, *output;
} call;

static egraph_status read_run_and_write(egraph_allocator alloc, void *user) {
  const call *files = user;
  egraph_extraction *extraction = NULL;
  egraph_status status = egraph_extraction_load(&alloc, files->input, &extraction);
  if (status == EGRAPH_OK) status = egraph_extraction_run(extraction, NULL);
  egraph_extract_options options = {.size = sizeof options, .passes = "reach,merge"};
  if (status == EGRAPH_OK)
    status = egraph_extraction_save_lp(extraction, &options, files->output);
  egraph_extract_pass_report sum = {.runs = 0};
  if (status == EGRAPH_OK)
    status = egraph_extraction_try_passes(extraction, NULL, add_up, &sum);
  egraph_extraction_destroy(extraction);
  return status;
}

static void it_survives_every_failing_allocation(void **state) {
  api_kit *kit = *state;
  egraph_extraction_destroy(load(kit, sharing));
  call files = {kit->path, "test_api_extract.lp"};
  test_every_allocation_failing(read_run_and_write, &files);
  (void)remove(files.output);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(an_e_graph_is_read_and_extracted),
      api_test(a_later_run_replaces_the_result),
      api_test(options_out_of_range_are_refused),
      api_test(the_passes_have_names),
      api_test(passes_say_what_they_take_away),
      api_test(what_cannot_be_derived_is_infeasible),
      api_test(files_that_are_none_are_refused),
      api_test(the_model_is_written),
      api_test(it_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
