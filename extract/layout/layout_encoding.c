// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_encoding.h"

#include <math.h>

#include "base/owner.h"

#define NONE EG_LAYOUT_NONE

typedef struct builder {
  eg_layout_encoding *states;
  eg_layout_factors *f;
  eg_cost_network *network;
  eg_relation_maker *maker; // of the network
  bool fits;
  double nearest; // least cost of the producers at hand
  eg_bytes asked; // [labels of links that use] by a strategy or root
  eg_u32s uses;   // links of the inputs of the producers at hand
  eg_u32s vars;   // of their relation
  eg_labels row;
  eg_layout_provision had;
} builder;
#define BUILDER                                                                          \
  (eg_u32s, uses, vars), (eg_labels, row), (eg_bytes, asked), (eg_layout_provision, had)

static void lose(builder *b, double cost) {
  cost = fmax(cost, 0);
  if (cost < b->maker->lost) b->maker->lost = cost;
}

static bool has_room(builder *b, double cost) {
  if (cost <= b->maker->room) return true;
  lose(b, cost);
  return false;
}

// ---- variables ----------------------------------------------------------------------

/// Whether a strategy may be chosen, and what by.
static bool is_possible(builder *b, uint32_t strategy, double *out_cost) {
  if (!b->f->active->strategy.data[strategy]) return false;
  if (!has_room(b, b->states->strategy_excess->data[strategy])) return false;
  *out_cost = eg_factor_strategy(b->f, strategy) - b->nearest;
  return has_room(b, *out_cost);
}

/// Notes what a strategy that may be chosen asks of its inputs.
static void note_needs(builder *b, uint32_t s) {
  const eg_layout_problem *p = b->f->view->problem;
  uint32_t op = b->f->view->op_of.data[s];
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    b->asked.data[b->f->links.data[b->f->use.data[i]].price + p->needs.data[n] -
                  p->place_begin.data[p->inputs.data[i]]] = 1;
}

/// Roots ask for what is not dead.
static egraph_status note_roots(builder *b) {
  const eg_layout_factors *f = b->f;
  EG_TRY(eg_bytes_resize(&b->asked, f->price.len));
  for (uint32_t i = 0; i < f->links.len; i++) {
    const eg_link *link = &f->links.data[i];
    if (link->kind != EG_LINK_ROOT) continue;
    for (uint32_t l = 0; l < eg_link_labels(f, link); l++)
      b->asked.data[link->price + l] = !f->dead.data[link->price + l];
  }
  return EGRAPH_OK;
}

/// A variable for the label of every link that depends on the strategy of a value, but
/// for what it is made in.
static egraph_status add_needs(builder *b, uint32_t value) {
  const eg_layout_factors *f = b->f;
  EG_EACH_ITEM(link, f->links_of, value) {
    const eg_link *l = &f->links.data[link];
    if (l->kind == EG_LINK_USE || l->kind == EG_LINK_CUT)
      EG_TRY(eg_cost_network_add_var(b->network, eg_link_labels(f, l), 0,
                                     &b->states->need.data[link]));
  }
  return EGRAPH_OK;
}

static egraph_status add_made(builder *b, uint32_t value) {
  const eg_layout_problem *p = b->f->view->problem;
  const eg_layout_rows *rows = &b->f->view->strategies;
  uint32_t layouts = eg_layout_layout_count(p, value), var;
  EG_TRY(eg_cost_network_add_var(b->network, layouts + 1, INFINITY, &var));
  b->states->made.data[value] = var;
  double *cost = eg_cost_network_costs(b->network, var), own;
  eg_factor_producers(b->f, value, &b->nearest);
  b->states->bound += b->nearest;
  cost[layouts] = eg_factor_nothing(b->f, value) - b->nearest;
  EG_EACH_ITEM(s, *rows, value) {
    uint32_t l = p->output.data[s] - p->place_begin.data[value];
    if (!is_possible(b, s, &own)) continue;
    if (own < cost[l]) cost[l] = own;
    note_needs(b, s);
  }
  return add_needs(b, value);
}

