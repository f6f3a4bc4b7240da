// E-graphs of plain terms in files: binary, and egraph-serialize JSON, which our own
// extraction reads.
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include "tests/unit/api_kit.h"

#include <stdlib.h>
#include <unistd.h>

#include "extract/problem.h"
#include "extract/search/extract.h"
#include "rewrites/terms/symbolic_file.h"

#define HEAD "(egraph-rules 1 symbolic)\n"
static const char rules[] =
    HEAD "(rule comm-add (lhs (+ ?a ?b)) (rhs (+ ?b ?a)))\n"
         "(rule assoc-add (lhs (+ ?a (+ ?b ?c))) (rhs (+ (+ ?a ?b) ?c)) both-ways)\n"
         "(rule zero (lhs (+ ?a 0)) (rhs ?a))\n"
         "(rule twice (lhs ?a) (rhs (id ?a)))\n"
         "(rule share (lhs (f ?x ?y) (f ?x ?z)) (rhs (p0 (ff ?x ?y ?z)) (p1 (ff ?x ?y "
         "?z))))\n";
static const char sum[] = "(+ (f a b) (+ (f a c) (+ 0 d)))";

typedef struct files {
  char path[32];
} files;

static files temporary(void) {
  files f = {"/tmp/egraph-test-XXXXXX"};
  int file = mkstemp(f.path);
  assert_true(file >= 0);
  (void)close(file);
  return f;
}

static egraph_terms *create(const api_kit *kit, const char *term,
                            egraph_class *out_root) {
  egraph_terms *terms;
  assert_ok(egraph_terms_create(&kit->alloc, &terms));
  assert_ok(egraph_terms_add_rule_text(terms, "rules", rules));
  assert_ok(egraph_terms_add(terms, "t", term, out_root));
  return terms;
}

static void saturate(egraph_terms *terms, uint32_t iterations) {
  egraph_terms_options options = egraph_terms_options_default();
  options.iteration_limit = iterations;
  assert_ok(egraph_terms_saturate(terms, &options, NULL));
}

static void assert_same_info(const egraph_terms *a, const egraph_terms *b) {
  egraph_terms_info infos[] = {egraph_terms_info_of(a), egraph_terms_info_of(b)};
  assert_int_equal(infos[0].nodes, infos[1].nodes);
  assert_int_equal(infos[0].classes, infos[1].classes);
}

static void assert_same_picture(const api_kit *kit, const egraph_terms *a,
                                const egraph_terms *b) {
  char *pictures[2];
  assert_ok(egraph_terms_dot(&kit->alloc, a, &pictures[0]));
  assert_ok(egraph_terms_dot(&kit->alloc, b, &pictures[1]));
  assert_string_equal(pictures[0], pictures[1]);
  for (int i = 0; i < 2; i++)
    egraph_string_free(&kit->alloc, pictures[i]);
}

// ---- binary ----------------------------------------------------------------------

static void a_loaded_e_graph_goes_on_as_the_saved_one(void **state) {
  const api_kit *kit = *state;
  files f = temporary();
  egraph_class root, again;
  egraph_terms *terms = create(kit, sum, &root), *loaded;
  assert_fails(egraph_terms_save(terms, f.path), EGRAPH_E_ARGUMENT, "rebuild");
  saturate(terms, 2);
  assert_ok(egraph_terms_save(terms, f.path));
  assert_ok(egraph_terms_load(&kit->alloc, f.path, &loaded));
  assert_ok(egraph_terms_check(loaded));
  assert_same_picture(kit, terms, loaded);
  assert_int_equal(egraph_terms_rule_count(loaded), egraph_terms_rule_count(terms));
  for (uint32_t i = 0; i < egraph_terms_rule_count(terms); i++)
    assert_string_equal(egraph_terms_rule(loaded, i).name,
                        egraph_terms_rule(terms, i).name);
  egraph_symbol symbols[2];
  assert_ok(egraph_terms_symbol(terms, "ff", &symbols[0]));
  assert_ok(egraph_terms_symbol(loaded, "ff", &symbols[1]));
  assert_int_equal(symbols[0].id, symbols[1].id);
  saturate(terms, 2);
  saturate(loaded, 2);
  assert_same_info(terms, loaded);
  assert_ok(egraph_terms_add(loaded, "t", sum, &again));
  assert_true(egraph_terms_are_equal(loaded, root, again));
  egraph_terms_destroy(terms);
  egraph_terms_destroy(loaded);
  assert_int_equal(unlink(f.path), 0);
}

