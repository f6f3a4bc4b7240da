// The closed list of conditions that are tried as guards of a rule.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GUARD_LIST_H
#define EG_REWRITES_GUARD_LIST_H

#include "base/text.h"
#include "rewrites/language/rule_ast.h"

EG_VEC_DEFINE(eg_guard_texts, const char *);

/// Appends the conditions that speak of what the left side of the rule binds, of one
/// variable before those of two. The texts are in the arena.
egraph_status eg_guard_list(const eg_rule *rule, eg_arena *arena, eg_guard_texts *out);

#endif
