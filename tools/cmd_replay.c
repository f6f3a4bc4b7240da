// egraph replay: checks that a result follows from a model by an explanation and
// rules alone.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/text_file.h"

typedef struct replay_flags {
  load_flags load;
  text_list rules;
  bool trust, json;
} replay_flags;

/// Returns the dimensions of the flags that are open in a graph.
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

/// Loads the result at the sizes at which it was optimized; open sizes have the examples
/// of the model.
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
  EG_TRY(load_model(path, &as_written, out));
  as_written.dims = open_dims_of(*out, &flags->dims);
  if (egraph_graph_open_dims(*out) != 0) as_written.batch = flags->batch;
  if (as_written.dims.count == 0 && as_written.batch == 0) return EGRAPH_OK;
  egraph_graph_destroy(*out);
  *out = NULL;
  return load_model(path, &as_written, out);
}

static void print_report(const egraph_replay_report *r, bool json) {
  if (json) {
    JSON_PRINT(JSON("equal", (bool)true), JSON("steps", r->steps),
               JSON("rules", r->rules), JSON("constants", r->constants),
               JSON("math", egraph_math_name(r->math)), JSON("seconds", r->seconds));
    return;
  }
  printf("equal by %u steps of %u rules (math %s), %u weights computed again; %.2f "
         "seconds\n",
         r->steps, r->rules, egraph_math_name(r->math), r->constants, r->seconds);
}

/// Loads MODEL and RESULT, replays the explanation and prints the outcome.
static egraph_status replay(const replay_flags *flags, const char *const *files,
                            const char *explanation, egraph_graph **given) {
  egraph_replay_report report;
  OWNED(egraph_rules, rules);
  OWNED(egraph_graph, result);
  EG_TRY(load_rules(true, flags->trust, flags->rules.items, flags->rules.count, &rules));
  EG_TRY(load_model(files[0], &flags->load, given));
  EG_TRY(load_result(&flags->load, *given, files[1], &result));
  EG_TRY(egraph_replay(NULL, *given, result, rules, files[2], explanation, &report));
  print_report(&report, flags->json);
  return EGRAPH_OK;
}

int command_replay(int argc, char **argv) {
  command cmd = new_command("replay", "MODEL RESULT EXPLANATION [options]", 3, 3,
                            "Checks that a result of egraph optimize is equal to the "
                            "model: replays every step of its explanation (optimize "
                            "--explanation) over the rules alone, without a search.");
  replay_flags flags = {.json = false};
  add_load_flags(&cmd, &flags.load);
  add_heading(&cmd, "Rules");
  add_list(&cmd, "--rules FILE", &flags.rules,
           "rules beside the shipped ones (repeatable)");
  add_switch(&cmd, "--trust", &flags.trust, "take rules of files without verifying them");
  add_heading(&cmd, "Output");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(files, &cmd, argc, argv);
  char *explanation = text_file_read(files.items[2]);
  if (explanation == NULL) {
    (void)complain_of_file(files.items[2]);
    return EXIT_FAILED;
  }
  OWNED(egraph_graph, given);
  egraph_status status = replay(&flags, files.items, explanation, &given);
  free(explanation);
  int outcome = outcome_of(status);
  bool has_sizes = flags.load.dims.count != 0 || flags.load.batch != 0 ||
                   (given != NULL && egraph_graph_open_dims(given) != 0);
  // The shapes in an explanation depend on the sizes of dimensions.
  if (status == EGRAPH_E_ARGUMENT && has_sizes)
    note("an explanation is of the sizes that the model was optimized for; give the same "
         "--dim and --batch");
  return outcome;
}
