// The cases of a set of rules, by values of their parameters or by name.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_CASES_H
#define EG_REWRITES_RULE_CASES_H

#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules.h"

/// The cases of a set of rules that were asked for, each read once.
typedef struct eg_rule_cases eg_rule_cases;
egraph_status eg_rule_cases_create(egraph_allocator alloc, const eg_rules *rules,
                                   eg_rule_cases **out);
void eg_rule_cases_destroy(eg_rule_cases *cases); // NULL is allowed
size_t eg_rule_cases_bytes(const eg_rule_cases *cases);
/// The case of a rule of the set for legal values; of a rule without parameters itself.
/// Its name is "NAME:relu:3". Lives as long as `cases`. *out is NULL where what it would
/// say is no rule. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rule_cases_get(eg_rule_cases *cases, uint32_t rule,
                                const uint32_t *values, const eg_rule **out);
/// A rule, or a case, by name; *out_rule: its number in the set. *out is NULL when there
/// is none.
egraph_status eg_rule_cases_find(eg_rule_cases *cases, const char *name,
                                 uint32_t *out_rule, const eg_rule **out);

#endif
