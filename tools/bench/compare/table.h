// The table of a comparison: a row for each model, machine, number of devices, type and
// search. It is written as comma-separated values, which a later run continues, and
// as JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_COMPARE_TABLE_H
#define EG_TOOLS_BENCH_COMPARE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Columns: id, name, kind of its cells, role. Rows with equal keys are the same row;
// settings are the options of a measurement; only the last column, the seconds of the
// search, differs from run to run.
#define COMPARE_COLUMN_LIST(X)                                                           \
  X(COL_MODEL, "model", TEXT, KEY)                                                       \
  X(COL_MACHINE, "machine", TEXT, KEY)                                                   \
  X(COL_DEVICES, "devices", COUNT, KEY)                                                  \
  X(COL_SCALING, "scaling", TEXT, KEY)                                                   \
  X(COL_TYPE, "type", TEXT, KEY)                                                         \
  X(COL_SEARCH, "search", TEXT, KEY)                                                     \
  X(COL_BATCH, "batch", COUNT, SETTING)                                                  \
  X(COL_MICRO_BATCHES, "micro_batches", COUNT, SETTING)                                  \
  X(COL_RULES, "rules", TEXT, SETTING)                                                   \
  X(COL_GROUPS, "groups", COUNT, SETTING)                                                \
  X(COL_WORK_LIMIT, "work_limit", COUNT, SETTING)                                        \
  X(COL_SEED, "seed", COUNT, SETTING)                                                    \
  X(COL_STATUS, "status", TEXT, RESULT)                                                  \
  X(COL_COST, "cost_seconds", REAL, RESULT)                                              \
  X(COL_SIMULATED, "simulated_seconds", REAL, RESULT)                                    \
  X(COL_BOUND, "bound_seconds", REAL, RESULT)                                            \
  X(COL_SIMULATED_BOUND, "simulated_bound_seconds", REAL, RESULT)                        \
  X(COL_MEMORY, "memory_bytes", REAL, RESULT)                                            \
  X(COL_MEMORY_LIMIT, "memory_limit_bytes", REAL, RESULT)                                \
  X(COL_SHORT, "short_bytes", REAL, RESULT)                                              \
  X(COL_MESH, "mesh", TEXT, RESULT)                                                      \
  X(COL_ENDED, "ended", TEXT, RESULT)                                                    \
  X(COL_WORK, "work", REAL, RESULT)                                                      \
  X(COL_MESSAGE, "message", TEXT, RESULT)                                                \
  X(COL_SECONDS, "search_seconds", REAL, RESULT)
#define COMPARE_COLUMN_ENUM(id, name, kind, role) id,
typedef enum compare_column {
  COMPARE_COLUMN_LIST(COMPARE_COLUMN_ENUM) COMPARE_COLUMNS
} compare_column;
#undef COMPARE_COLUMN_ENUM

// Outcomes of a search: id, word.
#define COMPARE_STATUS_LIST(X)                                                           \
  X(STATUS_FITS, "fits")              /* there is a plan, or a graph */                  \
  X(STATUS_TOO_LARGE, "does not fit") /* short_bytes says by how much */                 \
  X(STATUS_NONE_FOUND, "none found")  /* a limit ended the search before */              \
  X(STATUS_FAILED, "failed")          /* message says why */
#define COMPARE_STATUS_ENUM(id, word) id,
typedef enum compare_status {
  COMPARE_STATUS_LIST(COMPARE_STATUS_ENUM) COMPARE_STATUSES
} compare_status;
#undef COMPARE_STATUS_ENUM
const char *compare_status_word(compare_status status);

/// A row of a comparison; it owns the texts of its cells. "": no value. Starts as zeros.
typedef struct compare_row {
  char *cell[COMPARE_COLUMNS];
} compare_row;
/// Returns the text of a cell, never NULL.
const char *row_cell(const compare_row *row, compare_column column);
/// Returns the number in a cell; NAN when there is none.
double row_number(const compare_row *row, compare_column column);
bool row_is(const compare_row *row, compare_status status);
/// Sets a cell. Running out of memory ends the program.
void row_set(compare_row *row, compare_column column, const char *text);
void row_set_count(compare_row *row, compare_column column, uint64_t count);
/// Sets a cell to a number, or to "" for a value that is not finite.
void row_set_real(compare_row *row, compare_column column, double value);
void row_copy(compare_row *row, const compare_row *from);
void row_free(compare_row *row);
/// Writes one line of comma-separated values.
void row_write(FILE *file, const compare_row *row);
/// Reads one row from a line of comma-separated values; false at the end of the file, and
/// for an incomplete line or one with invalid numbers: *out_wrong then contains the
/// error, otherwise it is empty.
bool row_read(FILE *file, compare_row *out, char *out_wrong, size_t room);

typedef struct compare_table {
  compare_row *rows; // rows of earlier runs
  size_t count, room;
  FILE *file; // NULL: rows are written to no file
  const char *path;
  int write_error; // errno of the first row that could not be written, or 0
} compare_table;

/// Opens the file to which rows are written; NULL: no file. `resumes`: reads its rows
/// and cuts off the bytes after the last whole row; otherwise the file must have no
/// rows. False, with a message on standard error, when the file cannot be opened or is
/// no such table.
bool table_open(compare_table *table, const char *path, bool resumes);
/// Finds the row of an earlier run with the same key; NULL: there is none.
const compare_row *table_find(const compare_table *table, const compare_row *row);
/// True when two rows were measured with the same settings; otherwise prints on standard
/// error the setting that differs, and a remedy.
bool table_settings_match(const compare_table *table, const compare_row *have,
                          const compare_row *want);
/// Writes a row to the file.
void table_write(compare_table *table, const compare_row *row);
/// Frees the table; false, with a message, when some row could not be written.
bool table_close(compare_table *table);
/// Writes rows as one JSON object (schema/compare-report.json).
void rows_write_json(FILE *file, const compare_row *const *rows, size_t count);

#endif
