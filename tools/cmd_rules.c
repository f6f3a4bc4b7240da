// egraph rules: lists, prints and verifies rewrite rules.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/planning.h"
#include "tools/rule_guards.h"
#include "tools/rule_verdicts.h"
#include "tools/tensor_files.h"

// What egraph_rules_import says of a substitution, in the order of the summary.
static const char *const outcomes[] = {"tested",    "holds-if", "implied",
                                       "duplicate", "refuted",  "not-convertible"};
enum { OUTCOMES = sizeof outcomes / sizeof *outcomes };

typedef struct import_row {
  const char *file, *outcome;
  uint32_t number;
  char *detail;
} import_row;

typedef struct import_report {
  const char *file; // at the moment
  uint32_t all, count[OUTCOMES];
  import_row *rows;
  uint32_t row_count;
} import_report;

/// How a file's rules fared.
typedef struct prove_counts {
  uint32_t all, proved;
  bool json;
} prove_counts;

static void on_proof(void *user, const egraph_rule_proof *proof) {
  prove_counts *counts = user;
  counts->all++;
  progress_line("prove", proof->rule);
  if (counts->json) {
    json_open(NULL, '{');
    json_text("name", proof->rule);
    json_bool("proved", proof->is_proved);
    if (!proof->is_proved) json_text("reason", proof->reason);
    json_int("cases", proof->cases);
    json_int("ranks", proof->ranks);
    json_close('}');
  } else if (proof->is_proved) {
    show(stdout, "proved for all sizes  %s: %u cases of ranks, axes and flags\n",
         proof->rule, proof->cases);
  } else {
    show(stdout, "not proved            %s: %s\n", proof->rule, proof->reason);
  }
}

static egraph_status prove(const egraph_rules *rules, bool json) {
  prove_counts counts = {.json = json};
  uint32_t proved = 0;
  if (json) {
    json_begin();
    json_open("proofs", '[');
  }
  egraph_status status = egraph_rules_prove(rules, on_proof, &counts, &proved);
  progress_clear();
  if (json) {
    json_close(']');
    json_int("rules", counts.all);
    json_int("proved", proved);
    json_end();
  } else if (status == EGRAPH_OK) {
    printf("%u of %u rules proved for all sizes; none was tested (--verify does)\n",
           proved, counts.all);
  }
  return status;
}

static void on_derivation(void *user, const egraph_rule_derivation *derivation) {
  prove_counts *counts = user;
  counts->all++;
  counts->proved += derivation->is_proved;
  progress_line("derive", derivation->rule);
  if (counts->json) {
    json_open(NULL, '{');
    json_text("name", derivation->rule);
    json_bool("proved", derivation->is_proved);
    json_bool("derived", derivation->is_derived);
    if (derivation->is_derived) {
      json_text("from", derivation->from);
      json_int("instances", derivation->instances);
      json_int("steps", derivation->steps);
    } else if (!derivation->is_proved) {
      json_text("reason", derivation->reason);
    }
    json_close('}');
  } else if (derivation->is_proved) {
    show(stdout, "proved for all sizes  %s\n", derivation->rule);
  } else if (derivation->is_derived) {
    show(stdout, "derived               %s: %u instances, %u steps, from %s\n",
         derivation->rule, derivation->instances, derivation->steps, derivation->from);
  } else {
    show(stdout, "neither               %s: %s\n", derivation->rule, derivation->reason);
  }
}

static egraph_status derive(const egraph_rules *rules, uint64_t seed, bool json) {
  prove_counts counts = {.json = json};
  uint32_t derived = 0;
  if (json) {
    json_begin();
    json_open("derivations", '[');
  }
  egraph_status status =
      egraph_rules_derive(rules, seed, on_derivation, &counts, &derived);
  progress_clear();
  if (json) {
    json_close(']');
    json_int("rules", counts.all);
    json_int("proved", counts.proved);
    json_int("derived", derived);
    json_end();
  } else if (status == EGRAPH_OK) {
    printf("%u of %u rules proved for all sizes, %u derived from them at instances\n",
           counts.proved, counts.all, derived);
  }
  return status;
}

/// Scripts are written to files of a folder, named after the rules.
typedef struct smt_files {
  const char *folder;
  bool json, is_written; // is_written: none has failed
  uint32_t all, written;
} smt_files;

static bool write_script(const smt_files *files, const egraph_rule_question *question) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/%s.smt2", files->folder, question->rule);
  if (length < 0 || (size_t)length >= sizeof path) {
    show(stderr, "egraph: the path of '%s' is too long\n", question->rule);
    return false;
  }
  return tensor_write(path, question->script, strlen(question->script));
}

