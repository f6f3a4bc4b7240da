// Which nodes to take: around a node in the graph; around it among those that share
// memory with it; both; or spread over the nodes whose choices cost more than their share
// of the bound. The node to begin with is drawn by what its choice costs above the bound.
// Kind and size are a bandit's choice.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_block.h"

#include <math.h>

#include "base/owner.h"
#include "extract/shard/shard_model.h"

enum { BY_EDGES, BY_TIME, BY_BOTH, SPREAD };

static const uint32_t sizes[EG_SHARD_BLOCK_SIZES] = {12, 30, 80, 200, 500, 1200};
static const eg_shard_effort effort_of_a_block = {24, 4, 100000, 3000, true};
#define STEPS_PER_NODE 320000 // of a block

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

static void load(eg_shard_block *block, uint32_t n, uint32_t value, int64_t sign) {
  const eg_shard_model *model = block->model;
  EG_SHARD_EACH_ITEM(model, n, item) {
    int64_t usage = sign * model->usage.data[item->usage + value];
    for (uint32_t r = item->first; usage != 0 && r < item->last; r++)
      block->left.data[r] -= usage;
  }
}

// What the choice of n costs above the least under prices and messages; half of what its
// edges do.
static double excess(const eg_shard_block *block, const eg_shard_dual *dual, uint32_t n) {
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
    load(block, n, choice[n], 1);
    if (model->nodes.data[n].count > 1)
      sum += dual == NULL ? 1
                          : excess(block, dual, n) +
                                fabs((double)cost - dual->bound) * 0.1 / (double)nodes;
  }
  block->part.data[nodes] = sum;
  eg_shard_search_work(block->whole, model->edges.len + model->items.len);
  return EGRAPH_OK;
}

static uint32_t draw_node(eg_shard_block *block) {
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

// Neighbours of the block's nodes from `from` on, until there are `size`.
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

// A row of the node where little is left, the tightest of a few.
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

// Nodes that use memory in `row`, each with the same chance.
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

static egraph_status add_node(eg_shard_block *block, uint32_t n) {
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

// The block as a model, with what the others leave of the rows.
static egraph_status build(eg_shard_block *block) {
  eg_shard_model *core = &block->search.core;
  const eg_shard_model *model = block->model;
  eg_shard_model_clear(core);
  block->values.len = 0;
  for (size_t i = 0; i < block->nodes.len; i++) {
    uint32_t n = block->nodes.data[i];
    load(block, n, block->choice.data[n], -1);
    EG_TRY(eg_u32s_push(&block->values, block->choice.data[n]));
    EG_TRY(add_node(block, n));
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

// Tightens the block's model and branches on what is left.
static egraph_status solve(eg_shard_block *block) {
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

static egraph_status adopt(eg_shard_block *block, int64_t before) {
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
  EG_TRY(build(block));
  int64_t before;
  bool fits;
  EG_TRY(
      eg_shard_model_evaluate(&block->search.core, block->values.data, &before, &fits));
  EG_TRY(eg_shard_search_begin_block(&block->search, block->whole, block->values.data,
                                     before, (uint64_t)size * STEPS_PER_NODE));
  EG_TRY(solve(block));
  eg_shard_search_work(block->whole, block->search.core.table.len);
  uint64_t work = block->search.work.done + block->search.core.table.len;
  eg_work_add(&block->whole->work, block->search.work.done);
  *out_better = block->search.cost < before;
  if (*out_better) EG_TRY(adopt(block, before));
  for (size_t i = 0; i < block->nodes.len; i++) {
    uint32_t n = block->nodes.data[i];
    load(block, n, block->choice.data[n], 1);
  }
  eg_shard_arm_credit(&block->arms[arm], 0.97, (double)(before - block->search.cost),
                      (double)work);
  return EGRAPH_OK;
}
