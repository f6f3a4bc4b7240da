// Command-line flags as tables: one row per flag, from which parsing, range checks and
// --help follow.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_ARGUMENTS_H
#define EG_TOOLS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_POSITIONAL = 64, MAX_LIST = 64 };

typedef struct text_list {
  const char *items[MAX_LIST];
  size_t count;
} text_list;

typedef enum flag_kind {
  FLAG_SWITCH,
  FLAG_TEXT,
  FLAG_CHOICE, // a text out of `value`: "ilp|dag|tree"
  FLAG_UINT,
  FLAG_REAL,
  FLAG_LIST
} flag_kind;

typedef struct flag {
  const char *name; // "--json"; an underscore matches a hyphen
  flag_kind kind;
  void *target;      // bool, const char *, uint64_t, double or text_list
  const char *value; // what stands for the value in --help; NULL for switches
  const char *help;
  double low, high; // of numbers; both 0: anything from 0
} flag;

/// Appends rows to `rows`, of which there are n, and returns how many there are then.
size_t append_flags(flag *rows, size_t n, const flag *more, size_t count);

typedef struct command {
  const char *name, *usage, *summary;
  const flag *flags;
  size_t flag_count;
  size_t min_positional, max_positional;
} command;

typedef struct positional {
  const char *items[MAX_POSITIONAL];
  size_t count;
} positional;

/// What parse_arguments found.
typedef enum parse_outcome { PARSE_RUN, PARSE_HELP, PARSE_BAD_USAGE } parse_outcome;

/// Parses argv[0 .. argc) (after the subcommand). Complaints go to standard error, help
/// to standard output.
parse_outcome parse_arguments(const command *cmd, int argc, char **argv, positional *out);

#endif
