// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_encoding.h"

#include <math.h>

#include "base/owner.h"

#define NONE EG_LAYOUT_NONE
typedef eg_layout_encoding encoding;

EG_OWNER_DEFINE(eg_layout_encoding, (eg_u32s, source, set, need, uses, vars),
                (eg_labels, row), (eg_bytes, asked), (eg_layout_provision, provision))

static double *costs_of(const encoding *e, uint32_t var) {
  return eg_cost_network_costs(e->network, var);
}

/// Adds a row of two labels to the relation at hand, if it has a finite cost.
static egraph_status add_pair(encoding *e, uint32_t a, uint32_t b, double cost) {
  const uint16_t row[] = {(uint16_t)a, (uint16_t)b};
  return cost < INFINITY ? eg_relation_add(&e->network->maker, row, 0, cost) : EGRAPH_OK;
}

// ---- strategies ---------------------------------------------------------------------

/// Whether a strategy may be chosen, and its cost above that of the cheapest.
static bool is_possible(encoding *e, uint32_t strategy, double *out_cost) {
  eg_relation_maker *maker = &e->network->maker;
  if (!e->factors->active->strategy.data[strategy]) return false;
  if (!eg_relation_has_room(maker, e->strategy_excess->data[strategy])) return false;
  *out_cost = eg_factor_strategy(e->factors, strategy) - e->nearest;
  return eg_relation_has_room(maker, *out_cost);
}

/// Lists the variables of a value's producers: its source, and a need of every input and
/// cut of an operator.
static egraph_status list_vars(encoding *e, uint32_t value) {
  const eg_layout_factors *f = e->factors;
  e->uses.len = e->vars.len = 0;
  EG_TRY(eg_u32s_push(&e->vars, e->source.data[value]));
  EG_EACH_ITEM(link, f->links_of, value) {
    eg_link_kind kind = f->links.data[link].kind;
    if (kind != EG_LINK_USE && kind != EG_LINK_CUT) continue;
    EG_TRY(eg_u32s_push(&e->uses, link));
    EG_TRY(eg_u32s_push(&e->vars, e->need.data[link]));
  }
  return eg_labels_resize(&e->row, e->vars.len);
}

/// The labels of a value that is not produced: nothing is needed for it.
static void fill_nothing(encoding *e, uint32_t value) {
  const eg_layout_factors *f = e->factors;
  e->row.data[0] = (uint16_t)eg_layout_layout_count(f->view->problem, value);
  for (size_t i = 0; i < e->uses.len; i++)
    e->row.data[i + 1] =
        (uint16_t)(eg_link_labels(f, &f->links.data[e->uses.data[i]]) - 1);
}

/// The labels of a strategy: operators that are not chosen need nothing and are in no
/// cut.
static void fill_row(encoding *e, uint32_t s) {
  const eg_layout_factors *f = e->factors;
  const eg_layout_problem *p = f->view->problem;
  uint32_t op = f->view->op_of.data[s];
  fill_nothing(e, p->operator_value.data[op]);
  e->row.data[0] = (uint16_t)eg_layout_output(f->view, s);
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    for (size_t k = 0; k < e->uses.len; k++)
      if (e->uses.data[k] == f->use.data[i])
        e->row.data[k + 1] =
            (uint16_t)(p->needs.data[n] - p->place_begin.data[p->inputs.data[i]]);
  for (size_t k = 0; k < e->uses.len; k++) {
    const eg_link *link = &f->links.data[e->uses.data[k]];
    if (link->kind == EG_LINK_CUT && eg_link_cuts(f, link, op))
      e->row.data[k + 1] = EG_CUT_CHOSEN;
  }
}

/// Variables of a value's producers, with the least cost of each source; notes the
/// layouts that its strategies ask for.
static egraph_status add_source(encoding *e, uint32_t value) {
  const eg_layout_factors *f = e->factors;
  const eg_layout_problem *p = f->view->problem;
  uint32_t layouts = eg_layout_layout_count(p, value), var;
  EG_TRY(eg_cost_network_add_var(e->network, layouts + 1, INFINITY, &var));
  e->source.data[value] = var;
  double *cost = costs_of(e, var), own;
  eg_factor_producers(e->factors, value, &e->nearest);
  e->bound += e->nearest;
  cost[layouts] = eg_factor_nothing(f, value) - e->nearest;
  EG_EACH_ITEM(s, f->view->strategies, value) {
    uint32_t layout = eg_layout_output(f->view, s), op = f->view->op_of.data[s];
    if (!is_possible(e, s, &own)) continue;
    if (own < cost[layout]) cost[layout] = own;
    for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
         i < p->input_begin.data[op + 1]; i++, n++)
      e->asked.data[f->links.data[f->use.data[i]].price + p->needs.data[n] -
                    p->place_begin.data[p->inputs.data[i]]] = 1;
  }
  EG_EACH_ITEM(number, f->links_of, value) {
    const eg_link *link = &f->links.data[number];
    if (link->kind == EG_LINK_USE || link->kind == EG_LINK_CUT)
      EG_TRY(eg_cost_network_add_var(e->network, eg_link_labels(f, link), 0,
                                     &e->need.data[number]));
  }
  return EGRAPH_OK;
}

