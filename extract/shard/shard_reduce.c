// Exact reductions, a section each, and the rounds that repeat them: cheap passes first,
// while the model shrinks enough. Arc consistency and domination come from constraint
// networks (Cooper et al. 2010); merging of functions does most of the work here.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_model.h"

#include <stdlib.h>

#include "base/clock.h"
#include "extract/shard/shard_proof.h"

// ---- minima -----------------------------------------------------------------------

/// Subtracts from each row of an edge's table, seen from end `half`, its least entry, and
/// adds it to the cost of the row's value. The message changes by the same amount, so
/// that the dual solution does not change.
static void shift_lines(eg_shard_model *model, uint32_t half) {
  eg_shard_view view = eg_shard_view_of(model, half);
  const eg_shard_edge *edge = &model->edges.data[half >> 1];
  int64_t *cost = model->cost.data + model->nodes.data[edge->ends[half & 1]].values;
  double *message = model->message.data + edge->message[half & 1];
  for (uint32_t v = 0; v < view.own_count; v++) {
    int64_t *line = view.data + v * view.own_stride, least = EG_SHARD_INFINITE;
    for (uint32_t w = 0; w < view.other_count; w++)
      if (line[w * view.other_stride] < least) least = line[w * view.other_stride];
    if (least == 0) continue;
    cost[v] = eg_shard_sum(cost[v], least);
    if (least >= EG_SHARD_INFINITE) continue;
    message[v] -= (double)least;
    model->moved.data[edge->message[half & 1] + v] += least;
    for (uint32_t w = 0; w < view.other_count; w++)
      if (line[w * view.other_stride] < EG_SHARD_INFINITE)
        line[w * view.other_stride] -= least;
  }
}

static void shift_node(eg_shard_model *model, uint32_t n) {
  const eg_shard_node *node = &model->nodes.data[n];
  int64_t *cost = model->cost.data + node->values, least = EG_SHARD_INFINITE;
  for (uint32_t v = 0; v < node->count; v++)
    if (cost[v] < least) least = cost[v];
  if (least == 0 || node->count == 0) return;
  model->base = eg_shard_sum(model->base, least);
  if (model->base >= model->cutoff && model->proof == NULL) model->closed = true;
  for (uint32_t v = 0; v < node->count; v++)
    if (cost[v] < EG_SHARD_INFINITE) cost[v] -= least;
}

/// Forbids table entries that alone reach the cutoff.
static egraph_status forbid_entries(eg_shard_model *model) {
  int64_t limit = model->cutoff - model->base;
  for (uint32_t n = 0; n < model->nodes.len; n++) {
    const eg_shard_node *node = &model->nodes.data[n];
    for (uint32_t v = 0; v < node->count; v++) {
      int64_t *cost = &model->cost.data[node->values + v];
      if (*cost < limit) continue;
      *cost = EG_SHARD_INFINITE;
      EG_TRY(eg_shard_touch(model, n));
    }
    EG_SHARD_EACH_HALF(model, n, half) {
      if ((half & 1) != 0) continue;
      eg_shard_view view = eg_shard_view_of(model, half);
      size_t size = (size_t)view.own_count * view.other_count;
      bool found = false;
      for (size_t i = 0; i < size; i++)
        if (view.data[i] >= limit && view.data[i] != EG_SHARD_INFINITE) {
          view.data[i] = EG_SHARD_INFINITE;
          found = true;
        }
      if (!found) continue;
      EG_TRY(eg_shard_touch(model, n));
      EG_TRY(eg_shard_touch(model, eg_shard_other(model, half)));
    }
  }
  return EGRAPH_OK;
}

static egraph_status pass_shift(eg_shard_model *model, bool *changed) {
  (void)changed;
  for (uint32_t e = 0; e < model->edges.len; e++) {
    if (eg_shard_is_dead(&model->edges.data[e])) continue;
    shift_lines(model, 2 * e);
    shift_lines(model, 2 * e + 1);
  }
  for (uint32_t n = 0; n < model->nodes.len; n++)
    shift_node(model, n);
  // With a proof, the filter forbids entries instead, and records them.
  return model->closed || model->proof != NULL ? EGRAPH_OK : forbid_entries(model);
}

