// Verifies what rules with parallel operators claim of layouts (layout_claim.h), on
// random instances, for every degree and dimension that the rule leaves open.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAYOUT_CHECK_H
#define EG_REWRITES_LAYOUT_CHECK_H

#include "rewrites/language/rule_ast.h"

typedef struct eg_layout_finding {
  bool holds;
  uint32_t line, column; // of what is wrong
} eg_layout_finding;

/// Appends to `text` on how many instances the claim holds, or why it does not and what
/// to do. Equal seeds give equal findings. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_verify(const egraph_allocator *alloc, const eg_rule *rule,
                               uint64_t seed, eg_text *text, eg_layout_finding *out);
/// Fails with EGRAPH_E_PARSE "file:line:col: ..." when the claim does not hold.
egraph_status eg_layout_check(const egraph_allocator *alloc, const eg_rule *rule);

#endif
