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

// A plan comes from egraph_optimize (egraph_result_take_plan) or from a file. It does not
// depend on the graph and options that it was made from.
/// Frees the plan; NULL is allowed.
EGRAPH_API void egraph_plan_destroy(egraph_plan *plan);

/// Figures of a plan. Costs are predicted seconds of one step with all its micro-batches,
/// without overlap.
typedef struct egraph_plan_info {
  double cost;         // the sum of its steps
  double memory;       // bytes of a device at the peak: the sum of the stores that
                       // egraph_plan_account reports
  double memory_limit; // the limit that the plan was made for, or the limit of the
                       // machine that it was priced for; INFINITY: none
  const char *mesh;    // "node=2,gpu=4"; "": a single device. Borrowed from the plan
  uint32_t devices, micro_batches;
  uint32_t nodes; // nodes of the step
} egraph_plan_info;
/// Returns the figures of a plan.
EGRAPH_API egraph_plan_info egraph_plan_info_of(const egraph_plan *plan);

/// Writes a machine file (machines/README.md) for this host with `ranks` ranks (1 to
/// 256), measured in about a second: the speed and bandwidth of one thread, and the time
/// of exchanges between threads. (egraph_costs_options.measure measures every operator.)
/// These threads call the allocator. Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_machine_probe(const egraph_allocator *alloc, uint32_t ranks, char **out);
/// The same, with curves of what this host reaches, fitted to the operators that the
/// database of the costs has of it: a name of the file that ends with ":reached" prices
/// by them. Fails with ARGUMENT when the database has none. O(measured operators).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_machine_file(egraph_costs *costs,
                                                                    uint32_t ranks,
                                                                    char **out);

/// Copies data of the model into weights of a plan that have none (files omit data beyond
/// 64 elements), by name; constants that planning folded are computed again, and a weight
/// without data in the model stays absent. Trained weights are inputs of the plan's
/// graph: give them to egraph_plan_run_*. Fails with TYPE for a weight of another shape,
/// ARGUMENT for a weight that the model lacks because optimizing for one device made it
/// from others (write that graph as ONNX).
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_plan_take_weights(egraph_plan *plan, const egraph_graph *model);
/// Returns the planned step as one graph, borrowed. For training, its inputs are the
/// inputs of the forward graph, "target", "learning_rate", "step" (with Adam), and every
/// trained weight and optimizer state; its outputs are the loss and the new weights and
/// states, under the same names.
EGRAPH_API const egraph_graph *egraph_plan_graph(const egraph_plan *plan);

/// Exchanges of one kind along one axis, in one step of training.
typedef struct egraph_plan_exchange {
  const char *phase; // "forward", "backward", "update"
  const char *kind;  // "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "halo"
  const char *axis;  // axis of the mesh
  uint64_t count;
  double bytes;   // sum over the whole tensors that a group of devices exchanges
  double seconds; // 0 for halos, whose time is part of their operators
} egraph_plan_exchange;
/// Bytes that a device holds for one purpose, without shared storage: "carried" (weights
/// and states), "inputs", "stashes" (kept for backward), "accumulators", "outputs",
/// "transient", "scratch" (halos, and blocks ordered for a collective; not the scratch of
/// kernels).
typedef struct egraph_plan_store {
  const char *kind;
  double at_peak, most; // bytes at the peak of all stores together; bytes at the peak of
                        // this store
} egraph_plan_store;
/// Calls on_exchange for every exchange and on_store for every store (both may be NULL),
/// in a fixed order.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_account(
    const egraph_plan *plan,
    void (*on_exchange)(void *user, const egraph_plan_exchange *exchange),
    void (*on_store)(void *user, const egraph_plan_store *store), void *user);

/// Writes a description of a plan for people, as text: seconds of a step, speedup, share
/// of the machine's peak, memory, warnings; the blocks of the model with layouts in
/// words; exchanges; remarks. Or only the remarks, as a JSON object: "baselines" (plans
/// it was compared with), "uneven" (splits excluded because sizes do not divide, where
/// they cost most), "repeated" (operators that no axis can split, with the reason),
/// "delivered" (the layout of each output that no later step reads), "useful_devices"
/// (how many devices would do the same), "idle_axes", "single_device_seconds",
/// "peak_seconds" (of all devices at their peak). Free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_remarks(
    const egraph_allocator *alloc, const egraph_plan *plan, bool json, char **out);
