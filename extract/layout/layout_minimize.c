// One minimization. Presolve, greedy, and the root's relaxation with cuts. If that does
// not close the gap, better solutions are looked for in small parts of the problem: what
// the relaxation uses, then what its reduced costs say is nearly as good, each with the
// best solution's own strategies. Then reduced costs delete what cannot be in a better
// solution, and the whole begins again while that is much; the tree comes last.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_ascent.h"
#include "extract/layout/layout_tree.h"

enum { RESTARTS = 6, ROOT_ROUNDS = 40, PART_VISITS = 150 };
static const double SHRINKING = 0.1, NEARLY = 0.25;

typedef enum root_state { CLOSED, OPEN, STOPPED } root_state;

typedef struct minimizer {
  eg_layout_search *search;
  eg_layout_active active;
  // Of the last root: per strategy and arc, in the objective's unit.
  eg_doubles x, strategy_reduced, arc_reduced;
  double bound; // that the reduced costs go with
} minimizer;

static egraph_status keep_root(minimizer *m, const eg_layout_tree *tree) {
  const double *x = eg_lp_values(tree->lp), *reduced = eg_lp_reduced_costs(tree->lp);
  EG_TRY(eg_doubles_resize(&m->x, tree->model.x_of.len));
  EG_TRY(eg_doubles_resize(&m->strategy_reduced, tree->model.x_of.len));
  EG_TRY(eg_doubles_resize(&m->arc_reduced, tree->model.a_of.len));
  for (size_t s = 0; s < m->x.len; s++) {
    uint32_t column = tree->model.x_of.data[s];
    bool has = column != EG_LAYOUT_NONE;
    m->x.data[s] = has ? x[column] : 0;
    m->strategy_reduced.data[s] = has ? reduced[column] / tree->model.scale : INFINITY;
  }
  for (size_t a = 0; a < m->arc_reduced.len; a++) {
    uint32_t column = tree->model.a_of.data[a];
    m->arc_reduced.data[a] =
        column == EG_LAYOUT_NONE ? 0 : reduced[column] / tree->model.scale;
  }
  m->bound = eg_lp_bound(tree->lp) / tree->model.scale;
  return EGRAPH_OK;
}

static egraph_status solve_root(minimizer *m, eg_layout_tree *tree, bool last,
                                root_state *out) {
  eg_layout_search *search = m->search;
  eg_layout_outcome outcome;
  bool done = false, closed = false;
  tree->bound = search->bound;
  *out = CLOSED;
  EG_TRY(eg_layout_tree_solve(tree, ROOT_ROUNDS, &outcome));
  if (outcome == EG_LAYOUT_PRUNED) return EGRAPH_OK;
  eg_layout_search_raise(search, tree->bound);
  *out = STOPPED;
  if (outcome == EG_LAYOUT_STOPPED) return EGRAPH_OK;
  *out = CLOSED;
  EG_TRY(eg_layout_tree_offer(tree, true, &done));
  if (done || tree->bound >= eg_layout_search_cutoff(search)) return EGRAPH_OK;
  *out = OPEN;
  if (!last) return keep_root(m, tree);
  tree->extra.len = 0;
  EG_TRY(eg_layout_tree_fix(tree));
  EG_TRY(eg_layout_tree_run(tree, &closed));
  *out = closed ? CLOSED : STOPPED;
  return EGRAPH_OK;
}

static egraph_status run_root(minimizer *m, bool last, root_state *out) {
  eg_layout_tree tree;
  egraph_status status = eg_layout_tree_init(&tree, m->search, &m->active);
  *out = CLOSED;
  if (status == EGRAPH_OK && eg_layout_model_columns(&tree.model) != 0)
    status = solve_root(m, &tree, last, out);
  eg_layout_tree_deinit(&tree);
  return status;
}

// ---- parts -------------------------------------------------------------------------

static egraph_status search_part(minimizer *m, eg_layout_active *part) {
  eg_layout_tree tree;
  eg_layout_outcome outcome;
  bool ignored;
  EG_TRY(eg_layout_presolve(part, m->search->task));
  if (part->infeasible) return EGRAPH_OK;
  egraph_status status = eg_layout_tree_init(&tree, m->search, part);
  tree.bound = m->search->bound;
  tree.visit_limit = PART_VISITS;
  if (status == EGRAPH_OK && eg_layout_model_columns(&tree.model) != 0) {
    EG_TRY_GOTO(status, eg_layout_tree_solve(&tree, ROOT_ROUNDS / 4, &outcome), done);
    if (outcome != EG_LAYOUT_OPEN) goto done;
    EG_TRY_GOTO(status, eg_layout_tree_fix(&tree), done);
    EG_TRY_GOTO(status, eg_layout_tree_run(&tree, &ignored), done);
  }
done:
  eg_layout_tree_deinit(&tree);
  return status;
}

