// Draws the chart of a comparison: bars by search, relative to the product's own search.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_COMPARE_CHART_H
#define EG_TOOLS_BENCH_COMPARE_CHART_H

#include "tools/bench/compare/table.h"

/// Returns the seconds by which rows are compared: simulated seconds, or the cost if
/// nothing is simulated; NAN: the row does not fit.
double row_seconds(const compare_row *row);
/// Returns the same seconds for the product's own best row with the same plan task as a
/// row; NAN: none.
double rows_own_seconds(const compare_row *const *rows, size_t count,
                        const compare_row *row);
/// True when the product's own search has a row for the plan task of a row, with
/// any outcome.
bool rows_have_own(const compare_row *const *rows, size_t count, const compare_row *row);
/// Writes a self-contained SVG file, with a panel for each model, machine, number of
/// devices and type.
void rows_write_svg(FILE *file, const compare_row *const *rows, size_t count);

#endif
