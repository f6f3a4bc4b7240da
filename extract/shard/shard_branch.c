// Searches depth first, so that few models are in memory. It splits a node with many
// values and a large difference between the min-marginals of its dearer half and the
// cheapest value: the dearer half then closes early.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_branch.h"

#include <math.h>
#include <stdlib.h>

#include "base/owner.h"
#include "base/quantile.h"
#include "extract/shard/shard_model.h"
#include "extract/shard/shard_proof.h"

// ---- one model --------------------------------------------------------------------

// Repeats rounds while a round drops values, or closes much of the gap between bound and
// cost. Prices and messages survive the reductions, so a round continues the last one.

void eg_shard_tools_init(eg_shard_tools *tools, eg_shard_search *search) {
  *tools = (eg_shard_tools){.search = search, .step = 1};
  eg_shard_dual_init(&tools->dual, search->alloc);
  eg_shard_primal_init(&tools->primal, search);
  eg_shard_elimination_init(&tools->tables, search->alloc);
  eg_shard_enumeration_init(&tools->walk, search->alloc);
}

void eg_shard_tools_deinit(eg_shard_tools *tools) {
  eg_shard_enumeration_deinit(&tools->walk);
  eg_shard_elimination_deinit(&tools->tables);
  eg_shard_primal_deinit(&tools->primal);
  eg_shard_dual_deinit(&tools->dual);
}

size_t eg_shard_size_of(const eg_shard_model *model) {
  size_t size = 0;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    size += model->nodes.data[n].count;
  for (uint32_t e = 0; e < model->edges.len; e++)
    if (!eg_shard_is_dead(&model->edges.data[e]))
      size += (size_t)model->nodes.data[model->edges.data[e].ends[0]].count *
              model->nodes.data[model->edges.data[e].ends[1]].count;
  return size;
}

/// Returns Polyak's target: the cost to be proven, or a little above the best bound.
static double find_target(const eg_shard_tools *tools) {
  const eg_shard_dual *dual = &tools->dual;
  int64_t cost = tools->search->cost;
  if (cost < EG_SHARD_INFINITE) return (double)cost;
  double best = dual->best_bound > dual->bound ? dual->best_bound : dual->bound;
  return best + 0.05 * fabs(best) + 1;
}

static void sweep_dual(eg_shard_tools *tools) {
  uint64_t before = tools->dual.work;
  eg_shard_dual_sweep(&tools->dual);
  eg_shard_search_work(tools->search, tools->dual.work - before);
}

/// Passes messages, restores the best memory prices, computes the bound in integers.
static egraph_status run_dual(eg_shard_tools *tools, eg_shard_model *model,
                              const eg_shard_effort *effort, int64_t *inout_bound,
                              bool *out_changed) {
  eg_shard_dual *dual = &tools->dual;
  double step = dual->model == model ? dual->step : effort->root ? tools->step : 1;
  EG_TRY(eg_shard_dual_start(dual, model));
  dual->step = step;
  uint32_t rest = effort->sweeps / 4 + 4;
  for (uint32_t i = 0; i < effort->sweeps; i++) {
    sweep_dual(tools);
    if (i % 8 == 7 || i == 0) EG_TRY(eg_shard_primal_round(&tools->primal, dual));
    if (i > rest && dual->stalled > rest) break;
    eg_shard_dual_reprice(dual, find_target(tools));
    if (eg_shard_search_stop(tools->search)) break;
  }
  if (effort->root) tools->step = dual->step;
  eg_shard_dual_return(dual);
  for (int i = 0; i < 3; i++)
    sweep_dual(tools);
  EG_TRY(eg_shard_primal_round(&tools->primal, dual));
  model->cutoff = tools->search->cost;
  int64_t bound;
  bool filter = ((tools->search->disabled >> EG_SHARD_PASS_FILTER) & 1) == 0;
  EG_TRY(eg_shard_bound_run(model, filter, &bound, out_changed));
  if (bound > *inout_bound) *inout_bound = bound;
  eg_shard_search_work(tools->search, 2 * model->table.len + model->cost.len);
  if (effort->root) return eg_shard_search_raise(tools->search, bound);
  return EGRAPH_OK;
}

