// The public API, part: simulation of a plan's step with overlap of exchanges and
// computing. Conventions as in egraph.h, which includes this.
//
// egraph_plan_info.cost adds up the seconds of all steps of a plan, as
// egraph_plan_run_local and egraph_plan_run_rank run it without overlap. A simulation
// runs exchanges on streams of their own, starts reductions as soon as their operand
// exists, and gathers weights ahead of their readers. It reports the gain, the exchanges
// for which computing still waits, and the memory over time. All devices do the same at
// the same time; the figures hold for each device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_SIMULATE_H
#define EGRAPH_SIMULATE_H

#include "egraph_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The order in which exchanges are issued.
typedef enum egraph_issue {
  EGRAPH_ISSUE_AHEAD_4,    // every exchange that is ready, in the order of the plan;
                           // weights are gathered up to four readers ahead
  EGRAPH_ISSUE_AHEAD_2,    // the same, two readers ahead
  EGRAPH_ISSUE_AHEAD,      // the same, one reader ahead
  EGRAPH_ISSUE_REDUCTIONS, // reductions as soon as possible, everything else in order
  EGRAPH_ISSUE_IN_ORDER,   // no overlap
  EGRAPH_ISSUE_SHORTEST    // the order with the shortest step among the orders within the
                           // plan's memory limit; IN_ORDER when none is within it
} egraph_issue;

/// The model of exchanges.
typedef enum egraph_rounds {
  EGRAPH_ROUNDS_NONE,     // closed forms: the seconds of their steps in the plan
  EGRAPH_ROUNDS_AUTO,     // rounds of messages, by the algorithm of the closed form
  EGRAPH_ROUNDS_RING,     // rings; all-to-alls pairwise
  EGRAPH_ROUNDS_HALVING,  // recursive halving and doubling
  EGRAPH_ROUNDS_DOUBLING, // the same, but all-reduces send everything in each round
  EGRAPH_ROUNDS_TREE,  // all-reduces along two binary trees, other exchanges as halving
  EGRAPH_ROUNDS_LEVELS // a ring on each level of the machine
} egraph_rounds;

/// How a plan is simulated.
typedef struct egraph_simulate_options {
  size_t size;         // size of this struct; its _default function sets it
  const char *machine; // as egraph_target.machine: exchanges over one class of its links
                       // wait for each other, exchanges over different classes do not.
                       // NULL: all exchanges wait for each other. Steps keep their
                       // costs (egraph_plan_price)
  egraph_issue issue;
  egraph_rounds
      rounds;    // with a machine: messages share the links that its file describes
                 // (ports); exchanges over other links take their closed form
  double beside; // factor by which exchanges slow down computing on the same device
                 // (egraph_exchange_basis); 0: as the machine file says
} egraph_simulate_options;
/// Defines egraph_simulate_options_default: EGRAPH_ISSUE_SHORTEST, no machine, no rounds.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_SIMULATE_OPTIONS, egraph_simulate_options)

/// A simulated step. It borrows from the plan, which must outlive it.
typedef struct egraph_simulation egraph_simulation;

/// Simulates one step of training or inference, deterministically. Exchanges slow down
/// computing by the factor `beside` of the machine's file, if it has one. Fails with
/// ARGUMENT (a machine without such a mesh, rounds without a machine, more than 2^31
/// tasks, or 2^21 with rounds, an unknown order of issue or kind of rounds), PARSE and IO
/// (machine file). O(tasks log tasks); a task is an execution of a step in a micro-batch,
/// or with rounds a message per kind of device.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_simulate(const egraph_allocator *alloc, const egraph_plan *plan,
                const egraph_simulate_options *options, egraph_simulation **out);
/// Frees the simulation; NULL is allowed.
EGRAPH_API void egraph_simulation_destroy(egraph_simulation *simulation);

/// Figures of a simulated step. The step takes at least `most_busy` under every order of
/// issue with overlap, and at most `in_order`, unless exchanges slow down each other
/// (rounds) or computing.
typedef struct egraph_simulation_info {
  egraph_issue issue; // the order of issue; never EGRAPH_ISSUE_SHORTEST
  double seconds;     // seconds of the step
  double in_order;    // seconds without overlap: the sum of its tasks
  double closed_form; // seconds if all exchanges took their closed form
  double messages;    // between all devices, with rounds; 0: none
  double beside;   // factor by which exchanges slow down computing; 0: unknown, 1 is used
  uint32_t kinds;  // kinds of devices; one device of each kind is simulated
  uint32_t closed; // exchanges that took their closed form
  double most_busy;    // busy seconds of the busiest stream
  double peak_bytes;   // bytes of a device at the peak
  double peak_seconds; // time at which the peak is first reached
  uint32_t streams, tasks, waits, memory_points, alive;
} egraph_simulation_info;
/// Returns the figures of a simulation, and the lengths of the lists below.
EGRAPH_API egraph_simulation_info
egraph_simulation_info_of(const egraph_simulation *simulation);