/// Prices every step again, with the figures of a machine: for a plan that was edited in
/// its file, or made for another machine. `target` may be NULL: as many ranks of this
/// host as the plan has devices; its mesh and memory limit are ignored. `costs` as in
/// egraph_optimize; measuring ends after half a minute. Nothing is searched;
/// egraph_plan_info_of returns the new cost. Fails with ARGUMENT (a machine with another
/// number of devices), PARSE, IO, BUSY (database).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_price(egraph_plan *plan,
                                                            const egraph_target *target,
                                                            egraph_costs *costs);

/// Writes a plan with its graph as JSON (schema/plan.json), atomically; data of weights
/// beyond 64 elements is omitted. Fails with IO.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_save(const egraph_plan *plan,
                                                           const char *path);
/// Reads a file of egraph_plan_save, plain or gzip, and checks the whole plan. Fails with
/// IO, PARSE ("file:line:col: ...", or "file: ...; at $.steps[3].phase").
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_load(const egraph_allocator *alloc,
                                                           const char *path,
                                                           egraph_plan **out);
/// Writes the text of that file to memory; free it with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_pack(const egraph_allocator *alloc,
                                                           const egraph_plan *plan,
                                                           char **out);
/// Reads the text of a plain file from memory, otherwise like egraph_plan_load; `name`
/// replaces the file name in messages.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_parse(const egraph_allocator *alloc,
                                                            const char *name,
                                                            const char *text, size_t size,
                                                            egraph_plan **out);

/// Writes the steps of a plan as text, one line each, then seconds by phase and memory by
/// purpose. `unity`: exchanges in the terms of parallel computation graphs (Partition,
/// Combine, Replicate, Reduce). Free with egraph_string_free, like the texts below.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_print(const egraph_allocator *alloc,
                                                            const egraph_plan *plan,
                                                            bool unity, char **out);
/// Writes the figures and remarks of a plan as one JSON object (schema/plan-summary.json,
/// installed).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_summary_json(
    const egraph_allocator *alloc, const egraph_plan *plan, char **out);
/// Compares two plans of graphs whose values have the same names: layouts, exchanges,
/// figures. Returns text, or a JSON object.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_diff(const egraph_allocator *alloc,
                                                           const egraph_plan *before,
                                                           const egraph_plan *after,
                                                           bool json, char **out);

/// The time of one step of a run.
typedef struct egraph_plan_step {
  uint32_t step, rank; // step from 0; rank of this process (0 for threads)
  double seconds;      // until the last rank ended; without copying outputs
  double busy_seconds; // processor time of this rank's thread: less than `seconds` when
                       // it waited for messages or for other programs
} egraph_plan_step;
/// How a plan runs.
typedef struct egraph_plan_run_options {
  size_t size;         // size of this struct; its _default function sets it
  const char *backend; // as in egraph_session_options; with "cuda", rank r uses device r
                       // of its host, modulo the number of devices
  const char *transport; // between devices, with back-end "cuda": "nccl" (sums are then
                         // not combined in the order of the ranks), or "nccl:FILE", the
                         // plugin in FILE. NULL: data goes through host memory
  uint32_t threads;      // threads of each rank; 0: 1
  uint64_t seed;         // seed of the values of absent weights
  uint32_t steps;        // steps on the same inputs, one after the other; 0: 1
  /// How long ranks wait for each other, on_step included. After that the run fails with
  /// CANCELLED on all ranks that wait. In (0, 10^6]; 0: 60.
  double deadline_seconds;
  /// Called after each step, once in every process, on one of its threads; returns true
  /// to stop: the run then fails with CANCELLED. It may change data of inputs for the
  /// next step. Outputs computed before the update (the loss) hold the values of this
  /// step; without on_step only those of the last step are written. May be NULL.
  bool (*on_step)(void *user, const egraph_plan_step *step);
  void *user;
  bool every_step; // write the outputs of the update (weights, states) after every step,
                   // before on_step; false: after the last step only
  /// The order in which exchanges are issued within every micro-batch (the last one with
  /// the update), as in egraph_simulate_options: "ahead-4", "ahead-2", "ahead" or
  /// "reductions" overlap exchanges with computing, on one more thread per rank; NULL or
  /// "in-order" do not. Results have the same bits. On the CPU only; with "mpi", when MPI
  /// allows calls from another thread.
  const char *issue;
} egraph_plan_run_options;
/// Defines egraph_plan_run_options_default: seed 1, everything else 0.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_PLAN_RUN_OPTIONS, egraph_plan_run_options)
/// Runs a plan in this process, one thread per device: compiles, runs, and frees
/// everything. Tensors are whole, in the order of egraph_plan_graph: one row of inputs
/// for every micro-batch. Trained weights and states start from the first row of inputs
/// (data NULL: zeros, and for a copy w.copy the weight w), and their final values are in
/// the last row of outputs; outputs with data NULL are not written. `options` may be
/// NULL: the defaults, seed 1. All threads call the allocator. Fails with ARGUMENT
/// (counts, deadline, a transport without devices), TYPE, UNSUPPORTED (folded plans,
/// operators that cannot run, a missing plugin or device, two ranks with a transport on
/// one device), CANCELLED (stopped, or a rank missed the deadline).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_run_local(
    const egraph_allocator *alloc, const egraph_plan *plan,
    const egraph_plan_run_options *options, const egraph_tensor *inputs,
    uint32_t input_count, const egraph_tensor *outputs, uint32_t output_count);
