// The rules as the checker sees them, and the unions of the caller. The latter are pairs
// of ground terms in one set with the terms of the explanation, so that equal terms have
// equal numbers; the set is made when the first such step comes.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/owner.h"
#include "egraph/explain_check.h"
#include "rewrites/terms/symbolic_explain.h"
#include "rewrites/terms/symbolic_internal.h"

typedef struct given_pairs {
  const eg_symbolic *symbolic;
  eg_explainer *explainer; // makes terms only
  eg_log_reader reader;
  eg_ground_terms terms;
  eg_ground_copier of_log, of_explanation;
  eg_u32s pairs; // of `terms`
  eg_flatmap map;
  egraph_status status; // of what the checker cannot be told
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

static egraph_status add_pair(given_pairs *given, eg_class a, eg_class b) {
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
    EG_TRY(add_pair(given, equation.a, equation.b));
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
  (void)terms; // those of the explanation
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
  eg_ground_copier_init(&given.of_log, eg_explainer_terms(given.explainer), &given.terms,
                        alloc);
  eg_ground_copier_init(&given.of_explanation, &explanation->terms, &given.terms, alloc);
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
