// Simulates a step of a pipeline: its schedule becomes a task graph (sim/task_graph.h). A
// stage is a stream, which runs passes in the order of the schedule, and then its update.
// A message from part to part is a flow: first a latency without bandwidth, then bytes
// through the port out of its stage and the port into the next one. It occupies no stage:
// a stage computes while its messages are on their way.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_PIPELINE_H
#define EG_SIM_PIPELINE_H

#include "sim/pipeline/schedule.h"

typedef struct eg_pipeline_message {
  double latency_seconds, bytes;
} eg_pipeline_message;

typedef struct eg_pipeline {
  const eg_pipeline_schedule *schedule;
  // [parts of the model = stages * chunks], in the order in which a micro-batch
  // passes them
  const double *forward, *backward; // seconds of a micro-batch
  const double *update;             // [stages] seconds, once per step; NULL: none
  // [parts of the model - 1]: messages from part i to part i + 1, and back; NULL: none.
  // Two chunks of one stage send nothing to each other.
  const eg_pipeline_message *activations, *gradients;
  // Bytes per second, each way, of all messages of a stage; read if there are messages.
  double port_bytes;
} eg_pipeline;

typedef struct eg_pipeline_times {
  double seconds; // seconds of the step
  double busiest; // seconds of the stage that computes most
} eg_pipeline_times;

/// Simulates a step whose schedule passes eg_pipeline_schedule_check. Fails with
/// EGRAPH_E_ARGUMENT for figures out of range. O(passes log passes) without messages.
egraph_status eg_pipeline_simulate(const eg_pipeline *pipeline, egraph_allocator alloc,
                                   eg_pipeline_times *out);

#endif
