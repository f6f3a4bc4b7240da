// Merging reuses the place of a table when the new one is not larger; only tables that
// grow move to the end of their pool.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_edit.h"

#include "extract/shard/shard_proof.h"

eg_shard_view eg_shard_view_of(const eg_shard_model *model, uint32_t half) {
  const eg_shard_edge *edge = &model->edges.data[half >> 1];
  uint32_t own = model->nodes.data[edge->ends[half & 1]].count;
  uint32_t other = model->nodes.data[edge->ends[~half & 1]].count;
  bool row = (half & 1) == 0;
  return (eg_shard_view){model->table.data + edge->table, row ? other : 1, row ? 1 : own,
                         own, other};
}

egraph_status eg_shard_touch(eg_shard_model *model, uint32_t node) {
  if (model->queued.data[node]) return EGRAPH_OK;
  EG_TRY(eg_u32s_push(&model->queue, node));
  model->queued.data[node] = 1;
  return EGRAPH_OK;
}

egraph_status eg_shard_add_edge(eg_shard_model *model, uint32_t a, uint32_t b,
                                uint32_t *out) {
  uint32_t ends[2] = {a, b};
  size_t count[2] = {model->nodes.data[a].count, model->nodes.data[b].count};
  eg_shard_edge edge = {.ends = {a, b}, .table = model->table.len};
  EG_TRY(eg_shard_edges_reserve(&model->edges, model->edges.len + 1));
  EG_TRY(eg_i64s_resize(&model->table, model->table.len + count[0] * count[1]));
  for (int side = 0; side < 2; side++) {
    edge.message[side] = model->message.len;
    EG_TRY(eg_doubles_resize(&model->message, model->message.len + count[side]));
    EG_TRY(eg_i64s_resize(&model->moved, model->message.len));
  }
  *out = (uint32_t)model->edges.len;
  for (uint32_t side = 0; side < 2; side++) {
    eg_shard_node *node = &model->nodes.data[ends[side]];
    edge.next[side] = node->half;
    node->half = 2 * *out + side;
    node->degree++;
  }
  model->edges.data[model->edges.len++] = edge;
  return EGRAPH_OK;
}

void eg_shard_kill_edge(eg_shard_model *model, uint32_t edge) {
  eg_shard_edge *dead = &model->edges.data[edge];
  for (int side = 0; side < 2; side++)
    model->nodes.data[dead->ends[side]].degree--;
  dead->ends[0] = EG_SHARD_NONE;
}

// Unlinks dead edges, so that lists stay as short as they look.
static void tidy(eg_shard_model *model, uint32_t node) {
  uint32_t *at = &model->nodes.data[node].half;
  while ((*at = eg_shard_live_half(model, *at)) != EG_SHARD_NONE)
    at = &model->edges.data[*at >> 1].next[*at & 1];
}

static void add_tables(eg_shard_model *model, uint32_t to_half, uint32_t from_half) {
  eg_shard_view to = eg_shard_view_of(model, to_half);
  eg_shard_view from = eg_shard_view_of(model, from_half);
  for (uint32_t v = 0; v < to.own_count; v++)
    for (uint32_t w = 0; w < to.other_count; w++) {
      int64_t *entry = &to.data[v * to.own_stride + w * to.other_stride];
      *entry =
          eg_shard_sum(*entry, from.data[v * from.own_stride + w * from.other_stride]);
    }
  for (uint32_t side = 0; side < 2; side++) {
    double *own = model->message.data +
                  model->edges.data[to_half >> 1].message[(to_half & 1) ^ side];
    const double *more =
        model->message.data +
        model->edges.data[from_half >> 1].message[(from_half & 1) ^ side];
    uint32_t count = side == 0 ? to.own_count : to.other_count;
    for (uint32_t v = 0; v < count; v++)
      own[v] += more[v];
    int64_t *moved =
        model->moved.data + model->edges.data[to_half >> 1].message[(to_half & 1) ^ side];
    const int64_t *also =
        model->moved.data +
        model->edges.data[from_half >> 1].message[(from_half & 1) ^ side];
    for (uint32_t v = 0; v < count; v++)
      moved[v] += also[v];
  }
}

