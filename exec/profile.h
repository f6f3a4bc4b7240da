// Measures single nodes on a back-end, for the cost model (sim/cost.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PROFILE_H
#define EG_EXEC_PROFILE_H

#include "base/evidence.h"
#include "pcg/graph/node_spec.h"

typedef struct eg_profiler eg_profiler;

typedef struct eg_profiler_options {
  const char *backend;
  uint32_t threads;
  uint32_t warmup,
      repeats; // least numbers of runs; runs go on until min_seconds are spent
  double min_seconds, max_seconds; // per node
} eg_profiler_options;
#define EG_PROFILER_OPTIONS_DEFAULT                                                      \
  {                                                                                      \
    .backend = "cpu", .threads = 1, .warmup = 1, .repeats = 5, .min_seconds = 0.002,     \
    .max_seconds = 0.5                                                                   \
  }

egraph_status eg_profiler_create(const egraph_allocator *alloc,
                                 const eg_profiler_options *options, eg_profiler **out);
void eg_profiler_destroy(eg_profiler *profiler);
/// Measures the median seconds of one execution of the node exactly as the executor runs
/// it (packed weights, mostly cold data). *out_supported is false when the back-end
/// cannot run the node in these formats; a node without another kernel runs on its
/// reference kernel. *out_evidence stays unchanged for a node that is not timed (a view).
/// Has the signature of eg_measurer.measure, with self = profiler.
egraph_status eg_profiler_measure(void *profiler, const eg_node_spec *spec,
                                  double *out_seconds, bool *out_supported,
                                  eg_evidence *out_evidence);
/// Appends the fingerprint of this machine and setting: CPU model, instruction set,
/// back-end and its version, threads.
egraph_status eg_profiler_machine(const eg_profiler *profiler, eg_text *out);
/// Returns the memory formats worth considering on this machine (bit per eg_format).
uint32_t eg_profiler_formats(const eg_profiler *profiler);
/// True when nodes run on a device with memory of its own: *out_bytes, 0 where unknown.
bool eg_profiler_is_device(const eg_profiler *profiler, size_t *out_bytes);

#endif
