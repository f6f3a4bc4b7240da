// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_factors.h"

#include <math.h>

#define NONE EG_LAYOUT_NONE

// ---- building -----------------------------------------------------------------------

typedef struct link_pair {
  uint32_t key, link;
} link_pair;
EG_VEC_DEFINE(link_pairs, link_pair);

typedef struct builder {
  eg_layout_factors *f;
  link_pairs of_value, of_tie; // producers' links, links of ties
  eg_u32s last_tree;           // [values] that has room, or NONE
  eg_u32s last_tie;            // [values] 1 + the last one that it has joined, or 0
} builder;

static const eg_layout_problem *problem_of(const eg_layout_factors *f) {
  return f->view->problem;
}

static egraph_status add_link(builder *b, eg_link link, uint32_t *out) {
  eg_layout_factors *f = b->f;
  link.price = (uint32_t)f->price.len;
  *out = (uint32_t)f->links.len;
  size_t labels = f->price.len + eg_link_labels(f, &link);
  EG_TRY(eg_doubles_resize(&f->price, labels));
  EG_TRY(eg_doubles_resize(&f->least, labels));
  EG_TRY(eg_bytes_resize(&f->dead, labels));
  if (link.producers != NONE)
    EG_TRY(link_pairs_push(&b->of_value, (link_pair){link.producers, *out}));
  if (link.kind == EG_LINK_TIE)
    EG_TRY(link_pairs_push(&b->of_tie, (link_pair){link.far, *out}));
  return eg_links_push(&f->links, link);
}

static egraph_status add_tree(builder *b, uint32_t value) {
  eg_layout_factors *f = b->f;
  uint32_t number = (uint32_t)f->trees.len;
  eg_tree_factor tree = {.value = value};
  EG_TRY(add_link(
      b,
      (eg_link){.kind = EG_LINK_MADE, .value = value, .producers = value, .far = number},
      &tree.made));
  b->last_tree.data[value] = number;
  return eg_tree_factors_push(&f->trees, tree);
}

/// A user of a value joins the newest tree that has room.
static egraph_status add_user(builder *b, eg_link_kind kind, uint32_t value,
                              uint32_t producers, uint32_t *out) {
  eg_layout_factors *f = b->f;
  uint32_t tree = b->last_tree.data[value];
  if (f->trees.data[tree].user_count == EG_STEINER_USERS) {
    EG_TRY(add_tree(b, value));
    tree = b->last_tree.data[value];
  }
  EG_TRY(add_link(
      b, (eg_link){.kind = kind, .value = value, .producers = producers, .far = tree},
      out));
  eg_tree_factor *t = &f->trees.data[tree];
  t->users[t->user_count++] = *out;
  return EGRAPH_OK;
}

static bool is_left(const eg_layout_factors *f, uint32_t op) {
  const eg_layout_problem *p = problem_of(f);
  for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
    if (f->active->strategy.data[s]) return true;
  return false;
}

static egraph_status add_uses(builder *b) {
  eg_layout_factors *f = b->f;
  const eg_layout_problem *p = problem_of(f);
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++) {
    uint32_t value = p->operator_value.data[op];
    bool counts = f->active->used.data[value] && is_left(f, op);
    for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++) {
      uint32_t link = NONE;
      if (counts) EG_TRY(add_user(b, EG_LINK_USE, p->inputs.data[i], value, &link));
      EG_TRY(eg_u32s_push(&f->use, link));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_roots(builder *b) {
  eg_layout_factors *f = b->f;
  const eg_layout_problem *p = problem_of(f);
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t value = p->root_value.data[r], link;
    EG_TRY(add_user(b, EG_LINK_ROOT, value, NONE, &link));
    uint8_t *dead = f->dead.data + f->links.data[link].price;
    uint32_t first = p->place_begin.data[value],
             layouts = eg_layout_layout_count(p, value);
    uint32_t begin = p->root_begin.data[r], end = p->root_begin.data[r + 1];
    dead[layouts] = 1;
    for (uint32_t l = 0; begin != end && l < layouts; l++)
      dead[l] = 1;
    for (uint32_t i = begin; i < end; i++)
      dead[p->root_places.data[i] - first] = 0;
  }
  return EGRAPH_OK;
}

