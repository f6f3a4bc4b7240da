// The optimum of planning, from its definition alone: every member of every class that
// the outputs lead to, every strategy, and for each value every way to start its copies
// in the phases. What moves a value from one layout to several others costs is a directed
// Steiner tree over all legal shardings (Dreyfus and Wagner). A branch is cut only when
// what is decided already costs as much as the best.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PLAN_BRUTE_H
#define EG_TESTS_PLAN_BRUTE_H

#include "base/hash.h"
#include "tests/plan_choices.h"

enum { PLAN_TERMINALS = 8, PLAN_FRONT = 512, PLAN_TREES = 1 << 12, PLAN_KNOWN = 1 << 14 };

/// Least cost from each layout to a set of layouts.
typedef struct plan_tree {
  bool is_known;
  uint32_t type;
  uint64_t wanted;
  double from[PLAN_LAYOUTS];
} plan_tree;

/// Memory: at the end of FORWARD, and of BACKWARD; with several micro-batches both at
/// once, because the next FORWARD begins after BACKWARD.
enum { PLAN_ROWS = 2 };
typedef struct plan_sums {
  double cost, memory[PLAN_ROWS];
} plan_sums;
typedef struct plan_front {
  uint32_t len;
  plan_sums item[PLAN_FRONT];
} plan_front;

/// What a value costs at least, given its source and needs.
typedef struct plan_known {
  bool is_known;
  uint32_t value, source;
  uint64_t needs[PLAN_PHASES];
  plan_sums least;
} plan_known;

typedef struct plan_brute {
  plan_choices of;
  plan_tree trees[PLAN_TREES];
  plan_known known[PLAN_KNOWN];
  bool least_memory;  // minimize memory, costs do not count
  bool may_keep_two;  // a copy may start in two layouts, both kept: more than plans have
  double limit, best; // no limit: memory does not count
  uint64_t
      delivered[PLAN_VALUES]; // [outputs] bit per layout in which it may leave; 0: the
                              // same on every device, or as it enters the next step
  uint64_t needed, decided, visits, most_visits;
  uint64_t needs[PLAN_VALUES][PLAN_PHASES];
  uint32_t source[PLAN_VALUES]; // of an entry: its layout, PLAN_LAYOUTS: any
  const plan_strategy *chosen[PLAN_VALUES];
  plan_sums least[PLAN_VALUES];
} plan_brute;

// ---- transitions --------------------------------------------------------------------

static inline void plan_steiner(plan_tree *tree, const plan_type *t) {
  static double least[1 << PLAN_TERMINALS][PLAN_LAYOUTS];
  uint32_t terminal[PLAN_TERMINALS], count = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    if ((tree->wanted >> i & 1) == 0) continue;
    if (count == PLAN_TERMINALS) abort();
    terminal[count++] = i;
  }
  for (uint32_t set = 1; set < 1u << count; set++) {
    double joined[PLAN_LAYOUTS];
    for (uint32_t i = 0; i < t->count; i++) {
      joined[i] = (double)INFINITY;
      for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set)
        joined[i] = fmin(joined[i], least[part][i] + least[set & ~part][i]);
      for (uint32_t k = 0; k < count; k++)
        if (set == 1u << k && terminal[k] == i) joined[i] = 0;
    }
    for (uint32_t i = 0; i < t->count; i++) {
      least[set][i] = (double)INFINITY;
      for (uint32_t k = 0; k < t->count; k++)
        least[set][i] = fmin(least[set][i], t->distance[i][k] + joined[k]);
    }
  }
  for (uint32_t i = 0; i < t->count; i++)
    tree->from[i] = count == 0 ? 0 : least[(1u << count) - 1][i];
}

static inline double plan_reach(plan_brute *b, uint32_t type, uint32_t from,
                                uint64_t wanted) {
  plan_tree *tree =
      &b->trees[eg_hash_combine(type, wanted) % PLAN_TREES]; // the last one stays
  if (!tree->is_known || tree->type != type || tree->wanted != wanted) {
    *tree = (plan_tree){.is_known = true, .type = type, .wanted = wanted};
    plan_steiner(tree, &b->of.types[type]);
  }
  return tree->from[from];
}