static void on_question(void *user, const egraph_rule_question *question) {
  smt_files *files = user;
  files->all++;
  progress_line("write", question->rule);
  if (question->script != NULL && files->is_written) {
    files->is_written = write_script(files, question);
    files->written += files->is_written;
  }
  if (files->json) {
    json_open(NULL, '{');
    json_text("name", question->rule);
    json_bool("asked", question->script != NULL);
    json_bool("decisive", question->is_decisive);
    if (question->reason[0] != '\0') json_text("reason", question->reason);
    json_close('}');
  } else if (question->script == NULL) {
    show(stdout, "not asked  %s: %s\n", question->rule, question->reason);
  } else {
    show(stdout, "asked      %s%s%s\n", question->rule, question->is_decisive ? "" : ": ",
         question->reason);
  }
}

static egraph_status ask(const egraph_rules *rules, uint64_t seed, const char *folder,
                         bool json, bool *is_written) {
  smt_files files = {.folder = folder, .json = json, .is_written = true};
  if (json) {
    json_begin();
    json_open("questions", '[');
  }
  egraph_status status = egraph_rules_smt(rules, seed, on_question, &files);
  progress_clear();
  *is_written = files.is_written;
  if (json) {
    json_close(']');
    json_int("rules", files.all);
    json_int("asked", files.written);
    json_end();
  } else if (status == EGRAPH_OK) {
    show(stdout, "%u of %u rules asked in files of %s\n", files.written, files.all,
         folder);
  }
  return status;
}

static void on_imported(void *user, uint32_t number, const char *outcome,
                        const char *detail) {
  import_report *report = user;
  report->all++;
  for (uint32_t i = 0; i < OUTCOMES; i++)
    report->count[i] += strcmp(outcome, outcomes[i]) == 0;
  progress_line("import", outcome);
  size_t size = strlen(detail) + 1;
  import_row *rows = realloc(report->rows, report->all * sizeof *rows);
  if (rows == NULL) return; // the report is shorter then
  report->rows = rows;
  import_row row = {.file = report->file, .number = number, .outcome = outcome};
  row.detail = malloc(size);
  if (row.detail == NULL) return;
  memcpy(row.detail, detail, size);
  rows[report->row_count++] = row;
}

static void print_import(const import_report *report) {
  for (uint32_t i = 0; i < report->row_count; i++) {
    const import_row *row = &report->rows[i];
    show(stdout, "%-15s  %s:%u%s%s\n", row->outcome, row->file, row->number,
         row->detail[0] != '\0' ? ": " : "", row->detail);
  }
  printf("%u substitutions:", report->all);
  for (uint32_t i = 0; i < OUTCOMES; i++)
    printf("%s %u %s", i == 0 ? "" : ",", report->count[i], outcomes[i]);
  printf("\n");
}

static void json_import(const import_report *report) {
  json_begin();
  json_int("substitutions", report->all);
  for (uint32_t i = 0; i < OUTCOMES; i++)
    json_int(outcomes[i], report->count[i]);
  json_open("report", '[');
  for (uint32_t i = 0; i < report->row_count; i++) {
    json_open(NULL, '{');
    json_text("file", report->rows[i].file);
    json_int("number", report->rows[i].number);
    json_text("outcome", report->rows[i].outcome);
    json_text("detail", report->rows[i].detail);
    json_close('}');
  }
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
  for (uint32_t i = 0; i < report.row_count; i++)
    free(report.rows[i].detail);
  free(report.rows);
  return status;
}

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
  json_open(NULL, '{');
  json_text("name", info.name);
  json_text("file", info.file);
  json_int("line", info.line);
  json_text("source", info.source);
  json_text("class", egraph_math_name(info.math));
  json_bool("on", is_applied && is_on(&info));
  if (info.known_as != NULL) json_text("known_as", info.known_as);
  json_close('}');
}

static void list_json(const egraph_rules *rules) {
  json_begin();
  json_open("rules", '[');
  for (uint32_t i = 0; i < egraph_rules_count(rules); i++)
    json_rule(egraph_rules_at(rules, i), true);
  json_close(']');
  json_open("implied", '[');
  for (uint32_t i = 0; i < egraph_rules_implied_count(rules); i++)
    json_rule(egraph_rules_implied_at(rules, i), false);
  json_close(']');
  json_end();
}

/// Takes the text.
static egraph_status print_file_text(egraph_status status, char *text, const char *key,
                                     bool json) {
  if (status != EGRAPH_OK) return status;
  if (json) {
    json_begin();
    json_text(key, text);
    json_end();
  } else {
    fputs(text, stdout);
  }
  egraph_string_free(NULL, text);
  return EGRAPH_OK;
}

static egraph_status print_canonical(const egraph_rules *rules, bool json) {
  char *text = NULL;
  egraph_status status = egraph_rules_text(NULL, rules, &text);
  return print_file_text(status, text, "text", json);
}

