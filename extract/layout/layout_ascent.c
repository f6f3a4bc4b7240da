// Sequential reweighted message passing (TRW-S, SRMP: Kolmogorov 2006, 2015). Factors are
// in the order of the values, inputs first: the producers of a value, then its
// arborescences; at the end ties, seams and cuts. A pass visits them forward, the next
// pass backward. A factor hands the costs of its labels above its least cost, in equal
// parts, to the factors that come later in the pass. The least cost of this factor does
// not fall, and the least costs of the others can only rise, so the bound, the sum of
// all, never falls. (Subgradient steps from the point where it stalls were tried and
// gained nothing.) After a backward pass the prices of a value's source estimate its cost
// to all users, and a greedy walk forward by these prices gives a solution.
//
// Limited measures are added to the costs at prices, and limits times prices are
// subtracted from the bound; the prices follow the use of the solutions.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_ascent.h"

#include <math.h>

#include "extract/layout/layout_prices.h"

enum {
  PATIENCE = 10, // passes between checks of the progress of the bound
  DECODE_EVERY = 4,
  MOST_PRICES = 14,
  LIMIT_PASSES = 60,
  CUTS_SHARE = 200, // one part of the remaining work, at ten steps for a visit of a node
  STEP = 2          // steps of work for a step of factors (measured)
};
static const double FAR_BELOW = 0.5; // share of a limit
// A climb ends when PATIENCE passes raise the bound by less than this share: STANDSTILL
// of the gap, or BARE_STANDSTILL of the bound before there is a solution.
static const double STANDSTILL = 0.004, BARE_STANDSTILL = 1e-5;
#define NONE EG_LAYOUT_NONE

struct eg_layout_ascent {
  eg_layout_search *search;
  const eg_layout_active *active;
  eg_layout_landmarks landmarks;
  eg_layout_factors factors;
  eg_u32s order;    // used values, inputs first
  eg_u32s position; // [value] in order, or NONE
  eg_layout_weights weights;
  bool is_checked; // check_limits has run
  double constant; // added to the bound: limits times prices, negative
  double bound;    // after the last pass
  double best;     // the highest bound so far, less rounding
  double room;     // labels of more excess are in no better solution
  bool keeps_all;  // room stays infinite
  bool infeasible;
  // State of a greedy walk:
  eg_doubles far;        // [places] distance from a value's source
  eg_u32s source;        // [value] layout, or NONE
  eg_u32s label;         // [tie] layout, or NONE
  eg_doubles kept_price; // prices of the factors, while the ascent is restricted
  eg_bytes kept_dead;
};
typedef eg_layout_ascent ascent;

// ---- order --------------------------------------------------------------------------

static egraph_status push_inputs(const ascent *a, uint32_t value, eg_u32s *stack) {
  const eg_layout_active *active = a->active;
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t last = NONE;
  EG_EACH_ITEM(s, view->strategies, value) {
    uint32_t op = view->op_of.data[s];
    if (!active->strategy.data[s] || op == last) continue;
    last = op;
    for (uint32_t k = p->input_begin.data[op]; k < p->input_begin.data[op + 1]; k++)
      if (a->position.data[p->inputs.data[k]] == NONE)
        EG_TRY(eg_u32s_push(stack, p->inputs.data[k]));
  }
  return EGRAPH_OK;
}

static egraph_status sort_from(ascent *a, uint32_t value, eg_u32s *stack,
                               eg_bytes *opened) {
  EG_TRY(eg_u32s_push(stack, value));
  while (stack->len != 0) {
    uint32_t top = stack->data[stack->len - 1];
    if (!opened->data[top]) {
      opened->data[top] = 1;
      EG_TRY(push_inputs(a, top, stack));
      continue;
    }
    stack->len--;
    if (a->position.data[top] != NONE) continue;
    a->position.data[top] = (uint32_t)a->order.len;
    EG_TRY(eg_u32s_push(&a->order, top));
  }
  return EGRAPH_OK;
}

