// Certificates of layout problems: the cheapest choice of operators and layouts, and of
// transitions between layouts of a value.
//
// A solution needs the values of the roots and, of each needed value, one strategy of one
// operator that makes it: a layout (place) of the value, and a place of each input. Arcs
// in use lead from where a value is made to where it is needed. It costs its strategies
// and arcs, and takes memory in rows with limits.
//
// The bound is a sum of minima. A link is a variable, the layout of a value at one place
// of use or `none`, with a price per label; prices count at the producers of one value
// and, with the other sign, at a tree, tie or cut. So for every solution the costs of all
// factors, prices included, add up to its cost, and the least cost of each factor alone
// to a lower bound. Memory counts in the costs at prices >= 0, less limits times prices.
// Factors: the producers of a value; a tree (an arborescence from where the value is made
// to some of its users; trees of a value share the costs of its arcs); a tie; a cut (one
// of its operators is in every solution).
//
// Sums are rounded down, so that the bound holds. Nothing is taken on trust: that a value
// is in every solution, or one of a cut's operators, is found by deleting and deriving.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/check_certificate/layout_problem_text.h"
#include "tools/check_certificate/rounding.h"

enum { MOST_USERS = 8 };

typedef enum link_kind { MADE, USED, ASKED, TIED, IN_CUT } link_kind;

typedef struct link {
  link_kind kind;
  uint32_t value, producers, nth, at; // at: tree, tie or cut; nth: use, or root
  uint32_t label, labels;             // its labels are label .. label + labels
} link;

typedef struct layout_check {
  certificate *c;
  layout_text t;
  uint8_t *alive;            // [strategies] may be in a solution
  uint8_t *arc_alive;        // [arcs]
  uint8_t *derived, *wanted; // [places]
  uint8_t *in_cut;           // [values] scratch of claims
  uint8_t *required;         // [values] in every solution
  // The dual.
  uint32_t trees, links, cuts, cut_ops;
  double price_of_row[LAYOUT_ROWS];
  uint32_t *tree_value, *tree_made, *tree_users, *tree_user; // MOST_USERS per tree
  uint32_t *trees_of;                                        // [values] how many
  uint32_t *cut_begin, *cut_op;
  link *link;
  uint32_t labels; // of all links
  double *price;
  uint8_t *dead;                  // [labels] in no solution
  uint32_t *link_begin, *link_of; // of the producers of a value
  double bound, *table;
} layout_check;

static bool refuse(layout_check *k, const char *what) {
  return certificate_refuse(k->c, "%s", what);
}

/// a + b rounded down, b >= 0 or any; never below a when b >= 0, so that sums along
/// cycles do not sink.
static double plus(double a, double b) {
  if (a == INFINITY || b == INFINITY) return INFINITY;
  if (b == 0) return a;
  double sum = add_down(a, b);
  return b > 0 && sum < a ? a : sum;
}

// ---- what may be in a solution ------------------------------------------------------

/// Least fixpoint over alive strategies and arcs: places that can be had, without the
/// operators of cut `cut` and the value `without` (or LAYOUT_NONE). Sweeps go both ways.
static void derive(layout_check *k, uint32_t cut, uint32_t without) {
  const layout_text *t = &k->t;
  uint8_t *out = k->in_cut; // has a strategy in the cut
  memset(k->derived, 0, t->places);
  memset(out, 0, t->values);
  if (cut != LAYOUT_NONE)
    for (uint32_t i = k->cut_begin[cut]; i < k->cut_begin[cut + 1]; i++)
      out[t->op_value[k->cut_op[i]]] = 1;
  bool moved = true;
  for (int sweep = 0; moved; sweep++) {
    moved = false;
    for (uint32_t n = 0; n < t->strategies; n++) {
      uint32_t s = sweep % 2 == 0 ? n : t->strategies - 1 - n,
               v = layout_text_value_of(t, s);
      bool has = k->alive[s] && v != without && !k->derived[t->output[s]];
      for (uint32_t i = t->need_begin[s]; has && i < t->need_begin[s + 1]; i++)
        has = k->derived[t->need[i]];
      for (uint32_t i = cut != LAYOUT_NONE && out[v] ? k->cut_begin[cut] : UINT32_MAX;
           has && cut != LAYOUT_NONE && i < k->cut_begin[cut + 1]; i++)
        has = k->cut_op[i] != t->op_of[s];
      if (!has) continue;
      moved = true;
      k->derived[t->output[s]] = 1;
      for (bool spread = true; spread;) {
        spread = false;
        for (uint32_t i = t->arc_begin[v]; i < t->arc_begin[v + 1]; i++) {
          uint32_t a = t->arc_of[i];
          if (!k->arc_alive[a] || !k->derived[t->arc_from[a]] || k->derived[t->arc_to[a]])
            continue;
          k->derived[t->arc_to[a]] = spread = true;
        }
      }
    }
  }
}

