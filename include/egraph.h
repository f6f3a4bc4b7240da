// egraph: optimizes deep-learning graphs by equality saturation.
//
// This is the whole public API. Conventions:
// - Fallible functions return egraph_status; egraph_last_error() describes the last
//   failure of the calling thread and is meaningful only right after it. Outputs are
//   untouched on failure.
// - A returned pointer is borrowed from the object it came from. `T **out` of a create,
//   load or run function is owned by the caller: destroy it (NULL is allowed). `const T
//   *` arguments are not kept unless said otherwise.
// - Objects are thread-compatible: different objects may be used from different threads.
// - Times are in seconds, sizes in bytes, shapes in elements, row-major, ONNX operator
//   semantics.
// - The library never prints, exits, reads the environment, or keeps mutable globals.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_H
#define EGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EGRAPH_API __attribute__((visibility("default")))
#define EGRAPH_NODISCARD __attribute__((warn_unused_result))
#else
#define EGRAPH_API
#define EGRAPH_NODISCARD
#endif

#define EGRAPH_VERSION_MAJOR 0
#define EGRAPH_VERSION_MINOR 1
#define EGRAPH_VERSION_PATCH 0

// ---- status ---------------------------------------------------------------------

// id, name. Use: ARGUMENT for misuse of a call; PARSE for malformed files and text; TYPE
// for shapes, dtypes and attributes that do not fit an operator; IO for the file system;
// MEMORY when an allocation fails; UNSUPPORTED for valid input beyond this build; BUSY
// when another process holds a database; CANCELLED when a callback asked to stop before
// there was a result; INTERNAL for a failing library underneath.
#define EGRAPH_STATUS_LIST(X)                                                            \
  X(EGRAPH_OK, "ok")                                                                     \
  X(EGRAPH_E_ARGUMENT, "invalid argument")                                               \
  X(EGRAPH_E_PARSE, "malformed input")                                                   \
  X(EGRAPH_E_TYPE, "type error")                                                         \
  X(EGRAPH_E_IO, "input/output error")                                                   \
  X(EGRAPH_E_MEMORY, "out of memory")                                                    \
  X(EGRAPH_E_UNSUPPORTED, "unsupported")                                                 \
  X(EGRAPH_E_BUSY, "busy")                                                               \
  X(EGRAPH_E_CANCELLED, "cancelled")                                                     \
  X(EGRAPH_E_INTERNAL, "internal error")

#define EGRAPH_STATUS_ENUM(id, name) id,
typedef enum egraph_status { EGRAPH_STATUS_LIST(EGRAPH_STATUS_ENUM) } egraph_status_code;
#undef EGRAPH_STATUS_ENUM
typedef egraph_status_code egraph_status;

/// "out of memory" and so on; never NULL.
EGRAPH_API const char *egraph_status_name(egraph_status status);
/// Message of the last failure of this thread: what is wrong, where, and
/// what to do about it.
EGRAPH_API const char *egraph_last_error(void);
/// "0.1.0".
EGRAPH_API const char *egraph_version(void);

// ---- memory ---------------------------------------------------------------------

/// One function does it all. new_size 0 frees (and returns NULL); pointer NULL allocates;
/// otherwise the block of old_size bytes is moved. Returning NULL for a new_size > 0
/// means out of memory; the old block then stays valid. Passing NULL for an allocator
/// means the C heap. Where options ask for several threads, it is called from all of them
/// at once and must allow that, as the C heap does.
typedef struct egraph_allocator {
  void *self;
  void *(*resize)(void *self, void *pointer, size_t old_size, size_t new_size);
} egraph_allocator;

// ---- tensors --------------------------------------------------------------------

// id, spelling, bytes per element, ONNX TensorProto.DataType. float16 and bfloat16 are
// storage types: arithmetic happens in float32.
#define EGRAPH_DTYPE_LIST(X)                                                             \
  X(EGRAPH_FLOAT32, "float32", 4, 1)                                                     \
  X(EGRAPH_FLOAT64, "float64", 8, 11)                                                    \
  X(EGRAPH_FLOAT16, "float16", 2, 10)                                                    \
  X(EGRAPH_BFLOAT16, "bfloat16", 2, 16)                                                  \
  X(EGRAPH_INT8, "int8", 1, 3)                                                           \
  X(EGRAPH_INT16, "int16", 2, 5)                                                         \
  X(EGRAPH_INT32, "int32", 4, 6)                                                         \
  X(EGRAPH_INT64, "int64", 8, 7)                                                         \
  X(EGRAPH_UINT8, "uint8", 1, 2)                                                         \
  X(EGRAPH_UINT16, "uint16", 2, 4)                                                       \
  X(EGRAPH_UINT32, "uint32", 4, 12)                                                      \
  X(EGRAPH_UINT64, "uint64", 8, 13)                                                      \
  X(EGRAPH_BOOL, "bool", 1, 9)

#define EGRAPH_DTYPE_ENUM(id, name, bytes, onnx) id,
typedef enum egraph_dtype {
  EGRAPH_DTYPE_LIST(EGRAPH_DTYPE_ENUM) EGRAPH_DTYPE_COUNT
} egraph_dtype;
#undef EGRAPH_DTYPE_ENUM

/// Largest rank of a tensor.
enum { EGRAPH_MAX_RANK = 12 };

/// Type and place of a tensor of the caller. `data` is row-major.
typedef struct egraph_tensor {
  egraph_dtype dtype;
  uint32_t rank;
  int64_t dims[EGRAPH_MAX_RANK];
  void *data;
} egraph_tensor;

/// "float32" and so on.
EGRAPH_API const char *egraph_dtype_name(egraph_dtype dtype);
/// Bytes of a row-major tensor; 0 when a dimension is negative or the product overflows.
EGRAPH_API size_t egraph_tensor_bytes(const egraph_tensor *tensor);

// ---- graphs ---------------------------------------------------------------------

typedef struct eg_graph egraph_graph;
/// A value (tensor) of a graph.
typedef struct egraph_value {
  uint32_t id;
} egraph_value;

/// An empty graph; add inputs, weights, operators and outputs, in any topological order.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_graph_create(const egraph_allocator *alloc, egraph_graph **out);
EGRAPH_API void egraph_graph_destroy(egraph_graph *graph);

