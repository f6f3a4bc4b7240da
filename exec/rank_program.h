// The program of one rank of a plan: one straight line of kernels and moves over one
// block of memory. The only rank of a plan for one device (pcg/plan/plan.h) runs such a
// program, too.
//
//   create   local parts of all nodes compiled, memory planned
//   load     the rank's blocks of the constants, computed, packed as the kernels like
//            them; launches bound
//   run      M times: inputs in, FORWARD, BACKWARD; then UPDATE, once
//   fetch    an output as a global tensor
//
// Steps that move no bytes take no time: reshapes, slices by rows, concatenations by
// rows. A constant is in memory once, packed or not. A constant whose data is in the
// graph, in host memory, is read there.
//
// Carried values stay on the rank, in the memory of their entries. An exit of phase
// UPDATE enters the next step. An exit of FORWARD or BACKWARD (a sum of gradients) enters
// the next micro-batch; at the beginning of each step it is zeros. A run allocates
// nothing (reference kernels, fetch with moves, and exchange through host memory may).
//
// With `overlaps` the steps of a micro-batch run in the order of issue
// (eg_plan_issued); in the last micro-batch they include the steps of UPDATE. A
// micro-batch ends, with its exchanges, before the next begins. An exchange is started
// in its turn. The rank waits for an exchange before a step reads its result or
// overwrites memory that the exchange reads or writes, and at the end of a phase.
// During the seconds that the plan predicts for an exchange, its buffers are not
// reused. The results have the same bits as without `overlaps`.
//
// Calls whose comment begins with "All ranks" are collective. A rank that fails in any
// call aborts the channel, so that all ranks fail with its error.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_RANK_PROGRAM_H
#define EG_EXEC_RANK_PROGRAM_H

#include "exec/channel.h"
#include "pcg/plan/plan_issue.h"

typedef struct eg_rank_program eg_rank_program;

typedef struct eg_rank_options {
  const char *backend;   // back-end of all ranks; without host memory, rank r runs on
                         // device r modulo the number of devices
  const char *transport; // transport between devices, "nccl"; NULL: data goes through
                         // host memory and the channel (device_channel.h)
  uint32_t threads;      // threads of this rank's kernels; 0: as many as the machine has
  uint64_t seed;         // seed of weights whose data is absent
  bool overlaps;  // exchanges run on a thread of the rank while it computes (lane.h)
  eg_issue issue; // order of the steps with `overlaps`
  /// Called on all ranks after each micro-batch's BACKWARD phase (with `overlaps`, after
  /// UPDATE for the last micro-batch); NULL: nothing. It can fetch outputs of FORWARD and
  /// BACKWARD; later these outputs hold the values of the last micro-batch.
  egraph_status (*after_micro_batch)(void *user, eg_rank_program *program,
                                     uint32_t index);
  void *user;
} eg_rank_options;
#define EG_RANK_OPTIONS_DEFAULT                                                          \
  { .backend = "cpu", .threads = 1, .seed = 1 }

/// Creates the program. Plan and channel are borrowed and must outlive the program. The
/// plan must pass eg_plan_check and be made for the channel's mesh; for a mesh without
/// axes the channel may be NULL. Fails with EGRAPH_E_UNSUPPORTED for nodes that cannot
/// be executed.
egraph_status eg_rank_program_create(const egraph_allocator *alloc, const eg_plan *plan,
                                     eg_channel *channel, const eg_rank_options *options,
                                     eg_rank_program **out);
void eg_rank_program_destroy(eg_rank_program *program); // NULL is allowed

/// Loads the rank's blocks of constants and of weights that pass from step to step: from
/// the graph's data, or drawn at random where the graph has no data. Call it before the
/// first run, and again to start over with the initial weights (other values that pass
/// from step to step: eg_rank_program_put).
egraph_status eg_rank_program_load(eg_rank_program *program);
/// Sets an input or weight that passes from step to step, from a global row-major tensor.
/// Before the first call such an input is zeros. Allocates.
egraph_status eg_rank_program_put(eg_rank_program *program, eg_value value,
                                  const eg_tensor *tensor);

