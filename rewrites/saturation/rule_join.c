// The pattern of the case with n elements is n times the pattern of one element, with the
// shared variables in common: the words of its match are copied from the elements, term
// by term.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_join.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/saturation/rule_match.h"

enum { PAIRED = 16 }; // elements of the largest set whose pairs are applied

#define OWNED                                                                            \
  (eg_rule_elements, elements), (eg_rule_sets, sets), (eg_flatmap, by_shared),           \
      (eg_u32s, words, next, shared, chosen, match)

void eg_rule_join_init(eg_rule_join *join, egraph_allocator alloc) {
  *join = (eg_rule_join){.var_cap = 0};
  EG_INIT_MEMBERS(join, alloc, OWNED);
}

void eg_rule_join_deinit(eg_rule_join *join) {
  eg_free(join->words.alloc, join->vars, join->var_cap, sizeof *join->vars);
  EG_DEINIT_MEMBERS(join, OWNED);
}

size_t eg_rule_join_bytes(const eg_rule_join *join) {
  size_t words = join->words.cap + join->next.cap + join->shared.cap + join->chosen.cap +
                 join->match.cap;
  return words * sizeof(uint32_t) + join->elements.cap * sizeof *join->elements.data +
         join->sets.cap * sizeof *join->sets.data +
         join->by_shared.capacity * sizeof *join->by_shared.slots +
         join->var_cap * sizeof *join->vars;
}

egraph_status eg_rule_join_add(eg_rule_join *join, const eg_rule *rule, uint32_t depth,
                               const uint32_t *words, uint32_t count) {
  const eg_rule_element element = {
      .rule = rule, .depth = depth, .first = join->words.len, .word_count = count};
  EG_TRY(eg_u32s_append(&join->words, words, count));
  return eg_rule_elements_push(&join->elements, element);
}

// ---- matches of several elements ---------------------------------------------------

/// Finds the rule's case with `count` elements; mostly it is the same case as last time.
static egraph_status find_case(eg_rule_join *join, const eg_rule_joining *how,
                               const eg_rule *element, uint32_t count,
                               const eg_rule **out) {
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  *out = join->last_case;
  if (join->last_element == element && join->last_count == count) return EGRAPH_OK;
  memcpy(values, element->values, element->schema->parameter_count * sizeof *values);
  values[element->schema->sides] = count;
  EG_TRY(eg_rule_cases_get(how->cases, how->rule, values, out));
  join->last_case = *out;
  join->last_element = element;
  join->last_count = count;
  return EGRAPH_OK;
}

/// Copies the classes of one root's variables from an element's match to `words`. False
/// when a shared variable already has another class there.
static bool take_classes(const eg_rule *rule, uint32_t root,
                         const eg_rule_element *element, uint32_t *words) {
  uint32_t first = rule->lhs[root].first_term;
  for (uint32_t t = 0; t < element->rule->pattern_term_count; t++) {
    const eg_rule_term *to = &rule->terms[first + t];
    if (!to->is_var) continue;
    uint32_t place = rule->vars[to->var].pattern_var;
    uint32_t from = element->rule->vars[element->rule->terms[t].var].pattern_var;
    if (place == EG_RULE_NONE) continue;
    if (words[place] != EG_RULE_NONE && words[place] != element->words[from])
      return false;
    words[place] = element->words[from];
  }
  return true;
}

/// Writes the match that joins the chosen elements to join->match. *out_fits is false
/// when elements differ in a shared variable.
static egraph_status write_match(eg_rule_join *join, const eg_rule *rule,
                                 bool *out_fits) {
  uint32_t vars = rule->pattern_var_count;
  join->match.len = 0;
  EG_TRY(eg_u32s_resize(&join->match, vars));
  for (uint32_t i = 0; i < vars; i++)
    join->match.data[i] = EG_RULE_NONE;
  *out_fits = true;
  for (uint32_t i = 0; i < join->chosen.len && *out_fits; i++)
    *out_fits = take_classes(rule, i, &join->elements.data[join->chosen.data[i]],
                             join->match.data);
  if (!*out_fits) return EGRAPH_OK;
  for (uint32_t i = 0; i < join->chosen.len; i++) {
    const eg_rule_element *e = &join->elements.data[join->chosen.data[i]];
    EG_TRY(eg_u32s_push(&join->match, e->words[e->rule->pattern_var_count]));
  }
  for (uint32_t i = 0; i < join->chosen.len; i++) {
    const eg_rule_element *e = &join->elements.data[join->chosen.data[i]];
    uint32_t nodes = e->rule->pattern_var_count + 1; // behind the only root
    EG_TRY(eg_u32s_append(&join->match, e->words + nodes, e->word_count - nodes));
  }
  return EGRAPH_OK;
}