/// Reads a model: ONNX, or the text form when the name ends in ".egraph". `batch` fixes
/// symbolic dimensions (0: a symbolic dimension is an error). Operators outside the table
/// become opaque nodes. Fails with IO, PARSE ("model.onnx: node 'conv1': ..."), TYPE.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_load(const egraph_allocator *alloc,
                                                            const char *path,
                                                            int64_t batch,
                                                            egraph_graph **out);
/// Writes ONNX, or the text form when the name ends in ".egraph" (weights of more than 64
/// elements are then declared without their data). The file appears whole or not at all;
/// data beyond the limit of 2 GB goes to "<path>.data" beside it.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_save(const egraph_graph *graph,
                                                            const char *path);

/// Declares an input. Names are unique within a graph.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_graph_add_input(egraph_graph *graph, const char *name, egraph_dtype dtype,
                       uint32_t rank, const int64_t *dims, egraph_value *out);
/// Declares a weight; `data` (row-major) is copied. NULL: absent, drawn by name from a
/// seed where one is needed.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_add_weight(
    egraph_graph *graph, const char *name, egraph_dtype dtype, uint32_t rank,
    const int64_t *dims, const void *data, egraph_value *out);
/// Adds an operator of the table (egraph_operators_text): op is its spelling,
/// attributes as in rule files: ":strides [2 2] :pads [1 1 1 1]" (NULL: defaults).
/// `name` may be NULL. out_results has room for the operator's results. Fails with
/// ARGUMENT for an unknown operator or value, TYPE when operands do not fit, PARSE when
/// the attributes are malformed.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_add(
    egraph_graph *graph, const char *name, const char *op, const char *attributes,
    const egraph_value *inputs, uint32_t count, egraph_value *out_results);
/// Makes a value the next output, under a name unique among the outputs (NULL: the
/// value's own). Fails with ARGUMENT for an unknown value or a name that is taken.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_add_output(egraph_graph *graph,
                                                                  const char *name,
                                                                  egraph_value value);

typedef struct egraph_graph_info {
  uint32_t nodes, opaque_nodes, inputs, outputs, weights;
  uint32_t absent_weights; // declared without data
  double flops;            // of one run, weight-only nodes excluded
  size_t weight_bytes;     // absent weights included
} egraph_graph_info;
/// Counts of a graph. O(its size).
EGRAPH_API egraph_graph_info egraph_graph_info_of(const egraph_graph *graph);
/// The index-th input or output: its name (borrowed) and its type (data is NULL). Fails
/// with ARGUMENT past the end, UNSUPPORTED for an output whose type is unknown (of an
/// opaque operator).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_input(const egraph_graph *graph,
                                                             uint32_t index,
                                                             const char **out_name,
                                                             egraph_tensor *out_type);
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_output(const egraph_graph *graph,
                                                              uint32_t index,
                                                              const char **out_name,
                                                              egraph_tensor *out_type);
/// Text form of a graph; free with egraph_string_free(NULL, ...) or with
/// the same allocator.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_text(const egraph_allocator *alloc,
                                                            const egraph_graph *graph,
                                                            char **out);
/// The operator table, one line each: spelling, operands, results, attributes with their
/// defaults, and the ONNX operator. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_operators_text(const egraph_allocator *alloc, char **out);
/// Frees a text of this library (NULL is allowed); `alloc` is the one that it was made
/// with.
EGRAPH_API void egraph_string_free(const egraph_allocator *alloc, char *text);

// ---- rewrite rules --------------------------------------------------------------

typedef struct eg_rules egraph_rules;

/// An empty rule set; add the shipped rules, files, or text to it.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_rules_create(const egraph_allocator *alloc, egraph_rules **out);
EGRAPH_API void egraph_rules_destroy(egraph_rules *rules);
/// Adds the rules shipped with the library. Those of the files explore-*, which only make
/// variants, are off: switch them on with egraph_rules_enable.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_add_builtin(egraph_rules *rules);
/// Fails with PARSE, "file:line:col: what is wrong; what to do", and then adds
/// nothing of the file.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_add_file(egraph_rules *rules,
                                                                const char *path);
/// As egraph_rules_add_file, from memory; `name` stands for the file in messages.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_add_text(egraph_rules *rules,
                                                                const char *name,
                                                                const char *text);
/// Switches a rule, or all rules of a file by its stem, on or off. Fails with ARGUMENT
/// when there is none.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_enable(egraph_rules *rules,
                                                              const char *name, bool on);
typedef struct egraph_rule_info {
  const char *name, *source, *file; // borrowed
  uint32_t line;
} egraph_rule_info;
/// Directions count separately: a two-way rule is two.
EGRAPH_API uint32_t egraph_rules_count(const egraph_rules *rules);
/// index < egraph_rules_count.
EGRAPH_API egraph_rule_info egraph_rules_at(const egraph_rules *rules, uint32_t index);
/// Verifies the rules: both sides typed and evaluated by reference kernels on small
/// random instances, exactly in integers or float64 where the operators allow it; and the
/// tests inside the rule files. `report` is called once per rule (may be NULL).
/// *out_rejected counts the rules that failed.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_verify(
    const egraph_rules *rules, uint64_t seed,
    void (*report)(void *user, const char *rule, bool accepted, const char *detail),
    void *user, uint32_t *out_rejected);
/// Canonical text of all rules; free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_text(const egraph_allocator *alloc,
                                                            const egraph_rules *rules,
                                                            char **out);

// ---- costs ----------------------------------------------------------------------

typedef struct egraph_costs egraph_costs;

/// One node as the cost override sees it: operator, its attributes as text, and the types
/// of operands and results ("float32[1,64,56,56]@nhwc"). Borrowed during the call.
typedef struct egraph_cost_query {
  const char *op, *text; // text: the canonical key of the profile database
  double flops, bytes;
} egraph_cost_query;

typedef struct egraph_costs_options {
  const char *database; // profile database (SQLite); NULL: in memory
  const char *backend;  // NULL: "cpu"
  uint32_t threads;     // of the executor that is profiled; 0: 1
  bool read_only;       // never write to the database
  bool measure;         // measure what the database lacks; otherwise estimate it
  /// Own cost of an operator: returns true and sets *out_seconds (0 or more, or INFINITY:
  /// cannot run), or false to leave it to the model. May be NULL, as may `progress`.
  bool (*override_cost)(void *user, const egraph_cost_query *query, double *out_seconds);
  /// Called while measuring; returns true to stop measuring (the rest is estimated).
  bool (*progress)(void *user, uint32_t done, uint32_t total);
  void *user;
} egraph_costs_options;

