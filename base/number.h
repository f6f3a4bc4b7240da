// Converts numbers from and to text, independent of the program's locale.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_NUMBER_H
#define EG_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EG_NUMBER_MAX_CHARS = 1000, EG_DOUBLE_TEXT_CHARS = 40 };

/// Convert a text to a number; false when it is not exactly one number in range, and *out
/// is then unchanged.
///   int64:  -?[0-9]+
///   double: -?([0-9]+.?[0-9]*|.[0-9]+)([eE][+-]?[0-9]+)?, -?inf, -?nan; at most
///           EG_NUMBER_MAX_CHARS long. Underflow rounds, overflow is out of range.
bool eg_parse_int64(const char *text, int64_t *out);
bool eg_parse_double(const char *text, double *out);

/// Writes the shortest decimal form that reads back as the same double
/// (any NaN is "nan").
void eg_double_print(double value, char out[EG_DOUBLE_TEXT_CHARS]);

#endif
