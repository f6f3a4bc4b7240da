// The public API, part: plans for several devices. Conventions as in
// egraph.h, which includes this.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_PLAN_H
#define EGRAPH_PLAN_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- plans for several devices ----------------------------------------------------

/// How every operator of a model is split among the devices of a machine, and the
/// exchanges that this takes. A plan stands alone: graph and options may go.
typedef struct egraph_plan egraph_plan;

typedef struct egraph_plan_options {
  size_t size;         // of this struct; set by its default
  const char *machine; // a shipped machine ("dgx-h100"), this host ("host"), or a file (a
                       // '/' in it, or ".machine" at its end); "*8" behind it is the
                       // number of nodes, of "host" that of ranks. NULL: "host"
  const char *machine_text; // the machine itself, as a file would have it; `machine` then
                            // names it in messages. NULL: looked for by name
  const char *mesh;         // "node=2,gpu=4": axes, which multiply to the devices of the
                    // machine. NULL: all meshes of the machine, the cheapest plan wins
  const char
      *optimizer;   // "sgd", "momentum", "adam", "adamw": a training step is planned;
                    // NULL: the forward graph alone, and what follows is not read
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
  double memory_limit;  // bytes of a device; 0: what the machine has
  double time_limit;    // seconds in all, the second limit; 0: 360, or none where
                        // work_limit is given
  uint64_t work_limit;  // of all searches, in millions of elementary steps (about a
                        // millisecond of a core each): the same plan on a busy machine,
                        // too. 0: 60,000, or 1,000 per second of time_limit
  double relative_gap;  // stop at (cost - bound) / cost; negative: prove the optimum;
                        // 0: prove it, but stop at 0.1 % once a search has done 3,000
                        // million steps
  bool no_fold; // search the whole step from the start. Otherwise equal blocks in the
                // middle get the choices of one in a first search, from whose plan the
                // whole step is searched on, as far as its size allows
  const egraph_rules *rules; // variants of the graph to choose from, together with how it
                             // is split; read during the call. NULL: the graph as it is
  egraph_math math;          // rules that may be applied
  uint64_t node_limit, iteration_limit; // of saturation; 0: 20000, 12
  double saturate_time_limit;           // seconds; 0: 15
  const char *database; // profile database (SQLite, only read) with entries of the
                        // machine's device. NULL, or few entries: the machine's figures
  bool measure; // of "host": operators and messages that the database lacks are measured
                // as planning asks for them, in up to half of the time, and written
                // there; the allocator is called from the threads that exchange messages.
                // Without it "host" is a plain processor, by assumption
  bool algebra_first; // first the graph that is cheapest on one device, then how it is
                      // split, as if one did not depend on the other: to compare
  // What the plan must keep to, as a file, and as statements of one: "(pin w gpu=S0)
  // (deliver y gpu=S0) (forbid (all states) R)"; the README has the format. pin says in
  // which layout a value is made, and an input or weight enters the step; deliver in
  // which one an output leaves it, however it was made: without it whole on every device,
  // or as it enters the next step. egraph_plan_run hands outputs out whole in any case.
  // NULL: nothing
  const char *constraints_file, *constraints;
  bool baselines; // plan single device, data parallel, ZeRO-1, -2, -3 and a Megatron grid
                  // too, on every mesh, to compare with (egraph_plan_remarks)
  // Plan "single-device", "data-parallel", "zero-1", "zero-2", "zero-3" or "megatron"
  // (its last axis is tensor parallel), or each axis as one of idle, data-parallel,
  // zero-1, zero-2, zero-3, tensor, any: "node=idle,gpu=zero-1". Cost and bounds are then
  // of its plans; a batch that its axes do not divide is an error. NULL: the cheapest of
  // all
  const char *baseline;
  const char *certificate; // path to write a proof to, which the program
                           // check_certificate derives again: the plan as a choice of
                           // layouts on its mesh, its cost, and a lower bound of all on
                           // that mesh. A quarter of the time is kept for it; a file that
                           // is there goes before the search. NULL: none
  /// Called now and then, and after every mesh, with its best cost (INFINITY: none) and
  /// a lower bound; returns true to stop with what there is. May be NULL.
  bool (*progress)(void *user, const char *mesh, double cost, double bound,
                   double seconds);
  void *user;
} egraph_plan_options;
/// This host, all meshes, no training; everything else 0.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_PLAN_OPTIONS, egraph_plan_options)

