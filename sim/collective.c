// SPDX-License-Identifier: Apache-2.0
#include "sim/collective.h"

#include <math.h>

// ---- figures of n devices ---------------------------------------------------------

typedef double figure(uint32_t n);

static double levels(uint32_t n) {
  double count = 0;
  for (uint64_t reached = 1; reached < n; reached *= 2)
    count++;
  return count;
}

/// Counts the ones in the binary forms of all numbers below n: bit k is set in 2^k of
/// every 2^(k+1).
static double ones_below(uint32_t n) {
  uint64_t count = 0;
  for (uint64_t bit = 1; bit < n; bit *= 2) {
    uint64_t rest = n % (2 * bit);
    count += n / (2 * bit) * bit + (rest > bit ? rest - bit : 0);
  }
  return (double)count;
}

static double once(uint32_t n) { return n > 1; }
static double others(uint32_t n) { return (double)n - 1; }
static double twice_others(uint32_t n) { return 2 * others(n); }
static double twice_levels(uint32_t n) { return 2 * levels(n); }
static double rest(uint32_t n) { return others(n) / n; }
static double twice_rest(uint32_t n) { return 2 * others(n) / n; }
static double half_rest(uint32_t n) { return others(n) / (2.0 * n); }
static double rest_of_block(uint32_t n) { return others(n) / n / n; }
static double ones_of_block(uint32_t n) { return ones_below(n) / n / n; }

// ---- the table of collective.h ----------------------------------------------------

typedef struct formula {
  unsigned used_by; // a bit per eg_collectives
  eg_transition_kind kind;
  eg_collective_algorithm algorithm;
  bool is_far; // devices send not only to their neighbours
  figure *rounds, *volume;
  double constant;
} formula;

enum {
  AUTO = 1 << EG_COLLECTIVES_AUTO,
  RING = AUTO | 1 << EG_COLLECTIVES_RING,
  TREE = AUTO | 1 << EG_COLLECTIVES_TREE,
  ALPA = 1 << EG_COLLECTIVES_ALPA
};

// clang-format off
static const formula formulas[] = {
    {RING, EG_TRANSITION_ALL_GATHER, EG_ALGORITHM_RING, false, others, rest, 0},
    {RING, EG_TRANSITION_REDUCE_SCATTER, EG_ALGORITHM_RING, false, others, rest, 0},
    {RING, EG_TRANSITION_ALL_REDUCE, EG_ALGORITHM_RING, false, twice_others, twice_rest, 0},
    {RING, EG_TRANSITION_ALL_TO_ALL, EG_ALGORITHM_RING, true, others, rest_of_block, 0},
    {TREE, EG_TRANSITION_ALL_GATHER, EG_ALGORITHM_HALVING, true, levels, rest, 0},
    {TREE, EG_TRANSITION_REDUCE_SCATTER, EG_ALGORITHM_HALVING, true, levels, rest, 0},
    {TREE, EG_TRANSITION_ALL_REDUCE, EG_ALGORITHM_HALVING, true, twice_levels, twice_rest, 0},
    {TREE, EG_TRANSITION_ALL_REDUCE, EG_ALGORITHM_DOUBLING, true, levels, levels, 0},
    {TREE, EG_TRANSITION_ALL_TO_ALL, EG_ALGORITHM_HALVING, true, levels, ones_of_block, 0},
    {ALPA, EG_TRANSITION_ALL_GATHER, EG_ALGORITHM_NONE, false, once, rest, 0.1},
    {ALPA, EG_TRANSITION_REDUCE_SCATTER, EG_ALGORITHM_NONE, false, once, rest, 0.001},
    {ALPA, EG_TRANSITION_ALL_REDUCE, EG_ALGORITHM_NONE, false, once, twice_rest, 0.01},
    {ALPA, EG_TRANSITION_ALL_TO_ALL, EG_ALGORITHM_NONE, false, once, half_rest, 0.001},
};
// clang-format on

