// The next variable to eliminate is the one whose neighbours have the fewest labels
// together (min-weight). The relations of a variable are joined, smallest first, and the
// last join minimizes over the variable; the base is the least cost once all variables
// are eliminated. Whenever relations have grown, diffusion over them raises the base, so
// that fewer rows have room.
//
// At first only variables are eliminated whose joins have few enough rows to keep them
// all: the base is then a bound (mini-bucket elimination with diffusion between the
// buckets: Dechter and Rish 2003, Ihler et al., "Join-graph based cost-shifting schemes",
// 2012). The others follow, with the cheapest rows of their joins.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_eliminate.h"

#include <math.h>

#include "base/owner.h"
#include "extract/layout/layout_relation.h"
#include "extract/layout/layout_sets.h"

#define NONE UINT32_MAX // no variable, value, link or strategy

// ---- encoding -------------------------------------------------------------------------
// The strategies and arcs that an ascent leaves near its bound, as a cost function
// network: relations between variables, with costs above the bound.
//
//   source(v)  the layout that value v is produced in, or none
//   set(v)     the set of layouts that v is provided in: its source, or reached by arcs
//   need(u)    the layout that an operator's input needs, or none;
//              or "the operator chosen for the value is in the cut"
//   tie(t)     the layout of its members
//
//   strategies of v's operators    source(v), need(inputs), need(cuts)
//   uses of v                      need(u), set(v)
//   arborescences of v             source(v), set(v)
//   member v of a tie t            source(v), tie(t)
//   cut                            need(operators)

typedef struct encoding {
  // Borrowed pointers:
  eg_layout_factors *factors;
  const eg_doubles *arc_excess, *strategy_excess;
  eg_cost_network *network; // empty; its maker has room and rows
  // Numbers of the network's variables, or EG_LAYOUT_NONE:
  eg_u32s source, set; // [value]
  eg_u32s need;        // [link]
  double bound;        // bound of every solution
  // false: a value has too many layouts or an operator too many inputs, and the network
  // is incomplete
  bool fits;
  // State while the relation over a value's producers is built:
  eg_u32s uses;   // links of their inputs and cuts
  eg_u32s vars;   // variables of their relation: source, then the needs of `uses`
  eg_labels row;  // labels of one strategy in the relation
  double nearest; // their least cost
  eg_bytes asked; // [labels of links that use] by a strategy or root
  eg_layout_provision provision;
} encoding;

EG_OWNER_DEFINE_STATIC(encoding, (eg_u32s, source, set, need, uses, vars),
                       (eg_labels, row), (eg_bytes, asked),
                       (eg_layout_provision, provision))

static double *costs_of(const encoding *e, uint32_t var) {
  return eg_cost_network_costs(e->network, var);
}

/// Adds a row (a pair of values of two variables) to the relation, if its cost is finite.
static egraph_status add_pair_row(encoding *e, uint32_t a, uint32_t b, double cost) {
  const uint16_t row[] = {(uint16_t)a, (uint16_t)b};
  return cost < INFINITY ? eg_relation_add(&e->network->maker, row, 0, cost) : EGRAPH_OK;
}

// ---- strategies ---------------------------------------------------------------------

/// True when solutions with a strategy may cost less than the search's limit (room);
/// *out_cost is its cost above the value's cheapest strategy.
static bool may_choose(encoding *e, uint32_t strategy, double *out_cost) {
  eg_relation_maker *maker = &e->network->maker;
  if (!e->factors->active->strategy.data[strategy]) return false;
  if (!eg_relation_has_room(maker, e->strategy_excess->data[strategy])) return false;
  *out_cost = eg_factor_strategy(e->factors, strategy) - e->nearest;
  return eg_relation_has_room(maker, *out_cost);
}