/// Costs are predicted seconds of one step: of all micro-batches, one thing after the
/// other. Texts are borrowed from the plan.
typedef struct egraph_plan_report {
  // "optimal" (proven: no plan of the whole step, all blocks free, whose peak of memory
  // is within the limit is cheaper), "optimal of the variants reached" (the same, but a
  // limit cut saturation off), "feasible", "infeasible" (proven), "unknown": none was
  // found; "loaded" from a file, with the cost that its steps add up to and no bound.
  const char *status;
  const char *proven_over; // what bound and status are of, as in egraph_report
  double cost;             // INFINITY: there is no plan
  double bound, gap;   // lower bound of all plans on all meshes tried, 0 where none is
                       // known: the whole step is too large; (cost - bound) / cost
  double memory;       // bytes of a device at the peak, at most the limit: the stores of
                       // egraph_plan_account added up
  double memory_limit; // INFINITY: none
  double least_memory; // no plan, for lack of memory: the least peak of any plan that was
                       // made, or 0; otherwise 0
  const char *seed;    // baseline ("zero-1", "node=idle,gpu=zero-1") whose plan this is,
                       // because the search ended with none as cheap; NULL: the search's
  uint32_t untried;    // baselines that may be cheaper, on all meshes: the time was over
  const char *mesh;    // "node=2,gpu=4"; "": a single device
  uint32_t devices, micro_batches;
  uint32_t meshes;   // that were tried
  uint32_t blocks;   // equal blocks that had the choices of one in the first search; 0
  uint32_t nodes;    // of the step
  uint32_t measured; // operators, because the database did not have them
  uint32_t egraph_nodes, egraph_classes, iterations; // after saturation
  const char *stop;                                  // why it ended, as in egraph_report
  double checked; // the part of the bound that the certificate proves, on the mesh of the
                  // plan; 0: none was written
  const char *uncertified; // why none was written for this plan, though one was asked
                           // for, and what would help; NULL
  double prepare_seconds, space_seconds, solve_seconds, certify_seconds, total_seconds;
} egraph_plan_report;

/// This host with `ranks` ranks (1 to 256) as the text of a machine file
/// (machines/README.md), measured for a second or so: what one thread computes and moves,
/// and what threads take to exchange messages. (egraph_plan_options.measure looks closer:
/// at every operator by itself.) The allocator is called from these threads. Free with
/// egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_machine_probe(const egraph_allocator *alloc, uint32_t ranks, char **out);

/// Looks for the cheapest plan of a graph within the memory of the devices. `options` may
/// be NULL. The search begins with the cheapest baseline (every axis of the mesh idle,
/// data parallel, ZeRO or tensor parallel), and with rules from the cheapest plan that is
/// found without them. Where it ends without a proof, baselines that may be cheaper are
/// planned with the rest of the time, and the cheapest plan wins; the report tells of
/// those that the time did not suffice for. That nothing fits, and limits of time, are
/// reported, not errors. Fails with ARGUMENT (an option out of range, a mesh of another
/// number of devices, nothing to train, constraints that name nothing or leave no plan:
/// "file:line:col: ..."), PARSE (machine, mesh, constraints, database), IO, BUSY
/// (database), TYPE (a loss that does not fit the output, an unsound rule), UNSUPPORTED
/// (operators without a gradient or of unknown type), MEMORY.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_plan_create(const egraph_allocator *alloc, const egraph_graph *graph,
                   const egraph_plan_options *options, egraph_plan **out);
EGRAPH_API void egraph_plan_destroy(egraph_plan *plan);
EGRAPH_API const egraph_plan_report *egraph_plan_report_of(const egraph_plan *plan);

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
/// its first output trains. Decided by the uses of a weight:
/// operands of products and convolutions, scales and biases, tables
/// of embeddings. Of `options` (may be NULL) freeze and train_only are read. Fails with
/// ARGUMENT for a pattern that matches none, naming the closest, and a graph without
/// outputs.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_training_weights(
    const egraph_graph *graph, const egraph_plan_options *options,
    void (*report)(void *user, const egraph_model_weight *weight), void *user);
