// Solves blocks. A block is eliminated under the prices of memory, then searched for a
// cheaper choice that fits. If the search finds none, the prices move along the violation
// of the minimum, a few times. A bandit chooses the kind of block by (gains) / (effort).
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_primal.h"

#include <math.h>

#include "extract/shard/shard_model.h"

enum { PRICE_STEPS = 6, VISITS = 4000, BLOCK_CAP = 100000, POOL_CAP = 400000 };

void eg_shard_primal_init(eg_shard_primal *primal, eg_shard_search *search) {
  *primal = (eg_shard_primal){.search = search, .cost = EG_SHARD_INFINITE};
  eg_shard_primal_init_members(primal, search->alloc);
}

egraph_status eg_shard_primal_leave(eg_shard_primal *primal) {
  assert(primal->cost >= EG_SHARD_INFINITE || primal->model != NULL);
  if (primal->cost >= EG_SHARD_INFINITE) return EGRAPH_OK;
  primal->ids.len = 0;
  EG_TRY(eg_u32s_append(&primal->ids, primal->best.data, primal->best.len));
  eg_shard_model_lift(primal->model, primal->ids.data);
  return EGRAPH_OK;
}

/// Converts ids of values to value indices; false when a value was dropped.
static bool find_values(const eg_shard_model *model, const uint32_t *ids, uint32_t *out) {
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    out[n] = 0;
    if (node->count == 0) continue;
    uint32_t v = 0;
    while (v < node->count && model->id.data[node->values + v] != ids[n])
      v++;
    if (v == node->count) return false;
    out[n] = v;
  }
  return true;
}

static egraph_status adopt_ids(eg_shard_primal *primal, const uint32_t *ids) {
  int64_t cost;
  bool fits;
  if (!find_values(primal->model, ids, primal->best.data)) return EGRAPH_OK;
  EG_TRY(eg_shard_model_evaluate(primal->model, primal->best.data, &cost, &fits));
  if (fits) primal->cost = cost;
  return EGRAPH_OK;
}

egraph_status eg_shard_primal_enter(eg_shard_primal *primal, eg_shard_model *model,
                                    bool fresh) {
  bool has_ids =
      !fresh && primal->cost < EG_SHARD_INFINITE && primal->ids.len == model->nodes.len;
  primal->model = model;
  primal->cost = EG_SHARD_INFINITE;
  primal->pool_count = primal->pool_next = 0;
  EG_TRY(eg_u32s_resize(&primal->best, model->nodes.len));
  EG_TRY(eg_u32s_resize(&primal->pool, EG_SHARD_POOL * model->nodes.len));
  EG_TRY(eg_bytes_resize(&primal->in_block, model->nodes.len));
  EG_TRY(eg_bytes_resize(&primal->allowed, model->cost.len));
  if (primal->search->cost < EG_SHARD_INFINITE)
    EG_TRY(adopt_ids(primal, primal->search->core_choice.data));
  if (has_ids && primal->cost >= EG_SHARD_INFINITE)
    EG_TRY(adopt_ids(primal, primal->ids.data));
  return EGRAPH_OK;
}

/// Adds a choice to the recent choices (the pool), and keeps it if it is the best.
static egraph_status keep_choice(eg_shard_primal *primal, const uint32_t *choice) {
  assert(primal->pool.len == EG_SHARD_POOL * primal->model->nodes.len);
  int64_t cost;
  bool fits, better;
  size_t nodes = primal->model->nodes.len;
  if (nodes == 0) return EGRAPH_OK;
  memcpy(primal->pool.data + primal->pool_next * nodes, choice, nodes * sizeof *choice);
  primal->pool_next = (primal->pool_next + 1) % EG_SHARD_POOL;
  if (primal->pool_count < EG_SHARD_POOL) primal->pool_count++;
  EG_TRY(eg_shard_model_evaluate(primal->model, choice, &cost, &fits));
  if (!fits || cost >= primal->cost) return EGRAPH_OK;
  primal->cost = cost;
  memcpy(primal->best.data, choice, nodes * sizeof *choice);
  return eg_shard_search_offer(primal->search, primal->model, choice, &better);
}

