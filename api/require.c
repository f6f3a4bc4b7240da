// SPDX-License-Identifier: Apache-2.0
#include "api/require.h"

#include <string.h>

egraph_status eg_require(const char *function, const char *names,
                         const void *const *pointers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int length = (int)strcspn(names, ",");
    if (pointers[i] == NULL)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "%s: %.*s is NULL", function, length, names);
    names += length;
    names += strspn(names, ", ");
  }
  return EGRAPH_OK;
}
