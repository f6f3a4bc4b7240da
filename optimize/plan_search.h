// The cheapest plan of a graph, or of a training step of it, on all meshes of a machine.
//
//   model -> whole step -> on every mesh: plan (whole_step.h) -> the cheapest ->
//   certificate
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_SEARCH_H
#define EG_OPTIMIZE_PLAN_SEARCH_H

#include "include/egraph.h"
#include "optimize/fold/joint_step.h"
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

/// Seconds and steps that the limits of a search for a plan mean.
void eg_plan_search_limits(const egraph_search *search, double *out_seconds,
                           double *out_steps);
void eg_plan_search_init(eg_plan_search *search, egraph_allocator alloc);
/// Also after a failure.
void eg_plan_search_deinit(eg_plan_search *search);
/// Fills an initialized one. Limits, and that nothing fits, are results. Fails like
/// eg_joint_step_init and eg_joint_step_plan, and with EGRAPH_E_ARGUMENT (a mesh that
/// the machine does not have, constraints that leave no plan on any mesh).
egraph_status eg_plan_search_run(const eg_plan_search_input *input, eg_plan_search *out);

#endif