/// Returns the cost of value v of n by prices, by tables towards smaller numbers (which
/// have chosen), and by messages from larger numbers.
static double price_against(const eg_shard_dual *dual, uint32_t n, uint32_t v,
                            const uint32_t *choice) {
  const eg_shard_model *model = dual->model;
  const eg_shard_node *node = &model->nodes.data[n];
  double sum = dual->priced.data[node->values + v];
  EG_SHARD_EACH_HALF(model, n, half) {
    uint32_t other = eg_shard_other(model, half);
    const eg_shard_edge *edge = &model->edges.data[half >> 1];
    if (other > n)
      sum += model->message.data[edge->message[half & 1] + v];
    else
      sum +=
          ((half & 1) == 0 ? dual->flipped.data
                           : dual->table.data)[dual->table_at.data[half >> 1] +
                                               (size_t)choice[other] * node->count + v];
  }
  return sum;
}

/// Chooses, node after node, the cheapest value that fits into memory.
static void round_within(eg_shard_primal *primal, const eg_shard_dual *dual,
                         uint32_t *choice) {
  assert(dual->model == primal->model);
  const eg_shard_model *model = primal->model;
  double *cost = primal->load.data;
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    choice[n] = 0;
    if (node->count == 0) continue;
    for (uint32_t v = 0; v < node->count; v++)
      cost[v] = price_against(dual, n, v, choice);
    for (uint32_t tries = 0; tries < node->count; tries++) {
      uint32_t best = 0;
      for (uint32_t v = 1; v < node->count; v++)
        if (cost[v] < cost[best]) best = v;
      choice[n] = best;
      eg_shard_slack_value(&primal->slack, model, n, best, -1);
      if (eg_shard_slack_fits(&primal->slack)) break;
      eg_shard_slack_value(&primal->slack, model, n, best, 1);
      cost[best] = INFINITY;
    }
  }
}

egraph_status eg_shard_primal_round(eg_shard_primal *primal, const eg_shard_dual *dual) {
  EG_TRY(keep_choice(primal, dual->choice.data));
  if (primal->model->capacity.len == 0) return EGRAPH_OK;
  EG_TRY(eg_shard_slack_start(&primal->slack, primal->model));
  EG_TRY(eg_u32s_resize(&primal->block, primal->model->nodes.len));
  uint32_t widest = 1;
  for (uint32_t n = 0; n < primal->model->nodes.len; n++)
    if (primal->model->nodes.data[n].count > widest)
      widest = primal->model->nodes.data[n].count;
  EG_TRY(eg_doubles_resize(&primal->load, widest));
  round_within(primal, dual, primal->block.data);
  return keep_choice(primal, primal->block.data);
}

/// Moves memory prices along the tables' violation of limits; *out_moved: there was one.
static egraph_status steer_prices(eg_shard_primal *primal, bool *out_moved) {
  assert(!primal->tables.too_large);
  eg_shard_model *model = primal->model;
  size_t rows = model->capacity.len;
  *out_moved = false;
  EG_TRY(eg_u32s_resize(&primal->walk.choice, model->nodes.len));
  EG_TRY(eg_shard_elimination_trace(&primal->tables, primal->walk.choice.data));
  EG_TRY(eg_doubles_resize(&primal->load, rows + 1));
  double *load = primal->load.data, norm = 0;
  eg_shard_dual_load(model, primal->walk.choice.data, load);
  for (size_t r = 0; r < rows; r++) {
    if (load[r] < 0 && model->price.data[r] == 0) load[r] = 0;
    norm += load[r] * load[r];
  }
  double gap = (double)(model->cutoff - model->base) -
               ldexp((double)primal->tables.bound, -primal->tables.prices.scale);
  if (norm == 0 || gap <= 0) return EGRAPH_OK;
  for (size_t r = 0; r < rows; r++) {
    double price = model->price.data[r] + gap / norm * load[r];
    model->price.data[r] = price > 0 ? price : 0;
  }
  *out_moved = true;
  return EGRAPH_OK;
}

