// egraph rules found: prints which rules of other files the given rules imply, and why
// not the rest.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"

enum { MAX_REASONS = 16, MAX_FILES = 64, FOUND = 0 };

/// Counts of a file's rules by outcome: implied by the given rules, or why not.
typedef struct file_row {
  const char *file;
  uint32_t all, count[1 + MAX_REASONS];
} file_row;

typedef struct found_table {
  file_row rows[MAX_FILES];
  uint32_t row_count;
  file_row sum;
  const char *reasons[MAX_REASONS];
  uint32_t reason_count;
  uint64_t operators; // operators of a side, at most
  bool json;
} found_table;

static file_row *row_of_file(found_table *table, const char *file) {
  uint32_t i = 0;
  while (i < table->row_count && strcmp(table->rows[i].file, file) != 0)
    i++;
  if (i == MAX_FILES) i = MAX_FILES - 1;
  if (i == table->row_count) table->row_count++;
  if (table->rows[i].all == 0) table->rows[i].file = file;
  if (strcmp(table->rows[i].file, file) != 0) table->rows[i].file = "other files";
  return &table->rows[i];
}

static uint32_t reason_number(found_table *table, const egraph_rule_found *found) {
  if (found->is_found) return FOUND;
  uint32_t i = 0;
  while (i < table->reason_count && strcmp(table->reasons[i], found->reason) != 0)
    i++;
  if (i == MAX_REASONS) return MAX_REASONS;
  if (i == table->reason_count) table->reasons[table->reason_count++] = found->reason;
  return 1 + i;
}

static void on_found(void *user, const egraph_rule_found *found) {
  found_table *table = user;
  (void)progress_line("found", "%s", found->rule);
  if (found->operators > table->operators) return;
  uint32_t outcome = reason_number(table, found);
  file_row *both[] = {row_of_file(table, found->file), &table->sum};
  for (int i = 0; i < 2; i++) {
    both[i]->all++;
    both[i]->count[outcome]++;
  }
  const char *why = found->is_found ? found->by : found->reason;
  if (table->json)
    JSON_OBJECT(NULL, JSON("rule", found->rule), JSON("file", found->file),
                JSON("found", found->is_found),
                JSON(found->is_found ? "by" : "reason", why));
  else
    show(stdout, "%-9s  %s: %s\n", found->is_found ? "found" : "not found", found->rule,
         why);
}

static void print_row(const found_table *table, const char *name, const file_row *row) {
  show(stdout, "%-28s %5u rules, %u found", name, row->all, row->count[FOUND]);
  for (uint32_t i = 0; i < table->reason_count; i++)
    if (row->count[1 + i] != 0) printf("; %s %u", table->reasons[i], row->count[1 + i]);
  printf("\n");
}

/// Reads the rules of a file; NULL: the shipped rules. Rules of files are trusted: here
/// they only imply other rules.
static egraph_status read_rules(const char *path, egraph_rules **out) {
  return load_rules(path == NULL, true, &path, path != NULL, out);
}

static egraph_status count_found(const char *of_path, const positional *files,
                                 egraph_rules **sets, found_table *table) {
  EG_TRY(read_rules(of_path, &sets[0]));
  for (size_t i = 0; i < files->count; i++)
    EG_TRY(read_rules(files->items[i], &sets[i + 1]));
  if (table->json) json_begin_list("rules");
  egraph_status status =
      egraph_rules_found(NULL, sets[0], (const egraph_rules *const *)(sets + 1),
                         files->count, on_found, table);
  progress_clear();
  if (table->json)
    JSON_END_LIST(JSON("found", table->sum.count[FOUND]),
                  JSON("not_found", table->sum.all - table->sum.count[FOUND]));
  if (table->json || status != EGRAPH_OK) return status;
  printf("\n");
  for (uint32_t i = 0; i < table->row_count; i++)
    print_row(table, table->rows[i].file, &table->rows[i]);
  print_row(table, "all", &table->sum);
  return EGRAPH_OK;
}

int command_rules_found(int argc, char **argv) {
  found_table table = {.operators = 3};
  const char *of = NULL;
  command cmd = new_command("rules found", "FILE ... [options]", 1, MAX_POSITIONAL,
                            "Prints which shipped rules the rules of the files imply "
                            "together, and why they do not imply the other ones.");
  add_heading(&cmd, "Rules");
  add_text(&cmd, "--of FILE", &of, "look for the rules of this file: known.rules");
  add_uint(&cmd, "--operators N", &table.operators, 1, 64,
           "look only for rules with at most this many operators on a side");
  add_heading(&cmd, "Output");
  add_json(&cmd, &table.json);
  PARSE_ARGUMENTS(files, &cmd, argc, argv);
  egraph_rules *sets[MAX_POSITIONAL + 1] = {NULL};
  egraph_status status = count_found(of, &files, sets, &table);
  for (size_t i = 0; i <= files.count; i++)
    egraph_rules_destroy(sets[i]);
  return outcome_of(status);
}
