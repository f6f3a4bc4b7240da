// egraph: optimizes deep-learning graphs by equality saturation.
//
// This is the whole public API, with the headers that it includes. Conventions:
// - Fallible functions return egraph_status; egraph_last_error() describes the last
//   failure of the calling thread and is meaningful only right after it. Outputs are
//   untouched on failure.
// - A returned pointer is borrowed from the object it came from. The caller owns the
//   object in `T **out` of a create, load or run function, and destroys it (NULL is
//   allowed). The library does not keep `const T *` arguments unless a function says that
//   it does.
// - A pointer must not be NULL unless its function allows NULL; an array without elements
//   may be NULL. For a NULL that is not allowed, a function fails with ARGUMENT and names
//   the argument; a function without a status returns 0, false or NULL, as past the end
//   of a list.
// - Objects are thread-compatible: different objects may be used from different threads.
// - Times are in seconds, sizes in bytes, shapes in elements, row-major, ONNX operator
//   semantics.
// - The library never prints, exits or reads the environment. Its only global state is
//   the last error of each thread and the choice of egraph_use_own_threads.
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
/// Marks the functions that the shared library exports.
#define EGRAPH_API __attribute__((visibility("default")))
/// Marks functions whose status must not be ignored.
#define EGRAPH_NODISCARD __attribute__((warn_unused_result))
#else
#define EGRAPH_API
#define EGRAPH_NODISCARD
#endif

/// The version of these headers; egraph_version returns the version of the library.
#define EGRAPH_VERSION_MAJOR 0
#define EGRAPH_VERSION_MINOR 2
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
/// How a call ended: EGRAPH_STATUS_LIST.
typedef enum egraph_status { EGRAPH_STATUS_LIST(EGRAPH_STATUS_ENUM) } egraph_status_code;
#undef EGRAPH_STATUS_ENUM
/// The return type of functions: the same type under another name.
typedef egraph_status_code egraph_status;

/// Returns the name of a status, such as "out of memory"; never NULL.
EGRAPH_API const char *egraph_status_name(egraph_status status);
/// Returns the message of the last failure of this thread: what is wrong, where, and what
/// to do about it.
EGRAPH_API const char *egraph_last_error(void);
/// Returns the version of the library, "0.2.0".
EGRAPH_API const char *egraph_version(void);

// ---- memory ---------------------------------------------------------------------

/// An allocator: `resize` allocates, resizes and frees. new_size 0 frees and returns
/// NULL; pointer NULL allocates; otherwise the block of old_size bytes is resized and may
/// move. `resize` returns NULL for a new_size > 0 when memory is lacking; the old block
/// then stays valid. NULL in place of an allocator means the C heap. When options ask for
/// several threads, all of them call `resize` at once; it must allow that, as the C
/// heap does.
typedef struct egraph_allocator {
  void *self;
  void *(*resize)(void *self, void *pointer, size_t old_size, size_t new_size);
} egraph_allocator;

// ---- options --------------------------------------------------------------------

// Structs of options: id, name. The first member `size` is the size of the caller's
// struct: a struct of an older header is shorter, and members that it lacks have their
// defaults. A size of 0, or larger than this library knows, fails with ARGUMENT. NULL
// means the defaults.
//
//   egraph_load_options options = egraph_load_options_default();
//   options.batch = 8;
//
// In C, {.size = sizeof options, .batch = 8} is equivalent where the other defaults are
// 0. Seeds default to 1, except in egraph_extract_options and egraph_shard_options (0);
// egraph_search, egraph_training, egraph_terms_options and egraph_generate_options also
// have other defaults than 0.
#define EGRAPH_OPTIONS_LIST(X)                                                           \
  X(EGRAPH_LOAD_OPTIONS, egraph_load_options)                                            \
  X(EGRAPH_COSTS_OPTIONS, egraph_costs_options)                                          \
  X(EGRAPH_OPTIMIZE_OPTIONS, egraph_options)                                             \
  X(EGRAPH_TARGET, egraph_target)                                                        \
  X(EGRAPH_TRAINING, egraph_training)                                                    \
  X(EGRAPH_SEARCH, egraph_search)                                                        \
  X(EGRAPH_CONSTRAINTS, egraph_constraints)                                              \
  X(EGRAPH_BASELINES, egraph_baselines)                                                  \
  X(EGRAPH_SESSION_OPTIONS, egraph_session_options)                                      \
  X(EGRAPH_COMPARE_OPTIONS, egraph_compare_options)                                      \
  X(EGRAPH_PLAN_RUN_OPTIONS, egraph_plan_run_options)                                    \
  X(EGRAPH_EXTRACT_OPTIONS, egraph_extract_options)                                      \
  X(EGRAPH_SHARD_OPTIONS, egraph_shard_options)                                          \
  X(EGRAPH_TERMS_OPTIONS, egraph_terms_options)                                          \
  X(EGRAPH_SIMULATE_OPTIONS, egraph_simulate_options)                                    \
  X(EGRAPH_GENERATE_OPTIONS, egraph_generate_options)