/// Lists the variables of a value's producers: the layout of the value (source), the
/// layout that each input of an operator needs, a flag for each cut.
static egraph_status list_vars(encoding *e, uint32_t value) {
  assert(e->source.data[value] != NONE);
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

/// Fills the row of labels for the case that a value is not produced: it needs no input.
static void fill_nothing(encoding *e, uint32_t value) {
  const eg_layout_factors *f = e->factors;
  e->row.data[0] = (uint16_t)eg_layout_layout_count(f->view->problem, value);
  for (size_t i = 0; i < e->uses.len; i++)
    e->row.data[i + 1] =
        (uint16_t)(eg_link_labels(f, &f->links.data[e->uses.data[i]]) - 1);
}

/// Fills the row of labels of a strategy: the value's other operators are not chosen.
static void fill_row(encoding *e, uint32_t s) {
  assert(e->row.len == e->vars.len);
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

/// Adds the variable for the layout in which a value is produced, with the least cost of
/// each layout; marks the layouts that its strategies need.
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
    if (!may_choose(e, s, &own)) continue;
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
    if (!may_choose(e, s, &cost)) continue;
    fill_row(e, s);
    EG_TRY(eg_relation_add(maker, e->row.data, 0, cost));
  }
  return eg_cost_network_finish(e->network);
}

