// The tables for parsed rules (functions, kinds of values, classes), and look-ups in
// a rule.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_ast.h"

#include <assert.h>
#include <string.h>

#define EG_RULE_FUNCTION(ID, NAME, MIN, MAX, ARGUMENTS, RESULT, EVAL)                    \
  {NAME, MIN, MAX, ARGUMENTS, RESULT[0]},
static const eg_rule_function_info functions[EG_RULE_FN_COUNT] = {
#include "rewrites/language/rule_functions.def"
};

#define EG_RULE_KIND_WORDS(id, words) words,
static const char *const kind_words[] = {EG_RULE_KIND_LIST(EG_RULE_KIND_WORDS)};

const eg_rule_function_info *eg_rule_function_info_of(eg_rule_function function) {
  assert(function < EG_RULE_FN_COUNT);
  return &functions[function];
}

bool eg_rule_function_find(const char *name, eg_rule_function *out) {
  for (int i = 0; i < EG_RULE_FN_COUNT; i++) {
    if (strcmp(functions[i].name, name) != 0) continue;
    *out = (eg_rule_function)i;
    return true;
  }
  return false;
}

const char *eg_rule_kind_words(eg_rule_kind kind) { return kind_words[kind]; }

// ---- classes ------------------------------------------------------------------------

static const struct {
  egraph_math math;
  const char *name;
} classes[] = {{EGRAPH_MATH_EXACT, "exact"},
               {EGRAPH_MATH_ASSOCIATIVE, "associative"},
               {EGRAPH_MATH_FAST, "fast"}};
enum { CLASSES = sizeof classes / sizeof *classes };

const char *eg_rule_class_name(egraph_math math) {
  for (int i = 0; i < CLASSES; i++)
    if (classes[i].math == math) return classes[i].name;
  return NULL;
}

bool eg_rule_class_find(const char *name, egraph_math *out) {
  for (int i = 0; i < CLASSES; i++) {
    if (strcmp(classes[i].name, name) != 0) continue;
    *out = classes[i].math;
    return true;
  }
  return false;
}

// ---- expressions ---------------------------------------------------------------------

const eg_rule_expr *eg_rule_call_of(const eg_rule *rule, uint32_t expr,
                                    eg_rule_function function) {
  const eg_rule_expr *at = &rule->exprs[expr];
  return at->form == EG_RULE_EXPR_CALL && at->function == function ? at : NULL;
}

// True when the expression, or an expression within it, calls `function`. Recurses at
// most as deep as the reader allows.
bool eg_rule_calls(const eg_rule *rule, uint32_t expr, eg_rule_function function) {
  const eg_rule_expr *at = &rule->exprs[expr];
  bool is = eg_rule_call_of(rule, expr, function) != NULL;
  for (uint32_t i = 0; at->form == EG_RULE_EXPR_CALL && i < at->arg_count && !is; i++)
    is = eg_rule_calls(rule, at->args[i], function);
  return is;
}

uint32_t eg_rule_var_of(const eg_rule *rule, uint32_t expr) {
  const eg_rule_expr *at = &rule->exprs[expr];
  return at->form == EG_RULE_EXPR_VAR ? at->var : EG_RULE_NONE;
}

static const eg_rule_let *find_let(const eg_rule *rule, uint32_t var, bool is_term) {
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].var == var && rule->lets[i].is_term == is_term)
      return &rule->lets[i];
  return NULL;
}

uint32_t eg_rule_let_expr(const eg_rule *rule, uint32_t var) {
  const eg_rule_let *let = find_let(rule, var, false);
  return let != NULL ? let->expr : EG_RULE_NONE;
}

uint32_t eg_rule_let_term(const eg_rule *rule, uint32_t var) {
  const eg_rule_let *let = find_let(rule, var, true);
  return let != NULL ? let->term : EG_RULE_NONE;
}

// ---- parallel operators ------------------------------------------------------------

uint32_t eg_rule_moves_of(const eg_rule *rule, uint32_t term, uint32_t *out_begin) {
  assert(term < rule->term_count);
  uint32_t low = 0, high = rule->move_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (rule->moves[middle].term < term)
      low = middle + 1;
    else
      high = middle;
  }
  *out_begin = low;
  while (high < rule->move_count && rule->moves[high].term == term)
    high++;
  return high;
}
