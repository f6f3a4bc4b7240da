// Compiles a pattern into a matching program: checks it, orders its terms, makes plans.
//
// Order of the steps: ground terms (lookups, once per search); then root after root. A
// root whose tree contains a known class is reached from this class, upwards through the
// parents lists (RISE), which makes a multi-pattern a join on its shared variables; only
// a root without a known class scans its operator. Below a chosen node the rest of the
// tree follows downwards (BIND), hash-cons lookups first, because they can only reduce
// matches. The plans of incremental search begin at a term that must be fresh and
// continue in the same way.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/pattern.h"

#include <string.h>

#include "egraph/pattern_internal.h"

typedef struct compiler {
  eg_matcher *program;
  const eg_pattern *pattern;
  eg_match_plan *plan; // plan in construction
  uint32_t *order;     // reachable terms, children first
  uint32_t order_count;
  bool *is_ground; // terms
  bool *is_placed; // terms with a step
  bool *is_bound;  // registers
  uint32_t *agenda;
  uint32_t agenda_count;
  uint32_t *above, *above_position, *queue; // path search, per term
  uint32_t max_moves;
} compiler;

static inline uint32_t child_of(const eg_pattern *pattern, uint32_t term,
                                uint32_t position) {
  return pattern->children[pattern->terms[term].children + position];
}
/// Returns the arity of a term; 0 for variables.
static inline uint32_t arity_of(const eg_pattern *pattern, uint32_t term) {
  return pattern->terms[term].kind == EG_PATTERN_NODE ? pattern->terms[term].arity : 0;
}

enum { MAX_FRESH_TERMS = 32 }; // the plans take memory in the square of the terms

// ---- steps ----------------------------------------------------------------------------

static bool is_known(const compiler *c, uint32_t term) {
  return c->is_bound[c->program->registers[term]];
}

static bool can_look_up(const compiler *c, uint32_t term) {
  for (uint32_t i = 0; i < c->pattern->terms[term].arity; i++)
    if (!is_known(c, child_of(c->pattern, term, i))) return false;
  return c->pattern->terms[term].exact;
}

static void emit_moves(compiler *c, uint32_t term) {
  for (uint32_t i = 0; i < c->pattern->terms[term].arity; i++) {
    uint32_t child = child_of(c->pattern, term, i);
    uint32_t reg = c->program->registers[child];
    c->plan->moves[c->plan->move_count++] =
        (eg_move){.position = i, .reg = reg, .is_known = c->is_bound[reg]};
    c->is_bound[reg] = true;
    if (c->pattern->terms[child].kind == EG_PATTERN_NODE && !c->is_placed[child])
      c->agenda[c->agenda_count++] = child;
  }
}

/// Emits the step that finds the node of a term, and the moves to its children.
static void emit_step(compiler *c, eg_step_kind kind, uint32_t term, uint32_t source,
                      uint32_t position) {
  assert(c->plan != NULL);
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

/// Emits look-ups of the pattern's ground terms. `except` is the term where the plan
/// enters, or UINT32_MAX.
static void emit_ground_terms(compiler *c, uint32_t except) {
  for (uint32_t i = 0; i < c->order_count; i++) {
    uint32_t t = c->order[i];
    const eg_pattern_term *term = &c->pattern->terms[t];
    if (term->kind == EG_PATTERN_VAR || t == except || !can_look_up(c, t)) continue;
    c->is_ground[t] = true; // no variable is bound yet: all children are ground
    emit_step(c, EG_STEP_LOOKUP, t, 0, 0);
  }
}

/// Follows the tree downwards until every term below the chosen nodes has a step.
static void emit_agenda(compiler *c) {
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
    emit_step(c, can_look_up(c, term) ? EG_STEP_LOOKUP : EG_STEP_BIND, term,
              c->program->registers[term], 0);
  }
}