// ---- values -------------------------------------------------------------------------

/// The sets in which a user of the value at hand finds what it needs, with what its label
/// costs above the cheapest that the set has.
static egraph_status add_use(builder *b, uint32_t link) {
  const eg_layout_provision *h = &b->had;
  const uint32_t vars[] = {b->states->need.data[link], b->states->had.data[h->value]};
  const double *had = eg_cost_network_costs(b->network, vars[1]);
  EG_TRY(eg_cost_network_begin(b->network, vars, 2));
  for (uint32_t k = 0; k < h->sets.len; k++) {
    const uint16_t none[] = {(uint16_t)h->layouts, (uint16_t)k};
    eg_layout_set set = h->sets.data[k];
    double least = eg_layout_provision_least(h, link, set);
    double cost = had[k] + fmax(eg_layout_provision_price_of_none(h, link) - least, 0);
    if (cost < INFINITY) EG_TRY(eg_relation_add(b->maker, none, 0, cost));
    for (; set != 0; set >>= 8) {
      uint32_t target = eg_layout_set_member(set, 0);
      const uint16_t row[] = {(uint16_t)h->targets.data[target], (uint16_t)k};
      cost = had[k] + fmax(eg_layout_provision_price(h, link, target) - least, 0);
      if (cost < INFINITY) EG_TRY(eg_relation_add(b->maker, row, 0, cost));
    }
  }
  return eg_cost_network_finish(b->network);
}

static egraph_status add_had(builder *b, uint32_t value) {
  eg_layout_provision *h = &b->had;
  uint32_t made = b->states->made.data[value], var;
  EG_TRY(eg_layout_provision_find(h, value, eg_cost_network_costs(b->network, made)));
  b->fits = b->fits && h->fits;
  if (!b->fits) return EGRAPH_OK;
  b->states->bound += h->least;
  EG_TRY(eg_cost_network_add_var(b->network, (uint32_t)h->sets.len, INFINITY, &var));
  b->states->had.data[value] = var;
  double *cost = eg_cost_network_costs(b->network, var);
  const double *made_cost = eg_cost_network_costs(b->network, made);
  const uint32_t vars[] = {made, var};
  EG_TRY(eg_cost_network_begin(b->network, vars, 2));
  for (size_t i = 0; i < h->ways.len; i++) {
    const eg_layout_way *way = &h->ways.data[i];
    const uint16_t labels[] = {(uint16_t)way->made, (uint16_t)way->set};
    cost[way->set] = fmin(cost[way->set], way->cost);
    EG_TRY(eg_relation_add(b->maker, labels, 0, way->cost + made_cost[way->made]));
  }
  EG_TRY(eg_cost_network_finish(b->network));
  for (size_t i = 0; i < h->users.len; i++)
    if (b->f->links.data[h->users.data[i]].kind == EG_LINK_USE)
      EG_TRY(add_use(b, h->users.data[i]));
  return EGRAPH_OK;
}

// ---- strategies ---------------------------------------------------------------------

/// made(v), what each operator of v needs, and the cuts that it is in: operators that are
/// not chosen need nothing and are in none.
static egraph_status list_vars(builder *b, uint32_t value) {
  const eg_layout_factors *f = b->f;
  b->uses.len = b->vars.len = 0;
  EG_TRY(eg_u32s_push(&b->vars, b->states->made.data[value]));
  EG_EACH_ITEM(link, f->links_of, value) {
    eg_link_kind kind = f->links.data[link].kind;
    if (kind != EG_LINK_USE && kind != EG_LINK_CUT) continue;
    EG_TRY(eg_u32s_push(&b->uses, link));
    EG_TRY(eg_u32s_push(&b->vars, b->states->need.data[link]));
  }
  return EGRAPH_OK;
}

static void ask_nothing(builder *b, uint16_t *labels) {
  for (size_t i = 0; i < b->uses.len; i++)
    labels[i + 1] =
        (uint16_t)(eg_link_labels(b->f, &b->f->links.data[b->uses.data[i]]) - 1);
}