enum { FORMULAS = sizeof formulas / sizeof *formulas };

/// Finds the cheapest formula of a transition; returns NULL if the transition is free.
static const formula *cheapest(const eg_machine_mesh *mesh,
                               const eg_transition *transition, double bytes,
                               double *out_seconds) {
  assert(transition->axis < mesh->mesh.axis_count && bytes >= 0);
  uint32_t n = mesh->mesh.axes[transition->axis].size;
  const eg_mesh_link *link = &mesh->links[transition->axis];
  const formula *best = NULL;
  *out_seconds = 0;
  if (n <= 1 || eg_transition_is_local(transition->kind)) return NULL;
  *out_seconds = (double)INFINITY;
  for (size_t i = 0; i < FORMULAS; i++) {
    const formula *f = &formulas[i];
    if (f->kind != transition->kind || (f->used_by >> mesh->collectives & 1) == 0)
      continue;
    double beta = f->is_far ? link->exchange_seconds_per_byte : link->seconds_per_byte;
    double seconds =
        f->rounds(n) * link->latency_seconds + f->volume(n) * bytes * beta + f->constant;
    if (!(seconds < *out_seconds)) continue;
    *out_seconds = seconds;
    best = f;
  }
  return best;
}

// ---- measured -----------------------------------------------------------------------

/// Finds the measured seconds of an exchange; false: the exchange was not measured
/// between as many devices as the axis has.
static bool find_measured(const eg_machine_mesh *mesh, uint32_t axis, uint32_t exchange,
                          double bytes, double *out_seconds) {
  const eg_mesh_link *link = &mesh->links[axis];
  for (uint32_t i = 0; i < link->curve_count; i++) {
    const eg_link_curve *curve = &link->curves[i];
    if (curve->exchange != exchange || curve->devices != mesh->mesh.axes[axis].size)
      continue;
    const eg_size_class *c = curve->classes, *last = c + curve->class_count - 1;
    while (c < last && bytes > c->most_bytes)
      c++;
    *out_seconds = fmax(c->latency_seconds + bytes * c->seconds_per_byte, 0);
    return true;
  }
  return false;
}

// ---- seconds ------------------------------------------------------------------------

double eg_collective_seconds(const eg_machine_mesh *mesh, const eg_transition *transition,
                             double bytes) {
  double seconds;
  uint32_t n = mesh->mesh.axes[transition->axis].size;
  if (n > 1 && !eg_transition_is_local(transition->kind) &&
      find_measured(mesh, transition->axis, transition->kind, bytes, &seconds))
    return seconds;
  (void)cheapest(mesh, transition, bytes, &seconds);
  return seconds;
}

eg_collective_algorithm eg_collective_algorithm_of(const eg_machine_mesh *mesh,
                                                   const eg_transition *transition,
                                                   double bytes) {
  double seconds;
  const formula *best = cheapest(mesh, transition, bytes, &seconds);
  return best == NULL ? EG_ALGORITHM_NONE : best->algorithm;
}

double eg_collective_halo_seconds(const eg_machine_mesh *mesh, const eg_halo *halo,
                                  const eg_type *local) {
  if (mesh->mesh.axes[halo->axis].size <= 1 || local->dims[halo->dim] == 0) return 0;
  const eg_mesh_link *link = &mesh->links[halo->axis];
  double row = (double)eg_type_bytes(local) / (double)local->dims[halo->dim];
  int messages = (halo->before > 0) + (halo->after > 0);
  double rows = (double)(halo->before > 0 ? halo->before : 0) +
                (double)(halo->after > 0 ? halo->after : 0);
  double measured;
  if (messages != 0 &&
      find_measured(mesh, halo->axis, EG_EXCHANGE_HALO, rows * row, &measured))
    return measured;
  return messages * link->latency_seconds + rows * row * link->seconds_per_byte;
}
