// The public API, part: how long the step of a plan takes when exchanges between devices
// overlap with computing. Conventions as in egraph.h, which includes this.
//
// egraph_plan_info.cost adds up all steps of a plan, one after the other: that is how
// egraph_plan_run_local and egraph_plan_run_rank run it. A simulation gives exchanges
// streams of their own, reductions as soon as their operand is made, and gathers of
// weights ahead of their readers; it says what that would gain, what computing still
// waits for, and what devices hold meanwhile. All devices do the same at the same time,
// so figures are those of any one of them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_SIMULATE_H
#define EGRAPH_SIMULATE_H

#include "egraph_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The order in which exchanges are issued.
typedef enum egraph_issue {
  EGRAPH_ISSUE_AHEAD_4,    // whatever is ready, the first of the plan first; gathers of
                           // weights run four readers ahead
  EGRAPH_ISSUE_AHEAD_2,    // two
  EGRAPH_ISSUE_AHEAD,      // one
  EGRAPH_ISSUE_REDUCTIONS, // reductions as soon as they can, everything else in its place
  EGRAPH_ISSUE_IN_ORDER,   // nothing overlaps
  EGRAPH_ISSUE_SHORTEST    // that whose step is shortest, of those that hold no more than
                           // the plan's limit of memory; in order, where all hold more
} egraph_issue;

/// What exchanges are simulated as.
typedef enum egraph_rounds {
  EGRAPH_ROUNDS_NONE,     // closed forms: the seconds of their steps in the plan
  EGRAPH_ROUNDS_AUTO,     // rounds of messages, by the algorithm of the closed form
  EGRAPH_ROUNDS_RING,     // rings; all-to-alls pairwise
  EGRAPH_ROUNDS_HALVING,  // recursive halving and doubling
  EGRAPH_ROUNDS_DOUBLING, // the same, but all-reduces of everything in each round
  EGRAPH_ROUNDS_TREE,     // all-reduces along two binary trees, the others as halving
  EGRAPH_ROUNDS_LEVELS    // a ring on each level of the machine
} egraph_rounds;

/// How a plan is simulated.
typedef struct egraph_simulate_options {
  size_t size;         // of this struct; set by its default
  const char *machine; // as egraph_target.machine: exchanges along axes that go over one
                       // class of its links wait for each other, others do not. NULL: all
                       // wait for each other. Steps are not priced anew
                       // (egraph_plan_price)
  egraph_issue issue;
  egraph_rounds rounds; // with a machine: messages go over the links that its file says
                        // (ports), where they share them; exchanges over others take
                        // their closed form
  double beside; // how many times as long computing takes while the device exchanges
                 // (egraph_exchange_basis); 0: as the machine says
} egraph_simulate_options;
/// EGRAPH_ISSUE_SHORTEST, no machine, no rounds.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_SIMULATE_OPTIONS, egraph_simulate_options)

/// A simulated step. Borrows from the plan, which must stay.
typedef struct egraph_simulation egraph_simulation;

/// Simulates one step of training, or of inference. Where the machine's file says by how
/// much exchanges slow computing down (`beside`), they do. Deterministic. Fails with
/// ARGUMENT (a machine that has no such mesh, rounds without a machine, more than 2^31
/// tasks, or 2^21 with rounds, an unknown order of issue or kind of rounds), PARSE and IO
/// (machine file). O(tasks log tasks), a task being a run of a step in a micro-batch, or
/// of rounds a message of each kind of devices.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_simulate(const egraph_allocator *alloc, const egraph_plan *plan,
                const egraph_simulate_options *options, egraph_simulation **out);
/// Frees it; NULL is allowed.
EGRAPH_API void egraph_simulation_destroy(egraph_simulation *simulation);

/// Figures of a simulated step. It takes at least `most_busy`, in any order of issue in
/// which exchanges overlap, and at most `in_order`, unless exchanges slow down each other
/// (rounds) or computing.
typedef struct egraph_simulation_info {
  egraph_issue issue; // the order of issue; never EGRAPH_ISSUE_SHORTEST
  double seconds;     // of the step
  double in_order;    // seconds without overlap: what its tasks add up to
  double closed_form; // seconds if all exchanges took their closed form
  double messages;    // between all devices, in rounds; 0: none
  double beside;      // computing takes so many times as long while the device exchanges;
                      // 0: the machine does not say, 1 is taken
  uint32_t kinds;     // of devices, one of each of which is simulated: others are equal
  uint32_t closed;    // exchanges that took their closed form
  double most_busy;   // of all streams: seconds in which it works
  double peak_bytes;  // of a device
  double peak_seconds; // when that is first reached
  uint32_t streams, tasks, waits, memory_points, alive;
} egraph_simulation_info;
/// The figures, and the lengths of the lists below.
EGRAPH_API egraph_simulation_info
egraph_simulation_info_of(const egraph_simulation *simulation);

