// Growing text buffer, number parsing, files and the clock.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_TEXT_H
#define EG_BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

EG_VEC_DEFINE(eg_chars, char);

/// Text under construction: `chars.data` is NUL-terminated after every call that
/// succeeds.
typedef struct eg_text {
  eg_chars chars;
} eg_text;

void eg_text_init(eg_text *text, egraph_allocator alloc);
void eg_text_deinit(eg_text *text);
void eg_text_clear(eg_text *text);
egraph_status eg_text_append(eg_text *text, const char *string);
egraph_status eg_text_append_bytes(eg_text *text, const char *bytes, size_t count);
egraph_status eg_text_printf(eg_text *text, const char *format, ...) EG_PRINTF(2, 3);
/// The shortest decimal form that reads back as the same double; always has a '.', 'e',
/// "inf" or "nan".
egraph_status eg_text_double(eg_text *text, double value);
/// Borrowed, valid until the next change; "" when empty.
const char *eg_text_of(const eg_text *text);
/// Hands the characters over as a string to be freed with eg_string_free; the text is
/// then empty.
egraph_status eg_text_take(eg_text *text, char **out);

/// Whole-string conversions, without locale; false when text is not exactly one number in
/// range.
bool eg_parse_int64(const char *text, int64_t *out);
bool eg_parse_double(const char *text, double *out);

/// Reads a file into *out (terminated by a NUL that *out_size does not count).
/// Free with eg_free(alloc, *out, *out_size + 1, 1). Fails with EGRAPH_E_IO (absent,
/// unreadable, not a regular file, larger than max_size).
egraph_status eg_file_read(egraph_allocator alloc, const char *path, size_t max_size,
                           char **out, size_t *out_size);
/// Writes to a temporary file beside `path` and renames it, so that an interrupted write
/// never leaves half a file. Fails with EGRAPH_E_IO.
egraph_status eg_file_write(const char *path, const void *data, size_t size);

/// Monotonic time in seconds.
double eg_clock_seconds(void);
/// CPU seconds of this process.
double eg_clock_cpu_seconds(void);

#endif
