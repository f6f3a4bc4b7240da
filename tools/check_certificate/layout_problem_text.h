// A layout problem and a solution of it as a certificate has them (layout.c says what
// they mean), read line by line with every number checked.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_LAYOUT_PROBLEM_TEXT_H
#define CHECK_LAYOUT_PROBLEM_TEXT_H

#include "tools/check_certificate/certificate.h"

enum { LAYOUT_ROWS = 4 };
#define LAYOUT_NONE UINT32_MAX

/// Row i of a list: items begin[i] .. begin[i + 1).
typedef struct layout_text {
  uint32_t values, places, arcs, operators, inputs, strategies, needs, roots, root_places,
      ties, members, forced_count, rows;
  double limit[LAYOUT_ROWS]; // INFINITY: none
  uint32_t *place_begin;     // [values + 1]
  uint32_t *place_value;     // [places]
  double *cost_times, *memory_times;
  uint32_t *arc_from, *arc_to;   // places of one value, those of a value together
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

/// Reads up to and with the line of the cost. `word` is the first of the line after.
bool layout_text_read(certificate *c, layout_text *out, const char **word);
/// Next line and its first word; false, with a reason, at the end.
bool layout_text_line(certificate *c, const char **word);

/// Checks that the solution is one, keeps the limits, and costs as much as is claimed.
bool layout_text_check_solution(certificate *c, const layout_text *t);

/// Marks the places of a value that usable arcs lead to from marked ones.
void layout_text_spread(const layout_text *t, uint32_t value, const uint8_t *usable,
                        uint8_t *marked);
/// The value that a strategy makes.
static inline uint32_t layout_text_value_of(const layout_text *t, uint32_t strategy) {
  return t->op_value[t->op_of[strategy]];
}

#endif
