// strtod and printf follow LC_NUMERIC of the process, which the calling program sets.
// Therefore this file checks the grammar itself and translates only the decimal point.
// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINT_CHARS = 16 };

// Finds the decimal point of the current locale (one or more bytes) by printing a number,
// because localeconv is not thread-safe.
static size_t locale_point(char point[POINT_CHARS]) {
  char half[POINT_CHARS];
  int length = snprintf(half, sizeof half, "%.1f", 0.5);
  if (length < 3 || (size_t)length >= sizeof half) return 0;
  size_t count = (size_t)length - 2;
  memcpy(point, half + 1, count);
  return count;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *skip_digits(const char *text) {
  while (is_digit(*text))
    text++;
  return text;
}

bool eg_parse_int64(const char *text, int64_t *out) {
  const char *digits = *text == '-' ? text + 1 : text;
  const char *end = skip_digits(digits);
  if (end == digits || *end != '\0') return false;
  errno = 0;
  long long value = strtoll(text, NULL, 10);
  if (errno == ERANGE) return false;
  *out = value;
  return true;
}

// Checks the grammar of a finite number; *out_point is its decimal point or NULL.
static bool is_decimal(const char *text, const char **out_point) {
  const char *at = *text == '-' ? text + 1 : text;
  const char *whole = at;
  at = skip_digits(at);
  size_t digits = (size_t)(at - whole);
  *out_point = NULL;
  if (*at == '.') {
    *out_point = at++;
    const char *fraction = at;
    at = skip_digits(at);
    digits += (size_t)(at - fraction);
  }
  if (digits == 0) return false;
  if (*at == 'e' || *at == 'E') {
    at++;
    if (*at == '+' || *at == '-') at++;
    const char *exponent = at;
    at = skip_digits(at);
    if (at == exponent) return false;
  }
  return *at == '\0' && at - text <= EG_NUMBER_MAX_CHARS;
}

static bool parse_special(const char *text, double *out) {
  bool negative = *text == '-';
  const char *name = negative ? text + 1 : text;
  if (strcmp(name, "inf") == 0)
    *out = negative ? -(double)INFINITY : (double)INFINITY;
  else if (strcmp(name, "nan") == 0)
    *out = (double)NAN;
  else
    return false;
  return true;
}

// Reads a decimal whose digits are an integer below 2^53 and whose power of ten is a
// double, too: their product or quotient is rounded once, as the decimal is.
static bool parse_short(const char *text, double *out) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const long most_power = sizeof powers / sizeof *powers - 1;
  const char *at = *text == '-' ? text + 1 : text;
  uint64_t digits = 0;
  long power = 0;
  bool is_fraction = false;
  for (; is_digit(*at) || *at == '.'; at++) {
    if (*at == '.') {
      is_fraction = true;
      continue;
    }
    if (digits > ((UINT64_C(1) << 53) - 9) / 10) return false;
    digits = digits * 10 + (uint64_t)(*at - '0');
    power -= is_fraction;
  }
  long exponent = *at != '\0' ? strtol(at + 1, NULL, 10) : 0;
  if (exponent < -2 * most_power || exponent > 2 * most_power) return false;
  power += exponent;
  if (power < -most_power || power > most_power) return false;
  double value =
      power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
  *out = *text == '-' ? -value : value;
  return true;
}

bool eg_parse_double(const char *text, double *out) {
  const char *point;
  if (!is_decimal(text, &point)) return parse_special(text, out);
  if (parse_short(text, out)) return true;
  char local[EG_NUMBER_MAX_CHARS + POINT_CHARS + 1], local_point[POINT_CHARS];
  size_t point_size = locale_point(local_point);
  if (point != NULL && (point_size != 1 || local_point[0] != '.')) {
    size_t before = (size_t)(point - text);
    memcpy(local, text, before);
    memcpy(local + before, local_point, point_size);
    memcpy(local + before + point_size, point + 1, strlen(point + 1) + 1);
    text = local;
  }
  double value = strtod(text, NULL);
  if (isinf(value)) return false;
  *out = value;
  return true;
}

// Turns the locale's decimal point, the only run of other characters, into a '.'.
static void make_point_plain(char *number) {
  char *point = number + strspn(number, "+-0123456789e");
  if (*point == '\0') return;
  char *rest = point + strcspn(point, "+-0123456789e");
  *point = '.';
  memmove(point + 1, rest, strlen(rest) + 1);
}

/// True when a number printed with `digits` digits reads back as the same number.
static bool print_digits(double value, int digits, char out[EG_DOUBLE_TEXT_CHARS]) {
  double back;
  (void)snprintf(out, EG_DOUBLE_TEXT_CHARS - 2, "%.*g", digits, value);
  make_point_plain(out);
  return eg_parse_double(out, &back) && back == value;
}

void eg_double_print(double value, char out[EG_DOUBLE_TEXT_CHARS]) {
  if (isnan(value) || isinf(value)) {
    strcpy(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  // Different decimals of 15 digits are different doubles. When 15 digits do not read
  // back as the same number, fewer digits do not either.
  int digits = print_digits(value, DBL_DIG, out) ? 1 : DBL_DIG + 1;
  while (!print_digits(value, digits, out) && digits < DBL_DECIMAL_DIG)
    digits++;
  if (strpbrk(out, ".e") == NULL) strcat(out, ".0");
}