/// Whether places that are derived serve all roots.
static bool serves_roots(const layout_check *k) {
  const layout_text *t = &k->t;
  for (uint32_t r = 0; r < t->roots; r++) {
    uint32_t v = t->root_value[r];
    bool any = false, all = t->root_begin[r] == t->root_begin[r + 1];
    for (uint32_t p = t->place_begin[v]; all && p < t->place_begin[v + 1]; p++)
      any = any || k->derived[p];
    for (uint32_t i = t->root_begin[r]; i < t->root_begin[r + 1]; i++)
      any = any || k->derived[t->root_place[i]];
    if (!any) return false;
  }
  for (uint32_t i = 0; i < t->forced_count; i++)
    if (!k->derived[t->output[t->forced[i]]]) return false;
  return true;
}

/// Places that lead to a need, from the roots down.
static void want(layout_check *k) {
  const layout_text *t = &k->t;
  memset(k->wanted, 0, t->places);
  for (uint32_t r = 0; r < t->roots; r++) {
    uint32_t v = t->root_value[r], begin = t->root_begin[r], end = t->root_begin[r + 1];
    for (uint32_t p = t->place_begin[v]; begin == end && p < t->place_begin[v + 1]; p++)
      k->wanted[p] = 1;
    for (uint32_t i = begin; i < end; i++)
      k->wanted[t->root_place[i]] = 1;
  }
  for (uint32_t i = 0; i < t->forced_count; i++) {
    uint32_t v = layout_text_value_of(t, t->forced[i]);
    memset(k->wanted + t->place_begin[v], 1, t->place_begin[v + 1] - t->place_begin[v]);
  }
  bool moved = true;
  for (int sweep = 0; moved; sweep++) {
    moved = false;
    for (uint32_t n = 0; n < t->arcs; n++)
      if (k->arc_alive[n] && k->wanted[t->arc_to[n]] && !k->wanted[t->arc_from[n]])
        k->wanted[t->arc_from[n]] = moved = true;
    for (uint32_t n = 0; n < t->strategies; n++) {
      uint32_t s = sweep % 2 == 0 ? t->strategies - 1 - n : n;
      if (!k->alive[s] || !k->wanted[t->output[s]]) continue;
      for (uint32_t i = t->need_begin[s]; i < t->need_begin[s + 1]; i++)
        if (!k->wanted[t->need[i]]) k->wanted[t->need[i]] = moved = true;
    }
  }
}

static void obey_user(layout_check *k) {
  const layout_text *t = &k->t;
  for (uint32_t s = 0; s < t->strategies; s++) {
    uint32_t v = layout_text_value_of(t, s);
    bool ok =
        !t->strategy_out[s] && !t->place_out[t->output[s]] &&
        (t->fixed[v] == LAYOUT_NONE || t->output[s] == t->place_begin[v] + t->fixed[v]);
    for (uint32_t i = t->need_begin[s]; i < t->need_begin[s + 1]; i++)
      ok = ok && !t->place_out[t->need[i]] && t->place_value[t->need[i]] != v;
    k->alive[s] = ok;
  }
  for (uint32_t i = 0; i < t->forced_count; i++)
    for (uint32_t s = 0; s < t->strategies; s++)
      if (layout_text_value_of(t, s) == layout_text_value_of(t, t->forced[i]) &&
          s != t->forced[i])
        k->alive[s] = 0;
  for (uint32_t a = 0; a < t->arcs; a++)
    k->arc_alive[a] = !t->place_out[t->arc_from[a]] && !t->place_out[t->arc_to[a]];
}

/// Takes away what cannot be derived or leads to nothing, until nothing changes.
static void settle(layout_check *k) {
  const layout_text *t = &k->t;
  for (bool changed = true; changed;) {
    changed = false;
    derive(k, LAYOUT_NONE, LAYOUT_NONE);
    for (uint32_t s = 0; s < t->strategies; s++)
      for (uint32_t i = t->need_begin[s]; k->alive[s] && i < t->need_begin[s + 1]; i++)
        if (!k->derived[t->need[i]]) {
          k->alive[s] = 0;
          changed = true;
        }
    want(k);
    for (uint32_t s = 0; s < t->strategies; s++)
      if (k->alive[s] && !k->wanted[t->output[s]]) {
        k->alive[s] = 0;
        changed = true;
      }
    for (uint32_t a = 0; a < t->arcs; a++)
      if (k->arc_alive[a] && !(k->derived[t->arc_from[a]] && k->wanted[t->arc_to[a]])) {
        k->arc_alive[a] = 0;
        changed = true;
      }
  }
}

