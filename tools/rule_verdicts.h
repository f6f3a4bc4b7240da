// What egraph rules --verify says of each rule.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_TOOLS_RULE_VERDICTS_H
#define EGRAPH_TOOLS_RULE_VERDICTS_H

#include "include/egraph.h"

/// Verifies all rules and prints a verdict of each: with `proves` those that are proved
/// are told apart, with `guards` conditions are looked for. *out_rejected counts those
/// that do not hold as they are.
egraph_status print_verdicts(const egraph_rules *rules, uint64_t seed, bool proves,
                             bool guards, bool json, uint32_t *out_rejected);

#endif
