// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/bench/saturate/benchmark.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "tools/console.h"
#include "tools/text_file.h"

// ---- files -----------------------------------------------------------------------

enum { MAX_PATH_BYTES = 4096 };
static const char SUFFIX[] = ".bench";

static void add_benchmark(text_array *out, const char *file) {
  if (strlen(file) >= sizeof SUFFIX && text_ends_with(file, SUFFIX))
    text_array_add(out, file, strlen(file) + 1 - sizeof SUFFIX);
}

bool bench_file_names(const char *folder, text_array *out) {
  if (folder == NULL) {
    for (const bench_file *file = bench_files; file->name != NULL; file++)
      add_benchmark(out, file->name);
    return true;
  }
  DIR *open = opendir(folder);
  if (open == NULL) return complain_of_file(folder);
  for (struct dirent *entry; (entry = readdir(open)) != NULL;)
    add_benchmark(out, entry->d_name);
  (void)closedir(open);
  text_array_sort(out);
  return true;
}

/// Reads the text of a file by its name; free() it. NULL when there is no such file.
static char *file_text(const char *folder, const char *name) {
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

enum { MAX_RAW_SIZE = 100000000 };
// A name of a benchmark is also an argument of the other program's command: only these
// characters are allowed.
static const char LETTERS[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

static const char *const RAW_NAMES[] = {
#define RAW_KIND_NAME(id, name) name,
    RAW_KIND_LIST(RAW_KIND_NAME)
#undef RAW_KIND_NAME
};

// ---- numbers ---------------------------------------------------------------------

static bool read_number(const char **text, uint64_t limit, uint64_t *out) {
  char *end;
  if (**text < '0' || **text > '9') return false;
  unsigned long long number = strtoull(*text, &end, 10);
  *text = end;
  *out = number;
  return number <= limit;
}

static bool read_u32(const char *text, uint32_t limit, uint32_t *out) {
  uint64_t number;
  if (!read_number(&text, limit, &number) || *text != '\0') return false;
  *out = (uint32_t)number;
  return true;
}

// Reads "nodes/classes" or "nodes/classes/matches".
static bool read_counts(const char **text, bench_counts *out) {
  uint64_t nodes, classes, matches = UINT64_MAX;
  if (!read_number(text, UINT32_MAX, &nodes) || *(*text)++ != '/' ||
      !read_number(text, UINT32_MAX, &classes))
    return false;
  if (**text == '/') {
    (*text)++;
    if (!read_number(text, UINT64_MAX - 1, &matches)) return false;
  }
  *out = (bench_counts){(uint32_t)nodes, (uint32_t)classes, matches};
  return true;
}

static bool read_all_counts(const char *text, bench_spec *spec) {
  for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " "))
    if (spec->expected_count == MAX_BENCH_ROWS ||
        !read_counts(&text, &spec->expected[spec->expected_count++]))
      return false;
  return true;
}

// ---- raw structures --------------------------------------------------------------

// Returns the counts of nodes and classes at the end of a benchmark without rules.
static bench_counts counts_of_raw(raw_kind kind, uint32_t n) {
  switch (kind) {
  case RAW_ADD:
  case RAW_HIT:
  case RAW_HIT_MANY: return (bench_counts){n + 16, n + 16, n};
  case RAW_CHAIN: return (bench_counts){n + 2, n + 1, n};
  case RAW_WIDE:
  case RAW_WIDE_EACH: return (bench_counts){n + 2, 3, n};
  case RAW_MULTI: return (bench_counts){9 * n, 9 * n, 16 * (uint64_t)n};
  case RAW_NONE: break;
  }
  return (bench_counts){0, 0, 0};
}

static bool set_raw(bench_spec *spec, const char *kind, size_t length, const char *size) {
  for (size_t i = 0; i < sizeof RAW_NAMES / sizeof *RAW_NAMES; i++)
    if (strlen(RAW_NAMES[i]) == length && strncmp(RAW_NAMES[i], kind, length) == 0)
      spec->raw = (raw_kind)i;
  if (spec->raw == RAW_NONE || !read_u32(size, MAX_RAW_SIZE, &spec->raw_size) ||
      spec->raw_size == 0)
    return false;
  spec->expected[0] = counts_of_raw(spec->raw, spec->raw_size);
  spec->expected_count = 1;
  return true;
}

