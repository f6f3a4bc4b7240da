// Bucket elimination (Dechter 1999). A factor waits in the bucket of its first variable;
// eliminating the variable adds up the bucket, takes minima, and puts a factor into a
// later bucket. If a table would exceed the cap the bucket is split (mini-buckets), and
// the minima of its parts add up to a bound.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_eliminate.h"

#include <math.h>

#include "extract/shard/shard_model.h"

/// Adds a table of zeros over the `arity` variables in `scope`; *out is its number.
static egraph_status add_factor(eg_shard_elimination *x, const uint32_t *scope,
                                uint32_t arity, uint32_t *out) {
  assert(arity == 0 || scope[0] < x->bucket.len);
  eg_shard_factor factor = {(uint32_t)x->scopes.len, arity, EG_SHARD_NONE, x->table.len};
  size_t size = 1;
  for (uint32_t i = 0; i < arity; i++)
    size *= eg_shard_elimination_width(x, scope[i]);
  EG_TRY(eg_u32s_append(&x->scopes, scope, arity));
  EG_TRY(eg_i64s_resize(&x->table, x->table.len + size));
  *out = (uint32_t)x->factors.len;
  if (arity != 0) {
    factor.next = x->bucket.data[scope[0]];
    x->bucket.data[scope[0]] = *out;
  }
  return eg_shard_factors_push(&x->factors, factor);
}

static int64_t scale_entry(const eg_shard_elimination *x, int64_t entry) {
  if (entry >= x->model->cutoff - x->model->base) return EG_SHARD_CAP;
  return entry * (INT64_C(1) << x->prices.scale);
}

/// Returns the cost of a node's value, its memory charge, and its edges to fixed nodes.
static int64_t price_value(const eg_shard_elimination *x, uint32_t n, uint32_t v) {
  const eg_shard_model *model = x->model;
  int64_t sum = eg_shard_prices_of(&x->prices, model, n, v, EG_SHARD_CAP);
  EG_SHARD_EACH_HALF(model, n, half) {
    uint32_t other = eg_shard_other(model, half);
    if (x->place.data[other] != EG_SHARD_NONE) continue;
    // An edge between two fixed nodes counts once.
    if (x->place.data[n] == EG_SHARD_NONE && other < n) continue;
    eg_shard_view view = eg_shard_view_of(model, half);
    int64_t entry =
        view.data[v * view.own_stride + x->fixed.data[other] * view.other_stride];
    sum = eg_shard_capped(sum, scale_entry(x, entry));
  }
  return sum;
}

static egraph_status load_nodes(eg_shard_elimination *x) {
  const eg_shard_model *model = x->model;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    if (model->nodes.data[n].count != 0 && x->place.data[n] == EG_SHARD_NONE)
      x->constant = eg_shard_capped(x->constant, price_value(x, n, x->fixed.data[n]));
  for (uint32_t i = 0; i < x->order.len; i++) {
    uint32_t factor;
    EG_TRY(add_factor(x, &i, 1, &factor));
    int64_t *table = x->table.data + x->factors.data[factor].table;
    for (uint32_t v = 0; v < eg_shard_elimination_width(x, i); v++)
      table[v] =
          price_value(x, x->order.data[i], x->values.data[x->value_begin.data[i] + v]);
  }
  return EGRAPH_OK;
}

static egraph_status load_edge(eg_shard_elimination *x, uint32_t e) {
  const uint32_t *ends = x->model->edges.data[e].ends;
  uint32_t at[2] = {x->place.data[ends[0]], x->place.data[ends[1]]};
  if (at[0] == EG_SHARD_NONE || at[1] == EG_SHARD_NONE) return EGRAPH_OK;
  // The end of the edge whose node is first in the order
  uint32_t half = 2 * e + (at[0] < at[1] ? 0 : 1);
  uint32_t scope[2] = {at[half & 1], at[~half & 1]}, factor;
  EG_TRY(add_factor(x, scope, 2, &factor));
  eg_shard_view view = eg_shard_view_of(x->model, half);
  const uint32_t *own = x->values.data + x->value_begin.data[scope[0]];
  const uint32_t *other = x->values.data + x->value_begin.data[scope[1]];
  int64_t *to = x->table.data + x->factors.data[factor].table;
  for (uint32_t w = 0; w < eg_shard_elimination_width(x, scope[1]); w++)
    for (uint32_t v = 0; v < eg_shard_elimination_width(x, scope[0]); v++)
      *to++ = scale_entry(
          x, view.data[own[v] * view.own_stride + other[w] * view.other_stride]);
  return EGRAPH_OK;
}

