// The matching machine: runs the steps of a program with backtracking, without recursion.
//
// A frame per step holds where its enumeration stands. A step that finds a candidate
// hands over to the next one; one that has none left, back to the one before. Registers
// need no undoing: a step always sets its own before a later one reads them.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "egraph/engine_internal.h"
#include "egraph/program.h"

typedef struct frame {
  const uint32_t *nodes; // SCAN, BIND, LOOKUP: candidates next .. count
  uint32_t next, count;
  uint32_t found; // LOOKUP: the one candidate
  uint32_t slot;  // RISE: next slot of the parents list
  bool is_rising;
} frame;

typedef struct machine {
  const eg_matcher *program;
  const eg_engine *engine;
  const eg_search *search;
  eg_class *registers;
  eg_class *roots;
  eg_node *nodes;
  eg_class *children; // of a lookup
  frame *frames;
} machine;

// ---- starting a step ------------------------------------------------------------------

static void start_scan(const machine *m, const eg_step *step, frame *f) {
  uint32_t op = m->program->pattern.terms[step->term].op;
  const eg_u32s *nodes = &m->engine->ops.data[op].nodes; // not empty: has_every_operator
  *f = (frame){.nodes = nodes->data, .count = (uint32_t)nodes->len};
}

static void start_rise(const machine *m, const eg_step *step, frame *f) {
  uint32_t op = m->program->pattern.terms[step->term].op;
  const eg_class_record *class = &m->engine->classes.data[m->registers[step->source].id];
  // A hub can have more parents than there are nodes of the operator.
  if (class->parent_count > m->engine->ops.data[op].nodes.len)
    start_scan(m, step, f);
  else
    *f = (frame){.slot = class->parents, .is_rising = true};
}

static void start_lookup(const machine *m, const eg_step *step, frame *f) {
  const eg_pattern *pattern = &m->program->pattern;
  const eg_pattern_term *term = &pattern->terms[step->term];
  for (uint32_t i = 0; i < term->arity; i++)
    m->children[i] =
        m->registers[m->program->registers[pattern->children[term->children + i]]];
  eg_term key = {.op = term->op,
                 .payload = term->payload,
                 .arity = term->arity,
                 .children = m->children};
  *f = (frame){.nodes = &f->found};
  f->count = eg_engine_find_node(m->engine, &key, eg_engine_hash_stored(&key), &f->found);
}

static void start(const machine *m, uint32_t at) {
  const eg_step *step = &m->program->steps[at];
  frame *f = &m->frames[at];
  switch (step->kind) {
  case EG_STEP_SCAN: start_scan(m, step, f); break;
  case EG_STEP_BIND:
    *f = (frame){0};
    f->nodes = eg_members_of(m->engine, m->registers[step->source].id, &f->count);
    break;
  case EG_STEP_RISE: start_rise(m, step, f); break;
  case EG_STEP_LOOKUP: start_lookup(m, step, f); break;
  case EG_STEP_CLASSES: *f = (frame){.count = (uint32_t)m->engine->up.len}; break;
  }
}

// ---- candidates -----------------------------------------------------------------------

static bool fits(const machine *m, const eg_step *step, uint32_t node) {
  const eg_pattern_term *term = &m->program->pattern.terms[step->term];
  const eg_node_record *record = &m->engine->nodes.data[node];
  if (record->op != term->op) return false;
  eg_term stored = eg_engine_stored(m->engine, node);
  if (stored.arity != term->arity) return false;
  if (term->exact && stored.payload != term->payload) return false;
  const eg_move *moves = m->program->moves + step->first_move;
  for (uint32_t i = 0; i < step->move_count; i++) {
    eg_class child = stored.children[moves[i].position];
    eg_class *reg = &m->registers[moves[i].reg];
    if (!moves[i].is_known)
      *reg = child;
    else if (reg->id != child.id)
      return false;
  }
  return term->guard == EG_PATTERN_ANY_PAYLOAD ||
         m->search->accept(m->search->user, term->guard, term->op, stored.payload);
}

static bool is_possible(const machine *m, const eg_step *step) {
  if (m->search->is_possible == NULL) return true;
  eg_match so_far = {.vars = m->registers, .nodes = m->nodes};
  return m->search->is_possible(m->search->user, step->order, &so_far);
}

static bool settle(const machine *m, const eg_step *step, uint32_t node) {
  if (!fits(m, step, node)) return false;
  if (step->kind != EG_STEP_BIND) {
    eg_class class = {eg_engine_root(m->engine, node)};
    eg_class *reg = &m->registers[m->program->registers[step->term]];
    if (step->is_class_known && reg->id != class.id) return false;
    *reg = class;
  }
  m->nodes[step->term].id = node;
  return is_possible(m, step);
}

