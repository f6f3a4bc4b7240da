// What the reader of rules with parameters and the writer of their cases share.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_SCHEMA_INTERNAL_H
#define EG_REWRITES_RULE_SCHEMA_INTERNAL_H

#include "rewrites/language/rule_schema.h"

/// An atom that spells a sequence, ?x...
bool eg_rule_is_sequence(const eg_sexpr *expr);
/// (each ...), well-formed or not.
bool eg_rule_is_each(const eg_sexpr *expr);
/// Whether a sequence or (each ...) stands in it.
bool eg_rule_has_sequence(const eg_sexpr *expr);
/// Number of a sequence, or EG_RULE_NONE.
uint32_t eg_rule_find_sequence(const char *const *sequences, uint32_t count,
                               const char *name);
/// (operators ...) or (least ...): no case has them.
bool eg_rule_is_parameter_clause(const eg_sexpr *clause);

/// Reads a case, under the name of the form. Fails as eg_rule_read.
egraph_status eg_rule_case_read(const eg_rule_source_text *from,
                                const eg_rule_schema *schema, const uint32_t *values,
                                bool reversed, eg_rule *out);
/// The values of the first case. False when none is legal.
bool eg_rule_case_choose(const eg_rule_schema *schema, uint32_t *out);

#endif
