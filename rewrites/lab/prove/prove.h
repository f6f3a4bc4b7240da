// Proves rules for all ranks, sizes and attribute values, or reports why it
// cannot (PROOFS.md).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROVE_H
#define EG_REWRITES_PROVE_H

#include "rewrites/language/rules.h"

typedef struct eg_proof_verdict {
  bool is_proved;   // proved in the class that the rule declares
  bool both_ways;   // also proved from right to left: both sides have the same NaN
  uint32_t cases;   // number of cases tried: ranks, permutations, flags
  uint32_t ranks;   // tried up to this rank: a larger one cannot fail first
  char reason[200]; // why it is not proved
} eg_proof_verdict;

/// Proves a rule without parameters, or the first case of a rule with parameters. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_rule_prove(const eg_rule *rule, egraph_allocator alloc,
                            eg_proof_verdict *out);
/// Proves a rule of a set. A rule with parameters is proved when all of its cases are; a
/// rule with sequences has infinitely many cases, so it is never proved. Fails as
/// eg_rule_prove does.
egraph_status eg_rules_prove(const eg_rules *rules, uint32_t number,
                             eg_proof_verdict *out);

#endif
