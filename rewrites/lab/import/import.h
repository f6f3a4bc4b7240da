// Imports published substitutions (TASO, Tensat, Unity) as rules: gives each a verdict,
// and adds those that hold and are not there yet.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_H
#define EG_REWRITES_IMPORT_H

#include "rewrites/language/rules.h"

// Outcomes of importing a substitution: id, words.
#define EG_IMPORT_LIST(X)                                                                \
  X(EG_IMPORT_TESTED, "tested")       /* it holds on random instances; added */          \
  X(EG_IMPORT_GUARDED, "holds-if")    /* it holds under a guard; added with that */      \
  X(EG_IMPORT_IMPLIED, "implied")     /* shipped rules or layouts imply it */            \
  X(EG_IMPORT_DUPLICATE, "duplicate") /* equal to an earlier one, or to a rule */        \
  X(EG_IMPORT_REFUTED, "refuted")     /* no guard of the list helps */                   \
  X(EG_IMPORT_FOREIGN, "not-convertible")
#define EG_IMPORT_ENUM(id, words) id,
typedef enum eg_import_outcome {
  EG_IMPORT_LIST(EG_IMPORT_ENUM) EG_IMPORT_OUTCOMES
} eg_import_outcome;
#undef EG_IMPORT_ENUM
const char *eg_import_outcome_name(eg_import_outcome outcome);

/// Called once per substitution of the file, in order. `detail` is: for tested and
/// holds-if, the guard and the attributes made variable; for implied, the rules that
/// imply it; for duplicate, the earlier substitution or rule; for refuted, the
/// counterexample; for not-convertible, the reason.
typedef void eg_import_report(void *user, uint32_t number, eg_import_outcome outcome,
                              const char *detail);

/// Adds the substitutions of a file of any format (substitution.h) as rules: those with
/// verdict tested, holds-if, and implied by layouts. Values are verified, and layouts
/// when there are parallel operators. Fails with EGRAPH_E_PARSE when the file has no
/// substitutions, or EGRAPH_E_IO. `report` may be NULL.
egraph_status eg_rules_import(eg_rules *rules, const char *path, eg_import_report *report,
                              void *user);

#endif