/// `options` may be NULL: costs are estimated, nothing is stored. Fails with IO, BUSY
/// (locked by another process), PARSE (no profile database, or of another version),
/// ARGUMENT for an unknown back-end.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_costs_create(const egraph_allocator *alloc, const egraph_costs_options *options,
                    egraph_costs **out);
EGRAPH_API void egraph_costs_destroy(egraph_costs *costs);
/// Text that names this machine, back-end and thread count in the database; borrowed.
EGRAPH_API const char *egraph_costs_machine(const egraph_costs *costs);
/// Entries of this machine in the database.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_entries(egraph_costs *costs,
                                                               uint32_t *out);
/// Predicted seconds of one run of a graph, in the memory formats that it carries.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_predict(egraph_costs *costs,
                                                               const egraph_graph *graph,
                                                               double *out_seconds);

// ---- optimization ---------------------------------------------------------------

#define EGRAPH_OPTION(type, name, initial, low, high, help) type name;
typedef struct egraph_options {
#include "egraph_options.def"
  const char *extractor; // "ilp" (default), "dag" or "tree"
  const char *scheduler; // "backoff" (default), "yield" or "simple"
  /// Called now and then with the phase ("saturate", "profile", "extract") and a line
  /// about it; returns true to cancel: the best result so far is then returned.
  bool (*progress)(void *user, const char *phase, const char *line);
  void *user;
} egraph_options;
/// The defaults of egraph_options.def.
EGRAPH_API egraph_options egraph_options_default(void);

typedef struct egraph_result egraph_result;

/// Optimizes a graph: saturates an e-graph with the rules within the budget and
/// extracts the cheapest equivalent graph under the cost model. The result is never
/// worse than the input under that model. Limits are reported, not errors. `options`
/// may be NULL: the defaults. Fails with ARGUMENT for an option out of range, TYPE when
/// a rule is unsound, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_optimize(
    const egraph_allocator *alloc, const egraph_graph *graph, const egraph_rules *rules,
    egraph_costs *costs, const egraph_options *options, egraph_result **out);
EGRAPH_API void egraph_result_destroy(egraph_result *result);

typedef struct egraph_report {
  double cost_before, cost_after; // predicted seconds of one run
  double bound, gap;  // proven lower bound on the extraction; (after - bound) / after
  const char *status; // "optimal", "feasible"
  const char *stop; // why the search ended: "saturated", "node-limit", "iteration-limit",
                    // "time-limit", "byte-limit", "cancelled"
  uint32_t nodes, classes, iterations;
  uint32_t nodes_before, nodes_after; // of the graph, weight-only ones excluded
  double tree_cost, dag_cost;         // what the greedy extractors reach
  double saturate_seconds, profile_seconds, extract_seconds, total_seconds;
  uint32_t measured; // nodes measured in this call
} egraph_report;
EGRAPH_API const egraph_report *egraph_result_report(const egraph_result *result);
/// The optimized graph, borrowed.
EGRAPH_API const egraph_graph *egraph_result_graph(const egraph_result *result);

/// What one rule did in the search. Names are borrowed from the result.
typedef struct egraph_rule_report {
  const char *name;
  uint64_t matches;       // found, conditions hold
  uint64_t rejected;      // candidates ruled out by conditions, and matches by types
  uint32_t nodes, unions; // that its matches made
  uint32_t bans;          // how often the scheduler suspended it
  double seconds;
} egraph_rule_report;
/// As many as the rule set had, in its order.
EGRAPH_API uint32_t egraph_result_rule_count(const egraph_result *result);
/// index < egraph_result_rule_count.
EGRAPH_API egraph_rule_report egraph_result_rule(const egraph_result *result,
                                                 uint32_t index);
/// Which rule made each node of the optimized graph, and what it costs: one line per
/// node. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_result_explain(
    const egraph_allocator *alloc, const egraph_result *result, char **out);

// ---- execution ------------------------------------------------------------------

typedef struct egraph_session egraph_session;

typedef struct egraph_session_options {
  const char *backend; // NULL: "cpu"; "reference": plain C kernels
  uint32_t threads;    // 0: 1
  uint64_t seed;       // of absent weights
} egraph_session_options;

/// Compiles a graph: weights packed, memory planned. The graph must live as long as the
/// session. `options` may be NULL: the defaults, seed 1. Fails with UNSUPPORTED naming an
/// operator that cannot run, ARGUMENT for an unknown back-end.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_session_create(const egraph_allocator *alloc, const egraph_graph *graph,
                      const egraph_session_options *options, egraph_session **out);
EGRAPH_API void egraph_session_destroy(egraph_session *session);
/// inputs[i] and outputs[i] are the i-th input and output, of their declared types.
/// Allocates nothing; signals for the calling thread wait until it is done. Fails with
/// ARGUMENT for a wrong count or absent data, TYPE for a tensor of another type.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_session_run(egraph_session *session,
                                                             const egraph_tensor *inputs,
                                                             uint32_t input_count,
                                                             const egraph_tensor *outputs,
                                                             uint32_t output_count);
/// Fills a tensor that stands for the input `name` with seeded values.
EGRAPH_API void egraph_draw_input(const char *name, uint64_t seed,
                                  const egraph_tensor *tensor);

typedef struct egraph_compare_options {
  const char *backend;
  uint32_t threads, repeats; // 0: 1 thread, 10 repeats
  uint64_t seed;
} egraph_compare_options;
typedef struct egraph_comparison {
  // The largest, over the outputs, of: largest absolute difference over largest absolute
  // value of a's output; infinite where only one is NaN, or infinities differ.
  double max_error;
  double time_a, time_b; // median seconds of one run, measured in turn in this process
} egraph_comparison;
/// Runs two graphs on the same seeded data, the i-th input of one with the i-th of
/// the other (names may differ), and compares the outputs. `options` may be NULL:
/// the defaults, seed 1. Fails with ARGUMENT when the number or the types of inputs
/// or outputs differ.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_compare(
    const egraph_allocator *alloc, const egraph_graph *a, const egraph_graph *b,
    const egraph_compare_options *options, egraph_comparison *out);

