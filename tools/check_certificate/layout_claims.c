// The claims of a layout certificate. Nothing is trusted: to show that a value, or an
// operator of a cut, is in every solution, the checker deletes it and derives the
// remaining places (a least fixpoint).
// SPDX-License-Identifier: Apache-2.0
#include "tools/check_certificate/layout_claims.h"

#include <math.h>
#include <string.h>

// ---- what may be in a solution ------------------------------------------------------

/// Derives the layouts of values that strategies and transitions (arcs) still in use can
/// reach, without the operators of cut `cut` and without the value `without`
/// (LAYOUT_NONE: with all of them): a least fixpoint. Sweeps go in both directions.
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
      layout_text_spread(t, v, k->arc_alive, k->derived);
    }
  }
}

/// True when each root value is derived in a layout that it may have, and each value with
/// a forced layout in that layout.
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

/// Marks layouts of values from which strategies and arcs lead to a root or forced one.
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

/// Removes strategies and layout transitions that cannot be derived or lead to no root
/// value, until nothing changes.
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

/// Marks values that are in every solution: the roots, and inputs that all alive
/// operators of such a value use.
static bool require_inputs(layout_check *k) {
  const layout_text *t = &k->t;
  uint32_t *value, *begin, *ops; // value: the values of operators with alive strategies
  if (!INPUT_ROOM(&k->c->in, value, t->operators)) return false;
  for (uint32_t op = 0; op < t->operators; op++)
    value[op] = LAYOUT_NONE;
  for (uint32_t s = 0; s < t->strategies; s++)
    if (k->alive[s]) value[t->op_of[s]] = layout_text_value_of(t, s);
  if (!input_group(&k->c->in, value, t->operators, t->values, &begin, &ops)) return false;
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
  input *in = &c->in;
  return INPUT_ROOM(in, k->tree_value, k->trees) &&
         INPUT_ROOM(in, k->tree_made, k->trees) &&
         INPUT_ROOM(in, k->tree_users, k->trees) &&
         INPUT_ROOM(in, k->tree_user, (size_t)k->trees * MOST_USERS) &&
         INPUT_ROOM(in, k->trees_of, k->t.values) &&
         INPUT_ROOM(in, k->cut_begin, k->cuts + 1) &&
         INPUT_ROOM(in, k->cut_op, k->cut_ops) && INPUT_ROOM(in, k->link, k->links);
}

/// Derives that the value is in every solution: without it a root cannot be derived.
static bool check_required(layout_check *k) {
  uint32_t value;
  if (!certificate_index(k->c, "value", k->t.values, &value)) return false;
  if (k->required[value]) return true;
  derive(k, LAYOUT_NONE, value);
  if (serves_roots(k))
    return layout_refuse(k, "there may be a solution without the value");
  k->required[value] = 1;
  return true;
}

/// Derives that one of the operators of a cut is in every solution.
static bool check_cut(layout_check *k, uint32_t number) {
  uint32_t count, begin = k->cut_begin[number];
  if (!certificate_index(k->c, "count", k->cut_ops - begin + 1, &count)) return false;
  for (uint32_t i = begin; i < begin + count; i++)
    if (!certificate_index(k->c, "operator", k->t.operators, &k->cut_op[i])) return false;
  k->cut_begin[number + 1] = begin + count;
  derive(k, number, LAYOUT_NONE);
  return !serves_roots(k) || layout_refuse(k, "there may be a solution without the cut");
}

static bool add_user(layout_check *k, uint32_t tree, uint32_t number) {
  if (k->tree_users[tree] == MOST_USERS)
    return layout_refuse(k, "a tree has too many users");
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
    if (k->tree_made[l->at] != LAYOUT_NONE)
      return layout_refuse(k, "a tree is made twice");
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
    if (t->root_value[l->nth] != l->value)
      return layout_refuse(k, "a root of another value");
    if (!add_user(k, l->at, number)) return false;
  } else if (strcmp(word, "tied") == 0) {
    bool is_member = false;
    l->kind = TIED;
    if (!certificate_index(c, "tie", t->ties, &l->at) ||
        !certificate_index(c, "value", t->values, &l->value))
      return false;
    for (uint32_t i = t->tie_begin[l->at]; i < t->tie_begin[l->at + 1]; i++)
      is_member = is_member || t->tie_member[i] == l->value;
    if (!is_member || !t->tie_sources[l->at])
      return layout_refuse(k, "no member of the tie");
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
  if (k->labels > UINT32_MAX - l->labels)
    return layout_refuse(k, "there are too many labels");
  k->labels += l->labels;
  return true;
}