// ---- consistency ------------------------------------------------------------------

// Arc consistency by a queue of nodes: a value is dropped when it is forbidden, or has
// only forbidden entries towards some neighbour; the neighbours are checked again.

static bool has_partner(const eg_shard_view *view, uint32_t v) {
  const int64_t *line = view->data + v * view->own_stride;
  for (uint32_t w = 0; w < view->other_count; w++)
    if (line[w * view->other_stride] < EG_SHARD_INFINITE) return true;
  return false;
}

static egraph_status check_values(eg_shard_model *model, uint32_t n, bool *changed) {
  const eg_shard_node *node = &model->nodes.data[n];
  uint32_t count = node->count;
  EG_TRY(eg_bytes_resize(&model->keep, count));
  for (uint32_t v = 0; v < count; v++)
    model->keep.data[v] = model->cost.data[node->values + v] < EG_SHARD_INFINITE;
  EG_SHARD_EACH_HALF(model, n, half) {
    eg_shard_view view = eg_shard_view_of(model, half);
    for (uint32_t v = 0; v < count; v++)
      if (model->keep.data[v] && !has_partner(&view, v)) model->keep.data[v] = 0;
  }
  EG_TRY(eg_shard_keep_values(model, n));
  if (node->count < count) *changed = true;
  return EGRAPH_OK;
}

static egraph_status pass_consistency(eg_shard_model *model, bool *changed) {
  for (size_t next = 0; next < model->queue.len && !model->closed; next++) {
    uint32_t n = model->queue.data[next];
    model->queued.data[n] = 0;
    if (model->nodes.data[n].count != 0) EG_TRY(check_values(model, n, changed));
  }
  for (size_t i = 0; i < model->queue.len; i++)
    model->queued.data[model->queue.data[i]] = 0;
  model->queue.len = 0;
  return EGRAPH_OK;
}

// ---- merging ----------------------------------------------------------------------

// When every line of a table has one finite entry, the neighbour is a function of the
// node (in practice a bijection, as between an operator and its elementwise user).

/// Fills of[value], the value of the other end; false unless the other end is a function
/// of this end.
static bool find_value_map(const eg_shard_model *model, uint32_t half, uint32_t *of) {
  assert(!eg_shard_is_dead(&model->edges.data[half >> 1]));
  eg_shard_view view = eg_shard_view_of(model, half);
  for (uint32_t v = 0; v < view.own_count; v++) {
    const int64_t *line = view.data + v * view.own_stride;
    uint32_t found = 0;
    for (uint32_t w = 0; w < view.other_count && found < 2; w++)
      if (line[w * view.other_stride] < EG_SHARD_INFINITE) {
        of[v] = w;
        found++;
      }
    if (found != 1) return false;
  }
  return true;
}

/// True when the tables grow little enough: tables of a node that absorbs another grow if
/// it has more values; a large table may grow at most fourfold.
static bool is_affordable(const eg_shard_model *model, uint32_t n, uint32_t gone) {
  size_t before = 0, after = 0;
  size_t own = model->nodes.data[n].count, old = model->nodes.data[gone].count;
  if (own <= old) return true;
  EG_SHARD_EACH_HALF(model, gone, half) {
    size_t other = model->nodes.data[eg_shard_other(model, half)].count;
    before += other * old;
    after += other * own;
  }
  return after <= 4 * before || after <= 20000;
}

