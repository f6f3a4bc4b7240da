// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <inttypes.h>
#include <math.h>

size_t eg_utf8_length(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  if (c[0] < 0x80) return 1;
  size_t length = c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : 2;
  if (c[0] < 0xC2 || c[0] > 0xF4) return 0;
  for (size_t i = 1; i < length; i++)
    if ((c[i] & 0xC0) != 0x80) return 0;
  bool valid = !(c[0] == 0xE0 && c[1] < 0xA0) && !(c[0] == 0xED && c[1] > 0x9F) &&
               !(c[0] == 0xF0 && c[1] < 0x90) && !(c[0] == 0xF4 && c[1] > 0x8F);
  return valid ? length : 0;
}

/// Stores a failure of a JSON function in the text, which remembers its first
/// failure (base/text.h).
static egraph_status fail(eg_text *text, egraph_status status) {
  if (text->status == EGRAPH_OK) text->status = status;
  return text->status;
}

egraph_status eg_text_json_string(eg_text *text, const char *string) {
  eg_text_append(text, "\"");
  for (const char *c = string; *c != '\0';) {
    size_t length = eg_utf8_length(c);
    if (length == 0)
      return fail(text,
                  EG_FAIL(EGRAPH_E_ARGUMENT,
                          "'%.200s' is no UTF-8, which JSON needs; give it another name",
                          string));
    if (*c == '"' || *c == '\\') eg_text_append(text, "\\");
    if ((unsigned char)*c < ' ')
      eg_text_printf(text, "\\u%04x", (unsigned)(unsigned char)*c);
    else
      eg_text_append_bytes(text, c, length);
    c += length;
  }
  return eg_text_append(text, "\"");
}

egraph_status eg_text_json_double(eg_text *text, double value) {
  if (!isfinite(value))
    return fail(text,
                EG_FAIL(EGRAPH_E_ARGUMENT, "JSON has no number that is not finite"));
  // Prints whole numbers without an exponent: "520", not "5.2e+02".
  if (fabs(value) < 9007199254740992.0 && !(trunc(value) < value) &&
      !(trunc(value) > value))
    return eg_text_printf(text, "%" PRId64, (int64_t)value);
  return eg_text_double(text, value);
}

egraph_status eg_text_json_member(eg_text *text, const char *key, const char *string,
                                  const char *end) {
  eg_text_printf(text, "\"%s\": ", key);
  if (string != NULL)
    eg_text_json_string(text, string);
  else
    eg_text_append(text, "null");
  return eg_text_append(text, end);
}

egraph_status eg_text_json_figure(eg_text *text, const char *key, double value,
                                  const char *end) {
  eg_text_printf(text, "\"%s\": ", key);
  eg_text_json_double(text, value);
  return eg_text_append(text, end);
}