static egraph_status reduce_model(eg_shard_tools *tools, eg_shard_model *model) {
  model->cutoff = tools->search->cost;
  EG_TRY(eg_shard_primal_leave(&tools->primal));
  uint64_t before = model->work;
  EG_TRY(eg_shard_reduce(model, tools->search->disabled));
  eg_shard_search_work(tools->search, model->work - before);
  if (model->closed) return EGRAPH_OK;
  return eg_shard_primal_enter(&tools->primal, model, false);
}

static egraph_status finish_by_elimination(eg_shard_tools *tools, eg_shard_model *model,
                                           const eg_shard_effort *effort) {
  bool better, complete;
  eg_shard_elimination *tables = &tools->tables;
  bool tiny = tools->search->tiny;
  size_t cap = tiny ? 12 : effort->cap;
  uint64_t before = tables->work;
  EG_TRY(eg_shard_elimination_order(tables, model, NULL, NULL, cap, 16 * effort->cap));
  EG_TRY(eg_shard_elimination_run(tables));
  EG_TRY(eg_shard_enumerate(&tools->walk, tables, tools->search,
                            tiny ? 3 : effort->visits, &better, &complete));
  eg_shard_search_work(tools->search, tables->work - before);
  if (complete) model->closed = true;
  return EGRAPH_OK;
}

egraph_status eg_shard_tighten(eg_shard_tools *tools, eg_shard_model *model,
                               const eg_shard_effort *effort, int64_t *inout_bound) {
  EG_TRY(eg_shard_primal_enter(&tools->primal, model, true));
  tools->dual.model = NULL;
  for (uint32_t round = 0; round < effort->rounds; round++) {
    EG_TRY(reduce_model(tools, model));
    if (model->base > *inout_bound) *inout_bound = model->base;
    if (model->closed || eg_shard_search_stop(tools->search)) return EGRAPH_OK;
    size_t size = eg_shard_size_of(model);
    int64_t bound = *inout_bound, cost = tools->search->cost;
    bool changed = false;
    EG_TRY(run_dual(tools, model, effort, inout_bound, &changed));
    EG_TRY(reduce_model(tools, model));
    if (model->closed || eg_shard_search_stop(tools->search)) return EGRAPH_OK;
    double gap = (double)(tools->search->cost - bound);
    bool closer = (double)(*inout_bound - bound) > 0.05 * gap;
    bool cheaper = tools->search->cost < cost;
    bool smaller = (double)eg_shard_size_of(model) < 0.98 * (double)size;
    if (!closer && !cheaper && !smaller) break;
  }
  return effort->cap != 0 && model->proof == NULL
             ? finish_by_elimination(tools, model, effort)
             : EGRAPH_OK;
}

// ---- branching --------------------------------------------------------------------

static const eg_shard_effort effort_of_a_node = {40, 6, 200000, 20000, false};
static const eg_shard_effort tiny_effort = {1, 1, 12, 3, false};

void eg_shard_branch_init(eg_shard_branch *branch, eg_shard_tools *tools) {
  branch->tools = tools;
  eg_shard_opens_init(&branch->open, tools->search->alloc);
}

void eg_shard_branch_clear(eg_shard_branch *branch) {
  for (size_t i = 0; i < branch->open.len; i++)
    eg_shard_model_deinit(&branch->open.data[i].model);
  branch->open.len = 0;
}

void eg_shard_branch_deinit(eg_shard_branch *branch) {
  eg_shard_branch_clear(branch);
  eg_shard_opens_deinit(&branch->open);
}

egraph_status eg_shard_branch_add(eg_shard_branch *branch, const eg_shard_model *model,
                                  int64_t bound) {
  EG_TRY(eg_shard_opens_reserve(&branch->open, branch->open.len + 1));
  eg_shard_open *open = &branch->open.data[branch->open.len];
  eg_shard_model_init(&open->model, branch->tools->search->alloc);
  open->bound = bound;
  branch->open.len++; // the branch now frees it, even if the copy fails
  return eg_shard_model_copy(&open->model, model, NULL);
}