/// What one step of a session cost, and where. Borrowed strings.
typedef struct egraph_step {
  const char *node, *op, *kernel;
  double seconds, flops, bytes;
} egraph_step;
/// Runs `repeats` times (0: once) on seeded inputs after one run that does not count, and
/// reports every step with its mean seconds. Allocates inputs and outputs for it.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_session_steps(egraph_session *session, uint64_t seed, uint32_t repeats,
                     void (*report)(void *user, const egraph_step *step), void *user);

/// How well the cost model predicts what runs.
typedef struct egraph_validation {
  double predicted;        // seconds of one run: the sum of its operators
  double measured;         // seconds of one run: the median of whole runs
  double steps;            // sum of the operators' own median times inside a run
  double rank_correlation; // Spearman, predicted against measured, over operators
  double mean_error; // of operators: sum of |predicted - measured| over sum of measured
  uint32_t operators;
} egraph_validation;
/// Runs a graph `repeats` times (0: once) on inputs drawn from the seed and compares
/// every operator with its predicted cost.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_validate(egraph_costs *costs,
                                                                const egraph_graph *graph,
                                                                uint32_t repeats,
                                                                uint64_t seed,
                                                                egraph_validation *out);

// ---- extraction from any e-graph --------------------------------------------------

/// An e-graph read from a file, and what was last extracted from it.
typedef struct egraph_extraction egraph_extraction;

/// Reads an e-graph in the JSON of egraph-serialize (as extraction-gym has it), plain or
/// gzip. Fails with IO, or PARSE naming file and node.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_extraction_load(
    const egraph_allocator *alloc, const char *path, egraph_extraction **out);
EGRAPH_API void egraph_extraction_destroy(egraph_extraction *extraction);

typedef struct egraph_extract_options {
  const char *extractor; // NULL: "ilp" (exact); or "dag", "tree" (greedy)
  double time_limit;     // seconds; 0: 20
  double relative_gap;   // stop at (cost - bound) / |cost|; 0: prove the optimum
  uint64_t seed;
  /// Presolve passes by name: "reach,merge" runs only these, "-merge,-dual" all but
  /// these. NULL: all. See egraph_extract_pass.
  const char *passes;
  uint32_t
      threads; // 0: 1. The result is the same with any number, unless a limit strikes
  /// Called now and then with the best cost so far (INFINITY: none) and a lower bound;
  /// returns true to stop with what there is. With several threads it is called from any
  /// of them, one at a time.
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;
} egraph_extract_options;
/// Chooses a node for every class that the roots need, acyclic, so that the sum of their
/// costs is least. Limits are results, not errors. `options` may be NULL: the defaults.
/// Costs of any sign; with negative ones the proof takes much longer. Fails with ARGUMENT
/// for an unknown extractor or pass or a limit out of range, MEMORY, INTERNAL.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_extraction_run(
    egraph_extraction *extraction, const egraph_extract_options *options);

// id, name, what its CPU time is spent on.
#define EGRAPH_EXTRACT_PART_LIST(X)                                                      \
  X(EGRAPH_PART_GREEDY, "greedy", "greedy extraction and local search")                  \
  X(EGRAPH_PART_PRESOLVE, "presolve", "presolve but for the next two")                   \
  X(EGRAPH_PART_LANDMARKS, "landmarks", "what every derivation of a class needs")        \
  X(EGRAPH_PART_ASCENT, "ascent", "bounds by dual ascent")                               \
  X(EGRAPH_PART_LP, "lp", "linear programs")                                             \
  X(EGRAPH_PART_SEPARATION, "separation", "cuts for the linear programs")                \
  X(EGRAPH_PART_WINDOWS, "windows", "windows of large problems, with all they take")     \
  X(EGRAPH_PART_SEARCH, "search", "branching and everything else")
#define EGRAPH_PART_ENUM(id, name, text) id,
typedef enum egraph_extract_part {
  EGRAPH_EXTRACT_PART_LIST(EGRAPH_PART_ENUM) EGRAPH_PART_COUNT
} egraph_extract_part;
#undef EGRAPH_PART_ENUM

typedef struct egraph_extract_report {
  const char *status; // "optimal", "feasible", "infeasible"; "none" before the first run
  double cost;        // of the choice; INFINITY when there is none
  double bound, gap;  // proven lower bound; (cost - bound) / |cost|
  double tree_cost, dag_cost; // what the greedy extractors alone reach; INFINITY: not run
  double seconds;
  double part_seconds[EGRAPH_PART_COUNT];  // CPU time of the parts, all threads together
  uint32_t nodes, classes;                 // of the file
  uint32_t reduced_nodes, reduced_classes; // what presolve leaves; 0 unless exact
} egraph_extract_report;
EGRAPH_API egraph_extract_report
egraph_extraction_report(const egraph_extraction *extraction);

/// The choice of one class, by the names of the file; borrowed from the extraction.
typedef struct egraph_extract_choice {
  const char *class_name, *node_name;
} egraph_extract_choice;
/// Classes with a choice: those that the roots need.
EGRAPH_API uint32_t egraph_extraction_choice_count(const egraph_extraction *extraction);
/// index < egraph_extraction_choice_count; in the order of the file.
EGRAPH_API egraph_extract_choice
egraph_extraction_choice(const egraph_extraction *extraction, uint32_t index);

/// Writes what presolve leaves as a mixed-integer program in CPLEX LP format, whose
/// optimum is that of the e-graph (extract/lp_format.h describes the rows). A run before
/// makes it smaller. Fails with IO, and as egraph_extraction_run.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_extraction_save_lp(egraph_extraction *extraction,
                          const egraph_extract_options *options, const char *path);

/// Name and meaning of the index-th presolve pass; both NULL past the last.
typedef struct egraph_extract_pass_info {
  const char *name, *text;
} egraph_extract_pass_info;
EGRAPH_API egraph_extract_pass_info egraph_extract_pass(uint32_t index);

