// A node is solved by the dual simplex from the basis of the previous node; only columns
// with other ranges change. The search goes depth first: it visits the more promising
// side at once and puts the other side into the heap; when a branch ends, the open node
// of least bound is next.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_tree.h"

#include <float.h>

#include "base/clock.h"
#include "base/owner.h"
#include "extract/class_graph.h"

enum { ROUNDING_PERIOD = 16 };
static const double INTEGRALITY = 1e-6;

static bool on_program_progress(void *user) { return eg_layout_search_stop(user); }

// ---- S-cuts -------------------------------------------------------------------------
//
// Cuts are rows that exclude values that need themselves, and that tighten the relaxation
// of alternatives, cyclic or not. The operators become the nodes of a plain extraction
// problem, whose separation finds the rows; a row over nodes becomes a row over the
// strategies of their operators.

enum { MAX_ROWS = 40 };
static const double VIOLATION = 1e-3;

static egraph_status add_nodes(eg_layout_cuts *cuts, const eg_layout_model *model,
                               eg_reduced *reduced) {
  const eg_layout_problem *p = model->view->problem;
  EG_LOCAL(eg_u32s, row, cuts->alloc);
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++) {
    uint32_t begin = p->input_begin.data[op], count = p->input_begin.data[op + 1] - begin;
    if (!eg_layout_active_has(model->active, op)) continue;
    row.len = 0;
    EG_TRY(eg_u32s_append(&row, p->inputs.data + begin, count));
    EG_TRY(
        eg_reduced_add_node(reduced, p->operator_value.data[op], 0, op, row.data, count));
    EG_TRY(eg_u32s_push(&cuts->node_op, op));
  }
  return EGRAPH_OK;
}

static egraph_status find_cycles(eg_layout_cuts *cuts) {
  EG_LOCAL(eg_u32s, component, cuts->alloc);
  EG_LOCAL(eg_u32s, order, cuts->alloc);
  const eg_extract_problem *problem = &cuts->presolve.model.problem;
  EG_TRY(eg_components_find(problem, &cuts->presolve.index, &component, &order));
  for (uint32_t i = 1; i < problem->class_count; i++)
    if (component.data[order.data[i]] == component.data[order.data[i - 1]])
      cuts->is_cyclic = true;
  return EGRAPH_OK;
}

static void cuts_deinit(eg_layout_cuts *cuts) {
  EG_DEINIT_MEMBERS(cuts, (eg_doubles, node_x), (eg_u32s, node_op),
                    (eg_presolve, presolve), (eg_parts, parts))
}

/// Initializes the cuts. O(size). Call cuts_deinit after a failure, too.
static egraph_status cuts_init(eg_layout_cuts *cuts, egraph_allocator alloc,
                               const eg_layout_model *model) {
  uint32_t values = eg_layout_value_count(model->view->problem);
  *cuts = (eg_layout_cuts){.alloc = alloc, .rng = {1}};
  eg_parts_init(&cuts->parts, alloc, 0);
  EG_INIT_MEMBERS(cuts, alloc, (eg_doubles, node_x), (eg_u32s, node_op))
  EG_TRY(eg_presolve_init(&cuts->presolve, alloc, &cuts->parts));
  EG_OWNED(eg_reduced, reduced);
  EG_TRY(eg_reduced_init(&reduced, alloc));
  eg_reduced_clear(&reduced, values);
  EG_TRY(add_nodes(cuts, model, &reduced));
  for (uint32_t v = 0; v < values; v++)
    if (model->active->required.data[v])
      EG_TRY(eg_extract_problem_add_root(&reduced.problem, v));
  EG_TRY(eg_doubles_resize(&cuts->node_x, cuts->node_op.len));
  EG_TRY(eg_presolve_load(&cuts->presolve, &reduced));
  for (uint32_t v = 0; v < values; v++)
    if (eg_class_index_member_count(&cuts->presolve.index, v) > 1)
      cuts->has_alternatives = true;
  return find_cycles(cuts);
}

