// A set of rules from within: what reading files adds to it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULES_INTERNAL_H
#define EG_REWRITES_RULES_INTERNAL_H

#include "base/flatmap.h"
#include "rewrites/language/rules.h"

EG_VEC_DEFINE(eg_rule_tests, eg_rule_test *);
EG_VEC_DEFINE(eg_rule_list, eg_rule *);

/// Rules in order, found by name and by what they say.
typedef struct eg_rule_index {
  eg_rule_list list;
  eg_flatmap names, keys;
  bool parallel; // equal rules have equal parallel_key, instead of equal key
} eg_rule_index;

struct eg_rules {
  egraph_allocator alloc;
  eg_arena arena;
  eg_rule_index rules;
  eg_rule_index implied; // kept for what they say of layouts
  eg_rule_tests tests;
  eg_flatmap test_names;
  const struct eg_rule_checks *checks; // borrowed; NULL: none
  bool is_builtin;                     // what is read now: tests have verified it
  bool is_verified;                    // what is read of others
  eg_u32s switched; // shipped rules that the text that is read has switched on
};

/// Adds a direction of a rule. `form` is for messages; names and left sides must be new.
egraph_status eg_rules_add(eg_rules *rules, const eg_rule *rule, const eg_sexpr *form);
/// Adds a rule that is kept to be told, not to be applied.
egraph_status eg_rules_add_implied(eg_rules *rules, const eg_rule *rule,
                                   const eg_sexpr *form);
egraph_status eg_rules_add_test(eg_rules *rules, const eg_rule_test *test,
                                const eg_sexpr *form);
/// The rule, if one is there, to which parallel operators are all that a direction adds;
/// or NULL. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_is_known(const eg_rules *rules, const eg_rule *rule,
                                const char **out_name);

/// How far a text has been read.
typedef struct eg_rules_mark {
  size_t rules, implied, tests;
} eg_rules_mark;
eg_rules_mark eg_rules_mark_of(const eg_rules *rules);
/// Takes back what a failed text had added.
void eg_rules_shrink(eg_rules *rules, eg_rules_mark to);

#endif
