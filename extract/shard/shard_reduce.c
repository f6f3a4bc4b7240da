// The cheap passes first; round again as long as enough shrinks. Also: minima.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_reduce.h"

#include "base/clock.h"
#include "extract/shard/shard_edit.h"

// Subtracts the least entry of every line across `half` and adds it to its end's cost.
// The message follows, so that the dual solution stays what it was.
static void shift_lines(eg_shard_model *model, uint32_t half) {
  eg_shard_view view = eg_shard_view_of(model, half);
  const eg_shard_edge *edge = &model->edges.data[half >> 1];
  int64_t *cost = model->cost.data + model->nodes.data[edge->ends[half & 1]].values;
  double *message = model->message.data + edge->message[half & 1];
  for (uint32_t v = 0; v < view.own_count; v++) {
    int64_t *line = view.data + v * view.own_stride, least = EG_SHARD_INFINITE;
    for (uint32_t w = 0; w < view.other_count; w++)
      if (line[w * view.other_stride] < least) least = line[w * view.other_stride];
    if (least == 0) continue;
    cost[v] = eg_shard_sum(cost[v], least);
    if (least >= EG_SHARD_INFINITE) continue;
    message[v] -= (double)least;
    model->moved.data[edge->message[half & 1] + v] += least;
    for (uint32_t w = 0; w < view.other_count; w++)
      if (line[w * view.other_stride] < EG_SHARD_INFINITE)
        line[w * view.other_stride] -= least;
  }
}

static void shift_node(eg_shard_model *model, uint32_t n) {
  const eg_shard_node *node = &model->nodes.data[n];
  int64_t *cost = model->cost.data + node->values, least = EG_SHARD_INFINITE;
  for (uint32_t v = 0; v < node->count; v++)
    if (cost[v] < least) least = cost[v];
  if (least == 0 || node->count == 0) return;
  model->base = eg_shard_sum(model->base, least);
  if (model->base >= model->cutoff && model->proof == NULL) model->closed = true;
  for (uint32_t v = 0; v < node->count; v++)
    if (cost[v] < EG_SHARD_INFINITE) cost[v] -= least;
}

// Entries that would reach the cutoff all by themselves are forbidden.
static egraph_status forbid(eg_shard_model *model) {
  int64_t limit = model->cutoff - model->base;
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    for (uint32_t v = 0; v < node->count; v++) {
      int64_t *cost = &model->cost.data[node->values + v];
      if (*cost < limit) continue;
      *cost = EG_SHARD_INFINITE;
      EG_TRY(eg_shard_touch(model, n));
    }
    EG_SHARD_EACH_HALF(model, n, half) {
      if ((half & 1) != 0) continue;
      eg_shard_view view = eg_shard_view_of(model, half);
      size_t size = (size_t)view.own_count * view.other_count;
      bool found = false;
      for (size_t i = 0; i < size; i++)
        if (view.data[i] >= limit && view.data[i] != EG_SHARD_INFINITE) {
          view.data[i] = EG_SHARD_INFINITE;
          found = true;
        }
      if (!found) continue;
      EG_TRY(eg_shard_touch(model, n));
      EG_TRY(eg_shard_touch(model, eg_shard_other(model, half)));
    }
  }
  return EGRAPH_OK;
}

static egraph_status pass_shift(eg_shard_model *model, bool *changed) {
  (void)changed;
  for (uint32_t e = 0; e < model->edges.len; e++) {
    if (eg_shard_is_dead(&model->edges.data[e])) continue;
    shift_lines(model, 2 * e);
    shift_lines(model, 2 * e + 1);
  }
  for (uint32_t n = 0; n < model->nodes.len; n++)
    shift_node(model, n);
  // With a proof that is left to the filter, which writes it down.
  return model->closed || model->proof != NULL ? EGRAPH_OK : forbid(model);
}

// With more values than this a round that removes less than 0.2 % of them is the last.
#define MANY 5000

typedef egraph_status (*pass_function)(eg_shard_model *model, bool *changed);

static const pass_function passes[] = {
    [EG_SHARD_PASS_SHIFT] = pass_shift,
    [EG_SHARD_PASS_CONSISTENCY] = eg_shard_pass_consistency,
    [EG_SHARD_PASS_MERGE] = eg_shard_pass_merge,
    [EG_SHARD_PASS_ROWS] = eg_shard_pass_rows,
    [EG_SHARD_PASS_DOMINATED] = eg_shard_pass_dominated,
    [EG_SHARD_PASS_DEGREE] = eg_shard_pass_degree,
};

static bool is_late(const eg_shard_model *model) {
  return model->deadline != 0 && eg_clock_seconds() > model->deadline;
}

static size_t count_values(const eg_shard_model *model) {
  size_t count = 0;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    count += model->nodes.data[n].count;
  return count;
}

egraph_status eg_shard_reduce(eg_shard_model *model, uint32_t disabled) {
  if (model->base >= model->cutoff && model->proof == NULL) model->closed = true;
  for (bool changed = true; changed && !model->closed && !is_late(model);) {
    size_t before = count_values(model);
    model->work += model->table.len;
    changed = false;
    for (uint32_t pass = 0; pass < EG_SHARD_PASS_FILTER && !model->closed; pass++)
      if (((disabled >> pass) & 1) == 0 && !is_late(model))
        EG_TRY(passes[pass](model, &changed));
    if (before > MANY && before - count_values(model) < before / 500) break;
  }
  return EGRAPH_OK;
}
