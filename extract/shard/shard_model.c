// Builds a model: rows are the maximal times of the interval graph. A sweep over the
// times, ends before starts, adds a row at the first end after a start; the nodes alive
// then include the nodes alive at every time since the last row.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_model.h"

#include <stdlib.h>

typedef struct event {
  int64_t time;
  uint32_t node;
  bool starts;
} event;
EG_VEC_DEFINE(events, event);

static int compare_events(const void *left, const void *right) {
  const event *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->starts != b->starts) return a->starts ? 1 : -1;
  return a->node < b->node ? -1 : a->node > b->node;
}

static egraph_status sweep_events(eg_shard_model *model, int64_t limit,
                                  const events *list) {
  assert(model->price.len == 0);
  bool fresh = false;
  for (size_t i = 0; i < list->len; i++) {
    const event *e = &list->data[i];
    eg_shard_node *node = &model->nodes.data[e->node];
    uint32_t row = (uint32_t)model->capacity.len;
    if (e->starts) {
      fresh = true;
      node->row_first = row;
      continue;
    }
    if (fresh) EG_TRY(eg_i64s_push(&model->capacity, limit));
    if (fresh) EG_TRY(eg_i64s_push(&model->row_time, e->time - 1));
    fresh = false;
    node->row_last = (uint32_t)model->capacity.len;
  }
  return eg_doubles_resize(&model->price, model->capacity.len);
}

static egraph_status build_rows(eg_shard_model *model, const eg_shard_problem *problem) {
  if (problem->limit == INT64_MAX) return EGRAPH_OK;
  EG_LOCAL(events, list, model->alloc);
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    int64_t first = problem->first.data[n], last = problem->last.data[n];
    if (first >= last) continue;
    EG_TRY(events_push(&list, (event){first, n, true}));
    EG_TRY(events_push(&list, (event){last, n, false}));
  }
  if (list.len != 0) qsort(list.data, list.len, sizeof *list.data, compare_events);
  return sweep_events(model, problem->limit, &list);
}

static egraph_status add_problem_node(eg_shard_model *model,
                                      const eg_shard_problem *problem, uint32_t n) {
  uint32_t begin = problem->strategy_begin.data[n];
  uint32_t count = problem->strategy_begin.data[n + 1] - begin;
  eg_shard_node node = {.count = count,
                        .half = EG_SHARD_NONE,
                        .item = EG_SHARD_NONE,
                        .values = model->cost.len};
  for (uint32_t v = 0; v < count; v++) {
    int64_t cost = problem->cost.data[begin + v];
    EG_TRY(
        eg_i64s_push(&model->cost, cost < EG_SHARD_INFINITE ? cost : EG_SHARD_INFINITE));
    EG_TRY(eg_u32s_push(&model->id, v));
  }
  EG_TRY(eg_u32s_push(&model->ids, count));
  return eg_shard_nodes_push(&model->nodes, node);
}

/// Adds the memory of a node over the rows in which it is alive. Forbids strategies that
/// alone exceed the limit, so that no sum overflows.
static egraph_status add_item(eg_shard_model *model, const eg_shard_problem *problem,
                              uint32_t n, int64_t *total) {
  eg_shard_node *node = &model->nodes.data[n];
  if (node->row_first >= node->row_last) return EGRAPH_OK;
  eg_shard_item item = {node->row_first, node->row_last, EG_SHARD_NONE, model->usage.len};
  uint32_t begin = problem->strategy_begin.data[n];
  int64_t most = 0;
  for (uint32_t v = 0; v < node->count; v++) {
    int64_t usage = problem->usage.data[begin + v];
    bool fits = usage <= problem->limit;
    if (!fits) model->cost.data[node->values + v] = EG_SHARD_INFINITE;
    if (fits && usage > most) most = usage;
    EG_TRY(eg_i64s_push(&model->usage, fits ? usage : 0));
  }
  if (most > (INT64_C(1) << 62) - *total)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "usages up to node %u add up beyond 2^62", n);
  *total += most;
  if (most == 0) return EGRAPH_OK;
  node->item = (uint32_t)model->items.len;
  return eg_shard_items_push(&model->items, item);
}

