// The public API, part: optimization, for one device or many. Conventions as in egraph.h,
// which includes this.
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h" // it includes this header before the headers that need it

#ifndef EGRAPH_OPTIMIZE_H
#define EGRAPH_OPTIMIZE_H

#ifdef __cplusplus
extern "C" {
#endif

// ---- options ----------------------------------------------------------

/// The machine to optimize for.
typedef struct egraph_target {
  size_t size;         // size of this struct; its _default function sets it
  const char *machine; // a shipped machine ("dgx-h100"), this host ("host", one rank per
                       // processor), or a file (its name contains '/' or ends in
                       // ".machine"). A suffix "*8" sets the number of nodes, of "host"
                       // the number of ranks; ":reached" behind it prices by what the
                       // devices reach (machines/README.md). NULL: "host"
  const char *machine_text; // the text of a machine file; `machine` is then its name in
                            // messages. NULL: the machine is found by name
  const char *mesh;         // "node=2,gpu=4": axes whose sizes multiply to the number of
                    // devices. NULL: every mesh of the machine; the cheapest plan wins
  double memory_limit; // bytes per device; 0: the memory of the machine's devices
} egraph_target;
/// Defines egraph_target_default: "host", all meshes.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_TARGET, egraph_target)

/// A training step of the graph, instead of the graph itself.
typedef struct egraph_training {
  size_t size;           // size of this struct; its _default function sets it
  const char *optimizer; // "sgd", "momentum", "adam", "adamw". NULL: "sgd"
  const char *loss;      // loss of the first output: "softmax-cross-entropy",
                    // "softmax-cross-entropy-of-probabilities", "mean-squared-error".
                    // NULL: "softmax-cross-entropy"
  uint32_t micro_batches; // per step, each with the batch of the graph; 0: 1
  double clip_norm;       // largest norm of all gradients together; 0: no limit
  double weight_decay;    // times the weight: added to its gradient; with "adamw" times
                          // the learning rate and subtracted from the weight. Applies to
                          // every trained weight, biases and scales included, as in
                          // PyTorch
  // Patterns of weight names; '*' matches any characters. Borrowed during the call. A
  // weight that looks like a parameter (egraph_training_weights) is trained when it
  // matches a pattern of train_only (or none is given) and no pattern of freeze. A name
  // without '*' in train_only is trained whatever it looks like.
  const char *const *freeze, *const *train_only;
  uint32_t freeze_count, train_only_count;
  // NULL or "model": types are those of the model. Otherwise its float32 values are
  // computed in bfloat16; weights and states of the optimizer stay float32. "bf16": every
  // micro-batch casts the weights; gradients of weights are float32. "bf16-weights": a
  // copy w.copy of each weight w in bfloat16 is carried from step to step, gradients of
  // weights are bfloat16, their sums over micro-batches float32. "bf16-sums": these sums
  // are bfloat16, too
  const char *precision;
} egraph_training;
/// Defines egraph_training_default: "sgd", everything else 0.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_TRAINING, egraph_training)

#define EGRAPH_OPTION(type, name, initial, low, high, readers, help) type name;
/// Limits and options of the search. A search for a plan ignores the options that are
/// marked "one device".
typedef struct egraph_search {
  size_t size; // size of this struct; its _default function sets it
#include "egraph_search.def"
  const char *extractor; // one device: "ilp" (default), "dag" or "tree"
  const char *scheduler; // "backoff" (default), "yield" or "simple"
  egraph_math math;      // the class of the rules that may be applied
  const char *algorithm; // NULL: the library's own search; otherwise the name of another
                         // algorithm to compare with (--search of the command), under the
                         // same costs and rules. Some find graphs for one device, the
                         // others plans or pipelines
  // For a plan:
  bool no_fold; // search the whole step from the start. Otherwise a first search gives
                // equal blocks the same choices, and the whole step is searched from its
                // plan on, as far as its size allows
  bool no_recompute;  // keep all values of the forward pass that the backward pass reads.
                      // Otherwise, where the memory of devices is too small, the backward
                      // pass may make such values again
  bool algebra_first; // first choose the graph that is cheapest on one device, then split
                      // it: to compare with a joint search
  bool overlap; // choose the plan whose step is shortest when exchanges overlap with
                // computing (egraph_simulate). Candidates are the plan that is cheapest
                // without overlap, the baselines, and plans of further searches, which
                // take as much work again within the same time limit
  bool certify; // write a certificate (egraph_result_certificate); a quarter of the time
                // is reserved for it
  // For one device:
  bool explain; // record the rewrites that lead to the result
                // (egraph_result_explanation)
} egraph_search;
/// Defines egraph_search_default: the defaults of egraph_search.def.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_SEARCH, egraph_search)

/// Constraints of a plan, as a file, as statements, or both: "(pin w gpu=S0) (deliver y
/// gpu=S0) (forbid (all states) R)"; docs/plan.md describes the format. pin sets the
/// layout in which a value is produced, or in which an input or weight enters the step.
/// deliver sets the layout in which an output leaves the step; without it an output is
/// replicated, or leaves in the layout in which it enters the next step.
/// egraph_plan_run_* return whole outputs in every case.
typedef struct egraph_constraints {
  size_t size;             // size of this struct; its _default function sets it
  const char *file, *text; // NULL: nothing
} egraph_constraints;
/// Defines egraph_constraints_default: no constraints.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_CONSTRAINTS, egraph_constraints)

/// Well-known plans to compare with.
typedef struct egraph_baselines {
  size_t size; // size of this struct; its _default function sets it
  bool all; // also plan a single device, data parallelism, ZeRO-1, -2, -3 and a Megatron
            // grid on every mesh (egraph_plan_remarks)
  // Plan this baseline only: "single-device", "data-parallel", "zero-1", "zero-2",
  // "zero-3" or "megatron" (the last axis is tensor parallel), or a role per axis (idle,
  // data-parallel, zero-1, zero-2, zero-3, tensor, any): "node=idle,gpu=zero-1". Cost and
  // bound then hold over the plans of this baseline; a batch that its axes do not divide
  // is an error. NULL: every plan
  const char *only;
} egraph_baselines;
/// Defines egraph_baselines_default: no baselines.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_BASELINES, egraph_baselines)

/// Groups of options, borrowed during the call; each may be NULL.
typedef struct egraph_options {
  size_t size;                     // size of this struct; its _default function sets it
  const egraph_target *target;     // NULL: one device of this host
  const egraph_training *training; // NULL: inference
  const egraph_search *search;     // NULL: the defaults
  const egraph_constraints *constraints; // NULL: none
  const egraph_baselines *compare;       // NULL: no baselines
  /// Called now and then with the phase ("saturate", "search", "profile", "extract",
  /// "plan") and a line of text; "plan" also after every mesh. Returns true to cancel;
  /// egraph_optimize then returns the best result so far.
  bool (*progress)(void *user, const char *phase, const char *line);
  void *user;
} egraph_options;
/// Defines egraph_options_default: all groups NULL.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_OPTIMIZE_OPTIONS, egraph_options)

// ---- the search -----------------------------------------------------------------

/// The result of a search: a graph or a plan, and its report.
typedef struct egraph_result egraph_result;

/// Finds the cheapest graph that the rules derive from the given graph, and how to run it
/// on the target.
///
/// Without a target, training, constraints, baselines and a certificate, it optimizes for
/// one device: it saturates an e-graph with the rules within the budget, extracts the
/// cheapest equivalent graph under the cost model, and starts again from that graph until
/// a round gains nothing or a limit strikes. Under that model the result is never worse
/// than the input. egraph_search.algorithm selects another search for comparison: it
/// prices graphs with quickly chosen memory formats, and its best graph with optimal
/// ones.
///
/// Otherwise it searches for a plan: it chooses the rewrites of the graph (or of its
/// training step) and the split over the devices together, within the memory of a device.
/// The search starts from the cheapest baseline (each axis of the mesh is idle, data
/// parallel, ZeRO or tensor parallel), with rules from the cheapest plan that it finds
/// without them. When it ends without a proof, it plans the baselines that may be cheaper
/// in the remaining time, and the cheapest plan wins; the report counts the baselines
/// that were not planned.
///
/// An algorithm of the kind `plans` searches each mesh once instead. Its plan fits in
/// memory if a plan of some mesh does; among these its step is shortest when exchanges
/// overlap with computing. It gives no bound. egraph_report.excess_memory is positive
/// when the plan does not fit.
///
/// `rules` may be NULL: no rules. `costs` may be NULL: nothing is measured. For this
/// host, `costs` are used as they are. With `measure`, missing operators and messages are
/// measured on demand, for at most half of the time limit (the threads that exchange
/// messages call the allocator); without `measure` and with few entries, "host" is
/// assumed to be a plain processor. For another machine, entries of its device are read
/// from the database of the costs; with few entries, the figures of the machine are the
/// costs. Inputs enter and outputs leave in row-major order. Values computed from weights
/// alone are computed once and cost nothing. In a training step, those that rules derive
/// from frozen weights are recomputed in every step.
///
/// A limit that ends the search is reported and is no error; nor is it an error when no
/// plan fits. The result depends on the clock only when a time limit strikes, or when a
/// search for a plan ends without a proof: its parts have time limits, so a busy machine
/// may return another plan. With a work limit and without a time limit, only saturation
/// has a time limit. `options` may be NULL: the defaults. Fails with ARGUMENT (an option
/// out of range, an unknown algorithm, a mesh with another number of devices, nothing to
/// train, constraints that name nothing or leave no plan: "file:line:col: ..."), PARSE
/// (machine, mesh, constraints, database), IO, BUSY (database), TYPE (an unsound rule, a
/// loss that does not fit the output), UNSUPPORTED (for a plan: open dimensions,
/// operators without a gradient or of unknown type, an algorithm that finds graphs; for
/// one device: an algorithm that finds plans), MEMORY, INTERNAL when two proofs
/// contradict each other.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_optimize(
    const egraph_allocator *alloc, const egraph_graph *graph, const egraph_rules *rules,
    egraph_costs *costs, const egraph_options *options, egraph_result **out);
