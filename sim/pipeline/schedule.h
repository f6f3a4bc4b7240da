// Schedules of a pipeline: the order in which each stage runs the forward and backward
// passes of all micro-batches. The rules do not depend on seconds.
//
// A model is cut into stages * chunks parts; part c * stages + s is chunk c of stage s,
// so that with several chunks a micro-batch goes round all stages several times. A stage
// runs some forward passes ahead, then a forward and a backward pass in turn, then the
// remaining backward passes:
//
//   gpipe         ahead: all (GPipe, NeurIPS'19)
//   1f1b          ahead: one for each stage behind (PipeDream-Flush, DAPPLE, Megatron-LM)
//   interleaved   ahead: two for each stage behind, and one for each stage and chunk but
//                 the last one; all where there are as many micro-batches as stages
//                 (Megatron-LM, SC'21, section 2.2, and its schedules.py)
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_SCHEDULE_H
#define EG_SIM_SCHEDULE_H

#include <stdbool.h>

#include "base/vec.h"

// Schedules of a pipeline: id, spelling. The head of the file defines them.
#define EG_SCHEDULE_LIST(X)                                                              \
  X(EG_SCHEDULE_GPIPE, "gpipe")                                                          \
  X(EG_SCHEDULE_1F1B, "1f1b")                                                            \
  X(EG_SCHEDULE_INTERLEAVED, "interleaved")
#define EG_SCHEDULE_ENUM(id, name) id,
typedef enum eg_pipeline_schedule_kind {
  EG_SCHEDULE_LIST(EG_SCHEDULE_ENUM) EG_SCHEDULES
} eg_pipeline_schedule_kind;
#undef EG_SCHEDULE_ENUM
const char *eg_pipeline_schedule_name(eg_pipeline_schedule_kind kind);

/// The most forward and backward passes of all stages together.
enum { EG_SCHEDULE_MOST_PASSES = 1 << 26 };

typedef struct eg_pipeline_schedule_pass {
  bool is_backward;
  uint32_t chunk, micro_batch;
} eg_pipeline_schedule_pass;
EG_VEC_DEFINE(eg_pipeline_schedule_passes, eg_pipeline_schedule_pass);

typedef struct eg_pipeline_schedule {
  uint32_t stages, chunks, micro_batches;
  eg_pipeline_schedule_passes passes; // by stage, each in its order
} eg_pipeline_schedule;

void eg_pipeline_schedule_init(eg_pipeline_schedule *schedule, egraph_allocator alloc);
void eg_pipeline_schedule_deinit(eg_pipeline_schedule *schedule);
/// Fills an initialized schedule. Fails with EGRAPH_E_ARGUMENT where a number is 0, there
/// are too many passes, a schedule other than interleaved has several chunks, or the
/// micro-batches of an interleaved schedule are no multiple of its stages. O(passes).
egraph_status eg_pipeline_schedule_make(eg_pipeline_schedule_kind kind, uint32_t stages,
                                        uint32_t chunks, uint32_t micro_batches,
                                        eg_pipeline_schedule *out);
static inline uint32_t
eg_pipeline_schedule_passes_of_stage(const eg_pipeline_schedule *schedule) {
  return 2 * schedule->chunks * schedule->micro_batches;
}
/// Checks that each stage runs every pass once, and that no stage waits forever for a
/// message of another stage. Sets out_peaks[stages] to the most forward passes (of one
/// chunk each) that wait for their backward pass at one time. Fails with
/// EGRAPH_E_INTERNAL, naming the pass. O(passes * stages).
egraph_status eg_pipeline_schedule_check(const eg_pipeline_schedule *schedule,
                                         egraph_allocator alloc, uint32_t *out_peaks);

#endif
