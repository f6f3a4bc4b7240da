// Builds right sides of rules: plans all terms first (attributes, look-ups, types), and
// adds them to the e-graph only when all are well-typed.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_BUILD_H
#define EG_REWRITES_RULE_BUILD_H

#include "rewrites/saturation/rule_eval.h"

/// One term of a rule's right side. `class` is EG_CLASS_NONE while the e-graph does not
/// contain the term.
typedef struct eg_built_term {
  eg_class class;
  uint32_t op, payload;
  const eg_tensor_fact *fact; // fact of the class, or `inferred`
  eg_tensor_fact inferred;
} eg_built_term;

/// Working memory to build the right sides of a rule set; sized
/// by eg_rule_builder_reserve.
typedef struct eg_rule_builder {
  egraph_allocator alloc;
  eg_built_term *terms; // [term]
  uint32_t *alias;      // [variable] the term that a let variable names
  eg_class *classes;    // operands of the current term
  const eg_tensor_fact **facts;
  uint32_t term_cap, var_cap, class_cap, fact_cap;
} eg_rule_builder;

enum { EG_RULE_MAX_ATTRS = 16 };

void eg_rule_builder_init(eg_rule_builder *builder, egraph_allocator alloc);
void eg_rule_builder_deinit(eg_rule_builder *builder);
egraph_status eg_rule_builder_reserve(eg_rule_builder *builder, const eg_rule *rule);

/// Plans the terms [first, end) of env->rule, and adds none. *out_ok is false when a term
/// is ill-typed or a value is missing. *out_missing is the largest number of terms that
/// would be new. Class variables must be bound in env.
egraph_status eg_rule_plan(eg_rule_builder *builder, eg_rule_env *env,
                           eg_tensor_egraph *egraph, uint32_t first, uint32_t end,
                           bool *out_ok, uint32_t *out_missing);
/// Adds the terms of eg_rule_plan to the e-graph; sets builder->terms[i].class for each.
egraph_status eg_rule_commit(eg_rule_builder *builder, const eg_rule *rule,
                             eg_tensor_egraph *egraph, uint32_t first, uint32_t end,
                             uint32_t reason);

#endif
