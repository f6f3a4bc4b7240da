// Nodes that move no bytes: the result is a region of the operand as it lies in memory,
// or the operands are regions of the result. The executor gives them shared memory
// instead of a step, and the profiler prices them at nothing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_VIEWS_H
#define EG_EXEC_VIEWS_H

#include "pcg/graph/node_spec.h"

/// True when result `index` is the region of operand 0 that starts *out_offset bytes into
/// it: reshapes, identities, transpositions that move only dimensions of length 1, parts
/// of a split or slice along the outermost dimension.
bool eg_view_of(const eg_node_spec *spec, uint32_t index, size_t *out_offset);
/// True when every result is such a view.
bool eg_node_is_view(const eg_node_spec *spec);
/// True when the operands of a concatenation lie behind each other in the result, so
/// that their producers can write there. Operand i starts after the bytes of the
/// operands before it.
bool eg_concat_is_region(const eg_node_spec *spec);

#endif
