// Substitutions as text of the rule language.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_UNITY_TEXT_H
#define EG_REWRITES_UNITY_TEXT_H

#include "rewrites/unity/unity_file.h"

/// On which axes parallel operators work, in the order in which it is tried.
typedef enum eg_unity_axes {
  EG_UNITY_ONE_AXIS,
  EG_UNITY_BY_DIMENSION, // one for rows, one for columns, one for copies
  EG_UNITY_TWO_AXES      // every distribution over two
} eg_unity_axes;

/// Why a substitution has no meaning on a mesh, or NULL.
const char *eg_unity_fault(const eg_unity_rule *rule);
/// Parallel operators of both sides.
uint32_t eg_unity_parallel_count(const eg_unity_rule *rule);
/// Writes rule unity-<number> with its parallel operators on the axes chosen;
/// EG_UNITY_TWO_AXES: bit i of `second` puts the i-th on axis b, else on a. Overwrites
/// `text`; *out_fits is false when it would be too long. The substitution has no fault.
egraph_status eg_unity_write(const eg_unity_rule *rule, uint32_t number, egraph_math math,
                             eg_unity_axes axes, uint32_t second, eg_text *text,
                             bool *out_fits);

#endif
