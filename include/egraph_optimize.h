// The public API, part: optimization, for one device or many. Conventions as in egraph.h,
// which includes this.
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h" // which includes this before what needs it

#ifndef EGRAPH_OPTIMIZE_H
#define EGRAPH_OPTIMIZE_H

#ifdef __cplusplus
extern "C" {
#endif

// ---- options ----------------------------------------------------------

/// The machine that the graph is to run on.
typedef struct egraph_target {
  size_t size;         // of this struct; set by its default
  const char *machine; // a shipped machine ("dgx-h100"), this host ("host", a rank for
                       // every processor), or a file (a '/' in it, or ".machine" at its
                       // end); "*8" behind it is the number of nodes, of "host" that of
                       // ranks. NULL: "host"
  const char *machine_text; // the machine itself, as a file would have it; `machine` then
                            // names it in messages. NULL: looked for by name
  const char *mesh;         // "node=2,gpu=4": axes, which multiply to the devices of the
                    // machine. NULL: all meshes of the machine, the cheapest plan wins
  double memory_limit; // bytes of a device; 0: what the machine has
} egraph_target;
/// "host", all meshes.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_TARGET, egraph_target)

/// A training step of the graph, instead of the graph itself.
typedef struct egraph_training {
  size_t size;           // of this struct; set by its default
  const char *optimizer; // "sgd", "momentum", "adam", "adamw". NULL: the first of these
  const char *loss; // "softmax-cross-entropy", "softmax-cross-entropy-of-probabilities",
                    // "mean-squared-error", of the first output. NULL: the first of these
  uint32_t micro_batches; // of the graph's batch each, in a step; 0: 1
  double clip_norm;       // largest norm of all gradients together; 0: no limit
  double weight_decay;    // added to gradients, times the weight; with "adamw" taken from
                          // the weight instead, times the learning rate. Of all that is
                          // trained, biases and scales among it, as PyTorch has it
  // Patterns of names of weights, in which '*' is any characters; kept during the call.
  // Of the weights that look like parameters (egraph_training_weights) those are trained
  // that match one of train_only (none given: all) and none of freeze. A name without '*'
  // in train_only is trained whatever it looks like.
  const char *const *freeze, *const *train_only;
  uint32_t freeze_count, train_only_count;
  bool mixed_precision; // computes in bfloat16 with float32 weights and states
} egraph_training;
/// "sgd", everything else 0.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_TRAINING, egraph_training)

#define EGRAPH_OPTION(type, name, initial, low, high, readers, help) type name;
/// Limits of the search, and its options. "One device" marks what a search for a plan
/// (egraph_optimize) does not read.
typedef struct egraph_search {
  size_t size; // of this struct; set by its default
#include "egraph_search.def"
  const char *extractor; // of one device: "ilp" (default), "dag" or "tree"
  const char *scheduler; // "backoff" (default), "yield" or "simple"
  egraph_math math;      // rules that may be applied
  const char *algorithm; // NULL: the product's own search; else that of another to
                         // compare with (--search of the command), at the same costs.
                         // Those that find graphs are of one device, by the same rules;
                         // those that find plans of a target, training or constraints
  // Of a plan:
  bool no_fold; // search the whole step from the start. Otherwise equal blocks in the
                // middle get the choices of one in a first search, from whose plan the
                // whole step is searched on, as far as its size allows
  bool algebra_first; // first the graph that is cheapest on one device, then how it is
                      // split, as if one did not depend on the other: to compare
  bool overlap; // of several plans take the one whose step is shortest when exchanges
                // run beside computing (egraph_simulate): of the one that is cheapest one
                // thing after the other, searched first, of baselines, and of those that
                // further searches find by as much work again, in the same time limit
  bool certify; // make a certificate (egraph_result_certificate); a quarter of the time
                // is kept for it
  // Of one device:
  bool explain; // keep which rewrites make the result (egraph_result_explanation)
} egraph_search;
/// The defaults of egraph_search.def.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_SEARCH, egraph_search)

/// Constraints of a plan, as a file, and as statements of one: "(pin w gpu=S0)
/// (deliver y gpu=S0) (forbid (all states) R)"; docs/plan.md has the format. pin says in
/// which layout a value is made, and an input or weight enters the step; deliver in which
/// one an output leaves it, however it was made: without it whole on every device, or as
/// it enters the next step. egraph_plan_run_* hand outputs out whole in any case.
typedef struct egraph_constraints {
  size_t size;             // of this struct; set by its default
  const char *file, *text; // NULL: nothing
} egraph_constraints;
/// None.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_CONSTRAINTS, egraph_constraints)

/// Well-known plans to compare with.
typedef struct egraph_baselines {
  size_t size; // of this struct; set by its default
  bool all; // plan single device, data parallel, ZeRO-1, -2, -3 and a Megatron grid too,
            // on every mesh (egraph_plan_remarks)
  // Plan "single-device", "data-parallel", "zero-1", "zero-2", "zero-3" or "megatron"
  // (its last axis is tensor parallel), or each axis as one of idle, data-parallel,
  // zero-1, zero-2, zero-3, tensor, any: "node=idle,gpu=zero-1". Cost and bounds are then
  // of its plans; a batch that its axes do not divide is an error. NULL: the cheapest of
  // all
  const char *only;
} egraph_baselines;
/// None.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_BASELINES, egraph_baselines)

/// Groups are borrowed during the call; each may be NULL.
typedef struct egraph_options {
  size_t size;                           // of this struct; set by its default
  const egraph_target *target;           // NULL: one device of this host
  const egraph_training *training;       // NULL: the graph itself, for inference
  const egraph_search *search;           // NULL: the defaults
  const egraph_constraints *constraints; // NULL: none
  const egraph_baselines *compare;       // NULL: with none
  /// Called now and then with the phase ("saturate", "search", "profile", "extract";
  /// "plan", also after every mesh) and a line about it; returns true to cancel: the best
  /// result so far is then returned.
  bool (*progress)(void *user, const char *phase, const char *line);
  void *user;
} egraph_options;
/// The defaults: all groups NULL.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_OPTIMIZE_OPTIONS, egraph_options)

// ---- the search -----------------------------------------------------------------

/// The result of a search: a graph or a plan, and its report.
typedef struct egraph_result egraph_result;

/// Finds the cheapest graph that the rules derive from the given one, and how it runs on
/// the target.
///
/// Of one device (no target, training, constraints, baselines or certificate): saturates
/// an e-graph with the rules within the budget, extracts the cheapest equivalent graph
/// under the cost model, and starts again from that graph until a round gains nothing or
/// a limit ends it. The result is never worse than the input under that model. With
/// egraph_search.algorithm another search does that, for comparison: it prices graphs
/// with memory formats that are chosen quickly, and those of its best graph exactly.
///
/// Otherwise a plan is searched: what the graph, or the training step of it, becomes by
/// rules, and how that is split over the devices, are chosen together, within the memory
/// of a device. The search begins with the cheapest baseline (every axis of the mesh
/// idle, data parallel, ZeRO or tensor parallel), and with rules from the cheapest plan
/// that is found without them. Where it ends without a proof, baselines that may be
/// cheaper are planned with the rest of the time, and the cheapest plan wins; the report
/// tells of those that the time did not suffice for.
///
/// With an algorithm of the kind `plans` it searches instead, each mesh once. The plan is
/// one that fits in memory where some mesh has one; of these the one whose step is
/// shortest when exchanges run beside computing. No bound is known.
/// egraph_report.excess_memory tells of a plan that does not fit.
///
/// `rules` may be NULL: the graph as it is. `costs` may be NULL: nothing is measured. Of
/// a target that is this host they are its costs; with `measure`, operators and messages
/// that they lack are measured as planning asks for them, in up to half of the time (the
/// allocator is called from the threads that exchange messages); without it, and with few
/// entries, "host" is a plain processor, by assumption. Of another machine the database
/// of the costs is read for entries of its device; where there are few, the machine's
/// figures are the costs. Inputs enter and outputs leave row-major. What weights alone
/// make is computed ahead, and free; but in a plan of a training step, where rules make
/// it of weights that are not trained, it is a part of every step.
///
/// Limits, and that nothing fits, are reported, not errors. The result depends on the
/// clock only where a time limit struck, and in a search for a plan that ends without a
/// proof: its parts have limits of time, too, so that a busy machine may find another
/// plan; but for saturation they have none where work is limited and time is not.
/// `options` may be NULL: the defaults. Fails with
/// ARGUMENT (an option out of range, an unknown algorithm, a mesh of another number of
/// devices, nothing to train, constraints that name nothing or leave no plan:
/// "file:line:col: ..."), PARSE (machine, mesh, constraints, database), IO, BUSY
/// (database), TYPE (an unsound rule, a loss that does not fit the output), UNSUPPORTED
/// (of a plan: open dimensions, operators without a gradient or of unknown type, an
/// algorithm that finds graphs; without one: an algorithm that finds plans), MEMORY,
/// INTERNAL when two proofs contradict each other.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_optimize(
    const egraph_allocator *alloc, const egraph_graph *graph, const egraph_rules *rules,
    egraph_costs *costs, const egraph_options *options, egraph_result **out);
