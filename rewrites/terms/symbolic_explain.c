// Replays the applications once, in their order. Each application builds both sides of
// its rule from the terms of the classes of its variables; equalities that the search
// used follow by congruence from the applications before.
//
// The checker gets the rules as equations, and the unions of the caller as pairs
// of ground terms in one set with the terms of the explanation, so that equal terms have
// equal numbers; the set is built at the first such step.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic_explain.h"

#include <assert.h>

#include "base/hash.h"
#include "base/owner.h"
#include "egraph/explain_check.h"
#include "rewrites/terms/symbolic_internal.h"

// ---- ground terms as text ----------------------------------------------------

// A frame of a walk over terms: terms can be deeper than any call stack.
typedef struct frame {
  uint32_t term, next; // operand
} frame;
EG_VEC_DEFINE(frame_vec, frame);

typedef struct printer {
  const eg_symbolic *symbolic;
  const eg_ground_terms *terms;
  frame_vec *stack;
  uint32_t nodes;
  eg_text *out;
} printer;

static egraph_status open_term(printer *p, uint32_t term) {
  if (++p->nodes > EG_SYMBOLIC_MAX_PRINTED)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "a term has more than %d nodes, and is not written",
                   (int)EG_SYMBOLIC_MAX_PRINTED);
  eg_ground ground = eg_ground_at(p->terms, term);
  const char *atom = eg_symbolic_atom(p->symbolic, ground.op);
  if (ground.arity == 0) return eg_text_append(p->out, atom);
  EG_TRY(eg_text_printf(p->out, "(%s", atom));
  return frame_vec_push(p->stack, (frame){.term = term});
}

egraph_status eg_symbolic_print_ground(const eg_symbolic *symbolic,
                                       const eg_ground_terms *terms, uint32_t term,
                                       eg_text *out) {
  EG_LOCAL(frame_vec, stack, out->chars.alloc);
  printer p = {.symbolic = symbolic, .terms = terms, .out = out, .stack = &stack};
  EG_TRY(open_term(&p, term));
  while (stack.len != 0) {
    frame *top = &stack.data[stack.len - 1];
    eg_ground ground = eg_ground_at(terms, top->term);
    if (top->next == ground.arity) {
      eg_text_append(out, ")");
      stack.len--;
      continue;
    }
    eg_text_append(out, " ");
    EG_TRY(open_term(&p, ground.children[top->next++]));
  }
  return eg_text_status(out);
}

enum { ROOT_SHIFT = 20, MAX_ROOTS = (1 << 11) - 1 };

struct eg_symbolic_explainer {
  eg_symbolic *symbolic;
  egraph_allocator alloc;
  eg_explainer *closure;
  eg_log_reader reader;
  size_t next; // application
  eg_u32s built, operands;
};

// ---- keeping ---------------------------------------------------------------------

egraph_status eg_symbolic_keep_explanations(eg_symbolic *symbolic) {
  return eg_engine_start_log(eg_symbolic_engine(symbolic), EG_REASON_SEED);
}

// ---- explainers ------------------------------------------------------------------