egraph_status eg_shard_join_parallel(eg_shard_model *model, uint32_t node) {
  tidy(model, node);
  EG_SHARD_EACH_HALF(model, node, half) {
    uint32_t other = eg_shard_other(model, half), earlier = model->mark.data[other];
    if (earlier == EG_SHARD_NONE) {
      model->mark.data[other] = half;
      continue;
    }
    add_tables(model, earlier, half);
    eg_shard_kill_edge(model, half >> 1);
    EG_TRY(eg_shard_touch(model, other));
  }
  EG_SHARD_EACH_HALF(model, node, half)
  model->mark.data[eg_shard_other(model, half)] = EG_SHARD_NONE;
  tidy(model, node);
  return EGRAPH_OK;
}

static void pack_edge(eg_shard_model *model, uint32_t half, const uint8_t *keep) {
  eg_shard_view view = eg_shard_view_of(model, half);
  int64_t *to = view.data;
  if ((half & 1) == 0) {
    for (uint32_t v = 0; v < view.own_count; v++) {
      if (!keep[v]) continue;
      memmove(to, view.data + v * view.own_stride, view.other_count * sizeof *to);
      to += view.other_count;
    }
  } else {
    for (uint32_t w = 0; w < view.other_count; w++)
      for (uint32_t v = 0; v < view.own_count; v++)
        if (keep[v]) *to++ = view.data[(size_t)w * view.own_count + v];
  }
  double *message = model->message.data + model->edges.data[half >> 1].message[half & 1];
  int64_t *moved = model->moved.data + model->edges.data[half >> 1].message[half & 1];
  uint32_t left = 0;
  for (uint32_t v = 0; v < view.own_count; v++)
    if (keep[v]) {
      moved[left] = moved[v];
      message[left++] = message[v];
    }
}

egraph_status eg_shard_keep_values(eg_shard_model *model, uint32_t n) {
  eg_shard_node *node = &model->nodes.data[n];
  const uint8_t *keep = model->keep.data;
  uint32_t left = 0;
  for (uint32_t v = 0; v < node->count; v++)
    left += keep[v];
  if (left == node->count) return EGRAPH_OK;
  if (left == 0) model->closed = true;
  if (left == 0) return EGRAPH_OK;
  EG_SHARD_EACH_HALF(model, n, half) {
    pack_edge(model, half, keep);
    EG_TRY(eg_shard_touch(model, eg_shard_other(model, half)));
  }
  for (uint32_t i = node->item; i != EG_SHARD_NONE; i = model->items.data[i].next) {
    int64_t *usage = model->usage.data + model->items.data[i].usage;
    for (uint32_t v = 0, to = 0; v < node->count; v++)
      if (keep[v]) usage[to++] = usage[v];
  }
  int64_t *cost = model->cost.data + node->values;
  uint32_t *id = model->id.data + node->values;
  for (uint32_t v = 0, to = 0; v < node->count; v++)
    if (keep[v]) {
      cost[to] = cost[v];
      id[to++] = id[v];
    }
  node->count = left;
  return eg_shard_touch(model, n);
}

static egraph_status record(eg_shard_model *model, uint32_t n, uint32_t gone,
                            const uint32_t *of) {
  const eg_shard_node *node = &model->nodes.data[n];
  eg_shard_step step = {gone, {n, EG_SHARD_NONE}, 1, model->step_values.len};
  EG_TRY(eg_u32s_resize(&model->step_values, step.values + model->ids.data[n]));
  for (uint32_t v = 0; v < node->count; v++)
    model->step_values.data[step.values + model->id.data[node->values + v]] =
        model->id.data[model->nodes.data[gone].values + of[v]];
  return eg_shard_steps_push(&model->steps, step);
}

// The edge of half-edge `half` (at `gone`) gets a value of `node` per row or column.
static egraph_status move_edge(eg_shard_model *model, uint32_t n, uint32_t half,
                               const uint32_t *of) {
  eg_shard_view view = eg_shard_view_of(model, half);
  uint32_t count = model->nodes.data[n].count;
  size_t old_size = (size_t)view.own_count * view.other_count;
  size_t size = (size_t)count * view.other_count;
  model->spare.len = 0;
  EG_TRY(eg_i64s_append(&model->spare, view.data, old_size));
  eg_shard_edge *edge = &model->edges.data[half >> 1];
  uint32_t side = half & 1;
  eg_doubles *messages = &model->message;
  size_t at = messages->len;
  EG_TRY(eg_doubles_resize(messages, at + count));
  EG_TRY(eg_i64s_resize(&model->moved, at + count));
  for (uint32_t v = 0; v < count; v++) {
    messages->data[at + v] = messages->data[edge->message[side] + of[v]];
    model->moved.data[at + v] = model->moved.data[edge->message[side] + of[v]];
  }
  edge->message[side] = at;
  if (size > old_size) {
    edge->table = model->table.len;
    EG_TRY(eg_i64s_resize(&model->table, model->table.len + size));
  }
  int64_t *to = model->table.data + edge->table;
  size_t own_stride = side == 0 ? view.other_count : 1;
  size_t other_stride = side == 0 ? 1 : count;
  for (uint32_t v = 0; v < count; v++)
    for (uint32_t w = 0; w < view.other_count; w++)
      to[v * own_stride + w * other_stride] =
          model->spare.data[of[v] * view.own_stride + w * view.other_stride];
  edge->ends[side] = n;
  edge->next[side] = model->nodes.data[n].half;
  model->nodes.data[n].half = half;
  model->nodes.data[n].degree++;
  return EGRAPH_OK;
}