/// Frees it; NULL is allowed.
EGRAPH_API void egraph_result_destroy(egraph_result *result);

/// The basis of the costs of operators: how many are given by override_cost, measured on
/// this machine, estimated by a model that was fitted to such measurements, or guessed
/// (by the figures of a machine, or the model of a plain CPU core: nothing like them was
/// measured; or a second, because no back-end runs them). Operators that cost nothing are
/// not counted. Of a plan: its steps, of one device's part, and reorders; compared are
/// the strategies of operators on all meshes.
typedef struct egraph_cost_basis {
  uint32_t given, measured, estimated, guessed;
  uint32_t unpriced; // operators outside the table: estimated from their bytes alone
} egraph_cost_basis;

/// Seconds are predicted ones: of one run, or of one step with all its micro-batches, one
/// thing after the other. Bounds, gaps and statuses hold under these costs, and over
///   "all variants"      saturation of the given graph ended by itself: every graph that
///                       the rules derive from it, and no later round gained anything;
///   "variants reached"  a limit cut saturation off (`stop`): the graphs that the
///                       e-graphs hold. There may be cheaper ones.
///   "all variants that ONNX Runtime loads"  as "all variants", but for those that option
///                       loadable left out (`left_out`).
/// Operators outside the table (basis.unpriced) have no price; an estimate from their
/// bytes is in all figures, and the status speaks of the others: "optimal of what is
/// priced" stands for the two below, and "nothing is priced" says that there are no
/// others, so that nothing is proven (the bound is 0).
/// The status is "optimal" when the bound meets the cost over all variants (of a plan: no
/// plan of the whole step, all blocks free, whose peak of memory is within the limit is
/// cheaper), "optimal of the variants reached" when it meets it over those, otherwise
/// "feasible"; of a plan also "infeasible" (proven), and "unknown": none was found. Texts
/// are borrowed from the result.
typedef struct egraph_report {
  double cost_before; // of the graph on one device; of a plan the least on one device,
                      // rules included, 0 where it is not known
  double cost_after;  // INFINITY: there is no plan
  double bound, gap; // lower bound on cost_after, of plans on all meshes that were tried,
                     // 0: none is known; (after - bound) / after
  // Over which variants the bound holds: plans make each value once and move it to where
  // and how else it is needed; a graph for one device may make a value twice, in two
  // memory formats, and can then be cheaper than the plan for a machine of one device.
  const char *status, *proven_over;
  // Why saturation of the given graph ended: "saturated", "node-limit",
  // "iteration-limit", "time-limit", "byte-limit", "work-limit", "depth-limit" (of rules
  // with several left sides, option multi_depth), "cancelled" (also later); and words
  // that complete "saturation ...": "stopped at its node limit".
  const char *stop, *stop_words;
  // Why the search ended: "proven" (the bound meets the cost), "settled" (one device: the
  // last round gained nothing), "gap" (relative_gap), "round-limit", "node-limit",
  // "byte-limit" (of the last round's saturation), "work-limit", "time-limit",
  // "cancelled". Of work and time, the one that was nearer. Of another
  // algorithm (egraph_search.algorithm) as `stop`.
  const char *ended;
  egraph_math math; // of the rules that were applied: EGRAPH_MATH_EXACT, whatever was
                    // allowed, where constants that other rules fold would overflow
  uint32_t nodes, classes, iterations; // of the e-graphs of all rounds together
  uint32_t nodes_before, nodes_after;  // of the graph, weight-only ones excluded; of a
                                       // training step all, as given and as planned
  uint32_t measured;                   // operators measured in this call
  egraph_cost_basis basis;             // of the optimized graph's operators
  egraph_cost_basis compared;          // of all variants of operators that were compared
  double total_seconds;

  // Of one device; otherwise 0.
  double unpriced_seconds; // the part of cost_after that is estimated from bytes alone
  // What that estimate leaves out: values whose sizes are not known, of operators outside
  // the table and in their loops and branches, and the first of them (borrowed; NULL:
  // none); loops whose trips are not known, so that they count as one trip.
  uint32_t unsized_values, unknown_trips;
  const char *unsized_value;
  uint64_t left_out; // times that a rule made an operator that ONNX Runtime 1.32 has no
                     // kernel for (option loadable): not taken
  uint32_t rounds;   // each from the best graph of those before
  bool settled; // the last one gained nothing (at most a relative 1e-5): optimizing the
                // result again would not either. False: a limit ended the rounds
  double tree_cost, dag_cost;         // costs of the greedy extractors
  double saturate_work, extract_work; // millions of steps: the same on a busy machine
  double saturate_seconds, profile_seconds, extract_seconds;
  double explain_seconds; // from what saturation kept to the explanation, if it was asked
                          // for (egraph_search.explain)
  uint32_t measured_again; // measurements repeated, because they decide (settle_limit)
  bool is_order_clear;     // no rival is within the errors of measured costs; true
                           // where nothing is measured in this call
  uint32_t busy;           // measurements of this call made while others used the
                           // machine (a quarter of it or more)

  // Of a search of another algorithm; otherwise 0 and NULL. `stop` is then "exhausted",
  // "no-gain", "graph-limit", "time-limit", "work-limit", "byte-limit" or "cancelled",
  // and no bound is known.
  const char *algorithm;   // its name
  uint64_t graphs_visited; // whose rewrites were looked at
  uint64_t graphs_queued;  // to be visited, the given one included
  uint64_t rewrites_tried; // matches of rules whose conditions hold
  double search_work;    // millions of steps: the same on a busy machine. Also of a plan:
                         // of all searches for layouts, or of another algorithm
  double search_seconds; // without the choice of memory formats
  // Of another algorithm for plans, which has no graphs or rewrites. `stop` is that of
  // saturation then, `ended` that of the search, on the last mesh: "exhausted",
  // "no-gain", "work-limit", "time-limit" or "cancelled".
  uint64_t proposals;   // plans that were compared, on all meshes
  double excess_memory; // bytes that a device lacks at the plan's peak; 0: it fits
  double peak_memory; // of pipelines, which have no plan: bytes of the device that holds
                      // most; otherwise 0

  // Of a plan; otherwise 0 and NULL.
  uint32_t meshes;     // that were tried
  double memory_limit; // bytes of a device; INFINITY: none
  double least_memory; // no plan, for lack of memory: the least peak of any plan that was
                       // made, or 0; otherwise 0
  const char *seed;    // baseline ("zero-1", "node=idle,gpu=zero-1") whose plan this is,
                       // because the search ended with none as cheap; NULL: the search's
  uint32_t untried;    // baselines that may be cheaper, on all meshes: the time was over
  uint32_t blocks; // equal blocks that shared the choices of one in the first search; 0
  double checked; // the part of the bound that the certificate proves, on the mesh of the
                  // plan; 0: there is none
  const char *uncertified; // why there is none for this plan, though one was asked for,
                           // and what would help; NULL
  double prepare_seconds, space_seconds, solve_seconds, certify_seconds;
  // With egraph_search.overlap or another algorithm, otherwise 0: seconds of the step
  // with exchanges beside computing (one thing after the other, where it does not fit in
  // memory otherwise); a lower bound of those of all plans that fit in memory one thing
  // after the other (with a baseline alone, of its plans), over the same variants; plans
  // simulated.
  double overlapped, overlap_bound;
  uint32_t overlap_plans;
} egraph_report;
/// The figures of a search.
EGRAPH_API const egraph_report *egraph_result_report(const egraph_result *result);
/// The optimized graph, borrowed; of a plan the step that it splits (egraph_plan_graph).
/// NULL: a search for a plan found none, or it was taken.
EGRAPH_API const egraph_graph *egraph_result_graph(const egraph_result *result);

