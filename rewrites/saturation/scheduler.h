// Decides which rules are searched in an iteration, and how many matches each may have.
//
// Back-off: a rule with more than match_limit << bans matches loses all of them and rests
// for ban_length << bans iterations. Saturation is reported only after every resting rule
// has had its turn. As egg's BackoffScheduler (run.rs).
//
// Yield: as back-off, but matches are weighed by the nodes that the rule has added so
// far. A rule that mostly finds existing terms, and unites their classes, is cheap
// however often it matches; a rule that adds twice as many nodes as the mean of all rules
// gets half the limit.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SCHEDULER_H
#define EG_REWRITES_SCHEDULER_H

#include "rewrites/saturation/saturation.h"

typedef struct eg_schedule_entry {
  eg_rule_policy policy;
  uint32_t bans;
  uint64_t banned_until; // first iteration in which the rule may run again
} eg_schedule_entry;

typedef struct eg_schedule {
  egraph_allocator alloc;
  eg_scheduler kind;
  uint32_t match_limit, ban_length;
  eg_schedule_entry *entries; // [count]
  uint32_t *order;            // [count]
  uint32_t count;
} eg_schedule;

egraph_status eg_schedule_init(eg_schedule *schedule, egraph_allocator alloc,
                               const eg_saturation_options *options, uint32_t count);
/// Raises the schedule's limit of matches per rule to at least `match_limit`.
void eg_schedule_raise(eg_schedule *schedule, uint32_t match_limit);
void eg_schedule_deinit(eg_schedule *schedule);
bool eg_schedule_allows(const eg_schedule *schedule, uint32_t rule, uint64_t iteration);
/// Returns the rules by falling priority: [count].
const uint32_t *eg_schedule_order(const eg_schedule *schedule);
/// Returns the most matches that the rule may have now; `stats` [count] are the
/// statistics of all rules so far.
uint64_t eg_schedule_limit(const eg_schedule *schedule, uint32_t rule,
                           const eg_rule_stats *stats);
/// Bans a rule for some iterations because it has more matches than its limit.
void eg_schedule_ban(eg_schedule *schedule, uint32_t rule, uint64_t iteration);
/// True when saturation may stop after an iteration without change. False when a rule was
/// banned in it; the first banned rule may then run in the next iteration.
bool eg_schedule_can_stop(eg_schedule *schedule, uint64_t iteration);

#endif
