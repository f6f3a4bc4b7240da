// egraph replay: whether a result follows from a model by an explanation and rules alone.
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/planning.h"
#include "tools/text_file.h"

typedef struct replay_flags {
  load_flags load;
  text_list rules;
  bool trust, json;
} replay_flags;

typedef struct replay_session {
  egraph_graph *given, *result;
  egraph_rules *rules;
  char *text; // of the explanation
} replay_session;

static egraph_status load_rules(const replay_flags *flags, egraph_rules **out) {
  egraph_status status = egraph_rules_create(NULL, out);
  if (status == EGRAPH_OK) status = egraph_rules_add_builtin(*out);
  if (status == EGRAPH_OK) egraph_rules_trust(*out, flags->trust);
  for (size_t i = 0; status == EGRAPH_OK && i < flags->rules.count; i++)
    status = egraph_rules_add_file(*out, flags->rules.items[i]);
  return status;
}

/// Dimensions of the flags that are open in a graph.
static text_list open_dims_of(const egraph_graph *graph, const text_list *dims) {
  text_list found = {.count = 0};
  for (size_t i = 0; i < dims->count; i++)
    for (uint32_t k = 0; k < egraph_graph_open_dims(graph); k++) {
      egraph_dim dim;
      size_t length = strcspn(dims->items[i], "=");
      if (egraph_graph_open_dim(graph, k, &dim) != EGRAPH_OK ||
          strncmp(dim.name, dims->items[i], length) != 0 || dim.name[length] != '\0')
        continue;
      found.items[found.count++] = dims->items[i];
    }
  return found;
}

/// The result has the sizes that it was made for, and those that it leaves open, of which
/// the example is the model's.
static egraph_status load_result(const load_flags *flags, const egraph_graph *given,
                                 const char *path, egraph_graph **out) {
  load_flags as_written = *flags;
  egraph_dim open[MAX_LIST];
  as_written.examples = open;
  for (uint32_t i = 0; i < egraph_graph_open_dims(given) && i < MAX_LIST; i++)
    if (egraph_graph_open_dim(given, i, &open[as_written.example_count]) == EGRAPH_OK)
      as_written.example_count++;
  as_written.draw_weights = false;
  as_written.dims.count = 0;
  as_written.batch = 0;
  egraph_status status = load_model(path, &as_written, out);
  if (status != EGRAPH_OK) return status;
  as_written.dims = open_dims_of(*out, &flags->dims);
  if (egraph_graph_open_dims(*out) != 0) as_written.batch = flags->batch;
  if (as_written.dims.count == 0 && as_written.batch == 0) return EGRAPH_OK;
  egraph_graph_destroy(*out);
  *out = NULL;
  return load_model(path, &as_written, out);
}

static egraph_status load_all(const replay_flags *flags, const char *const *files,
                              replay_session *s) {
  egraph_status status = load_rules(flags, &s->rules);
  if (status == EGRAPH_OK) status = load_model(files[0], &flags->load, &s->given);
  return status == EGRAPH_OK ? load_result(&flags->load, s->given, files[1], &s->result)
                             : status;
}

/// Shapes stand in an explanation as they were.
static void note_sizes(const replay_flags *flags, const replay_session *s) {
  bool has_sizes = flags->load.dims.count != 0 || flags->load.batch != 0;
  if (has_sizes || (s->given != NULL && egraph_graph_open_dims(s->given) != 0))
    fprintf(stderr, "egraph: note: an explanation is of the sizes that the model was "
                    "optimized for; give the same --dim and --batch\n");
}

static void print_report(const egraph_replay_report *r, bool json) {
  if (json) {
    json_begin();
    json_bool("equal", true);
    json_int("steps", r->steps);
    json_int("rules", r->rules);
    json_int("constants", r->constants);
    json_text("math", egraph_math_name(r->math));
    json_real("seconds", r->seconds);
    json_end();
    return;
  }
  printf("equal by %u steps of %u rules (math %s), %u weights computed again; %.2f "
         "seconds\n",
         r->steps, r->rules, egraph_math_name(r->math), r->constants, r->seconds);
}

int command_replay(int argc, char **argv) {
  command cmd = {
      .name = "replay",
      .usage = "MODEL RESULT EXPLANATION [options]",
      .summary =
          "Checks that a result of egraph optimize is equal to the model: replays every "
          "step of its explanation (optimize --explanation) over the rules alone, "
          "without a search.",
      .min_positional = 3,
      .max_positional = 3};
  replay_flags flags = {.json = false};
  add_load_flags(&cmd, &flags.load);
  add_heading(&cmd, "Rules");
  add_list(&cmd, "--rules FILE", &flags.rules,
           "rules beside the shipped ones (repeatable)");
  add_switch(&cmd, "--trust", &flags.trust, "take rules of files without verifying them");
  add_heading(&cmd, "Output");
  add_json(&cmd, &flags.json);
  positional files;
  int parsed = parse_arguments(&cmd, argc, argv, &files);
  if (parsed != PARSE_RUN) return parsed;
  replay_session s = {.given = NULL};
  egraph_replay_report report;
  s.text = text_file_read(files.items[2]);
  if (s.text == NULL) {
    show(stderr, "egraph: %s: %s\n", files.items[2], strerror(errno));
    return EXIT_FAILED;
  }
  egraph_status status = load_all(&flags, files.items, &s);
  if (status == EGRAPH_OK)
    status =
        egraph_replay(NULL, s.given, s.result, s.rules, files.items[2], s.text, &report);
  if (status == EGRAPH_OK) print_report(&report, flags.json);
  int outcome = status == EGRAPH_OK ? EXIT_DONE : report_failure(status);
  if (status == EGRAPH_E_ARGUMENT) note_sizes(&flags, &s);
  egraph_graph_destroy(s.given);
  egraph_graph_destroy(s.result);
  egraph_rules_destroy(s.rules);
  free(s.text);
  return outcome;
}
