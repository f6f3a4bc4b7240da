// Which rules of a set others find again: those that they imply, with the reason why not.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_FOUND_H
#define EG_REWRITES_IMPORT_FOUND_H

#include "rewrites/language/rules.h"

/// Looks for every rule of `of` (both directions of one are one) among what the sets `by`
/// imply together. Rules that stand in several of them are one.
egraph_status eg_rules_found(egraph_allocator alloc, const eg_rules *of,
                             const eg_rules *const *by, size_t by_count,
                             void (*report)(void *user, const egraph_rule_found *found),
                             void *user);

#endif
