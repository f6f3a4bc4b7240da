// A node collects its messages and gives an equal part of the sum to every edge that
// comes later; each of these edges passes on the least entry of each line. After a pass
// every table has minimum 0, so the bound is the sum of these minima and of the remaining
// node costs, less prices times capacities. Both orders of every table are stored, so
// that minima read memory in sequence in both directions.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_dual.h"

#include <math.h>

#include "extract/shard/shard_model.h"
#include "extract/shard/shard_proof.h"

#define MOMENTUM 0.7

static size_t table_size(const eg_shard_model *model, const eg_shard_edge *edge) {
  return (size_t)model->nodes.data[edge->ends[0]].count *
         model->nodes.data[edge->ends[1]].count;
}

/// Returns a number larger than any sum of finite entries, or than the distance to
/// the cutoff.
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
  assert(dual->model != NULL);
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

/// Fills `priced` with the costs of all values plus their memory at the model's prices.
static void price_all(eg_shard_dual *dual) {
  const eg_shard_model *model = dual->model;
  double *sum = dual->load.data; // sums of the prices of earlier rows
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

/// Sets the message of an edge to min over v of (table[v][w] - message[v]), less the
/// minimum of these numbers; returns this minimum.
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

static uint32_t least_index(const double *values, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t v = 1; v < count; v++)
    if (values[v] < values[best]) best = v;
  return best;
}

static bool is_ahead(uint32_t n, uint32_t other, bool forward) {
  return forward ? other > n : other < n;
}

/// Sums the messages of a node into `unary`. A second sum, for rounding, takes the table
/// entry of the choice of each neighbour that has one, instead of its message.
static void collect_messages(eg_shard_dual *dual, uint32_t n, bool forward) {
  assert(dual->model->nodes.data[n].count != 0);
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
  dual->least.data[n] = least_index(unary, node->count);
  dual->choice.data[n] = least_index(seen, node->count);
}