/// Frees the result; NULL is allowed.
EGRAPH_API void egraph_result_destroy(egraph_result *result);

/// Counts of operators by the source of their cost: given by override_cost; measured on
/// this machine; estimated by a model fitted to such measurements; by curves of what such
/// devices reach; or guessed from the figures of a machine or the model of a plain CPU
/// core, because nothing similar was measured (or one second, because no back-end runs
/// the operator). Operators that cost nothing are not counted. For a plan the counts are
/// of the steps of one device, reorders included; egraph_report.compared counts the
/// strategies of operators on all meshes.
typedef struct egraph_cost_basis {
  uint32_t given, measured, estimated;
  uint32_t reached; // by curves of what such devices reach (machines/README.md)
  uint32_t guessed;
  uint32_t unpriced; // operators outside the table: estimated from their bytes alone
} egraph_cost_basis;

/// Seconds are predicted for one run, or for one step with all its micro-batches, without
/// overlap. Bounds, gaps and statuses hold under these costs, and over
///   "all variants"      saturation of the given graph ended by itself: every graph that
///                       the rules derive from it, and no later round gained anything;
///   "variants reached"  a limit ended saturation (`stop`), or a later round gained: the
///                       graphs that the e-graphs contain. There may be cheaper graphs.
///   "all variants that ONNX Runtime loads"  as "all variants", without the variants that
///                       option loadable excluded (`left_out`).
/// Operators outside the table (basis.unpriced) have no price. Every figure contains an
/// estimate from their bytes; the status then speaks of the other operators: "optimal of
/// what is priced" in place of the two statuses below, and "nothing is priced" when there
/// are no others, so that nothing is proven (the bound is 0).
///
/// The status is "optimal" when the bound over all variants reaches the cost (for a plan:
/// no cheaper plan of the whole step, with all blocks free, has its peak memory within
/// the limit), "optimal of the variants reached" when the bound over the variants reached
/// does, and "feasible" otherwise. A search for a plan may also end with "infeasible"
/// (proven: no plan fits) or "unknown" (no plan found). Texts are borrowed from
/// the result.
typedef struct egraph_report {
  double cost_before; // cost of the given graph on one device; for a plan the least cost
                      // on one device, rules included (0: unknown)
  double cost_after;  // INFINITY: there is no plan
  double bound, gap;  // lower bound on cost_after (for a plan, over all meshes tried; 0:
                      // unknown); (cost_after - bound) / cost_after
  // The variants over which the bound holds. A plan computes each value once and converts
  // it to other layouts; a graph for one device may compute a value twice, in two memory
  // formats, and can then be cheaper than the plan for a machine of one device.
  const char *status, *proven_over;
  // Why saturation of the given graph ended: "saturated", "node-limit",
  // "iteration-limit", "time-limit", "byte-limit", "work-limit", "depth-limit" (of rules
  // with several left sides, option multi_depth), "cancelled" (also after saturation);
  // and the words that complete "saturation ...": "stopped at its node limit".
  const char *stop, *stop_words;
  // Why the search ended: "proven" (the bound meets the cost), "settled" (one device: the
  // last round gained nothing), "gap" (relative_gap), "round-limit", "node-limit",
  // "byte-limit" (of the last round's saturation), "work-limit" or "time-limit" (the
  // nearer of the two), "cancelled". With another algorithm (egraph_search.algorithm) it
  // is the same as `stop`.
  const char *ended;
  egraph_math math; // class of the rules that were applied; EGRAPH_MATH_EXACT, even if
                    // more is allowed, when constants that other rules fold
                    // would overflow
  uint32_t nodes, classes, iterations; // sums over the e-graphs of all rounds
  uint32_t nodes_before, nodes_after;  // nodes of the graph, weight-only nodes excluded;
                                       // for a training step all nodes, as given and
                                       // as planned
  uint32_t measured;                   // operators measured in this call
  egraph_cost_basis basis;             // counts for the operators of the optimized graph
  egraph_cost_basis compared;          // counts for all variants of operators that
                                       // were compared
  double total_seconds;

  // For one device; otherwise 0.
  double unpriced_seconds; // the part of cost_after that is estimated from bytes alone
  // Gaps of that estimate: values of unknown size of operators outside the table and in
  // their loops and branches, and the first such value (borrowed; NULL: none); loops with
  // an unknown number of trips, which count as one trip.
  uint32_t unsized_values, unknown_trips;
  const char *unsized_value;
  uint64_t left_out; // times that a rule produced an operator for which ONNX Runtime 1.32
                     // has no kernel (option loadable); such variants are excluded
  uint32_t rounds;   // each starts from the best graph of the earlier rounds
  bool settled; // the last round gained nothing (at most a relative 1e-5), and optimizing
                // the result again would gain nothing. False: a limit ended the rounds
  double tree_cost, dag_cost;         // costs of the greedy extractors
  double saturate_work, extract_work; // millions of steps, whatever the load
  double saturate_seconds, profile_seconds, extract_seconds;
  double explain_seconds;  // seconds for the explanation (egraph_search.explain)
  uint32_t measured_again; // measurements repeated because they decide (settle_limit)
  bool is_order_clear; // no other variant is within the measurement error of the optimum;
                       // true when this call measures nothing
  uint32_t busy;       // measurements of this call during which other programs used a
                       // quarter of the machine or more

  // For another algorithm; otherwise 0 and NULL. `stop` is then "exhausted",
  // "no-gain", "graph-limit", "time-limit", "work-limit", "byte-limit" or "cancelled",
  // and no bound is known.
  const char *algorithm;   // name of the algorithm
  uint64_t graphs_visited; // graphs whose rewrites were enumerated
  uint64_t graphs_queued;  // graphs to visit, the given one included
  uint64_t rewrites_tried; // matches of rules whose conditions hold
  double search_work;    // millions of steps, independent of the load. For a plan: of all
                         // searches for layouts, or of another algorithm
  double search_seconds; // without the choice of memory formats
  // For another algorithm for plans, which visits no graphs. `stop` then belongs to
  // saturation, `ended` to the search on the last mesh: "exhausted", "no-gain",
  // "work-limit", "time-limit" or "cancelled".
  uint64_t proposals;   // plans that were compared, on all meshes
  double excess_memory; // bytes missing on a device at the plan's peak; 0: it fits
  double peak_memory;   // for pipelines, which have no plan: bytes on the fullest device

  // For a plan; otherwise 0 and NULL.
  uint32_t meshes;     // meshes that were tried
  double memory_limit; // bytes per device; INFINITY: none
  double least_memory; // when no plan fits: the least peak of any plan found, or 0
  const char *seed;    // the baseline ("zero-1", "node=idle,gpu=zero-1") that the plan
                       // comes from, when the search found none as cheap; NULL otherwise
  uint32_t untried; // baselines on all meshes that may be cheaper and for which no time
                    // was left
  uint32_t blocks;  // equal blocks that shared their choices in the first search; or 0
  double checked; // the part of the bound that the certificate proves, on the mesh of the
                  // plan; 0: there is no certificate
  const char *uncertified; // why a requested certificate is missing, and the remedy; NULL
  double prepare_seconds, space_seconds, solve_seconds, certify_seconds;
  // With egraph_search.overlap or another algorithm, otherwise 0: seconds of the step
  // with overlap (without overlap, if the plan fits in memory only without it); a lower
  // bound on these seconds over all plans that fit in memory without overlap (with a
  // baseline, over its plans) and the same variants; the number of plans simulated.
  double overlapped, overlap_bound;
  uint32_t overlap_plans;
} egraph_report;
/// Returns the figures of a search, borrowed.
EGRAPH_API const egraph_report *egraph_result_report(const egraph_result *result);
/// Returns the optimized graph, borrowed; for a plan the step that the plan splits
/// (egraph_plan_graph). Returns NULL when the search found no plan, or the plan
/// was taken.
EGRAPH_API const egraph_graph *egraph_result_graph(const egraph_result *result);

