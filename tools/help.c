// SPDX-License-Identifier: Apache-2.0
#include "tools/help.h"

#include <stdio.h>
#include <string.h>

enum { LAST_COLUMN = 90, HELP_COLUMN = 29 };

static const flag HELP_FLAG = {
    .kind = FLAG_SWITCH, .spelling = "--help", .help = "print this text; -h does, too"};

/// Returns the index-th flag of a command; the last one is --help.
static const flag *flag_at(const command *cmd, size_t index) {
  if (index < cmd->flag_count) return &cmd->flags[index];
  return index == cmd->flag_count ? &HELP_FLAG : NULL;
}

// ---- text ------------------------------------------------------------------------

/// Prints the words of a text in lines that begin at `indent`, the first line from
/// `column` on, and returns the column where the last line ends.
static size_t wrap(const char *text, size_t column, size_t indent) {
  while (*text != '\0') {
    size_t length = strcspn(text, " ");
    if (column > indent && column + 1 + length > LAST_COLUMN) {
      printf("\n%*s", (int)indent, "");
      column = indent;
    }
    column += (size_t)printf("%s%.*s", column > indent ? " " : "", (int)length, text);
    text += length + strspn(text + length, " ");
  }
  return column;
}

static void print_flag(const flag *f) {
  char name[MAX_SPELLING], initial[MAX_SPELLING + 16];
  int left = printf("  %s %s", flag_name(f, name), flag_value(f));
  if (left >= HELP_COLUMN) {
    printf("\n");
    left = 0;
  }
  printf("%*s", HELP_COLUMN - left, "");
  size_t column = wrap(f->help, HELP_COLUMN, HELP_COLUMN);
  if (f->initial[0] != '\0') {
    int length = snprintf(initial, sizeof initial, "(default %s)", f->initial);
    if (column + 1 + (size_t)length > LAST_COLUMN)
      printf("\n%*s%s", HELP_COLUMN, "", initial);
    else
      printf(" %s", initial);
  }
  printf("\n");
}

static void print_help(const command *cmd) {
  (void)wrap(cmd->usage, (size_t)printf("usage: egraph %s", cmd->name), 7);
  printf("\n\n");
  (void)wrap(cmd->summary, 0, 0);
  printf("\n");
  if (cmd->flag_count == 0 || cmd->flags[0].kind != FLAG_HEADING) printf("\n");
  for (size_t i = 0; flag_at(cmd, i) != NULL; i++)
    if (flag_at(cmd, i)->kind == FLAG_HEADING)
      printf("\n%s\n", flag_at(cmd, i)->spelling);
    else
      print_flag(flag_at(cmd, i));
}

// ---- manual ----------------------------------------------------------------------

void print_troff(const char *text) {
  if (*text == '.' || *text == '\'') printf("\\&");
  for (; *text != '\0'; text++)
    if (*text == '\\')
      printf("\\e");
    else
      printf(*text == '-' ? "\\%c" : "%c", *text);
}

static void print_manual(const command *cmd) {
  char name[MAX_SPELLING];
  printf(".SH SYNOPSIS\n.B egraph %s\n", cmd->name);
  print_troff(cmd->usage);
  printf("\n.SH DESCRIPTION\n");
  print_troff(cmd->summary);
  printf("\n.SH OPTIONS\n");
  for (size_t i = 0; flag_at(cmd, i) != NULL; i++) {
    const flag *f = flag_at(cmd, i);
    printf(f->kind == FLAG_HEADING ? ".SS " : ".TP\n\\fB");
    print_troff(f->kind == FLAG_HEADING ? f->spelling : flag_name(f, name));
    printf(f->kind == FLAG_HEADING ? "\n" : "\\fR");
    if (f->kind == FLAG_HEADING) continue;
    if (f->kind != FLAG_SWITCH) (void)putchar(' ');
    print_troff(flag_value(f));
    printf("\n");
    print_troff(f->help);
    printf(f->initial[0] != '\0' ? " (default %s)\n" : "\n", f->initial);
  }
  printf(".SH EXIT STATUS\n0: done; 1: failed; 2: bad usage.\n"
         ".SH SEE ALSO\n.BR egraph (1)\n");
}