/// Reads prices of labels (values of a dual variable); other labels have price 0.
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
    if (l->kind == ASKED) return layout_refuse(k, "roots have no prices");
    k->price[l->label + label] = price;
  }
}

/// Makes the array of prices long enough for one more link's labels; it doubles.
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
      if (trees == k->trees)
        return layout_refuse(k, "there are more trees than was said");
      ok = certificate_index(k->c, "value", k->t.values, &k->tree_value[trees]);
      if (ok) k->trees_of[k->tree_value[trees]]++;
      if (ok) k->tree_made[trees++] = LAYOUT_NONE;
    } else if (strcmp(word, "cut") == 0) {
      if (cuts == k->cuts) return layout_refuse(k, "there are more cuts than was said");
      ok = check_cut(k, cuts);
      cuts += ok;
    } else if (strcmp(word, "bound") == 0) {
      if (links != k->links || trees != k->trees || cuts != k->cuts)
        return layout_refuse(k, "links, trees or cuts are fewer than was said");
      return certificate_double(k->c, "bound", &k->bound) && certificate_line_ends(k->c);
    } else {
      if (links == k->links)
        return layout_refuse(k, "there are more links than was said");
      ok = read_link(k, word, links, cuts, trees) && make_room(k, &room) &&
           read_prices(k, &k->link[links]);
      links += ok;
    }
    if (!ok || !certificate_line_ends(k->c) || !layout_text_line(k->c, &word))
      return false;
  }
}

static bool index_links(layout_check *k) {
  input *in = &k->c->in;
  uint32_t *producers;
  if (!INPUT_ROOM(in, producers, k->links)) return false;
  for (uint32_t i = 0; i < k->links; i++)
    producers[i] = k->link[i].producers;
  for (uint32_t i = 0; i < k->trees; i++)
    if (k->tree_made[i] == LAYOUT_NONE) return layout_refuse(k, "a tree is not made");
  return input_group(in, producers, k->links, k->t.values, &k->link_begin, &k->link_of) &&
         INPUT_ROOM(in, k->dead, k->labels);
}

static bool read_dual(layout_check *k, const char *word) {
  certificate *c = k->c;
  if (strcmp(word, "dual") != 0) return layout_refuse(k, "'dual' is expected");
  if (!read_sizes(k) || !layout_text_line(c, &word)) return false;
  if (strcmp(word, "prices") != 0) return layout_refuse(k, "'prices' are expected");
  for (uint32_t r = 0; r < k->t.rows; r++) {
    if (!certificate_double(c, "price", &k->price_of_row[r])) return false;
    if (k->price_of_row[r] < 0) return layout_refuse(k, "a price of memory is negative");
    if (k->price_of_row[r] > 0 && isinf(k->t.limit[r]))
      return layout_refuse(k, "memory without a limit has a price");
  }
  return certificate_line_ends(c) && layout_text_line(c, &word) &&
         read_records(k, word) && index_links(k);
}

static bool make_room_for_problem(layout_check *k) {
  input *in = &k->c->in;
  const layout_text *t = &k->t;
  return INPUT_ROOM(in, k->alive, t->strategies) &&
         INPUT_ROOM(in, k->arc_alive, t->arcs) && INPUT_ROOM(in, k->derived, t->places) &&
         INPUT_ROOM(in, k->wanted, t->places) && INPUT_ROOM(in, k->in_cut, t->values) &&
         INPUT_ROOM(in, k->required, t->values);
}

bool layout_read_claims(layout_check *k, const char *word) {
  if (!make_room_for_problem(k)) return false;
  obey_user(k);
  settle(k);
  return require_inputs(k) && read_dual(k, word);
}
