// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rewrites/lab/claims/layout_check.h"
#include "rewrites/lab/verify/rule_tests.h"
#include "rewrites/lab/verify/verify.h"

typedef struct rejection {
  const eg_rules *rules;
  char message[EG_MESSAGE_BYTES]; // of the first one
} rejection;

static void note_rejection(void *user, const char *name, bool accepted,
                           const char *detail) {
  rejection *found = user;
  uint32_t rule;
  if (accepted || found->message[0] != '\0' || !eg_rules_find(found->rules, name, &rule))
    return;
  (void)snprintf(
      found->message, sizeof found->message,
      "%s:%" PRIu32
      ": rule %s does not hold: %s; correct it, declare another class, or trust it",
      eg_rule_file(found->rules, rule), eg_rule_line(found->rules, rule), name, detail);
}

static egraph_status run_tests(const eg_rules *rules, uint32_t first) {
  eg_text failures;
  eg_rule_test_summary summary;
  egraph_allocator alloc = eg_rules_allocator(rules);
  eg_text_init(&failures, alloc);
  egraph_status status = eg_rules_run_tests(rules, first, &alloc, &failures, &summary);
  if (status == EGRAPH_OK && summary.failed != 0)
    status = EG_FAIL(EGRAPH_E_PARSE, "%.*s", (int)strcspn(eg_text_of(&failures), "\n"),
                     eg_text_of(&failures));
  eg_text_deinit(&failures);
  return status;
}

static egraph_status check_hold(const eg_rules *rules, uint32_t first_rule,
                                uint32_t first_test) {
  const eg_verify_options options = {.seed = 1,
                                     .instances = EG_VERIFY_LOAD_INSTANCES,
                                     .first = first_rule,
                                     .is_loading = true};
  rejection found = {.rules = rules};
  EG_TRY(eg_rules_verify(rules, &options, note_rejection, &found, NULL));
  if (found.message[0] != '\0') return EG_FAIL(EGRAPH_E_PARSE, "%s", found.message);
  return run_tests(rules, first_test);
}

egraph_status eg_rules_create_checked(const egraph_allocator *alloc, eg_rules **out) {
  static const eg_rule_checks checks = {.layouts = eg_layout_check, .hold = check_hold};
  EG_TRY(eg_rules_create(alloc, out));
  eg_rules_set_checks(*out, &checks);
  return EGRAPH_OK;
}
