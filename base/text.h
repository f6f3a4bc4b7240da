// A text buffer that grows. Also includes number.h, file.h and clock.h.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_TEXT_H
#define EG_BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/vec.h"

/// Text under construction, NUL-terminated. A text remembers its first failure: later
/// calls append nothing and return that failure, until eg_text_clear or eg_text_deinit.
/// Check therefore only the last of several calls, or eg_text_status.
typedef struct eg_text {
  eg_chars chars;
  egraph_status status; // status of the first call that failed
} eg_text;

void eg_text_init(eg_text *text, egraph_allocator alloc);
void eg_text_deinit(eg_text *text);
void eg_text_clear(eg_text *text);
egraph_status eg_text_status(const eg_text *text);
egraph_status eg_text_append(eg_text *text, const char *string);
egraph_status eg_text_append_bytes(eg_text *text, const char *bytes, size_t count);
egraph_status eg_text_printf(eg_text *text, const char *format, ...) EG_PRINTF(2, 3);
/// Appends a line for people, like eg_text_printf, but writes line ends in the arguments
/// (names) as \x0a. The format may have line ends only at its end.
egraph_status eg_text_print_names(eg_text *text, const char *format, ...) EG_PRINTF(2, 3);
/// Appends the shortest decimal form that reads back as the same double; always has a
/// '.', 'e', "inf" or "nan". Independent of the locale (eg_text_printf("%g") is not).
egraph_status eg_text_double(eg_text *text, double value);
/// Returns the characters of the text: borrowed, valid until the next change; "" when
/// empty. Check the status first.
const char *eg_text_of(const eg_text *text);
/// Moves the characters to *out, a string to be freed with eg_string_free; the text is
/// then empty. Returns the failure that the text remembers, if any.
egraph_status eg_text_take(eg_text *text, char **out);

#endif