/// Orders the used values, inputs first as far as cycles allow.
static egraph_status sort_values(ascent *a) {
  size_t values = a->active->used.len;
  EG_LOCAL(eg_u32s, stack, a->search->alloc);
  EG_LOCAL(eg_bytes, opened, a->search->alloc);
  EG_TRY(eg_fill_none(&a->position, values));
  EG_TRY(eg_bytes_resize(&opened, values));
  for (uint32_t v = 0; v < values; v++)
    if (a->active->used.data[v]) EG_TRY(sort_from(a, v, &stack, &opened));
  return EGRAPH_OK;
}

// ---- passes -------------------------------------------------------------------------
//
// The rank of a factor in a pass is 2 * position for the producers of a value, and 2 *
// position + 1 for its arborescences; ties, seams and cuts come last.

/// True when the link, seen from one end (`at_producers` or far), leads to a
/// later factor.
static bool is_later(const ascent *a, const eg_link *link, bool at_producers,
                     bool forward) {
  bool is_tree = link->kind <= EG_LINK_SOURCE;
  uint32_t near = 2 * a->position.data[link->producers];
  uint32_t far = is_tree ? 2 * a->position.data[link->value] + 1 : UINT32_MAX;
  return (far > near) == (at_producers == forward);
}

/// Hands a part of the costs of a link's labels (the values of a variable that two
/// factors share), above the least cost of the factor just solved, to the link's other
/// end. Deletes a label that is in no better solution: its price would grow without end,
/// and its rounding errors would hide other differences.
static void hand_over(ascent *a, const eg_link *link, bool at_producers, double least,
                      double part) {
  assert(part > 0 && part <= 1);
  eg_layout_factors *f = &a->factors;
  double sign = at_producers ? -part : part;
  for (uint32_t i = link->price, n = link->price + eg_link_labels(f, link); i < n; i++) {
    if (f->dead.data[i]) continue;
    double excess = f->least.data[i] - least;
    if (excess <= a->room && excess < INFINITY)
      f->price.data[i] += sign * excess;
    else
      f->dead.data[i] = 1;
  }
}

/// Passes costs of the factor just solved to the factors at the other ends of its links.
static void hand_on(ascent *a, const uint32_t *links, uint32_t count, bool at_producers,
                    bool forward, double least) {
  uint32_t later = 0;
  for (uint32_t i = 0; i < count; i++) {
    const eg_link *link = &a->factors.links.data[links[i]];
    if (link->kind == EG_LINK_ROOT) continue;
    later += is_later(a, link, at_producers, forward);
  }
  for (uint32_t i = 0; i < count; i++) {
    const eg_link *link = &a->factors.links.data[links[i]];
    if (link->kind != EG_LINK_ROOT && is_later(a, link, at_producers, forward))
      hand_over(a, link, at_producers, least, 1.0 / later);
  }
}

static void add_least(ascent *a, double least) {
  if (least < INFINITY)
    a->bound += least;
  else
    a->infeasible = true;
}

static void pass_producers(ascent *a, uint32_t value, bool forward) {
  const eg_layout_rows *rows = &a->factors.links_of;
  double least;
  eg_factor_producers(&a->factors, value, &least);
  add_least(a, least);
  if (!a->infeasible)
    hand_on(a, rows->items.data + rows->begin.data[value],
            rows->begin.data[value + 1] - rows->begin.data[value], true, forward, least);
}

static egraph_status pass_trees(ascent *a, uint32_t value, bool forward) {
  const eg_layout_rows *rows = &a->factors.trees_of;
  EG_EACH_ITEM(item, *rows, value) {
    const eg_tree_factor *tree = &a->factors.trees.data[item];
    uint32_t links[EG_STEINER_USERS + 1] = {tree->source};
    double least;
    for (uint32_t u = 0; u < tree->user_count; u++)
      links[u + 1] = tree->users[u];
    EG_TRY(eg_factor_tree(&a->factors, item, &least));
    add_least(a, least);
    if (a->infeasible) return EGRAPH_OK;
    hand_on(a, links, tree->user_count + 1, false, forward, least);
  }
  return EGRAPH_OK;
}