static egraph_status merge_at(eg_shard_model *model, uint32_t half, bool *merged) {
  assert(!eg_shard_is_dead(&model->edges.data[half >> 1]));
  uint32_t n = model->edges.data[half >> 1].ends[half & 1];
  uint32_t other = eg_shard_other(model, half);
  *merged = false;
  if (!is_affordable(model, n, other)) return EGRAPH_OK;
  EG_LOCAL(eg_u32s, of, model->alloc);
  EG_TRY(eg_u32s_resize(&of, model->nodes.data[n].count));
  if (!find_value_map(model, half, of.data)) return EGRAPH_OK;
  EG_TRY(eg_shard_absorb(model, n, other, half >> 1, of.data));
  *merged = true;
  return model->proof == NULL ? EGRAPH_OK : eg_shard_proof_merge(model->proof, n, other);
}

/// Merges two nodes that are functions of each other: removes the node with fewer edges.
static egraph_status pass_merge(eg_shard_model *model, bool *changed) {
  for (uint32_t e = 0; e < model->edges.len; e++) {
    const uint32_t *ends = model->edges.data[e].ends;
    if (eg_shard_is_dead(&model->edges.data[e])) continue;
    uint32_t side = model->nodes.data[ends[0]].degree < model->nodes.data[ends[1]].degree;
    bool merged;
    EG_TRY(merge_at(model, 2 * e + side, &merged));
    if (!merged) EG_TRY(merge_at(model, 2 * e + (side ^ 1), &merged));
    if (merged) *changed = true;
  }
  return EGRAPH_OK;
}

// ---- memory -----------------------------------------------------------------------

// The least usage of every item (memory of a node) is subtracted from the capacities; a
// value that does not fit into the rest is dropped; a row is dropped when it cannot be
// violated, or when a neighbouring row that stays implies it. Ranges stay ranges when
// rows are dropped.

/// Subtracts the least usage of an item (memory of a node's values) from all its usages;
/// false when it becomes empty.
static bool shift_item(eg_shard_model *model, const eg_shard_item *item, uint32_t count,
                       int64_t *delta) {
  assert(count != 0);
  int64_t *usage = model->usage.data + item->usage, least = usage[0], most = 0;
  for (uint32_t v = 0; v < count; v++) {
    if (usage[v] < least) least = usage[v];
    if (usage[v] > most) most = usage[v];
  }
  delta[item->first] += least;
  delta[item->last] -= least;
  for (uint32_t v = 0; v < count; v++)
    usage[v] -= least;
  return most > least;
}

static int compare_items(const void *left, const void *right) {
  const eg_shard_item *a = left, *b = right;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  if (a->last != b->last) return a->last < b->last ? -1 : 1;
  return a->next < b->next ? -1 : a->next > b->next;
}

/// Sorts the items (memory usages) of a node by range, adds up items with equal
/// ranges, and subtracts their least usage. Drops items that are empty or the same for
/// all values.
static egraph_status join_items(eg_shard_model *model, uint32_t n, eg_shard_items *order,
                                int64_t *delta) {
  eg_shard_node *node = &model->nodes.data[n];
  order->len = 0; // copies of the items, whose field `next` holds their number
  for (uint32_t i = node->item; i != EG_SHARD_NONE; i = model->items.data[i].next) {
    eg_shard_item item = model->items.data[i];
    item.next = i;
    if (item.first < item.last) EG_TRY(eg_shard_items_push(order, item));
  }
  if (order->len > 1) qsort(order->data, order->len, sizeof *order->data, compare_items);
  node->item = EG_SHARD_NONE;
  for (size_t i = 0, next; i < order->len; i = next) {
    eg_shard_item *kept = &model->items.data[order->data[i].next];
    for (next = i + 1; next < order->len && order->data[next].first == kept->first &&
                       order->data[next].last == kept->last;
         next++)
      for (uint32_t v = 0; v < node->count; v++)
        model->usage.data[kept->usage + v] +=
            model->usage.data[order->data[next].usage + v];
    if (!shift_item(model, kept, node->count, delta)) continue;
    kept->next = node->item;
    node->item = order->data[i].next;
  }
  return EGRAPH_OK;
}