#define EGRAPH_OPTIONS_ENUM(id, name) id,
/// The structs of options: EGRAPH_OPTIONS_LIST.
typedef enum egraph_options_kind {
  EGRAPH_OPTIONS_LIST(EGRAPH_OPTIONS_ENUM) EGRAPH_OPTIONS_KINDS
} egraph_options_kind;
#undef EGRAPH_OPTIONS_ENUM
/// Fills the first `size` bytes of a struct of options with the defaults, and its size.
EGRAPH_API void egraph_options_fill(egraph_options_kind kind, void *out, size_t size);
/// Defines <name>_default() for a struct. The function is compiled with the caller; the
/// size is therefore the size in the caller's header.
#define EGRAPH_OPTIONS_DEFAULT(id, name)                                                 \
  static inline name name##_default(void) {                                              \
    name options;                                                                        \
    egraph_options_fill(id, &options, sizeof options);                                   \
    return options;                                                                      \
  }

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
/// Types of elements: EGRAPH_DTYPE_LIST.
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

/// Returns the name of an element type, such as "float32".
EGRAPH_API const char *egraph_dtype_name(egraph_dtype dtype);
/// Returns the bytes of a row-major tensor; 0 when a dimension is negative or the
/// product overflows.
EGRAPH_API size_t egraph_tensor_bytes(const egraph_tensor *tensor);

// ---- graphs ---------------------------------------------------------------------

/// A model: values, and the operators that compute them.
typedef struct eg_graph egraph_graph;
/// A value (tensor) of a graph.
typedef struct egraph_value {
  uint32_t id;
} egraph_value;

/// Creates an empty graph; add inputs, weights, operators and outputs to it, in any
/// topological order.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_graph_create(const egraph_allocator *alloc, egraph_graph **out);
/// Frees the graph; NULL is allowed.
EGRAPH_API void egraph_graph_destroy(egraph_graph *graph);

/// The size of a symbolic dimension of a model's inputs.
typedef struct egraph_dim {
  const char *name; // name of the dimension in the file; if it has none,
                    // "INPUT.AXIS" ("x.0")
  int64_t size;
  const char *input; // set by egraph_graph_open_dim: first input with the dimension,
  uint32_t axis;     // and the axis there; not read elsewhere
} egraph_dim;

/// How a model is read.
typedef struct egraph_load_options {
  size_t size;   // size of this struct; its _default function sets it
  int64_t batch; // the size of the only symbolic dimension that `dims` does not name; in
                 // a model without symbolic dimensions the first dimension of every
                 // input. 0: not given
  const egraph_dim *dims;
  uint32_t dim_count;
  bool draw_weights; // a weight whose data file does not exist is absent, and its values
                     // are drawn from its name and a seed; false: an error
  bool fix_defaults; // an input with a default value (an ONNX initializer that is also a
                     // graph input) becomes a weight; false: it stays an input, and
                     // nothing is computed from it ahead of time
  const egraph_dim *examples; // example sizes of dimensions that stay open
  uint32_t example_count;
} egraph_load_options;
/// Defines egraph_load_options_default.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_LOAD_OPTIONS, egraph_load_options)

