// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_factors.h"

#include <math.h>

#include "base/owner.h"

#define NONE EG_LAYOUT_NONE

EG_OWNER_DEFINE_STATIC(eg_steiner, (eg_doubles, inside, outside))

static uint32_t none_of(const eg_layout_factors *f, uint32_t link) {
  return eg_link_labels(f, &f->links.data[link]) - 1;
}

// ---- building -----------------------------------------------------------------------

typedef struct builder {
  eg_layout_factors *f;
  eg_u32s last_tree; // [values] its tree that has room, or NONE
  eg_u32s last_tie;  // [values] 1 + the last tie that the value has joined, or 0
} builder;
EG_OWNER_DEFINE_STATIC(builder, (eg_u32s, last_tree, last_tie))

/// Adds a link between two factors. `producers`: the value whose producers it connects,
/// or NONE.
static egraph_status add_link(eg_layout_factors *f, eg_link_kind kind, uint32_t value,
                              uint32_t producers, uint32_t far, uint32_t *out) {
  assert(value < eg_layout_value_count(f->view->problem));
  eg_link link = {kind, value, producers, far, (uint32_t)f->price.len};
  *out = (uint32_t)f->links.len;
  size_t labels = f->price.len + eg_link_labels(f, &link);
  EG_TRY(eg_doubles_resize(&f->price, labels));
  EG_TRY(eg_doubles_resize(&f->least, labels));
  EG_TRY(eg_bytes_resize(&f->dead, labels));
  return eg_links_push(&f->links, link);
}

static egraph_status add_tree(builder *b, uint32_t value) {
  eg_layout_factors *f = b->f;
  uint32_t number = (uint32_t)f->trees.len;
  eg_tree_factor tree = {.value = value};
  EG_TRY(add_link(f, EG_LINK_SOURCE, value, value, number, &tree.source));
  b->last_tree.data[value] = number;
  return eg_tree_factors_push(&f->trees, tree);
}

/// Adds a link for a reader of a value to the newest arborescence of the value, or to a
/// new one when this has EG_STEINER_USERS readers.
static egraph_status add_user(builder *b, eg_link_kind kind, uint32_t value,
                              uint32_t producers, uint32_t *out) {
  assert(b->last_tree.data[value] != NONE);
  eg_layout_factors *f = b->f;
  uint32_t tree = b->last_tree.data[value];
  if (f->trees.data[tree].user_count == EG_STEINER_USERS) {
    EG_TRY(add_tree(b, value));
    tree = b->last_tree.data[value];
  }
  EG_TRY(add_link(f, kind, value, producers, tree, out));
  eg_tree_factor *t = &f->trees.data[tree];
  t->users[t->user_count++] = *out;
  return EGRAPH_OK;
}

/// Finds the link of one use of `input` by the producers of `value`: the nth input of an
/// operator that equals `input`. `first`: the first link that these producers have added.
static egraph_status find_use(builder *b, uint32_t value, uint32_t input, uint32_t nth,
                              size_t first, uint32_t *out) {
  const eg_link *links = b->f->links.data;
  for (size_t i = first; i < b->f->links.len; i++) {
    if (links[i].kind != EG_LINK_USE || links[i].value != input || nth-- != 0) continue;
    *out = (uint32_t)i;
    return EGRAPH_OK;
  }
  return add_user(b, EG_LINK_USE, input, value, out);
}

