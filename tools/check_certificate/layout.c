// Certificates of layout problems: the cheapest choice of operators and layouts, and of
// transitions between layouts of a value.
//
// A solution needs the values of the roots. For each needed value it has one strategy of
// one operator that computes the value: a layout (place) of the value, and a place of
// each input. Used arcs lead from the place where a value is computed to the places where
// it is needed. The cost of a solution is the cost of its strategies and arcs; it takes
// memory in rows with limits.
//
// The bound is a sum of minima. A link is a variable, the layout of a value at one place
// of use or `none`, with a price per label; prices count at the producers of one value
// and, with the other sign, at a tree, tie or cut. Therefore, for every solution, the
// costs of all factors, prices included, add up to its cost; the least costs of the
// single factors add up to a lower bound. Memory counts in the costs at prices >= 0, less
// limits times prices. Factors: the producers of a value; a tree (an arborescence from
// the place where the value is computed to some of its users; the trees of a value share
// the costs of its arcs); a tie; a cut (one of its operators is in every solution).
//
// Sums are rounded down; the bound therefore holds.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/check_certificate/layout_claims.h"
#include "tools/check_certificate/rounding.h"

/// Adds a and b, rounded down; the sum is not below a when b >= 0, so that sums along
/// cycles do not decrease.
static double plus(double a, double b) {
  if (a == INFINITY || b == INFINITY) return INFINITY;
  if (b == 0) return a;
  double sum = add_down(a, b);
  return b > 0 && sum < a ? a : sum;
}

// ---- minima of factors --------------------------------------------------------------

static double near_price(const layout_check *k, const link *l, uint32_t label) {
  return k->dead[l->label + label] ? INFINITY : k->price[l->label + label];
}

static double far_price(const layout_check *k, const link *l, uint32_t label) {
  return k->dead[l->label + label] ? INFINITY : -k->price[l->label + label];
}

/// Returns the label that a strategy gives to a link (a variable of the dual): the number
/// of a layout of the link's value, or another choice that the link prices.
static uint32_t label_of(const layout_check *k, const link *l, uint32_t s) {
  const layout_text *t = &k->t;
  uint32_t op = t->op_of[s], nth = 0;
  bool is_in_cut = false;
  switch (l->kind) {
  case MADE:
  case TIED: return t->output[s] - t->place_begin[l->value];
  case IN_CUT:
    for (uint32_t i = k->cut_begin[l->at]; i < k->cut_begin[l->at + 1]; i++)
      is_in_cut = is_in_cut || k->cut_op[i] == op;
    return is_in_cut ? 0 : 1;
  case USED:
    for (uint32_t i = t->input_begin[op]; i < t->input_begin[op + 1]; i++)
      if (t->input[i] == l->value && nth++ == l->nth)
        return t->need[t->need_begin[s] + (i - t->input_begin[op])] -
               t->place_begin[l->value];
    return l->labels - 1;
  case ASKED: break;
  }
  return 0;
}

/// Returns the cost of a strategy or of a layout transition (arc) of a value, plus the
/// memory that it takes, at the prices (dual multipliers) of the memory limits.
static double cost_with_memory(const layout_check *k, uint32_t value, double cost,
                               const double *memory) {
  double sum = multiply_down(cost, k->t.cost_times[value]);
  for (uint32_t r = 0; r < k->t.rows; r++) {
    double amount = multiply_down(memory[r], k->t.memory_times[value]);
    sum = plus(sum, fmax(multiply_down(amount, k->price_of_row[r]), 0));
  }
  return sum;
}

/// Adds to a sum the dual prices that a value's producers pay: for a strategy, or, for
/// LAYOUT_NONE, for a value that is not computed.
static double add_prices(const layout_check *k, uint32_t v, uint32_t s, double cost) {
  for (uint32_t i = k->link_begin[v]; i < k->link_begin[v + 1]; i++) {
    const link *l = &k->link[k->link_of[i]];
    double price = near_price(k, l, s == LAYOUT_NONE ? l->labels - 1 : label_of(k, l, s));
    if (isinf(price)) return INFINITY;
    cost = plus(cost, price);
  }
  return cost;
}

static double cost_of_strategy(const layout_check *k, uint32_t s) {
  uint32_t v = layout_text_value_of(&k->t, s);
  return add_prices(
      k, v, s,
      cost_with_memory(k, v, k->t.cost[s], k->t.memory + (size_t)s * LAYOUT_ROWS));
}

