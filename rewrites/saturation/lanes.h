// Lanes: the searches of one rule that run side by side. The parts of the search are
// given to idle lanes; a lane pauses when its buffer is full, and what the lanes found is
// taken from them, in their order, before they go on.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LANES_H
#define EG_REWRITES_LANES_H

#include "rewrites/saturation/driver.h"

/// The rule at hand.
typedef struct eg_turn {
  uint32_t rule, words_per_match;
  const eg_matcher *matcher;
  uint64_t limit, found; // matches; limit UINT64_MAX: none
  bool fresh_only;       // are looked for
  bool apply_fresh;      // of all that are found, only fresh ones are applied
} eg_turn;

struct eg_lane {
  const eg_turn *turn;
  eg_cursor *cursor; // NULL: idle
  eg_u32s words;     // of the matches of this turn that are to be applied
  uint64_t found, rejected;
  uint64_t looked_at; // candidates: its work
};

typedef struct eg_lanes {
  egraph_allocator alloc;
  eg_engine *engine;
  const eg_driver_rules *rules;
  uint32_t threads;
  eg_turn turn;
  eg_parts parts;   // of the rule's search
  size_t next_part; // that no lane has had
  uint32_t count;   // at work, the first ones
  eg_lane all[EG_DRIVER_LANES];
} eg_lanes;

void eg_lanes_init(eg_lanes *lanes, egraph_allocator alloc, eg_engine *engine,
                   const eg_driver_rules *rules, uint32_t threads);
void eg_lanes_deinit(eg_lanes *lanes);
/// Words of the buffers.
size_t eg_lanes_words(const eg_lanes *lanes);

/// Splits the search of the turn. Fails as eg_matcher_split.
egraph_status eg_lanes_start(eg_lanes *lanes);
/// Lets the lanes search until each is done with its part or pauses. *out_busy: the first
/// so many lanes have searched; 0: there was nothing left to do. Fails as eg_cursor_run.
egraph_status eg_lanes_search(eg_lanes *lanes, uint32_t *out_busy);
/// Gives up what is not done.
void eg_lanes_stop(eg_lanes *lanes);

#endif
