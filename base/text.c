// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void eg_text_init(eg_text *text, egraph_allocator alloc) {
  *text = (eg_text){.status = EGRAPH_OK};
  eg_chars_init(&text->chars, alloc);
}

void eg_text_deinit(eg_text *text) {
  eg_chars_deinit(&text->chars);
  text->status = EGRAPH_OK;
}

egraph_status eg_text_status(const eg_text *text) { return text->status; }

void eg_text_clear(eg_text *text) {
  text->status = EGRAPH_OK;
  text->chars.len = 0;
  if (text->chars.cap != 0) text->chars.data[0] = '\0';
}

/// Reserves memory for `more` characters and the NUL.
static egraph_status reserve(eg_text *text, size_t more) {
  if (text->status == EGRAPH_OK)
    text->status = eg_chars_reserve(&text->chars, text->chars.len + more + 1);
  return text->status;
}

egraph_status eg_text_append_bytes(eg_text *text, const char *bytes, size_t count) {
  EG_TRY(reserve(text, count));
  if (count != 0) memcpy(text->chars.data + text->chars.len, bytes, count);
  text->chars.len += count;
  text->chars.data[text->chars.len] = '\0';
  return EGRAPH_OK;
}

egraph_status eg_text_append(eg_text *text, const char *string) {
  return eg_text_append_bytes(text, string, strlen(string));
}

static egraph_status print_args(eg_text *text, const char *format, va_list args) {
  va_list copy;
  va_copy(copy, args);
  int needed = vsnprintf(NULL, 0, format, copy);
  va_end(copy);
  if (needed < 0 && text->status == EGRAPH_OK)
    text->status = EG_FAIL(EGRAPH_E_INTERNAL, "bad format '%s'", format);
  EG_TRY(reserve(text, (size_t)needed));
  (void)vsnprintf(text->chars.data + text->chars.len, (size_t)needed + 1, format, args);
  text->chars.len += (size_t)needed;
  return EGRAPH_OK;
}

egraph_status eg_text_printf(eg_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  egraph_status status = print_args(text, format, args);
  va_end(args);
  return status;
}

/// Replaces line ends from position `from` on by \x0a.
static egraph_status escape_line_ends(eg_text *text, size_t from) {
  static const char ESCAPE[] = "\\x0a";
  size_t more = 0, at = text->chars.len;
  for (size_t i = from; i < text->chars.len; i++)
    more += text->chars.data[i] == '\n' ? sizeof ESCAPE - 2 : 0;
  if (more == 0) return EGRAPH_OK;
  EG_TRY(reserve(text, more));
  text->chars.len += more;
  text->chars.data[text->chars.len] = '\0';
  for (size_t to = text->chars.len; at-- > from;) {
    bool is_end = text->chars.data[at] == '\n';
    to -= is_end ? sizeof ESCAPE - 1 : 1;
    if (is_end)
      memcpy(text->chars.data + to, ESCAPE, sizeof ESCAPE - 1);
    else
      text->chars.data[to] = text->chars.data[at];
  }
  return EGRAPH_OK;
}

egraph_status eg_text_print_names(eg_text *text, const char *format, ...) {
  size_t from = text->chars.len, ends = 0, length = strlen(format);
  while (ends < length && format[length - 1 - ends] == '\n')
    ends++;
  va_list args;
  va_start(args, format);
  egraph_status status = print_args(text, format, args);
  va_end(args);
  EG_TRY(status);
  text->chars.len -= ends;
  EG_TRY(escape_line_ends(text, from));
  return eg_text_append(text, format + length - ends);
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
  EG_TRY(text->status);
  EG_TRY(eg_resize(alloc, text->chars.cap, bytes, 1, &text->chars.data));
  text->chars.data[bytes - 1] = '\0';
  *out = text->chars.data;
  eg_chars_init(&text->chars, alloc);
  return EGRAPH_OK;
}
