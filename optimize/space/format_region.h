// Finds the values of an e-graph that may be in memory formats other than row-major:
// values connected to a convolution through operators that keep a format. Other values
// would only have useless reorders.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_FORMAT_REGION_H
#define EG_OPTIMIZE_SPACE_FORMAT_REGION_H

#include "rewrites/saturation/tensor_egraph.h"

/// True when a value, with all elements if it is a tuple, may be in a memory format.
bool eg_format_fits_fact(const eg_tensor_fact *fact, eg_format format);
/// Marks the classes whose values may have other formats than row-major; `out`:
/// [class_limit], all false before; not classes of weights alone. Linear in the e-nodes.
egraph_status eg_format_region_find(eg_tensor_egraph *egraph, egraph_allocator alloc,
                                    bool *out);

#endif
