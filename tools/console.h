// Standard output and standard error of the command: errors, progress, JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_CONSOLE_H
#define EG_TOOLS_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/status.h"
#include "include/egraph.h"

// Exit statuses.
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/// Prints like fprintf, for text that contains names of a model. Control characters and
/// invalid UTF-8 are printed as escapes, such as \x1b: names cannot control a terminal,
/// and a line stays one line. The format has line ends only at its end.
void show(FILE *file, const char *format, ...) EG_PRINTF(2, 3);
/// Prints a text of several lines as `show` does; names in it must have no line ends.
void show_lines(FILE *file, const char *text);

/// Prints the library's last error; returns EXIT_FAILED.
int report_failure(egraph_status status);
/// Returns EXIT_DONE, or reports a failure as report_failure does.
int outcome_of(egraph_status status);
/// Prints "egraph: ", a head, a message and a line end to standard error; returns false.
bool say_error(const char *head, const char *format, ...) EG_PRINTF(2, 3);
/// complain prints a message and returns false; refuse prints one and returns EXIT_USAGE.
#define complain(...) say_error("", __VA_ARGS__)
#define refuse(...) (complain(__VA_ARGS__) ? EXIT_DONE : EXIT_USAGE)
#define note(...) ((void)say_error("note: ", __VA_ARGS__))
/// Like complain, but prints as `show` does: for text that contains names of a model.
#define complain_of(format, ...)                                                         \
  (show(stderr, "egraph: " format "\n", __VA_ARGS__), false)
/// Prints "PATH: the reason of errno"; returns false.
bool complain_of_file(const char *path);

/// An amount for people, in three digits: "1.23 ms", "19.4 MB".
typedef struct amount_text {
  char text[24];
} amount_text;
amount_text seconds_text(double seconds);
amount_text bytes_text(double bytes);
/// Formats seconds since 1970 as UTC with a format of strftime; "-" for an invalid date.
amount_text date_text(int64_t seconds, const char *format);
#define DAY_FORMAT "%Y-%m-%d"
#define SECOND_FORMAT "%Y-%m-%dT%H:%M:%SZ"

/// Redraws a line on a terminal, at most ten times a second; elsewhere prints nothing.
/// Returns interrupted().
bool progress_line(const char *phase, const char *format, ...) EG_PRINTF(2, 3);
void progress_clear(void);
void install_interrupt(void);
/// True when Ctrl-C was pressed since install_interrupt; callers then end early.
bool interrupted(void);

/// Prints JSON objects, with keys in the order of the calls, to a file or to standard
/// output (NULL).
void json_to(FILE *file);
void json_begin(void);
void json_end(void);
/// Opens a nested '{' or '['; the key is NULL inside a list.
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_text(const char *key, const char *value); // value NULL: omitted
void json_real(const char *key, double value);      // null when the value is not finite
void json_short(const char *key, double value);     // finite; six digits
void json_int(const char *key, uint64_t value);
void json_bool(const char *key, bool value);
/// Prints a value that is already JSON text.
void json_value(const char *key, const char *json);

/// A member of an object, printed according to its type; a NULL text is omitted.
typedef struct json_field {
  const char *key;
  enum { JSON_TEXT, JSON_REAL, JSON_WHOLE, JSON_TRUTH } kind;
  union {
    const char *text;
    double real;
    uint64_t whole;
  };
} json_field;
#define JSON(key, value)                                                                 \
  _Generic((value), char *                                                               \
           : json_field_text, const char *                                               \
           : json_field_text, double                                                     \
           : json_field_real, float                                                      \
           : json_field_real, bool                                                       \
           : json_field_bool, unsigned                                                   \
           : json_field_int, unsigned long                                               \
           : json_field_int, unsigned long long                                          \
           : json_field_int)(key, value)
json_field json_field_text(const char *key, const char *value);
json_field json_field_real(const char *key, double value);
json_field json_field_bool(const char *key, bool value);
json_field json_field_int(const char *key, uint64_t value);

/// Prints members, JSON(key, value) each, of the open object.
#define JSON_MEMBERS(...)                                                                \
  json_members((const json_field[]){__VA_ARGS__},                                        \
               sizeof((const json_field[]){__VA_ARGS__}) / sizeof(json_field))
void json_members(const json_field *fields, size_t count);
/// JSON_BEGIN begins a document and prints members; JSON_PRINT prints a whole document.
#define JSON_BEGIN(...) (json_begin(), JSON_MEMBERS(__VA_ARGS__))
#define JSON_PRINT(...) (JSON_BEGIN(__VA_ARGS__), json_end())
/// Prints a nested object with members; the key is NULL inside a list.
#define JSON_OBJECT(key, ...)                                                            \
  (json_open(key, '{'), JSON_MEMBERS(__VA_ARGS__), json_close('}'))
/// Prints a list of `count` items; the statement after the macro prints each item and
/// must not break.
#define JSON_EACH(key, i, count)                                                         \
  for (uint32_t i = (json_open(key, '['), 0); i < (count) || (json_close(']'), false);   \
       i++)
/// json_begin_list begins an object whose first member is a list; JSON_END_LIST ends
/// both, with members after the list.
void json_begin_list(const char *key);
#define JSON_END_LIST(...) (json_close(']'), JSON_MEMBERS(__VA_ARGS__), json_end())

#endif
