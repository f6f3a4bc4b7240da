// A round is worth another one when values went or the bound closed a good part of the
// gap. Prices and messages survive the reductions, so that a round starts where the last
// one ended.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_tighten.h"

#include <math.h>

#include "extract/shard/shard_edit.h"
#include "extract/shard/shard_reduce.h"

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