/// A stream: stream 0 computes, the other streams exchange.
typedef struct egraph_simulation_stream {
  const char *name; // "compute", the class of links, with rounds the axis, or "exchanges"
  double busy, idle;
} egraph_simulation_stream;
/// Returns the index-th stream; all zero past the end, as do the functions below.
EGRAPH_API egraph_simulation_stream
egraph_simulation_stream_at(const egraph_simulation *simulation, uint32_t index);

/// An execution of a step of the plan in a micro-batch, in the order of issue. With
/// overlap, steps that take no time (views, slices) are on no stream.
typedef struct egraph_simulation_task {
  const char *name; // name of the first result, or of the value exchanged
  const char *what; // operator, or kind of exchange
  const char *axis; // axis of the mesh; "" for an operator
  const char *phase;
  uint32_t micro_batch, stream; // EGRAPH_NONE: no stream
  double start, end;            // seconds
  double bytes;                 // bytes of the tensor that a group of devices exchanges
  bool is_critical;             // the task is on the critical path
} egraph_simulation_task;
/// Returns the index-th task.
EGRAPH_API egraph_simulation_task
egraph_simulation_task_at(const egraph_simulation *simulation, uint32_t index);

/// Seconds during which computing waits for exchanges of one kind. These seconds and the
/// busy seconds of computing add up to the step.
typedef struct egraph_simulation_wait {
  const char *phase, *kind, *axis;
  double seconds;
  uint32_t count; // exchanges that computing waits for
} egraph_simulation_wait;
/// Returns the index-th wait, the longest first.
EGRAPH_API egraph_simulation_wait
egraph_simulation_wait_at(const egraph_simulation *simulation, uint32_t index);

/// A point of the memory curve: from `seconds` on a device holds `bytes`.
typedef struct egraph_simulation_memory {
  double seconds, bytes;
} egraph_simulation_memory;
/// Returns the index-th point of the curve.
EGRAPH_API egraph_simulation_memory
egraph_simulation_memory_at(const egraph_simulation *simulation, uint32_t index);

/// A value that a device holds at the peak.
typedef struct egraph_simulation_alive {
  const char *name;  // name of the value; "" for scratch
  const char *store; // kind of store, as egraph_plan_store.kind
  double bytes;
} egraph_simulation_alive;
/// Returns the index-th value, the largest first.
EGRAPH_API egraph_simulation_alive
egraph_simulation_alive_at(const egraph_simulation *simulation, uint32_t index);

// ---- estimates of operators -----------------------------------------------------------

/// The error of the estimates of an operator on the measurements that they are fitted to:
/// |estimated / measured - 1|.
typedef struct egraph_estimate_error {
  const char *op;
  uint32_t count; // measurements
  double mean, worst;
} egraph_estimate_error;
/// Calls `each` for every operator with measurements.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_estimate_errors(
    const egraph_costs *costs,
    egraph_status (*each)(void *user, const egraph_estimate_error *error), void *user);

// ---- exchanges of this host ---------------------------------------------------------

/// The time of exchanges of one kind and class of sizes between ranks of this host,
/// fitted to measurements: latency_seconds + bytes * seconds_per_byte.
typedef struct egraph_exchange_class {
  const char *exchange; // "all-gather", "reduce-scatter", "all-reduce", "all-to-all",
                        // "halo"
  uint32_t devices;     // devices in a group
  const char *size;     // "small", "medium", "large"
  double most_bytes;    // the largest size of this class; the last class has no limit
  double latency_seconds, seconds_per_byte;
  uint32_t points;                // measurements; 0: taken from a neighbouring class
  double mean_error, worst_error; // errors of the fit, relative to the measurements
} egraph_exchange_class;

/// The measurements behind the seconds of exchanges.
typedef struct egraph_exchange_basis {
  int64_t date;     // date of the oldest measurement, seconds since 1970; 0: nothing
                    // is measured
  double beside;    // factor by which an exchange slows down computing of a rank; 0:
                    // not measured
  bool stood_still; // computing almost stopped during the measurement of `beside`,
                    // because ranks share processors or other programs ran. Overlap then
                    // gains nothing; an idle machine may give another factor
} egraph_exchange_basis;

/// Measures every kind and size of exchange between `ranks` ranks of this host, for some
/// seconds, and replaces older measurements in the database of the costs. channel:
/// "local" (or NULL) for threads of this process; "mpi" when this process is one rank
/// (*out_rank), of which rank 0 stores. Plans for "host*RANKS", or "host-mpi*RANKS", are
/// then priced with these measurements. Fails with ARGUMENT without a writable database,
/// or with fewer than two ranks.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_costs_measure_exchanges(
    egraph_costs *costs, const char *channel, uint32_t ranks, uint32_t *out_rank);
/// Calls `each` (may be NULL) for every class of exchanges of this host in the database
/// of the costs, ordered by devices and exchange.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_costs_exchanges(egraph_costs *costs, const char *channel, uint32_t ranks,
                       egraph_status (*each)(void *user, const egraph_exchange_class *c),
                       void *user, egraph_exchange_basis *out);

#ifdef __cplusplus
}
#endif

#endif
