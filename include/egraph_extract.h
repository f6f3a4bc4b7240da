// The public API, part: extraction from any e-graph, and sharding. Conventions as in
// egraph.h, which includes this.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_EXTRACT_H
#define EGRAPH_EXTRACT_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- extraction from any e-graph --------------------------------------------------

/// An e-graph that was read from a file, and the last choice extracted from it.
typedef struct egraph_extraction egraph_extraction;

/// Reads an e-graph in the JSON of egraph-serialize (the format of extraction-gym), plain
/// or gzip. Roots whose class contains no node are omitted, and counted in the report.
/// Fails with IO, or with PARSE, naming file and node, or the root when no root remains.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_extraction_load(
    const egraph_allocator *alloc, const char *path, egraph_extraction **out);
/// Frees the extraction; NULL is allowed.
EGRAPH_API void egraph_extraction_destroy(egraph_extraction *extraction);

/// Options of an extraction.
typedef struct egraph_extract_options {
  size_t size;           // size of this struct; its _default function sets it
  const char *extractor; // NULL: "ilp" (exact); or "dag", "tree" (greedy)
  double time_limit;     // seconds; 0: 20
  /// Millions of deterministic steps after which the search ends, each about a
  /// millisecond of a core; the parts of the search share them. 0: 400 for each second of
  /// the time limit, about the speed of an idle machine. Unless the time limit strikes
  /// first, results do not depend on the load of the machine.
  uint64_t work_limit;
  double relative_gap; // stop at (cost - bound) / |cost|; 0: prove the optimum
  uint64_t seed;
  /// Presolve passes by name: "reach,merge" runs only these, "-merge,-dual" all but
  /// these. NULL: all. See egraph_extract_pass.
  const char *passes;
  uint32_t threads; // 0 means 1. The result is the same with any number of threads,
                    // unless a limit strikes
  /// Called now and then with the best cost so far (INFINITY: none) and a lower bound;
  /// returns true to stop with the best choice so far. With several threads, any thread
  /// may call it, but only one at a time.
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;
  /// A file to write a certificate to, or NULL: the choice and a proof of a lower bound,
  /// which the program check_certificate verifies against the e-graph's file. The proof
  /// takes up to another time limit. See egraph_extract_report.certified. An existing
  /// file is removed before the search.
  const char *certificate;
} egraph_extract_options;
/// Defines egraph_extract_options_default.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_EXTRACT_OPTIONS, egraph_extract_options)
/// Chooses a node for every class that the roots need, without cycles, so that the sum of
/// their costs is least. Reaching a limit is no error. `options` may be NULL: the
/// defaults. Costs may have any sign; with negative costs the proof takes much longer.
/// Fails with ARGUMENT for an unknown extractor or pass or a limit out of range, MEMORY,
/// INTERNAL.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_extraction_run(
    egraph_extraction *extraction, const egraph_extract_options *options);

// id, name, description of the part.
#define EGRAPH_EXTRACT_PART_LIST(X)                                                      \
  X(EGRAPH_PART_GREEDY, "greedy", "greedy extraction and local search")                  \
  X(EGRAPH_PART_PRESOLVE, "presolve", "presolve but for the next two")                   \
  X(EGRAPH_PART_LANDMARKS, "landmarks", "what every derivation of a class needs")        \
  X(EGRAPH_PART_ASCENT, "ascent", "bounds by dual ascent")                               \
  X(EGRAPH_PART_FRONTIER, "frontier", "walks over states of a frontier")                 \
  X(EGRAPH_PART_LP, "lp", "linear programs")                                             \
  X(EGRAPH_PART_SEPARATION, "separation", "cuts for the linear programs")                \
  X(EGRAPH_PART_WINDOWS, "windows", "windows of large problems, with all they take")     \
  X(EGRAPH_PART_SEARCH, "search", "branching and everything else")
#define EGRAPH_PART_ENUM(id, name, text) id,
/// Parts of the CPU time: EGRAPH_EXTRACT_PART_LIST.
typedef enum egraph_extract_part {
  EGRAPH_EXTRACT_PART_LIST(EGRAPH_PART_ENUM) EGRAPH_PART_COUNT
} egraph_extract_part;
#undef EGRAPH_PART_ENUM