/// Finds the operators of the optimized graph that are outside the table (other domains,
/// element types, strings, sequences, control flow). Such operators are kept and written;
/// their cost is estimated from bytes (for a loop or branch, from the bytes of its body),
/// and the executor does not run them. `index` counts the different operators from 0.
/// Returns the number of nodes of that operator and sets *out_operator (may be NULL;
/// borrowed); returns 0 past the last. O(nodes) times unpriced operators.
EGRAPH_API uint32_t egraph_result_unpriced(const egraph_result *result, uint32_t index,
                                           const char **out_operator);

/// A plan: how every operator of a graph is split over the devices of a machine, the
/// exchanges that this needs, the order of steps, their memory and their seconds
/// (egraph_plan.h).
typedef struct egraph_plan egraph_plan;
/// Returns the plan, borrowed; also for one device. Returns NULL when there is no plan
/// (egraph_result_take_plan says why).
EGRAPH_API const egraph_plan *egraph_result_plan(const egraph_result *result);
/// Moves the plan, with its graph, to the caller. The plan no longer depends on the
/// result, which then has no plan and no graph. Fails with ARGUMENT when there is no
/// plan, with the reason and a remedy: no plan fits, the limits ended the search, the
/// plan was taken, or the graph has open dimensions or operators of unknown type.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_result_take_plan(egraph_result *result,
                                                                  egraph_plan **out);

