#define _POSIX_C_SOURCE 200809L // strndup
// Wrong files of every format that the library takes: cut short, with words of other
// kinds, huge numbers, deep nesting, references to nothing, duplicates. Each fails with
// an error that names the file and the place in it.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "tests/unit/api_kit.h"

enum { CUTS = 24, NESTING = 200000 };

/// A format: a right text, and how it is read under a name.
typedef struct format {
  const char *name; // of the file
  const char *text;
  egraph_status (*read)(const char *name, const char *text, size_t size);
  const char *const *changes; // pairs: a part of the text, and what stands there instead
} format;

// ---- how they are read ------------------------------------------------------------

static egraph_status read_graph(const char *name, const char *text, size_t size) {
  egraph_graph *graph = NULL;
  egraph_status status = egraph_graph_parse(NULL, name, text, size, NULL, &graph);
  egraph_graph_destroy(graph);
  return status;
}

static egraph_status read_plan(const char *name, const char *text, size_t size) {
  egraph_plan *plan = NULL;
  egraph_status status = egraph_plan_parse(NULL, name, text, size, &plan);
  egraph_plan_destroy(plan);
  return status;
}

static egraph_status read_rules(const char *name, const char *text, size_t size) {
  egraph_rules *rules;
  char *copy = strndup(text, size);
  assert_ok(egraph_rules_create(NULL, &rules));
  egraph_status status = egraph_rules_add_text(rules, name, copy);
  egraph_rules_destroy(rules);
  free(copy);
  return status;
}

static egraph_status plan_with(const api_problem *problem) {
  static const char model[] =
      "(egraph-graph 1)(input x \"float32[8,8]\")(weight w \"float32[8,8]\")"
      "(let y (matmul x w))(output y)";
  egraph_graph *graph;
  egraph_plan *plan = NULL;
  assert_ok(egraph_graph_parse(NULL, "m.egraph", model, sizeof model - 1, NULL, &graph));
  egraph_status status = api_plan(NULL, graph, problem, &plan);
  egraph_plan_destroy(plan);
  egraph_graph_destroy(graph);
  return status;
}

static egraph_status read_machine(const char *name, const char *text, size_t size) {
  api_problem problem = api_target(NULL, NULL);
  char *copy = strndup(text, size);
  problem.target.machine = name;
  problem.target.machine_text = copy;
  egraph_status status = plan_with(&problem);
  free(copy);
  return status;
}

static egraph_status read_constraints(const char *name, const char *text, size_t size) {
  api_problem problem = api_target(NULL, NULL);
  FILE *file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  problem.target.machine = "host*2";
  problem.constraints.file = name;
  egraph_status status = plan_with(&problem);
  assert_int_equal(remove(name), 0);
  return status;
}

// ---- the formats ------------------------------------------------------------------

static const char *const graph_changes[] = {"float32[8,8]",
                                            "float33[8,8]",
                                            "[8,8]",
                                            "[8,99999999999999999999]",
                                            "[8,8]",
                                            "[-8,8]",
                                            "[8,8]",
                                            "[9223372036854775807,9223372036854775807]",
                                            "[8,8]",
                                            "[1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
                                            "matmul",
                                            "matmull",
                                            "x w)",
                                            "x v)",
                                            "x w)",
                                            "x y)",
                                            "x w)",
                                            "x)",
                                            "x w)",
                                            ":axis x w)",
                                            "weight w",
                                            "weight x",
                                            "let y",
                                            "let x",
                                            "(output y)",
                                            "(output z)",
                                            "(output y)",
                                            "(output y)(output y)",
                                            "graph 1)",
                                            "graph 2)",
                                            "egraph-graph",
                                            "graph",
                                            "input",
                                            "inptu",
                                            "[8,8]",
                                            "[8,7]",
                                            NULL};
static const char *const rules_changes[] = {"?x ?y))\n  (rhs",
                                            "?x ?y ?z))\n  (rhs",
                                            "(add ?y",
                                            "(add ?q",
                                            "add",
                                            "addd",
                                            "rules 1)",
                                            "rules 9)",
                                            "(lhs",
                                            "(lsh",
                                            "(rhs",
                                            "(lhs",
                                            "(rule sum",
                                            "(rule (sum)",
                                            "(source \"test\")",
                                            "(source test",
                                            "(add ?y ?x)",
                                            "((add ?y ?x))",
                                            "(add ?y ?x)",
                                            "(transpose :perm 99999999999999999999 ?y)",
                                            "(add ?y ?x)",
                                            "(mul ?y ?x)",
                                            "(rule sum",
                                            "(rule sum)(rule sum",
                                            NULL};
