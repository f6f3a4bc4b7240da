// Task graphs in a line: tasks with a blank between them, numbered from 0.
//
//   3@0        a compute of 3 s on stream 0; without @ on none, @0,2 on two
//   4/0,1@1    a flow of 4 bytes over links 0 and 1; 0.5+4/0: with a latency of 0.5 s
//   3@0<1,2    after tasks 1 and 2, which may stand further on
//
// Links are a list of bandwidths. Streams are made up to the largest that is named.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_TASK_NOTATION_H
#define EG_TESTS_TASK_NOTATION_H

#include <stdlib.h>

#include "sim/task_graph.h"
#include "tests/testing.h"

static inline size_t read_list(const char **at, uint32_t *out) {
  size_t count = 0;
  do {
    char *end;
    (*at)++;
    out[count++] = (uint32_t)strtoul(*at, &end, 10);
    *at = end;
  } while (**at == ',');
  return count;
}

static inline eg_task_graph *task_graph_of(const char *links, const char *text) {
  eg_task_graph *graph;
  uint32_t number, streams = 0, task = 0, after[512], edges = 0, to[512];
  assert_ok(eg_task_graph_create(eg_allocator_heap(), &graph));
  for (char *end; *links != '\0'; links = end) {
    assert_ok(eg_task_graph_add_link(graph, strtod(links, &end), &number));
    while (*end == ' ')
      end++;
  }
  for (const char *at = text; *at != '\0'; task++) {
    uint32_t flow_links[16], on[16], before[16];
    size_t link_count = 0, stream_count = 0, before_count = 0;
    char *end;
    double seconds = strtod(at, &end), bytes = 0;
    bool is_flow = *end == '+' || *end == '/';
    if (*end == '+') {
      bytes = strtod(end + 1, &end);
    } else if (*end == '/') {
      bytes = seconds;
      seconds = 0;
    }
    at = end;
    if (*at == '/') link_count = read_list(&at, flow_links);
    if (*at == '@') stream_count = read_list(&at, on);
    if (*at == '<') before_count = read_list(&at, before);
    for (size_t i = 0; i < stream_count; i++)
      for (; streams <= on[i]; streams++)
        assert_ok(eg_task_graph_add_stream(graph, &number));
    if (is_flow)
      assert_ok(eg_task_graph_add_flow(graph, seconds, bytes, flow_links, link_count, on,
                                       stream_count, &number));
    else
      assert_ok(eg_task_graph_add_compute(graph, seconds, on, stream_count, &number));
    for (size_t i = 0; i < before_count; i++, edges++)
      to[edges] = task, after[edges] = before[i];
    while (*at == ' ')
      at++;
  }
  for (uint32_t e = 0; e < edges; e++)
    assert_ok(eg_task_graph_depend(graph, to[e], after[e]));
  return graph;
}

#endif
