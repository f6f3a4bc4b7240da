// Outline: the node is compiled exactly as the executor does, with operands that die
// there, and set up (profile_rig.h). It runs until both the repeats and the time are
// enough; the median counts.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "exec/profile.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/quantile.h"
#include "exec/profile_rig.h"
#include "exec/views.h"

// Runs shorter than this are timed in batches, so that reading the clock does not count.
static const double batch_seconds = 20e-6;

struct eg_profiler {
  egraph_allocator alloc;
  eg_backend *backend;
  eg_profiler_options options;
  eg_device_memory rotation; // lent to one rig after the other
};

egraph_status eg_profiler_create(const egraph_allocator *alloc,
                                 const eg_profiler_options *options, eg_profiler **out) {
  egraph_allocator own = eg_allocator_or_heap(alloc);
  eg_profiler *profiler;
  EG_TRY(eg_alloc(own, 1, sizeof *profiler, &profiler));
  profiler->alloc = own;
  profiler->options = *options;
  egraph_status status = eg_backend_create(
      &own, options->backend, &(eg_backend_options){.threads = options->threads},
      &profiler->backend);
  if (status != EGRAPH_OK) {
    eg_profiler_destroy(profiler);
    return status;
  }
  profiler->options.backend = profiler->backend->vtable->name;
  *out = profiler;
  return EGRAPH_OK;
}

void eg_profiler_destroy(eg_profiler *profiler) {
  if (profiler == NULL) return;
  if (profiler->backend != NULL)
    eg_device_memory_destroy(profiler->backend, &profiler->rotation);
  eg_backend_destroy(profiler->backend);
  eg_free(profiler->alloc, profiler, 1, sizeof *profiler);
}

egraph_status eg_profiler_machine(const eg_profiler *profiler, eg_text *out) {
  return profiler->backend->vtable->describe(profiler->backend, out);
}

uint32_t eg_profiler_formats(const eg_profiler *profiler) {
  return profiler->backend->vtable->formats(profiler->backend);
}

// ---- measuring ------------------------------------------------------------------

// With one thread, time taken away by other processes is not the node's: the smaller of
// both clocks counts.
typedef struct stopwatch {
  double wall, cpu;
} stopwatch;

static stopwatch start_watch(void) {
  return (stopwatch){.wall = eg_clock_seconds(), .cpu = eg_clock_cpu_seconds()};
}

static double read_watch(const eg_backend *backend, stopwatch start) {
  double cpu = eg_clock_cpu_seconds() - start.cpu;
  double wall = eg_clock_seconds() - start.wall;
  bool is_single = backend->threads == 1 && backend->vtable->host_memory;
  return is_single ? fmin(wall, cpu) : wall;
}

static egraph_status run_batch(eg_rig *rig, uint32_t batch, double *out_seconds) {
  eg_backend *backend = rig->backend;
  EG_TRY(eg_rig_restore(rig));
  stopwatch start = start_watch();
  for (uint32_t i = 0; i < batch; i++)
    EG_TRY(eg_rig_run(rig));
  if (backend->vtable->wait != NULL) EG_TRY(backend->vtable->wait(backend));
  *out_seconds = read_watch(backend, start) / batch;
  return EGRAPH_OK;
}

static uint32_t batch_for(const eg_rig *rig, double seconds) {
  if (rig->original != NULL || seconds >= batch_seconds) return 1;
  double batch = batch_seconds / fmax(seconds, 1e-7);
  return batch < 2 ? 1 : (uint32_t)batch;
}

// `samples` never stays empty.
static egraph_status sample(eg_rig *rig, const eg_profiler_options *options,
                            eg_doubles *samples) {
  double total = 0, seconds = 0, spent = 0;
  uint32_t batch = 1;
  for (uint32_t i = 0; i < options->warmup; i++) {
    EG_TRY(run_batch(rig, 1, &seconds));
    total += seconds;
    if (total > options->max_seconds) return eg_doubles_push(samples, seconds);
    batch = batch_for(rig, seconds);
  }
  do {
    EG_TRY(run_batch(rig, batch, &seconds));
    EG_TRY(eg_doubles_push(samples, seconds));
    spent += seconds * batch;
    if (total + spent > options->max_seconds) break;
  } while (samples->len < options->repeats || spent < options->min_seconds);
  return EGRAPH_OK;
}

