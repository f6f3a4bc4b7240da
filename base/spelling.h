// Finds the closest of a list of names by edit distance, for "did you mean".
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_SPELLING_H
#define EG_BASE_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

/// A search for the closest name; candidates are offered one by one. `best` is borrowed,
/// and NULL while no name is close enough.
typedef struct eg_spelling {
  const char *wanted;
  const char *best;
  size_t distance; // distance of `best`
} eg_spelling;

eg_spelling eg_spelling_start(const char *wanted);
void eg_spelling_offer(eg_spelling *spelling, const char *candidate);

/// True when a name matches a pattern with '*'. O(length of the pattern * length of
/// the name).
bool eg_wildcard_matches(const char *pattern, const char *name);
/// True when a name matches one of the patterns.
bool eg_wildcard_any(const char *const *patterns, size_t count, const char *name);

#endif
