// The front end. Greedy solutions come first; a problem with costs >= 0 goes to the exact
// solver (exact.h). Negative costs are shifted away where possible, else the problem goes
// to branch and cut. Every result passes the independent check (certify.c), and the
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

// A certificate contains the choice, its cost, and a proof of the bound on the original
// problem. A second search finds the proof: with the cost known, a search in proof mode
// (plain_proof.h) takes only steps that can be explained on the original problem; it
// neither merges nor collapses classes. When that takes too much time or memory, the
// certificate proves the bound of the root of its tree.

// The claimed bound is lower than the bound of the search by this relative amount, which
// leaves room for directed rounding. The solver's own tolerance is 1e-9.
static const double CLAIM_ROOM = 1e-9;

typedef struct writer {
  egraph_allocator alloc;
  const eg_extract_problem *problem;
  const eg_extract_options *options;
  eg_extract_result *result;
  double unit;
  eg_plain_proof proof;
} writer;

static void writer_deinit(writer *w) { eg_plain_proof_deinit(&w->proof); }

/// Searches again, in proof mode, by one search tree without subproblems, which
/// tree_limit requests.
static egraph_status prove_again(writer *w) {
  if (eg_extract_has_negative_cost(w->problem)) {
    // Adds a sum without rows: it uses only the least cost of each class, if negative.
    EG_TRY(eg_plain_proof_begin(&w->proof));
    return eg_plain_proof_end(&w->proof);
  }
  eg_extract_options options = *w->options;
  options.relative_gap = 0;
  options.progress = NULL;
  options.incumbent = NULL;
  options.disabled_passes |= UINT32_C(1) << EG_PASS_COLLAPSE |
                             UINT32_C(1) << EG_PASS_MERGE | UINT32_C(1) << EG_PASS_BOUND;
  EG_OWNED(eg_incumbent, incumbent);
  double cost;
  bool closed;
  EG_TRY(eg_incumbent_init(&incumbent, w->alloc, w->problem, &options));
  incumbent.proof = &w->proof;
  incumbent.tree_limit = UINT32_MAX;
  EG_TRY(eg_incumbent_offer(&incumbent, w->result->choice.data, &cost));
  return eg_branch_run(w->alloc, &incumbent, w->proof.target, 0, &closed);
}

/// Returns the largest bound that the certificate proves: by its whole text, or by the
/// best sum before any split.
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

static void write_certificate_head(const writer *w, eg_text *out) {
  uint32_t roots = 0;
  for (size_t class = 0; class < w->proof.needed_at.len; class ++)
    roots += w->proof.needed_at.data[class] == 1;
  eg_text_printf(out, "egraph-certificate 1 plain\nproblem %u %u %u\nstatus %s\n",
                 eg_extract_node_count(w->problem), w->problem->class_count, roots,
                 w->result->status != EG_EXTRACT_INFEASIBLE ? "solved" : "infeasible");
}

static void write_claims(const writer *w, eg_text *out, double bound) {
  const eg_u32s *choice = &w->result->choice;
  uint32_t count = 0;
  for (size_t class = 0; class < choice->len; class ++)
    count += choice->data[class] != EG_EXTRACT_NONE;
  eg_text_append(out, "cost");
  eg_certificate_double(out, w->result->cost);
  eg_text_printf(out, "\nchoice %u", count);
  for (size_t class = 0; class < choice->len; class ++)
    if (choice->data[class] != EG_EXTRACT_NONE)
      eg_text_printf(out, " %u", choice->data[class]);
  eg_text_append(out, "\nbound");
  eg_certificate_double(out, bound);
  eg_text_append(out, "\n");
}

static egraph_status write_certificate(writer *w, eg_text *out) {
  const eg_plain_proof *proof = &w->proof;
  write_certificate_head(w, out);
  w->result->certified = INFINITY;
  if (w->result->status == EG_EXTRACT_INFEASIBLE) return eg_text_status(out);
  EG_TRY(prove_again(w));
  bool whole = proof->done && !proof->failed;
  double bound = claim_bound(w);
  write_claims(w, out, bound);
  eg_text_append_bytes(out, proof->text.chars.data, proof->text.chars.len);
  if (!whole) eg_text_append(out, "closed\n");
  w->result->certified = bound;
  return eg_text_status(out);
}

egraph_status eg_plain_certificate_make(egraph_allocator alloc,
                                        const eg_extract_problem *problem,
                                        const eg_extract_options *options,
                                        eg_extract_result *result, eg_text *out) {
  assert(result->status == EG_EXTRACT_INFEASIBLE ||
         result->choice.len == problem->class_count);
  EG_OWNED(writer, w);
  w = (writer){.alloc = alloc,
               .problem = problem,
               .options = options,
               .result = result,
               .unit = eg_cost_unit_of(problem)};
  double bound = result->bound;
  double room = w.unit > 0 ? w.unit * (1 - 1e-6) : CLAIM_ROOM * fabs(bound);
  EG_TRY(eg_plain_proof_init(&w.proof, alloc, problem, bound - room));
  return write_certificate(&w, out);
}

