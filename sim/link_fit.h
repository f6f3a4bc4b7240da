// Fits a curve to measured exchanges: for each class of sizes, the latency and the
// seconds per byte with the least squares of relative errors.
//
//   class    up to     points of 256, 1 K, 4 K .. 16 MiB
//   small    16 KiB    4
//   medium   1 MiB     4, the first one that of `small`, so that curves have no steps
//   large    4 MiB     2
//   huge     any       2
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_LINK_FIT_H
#define EG_SIM_LINK_FIT_H

#include "pcg/parallel/machine.h"

/// The relative errors of a fitted class of sizes at its measured points.
typedef struct eg_fit_error {
  uint32_t points;
  double mean, worst;
} eg_fit_error;

/// Fits the size classes of a curve that have a measured point; the other classes copy
/// the nearest class before them, or else the first class with a point. Exchange and
/// devices of the curve stay. There is at least one point; all points are of one
/// exchange, sorted by bytes. Points of 0 seconds count as a tenth of a microsecond.
void eg_link_fit(const eg_exchange_point *points, size_t count, eg_link_curve *inout,
                 eg_fit_error out_errors[EG_SIZE_CLASSES]);
const char *eg_size_class_name(uint32_t index);

#endif