static void other_files_are_refused(void **state) {
  const api_kit *kit = *state;
  files f = temporary();
  egraph_terms *terms;
  assert_fails(egraph_terms_load(&kit->alloc, f.path, &terms), EGRAPH_E_PARSE, f.path);
  assert_fails(egraph_terms_load(&kit->alloc, "/nowhere", &terms), EGRAPH_E_IO,
               "/nowhere");
  assert_ok(
      eg_file_write(f.path, "{\"nodes\": {}, \"root_eclasses\": []}          ", 44));
  assert_fails(egraph_terms_load(&kit->alloc, f.path, &terms), EGRAPH_E_PARSE,
               "no saved e-graph");
  assert_int_equal(unlink(f.path), 0);
}

static void rules_are_printed_as_they_are_read(void **state) {
  const api_kit *kit = *state;
  eg_symbolic *symbolic, *again;
  eg_text text, second;
  eg_text_init(&text, kit->alloc);
  eg_text_init(&second, kit->alloc);
  assert_ok(eg_symbolic_create(&kit->alloc, &symbolic));
  assert_ok(eg_symbolic_create(&kit->alloc, &again));
  assert_ok(eg_symbolic_add_rules(symbolic, "r", rules, sizeof rules - 1));
  assert_ok(eg_symbolic_print_rules(symbolic, &text));
  assert_non_null(strstr(
      eg_text_of(&text),
      "(rule assoc-add-reversed (lhs (+ (+ ?v0 ?v1) ?v2)) (rhs (+ ?v0 (+ ?v1 ?v2))))\n"));
  assert_ok(eg_symbolic_add_rules(again, "r", eg_text_of(&text), text.chars.len));
  assert_ok(eg_symbolic_print_rules(again, &second));
  assert_string_equal(eg_text_of(&text), eg_text_of(&second));
  eg_symbolic_destroy(symbolic);
  eg_symbolic_destroy(again);
  eg_text_deinit(&text);
  eg_text_deinit(&second);
}

// ---- JSON ------------------------------------------------------------------------

/// The cost of the best tree that our own extraction finds in a file.
static double extracted(const api_kit *kit, const char *path) {
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, kit->alloc));
  assert_ok(eg_gym_json_read(path, &problem, NULL));
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.method = EG_EXTRACT_TREE;
  eg_extract_result result;
  eg_extract_result_init(&result, kit->alloc);
  assert_ok(eg_extract_solve(kit->alloc, &problem, &options, &result));
  double cost = result.tree_cost;
  eg_extract_result_deinit(&result);
  eg_extract_problem_deinit(&problem);
  return cost;
}

static void note_root(void *user, egraph_class root) { *(egraph_class *)user = root; }

static void json_goes_to_extraction_and_back(void **state) {
  const api_kit *kit = *state;
  files f = temporary();
  egraph_class root, read;
  egraph_terms *terms = create(kit, "(+ b (+ c (+ 0 d)))", &root), *loaded;
  saturate(terms, 4);
  // The smallest term has no symbol twice, so that its tree is its DAG.
  assert_ok(egraph_terms_save_json(terms, &root, 1, f.path));
  char *text;
  uint64_t size, again;
  assert_ok(egraph_terms_smallest(&kit->alloc, terms, root, &text, &size));
  egraph_string_free(&kit->alloc, text);
  assert_true(extracted(kit, f.path) == (double)size);
  assert_ok(egraph_terms_load_json(&kit->alloc, f.path, note_root, &read, &loaded));
  assert_ok(egraph_terms_check(loaded));
  assert_same_info(terms, loaded);
  assert_ok(egraph_terms_smallest(&kit->alloc, loaded, read, &text, &again));
  egraph_string_free(&kit->alloc, text);
  assert_int_equal(size, again);
  assert_fails(egraph_terms_save_json(terms, &(egraph_class){1u << 20}, 1, f.path),
               EGRAPH_E_ARGUMENT, "no class");
  egraph_terms_destroy(terms);
  egraph_terms_destroy(loaded);
  assert_int_equal(unlink(f.path), 0);
}

static egraph_status parse(egraph_allocator alloc, const char *text, uint32_t *out_nodes,
                           uint32_t *out_classes) {
  eg_symbolic *symbolic;
  eg_classes roots;
  eg_classes_init(&roots, alloc);
  egraph_status status =
      eg_symbolic_parse_json(&alloc, "f.json", text, strlen(text), &roots, &symbolic);
  if (status == EGRAPH_OK) {
    const eg_engine *engine = eg_symbolic_engine_of(symbolic);
    *out_nodes = eg_engine_node_count(engine);
    *out_classes = eg_engine_class_count(engine);
    assert_ok(eg_engine_check(engine));
    eg_symbolic_destroy(symbolic);
  }
  eg_classes_deinit(&roots);
  return status;
}

