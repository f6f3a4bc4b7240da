// The certificate checks a choice before it becomes the best one, so that no error of a
// reduction or search can introduce a wrong cost.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_search.h"

#include "base/clock.h"
#include "extract/shard/shard_proof.h"

void eg_shard_search_init(eg_shard_search *search, egraph_allocator alloc,
                          const eg_shard_problem *problem,
                          const eg_shard_options *options) {
  *search = (eg_shard_search){
      .alloc = alloc,
      .problem = problem,
      .options = options,
      .cost = EG_SHARD_INFINITE,
      .work = {0, options->work_limit == 0 ? EG_WORK_UNLIMITED : options->work_limit},
      .start_seconds = eg_clock_seconds(),
      .progress_seconds = -1,
      .rng = {eg_hash_combine(0x5eed, options->seed)}};
  eg_shard_search_init_members(search, alloc);
}

double eg_shard_search_seconds(const eg_shard_search *search) {
  return eg_clock_seconds() - search->start_seconds;
}

/// Keeps a choice of the problem when it fits into memory and is cheaper than the best.
static egraph_status take_choice(eg_shard_search *search, const uint32_t *choice,
                                 int64_t *out_cost) {
  assert(search->problem != NULL);
  int64_t peak;
  EG_TRY(eg_shard_certify(search->alloc, search->problem, choice, out_cost, &peak));
  if (*out_cost >= search->cost) return EGRAPH_OK;
  if (peak > search->problem->limit) {
    *out_cost = EG_SHARD_INFINITE;
    return EGRAPH_OK;
  }
  search->choice.len = 0;
  EG_TRY(eg_u32s_append(&search->choice, choice, eg_shard_node_count(search->problem)));
  search->cost = *out_cost;
  search->peak = peak;
  search->best_seconds = eg_shard_search_seconds(search);
  return EGRAPH_OK;
}

static egraph_status take_of_block(eg_shard_search *search, int64_t *out_cost) {
  assert(search->problem == NULL);
  bool fits;
  EG_TRY(
      eg_shard_model_evaluate(&search->core, search->core_choice.data, out_cost, &fits));
  if (!fits) *out_cost = EG_SHARD_INFINITE;
  if (*out_cost < search->cost) search->cost = *out_cost;
  return EGRAPH_OK;
}

static bool is_in_range(const eg_shard_problem *problem, const uint32_t *choice) {
  for (uint32_t n = 0; n < eg_shard_node_count(problem); n++)
    if (choice[n] >=
        problem->strategy_begin.data[n + 1] - problem->strategy_begin.data[n])
      return false;
  return true;
}

egraph_status eg_shard_search_begin_block(eg_shard_search *search,
                                          const eg_shard_search *whole,
                                          const uint32_t *choice, int64_t cost,
                                          uint64_t limit) {
  search->core_choice.len = 0;
  EG_TRY(eg_u32s_append(&search->core_choice, choice, search->core.nodes.len));
  search->cost = cost;
  search->bound = 0;
  search->work = (eg_work){0, limit};
  search->stopped = whole->stopped;
  search->disabled = whole->disabled;
  search->tiny = whole->tiny;
  search->start_seconds = whole->start_seconds;
  return EGRAPH_OK;
}

egraph_status eg_shard_search_start(eg_shard_search *search) {
  assert(search->problem != NULL);
  const uint32_t *incumbent = search->options->incumbent;
  int64_t cost;
  if (incumbent != NULL && is_in_range(search->problem, incumbent))
    EG_TRY(take_choice(search, incumbent, &cost));
  // A proof of infeasibility needs an initial cost above the costs of all choices.
  if (search->proof != NULL && search->cost >= EG_SHARD_INFINITE)
    search->cost = eg_shard_proof_most(search->problem) + 1;
  EG_TRY(eg_shard_model_build(&search->whole, search->problem));
  search->whole.cutoff = search->cost;
  search->whole.proof = search->proof;
  search->whole.deadline = search->start_seconds + search->options->time_limit_seconds;
  EG_TRY(eg_shard_reduce(&search->whole, search->disabled));
  eg_shard_search_work(search, search->whole.work + 4 * search->problem->table.len +
                                   100 * (uint64_t)eg_shard_node_count(search->problem));
  EG_TRY(eg_shard_model_copy(&search->core, &search->whole, &search->old_node));
  if (search->proof != NULL) {
    search->core.range = search->cost - search->core.base;
    search->proof->whole = &search->whole;
    search->proof->old_node = search->old_node.data;
  }
  EG_TRY(eg_u32s_resize(&search->lifted, search->whole.nodes.len));
  EG_TRY(eg_u32s_resize(&search->core_choice, search->core.nodes.len));
  return eg_shard_search_raise(search,
                               search->core.closed ? search->cost : search->core.base);
}

static void lift_choice(eg_shard_search *search, const eg_shard_model *model,
                        const uint32_t *choice) {
  assert(model->nodes.len == search->core.nodes.len);
  uint32_t *core = search->core_choice.data;
  if (model->nodes.len != 0) memcpy(core, choice, model->nodes.len * sizeof *choice);
  eg_shard_model_lift(model, core);
  if (search->problem == NULL) return;
  for (uint32_t i = 0; i < search->core.nodes.len; i++)
    search->lifted.data[search->old_node.data[i]] = core[i];
  eg_shard_model_lift(&search->whole, search->lifted.data);
}

egraph_status eg_shard_search_offer(eg_shard_search *search, eg_shard_model *model,
                                    const uint32_t *choice, bool *out_better) {
  int64_t cost, certified;
  bool fits;
  *out_better = false;
  EG_TRY(eg_shard_model_evaluate(model, choice, &cost, &fits));
  if (!fits || cost >= search->cost) return EGRAPH_OK;
  lift_choice(search, model, choice);
  if (search->problem == NULL)
    EG_TRY(take_of_block(search, &certified));
  else
    EG_TRY(take_choice(search, search->lifted.data, &certified));
  if (certified != cost)
    return EG_FAIL(EGRAPH_E_INTERNAL, "a choice of cost %lld costs %lld", (long long)cost,
                   (long long)certified);
  *out_better = true;
  return EGRAPH_OK;
}

egraph_status eg_shard_search_raise(eg_shard_search *search, int64_t bound) {
  if (bound > search->cost)
    return EG_FAIL(EGRAPH_E_INTERNAL,
                   "sharding: the lower bound %lld is above the cost %lld of a choice; "
                   "please report this with the input",
                   (long long)bound, (long long)search->cost);
  if (bound > search->bound) search->bound = bound;
  return EGRAPH_OK;
}

bool eg_shard_search_stop(eg_shard_search *search) {
  // With a proof the search continues after bound and cost have met: the proof must still
  // record how each model is closed.
  if (search->stopped) return true;
  if (search->proof == NULL && search->bound >= search->cost) return true;
  if (eg_work_is_spent(&search->work)) search->stopped = true;
  double seconds = eg_shard_search_seconds(search);
  if (seconds >= search->options->time_limit_seconds) search->stopped = true;
  if (search->problem == NULL) return search->stopped;
  if (search->options->progress != NULL && seconds - search->progress_seconds >= 0.1) {
    search->progress_seconds = seconds;
    if (search->options->progress(search->options->user, search->cost, search->bound,
                                  seconds))
      search->stopped = true;
  }
  return search->stopped;
}
