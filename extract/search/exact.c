// Presolves the whole problem, then solves its connected subproblems.
//
// A subproblem is solved against the cutoff that the bounds of the others leave for it.
// Either all subproblems are solved, and the sum of their optima is the optimum; or one
// has nothing below its cutoff, and the best solution so far is optimal. After a bound
// for each subproblem come phases, each over all subproblems (subproblems.h), small ones
// first, so that no large subproblem keeps the others from a good solution:
//   0. a walk over few states of a frontier (frontier.h), which closes narrow ones;
//   1. greedy; branch and bound, for larger subproblems only the root of the tree;
//   2. walks over more states, then windows (local_search.h) for large subproblems,
//      each within a share of the time;
//   3. branch and bound to the end.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/exact.h"

#include <math.h>

#include "base/owner.h"
#include "base/proof.h"
#include "extract/search/extract_search.h"
#include "extract/search/frontier.h"
#include "extract/search/local_search.h"
#include "extract/search/subproblems.h"

enum {
  WHOLE_TREE_NODES = 400, // subproblems up to this size are finished in phase 1
  ROOT_NODES = 2500,      // up to this size the root of the tree is bounded in phase 1
  TREE_NODES = 60000,     // above this size windows get all the time
  WINDOW_NODES = 900,     // a window larger than this after presolve is abandoned
  WINDOW_CLASSES = 60,
  WINDOW_FAILURES = 20,
  PERTURB_ROUNDS = 8,
  ASCENTS = 4,
  FEW_STEPS = 4000, // per class, of the first walks over states
  DAG_MEMORY_BYTES = 64 << 20
};
static const double WINDOW_SHARE = 0.4; // share of the remaining work, for phase 2
// Share of the remaining work, for each local search
static const double RECOVER_SHARE = 0.3;
// Share of the remaining work for frontier walks that lower bounds guide (lookahead.h)
static const double AHEAD_SHARE = 0.4;

typedef struct exact {
  eg_extract_search search; // search on the whole problem
  eg_presolve presolve;
  eg_subproblems subproblems;
  eg_u32s choice; // [model class], best known
} exact;

static void exact_deinit(exact *e) {
  eg_presolve_deinit(&e->presolve);
  eg_extract_search_deinit(&e->search);
  eg_subproblems_destroy(&e->subproblems);
  eg_u32s_deinit(&e->choice);
}

/// Offers the incumbent of the whole problem the choice composed of the best choices of
/// the subproblems.
static egraph_status adopt_subproblems(void *user) {
  exact *e = user;
  double cost;
  for (size_t i = 0; i < e->subproblems.len; i++)
    eg_subproblem_adopt(&e->subproblems.data[i], e->choice.data);
  return eg_extract_search_offer(&e->search, &e->presolve.model, e->choice.data, &cost);
}

static egraph_status solve_window(egraph_allocator alloc, eg_incumbent *window,
                                  uint32_t *out_nodes) {
  eg_extract_result result = {.reduced_nodes = 0};
  egraph_status status = eg_exact_run(alloc, window, &result);
  *out_nodes = result.reduced_nodes;
  return status;
}

static uint64_t share_of_work(const eg_incumbent *incumbent, double share) {
  return (uint64_t)((double)eg_incumbent_work_left(incumbent) * share);
}

static egraph_status walk_frontier(eg_incumbent *incumbent, const eg_class_index *index,
                                   double outer_cutoff, uint64_t steps, bool looks_ahead,
                                   bool *out_closed) {
  *out_closed = false;
  if (incumbent->options->without_frontier) return EGRAPH_OK;
  EG_TRY_IN_PART(incumbent->clock, EGRAPH_PART_FRONTIER,
                 eg_frontier_improve(incumbent, index, outer_cutoff, steps, looks_ahead,
                                     out_closed));
  return EGRAPH_OK;
}

