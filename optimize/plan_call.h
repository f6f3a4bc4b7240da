// What a search for a plan is asked, and what it finds (plan_search.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_CALL_H
#define EG_OPTIMIZE_PLAN_CALL_H

#include "include/egraph.h"
#include "optimize/fold/joint_step.h"
#include "optimize/plan_rivals.h"
#include "pcg/plan/plan_json.h"

typedef struct eg_plan_search_input {
  egraph_allocator alloc;
  const eg_graph *forward;             // what weights alone make is folded
  const eg_training_options *training; // NULL: the forward graph alone
  const eg_machine *machine;
  const eg_mesh *mesh;                    // NULL: all of the machine
  double memory_limit;                    // bytes of a device; INFINITY: none
  eg_cost_model *costs;                   // of the machine's device; NULL: its figures
  const eg_rules *rules;                  // NULL: the graph as it is
  const egraph_search *search;            // checked
  const eg_plan_constraints *constraints; // NULL: none
  bool compares;                          // plan every baseline, for comparison
  const char *baseline;                   // plan this one instead; NULL: search
  const eg_plan_searcher *searcher; // by another algorithm; NULL: by the product's own
  double start; // when the clock of the time limit began to run (base/clock.h)
  /// As in egraph_options; may be NULL.
  bool (*progress)(void *user, const char *phase, const char *line);
  void *user;
} eg_plan_search_input;

typedef struct eg_plan_search {
  egraph_report report; // without texts of its own: seed, uncertified; total_seconds and
                        // measured are the caller's
  bool has_plan;
  eg_loaded_plan planned;
  char seed[EG_RIVAL_NAME_SIZE]; // baseline whose plan this is; "": the search's
  bool is_certified;
  eg_text certificate; // when it is
  eg_text uncertified; // why there is none, though one was wanted; "": nothing to say
} eg_plan_search;

#endif