static egraph_status shift_all(eg_shard_model *model) {
  size_t rows = model->capacity.len;
  EG_LOCAL(eg_shard_items, order, model->alloc);
  model->spare.len = 0;
  EG_TRY(eg_i64s_resize(&model->spare, rows + 1));
  for (uint32_t n = 0; n < model->nodes.len; n++)
    EG_TRY(join_items(model, n, &order, model->spare.data));
  int64_t sum = 0;
  for (size_t r = 0; r < rows; r++) {
    sum += model->spare.data[r];
    model->capacity.data[r] -= sum;
    if (model->capacity.data[r] < 0) model->closed = true;
  }
  return EGRAPH_OK;
}

static egraph_status drop_values(eg_shard_model *model, uint32_t n, eg_shard_slack *slack,
                                 bool *changed) {
  assert(!model->closed);
  const eg_shard_node *node = &model->nodes.data[n];
  if (node->item == EG_SHARD_NONE) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(&model->keep, node->count));
  uint32_t left = node->count;
  model->work += 100 * (uint64_t)node->count;
  for (uint32_t v = 0; v < node->count; v++) {
    eg_shard_slack_value(slack, model, n, v, -1);
    model->keep.data[v] = eg_shard_slack_fits(slack);
    left -= !model->keep.data[v];
    eg_shard_slack_value(slack, model, n, v, 1);
  }
  if (left == node->count) return EGRAPH_OK;
  *changed = true;
  return eg_shard_keep_values(model, n);
}

static egraph_status drop_by_memory(eg_shard_model *model, bool *changed) {
  EG_LOCAL(eg_shard_slack, slack, model->alloc);
  EG_TRY(eg_shard_slack_start(&slack, model));
  for (uint32_t n = 0; n < model->nodes.len && !model->closed; n++)
    EG_TRY(drop_values(model, n, &slack, changed));
  return EGRAPH_OK;
}

/// An end (or start) of an item (memory of a node) between row `at` - 1 and row `at`.
typedef struct border {
  uint32_t at, node, item;
  bool ends;
} border;
EG_VEC_DEFINE(borders, border);

static int compare_borders(const void *left, const void *right) {
  const border *a = left, *b = right;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  if (a->item != b->item) return a->item < b->item ? -1 : 1;
  return a->ends - b->ends;
}

static egraph_status find_borders(const eg_shard_model *model, borders *list) {
  for (uint32_t n = 0; n < model->nodes.len; n++)
    for (uint32_t i = model->nodes.data[n].item; i != EG_SHARD_NONE;
         i = model->items.data[i].next) {
      EG_TRY(borders_push(list, (border){model->items.data[i].last, n, i, true}));
      EG_TRY(borders_push(list, (border){model->items.data[i].first, n, i, false}));
    }
  if (list->len != 0) qsort(list->data, list->len, sizeof *list->data, compare_borders);
  return EGRAPH_OK;
}

/// Finds the largest possible fall and rise of memory in use across the border that
/// starts at list[*inout]; *inout becomes its end.
static egraph_status measure_border(eg_shard_model *model, const borders *list,
                                    size_t *inout, int64_t *fall, int64_t *rise) {
  assert(*inout < list->len);
  size_t i = *inout;
  uint32_t at = list->data[i].at;
  *fall = *rise = 0;
  while (i < list->len && list->data[i].at == at) {
    uint32_t n = list->data[i].node, count = model->nodes.data[n].count;
    model->spare.len = 0;
    EG_TRY(eg_i64s_resize(&model->spare, count));
    for (; i < list->len && list->data[i].at == at && list->data[i].node == n; i++) {
      const int64_t *usage =
          model->usage.data + model->items.data[list->data[i].item].usage;
      for (uint32_t v = 0; v < count; v++)
        model->spare.data[v] += list->data[i].ends ? usage[v] : -usage[v];
    }
    int64_t most = INT64_MIN, least = INT64_MAX;
    for (uint32_t v = 0; v < count; v++) {
      if (model->spare.data[v] > most) most = model->spare.data[v];
      if (model->spare.data[v] < least) least = model->spare.data[v];
    }
    *fall += most;
    *rise -= least;
  }
  *inout = i;
  return EGRAPH_OK;
}

