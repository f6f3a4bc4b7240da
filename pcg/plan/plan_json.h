// Reads and writes plan files: one JSON document.
//
//   {"egraph-plan": 1, "mesh": "gpu=4", "micro_batches": 1,
//    "graph": ["(egraph-graph 1)", ...],               lines of the text form of graphs
//    "states": [{"value": "x", "layout": "S0"}, ...],
//    "steps": [
//     {"phase": "forward", "node": "h", "actions": {"gpu": "split 0"},
//      "operands": [0, 1], "results": [2], "seconds": 1e-06, "basis": "guessed"},
//     {"phase": "forward", "move": "all-gather", "axis": "gpu", "from": 2, "to": 3,
//      "bytes": 4096.0, "seconds": 2e-06}, ...],
//    "outputs": [3], "carried": [{"output": 0, "entry": "w"}]}
//
// States are numbered in their order, outputs in the order of the graph. A node is named
// by its first result. A state that no step makes is there from the start. An axis
// without an action replicates; "bytes" may be left out, otherwise they must be right. A
// state of a folded graph that represents several blocks has "more_blocks", one less. A
// layout names its memory format where that is not plain: "S0,R:nhwc". Data of weights
// beyond 64 elements is not in the file. May be left out: "basis" of the seconds of an
// operator or reorder; "baselines" (pcg/plan/plan_rivals.h) of a plan that was compared
// with others; "single_device_seconds", "peak_seconds"; "memory_limit_bytes" of a device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_JSON_H
#define EG_PCG_PLAN_JSON_H

#include "pcg/plan/plan.h"

typedef struct eg_loaded_plan {
  eg_graph *graph; // owned; the plan borrows it
  eg_plan plan;
} eg_loaded_plan;

/// Appends a plan file's text; reading it and writing it again gives the same text. The
/// plan passes eg_plan_check. Fails with EGRAPH_E_ARGUMENT for names that are not UTF-8
/// and nodes without results.
egraph_status eg_plan_write_json(const eg_plan *plan, eg_text *out);
/// Reads a plan file's text; `file` is only for messages. The plan passes eg_plan_check.
/// Fails with EGRAPH_E_PARSE ("file:line:col: fault; at $.steps[3].phase"), or as
/// eg_graph_parse fails. There is nothing to free after a failure. (plan_json_read.c)
egraph_status eg_plan_parse_json(egraph_allocator alloc, const char *file,
                                 const char *text, size_t size, eg_loaded_plan *out);
/// Reads a plan from a file, plain or gzip, of at most 1 GiB of text.
egraph_status eg_plan_read_json(egraph_allocator alloc, const char *path,
                                eg_loaded_plan *out);
void eg_loaded_plan_deinit(eg_loaded_plan *loaded);

#endif
