// Input of the checker: files in memory, memory that is freed at once, and the one
// reason for which a certificate is refused.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_INPUT_H
#define CHECK_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CHECK_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#define CHECK_PRINTF(string, first)
#endif

/// Why a certificate is not accepted; the first reason stays.
typedef struct refusal {
  char text[640];
} refusal;

/// Text of a file in memory: `size` bytes and a NUL. The bytes may be written to.
typedef struct input {
  const char *path; // borrowed
  char *text;
  size_t size;
  void *blocks; // what input_allocate gave out
  refusal *why; // borrowed
} input;

/// Reads a regular file, plain or gzip, of at most 4 GiB of text. False: *why says what
/// is wrong, and there is nothing to close.
bool input_open(input *in, const char *path, refusal *why);
/// A copy of `size` bytes; `path` stands for the file in messages.
bool input_open_bytes(input *in, const char *path, const char *bytes, size_t size,
                      refusal *why);
/// Frees the text and all memory that was given out.
void input_close(input *in);

/// count * size zeroed bytes that live until input_close; NULL (and a reason) when there
/// is no memory or the size overflows. Never NULL for a count of 0.
void *input_allocate(input *in, size_t count, size_t size);
/// Points at `count` zeroed items of the pointer's type; false, with a reason.
#define INPUT_ROOM(in, pointer, count)                                                   \
  (((pointer) = input_allocate(in, (size_t)(count), sizeof *(pointer))) != NULL)
/// Sorts items by key, of keys below `keys`; items of a larger key are left out. Those of
/// key k are grouped[begin[k] .. begin[k + 1]). False, with a reason.
bool input_group(input *in, const uint32_t *key, size_t items, uint32_t keys,
                 uint32_t **begin, uint32_t **grouped);

/// Notes "PATH:LINE: what is wrong"; always returns false.
bool input_refuse(input *in, size_t line, const char *format, ...) CHECK_PRINTF(3, 4);

#endif
