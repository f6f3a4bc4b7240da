// G(k, r) is the best that r layers can do of the operators before k:
//
//   G(k, r) = min over i of  G(i, r - 1) joined with layer [i, k)
//
// Layers are gone through by their first operator, so that what one receives is added up
// as it grows.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/layers.h"

#include <math.h>

/// What is minimized, in this order.
typedef struct merit {
  double most, sum; // bytes that the layer receives that receives most, and all layers
  double squares;   // of the work of layers
} merit;
EG_VEC_DEFINE(merits, merit);

static bool is_better(const merit *a, const merit *b) {
  if (a->most != b->most) return a->most < b->most;
  if (a->sum != b->sum) return a->sum < b->sum;
  return a->squares < b->squares;
}

typedef struct clusterer {
  const eg_layer_problem *of;
  uint32_t layers;
  double limit;    // of the work of a layer
  merits best;     // [operators + 1][layers + 1]
  eg_u32s from;    // likewise: where the last layer begins
  eg_u32s counted; // [values] first operator + 1 of the last layer that counted it
} clusterer;

static size_t state_of(const clusterer *c, uint32_t before, uint32_t layers) {
  return (size_t)before * (c->layers + 1) + layers;
}

static double received(clusterer *c, uint32_t first, uint32_t op) {
  double bytes = 0;
  for (uint32_t r = c->of->reads_begin[op]; r < c->of->reads_begin[op + 1]; r++) {
    const eg_layer_read *read = &c->of->reads[r];
    uint32_t *counted = &c->counted.data[read->value];
    if (read->maker >= first || *counted == first + 1) continue;
    *counted = first + 1;
    bytes += read->bytes;
  }
  return bytes;
}

/// All layers that begin with an operator.
static void grow(clusterer *c, uint32_t first) {
  double bytes = 0, work = 0;
  for (uint32_t last = first; last < c->of->operators; last++) {
    bytes += received(c, first, last);
    work += c->of->work[last];
    if (work > c->limit && last != first) return;
    for (uint32_t r = 1; r <= c->layers; r++) {
      const merit *before = &c->best.data[state_of(c, first, r - 1)];
      if (isinf(before->most)) continue;
      merit now = {fmax(before->most, bytes), before->sum + bytes,
                   before->squares + work * work};
      size_t state = state_of(c, last + 1, r);
      if (!is_better(&now, &c->best.data[state])) continue;
      c->best.data[state] = now;
      c->from.data[state] = first;
    }
  }
}

/// Appends nothing where no choice of so many layers keeps the limit of work.
static egraph_status cluster(clusterer *c, eg_u32s *out) {
  uint32_t operators = c->of->operators;
  EG_TRY(merits_resize(&c->best, state_of(c, operators + 1, 0)));
  EG_TRY(eg_u32s_resize(&c->from, c->best.len));
  EG_TRY(eg_u32s_resize(&c->counted, c->of->values));
  for (size_t i = 0; i < c->best.len; i++)
    c->best.data[i] = (merit){INFINITY, INFINITY, INFINITY};
  c->best.data[state_of(c, 0, 0)] = (merit){0, 0, 0};
  for (uint32_t first = 0; first < operators; first++)
    grow(c, first);
  uint32_t layers = c->layers;
  if (isinf(c->best.data[state_of(c, operators, layers)].most)) return EGRAPH_OK;
  size_t begin = out->len;
  EG_TRY(eg_u32s_resize(out, begin + layers));
  for (uint32_t before = operators; layers > 0; layers--) {
    before = c->from.data[state_of(c, before, layers)];
    out->data[begin + layers - 1] = before;
  }
  return EGRAPH_OK;
}

egraph_status eg_layers_cluster(const eg_layer_problem *problem, egraph_allocator alloc,
                                eg_u32s *out_first) {
  double work = 0;
  for (uint32_t i = 0; i < problem->operators; i++)
    work += problem->work[i];
  uint32_t most = problem->operators;
  size_t begin = out_first->len;
  egraph_status status = EGRAPH_OK;
  uint32_t layers = problem->layers < most ? problem->layers : most;
  double limit = (1 + problem->slack) * work / problem->layers;
  // So many layers may leave one of them too much work: then all may have more.
  while (status == EGRAPH_OK && layers != 0 && out_first->len == begin) {
    clusterer c = {.of = problem, .layers = layers, .limit = limit};
    merits_init(&c.best, alloc);
    eg_u32s_init(&c.from, alloc);
    eg_u32s_init(&c.counted, alloc);
    status = cluster(&c, out_first);
    eg_u32s_deinit(&c.counted);
    eg_u32s_deinit(&c.from);
    merits_deinit(&c.best);
    limit = limit > 0 ? 2 * limit : INFINITY;
  }
  return status;
}