static bool uses(const layout_text *t, uint32_t op, uint32_t value) {
  for (uint32_t i = t->input_begin[op]; i < t->input_begin[op + 1]; i++)
    if (t->input[i] == value) return true;
  return false;
}

/// Roots are in every solution, and what all alive operators of such a value use.
static bool require_inputs(layout_check *k) {
  const layout_text *t = &k->t;
  uint32_t *begin = input_allocate(&k->c->in, (size_t)t->values + 2, sizeof *begin);
  uint32_t *ops = input_allocate(&k->c->in, t->operators, sizeof *ops);
  uint8_t *has = input_allocate(&k->c->in, t->operators, 1);
  if (begin == NULL || ops == NULL || has == NULL) return false;
  for (uint32_t s = 0; s < t->strategies; s++)
    has[t->op_of[s]] |= k->alive[s];
  for (uint32_t op = 0; op < t->operators; op++)
    begin[t->op_value[op] + 2] += has[op];
  for (uint32_t v = 0; v < t->values; v++)
    begin[v + 2] += begin[v + 1];
  for (uint32_t op = 0; op < t->operators; op++)
    if (has[op]) ops[begin[t->op_value[op] + 1]++] = op;
  for (uint32_t r = 0; r < t->roots; r++)
    k->required[t->root_value[r]] = 1;
  for (uint32_t i = 0; i < t->forced_count; i++)
    k->required[layout_text_value_of(t, t->forced[i])] = 1;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t v = t->values; v-- > 0;) {
      if (!k->required[v] || begin[v] == begin[v + 1]) continue;
      uint32_t first = ops[begin[v]];
      for (uint32_t i = t->input_begin[first]; i < t->input_begin[first + 1]; i++) {
        bool all = !k->required[t->input[i]];
        for (uint32_t n = begin[v] + 1; all && n < begin[v + 1]; n++)
          all = uses(t, ops[n], t->input[i]);
        if (all) k->required[t->input[i]] = moved = true;
      }
    }
  }
  return true;
}

// ---- the dual -----------------------------------------------------------------------

static bool read_sizes(layout_check *k) {
  certificate *c = k->c;
  uint32_t most = c->in.size < UINT32_MAX / 64 ? (uint32_t)c->in.size : UINT32_MAX / 64;
  if (!certificate_index(c, "trees", most, &k->trees) ||
      !certificate_index(c, "links", most, &k->links) ||
      !certificate_index(c, "cuts", most, &k->cuts) ||
      !certificate_index(c, "operators of cuts", most, &k->cut_ops) ||
      !certificate_line_ends(c))
    return false;
#define ROOM(field, count)                                                               \
  ((k->field = input_allocate(&c->in, (size_t)(count), sizeof *k->field)) != NULL)
  return ROOM(tree_value, k->trees) && ROOM(tree_made, k->trees) &&
         ROOM(tree_users, k->trees) && ROOM(tree_user, (size_t)k->trees * MOST_USERS) &&
         ROOM(trees_of, k->t.values) && ROOM(cut_begin, k->cuts + 1) &&
         ROOM(cut_op, k->cut_ops) && ROOM(link, k->links) &&
         ROOM(link_begin, k->t.values + 2) && ROOM(link_of, k->links);
#undef ROOM
}

/// That the value is in every solution: without it a root cannot be derived.
static bool check_required(layout_check *k) {
  uint32_t value;
  if (!certificate_index(k->c, "value", k->t.values, &value)) return false;
  if (k->required[value]) return true;
  derive(k, LAYOUT_NONE, value);
  if (serves_roots(k)) return refuse(k, "there may be a solution without the value");
  k->required[value] = 1;
  return true;
}

/// That one of the operators is in every solution.
static bool check_cut(layout_check *k, uint32_t number) {
  uint32_t count, begin = k->cut_begin[number];
  if (!certificate_index(k->c, "count", k->cut_ops - begin + 1, &count)) return false;
  for (uint32_t i = begin; i < begin + count; i++)
    if (!certificate_index(k->c, "operator", k->t.operators, &k->cut_op[i])) return false;
  k->cut_begin[number + 1] = begin + count;
  derive(k, number, LAYOUT_NONE);
  return !serves_roots(k) || refuse(k, "there may be a solution without the cut");
}

