// Measures one row of a comparison: builds a model, plans it by a search in its own
// process, and simulates the plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_COMPARE_MEASURE_H
#define EG_TOOLS_BENCH_COMPARE_MEASURE_H

#include "tools/bench/compare/searches.h"
#include "tools/bench/compare/table.h"
#include "tools/bench/zoo/zoo.h"

/// The input of one measured row: model, machine, search and limits.
typedef struct compare_case {
  zoo_case model;
  const char *machine; // "dgx-h100*4"; "": one device, whose costs are estimated
  bool is_bfloat16;
  const search_entry *search;
  bool has_rules;
  uint64_t groups;     // as in egraph_search
  uint64_t work_limit; // millions of steps
  uint64_t seed;
  double patience; // seconds after which the process is ended; 0: none
} compare_case;

/// Counts the devices of a machine. Fails as egraph_optimize does for an invalid machine.
egraph_status machine_devices(const char *machine, uint32_t *out);

/// Runs a search and fills the results of a row, whose other cells are set. False: the
/// user wants to stop, and the row has no result.
bool measure_row(const compare_case *c, compare_row *row);

#endif
