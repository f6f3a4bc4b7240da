// Depth first, so that few models are held. The node to split: where the values in the
// dearer half of its min-marginals are far above the cheapest, so that this half closes
// early, and many.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_branch.h"

#include <math.h>
#include <stdlib.h>

#include "extract/shard/shard_edit.h"
#include "extract/shard/shard_proof.h"

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

/// Lowest bound of what is open, at most the search's cost.
static int64_t bound_of(const eg_shard_branch *branch) {
  int64_t bound = branch->tools->search->cost;
  for (size_t i = 0; i < branch->open.len; i++)
    if (branch->open.data[i].bound < bound) bound = branch->open.data[i].bound;
  return bound;
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
  return eg_shard_search_raise(search, bound_of(branch));
}
