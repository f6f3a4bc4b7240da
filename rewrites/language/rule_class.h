// Classes of rules (egraph_math): what a rule may change of numbers. README.md says what
// they promise.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_CLASS_H
#define EG_REWRITES_RULE_CLASS_H

#include "base/status.h"

/// "exact" and so on; NULL for another number.
const char *eg_rule_class_name(egraph_math math);
/// False when there is none of that name.
bool eg_rule_class_find(const char *name, egraph_math *out);

#endif
