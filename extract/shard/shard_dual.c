// A node collects its messages, gives an equal share of what it has to every edge that is
// still to come, and each of those edges passes on the best of its lines. After a pass
// every table has minimum 0, so that the bound is the sum of those minima, of what nodes
// kept, and less prices times capacities. Both orders of every table are kept: minima
// across rows then run along memory in both directions.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_dual.h"

#include <math.h>

#include "base/owner.h"
#include "extract/shard/shard_model.h"

#define MOMENTUM 0.7

EG_OWNER_DEFINE(eg_shard_dual,
                (eg_doubles, table, flipped, priced, unary, direction, load, best_price,
                 scratch),
                (eg_sizes, table_at), (eg_u32s, earlier, later, choice, least))

static size_t table_size(const eg_shard_model *model, const eg_shard_edge *edge) {
  return (size_t)model->nodes.data[edge->ends[0]].count *
         model->nodes.data[edge->ends[1]].count;
}

// More than any sum of finite entries, or than what is left below the cutoff.
static double find_big(const eg_shard_model *model) {
  double sum = 1, left = (double)(model->cutoff - model->base);
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    int64_t most = 0;
    for (uint32_t v = 0; v < node->count; v++) {
      int64_t cost = model->cost.data[node->values + v];
      if (cost < EG_SHARD_INFINITE && cost > most) most = cost;
    }
    sum += (double)most;
  }
  for (uint32_t e = 0; e < model->edges.len; e++) {
    const eg_shard_edge *edge = &model->edges.data[e];
    if (eg_shard_is_dead(edge)) continue;
    int64_t most = 0;
    for (size_t i = 0; i < table_size(model, edge); i++) {
      int64_t cost = model->table.data[edge->table + i];
      if (cost < EG_SHARD_INFINITE && cost > most) most = cost;
    }
    sum += (double)most;
  }
  return 2 * (sum < left || left <= 0 ? sum : left) + 1;
}

static egraph_status load_tables(eg_shard_dual *dual) {
  const eg_shard_model *model = dual->model;
  EG_TRY(eg_sizes_resize(&dual->table_at, model->edges.len));
  size_t total = 0;
  for (uint32_t e = 0; e < model->edges.len; e++) {
    dual->table_at.data[e] = total;
    if (!eg_shard_is_dead(&model->edges.data[e]))
      total += table_size(model, &model->edges.data[e]);
  }
  EG_TRY(eg_doubles_resize(&dual->table, total));
  EG_TRY(eg_doubles_resize(&dual->flipped, total));
  for (uint32_t e = 0; e < model->edges.len; e++) {
    const eg_shard_edge *edge = &model->edges.data[e];
    if (eg_shard_is_dead(edge)) continue;
    uint32_t rows = model->nodes.data[edge->ends[0]].count;
    uint32_t columns = model->nodes.data[edge->ends[1]].count;
    double *table = dual->table.data + dual->table_at.data[e];
    double *flipped = dual->flipped.data + dual->table_at.data[e];
    const int64_t *from = model->table.data + edge->table;
    for (uint32_t v = 0; v < rows; v++)
      for (uint32_t w = 0; w < columns; w++) {
        int64_t cost = from[(size_t)v * columns + w];
        double value = cost < EG_SHARD_INFINITE ? (double)cost : dual->big;
        table[(size_t)v * columns + w] = flipped[(size_t)w * rows + v] = value;
      }
  }
  return EGRAPH_OK;
}

static egraph_status size_vectors(eg_shard_dual *dual) {
  const eg_shard_model *model = dual->model;
  size_t nodes = model->nodes.len, rows = model->capacity.len;
  dual->direction.len = dual->earlier.len = dual->later.len = 0;
  dual->choice.len = dual->least.len = 0;
  EG_TRY(eg_doubles_resize(&dual->priced, model->cost.len));
  EG_TRY(eg_doubles_resize(&dual->unary, model->cost.len));
  EG_TRY(eg_u32s_resize(&dual->earlier, nodes));
  EG_TRY(eg_u32s_resize(&dual->later, nodes));
  EG_TRY(eg_u32s_resize(&dual->choice, nodes));
  EG_TRY(eg_u32s_resize(&dual->least, nodes));
  EG_TRY(eg_doubles_resize(&dual->direction, rows));
  EG_TRY(eg_doubles_resize(&dual->load, rows + 1));
  EG_TRY(eg_doubles_resize(&dual->best_price, rows));
  uint32_t widest = 1;
  for (uint32_t n = 0; n < nodes; n++)
    if (model->nodes.data[n].count > widest) widest = model->nodes.data[n].count;
  EG_TRY(eg_doubles_resize(&dual->scratch, widest));
  for (size_t r = 0; r < rows; r++)
    dual->best_price.data[r] = model->price.data[r];
  return EGRAPH_OK;
}