static uint32_t layouts_of(const layout_check *k, uint32_t value) {
  return k->t.place_begin[value + 1] - k->t.place_begin[value];
}

static bool add_user(layout_check *k, uint32_t tree, uint32_t number) {
  if (k->tree_users[tree] == MOST_USERS) return refuse(k, "a tree has too many users");
  k->tree_user[(size_t)tree * MOST_USERS + k->tree_users[tree]++] = number;
  return true;
}

static bool read_link(layout_check *k, const char *word, uint32_t number,
                      uint32_t cuts_read, uint32_t trees_read) {
  certificate *c = k->c;
  const layout_text *t = &k->t;
  link *l = &k->link[number];
  *l = (link){.producers = LAYOUT_NONE, .label = k->labels};
  if (strcmp(word, "made") == 0 || strcmp(word, "used") == 0 ||
      strcmp(word, "asked") == 0) {
    if (!certificate_index(c, "tree", trees_read, &l->at)) return false;
    l->value = k->tree_value[l->at];
    l->labels = layouts_of(k, l->value) + 1;
  }
  if (strcmp(word, "made") == 0) {
    l->kind = MADE;
    l->producers = l->value;
    if (k->tree_made[l->at] != LAYOUT_NONE) return refuse(k, "a tree is made twice");
    k->tree_made[l->at] = number;
  } else if (strcmp(word, "used") == 0) {
    l->kind = USED;
    if (!certificate_index(c, "value", t->values, &l->producers) ||
        !certificate_index(c, "number of the use", t->inputs + 1, &l->nth) ||
        !add_user(k, l->at, number))
      return false;
  } else if (strcmp(word, "asked") == 0) {
    l->kind = ASKED;
    if (!certificate_index(c, "root", t->roots, &l->nth)) return false;
    if (t->root_value[l->nth] != l->value) return refuse(k, "a root of another value");
    if (!add_user(k, l->at, number)) return false;
  } else if (strcmp(word, "tied") == 0) {
    bool is_member = false;
    l->kind = TIED;
    if (!certificate_index(c, "tie", t->ties, &l->at) ||
        !certificate_index(c, "value", t->values, &l->value))
      return false;
    for (uint32_t i = t->tie_begin[l->at]; i < t->tie_begin[l->at + 1]; i++)
      is_member = is_member || t->tie_member[i] == l->value;
    if (!is_member || !t->tie_sources[l->at]) return refuse(k, "no member of the tie");
    l->producers = l->value;
    l->labels = layouts_of(k, l->value) + 1;
  } else if (strcmp(word, "in-cut") == 0) {
    l->kind = IN_CUT;
    if (!certificate_index(c, "cut", cuts_read, &l->at) ||
        !certificate_index(c, "value", t->values, &l->value))
      return false;
    l->producers = l->value;
    l->labels = 2;
  } else {
    return certificate_refuse(c, "'%.40s' is no record of a dual", word);
  }
  if (k->labels > UINT32_MAX - l->labels) return refuse(k, "there are too many labels");
  k->labels += l->labels;
  return true;
}

/// Labels and their prices; those that are not named have price 0.
static bool read_prices(layout_check *k, const link *l) {
  certificate *c = k->c;
  for (;;) {
    c->at += strspn(c->at, " \t\r");
    if (*c->at == '\0') return true;
    uint32_t label;
    double price;
    if (!certificate_index(c, "label", l->labels, &label) ||
        !certificate_double(c, "price", &price))
      return false;
    if (l->kind == ASKED) return refuse(k, "roots have no prices");
    k->price[l->label + label] = price;
  }
}

/// Makes room for the prices of one more link: twice as much each time.
static bool make_room(layout_check *k, size_t *room) {
  if (k->labels <= *room) return true;
  size_t more = 2 * (size_t)k->labels + 1024;
  double *price = input_allocate(&k->c->in, more, sizeof *price);
  if (price == NULL) return false;
  if (*room != 0) memcpy(price, k->price, *room * sizeof *price);
  k->price = price;
  *room = more;
  return true;
}