static egraph_status translate_rows(const eg_layout_cuts *cuts,
                                    const eg_layout_model *model, const eg_lp_rows *from,
                                    eg_lp_rows *to) {
  const eg_layout_problem *p = model->view->problem;
  for (uint32_t r = 0; r < eg_lp_rows_count(from); r++) {
    for (uint32_t i = from->begin.data[r]; i < from->begin.data[r + 1]; i++) {
      uint32_t op = cuts->node_op.data[from->columns.data[i]];
      for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
           s++)
        if (model->x_of.data[s] != EG_LAYOUT_NONE)
          EG_TRY(eg_lp_rows_item(to, model->x_of.data[s], from->coefficients.data[i]));
    }
    EG_TRY(eg_lp_rows_end(to, from->lower.data[r]));
  }
  return EGRAPH_OK;
}

/// Adds violated S-cuts (*added: some); a cyclic integral solution always violates one.
static egraph_status add_cuts(eg_layout_tree *tree, bool *added) {
  assert(tree->cuts.node_x.len == tree->cuts.node_op.len);
  eg_layout_cuts *cuts = &tree->cuts;
  const eg_layout_model *model = &tree->model;
  const eg_layout_problem *p = model->view->problem;
  const double *x = eg_lp_values(tree->lp);
  for (size_t n = 0; n < cuts->node_op.len; n++) {
    uint32_t op = cuts->node_op.data[n];
    cuts->node_x.data[n] = 0;
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
      if (model->x_of.data[s] != EG_LAYOUT_NONE)
        cuts->node_x.data[n] += x[model->x_of.data[s]];
  }
  eg_separate_options options = {.presolve = &cuts->presolve,
                                 .x = cuts->node_x.data,
                                 .violation = VIOLATION,
                                 .max_rows = MAX_ROWS,
                                 .rng = &cuts->rng};
  EG_OWNED(eg_lp_rows, found);
  EG_OWNED(eg_lp_rows, rows);
  EG_TRY(eg_lp_rows_init(&found, cuts->alloc));
  EG_TRY(eg_lp_rows_init(&rows, cuts->alloc));
  EG_TRY(eg_separate_run(cuts->alloc, &options, &found));
  EG_TRY(translate_rows(cuts, model, &found, &rows));
  *added = eg_lp_rows_count(&rows) != 0;
  return eg_lp_add_rows(tree->lp, &rows);
}

// ---- memory -------------------------------------------------------------------------

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
  EG_TRY(cuts_init(&tree->cuts, search->alloc, &tree->model));
  EG_TRY(eg_lp_create(search->alloc, columns, tree->model.cost.data, &tree->lp));
  eg_lp_interrupt(tree->lp, on_program_progress, search);
  return eg_lp_add_rows(tree->lp, &tree->model.rows);
}

#define OWNED                                                                            \
  (eg_layout_nodes, nodes), (eg_layout_fixes, fixes, extra, in, out),                    \
      (eg_cost_heap, open), (eg_bytes, low, high, next_low, next_high),                  \
      (eg_doubles, favour, arc_weight)

egraph_status eg_layout_tree_init(eg_layout_tree *tree, eg_layout_search *search,
                                  eg_layout_active *active) {
  *tree = (eg_layout_tree){.search = search, .active = active};
  EG_INIT_MEMBERS(tree, search->alloc, OWNED)
  EG_TRY(eg_layout_model_init(&tree->model, search->alloc));
  return prepare_tree(tree);
}

void eg_layout_tree_deinit(eg_layout_tree *tree) {
  eg_lp_destroy(tree->lp);
  cuts_deinit(&tree->cuts);
  eg_layout_model_deinit(&tree->model);
  EG_DEINIT_MEMBERS(tree, OWNED)
}

/// Sets the range of a column in the program.
static egraph_status set_range(eg_layout_tree *tree, uint32_t column, uint8_t low,
                               uint8_t high) {
  assert(column < tree->low.len && low <= high);
  if (tree->low.data[column] == low && tree->high.data[column] == high) return EGRAPH_OK;
  tree->low.data[column] = low;
  tree->high.data[column] = high;
  return eg_lp_set_range(tree->lp, column, low, high);
}

/// True when every integral column is within 1e-6 of 0 or 1.
static bool is_solution_integral(const eg_layout_tree *tree) {
  const double *x = eg_lp_values(tree->lp);
  for (uint32_t j = 0; j < eg_layout_model_columns(&tree->model); j++)
    if (eg_layout_is_integral(&tree->model, j) && x[j] > INTEGRALITY &&
        x[j] < 1 - INTEGRALITY)
      return false;
  return true;
}

// ---- the program -------------------------------------------------------------------