static double visit_node(eg_shard_dual *dual, uint32_t n, bool forward) {
  eg_shard_model *model = dual->model;
  const eg_shard_node *node = &model->nodes.data[n];
  collect_messages(dual, n, forward);
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
  assert(dual->model != NULL && dual->unary.len == dual->model->cost.len);
  const eg_shard_model *model = dual->model;
  price_all(dual);
  uint32_t count = (uint32_t)model->nodes.len;
  for (uint32_t n = 0; n < count; n++)
    if (model->nodes.data[n].count != 0) visit_node(dual, n, true);
  double charge = 0;
  for (size_t r = 0; r < model->capacity.len; r++)
    charge += model->price.data[r] * (double)model->capacity.data[r];
  double bound = (double)model->base - charge;
  for (uint32_t n = count; n-- > 0;)
    if (model->nodes.data[n].count != 0) bound += visit_node(dual, n, false);
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

static void update_best_bound(eg_shard_dual *dual) {
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
  assert(dual->direction.len == dual->model->capacity.len);
  eg_shard_model *model = dual->model;
  size_t rows = model->capacity.len;
  update_best_bound(dual);
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
  // The length of a step follows the best bound: after a bad bound it would grow
  // without end.
  double length = dual->step * (target - dual->best_bound) / norm;
  for (size_t r = 0; r < rows; r++) {
    double price = model->price.data[r] + length * dual->direction.data[r];
    model->price.data[r] = price > 0 ? price : 0;
  }
}

// ---- the bound in integers ----------------------------------------------------------
// For any messages m and prices p >= 0 the cost of a solution is at least
//
//   base + sum over nodes of min over v of (cost + charge + its messages)
//        + sum over edges of min over pairs of (entry - both messages)
//        - sum over rows of price * capacity
//
// This still holds after messages and prices are rounded to integers; charges are rounded
// down, prices * capacities up. Costs are integers, so the result is rounded up. The
// excess of a value or a pair over the minima is its reduced cost.

#define HUGE_COST (INT64_C(1) << 61) // sums of two fit
#define MOST_MESSAGE (INT64_C(1) << 59)
__extension__ typedef __int128 wide;

/// Returns the largest number of a proof in fixed point: costs, and amounts moved
/// from tables.
static int64_t largest_of(const eg_shard_model *model) {
  int64_t largest = model->cutoff;
  for (size_t i = 0; i < model->moved.len; i++) {
    int64_t moved = model->moved.data[i];
    if (moved < 0) moved = -moved;
    if (moved > largest) largest = moved;
  }
  return largest;
}

int eg_shard_scale_of(const eg_shard_model *model) {
  bool proof = model->proof != NULL;
  int64_t largest = proof ? largest_of(model) : 0;
  int64_t left = proof ? model->range : model->cutoff - model->base;
  int scale = 0, most = proof ? 46 : 54; // numbers of a proof are short
  while (scale < 20 && left < (INT64_C(1) << (most - scale)) &&
         largest < (INT64_C(1) << (57 - scale)))
    scale++;
  return scale;
}

/// Fills fixed-point memory prices, or zeros without `use`; false when too large.
static bool sum_prices(eg_shard_prices *prices, const eg_shard_model *model, bool use) {
  wide charge = 0;
  prices->sum.data[0] = 0;
  for (size_t r = 0; r < model->capacity.len; r++) {
    double exact = use ? ldexp(model->price.data[r], prices->scale + prices->shift) : 0;
    int64_t price = exact >= 1 ? (int64_t)exact : 0;
    prices->sum.data[r + 1] = prices->sum.data[r] + price;
    charge += (wide)price * model->capacity.data[r];
  }
  charge = (charge + ((wide)1 << prices->shift) - 1) >> prices->shift;
  if (charge > HUGE_COST / 2) return false;
  prices->capacity = (int64_t)charge;
  return true;
}

egraph_status eg_shard_prices_fix(eg_shard_prices *prices, const eg_shard_model *model,
                                  int scale) {
  assert(scale >= 0);
  size_t rows = model->capacity.len;
  double total = 0;
  for (size_t r = 0; r < rows; r++)
    total += model->price.data[r];
  int exponent = 0;
  if (total > 0 && isfinite(total)) frexp(total, &exponent);
  int shift = 59 - exponent - scale; // the sum stays below 2^60
  prices->scale = scale;
  int most = model->proof != NULL ? 54 : 60; // exact products fit 128 bits
  prices->shift = shift < 0 ? 0 : shift > most ? most : shift;
  EG_TRY(eg_i64s_resize(&prices->sum, rows + 1));
  if (!isfinite(total) || shift < 0 || !sum_prices(prices, model, true))
    (void)sum_prices(prices, model, false);
  return EGRAPH_OK;
}

/// Returns a value's scaled cost plus its charge for memory. No overflow: usages add up
/// to 2^62, prices to 2^60. The value must not be forbidden.
static wide price_value(const eg_shard_prices *prices, const eg_shard_model *model,
                        uint32_t n, uint32_t value) {
  const eg_shard_node *node = &model->nodes.data[n];
  wide charge = 0;
  EG_SHARD_EACH_ITEM(model, n, item) {
    charge += (wide)model->usage.data[item->usage + value] *
              (prices->sum.data[item->last] - prices->sum.data[item->first]);
  }
  int64_t cost = model->cost.data[node->values + value];
  return (wide)cost * ((wide)1 << prices->scale) + (charge >> prices->shift);
}

int64_t eg_shard_prices_of(const eg_shard_prices *prices, const eg_shard_model *model,
                           uint32_t n, uint32_t value, int64_t most) {
  assert(most <= INT64_C(1) << 61);
  if (model->cost.data[model->nodes.data[n].values + value] >= EG_SHARD_INFINITE)
    return most;
  wide sum = price_value(prices, model, n, value);
  return sum < most ? (int64_t)sum : most;
}

/// State of one call of eg_shard_bound_run; its numbers are in units of 2^-scale.
typedef struct exact {
  eg_shard_model *model;
  eg_shard_prices prices;
  eg_i64s node;    // like model->cost: cost, charge and messages; later reduced costs
  eg_i64s message; // like model->message
  eg_i64s line;    // like model->message: least residual per line, above the edge's
  eg_i64s edge;    // [edge] least residual
  int64_t left;    // entries from here on are forbidden: cutoff less base
  wide allowed;    // largest scaled cost below the cutoff, without the base
  wide bound;      // scaled, without the base
  bool absurd;     // numbers are too large for reduced costs
} exact;
EG_OWNER_DEFINE_STATIC(exact, (eg_shard_prices, prices),
                       (eg_i64s, node, message, line, edge))

static void fix_messages(exact *x) {
  const eg_doubles *from = &x->model->message;
  double most = (double)MOST_MESSAGE;
  for (size_t i = 0; i < from->len; i++) {
    double value = ldexp(from->data[i], x->prices.scale);
    x->message.data[i] = value >= most    ? MOST_MESSAGE
                         : value <= -most ? -MOST_MESSAGE
                         : isnan(value)   ? 0
                                          : (int64_t)llrint(value);
  }
}

static wide sum_value(const exact *x, uint32_t n, uint32_t v) {
  wide sum = price_value(&x->prices, x->model, n, v);
  EG_SHARD_EACH_HALF(x->model, n, half) {
    const eg_shard_edge *edge = &x->model->edges.data[half >> 1];
    sum += x->message.data[edge->message[half & 1] + v];
  }
  return sum;
}

static void sum_node(exact *x, uint32_t n) {
  const eg_shard_node *node = &x->model->nodes.data[n];
  const int64_t *cost = x->model->cost.data + node->values;
  int64_t *value = x->node.data + node->values;
  wide least = 0;
  bool found = false;
  for (uint32_t v = 0; v < node->count; v++) {
    value[v] = HUGE_COST;
    if (cost[v] >= EG_SHARD_INFINITE) continue;
    wide sum = sum_value(x, n, v);
    if (!found || sum < least) least = sum;
    found = true;
    if (sum < HUGE_COST) value[v] = sum > -HUGE_COST ? (int64_t)sum : -HUGE_COST;
  }
  if (!found) x->model->closed = true;
  if (least > HUGE_COST / 4 || least < -HUGE_COST / 4) x->absurd = true;
  x->bound += least;
  if (x->absurd) return;
  for (uint32_t v = 0; v < node->count; v++)
    if (value[v] < HUGE_COST) value[v] -= (int64_t)least;
}

/// Returns a table entry less its messages (`both`), or HUGE_COST when the entry alone
/// reaches the cutoff.
static inline int64_t residual(const exact *x, int64_t entry, int64_t both) {
  if (entry >= x->left) return HUGE_COST;
  return entry * (INT64_C(1) << x->prices.scale) - both;
}

static void sum_edge(exact *x, uint32_t e) {
  const eg_shard_edge *edge = &x->model->edges.data[e];
  uint32_t rows = x->model->nodes.data[edge->ends[0]].count;
  uint32_t columns = x->model->nodes.data[edge->ends[1]].count;
  const int64_t *entry = x->model->table.data + edge->table;
  const int64_t *own = x->message.data + edge->message[0];
  const int64_t *other = x->message.data + edge->message[1];
  int64_t *row = x->line.data + edge->message[0];
  int64_t *column = x->line.data + edge->message[1];
  int64_t least = HUGE_COST;
  for (uint32_t w = 0; w < columns; w++)
    column[w] = HUGE_COST;
  for (uint32_t v = 0; v < rows; v++, entry += columns) {
    row[v] = HUGE_COST;
    for (uint32_t w = 0; w < columns; w++) {
      int64_t value = residual(x, entry[w], own[v] + other[w]);
      if (value < row[v]) row[v] = value;
      if (value < column[w]) column[w] = value;
    }
    if (row[v] < least) least = row[v];
  }
  for (uint32_t v = 0; v < rows; v++)
    row[v] = row[v] >= HUGE_COST ? HUGE_COST : row[v] - least;
  for (uint32_t w = 0; w < columns; w++)
    column[w] = column[w] >= HUGE_COST ? HUGE_COST : column[w] - least;
  x->edge.data[e] = least;
  x->bound += least;
  if (least >= HUGE_COST) x->model->closed = true;
}

/// Adds to the reduced cost of every value the least reduced costs of its edges.
static void add_lines(exact *x) {
  const eg_shard_model *model = x->model;
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    EG_SHARD_EACH_HALF(model, n, half) {
      const int64_t *line = x->line.data + model->edges.data[half >> 1].message[half & 1];
      for (uint32_t v = 0; v < node->count; v++) {
        int64_t sum = x->node.data[node->values + v] + line[v];
        x->node.data[node->values + v] = sum < HUGE_COST ? sum : HUGE_COST;
      }
    }
  }
}