static bool read_records(layout_check *k, const char *word) {
  uint32_t trees = 0, cuts = 0, links = 0;
  size_t room = 0;
  for (;;) {
    bool ok = true;
    if (strcmp(word, "required") == 0) {
      ok = check_required(k);
    } else if (strcmp(word, "tree") == 0) {
      if (trees == k->trees) return refuse(k, "there are more trees than was said");
      ok = certificate_index(k->c, "value", k->t.values, &k->tree_value[trees]);
      if (ok) k->trees_of[k->tree_value[trees]]++;
      if (ok) k->tree_made[trees++] = LAYOUT_NONE;
    } else if (strcmp(word, "cut") == 0) {
      if (cuts == k->cuts) return refuse(k, "there are more cuts than was said");
      ok = check_cut(k, cuts);
      cuts += ok;
    } else if (strcmp(word, "bound") == 0) {
      if (links != k->links || trees != k->trees || cuts != k->cuts)
        return refuse(k, "links, trees or cuts are fewer than was said");
      return certificate_double(k->c, "bound", &k->bound) && certificate_line_ends(k->c);
    } else {
      if (links == k->links) return refuse(k, "there are more links than was said");
      ok = read_link(k, word, links, cuts, trees) && make_room(k, &room) &&
           read_prices(k, &k->link[links]);
      links += ok;
    }
    if (!ok || !certificate_line_ends(k->c) || !layout_text_line(k->c, &word))
      return false;
  }
}

static bool index_links(layout_check *k) {
  for (uint32_t i = 0; i < k->links; i++)
    if (k->link[i].producers != LAYOUT_NONE) k->link_begin[k->link[i].producers + 2]++;
  for (uint32_t v = 0; v < k->t.values; v++)
    k->link_begin[v + 2] += k->link_begin[v + 1];
  for (uint32_t i = 0; i < k->links; i++)
    if (k->link[i].producers != LAYOUT_NONE)
      k->link_of[k->link_begin[k->link[i].producers + 1]++] = i;
  for (uint32_t i = 0; i < k->trees; i++)
    if (k->tree_made[i] == LAYOUT_NONE) return refuse(k, "a tree is not made");
  k->dead = input_allocate(&k->c->in, k->labels, 1);
  return k->dead != NULL;
}

static bool read_dual(layout_check *k, const char *word) {
  certificate *c = k->c;
  if (strcmp(word, "dual") != 0) return refuse(k, "'dual' is expected");
  if (!read_sizes(k) || !layout_text_line(c, &word)) return false;
  if (strcmp(word, "prices") != 0) return refuse(k, "'prices' are expected");
  for (uint32_t r = 0; r < k->t.rows; r++) {
    if (!certificate_double(c, "price", &k->price_of_row[r])) return false;
    if (k->price_of_row[r] < 0) return refuse(k, "a price of memory is negative");
    if (k->price_of_row[r] > 0 && isinf(k->t.limit[r]))
      return refuse(k, "memory without a limit has a price");
  }
  return certificate_line_ends(c) && layout_text_line(c, &word) &&
         read_records(k, word) && index_links(k);
}

// ---- minima of factors --------------------------------------------------------------

static double near_price(const layout_check *k, const link *l, uint32_t label) {
  return k->dead[l->label + label] ? INFINITY : k->price[l->label + label];
}

static double far_price(const layout_check *k, const link *l, uint32_t label) {
  return k->dead[l->label + label] ? INFINITY : -k->price[l->label + label];
}

static bool is_in_cut(const layout_check *k, uint32_t cut, uint32_t op) {
  for (uint32_t i = k->cut_begin[cut]; i < k->cut_begin[cut + 1]; i++)
    if (k->cut_op[i] == op) return true;
  return false;
}

