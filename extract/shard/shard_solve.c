// Order of work: reduce; message passing with filter on the whole; if a gap remains,
// search for better choices and branch in turn (or continue with message passing if the
// model is too large to be copied). Work is measured in steps, not in time, so that the
// course does not depend on the clock.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_solve.h"

#include "base/owner.h"
#include "extract/shard/shard_branch.h"
#include "extract/shard/shard_proof.h"

// Models with more values and table entries than this are not branched on.
enum { LARGE = 300000 };

/// Chooses the model in which parts (blocks) are improved: the tightened model if
/// it contains the best choice, else the core. *out_entered: one of them contains
/// this choice.
static egraph_status enter_blocks(eg_shard_tools *tools, eg_shard_block *block,
                                  eg_shard_model *model, bool *out_entered) {
  assert(tools->search->cost < EG_SHARD_INFINITE);
  eg_shard_primal *primal = &tools->primal;
  *out_entered = true;
  if (primal->cost <= tools->search->cost && primal->cost < EG_SHARD_INFINITE)
    return eg_shard_block_enter(block, model, primal->best.data, primal->cost,
                                &tools->dual);
  // The incumbent of the caller may use values that the core lacks.
  eg_shard_search *search = tools->search;
  int64_t cost;
  bool fits;
  EG_TRY(eg_shard_model_evaluate(&search->core, search->core_choice.data, &cost, &fits));
  *out_entered = fits && cost == search->cost;
  if (!*out_entered) return EGRAPH_OK;
  return eg_shard_block_enter(block, &search->core, search->core_choice.data,
                              search->cost, NULL);
}

/// The phases of the search. Each has its share of the work; the phase that is furthest
/// behind its share runs next.
typedef enum phase { PROVE, PARTS, BLOCKS, PHASES } phase;

typedef struct course {
  eg_shard_search *search;
  eg_shard_tools tools;
  eg_shard_branch branch;
  eg_shard_block block;
  eg_shard_model root;
  int64_t bound;          // bound of the root
  bool large;             // the root is not branched on
  uint64_t spent[PHASES]; // work
} course;

static void course_deinit(course *c) {
  eg_shard_model_deinit(&c->root);
  eg_shard_block_deinit(&c->block);
  eg_shard_branch_deinit(&c->branch);
  eg_shard_tools_deinit(&c->tools);
}

static const uint32_t weights[2][PHASES] = {{8, 1, 1}, {1, 1, 1}}; // branching; large

/// Runs message passing on the root, or tightens open subproblems one after the other.
static egraph_status prove_bound(course *c, uint64_t until) {
  static const eg_shard_effort more = {40, 1, 0, 0, true};
  eg_shard_search *search = c->search;
  if (c->large) {
    EG_TRY(eg_shard_tighten(&c->tools, &c->root, &more, &c->bound));
    EG_TRY(eg_shard_search_raise(search, c->root.closed ? search->cost : c->bound));
    c->large = eg_shard_size_of(&c->root) > LARGE;
    if (c->large || c->root.closed) return EGRAPH_OK;
    return eg_shard_branch_add(&c->branch, &c->root, c->bound);
  }
  while (c->branch.open.len != 0 && search->work.done < until &&
         !eg_shard_search_stop(search))
    EG_TRY(eg_shard_branch_step(&c->branch));
  return EGRAPH_OK;
}

static egraph_status improve_parts(course *c, uint64_t until) {
  eg_shard_search *search = c->search;
  eg_shard_primal *primal = &c->tools.primal;
  bool better;
  for (int i = 0; (search->work.done < until || i < 4) && !eg_shard_search_stop(search) &&
                  primal->cost < EG_SHARD_INFINITE;
       i++)
    EG_TRY(eg_shard_primal_improve(primal, &c->tools.dual, &better));
  return EGRAPH_OK;
}

static egraph_status improve_blocks(course *c, uint64_t until) {
  eg_shard_search *search = c->search;
  bool better, entered = false;
  if (search->cost < EG_SHARD_INFINITE)
    EG_TRY(enter_blocks(&c->tools, &c->block, &c->root, &entered));
  for (int i = 0;
       entered && (search->work.done < until || i < 4) && !eg_shard_search_stop(search);
       i++)
    EG_TRY(eg_shard_block_improve(&c->block, &better));
  return EGRAPH_OK;
}

