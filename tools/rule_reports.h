// Reports of egraph rules about each rule: --verify, --guards, --prove, --derive, --smt.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RULE_REPORTS_H
#define EG_TOOLS_RULE_REPORTS_H

#include "include/egraph.h"

typedef struct rule_request {
  const egraph_rules *rules;
  uint64_t seed;
  bool json, proves, guards; // proves, guards: also show proofs, guards in verdicts
  const char *folder;        // folder for questions to a solver
  bool has_failed;           // a rule does not hold, or a file cannot be written
} rule_request;

/// Verifies all rules and prints a verdict for each; with `proves` it also tries to prove
/// rules, with `guards` it also searches for conditions.
egraph_status print_verdicts(rule_request *request);
/// Prints the conditions under which rules hold.
egraph_status print_guards(rule_request *request);
egraph_status print_proofs(rule_request *request);
egraph_status print_derivations(rule_request *request);
/// Writes a question for each rule to a file of the folder.
egraph_status write_questions(rule_request *request);

#endif
