// egraph rules: lists, prints and verifies rewrite rules.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/lists.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/rule_reports.h"
#include "tools/tensor_files.h"

// ---- import -----------------------------------------------------------------------

// Outcomes of egraph_rules_import, in the order of the summary.
static const char *const outcomes[] = {"tested",    "holds-if", "implied",
                                       "duplicate", "refuted",  "not-convertible"};
enum { OUTCOMES = sizeof outcomes / sizeof *outcomes };

typedef struct import_row {
  const char *file, *outcome;
  uint32_t number;
  char *detail;
} import_row;

typedef struct import_report {
  const char *file; // the file that is being read
  uint32_t count[OUTCOMES];
  import_row *rows;
  size_t row_count, room;
} import_report;

static void on_imported(void *user, uint32_t number, const char *outcome,
                        const char *detail) {
  import_report *report = user;
  for (uint32_t i = 0; i < OUTCOMES; i++)
    report->count[i] += strcmp(outcome, outcomes[i]) == 0;
  (void)progress_line("import", "%s", outcome);
  report->rows =
      list_grow(report->rows, report->row_count, &report->room, sizeof *report->rows);
  report->rows[report->row_count++] =
      (import_row){report->file, outcome, number, text_copy(detail, strlen(detail))};
}

static void print_import(const import_report *report) {
  for (size_t i = 0; i < report->row_count; i++) {
    const import_row *row = &report->rows[i];
    show(stdout, "%-15s  %s:%u%s%s\n", row->outcome, row->file, row->number,
         row->detail[0] != '\0' ? ": " : "", row->detail);
  }
  printf("%zu substitutions:", report->row_count);
  for (uint32_t i = 0; i < OUTCOMES; i++)
    printf("%s %u %s", i == 0 ? "" : ",", report->count[i], outcomes[i]);
  printf("\n");
}

static void json_import(const import_report *report) {
  json_begin();
  json_int("substitutions", report->row_count);
  for (uint32_t i = 0; i < OUTCOMES; i++)
    json_int(outcomes[i], report->count[i]);
  json_open("report", '[');
  for (const import_row *row = report->rows; row < report->rows + report->row_count;
       row++)
    JSON_OBJECT(NULL, JSON("file", row->file), JSON("number", row->number),
                JSON("outcome", row->outcome), JSON("detail", row->detail));
  json_close(']');
  json_end();
}

static egraph_status import(egraph_rules *rules, const text_list *files, bool quiet,
                            bool json) {
  import_report report = {.rows = NULL};
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; status == EGRAPH_OK && i < files->count; i++) {
    report.file = files->items[i];
    status = egraph_rules_import(rules, report.file, on_imported, &report);
  }
  progress_clear();
  if (status == EGRAPH_OK && !quiet) (json ? json_import : print_import)(&report);
  for (size_t i = 0; i < report.row_count; i++)
    free(report.rows[i].detail);
  free(report.rows);
  return status;
}

// ---- lists ------------------------------------------------------------------------

/// True when the rule is applied by default.
static bool is_on(const egraph_rule_info *info) {
  return info->is_on && info->math <= EGRAPH_MATH_ASSOCIATIVE;
}

static void list_rule(egraph_rule_info info, const char *use) {
  show(stdout, "%-44s %-11s %-7s  %s:%u  %s\n", info.name, egraph_math_name(info.math),
       use, info.file, info.line, info.source);
}

static void list_text(const egraph_rules *rules) {
  uint32_t implied = egraph_rules_implied_count(rules);
  printf("%-44s %-11s %-7s  from\n", "rule", "class", "default");
  for (uint32_t i = 0; i < egraph_rules_count(rules); i++) {
    egraph_rule_info info = egraph_rules_at(rules, i);
    list_rule(info, is_on(&info) ? "on" : "off");
  }
  if (implied == 0) return;
  printf("\n%u say%s nothing that layouts do not imply, or repeat%s a rule:\n", implied,
         implied == 1 ? "s" : "", implied == 1 ? "s" : "");
  for (uint32_t i = 0; i < implied; i++)
    list_rule(egraph_rules_implied_at(rules, i), "implied");
}

static void json_rule(egraph_rule_info info, bool is_applied) {
  JSON_OBJECT(
      NULL, JSON("name", info.name), JSON("file", info.file), JSON("line", info.line),
      JSON("source", info.source), JSON("class", egraph_math_name(info.math)),
      JSON("on", (bool)(is_applied && is_on(&info))), JSON("known_as", info.known_as));
}

static void list_json(const egraph_rules *rules) {
  json_begin_list("rules");
  for (uint32_t i = 0; i < egraph_rules_count(rules); i++)
    json_rule(egraph_rules_at(rules, i), true);
  json_close(']');
  JSON_EACH("implied", i, egraph_rules_implied_count(rules))
    json_rule(egraph_rules_implied_at(rules, i), false);
  json_end();
}

static egraph_status print_text(const char *key, const char *text, bool json) {
  if (json)
    JSON_PRINT(JSON(key, text));
  else
    fputs(text, stdout);
  return EGRAPH_OK;
}