/// Operators of the optimized graph that are outside the table (other domains, element
/// types, strings, sequences, control flow): kept and written, but estimated from their
/// bytes (of a loop or branch those of what it computes), and not run by the executor.
/// `index` counts different ones, from 0; returns how many nodes have it and sets
/// *out_operator (may be NULL; borrowed), or returns 0 past the last. O(nodes) times
/// unpriced ones.
EGRAPH_API uint32_t egraph_result_unpriced(const egraph_result *result, uint32_t index,
                                           const char **out_operator);

/// How every operator of a graph is split among the devices of a machine, the exchanges
/// that this takes, the order of steps, what they hold and how long they take
/// (egraph_plan.h).
typedef struct egraph_plan egraph_plan;
/// The plan, borrowed, of one device, too. NULL: there is none (egraph_result_take_plan
/// says why).
EGRAPH_API const egraph_plan *egraph_result_plan(const egraph_result *result);
/// Gives the plan to the caller, with its graph: it stands alone, and the result has
/// neither from then on. Fails with ARGUMENT where there is none, saying why and what
/// would help: nothing fits, the limits ended the search, it was taken, or the graph has
/// open dimensions or operators of unknown type.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_result_take_plan(egraph_result *result,
                                                                  egraph_plan **out);

/// A proof, which the program check_certificate derives again: the plan as a choice of
/// layouts on its mesh, its cost, and a lower bound of all on that mesh
/// (egraph_report.checked). Borrowed text. Fails with ARGUMENT where there is none: none
/// was asked for, there is no plan, or as egraph_report.uncertified says.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_result_certificate(const egraph_result *result, const char **out);

