// Variables are decided in the reverse order of their elimination. The bound of a partial
// choice is the sum of all factors that are decided but not yet eliminated: deciding a
// variable takes off what its elimination gave and adds its bucket. With tables that were
// not split the bound is the exact minimum under prices, so that without memory rows the
// first leaf is optimal and nothing else is visited.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_enumerate.h"

#include "base/owner.h"

EG_OWNER_DEFINE(eg_shard_enumeration, (eg_shard_slack, slack),
                (eg_i64s, cost, sum, charge, charged),
                (eg_u32s, child, at, next, count, choice, found))

// Largest scaled sum that is below the cutoff.
static int64_t allowed(const eg_shard_elimination *tables) {
  const eg_shard_model *model = tables->model;
  return (model->cutoff - 1 - model->base) * (INT64_C(1) << tables->prices.scale) +
         tables->prices.capacity;
}

// Lists the children of a place, cheapest first.
static void open_place(eg_shard_enumeration *x, const eg_shard_elimination *tables,
                       uint32_t place, int64_t most) {
  uint32_t begin = tables->value_begin.data[place];
  uint32_t width = eg_shard_elimination_width(tables, place), count = 0;
  int64_t rest = x->sum.data[place + 1];
  for (uint32_t i = tables->result_begin.data[place];
       i < tables->result_begin.data[place + 1]; i++) {
    const eg_shard_factor *f = &tables->factors.data[tables->results.data[i]];
    const int64_t *line = eg_shard_factor_at(tables, f, x->at.data);
    rest -= f->arity == 0 ? *line : line[x->at.data[tables->scopes.data[f->scope]]];
  }
  for (uint32_t v = 0; v < width; v++) {
    int64_t cost = rest;
    for (uint32_t f = tables->bucket.data[place]; f != EG_SHARD_NONE && cost <= most;
         f = tables->factors.data[f].next)
      cost = eg_shard_capped(
          cost, eg_shard_factor_at(tables, &tables->factors.data[f], x->at.data)[v]);
    if (cost > most) continue;
    uint32_t to = count++;
    for (; to > 0 && x->cost.data[begin + to - 1] > cost; to--) {
      x->cost.data[begin + to] = x->cost.data[begin + to - 1];
      x->child.data[begin + to] = x->child.data[begin + to - 1];
    }
    x->cost.data[begin + to] = cost;
    x->child.data[begin + to] = v;
  }
  x->next.data[place] = 0;
  x->count.data[place] = count;
}

// Without what memory adds the sum is the cost.
static egraph_status offer(eg_shard_enumeration *x, eg_shard_elimination *tables,
                           eg_shard_search *search, bool *out_better) {
  int64_t least = allowed(tables) - tables->prices.capacity, cost;
  bool fits, better;
  if (x->sum.data[0] - x->charged.data[0] > least) return EGRAPH_OK;
  for (uint32_t i = 0; i < tables->order.len; i++)
    x->choice.data[tables->order.data[i]] =
        tables->values.data[tables->value_begin.data[i] + x->at.data[i]];
  EG_TRY(eg_shard_model_evaluate(tables->model, x->choice.data, &cost, &fits));
  if (!fits || cost >= tables->model->cutoff) return EGRAPH_OK;
  EG_TRY(eg_shard_search_offer(search, tables->model, x->choice.data, &better));
  tables->model->cutoff = cost;
  x->found.len = 0;
  EG_TRY(eg_u32s_append(&x->found, x->choice.data, x->choice.len));
  *out_better = true;
  return EGRAPH_OK;
}

// What the prices add to the cost of a value that is not forbidden.
static int64_t charge_of(const eg_shard_elimination *tables, uint32_t n, uint32_t v) {
  const eg_shard_model *model = tables->model;
  int64_t cost = model->cost.data[model->nodes.data[n].values + v];
  int64_t sum = eg_shard_prices_of(&tables->prices, model, n, v, EG_SHARD_CAP);
  return sum >= EG_SHARD_CAP ? 0 : sum - cost * (INT64_C(1) << tables->prices.scale);
}

