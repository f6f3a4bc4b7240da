// egraph rules generate: generates rewrite rules.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/text_file.h"

static bool show_line(void *user, const char *line) {
  (void)user;
  return progress_line("generate", "%s", line);
}

/// Prints why some candidates for rules were not judged, and how to resume.
static void print_rest(FILE *file, const egraph_generate_options *options) {
  if (!interrupted())
    fprintf(file, "; not all candidates are judged\n");
  else if (options->state != NULL)
    fprintf(file, "; interrupted: the same command goes on from %s\n", options->state);
  else
    fprintf(file, "; interrupted: with --state FILE another run can go on\n");
}

static void print_report(FILE *file, const egraph_generate_options *options,
                         const egraph_generate_report *r) {
  fprintf(file, "terms       %" PRIu64 " of %" PRIu64 " values, %" PRIu64 " pairs\n",
          r->terms, r->values, r->pairs);
  fprintf(file,
          "left out    %" PRIu64 " accidents, %" PRIu64
          " instances of another pair, %" PRIu64 " that read like another\n",
          r->accidents, r->instances, r->repeated);
  fprintf(file,
          "candidates  %" PRIu64 ", of which %" PRIu64 " are judged: %" PRIu64
          " implied, %" PRIu64 " refused, %" PRIu64 " unsound, %" PRIu64
          " implied later\n",
          r->candidates, r->judged, r->implied, r->refused, r->unsound, r->minimized);
  fprintf(file,
          "rules       %" PRIu64 ", of which %" PRIu64 " hold both ways; %" PRIu64
          " more are cases of them%s",
          r->rules, r->both_ways, r->merged, r->is_complete ? "\n" : "");
  if (!r->is_complete) print_rest(file, options);
  fprintf(file,
          "time        terms %s, pairs %s, judging %s; terms held %s in %" PRIu32
          " pass%s\n",
          seconds_text(r->enumerate_seconds).text, seconds_text(r->sift_seconds).text,
          seconds_text(r->judge_seconds).text, bytes_text((double)r->peak_bytes).text,
          r->passes, r->passes == 1 ? "" : "es");
}

static void json_report(const egraph_generate_report *r) {
  JSON_BEGIN(JSON("terms", r->terms), JSON("values", r->values), JSON("pairs", r->pairs),
             JSON("accidents", r->accidents), JSON("instances", r->instances),
             JSON("repeated", r->repeated), JSON("candidates", r->candidates),
             JSON("judged", r->judged), JSON("implied", r->implied),
             JSON("refused", r->refused), JSON("unsound", r->unsound),
             JSON("implied_later", r->minimized), JSON("rules", r->rules),
             JSON("both_ways", r->both_ways), JSON("merged", r->merged),
             JSON("complete", r->is_complete), JSON("passes", r->passes),
             JSON("peak_bytes", r->peak_bytes));
  JSON_OBJECT("seconds", JSON("enumerate", r->enumerate_seconds),
              JSON("sift", r->sift_seconds), JSON("judge", r->judge_seconds));
  json_end();
}

static int print_families(void) {
  OWNED_TEXT(text);
  egraph_status status = egraph_families_text(NULL, &text);
  if (status == EGRAPH_OK) fputs(text, stdout);
  return outcome_of(status);
}

/// True when the output is no file that the run reads or resumes from.
static bool output_is_free(const egraph_generate_options *options, const char *path) {
  bool is_apart = file_is_apart(path, options->family, "the family") &&
                  file_is_apart(path, options->state, "the state");
  for (size_t i = 0; is_apart && i < options->beside_count; i++)
    is_apart = file_is_apart(path, options->beside[i], "rules that are known");
  return is_apart && file_is_apart(options->state, options->family, "the family");
}

static int generate(const egraph_generate_options *options, const char *path, bool json) {
  egraph_generate_report report;
  OWNED_TEXT(text);
  install_interrupt();
  egraph_status status = egraph_rules_generate(NULL, options, &text, &report);
  progress_clear();
  if (status != EGRAPH_OK) return report_failure(status);
  if (path != NULL && !text_file_write(path, text)) return EXIT_FAILED;
  if (json)
    json_report(&report);
  else if (path == NULL)
    fputs(text, stdout);
  if (!json) print_report(path == NULL ? stderr : stdout, options, &report);
  return EXIT_DONE;
}

int command_rules_generate(int argc, char **argv) {
  egraph_generate_options options = egraph_generate_options_default();
  uint64_t byte_limit = 0;
  bool json = false, families = false;
  const char *path = NULL;
  command cmd = new_command(
      "rules generate", "--family NAME [options] [FILE ...]", 0, MAX_POSITIONAL,
      "Makes rewrite rules by machine: terms of a family of operators that have one "
      "value in a finite field, that no rule makes equal, and that the verifier accepts. "
      "The rules of the FILEs, which other runs made, count as known, too.");
  add_heading(&cmd, "Terms");
  add_text(&cmd, "--family NAME", &options.family,
           "operators, attributes and inputs: a shipped family, or a file *.family");
  add_switch(&cmd, "--families", &families, "list the shipped families");
  add_uint32(&cmd, "--operators N", &options.operators, 1, 4,
             "operators of one side of a rule, at most");
  add_uint(&cmd, "--seed N", &options.seed, 0, 0,
           "seed of the points at which terms are compared");
  add_switch(&cmd, "--alone", &options.alone,
             "start without the shipped rules: find rules again that they imply");
  add_heading(&cmd, "Limits");
  add_uint32(&cmd, "--threads N", &options.threads, 1, 1024,
             "threads of the enumeration");
  add_uint(&cmd, "--byte-limit N", &byte_limit, 0, 0,
           "bytes of the enumeration, in several passes; 0: no limit");
  add_uint(&cmd, "--candidates N", &options.candidates, 0, 0,
           "candidates to judge in this run, in batches of 16; 0: all");
  add_text(&cmd, "--state FILE", &options.state,
           "store the state of the run in this file, and resume from it");
  add_heading(&cmd, "Output");
  add_text(&cmd, "-o FILE", &path, "write the rules there");
  add_json(&cmd, &json);
  PARSE_ARGUMENTS(files, &cmd, argc, argv);
  if (families) return print_families();
  if (options.family == NULL)
    return refuse("--family is missing; --families lists the shipped ones");
  options.beside = files.items;
  options.beside_count = files.count;
  if (!output_is_free(&options, path)) return EXIT_USAGE;
  if (!file_can_be_written(path)) return EXIT_FAILED;
  options.byte_limit = (size_t)byte_limit;
  options.progress = show_line;
  return generate(&options, path, json);
}
