// Every token except a string lies in the buffer as a whole: peek refills the buffer
// before fewer than TOKEN bytes remain. Loops over digits therefore stop at the NUL
// behind the buffer and need no other test for its end.
// SPDX-License-Identifier: Apache-2.0
#include "base/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"

enum { TOKEN = 64, NUMBER = 256 };

egraph_status eg_json_scan_open(eg_json_scan *scan, egraph_allocator alloc,
                                const char *path, uint64_t max_bytes) {
  *scan = (eg_json_scan){.alloc = alloc, .max_bytes = max_bytes, .line = 1};
  EG_TRY(eg_gzip_open(path, &scan->file));
  egraph_status status = eg_alloc(alloc, EG_JSON_SCAN_BUFFER + 1, 1, &scan->buffer);
  if (status != EGRAPH_OK) eg_gzip_close(&scan->file);
  return status;
}

egraph_status eg_json_scan_open_bytes(eg_json_scan *scan, egraph_allocator alloc,
                                      const char *name, const char *bytes, size_t size) {
  *scan = (eg_json_scan){.alloc = alloc, .max_bytes = UINT64_MAX, .line = 1};
  scan->file.path = name;
  scan->bytes = bytes;
  scan->byte_count = size;
  return eg_alloc(alloc, EG_JSON_SCAN_BUFFER + 1, 1, &scan->buffer);
}

void eg_json_scan_close(eg_json_scan *scan) {
  if (scan->file.stream != NULL) eg_gzip_close(&scan->file);
  eg_free(scan->alloc, scan->buffer, EG_JSON_SCAN_BUFFER + 1, 1);
  scan->buffer = NULL;
}

egraph_status eg_json_scan_fail(const eg_json_scan *scan, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return EG_FAIL(EGRAPH_E_PARSE, "%s:%u:%llu: %s", scan->file.path, scan->line,
                 (unsigned long long)(scan->before + scan->at - scan->line_start + 1),
                 text);
}

// Reads up to `size` bytes; reads none only at the end of the file.
static egraph_status read_bytes(eg_json_scan *scan, char *out, size_t size,
                                size_t *out_got) {
  if (scan->file.stream != NULL) return eg_gzip_read(&scan->file, out, size, out_got);
  size_t got = size < scan->byte_count ? size : scan->byte_count;
  if (got != 0) memcpy(out, scan->bytes, got);
  scan->bytes += got;
  scan->byte_count -= got;
  *out_got = got;
  return EGRAPH_OK;
}

static egraph_status refill(eg_json_scan *scan) {
  memmove(scan->buffer, scan->buffer + scan->at, scan->end - scan->at);
  scan->before += scan->at;
  scan->end -= scan->at;
  scan->at = 0;
  while (!scan->ended && scan->end < EG_JSON_SCAN_BUFFER) {
    size_t got = 0;
    EG_TRY(read_bytes(scan, scan->buffer + scan->end, EG_JSON_SCAN_BUFFER - scan->end,
                      &got));
    scan->end += got;
    scan->ended = got == 0;
    if (scan->before + scan->end > scan->max_bytes)
      return EG_FAIL(EGRAPH_E_IO, "%s: more than the limit of %llu bytes",
                     scan->file.path, (unsigned long long)scan->max_bytes);
  }
  scan->buffer[scan->end] = '\0';
  return EGRAPH_OK;
}

static inline egraph_status fill_buffer(eg_json_scan *scan) {
  if (scan->end - scan->at >= TOKEN || scan->ended) return EGRAPH_OK;
  return refill(scan);
}

// Skips blanks; *out is the next byte, 0 at the end of the file.
static egraph_status peek(eg_json_scan *scan, char *out) {
  for (;;) {
    EG_TRY(fill_buffer(scan));
    char c = scan->buffer[scan->at];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
      *out = c;
      return EGRAPH_OK;
    }
    scan->at++;
    if (c != '\n') continue;
    scan->line++;
    scan->line_start = scan->before + scan->at;
  }
}

// Fails with the text at the current position and the text that was expected.
static egraph_status fail_at(const eg_json_scan *scan, const char *expected) {
  if (scan->at >= scan->end)
    return eg_json_scan_fail(
        scan, "the file ends where %s is expected; it may be cut off", expected);
  char c = scan->buffer[scan->at];
  if (c <= ' ' || c == 127 || (signed char)c < 0)
    return eg_json_scan_fail(scan, "byte %u where %s is expected", (unsigned char)c,
                             expected);
  return eg_json_scan_fail(scan, "'%c' where %s is expected", c, expected);
}

egraph_status eg_json_scan_enter(eg_json_scan *scan, char open) {
  char c = 0;
  EG_TRY(peek(scan, &c));
  if (c != open) return fail_at(scan, open == '[' ? "an array" : "an object");
  scan->at++;
  return EGRAPH_OK;
}

egraph_status eg_json_scan_next(eg_json_scan *scan, char close, size_t *inout_count,
                                bool *out_more) {
  char c = 0;
  EG_TRY(peek(scan, &c));
  *out_more = c != close;
  if (c == close) {
    scan->at++;
    return EGRAPH_OK;
  }
  if (*inout_count != 0) {
    if (c != ',') return fail_at(scan, close == ']' ? "',' or ']'" : "',' or '}'");
    scan->at++;
  }
  ++*inout_count;
  return EGRAPH_OK;
}