static egraph_status print_operators(bool json) {
  OWNED_TEXT(text);
  EG_TRY(egraph_operators_text(NULL, &text));
  return print_text("operators", text, json);
}

static egraph_status print_canonical(rule_request *request) {
  OWNED_TEXT(text);
  EG_TRY(egraph_rules_text(NULL, request->rules, &text));
  return print_text("text", text, request->json);
}

static egraph_status list_rules(rule_request *request) {
  (request->json ? list_json : list_text)(request->rules);
  return EGRAPH_OK;
}

// ---- the command ------------------------------------------------------------------

typedef struct rules_flags {
  rule_request request;
  text_list imported;
  const char *output;
  bool verify, derive, print, builtin, operators, trust;
} rules_flags;

static void add_rules_flags(command *cmd, rules_flags *f) {
  add_heading(cmd, "Rules");
  add_switch(cmd, "--builtin", &f->builtin, "add the shipped rules to the files given");
  add_list(cmd, "--import FILE", &f->imported,
           "add published substitutions of TASO, Tensat or Unity, and report what "
           "becomes of each (repeatable)");
  add_switch(cmd, "--trust", &f->trust, "read rule files without verifying them");
  add_heading(cmd, "Output");
  add_switch(cmd, "--verify", &f->verify,
             "check both sides of every rule numerically, and print a verdict for each; "
             "--prove and --guards add to the verdict");
  add_switch(
      cmd, "--guards", &f->request.guards,
      "find conditions under which rules hold, and conditions that could be weaker");
  add_switch(cmd, "--prove", &f->request.proves,
             "prove every rule for all ranks, sizes and attribute values, or say why "
             "not; without --verify nothing is tested");
  add_switch(cmd, "--derive", &f->derive,
             "derive instances of rules without a proof from proved rules, by steps that "
             "are replayed");
  add_text(cmd, "--smt FOLDER", &f->request.folder,
           "write a question for an SMT solver (SMT-LIB 2.6) for an instance of every "
           "rule: unsat means equal");
  add_uint(cmd, "--seed N", &f->request.seed, 0, 0, "seed of the verification");
  add_switch(cmd, "--print", &f->print, "print the rules in canonical form");
  add_switch(cmd, "--operators", &f->operators,
             "list the operators that graphs and rules are written with");
  add_text(cmd, "-o FILE", &f->output, "write the rules there: my.rules");
  add_json(cmd, &f->request.json);
}

/// Reads the rules, writes and reports them as the flags say.
static egraph_status run_rules(rules_flags *f, const positional *files) {
  rule_request *request = &f->request;
  bool is_silent = f->imported.count != 0 || f->output != NULL;
  // The first row whose flag is given runs. The last two rows print rules. The other
  // rows examine rules: a wrong rule is then a result and no error.
  const struct {
    bool is_given, examines;
    egraph_status (*answer)(rule_request *request);
  } answers[] = {{f->verify, true, print_verdicts},
                 {request->guards, true, print_guards},
                 {request->proves, true, print_proofs},
                 {f->derive, true, print_derivations},
                 {request->folder != NULL, true, write_questions},
                 {f->print, false, print_canonical},
                 {!is_silent, false, list_rules}};
  enum { ANSWERS = sizeof answers / sizeof *answers };
  size_t chosen = 0;
  while (chosen < ANSWERS && !answers[chosen].is_given)
    chosen++;
  bool examines = chosen < ANSWERS && answers[chosen].examines;
  bool builtin = f->builtin || (files->count == 0 && f->imported.count == 0);
  OWNED(egraph_rules, rules);
  EG_TRY(load_rules(builtin, f->trust || examines, files->items, files->count, &rules));
  if (f->imported.count != 0)
    EG_TRY(import(rules, &f->imported, examines || f->print, request->json));
  bool is_written = true;
  if (f->output != NULL) {
    OWNED_TEXT(text);
    EG_TRY(egraph_rules_text(NULL, rules, &text));
    is_written = tensor_write(f->output, text, strlen(text));
  }
  request->rules = rules;
  if (chosen < ANSWERS) EG_TRY(answers[chosen].answer(request));
  request->has_failed = request->has_failed || !is_written;
  return EGRAPH_OK;
}

int command_rules(int argc, char **argv) {
  rules_flags flags = {.request.seed = 1};
  command cmd =
      new_command("rules", "[FILE ...] [options]", 0, MAX_POSITIONAL,
                  "Lists rewrite rules: the shipped ones, or those of the files given.");
  add_rules_flags(&cmd, &flags);
  PARSE_ARGUMENTS(files, &cmd, argc, argv);
  if (flags.operators && files.count == 0)
    return outcome_of(print_operators(flags.request.json));
  if (flags.operators) {
    show(stderr,
         "egraph: --operators lists those of this program, and reads no file '%s'\n",
         files.items[0]);
    return EXIT_USAGE;
  }
  egraph_status status = run_rules(&flags, &files);
  if (status != EGRAPH_OK) return report_failure(status);
  return flags.request.has_failed ? EXIT_FAILED : EXIT_DONE;
}