/// Improves the best choice by solving parts of the model, or blocks of nodes.
static egraph_status improve_by_turns(course *c, phase p, uint64_t until) {
  assert(p == PARTS || p == BLOCKS);
  eg_shard_tools *tools = &c->tools;
  uint64_t before = tools->dual.work;
  EG_TRY(eg_shard_dual_start(&tools->dual, &c->root));
  for (int i = 0; i < 3; i++)
    eg_shard_dual_sweep(&tools->dual);
  eg_shard_search_work(tools->search, tools->dual.work - before);
  EG_TRY(eg_shard_primal_enter(&tools->primal, &c->root, false));
  EG_TRY(eg_shard_primal_round(&tools->primal, &tools->dual));
  EG_TRY(p == PARTS ? improve_parts(c, until) : improve_blocks(c, until));
  tools->dual.model = NULL;
  EG_TRY(eg_shard_primal_enter(&tools->primal, &c->root, false));
  return eg_shard_primal_leave(&tools->primal);
}

static phase most_behind(const course *c) {
  phase best = PROVE;
  for (phase p = PROVE; p < PHASES; p++)
    if (c->spent[p] / weights[c->large][p] < c->spent[best] / weights[c->large][best])
      best = p;
  return best;
}

static egraph_status take_turns(course *c) {
  assert(!c->root.closed);
  eg_shard_search *search = c->search;
  c->large = eg_shard_size_of(&c->root) > LARGE;
  uint64_t quantum = search->tiny ? 8000 : 160000000;
  if (!c->large) EG_TRY(eg_shard_branch_add(&c->branch, &c->root, c->bound));
  while (!eg_shard_search_stop(search)) {
    phase p = most_behind(c);
    uint64_t start = search->work.done;
    uint64_t share = quantum + 240 * (uint64_t)c->root.table.len;
    EG_TRY(p == PROVE ? prove_bound(c, start + quantum)
                      : improve_by_turns(c, p, start + share));
    c->spent[p] += search->work.done - start + 1;
    if (!c->large && c->branch.open.len == 0) break;
  }
  return EGRAPH_OK;
}

static egraph_status search_all(course *c) {
  static const eg_shard_effort first = {120, 40, 500000, 100000, true};
  eg_shard_tools *tools = &c->tools;
  eg_shard_search *search = c->search;
  eg_shard_model *root = &c->root;
  EG_TRY(eg_shard_model_copy(root, &search->core, NULL));
  c->bound = search->bound;
  if (!root->closed) EG_TRY(eg_shard_tighten(tools, root, &first, &c->bound));
  EG_TRY(eg_shard_search_raise(search, root->closed ? search->cost : c->bound));
  if (root->closed || eg_shard_search_stop(search)) return EGRAPH_OK;
  return take_turns(c);
}

static egraph_status run_course(eg_shard_search *search, egraph_status (*run)(course *)) {
  EG_TRY(eg_shard_search_start(search));
  EG_OWNED(course, c);
  c.search = search;
  eg_shard_tools_init(&c.tools, search);
  eg_shard_branch_init(&c.branch, &c.tools);
  eg_shard_block_init(&c.block, search);
  eg_shard_model_init(&c.root, search->alloc);
  return run(&c);
}

// ---- certificate ------------------------------------------------------------------

// Writes the certificate. A second run, with the cost known from the start, uses only
// reductions that a small program can check. Large models get few filters, because each
// filter is written in full.

static egraph_status close_all(course *c) {
  assert(c->search->proof != NULL);
  static const eg_shard_effort small = {120, 40, 0, 0, true},
                               large = {250, 4, 0, 0, true};
  // Few sweeps, so that the proof must branch into cases
  static const eg_shard_effort tiny = {1, 1, 0, 0, true};
  eg_shard_search *search = c->search;
  EG_TRY(eg_shard_model_copy(&c->root, &search->core, NULL));
  c->large = eg_shard_size_of(&c->root) > LARGE;
  const eg_shard_effort *effort = search->tiny ? &tiny : c->large ? &large : &small;
  if (!c->root.closed) EG_TRY(eg_shard_tighten(&c->tools, &c->root, effort, &c->bound));
  if (c->root.closed) {
    search->proof->complete = true;
    return eg_shard_proof_closed(search->proof);
  }
  if (c->large || search->stopped) return EGRAPH_OK;
  EG_TRY(eg_shard_branch_add(&c->branch, &c->root, c->bound));
  while (c->branch.open.len != 0 && !search->stopped) {
    EG_TRY(eg_shard_branch_step(&c->branch));
    if (eg_work_is_spent(&search->work)) search->stopped = true;
  }
  search->proof->complete = c->branch.open.len == 0;
  return EGRAPH_OK;
}

static egraph_status prove_again(eg_shard_search *found, eg_shard_search *again,
                                 const char *path, int64_t *out_bound) {
  // Sums of huge numbers would saturate, so problems with such numbers get no proof.
  if (eg_shard_proof_most(found->problem) < EG_SHARD_INFINITE)
    EG_TRY(run_course(again, close_all));
  // Without a choice the cost is only an upper bound of all costs.
  if (again->choice.len != 0 && again->cost < found->cost) {
    found->choice.len = 0;
    EG_TRY(eg_u32s_append(&found->choice, again->choice.data, again->choice.len));
    found->cost = again->cost;
    found->peak = again->peak;
  }
  static const uint32_t none = 0;
  const uint32_t *choice = found->choice.len == 0 ? &none : found->choice.data;
  return eg_shard_proof_write(again->proof, found->problem,
                              found->cost < EG_SHARD_INFINITE ? choice : NULL,
                              found->cost, path, out_bound);
}

