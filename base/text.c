// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void eg_text_init(eg_text *text, egraph_allocator alloc) {
  eg_chars_init(&text->chars, alloc);
}

void eg_text_deinit(eg_text *text) { eg_chars_deinit(&text->chars); }

void eg_text_clear(eg_text *text) {
  text->chars.len = 0;
  if (text->chars.cap != 0) text->chars.data[0] = '\0';
}

egraph_status eg_text_append_bytes(eg_text *text, const char *bytes, size_t count) {
  EG_TRY(eg_chars_reserve(&text->chars, text->chars.len + count + 1));
  if (count != 0) memcpy(text->chars.data + text->chars.len, bytes, count);
  text->chars.len += count;
  text->chars.data[text->chars.len] = '\0';
  return EGRAPH_OK;
}

egraph_status eg_text_append(eg_text *text, const char *string) {
  return eg_text_append_bytes(text, string, strlen(string));
}

egraph_status eg_text_printf(eg_text *text, const char *format, ...) {
  va_list args, copy;
  va_start(args, format);
  va_copy(copy, args);
  int needed = vsnprintf(NULL, 0, format, copy);
  va_end(copy);
  egraph_status status =
      needed < 0 ? EG_FAIL(EGRAPH_E_INTERNAL, "bad format '%s'", format)
                 : eg_chars_reserve(&text->chars, text->chars.len + (size_t)needed + 1);
  if (status == EGRAPH_OK) {
    (void)vsnprintf(text->chars.data + text->chars.len, (size_t)needed + 1, format, args);
    text->chars.len += (size_t)needed;
  }
  va_end(args);
  return status;
}

egraph_status eg_text_double(eg_text *text, double value) {
  char number[EG_DOUBLE_TEXT_CHARS];
  eg_double_print(value, number);
  return eg_text_append(text, number);
}

const char *eg_text_of(const eg_text *text) {
  return text->chars.len == 0 ? "" : text->chars.data;
}

egraph_status eg_text_take(eg_text *text, char **out) {
  egraph_allocator alloc = text->chars.alloc;
  size_t bytes = text->chars.len + 1;
  EG_TRY(eg_resize(alloc, text->chars.cap, bytes, 1, &text->chars.data));
  text->chars.data[bytes - 1] = '\0';
  *out = text->chars.data;
  eg_chars_init(&text->chars, alloc);
  return EGRAPH_OK;
}