/// Clears keep[row] of memory rows that another row implies. Two rows must not be dropped
/// because of each other, so of two equal rows the earlier is dropped.
static egraph_status mark_implied(eg_shard_model *model, const borders *list,
                                  uint8_t *keep) {
  size_t rows = model->capacity.len, next = 0;
  while (next < list->len && list->data[next].at == 0) {
    int64_t fall, rise;
    EG_TRY(measure_border(model, list, &next, &fall, &rise));
  }
  for (size_t r = 1; r < rows; r++) {
    int64_t fall = 0, rise = 0;
    if (next < list->len && list->data[next].at == r)
      EG_TRY(measure_border(model, list, &next, &fall, &rise));
    int64_t more = model->capacity.data[r] - model->capacity.data[r - 1];
    if (fall <= -more)
      keep[r - 1] = 0;
    else if (rise <= more && keep[r - 1])
      keep[r] = 0;
  }
  return EGRAPH_OK;
}

static egraph_status mark_slack(eg_shard_model *model, uint8_t *keep) {
  size_t rows = model->capacity.len;
  model->spare.len = 0;
  EG_TRY(eg_i64s_resize(&model->spare, rows + 1));
  for (uint32_t n = 0; n < model->nodes.len; n++)
    EG_SHARD_EACH_ITEM(model, n, item) {
      int64_t most = 0;
      for (uint32_t v = 0; v < model->nodes.data[n].count; v++)
        if (model->usage.data[item->usage + v] > most)
          most = model->usage.data[item->usage + v];
      model->spare.data[item->first] += most;
      model->spare.data[item->last] -= most;
    }
  int64_t sum = 0;
  for (size_t r = 0; r < rows; r++) {
    sum += model->spare.data[r];
    if (sum <= model->capacity.data[r]) keep[r] = 0;
  }
  return EGRAPH_OK;
}

/// Moves a dropped memory row's price to the next row that stays: any prices are valid.
static egraph_status drop_rows(eg_shard_model *model, const uint8_t *keep,
                               bool *changed) {
  assert(model->price.len == model->capacity.len);
  size_t rows = model->capacity.len;
  EG_LOCAL(eg_u32s, place, model->alloc);
  EG_TRY(eg_u32s_resize(&place, rows + 1));
  uint32_t left = 0;
  double carried = 0;
  for (size_t r = 0; r < rows; r++) {
    place.data[r] = left;
    carried += model->price.data[r];
    if (!keep[r]) continue;
    model->capacity.data[left] = model->capacity.data[r];
    model->row_time.data[left] = model->row_time.data[r];
    model->price.data[left++] = carried;
    carried = 0;
  }
  place.data[rows] = left;
  model->capacity.len = model->price.len = model->row_time.len = left;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    EG_SHARD_EACH_ITEM(model, n, item) {
      item->first = place.data[item->first];
      item->last = place.data[item->last];
    }
  if (left < rows - rows / 16) *changed = true; // fewer rows gain little
  return EGRAPH_OK;
}

static egraph_status prove_memory(eg_shard_model *model) {
  return model->proof == NULL ? EGRAPH_OK : eg_shard_proof_memory(model->proof);
}

static egraph_status thin_rows(eg_shard_model *model, bool *changed) {
  EG_LOCAL(borders, list, model->alloc);
  EG_LOCAL(eg_bytes, keep, model->alloc);
  EG_TRY(eg_bytes_resize(&keep, model->capacity.len));
  memset(keep.data, 1, keep.len);
  EG_TRY(find_borders(model, &list));
  EG_TRY(mark_implied(model, &list, keep.data));
  EG_TRY(mark_slack(model, keep.data));
  return drop_rows(model, keep.data, changed);
}