/// Reads a model: ONNX, or the text form when the name ends in ".egraph" (whose weights
/// may be declared without data). `options` NULL: everything 0. Operators outside the
/// table become opaque nodes.
///
/// Symbolic dimensions without a size stay open (egraph_graph_open_dim). Sizes computed
/// from them are expressions; rewritten graphs are equal at all sizes >= 1 that the model
/// admits. Costs and the types of tensors use example sizes. To run, plan or explain the
/// graph, load it with sizes. Nodes that need an open size are kept as they are in the
/// file. When `batch` replaces a fixed dimension, constant shapes of the file that
/// contain the batch follow; a model in which a shape cannot follow is refused.
///
/// Fails with IO (missing data), PARSE ("model.onnx: node 'conv1': ..."), TYPE, ARGUMENT
/// (a name that no symbolic dimension has; `batch` when several dimensions have no size),
/// UNSUPPORTED (a node that cannot have another batch).
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_graph_load(const egraph_allocator *alloc, const char *path,
                  const egraph_load_options *options, egraph_graph **out);
/// Reads a model from memory, otherwise like egraph_graph_load. `name` replaces the file
/// name: in messages, for the choice of the format by its ending, and for the folder of
/// external data.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_graph_parse(const egraph_allocator *alloc, const char *name, const void *bytes,
                   size_t size, const egraph_load_options *options, egraph_graph **out);
/// Returns the number of open dimensions of a graph.
EGRAPH_API uint32_t egraph_graph_open_dims(const egraph_graph *graph);
/// Fills *out with an open dimension and its example size. Fails with ARGUMENT past
/// the end.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_open_dim(const egraph_graph *graph,
                                                                uint32_t index,
                                                                egraph_dim *out);
/// Writes ONNX, or the text form when the name ends in ".egraph" (weights of more than 64
/// elements are then declared without their data). The file appears whole or not at all;
/// data beyond the limit of 2 GB goes to "<path>.data" next to it.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_save(const egraph_graph *graph,
                                                            const char *path);
/// Writes a graph as ONNX to memory, with all data; egraph_graph_text writes the text
/// form. Free the result with egraph_bytes_free. Fails with UNSUPPORTED beyond the limit
/// of 2 GB.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_pack(const egraph_allocator *alloc,
                                                            const egraph_graph *graph,
                                                            void **out, size_t *out_size);

/// Declares an input. Names are unique within a graph.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_graph_add_input(egraph_graph *graph, const char *name, egraph_dtype dtype,
                       uint32_t rank, const int64_t *dims, egraph_value *out);
/// Declares a weight; `data` (row-major) is copied. NULL: the weight is absent; its
/// values are drawn from its name and a seed when they are needed.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_add_weight(
    egraph_graph *graph, const char *name, egraph_dtype dtype, uint32_t rank,
    const int64_t *dims, const void *data, egraph_value *out);
/// Adds an operator of the table (egraph_operators_text). `op` is its spelling;
/// `attributes` are written as in rule files: ":strides [2 2] :pads [1 1 1 1]" (NULL: the
/// defaults, when every attribute has one). `name` names the node, not its results; it
/// may be NULL. out_results has room for the operator's results. Fails with ARGUMENT for
/// an unknown operator or value, TYPE when operands do not fit, PARSE when the attributes
/// are malformed or an attribute without default is missing.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_add(
    egraph_graph *graph, const char *name, const char *op, const char *attributes,
    const egraph_value *inputs, uint32_t count, egraph_value *out_results);
/// Makes a value the next output, under a name unique among the outputs (NULL: the
/// value's own). Fails with ARGUMENT for an unknown value or a name that is taken.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_add_output(egraph_graph *graph,
                                                                  const char *name,
                                                                  egraph_value value);

/// Figures of a graph.
typedef struct egraph_graph_info {
  uint32_t nodes, opaque_nodes, inputs, outputs, weights;
  uint32_t absent_weights; // declared without data
  double flops;            // operations of one run, without nodes that depend on
                           // weights alone
  size_t weight_bytes;     // absent weights included
} egraph_graph_info;
/// Returns the figures of a graph. O(size of the graph).
EGRAPH_API egraph_graph_info egraph_graph_info_of(const egraph_graph *graph);
/// Returns name (borrowed) and type (data is NULL) of the index-th input or output. Fails
/// with ARGUMENT past the end, UNSUPPORTED for an output whose type is unknown (a result
/// of an opaque operator).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_input(const egraph_graph *graph,
                                                             uint32_t index,
                                                             const char **out_name,
                                                             egraph_tensor *out_type);
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_output(const egraph_graph *graph,
                                                              uint32_t index,
                                                              const char **out_name,
                                                              egraph_tensor *out_type);