/// Gives weights of a plan whose data is absent (plans in files have none beyond 64
/// elements) that of the model which it was made of, by name; constants that planning
/// folded are computed again. What the model lacks stays absent. Trained weights are
/// inputs of the plan's graph: give them to egraph_plan_run_*. Fails with TYPE for a
/// weight of another shape.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_plan_take_weights(egraph_plan *plan, const egraph_graph *model);
/// The step that is planned, as one graph, borrowed; NULL when there is no plan. Of
/// training: inputs are those of the forward graph, "target", "learning_rate", "step"
/// (with Adam), and every trained weight and state of the optimizer; outputs the loss,
/// and what these become, under the same names.
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
/// states), "inputs", "stashes" (for backward), "accumulators", "outputs", "transient",
/// "scratch" (halos, blocks put in order for a collective; not what kernels take).
typedef struct egraph_plan_store {
  const char *kind;
  double at_peak, most; // when all together is most; by itself
} egraph_plan_store;
/// Calls back for every exchange and every store (both may be NULL), in a fixed order.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_account(
    const egraph_plan *plan,
    void (*on_exchange)(void *user, const egraph_plan_exchange *exchange),
    void (*on_store)(void *user, const egraph_plan_store *store), void *user);

/// What its figures do not say, as text, or as a JSON object {"baselines", "uneven",
/// "whole", "delivered", "useful_devices", "idle_axes", "single_device_seconds"}: what
/// the plan was compared with, which splits sizes that do not divide did
/// not allow, where it cost most, which operators can be split along
/// no axis, and why, the layout of each output that no step hands to
/// the next, the speedup over one device, and how many devices
/// would do the same. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_remarks(
    const egraph_allocator *alloc, const egraph_plan *plan, bool json, char **out);
/// Prices every step anew, by the figures of a machine: of a plan from a file that was
/// edited, or made for another machine. Of `options` machine, database, measure and
/// time_limit (of measuring: half of it) are read. Nothing is searched; the report has
/// the new cost. Fails with ARGUMENT (a machine of another number of devices), PARSE, IO,
/// BUSY (database).
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_plan_price(egraph_plan *plan, const egraph_plan_options *options);

/// Writes a plan with its graph as JSON (schema/plan.json; data of weights beyond 64
/// elements is left out), atomically. Fails with IO.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_save(const egraph_plan *plan,
                                                           const char *path);
/// Reads such a file, plain or gzip, and checks it as a whole. Fails with IO, PARSE
/// ("file:line:col: ...", or "file: ...; at $.steps[3].phase").
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_load(const egraph_allocator *alloc,
                                                           const char *path,
                                                           egraph_plan **out);
/// The file in memory; free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_pack(const egraph_allocator *alloc,
                                                           const egraph_plan *plan,
                                                           char **out);
/// Reads a plan from memory, as egraph_plan_load does from a plain file; `name` stands
/// for it in messages.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_parse(const egraph_allocator *alloc,
                                                            const char *name,
                                                            const char *text, size_t size,
                                                            egraph_plan **out);

/// The plan as text, a line per step, its figures and remarks at the end. `unity`:
/// exchanges in the words of parallel computation graphs (Partition, Combine, Replicate,
/// Reduce). Free with egraph_string_free, like the texts below.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_print(const egraph_allocator *alloc,
                                                            const egraph_plan *plan,
                                                            bool unity, char **out);
/// Figures and remarks of a plan as one JSON object: schema/plan-summary.json, among the
/// installed files.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_summary_json(
    const egraph_allocator *alloc, const egraph_plan *plan, char **out);
/// What is different in two plans of graphs whose values have the same names: layouts,
/// exchanges, figures. As text, or as a JSON object.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_diff(const egraph_allocator *alloc,
                                                           const egraph_plan *before,
                                                           const egraph_plan *after,
                                                           bool json, char **out);

