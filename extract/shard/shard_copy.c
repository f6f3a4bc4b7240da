// Copies by walking what is alive, so that pools come out dense and in node order.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_edit.h"

void eg_shard_model_clear(eg_shard_model *model) {
  model->nodes.len = model->edges.len = model->items.len = 0;
  model->cost.len = model->table.len = model->usage.len = 0;
  model->id.len = model->ids.len = model->steps.len = model->step_values.len = 0;
  model->message.len = model->capacity.len = model->price.len = 0;
  model->moved.len = model->row_time.len = 0;
  model->queue.len = model->queued.len = model->mark.len = 0;
}

static egraph_status copy_items(eg_shard_model *to, const eg_shard_model *from,
                                const eg_shard_node *old, eg_shard_node *node) {
  for (uint32_t i = old->item; i != EG_SHARD_NONE; i = from->items.data[i].next) {
    eg_shard_item item = from->items.data[i];
    const int64_t *usage = from->usage.data + item.usage;
    item.usage = to->usage.len;
    item.next = node->item;
    node->item = (uint32_t)to->items.len;
    EG_TRY(eg_i64s_append(&to->usage, usage, old->count));
    EG_TRY(eg_shard_items_push(&to->items, item));
  }
  return EGRAPH_OK;
}

static egraph_status copy_node(eg_shard_model *to, const eg_shard_model *from, uint32_t n,
                               bool renumber) {
  const eg_shard_node *old = &from->nodes.data[n];
  eg_shard_node node = {.count = old->count,
                        .half = EG_SHARD_NONE,
                        .item = EG_SHARD_NONE,
                        .values = to->cost.len};
  EG_TRY(eg_i64s_append(&to->cost, from->cost.data + old->values, old->count));
  for (uint32_t v = 0; v < old->count; v++)
    EG_TRY(eg_u32s_push(&to->id, renumber ? v : from->id.data[old->values + v]));
  EG_TRY(eg_u32s_push(&to->ids, renumber ? old->count : from->ids.data[n]));
  EG_TRY(copy_items(to, from, old, &node));
  return eg_shard_nodes_push(&to->nodes, node);
}

static egraph_status copy_edge(eg_shard_model *to, const eg_shard_model *from,
                               const eg_shard_edge *old, const uint32_t *new_node) {
  uint32_t ends[2], edge;
  size_t count[2];
  for (int side = 0; side < 2; side++) {
    ends[side] = new_node[old->ends[side]];
    count[side] = from->nodes.data[old->ends[side]].count;
  }
  EG_TRY(eg_shard_add_edge(to, ends[0], ends[1], &edge));
  memcpy(to->table.data + to->edges.data[edge].table, from->table.data + old->table,
         count[0] * count[1] * sizeof *to->table.data);
  for (int side = 0; side < 2; side++)
    memcpy(to->moved.data + to->edges.data[edge].message[side],
           from->moved.data + old->message[side], count[side] * sizeof *to->moved.data);
  for (int side = 0; side < 2; side++)
    memcpy(to->message.data + to->edges.data[edge].message[side],
           from->message.data + old->message[side],
           count[side] * sizeof *to->message.data);
  return EGRAPH_OK;
}

static egraph_status copy_nodes(eg_shard_model *to, const eg_shard_model *from,
                                eg_u32s *old_node) {
  bool renumber = old_node != NULL;
  EG_TRY(eg_u32s_resize(&to->mark, from->nodes.len)); // new numbers, for now
  for (uint32_t n = 0; n < from->nodes.len; n++) {
    if (renumber && from->nodes.data[n].count == 0) continue;
    to->mark.data[n] = (uint32_t)to->nodes.len;
    if (renumber) EG_TRY(eg_u32s_push(old_node, n));
    EG_TRY(copy_node(to, from, n, renumber));
  }
  if (renumber) return EGRAPH_OK;
  EG_TRY(eg_shard_steps_append(&to->steps, from->steps.data, from->steps.len));
  return eg_u32s_append(&to->step_values, from->step_values.data, from->step_values.len);
}

egraph_status eg_shard_model_copy(eg_shard_model *to, const eg_shard_model *from,
                                  eg_u32s *old_node) {
  eg_shard_model_clear(to);
  EG_TRY(copy_nodes(to, from, old_node));
  for (uint32_t e = 0; e < from->edges.len; e++)
    if (!eg_shard_is_dead(&from->edges.data[e]))
      EG_TRY(copy_edge(to, from, &from->edges.data[e], to->mark.data));
  EG_TRY(eg_i64s_append(&to->capacity, from->capacity.data, from->capacity.len));
  EG_TRY(eg_doubles_append(&to->price, from->price.data, from->price.len));
  EG_TRY(eg_i64s_append(&to->row_time, from->row_time.data, from->row_time.len));
  to->base = from->base;
  to->proof = from->proof;
  to->range = from->range;
  to->cutoff = from->cutoff;
  to->closed = from->closed;
  to->deadline = from->deadline;
  to->mark.len = 0;
  EG_TRY(eg_u32s_resize(&to->mark, to->nodes.len));
  if (to->mark.len != 0)
    memset(to->mark.data, 0xff, to->mark.len * sizeof *to->mark.data);
  EG_TRY(eg_bytes_resize(&to->queued, to->nodes.len));
  for (size_t i = 0; i < from->queue.len; i++)
    if (old_node == NULL) EG_TRY(eg_shard_touch(to, from->queue.data[i]));
  return EGRAPH_OK;
}
