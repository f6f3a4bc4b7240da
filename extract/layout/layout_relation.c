// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_relation.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

#define NONE EG_RELATION_NONE

// ---- order of rows ------------------------------------------------------------------

typedef struct costed {
  uint64_t key; // has the order of the cost, which is >= 0
  uint32_t row;
} costed;
EG_VEC_DEFINE(costeds, costed);

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64, FEW_ROWS = 512 };

static int compare_keys(const void *a, const void *b) {
  const costed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static void sort_by_digit(const costed *from, costed *to, size_t count, int shift) {
  size_t begin[DIGITS] = {0}, sum = 0;
  for (size_t i = 0; i < count; i++)
    begin[from[i].key >> shift & (DIGITS - 1)]++;
  for (size_t d = 0; d < DIGITS; d++) {
    size_t items = begin[d];
    begin[d] = sum;
    sum += items;
  }
  for (size_t i = 0; i < count; i++)
    to[begin[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/// Sorts by cost, stably. `spare` must have room for as many items.
static void sort_costed(costeds *order, costeds *spare) {
  if (order->len <= FEW_ROWS) {
    if (order->len != 0)
      qsort(order->data, order->len, sizeof *order->data, compare_keys);
    return;
  }
  for (int shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
    sort_by_digit(order->data, spare->data, order->len, shift);
    costeds sorted = *spare;
    sorted.len = order->len;
    *spare = *order;
    *order = sorted;
  }
}

static egraph_status list_rows(const eg_relation *r, costeds *order, costeds *spare) {
  EG_TRY(costeds_reserve(order, r->cost.len));
  EG_TRY(costeds_reserve(spare, r->cost.len));
  for (uint32_t i = 0; i < r->cost.len; i++) {
    double cost = fmax(r->cost.data[i], 0);
    memcpy(&order->data[i].key, &cost, sizeof cost);
    order->data[i].row = i;
  }
  order->len = r->cost.len;
  sort_costed(order, spare);
  return EGRAPH_OK;
}

/// Replaces the rows by the first `count` of `order`.
static egraph_status take_rows(eg_relation *r, const costeds *order, size_t count) {
  size_t width = r->vars.len;
  egraph_allocator alloc = r->cost.alloc;
  bool has_choice = r->choice.len != 0;
  EG_LOCAL(eg_labels, labels, alloc);
  EG_LOCAL(eg_labels, choice, alloc);
  EG_LOCAL(eg_doubles, cost, alloc);
  EG_TRY(eg_labels_reserve(&labels, count * width));
  EG_TRY(eg_doubles_reserve(&cost, count));
  if (has_choice) EG_TRY(eg_labels_reserve(&choice, count));
  for (size_t i = 0; i < count; i++) {
    uint32_t from = order->data[i].row;
    if (width != 0)
      memcpy(labels.data + i * width, r->labels.data + from * width,
             width * sizeof(uint16_t));
    if (has_choice) choice.data[i] = r->choice.data[from];
    cost.data[i] = r->cost.data[from];
  }
  labels.len = count * width;
  cost.len = count;
  choice.len = has_choice ? count : 0;
  eg_relation old = *r; // the locals free its rows
  r->labels = labels;
  r->choice = choice;
  r->cost = cost;
  labels = old.labels;
  choice = old.choice;
  cost = old.cost;
  return EGRAPH_OK;
}

/// Sorts the rows by their costs, stably, and keeps the first `keep`. O(rows) when there
/// are many. After a failure the relation is as before.
static egraph_status sort_rows(eg_relation *r, size_t keep) {
  EG_LOCAL(costeds, order, r->cost.alloc);
  EG_LOCAL(costeds, spare, r->cost.alloc);
  EG_TRY(list_rows(r, &order, &spare));
  return take_rows(r, &order, keep < order.len ? keep : order.len);
}

// ---- rows ---------------------------------------------------------------------------

static uint64_t hash_labels(const uint16_t *labels, size_t count) {
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++)
    hash = (hash ^ labels[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return eg_hash_mix(hash);
}

static bool has_labels(const void *user, uint32_t id, const void *key) {
  const eg_relation *r = user;
  size_t width = r->vars.len;
  return width == 0 || memcmp(eg_relation_row(r, id), key, width * sizeof(uint16_t)) == 0;
}

egraph_status eg_relation_begin(eg_relation_maker *m, eg_relation *to,
                                const uint32_t *vars, uint32_t count, bool takes_out) {
  assert(count <= EG_RELATION_VARS);
  m->to = to;
  m->most = m->room - m->base;
  m->takes_out = takes_out;
  m->is_distinct = m->failed = false;
  eg_flatmap_clear(&m->seen);
  to->vars.len = to->labels.len = to->cost.len = to->choice.len = 0;
  return eg_u32s_append(&to->vars, vars, count);
}

void eg_relation_lose(eg_relation_maker *m, double cost) {
  if (cost + m->base < m->lost) m->lost = cost + m->base;
}

bool eg_relation_has_room(eg_relation_maker *m, double bound) {
  if (bound <= m->room) return true;
  eg_relation_lose(m, fmax(bound, 0));
  return false;
}

static void give_up(eg_relation_maker *m) {
  if (m->keeps_all) {
    m->failed = true;
    return;
  }
  m->gave_up = true;
  m->lost = 0;
}

/// Ends the relation; keeps the cheapest rows when there are too many.
egraph_status eg_relation_finish(eg_relation_maker *m) {
  eg_relation *to = m->to;
  if (to->cost.len <= m->rows) return EGRAPH_OK;
  EG_TRY(sort_rows(to, m->rows));
  m->most = to->cost.data[to->cost.len - 1];
  eg_relation_lose(m, m->most); // dropped rows cost at least as much
  return EGRAPH_OK;
}

egraph_status eg_relation_add(eg_relation_maker *m, const uint16_t *labels,
                              uint16_t choice, double cost) {
  assert(m->to != NULL);
  eg_relation *to = m->to;
  uint32_t row;
  if (!(cost <= m->most)) {
    eg_relation_lose(m, cost);
    return EGRAPH_OK;
  }
  uint64_t hash = m->is_distinct ? 0 : hash_labels(labels, to->vars.len);
  if (!m->is_distinct && eg_flatmap_find(&m->seen, hash, labels, has_labels, to, &row)) {
    if (!(cost < to->cost.data[row])) return EGRAPH_OK;
    to->cost.data[row] = cost;
    if (m->takes_out) to->choice.data[row] = choice;
    return EGRAPH_OK;
  }
  if (m->keeps_all && to->cost.len >= m->rows) {
    m->failed = true;
    return EGRAPH_OK;
  }
  if (to->cost.len / 2 >= m->rows) {
    EG_TRY(eg_relation_finish(m));
    eg_flatmap_clear(&m->seen);
    for (uint32_t i = 0; i < to->cost.len && !m->is_distinct; i++)
      EG_TRY(eg_flatmap_insert(&m->seen,
                               hash_labels(eg_relation_row(to, i), to->vars.len), i));
  }
  row = (uint32_t)to->cost.len;
  if (!m->is_distinct) EG_TRY(eg_flatmap_reserve_one(&m->seen));
  EG_TRY(eg_labels_append(&to->labels, labels, to->vars.len));
  if (m->takes_out) EG_TRY(eg_labels_push(&to->choice, choice));
  EG_TRY(eg_doubles_push(&to->cost, cost));
  if (!m->is_distinct) eg_flatmap_put(&m->seen, hash, row);
  return EGRAPH_OK;
}

// ---- costs of labels ----------------------------------------------------------------

static double labels_cost(const eg_label_costs *costs, const eg_relation *r,
                          uint32_t row) {
  const uint16_t *labels = eg_relation_row(r, row);
  double sum = 0;
  for (uint32_t i = 0; i < r->vars.len; i++)
    sum += eg_label_cost(costs, r->vars.data[i], labels[i]);
  return sum;
}

void eg_relation_raise(eg_relation_maker *m, const eg_label_costs *costs,
                       eg_relation *r) {
  size_t width = r->vars.len, kept = 0;
  for (uint32_t row = 0; row < r->cost.len; row++) {
    double bound = r->cost.data[row] + labels_cost(costs, r, row);
    if (!(bound + m->base <= m->room)) {
      eg_relation_lose(m, bound);
      continue;
    }
    if (width != 0)
      memmove(r->labels.data + kept * width, eg_relation_row(r, row),
              width * sizeof(uint16_t));
    if (r->choice.len != 0) r->choice.data[kept] = r->choice.data[row];
    r->cost.data[kept++] = bound;
  }
  if (r->choice.len != 0) r->choice.len = kept;
  r->labels.len = kept * width;
  r->cost.len = kept;
}

void eg_relation_lower(const eg_label_costs *costs, eg_relation *r) {
  for (uint32_t row = 0; row < r->cost.len; row++)
    r->cost.data[row] = fmax(r->cost.data[row] - labels_cost(costs, r, row), 0);
}

static size_t column_of(const eg_relation *r, uint32_t var) {
  assert(r->vars.len != 0);
  size_t column = 0;
  while (r->vars.data[column] != var)
    column++;
  return column;
}

/// Copies row `from` to row `to`, without one column.
static void move_row(eg_relation *r, size_t from, size_t to, size_t column) {
  size_t width = r->vars.len;
  uint16_t *row = r->labels.data + to * (width - 1);
  for (size_t i = 0, k = 0; i < width; i++)
    if (i != column) row[k++] = r->labels.data[from * width + i];
  r->cost.data[to] = r->cost.data[from];
  if (r->choice.len != 0) r->choice.data[to] = r->choice.data[from];
}

void eg_relation_fix(eg_relation_maker *m, eg_relation *r, uint32_t var, uint16_t label) {
  assert(r->vars.len != 0);
  size_t column = column_of(r, var), kept = 0;
  for (size_t row = 0; row < r->cost.len; row++) {
    if (r->labels.data[row * r->vars.len + column] == label)
      move_row(r, row, kept++, column);
    else
      eg_relation_lose(m, r->cost.data[row]);
  }
  for (size_t i = column + 1; i < r->vars.len; i++)
    r->vars.data[i - 1] = r->vars.data[i];
  r->vars.len--;
  if (r->choice.len != 0) r->choice.len = kept;
  r->cost.len = kept;
  r->labels.len = kept * r->vars.len;
}

// ---- joins --------------------------------------------------------------------------

enum {
  MOST_VARS = EG_RELATION_VARS,
  ASK_EVERY = 1 << 12,
  STEPS_PER_ROW = 1 << 10 // for a join that keeps all rows
};

/// Describes how the rows of two relations are joined.
typedef struct joint {
  const eg_relation *a, *b;
  uint32_t vars[2 * MOST_VARS]; // variables of the result
  uint32_t from[2 * MOST_VARS]; // column of a, or width of a + column of b
  uint32_t common_a[MOST_VARS], common_b[MOST_VARS];
  uint32_t count, common, choice_from; // as `from`, or NONE
} joint;

static void add_column(joint *j, uint32_t var, uint32_t from, uint32_t out) {
  if (var == out) {
    j->choice_from = from;
    return;
  }
  j->vars[j->count] = var;
  j->from[j->count++] = from;
}

static void merge_columns(joint *j, uint32_t out) {
  assert(j->a->vars.len <= MOST_VARS && j->b->vars.len <= MOST_VARS);
  const eg_u32s *a = &j->a->vars, *b = &j->b->vars;
  uint32_t i = 0, k = 0, behind = (uint32_t)a->len;
  while (i < a->len || k < b->len) {
    if (k == b->len || (i < a->len && a->data[i] < b->data[k])) {
      add_column(j, a->data[i], i, out);
      i++;
    } else if (i == a->len || b->data[k] < a->data[i]) {
      add_column(j, b->data[k], behind + k, out);
      k++;
    } else {
      j->common_a[j->common] = i;
      j->common_b[j->common++] = k;
      add_column(j, a->data[i], i, out);
      i++;
      k++;
    }
  }
}

typedef struct row_group {
  const eg_relation *relation;
  const uint32_t *columns, *first; // first row of a group
  uint32_t count;
} row_group;

static bool same_group(const void *user, uint32_t id, const void *key) {
  const row_group *g = user;
  const uint16_t *row = eg_relation_row(g->relation, g->first[id]), *labels = key;
  for (uint32_t i = 0; i < g->count; i++)
    if (row[g->columns[i]] != labels[i]) return false;
  return true;
}

static void pick_labels(const uint16_t *row, const uint32_t *columns, uint32_t count,
                        uint16_t *out) {
  for (uint32_t i = 0; i < count; i++)
    out[i] = row[columns[i]];
}

/// Groups the rows of b with equal labels in the common variables; sorts a group by cost.
static egraph_status group_rows(eg_relation_maker *m, const joint *j, eg_flatmap *map) {
  uint32_t rows = (uint32_t)eg_relation_rows(j->b);
  uint16_t key[MOST_VARS];
  m->steps += 32 * (uint64_t)rows; // includes sorting
  m->first.len = m->last.len = m->next.len = 0;
  EG_TRY(eg_u32s_resize(&m->next, rows));
  for (uint32_t i = 0; i < rows; i++) {
    row_group groups = {j->b, j->common_b, m->first.data, j->common};
    uint32_t group;
    pick_labels(eg_relation_row(j->b, i), j->common_b, j->common, key);
    uint64_t hash = hash_labels(key, j->common);
    m->next.data[i] = NONE;
    if (eg_flatmap_find(map, hash, key, same_group, &groups, &group)) {
      m->next.data[m->last.data[group]] = i;
      m->last.data[group] = i;
      continue;
    }
    EG_TRY(eg_flatmap_insert(map, hash, (uint32_t)m->first.len));
    EG_TRY(eg_u32s_push(&m->first, i));
    EG_TRY(eg_u32s_push(&m->last, i));
  }
  return EGRAPH_OK;
}

static uint16_t column(const joint *j, const uint16_t *a, const uint16_t *b,
                       uint32_t from) {
  return from < j->a->vars.len ? a[from] : b[from - j->a->vars.len];
}

/// Joins one row of a with all rows of b that agree with it.
static egraph_status join_row(eg_relation_maker *m, const joint *j, uint32_t row,
                              uint32_t other, double common_cost) {
  const uint16_t *a = eg_relation_row(j->a, row);
  double own = j->a->cost.data[row] - common_cost;
  uint16_t *labels = m->row.data;
  for (; other != NONE; other = m->next.data[other]) {
    double cost = own + j->b->cost.data[other];
    if (!(cost <= m->most)) {
      eg_relation_lose(m, cost); // rows that follow cost no less
      return EGRAPH_OK;
    }
    const uint16_t *b = eg_relation_row(j->b, other);
    for (uint32_t i = 0; i < j->count; i++)
      labels[i] = column(j, a, b, j->from[i]);
    uint16_t choice = j->choice_from == NONE ? 0 : column(j, a, b, j->choice_from);
    m->steps += 16 + j->count;
    EG_TRY(eg_relation_add(m, labels, choice, cost));
  }
  return EGRAPH_OK;
}

static egraph_status join_rows(eg_relation_maker *m, const eg_label_costs *costs,
                               const joint *j, const eg_flatmap *map) {
  row_group groups = {j->b, j->common_b, m->first.data, j->common};
  uint16_t key[MOST_VARS];
  uint64_t most = m->steps + STEPS_PER_ROW * (uint64_t)m->rows;
  for (uint32_t i = 0; i < eg_relation_rows(j->a) && !m->failed; i++) {
    uint32_t group;
    m->steps += 16;
    if (m->keeps_all && m->steps > most) m->failed = true;
    if (i % ASK_EVERY == ASK_EVERY - 1 && m->stop != NULL && m->stop(m->user)) {
      give_up(m);
      return EGRAPH_OK;
    }
    pick_labels(eg_relation_row(j->a, i), j->common_a, j->common, key);
    if (!eg_flatmap_find(map, hash_labels(key, j->common), key, same_group, &groups,
                         &group))
      continue;
    double common = 0;
    for (uint32_t k = 0; k < j->common; k++)
      common += eg_label_cost(costs, j->a->vars.data[j->common_a[k]], key[k]);
    EG_TRY(join_row(m, j, i, m->first.data[group], common));
  }
  return EGRAPH_OK;
}

egraph_status eg_relation_join(eg_relation_maker *m, const eg_label_costs *costs,
                               const eg_relation *a, eg_relation *b, uint32_t out,
                               eg_relation *to) {
  assert(a != b && to != a && to != b);
  EG_TRY(sort_rows(b, eg_relation_rows(b)));
  joint j = {.a = a, .b = b, .choice_from = NONE};
  merge_columns(&j, out);
  bool is_wide = j.count > MOST_VARS;
  EG_TRY(eg_relation_begin(m, to, j.vars, is_wide ? 0 : j.count, out != NONE));
  if (is_wide) {
    give_up(m);
    return EGRAPH_OK;
  }
  m->is_distinct = out == NONE;
  EG_TRY(eg_labels_resize(&m->row, j.count + 1));
  EG_LOCAL(eg_flatmap, map, m->next.alloc);
  EG_TRY(group_rows(m, &j, &map));
  EG_TRY(join_rows(m, costs, &j, &map));
  return eg_relation_finish(m);
}

bool eg_relation_choice(const eg_relation *r, const uint16_t *label_of, uint16_t *out) {
  for (uint32_t row = 0; row < eg_relation_rows(r); row++) {
    const uint16_t *labels = eg_relation_row(r, row);
    bool fits = true;
    for (size_t i = 0; fits && i < r->vars.len; i++)
      fits = labels[i] == label_of[r->vars.data[i]];
    if (!fits) continue;
    *out = r->choice.data[row];
    return true;
  }
  return false;
}

// ---- networks -----------------------------------------------------------------------

EG_OWNER_DEFINE_STATIC(eg_label_costs, (eg_u32s, begin), (eg_doubles, cost))

#define OWNED                                                                            \
  (eg_label_costs, costs), (eg_u32s, first, entry, next), (eg_doubles, least),           \
      (eg_relations, relations), (eg_bytes, used), (eg_labels, fixed),                   \
      (eg_relation_maker, maker)

void eg_cost_network_init(eg_cost_network *n, egraph_allocator alloc) {
  EG_INIT_MEMBERS(n, alloc, OWNED)
  n->is_empty = false;
}

void eg_cost_network_deinit(eg_cost_network *n) {
  for (size_t i = 0; i < n->relations.len; i++)
    eg_relation_deinit(&n->relations.data[i]);
  EG_DEINIT_MEMBERS(n, OWNED)
}

// ---- building -----------------------------------------------------------------------

egraph_status eg_cost_network_add_var(eg_cost_network *n, uint32_t labels, double cost,
                                      uint32_t *out) {
  if (n->costs.begin.len == 0) EG_TRY(eg_u32s_push(&n->costs.begin, 0));
  uint32_t begin = n->costs.begin.data[n->costs.begin.len - 1];
  EG_TRY(eg_doubles_resize(&n->costs.cost, (size_t)begin + labels));
  for (uint32_t l = 0; l < labels; l++)
    n->costs.cost.data[begin + l] = cost;
  EG_TRY(eg_u32s_push(&n->first, NONE));
  EG_TRY(eg_labels_push(&n->fixed, EG_NETWORK_FREE));
  *out = eg_cost_network_vars(n);
  return eg_u32s_push(&n->costs.begin, begin + labels);
}

/// Enters relation number `number` in the lists of its variables.
static egraph_status enter_relation(eg_cost_network *n, uint32_t number) {
  const eg_u32s *vars = &n->relations.data[number].vars;
  for (size_t i = 0; i < vars->len; i++) {
    EG_TRY(eg_u32s_push(&n->next, n->first.data[vars->data[i]]));
    n->first.data[vars->data[i]] = (uint32_t)n->entry.len;
    EG_TRY(eg_u32s_push(&n->entry, number));
  }
  return EGRAPH_OK;
}

egraph_status eg_cost_network_add(eg_cost_network *n, eg_relation *relation) {
  egraph_status status = eg_bytes_push(&n->used, 0);
  if (status == EGRAPH_OK) status = eg_relations_push(&n->relations, *relation);
  if (status != EGRAPH_OK) eg_relation_deinit(relation);
  EG_TRY(status);
  eg_relation_init(relation, relation->cost.alloc); // moved
  uint32_t number = (uint32_t)n->relations.len - 1;
  eg_relation_lower(&n->costs, &n->relations.data[number]);
  return enter_relation(n, number);
}

egraph_status eg_cost_network_begin(eg_cost_network *n, const uint32_t *vars,
                                    uint32_t count) {
  eg_relation relation;
  eg_relation_init(&relation, n->entry.alloc);
  EG_TRY(eg_relations_push(&n->relations, relation));
  EG_TRY(eg_bytes_push(&n->used, 0));
  return eg_relation_begin(&n->maker, &n->relations.data[n->relations.len - 1], vars,
                           count, false);
}

egraph_status eg_cost_network_finish(eg_cost_network *n) {
  assert(n->relations.len != 0);
  uint32_t number = (uint32_t)n->relations.len - 1;
  EG_TRY(eg_relation_finish(&n->maker));
  eg_relation_lower(&n->costs, &n->relations.data[number]);
  return enter_relation(n, number);
}

// ---- moving costs -------------------------------------------------------------------

/// Moves the least cost of the rows with a label to the label.
static egraph_status collect_least(eg_cost_network *n, eg_relation *r, size_t column) {
  assert(column < r->vars.len);
  size_t width = r->vars.len, rows = eg_relation_rows(r);
  uint32_t var = r->vars.data[column];
  uint32_t labels = n->costs.begin.data[var + 1] - n->costs.begin.data[var];
  double *own = eg_cost_network_costs(n, var), *cost = r->cost.data;
  EG_TRY(eg_doubles_resize(&n->least, labels));
  double *least = n->least.data;
  for (uint32_t l = 0; l < labels; l++)
    least[l] = INFINITY;
  n->maker.steps += (uint64_t)rows + labels;
  const uint16_t *label = r->labels.data + column;
  for (size_t row = 0; row < rows; row++, label += width)
    if (cost[row] < least[*label]) least[*label] = cost[row];
  label = r->labels.data + column;
  for (size_t row = 0; row < rows; row++, label += width)
    if (cost[row] < INFINITY) cost[row] -= least[*label];
  for (uint32_t l = 0; l < labels; l++)
    own[l] += least[l];
  return EGRAPH_OK;
}

/// Moves the least cost of a variable's labels to the base, which every solution pays.
static void sink_least(eg_cost_network *n, uint32_t var) {
  double *cost = eg_cost_network_costs(n, var), all = INFINITY;
  uint32_t labels = n->costs.begin.data[var + 1] - n->costs.begin.data[var];
  for (uint32_t l = 0; l < labels; l++)
    all = fmin(all, cost[l]);
  if (!(all < INFINITY)) return;
  for (uint32_t l = 0; l < labels; l++)
    cost[l] -= all;
  n->maker.base += all;
}

/// Moves the cost of a relation without variables to the base, which every solution pays.
static void move_to_base(eg_cost_network *n, uint32_t number) {
  assert(n->relations.data[number].vars.len == 0);
  eg_relation *r = &n->relations.data[number];
  n->used.data[number] = 1;
  if (eg_relation_rows(r) == 0) return;
  n->maker.base += r->cost.data[0];
  r->cost.data[0] = 0;
}

egraph_status eg_cost_network_settle(eg_cost_network *n, uint32_t number) {
  assert(number < n->relations.len);
  eg_relation *relation = &n->relations.data[number];
  if (relation->vars.len == 0 && eg_relation_rows(relation) != 0) move_to_base(n, number);
  for (size_t i = 0; i < relation->vars.len; i++) {
    EG_TRY(collect_least(n, relation, i));
    sink_least(n, relation->vars.data[i]);
  }
  return EGRAPH_OK;
}

/// True when a relation has a variable that comes later in a pass, `forward` or back.
static bool goes_on(const eg_relation *r, uint32_t var, bool forward) {
  for (size_t i = 0; i < r->vars.len; i++)
    if (forward ? r->vars.data[i] > var : r->vars.data[i] < var) return true;
  return false;
}

/// Moves a part of the costs of labels to the rows that have these labels.
static void hand_out_costs(eg_cost_network *n, eg_relation *r, uint32_t var,
                           double part) {
  const double *cost = eg_cost_network_costs(n, var);
  const uint16_t *label = r->labels.data + column_of(r, var);
  for (size_t row = 0; row < eg_relation_rows(r); row++, label += r->vars.len)
    r->cost.data[row] += part * cost[*label];
}

/// Moves the costs of a variable's labels to the relations that come later in a pass
/// (`forward` or back); in the last pass they stay.
static egraph_status diffuse_variable(eg_cost_network *n, uint32_t var, bool forward,
                                      bool is_last) {
  uint32_t later = 0;
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    eg_relation *r = &n->relations.data[n->entry.data[i]];
    if (n->used.data[n->entry.data[i]]) continue;
    EG_TRY(collect_least(n, r, column_of(r, var)));
    later += goes_on(r, var, forward);
  }
  sink_least(n, var);
  if (later == 0 || is_last) return EGRAPH_OK;
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    eg_relation *r = &n->relations.data[n->entry.data[i]];
    if (!n->used.data[n->entry.data[i]] && goes_on(r, var, forward))
      hand_out_costs(n, r, var, 1.0 / later);
  }
  double *cost = eg_cost_network_costs(n, var);
  for (uint32_t l = n->costs.begin.data[var]; l < n->costs.begin.data[var + 1];
       l++, cost++)
    if (*cost < INFINITY) *cost = 0;
  return EGRAPH_OK;
}

// ---- variables of one label ---------------------------------------------------------

/// Returns the only label of a variable that costs at most the maker's room, or
/// EG_NETWORK_FREE when there is not exactly one.
static uint16_t only_label(const eg_cost_network *n, uint32_t var) {
  const double *cost = eg_cost_network_costs(n, var);
  uint32_t labels = n->costs.begin.data[var + 1] - n->costs.begin.data[var];
  uint16_t only = EG_NETWORK_FREE;
  for (uint32_t l = 0; l < labels; l++) {
    if (!(cost[l] + n->maker.base <= n->maker.room)) continue;
    if (only != EG_NETWORK_FREE) return EG_NETWORK_FREE;
    only = (uint16_t)l;
  }
  return only;
}

/// Fixes a variable to a label, because the other labels cost too much.
static void fix_variable(eg_cost_network *n, uint32_t var, uint16_t label) {
  assert(n->fixed.data[var] == EG_NETWORK_FREE);
  double *cost = eg_cost_network_costs(n, var);
  n->fixed.data[var] = label;
  for (uint32_t l = 0; l < n->costs.begin.data[var + 1] - n->costs.begin.data[var]; l++) {
    if (l == label || !(cost[l] < INFINITY)) continue;
    eg_relation_lose(&n->maker, cost[l]);
    cost[l] = INFINITY;
  }
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    uint32_t number = n->entry.data[i];
    eg_relation *r = &n->relations.data[number];
    if (n->used.data[number]) continue;
    eg_relation_fix(&n->maker, r, var, label);
    if (eg_relation_rows(r) == 0) n->is_empty = true;
    if (r->vars.len == 0) move_to_base(n, number);
  }
  n->first.data[var] = NONE;
}

static void fix_variables(eg_cost_network *n) {
  for (uint32_t v = 0; v < eg_cost_network_vars(n); v++) {
    if (n->first.data[v] == NONE) continue;
    uint16_t label = only_label(n, v);
    if (label != EG_NETWORK_FREE) fix_variable(n, v, label);
  }
}

egraph_status eg_cost_network_diffuse(eg_cost_network *n, uint32_t passes) {
  uint32_t vars = eg_cost_network_vars(n);
  for (uint32_t pass = 0; pass < passes; pass++)
    for (uint32_t i = 0; i < vars; i++) {
      bool forward = pass % 2 == 0;
      EG_TRY(
          diffuse_variable(n, forward ? i : vars - 1 - i, forward, pass + 1 == passes));
    }
  for (size_t r = 0; r < n->relations.len; r++) {
    if (n->used.data[r]) continue;
    eg_relation_raise(&n->maker, &n->costs, &n->relations.data[r]);
    eg_relation_lower(&n->costs, &n->relations.data[r]);
  }
  fix_variables(n);
  return EGRAPH_OK;
}