// ---- copies of a value in the phases ------------------------------------------------

static inline bool plan_no_worse(const plan_sums *a, const plan_sums *b) {
  return a->cost <= b->cost && a->memory[0] <= b->memory[0] &&
         a->memory[1] <= b->memory[1];
}

static inline double plan_memory_of(const plan_sums *sums) {
  return fmax(sums->memory[0], sums->memory[1]);
}

static inline void plan_front_add(plan_front *front, plan_sums sums) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < front->len; i++)
    if (plan_no_worse(&front->item[i], &sums)) return;
  for (uint32_t i = 0; i < front->len; i++)
    if (!plan_no_worse(&sums, &front->item[i])) front->item[kept++] = front->item[i];
  if (kept == PLAN_FRONT) abort();
  front->item[kept++] = sums;
  front->len = kept;
}

/// Where a copy begins: MADE: as it is made or enters; else the phase it was kept from.
enum { PLAN_UNUSED = -2, PLAN_MADE = -1 };
typedef struct plan_start {
  int from[PLAN_PHASES];
  uint32_t layout[PLAN_PHASES];
  uint32_t second[PLAN_PHASES]; // another layout kept of that phase; PLAN_LAYOUTS: none
} plan_start;

/// Of two roots each serves its own part of what is wanted.
static inline double plan_reach_from_two(plan_brute *b, uint32_t type, uint32_t first,
                                         uint32_t second, uint64_t wanted) {
  double least = plan_reach(b, type, first, wanted);
  if (second == PLAN_LAYOUTS) return least;
  for (uint64_t part = wanted; part != 0; part = (part - 1) & wanted)
    least = fmin(least, plan_reach(b, type, second, part) +
                            plan_reach(b, type, first, wanted & ~part));
  return least;
}

/// Whether a phase before has already been handed the same layout of the same phase.
static inline bool plan_is_kept_before(const plan_start *start, int q, uint32_t layout) {
  for (int earlier = 0; earlier < q; earlier++)
    if (start->from[earlier] == start->from[q] && start->from[q] >= 0 &&
        (start->layout[earlier] == layout || start->second[earlier] == layout))
      return true;
  return false;
}

/// What phase p hands to phase q in a layout, where it is not there already.
static inline void plan_keep(const plan_brute *b, const plan_start *start, int q,
                             uint32_t layout, double bytes, plan_sums *sums) {
  bool is_there = plan_is_kept_before(start, q, layout);
  bool is_first = start->from[q] == EG_PHASE_FORWARD, is_last = q == EG_PHASE_UPDATE;
  if (b->of.info->micro_batches > 1) is_first = is_last = !is_there;
  if (is_first && !is_there) sums->memory[0] += bytes;
  if (is_last) sums->memory[1] += bytes;
}

static inline void plan_price(plan_brute *b, uint32_t v, const plan_start *start,
                              plan_sums sums, plan_front *out) {
  uint32_t type = b->of.values[v].type;
  for (int q = 0; q < PLAN_PHASES; q++) {
    if (start->from[q] == PLAN_UNUSED) continue;
    uint64_t wanted = b->needs[v][q];
    for (int later = q + 1; later < PLAN_PHASES; later++)
      if (start->from[later] == q) {
        wanted |= UINT64_C(1) << start->layout[later];
        if (start->second[later] != PLAN_LAYOUTS)
          wanted |= UINT64_C(1) << start->second[later];
      }
    double runs = q == EG_PHASE_UPDATE ? 1 : b->of.info->micro_batches;
    sums.cost +=
        runs * plan_reach_from_two(b, type, start->layout[q], start->second[q], wanted);
    // What leaves for the next step may stand where the entry did, which counts.
    if (start->from[q] < 0 || b->of.values[v].leaves || b->of.values[v].is_view) continue;
    plan_keep(b, start, q, start->layout[q], b->of.types[type].bytes[start->layout[q]],
              &sums);
    if (start->second[q] != PLAN_LAYOUTS)
      plan_keep(b, start, q, start->second[q], b->of.types[type].bytes[start->second[q]],
                &sums);
  }
  if (!isfinite(sums.cost)) return;
  if (b->least_memory) sums.cost = 0;
  if (!b->least_memory && isinf(b->limit)) sums.memory[0] = sums.memory[1] = 0;
  plan_front_add(out, sums);
}

