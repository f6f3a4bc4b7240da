// The report of a search for a plan: bounds and how the search ended, the certificate,
// the figures of the plan, and the plans of the baselines next to it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_REPORT_H
#define EG_OPTIMIZE_PLAN_REPORT_H

#include "optimize/plan_job.h"

/// Adds the figures, plan and bound of a search on a mesh to the job and its report.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_report_mesh(eg_plan_job *job, const eg_machine_mesh *mesh,
                                  const eg_planning *planning);
/// Counts the nodes of a graph that run in a step, not before it.
egraph_status eg_plan_report_nodes(const eg_plan_job *job, const eg_graph *graph,
                                   uint32_t *out);
/// Fills bound, gap, status and the reason why the search ended; `meshes`: how many
/// meshes to search there are. Fails with EGRAPH_E_INTERNAL when a plan contradicts
/// a bound.
egraph_status eg_plan_report_conclude(eg_plan_job *job, uint32_t meshes);
/// Makes the certificate of the best plan. Fails like eg_whole_step_certify.
egraph_status eg_plan_report_certify(eg_plan_job *job);
/// Fills the figures of the best plan, and appends the baselines to its rivals, the best
/// first, if the user asked for them. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_report_plan(eg_plan_job *job);

#endif
