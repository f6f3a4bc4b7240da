// A node is solved by the dual simplex from the basis of the node before; only columns
// whose ranges differ are touched. Depth first, the side that looks better at once, the
// other one to the heap; when a branch ends, the open node of least bound is next.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_tree.h"

#include <float.h>

#include "base/clock.h"

enum { ROUNDING_PERIOD = 16 };
static const double INTEGRALITY = 1e-6;

static bool stop(void *user) { return eg_layout_search_stop(user); }

static egraph_status prepare_tree(eg_layout_tree *tree) {
  eg_layout_search *search = tree->search;
  EG_TRY(eg_layout_model_build(&tree->model, tree->active, search->task,
                               eg_layout_search_value(search)));
  uint32_t columns = eg_layout_model_columns(&tree->model);
  EG_TRY(eg_bytes_resize(&tree->low, columns));
  EG_TRY(eg_bytes_resize(&tree->high, columns));
  EG_TRY(eg_bytes_resize(&tree->next_low, columns));
  EG_TRY(eg_bytes_resize(&tree->next_high, columns));
  for (uint32_t j = 0; j < columns; j++)
    tree->high.data[j] = 1;
  EG_TRY(eg_doubles_resize(&tree->favour, tree->model.x_of.len));
  EG_TRY(eg_doubles_resize(&tree->arc_weight, tree->model.a_of.len));
  EG_TRY(eg_layout_cuts_init(&tree->cuts, search->alloc, &tree->model));
  tree->has_cuts = true;
  EG_TRY(eg_lp_create(search->alloc, columns, tree->model.cost.data, &tree->lp));
  eg_lp_interrupt(tree->lp, stop, search);
  return eg_lp_add_rows(tree->lp, &tree->model.rows);
}

egraph_status eg_layout_tree_init(eg_layout_tree *tree, eg_layout_search *search,
                                  eg_layout_active *active) {
  egraph_allocator alloc = search->alloc;
  *tree = (eg_layout_tree){.search = search, .active = active};
  eg_layout_nodes_init(&tree->nodes, alloc);
  eg_layout_fixes_init(&tree->fixes, alloc);
  eg_layout_fixes_init(&tree->extra, alloc);
  eg_layout_fixes_init(&tree->in, alloc);
  eg_layout_fixes_init(&tree->out, alloc);
  eg_cost_heap_init(&tree->open, alloc);
  eg_bytes_init(&tree->low, alloc);
  eg_bytes_init(&tree->high, alloc);
  eg_bytes_init(&tree->next_low, alloc);
  eg_bytes_init(&tree->next_high, alloc);
  eg_doubles_init(&tree->favour, alloc);
  eg_doubles_init(&tree->arc_weight, alloc);
  EG_TRY(eg_layout_model_init(&tree->model, alloc));
  return prepare_tree(tree);
}

void eg_layout_tree_deinit(eg_layout_tree *tree) {
  eg_lp_destroy(tree->lp);
  if (tree->has_cuts) eg_layout_cuts_deinit(&tree->cuts);
  eg_layout_model_deinit(&tree->model);
  eg_doubles_deinit(&tree->arc_weight);
  eg_doubles_deinit(&tree->favour);
  eg_bytes_deinit(&tree->next_high);
  eg_bytes_deinit(&tree->next_low);
  eg_bytes_deinit(&tree->high);
  eg_bytes_deinit(&tree->low);
  eg_cost_heap_deinit(&tree->open);
  eg_layout_fixes_deinit(&tree->out);
  eg_layout_fixes_deinit(&tree->in);
  eg_layout_fixes_deinit(&tree->extra);
  eg_layout_fixes_deinit(&tree->fixes);
  eg_layout_nodes_deinit(&tree->nodes);
}

egraph_status eg_layout_tree_set(eg_layout_tree *tree, uint32_t column, uint8_t low,
                                 uint8_t high) {
  if (tree->low.data[column] == low && tree->high.data[column] == high) return EGRAPH_OK;
  tree->low.data[column] = low;
  tree->high.data[column] = high;
  return eg_lp_set_range(tree->lp, column, low, high);
}