/// What strategy s asks for.
static void ask(const builder *b, uint32_t s, uint16_t *labels) {
  const eg_layout_factors *f = b->f;
  const eg_layout_problem *p = f->view->problem;
  uint32_t op = f->view->op_of.data[s];
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    for (size_t k = 0; k < b->uses.len; k++)
      if (b->uses.data[k] == f->use.data[i])
        labels[k + 1] =
            (uint16_t)(p->needs.data[n] - p->place_begin.data[p->inputs.data[i]]);
  for (size_t k = 0; k < b->uses.len; k++) {
    const eg_link *link = &f->links.data[b->uses.data[k]];
    if (link->kind == EG_LINK_CUT && eg_link_cuts(f, link, op))
      labels[k + 1] = EG_CUT_CHOSEN;
  }
}

static egraph_status add_producers(builder *b, uint32_t value) {
  const eg_layout_problem *p = b->f->view->problem;
  const eg_layout_rows *strategies = &b->f->view->strategies;
  EG_TRY(list_vars(b, value));
  b->fits = b->fits && b->vars.len <= EG_RELATION_VARS;
  if (!b->fits) return EGRAPH_OK;
  EG_TRY(eg_labels_resize(&b->row, b->vars.len));
  EG_TRY(eg_cost_network_begin(b->network, b->vars.data, (uint32_t)b->vars.len));
  eg_factor_producers(b->f, value, &b->nearest);
  double cost = eg_factor_nothing(b->f, value) - b->nearest;
  b->row.data[0] = (uint16_t)eg_layout_layout_count(p, value);
  ask_nothing(b, b->row.data);
  if (cost < INFINITY) EG_TRY(eg_relation_add(b->maker, b->row.data, 0, cost));
  EG_EACH_ITEM(s, *strategies, value) {
    if (!is_possible(b, s, &cost)) continue;
    b->row.data[0] = (uint16_t)(p->output.data[s] - p->place_begin.data[value]);
    ask_nothing(b, b->row.data);
    ask(b, s, b->row.data);
    EG_TRY(eg_relation_add(b->maker, b->row.data, 0, cost));
  }
  return eg_cost_network_finish(b->network);
}

// ---- ties ---------------------------------------------------------------------------

static egraph_status add_member(builder *b, uint32_t link, uint32_t var,
                                uint32_t labels) {
  const eg_layout_factors *f = b->f;
  const eg_link *member = &f->links.data[link];
  uint32_t made = b->states->made.data[member->value];
  uint32_t none = eg_link_labels(f, member) - 1;
  const uint32_t vars[] = {made, var};
  EG_TRY(eg_cost_network_begin(b->network, vars, 2));
  for (uint32_t l = 0; l < labels; l++) {
    double least = eg_factor_member(f, link, l),
           base = eg_cost_network_costs(b->network, var)[l];
    if (!(base < INFINITY)) continue;
    const uint32_t either[] = {l, none};
    for (int i = l < none ? 0 : 1; i < 2; i++) {
      double own = eg_link_far_price(f, link, either[i]) - least;
      double cost =
          base + (own > 0 ? own : 0) + eg_cost_network_costs(b->network, made)[either[i]];
      const uint16_t row[] = {(uint16_t)either[i], (uint16_t)l};
      if (cost < INFINITY) EG_TRY(eg_relation_add(b->maker, row, 0, cost));
    }
  }
  return eg_cost_network_finish(b->network);
}

