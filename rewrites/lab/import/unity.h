// Substitutions of Unity, which have parallel operators, as text of the rule language.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_UNITY_TEXT_H
#define EG_REWRITES_IMPORT_UNITY_TEXT_H

#include "rewrites/lab/import/substitution.h"
#include "rewrites/language/rules.h"

/// On which axes parallel operators work, in the order in which it is tried.
typedef enum eg_unity_axes {
  EG_UNITY_ONE_AXIS,
  EG_UNITY_BY_DIMENSION, // one for rows, one for columns, one for copies
  EG_UNITY_TWO_AXES      // every distribution over two
} eg_unity_axes;

/// Why a substitution has no meaning on a mesh, or as tiles; NULL: it has one.
const char *eg_unity_fault(const eg_substitution *rule, bool as_tiles);
/// Parallel operators of both sides.
uint32_t eg_unity_parallel_count(const eg_substitution *rule);
/// Choices that a substitution leaves open.
typedef struct eg_unity_form {
  egraph_math math;
  eg_unity_axes axes;
  uint32_t second;  // EG_UNITY_TWO_AXES: bit i puts the i-th parallel operator on axis b,
                    // else on a
  bool same_shapes; // under the guard that both sides have the same sizes
  bool as_tiles;    // without devices: tensors of three dimensions, copies among them;
                    // replicate repeats, reduce adds halves, partition and combine do
                    // nothing
} eg_unity_form;

/// Writes rule unity-<number>, overwriting `text`; *out_fits is false when it would be
/// too long. The substitution has no fault.
egraph_status eg_unity_write(const eg_substitution *rule, uint32_t number,
                             const eg_unity_form *form, eg_text *text, bool *out_fits);

#endif