/// Returns the number of iterations within the remaining work; 0: no limit.
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
    bool added = false, integral = is_solution_integral(tree);
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
  for (uint32_t a = 0; a < tree->model.a_of.len; a++) {
    uint32_t column = tree->model.a_of.data[a];
    bool usable = tree->active->arc.data[a] &&
                  (column == EG_LAYOUT_NONE ? !eg_layout_is_paid(&tree->model, a)
                                            : x[column] > 0.5);
    tree->arc_weight.data[a] = usable ? tree->search->arc_weight.data[a] : INFINITY;
  }
}

/// Offers an integral solution of the program, and its strategies with the best arcs.
/// *out_done: this node has no better solution.
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
  if (is_solution_integral(tree)) return offer_integral(tree, out_done);
  return round ? offer_rounded(tree) : EGRAPH_OK;
}

// ---- splits -------------------------------------------------------------------------
//
// A set of strategies of one value is either out (all 0) or in (all others of the value
// 0): an operator, a produced layout, a needed layout and a single strategy are such
// sets; "a value is needed" and arcs are single columns. Of the most fractional
// candidates, the split whose two sides raise the bound most is taken (strong branching,
// with few iterations each).

enum { CANDIDATES = 4, ITERATIONS = 25 };
static const double FRACTION = 1e-4;

typedef enum set_kind {
  BY_OPERATOR,
  BY_OUTPUT,
  BY_NEED,
  BY_STRATEGY,
  BY_COLUMN
} set_kind;

typedef struct candidate {
  set_kind kind;
  uint32_t key;   // operator, place, place, strategy, column
  uint32_t value; // the value of these strategies
  double fraction, score;
} candidate;

typedef struct splitter {
  eg_layout_tree *tree;
  const double *x;
  candidate best[CANDIDATES];
  uint32_t count;
} splitter;

static bool is_in(const eg_layout_tree *tree, const candidate *c, uint32_t s) {
  const eg_layout_view *view = tree->search->view;
  const eg_layout_problem *p = view->problem;
  switch (c->kind) {
  case BY_OPERATOR: return view->op_of.data[s] == c->key;
  case BY_OUTPUT: return p->output.data[s] == c->key;
  case BY_NEED:
    for (uint32_t i = p->need_begin.data[s]; i < p->need_begin.data[s + 1]; i++)
      if (p->needs.data[i] == c->key) return true;
    return false;
  case BY_STRATEGY: return s == c->key;
  case BY_COLUMN: return false;
  }
  return false;
}

static double sum_of_set(const splitter *s, const candidate *c) {
  const eg_layout_tree *tree = s->tree;
  const eg_layout_view *view = tree->search->view;
  double sum = 0;
  EG_EACH_ITEM(strategy, view->strategies, c->value) {
    uint32_t column = tree->model.x_of.data[strategy];
    if (column != EG_LAYOUT_NONE && is_in(tree, c, strategy)) sum += s->x[column];
  }
  return sum;
}

static void consider(splitter *s, candidate c) {
  double near = c.fraction < 0.5 ? c.fraction : 1 - c.fraction;
  if (near < FRACTION) return;
  static const double BONUS[] = {[BY_OPERATOR] = 0.3,
                                 [BY_OUTPUT] = 0.2,
                                 [BY_NEED] = 0.1,
                                 [BY_STRATEGY] = 0.1,
                                 [BY_COLUMN] = 0};
  c.score = near + BONUS[c.kind];
  for (uint32_t i = 0; i < s->count; i++)
    if (s->best[i].kind == c.kind && s->best[i].key == c.key) return;
  uint32_t at = s->count < CANDIDATES ? s->count++ : CANDIDATES;
  while (at > 0 && s->best[at - 1].score < c.score) {
    if (at < CANDIDATES) s->best[at] = s->best[at - 1];
    at--;
  }
  if (at < CANDIDATES) s->best[at] = c;
}

static void consider_set(splitter *s, set_kind kind, uint32_t key, uint32_t value) {
  candidate c = {.kind = kind, .key = key, .value = value};
  c.fraction = sum_of_set(s, &c);
  consider(s, c);
}

