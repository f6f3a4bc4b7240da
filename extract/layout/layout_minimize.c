// Performs one minimization: presolve, greedy, the plain relaxation, ascent; then the
// linear relaxation with cuts. If a gap remains, it searches small parts of the problem
// for better solutions: the strategies in the relaxation, then the strategies of low
// reduced cost, both with the strategies of the best solution. Reduced costs delete
// strategies that are in no better solution, and all steps repeat while they delete many;
// branch and bound comes last.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "base/quantile.h"
#include "extract/layout/layout_gap.h"
#include "extract/layout/layout_tree.h"

#include <stdlib.h>

enum { RESTARTS = 6, ROOT_ROUNDS = 40, PART_VISITS = 150 };
static const double SHRINKING = 0.1, NEARLY = 0.25;
// Shares of all work for the plain extractor: EARLY_SHARE before all other steps,
// LATE_SHARE after the ascent. It runs early if there are at most MOST_PLAIN_NODES
// strategies and arcs, and at least VALUES_PER_TIE values per tie.
static const double EARLY_SHARE = 0.1, LATE_SHARE = 0.3;
enum { MOST_PLAIN_NODES = 1 << 18, VALUES_PER_TIE = 32 };
// Gaps below this share are closed by linear programs on the remaining strategies.
static const double NARROW = 0.01;

typedef enum root_state { CLOSED, OPEN, STOPPED } root_state;

typedef struct minimizer {
  eg_layout_search *search;
  eg_layout_active active;
  eg_doubles x;             // [strategy] values in the last root's relaxation
  eg_layout_excess reduced; // by the last root or the ascent, in the objective's unit
  eg_layout_pool pool;      // solutions of the ascent
} minimizer;
#define OWNED (eg_doubles, x), (eg_layout_excess, reduced), (eg_layout_pool, pool)

static void minimizer_deinit(minimizer *m) {
  EG_DEINIT_MEMBERS(m, OWNED)
  eg_layout_active_deinit(&m->active);
}

static egraph_status keep_root(minimizer *m, const eg_layout_tree *tree) {
  assert(tree->lp != NULL);
  const double *x = eg_lp_values(tree->lp), *reduced = eg_lp_reduced_costs(tree->lp);
  EG_TRY(eg_doubles_resize(&m->x, tree->model.x_of.len));
  EG_TRY(eg_doubles_resize(&m->reduced.strategy, tree->model.x_of.len));
  EG_TRY(eg_doubles_resize(&m->reduced.arc, tree->model.a_of.len));
  for (size_t s = 0; s < m->x.len; s++) {
    uint32_t column = tree->model.x_of.data[s];
    bool has = column != EG_LAYOUT_NONE;
    m->x.data[s] = has ? x[column] : 0;
    m->reduced.strategy.data[s] = has ? reduced[column] / tree->model.scale : INFINITY;
  }
  for (size_t a = 0; a < m->reduced.arc.len; a++) {
    uint32_t column = tree->model.a_of.data[a];
    m->reduced.arc.data[a] =
        column == EG_LAYOUT_NONE ? 0 : reduced[column] / tree->model.scale;
  }
  m->reduced.bound = eg_lp_bound(tree->lp) / tree->model.scale;
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
  EG_TRY(eg_layout_search_raise(search, tree->bound));
  *out = STOPPED;
  if (outcome == EG_LAYOUT_STOPPED) return EGRAPH_OK;
  *out = CLOSED;
  EG_TRY(eg_layout_tree_offer(tree, true, &done));
  if (done || tree->bound >= eg_layout_search_cut(search)) return EGRAPH_OK;
  *out = OPEN;
  if (!last) return keep_root(m, tree);
  tree->extra.len = 0;
  EG_TRY(eg_layout_tree_fix(tree));
  EG_TRY(eg_layout_tree_run(tree, &closed));
  *out = closed ? CLOSED : STOPPED;
  return EGRAPH_OK;
}

static egraph_status run_root(minimizer *m, bool last, root_state *out) {
  EG_OWNED(eg_layout_tree, tree);
  *out = CLOSED;
  EG_TRY(eg_layout_tree_init(&tree, m->search, &m->active));
  if (eg_layout_model_columns(&tree.model) == 0) return EGRAPH_OK;
  return solve_root(m, &tree, last, out);
}

// ---- parts -------------------------------------------------------------------------

