// Writes substitutions of Unity, which have parallel operators, in the rule language.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_UNITY_TEXT_H
#define EG_REWRITES_IMPORT_UNITY_TEXT_H

#include "rewrites/lab/import/substitution.h"
#include "rewrites/language/rules.h"

/// The mesh axes on which parallel operators work, in the order in which they are tried.
typedef enum eg_unity_axes {
  EG_UNITY_ONE_AXIS,
  EG_UNITY_BY_DIMENSION, // one axis for rows, one for columns, one for copies
  EG_UNITY_TWO_AXES      // every assignment of the operators to two axes
} eg_unity_axes;

/// Returns the reason why a substitution has no meaning on a mesh of devices (or,
/// `as_tiles`, as a rule without devices), or NULL.
const char *eg_unity_fault(const eg_substitution *rule, bool as_tiles);
/// Counts the parallel operators of both sides.
uint32_t eg_unity_parallel_count(const eg_substitution *rule);
/// The choices that a substitution of Unity leaves open when it is written as a rule.
typedef struct eg_unity_form {
  egraph_math math;
  eg_unity_axes axes;
  // EG_UNITY_TWO_AXES: bit i puts the i-th parallel operator on axis b, otherwise on a.
  uint32_t second;
  bool same_shapes; // adds the guard that both sides have the same sizes
  // Writes a rule without devices: tensors have three dimensions, the first for copies;
  // replicate repeats, reduce adds halves, partition and combine do nothing.
  bool as_tiles;
} eg_unity_form;

/// Writes the rule unity-<number> to `text` (overwritten); *out_fits is false when it is
/// too long. eg_unity_fault must have returned NULL.
egraph_status eg_unity_write(const eg_substitution *rule, uint32_t number,
                             const eg_unity_form *form, eg_text *text, bool *out_fits);

#endif
