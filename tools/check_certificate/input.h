// Input of the checker: files in memory, memory that is freed together with them, and the
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

/// Why a certificate is refused: the first reason that was noted.
typedef struct refusal {
  char text[640];
} refusal;

/// Text of a file in memory: `size` bytes and a NUL. The bytes may be written to.
typedef struct input {
  const char *path; // borrowed
  char *text;
  size_t size;
  void *blocks; // allocated by input_allocate
  refusal *why; // borrowed
} input;

/// Reads a regular file, plain or gzip, of at most 4 GiB of text. False: *why contains
/// the reason, and there is nothing to close.
bool input_open(input *in, const char *path, refusal *why);
/// Copies `size` bytes; `path` names the input in messages.
bool input_open_bytes(input *in, const char *path, const char *bytes, size_t size,
                      refusal *why);
/// Frees the text and all memory that input_allocate returned.
void input_close(input *in);

/// Allocates count * size zeroed bytes that live until input_close; NULL (and a reason)
/// when memory is lacking or the size overflows. A count of 0 does not give NULL.
void *input_allocate(input *in, size_t count, size_t size);
/// Makes `pointer` point to `count` zeroed items of its type; false: memory is lacking.
#define INPUT_ROOM(in, pointer, count)                                                   \
  (((pointer) = input_allocate(in, (size_t)(count), sizeof *(pointer))) != NULL)
/// Makes the array at *(T **)array large enough for `count` items of `size` bytes; its
/// capacity at least doubles. False, without a reason: memory is lacking.
bool input_grow(void *array, size_t *capacity, size_t count, size_t size);
/// Groups items by key; omits items whose key is `keys` or larger. The items of key k are
/// grouped[begin[k] .. begin[k + 1]). False, with a reason, when memory is lacking.
bool input_group(input *in, const uint32_t *key, size_t items, uint32_t keys,
                 uint32_t **begin, uint32_t **grouped);

/// Notes "PATH:LINE: what is wrong"; always returns false.
bool input_refuse(input *in, size_t line, const char *format, ...) CHECK_PRINTF(3, 4);

#endif
