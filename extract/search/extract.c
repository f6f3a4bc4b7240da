// The front end. Greedy solutions come first; a problem with costs >= 0 goes to the exact
// solver (exact.h). Negative costs are shifted away where that can be, else the problem
// goes to branch and cut. Every result passes the independent check (certify.c), and the
// certificate comes from a second run in proof mode. Sections: certificate, cost shift,
// front end.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/extract.h"

#include <math.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"
#include "extract/presolve/landmarks.h"
#include "extract/search/exact.h"
#include "extract/search/formulation.h"
#include "extract/search/greedy.h"
#include "extract/search/local_search.h"

// ---- certificate ------------------------------------------------------------------

// The choice, its cost, and a proof of the bound on the original problem. The proof is
// found anew: with the cost known, a search in proof mode (plain_proof.h) takes only
// steps that can be explained on the original problem; it neither merges nor collapses
// classes. Where that takes too long or too much room, the certificate proves the bound
// of the root of its tree.

// What a claim is below what the search proves with: room for directed rounding.
// The solver's own tolerance is 1e-9.
static const double CLAIM_ROOM = 1e-9;

typedef struct writer {
  egraph_allocator alloc;
  const eg_extract_problem *problem;
  const eg_extract_options *options;
  eg_extract_result *result;
  double unit;
  eg_plain_proof proof;
} writer;

// Subproblems are not searched for themselves; tree_limit says so.
static egraph_status prove_again(writer *w) {
  if (eg_extract_has_negative_cost(w->problem)) {
    // A sum without rows: the least node of each class, if that is negative.
    EG_TRY(eg_plain_proof_begin(&w->proof));
    return eg_plain_proof_end(&w->proof);
  }
  eg_extract_options options = *w->options;
  options.relative_gap = 0;
  options.progress = NULL;
  options.incumbent = NULL;
  options.disabled_passes |= UINT32_C(1) << EG_PASS_COLLAPSE |
                             UINT32_C(1) << EG_PASS_MERGE | UINT32_C(1) << EG_PASS_BOUND;
  eg_incumbent incumbent;
  double cost;
  bool closed;
  EG_TRY(eg_incumbent_init(&incumbent, w->alloc, w->problem, &options));
  incumbent.proof = &w->proof;
  incumbent.tree_limit = UINT32_MAX;
  egraph_status status = eg_incumbent_offer(&incumbent, w->result->choice.data, &cost);
  if (status == EGRAPH_OK)
    status = eg_branch_run(w->alloc, &incumbent, w->proof.target, 0, &closed);
  eg_incumbent_deinit(&incumbent);
  return status;
}

// The largest bound that the text proves: all of it, or the best sum before any split.
static double claim_bound(writer *w) {
  eg_plain_proof *proof = &w->proof;
  double bound = w->result->bound;
  if (!proof->done || proof->failed) {
    bound = fmin(bound, eg_round_to_unit(proof->best, w->unit));
    proof->text.chars.len = proof->best_end;
    if (isfinite(bound)) proof->closed = true;
  }
  return w->unit > 0 ? bound : bound - 2 * CLAIM_ROOM * fabs(bound);
}

static egraph_status write_certificate_head(const writer *w, eg_text *out) {
  uint32_t roots = 0;
  for (size_t class = 0; class < w->proof.needed_at.len; class ++)
    roots += w->proof.needed_at.data[class] == 1;
  return eg_text_printf(out, "egraph-certificate 1 plain\nproblem %u %u %u\nstatus %s\n",
                        eg_extract_node_count(w->problem), w->problem->class_count, roots,
                        w->result->status != EG_EXTRACT_INFEASIBLE ? "solved"
                                                                   : "infeasible");
}

static egraph_status write_claims(const writer *w, eg_text *out, double bound) {
  const eg_u32s *choice = &w->result->choice;
  uint32_t count = 0;
  for (size_t class = 0; class < choice->len; class ++)
    count += choice->data[class] != EG_EXTRACT_NONE;
  EG_TRY(eg_text_append(out, "cost"));
  EG_TRY(eg_certificate_double(out, w->result->cost));
  EG_TRY(eg_text_printf(out, "\nchoice %u", count));
  for (size_t class = 0; class < choice->len; class ++)
    if (choice->data[class] != EG_EXTRACT_NONE)
      EG_TRY(eg_text_printf(out, " %u", choice->data[class]));
  EG_TRY(eg_text_append(out, "\nbound"));
  EG_TRY(eg_certificate_double(out, bound));
  return eg_text_append(out, "\n");
}

