// Sums and maxima of equal arrays that several ranks hold.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_COMBINE_H
#define EG_EXEC_COMBINE_H

#include "exec/channel.h"

/// out[i] = parts[0][i] + parts[1][i] + ..., or the maximum, in this order. 16-bit floats
/// are added in float32 and rounded once; integers wrap; the maximum of anything and NaN
/// is NaN. Not for bool. part_count >= 1; `out` may be one of the parts.
void eg_combine(egraph_dtype dtype, eg_combining combining, const void *const *parts,
                uint32_t part_count, size_t count, void *out);

#endif
