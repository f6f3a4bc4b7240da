// SPDX-License-Identifier: Apache-2.0
#include "tools/flag_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static flag *add_flag(command *cmd, flag_kind kind, const char *spelling, void *target,
                      const char *help) {
  assert(cmd->flag_count < MAX_FLAGS);
  flag *f = &cmd->flags[cmd->flag_count++];
  *f = (flag){.kind = kind, .spelling = spelling, .target = target, .help = help};
  return f;
}

void add_heading(command *cmd, const char *text) {
  (void)add_flag(cmd, FLAG_HEADING, text, NULL, "");
}

void add_switch(command *cmd, const char *name, bool *target, const char *help) {
  (void)add_flag(cmd, FLAG_SWITCH, name, target, help);
}

static void add_word(command *cmd, flag_kind kind, const char *spelling,
                     const char **target, const char *help) {
  flag *f = add_flag(cmd, kind, spelling, target, help);
  if (*target != NULL) (void)snprintf(f->initial, sizeof f->initial, "%s", *target);
}

void add_text(command *cmd, const char *spelling, const char **target, const char *help) {
  add_word(cmd, FLAG_TEXT, spelling, target, help);
}

void add_choice(command *cmd, const char *spelling, const char **target,
                const char *help) {
  add_word(cmd, FLAG_CHOICE, spelling, target, help);
}

void add_list(command *cmd, const char *spelling, text_list *target, const char *help) {
  (void)add_flag(cmd, FLAG_LIST, spelling, target, help);
}

static void bound(flag *f, double low, double high, double initial) {
  f->low = low;
  f->high = high;
  if (initial > 0 && initial < UINT32_MAX * 1e6)
    (void)snprintf(f->initial, sizeof f->initial, "%.15g", initial);
}

void add_uint(command *cmd, const char *spelling, uint64_t *target, double low,
              double high, const char *help) {
  bound(add_flag(cmd, FLAG_UINT, spelling, target, help), low, high, (double)*target);
}

void add_real(command *cmd, const char *spelling, double *target, double low, double high,
              const char *help) {
  bound(add_flag(cmd, FLAG_REAL, spelling, target, help), low, high, *target);
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