/// Returns name, type and row-major data of the index-th weight, borrowed; data is NULL
/// when the weight is absent. Fails with ARGUMENT past the end. O(values of the graph).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_weight(const egraph_graph *graph,
                                                              uint32_t index,
                                                              const char **out_name,
                                                              egraph_tensor *out);
/// Finds a weight by name. Fails with ARGUMENT when the graph has no such weight.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_graph_find_weight(const egraph_graph *graph, const char *name, egraph_tensor *out);
/// Writes the text form of a graph; free with egraph_string_free and the same allocator.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_graph_text(const egraph_allocator *alloc,
                                                            const egraph_graph *graph,
                                                            char **out);
/// Returns the operator table as text, one line for each operator: spelling, operands,
/// results, attributes with their defaults, and the ONNX operator. Free
/// with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_operators_text(const egraph_allocator *alloc, char **out);
/// Frees a text that this library returned (NULL is allowed); `alloc` is the allocator of
/// that call.
EGRAPH_API void egraph_string_free(const egraph_allocator *alloc, char *text);
/// Frees bytes that a function ..._pack returned; `size` is the size that it returned.
EGRAPH_API void egraph_bytes_free(const egraph_allocator *alloc, void *bytes,
                                  size_t size);

// ---- rewrite rules --------------------------------------------------------------

/// Classes of rules, by what they may change in results. A caller allows a class and the
/// classes before it. rewrites/CLASSES.md says how they are checked.
///   exact        the same bits (any NaN equals any other)
///   associative  sums and products are regrouped, constants folded: rounding, the sign
///                of a zero, and overflow of intermediate results may change. Unless
///                intermediate results overflow, non-finite results stay non-finite (an
///                infinity may become NaN), and finite results stay finite.
///   fast         for ordinary numbers only: log(exp(x)) = x, x - x = 0
typedef enum egraph_math {
  EGRAPH_MATH_EXACT = -1,
  EGRAPH_MATH_ASSOCIATIVE = 0, // the default
  EGRAPH_MATH_FAST = 1
} egraph_math;
/// Returns the name of a class, such as "exact"; NULL for another number.
EGRAPH_API const char *egraph_math_name(egraph_math math);
/// Finds a class by name; returns false when no class has that name.
EGRAPH_API bool egraph_math_find(const char *name, egraph_math *out);

/// A set of rewrite rules.
typedef struct eg_rules egraph_rules;

/// Creates an empty rule set; add the shipped rules, files, or text to it.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_rules_create(const egraph_allocator *alloc, egraph_rules **out);
/// Frees the rules; NULL is allowed.
EGRAPH_API void egraph_rules_destroy(egraph_rules *rules);
/// Adds the rules shipped with the library. Rules of the files explore-*, which only make
/// variants, are off; switch them on with egraph_rules_enable.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_add_builtin(egraph_rules *rules);
/// Sets whether rules added later are used as they are (true) or verified first (false,
/// the default): on a few random instances each, some milliseconds, and by the tests of
/// the file.
EGRAPH_API void egraph_rules_trust(egraph_rules *rules, bool trust);
/// Adds the rules of a file. Fails with PARSE, "file:line:col: what is wrong; what to
/// do", and then adds nothing of the file; with "file:line: ..." and a counterexample for
/// a rule that does not hold or is not in its declared class, and for a test that fails.
/// A rule that repeats a shipped rule of the set is no error: it switches that rule on,
/// and is listed by egraph_rules_implied_at under its own name.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_add_file(egraph_rules *rules,
                                                                const char *path);
/// Adds rules from memory, otherwise like egraph_rules_add_file; `name` replaces the file
/// name in messages.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_add_text(egraph_rules *rules,
                                                                const char *name,
                                                                const char *text);