static egraph_status filter_edge(exact *x, uint32_t e, int64_t spare, bool *changed) {
  assert(spare >= 0);
  eg_shard_model *model = x->model;
  const eg_shard_edge *edge = &model->edges.data[e];
  uint32_t rows = model->nodes.data[edge->ends[0]].count;
  uint32_t columns = model->nodes.data[edge->ends[1]].count;
  const int64_t *reduced[2], *line[2], *message[2];
  for (int side = 0; side < 2; side++) {
    reduced[side] = x->node.data + model->nodes.data[edge->ends[side]].values;
    line[side] = x->line.data + edge->message[side];
    message[side] = x->message.data + edge->message[side];
  }
  bool found = false;
  int64_t *entry = model->table.data + edge->table;
  for (uint32_t v = 0; v < rows; v++, entry += columns) {
    if (reduced[0][v] > spare) continue; // the value is dropped
    int64_t left = spare - (reduced[0][v] - line[0][v]) + x->edge.data[e] + message[0][v];
    for (uint32_t w = 0; w < columns; w++) {
      if (entry[w] >= EG_SHARD_INFINITE || reduced[1][w] > spare) continue;
      int64_t above = residual(x, entry[w], message[1][w]);
      if (above <= left - (reduced[1][w] - line[1][w])) continue;
      entry[w] = EG_SHARD_INFINITE;
      found = true;
    }
  }
  if (!found) return EGRAPH_OK;
  *changed = true;
  EG_TRY(eg_shard_touch(model, edge->ends[0]));
  return eg_shard_touch(model, edge->ends[1]);
}

