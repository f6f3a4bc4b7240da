// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/problem_json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

// Line breaks occur only between values; the line breaks before `at` are therefore
// unchanged and can be counted.
bool json_refuse(problem_json *json, const char *format, ...) {
  char text[384];
  size_t line = 1;
  for (size_t i = 0; i < json->at && i < json->in.size; i++)
    line += json->in.text[i] == '\n';
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return input_refuse(&json->in, line, "%s", text);
}

// Skips blanks and returns the next byte. A NUL inside the text acts as its end.
char json_peek(problem_json *json) {
  while (json->at < json->in.size && strchr(" \t\r\n", json->in.text[json->at]) != NULL &&
         json->in.text[json->at] != '\0')
    json->at++;
  return json->in.text[json->at];
}

static bool take_character(problem_json *json, char wanted) {
  char found = json_peek(json);
  if (found != wanted || wanted == '\0')
    return json_refuse(json, "'%c' is expected here", wanted);
  json->at++;
  return true;
}

static bool read_key(problem_json *json, const char **out) {
  return json_string(json, out) && take_character(json, ':');
}

/// Returns whether an element, or a key, follows; reads the comma before it, or the
/// bracket `close`. *inout_count counts elements; it is 0 before the first call.
static bool next_element(problem_json *json, char close, size_t *inout_count,
                         bool *out_more) {
  char found = json_peek(json);
  *out_more = found != close;
  if (found == close) {
    json->at++;
    return true;
  }
  return (*inout_count)++ == 0 || take_character(json, ',');
}

bool json_array(problem_json *json, bool (*element)(problem_json *json, void *user),
                void *user) {
  bool more = true;
  if (!take_character(json, '[')) return false;
  for (size_t count = 0; more;)
    if (!next_element(json, ']', &count, &more) || (more && !element(json, user)))
      return false;
  return true;
}

bool json_object(problem_json *json,
                 bool (*member)(problem_json *json, const char *key, void *user),
                 void *user) {
  bool more = true;
  if (!take_character(json, '{')) return false;
  for (size_t count = 0; more;) {
    const char *key;
    if (!next_element(json, '}', &count, &more)) return false;
    if (more && (!read_key(json, &key) || !member(json, key, user))) return false;
  }
  return true;
}

static bool hexadecimal(const char *text, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 4; i++) {
    char c = text[i];
    bool digit = c >= '0' && c <= '9', low = c >= 'a' && c <= 'f',
         high = c >= 'A' && c <= 'F';
    if (!digit && !low && !high) return false;
    *out = *out * 16 + (uint32_t)(digit ? c - '0' : low ? c - 'a' + 10 : c - 'A' + 10);
  }
  return true;
}

// Writes a character in UTF-8. It is never longer than its escape: \uXXXX takes six bytes
// and at most three in UTF-8, a pair twelve and four.
static size_t put_utf8(char *out, uint32_t code) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, code >>= 6)
    out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00 >> length & 0xff) | code);
  return length;
}

// Decodes the escape after a backslash at json->at.
static bool escape(problem_json *json, char **to) {
  static const char FROM[] = "\"\\/bfnrt", INTO[] = "\"\\/\b\f\n\r\t";
  const char *text = json->in.text;
  char c = text[json->at];
  const char *found = c == '\0' ? NULL : strchr(FROM, c);
  if (found != NULL) {
    *(*to)++ = INTO[found - FROM];
    json->at++;
    return true;
  }
  uint32_t code, low;
  if (c != 'u' || !hexadecimal(text + json->at + 1, &code) || code == 0)
    return json_refuse(json, "a broken escape in a string");
  json->at += 5;
  if (code >= 0xd800 && code < 0xdc00 && text[json->at] == '\\' &&
      text[json->at + 1] == 'u' && hexadecimal(text + json->at + 2, &low) &&
      low >= 0xdc00 && low < 0xe000) {
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    json->at += 6;
  }
  if (code >= 0xd800 && code < 0xe000)
    return json_refuse(json, "half a pair in a string");
  *to += put_utf8(*to, code);
  return true;
}

bool json_string(problem_json *json, const char **out) {
  if (!take_character(json, '"')) return false;
  char *to = json->in.text + json->at;
  *out = to;
  for (;;) {
    char c = json->in.text[json->at];
    if ((unsigned char)c < 0x20) return json_refuse(json, "a string does not end");
    json->at++;
    if (c == '"') break;
    if (c != '\\')
      *to++ = c;
    else if (!escape(json, &to))
      return false;
  }
  *to = '\0';
  return true;
}

bool json_double(problem_json *json, double *out) {
  (void)json_peek(json);
  const char *text = json->in.text + json->at;
  size_t length = strspn(text, "0123456789+-.eE");
  char *end;
  double value = strtod(text, &end);
  if (length == 0 || end != text + length || !isfinite(value))
    return json_refuse(json, "a finite number is expected here");
  json->at += length;
  *out = value;
  return true;
}

bool json_int64(problem_json *json, int64_t *out) {
  (void)json_peek(json);
  const char *text = json->in.text + json->at;
  size_t length = strspn(text, "0123456789+-.eE");
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (length == 0 || *text == '+' || end != text + length || errno != 0)
    return json_refuse(json, "an integer is expected here");
  json->at += length;
  *out = value;
  return true;
}

static bool skip_scalar(problem_json *json) {
  const char *text;
  double number;
  char c = json_peek(json);
  if (c == '"') return json_string(json, &text);
  static const char *const WORDS[] = {"true", "false", "null"};
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
    size_t length = strlen(WORDS[i]);
    if (strncmp(json->in.text + json->at, WORDS[i], length) != 0) continue;
    json->at += length;
    return true;
  }
  return json_double(json, &number);
}

bool json_skip(problem_json *json) {
  char close[MAX_DEPTH];
  size_t count[MAX_DEPTH], depth = 0;
  do {
    char c = json_peek(json);
    if (c == '[' || c == '{') {
      if (depth == MAX_DEPTH) return json_refuse(json, "nested too deeply");
      json->at++;
      close[depth] = c == '[' ? ']' : '}';
      count[depth++] = 0;
    } else if (!skip_scalar(json)) {
      return false;
    }
    // The element has ended; the lists and objects around it may have ended, too.
    while (depth != 0) {
      bool more;
      const char *key;
      if (!next_element(json, close[depth - 1], &count[depth - 1], &more)) return false;
      if (more) {
        if (close[depth - 1] == '}' && !read_key(json, &key)) return false;
        break;
      }
      depth--;
    }
  } while (depth != 0);
  return true;
}

bool json_end(problem_json *json) {
  if (json_peek(json) == '\0' && json->at >= json->in.size) return true;
  return json_refuse(json, "nothing is expected here");
}
