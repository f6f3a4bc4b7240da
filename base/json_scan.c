// Every token but a string lies in the buffer as a whole: peek refills it before fewer
// than TOKEN bytes are left, so that the loops over digits need no test for its end but
// the NUL behind it.
// SPDX-License-Identifier: Apache-2.0
#include "base/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN = 64 };

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

// Up to `size` bytes; none at the end only.
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

static inline egraph_status fill(eg_json_scan *scan) {
  if (scan->end - scan->at >= TOKEN || scan->ended) return EGRAPH_OK;
  return refill(scan);
}

// Skips blanks; *out is the next byte, 0 at the end of the file.
static egraph_status peek(eg_json_scan *scan, char *out) {
  for (;;) {
    EG_TRY(fill(scan));
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

// What stands here instead of what was expected.
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
    EG_TRY(fill(scan));
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

// Numbers that nobody reads are not checked beyond their characters.
static egraph_status skip_number(eg_json_scan *scan) {
  for (;; scan->at++) {
    EG_TRY(fill(scan));
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
    size_t count = 1; // of the innermost bracket, so far; beyond 1 it does not matter
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
