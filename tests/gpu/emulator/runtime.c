// The CUDA runtime as far as the plugins use it. A stream keeps its work until somebody
// waits for it: what is not waited for has not happened. Captured work goes to a graph;
// calls that a capture does not allow fail, and so does the next wait, lest they be taken
// for a refusal.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/emulator/emulator.h"

enum { ALIGNMENT = 256, GAP = 4096, PATTERN_BYTES = 1 << 20 };

typedef struct work_list {
  eg_work **items;
  size_t count, capacity;
} work_list;

struct CUgraph_st {
  work_list works;
};
struct CUgraphExec_st {
  work_list works;
};
struct CUstream_st {
  int device;
  work_list works;
  uint64_t put, done;  // pieces of work
  cudaGraph_t capture; // NULL: none
  const char *illegal; // the call that broke the last capture
};
struct CUevent_st {
  cudaStream_t stream;
  uint64_t behind; // pieces of work
};

static pthread_mutex_t device_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current_device;
static _Thread_local cudaError_t last_error;
static _Thread_local const char *message = "failure"; // of the last error

static void lock(void) { (void)pthread_mutex_lock(&device_mutex); }
static void unlock(void) { (void)pthread_mutex_unlock(&device_mutex); }

static cudaError_t fail(cudaError_t code, const char *text) {
  if (code == cudaSuccess) return code;
  message = text;
  return last_error = code;
}

const char *cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : message;
}
const char *cudaGetErrorName(cudaError_t code) { return (void)code, "emulated"; }
cudaError_t cudaGetLastError(void) {
  cudaError_t code = last_error;
  last_error = cudaSuccess;
  return code;
}

// ---- devices: two, which share their memory ----------------------------------------

cudaError_t cudaGetDeviceCount(int *count) { return *count = 2, cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  return *can = device != peer, cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return current_device = device, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device) {
  (void)attribute, (void)device;
  return *value = 0, cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) {
  *total = (size_t)8 << 30; // of memory that is the host's
  return *unused = *total / 2, cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  (void)device;
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "emulator");
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  return *version = CUDART_VERSION, cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  return (void)device, *pool = NULL, cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                    void *value) {
  return (void)pool, (void)attribute, (void)value, cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool,
                                 const struct cudaMemAccessDesc *access, size_t count) {
  return (void)pool, (void)access, (void)count, cudaSuccess;
}

// ---- lists of work ----------------------------------------------------------------

static void append(work_list *to, eg_work *work) {
  if (to->count == to->capacity) {
    to->capacity = to->capacity * 2 + 16;
    to->items = realloc(to->items, to->capacity * sizeof *to->items);
  }
  work->holders++;
  to->items[to->count++] = work;
}

static void append_all(work_list *to, const work_list *from) {
  for (size_t i = 0; i < from->count; i++)
    append(to, from->items[i]);
}

static void drop(eg_work *work) {
  if (--work->holders == 0) work->release(work);
}

static void clear(work_list *list) {
  for (size_t i = 0; i < list->count; i++)
    drop(list->items[i]);
  free(list->items);
  *list = (work_list){0};
}

static void release_plain(eg_work *work) { free(work); }

// ---- streams ----------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  (void)flags;
  *out = calloc(1, sizeof **out);
  return (*out)->device = current_device, cudaSuccess;
}

/// Fails when the stream captures: the call is none that a graph can hold.
static cudaError_t refuse_capture(cudaStream_t stream, const char *call) {
  if (stream->capture == NULL) return cudaSuccess;
  stream->illegal = call;
  return fail(cudaErrorStreamCaptureUnsupported, call);
}

cudaError_t eg_emulator_put(cudaStream_t stream, eg_work *work) {
  lock();
  append(stream->capture != NULL ? &stream->capture->works : &stream->works, work);
  stream->put += stream->capture == NULL;
  unlock();
  return cudaSuccess;
}

