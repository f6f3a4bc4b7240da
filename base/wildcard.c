// SPDX-License-Identifier: Apache-2.0
#include "base/wildcard.h"

#include <stddef.h>

// Each star takes as little as it can; when the rest does not fit, the last one takes
// more.
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