/// Finds the nearest term below `root` that has a child with a known class: a ground
/// child if `ground`, else a child that is not ground. Leaves the path up in `above`.
static bool find_entry(compiler *c, uint32_t root, bool ground, uint32_t *out_term,
                       uint32_t *out_position) {
  uint32_t head = 0, tail = 0;
  for (uint32_t t = 0; t < c->pattern->term_count; t++)
    c->above[t] = UINT32_MAX;
  c->above[root] = root;
  c->queue[tail++] = root;
  while (head != tail) {
    uint32_t term = c->queue[head++];
    for (uint32_t i = 0; i < arity_of(c->pattern, term); i++) {
      uint32_t child = child_of(c->pattern, term, i);
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

/// Emits the steps from the known child of `term` up to the root.
static void emit_rise(compiler *c, uint32_t root, uint32_t term, uint32_t position) {
  for (;;) {
    uint32_t child = child_of(c->pattern, term, position);
    emit_step(c, EG_STEP_RISE, term, c->program->registers[child], position);
    if (term == root) return;
    position = c->above_position[term];
    term = c->above[term];
  }
}

/// How a root of a pattern is reached, best first.
typedef enum entry {
  ENTRY_CLASS,  // its class is known
  ENTRY_LOOKUP, // all its children are
  ENTRY_JOIN,   // a class in its tree is, through a variable
  ENTRY_GROUND, // a ground term is in its tree
  ENTRY_SCAN
} entry;

static entry entry_of(compiler *c, uint32_t root) {
  uint32_t term, position;
  if (is_known(c, root)) return ENTRY_CLASS;
  if (can_look_up(c, root)) return ENTRY_LOOKUP;
  if (find_entry(c, root, false, &term, &position)) return ENTRY_JOIN;
  if (find_entry(c, root, true, &term, &position)) return ENTRY_GROUND;
  return ENTRY_SCAN;
}

static void emit_root(compiler *c, uint32_t root, entry from) {
  uint32_t term = root, position = 0;
  switch (from) {
  case ENTRY_CLASS:
    emit_step(c, EG_STEP_BIND, root, c->program->registers[root], 0);
    break;
  case ENTRY_LOOKUP: emit_step(c, EG_STEP_LOOKUP, root, 0, 0); break;
  case ENTRY_JOIN:
  case ENTRY_GROUND:
    if (find_entry(c, root, from == ENTRY_GROUND, &term, &position))
      emit_rise(c, root, term, position);
    break;
  case ENTRY_SCAN: emit_step(c, EG_STEP_SCAN, root, 0, 0); break;
  }
  emit_agenda(c);
}

static void emit_roots(compiler *c) {
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

static void emit_free_variables(compiler *c) {
  for (uint32_t i = 0; i < c->pattern->root_count; i++) {
    uint32_t reg = c->program->registers[c->pattern->roots[i]];
    if (c->is_bound[reg]) continue;
    c->is_bound[reg] = true;
    c->plan->steps[c->plan->step_count++] =
        (eg_step){.kind = EG_STEP_CLASSES, .term = c->pattern->roots[i], .source = reg};
  }
}

// ---- plans ----------------------------------------------------------------------------

static egraph_status start_plan(compiler *c, eg_match_plan *plan) {
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

static egraph_status make_full_plan(compiler *c) {
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

static egraph_status make_fresh_plan(compiler *c, uint32_t number) {
  uint32_t fresh = c->program->order[number];
  EG_TRY(start_plan(c, &c->program->plans[1 + number]));
  emit_ground_terms(c, fresh);
  emit_step(c, EG_STEP_SCAN, fresh, 0, 0);
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

/// True when a variable root may match any class: such a match can be fresh by itself,
/// and only the full plan finds it.
static bool has_free_variables(const eg_match_plan *plan) {
  for (uint32_t i = 0; i < plan->step_count; i++)
    if (plan->steps[i].kind == EG_STEP_CLASSES) return true;
  return false;
}

/// Makes the plans of a pattern whose terms are ordered. Fails with EGRAPH_E_MEMORY.
static egraph_status make_plans(compiler *c) {
  eg_matcher *program = c->program;
  uint32_t atoms = 0;
  for (uint32_t i = 0; i < c->order_count; i++)
    atoms += c->pattern->terms[c->order[i]].kind == EG_PATTERN_NODE;
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

// ---- checking -------------------------------------------------------------------------

static egraph_status check_terms(const eg_pattern *pattern) {
  for (uint32_t t = 0; t < pattern->term_count; t++) {
    const eg_pattern_term *term = &pattern->terms[t];
    if (term->kind == EG_PATTERN_VAR) {
      if (term->var >= pattern->var_count)
        return EG_FAIL(EGRAPH_E_ARGUMENT, "pattern term %u: variable %u of %u", t,
                       term->var, pattern->var_count);
    } else if (term->arity != 0 && (term->children > pattern->child_count ||
                                    pattern->child_count - term->children < term->arity))
      return EG_FAIL(EGRAPH_E_ARGUMENT, "pattern term %u: children beyond the end", t);
  }
  for (uint32_t i = 0; i < pattern->child_count; i++)
    if (pattern->children[i] >= pattern->term_count)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "pattern child %u: term %u of %u", i,
                     pattern->children[i], pattern->term_count);
  return EGRAPH_OK;
}

static egraph_status check_pattern(const eg_pattern *pattern) {
  if (pattern->root_count == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a pattern needs a root");
  for (uint32_t i = 0; i < pattern->root_count; i++)
    if (pattern->roots[i] >= pattern->term_count)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "pattern root %u: term %u of %u", i,
                     pattern->roots[i], pattern->term_count);
  if (pattern->var_count >= UINT32_MAX - pattern->term_count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a pattern with %u variables", pattern->var_count);
  return check_terms(pattern);
}

// ---- memory ---------------------------------------------------------------------------

static egraph_status copy_array(eg_arena *arena, const void *from, size_t count,
                                size_t size, void *out_pointer) {
  void *to = NULL;
  EG_TRY(eg_arena_alloc(arena, count, size, &to));
  if (count != 0) memcpy(to, from, count * size);
  memcpy(out_pointer, &to, sizeof to);
  return EGRAPH_OK;
}

static egraph_status copy_pattern(eg_matcher *program, const eg_pattern *pattern) {
  eg_pattern *copy = &program->pattern;
  *copy = *pattern;
  EG_TRY(copy_array(&program->arena, pattern->terms, pattern->term_count,
                    sizeof *pattern->terms, &copy->terms));
  EG_TRY(copy_array(&program->arena, pattern->children, pattern->child_count,
                    sizeof *pattern->children, &copy->children));
  return copy_array(&program->arena, pattern->roots, pattern->root_count,
                    sizeof *pattern->roots, &copy->roots);
}

static egraph_status prepare_program(compiler *c, eg_matcher *program) {
  const eg_pattern *pattern = &program->pattern;
  size_t terms = pattern->term_count, arity_sum = 0;
  for (size_t t = 0; t < terms; t++)
    if (pattern->terms[t].kind == EG_PATTERN_NODE) arity_sum += pattern->terms[t].arity;
  eg_arena *arena = &program->arena;
  *c = (compiler){.program = program, .pattern = pattern};
  program->register_count = pattern->var_count + pattern->term_count;
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(uint32_t), &program->registers));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(bool), &program->is_reachable));
  program->max_steps = (uint32_t)terms + pattern->root_count;
  c->max_moves = (uint32_t)arity_sum + 1;
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(uint32_t), &c->order));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(bool), &c->is_ground));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(bool), &c->is_placed));
  EG_TRY(eg_arena_alloc(arena, program->register_count, sizeof(bool), &c->is_bound));
  EG_TRY(eg_arena_alloc(arena, arity_sum, sizeof(uint32_t), &c->agenda));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(uint32_t), &c->above));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(uint32_t), &c->above_position));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof(uint32_t), &c->queue));
  for (uint32_t t = 0; t < terms; t++) {
    const eg_pattern_term *term = &pattern->terms[t];
    program->registers[t] =
        term->kind == EG_PATTERN_VAR ? term->var : pattern->var_count + t;
  }
  return EGRAPH_OK;
}

