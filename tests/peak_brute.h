// Every plan of a small plan model, found a second time for the tests: all ways to choose
// a strategy for what is needed, all ways to reach the layouts that are, whatever they
// cost; those that are no solution the certificate sorts out. Of each the plan is made
// and its peak counted.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PEAK_BRUTE_H
#define EG_TESTS_PEAK_BRUTE_H

#include <math.h>
#include <stdlib.h>

#include "optimize/model/plan_emit.h"
#include "pcg/plan/plan_cost.h"
#include "tests/testing.h"

enum { PEAK_VALUES = 64, PEAK_LAYOUTS = 6, PEAK_TREES = 2048, PEAK_PLANS = 1 << 15 };

/// Arcs that lead from one layout of a value to others, each along one way.
typedef struct peak_tree {
  uint32_t arcs[PEAK_LAYOUTS], count;
  uint32_t source, covers, leaves; // layout, masks of layouts
} peak_tree;

typedef struct peak_plan {
  double cost, peak;
} peak_plan;

typedef struct peak_brute {
  const eg_plan_model *model;
  const eg_layout_problem *problem;
  uint32_t tree_begin[PEAK_VALUES + 1];
  peak_tree trees[PEAK_TREES];
  uint32_t value_of[PEAK_VALUES * PEAK_LAYOUTS]; // [places]
  uint32_t needed[PEAK_VALUES];                  // how many need it
  uint32_t needs[PEAK_VALUES]; // masks of layouts that the strategies need
  eg_layout_solution at;
  peak_plan plans[PEAK_PLANS];
  uint32_t count, tried, most;
  bool is_too_large;
} peak_brute;

// ---- trees --------------------------------------------------------------------------

/// Adds what is chosen if its arcs lead away from the source, without a circle.
static inline void peak_add_tree(peak_brute *b, uint32_t v, const uint32_t *into,
                                 uint32_t source) {
  const eg_layout_problem *p = b->problem;
  uint32_t first = p->place_begin.data[v], layouts = eg_layout_layout_count(p, v);
  peak_tree tree = {.source = source, .covers = 1u << source};
  uint32_t inner = 0;
  for (uint32_t l = 0; l < layouts; l++) {
    uint32_t at = l, far = 0;
    if (into[l] == EG_LAYOUT_NONE) continue;
    while (at != source && into[at] != EG_LAYOUT_NONE && far++ <= layouts)
      at = p->arc_from.data[into[at]] - first;
    if (at != source) return;
    tree.covers |= 1u << l;
    inner |= 1u << (p->arc_from.data[into[l]] - first);
    tree.arcs[tree.count++] = into[l];
  }
  tree.leaves = tree.covers & ~inner & ~(1u << source);
  if (b->tree_begin[v + 1] == PEAK_TREES) b->is_too_large = true;
  if (!b->is_too_large) b->trees[b->tree_begin[v + 1]++] = tree;
}

/// Into each layout but the source one of its arcs, or none.
static inline void peak_find_trees(peak_brute *b, uint32_t v, uint32_t *into,
                                   uint32_t source, uint32_t layout) {
  const eg_layout_problem *p = b->problem;
  if (layout == eg_layout_layout_count(p, v)) {
    peak_add_tree(b, v, into, source);
    return;
  }
  into[layout] = EG_LAYOUT_NONE;
  peak_find_trees(b, v, into, source, layout + 1);
  for (uint32_t a = 0; a < eg_layout_arc_count(p) && layout != source; a++) {
    if (p->arc_to.data[a] != p->place_begin.data[v] + layout) continue;
    into[layout] = a;
    peak_find_trees(b, v, into, source, layout + 1);
  }
}

// ---- solutions ----------------------------------------------------------------------

static inline void peak_visit(peak_brute *b) {
  double cost, memory[EG_LAYOUT_MEMORY_ROWS];
  egraph_status status =
      eg_layout_certify(eg_allocator_heap(), b->problem, b->at.strategy.data,
                        b->at.arc_used.data, &cost, memory);
  if (status != EGRAPH_OK) return;
  eg_emitted_plan emitted;
  eg_plan_summary summary;
  assert_ok(eg_plan_emit(b->model, eg_allocator_heap(), &b->at, &emitted));
  assert_ok(eg_plan_summary_make(&emitted.plan, eg_allocator_heap(), &summary));
  b->plans[b->count++] = (peak_plan){cost, summary.peak};
  eg_emitted_plan_deinit(&emitted);
}

/// Layouts of each value that the strategies and the roots need.
static inline void peak_note_needs(peak_brute *b) {
  const eg_layout_problem *p = b->problem;
  memset(b->needs, 0, sizeof b->needs);
  for (uint32_t u = 0; u < eg_layout_value_count(p); u++) {
    uint32_t s = b->at.strategy.data[u];
    if (s == EG_LAYOUT_NONE) continue;
    for (uint32_t n = p->need_begin.data[s]; n < p->need_begin.data[s + 1]; n++) {
      uint32_t place = p->needs.data[n], v = b->value_of[place];
      b->needs[v] |= 1u << (place - p->place_begin.data[v]);
    }
  }
  for (size_t i = 0; i < p->root_value.len; i++) {
    uint32_t v = p->root_value.data[i];
    for (uint32_t k = p->root_begin.data[i]; k < p->root_begin.data[i + 1]; k++)
      b->needs[v] |= 1u << (p->root_places.data[k] - p->place_begin.data[v]);
  }
}

