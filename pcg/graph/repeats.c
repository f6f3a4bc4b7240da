// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/repeats.h"

enum { LEAST_COUNT = 4, LEAST_HIDDEN = 16, LONGEST = 512 };

eg_repeat eg_repeat_at(uint32_t first, uint32_t len,
                       bool (*alike)(const void *user, uint32_t a, uint32_t b),
                       const void *user) {
  eg_repeat best = {.period = 1, .count = 1};
  uint32_t longest = (len - first) / LEAST_COUNT;
  if (longest > LONGEST) longest = LONGEST;
  for (uint32_t period = 1; period <= longest; period++) {
    uint32_t same = 0;
    while (first + same + period < len &&
           alike(user, first + same, first + same + period))
      same++;
    uint32_t count = same / period + 1;
    if (count < LEAST_COUNT || (count - 1) * period < LEAST_HIDDEN) continue;
    if (count * period > best.count * best.period)
      best = (eg_repeat){.period = period, .count = count};
  }
  return best;
}