static bool rise(const machine *m, const eg_step *step, frame *f) {
  while (f->slot != EG_NONE) {
    uint32_t slot = f->slot, node = m->engine->links.data[slot].node;
    f->slot = m->engine->links.data[slot].next;
    if (slot - m->engine->nodes.data[node].first != step->position ||
        eg_engine_is_dead(m->engine, node))
      continue;
    if (settle(m, step, node)) return true;
  }
  return false;
}

static bool next_class(const machine *m, const eg_step *step, frame *f) {
  while (f->next < f->count) {
    uint32_t id = f->next++;
    if (m->engine->up.data[id] != id) continue;
    m->registers[step->source].id = id;
    return true;
  }
  return false;
}

/// Moves a step to its next candidate.
static bool advance(const machine *m, uint32_t at) {
  const eg_step *step = &m->program->steps[at];
  frame *f = &m->frames[at];
  if (step->kind == EG_STEP_CLASSES) return next_class(m, step, f);
  if (f->is_rising) return rise(m, step, f);
  while (f->next < f->count)
    if (settle(m, step, f->nodes[f->next++])) return true;
  return false;
}

// ---- running --------------------------------------------------------------------------

static egraph_status report(const machine *m, bool *stop) {
  const eg_pattern *pattern = &m->program->pattern;
  for (uint32_t i = 0; i < pattern->root_count; i++)
    m->roots[i] = m->registers[m->program->registers[pattern->roots[i]]];
  eg_match match = {.vars = m->registers, .roots = m->roots, .nodes = m->nodes};
  return m->search->on_match(m->search->user, &match, stop);
}

enum { STEPS_PER_POLL = 4096 };

static bool is_cancelled(const machine *m, uint32_t steps) {
  return steps % STEPS_PER_POLL == 0 && m->search->is_cancelled != NULL &&
         m->search->is_cancelled(m->search->user);
}

static egraph_status run(const machine *m) {
  uint32_t at = 0, last = m->program->step_count - 1;
  start(m, 0);
  for (uint32_t steps = 0;; steps++) {
    if (is_cancelled(m, steps)) return EGRAPH_OK;
    if (!advance(m, at)) {
      if (at == 0) return EGRAPH_OK;
      at--;
    } else if (at != last) {
      start(m, ++at);
    } else {
      bool stop = false;
      EG_TRY(report(m, &stop));
      if (stop) return EGRAPH_OK;
    }
  }
}

/// A pattern with an operator that has no node costs nothing.
static bool has_every_operator(const machine *m) {
  const eg_pattern *pattern = &m->program->pattern;
  for (uint32_t t = 0; t < pattern->term_count; t++) {
    const eg_pattern_term *term = &pattern->terms[t];
    if (!m->program->is_reachable[t] || term->kind == EG_PATTERN_VAR) continue;
    if (term->op >= m->engine->ops.len || m->engine->ops.data[term->op].nodes.len == 0)
      return false;
  }
  return true;
}

static egraph_status prepare(machine *m, eg_arena *arena) {
  const eg_matcher *program = m->program;
  const eg_pattern *pattern = &program->pattern;
  EG_TRY(eg_arena_alloc(arena, program->register_count, sizeof(eg_class), &m->registers));
  EG_TRY(eg_arena_alloc(arena, pattern->root_count, sizeof(eg_class), &m->roots));
  EG_TRY(eg_arena_alloc(arena, pattern->term_count, sizeof(eg_node), &m->nodes));
  EG_TRY(eg_arena_alloc(arena, program->max_arity, sizeof(eg_class), &m->children));
  EG_TRY(eg_arena_alloc(arena, program->step_count, sizeof(frame), &m->frames));
  for (uint32_t i = 0; i < program->register_count; i++)
    m->registers[i] = EG_CLASS_NONE;
  for (uint32_t i = 0; i < pattern->term_count; i++)
    m->nodes[i] = EG_NODE_NONE;
  return EGRAPH_OK;
}

egraph_status eg_matcher_search(const eg_matcher *program, const eg_engine *engine,
                                const eg_search *search) {
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "search on a dirty e-graph; rebuild it first");
  if (program->has_guard && search->accept == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the pattern has a guard, the search no `accept`");
  machine m = {.program = program, .engine = engine, .search = search};
  if (!has_every_operator(&m)) return EGRAPH_OK;
  eg_arena arena;
  eg_arena_init(&arena, program->alloc);
  egraph_status status = prepare(&m, &arena);
  if (status == EGRAPH_OK) status = run(&m);
  eg_arena_deinit(&arena);
  return status;
}