static egraph_status add_ties(builder *b) {
  const eg_layout_problem *p = problem_of(b->f);
  for (uint32_t t = 0; t < p->tie_kind.len; t++) {
    if (p->tie_kind.data[t] != EG_LAYOUT_TIE_SOURCES) continue; // left out: still a bound
    for (uint32_t i = p->tie_begin.data[t]; i < p->tie_begin.data[t + 1]; i++) {
      uint32_t value = p->tie_members.data[i], link;
      if (!b->f->active->used.data[value] || b->last_tie.data[value] == t + 1) continue;
      b->last_tie.data[value] = t + 1; // named twice it is a member once
      EG_TRY(add_link(
          b, (eg_link){.kind = EG_LINK_TIE, .value = value, .producers = value, .far = t},
          &link));
    }
  }
  return EGRAPH_OK;
}

/// Rows from pairs, in the order of the pairs.
static egraph_status to_rows(const link_pairs *pairs, uint32_t count,
                             eg_layout_rows *out) {
  EG_TRY(eg_u32s_resize(&out->begin, (size_t)count + 1));
  EG_TRY(eg_u32s_resize(&out->items, pairs->len));
  for (size_t i = 0; i < pairs->len; i++)
    out->begin.data[pairs->data[i].key + 1]++;
  for (uint32_t i = 0; i < count; i++)
    out->begin.data[i + 1] += out->begin.data[i];
  for (size_t i = 0; i < pairs->len; i++)
    out->items.data[out->begin.data[pairs->data[i].key]++] = pairs->data[i].link;
  for (uint32_t i = count; i > 0; i--)
    out->begin.data[i] = out->begin.data[i - 1];
  out->begin.data[0] = 0;
  return EGRAPH_OK;
}

static egraph_status index_trees(builder *b) {
  eg_layout_factors *f = b->f;
  link_pairs pairs;
  link_pairs_init(&pairs, f->price.alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t t = 0; status == EGRAPH_OK && t < f->trees.len; t++)
    status = link_pairs_push(&pairs, (link_pair){f->trees.data[t].value, t});
  if (status == EGRAPH_OK)
    status = to_rows(&pairs, eg_layout_value_count(problem_of(f)), &f->trees_of);
  link_pairs_deinit(&pairs);
  for (uint32_t t = 0; status == EGRAPH_OK && t < f->trees.len; t++) {
    uint32_t value = f->trees.data[t].value;
    f->trees.data[t].share =
        f->trees_of.begin.data[value + 1] - f->trees_of.begin.data[value];
  }
  return status;
}

static egraph_status build(builder *b) {
  eg_layout_factors *f = b->f;
  uint32_t values = eg_layout_value_count(problem_of(f));
  EG_TRY(eg_u32s_resize(&b->last_tree, values));
  EG_TRY(eg_u32s_resize(&b->last_tie, values));
  for (uint32_t v = 0; v < values; v++)
    if (f->active->used.data[v]) EG_TRY(add_tree(b, v));
  EG_TRY(add_uses(b));
  EG_TRY(add_roots(b));
  EG_TRY(add_ties(b));
  EG_TRY(index_trees(b));
  EG_TRY(to_rows(&b->of_value, values, &f->links_of));
  return to_rows(&b->of_tie, (uint32_t)problem_of(f)->tie_kind.len, &f->links_of_tie);
}

#define EACH_U32S(X)                                                                     \
  X(links_of.begin)                                                                      \
  X(links_of.items)                                                                      \
  X(trees_of.begin)                                                                      \
  X(trees_of.items)                                                                      \
  X(links_of_tie.begin)                                                                  \
  X(links_of_tie.items) X(use) X(arc_from) X(arc_to) X(arc_number)
#define EACH_DOUBLES(X)                                                                  \
  X(strategy_cost) X(arc_cost) X(price) X(least) X(arc_weight) X(source)

