// Value v goes when value w of the same node is never worse, whatever the neighbours do:
//   cost[w] + sum over edges of max over finite (v, x) of (table[w][x] - table[v][x])
//   <= cost[v],  and w uses at most as much in every item.
// Only values that are still there count, so that of two equal ones one stays.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_edit.h"
#include "extract/shard/shard_reduce.h"

// Most that w costs above v on this edge, at most EG_SHARD_INFINITE.
static int64_t worst(const eg_shard_view *view, uint32_t v, uint32_t w) {
  const int64_t *of_v = view->data + v * view->own_stride;
  const int64_t *of_w = view->data + w * view->own_stride;
  int64_t most = -EG_SHARD_INFINITE;
  for (uint32_t x = 0; x < view->other_count; x++) {
    int64_t old = of_v[x * view->other_stride], new = of_w[x * view->other_stride];
    if (old >= EG_SHARD_INFINITE) continue;
    if (new >= EG_SHARD_INFINITE) return EG_SHARD_INFINITE;
    if (new - old > most) most = new - old;
  }
  return most;
}

static bool uses_less(const eg_shard_model *model, const eg_shard_node *node, uint32_t v,
                      uint32_t w) {
  for (uint32_t i = node->item; i != EG_SHARD_NONE; i = model->items.data[i].next) {
    const int64_t *usage = model->usage.data + model->items.data[i].usage;
    if (usage[w] > usage[v]) return false;
  }
  return true;
}

static bool beats(eg_shard_model *model, uint32_t n, uint32_t v, uint32_t w) {
  const eg_shard_node *node = &model->nodes.data[n];
  const int64_t *cost = model->cost.data + node->values;
  if (cost[w] >= EG_SHARD_INFINITE || !uses_less(model, node, v, w)) return false;
  int64_t slack = cost[v] - cost[w];
  // Sums stay small: what an edge gives back is at most what is spent on the others.
  int64_t extra = 0;
  EG_SHARD_EACH_HALF(model, n, half) {
    eg_shard_view view = eg_shard_view_of(model, half);
    model->work += view.other_count;
    int64_t most = worst(&view, v, w);
    if (most >= EG_SHARD_INFINITE) return false;
    if (most > 0 && extra > INT64_MAX - most) return false;
    if (extra < -EG_SHARD_INFINITE) extra = -EG_SHARD_INFINITE; // v is as good as gone
    extra += most;
  }
  return extra <= slack;
}

static egraph_status look(eg_shard_model *model, uint32_t n, bool *changed) {
  uint32_t count = model->nodes.data[n].count;
  if (count < 2) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(&model->keep, count));
  memset(model->keep.data, 1, count);
  uint32_t left = count;
  for (uint32_t v = count; v-- > 0;)
    for (uint32_t w = 0; w < count && model->keep.data[v]; w++)
      if (w != v && model->keep.data[w] && beats(model, n, v, w)) {
        model->keep.data[v] = 0;
        left--;
      }
  if (left == count) return EGRAPH_OK;
  *changed = true;
  return eg_shard_keep_values(model, n);
}

egraph_status eg_shard_pass_dominated(eg_shard_model *model, bool *changed) {
  for (uint32_t n = 0; n < model->nodes.len && !model->closed; n++)
    EG_TRY(look(model, n, changed));
  return EGRAPH_OK;
}
