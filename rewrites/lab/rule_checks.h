// Sets of rules whose texts are checked when they are read.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAB_RULE_CHECKS_H
#define EG_REWRITES_LAB_RULE_CHECKS_H

#include "rewrites/language/rules.h"

/// A set whose texts are checked: what they claim of layouts, and, after
/// eg_rules_set_verified, whether they hold. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_create_checked(const egraph_allocator *alloc, eg_rules **out);

#endif