/// Improves the whole problem's solution in near-linear time; *out_closed: it is optimal.
static egraph_status improve_whole(exact *e, bool *out_closed) {
  eg_incumbent *whole = e->search.incumbent;
  uint64_t few = (uint64_t)FEW_STEPS * whole->problem->class_count;
  EG_LOCAL(eg_class_index, index, e->search.alloc);
  eg_greedy greedy = {e->search.alloc, whole->problem, &index, 0};
  EG_TRY(eg_class_index_build(&index, whole->problem));
  EG_TRY(walk_frontier(whole, &index, INFINITY, few, false, out_closed));
  if (*out_closed) return EGRAPH_OK;
  return eg_local_search_run(&greedy, whole, share_of_work(whole, RECOVER_SHARE));
}

static egraph_status improve_subproblem(const exact *e, eg_subproblem *subproblem) {
  eg_greedy greedy = {e->search.alloc, &subproblem->problem, &subproblem->index,
                      DAG_MEMORY_BYTES};
  EG_TRY(eg_perturb_run(&greedy, &subproblem->incumbent, PERTURB_ROUNDS,
                        e->search.incumbent->options->seed));
  return eg_local_search_run(&greedy, &subproblem->incumbent,
                             share_of_work(&subproblem->incumbent, RECOVER_SHARE));
}

/// True when the subproblem is too large for a linear program.
static bool is_huge(const eg_subproblem *subproblem) {
  return subproblem->node_of.len > TREE_NODES;
}

/// Solves windows (small parts) over a subproblem; work is in proportion to its size.
static egraph_status slide_windows(exact *e, eg_subproblem *subproblem) {
  double share = (double)subproblem->node_of.len / (double)e->presolve.model.part.len;
  if (!is_huge(subproblem)) share *= WINDOW_SHARE;
  uint32_t classes = subproblem->problem.class_count;
  eg_lns_options options = {.seed = e->search.incumbent->options->seed,
                            .window_classes = WINDOW_CLASSES,
                            .max_failures = WINDOW_FAILURES + classes / WINDOW_CLASSES,
                            .steps = share_of_work(&subproblem->incumbent, share),
                            .solve = solve_window};
  return eg_lns_run(e->search.alloc, &subproblem->incumbent, &subproblem->index,
                    &options);
}

// Marks a subproblem as solved: it has no better solution below its cutoff.
static void close_subproblem(eg_subproblem *subproblem) {
  eg_incumbent *incumbent = &subproblem->incumbent;
  bool better = incumbent->cost < subproblem->outer_cutoff;
  subproblem->state = better ? EG_SUBPROBLEM_SOLVED : EG_SUBPROBLEM_EXHAUSTED;
  if (better) eg_incumbent_raise(incumbent, incumbent->cost);
}

/// Runs branch and bound with at most `tree_limit` nodes; 0: no limit.
static egraph_status branch_on_subproblem(exact *e, eg_subproblem *subproblem,
                                          uint32_t tree_limit) {
  eg_incumbent *incumbent = &subproblem->incumbent;
  uint32_t saved = incumbent->tree_limit;
  incumbent->tree_limit = tree_limit;
  bool closed;
  egraph_status status =
      eg_branch_run(e->search.alloc, incumbent, subproblem->outer_cutoff, 0, &closed);
  incumbent->tree_limit = saved;
  if (status == EGRAPH_OK && closed) close_subproblem(subproblem);
  return status;
}

static egraph_status phase_bound(void *user, eg_subproblem *subproblem) {
  const exact *e = user;
  if (e->subproblems.len > 1) return eg_subproblem_bound(subproblem);
  // Lowers the bound by a rounding error: presolve's bound is correct up to a share of
  // the cost of the whole problem, of which the subproblem may be a small part.
  double offset = e->presolve.model.offset;
  eg_incumbent_raise(&subproblem->incumbent,
                     e->presolve.bound - offset - EG_PROOF_ROUNDING * fabs(offset));
  return EGRAPH_OK;
}

