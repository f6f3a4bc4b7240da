// Proves rules for all ranks, sizes and attribute values, or says why it does not
// (PROOFS.md).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROVE_H
#define EG_REWRITES_PROVE_H

#include "rewrites/language/rules.h"

typedef struct eg_proof_verdict {
  bool is_proved;   // in the class that the rule declares
  bool both_ways;   // and right to left, too: neither side has more NaN than the other
  uint32_t cases;   // ranks, permutations, flags that were gone through
  uint32_t ranks;   // up to this rank: a larger one cannot fail first
  char reason[200]; // of not being proved
} eg_proof_verdict;

/// A rule without parameters, or the first case of one with them. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_rule_prove(const eg_rule *rule, egraph_allocator alloc,
                            eg_proof_verdict *out);
/// A rule of a set. A rule with parameters is proved when all of its cases are; a rule
/// with sequences has cases without end, so it never is. Fails as eg_rule_prove.
egraph_status eg_rules_prove(const eg_rules *rules, uint32_t number,
                             eg_proof_verdict *out);

#endif
