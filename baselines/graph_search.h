// The common part of searches over whole graphs: the distinct graphs found, with their
// costs; the rewrites of a graph; limits and figures. An algorithm only chooses the next
// graph.
//
// A search compares graphs by eg_term_prices_graph. The product's own extractor then
// chooses the memory formats of the final graph exactly.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_GRAPH_SEARCH_H
#define EG_BASELINES_GRAPH_SEARCH_H

#include "base/flatmap.h"
#include "baselines/graph_rewrites.h"
#include "baselines/term_prices.h"
#include "optimize/single/optimizer.h"

// Reasons why a search over graphs ended: id, spelling, words printed after "search".
#define EG_GRAPH_STOP_LIST(X)                                                            \
  X(EG_GRAPH_STOP_NONE, "", "is under way")                                              \
  X(EG_GRAPH_STOP_EXHAUSTED, "exhausted", "ended: no graph is left in the queue")        \
  X(EG_GRAPH_STOP_NO_GAIN, "no-gain", "ended: no single rewrite lowers the cost")        \
  X(EG_GRAPH_STOP_GRAPH_LIMIT, "graph-limit", "stopped at its graph limit")              \
  X(EG_GRAPH_STOP_TIME_LIMIT, "time-limit", "stopped at its time limit")                 \
  X(EG_GRAPH_STOP_WORK_LIMIT, "work-limit", "stopped at its work limit")                 \
  X(EG_GRAPH_STOP_BYTE_LIMIT, "byte-limit", "stopped at its byte limit")                 \
  X(EG_GRAPH_STOP_CANCELLED, "cancelled", "was cancelled")
#define EG_GRAPH_STOP_ENUM(id, name, words) id,
typedef enum eg_graph_stop { EG_GRAPH_STOP_LIST(EG_GRAPH_STOP_ENUM) } eg_graph_stop;
#undef EG_GRAPH_STOP_ENUM

typedef struct eg_found_graph {
  double seconds;
  size_t roots; // index of its first root in eg_graph_search.roots
} eg_found_graph;
EG_VEC_DEFINE(eg_found_graphs, eg_found_graph);

typedef struct eg_graph_search {
  egraph_allocator alloc;
  const eg_optimizer_input *input;
  egraph_math math;
  eg_term_store store;
  eg_term_prices prices;
  eg_graph_rewrites rewrites;
  uint32_t root_count, operator_limit, weight_operator_limit;
  eg_found_graphs graphs; // 0: the given one
  eg_u32s roots;
  eg_flatmap map; // hash of the roots -> graph
  uint32_t best;
  uint64_t visited; // graphs whose rewrites were visited
  uint64_t queued;  // graphs that were kept to be visited, including the given graph
  double start, deadline, last_look;
  eg_graph_stop stop;
} eg_graph_search;

/// True when `a` is cheaper than `b` by more than rounding.
static inline bool eg_graph_cheaper(double a, double b) { return a < b * (1 - 1e-9); }

/// Adds a graph to the known graphs. *out_new: false when it was known.
egraph_status eg_graph_search_keep(eg_graph_search *search, const uint32_t *roots,
                                   double seconds, uint32_t *out, bool *out_new);
/// Visits a graph: calls `found` with each graph that a rewrite makes from it, and with
/// the cost, until a limit is reached. Skips graphs with more than twice the operators of
/// the given graph (as TASO's code does), or with more than 16 operators on weights for
/// each operator of the given graph, so that there are finitely many graphs. Visits
/// nothing once the limit of graphs is reached.
egraph_status eg_graph_search_visit(eg_graph_search *search, uint32_t graph,
                                    egraph_status (*found)(void *user,
                                                           const uint32_t *roots,
                                                           double seconds),
                                    void *user);
static inline bool eg_graph_search_is_over(const eg_graph_search *search) {
  return search->stop != EG_GRAPH_STOP_NONE;
}
static inline void eg_graph_search_end(eg_graph_search *search, eg_graph_stop why) {
  if (search->stop == EG_GRAPH_STOP_NONE) search->stop = why;
}

/// Runs a search from the given graph; sets `best`, and the reason why it ended.
typedef egraph_status eg_graph_algorithm(eg_graph_search *search);
// The rows of include/egraph_algorithms.def that find graphs (backtracking.c).
eg_graph_algorithm eg_backtracking_search, eg_greedy_search;

/// Runs a search and converts its result to a result of the product's own search: the
/// best graph in memory formats, with weights folded, never dearer than the given graph
/// in memory formats. Fails as eg_optimizer_run.
egraph_status eg_graph_search_run(const char *name, eg_graph_algorithm *algorithm,
                                  egraph_allocator alloc, const eg_optimizer_input *input,
                                  eg_optimization **out);

#endif
