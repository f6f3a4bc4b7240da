// egraph rules: lists, prints and verifies rewrite rules.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "tools/planning.h"

typedef struct verify_counts {
  uint32_t accepted, rejected;
  bool json;
} verify_counts;

static void on_verified(void *user, const char *rule, bool accepted, const char *detail) {
  verify_counts *counts = user;
  *(accepted ? &counts->accepted : &counts->rejected) += 1;
  if (!accepted && !counts->json) printf("rejected  %s: %s\n", rule, detail);
  progress_line("verify", rule);
}

static egraph_status verify(const egraph_rules *rules, uint64_t seed, bool json,
                            uint32_t *rejected) {
  verify_counts counts = {.json = json};
  egraph_status status = egraph_rules_verify(rules, seed, on_verified, &counts, rejected);
  progress_clear();
  if (status != EGRAPH_OK) return status;
  if (json) {
    json_begin();
    json_int("rules", egraph_rules_count(rules));
    json_int("accepted", counts.accepted);
    json_int("rejected", counts.rejected);
    json_end();
  } else {
    printf("%u accepted, %u rejected\n", counts.accepted, counts.rejected);
  }
  return EGRAPH_OK;
}

static void list_text(const egraph_rules *rules) {
  for (uint32_t i = 0; i < egraph_rules_count(rules); i++) {
    egraph_rule_info info = egraph_rules_at(rules, i);
    printf("%-44s %s:%u  %s\n", info.name, info.file, info.line, info.source);
  }
}

static void list_json(const egraph_rules *rules) {
  json_begin();
  json_open("rules", '[');
  for (uint32_t i = 0; i < egraph_rules_count(rules); i++) {
    egraph_rule_info info = egraph_rules_at(rules, i);
    json_open(NULL, '{');
    json_text("name", info.name);
    json_text("file", info.file);
    json_int("line", info.line);
    json_text("source", info.source);
    json_close('}');
  }
  json_close(']');
  json_end();
}

/// Takes the text.
static egraph_status print_text(egraph_status status, char *text, const char *key,
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
  return print_text(status, text, "text", json);
}

static egraph_status print_operators(bool json) {
  char *text = NULL;
  egraph_status status = egraph_operators_text(NULL, &text);
  return print_text(status, text, "operators", json);
}

int command_rules(int argc, char **argv) {
  bool json = false, do_verify = false, print = false, builtin = false, operators = false;
  uint64_t seed = 1;
  const flag rows[] = {
      {"--verify", FLAG_SWITCH, &do_verify, NULL,
       "check both sides of every rule numerically", 0, 0},
      {"--print", FLAG_SWITCH, &print, NULL, "print the rules in canonical form", 0, 0},
      {"--operators", FLAG_SWITCH, &operators, NULL,
       "list the operators that graphs and rules are written with", 0, 0},
      {"--builtin", FLAG_SWITCH, &builtin, NULL,
       "add the shipped rules to the files given", 0, 0},
      {"--seed", FLAG_UINT, &seed, "N", "seed of the verification", 0, 0},
      {"--json", FLAG_SWITCH, &json, NULL, "one JSON object on standard output", 0, 0}};
  command cmd = {"rules",
                 "[FILE ...] [options]",
                 "Lists rewrite rules: the shipped ones, or those of the files given.",
                 rows,
                 sizeof rows / sizeof *rows,
                 0,
                 MAX_POSITIONAL};
  positional files;
  parse_outcome parsed = parse_arguments(&cmd, argc, argv, &files);
  if (parsed != PARSE_RUN) return parsed == PARSE_HELP ? EXIT_DONE : EXIT_USAGE;
  if (operators) {
    egraph_status printed = print_operators(json);
    return printed == EGRAPH_OK ? EXIT_DONE : report_failure(printed);
  }
  egraph_rules *rules = NULL;
  uint32_t rejected = 0;
  egraph_status status = egraph_rules_create(NULL, &rules);
  if (status == EGRAPH_OK && (builtin || files.count == 0))
    status = egraph_rules_add_builtin(rules);
  for (size_t i = 0; status == EGRAPH_OK && i < files.count; i++)
    status = egraph_rules_add_file(rules, files.items[i]);
  if (status == EGRAPH_OK) {
    if (do_verify)
      status = verify(rules, seed, json, &rejected);
    else if (print)
      status = print_canonical(rules, json);
    else
      (json ? list_json : list_text)(rules);
  }
  egraph_rules_destroy(rules);
  if (status != EGRAPH_OK) return report_failure(status);
  return rejected != 0 ? EXIT_FAILED : EXIT_DONE;
}
