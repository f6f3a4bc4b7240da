// Checks and copies a pattern, orders its terms, and has the plans made (match_plans.c).
// SPDX-License-Identifier: Apache-2.0
#include "egraph/pattern.h"

#include <string.h>

#include "egraph/match_plans.h"

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

static egraph_status prepare_program(eg_compiler *c, eg_matcher *program) {
  const eg_pattern *pattern = &program->pattern;
  size_t terms = pattern->term_count, arity_sum = 0;
  for (size_t t = 0; t < terms; t++)
    if (pattern->terms[t].kind == EG_PATTERN_NODE) arity_sum += pattern->terms[t].arity;
  eg_arena *arena = &program->arena;
  *c = (eg_compiler){.program = program, .pattern = pattern};
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

/// Depth-first from one root; `next` counts the visited children of each
/// term on the stack.
static egraph_status visit(eg_compiler *c, uint32_t root, uint32_t *stack, uint32_t *next,
                           bool *is_open) {
  bool *seen = c->program->is_reachable;
  if (seen[root]) return EGRAPH_OK;
  uint32_t depth = 0;
  stack[depth++] = root;
  seen[root] = is_open[root] = true;
  while (depth != 0) {
    uint32_t term = stack[depth - 1];
    if (next[term] == eg_pattern_arity(c->pattern, term)) {
      is_open[term] = false;
      c->order[c->order_count++] = term;
      depth--;
      continue;
    }
    uint32_t child = eg_pattern_child(c->pattern, term, next[term]++);
    if (is_open[child])
      return EG_FAIL(EGRAPH_E_ARGUMENT, "pattern term %u is below itself", child);
    if (seen[child]) continue;
    seen[child] = is_open[child] = true;
    stack[depth++] = child;
  }
  return EGRAPH_OK;
}

static egraph_status order_terms(eg_compiler *c) {
  uint32_t *stack, *next;
  bool *is_open;
  eg_arena *arena = &c->program->arena;
  EG_TRY(eg_arena_alloc(arena, c->pattern->term_count, sizeof *stack, &stack));
  EG_TRY(eg_arena_alloc(arena, c->pattern->term_count, sizeof *next, &next));
  EG_TRY(eg_arena_alloc(arena, c->pattern->term_count, sizeof *is_open, &is_open));
  for (uint32_t i = 0; i < c->pattern->root_count; i++)
    EG_TRY(visit(c, c->pattern->roots[i], stack, next, is_open));
  return EGRAPH_OK;
}

// ---- compiling ------------------------------------------------------------------------

static egraph_status compile(eg_matcher *program, const eg_pattern *pattern) {
  eg_compiler c;
  EG_TRY(check_pattern(pattern));
  EG_TRY(copy_pattern(program, pattern));
  EG_TRY(prepare_program(&c, program));
  EG_TRY(order_terms(&c));
  EG_TRY(eg_compiler_make_plans(&c));
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
  eg_matcher *program;
  EG_TRY(eg_alloc(heap, 1, sizeof *program, &program));
  program->alloc = heap;
  eg_arena_init(&program->arena, heap);
  egraph_status status = compile(program, pattern);
  if (status != EGRAPH_OK) {
    eg_matcher_destroy(program);
    return status;
  }
  *out = program;
  return EGRAPH_OK;
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