// Reads a string, the opening quote included, into at most size - 1 bytes.
static egraph_status read_string(eg_json_scan *scan, char *text, size_t size) {
  size_t length = 0;
  bool escaped = false;
  for (scan->at++;; scan->at++) {
    EG_TRY(fill_buffer(scan));
    char c = scan->buffer[scan->at];
    if (scan->at >= scan->end || (unsigned char)c < ' ')
      return fail_at(scan, "the end of a string");
    if (c == '"' && !escaped) break;
    escaped = c == '\\' && !escaped;
    if (length + 1 < size) text[length++] = c;
  }
  scan->at++;
  if (size != 0) text[length] = '\0';
  return EGRAPH_OK;
}

egraph_status eg_json_scan_peek(eg_json_scan *scan, char *out) { return peek(scan, out); }

static egraph_status append_code(eg_chars *out, uint32_t code) {
  if (code < 0x80) return eg_chars_push(out, (char)code);
  char bytes[4];
  size_t count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = count; i-- > 1; code >>= 6)
    bytes[i] = (char)(0x80 | (code & 0x3F));
  bytes[0] = (char)((0xF00 >> count) | code);
  return eg_chars_append(out, bytes, count);
}

// Reads four hexadecimal digits; false otherwise. The NUL behind the buffer ends
// the loop.
static bool read_hex(const char *text, uint32_t *out) {
  static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
  *out = 0;
  for (int i = 0; i < 4; i++) {
    const char *digit = text[i] == '\0' ? NULL : strchr(DIGITS, text[i]);
    if (digit == NULL) return false;
    *out = *out << 4 | (uint32_t)((digit - DIGITS) & 15);
  }
  return true;
}