enum { MAX_PARTS = 64, MAX_ARITY = 48 };

/// A part of a bucket: factors that are added up and minimized over their first variable.
typedef struct part {
  uint32_t factors[MAX_PARTS];
  uint32_t count;
  uint32_t scope[MAX_ARITY]; // [0] is the eliminated variable
  uint32_t arity;
  size_t size;
} part;

/// Adds a factor to a part of a bucket; false when the union of the scopes is too long or
/// its table too large.
static bool join_factor(const eg_shard_elimination *x, part *p, uint32_t factor) {
  assert(p->count == 0 || p->arity != 0);
  const eg_shard_factor *f = &x->factors.data[factor];
  const uint32_t *scope = x->scopes.data + f->scope;
  uint32_t merged[MAX_ARITY], count = 0, i = 0, j = 0;
  size_t size = 1;
  if (p->count == MAX_PARTS) return false;
  while (i < p->arity || j < f->arity) {
    uint32_t a = i < p->arity ? p->scope[i] : EG_SHARD_NONE;
    uint32_t b = j < f->arity ? scope[j] : EG_SHARD_NONE;
    uint32_t least = a < b ? a : b;
    if (a == least) i++;
    if (b == least) j++;
    if (count == MAX_ARITY) return false;
    merged[count++] = least;
    size *= eg_shard_elimination_width(x, least);
    if (size > x->cap && p->count != 0) return false;
  }
  memcpy(p->scope, merged, count * sizeof *merged);
  p->arity = count;
  p->size = size;
  p->factors[p->count++] = factor;
  return true;
}

/// A position in the tables that are added up (a part); cursor[k] points into the table
/// of factor k.
typedef struct walk {
  const int64_t *cursor[MAX_PARTS];
  size_t stride[MAX_PARTS][MAX_ARITY]; // per variable of the scope
  uint32_t slow[MAX_PARTS], fast[MAX_PARTS];
  uint32_t slow_count, fast_count; // without and with the second variable
} walk;

static void start_walk(const eg_shard_elimination *x, const part *p, walk *w) {
  w->slow_count = w->fast_count = 0;
  for (uint32_t k = 0; k < p->count; k++) {
    const eg_shard_factor *f = &x->factors.data[p->factors[k]];
    const uint32_t *scope = x->scopes.data + f->scope;
    w->cursor[k] = x->table.data + f->table;
    size_t stride = 1;
    for (uint32_t i = 0, j = 0; i < p->arity; i++) {
      w->stride[k][i] = 0;
      if (j == f->arity || scope[j] != p->scope[i]) continue;
      w->stride[k][i] = stride;
      stride *= eg_shard_elimination_width(x, scope[j++]);
    }
    if (p->arity > 1 && w->stride[k][1] != 0)
      w->fast[w->fast_count++] = k;
    else
      w->slow[w->slow_count++] = k;
  }
}

/// Adds up a line of tables: per value of the second variable, the minimum over
/// the first.
static void reduce_line(const walk *w, uint32_t own, uint32_t line, int64_t *sum,
                        int64_t *to) {
  for (uint32_t v = 0; v < own; v++)
    sum[v] = 0;
  for (uint32_t k = 0; k < w->slow_count; k++)
    for (uint32_t v = 0; v < own; v++)
      sum[v] = eg_shard_capped(sum[v], w->cursor[w->slow[k]][v]);
  for (uint32_t i = 0; i < line; i++) {
    int64_t best = EG_SHARD_CAP;
    for (uint32_t v = 0; v < own; v++) {
      int64_t value = sum[v];
      for (uint32_t k = 0; k < w->fast_count; k++) {
        uint32_t f = w->fast[k];
        value = eg_shard_capped(value, w->cursor[f][i * w->stride[f][1] + v]);
      }
      if (value < best) best = value;
    }
    to[i] = best;
  }
}

