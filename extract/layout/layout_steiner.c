// inside[S][l]: least price of serving the users S from layout l. outside[S][l]: of all
// the rest, when S is served from l. A user that has no layout is served by nothing.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_steiner.h"

#include <math.h>

void eg_steiner_init(eg_steiner *steiner, egraph_allocator alloc) {
  *steiner = (eg_steiner){.layouts = 0};
  eg_doubles_init(&steiner->inside, alloc);
  eg_doubles_init(&steiner->outside, alloc);
}

void eg_steiner_deinit(eg_steiner *steiner) {
  eg_doubles_deinit(&steiner->inside);
  eg_doubles_deinit(&steiner->outside);
}

static double *row(const eg_steiner *s, const eg_doubles *table, uint32_t set) {
  return table->data + (size_t)set * s->layouts;
}

static double least(double a, double b) { return a < b ? a : b; }

/// Ways along arcs, against their direction (inside) or with it. Ways are short, so that
/// a few rounds reach the end.
static void relax(const eg_steiner *s, double *table, bool is_inside) {
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
  double *table = row(s, &s->inside, UINT32_C(1) << user);
  const double *price = s->user[user];
  for (uint32_t l = 0; l < s->layouts; l++)
    table[l] = price[l];
  relax(s, table, true);
  for (uint32_t l = 0; l < s->layouts; l++)
    table[l] = least(table[l], price[s->layouts]);
}

static void serve_set(const eg_steiner *s, uint32_t set) {
  double *table = row(s, &s->inside, set);
  for (uint32_t l = 0; l < s->layouts; l++)
    table[l] = INFINITY;
  for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {
    if (part < (set ^ part)) continue; // each pair once
    const double *a = row(s, &s->inside, part), *b = row(s, &s->inside, set ^ part);
    for (uint32_t l = 0; l < s->layouts; l++)
      table[l] = least(table[l], a[l] + b[l]);
  }
  relax(s, table, true);
}

static uint32_t all_users(const eg_steiner *s) { return (UINT32_C(1) << s->users) - 1; }

/// The price when nobody has a layout.
static double price_of_none(const eg_steiner *s) {
  double price = s->source[s->layouts];
  for (uint32_t u = 0; u < s->users; u++)
    price += s->user[u][s->layouts];
  return price;
}

egraph_status eg_steiner_solve(eg_steiner *s, double *out) {
  EG_TRY(eg_doubles_reserve(&s->inside, ((size_t)all_users(s) + 1) * s->layouts));
  for (uint32_t l = 0; l < s->layouts; l++)
    s->inside.data[l] = 0; // nobody
  for (uint32_t set = 1; set <= all_users(s); set++) {
    if ((set & (set - 1)) == 0)
      serve_one(s, (uint32_t)__builtin_ctz(set));
    else
      serve_set(s, set);
  }
  const double *all = row(s, &s->inside, all_users(s));
  *out = price_of_none(s);
  for (uint32_t l = 0; l < s->layouts; l++)
    *out = least(*out, s->source[l] + all[l]);
  return EGRAPH_OK;
}

void eg_steiner_source(const eg_steiner *s, double *out) {
  const double *all = row(s, &s->inside, all_users(s));
  for (uint32_t l = 0; l < s->layouts; l++)
    out[l] = s->source[l] + all[l];
  out[s->layouts] = price_of_none(s);
}

static void leave_rest(const eg_steiner *s, uint32_t set) {
  double *table = row(s, &s->outside, set);
  relax(s, table, false);
  for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {
    double *to = row(s, &s->outside, part);
    const double *rest = row(s, &s->inside, set ^ part);
    for (uint32_t l = 0; l < s->layouts; l++)
      to[l] = least(to[l], table[l] + rest[l]);
  }
}

egraph_status eg_steiner_reverse(eg_steiner *s) {
  EG_TRY(eg_doubles_reserve(&s->outside, ((size_t)all_users(s) + 1) * s->layouts));
  for (size_t i = 0; i < ((size_t)all_users(s) + 1) * s->layouts; i++)
    s->outside.data[i] = INFINITY;
  double *all = row(s, &s->outside, all_users(s));
  for (uint32_t l = 0; l < s->layouts; l++)
    all[l] = s->source[l];
  for (uint32_t set = all_users(s); set != 0; set--)
    leave_rest(s, set);
  return EGRAPH_OK;
}

void eg_steiner_user(const eg_steiner *s, uint32_t user, double *out) {
  const double *rest = row(s, &s->outside, UINT32_C(1) << user);
  const double *price = s->user[user];
  double any = INFINITY;
  for (uint32_t l = 0; l < s->layouts; l++) {
    out[l] = rest[l] + price[l];
    any = least(any, rest[l]);
  }
  out[s->layouts] = least(price_of_none(s), any + price[s->layouts]);
}

double eg_steiner_arc(const eg_steiner *s, uint32_t arc) {
  double price = INFINITY;
  for (uint32_t set = 1; set <= all_users(s); set++)
    price = least(price, row(s, &s->outside, set)[s->from[arc]] + s->cost[arc] +
                             row(s, &s->inside, set)[s->to[arc]]);
  return price;
}
