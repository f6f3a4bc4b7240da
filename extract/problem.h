// The extraction problem, for any source: an e-graph or a file.
//
// Choose nodes so that every root class has a chosen node, every child class of a chosen
// node has a chosen node, and the choice is acyclic; minimize the sum of the costs of the
// distinct chosen nodes (DAG cost). The caller expands memory formats (and later
// shardings): a class is then (value, layout), and a transition between layouts is an
// ordinary node.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PROBLEM_H
#define EG_EXTRACT_PROBLEM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/owner.h"
#include "base/vec.h"

#define EG_EXTRACT_NONE UINT32_MAX

/// Nodes in compressed rows: the children of node n are children[child_begin[n]
/// .. child_begin[n+1]).
typedef struct eg_extract_problem {
  uint32_t class_count;
  eg_u32s node_class;  // [nodes]
  eg_doubles cost;     // [nodes], finite
  eg_u32s child_begin; // [nodes + 1]
  eg_u32s children;
  eg_u32s roots; // classes
} eg_extract_problem;

egraph_status eg_extract_problem_init(eg_extract_problem *problem,
                                      egraph_allocator alloc);
void eg_extract_problem_deinit(eg_extract_problem *problem);
/// Leaves `class_count` classes without nodes, and no root; keeps the problem's memory.
void eg_extract_problem_clear(eg_extract_problem *problem, uint32_t class_count);
/// Adds a class and returns its number.
egraph_status eg_extract_problem_add_class(eg_extract_problem *problem, uint32_t *out);
egraph_status eg_extract_problem_add_node(eg_extract_problem *problem, uint32_t class,
                                          double cost, const uint32_t *children,
                                          uint32_t count, uint32_t *out_node);
egraph_status eg_extract_problem_add_root(eg_extract_problem *problem, uint32_t class);
static inline uint32_t eg_extract_node_count(const eg_extract_problem *problem) {
  return (uint32_t)problem->node_class.len;
}
bool eg_extract_has_negative_cost(const eg_extract_problem *problem);
/// Returns the sum of the magnitudes of the costs of a choice [class], to which the
/// rounding error of the cost of the choice is proportional.
double eg_extract_magnitude(const eg_extract_problem *problem, const uint32_t *choice);
/// Visits the children of a node; `item` is the loop variable.
#define EG_EACH_CHILD(problem, node, item)                                               \
  EG_EACH_OF_ROW_((problem)->child_begin.data, (problem)->children.data, node, item)
