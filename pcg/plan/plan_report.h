// Prints plans as text for people and as JSON: the report, with the answer first, then
// blocks and exchanges; and the steps.
//
//   step        163 ms on gpu=8: 8 devices, 4 micro-batches
//   speedup     6.52 times as fast as one device (1.06 s)
//   peak        38.2 % of the machine's peak
//   memory      5.87 GB of 80 GB on every device
//   bottleneck  computing 87.2 % of the seconds, exchanges over gpu 12.8 %
//   warning     one line for each thing that changes a decision
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_REPORT_H
#define EG_PCG_PLAN_REPORT_H

#include "pcg/plan/plan_cost.h"

/// Prints text for people: the answer, BLOCKS and EXCHANGES. `memory_limit`: bytes of a
/// device; INFINITY: none.
egraph_status eg_plan_answer_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary, double memory_limit);
/// Prints text for people: a row for each part of the model, with its seconds, its
/// weights and its activations by layout. Parts are repeated blocks, and the nodes
/// before, between and behind the blocks. Every step belongs to one part (steps of the
/// backward phase and the update to the part whose weights and activations they read), so
/// the seconds of all parts add up to the seconds of the step. Consecutive blocks whose
/// values have the same layouts are one row. Prints nothing for a plan of one device
/// without repeated blocks. (plan_blocks.c)
egraph_status eg_plan_blocks_print(eg_text *text, const eg_plan *plan);
/// Prints text for people: a table of the exchanges between devices, after an empty line;
/// nothing if there are no exchanges.
egraph_status eg_plan_exchanges_print(eg_text *text, const eg_plan_summary *summary);
/// Prints text for people: the plan's seconds by phase, its memory by purpose.
egraph_status eg_plan_summary_print(eg_text *text, const eg_plan_summary *summary);
/// Writes one JSON object:
///   {"devices", "micro_batches", "seconds", "phases": [{"phase", "node_seconds",
///    "move_seconds"}], "memory_bytes", "memory": {store: {"at_peak", "most"}},
///    "peak_step", "collectives": [{"phase", "kind", "axis", "count", "bytes",
///    "seconds"}]}
/// Collectives are the exchanges in which devices send data to each other.
egraph_status eg_plan_summary_write_json(eg_text *text, const eg_plan_summary *summary);
/// Writes the members of the object that eg_plan_summary_write_json writes,
/// without braces.
egraph_status eg_plan_summary_write_members(eg_text *text,
                                            const eg_plan_summary *summary);

// ---- steps (plan_text.c) --------------------------------------------------------------

typedef enum eg_plan_words {
  EG_PLAN_COLLECTIVES, // "all-gather h S0 -> R on gpu"
  EG_PLAN_UNITY        // "Combine(0, 4) h S0 -> R on gpu": dimension, degree
} eg_plan_words;

/// Prints text for people about a plan that passes eg_plan_check: a line for each step,
/// phase by phase; repeated steps in the same layouts, such as the steps of repeated
/// blocks, are printed once. Values have the names and layouts of constraints and plan
/// files; values without a name of the model have a label.
///
///   STEPS on gpu=4
///   inputs, weights and states
///     x@S0: float32[2,8] of float32[8,8]
///     w@R: float32[8,8]
///   forward
///     h@S0 = matmul x@S0 w@R [rows (dimension 0) of h over gpu], 1.2 us
///     all-gather h S0 -> R over gpu, 256 B, 2 us
///   outputs
///     h@R
///
/// In Unity's words a move is one or two operators of the parallel computation graph.
/// Unity's tensors have parts and copies; here every device has all of a value unless its
/// layout says otherwise, and its copies are the summands of P:
///
///   slice           R -> S(d)       Partition
///   mask            R -> P          Replicate: one copy keeps the value, others are zero
///   all-gather      S(d) -> R       Combine
///   all-reduce      P -> R          Reduce
///   reduce-scatter  P -> S(d)       Reduce, Partition
///   all-to-all      S(d) -> S(e)    Combine, Partition
egraph_status eg_plan_print(const eg_plan *plan, eg_plan_words words, eg_text *out);

#endif