static egraph_status add_table(eg_shard_model *model, const eg_shard_problem *problem,
                               uint32_t e) {
  uint32_t edge;
  EG_TRY(eg_shard_add_edge(model, problem->edge_ends.data[2 * e],
                           problem->edge_ends.data[2 * e + 1], &edge));
  const int64_t *from = problem->table.data + problem->table_begin.data[e];
  int64_t *to = model->table.data + model->edges.data[edge].table;
  size_t count = problem->table_begin.data[e + 1] - problem->table_begin.data[e];
  for (size_t i = 0; i < count; i++)
    to[i] = from[i] < EG_SHARD_INFINITE ? from[i] : EG_SHARD_INFINITE;
  return EGRAPH_OK;
}

egraph_status eg_shard_model_size_marks(eg_shard_model *model) {
  EG_TRY(eg_fill_none(&model->mark, model->nodes.len));
  return eg_bytes_resize(&model->queued, model->nodes.len);
}

egraph_status eg_shard_model_build(eg_shard_model *model,
                                   const eg_shard_problem *problem) {
  uint32_t count = eg_shard_node_count(problem), edges = eg_shard_edge_count(problem);
  for (uint32_t n = 0; n < count; n++)
    EG_TRY(add_problem_node(model, problem, n));
  EG_TRY(eg_shard_model_size_marks(model));
  EG_TRY(build_rows(model, problem));
  int64_t total = 0;
  if (model->capacity.len != 0)
    for (uint32_t n = 0; n < count; n++)
      EG_TRY(add_item(model, problem, n, &total));
  EG_TRY(eg_i64s_reserve(&model->table, problem->table.len));
  for (uint32_t e = 0; e < edges; e++)
    EG_TRY(add_table(model, problem, e));
  for (uint32_t n = 0; n < count; n++) {
    EG_TRY(eg_shard_join_parallel(model, n));
    EG_TRY(eg_shard_touch(model, n));
  }
  return EGRAPH_OK;
}

void eg_shard_model_lift(const eg_shard_model *model, uint32_t *choice) {
  assert(choice != NULL || model->nodes.len == 0);
  for (uint32_t n = 0; n < model->nodes.len; n++)
    if (model->nodes.data[n].count != 0)
      choice[n] = model->id.data[model->nodes.data[n].values + choice[n]];
  for (size_t i = model->steps.len; i-- > 0;) {
    const eg_shard_step *step = &model->steps.data[i];
    size_t at = step->values;
    if (step->of[0] != EG_SHARD_NONE) at += (size_t)choice[step->of[0]] * step->width;
    if (step->of[1] != EG_SHARD_NONE) at += choice[step->of[1]];
    choice[step->node] = model->step_values.data[at];
  }
}

static bool choice_fits(eg_shard_model *model, const uint32_t *choice) {
  int64_t *load = model->spare.data; // differences
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    if (node->count == 0) continue;
    EG_SHARD_EACH_ITEM(model, n, item) {
      int64_t usage = model->usage.data[item->usage + choice[n]];
      load[item->first] += usage;
      load[item->last] -= usage;
    }
  }
  int64_t sum = 0;
  for (size_t r = 0; r < model->capacity.len; r++) {
    sum += load[r];
    if (sum > model->capacity.data[r]) return false;
  }
  return true;
}

egraph_status eg_shard_model_evaluate(eg_shard_model *model, const uint32_t *choice,
                                      int64_t *out_cost, bool *out_fits) {
  int64_t cost = model->base;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    if (model->nodes.data[n].count != 0)
      cost =
          eg_shard_sum(cost, model->cost.data[model->nodes.data[n].values + choice[n]]);
  for (uint32_t e = 0; e < model->edges.len; e++) {
    const eg_shard_edge *edge = &model->edges.data[e];
    if (eg_shard_is_dead(edge)) continue;
    size_t at = (size_t)choice[edge->ends[0]] * model->nodes.data[edge->ends[1]].count +
                choice[edge->ends[1]];
    cost = eg_shard_sum(cost, model->table.data[edge->table + at]);
  }
  model->spare.len = 0;
  EG_TRY(eg_i64s_resize(&model->spare, model->capacity.len + 1));
  *out_cost = cost;
  *out_fits = choice_fits(model, choice);
  return EGRAPH_OK;
}