static egraph_status add_producers(encoding *e, uint32_t value) {
  eg_relation_maker *maker = &e->network->maker;
  EG_TRY(list_vars(e, value));
  e->fits = e->fits && e->vars.len <= EG_RELATION_VARS;
  if (!e->fits) return EGRAPH_OK;
  EG_TRY(eg_cost_network_begin(e->network, e->vars.data, (uint32_t)e->vars.len));
  eg_factor_producers(e->factors, value, &e->nearest);
  double cost = eg_factor_nothing(e->factors, value) - e->nearest;
  fill_nothing(e, value);
  if (cost < INFINITY) EG_TRY(eg_relation_add(maker, e->row.data, 0, cost));
  EG_EACH_ITEM(s, e->factors->view->strategies, value) {
    if (!is_possible(e, s, &cost)) continue;
    fill_row(e, s);
    EG_TRY(eg_relation_add(maker, e->row.data, 0, cost));
  }
  return eg_cost_network_finish(e->network);
}

egraph_status eg_layout_decode(encoding *e, uint32_t value, const uint16_t *label_of,
                               uint32_t *out) {
  const eg_layout_factors *f = e->factors;
  double least = INFINITY;
  *out = NONE;
  if (e->source.data[value] == NONE) return EGRAPH_OK;
  EG_TRY(list_vars(e, value));
  EG_EACH_ITEM(s, f->view->strategies, value) {
    bool fits = f->active->strategy.data[s];
    if (fits) fill_row(e, s);
    for (size_t i = 0; i < e->vars.len && fits; i++)
      fits = e->row.data[i] == label_of[e->vars.data[i]];
    double cost = fits ? eg_factor_strategy(f, s) : INFINITY;
    if (!(cost < least)) continue;
    least = cost;
    *out = s;
  }
  return EGRAPH_OK;
}

// ---- layout sets --------------------------------------------------------------------

/// The sets in which a user of the value at hand finds the layout that it needs, with the
/// cost of its label above that of the cheapest in the set.
static egraph_status add_use(encoding *e, uint32_t link) {
  const eg_layout_provision *h = &e->provision;
  const uint32_t vars[] = {e->need.data[link], e->set.data[h->value]};
  const double *own = costs_of(e, vars[1]);
  EG_TRY(eg_cost_network_begin(e->network, vars, 2));
  for (uint32_t k = 0; k < h->sets.len; k++) {
    eg_layout_set set = h->sets.data[k];
    double least = eg_layout_provision_least(h, link, set);
    EG_TRY(
        add_pair(e, h->layouts, k,
                 own[k] + fmax(eg_layout_provision_price_of_none(h, link) - least, 0)));
    for (; set != 0; set >>= 8) {
      uint32_t target = eg_layout_set_member(set, 0);
      EG_TRY(
          add_pair(e, h->targets.data[target], k,
                   own[k] + fmax(eg_layout_provision_price(h, link, target) - least, 0)));
    }
  }
  return eg_cost_network_finish(e->network);
}

static egraph_status add_set(encoding *e, uint32_t value) {
  eg_layout_provision *h = &e->provision;
  uint32_t source = e->source.data[value], var;
  EG_TRY(eg_layout_provision_find(h, value, costs_of(e, source)));
  e->fits = e->fits && h->fits;
  if (!e->fits) return EGRAPH_OK;
  e->bound += h->least;
  EG_TRY(eg_cost_network_add_var(e->network, (uint32_t)h->sets.len, INFINITY, &var));
  e->set.data[value] = var;
  double *cost = costs_of(e, var);
  const uint32_t vars[] = {source, var};
  EG_TRY(eg_cost_network_begin(e->network, vars, 2));
  for (size_t i = 0; i < h->ways.len; i++) {
    const eg_layout_way *way = &h->ways.data[i];
    const uint16_t row[] = {(uint16_t)way->source, (uint16_t)way->set};
    cost[way->set] = fmin(cost[way->set], way->cost);
    EG_TRY(eg_relation_add(&e->network->maker, row, 0,
                           way->cost + costs_of(e, source)[way->source]));
  }
  EG_TRY(eg_cost_network_finish(e->network));
  for (size_t i = 0; i < h->users.len; i++)
    if (e->factors->links.data[h->users.data[i]].kind == EG_LINK_USE)
      EG_TRY(add_use(e, h->users.data[i]));
  return EGRAPH_OK;
}

// ---- ties and cuts ------------------------------------------------------------------

