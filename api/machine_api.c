// The public function that measures this host as a machine.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/convert.h"
#include "api/require.h"
#include "exec/channel_probe.h"
#include "exec/profile.h"
#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"

/// A node that is bound by what it computes, by memory, by neither.
static const char *const WORKS[] = {
    "(egraph-graph 1)(input a \"float32[512,512]\")(input b \"float32[512,512]\")"
    "(let y (matmul a b))(output y)",
    "(egraph-graph 1)(input a \"float32[16777216]\")(input b \"float32[16777216]\")"
    "(let y (add a b))(output y)",
    "(egraph-graph 1)(input a \"float32[16]\")(let y (relu a))(output y)"};
enum { COMPUTE, MOVE, SMALL, WORK_COUNT };
enum { MAX_PROBED_RANKS = 256 };

typedef struct worked {
  double seconds, flops, bytes;
} worked;

static egraph_status time_node(eg_profiler *profiler, const eg_graph *graph,
                               worked *out) {
  const eg_plan plan = {.graph = graph}; // for the spec of a node
  const eg_plan_step first = {.node = {0}};
  eg_arena arena;
  eg_node_spec spec;
  bool supported = true;
  eg_evidence evidence;
  eg_arena_init(&arena, eg_graph_allocator(graph));
  egraph_status status = eg_plan_spec(&plan, &first, &arena, &spec);
  if (status == EGRAPH_OK)
    status = eg_profiler_measure(profiler, &spec, &out->seconds, &supported, &evidence);
  if (status == EGRAPH_OK) {
    out->flops = eg_node_spec_flops(&spec);
    out->bytes = eg_node_spec_bytes(&spec);
  }
  eg_arena_deinit(&arena);
  return status;
}

static egraph_status time_work(egraph_allocator alloc, eg_profiler *profiler, int work,
                               worked *out) {
  eg_graph *graph;
  EG_TRY(eg_graph_parse(&alloc, "work", WORKS[work], strlen(WORKS[work]), &graph));
  egraph_status status = time_node(profiler, graph, out);
  eg_graph_destroy(graph);
  return status;
}

static egraph_status probe_processor(egraph_allocator alloc, eg_host_figures *out) {
  const eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  eg_profiler *profiler;
  worked works[WORK_COUNT];
  EG_TRY(eg_profiler_create(&alloc, &options, &profiler));
  egraph_status status = EGRAPH_OK;
  for (int w = 0; status == EGRAPH_OK && w < WORK_COUNT; w++)
    status = time_work(alloc, profiler, w, &works[w]);
  eg_profiler_destroy(profiler);
  EG_TRY(status);
  out->peak_flops = works[COMPUTE].flops / works[COMPUTE].seconds;
  out->bandwidth_bytes = works[MOVE].bytes / works[MOVE].seconds;
  out->overhead_seconds = works[SMALL].seconds;
  return EGRAPH_OK;
}

static egraph_status probe_links(egraph_allocator alloc, uint32_t ranks,
                                 eg_host_figures *out) {
  eg_link_figures link;
  if (ranks < 2) return EGRAPH_OK; // nobody to talk to: as assumed
  EG_TRY(eg_local_probe(&alloc, ranks, &link));
  out->latency_seconds = link.latency_seconds;
  if (link.seconds_per_byte > 0) out->link_bytes = 1 / link.seconds_per_byte;
  return EGRAPH_OK;
}

egraph_status egraph_machine_probe(const egraph_allocator *alloc, uint32_t ranks,
                                   char **out) {
  EG_REQUIRE(out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_host_figures figures = eg_host_figures_assumed;
  if (ranks == 0 || ranks > MAX_PROBED_RANKS)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%u ranks cannot be measured; take 1 to %d",
                   (unsigned)ranks, MAX_PROBED_RANKS);
  EG_TRY(probe_processor(heap, &figures));
  EG_TRY(probe_links(heap, ranks, &figures));
  eg_text text;
  eg_text_init(&text, heap);
  egraph_status status = eg_machine_host_print(&text, ranks, &figures);
  if (status == EGRAPH_OK) status = eg_text_take(&text, out);
  eg_text_deinit(&text);
  return status;
}