static inline void plan_copies(plan_brute *b, uint32_t v, uint32_t source, int q,
                               plan_start *start, plan_sums sums, plan_front *out) {
  const plan_value *value = &b->of.values[v];
  if (q == PLAN_PHASES) {
    plan_price(b, v, start, sums, out);
    return;
  }
  bool is_made_here = !value->is_entry && value->phase == (uint32_t)q, is_over = true;
  start->from[q] = PLAN_UNUSED;
  start->second[q] = PLAN_LAYOUTS;
  for (int later = q; later < PLAN_PHASES; later++)
    is_over = is_over && b->needs[v][later] == 0;
  if (b->needs[v][q] == 0 && !is_made_here)
    plan_copies(b, v, source, q + 1, start, sums, out);
  if (is_over || (value->uses >> q & 1) == 0) return;
  if (value->is_entry || is_made_here) {
    start->from[q] = PLAN_MADE;
    start->layout[q] = source;
    plan_copies(b, v, source, q + 1, start, sums, out);
  }
  for (int before = 0; before < q; before++) {
    if (start->from[before] == PLAN_UNUSED) continue;
    uint32_t count = b->of.types[value->type].count;
    for (uint32_t l = 0; l < count; l++) {
      start->from[q] = before;
      start->layout[q] = l;
      start->second[q] = PLAN_LAYOUTS;
      plan_copies(b, v, source, q + 1, start, sums, out);
      for (uint32_t k = l + 1; b->may_keep_two && k < count; k++) {
        start->second[q] = k;
        plan_copies(b, v, source, q + 1, start, sums, out);
      }
      start->second[q] = PLAN_LAYOUTS;
    }
  }
  start->from[q] = PLAN_UNUSED;
}

/// Every way to serve the needs of a value that is made, or enters, in a layout.
static inline void plan_serve(plan_brute *b, uint32_t v, uint32_t source,
                              plan_front *out) {
  plan_start start;
  plan_sums sums = {.cost = 0};
  if (b->of.values[v].is_entry)
    sums.memory[0] = sums.memory[1] = b->of.types[b->of.values[v].type].bytes[source];
  plan_copies(b, v, source, 0, &start, sums, out);
}

static inline void plan_serve_any(plan_brute *b, uint32_t v, plan_front *out) {
  const plan_type *type = &b->of.types[b->of.values[v].type];
  out->len = 0;
  if (b->source[v] != PLAN_LAYOUTS) {
    plan_serve(b, v, b->source[v], out);
    return;
  }
  for (uint32_t l = 0; l < type->count; l++)
    if (!type->is_partial[l] && type->layout[l].format == EG_FORMAT_PLAIN)
      plan_serve(b, v, l, out); // as a caller gives it
}

static inline plan_sums plan_least(plan_brute *b, uint32_t v) {
  static plan_front front;
  uint64_t hash = eg_hash_combine(v, b->source[v]);
  for (int q = 0; q < PLAN_PHASES; q++)
    hash = eg_hash_combine(hash, b->needs[v][q]);
  plan_known *known = &b->known[hash % PLAN_KNOWN];
  if (known->is_known && known->value == v && known->source == b->source[v] &&
      memcmp(known->needs, b->needs[v], sizeof known->needs) == 0)
    return known->least;
  *known =
      (plan_known){.is_known = true,
                   .value = v,
                   .source = b->source[v],
                   .least = {(double)INFINITY, {(double)INFINITY, (double)INFINITY}}};
  memcpy(known->needs, b->needs[v], sizeof known->needs);
  plan_serve_any(b, v, &front);
  for (uint32_t i = 0; i < front.len; i++) {
    known->least.cost = fmin(known->least.cost, front.item[i].cost);
    for (int r = 0; r < PLAN_ROWS; r++)
      known->least.memory[r] = fmin(known->least.memory[r], front.item[i].memory[r]);
  }
  return known->least;
}

