// Clusters operators as Alpa does (OSDI'22, section 5.2): cuts the operators, in their
// order, into layers none of which computes much more than the average, so that the most
// bytes that a layer receives are least.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_STAGES_LAYERED_H
#define EG_BASELINES_STAGES_LAYERED_H

#include "base/owner.h"
#include "base/text.h"
#include "base/vec.h"
#include "pcg/training/training.h"

/// An operand of an operator: `bytes` of value number `value`.
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
  // No layer of several operators has more than (1 + slack) / layers of all work; the
  // limit is doubled as long as there is no such choice
  double slack;
} eg_layer_problem;

/// Appends the first operator of each layer. If there are fewer operators than layers,
/// there are fewer layers. Among choices with the same most received bytes, prefers the
/// least total of received bytes, then the most equal work. O(operators^2 * (1 + slack)),
/// more where work is spread unevenly. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layers_cluster(const eg_layer_problem *problem, egraph_allocator alloc,
                                eg_u32s *out_first);

// A model as a row of layers (eg_layers_cluster), and slices, graphs of consecutive
// layers: a stage of a pipeline is a model of its own. Values of weights alone are
// computed anew in each stage that reads them. Values are named by their place; therefore
// equal stages have equal texts and are planned once.
//
//   layers   0 | 1 | 2 | 3        slice [1, 2]: inputs   what they read of layer 0
//                                               outputs  what layer 3 reads of them

typedef struct eg_layered {
  egraph_allocator alloc;
  const eg_graph *forward; // borrowed
  eg_value loss_of;        // the output
  bool halves;             // activations are sent in bfloat16 where they are float32
  eg_u32s nodes;           // nodes that a step runs and the loss needs, in order
  eg_u32s first;           // [layers] the first of these nodes
  eg_doubles work;         // [layers] operations
  eg_u32s place;     // [values] index of the node that makes it; EG_LAYERED_NONE: none
  eg_u32s last_use;  // [values] index of the last node that reads it, or NONE
  eg_chars constant; // [values] computed from weights alone
} eg_layered;
EG_OWNER_DEFINE_MEMBERS(eg_layered, (eg_u32s, nodes, first, place, last_use),
                        (eg_doubles, work), (eg_chars, constant))
#define EG_LAYERED_NONE UINT32_MAX

/// Cuts the model into a number of layers that divides the number of repeated blocks, at
/// most `most`; without blocks into 8 layers. Fails with EGRAPH_E_MEMORY, and with
/// EGRAPH_E_ARGUMENT for an output that nothing computes.
egraph_status eg_layered_init(eg_layered *layered, egraph_allocator alloc,
                              const eg_graph *forward,
                              const eg_training_options *training, uint32_t most);
static inline uint32_t eg_layered_count(const eg_layered *layered) {
  return (uint32_t)layered->first.len;
}
/// Returns the bytes of all values made up to the end of this layer and read after it.
double eg_layered_crossing_bytes(const eg_layered *layered, uint32_t layer);

typedef struct eg_slice {
  eg_graph *graph;
  eg_strmap trained;            // names of trained weights
  const char **sent_back;       // names of inputs that other layers make
  uint32_t sent_back_count;     // number of these inputs, which are floating-point
  eg_training_options training; // points into the slice
  eg_text key;                  // equal slices have equal texts
  eg_arena arena;
} eg_slice;

/// Builds layers [first, last] as a model, and the options of its step as a stage. The
/// options point into the slice, which must not move. Fails with EGRAPH_E_MEMORY.
egraph_status eg_slice_init(eg_slice *slice, const eg_layered *layered,
                            const eg_training_options *training, uint32_t first,
                            uint32_t last);
void eg_slice_deinit(eg_slice *slice);

#endif
