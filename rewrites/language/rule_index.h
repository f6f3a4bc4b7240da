// Rules in order, found by name and by what they say.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_INDEX_H
#define EG_REWRITES_RULE_INDEX_H

#include "base/flatmap.h"
#include "rewrites/language/rule_ast.h"

EG_VEC_DEFINE(eg_rule_list, eg_rule *);

typedef struct eg_rule_index {
  eg_rule_list list;
  eg_flatmap names, keys;
  bool parallel; // equal rules have equal parallel_key, instead of equal key
} eg_rule_index;

void eg_rule_index_init(eg_rule_index *index, egraph_allocator alloc, bool parallel);
void eg_rule_index_deinit(eg_rule_index *index);
bool eg_rule_index_find(const eg_rule_index *index, const char *name, uint32_t *out);
/// The rule that says the same up to names of variables.
bool eg_rule_index_find_equal(const eg_rule_index *index, const eg_rule *rule,
                              uint32_t *out);
/// Adds a copy, which lies in the arena. Neither name nor key may be in use.
egraph_status eg_rule_index_add(eg_rule_index *index, eg_arena *arena,
                                const eg_rule *rule);
/// Takes the rules from `count` on out again.
void eg_rule_index_shrink(eg_rule_index *index, size_t count);

#endif
