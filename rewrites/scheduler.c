// SPDX-License-Identifier: Apache-2.0
#include "rewrites/scheduler.h"

egraph_status eg_schedule_init(eg_schedule *schedule, egraph_allocator alloc,
                               const eg_saturation_options *options, uint32_t count) {
  *schedule = (eg_schedule){.alloc = alloc,
                            .kind = options->scheduler,
                            .match_limit = options->match_limit,
                            .ban_length = options->ban_length,
                            .count = count};
  return eg_alloc(alloc, count, sizeof *schedule->entries, &schedule->entries);
}

void eg_schedule_deinit(eg_schedule *schedule) {
  eg_free(schedule->alloc, schedule->entries, schedule->count, sizeof *schedule->entries);
  schedule->entries = NULL;
}

bool eg_schedule_allows(const eg_schedule *schedule, uint32_t rule, uint64_t iteration) {
  return iteration >= schedule->entries[rule].banned_until;
}

static uint64_t doubled(uint32_t value, uint32_t times) {
  return times < 32 ? (uint64_t)value << times : UINT64_MAX / 2;
}

uint64_t eg_schedule_limit(const eg_schedule *schedule, uint32_t rule) {
  if (schedule->kind == EG_SCHEDULER_SIMPLE) return UINT64_MAX;
  return doubled(schedule->match_limit, schedule->entries[rule].bans);
}

void eg_schedule_ban(eg_schedule *schedule, uint32_t rule, uint64_t iteration) {
  eg_schedule_entry *entry = &schedule->entries[rule];
  entry->banned_until = iteration + doubled(schedule->ban_length, entry->bans);
  entry->bans++;
}

bool eg_schedule_can_stop(eg_schedule *schedule, uint64_t iteration) {
  uint64_t first = UINT64_MAX;
  for (uint32_t i = 0; i < schedule->count; i++) {
    uint64_t until = schedule->entries[i].banned_until;
    if (until > iteration && until < first) first = until;
  }
  if (first == UINT64_MAX) return true;
  for (uint32_t i = 0; i < schedule->count; i++)
    if (schedule->entries[i].banned_until > iteration)
      schedule->entries[i].banned_until -= first - iteration;
  return false;
}
