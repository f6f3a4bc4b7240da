// Computes the Levenshtein distance on three rows; two swapped letters count as one
// error. Names longer than a row are never close.
// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <stddef.h>
#include <string.h>

enum { MAX_NAME = 63 };

static size_t min3(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len) {
  size_t rows[3][MAX_NAME + 1];
  for (size_t j = 0; j <= b_len; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= a_len; i++) {
    const size_t *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
    size_t *row = rows[i % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
      row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
  }
  return rows[a_len % 3][b_len];
}

eg_spelling eg_spelling_start(const char *wanted) {
  // A third of the letters may be wrong, and at least one, but never all of them.
  size_t len = strlen(wanted);
  return (eg_spelling){.wanted = wanted, .distance = (len < 6 ? 1 : len / 3) + 1};
}

void eg_spelling_offer(eg_spelling *spelling, const char *candidate) {
  size_t a_len = strlen(spelling->wanted), b_len = strlen(candidate);
  if (a_len > MAX_NAME || b_len > MAX_NAME) return;
  size_t d = distance(spelling->wanted, a_len, candidate, b_len);
  if (d >= spelling->distance || d >= b_len) return;
  spelling->best = candidate;
  spelling->distance = d;
}

// Each star matches as few characters as possible; when the rest does not match, the last
// star takes one character more.
bool eg_wildcard_matches(const char *pattern, const char *name) {
  const char *star = NULL, *from = NULL;
  while (*name != '\0') {
    if (*pattern == '*') {
      star = pattern++;
      from = name;
    } else if (*pattern == *name) {
      pattern++;
      name++;
    } else if (star != NULL) {
      pattern = star + 1;
      name = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}

bool eg_wildcard_any(const char *const *patterns, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (eg_wildcard_matches(patterns[i], name)) return true;
  return false;
}
