// A saturation: its options, why it ended, and its report.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SATURATION_H
#define EG_REWRITES_SATURATION_H

#include "base/memory.h"

// Why saturation ended: id, spelling in reports, words after "saturation". After
// "saturated" the e-graph contains all variants that the rules derive from its terms;
// after any other end, the variants reached. "depth-limit": only rules with several left
// sides still have matches, which multi_depth forbids to build upon each other.
#define EG_STOP_LIST(X)                                                                  \
  X(EG_STOP_SATURATED, "saturated", "ended")                                             \
  X(EG_STOP_NODE_LIMIT, "node-limit", "stopped at its node limit")                       \
  X(EG_STOP_ITERATION_LIMIT, "iteration-limit", "stopped at its iteration limit")        \
  X(EG_STOP_TIME_LIMIT, "time-limit", "stopped at its time limit")                       \
  X(EG_STOP_BYTE_LIMIT, "byte-limit", "stopped at its byte limit")                       \
  X(EG_STOP_CANCELLED, "cancelled", "was cancelled")                                     \
  X(EG_STOP_WORK_LIMIT, "work-limit", "stopped at its work limit")                       \
  X(EG_STOP_DEPTH_LIMIT, "depth-limit", "stopped at its depth limit")
#define EG_STOP_ENUM(id, name, words) id,
typedef enum eg_stop { EG_STOP_LIST(EG_STOP_ENUM) } eg_stop;
#undef EG_STOP_ENUM

// Schedulers, which limit the matches of a rule (scheduler.h): id, spelling.
#define EG_SCHEDULER_LIST(X)                                                             \
  X(EG_SCHEDULER_SIMPLE, "simple")                                                       \
  X(EG_SCHEDULER_BACKOFF, "backoff")                                                     \
  X(EG_SCHEDULER_YIELD, "yield")
#define EG_SCHEDULER_ENUM(id, name) id,
typedef enum eg_scheduler { EG_SCHEDULER_LIST(EG_SCHEDULER_ENUM) } eg_scheduler;
#undef EG_SCHEDULER_ENUM

/// Finds a scheduler by name. Fails with EGRAPH_E_ARGUMENT, listing the names.
egraph_status eg_scheduler_find(const char *name, eg_scheduler *out);

/// Priority and cost that the caller gives a rule, for the scheduler.
typedef struct eg_rule_policy {
  int32_t priority; // rules with more come first in every iteration
  double cost;      // what a match counts towards a match limit; it must be > 0
} eg_rule_policy;

/// One iteration: counts at its end, CPU seconds of its parts (all threads together).
typedef struct eg_iteration_stats {
  uint32_t nodes, classes;
  uint64_t matches; // matches found; with incremental search, new matches only
  double search_seconds, apply_seconds, rebuild_seconds;
} eg_iteration_stats;

typedef struct eg_saturation_options {
  uint32_t node_limit, iteration_limit; // 0 is legal: nothing is added
  /// The node limit is at least this number times the nodes at the start; 0: the limit
  /// is node_limit.
  uint32_t node_limit_growth;
  /// A rule's match limit is at least the nodes at the start divided by this number; 0:
  /// the limit is match_limit.
  uint32_t match_limit_share;
  /// When the node limit is below this number times the nodes at the start, rules whose
  /// right sides have fewer operators than their left sides first run alone, for up to
  /// iteration_limit iterations of their own and without match limits, so that other
  /// rules cannot use up the limit. 0: never.
  uint32_t shrink_first_below;
  double time_limit_seconds;
  uint64_t work_limit; // steps (base/work.h); 0: none
  size_t byte_limit;
  eg_scheduler scheduler;
  uint32_t match_limit, ban_length; // for "backoff" and "yield" (egg: 1000, 5)
  /// Limits how deep rules with several left sides build upon each other: a node that
  /// such a rule adds has depth one more than the nodes it matched, and these rules match
  /// no node of this depth (0: they are off). Without the limit their results grow doubly
  /// exponentially (Tensat, k_multi).
  uint32_t multi_depth;
  /// Called after every iteration of saturation and sometimes within; returns true to
  /// cancel. May be NULL.
  bool (*progress)(void *user, uint32_t iteration, uint32_t nodes, uint32_t classes);
  void *user;
  /// Called at the end of every iteration. May be NULL.
  void (*on_iteration)(void *user, const eg_iteration_stats *stats);
  void *on_iteration_user;
  /// Searches for all matches in every iteration, not only for new ones. The e-graph is
  /// the same after each iteration, except with "yield", where the rule's additions
  /// depend on the order of its matches.
  bool naive;
  uint32_t threads; // threads of the search; 0: 1. They do not change the e-graph
  /// Undoes an iteration that a limit, a cancellation or a failure interrupts: the
  /// e-graph is then as at the end of the iteration before. For this a copy of the
  /// e-graph is held during each iteration; its bytes count.
  bool rollback;
  egraph_math math; // uses rules of this class and of the classes before it
  /// True when a rule, if it is switched on, is used; NULL: use all that are on.
  bool (*use_rule)(void *user, uint32_t rule);
  void *use_rule_user;
  /// Cases of the rules, shared by successive saturations, so that each case is read
  /// once; or NULL.
  struct eg_rule_cases *cases;
  /// Returns a rule's priority and cost for the scheduler; NULL: priority 0 and cost 1.
  eg_rule_policy (*policy)(void *user, uint32_t rule);
  void *policy_user;
} eg_saturation_options;
#define EG_SATURATION_OPTIONS_DEFAULT                                                    \
  {                                                                                      \
    .node_limit = 20000, .iteration_limit = 20, .time_limit_seconds = 20.0,              \
    .byte_limit = (size_t)2 << 30, .scheduler = EG_SCHEDULER_BACKOFF,                    \
    .match_limit = 1000, .ban_length = 5, .multi_depth = 2                               \
  }

typedef struct eg_rule_stats {
  uint64_t matches;  // found, conditions hold
  uint64_t rejected; // candidates ruled out by conditions, and matches by types
  uint32_t nodes;    // e-nodes added
  uint32_t unions;
  uint32_t bans;
  double seconds; // search and apply
} eg_rule_stats;

typedef struct eg_saturation_report {
  eg_stop stop;
  uint32_t iterations, nodes, classes;
  double seconds;
  uint64_t work; // steps, independent of the clock and of the number of threads
  size_t peak_bytes;
  // An interrupted iteration was undone; it is not counted, but the statistics of the
  // rules include it.
  bool rolled_back;
  eg_rule_stats *rules; // [eg_rules_count]
  uint32_t rule_count;
  egraph_allocator alloc;
} eg_saturation_report;

void eg_saturation_report_deinit(eg_saturation_report *report);
const char *eg_stop_name(eg_stop stop);
/// Returns the words that complete "saturation ...": "stopped at its node limit".
const char *eg_stop_words(eg_stop stop);
/// Returns the scope of a bound on the terms of the e-graph: "all variants" (that the
/// rules derive) after saturation, otherwise "variants reached".
const char *eg_proven_over(eg_stop stop);

#endif
