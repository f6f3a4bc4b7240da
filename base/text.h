// A growing text buffer; includes numbers, files and the clock.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_TEXT_H
#define EG_BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/vec.h"

/// Text under construction, NUL-terminated. A text remembers its first failure: every
/// call after it appends nothing and returns it, until eg_text_clear or eg_text_deinit.
/// So only the last of a row of calls, or eg_text_status, need be checked.
typedef struct eg_text {
  eg_chars chars;
  egraph_status status; // of the first call that failed
} eg_text;

void eg_text_init(eg_text *text, egraph_allocator alloc);
void eg_text_deinit(eg_text *text);
void eg_text_clear(eg_text *text);
egraph_status eg_text_status(const eg_text *text);
egraph_status eg_text_append(eg_text *text, const char *string);
egraph_status eg_text_append_bytes(eg_text *text, const char *bytes, size_t count);
egraph_status eg_text_printf(eg_text *text, const char *format, ...) EG_PRINTF(2, 3);
/// As eg_text_printf, for names in a line of text for people: line ends of the arguments
/// are written \x0a. The format has line ends at its end only.
egraph_status eg_text_print_names(eg_text *text, const char *format, ...) EG_PRINTF(2, 3);
/// The shortest decimal form that reads back as the same double; always has a '.', 'e',
/// "inf" or "nan". Independent of the locale (eg_text_printf("%g") is not).
egraph_status eg_text_double(eg_text *text, double value);
/// Borrowed, valid until the next change; "" when empty. Check the status first.
const char *eg_text_of(const eg_text *text);
/// Hands the characters over as a string to be freed with eg_string_free; the
/// text is then empty. Fails as the text has failed.
egraph_status eg_text_take(eg_text *text, char **out);

#endif
