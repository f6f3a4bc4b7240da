// The pipeline behind egraph_optimize for one device:
//
//   graph -> e-graph -> saturate -> (class, format) problem
//         -> costs, measured where missing -> extract -> graph -> fold weights
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_OPTIMIZER_H
#define EG_OPTIMIZE_SINGLE_OPTIMIZER_H

#include "base/owner.h"
#include "extract/search/extract.h"
#include "optimize/single/single_emit.h"
#include "rewrites/saturation/saturate.h"

typedef struct eg_optimizer_input {
  const eg_graph *graph;
  const eg_rules *rules;
  eg_cost_model *costs;
  const eg_measurer *measurer; // NULL: missing costs are estimated
  bool (*measure_progress)(void *user, uint32_t done, uint32_t total); // may be NULL
  void *measure_user;
  uint32_t formats; // bit mask of eg_format worth considering
  const egraph_search *search;
  eg_kernel_types *kernels; // for option loadable; NULL: every node has a kernel
  bool (*progress)(void *user, const char *phase, const char *line); // may be NULL
  void *user;
} eg_optimizer_input;

typedef struct eg_optimization {
  egraph_allocator alloc;
  egraph_report report;
  eg_saturation_report saturation;
  eg_graph *graph;
  eg_emission emission; // origins; its graph was taken
  char **rule_names;    // [saturation.rule_count]
  eg_text explanation;  // of the graph if it was requested; otherwise ""
} eg_optimization;

/// Checks limits and options of a search against egraph_search.def and the known names.
/// Fails with EGRAPH_E_ARGUMENT.
egraph_status eg_search_check(const egraph_search *search);
/// Returns the options of saturation in a checked search, without limits of time and
/// work; `growth`: the default node limit for each node at the start.
eg_saturation_options eg_search_saturation(const egraph_search *search, uint32_t growth);
/// Runs the pipeline; *out is destroyed with eg_optimization_destroy. A limit ends a
/// phase and is reported; cancelling returns the best result so far. Fails with
/// EGRAPH_E_ARGUMENT (an option), EGRAPH_E_TYPE (an unsound rule), EGRAPH_E_MEMORY, or as
/// the measurer does.
egraph_status eg_optimizer_run(egraph_allocator alloc, const eg_optimizer_input *input,
                               eg_optimization **out);
void eg_optimization_destroy(eg_optimization *result); // NULL is allowed
EG_HOLDER_DEFINE(eg_optimization)

#endif
