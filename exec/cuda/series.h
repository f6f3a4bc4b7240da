// A series of runs between begin and end. Runs are only noted; when the series is
// complete (end, wait, a transfer, a move between ranks) they go to the device. A series
// that was there before is replayed as one CUDA graph, captured on its second time; all
// others are submitted launch by launch. What cannot be captured (copies to the host)
// runs launch by launch, always. Of the latest series EG_MOST_SERIES are remembered, so a
// step that moves cut in pieces is replayed piece by piece.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_SERIES_H
#define EG_EXEC_SERIES_H

#include "exec/cuda/cuda_support.h"

typedef struct eg_series eg_series;

enum { EG_MOST_SERIES = 256 };

/// One launch as a series knows it. The first member of every launch of this back-end.
typedef struct eg_series_item {
  eg_launch base;
  eg_series *series;
  uint64_t serial; // unique among the launches of a back-end, never used again
  bool is_host;    // it waits for the device, so it cannot be captured
  /// Puts the work on the stream, or does it.
  egraph_status (*submit)(struct eg_series_item *item);
} eg_series_item;

egraph_status eg_series_create(egraph_allocator alloc, const eg_cuda_device *device,
                               bool is_eager, eg_series **out);
void eg_series_destroy(eg_series *series); // NULL is allowed
uint64_t eg_series_serial(eg_series *series);
/// Notes a run, or submits it at once when the series is eager. The item must live until
/// the series is flushed.
egraph_status eg_series_add(eg_series *series, eg_series_item *item);
/// Submits what was noted and empties the list.
egraph_status eg_series_flush(eg_series *series);
/// The same, for callers that cannot fail; the next flush reports what went wrong.
void eg_series_settle(eg_series *series);

#endif
