// (for $name (value ...) form ...): rules that differ in a word, written once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LANGUAGE_RULE_FOR_H
#define EG_REWRITES_LANGUAGE_RULE_FOR_H

#include "base/sexpr.h"

/// Replaces every top-level `for` of a rule file by its forms, once for each value
/// (rewrites/rules/LANGUAGE.md). *out shares the other expressions with `text`. Positions
/// are those of the text. Fails with EGRAPH_E_PARSE: malformed, a name that no `for`
/// binds, more than EG_RULE_FOR_MOST expressions.
egraph_status eg_rule_expand(eg_arena *arena, const char *file, const eg_sexpr *text,
                             eg_sexpr *out);

enum { EG_RULE_FOR_MOST = 1 << 20 };

#endif
