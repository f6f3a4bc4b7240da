// The analysis of tensor e-graphs: types, weight-only, splat values.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_TENSOR_FACTS_H
#define EG_REWRITES_TENSOR_FACTS_H

#include "rewrites/saturation/tensor_egraph.h"
#include "rewrites/saturation/type_lists.h"

/// What the facts of terms are computed from.
typedef struct eg_tensor_facts {
  egraph_allocator alloc;
  const eg_graph *graph;
  const eg_attr_pool *attrs;
  eg_type_lists lists;
  bool is_restricted; // to nodes that ONNX Runtime loads
} eg_tensor_facts;

egraph_status eg_tensor_facts_of_node(eg_tensor_facts *facts, const eg_attrs *attrs,
                                      const eg_tensor_fact *const *children,
                                      uint32_t count, eg_tensor_fact *out);
/// The analysis; `self` is the eg_tensor_facts, which must outlive the engine.
eg_analysis eg_tensor_facts_analysis(eg_tensor_facts *facts);

#endif
