// Layout problems: values that may exist in several layouts (memory formats, shardings),
// operators that produce them, and transitions between the layouts of one value.
//
//   value     has layouts 0 .. n-1; a (value, layout) is a *place*
//   arc       a transition from a place to another of the same value. Paid once, however
//             many consumers use it: the arcs in use of a value form an arborescence
//   operator  one of several producers of a value from input values. An operator has
//             strategies: a layout per input, the layout of the output, cost and memory
//   root      a value that the solution must contain, in one of some layouts
//   tie       values produced in the same layout, if they are part of the solution
//
// Choose strategies and arcs so that every root is served, every needed value has exactly
// one strategy, chosen arcs lead from the layout in which a value is produced to every
// layout that users need, no value needs itself, ties hold, and the memory of all chosen
// items is within the limit of every memory row; minimize the sum of the costs. A plain
// e-graph has one layout per value.
//
// Each memory row is a separate sum, for example the bytes that are alive at one moment
// of a step. A strategy or arc takes memory in each row.
//
// A value kept across a phase (stashed for backward) is a separate value, produced by an
// operator whose strategies keep each layout unchanged and take memory. If a weight must
// leave a step in the layout in which it entered, tie the entry value to the kept value
// of the update.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_PROBLEM_H
#define EG_EXTRACT_LAYOUT_LAYOUT_PROBLEM_H

#include "base/owner.h"
#include "extract/containers.h"

#define EG_LAYOUT_NONE UINT32_MAX

enum { EG_LAYOUT_MEMORY_ROWS = 10 }; // most memory rows

/// The problem as arrays; row i of a list is items begin[i] .. begin[i + 1). Layouts are
/// numbered within their value, places (a value in one layout) over all values. Fill the
/// problem with the functions below; the solver and the checker read its fields.
typedef struct eg_layout_problem {
  eg_u32s place_begin;                 // [values + 1]
  eg_doubles cost_times, memory_times; // [values] factors on its producers and arcs
  eg_u32s source_layout;               // [value] the only layout allowed, or NONE
  eg_bytes place_forbidden;            // [places]
  eg_u32s arc_from, arc_to;            // [arcs] places
  eg_doubles arc_cost;                 // [arcs]
  eg_bytes arc_forbidden;              // [arcs]
  eg_doubles arc_memory[EG_LAYOUT_MEMORY_ROWS]; // [row][arcs]
  eg_u32s operator_value;                       // [operators]
  eg_u32s input_begin, inputs;                  // [operators + 1], values
  eg_u32s strategy_begin;                       // [operators + 1]
  eg_u32s output;                               // [strategies] place
  eg_u32s need_begin, needs;                    // [strategies + 1], a place per input
  eg_doubles cost;                              // [strategies]
  eg_doubles memory[EG_LAYOUT_MEMORY_ROWS];     // [row][strategies]
  eg_bytes forbidden;                           // [strategies]
  eg_u32s root_value;                           // [roots]
  eg_u32s root_begin, root_places;              // [roots + 1]; an empty row: any layout
  eg_u32s tie_begin, tie_members;               // [ties + 1]
  uint32_t memory_rows; // rows in use, 1 .. EG_LAYOUT_MEMORY_ROWS; 1 at first
  double memory_limit[EG_LAYOUT_MEMORY_ROWS]; // INFINITY: none
} eg_layout_problem;

/// A seam, where two copies of a repeated block meet (layout_bound.h): four values with
/// the same number of layouts, produced in every solution, by operators without inputs
/// and without cost, or from a copy of them.
typedef struct eg_layout_seam {
  uint32_t before, first, last, after;
  double times; // n >= 1
} eg_layout_seam;
EG_VEC_DEFINE(eg_layout_seam_list, eg_layout_seam);
enum { EG_SEAM_BEFORE, EG_SEAM_FIRST, EG_SEAM_LAST, EG_SEAM_AFTER, EG_SEAM_ENDS };

/// Multipliers of layouts at the seams (eg_layout_seam), added to costs for a bound that
/// holds for every row of copies of a repeated block.
typedef struct eg_layout_potentials {
  const eg_layout_seam_list *seams; // borrowed
  eg_doubles front, back;           // p, q
  // [seams][EG_SEAM_ENDS][layouts] 1: the value has this layout in no row of copies
  eg_bytes impossible;
} eg_layout_potentials;
EG_OWNER_DEFINE_MEMBERS(eg_layout_potentials, (eg_doubles, front, back),
                        (eg_bytes, impossible))
void eg_layout_potentials_init(eg_layout_potentials *potentials, egraph_allocator alloc,
                               const eg_layout_seam_list *seams);