static void pass_last(ascent *a, const eg_layout_rows *links,
                      void (*solve)(eg_layout_factors *, uint32_t, double *),
                      bool forward) {
  for (uint32_t i = 0; i + 1 < links->begin.len && !a->infeasible; i++) {
    uint32_t begin = links->begin.data[i], count = links->begin.data[i + 1] - begin;
    double least;
    solve(&a->factors, i, &least);
    add_least(a, least);
    if (!a->infeasible)
      hand_on(a, links->items.data + begin, count, false, forward, least);
  }
}

static void pass_seams(ascent *a) {
  const eg_layout_rows *links = &a->factors.links_of_seam;
  for (uint32_t i = 0; i + 1 < links->begin.len && !a->infeasible; i++) {
    double least;
    eg_factor_seam(&a->factors, i, &least);
    add_least(a, least);
  }
}

/// Solves the factors of ties, seams (where copies of a block meet) and cuts in a pass,
/// and passes their costs on.
static void pass_others(ascent *a, bool forward) {
  pass_last(a, &a->factors.links_of_tie, eg_factor_tie, forward);
  pass_seams(a);
  pass_last(a, &a->factors.links_of_cut, eg_factor_cut, forward);
}

static void count_steps(ascent *a) {
  eg_layout_search_work(a->search, STEP * a->factors.steps);
  a->factors.steps = 0;
}

static egraph_status run_ascent_pass(ascent *a, bool forward) {
  assert(a->order.len <= a->position.len);
  uint32_t count = (uint32_t)a->order.len;
  a->bound = a->constant;
  if (!forward) pass_others(a, false);
  for (uint32_t i = 0; i < count && !a->infeasible; i++) {
    uint32_t value = a->order.data[forward ? i : count - 1 - i];
    if (forward) pass_producers(a, value, true);
    if (!a->infeasible) EG_TRY(pass_trees(a, value, forward));
    if (!forward && !a->infeasible) pass_producers(a, value, false);
  }
  if (forward && !a->infeasible) pass_others(a, true);
  count_steps(a);
  return EGRAPH_OK;
}

// ---- greedy walk --------------------------------------------------------------------

/// Finds the distances from the layout in which a value is produced to its other layouts.
static void find_distances(ascent *a, uint32_t value) {
  const eg_layout_problem *p = a->search->view->problem;
  const eg_layout_rows *arcs = &a->search->view->value_arcs;
  double *far = a->far.data;
  for (uint32_t i = p->place_begin.data[value]; i < p->place_begin.data[value + 1]; i++)
    far[i] = INFINITY;
  far[p->place_begin.data[value] + a->source.data[value]] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    EG_EACH_ITEM(arc, *arcs, value) {
      if (!a->factors.active->arc.data[arc]) continue;
      double way = far[p->arc_from.data[arc]] + a->factors.arc_cost.data[arc];
      if (!(way < far[p->arc_to.data[arc]])) continue;
      far[p->arc_to.data[arc]] = way;
      changed = true;
    }
  }
}

/// Estimates the cost of producing a value in this layout; INFINITY when a tie already
/// has another layout.
static double price_of_layout(const ascent *a, uint32_t value, uint32_t layout) {
  const eg_layout_factors *f = &a->factors;
  double price = 0;
  EG_EACH_ITEM(number, f->links_of, value) {
    const eg_link *link = &f->links.data[number];
    if (link->kind == EG_LINK_USE || link->kind == EG_LINK_CUT) continue;
    bool is_tied = link->kind == EG_LINK_TIE && a->label.data[link->far] != NONE;
    if (f->dead.data[link->price + layout] ||
        (is_tied && a->label.data[link->far] != layout))
      return INFINITY;
    price += f->price.data[link->price + layout];
  }
  return price;
}

static double strategy_score(const ascent *a, uint32_t s) {
  const eg_layout_problem *p = a->search->view->problem;
  uint32_t op = a->search->view->op_of.data[s], value = p->operator_value.data[op];
  double score =
      a->factors.strategy_cost.data[s] +
      price_of_layout(a, value, p->output.data[s] - p->place_begin.data[value]);
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++) {
    if (a->source.data[p->inputs.data[i]] == NONE) return INFINITY;
    score += a->far.data[p->needs.data[n]];
  }
  return score;
}

