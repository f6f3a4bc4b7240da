// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
  if (isnan(value)) return eg_text_append(text, "nan");
  if (isinf(value)) return eg_text_append(text, value < 0 ? "-inf" : "inf");
  char buffer[64];
  for (int digits = 1; digits <= 17; digits++) {
    (void)snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    double back;
    if (eg_parse_double(buffer, &back) && back == value) break;
  }
  if (strpbrk(buffer, ".e") == NULL) strcat(buffer, ".0");
  return eg_text_append(text, buffer);
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

bool eg_parse_int64(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  bool plain = *text == '-' || (*text >= '0' && *text <= '9');
  if (!plain || end == text || *end != '\0' || errno == ERANGE) return false;
  *out = value;
  return true;
}

bool eg_parse_double(const char *text, double *out) {
  char *end;
  bool plain = *text != '\0' && strchr("-0123456789.in", *text) != NULL;
  if (!plain) return false;
  double value = strtod(text, &end);
  if (end == text || *end != '\0') return false;
  *out = value;
  return true;
}

static egraph_status read_stream(egraph_allocator alloc, FILE *file, const char *path,
                                 size_t size, char **out) {
  char *data;
  EG_TRY(eg_alloc(alloc, size + 1, 1, &data));
  if (fread(data, 1, size, file) != size) {
    eg_free(alloc, data, size + 1, 1);
    return EG_FAIL(EGRAPH_E_IO, "%s: cannot read %zu bytes; was the file changed?", path,
                   size);
  }
  *out = data;
  return EGRAPH_OK;
}

egraph_status eg_file_read(egraph_allocator alloc, const char *path, size_t max_size,
                           char **out, size_t *out_size) {
  struct stat info;
  if (stat(path, &info) != 0)
    return EG_FAIL(EGRAPH_E_IO, "%s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return EG_FAIL(EGRAPH_E_IO, "%s: not a regular file", path);
  if ((uintmax_t)info.st_size > max_size)
    return EG_FAIL(EGRAPH_E_IO, "%s: %jd bytes is more than the limit of %zu", path,
                   (intmax_t)info.st_size, max_size);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return EG_FAIL(EGRAPH_E_IO, "%s: %s", path, strerror(errno));
  size_t size = (size_t)info.st_size;
  egraph_status status = read_stream(alloc, file, path, size, out);
  (void)fclose(file);
  if (status == EGRAPH_OK) *out_size = size;
  return status;
}

egraph_status eg_file_write(const char *path, const void *data, size_t size) {
  char temporary[PATH_MAX];
  int length = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
  if (length < 0 || (size_t)length >= sizeof temporary)
    return EG_FAIL(EGRAPH_E_IO, "%s: the path is too long", path);
  FILE *file = fopen(temporary, "wb");
  if (file == NULL)
    return EG_FAIL(EGRAPH_E_IO, "%s: cannot be written: %s", path, strerror(errno));
  bool written = size == 0 || fwrite(data, 1, size, file) == size;
  written = fclose(file) == 0 && written;
  if (!written || rename(temporary, path) != 0) {
    int error = errno;
    (void)remove(temporary);
    return EG_FAIL(EGRAPH_E_IO, "%s: cannot be written: %s", path, strerror(error));
  }
  return EGRAPH_OK;
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double eg_clock_seconds(void) { return seconds_of(CLOCK_MONOTONIC); }
double eg_clock_cpu_seconds(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
