// Quantiles of measurements. The functions sort the measurements in place; none is NaN.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_QUANTILE_H
#define EG_BASE_QUANTILE_H

#include <stddef.h>
#include <stdlib.h>

static inline int eg_compare_doubles(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/// Returns the measurement nearest to `part` (0 to 1) of the way from the lowest to the
/// highest of count > 0 values. Sorts the values: O(count log count).
static inline double eg_quantile(double *values, size_t count, double part) {
  qsort(values, count, sizeof *values, eg_compare_doubles);
  return values[(size_t)((double)(count - 1) * part + 0.5)];
}

/// Returns the median of count > 0 values; for an even count the mean of the two middle
/// values. Sorts the values: O(count log count).
static inline double eg_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, eg_compare_doubles);
  size_t middle = count / 2;
  return count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

#endif
