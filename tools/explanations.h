// --explain of egraph saturate: why two terms are equal.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_EXPLANATIONS_H
#define EG_TOOLS_EXPLANATIONS_H

#include "tools/arguments.h"
#include "tools/console.h"

/// Whether each question has two terms: an exit status, like all results below.
int explanations_check(const text_list *questions);
/// Prints the steps for each question, a text of two terms: "(+ a b) (+ b a)". Complaints
/// go to standard error.
int explanations_print(egraph_terms *terms, const text_list *questions);
/// The same as a list of the JSON object that is open.
int explanations_print_json(egraph_terms *terms, const text_list *questions);

#endif