static egraph_status walk_subproblem(eg_subproblem *subproblem, uint64_t steps,
                                     bool looks_ahead) {
  bool closed;
  EG_TRY(walk_frontier(&subproblem->incumbent, &subproblem->index,
                       subproblem->outer_cutoff, steps, looks_ahead, &closed));
  if (closed) close_subproblem(subproblem);
  return EGRAPH_OK;
}

static egraph_status phase_narrow(void *user, eg_subproblem *subproblem) {
  (void)user;
  return walk_subproblem(subproblem,
                         (uint64_t)FEW_STEPS * subproblem->problem.class_count, false);
}

static egraph_status phase_ahead(void *user, eg_subproblem *subproblem) {
  assert(subproblem->node_of.len <= ((const exact *)user)->presolve.model.part.len);
  const exact *e = user;
  double share = (double)subproblem->node_of.len / (double)e->presolve.model.part.len;
  return walk_subproblem(
      subproblem, share_of_work(&subproblem->incumbent, AHEAD_SHARE * share), true);
}

static egraph_status phase_greedy(void *user, eg_subproblem *subproblem) {
  EG_TRY_IN_PART(subproblem->incumbent.clock, EGRAPH_PART_GREEDY,
                 improve_subproblem(user, subproblem));
  return EGRAPH_OK;
}

static egraph_status phase_root(void *user, eg_subproblem *subproblem) {
  exact *e = user;
  uint32_t limit = e->search.incumbent->tree_limit;
  if (limit != 0) return branch_on_subproblem(e, subproblem, limit);
  if (subproblem->node_of.len > ROOT_NODES) return EGRAPH_OK;
  return branch_on_subproblem(e, subproblem,
                              subproblem->node_of.len > WHOLE_TREE_NODES ? 1 : 0);
}

/// Improves a subproblem by small parts (windows), which eg_exact_run solves; their tree
/// limit ends them after phase 1.
static egraph_status phase_windows(void *user, eg_subproblem *subproblem) {
  exact *e = user;
  if (e->search.incumbent->tree_limit != 0 || subproblem->node_of.len <= WHOLE_TREE_NODES)
    return EGRAPH_OK;
  EG_TRY_IN_PART(subproblem->incumbent.clock, EGRAPH_PART_WINDOWS,
                 slide_windows(e, subproblem));
  return EGRAPH_OK;
}

static egraph_status phase_tree(void *user, eg_subproblem *subproblem) {
  exact *e = user;
  if (e->search.incumbent->tree_limit != 0 || is_huge(subproblem)) return EGRAPH_OK;
  return branch_on_subproblem(e, subproblem, 0);
}

static egraph_status solve_subproblems(exact *e) {
  assert(e->choice.len == e->presolve.model.problem.class_count);
  static const eg_subproblem_step PHASES[] = {phase_bound, phase_narrow, phase_greedy,
                                              phase_ahead, phase_root,   phase_windows,
                                              phase_tree};
  eg_incumbent *whole = e->search.incumbent;
  eg_batches batches = {.alloc = e->search.alloc,
                        .subproblems = &e->subproblems,
                        .whole = whole,
                        .offset = e->presolve.model.offset,
                        .user = e,
                        .adopt = adopt_subproblems};
  for (size_t i = 0; i < e->subproblems.len; i++)
    EG_TRY(eg_subproblem_seed(&e->subproblems.data[i], &e->presolve.model.problem,
                              e->choice.data));
  for (size_t i = 0; i < sizeof PHASES / sizeof *PHASES; i++)
    EG_TRY(eg_subproblems_run(&batches, PHASES[i]));
  bool all = true;
  for (size_t i = 0; i < e->subproblems.len; i++)
    all = all && e->subproblems.data[i].state != EG_SUBPROBLEM_OPEN;
  if (all || batches.exhausted) eg_incumbent_raise(whole, whole->cost);
  return EGRAPH_OK;
}