/// Returns (the least min-marginal in the dearer half of a node's values) - (the least).
static double split_at(const double *unary, uint32_t count, eg_doubles *sorted) {
  sorted->len = 0;
  if (eg_doubles_append(sorted, unary, count) != EGRAPH_OK) return 0;
  qsort(sorted->data, count, sizeof *sorted->data, eg_compare_doubles);
  return sorted->data[(count + 1) / 2] - sorted->data[0];
}

static uint32_t choose_node(const eg_shard_dual *dual, eg_doubles *sorted) {
  assert(dual->model != NULL);
  const eg_shard_model *model = dual->model;
  uint32_t best = EG_SHARD_NONE;
  double most = -1;
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    if (node->count < 2) continue;
    double rise = split_at(dual->unary.data + node->values, node->count, sorted);
    double score = (rise + 1) * log2(node->count) * (1 + node->degree);
    if (score > most) {
      most = score;
      best = n;
    }
  }
  return best;
}

/// Flags in model->keep the half of n's values with low (`cheap`) or high min-marginals.
static egraph_status flag_half(eg_shard_model *model, const eg_shard_dual *dual,
                               uint32_t n, bool cheap) {
  assert(n < model->nodes.len);
  uint32_t count = model->nodes.data[n].count;
  const double *unary = dual->unary.data + dual->model->nodes.data[n].values;
  EG_TRY(eg_bytes_resize(&model->keep, count));
  for (uint32_t v = 0; v < count; v++) {
    uint32_t rank = 0;
    for (uint32_t w = 0; w < count; w++)
      rank += unary[w] < unary[v] || (unary[w] == unary[v] && w < v);
    model->keep.data[v] = (rank < (count + 1) / 2) == cheap;
  }
  return EGRAPH_OK;
}

/// Records in the proof that a model's only choice does not fit or is not cheaper.
static egraph_status prove_only(eg_shard_branch *branch, eg_shard_model *model) {
  assert(model->proof != NULL);
  bool changed;
  int64_t bound;
  model->cutoff = branch->tools->search->cost;
  for (size_t r = 0; r < model->price.len; r++)
    model->price.data[r] = 0;
  EG_TRY(eg_shard_proof_memory(model->proof));
  EG_TRY(eg_shard_bound_run(model, true, &bound, &changed));
  return eg_shard_proof_closed(model->proof);
}

/// Offers the only choice of a model whose nodes have one value each.
static egraph_status offer_only(eg_shard_branch *branch, eg_shard_model *model) {
  EG_LOCAL(eg_u32s, choice, model->alloc);
  bool better;
  EG_TRY(eg_u32s_resize(&choice, model->nodes.len));
  EG_TRY(eg_shard_search_offer(branch->tools->search, model, choice.data, &better));
  return model->proof == NULL ? EGRAPH_OK : prove_only(branch, model);
}

/// Splits a model in two. The split uses the dual solution of the model before the split.
static egraph_status split_model(eg_shard_branch *branch, eg_shard_model *model,
                                 int64_t bound) {
  assert(!model->closed);
  eg_shard_dual *dual = &branch->tools->dual;
  EG_LOCAL(eg_doubles, sorted, model->alloc);
  EG_TRY(eg_shard_dual_start(dual, model));
  eg_shard_dual_sweep(dual);
  uint32_t n = choose_node(dual, &sorted);
  if (n == EG_SHARD_NONE) return offer_only(branch, model);
  for (int cheap = 0; cheap < 2; cheap++) {
    EG_TRY(eg_shard_branch_add(branch, model, bound));
    eg_shard_model *half = &branch->open.data[branch->open.len - 1].model;
    EG_TRY(flag_half(half, dual, n, cheap != 0));
    if (cheap != 0 && half->proof != NULL)
      EG_TRY(eg_shard_proof_branch(half->proof, half, n));
    EG_TRY(eg_shard_keep_values(half, n));
  }
  return EGRAPH_OK;
}

