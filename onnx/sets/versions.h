// Versions of the operators of the standard domain (sets/versions.def): checks nodes
// against an operator set, and finds the sets in which an operator means the same.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_SETS_VERSIONS_H
#define EG_ONNX_SETS_VERSIONS_H

#include "onnx/message.h"
#include "ops/ops.h"
#include "pcg/graph/graph.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

/// Returns the newest operator set that is known.
int64_t eg_onnx_newest_opset(void);
/// Returns the version of the file format that came with a set.
int64_t eg_onnx_ir_version(int64_t opset);

/// True for the domain of the standard operators (NULL is "").
bool eg_onnx_is_standard(const char *domain);
/// Returns the set of the standard domain in this list; 0: the list lacks it.
int64_t eg_onnx_standard_opset(Onnx__OperatorSetIdProto *const *sets, size_t count);

/// Operator sets from the first to the last one.
typedef struct eg_onnx_sets {
  int64_t first, last;
} eg_onnx_sets;
static inline bool eg_onnx_sets_have(eg_onnx_sets sets, int64_t opset) {
  return sets.first <= opset && opset <= sets.last;
}

/// Returns the operator sets, from the version of an operator in set `opset` on, in which
/// the operator means the same; later versions may add types. All sets if the operator is
/// not known.
eg_onnx_sets eg_onnx_sets_of(const char *op_type, int64_t opset);
/// A list of nodes: of a graph, or of a function.
typedef struct eg_onnx_node_span {
  Onnx__NodeProto *const *nodes;
  size_t count;
} eg_onnx_node_span;
EG_VEC_DEFINE(eg_onnx_node_spans, eg_onnx_node_span);
/// Appends the nodes of each graph within a node.
egraph_status eg_onnx_push_graphs(const Onnx__NodeProto *node, eg_onnx_node_spans *out);

/// A range of operator sets, and the nodes that exclude the sets before and after it
/// (NULL: no node does).
typedef struct eg_onnx_span {
  eg_onnx_sets sets;
  const Onnx__NodeProto *wants_first, *wants_last;
} eg_onnx_span;
/// Narrows `inout` to operator sets in which all nodes of a graph, and of graphs within
/// its nodes, mean the same as in set `opset` (eg_onnx_sets_of).
egraph_status eg_onnx_narrow(egraph_allocator alloc, Onnx__NodeProto *const *nodes,
                             size_t count, int64_t opset,
                             eg_onnx_sets (*sets_of)(const char *op_type, int64_t opset),
                             eg_onnx_span *inout);

/// True when a list of words, separated by blanks, contains `word`.
bool eg_onnx_has_word(const char *words, const char *word);
/// Returns why a set does not have a node in this form; NULL: it does. `dtype` [inputs]
/// are TensorProto.DataType, 0: not known. An operator that is not known counts as being
/// in every set.
const char *eg_onnx_fault(const Onnx__NodeProto *node, const int *dtype, int64_t opset);
/// True when a set has the operator.
bool eg_onnx_has(const char *op_type, int64_t opset);
/// Returns the element type of a result; 0: not known.
int eg_onnx_result_type(const Onnx__NodeProto *node, const int *dtype, size_t result,
                        int64_t opset);

/// True when our operator may have an operand of this element type in the newest set.
/// True for operators that ONNX lacks: they are written by other operators.
bool eg_onnx_takes(eg_op op, uint32_t operand, egraph_dtype dtype);

// ---- ONNX Runtime -------------------------------------------------------------------

/// True when ONNX Runtime loads a node of the standard domain in an operator set. `dtype`
/// [inputs] are TensorProto.DataType, 0: not known. True if nothing is known.
bool eg_onnx_is_loaded(const Onnx__NodeProto *node, const int *dtype, int64_t opset);

/// True when ONNX Runtime loads a node of ours, as we write it, in one of these sets.
/// `dtype` is the type of the first operand that is not bool; bool if all are. True for
/// operators that no model has.
bool eg_onnx_is_op_loaded(eg_op op, egraph_dtype dtype, eg_onnx_sets among);

/// Finds, for each operator, the element types with which ONNX Runtime loads it in
/// the model that we write for a graph: bit `dtype` of out_types[op], [EG_OP_COUNT].
/// *out_is_loaded: some set loads every node of the graph. Fails with
/// EGRAPH_E_MEMORY. (write/export.c)
egraph_status eg_onnx_loaded_types(const eg_graph *graph, uint32_t *out_types,
                                   bool *out_is_loaded);

#endif
