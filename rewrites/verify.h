// Verifies rules: both sides are evaluated with the reference kernels on random small
// instances that satisfy the conditions. STYLE section 6.7.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_H
#define EG_REWRITES_VERIFY_H

#include "rewrites/rules.h"

/// Called once per rule. `detail`: how many instances were compared and how many of them
/// exactly, or why the rule was rejected, with a counterexample; of parallel operators,
/// on how many instances their layouts were found right.
typedef void eg_verify_report(void *user, const char *rule, bool accepted,
                              const char *detail);

/// Verifies every rule (switched on or not), and those that layouts imply after them. A
/// rule is rejected when an instance gives its sides different types or values, when its
/// parallel operators claim what layouts do not allow (layout_check.h), or when too few
/// instances can be found to judge.
/// *out_rejected (may be NULL) counts those; `report` may be NULL. Equal seeds give equal
/// reports. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_verify(const eg_rules *rules, uint64_t seed,
                              eg_verify_report *report, void *user,
                              uint32_t *out_rejected);

#endif
