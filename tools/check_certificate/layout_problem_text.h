// A layout problem and a solution in a certificate (layout.c explains them), read line by
// line; every number is checked.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_LAYOUT_PROBLEM_TEXT_H
#define CHECK_LAYOUT_PROBLEM_TEXT_H

#include "tools/check_certificate/certificate.h"

enum { LAYOUT_ROWS = 4 };
#define LAYOUT_NONE UINT32_MAX

/// The text of a problem and a solution. List i has the items begin[i] .. begin[i + 1).
typedef struct layout_text {
  uint32_t values, places, arcs, operators, inputs, strategies, needs, roots, root_places,
      ties, members, forced_count, rows;
  double limit[LAYOUT_ROWS]; // INFINITY: none
  uint32_t *place_begin;     // [values + 1]
  uint32_t *place_value;     // [places]
  double *cost_times, *memory_times;
  uint32_t *arc_from, *arc_to;   // places of one value; the arcs of a value
                                 // are contiguous
  uint32_t *arc_begin;           // [values + 1] into arc_of
  uint32_t *arc_of;              // [arcs]
  double *arc_cost, *arc_memory; // memory: [arc * LAYOUT_ROWS + row]
  uint32_t *op_value, *input_begin, *input, *strategy_begin;
  uint32_t *op_of; // [strategies]
  uint32_t *output, *need_begin, *need;
  double *cost, *memory;
  uint32_t *root_value, *root_begin, *root_place;
  uint8_t *tie_sources; // [ties] 0: members are operators
  uint32_t *tie_begin, *tie_member;
  uint32_t *fixed; // [values] layout, or LAYOUT_NONE
  uint8_t *place_out, *strategy_out;
  uint32_t *forced;
  uint32_t *choice;  // [values] strategy, or LAYOUT_NONE
  uint8_t *arc_used; // [arcs]
  double claimed_cost;
} layout_text;

/// Reads the layout problem, its solution and the line of the solution's cost. `word` is
/// the first word of the next line.
bool layout_text_read(certificate *c, layout_text *out, const char **word);
/// Goes to the next line and reads its first word; false, with a reason, at the end.
bool layout_text_line(certificate *c, const char **word);

/// Checks that the solution is valid, keeps the memory limits, and has the claimed cost.
bool layout_text_check_solution(certificate *c, const layout_text *t);

/// Marks a value's layouts that `usable` transitions reach from marked layouts.
void layout_text_spread(const layout_text *t, uint32_t value, const uint8_t *usable,
                        uint8_t *marked);
/// Returns the value that the operator of a strategy computes.
static inline uint32_t layout_text_value_of(const layout_text *t, uint32_t strategy) {
  return t->op_value[t->op_of[strategy]];
}

#endif
