// The public API, part: plans, for one device or several. Conventions as in egraph.h,
// which includes this.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_PLAN_H
#define EGRAPH_PLAN_H

#include "egraph_optimize.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- plans ------------------------------------------------------------------------

// A plan is made by egraph_optimize (egraph_result_take_plan), or read from a file. It
// stands alone: graph and options may go.
/// Frees it; NULL is allowed.
EGRAPH_API void egraph_plan_destroy(egraph_plan *plan);

/// Figures of a plan. Costs are predicted seconds of one step: of all micro-batches, one
/// thing after the other.
typedef struct egraph_plan_info {
  double cost;         // what its steps add up to
  double memory;       // bytes of a device at the peak: the stores of
                       // egraph_plan_account added up
  double memory_limit; // that it was made for, or the machine that it was priced for has;
                       // INFINITY: none
  const char *mesh;    // "node=2,gpu=4"; "": a single device. Borrowed from the plan
  uint32_t devices, micro_batches;
  uint32_t nodes; // of the step
} egraph_plan_info;
/// The target of a plan, its cost, and the proof of that cost.
EGRAPH_API egraph_plan_info egraph_plan_info_of(const egraph_plan *plan);

/// This host with `ranks` ranks (1 to 256) as the text of a machine file
/// (machines/README.md), measured for a second or so: what one thread computes and moves,
/// and what threads take to exchange messages. (egraph_costs_options.measure looks
/// closer: at every operator by itself.) The allocator is called from these threads. Free
/// with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_machine_probe(const egraph_allocator *alloc, uint32_t ranks, char **out);

/// Gives weights of a plan whose data is absent (plans in files have none beyond 64
/// elements) that of the model which it was made of, by name; constants that planning
/// folded are computed again, and what has no data there stays absent. Trained weights
/// are inputs of the plan's graph: give them to egraph_plan_run_*. Fails with TYPE for a
/// weight of another shape, ARGUMENT for one that the model does not know: one that
/// optimizing for one device made of others (write that graph as ONNX).
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_plan_take_weights(egraph_plan *plan, const egraph_graph *model);
/// The step that is planned, as one graph, borrowed. Of
/// training: inputs are those of the forward graph, "target", "learning_rate", "step"
/// (with Adam), and every trained weight and state of the optimizer; outputs the loss,
/// and what these become, under the same names.
EGRAPH_API const egraph_graph *egraph_plan_graph(const egraph_plan *plan);

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

/// A plan for people, as text: seconds of a step, speedup, share of the machine's peak,
/// memory, warnings; blocks of the model with layouts in words; exchanges; then remarks.
/// Or the remarks as a JSON object {"baselines", "uneven", "repeated", "delivered",
/// "useful_devices", "idle_axes", "single_device_seconds", "peak_seconds"}: what the plan
/// was compared with, which splits sizes that do not divide did not allow, where it cost
/// most, which operators can be split along no axis, and why, the layout of each output
/// that no step hands to the next, how many devices would do the same, the seconds of one
/// device, and those of all devices at their peak. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_remarks(
    const egraph_allocator *alloc, const egraph_plan *plan, bool json, char **out);
/// Prices every step anew, by the figures of a machine: of a plan from a file that was
/// edited, or made for another machine. `target` may be NULL: as many ranks of this
/// host as the plan has devices; its mesh and
/// memory limit are not read. `costs` as in egraph_optimize; measuring ends after half a
/// minute. Nothing is searched; egraph_plan_info_of has the new cost. Fails with ARGUMENT
/// (a machine of another number of devices), PARSE, IO, BUSY (database).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_price(egraph_plan *plan,
                                                            const egraph_target *target,
                                                            egraph_costs *costs);

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

/// The steps of a plan as text, a line each, seconds by phase and memory by purpose at
/// the end. `unity`: exchanges in the words of parallel computation graphs (Partition,
/// Combine, Replicate, Reduce). Free with egraph_string_free, like the texts below.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_print(const egraph_allocator *alloc,
                                                            const egraph_plan *plan,
                                                            bool unity, char **out);
/// Figures and remarks of a plan as one JSON object: schema/plan-summary.json, among the
/// installed files.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_summary_json(
    const egraph_allocator *alloc, const egraph_plan *plan, char **out);
/// Differences between two plans of graphs whose values have the same names: layouts,
/// exchanges, figures. As text, or as a JSON object.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_diff(const egraph_allocator *alloc,
                                                           const egraph_plan *before,
                                                           const egraph_plan *after,
                                                           bool json, char **out);

/// How long a step of a plan took.
typedef struct egraph_plan_step {
  uint32_t step, rank; // from 0; rank of this process (of threads: 0)
  double seconds;      // until the last rank was done; without handing outputs out
  double busy_seconds; // of the processor, of this rank's thread in this time: less where
                       // it waited, for messages or for others that use the machine
} egraph_plan_step;
/// How a plan runs.
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
  /// When steps are issued, within every micro-batch, the last one together with the
  /// update, as in egraph_simulate_options: "ahead-4", "ahead-2", "ahead" or
  /// "reductions", exchanges beside computing, on a thread more for every rank; NULL or
  /// "in-order": in their turn. The results have the same bits. On the CPU; with "mpi",
  /// where MPI lets another thread use it.
  const char *issue;
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
/// same), UNSUPPORTED (the channel's plugin, libegraph_mpi.so, cannot be loaded).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_run_rank(
    const egraph_allocator *alloc, const egraph_plan *plan, const char *channel,
    const egraph_plan_run_options *options, const egraph_tensor *inputs,
    uint32_t input_count, const egraph_tensor *outputs, uint32_t output_count,
    uint32_t *out_rank);

/// Compares steps of training that a plan has run with the same steps on one device, at
/// the scale of rounding: of runs on values that are moved by a few units of it.
typedef struct egraph_step_check egraph_step_check;
/// How far ranks are from one device.
typedef struct egraph_step_verdict {
  const char *output; // the worst one, borrowed from the graph
  double error;   // root mean square of the difference, over that of the expected values
  double noise;   // the most of that which rounding explains
  double excess;  // the largest difference, over the allowed one
  bool equal;     // excess is at most 1: rounding explains all differences
  double seconds; // of the step on one device
} egraph_step_verdict;
/// `step` (egraph_plan_graph of training) is borrowed; `options` may be NULL: the
/// defaults, seed 1. Fails like egraph_session_create.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_step_check_create(const egraph_allocator *alloc, const egraph_graph *step,
                         const egraph_session_options *options, uint32_t micro_batches,
                         egraph_step_check **out);
/// Frees it; NULL is allowed.
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
