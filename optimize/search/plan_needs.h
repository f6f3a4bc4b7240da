// What every plan of a model makes, and what every plan that makes a value makes before
// it: a value's operands, as far as all operators that may make it read them; and what
// comes first in the order of plan_emit.h, which writes the values of a phase by their
// numbers, each after its operands.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_NEEDS_H
#define EG_OPTIMIZE_SEARCH_PLAN_NEEDS_H

#include "optimize/model/plan_model.h"

typedef struct eg_plan_needs {
  const eg_plan_model *model;        // borrowed
  eg_u32s operator_begin, operators; // [values + 1]: that may make a value
  eg_u32s arc_begin, arcs;           // [values + 1]: of a value
  eg_u32s place_value;               // [places]
  eg_u32s first; // [values] no plan makes it before all of its phase with lower numbers,
                 // of the space, than this one
  eg_bytes everywhere; // [values] in every plan
  eg_bytes before;     // [values] made before the value asked for last
  eg_u32s queue;       // scratch
} eg_plan_needs;

void eg_plan_needs_init(eg_plan_needs *needs, egraph_allocator alloc);
void eg_plan_needs_deinit(eg_plan_needs *needs);
/// Fills it, at first and after strategies were forbidden. O(problem). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_plan_needs_find(eg_plan_needs *needs, const eg_plan_model *model);
/// Fills `before`: what every plan that makes the value makes before it. O(problem).
egraph_status eg_plan_needs_ask(eg_plan_needs *needs, uint32_t value);
/// Whether a value has steps of its own phase: it is neither there from the start nor
/// kept.
bool eg_plan_needs_is_made(const eg_plan_needs *needs, uint32_t value);
/// Whether one value is made before another of its phase in every plan that has both, by
/// the order of writing alone.
bool eg_plan_needs_is_earlier(const eg_plan_needs *needs, uint32_t value, uint32_t other);
/// Whether every operator that may make a value reads another.
bool eg_plan_needs_reads(const eg_plan_needs *needs, uint32_t value, uint32_t other);

#endif