static egraph_status solve_priced(eg_shard_primal *primal, bool *out_better) {
  bool complete, moved = true;
  for (int step = 0; step <= PRICE_STEPS && moved; step++) {
    EG_TRY(eg_shard_elimination_run(&primal->tables));
    if (primal->tables.too_large) return EGRAPH_OK;
    EG_TRY(eg_shard_enumerate(&primal->walk, &primal->tables, primal->search, VISITS,
                              out_better, &complete));
    if (complete || *out_better || eg_shard_search_stop(primal->search)) return EGRAPH_OK;
    EG_TRY(steer_prices(primal, &moved));
  }
  return EGRAPH_OK;
}

/// Finds the best choice of allowed values (*out_better: it is a new best); fixes nodes
/// whose tables are too large to the best choice.
static egraph_status solve_allowed(eg_shard_primal *primal, size_t cap,
                                   bool *out_better) {
  assert(primal->cost < EG_SHARD_INFINITE);
  eg_shard_model *model = primal->model;
  int64_t cutoff = model->cutoff;
  *out_better = false;
  primal->kept_price.len = 0;
  EG_TRY(eg_doubles_append(&primal->kept_price, model->price.data, model->price.len));
  uint64_t before = primal->tables.work;
  model->cutoff = primal->cost;
  egraph_status status = eg_shard_elimination_order(
      &primal->tables, model, primal->allowed.data, primal->best.data, cap, 40 * cap);
  if (status == EGRAPH_OK) status = solve_priced(primal, out_better);
  if (*out_better) {
    primal->cost = model->cutoff;
    memcpy(primal->best.data, primal->walk.found.data,
           primal->best.len * sizeof *primal->best.data);
  }
  model->cutoff = cutoff;
  for (size_t r = 0; r < model->price.len; r++)
    model->price.data[r] = primal->kept_price.data[r];
  before = primal->tables.work - before + 4 * model->edges.len + 4 * model->nodes.len;
  primal->work += before;
  eg_shard_search_work(primal->search, before);
  return status;
}

static void allow_best(eg_shard_primal *primal) {
  const eg_shard_model *model = primal->model;
  if (primal->allowed.len != 0) memset(primal->allowed.data, 0, primal->allowed.len);
  for (uint32_t n = 0; n < model->nodes.len; n++)
    if (model->nodes.data[n].count != 0)
      primal->allowed.data[model->nodes.data[n].values + primal->best.data[n]] = 1;
}

/// Allows the values of recent choices, and a random sample of values with a low
/// min-marginal. A value is the more likely the smaller (its excess over the least
/// min-marginal) / (gap) is.
static void allow_near(eg_shard_primal *primal, const eg_shard_dual *dual, double share) {
  assert(dual->model == primal->model);
  const eg_shard_model *model = primal->model;
  eg_rng *rng = &primal->search->rng;
  double scale =
      share * fabs((double)primal->cost - dual->bound) / (double)model->nodes.len;
  uint32_t count = (uint32_t)model->nodes.len;
  uint32_t first = (uint32_t)eg_rng_below(rng, count), most = EG_SHARD_MOST_VARIABLES;
  for (uint32_t i = 0; i < count && i < most; i++) {
    uint32_t n = (first + i) % count;
    const eg_shard_node *node = &model->nodes.data[n];
    if (node->count < 2) continue;
    const double *unary = dual->unary.data + node->values;
    double least = unary[dual->least.data[n]];
    for (uint32_t p = 0; p < primal->pool_count; p++)
      if (eg_rng_below(rng, 2) == 0)
        primal->allowed.data[node->values + primal->pool.data[p * count + n]] = 1;
    for (uint32_t v = 0; v < node->count; v++)
      if (unary[v] - least <= -scale * log(1 - eg_rng_unit(rng)))
        primal->allowed.data[node->values + v] = 1;
  }
}