static egraph_status close_or_split(eg_shard_branch *branch, eg_shard_open *node) {
  eg_shard_search *search = branch->tools->search;
  if (node->bound >= search->cost && node->model.proof == NULL) return EGRAPH_OK;
  EG_TRY(eg_shard_tighten(branch->tools, &node->model,
                          search->tiny ? &tiny_effort : &effort_of_a_node, &node->bound));
  if (node->model.closed)
    return node->model.proof == NULL ? EGRAPH_OK
                                     : eg_shard_proof_closed(node->model.proof);
  if (node->bound >= search->cost) return EGRAPH_OK;
  return search->stopped ? eg_shard_branch_add(branch, &node->model, node->bound)
                         : split_model(branch, &node->model, node->bound);
}

egraph_status eg_shard_branch_step(eg_shard_branch *branch) {
  assert(branch->open.len != 0);
  eg_shard_search *search = branch->tools->search;
  eg_shard_open node = branch->open.data[--branch->open.len];
  egraph_status status = close_or_split(branch, &node);
  branch->tools->dual.model = NULL;
  eg_shard_search_work(search, node.model.table.len);
  eg_shard_model_deinit(&node.model);
  EG_TRY(status);
  int64_t bound = search->cost;
  for (size_t i = 0; i < branch->open.len; i++)
    if (branch->open.data[i].bound < bound) bound = branch->open.data[i].bound;
  return eg_shard_search_raise(search, bound);
}

// ---- blocks -------------------------------------------------------------------------
// A block consists of nodes around a seed in the graph; of nodes that share memory
// with the seed; of both; or of nodes spread over those whose choices exceed their
// share of the bound. The seed is drawn in proportion to this excess. A bandit chooses
// kind and size.

enum { BY_EDGES, BY_TIME, BY_BOTH, SPREAD };

static const uint32_t sizes[EG_SHARD_BLOCK_SIZES] = {12, 30, 80, 200, 500, 1200};
static const eg_shard_effort effort_of_a_block = {24, 4, 100000, 3000, true};
#define STEPS_PER_NODE 320000 // steps per node of a block

#define SHARD_BLOCK_MEMBERS                                                              \
  (eg_shard_model, root), (eg_u32s, choice, nodes, place, values, scratch),              \
      (eg_i64s, left), (eg_doubles, part)

void eg_shard_block_init(eg_shard_block *block, eg_shard_search *whole) {
  egraph_allocator alloc = whole->alloc;
  *block = (eg_shard_block){.whole = whole, .cost = EG_SHARD_INFINITE};
  block->options = *whole->options;
  block->options.progress = NULL;
  eg_shard_search_init(&block->search, alloc, NULL, &block->options);
  eg_shard_tools_init(&block->tools, &block->search);
  eg_shard_branch_init(&block->branch, &block->tools);
  EG_INIT_MEMBERS(block, alloc, SHARD_BLOCK_MEMBERS);
}

void eg_shard_block_deinit(eg_shard_block *block) {
  EG_DEINIT_MEMBERS(block, SHARD_BLOCK_MEMBERS);
  eg_shard_branch_deinit(&block->branch);
  eg_shard_tools_deinit(&block->tools);
  eg_shard_search_deinit(&block->search);
}

static void load_value(eg_shard_block *block, uint32_t n, uint32_t value, int64_t sign) {
  assert(value < block->model->nodes.data[n].count);
  const eg_shard_model *model = block->model;
  EG_SHARD_EACH_ITEM(model, n, item) {
    int64_t usage = sign * model->usage.data[item->usage + value];
    for (uint32_t r = item->first; usage != 0 && r < item->last; r++)
      block->left.data[r] -= usage;
  }
}

/// Returns how much the value chosen for node n costs above the cheapest choice under
/// prices and messages, plus half of this excess for each of its edges.
static double excess_of_node(const eg_shard_block *block, const eg_shard_dual *dual,
                             uint32_t n) {
  const eg_shard_model *model = block->model;
  const eg_shard_node *node = &model->nodes.data[n];
  uint32_t v = block->choice.data[n];
  const double *unary = dual->unary.data + node->values;
  double sum = unary[v] - unary[dual->least.data[n]];
  EG_SHARD_EACH_HALF(model, n, half) {
    const eg_shard_edge *edge = &model->edges.data[half >> 1];
    uint32_t other = eg_shard_other(model, half);
    eg_shard_view view = eg_shard_view_of(model, half);
    uint32_t w = block->choice.data[other];
    double entry = (double)view.data[v * view.own_stride + w * view.other_stride];
    sum += 0.5 * (entry - model->message.data[edge->message[half & 1] + v] -
                  model->message.data[edge->message[~half & 1] + w]);
  }
  return sum > 0 ? sum : 0;
}

