// The order of elimination: least table first. Neighbourhoods are bit rows over the
// variables; eliminating one joins its neighbours.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/shard/shard_edit.h"

#include "base/owner.h"
#include "extract/shard/shard_eliminate.h"

typedef struct ordering {
  eg_shard_elimination *x;
  const uint32_t *held;
  eg_u32s node;    // [variable], before ordering
  eg_u32s number;  // [node] of its variable, or EG_SHARD_NONE
  eg_doubles size; // [variable] log2 of its values
  size_t words;
} ordering;
EG_OWNER_DEFINE_STATIC(ordering, (eg_u32s, node, number), (eg_doubles, size))

static uint64_t *row_of(const ordering *o, uint32_t variable) {
  return o->x->graph.data + variable * o->words;
}

static double weigh(const ordering *o, uint32_t variable) {
  const uint64_t *row = row_of(o, variable);
  double weight = o->size.data[variable];
  for (size_t i = 0; i < o->words; i++)
    for (uint64_t word = row[i]; word != 0; word &= word - 1)
      weight += o->size.data[64 * i + eg_bits_lowest(word)];
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
    eg_bits_put(row_of(o, a), b);
    eg_bits_put(row_of(o, b), a);
  }
  EG_TRY(eg_doubles_resize(&o->x->weight, o->node.len));
  for (uint32_t v = 0; v < o->node.len; v++)
    o->x->weight.data[v] = weigh(o, v);
  return EGRAPH_OK;
}

// Takes a variable out; its neighbours become each other's, unless it is held.
static void take_variable(ordering *o, uint32_t variable, bool join) {
  uint64_t *row = row_of(o, variable);
  for (size_t i = 0; i < o->words; i++)
    for (uint64_t word = row[i]; word != 0; word &= word - 1) {
      uint32_t other = (uint32_t)(64 * i) + eg_bits_lowest(word);
      uint64_t *to = row_of(o, other);
      if (join) {
        for (size_t k = 0; k < o->words; k++)
          to[k] |= row[k];
        eg_bits_clear(to, other);
      }
      eg_bits_clear(to, variable);
    }
  for (size_t i = 0; i < o->words; i++)
    for (uint64_t word = row[i]; word != 0; word &= word - 1) {
      uint32_t other = (uint32_t)(64 * i) + eg_bits_lowest(word);
      o->x->weight.data[other] = weigh(o, other);
    }
  o->x->weight.data[variable] = INFINITY;
}

// The neighbour of `variable` with the most values and neighbours, to be held.
static uint32_t widest_near(const ordering *o, uint32_t variable) {
  const uint64_t *row = row_of(o, variable);
  uint32_t best = variable;
  for (size_t i = 0; i < o->words; i++)
    for (uint64_t word = row[i]; word != 0; word &= word - 1) {
      uint32_t other = (uint32_t)(64 * i) + eg_bits_lowest(word);
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
  EG_TRY(eg_u32s_resize(&x->place, model->nodes.len));
  for (uint32_t n = 0; n < model->nodes.len; n++)
    x->place.data[n] = EG_SHARD_NONE;
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
  x->model = model;
  x->cap = cap;
  x->total_cap = total_cap;
  ordering o;
  ordering_init(&o, x->alloc);
  o.x = x;
  o.held = held;
  egraph_status status = find_variables(&o, allowed);
  x->too_large = o.node.len > EG_SHARD_MOST_VARIABLES;
  x->order.len = 0;
  if (status == EGRAPH_OK && !x->too_large) status = find_neighbours(&o);
  if (status == EGRAPH_OK && !x->too_large) status = choose_order(&o);
  if (status == EGRAPH_OK) status = list_values(x, allowed);
  ordering_deinit(&o);
  return status;
}
