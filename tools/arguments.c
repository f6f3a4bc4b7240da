// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "tools/console.h"
#include "tools/help.h"

// ---- complaints ------------------------------------------------------------------

static bool complain_about(const command *cmd, const char *what, const char *about) {
  return complain("%s '%s'; see egraph %s --help", what, about, cmd->name);
}

/// Prints the end of a complaint about a word: the closest known word, or where all are.
static bool suggest(const command *cmd, const eg_spelling *spelling) {
  if (spelling->best != NULL)
    fprintf(stderr, "; did you mean '%s'?\n", spelling->best);
  else
    fprintf(stderr, "; see egraph %s --help\n", cmd->name);
  return false;
}

static const char *without_dashes(const char *name) { return name + strspn(name, "-"); }

static bool complain_of_name(const command *cmd, const char *text, size_t length) {
  char given[MAX_SPELLING], names[MAX_FLAGS][MAX_SPELLING];
  (void)snprintf(given, sizeof given, "%.*s", (int)length, text);
  eg_spelling spelling = eg_spelling_start(without_dashes(given));
  eg_spelling_offer(&spelling, "help");
  for (size_t i = 0; i < cmd->flag_count; i++)
    if (cmd->flags[i].kind != FLAG_HEADING)
      eg_spelling_offer(&spelling, without_dashes(flag_name(&cmd->flags[i], names[i])));
  show(stderr, "egraph: unknown option '%s'", text);
  if (spelling.best == NULL) return suggest(cmd, &spelling);
  fprintf(stderr, "; did you mean '%s%s'?\n", spelling.best[1] == '\0' ? "-" : "--",
          spelling.best);
  return false;
}

static bool complain_of_range(const command *cmd, const flag *f, const char *value) {
  char name[MAX_SPELLING];
  if (f->low == 0 && f->high == 0)
    return complain("%s must not be negative, but is %s; see egraph %s --help",
                    flag_name(f, name), value, cmd->name);
  return complain("%s must lie between %.15g and %.15g, but is %s; see egraph %s --help",
                  flag_name(f, name), f->low, f->high, value, cmd->name);
}

// ---- values ----------------------------------------------------------------------

static bool complain_of_number(const command *cmd, const flag *f, const char *what,
                               const char *value) {
  char name[MAX_SPELLING];
  return complain("%s is a %s, not '%s'; see egraph %s --help", flag_name(f, name), what,
                  value, cmd->name);
}

// Reads a whole number. Digits are read as an integer, because a double has too few bits
// for seeds; "1e6" is a whole number too.
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
    return complain_of_number(cmd, f, "number (16, 0.5, 4e9)", value);
  bool is_bounded = f->low != 0 || f->high != 0;
  if (is_bounded ? number < f->low || number > f->high : number < 0)
    return complain_of_range(cmd, f, value);
  if (f->kind == FLAG_REAL) {
    *(double *)f->target = number;
    return true;
  }
  uint64_t whole;
  if (!read_whole(value, number, &whole))
    return complain_of_number(cmd, f, "whole number below 2^64", value);
  if (f->kind == FLAG_UINT)
    *(uint64_t *)f->target = whole;
  else
    *(uint32_t *)f->target = (uint32_t)whole; // the range of the flag limits the number
  return true;
}

static bool set_choice(const command *cmd, const flag *f, const char *value) {
  char words[4 * MAX_SPELLING], name[MAX_SPELLING];
  (void)snprintf(words, sizeof words, "%s", flag_value(f));
  eg_spelling spelling = eg_spelling_start(value);
  for (char *word = words, *end; *word != '\0'; word = end) {
    end = word + strcspn(word, "|");
    if (*end != '\0') *end++ = '\0';
    eg_spelling_offer(&spelling, word);
    if (strcmp(word, value) != 0) continue;
    *(const char **)f->target = value;
    return true;
  }
  fprintf(stderr, "egraph: %s is one of %s, not '%s'", flag_name(f, name), flag_value(f),
          value);
  return suggest(cmd, &spelling);
}

