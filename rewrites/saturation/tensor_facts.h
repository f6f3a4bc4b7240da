// Facts of a tensor: its type, if it depends on weights only, and splat values. They are
// computed from the operator that produces the tensor and the facts of its operands.
// Leaves and opaque nodes belong to a graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_TENSOR_FACTS_H
#define EG_REWRITES_TENSOR_FACTS_H

#include "base/flatmap.h"
#include "ops/ops.h"
#include "pcg/graph/graph.h"

/// The facts of a class or term. Types are plain in layout: extraction chooses memory
/// formats. A node of split, top-k, or of an opaque operator whose results are not
/// exactly one makes a tuple; PART nodes take its results.
typedef struct eg_tensor_fact {
  bool typed;   // false: result of an opaque node, of unknown type; no rule applies
  eg_type type; // typed, not a tuple
  // For a tuple: [part_count] types of its results; equal lists have one address.
  const eg_type *parts;
  uint32_t part_count; // 0: not a tuple
  bool weight_only;    // computed from weights and fills alone
  bool splat; // every element (of every part) equals splat_value (known data or fill)
  double splat_value;
  bool is_sealed; // rules do not look into the class: eg_tensor_egraph_seal
  // In an explained e-graph (eg_tensor_egraph_create_explained): 1 + the number of a term
  // of the class that proves by itself that the class is weight-only, or a splat.
  uint32_t weight_term, splat_term;
} eg_tensor_fact;

/// True for a result of an opaque tuple whose type is not known.
bool eg_tensor_part_is_unknown(const eg_type *part);

/// The types of the results of a node with several results; equal lists are kept once.
typedef struct eg_type_list {
  const eg_type *types;
  uint32_t count;
} eg_type_list;
EG_VEC_DEFINE(eg_type_list_vec, eg_type_list);

/// The state from which facts are computed. Facts borrow from this state.
typedef struct eg_tensor_facts {
  egraph_allocator alloc;
  const eg_graph *graph;
  bool is_restricted; // to nodes with kernels
  // If nodes without kernels are refused: element types by operator (eg_kernel_types).
  uint32_t kernels[EG_OP_COUNT];
  uint64_t left_out; // nodes that were refused for that
  eg_arena arena;    // memory of type lists
  eg_type_list_vec lists;
  eg_flatmap map; // hash of a list -> its place in `lists`
} eg_tensor_facts;

void eg_tensor_facts_init(eg_tensor_facts *facts, egraph_allocator alloc,
                          const eg_graph *graph);
void eg_tensor_facts_deinit(eg_tensor_facts *facts);
size_t eg_tensor_facts_bytes(const eg_tensor_facts *facts);
/// Finds, per operator, the element types of operands for which there is a kernel:
/// bit `dtype` of out_types[op], for the dtype of the first operand that is not bool,
/// bool when all are bool. *out_has_all: every node of the graph has a kernel. Fails
/// with EGRAPH_E_MEMORY.
typedef egraph_status eg_kernel_types(const eg_graph *graph, uint32_t *out_types,
                                      bool *out_has_all);

/// Computes the facts of a node from its operands' facts. Fails with EGRAPH_E_TYPE.
egraph_status eg_tensor_facts_of_node(eg_tensor_facts *facts, const eg_attrs *attrs,
                                      const eg_tensor_fact *const *children,
                                      uint32_t count, eg_tensor_fact *out);
/// Sets the facts of an input, or of a weight without known data.
void eg_tensor_facts_of_leaf(const eg_type *type, bool is_weight, eg_tensor_fact *out);
/// Sets the facts of a weight with this value in every element, rounded to its type.
void eg_tensor_facts_of_splat(const eg_type *type, double value, eg_tensor_fact *out);
/// Sets the facts of a weight whose data are these bytes (NULL: no data).
void eg_tensor_facts_of_data(const eg_type *type, const eg_buffer *data,
                             eg_tensor_fact *out);
/// Checks a node: *out_fit is false when the node, on finite known constants, yields a
/// number that is not finite or not normal, or when a fill exceeds its type. `fact` is
/// the fact of the node. Fails with EGRAPH_E_MEMORY.
egraph_status eg_tensor_constants_fit(egraph_allocator alloc, const eg_attrs *attrs,
                                      const eg_tensor_fact *const *children,
                                      uint32_t count, const eg_tensor_fact *fact,
                                      bool *out_fit);
/// True when two facts have the same type, or for tuples the same types of results; an
/// unknown type agrees with all types.
bool eg_tensor_fact_same_type(const eg_tensor_fact *a, const eg_tensor_fact *b);
/// Appends a fact's type: "float32[2,3]", for a tuple "(float32[1], int64[1])",
/// or "unknown".
egraph_status eg_tensor_fact_print(eg_text *text, const eg_tensor_fact *fact);

/// Adds a weight all of whose elements are one number. Fails as eg_graph_add_weight.
egraph_status eg_graph_add_splat(eg_graph *graph, const char *name, const eg_type *type,
                                 double number, eg_value *out);

#endif
