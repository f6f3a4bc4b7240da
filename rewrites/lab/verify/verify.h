// Verifies rules: evaluates both sides with the reference kernels on random small
// instances that satisfy the conditions.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_H
#define EG_REWRITES_VERIFY_H

#include "base/text.h"
#include "rewrites/language/rules.h"

typedef struct eg_verify_options {
  uint64_t seed;
  uint32_t instances; // number of instances of each rule to compare, 1 or more
  uint32_t first;     // first rule to verify; earlier rules are skipped
  // For loading: too few instances are no reason to reject a rule; rules implied by
  // layouts are left out, because reading has verified them; few draws are steered to
  // classes of instances.
  bool is_loading;
  // Called after `report` with what the verification of the rule covered; may be NULL.
  // Its argument is valid during the call only.
  void (*evidence)(void *user, const egraph_rule_evidence *evidence);
  void *evidence_user;
} eg_verify_options;

/// The number of instances that suffices to judge a rule, and the number used when a rule
/// is loaded (some milliseconds).
enum { EG_VERIFY_INSTANCES = 256, EG_VERIFY_LOAD_INSTANCES = 24 };

/// Called once per rule. `detail` of an accepted rule: how many instances were compared,
/// how many of them exactly, their types, how many classes of instances, and the class
/// found for the rule; of a rejected rule: the reason and a counterexample; with parallel
/// operators: on how many instances the layouts were correct.
typedef void eg_verify_report(void *user, const char *rule, bool accepted,
                              const char *detail);

/// Verifies every rule (switched on or not), and then the rules that layouts imply. A
/// rule is rejected when on some instance its sides differ in type or value, or
/// contradict the class that it declares, when its right side needs an element type that
/// ONNX does not have for an operator (and the left side does not), when its parallel
/// operators claim what layouts do not allow (layout_check.h), or when too few instances
/// can be found to judge. *out_rejected (may be NULL) counts rejected rules; `report` may
/// be NULL. Equal seeds give equal reports. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_verify(const eg_rules *rules, const eg_verify_options *options,
                              eg_verify_report *report, void *user,
                              uint32_t *out_rejected);

typedef struct eg_verify_instance eg_verify_instance; // declared in instance_draw.h
/// Receives an instance of a rule, borrowed for the call; `holds` is true when both sides
/// are equal on it.
typedef void eg_verify_witness(void *user, const eg_verify_instance *instance,
                               bool holds);
/// Compares instances of one rule of every class, drawn as verification draws them, and
/// does not stop at a difference. Rules with parallel operators have no instances. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_rule_witness(egraph_allocator alloc, const eg_rule *rule,
                              const eg_verify_options *options,
                              eg_verify_witness *witness, void *user);

// ---- tests of rule files (rule_tests.c) -----------------------------------------------

typedef struct eg_rule_test_summary {
  uint32_t run, failed;
} eg_rule_test_summary;

/// Runs the tests of rules from number `first` on; every failure appends a line
/// "file:line: test name: what" to `failures`. Failing tests are a result, not an error;
/// fails with EGRAPH_E_MEMORY only.
egraph_status eg_rules_run_tests(const eg_rules *rules, uint32_t first,
                                 const egraph_allocator *alloc, eg_text *failures,
                                 eg_rule_test_summary *out);

#endif
