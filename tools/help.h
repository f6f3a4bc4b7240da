// Prints the table of a command's flags: as text, as a manual page, and for
// shell completion.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_HELP_H
#define EG_TOOLS_HELP_H

#include "tools/flag_table.h"

/// Prints the help that an argument asks for: "-h" and "--help" as text, "--help=man" the
/// sections of a manual page from SYNOPSIS on, "--help=bash" and "--help=zsh" a case of
/// the completion. False when the argument does not ask for help.
bool print_help_as(const command *cmd, const char *argument);

/// Prints a text for troff, in which no character begins a request or an escape.
void print_troff(const char *text);

#endif
