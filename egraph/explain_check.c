// Checks explanations. The checker follows the position of a step down the terms before
// and after the step: heads and all other children must agree. At the position it matches
// one side of the equation against the subterm before, and the other side against the
// subterm after, with the same variables; so variables that occur on one side only need
// no guess. Children of pattern terms come before their parents, so matching is a loop
// from the root down.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/explain_check.h"

#include "base/owner.h"

#define WRONG(...) EG_FAIL(EGRAPH_E_INTERNAL, "wrong explanation: " __VA_ARGS__)

typedef struct checker {
  const eg_explanation *explanation;
  const eg_ground_terms *terms;
  const eg_check_rules *rules;
  eg_u32s bound; // per variable: term + 1, or 0
  eg_u32s found; // per pattern term: term + 1, or 0
} checker;
EG_OWNER_DEFINE_STATIC(checker, (eg_u32s, bound, found))

static bool bind(uint32_t *slot, uint32_t term) {
  if (*slot == 0) *slot = term + 1;
  return *slot == term + 1;
}

static bool matches_node(checker *c, const eg_equation *equation,
                         const eg_pattern_term *pattern, uint32_t term) {
  eg_ground ground = eg_ground_at(c->terms, term);
  if (ground.op != pattern->op || ground.arity != pattern->arity ||
      ground.payload != (pattern->exact ? pattern->payload : 0))
    return false;
  for (uint32_t i = 0; i < ground.arity; i++) {
    uint32_t child = equation->children[pattern->children + i];
    if (!bind(&c->found.data[child], ground.children[i])) return false;
  }
  return true;
}

/// Matches one side of an equation; variables that the other side has bound stay.
static bool matches(checker *c, const eg_equation *equation, uint32_t root,
                    uint32_t term) {
  memset(c->found.data, 0, c->found.len * sizeof *c->found.data);
  c->found.data[root] = term + 1;
  for (uint32_t i = root + 1; i-- > 0;) {
    if (c->found.data[i] == 0) continue;
    const eg_pattern_term *pattern = &equation->terms[i];
    uint32_t ground = c->found.data[i] - 1;
    bool fits = pattern->kind == EG_PATTERN_VAR
                    ? bind(&c->bound.data[pattern->var], ground)
                    : matches_node(c, equation, pattern, ground);
    if (!fits) return false;
  }
  return true;
}

static egraph_status is_instance(checker *c, const eg_equation *equation, uint32_t left,
                                 uint32_t right, bool *out) {
  uint32_t last = equation->left > equation->right ? equation->left : equation->right;
  c->bound.len = 0;
  EG_TRY(eg_u32s_resize(&c->bound, equation->var_count));
  EG_TRY(eg_u32s_resize(&c->found, (size_t)last + 1));
  *out = matches(c, equation, equation->left, left) &&
         matches(c, equation, equation->right, right);
  return EGRAPH_OK;
}

/// Finds the subterms that a step replaces; the rest of the two whole terms must agree.
static egraph_status find_places(const checker *c, size_t number, uint32_t *out_before,
                                 uint32_t *out_after) {
  const eg_step *step = &c->explanation->steps.data[number];
  const uint32_t *position = c->explanation->positions.data + step->position;
  *out_before = step->before;
  *out_after = step->after;
  for (uint32_t level = 0; level < step->depth; level++) {
    eg_ground a = eg_ground_at(c->terms, *out_before);
    eg_ground b = eg_ground_at(c->terms, *out_after);
    if (a.op != b.op || a.payload != b.payload || a.arity != b.arity)
      return WRONG("step %zu changes what is above its place", number);
    if (position[level] >= a.arity)
      return WRONG("step %zu names child %u of %u", number, position[level], a.arity);
    for (uint32_t i = 0; i < a.arity; i++)
      if (i != position[level] && a.children[i] != b.children[i])
        return WRONG("step %zu changes what is beside its place", number);
    *out_before = a.children[position[level]];
    *out_after = b.children[position[level]];
  }
  return EGRAPH_OK;
}

static egraph_status check_step(checker *c, size_t number) {
  const eg_step *step = &c->explanation->steps.data[number];
  uint32_t before, after;
  EG_TRY(find_places(c, number, &before, &after));
  uint32_t left = step->backward ? after : before;
  uint32_t right = step->backward ? before : after;
  eg_equation equation;
  bool fits;
  if (c->rules->equation(c->rules->user, step->reason, &equation))
    EG_TRY(is_instance(c, &equation, left, right, &fits));
  else
    fits = c->rules->is_given != NULL &&
           c->rules->is_given(c->rules->user, c->terms, left, right);
  if (fits) return EGRAPH_OK;
  return WRONG("step %zu is no instance of equation %u", number, step->reason);
}

egraph_status eg_explanation_check(const eg_explanation *explanation,
                                   const eg_check_rules *rules) {
  EG_LOCAL_WITH(checker, own, explanation->steps.alloc, .explanation = explanation,
                .terms = &explanation->terms, .rules = rules);
  checker *c = &own;
  const eg_explanation *e = explanation;
  uint32_t term = e->from;
  for (size_t i = 0; i < e->steps.len; i++) {
    if (e->steps.data[i].before != term)
      return WRONG("step %zu does not go on from the term before", i);
    EG_TRY(check_step(c, i));
    term = e->steps.data[i].after;
  }
  if (term != e->to) return WRONG("it does not end at the term asked for");
  return EGRAPH_OK;
}