egraph_status eg_layout_factors_init(eg_layout_factors *f, egraph_allocator alloc,
                                     const eg_layout_view *view,
                                     const eg_layout_active *active) {
  *f = (eg_layout_factors){.view = view, .active = active};
#define INIT_U32S(field) eg_u32s_init(&f->field, alloc);
#define INIT_DOUBLES(field) eg_doubles_init(&f->field, alloc);
  EACH_U32S(INIT_U32S)
  EACH_DOUBLES(INIT_DOUBLES)
  for (int u = 0; u < EG_STEINER_USERS; u++)
    eg_doubles_init(&f->users[u], alloc);
  eg_links_init(&f->links, alloc);
  eg_tree_factors_init(&f->trees, alloc);
  eg_bytes_init(&f->dead, alloc);
  eg_steiner_init(&f->steiner, alloc);
  builder b = {.f = f};
  link_pairs_init(&b.of_value, alloc);
  link_pairs_init(&b.of_tie, alloc);
  eg_u32s_init(&b.last_tree, alloc);
  eg_u32s_init(&b.last_tie, alloc);
  egraph_status status = build(&b);
  link_pairs_deinit(&b.of_value);
  link_pairs_deinit(&b.of_tie);
  eg_u32s_deinit(&b.last_tree);
  eg_u32s_deinit(&b.last_tie);
  if (status != EGRAPH_OK) eg_layout_factors_deinit(f);
  return status;
}

void eg_layout_factors_deinit(eg_layout_factors *f) {
#define DEINIT_U32S(field) eg_u32s_deinit(&f->field);
#define DEINIT_DOUBLES(field) eg_doubles_deinit(&f->field);
  EACH_U32S(DEINIT_U32S)
  EACH_DOUBLES(DEINIT_DOUBLES)
  for (int u = 0; u < EG_STEINER_USERS; u++)
    eg_doubles_deinit(&f->users[u]);
  eg_links_deinit(&f->links);
  eg_tree_factors_deinit(&f->trees);
  eg_bytes_deinit(&f->dead);
  eg_steiner_deinit(&f->steiner);
}

// ---- prices -------------------------------------------------------------------------

static uint32_t none_of(const eg_layout_factors *f, uint32_t link) {
  return eg_link_labels(f, &f->links.data[link]) - 1;
}

static void lower(eg_layout_factors *f, uint32_t link, uint32_t label, double cost) {
  double *least = &f->least.data[f->links.data[link].price + label];
  if (cost < *least) *least = cost;
}

static void forget(eg_layout_factors *f, uint32_t link) {
  const eg_link *l = &f->links.data[link];
  for (uint32_t i = 0; i < eg_link_labels(f, l); i++)
    f->least.data[l->price + i] = INFINITY;
}

// ---- producers ----------------------------------------------------------------------

/// Price of an operator's inputs when it is not chosen.
static double price_of_rest(const eg_layout_factors *f, uint32_t op) {
  const eg_layout_problem *p = problem_of(f);
  double price = 0;
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (f->use.data[i] != NONE)
      price += eg_link_near_price(f, f->use.data[i], none_of(f, f->use.data[i]));
  return price;
}

/// Links of the value itself, where it is made: all but uses.
static double price_of_made(const eg_layout_factors *f, uint32_t value, uint32_t label) {
  double price = 0;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    uint32_t link = f->links_of.items.data[i];
    if (f->links.data[link].kind != EG_LINK_USE)
      price += eg_link_near_price(f, link, label);
  }
  return price;
}

static void lower_made(eg_layout_factors *f, uint32_t value, uint32_t label,
                       double cost) {
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    uint32_t link = f->links_of.items.data[i];
    if (f->links.data[link].kind != EG_LINK_USE) lower(f, link, label, cost);
  }
}

/// The strategy's own cost, its output and its inputs.
static double strategy_alone(const eg_layout_factors *f, uint32_t s) {
  const eg_layout_problem *p = problem_of(f);
  uint32_t op = f->view->op_of.data[s], value = f->view->value_of.data[s];
  double cost = f->strategy_cost.data[s] +
                price_of_made(f, value, p->output.data[s] - p->place_begin.data[value]);
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    cost += eg_link_near_price(f, f->use.data[i],
                               p->needs.data[n] - p->place_begin.data[p->inputs.data[i]]);
  return cost;
}

