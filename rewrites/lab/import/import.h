// Imports substitutions that others published (TASO, Tensat, Unity) as rules: each gets a
// verdict, and what holds and is not there is added.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_H
#define EG_REWRITES_IMPORT_H

#include "rewrites/language/rules.h"

// Outcomes of a substitution: id, words.
#define EG_IMPORT_LIST(X)                                                                \
  X(EG_IMPORT_TESTED, "tested")       /* holds on random instances, and is added */      \
  X(EG_IMPORT_GUARDED, "holds-if")    /* the same, under a guard that was found */       \
  X(EG_IMPORT_IMPLIED, "implied")     /* by shipped rules, or by layouts */              \
  X(EG_IMPORT_DUPLICATE, "duplicate") /* of another one, or of a rule of the set */      \
  X(EG_IMPORT_REFUTED, "refuted")     /* and no guard of the list helps */               \
  X(EG_IMPORT_FOREIGN, "not-convertible")
#define EG_IMPORT_ENUM(id, words) id,
typedef enum eg_import_outcome {
  EG_IMPORT_LIST(EG_IMPORT_ENUM) EG_IMPORT_OUTCOMES
} eg_import_outcome;
#undef EG_IMPORT_ENUM
const char *eg_import_outcome_name(eg_import_outcome outcome);

/// Called once per substitution of the file, in order. `detail`: tested and holds-if, the
/// guard and what of its attributes was made variable; implied, by which rules;
/// duplicate, of which; refuted, the counterexample; not-convertible, why.
typedef void eg_import_report(void *user, uint32_t number, eg_import_outcome outcome,
                              const char *detail);

/// Adds the substitutions of a file of any format (substitution.h) as rules that are
/// verified in their values, and with parallel operators in their layouts: those with
/// verdict tested, holds-if, and implied by layouts. Fails with EGRAPH_E_PARSE when the
/// file is none of substitutions, or EGRAPH_E_IO. `report` may be NULL.
egraph_status eg_rules_import(eg_rules *rules, const char *path, eg_import_report *report,
                              void *user);

#endif
