// Splitting a node. A set of strategies of one value is either out (all 0) or in (all the
// others of the value 0): operators, layouts made, layouts needed and single strategies
// are such sets; whether a value is needed and arcs are single columns. Of the most
// fractional ones, the split whose two sides raise the bound most is taken (strong
// branching, with few iterations each).
// SPDX-License-Identifier: Apache-2.0
#include <float.h>

#include "extract/layout/layout_tree.h"

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
  uint32_t value; // whose strategies these are
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

static double sum_of(const splitter *s, const candidate *c) {
  const eg_layout_tree *tree = s->tree;
  const eg_layout_view *view = tree->search->view;
  double sum = 0;
  for (uint32_t i = view->strategies.begin.data[c->value];
       i < view->strategies.begin.data[c->value + 1]; i++) {
    uint32_t column = tree->model.x_of.data[view->strategies.items.data[i]];
    if (column != EG_LAYOUT_NONE && is_in(tree, c, view->strategies.items.data[i]))
      sum += s->x[column];
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
  c.fraction = sum_of(s, &c);
  consider(s, c);
}

static bool is_needed(const eg_layout_tree *tree, uint32_t value) {
  uint32_t y = tree->model.y_of.data[value];
  return tree->active->required.data[value] ||
         (y != EG_LAYOUT_NONE && tree->low.data[y] == 1);
}

static void consider_strategy(splitter *s, uint32_t strategy) {
  const eg_layout_view *view = s->tree->search->view;
  const eg_layout_problem *p = view->problem;
  uint32_t value = view->value_of.data[strategy];
  consider_set(s, BY_STRATEGY, strategy, value);
  if (!is_needed(s->tree, value)) return;
  consider_set(s, BY_OPERATOR, view->op_of.data[strategy], value);
  consider_set(s, BY_OUTPUT, p->output.data[strategy], value);
  for (uint32_t i = p->need_begin.data[strategy]; i < p->need_begin.data[strategy + 1];
       i++)
    consider_set(s, BY_NEED, p->needs.data[i], value);
}

static void collect(splitter *s) {
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

// Nothing is clearly fractional: any integral column that is not fixed, one that is not
// zero first.
static bool any_column(splitter *s) {
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

static egraph_status push(eg_layout_tree *tree, eg_layout_fixes *side, uint32_t column,
                          uint8_t value) {
  if (column == EG_LAYOUT_NONE || (tree->low.data[column] == tree->high.data[column] &&
                                   tree->low.data[column] == value))
    return EGRAPH_OK;
  return eg_layout_fixes_push(side, (eg_layout_fix){column, value});
}

static egraph_status fill_sides(eg_layout_tree *tree, const candidate *c) {
  const eg_layout_view *view = tree->search->view;
  tree->in.len = tree->out.len = 0;
  if (c->kind == BY_COLUMN) {
    EG_TRY(push(tree, &tree->in, c->key, 1));
    return push(tree, &tree->out, c->key, 0);
  }
  for (uint32_t i = view->strategies.begin.data[c->value];
       i < view->strategies.begin.data[c->value + 1]; i++) {
    uint32_t s = view->strategies.items.data[i];
    EG_TRY(push(tree, is_in(tree, c, s) ? &tree->out : &tree->in,
                tree->model.x_of.data[s], 0));
  }
  if (c->kind != BY_STRATEGY) return EGRAPH_OK;
  EG_TRY(push(tree, &tree->in, tree->model.y_of.data[c->value], 1));
  return push(tree, &tree->in, tree->model.x_of.data[c->key], 1);
}

// Bound of one side after a few iterations.
static egraph_status probe(eg_layout_tree *tree, const eg_layout_fixes *side,
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
    EG_TRY(eg_layout_tree_set(tree, fix.column, fix.value, fix.value));
  }
  eg_lp_state state = EG_LP_INFEASIBLE;
  if (!conflict) EG_TRY(eg_lp_solve(tree->lp, 10, DBL_MAX, &state));
  *out_bound =
      state == EG_LP_INFEASIBLE ? INFINITY : eg_lp_bound(tree->lp) / tree->model.scale;
  for (size_t i = undo->len; i-- > from;)
    EG_TRY(eg_layout_tree_set(tree, undo->data[i].column, 0, 1));
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
    if (status == EGRAPH_OK) status = probe(tree, &tree->in, &in);
    if (status == EGRAPH_OK) status = probe(tree, &tree->out, &out);
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

egraph_status eg_layout_tree_split(eg_layout_tree *tree, bool *out_found,
                                   bool *in_first) {
  splitter s = {.tree = tree};
  eg_doubles copy; // probing overwrites the program's values
  eg_doubles_init(&copy, tree->search->alloc);
  EG_TRY(eg_doubles_append(&copy, eg_lp_values(tree->lp),
                           eg_layout_model_columns(&tree->model)));
  s.x = copy.data;
  collect(&s);
  *out_found = s.count != 0 || any_column(&s);
  *in_first = true;
  uint32_t best = 0;
  egraph_status status = EGRAPH_OK;
  if (s.count > 1) status = probe_all(&s, &best, in_first);
  if (status == EGRAPH_OK && *out_found) status = fill_sides(tree, &s.best[best]);
  eg_doubles_deinit(&copy);
  return status;
}
