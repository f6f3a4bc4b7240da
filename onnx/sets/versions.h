// Versions of the operators of the standard domain (sets/versions.def): what an operator
// may have in a set, and in which sets it means the same.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_SETS_VERSIONS_H
#define EG_ONNX_SETS_VERSIONS_H

#include "onnx/message.h"
#include "ops/ops.h"
#include "pcg/graph/graph.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

/// The newest operator set that is known.
int64_t eg_onnx_newest_opset(void);
/// The version of the file format that came with a set.
int64_t eg_onnx_ir_version(int64_t opset);

/// True for the domain of the standard operators (NULL is "").
bool eg_onnx_is_standard(const char *domain);
/// The set of the standard domain among these; 0: it is none of them.
int64_t eg_onnx_standard_opset(Onnx__OperatorSetIdProto *const *sets, size_t count);

/// Operator sets from the first to the last one.
typedef struct eg_onnx_sets {
  int64_t first, last;
} eg_onnx_sets;
static inline bool eg_onnx_sets_have(eg_onnx_sets sets, int64_t opset) {
  return sets.first <= opset && opset <= sets.last;
}

/// The sets in which an operator means what it means in this one, and takes what it takes
/// here: all sets where the operator is not known.
eg_onnx_sets eg_onnx_sets_of(const char *op_type, int64_t opset);
/// Operator sets, and the nodes that none before the first and after the last suit (NULL:
/// no node).
typedef struct eg_onnx_span {
  eg_onnx_sets sets;
  const Onnx__NodeProto *wants_first, *wants_last;
} eg_onnx_span;
/// Narrows `inout` to sets in which all nodes of a graph, and of graphs within, mean what
/// they mean in `opset`: to those that `sets_of` gives for each.
egraph_status eg_onnx_narrow(egraph_allocator alloc, Onnx__NodeProto *const *nodes,
                             size_t count, int64_t opset,
                             eg_onnx_sets (*sets_of)(const char *op_type, int64_t opset),
                             eg_onnx_span *inout);

/// Returns whether a list of words, separated by blanks, has this one.
bool eg_onnx_has_word(const char *words, const char *word);
/// Why a set does not have a node in this form; NULL: it does. `dtype` [inputs] are of
/// TensorProto, 0: not known. Every set has the operators that are not known.
const char *eg_onnx_fault(const Onnx__NodeProto *node, const int *dtype, int64_t opset);
/// Returns whether a set has the operator.
bool eg_onnx_has(const char *op_type, int64_t opset);
/// The element type of a result; 0: not known.
int eg_onnx_result_type(const Onnx__NodeProto *node, const int *dtype, size_t result,
                        int64_t opset);

/// Returns whether the newest set has the operator of ours with an operand of this
/// element type. True for operators that it has not: these are written as others.
bool eg_onnx_takes(eg_op op, uint32_t operand, egraph_dtype dtype);

// ---- ONNX Runtime -------------------------------------------------------------------

/// Returns whether a node of the standard domain is loaded in an operator set. `dtype`
/// [inputs] are of TensorProto, 0: not known. True where nothing is known.
bool eg_onnx_is_loaded(const Onnx__NodeProto *node, const int *dtype, int64_t opset);

/// Returns whether a node of ours on operands of this element type is loaded as we write
/// it in one of these sets; of the first operand that is not bool, bool where all are.
/// True for operators that no model has.
bool eg_onnx_is_op_loaded(eg_op op, egraph_dtype dtype, eg_onnx_sets among);

/// Per operator, the element types with which it is loaded in a model of a graph: bit
/// `dtype` of out_types[op], [EG_OP_COUNT]. *out_is_loaded: every node of the graph is
/// loaded in some set. Fails with EGRAPH_E_MEMORY. (write/export.c)
egraph_status eg_onnx_loaded_types(const eg_graph *graph, uint32_t *out_types,
                                   bool *out_is_loaded);

#endif
