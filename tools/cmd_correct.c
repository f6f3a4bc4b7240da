// egraph rules correct: rules that hold on a part of their result, corrected.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/planning.h"
#include "tools/text_file.h"

typedef struct correction_counts {
  uint32_t pairs, rules;
  bool json, quiet; // quiet: the rules are on stdout
} correction_counts;

static void on_correction(void *user, const egraph_rule_correction *found) {
  correction_counts *counts = user;
  counts->pairs++;
  counts->rules += found->rules;
  progress_line("correct", found->rule);
  if (counts->json) {
    json_open(NULL, '{');
    json_text("rule", found->rule);
    json_bool("corrected", found->is_corrected);
    json_text("detail", found->detail);
    json_int("rules", found->rules);
    json_close('}');
    return;
  }
  progress_clear();
  show(counts->quiet ? stderr : stdout, "%-13s  %s: %s\n",
       found->is_corrected ? "corrected" : "not corrected", found->rule, found->detail);
}

static egraph_status correct(const egraph_rules *rules, uint64_t seed, const char *path,
                             bool json, bool *out_done) {
  correction_counts counts = {.json = json, .quiet = path == NULL};
  char *text = NULL;
  if (json) {
    json_begin();
    json_open("corrections", '[');
  }
  egraph_status status =
      egraph_rules_correct(NULL, rules, seed, on_correction, &counts, &text);
  progress_clear();
  if (json) {
    json_close(']');
    json_int("pairs", counts.pairs);
    json_int("rules", counts.rules);
    json_end();
  }
  if (status != EGRAPH_OK) return status;
  *out_done = counts.rules != 0;
  if (counts.rules != 0 && path != NULL) *out_done = text_file_write(path, text);
  if (counts.rules != 0 && path == NULL && !json) fputs(text, stdout);
  if (!json)
    fprintf(path == NULL ? stderr : stdout, "%u pair%s, %u corrected rule%s\n",
            counts.pairs, counts.pairs == 1 ? "" : "s", counts.rules,
            counts.rules == 1 ? "" : "s");
  egraph_string_free(NULL, text);
  return EGRAPH_OK;
}

static void say_no_rules(const positional *files) {
  fprintf(stderr, "egraph: %s%s: there is no rule to correct\n", files->items[0],
          files->count > 1 ? " and the others" : "");
}

int command_rules_correct(int argc, char **argv) {
  bool json = false, is_done = false;
  const char *path = NULL;
  uint64_t seed = 1;
  command cmd = {.name = "rules correct",
                 .usage = "FILE ... [options]",
                 .summary = "Corrects rules whose sides are equal on a part of their "
                            "result: finds that part, and writes rules that compute the "
                            "rest by the left side.",
                 .min_positional = 1,
                 .max_positional = MAX_POSITIONAL};
  add_heading(&cmd, "Correction");
  add_uint(&cmd, "--seed N", &seed, 0, 0, "seed of the instances");
  add_heading(&cmd, "Output");
  add_text(&cmd, "-o FILE", &path, "write the corrected rules there: mine.rules");
  add_json(&cmd, &json);
  positional files;
  int parsed = parse_arguments(&cmd, argc, argv, &files);
  if (parsed != PARSE_RUN) return parsed;
  for (size_t i = 0; i < files.count; i++)
    if (files_are_same(path, files.items[i])) {
      (void)say_overwritten(path, "a file of rules that is read");
      return EXIT_USAGE;
    }
  if (path != NULL && !file_can_be_written(path)) return EXIT_FAILED;
  egraph_rules *rules = NULL;
  egraph_status status = egraph_rules_create(NULL, &rules);
  if (status == EGRAPH_OK) egraph_rules_trust(rules, true);
  for (size_t i = 0; status == EGRAPH_OK && i < files.count; i++)
    status = egraph_rules_add_file(rules, files.items[i]);
  if (status == EGRAPH_OK && egraph_rules_count(rules) != 0)
    status = correct(rules, seed, path, json, &is_done);
  else if (status == EGRAPH_OK)
    say_no_rules(&files);
  egraph_rules_destroy(rules);
  if (status != EGRAPH_OK) return report_failure(status);
  return is_done ? EXIT_DONE : EXIT_FAILED;
}