// Strategies in the relaxation, in the best solution, or of reduced cost at most `most`.
static egraph_status try_part(minimizer *m, double most) {
  eg_layout_active part;
  const eg_layout_search *search = m->search;
  EG_TRY(eg_layout_active_init(&part, search->alloc, search->view));
  for (uint32_t s = 0; s < part.strategy.len; s++) {
    bool best = search->has_best &&
                search->best.strategy.data[search->view->value_of.data[s]] == s;
    if (!m->active.strategy.data[s] ||
        !(m->x.data[s] > 1e-6 || best || m->strategy_reduced.data[s] <= most))
      part.strategy.data[s] = 0;
  }
  for (uint32_t a = 0; a < part.arc.len; a++)
    if (!m->active.arc.data[a]) part.arc.data[a] = 0;
  egraph_status status = search_part(m, &part);
  eg_layout_active_deinit(&part);
  return status;
}

// One part after the first is enough once there is a solution; before that they widen.
static egraph_status try_parts(minimizer *m) {
  EG_TRY(try_part(m, -INFINITY));
  for (int i = 1; i <= 3; i++) {
    double room = eg_layout_search_cutoff(m->search) - m->bound;
    if (eg_layout_search_stop(m->search) || room <= 0) break;
    EG_TRY(try_part(m, isfinite(room) ? NEARLY * room : 0.02 * i * m->bound));
    if (m->search->has_best) break;
  }
  return EGRAPH_OK;
}

// ---- the whole ---------------------------------------------------------------------

// Deletes what reduced costs rule out; returns the share of what was left.
static double delete_costly(minimizer *m) {
  double room = eg_layout_search_cutoff(m->search) - m->bound;
  size_t deleted = 0, all = 1;
  if (!isfinite(room)) return 0;
  room += EG_LAYOUT_TOLERANCE * (fabs(room) + fabs(m->bound));
  for (uint32_t s = 0; s < m->strategy_reduced.len; s++) {
    all += m->active.strategy.data[s];
    if (!m->active.strategy.data[s] || !(m->strategy_reduced.data[s] > room)) continue;
    m->active.strategy.data[s] = 0;
    deleted++;
  }
  for (uint32_t a = 0; a < m->arc_reduced.len; a++)
    if (m->arc_reduced.data[a] > room) m->active.arc.data[a] = 0;
  return (double)deleted / (double)all;
}

// Operators left beyond one per value.
static uint32_t count_alternatives(const minimizer *m) {
  const eg_layout_problem *p = m->search->view->problem;
  uint32_t count = 0, values = 0;
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++) {
    bool left = false;
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
      left = left || m->active.strategy.data[s];
    count += left;
  }
  for (uint32_t v = 0; v < m->active.used.len; v++)
    values += m->active.used.data[v];
  return count > values ? count - values : 0;
}

static egraph_status start(minimizer *m) {
  eg_layout_search *search = m->search;
  EG_TRY(eg_layout_greedy(search, &m->active, NULL));
  eg_layout_search_raise(search, 0);
  if (search->bound >= eg_layout_search_cutoff(search) ||
      search->task->objective > EG_LAYOUT_MEMORY ||
      count_alternatives(m) < search->expand_from)
    return EGRAPH_OK;
  return eg_layout_expand(search, &m->active);
}

/// Worth its time where values have layouts.
static egraph_status ascend(minimizer *m) {
  const eg_layout_problem *p = m->search->view->problem;
  if (m->search->task->objective > EG_LAYOUT_MEMORY || eg_layout_arc_count(p) == 0 ||
      m->search->bound >= eg_layout_search_cutoff(m->search))
    return EGRAPH_OK;
  EG_TRY(eg_layout_ascend(m->search, &m->active));
  return m->active.infeasible ? EGRAPH_OK
                              : eg_layout_presolve(&m->active, m->search->task);
}

static egraph_status minimize(minimizer *m, bool *out_closed) {
  eg_layout_search *search = m->search;
  root_state state = OPEN;
  bool last = false;
  for (int round = 0; state == OPEN; round++) {
    EG_TRY(eg_layout_presolve(&m->active, search->task));
    state = CLOSED;
    if (m->active.infeasible) break;
    if (round == 0) {
      EG_TRY(start(m));
      EG_TRY(ascend(m));
      if (m->active.infeasible) break;
    }
    if (search->bound >= eg_layout_search_cutoff(search)) break;
    state = STOPPED;
    if (eg_layout_search_stop(search)) break;
    EG_TRY(run_root(m, last, &state));
    if (state != OPEN) break;
    EG_TRY(try_parts(m));
    last = delete_costly(m) < SHRINKING || round + 2 >= RESTARTS;
  }
  *out_closed = state == CLOSED;
  if (*out_closed) eg_layout_search_raise(search, INFINITY);
  return EGRAPH_OK;
}

egraph_status eg_layout_search_run(eg_layout_search *search, bool *out_closed) {
  minimizer m = {.search = search};
  EG_TRY(eg_layout_active_init(&m.active, search->alloc, search->view));
  eg_doubles_init(&m.x, search->alloc);
  eg_doubles_init(&m.strategy_reduced, search->alloc);
  eg_doubles_init(&m.arc_reduced, search->alloc);
  egraph_status status = minimize(&m, out_closed);
  eg_doubles_deinit(&m.arc_reduced);
  eg_doubles_deinit(&m.strategy_reduced);
  eg_doubles_deinit(&m.x);
  eg_layout_active_deinit(&m.active);
  return status;
}
