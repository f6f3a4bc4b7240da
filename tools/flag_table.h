// The table of a command's flags; each add_ function adds a row. The table drives
// parsing, range checks and exclusions (arguments.h), --help, the manual page and
// completion (help.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_FLAG_TABLE_H
#define EG_TOOLS_FLAG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_LIST = 64, MAX_FLAGS = 88, MAX_SPELLING = 48 };

typedef struct text_list {
  const char *items[MAX_LIST];
  size_t count;
} text_list;

typedef enum flag_kind {
  FLAG_HEADING, // heading of the flags below
  FLAG_SWITCH,
  FLAG_TEXT,
  FLAG_CHOICE, // one word of a list: ilp|dag|tree
  FLAG_UINT,
  FLAG_UINT32,
  FLAG_REAL,
  FLAG_LIST // may be repeated, each time with a text
} flag_kind;

typedef struct flag {
  flag_kind kind;
  const char *spelling; // name and value: "--seed N"; an underscore is a hyphen
  void *target;         // the variable that takes the value; its type depends on the kind
  const char *help;
  double low, high;           // range of a number; both 0: 0 or more
  char initial[MAX_SPELLING]; // the default; "" when there is none, or it is 0
  const char *words;          // words that completion offers for the value; NULL: none
  unsigned modes;             // bits of the command's modes in which the flag has an
                              // effect; 0: all
} flag;

typedef struct command {
  const char *name, *usage, *summary;
  size_t min_positional, max_positional;
  const char *words; // words that completion offers instead of a flag; NULL: files
  unsigned modes;    // modes of the flags that are added next
  flag flags[MAX_FLAGS];
  size_t flag_count;
} command;

/// Returns a command without flags that takes from `least` to `most` other arguments.
command new_command(const char *name, const char *usage, size_t least, size_t most,
                    const char *summary);
// Each add_ function adds a flag; the variable at `target` has the default.
void add_heading(command *cmd, const char *text);
void add_switch(command *cmd, const char *name, bool *target, const char *help);
void add_text(command *cmd, const char *spelling, const char **target, const char *help);
void add_choice(command *cmd, const char *spelling, const char **target,
                const char *help);
void add_list(command *cmd, const char *spelling, text_list *target, const char *help);
void add_uint(command *cmd, const char *spelling, uint64_t *target, double low,
              double high, const char *help);
void add_uint32(command *cmd, const char *spelling, uint32_t *target, double low,
                double high, const char *help);
void add_real(command *cmd, const char *spelling, double *target, double low, double high,
              const char *help);
/// Sets the words, "a b", that completion offers for the value of the last added flag.
void offer_words(command *cmd, const char *words);
/// Adds --json, which most commands have.
void add_json(command *cmd, bool *target);

/// Writes the name of a flag, "--node-limit".
const char *flag_name(const flag *f, char out[MAX_SPELLING]);
/// Returns the placeholder of a flag's value, "N"; "" for switches.
const char *flag_value(const flag *f);

#endif