egraph_status eg_shard_dual_start(eg_shard_dual *dual, eg_shard_model *model) {
  dual->model = model;
  dual->big = find_big(model);
  EG_TRY(load_tables(dual));
  EG_TRY(size_vectors(dual));
  for (uint32_t e = 0; e < model->edges.len; e++) {
    const uint32_t *ends = model->edges.data[e].ends;
    if (eg_shard_is_dead(&model->edges.data[e])) continue;
    dual->later.data[ends[0] < ends[1] ? ends[0] : ends[1]]++;
    dual->earlier.data[ends[0] < ends[1] ? ends[1] : ends[0]]++;
  }
  dual->best_bound = -INFINITY;
  dual->stalled = 0;
  dual->step = 1;
  return EGRAPH_OK;
}

/// Fills `priced` from the model's costs and prices.
static void price_all(eg_shard_dual *dual) {
  const eg_shard_model *model = dual->model;
  double *sum = dual->load.data; // of the prices of the rows before
  sum[0] = 0;
  for (size_t r = 0; r < model->capacity.len; r++)
    sum[r + 1] = sum[r] + model->price.data[r];
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    double *priced = dual->priced.data + node->values;
    for (uint32_t v = 0; v < node->count; v++) {
      int64_t cost = model->cost.data[node->values + v];
      priced[v] = cost < EG_SHARD_INFINITE ? (double)cost : dual->big;
    }
    if (node->count == 0) continue;
    EG_SHARD_EACH_ITEM(model, n, item) {
      double price = sum[item->last] - sum[item->first];
      if (price == 0) continue;
      const int64_t *usage = model->usage.data + item->usage;
      for (uint32_t v = 0; v < node->count; v++)
        priced[v] += price * (double)usage[v];
    }
  }
}

// The edge passes on min over v of (table[v][w] - message[v]), less the minimum of that,
// which is returned.
static double pass_on(eg_shard_dual *dual, uint32_t half) {
  eg_shard_model *model = dual->model;
  const eg_shard_edge *edge = &model->edges.data[half >> 1];
  uint32_t side = half & 1;
  uint32_t rows = model->nodes.data[edge->ends[side]].count;
  uint32_t columns = model->nodes.data[edge->ends[side ^ 1]].count;
  const double *line = (side == 0 ? dual->table.data : dual->flipped.data) +
                       dual->table_at.data[half >> 1];
  const double *given = model->message.data + edge->message[side];
  double *restrict best = model->message.data + edge->message[side ^ 1];
  for (uint32_t w = 0; w < columns; w++)
    best[w] = line[w] - given[0];
  for (uint32_t v = 1; v < rows; v++) {
    const double *restrict entry = line + (size_t)v * columns;
    double less = given[v];
    for (uint32_t w = 0; w < columns; w++) {
      double value = entry[w] - less;
      best[w] = value < best[w] ? value : best[w];
    }
  }
  double least = best[0];
  for (uint32_t w = 1; w < columns; w++)
    least = best[w] < least ? best[w] : least;
  for (uint32_t w = 0; w < columns; w++)
    best[w] -= least;
  dual->work += (uint64_t)rows * columns;
  return least;
}

static uint32_t find_least(const double *values, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t v = 1; v < count; v++)
    if (values[v] < values[best]) best = v;
  return best;
}

static bool is_ahead(uint32_t n, uint32_t other, bool forward) {
  return forward ? other > n : other < n;
}

// Sums up messages in `unary`; the rounding sees the table entries of neighbours that
// have chosen instead of their messages.
static void collect(eg_shard_dual *dual, uint32_t n, bool forward) {
  const eg_shard_model *model = dual->model;
  const eg_shard_node *node = &model->nodes.data[n];
  double *unary = dual->unary.data + node->values, *seen = dual->scratch.data;
  for (uint32_t v = 0; v < node->count; v++)
    unary[v] = seen[v] = dual->priced.data[node->values + v];
  EG_SHARD_EACH_HALF(model, n, half) {
    const eg_shard_edge *edge = &model->edges.data[half >> 1];
    const double *message = model->message.data + edge->message[half & 1];
    uint32_t other = eg_shard_other(model, half);
    for (uint32_t v = 0; v < node->count; v++)
      unary[v] += message[v];
    const double *line = message;
    if (!is_ahead(n, other, forward))
      line = ((half & 1) == 0 ? dual->flipped.data : dual->table.data) +
             dual->table_at.data[half >> 1] +
             (size_t)dual->choice.data[other] * node->count;
    for (uint32_t v = 0; v < node->count; v++)
      seen[v] += line[v];
  }
  dual->least.data[n] = find_least(unary, node->count);
  dual->choice.data[n] = find_least(seen, node->count);
}

