// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/pipeline.h"

#include <math.h>

#include "base/owner.h"
#include "sim/task_graph.h"

typedef struct builder {
  const eg_pipeline *of;
  uint32_t stages, parts, micro_batches;
  eg_task_graph *graph;
  eg_u32s task;    // [2][parts][micro-batches] tasks of passes: forward, backward
  eg_u32s port;    // [2][stages] links: out, in
  eg_doubles busy; // [stages]
} builder;

#define OWNED (eg_u32s, task, port), (eg_doubles, busy)

static void builder_init(builder *b, egraph_allocator alloc) {
  *b = (builder){.graph = NULL};
  EG_INIT_MEMBERS(b, alloc, OWNED)
}

static void builder_deinit(builder *b) {
  eg_task_graph_destroy(b->graph);
  EG_DEINIT_MEMBERS(b, OWNED)
}

static uint32_t *task_of(const builder *b, bool is_backward, uint32_t part, uint32_t m) {
  size_t pass = (is_backward ? b->parts : 0) + part;
  return &b->task.data[pass * b->micro_batches + m];
}

static egraph_status add_passes(builder *b, uint32_t stage) {
  const eg_pipeline_schedule *schedule = b->of->schedule;
  uint32_t stream, count = eg_pipeline_schedule_passes_of_stage(schedule);
  EG_TRY(eg_task_graph_add_stream(b->graph, &stream));
  for (uint32_t i = 0; i < count; i++) {
    const eg_pipeline_schedule_pass *pass =
        &schedule->passes.data[(size_t)stage * count + i];
    uint32_t part = pass->chunk * b->stages + stage;
    double seconds = pass->is_backward ? b->of->backward[part] : b->of->forward[part];
    EG_TRY(eg_task_graph_add_compute(
        b->graph, seconds, &stream, 1,
        task_of(b, pass->is_backward, part, pass->micro_batch)));
    b->busy.data[stage] += seconds;
  }
  if (b->of->update == NULL) return EGRAPH_OK;
  uint32_t update;
  b->busy.data[stage] += b->of->update[stage];
  return eg_task_graph_add_compute(b->graph, b->of->update[stage], &stream, 1, &update);
}

/// Makes task `to` wait for the results that task `from` sends to the next model part.
static egraph_status connect(builder *b, const eg_pipeline_message *message,
                             uint32_t from_part, uint32_t from, uint32_t to_part,
                             uint32_t to) {
  uint32_t sender = from_part % b->stages, receiver = to_part % b->stages, flow;
  bool is_sent = message != NULL && sender != receiver;
  if (!is_sent) return eg_task_graph_depend(b->graph, to, from);
  const uint32_t links[] = {b->port.data[sender], b->port.data[b->stages + receiver]};
  EG_TRY(eg_task_graph_add_flow(b->graph, message->latency_seconds, message->bytes, links,
                                2, NULL, 0, &flow));
  EG_TRY(eg_task_graph_depend(b->graph, flow, from));
  return eg_task_graph_depend(b->graph, to, flow);
}

static egraph_status connect_parts(builder *b, uint32_t part) {
  const eg_pipeline_message *there = b->of->activations, *back = b->of->gradients;
  for (uint32_t m = 0; m < b->micro_batches; m++) {
    EG_TRY(connect(b, there != NULL ? &there[part] : NULL, part,
                   *task_of(b, false, part, m), part + 1,
                   *task_of(b, false, part + 1, m)));
    EG_TRY(connect(b, back != NULL ? &back[part] : NULL, part + 1,
                   *task_of(b, true, part + 1, m), part, *task_of(b, true, part, m)));
  }
  return EGRAPH_OK;
}

egraph_status eg_pipeline_simulate(const eg_pipeline *pipeline, egraph_allocator alloc,
                                   eg_pipeline_times *out) {
  const eg_pipeline_schedule *schedule = pipeline->schedule;
  EG_LOCAL(builder, b, alloc);
  b.of = pipeline;
  b.stages = schedule->stages;
  b.parts = schedule->stages * schedule->chunks;
  b.micro_batches = schedule->micro_batches;
  assert(b.parts != 0 && b.micro_batches != 0);
  EG_TRY(eg_task_graph_create(alloc, &b.graph));
  EG_TRY(eg_u32s_resize(&b.task, (size_t)2 * b.parts * b.micro_batches));
  EG_TRY(eg_u32s_resize(&b.port, (size_t)2 * b.stages));
  EG_TRY(eg_doubles_resize(&b.busy, b.stages));
  for (uint32_t s = 0; s < b.stages; s++)
    EG_TRY(add_passes(&b, s));
  bool has_messages = pipeline->activations != NULL || pipeline->gradients != NULL;
  for (uint32_t i = 0; has_messages && i < 2 * b.stages; i++)
    EG_TRY(eg_task_graph_add_link(b.graph, pipeline->port_bytes, &b.port.data[i]));
  for (uint32_t part = 0; part + 1 < b.parts; part++)
    EG_TRY(connect_parts(&b, part));
  for (uint32_t m = 0; m < b.micro_batches; m++)
    EG_TRY(eg_task_graph_depend(b.graph, *task_of(&b, true, b.parts - 1, m),
                                *task_of(&b, false, b.parts - 1, m)));
  EG_TRY(eg_task_graph_simulate(b.graph));
  *out = (eg_pipeline_times){.seconds = eg_task_graph_makespan(b.graph)};
  for (uint32_t s = 0; s < b.stages; s++)
    out->busiest = fmax(out->busiest, b.busy.data[s]);
  return EGRAPH_OK;
}
