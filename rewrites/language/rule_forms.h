// Reads and prints the forms of a rule file: (rule ...), (test ...) and (for ...).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_FORMS_H
#define EG_REWRITES_RULE_FORMS_H

#include "base/sexpr.h"
#include "rewrites/language/rule_ast.h"

typedef struct eg_rule_source_text {
  eg_arena *arena;          // memory for everything that the rule keeps
  egraph_allocator scratch; // working memory
  const char *file;
  bool is_of_case; // the form is a case: no keys are needed
} eg_rule_source_text;

/// Reads one direction of a rule form. Fails with EGRAPH_E_PARSE.
egraph_status eg_rule_read(const eg_rule_source_text *from, const eg_sexpr *form,
                           bool reversed, eg_rule *out);
/// Does the same as eg_rule_read for a form without parameters (rule_schema.h).
egraph_status eg_rule_read_plain(const eg_rule_source_text *from, const eg_sexpr *form,
                                 bool reversed, eg_rule *out);
egraph_status eg_rule_test_read(const eg_rule_source_text *from, const eg_sexpr *form,
                                eg_rule_test *out);

/// Appends the canonical text of a `(rule ...)` form; `rule` is its first direction.
egraph_status eg_rule_print(eg_text *text, const eg_rule *rule);
egraph_status eg_rule_test_print(eg_text *text, const eg_rule_test *test);
/// Appends the text by which equal rules are found: with variables renamed, without names
/// and sources; with parallel operators if `parallel`.
egraph_status eg_rule_print_key(eg_text *text, const eg_rule *rule, bool parallel);
/// Sets *out when both sides are the same terms without their parallel operators.
/// Overwrites `scratch`.
egraph_status eg_rule_same_sides(eg_text *scratch, const eg_rule *rule, bool *out);

/// Replaces every top-level `for` of a rule file by its forms, once for each value
/// (rewrites/rules/LANGUAGE.md). *out shares the other expressions with `text`.
/// Expressions keep the positions of the text. Fails with EGRAPH_E_PARSE: malformed, a
/// name that no `for` binds, more than EG_RULE_FOR_MOST expressions.
egraph_status eg_rule_expand(eg_arena *arena, const char *file, const eg_sexpr *text,
                             eg_sexpr *out);

enum { EG_RULE_FOR_MOST = 1 << 20 };

#endif