/// Writes the certificate of `found` (choice, cost, proven bound) to its file.
/// found->checked is the part of the bound that the certificate proves: the cost when the
/// proof is complete, EG_SHARD_INFINITE for proven infeasibility. Takes at most `limit`
/// steps. A cheaper choice of this run replaces the found one.
static egraph_status write_certificate(eg_shard_search *found, uint64_t limit) {
  eg_shard_options options = *found->options;
  EG_OWNED(eg_shard_proof, proof);
  EG_OWNED(eg_shard_search, again);
  options.work_limit = limit;
  options.incumbent = found->cost < EG_SHARD_INFINITE ? found->choice.data : NULL;
  options.time_limit_seconds =
      options.time_limit_seconds - eg_shard_search_seconds(found) + 1;
  eg_shard_proof_init(&proof, found->alloc);
  eg_shard_search_init(&again, found->alloc, found->problem, &options);
  again.proof = &proof;
  again.tiny = found->tiny;
  again.disabled =
      found->disabled & (1u << EG_SHARD_PASS_ROWS | 1u << EG_SHARD_PASS_MERGE);
  again.disabled |= 1u << EG_SHARD_PASS_DOMINATED | 1u << EG_SHARD_PASS_DEGREE;
  egraph_status status = prove_again(found, &again, options.certificate, &found->checked);
  eg_work_add(&found->work, again.work.done);
  return status;
}

// ---- the front end ----------------------------------------------------------------

void eg_shard_result_init(eg_shard_result *result, egraph_allocator alloc) {
  *result = (eg_shard_result){.status = EG_EXTRACT_INFEASIBLE};
  eg_u32s_init(&result->choice, alloc);
}

void eg_shard_result_deinit(eg_shard_result *result) {
  eg_u32s_deinit(&result->choice);
  eg_shard_result_init(result, result->choice.alloc);
}

static egraph_status report_result(eg_shard_search *search, eg_shard_result *result) {
  assert(search->bound <= search->cost);
  bool found = search->cost < EG_SHARD_INFINITE;
  bool closed = search->bound >= search->cost;
  result->status =
      closed ? found ? EG_EXTRACT_OPTIMAL : EG_EXTRACT_INFEASIBLE : EG_EXTRACT_FEASIBLE;
  result->cost = search->cost;
  result->bound = search->bound;
  result->checked = search->checked;
  result->peak = search->peak;
  result->gap = closed || search->cost == 0
                    ? 0
                    : (double)(search->cost - search->bound) / (double)search->cost;
  result->best_seconds = search->best_seconds;
  result->reduced_nodes = (uint32_t)search->core.nodes.len;
  result->reduced_strategies = (uint32_t)search->core.cost.len;
  result->choice.len = 0;
  EG_TRY(eg_u32s_append(&result->choice, search->choice.data, search->choice.len));
  result->work = search->work.done;
  result->seconds = eg_shard_search_seconds(search);
  return EGRAPH_OK;
}

egraph_status eg_shard_solve_without(egraph_allocator alloc,
                                     const eg_shard_problem *problem,
                                     const eg_shard_options *options, uint32_t disabled,
                                     bool tiny, eg_shard_result *result) {
  EG_TRY(eg_shard_problem_check(problem));
  EG_OWNED(eg_shard_search, search);
  eg_shard_search_init(&search, alloc, problem, options);
  search.disabled = disabled;
  search.tiny = tiny;
  // Reserves a quarter of the work for the certificate if a gap remains.
  uint64_t limit = search.work.limit;
  if (options->certificate != NULL && limit != EG_WORK_UNLIMITED)
    search.work.limit = limit / 4 * 3;
  EG_TRY(run_course(&search, search_all));
  if (options->certificate != NULL) {
    bool closed = search.bound >= search.cost;
    uint64_t left = limit > search.work.done ? limit - search.work.done : 0;
    EG_TRY(write_certificate(&search, closed ? EG_WORK_UNLIMITED : left));
    if (search.checked > search.bound)
      EG_TRY(eg_shard_search_raise(&search, search.checked));
  }
  return report_result(&search, result);
}

egraph_status eg_shard_solve(egraph_allocator alloc, const eg_shard_problem *problem,
                             const eg_shard_options *options, eg_shard_result *result) {
  return eg_shard_solve_without(alloc, problem, options, 0, false, result);
}
