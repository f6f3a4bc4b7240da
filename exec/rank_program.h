// The program of one rank of a plan: one straight line of kernels and moves over one
// block of memory. A plan of one device (pcg/plan/plan.h) is run by its only rank.
//
//   create   local parts of all nodes compiled, memory planned
//   load     the rank's blocks of the constants, computed, packed as the kernels like
//            them; launches bound
//   run      M times: inputs in, FORWARD, BACKWARD; then UPDATE, once
//   fetch    an output as a global tensor
//
// Steps that move no bytes take no time: reshapes, slices by rows, concatenations by
// rows. A constant is held once, packed or not; one that the graph holds in host memory
// is read where it lies.
//
// Carried values stay on the rank, in the memory of their entries. An exit of phase
// UPDATE enters the next step. An exit of FORWARD or BACKWARD (a sum of gradients) enters
// the next micro-batch, and begins each step as zeros. A run allocates nothing (reference
// kernels, fetch with moves, and exchange through host memory may).
//
// With `overlaps` the steps of a micro-batch run in the order of issue (eg_plan_issued);
// in the last micro-batch the steps of UPDATE are among them. A micro-batch ends, with
// its exchanges, before the next begins. An exchange is started in its turn. The rank
// waits for it before its result is read, before memory that it reads or writes is
// overwritten, and at the end of a phase; its buffers stay its own for the seconds that
// the plan gives it. The results have the same bits.
//
// Calls of which a header says "all ranks" are collective. When a rank fails in any call
// it aborts the channel, so that all fail with its error.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_RANK_PROGRAM_H
#define EG_EXEC_RANK_PROGRAM_H

#include "exec/channel.h"
#include "pcg/plan/plan_issue.h"

typedef struct eg_rank_program eg_rank_program;

typedef struct eg_rank_options {
  const char *backend; // without host memory: rank r is on device r, modulo their number
  const char *transport; // between devices without host memory: "nccl"; NULL: through
                         // host memory and the channel (device_channel.h)
  uint32_t threads;      // of this rank's kernels; 0: as many as the machine has
  uint64_t seed;         // of weights whose data is absent
  bool overlaps;  // exchanges run on a thread of the rank while it computes (lane.h)
  eg_issue issue; // the order of the steps then
  /// Called on all ranks after each micro-batch's BACKWARD phase (with `overlaps`, for
  /// the last micro-batch after UPDATE); NULL: nothing. Outputs of FORWARD and BACKWARD
  /// can be fetched there; later they hold the last micro-batch's values.
  egraph_status (*after_micro_batch)(void *user, eg_rank_program *program,
                                     uint32_t index);
  void *user;
} eg_rank_options;
#define EG_RANK_OPTIONS_DEFAULT                                                          \
  { .backend = "cpu", .threads = 1, .seed = 1 }

/// Plan and channel are borrowed and outlive the program; the plan is checked, and for
/// the channel's mesh; for a mesh without axes the channel may be NULL. Fails with
/// EGRAPH_E_UNSUPPORTED for nodes that cannot be executed.
egraph_status eg_rank_program_create(const egraph_allocator *alloc, const eg_plan *plan,
                                     eg_channel *channel, const eg_rank_options *options,
                                     eg_rank_program **out);
void eg_rank_program_destroy(eg_rank_program *program); // NULL is allowed

/// Takes the rank's blocks of the constants and of the weights that are carried: from the
/// graph's data, or drawn. Before the first run; again to start over, with the weights
/// that are carried (what is carried and is no weight: eg_rank_program_put).
egraph_status eg_rank_program_load(eg_rank_program *program);
/// Sets what is carried from step to step: an input or weight value, as a global
/// row-major tensor. Until then a carried input is zeros. Allocates.
egraph_status eg_rank_program_put(eg_rank_program *program, eg_value value,
                                  const eg_tensor *tensor);

