// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/bench/compare/table.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/console.h"
#include "tools/csv.h"

typedef enum cell_kind { TEXT, COUNT, REAL } cell_kind;
typedef enum column_role { KEY, SETTING, RESULT } column_role;

#define COLUMN_ROW(id, name, kind, role) {name, kind, role},
static const struct {
  const char *name;
  cell_kind kind;
  column_role role;
} COLUMNS[] = {COMPARE_COLUMN_LIST(COLUMN_ROW)};
#undef COLUMN_ROW

#define STATUS_WORD(id, word) word,
static const char *const STATUS_WORDS[] = {COMPARE_STATUS_LIST(STATUS_WORD)};
#undef STATUS_WORD

const char *compare_status_word(compare_status status) { return STATUS_WORDS[status]; }

// ---- rows ------------------------------------------------------------------------

const char *row_cell(const compare_row *row, compare_column column) {
  return row->cell[column] != NULL ? row->cell[column] : "";
}

double row_number(const compare_row *row, compare_column column) {
  const char *text = row_cell(row, column);
  return *text != '\0' ? strtod(text, NULL) : NAN;
}

bool row_is(const compare_row *row, compare_status status) {
  return strcmp(row_cell(row, COL_STATUS), STATUS_WORDS[status]) == 0;
}

void row_set(compare_row *row, compare_column column, const char *text) {
  char *copy = text_copy(text, strlen(text));
  free(row->cell[column]);
  row->cell[column] = copy;
}

void row_set_count(compare_row *row, compare_column column, uint64_t count) {
  char text[24];
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)count);
  row_set(row, column, text);
}

void row_set_real(compare_row *row, compare_column column, double value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%.12g", value);
  row_set(row, column, isfinite(value) ? text : "");
}

void row_copy(compare_row *row, const compare_row *from) {
  for (size_t c = 0; c < COMPARE_COLUMNS; c++)
    row_set(row, (compare_column)c, row_cell(from, (compare_column)c));
}

void row_free(compare_row *row) {
  for (size_t c = 0; c < COMPARE_COLUMNS; c++)
    free(row->cell[c]);
  *row = (compare_row){.cell = {NULL}};
}

void row_write(FILE *file, const compare_row *row) {
  for (size_t c = 0; c < COMPARE_COLUMNS; c++)
    csv_write(file, c == 0, row_cell(row, (compare_column)c));
  (void)fputc('\n', file);
}

/// True for the text of a number that is neither negative nor infinite: digits, and in a
/// real number also a point and an exponent.
static bool is_amount(const char *text, bool is_real) {
  if (*text == '\0') return true;
  if (strspn(text, is_real ? "0123456789.e+-" : "0123456789") != strlen(text) ||
      !isdigit((unsigned char)*text))
    return false;
  char *end;
  errno = 0;
  double value = is_real ? strtod(text, &end) : (double)strtoull(text, &end, 10);
  return *end == '\0' && errno == 0 && isfinite(value);
}

/// Returns the first column whose cell this command cannot have written;
/// COMPARE_COLUMNS: none.
static size_t find_wrong_cell(const text_array *cells) {
  for (size_t c = 0; c < COMPARE_COLUMNS; c++) {
    const char *text = cells->items[c];
    bool must_be_there = COLUMNS[c].role != RESULT;
    if (COLUMNS[c].kind != TEXT && !is_amount(text, COLUMNS[c].kind == REAL)) return c;
    bool is_status = false;
    for (size_t s = 0; s < COMPARE_STATUSES; s++)
      is_status = is_status || strcmp(text, STATUS_WORDS[s]) == 0;
    if (c == COL_STATUS ? !is_status : must_be_there && *text == '\0') return c;
  }
  return COMPARE_COLUMNS;
}

bool row_read(FILE *file, compare_row *out, char *out_wrong, size_t room) {
  text_array cells = {NULL, 0, 0};
  bool is_whole = false, is_fine = csv_read(file, &cells, &is_whole) && is_whole;
  *out = (compare_row){.cell = {NULL}};
  out_wrong[0] = '\0';
  if (is_fine && cells.count != COMPARE_COLUMNS) {
    (void)snprintf(out_wrong, room, "it has %zu cells, not %d", cells.count,
                   COMPARE_COLUMNS);
  } else if (is_fine) {
    size_t wrong = find_wrong_cell(&cells);
    if (wrong < COMPARE_COLUMNS)
      (void)snprintf(out_wrong, room, "its %s is \"%.40s\"", COLUMNS[wrong].name,
                     cells.items[wrong]);
  }
  is_fine = is_fine && out_wrong[0] == '\0';
  for (size_t c = 0; is_fine && c < COMPARE_COLUMNS; c++)
    row_set(out, (compare_column)c, cells.items[c]);
  text_array_free(&cells);
  return is_fine;
}

// ---- the file --------------------------------------------------------------------

static bool read_header(compare_table *t) {
  text_array cells = {NULL, 0, 0};
  bool is_whole, is_ours = csv_read(t->file, &cells, &is_whole) && is_whole &&
                           cells.count == COMPARE_COLUMNS;
  for (size_t c = 0; is_ours && c < COMPARE_COLUMNS; c++)
    is_ours = strcmp(cells.items[c], COLUMNS[c].name) == 0;
  text_array_free(&cells);
  return is_ours ||
         complain_of("%s: no table of egraph bench compare; choose another --csv",
                     t->path);
}

