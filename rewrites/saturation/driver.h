// The saturation loop, for any kind of rules: search all, apply all, rebuild, until
// nothing changes or a budget ends it. The loop handles iterations, schedulers, limits,
// threads and statistics; only the rules interpret matches: to the loop a match is a
// number of words, fixed per rule.
//
// Matches are applied while the search goes on (pattern.h says why that is the same): in
// each turn of a rule some lanes look for matches, at the same time when there are
// threads, until their buffers are full; then these matches are applied in the order of
// the lanes. So memory does not grow with the number of matches, and nothing depends on
// the number of threads.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_DRIVER_H
#define EG_REWRITES_DRIVER_H

#include "egraph/pattern.h"
#include "rewrites/saturation/saturation.h"

typedef struct eg_apply_result {
  // Number of matches applied to the e-graph, from the first one on, including rejected
  // ones. If some matches are missing, the next match would exceed max_new_nodes.
  uint32_t applied;
  uint32_t held;      // of these, matches kept for `finish`
  uint32_t unions;    // and additions to classes
  uint32_t rejected;  // matches rejected because of types
  uint64_t looked_at; // ways to join the kept matches that `finish` tried
} eg_apply_result;

enum { EG_DRIVER_LANES = 16, EG_DRIVER_BATCH = 64 };

/// One of the searches for matches of a rule, which run at the same time.
typedef struct eg_lane eg_lane;

/// The callbacks of a kind of rules; needs_all, shrinks and finish may be NULL.
typedef struct eg_driver_rules {
  void *self;
  uint32_t count;
  /// Lists the patterns (left sides) of a rule to search in this iteration: later
  /// iterations may add some, but remove none. *out_count 0: the rule is off. The words
  /// of a match begin with the number of its left side when a rule can have several.
  egraph_status (*matchers)(void *self, uint32_t rule,
                            const eg_matcher *const **out_matchers, uint32_t *out_count);
  /// Returns the number of words that a match of the rule takes. Called after `matchers`.
  uint32_t (*match_words)(void *self, uint32_t rule);
  /// True when conditions of the rule depend on more than its fresh nodes: all matches
  /// are always applied. NULL: false for every rule.
  bool (*needs_all)(void *self, uint32_t rule);
  /// True when every right side of the rule has fewer operators than its left side.
  /// Called after `matchers`. NULL: not known for any rule.
  bool (*shrinks)(void *self, uint32_t rule);
  /// Sets the callbacks with which a pattern of a rule is searched: on_match must call
  /// eg_lane_take, is_possible may call eg_lane_reject. Searches on different lanes
  /// (number < EG_DRIVER_LANES) run at the same time.
  void (*search)(void *self, uint32_t rule, uint32_t matcher, uint32_t number,
                 eg_lane *lane, eg_search *out);
  /// Applies up to `count` <= EG_DRIVER_BATCH matches of a rule, adjacent in memory.
  egraph_status (*apply)(void *self, uint32_t rule, const uint32_t *matches,
                         uint32_t count, uint32_t max_new_nodes, eg_apply_result *out);
  /// Called after all matches of a rule in an iteration, for rules that join
  /// several matches in one application. *out_fits is false when the next one would
  /// exceed max_new_nodes.
  egraph_status (*finish)(void *self, uint32_t rule, uint32_t max_new_nodes,
                          eg_apply_result *out, bool *out_fits);
  size_t (*bytes)(void *self);
} eg_driver_rules;

/// Counts a match found so far that the conditions of the rule exclude.
void eg_lane_reject(eg_lane *lane);
/// Counts a match. *out_words is memory for the match_words words of the match, which the
/// caller fills in. Fails with EGRAPH_E_MEMORY.
egraph_status eg_lane_take(eg_lane *lane, const eg_match *match, uint32_t **out_words,
                           bool *out_pause);

/// Saturates an e-graph with rules of any kind, as eg_saturate does with rules of
/// tensors. The report's statistics have the rule numbers of `rules`.
egraph_status eg_driver_run(const egraph_allocator *alloc, eg_engine *engine,
                            const eg_driver_rules *rules,
                            const eg_saturation_options *options,
                            eg_saturation_report *out_report);

#endif
