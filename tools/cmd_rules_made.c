// Makes rules from other rules: egraph rules correct corrects rules that hold on a part
// of their result; egraph rules minimize finds a small set that implies the others.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/text_file.h"

typedef struct rules_job {
  egraph_rules *rules; // the rules read
  uint64_t seed;
  const char *path; // file for the new rules; NULL: none
  bool json;
  uint32_t pairs, made;   // rules correct
  uint32_t kept, implied; // rules minimize
  bool is_done;           // there are new rules, and they are written
} rules_job;

/// Reads the rule files of the arguments and makes new rules of their rules. `trust`:
/// also reads rules that may be wrong.
static int make_rules(const command *cmd, int argc, char **argv, rules_job *job,
                      bool trust,
                      egraph_status (*make)(rules_job *job, const positional *files)) {
  PARSE_ARGUMENTS(files, cmd, argc, argv);
  for (size_t i = 0; i < files.count; i++)
    if (!file_is_apart(job->path, files.items[i], "a file of rules that is read"))
      return EXIT_USAGE;
  if (!file_can_be_written(job->path)) return EXIT_FAILED;
  egraph_status status =
      load_rules(files.count == 0, trust, files.items, files.count, &job->rules);
  if (status == EGRAPH_OK) status = make(job, &files);
  egraph_rules_destroy(job->rules);
  if (status != EGRAPH_OK) return report_failure(status);
  return job->is_done ? EXIT_DONE : EXIT_FAILED;
}

// ---- rules correct ----------------------------------------------------------------

static void on_correction(void *user, const egraph_rule_correction *found) {
  rules_job *job = user;
  job->pairs++;
  job->made += found->rules;
  (void)progress_line("correct", "%s", found->rule);
  if (job->json) {
    JSON_OBJECT(NULL, JSON("rule", found->rule), JSON("corrected", found->is_corrected),
                JSON("detail", found->detail), JSON("rules", found->rules));
    return;
  }
  progress_clear();
  // Without an output file, standard output contains only the rules.
  show(job->path == NULL ? stderr : stdout, "%-13s  %s: %s\n",
       found->is_corrected ? "corrected" : "not corrected", found->rule, found->detail);
}

static egraph_status correct(rules_job *job, const positional *files) {
  OWNED_TEXT(text);
  if (egraph_rules_count(job->rules) == 0) {
    (void)complain("%s%s: there is no rule to correct", files->items[0],
                   files->count > 1 ? " and the others" : "");
    return EGRAPH_OK;
  }
  if (job->json) json_begin_list("corrections");
  egraph_status status =
      egraph_rules_correct(NULL, job->rules, job->seed, on_correction, job, &text);
  progress_clear();
  if (job->json) JSON_END_LIST(JSON("pairs", job->pairs), JSON("rules", job->made));
  EG_TRY(status);
  job->is_done = job->made != 0;
  if (job->made != 0 && job->path != NULL)
    job->is_done = text_file_write(job->path, text);
  if (job->made != 0 && job->path == NULL && !job->json) fputs(text, stdout);
  if (!job->json)
    fprintf(job->path == NULL ? stderr : stdout, "%u pair%s, %u corrected rule%s\n",
            job->pairs, job->pairs == 1 ? "" : "s", job->made, job->made == 1 ? "" : "s");
  return EGRAPH_OK;
}

int command_rules_correct(int argc, char **argv) {
  rules_job job = {.seed = 1};
  command cmd =
      new_command("rules correct", "FILE ... [options]", 1, MAX_POSITIONAL,
                  "Corrects rules whose sides are equal on a part of their result: finds "
                  "that part, and writes rules that compute the rest by the left side.");
  add_heading(&cmd, "Correction");
  add_uint(&cmd, "--seed N", &job.seed, 0, 0, "seed of the instances");
  add_heading(&cmd, "Output");
  add_text(&cmd, "-o FILE", &job.path, "write the corrected rules there: mine.rules");
  add_json(&cmd, &job.json);
  return make_rules(&cmd, argc, argv, &job, true, correct);
}

// ---- rules minimize ---------------------------------------------------------------

static void on_need(void *user, const egraph_rule_need *need) {
  rules_job *job = user;
  *(need->is_kept ? &job->kept : &job->implied) += 1;
  if (job->json)
    JSON_OBJECT(NULL, JSON("rule", need->rule), JSON("kept", need->is_kept),
                JSON("by", need->is_kept ? NULL : need->by));
  else if (!need->is_kept)
    show(stdout, "implied  %s: %s\n", need->rule, need->by);
}

static egraph_status minimize(rules_job *job, const positional *files) {
  OWNED_TEXT(text);
  (void)files;
  if (job->json) json_begin_list("rules");
  egraph_status status = egraph_rules_minimize(NULL, job->rules, on_need, job, &text);
  if (job->json) JSON_END_LIST(JSON("kept", job->kept), JSON("implied", job->implied));
  EG_TRY(status);
  if (!job->json)
    printf("%u of %u rules kept, found greedily; %u implied by these\n", job->kept,
           job->kept + job->implied, job->implied);
  job->is_done = job->path == NULL || text_file_write(job->path, text);
  return EGRAPH_OK;
}

int command_rules_minimize(int argc, char **argv) {
  rules_job job = {.json = false};
  command cmd =
      new_command("rules minimize", "[FILE ...] [options]", 0, MAX_POSITIONAL,
                  "Finds, greedily, a smallest subset of rules (the shipped ones, or "
                  "those of the files) that implies the others by saturation.");
  add_heading(&cmd, "Output");
  add_text(&cmd, "-o FILE", &job.path, "write the rules of the subset: small.rules");
  add_json(&cmd, &job.json);
  return make_rules(&cmd, argc, argv, &job, false, minimize);
}
