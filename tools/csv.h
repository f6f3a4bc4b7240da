// Comma-separated values, in the form that spreadsheets write.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_CSV_H
#define EG_TOOLS_CSV_H

#include <stdio.h>

#include "tools/lists.h"

/// Writes one cell, quoted where needed, and a comma before it unless it is the first.
void csv_write(FILE *file, bool first, const char *cell);
/// Reads one row; false at the end of the file. *out_complete: the row ended with
/// a newline.
bool csv_read(FILE *file, text_array *cells, bool *out_complete);

#endif
