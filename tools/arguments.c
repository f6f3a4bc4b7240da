// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SPELLING = 48 };

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
  fprintf(stderr, "egraph: %s '%s'; see egraph %s --help\n", what, about, cmd->name);
  return false;
}

/// The spelling of a flag: rows may use the underscores of option names.
static const char *spell(const flag *f, char buffer[MAX_SPELLING]) {
  size_t i = 0;
  for (; f->name[i] != '\0' && i + 1 < MAX_SPELLING; i++)
    buffer[i] = f->name[i] == '_' ? '-' : f->name[i];
  buffer[i] = '\0';
  return buffer;
}

static bool in_range(const flag *f, double value) {
  if (f->low == 0 && f->high == 0) return value >= 0;
  return value >= f->low && value <= f->high;
}

static bool complain_of_range(const command *cmd, const flag *f, const char *value) {
  char name[MAX_SPELLING];
  if (f->low == 0 && f->high == 0)
    fprintf(stderr, "egraph: %s must not be negative, but is %s; see egraph %s --help\n",
            spell(f, name), value, cmd->name);
  else
    fprintf(stderr,
            "egraph: %s must lie between %.15g and %.15g, but is %s; see egraph %s "
            "--help\n",
            spell(f, name), f->low, f->high, value, cmd->name);
  return false;
}

// Digits are read as an integer, because a double has too few bits for seeds; "1e6" is a
// whole number too.
static bool read_whole(const char *value, double number, uint64_t *out) {
  if (strspn(value, "0123456789") == strlen(value)) {
    errno = 0;
    *out = strtoull(value, NULL, 10);
    return errno == 0;
  }
  if (number != floor(number) || number >= 0x1p64) return false;
  *out = (uint64_t)number;
  return true;
}

static bool set_number(const command *cmd, const flag *f, const char *value) {
  char *end;
  double number = strtod(value, &end);
  if (end == value || *end != '\0' || !isfinite(number))
    return complain(cmd, "not a number:", value);
  if (!in_range(f, number)) return complain_of_range(cmd, f, value);
  if (f->kind == FLAG_REAL) {
    *(double *)f->target = number;
    return true;
  }
  return read_whole(value, number, f->target) ||
         complain(cmd, "not a whole number below 2^64:", value);
}

/// f->value lists the choices: "ilp|dag|tree".
static bool set_choice(const command *cmd, const flag *f, const char *value) {
  size_t length = strlen(value);
  for (const char *c = f->value; c != NULL; c = strchr(c, '|')) {
    c += *c == '|';
    if (length == strcspn(c, "|") && strncmp(c, value, length) == 0) {
      *(const char **)f->target = value;
      return true;
    }
  }
  char name[MAX_SPELLING];
  fprintf(stderr, "egraph: %s is one of %s, not '%s'; see egraph %s --help\n",
          spell(f, name), f->value, value, cmd->name);
  return false;
}

static bool set_flag(const command *cmd, const flag *f, const char *value) {
  switch (f->kind) {
  case FLAG_SWITCH: *(bool *)f->target = true; return true;
  case FLAG_TEXT: *(const char **)f->target = value; return true;
  case FLAG_CHOICE: return set_choice(cmd, f, value);
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
    char name[MAX_SPELLING], left[2 * MAX_SPELLING];
    (void)snprintf(left, sizeof left, "%s %s", spell(f, name),
                   f->value != NULL ? f->value : "");
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
  fprintf(stderr, "egraph: a file is missing; usage: egraph %s %s\n", cmd->name,
          cmd->usage);
  return PARSE_BAD_USAGE;
}

size_t append_flags(flag *rows, size_t n, const flag *more, size_t count) {
  for (size_t i = 0; i < count; i++)
    rows[n + i] = more[i];
  return n + count;
}