/// Moves to the next line of the tables: counts up the variables from the third on.
static void step_walk(const eg_shard_elimination *x, const part *p, walk *w,
                      uint32_t *at) {
  for (uint32_t i = 2; i < p->arity; i++) {
    uint32_t width = eg_shard_elimination_width(x, p->scope[i]);
    bool over = ++at[i] == width;
    if (over) at[i] = 0;
    for (uint32_t k = 0; k < p->count; k++)
      w->cursor[k] +=
          over ? -(ptrdiff_t)(w->stride[k][i] * (width - 1)) : (ptrdiff_t)w->stride[k][i];
    if (!over) return;
  }
}

static egraph_status reduce_part(eg_shard_elimination *x, const part *p) {
  assert(p->count != 0 && p->arity != 0);
  uint32_t own = eg_shard_elimination_width(x, p->scope[0]), result;
  size_t size = p->size / own;
  if (x->table.len + size > x->total_cap) x->too_large = true;
  if (x->too_large) return EGRAPH_OK;
  EG_TRY(add_factor(x, p->scope + 1, p->arity - 1, &result));
  EG_TRY(eg_u32s_push(&x->results, result));
  x->model->spare.len = 0;
  EG_TRY(eg_i64s_resize(&x->model->spare, own));
  walk w;
  uint32_t at[MAX_ARITY] = {0};
  start_walk(x, p, &w);
  uint32_t line = p->arity > 1 ? eg_shard_elimination_width(x, p->scope[1]) : 1;
  int64_t *to = x->table.data + x->factors.data[result].table;
  for (size_t done = 0; done < size; done += line) {
    reduce_line(&w, own, line, x->model->spare.data, to + done);
    step_walk(x, p, &w, at);
  }
  x->work += p->size * (1 + w.fast_count);
  if (p->arity == 1) x->constant = eg_shard_capped(x->constant, *to);
  return EGRAPH_OK;
}

static size_t factor_size(const eg_shard_elimination *x, uint32_t factor) {
  const eg_shard_factor *f = &x->factors.data[factor];
  size_t size = 1;
  for (uint32_t i = 0; i < f->arity; i++)
    size *= eg_shard_elimination_width(x, x->scopes.data[f->scope + i]);
  return size;
}

// Lists in x->trial the tables whose first variable is at `place`, largest first.
static egraph_status list_bucket(eg_shard_elimination *x, uint32_t place) {
  x->trial.len = 0;
  for (uint32_t f = x->bucket.data[place]; f != EG_SHARD_NONE;
       f = x->factors.data[f].next) {
    EG_TRY(eg_u32s_push(&x->trial, f));
    uint32_t *list = x->trial.data;
    for (size_t i = x->trial.len - 1; i > 0; i--) {
      if (factor_size(x, list[i - 1]) >= factor_size(x, list[i])) break;
      uint32_t swap = list[i];
      list[i] = list[i - 1];
      list[i - 1] = swap;
    }
  }
  return EGRAPH_OK;
}

static egraph_status eliminate_place(eg_shard_elimination *x, uint32_t place) {
  assert(place < x->order.len);
  EG_TRY(list_bucket(x, place));
  for (bool first = true; x->trial.len != 0 && !x->too_large; first = false) {
    part p = {.count = 0};
    size_t left = 0;
    for (size_t i = 0; i < x->trial.len; i++)
      if (!join_factor(x, &p, x->trial.data[i])) x->trial.data[left++] = x->trial.data[i];
    x->trial.len = left;
    if (!first || left != 0) x->exact = false;
    EG_TRY(reduce_part(x, &p));
  }
  return EGRAPH_OK;
}

egraph_status eg_shard_elimination_run(eg_shard_elimination *x) {
  if (x->too_large && x->order.len == 0) return EGRAPH_OK; // has no order
  EG_TRY(eg_shard_prices_fix(&x->prices, x->model, eg_shard_scale_of(x->model)));
  x->factors.len = x->scopes.len = x->table.len = x->results.len = 0;
  x->result_begin.len = 0;
  x->too_large = false;
  x->exact = true;
  x->constant = 0;
  EG_TRY(eg_fill_none(&x->bucket, x->order.len));
  EG_TRY(load_nodes(x));
  for (uint32_t e = 0; e < x->model->edges.len; e++)
    if (!eg_shard_is_dead(&x->model->edges.data[e])) EG_TRY(load_edge(x, e));
  for (uint32_t i = 0; i < x->order.len && !x->too_large; i++) {
    EG_TRY(eg_u32s_push(&x->result_begin, (uint32_t)x->results.len));
    EG_TRY(eliminate_place(x, i));
  }
  EG_TRY(eg_u32s_push(&x->result_begin, (uint32_t)x->results.len));
  x->bound = x->constant - x->prices.capacity;
  return EGRAPH_OK;
}