/// What one presolve pass takes away in all its runs (negative: it makes more).
typedef struct egraph_extract_pass_report {
  uint32_t runs;
  double seconds;
  int64_t nodes, classes, edges;
} egraph_extract_pass_report;
/// Runs the presolve passes one by one on a copy, with the cutoff that the last run has
/// found, and reports each in the order of egraph_extract_pass. Fails with ARGUMENT for
/// negative costs, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_extraction_try_passes(
    egraph_extraction *extraction, const egraph_extract_options *options,
    void (*report)(void *user, uint32_t pass, const egraph_extract_pass_report *detail),
    void *user);

// ---- sharding -------------------------------------------------------------------

/// Intra-operator sharding, the problem of the IOPDDL contest (ASPLOS/EuroSys 2025):
/// every node takes one of its strategies, nodes and pairs of nodes cost accordingly, and
/// the memory in use must stay within a limit at every time. All numbers are exact
/// integers.
typedef struct egraph_shard egraph_shard;

/// Costs from here on are forbidden.
#define EGRAPH_SHARD_INFINITE INT64_C(1000000000000000000)

/// An empty problem without a limit.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_shard_create(const egraph_allocator *alloc, egraph_shard **out);
EGRAPH_API void egraph_shard_destroy(egraph_shard *shard);
/// Reads a file of the contest, JSON or gzipped JSON. Fails with IO, or PARSE naming the
/// file, what is wrong in it, and where.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_load(const egraph_allocator *alloc,
                                                            const char *path,
                                                            egraph_shard **out);
/// Adds a node that is alive in [first, last) (empty: it takes no memory): the cost and
/// the memory of each of its strategies. out_node may be NULL. Fails with ARGUMENT when
/// there is no strategy or a number is negative.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_add_node(
    egraph_shard *shard, int64_t first, int64_t last, const int64_t *cost,
    const int64_t *usage, uint32_t count, uint32_t *out_node);
/// Adds a table of costs between two different nodes: a row per strategy of `a`, a column
/// per strategy of `b`. Several tables of the same nodes add up. Fails with ARGUMENT for
/// an unknown node or a negative cost.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_add_edge(egraph_shard *shard,
                                                                uint32_t a, uint32_t b,
                                                                const int64_t *table);
/// Sets the limit of memory; INT64_MAX: none. Fails with ARGUMENT when it is negative.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_set_limit(egraph_shard *shard,
                                                                 int64_t limit);

typedef struct egraph_shard_info {
  uint32_t nodes, edges, strategies;
  size_t entries; // of all tables
  int64_t limit;  // INT64_MAX: none
} egraph_shard_info;
EGRAPH_API egraph_shard_info egraph_shard_info_of(const egraph_shard *shard);

/// Cost and peak memory of a choice (choice[node] counts from 0), whether it fits the
/// limit or not; cost is EGRAPH_SHARD_INFINITE when it takes something forbidden. `count`
/// is the number of nodes. Fails with ARGUMENT for a choice that is none.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_shard_evaluate(const egraph_shard *shard,
                                                                const uint32_t *choice,
                                                                uint32_t count,
                                                                int64_t *out_cost,
                                                                int64_t *out_peak);

typedef struct egraph_shard_options {
  double time_limit; // seconds; 0: 60
  uint64_t seed;
  const uint32_t *incumbent; // [nodes] a choice to begin with (ignored when it is none,
                             // or does not fit), or NULL
  /// Called now and then with the best cost (EGRAPH_SHARD_INFINITE: none yet) and the
  /// proven bound; returns true to stop with what there is. May be NULL.
  bool (*progress)(void *user, int64_t cost, int64_t bound, double seconds);
  void *user;
} egraph_shard_options;

typedef struct egraph_shard_plan egraph_shard_plan;

typedef struct egraph_shard_report {
  const char *status; // "optimal" (proven), "feasible", "infeasible" (proven), or
                      // "unknown": nothing found and nothing proven within the time
  int64_t cost;       // recomputed independently; EGRAPH_SHARD_INFINITE: no choice
  int64_t bound;      // proven lower bound
  int64_t peak, limit;
  double gap;                   // (cost - bound) / cost
  double seconds, best_seconds; // in all, until the best choice was found
} egraph_shard_report;

/// Looks for the cheapest choice within the limit of memory. `options` may be NULL: the
/// defaults. Limits and cancelling are reported, not errors. Fails with ARGUMENT (a
/// time limit that is none, usages that add up beyond 2^62), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_shard_solve(const egraph_allocator *alloc, const egraph_shard *shard,
                   const egraph_shard_options *options, egraph_shard_plan **out);
EGRAPH_API void egraph_shard_plan_destroy(egraph_shard_plan *plan);
EGRAPH_API const egraph_shard_report *
egraph_shard_plan_report(const egraph_shard_plan *plan);
/// The choice, a strategy per node; borrowed. NULL when there is none, or no node.
EGRAPH_API const uint32_t *egraph_shard_plan_choice(const egraph_shard_plan *plan);

// ---- plans for several devices ----------------------------------------------------

/// How every operator of a model is split among the devices of a machine, and the
/// exchanges that this takes. A plan stands alone: graph and options may go.
typedef struct egraph_plan egraph_plan;

typedef struct egraph_plan_options {
  const char *machine; // a shipped machine ("dgx-h100"), this host ("host"), or a file (a
                       // '/' in it, or ".machine" at its end); "*8" behind it is the
                       // number of nodes, of "host" that of ranks. NULL: "host"
  const char *mesh;    // "node=2,gpu=4": axes, which multiply to the devices of the
                       // machine. NULL: all meshes of the machine, the cheapest plan wins
  const char
      *optimizer;   // "sgd", "momentum", "adam", "adamw": a training step is planned;
                    // NULL: the forward graph alone, and what follows is not read
  const char *loss; // "softmax-cross-entropy", "softmax-cross-entropy-of-probabilities",
                    // "mean-squared-error", of the first output. NULL: the first of these
  uint32_t micro_batches; // of the graph's batch each, in a step; 0: 1
  double clip_norm;       // largest norm of all gradients together; 0: no limit
  bool mixed_precision;   // computes in bfloat16 with float32 weights and states
  double memory_limit;    // bytes of a device; 0: what the machine has
  double time_limit;      // seconds in all; 0: 60
  double relative_gap;    // stop at (cost - bound) / cost; 0: prove the optimum
  bool no_fold; // plan each of repeated blocks. Otherwise one stands for all but the
                // first and the last (of four or more): quick, but the plan cannot run
  /// Called now and then, and after every mesh, with its best cost (INFINITY: none) and
  /// a lower bound; returns true to stop with what there is. May be NULL.
  bool (*progress)(void *user, const char *mesh, double cost, double bound,
                   double seconds);
  void *user;
} egraph_plan_options;
/// This host, all meshes, no training; everything else 0.
EGRAPH_API egraph_plan_options egraph_plan_options_default(void);