static egraph_status check_conditions(eg_rule_join *join, const eg_rule_joining *how,
                                      const eg_rule *rule, bool *out_fits) {
  if (rule->var_count > join->var_cap) {
    EG_TRY(eg_resize(join->words.alloc, join->var_cap, rule->var_count,
                     sizeof *join->vars, &join->vars));
    join->var_cap = rule->var_count;
  }
  eg_rule_env env = {
      .egraph = how->egraph, .rule = rule, .vars = join->vars, .scratch = how->scratch};
  *out_fits = eg_rule_match_bind(&env, join->match.data);
  for (uint32_t i = 0; i < rule->condition_count && *out_fits; i++)
    *out_fits = eg_rule_holds(&env, rule->conditions[i]);
  return EGRAPH_OK;
}

/// Checks if a case of the rule matches the chosen elements; join->match is then
/// its match.
static egraph_status match_chosen(eg_rule_join *join, const eg_rule_joining *how,
                                  const eg_rule **out_rule, bool *out_fits) {
  assert(join->chosen.len != 0);
  const eg_rule_element *first = &join->elements.data[join->chosen.data[0]];
  join->looked_at++;
  EG_TRY(find_case(join, how, first->rule, (uint32_t)join->chosen.len, out_rule));
  *out_fits = *out_rule != NULL;
  if (!*out_fits) return EGRAPH_OK;
  EG_TRY(write_match(join, *out_rule, out_fits));
  return *out_fits ? check_conditions(join, how, *out_rule, out_fits) : EGRAPH_OK;
}

static egraph_status take_chosen(eg_rule_join *join, const eg_rule_joining *how,
                                 bool *out_stop) {
  const eg_rule *rule;
  bool fits;
  uint32_t depth = 0;
  EG_TRY(match_chosen(join, how, &rule, &fits));
  if (!fits) return EGRAPH_OK;
  for (size_t i = 0; i < join->chosen.len; i++)
    if (join->elements.data[join->chosen.data[i]].depth > depth)
      depth = join->elements.data[join->chosen.data[i]].depth;
  return how->take(how->user, rule, depth, join->match.data, out_stop);
}

// ---- sets -----------------------------------------------------------------------------

static int by_words(const void *a, const void *b) {
  const eg_rule_element *x = a, *y = b;
  if (x->rule != y->rule) // elements of one rule are neighbours
    return x->rule->values[0] != y->rule->values[0]
               ? (x->rule->values[0] < y->rule->values[0] ? -1 : 1)
               : strcmp(x->rule->name, y->rule->name);
  for (uint32_t i = 0; i < x->word_count; i++)
    if (x->words[i] != y->words[i]) return x->words[i] < y->words[i] ? -1 : 1;
  return 0;
}

static void sort_elements(eg_rule_join *join) {
  eg_rule_elements *elements = &join->elements;
  size_t kept = 0;
  for (size_t i = 0; i < elements->len; i++)
    elements->data[i].words = join->words.data + elements->data[i].first;
  if (elements->len == 0) return;
  qsort(elements->data, elements->len, sizeof *elements->data, by_words);
  for (size_t i = 0; i < elements->len; i++)
    if (kept == 0 || by_words(&elements->data[kept - 1], &elements->data[i]) != 0)
      elements->data[kept++] = elements->data[i];
  elements->len = kept;
}

/// Finds the words of a match (shared variables) that all elements of a set have in
/// common. *out_joins is false when the rule has no case with two elements.
static egraph_status find_shared(eg_rule_join *join, const eg_rule_joining *how,
                                 const eg_rule *element, bool *out_joins) {
  const eg_rule *pair;
  join->shared.len = 0;
  EG_TRY(find_case(join, how, element, 2, &pair));
  *out_joins = pair != NULL;
  for (uint32_t t = 0; *out_joins && t < element->pattern_term_count; t++) {
    const eg_rule_term *one = &pair->terms[pair->lhs[0].first_term + t];
    const eg_rule_term *other = &pair->terms[pair->lhs[1].first_term + t];
    if (!one->is_var) continue;
    uint32_t place = pair->vars[one->var].pattern_var;
    if (place == EG_RULE_NONE || place != pair->vars[other->var].pattern_var) continue;
    EG_TRY(eg_u32s_push(&join->shared, element->vars[element->terms[t].var].pattern_var));
  }
  return EGRAPH_OK;
}

static bool has_shared(const void *user, uint32_t set, const void *key) {
  const eg_rule_join *join = user;
  const eg_rule_element *x = key;
  const eg_rule_element *y = &join->elements.data[join->sets.data[set].first];
  for (size_t i = 0; i < join->shared.len; i++)
    if (x->words[join->shared.data[i]] != y->words[join->shared.data[i]]) return false;
  return true;
}

