// Expands the table.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_functions.h"

#include <string.h>

#define EG_RULE_FUNCTION(ID, NAME, MIN, MAX, ARGUMENTS, RESULT, EVAL)                    \
  {NAME, MIN, MAX, ARGUMENTS, RESULT[0]},
static const eg_rule_function_info functions[EG_RULE_FN_COUNT] = {
#include "rewrites/language/rule_functions.def"
};

#define EG_RULE_KIND_WORDS(id, words) words,
static const char *const kind_words[] = {EG_RULE_KIND_LIST(EG_RULE_KIND_WORDS)};

const eg_rule_function_info *eg_rule_function_info_of(eg_rule_function function) {
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
