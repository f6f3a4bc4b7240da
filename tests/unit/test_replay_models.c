// Real networks: what the search makes of them is explained, in less than a megabyte, and
// replayed in less time than saturation took, written to a file and read again too.
// Skipped without the models.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE // mkstemps
#include <dirent.h>
#include <stdlib.h>

#include "include/egraph.h"
#include "tests/testing.h"

enum { MOST_MODELS = 64, MOST_BYTES = 1 << 20, MOST_NAME = 200 };

static egraph_graph *load(const char *path) {
  egraph_load_options options = egraph_load_options_default();
  egraph_graph *graph;
  options.draw_weights = true;
  options.batch = 1;
  assert_ok(egraph_graph_load(NULL, path, &options, &graph));
  return graph;
}

static void check_model(const char *path, const egraph_rules *rules) {
  egraph_graph *graph = load(path);
  egraph_search search = egraph_search_default();
  const egraph_options options = {.size = sizeof options, .search = &search};
  egraph_result *result;
  egraph_replay_report report, again;
  const char *text;
  search.explain = true;
  assert_ok(egraph_optimize(NULL, graph, rules, NULL, &options, &result));
  assert_ok(egraph_result_explanation(result, &text));
  assert_ok(
      egraph_replay(NULL, graph, egraph_result_graph(result), rules, "e", text, &report));
  char file[] = "/tmp/egraph-replay-XXXXXX.onnx";
  assert_true(mkstemps(file, 5) >= 0);
  assert_ok(egraph_graph_save(egraph_result_graph(result), file));
  egraph_graph *written = load(file);
  assert_ok(egraph_replay(NULL, graph, written, rules, "e", text, &again));
  const egraph_report *r = egraph_result_report(result);
  print_message("%s: %zu bytes, %u steps of %u rules, %u constants; saturation %.3f s, "
                "explanation %.3f s, replay %.3f s\n",
                strrchr(path, '/') + 1, strlen(text), report.steps, report.rules,
                report.constants, r->saturate_seconds, r->explain_seconds,
                report.seconds);
  assert_true(report.steps != 0 && strlen(text) <= MOST_BYTES);
  egraph_graph_destroy(written);
  (void)remove(file);
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static void models_are_explained(void **state) {
  (void)state;
  static char names[MOST_MODELS][MOST_NAME];
  size_t count = 0;
  DIR *folder = opendir(EG_DATA_DIR "/onnx");
  if (folder == NULL) {
    print_message("skipped: there are no models in " EG_DATA_DIR "/onnx\n");
    skip();
  }
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    const char *dot = strrchr(entry->d_name, '.');
    if (dot != NULL && strcmp(dot, ".onnx") == 0 && count < MOST_MODELS)
      (void)snprintf(names[count++], MOST_NAME, "%.190s", entry->d_name);
  }
  (void)closedir(folder);
  qsort(names, count, sizeof *names, compare_names);
  egraph_rules *rules;
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  for (size_t i = 0; i < count; i++) {
    char path[sizeof EG_DATA_DIR + MOST_NAME + 8];
    (void)snprintf(path, sizeof path, EG_DATA_DIR "/onnx/%.200s", names[i]);
    check_model(path, rules);
  }
  egraph_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_explained)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