static egraph_status add_member(encoding *e, uint32_t link, uint32_t tie,
                                uint32_t labels) {
  const eg_layout_factors *f = e->factors;
  const eg_link *member = &f->links.data[link];
  const uint32_t vars[] = {e->source.data[member->value], tie};
  uint32_t none = eg_link_labels(f, member) - 1;
  EG_TRY(eg_cost_network_begin(e->network, vars, 2));
  for (uint32_t l = 0; l < labels; l++) {
    double least = eg_factor_member(f, link, l), base = costs_of(e, tie)[l];
    if (!(base < INFINITY)) continue;
    const uint32_t either[] = {l, none};
    for (int i = l < none ? 0 : 1; i < 2; i++) {
      double own = eg_link_far_price(f, link, either[i]) - least;
      EG_TRY(add_pair(e, either[i], l,
                      base + (own > 0 ? own : 0) + costs_of(e, vars[0])[either[i]]));
    }
  }
  return eg_cost_network_finish(e->network);
}

static egraph_status add_tie(encoding *e, uint32_t tie) {
  eg_layout_factors *f = e->factors;
  uint32_t labels = 0, members = 0, var;
  double least;
  EG_EACH_ITEM(link, f->links_of_tie, tie) {
    uint32_t none = eg_link_labels(f, &f->links.data[link]) - 1;
    if (none > labels) labels = none;
    members++;
  }
  if (members == 0) return EGRAPH_OK;
  eg_factor_tie(f, tie, &least);
  e->bound += least;
  EG_TRY(eg_cost_network_add_var(e->network, labels, INFINITY, &var));
  for (uint32_t l = 0; l < labels; l++) {
    double sum = 0;
    EG_EACH_ITEM(link, f->links_of_tie, tie)
      sum += eg_factor_member(f, link, l);
    costs_of(e, var)[l] = sum - least > 0 ? sum - least : 0;
  }
  EG_EACH_ITEM(link, f->links_of_tie, tie)
    EG_TRY(add_member(e, link, var, labels));
  return EGRAPH_OK;
}

/// All ways to choose at least one operator of a cut, each a set of bits.
static egraph_status add_cut(encoding *e, uint32_t cut) {
  eg_layout_factors *f = e->factors;
  uint32_t links[EG_LAYOUT_CUT_VALUES], vars[EG_LAYOUT_CUT_VALUES], count = 0;
  double least;
  EG_EACH_ITEM(link, f->links_of_cut, cut) { // sorted by their variables
    uint32_t at = count++;
    for (; at > 0 && vars[at - 1] > e->need.data[link]; at--) {
      links[at] = links[at - 1];
      vars[at] = vars[at - 1];
    }
    links[at] = link;
    vars[at] = e->need.data[link];
  }
  eg_factor_cut(f, cut, &least);
  e->bound += least;
  EG_TRY(eg_cost_network_begin(e->network, vars, count));
  for (uint32_t set = 1; set < UINT32_C(1) << count; set++) {
    uint16_t row[EG_LAYOUT_CUT_VALUES];
    double cost = -least;
    for (uint32_t i = 0; i < count; i++) {
      row[i] = set >> i & 1 ? EG_CUT_CHOSEN : EG_CUT_NOT;
      cost += eg_link_far_price(f, links[i], row[i]);
    }
    if (cost < INFINITY)
      EG_TRY(eg_relation_add(&e->network->maker, row, 0, cost > 0 ? cost : 0));
  }
  return eg_cost_network_finish(e->network);
}

// ---- the whole ----------------------------------------------------------------------

/// Roots ask for their layouts that are in a solution.
static egraph_status note_roots(encoding *e) {
  const eg_layout_factors *f = e->factors;
  EG_TRY(eg_bytes_resize(&e->asked, f->price.len));
  for (uint32_t i = 0; i < f->links.len; i++) {
    const eg_link *link = &f->links.data[i];
    if (link->kind != EG_LINK_ROOT) continue;
    for (uint32_t l = 0; l < eg_link_labels(f, link); l++)
      e->asked.data[link->price + l] = !f->dead.data[link->price + l];
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_encode(encoding *e) {
  const eg_layout_factors *f = e->factors;
  const eg_layout_problem *p = f->view->problem;
  const uint8_t *is_used = f->active->used.data;
  uint32_t values = eg_layout_value_count(p);
  e->provision.factors = e->factors;
  e->provision.asked = &e->asked;
  e->provision.arc_excess = e->arc_excess;
  e->provision.maker = &e->network->maker;
  e->fits = true;
  EG_TRY(eg_layout_fill_none(&e->source, values));
  EG_TRY(eg_layout_fill_none(&e->set, values));
  EG_TRY(eg_layout_fill_none(&e->need, f->links.len));
  EG_TRY(note_roots(e));
  for (uint32_t v = 0; v < values; v++)
    if (is_used[v]) EG_TRY(add_source(e, v));
  for (uint32_t v = 0; v < values && e->fits; v++)
    if (is_used[v]) EG_TRY(add_set(e, v));
  for (uint32_t v = 0; v < values && e->fits; v++)
    if (is_used[v]) EG_TRY(add_producers(e, v));
  for (uint32_t t = 0; t < eg_layout_tie_count(p) && e->fits; t++)
    EG_TRY(add_tie(e, t));
  for (uint32_t c = 0; c < eg_layout_cut_count(f->landmarks) && e->fits; c++)
    EG_TRY(add_cut(e, c));
  return EGRAPH_OK;
}
