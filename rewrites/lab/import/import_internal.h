// The state of an import, for the files that import tensor and Unity substitutions.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_INTERNAL_H
#define EG_REWRITES_IMPORT_INTERNAL_H

#include "base/strmap.h"
#include "rewrites/lab/import/implied.h"
#include "rewrites/lab/import/import.h"
#include "rewrites/lab/import/substitution.h"

enum { EG_IMPORT_INSTANCES = 64, EG_IMPORT_NAME = 96 };

typedef struct eg_importer {
  eg_rules *rules;
  egraph_allocator alloc;
  const char *path;
  const eg_subst_file *file;
  eg_implied_checker checker;
  eg_strmap known; // canonical text -> number of its first substitution
  // The substitution that is being imported.
  uint32_t number;
  const eg_substitution *subst;
  char name[EG_IMPORT_NAME]; // name of its rule
  eg_text text;              // text of a rule file with the rule
  eg_import_outcome outcome;
  eg_text detail;
} eg_importer;

/// The outcome of verifying a substitution's rule in one form.
typedef enum eg_import_trial {
  EG_TRIAL_HOLDS,
  EG_TRIAL_NO_RULE,     // the text is not a valid rule: `detail` has the message
  EG_TRIAL_DIFFERENT,   // `detail` has the counterexample
  EG_TRIAL_NO_INSTANCES // too few tensors fit the rule
} eg_import_trial;

// ---- trials (import_trial.c) --------------------------------------------------------

/// Reads in->text, a rule, into a new set and verifies it on `instances` instances. When
/// it holds, *out_trial (may be NULL) is the set, which the caller destroys.
egraph_status eg_import_try(eg_importer *in, uint32_t instances, uint64_t seed,
                            eg_import_trial *out, eg_rules **out_trial);
/// Adds in->text, a verified rule, to the rules. Sets the outcome, and `detail` when the
/// rule is a duplicate.
egraph_status eg_import_add(eg_importer *in, eg_import_outcome outcome);
egraph_status eg_import_decide(eg_importer *in, eg_import_outcome outcome,
                               const char *detail);

/// Decide whether the substitution in `in` becomes a rule, and set its outcome.
egraph_status eg_import_unity(eg_importer *in);
egraph_status eg_import_tensors(eg_importer *in);

#endif