/// Returns the dual prices that a value's producers pay when no operator computes the
/// value; INFINITY for a value that every solution computes.
static double cost_of_nothing(const layout_check *k, uint32_t v) {
  return k->required[v] ? INFINITY : add_prices(k, v, LAYOUT_NONE, 0);
}

/// Returns the cost of a layout transition (arc), divided among the trees of transitions
/// that the dual has for its value.
static double share_of_arc(const layout_check *k, uint32_t a) {
  const layout_text *t = &k->t;
  uint32_t v = t->place_value[t->arc_from[a]];
  double cost =
      cost_with_memory(k, v, t->arc_cost[a], t->arc_memory + (size_t)a * LAYOUT_ROWS);
  if (k->trees_of[v] > 1) cost = nextafter(cost / k->trees_of[v], 0);
  return fmax(cost, 0);
}

/// Computes the least cost of a Steiner tree of layout transitions by tables [subset of
/// users][layouts]: the least cost of serving the users from a layout (Dreyfus and
/// Wagner 1971).
static double minimum_of_tree(layout_check *k, uint32_t tree) {
  const layout_text *t = &k->t;
  const link *made = &k->link[k->tree_made[tree]];
  uint32_t value = k->tree_value[tree], layouts = layouts_of(k, value);
  uint32_t users = k->tree_users[tree], all = (UINT32_C(1) << users) - 1;
  uint32_t first = t->place_begin[value];
  for (uint32_t set = 1; set <= all; set++) {
    double *row = k->table + (size_t)set * layouts;
    const link *user = NULL;
    for (uint32_t u = 0; u < users; u++)
      if (set == UINT32_C(1) << u)
        user = &k->link[k->tree_user[(size_t)tree * MOST_USERS + u]];
    for (uint32_t l = 0; l < layouts; l++) {
      row[l] = user != NULL ? far_price(k, user, l) : INFINITY;
      for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set)
        row[l] = fmin(row[l], plus(k->table[(size_t)part * layouts + l],
                                   k->table[(size_t)(set ^ part) * layouts + l]));
    }
    bool moved = true;
    for (uint32_t round = 0; moved && round <= layouts; round++) {
      moved = false;
      for (uint32_t i = t->arc_begin[value]; i < t->arc_begin[value + 1]; i++) {
        uint32_t a = t->arc_of[i], from = t->arc_from[a] - first;
        if (!k->arc_alive[a]) continue;
        double way = plus(row[t->arc_to[a] - first], share_of_arc(k, a));
        if (!(way < row[from])) continue;
        row[from] = way;
        moved = true;
      }
    }
    for (uint32_t l = 0; user != NULL && l < layouts; l++)
      row[l] = fmin(row[l], far_price(k, user, layouts));
  }
  double least = far_price(k, made, layouts); // no link has a layout
  for (uint32_t u = 0; u < users; u++)
    least =
        plus(least, far_price(k, &k->link[k->tree_user[(size_t)tree * MOST_USERS + u]],
                              layouts));
  for (uint32_t l = 0; l < layouts; l++)
    least = fmin(least, plus(far_price(k, made, l),
                             all == 0 ? 0 : k->table[(size_t)all * layouts + l]));
  return least;
}

/// Numbers in groups: group i is item[begin[i]] to item[begin[i + 1] - 1].
typedef struct groups {
  uint32_t *begin, *item;
} groups;

/// The numbers of one of these groups.
typedef struct list {
  const uint32_t *at;
  uint32_t count;
} list;

static list group(const groups *all, uint32_t i) {
  return (list){all->item + all->begin[i], all->begin[i + 1] - all->begin[i]};
}

/// Computes the least dual cost of a tie: values that have one layout if computed.
static double minimum_of_tie(const layout_check *k, list links) {
  uint32_t labels = 0;
  double least = INFINITY;
  for (uint32_t i = 0; i < links.count; i++)
    if (k->link[links.at[i]].labels - 1 > labels)
      labels = k->link[links.at[i]].labels - 1;
  for (uint32_t label = 0; label < labels; label++) {
    double sum = 0;
    for (uint32_t i = 0; i < links.count; i++) {
      const link *l = &k->link[links.at[i]];
      double own = far_price(k, l, l->labels - 1);
      if (label < l->labels - 1) own = fmin(own, far_price(k, l, label));
      sum = isinf(own) ? INFINITY : plus(sum, own);
    }
    least = fmin(least, sum);
  }
  return links.count == 0 ? 0 : least;
}

