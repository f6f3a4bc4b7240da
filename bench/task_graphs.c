// Measures the simulator of task graphs: the seconds of large graphs, and the tasks and
// seconds of a simulation after one change, compared with a simulation of the
// whole graph.
//
//   task_graphs [SEED]      default 1
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "sim/task_graph.h"

enum { DEVICES = 8, MOST_TASKS = 1 << 18 };

typedef struct builder {
  eg_task_graph *graph;
  eg_rng rng;
  uint32_t compute[DEVICES], communicate[DEVICES], links[64];
  uint32_t computes[MOST_TASKS]; // the tasks that are changed
  uint32_t compute_count;
} builder;

static void must(egraph_status status) {
  if (status == EGRAPH_OK) return;
  fprintf(stderr, "task_graphs: %s\n", egraph_last_error());
  exit(1);
}

static void start_graph(builder *b, uint64_t seed, uint32_t links) {
  *b = (builder){.rng = {.state = seed}};
  must(eg_task_graph_create(eg_allocator_heap(), &b->graph));
  for (uint32_t d = 0; d < DEVICES; d++) {
    must(eg_task_graph_add_stream(b->graph, &b->compute[d]));
    must(eg_task_graph_add_stream(b->graph, &b->communicate[d]));
  }
  for (uint32_t l = 0; l < links; l++)
    must(eg_task_graph_add_link(b->graph, 1, &b->links[l]));
}

/// Adds a compute task of about `seconds`; devices differ by up to a tenth.
static uint32_t compute(builder *b, uint32_t device, double seconds) {
  uint32_t task;
  seconds *= 0.9 + 0.2 * eg_rng_unit(&b->rng);
  must(eg_task_graph_add_compute(b->graph, seconds, &b->compute[device], 1, &task));
  b->computes[b->compute_count++] = task;
  return task;
}

static uint32_t all_reduce(builder *b, const uint32_t *after, double seconds) {
  uint32_t task;
  must(eg_task_graph_add_flow(b->graph, 0, seconds, b->links, 1, b->communicate, DEVICES,
                              &task));
  for (uint32_t d = 0; d < DEVICES; d++)
    must(eg_task_graph_depend(b->graph, task, after[d]));
  return task;
}

/// Builds a step of data-parallel training: gradients are reduced while
/// backward continues.
static void data_parallel(builder *b) {
  enum { LAYERS = 40 };
  uint32_t reduced[LAYERS], last[DEVICES];
  for (int l = 0; l < LAYERS; l++)
    for (uint32_t d = 0; d < DEVICES; d++)
      (void)compute(b, d, 1);
  for (int l = LAYERS; l-- > 0;) {
    for (uint32_t d = 0; d < DEVICES; d++)
      last[d] = compute(b, d, 2);
    reduced[l] = all_reduce(b, last, 1.5);
  }
  for (int l = LAYERS; l-- > 0;)
    for (uint32_t d = 0; d < DEVICES; d++)
      must(eg_task_graph_depend(b->graph, compute(b, d, 0.1), reduced[l]));
}

/// Builds operators on every device that each wait for a collective of all devices.
static void tensor_parallel(builder *b) {
  uint32_t last[DEVICES], task = 0;
  for (int l = 0; l < 111; l++) {
    for (uint32_t d = 0; d < DEVICES; d++) {
      last[d] = compute(b, d, 1);
      if (l != 0) must(eg_task_graph_depend(b->graph, last[d], task));
    }
    task = all_reduce(b, last, 0.5);
  }
}

/// Builds eight branches that meet after every 31 operators.
static void branches(builder *b) {
  uint32_t last[DEVICES];
  for (int l = 0; l < 124; l++) {
    for (uint32_t d = 0; d < DEVICES; d++)
      last[d] = compute(b, d, 1);
    if (l % 31 != 30) continue;
    uint32_t meet = all_reduce(b, last, 0.5);
    for (uint32_t d = 0; d < DEVICES; d++)
      must(eg_task_graph_depend(b->graph, compute(b, d, 0.1), meet));
  }
}

static double whole_seconds(builder *b, int rounds) {
  double least = 1e9;
  for (int i = 0; i < rounds; i++) {
    double from = eg_clock_thread_seconds();
    must(eg_task_graph_simulate_anew(b->graph));
    double took = eg_clock_thread_seconds() - from;
    if (took < least) least = took;
  }
  return least;
}