/// Does the work; what follows a failure is dropped.
static cudaError_t drain(cudaStream_t stream) {
  cudaError_t code = cudaSuccess;
  if (stream->illegal != NULL && stream->capture == NULL) {
    code = fail(cudaErrorStreamCaptureInvalidated, stream->illegal);
    stream->illegal = NULL;
  }
  lock();
  for (size_t i = 0; code == cudaSuccess && i < stream->works.count; i++)
    code = stream->works.items[i]->run(stream->works.items[i]);
  stream->done = stream->put;
  clear(&stream->works);
  unlock();
  return code;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  cudaError_t code = refuse_capture(stream, "a wait within a capture");
  return code == cudaSuccess ? drain(stream) : code;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cudaError_t code = drain(stream);
  free(stream);
  return code;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  (void)flags;
  return *out = calloc(1, sizeof **out), cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return free(event), cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  *event = (struct CUevent_st){.stream = stream, .behind = stream->put};
  return refuse_capture(stream, "an event within a capture");
}
// Who asks for the first time is told to ask again.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event->stream == NULL || event->stream->done >= event->behind) return cudaSuccess;
  cudaError_t code = drain(event->stream);
  return code == cudaSuccess ? fail(cudaErrorNotReady, "not ready") : code;
}

// ---- graphs -----------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  (void)mode;
  cudaError_t code = refuse_capture(stream, "a capture within a capture");
  if (code == cudaSuccess) stream->capture = calloc(1, sizeof *stream->capture);
  return code;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
  cudaGraph_t graph = stream->capture;
  stream->capture = NULL;
  *out = NULL;
  if (graph == NULL) return fail(cudaErrorIllegalState, "no capture");
  if (stream->illegal == NULL) return *out = graph, cudaSuccess;
  (void)cudaGraphDestroy(graph);
  return fail(cudaErrorStreamCaptureInvalidated, stream->illegal);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph,
                                 unsigned long long flags) {
  (void)flags;
  *out = calloc(1, sizeof **out);
  append_all(&(*out)->works, &graph->works);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (stream->device != current_device)
    return fail(cudaErrorInvalidResourceHandle, "a stream of another device");
  cudaError_t code = refuse_capture(stream, "a graph within a capture");
  if (code != cudaSuccess) return code;
  lock();
  append_all(&stream->works, &exec->works);
  stream->put += exec->works.count;
  unlock();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  clear(&graph->works);
  return free(graph), cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  clear(&exec->works);
  return free(exec), cudaSuccess;
}

// ---- kernels ----------------------------------------------------------------------

typedef struct kernel_work {
  eg_work base;
  eg_launch_request request;
} kernel_work;

static cudaError_t run_kernel(const eg_work *work) {
  if (eg_emulator_run(&((const kernel_work *)work)->request)) return cudaSuccess;
  return fail(cudaErrorLaunchFailure, eg_emulator_finding());
}

static void release_kernel(eg_work *work) {
  const eg_launch_request *request = &((kernel_work *)work)->request;
  request->release(request->closure);
  free(work);
}

cudaError_t eg_emulator_launch(const eg_launch_request *request, cudaStream_t stream) {
  const char *wrong = NULL;
  if (request->threads == 0 || request->threads > EG_MOST_THREADS)
    wrong = "threads of a block";
  if (request->blocks == 0 || request->blocks > INT32_MAX) wrong = "blocks of a grid";
  if (request->shared_bytes > EG_SHARED_BYTES) wrong = "shared memory";
  if (request->closure_bytes > 4096) wrong = "bytes of arguments";
  if (wrong != NULL || stream->device != current_device) {
    request->release(request->closure);
    return wrong != NULL
               ? fail(cudaErrorInvalidConfiguration, wrong)
               : fail(cudaErrorInvalidResourceHandle, "a stream of another device");
  }
  kernel_work *work = calloc(1, sizeof *work);
  work->base = (eg_work){.run = run_kernel, .release = release_kernel};
  work->request = *request;
  return eg_emulator_put(stream, &work->base);
}

