// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/series.h"

#include <assert.h>

EG_VEC_DEFINE(eg_item_list, eg_series_item *);
EG_VEC_DEFINE(eg_serial_list, uint64_t);

/// A series of launches that was submitted before.
typedef struct known_series {
  eg_serial_list serials;
  cudaGraphExec_t replay; // NULL: the series was not captured
  bool is_refused;        // the series could not be captured
} known_series;

struct eg_series {
  egraph_allocator alloc;
  const eg_cuda_device *device;
  bool is_eager;
  uint64_t serials;                   // serial numbers given so far
  eg_item_list noted;                 // launches since the last flush
  known_series known[EG_MOST_SERIES]; // `count` entries are in use
  uint32_t count, oldest;
  egraph_status failed; // error of a flush that could not report it
};

egraph_status eg_series_create(egraph_allocator alloc, const eg_cuda_device *device,
                               bool is_eager, eg_series **out) {
  eg_series *series;
  EG_TRY(eg_alloc(alloc, 1, sizeof *series, &series));
  *series = (eg_series){.alloc = alloc, .device = device, .is_eager = is_eager};
  eg_item_list_init(&series->noted, alloc);
  *out = series;
  return EGRAPH_OK;
}

static void forget_series(known_series *known) {
  if (known->replay != NULL) (void)cudaGraphExecDestroy(known->replay);
  eg_serial_list_deinit(&known->serials);
}

void eg_series_destroy(eg_series *series) {
  if (series == NULL) return;
  for (uint32_t i = 0; i < series->count; i++)
    forget_series(&series->known[i]);
  eg_item_list_deinit(&series->noted);
  eg_free(series->alloc, series, 1, sizeof *series);
}

uint64_t eg_series_serial(eg_series *series) { return ++series->serials; }

egraph_status eg_series_add(eg_series *series, eg_series_item *item) {
  assert(item->submit != NULL);
  if (series->is_eager) return item->submit(item);
  return eg_item_list_push(&series->noted, item);
}

// ---- submitting -----------------------------------------------------------------

static egraph_status submit_all(const eg_series *series) {
  for (size_t i = 0; i < series->noted.len; i++)
    EG_TRY(series->noted.data[i]->submit(series->noted.data[i]));
  return EGRAPH_OK;
}

static bool is_same_series(const eg_series *series, const known_series *known) {
  if (series->noted.len != known->serials.len) return false;
  for (size_t i = 0; i < series->noted.len; i++)
    if (series->noted.data[i]->serial != known->serials.data[i]) return false;
  return true;
}

static known_series *find_known(eg_series *series) {
  for (uint32_t i = 0; i < series->count; i++)
    if (is_same_series(series, &series->known[i])) return &series->known[i];
  return NULL;
}

static bool can_capture(const eg_series *series) {
  for (size_t i = 0; i < series->noted.len; i++)
    if (series->noted.data[i]->is_host) return false;
  return true;
}

/// Remembers the current series of launches, in place of the oldest if none is free.
static egraph_status remember(eg_series *series) {
  eg_serial_list serials;
  eg_serial_list_init(&serials, series->alloc);
  egraph_status status = eg_serial_list_reserve(&serials, series->noted.len);
  for (size_t i = 0; status == EGRAPH_OK && i < series->noted.len; i++)
    status = eg_serial_list_push(&serials, series->noted.data[i]->serial);
  if (status != EGRAPH_OK) {
    eg_serial_list_deinit(&serials);
    return status;
  }
  known_series *place = &series->known[series->oldest];
  if (series->count == EG_MOST_SERIES)
    forget_series(place);
  else
    series->count++;
  series->oldest = (series->oldest + 1) % EG_MOST_SERIES;
  *place = (known_series){.serials = serials, .is_refused = !can_capture(series)};
  return EGRAPH_OK;
}

/// Captures the collected launches as a CUDA graph. A refused capture leaves replay NULL
/// and the stream usable.
static void capture(const eg_series *series, known_series *known) {
  cudaStream_t stream = series->device->stream;
  cudaGraph_t graph = NULL;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    egraph_status status = submit_all(series);
    cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (status == EGRAPH_OK && ended == cudaSuccess && graph != NULL &&
        cudaGraphInstantiate(&known->replay, graph, 0) != cudaSuccess)
      known->replay = NULL;
    if (graph != NULL) (void)cudaGraphDestroy(graph);
  }
  (void)cudaGetLastError(); // a refusal is no failure
  known->is_refused = known->replay == NULL;
}

// Submits the collected launches. A single launch is not treated as a series.
static egraph_status submit_series(eg_series *series) {
  assert(series->noted.len != 0);
  if (series->noted.len == 1) return submit_all(series);
  known_series *known = find_known(series);
  if (known == NULL) {
    EG_TRY(remember(series));
    return submit_all(series);
  }
  if (known->replay == NULL && !known->is_refused) capture(series, known);
  if (known->replay == NULL) return submit_all(series);
  return eg_cuda_check(cudaGraphLaunch(known->replay, series->device->stream),
                       "launch of a captured series");
}

egraph_status eg_series_flush(eg_series *series) {
  egraph_status status = series->failed;
  series->failed = EGRAPH_OK;
  if (status != EGRAPH_OK)
    return EG_FAIL(status, "CUDA: an earlier run of this series failed");
  if (series->noted.len == 0) return EGRAPH_OK;
  status = submit_series(series);
  series->noted.len = 0;
  return status;
}

void eg_series_settle(eg_series *series) {
  if (series->noted.len == 0) return;
  (void)cudaSetDevice(series->device->ordinal); // the caller may be any thread
  egraph_status status = eg_series_flush(series);
  if (status != EGRAPH_OK) series->failed = status;
}
