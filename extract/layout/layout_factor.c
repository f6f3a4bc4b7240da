// The least costs of factors.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_factors.h"

#include <math.h>

#define NONE EG_LAYOUT_NONE

static const eg_layout_problem *problem_of(const eg_layout_factors *f) {
  return f->view->problem;
}

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

/// Whether a link's label is the layout that its producers make the value in.
static bool is_made(const eg_link *link) {
  return link->kind == EG_LINK_MADE || link->kind == EG_LINK_TIE ||
         link->kind == EG_LINK_SEAM;
}

static double price_of_made(const eg_layout_factors *f, uint32_t value, uint32_t label) {
  double price = 0;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    uint32_t link = f->links_of.items.data[i];
    if (is_made(&f->links.data[link])) price += eg_link_near_price(f, link, label);
  }
  return price;
}

static void lower_made(eg_layout_factors *f, uint32_t value, uint32_t label,
                       double cost) {
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    uint32_t link = f->links_of.items.data[i];
    if (is_made(&f->links.data[link])) lower(f, link, label, cost);
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

static bool has_use(const eg_layout_factors *f, uint32_t op, uint32_t link) {
  const eg_layout_problem *p = problem_of(f);
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (f->use.data[i] == link) return true;
  return false;
}

/// Whether the label of a link depends on the operator alone, and which it is then: none
/// of what it does not use, whether it is in a cut.
static bool label_by_operator(const eg_layout_factors *f, uint32_t op, uint32_t number,
                              uint32_t *out_label) {
  const eg_link *link = &f->links.data[number];
  if (is_made(link) || (link->kind == EG_LINK_USE && has_use(f, op, number)))
    return false;
  bool is_in = link->kind == EG_LINK_CUT && eg_link_cuts(f, link, op);
  *out_label = is_in ? EG_CUT_CHOSEN : none_of(f, number);
  return true;
}

static double price_of_operator(const eg_layout_factors *f, uint32_t op) {
  uint32_t value = problem_of(f)->operator_value.data[op], label;
  double price = 0;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++)
    if (label_by_operator(f, op, f->links_of.items.data[i], &label))
      price += eg_link_near_price(f, f->links_of.items.data[i], label);
  return price;
}

static void lower_by_operator(eg_layout_factors *f, uint32_t op, double cost) {
  uint32_t value = problem_of(f)->operator_value.data[op], label;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++)
    if (label_by_operator(f, op, f->links_of.items.data[i], &label))
      lower(f, f->links_of.items.data[i], label, cost);
}

double eg_factor_strategy(const eg_layout_factors *f, uint32_t strategy) {
  return strategy_alone(f, strategy) +
         price_of_operator(f, f->view->op_of.data[strategy]);
}

/// The strategies of one operator of a value: those from `from` on that are its own.
static uint32_t solve_operator(eg_layout_factors *f, uint32_t from, uint32_t end,
                               double *out_best) {
  const eg_u32s *items = &f->view->strategies.items;
  uint32_t op = f->view->op_of.data[items->data[from]], i = from;
  double shared = price_of_operator(f, op);
  uint32_t links = f->links_of.begin.data[problem_of(f)->operator_value.data[op] + 1] -
                   f->links_of.begin.data[problem_of(f)->operator_value.data[op]];
  *out_best = INFINITY;
  for (; i < end && f->view->op_of.data[items->data[i]] == op; i++) {
    uint32_t s = items->data[i];
    if (!f->active->strategy.data[s]) continue;
    double cost = strategy_alone(f, s) + shared;
    f->steps += 4 + 4 * links;
    if (!(cost < INFINITY)) continue;
    lower_strategy(f, s, cost);
    if (cost < *out_best) *out_best = cost;
  }
  if (*out_best < INFINITY) lower_by_operator(f, op, *out_best);
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

void eg_factor_producers(eg_layout_factors *f, uint32_t value, double *out) {
  const eg_layout_rows *rows = &f->view->strategies;
  uint32_t end = rows->begin.data[value + 1];
  double nothing = eg_factor_nothing(f, value), best;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    uint32_t link = f->links_of.items.data[i];
    forget(f, link);
    lower(f, link, none_of(f, link), nothing);
  }
  *out = nothing;
  for (uint32_t i = rows->begin.data[value]; i < end;) {
    i = solve_operator(f, i, end, &best);
    if (best < *out) *out = best;
  }
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
  // Sets of users, each with its ways along arcs, back and forth.
  f->steps += (UINT64_C(6) << tree->user_count) * (steiner->layouts + steiner->arcs);
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

// ---- seams --------------------------------------------------------------------------
//
// Let b, f, l, a be what the four values of a seam have handed over, by label, those of
// the part for each of its n copies. A row of copies pays b + f at its front, l + f where
// two copies meet, l + a at its back: at least K1 + (n - 1) K2 + K3, the minima of these
// sums over labels. With K1 = u + v, K2 = w + v and K3 = w + x, whatever v is, potentials
//
//   p between u - b and f - v,   q between w - l and a - x,   q <= p
//
// leave u, v, w and x at least to the four, so that nothing is lost.

typedef struct seam {
  eg_layout_factors *f;
  const uint32_t *links;
  uint32_t labels;
  double times;
  double least[EG_SEAM_ENDS]; // u, v, w, x
} seam;

/// What an end has handed over, a copy's for the part; INFINITY: it cannot be.
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

/// In the middle; where one side is open, at the other.
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
  uint32_t begin = f->links_of_cut.begin.data[cut];
  uint32_t end = f->links_of_cut.begin.data[cut + 1];
  const uint32_t *links = f->links_of_cut.items.data;
  // The cheapest of all, and what it takes on top of that for one to be chosen: by the
  // link that it takes the least, and by another one.
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
    forget(f, links[i]);
    lower(f, links[i], EG_CUT_CHOSEN, rest + with);
    lower(f, links[i], EG_CUT_NOT, rest + without + (more > first ? first : second));
  }
  *out = all + first;
}
