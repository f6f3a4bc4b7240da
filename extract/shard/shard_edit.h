// Elementary changes of a model, which the reductions are made of.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_EDIT_H
#define EG_EXTRACT_SHARD_SHARD_EDIT_H

#include "extract/shard/shard_model.h"

/// Visits the half-edges of a node that are not dead, `half` being the loop variable.
#define EG_SHARD_EACH_HALF(model, node, half)                                            \
  for (uint32_t half = eg_shard_first_half((model), (node)); half != EG_SHARD_NONE;      \
       half = eg_shard_next_half((model), half))

static inline uint32_t eg_shard_live_half(const eg_shard_model *model, uint32_t half) {
  while (half != EG_SHARD_NONE && eg_shard_is_dead(&model->edges.data[half >> 1]))
    half = model->edges.data[half >> 1].next[half & 1];
  return half;
}
static inline uint32_t eg_shard_first_half(const eg_shard_model *model, uint32_t node) {
  return eg_shard_live_half(model, model->nodes.data[node].half);
}
static inline uint32_t eg_shard_next_half(const eg_shard_model *model, uint32_t half) {
  return eg_shard_live_half(model, model->edges.data[half >> 1].next[half & 1]);
}
static inline uint32_t eg_shard_other(const eg_shard_model *model, uint32_t half) {
  return model->edges.data[half >> 1].ends[~half & 1];
}

/// A table seen from one end: entry (own value, other value) is
/// data[own * own_stride + other * other_stride].
typedef struct eg_shard_view {
  int64_t *data;
  size_t own_stride, other_stride;
  uint32_t own_count, other_count;
} eg_shard_view;

/// Valid until a table is added.
eg_shard_view eg_shard_view_of(const eg_shard_model *model, uint32_t half);

/// Notes that the node changed, for the consistency pass.
egraph_status eg_shard_touch(eg_shard_model *model, uint32_t node);
/// Adds an edge with a table of zeros (messages too); *out is its number.
egraph_status eg_shard_add_edge(eg_shard_model *model, uint32_t a, uint32_t b,
                                uint32_t *out);
void eg_shard_kill_edge(eg_shard_model *model, uint32_t edge);
/// Adds up the edges of `node` that lead to the same neighbour.
egraph_status eg_shard_join_parallel(eg_shard_model *model, uint32_t node);
/// Keeps the values flagged in model->keep; closes the model when none is left.
egraph_status eg_shard_keep_values(eg_shard_model *model, uint32_t node);
/// Makes `gone` a function of `node`: it takes value of[v] where node takes v. Its costs,
/// edges and memory move over; `edge` joins the two and goes.
egraph_status eg_shard_absorb(eg_shard_model *model, uint32_t node, uint32_t gone,
                              uint32_t edge, const uint32_t *of);
#endif