/// Costs are predicted seconds of one step: of all micro-batches, one thing after the
/// other. Texts are borrowed from the plan.
typedef struct egraph_plan_report {
  const char *status; // "optimal" (proven), "feasible", "infeasible" (proven), "unknown":
                      // nothing found and nothing proven in time; "loaded" from a file,
                      // with the cost that its steps add up to and no bound
  double cost;        // INFINITY: there is no plan
  double bound, gap;  // proven lower bound over all meshes; (cost - bound) / cost
  double memory;      // bytes of a device that its limit is compared with
  double memory_limit; // INFINITY: none
  double least_memory; // infeasible for lack of memory: what would do; otherwise 0
  const char *mesh;    // "node=2,gpu=4"; "": a single device
  uint32_t devices, micro_batches;
  uint32_t meshes; // that were tried
  uint32_t blocks; // repeated blocks that one stands for; 0: nothing is folded
  uint32_t nodes;  // of the graph that was planned
  double prepare_seconds, space_seconds, solve_seconds, total_seconds;
} egraph_plan_report;

/// Looks for the cheapest plan of a graph within the memory of the devices. `options` may
/// be NULL. That nothing fits, and limits of time, are reported, not errors. Fails with
/// ARGUMENT (an option out of range, a mesh of another number of devices, nothing to
/// train), PARSE (machine, mesh), IO, TYPE (a loss that does not fit the output),
/// UNSUPPORTED (operators without a gradient or of unknown type), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_plan_create(const egraph_allocator *alloc, const egraph_graph *graph,
                   const egraph_plan_options *options, egraph_plan **out);
EGRAPH_API void egraph_plan_destroy(egraph_plan *plan);
EGRAPH_API const egraph_plan_report *egraph_plan_report_of(const egraph_plan *plan);
/// The step that is planned, as one graph, borrowed; NULL when there is no plan. Of
/// training: inputs are those of the forward graph, "target", "learning_rate", "step"
/// (with Adam), and every trained weight and state of the optimizer; outputs the loss,
/// and what these become (pcg/training.h).
EGRAPH_API const egraph_graph *egraph_plan_graph(const egraph_plan *plan);
// The functions below fail with ARGUMENT when there is no plan, saying what would help.

/// Exchanges of one kind along one axis, in one step of training.
typedef struct egraph_plan_exchange {
  const char *phase; // "forward", "backward", "update"
  const char *kind;  // "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "halo"
  const char *axis;  // of the mesh
  uint64_t count;
  double bytes;   // of the whole tensor that a group of devices exchanges, all together
  double seconds; // 0 for halos, whose time is in that of their operators
} egraph_plan_exchange;
/// Bytes that a device holds for one purpose, storage not shared: "carried" (weights and
/// states), "inputs", "stashes" (for backward), "accumulators", "outputs", "transient".
typedef struct egraph_plan_store {
  const char *kind;
  double at_peak, most; // when all together is most; by itself
} egraph_plan_store;
/// Calls back for every exchange and every store (both may be NULL), in a fixed order.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_account(
    const egraph_plan *plan,
    void (*on_exchange)(void *user, const egraph_plan_exchange *exchange),
    void (*on_store)(void *user, const egraph_plan_store *store), void *user);

/// Writes a plan with its graph as JSON (pcg/plan_json.h; data of weights beyond 64
/// elements is left out), atomically. Fails with IO.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_save(const egraph_plan *plan,
                                                           const char *path);
/// Reads such a file, plain or gzip, and checks it as a whole. Fails with IO, PARSE
/// ("file:line:col: what; where in the document").
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_load(const egraph_allocator *alloc,
                                                           const char *path,
                                                           egraph_plan **out);

/// The plan as text, a line per step, and its figures at the end. `unity`: exchanges in
/// the words of parallel computation graphs (Partition, Combine, Replicate, Reduce). Free
/// with egraph_string_free, like the texts below.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_print(const egraph_allocator *alloc,
                                                            const egraph_plan *plan,
                                                            bool unity, char **out);
/// The figures of a plan as one JSON object (its keys: pcg/plan_summary.h).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_summary_json(
    const egraph_allocator *alloc, const egraph_plan *plan, char **out);
/// What is different in two plans of graphs whose values have the same names: layouts,
/// exchanges, figures. As text, or as a JSON object (its keys: pcg/plan_diff.h).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_diff(const egraph_allocator *alloc,
                                                           const egraph_plan *before,
                                                           const egraph_plan *after,
                                                           bool json, char **out);

typedef struct egraph_plan_run_options {
  const char *backend; // NULL: "cpu"; "reference": plain C kernels
  uint32_t threads;    // of each rank; 0: 1
  uint64_t seed;       // of absent weights
  uint32_t steps;      // of the same inputs, one after the other; 0: 1
} egraph_plan_run_options;
/// Runs a plan in this process, a thread for every device: compiles, runs, and gives
/// everything back. Whole tensors, as egraph_plan_graph has them; a row of all for every
/// micro-batch. Trained weights and states begin as in the first row of inputs (data
/// NULL: zeros) and leave in the last row of outputs, after the last step; outputs with
/// data NULL are not wanted. `options` may be NULL: the defaults, seed 1. The allocator
/// is called from all threads. Fails with ARGUMENT (counts), TYPE, UNSUPPORTED (folded
/// plans, operators that cannot run).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_run_local(
    const egraph_allocator *alloc, const egraph_plan *plan,
    const egraph_plan_run_options *options, const egraph_tensor *inputs,
    uint32_t input_count, const egraph_tensor *outputs, uint32_t output_count);

// ---- e-graphs of plain terms ------------------------------------------------------