/// True when every integral column is within 1e-6 of 0 or 1.
static bool is_integral(const eg_layout_tree *tree) {
  const double *x = eg_lp_values(tree->lp);
  for (uint32_t j = 0; j < eg_layout_model_columns(&tree->model); j++)
    if (eg_layout_is_integral(&tree->model, j) && x[j] > INTEGRALITY &&
        x[j] < 1 - INTEGRALITY)
      return false;
  return true;
}

// ---- the program -------------------------------------------------------------------

/// Of the work that is left; 0: no limit.
static uint32_t iterations_left(const eg_layout_tree *tree) {
  const eg_work *work = &tree->search->clock->work;
  if (work->limit == 0) return 0;
  uint64_t left = 1 + eg_work_left(work) / (1 + eg_lp_iteration_steps(tree->lp));
  return left < INT32_MAX ? (uint32_t)left : INT32_MAX;
}

static egraph_status solve_once(eg_layout_tree *tree, eg_layout_outcome *out) {
  eg_layout_search *search = tree->search;
  double cutoff = eg_layout_search_cut(search), scale = tree->model.scale;
  for (int again = 0; again < 2; again++) {
    eg_lp_state state;
    double limit = again || isinf(cutoff) ? DBL_MAX : cutoff * scale;
    double left = search->clock->deadline - eg_clock_seconds();
    uint64_t before = eg_lp_steps(tree->lp);
    eg_lp_limit_iterations(tree->lp, iterations_left(tree));
    EG_TRY(eg_lp_solve(tree->lp, left > 0 ? left : 0, limit, &state));
    eg_layout_search_work(search, eg_lp_steps(tree->lp) - before);
    double bound = eg_lp_bound(tree->lp) / scale;
    if (state == EG_LP_INFEASIBLE) bound = INFINITY;
    if (bound > tree->bound) tree->bound = bound;
    *out = tree->bound >= cutoff || isinf(bound) ? EG_LAYOUT_PRUNED : EG_LAYOUT_OPEN;
    if (*out == EG_LAYOUT_PRUNED || state == EG_LP_OPTIMAL) return EGRAPH_OK;
    if (eg_layout_search_stop(search)) break;
  }
  *out = EG_LAYOUT_STOPPED;
  return EGRAPH_OK;
}

static egraph_status add_cuts(eg_layout_tree *tree, bool *added) {
  eg_lp_rows rows;
  EG_TRY(eg_lp_rows_init(&rows, tree->search->alloc));
  egraph_status status =
      eg_layout_cuts_separate(&tree->cuts, &tree->model, eg_lp_values(tree->lp), &rows);
  *added = eg_lp_rows_count(&rows) != 0;
  if (status == EGRAPH_OK) status = eg_lp_add_rows(tree->lp, &rows);
  eg_lp_rows_deinit(&rows);
  return status;
}

egraph_status eg_layout_tree_solve(eg_layout_tree *tree, uint32_t rounds,
                                   eg_layout_outcome *out) {
  double before = -INFINITY;
  uint32_t stalled = 0;
  for (uint32_t round = 0;; round++) {
    EG_TRY(solve_once(tree, out));
    if (*out != EG_LAYOUT_OPEN) return EGRAPH_OK;
    if (!tree->cuts.is_cyclic && !tree->cuts.has_alternatives) return EGRAPH_OK;
    if (eg_layout_search_stop(tree->search)) {
      *out = EG_LAYOUT_STOPPED;
      return EGRAPH_OK;
    }
    bool added = false, integral = is_integral(tree);
    stalled = tree->bound > before + 1e-4 * fabs(before) ? 0 : stalled + 1;
    before = tree->bound;
    if (integral ? !tree->cuts.is_cyclic : round >= rounds || stalled > 3)
      return EGRAPH_OK;
    EG_TRY(add_cuts(tree, &added));
    if (!added) return EGRAPH_OK;
  }
}