static void consider_strategy(splitter *s, uint32_t strategy) {
  const eg_layout_view *view = s->tree->search->view;
  const eg_layout_problem *p = view->problem;
  uint32_t value = view->value_of.data[strategy], y = s->tree->model.y_of.data[value];
  bool is_needed = s->tree->active->required.data[value] ||
                   (y != EG_LAYOUT_NONE && s->tree->low.data[y] == 1);
  consider_set(s, BY_STRATEGY, strategy, value);
  if (!is_needed) return;
  consider_set(s, BY_OPERATOR, view->op_of.data[strategy], value);
  consider_set(s, BY_OUTPUT, p->output.data[strategy], value);
  for (uint32_t i = p->need_begin.data[strategy]; i < p->need_begin.data[strategy + 1];
       i++)
    consider_set(s, BY_NEED, p->needs.data[i], value);
}

static void consider_all(splitter *s) {
  const eg_layout_model *model = &s->tree->model;
  for (uint32_t j = 0; j < eg_layout_model_columns(model); j++) {
    if (s->x[j] < FRACTION || s->x[j] > 1 - FRACTION) continue;
    uint32_t kind = model->kind.data[j];
    if (kind == EG_LAYOUT_X)
      consider_strategy(s, model->id.data[j]);
    else if (kind == EG_LAYOUT_Y || kind == EG_LAYOUT_A)
      consider(s, (candidate){.kind = BY_COLUMN, .key = j, .fraction = s->x[j]});
  }
}

/// Takes any integral column that is not fixed, a positive one first; used when no column
/// is clearly fractional.
static bool take_any_column(splitter *s) {
  const eg_layout_model *model = &s->tree->model;
  uint32_t found = EG_LAYOUT_NONE;
  for (uint32_t j = 0; j < eg_layout_model_columns(model); j++) {
    if (!eg_layout_is_integral(model, j) || s->tree->low.data[j] == s->tree->high.data[j])
      continue;
    if (found == EG_LAYOUT_NONE || (s->x[found] < 0.5 && s->x[j] > 0.5)) found = j;
  }
  if (found == EG_LAYOUT_NONE) return false;
  candidate c = {.kind = BY_COLUMN, .key = found, .fraction = s->x[found]};
  if (model->kind.data[found] == EG_LAYOUT_X) {
    c.kind = BY_STRATEGY;
    c.key = model->id.data[found];
    c.value = s->tree->search->view->value_of.data[c.key];
  }
  s->best[0] = c;
  s->count = 1;
  return true;
}

static egraph_status add_fix(eg_layout_tree *tree, eg_layout_fixes *side, uint32_t column,
                             uint8_t value) {
  if (column == EG_LAYOUT_NONE || (tree->low.data[column] == tree->high.data[column] &&
                                   tree->low.data[column] == value))
    return EGRAPH_OK;
  return eg_layout_fixes_push(side, (eg_layout_fix){column, value});
}

static egraph_status fill_sides(eg_layout_tree *tree, const candidate *c) {
  assert(c->kind == BY_COLUMN || c->value < tree->model.y_of.len);
  const eg_layout_view *view = tree->search->view;
  tree->in.len = tree->out.len = 0;
  if (c->kind == BY_COLUMN) {
    EG_TRY(add_fix(tree, &tree->in, c->key, 1));
    return add_fix(tree, &tree->out, c->key, 0);
  }
  EG_EACH_ITEM(s, view->strategies, c->value) {
    EG_TRY(add_fix(tree, is_in(tree, c, s) ? &tree->out : &tree->in,
                   tree->model.x_of.data[s], 0));
  }
  if (c->kind != BY_STRATEGY) return EGRAPH_OK;
  EG_TRY(add_fix(tree, &tree->in, tree->model.y_of.data[c->value], 1));
  return add_fix(tree, &tree->in, tree->model.x_of.data[c->key], 1);
}

/// Bounds one of the two subproblems of a split by a few simplex iterations.
static egraph_status probe_side(eg_layout_tree *tree, const eg_layout_fixes *side,
                                double *out_bound) {
  eg_layout_fixes *undo = &tree->extra;
  size_t from = undo->len;
  bool conflict = false;
  for (size_t i = 0; i < side->len; i++) {
    eg_layout_fix fix = side->data[i];
    uint8_t low = tree->low.data[fix.column], high = tree->high.data[fix.column];
    conflict = conflict || fix.value < low || fix.value > high;
    if (low == high) continue;
    EG_TRY(eg_layout_fixes_push(undo, (eg_layout_fix){fix.column, 0}));
    EG_TRY(set_range(tree, fix.column, fix.value, fix.value));
  }
  eg_lp_state state = EG_LP_INFEASIBLE;
  if (!conflict) EG_TRY(eg_lp_solve(tree->lp, 10, DBL_MAX, &state));
  *out_bound =
      state == EG_LP_INFEASIBLE ? INFINITY : eg_lp_bound(tree->lp) / tree->model.scale;
  for (size_t i = undo->len; i-- > from;)
    EG_TRY(set_range(tree, undo->data[i].column, 0, 1));
  undo->len = from;
  return EGRAPH_OK;
}