/// Minimizes over the strategies and arcs of a part of the problem.
static egraph_status search_part(minimizer *m, eg_layout_active *part) {
  EG_TRY(eg_layout_presolve(part, m->search->task));
  if (part->infeasible) return EGRAPH_OK;
  EG_OWNED(eg_layout_tree, tree);
  EG_TRY(eg_layout_tree_init(&tree, m->search, part));
  tree.bound = m->search->bound;
  tree.visit_limit = PART_VISITS;
  if (eg_layout_model_columns(&tree.model) == 0) return EGRAPH_OK;
  eg_layout_outcome outcome;
  EG_TRY(eg_layout_tree_solve(&tree, ROOT_ROUNDS / 4, &outcome));
  if (outcome != EG_LAYOUT_OPEN) return EGRAPH_OK;
  bool ignored;
  EG_TRY(eg_layout_tree_fix(&tree));
  return eg_layout_tree_run(&tree, &ignored);
}

static bool is_best(const eg_layout_search *search, uint32_t s) {
  uint32_t value = search->view->value_of.data[s];
  return search->has_best && search->best.strategy.data[value] == s;
}

/// Searches a part of the problem: strategies in the relaxation, in the best solution, or
/// of reduced cost at most `most`, and with the arcs of such reduced cost if `most` is
/// not negative.
static egraph_status try_part(minimizer *m, double most) {
  assert(m->x.len == m->active.strategy.len);
  EG_OWNED(eg_layout_active, part);
  const eg_layout_search *search = m->search;
  EG_TRY(eg_layout_active_init(&part, search->alloc, search->view));
  for (uint32_t s = 0; s < part.strategy.len; s++)
    if (!m->active.strategy.data[s] || !(m->x.data[s] > 1e-6 || is_best(search, s) ||
                                         m->reduced.strategy.data[s] <= most))
      part.strategy.data[s] = 0;
  for (uint32_t a = 0; a < part.arc.len; a++) {
    bool is_used = search->has_best && search->best.arc_used.data[a];
    bool is_costly = most >= 0 && m->reduced.arc.data[a] > most;
    if (!m->active.arc.data[a] || (is_costly && !is_used)) part.arc.data[a] = 0;
  }
  return search_part(m, &part);
}

/// Searches the strategies of the solutions at several prices of memory: a mixture of two
/// solutions may just keep a memory limit.
static egraph_status try_pool(minimizer *m) {
  EG_OWNED(eg_layout_active, part);
  if (m->pool.solutions < 2 || eg_layout_search_stop(m->search)) return EGRAPH_OK;
  EG_TRY(eg_layout_active_init(&part, m->search->alloc, m->search->view));
  for (uint32_t s = 0; s < part.strategy.len; s++)
    if (!m->pool.strategy.data[s] && !is_best(m->search, s)) part.strategy.data[s] = 0;
  return search_part(m, &part);
}

/// Searches parts of the problem: one part after the first is enough if a solution is
/// known; otherwise the parts grow.
static egraph_status try_parts(minimizer *m) {
  EG_TRY(try_part(m, -INFINITY));
  for (int i = 1; i <= 3; i++) {
    double room = eg_layout_search_cutoff(m->search) - m->reduced.bound;
    if (eg_layout_search_stop(m->search) || room <= 0) break;
    EG_TRY(try_part(m, isfinite(room) ? NEARLY * room : 0.02 * i * m->reduced.bound));
    if (m->search->has_best) break;
  }
  return EGRAPH_OK;
}

// ---- ascent ------------------------------------------------------------------------

/// Finds a limit for the excess of strategies over the bound: on average, `per_value`
/// strategies of each value have at most *out.
static egraph_status excess_of_few(const minimizer *m, uint32_t per_value, double *out) {
  assert(m->reduced.strategy.len == m->active.strategy.len);
  EG_LOCAL(eg_doubles, sorted, m->search->alloc);
  for (size_t s = 0; s < m->reduced.strategy.len; s++)
    if (m->active.strategy.data[s])
      EG_TRY(eg_doubles_push(&sorted, m->reduced.strategy.data[s]));
  if (sorted.len == 0) return EGRAPH_OK;
  qsort(sorted.data, sorted.len, sizeof *sorted.data, eg_compare_doubles);
  size_t at = per_value * eg_layout_active_values(&m->active);
  *out = sorted.data[at < sorted.len ? at : sorted.len - 1];
  return EGRAPH_OK;
}

/// Searches strategies of low excess over the bound, while better solutions are found.
static egraph_status try_few(minimizer *m) {
  static const uint32_t PER_VALUE[] = {2, 4, 8};
  eg_layout_search *search = m->search;
  for (size_t i = 0; i < sizeof PER_VALUE / sizeof *PER_VALUE; i++) {
    double most = 0, before = eg_layout_search_value(search);
    if (eg_layout_search_stop(search) || search->bound >= eg_layout_search_cutoff(search))
      break;
    EG_TRY(excess_of_few(m, PER_VALUE[i], &most));
    EG_TRY(try_part(m, most));
    if (search->has_best && !(eg_layout_search_value(search) < before)) break;
  }
  return EGRAPH_OK;
}

