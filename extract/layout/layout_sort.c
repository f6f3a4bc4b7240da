// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_sort.h"

#include <math.h>
#include <stdlib.h>

typedef struct costed {
  uint64_t key; // orders as the cost, which is >= 0
  uint32_t row;
} costed;
EG_VEC_DEFINE(costeds, costed);

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64, FEW_ROWS = 512 };

static int by_key(const void *a, const void *b) {
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

/// By cost, equal ones as they stood. `spare` has room for as many.
static void sort_costed(costeds *order, costeds *spare) {
  if (order->len <= FEW_ROWS) {
    if (order->len != 0) qsort(order->data, order->len, sizeof *order->data, by_key);
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

/// Swaps in the rows of `order`.
static egraph_status take_rows(eg_relation *r, const costeds *order, size_t count) {
  size_t width = r->vars.len;
  eg_relation old = *r;
  eg_relation_init(r, old.cost.alloc);
  r->vars = old.vars;
  eg_u32s_init(&old.vars, old.cost.alloc);
  egraph_status status = eg_labels_reserve(&r->labels, count * width);
  if (status == EGRAPH_OK) status = eg_doubles_reserve(&r->cost, count);
  if (status == EGRAPH_OK && old.choice.len != 0)
    status = eg_labels_reserve(&r->choice, count);
  for (size_t i = 0; status == EGRAPH_OK && i < count; i++) {
    uint32_t from = order->data[i].row;
    if (width != 0)
      memcpy(r->labels.data + i * width, old.labels.data + from * width,
             width * sizeof(uint16_t));
    if (old.choice.len != 0) r->choice.data[i] = old.choice.data[from];
    r->cost.data[i] = old.cost.data[from];
  }
  if (status == EGRAPH_OK) {
    r->labels.len = count * width;
    r->cost.len = count;
    r->choice.len = old.choice.len != 0 ? count : 0;
  }
  eg_relation_deinit(&old);
  return status;
}

egraph_status eg_relation_sort(eg_relation *r, size_t keep) {
  costeds order, spare;
  costeds_init(&order, r->cost.alloc);
  costeds_init(&spare, r->cost.alloc);
  egraph_status status = list_rows(r, &order, &spare);
  if (status == EGRAPH_OK)
    status = take_rows(r, &order, keep < order.len ? keep : order.len);
  costeds_deinit(&order);
  costeds_deinit(&spare);
  return status;
}