/// Returns a proof that the program check_certificate verifies: the plan as a choice of
/// layouts on its mesh, its cost, and a lower bound on the cost of all plans on that mesh
/// (egraph_report.checked). Borrowed text. Fails with ARGUMENT when there is no
/// certificate: none was requested, there is no plan, or for the reason in
/// egraph_report.uncertified.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_result_certificate(const egraph_result *result, const char **out);

/// Returns a text for egraph_replay, borrowed, that explains why the result equals the
/// given graph: instances of rules, and weights computed ahead. Fails with ARGUMENT
/// unless egraph_search.explain was set.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_result_explanation(const egraph_result *result, const char **out);

/// The steps that egraph_replay replayed.
typedef struct egraph_replay_report {
  uint32_t steps;     // instances of rules
  uint32_t rules;     // different rules
  uint32_t constants; // weights that were computed again
  egraph_math math;   // the weakest class of these rules
  double seconds;
} egraph_replay_report;
/// Replays an explanation of `result` without any search: it matches the left sides of
/// each step, checks its conditions and builds its right sides; equal operands give equal
/// results; weights computed ahead must have the very bytes that the reference kernels
/// compute. The rule set must contain the named rules, switched on or off. Not checked:
/// memory formats, names other than those of inputs and outputs, sizes of open dimensions
/// other than the first; numbers among the attributes of `result` may differ by a
/// rounding to float32, as in files. `file` is the name of the text in messages. Succeeds
/// when the result is equal. Otherwise fails with PARSE ("file:line:col: ..."), ARGUMENT
/// (naming the first wrong step, output or value), UNSUPPORTED (a constant that no kernel
/// computes), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_replay(const egraph_allocator *alloc, const egraph_graph *given,
              const egraph_graph *result, const egraph_rules *rules, const char *file,
              const char *explanation, egraph_replay_report *out);

