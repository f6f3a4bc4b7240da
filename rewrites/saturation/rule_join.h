// Joins the matches of rules whose left side is (each ...): the search finds matches of
// one element. Elements that agree in the shared variables, and for which the conditions
// hold, form a set. The rule is applied to each whole set, and to each pair of a small
// set, so that a search for the cheapest graph has a choice.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_JOIN_H
#define EG_REWRITES_RULE_JOIN_H

#include "base/flatmap.h"
#include "rewrites/language/rules.h"
#include "rewrites/saturation/rule_eval.h"

/// A match of one element of a rule's (each ...): of the rule's case with one element.
typedef struct eg_rule_element {
  const eg_rule *rule;
  uint32_t depth;
  size_t first;          // place of its first word
  const uint32_t *words; // set when all words are there
  uint32_t word_count;
} eg_rule_element;
EG_VEC_DEFINE(eg_rule_elements, eg_rule_element);

/// A set of matches whose elements one rule application can join.
typedef struct eg_rule_set {
  uint32_t first, last;
  uint32_t next; // set with the same shared words, or EG_RULE_NONE
} eg_rule_set;
EG_VEC_DEFINE(eg_rule_sets, eg_rule_set);

typedef struct eg_rule_join {
  eg_rule_elements elements;
  eg_u32s words;  // words of the elements
  eg_u32s next;   // per element the next of its set, or EG_RULE_NONE
  eg_u32s shared; // places of the words that are the same in a set of the current rule
  eg_rule_sets sets;
  eg_flatmap by_shared; // the first set of each kind, of the current rule
  eg_u32s chosen;       // elements of the current match
  eg_u32s match;
  const eg_rule *last_element, *last_case; // case used last, with this many elements:
  uint32_t last_count;
  eg_rule_value *vars; // [var_cap]
  uint32_t var_cap;
  uint64_t looked_at; // choices of elements in the last join, its work
} eg_rule_join;

void eg_rule_join_init(eg_rule_join *join, egraph_allocator alloc);
void eg_rule_join_deinit(eg_rule_join *join);
size_t eg_rule_join_bytes(const eg_rule_join *join);
/// Adds a match of one element, with its `count` words. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rule_join_add(eg_rule_join *join, const eg_rule *rule, uint32_t depth,
                               const uint32_t *words, uint32_t count);

/// Receives a case of a rule and the joined match, for which its conditions hold.
typedef egraph_status eg_rule_joined(void *user, const eg_rule *rule, uint32_t depth,
                                     const uint32_t *match, bool *out_stop);
typedef struct eg_rule_joining {
  const eg_tensor_egraph *egraph;
  eg_rule_cases *cases;
  uint32_t rule; // the rule of the elements
  eg_rule_scratch *scratch;
  eg_rule_joined *take;
  void *user;
} eg_rule_joining;

/// Joins the matches that were added, and then drops them. The order of rules matters,
/// the order of matches does not. Fails as `take`, or as eg_rule_cases_get.
egraph_status eg_rule_join_all(eg_rule_join *join, const eg_rule_joining *how);

#endif