/// Chooses the cheapest strategy of a value, given the layouts of its inputs.
static uint32_t choose_strategy(const ascent *a, uint32_t value) {
  const eg_layout_view *view = a->search->view;
  uint32_t chosen = NONE;
  double best = INFINITY;
  EG_EACH_ITEM(s, view->strategies, value) {
    if (!a->factors.active->strategy.data[s]) continue;
    double score = strategy_score(a, s);
    if (!(score < best)) continue;
    best = score;
    chosen = s;
  }
  return chosen;
}

static void take_labels(ascent *a, uint32_t value, uint32_t layout) {
  const eg_layout_factors *f = &a->factors;
  EG_EACH_ITEM(number, f->links_of, value) {
    const eg_link *link = &f->links.data[number];
    if (link->kind == EG_LINK_TIE) a->label.data[link->far] = layout;
  }
}

/// Walks greedily over the values, inputs first, and offers the chosen strategies, which
/// stay in search->trial, a solution or not.
static egraph_status decode(ascent *a) {
  eg_layout_search *search = a->search;
  const eg_layout_problem *p = a->search->view->problem;
  EG_TRY(eg_layout_choice_clear(&search->trial, search->view));
  EG_TRY(eg_fill_none(&a->label, eg_layout_tie_count(p)));
  EG_TRY(eg_fill_none(&a->source, eg_layout_value_count(p)));
  for (uint32_t i = 0; i < a->order.len; i++) {
    uint32_t value = a->order.data[i], s = choose_strategy(a, value);
    if (s == NONE) continue;
    search->trial.strategy.data[value] = s;
    a->source.data[value] = p->output.data[s] - p->place_begin.data[value];
    take_labels(a, value, a->source.data[value]);
    find_distances(a, value);
  }
  bool ignored;
  return eg_layout_search_offer(search, &ignored);
}

// ---- excess -------------------------------------------------------------------------

/// Records, for each label of a link, how much its least cost exceeds the least cost of
/// the factor at the link's far end, which has just been solved.
static void record_link(const eg_layout_factors *f, uint32_t number, double least,
                        eg_doubles *excess) {
  const eg_link *link = &f->links.data[number];
  for (uint32_t i = 0; i < eg_link_labels(f, link); i++)
    excess->data[link->price + i] = f->least.data[link->price + i] - least;
}

static void record_rows(eg_layout_factors *f, const eg_layout_rows *links,
                        void (*solve)(eg_layout_factors *, uint32_t, double *),
                        eg_doubles *excess) {
  for (uint32_t i = 0; i + 1 < links->begin.len; i++) {
    double least;
    solve(f, i, &least);
    EG_EACH_ITEM(item, *links, i)
      record_link(f, item, least, excess);
  }
}

/// Solves the factors at the far ends of all links. For each label of a link, finds how
/// much its least cost exceeds the least cost of that factor.
static egraph_status solve_far_ends(eg_layout_factors *f, eg_doubles *excess) {
  EG_TRY(eg_doubles_resize(excess, f->price.len));
  for (uint32_t t = 0; t < f->trees.len; t++) {
    const eg_tree_factor *tree = &f->trees.data[t];
    double least;
    EG_TRY(eg_factor_tree(f, t, &least));
    record_link(f, tree->source, least, excess);
    for (uint32_t u = 0; u < tree->user_count; u++)
      record_link(f, tree->users[u], least, excess);
  }
  record_rows(f, &f->links_of_tie, eg_factor_tie, excess);
  record_rows(f, &f->links_of_cut, eg_factor_cut, excess);
  return EGRAPH_OK;
}