static egraph_status move_items(eg_shard_model *model, uint32_t n, uint32_t gone,
                                const uint32_t *of) {
  eg_shard_node *node = &model->nodes.data[n];
  uint32_t old_count = model->nodes.data[gone].count;
  for (uint32_t i = model->nodes.data[gone].item, next; i != EG_SHARD_NONE; i = next) {
    eg_shard_item *item = &model->items.data[i];
    next = item->next;
    model->spare.len = 0;
    EG_TRY(eg_i64s_append(&model->spare, model->usage.data + item->usage, old_count));
    if (node->count > old_count) {
      item->usage = model->usage.len;
      EG_TRY(eg_i64s_resize(&model->usage, model->usage.len + node->count));
    }
    for (uint32_t v = 0; v < node->count; v++)
      model->usage.data[item->usage + v] = model->spare.data[of[v]];
    item->next = node->item;
    node->item = i;
  }
  return EGRAPH_OK;
}

// The half-edge of `node` that leads to `other`, or EG_SHARD_NONE; walks the shorter
// list.
static uint32_t find_half(eg_shard_model *model, uint32_t node, uint32_t other) {
  bool swap = model->nodes.data[other].degree < model->nodes.data[node].degree;
  uint32_t from = swap ? other : node, to = swap ? node : other;
  tidy(model, from);
  EG_SHARD_EACH_HALF(model, from, half) {
    if (eg_shard_other(model, half) == to) return swap ? half ^ 1 : half;
  }
  return EG_SHARD_NONE;
}

static egraph_status move_edges(eg_shard_model *model, uint32_t n, uint32_t gone,
                                const uint32_t *of) {
  for (uint32_t h = eg_shard_first_half(model, gone), next; h != EG_SHARD_NONE;
       h = next) {
    next = eg_shard_next_half(model, h);
    uint32_t other = eg_shard_other(model, h);
    uint32_t earlier = find_half(model, n, other);
    EG_TRY(move_edge(model, n, h, of));
    if (earlier != EG_SHARD_NONE) {
      add_tables(model, earlier, h);
      eg_shard_kill_edge(model, h >> 1);
    }
    EG_TRY(eg_shard_touch(model, other));
  }
  return EGRAPH_OK;
}

egraph_status eg_shard_absorb(eg_shard_model *model, uint32_t n, uint32_t gone,
                              uint32_t edge, const uint32_t *of) {
  EG_TRY(record(model, n, gone, of));
  if (model->proof != NULL) EG_TRY(eg_shard_proof_merge(model->proof, n, gone));
  uint32_t half = 2 * edge + (model->edges.data[edge].ends[0] == n ? 0 : 1);
  eg_shard_view view = eg_shard_view_of(model, half);
  int64_t *cost = model->cost.data + model->nodes.data[n].values;
  const int64_t *gone_cost = model->cost.data + model->nodes.data[gone].values;
  for (uint32_t v = 0; v < view.own_count; v++)
    cost[v] = eg_shard_sum(eg_shard_sum(cost[v], gone_cost[of[v]]),
                           view.data[v * view.own_stride + of[v] * view.other_stride]);
  eg_shard_kill_edge(model, edge);
  EG_TRY(move_edges(model, n, gone, of));
  EG_TRY(move_items(model, n, gone, of));
  eg_shard_node *dead = &model->nodes.data[gone];
  dead->count = dead->degree = 0;
  dead->half = dead->item = EG_SHARD_NONE;
  return eg_shard_touch(model, n);
}