// ---- the search ---------------------------------------------------------------------

static inline double plan_own_cost(const plan_brute *b, uint32_t v) {
  double runs = b->of.values[v].phase == EG_PHASE_UPDATE ? 1 : b->of.info->micro_batches;
  return b->chosen[v] == NULL ? 0 : runs * b->chosen[v]->seconds;
}

static inline bool plan_is_settled(const plan_brute *b, uint32_t v) {
  return (b->needed >> v & 1) != 0 &&
         (b->of.values[v].is_entry || (b->decided >> v & 1) != 0);
}

/// Whether what is decided can still become better than the best.
static inline bool plan_may_win(const plan_brute *b) {
  plan_sums sums = {.cost = 0};
  for (uint32_t v = 0; v < b->of.value_count; v++) {
    if (!plan_is_settled(b, v)) continue;
    sums.cost += b->least[v].cost + plan_own_cost(b, v);
    for (int r = 0; r < PLAN_ROWS; r++)
      sums.memory[r] += b->least[v].memory[r];
  }
  double memory = plan_memory_of(&sums), aim = b->least_memory ? memory : sums.cost;
  return isfinite(aim) && aim < b->best * (1 - 1e-12) && memory <= b->limit;
}

static inline void plan_finish(plan_brute *b) {
  static plan_front all, next, one;
  all = (plan_front){.len = 1};
  for (uint32_t v = 0; v < b->of.value_count; v++) {
    if (!plan_is_settled(b, v)) continue;
    plan_serve_any(b, v, &one);
    next.len = 0;
    for (uint32_t i = 0; i < all.len; i++)
      for (uint32_t k = 0; k < one.len; k++) {
        plan_sums sums = {all.item[i].cost + one.item[k].cost + plan_own_cost(b, v),
                          {all.item[i].memory[0] + one.item[k].memory[0],
                           all.item[i].memory[1] + one.item[k].memory[1]}};
        if (plan_memory_of(&sums) <= b->limit) plan_front_add(&next, sums);
      }
    memcpy(&all, &next, sizeof all);
  }
  for (uint32_t i = 0; i < all.len; i++)
    b->best =
        fmin(b->best, b->least_memory ? plan_memory_of(&all.item[i]) : all.item[i].cost);
}

/// Whether `v` follows from `from` by what is decided.
static inline bool plan_leads_to(const plan_brute *b, uint32_t from, uint32_t v) {
  const plan_strategy *chosen = b->chosen[from];
  if (from == v) return true;
  for (uint32_t i = 0; chosen != NULL && i < chosen->input_count; i++)
    if (plan_leads_to(b, chosen->input[i], v)) return true;
  return false;
}

static inline void plan_search(plan_brute *b);

static inline void plan_choose(plan_brute *b, uint32_t v, const plan_strategy *s) {
  for (uint32_t i = 0; i < s->input_count; i++)
    if (plan_leads_to(b, s->input[i], v)) return;
  plan_sums old_least[PLAN_INPUTS], own_least = b->least[v];
  uint64_t old_needed = b->needed, old_needs[PLAN_INPUTS];
  uint32_t q = b->of.values[v].phase;
  b->chosen[v] = s;
  b->source[v] = s->output;
  b->decided |= UINT64_C(1) << v;
  b->least[v] = plan_least(b, v);
  for (uint32_t i = 0; i < s->input_count; i++) {
    uint32_t operand = s->input[i];
    old_needs[i] = b->needs[operand][q];
    old_least[i] = b->least[operand];
    b->needs[operand][q] |= UINT64_C(1) << s->need[i];
    b->needed |= UINT64_C(1) << operand;
    if (plan_is_settled(b, operand)) b->least[operand] = plan_least(b, operand);
  }
  plan_search(b);
  for (uint32_t i = s->input_count; i-- > 0;) {
    b->needs[s->input[i]][q] = old_needs[i];
    b->least[s->input[i]] = old_least[i];
  }
  b->needed = old_needed;
  b->least[v] = own_least;
  b->decided &= ~(UINT64_C(1) << v);
  b->chosen[v] = NULL;
}

