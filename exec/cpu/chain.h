// Runs a chain of pointwise operators in one pass: a block of elements goes through all
// operators while it stays in the cache, then the next block is read.
//
//   batch-normalization, relu      x -> x s -> (x s) + t -> max(0, .)     1 read, 1 write
//   as separate kernels                                                   3 of each
//
// Each operator is one of egraph's loops (pointwise.h), so the bits are the same as with
// separate loops. Chains consist of operators with such a loop; of add, sub, mul and div
// with tensors that are broadcast along the chain; of softmax of short rows; and of batch
// normalization with constant statistics.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_CHAIN_H
#define EG_EXEC_CPU_CHAIN_H

#include "exec/cpu/cpu_builder.h"

/// True when one pass over the elements can run a request's node and its linked nodes.
bool eg_cpu_chain_fits(const eg_compile_request *request);
/// Makes one node spec that has the operands of all nodes of a chain; functions that
/// compile operators read types and weights from it.
egraph_status eg_cpu_chain_spec(eg_arena *arena, const eg_compile_request *request,
                                eg_node_spec *out);
/// Appends the pass; builder->spec is the node that eg_cpu_chain_spec made. Fails with
/// EGRAPH_E_UNSUPPORTED where no pass can run the chain.
egraph_status eg_cpu_chain(eg_cpu_builder *builder, const eg_compile_request *request);

#endif