egraph_status eg_layout_tree_fix(eg_layout_tree *tree) {
  const double *reduced = eg_lp_reduced_costs(tree->lp);
  double room =
      eg_layout_search_cut(tree->search) * tree->model.scale - eg_lp_bound(tree->lp);
  if (!isfinite(room)) return EGRAPH_OK;
  room += 1e-9 * (1 + fabs(room));
  for (uint32_t j = 0; j < eg_layout_model_columns(&tree->model); j++) {
    if (tree->low.data[j] == tree->high.data[j]) continue;
    eg_layout_fix fix = {j, reduced[j] < 0};
    if (fabs(reduced[j]) > room &&
        (fix.value == 0 || eg_layout_is_integral(&tree->model, j)))
      EG_TRY(eg_layout_fixes_push(&tree->extra, fix));
  }
  return EGRAPH_OK;
}

// ---- solutions ---------------------------------------------------------------------

static void take_strategies(eg_layout_tree *tree) {
  const double *x = eg_lp_values(tree->lp);
  eg_u32s *strategy = &tree->search->trial.strategy;
  for (size_t v = 0; v < strategy->len; v++)
    strategy->data[v] = EG_LAYOUT_NONE;
  for (uint32_t s = 0; s < tree->model.x_of.len; s++)
    if (tree->model.x_of.data[s] != EG_LAYOUT_NONE && x[tree->model.x_of.data[s]] > 0.5)
      strategy->data[tree->search->view->value_of.data[s]] = s;
}

static void take_arcs(eg_layout_tree *tree) {
  const double *x = eg_lp_values(tree->lp);
  const eg_layout_view *view = tree->search->view;
  for (uint32_t a = 0; a < tree->model.a_of.len; a++) {
    uint32_t column = tree->model.a_of.data[a];
    bool paid = false;
    for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
      paid = paid ||
             (eg_layout_counts(tree->search->task, m) && view->arc_weight[m].data[a] > 0);
    bool usable =
        tree->active->arc.data[a] && (column == EG_LAYOUT_NONE ? !paid : x[column] > 0.5);
    tree->arc_weight.data[a] = usable ? tree->search->arc_weight.data[a] : INFINITY;
  }
}

// An integral solution: as it is, and with the best arcs for its strategies. *out_done
// tells that nothing better hides in this node.
static egraph_status offer_integral(eg_layout_tree *tree, bool *out_done) {
  eg_layout_search *search = tree->search;
  bool ok = false, also = false;
  take_strategies(tree);
  take_arcs(tree);
  EG_TRY(eg_layout_search_offer_arcs(search, tree->arc_weight.data, &ok));
  double value = search->trial.sum[search->task->objective];
  take_strategies(tree);
  EG_TRY(eg_layout_search_offer(search, &also));
  *out_done = tree->bound >= eg_layout_search_cutoff(search) ||
              (ok && value <= tree->bound + EG_LAYOUT_TOLERANCE * fabs(tree->bound));
  return EGRAPH_OK;
}

static egraph_status offer_rounded(eg_layout_tree *tree) {
  const double *x = eg_lp_values(tree->lp);
  for (uint32_t s = 0; s < tree->model.x_of.len; s++)
    tree->favour.data[s] =
        tree->model.x_of.data[s] == EG_LAYOUT_NONE ? 0 : x[tree->model.x_of.data[s]];
  EG_TRY(eg_layout_greedy(tree->search, tree->active, tree->favour.data));
  take_strategies(tree);
  bool ignored;
  return eg_layout_search_offer(tree->search, &ignored);
}

egraph_status eg_layout_tree_offer(eg_layout_tree *tree, bool round, bool *out_done) {
  *out_done = false;
  if (is_integral(tree)) return offer_integral(tree, out_done);
  return round ? offer_rounded(tree) : EGRAPH_OK;
}

// ---- nodes -------------------------------------------------------------------------

static egraph_status activate(eg_layout_tree *tree, uint32_t at) {
  uint32_t columns = eg_layout_model_columns(&tree->model);
  memset(tree->next_low.data, 0, columns);
  memset(tree->next_high.data, 1, columns);
  tree->bound = tree->nodes.data[at].bound;
  for (; at != EG_LAYOUT_NONE; at = tree->nodes.data[at].parent)
    for (uint32_t i = tree->nodes.data[at].begin; i < tree->nodes.data[at].end; i++) {
      eg_layout_fix fix = tree->fixes.data[i];
      (fix.value ? tree->next_low.data : tree->next_high.data)[fix.column] = fix.value;
    }
  for (uint32_t j = 0; j < columns; j++) {
    if (tree->next_low.data[j] > tree->next_high.data[j]) {
      tree->bound = INFINITY;
      return EGRAPH_OK;
    }
    EG_TRY(eg_layout_tree_set(tree, j, tree->next_low.data[j], tree->next_high.data[j]));
  }
  return EGRAPH_OK;
}