static bool set_flag(const command *cmd, const flag *f, const char *value) {
  switch (f->kind) {
  case FLAG_HEADING: break;
  case FLAG_SWITCH: *(bool *)f->target = true; return true;
  case FLAG_TEXT: *(const char **)f->target = value; return true;
  case FLAG_CHOICE: return set_choice(cmd, f, value);
  case FLAG_UINT:
  case FLAG_UINT32:
  case FLAG_REAL: return set_number(cmd, f, value);
  case FLAG_LIST: {
    char name[MAX_SPELLING];
    text_list *list = f->target;
    if (list->count == MAX_LIST)
      return complain_about(cmd, "too many values for", flag_name(f, name));
    list->items[list->count++] = value;
    return true;
  }
  }
  return false;
}

// ---- arguments -------------------------------------------------------------------

static const flag *find_flag(const command *cmd, const char *text, size_t length) {
  char name[MAX_SPELLING];
  for (size_t i = 0; i < cmd->flag_count; i++)
    if (cmd->flags[i].kind != FLAG_HEADING &&
        strlen(flag_name(&cmd->flags[i], name)) == length &&
        strncmp(text, name, length) == 0)
      return &cmd->flags[i];
  return NULL;
}

// Reads "--name value", "--name=value" or a switch; *index becomes the last
// argument read.
static bool parse_flag(const command *cmd, int argc, char **argv, int *index,
                       positional *out) {
  const char *text = argv[*index];
  const char *equals = strchr(text, '=');
  size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  const flag *f = find_flag(cmd, text, length);
  if (f == NULL) return complain_of_name(cmd, text, length);
  out->is_given[f - cmd->flags] = true;
  if (f->kind == FLAG_SWITCH) {
    if (equals != NULL) return complain_about(cmd, "this option takes no value:", text);
    return set_flag(cmd, f, NULL);
  }
  if (equals != NULL) return set_flag(cmd, f, equals + 1);
  if (*index + 1 == argc) return complain_about(cmd, "a value is missing after", text);
  return set_flag(cmd, f, argv[++*index]);
}

/// True when the text is an option without its dashes, and the command takes files but
/// there is no such file.
static bool is_bare_flag(const command *cmd, const char *text) {
  char dashed[MAX_SPELLING];
  const int length = snprintf(dashed, sizeof dashed, "--%s", text);
  if (cmd->words != NULL || length < 0 || (size_t)length >= sizeof dashed ||
      find_flag(cmd, dashed, (size_t)length) == NULL)
    return false;
  FILE *file = fopen(text, "rb");
  if (file != NULL) (void)fclose(file);
  return file == NULL;
}

int parse_arguments(const command *cmd, int argc, char **argv, positional *out) {
  bool only_positional = false;
  *out = (positional){.count = 0};
  for (int i = 0; i < argc; i++) {
    if (!only_positional && strcmp(argv[i], "--") == 0) {
      only_positional = true;
    } else if (!only_positional && print_help_as(cmd, argv[i])) {
      return EXIT_DONE;
    } else if (!only_positional && argv[i][0] == '-' && argv[i][1] != '\0') {
      if (!parse_flag(cmd, argc, argv, &i, out)) return EXIT_USAGE;
    } else if (is_bare_flag(cmd, argv[i])) {
      show(stderr, "egraph: there is no file '%s'; did you mean '--%s'?\n", argv[i],
           argv[i]);
      return EXIT_USAGE;
    } else if (out->count == cmd->max_positional) {
      complain_about(cmd, "unexpected argument", argv[i]);
      return EXIT_USAGE;
    } else {
      out->items[out->count++] = argv[i];
    }
  }
  if (out->count >= cmd->min_positional) return PARSE_RUN;
  return refuse("a file is missing; usage: egraph %s %s", cmd->name, cmd->usage);
}

bool given_flags_matter(const command *cmd, const positional *given, unsigned mode,
                        const char *what, const char *remedy) {
  char name[MAX_SPELLING];
  for (size_t i = 0; i < cmd->flag_count; i++) {
    const flag *f = &cmd->flags[i];
    if (given->is_given[i] && f->modes != 0 && (f->modes & mode) == 0)
      return complain("%s has no effect on %s; %s", flag_name(f, name), what, remedy);
  }
  return true;
}
