// Derives a rule from others: the sides of its instances become equal in an e-graph that
// is saturated with these, and the explanation is replayed.
//
//   instance -> two graphs -> e-graph with both -> saturation by the rules that are
//   proved -> explanation -> replay (rewrites/replay/, which shares no search code)
//
// A derivation holds for all data, of the instance's sizes and attributes; with proved
// rules it is a proof of that instance, and says nothing of others: a wrong rule may be
// derived where it holds.
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
/// are the roots. The right one has the left side's nodes, too, which its own may use.
typedef struct eg_side_graphs {
  eg_graph_own left, right;
} eg_side_graphs;

/// Builds both sides of an instance whose right side is typed. Fails with
/// EGRAPH_E_MEMORY; *out owns nothing then.
egraph_status eg_side_graphs_make(egraph_allocator alloc,
                                  const eg_verify_instance *instance,
                                  eg_side_graphs *out);
void eg_side_graphs_init(eg_side_graphs *sides, egraph_allocator alloc);
void eg_side_graphs_deinit(eg_side_graphs *sides);

/// An instance is good evidence when sizes that may differ do: the number of distinct
/// sizes above 1, and one for being of floating point. 0 where a tensor is empty.
uint32_t eg_side_graphs_merit(const eg_side_graphs *sides);

// ---- derivations (derive.c) -----------------------------------------------------------

/// The axioms of a derivation: rules of a set that are all switched on. Borrowed.
typedef struct eg_axioms {
  const eg_rules *rules;
  const bool *is_axiom;  // [eg_rules_count(rules)]
  const bool *both_ways; // and so in their class from right to left (eg_proof_verdict);
                         // NULL: all do
} eg_axioms;

typedef struct eg_derivation_verdict {
  bool is_derived;
  uint32_t instances; // that were derived, of different sizes as far as the rule allows
  uint32_t steps;     // of all explanations together
  char reason[200];   // of not being derived
} eg_derivation_verdict;

/// Derives instances of a rule from the axioms of its class and stricter ones; an
/// explanation goes both ways, so those that hold in one only count in class fast.
/// `names` (overwritten) gets the axioms that the replayed steps use. Equal seeds, equal
/// answers. Fails with EGRAPH_E_INTERNAL where an equality of the e-graph is not
/// replayed, and with EGRAPH_E_MEMORY.
egraph_status eg_rule_derive(const eg_axioms *axioms, const eg_rule *rule,
                             egraph_allocator alloc, uint64_t seed,
                             eg_derivation_verdict *out, eg_text *names);

#endif