enum { BLOCK_ARMS = 12 };
static const uint32_t block_sizes[BLOCK_ARMS / 2] = {6, 15, 40, 100, 300, 1000};
static const double shares[EG_SHARD_ARMS - BLOCK_ARMS] = {0, 0.1, 0.3, 1, 3, 10};

/// Collects nodes around a random node: nearest first, or consecutive in number.
static egraph_status find_block(eg_shard_primal *primal, uint32_t size, bool near) {
  assert(size != 0);
  const eg_shard_model *model = primal->model;
  eg_rng *rng = &primal->search->rng;
  uint32_t count = (uint32_t)model->nodes.len;
  uint32_t start = (uint32_t)eg_rng_below(rng, count);
  primal->block.len = 0;
  for (uint32_t i = 0; i < count && model->nodes.data[start].count == 0; i++)
    start = (start + 1) % count;
  memset(primal->in_block.data, 0, count);
  EG_TRY(eg_u32s_push(&primal->block, start));
  primal->in_block.data[start] = 1;
  if (!near)
    for (uint32_t n = start + 1; n < count && primal->block.len < size; n++)
      if (model->nodes.data[n].count != 0) EG_TRY(eg_u32s_push(&primal->block, n));
  for (size_t i = 0; near && i < primal->block.len && primal->block.len < size; i++) {
    uint32_t n = primal->block.data[i];
    bool picky = model->nodes.data[n].degree > size;
    EG_SHARD_EACH_HALF(model, n, half) {
      uint32_t other = eg_shard_other(model, half);
      if (primal->in_block.data[other] || primal->block.len >= size) continue;
      if (picky && eg_rng_below(rng, model->nodes.data[n].degree) >= size) continue;
      primal->in_block.data[other] = 1;
      EG_TRY(eg_u32s_push(&primal->block, other));
    }
  }
  return EGRAPH_OK;
}

uint32_t eg_shard_arm_choose(const eg_shard_arm *arms, uint32_t count, double optimism,
                             double least_effort, eg_rng *rng) {
  assert(count != 0);
  uint32_t best = 0;
  double most = -1, total = 0;
  if (eg_rng_below(rng, 4) == 0) return (uint32_t)eg_rng_below(rng, count);
  for (uint32_t a = 0; a < count; a++)
    total += arms[a].reward;
  for (uint32_t a = 0; a < count; a++) {
    double rate =
        (arms[a].reward + optimism * total + 1) / (arms[a].effort + least_effort);
    if (rate > most) {
      most = rate;
      best = a;
    }
  }
  return best;
}

egraph_status eg_shard_primal_improve(eg_shard_primal *primal, const eg_shard_dual *dual,
                                      bool *out_better) {
  *out_better = false;
  primal->work++;
  if (primal->cost >= EG_SHARD_INFINITE || primal->model->nodes.len == 0)
    return EGRAPH_OK;
  uint32_t arm =
      eg_shard_arm_choose(primal->arms, EG_SHARD_ARMS, 1e-3, 1, &primal->search->rng);
  int64_t cost = primal->cost;
  uint64_t work = primal->work;
  allow_best(primal);
  if (arm < BLOCK_ARMS) {
    EG_TRY(find_block(primal, block_sizes[arm / 2], arm % 2 == 0));
    for (size_t i = 0; i < primal->block.len; i++) {
      const eg_shard_node *node = &primal->model->nodes.data[primal->block.data[i]];
      if (node->count != 0) memset(primal->allowed.data + node->values, 1, node->count);
    }
  } else {
    allow_near(primal, dual, shares[arm - BLOCK_ARMS]);
  }
  EG_TRY(solve_allowed(primal, arm < BLOCK_ARMS ? BLOCK_CAP : POOL_CAP, out_better));
  eg_shard_arm_credit(&primal->arms[arm], 0.95, (double)(cost - primal->cost),
                      (double)(primal->work - work));
  return EGRAPH_OK;
}