egraph_status eg_shard_block_enter(eg_shard_block *block, eg_shard_model *model,
                                   const uint32_t *choice, int64_t cost,
                                   const eg_shard_dual *dual) {
  size_t nodes = model->nodes.len;
  block->model = model;
  block->cost = cost;
  block->choice.len = block->left.len = 0;
  EG_TRY(eg_u32s_append(&block->choice, choice, nodes));
  EG_TRY(eg_i64s_append(&block->left, model->capacity.data, model->capacity.len));
  EG_TRY(eg_doubles_resize(&block->part, nodes + 1));
  EG_TRY(eg_fill_none(&block->place, nodes));
  double sum = 0;
  for (uint32_t n = 0; n < nodes; n++) {
    block->part.data[n] = sum;
    if (model->nodes.data[n].count == 0) continue;
    load_value(block, n, choice[n], 1);
    if (model->nodes.data[n].count > 1)
      sum += dual == NULL ? 1
                          : excess_of_node(block, dual, n) +
                                fabs((double)cost - dual->bound) * 0.1 / (double)nodes;
  }
  block->part.data[nodes] = sum;
  eg_shard_search_work(block->whole, model->edges.len + model->items.len);
  return EGRAPH_OK;
}

static uint32_t draw_node(eg_shard_block *block) {
  assert(block->part.len == block->model->nodes.len + 1);
  size_t low = 0, high = block->model->nodes.len;
  double at = eg_rng_unit(&block->whole->rng) * block->part.data[high];
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (block->part.data[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return (uint32_t)low;
}

static egraph_status take_node(eg_shard_block *block, uint32_t n) {
  if (block->place.data[n] != EG_SHARD_NONE || block->model->nodes.data[n].count < 2)
    return EGRAPH_OK;
  block->place.data[n] = (uint32_t)block->nodes.len;
  return eg_u32s_push(&block->nodes, n);
}

/// Adds neighbours of block nodes from index `from` on, until the block has `size` nodes.
static egraph_status grow_by_edges(eg_shard_block *block, size_t from, uint32_t size) {
  const eg_shard_model *model = block->model;
  eg_rng *rng = &block->whole->rng;
  for (size_t i = from; i < block->nodes.len && block->nodes.len < size; i++) {
    uint32_t n = block->nodes.data[i];
    bool picky = model->nodes.data[n].degree > size;
    EG_SHARD_EACH_HALF(model, n, half) {
      if (picky && eg_rng_below(rng, model->nodes.data[n].degree) >= size) continue;
      if (block->nodes.len < size) EG_TRY(take_node(block, eg_shard_other(model, half)));
    }
  }
  return EGRAPH_OK;
}

/// Returns the memory row with the least free memory among a few random rows of the node.
static uint32_t tight_row(eg_shard_block *block, uint32_t n) {
  const eg_shard_model *model = block->model;
  uint32_t best = EG_SHARD_NONE;
  EG_SHARD_EACH_ITEM(model, n, item) {
    for (int tries = 0; tries < 3 && item->first < item->last; tries++) {
      uint32_t r = item->first +
                   (uint32_t)eg_rng_below(&block->whole->rng, item->last - item->first);
      if (best == EG_SHARD_NONE || block->left.data[r] < block->left.data[best]) best = r;
    }
  }
  return best;
}

/// Adds to the block random nodes that use memory in `row`; all have the same chance.
static egraph_status grow_by_time(eg_shard_block *block, uint32_t row, uint32_t size) {
  const eg_shard_model *model = block->model;
  eg_u32s *alive = &block->scratch;
  alive->len = 0;
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    if (model->nodes.data[n].count < 2) continue;
    for (uint32_t i = model->nodes.data[n].item; i != EG_SHARD_NONE;
         i = model->items.data[i].next)
      if (model->items.data[i].first <= row && row < model->items.data[i].last) {
        EG_TRY(eg_u32s_push(alive, n));
        break;
      }
  }
  eg_shard_search_work(block->whole, model->items.len);
  for (size_t left = alive->len; left != 0 && block->nodes.len < size; left--) {
    size_t pick = eg_rng_below(&block->whole->rng, left);
    EG_TRY(take_node(block, alive->data[pick]));
    alive->data[pick] = alive->data[left - 1];
  }
  return EGRAPH_OK;
}

static egraph_status choose_nodes(eg_shard_block *block, uint32_t kind, uint32_t size) {
  assert(kind < EG_SHARD_BLOCK_KINDS && size != 0);
  for (size_t i = 0; i < block->nodes.len; i++)
    block->place.data[block->nodes.data[i]] = EG_SHARD_NONE;
  block->nodes.len = 0;
  uint32_t seed = draw_node(block);
  EG_TRY(take_node(block, seed));
  if (kind == BY_EDGES) return grow_by_edges(block, 0, size);
  if (kind == SPREAD) {
    for (uint32_t i = 0; i < 4 * size && block->nodes.len < size / 4; i++)
      EG_TRY(take_node(block, draw_node(block)));
    return grow_by_edges(block, 0, size);
  }
  if (kind == BY_BOTH) EG_TRY(grow_by_edges(block, 0, size / 3 + 1));
  uint32_t row = tight_row(block, seed);
  if (row == EG_SHARD_NONE) return grow_by_edges(block, 0, size);
  EG_TRY(grow_by_time(block, row, kind == BY_TIME ? size / 2 + 1 : 2 * size / 3 + 1));
  return grow_by_edges(block, 0, size);
}

static egraph_status add_block_node(eg_shard_block *block, uint32_t n) {
  assert(block->place.data[n] != EG_SHARD_NONE);
  const eg_shard_model *model = block->model;
  eg_shard_model *to = &block->search.core;
  const eg_shard_node *old = &model->nodes.data[n];
  eg_shard_node node = {.count = old->count,
                        .half = EG_SHARD_NONE,
                        .item = EG_SHARD_NONE,
                        .values = to->cost.len};
  for (uint32_t v = 0; v < old->count; v++) {
    int64_t cost = model->cost.data[old->values + v];
    EG_SHARD_EACH_HALF(model, n, half) {
      uint32_t other = eg_shard_other(model, half);
      if (block->place.data[other] != EG_SHARD_NONE) continue;
      eg_shard_view view = eg_shard_view_of(model, half);
      cost = eg_shard_sum(
          cost,
          view.data[v * view.own_stride + block->choice.data[other] * view.other_stride]);
    }
    EG_TRY(eg_i64s_push(&to->cost, cost));
    EG_TRY(eg_u32s_push(&to->id, v));
  }
  EG_TRY(eg_shard_model_copy_items(to, model, n, &node));
  EG_TRY(eg_u32s_push(&to->ids, old->count));
  return eg_shard_nodes_push(&to->nodes, node);
}

static egraph_status add_edges(eg_shard_block *block, uint32_t n) {
  const eg_shard_model *model = block->model;
  EG_SHARD_EACH_HALF(model, n, half) {
    const eg_shard_edge *old = &model->edges.data[half >> 1];
    if ((half & 1) == 0 && block->place.data[old->ends[1]] != EG_SHARD_NONE)
      EG_TRY(
          eg_shard_model_copy_edge(&block->search.core, model, old, block->place.data));
  }
  return EGRAPH_OK;
}

/// Builds a model of the block's nodes, with the memory that all other nodes leave.
static egraph_status build_block(eg_shard_block *block) {
  eg_shard_model *core = &block->search.core;
  const eg_shard_model *model = block->model;
  eg_shard_model_clear(core);
  block->values.len = 0;
  for (size_t i = 0; i < block->nodes.len; i++) {
    uint32_t n = block->nodes.data[i];
    load_value(block, n, block->choice.data[n], -1);
    EG_TRY(eg_u32s_push(&block->values, block->choice.data[n]));
    EG_TRY(add_block_node(block, n));
  }
  for (size_t i = 0; i < block->nodes.len; i++)
    EG_TRY(add_edges(block, block->nodes.data[i]));
  EG_TRY(eg_i64s_append(&core->capacity, block->left.data, block->left.len));
  EG_TRY(eg_i64s_append(&core->row_time, model->row_time.data, model->row_time.len));
  EG_TRY(eg_doubles_append(&core->price, model->price.data, model->price.len));
  core->base = 0;
  core->closed = false;
  EG_TRY(eg_shard_model_size_marks(core));
  for (uint32_t n = 0; n < core->nodes.len; n++)
    EG_TRY(eg_shard_touch(core, n));
  return EGRAPH_OK;
}

/// Solves the block: tightens its model, and branches while subproblems are open.
static egraph_status solve_block(eg_shard_block *block) {
  eg_shard_model *root = &block->root;
  eg_shard_search *search = &block->search;
  int64_t bound = 0;
  EG_TRY(eg_shard_model_copy(root, &search->core, NULL));
  root->cutoff = search->cost;
  block->tools.step = 1;
  EG_TRY(eg_shard_tighten(&block->tools, root, &effort_of_a_block, &bound));
  if (!root->closed && !eg_shard_search_stop(search)) {
    EG_TRY(eg_shard_branch_add(&block->branch, root, bound));
    while (block->branch.open.len != 0 && !eg_shard_search_stop(search))
      EG_TRY(eg_shard_branch_step(&block->branch));
  }
  eg_shard_branch_clear(&block->branch);
  return EGRAPH_OK;
}

static egraph_status adopt_block(eg_shard_block *block, int64_t before) {
  assert(block->search.cost <= before);
  const uint32_t *found = block->search.core_choice.data;
  for (size_t i = 0; i < block->nodes.len; i++)
    block->choice.data[block->nodes.data[i]] = found[i];
  block->cost -= before - block->search.cost;
  bool better;
  EG_TRY(eg_shard_search_offer(block->whole, (eg_shard_model *)block->model,
                               block->choice.data, &better));
  if (!better && block->cost < block->whole->cost)
    return EG_FAIL(EGRAPH_E_INTERNAL, "a block of cost %lld does not fit",
                   (long long)block->cost);
  return EGRAPH_OK;
}

egraph_status eg_shard_block_improve(eg_shard_block *block, bool *out_better) {
  uint32_t arm = eg_shard_arm_choose(block->arms, EG_SHARD_BLOCK_ARMS, 1e-2, 1e6,
                                     &block->whole->rng);
  uint32_t size = sizes[arm % EG_SHARD_BLOCK_SIZES];
  *out_better = false;
  eg_shard_search_work(block->whole, 1000);
  if (block->part.data[block->model->nodes.len] <= 0) return EGRAPH_OK;
  EG_TRY(choose_nodes(block, arm / EG_SHARD_BLOCK_SIZES, size));
  EG_TRY(build_block(block));
  int64_t before;
  bool fits;
  EG_TRY(
      eg_shard_model_evaluate(&block->search.core, block->values.data, &before, &fits));
  EG_TRY(eg_shard_search_begin_block(&block->search, block->whole, block->values.data,
                                     before, (uint64_t)size * STEPS_PER_NODE));
  EG_TRY(solve_block(block));
  eg_shard_search_work(block->whole, block->search.core.table.len);
  uint64_t work = block->search.work.done + block->search.core.table.len;
  eg_work_add(&block->whole->work, block->search.work.done);
  *out_better = block->search.cost < before;
  if (*out_better) EG_TRY(adopt_block(block, before));
  for (size_t i = 0; i < block->nodes.len; i++) {
    uint32_t n = block->nodes.data[i];
    load_value(block, n, block->choice.data[n], 1);
  }
  eg_shard_arm_credit(&block->arms[arm], 0.97, (double)(before - block->search.cost),
                      (double)work);
  return EGRAPH_OK;
}
