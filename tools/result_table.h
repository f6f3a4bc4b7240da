// The table of a benchmark: rows of comma-separated values in a file that a later run
// goes on with, and the results of another program beside them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RESULT_TABLE_H
#define EG_TOOLS_RESULT_TABLE_H

#include <stdint.h>

#include "tools/csv.h"

typedef struct result_table {
  text_array columns; // "name" first; "status", "cost" and "cpu_seconds" are counted
  text_array done;    // names of the rows that were there
  text_array peers;   // name, cost, seconds in turn
  FILE *file;         // NULL: rows are only counted
  int write_error;    // errno of the first row that could not be written, or 0
  // Of all rows, those of earlier runs included.
  uint32_t optimal, feasible, infeasible, failed;
  uint32_t worse;    // dearer than the peer
  uint32_t measured; // in this run
  double cpu_seconds;
} result_table;

/// Opens or creates `path`; what follows its last whole row is cut off. NULL: standard
/// output, or nowhere when `quiet`. `columns` must be filled. False, with a message, when
/// it cannot be opened or holds something else.
bool result_table_open(result_table *t, const char *path, bool quiet);
/// Reads name, cost and seconds (optional) of every row of another table. Before
/// result_table_open, so that its rows are compared too.
bool result_table_read_peer(result_table *t, const char *path);
/// Cost (1) or seconds (2) of the peer; "" without one.
const char *result_table_peer(const result_table *t, const char *name, size_t which);
bool result_table_has(const result_table *t, const char *name);
/// Writes and counts a row of as many cells as there are columns.
void result_table_add(result_table *t, const text_array *cells);
/// Frees everything; false, with errno set, when some row could not be written.
bool result_table_close(result_table *t);

#endif
