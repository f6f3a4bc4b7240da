// Names with wildcards: '*' stands for any characters, also for none.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_WILDCARD_H
#define EG_BASE_WILDCARD_H

#include <stdbool.h>

/// Whether a name is as the pattern says. O(length of the pattern * length of the name).
bool eg_wildcard_matches(const char *pattern, const char *name);

#endif
