// The state of a search for a plan: its results on the meshes so far.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_JOB_H
#define EG_OPTIMIZE_PLAN_JOB_H

#include "optimize/fold/joint_step.h"
#include "optimize/request.h"

/// The result of a search on a mesh.
typedef struct eg_mesh_found {
  eg_machine_mesh mesh;
  double bound;        // INFINITY: there is no plan
  double cost, memory; // of its plan; INFINITY: there is none
  bool is_of_all;      // the bound covers all variants: rules came to an end
} eg_mesh_found;
EG_VEC_DEFINE(eg_mesh_founds, eg_mesh_found);

/// The plan that is the answer so far.
typedef struct eg_best_plan {
  eg_machine_mesh mesh;
  double objective; // seconds by which it was chosen; INFINITY: there is no plan
  double bound;     // of all plans on its mesh
  double memory;
  bool makes_again; // eg_planning
  double excess;    // bytes over the limit of memory, for a plan of another searcher
} eg_best_plan;

/// The best plan of each baseline so far; starts as zeros.
typedef struct eg_rival_list {
  double single_seconds; // least seconds on one device; 0: not known
  eg_baseline_outcome best[EG_BASELINE_OUTCOMES];
  eg_mesh mesh[EG_BASELINE_OUTCOMES];
} eg_rival_list;

typedef struct eg_plan_job {
  const eg_plan_call *call;
  eg_plan_context context; // the call's, with the saturation below
  eg_saturation_options saturation;
  eg_budget budget; // the call's budget, and the work done
  double began;     // seconds after the start
  eg_plan_search *out;
  eg_joint_step step;
  eg_text mesh_name; // of the current mesh
  double bound, least_memory;
  double overlap_bound; // of all overlapped steps
  eg_mesh_founds tried;
  eg_best_plan best;
  bool is_infeasible; // on all meshes so far
  bool is_of_reached; // bounds are of variants that some search has reached
  eg_text ruled_out;  // why the constraints leave no plan on the first such mesh
  uint32_t ruled_out_meshes;
  eg_rival_list rivals;
  // The limit of memory that the search ignores: a plan above it is no answer and gets no
  // certificate. INFINITY: every plan is an answer
  double answer_limit;
  // The same search without the limit of memory, if its plan exceeds the limit; or NULL
  const struct eg_plan_job *free;
  bool begins_kept; // the best plan so far keeps all values, and begins the search
} eg_plan_job;

void eg_plan_job_init(eg_plan_job *job, const eg_plan_call *call, eg_plan_search *out);
void eg_plan_job_deinit(eg_plan_job *job);

/// Returns the seconds since the search began.
double eg_plan_job_elapsed(const eg_plan_job *job);
/// Reports progress; the callback of eg_layout_options for a job.
bool eg_plan_job_progress(void *job, double cost, double bound, double seconds);
uint32_t eg_plan_job_micro_batches(const eg_plan_job *job);
/// True when the user asked for the plans of all baselines.
bool eg_plan_job_compares(const eg_plan_job *job);
/// Returns the baseline plan (data-parallel, ...) that the user asked for; NULL: none.
const char *eg_plan_job_baseline(const eg_plan_job *job);
/// Returns the relative gap between cost and bound at which a search always ends.
double eg_plan_job_enough_gap(const eg_plan_job *job);
/// Returns the seconds that the search reserves to make a certificate of its plan.
double eg_plan_job_kept_seconds(const eg_plan_job *job);
/// Returns the input of a search on a mesh, limited to `seconds` and `steps`.
eg_planner_input eg_plan_job_input(eg_plan_job *job, const eg_machine_mesh *mesh,
                                   double seconds, double steps);
/// Keeps, for each baseline, the better plan of this mesh and earlier
/// ones. (plan_rivals.c)
void eg_rivals_join(eg_rival_list *list, const eg_planning *planning,
                    const eg_mesh *mesh);
/// Appends the baselines with their plans to the plan's rivals, the best first, if the
/// user asked for them. (plan_rivals.c) Fails with EGRAPH_E_MEMORY.
egraph_status eg_rivals_list(const eg_plan_job *job, eg_plan *plan);
/// Keeps a plan as the answer: its objective, in seconds, is the lowest so far.
void eg_plan_job_take(eg_plan_job *job, const eg_machine_mesh *mesh,
                      eg_planning *planning, double objective_seconds);

#endif
