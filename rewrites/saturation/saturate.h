// Equality saturation: search all rules, apply all matches, rebuild, until nothing
// changes or a budget ends it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SATURATE_H
#define EG_REWRITES_SATURATE_H

#include "base/owner.h"
#include "rewrites/language/rules.h"
#include "rewrites/saturation/rule_build.h"
#include "rewrites/saturation/saturation.h"

/// Saturates an e-graph. Limits and cancellation are results, not errors. Fails with
/// EGRAPH_E_MEMORY, or EGRAPH_E_TYPE when a rule is unsound (it united classes of
/// different types). Release the report with eg_saturation_report_deinit, after a
/// failure, too.
egraph_status eg_saturate(eg_tensor_egraph *egraph, const eg_rules *rules,
                          const eg_saturation_options *options,
                          eg_saturation_report *out_report);

// ---- one rewrite at a time --------------------------------------------------------

/// A match of a rule whose conditions hold, with the rule's right side, which is
/// well-typed but not added. Borrowed during the visit; meanwhile the e-graph may get
/// attributes, but no nodes.
typedef struct eg_rewrite {
  uint32_t number; // number of the rule
  const eg_rule *rule;
  const eg_class *roots; // [root_count] that the left side matched
  // [var_count] values of the variables; for class variables, their tensors.
  const eg_rule_value *vars;
  const eg_built_term *terms; // [term_count] of the right side: operators and payloads
  const uint32_t *alias;      // [var_count] of names of terms: the term
} eg_rewrite;

typedef struct eg_rewrite_visitor {
  egraph_status (*visit)(void *user, const eg_rewrite *rewrite, bool *out_stop);
  void *user;
  eg_rule_stats *stats; // [rules] to add matches and rejected to; may be NULL
  uint64_t *looked_at;  // candidates are added: the work of the search
} eg_rewrite_visitor;

/// Compiled rules that search e-graphs one after the other: the rules that are switched
/// on and whose class (exact, ...) `math` allows.
typedef struct eg_rewriter eg_rewriter;
egraph_status eg_rewriter_create(egraph_allocator alloc, const eg_rules *rules,
                                 egraph_math math, eg_rewriter **out);
void eg_rewriter_destroy(eg_rewriter *rewriter); // NULL is allowed
EG_HOLDER_DEFINE(eg_rewriter)
/// Visits every rewrite by a rule in a rebuilt e-graph, in a fixed order, until the
/// visitor stops. Fails with EGRAPH_E_TYPE (an unsound rule), EGRAPH_E_MEMORY, or as the
/// visitor does.
egraph_status eg_rewriter_visit(eg_rewriter *rewriter, eg_tensor_egraph *egraph,
                                uint32_t rule, const eg_rewrite_visitor *visitor);

#endif