static egraph_status add_child(eg_layout_tree *tree, uint32_t parent,
                               const eg_layout_fixes *side, uint32_t *out) {
  eg_layout_node node = {parent, (uint32_t)tree->fixes.len, 0, tree->bound};
  EG_TRY(eg_layout_fixes_append(&tree->fixes, tree->extra.data, tree->extra.len));
  EG_TRY(eg_layout_fixes_append(&tree->fixes, side->data, side->len));
  node.end = (uint32_t)tree->fixes.len;
  *out = (uint32_t)tree->nodes.len;
  return eg_layout_nodes_push(&tree->nodes, node);
}

// Solves a node and splits it; *out_next is the child to go on with, or NONE.
static egraph_status visit(eg_layout_tree *tree, uint32_t at, uint32_t *out_next,
                           eg_layout_outcome *outcome) {
  *out_next = EG_LAYOUT_NONE;
  *outcome = EG_LAYOUT_PRUNED;
  EG_TRY(activate(tree, at));
  if (tree->bound >= eg_layout_search_cut(tree->search) || isinf(tree->bound))
    return EGRAPH_OK;
  EG_TRY(eg_layout_tree_solve(tree, at == 0 ? 2 : 1, outcome));
  if (*outcome != EG_LAYOUT_OPEN) return EGRAPH_OK;
  bool done, found, in_first;
  EG_TRY(eg_layout_tree_offer(tree, tree->visited++ % ROUNDING_PERIOD == 0, &done));
  if (done) return EGRAPH_OK;
  tree->extra.len = 0;
  EG_TRY(eg_layout_tree_fix(tree));
  EG_TRY(eg_layout_tree_split(tree, &found, &in_first));
  if (!found || tree->bound >= eg_layout_search_cutoff(tree->search)) return EGRAPH_OK;
  uint32_t other;
  EG_TRY(add_child(tree, at, in_first ? &tree->in : &tree->out, out_next));
  EG_TRY(add_child(tree, at, in_first ? &tree->out : &tree->in, &other));
  return eg_cost_heap_add(&tree->open, tree->bound, other);
}

static double least_open(const eg_layout_tree *tree, uint32_t next) {
  double bound = next == EG_LAYOUT_NONE ? INFINITY : tree->nodes.data[next].bound;
  if (tree->open.len != 0 && tree->open.data[0].cost < bound)
    bound = tree->open.data[0].cost;
  return bound;
}

egraph_status eg_layout_tree_run(eg_layout_tree *tree, bool *out_closed) {
  uint32_t next;
  eg_layout_search *search = tree->search;
  double start = tree->bound;
  tree->in.len = 0;
  EG_TRY(add_child(tree, EG_LAYOUT_NONE, &tree->in, &next));
  tree->nodes.data[next].bound = start;
  *out_closed = false;
  for (;;) {
    double open = least_open(tree, next);
    if (open >= eg_layout_search_cut(search) || isinf(open)) break;
    if (tree->visit_limit == 0) EG_TRY(eg_layout_search_raise(search, open));
    if (eg_layout_search_stop(search) ||
        (tree->visit_limit != 0 && tree->visited >= tree->visit_limit))
      return EGRAPH_OK;
    if (next == EG_LAYOUT_NONE) next = eg_cost_heap_take(&tree->open).item;
    uint32_t child;
    eg_layout_outcome outcome;
    EG_TRY(visit(tree, next, &child, &outcome));
    if (outcome == EG_LAYOUT_STOPPED) return EGRAPH_OK;
    next = child;
  }
  *out_closed = true;
  if (tree->visit_limit == 0) eg_layout_search_close(search);
  return EGRAPH_OK;
}
