// Makes rules by machine: enumerates terms of a family, pairs those of one value, leaves
// out what rules imply, generalizes and verifies the rest, smallest first.
//
// Steps and their state: terms below the largest are enumerated again by every run (some
// seconds); candidates, how far they are judged, and the rules kept are in the state
// file, so that a run that was ended goes on.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_GENERATE_H
#define EG_REWRITES_GENERATE_GENERATE_H

#include "base/text.h"
#include "rewrites/lab/generate/generate_report.h"

/// Appends a file of rules, with where they come from. Being stopped by `progress` or by
/// `candidates` is a result: the rules up to then. Fails with EGRAPH_E_ARGUMENT (unknown
/// family, byte limit), EGRAPH_E_PARSE (state file of another run, or damaged).
egraph_status eg_rules_generate(const egraph_allocator *alloc,
                                const eg_generate_options *options, eg_text *out,
                                eg_generate_report *report);

#endif
