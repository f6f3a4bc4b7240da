// The functions that conditions and computed attributes may call; the list
// itself is rule_functions.def.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_FUNCTIONS_H
#define EG_REWRITES_RULE_FUNCTIONS_H

#include "rewrites/language/rule_ast.h"

typedef struct eg_rule_function_info {
  const char *name;
  int min_args, max_args; // max -1: any number
  const char *arguments;  // kind letters, see the table
  char result;
} eg_rule_function_info;

const eg_rule_function_info *eg_rule_function_info_of(eg_rule_function function);
bool eg_rule_function_find(const char *name, eg_rule_function *out);

#endif
