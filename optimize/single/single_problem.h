// Builds a plain extraction problem from the space of one device (space/plan_space.h, on
// a mesh without axes).
//
//   value of the space           classes of the problem
//   v7: conv(v1, w)      ->     (v7,plain) (v7,nhwc) (v7,16c)
//                                ^----reorder----^ ...
//
// The problem has a node for each strategy and for each reorder between layouts of a
// value. Without ties, memory, phases and moves between devices the plain extractor is
// exact and fastest, and may make a value twice, in two formats. Values of weights alone
// cost nothing in a run and have no class.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_SINGLE_PROBLEM_H
#define EG_OPTIMIZE_SINGLE_SINGLE_PROBLEM_H

#include "extract/problem.h"
#include "include/egraph.h"
#include "optimize/space/plan_space.h"
#include "pcg/graph/graph.h"
#include "sim/cost.h"

/// The cost of a strategy or of a reorder, with its source and measurement.
typedef struct eg_price {
  double seconds;
  eg_cost_source source;
  bool is_guess;  // estimated without any measurement, or no back-end runs it
  uint32_t entry; // its measurement (sim/cost.h), or EG_COST_NO_ENTRY
} eg_price;
EG_VEC_DEFINE(eg_prices, eg_price);

/// The meaning of a node of the extraction problem: a strategy or a reorder.
typedef struct eg_single_node {
  uint32_t op;     // operator of the space; EG_SPACE_NONE: a reorder
  uint32_t choice; // strategy of the space; a reorder: its move
  uint32_t basis;  // its price
} eg_single_node;
EG_VEC_DEFINE(eg_single_nodes, eg_single_node);

typedef struct eg_single_problem {
  egraph_allocator alloc;
  eg_plan_space space;
  eg_extract_problem problem;
  eg_prices prices;      // by basis; 0: free
  eg_single_nodes nodes; // [problem nodes]
  eg_u32s value;         // [problem classes] of the space
  eg_u32s first_class; // [space values] the class of its first layout, or EG_EXTRACT_NONE
  eg_u32s first_reorder; // [space values] the node of its first reorder
  eg_u32s node_of;       // [space strategies] node, or EG_EXTRACT_NONE
} eg_single_problem;

/// The e-graph and the costs from which an extraction problem is built.
typedef struct eg_single_source {
  eg_tensor_egraph *egraph;
  eg_cost_model *costs;
  uint32_t formats; // memory formats besides plain, a bit per eg_format
} eg_single_source;

/// Asks the cost model to note every cost of the problem (eg_cost_request).
egraph_status eg_single_problem_request(egraph_allocator alloc,
                                        const eg_single_source *source);
/// Asks the cost model to measure the nodes again whose measurement is marked (the
/// smaller cost stays). `again`: [entries of the cost model].
egraph_status eg_single_problem_request_again(egraph_allocator alloc,
                                              const eg_single_source *source,
                                              const bool *again);
/// Builds the problem with the current costs.
egraph_status eg_single_problem_init(eg_single_problem *single, egraph_allocator alloc,
                                     const eg_single_source *source);
void eg_single_problem_deinit(eg_single_problem *single);
/// Updates the prices from new measurements.
void eg_single_problem_reprice(eg_single_problem *single, const eg_cost_model *costs);

static inline const eg_price *eg_single_price(const eg_single_problem *single,
                                              uint32_t node) {
  return &single->prices.data[single->nodes.data[node].basis];
}
/// Returns a space value's extraction class in a memory format; EG_EXTRACT_NONE: none.
uint32_t eg_single_class(const eg_single_problem *single, uint32_t value,
                         unsigned format);
/// Returns the memory format of a class of the extraction problem.
eg_format eg_single_format(const eg_single_problem *single, uint32_t class);

/// Fills the choice that represents the e-graph's own graph: [problem classes] node, or
/// EG_EXTRACT_NONE. *out_as_given: true in the graph's own formats; false: all row-major,
/// because the problem lacks one of these formats.
egraph_status eg_single_original(const eg_single_problem *single, uint32_t *out_choice,
                                 bool *out_as_given);

// Counts costs by their source: measured, estimated, guessed, given, or without a price.

/// Counts a cost by its source (measured, ...); costs that are free are not counted.
void eg_cost_basis_count(egraph_cost_basis *inout, eg_cost_source source, bool is_guess);
/// True when some operator has a price.
bool eg_cost_basis_has_prices(const egraph_cost_basis *basis);

/// Counts the operators of a graph in the report by the source of their cost, with the
/// time estimated from bytes alone, and the parts that this estimate leaves out.
egraph_status eg_cost_basis_report(const eg_graph *graph, egraph_allocator alloc,
                                   eg_cost_model *costs, egraph_report *inout);

#endif