// ---- memory -----------------------------------------------------------------------

// Fresh memory is filled with a pattern, so that what is not written shows.
cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
  size_t padded = (bytes + 2 * GAP + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  cudaError_t code = refuse_capture(stream, "an allocation within a capture");
  if (code != cudaSuccess) return code;
  char *all = aligned_alloc(ALIGNMENT, padded);
  if (all == NULL) return fail(cudaErrorMemoryAllocation, "out of memory");
  memset(all, 0xa5, padded < PATTERN_BYTES ? padded : PATTERN_BYTES);
  *out = all + GAP;
  lock();
  eg_emulator_add_memory(*out, bytes);
  unlock();
  return cudaSuccess;
}

typedef struct free_work {
  eg_work base;
  void *memory;
} free_work;

static cudaError_t run_free(const eg_work *work) {
  void *memory = ((const free_work *)work)->memory;
  if (!eg_emulator_has_memory(memory, 1))
    return fail(cudaErrorInvalidValue, "a second free of device memory");
  eg_emulator_remove_memory(memory);
  free((char *)memory - GAP);
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
  cudaError_t code = refuse_capture(stream, "a free within a capture");
  if (code != cudaSuccess) return code;
  free_work *work = calloc(1, sizeof *work);
  *work =
      (free_work){.base = {.run = run_free, .release = release_plain}, .memory = memory};
  return eg_emulator_put(stream, &work->base);
}

/// A copy of rows, or, without `from`, a filling.
typedef struct copy_work {
  eg_work base;
  char *to;
  const char *from;
  size_t to_step, from_step, bytes, rows;
  enum cudaMemcpyKind kind;
  int value;
} copy_work;

/// Whether the rows are in one piece of device memory.
static bool have_rows(const char *start, size_t step, const copy_work *c) {
  return eg_emulator_has_memory(start, step * (c->rows - 1) + c->bytes);
}

static cudaError_t run_copy(const eg_work *work) {
  const copy_work *c = (const copy_work *)work;
  bool is_to = c->kind != cudaMemcpyDeviceToHost;
  bool is_from = c->from != NULL && c->kind != cudaMemcpyHostToDevice;
  if ((is_to && !have_rows(c->to, c->to_step, c)) ||
      (is_from && !have_rows(c->from, c->from_step, c)))
    return fail(cudaErrorInvalidValue, "copy: " EG_BOUNDS_GLOBAL);
  for (size_t i = 0; i < c->rows; i++)
    if (c->from != NULL)
      memmove(c->to + i * c->to_step, c->from + i * c->from_step, c->bytes);
    else
      memset(c->to + i * c->to_step, c->value, c->bytes);
  return cudaSuccess;
}

static cudaError_t put_copy(const copy_work *request, cudaStream_t stream) {
  bool is_host = request->kind != cudaMemcpyDeviceToDevice;
  cudaError_t code =
      is_host ? refuse_capture(stream, "a copy of host memory within a capture")
              : cudaSuccess;
  if (code != cudaSuccess || request->rows == 0) return code;
  if (request->to_step < request->bytes && request->rows > 1)
    return fail(cudaErrorInvalidPitchValue, "rows overlap");
  copy_work *work = calloc(1, sizeof *work);
  *work = *request;
  work->base = (eg_work){.run = run_copy, .release = release_plain};
  return eg_emulator_put(stream, &work->base);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  return put_copy(&(copy_work){.to = memory,
                               .value = value,
                               .bytes = bytes,
                               .rows = 1,
                               .kind = cudaMemcpyDeviceToDevice},
                  stream);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_step, const void *from,
                              size_t from_step, size_t bytes, size_t rows,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  return put_copy(&(copy_work){.to = to,
                               .from = from,
                               .to_step = to_step,
                               .from_step = from_step,
                               .bytes = bytes,
                               .rows = rows,
                               .kind = kind},
                  stream);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
