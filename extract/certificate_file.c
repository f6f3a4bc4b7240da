// SPDX-License-Identifier: Apache-2.0
#include "extract/certificate_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

void eg_certificate_init(eg_certificate_file *file, egraph_allocator alloc) {
  eg_chars_init(&file->text, alloc);
}

void eg_certificate_deinit(eg_certificate_file *file) { eg_chars_deinit(&file->text); }

egraph_status eg_certificate_begin(eg_certificate_file *file, const char *kind) {
  EG_TRY(eg_certificate_word(file, "egraph-certificate"));
  EG_TRY(eg_certificate_int(file, 1));
  EG_TRY(eg_certificate_word(file, kind));
  return eg_certificate_end_line(file);
}

egraph_status eg_certificate_word(eg_certificate_file *file, const char *word) {
  const eg_chars *text = &file->text;
  if (text->len != 0 && text->data[text->len - 1] != '\n')
    EG_TRY(eg_chars_push(&file->text, ' '));
  return eg_chars_append(&file->text, word, strlen(word));
}

egraph_status eg_certificate_int(eg_certificate_file *file, int64_t value) {
  char word[24];
  (void)snprintf(word, sizeof word, "%" PRId64, value);
  return eg_certificate_word(file, word);
}

// Not by %a, whose point is that of the locale: an integer and a power of two are the
// same number. Whole numbers stay readable.
egraph_status eg_certificate_double(eg_certificate_file *file, double value) {
  char word[48];
  int exponent = 0;
  if (!isfinite(value))
    return eg_certificate_word(file, value > 0 ? "inf" : value < 0 ? "-inf" : "nan");
  if (fabs(value) < 0x1p53 && value == floor(value))
    return eg_certificate_int(file, (int64_t)value);
  int64_t digits = (int64_t)ldexp(frexp(value, &exponent), 53);
  exponent -= 53;
  for (; digits % 16 == 0; exponent += 4)
    digits /= 16;
  (void)snprintf(word, sizeof word, "%s0x%" PRIx64 "p%d", digits < 0 ? "-" : "",
                 (uint64_t)(digits < 0 ? -digits : digits), exponent);
  return eg_certificate_word(file, word);
}

egraph_status eg_certificate_end_line(eg_certificate_file *file) {
  return eg_chars_push(&file->text, '\n');
}

egraph_status eg_certificate_save(const eg_certificate_file *file, const char *path) {
  return eg_file_write(path, file->text.data, file->text.len);
}
