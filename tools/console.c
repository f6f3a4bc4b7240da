// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/console.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_text.h"

// ---- text of others ---------------------------------------------------------------

/// Writes `text` to `to`, which has four bytes for each byte of the text; returns the
/// end.
static char *append_shown(char *to, const unsigned char *text, bool keeps_lines) {
  static const char DIGITS[] = "0123456789abcdef";
  for (const unsigned char *c = text; *c != '\0';) {
    size_t bytes = eg_utf8_length((const char *)c);
    bool is_control = c[0] < 0x20 || c[0] == 0x7F || // or U+0080 to U+009F
                      (c[0] == 0xC2 && c[1] < 0xA0);
    if (bytes != 0 && (!is_control || (keeps_lines && *c == '\n'))) {
      while (bytes-- != 0)
        *to++ = (char)*c++;
    } else {
      *to++ = '\\';
      *to++ = 'x';
      *to++ = DIGITS[*c >> 4];
      *to++ = DIGITS[*c++ & 15];
    }
  }
  return to;
}

/// Writes a text and then line ends; `shown` must have four bytes for each byte of both.
static void write_shown(FILE *file, char *shown, const char *text, bool keeps_lines,
                        size_t ends) {
  char *end = append_shown(shown, (const unsigned char *)text, keeps_lines);
  while (ends-- != 0)
    *end++ = '\n';
  // One write: standard error has no buffer, and ranks that fail together share it.
  (void)fwrite(shown, 1, (size_t)(end - shown), file);
}

void show(FILE *file, const char *format, ...) {
  va_list args, again;
  size_t format_length = strlen(format), ends = 0;
  while (ends < format_length && format[format_length - 1 - ends] == '\n')
    ends++;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  // The buffer holds the text, and behind it the text as it is printed.
  size_t size = (size_t)length + 1;
  char *text = length >= 0 ? malloc(5 * size) : NULL;
  if (text != NULL) (void)vsnprintf(text, size, format, again);
  va_end(again);
  if (text == NULL) {
    fprintf(file, "(out of memory)\n");
    return;
  }
  text[(size_t)length - ends] = '\0';
  write_shown(file, text + size, text, false, ends);
  free(text);
}

void show_lines(FILE *file, const char *text) {
  char *shown = malloc(4 * strlen(text) + 1);
  if (shown == NULL)
    fprintf(file, "(out of memory)\n");
  else
    write_shown(file, shown, text, true, 0);
  free(shown);
}

int report_failure(egraph_status status) {
  progress_clear();
  show(stderr, "egraph: %s\n",
       egraph_last_error()[0] != '\0' ? egraph_last_error() : egraph_status_name(status));
  return EXIT_FAILED;
}

int outcome_of(egraph_status status) {
  return status == EGRAPH_OK ? EXIT_DONE : report_failure(status);
}

bool say_error(const char *head, const char *format, ...) {
  va_list args;
  fprintf(stderr, "egraph: %s", head);
  va_start(args, format);
  (void)vfprintf(stderr, format, args);
  va_end(args);
  (void)fputc('\n', stderr);
  return false;
}

bool complain_of_file(const char *path) {
  return complain_of("%s: %s", path, strerror(errno));
}

// ---- amounts ------------------------------------------------------------------

typedef struct unit {
  double size;
  const char *name;
} unit;

/// Formats a value in the largest unit in which it is at least 1; smaller values take the
/// last unit.
static amount_text in_units(double value, const unit *units, size_t count) {
  amount_text out;
  while (count > 1 && value < units->size * 0.9995) {
    units++;
    count--;
  }
  (void)snprintf(out.text, sizeof out.text, "%.3g %s", value / units->size, units->name);
  return out;
}