egraph_status eg_shard_elimination_trace(eg_shard_elimination *x, uint32_t *choice) {
  assert(!x->too_large);
  EG_TRY(eg_u32s_resize(&x->trial, x->order.len));
  uint32_t *at = x->trial.data; // [place]
  for (uint32_t n = 0; n < x->model->nodes.len; n++)
    choice[n] = x->fixed.data[n];
  for (uint32_t i = (uint32_t)x->order.len; i-- > 0;) {
    int64_t best = EG_SHARD_CAP;
    at[i] = 0;
    for (uint32_t v = 0; v < eg_shard_elimination_width(x, i); v++) {
      int64_t sum = 0;
      for (uint32_t f = x->bucket.data[i]; f != EG_SHARD_NONE;
           f = x->factors.data[f].next)
        sum = eg_shard_capped(sum, eg_shard_factor_at(x, &x->factors.data[f], at)[v]);
      if (sum >= best) continue;
      best = sum;
      at[i] = v;
    }
    choice[x->order.data[i]] = x->values.data[x->value_begin.data[i] + at[i]];
  }
  return EGRAPH_OK;
}

// ---- the order --------------------------------------------------------------------

// Orders the elimination: the variable with the smallest table comes first.
// Neighbourhoods are bit rows over the variables; eliminating a variable joins
// its neighbours.

typedef struct ordering {
  eg_shard_elimination *x;
  const uint32_t *held;
  eg_u32s node;    // [variable] before ordering
  eg_u32s number;  // [node] of its variable, or EG_SHARD_NONE
  eg_doubles size; // [variable] log2 of its values
  size_t words;
} ordering;
EG_OWNER_DEFINE_STATIC(ordering, (eg_u32s, node, number), (eg_doubles, size))

static uint64_t *graph_row(const ordering *o, uint32_t variable) {
  return o->x->graph.data + variable * o->words;
}

static double weigh_variable(const ordering *o, uint32_t variable) {
  const uint64_t *row = graph_row(o, variable);
  double weight = o->size.data[variable];
  EG_EACH_BIT(row, o->words, other) { weight += o->size.data[other]; }
  return weight;
}

static egraph_status find_variables(ordering *o, const uint8_t *allowed) {
  eg_shard_elimination *x = o->x;
  const eg_shard_model *model = x->model;
  EG_TRY(eg_u32s_resize(&o->number, model->nodes.len));
  x->fixed.len = 0;
  EG_TRY(eg_u32s_resize(&x->fixed, model->nodes.len));
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    uint32_t count = 0;
    for (uint32_t v = node->count; v-- > 0;)
      if (allowed == NULL || allowed[node->values + v]) {
        x->fixed.data[n] = v;
        count++;
      }
    o->number.data[n] = EG_SHARD_NONE;
    if (count < 2) continue;
    o->number.data[n] = (uint32_t)o->node.len;
    EG_TRY(eg_u32s_push(&o->node, n));
    EG_TRY(eg_doubles_push(&o->size, log2((double)count)));
  }
  return EGRAPH_OK;
}

static egraph_status find_neighbours(ordering *o) {
  const eg_shard_model *model = o->x->model;
  o->words = eg_bits_words(o->node.len);
  o->x->graph.len = 0;
  EG_TRY(eg_words_resize(&o->x->graph, o->node.len * o->words));
  for (uint32_t e = 0; e < model->edges.len; e++) {
    const eg_shard_edge *edge = &model->edges.data[e];
    if (eg_shard_is_dead(edge)) continue;
    uint32_t a = o->number.data[edge->ends[0]], b = o->number.data[edge->ends[1]];
    if (a == EG_SHARD_NONE || b == EG_SHARD_NONE) continue;
    eg_bits_put(graph_row(o, a), b);
    eg_bits_put(graph_row(o, b), a);
  }
  EG_TRY(eg_doubles_resize(&o->x->weight, o->node.len));
  for (uint32_t v = 0; v < o->node.len; v++)
    o->x->weight.data[v] = weigh_variable(o, v);
  return EGRAPH_OK;
}