/// An e-graph over plain symbols, and rewrite rules for it. A term is a symbol (any text
/// without blanks, brackets, quotes and ;) or a list "(symbol term ...)"; symbols mean
/// nothing, and the same one may have any number of operands. No types, no conditions.
typedef struct egraph_terms egraph_terms;
/// A class of equal terms. It stays valid when classes are united; the e-graph hands out
/// the canonical one of several (egraph_terms_find).
typedef struct egraph_class {
  uint32_t id;
} egraph_class;
/// A symbol by its number.
typedef struct egraph_symbol {
  uint32_t id;
} egraph_symbol;

EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_create(const egraph_allocator *alloc, egraph_terms **out);
EGRAPH_API void egraph_terms_destroy(egraph_terms *terms);

/// Adds the rules of a text, "(egraph-rules 1 symbolic) (rule name (lhs ...) (rhs ...))"
/// (see rewrites/symbolic.h); `name` stands for the file in messages. A rule with several
/// left sides matches all of them at once (multi-pattern). Fails with PARSE,
/// "file:line:col: what is wrong; what to do", and then adds none of them.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add_rule_text(egraph_terms *terms,
                                                                     const char *name,
                                                                     const char *text);
/// As egraph_terms_add_rule_text, from a file. Fails with IO too.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add_rule_file(egraph_terms *terms,
                                                                     const char *path);
/// Directions count separately: a two-way rule is two.
EGRAPH_API uint32_t egraph_terms_rule_count(const egraph_terms *terms);

/// Adds one term without variables. Fails with PARSE as rules do.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_add(egraph_terms *terms,
                                                           const char *name,
                                                           const char *text,
                                                           egraph_class *out);

/// The same without text, for programs that make many terms. The number of a symbol: a
/// new one, or that which it has. Fails with ARGUMENT for a text that is no symbol,
/// UNSUPPORTED beyond 2^20 symbols.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_symbol(egraph_terms *terms,
                                                              const char *text,
                                                              egraph_symbol *out);
/// Adds the node symbol(children...), or finds it. O(count) expected. Fails with ARGUMENT
/// for an unknown symbol or class.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_add_node(egraph_terms *terms, egraph_symbol symbol,
                      const egraph_class *children, uint32_t count, egraph_class *out);
/// As egraph_terms_add_node for `count` nodes of one symbol, the children of each behind
/// those of the one before ([count * arity]). Their look-ups overlap: on large e-graphs
/// that takes a third of the time. On failure those before the failing one may be added.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_add_nodes(egraph_terms *terms, egraph_symbol symbol, uint32_t arity,
                       const egraph_class *children, size_t count, egraph_class *out);
/// Whether the node is there; sets *out (may be NULL) when it is. Exact when the e-graph
/// is rebuilt. Unknown symbols and classes are not; nor is a node of more than 8 children
/// found when there is no memory to look for it.
EGRAPH_API bool egraph_terms_find_node(const egraph_terms *terms, egraph_symbol symbol,
                                       const egraph_class *children, uint32_t count,
                                       egraph_class *out);
/// States that two classes are equal; *out_changed (may be NULL) tells whether that is
/// new. What follows by congruence is left to egraph_terms_rebuild. Fails with ARGUMENT
/// for an unknown class.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_unite(egraph_terms *terms,
                                                             egraph_class a,
                                                             egraph_class b,
                                                             bool *out_changed);
/// Restores congruence: the cost follows what changed. Saturation begins and ends with
/// it; searching, printing and the smallest term want it after additions and unions
/// (they fail with ARGUMENT otherwise).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_rebuild(egraph_terms *terms);
/// The canonical class; an unknown class is returned as it is.
EGRAPH_API egraph_class egraph_terms_find(const egraph_terms *terms, egraph_class class_);
/// Whether two classes are known to be equal; exact when the e-graph is rebuilt.
EGRAPH_API bool egraph_terms_are_equal(const egraph_terms *terms, egraph_class a,
                                       egraph_class b);

typedef struct egraph_terms_info {
  uint32_t nodes, classes; // distinct canonical ones; exact when the e-graph is rebuilt
  size_t bytes;            // that the e-graph holds
} egraph_terms_info;
EGRAPH_API egraph_terms_info egraph_terms_info_of(const egraph_terms *terms);

/// Counts at the end of one iteration, and CPU seconds of its parts (all threads).
typedef struct egraph_terms_iteration {
  uint32_t iteration, nodes, classes; // iteration counts from 0
  uint64_t matches; // found; those that are new where the search is incremental
  double search_seconds, apply_seconds, rebuild_seconds;
} egraph_terms_iteration;

/// What the caller thinks of a rule.
typedef struct egraph_rule_policy {
  bool enabled;
  int32_t priority; // rules with more come first in every iteration; otherwise in order
  double cost;      // > 0: a match counts as so many under a match limit
} egraph_rule_policy;

/// Limits end the search, as results; 0 is a limit like others.
typedef struct egraph_terms_options {
  uint32_t node_limit, iteration_limit;
  double time_limit; // seconds; INFINITY: none
  size_t byte_limit;
  const char
      *scheduler; // "backoff": a rule with more matches than match_limit (doubled
                  // each time) rests for ban_length iterations (also doubled);
                  // "yield": the same, with matches weighed by the share of
                  // nodes that the rule adds; or "simple": every rule in every iteration
  uint32_t match_limit, ban_length; // of "backoff" and "yield"
  bool naive;       // search for all matches again in every iteration, not for new ones;
                    // the e-graph is the same after each (but not with "yield")
  uint32_t threads; // of the search; 0: 1. The e-graph does not depend on it
  bool rollback;    // an iteration that is ended in the middle is taken back: the e-graph
                    // is as after the one before. Takes a copy of it per iteration
  /// Called after every iteration; returns true to stop. May be NULL, as may `progress`.
  bool (*on_iteration)(void *user, const egraph_terms_iteration *iteration);
  /// Called now and then inside iterations too; returns true to stop.
  bool (*progress)(void *user, uint32_t iteration, uint32_t nodes, uint32_t classes);
  /// What to think of a rule (index as in egraph_terms_rule). May be NULL.
  egraph_rule_policy (*policy)(void *user, uint32_t rule);
  void *user;
} egraph_terms_options;
/// 20000 nodes, 20 iterations, 20 seconds, 2 GiB, "backoff" with 1000 matches and 5
/// iterations.
EGRAPH_API egraph_terms_options egraph_terms_options_default(void);

