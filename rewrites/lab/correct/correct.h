// Corrects rules that hold on a part of their result only (PET, OSDI'21). When the
// sides have one type and differ on a part of the result, the box in which they agree
// is found on instances (partial.h), and its borders are expressed by sizes and
// attributes (border.c). Then rules are written that compute the rest by the left side,
// and verified.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_CORRECT_H
#define EG_REWRITES_CORRECT_H

#include "rewrites/language/rules.h"

/// The result of correcting one rule whose sides differ, borrowed for the report.
typedef struct eg_correction {
  const char *rule;
  bool is_corrected;
  const char *detail; // the box and the evidence; or why there is no corrected rule
  uint32_t rules;     // number of rules written
} eg_correction;

/// Tries to correct each rule whose sides are equal on a part of the result only; of a
/// both-ways rule, one direction. Appends a file of the corrected rules, each of which
/// has been verified. Equal seeds give equal texts. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rules_correct(const eg_rules *rules, uint64_t seed,
                               void (*report)(void *user, const eg_correction *found),
                               void *user, eg_text *out);

#endif
