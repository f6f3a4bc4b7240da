// A search for a plan at work: what it has found on the meshes up to now.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_JOB_H
#define EG_OPTIMIZE_PLAN_JOB_H

#include "optimize/plan_call.h"
#include "optimize/plan_rivals.h"

#define EG_STEPS_OF_WORK 1e6 // in a unit of work_limit

/// What a search has found on a mesh.
typedef struct eg_mesh_found {
  eg_machine_mesh mesh;
  double bound;        // INFINITY: there is no plan
  double cost, memory; // of its plan; INFINITY: there is none
  bool is_of_all;      // the bound: rules came to an end
} eg_mesh_found;
EG_VEC_DEFINE(eg_mesh_founds, eg_mesh_found);

typedef struct eg_plan_job {
  const eg_plan_search_input *input;
  eg_saturation_options saturation;
  double time_limit;
  double began;  // seconds after the search's own start
  double work;   // steps, of all meshes together
  uint64_t done; // of these
  eg_plan_search *out;
  eg_joint_step step;
  eg_text mesh_name; // of the mesh at work
  double bound, least_memory;
  double overlap_bound; // of all overlapped steps
  eg_mesh_founds tried;
  eg_machine_mesh best_mesh; // of the plan
  double best_memory;        // of the plan
  double best_bound;         // of all plans on it
  double best_worth;         // seconds that the plan was chosen by
  double best_excess;        // of another search: bytes over the limit of memory
  bool is_cancelled;
  bool is_infeasible; // on all meshes up to now
  bool is_of_reached; // bounds are of variants that some search has reached
  eg_text ruled_out;  // why the constraints leave no plan on the first such mesh
  uint32_t ruled_out_meshes;
  eg_rival_list rivals;
  double answer_limit; // of a search without the limit of memory: that limit; its plan is
                       // the answer, and certified, where it fits. INFINITY: it is anyway
  // Of the same search without the limit of memory, whose plan exceeds it:
  const eg_mesh_founds *free; // NULL: there was none
  eg_loaded_plan free_plan;
  eg_machine_mesh free_mesh;
} eg_plan_job;

/// Seconds since the search began.
double eg_plan_job_elapsed(const eg_plan_job *job);
/// As in eg_layout_options, of a job.
bool eg_plan_job_progress(void *job, double cost, double bound, double seconds);
uint32_t eg_plan_job_micro_batches(const eg_plan_job *job);
/// A search on a mesh in so many seconds and steps.
eg_planner_input eg_plan_job_input(eg_plan_job *job, const eg_machine_mesh *mesh,
                                   double seconds, double steps);
/// Takes a plan over, which is better than that before: the next one must take less than
/// `worth` seconds.
void eg_plan_job_take(eg_plan_job *job, const eg_machine_mesh *mesh,
                      eg_planning *planning, double worth);

// ---- overlapped steps (plan_overlapped.c) ---------------------------------------------

// The first search has the work of one without overlap, so that no step is longer than
// that of its plan; those with weights have as much again, each half of what is left, and
// each baseline a twentieth, but the best all. All share the time.
#define EG_OVERLAP_SHARE 0.5

/// Of the plan of the first search, which took `seconds` at most, those of baselines, and
/// those of searches with weights. Frees the planning. Fails like eg_joint_step_plan.
egraph_status eg_plan_job_overlap(eg_plan_job *job, const eg_machine_mesh *mesh,
                                  eg_planning *planning, double seconds, double steps);

#endif