// ---- lines -----------------------------------------------------------------------

static bool add_file(const char *folder, const char *name, text_array *names,
                     text_array *texts) {
  char *text = file_text(folder, name);
  if (text == NULL) return false;
  text_array_add(names, name, strlen(name));
  text_array_add(texts, text, strlen(text));
  free(text);
  return true;
}

static bool read_line(bench_spec *spec, const char *folder, const char *word,
                      const char *value) {
  if (strcmp(word, "rules") == 0)
    return add_file(folder, value, &spec->rule_names, &spec->rules);
  if (strcmp(word, "terms") == 0)
    return add_file(folder, value, &spec->term_names, &spec->terms);
  if (strcmp(word, "term") == 0) {
    text_array_add(&spec->term_names, spec->name, strlen(spec->name));
    text_array_add(&spec->terms, value, strlen(value));
    return true;
  }
  if (strcmp(word, "taso") == 0) return spec->wants_taso = *value == '\0';
  if (strcmp(word, "nasrnn") == 0) return read_u32(value, 100, &spec->cells);
  if (strcmp(word, "scheduler") == 0)
    return (size_t)snprintf(spec->scheduler, sizeof spec->scheduler, "%s", value) <
           sizeof spec->scheduler;
  if (strcmp(word, "iterations") == 0)
    return read_u32(value, UINT32_MAX, &spec->iterations);
  if (strcmp(word, "nodes") == 0) return read_u32(value, UINT32_MAX, &spec->nodes);
  if (strcmp(word, "counts") == 0) return read_all_counts(value, spec);
  const char *blank = strchr(value, ' ');
  return strcmp(word, "raw") == 0 && blank != NULL &&
         set_raw(spec, value, (size_t)(blank - value), blank + 1);
}

static bool read_lines(bench_spec *spec, const char *folder, char *text) {
  for (uint32_t number = 1; *text != '\0'; number++) {
    char *end = text + strcspn(text, "\n"), *next = end + (*end != '\0');
    *end = '\0';
    char *blank = text + strcspn(text, " ");
    char *value = blank + strspn(blank, " ");
    *blank = '\0';
    if (*text != '\0' && *text != ';' && !read_line(spec, folder, text, value)) {
      return complain("%s.bench:%u: '%s' is unknown, has no such value, or its file is "
                      "absent; see bench/README.md",
                      spec->name, number, text);
    }
    text = next;
  }
  return true;
}

bool bench_spec_read(const char *folder, const char *name, bench_spec *out) {
  *out = (bench_spec){.raw = RAW_NONE,
                      .scheduler = "simple",
                      .iterations = UINT32_MAX,
                      .nodes = UINT32_MAX};
  char file[MAX_BENCH_NAME + sizeof ".bench"], *text = NULL;
  const char *hyphen = strrchr(name, '-'); // "add-5000" needs no file
  size_t length = strlen(name);
  bool fine = length < MAX_BENCH_NAME && strspn(name, LETTERS) == length;
  if (fine) {
    memcpy(out->name, name, length + 1);
    (void)snprintf(file, sizeof file, "%s.bench", name);
    text = file_text(folder, file);
    fine = text != NULL ? read_lines(out, folder, text)
                        : hyphen != NULL &&
                              set_raw(out, name, (size_t)(hyphen - name), hyphen + 1);
  }
  if (!fine && text == NULL)
    fprintf(stderr, "egraph: no benchmark '%s'; egraph bench saturate --list shows all\n",
            name);
  free(text);
  return fine;
}

void bench_spec_free(bench_spec *spec) {
  text_array_free(&spec->rule_names);
  text_array_free(&spec->rules);
  text_array_free(&spec->term_names);
  text_array_free(&spec->terms);
}
