// egraph rules minimize: the smallest set of rules that implies others.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "tools/arguments.h"
#include "tools/planning.h"
#include "tools/text_file.h"

typedef struct need_counts {
  uint32_t kept, implied;
  bool json;
} need_counts;

static void on_need(void *user, const egraph_rule_need *need) {
  need_counts *counts = user;
  *(need->is_kept ? &counts->kept : &counts->implied) += 1;
  if (counts->json) {
    json_open(NULL, '{');
    json_text("rule", need->rule);
    json_bool("kept", need->is_kept);
    if (!need->is_kept) json_text("by", need->by);
    json_close('}');
  } else if (!need->is_kept) {
    show(stdout, "implied  %s: %s\n", need->rule, need->by);
  }
}

static egraph_status read_rules(const positional *files, egraph_rules **out) {
  egraph_status status = egraph_rules_create(NULL, out);
  if (status == EGRAPH_OK && files->count == 0) status = egraph_rules_add_builtin(*out);
  for (size_t i = 0; status == EGRAPH_OK && i < files->count; i++)
    status = egraph_rules_add_file(*out, files->items[i]);
  return status;
}

static egraph_status minimize(const egraph_rules *rules, const char *path, bool json,
                              bool *out_written) {
  need_counts counts = {.json = json};
  char *text = NULL;
  if (json) {
    json_begin();
    json_open("rules", '[');
  }
  egraph_status status = egraph_rules_minimize(NULL, rules, on_need, &counts, &text);
  if (json) {
    json_close(']');
    json_int("kept", counts.kept);
    json_int("implied", counts.implied);
    json_end();
  }
  if (status != EGRAPH_OK) return status;
  if (!json)
    printf("%u of %u rules kept, found greedily; %u implied by these\n", counts.kept,
           counts.kept + counts.implied, counts.implied);
  *out_written = path == NULL || text_file_write(path, text);
  egraph_string_free(NULL, text);
  return EGRAPH_OK;
}

int command_rules_minimize(int argc, char **argv) {
  bool json = false, is_written = true;
  const char *path = NULL;
  command cmd = {.name = "rules minimize",
                 .usage = "[FILE ...] [options]",
                 .summary = "Finds, greedily, a smallest subset of rules (the shipped "
                            "ones, or those of the files) that implies the others by "
                            "saturation.",
                 .max_positional = MAX_POSITIONAL};
  add_heading(&cmd, "Output");
  add_text(&cmd, "-o FILE", &path, "write the rules that are kept: small.rules");
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
  egraph_status status = read_rules(&files, &rules);
  if (status == EGRAPH_OK) status = minimize(rules, path, json, &is_written);
  egraph_rules_destroy(rules);
  if (status != EGRAPH_OK) return report_failure(status);
  return is_written ? EXIT_DONE : EXIT_FAILED;
}
