// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/certificate.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool certificate_refuse(certificate *c, const char *format, ...) {
  char text[384];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return input_refuse(&c->in, c->line, "%s", text);
}

bool certificate_next(certificate *c) {
  while (c->next_line != NULL) {
    c->at = c->next_line;
    c->line++;
    char *end = memchr(c->at, '\n', (size_t)(c->in.text + c->in.size - c->at));
    c->next_line = end != NULL ? end + 1 : NULL;
    if (end != NULL) *end = '\0';
    c->at += strspn(c->at, " \t\r");
    if (*c->at != '\0') return true;
  }
  return false;
}

const char *certificate_word(certificate *c) {
  char *word = c->at + strspn(c->at, " \t\r");
  size_t length = strcspn(word, " \t\r");
  c->at = word + length;
  if (length == 0) return NULL;
  if (*c->at != '\0') *c->at++ = '\0';
  return word;
}

bool certificate_name(certificate *c, const char *what, const char **out) {
  *out = certificate_word(c);
  return *out != NULL || certificate_refuse(c, "%s is missing", what);
}

bool certificate_int64(certificate *c, const char *what, int64_t *out) {
  const char *word;
  if (!certificate_name(c, what, &word)) return false;
  const char *digits = word + (*word == '-');
  errno = 0;
  long long value = strtoll(word, NULL, 10);
  if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0' || errno != 0)
    return certificate_refuse(c, "%s must be an integer, but is '%.40s'", what, word);
  *out = value;
  return true;
}

bool certificate_index(certificate *c, const char *what, uint32_t limit, uint32_t *out) {
  int64_t value = 0;
  if (!certificate_int64(c, what, &value)) return false;
  if (value < 0 || value >= limit)
    return certificate_refuse(c, "%s must be below %u, but is %lld", what, limit,
                              (long long)value);
  *out = (uint32_t)value;
  return true;
}

// This program never sets a locale; the decimal point is therefore a point.
bool certificate_double(certificate *c, const char *what, double *out) {
  const char *word;
  if (!certificate_name(c, what, &word)) return false;
  char *end;
  double value = strtod(word, &end);
  if (end == word || *end != '\0' || !isfinite(value))
    return certificate_refuse(c, "%s must be a finite number, but is '%.40s'", what,
                              word);
  *out = value;
  return true;
}

bool certificate_line_ends(certificate *c) {
  const char *word = certificate_word(c);
  return word == NULL || certificate_refuse(c, "'%.40s' is not expected here", word);
}

// An unknown kind may be a kind of another version of this program.
static const struct {
  const char *name;
  certificate_check *check;
} KINDS[] = {
    {"plain", check_plain}, {"sharding", check_sharding}, {"layout", check_layout}};

static bool run_check(input *in, const char *path, input *problem, verdict *out) {
  certificate c = {.in = *in, .next_line = in->text, .problem = problem};
  *out = (verdict){.cost = ""};
  const char *magic = certificate_next(&c) ? certificate_word(&c) : NULL;
  const char *version = magic != NULL ? certificate_word(&c) : NULL;
  const char *kind = version != NULL ? certificate_word(&c) : NULL;
  bool good = kind != NULL && strcmp(magic, "egraph-certificate") == 0 &&
              strcmp(version, "1") == 0;
  certificate_check *check = NULL;
  if (!good)
    (void)certificate_refuse(&c, "the first line must be 'egraph-certificate 1 KIND'");
  for (size_t i = 0; good && i < sizeof KINDS / sizeof *KINDS; i++)
    if (strcmp(kind, KINDS[i].name) == 0) check = KINDS[i].check;
  if (good && check == NULL)
    (void)certificate_refuse(&c, "this program checks no certificates of kind '%.40s'",
                             kind);
  bool accepted =
      good && check != NULL && certificate_line_ends(&c) && check(&c, path, out);
  in->blocks = c.in.blocks;
  return accepted;
}

bool certificate_run(input *in, const char *problem, verdict *out) {
  return run_check(in, problem, NULL, out);
}

bool certificate_run_on(input *in, input *problem, verdict *out) {
  return run_check(in, problem->path, problem, out);
}