static void lower_strategy(eg_layout_factors *f, uint32_t s, double cost) {
  const eg_layout_problem *p = problem_of(f);
  uint32_t op = f->view->op_of.data[s], value = f->view->value_of.data[s];
  lower_made(f, value, p->output.data[s] - p->place_begin.data[value], cost);
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    lower(f, f->use.data[i], p->needs.data[n] - p->place_begin.data[p->inputs.data[i]],
          cost);
}

/// What the operators other than `op` of its value cost when they are not chosen.
static double price_of_others(const eg_layout_factors *f, uint32_t op) {
  const eg_layout_view *view = f->view;
  uint32_t value = problem_of(f)->operator_value.data[op], last = op;
  double price = 0;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++) {
    uint32_t other = view->op_of.data[view->strategies.items.data[i]];
    if (other == last || other == op) continue;
    last = other;
    price += price_of_rest(f, other);
  }
  return price;
}

double eg_factor_strategy(const eg_layout_factors *f, uint32_t strategy) {
  return strategy_alone(f, strategy) + price_of_others(f, f->view->op_of.data[strategy]);
}

/// The strategies of one operator of a value: those from `from` on that are its own.
static uint32_t solve_operator(eg_layout_factors *f, uint32_t from, uint32_t end,
                               double *out_best) {
  const eg_u32s *items = &f->view->strategies.items;
  uint32_t op = f->view->op_of.data[items->data[from]], i = from;
  double others = 0;
  *out_best = INFINITY;
  bool priced = false;
  for (; i < end && f->view->op_of.data[items->data[i]] == op; i++) {
    uint32_t s = items->data[i];
    if (!f->active->strategy.data[s]) continue;
    if (!priced) others = price_of_others(f, op);
    priced = true;
    double cost = strategy_alone(f, s) + others;
    if (!(cost < INFINITY)) continue;
    lower_strategy(f, s, cost);
    if (cost < *out_best) *out_best = cost;
  }
  return i;
}

double eg_factor_nothing(const eg_layout_factors *f, uint32_t value) {
  if (f->active->required.data[value]) return INFINITY;
  double price = 0;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    uint32_t link = f->links_of.items.data[i];
    price += eg_link_near_price(f, link, none_of(f, link));
  }
  return price;
}

/// Inputs of operators that are not chosen have no layout.
static void lower_rest(eg_layout_factors *f, uint32_t op, double cost) {
  const eg_layout_problem *p = problem_of(f);
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (f->use.data[i] != NONE)
      lower(f, f->use.data[i], none_of(f, f->use.data[i]), cost);
}

void eg_factor_producers(eg_layout_factors *f, uint32_t value, double *out) {
  const eg_layout_rows *rows = &f->view->strategies;
  uint32_t begin = rows->begin.data[value], end = rows->begin.data[value + 1];
  double nothing = eg_factor_nothing(f, value), first = nothing, second = nothing, best;
  uint32_t best_op = NONE;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++)
    forget(f, f->links_of.items.data[i]);
  lower_made(f, value, eg_layout_layout_count(problem_of(f), value), nothing);
  for (uint32_t i = begin; i < end;) {
    uint32_t op = f->view->op_of.data[rows->items.data[i]];
    i = solve_operator(f, i, end, &best);
    if (best < first) {
      second = first;
      first = best;
      best_op = op;
    } else if (best < second) {
      second = best;
    }
  }
  for (uint32_t i = begin, last = NONE; i < end; i++) {
    uint32_t op = f->view->op_of.data[rows->items.data[i]];
    if (op != last) lower_rest(f, op, op == best_op ? second : first);
    last = op;
  }
  *out = first;
}

// ---- arborescences ------------------------------------------------------------------

static egraph_status fill_far(eg_layout_factors *f, uint32_t link, eg_doubles *out) {
  uint32_t labels = eg_link_labels(f, &f->links.data[link]);
  out->len = 0;
  EG_TRY(eg_doubles_resize(out, labels));
  for (uint32_t l = 0; l < labels; l++)
    out->data[l] = eg_link_far_price(f, link, l);
  return EGRAPH_OK;
}