#define EG_EACH_OF_ROW_(begin, items, row, item)                                         \
  for (uint32_t item##_at = (begin)[row], item##_end = (begin)[(row) + 1], item = 0;     \
       item##_at < item##_end && (item = (items)[item##_at], true); item##_at++)

/// Checks a problem: fails with EGRAPH_E_ARGUMENT when an index is out of range, or a
/// cost or the sum of their magnitudes is not finite.
egraph_status eg_extract_problem_check(const eg_extract_problem *problem);

/// Rows of nodes: every solution contains at least one node of each row.
typedef struct eg_cuts {
  eg_u32s begin, nodes;
} eg_cuts;

egraph_status eg_cuts_init(eg_cuts *cuts, egraph_allocator alloc);
void eg_cuts_deinit(eg_cuts *cuts);
static inline void eg_cuts_clear(eg_cuts *cuts) {
  cuts->begin.len = 1;
  cuts->nodes.len = 0;
}
static inline uint32_t eg_cuts_count(const eg_cuts *cuts) {
  return (uint32_t)cuts->begin.len - 1;
}

// ---- options and result -----------------------------------------------------------

// Methods: id, spelling, meaning.
#define EG_EXTRACT_METHOD_LIST(X)                                                        \
  X(EG_EXTRACT_TREE, "tree", "bottom-up, tree cost (Knuth)")                             \
  X(EG_EXTRACT_DAG, "dag", "greedy on DAG cost")                                         \
  X(EG_EXTRACT_ILP, "ilp", "exact: presolve, bounds, GLPK, branch and bound")
#define EG_EXTRACT_METHOD_ENUM(id, name, text) id,
typedef enum eg_extract_method {
  EG_EXTRACT_METHOD_LIST(EG_EXTRACT_METHOD_ENUM)
} eg_extract_method;
#undef EG_EXTRACT_METHOD_ENUM

// Presolve passes: id, spelling, function eg_pass_<...>, stage, meaning. Stage 0 repeats
// until nothing changes, then stage 1 (which needs landmarks) runs, and stage 2 when
// stage 1 changes nothing either. Any subset gives the same optimum.
#define EG_EXTRACT_PASS_LIST(X)                                                          \
  X(EG_PASS_REACH, "reach", reach, 0, "drop what no root reaches or nothing derives")    \
  X(EG_PASS_DOMINATED, "dominated", dominated, 0,                                        \
    "drop dearer nodes with all the children of another")                                \
  X(EG_PASS_DETACH, "detach", detach, 0, "drop edges to roots of other components")      \
  X(EG_PASS_COLLAPSE, "collapse", collapse, 0,                                           \
    "replace free single-node classes by their children")                                \
  X(EG_PASS_MERGE, "merge", merge, 0, "multiply a class into its only user")             \
  X(EG_PASS_CYCLIC, "cyclic", cyclic, 1, "drop nodes that need their own class")         \
  X(EG_PASS_IMPLIED, "implied", implied, 1, "drop children that other children need")    \
  X(EG_PASS_COVERED, "covered", covered, 1, "domination by what the other node needs")   \
  X(EG_PASS_FORCED, "forced", forced, 1, "make roots of what the roots need")            \
  X(EG_PASS_BOUND, "bound", bound, 1, "drop nodes that reach the cutoff")                \
  X(EG_PASS_DUAL, "dual", dual, 2, "the same on reduced costs of dual ascent")
#define EG_EXTRACT_PASS_ENUM(id, name, run, stage, text) id,
typedef enum eg_extract_pass {
  EG_EXTRACT_PASS_LIST(EG_EXTRACT_PASS_ENUM) EG_PASS_COUNT
} eg_extract_pass;
#undef EG_EXTRACT_PASS_ENUM

typedef enum eg_extract_status {
  EG_EXTRACT_OPTIMAL,   // bound meets cost within 1e-9 of the chosen nodes' |cost|
  EG_EXTRACT_FEASIBLE,  // a solution and a bound, not closed (limit or cancelled)
  EG_EXTRACT_INFEASIBLE // some root has no acyclic derivation
} eg_extract_status;

typedef struct eg_extract_options {
  eg_extract_method method;
  double time_limit_seconds; // > 0
  // Million steps (base/work.h), about a millisecond each; 0: 400 for each second of the
  // time limit
  uint64_t work_limit;
  double relative_gap;       // gap at which to stop; 0: prove optimality
  uint64_t seed;             // seed of the perturbed greedy runs
  const uint32_t *incumbent; // node per class (EG_EXTRACT_NONE: none), or NULL
  /// Called with the best cost and bound; returns true to stop. May be NULL. With several
  /// threads any thread may call it, one at a time.
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;
  const char *certificate;  // file to write a certificate to, or NULL
  uint32_t threads;         // 0 means 1. The result is the same with any number of
                            // threads, unless a limit strikes
  uint32_t disabled_passes; // bit 1 << eg_extract_pass switches a presolve pass off
  bool without_frontier;    // no walks over states (search/frontier.h)
} eg_extract_options;
#define EG_EXTRACT_OPTIONS_DEFAULT                                                       \
  { .method = EG_EXTRACT_ILP, .time_limit_seconds = 20.0, .relative_gap = 0.0 }

typedef struct eg_extract_result {
  eg_extract_status status;
  double cost;                // DAG cost of the choice, re-computed by the checker
  double bound;               // valid lower bound; for the greedy methods the trivial one
  double gap;                 // (cost - bound) / |cost|; 0 when optimal
  double tree_cost, dag_cost; // costs of the choices of the two greedy methods
  double seconds;
  uint64_t work;                           // steps
  double part_seconds[EGRAPH_PART_COUNT];  // CPU, all threads together
  uint32_t reduced_nodes, reduced_classes; // after presolve
  double certified; // the bound that the certificate proves; -INFINITY: none was written
  eg_u32s choice;   // [classes] node, or EG_EXTRACT_NONE: not needed
} eg_extract_result;
EG_OWNER_DEFINE_STATIC_FROM(eg_extract_result,
                            (.status = EG_EXTRACT_INFEASIBLE, .cost = INFINITY,
                             .bound = -INFINITY, .gap = INFINITY, .tree_cost = INFINITY,
                             .dag_cost = INFINITY, .certified = -INFINITY),
                            (eg_u32s, choice))

/// Checks independently that a choice covers the roots and is closed and acyclic, and
/// recomputes its DAG cost. Shares no code with the solver. Fails with EGRAPH_E_INTERNAL.
egraph_status eg_extract_certify(egraph_allocator alloc,
                                 const eg_extract_problem *problem,
                                 const uint32_t *choice, double *out_cost);

// ---- files --------------------------------------------------------------------------
// Extraction problems from egraph-serialize JSON (base/egraph_json.h), the format of
// extraction-gym. An absent cost is 1.

/// Names of classes and nodes in the file, by their numbers in the problem.
typedef struct eg_gym_names {
  eg_chars text;           // names, each with its NUL
  eg_sizes class_, node;   // places in `text` where the names begin
  uint32_t roots_left_out; // roots of the file whose class has no node
} eg_gym_names;
EG_OWNER_DEFINE_STATIC(eg_gym_names, (eg_chars, text), (eg_sizes, class_, node))

static inline const char *eg_gym_class_name(const eg_gym_names *names, uint32_t class) {
  return names->text.data + names->class_.data[class];
}
static inline const char *eg_gym_node_name(const eg_gym_names *names, uint32_t node) {
  return names->text.data + names->node.data[node];
}

/// Reads a file, plain or gzip, into an initialized, empty problem; classes and nodes are
/// numbered in the order of the file. A root whose class has no node is left out.
/// `names`, initialized and empty, may be NULL. Fails with EGRAPH_E_IO, or with
/// EGRAPH_E_PARSE naming file, line and node (missing child, no known root, cost that is
/// not a finite number, duplicate node); problem and names then need only their deinit.
/// One pass; takes the memory of the problem and of two copies of the names. At most 16
/// GiB of text.
egraph_status eg_gym_json_read(const char *path, eg_extract_problem *problem,
                               eg_gym_names *names);
/// As eg_gym_json_read, from memory; `path` names the text in messages.
egraph_status eg_gym_json_parse(const char *path, const char *text, size_t size,
                                eg_extract_problem *problem, eg_gym_names *names);

#endif
