// The arborescences of one value, priced: from the layout in which it is made to a layout
// for each of a few users, each layout at a price of its own (Dreyfus and Wagner 1971, on
// a directed graph, with min-marginals by an outside pass).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_STEINER_H
#define EG_EXTRACT_LAYOUT_LAYOUT_STEINER_H

#include "extract/layout/layout_problem.h"

enum { EG_STEINER_USERS = 4 };

/// Prices are finite or INFINITY; entry `layouts` of each is that of having no layout. A
/// value without a layout has users without one only.
typedef struct eg_steiner {
  uint32_t layouts, arcs, users;
  const uint32_t *from, *to; // [arcs] layouts
  const double *cost;        // [arcs] >= 0
  const double *source;      // [layouts + 1]
  const double *user[EG_STEINER_USERS];
  // Tables, [subset of users][layouts]; owned.
  eg_doubles inside, outside;
} eg_steiner;

void eg_steiner_init(eg_steiner *steiner, egraph_allocator alloc);
void eg_steiner_deinit(eg_steiner *steiner);
/// The least price of all. O(3^users layouts + 2^users arcs paths). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_steiner_solve(eg_steiner *steiner, double *out);
/// After solve: the least price with each label of the source, [layouts + 1].
void eg_steiner_source(const eg_steiner *steiner, double *out);
/// After solve: prepares eg_steiner_user and eg_steiner_arc.
egraph_status eg_steiner_reverse(eg_steiner *steiner);
/// The least price with each label of a user, [layouts + 1].
void eg_steiner_user(const eg_steiner *steiner, uint32_t user, double *out);
/// The least price with an arc in use.
double eg_steiner_arc(const eg_steiner *steiner, uint32_t arc);

#endif
