// Loads a rule file, verifies its rules, and shows the message of the loader for
// a mistake.
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

static const char mistaken[] =
    "(egraph-rules 1)\n"
    "(rule bad (source \"a mistake\") (lhs (rellu ?x)) (rhs ?x))\n";

static void report(void *user, const char *rule, bool accepted, const char *detail) {
  (void)user;
  printf("%s: %s%s\n", rule,
         accepted ? "accepted" : "rejected: ", accepted ? "" : detail);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE.rules\n", argv[0]);
    return 2;
  }
  egraph_rules *rules = NULL;
  uint32_t rejected = 0;
  egraph_status status = egraph_rules_create(NULL, &rules);
  if (status == EGRAPH_OK) status = egraph_rules_add_file(rules, argv[1]);
  if (status == EGRAPH_OK)
    status = egraph_rules_verify(rules, 1, report, NULL, &rejected);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  // A file with an error adds none of its rules.
  if (status == EGRAPH_OK &&
      egraph_rules_add_text(rules, "mine.rules", mistaken) != EGRAPH_OK)
    printf("%s\n", egraph_last_error());
  egraph_rules_destroy(rules);
  return status == EGRAPH_OK && rejected == 0 ? 0 : 1;
}