/// Runs the dual ascent, with prices of limited memory and solutions at these prices;
/// then searches small parts of the problem.
static egraph_status climb_and_try(minimizer *m) {
  eg_layout_search *search = m->search;
  EG_HELD(eg_layout_ascent, ascent);
  EG_TRY(eg_layout_ascent_create(search, &m->active, &ascent));
  EG_TRY(eg_doubles_resize(&m->x, m->active.strategy.len)); // no relaxation yet: zeros
  EG_TRY(eg_layout_close_gap(search, &m->active, ascent, &m->reduced, &m->pool));
  if (m->active.infeasible) return EGRAPH_OK;
  (void)eg_layout_delete_costly(search, &m->active, &m->reduced);
  if (eg_layout_search_wants_bound(search)) return EGRAPH_OK;
  EG_TRY(try_pool(m));
  EG_TRY(try_few(m));
  (void)eg_layout_delete_costly(search, &m->active, &m->reduced);
  return eg_layout_presolve(&m->active, search->task);
}

/// True when alternative operators remain, as in an e-graph, and the gap is not narrow.
static bool should_expand(const minimizer *m) {
  const eg_layout_problem *p = m->search->view->problem;
  double cost = eg_layout_search_value(m->search);
  size_t operators = 0;
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++)
    operators += eg_layout_active_has(&m->active, op);
  return !m->active.infeasible && !(cost - m->search->bound <= NARROW * fabs(cost)) &&
         operators > eg_layout_active_values(&m->active);
}

/// True when the plain extractor may soon replace ascent, windows and linear programs:
/// with few ties its relaxation is tight.
static bool may_be_plain(const minimizer *m) {
  const eg_layout_problem *p = m->search->view->problem;
  size_t nodes = eg_layout_strategy_count(p) + (size_t)eg_layout_arc_count(p);
  bool is_tied =
      VALUES_PER_TIE * (size_t)eg_layout_tie_count(p) > eg_layout_value_count(p);
  return !is_tied && nodes <= MOST_PLAIN_NODES && !m->active.infeasible;
}

static egraph_status start_minimizer(minimizer *m) {
  eg_layout_search *search = m->search;
  EG_TRY(eg_layout_greedy(search, &m->active, NULL));
  EG_TRY(eg_layout_search_raise(search, 0));
  bool is_done = false;
  if (may_be_plain(m))
    EG_TRY(eg_layout_expand(search, &m->active, EARLY_SHARE, false, &is_done));
  if (eg_layout_arc_count(search->view->problem) != 0 &&
      search->bound < eg_layout_search_cutoff(search))
    EG_TRY(climb_and_try(m));
  if (is_done || eg_layout_search_wants_bound(search) || eg_layout_search_stop(search) ||
      !should_expand(m))
    return EGRAPH_OK;
  return eg_layout_expand(search, &m->active, LATE_SHARE, true, &is_done);
}

static egraph_status run_minimizer(minimizer *m, bool *out_closed) {
  eg_layout_search *search = m->search;
  root_state state = OPEN;
  bool last = false;
  for (int round = 0; state == OPEN; round++) {
    EG_TRY(eg_layout_presolve(&m->active, search->task));
    eg_layout_search_work(search, 64 * (m->active.strategy.len + m->active.arc.len));
    state = CLOSED;
    if (m->active.infeasible) break;
    if (round == 0) {
      EG_TRY(start_minimizer(m));
      if (m->active.infeasible) break;
    }
    if (search->bound >= eg_layout_search_cutoff(search)) break;
    state = STOPPED;
    if (eg_layout_search_stop(search) || eg_layout_search_wants_bound(search)) break;
    EG_TRY(run_root(m, last, &state));
    if (state != OPEN) break;
    EG_TRY(try_parts(m));
    last = eg_layout_delete_costly(search, &m->active, &m->reduced) < SHRINKING ||
           round + 2 >= RESTARTS;
  }
  *out_closed = state == CLOSED;
  if (*out_closed) eg_layout_search_close(search);
  return EGRAPH_OK;
}

egraph_status eg_layout_search_run(eg_layout_search *search, bool *out_closed) {
  EG_OWNED(minimizer, m);
  m.search = search;
  EG_INIT_MEMBERS(&m, search->alloc, OWNED)
  EG_TRY(eg_layout_active_init(&m.active, search->alloc, search->view));
  return run_minimizer(&m, out_closed);
}
