// Certificates as text: one record per line, words separated by spaces, numbers exact
// (integers or C hexadecimal floats). tools/check_certificate reads them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_CERTIFICATE_FILE_H
#define EG_EXTRACT_CERTIFICATE_FILE_H

#include "base/vec.h"

/// The text so far. Zero after deinit.
typedef struct eg_certificate_file {
  eg_chars text;
} eg_certificate_file;

void eg_certificate_init(eg_certificate_file *file, egraph_allocator alloc);
void eg_certificate_deinit(eg_certificate_file *file);

// The following fail with EGRAPH_E_MEMORY.

/// The head line; `kind` is "plain", "sharding" or "layout".
egraph_status eg_certificate_begin(eg_certificate_file *file, const char *kind);
/// Words of the present line. `word` has no blanks.
egraph_status eg_certificate_word(eg_certificate_file *file, const char *word);
egraph_status eg_certificate_int(eg_certificate_file *file, int64_t value);
egraph_status eg_certificate_double(eg_certificate_file *file, double value);
egraph_status eg_certificate_end_line(eg_certificate_file *file);

/// Writes the text, all or nothing (eg_file_write). Fails with EGRAPH_E_IO.
egraph_status eg_certificate_save(const eg_certificate_file *file, const char *path);

#endif
