// From a checked and ordered pattern to a matching program.
//
// Order of the steps: ground terms (lookups, once per search); then root after root. A
// root whose tree touches a class that is already known is reached from there, upwards
// through the parents lists (RISE), which makes a multi-pattern a join on its shared
// variables; only a root without any such class scans its operator. Below a chosen node
// the rest of the tree follows downwards (BIND), hash-cons lookups first, because they
// can only cut. The plans of incremental search begin at one term that must be fresh and
// go on in the same way.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/match_plans.h"

#include <string.h>

enum { MAX_FRESH_TERMS = 32 }; // the plans take memory in the square of the terms

// ---- steps ----------------------------------------------------------------------------

static bool is_known(const eg_compiler *c, uint32_t term) {
  return c->is_bound[c->program->registers[term]];
}

static bool are_children_known(const eg_compiler *c, uint32_t term) {
  for (uint32_t i = 0; i < c->pattern->terms[term].arity; i++)
    if (!is_known(c, eg_pattern_child(c->pattern, term, i))) return false;
  return true;
}

static bool can_look_up(const eg_compiler *c, uint32_t term) {
  return c->pattern->terms[term].exact && are_children_known(c, term);
}

static void emit_moves(eg_compiler *c, uint32_t term) {
  for (uint32_t i = 0; i < c->pattern->terms[term].arity; i++) {
    uint32_t child = eg_pattern_child(c->pattern, term, i);
    uint32_t reg = c->program->registers[child];
    c->plan->moves[c->plan->move_count++] =
        (eg_move){.position = i, .reg = reg, .is_known = c->is_bound[reg]};
    c->is_bound[reg] = true;
    if (c->pattern->terms[child].kind == EG_PATTERN_NODE && !c->is_placed[child])
      c->agenda[c->agenda_count++] = child;
  }
}

/// Emits the step that finds the node of a term, and the moves to its children.
static void emit(eg_compiler *c, eg_step_kind kind, uint32_t term, uint32_t source,
                 uint32_t position) {
  uint32_t reg = c->program->registers[term];
  eg_step *step = &c->plan->steps[c->plan->step_count++];
  *step = (eg_step){.kind = kind,
                    .term = term,
                    .source = source,
                    .position = position,
                    .is_class_known = c->is_bound[reg],
                    .first_move = c->plan->move_count};
  c->is_placed[term] = c->is_bound[reg] = true;
  if (kind != EG_STEP_LOOKUP) emit_moves(c, term);
  step->move_count = c->plan->move_count - step->first_move;
}

/// `except` is the term where the plan enters, or UINT32_MAX.
static void emit_ground_terms(eg_compiler *c, uint32_t except) {
  for (uint32_t i = 0; i < c->order_count; i++) {
    uint32_t t = c->order[i];
    const eg_pattern_term *term = &c->pattern->terms[t];
    if (term->kind == EG_PATTERN_VAR || t == except || !can_look_up(c, t)) continue;
    c->is_ground[t] = true; // no variable is bound yet: all children are ground
    emit(c, EG_STEP_LOOKUP, t, 0, 0);
  }
}

/// Follows the tree downwards until every term below the chosen nodes has a step.
static void emit_agenda(eg_compiler *c) {
  while (c->agenda_count != 0) {
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < c->agenda_count; i++)
      if (can_look_up(c, c->agenda[i])) {
        chosen = i;
        break;
      }
    uint32_t term = c->agenda[chosen];
    c->agenda_count--;
    memmove(c->agenda + chosen, c->agenda + chosen + 1,
            (c->agenda_count - chosen) * sizeof *c->agenda);
    if (c->is_placed[term]) continue;
    emit(c, can_look_up(c, term) ? EG_STEP_LOOKUP : EG_STEP_BIND, term,
         c->program->registers[term], 0);
  }
}

/// The shallowest term below `root` with a known child (a ground one only if `ground`).
/// Leaves the way back up in `above`.
static bool find_entry(eg_compiler *c, uint32_t root, bool ground, uint32_t *out_term,
                       uint32_t *out_position) {
  uint32_t head = 0, tail = 0;
  for (uint32_t t = 0; t < c->pattern->term_count; t++)
    c->above[t] = UINT32_MAX;
  c->above[root] = root;
  c->queue[tail++] = root;
  while (head != tail) {
    uint32_t term = c->queue[head++];
    for (uint32_t i = 0; i < eg_pattern_arity(c->pattern, term); i++) {
      uint32_t child = eg_pattern_child(c->pattern, term, i);
      if (is_known(c, child) && c->is_ground[child] == ground) {
        *out_term = term;
        *out_position = i;
        return true;
      }
      if (is_known(c, child) || c->above[child] != UINT32_MAX) continue;
      c->above[child] = term;
      c->above_position[child] = i;
      c->queue[tail++] = child;
    }
  }
  return false;
}

/// From the known child of `term` up to the root.
static void emit_rise(eg_compiler *c, uint32_t root, uint32_t term, uint32_t position) {
  for (;;) {
    uint32_t child = eg_pattern_child(c->pattern, term, position);
    emit(c, EG_STEP_RISE, term, c->program->registers[child], position);
    if (term == root) return;
    position = c->above_position[term];
    term = c->above[term];
  }
}

/// How a root can be reached, best first.
typedef enum entry {
  ENTRY_CLASS,  // its class is known
  ENTRY_LOOKUP, // all its children are
  ENTRY_JOIN,   // a class in its tree is, through a variable
  ENTRY_GROUND, // a ground term is in its tree
  ENTRY_SCAN
} entry;