// ---- negative costs that can be shifted away --------------------------------------

// Adding d to the cost of all nodes of a class changes the cost of a choice by d exactly
// when the class is needed. So d may be taken
//   - from every choice, when the roots always need the class;
//   - from the nodes that use it, when they all lie in one class: one of them at most is
//     chosen, and the class is needed when one is.
// When it is moved up like this, a negative cost often ends where it makes
// nothing negative.
//
// Classes that only one class uses form a forest below the other classes, so costs move
// up a tree and never come back. Nodes that no choice can contain are not counted as
// users, and cost nothing afterwards.

typedef struct shift {
  eg_formulation *model;
  eg_bytes forced; // [class] every choice needs this class
  eg_u32s queue;   // classes that may have become negative
  double offset;
} shift;
EG_OWNER_DEFINE_STATIC(shift, (eg_bytes, forced), (eg_u32s, queue))

static egraph_status find_forced(shift *s, egraph_allocator alloc, eg_patience patience) {
  const eg_extract_problem *problem = &s->model->reduced.problem;
  EG_TRY(eg_bytes_append(&s->forced, s->model->index.is_root.data,
                         s->model->index.is_root.len));
  EG_LOCAL(eg_landmarks, landmarks, alloc);
  bool valid = false;
  EG_TRY(eg_landmarks_find(&landmarks, problem, &s->model->index, patience, &valid));
  for (size_t i = 0; valid && i < problem->roots.len; i++)
    for (uint32_t class = 0; class < problem->class_count; class ++)
      if (eg_landmarks_has(&landmarks, problem->roots.data[i], class))
        s->forced.data[class] = 1;
  return EGRAPH_OK;
}