/// All ranks: runs one step. inputs[m * input_count + i] is graph input i of micro-batch
/// m, row-major: the global tensor, from which the rank takes its block, or the block
/// itself. Inputs that pass from step to step are not read.
egraph_status eg_rank_program_run(eg_rank_program *program, const eg_tensor *inputs);
/// All ranks, with the same index: gathers a graph output as a global tensor. out->data
/// NULL: this rank does not need it.
egraph_status eg_rank_program_fetch(eg_rank_program *program, uint32_t output,
                                    const eg_tensor *out);

/// The memory that a program takes on its device, in bytes: at most the bytes that
/// plan_cost.h counts, plus the alignment of each storage, the scratch memory of kernels
/// and packed weights.
typedef struct eg_rank_memory {
  size_t arena;       // computed and carried values, and scratch memory of steps
  size_t least_arena; // most bytes of values that are alive in one step: no placement
                      // takes less
  size_t kernels;     // most scratch memory of a kernel, which is a part of the arena
  size_t weights; // constants that kernels read unpacked, including those in the graph's
                  // data
  size_t packed;  // packed copies of constants
} eg_rank_memory;
/// Returns the memory of a program. Takes O(n^2) for n values.
eg_rank_memory eg_rank_program_memory(const eg_rank_program *program);

/// A step of the plan on this rank, and its time in the last run with timing on.
typedef struct eg_step_figures {
  const char *kernel; // "oneDNN brgconv:avx512_core", "reference", "view", "all-reduce",
                      // "fused with the next"
  eg_graph_node node; // UINT32_MAX: a move
  double seconds;
  double flops, bytes; // work of a node
} eg_step_figures;
/// Returns the seconds of the last run from its first step until the back-end has done
/// the last one; without reading inputs and fetching outputs.
double eg_rank_program_steps_seconds(const eg_rank_program *program);
/// Turns the timing of each step on or off. When on, the program waits for each step of
/// an asynchronous back-end.
void eg_rank_program_set_timing(eg_rank_program *program, bool on);
uint32_t eg_rank_program_step_count(const eg_rank_program *program);
const eg_step_figures *eg_rank_program_step_at(const eg_rank_program *program,
                                               uint32_t index);

// ---- runs of several steps ----------------------------------------------------------

typedef struct eg_step_report {
  uint32_t step, rank; // `step` counts all steps from 0; `rank` of this process or thread
  double seconds; // from the beginning of all ranks to the end of all, without fetching
  double busy_seconds; // processor time of this rank's thread during `seconds`
} eg_step_report;

typedef struct eg_plan_run {
  eg_rank_options rank; // after_micro_batch is not read
  eg_channel_options channel;
  /// Called after each step in every process (if ranks are threads, by rank 0) while all
  /// other ranks wait; may change the inputs of the next step. If on_step is not NULL,
  /// outputs of FORWARD and BACKWARD are fetched after every step, otherwise after the
  /// last step only. A failure ends all ranks.
  egraph_status (*on_step)(void *user, const eg_step_report *report);
  void *user;
  uint32_t steps;          // >= 1; each step has the same inputs
  bool every_step;         // outputs of phase UPDATE are fetched after every step, before
                           // on_step; otherwise after the last step
  const eg_tensor *inputs; // global, [micro_batches][inputs]; the first row also has the
                           // initial carried values, data NULL: zeros
  const eg_tensor *outputs; // global, [micro_batches][outputs]; outputs of phase UPDATE
                            // in the last row; data NULL: not fetched
} eg_plan_run;

/// Runs a plan with a thread per rank. All threads call the allocator.
egraph_status eg_plan_run_local(const egraph_allocator *alloc, const eg_plan *plan,
                                const eg_plan_run *run);
/// All ranks, with equal inputs: runs one rank of a plan in this process, over its
/// channel; run->channel is not read. Outputs arrive on rank 0. Fails with
/// EGRAPH_E_ARGUMENT when plan, steps or seed are not the same on all ranks.
egraph_status eg_plan_run_rank(const egraph_allocator *alloc, const eg_plan *plan,
                               eg_channel *channel, const eg_plan_run *run);

#endif
