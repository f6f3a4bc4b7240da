// Building: rows are the maximal times of the interval graph. Sweeping over the times,
// ends before starts, a row is due at the first end after a start; the nodes alive then
// contain those of every time since the last row.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_model.h"

#include <stdlib.h>

#include "base/owner.h"
#include "extract/shard/shard_edit.h"

#define SHARD_MODEL_MEMBERS                                                              \
  (eg_shard_nodes, nodes), (eg_shard_edges, edges), (eg_shard_items, items),             \
      (eg_i64s, cost, table, usage, moved, capacity, row_time, spare),                   \
      (eg_u32s, id, ids, step_values, queue, mark), (eg_doubles, message, price),        \
      (eg_shard_steps, steps), (eg_bytes, queued, keep)

void eg_shard_model_init(eg_shard_model *model, egraph_allocator alloc) {
  *model = (eg_shard_model){.alloc = alloc, .cutoff = EG_SHARD_INFINITE};
  EG_INIT_MEMBERS(model, alloc, SHARD_MODEL_MEMBERS);
}

void eg_shard_model_deinit(eg_shard_model *model) {
  EG_DEINIT_MEMBERS(model, SHARD_MODEL_MEMBERS);
}

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

static egraph_status sweep(eg_shard_model *model, int64_t limit, const events *list) {
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
  events list;
  events_init(&list, model->alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t n = 0; n < model->nodes.len && status == EGRAPH_OK; n++) {
    int64_t first = problem->first.data[n], last = problem->last.data[n];
    if (first >= last) continue;
    status = events_push(&list, (event){first, n, true});
    if (status == EGRAPH_OK) status = events_push(&list, (event){last, n, false});
  }
  if (status == EGRAPH_OK && list.len != 0)
    qsort(list.data, list.len, sizeof *list.data, compare_events);
  if (status == EGRAPH_OK) status = sweep(model, problem->limit, &list);
  events_deinit(&list);
  return status;
}

static egraph_status add_node(eg_shard_model *model, const eg_shard_problem *problem,
                              uint32_t n) {
  uint32_t begin = problem->strategy_begin.data[n];
  uint32_t count = problem->strategy_begin.data[n + 1] - begin;
  eg_shard_node node = {.count = count,
                        .half = EG_SHARD_NONE,
                        .item = EG_SHARD_NONE,
                        .values = model->cost.len};
  for (uint32_t v = 0; v < count; v++) {
    int64_t cost = problem->cost.data[begin + v];
    EG_TRY(eg_i64s_push(
        &model->cost,
        eg_shard_sum(cost < EG_SHARD_INFINITE ? cost : EG_SHARD_INFINITE, 0)));
    EG_TRY(eg_u32s_push(&model->id, v));
  }
  EG_TRY(eg_u32s_push(&model->ids, count));
  return eg_shard_nodes_push(&model->nodes, node);
}

// Strategies that alone exceed the limit become forbidden, so that no sum overflows.
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

egraph_status eg_shard_model_build(eg_shard_model *model,
                                   const eg_shard_problem *problem) {
  uint32_t count = eg_shard_node_count(problem), edges = eg_shard_edge_count(problem);
  for (uint32_t n = 0; n < count; n++)
    EG_TRY(add_node(model, problem, n));
  EG_TRY(eg_bytes_resize(&model->queued, count));
  EG_TRY(eg_u32s_resize(&model->mark, count));
  if (count != 0) memset(model->mark.data, 0xff, count * sizeof *model->mark.data);
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

static bool fits(eg_shard_model *model, const uint32_t *choice) {
  int64_t *load = model->spare.data; // differences
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    if (node->count == 0) continue;
    for (uint32_t i = node->item; i != EG_SHARD_NONE; i = model->items.data[i].next) {
      const eg_shard_item *item = &model->items.data[i];
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
  *out_fits = fits(model, choice);
  return EGRAPH_OK;
}
