// Cuts that reduction would hide: rows of nodes of which every solution has one, found on
// an earlier model and still true of the present one.
//
// Presolve turns what the roots need into roots and drops the edges to them; with the
// edges goes the knowledge that somebody must use them, which the linear program and the
// dual ascent cannot find again. On sums closed under associativity and commutativity
// these rows close most of the gap.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_KEPT_CUTS_H
#define EG_EXTRACT_KEPT_CUTS_H

#include "extract/dual_ascent.h"
#include "extract/reduced.h"

/// Appends the cuts of `reduced` as rows of its nodes. A node is in a row when its part
/// contains one of the cut's; cuts that the fixed part meets are left out.
/// O(parts + nodes * parts of a node that are in cuts).
egraph_status eg_kept_cuts_list(const eg_reduced *reduced, const eg_parts *parts,
                                eg_cuts *out);
/// The other way: makes rows of nodes of a problem cuts of the model that copies it
/// (eg_reduced_from).
egraph_status eg_kept_cuts_load(eg_reduced *reduced, eg_parts *parts,
                                const eg_cuts *cuts);

#endif
