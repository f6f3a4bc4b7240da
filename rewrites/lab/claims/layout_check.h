// Verifies, on random instances of rules with parallel operators, that both sides have
// equal layouts (layout_claim.h), for every axis size and dimension that the rule
// leaves open.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAYOUT_CHECK_H
#define EG_REWRITES_LAYOUT_CHECK_H

#include "rewrites/language/rule_ast.h"

typedef struct eg_layout_finding {
  bool holds;
  uint32_t line, column; // place of the error
} eg_layout_finding;

/// Counts, for each number of ranks of a mesh axis, the instances of a rule that were run
/// on simulated ranks (rank_run.h).
enum { EG_LAYOUT_DEGREES = 3 };
typedef struct eg_rank_evidence {
  uint32_t count;
  uint32_t degree[EG_LAYOUT_DEGREES];
  uint32_t forward[EG_LAYOUT_DEGREES], backward[EG_LAYOUT_DEGREES]; // instance counts
  eg_text no_backward; // why instances have no gradient, or empty
} eg_rank_evidence;

/// Appends to `text` the number of instances on which the layouts of both sides are
/// equal, or the reason why they differ and the remedy. With `ranks` (may be NULL;
/// its text is initialized, all else zero) also runs the instances on simulated
/// ranks; a difference of values refutes the rule. Equal seeds give equal findings.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_verify(const egraph_allocator *alloc, const eg_rule *rule,
                               uint64_t seed, eg_text *text, eg_rank_evidence *ranks,
                               eg_layout_finding *out);
/// Verifies, with a fixed seed, that both sides of the rule have equal layouts. Fails
/// with EGRAPH_E_PARSE "file:line:col: ..." when they differ.
egraph_status eg_layout_check(const egraph_allocator *alloc, const eg_rule *rule);

#endif
