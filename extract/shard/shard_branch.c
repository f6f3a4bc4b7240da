// Depth first, so that few models are held. The node to split: where the values in the
// dearer half of its min-marginals are far above the cheapest, so that this half closes
// early, and many.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_branch.h"

#include <math.h>
#include <stdlib.h>

#include "extract/shard/shard_model.h"
#include "extract/shard/shard_proof.h"
#include "extract/shard/shard_reduce.h"

// ---- one model --------------------------------------------------------------------

// A round is worth another one when values went or the bound closed a good part of the
// gap. Prices and messages survive the reductions, so that a round starts where the last
// one ended.

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

// Polyak's target: the cost to be proved, or a little above what is known.
static double find_target(const eg_shard_tools *tools) {
  const eg_shard_dual *dual = &tools->dual;
  int64_t cost = tools->search->cost;
  if (cost < EG_SHARD_INFINITE) return (double)cost;
  double best = dual->best_bound > dual->bound ? dual->best_bound : dual->bound;
  return best + 0.05 * fabs(best) + 1;
}

static void sweep(eg_shard_tools *tools) {
  uint64_t before = tools->dual.work;
  eg_shard_dual_sweep(&tools->dual);
  eg_shard_search_work(tools->search, tools->dual.work - before);
}

// Sweeps, then the best prices again, and what they prove.
static egraph_status run_dual(eg_shard_tools *tools, eg_shard_model *model,
                              const eg_shard_effort *effort, int64_t *inout_bound,
                              bool *out_changed) {
  eg_shard_dual *dual = &tools->dual;
  double step = dual->model == model ? dual->step : effort->root ? tools->step : 1;
  EG_TRY(eg_shard_dual_start(dual, model));
  dual->step = step;
  uint32_t rest = effort->sweeps / 4 + 4;
  for (uint32_t i = 0; i < effort->sweeps; i++) {
    sweep(tools);
    if (i % 8 == 7 || i == 0) EG_TRY(eg_shard_primal_round(&tools->primal, dual));
    if (i > rest && dual->stalled > rest) break;
    eg_shard_dual_reprice(dual, find_target(tools));
    if (eg_shard_search_stop(tools->search)) break;
  }
  if (effort->root) tools->step = dual->step;
  eg_shard_dual_return(dual);
  for (int i = 0; i < 3; i++)
    sweep(tools);
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

static egraph_status reduce(eg_shard_tools *tools, eg_shard_model *model) {
  model->cutoff = tools->search->cost;
  EG_TRY(eg_shard_primal_leave(&tools->primal));
  uint64_t before = model->work;
  EG_TRY(eg_shard_reduce(model, tools->search->disabled));
  eg_shard_search_work(tools->search, model->work - before);
  if (model->closed) return EGRAPH_OK;
  return eg_shard_primal_enter(&tools->primal, model, false);
}

static egraph_status finish(eg_shard_tools *tools, eg_shard_model *model,
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
    EG_TRY(reduce(tools, model));
    if (model->base > *inout_bound) *inout_bound = model->base;
    if (model->closed || eg_shard_search_stop(tools->search)) return EGRAPH_OK;
    size_t size = eg_shard_size_of(model);
    int64_t bound = *inout_bound, cost = tools->search->cost;
    bool changed = false;
    EG_TRY(run_dual(tools, model, effort, inout_bound, &changed));
    EG_TRY(reduce(tools, model));
    if (model->closed || eg_shard_search_stop(tools->search)) return EGRAPH_OK;
    double gap = (double)(tools->search->cost - bound);
    bool closer = (double)(*inout_bound - bound) > 0.05 * gap;
    bool cheaper = tools->search->cost < cost;
    bool smaller = (double)eg_shard_size_of(model) < 0.98 * (double)size;
    if (!closer && !cheaper && !smaller) break;
  }
  return effort->cap != 0 && model->proof == NULL ? finish(tools, model, effort)
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
  branch->open.len++; // freed with the rest, however far the copy gets
  egraph_status status = eg_shard_model_copy(&open->model, model, NULL);
  if (status == EGRAPH_OK) return EGRAPH_OK;
  branch->open.len--;
  eg_shard_model_deinit(&open->model);
  return status;
}

