// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/result_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t find_cell(const text_array *cells, const char *name) {
  size_t i = 0;
  while (i < cells->count && strcmp(cells->items[i], name) != 0)
    i++;
  return i;
}

const char *result_table_peer(const result_table *t, const char *name, size_t which) {
  for (size_t i = 0; i < t->peers.count; i += 3)
    if (strcmp(t->peers.items[i], name) == 0) return t->peers.items[i + which];
  return "";
}

/// Counts a row by its cells.
static void count_row(result_table *t, const text_array *cells) {
  const text_array *header = &t->columns;
  const char *status = cells->items[find_cell(header, "status")];
  const char *cost = cells->items[find_cell(header, "cost")];
  const char *peer = result_table_peer(t, cells->items[find_cell(header, "name")], 1);
  t->optimal += strcmp(status, "optimal") == 0;
  t->feasible += strcmp(status, "feasible") == 0;
  t->infeasible += strcmp(status, "infeasible") == 0;
  t->failed += strcmp(status, "failed") == 0 || strcmp(status, "killed") == 0 ||
               strcmp(status, "crashed") == 0;
  t->cpu_seconds += strtod(cells->items[find_cell(header, "cpu_seconds")], NULL);
  if (*cost == '\0' || *peer == '\0') return;
  double own = strtod(cost, NULL), other = strtod(peer, NULL);
  t->worse += own > other + 1e-6 * fabs(other);
}

static bool is_header(const result_table *t, const text_array *cells) {
  if (cells->count != t->columns.count) return false;
  for (size_t i = 0; i < cells->count; i++)
    if (strcmp(cells->items[i], t->columns.items[i]) != 0) return false;
  return true;
}

static void write_cells(result_table *t, const text_array *cells) {
  if (t->file == NULL) return;
  for (size_t i = 0; i < cells->count; i++)
    csv_write(t->file, i == 0, cells->items[i]);
  (void)fputc('\n', t->file);
  if (fflush(t->file) != 0 && t->write_error == 0) t->write_error = errno;
}

/// Names of the rows that are there; what follows the last whole row is cut off.
static bool read_rows(result_table *t, const char *path) {
  text_array cells = {NULL, 0, 0};
  bool complete = true, fine = true;
  long whole = 0;
  rewind(t->file);
  for (size_t row = 0; csv_read(t->file, &cells, &complete) && complete; row++) {
    fine = fine && (row == 0 ? is_header(t, &cells) : cells.count == t->columns.count);
    if (row != 0 && fine) {
      text_array_add(&t->done, cells.items[0], strlen(cells.items[0]));
      count_row(t, &cells);
    }
    whole = ftell(t->file);
  }
  fine = fine && (whole != 0 || cells.count == 0);
  text_array_free(&cells);
  if (!fine)
    fprintf(stderr, "egraph: %s: no table of this command; choose another --output\n",
            path);
  return fine && fseek(t->file, whole, SEEK_SET) == 0 &&
         ftruncate(fileno(t->file), whole) == 0;
}

// A device or a pipe has no rows to go on from, and its reading may never end.
static bool has_rows(FILE *file) {
  struct stat found;
  return fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode);
}

bool result_table_open(result_table *t, const char *path, bool quiet) {
  if (path == NULL) {
    t->file = quiet ? NULL : stdout;
    write_cells(t, &t->columns);
    return true;
  }
  t->file = fopen(path, "a+");
  if (t->file == NULL) {
    fprintf(stderr, "egraph: %s: %s\n", path, strerror(errno));
    return false;
  }
  bool resumes = has_rows(t->file);
  if (resumes && !read_rows(t, path)) return false;
  if (!resumes || ftell(t->file) == 0) write_cells(t, &t->columns);
  return true;
}

bool result_table_read_peer(result_table *t, const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    fprintf(stderr, "egraph: %s: %s\n", path, strerror(errno));
    return false;
  }
  text_array cells = {NULL, 0, 0};
  bool complete, any = csv_read(file, &cells, &complete);
  size_t name = find_cell(&cells, "name"), cost = find_cell(&cells, "cost"),
         seconds = find_cell(&cells, "seconds");
  bool fine = any && name < cells.count && cost < cells.count;
  while (fine && csv_read(file, &cells, &complete))
    for (int i = 0; i < 3; i++) {
      size_t at = i == 0 ? name : i == 1 ? cost : seconds;
      const char *text = at < cells.count ? cells.items[at] : "";
      text_array_add(&t->peers, text, strlen(text));
    }
  if (!fine)
    fprintf(stderr, "egraph: %s: the first row has no columns \"name\" and \"cost\"\n",
            path);
  text_array_free(&cells);
  (void)fclose(file);
  return fine;
}

bool result_table_has(const result_table *t, const char *name) {
  return text_array_has(&t->done, name);
}

void result_table_add(result_table *t, const text_array *cells) {
  write_cells(t, cells);
  t->measured++;
  count_row(t, cells);
}

bool result_table_close(result_table *t) {
  text_array_free(&t->peers);
  text_array_free(&t->done);
  text_array_free(&t->columns);
  FILE *file = t->file;
  t->file = NULL;
  if (file == NULL || file == stdout) return true; // main looks after that one
  if (fclose(file) != 0 && t->write_error == 0) t->write_error = errno;
  errno = t->write_error;
  return t->write_error == 0;
}
