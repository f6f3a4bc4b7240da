// SPDX-License-Identifier: Apache-2.0
#include "extract/search.h"

#include "extract/greedy.h"

enum { DAG_MEMORY_BYTES = 64 << 20 };

egraph_status eg_search_init(eg_search *search, egraph_allocator alloc,
                             eg_incumbent *incumbent, double outer_cutoff) {
  *search = (eg_search){.alloc = alloc,
                        .incumbent = incumbent,
                        .outer_cutoff = outer_cutoff,
                        .rng = {incumbent->options->seed}};
  eg_parts_init(&search->parts, alloc, eg_extract_node_count(incumbent->problem));
  eg_u32s_init(&search->choice, alloc);
  eg_u32s_init(&search->reduced_choice, alloc);
  return eg_u32s_resize(&search->choice, incumbent->problem->class_count);
}

void eg_search_deinit(eg_search *search) {
  eg_u32s_deinit(&search->reduced_choice);
  eg_u32s_deinit(&search->choice);
  eg_parts_deinit(&search->parts);
}

double eg_search_cutoff(const eg_search *search) {
  double cutoff = eg_incumbent_cutoff(search->incumbent);
  return cutoff < search->outer_cutoff ? cutoff : search->outer_cutoff;
}

egraph_status eg_search_offer(eg_search *search, const eg_reduced *model,
                              const uint32_t *reduced_choice) {
  const eg_extract_problem *problem = search->incumbent->problem;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    search->choice.data[class] = EG_EXTRACT_NONE;
  EG_TRY(eg_reduced_expand(model, &search->parts, problem, reduced_choice,
                           search->choice.data));
  double cost;
  return eg_incumbent_offer(search->incumbent, search->choice.data, &cost);
}

egraph_status eg_search_greedy(eg_search *search, const eg_presolve *presolve,
                               const double *cost) {
  const eg_extract_problem *problem = &presolve->model.problem;
  eg_greedy greedy = {search->alloc, problem, &presolve->index, DAG_MEMORY_BYTES};
  EG_TRY(eg_u32s_resize(&search->reduced_choice, problem->class_count));
  EG_TRY(eg_greedy_run(&greedy, EG_GREEDY_DAG, cost, search->reduced_choice.data));
  EG_TRY(eg_search_offer(search, &presolve->model, search->reduced_choice.data));
  EG_TRY(eg_greedy_run(&greedy, EG_GREEDY_TREE, cost, search->reduced_choice.data));
  return eg_search_offer(search, &presolve->model, search->reduced_choice.data);
}