static egraph_status pass_rows(eg_shard_model *model, bool *changed) {
  if (model->capacity.len == 0) return EGRAPH_OK;
  EG_TRY(shift_all(model));
  if (model->closed) return prove_memory(model);
  bool dropped = false;
  EG_TRY(drop_by_memory(model, &dropped));
  if (dropped || model->closed) EG_TRY(prove_memory(model));
  if (dropped) *changed = true;
  if (model->closed) return EGRAPH_OK;
  EG_TRY(thin_rows(model, changed));
  if (model->capacity.len == 0)
    for (uint32_t n = 0; n < model->nodes.len; n++)
      model->nodes.data[n].item = EG_SHARD_NONE;
  return EGRAPH_OK;
}

// ---- dominated values -------------------------------------------------------------

// Value v is dropped when value w of the same node is never worse, whatever the
// neighbours choose:
//   cost[w] + sum over edges of max over finite (v, x) of (table[w][x] - table[v][x])
//   <= cost[v],  and w uses at most as much in every item.
// Only remaining values count, so that one of two equal values stays.

/// Returns the most that w can cost more than v on this edge, up to EG_SHARD_INFINITE.
static int64_t worst_excess(const eg_shard_view *view, uint32_t v, uint32_t w) {
  const int64_t *of_v = view->data + v * view->own_stride;
  const int64_t *of_w = view->data + w * view->own_stride;
  int64_t most = -EG_SHARD_INFINITE;
  for (uint32_t x = 0; x < view->other_count; x++) {
    int64_t old = of_v[x * view->other_stride], new = of_w[x * view->other_stride];
    if (old >= EG_SHARD_INFINITE) continue;
    if (new >= EG_SHARD_INFINITE) return EG_SHARD_INFINITE;
    if (new - old > most) most = new - old;
  }
  return most;
}

static bool uses_less(const eg_shard_model *model, uint32_t n, uint32_t v, uint32_t w) {
  EG_SHARD_EACH_ITEM(model, n, item) {
    const int64_t *usage = model->usage.data + item->usage;
    if (usage[w] > usage[v]) return false;
  }
  return true;
}

static bool beats(eg_shard_model *model, uint32_t n, uint32_t v, uint32_t w) {
  assert(v != w);
  const eg_shard_node *node = &model->nodes.data[n];
  const int64_t *cost = model->cost.data + node->values;
  if (cost[w] >= EG_SHARD_INFINITE || !uses_less(model, n, v, w)) return false;
  int64_t slack = cost[v] - cost[w];
  // The sum stays small: the excess of one edge is at most the gain on the others.
  int64_t extra = 0;
  EG_SHARD_EACH_HALF(model, n, half) {
    eg_shard_view view = eg_shard_view_of(model, half);
    model->work += view.other_count;
    int64_t most = worst_excess(&view, v, w);
    if (most >= EG_SHARD_INFINITE) return false;
    if (most > 0 && extra > INT64_MAX - most) return false;
    if (extra < -EG_SHARD_INFINITE) extra = -EG_SHARD_INFINITE; // v is nearly forbidden
    extra += most;
  }
  return extra <= slack;
}

static egraph_status drop_dominated(eg_shard_model *model, uint32_t n, bool *changed) {
  uint32_t count = model->nodes.data[n].count;
  if (count < 2) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(&model->keep, count));
  memset(model->keep.data, 1, count);
  uint32_t left = count;
  for (uint32_t v = count; v-- > 0;)
    for (uint32_t w = 0; w < count && model->keep.data[v]; w++)
      if (w != v && model->keep.data[w] && beats(model, n, v, w)) {
        model->keep.data[v] = 0;
        left--;
      }
  if (left == count) return EGRAPH_OK;
  *changed = true;
  return eg_shard_keep_values(model, n);
}

