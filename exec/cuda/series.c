// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/series.h"

EG_VEC_DEFINE(eg_item_list, eg_series_item *);
EG_VEC_DEFINE(eg_serial_list, uint64_t);

struct eg_series {
  egraph_allocator alloc;
  const eg_cuda_device *device;
  bool is_eager;
  uint64_t serials;       // given so far
  eg_item_list noted;     // since the last flush
  eg_serial_list before;  // the series before
  cudaGraphExec_t replay; // of `before`; NULL: not captured
  bool is_refused;        // `before` could not be captured
  egraph_status failed;   // of a flush that could not report it
};

egraph_status eg_series_create(egraph_allocator alloc, const eg_cuda_device *device,
                               bool is_eager, eg_series **out) {
  eg_series *series;
  EG_TRY(eg_alloc(alloc, 1, sizeof *series, &series));
  *series = (eg_series){.alloc = alloc, .device = device, .is_eager = is_eager};
  eg_item_list_init(&series->noted, alloc);
  eg_serial_list_init(&series->before, alloc);
  *out = series;
  return EGRAPH_OK;
}

static void drop_replay(eg_series *series) {
  if (series->replay != NULL) (void)cudaGraphExecDestroy(series->replay);
  series->replay = NULL;
  series->is_refused = false;
}

void eg_series_destroy(eg_series *series) {
  if (series == NULL) return;
  drop_replay(series);
  eg_item_list_deinit(&series->noted);
  eg_serial_list_deinit(&series->before);
  eg_free(series->alloc, series, 1, sizeof *series);
}

uint64_t eg_series_serial(eg_series *series) { return ++series->serials; }

egraph_status eg_series_add(eg_series *series, eg_series_item *item) {
  if (series->is_eager) return item->submit(item);
  return eg_item_list_push(&series->noted, item);
}

// ---- submitting -----------------------------------------------------------------

static egraph_status submit_all(const eg_series *series) {
  for (size_t i = 0; i < series->noted.len; i++)
    EG_TRY(series->noted.data[i]->submit(series->noted.data[i]));
  return EGRAPH_OK;
}

static bool is_repeated(const eg_series *series) {
  if (series->noted.len != series->before.len) return false;
  for (size_t i = 0; i < series->noted.len; i++)
    if (series->noted.data[i]->serial != series->before.data[i]) return false;
  return true;
}

// One launch is no series.
static bool can_capture(const eg_series *series) {
  for (size_t i = 0; i < series->noted.len; i++)
    if (series->noted.data[i]->is_host) return false;
  return series->noted.len > 1 && !series->is_refused;
}

static egraph_status remember(eg_series *series) {
  drop_replay(series);
  series->before.len = 0;
  for (size_t i = 0; i < series->noted.len; i++)
    EG_TRY(eg_serial_list_push(&series->before, series->noted.data[i]->serial));
  return EGRAPH_OK;
}

/// Captures the noted launches; whatever refuses leaves replay NULL and the stream
/// usable.
static void capture(eg_series *series) {
  cudaStream_t stream = series->device->stream;
  cudaGraph_t graph = NULL;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    egraph_status status = submit_all(series);
    cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (status == EGRAPH_OK && ended == cudaSuccess && graph != NULL &&
        cudaGraphInstantiate(&series->replay, graph, 0) != cudaSuccess)
      series->replay = NULL;
    if (graph != NULL) (void)cudaGraphDestroy(graph);
  }
  (void)cudaGetLastError(); // a refusal is no failure
  series->is_refused = series->replay == NULL;
}

static egraph_status submit_series(eg_series *series) {
  if (!is_repeated(series)) {
    EG_TRY(remember(series));
    return submit_all(series);
  }
  if (series->replay == NULL && can_capture(series)) capture(series);
  if (series->replay == NULL) return submit_all(series);
  return eg_cuda_check(cudaGraphLaunch(series->replay, series->device->stream),
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
  egraph_status status = eg_series_flush(series);
  if (status != EGRAPH_OK) series->failed = status;
}
