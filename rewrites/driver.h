// The saturation loop, for any kind of rules: search all, apply all, rebuild, until
// nothing changes or a budget ends it. It knows iterations, schedulers, limits and
// statistics; what a match is, only the rules know: to the loop it is a fixed number of
// words per rule.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_DRIVER_H
#define EG_REWRITES_DRIVER_H

#include "rewrites/saturate.h"

typedef struct eg_driver eg_driver;

typedef enum eg_apply_outcome {
  EG_APPLY_DONE,     // applied, or nothing was to be done
  EG_APPLY_REJECTED, // by types
  EG_APPLY_NO_ROOM   // it would exceed max_new_nodes; nothing was added
} eg_apply_outcome;

typedef struct eg_apply_result {
  eg_apply_outcome outcome;
  uint32_t unions;
} eg_apply_result;

/// What differs between kinds of rules. Nothing is optional.
typedef struct eg_driver_rules {
  void *self;
  uint32_t count;
  bool (*enabled)(void *self, uint32_t rule);
  uint32_t (*match_words)(void *self, uint32_t rule);
  /// Hands every match to eg_driver_take, and stops when that says so.
  egraph_status (*search)(void *self, uint32_t rule, eg_driver *driver);
  egraph_status (*apply)(void *self, uint32_t rule, const uint32_t *match,
                         uint32_t max_new_nodes, eg_apply_result *out);
  size_t (*bytes)(void *self);
} eg_driver_rules;

/// A candidate of the current rule was ruled out by its conditions.
void eg_driver_reject(eg_driver *driver);
/// A match of the current rule was found; `words` are copied.
egraph_status eg_driver_take(eg_driver *driver, const uint32_t *words, bool *out_stop);

/// Looks at the budgets; true when the search should end. For searches that find
/// nothing for long.
bool eg_driver_is_stopped(eg_driver *driver);

/// See eg_saturate. The report's rule statistics are those of `rules`.
egraph_status eg_driver_run(const egraph_allocator *alloc, eg_engine *engine,
                            const eg_driver_rules *rules,
                            const eg_saturation_options *options,
                            eg_saturation_report *out_report);

#endif