/// Tasks that run on this machine but ours, per core; 0 where the system does not tell.
static double load_of_others(const eg_profiler *profiler) {
  FILE *file = fopen("/proc/loadavg", "r");
  unsigned running = 0;
  if (file == NULL) return 0;
  int found = fscanf(file, "%*s %*s %*s %u", &running);
  (void)fclose(file);
  double others = found == 1 ? (double)running - profiler->options.threads : 0;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return others > 0 && cores > 0 ? others / (double)cores : 0;
}

static egraph_status measure_rig(const eg_profiler *profiler, eg_rig *rig,
                                 double *out_seconds, eg_evidence *out_evidence) {
  eg_doubles samples;
  eg_doubles_init(&samples, profiler->alloc);
  double load = load_of_others(profiler);
  egraph_status status = sample(rig, &profiler->options, &samples);
  load = (load + load_of_others(profiler)) / 2;
  if (status == EGRAPH_OK) {
    double *data = samples.data;
    size_t count = samples.len;
    *out_seconds = eg_median(data, count);
    *out_evidence = (eg_evidence){
        .samples = (uint32_t)count,
        .spread = (eg_quantile(data, count, 0.75) - eg_quantile(data, count, 0.25)) / 2,
        .load = load,
        .date = (int64_t)time(NULL)};
  }
  eg_doubles_deinit(&samples);
  return status;
}

static egraph_status measure_on_rig(eg_profiler *profiler, const eg_node_spec *spec,
                                    eg_program *program, double *out_seconds,
                                    eg_evidence *out_evidence) {
  eg_rig rig;
  egraph_status status =
      eg_rig_init(&rig, profiler->backend, &profiler->rotation, spec, program);
  if (status == EGRAPH_OK)
    status = measure_rig(profiler, &rig, out_seconds, out_evidence);
  eg_rig_deinit(&rig);
  return status;
}

static bool is_plain(const eg_node_spec *spec) {
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].layout.format != EG_FORMAT_PLAIN) return false;
  for (uint32_t i = 0; i < spec->result_count; i++)
    if (spec->results[i].layout.format != EG_FORMAT_PLAIN) return false;
  return true;
}

static egraph_status measure_program(eg_profiler *profiler, const eg_node_spec *spec,
                                     eg_program *program, double *out_seconds,
                                     bool *out_supported, eg_evidence *out_evidence) {
  // A format is only worth naming where the device has a kernel for it.
  if (!program->info.native && !is_plain(spec)) {
    *out_supported = false;
    return EGRAPH_OK;
  }
  double seconds = 0;
  EG_TRY(eg_backend_begin(profiler->backend));
  egraph_status status = measure_on_rig(profiler, spec, program, &seconds, out_evidence);
  egraph_status end = eg_backend_end(profiler->backend);
  EG_TRY(status);
  EG_TRY(end);
  *out_seconds = seconds;
  *out_supported = true;
  return EGRAPH_OK;
}

egraph_status eg_profiler_measure(void *self, const eg_node_spec *spec,
                                  double *out_seconds, bool *out_supported,
                                  eg_evidence *out_evidence) {
  eg_profiler *profiler = self;
  if (eg_node_is_view(spec) || eg_concat_is_region(spec)) {
    *out_seconds = 0;
    *out_supported = true;
    return EGRAPH_OK;
  }
  eg_program *program = NULL;
  eg_compile_request request = {.spec = spec, .dying = ~spec->weight_mask};
  egraph_status status =
      profiler->backend->vtable->compile(profiler->backend, &request, &program);
  if (status == EGRAPH_E_UNSUPPORTED) {
    *out_supported = false;
    return EGRAPH_OK;
  }
  EG_TRY(status);
  status =
      measure_program(profiler, spec, program, out_seconds, out_supported, out_evidence);
  eg_program_destroy(program);
  return status;
}