static egraph_status find_charges(eg_shard_enumeration *x,
                                  const eg_shard_elimination *tables) {
  const eg_shard_model *model = tables->model;
  size_t places = tables->order.len;
  EG_TRY(eg_i64s_resize(&x->charge, tables->values.len));
  EG_TRY(eg_i64s_resize(&x->charged, places + 1));
  for (uint32_t i = 0; i < places; i++)
    for (uint32_t v = tables->value_begin.data[i]; v < tables->value_begin.data[i + 1];
         v++)
      x->charge.data[v] =
          charge_of(tables, tables->order.data[i], tables->values.data[v]);
  int64_t sum = 0;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    if (model->nodes.data[n].count != 0 && tables->place.data[n] == EG_SHARD_NONE)
      sum = eg_shard_capped(sum, charge_of(tables, n, tables->fixed.data[n]));
  x->charged.data[places] = sum;
  return EGRAPH_OK;
}

static egraph_status start(eg_shard_enumeration *x, const eg_shard_elimination *tables) {
  const eg_shard_model *model = tables->model;
  size_t places = tables->order.len;
  EG_TRY(eg_shard_slack_start(&x->slack, model));
  EG_TRY(eg_i64s_resize(&x->cost, tables->values.len));
  EG_TRY(eg_u32s_resize(&x->child, tables->values.len));
  EG_TRY(eg_u32s_resize(&x->at, places));
  EG_TRY(eg_u32s_resize(&x->next, places));
  EG_TRY(eg_u32s_resize(&x->count, places));
  EG_TRY(eg_i64s_resize(&x->sum, places + 1));
  EG_TRY(eg_u32s_resize(&x->choice, model->nodes.len));
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    if (model->nodes.data[n].count == 0 || tables->place.data[n] != EG_SHARD_NONE)
      continue;
    x->choice.data[n] = tables->fixed.data[n];
    eg_shard_slack_value(&x->slack, model, n, tables->fixed.data[n], -1);
  }
  x->sum.data[places] = tables->constant;
  return find_charges(x, tables);
}

static void charge(eg_shard_enumeration *x, const eg_shard_elimination *tables,
                   uint32_t place, int64_t sign) {
  uint32_t value =
      tables->values.data[tables->value_begin.data[place] + x->at.data[place]];
  eg_shard_slack_value(&x->slack, tables->model, tables->order.data[place], value, sign);
}

// Decides the next value of a place that fits; false when there is none.
static bool advance(eg_shard_enumeration *x, const eg_shard_elimination *tables,
                    uint32_t place, int64_t most) {
  uint32_t begin = tables->value_begin.data[place];
  while (x->next.data[place] < x->count.data[place]) {
    uint32_t i = begin + x->next.data[place]++;
    if (x->cost.data[i] > most) return false;
    x->at.data[place] = x->child.data[i];
    charge(x, tables, place, -1);
    if (eg_shard_slack_fits(&x->slack)) {
      x->sum.data[place] = x->cost.data[i];
      x->charged.data[place] =
          x->charged.data[place + 1] + x->charge.data[begin + x->at.data[place]];
      return true;
    }
    charge(x, tables, place, 1);
  }
  return false;
}

// `place` is the one at work; those above it are decided.
static egraph_status walk(eg_shard_enumeration *x, eg_shard_elimination *tables,
                          eg_shard_search *search, uint64_t limit, bool *out_better,
                          bool *out_complete) {
  uint32_t places = (uint32_t)tables->order.len, place = places - 1;
  int64_t most = allowed(tables);
  open_place(x, tables, place, most);
  for (uint64_t visited = 0;;) {
    if (!advance(x, tables, place, most)) {
      if (++place == places) break;
      charge(x, tables, place, 1);
      continue;
    }
    if (++visited >= limit) return EGRAPH_OK;
    if (visited % 1024 == 0 && eg_shard_search_stop(search)) return EGRAPH_OK;
    tables->work += 16;
    if (place != 0) {
      open_place(x, tables, --place, most);
      continue;
    }
    EG_TRY(offer(x, tables, search, out_better));
    most = allowed(tables);
    charge(x, tables, place, 1);
  }
  *out_complete = true;
  return EGRAPH_OK;
}

egraph_status eg_shard_enumerate(eg_shard_enumeration *x, eg_shard_elimination *tables,
                                 eg_shard_search *search, uint64_t limit,
                                 bool *out_better, bool *out_complete) {
  *out_better = *out_complete = false;
  if (tables->too_large) return EGRAPH_OK;
  EG_TRY(start(x, tables));
  *out_complete = tables->constant > allowed(tables) || !eg_shard_slack_fits(&x->slack);
  if (*out_complete) return EGRAPH_OK;
  if (tables->order.len != 0)
    return walk(x, tables, search, limit, out_better, out_complete);
  *out_complete = true;
  return offer(x, tables, search, out_better);
}
