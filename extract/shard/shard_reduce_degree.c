// A node that takes no memory and has at most two neighbours is eliminated: its best
// reply becomes a table between them.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_edit.h"
#include "extract/shard/shard_reduce.h"

typedef struct replies {
  uint32_t other[2];
  uint32_t half[2];  // of the node that goes
  uint32_t count[2]; // 1 where there is no neighbour
} replies;

static int64_t reply(const eg_shard_model *model, uint32_t n, const replies *r,
                     const uint32_t *at, uint32_t *out) {
  const eg_shard_node *node = &model->nodes.data[n];
  int64_t best = EG_SHARD_INFINITE;
  *out = 0;
  for (uint32_t v = 0; v < node->count; v++) {
    int64_t cost = model->cost.data[node->values + v];
    for (int side = 0; side < 2; side++) {
      if (r->other[side] == EG_SHARD_NONE) continue;
      eg_shard_view view = eg_shard_view_of(model, r->half[side]);
      cost = eg_shard_sum(cost,
                          view.data[v * view.own_stride + at[side] * view.other_stride]);
    }
    if (cost < best) {
      best = cost;
      *out = v;
    }
  }
  return best;
}

// Steps and the new costs, into `spare`.
static egraph_status tabulate(eg_shard_model *model, uint32_t n, const replies *r) {
  const eg_shard_node *node = &model->nodes.data[n];
  const uint32_t *id[2] = {NULL, NULL};
  uint32_t ids[2] = {1, 1};
  for (int side = 0; side < 2; side++) {
    if (r->other[side] == EG_SHARD_NONE) continue;
    id[side] = model->id.data + model->nodes.data[r->other[side]].values;
    ids[side] = model->ids.data[r->other[side]];
  }
  eg_shard_step step = {n, {r->other[0], r->other[1]}, ids[1], model->step_values.len};
  EG_TRY(eg_u32s_resize(&model->step_values, step.values + (size_t)ids[0] * ids[1]));
  EG_TRY(eg_shard_steps_push(&model->steps, step));
  model->spare.len = 0;
  EG_TRY(eg_i64s_resize(&model->spare, (size_t)r->count[0] * r->count[1]));
  uint32_t at[2];
  for (at[0] = 0; at[0] < r->count[0]; at[0]++)
    for (at[1] = 0; at[1] < r->count[1]; at[1]++) {
      uint32_t value;
      model->spare.data[at[0] * r->count[1] + at[1]] = reply(model, n, r, at, &value);
      size_t place =
          (size_t)(id[0] ? id[0][at[0]] : 0) * ids[1] + (id[1] ? id[1][at[1]] : 0);
      model->step_values.data[step.values + place] = model->id.data[node->values + value];
    }
  return EGRAPH_OK;
}

static egraph_status deposit(eg_shard_model *model, const replies *r) {
  if (r->other[0] == EG_SHARD_NONE) {
    model->base = eg_shard_sum(model->base, model->spare.data[0]);
    if (model->base >= model->cutoff) model->closed = true;
    return EGRAPH_OK;
  }
  if (r->other[1] == EG_SHARD_NONE) {
    int64_t *cost = model->cost.data + model->nodes.data[r->other[0]].values;
    for (uint32_t v = 0; v < r->count[0]; v++)
      cost[v] = eg_shard_sum(cost[v], model->spare.data[v]);
    return EGRAPH_OK;
  }
  uint32_t edge;
  EG_TRY(eg_shard_add_edge(model, r->other[0], r->other[1], &edge));
  memcpy(model->table.data + model->edges.data[edge].table, model->spare.data,
         model->spare.len * sizeof *model->spare.data);
  return eg_shard_join_parallel(model, r->other[0]);
}

static egraph_status eliminate(eg_shard_model *model, uint32_t n) {
  replies r = {{EG_SHARD_NONE, EG_SHARD_NONE}, {0, 0}, {1, 1}};
  int sides = 0;
  EG_SHARD_EACH_HALF(model, n, half) {
    r.other[sides] = eg_shard_other(model, half);
    r.half[sides] = half;
    r.count[sides] = model->nodes.data[r.other[sides]].count;
    sides++;
  }
  EG_TRY(tabulate(model, n, &r));
  for (int side = 0; side < sides; side++)
    eg_shard_kill_edge(model, r.half[side] >> 1);
  EG_TRY(deposit(model, &r));
  eg_shard_node *node = &model->nodes.data[n];
  node->count = 0;
  node->half = EG_SHARD_NONE;
  for (int side = 0; side < sides; side++)
    EG_TRY(eg_shard_touch(model, r.other[side]));
  return EGRAPH_OK;
}

// Two neighbours: not when the new table is larger than what it replaces, unless small.
static bool is_worth_it(const eg_shard_model *model, uint32_t n) {
  const eg_shard_node *node = &model->nodes.data[n];
  if (node->count == 0 || node->item != EG_SHARD_NONE || node->degree > 2) return false;
  if (node->degree < 2) return true;
  size_t sum = 0, product = 1;
  EG_SHARD_EACH_HALF(model, n, half) {
    size_t count = model->nodes.data[eg_shard_other(model, half)].count;
    sum += count;
    product *= count;
  }
  return product <= 2 * sum * node->count + 256;
}

egraph_status eg_shard_pass_degree(eg_shard_model *model, bool *changed) {
  for (uint32_t n = 0; n < model->nodes.len && !model->closed; n++) {
    if (!is_worth_it(model, n)) continue;
    EG_TRY(eliminate(model, n));
    *changed = true;
  }
  return EGRAPH_OK;
}