/// False when the file cannot be written, which has been said.
static egraph_status write_rules(const egraph_rules *rules, const char *path,
                                 bool *out_written) {
  char *text = NULL;
  egraph_status status = egraph_rules_text(NULL, rules, &text);
  if (status != EGRAPH_OK) return status;
  *out_written = tensor_write(path, text, strlen(text));
  egraph_string_free(NULL, text);
  return EGRAPH_OK;
}

static egraph_status print_operators(bool json) {
  char *text = NULL;
  egraph_status status = egraph_operators_text(NULL, &text);
  return print_file_text(status, text, "operators", json);
}

int command_rules(int argc, char **argv) {
  bool json = false, do_verify = false, do_prove = false, do_derive = false,
       print = false, builtin = false, operators = false, trust = false, guards = false;
  text_list imported = {.count = 0};
  const char *output = NULL, *folder = NULL;
  bool is_written = true;
  uint64_t seed = 1;
  command cmd = {
      .name = "rules",
      .usage = "[FILE ...] [options]",
      .summary = "Lists rewrite rules: the shipped ones, or those of the files given.",
      .max_positional = MAX_POSITIONAL};
  add_heading(&cmd, "Rules");
  add_switch(&cmd, "--builtin", &builtin, "add the shipped rules to the files given");
  add_list(
      &cmd, "--import FILE", &imported,
      "add published substitutions of TASO, Tensat or Unity, and report what becomes "
      "of each (repeatable)");
  add_switch(&cmd, "--trust", &trust, "read rule files without verifying them");
  add_heading(&cmd, "Output");
  add_switch(&cmd, "--verify", &do_verify,
             "check both sides of every rule numerically: a verdict for each; with "
             "--prove and --guards, which then add to it");
  add_switch(
      &cmd, "--guards", &guards,
      "find conditions under which rules hold, and ones that need not be so strong");
  add_switch(
      &cmd, "--prove", &do_prove,
      "prove every rule for all ranks, sizes and attribute values, or say why not; "
      "without --verify nothing is tested");
  add_switch(
      &cmd, "--derive", &do_derive,
      "derive instances of rules that are not proved from those that are, by steps "
      "that are replayed");
  add_text(&cmd, "--smt FOLDER", &folder,
           "write a question for an SMT solver (SMT-LIB 2.6) for an instance of every "
           "rule: unsat means equal");
  add_uint(&cmd, "--seed N", &seed, 0, 0, "seed of the verification");
  add_switch(&cmd, "--print", &print, "print the rules in canonical form");
  add_switch(&cmd, "--operators", &operators,
             "list the operators that graphs and rules are written with");
  add_text(&cmd, "-o FILE", &output, "write the rules there: my.rules");
  add_json(&cmd, &json);
  positional files;
  int parsed = parse_arguments(&cmd, argc, argv, &files);
  if (parsed != PARSE_RUN) return parsed;
  if (operators && files.count != 0) {
    show(stderr,
         "egraph: --operators lists those of this program, and reads no file '%s'\n",
         files.items[0]);
    return EXIT_USAGE;
  }
  if (operators) {
    egraph_status printed = print_operators(json);
    return printed == EGRAPH_OK ? EXIT_DONE : report_failure(printed);
  }
  egraph_rules *rules = NULL;
  uint32_t rejected = 0;
  egraph_status status = egraph_rules_create(NULL, &rules);
  if (status == EGRAPH_OK && (builtin || (files.count == 0 && imported.count == 0)))
    status = egraph_rules_add_builtin(rules);
  bool on_request = do_verify || do_prove || do_derive || guards ||
                    folder != NULL; // what is shown is not an error
  if (status == EGRAPH_OK) egraph_rules_trust(rules, trust || on_request);
  for (size_t i = 0; status == EGRAPH_OK && i < files.count; i++)
    status = egraph_rules_add_file(rules, files.items[i]);
  if (status == EGRAPH_OK && imported.count != 0)
    status = import(rules, &imported, on_request || print, json);
  if (status == EGRAPH_OK && output != NULL)
    status = write_rules(rules, output, &is_written);
  if (status == EGRAPH_OK) {
    if (do_verify)
      status = print_verdicts(rules, seed, do_prove, guards, json, &rejected);
    else if (guards)
      status = print_guards(rules, seed, json, &rejected);
    else if (do_prove)
      status = prove(rules, json);
    else if (do_derive)
      status = derive(rules, seed, json);
    else if (folder != NULL)
      status = ask(rules, seed, folder, json, &is_written);
    else if (print)
      status = print_canonical(rules, json);
    else if (imported.count == 0 && output == NULL)
      (json ? list_json : list_text)(rules);
  }
  egraph_rules_destroy(rules);
  if (status != EGRAPH_OK) return report_failure(status);
  return rejected != 0 || !is_written ? EXIT_FAILED : EXIT_DONE;
}
