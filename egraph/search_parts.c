// Where a search enters, and how it is divided: at the term with the fewest nodes, or,
// for fresh matches, at what is fresh.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/engine_internal.h"
#include "egraph/program.h"

static egraph_status check(const eg_matcher *program, const eg_engine *engine,
                           const eg_search *search) {
  if (engine->is_rebuilding)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "search on an e-graph whose rebuild failed");
  if (program->has_guard && search->accept == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the pattern has a guard, the search no `accept`");
  return EGRAPH_OK;
}

/// A pattern with a head that the e-graph does not know costs nothing.
static bool has_every_head(const eg_matcher *program, const eg_engine *engine) {
  const eg_pattern *pattern = &program->pattern;
  for (uint32_t t = 0; t < pattern->term_count; t++) {
    const eg_pattern_term *term = &pattern->terms[t];
    uint32_t head;
    if (!program->is_reachable[t] || term->kind == EG_PATTERN_VAR) continue;
    if (term->op >= engine->ops.len || engine->ops.data[term->op].nodes.len == 0)
      return false;
    if (term->exact && !eg_pattern_head(engine, term, &head)) return false;
  }
  return true;
}

/// The nodes (or classes) where a plan enters.
typedef struct entry {
  uint32_t made_from, made_to; // in the list of the operator
  uint32_t changed;
} entry;

static entry entry_of(const eg_matcher *program, const eg_engine *engine, uint32_t plan) {
  const eg_match_plan *p = &program->plans[plan];
  const eg_step *step = &p->steps[p->entry];
  if (p->entry == p->step_count || step->kind == EG_STEP_RISE ||
      step->kind == EG_STEP_BIND)
    return (entry){.made_to = 1}; // one part, whatever it finds
  if (step->kind == EG_STEP_CLASSES) return (entry){.made_to = engine->indexed_classes};
  const eg_op_index *op = &engine->ops.data[program->pattern.terms[step->term].op];
  if (plan == 0) return (entry){.made_to = op->nodes.len};
  return (entry){op->fresh_from, op->nodes.len, op->changed.len};
}

enum { MOST_PARTS = 64 }; // of one list

static egraph_status split_list(eg_part part, uint32_t from, uint32_t to,
                                uint32_t candidates, eg_parts *parts) {
  uint32_t size = (to - from) / MOST_PARTS + 1;
  if (size < candidates) size = candidates;
  for (part.first = from; part.first < to; part.first += part.count) {
    uint32_t left = to - part.first;
    part.count = left < size ? left : size;
    EG_TRY(eg_parts_push(parts, part));
  }
  return EGRAPH_OK;
}

static egraph_status split_fresh(const eg_matcher *program, const eg_engine *engine,
                                 uint32_t candidates, eg_parts *parts) {
  for (uint32_t plan = 1; plan < program->plan_count; plan++) {
    entry e = entry_of(program, engine, plan);
    eg_part changed = {.plan = plan, .in_changed = true}, made = {.plan = plan};
    EG_TRY(split_list(changed, 0, e.changed, candidates, parts));
    EG_TRY(split_list(made, e.made_from, e.made_to, candidates, parts));
  }
  return EGRAPH_OK;
}

/// The order of conditions belongs to plan 0.
static bool may_choose_plan(const eg_matcher *program, const eg_search *search) {
  return program->plan_count > 1 && search->is_possible == NULL;
}

/// Entering at what is fresh pays when it is less than what a full plan looks at.
static bool enters_at_fresh(const eg_matcher *program, const eg_engine *engine,
                            const eg_search *search, uint32_t full) {
  if (!search->fresh_only || !may_choose_plan(program, search)) return false;
  uint64_t fresh = 0;
  for (uint32_t plan = 1; plan < program->plan_count; plan++) {
    entry e = entry_of(program, engine, plan);
    fresh += (uint64_t)e.made_to - e.made_from + e.changed;
  }
  return fresh < full;
}

/// Going up from a term takes longer than going down: it has to be much rarer.
enum { RISE_COST = 4 };

static uint32_t choose_full_plan(const eg_matcher *program, const eg_engine *engine,
                                 const eg_search *search, uint32_t *out_nodes) {
  uint32_t best = 0;
  *out_nodes = entry_of(program, engine, 0).made_to;
  if (!may_choose_plan(program, search)) return best;
  for (uint32_t plan = 1; plan < program->plan_count; plan++) {
    uint64_t nodes = entry_of(program, engine, plan).made_to;
    if (nodes * RISE_COST >= *out_nodes) continue;
    best = plan;
    *out_nodes = (uint32_t)nodes * RISE_COST;
  }
  return best;
}

egraph_status eg_matcher_split(const eg_matcher *program, const eg_engine *engine,
                               const eg_search *search, uint32_t candidates,
                               eg_parts *inout_parts) {
  EG_TRY(check(program, engine, search));
  if (!has_every_head(program, engine)) return EGRAPH_OK;
  uint32_t nodes;
  uint32_t plan = choose_full_plan(program, engine, search, &nodes);
  if (enters_at_fresh(program, engine, search, nodes))
    return split_fresh(program, engine, candidates, inout_parts);
  eg_part full = {.plan = plan, .is_full = true};
  return split_list(full, 0, entry_of(program, engine, plan).made_to, candidates,
                    inout_parts);
}

// ---- the whole search -----------------------------------------------------------------

/// Runs a part to its end, or to the first pause.
static egraph_status run_part(const eg_matcher *program, const eg_engine *engine,
                              const eg_search *search, eg_part part, bool *out_paused) {
  eg_cursor *cursor;
  EG_TRY(eg_cursor_create(program->alloc, program, engine, search, part, &cursor));
  bool done;
  egraph_status status = eg_cursor_run(cursor, UINT64_MAX, &done);
  *out_paused = !done;
  eg_cursor_destroy(cursor);
  return status;
}

egraph_status eg_matcher_search(const eg_matcher *program, const eg_engine *engine,
                                const eg_search *search) {
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "search on a dirty e-graph; rebuild it first");
  eg_parts parts;
  eg_parts_init(&parts, program->alloc);
  egraph_status status = eg_matcher_split(program, engine, search, UINT32_MAX, &parts);
  bool paused = false;
  for (size_t i = 0; i < parts.len && status == EGRAPH_OK && !paused; i++)
    status = run_part(program, engine, search, parts.data[i], &paused);
  eg_parts_deinit(&parts);
  return status;
}