/// True when the links (dual variables) include one for each value that operators of a
/// cut compute.
static bool is_whole(const layout_check *k, uint32_t cut, list links) {
  for (uint32_t i = k->cut_begin[cut]; i < k->cut_begin[cut + 1]; i++) {
    bool is_linked = false;
    for (uint32_t n = 0; n < links.count; n++)
      is_linked |= k->link[links.at[n]].value == k->t.op_value[k->cut_op[i]];
    if (!is_linked) return false;
  }
  return true;
}

/// Computes the least dual cost of a cut (a set of operators, one of which is in every
/// solution): at least one of its operators is chosen, if links cover all values that the
/// operators compute.
static double minimum_of_cut(const layout_check *k, uint32_t cut, list links) {
  double sum = 0, more = INFINITY;
  for (uint32_t i = 0; i < links.count; i++) {
    double with = far_price(k, &k->link[links.at[i]], 0);
    double without = far_price(k, &k->link[links.at[i]], 1);
    if (isinf(with) && isinf(without)) return INFINITY;
    sum = plus(sum, fmin(with, without));
    more = fmin(more, isinf(without) ? 0 : fmax(add_down(with, -without), 0));
  }
  return is_whole(k, cut, links) ? plus(sum, more) : sum;
}

// ---- labels in no solution ----------------------------------------------------------

/// Marks as dead (in no solution) the labels of a link that are not marked in `support`.
static bool bury(layout_check *k, const link *l, const uint8_t *support) {
  bool changed = false;
  for (uint32_t i = l->label; i < l->label + l->labels; i++) {
    if (support[i] || k->dead[i]) continue;
    k->dead[i] = 1;
    changed = true;
  }
  return changed;
}

static bool bury_producers(layout_check *k, uint32_t v, uint8_t *support,
                           list strategies) {
  bool changed = false;
  uint32_t begin = k->link_begin[v], end = k->link_begin[v + 1];
  bool nothing = cost_of_nothing(k, v) < INFINITY;
  for (uint32_t i = begin; i < end; i++) {
    const link *l = &k->link[k->link_of[i]];
    memset(support + l->label, 0, l->labels);
    if (nothing) support[l->label + l->labels - 1] = 1;
  }
  for (uint32_t n = 0; n < strategies.count; n++) {
    uint32_t s = strategies.at[n];
    if (!k->alive[s]) continue;
    if (!(cost_of_strategy(k, s) < INFINITY)) continue;
    for (uint32_t i = begin; i < end; i++) {
      const link *l = &k->link[k->link_of[i]];
      support[l->label + label_of(k, l, s)] = 1;
    }
  }
  for (uint32_t i = begin; i < end; i++)
    changed |= bury(k, &k->link[k->link_of[i]], support);
  return changed;
}

/// True when a user of a value can read it in one of the reached layouts, or can do
/// without the value; marks these labels of the user in `support`.
static bool serve(const layout_check *k, const link *user, const uint8_t *reached,
                  uint8_t *support) {
  bool any = false;
  for (uint32_t l = 0; l < user->labels; l++) {
    bool has = (l + 1 == user->labels ||
                (reached != NULL && reached[k->t.place_begin[user->value] + l])) &&
               !k->dead[user->label + l];
    any = any || has;
    if (has && support != NULL) support[user->label + l] = 1;
  }
  return any;
}