static egraph_status filter_node(exact *x, uint32_t n, int64_t spare, bool *changed) {
  assert(x->model->nodes.data[n].count != 0);
  eg_shard_model *model = x->model;
  const eg_shard_node *node = &model->nodes.data[n];
  EG_TRY(eg_bytes_resize(&model->keep, node->count));
  bool found = false;
  for (uint32_t v = 0; v < node->count; v++) {
    model->keep.data[v] = x->node.data[node->values + v] <= spare;
    if (!model->keep.data[v]) found = true;
  }
  if (!found) return EGRAPH_OK;
  *changed = true;
  return eg_shard_keep_values(model, n);
}

/// Drops pairs of values (table entries) before values, while messages and tables match.
static egraph_status filter_all(exact *x, bool *changed) {
  eg_shard_model *model = x->model;
  wide spare = x->allowed - x->bound;
  if (x->absurd || spare >= HUGE_COST / 4) return EGRAPH_OK;
  add_lines(x);
  for (uint32_t e = 0; e < model->edges.len; e++)
    if (!eg_shard_is_dead(&model->edges.data[e]))
      EG_TRY(filter_edge(x, e, (int64_t)spare, changed));
  for (uint32_t n = 0; n < model->nodes.len && !model->closed; n++)
    if (model->nodes.data[n].count != 0)
      EG_TRY(filter_node(x, n, (int64_t)spare, changed));
  return EGRAPH_OK;
}

static egraph_status compute_bound(exact *x, bool filter, int64_t *out, bool *changed) {
  assert(!x->model->closed);
  eg_shard_model *model = x->model;
  int scale = eg_shard_scale_of(model);
  EG_TRY(eg_shard_prices_fix(&x->prices, model, scale));
  EG_TRY(eg_i64s_resize(&x->node, model->cost.len));
  EG_TRY(eg_i64s_resize(&x->message, model->message.len));
  EG_TRY(eg_i64s_resize(&x->line, model->message.len));
  EG_TRY(eg_i64s_resize(&x->edge, model->edges.len));
  x->left = model->proof == NULL ? model->cutoff - model->base
                                 : HUGE_COST >> (scale + 1); // the range of numbers
  fix_messages(x);
  if (model->proof != NULL && filter)
    EG_TRY(eg_shard_proof_filter(model->proof, model, scale, x->prices.shift,
                                 x->prices.sum.data, x->message.data));
  x->bound = -(wide)x->prices.capacity;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    if (model->nodes.data[n].count != 0) sum_node(x, n);
  for (uint32_t e = 0; e < model->edges.len; e++)
    if (!eg_shard_is_dead(&model->edges.data[e])) sum_edge(x, e);
  x->allowed = (wide)(model->cutoff - model->base - 1) * ((wide)1 << scale);
  wide bound = model->base + ((x->bound + ((wide)1 << scale) - 1) >> scale);
  if (bound >= model->cutoff) model->closed = true;
  *out = model->closed         ? model->cutoff
         : bound < model->base ? model->base
                               : (int64_t)bound;
  if (filter && !model->closed) EG_TRY(filter_all(x, changed));
  if (model->proof == NULL || !filter) return EGRAPH_OK;
  return eg_shard_proof_filtered(model->proof, *out, *changed || model->closed);
}

egraph_status eg_shard_bound_run(eg_shard_model *model, bool filter, int64_t *out,
                                 bool *changed) {
  *out = model->base < model->cutoff ? model->base : model->cutoff;
  if (model->closed || (model->proof == NULL && model->base >= model->cutoff)) {
    model->closed = true;
    *out = model->cutoff;
    return EGRAPH_OK;
  }
  EG_LOCAL(exact, x, model->alloc);
  x.model = model;
  return compute_bound(&x, filter, out, changed);
}