/// Finds the cheapest strategy of a value that agrees with the solution `label_of`
/// ([variables]), or NONE.
static egraph_status decode_strategy(encoding *e, uint32_t value,
                                     const uint16_t *label_of, uint32_t *out) {
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

/// Adds the relation of a reader of the current value: the layout it needs, need(u), and
/// the set of layouts provided, set(v). The cost of a set is (its cheapest label for the
/// reader) - (the reader's cheapest label of all).
static egraph_status add_use(encoding *e, uint32_t link) {
  assert(e->need.data[link] != NONE);
  const eg_layout_provision *h = &e->provision;
  const uint32_t vars[] = {e->need.data[link], e->set.data[h->value]};
  const double *own = costs_of(e, vars[1]);
  EG_TRY(eg_cost_network_begin(e->network, vars, 2));
  for (uint32_t k = 0; k < h->sets.len; k++) {
    eg_layout_set set = h->sets.data[k];
    double least = eg_layout_provision_least(h, link, set);
    EG_TRY(add_pair_row(e, h->layouts, k,
                        own[k] +
                            fmax(eg_layout_provision_price_of_none(h, link) - least, 0)));
    for (; set != 0; set >>= 8) {
      uint32_t target = eg_layout_set_member(set, 0);
      EG_TRY(add_pair_row(
          e, h->targets.data[target], k,
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

static egraph_status add_member_relation(encoding *e, uint32_t link, uint32_t tie,
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
      EG_TRY(add_pair_row(e, either[i], l,
                          base + (own > 0 ? own : 0) + costs_of(e, vars[0])[either[i]]));
    }
  }
  return eg_cost_network_finish(e->network);
}

static egraph_status add_tie_relation(encoding *e, uint32_t tie) {
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
    EG_TRY(add_member_relation(e, link, var, labels));
  return EGRAPH_OK;
}

/// Adds a row for each choice that contains at least one operator of a cut; the choice is
/// a set of bits.
static egraph_status add_cut_relation(encoding *e, uint32_t cut) {
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

/// Marks the layouts that roots may need.
static egraph_status mark_roots(encoding *e) {
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

/// Fills the network with the active strategies and arcs that cost at most the maker's
/// limit above the bound; records the other ones as left out.
static egraph_status encode_problem(encoding *e) {
  const eg_layout_factors *f = e->factors;
  const eg_layout_problem *p = f->view->problem;
  const uint8_t *is_used = f->active->used.data;
  uint32_t values = eg_layout_value_count(p);
  e->provision.factors = e->factors;
  e->provision.asked = &e->asked;
  e->provision.arc_excess = e->arc_excess;
  e->provision.maker = &e->network->maker;
  e->fits = true;
  EG_TRY(eg_fill_none(&e->source, values));
  EG_TRY(eg_fill_none(&e->set, values));
  EG_TRY(eg_fill_none(&e->need, f->links.len));
  EG_TRY(mark_roots(e));
  for (uint32_t v = 0; v < values; v++)
    if (is_used[v]) EG_TRY(add_source(e, v));
  for (uint32_t v = 0; v < values && e->fits; v++)
    if (is_used[v]) EG_TRY(add_set(e, v));
  for (uint32_t v = 0; v < values && e->fits; v++)
    if (is_used[v]) EG_TRY(add_producers(e, v));
  for (uint32_t t = 0; t < eg_layout_tie_count(p) && e->fits; t++)
    EG_TRY(add_tie_relation(e, t));
  for (uint32_t c = 0; c < eg_layout_cut_count(f->landmarks) && e->fits; c++)
    EG_TRY(add_cut_relation(e, c));
  return EGRAPH_OK;
}

// ---- elimination --------------------------------------------------------------------
enum { STEP = 4 }; // steps of work for a step of relations (measured)
enum { MOST_VARIABLES = 1 << 14, PASSES = 20, FEW_ROWS = 500 };
enum { FEWEST_CONDENSED = 1 << 10, MOST_CONDENSED = 1 << 16, GROWTH = 4 };
static const double STANDSTILL = 0.01; // share of the room above the base, per PASSES

/// States of a variable: its relations are in the network; it is eliminated, or has a
/// single label; it is put off, because its join has too many rows.
typedef enum state { PRESENT, GONE, PUT_OFF } state;

typedef struct eliminator {
  eg_layout_search *search;
  eg_cost_network network;
  encoding encoding;
  uint32_t vars;
  size_t words;
  eg_words near;    // [variable] row of the variables that share a relation
  eg_doubles width; // [variable] log of its labels
  eg_doubles score; // [variable] sum of its neighbours' widths
  eg_bytes state;   // [variable] as above
  eg_u32s order;    // eliminated variables, first to last
  eg_u32s result;   // [order] relation with the choice
  eg_labels label;  // [variable] of the solution
  eg_u32s joined;   // relations of the current join
  eg_relation unit; // without variables: one row of cost 0
  size_t grown;     // rows of the largest result at the last diffusion
} eliminator;

// ---- order --------------------------------------------------------------------------

static uint64_t *neighbour_row(const eliminator *e, uint32_t var) {
  return e->near.data + (size_t)var * e->words;
}

static void score_variable(eliminator *e, uint32_t var) {
  assert(var < e->vars);
  double score = 0;
  const uint64_t *row = neighbour_row(e, var);
  for (size_t w = 0; w < e->words; w++)
    for (uint64_t left = row[w]; left != 0; left &= left - 1)
      score += e->width.data[w * 64 + eg_bits_lowest(left)];
  e->score.data[var] = score;
}

/// Lists neighbours of the remaining variables; those with a single label are eliminated.
static void index_variables(eliminator *e) {
  const eg_cost_network *n = &e->network;
  memset(e->near.data, 0, e->near.len * sizeof *e->near.data);
  for (uint32_t v = 0; v < e->vars; v++) {
    uint32_t labels = 0; // labels that have room
    for (uint32_t i = n->costs.begin.data[v]; i < n->costs.begin.data[v + 1]; i++)
      labels += n->costs.cost.data[i] + n->maker.base <= n->maker.room;
    e->width.data[v] = log2(labels + 1e-3);
    if (n->fixed.data[v] == EG_NETWORK_FREE) continue;
    e->label.data[v] = n->fixed.data[v];
    e->state.data[v] = GONE;
  }
  for (size_t r = 0; r < n->relations.len; r++) {
    const eg_u32s *vars = &n->relations.data[r].vars;
    for (size_t i = 0; i < vars->len && !n->used.data[r]; i++)
      for (size_t k = 0; k < vars->len; k++)
        if (i != k) eg_bits_put(neighbour_row(e, vars->data[i]), vars->data[k]);
  }
  for (uint32_t v = 0; v < e->vars; v++)
    if (e->state.data[v] != GONE) score_variable(e, v);
}

/// Moves costs between relations (diffusion), which raises the bound of every solution;
/// then computes the scores of the remaining variables anew.
static egraph_status diffuse(eliminator *e) {
  EG_TRY(eg_cost_network_diffuse(&e->network, PASSES));
  index_variables(e);
  return EGRAPH_OK;
}

static uint32_t choose_variable(const eliminator *e) {
  uint32_t best = NONE;
  for (uint32_t v = 0; v < e->vars; v++)
    if (e->state.data[v] == PRESENT &&
        (best == NONE || e->score.data[v] < e->score.data[best]))
      best = v;
  return best;
}

static void forget_variable(eliminator *e, uint32_t var) {
  assert(e->state.data[var] == PRESENT);
  const uint64_t *own = neighbour_row(e, var);
  e->state.data[var] = GONE;
  for (uint32_t v = 0; v < e->vars; v++) {
    if (e->state.data[v] == GONE || !eg_bits_has(own, v)) continue;
    uint64_t *row = neighbour_row(e, v);
    for (size_t w = 0; w < e->words; w++)
      row[w] |= own[w];
    eg_bits_clear(row, v);
    eg_bits_clear(row, var);
    score_variable(e, v);
  }
}

// ---- elimination --------------------------------------------------------------------

/// Returns the smallest unused relation with a variable, or NONE.
static uint32_t find_smallest(const eg_cost_network *n, uint32_t var) {
  uint32_t best = NONE;
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    uint32_t r = n->entry.data[i];
    if (!n->used.data[r] &&
        (best == NONE || eg_relation_rows(&n->relations.data[r]) <
                             eg_relation_rows(&n->relations.data[best])))
      best = r;
  }
  return best;
}

/// Adds label costs to the next relation of a variable, and lists it for the
/// current join.
static egraph_status hold_next(eliminator *e, uint32_t var, uint32_t *next) {
  eg_cost_network *n = &e->network;
  EG_TRY(eg_u32s_push(&e->joined, *next));
  n->used.data[*next] = 1;
  eg_relation_raise(&n->maker, &n->costs, &n->relations.data[*next]);
  *next = find_smallest(n, var);
  return EGRAPH_OK;
}

/// Joins the relations of a variable into `out` and eliminates the variable.
static egraph_status join_all(eliminator *e, uint32_t var, eg_relation *out) {
  eg_cost_network *n = &e->network;
  uint32_t next = find_smallest(n, var);
  eg_relation *held = &n->relations.data[next];
  e->joined.len = 0;
  EG_TRY(hold_next(e, var, &next));
  if (next == NONE)
    return eg_relation_join(&n->maker, &n->costs, held, &e->unit, var, out);
  EG_LOCAL(eg_relation, joined, e->search->alloc);
  while (next != NONE) {
    eg_relation *other = &n->relations.data[next];
    EG_TRY(hold_next(e, var, &next));
    EG_TRY(eg_relation_join(&n->maker, &n->costs, held, other, next == NONE ? var : NONE,
                            out));
    if (next == NONE || n->maker.failed) break;
    eg_relation spare = joined;
    joined = *out;
    *out = spare;
    held = &joined;
  }
  return EGRAPH_OK;
}

/// Replaces the relations of an eliminated variable by their join.
static egraph_status replace_by_result(eliminator *e, uint32_t var, eg_relation *result) {
  assert(e->order.len == e->result.len);
  eg_cost_network *n = &e->network;
  for (uint32_t i = n->costs.begin.data[var]; i < n->costs.begin.data[var + 1]; i++)
    n->costs.cost.data[i] = 0; // the rows now include these costs
  EG_TRY(eg_cost_network_add(n, result));
  uint32_t number = (uint32_t)n->relations.len - 1;
  EG_TRY(eg_cost_network_settle(n, number));
  EG_TRY(eg_u32s_push(&e->order, var));
  EG_TRY(eg_u32s_push(&e->result, number));
  forget_variable(e, var);
  return EGRAPH_OK;
}

/// Eliminates a variable. *out_rows: the rows of the result; 0 when the join failed and
/// its relations are as before.
static egraph_status eliminate_variable(eliminator *e, uint32_t var, size_t *out_rows) {
  assert(e->state.data[var] == PRESENT);
  eg_cost_network *n = &e->network;
  EG_LOCAL(eg_relation, result, e->search->alloc);
  EG_TRY(join_all(e, var, &result));
  *out_rows = eg_relation_rows(&result);
  if (!n->maker.failed) {
    n->is_empty = n->is_empty || *out_rows == 0;
    return replace_by_result(e, var, &result);
  }
  for (size_t i = 0; i < e->joined.len; i++) {
    n->used.data[e->joined.data[i]] = 0;
    eg_relation_lower(&n->costs, &n->relations.data[e->joined.data[i]]);
  }
  e->state.data[var] = PUT_OFF;
  *out_rows = 0;
  return EGRAPH_OK;
}

static void count_steps(eliminator *e) {
  eg_layout_search_work(e->search, STEP * e->network.maker.steps);
  e->network.maker.steps = 0;
}

static bool should_stop(eliminator *e) {
  count_steps(e);
  return eg_layout_search_stop(e->search);
}

/// Eliminates variables not put off; `keeps_all`: puts off a variable with a large join.
static egraph_status eliminate_present(eliminator *e, bool keeps_all) {
  eg_cost_network *n = &e->network;
  n->maker.keeps_all = keeps_all;
  e->grown = FEW_ROWS;
  for (uint32_t var; !n->is_empty && (var = choose_variable(e)) != NONE;) {
    size_t rows = 0;
    EG_TRY(eliminate_variable(e, var, &rows));
    if (should_stop(e)) return EGRAPH_OK;
    if (n->is_empty || rows <= 2 * e->grown) continue;
    e->grown = rows;
    EG_TRY(diffuse(e));
  }
  return EGRAPH_OK;
}

/// Moves costs between relations (diffusion) until the bound of every solution stalls.
static egraph_status diffuse_until_still(eliminator *e) {
  eg_cost_network *n = &e->network;
  double worth = STANDSTILL * (n->maker.room - n->maker.base), before = -INFINITY;
  while (!n->is_empty && n->maker.base - before > worth && !should_stop(e)) {
    before = n->maker.base;
    EG_TRY(diffuse(e));
  }
  return EGRAPH_OK;
}

static egraph_status raise_by_elimination(eliminator *e, double constant, double least) {
  double proven = fmin(least, e->network.maker.lost);
  double bound = e->encoding.bound + constant + proven;
  if (isinf(bound)) return EGRAPH_OK; // no row is left
  return eg_layout_search_raise(e->search,
                                bound - 1e-12 * (fabs(bound) + fabs(constant)));
}

/// Returns variables with large joins to the elimination; true when any variable remains.
static bool put_back(eliminator *e) {
  bool is_left = false;
  for (uint32_t v = 0; v < e->vars; v++) {
    is_left = is_left || e->state.data[v] != GONE;
    if (e->state.data[v] == PUT_OFF) e->state.data[v] = PRESENT;
  }
  return is_left;
}

/// Eliminates variables whose joins are small enough to keep all rows. This limit of rows
/// grows from FEWEST_CONDENSED to `most`. *out_left: some variables remain.
static egraph_status condense(eliminator *e, double constant, uint32_t most,
                              bool *out_left) {
  eg_cost_network *n = &e->network;
  if (most > MOST_CONDENSED) most = MOST_CONDENSED;
  n->maker.rows = most < FEWEST_CONDENSED ? most : FEWEST_CONDENSED;
  for (;; n->maker.rows *= GROWTH) {
    EG_TRY(eliminate_present(e, true));
    *out_left = put_back(e);
    if (!*out_left || n->is_empty) return EGRAPH_OK;
    EG_TRY(diffuse_until_still(e));
    EG_TRY(raise_by_elimination(e, constant, n->is_empty ? INFINITY : n->maker.base));
    if (n->is_empty || should_stop(e) || n->maker.rows > most / GROWTH ||
        e->search->bound >= eg_layout_search_cutoff(e->search))
      return EGRAPH_OK;
  }
}

/// Eliminates all variables. *out_found: every relation has a row left.
static egraph_status run_elimination(eliminator *e, double constant, uint32_t rows,
                                     bool *out_found) {
  eg_cost_network *n = &e->network;
  bool is_left;
  *out_found = false;
  EG_TRY(eg_words_resize(&e->near, (size_t)e->vars * e->words));
  EG_TRY(eg_doubles_resize(&e->width, e->vars));
  EG_TRY(eg_doubles_resize(&e->score, e->vars));
  EG_TRY(eg_bytes_resize(&e->state, e->vars));
  EG_TRY(eg_labels_resize(&e->label, e->vars));
  EG_TRY(diffuse(e));
  EG_TRY(condense(e, constant, rows, &is_left));
  n->maker.rows = rows;
  bool is_done = !is_left || n->is_empty;
  if (!is_done && !eg_layout_search_wants_bound(e->search) && !should_stop(e)) {
    EG_TRY(eliminate_present(e, false));
    is_done = !should_stop(e);
  }
  if (!is_done) n->maker.lost = 0;
  *out_found = !n->is_empty && is_done;
  return EGRAPH_OK;
}

static egraph_status offer_labels(eliminator *e, eg_layout_eliminated *out) {
  assert(e->order.len == e->result.len);
  eg_layout_search *search = e->search;
  for (size_t i = e->order.len; i-- > 0;)
    if (!eg_relation_choice(&e->network.relations.data[e->result.data[i]], e->label.data,
                            &e->label.data[e->order.data[i]]))
      return EG_FAIL(EGRAPH_E_INTERNAL, "a choice of the elimination is lost");
  EG_TRY(eg_layout_choice_clear(&search->trial, search->view));
  for (uint32_t v = 0; v < e->encoding.source.len; v++)
    EG_TRY(
        decode_strategy(&e->encoding, v, e->label.data, &search->trial.strategy.data[v]));
  bool ok;
  EG_TRY(eg_layout_search_offer(search, &ok));
  memcpy(out->sum, search->trial.sum, sizeof out->sum);
  return EGRAPH_OK;
}

/// Returns how far a run has searched; `least` is INFINITY when it found no solution.
static eg_layout_reach reach_of(const eliminator *e, double least) {
  const eg_relation_maker *maker = &e->network.maker;
  if (maker->gave_up || e->search->clock->stopped) return EG_LAYOUT_REACH_NONE;
  if (least <= maker->lost) return EG_LAYOUT_REACH_ALL;
  bool was_cut = maker->lost < maker->room || !(maker->lost > 0);
  return was_cut ? EG_LAYOUT_REACH_ROWS : EG_LAYOUT_REACH_ROOM;
}

static egraph_status eliminate_all(eliminator *e, double constant, uint32_t rows,
                                   eg_layout_eliminated *out) {
  EG_TRY(run_elimination(e, constant, rows, &out->found));
  double least = out->found ? e->network.maker.base : INFINITY; // the whole cost
  if (out->found) EG_TRY(offer_labels(e, out));
  out->reach = reach_of(e, least);
  return raise_by_elimination(e, constant, least);
}

// ---- the whole ----------------------------------------------------------------------

static bool on_join_progress(void *user) {
  eliminator *e = user;
  count_steps(e);
  return eg_layout_search_stop(e->search);
}

EG_OWNER_DEFINE_STATIC(eliminator, (eg_cost_network, network), (encoding, encoding),
                       (eg_words, near), (eg_doubles, width, score), (eg_bytes, state),
                       (eg_u32s, order, result, joined), (eg_labels, label),
                       (eg_relation, unit))

static egraph_status run_eliminator(eliminator *e, const eg_layout_elimination *options,
                                    eg_layout_eliminated *out) {
  eg_layout_factors *factors = e->encoding.factors;
  *out = (eg_layout_eliminated){.reach = EG_LAYOUT_REACH_NONE};
  EG_TRY(eg_doubles_push(&e->unit.cost, 0));
  EG_TRY(encode_problem(&e->encoding));
  eg_layout_search_work(e->search, STEP * factors->steps);
  factors->steps = 0;
  e->vars = eg_cost_network_vars(&e->network);
  e->words = eg_bits_words(e->vars);
  if (e->encoding.fits && e->vars <= MOST_VARIABLES)
    EG_TRY(eliminate_all(e, options->constant, options->rows, out));
  count_steps(e);
  return EGRAPH_OK;
}

egraph_status eg_layout_eliminate(eg_layout_search *search, eg_layout_factors *factors,
                                  const eg_layout_elimination *options,
                                  eg_layout_eliminated *out) {
  assert(isfinite(options->room) && options->rows >= 1);
  EG_LOCAL(eliminator, e, search->alloc);
  e.search = search;
  e.network.maker.room = options->room;
  e.network.maker.rows = options->rows;
  e.network.maker.stop = on_join_progress;
  e.network.maker.user = &e;
  e.encoding.factors = factors;
  e.encoding.strategy_excess = options->strategy_excess;
  e.encoding.arc_excess = options->arc_excess;
  e.encoding.network = &e.network;
  return run_eliminator(&e, options, out);
}
