// Order of work: reduce; message passing with filter on the whole; as long as that leaves
// something open, search for better choices and branch in turn (or go on with message
// passing where the model is too large to be copied), shares measured in work, not time,
// so that the course of events does not depend on the clock.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_solve.h"

#include "extract/shard/shard_branch.h"
#include "extract/shard/shard_run.h"

// Larger models are not branched on.
#define LARGE 300000

void eg_shard_result_init(eg_shard_result *result, egraph_allocator alloc) {
  *result = (eg_shard_result){.status = EG_EXTRACT_INFEASIBLE};
  eg_u32s_init(&result->choice, alloc);
}

void eg_shard_result_deinit(eg_shard_result *result) {
  egraph_allocator alloc = result->choice.alloc;
  eg_u32s_deinit(&result->choice);
  eg_shard_result_init(result, alloc);
}

// Partial solves worth `budget` of work, or a few.
static egraph_status improve(eg_shard_tools *tools, eg_shard_model *model,
                             uint64_t budget) {
  eg_shard_primal *primal = &tools->primal;
  EG_TRY(eg_shard_dual_start(&tools->dual, model));
  for (int i = 0; i < 3; i++)
    eg_shard_dual_sweep(&tools->dual);
  EG_TRY(eg_shard_primal_enter(primal, model, false));
  EG_TRY(eg_shard_primal_round(primal, &tools->dual));
  uint64_t start = primal->work;
  bool better;
  for (int i = 0;
       (primal->work - start < budget || i < 4) && !eg_shard_search_stop(tools->search) &&
       primal->cost < EG_SHARD_INFINITE;
       i++)
    EG_TRY(eg_shard_primal_improve(primal, &tools->dual, &better));
  tools->work += primal->work - start;
  tools->dual.model = NULL;
  return eg_shard_primal_leave(primal);
}

static egraph_status go_on(eg_shard_tools *tools, eg_shard_branch *branch,
                           eg_shard_model *root, int64_t bound) {
  static const eg_shard_effort more = {40, 1, 0, 0, true};
  eg_shard_search *search = tools->search;
  bool large = eg_shard_size_of(root) > LARGE;
  uint64_t share = search->tiny ? 1000 : 20000000;
  if (!large) EG_TRY(eg_shard_branch_add(branch, root, bound));
  while (!eg_shard_search_stop(search)) {
    uint64_t start = tools->work;
    if (large) {
      EG_TRY(eg_shard_tighten(tools, root, &more, &bound));
      eg_shard_search_raise(search, root->closed ? search->cost : bound);
      large = eg_shard_size_of(root) > LARGE;
      if (!large && !root->closed) EG_TRY(eg_shard_branch_add(branch, root, bound));
    }
    while (!large && branch->open.len != 0 && tools->work - start < share &&
           !eg_shard_search_stop(search))
      EG_TRY(eg_shard_branch_step(branch));
    if (eg_shard_search_stop(search)) return EGRAPH_OK;
    if (!large && branch->open.len == 0) break;
    EG_TRY(improve(tools, root, (tools->work - start) / (large ? 1 : 4)));
  }
  return EGRAPH_OK;
}

static egraph_status work(eg_shard_tools *tools, eg_shard_branch *branch,
                          eg_shard_model *root) {
  static const eg_shard_effort first = {120, 40, 500000, 100000, true};
  eg_shard_search *search = tools->search;
  EG_TRY(eg_shard_model_copy(root, &search->core, NULL));
  int64_t bound = search->bound;
  if (!root->closed) EG_TRY(eg_shard_tighten(tools, root, &first, &bound));
  eg_shard_search_raise(search, root->closed ? search->cost : bound);
  if (root->closed || eg_shard_search_stop(search)) return EGRAPH_OK;
  return go_on(tools, branch, root, bound);
}

static egraph_status run(eg_shard_search *search) {
  EG_TRY(eg_shard_search_start(search));
  eg_shard_tools tools;
  eg_shard_branch branch;
  eg_shard_model root;
  eg_shard_tools_init(&tools, search);
  eg_shard_branch_init(&branch, &tools);
  eg_shard_model_init(&root, search->alloc);
  egraph_status status = work(&tools, &branch, &root);
  eg_shard_model_deinit(&root);
  eg_shard_branch_deinit(&branch);
  eg_shard_tools_deinit(&tools);
  return status;
}

static egraph_status report(eg_shard_search *search, eg_shard_result *result) {
  bool found = search->cost < EG_SHARD_INFINITE;
  bool closed = search->bound >= search->cost;
  result->status =
      closed ? found ? EG_EXTRACT_OPTIMAL : EG_EXTRACT_INFEASIBLE : EG_EXTRACT_FEASIBLE;
  result->cost = search->cost;
  result->bound = search->bound;
  result->peak = search->peak;
  result->gap = closed || search->cost == 0
                    ? 0
                    : (double)(search->cost - search->bound) / (double)search->cost;
  result->best_seconds = search->best_seconds;
  result->reduced_nodes = (uint32_t)search->core.nodes.len;
  result->reduced_strategies = (uint32_t)search->core.cost.len;
  result->choice.len = 0;
  EG_TRY(eg_u32s_append(&result->choice, search->choice.data, search->choice.len));
  result->seconds = eg_shard_search_seconds(search);
  return EGRAPH_OK;
}

egraph_status eg_shard_solve_without(egraph_allocator alloc,
                                     const eg_shard_problem *problem,
                                     const eg_shard_options *options, uint32_t disabled,
                                     bool tiny, eg_shard_result *result) {
  EG_TRY(eg_shard_problem_check(problem));
  eg_shard_search search;
  eg_shard_search_init(&search, alloc, problem, options);
  search.disabled = disabled;
  search.tiny = tiny;
  egraph_status status = run(&search);
  if (status == EGRAPH_OK) status = report(&search, result);
  eg_shard_search_deinit(&search);
  return status;
}

egraph_status eg_shard_solve(egraph_allocator alloc, const eg_shard_problem *problem,
                             const eg_shard_options *options, eg_shard_result *result) {
  return eg_shard_solve_without(alloc, problem, options, 0, false, result);
}