static void json_may_have_cycles_and_equal_nodes(void **state) {
  const api_kit *kit = *state;
  uint32_t nodes, classes;
  // x = f(x) = a, and two classes with g(x) that are one.
  assert_ok(parse(kit->alloc,
                  "{\"nodes\": {\"n0\": {\"op\": \"f\", \"children\": [\"n0\"], "
                  "\"eclass\": \"x\"},"
                  "\"n2\": {\"op\": \"g\", \"children\": [\"n1\"], \"eclass\": \"y\", "
                  "\"cost\": 3},"
                  "\"n3\": {\"op\": \"g\", \"children\": [\"n0\"], \"eclass\": \"z\"},"
                  "\"n1\": {\"eclass\": \"x\", \"op\": \"a\", \"more\": [1, {}]}},"
                  "\"root_eclasses\": [\"y\", \"z\"], \"class_data\": {}}",
                  &nodes, &classes));
  assert_int_equal(nodes, 3);
  assert_int_equal(classes, 2);
  assert_ok(parse(kit->alloc, "{\"nodes\": {}}", &nodes, &classes));
  assert_int_equal(nodes, 0);
}

static void json_mistakes_are_named(void **state) {
  const api_kit *kit = *state;
  uint32_t n, c;
#define REFUSED(text, why)                                                               \
  assert_fails(parse(kit->alloc, text, &n, &c), EGRAPH_E_PARSE, why)
  REFUSED("", "f.json");
  REFUSED("{}", "no object \"nodes\"");
  REFUSED("{\"nodes\": {\"a\": {\"op\": \"f\"}}}", "node 'a' has no \"eclass\"");
  REFUSED("{\"nodes\": {\"a\": {\"eclass\": \"f\"}}}", "node 'a' has no \"op\"");
  REFUSED("{\"nodes\": {\"a\": {\"op\": \"f g\", \"eclass\": \"x\"}}}", "is no symbol");
  REFUSED("{\"nodes\": {\"a\": {\"op\": \"f\", \"eclass\": \"x\", \"children\": "
          "[\"b\"]}}}",
          "node 'a' has child 'b', which does not exist");
  REFUSED("{\"nodes\": {\"a\": {\"op\": \"f\", \"eclass\": \"x\"}, \"a\": {}}}",
          "a duplicate of node 'a'");
  REFUSED("{\"nodes\": {}, \"root_eclasses\": [\"x\"]}", "root 0 ('x') is not the class");
  REFUSED("{\"nodes\": {}, \"nodes\": {}}", "second time");
  REFUSED("{\"problem\": {}}", "use egraph shard");
}

// ---- memory ----------------------------------------------------------------------

static egraph_status save_and_load(egraph_allocator alloc, void *user) {
  const files *f = user;
  egraph_terms *terms, *loaded;
  egraph_class root;
  EG_TRY(egraph_terms_create(&alloc, &terms));
  egraph_status status = egraph_terms_add_rule_text(terms, "rules", rules);
  if (status == EGRAPH_OK) status = egraph_terms_add(terms, "t", "(f (g a) a)", &root);
  if (status == EGRAPH_OK) status = egraph_terms_rebuild(terms);
  if (status == EGRAPH_OK) status = egraph_terms_save(terms, f->path);
  bool is_loaded = false;
  if (status == EGRAPH_OK) {
    status = egraph_terms_load(&alloc, f->path, &loaded);
    is_loaded = status == EGRAPH_OK;
  }
  if (is_loaded) egraph_terms_destroy(loaded);
  if (status == EGRAPH_OK) status = egraph_terms_save_json(terms, &root, 1, f->path);
  if (status == EGRAPH_OK) {
    status = egraph_terms_load_json(&alloc, f->path, NULL, NULL, &loaded);
    if (status == EGRAPH_OK) egraph_terms_destroy(loaded);
  }
  egraph_terms_destroy(terms);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  files f = temporary();
  test_every_allocation_failing(save_and_load, &f);
  assert_int_equal(unlink(f.path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(a_loaded_e_graph_goes_on_as_the_saved_one),
      api_test(other_files_are_refused),
      api_test(rules_are_printed_as_they_are_read),
      api_test(json_goes_to_extraction_and_back),
      api_test(json_may_have_cycles_and_equal_nodes),
      api_test(json_mistakes_are_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