static egraph_status fill_arcs(eg_layout_factors *f, const eg_tree_factor *tree) {
  const eg_layout_problem *p = problem_of(f);
  const eg_layout_rows *rows = &f->view->value_arcs;
  uint32_t first = p->place_begin.data[tree->value];
  f->arc_from.len = f->arc_to.len = f->arc_number.len = f->arc_weight.len = 0;
  for (uint32_t i = rows->begin.data[tree->value]; i < rows->begin.data[tree->value + 1];
       i++) {
    uint32_t a = rows->items.data[i];
    if (!f->active->arc.data[a]) continue;
    EG_TRY(eg_u32s_push(&f->arc_number, a));
    EG_TRY(eg_u32s_push(&f->arc_from, p->arc_from.data[a] - first));
    EG_TRY(eg_u32s_push(&f->arc_to, p->arc_to.data[a] - first));
    EG_TRY(eg_doubles_push(&f->arc_weight, f->arc_cost.data[a] / tree->share));
  }
  return EGRAPH_OK;
}

egraph_status eg_factor_tree(eg_layout_factors *f, uint32_t number, double *out) {
  const eg_tree_factor *tree = &f->trees.data[number];
  eg_steiner *steiner = &f->steiner;
  EG_TRY(fill_arcs(f, tree));
  EG_TRY(fill_far(f, tree->made, &f->source));
  for (uint32_t u = 0; u < tree->user_count; u++) {
    EG_TRY(fill_far(f, tree->users[u], &f->users[u]));
    steiner->user[u] = f->users[u].data;
  }
  steiner->layouts = eg_layout_layout_count(problem_of(f), tree->value);
  steiner->arcs = (uint32_t)f->arc_from.len;
  steiner->users = tree->user_count;
  steiner->from = f->arc_from.data;
  steiner->to = f->arc_to.data;
  steiner->cost = f->arc_weight.data;
  steiner->source = f->source.data;
  EG_TRY(eg_steiner_solve(steiner, out));
  eg_steiner_source(steiner, f->least.data + f->links.data[tree->made].price);
  EG_TRY(eg_steiner_reverse(steiner));
  for (uint32_t u = 0; u < tree->user_count; u++)
    eg_steiner_user(steiner, u, f->least.data + f->links.data[tree->users[u]].price);
  return EGRAPH_OK;
}

double eg_factor_arc(const eg_layout_factors *f, uint32_t position) {
  return eg_steiner_arc(&f->steiner, position);
}

// ---- ties ---------------------------------------------------------------------------

double eg_factor_member(const eg_layout_factors *f, uint32_t link, uint32_t label) {
  uint32_t none = none_of(f, link);
  double with = label < none ? eg_link_far_price(f, link, label) : INFINITY;
  double without = eg_link_far_price(f, link, none);
  return with < without ? with : without;
}

static void lower_member(eg_layout_factors *f, uint32_t link, uint32_t label,
                         double rest) {
  uint32_t none = none_of(f, link);
  if (label < none) lower(f, link, label, rest + eg_link_far_price(f, link, label));
  lower(f, link, none, rest + eg_link_far_price(f, link, none));
}

void eg_factor_tie(eg_layout_factors *f, uint32_t tie, double *out) {
  uint32_t begin = f->links_of_tie.begin.data[tie], labels = 0;
  uint32_t end = f->links_of_tie.begin.data[tie + 1];
  const uint32_t *links = f->links_of_tie.items.data;
  *out = begin == end ? 0 : INFINITY;
  for (uint32_t i = begin; i < end; i++) {
    forget(f, links[i]);
    if (none_of(f, links[i]) > labels) labels = none_of(f, links[i]);
  }
  for (uint32_t l = 0; l < labels; l++) {
    double all = 0;
    for (uint32_t i = begin; i < end; i++)
      all += eg_factor_member(f, links[i], l);
    if (all < *out) *out = all;
    for (uint32_t i = begin; i < end; i++) {
      double rest = 0; // not all - own: infinities
      for (uint32_t k = begin; k < end; k++)
        if (k != i) rest += eg_factor_member(f, links[k], l);
      lower_member(f, links[i], l, rest);
    }
  }
}
