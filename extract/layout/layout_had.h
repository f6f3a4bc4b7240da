// The ways to have one value: made in a layout, and had in a set of them, with what that
// exceeds the least by.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_HAD_H
#define EG_EXTRACT_LAYOUT_LAYOUT_HAD_H

#include "extract/layout/layout_factors.h"
#include "extract/layout/layout_relation.h"
#include "extract/layout/layout_sets.h"

typedef struct eg_layout_way {
  uint32_t made, set; // layout, or the number of layouts: not made; number of a set
  double cost;        // beyond making it: arcs, and the cheapest layouts for its users
} eg_layout_way;
EG_VEC_DEFINE(eg_layout_ways, eg_layout_way);

typedef struct eg_layout_had {
  // Borrowed.
  eg_layout_factors *factors;
  const eg_bytes *asked;        // [labels of links] by a strategy or root
  const eg_doubles *arc_excess; // see eg_layout_excess
  eg_relation_maker *maker;     // room, rows, lost
  // Of the value at hand.
  uint32_t value, layouts;
  const double *made; // [layouts + 1] what making it there exceeds the least by
  double least;       // of its arborescences
  bool fits;          // false: it has, or its users ask for, too many layouts
  eg_u32s users;      // links that use it
  eg_u32s targets;    // layouts that they ask for
  eg_words sets;      // eg_layout_set of targets; numbered
  eg_layout_ways ways;
  // Scratch.
  eg_u32s from, to;
  eg_doubles arc_cost, base, extra, users_cost;
  eg_bytes dominated; // [sets][layouts]
  eg_layout_sets finder;
} eg_layout_had;

void eg_layout_had_init(eg_layout_had *had, egraph_allocator alloc);
void eg_layout_had_deinit(eg_layout_had *had);
/// Finds the ways to have a value for which there is room. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_had_find(eg_layout_had *had, uint32_t value, const double *made);
/// Price of a layout for a user; INFINITY: it does not ask for it. Of none.
double eg_layout_had_price(const eg_layout_had *had, uint32_t link, uint32_t target);
double eg_layout_had_price_of_none(const eg_layout_had *had, uint32_t link);
/// Of the cheapest that a set has, or none.
double eg_layout_had_least(const eg_layout_had *had, uint32_t link, eg_layout_set set);

#endif