// ---- copies -----------------------------------------------------------------------

// A copy contains only live nodes and edges, so that its pools are dense and in the order
// of the nodes.

void eg_shard_model_clear(eg_shard_model *model) {
  model->nodes.len = model->edges.len = model->items.len = 0;
  model->cost.len = model->table.len = model->usage.len = 0;
  model->id.len = model->ids.len = model->steps.len = model->step_values.len = 0;
  model->message.len = model->capacity.len = model->price.len = 0;
  model->moved.len = model->row_time.len = 0;
  model->queue.len = model->queued.len = model->mark.len = 0;
}

egraph_status eg_shard_model_copy_items(eg_shard_model *to, const eg_shard_model *from,
                                        uint32_t n, eg_shard_node *node) {
  assert(node->count == from->nodes.data[n].count);
  EG_SHARD_EACH_ITEM(from, n, old) {
    eg_shard_item item = {old->first, old->last, node->item, to->usage.len};
    node->item = (uint32_t)to->items.len;
    EG_TRY(eg_i64s_append(&to->usage, from->usage.data + old->usage, node->count));
    EG_TRY(eg_shard_items_push(&to->items, item));
  }
  return EGRAPH_OK;
}

static egraph_status copy_model_node(eg_shard_model *to, const eg_shard_model *from,
                                     uint32_t n, bool renumber) {
  const eg_shard_node *old = &from->nodes.data[n];
  eg_shard_node node = {.count = old->count,
                        .half = EG_SHARD_NONE,
                        .item = EG_SHARD_NONE,
                        .values = to->cost.len};
  EG_TRY(eg_i64s_append(&to->cost, from->cost.data + old->values, old->count));
  for (uint32_t v = 0; v < old->count; v++)
    EG_TRY(eg_u32s_push(&to->id, renumber ? v : from->id.data[old->values + v]));
  EG_TRY(eg_u32s_push(&to->ids, renumber ? old->count : from->ids.data[n]));
  EG_TRY(eg_shard_model_copy_items(to, from, n, &node));
  return eg_shard_nodes_push(&to->nodes, node);
}

egraph_status eg_shard_model_copy_edge(eg_shard_model *to, const eg_shard_model *from,
                                       const eg_shard_edge *old,
                                       const uint32_t *new_node) {
  uint32_t ends[2], edge;
  size_t count[2];
  for (int side = 0; side < 2; side++) {
    ends[side] = new_node[old->ends[side]];
    count[side] = from->nodes.data[old->ends[side]].count;
  }
  EG_TRY(eg_shard_add_edge(to, ends[0], ends[1], &edge));
  memcpy(to->table.data + to->edges.data[edge].table, from->table.data + old->table,
         count[0] * count[1] * sizeof *to->table.data);
  for (int side = 0; side < 2; side++) {
    size_t at = to->edges.data[edge].message[side], old_at = old->message[side];
    memcpy(to->moved.data + at, from->moved.data + old_at,
           count[side] * sizeof *to->moved.data);
    memcpy(to->message.data + at, from->message.data + old_at,
           count[side] * sizeof *to->message.data);
  }
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
    EG_TRY(copy_model_node(to, from, n, renumber));
  }
  if (renumber) return EGRAPH_OK;
  EG_TRY(eg_shard_steps_append(&to->steps, from->steps.data, from->steps.len));
  return eg_u32s_append(&to->step_values, from->step_values.data, from->step_values.len);
}

egraph_status eg_shard_model_copy(eg_shard_model *to, const eg_shard_model *from,
                                  eg_u32s *old_node) {
  assert(to != from);
  eg_shard_model_clear(to);
  EG_TRY(copy_nodes(to, from, old_node));
  for (uint32_t e = 0; e < from->edges.len; e++)
    if (!eg_shard_is_dead(&from->edges.data[e]))
      EG_TRY(eg_shard_model_copy_edge(to, from, &from->edges.data[e], to->mark.data));
  EG_TRY(eg_i64s_append(&to->capacity, from->capacity.data, from->capacity.len));
  EG_TRY(eg_doubles_append(&to->price, from->price.data, from->price.len));
  EG_TRY(eg_i64s_append(&to->row_time, from->row_time.data, from->row_time.len));
  to->base = from->base;
  to->proof = from->proof;
  to->range = from->range;
  to->cutoff = from->cutoff;
  to->closed = from->closed;
  to->deadline = from->deadline;
  EG_TRY(eg_shard_model_size_marks(to));
  for (size_t i = 0; i < from->queue.len; i++)
    if (old_node == NULL) EG_TRY(eg_shard_touch(to, from->queue.data[i]));
  return EGRAPH_OK;
}