amount_text seconds_text(double seconds) {
  static const unit UNITS[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  bool is_some = seconds > 0 && seconds < 9995;
  return in_units(seconds, UNITS, is_some ? sizeof UNITS / sizeof *UNITS : 1);
}

amount_text bytes_text(double bytes) {
  static const unit UNITS[] = {
      {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
  return in_units(bytes, UNITS, sizeof UNITS / sizeof *UNITS);
}

amount_text date_text(int64_t seconds, const char *format) {
  amount_text out;
  time_t date = (time_t)seconds;
  struct tm parts;
  bool is_date = gmtime_r(&date, &parts) != NULL &&
                 strftime(out.text, sizeof out.text, format, &parts) != 0;
  return is_date ? out : (amount_text){"-"};
}

// ---- progress -------------------------------------------------------------------

static bool line_shown;
static double last_drawn;
static volatile sig_atomic_t interrupt_seen;

bool progress_line(const char *phase, const char *format, ...) {
  double now = eg_clock_seconds();
  if (!isatty(STDERR_FILENO) || now - last_drawn < 0.1) return interrupted();
  char line[1024];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  last_drawn = now;
  line_shown = true;
  fprintf(stderr, "\r\033[K%s: ", phase);
  show(stderr, "%s", line);
  (void)fflush(stderr);
  return interrupted();
}

void progress_clear(void) {
  if (line_shown) fprintf(stderr, "\r\033[K");
  line_shown = false;
}

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupt_seen = 1;
}

void install_interrupt(void) {
  struct sigaction action = {.sa_handler = on_interrupt};
  action.sa_flags = (int)SA_RESETHAND; // a second Ctrl-C ends the process
  (void)sigaction(SIGINT, &action, NULL);
}

bool interrupted(void) { return interrupt_seen != 0; }

// ---- JSON -----------------------------------------------------------------------

static bool first_item = true;
static FILE *json_file; // NULL: standard output

void json_to(FILE *file) { json_file = file; }

static FILE *out_file(void) { return json_file != NULL ? json_file : stdout; }

// Prints a JSON string. Names of models may hold any bytes; invalid UTF-8 becomes U+FFFD.
static void print_string(const char *text) {
  (void)fputc('"', out_file());
  for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
    size_t length = eg_utf8_length((const char *)c);
    if (*c == '"' || *c == '\\')
      fprintf(out_file(), "\\%c", *c);
    else if (*c < 0x20 || (*c == '<' && json_file != NULL)) // may be inside an HTML page
      fprintf(out_file(), "\\u%04x", *c);
    else if (length == 0)
      fprintf(out_file(), "\\ufffd");
    else
      (void)fwrite(c, 1, length, out_file());
    c += length != 0 ? length : 1;
  }
  (void)fputc('"', out_file());
}

static void key_of(const char *key) {
  if (!first_item) (void)fputc(',', out_file());
  first_item = false;
  if (key == NULL) return;
  print_string(key);
  (void)fputc(':', out_file());
}

void json_begin(void) {
  first_item = true;
  (void)fputc('{', out_file());
}

void json_end(void) { fprintf(out_file(), "}\n"); }

void json_open(const char *key, char bracket) {
  key_of(key);
  (void)fputc(bracket, out_file());
  first_item = true;
}

void json_close(char bracket) {
  (void)fputc(bracket, out_file());
  first_item = false;
}

void json_text(const char *key, const char *value) {
  if (value == NULL) return;
  key_of(key);
  print_string(value);
}

void json_real(const char *key, double value) {
  key_of(key);
  if (isfinite(value))
    fprintf(out_file(), "%.17g", value);
  else
    fprintf(out_file(), "null");
}

void json_short(const char *key, double value) {
  key_of(key);
  fprintf(out_file(), "%.6g", value);
}

void json_int(const char *key, uint64_t value) {
  key_of(key);
  fprintf(out_file(), "%" PRIu64, value);
}

void json_bool(const char *key, bool value) {
  key_of(key);
  fprintf(out_file(), value ? "true" : "false");
}

void json_value(const char *key, const char *json) {
  key_of(key);
  fprintf(out_file(), "%s", json);
}

json_field json_field_text(const char *key, const char *value) {
  return (json_field){.key = key, .kind = JSON_TEXT, .text = value};
}

json_field json_field_real(const char *key, double value) {
  return (json_field){.key = key, .kind = JSON_REAL, .real = value};
}

json_field json_field_bool(const char *key, bool value) {
  return (json_field){.key = key, .kind = JSON_TRUTH, .whole = value};
}

json_field json_field_int(const char *key, uint64_t value) {
  return (json_field){.key = key, .kind = JSON_WHOLE, .whole = value};
}

void json_members(const json_field *fields, size_t count) {
  for (const json_field *f = fields; f < fields + count; f++)
    switch (f->kind) {
    case JSON_TEXT: json_text(f->key, f->text); break;
    case JSON_REAL: json_real(f->key, f->real); break;
    case JSON_WHOLE: json_int(f->key, f->whole); break;
    case JSON_TRUTH: json_bool(f->key, f->whole != 0); break;
    }
}

void json_begin_list(const char *key) {
  json_begin();
  json_open(key, '[');
}