/// Why the result is equal to the given graph: instances of rules, and the weights that
/// were computed ahead, as a text for egraph_replay. Borrowed. Fails with ARGUMENT where
/// there is none: none was asked for (egraph_search.explain).
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_result_explanation(const egraph_result *result, const char **out);

/// What egraph_replay has replayed.
typedef struct egraph_replay_report {
  uint32_t steps;     // instances of rules
  uint32_t rules;     // different ones
  uint32_t constants; // weights that were computed again
  egraph_math math;   // what the rules together promise: the class that promises least
  double seconds;
} egraph_replay_report;
/// Replays an explanation of `result`: each step's left sides are matched, its conditions
/// hold, its right sides are built; equal operands make equal results; weights computed
/// ahead have the very bytes that the reference kernels make. Needs the rules that are
/// named, switched on or not, and no search. Not covered: memory formats, names but those
/// of inputs and outputs, sizes of open dimensions but the first; numbers among the
/// attributes of `result` may differ by a rounding to float32, as files do. `file` is the
/// name of the text for messages. Succeeds when the result is equal. Otherwise fails with
/// PARSE ("file:line:col: ..."), ARGUMENT (naming the first step, output or value that is
/// wrong), UNSUPPORTED (a constant that no kernel computes), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_replay(const egraph_allocator *alloc, const egraph_graph *given,
              const egraph_graph *result, const egraph_rules *rules, const char *file,
              const char *explanation, egraph_replay_report *out);