// ---- elementary changes -----------------------------------------------------------

// Merging reuses the memory of a table when the new one is not larger; only tables that
// grow move to the end of their pool.

eg_shard_view eg_shard_view_of(const eg_shard_model *model, uint32_t half) {
  assert(!eg_shard_is_dead(&model->edges.data[half >> 1]));
  const eg_shard_edge *edge = &model->edges.data[half >> 1];
  uint32_t own = model->nodes.data[edge->ends[half & 1]].count;
  uint32_t other = model->nodes.data[edge->ends[~half & 1]].count;
  bool row = (half & 1) == 0;
  return (eg_shard_view){model->table.data + edge->table, row ? other : 1, row ? 1 : own,
                         own, other};
}

egraph_status eg_shard_touch(eg_shard_model *model, uint32_t node) {
  assert(node < model->nodes.len);
  if (model->queued.data[node]) return EGRAPH_OK;
  EG_TRY(eg_u32s_push(&model->queue, node));
  model->queued.data[node] = 1;
  return EGRAPH_OK;
}

egraph_status eg_shard_add_edge(eg_shard_model *model, uint32_t a, uint32_t b,
                                uint32_t *out) {
  assert(a != b && a < model->nodes.len && b < model->nodes.len);
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
  assert(!eg_shard_is_dead(&model->edges.data[edge]));
  eg_shard_edge *dead = &model->edges.data[edge];
  for (int side = 0; side < 2; side++)
    model->nodes.data[dead->ends[side]].degree--;
  dead->ends[0] = EG_SHARD_NONE;
}

/// Unlinks removed edges from the list of a node, so that the list stays short.
static void unlink_dead(eg_shard_model *model, uint32_t node) {
  uint32_t *at = &model->nodes.data[node].half;
  while ((*at = eg_shard_live_half(model, *at)) != EG_SHARD_NONE)
    at = &model->edges.data[*at >> 1].next[*at & 1];
}

static void add_tables(eg_shard_model *model, uint32_t to_half, uint32_t from_half) {
  assert(to_half >> 1 != from_half >> 1);
  eg_shard_view to = eg_shard_view_of(model, to_half);
  eg_shard_view from = eg_shard_view_of(model, from_half);
  for (uint32_t v = 0; v < to.own_count; v++)
    for (uint32_t w = 0; w < to.other_count; w++) {
      int64_t *entry = &to.data[v * to.own_stride + w * to.other_stride];
      *entry =
          eg_shard_sum(*entry, from.data[v * from.own_stride + w * from.other_stride]);
    }
  for (uint32_t side = 0; side < 2; side++) {
    size_t own = model->edges.data[to_half >> 1].message[(to_half & 1) ^ side];
    size_t more = model->edges.data[from_half >> 1].message[(from_half & 1) ^ side];
    for (uint32_t v = 0; v < (side == 0 ? to.own_count : to.other_count); v++) {
      model->message.data[own + v] += model->message.data[more + v];
      model->moved.data[own + v] += model->moved.data[more + v];
    }
  }
}

