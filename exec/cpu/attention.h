// What attention and its gradient share on the CPU.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_ATTENTION_H
#define EG_EXEC_CPU_ATTENTION_H

#include "exec/cpu/cpu_builder.h"
#include "ops/attention.h"

/// How a mask is indexed: by strides along [.., head, query, key].
typedef struct eg_mask_steps {
  bool is_given, is_bool;
  uint32_t rank; // of the scores
  int64_t dims[EGRAPH_MAX_RANK], strides[EGRAPH_MAX_RANK];
} eg_mask_steps;

/// Describes operand `operand` of a node, whose queries have type `q`; a node without it
/// has no mask.
eg_mask_steps eg_mask_steps_of(const eg_node_spec *spec, uint32_t operand,
                               const eg_attention *size, const eg_type *q);
/// Returns the place in the mask of key 0 for query `query`, where queries are numbered
/// through all heads.
int64_t eg_mask_place(const eg_mask_steps *mask, int64_t query);
/// Refuses nodes for which there is no kernel of float32 vectors.
egraph_status eg_cpu_check_attention(eg_cpu_builder *builder, const eg_attention *size);
/// True when scores are the products times a float32 number, and nothing else.
bool eg_attention_is_plain(const eg_attention *size, const eg_mask_steps *mask);

#endif