/// Adds published substitutions: protocol-buffer files of TASO and FlexFlow (Unity),
/// FlexFlow's JSON of the same, Tensat's texts. A substitution that holds, and that
/// neither shipped rules nor layouts imply, becomes a rule with attributes as general as
/// possible. `report` (may be NULL) is called for each, with `outcome` "tested" (added),
/// "holds-if" (added with a guard), "implied" (with the rules), "duplicate", "refuted"
/// (with the counterexample), or "not-convertible" (with the reason). Fails with PARSE or
/// IO.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_import(
    egraph_rules *rules, const char *path,
    void (*report)(void *user, uint32_t number, const char *outcome, const char *detail),
    void *user);
/// Switches a rule, or all rules of a file by its stem, on or off. Fails with ARGUMENT
/// when there is no such rule or file.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_enable(egraph_rules *rules,
                                                              const char *name, bool on);
/// The origin and the state of a rule.
typedef struct egraph_rule_info {
  const char *name, *source, *file; // borrowed
  uint32_t line;
  const char *known_as; // the rule that it repeats; NULL: none
  egraph_math math;     // its declared class
  bool is_on;           // egraph_rules_enable; applied when its class is allowed, too
} egraph_rule_info;
/// Counts rules; a two-way rule counts as two.
EGRAPH_API uint32_t egraph_rules_count(const egraph_rules *rules);
/// Returns the index-th rule; index < egraph_rules_count.
EGRAPH_API egraph_rule_info egraph_rules_at(const egraph_rules *rules, uint32_t index);
/// Counts implied rules: rules with parallel operators that follow from layouts (without
/// these operators both sides are the same term, or the rule exists already), and rules
/// of a user that are shipped. They are verified and printed; optimizing and planning do
/// not need them.
EGRAPH_API uint32_t egraph_rules_implied_count(const egraph_rules *rules);
/// Returns the index-th implied rule; index < egraph_rules_implied_count.
EGRAPH_API egraph_rule_info egraph_rules_implied_at(const egraph_rules *rules,
                                                    uint32_t index);
/// Verifies the rules: types and evaluates both sides with the reference kernels on small
/// random instances, exactly in integers or float64 where the operators allow it; runs
/// the tests of the rule files; for parallel operators checks that both sides have the
/// same layout. Calls `report` (may be NULL) once per rule, implied rules last, then for
/// each failed test as rule "(test)". *out_rejected counts the failures.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_verify(
    const egraph_rules *rules, uint64_t seed,
    void (*report)(void *user, const char *rule, bool accepted, const char *detail),
    void *user, uint32_t *out_rejected);
/// A class of instances of a rule, as "stride 3 of max-pool" or "rank 2 of ?x".
typedef struct egraph_rule_class {
  const char *name;
  uint32_t instances; // instances compared
  const char *reason; // why no instance was compared; NULL: some were, or unknown
} egraph_rule_class;
/// Counts of instances of a rule with parallel operators. The instances ran on `ranks`
/// simulated ranks per axis and gave the same results (forward) and gradients (backward)
/// as one device.
typedef struct egraph_rank_runs {
  uint32_t ranks, forward, backward;
} egraph_rank_runs;
/// The evidence of the verification of a rule.
typedef struct egraph_rule_evidence {
  const char *rule;
  bool is_accepted;
  const char *detail;               // detail that egraph_rules_verify reports
  uint32_t instances, exact;        // instances compared; the part compared
                                    // without rounding
  const egraph_rule_class *classes; // [class_count]: all classes of the left side
  uint32_t class_count, reached;    // reached: classes with an instance
  uint32_t largest_rank;            // largest rank of the operands compared
  int64_t largest_dim;
  const egraph_rank_runs *rank_runs; // [rank_run_count]; none without parallel operators
  uint32_t rank_run_count;
  const char *no_backward; // why instances have no gradient; NULL: all have one
  /// "tested": it holds on all instances, in its declared class; "holds-as": only in the
  /// class `math`, see `detail`; "refuted": in no class; "untested": too few instances
  /// were found.
  const char *verdict;
  egraph_math math;
} egraph_rule_evidence;
/// Verifies as egraph_rules_verify does, and reports the evidence of every rule. The
/// arguments of `report` are valid during the call.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_rules_examine(const egraph_rules *rules, uint64_t seed,
                     void (*report)(void *user, const egraph_rule_evidence *evidence),
                     void *user, uint32_t *out_rejected);
