// The interface of searches that replace the product's own search for a plan on one mesh:
// from a layout problem to the strategies of a solution.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_SEARCHER_H
#define EG_OPTIMIZE_SEARCH_PLAN_SEARCHER_H

#include "base/work.h"
#include "optimize/model/plan_model.h"
#include "pcg/parallel/machine.h"

// The reasons why a search by another algorithm ended: id, spelling in reports.
#define EG_PLAN_STOP_LIST(X)                                                             \
  X(EG_PLAN_STOP_EXHAUSTED, "exhausted") /* nothing is left to look at */                \
  X(EG_PLAN_STOP_NO_GAIN, "no-gain")     /* nothing better came for long enough */       \
  X(EG_PLAN_STOP_WORK_LIMIT, "work-limit")                                               \
  X(EG_PLAN_STOP_TIME_LIMIT, "time-limit")                                               \
  X(EG_PLAN_STOP_CANCELLED, "cancelled")
#define EG_PLAN_STOP_ENUM(id, name) id,
typedef enum eg_plan_stop {
  EG_PLAN_STOP_LIST(EG_PLAN_STOP_ENUM) EG_PLAN_STOPS
} eg_plan_stop;
#undef EG_PLAN_STOP_ENUM

/// The graphs (variants of the model) that the layout problem contains.
typedef enum eg_plan_graphs {
  EG_PLAN_GIVEN_GRAPH,    // the graph as it is, no rules
  EG_PLAN_CHEAPEST_GRAPH, // the graph that is cheapest on one device (plan_algebra.h)
  EG_PLAN_ALL_GRAPHS      // all graphs that rules make
} eg_plan_graphs;

typedef struct eg_plan_question {
  egraph_allocator alloc;
  eg_plan_model *model;        // obeys the user's constraints and the memory limit
  const eg_machine_mesh *mesh; // without axes of one device
  double memory_limit;         // bytes of a device; INFINITY: none
  eg_layout_options layout;    // limits of work and time, progress
  uint64_t seed;               // of random choices
} eg_plan_question;

typedef struct eg_plan_answer {
  eg_u32s strategy;   // [problem values] EG_LAYOUT_NONE: not needed; empty: no plan
  uint64_t proposals; // plans that were compared
  uint64_t work;      // steps
  eg_plan_stop stop;
} eg_plan_answer;
static inline void eg_plan_answer_init(eg_plan_answer *answer, egraph_allocator alloc) {
  *answer = (eg_plan_answer){.stop = EG_PLAN_STOP_EXHAUSTED};
  eg_u32s_init(&answer->strategy, alloc);
}
static inline void eg_plan_answer_deinit(eg_plan_answer *answer) {
  eg_u32s_deinit(&answer->strategy);
}

typedef struct eg_plan_searcher {
  /// Runs the search and fills an initialized, empty answer; its plan need not fit
  /// in memory.
  egraph_status (*run)(const void *self, const eg_plan_question *question,
                       eg_plan_answer *out);
  const void *self;
  eg_plan_graphs graphs;
  bool is_whole; // plans the whole step: no block represents others
} eg_plan_searcher;

/// Figures that a search by another algorithm reports about itself.
typedef struct eg_plan_searched {
  uint64_t proposals, work;
  double seconds;
  eg_plan_stop stop;
} eg_plan_searched;

static inline const char *eg_plan_stop_name(eg_plan_stop stop) {
#define EG_PLAN_STOP_NAME(id, name) name,
  static const char *const names[] = {EG_PLAN_STOP_LIST(EG_PLAN_STOP_NAME)};
#undef EG_PLAN_STOP_NAME
  return names[stop];
}

#endif