/// What is told of pipelines: the best one with its stages; all that were looked at, too;
/// or all as one JSON object.
typedef enum egraph_stages_form {
  EGRAPH_STAGES_BEST,
  EGRAPH_STAGES_ALL,
  EGRAPH_STAGES_JSON
} egraph_stages_form;
/// The pipelines of a training step that another search has found ("alpa-stages",
/// "megatron-grid", "min-cut"): their seconds are simulated, they have no plan to run.
/// egraph_report.cost_after has the seconds of the best, whether it fits or not. Free
/// with egraph_string_free. Fails with ARGUMENT where the search was another.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_result_stages(const egraph_allocator *alloc, const egraph_result *result,
                     egraph_stages_form form, char **out);

/// The effect of one rule in the search, in all rounds together. Names are borrowed from
/// the result.
typedef struct egraph_rule_report {
  const char *name;
  uint64_t matches;       // found, conditions hold
  uint64_t rejected;      // candidates ruled out by conditions, and matches by types
  uint32_t nodes, unions; // that its matches made
  uint32_t bans;          // how often the scheduler suspended it
  double seconds;
} egraph_rule_report;
/// Of one device as many as the rule set had, in its order; of a plan 0.
EGRAPH_API uint32_t egraph_result_rule_count(const egraph_result *result);
/// index < egraph_result_rule_count.
EGRAPH_API egraph_rule_report egraph_result_rule(const egraph_result *result,
                                                 uint32_t index);