typedef struct egraph_plan_step {
  uint32_t step, rank; // from 0; rank of this process (of threads: 0)
  double seconds;      // until the last rank was done; without handing outputs out
  double busy_seconds; // of the processor, of this rank's thread in this time: less where
                       // it waited, for messages or for others that use the machine
} egraph_plan_step;
typedef struct egraph_plan_run_options {
  size_t size;           // of this struct; set by its default
  const char *backend;   // as in egraph_session_options; of "cuda", rank r is on device r
                         // of its host, modulo their number
  const char *transport; // between devices, with back-end "cuda": "nccl" (sums are then
                         // not combined in the order of the ranks), or "nccl:FILE", the
                         // plugin in FILE. NULL: data goes through host memory
  uint32_t threads;      // of each rank; 0: 1
  uint64_t seed;         // of absent weights
  uint32_t steps;        // of the same inputs, one after the other; 0: 1
  /// How long a rank is waited for wherever ranks meet, on_step included. When it has not
  /// come by then, the run fails with CANCELLED on all ranks that wait. In (0, 10^6]; 0:
  /// 60.
  double deadline_seconds;
  /// Called after each step, once in every process, on one of its threads; returns true
  /// to stop: the run then fails with CANCELLED. It may change data of inputs for the
  /// next step. Outputs that are made before the update (the loss) are those of this
  /// step; without it only the last step's are handed out. May be NULL.
  bool (*on_step)(void *user, const egraph_plan_step *step);
  void *user;
  bool every_step; // outputs that the update makes (weights, states) are handed out after
                   // every step, before on_step; otherwise after the last one
} egraph_plan_run_options;
/// Seed 1.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_PLAN_RUN_OPTIONS, egraph_plan_run_options)
/// Runs a plan in this process, a thread for every device: compiles, runs, and gives
/// everything back. Whole tensors, as egraph_plan_graph has them; a row of all for every
/// micro-batch. Trained weights and states begin as in the first row of inputs (data
/// NULL: zeros) and leave in the last row of outputs, after the last step; outputs with
/// data NULL are not wanted. `options` may be NULL: the defaults, seed 1. The allocator
/// is called from all threads. Fails with ARGUMENT (counts, deadline, a transport without
/// devices), TYPE, UNSUPPORTED (folded plans, operators that cannot run, a plugin or a
/// device that is missing, two ranks with a transport on one device), CANCELLED (stopped,
/// or a rank that did not come within the deadline).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_run_local(
    const egraph_allocator *alloc, const egraph_plan *plan,
    const egraph_plan_run_options *options, const egraph_tensor *inputs,
    uint32_t input_count, const egraph_tensor *outputs, uint32_t output_count);
/// Runs one rank of a plan in this process, which is one of as many as the plan has
/// devices: `channel` says how they reach each other, "mpi" for those that mpirun
/// started. All of them call this, with inputs of the same data; outputs are written in
/// the process of rank 0 (*out_rank, also after a failure if it is known). MPI starts and
/// ends with the call unless the caller has started it; once in a process. Fails also
/// with ARGUMENT (another number of processes; plans, steps or seeds that are not the
/// same), UNSUPPORTED (a channel that is not in
/// this build).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_run_rank(
    const egraph_allocator *alloc, const egraph_plan *plan, const char *channel,
    const egraph_plan_run_options *options, const egraph_tensor *inputs,
    uint32_t input_count, const egraph_tensor *outputs, uint32_t output_count,
    uint32_t *out_rank);

/// Compares steps of training that a plan has run with the same steps on one device, at
/// the scale of rounding: of runs on values that are moved by a few units of it.
typedef struct egraph_step_check egraph_step_check;
typedef struct egraph_step_verdict {
  const char *output; // the worst one, borrowed from the graph
  double error;  // root mean square of what it differs by, over that of what it should be
  double noise;  // the most of that which rounding explains
  double excess; // how many times what is allowed the worst is off by
  bool equal;    // excess is at most 1: rounding explains all differences
  double seconds; // of the step on one device
} egraph_step_verdict;
/// `step` (egraph_plan_graph of training) is borrowed; `options` may be NULL: the
/// defaults, seed 1. Fails like egraph_session_create.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_step_check_create(const egraph_allocator *alloc, const egraph_graph *step,
                         const egraph_session_options *options, uint32_t micro_batches,
                         egraph_step_check **out);
EGRAPH_API void egraph_step_check_destroy(egraph_step_check *check);
/// Compares one step; runs it three times on one device, up to nine where it differs.
/// `inputs` as egraph_plan_run_* got them, weights and states in the first row as they
/// were before the step; `outputs` as it left them (data NULL: not compared). Fails with
/// ARGUMENT (counts).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_step_check_run(
    egraph_step_check *check, const egraph_tensor *inputs, uint32_t input_count,
    const egraph_tensor *outputs, uint32_t output_count, egraph_step_verdict *out);
/// Fills a tensor that stands for the weight `name` of a model with seeded values.
EGRAPH_API void egraph_draw_weight(const char *name, uint64_t seed,
                                   const egraph_tensor *tensor);
/// Largest absolute difference of two tensors of one type, over the largest absolute
/// value of the first. INFINITY: only one of them has a NaN, or an infinity, at some
/// place.
EGRAPH_API double egraph_tensor_error(const egraph_tensor *want,
                                      const egraph_tensor *have);
/// How many elements are NaN or infinite.
EGRAPH_API uint64_t egraph_tensor_not_finite(const egraph_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