static egraph_status add_tie(builder *b, uint32_t tie) {
  eg_layout_factors *f = b->f;
  uint32_t begin = f->links_of_tie.begin.data[tie], labels = 0, var;
  uint32_t end = f->links_of_tie.begin.data[tie + 1];
  const uint32_t *links = f->links_of_tie.items.data;
  double least;
  if (begin == end) return EGRAPH_OK;
  eg_factor_tie(f, tie, &least);
  b->states->bound += least;
  for (uint32_t i = begin; i < end; i++) {
    uint32_t none = eg_link_labels(f, &f->links.data[links[i]]) - 1;
    if (none > labels) labels = none;
  }
  EG_TRY(eg_cost_network_add_var(b->network, labels, INFINITY, &var));
  b->states->label.data[tie] = var;
  for (uint32_t l = 0; l < labels; l++) {
    double sum = 0;
    for (uint32_t i = begin; i < end; i++)
      sum += eg_factor_member(f, links[i], l);
    eg_cost_network_costs(b->network, var)[l] = sum - least > 0 ? sum - least : 0;
  }
  for (uint32_t i = begin; i < end; i++)
    EG_TRY(add_member(b, links[i], var, labels));
  return EGRAPH_OK;
}

// ---- cuts ---------------------------------------------------------------------------

/// The links of a cut in the order of their variables; returns how many.
static uint32_t sort_links(const builder *b, uint32_t cut, uint32_t *links) {
  const eg_layout_rows *rows = &b->f->links_of_cut;
  const uint32_t *var = b->states->need.data;
  uint32_t begin = rows->begin.data[cut], count = rows->begin.data[cut + 1] - begin;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t link = rows->items.data[begin + i], at = i;
    for (; at > 0 && var[links[at - 1]] > var[link]; at--)
      links[at] = links[at - 1];
    links[at] = link;
  }
  return count;
}

