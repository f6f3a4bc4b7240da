// The extraction-gym reader, hostile files, and the shared instances with known optima.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // mkstemp

#include "extract/problem.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "extract/search/extract.h"
#include "tests/testing.h"

// Writes `text` to a temporary file and reads it as a problem, which the caller frees.
static egraph_status read_text(const char *text, eg_extract_problem *problem) {
  char path[] = "/tmp/egraph-gym-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
  close(file);
  assert_ok(eg_extract_problem_init(problem, eg_allocator_heap()));
  egraph_status status = eg_gym_json_read(path, problem, NULL);
  unlink(path);
  return status;
}

static void a_file_becomes_rows_in_its_own_order(void **state) {
  (void)state;
  eg_extract_problem problem;
  assert_ok(read_text("{\"nodes\": {"
                      "\"f\": {\"op\": \"f\", \"children\": [\"b\", \"b\"], \"eclass\": "
                      "\"top\", \"cost\": 2.5},"
                      "\"a\": {\"op\": \"a\", \"eclass\": \"low\"},"
                      "\"b\": {\"op\": \"b\", \"children\": [], \"eclass\": \"low\", "
                      "\"cost\": 3}},"
                      "\"root_eclasses\": [\"top\", \"low\"], \"class_data\": {}}",
                      &problem));
  assert_int_equal(problem.class_count, 2);
  assert_int_equal(eg_extract_node_count(&problem), 3);
  assert_true(problem.cost.data[0] == 2.5 && problem.cost.data[1] == 1 &&
              problem.cost.data[2] == 3);
  assert_int_equal(problem.children.len, 2);
  assert_int_equal(problem.children.data[1], 1);
  assert_int_equal(problem.roots.data[0], 0);
  assert_int_equal(problem.roots.data[1], 1);
  eg_extract_problem_deinit(&problem);
}

#define NODES(text) "{\"nodes\": {" text "}, \"root_eclasses\": [\"c\"]}"

static void hostile_files_name_the_node(void **state) {
  (void)state;
  struct {
    const char *text, *part;
  } cases[] = {
      {"", ":"},
      {"[]", ":1:1: '[' where an object is expected"},
      {"{}", "no object \"nodes\""},
      {"{\"nodes\": [], \"root_eclasses\": [\"c\"]}", "\"nodes\" is not an object"},
      {"{\"nodes\": {}, \"nodes\": {}}", "for the second time"},
      {"{\"root_eclasses\": [], \"root_eclasses\": []}", "for the second time"},
      {"{\"problem\": {}}", "use egraph shard"},
      {"{\"nodes\": {\"n\": {\"eclass\": \"c\"}}}", "root_eclasses"},
      {"{\"nodes\": {\"n\": {\"eclass\": \"c\"}}, \"root_eclasses\": []}",
       "root_eclasses"},
      {"{\"nodes\": {\"n\": {\"eclass\": \"c\"}}, \"root_eclasses\": [\"d\"]}",
       "root 0 ('d')"},
      {"{\"nodes\": {\"n\": {\"eclass\": \"c\"}}, \"root_eclasses\": [\"d\", \"e\"]}",
       "root 1 ('e')"},
      {"{\"nodes\": {\"n\": {\"eclass\": \"c\"}}, \"root_eclasses\": [7]}",
       ":1:53: '7' where a string is expected"},
      {NODES("\"n\": 5"), "node 'n'"},
      {NODES("\"n\": {\"eclass\": 5}"), "node 'n'"},
      {NODES("\"n\": {\"eclass\": \"c\", \"children\": \"m\"}"), "children of node 'n'"},
      {NODES("\"n\": {\"eclass\": \"c\", \"children\": [5]}"), "child 0 of node 'n'"},
      {NODES("\"n\": {\"eclass\": \"c\", \"children\": [\"m\"]}"),
       "child 'm', which does not exist"},
      {NODES("\"n\": {\"eclass\": \"c\", \"cost\": \"x\"}"), "cost of node 'n'"},
      {NODES("\"n\": {\"eclass\": \"c\", \"cost\": NaN}"), ":1:"},
      {NODES("\"n\": {\"eclass\": \"c\", \"cost\": 1e999}"), ":1:"},
      {NODES("\"n\": {\"eclass\": \"c\"}, \"n\": {\"eclass\": \"c\"}"), "duplicate"},
      {"{\"nodes\": {\"n\": {\"eclass\": \"c\"", ":1:"},
      {NODES("\"n\": {\"eclass\": \"c\", \"eclass\": \"d\"}"), "two classes"},
      {NODES("\"n\": {\"op\": \"c\"}"), "node 'n' has no \"eclass\""},
      {NODES("\"n\": {\"eclass\": \"c\", \"cost\": 1.}"), "'1.' is malformed"},
      {NODES("\"n\": {\"eclass\": \"c\", \"cost\": 01}"), "'01' is malformed"},
      {NODES("\"n\": {\"eclass\": \"c\", \"cost\": 1e+}"), "'1e+' is malformed"},
      {NODES("\"n\": {\"eclass\": \"c\"}") "x", "the end of the file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_extract_problem problem;
    assert_fails(read_text(cases[i].text, &problem), EGRAPH_E_PARSE, cases[i].part);
    assert_non_null(strstr(egraph_last_error(), "/tmp/egraph-gym-"));
    eg_extract_problem_deinit(&problem);
  }
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  assert_fails(eg_gym_json_read("/nonexistent/x.json", &problem, NULL), EGRAPH_E_IO,
               "x.json");
  eg_extract_problem_deinit(&problem);
}

static egraph_status read_with(egraph_allocator alloc, void *path) {
  eg_extract_problem problem;
  EG_TRY(eg_extract_problem_init(&problem, alloc));
  eg_gym_names names;
  eg_gym_names_init(&names, alloc);
  egraph_status status = eg_gym_json_read(path, &problem, &names);
  eg_gym_names_deinit(&names);
  eg_extract_problem_deinit(&problem);
  return status;
}

// Roots and children before what they name, in any order of keys; escapes; other keys.
static void the_order_of_the_keys_does_not_matter(void **state) {
  (void)state;
  eg_extract_problem problem;
  assert_ok(
      read_text("{\"x\": [{\"nodes\": 1}, null], \"root_eclasses\": [\"c\\u00e9\"],\n"
                "\"nodes\": {\"a\": {\"children\": [\"\\u0062\", \"c\"], \"cost\": "
                "-2.5e-1, \"eclass\": \"c\\u00E9\", \"subsumed\": false},\n"
                "\"c\": {\"eclass\": \"d\"}, \"b\": {\"eclass\": \"e\"}}}",
                &problem));
  assert_int_equal(problem.class_count, 3);
  assert_true(problem.cost.data[0] == -0.25);
  assert_int_equal(problem.children.data[0], 2);
  assert_int_equal(problem.children.data[1], 1);
  assert_int_equal(problem.roots.data[0], 0);
  eg_extract_problem_deinit(&problem);
}

static void names_are_those_of_the_file(void **state) {
  (void)state;
  const char text[] = NODES("\"n\": {\"eclass\": \"c\", \"children\": [\"m\"]},"
                            "\"m\": {\"eclass\": \"\"}, \"o\": {\"eclass\": \"c\"}");
  eg_extract_problem problem;
  eg_gym_names names;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  eg_gym_names_init(&names, eg_allocator_heap());
  assert_ok(eg_gym_json_parse("text", text, sizeof text - 1, &problem, &names));
  assert_string_equal(eg_gym_class_name(&names, 0), "c");
  assert_string_equal(eg_gym_class_name(&names, 1), "");
  assert_string_equal(eg_gym_node_name(&names, 1), "m");
  assert_string_equal(eg_gym_node_name(&names, 2), "o");
  assert_int_equal(names.class_.len, 2);
  assert_int_equal(names.node.len, 3);
  eg_gym_names_deinit(&names);
  eg_extract_problem_deinit(&problem);
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  assert_fails(eg_gym_json_parse("text", text, 9, &problem, NULL), EGRAPH_E_PARSE,
               "text:1:");
  eg_extract_problem_deinit(&problem);
}

static void reading_survives_every_failing_allocation(void **state) {
  (void)state;
  char path[] = "/tmp/egraph-gym-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  const char text[] = NODES("\"n\": {\"eclass\": \"c\", \"children\": [\"m\"]},"
                            "\"m\": {\"eclass\": \"d\"}");
  assert_int_equal(write(file, text, sizeof text - 1), (ssize_t)sizeof text - 1);
  close(file);
  test_every_allocation_failing(read_with, path);
  unlink(path);
}

