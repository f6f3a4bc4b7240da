// Kinds of permutations and of axes, beside the dimensions that they are of.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_AXES_H
#define EG_REWRITES_INSTANCE_AXES_H

// In the order of the table in instance_axes.c. What is not of order 2 differs from its
// inverse.
typedef enum eg_perm_kind {
  EG_PERM_NONE,
  EG_PERM_SWAP, // is its own inverse
  EG_PERM_CYCLE,
  EG_PERM_ADJACENT, // two neighbours change places
  EG_PERM_ROTATION,
  EG_PERM_REVERSAL,
  EG_PERM_SWAPS, // several pairs
  EG_PERM_FIRST_KEPT,
  EG_PERM_LAST_KEPT,
  EG_PERM_ENDS_KEPT,
  EG_PERM_ALL_MOVED
} eg_perm_kind;

typedef enum eg_axis_kind {
  EG_AXIS_FIRST,
  EG_AXIS_LAST,
  EG_AXIS_BETWEEN,
  EG_AXES_ADJACENT, // several, without a gap
  EG_AXES_APART
} eg_axis_kind;

#endif