/// Removes a variable; `join`: its neighbours become neighbours of each other.
static void take_variable(ordering *o, uint32_t variable, bool join) {
  assert(variable < o->node.len);
  uint64_t *row = graph_row(o, variable);
  EG_EACH_BIT(row, o->words, other) {
    uint64_t *to = graph_row(o, other);
    if (join) {
      for (size_t k = 0; k < o->words; k++)
        to[k] |= row[k];
      eg_bits_clear(to, other);
    }
    eg_bits_clear(to, variable);
  }
  EG_EACH_BIT(row, o->words, other) {
    o->x->weight.data[other] = weigh_variable(o, other);
  }
  o->x->weight.data[variable] = INFINITY;
}

/// Returns the neighbour of `variable` with the most values and neighbours, to be fixed.
static uint32_t widest_near(const ordering *o, uint32_t variable) {
  const uint64_t *row = graph_row(o, variable);
  uint32_t best = variable;
  EG_EACH_BIT(row, o->words, other) {
    if (o->x->weight.data[other] > o->x->weight.data[best]) best = other;
  }
  return best;
}

static egraph_status choose_order(ordering *o) {
  eg_shard_elimination *x = o->x;
  double most = log2((double)x->cap) + 1e-9;
  x->order.len = 0;
  for (size_t left = o->node.len; left != 0; left--) {
    uint32_t best = 0;
    for (uint32_t v = 1; v < o->node.len; v++)
      if (x->weight.data[v] < x->weight.data[best]) best = v;
    if (x->weight.data[best] > most && o->held != NULL) {
      best = widest_near(o, best);
      x->fixed.data[o->node.data[best]] = o->held[o->node.data[best]];
      take_variable(o, best, false);
    } else {
      EG_TRY(eg_u32s_push(&x->order, o->node.data[best]));
      take_variable(o, best, true);
    }
  }
  return EGRAPH_OK;
}

static egraph_status list_values(eg_shard_elimination *x, const uint8_t *allowed) {
  const eg_shard_model *model = x->model;
  EG_TRY(eg_fill_none(&x->place, model->nodes.len));
  x->values.len = x->value_begin.len = 0;
  for (uint32_t i = 0; i < x->order.len; i++) {
    uint32_t n = x->order.data[i];
    const eg_shard_node *node = &model->nodes.data[n];
    x->place.data[n] = i;
    EG_TRY(eg_u32s_push(&x->value_begin, (uint32_t)x->values.len));
    for (uint32_t v = 0; v < node->count; v++)
      if (allowed == NULL || allowed[node->values + v])
        EG_TRY(eg_u32s_push(&x->values, v));
  }
  return eg_u32s_push(&x->value_begin, (uint32_t)x->values.len);
}

egraph_status eg_shard_elimination_order(eg_shard_elimination *x, eg_shard_model *model,
                                         const uint8_t *allowed, const uint32_t *held,
                                         size_t cap, size_t total_cap) {
  assert(cap != 0);
  x->model = model;
  x->cap = cap;
  x->total_cap = total_cap;
  EG_LOCAL_WITH(ordering, o, x->alloc, .x = x, .held = held);
  EG_TRY(find_variables(&o, allowed));
  x->too_large = o.node.len > EG_SHARD_MOST_VARIABLES;
  x->order.len = 0;
  if (!x->too_large) EG_TRY(find_neighbours(&o));
  if (!x->too_large) EG_TRY(choose_order(&o));
  return list_values(x, allowed);
}

// ---- search along an elimination ----------------------------------------------------
// Variables are decided in the reverse order of their elimination. The bound of a partial
// choice is the sum of all factors that are decided but not yet eliminated: deciding a
// variable subtracts the results of its elimination and adds its bucket. If no table was
// split the bound is the exact minimum under prices, so that without memory rows the
// first leaf is optimal and the search ends there.

/// Returns the largest sum, in units of 2^-scale, that is below the cutoff.
static int64_t largest_sum(const eg_shard_elimination *tables) {
  const eg_shard_model *model = tables->model;
  return (model->cutoff - 1 - model->base) * (INT64_C(1) << tables->prices.scale) +
         tables->prices.capacity;
}