/// The proof of a rule: both sides are equal for all ranks, sizes and attribute values
/// that its types and conditions allow.
typedef struct egraph_rule_proof {
  const char *rule;
  bool is_proved;
  const char *reason; // why it is not proved; it may still be true
  uint32_t cases;     // combinations of ranks, axes and flags proved with symbolic sizes
  uint32_t ranks;     // the largest rank of these; larger ranks follow
} egraph_rule_proof;
/// Tries to prove every rule. Calls `report` (may be NULL) once per rule that layouts do
/// not imply; its arguments are valid during the call. *out_proved counts the proved
/// rules.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_prove(
    const egraph_rules *rules, void (*report)(void *user, const egraph_rule_proof *proof),
    void *user, uint32_t *out_proved);
/// The derivation of a rule from proved rules, on instances. It shows that the rule holds
/// for all data of these instances, not for all sizes; its steps were
/// replayed (egraph_replay).
typedef struct egraph_rule_derivation {
  const char *rule;
  bool is_proved;     // proved for all sizes: the rule is an axiom for other rules and is
                      // not derived itself
  bool is_derived;    // derived on all instances tried, of different sizes if the rule
                      // allows them
  const char *reason; // why the rule is neither proved nor derived
  const char *from;   // the proved rules that the steps use
  uint32_t instances, steps;
} egraph_rule_derivation;
/// Tries to prove every rule, and derives unproved rules from proved rules of the same or
/// a stricter class; only the first case of a rule with parameters. Calls `report` (may
/// be NULL) once per rule that layouts do not imply; its arguments are valid during the
/// call. *out_derived counts the rules that are derived and not proved. Equal seeds give
/// equal reports. Fails with INTERNAL when an equality is found that its explanation does
/// not show, and with MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_rules_derive(const egraph_rules *rules, uint64_t seed,
                    void (*report)(void *user, const egraph_rule_derivation *derivation),
                    void *user, uint32_t *out_derived);
/// A small instance of a rule as a script for an SMT solver (SMT-LIB 2.6, such as Z3):
/// "unsat" means that the sides are equal for all real data of these sizes.
typedef struct egraph_rule_question {
  const char *rule;
  const char *script; // NULL: the rule cannot be exported
  const char *reason; // why the rule cannot be exported, or why the script is
                      // not decisive
  bool is_decisive; // "sat" means that the rule is wrong: the script contains no function
                    // with missing identities (exp, ...) and no rounded constant
} egraph_rule_question;
/// Reports the script of every rule that layouts do not imply; only the first case of a
/// rule with parameters. The arguments of `report` (may be NULL) are valid during the
/// call. Equal seeds give equal scripts. Fails with MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_smt(
    const egraph_rules *rules, uint64_t seed,
    void (*report)(void *user, const egraph_rule_question *question), void *user);
/// Returns the canonical text of all rules; free it with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_text(const egraph_allocator *alloc,
                                                            const egraph_rules *rules,
                                                            char **out);

// ---- costs ----------------------------------------------------------------------

/// Costs of operators: a profile database, and a machine to measure on.
typedef struct egraph_costs egraph_costs;

/// A node as override_cost sees it. Borrowed during the call.
typedef struct egraph_cost_query {
  const char *op;
  const char *text; // the key of the profile database: operator, attributes, and the
                    // types of operands and results ("float32[1,64,56,56]@nhwc")
  double flops, bytes;
} egraph_cost_query;

/// Where costs come from.
typedef struct egraph_costs_options {
  size_t size;          // size of this struct; its _default function sets it
  const char *database; // profile database (SQLite); NULL: in memory
  const char *backend;  // as in egraph_session_options
  uint32_t threads;     // threads of the profiled executor; 0: 1
  bool read_only;       // never write to the database
  bool measure;         // measure operators that the database lacks; otherwise estimate
  bool again;           // with `measure`, for one device: also measure operators of the
                        // database once more, and replace their entries
  /// The caller's cost of an operator: the function returns true and sets *out_seconds (0
  /// or more, or INFINITY: cannot run), or false to use the model. May be NULL, as
  /// may `progress`.
  bool (*override_cost)(void *user, const egraph_cost_query *query, double *out_seconds);
  /// Called while measuring for one device; returns true to stop measuring (the rest is
  /// estimated). Searches for plans measure on demand and call
  /// egraph_options.progress instead.
  bool (*progress)(void *user, uint32_t done, uint32_t total);
  void *user;
} egraph_costs_options;
/// Defines egraph_costs_options_default.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_COSTS_OPTIONS, egraph_costs_options)