/// Runs one rank of a plan in this process; there are as many processes as the plan has
/// devices. `channel` selects how they communicate: "mpi" for processes that mpirun
/// started. All processes call this with the same input data; outputs are written in the
/// process of rank 0 (*out_rank, also set after a failure when the rank is known). The
/// call initializes and finalizes MPI unless the caller has initialized it; a call that
/// finalizes MPI is the last one of the process. Fails also with ARGUMENT (another number
/// of processes; different plans, steps or seeds), UNSUPPORTED (the channel's plugin,
/// libegraph_mpi.so, cannot be loaded).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_plan_run_rank(
    const egraph_allocator *alloc, const egraph_plan *plan, const char *channel,
    const egraph_plan_run_options *options, const egraph_tensor *inputs,
    uint32_t input_count, const egraph_tensor *outputs, uint32_t output_count,
    uint32_t *out_rank);

/// A check that compares training steps that a plan ran with the same steps on one
/// device. Differences are relative to rounding: the effect of moving values by a few
/// units in the last place.
typedef struct egraph_step_check egraph_step_check;
/// The difference between ranks and one device.
typedef struct egraph_step_verdict {
  const char *output; // the output with the largest excess, borrowed from the graph
  double error;   // root mean square of the difference, relative to the expected values
  double noise;   // the largest such error that rounding explains
  double excess;  // the largest difference, relative to the allowed one
  bool equal;     // excess is at most 1: rounding explains all differences
  double seconds; // seconds of the step on one device
} egraph_step_verdict;
/// Creates a check. `step` (egraph_plan_graph of a training plan) is borrowed; `options`
/// may be NULL: the defaults, seed 1. Fails like egraph_session_create.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_step_check_create(const egraph_allocator *alloc, const egraph_graph *step,
                         const egraph_session_options *options, uint32_t micro_batches,
                         egraph_step_check **out);
/// Frees the check; NULL is allowed.
EGRAPH_API void egraph_step_check_destroy(egraph_step_check *check);
/// Compares one step; runs the step three times on one device, up to nine times when the
/// results differ. `inputs` as given to egraph_plan_run_*, with weights and states from
/// before the step in the first row; `outputs` as the step left them (data NULL: not
/// compared). Fails with ARGUMENT (counts).
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_step_check_run(
    egraph_step_check *check, const egraph_tensor *inputs, uint32_t input_count,
    const egraph_tensor *outputs, uint32_t output_count, egraph_step_verdict *out);
/// Converts the elements of a tensor to the type of another of the same sizes: floats
/// round to nearest, or truncate and saturate to integers. Does nothing when sizes differ
/// or data is NULL.
EGRAPH_API void egraph_tensor_convert(const egraph_tensor *from, const egraph_tensor *to);
/// Fills a tensor with seeded values for the weight `name` of a model.
EGRAPH_API void egraph_draw_weight(const char *name, uint64_t seed,
                                   const egraph_tensor *tensor);
/// Returns the largest absolute difference of two tensors of one type, divided by the
/// largest absolute value of the first; INFINITY when only one of them has a NaN, or an
/// infinity, at some index.
EGRAPH_API double egraph_tensor_error(const egraph_tensor *want,
                                      const egraph_tensor *have);
/// Counts elements that are NaN or infinite.
EGRAPH_API uint64_t egraph_tensor_not_finite(const egraph_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
