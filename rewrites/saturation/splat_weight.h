// A weight of which all elements are one known number.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SPLAT_WEIGHT_H
#define EG_REWRITES_SPLAT_WEIGHT_H

#include "pcg/graph/graph.h"

/// Adds it, with its data. Fails as eg_graph_add_weight does.
egraph_status eg_graph_add_splat(eg_graph *graph, const char *name, const eg_type *type,
                                 double number, eg_value *out);

#endif
