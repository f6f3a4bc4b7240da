// A turn with a limit begins with one lane and doubles them, because most rules that go
// beyond their limit do so soon.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/lanes.h"

#include "base/parallel.h"

enum {
  PART_CANDIDATES = 256,  // first nodes that a lane takes at a time, at least
  LANE_WORDS = 1 << 15,   // of matches, after which a lane pauses
  LANE_STEPS = 1 << 18,   // of a search, after which it pauses
  THREAD_CANDIDATES = 512 // a turn with fewer is not worth a thread
};

void eg_lanes_init(eg_lanes *lanes, egraph_allocator alloc, eg_engine *engine,
                   const eg_driver_rules *rules, uint32_t threads) {
  *lanes =
      (eg_lanes){.alloc = alloc, .engine = engine, .rules = rules, .threads = threads};
  eg_parts_init(&lanes->parts, alloc);
  for (size_t i = 0; i < EG_DRIVER_LANES; i++) {
    lanes->all[i].turn = &lanes->turn;
    eg_u32s_init(&lanes->all[i].words, alloc);
  }
}

void eg_lanes_deinit(eg_lanes *lanes) {
  for (size_t i = 0; i < EG_DRIVER_LANES; i++)
    eg_u32s_deinit(&lanes->all[i].words);
  eg_parts_deinit(&lanes->parts);
}

size_t eg_lanes_words(const eg_lanes *lanes) {
  size_t words = 0;
  for (size_t i = 0; i < EG_DRIVER_LANES; i++)
    words += lanes->all[i].words.cap;
  return words;
}

// ---- what rules call ------------------------------------------------------------

void eg_lane_reject(eg_lane *lane) { lane->rejected++; }

egraph_status eg_lane_take(eg_lane *lane, const eg_match *match, uint32_t **out_words,
                           bool *out_pause) {
  const eg_turn *turn = lane->turn;
  eg_u32s *words = &lane->words;
  if (words->cap - words->len < turn->words_per_match)
    EG_TRY(eg_u32s_reserve(words, words->len + turn->words_per_match));
  *out_words = words->data + words->len;
  lane->found++;
  if (!turn->apply_fresh || match->is_fresh) words->len += turn->words_per_match;
  *out_pause = words->len >= LANE_WORDS || lane->found > turn->limit - turn->found;
  return EGRAPH_OK;
}

// ---- searching ------------------------------------------------------------------

static eg_search search_on(eg_lanes *lanes, uint32_t number) {
  const eg_driver_rules *rules = lanes->rules;
  eg_search search = {.fresh_only = lanes->turn.fresh_only};
  rules->search(rules->self, lanes->turn.rule, number, &lanes->all[number], &search);
  return search;
}

egraph_status eg_lanes_start(eg_lanes *lanes) {
  lanes->parts.len = lanes->next_part = 0;
  lanes->count = lanes->turn.limit == UINT64_MAX ? EG_DRIVER_LANES : 1;
  eg_search search = search_on(lanes, 0);
  return eg_matcher_split(lanes->turn.matcher, lanes->engine, &search, PART_CANDIDATES,
                          &lanes->parts);
}

/// Gives parts to idle lanes. Returns how many lanes are busy, the first ones.
static egraph_status fill_lanes(eg_lanes *lanes, uint32_t *out_busy,
                                uint64_t *out_candidates) {
  *out_busy = 0;
  *out_candidates = 0;
  for (uint32_t i = 0; i < lanes->count; i++) {
    eg_lane *lane = &lanes->all[i];
    if (lane->cursor == NULL && lanes->next_part < lanes->parts.len) {
      eg_part part = lanes->parts.data[lanes->next_part++];
      eg_search search = search_on(lanes, i);
      EG_TRY(eg_cursor_create(lanes->alloc, lanes->turn.matcher, lanes->engine, &search,
                              part, &lane->cursor));
      *out_candidates += part.count;
    } else if (lane->cursor != NULL) {
      *out_candidates += THREAD_CANDIDATES; // it had so much to do that it paused
    }
    lane->found = lane->rejected = lane->looked_at = lane->words.len = 0;
    if (lane->cursor != NULL) *out_busy = i + 1;
  }
  return EGRAPH_OK;
}

static egraph_status run_lane(void *user, size_t index, uint32_t worker) {
  eg_lanes *lanes = user;
  eg_lane *lane = &lanes->all[index];
  (void)worker;
  if (lane->cursor == NULL) return EGRAPH_OK;
  bool done;
  uint64_t before = eg_cursor_looked_at(lane->cursor);
  EG_TRY(eg_cursor_run(lane->cursor, LANE_STEPS, &done));
  lane->looked_at = eg_cursor_looked_at(lane->cursor) - before;
  if (!done) return EGRAPH_OK;
  eg_cursor_destroy(lane->cursor);
  lane->cursor = NULL;
  return EGRAPH_OK;
}

egraph_status eg_lanes_search(eg_lanes *lanes, uint32_t *out_busy) {
  uint64_t candidates;
  EG_TRY(fill_lanes(lanes, out_busy, &candidates));
  if (*out_busy == 0) return EGRAPH_OK;
  if (lanes->count < EG_DRIVER_LANES) lanes->count *= 2; // from the next time on
  uint32_t threads = candidates < THREAD_CANDIDATES ? 1 : lanes->threads;
  return eg_parallel_for(lanes->alloc, threads, *out_busy, run_lane, lanes);
}

void eg_lanes_stop(eg_lanes *lanes) {
  for (size_t i = 0; i < EG_DRIVER_LANES; i++) {
    eg_cursor_destroy(lanes->all[i].cursor);
    lanes->all[i].cursor = NULL;
  }
}