static egraph_status write_certificate(writer *w, eg_text *out) {
  const eg_plain_proof *proof = &w->proof;
  EG_TRY(write_certificate_head(w, out));
  w->result->certified = INFINITY;
  if (w->result->status == EG_EXTRACT_INFEASIBLE) return EGRAPH_OK;
  EG_TRY(prove_again(w));
  bool whole = proof->done && !proof->failed;
  double bound = claim_bound(w);
  EG_TRY(write_claims(w, out, bound));
  EG_TRY(eg_text_append_bytes(out, proof->text.chars.data, proof->text.chars.len));
  w->result->certified = bound;
  return whole ? EGRAPH_OK : eg_text_append(out, "closed\n");
}

egraph_status eg_plain_certificate_make(egraph_allocator alloc,
                                        const eg_extract_problem *problem,
                                        const eg_extract_options *options,
                                        eg_extract_result *result, eg_text *out) {
  writer w = {.alloc = alloc, .problem = problem, .options = options, .result = result};
  w.unit = eg_cost_unit_of(problem);
  double bound = result->bound;
  double room = w.unit > 0 ? w.unit * (1 - 1e-6) : CLAIM_ROOM * fabs(bound);
  egraph_status status = eg_plain_proof_init(&w.proof, alloc, problem, bound - room);
  if (status == EGRAPH_OK) status = write_certificate(&w, out);
  eg_plain_proof_deinit(&w.proof);
  return status;
}

// ---- negative costs that can be shifted away --------------------------------------

// Adding d to the cost of all nodes of a class changes the cost of a choice by d exactly
// when the class is needed. So d may be taken
//   - from every choice, when the roots always need the class;
//   - from the nodes that use it, when they all lie in one class: one of them at most is
//     chosen, and the class is needed when one is.
// Pushed upwards like this, a negative cost often ends where it makes nothing negative.
//
// Classes that only one class uses form a forest whose trees hang on the others, so costs
// move up a tree and never come back. Nodes that no choice can contain are left out of
// the count of users, and cost nothing afterwards.

typedef struct shift {
  eg_formulation model;
  eg_bytes forced; // [class] every choice needs it
  eg_u32s queue;   // classes that may have become negative
  double offset;
} shift;
EG_OWNER_DEFINE_STATIC(shift, (eg_bytes, forced), (eg_u32s, queue))

static egraph_status find_forced(shift *s, egraph_allocator alloc, eg_patience patience) {
  const eg_extract_problem *problem = &s->model.reduced.problem;
  EG_TRY(eg_bytes_append(&s->forced, s->model.index.is_root.data,
                         s->model.index.is_root.len));
  eg_landmarks landmarks;
  bool valid = false;
  eg_landmarks_init(&landmarks, alloc);
  egraph_status status =
      eg_landmarks_find(&landmarks, problem, &s->model.index, patience, &valid);
  for (size_t i = 0; status == EGRAPH_OK && valid && i < problem->roots.len; i++)
    for (uint32_t class = 0; class < problem->class_count; class ++)
      if (eg_landmarks_has(&landmarks, problem->roots.data[i], class))
        s->forced.data[class] = 1;
  eg_landmarks_deinit(&landmarks);
  return status;
}

static egraph_status shift_class(shift *s, uint32_t class) {
  const eg_class_index *index = &s->model.index;
  double *cost = s->model.reduced.problem.cost.data, least = 0;
  EG_EACH_MEMBER(index, class, member) { least = fmin(least, cost[member]); }
  uint32_t owner = EG_EXTRACT_NONE; // the only class that uses this one
  EG_EACH_USER(index, class, node) {
    uint32_t user = s->model.reduced.problem.node_class.data[node];
    bool many = owner != EG_EXTRACT_NONE && user != owner;
    if (many && !s->forced.data[class]) return EGRAPH_OK;
    owner = user;
  }
  if (least == 0 || (!s->forced.data[class] && owner == EG_EXTRACT_NONE))
    return EGRAPH_OK;
  EG_EACH_MEMBER(index, class, member) { cost[member] -= least; }
  if (s->forced.data[class]) {
    s->offset += least;
    return EGRAPH_OK;
  }
  EG_EACH_USER(index, class, node) { cost[node] += least; }
  return eg_u32s_push(&s->queue, owner);
}