/// Stream 0 computes; others exchange.
typedef struct egraph_simulation_stream {
  const char *name; // "compute", the class of links, with rounds the axis, or "exchanges"
  double busy, idle;
} egraph_simulation_stream;
/// All zero past the end, like the following.
EGRAPH_API egraph_simulation_stream
egraph_simulation_stream_at(const egraph_simulation *simulation, uint32_t index);

/// A run of a step of the plan in a micro-batch, in the order of issue. Where exchanges
/// overlap, what takes no time (views, slices) is on no stream.
typedef struct egraph_simulation_task {
  const char *name; // of the first result, or of what is moved
  const char *what; // operator, or kind of exchange
  const char *axis; // of the mesh; "" of an operator
  const char *phase;
  uint32_t micro_batch, stream; // EGRAPH_NONE: no stream
  double start, end;            // seconds
  double bytes;                 // of an exchange: of the tensor that a group exchanges
  bool is_critical;             // the chain of such tasks is as long as the step
} egraph_simulation_task;
/// The index-th task.
EGRAPH_API egraph_simulation_task
egraph_simulation_task_at(const egraph_simulation *simulation, uint32_t index);

/// Seconds in which computing waits for exchanges of one kind: with the seconds in which
/// it works they add up to those of the step.
typedef struct egraph_simulation_wait {
  const char *phase, *kind, *axis;
  double seconds;
  uint32_t count; // exchanges that are waited for
} egraph_simulation_wait;
/// The index-th, the longest first.
EGRAPH_API egraph_simulation_wait
egraph_simulation_wait_at(const egraph_simulation *simulation, uint32_t index);

/// From `seconds` on a device holds `bytes`.
typedef struct egraph_simulation_memory {
  double seconds, bytes;
} egraph_simulation_memory;
/// The index-th point of the curve.
EGRAPH_API egraph_simulation_memory
egraph_simulation_memory_at(const egraph_simulation *simulation, uint32_t index);

/// What a device holds at the peak.
typedef struct egraph_simulation_alive {
  const char *name;  // of the value; "" of scratch
  const char *store; // as egraph_plan_store.kind
  double bytes;
} egraph_simulation_alive;
/// The index-th, the largest first.
EGRAPH_API egraph_simulation_alive
egraph_simulation_alive_at(const egraph_simulation *simulation, uint32_t index);

// ---- estimates of operators -----------------------------------------------------------

/// How far estimates of an operator are from the measurements that they are fitted to:
/// |estimated / measured - 1|.
typedef struct egraph_estimate_error {
  const char *op;
  uint32_t count; // measurements
  double mean, worst;
} egraph_estimate_error;
/// Calls `each` for every operator of which the costs have measurements.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_estimate_errors(
    const egraph_costs *costs,
    egraph_status (*each)(void *user, const egraph_estimate_error *error), void *user);

// ---- exchanges of this host ---------------------------------------------------------

/// What ranks of this host take for exchanges of one kind and class of sizes, fitted to
/// measurements: latency_seconds + bytes * seconds_per_byte.
typedef struct egraph_exchange_class {
  const char *exchange; // "all-gather", "reduce-scatter", "all-reduce", "all-to-all",
                        // "halo"
  uint32_t devices;     // in a group
  const char *size;     // "small", "medium", "large"
  double most_bytes;    // of this class; the last one has no limit
  double latency_seconds, seconds_per_byte;
  uint32_t points;                // measurements; 0: as the class beside it
  double mean_error, worst_error; // of the fit at these, of what was measured
} egraph_exchange_class;

/// What seconds of exchanges rest on.
typedef struct egraph_exchange_basis {
  int64_t date;  // of the oldest measurement, seconds since 1970; 0: nothing is measured
  double beside; // how many times as long a rank computes while an exchange runs beside
                 // it; 0: not measured
  bool stood_still; // computing all but did when that was measured: ranks share
                    // processors, or others were at work. What overlaps then gains
                    // nothing, and a machine at rest may say otherwise
} egraph_exchange_basis;

/// Measures all kinds of exchange by size between `ranks` ranks of this host, some
/// seconds long, and stores them in the database of the costs, in place of older ones.
/// channel: "local", threads of this process (NULL: that); "mpi", of which this process
/// is one rank, *out_rank; rank 0 stores. Plans for "host*RANKS", or "host-mpi*RANKS",
/// are then priced with them. Fails with ARGUMENT where there is no database to write to,
/// or fewer than two ranks.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_measure_exchanges(
    egraph_costs *costs, const char *channel, uint32_t ranks, uint32_t *out_rank);
/// Calls `each` (NULL: nothing) for every class that the database of the costs has for
/// this host, by devices and exchange.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_costs_exchanges(egraph_costs *costs, const char *channel, uint32_t ranks,
                       egraph_status (*each)(void *user, const egraph_exchange_class *c),
                       void *user, egraph_exchange_basis *out);

#ifdef __cplusplus
}
#endif

#endif