static inline void plan_search(plan_brute *b) {
  if (!plan_may_win(b) || ++b->visits > b->most_visits) return;
  uint32_t v = b->of.value_count;
  while (v-- > 0)
    if ((b->needed >> v & 1) != 0 && !plan_is_settled(b, v)) break;
  if (v == UINT32_MAX) {
    plan_finish(b);
    return;
  }
  for (uint32_t s = b->of.values[v].strategy_begin; s < b->of.values[v].strategy_end; s++)
    plan_choose(b, v, &b->of.strategies[s]);
}

/// Every layout in which what is carried may leave the step, and so enters the next.
static inline void plan_search_carried(plan_brute *b, uint32_t number) {
  if (number == b->of.info->carried_count) {
    for (uint32_t v = 0; v < b->of.value_count; v++)
      if (plan_is_settled(b, v)) b->least[v] = plan_least(b, v);
    plan_search(b);
    return;
  }
  const eg_carried_value *carried = &b->of.info->carried[number];
  uint32_t entry =
      plan_value_of(&b->of, eg_tensor_egraph_value_class(b->of.egraph, carried->entry));
  uint32_t exit =
      plan_value_of(&b->of, eg_tensor_egraph_root(b->of.egraph, carried->output));
  const plan_type *type = &b->of.types[b->of.values[entry].type];
  uint64_t *need = &b->needs[exit][b->of.values[exit].phase], before = *need;
  uint64_t may_leave = b->delivered[carried->output];
  for (uint32_t l = 0; l < type->count; l++) {
    if (type->is_partial[l] || (may_leave != 0 && (may_leave >> l & 1) == 0)) continue;
    *need = before | UINT64_C(1) << l;
    b->source[entry] = l;
    plan_search_carried(b, number + 1);
  }
  *need = before;
}

static inline bool plan_is_carried(const plan_brute *b, uint32_t output) {
  for (uint32_t k = 0; k < b->of.info->carried_count; k++)
    if (b->of.info->carried[k].output == output) return true;
  return false;
}

/// Every layout in which an output may be delivered.
static inline void plan_search_delivered(plan_brute *b, uint32_t output) {
  if (output == eg_graph_output_count(eg_tensor_egraph_graph(b->of.egraph))) {
    plan_search_carried(b, 0);
    return;
  }
  if (plan_is_carried(b, output)) {
    plan_search_delivered(b, output + 1);
    return;
  }
  uint32_t v = plan_value_of(&b->of, eg_tensor_egraph_root(b->of.egraph, output));
  uint64_t *need = &b->needs[v][b->of.values[v].phase], before = *need;
  uint64_t may_leave = b->delivered[output] == 0 ? 1 : b->delivered[output];
  for (uint32_t l = 0; l < b->of.types[b->of.values[v].type].count; l++) {
    if ((may_leave >> l & 1) == 0) continue;
    *need = before | UINT64_C(1) << l;
    plan_search_delivered(b, output + 1);
  }
  *need = before;
}

// ---- entry point ---------------------------------------------------------------------

/// The least cost (or memory) below `known_best`, or known_best; false: given up after
/// most_visits.
static inline bool plan_brute_solve(plan_brute *b, bool least_memory, double limit,
                                    double known_best, double *out) {
  const eg_graph *graph = eg_tensor_egraph_graph(b->of.egraph);
  b->least_memory = least_memory;
  b->limit = limit;
  b->best = known_best;
  b->needed = b->decided = b->visits = 0;
  memset(b->needs, 0, sizeof b->needs);
  memset(b->chosen, 0, sizeof b->chosen);
  memset(b->known, 0, sizeof b->known);
  memset(b->trees, 0, sizeof b->trees);
  for (uint32_t v = 0; v < PLAN_VALUES; v++)
    b->source[v] = PLAN_LAYOUTS;
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    b->needed |=
        UINT64_C(1) << plan_value_of(&b->of, eg_tensor_egraph_root(b->of.egraph, i));
  plan_search_delivered(b, 0);
  *out = b->best;
  return b->visits <= b->most_visits;
}

#endif