static egraph_status pass_dominated(eg_shard_model *model, bool *changed) {
  for (uint32_t n = 0; n < model->nodes.len && !model->closed; n++)
    EG_TRY(drop_dominated(model, n, changed));
  return EGRAPH_OK;
}

// ---- nodes of low degree ----------------------------------------------------------

// Eliminates nodes that take no memory and have at most two neighbours: the cost of the
// node's best reply becomes a table between the neighbours.

typedef struct replies {
  uint32_t other[2];
  uint32_t half[2];  // half-edges of the eliminated node
  uint32_t count[2]; // 1 without a neighbour
} replies;

static int64_t find_reply(const eg_shard_model *model, uint32_t n, const replies *r,
                          const uint32_t *at, uint32_t *out) {
  assert(model->nodes.data[n].count != 0);
  const eg_shard_node *node = &model->nodes.data[n];
  int64_t best = EG_SHARD_INFINITE;
  *out = 0;
  for (uint32_t v = 0; v < node->count; v++) {
    int64_t cost = model->cost.data[node->values + v];
    for (int side = 0; side < 2; side++) {
      if (r->other[side] == EG_SHARD_NONE) continue;
      eg_shard_view view = eg_shard_view_of(model, r->half[side]);
      cost = eg_shard_sum(cost,
                          view.data[v * view.own_stride + at[side] * view.other_stride]);
    }
    if (cost < best) {
      best = cost;
      *out = v;
    }
  }
  return best;
}

/// Records how to choose the eliminated node's value later, and fills `spare` with the
/// costs of the new table.
static egraph_status tabulate_replies(eg_shard_model *model, uint32_t n,
                                      const replies *r) {
  const eg_shard_node *node = &model->nodes.data[n];
  const uint32_t *id[2] = {NULL, NULL};
  uint32_t ids[2] = {1, 1};
  for (int side = 0; side < 2; side++) {
    if (r->other[side] == EG_SHARD_NONE) continue;
    id[side] = model->id.data + model->nodes.data[r->other[side]].values;
    ids[side] = model->ids.data[r->other[side]];
  }
  eg_shard_step step = {n, {r->other[0], r->other[1]}, ids[1], model->step_values.len};
  EG_TRY(eg_u32s_resize(&model->step_values, step.values + (size_t)ids[0] * ids[1]));
  EG_TRY(eg_shard_steps_push(&model->steps, step));
  model->spare.len = 0;
  EG_TRY(eg_i64s_resize(&model->spare, (size_t)r->count[0] * r->count[1]));
  uint32_t at[2];
  for (at[0] = 0; at[0] < r->count[0]; at[0]++)
    for (at[1] = 0; at[1] < r->count[1]; at[1]++) {
      uint32_t value;
      model->spare.data[at[0] * r->count[1] + at[1]] =
          find_reply(model, n, r, at, &value);
      size_t place =
          (size_t)(id[0] ? id[0][at[0]] : 0) * ids[1] + (id[1] ? id[1][at[1]] : 0);
      model->step_values.data[step.values + place] = model->id.data[node->values + value];
    }
  return EGRAPH_OK;
}

static egraph_status add_replies(eg_shard_model *model, const replies *r) {
  if (r->other[0] == EG_SHARD_NONE) {
    model->base = eg_shard_sum(model->base, model->spare.data[0]);
    if (model->base >= model->cutoff) model->closed = true;
    return EGRAPH_OK;
  }
  if (r->other[1] == EG_SHARD_NONE) {
    int64_t *cost = model->cost.data + model->nodes.data[r->other[0]].values;
    for (uint32_t v = 0; v < r->count[0]; v++)
      cost[v] = eg_shard_sum(cost[v], model->spare.data[v]);
    return EGRAPH_OK;
  }
  uint32_t edge;
  EG_TRY(eg_shard_add_edge(model, r->other[0], r->other[1], &edge));
  memcpy(model->table.data + model->edges.data[edge].table, model->spare.data,
         model->spare.len * sizeof *model->spare.data);
  return eg_shard_join_parallel(model, r->other[0]);
}