static egraph_status shift_class(shift *s, uint32_t class) {
  assert(s->forced.len == s->model->reduced.problem.class_count);
  const eg_class_index *index = &s->model->index;
  double *cost = s->model->reduced.problem.cost.data, least = 0;
  EG_EACH_MEMBER(index, class, member) { least = fmin(least, cost[member]); }
  uint32_t owner = EG_EXTRACT_NONE; // the only class that uses this one
  EG_EACH_USER(index, class, node) {
    uint32_t user = s->model->reduced.problem.node_class.data[node];
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

egraph_status eg_cost_shift_find(egraph_allocator alloc,
                                 const eg_extract_problem *problem, eg_patience patience,
                                 eg_doubles *cost, double *out_offset, bool *out_done) {
  EG_OWNED(eg_formulation, model);
  EG_LOCAL(shift, s, alloc);
  s.model = &model;
  *out_done = false;
  EG_TRY(eg_formulation_init(&model, alloc));
  EG_TRY(eg_formulation_build(&model, problem));
  EG_TRY(find_forced(&s, alloc, patience));
  for (uint32_t class = 0; class < problem->class_count; class ++)
    EG_TRY(eg_u32s_push(&s.queue, class));
  for (size_t done = 0; done < s.queue.len; done++)
    EG_TRY(shift_class(&s, s.queue.data[done]));
  const eg_reduced *reduced = &model.reduced;
  cost->len = 0;
  EG_TRY(eg_doubles_resize(cost, eg_extract_node_count(problem)));
  *out_done = true;
  for (uint32_t n = 0; n < eg_extract_node_count(&reduced->problem); n++) {
    cost->data[reduced->part.data[n]] = reduced->problem.cost.data[n];
    *out_done = *out_done && reduced->problem.cost.data[n] >= 0;
  }
  *out_offset = s.offset;
  return EGRAPH_OK;
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
  EG_OWNED(eg_incumbent, inner);
  double cost;
  EG_TRY(eg_incumbent_init(&inner, alloc, shifted, outer->options));
  link l = {outer, &inner};
  inner.outer = outer;
  inner.outer_rest = offset;
  inner.rest_cost = INFINITY;
  inner.clock = outer->clock;
  inner.bound = 0;
  EG_TRY(eg_incumbent_offer(&inner, outer->choice.data, &cost));
  inner.on_better = adopt_unshifted;
  inner.on_better_user = &l;
  EG_TRY(eg_exact_run(alloc, &inner, result));
  eg_incumbent_raise(outer,
                     inner.bound >= inner.cost ? outer->cost : offset + inner.bound);
  return EGRAPH_OK;
}

/// Solves a problem with negative costs by eg_exact_run (exact.h), if shifting can remove
/// them; *out_done: it can. Fails as eg_exact_run does.
static egraph_status run_cost_shift(egraph_allocator alloc, eg_incumbent *incumbent,
                                    eg_extract_result *result, bool *out_done) {
  EG_LOCAL(eg_doubles, cost, alloc);
  double offset = 0;
  EG_TRY(eg_cost_shift_find(alloc, incumbent->problem, eg_patience_of(incumbent), &cost,
                            &offset, out_done));
  if (!*out_done) return EGRAPH_OK;
  eg_extract_problem shifted = *incumbent->problem; // borrows all rows but the costs
  shifted.cost = cost;
  return solve_shifted(alloc, incumbent, &shifted, offset, result);
}

// ---- the front end ----------------------------------------------------------------

enum { DAG_MEMORY_BYTES = 256 << 20, PERTURB_ROUNDS = 12 };

// Time reserved for the steps after the search (a last choice, its certificate), as a
// multiple of the time that one certificate takes.
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

/// Computes a lower bound: every root needs a node of its own; of other classes only
/// negative costs count.
static egraph_status trivial_bound(egraph_allocator alloc,
                                   const eg_extract_problem *problem, double *out) {
  EG_LOCAL(eg_doubles, least, alloc);
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
  *out = sum;
  return EGRAPH_OK;
}

/// Offers the caller's incumbent, which is only a hint: it is ignored if it does not fit,
/// and its entries are checked before they are used as indices.
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

/// Runs one greedy method. It reports the certificate's cost, so that equal choices have
/// equal costs everywhere.
static egraph_status run_greedy(const eg_greedy *greedy, eg_incumbent *incumbent,
                                eg_greedy_kind kind, double *out_cost) {
  EG_LOCAL(eg_u32s, choice, greedy->alloc);
  eg_incumbent_count(incumbent, eg_greedy_steps(greedy));
  EG_TRY(eg_u32s_resize(&choice, greedy->problem->class_count));
  EG_TRY(eg_greedy_run_until(greedy, kind, greedy->problem->cost.data,
                             eg_incumbent_deadline(incumbent), choice.data));
  EG_TRY(eg_incumbent_offer(incumbent, choice.data, out_cost));
  if (!isfinite(*out_cost)) return EGRAPH_OK;
  double start = eg_clock_seconds();
  egraph_status status =
      eg_extract_certify(greedy->alloc, greedy->problem, choice.data, out_cost);
  incumbent->reserve = RESERVE * (eg_clock_seconds() - start);
  return status;
}

static egraph_status prove_bound(egraph_allocator alloc, eg_incumbent *incumbent,
                                 eg_extract_result *result) {
  bool done = false;
  if (!eg_extract_has_negative_cost(incumbent->problem))
    return eg_exact_run(alloc, incumbent, result);
  EG_TRY(run_cost_shift(alloc, incumbent, result, &done));
  return done ? EGRAPH_OK : eg_branch_cut_run(alloc, incumbent, result);
}

static egraph_status search_problem(egraph_allocator alloc, eg_incumbent *incumbent,
                                    const eg_extract_options *options,
                                    eg_extract_result *result) {
  const eg_extract_problem *problem = incumbent->problem;
  EG_LOCAL(eg_class_index, index, alloc);
  eg_greedy greedy = {alloc, problem, &index, DAG_MEMORY_BYTES};
  EG_TRY(eg_class_index_build(&index, problem));
  EG_TRY(trivial_bound(alloc, problem, &incumbent->bound));
  if (options->method != EG_EXTRACT_DAG)
    EG_TRY(run_greedy(&greedy, incumbent, EG_GREEDY_TREE, &result->tree_cost));
  // If the problem is too large for DAG cost, or time is up, the second greedy choice
  // equals the choice by tree cost.
  bool again = options->method == EG_EXTRACT_ILP &&
               (!eg_greedy_fits(&greedy) || eg_incumbent_stop(incumbent));
  if (again) result->dag_cost = result->tree_cost;
  if (options->method != EG_EXTRACT_TREE && !again)
    EG_TRY(run_greedy(&greedy, incumbent, EG_GREEDY_DAG, &result->dag_cost));
  if (options->incumbent != NULL) EG_TRY(offer_hint(incumbent, options->incumbent));
  if (options->method != EG_EXTRACT_ILP || !isfinite(incumbent->cost)) return EGRAPH_OK;
  EG_TRY(eg_perturb_run(&greedy, incumbent, PERTURB_ROUNDS, options->seed));
  eg_part_back(incumbent->clock, EGRAPH_PART_SEARCH);
  return eg_incumbent_stop(incumbent) ? EGRAPH_OK : prove_bound(alloc, incumbent, result);
}

/// Checks and concludes the result: the solver's cost must equal the certificate's. The
/// two may differ, and the bound may exceed the cost, by the rounding error of a sum of
/// these costs.
static egraph_status conclude_result(egraph_allocator alloc, eg_incumbent *incumbent,
                                     eg_extract_result *result) {
  assert(result->choice.len == 0);
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

static egraph_status write_certificate_file(egraph_allocator alloc,
                                            const eg_extract_problem *problem,
                                            const eg_extract_options *options,
                                            eg_extract_result *result) {
  EG_LOCAL(eg_text, text, alloc);
  EG_TRY(eg_plain_certificate_make(alloc, problem, options, result, &text));
  return eg_file_write(options->certificate, text.chars.data, text.chars.len);
}

egraph_status eg_extract_solve(egraph_allocator alloc, const eg_extract_problem *problem,
                               const eg_extract_options *options,
                               eg_extract_result *result) {
  EG_TRY(check_options(problem, options));
  EG_OWNED(eg_incumbent, incumbent);
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
  if (status != EGRAPH_OK || options->certificate == NULL) return status;
  return write_certificate_file(alloc, problem, options, result);
}