// ---- order ----------------------------------------------------------------------------

/// Orders the terms below one root depth-first; `next` counts the visited children of
/// each term on the stack.
static egraph_status order_below(compiler *c, uint32_t root, uint32_t *stack,
                                 uint32_t *next, bool *is_open) {
  bool *seen = c->program->is_reachable;
  if (seen[root]) return EGRAPH_OK;
  uint32_t depth = 0;
  stack[depth++] = root;
  seen[root] = is_open[root] = true;
  while (depth != 0) {
    uint32_t term = stack[depth - 1];
    if (next[term] == arity_of(c->pattern, term)) {
      is_open[term] = false;
      c->order[c->order_count++] = term;
      depth--;
      continue;
    }
    uint32_t child = child_of(c->pattern, term, next[term]++);
    if (is_open[child])
      return EG_FAIL(EGRAPH_E_ARGUMENT, "pattern term %u is below itself", child);
    if (seen[child]) continue;
    seen[child] = is_open[child] = true;
    stack[depth++] = child;
  }
  return EGRAPH_OK;
}

static egraph_status order_terms(compiler *c) {
  uint32_t *stack, *next;
  bool *is_open;
  eg_arena *arena = &c->program->arena;
  EG_TRY(eg_arena_alloc(arena, c->pattern->term_count, sizeof *stack, &stack));
  EG_TRY(eg_arena_alloc(arena, c->pattern->term_count, sizeof *next, &next));
  EG_TRY(eg_arena_alloc(arena, c->pattern->term_count, sizeof *is_open, &is_open));
  for (uint32_t i = 0; i < c->pattern->root_count; i++)
    EG_TRY(order_below(c, c->pattern->roots[i], stack, next, is_open));
  return EGRAPH_OK;
}

// ---- compiling ------------------------------------------------------------------------

static egraph_status compile_pattern(eg_matcher *program, const eg_pattern *pattern) {
  compiler c;
  EG_TRY(check_pattern(pattern));
  EG_TRY(copy_pattern(program, pattern));
  EG_TRY(prepare_program(&c, program));
  EG_TRY(order_terms(&c));
  EG_TRY(make_plans(&c));
  for (uint32_t i = 0; i < c.order_count; i++) {
    const eg_pattern_term *term = &program->pattern.terms[c.order[i]];
    if (term->kind == EG_PATTERN_VAR) continue;
    if (term->arity > program->max_arity) program->max_arity = term->arity;
    if (term->guard != EG_PATTERN_ANY_PAYLOAD) program->has_guard = true;
  }
  return EGRAPH_OK;
}

egraph_status eg_matcher_create(const egraph_allocator *alloc, const eg_pattern *pattern,
                                eg_matcher **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_HELD(eg_matcher, program);
  EG_TRY(eg_alloc(heap, 1, sizeof *program, &program));
  program->alloc = heap;
  eg_arena_init(&program->arena, heap);
  EG_HAND_OVER(compile_pattern(program, pattern), program, out);
}

const uint32_t *eg_matcher_order(const eg_matcher *program, uint32_t *out_count) {
  *out_count = program->order_count;
  return program->order;
}

void eg_matcher_destroy(eg_matcher *program) {
  if (program == NULL) return;
  eg_arena_deinit(&program->arena);
  eg_free(program->alloc, program, 1, sizeof *program);
}