static egraph_status shift_all(shift *s, egraph_allocator alloc,
                               const eg_extract_problem *problem, eg_patience patience,
                               eg_doubles *cost) {
  EG_TRY(eg_formulation_build(&s->model, problem));
  EG_TRY(find_forced(s, alloc, patience));
  const eg_reduced *reduced = &s->model.reduced;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    EG_TRY(eg_u32s_push(&s->queue, class));
  for (size_t done = 0; done < s->queue.len; done++)
    EG_TRY(shift_class(s, s->queue.data[done]));
  cost->len = 0;
  EG_TRY(eg_doubles_resize(cost, eg_extract_node_count(problem)));
  for (uint32_t n = 0; n < eg_extract_node_count(&reduced->problem); n++)
    cost->data[reduced->part.data[n]] = reduced->problem.cost.data[n];
  return EGRAPH_OK;
}

egraph_status eg_cost_shift_find(egraph_allocator alloc,
                                 const eg_extract_problem *problem, eg_patience patience,
                                 eg_doubles *cost, double *out_offset, bool *out_done) {
  shift s;
  shift_init(&s, alloc);
  EG_TRY(eg_formulation_init(&s.model, alloc));
  egraph_status status = shift_all(&s, alloc, problem, patience, cost);
  *out_offset = s.offset;
  *out_done = status == EGRAPH_OK;
  for (size_t n = 0; status == EGRAPH_OK && n < cost->len; n++)
    *out_done = *out_done && cost->data[n] >= 0;
  shift_deinit(&s);
  eg_formulation_deinit(&s.model);
  return status;
}

typedef struct link {
  eg_incumbent *outer, *inner;
} link;

static egraph_status adopt_unshifted(void *user) {
  const link *l = user;
  double cost;
  return eg_incumbent_offer(l->outer, l->inner->choice.data, &cost);
}

static egraph_status solve_shifted(egraph_allocator alloc, eg_incumbent *outer,
                                   const eg_extract_problem *shifted, double offset,
                                   eg_extract_result *result) {
  eg_incumbent inner;
  double cost;
  EG_TRY(eg_incumbent_init(&inner, alloc, shifted, outer->options));
  link l = {outer, &inner};
  inner.outer = outer;
  inner.outer_rest = offset;
  inner.rest_cost = INFINITY;
  inner.clock = outer->clock;
  inner.bound = 0;
  egraph_status status = eg_incumbent_offer(&inner, outer->choice.data, &cost);
  inner.on_better = adopt_unshifted;
  inner.on_better_user = &l;
  if (status == EGRAPH_OK) status = eg_exact_run(alloc, &inner, result);
  if (status == EGRAPH_OK)
    eg_incumbent_raise(outer,
                       inner.bound >= inner.cost ? outer->cost : offset + inner.bound);
  eg_incumbent_deinit(&inner);
  return status;
}

// Solves a problem with negative costs by eg_exact_run (exact.h) when they can be
// shifted away; *out_done says whether. Fails as that does.
static egraph_status eg_cost_shift_run(egraph_allocator alloc, eg_incumbent *incumbent,
                                       eg_extract_result *result, bool *out_done) {
  eg_doubles cost;
  double offset = 0;
  eg_doubles_init(&cost, alloc);
  egraph_status status = eg_cost_shift_find(
      alloc, incumbent->problem, eg_patience_of(incumbent), &cost, &offset, out_done);
  if (status == EGRAPH_OK && *out_done) {
    eg_extract_problem shifted = *incumbent->problem; // borrows all rows but the costs
    shifted.cost = cost;
    status = solve_shifted(alloc, incumbent, &shifted, offset, result);
  }
  eg_doubles_deinit(&cost);
  return status;
}

// ---- the front end ----------------------------------------------------------------

enum { DAG_MEMORY_BYTES = 256 << 20, PERTURB_ROUNDS = 12 };

// What is left to do when time is up (a last choice, its certificate) takes about as long
// as this many certificates.
static const double RESERVE = 2;

