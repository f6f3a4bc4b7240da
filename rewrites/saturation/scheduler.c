// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/scheduler.h"

#include <assert.h>
#include <string.h>

#define SCHEDULER_NAME(id, name) name,
static const char *const NAMES[] = {EG_SCHEDULER_LIST(SCHEDULER_NAME)};
#undef SCHEDULER_NAME

egraph_status eg_scheduler_find(const char *name, eg_scheduler *out) {
  for (size_t i = 0; name != NULL && i < sizeof NAMES / sizeof *NAMES; i++)
    if (strcmp(name, NAMES[i]) == 0) {
      *out = (eg_scheduler)i;
      return EGRAPH_OK;
    }
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "unknown scheduler '%s'; use simple, backoff or yield",
                 name == NULL ? "" : name);
}

/// Sorts the rules by insertion, which is stable, because there are few rules.
static void order_rules(eg_schedule *schedule) {
  for (uint32_t i = 0; i < schedule->count; i++) {
    int32_t priority = schedule->entries[i].policy.priority;
    uint32_t place = i;
    for (; place != 0; place--) {
      uint32_t before = schedule->order[place - 1];
      if (schedule->entries[before].policy.priority >= priority) break;
      schedule->order[place] = before;
    }
    schedule->order[place] = i;
  }
}

static egraph_status take_policies(eg_schedule *schedule,
                                   const eg_saturation_options *options) {
  for (uint32_t i = 0; i < schedule->count; i++) {
    eg_rule_policy *policy = &schedule->entries[i].policy;
    *policy = (eg_rule_policy){.priority = 0, .cost = 1.0};
    if (options->policy != NULL) *policy = options->policy(options->policy_user, i);
    if (!(policy->cost > 0))
      return EG_FAIL(EGRAPH_E_ARGUMENT, "the cost of rule %u is %g; it must be above 0",
                     i, policy->cost);
  }
  order_rules(schedule);
  return EGRAPH_OK;
}

egraph_status eg_schedule_init(eg_schedule *schedule, egraph_allocator alloc,
                               const eg_saturation_options *options, uint32_t count) {
  *schedule = (eg_schedule){.alloc = alloc,
                            .kind = options->scheduler,
                            .match_limit = options->match_limit,
                            .ban_length = options->ban_length,
                            .count = count};
  egraph_status status =
      eg_alloc(alloc, count, sizeof *schedule->entries, &schedule->entries);
  if (status == EGRAPH_OK)
    status = eg_alloc(alloc, count, sizeof *schedule->order, &schedule->order);
  if (status == EGRAPH_OK) status = take_policies(schedule, options);
  if (status != EGRAPH_OK) eg_schedule_deinit(schedule);
  return status;
}

void eg_schedule_raise(eg_schedule *schedule, uint32_t match_limit) {
  if (schedule->match_limit < match_limit) schedule->match_limit = match_limit;
}

void eg_schedule_deinit(eg_schedule *schedule) {
  eg_free(schedule->alloc, schedule->entries, schedule->count, sizeof *schedule->entries);
  eg_free(schedule->alloc, schedule->order, schedule->count, sizeof *schedule->order);
  schedule->entries = NULL;
  schedule->order = NULL;
}

const uint32_t *eg_schedule_order(const eg_schedule *schedule) { return schedule->order; }

bool eg_schedule_allows(const eg_schedule *schedule, uint32_t rule, uint64_t iteration) {
  assert(rule < schedule->count);
  return iteration >= schedule->entries[rule].banned_until;
}

static uint64_t doubled(uint32_t value, uint32_t times) {
  return times < 32 ? (uint64_t)value << times : UINT64_MAX / 2;
}

/// Returns the nodes that a rule has added, divided by the mean of all rules; at least a
/// sixteenth, because the matches stored for a rule are limited.
static double share_of_growth(const eg_schedule *schedule, uint32_t rule,
                              const eg_rule_stats *stats) {
  double all = 0;
  for (uint32_t i = 0; i < schedule->count; i++)
    all += stats[i].nodes;
  double share = (stats[rule].nodes + 1.0) / (all / schedule->count + 1.0);
  return share < 1.0 / 16 ? 1.0 / 16 : share;
}

uint64_t eg_schedule_limit(const eg_schedule *schedule, uint32_t rule,
                           const eg_rule_stats *stats) {
  assert(rule < schedule->count);
  if (schedule->kind == EG_SCHEDULER_SIMPLE) return UINT64_MAX;
  const eg_schedule_entry *entry = &schedule->entries[rule];
  uint64_t limit = doubled(schedule->match_limit, entry->bans);
  double cost = entry->policy.cost;
  if (schedule->kind == EG_SCHEDULER_YIELD)
    cost *= share_of_growth(schedule, rule, stats);
  if (cost == 1.0) return limit;
  double weighed = (double)limit / cost;
  return weighed < 0x1p62 ? (uint64_t)weighed : UINT64_C(1) << 62;
}

void eg_schedule_ban(eg_schedule *schedule, uint32_t rule, uint64_t iteration) {
  assert(rule < schedule->count);
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