/// The content of egraph_result_stages: the best pipeline with its stages; also all
/// pipelines that were compared; or everything as one JSON object.
typedef enum egraph_stages_form {
  EGRAPH_STAGES_BEST,
  EGRAPH_STAGES_ALL,
  EGRAPH_STAGES_JSON
} egraph_stages_form;
/// Returns as text the pipelines of a training step that an algorithm for pipelines found
/// ("alpa-stages", "megatron-grid", "min-cut"). Their seconds are simulated; they cannot
/// be run as a plan. egraph_report.cost_after is the time of the best pipeline, whether
/// it fits or not. Free with egraph_string_free. Fails with ARGUMENT after any
/// other search.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_result_stages(const egraph_allocator *alloc, const egraph_result *result,
                     egraph_stages_form form, char **out);

/// The effect of one rule in the search, over all rounds. Names are borrowed from the
/// result.
typedef struct egraph_rule_report {
  const char *name;
  uint64_t matches;  // matches whose conditions hold
  uint64_t rejected; // candidates that conditions rejected, and matches of wrong type
  uint32_t nodes, unions; // nodes added and unions made by its matches
  uint32_t bans;          // how often the scheduler suspended it
  double seconds;
} egraph_rule_report;
/// Returns for one device the number of rules of the set, in its order; for a plan 0.
EGRAPH_API uint32_t egraph_result_rule_count(const egraph_result *result);
/// Returns the effect of the index-th rule; index < egraph_result_rule_count.
EGRAPH_API egraph_rule_report egraph_result_rule(const egraph_result *result,
                                                 uint32_t index);