/// Sums, over the factors that a strategy occurs in, the cost of its labels above the
/// least cost of the factor; counts each factor once.
static double excess_around(const eg_layout_factors *f, const eg_doubles *excess,
                            uint32_t s) {
  const eg_layout_problem *p = f->view->problem;
  uint32_t op = f->view->op_of.data[s], value = p->operator_value.data[op];
  uint32_t output = p->output.data[s] - p->place_begin.data[value];
  uint32_t begin = p->input_begin.data[op], end = p->input_begin.data[op + 1];
  double sum = 0;
  EG_EACH_ITEM(number, f->links_of, value) {
    const eg_link *link = &f->links.data[number];
    if (link->kind == EG_LINK_SOURCE || link->kind == EG_LINK_TIE)
      sum += excess->data[link->price + output];
    if (link->kind == EG_LINK_CUT)
      sum += excess->data[link->price +
                          (eg_link_cuts(f, link, op) ? EG_CUT_CHOSEN : EG_CUT_NOT)];
  }
  for (uint32_t i = begin; i < end; i++) {
    const eg_link *link = &f->links.data[f->use.data[i]];
    bool is_counted = link->value == value; // among the trees of the value itself
    for (uint32_t k = begin; k < i; k++)
      is_counted = is_counted || f->links.data[f->use.data[k]].far == link->far;
    uint32_t label = p->needs.data[p->need_begin.data[s] + (i - begin)] -
                     p->place_begin.data[p->inputs.data[i]];
    if (!is_counted) sum += excess->data[link->price + label];
  }
  return sum;
}

static void fill_strategy_excess(eg_layout_factors *f, const eg_doubles *excess,
                                 eg_doubles *out) {
  const eg_layout_view *view = f->view;
  for (uint32_t value = 0; value < eg_layout_value_count(f->view->problem); value++) {
    double least;
    if (!f->active->used.data[value]) continue;
    eg_factor_producers(f, value, &least);
    EG_EACH_ITEM(s, view->strategies, value) {
      if (f->active->strategy.data[s])
        out->data[s] = eg_factor_strategy(f, s) - least + excess_around(f, excess, s);
    }
  }
}

static egraph_status fill_arc_excess(eg_layout_factors *f, eg_doubles *out) {
  for (uint32_t t = 0; t < f->trees.len; t++) {
    double least;
    EG_TRY(eg_factor_tree(f, t, &least));
    for (uint32_t i = 0; i < f->arc_number.len; i++) {
      // If a value has several arborescences, any of them may use the arc
      double excess = eg_factor_arc(f, i) - least;
      double *least_excess = &out->data[f->arc_number.data[i]];
      if (excess < *least_excess) *least_excess = excess;
    }
  }
  return EGRAPH_OK;
}

