// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/bench_saturate_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/text_file.h"

enum { MAX_PATH_BYTES = 4096 };
static const char SUFFIX[] = ".bench";

static void add_benchmark(text_array *out, const char *file) {
  size_t length = strlen(file), suffix = sizeof SUFFIX - 1;
  if (length > suffix && strcmp(file + length - suffix, SUFFIX) == 0)
    text_array_add(out, file, length - suffix);
}

bool bench_file_names(const char *folder, text_array *out) {
  if (folder == NULL) {
    for (const bench_file *file = bench_files; file->name != NULL; file++)
      add_benchmark(out, file->name);
    return true;
  }
  DIR *open = opendir(folder);
  if (open == NULL) {
    fprintf(stderr, "egraph: %s: %s\n", folder, strerror(errno));
    return false;
  }
  for (struct dirent *entry; (entry = readdir(open)) != NULL;)
    add_benchmark(out, entry->d_name);
  (void)closedir(open);
  text_array_sort(out);
  return true;
}

char *bench_file_text(const char *folder, const char *name) {
  if (folder != NULL) {
    char path[MAX_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    bool fits = length > 0 && (size_t)length < sizeof path;
    return fits ? text_file_read(path) : NULL;
  }
  for (const bench_file *file = bench_files; file->name != NULL; file++)
    if (strcmp(file->name, name) == 0) return strdup((const char *)file->text);
  return NULL;
}
