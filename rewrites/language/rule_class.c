// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_class.h"

#include <string.h>

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
