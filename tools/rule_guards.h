// egraph rules --guards: under which conditions rules hold.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_TOOLS_RULE_GUARDS_H
#define EGRAPH_TOOLS_RULE_GUARDS_H

#include "include/egraph.h"

/// Looks for guards and prints what is found. *out_refuted counts rules that do not hold.
egraph_status print_guards(const egraph_rules *rules, uint64_t seed, bool json,
                           uint32_t *out_refuted);

#endif