static bool bury_tree(layout_check *k, uint32_t tree, uint8_t *support,
                      uint8_t *reached) {
  const link *made = &k->link[k->tree_made[tree]];
  const uint32_t *users = k->tree_user + (size_t)tree * MOST_USERS;
  memset(support + made->label, 0, made->labels);
  for (uint32_t u = 0; u < k->tree_users[tree]; u++)
    memset(support + k->link[users[u]].label, 0, k->link[users[u]].labels);
  for (uint32_t m = 0; m < made->labels; m++) {
    bool is_none = m + 1 == made->labels, all = true;
    if (k->dead[made->label + m]) continue;
    if (!is_none) {
      uint32_t first = k->t.place_begin[made->value];
      memset(reached + first, 0, layouts_of(k, made->value));
      reached[first + m] = 1;
      layout_text_spread(&k->t, made->value, k->arc_alive, reached);
    }
    for (uint32_t u = 0; u < k->tree_users[tree]; u++)
      all = all && serve(k, &k->link[users[u]], is_none ? NULL : reached, NULL);
    if (!all) continue;
    support[made->label + m] = 1;
    for (uint32_t u = 0; u < k->tree_users[tree]; u++)
      (void)serve(k, &k->link[users[u]], is_none ? NULL : reached, support);
  }
  bool changed = bury(k, made, support);
  for (uint32_t u = 0; u < k->tree_users[tree]; u++)
    changed |= bury(k, &k->link[users[u]], support);
  return changed;
}

/// Marks labels of a tie's members as dead (in no solution) if the members cannot agree
/// on them: members that are computed have one layout.
static bool bury_tie(layout_check *k, list links, uint8_t *support) {
  bool changed = false;
  uint32_t labels = 0;
  for (uint32_t i = 0; i < links.count; i++) {
    const link *l = &k->link[links.at[i]];
    memset(support + l->label, 0, l->labels);
    if (l->labels - 1 > labels) labels = l->labels - 1;
  }
  for (uint32_t label = 0; label < labels; label++) {
    bool all = true;
    for (uint32_t i = 0; all && i < links.count; i++) {
      const link *l = &k->link[links.at[i]];
      all = !k->dead[l->label + l->labels - 1] ||
            (label < l->labels - 1 && !k->dead[l->label + label]);
    }
    for (uint32_t i = 0; all && i < links.count; i++) {
      const link *l = &k->link[links.at[i]];
      if (label < l->labels - 1) support[l->label + label] = 1;
      support[l->label + l->labels - 1] = 1;
    }
  }
  for (uint32_t i = 0; i < links.count; i++)
    changed |= bury(k, &k->link[links.at[i]], support);
  return changed;
}

/// Marks "not chosen" as dead (in no solution) for an operator of a cut if no other
/// operator of the cut can be chosen.
static bool bury_cut(layout_check *k, uint32_t cut, list links) {
  uint32_t chosen = 0, last = 0;
  for (uint32_t i = 0; i < links.count; i++) {
    if (k->dead[k->link[links.at[i]].label]) continue;
    chosen++;
    last = k->link[links.at[i]].label;
  }
  if (chosen != 1 || k->dead[last + 1] || !is_whole(k, cut, links)) return false;
  k->dead[last + 1] = 1;
  return true;
}

/// Marks as dead the layouts of root values in which they may not be returned.
static void bury_roots(layout_check *k) {
  const layout_text *t = &k->t;
  for (uint32_t i = 0; i < k->links; i++) {
    const link *l = &k->link[i];
    if (l->kind != ASKED) continue;
    uint32_t begin = t->root_begin[l->nth], end = t->root_begin[l->nth + 1];
    memset(k->dead + l->label, begin != end, l->labels);
    k->dead[l->label + l->labels - 1] = 1;
    for (uint32_t r = begin; r < end; r++)
      k->dead[l->label + t->root_place[r] - t->place_begin[l->value]] = 0;
  }
}

// ---- the bound ----------------------------------------------------------------------

/// Groups of numbers that a check needs: strategies by value, links by tie and by cut.
typedef struct lists {
  groups strategies, ties, cuts;
  uint8_t *support, *reached;
} lists;

/// Groups the links of a kind by their tie or cut.
static bool group_links(layout_check *k, link_kind kind, uint32_t *key, uint32_t keys,
                        groups *out) {
  for (uint32_t i = 0; i < k->links; i++)
    key[i] = k->link[i].kind == kind ? k->link[i].at : LAYOUT_NONE;
  return input_group(&k->c->in, key, k->links, keys, &out->begin, &out->item);
}