/// Of one device the origins of all nodes (egraph_result_origin) as text: one line per
/// node. Of a plan its steps (egraph_plan_print). Free with egraph_string_free.
/// Fails with ARGUMENT where there is no graph (egraph_result_graph).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_result_explain(
    const egraph_allocator *alloc, const egraph_result *result, char **out);

/// A floating-point weight of a model that the loss depends on.
typedef struct egraph_model_weight {
  const char *name; // borrowed from the graph
  const char *why;  // "trained", "frozen" (a parameter that the options leave out), "a
                    // mask", "one element" (added or multiplied), "a statistic" (of a
                    // batch normalization), "a constant"
  int64_t elements;
  bool is_trained;
  bool is_absent; // its data
} egraph_model_weight;
/// Calls back for every such weight, in the order of the graph: what a training step of
/// its first output trains. Decided by the uses of a weight: operands of products and
/// convolutions, scales and biases, tables of embeddings. Of `training` (may be NULL)
/// freeze and train_only are read. Fails with ARGUMENT for a pattern that matches none,
/// naming the closest, and a graph without outputs.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_training_weights(
    const egraph_graph *graph, const egraph_training *training,
    void (*report)(void *user, const egraph_model_weight *weight), void *user);

/// A trained weight that is the parameter of several operators.
typedef struct egraph_tied_weight {
  const char *name; // borrowed from the graph, as all names
  int64_t elements;
  uint32_t use_count;     // 2 or more
  const char *const *ops; // [use_count] operators that use it, in the order of the graph
  const char *const *nodes; // [use_count] their first results
} egraph_tied_weight;
/// Calls back for every such weight, in the order of the graph. Some are meant: an
/// embedding that is the output projection, too. Others come from an exporter that merges
/// weights of equal initial values (PyTorch's: all gains of ones), through shared names
/// or Identity nodes: they are trained as one unless egraph_training_untie separates
/// them. `training` as in egraph_training_weights; the arrays are borrowed during the
/// call.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_training_ties(
    const egraph_graph *graph, const egraph_training *training,
    void (*report)(void *user, const egraph_tied_weight *weight), void *user);
/// A copy of a model in which each use of the tied weights that match one of `count`
/// patterns ("*": all) has a weight of its own, of the same data: to be planned, trained
/// and saved instead. The first use keeps the name; the others get that of the Identity
/// through which they read it, or "name_2" and so on. Fails with ARGUMENT for another
/// pattern that matches no tied weight, and as egraph_training_weights.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_training_untie(const egraph_graph *graph, const egraph_training *training,
                      const char *const *patterns, uint32_t count, egraph_graph **out);

#ifdef __cplusplus
}
#endif
#endif