static egraph_status add_operator_uses(builder *b, uint32_t op, size_t first) {
  const eg_layout_problem *p = b->f->view->problem;
  uint32_t begin = p->input_begin.data[op], end = p->input_begin.data[op + 1];
  for (uint32_t i = begin; i < end; i++) {
    uint32_t nth = 0;
    for (uint32_t k = begin; k < i; k++)
      nth += p->inputs.data[k] == p->inputs.data[i];
    EG_TRY(find_use(b, p->operator_value.data[op], p->inputs.data[i], nth, first,
                    &b->f->use.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status add_uses(builder *b) {
  eg_layout_factors *f = b->f;
  const eg_layout_rows *strategies = &f->view->strategies;
  EG_TRY(eg_fill_none(&f->use, f->view->problem->inputs.len));
  for (uint32_t v = 0; v < eg_layout_value_count(f->view->problem); v++) {
    size_t first = f->links.len;
    if (!f->active->used.data[v]) continue;
    for (uint32_t i = strategies->begin.data[v], last = NONE;
         i < strategies->begin.data[v + 1]; i++) {
      uint32_t op = f->view->op_of.data[strategies->items.data[i]];
      if (op == last || !eg_layout_active_has(f->active, op)) continue;
      last = op;
      EG_TRY(add_operator_uses(b, op, first));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_roots(builder *b) {
  eg_layout_factors *f = b->f;
  const eg_layout_problem *p = f->view->problem;
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
  const eg_layout_problem *p = b->f->view->problem;
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++) {
    for (uint32_t i = p->tie_begin.data[t]; i < p->tie_begin.data[t + 1]; i++) {
      uint32_t value = p->tie_members.data[i], link;
      if (!b->f->active->used.data[value] || b->last_tie.data[value] == t + 1) continue;
      b->last_tie.data[value] = t + 1; // a member once, even if named twice
      EG_TRY(add_link(b->f, EG_LINK_TIE, value, value, t, &link));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_seams(eg_layout_factors *f) {
  const eg_layout_seam_list *seams = f->view->seams;
  for (uint32_t i = 0, link; seams != NULL && i < seams->len; i++) {
    const eg_layout_seam *s = &seams->data[i];
    const uint32_t values[] = {s->before, s->first, s->last, s->after};
    for (uint32_t k = 0; k < EG_SEAM_ENDS; k++) {
      EG_TRY(add_link(f, EG_LINK_SEAM, values[k], values[k], i, &link));
      f->dead.data[f->links.data[link].price + none_of(f, link)] = 1; // it is produced
    }
  }
  return EGRAPH_OK;
}

/// Adds a link for each value that has operators in a cut (a set of operators).
static egraph_status add_cut_links(eg_layout_factors *f, uint32_t cut) {
  const eg_layout_landmarks *landmarks = f->landmarks;
  const eg_u32s *value_of = &f->view->problem->operator_value;
  uint32_t begin = landmarks->cut_begin.data[cut], link;
  for (uint32_t i = begin; i < landmarks->cut_begin.data[cut + 1]; i++) {
    uint32_t value = value_of->data[landmarks->cut_ops.data[i]];
    bool is_new = true;
    for (uint32_t k = begin; k < i; k++)
      is_new = is_new && value_of->data[landmarks->cut_ops.data[k]] != value;
    if (is_new) EG_TRY(add_link(f, EG_LINK_CUT, value, value, cut, &link));
  }
  return EGRAPH_OK;
}

/// Groups the links of a kind by the factor at their far end.
static egraph_status index_far_ends(eg_layout_factors *f, eg_link_kind kind,
                                    uint32_t count, eg_u32s *key, eg_layout_rows *out) {
  for (size_t i = 0; i < f->links.len; i++)
    key->data[i] = f->links.data[i].kind == kind ? f->links.data[i].far : NONE;
  return eg_layout_rows_fill(out, count, key);
}

static egraph_status index_links(eg_layout_factors *f, eg_u32s *key) {
  const eg_layout_problem *p = f->view->problem;
  uint32_t seams = f->view->seams != NULL ? (uint32_t)f->view->seams->len : 0;
  EG_TRY(eg_u32s_resize(key, f->trees.len));
  for (size_t t = 0; t < f->trees.len; t++)
    key->data[t] = f->trees.data[t].value;
  EG_TRY(eg_layout_rows_fill(&f->trees_of, eg_layout_value_count(p), key));
  EG_TRY(eg_u32s_resize(key, f->links.len));
  for (size_t i = 0; i < f->links.len; i++)
    key->data[i] = f->links.data[i].producers;
  EG_TRY(eg_layout_rows_fill(&f->links_of, eg_layout_value_count(p), key));
  EG_TRY(index_far_ends(f, EG_LINK_TIE, eg_layout_tie_count(p), key, &f->links_of_tie));
  EG_TRY(index_far_ends(f, EG_LINK_SEAM, seams, key, &f->links_of_seam));
  return index_far_ends(f, EG_LINK_CUT, eg_layout_cut_count(f->landmarks), key,
                        &f->links_of_cut);
}

static egraph_status build_factors(builder *b) {
  eg_layout_factors *f = b->f;
  uint32_t values = eg_layout_value_count(f->view->problem);
  EG_TRY(eg_u32s_resize(&b->last_tree, values));
  EG_TRY(eg_u32s_resize(&b->last_tie, values));
  for (uint32_t v = 0; v < values; v++)
    if (f->active->used.data[v]) EG_TRY(add_tree(b, v));
  EG_TRY(add_uses(b));
  EG_TRY(add_roots(b));
  EG_TRY(add_ties(b));
  EG_TRY(add_seams(f));
  for (uint32_t c = 0; c < eg_layout_cut_count(f->landmarks); c++)
    EG_TRY(add_cut_links(f, c));
  EG_TRY(index_links(f, &b->last_tree)); // reuses its memory
  for (size_t t = 0; t < f->trees.len; t++) {
    uint32_t value = f->trees.data[t].value;
    f->trees.data[t].share =
        f->trees_of.begin.data[value + 1] - f->trees_of.begin.data[value];
  }
  bool has_seams = f->view->seams != NULL && f->view->seams->len != 0;
  EG_TRY(eg_doubles_resize(&f->front, has_seams ? f->price.len : 0));
  return eg_doubles_resize(&f->back, has_seams ? f->price.len : 0);
}

#define OWNED                                                                            \
  (eg_doubles, strategy_cost, arc_cost, price, least, front, back, arc_weight, source),  \
      (eg_layout_rows, links_of, trees_of, links_of_tie, links_of_seam, links_of_cut),   \
      (eg_u32s, use, arc_from, arc_to, arc_number), (eg_bytes, dead), (eg_links, links), \
      (eg_tree_factors, trees), (eg_steiner, steiner)

egraph_status eg_layout_factors_init(eg_layout_factors *f, egraph_allocator alloc,
                                     const eg_layout_view *view,
                                     const eg_layout_active *active,
                                     const eg_layout_landmarks *landmarks) {
  *f = (eg_layout_factors){.view = view, .active = active, .landmarks = landmarks};
  EG_INIT_MEMBERS(f, alloc, OWNED)
  for (int u = 0; u < EG_STEINER_USERS; u++)
    eg_doubles_init(&f->users[u], alloc);
  EG_LOCAL(builder, b, alloc);
  b.f = f;
  return build_factors(&b);
}

void eg_layout_factors_deinit(eg_layout_factors *f) {
  EG_DEINIT_MEMBERS(f, OWNED)
  for (int u = 0; u < EG_STEINER_USERS; u++)
    eg_doubles_deinit(&f->users[u]);
}

// ---- least costs --------------------------------------------------------------------

static void lower_least(eg_layout_factors *f, uint32_t link, uint32_t label,
                        double cost) {
  double *least = &f->least.data[f->links.data[link].price + label];
  if (cost < *least) *least = cost;
}

static void clear_least(eg_layout_factors *f, uint32_t link) {
  const eg_link *l = &f->links.data[link];
  for (uint32_t i = 0; i < eg_link_labels(f, l); i++)
    f->least.data[l->price + i] = INFINITY;
}

// ---- producers ----------------------------------------------------------------------

/// True when a link's label is the layout in which its producers produce the value.
static bool is_source(const eg_link *link) {
  return link->kind == EG_LINK_SOURCE || link->kind == EG_LINK_TIE ||
         link->kind == EG_LINK_SEAM;
}

/// Returns a strategy's own cost, plus the multipliers of its output and its inputs.
static double strategy_alone(const eg_layout_factors *f, uint32_t s) {
  const eg_layout_problem *p = f->view->problem;
  uint32_t op = f->view->op_of.data[s], layout = eg_layout_output(f->view, s);
  double price = 0;
  EG_EACH_ITEM(link, f->links_of, f->view->value_of.data[s])
    if (is_source(&f->links.data[link])) price += eg_link_near_price(f, link, layout);
  double cost = f->strategy_cost.data[s] + price;
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    cost += eg_link_near_price(f, f->use.data[i],
                               p->needs.data[n] - p->place_begin.data[p->inputs.data[i]]);
  return cost;
}

static void lower_strategy(eg_layout_factors *f, uint32_t s, double cost) {
  const eg_layout_problem *p = f->view->problem;
  uint32_t op = f->view->op_of.data[s], layout = eg_layout_output(f->view, s);
  EG_EACH_ITEM(link, f->links_of, f->view->value_of.data[s])
    if (is_source(&f->links.data[link])) lower_least(f, link, layout, cost);
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    lower_least(f, f->use.data[i],
                p->needs.data[n] - p->place_begin.data[p->inputs.data[i]], cost);
}

/// True when the label of a link depends on the operator alone. *out_label is then the
/// label: none if the operator does not use the link, or its membership in a cut.
static bool label_by_operator(const eg_layout_factors *f, uint32_t op, uint32_t number,
                              uint32_t *out_label) {
  const eg_layout_problem *p = f->view->problem;
  const eg_link *link = &f->links.data[number];
  if (is_source(link)) return false;
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (link->kind == EG_LINK_USE && f->use.data[i] == number) return false;
  bool is_in = link->kind == EG_LINK_CUT && eg_link_cuts(f, link, op);
  *out_label = is_in ? EG_CUT_CHOSEN : none_of(f, number);
  return true;
}

static double price_of_operator(const eg_layout_factors *f, uint32_t op) {
  uint32_t label;
  double price = 0;
  EG_EACH_ITEM(link, f->links_of, f->view->problem->operator_value.data[op])
    if (label_by_operator(f, op, link, &label))
      price += eg_link_near_price(f, link, label);
  return price;
}

double eg_factor_strategy(const eg_layout_factors *f, uint32_t strategy) {
  return strategy_alone(f, strategy) +
         price_of_operator(f, f->view->op_of.data[strategy]);
}

double eg_factor_nothing(const eg_layout_factors *f, uint32_t value) {
  if (f->active->required.data[value]) return INFINITY;
  double price = 0;
  EG_EACH_ITEM(link, f->links_of, value) {
    price += eg_link_near_price(f, link, none_of(f, link));
  }
  return price;
}

void eg_factor_producers(eg_layout_factors *f, uint32_t value, double *out) {
  assert(value < eg_layout_value_count(f->view->problem));
  const eg_layout_rows *rows = &f->view->strategies;
  uint32_t links = f->links_of.begin.data[value + 1] - f->links_of.begin.data[value];
  double nothing = eg_factor_nothing(f, value);
  EG_EACH_ITEM(link, f->links_of, value) {
    clear_least(f, link);
    lower_least(f, link, none_of(f, link), nothing);
  }
  *out = nothing;
  for (uint32_t i = rows->begin.data[value], end = rows->begin.data[value + 1];
       i < end;) {
    uint32_t op = f->view->op_of.data[rows->items.data[i]], label;
    double shared = price_of_operator(f, op), best = INFINITY;
    for (; i < end && f->view->op_of.data[rows->items.data[i]] == op; i++) {
      uint32_t s = rows->items.data[i];
      if (!f->active->strategy.data[s]) continue;
      double cost = strategy_alone(f, s) + shared;
      f->steps += 4 + 4 * links;
      if (!(cost < INFINITY)) continue;
      lower_strategy(f, s, cost);
      if (cost < best) best = cost;
    }
    EG_EACH_ITEM(link, f->links_of, value)
      if (best < INFINITY && label_by_operator(f, op, link, &label))
        lower_least(f, link, label, best);
    if (best < *out) *out = best;
  }
}

// ---- arborescences ------------------------------------------------------------------
//
// Dreyfus and Wagner (1971) on a directed graph, with min-marginals by an outside pass.
// inside[S][l]: least price of serving the users S from layout l. outside[S][l]: least
// price of the rest, when S is served from l. A user without a layout is not served.

static double *table_row(const eg_steiner *s, const eg_doubles *table, uint32_t set) {
  return table->data + (size_t)set * s->layouts;
}

static double smaller(double a, double b) { return a < b ? a : b; }

/// Extends conversion paths by arcs at their start (inside) or at their end (outside).
/// Paths are short, so a few rounds suffice.
static void relax_ways(const eg_steiner *s, double *table, bool is_inside) {
  const uint32_t *near = is_inside ? s->from : s->to, *far = is_inside ? s->to : s->from;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t a = 0; a < s->arcs; a++) {
      double way = s->cost[a] + table[far[a]];
      if (!(way < table[near[a]])) continue;
      table[near[a]] = way;
      changed = true;
    }
  }
}

static void serve_one(const eg_steiner *s, uint32_t user) {
  assert(user < s->users);
  double *table = table_row(s, &s->inside, UINT32_C(1) << user);
  const double *price = s->user[user];
  for (uint32_t l = 0; l < s->layouts; l++)
    table[l] = price[l];
  relax_ways(s, table, true);
  for (uint32_t l = 0; l < s->layouts; l++)
    table[l] = smaller(table[l], price[s->layouts]);
}

static void serve_set(const eg_steiner *s, uint32_t set) {
  double *table = table_row(s, &s->inside, set);
  for (uint32_t l = 0; l < s->layouts; l++)
    table[l] = INFINITY;
  for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {
    if (part < (set ^ part)) continue; // each pair once
    const double *a = table_row(s, &s->inside, part),
                 *b = table_row(s, &s->inside, set ^ part);
    for (uint32_t l = 0; l < s->layouts; l++)
      table[l] = smaller(table[l], a[l] + b[l]);
  }
  relax_ways(s, table, true);
}

static uint32_t all_users(const eg_steiner *s) { return (UINT32_C(1) << s->users) - 1; }

/// Returns the price of the case that no reader of the value needs a layout.
static double price_of_none(const eg_steiner *s) {
  double price = s->source[s->layouts];
  for (uint32_t u = 0; u < s->users; u++)
    price += s->user[u][s->layouts];
  return price;
}

/// Finds the least price of an arborescence over all layouts in which the value may be
/// produced. O(3^users layouts + 2^users arcs paths).
static egraph_status solve_tree(eg_steiner *s, double *out) {
  assert(s->users <= EG_STEINER_USERS);
  EG_TRY(eg_doubles_reserve(&s->inside, ((size_t)all_users(s) + 1) * s->layouts));
  for (uint32_t l = 0; l < s->layouts; l++)
    s->inside.data[l] = 0; // no user
  for (uint32_t set = 1; set <= all_users(s); set++) {
    if ((set & (set - 1)) == 0)
      serve_one(s, (uint32_t)__builtin_ctz(set));
    else
      serve_set(s, set);
  }
  const double *all = table_row(s, &s->inside, all_users(s));
  *out = price_of_none(s);
  for (uint32_t l = 0; l < s->layouts; l++)
    *out = smaller(*out, s->source[l] + all[l]);
  return EGRAPH_OK;
}

/// Fills the least price of the arborescence for each layout of production, and for none.
static void fill_source(const eg_steiner *s, double *out) {
  const double *all = table_row(s, &s->inside, all_users(s));
  for (uint32_t l = 0; l < s->layouts; l++)
    out[l] = s->source[l] + all[l];
  out[s->layouts] = price_of_none(s);
}

static void leave_rest(const eg_steiner *s, uint32_t set) {
  double *table = table_row(s, &s->outside, set);
  relax_ways(s, table, false);
  for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {
    double *to = table_row(s, &s->outside, part);
    const double *rest = table_row(s, &s->inside, set ^ part);
    for (uint32_t l = 0; l < s->layouts; l++)
      to[l] = smaller(to[l], table[l] + rest[l]);
  }
}

/// Fills the table `outside`: for fill_user and eg_factor_arc, the cost of other readers.
static egraph_status solve_rest(eg_steiner *s) {
  EG_TRY(eg_doubles_reserve(&s->outside, ((size_t)all_users(s) + 1) * s->layouts));
  for (size_t i = 0; i < ((size_t)all_users(s) + 1) * s->layouts; i++)
    s->outside.data[i] = INFINITY;
  double *all = table_row(s, &s->outside, all_users(s));
  for (uint32_t l = 0; l < s->layouts; l++)
    all[l] = s->source[l];
  for (uint32_t set = all_users(s); set != 0; set--)
    leave_rest(s, set);
  return EGRAPH_OK;
}

/// Fills the least price of the arborescence for each layout that one reader may need.
static void fill_user(const eg_steiner *s, uint32_t user, double *out) {
  const double *rest = table_row(s, &s->outside, UINT32_C(1) << user);
  const double *price = s->user[user];
  double any = INFINITY;
  for (uint32_t l = 0; l < s->layouts; l++) {
    out[l] = rest[l] + price[l];
    any = smaller(any, rest[l]);
  }
  out[s->layouts] = smaller(price_of_none(s), any + price[s->layouts]);
}

static egraph_status fill_far(eg_layout_factors *f, uint32_t link, eg_doubles *out) {
  uint32_t labels = eg_link_labels(f, &f->links.data[link]);
  out->len = 0;
  EG_TRY(eg_doubles_resize(out, labels));
  for (uint32_t l = 0; l < labels; l++)
    out->data[l] = eg_link_far_price(f, link, l);
  return EGRAPH_OK;
}

static egraph_status fill_arcs(eg_layout_factors *f, const eg_tree_factor *tree) {
  const eg_layout_problem *p = f->view->problem;
  const eg_layout_rows *rows = &f->view->value_arcs;
  uint32_t first = p->place_begin.data[tree->value];
  f->arc_from.len = f->arc_to.len = f->arc_number.len = f->arc_weight.len = 0;
  EG_EACH_ITEM(a, *rows, tree->value) {
    if (!f->active->arc.data[a]) continue;
    EG_TRY(eg_u32s_push(&f->arc_number, a));
    EG_TRY(eg_u32s_push(&f->arc_from, p->arc_from.data[a] - first));
    EG_TRY(eg_u32s_push(&f->arc_to, p->arc_to.data[a] - first));
    EG_TRY(eg_doubles_push(&f->arc_weight, f->arc_cost.data[a] / tree->share));
  }
  return EGRAPH_OK;
}

egraph_status eg_factor_tree(eg_layout_factors *f, uint32_t number, double *out) {
  assert(number < f->trees.len);
  const eg_tree_factor *tree = &f->trees.data[number];
  eg_steiner *steiner = &f->steiner;
  EG_TRY(fill_arcs(f, tree));
  EG_TRY(fill_far(f, tree->source, &f->source));
  for (uint32_t u = 0; u < tree->user_count; u++) {
    EG_TRY(fill_far(f, tree->users[u], &f->users[u]));
    steiner->user[u] = f->users[u].data;
  }
  steiner->layouts = eg_layout_layout_count(f->view->problem, tree->value);
  steiner->arcs = (uint32_t)f->arc_from.len;
  steiner->users = tree->user_count;
  steiner->from = f->arc_from.data;
  steiner->to = f->arc_to.data;
  steiner->cost = f->arc_weight.data;
  steiner->source = f->source.data;
  // Counts the work: for each set of users, paths are extended along arcs, in both ways.
  f->steps += (UINT64_C(6) << tree->user_count) * (steiner->layouts + steiner->arcs);
  EG_TRY(solve_tree(steiner, out));
  fill_source(steiner, f->least.data + f->links.data[tree->source].price);
  EG_TRY(solve_rest(steiner));
  for (uint32_t u = 0; u < tree->user_count; u++)
    fill_user(steiner, u, f->least.data + f->links.data[tree->users[u]].price);
  return EGRAPH_OK;
}

double eg_factor_arc(const eg_layout_factors *f, uint32_t position) {
  assert(position < f->arc_number.len);
  const eg_steiner *s = &f->steiner;
  double price = INFINITY;
  for (uint32_t set = 1; set <= all_users(s); set++)
    price = smaller(price, table_row(s, &s->outside, set)[s->from[position]] +
                               s->cost[position] +
                               table_row(s, &s->inside, set)[s->to[position]]);
  return price;
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
  if (label < none) lower_least(f, link, label, rest + eg_link_far_price(f, link, label));
  lower_least(f, link, none, rest + eg_link_far_price(f, link, none));
}

void eg_factor_tie(eg_layout_factors *f, uint32_t tie, double *out) {
  assert(tie + 1 < f->links_of_tie.begin.len);
  uint32_t begin = f->links_of_tie.begin.data[tie], labels = 0;
  uint32_t end = f->links_of_tie.begin.data[tie + 1];
  const uint32_t *links = f->links_of_tie.items.data;
  *out = begin == end ? 0 : INFINITY;
  for (uint32_t i = begin; i < end; i++) {
    clear_least(f, links[i]);
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

// ---- seams --------------------------------------------------------------------------
//
// Let b, f, l, a be the prices that the four values of a seam have handed over, by
// label, for the part divided by its n copies. A row of copies pays b + f at its front,
// l + f where two copies meet, l + a at its back: at least K1 + (n - 1) K2 + K3, the
// minima of these sums over labels. With K1 = u + v, K2 = w + v and K3 = w + x, whatever
// v is, potentials
//
//   p between u - b and f - v,   q between w - l and a - x,   q <= p
//
// leave at least u, v, w and x to the four, so that the bound does not sink.

typedef struct seam {
  eg_layout_factors *f;
  const uint32_t *links;
  uint32_t labels;
  double times;
  double least[EG_SEAM_ENDS]; // u, v, w, x
} seam;

/// Returns the price of a layout at one of the four values of a seam, per copy for values
/// of the repeated block; INFINITY: impossible.
static double handed(const seam *s, int end, uint32_t label) {
  double price = eg_link_far_price(s->f, s->links[end], label);
  if (isinf(price)) return INFINITY;
  return end == EG_SEAM_FIRST || end == EG_SEAM_LAST ? price / s->times : price;
}

static double least_handed(const seam *s, int end) {
  double least = INFINITY;
  for (uint32_t l = 0; l < s->labels; l++)
    least = fmin(least, handed(s, end, l));
  return least;
}

static double least_met(const seam *s, int end, int other) {
  double least = INFINITY;
  for (uint32_t l = 0; l < s->labels; l++)
    least = fmin(least, handed(s, end, l) + handed(s, other, l));
  return least;
}

/// Returns the middle of two prices; the finite price if the other is infinite.
static double between(double low, double high) {
  if (isinf(low)) return isinf(high) ? 0 : high;
  return isinf(high) ? low : low + (high - low) / 2;
}

static void set_price(const seam *s, int end, uint32_t label, double price, bool is_met) {
  uint32_t at = s->f->links.data[s->links[end]].price + label;
  s->f->price.data[at] = price;
  if (!is_met) s->f->dead.data[at] = 1;
}

static void set_potentials(const seam *s, uint32_t label) {
  double b = handed(s, EG_SEAM_BEFORE, label), f = handed(s, EG_SEAM_FIRST, label);
  double l = handed(s, EG_SEAM_LAST, label), a = handed(s, EG_SEAM_AFTER, label);
  const double *least = s->least;
  double p = between(fmax(least[EG_SEAM_BEFORE] - b, least[EG_SEAM_LAST] - l),
                     f - least[EG_SEAM_FIRST]);
  double q = fmin(between(least[EG_SEAM_LAST] - l, fmin(a - least[EG_SEAM_AFTER], p)), p);
  uint32_t at = s->f->links.data[s->links[EG_SEAM_BEFORE]].price + label;
  s->f->front.data[at] = p;
  s->f->back.data[at] = q;
  set_price(s, EG_SEAM_BEFORE, label, p - least[EG_SEAM_BEFORE], f < INFINITY);
  set_price(s, EG_SEAM_FIRST, label, -s->times * (p + least[EG_SEAM_FIRST]),
            b < INFINITY || l < INFINITY);
  set_price(s, EG_SEAM_LAST, label, s->times * (q - least[EG_SEAM_LAST]),
            f < INFINITY || a < INFINITY);
  set_price(s, EG_SEAM_AFTER, label, -q - least[EG_SEAM_AFTER], l < INFINITY);
}

void eg_factor_seam(eg_layout_factors *f, uint32_t number, double *out) {
  assert(f->view->seams != NULL && number < f->view->seams->len);
  seam s = {.f = f,
            .links = f->links_of_seam.items.data + f->links_of_seam.begin.data[number],
            .times = f->view->seams->data[number].times};
  s.labels = none_of(f, s.links[EG_SEAM_BEFORE]);
  double front = least_met(&s, EG_SEAM_BEFORE, EG_SEAM_FIRST),
         middle = least_met(&s, EG_SEAM_LAST, EG_SEAM_FIRST);
  double back = least_met(&s, EG_SEAM_LAST, EG_SEAM_AFTER);
  *out = front + (s.times - 1) * middle + back;
  if (!(*out < INFINITY)) return;
  s.least[EG_SEAM_FIRST] =
      (middle + least_handed(&s, EG_SEAM_FIRST) - least_handed(&s, EG_SEAM_LAST)) / 2;
  s.least[EG_SEAM_LAST] = middle - s.least[EG_SEAM_FIRST];
  s.least[EG_SEAM_BEFORE] = front - s.least[EG_SEAM_FIRST];
  s.least[EG_SEAM_AFTER] = back - s.least[EG_SEAM_LAST];
  for (uint32_t l = 0; l < s.labels; l++)
    set_potentials(&s, l);
}

// ---- cuts ---------------------------------------------------------------------------

void eg_factor_cut(eg_layout_factors *f, uint32_t cut, double *out) {
  assert(cut + 1 < f->links_of_cut.begin.len);
  uint32_t begin = f->links_of_cut.begin.data[cut];
  uint32_t end = f->links_of_cut.begin.data[cut + 1];
  const uint32_t *links = f->links_of_cut.items.data;
  // Sums the cheapest labels, and finds the least extra cost of choosing an operator:
  // `first` over all links, `second` over all links except the link of `first`.
  double all = 0, first = INFINITY, second = INFINITY;
  for (uint32_t i = begin; i < end; i++) {
    double with = eg_link_far_price(f, links[i], EG_CUT_CHOSEN);
    double without = eg_link_far_price(f, links[i], EG_CUT_NOT), more = with - without;
    if (isinf(without)) more = 0;
    all += fmin(with, without);
    more = fmax(more, 0);
    second = fmin(second, fmax(first, more));
    first = fmin(first, more);
  }
  for (uint32_t i = begin; i < end; i++) {
    double with = eg_link_far_price(f, links[i], EG_CUT_CHOSEN);
    double without = eg_link_far_price(f, links[i], EG_CUT_NOT);
    double more = isinf(without) ? 0 : fmax(with - without, 0);
    double rest = all - fmin(with, without);
    clear_least(f, links[i]);
    lower_least(f, links[i], EG_CUT_CHOSEN, rest + with);
    lower_least(f, links[i], EG_CUT_NOT,
                rest + without + (more > first ? first : second));
  }
  *out = all + first;
}