static entry entry_of(eg_compiler *c, uint32_t root) {
  uint32_t term, position;
  if (is_known(c, root)) return ENTRY_CLASS;
  if (can_look_up(c, root)) return ENTRY_LOOKUP;
  if (find_entry(c, root, false, &term, &position)) return ENTRY_JOIN;
  if (find_entry(c, root, true, &term, &position)) return ENTRY_GROUND;
  return ENTRY_SCAN;
}

static void emit_root(eg_compiler *c, uint32_t root, entry from) {
  uint32_t term = root, position = 0;
  switch (from) {
  case ENTRY_CLASS: emit(c, EG_STEP_BIND, root, c->program->registers[root], 0); break;
  case ENTRY_LOOKUP: emit(c, EG_STEP_LOOKUP, root, 0, 0); break;
  case ENTRY_JOIN:
  case ENTRY_GROUND:
    if (find_entry(c, root, from == ENTRY_GROUND, &term, &position))
      emit_rise(c, root, term, position);
    break;
  case ENTRY_SCAN: emit(c, EG_STEP_SCAN, root, 0, 0); break;
  }
  emit_agenda(c);
}

static void emit_roots(eg_compiler *c) {
  for (;;) {
    entry best = ENTRY_SCAN;
    uint32_t chosen = UINT32_MAX;
    for (uint32_t i = 0; i < c->pattern->root_count; i++) {
      uint32_t root = c->pattern->roots[i];
      if (c->pattern->terms[root].kind == EG_PATTERN_VAR || c->is_placed[root]) continue;
      entry from = entry_of(c, root);
      if (chosen != UINT32_MAX && from >= best) continue;
      best = from;
      chosen = root;
    }
    if (chosen == UINT32_MAX) return;
    emit_root(c, chosen, best);
  }
}

static void emit_free_variables(eg_compiler *c) {
  for (uint32_t i = 0; i < c->pattern->root_count; i++) {
    uint32_t reg = c->program->registers[c->pattern->roots[i]];
    if (c->is_bound[reg]) continue;
    c->is_bound[reg] = true;
    c->plan->steps[c->plan->step_count++] =
        (eg_step){.kind = EG_STEP_CLASSES, .term = c->pattern->roots[i], .source = reg};
  }
}

// ---- plans ----------------------------------------------------------------------------

static egraph_status start_plan(eg_compiler *c, eg_match_plan *plan) {
  eg_arena *arena = &c->program->arena;
  EG_TRY(eg_arena_alloc(arena, c->program->max_steps, sizeof *plan->steps, &plan->steps));
  EG_TRY(eg_arena_alloc(arena, c->max_moves, sizeof *plan->moves, &plan->moves));
  memset(c->is_placed, 0, c->pattern->term_count * sizeof *c->is_placed);
  memset(c->is_ground, 0, c->pattern->term_count * sizeof *c->is_ground);
  memset(c->is_bound, 0, c->program->register_count * sizeof *c->is_bound);
  c->plan = plan;
  return EGRAPH_OK;
}

static void finish_plan(eg_match_plan *plan) {
  while (plan->entry < plan->step_count &&
         plan->steps[plan->entry].kind == EG_STEP_LOOKUP)
    plan->entry++;
}

static egraph_status make_full_plan(eg_compiler *c) {
  eg_matcher *program = c->program;
  EG_TRY(start_plan(c, &program->plans[0]));
  emit_ground_terms(c, UINT32_MAX);
  emit_roots(c);
  emit_free_variables(c);
  finish_plan(c->plan);
  EG_TRY(eg_arena_alloc(&program->arena, c->plan->step_count, sizeof *program->order,
                        &program->order));
  for (uint32_t i = 0; i < c->plan->step_count; i++) {
    eg_step *step = &c->plan->steps[i];
    if (step->kind == EG_STEP_CLASSES) continue;
    step->order = program->order_count;
    program->order[program->order_count++] = step->term;
  }
  return EGRAPH_OK;
}

static egraph_status make_fresh_plan(eg_compiler *c, uint32_t number) {
  uint32_t fresh = c->program->order[number];
  EG_TRY(start_plan(c, &c->program->plans[1 + number]));
  emit_ground_terms(c, fresh);
  emit(c, EG_STEP_SCAN, fresh, 0, 0);
  emit_agenda(c);
  emit_roots(c);
  emit_free_variables(c);
  finish_plan(c->plan);
  for (uint32_t i = 0; i < c->plan->step_count; i++)
    for (uint32_t k = 0; k < number; k++)
      if (c->plan->steps[i].kind != EG_STEP_CLASSES &&
          c->plan->steps[i].term == c->program->order[k])
        c->plan->steps[i].must_be_old = true;
  return EGRAPH_OK;
}

/// A variable that stands for any class can be fresh by itself, which only the full plan
/// looks at.
static bool has_free_variables(const eg_match_plan *plan) {
  for (uint32_t i = 0; i < plan->step_count; i++)
    if (plan->steps[i].kind == EG_STEP_CLASSES) return true;
  return false;
}

static uint32_t count_atoms(const eg_compiler *c) {
  uint32_t atoms = 0;
  for (uint32_t i = 0; i < c->order_count; i++)
    atoms += c->pattern->terms[c->order[i]].kind == EG_PATTERN_NODE;
  return atoms;
}

egraph_status eg_compiler_make_plans(eg_compiler *c) {
  eg_matcher *program = c->program;
  uint32_t atoms = count_atoms(c);
  EG_TRY(eg_arena_alloc(&program->arena, 1 + atoms, sizeof *program->plans,
                        &program->plans));
  program->plan_count = 1;
  EG_TRY(make_full_plan(c));
  if (atoms > MAX_FRESH_TERMS || has_free_variables(&program->plans[0])) return EGRAPH_OK;
  for (uint32_t i = 0; i < atoms; i++)
    EG_TRY(make_fresh_plan(c, i));
  program->plan_count = 1 + atoms;
  return EGRAPH_OK;
}
