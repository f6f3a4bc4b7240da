// Draws the chart of a comparison: bars by search, relative to the product's own search.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_COMPARE_CHART_H
#define EG_TOOLS_BENCH_COMPARE_CHART_H

#include "tools/bench/compare/table.h"

/// Returns the seconds by which searches are compared: the simulated seconds of the row's
/// plan, or its cost if nothing was simulated; NAN: no plan that fits was found.
double row_seconds(const compare_row *row);
/// Returns row_seconds of the best row of the product's own search for the same plan task
/// as `row`; NAN: there is no such row.
double rows_own_seconds(const compare_row *const *rows, size_t count,
                        const compare_row *row);
/// True when the product's own search has a row for the plan task of `row`, with
/// any outcome.
bool rows_have_own(const compare_row *const *rows, size_t count, const compare_row *row);
/// Writes a comparison as a self-contained SVG file, with a panel for each model,
/// machine, number of devices and type of elements.
void rows_write_svg(FILE *file, const compare_row *const *rows, size_t count);

#endif