/// The label that a strategy gives a link of its value's producers.
static uint32_t label_of(const layout_check *k, const link *l, uint32_t s) {
  const layout_text *t = &k->t;
  uint32_t op = t->op_of[s], nth = 0;
  switch (l->kind) {
  case MADE:
  case TIED: return t->output[s] - t->place_begin[l->value];
  case IN_CUT: return is_in_cut(k, l->at, op) ? 0 : 1;
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

static double cost_of_strategy(const layout_check *k, uint32_t s) {
  const layout_text *t = &k->t;
  uint32_t v = layout_text_value_of(t, s);
  double cost = multiply_down(t->cost[s], t->cost_times[v]);
  for (uint32_t r = 0; r < t->rows; r++) {
    double memory =
        multiply_down(t->memory[(size_t)s * LAYOUT_ROWS + r], t->memory_times[v]);
    cost = plus(cost, fmax(multiply_down(memory, k->price_of_row[r]), 0));
  }
  for (uint32_t i = k->link_begin[v]; i < k->link_begin[v + 1]; i++) {
    const link *l = &k->link[k->link_of[i]];
    double price = near_price(k, l, label_of(k, l, s));
    if (isinf(price)) return INFINITY;
    cost = plus(cost, price);
  }
  return cost;
}

/// What the producers of a value cost when it is not made.
static double cost_of_nothing(const layout_check *k, uint32_t v) {
  double cost = 0;
  if (k->required[v]) return INFINITY;
  for (uint32_t i = k->link_begin[v]; i < k->link_begin[v + 1]; i++) {
    const link *l = &k->link[k->link_of[i]];
    double price = near_price(k, l, l->labels - 1);
    if (isinf(price)) return INFINITY;
    cost = plus(cost, price);
  }
  return cost;
}

/// Of one of the trees of its value.
static double share_of_arc(const layout_check *k, uint32_t a) {
  const layout_text *t = &k->t;
  uint32_t v = t->place_value[t->arc_from[a]];
  double cost = multiply_down(t->arc_cost[a], t->cost_times[v]);
  for (uint32_t r = 0; r < t->rows; r++) {
    double memory =
        multiply_down(t->arc_memory[(size_t)a * LAYOUT_ROWS + r], t->memory_times[v]);
    cost = plus(cost, fmax(multiply_down(memory, k->price_of_row[r]), 0));
  }
  if (k->trees_of[v] > 1) cost = nextafter(cost / k->trees_of[v], 0);
  return fmax(cost, 0);
}

/// A tree's tables: [subset of users][layouts], the least cost of serving the users from
/// a layout (Dreyfus and Wagner 1971).
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
  double least = far_price(k, made, layouts); // nobody has a layout
  for (uint32_t u = 0; u < users; u++)
    least =
        plus(least, far_price(k, &k->link[k->tree_user[(size_t)tree * MOST_USERS + u]],
                              layouts));
  for (uint32_t l = 0; l < layouts; l++)
    least = fmin(least, plus(far_price(k, made, l),
                             all == 0 ? 0 : k->table[(size_t)all * layouts + l]));
  return least;
}

/// Members that are there have one layout.
static double minimum_of_tie(const layout_check *k, const uint32_t *links,
                             uint32_t count) {
  uint32_t labels = 0;
  double least = INFINITY;
  for (uint32_t i = 0; i < count; i++)
    if (k->link[links[i]].labels - 1 > labels) labels = k->link[links[i]].labels - 1;
  for (uint32_t label = 0; label < labels; label++) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
      const link *l = &k->link[links[i]];
      double own = far_price(k, l, l->labels - 1);
      if (label < l->labels - 1) own = fmin(own, far_price(k, l, label));
      sum = isinf(own) ? INFINITY : plus(sum, own);
    }
    least = fmin(least, sum);
  }
  return count == 0 ? 0 : least;
}

/// Whether links are of all values of a cut.
static bool is_whole(const layout_check *k, uint32_t cut, const uint32_t *links,
                     uint32_t count) {
  for (uint32_t i = k->cut_begin[cut]; i < k->cut_begin[cut + 1]; i++) {
    bool is_linked = false;
    for (uint32_t n = 0; n < count; n++)
      is_linked |= k->link[links[n]].value == k->t.op_value[k->cut_op[i]];
    if (!is_linked) return false;
  }
  return true;
}

/// At least one is chosen, if links are of all values of the cut.
static double minimum_of_cut(const layout_check *k, uint32_t cut, const uint32_t *links,
                             uint32_t count) {
  double sum = 0, more = INFINITY;
  for (uint32_t i = 0; i < count; i++) {
    double with = far_price(k, &k->link[links[i]], 0);
    double without = far_price(k, &k->link[links[i]], 1);
    if (isinf(with) && isinf(without)) return INFINITY;
    sum = plus(sum, fmin(with, without));
    more = fmin(more, isinf(without) ? 0 : fmax(add_down(with, -without), 0));
  }
  return is_whole(k, cut, links, count) ? plus(sum, more) : sum;
}

// ---- labels in no solution ----------------------------------------------------------

/// Labels of a link that are not supported are dead from now on.
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
                           const uint32_t *strategies, uint32_t count) {
  bool changed = false;
  uint32_t begin = k->link_begin[v], end = k->link_begin[v + 1];
  bool nothing = cost_of_nothing(k, v) < INFINITY;
  for (uint32_t i = begin; i < end; i++) {
    const link *l = &k->link[k->link_of[i]];
    memset(support + l->label, 0, l->labels);
    if (nothing) support[l->label + l->labels - 1] = 1;
  }
  for (uint32_t n = 0; n < count; n++) {
    uint32_t s = strategies[n];
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

/// Layouts that alive arcs reach from one.
static void reach(const layout_check *k, uint32_t value, uint32_t from,
                  uint8_t *reached) {
  const layout_text *t = &k->t;
  uint32_t first = t->place_begin[value];
  memset(reached, 0, layouts_of(k, value));
  reached[from] = 1;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = t->arc_begin[value]; i < t->arc_begin[value + 1]; i++) {
      uint32_t a = t->arc_of[i];
      if (!k->arc_alive[a] || !reached[t->arc_from[a] - first] ||
          reached[t->arc_to[a] - first])
        continue;
      reached[t->arc_to[a] - first] = moved = true;
    }
  }
}

