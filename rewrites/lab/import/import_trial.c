// Tries a substitution by writing it as the text of a rule and reading it back, so it
// passes the checks of any other rule.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "rewrites/lab/import/import_internal.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_ast.h"

typedef struct verdict {
  eg_importer *in;
  bool is_rejected;
} verdict;

static void on_verified(void *user, const char *rule, bool accepted, const char *detail) {
  verdict *v = user;
  (void)rule;
  if (accepted || v->is_rejected) return;
  v->is_rejected = true;
  eg_text_clear(&v->in->detail);
  eg_text_append(&v->in->detail, detail);
}

static egraph_status verify_trial(eg_importer *in, const eg_rules *trial,
                                  uint32_t instances, uint64_t seed,
                                  eg_import_trial *out) {
  verdict v = {.in = in};
  eg_verify_options options = {.seed = seed, .instances = instances};
  uint32_t rejected;
  *out = EG_TRIAL_HOLDS;
  if (eg_rules_count(trial) == 0) return EGRAPH_OK; // layouts imply the rule
  EG_TRY(eg_rules_verify(trial, &options, on_verified, &v, NULL));
  EG_TRY(eg_text_status(&in->detail));
  if (!v.is_rejected) return EGRAPH_OK;
  options.is_loading = true; // then too few instances are no reason to reject
  EG_TRY(eg_rules_verify(trial, &options, NULL, NULL, &rejected));
  *out = rejected != 0 ? EG_TRIAL_DIFFERENT : EG_TRIAL_NO_INSTANCES;
  return EGRAPH_OK;
}

static egraph_status parse(const eg_importer *in, const char *file, eg_rules *rules) {
  return eg_rules_parse(rules, file, eg_text_of(&in->text), in->text.chars.len);
}

egraph_status eg_import_try(eg_importer *in, uint32_t instances, uint64_t seed,
                            eg_import_trial *out, eg_rules **out_trial) {
  EG_LOCAL(eg_rules_own, trial, in->alloc);
  EG_TRY(eg_rules_create_checked(&in->alloc, &trial));
  egraph_status status = parse(in, "translated", trial);
  if (status == EGRAPH_E_PARSE) {
    *out = EG_TRIAL_NO_RULE;
    eg_text_clear(&in->detail);
    return eg_text_append(&in->detail, egraph_last_error());
  }
  EG_TRY(status);
  EG_TRY(verify_trial(in, trial, instances, seed, out));
  if (out_trial == NULL || *out != EG_TRIAL_HOLDS) return EGRAPH_OK;
  *out_trial = trial;
  trial = NULL;
  return EGRAPH_OK;
}

egraph_status eg_import_decide(eg_importer *in, eg_import_outcome outcome,
                               const char *detail) {
  assert(outcome < EG_IMPORT_OUTCOMES);
  in->outcome = outcome;
  eg_text_clear(&in->detail);
  return eg_text_append(&in->detail, detail);
}

/// Fails only because of another rule: the text of the rule was already read once.
egraph_status eg_import_add(eg_importer *in, eg_import_outcome outcome) {
  uint32_t count = eg_rules_count(in->rules), implied = eg_rules_implied_count(in->rules);
  bool verified = eg_rules_set_verified(in->rules, false); // the trial has verified it
  egraph_status status = parse(in, in->path, in->rules);
  (void)eg_rules_set_verified(in->rules, verified);
  if (status == EGRAPH_E_PARSE)
    return eg_import_decide(in, EG_IMPORT_DUPLICATE, egraph_last_error());
  EG_TRY(status);
  in->outcome = outcome;
  if (eg_rules_count(in->rules) > count) return EGRAPH_OK;
  const eg_rule *rule = eg_rules_implied_count(in->rules) > implied
                            ? eg_rules_implied_at(in->rules, implied)
                            : NULL;
  if (rule != NULL && rule->implied)
    return eg_import_decide(in, EG_IMPORT_IMPLIED, "by layouts");
  EG_TRY(eg_import_decide(in, EG_IMPORT_DUPLICATE, "of rule "));
  return eg_text_append(&in->detail, rule != NULL ? rule->known_as : "");
}