typedef struct egraph_terms_report {
  const char *stop; // why it ended: as egraph_report.stop
  uint32_t iterations, nodes, classes;
  uint64_t matches; // of all rules and iterations
  double seconds;
  size_t peak_bytes; // of e-graph and matches together
  bool rolled_back;  // by options.rollback; the iteration is not counted
} egraph_terms_report;
/// Applies the rules until nothing changes or a limit ends it. `options` may be NULL: the
/// defaults; out_report may be NULL. Fails with ARGUMENT for an unknown scheduler or a
/// negative time limit, MEMORY; the e-graph is then whole, with what was added so far.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_saturate(egraph_terms *terms, const egraph_terms_options *options,
                      egraph_terms_report *out_report);
/// What a rule did in the last saturation; only its name when there was none, or the rule
/// is newer. index < egraph_terms_rule_count.
EGRAPH_API egraph_rule_report egraph_terms_rule(const egraph_terms *terms,
                                                uint32_t index);

/// One match of patterns; borrowed during the call.
typedef struct egraph_terms_match {
  const egraph_class *roots;     // one for each pattern
  const egraph_class *variables; // in order of first occurrence
  const char *const *names;      // of the variables, "?x"
  uint32_t root_count, variable_count;
} egraph_terms_match;
/// Searches for one pattern, or for several at once that share variables: "(* ?x ?y) (*
/// ?x ?z)". Calls `report` (may be NULL) for each match until it returns true, and counts
/// them. A match is one choice of nodes. Fails with PARSE, "pattern:line:col: ...".
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_search(egraph_terms *terms, const char *pattern,
                    bool (*report)(void *user, const egraph_terms_match *match),
                    void *user, uint64_t *out_count);

/// The smallest term of a class as text, and its nodes, each occurrence counted (out_size
/// may be NULL). O(nodes) in practice. Free with egraph_string_free. Fails with ARGUMENT
/// for an unknown class, UNSUPPORTED when it has more than 2^20 nodes.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_smallest(const egraph_allocator *alloc, const egraph_terms *terms,
                      egraph_class class_, char **out, uint64_t *out_size);
/// The e-graph for Graphviz, one cluster per class. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_dot(const egraph_allocator *alloc,
                                                           const egraph_terms *terms,
                                                           char **out);
/// Verifies every invariant of the e-graph. O(its size). Fails with INTERNAL naming the
/// first violation.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_check(const egraph_terms *terms);

/// Saves the state of an e-graph: a copy in memory, O(its size). May be nested. Fails
/// with MEMORY; nothing was saved then.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_push(egraph_terms *terms);
/// Goes back to the state saved last, which is no longer saved then: terms, unions and
/// rules that came since are gone, and what is added from now on gets the same classes as
/// if they had never been. Symbols keep their numbers. Fails with ARGUMENT when no state
/// is saved.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_pop(egraph_terms *terms);
/// Keeps the present state and forgets the one saved last. Fails with ARGUMENT.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_drop(egraph_terms *terms);

/// Writes the e-graph with its symbols and rules to a binary file, atomically. Pushed
/// states, what explanations need, and the last report are not saved. Fails with ARGUMENT
/// (unions await a rebuild), IO, MEMORY; the file is then as it was.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_save(const egraph_terms *terms,
                                                            const char *path);
/// Reads such a file: symbols, classes and rules have the numbers that they had. The file
/// need not be trusted: it is verified, and the memory is at most a small multiple of its
/// size. Fails with IO, PARSE ("path: section: what; remedy"), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_load(const egraph_allocator *alloc,
                                                            const char *path,
                                                            egraph_terms **out);
/// Writes the e-graph as egraph-serialize JSON, the format of extraction-gym ("nodes"
/// with op, children, eclass and cost 1, and "root_eclasses"). Fails with ARGUMENT
/// (unknown root, unions await a rebuild), IO, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_save_json(const egraph_terms *terms, const egraph_class *roots,
                       uint32_t root_count, const char *path);
/// Reads such a file, plain or gzip, into a new e-graph without rules, and restores
/// congruence; costs are dropped. Calls `on_root` (may be NULL) for each root, in order.
/// Fails with IO, PARSE ("path:line:col: ..."), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_terms_load_json(
    const egraph_allocator *alloc, const char *path,
    void (*on_root)(void *user, egraph_class root), void *user, egraph_terms **out);

/// Keeps from now on what explanations need; before the first term is added, otherwise it
/// fails with ARGUMENT. Files do not have it. The e-graph then takes about a quarter
/// more memory; one that was not asked for pays nothing.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_keep_explanations(egraph_terms *terms);
/// One step: a rule applied at one place. The place is named by child numbers from 0 on,
/// down from the root of the term. Borrowed during the call.
typedef struct egraph_terms_step {
  const char *rule;         // its name; NULL: egraph_terms_unite was called for these two
  bool backward;            // applied from its right to its left side
  const uint32_t *position; // [depth]
  uint32_t depth;
  const char *before, *after; // the whole term; NULL when it has more than 2^20 nodes
} egraph_terms_step;
/// Why two terms are equal: steps that lead from one to the other, few but not always the
/// fewest, and no term twice. The terms are texts as for egraph_terms_add; the e-graph
/// need not have them. Calls `report` (may be NULL) for each step until it returns true,
/// and counts all steps. Every explanation has been replayed by a checker that knows the
/// rules and nothing else. Replays what was applied until the two became equal: the time
/// of that, and a multiple of its memory, which is given back. Fails with ARGUMENT when
/// the terms are not known to be equal or no explanations are kept, PARSE, UNSUPPORTED
/// when the steps together are too large, MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_terms_explain(egraph_terms *terms, const char *from, const char *to,
                     bool (*report)(void *user, const egraph_terms_step *step),
                     void *user, uint64_t *out_count);

// ---- plain expressions ----------------------------------------------------------

/// Saturates one symbolic term with symbolic rules ("(egraph-rules 1 symbolic)") and
/// returns the smallest equal term, for instance "(* a 1)" -> "a". node_limit bounds the
/// e-graph. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_expression_simplify(const egraph_allocator *alloc, const char *rules_text,
                           const char *term, uint32_t node_limit, char **out);

#ifdef __cplusplus
}
#endif
#endif
