// Parses the arguments of a command according to its flags.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_ARGUMENTS_H
#define EG_TOOLS_ARGUMENTS_H

#include "tools/flag_table.h"

enum { MAX_POSITIONAL = 256 };

typedef struct positional {
  const char *items[MAX_POSITIONAL];
  size_t count;
  bool is_given[MAX_FLAGS]; // indexed by the flags of the command
} positional;

enum { PARSE_RUN = -1 };
/// Parses argv[0 .. argc), which begins after the subcommand. Returns PARSE_RUN, or the
/// exit status of a command that has nothing left to do. Complaints go to standard error,
/// --help to standard output.
int parse_arguments(const command *cmd, int argc, char **argv, positional *out);
/// Declares `positional name`, the parsed arguments of a command; returns from the
/// command when it has nothing left to do.
#define PARSE_ARGUMENTS(name, cmd, argc, argv)                                           \
  positional name;                                                                       \
  do {                                                                                   \
    int parsed_ = parse_arguments(cmd, argc, argv, &name);                               \
    if (parsed_ != PARSE_RUN) return parsed_;                                            \
  } while (0)
/// True when all given flags have an effect in a mode of the command; otherwise prints
/// the flag that has no effect on `what`, and where it has an effect.
bool given_flags_matter(const command *cmd, const positional *given, unsigned mode,
                        const char *what, const char *remedy);

#endif
