// Standard output and error of the command: errors, progress, JSON.
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

/// As fprintf, for what has names of a model in it: control characters, and what is no
/// UTF-8, are printed as \x1b, so that a terminal does not obey a name and a line stays
/// one. The format has line ends at its end only.
void show(FILE *file, const char *format, ...) EG_PRINTF(2, 3);
/// The same for a text of several lines, in which names have no line ends.
void show_lines(FILE *file, const char *text);

/// Prints the library's last error; returns EXIT_FAILED.
int report_failure(egraph_status status);
/// EXIT_DONE, or as report_failure.
int outcome_of(egraph_status status);
/// Prints "egraph: ", a head, a message and a line end to standard error; returns false.
bool say_error(const char *head, const char *format, ...) EG_PRINTF(2, 3);
/// A complaint is false, a refusal of arguments EXIT_USAGE.
#define complain(...) say_error("", __VA_ARGS__)
#define refuse(...) (complain(__VA_ARGS__) ? EXIT_DONE : EXIT_USAGE)
#define note(...) ((void)say_error("note: ", __VA_ARGS__))
/// Complains of a file: "PATH: the reason of errno".
bool complain_of_file(const char *path);

/// Amounts for people, three digits: "1.23 ms", "19.4 MB".
typedef struct amount_text {
  char text[24];
} amount_text;
amount_text seconds_text(double seconds);
amount_text bytes_text(double bytes);
/// Seconds since 1970 as UTC, in a form of strftime; "-" for what is no date.
amount_text date_text(int64_t seconds, const char *format);
#define DAY_FORMAT "%Y-%m-%d"
#define SECOND_FORMAT "%Y-%m-%dT%H:%M:%SZ"

/// Draws a line anew on a terminal, at most ten times a second; nothing elsewhere.
/// Returns interrupted().
bool progress_line(const char *phase, const char *format, ...) EG_PRINTF(2, 3);
void progress_clear(void);
void install_interrupt(void);
/// True when Ctrl-C was pressed since install_interrupt: callers then end early.
bool interrupted(void);

/// JSON objects, keys in the order they are written: to a file, or to standard output
/// (NULL).
void json_to(FILE *file);
void json_begin(void);
void json_end(void);
/// Nested '{' or '['; the key is NULL inside a list.
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_text(const char *key, const char *value); // value NULL: left out
void json_real(const char *key, double value);      // null where it is not finite
void json_short(const char *key, double value);     // finite; six digits
void json_int(const char *key, uint64_t value);
void json_bool(const char *key, bool value);
/// A value that is JSON text already.
void json_value(const char *key, const char *json);

/// A member of an object, in the form of its type; a text NULL is left out.
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

/// Members, JSON(key, value) each, of the object that is open.
#define JSON_MEMBERS(...)                                                                \
  json_members((const json_field[]){__VA_ARGS__},                                        \
               sizeof((const json_field[]){__VA_ARGS__}) / sizeof(json_field))
void json_members(const json_field *fields, size_t count);
/// The beginning of a document with such members, and a whole one.
#define JSON_BEGIN(...) (json_begin(), JSON_MEMBERS(__VA_ARGS__))
#define JSON_PRINT(...) (JSON_BEGIN(__VA_ARGS__), json_end())
/// A nested object of such members; the key is NULL inside a list.
#define JSON_OBJECT(key, ...)                                                            \
  (json_open(key, '{'), JSON_MEMBERS(__VA_ARGS__), json_close('}'))
/// A list of `count` items, which the statement behind writes one by one, without break.
#define JSON_EACH(key, i, count)                                                         \
  for (uint32_t i = (json_open(key, '['), 0); i < (count) || (json_close(']'), false);   \
       i++)
/// An object whose first member is a list, and its end with members behind the list.
void json_begin_list(const char *key);
#define JSON_END_LIST(...) (json_close(']'), JSON_MEMBERS(__VA_ARGS__), json_end())

#endif
