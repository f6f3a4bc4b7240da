// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_name(const char *given, size_t length, const char *name) {
  for (size_t i = 0; i < length; i++) {
    char expected = name[i] == '_' ? '-' : name[i];
    if (expected == '\0' || given[i] != expected) return false;
  }
  return name[length] == '\0';
}

static const flag *find_flag(const command *cmd, const char *text, size_t length) {
  for (size_t i = 0; i < cmd->flag_count; i++)
    if (same_name(text, length, cmd->flags[i].name)) return &cmd->flags[i];
  return NULL;
}

static bool complain(const command *cmd, const char *what, const char *about) {
  fprintf(stderr, "egraph %s: %s '%s'; see egraph %s --help\n", cmd->name, what, about,
          cmd->name);
  return false;
}

static bool in_range(const flag *f, double value) {
  if (f->low == 0 && f->high == 0) return value >= 0;
  return value >= f->low && value <= f->high;
}

static bool set_number(const command *cmd, const flag *f, const char *value) {
  char *end;
  errno = 0;
  double number = strtod(value, &end);
  if (end == value || *end != '\0' || errno != 0 || !isfinite(number))
    return complain(cmd, "not a number:", value);
  if (!in_range(f, number)) {
    fprintf(stderr, "egraph %s: %s must lie between %g and %g\n", cmd->name, f->name,
            f->low, f->high == 0 ? INFINITY : f->high);
    return false;
  }
  if (f->kind == FLAG_REAL) {
    *(double *)f->target = number;
    return true;
  }
  if (number != floor(number)) return complain(cmd, "not a whole number:", value);
  *(uint64_t *)f->target = number < 9e15 ? (uint64_t)number : strtoull(value, NULL, 10);
  return true;
}

static bool set_flag(const command *cmd, const flag *f, const char *value) {
  switch (f->kind) {
  case FLAG_SWITCH: *(bool *)f->target = true; return true;
  case FLAG_TEXT: *(const char **)f->target = value; return true;
  case FLAG_UINT:
  case FLAG_REAL: return set_number(cmd, f, value);
  case FLAG_LIST: {
    text_list *list = f->target;
    if (list->count == MAX_LIST) return complain(cmd, "too many values for", f->name);
    list->items[list->count++] = value;
    return true;
  }
  }
  return false;
}

static void print_help(const command *cmd) {
  printf("usage: egraph %s %s\n\n%s\n\n", cmd->name, cmd->usage, cmd->summary);
  for (size_t i = 0; i < cmd->flag_count; i++) {
    const flag *f = &cmd->flags[i];
    char left[64];
    (void)snprintf(left, sizeof left, "%s %s", f->name, f->value != NULL ? f->value : "");
    for (char *c = left; *c != '\0' && *c != ' '; c++)
      if (*c == '_') *c = '-';
    printf("  %-28s %s\n", left, f->help);
  }
  printf("  %-28s %s\n", "--help", "this text");
}

// "--name value", "--name=value" or a switch; *index is moved past what was used.
static bool parse_flag(const command *cmd, int argc, char **argv, int *index) {
  const char *text = argv[*index];
  const char *equals = strchr(text, '=');
  size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  const flag *f = find_flag(cmd, text, length);
  if (f == NULL) return complain(cmd, "unknown option", text);
  if (f->kind == FLAG_SWITCH) {
    if (equals != NULL) return complain(cmd, "this option takes no value:", text);
    return set_flag(cmd, f, NULL);
  }
  if (equals != NULL) return set_flag(cmd, f, equals + 1);
  if (*index + 1 == argc) return complain(cmd, "a value is missing after", text);
  return set_flag(cmd, f, argv[++*index]);
}

parse_outcome parse_arguments(const command *cmd, int argc, char **argv,
                              positional *out) {
  bool only_positional = false;
  out->count = 0;
  for (int i = 0; i < argc; i++) {
    if (!only_positional && strcmp(argv[i], "--") == 0) {
      only_positional = true;
    } else if (!only_positional && strcmp(argv[i], "--help") == 0) {
      print_help(cmd);
      return PARSE_HELP;
    } else if (!only_positional && argv[i][0] == '-' && argv[i][1] != '\0') {
      if (!parse_flag(cmd, argc, argv, &i)) return PARSE_BAD_USAGE;
    } else if (out->count == cmd->max_positional) {
      complain(cmd, "unexpected argument", argv[i]);
      return PARSE_BAD_USAGE;
    } else {
      out->items[out->count++] = argv[i];
    }
  }
  if (out->count >= cmd->min_positional) return PARSE_RUN;
  fprintf(stderr, "usage: egraph %s %s\n", cmd->name, cmd->usage);
  return PARSE_BAD_USAGE;
}