/// Lists the values of the variable at a place in the order, cheapest first.
static void open_place(eg_shard_enumeration *x, const eg_shard_elimination *tables,
                       uint32_t place, int64_t most) {
  assert(place < tables->order.len);
  uint32_t begin = tables->value_begin.data[place];
  uint32_t width = eg_shard_elimination_width(tables, place), count = 0;
  int64_t rest = x->sum.data[place + 1];
  for (uint32_t i = tables->result_begin.data[place];
       i < tables->result_begin.data[place + 1]; i++) {
    const eg_shard_factor *f = &tables->factors.data[tables->results.data[i]];
    const int64_t *line = eg_shard_factor_at(tables, f, x->at.data);
    rest -= f->arity == 0 ? *line : line[x->at.data[tables->scopes.data[f->scope]]];
  }
  for (uint32_t v = 0; v < width; v++) {
    int64_t cost = rest;
    for (uint32_t f = tables->bucket.data[place]; f != EG_SHARD_NONE && cost <= most;
         f = tables->factors.data[f].next)
      cost = eg_shard_capped(
          cost, eg_shard_factor_at(tables, &tables->factors.data[f], x->at.data)[v]);
    if (cost > most) continue;
    uint32_t to = count++;
    for (; to > 0 && x->cost.data[begin + to - 1] > cost; to--) {
      x->cost.data[begin + to] = x->cost.data[begin + to - 1];
      x->child.data[begin + to] = x->child.data[begin + to - 1];
    }
    x->cost.data[begin + to] = cost;
    x->child.data[begin + to] = v;
  }
  x->next.data[place] = 0;
  x->count.data[place] = count;
}

/// Offers a complete choice, whose cost excludes memory charges; *out_better: a new best.
static egraph_status offer_leaf(eg_shard_enumeration *x, eg_shard_elimination *tables,
                                eg_shard_search *search, bool *out_better) {
  int64_t least = largest_sum(tables) - tables->prices.capacity, cost;
  bool fits, better;
  if (x->sum.data[0] - x->charged.data[0] > least) return EGRAPH_OK;
  for (uint32_t i = 0; i < tables->order.len; i++)
    x->choice.data[tables->order.data[i]] =
        tables->values.data[tables->value_begin.data[i] + x->at.data[i]];
  EG_TRY(eg_shard_model_evaluate(tables->model, x->choice.data, &cost, &fits));
  if (!fits || cost >= tables->model->cutoff) return EGRAPH_OK;
  EG_TRY(eg_shard_search_offer(search, tables->model, x->choice.data, &better));
  tables->model->cutoff = cost;
  x->found.len = 0;
  EG_TRY(eg_u32s_append(&x->found, x->choice.data, x->choice.len));
  *out_better = true;
  return EGRAPH_OK;
}

/// Returns the part of a value's priced cost that memory prices cause; 0 if the value
/// is forbidden.
static int64_t charge_of(const eg_shard_elimination *tables, uint32_t n, uint32_t v) {
  const eg_shard_model *model = tables->model;
  int64_t cost = model->cost.data[model->nodes.data[n].values + v];
  int64_t sum = eg_shard_prices_of(&tables->prices, model, n, v, EG_SHARD_CAP);
  return sum >= EG_SHARD_CAP ? 0 : sum - cost * (INT64_C(1) << tables->prices.scale);
}

static egraph_status find_charges(eg_shard_enumeration *x,
                                  const eg_shard_elimination *tables) {
  const eg_shard_model *model = tables->model;
  size_t places = tables->order.len;
  EG_TRY(eg_i64s_resize(&x->charge, tables->values.len));
  EG_TRY(eg_i64s_resize(&x->charged, places + 1));
  for (uint32_t i = 0; i < places; i++)
    for (uint32_t v = tables->value_begin.data[i]; v < tables->value_begin.data[i + 1];
         v++)
      x->charge.data[v] =
          charge_of(tables, tables->order.data[i], tables->values.data[v]);
  int64_t sum = 0;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    if (model->nodes.data[n].count != 0 && tables->place.data[n] == EG_SHARD_NONE)
      sum = eg_shard_capped(sum, charge_of(tables, n, tables->fixed.data[n]));
  x->charged.data[places] = sum;
  return EGRAPH_OK;
}