/// Opens costs. `options` may be NULL: costs are estimated, nothing is stored. Fails with
/// IO, BUSY (another process has locked the database), PARSE (not a profile database, or
/// of another version), ARGUMENT for an unknown back-end.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_costs_create(const egraph_allocator *alloc, const egraph_costs_options *options,
                    egraph_costs **out);
/// Frees the costs; NULL is allowed.
EGRAPH_API void egraph_costs_destroy(egraph_costs *costs);
/// Returns the text (borrowed) that identifies this machine, back-end and thread count in
/// the database.
EGRAPH_API const char *egraph_costs_machine(const egraph_costs *costs);
/// Counts the entries of this machine in the database.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_entries(egraph_costs *costs,
                                                               uint32_t *out);
/// Predicts the seconds of one run of a graph, in its memory formats.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_predict(egraph_costs *costs,
                                                               const egraph_graph *graph,
                                                               double *out_seconds);

/// The cost of an operator of a graph, and the basis of that cost.
typedef struct egraph_cost_entry {
  const char *node;   // the first result's name
  const char *text;   // the key of the profile database
  double seconds;     // INFINITY: the back-end cannot run it
  const char *source; // "given", "measured", "estimated", "free", or
                      // "unpriced": outside the table, estimated from its bytes
  uint32_t samples;   // timings, whose median is the cost; 0: unknown, as are the
                      // fields below
  double spread;      // seconds: half of the interquartile range
  double load;        // tasks of other programs during the timings, per core
  int64_t date;       // seconds since 1970
} egraph_cost_entry;
/// Calls `each` for every operator of a graph, in order. Strings are valid during the
/// call. Stops at the first failure of `each`, and returns it.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_visit(
    egraph_costs *costs, const egraph_graph *graph,
    egraph_status (*each)(void *user, const egraph_cost_entry *entry), void *user);

// ---- execution ------------------------------------------------------------------

/// Lets the kernels of back-end "cpu" run on threads of egraph instead of the threads of
/// the OpenMP runtime that oneDNN calls. The call affects back-ends created later
/// (sessions, costs, ranks), until the process ends. Use it where several ranks or busy
/// programs share the processors: an OpenMP thread that waits spins for milliseconds,
/// unless OMP_WAIT_POLICY is "passive" in the environment. With one thread the call
/// changes nothing. Results have the same bits. The change rewrites six entries of
/// oneDNN's own table of imported functions ("GOMP_parallel" and others); calls of other
/// objects stay as they are, and calls of oneDNN by threads that run no back-end of
/// egraph still reach the OpenMP runtime. Returns false, with nothing changed, when the
/// system or this build of oneDNN does not allow the change.
EGRAPH_API bool egraph_use_own_threads(void);

/// A graph that is ready to run.
typedef struct egraph_session egraph_session;

/// How a graph runs.
typedef struct egraph_session_options {
  size_t size;         // size of this struct; its _default function sets it
  const char *backend; // NULL: "cpu"; "reference": plain C kernels; "cuda": the plugin
                       // next to the library, "cuda:FILE": the plugin FILE
  uint32_t threads;    // 0 means 1
  uint64_t seed;       // seed of the values of absent weights
} egraph_session_options;
/// Defines egraph_session_options_default: seed 1, everything else 0.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_SESSION_OPTIONS, egraph_session_options)

/// Compiles a graph: packs its weights and plans its memory. The graph must live as long
/// as the session. `options` may be NULL: the defaults, seed 1. Fails with UNSUPPORTED
/// naming an operator that cannot run, ARGUMENT for an unknown back-end.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_session_create(const egraph_allocator *alloc, const egraph_graph *graph,
                      const egraph_session_options *options, egraph_session **out);