/// All ranks: one step. inputs[m * input_count + i] is graph input i of micro-batch m,
/// row-major: the global tensor, of which the rank takes its block, or the block. Inputs
/// that are carried are not read.
egraph_status eg_rank_program_run(eg_rank_program *program, const eg_tensor *inputs);
/// All ranks, with the same index: gathers a graph output. out->data is NULL on ranks
/// that do not want it.
egraph_status eg_rank_program_fetch(eg_rank_program *program, uint32_t output,
                                    const eg_tensor *out);

/// The memory that a program takes on its device, in bytes: at most what plan_cost.h
/// counts, plus the alignment of each storage, the scratch memory of kernels and packed
/// weights.
typedef struct eg_rank_memory {
  size_t arena;       // of what is computed and carried, and of what steps need for that
  size_t least_arena; // what is there at the fullest moment: no placement takes less
  size_t kernels;     // in the arena, the most that a kernel takes while it runs
  size_t weights;     // constants that are read as they are, also in the graph's data
  size_t packed;      // what kernels make of constants
} eg_rank_memory;
/// O(n^2) in the values.
eg_rank_memory eg_rank_program_memory(const eg_rank_program *program);

/// A step on this rank, and its time in the last run with timing on.
typedef struct eg_step_figures {
  const char *kernel; // "oneDNN brgconv:avx512_core", "reference", "view", "all-reduce",
                      // "fused with the next"
  eg_graph_node node; // UINT32_MAX: a move
  double seconds;
  double flops, bytes; // of a node
} eg_step_figures;
/// Seconds of all steps of the last run together, until the back-end is done with them:
/// without reading inputs and fetching outputs.
double eg_rank_program_steps_seconds(const eg_rank_program *program);
/// Steps of an asynchronous back-end are then waited for one by one.
void eg_rank_program_set_timing(eg_rank_program *program, bool on);
uint32_t eg_rank_program_step_count(const eg_rank_program *program);
const eg_step_figures *eg_rank_program_step_at(const eg_rank_program *program,
                                               uint32_t index);

// ---- runs of several steps ----------------------------------------------------------

typedef struct eg_step_report {
  uint32_t step, rank; // of all steps, from 0; of this process or thread
  double seconds;      // from the begin of all ranks to the end of all, without fetching
  double busy_seconds; // of the processor, for this rank's thread in this time
} eg_step_report;

typedef struct eg_plan_run {
  eg_rank_options rank; // after_micro_batch is not read
  eg_channel_options channel;
  /// Called after each step, in every process, by its only rank or by rank 0 of several
  /// threads, while all others wait; may change the inputs of the next step. Outputs of
  /// FORWARD and BACKWARD are then fetched after every step; without it, after the last
  /// step only. A failure ends all ranks. NULL: nothing.
  egraph_status (*on_step)(void *user, const eg_step_report *report);
  void *user;
  uint32_t steps;           // >= 1; the same inputs in each
  bool every_step;          // outputs that are made in phase UPDATE are fetched after
                            // every step, before on_step; otherwise after the last one
  const eg_tensor *inputs;  // global, [micro_batches][inputs]; in the first row also what
                            // is carried from step to step begins with, data NULL: zeros
  const eg_tensor *outputs; // global, [micro_batches][outputs]; those made in phase
                            // UPDATE in the last row; data NULL: not wanted
} eg_plan_run;

/// Runs a plan with a thread per rank. The allocator is called from all threads.
egraph_status eg_plan_run_local(const egraph_allocator *alloc, const eg_plan *plan,
                                const eg_plan_run *run);
/// Runs one rank of a plan in this process, over its channel; run->channel is not read.
/// All ranks: with inputs of the same data. Outputs arrive on rank 0. Fails with
/// EGRAPH_E_ARGUMENT when plan, steps or seed are not the same on all ranks.
egraph_status eg_plan_run_rank(const egraph_allocator *alloc, const eg_plan *plan,
                               eg_channel *channel, const eg_plan_run *run);

#endif