egraph_status eg_shard_join_parallel(eg_shard_model *model, uint32_t node) {
  unlink_dead(model, node);
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
  EG_SHARD_EACH_HALF(model, node, half) {
    model->mark.data[eg_shard_other(model, half)] = EG_SHARD_NONE;
  }
  unlink_dead(model, node);
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
  assert(model->keep.len >= model->nodes.data[n].count);
  eg_shard_node *node = &model->nodes.data[n];
  const uint8_t *keep = model->keep.data;
  uint32_t left = 0;
  for (uint32_t v = 0; v < node->count; v++)
    left += keep[v];
  if (left == node->count) return EGRAPH_OK;
  if (left == 0) {
    model->closed = true;
    return EGRAPH_OK;
  }
  EG_SHARD_EACH_HALF(model, n, half) {
    pack_edge(model, half, keep);
    EG_TRY(eg_shard_touch(model, eg_shard_other(model, half)));
  }
  EG_SHARD_EACH_ITEM(model, n, item) {
    int64_t *usage = model->usage.data + item->usage;
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

static egraph_status record_step(eg_shard_model *model, uint32_t n, uint32_t gone,
                                 const uint32_t *of) {
  assert(model->nodes.data[gone].count != 0);
  const eg_shard_node *node = &model->nodes.data[n];
  eg_shard_step step = {gone, {n, EG_SHARD_NONE}, 1, model->step_values.len};
  EG_TRY(eg_u32s_resize(&model->step_values, step.values + model->ids.data[n]));
  for (uint32_t v = 0; v < node->count; v++)
    model->step_values.data[step.values + model->id.data[node->values + v]] =
        model->id.data[model->nodes.data[gone].values + of[v]];
  return eg_shard_steps_push(&model->steps, step);
}

/// Moves the edge with end `half` from node `gone` to node `n`: its table gets a row or
/// column for each value of `n`.
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

/// Finds the end at `node` (half-edge) of its edge to `other`, or EG_SHARD_NONE; walks
/// the shorter list.
static uint32_t find_half(eg_shard_model *model, uint32_t node, uint32_t other) {
  assert(node != other);
  bool swap = model->nodes.data[other].degree < model->nodes.data[node].degree;
  uint32_t from = swap ? other : node, to = swap ? node : other;
  unlink_dead(model, from);
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
  assert(n != gone && !eg_shard_is_dead(&model->edges.data[edge]));
  EG_TRY(record_step(model, n, gone, of));
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

// ---- free memory --------------------------------------------------------------------
// A segment tree: least[i] is the minimum of its two children plus added[i].

#define NO_ROW (INT64_C(1) << 62)

static void update_least(eg_shard_slack *slack, uint32_t i) {
  int64_t left = slack->least.data[2 * i], right = slack->least.data[2 * i + 1];
  slack->least.data[i] = (left < right ? left : right) + slack->added.data[i];
}

egraph_status eg_shard_slack_start(eg_shard_slack *slack, const eg_shard_model *model) {
  uint32_t leaves = 1, rows = (uint32_t)model->capacity.len;
  while (leaves < rows)
    leaves *= 2;
  slack->leaves = leaves;
  slack->least.len = slack->added.len = 0;
  EG_TRY(eg_i64s_resize(&slack->least, 2 * (size_t)leaves));
  EG_TRY(eg_i64s_resize(&slack->added, 2 * (size_t)leaves));
  for (uint32_t r = 0; r < leaves; r++)
    slack->least.data[leaves + r] = r < rows ? model->capacity.data[r] : NO_ROW;
  for (uint32_t i = leaves; i-- > 1;)
    update_least(slack, i);
  return EGRAPH_OK;
}

static void apply_amount(eg_shard_slack *slack, uint32_t i, int64_t amount) {
  slack->least.data[i] += amount;
  slack->added.data[i] += amount;
}

void eg_shard_slack_add(eg_shard_slack *slack, uint32_t first, uint32_t last,
                        int64_t amount) {
  assert(first < last && last <= slack->leaves);
  uint32_t left = first + slack->leaves, right = last - 1 + slack->leaves;
  for (uint32_t a = left, b = right + 1; a < b; a >>= 1, b >>= 1) {
    if (a & 1) apply_amount(slack, a++, amount);
    if (b & 1) apply_amount(slack, --b, amount);
  }
  for (uint32_t i = left >> 1; i > 0; i >>= 1)
    update_least(slack, i);
  for (uint32_t i = right >> 1; i > 0; i >>= 1)
    update_least(slack, i);
}

void eg_shard_slack_value(eg_shard_slack *slack, const eg_shard_model *model,
                          uint32_t node, uint32_t value, int64_t sign) {
  assert(sign == 1 || sign == -1);
  EG_SHARD_EACH_ITEM(model, node, item) {
    int64_t usage = model->usage.data[item->usage + value];
    if (usage != 0) eg_shard_slack_add(slack, item->first, item->last, sign * usage);
  }
}
