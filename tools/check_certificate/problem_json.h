// Reads the JSON of a problem file value by value: the caller asks for the value that
// must come next. Names are decoded in place. Calls nest only as deep as the known keys.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_PROBLEM_JSON_H
#define CHECK_PROBLEM_JSON_H

#include "tools/check_certificate/input.h"

typedef struct problem_json {
  input in;
  size_t at; // next byte
} problem_json;

// The functions below note "FILE:LINE: what is wrong" and return false when another
// value follows.

/// Reads an array; `element` reads one of its values.
bool json_array(problem_json *json, bool (*element)(problem_json *json, void *user),
                void *user);
/// Reads an object; `member` reads the value of a key.
bool json_object(problem_json *json,
                 bool (*member)(problem_json *json, const char *key, void *user),
                 void *user);
/// Reads a string without NUL, decoded, borrowed until the input is closed.
bool json_string(problem_json *json, const char **out);
/// Reads a finite number.
bool json_double(problem_json *json, double *out);
/// Reads an integer: no fraction, no exponent, 64 bits.
bool json_int64(problem_json *json, int64_t *out);
/// Returns the first byte of the next JSON value; 0 at the end.
char json_peek(problem_json *json);
/// Reads any value, nested to at most 64, and drops it.
bool json_skip(problem_json *json);
/// Checks that only blanks follow.
bool json_end(problem_json *json);
/// Notes "FILE:LINE: what is wrong"; always returns false.
bool json_refuse(problem_json *json, const char *format, ...) CHECK_PRINTF(2, 3);

#endif
