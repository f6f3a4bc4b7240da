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

/// Adds a flag; the value of its target is the default that help prints.
static void add_row(command *cmd, flag_kind kind, const char *spelling, void *target,
                    double low, double high, const char *help) {
  assert(cmd->flag_count < MAX_FLAGS);
  flag *row = &cmd->flags[cmd->flag_count++];
  *row = (flag){.kind = kind,
                .spelling = spelling,
                .target = target,
                .help = help,
                .low = low,
                .high = high,
                .modes = cmd->modes};
  bool is_text = kind == FLAG_TEXT || kind == FLAG_CHOICE;
  const char *text = is_text ? *(const char **)target : NULL;
  double number = kind == FLAG_UINT     ? (double)*(uint64_t *)target
                  : kind == FLAG_UINT32 ? *(uint32_t *)target
                  : kind == FLAG_REAL   ? *(double *)target
                                        : 0;
  if (text != NULL) (void)snprintf(row->initial, sizeof row->initial, "%s", text);
  if (number > 0 && number < UINT32_MAX * 1e6)
    (void)snprintf(row->initial, sizeof row->initial, "%.15g", number);
}

void add_heading(command *cmd, const char *text) {
  add_row(cmd, FLAG_HEADING, text, NULL, 0, 0, "");
}

void add_switch(command *cmd, const char *name, bool *target, const char *help) {
  add_row(cmd, FLAG_SWITCH, name, target, 0, 0, help);
}

void add_text(command *cmd, const char *spelling, const char **target, const char *help) {
  add_row(cmd, FLAG_TEXT, spelling, target, 0, 0, help);
}

void add_choice(command *cmd, const char *spelling, const char **target,
                const char *help) {
  add_row(cmd, FLAG_CHOICE, spelling, target, 0, 0, help);
}

void add_list(command *cmd, const char *spelling, text_list *target, const char *help) {
  add_row(cmd, FLAG_LIST, spelling, target, 0, 0, help);
}

void add_uint(command *cmd, const char *spelling, uint64_t *target, double low,
              double high, const char *help) {
  add_row(cmd, FLAG_UINT, spelling, target, low, high, help);
}

void add_uint32(command *cmd, const char *spelling, uint32_t *target, double low,
                double high, const char *help) {
  assert(high > 0 && high <= UINT32_MAX);
  add_row(cmd, FLAG_UINT32, spelling, target, low, high, help);
}

void add_real(command *cmd, const char *spelling, double *target, double low, double high,
              const char *help) {
  add_row(cmd, FLAG_REAL, spelling, target, low, high, help);
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