// Optima of the shared instances, proven by exhaustive or independent exact solvers.
static const struct {
  const char *name;
  double optimum;
} INSTANCES[] = {
    {"dummy_examples/choice", 37},    {"dummy_examples/ab_add", 7},
    {"dummy_examples/loop", 5},       {"set_covering/test", 2},
    {"crafted/multi_root", 10},       {"crafted/tree_plus_cycles", 15},
    {"egg/diff_power_harder", 6},     {"egg/integ_part2", 4},
    {"egg/math_associate_adds", 13},  {"impress/mul512", 136680},
    {"tensat/vgg_acyclic", 4.866775}, {"tensat/resnet50_acyclic", 4.415993},
    {"tensat/vgg", 4.850757},         {"tensat/resnet50", 4.385795},
    {"tensat/bert", 0.704720},        {"tensat/bert_acyclic", 0.708439},
};

static void check_instance(const char *name, double optimum) {
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/extraction-gym/%s.json.gz", EG_DATA_DIR, name);
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  assert_ok(eg_gym_json_read(path, &problem, NULL));
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.time_limit_seconds = 100;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &result));
  if (result.status != EG_EXTRACT_OPTIMAL || fabs(result.cost - optimum) > 1e-6)
    fail_msg("%s: cost %.9g, bound %.9g, expected %.9g", name, result.cost, result.bound,
             optimum);
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
}

static void the_shared_instances_are_proven_optimal(void **state) {
  (void)state;
  if (access(EG_DATA_DIR "/extraction-gym", R_OK) != 0) {
    print_message("no %s/extraction-gym: skipped\n", EG_DATA_DIR);
    skip();
  }
  for (size_t i = 0; i < sizeof INSTANCES / sizeof *INSTANCES; i++)
    check_instance(INSTANCES[i].name, INSTANCES[i].optimum);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_becomes_rows_in_its_own_order),
      cmocka_unit_test(hostile_files_name_the_node),
      cmocka_unit_test(the_order_of_the_keys_does_not_matter),
      cmocka_unit_test(names_are_those_of_the_file),
      cmocka_unit_test(reading_survives_every_failing_allocation),
      cmocka_unit_test(the_shared_instances_are_proven_optimal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