// ---- completion ------------------------------------------------------------------

/// Prints a text inside single quotes of a shell, with a backslash before each character
/// of `special`.
static void print_shell(const char *text, const char *special) {
  for (; *text != '\0'; text++)
    if (*text == '\'')
      printf("'\\''");
    else
      printf(strchr(special, *text) != NULL ? "\\%c" : "%c", *text);
}

static bool has_words(const flag *f) {
  return f->kind == FLAG_CHOICE || f->words != NULL;
}

/// Prints the words of a choice, or the words that completion offers besides
/// other values.
static void print_words(const flag *f) {
  for (const char *c = f->words != NULL ? f->words : flag_value(f); *c != '\0'; c++)
    (void)putchar(*c == '|' ? ' ' : *c);
}

/// Prints a case of `$words`, which sets `flags`, and `values` after a flag with words.
static void print_bash(const command *cmd) {
  char name[MAX_SPELLING];
  printf("  '%s '*)\n    flags='", cmd->name);
  for (size_t i = 0; flag_at(cmd, i) != NULL; i++)
    if (flag_at(cmd, i)->kind != FLAG_HEADING)
      printf("%s ", flag_name(flag_at(cmd, i), name));
  printf("'\n    case $previous in\n");
  for (size_t i = 0; i < cmd->flag_count; i++) {
    if (!has_words(&cmd->flags[i])) continue;
    printf("      %s) values='", flag_name(&cmd->flags[i], name));
    print_words(&cmd->flags[i]);
    printf("' ;;\n");
  }
  if (cmd->words != NULL)
    printf("      *) case $current in -*) ;; *) values='%s' ;; esac ;;\n", cmd->words);
  printf("    esac ;;\n");
}

/// Prints the completion of a value. A choice has no other values; besides other words a
/// file may follow.
static void print_zsh_value(const flag *f) {
  const char *before = f->kind == FLAG_CHOICE ? ":("
                       : f->words != NULL     ? ":{compadd -- "
                       : f->kind == FLAG_TEXT ? ":_files"
                                              : ": ";
  printf("%s", before);
  if (has_words(f)) print_words(f);
  printf("%s", f->kind == FLAG_CHOICE ? ")" : f->words != NULL ? "; _files}" : "");
}

/// Prints a case of `$line`, which calls _arguments.
static void print_zsh(const command *cmd) {
  char name[MAX_SPELLING];
  printf("  '%s '*)\n    _arguments -s", cmd->name);
  for (size_t i = 0; flag_at(cmd, i) != NULL; i++) {
    const flag *f = flag_at(cmd, i);
    if (f->kind == FLAG_HEADING) continue;
    printf(" \\\n      '%s%s[", f->kind == FLAG_LIST ? "*" : "", flag_name(f, name));
    print_shell(f->help, "[]\\:");
    printf("]");
    if (f->kind != FLAG_SWITCH) {
      printf(":");
      print_shell(flag_value(f), "[]\\:");
      print_zsh_value(f);
    }
    printf("'");
  }
  if (cmd->words != NULL)
    printf(" \\\n      '*:command:(%s)' ;;\n", cmd->words);
  else
    printf(" \\\n      '*:file:_files' ;;\n");
}

bool print_help_as(const command *cmd, const char *argument) {
  static const struct {
    const char *argument;
    void (*print)(const command *cmd);
  } forms[] = {{"-h", print_help},
               {"--help", print_help},
               {"--help=man", print_manual},
               {"--help=bash", print_bash},
               {"--help=zsh", print_zsh}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (strcmp(argument, forms[i].argument) == 0) {
      forms[i].print(cmd);
      return true;
    }
  return false;
}
