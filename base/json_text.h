// Writes strings, numbers and members of objects as JSON text.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_JSON_TEXT_H
#define EG_BASE_JSON_TEXT_H

#include "base/text.h"

/// Returns the bytes of the UTF-8 character at `c`; 0 when it is invalid (too long, a
/// surrogate, ...). The text ends with a NUL.
size_t eg_utf8_length(const char *c);
/// Appends a string in quotes. Fails with EGRAPH_E_ARGUMENT when it is not UTF-8.
egraph_status eg_text_json_string(eg_text *text, const char *string);
/// Appends a number that reads back as the same double (-0 as 0). Fails with
/// EGRAPH_E_ARGUMENT when it is not finite.
egraph_status eg_text_json_double(eg_text *text, double value);
/// Append "key": and a string (NULL: null) or number, then `end`. The key is plain text.
egraph_status eg_text_json_member(eg_text *text, const char *key, const char *string,
                                  const char *end);
egraph_status eg_text_json_figure(eg_text *text, const char *key, double value,
                                  const char *end);

#endif
