// The chart of a comparison: bars by search, relative to the product's own.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_COMPARE_CHART_H
#define EG_TOOLS_BENCH_COMPARE_CHART_H

#include "tools/bench/compare/table.h"

/// Seconds that rows are compared by: simulated ones, or the cost where nothing is
/// simulated; NAN: there are none that fit.
double row_seconds(const compare_row *row);
/// The same of the product's own best row for what a row plans; NAN.
double rows_own_seconds(const compare_row *const *rows, size_t count,
                        const compare_row *row);
/// Returns whether some row is the product's own for what a row plans, whatever came of
/// it.
bool rows_have_own(const compare_row *const *rows, size_t count, const compare_row *row);
/// Writes an SVG file of its own: nothing in it refers to anything outside. A panel for
/// each model, machine, number of devices and type.
void rows_write_svg(FILE *file, const compare_row *const *rows, size_t count);

#endif
