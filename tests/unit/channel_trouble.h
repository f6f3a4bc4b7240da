// A rank that makes trouble on a channel, and what the others see of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_CHANNEL_TROUBLE_H
#define EG_TESTS_UNIT_CHANNEL_TROUBLE_H

#include <stdatomic.h>

#include "exec/channel.h"
#include "tests/testing.h"

enum { TROUBLE_RANKS = 8 };

typedef struct trouble {
  uint32_t rank;     // who makes it
  atomic_uint noted; // how many ranks have seen it
  egraph_status seen[TROUBLE_RANKS];
  char message[TROUBLE_RANKS][EG_MESSAGE_BYTES];
} trouble;

/// Called on the thread of the rank; returns `status`.
static inline egraph_status trouble_note(trouble *t, const eg_channel *channel,
                                         egraph_status status) {
  t->seen[channel->rank] = status;
  (void)snprintf(t->message[channel->rank], EG_MESSAGE_BYTES, "%s", egraph_last_error());
  atomic_fetch_add(&t->noted, 1);
  return status;
}

/// Once all ranks have ended: all but the one that makes it have seen `status`, and a
/// message with `part` in it.
static inline void trouble_seen_by_all(const trouble *t, uint32_t ranks,
                                       egraph_status status, const char *part) {
  for (uint32_t r = 0; r < ranks; r++) {
    if (r == t->rank) continue;
    if (t->seen[r] != status) fail_msg("rank %u: %d, %s", r, t->seen[r], t->message[r]);
    if (strstr(t->message[r], part) == NULL) fail_msg("rank %u: %s", r, t->message[r]);
  }
}

#endif