/// The result of an extraction, and its effort.
typedef struct egraph_extract_report {
  const char *status; // "optimal", "feasible", "infeasible"; "none" before the first run
  double cost;        // cost of the choice; INFINITY when there is no choice
  double bound, gap;  // proven lower bound; (cost - bound) / |cost|
  double tree_cost, dag_cost; // costs of the greedy extractors; INFINITY: not run
  double seconds;
  double part_seconds[EGRAPH_PART_COUNT];  // CPU time of the parts, all threads together
  uint32_t nodes, classes;                 // counts of the file
  uint32_t reduced_nodes, reduced_classes; // after presolve; 0 unless exact
  /// The lower bound that the certificate proves: `bound` minus a relative 2e-9 for
  /// rounding (exactly `bound` when costs are integers), or less when the proof would be
  /// too long. -INFINITY: no certificate was written.
  double certified;
  uint64_t work;           // millions of steps
  uint32_t roots_left_out; // roots of the file whose class contains no node
} egraph_extract_report;
/// Returns the result of the last egraph_extraction_run.
EGRAPH_API egraph_extract_report
egraph_extraction_report(const egraph_extraction *extraction);

/// The choice of one class, by the names of the file; borrowed from the extraction.
typedef struct egraph_extract_choice {
  const char *class_name, *node_name;
} egraph_extract_choice;
/// Returns the number of classes with a choice: the classes that the roots need.
EGRAPH_API uint32_t egraph_extraction_choice_count(const egraph_extraction *extraction);
/// Returns the index-th choice, in the order of the file. index
/// < egraph_extraction_choice_count.
EGRAPH_API egraph_extract_choice
egraph_extraction_choice(const egraph_extraction *extraction, uint32_t index);

/// Writes the problem after presolve as a mixed-integer program in CPLEX LP format; the
/// optimum of the program is the optimum of the e-graph. An earlier egraph_extraction_run
/// makes the program smaller. Fails with IO, and as egraph_extraction_run.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_extraction_save_lp(egraph_extraction *extraction,
                          const egraph_extract_options *options, const char *path);

/// The name and meaning of a presolve pass.
typedef struct egraph_extract_pass_info {
  const char *name, *text;
} egraph_extract_pass_info;
/// Returns the index-th presolve pass; both texts are NULL past the last.
EGRAPH_API egraph_extract_pass_info egraph_extract_pass(uint32_t index);

/// Nodes and classes that one presolve pass removes in all its runs (negative: it adds).
typedef struct egraph_extract_pass_report {
  uint32_t runs;
  double seconds;
  int64_t nodes, classes, edges;
} egraph_extract_pass_report;
/// Runs the presolve passes one by one on a copy, with the cutoff that the last run
/// found, and reports each pass in the order of egraph_extract_pass. Fails with ARGUMENT
/// for negative costs, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_extraction_try_passes(
    egraph_extraction *extraction, const egraph_extract_options *options,
    void (*report)(void *user, uint32_t pass, const egraph_extract_pass_report *detail),
    void *user);

// ---- sharding -------------------------------------------------------------------

/// Intra-operator sharding, the problem of the IOPDDL contest (ASPLOS/EuroSys 2025):
/// every node takes one of its strategies; nodes and pairs of nodes have costs; the
/// memory in use must stay within a limit at all times. All numbers are exact integers.
typedef struct egraph_shard egraph_shard;

/// A cost of at least this value is forbidden.
#define EGRAPH_SHARD_INFINITE INT64_C(1000000000000000000)

/// Creates an empty problem without a memory limit.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_shard_create(const egraph_allocator *alloc, egraph_shard **out);
/// Frees the problem; NULL is allowed.
EGRAPH_API void egraph_shard_destroy(egraph_shard *shard);
/// Reads a file of the contest, JSON or gzipped JSON. Fails with IO, or PARSE naming the
/// file, the error and its position.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_load(const egraph_allocator *alloc,
                                                            const char *path,
                                                            egraph_shard **out);
/// Adds a node that is alive in [first, last) (an empty interval: it takes no memory),
/// with the cost and the memory of each of its strategies. out_node may be NULL. Fails
/// with ARGUMENT when there is no strategy or a number is negative.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_add_node(
    egraph_shard *shard, int64_t first, int64_t last, const int64_t *cost,
    const int64_t *usage, uint32_t count, uint32_t *out_node);
