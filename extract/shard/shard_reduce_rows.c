// Memory: the least usage of every item is taken off the capacities; a value that finds
// no room in what is then left goes; a row goes when it cannot be violated, or when a
// neighbouring row that stays implies it. Removing a row keeps ranges ranges.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "extract/shard/shard_edit.h"
#include "extract/shard/shard_proof.h"
#include "extract/shard/shard_reduce.h"
#include "extract/shard/shard_slack.h"

// Takes the least usage off; false when nothing else is left of the item.
static bool shift_item(eg_shard_model *model, const eg_shard_item *item, uint32_t count,
                       int64_t *delta) {
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

// Collects the items of a node in `order`, sorted by range; without empty ranges.
static egraph_status sort_items(const eg_shard_model *model, uint32_t n,
                                eg_shard_items *order) {
  order->len = 0;
  for (uint32_t i = model->nodes.data[n].item; i != EG_SHARD_NONE;
       i = model->items.data[i].next) {
    eg_shard_item item = model->items.data[i];
    item.next = i;
    if (item.first < item.last) EG_TRY(eg_shard_items_push(order, item));
  }
  return EGRAPH_OK;
}

static int compare_items(const void *left, const void *right) {
  const eg_shard_item *a = left, *b = right;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  if (a->last != b->last) return a->last < b->last ? -1 : 1;
  return a->next < b->next ? -1 : a->next > b->next;
}

// Adds up items with equal ranges, shifts them, drops those without a difference.
static egraph_status join_items(eg_shard_model *model, uint32_t n, eg_shard_items *order,
                                int64_t *delta) {
  eg_shard_node *node = &model->nodes.data[n];
  EG_TRY(sort_items(model, n, order));
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
  eg_shard_items order;
  eg_shard_items_init(&order, model->alloc);
  model->spare.len = 0;
  egraph_status status = eg_i64s_resize(&model->spare, rows + 1);
  for (uint32_t n = 0; n < model->nodes.len && status == EGRAPH_OK; n++)
    status = join_items(model, n, &order, model->spare.data);
  eg_shard_items_deinit(&order);
  int64_t sum = 0;
  for (size_t r = 0; r < rows && status == EGRAPH_OK; r++) {
    sum += model->spare.data[r];
    model->capacity.data[r] -= sum;
    if (model->capacity.data[r] < 0) model->closed = true;
  }
  return status;
}

static egraph_status drop_values(eg_shard_model *model, uint32_t n, eg_shard_slack *slack,
                                 bool *changed) {
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
  eg_shard_slack slack;
  eg_shard_slack_init(&slack, model->alloc);
  egraph_status status = eg_shard_slack_start(&slack, model);
  for (uint32_t n = 0; n < model->nodes.len && status == EGRAPH_OK && !model->closed; n++)
    status = drop_values(model, n, &slack, changed);
  eg_shard_slack_deinit(&slack);
  return status;
}

// An item that ends (or starts) between row `at` - 1 and row `at`.
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

// Most that the load can fall, and can rise, across the border that list[begin] starts;
// returns its end.
static egraph_status step_of(eg_shard_model *model, const borders *list, size_t *inout,
                             int64_t *fall, int64_t *rise) {
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

// Flags in keep[row]; a row that is implied by one that goes for its sake would be a
// circle, so that the earlier of two equal rows goes.
static egraph_status mark_implied(eg_shard_model *model, const borders *list,
                                  uint8_t *keep) {
  size_t rows = model->capacity.len, next = 0;
  while (next < list->len && list->data[next].at == 0) {
    int64_t fall, rise;
    EG_TRY(step_of(model, list, &next, &fall, &rise));
  }
  for (size_t r = 1; r < rows; r++) {
    int64_t fall = 0, rise = 0;
    if (next < list->len && list->data[next].at == r)
      EG_TRY(step_of(model, list, &next, &fall, &rise));
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
    for (uint32_t i = model->nodes.data[n].item; i != EG_SHARD_NONE;
         i = model->items.data[i].next) {
      const eg_shard_item *item = &model->items.data[i];
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

// The price of a row goes to the next one that stays: any prices are valid.
static egraph_status drop_rows(eg_shard_model *model, const uint8_t *keep,
                               bool *changed) {
  size_t rows = model->capacity.len;
  eg_u32s place;
  eg_u32s_init(&place, model->alloc);
  egraph_status status = eg_u32s_resize(&place, rows + 1);
  if (status != EGRAPH_OK) return status;
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
    for (uint32_t i = model->nodes.data[n].item; i != EG_SHARD_NONE;
         i = model->items.data[i].next) {
      eg_shard_item *item = &model->items.data[i];
      item->first = place.data[item->first];
      item->last = place.data[item->last];
    }
  if (left < rows - rows / 16) *changed = true; // the passes after it gain little
  eg_u32s_deinit(&place);
  return EGRAPH_OK;
}

static egraph_status thin_rows(eg_shard_model *model, borders *list, eg_bytes *keep,
                               bool *changed) {
  EG_TRY(eg_bytes_resize(keep, model->capacity.len));
  memset(keep->data, 1, keep->len);
  EG_TRY(find_borders(model, list));
  EG_TRY(mark_implied(model, list, keep->data));
  EG_TRY(mark_slack(model, keep->data));
  return drop_rows(model, keep->data, changed);
}

static egraph_status prove_memory(eg_shard_model *model) {
  return model->proof == NULL ? EGRAPH_OK : eg_shard_proof_memory(model->proof);
}

egraph_status eg_shard_pass_rows(eg_shard_model *model, bool *changed) {
  if (model->capacity.len == 0) return EGRAPH_OK;
  EG_TRY(shift_all(model));
  if (model->closed) return prove_memory(model);
  bool dropped = false;
  EG_TRY(drop_by_memory(model, &dropped));
  if (dropped || model->closed) EG_TRY(prove_memory(model));
  if (dropped) *changed = true;
  if (model->closed) return EGRAPH_OK;
  borders list;
  eg_bytes keep;
  borders_init(&list, model->alloc);
  eg_bytes_init(&keep, model->alloc);
  egraph_status status = thin_rows(model, &list, &keep, changed);
  eg_bytes_deinit(&keep);
  borders_deinit(&list);
  if (status == EGRAPH_OK && model->capacity.len == 0)
    for (uint32_t n = 0; n < model->nodes.len; n++)
      model->nodes.data[n].item = EG_SHARD_NONE;
  return status;
}
