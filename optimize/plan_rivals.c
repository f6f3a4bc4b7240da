// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan_job.h"

#include <math.h>
#include <string.h>

#include "pcg/plan/plan_rivals.h"

static eg_rival_outcome outcome_of(const eg_baseline_outcome *baseline) {
  if (baseline->obstacle.parts != 0) return EG_RIVAL_UNEVEN;
  static const eg_rival_outcome outcomes[] = {
      [EG_LAYOUT_OPTIMAL] = EG_RIVAL_FITS,
      [EG_LAYOUT_FEASIBLE] = EG_RIVAL_FITS,
      [EG_LAYOUT_UNKNOWN] = EG_RIVAL_UNKNOWN,
      [EG_LAYOUT_NO_MEMORY] = EG_RIVAL_TOO_LARGE,
      [EG_LAYOUT_INFEASIBLE] = EG_RIVAL_IMPOSSIBLE,
  };
  return outcomes[baseline->status];
}

/// True when `a` is better: first plans that fit, by cost; then plans that are too large,
/// by memory; then outcomes not proven impossible.
static bool is_better_outcome(const eg_baseline_outcome *a,
                              const eg_baseline_outcome *b) {
  static const int order[EG_RIVAL_OUTCOMES] = {
      [EG_RIVAL_FITS] = 0,   [EG_RIVAL_TOO_LARGE] = 1,  [EG_RIVAL_UNKNOWN] = 2,
      [EG_RIVAL_UNEVEN] = 3, [EG_RIVAL_IMPOSSIBLE] = 4, [EG_RIVAL_FORBIDDEN] = 4};
  if (!b->is_tried) return a->is_tried;
  eg_rival_outcome mine = outcome_of(a), other = outcome_of(b);
  if (!a->is_tried || mine != other) return a->is_tried && order[mine] < order[other];
  if (mine == EG_RIVAL_TOO_LARGE) return a->least_memory < b->least_memory;
  return mine == EG_RIVAL_FITS && a->cost < b->cost;
}

void eg_rivals_join(eg_rival_list *list, const eg_planning *planning,
                    const eg_mesh *mesh) {
  double single = planning->single_seconds;
  if (single > 0 && !(list->single_seconds > 0 && list->single_seconds <= single))
    list->single_seconds = single;
  for (uint32_t b = 0; b < EG_BASELINE_OUTCOMES; b++)
    if (is_better_outcome(&planning->baseline[b], &list->best[b])) {
      list->best[b] = planning->baseline[b];
      list->mesh[b] = *mesh;
    }
}

static eg_plan_rival rival_of(const eg_plan_job *job, uint32_t baseline,
                              const eg_plan_summary *plan) {
  const eg_baseline_outcome *best = &job->rivals.best[baseline];
  eg_plan_rival rival = {.outcome = outcome_of(best), .mesh = job->rivals.mesh[baseline]};
  if (rival.outcome == EG_RIVAL_IMPOSSIBLE && job->call->request->constraints != NULL)
    rival.outcome = EG_RIVAL_FORBIDDEN;
  memcpy(rival.name, best->name, sizeof rival.name);
  rival.parts = best->obstacle.parts;
  rival.batch =
      best->obstacle.batch < UINT32_MAX ? (uint32_t)best->obstacle.batch : UINT32_MAX;
  if (rival.outcome == EG_RIVAL_TOO_LARGE) {
    rival.least_memory = best->least_memory;
    rival.excess = fmax(best->least_memory - job->budget.memory, 0);
  }
  if (!best->has_summary) return rival;
  rival.seconds = best->cost;
  rival.memory = best->memory;
  eg_plan_rival_explain(&rival, plan, &best->summary);
  return rival;
}

egraph_status eg_rivals_list(const eg_plan_job *job, eg_plan *plan) {
  const eg_baseline_outcome *best = job->rivals.best;
  eg_plan_summary summary;
  uint32_t ranked[EG_BASELINE_OUTCOMES];
  uint32_t count = 0;
  for (uint32_t b = 0; b < EG_BASELINE_OUTCOMES; b++) {
    if (!best[b].is_tried) continue;
    uint32_t at = count++;
    for (; at > 0 && is_better_outcome(&best[b], &best[ranked[at - 1]]); at--)
      ranked[at] = ranked[at - 1];
    ranked[at] = b;
  }
  plan->single_seconds = job->rivals.single_seconds;
  if (count == 0 || !eg_plan_job_compares(job)) return EGRAPH_OK;
  EG_TRY(eg_plan_summary_make(plan, job->call->request->alloc, &summary));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_plan_rivals_push(&plan->rivals, rival_of(job, ranked[i], &summary)));
  return EGRAPH_OK;
}