egraph_status eg_layout_problem_init(eg_layout_problem *problem, egraph_allocator alloc);
void eg_layout_problem_deinit(eg_layout_problem *problem);

static inline uint32_t eg_layout_value_count(const eg_layout_problem *problem) {
  return (uint32_t)problem->cost_times.len;
}
static inline uint32_t eg_layout_place_count(const eg_layout_problem *problem) {
  return (uint32_t)problem->place_forbidden.len;
}
static inline uint32_t eg_layout_arc_count(const eg_layout_problem *problem) {
  return (uint32_t)problem->arc_from.len;
}
static inline uint32_t eg_layout_operator_count(const eg_layout_problem *problem) {
  return (uint32_t)problem->operator_value.len;
}
static inline uint32_t eg_layout_strategy_count(const eg_layout_problem *problem) {
  return (uint32_t)problem->output.len;
}
static inline uint32_t eg_layout_tie_count(const eg_layout_problem *problem) {
  return (uint32_t)problem->tie_begin.len - 1;
}
static inline uint32_t eg_layout_place(const eg_layout_problem *problem, uint32_t value,
                                       uint32_t layout) {
  return problem->place_begin.data[value] + layout;
}
static inline uint32_t eg_layout_layout_count(const eg_layout_problem *problem,
                                              uint32_t value) {
  return problem->place_begin.data[value + 1] - problem->place_begin.data[value];
}

// The functions below fail with EGRAPH_E_MEMORY, and with EGRAPH_E_ARGUMENT when a number
// is out of range; the problem is unchanged then.

/// Adds a value; factors cost_times and memory_times: n if it stands for n equal values.
egraph_status eg_layout_problem_add_value(eg_layout_problem *problem, uint32_t layouts,
                                          double cost_times, double memory_times,
                                          uint32_t *out_value);
typedef struct eg_layout_arc {
  uint32_t value, from, to;             // layouts of the value
  double cost;                          // >= 0
  double memory[EG_LAYOUT_MEMORY_ROWS]; // >= 0; rows that are not in use do not count
} eg_layout_arc;
egraph_status eg_layout_problem_add_arc(eg_layout_problem *problem,
                                        const eg_layout_arc *arc);
egraph_status eg_layout_problem_add_operator(eg_layout_problem *problem, uint32_t value,
                                             const uint32_t *inputs, uint32_t count,
                                             uint32_t *out_operator);
typedef struct eg_layout_strategy {
  const uint32_t *needs;                // layout of each input
  uint32_t output;                      // layout of the value
  double cost;                          // >= 0
  double memory[EG_LAYOUT_MEMORY_ROWS]; // >= 0, as of eg_layout_arc
} eg_layout_strategy;
/// Adds a strategy (input and output layouts, cost, memory) to the operator added last.
egraph_status eg_layout_problem_add_strategy(eg_layout_problem *problem,
                                             const eg_layout_strategy *strategy);
/// Adds a root: solutions contain the value in one of `count` layouts; count 0: in any.
egraph_status eg_layout_problem_add_root(eg_layout_problem *problem, uint32_t value,
                                         const uint32_t *layouts, uint32_t count);
/// Ties the values: they are produced in the same layout.
egraph_status eg_layout_problem_tie(eg_layout_problem *problem, const uint32_t *values,
                                    uint32_t count);
/// Forbids a layout of the value, even as a step between two conversions.
egraph_status eg_layout_problem_forbid_layout(eg_layout_problem *problem, uint32_t value,
                                              uint32_t layout);
/// Fixes the layout that the value is produced in.
egraph_status eg_layout_problem_fix_layout(eg_layout_problem *problem, uint32_t value,
                                           uint32_t layout);
/// Forbids a strategy, numbered within its operator.
egraph_status eg_layout_problem_forbid_strategy(eg_layout_problem *problem, uint32_t op,
                                                uint32_t strategy);

/// Checks independently that `strategy` ([value], numbered through all operators, NONE
/// where not needed) and `arc_used` (a flag for each conversion between layouts) are a
/// solution, ties, user constraints and the limits of all memory rows included. Computes
/// its cost and its memory in each row (0 for unused rows). Shares no code with the
/// solver. Fails with EGRAPH_E_INTERNAL, naming the mistake.
egraph_status eg_layout_certify(egraph_allocator alloc, const eg_layout_problem *problem,
                                const uint32_t *strategy, const uint8_t *arc_used,
                                double *out_cost,
                                double out_memory[EG_LAYOUT_MEMORY_ROWS]);

#endif