// Reads the code after a backslash and 'u', both in the buffer; a character beyond 16
// bits consists of two such codes.
static egraph_status read_code(eg_json_scan *scan, eg_chars *out) {
  const char *text = scan->buffer + scan->at;
  uint32_t code, low;
  size_t length = 6;
  bool fine = read_hex(text + 2, &code) && code != 0 && (code < 0xDC00 || code > 0xDFFF);
  if (fine && code >= 0xD800 && code < 0xDC00) {
    fine = text[6] == '\\' && text[7] == 'u' && read_hex(text + 8, &low) &&
           low >= 0xDC00 && low <= 0xDFFF;
    length = 12;
    if (fine) code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  if (!fine) return eg_json_scan_fail(scan, "'\\u' without the number of a character");
  scan->at += length;
  return append_code(out, code);
}

static egraph_status read_escape(eg_json_scan *scan, eg_chars *out) {
  static const char NAMES[] = "\"\\/bfnrt", BYTES[] = "\"\\/\b\f\n\r\t";
  char name = scan->buffer[scan->at + 1];
  if (name == 'u') return read_code(scan, out);
  const char *found = name == '\0' ? NULL : strchr(NAMES, name);
  if (found == NULL) return eg_json_scan_fail(scan, "an unknown escape after '\\'");
  scan->at += 2;
  return eg_chars_push(out, BYTES[found - NAMES]);
}

// Reads a string from its opening quote and decodes it.
static egraph_status read_text(eg_json_scan *scan, eg_chars *out) {
  out->len = 0;
  for (scan->at++;;) {
    EG_TRY(fill_buffer(scan));
    char c = scan->buffer[scan->at];
    if (scan->at >= scan->end || (unsigned char)c < ' ')
      return fail_at(scan, "the end of a string");
    if (c == '"') break;
    if (c == '\\') {
      EG_TRY(read_escape(scan, out));
    } else {
      EG_TRY(eg_chars_push(out, c));
      scan->at++;
    }
  }
  scan->at++;
  EG_TRY(eg_chars_push(out, '\0'));
  out->len--;
  for (size_t i = 0; i < out->len;) {
    size_t length = eg_utf8_length(out->data + i);
    if (length == 0) return eg_json_scan_fail(scan, "a string that is no UTF-8");
    i += length;
  }
  return EGRAPH_OK;
}

egraph_status eg_json_scan_text(eg_json_scan *scan, eg_chars *out) {
  char c = 0;
  EG_TRY(peek(scan, &c));
  return c == '"' ? read_text(scan, out) : fail_at(scan, "a string");
}

egraph_status eg_json_scan_key_text(eg_json_scan *scan, eg_chars *out) {
  char c = 0;
  EG_TRY(peek(scan, &c));
  if (c != '"') return fail_at(scan, "a key in quotes");
  EG_TRY(read_text(scan, out));
  EG_TRY(peek(scan, &c));
  if (c != ':') return fail_at(scan, "':'");
  scan->at++;
  return EGRAPH_OK;
}

egraph_status eg_json_scan_key(eg_json_scan *scan, char *name, size_t size) {
  char c = 0;
  EG_TRY(peek(scan, &c));
  if (c != '"') return fail_at(scan, "a key in quotes");
  EG_TRY(read_string(scan, name, size));
  EG_TRY(peek(scan, &c));
  if (c != ':') return fail_at(scan, "':'");
  scan->at++;
  return EGRAPH_OK;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

egraph_status eg_json_scan_int64(eg_json_scan *scan, int64_t *out) {
  char c = 0;
  EG_TRY(peek(scan, &c));
  const char *start = scan->buffer + scan->at, *text = start + (c == '-');
  if (!is_digit(*text)) return fail_at(scan, "an integer");
  if (text[0] == '0' && is_digit(text[1]))
    return eg_json_scan_fail(scan, "a number that begins with 0");
  uint64_t value = 0;
  bool fits = true;
  for (; is_digit(*text) && text - start < TOKEN / 2; text++) {
    fits = fits && value <= (UINT64_MAX - 9) / 10;
    value = 10 * value + (uint64_t)(*text - '0');
  }
  if (!fits || value > INT64_MAX)
    return eg_json_scan_fail(scan, "an integer beyond 64 bits; infinity is 10^18");
  if (*text == '.' || *text == 'e' || *text == 'E')
    return eg_json_scan_fail(scan, "a number with a fraction or an exponent where an "
                                   "integer is expected; scale and round it");
  scan->at += (size_t)(text - start);
  *out = c == '-' ? -(int64_t)value : (int64_t)value;
  return EGRAPH_OK;
}

// True for -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?; strtod and the like
// accept more.
static bool is_json_number(const char *text) {
  text += *text == '-';
  if (!is_digit(*text) || (text[0] == '0' && is_digit(text[1]))) return false;
  while (is_digit(*text))
    text++;
  if (*text == '.' && !is_digit(*++text)) return false;
  while (is_digit(*text))
    text++;
  if (*text == 'e' || *text == 'E') {
    text += text[1] == '+' || text[1] == '-' ? 2 : 1;
    if (!is_digit(*text)) return false;
  }
  while (is_digit(*text))
    text++;
  return *text == '\0';
}

egraph_status eg_json_scan_double(eg_json_scan *scan, double *out) {
  char c = 0, text[NUMBER];
  size_t length = 0;
  EG_TRY(peek(scan, &c));
  if (c != '-' && !is_digit(c)) return fail_at(scan, "a number");
  for (; length + 1 < NUMBER; scan->at++) {
    EG_TRY(fill_buffer(scan));
    c = scan->buffer[scan->at];
    if (c == '\0' || (!is_digit(c) && strchr("+-.eE", c) == NULL)) break;
    text[length++] = c;
  }
  text[length] = '\0';
  if (!is_json_number(text))
    return eg_json_scan_fail(scan, "the number '%.40s' is malformed", text);
  if (!eg_parse_double(text, out))
    return eg_json_scan_fail(scan, "the number '%.40s' is too large", text);
  return EGRAPH_OK;
}

// Skips a number; checks only that its characters occur in numbers.
static egraph_status skip_number(eg_json_scan *scan) {
  for (;; scan->at++) {
    EG_TRY(fill_buffer(scan));
    char c = scan->buffer[scan->at];
    if (c == '\0' || (!is_digit(c) && strchr("+-.eE", c) == NULL)) return EGRAPH_OK;
  }
}

static egraph_status skip_scalar(eg_json_scan *scan, char c) {
  static const char *const WORDS[] = {"true", "false", "null"};
  if (c == '"') return read_string(scan, NULL, 0);
  if (c == '-' || is_digit(c)) return skip_number(scan);
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
    size_t length = strlen(WORDS[i]);
    if (strncmp(scan->buffer + scan->at, WORDS[i], length) != 0) continue;
    scan->at += length;
    return EGRAPH_OK;
  }
  return fail_at(scan, "a value");
}

egraph_status eg_json_scan_skip(eg_json_scan *scan) {
  char open[EG_JSON_SCAN_DEPTH];
  size_t depth = 0;
  do {
    char c = 0;
    size_t count = 1; // elements so far in the innermost bracket; 1: one or more
    EG_TRY(peek(scan, &c));
    if (c == '[' || c == '{') {
      if (depth == EG_JSON_SCAN_DEPTH)
        return eg_json_scan_fail(scan, "nested deeper than %d", EG_JSON_SCAN_DEPTH);
      open[depth++] = c;
      scan->at++;
      count = 0;
    } else {
      EG_TRY(skip_scalar(scan, c));
    }
    for (bool more = false; depth > 0 && !more;) {
      bool object = open[depth - 1] == '{';
      EG_TRY(eg_json_scan_next(scan, object ? '}' : ']', &count, &more));
      if (more && object) EG_TRY(eg_json_scan_key(scan, NULL, 0));
      if (more) continue;
      depth--;
      count = 1;
    }
  } while (depth > 0);
  return EGRAPH_OK;
}

egraph_status eg_json_scan_end(eg_json_scan *scan) {
  char c = 0;
  EG_TRY(peek(scan, &c));
  return scan->at >= scan->end ? EGRAPH_OK : fail_at(scan, "the end of the file");
}