static egraph_status eliminate_node(eg_shard_model *model, uint32_t n) {
  assert(model->nodes.data[n].degree <= 2 && model->nodes.data[n].item == EG_SHARD_NONE);
  replies r = {{EG_SHARD_NONE, EG_SHARD_NONE}, {0, 0}, {1, 1}};
  int sides = 0;
  EG_SHARD_EACH_HALF(model, n, half) {
    r.other[sides] = eg_shard_other(model, half);
    r.half[sides] = half;
    r.count[sides] = model->nodes.data[r.other[sides]].count;
    sides++;
  }
  EG_TRY(tabulate_replies(model, n, &r));
  for (int side = 0; side < sides; side++)
    eg_shard_kill_edge(model, r.half[side] >> 1);
  EG_TRY(add_replies(model, &r));
  eg_shard_node *node = &model->nodes.data[n];
  node->count = 0;
  node->half = EG_SHARD_NONE;
  for (int side = 0; side < sides; side++)
    EG_TRY(eg_shard_touch(model, r.other[side]));
  return EGRAPH_OK;
}

/// True when eliminating a node is cheap: false when, with two neighbours, the new table
/// is large and larger than the old tables.
static bool is_cheap_to_eliminate(const eg_shard_model *model, uint32_t n) {
  const eg_shard_node *node = &model->nodes.data[n];
  if (node->count == 0 || node->item != EG_SHARD_NONE || node->degree > 2) return false;
  if (node->degree < 2) return true;
  size_t sum = 0, product = 1;
  EG_SHARD_EACH_HALF(model, n, half) {
    size_t count = model->nodes.data[eg_shard_other(model, half)].count;
    sum += count;
    product *= count;
  }
  return product <= 2 * sum * node->count + 256;
}

static egraph_status pass_degree(eg_shard_model *model, bool *changed) {
  for (uint32_t n = 0; n < model->nodes.len && !model->closed; n++) {
    if (!is_cheap_to_eliminate(model, n)) continue;
    EG_TRY(eliminate_node(model, n));
    *changed = true;
  }
  return EGRAPH_OK;
}

// ---- rounds -----------------------------------------------------------------------

// In a larger model, a round that removes less than 0.2 % of the values is the last.
#define MANY 5000

typedef egraph_status (*pass_function)(eg_shard_model *model, bool *changed);

static const pass_function passes[] = {
    [EG_SHARD_PASS_SHIFT] = pass_shift,
    [EG_SHARD_PASS_CONSISTENCY] = pass_consistency,
    [EG_SHARD_PASS_MERGE] = pass_merge,
    [EG_SHARD_PASS_ROWS] = pass_rows,
    [EG_SHARD_PASS_DOMINATED] = pass_dominated,
    [EG_SHARD_PASS_DEGREE] = pass_degree,
};

static bool is_late(const eg_shard_model *model) {
  return model->deadline != 0 && eg_clock_seconds() > model->deadline;
}

static size_t count_values(const eg_shard_model *model) {
  size_t count = 0;
  for (uint32_t n = 0; n < model->nodes.len; n++)
    count += model->nodes.data[n].count;
  return count;
}

egraph_status eg_shard_reduce(eg_shard_model *model, uint32_t disabled) {
  if (model->base >= model->cutoff && model->proof == NULL) model->closed = true;
  for (bool changed = true; changed && !model->closed && !is_late(model);) {
    size_t before = count_values(model);
    model->work += model->table.len;
    changed = false;
    for (uint32_t pass = 0; pass < EG_SHARD_PASS_FILTER && !model->closed; pass++)
      if (((disabled >> pass) & 1) == 0 && !is_late(model))
        EG_TRY(passes[pass](model, &changed));
    if (before > MANY && before - count_values(model) < before / 500) break;
  }
  return EGRAPH_OK;
}