static inline void peak_reach(peak_brute *b, uint32_t v) {
  const eg_layout_problem *p = b->problem;
  if (b->is_too_large) return;
  if (v == eg_layout_value_count(p)) {
    b->is_too_large = ++b->tried > b->most || b->count == PEAK_PLANS;
    if (!b->is_too_large) peak_visit(b);
    return;
  }
  uint32_t s = b->at.strategy.data[v];
  if (s == EG_LAYOUT_NONE) {
    peak_reach(b, v + 1);
    return;
  }
  uint32_t source = p->output.data[s] - p->place_begin.data[v], needs = b->needs[v];
  for (uint32_t t = b->tree_begin[v]; t < b->tree_begin[v + 1]; t++) {
    const peak_tree *tree = &b->trees[t];
    if (tree->source != source || (needs & ~tree->covers) != 0 ||
        (tree->leaves & ~needs) != 0)
      continue;
    for (uint32_t i = 0; i < tree->count; i++)
      b->at.arc_used.data[tree->arcs[i]] = 1;
    peak_reach(b, v + 1);
    for (uint32_t i = 0; i < tree->count; i++)
      b->at.arc_used.data[tree->arcs[i]] = 0;
  }
}

static inline void peak_need(peak_brute *b, uint32_t s, bool needs) {
  const eg_layout_problem *p = b->problem;
  for (uint32_t n = p->need_begin.data[s]; n < p->need_begin.data[s + 1]; n++)
    b->needed[b->value_of[p->needs.data[n]]] += needs ? 1 : UINT32_MAX;
}

static inline void peak_choose(peak_brute *b) {
  const eg_layout_problem *p = b->problem;
  uint32_t v = 0;
  while (v < eg_layout_value_count(p) &&
         (b->needed[v] == 0 || b->at.strategy.data[v] != EG_LAYOUT_NONE))
    v++;
  if (v == eg_layout_value_count(p)) {
    peak_note_needs(b);
    peak_reach(b, 0);
    return;
  }
  for (uint32_t o = 0; o < eg_layout_operator_count(p); o++)
    for (uint32_t s = p->strategy_begin.data[o];
         p->operator_value.data[o] == v && s < p->strategy_begin.data[o + 1]; s++) {
      if (b->is_too_large) return;
      b->at.strategy.data[v] = s;
      peak_need(b, s, true);
      peak_choose(b);
      peak_need(b, s, false);
      b->at.strategy.data[v] = EG_LAYOUT_NONE;
    }
}

// ---- entry points -------------------------------------------------------------------

/// All plans of a model without limits; false: it has too many of them.
static inline bool peak_brute_run(peak_brute *b, const eg_plan_model *model,
                                  uint32_t most) {
  const eg_layout_problem *p = &model->problem;
  *b = (peak_brute){.model = model, .problem = p, .most = most};
  uint32_t values = eg_layout_value_count(p);
  if (values > PEAK_VALUES) return false;
  eg_u32s_init(&b->at.strategy, eg_allocator_heap());
  eg_bytes_init(&b->at.arc_used, eg_allocator_heap());
  assert_ok(eg_bytes_resize(&b->at.arc_used, eg_layout_arc_count(p)));
  for (uint32_t v = 0; v < values; v++) {
    uint32_t into[PEAK_LAYOUTS + 1], layouts = eg_layout_layout_count(p, v);
    assert_ok(eg_u32s_push(&b->at.strategy, EG_LAYOUT_NONE));
    if (layouts > PEAK_LAYOUTS) b->is_too_large = true;
    b->tree_begin[v + 1] = b->tree_begin[v];
    for (uint32_t l = 0; l < layouts && !b->is_too_large; l++) {
      b->value_of[p->place_begin.data[v] + l] = v;
      peak_find_trees(b, v, into, l, 0);
    }
  }
  for (size_t i = 0; i < p->root_value.len; i++)
    b->needed[p->root_value.data[i]]++;
  if (!b->is_too_large) peak_choose(b);
  eg_bytes_deinit(&b->at.arc_used);
  eg_u32s_deinit(&b->at.strategy);
  return !b->is_too_large;
}

/// The cheapest plan within a limit, and of those as cheap the lowest peak; false: none.
static inline bool peak_brute_best(const peak_brute *b, double limit, peak_plan *out) {
  *out = (peak_plan){(double)INFINITY, (double)INFINITY};
  for (uint32_t i = 0; i < b->count; i++)
    if (b->plans[i].peak <= limit) out->cost = fmin(out->cost, b->plans[i].cost);
  for (uint32_t i = 0; i < b->count; i++)
    if (b->plans[i].peak <= limit && b->plans[i].cost <= out->cost * (1 + 1e-10))
      out->peak = fmin(out->peak, b->plans[i].peak);
  return isfinite(out->cost);
}

#endif