/// Whether a user can be served from what is reached, and how, into its support.
static bool serve(const layout_check *k, const link *user, const uint8_t *reached,
                  uint8_t *support) {
  bool any = false;
  for (uint32_t l = 0; l < user->labels; l++) {
    bool has = (l + 1 == user->labels || (reached != NULL && reached[l])) &&
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
    if (!is_none) reach(k, made->value, m, reached);
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

/// Members of a tie that are there have one layout.
static bool bury_tie(layout_check *k, const uint32_t *links, uint32_t count,
                     uint8_t *support) {
  bool changed = false;
  uint32_t labels = 0;
  for (uint32_t i = 0; i < count; i++) {
    const link *l = &k->link[links[i]];
    memset(support + l->label, 0, l->labels);
    if (l->labels - 1 > labels) labels = l->labels - 1;
  }
  for (uint32_t label = 0; label < labels; label++) {
    bool all = true;
    for (uint32_t i = 0; all && i < count; i++) {
      const link *l = &k->link[links[i]];
      all = !k->dead[l->label + l->labels - 1] ||
            (label < l->labels - 1 && !k->dead[l->label + label]);
    }
    for (uint32_t i = 0; all && i < count; i++) {
      const link *l = &k->link[links[i]];
      if (label < l->labels - 1) support[l->label + label] = 1;
      support[l->label + l->labels - 1] = 1;
    }
  }
  for (uint32_t i = 0; i < count; i++)
    changed |= bury(k, &k->link[links[i]], support);
  return changed;
}

/// The only operator of a cut that may be chosen is.
static bool bury_cut(layout_check *k, uint32_t cut, const uint32_t *links,
                     uint32_t count) {
  uint32_t chosen = 0, last = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (k->dead[k->link[links[i]].label]) continue;
    chosen++;
    last = k->link[links[i]].label;
  }
  if (chosen != 1 || k->dead[last + 1] || !is_whole(k, cut, links, count)) return false;
  k->dead[last + 1] = 1;
  return true;
}

/// Roots have one of the layouts that they ask for.
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

/// Lists of a check: strategies of a value, links of ties and cuts.
typedef struct lists {
  uint32_t *strategy_begin, *strategy; // [values + 1], [strategies]
  uint32_t *tie_begin, *tie_link, *cut_begin, *cut_link;
  uint8_t *support, *reached;
} lists;

static bool make_lists(layout_check *k, lists *out) {
  const layout_text *t = &k->t;
  input *in = &k->c->in;
  uint32_t most = 1, table = 1;
  for (uint32_t v = 0; v < t->values; v++)
    if (layouts_of(k, v) > most) most = layouts_of(k, v);
  for (uint32_t i = 0; i < k->trees; i++) {
    uint32_t entries = layouts_of(k, k->tree_value[i]) << k->tree_users[i];
    if (entries > table) table = entries;
  }
#define ROOM(field, count)                                                               \
  ((field = input_allocate(in, (size_t)(count), sizeof *(field))) != NULL)
  if (!ROOM(out->strategy_begin, t->values + 2) || !ROOM(out->strategy, t->strategies) ||
      !ROOM(out->tie_begin, t->ties + 2) || !ROOM(out->tie_link, k->links) ||
      !ROOM(out->cut_begin, k->cuts + 2) || !ROOM(out->cut_link, k->links) ||
      !ROOM(out->support, k->labels) || !ROOM(out->reached, most) ||
      !ROOM(k->table, table))
    return false;
#undef ROOM
  for (uint32_t s = 0; s < t->strategies; s++)
    out->strategy_begin[layout_text_value_of(t, s) + 2]++;
  for (uint32_t i = 0; i < k->links; i++) {
    if (k->link[i].kind == TIED) out->tie_begin[k->link[i].at + 2]++;
    if (k->link[i].kind == IN_CUT) out->cut_begin[k->link[i].at + 2]++;
  }
  for (uint32_t v = 0; v < t->values; v++)
    out->strategy_begin[v + 2] += out->strategy_begin[v + 1];
  for (uint32_t i = 0; i < t->ties; i++)
    out->tie_begin[i + 2] += out->tie_begin[i + 1];
  for (uint32_t i = 0; i < k->cuts; i++)
    out->cut_begin[i + 2] += out->cut_begin[i + 1];
  for (uint32_t s = 0; s < t->strategies; s++)
    out->strategy[out->strategy_begin[layout_text_value_of(t, s) + 1]++] = s;
  for (uint32_t i = 0; i < k->links; i++) {
    if (k->link[i].kind == TIED) out->tie_link[out->tie_begin[k->link[i].at + 1]++] = i;
    if (k->link[i].kind == IN_CUT) out->cut_link[out->cut_begin[k->link[i].at + 1]++] = i;
  }
  return true;
}

/// Labels that no solution has, as far as factors tell each other.
static void bury_labels(layout_check *k, const lists *all) {
  enum { MOST_ROUNDS = 30 };
  bool changed = true;
  bury_roots(k);
  for (int round = 0; changed && round < MOST_ROUNDS; round++) {
    changed = false;
    for (uint32_t v = 0; v < k->t.values; v++)
      changed |=
          bury_producers(k, v, all->support, all->strategy + all->strategy_begin[v],
                         all->strategy_begin[v + 1] - all->strategy_begin[v]);
    for (uint32_t i = 0; i < k->trees; i++)
      changed |= bury_tree(k, i, all->support, all->reached);
    for (uint32_t i = 0; i < k->t.ties; i++)
      changed |= bury_tie(k, all->tie_link + all->tie_begin[i],
                          all->tie_begin[i + 1] - all->tie_begin[i], all->support);
    for (uint32_t i = 0; i < k->cuts; i++)
      changed |= bury_cut(k, i, all->cut_link + all->cut_begin[i],
                          all->cut_begin[i + 1] - all->cut_begin[i]);
  }
}

static double sum_of_minima(layout_check *k, const lists *all) {
  const layout_text *t = &k->t;
  double sum = 0;
  for (uint32_t v = 0; v < t->values; v++) {
    double least = cost_of_nothing(k, v);
    for (uint32_t i = all->strategy_begin[v]; i < all->strategy_begin[v + 1]; i++)
      if (k->alive[all->strategy[i]])
        least = fmin(least, cost_of_strategy(k, all->strategy[i]));
    sum = plus(sum, least);
  }
  for (uint32_t i = 0; i < k->trees; i++)
    sum = plus(sum, minimum_of_tree(k, i));
  for (uint32_t i = 0; i < t->ties; i++)
    sum = plus(sum, minimum_of_tie(k, all->tie_link + all->tie_begin[i],
                                   all->tie_begin[i + 1] - all->tie_begin[i]));
  for (uint32_t i = 0; i < k->cuts; i++)
    sum = plus(sum, minimum_of_cut(k, i, all->cut_link + all->cut_begin[i],
                                   all->cut_begin[i + 1] - all->cut_begin[i]));
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
  if (!(k->bound <= k->t.claimed_cost)) return refuse(k, "the bound is above the cost");
  (void)snprintf(out->cost, sizeof out->cost, "%.17g", k->t.claimed_cost);
  (void)snprintf(out->bound, sizeof out->bound, "%.17g", k->bound);
  const char *word;
  double unchecked;
  if (!certificate_next(k->c)) return true;
  if (!certificate_name(k->c, "a record", &word)) return false;
  if (strcmp(word, "unchecked") != 0) return refuse(k, "nothing is expected here");
  if (!certificate_double(k->c, "bound", &unchecked) || !certificate_line_ends(k->c) ||
      certificate_next(k->c))
    return refuse(k, "nothing is expected here");
  (void)snprintf(out->remark, sizeof out->remark,
                 "a bound of %.17g is claimed and not checked", unchecked);
  return true;
}

static bool make_room_for_problem(layout_check *k) {
  input *in = &k->c->in;
  const layout_text *t = &k->t;
#define ROOM(field, count)                                                               \
  ((k->field = input_allocate(in, (size_t)(count), sizeof *k->field)) != NULL)
  return ROOM(alive, t->strategies) && ROOM(arc_alive, t->arcs) &&
         ROOM(derived, t->places) && ROOM(wanted, t->places) && ROOM(in_cut, t->values) &&
         ROOM(required, t->values);
#undef ROOM
}

bool check_layout(certificate *c, const char *problem, verdict *out) {
  layout_check k = {.c = c};
  const char *word;
  if (problem != NULL)
    return certificate_refuse(c, "a certificate of layouts carries its problem");
  if (!layout_text_read(c, &k.t, &word) || !make_room_for_problem(&k) ||
      !layout_text_check_solution(c, &k.t))
    return false;
  obey_user(&k);
  settle(&k);
  return require_inputs(&k) && read_dual(&k, word) && check_bound(&k, out);
}