static double gain(double bound, double base) {
  double raised = bound - base;
  return raised > 1e-9 * fabs(base) ? raised : 1e-9 * fabs(base) + 1e-30;
}

static egraph_status probe_all(splitter *s, uint32_t *out_best, bool *in_first) {
  eg_layout_tree *tree = s->tree;
  double base = tree->bound, best = -1;
  double room = eg_layout_search_cutoff(tree->search) - base;
  eg_lp_limit_iterations(tree->lp, ITERATIONS);
  uint64_t before = eg_lp_steps(tree->lp);
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < s->count; i++) {
    double in = 0, out = 0;
    status = fill_sides(tree, &s->best[i]);
    if (status == EGRAPH_OK) status = probe_side(tree, &tree->in, &in);
    if (status == EGRAPH_OK) status = probe_side(tree, &tree->out, &out);
    double most = isfinite(room) ? room : 1e3 * (1 + fabs(base));
    double score = gain(in < base + most ? in : base + most, base) *
                   gain(out < base + most ? out : base + most, base);
    if (score > best) {
      best = score;
      *out_best = i;
      *in_first = in <= out || s->best[i].fraction > 0.7;
    }
    if (eg_layout_search_stop(tree->search)) break;
  }
  eg_lp_limit_iterations(tree->lp, 0);
  eg_layout_search_work(tree->search, eg_lp_steps(tree->lp) - before);
  return status;
}

/// Chooses a split of the current solution and fills `in` and `out`. *out_found: false
/// when no column is left to split; *in_first: visit `in` first.
static egraph_status split_node(eg_layout_tree *tree, bool *out_found, bool *in_first) {
  splitter s = {.tree = tree};
  EG_LOCAL(eg_doubles, copy, tree->search->alloc); // probing overwrites the values
  EG_TRY(eg_doubles_append(&copy, eg_lp_values(tree->lp),
                           eg_layout_model_columns(&tree->model)));
  s.x = copy.data;
  consider_all(&s);
  *out_found = s.count != 0 || take_any_column(&s);
  *in_first = true;
  uint32_t best = 0;
  if (s.count > 1) EG_TRY(probe_all(&s, &best, in_first));
  return *out_found ? fill_sides(tree, &s.best[best]) : EGRAPH_OK;
}

// ---- nodes -------------------------------------------------------------------------

static egraph_status activate_node(eg_layout_tree *tree, uint32_t at) {
  assert(at < tree->nodes.len);
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
    EG_TRY(set_range(tree, j, tree->next_low.data[j], tree->next_high.data[j]));
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

/// Solves a node of the tree and splits it; *out_next: the child to visit next, or NONE.
static egraph_status visit_tree_node(eg_layout_tree *tree, uint32_t at,
                                     uint32_t *out_next, eg_layout_outcome *outcome) {
  *out_next = EG_LAYOUT_NONE;
  *outcome = EG_LAYOUT_PRUNED;
  EG_TRY(activate_node(tree, at));
  if (tree->bound >= eg_layout_search_cut(tree->search) || isinf(tree->bound))
    return EGRAPH_OK;
  EG_TRY(eg_layout_tree_solve(tree, at == 0 ? 2 : 1, outcome));
  if (*outcome != EG_LAYOUT_OPEN) return EGRAPH_OK;
  bool done, found, in_first;
  EG_TRY(eg_layout_tree_offer(tree, tree->visited++ % ROUNDING_PERIOD == 0, &done));
  if (done) return EGRAPH_OK;
  tree->extra.len = 0;
  EG_TRY(eg_layout_tree_fix(tree));
  EG_TRY(split_node(tree, &found, &in_first));
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
    EG_TRY(visit_tree_node(tree, next, &child, &outcome));
    if (outcome == EG_LAYOUT_STOPPED) return EGRAPH_OK;
    next = child;
  }
  *out_closed = true;
  if (tree->visit_limit == 0) eg_layout_search_close(search);
  return EGRAPH_OK;
}
