// Comma-separated values, as spreadsheets write them; and lists of texts.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_CSV_H
#define EG_TOOLS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/// Texts of its own, in the order they were added. Running out of memory ends the
/// program.
typedef struct text_array {
  char **items;
  size_t count, room;
} text_array;

void text_array_add(text_array *array, const char *text, size_t length);
void text_array_sort(text_array *array);
bool text_array_has(const text_array *array, const char *text);
void text_array_free(text_array *array);

/// Writes one cell, quoted where needed, and a comma before it unless it is the first.
void csv_write(FILE *file, bool first, const char *cell);
/// Reads one row; false at the end of the file. *out_complete: it ended with a newline.
bool csv_read(FILE *file, text_array *cells, bool *out_complete);

#endif
