// Runs the (test ...) forms of rule files; what they mean stands in rules/LANGUAGE.md.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_TESTS_H
#define EG_REWRITES_RULE_TESTS_H

#include "rewrites/language/rules.h"

typedef struct eg_rule_test_summary {
  uint32_t run, failed;
} eg_rule_test_summary;

/// Runs the tests from number `first` on; every failure appends a line "file:line: test
/// name: what" to `failures`. Failing tests are a result, not an error; fails with
/// EGRAPH_E_MEMORY only.
egraph_status eg_rules_run_tests(const eg_rules *rules, uint32_t first,
                                 const egraph_allocator *alloc, eg_text *failures,
                                 eg_rule_test_summary *out);

#endif