/// Returns as text, for one device, the origins of all nodes (egraph_result_origin), one
/// line per node; for a plan its steps (egraph_plan_print). Free with egraph_string_free.
/// Fails with ARGUMENT when there is no graph (egraph_result_graph).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_result_explain(
    const egraph_allocator *alloc, const egraph_result *result, char **out);

/// A floating-point weight of a model that the loss depends on.
typedef struct egraph_model_weight {
  const char *name; // borrowed from the graph
  const char *why;  // "trained", "frozen" (a parameter that the options exclude), "a
                    // mask", "one element" (added or multiplied), "a statistic" (of a
                    // batch normalization), "a constant"
  int64_t elements;
  bool is_trained;
  bool is_absent; // the weight has no data
} egraph_model_weight;
/// Calls `report` for every floating-point weight that the loss depends on, in the order
/// of the graph: the weights that a training step of the first output can train. The uses
/// of a weight decide its kind: operand of a product or convolution, scale or bias,
/// embedding table. Of `training` (may be NULL) only freeze and train_only are read.
/// Fails with ARGUMENT for a pattern that matches no weight, naming the closest name, and
/// for a graph without outputs.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_training_weights(
    const egraph_graph *graph, const egraph_training *training,
    void (*report)(void *user, const egraph_model_weight *weight), void *user);

/// A trained weight that is the parameter of several operators.
typedef struct egraph_tied_weight {
  const char *name; // borrowed from the graph, as all names
  int64_t elements;
  uint32_t use_count;     // 2 or more
  const char *const *ops; // [use_count] operators that use it, in the order of the graph
  const char *const *nodes; // [use_count] names of their first results
} egraph_tied_weight;
/// Calls `report` for every tied weight, in the order of the graph. Some ties are
/// intended: an embedding that is also the output projection. Others come from an
/// exporter that merges weights of equal initial values (PyTorch's: all gains of ones) by
/// shared names or Identity nodes; such weights are trained as one unless
/// egraph_training_untie separates them. `training` as in egraph_training_weights; the
/// arrays are borrowed during the call.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_training_ties(
    const egraph_graph *graph, const egraph_training *training,
    void (*report)(void *user, const egraph_tied_weight *weight), void *user);
/// Copies a model so that each use of the tied weights that match one of `count` patterns
/// ("*": all) has its own weight with the same data, ready to plan, train and save. The
/// first use keeps the name; the other uses take the name of the Identity through which
/// they read the weight, or "name_2" and so on. Fails with ARGUMENT for a pattern that
/// matches no tied weight, and as egraph_training_weights.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_training_untie(const egraph_graph *graph, const egraph_training *training,
                      const char *const *patterns, uint32_t count, egraph_graph **out);

#ifdef __cplusplus
}
#endif
#endif
