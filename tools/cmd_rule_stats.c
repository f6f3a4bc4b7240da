// egraph rules stats: prints which rules fire on models, and which rules explain
// the results.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/lists.h"
#include "tools/result_print.h"

/// Counts of a rule, summed over all models. The rule_table owns the name.
typedef struct rule_row {
  char *name;
  uint64_t matches, nodes, unions;
  uint32_t models, steps; // models in which the rule fired; steps of explanations
} rule_row;

typedef struct rule_table {
  rule_row *rows;
  uint32_t count;
} rule_table;

static rule_row *row_of_rule(rule_table *table, const char *name, size_t length) {
  for (uint32_t i = 0; i < table->count; i++)
    if (strncmp(table->rows[i].name, name, length) == 0 &&
        table->rows[i].name[length] == '\0')
      return &table->rows[i];
  return NULL;
}

static bool make_rows(rule_table *table, const egraph_result *result) {
  uint32_t count = egraph_result_rule_count(result);
  if (table->rows != NULL) return true;
  table->rows = calloc((size_t)count + 1, sizeof *table->rows);
  for (uint32_t i = 0; table->rows != NULL && i < count; i++) {
    const char *name = egraph_result_rule(result, i).name;
    table->rows[table->count++].name = text_copy(name, strlen(name));
  }
  return table->rows != NULL;
}

/// Counts the steps of each rule: the lines " (RULE TERM ...)" between "(steps"
/// and "(outputs".
static void count_steps(rule_table *table, const char *explanation) {
  const char *line = strstr(explanation, "\n(steps");
  const char *end = line == NULL ? NULL : strstr(line, "\n(outputs");
  while (line != NULL && end != NULL && (line = strstr(line, "\n (")) != NULL &&
         line < end) {
    line += strlen("\n (");
    rule_row *row = row_of_rule(table, line, strcspn(line, " )"));
    if (row != NULL) row->steps++;
  }
}

static egraph_status add_result(rule_table *table, const egraph_result *result) {
  const char *explanation;
  EG_TRY(egraph_result_explanation(result, &explanation));
  if (!make_rows(table, result)) return EGRAPH_E_MEMORY;
  for (uint32_t i = 0; i < table->count; i++) {
    egraph_rule_report r = egraph_result_rule(result, i);
    rule_row *row = &table->rows[i];
    row->matches += r.matches;
    row->nodes += r.nodes;
    row->unions += r.unions;
    row->models += r.matches != 0;
  }
  count_steps(table, explanation);
  return EGRAPH_OK;
}

static void print_table(const rule_table *table) {
  uint32_t fired = 0, paying = 0;
  printf("%-44s %7s %10s %9s %9s %6s\n", "rule", "models", "matches", "nodes", "unions",
         "steps");
  for (uint32_t i = 0; i < table->count; i++) {
    const rule_row *row = &table->rows[i];
    fired += row->matches != 0;
    paying += row->steps != 0;
    if (row->matches != 0)
      show(stdout, "%-44s %7u %10llu %9llu %9llu %6u\n", row->name, row->models,
           (unsigned long long)row->matches, (unsigned long long)row->nodes,
           (unsigned long long)row->unions, row->steps);
  }
  printf("\nnever fired:");
  for (uint32_t i = 0; i < table->count; i++)
    if (table->rows[i].matches == 0) show(stdout, " %s", table->rows[i].name);
  printf("\n%u rules: %u on the path to a result, %u fired to no use, %u never fired\n",
         table->count, paying, fired - paying, table->count - fired);
}

static void json_table(const rule_table *table, uint32_t models) {
  json_begin();
  json_int("models", models);
  JSON_EACH("rules", i, table->count) {
    const rule_row *row = &table->rows[i];
    JSON_OBJECT(NULL, JSON("rule", row->name),
                JSON("use", row->steps != 0     ? "on the path"
                            : row->matches != 0 ? "fired"
                                                : "never fired"),
                JSON("models", row->models), JSON("matches", row->matches),
                JSON("nodes", row->nodes), JSON("unions", row->unions),
                JSON("steps", row->steps));
  }
  json_end();
}

int command_rules_stats(int argc, char **argv) {
  optimize_flags flags;
  optimize_flags_init(&flags);
  command cmd = new_command("rules stats", "MODEL ... [options]", 1, MAX_POSITIONAL,
                            "Optimizes models, and prints how often every rule fired, "
                            "and how often it is a step of the explanation of a result.");
  add_load_flags(&cmd, &flags.load);
  add_optimize_flags(&cmd, &flags);
  PARSE_ARGUMENTS(models, &cmd, argc, argv);
  flags.search.explain = true;
  rule_table table = {.count = 0};
  egraph_status status = EGRAPH_OK;
  int outcome = EXIT_DONE;
  for (size_t i = 0; outcome == EXIT_DONE && i < models.count; i++) {
    optimize_session session;
    status = optimize_run(&flags, models.items[i], &session);
    if (status == EGRAPH_OK) status = add_result(&table, session.result);
    outcome = optimize_finish(&session, status);
  }
  if (outcome == EXIT_DONE && flags.json)
    json_table(&table, (uint32_t)models.count);
  else if (outcome == EXIT_DONE)
    print_table(&table);
  for (uint32_t i = 0; i < table.count; i++)
    free(table.rows[i].name);
  free(table.rows);
  return outcome;
}