static egraph_status check_options(const eg_extract_problem *problem,
                                   const eg_extract_options *options) {
  EG_TRY(eg_extract_problem_check(problem));
  if (!(options->time_limit_seconds > 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the time limit of extraction must be above 0 s");
  if (!(options->relative_gap >= 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the relative gap of extraction must be >= 0");
  return EGRAPH_OK;
}

// Every root needs a node of its own; elsewhere only negative costs count.
static egraph_status trivial_bound(egraph_allocator alloc,
                                   const eg_extract_problem *problem, double *out) {
  eg_doubles least;
  eg_doubles_init(&least, alloc);
  EG_TRY(eg_doubles_resize(&least, problem->class_count));
  for (uint32_t class = 0; class < problem->class_count; class ++)
    least.data[class] = INFINITY;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    double *slot = &least.data[problem->node_class.data[n]];
    if (problem->cost.data[n] < *slot) *slot = problem->cost.data[n];
  }
  double sum = 0;
  for (size_t i = 0; i < problem->roots.len; i++) {
    double *slot = &least.data[problem->roots.data[i]];
    if (*slot > 0) sum += *slot;
    if (*slot > 0) *slot = 0;
  }
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (least.data[class] < 0) sum += least.data[class];
  eg_doubles_deinit(&least);
  *out = sum;
  return EGRAPH_OK;
}

// An incumbent of the caller is only a hint: one that does not fit is ignored, so its
// entries are checked before they are used as indices.
static egraph_status offer_hint(eg_incumbent *incumbent, const uint32_t *hint) {
  const eg_extract_problem *problem = incumbent->problem;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (hint[class] != EG_EXTRACT_NONE &&
        (hint[class] >= eg_extract_node_count(problem) ||
         problem->node_class.data[hint[class]] != class))
      return EGRAPH_OK;
  double cost;
  return eg_incumbent_offer(incumbent, hint, &cost);
}

// Reports the certificate's cost, so that equal choices have equal costs everywhere.
static egraph_status run_greedy(const eg_greedy *greedy, eg_incumbent *incumbent,
                                eg_greedy_kind kind, double *out_cost) {
  eg_u32s choice;
  eg_u32s_init(&choice, greedy->alloc);
  egraph_status status;
  eg_incumbent_count(incumbent, eg_greedy_steps(greedy));
  EG_TRY_GOTO(status, eg_u32s_resize(&choice, greedy->problem->class_count), done);
  EG_TRY_GOTO(status,
              eg_greedy_run_until(greedy, kind, greedy->problem->cost.data,
                                  eg_incumbent_deadline(incumbent), choice.data),
              done);
  EG_TRY_GOTO(status, eg_incumbent_offer(incumbent, choice.data, out_cost), done);
  if (!isfinite(*out_cost)) goto done;
  double start = eg_clock_seconds();
  status = eg_extract_certify(greedy->alloc, greedy->problem, choice.data, out_cost);
  incumbent->reserve = RESERVE * (eg_clock_seconds() - start);
done:
  eg_u32s_deinit(&choice);
  return status;
}

static egraph_status prove_bound(egraph_allocator alloc, eg_incumbent *incumbent,
                                 eg_extract_result *result) {
  bool done = false;
  if (!eg_extract_has_negative_cost(incumbent->problem))
    return eg_exact_run(alloc, incumbent, result);
  EG_TRY(eg_cost_shift_run(alloc, incumbent, result, &done));
  return done ? EGRAPH_OK : eg_branch_cut_run(alloc, incumbent, result);
}

static egraph_status search_problem(egraph_allocator alloc, eg_incumbent *incumbent,
                                    const eg_extract_options *options,
                                    eg_extract_result *result) {
  const eg_extract_problem *problem = incumbent->problem;
  eg_class_index index;
  eg_class_index_init(&index, alloc);
  eg_greedy greedy = {alloc, problem, &index, DAG_MEMORY_BYTES};
  egraph_status status;
  EG_TRY_GOTO(status, eg_class_index_build(&index, problem), done);
  EG_TRY_GOTO(status, trivial_bound(alloc, problem, &incumbent->bound), done);
  if (options->method != EG_EXTRACT_DAG)
    EG_TRY_GOTO(status,
                run_greedy(&greedy, incumbent, EG_GREEDY_TREE, &result->tree_cost), done);
  // Too large for DAG cost, or out of time: it would be the tree's choice again.
  bool again = options->method == EG_EXTRACT_ILP &&
               (!eg_greedy_fits(&greedy) || eg_incumbent_stop(incumbent));
  if (again) result->dag_cost = result->tree_cost;
  if (options->method != EG_EXTRACT_TREE && !again)
    EG_TRY_GOTO(status, run_greedy(&greedy, incumbent, EG_GREEDY_DAG, &result->dag_cost),
                done);
  if (options->incumbent != NULL)
    EG_TRY_GOTO(status, offer_hint(incumbent, options->incumbent), done);
  if (options->method != EG_EXTRACT_ILP || !isfinite(incumbent->cost)) goto done;
  EG_TRY_GOTO(status, eg_perturb_run(&greedy, incumbent, PERTURB_ROUNDS, options->seed),
              done);
  eg_part_back(incumbent->clock, EGRAPH_PART_SEARCH);
  if (!eg_incumbent_stop(incumbent)) status = prove_bound(alloc, incumbent, result);
done:
  eg_class_index_deinit(&index);
  return status;
}

// The solver's opinion of its own cost must be the certificate's. They may differ, and
// the bound be above the cost, by what sums of this size are rounded to.
static egraph_status conclude_result(egraph_allocator alloc, eg_incumbent *incumbent,
                                     eg_extract_result *result) {
  if (!isfinite(incumbent->cost)) {
    result->status = EG_EXTRACT_INFEASIBLE;
    return EGRAPH_OK;
  }
  EG_TRY(eg_u32s_append(&result->choice, incumbent->choice.data,
                        incumbent->problem->class_count));
  EG_TRY(
      eg_extract_certify(alloc, incumbent->problem, result->choice.data, &result->cost));
  double slack = 1e-9 * eg_extract_magnitude(incumbent->problem, result->choice.data);
  if (fabs(result->cost - incumbent->cost) > slack)
    EG_TRY(eg_proof_check_equal("extraction, cost of the choice", incumbent->cost,
                                result->cost));
  if (incumbent->bound - result->cost > 2 * slack)
    EG_TRY(eg_proof_check_bound("extraction", incumbent->bound, result->cost));
  bool closed = result->cost - incumbent->bound <= slack;
  result->status = closed ? EG_EXTRACT_OPTIMAL : EG_EXTRACT_FEASIBLE;
  result->bound = incumbent->bound;
  if (closed && result->bound > result->cost) result->bound = result->cost;
  double scale = fabs(result->cost) > 1e-300 ? fabs(result->cost) : 1e-300;
  result->gap = closed ? 0 : (result->cost - result->bound) / scale;
  return EGRAPH_OK;
}

egraph_status eg_extract_solve(egraph_allocator alloc, const eg_extract_problem *problem,
                               const eg_extract_options *options,
                               eg_extract_result *result) {
  EG_TRY(check_options(problem, options));
  eg_incumbent incumbent;
  EG_TRY(eg_incumbent_init(&incumbent, alloc, problem, options));
  result->choice.len = 0;
  eg_part_clock clock = {.since = 0};
  incumbent.clock = &clock;
  eg_part_clock_start(&clock, EGRAPH_PART_GREEDY);
  egraph_status status = search_problem(alloc, &incumbent, options, result);
  eg_part_back(&clock, EGRAPH_PART_SEARCH);
  if (status == EGRAPH_OK) status = conclude_result(alloc, &incumbent, result);
  (void)eg_part_clock_stop(&clock);
  result->seconds = eg_clock_seconds() - incumbent.start_seconds;
  result->work = incumbent.work.done;
  memcpy(result->part_seconds, clock.seconds, sizeof clock.seconds);
  eg_incumbent_deinit(&incumbent);
  if (status != EGRAPH_OK || options->certificate == NULL) return status;
  eg_text text;
  eg_text_init(&text, alloc);
  status = eg_plain_certificate_make(alloc, problem, options, result, &text);
  if (status == EGRAPH_OK)
    status = eg_file_write(options->certificate, text.chars.data, text.chars.len);
  eg_text_deinit(&text);
  return status;
}
