// The files of bench/saturate, from a folder or as they were when the command was built
// (cmake/EmbedFiles.cmake).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_SATURATE_FILES_H
#define EG_TOOLS_BENCH_SATURATE_FILES_H

#include "tools/csv.h"

typedef struct bench_file {
  const char *name;
  const unsigned char *text; // NUL-terminated
  size_t size;
} bench_file;

/// Ends with a NULL name; in natural order.
extern const bench_file bench_files[];
extern const size_t bench_file_count;

/// Names of the benchmarks: the files NAME.bench of a folder, sorted, or the built-in
/// ones. False, with a message, when the folder cannot be read.
bool bench_file_names(const char *folder, text_array *out);
/// The text of a file by its name; free() it. NULL when there is none.
char *bench_file_text(const char *folder, const char *name);

#endif