static const char *const machine_changes[] = {"(memory 1e9)",
                                              "(memory -1)",
                                              "(memory 1e9)",
                                              "(memory 1e999)",
                                              "(memory 1e9)",
                                              "(memory big)",
                                              "(memory 1e9)",
                                              "(memory 1e9) (memory 1e9)",
                                              "(memory 1e9)",
                                              "",
                                              "gpu 2 wire",
                                              "gpu 2 rope",
                                              "gpu 2 wire",
                                              "gpu 0 wire",
                                              "gpu 2 wire",
                                              "gpu 99999999999 wire",
                                              "gpu 2 wire",
                                              "gpu -2 wire",
                                              "(axis gpu 2 wire)",
                                              "(axis gpu 2 wire)\n(axis gpu 2 wire)",
                                              "float32",
                                              "float33",
                                              "machine 1)",
                                              "machine 7)",
                                              "(link wire",
                                              "(lnik wire",
                                              "(latency 1e-6)",
                                              "(latency -1)",
                                              "(name mine)",
                                              "(name mine) (name yours)",
                                              NULL};
static const char *const constraint_changes[] = {"(pin",
                                                 "(pni",
                                                 "pin w",
                                                 "pin v",
                                                 "cpu=S0",
                                                 "cpu=S0 cpu=R",
                                                 "cpu=S0",
                                                 "gpu=S0",
                                                 "cpu=S0",
                                                 "cpu=S9",
                                                 "cpu=S0",
                                                 "cpu=X",
                                                 "cpu=S0",
                                                 "cpu",
                                                 "cpu=S0",
                                                 "cpu=S99999999999999999999",
                                                 "(forbid y P)",
                                                 "(forbid y)",
                                                 "(forbid y P)",
                                                 "(forbid)",
                                                 "(forbid y P)",
                                                 "forbid y P",
                                                 "(forbid y P)",
                                                 "(forbid (all wieghts) P)",
                                                 "(forbid y P)",
                                                 "(deliver w cpu=S0)",
                                                 "(forbid y P)",
                                                 "(forbid y sideways)",
                                                 NULL};
static const char *const plan_changes[] = {"\"egraph-plan\": 1",
                                           "\"egraph-plan\": 2",
                                           "\"cpu=2\"",
                                           "\"cpu=0\"",
                                           "\"cpu=2\"",
                                           "\"cpu=99999999999\"",
                                           "\"cpu=2\"",
                                           "2",
                                           "\"micro_batches\": 1",
                                           "\"micro_batches\": 0",
                                           "\"micro_batches\": 1",
                                           "\"micro_batches\": 1e300",
                                           "\"micro_batches\": 1",
                                           "\"micro_batches\": \"1\"",
                                           "\"value\": \"x\"",
                                           "\"value\": \"nobody\"",
                                           "\"value\": \"x\"",
                                           "\"value\": 7",
                                           "\"layout\": \"R\"",
                                           "\"layout\": \"S9\"",
                                           "\"layout\": \"R\"",
                                           "\"layout\": \"R,R\"",
                                           "\"outputs\": [2]",
                                           "\"outputs\": [99]",
                                           "\"outputs\": [2]",
                                           "\"outputs\": []",
                                           "\"outputs\": [2]",
                                           "\"outputs\": [-1]",
                                           "\"operands\": [0, 1]",
                                           "\"operands\": [0]",
                                           "\"operands\": [0, 1]",
                                           "\"operands\": [0, 4000000000]",
                                           "\"forward\"",
                                           "\"sideways\"",
                                           "\"node\": \"y\"",
                                           "\"node\": \"x\"",
                                           "\"states\"",
                                           "\"staets\"",
                                           "\"carried\": []",
                                           "\"carried\": [{}]",
                                           NULL};

