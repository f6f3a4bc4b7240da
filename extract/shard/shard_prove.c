// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_prove.h"

#include "extract/shard/shard_proof.h"
#include "extract/shard/shard_reduce.h"

// Models with more entries get few filters, because each is written in full.
#define LARGE 300000

static egraph_status close_models(eg_shard_search *search, eg_shard_tools *tools,
                                  eg_shard_branch *branch, eg_shard_model *root,
                                  bool *out_complete) {
  static const eg_shard_effort small = {120, 40, 0, 0, true},
                               large = {250, 4, 0, 0, true};
  static const eg_shard_effort tiny = {1, 1, 0, 0, true}; // so that there are cases
  int64_t bound = 0;
  EG_TRY(eg_shard_model_copy(root, &search->core, NULL));
  bool is_large = eg_shard_size_of(root) > LARGE;
  if (!root->closed)
    EG_TRY(eg_shard_tighten(tools, root,
                            search->tiny ? &tiny
                            : is_large   ? &large
                                         : &small,
                            &bound));
  if (root->closed) {
    *out_complete = true;
    return eg_shard_proof_closed(search->proof);
  }
  if (is_large || search->stopped) return EGRAPH_OK;
  EG_TRY(eg_shard_branch_add(branch, root, bound));
  while (branch->open.len != 0 && !search->stopped) {
    EG_TRY(eg_shard_branch_step(branch));
    if (eg_work_is_spent(&search->work)) search->stopped = true;
  }
  *out_complete = branch->open.len == 0;
  return EGRAPH_OK;
}

static egraph_status close_all(eg_shard_search *search, bool *out_complete) {
  eg_shard_tools tools;
  eg_shard_branch branch;
  eg_shard_model root;
  EG_TRY(eg_shard_search_start(search));
  eg_shard_tools_init(&tools, search);
  eg_shard_branch_init(&branch, &tools);
  eg_shard_model_init(&root, search->alloc);
  egraph_status status = close_models(search, &tools, &branch, &root, out_complete);
  eg_shard_model_deinit(&root);
  eg_shard_branch_deinit(&branch);
  eg_shard_tools_deinit(&tools);
  return status;
}

// A cheaper choice is none while the cost only bounds all choices.
static bool is_choice(const eg_shard_search *search) { return search->choice.len != 0; }

static egraph_status prove(eg_shard_search *found, eg_shard_search *again,
                           const char *path, int64_t *out_bound) {
  bool complete = false;
  // Sums of huge numbers would saturate; nothing of that is proven again.
  if (eg_shard_proof_most(found->problem) < EG_SHARD_INFINITE)
    EG_TRY(close_all(again, &complete));
  if (is_choice(again) && again->cost < found->cost) {
    found->choice.len = 0;
    EG_TRY(eg_u32s_append(&found->choice, again->choice.data, again->choice.len));
    found->cost = again->cost;
    found->peak = again->peak;
  }
  bool any = found->cost < EG_SHARD_INFINITE;
  static const uint32_t none = 0;
  const uint32_t *choice = found->choice.len == 0 ? &none : found->choice.data;
  return eg_shard_proof_write(again->proof, complete, found->problem, any ? choice : NULL,
                              found->cost, path, out_bound);
}

egraph_status eg_shard_prove(eg_shard_search *found, uint64_t limit, const char *path,
                             int64_t *out_bound) {
  eg_shard_options options = *found->options;
  eg_shard_search again;
  eg_shard_proof proof;
  options.work_limit = limit;
  options.incumbent = found->cost < EG_SHARD_INFINITE ? found->choice.data : NULL;
  options.time_limit_seconds =
      options.time_limit_seconds - eg_shard_search_seconds(found) + 1;
  eg_shard_proof_init(&proof, found->alloc);
  eg_shard_search_init(&again, found->alloc, found->problem, &options);
  again.proof = &proof;
  again.tiny = found->tiny;
  again.disabled =
      found->disabled & (1u << EG_SHARD_PASS_ROWS | 1u << EG_SHARD_PASS_MERGE);
  again.disabled |= 1u << EG_SHARD_PASS_DOMINATED | 1u << EG_SHARD_PASS_DEGREE;
  egraph_status status = prove(found, &again, path, out_bound);
  eg_work_add(&found->work, again.work.done);
  eg_shard_search_deinit(&again);
  eg_shard_proof_deinit(&proof);
  return status;
}