/// Adds a table of costs between two different nodes: a row per strategy of `a`, a column
/// per strategy of `b`. Several tables of the same two nodes add up. Fails with ARGUMENT
/// for an unknown node or a negative cost.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_add_edge(egraph_shard *shard,
                                                                uint32_t a, uint32_t b,
                                                                const int64_t *table);
/// Sets the limit of memory; INT64_MAX: none. Fails with ARGUMENT for a negative limit.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_set_limit(egraph_shard *shard,
                                                                 int64_t limit);

/// The size of a sharding problem.
typedef struct egraph_shard_info {
  uint32_t nodes, edges, strategies;
  size_t entries; // number of entries of all tables
  int64_t limit;  // INT64_MAX: none
} egraph_shard_info;
/// Returns the size of a problem.
EGRAPH_API egraph_shard_info egraph_shard_info_of(const egraph_shard *shard);

/// Computes cost and peak memory of a choice (choice[node] counts from 0), also when the
/// choice exceeds the limit; the cost is EGRAPH_SHARD_INFINITE when it includes a
/// forbidden cost. `count` is the number of nodes. Fails with ARGUMENT for an
/// invalid choice.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_evaluate(const egraph_shard *shard,
                                                                const uint32_t *choice,
                                                                uint32_t count,
                                                                int64_t *out_cost,
                                                                int64_t *out_peak);

/// Options of solving a sharding problem.
typedef struct egraph_shard_options {
  size_t size;         // size of this struct; its _default function sets it
  double time_limit;   // seconds; 0: none
  uint64_t work_limit; // millions of steps, about a millisecond each; 0: none, or 60,000
                       // when there is no time limit either. The same work gives the
                       // same result, whatever the load of the machine
  uint64_t seed;
  const char *certificate;   // file to write a proof of cost and bound to, which the
                             // program check_certificate verifies; an existing file is
                             // removed before the search. NULL: none
  const uint32_t *incumbent; // [nodes] a choice to start from (ignored when it is invalid
                             // or does not fit), or NULL
  /// Called now and then with the best cost (EGRAPH_SHARD_INFINITE: none yet) and the
  /// proven bound; returns true to stop with the best choice so far. May be NULL.
  bool (*progress)(void *user, int64_t cost, int64_t bound, double seconds);
  void *user;
} egraph_shard_options;
/// Defines egraph_shard_options_default.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_SHARD_OPTIONS, egraph_shard_options)

/// A choice of strategies, one for each node.
typedef struct egraph_shard_plan egraph_shard_plan;

/// The cost of a choice, and the effort of finding it.
typedef struct egraph_shard_report {
  const char *status; // "optimal" (proven), "feasible", "infeasible" (proven), or
                      // "unknown": nothing found and nothing proven within the limits
  int64_t cost;       // recomputed independently; EGRAPH_SHARD_INFINITE: no choice
  int64_t bound;      // proven lower bound
  int64_t peak, limit;
  double gap;                   // (cost - bound) / cost
  double seconds, best_seconds; // total; until the best choice was found
  uint64_t work;                // millions of steps
  int64_t checked; // the part of the bound that the certificate proves; 0: no
                   // certificate
} egraph_shard_report;

/// Finds the cheapest choice within the memory limit. `options` may be NULL: the
/// defaults. Limits and cancelling are no errors. Fails with ARGUMENT (an invalid time
/// limit, usages that add up beyond 2^62), MEMORY, IO (certificate), INTERNAL when two
/// proofs contradict each other.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_shard_solve(const egraph_allocator *alloc, const egraph_shard *shard,
                   const egraph_shard_options *options, egraph_shard_plan **out);
/// Frees the choice; NULL is allowed.
EGRAPH_API void egraph_shard_plan_destroy(egraph_shard_plan *plan);
EGRAPH_API const egraph_shard_report *
egraph_shard_plan_report(const egraph_shard_plan *plan);
/// Returns the choice, a strategy per node, borrowed; NULL when there is no choice, or
/// no node.
EGRAPH_API const uint32_t *egraph_shard_plan_choice(const egraph_shard_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