static const format formats[] = {
    {"wrong.egraph",
     "(egraph-graph 1)\n(input x \"float32[8,8]\")\n(weight w \"float32[8,8]\")\n"
     "(let y (matmul x w))\n(output y)",
     read_graph, graph_changes},
    {"wrong.rules",
     "(egraph-rules 1)\n(rule sum\n  (source \"test\")\n  (lhs (add ?x ?y))\n"
     "  (rhs (add ?y ?x)))",
     read_rules, rules_changes},
    {"wrong.machine",
     "(egraph-machine 1)\n(name mine)\n(device (memory 1e9) (bandwidth 1e10)\n"
     " (overhead 1e-6) (peak (float32 1e10)))\n(link wire (latency 1e-6)\n"
     " (bandwidth 1e9))\n(axis gpu 2 wire)",
     read_machine, machine_changes},
    {"wrong.constraints", "(egraph-constraints 1)\n(pin w cpu=S0)\n(forbid y P)",
     read_constraints, constraint_changes},
    {"wrong.json",
     "{\"egraph-plan\": 1,\n \"mesh\": \"cpu=2\",\n \"micro_batches\": 1,\n"
     " \"graph\": [\"(egraph-graph 1)\",\n  \"(input x \\\"float32[8,8]\\\")\",\n"
     "  \"(weight w \\\"float32[8,8]\\\")\",\n  \"(let y (matmul x w))\",\n"
     "  \"(output y)\"],\n \"states\": [\n  {\"value\": \"x\", \"layout\": \"R\"},\n"
     "  {\"value\": \"w\", \"layout\": \"R\"},\n  {\"value\": \"y\", \"layout\": "
     "\"R\"}],\n"
     " \"steps\": [\n  {\"phase\": \"forward\", \"node\": \"y\", \"operands\": [0, 1],\n"
     "   \"results\": [2], \"seconds\": 1e-6}],\n \"outputs\": [2],\n \"carried\": []}",
     read_plan, plan_changes},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/// "name:12:", or of JSON that is well-formed "name: ...; at $.steps[0]", "plan, step 0".
static bool says_where(const format *f, const char *message) {
  const char *at = strstr(message, f->name);
  if (at == NULL || at[strlen(f->name)] != ':') return false;
  const char *rest = at + strlen(f->name) + 1;
  bool is_json = f->read == read_plan;
  return (*rest >= '1' && *rest <= '9') ||
         (is_json && (strstr(rest, "at $.") != NULL || strstr(rest, "step ") != NULL));
}

static uint32_t refuses(const format *f, const char *text, size_t size,
                        const char *what) {
  egraph_status status = f->read(f->name, text, size);
  const char *message = egraph_last_error();
  bool is_told = status != EGRAPH_OK && status != EGRAPH_E_INTERNAL;
  if (is_told && says_where(f, message)) return 0;
  print_message("%s, %s: %s\n", f->name, what, status == EGRAPH_OK ? "taken" : message);
  return 1;
}

static void the_right_files_are_taken(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMATS; i++)
    assert_ok(formats[i].read(formats[i].name, formats[i].text, strlen(formats[i].text)));
}

static void files_that_are_cut_short_are_refused(void **state) {
  (void)state;
  uint32_t wrong = 0;
  for (size_t i = 0; i < FORMATS; i++) {
    size_t size = strlen(formats[i].text);
    // Between statements a file of constraints may end.
    for (size_t c = 1; c <= CUTS; c++) {
      size_t end = size * c / (CUTS + 1);
      if (end == 0 || formats[i].text[end - 1] == ')' || formats[i].text[end] == '(')
        end++;
      if (formats[i].text[end - 1] == ')' || formats[i].text[end - 1] == '\n') end += 2;
      wrong += refuses(&formats[i], formats[i].text, end, "cut short");
    }
  }
  assert_int_equal(wrong, 0);
}

static void changed_files_are_refused(void **state) {
  (void)state;
  uint32_t wrong = 0;
  for (size_t i = 0; i < FORMATS; i++)
    for (const char *const *c = formats[i].changes; *c != NULL; c += 2) {
      char text[4096], what[256];
      const char *at = strstr(formats[i].text, c[0]);
      if (at == NULL) fail_msg("%s lacks %s", formats[i].name, c[0]);
      int length = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - formats[i].text),
                            formats[i].text, c[1], at + strlen(c[0]));
      (void)snprintf(what, sizeof what, "'%s' in place of '%s'", c[1], c[0]);
      wrong += refuses(&formats[i], text, (size_t)length, what);
    }
  assert_int_equal(wrong, 0);
}

static void deep_nesting_is_refused(void **state) {
  (void)state;
  uint32_t wrong = 0;
  char *deep = malloc(NESTING);
  assert_non_null(deep);
  for (size_t i = 0; i < FORMATS; i++)
    for (int kind = 0; kind < 2; kind++) {
      memset(deep, kind == 0 ? '(' : '[', NESTING);
      wrong += refuses(&formats[i], deep, NESTING, "nested deeply");
    }
  free(deep);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_right_files_are_taken),
      cmocka_unit_test(files_that_are_cut_short_are_refused),
      cmocka_unit_test(changed_files_are_refused),
      cmocka_unit_test(deep_nesting_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