static egraph_status start_enumeration(eg_shard_enumeration *x,
                                       const eg_shard_elimination *tables) {
  const eg_shard_model *model = tables->model;
  size_t places = tables->order.len;
  EG_TRY(eg_shard_slack_start(&x->slack, model));
  EG_TRY(eg_i64s_resize(&x->cost, tables->values.len));
  EG_TRY(eg_u32s_resize(&x->child, tables->values.len));
  EG_TRY(eg_u32s_resize(&x->at, places));
  EG_TRY(eg_u32s_resize(&x->next, places));
  EG_TRY(eg_u32s_resize(&x->count, places));
  EG_TRY(eg_i64s_resize(&x->sum, places + 1));
  EG_TRY(eg_u32s_resize(&x->choice, model->nodes.len));
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    if (model->nodes.data[n].count == 0 || tables->place.data[n] != EG_SHARD_NONE)
      continue;
    x->choice.data[n] = tables->fixed.data[n];
    eg_shard_slack_value(&x->slack, model, n, tables->fixed.data[n], -1);
  }
  x->sum.data[places] = tables->constant;
  return find_charges(x, tables);
}

static void charge_place(eg_shard_enumeration *x, const eg_shard_elimination *tables,
                         uint32_t place, int64_t sign) {
  assert(sign == 1 || sign == -1);
  uint32_t value =
      tables->values.data[tables->value_begin.data[place] + x->at.data[place]];
  eg_shard_slack_value(&x->slack, tables->model, tables->order.data[place], value, sign);
}

/// Gives the variable at a place in the order its next value, cheapest first, that keeps
/// the limits of memory. Returns false when none with a bound of at most `most` is left.
static bool advance_place(eg_shard_enumeration *x, const eg_shard_elimination *tables,
                          uint32_t place, int64_t most) {
  uint32_t begin = tables->value_begin.data[place];
  while (x->next.data[place] < x->count.data[place]) {
    uint32_t i = begin + x->next.data[place]++;
    if (x->cost.data[i] > most) return false;
    x->at.data[place] = x->child.data[i];
    charge_place(x, tables, place, -1);
    if (eg_shard_slack_fits(&x->slack)) {
      x->sum.data[place] = x->cost.data[i];
      x->charged.data[place] =
          x->charged.data[place + 1] + x->charge.data[begin + x->at.data[place]];
      return true;
    }
    charge_place(x, tables, place, 1);
  }
  return false;
}

/// Walks over choices depth first. `place`: the variable to decide, by its position in
/// the order; those above are decided.
static egraph_status walk_places(eg_shard_enumeration *x, eg_shard_elimination *tables,
                                 eg_shard_search *search, uint64_t limit,
                                 bool *out_better, bool *out_complete) {
  uint32_t places = (uint32_t)tables->order.len, place = places - 1;
  int64_t most = largest_sum(tables);
  open_place(x, tables, place, most);
  for (uint64_t visited = 0;;) {
    if (!advance_place(x, tables, place, most)) {
      if (++place == places) break;
      charge_place(x, tables, place, 1);
      continue;
    }
    if (++visited >= limit) return EGRAPH_OK;
    if (visited % 1024 == 0 && eg_shard_search_stop(search)) return EGRAPH_OK;
    tables->work += 16;
    if (place != 0) {
      open_place(x, tables, --place, most);
      continue;
    }
    EG_TRY(offer_leaf(x, tables, search, out_better));
    most = largest_sum(tables);
    charge_place(x, tables, place, 1);
  }
  *out_complete = true;
  return EGRAPH_OK;
}

egraph_status eg_shard_enumerate(eg_shard_enumeration *x, eg_shard_elimination *tables,
                                 eg_shard_search *search, uint64_t limit,
                                 bool *out_better, bool *out_complete) {
  *out_better = *out_complete = false;
  if (tables->too_large) return EGRAPH_OK;
  EG_TRY(start_enumeration(x, tables));
  *out_complete =
      tables->constant > largest_sum(tables) || !eg_shard_slack_fits(&x->slack);
  if (*out_complete) return EGRAPH_OK;
  if (tables->order.len != 0)
    return walk_places(x, tables, search, limit, out_better, out_complete);
  *out_complete = true;
  return offer_leaf(x, tables, search, out_better);
}
