// Alpa's operator clustering (OSDI'22, section 5.2): operators, in their
// order, become a number of layers of which none computes much more than the average, so
// that the layer that receives most receives least.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_LAYERS_H
#define EG_BASELINES_LAYERS_H

#include "base/vec.h"

/// What an operator reads of another one: `bytes` of value number `value`.
typedef struct eg_layer_read {
  uint32_t maker, value; // maker: the operator, an earlier one
  double bytes;
} eg_layer_read;
EG_VEC_DEFINE(eg_layer_reads, eg_layer_read);

typedef struct eg_layer_problem {
  uint32_t operators, values, layers;
  const double *work;          // [operators]
  const uint32_t *reads_begin; // [operators + 1] into reads
  const eg_layer_read *reads;
  double slack; // no layer of several operators has more than (1 + slack) / layers of all
                // work; twice that, and so on, where there is no such choice
} eg_layer_problem;

/// Appends the first operator of each layer; fewer layers where there are fewer
/// operators. Of choices in which the layer that receives most receives as much, one in
/// which all together receive less, then one of layers that are more equal in work, is
/// preferred. O(operators^2 * (1 + slack)), more where work is spread unevenly. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_layers_cluster(const eg_layer_problem *problem, egraph_allocator alloc,
                                eg_u32s *out_first);

#endif