/// Reads the rows; cuts off the bytes of a killed run after the last whole row.
static bool read_rows(compare_table *t) {
  char wrong[160];
  if (!read_header(t)) return false;
  long whole = ftell(t->file);
  compare_row row;
  while (row_read(t->file, &row, wrong, sizeof wrong)) {
    t->rows = list_grow(t->rows, t->count, &t->room, sizeof *t->rows);
    t->rows[t->count++] = row;
    whole = ftell(t->file);
  }
  if (wrong[0] != '\0')
    return complain_of("%s: row %zu: %s; remove the row, or choose another --csv",
                       t->path, t->count + 1, wrong);
  return (whole >= 0 && fseek(t->file, whole, SEEK_SET) == 0 &&
          ftruncate(fileno(t->file), whole) == 0) ||
         complain_of_file(t->path);
}

bool table_open(compare_table *t, const char *path, bool resumes) {
  struct stat found;
  t->path = path;
  if (path == NULL) return true;
  t->file = fopen(path, "a+");
  if (t->file == NULL || fstat(fileno(t->file), &found) != 0)
    return complain_of_file(path);
  if (!S_ISREG(found.st_mode))
    return complain_of(
        "%s: no plain file, which rows could be read from; choose another --csv", path);
  if (found.st_size == 0) {
    for (size_t c = 0; c < COMPARE_COLUMNS; c++)
      csv_write(t->file, c == 0, COLUMNS[c].name);
    (void)fputc('\n', t->file);
    if (fflush(t->file) != 0) t->write_error = errno;
    return true;
  }
  if (!resumes)
    return complain_of(
        "%s: there already; give --resume to keep its rows, or another --csv", path);
  rewind(t->file);
  return read_rows(t);
}

const compare_row *table_find(const compare_table *t, const compare_row *row) {
  for (size_t i = 0; i < t->count; i++) {
    bool is_same = true;
    for (size_t c = 0; is_same && c < COMPARE_COLUMNS; c++)
      is_same = COLUMNS[c].role != KEY || strcmp(row_cell(&t->rows[i], (compare_column)c),
                                                 row_cell(row, (compare_column)c)) == 0;
    if (is_same) return &t->rows[i];
  }
  return NULL;
}

bool table_settings_match(const compare_table *t, const compare_row *have,
                          const compare_row *want) {
  for (size_t c = 0; c < COMPARE_COLUMNS; c++) {
    const char *a = row_cell(have, (compare_column)c);
    const char *b = row_cell(want, (compare_column)c);
    if (COLUMNS[c].role != SETTING || strcmp(a, b) == 0) continue;
    return complain_of(
        "%s: the row of %s on %s devices, %s, was made with %s %s, not %s; go "
        "on with that, or choose another --csv",
        t->path, row_cell(have, COL_MODEL), row_cell(have, COL_DEVICES),
        row_cell(have, COL_SEARCH), COLUMNS[c].name, a, b);
  }
  return true;
}

void table_write(compare_table *t, const compare_row *row) {
  if (t->file == NULL) return;
  row_write(t->file, row);
  if (fflush(t->file) != 0 && t->write_error == 0) t->write_error = errno;
}

bool table_close(compare_table *t) {
  for (size_t i = 0; i < t->count; i++)
    row_free(&t->rows[i]);
  free(t->rows);
  if (t->file != NULL && fclose(t->file) != 0 && t->write_error == 0)
    t->write_error = errno;
  errno = t->write_error;
  *t = (compare_table){.path = t->path};
  return errno == 0 || complain_of_file(t->path);
}

// ---- JSON ------------------------------------------------------------------------

static void write_json_cell(const compare_row *row, compare_column column) {
  const char *name = COLUMNS[column].name, *text = row_cell(row, column);
  if (COLUMNS[column].kind == TEXT)
    json_text(name, text);
  else if (*text == '\0')
    json_value(name, "null");
  else if (COLUMNS[column].kind == COUNT)
    json_int(name, strtoull(text, NULL, 10));
  else
    json_real(name, row_number(row, column));
}

void rows_write_json(FILE *file, const compare_row *const *rows, size_t count) {
  uint64_t counts[COMPARE_STATUSES] = {0};
  json_to(file);
  json_begin();
  JSON_EACH("rows", i, count) {
    json_open(NULL, '{');
    for (size_t c = 0; c < COMPARE_COLUMNS; c++)
      write_json_cell(rows[i], (compare_column)c);
    json_close('}');
    for (size_t s = 0; s < COMPARE_STATUSES; s++)
      counts[s] += row_is(rows[i], (compare_status)s);
  }
  JSON_MEMBERS(JSON("fits", counts[STATUS_FITS]),
               JSON("does_not_fit", counts[STATUS_TOO_LARGE]),
               JSON("none_found", counts[STATUS_NONE_FOUND]),
               JSON("failed", counts[STATUS_FAILED]));
  json_end();
  json_to(NULL);
}