static int compare_doubles(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

// Least marginal of the dearer half, above the cheapest.
static double split_at(const double *unary, uint32_t count, eg_doubles *sorted) {
  sorted->len = 0;
  if (eg_doubles_append(sorted, unary, count) != EGRAPH_OK) return 0;
  qsort(sorted->data, count, sizeof *sorted->data, compare_doubles);
  return sorted->data[(count + 1) / 2] - sorted->data[0];
}

static uint32_t choose_node(const eg_shard_dual *dual, eg_doubles *sorted) {
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

// Flags the half of the values of n with the least marginals in model->keep.
static egraph_status flag_half(eg_shard_model *model, const eg_shard_dual *dual,
                               uint32_t n, bool cheap) {
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

// Closes a model of one choice in the proof: it exceeds memory, or costs what it costs.
static egraph_status prove_only(eg_shard_branch *branch, eg_shard_model *model) {
  bool changed;
  int64_t bound;
  model->cutoff = branch->tools->search->cost;
  for (size_t r = 0; r < model->price.len; r++)
    model->price.data[r] = 0;
  EG_TRY(eg_shard_proof_memory(model->proof));
  EG_TRY(eg_shard_bound_run(model, true, &bound, &changed));
  return eg_shard_proof_closed(model->proof);
}

// Every node has one value left.
static egraph_status offer_only(eg_shard_branch *branch, eg_shard_model *model) {
  eg_u32s choice;
  eg_u32s_init(&choice, model->alloc);
  bool better;
  egraph_status status = eg_u32s_resize(&choice, model->nodes.len);
  if (status == EGRAPH_OK)
    status = eg_shard_search_offer(branch->tools->search, model, choice.data, &better);
  eg_u32s_deinit(&choice);
  if (status != EGRAPH_OK || model->proof == NULL) return status;
  return prove_only(branch, model);
}

// The dual solution of the split needs the model as it was when the dual read it.
static egraph_status split(eg_shard_branch *branch, eg_shard_model *model,
                           int64_t bound) {
  eg_shard_dual *dual = &branch->tools->dual;
  eg_doubles sorted;
  eg_doubles_init(&sorted, model->alloc);
  EG_TRY(eg_shard_dual_start(dual, model));
  eg_shard_dual_sweep(dual);
  uint32_t n = choose_node(dual, &sorted);
  eg_doubles_deinit(&sorted);
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

egraph_status eg_shard_branch_step(eg_shard_branch *branch) {
  eg_shard_search *search = branch->tools->search;
  eg_shard_open node = branch->open.data[--branch->open.len];
  egraph_status status = EGRAPH_OK;
  if (node.bound < search->cost || node.model.proof != NULL) {
    status =
        eg_shard_tighten(branch->tools, &node.model,
                         search->tiny ? &tiny_effort : &effort_of_a_node, &node.bound);
    if (status == EGRAPH_OK && node.model.closed && node.model.proof != NULL)
      status = eg_shard_proof_closed(node.model.proof);
    else if (status == EGRAPH_OK && !node.model.closed && node.bound < search->cost)
      status = search->stopped ? eg_shard_branch_add(branch, &node.model, node.bound)
                               : split(branch, &node.model, node.bound);
  }
  branch->tools->dual.model = NULL;
  eg_shard_search_work(search, node.model.table.len);
  eg_shard_model_deinit(&node.model);
  if (status != EGRAPH_OK) return status;
  int64_t bound = search->cost;
  for (size_t i = 0; i < branch->open.len; i++)
    if (branch->open.data[i].bound < bound) bound = branch->open.data[i].bound;
  return eg_shard_search_raise(search, bound);
}
