// Derives a rule from others: its two sides become equal on instances in an e-graph
// saturated with the other rules, and the explanation is replayed.
//
//   instance -> two graphs -> e-graph with both -> saturation by the axioms
//   -> explanation -> replay (rewrites/replay/, which shares no search code)
//
// A derivation holds for all data with the sizes and attributes of the instance. With
// proved rules it is a proof for that instance and for no other: a wrong rule can be
// derived on instances where it holds.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_EXPLAIN_DERIVE_H
#define EG_REWRITES_EXPLAIN_DERIVE_H

#include "base/text.h"
#include "pcg/graph/graph.h"
#include "rewrites/lab/basis/owned.h"
#include "rewrites/lab/instances/instance_draw.h"
#include "rewrites/language/rules.h"

// ---- sides of instances as graphs (instance_graphs.c) ---------------------------------

/// Two graphs with the same inputs and weights, named after the rule's variables; outputs
/// are the roots. The right graph also contains the left side's nodes, which the right
/// side may use.
typedef struct eg_side_graphs {
  eg_graph_own left, right;
} eg_side_graphs;

/// Builds the graphs of both sides of an instance whose right side is well-typed. Fails
/// with EGRAPH_E_MEMORY; *out owns nothing then.
egraph_status eg_side_graphs_make(egraph_allocator alloc,
                                  const eg_verify_instance *instance,
                                  eg_side_graphs *out);
void eg_side_graphs_init(eg_side_graphs *sides, egraph_allocator alloc);
void eg_side_graphs_deinit(eg_side_graphs *sides);

/// Returns how good an instance is as evidence for its rule: the number of distinct sizes
/// above 1, plus one for floating point; 0 when a tensor is empty.
uint32_t eg_side_graphs_merit(const eg_side_graphs *sides);

// ---- derivations (derive.c) -----------------------------------------------------------

/// The axioms of a derivation: rules of a set, all switched on. Borrowed pointers.
typedef struct eg_axioms {
  const eg_rules *rules;
  const bool *is_axiom; // [eg_rules_count(rules)]
  // both_ways[i]: axiom i also holds from right to left in its class (eg_proof_verdict).
  // NULL: all axioms do.
  const bool *both_ways;
} eg_axioms;

typedef struct eg_derivation_verdict {
  bool is_derived;
  // Number of instances of the rule that were derived, of different sizes where possible.
  uint32_t instances;
  uint32_t steps;   // number of steps of all explanations together
  char reason[200]; // why the rule is not derived
} eg_derivation_verdict;

/// Derives instances of a rule from the axioms of its class and of stricter classes. An
/// explanation uses axioms in both directions; therefore an axiom that holds in one
/// direction only is used in class fast alone. `names` (overwritten) gets the axioms that
/// the replayed steps use. Equal seeds give equal answers. Fails with EGRAPH_E_INTERNAL
/// when an equality of the e-graph cannot be replayed, and with EGRAPH_E_MEMORY.
egraph_status eg_rule_derive(const eg_axioms *axioms, const eg_rule *rule,
                             egraph_allocator alloc, uint64_t seed,
                             eg_derivation_verdict *out, eg_text *names);

#endif
