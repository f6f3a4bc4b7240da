// One minimization: presolve, greedy, the root's relaxation with cuts; what its reduced
// costs rule out is deleted and the whole begins again while that is much; then the tree.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_tree.h"

enum { RESTARTS = 6, ROOT_ROUNDS = 40 };
static const double SHRINKING = 0.1;

typedef enum root_state { CLOSED, SHRUNK, TREE_CLOSED, STOPPED } root_state;

// Columns fixed to 0 for good leave the problem; *out_share is how much that is.
static void delete_fixed(eg_layout_tree *tree, double *out_share) {
  size_t deleted = 0, all = 1;
  for (size_t i = 0; i < tree->extra.len; i++) {
    eg_layout_fix fix = tree->extra.data[i];
    uint32_t id = tree->model.id.data[fix.column];
    if (fix.value != 0) continue;
    if (tree->model.kind.data[fix.column] == EG_LAYOUT_X)
      tree->active->strategy.data[id] = 0;
    else if (tree->model.kind.data[fix.column] == EG_LAYOUT_A)
      tree->active->arc.data[id] = 0;
    else
      continue;
    deleted++;
  }
  for (uint32_t j = 0; j < eg_layout_model_columns(&tree->model); j++)
    all += tree->model.kind.data[j] == EG_LAYOUT_X ||
           tree->model.kind.data[j] == EG_LAYOUT_A;
  *out_share = (double)deleted / (double)all;
}

static egraph_status try_root(eg_layout_tree *tree, bool last, root_state *out) {
  eg_layout_search *search = tree->search;
  eg_layout_outcome outcome;
  bool done = false, closed = false;
  tree->bound = search->bound;
  *out = CLOSED;
  EG_TRY(eg_layout_tree_solve(tree, ROOT_ROUNDS, &outcome));
  if (outcome == EG_LAYOUT_PRUNED) return EGRAPH_OK;
  eg_layout_search_raise(search, tree->bound);
  *out = STOPPED;
  if (outcome == EG_LAYOUT_STOPPED) return EGRAPH_OK;
  EG_TRY(eg_layout_tree_offer(tree, true, &done));
  if (!done) EG_TRY(eg_layout_improve(search, tree->active));
  *out = CLOSED;
  if (done || tree->bound >= eg_layout_search_cutoff(search)) return EGRAPH_OK;
  double share = 0;
  tree->extra.len = 0;
  EG_TRY(eg_layout_tree_fix(tree));
  if (!last) delete_fixed(tree, &share);
  *out = SHRUNK;
  if (share > SHRINKING) return EGRAPH_OK;
  EG_TRY(eg_layout_tree_run(tree, &closed));
  *out = closed ? TREE_CLOSED : STOPPED;
  return EGRAPH_OK;
}

static egraph_status root(eg_layout_search *search, eg_layout_active *active, bool last,
                          root_state *out) {
  eg_layout_tree tree;
  egraph_status status = eg_layout_tree_init(&tree, search, active);
  *out = CLOSED;
  if (status == EGRAPH_OK && eg_layout_model_columns(&tree.model) != 0)
    status = try_root(&tree, last, out);
  eg_layout_tree_deinit(&tree);
  return status;
}

static egraph_status minimize(eg_layout_search *search, eg_layout_active *active,
                              bool *out_closed) {
  root_state state = SHRUNK;
  for (int round = 0; state == SHRUNK; round++) {
    EG_TRY(eg_layout_presolve(active, search->task));
    state = CLOSED;
    if (active->infeasible) break;
    if (round == 0) {
      EG_TRY(eg_layout_greedy(search, active, NULL));
      EG_TRY(eg_layout_improve(search, active));
    }
    eg_layout_search_raise(search, 0);
    if (search->bound >= eg_layout_search_cutoff(search)) break;
    state = STOPPED;
    if (eg_layout_search_stop(search)) break;
    EG_TRY(root(search, active, round + 1 >= RESTARTS, &state));
  }
  *out_closed = state == CLOSED || state == TREE_CLOSED;
  if (*out_closed) eg_layout_search_raise(search, INFINITY);
  return EGRAPH_OK;
}

egraph_status eg_layout_search_run(eg_layout_search *search, bool *out_closed) {
  eg_layout_active active;
  EG_TRY(eg_layout_active_init(&active, search->alloc, search->view));
  egraph_status status = minimize(search, &active, out_closed);
  eg_layout_active_deinit(&active);
  return status;
}
