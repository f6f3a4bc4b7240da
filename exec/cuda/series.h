// The series of runs between begin and end of the back-end. A run is only noted at first;
// when the series is complete (end, wait, a transfer, a move between ranks) all noted
// runs go to the device. A series that repeats an earlier one is replayed as one CUDA
// graph, which is captured when it runs for the second time; other series are submitted
// launch by launch. A series with a run that cannot be captured (a copy to the host)
// always goes launch by launch. The latest EG_MOST_SERIES series are remembered, so a
// step that moves cut into pieces is replayed piece by piece.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_SERIES_H
#define EG_EXEC_SERIES_H

#include "exec/cuda/cuda_support.h"

typedef struct eg_series eg_series;

enum { EG_MOST_SERIES = 256 };

/// A launch in a series of launches: the first member of every launch of this back-end.
typedef struct eg_series_item {
  eg_launch base;
  eg_series *series;
  uint64_t serial; // unique among all launches that the back-end ever has
  bool is_host;    // the launch waits for the device, so it cannot be captured
  /// Puts the work on the stream, or runs it on the host.
  egraph_status (*submit)(struct eg_series_item *item);
} eg_series_item;

egraph_status eg_series_create(egraph_allocator alloc, const eg_cuda_device *device,
                               bool is_eager, eg_series **out);
void eg_series_destroy(eg_series *series); // NULL is allowed
uint64_t eg_series_serial(eg_series *series);
/// Adds a launch to the list of launches to submit, or submits it at once when the series
/// is eager. `item` must live until the series is flushed.
egraph_status eg_series_add(eg_series *series, eg_series_item *item);
/// Submits all launches in the list and empties the list.
egraph_status eg_series_flush(eg_series *series);
/// Submits launches like eg_series_flush, but cannot fail; the next flush reports errors.
void eg_series_settle(eg_series *series);

#endif