/// Fills lower bounds of the cost of solutions with each active strategy or arc, above
/// the bound (the excess). Solves every factor twice.
static egraph_status fill_excess(ascent *a, eg_layout_excess *out) {
  eg_layout_factors *f = &a->factors;
  const eg_layout_problem *p = f->view->problem;
  EG_TRY(eg_doubles_resize(&out->strategy, eg_layout_strategy_count(p)));
  EG_TRY(eg_doubles_resize(&out->arc, eg_layout_arc_count(p)));
  for (size_t s = 0; s < out->strategy.len; s++)
    out->strategy.data[s] = INFINITY;
  for (size_t i = 0; i < out->arc.len; i++)
    out->arc.data[i] = INFINITY;
  out->bound = a->bound;
  EG_LOCAL(eg_doubles, excess, a->search->alloc);
  EG_TRY(solve_far_ends(f, &excess));
  EG_TRY(fill_arc_excess(f, &out->arc));
  fill_strategy_excess(f, &excess, &out->strategy);
  return EGRAPH_OK;
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status set_costs(ascent *a) {
  a->constant = eg_layout_weights_constant(&a->weights, a->search->task);
  return eg_layout_weights_fill(&a->weights, a->search->view, &a->factors.strategy_cost,
                                &a->factors.arc_cost);
}

static bool is_closed(const ascent *a) {
  return a->search->bound >= eg_layout_search_cutoff(a->search);
}

/// True when one block represents a row of copies (an open problem). The bound then holds
/// for rows of copies; solutions of the problem itself may cost less.
static bool is_of_open_problem(const ascent *a) { return a->search->view->seams != NULL; }

/// Returns the largest rounding error of the bound, a sum of many terms.
static double rounding_of(const ascent *a) {
  return 1e-12 * (fabs(a->bound) + fabs(a->constant));
}

/// Raises the search's bound, and records the prices of memory that gave it.
static egraph_status raise_bound(ascent *a) {
  eg_layout_search *search = a->search;
  const eg_layout_weights *w = &a->weights;
  double before = search->bound;
  EG_TRY(eg_layout_search_raise(search, a->bound - rounding_of(a)));
  if (!(search->bound > before) || !isinf(search->whole)) return EGRAPH_OK;
  for (uint32_t i = 0; i < w->limits; i++)
    search->price[w->limited[i] - EG_LAYOUT_ROW] = w->price[i];
  return EGRAPH_OK;
}

/// Runs passes at fixed prices of memory until the bound stalls.
static egraph_status climb_at_prices(ascent *a, int passes) {
  assert(passes > 0);
  double mark = -INFINITY;
  EG_TRY(set_costs(a));
  a->room = INFINITY; // unknown until the bound at these costs is known
  for (int i = 0; i < passes; i++) {
    EG_TRY(run_ascent_pass(a, i % 2 == 0));
    if (a->infeasible) return EGRAPH_OK;
    a->best = fmax(a->best, a->bound - rounding_of(a));
    if (!is_of_open_problem(a)) EG_TRY(raise_bound(a));
    if (!a->keeps_all) { // a better solution costs no more
      double cutoff = eg_layout_search_cut(a->search);
      a->room =
          isfinite(cutoff) ? fmax(cutoff - a->bound, 0) + 1e-9 * fabs(cutoff) : INFINITY;
    }
    bool is_back = i % 2 == 1;
    if (is_back && !is_of_open_problem(a) && i % DECODE_EVERY == DECODE_EVERY - 1)
      EG_TRY(decode(a));
    if (is_closed(a) || eg_layout_search_stop(a->search)) break;
    if (i % PATIENCE != PATIENCE - 1) continue;
    double gap = eg_layout_search_cutoff(a->search) - a->bound;
    if (a->bound - mark <=
        (isfinite(gap) ? STANDSTILL * gap : BARE_STANDSTILL * fabs(a->bound)))
      break;
    mark = a->bound;
  }
  return EGRAPH_OK;
}

/// Checks by a few passes whether memory limits can be kept: minimizes the sum of limited
/// memory at these prices, without the objective. Offers solutions that need little of
/// this memory.
static egraph_status check_limits_at(ascent *a, const double *price) {
  a->weights.objective_weight = 0;
  memcpy(a->weights.price, price, sizeof a->weights.price);
  double all = -eg_layout_weights_constant(&a->weights, a->search->task);
  a->room = INFINITY;
  EG_TRY(set_costs(a));
  for (int i = 0; i < LIMIT_PASSES && !a->infeasible; i++) {
    EG_TRY(run_ascent_pass(a, i % 2 == 0));
    if (a->bound > 1e-9 * all) a->infeasible = true;
    bool decodes = !a->infeasible && i % DECODE_EVERY == DECODE_EVERY - 1;
    if (decodes) EG_TRY(decode(a));
    if (eg_layout_search_stop(a->search)) break;
  }
  a->weights.objective_weight = 1;
  memset(a->weights.price, 0, sizeof a->weights.price);
  for (size_t i = 0; i < a->factors.price.len; i++)
    a->factors.price.data[i] = 0; // the old prices are in another unit
  return EGRAPH_OK;
}

/// Checks each memory limit alone, then the sum of (a row's memory) / (its limit).
static egraph_status check_limits(ascent *a) {
  double together[EG_LAYOUT_MEMORY_ROWS] = {0};
  for (uint32_t i = 0; i < a->weights.limits && !a->infeasible; i++) {
    double alone[EG_LAYOUT_MEMORY_ROWS] = {0}, limit;
    limit = a->search->task->limit[a->weights.limited[i]];
    alone[i] = 1;
    together[i] = limit > 0 ? 1 / limit : 0;
    EG_TRY(check_limits_at(a, alone));
  }
  if (a->weights.limits > 1 && !a->infeasible) EG_TRY(check_limits_at(a, together));
  return EGRAPH_OK;
}

/// Raises the price of the one limited memory row until a solution fits, then bisects.
static egraph_status try_prices_of_one(ascent *a) {
  double limit = a->search->task->limit[a->weights.limited[0]], low = 0, high = INFINITY;
  double best = -INFINITY, best_price = 0, *price = &a->weights.price[0];
  for (int i = 0; i < MOST_PRICES; i++) {
    EG_TRY(climb_at_prices(a, EG_LAYOUT_MOST_PASSES));
    if (a->infeasible || is_closed(a) || eg_layout_search_stop(a->search))
      return EGRAPH_OK;
    if (a->bound > best) {
      best = a->bound;
      best_price = *price;
    }
    if (a->search->trial.sum[a->weights.limited[0]] > limit)
      low = *price;
    else if (*price == 0)
      break;
    else
      high = *price;
    if (isfinite(high))
      *price = (low + high) / 2;
    else
      *price = *price == 0 ? 0.1 * fabs(a->search->bound) / (limit + 1) : 4 * *price;
  }
  *price = best_price;
  return EGRAPH_OK;
}

/// Finds prices of several limited rows of memory by cuts, which greedy solutions give.
static egraph_status try_prices_of_several(ascent *a) {
  double best = -INFINITY, best_price[EG_LAYOUT_MEMORY_ROWS] = {0};
  EG_OWNED(eg_layout_prices, prices);
  eg_layout_prices_init(&prices, a->search, &a->weights);
  bool moved = true;
  for (uint32_t i = 0; i < MOST_PRICES * prices.count && moved; i++) {
    EG_TRY(climb_at_prices(a, EG_LAYOUT_MOST_PASSES));
    if (a->infeasible || is_closed(a) || eg_layout_search_stop(a->search)) break;
    if (a->bound > best) {
      best = a->bound;
      memcpy(best_price, a->weights.price, sizeof best_price);
    }
    EG_TRY(eg_layout_prices_next(&prices, a->search->trial.sum, &moved));
    memcpy(a->weights.price, prices.price, sizeof prices.price);
  }
  if (best > -INFINITY) memcpy(a->weights.price, best_price, sizeof best_price);
  return EGRAPH_OK;
}

#define OWNED                                                                            \
  (eg_u32s, order, position, source, label), (eg_doubles, far, kept_price),              \
      (eg_bytes, kept_dead)

static egraph_status prepare_ascent(ascent *a, eg_layout_active *active) {
  eg_layout_search *search = a->search;
  const eg_layout_view *view = search->view;
  EG_TRY(eg_layout_landmarks_init(&a->landmarks, search->alloc));
  EG_TRY(eg_layout_landmarks_find(&a->landmarks, active, search->task,
                                  search->clock->deadline,
                                  eg_layout_search_share(search, CUTS_SHARE)));
  for (size_t i = 0; i < a->landmarks.values.len; i++)
    active->required.data[a->landmarks.values.data[i]] = 1;
  EG_TRY(eg_layout_factors_init(&a->factors, search->alloc, view, active, &a->landmarks));
  EG_TRY(sort_values(a));
  return eg_doubles_resize(&a->far, eg_layout_place_count(view->problem));
}

egraph_status eg_layout_ascent_create(eg_layout_search *search, eg_layout_active *active,
                                      eg_layout_ascent **out) {
  EG_HELD(eg_layout_ascent, a);
  EG_TRY(eg_alloc(search->alloc, 1, sizeof *a, &a));
  *a = (ascent){.search = search,
                .active = active,
                .best = -INFINITY,
                .weights = eg_layout_weights_of(search, active)};
  EG_INIT_MEMBERS(a, search->alloc, OWNED)
  EG_HAND_OVER(prepare_ascent(a, active), a, out);
}

void eg_layout_ascent_destroy(eg_layout_ascent *a) {
  if (a == NULL) return;
  eg_layout_factors_deinit(&a->factors);
  eg_layout_landmarks_deinit(&a->landmarks);
  EG_DEINIT_MEMBERS(a, OWNED)
  eg_free(a->search->alloc, a, 1, sizeof *a);
}

/// True when the best solution is far below the limits, which then hardly matter.
static bool keeps_far_below(const ascent *a) {
  const eg_layout_search *search = a->search;
  bool is_far = search->has_best;
  for (uint32_t i = 0; i < a->weights.limits; i++) {
    int measure = a->weights.limited[i];
    is_far =
        is_far && search->best.sum[measure] <= FAR_BELOW * search->task->limit[measure];
  }
  return is_far;
}

egraph_status eg_layout_ascent_climb(eg_layout_ascent *a, int passes,
                                     eg_layout_excess *out, bool *out_any) {
  assert(passes > 0);
  if (!a->is_checked && !keeps_far_below(a)) EG_TRY(check_limits(a));
  a->is_checked = true;
  if (!a->infeasible) EG_TRY(climb_at_prices(a, passes));
  *out_any = !a->infeasible;
  if (a->infeasible) return EGRAPH_OK;
  EG_TRY(fill_excess(a, out));
  count_steps(a);
  return EGRAPH_OK;
}

const eg_layout_weights *eg_layout_ascent_weights(const eg_layout_ascent *a) {
  return &a->weights;
}

void eg_layout_ascent_set_prices(eg_layout_ascent *a, const double *price) {
  memcpy(a->weights.price, price, a->weights.limits * sizeof *price);
}

void eg_layout_ascent_keep_all(eg_layout_ascent *a) { a->keeps_all = true; }

double eg_layout_ascent_best(const eg_layout_ascent *a) { return a->best; }

egraph_status eg_layout_ascent_find_prices(eg_layout_ascent *a) {
  if (a->infeasible || a->weights.limits == 0) return EGRAPH_OK;
  return a->weights.limits == 1 ? try_prices_of_one(a) : try_prices_of_several(a);
}

egraph_status eg_layout_ascent_restrict(ascent *a, const eg_layout_active *part) {
  assert(a->factors.active == a->active); // no nesting
  const eg_layout_factors *f = &a->factors;
  a->kept_price.len = a->kept_dead.len = 0;
  EG_TRY(eg_doubles_append(&a->kept_price, f->price.data, f->price.len));
  EG_TRY(eg_bytes_append(&a->kept_dead, f->dead.data, f->dead.len));
  a->factors.active = part;
  return EGRAPH_OK;
}

void eg_layout_ascent_release(ascent *a) {
  assert(a->kept_price.len == a->factors.price.len); // restricted before
  eg_layout_factors *f = &a->factors;
  memcpy(f->price.data, a->kept_price.data, f->price.len * sizeof *f->price.data);
  memcpy(f->dead.data, a->kept_dead.data, f->dead.len);
  f->active = a->active;
  a->infeasible = false;
}

static egraph_status append_seam(ascent *a, uint32_t seam, eg_layout_potentials *out) {
  assert(seam + 1 < a->factors.links_of_seam.begin.len);
  eg_layout_factors *f = &a->factors;
  const uint32_t *links = f->links_of_seam.items.data + f->links_of_seam.begin.data[seam];
  const eg_link *before = &f->links.data[links[0]];
  uint32_t labels = eg_link_labels(f, before) - 1;
  double ignored;
  eg_factor_seam(f, seam, &ignored);
  EG_TRY(eg_doubles_append(&out->front, f->front.data + before->price, labels));
  EG_TRY(eg_doubles_append(&out->back, f->back.data + before->price, labels));
  for (int end = 0; end < EG_SEAM_ENDS; end++)
    EG_TRY(eg_bytes_append(&out->impossible,
                           f->dead.data + f->links.data[links[end]].price, labels));
  return EGRAPH_OK;
}

egraph_status eg_layout_ascent_potentials(ascent *a, eg_layout_potentials *out) {
  for (uint32_t i = 0; i < out->seams->len; i++)
    EG_TRY(append_seam(a, i, out));
  return EGRAPH_OK;
}

const eg_layout_factors *eg_layout_ascent_factors(const ascent *a) { return &a->factors; }

egraph_status eg_layout_ascent_eliminate(eg_layout_ascent *a,
                                         const eg_layout_excess *excess, double room,
                                         uint32_t rows, eg_layout_eliminated *out) {
  const eg_layout_elimination options = {.strategy_excess = &excess->strategy,
                                         .arc_excess = &excess->arc,
                                         .constant = a->constant,
                                         .room = room,
                                         .rows = rows};
  return eg_layout_eliminate(a->search, &a->factors, &options, out);
}