/// Frees the session; NULL is allowed.
EGRAPH_API void egraph_session_destroy(egraph_session *session);
/// Runs the graph once. inputs[i] and outputs[i] are its i-th input and output, of their
/// declared types. Allocates nothing; signals for the calling thread are delivered after
/// the run; its floating-point environment (flags, traps, rounding) is unchanged. Fails
/// with ARGUMENT for a wrong count or absent data, TYPE for a tensor of another type.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_session_run(egraph_session *session,
                                                             const egraph_tensor *inputs,
                                                             uint32_t input_count,
                                                             const egraph_tensor *outputs,
                                                             uint32_t output_count);
/// Fills a tensor with seeded values for the input `name`.
EGRAPH_API void egraph_draw_input(const char *name, uint64_t seed,
                                  const egraph_tensor *tensor);

/// How two graphs are compared.
typedef struct egraph_compare_options {
  size_t size;               // size of this struct; its _default function sets it
  const char *backend;       // as in egraph_session_options
  uint32_t threads, repeats; // 0 means 1 thread, 10 repeats
  uint64_t seed;
} egraph_compare_options;
/// Defines egraph_compare_options_default: seed 1, everything else 0.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_COMPARE_OPTIONS, egraph_compare_options)
/// The difference between the results of two graphs, and their times.
typedef struct egraph_comparison {
  // The largest error of any output: its largest absolute difference, divided by the
  // largest absolute value of a's output. Infinite when only one of two values is NaN, or
  // infinities differ.
  double max_error;
  // For quantized outputs (int8 and the like, or after a DequantizeLinear): the largest
  // difference in quantization steps, the number of elements that differ, and the number
  // of these that rounding does not explain: the value before rounding is not within
  // rounding error of a half, and earlier quantizations do not move it that far.
  double max_steps;
  uint64_t quanta_differ, quanta_unexplained;
  double plain_error;                  // as max_error, over the outputs that are
                                       // not quantized
  uint64_t not_finite_a, not_finite_b; // elements of the outputs: NaN or infinite
  double time_a, time_b; // median seconds of one run, measured in turn in this process
} egraph_comparison;
/// Runs two graphs on the same seeded data and compares their outputs. The i-th inputs of
/// both graphs get the same data (names may differ). `options` may be NULL: the defaults,
/// seed 1. Fails with ARGUMENT when the number or the types of inputs or outputs differ.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_compare(
    const egraph_allocator *alloc, const egraph_graph *a, const egraph_graph *b,
    const egraph_compare_options *options, egraph_comparison *out);

/// A step of a session and its cost. Strings are borrowed.
typedef struct egraph_step {
  const char *node, *op, *kernel;
  double seconds, flops, bytes;
} egraph_step;
/// Runs `repeats` times (0: once) on seeded inputs, after one run that is not counted,
/// and reports every step with its mean seconds. Allocates inputs and outputs.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_session_steps(egraph_session *session, uint64_t seed, uint32_t repeats,
                     void (*report)(void *user, const egraph_step *step), void *user);

/// The predicted and the measured seconds of a graph.
typedef struct egraph_validation {
  double predicted;        // seconds of one run: the sum over its operators
  double measured;         // measured seconds: the median of whole runs
  double transfers;        // seconds of a run outside operators: reading inputs, writing
                           // outputs
  double steps;            // sum of the operators' median times inside a run
  double rank_correlation; // Spearman, predicted against measured, over operators
  double mean_error; // sum of |predicted - measured| / sum of measured, over operators
  uint32_t operators;
} egraph_validation;
/// Runs a graph `repeats` times (0: once) on inputs drawn from the seed and compares
/// every operator with its predicted cost.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_validate(egraph_costs *costs,
                                                                const egraph_graph *graph,
                                                                uint32_t repeats,
                                                                uint64_t seed,
                                                                egraph_validation *out);

#ifdef __cplusplus
}
#endif

#include "egraph_arrays.h"   // IWYU pragma: export
#include "egraph_extract.h"  // IWYU pragma: export
#include "egraph_generate.h" // IWYU pragma: export
#include "egraph_optimize.h" // IWYU pragma: export
#include "egraph_plan.h"     // IWYU pragma: export
#include "egraph_refine.h"   // IWYU pragma: export
#include "egraph_simulate.h" // IWYU pragma: export
#include "egraph_terms.h"    // IWYU pragma: export
#include "egraph_walk.h"     // IWYU pragma: export

#endif
