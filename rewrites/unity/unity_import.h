// Imports Unity's published substitutions as rules with parallel operators.
//
// Their tensors have three dimensions: copies, rows, columns. What treats copies as
// copies has a meaning on a mesh: replicate and reduce along them, partition and combine
// along the others. The rest are tiles and stacks of copies, and is refused. On which
// axis of a mesh a parallel operator works is not said; axes are tried until the layouts
// fit.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_UNITY_IMPORT_H
#define EG_REWRITES_UNITY_IMPORT_H

#include "rewrites/language/rules.h"

// What becomes of a substitution: id, words.
#define EG_IMPORT_LIST(X)                                                                \
  X(EG_IMPORT_ADDED, "added")                                                            \
  X(EG_IMPORT_IMPLIED, "implied") /* layouts imply it */                                 \
  X(EG_IMPORT_KNOWN, "known")     /* a rule is there that says so */                     \
  X(EG_IMPORT_REFUSED, "refused")
#define EG_IMPORT_ENUM(id, words) id,
typedef enum eg_import_outcome {
  EG_IMPORT_LIST(EG_IMPORT_ENUM) EG_IMPORT_OUTCOMES
} eg_import_outcome;
#undef EG_IMPORT_ENUM
const char *eg_import_outcome_name(eg_import_outcome outcome);

/// Called once per substitution of the file, in order; `detail` is the reason of a
/// refusal, else "".
typedef void eg_import_report(void *user, uint32_t number, eg_import_outcome outcome,
                              const char *detail);

/// Adds the substitutions of a file, as rules unity-0, unity-1, ..., that are verified:
/// in their layouts, and in their values. Refusing some is a result. Fails with
/// EGRAPH_E_PARSE when the file is none of substitutions, or EGRAPH_E_IO; what stood
/// before is added then. `report` may be NULL.
egraph_status eg_rules_import_unity(eg_rules *rules, const char *path,
                                    eg_import_report *report, void *user);

#endif