egraph_status eg_symbolic_explainer_create(const egraph_allocator *allocator,
                                           eg_symbolic *symbolic,
                                           eg_symbolic_explainer **out) {
  const eg_engine *engine = eg_symbolic_engine(symbolic);
  if (!eg_engine_has_log(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no explanations are kept of this e-graph; ask for them before the "
                   "first term is added");
  egraph_allocator alloc = eg_allocator_or_heap(allocator);
  eg_symbolic_explainer *explainer;
  EG_TRY(eg_alloc(alloc, 1, sizeof *explainer, &explainer));
  egraph_status status = eg_explainer_create(&alloc, &explainer->closure);
  if (status != EGRAPH_OK) {
    eg_free(alloc, explainer, 1, sizeof *explainer);
    return status;
  }
  explainer->symbolic = symbolic;
  explainer->alloc = alloc;
  eg_log_reader_init(&explainer->reader, engine, explainer->closure, alloc);
  eg_u32s_init(&explainer->built, alloc);
  eg_u32s_init(&explainer->operands, alloc);
  *out = explainer;
  return EGRAPH_OK;
}

void eg_symbolic_explainer_destroy(eg_symbolic_explainer *explainer) {
  if (explainer == NULL) return;
  eg_explainer_destroy(explainer->closure);
  eg_log_reader_deinit(&explainer->reader);
  eg_u32s_deinit(&explainer->built);
  eg_u32s_deinit(&explainer->operands);
  eg_free(explainer->alloc, explainer, 1, sizeof *explainer);
}

// ---- terms -----------------------------------------------------------------------

/// Builds ground terms from a pattern; `vars` are the classes of its variables.
static egraph_status build_pattern(eg_symbolic_explainer *explainer,
                                   const eg_pattern_term *terms, uint32_t count,
                                   const uint32_t *children, const uint32_t *vars) {
  EG_TRY(eg_u32s_resize(&explainer->built, count));
  uint32_t *built = explainer->built.data;
  for (uint32_t i = 0; i < count; i++) {
    const eg_pattern_term *term = &terms[i];
    if (term->kind == EG_PATTERN_VAR) {
      eg_class class = {vars[term->var]};
      EG_TRY(eg_log_reader_term(&explainer->reader, class, &built[i]));
      continue;
    }
    EG_TRY(eg_u32s_resize(&explainer->operands, term->arity));
    for (uint32_t k = 0; k < term->arity; k++)
      explainer->operands.data[k] = built[children[term->children + k]];
    eg_ground ground = {
        .op = term->op, .arity = term->arity, .children = explainer->operands.data};
    EG_TRY(eg_explainer_add(explainer->closure, &ground, &built[i]));
  }
  return EGRAPH_OK;
}

egraph_status eg_symbolic_explainer_read(eg_symbolic_explainer *explainer,
                                         const char *file, const char *text, size_t size,
                                         uint32_t *out_term) {
  EG_LOCAL(eg_arena, arena, explainer->alloc);
  EG_LOCAL(eg_symbolic_terms, terms, explainer->alloc);
  uint32_t root;
  EG_TRY(eg_symbolic_parse_term(eg_symbolic_atoms(explainer->symbolic), &arena, file,
                                text, size, &terms, &root));
  EG_TRY(build_pattern(explainer, terms.terms.data, (uint32_t)terms.terms.len,
                       terms.children.data, NULL));
  *out_term = explainer->built.data[root];
  return EGRAPH_OK;
}

egraph_status eg_symbolic_explainer_class(eg_symbolic_explainer *explainer,
                                          eg_class class, uint32_t *out_term) {
  return eg_log_reader_term(&explainer->reader, class, out_term);
}

// ---- replaying -------------------------------------------------------------------

static egraph_status state_application(eg_symbolic_explainer *explainer,
                                       const uint32_t *words) {
  assert(words[0] < eg_symbolic_rule_count(explainer->symbolic));
  const eg_symbolic_rule *rule = eg_symbolic_rule_at(explainer->symbolic, words[0]);
  if (words[0] >> ROOT_SHIFT != 0 || rule->root_count > MAX_ROOTS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "explanations name at most 2^20 rules, with %d left sides each",
                   (int)MAX_ROOTS);
  EG_TRY(
      build_pattern(explainer, rule->terms, rule->term_count, rule->children, words + 1));
  for (uint32_t root = 0; root < rule->root_count; root++)
    EG_TRY(eg_explainer_state(explainer->closure, explainer->built.data[rule->lhs[root]],
                              explainer->built.data[rule->rhs[root]],
                              root << ROOT_SHIFT | words[0]));
  explainer->next += 1 + rule->var_count;
  return EGRAPH_OK;
}

egraph_status eg_symbolic_explainer_explain(eg_symbolic_explainer *explainer,
                                            uint32_t from, uint32_t to, size_t max_words,
                                            eg_explanation *out) {
  size_t count;
  const uint32_t *notes =
      eg_engine_notes(eg_symbolic_engine_of(explainer->symbolic), &count);
  EG_TRY(eg_log_reader_state(&explainer->reader));
  while (explainer->next < count && !eg_explainer_are_equal(explainer->closure, from, to))
    EG_TRY(state_application(explainer, notes + explainer->next));
  return eg_explainer_explain(explainer->closure, from, to, max_words, out);
}

bool eg_symbolic_reason_of(uint32_t reason, uint32_t *out_rule, uint32_t *out_root) {
  if (reason == EG_REASON_SEED) return false;
  *out_rule = reason & ((UINT32_C(1) << ROOT_SHIFT) - 1);
  *out_root = reason >> ROOT_SHIFT;
  return true;
}

// ---- checking --------------------------------------------------------------------

typedef struct given_pairs {
  const eg_symbolic *symbolic;
  eg_explainer *explainer; // makes terms only
  eg_log_reader reader;
  eg_ground_terms terms;
  eg_ground_copier of_log, of_explanation;
  eg_u32s pairs; // pairs of terms in `terms`
  eg_flatmap map;
  egraph_status status; // status of callbacks, which cannot return it to the checker
  bool is_made;
} given_pairs;

static bool find_equation(void *user, uint32_t reason, eg_equation *out) {
  const given_pairs *given = user;
  uint32_t index, root;
  if (!eg_symbolic_reason_of(reason, &index, &root) ||
      index >= eg_symbolic_rule_count(given->symbolic) ||
      root >= eg_symbolic_rule_at(given->symbolic, index)->root_count)
    return false;
  const eg_symbolic_rule *rule = eg_symbolic_rule_at(given->symbolic, index);
  *out = (eg_equation){.terms = rule->terms,
                       .children = rule->children,
                       .left = rule->lhs[root],
                       .right = rule->rhs[root],
                       .var_count = rule->var_count};
  return true;
}

static bool is_pair(const void *user, uint32_t index, const void *key) {
  const given_pairs *given = user;
  return memcmp(given->pairs.data + 2 * index, key, 2 * sizeof(uint32_t)) == 0;
}

static egraph_status add_given_pair(given_pairs *given, eg_class a, eg_class b) {
  uint32_t made[2], pair[2];
  EG_TRY(eg_log_reader_term(&given->reader, a, &made[0]));
  EG_TRY(eg_log_reader_term(&given->reader, b, &made[1]));
  for (uint32_t i = 0; i < 2; i++)
    EG_TRY(eg_ground_copy(&given->of_log, made[i], &pair[i]));
  uint64_t hash = eg_hash_combine(pair[0], pair[1]);
  uint32_t index;
  if (eg_flatmap_find(&given->map, hash, pair, is_pair, given, &index)) return EGRAPH_OK;
  EG_TRY(eg_flatmap_reserve_one(&given->map));
  EG_TRY(eg_u32s_append(&given->pairs, pair, 2));
  return eg_flatmap_insert(&given->map, hash, (uint32_t)(given->pairs.len / 2 - 1));
}

static egraph_status make_pairs(given_pairs *given) {
  const eg_engine *engine = eg_symbolic_engine_of(given->symbolic);
  for (size_t i = 0; i < eg_engine_logged_count(engine); i++) {
    eg_union equation = eg_engine_logged_at(engine, i);
    EG_TRY(add_given_pair(given, equation.a, equation.b));
  }
  given->is_made = true;
  return EGRAPH_OK;
}

static egraph_status find_pair(given_pairs *given, uint32_t left, uint32_t right,
                               bool *out) {
  uint32_t pair[2], index;
  if (!given->is_made) EG_TRY(make_pairs(given));
  EG_TRY(eg_ground_copy(&given->of_explanation, left, &pair[0]));
  EG_TRY(eg_ground_copy(&given->of_explanation, right, &pair[1]));
  *out = eg_flatmap_find(&given->map, eg_hash_combine(pair[0], pair[1]), pair, is_pair,
                         given, &index);
  return EGRAPH_OK;
}

static bool is_given(void *user, const eg_ground_terms *terms, uint32_t left,
                     uint32_t right) {
  given_pairs *given = user;
  bool found = false;
  (void)terms; // the terms of the explanation
  if (given->status == EGRAPH_OK) given->status = find_pair(given, left, right, &found);
  return found;
}

egraph_status eg_symbolic_check_explanation(const egraph_allocator *allocator,
                                            const eg_symbolic *symbolic,
                                            const eg_explanation *explanation) {
  egraph_allocator alloc = eg_allocator_or_heap(allocator);
  given_pairs given = {.symbolic = symbolic};
  EG_TRY(eg_explainer_create(&alloc, &given.explainer));
  eg_log_reader_init(&given.reader, eg_symbolic_engine_of(symbolic), given.explainer,
                     alloc);
  eg_ground_init(&given.terms, alloc);
  eg_ground_copier_init(&given.of_log, alloc);
  given.of_log.from = eg_explainer_terms(given.explainer);
  given.of_log.to = &given.terms;
  eg_ground_copier_init(&given.of_explanation, alloc);
  given.of_explanation.from = &explanation->terms;
  given.of_explanation.to = &given.terms;
  eg_u32s_init(&given.pairs, alloc);
  eg_flatmap_init(&given.map, alloc);
  eg_check_rules rules = {
      .user = &given, .equation = find_equation, .is_given = is_given};
  egraph_status status = eg_explanation_check(explanation, &rules);
  if (given.status != EGRAPH_OK) status = given.status;
  EG_DEINIT_MEMBERS(&given, (eg_log_reader, reader), (eg_ground, terms),
                    (eg_ground_copier, of_log, of_explanation), (eg_u32s, pairs),
                    (eg_flatmap, map));
  eg_explainer_destroy(given.explainer);
  return status;
}