static bool make_lists(layout_check *k, lists *out) {
  const layout_text *t = &k->t;
  input *in = &k->c->in;
  uint32_t table = 1, *value, *key;
  for (uint32_t i = 0; i < k->trees; i++) {
    uint32_t entries = layouts_of(k, k->tree_value[i]) << k->tree_users[i];
    if (entries > table) table = entries;
  }
  if (!INPUT_ROOM(in, value, t->strategies) || !INPUT_ROOM(in, key, k->links))
    return false;
  for (uint32_t s = 0; s < t->strategies; s++)
    value[s] = layout_text_value_of(t, s);
  return input_group(in, value, t->strategies, t->values, &out->strategies.begin,
                     &out->strategies.item) &&
         group_links(k, TIED, key, t->ties, &out->ties) &&
         group_links(k, IN_CUT, key, k->cuts, &out->cuts) &&
         INPUT_ROOM(in, out->support, k->labels) &&
         INPUT_ROOM(in, out->reached, t->places) && INPUT_ROOM(in, k->table, table);
}

/// Marks labels that no solution has as dead, as far as one tree, tie, cut or root shows.
static void bury_labels(layout_check *k, const lists *all) {
  enum { MOST_ROUNDS = 30 };
  bool changed = true;
  bury_roots(k);
  for (int round = 0; changed && round < MOST_ROUNDS; round++) {
    changed = false;
    for (uint32_t v = 0; v < k->t.values; v++)
      changed |= bury_producers(k, v, all->support, group(&all->strategies, v));
    for (uint32_t i = 0; i < k->trees; i++)
      changed |= bury_tree(k, i, all->support, all->reached);
    for (uint32_t i = 0; i < k->t.ties; i++)
      changed |= bury_tie(k, group(&all->ties, i), all->support);
    for (uint32_t i = 0; i < k->cuts; i++)
      changed |= bury_cut(k, i, group(&all->cuts, i));
  }
}

static double sum_of_minima(layout_check *k, const lists *all) {
  const layout_text *t = &k->t;
  double sum = 0;
  for (uint32_t v = 0; v < t->values; v++) {
    double least = cost_of_nothing(k, v);
    list made = group(&all->strategies, v);
    for (uint32_t i = 0; i < made.count; i++)
      if (k->alive[made.at[i]]) least = fmin(least, cost_of_strategy(k, made.at[i]));
    sum = plus(sum, least);
  }
  for (uint32_t i = 0; i < k->trees; i++)
    sum = plus(sum, minimum_of_tree(k, i));
  for (uint32_t i = 0; i < t->ties; i++)
    sum = plus(sum, minimum_of_tie(k, group(&all->ties, i)));
  for (uint32_t i = 0; i < k->cuts; i++)
    sum = plus(sum, minimum_of_cut(k, i, group(&all->cuts, i)));
  for (uint32_t r = 0; r < t->rows; r++)
    if (k->price_of_row[r] > 0)
      sum = plus(sum, -multiply_up(k->price_of_row[r], t->limit[r]));
  return sum;
}

static bool check_bound(layout_check *k, verdict *out) {
  lists all;
  if (!make_lists(k, &all)) return false;
  bury_labels(k, &all);
  double bound = sum_of_minima(k, &all);
  if (!(k->bound <= bound))
    return certificate_refuse(k->c, "the prices prove a bound of %.17g only", bound);
  if (!(k->bound <= k->t.claimed_cost))
    return layout_refuse(k, "the bound is above the cost");
  (void)snprintf(out->cost, sizeof out->cost, "%.17g", k->t.claimed_cost);
  (void)snprintf(out->bound, sizeof out->bound, "%.17g", k->bound);
  const char *word;
  double unchecked;
  if (!certificate_next(k->c)) return true;
  if (!certificate_name(k->c, "a record", &word)) return false;
  if (strcmp(word, "unchecked") != 0) return layout_refuse(k, "nothing is expected here");
  if (!certificate_double(k->c, "bound", &unchecked) || !certificate_line_ends(k->c) ||
      certificate_next(k->c))
    return layout_refuse(k, "nothing is expected here");
  (void)snprintf(out->remark, sizeof out->remark,
                 "the bound above; %.17g is claimed, too, and not checked", unchecked);
  return true;
}

bool check_layout(certificate *c, const char *problem, verdict *out) {
  layout_check k = {.c = c};
  const char *word;
  if (problem != NULL)
    return certificate_refuse(c, "a certificate of layouts carries its problem");
  return layout_text_read(c, &k.t, &word) && layout_text_check_solution(c, &k.t) &&
         layout_read_claims(&k, word) && check_bound(&k, out);
}
