// Standard output and error of the command: errors, progress, JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_CONSOLE_H
#define EG_TOOLS_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "include/egraph.h"

// Exit statuses.
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/// As fprintf, for what has names of a model in it: control characters, and what is no
/// UTF-8, are printed as \x1b, so that a terminal does not obey a name and a line stays
/// one. The format has line ends at its end only.
void show(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// The same of a text of several lines, of which the names have no line ends.
void show_lines(FILE *file, const char *text);

/// Prints the library's last error; returns EXIT_FAILED.
int report_failure(egraph_status status);

/// A clock that only goes forwards.
double now_seconds(void);
/// Amounts for people, three digits: "1.23 ms", "19.4 MB".
typedef struct amount_text {
  char text[24];
} amount_text;
amount_text seconds_text(double seconds);
amount_text bytes_text(double bytes);

/// One line that is redrawn on a terminal, at most ten times a second; nothing elsewhere.
/// Also reports whether Ctrl-C was pressed since install_interrupt: callers then stop
/// with what they have.
void progress_line(const char *phase, const char *line);
void progress_clear(void);
void install_interrupt(void);
bool interrupted(void);

/// JSON objects, keys in the order they are written: to a file, or to standard output
/// (NULL).
void json_to(FILE *file);
void json_begin(void);
void json_end(void);
void json_open(const char *key,
               char bracket); // nested '{' or '['; key NULL inside a list
void json_close(char bracket);
void json_text(const char *key, const char *value);
void json_real(const char *key, double value);
void json_short(const char *key, double value); // finite; six digits
void json_int(const char *key, uint64_t value);
void json_bool(const char *key, bool value);
/// A value that is JSON text already.
void json_value(const char *key, const char *json);

#endif
