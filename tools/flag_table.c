// SPDX-License-Identifier: Apache-2.0
#include "tools/flag_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

command new_command(const char *name, const char *usage, size_t least, size_t most,
                    const char *summary) {
  return (command){.name = name,
                   .usage = usage,
                   .summary = summary,
                   .min_positional = least,
                   .max_positional = most};
}

/// Adds a row; the value of its target is the default that help prints.
static void add_row(command *cmd, flag row) {
  assert(cmd->flag_count < MAX_FLAGS);
  row.modes = cmd->modes;
  bool is_text = row.kind == FLAG_TEXT || row.kind == FLAG_CHOICE;
  const char *text = is_text ? *(const char **)row.target : NULL;
  double number = row.kind == FLAG_UINT   ? (double)*(uint64_t *)row.target
                  : row.kind == FLAG_REAL ? *(double *)row.target
                                          : 0;
  if (text != NULL) (void)snprintf(row.initial, sizeof row.initial, "%s", text);
  if (number > 0 && number < UINT32_MAX * 1e6)
    (void)snprintf(row.initial, sizeof row.initial, "%.15g", number);
  cmd->flags[cmd->flag_count++] = row;
}

void add_heading(command *cmd, const char *text) {
  add_row(cmd, (flag){.kind = FLAG_HEADING, .spelling = text, .help = ""});
}

void add_switch(command *cmd, const char *name, bool *target, const char *help) {
  add_row(cmd,
          (flag){.kind = FLAG_SWITCH, .spelling = name, .target = target, .help = help});
}

void add_text(command *cmd, const char *spelling, const char **target, const char *help) {
  add_row(
      cmd,
      (flag){.kind = FLAG_TEXT, .spelling = spelling, .target = target, .help = help});
}

void add_choice(command *cmd, const char *spelling, const char **target,
                const char *help) {
  add_row(
      cmd,
      (flag){.kind = FLAG_CHOICE, .spelling = spelling, .target = target, .help = help});
}

void add_list(command *cmd, const char *spelling, text_list *target, const char *help) {
  add_row(
      cmd,
      (flag){.kind = FLAG_LIST, .spelling = spelling, .target = target, .help = help});
}

void add_uint(command *cmd, const char *spelling, uint64_t *target, double low,
              double high, const char *help) {
  add_row(cmd, (flag){.kind = FLAG_UINT,
                      .spelling = spelling,
                      .target = target,
                      .help = help,
                      .low = low,
                      .high = high});
}

void add_real(command *cmd, const char *spelling, double *target, double low, double high,
              const char *help) {
  add_row(cmd, (flag){.kind = FLAG_REAL,
                      .spelling = spelling,
                      .target = target,
                      .help = help,
                      .low = low,
                      .high = high});
}

void offer_words(command *cmd, const char *words) {
  cmd->flags[cmd->flag_count - 1].words = words;
}

void add_json(command *cmd, bool *target) {
  add_switch(cmd, "--json", target, "print one JSON object on standard output");
}

const char *flag_name(const flag *f, char out[MAX_SPELLING]) {
  size_t i = 0;
  for (; f->spelling[i] != '\0' && f->spelling[i] != ' ' && i + 1 < MAX_SPELLING; i++)
    out[i] = f->spelling[i] == '_' ? '-' : f->spelling[i];
  out[i] = '\0';
  return out;
}

const char *flag_value(const flag *f) {
  const char *blank = strchr(f->spelling, ' ');
  return blank != NULL ? blank + 1 : "";
}