/// All ways to choose at least one, each a set of bits.
static egraph_status add_cut(builder *b, uint32_t cut) {
  eg_layout_factors *f = b->f;
  uint32_t vars[EG_LAYOUT_CUT_VALUES], links[EG_LAYOUT_CUT_VALUES];
  uint32_t count = sort_links(b, cut, links);
  double least;
  eg_factor_cut(f, cut, &least);
  b->states->bound += least;
  for (uint32_t i = 0; i < count; i++)
    vars[i] = b->states->need.data[links[i]];
  EG_TRY(eg_cost_network_begin(b->network, vars, count));
  for (uint32_t set = 1; set < UINT32_C(1) << count; set++) {
    uint16_t row[EG_LAYOUT_CUT_VALUES];
    double cost = -least;
    for (uint32_t i = 0; i < count; i++) {
      row[i] = set >> i & 1 ? EG_CUT_CHOSEN : EG_CUT_NOT;
      cost += eg_link_far_price(f, links[i], row[i]);
    }
    if (cost < INFINITY) EG_TRY(eg_relation_add(b->maker, row, 0, cost > 0 ? cost : 0));
  }
  return eg_cost_network_finish(b->network);
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status clear(eg_u32s *list, size_t count) {
  EG_TRY(eg_u32s_resize(list, count));
  for (size_t i = 0; i < count; i++)
    list->data[i] = NONE;
  return EGRAPH_OK;
}

static egraph_status build(builder *b) {
  eg_layout_encoding *states = b->states;
  const eg_layout_factors *f = b->f;
  const eg_layout_problem *p = f->view->problem;
  uint32_t values = eg_layout_value_count(p), ties = eg_layout_tie_count(p);
  EG_TRY(clear(&states->made, values));
  EG_TRY(clear(&states->had, values));
  EG_TRY(clear(&states->label, ties));
  EG_TRY(clear(&states->need, f->links.len));
  EG_TRY(note_roots(b));
  for (uint32_t v = 0; v < values; v++)
    if (f->active->used.data[v]) EG_TRY(add_made(b, v));
  for (uint32_t v = 0; v < values && b->fits; v++)
    if (f->active->used.data[v]) EG_TRY(add_had(b, v));
  for (uint32_t v = 0; v < values && b->fits; v++)
    if (f->active->used.data[v]) EG_TRY(add_producers(b, v));
  for (uint32_t t = 0; t < ties && b->fits; t++)
    EG_TRY(add_tie(b, t));
  for (uint32_t c = 0; c < eg_layout_cut_count(f->landmarks) && b->fits; c++)
    EG_TRY(add_cut(b, c));
  return EGRAPH_OK;
}

static egraph_status fill_states(builder *b, egraph_allocator alloc) {
  EG_INIT_MEMBERS(b, alloc, BUILDER)
  b->had.factors = b->f;
  b->had.asked = &b->asked;
  b->had.arc_excess = b->states->arc_excess;
  b->had.maker = b->maker;
  egraph_status status = build(b);
  EG_DEINIT_MEMBERS(b, BUILDER)
  return status;
}

egraph_status eg_layout_encoding_init(eg_layout_encoding *states, egraph_allocator alloc,
                                      eg_layout_factors *factors,
                                      const eg_doubles *strategy_excess,
                                      const eg_doubles *arc_excess,
                                      eg_cost_network *network, bool *out_fits) {
  *states = (eg_layout_encoding){
      .factors = factors, .arc_excess = arc_excess, .strategy_excess = strategy_excess};
  EG_INIT_MEMBERS(states, alloc, (eg_u32s, made, had, label, need))
  builder b = {.states = states,
               .f = factors,
               .network = network,
               .maker = &network->maker,
               .fits = true};
  egraph_status status = fill_states(&b, alloc);
  *out_fits = b.fits;
  if (status != EGRAPH_OK) eg_layout_encoding_deinit(states);
  return status;
}

void eg_layout_encoding_deinit(eg_layout_encoding *states) {
  EG_DEINIT_MEMBERS(states, (eg_u32s, made, had, label, need))
}

// ---- back to strategies -------------------------------------------------------------

/// How many inputs of a value's operators ask for a layout: those of the chosen one.
static uint32_t count_needs(const eg_layout_encoding *states, uint32_t value,
                            const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  uint32_t count = 0;
  EG_EACH_ITEM(link, f->links_of, value) {
    const eg_link *l = &f->links.data[link];
    if (l->kind == EG_LINK_USE)
      count += label_of[states->need.data[link]] != eg_link_labels(f, l) - 1;
  }
  return count;
}

/// Whether an operator is in the cuts that the labels say.
static bool is_cut_so(const eg_layout_encoding *states, uint32_t op,
                      const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  uint32_t value = f->view->problem->operator_value.data[op];
  EG_EACH_ITEM(number, f->links_of, value) {
    const eg_link *link = &f->links.data[number];
    if (link->kind != EG_LINK_CUT) continue;
    bool is_chosen = label_of[states->need.data[number]] == EG_CUT_CHOSEN;
    if (is_chosen != eg_link_cuts(f, link, op)) return false;
  }
  return true;
}

/// Whether what strategy s needs is what the inputs of its operator ask for.
static bool is_asked(const eg_layout_encoding *states, uint32_t s,
                     const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  const eg_layout_problem *p = f->view->problem;
  uint32_t op = f->view->op_of.data[s];
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    if (label_of[states->need.data[f->use.data[i]]] !=
        p->needs.data[n] - p->place_begin.data[p->inputs.data[i]])
      return false;
  return true;
}

uint32_t eg_layout_decode(const eg_layout_encoding *states, uint32_t value,
                          const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  const eg_layout_problem *p = f->view->problem;
  const eg_layout_rows *strategies = &f->view->strategies;
  uint32_t best = NONE, made = states->made.data[value];
  double least = INFINITY;
  if (made == NONE) return NONE;
  uint32_t needs = count_needs(states, value, label_of);
  EG_EACH_ITEM(s, *strategies, value) {
    uint32_t op = f->view->op_of.data[s];
    if (!f->active->strategy.data[s] ||
        p->output.data[s] - p->place_begin.data[value] != label_of[made] ||
        p->input_begin.data[op + 1] - p->input_begin.data[op] != needs ||
        !is_asked(states, s, label_of) || !is_cut_so(states, op, label_of))
      continue;
    double cost = eg_factor_strategy(f, s);
    if (!(cost < least)) continue;
    least = cost;
    best = s;
  }
  return best;
}