/// Checks if the matches of an element and of the first element of a set can be joined.
static egraph_status fits_set(eg_rule_join *join, const eg_rule_joining *how,
                              uint32_t set, uint32_t element, bool *out_fits) {
  const eg_rule *rule;
  join->chosen.len = 0;
  EG_TRY(eg_u32s_push(&join->chosen, join->sets.data[set].first));
  EG_TRY(eg_u32s_push(&join->chosen, element));
  return match_chosen(join, how, &rule, out_fits);
}

static egraph_status begin_set(eg_rule_join *join, uint32_t element) {
  const eg_rule_set set = {.first = element, .last = element, .next = EG_RULE_NONE};
  return eg_rule_sets_push(&join->sets, set);
}

/// Adds an element's match to the first set with the same shared variables that it fits,
/// or to a new set.
static egraph_status place_element(eg_rule_join *join, const eg_rule_joining *how,
                                   uint32_t element) {
  const eg_rule_element *it = &join->elements.data[element];
  uint64_t hash = 0;
  for (size_t i = 0; i < join->shared.len; i++)
    hash = eg_hash_combine(hash, it->words[join->shared.data[i]]);
  uint32_t set, last = EG_RULE_NONE, begun = (uint32_t)join->sets.len;
  if (!eg_flatmap_find(&join->by_shared, hash, it, has_shared, join, &set)) {
    EG_TRY(begin_set(join, element));
    return eg_flatmap_insert(&join->by_shared, hash, begun);
  }
  for (; set != EG_RULE_NONE; set = join->sets.data[set].next) {
    bool fits;
    EG_TRY(fits_set(join, how, set, element, &fits));
    last = set;
    if (!fits) continue;
    join->next.data[join->sets.data[set].last] = element;
    join->sets.data[set].last = element;
    return EGRAPH_OK;
  }
  EG_TRY(begin_set(join, element));
  join->sets.data[last].next = begun;
  return EGRAPH_OK;
}

static egraph_status find_sets(eg_rule_join *join, const eg_rule_joining *how) {
  const eg_rule *rule = NULL; // rule of the current elements
  bool joins = false;
  join->sets.len = join->next.len = 0;
  for (uint32_t i = 0; i < join->elements.len; i++) {
    EG_TRY(eg_u32s_push(&join->next, EG_RULE_NONE));
    if (join->elements.data[i].rule != rule) {
      rule = join->elements.data[i].rule;
      eg_flatmap_clear(&join->by_shared);
      EG_TRY(find_shared(join, how, rule, &joins));
    }
    if (joins) EG_TRY(place_element(join, how, i));
  }
  return EGRAPH_OK;
}

static egraph_status take_pairs(eg_rule_join *join, const eg_rule_joining *how,
                                uint32_t first, bool *out_stop) {
  for (uint32_t i = first; i != EG_RULE_NONE && !*out_stop; i = join->next.data[i])
    for (uint32_t k = join->next.data[i]; k != EG_RULE_NONE && !*out_stop;
         k = join->next.data[k]) {
      join->chosen.len = 0;
      EG_TRY(eg_u32s_push(&join->chosen, i));
      EG_TRY(eg_u32s_push(&join->chosen, k));
      EG_TRY(take_chosen(join, how, out_stop));
    }
  return EGRAPH_OK;
}

/// Applies the rule to a whole set of elements, in parts when the set is too large for
/// one case, and to each pair if the set is small.
static egraph_status take_set(eg_rule_join *join, const eg_rule_joining *how,
                              uint32_t first, bool *out_stop) {
  uint32_t size = 0;
  join->chosen.len = 0;
  for (uint32_t i = first; i != EG_RULE_NONE && !*out_stop; i = join->next.data[i]) {
    size++;
    EG_TRY(eg_u32s_push(&join->chosen, i));
    bool is_full =
        join->chosen.len == EG_RULE_MAX_COUNT || join->next.data[i] == EG_RULE_NONE;
    if (!is_full) continue;
    if (join->chosen.len > 1) EG_TRY(take_chosen(join, how, out_stop));
    join->chosen.len = 0;
  }
  bool has_pairs = size > 2 && size <= PAIRED && !*out_stop;
  return has_pairs ? take_pairs(join, how, first, out_stop) : EGRAPH_OK;
}

static egraph_status take_sets(eg_rule_join *join, const eg_rule_joining *how) {
  bool stop = false;
  sort_elements(join);
  EG_TRY(find_sets(join, how));
  for (size_t i = 0; i < join->sets.len && !stop; i++)
    EG_TRY(take_set(join, how, join->sets.data[i].first, &stop));
  return EGRAPH_OK;
}

egraph_status eg_rule_join_all(eg_rule_join *join, const eg_rule_joining *how) {
  join->looked_at = 0;
  egraph_status status = take_sets(join, how);
  join->elements.len = join->words.len = 0;
  return status;
}