/// Builds two devices that send to each other over one link after every operator; their
/// flows share the link.
static void shared_link(builder *b) {
  uint32_t flow = 0;
  for (int l = 0; l < 72; l++)
    for (uint32_t d = 0; d < DEVICES; d++) {
      uint32_t task = compute(b, d, 1), after = flow;
      must(eg_task_graph_add_flow(b->graph, 0, 0.4, &b->links[d / 2], 1,
                                  &b->communicate[d], 1, &flow));
      must(eg_task_graph_depend(b->graph, flow, task));
      if (d % 2 == 1) must(eg_task_graph_depend(b->graph, compute(b, d, 0.1), after));
    }
}

/// Changes every operator in turn to half to one and a half times its seconds, and back;
/// simulates the graph after each change. Returns the seconds of one change.
static double change_seconds(builder *b, uint64_t seed,
                             egraph_status (*simulate)(eg_task_graph *),
                             double *out_looked_at) {
  eg_rng rng = {.state = seed};
  double looked_at = 0, from = eg_clock_thread_seconds();
  for (uint32_t i = 0; i < b->compute_count; i++) {
    eg_task_times times = eg_task_graph_times(b->graph, b->computes[i]);
    double is = times.end - times.start, changed = is * (0.5 + eg_rng_unit(&rng));
    for (int back = 0; back < 2; back++) {
      must(eg_task_graph_set_seconds(b->graph, b->computes[i], back ? is : changed));
      must(simulate(b->graph));
      looked_at += eg_task_graph_recomputed(b->graph);
    }
  }
  *out_looked_at = looked_at / (2.0 * b->compute_count);
  return (eg_clock_thread_seconds() - from) / (2.0 * b->compute_count);
}

/// Measures the same changes with simulations of the changed part and of the whole graph:
/// the least of several rounds.
static void measure_changes(const char *name, void (*build)(builder *), uint64_t seed) {
  static builder b;
  start_graph(&b, seed, DEVICES / 2);
  build(&b);
  must(eg_task_graph_simulate(b.graph));
  double tasks = eg_task_graph_task_count(b.graph), looked_at, all, followed = 1e9,
         whole = 1e9;
  for (int round = 0; round < 5; round++) {
    double one = change_seconds(&b, seed, eg_task_graph_simulate_anew, &all);
    if (one < whole) whole = one;
    one = change_seconds(&b, seed, eg_task_graph_simulate, &looked_at);
    if (one < followed) followed = one;
  }
  printf("%-16s %6.0f tasks; a change looks at %.3f of them, takes %.3f of the %.1f us "
         "of all\n",
         name, tasks, looked_at / all, followed / whole, whole * 1e6);
  eg_task_graph_destroy(b.graph);
}

/// Measures `tasks` tasks in layers over 64 streams, of which `flows` are flows over
/// three of `link_count` links.
static void measure_large(const char *name, uint32_t tasks, uint32_t flows,
                          uint32_t link_count, uint64_t seed) {
  static builder b;
  uint32_t streams[64], task;
  start_graph(&b, seed, link_count);
  for (int s = 0; s < 64; s++)
    must(eg_task_graph_add_stream(b.graph, &streams[s]));
  for (uint32_t t = 0; t < tasks; t++) {
    uint32_t stream = streams[eg_rng_below(&b.rng, 64)];
    if (eg_rng_below(&b.rng, tasks) < flows) {
      uint32_t first = (uint32_t)eg_rng_below(&b.rng, link_count),
               next = first + 1 + (uint32_t)eg_rng_below(&b.rng, link_count / 2 - 1),
               over[] = {b.links[first], b.links[next % link_count],
                         b.links[(next + link_count / 4) % link_count]};
      must(eg_task_graph_add_flow(b.graph, 0.01, eg_rng_unit(&b.rng), over, 3, &stream, 1,
                                  &task));
    } else {
      must(eg_task_graph_add_compute(b.graph, eg_rng_unit(&b.rng), &stream, 1, &task));
    }
    for (int i = 0; i < 2 && t >= 1000; i++)
      must(eg_task_graph_depend(b.graph, task,
                                t - 1 - (uint32_t)eg_rng_below(&b.rng, 1000)));
  }
  printf("%-16s %6u tasks, %u flows over %u shared links: %.3f s\n", name, tasks, flows,
         link_count, whole_seconds(&b, 3));
  eg_task_graph_destroy(b.graph);
}

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  measure_changes("data parallel", data_parallel, seed);
  measure_changes("tensor parallel", tensor_parallel, seed);
  measure_changes("branches", branches, seed);
  measure_changes("shared link", shared_link, seed);
  measure_large("computes", 100000, 0, 32, seed);
  measure_large("shared links", 100000, 20000, 32, seed);
  return 0;
}
