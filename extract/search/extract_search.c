// SPDX-License-Identifier: Apache-2.0
#include "extract/search/extract_search.h"

#include <math.h>

#include "extract/dual_ascent.h"
#include "extract/search/greedy.h"

enum { DAG_MEMORY_BYTES = 64 << 20, ASCENT_CUTS = 20000, ASCENT_WORK = 50000000 };
// Share of the true cost that is added to reduced costs, to break ties between zeros.
static const double TIE_SHARE = 0.02;

#define SEARCH_MEMBERS (eg_u32s, choice, reduced_choice, best_choice)

void eg_extract_search_init(eg_extract_search *search, egraph_allocator alloc,
                            eg_incumbent *incumbent, double outer_cutoff) {
  *search = (eg_extract_search){.alloc = alloc,
                                .incumbent = incumbent,
                                .outer_cutoff = outer_cutoff,
                                .best_cost = INFINITY,
                                .rng = {incumbent->options->seed}};
  eg_parts_init(&search->parts, alloc, eg_extract_node_count(incumbent->problem));
  EG_INIT_MEMBERS(search, alloc, SEARCH_MEMBERS);
}

void eg_extract_search_deinit(eg_extract_search *search) {
  EG_DEINIT_MEMBERS(search, SEARCH_MEMBERS);
  eg_parts_deinit(&search->parts);
}

double eg_extract_search_cutoff(const eg_extract_search *search) {
  double cutoff = eg_incumbent_cutoff(search->incumbent);
  return cutoff < search->outer_cutoff ? cutoff : search->outer_cutoff;
}

static bool stops(void *incumbent) { return eg_incumbent_stop(incumbent); }

egraph_status eg_extract_search_solve_lp(eg_incumbent *incumbent, eg_lp *lp,
                                         double objective_limit, eg_lp_state *out) {
  uint64_t steps = eg_lp_iteration_steps(lp) + 1, before = eg_lp_steps(lp);
  uint64_t iterations = eg_incumbent_work_left(incumbent) / steps + 1;
  eg_lp_interrupt(lp, stops, incumbent);
  eg_lp_limit_iterations(lp, iterations < INT32_MAX ? (uint32_t)iterations : INT32_MAX);
  egraph_status status =
      eg_lp_solve(lp, eg_incumbent_seconds_left(incumbent), objective_limit, out);
  eg_incumbent_count(incumbent, eg_lp_steps(lp) - before);
  return status;
}

egraph_status eg_extract_search_offer(eg_extract_search *search, const eg_reduced *model,
                                      const uint32_t *reduced_choice, double *out_cost) {
  const eg_extract_problem *problem = search->incumbent->problem;
  EG_TRY(eg_fill_none(&search->choice, problem->class_count));
  EG_TRY(eg_reduced_expand(model, &search->parts, problem, reduced_choice,
                           search->choice.data));
  return eg_incumbent_offer(search->incumbent, search->choice.data, out_cost);
}

static egraph_status run_greedy_kind(eg_extract_search *search, const eg_greedy *greedy,
                                     const eg_presolve *presolve, eg_greedy_kind kind,
                                     const double *cost) {
  assert(search->reduced_choice.len == presolve->model.problem.class_count);
  uint32_t *choice = search->reduced_choice.data;
  double total;
  EG_TRY(eg_greedy_run_until(greedy, kind, cost, eg_incumbent_deadline(search->incumbent),
                             choice));
  EG_TRY(eg_extract_search_offer(search, &presolve->model, choice, &total));
  if (!(total < search->best_cost)) return EGRAPH_OK;
  search->best_cost = total;
  search->best_choice.len = 0;
  return eg_u32s_append(&search->best_choice, choice, search->reduced_choice.len);
}

egraph_status eg_extract_search_greedy(eg_extract_search *search,
                                       const eg_presolve *presolve, const double *cost) {
  const eg_extract_problem *problem = &presolve->model.problem;
  eg_greedy greedy = {search->alloc, problem, &presolve->index, DAG_MEMORY_BYTES};
  EG_TRY(eg_u32s_resize(&search->reduced_choice, problem->class_count));
  eg_incumbent_count(search->incumbent, eg_greedy_steps(&greedy));
  if (eg_greedy_fits(&greedy))
    EG_TRY_IN_PART(search->incumbent->clock, EGRAPH_PART_GREEDY,
                   run_greedy_kind(search, &greedy, presolve, EG_GREEDY_DAG, cost));
  EG_TRY_IN_PART(search->incumbent->clock, EGRAPH_PART_GREEDY,
                 run_greedy_kind(search, &greedy, presolve, EG_GREEDY_TREE, cost));
  return EGRAPH_OK;
}

static egraph_status ascend_orders(eg_extract_search *search, const eg_presolve *presolve,
                                   uint32_t rounds) {
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_LOCAL(eg_u32s, order, search->alloc);
  EG_LOCAL(eg_doubles, price, search->alloc);
  eg_ascent_limits limits = {
      .max_cuts = ASCENT_CUTS, .max_work = ASCENT_WORK, .incumbent = search->incumbent};
  EG_TRY(eg_u32s_append(&order, problem->roots.data, problem->roots.len));
  for (uint32_t round = 0; round < rounds && round < order.len; round++) {
    if (eg_incumbent_stop(search->incumbent)) return EGRAPH_OK;
    double bound;
    price.len = 0;
    EG_TRY(eg_doubles_append(&price, problem->cost.data, problem->cost.len));
    EG_TRY(eg_dual_ascent_run(problem, &presolve->index, &order, limits, price.data,
                              &bound, NULL));
    eg_incumbent_raise(search->incumbent, presolve->model.offset + bound);
    for (size_t n = 0; n < price.len; n++)
      price.data[n] += TIE_SHARE * problem->cost.data[n];
    EG_TRY(eg_extract_search_greedy(search, presolve, price.data));
    eg_shuffle(&search->rng, order.data, order.len);
  }
  return EGRAPH_OK;
}

egraph_status eg_extract_search_ascend(eg_extract_search *search,
                                       const eg_presolve *presolve, uint32_t rounds) {
  EG_TRY_IN_PART(search->incumbent->clock, EGRAPH_PART_ASCENT,
                 ascend_orders(search, presolve, rounds));
  return EGRAPH_OK;
}