static double visit(eg_shard_dual *dual, uint32_t n, bool forward) {
  eg_shard_model *model = dual->model;
  const eg_shard_node *node = &model->nodes.data[n];
  collect(dual, n, forward);
  const double *unary = dual->unary.data + node->values;
  uint32_t ahead = forward ? dual->later.data[n] : dual->earlier.data[n];
  uint32_t behind = forward ? dual->earlier.data[n] : dual->later.data[n];
  double share = 1.0 / (ahead > behind ? ahead : behind > 0 ? behind : 1);
  double bound = (1 - share * ahead) * unary[dual->least.data[n]];
  EG_SHARD_EACH_HALF(model, n, half) {
    if (!is_ahead(n, eg_shard_other(model, half), forward)) continue;
    double *message =
        model->message.data + model->edges.data[half >> 1].message[half & 1];
    for (uint32_t v = 0; v < node->count; v++)
      message[v] -= share * unary[v];
    bound += pass_on(dual, half);
  }
  return bound;
}

void eg_shard_dual_sweep(eg_shard_dual *dual) {
  const eg_shard_model *model = dual->model;
  price_all(dual);
  uint32_t count = (uint32_t)model->nodes.len;
  for (uint32_t n = 0; n < count; n++)
    if (model->nodes.data[n].count != 0) visit(dual, n, true);
  double charge = 0;
  for (size_t r = 0; r < model->capacity.len; r++)
    charge += model->price.data[r] * (double)model->capacity.data[r];
  double bound = (double)model->base - charge;
  for (uint32_t n = count; n-- > 0;)
    if (model->nodes.data[n].count != 0) bound += visit(dual, n, false);
  dual->bound = bound;
  dual->work += model->items.len + model->capacity.len;
}

void eg_shard_dual_load(const eg_shard_model *model, const uint32_t *choice,
                        double *load) {
  size_t rows = model->capacity.len;
  memset(load, 0, (rows + 1) * sizeof *load);
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    if (model->nodes.data[n].count == 0) continue;
    EG_SHARD_EACH_ITEM(model, n, item) {
      double usage = (double)model->usage.data[item->usage + choice[n]];
      load[item->first] += usage;
      load[item->last] -= usage;
    }
  }
  for (size_t r = 1; r < rows; r++)
    load[r] += load[r - 1];
  for (size_t r = 0; r < rows; r++)
    load[r] -= (double)model->capacity.data[r];
}

void eg_shard_dual_return(eg_shard_dual *dual) {
  eg_shard_model *model = dual->model;
  for (size_t r = 0; r < model->price.len; r++) {
    model->price.data[r] = dual->best_price.data[r];
    dual->direction.data[r] = 0;
  }
}

static void note_progress(eg_shard_dual *dual) {
  const eg_shard_model *model = dual->model;
  double margin = 1e-5 * fabs(dual->bound - (double)model->base);
  bool better = dual->bound > dual->best_bound;
  dual->stalled = dual->bound > dual->best_bound + margin ? 0 : dual->stalled + 1;
  if (!better) return;
  dual->best_bound = dual->bound;
  for (size_t r = 0; r < model->price.len; r++)
    dual->best_price.data[r] = model->price.data[r];
}

void eg_shard_dual_reprice(eg_shard_dual *dual, double target) {
  eg_shard_model *model = dual->model;
  size_t rows = model->capacity.len;
  note_progress(dual);
  if (rows == 0) return;
  if (dual->stalled != 0 && dual->stalled % 10 == 0) {
    dual->step *= 0.7;
    eg_shard_dual_return(dual);
  }
  eg_shard_dual_load(model, dual->least.data, dual->load.data);
  double norm = 0;
  for (size_t r = 0; r < rows; r++) {
    double slope = dual->load.data[r];
    if (slope < 0 && model->price.data[r] == 0) slope = 0;
    dual->direction.data[r] = MOMENTUM * dual->direction.data[r] + (1 - MOMENTUM) * slope;
    norm += dual->direction.data[r] * dual->direction.data[r];
  }
  if (norm == 0) return;
  // From the best bound: from a bad one the steps would grow without end.
  double length = dual->step * (target - dual->best_bound) / norm;
  for (size_t r = 0; r < rows; r++) {
    double price = model->price.data[r] + length * dual->direction.data[r];
    model->price.data[r] = price > 0 ? price : 0;
  }
}