static egraph_status presolve_whole(exact *e, eg_extract_result *result) {
  eg_presolve *presolve = &e->presolve;
  eg_incumbent *whole = e->search.incumbent;
  EG_TRY(eg_reduced_from(&presolve->spare, whole->problem));
  EG_TRY(eg_presolve_load(presolve, &presolve->spare));
  eg_presolve_serve(presolve, whole);
  presolve->cutoff = eg_incumbent_cutoff(whole);
  for (int round = 0; round < 3 && !presolve->closed; round++) {
    EG_TRY(eg_presolve_run(presolve));
    if (presolve->closed) break;
    eg_incumbent_raise(whole, presolve->bound);
    if (eg_incumbent_stop(whole)) break;
    e->search.best_cost = INFINITY;
    EG_TRY(eg_extract_search_ascend(&e->search, presolve, ASCENTS));
    EG_TRY(eg_extract_search_greedy(&e->search, presolve,
                                    presolve->model.problem.cost.data));
    double cutoff = eg_incumbent_cutoff(whole);
    if (!(cutoff < presolve->cutoff)) break;
    presolve->cutoff = cutoff;
  }
  result->reduced_nodes =
      presolve->closed ? 0 : eg_extract_node_count(&presolve->model.problem);
  result->reduced_classes = presolve->closed ? 0 : presolve->model.problem.class_count;
  return EGRAPH_OK;
}

static egraph_status run_exact(exact *e, eg_extract_result *result) {
  const eg_extract_problem *problem = e->search.incumbent->problem;
  result->reduced_nodes = eg_extract_node_count(problem);
  result->reduced_classes = problem->class_count;
  bool closed = false;
  if (e->search.incumbent->tree_limit == 0)
    EG_TRY_IN_PART(e->search.incumbent->clock, EGRAPH_PART_GREEDY,
                   improve_whole(e, &closed));
  if (closed) {
    result->reduced_nodes = result->reduced_classes = 0;
    eg_incumbent_raise(e->search.incumbent, e->search.incumbent->cost);
    return EGRAPH_OK;
  }
  if (eg_incumbent_stop(e->search.incumbent)) return EGRAPH_OK;
  EG_TRY(presolve_whole(e, result));
  if (!e->presolve.closed && eg_incumbent_stop(e->search.incumbent)) return EGRAPH_OK;
  // Nothing is below the cutoff if presolve has shown this or greedy found no derivation.
  if (e->presolve.closed || !isfinite(e->search.best_cost)) {
    eg_incumbent_raise(e->search.incumbent, e->search.incumbent->cost);
    return EGRAPH_OK;
  }
  if (e->search.incumbent->tree_limit != 0 && result->reduced_nodes > WINDOW_NODES)
    return EGRAPH_OK;
  EG_TRY(
      eg_u32s_append(&e->choice, e->search.best_choice.data, e->search.best_choice.len));
  EG_OWNED(eg_cuts, cuts); // copied into the subproblems
  EG_TRY(eg_cuts_init(&cuts, e->search.alloc));
  EG_TRY(eg_reduced_list_cuts(&e->presolve.model, &e->search.parts, &cuts));
  EG_TRY(eg_subproblems_split(&e->subproblems, &e->presolve.model.problem, &cuts,
                              e->search.incumbent));
  return solve_subproblems(e);
}

egraph_status eg_exact_run(egraph_allocator alloc, eg_incumbent *incumbent,
                           eg_extract_result *result) {
  assert(isfinite(incumbent->cost)); // holds a solution
  EG_OWNED(exact, e);
  eg_u32s_init(&e.choice, alloc);
  eg_subproblems_init(&e.subproblems, alloc);
  eg_extract_search_init(&e.search, alloc, incumbent, INFINITY);
  EG_TRY(eg_presolve_init(&e.presolve, alloc, &e.search.parts));
  return run_exact(&e, result);
}
