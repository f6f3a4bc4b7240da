// Builds the whole step and its folded steps (one block for many), runs the searches on
// them, and joins their results.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/whole_step.h"

#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/proof.h"
#include "optimize/fold/step_names.h"
#include "optimize/search/budget.h"

// ---- steps ----------------------------------------------------------------------------

enum { MOST_GROUP = 4, FEW_NODES = 200 };

/// A step that can be planned: its graph, with the derived training step and constraints.
typedef struct planned_step {
  const eg_graph *graph;
  eg_training training; // if it trains: the step whose graph this is
  eg_training_info info;
  eg_plan_constraints constraints;
  bool is_made;
} planned_step;

/// A step whose equal blocks are folded in groups: one group represents the others.
typedef struct fold {
  eg_blocks blocks; // of the forward graph; count 0: these groups cannot be folded
  eg_folded folded;
  planned_step small;
} fold;

struct eg_whole_step {
  egraph_allocator alloc;
  eg_whole_input in;
  eg_fold_ends ends;
  eg_blocks blocks;
  planned_step whole;
  fold folds[MOST_GROUP];
  eg_memory_hint hint; // of the last mesh, for the first fold
};

const eg_graph *eg_whole_step_graph(const eg_whole_step *step) {
  return step->whole.graph;
}

uint32_t eg_whole_step_blocks(const eg_whole_step *step) {
  return step->folds[0].small.is_made ? step->folds[0].folded.times : 0;
}

void eg_whole_step_limit_memory(eg_whole_step *step, double bytes) {
  step->in.memory_limit = bytes;
  step->whole.info.info.memory_limit = bytes;
  for (int i = 0; i < MOST_GROUP; i++)
    step->folds[i].small.info.info.memory_limit = bytes;
}

static const eg_training *training_of(const eg_whole_step *step,
                                      const planned_step *planned) {
  return step->in.training != NULL ? &planned->training : NULL;
}

static eg_unfold_steps unfold_steps(const eg_whole_step *step, const fold *f) {
  assert(f->blocks.count != 0);
  return (eg_unfold_steps){.forward = step->in.forward,
                           .blocks = &f->blocks,
                           .ends = step->ends,
                           .folded = &f->folded,
                           .whole = training_of(step, &step->whole),
                           .small = training_of(step, &f->small)};
}

/// Builds the training step of a graph; `folded`: the folding of the graph, or NULL.
static egraph_status make_step(const eg_whole_step *step, const eg_graph *forward,
                               const eg_folded *folded, planned_step *out) {
  const eg_training_options *training = step->in.training;
  if (training != NULL) EG_TRY(eg_training_step(forward, training, &out->training));
  egraph_status status =
      training != NULL
          ? eg_training_info_init(&out->info, step->alloc, &out->training, folded)
          : eg_forward_info_init(&out->info, step->alloc, folded);
  if (status != EGRAPH_OK) {
    if (training != NULL) eg_training_deinit(&out->training);
    return status;
  }
  out->graph = training != NULL ? out->training.graph : forward;
  const eg_graph *whole = folded != NULL ? step->whole.graph : out->graph;
  out->info.info.is_small = eg_graph_node_count(whole) <= FEW_NODES;
  out->info.info.memory_limit = step->in.memory_limit;
  eg_plan_constraints_init(&out->constraints, step->alloc);
  out->is_made = true;
  return EGRAPH_OK;
}

static void planned_step_deinit(planned_step *planned, const eg_whole_step *step) {
  if (!planned->is_made) return;
  eg_plan_constraints_deinit(&planned->constraints);
  eg_training_info_deinit(&planned->info);
  if (step->in.training != NULL) eg_training_deinit(&planned->training);
}

/// Notes what goes from block to block in a step in which groups of blocks are folded.
static egraph_status note_seams(const eg_whole_step *step, fold *f) {
  const eg_blocks *groups = &f->folded.blocks;
  uint32_t size = groups->period / step->blocks.period;
  const eg_blocks single = {groups->first, step->blocks.period,
                            groups->count * size + step->blocks.count % size};
  return eg_training_info_seams(&f->small.info, step->alloc, f->folded.graph, &single,
                                training_of(step, &f->small));
}

static egraph_status make_fold(eg_whole_step *step, fold *f) {
  const eg_plan_constraints *constraints = &step->whole.constraints;
  EG_TRY(eg_blocks_fold(step->in.forward, &f->blocks, step->ends, &f->folded));
  egraph_status status = make_step(step, f->folded.graph, &f->folded, &f->small);
  if (status != EGRAPH_OK) {
    eg_folded_deinit(&f->folded);
    return status;
  }
  EG_TRY(note_seams(step, f));
  if (step->in.constraints == NULL) return EGRAPH_OK;
  EG_TRY(eg_plan_constraints_copy(&f->small.constraints, constraints));
  if (!eg_step_names_any(constraints)) return EGRAPH_OK;
  const eg_unfold_steps steps = unfold_steps(step, f);
  return eg_step_names_fold(&f->small.constraints, step->alloc, &steps);
}

/// True when an operand is a weight that is trained.
static bool trains_operand(const eg_whole_step *step, uint32_t node, uint32_t operand) {
  uint32_t found;
  const eg_graph *graph = step->in.forward;
  eg_value value = eg_graph_node_at(graph, (eg_graph_node){node}).inputs[operand];
  const eg_strmap *chosen = step->in.training->parameters.chosen;
  return eg_graph_value(graph, value)->kind == EG_VALUE_WEIGHT &&
         eg_strmap_find(chosen, eg_graph_value(graph, value)->name, &found);
}

/// True when the blocks train the same weights: blocks with different frozen weights are
/// not equal.
static bool train_alike(const eg_whole_step *step, const eg_blocks *blocks) {
  if (step->in.training == NULL || step->in.training->parameters.chosen == NULL)
    return true;
  uint32_t end = blocks->first + blocks->period * blocks->count;
  for (uint32_t n = blocks->first + blocks->period; n < end; n++) {
    eg_graph_node_info node = eg_graph_node_at(step->in.forward, (eg_graph_node){n});
    for (uint32_t i = 0; i < node.input_count; i++)
      if (trains_operand(step, n, i) != trains_operand(step, n - blocks->period, i))
        return false;
  }
  return true;
}

/// Finds the equal blocks. A step that is not to be folded has the same groups as one
/// that is, none of them across blocks.
static egraph_status find_blocks(eg_whole_step *step) {
  EG_TRY(eg_blocks_find(step->in.forward, &step->blocks));
  if (!eg_blocks_can_fold(&step->blocks, step->ends) || !train_alike(step, &step->blocks))
    step->blocks.count = 0;
  bool names = eg_step_names_any(&step->whole.constraints);
  const eg_unfold_steps steps = {.forward = step->in.forward,
                                 .blocks = &step->blocks,
                                 .ends = step->ends,
                                 .whole = training_of(step, &step->whole)};
  if (step->blocks.count != 0 && names)
    EG_TRY(eg_step_names_find_agreeing(&step->whole.constraints, step->alloc, &steps,
                                       &step->blocks));
  bool folds = step->in.folds && step->blocks.count != 0;
  for (uint32_t size = 1; size <= MOST_GROUP && folds; size++) {
    fold *f = &step->folds[size - 1];
    f->blocks = eg_blocks_group(&step->blocks, size);
    if (!eg_blocks_can_fold(&f->blocks, step->ends) || (names && size > 1))
      f->blocks.count = 0;
  }
  if (step->blocks.count == 0) return EGRAPH_OK;
  EG_TRY(eg_training_info_mark(&step->whole.info, step->alloc, step->in.forward,
                               &step->blocks, training_of(step, &step->whole)));
  return folds ? make_fold(step, &step->folds[0]) : EGRAPH_OK;
}

static egraph_status prepare_step(eg_whole_step *step) {
  EG_TRY(make_step(step, step->in.forward, NULL, &step->whole));
  if (step->in.constraints != NULL) {
    EG_TRY(eg_plan_constraints_copy(&step->whole.constraints, step->in.constraints));
    EG_TRY(eg_step_names_match(&step->whole.constraints, step->whole.graph));
  }
  return find_blocks(step);
}

egraph_status eg_whole_step_create(egraph_allocator alloc, const eg_whole_input *input,
                                   bool has_rules, eg_whole_step **out) {
  EG_HELD(eg_whole_step, step);
  EG_TRY(eg_alloc(alloc, 1, sizeof *step, &step));
  // The block that represents the others needs neighbours like itself: before it a block
  // that is not the first and, if there are rules, after it a block that is not the last.
  *step = (eg_whole_step){.alloc = alloc, .in = *input, .ends = {2, has_rules ? 2 : 1}};
  EG_HAND_OVER(prepare_step(step), step, out);
}

void eg_whole_step_destroy(eg_whole_step *step) {
  if (step == NULL) return;
  for (int i = 0; i < MOST_GROUP; i++) {
    fold *f = &step->folds[i];
    planned_step_deinit(&f->small, step);
    if (f->small.is_made) eg_folded_deinit(&f->folded);
  }
  planned_step_deinit(&step->whole, step);
  eg_free(step->alloc, step, 1, sizeof *step);
}

// ---- searches -------------------------------------------------------------------------

// Shares of all work and of the remaining time for each search of a step.
static const double FOLDED_SHARE = 0.5; // the folded step
static const double CUT_SHARE = 0.3;    // its bound of the whole step, and mates
static const double GROUP_SHARE = 0.05; // the step in groups of blocks, each
static const double WHOLE_SHARE = 0.3;  // the whole step after these
static const double MIX_SHARE = 0.5;    // mixing, which takes little work
// Largest sizes (layouts and transitions) of a whole step for a long search with rules,
// for a long search without rules, and for any search, which then only improves the plan.
static const double TINY_STEP = 10e3, SMALL_STEP = 60e3, LARGE_STEP = 600e3;
// Work limit of a search of the whole step that begins with a plan, if the step is large
// or the gap is small.
static const uint64_t WHOLE_WORK = UINT64_C(1000000000);
// With a larger gap than this, or with any gap if a proof is requested, a search of the
// whole step may use all remaining work.
static const double WIDE_GAP = 0.005;
// Suffices within a limit of memory where a search with rules or groups follows.
static const double GIVEN_GAP = 0.05;
// If a price of memory gave a plan with more than this share of the work, and a gap of at
// most so much, the search of the folded step behind it, which then seldom finds a
// cheaper plan, is left out.
static const double MOST_PRICED = 0.25, PRICED_GAP = 0.1;

typedef struct searcher {
  eg_whole_step *step;
  const eg_planner_input *planner;
  eg_planning *out;
  double deadline;
  bool has_any;      // out is filled
  double whole_size; // estimate of the whole step's places and transitions
  bool is_mixed; // blocks have several kinds already, therefore groups are not searched
  bool binds;    // the limit of memory binds in the folded step
} searcher;

static double seconds_left(const searcher *s) {
  return fmax(s->deadline - eg_clock_seconds(), EG_LEAST_SECONDS);
}

static bool has_rules(const searcher *s) { return eg_planner_rules(s->planner) != NULL; }

/// Returns the planner's input for a step, with the whole budget.
static eg_planner_input input_of(const eg_planner_input *planner,
                                 const eg_whole_step *step, const planned_step *planned) {
  eg_planner_input input = *planner;
  input.graph = planned->graph;
  input.info = &planned->info.info;
  input.constraints = step->in.constraints != NULL ? &planned->constraints : NULL;
  return input;
}

/// Returns the planner's input for a step, with a share of all work and remaining time.
static eg_planner_input input_for(const searcher *s, const planned_step *planned,
                                  double share) {
  assert(share >= 0 && share <= 1);
  eg_planner_input input = input_of(s->planner, s->step, planned);
  input.budget.time_limit_seconds = share * seconds_left(s);
  input.budget.work_limit = eg_work_share(s->planner->budget.work_limit, share);
  return input;
}

/// Replaces the plan of a folded step (one block for many) by a plan of the whole step.
static egraph_status unfold_plan(const searcher *s, const fold *f,
                                 eg_emitted_plan *inout) {
  const eg_unfold_steps steps = unfold_steps(s->step, f);
  eg_machine_costs costs;
  eg_emitted_plan whole;
  EG_TRY(eg_planner_costs(s->planner, s->planner->mesh, &costs));
  eg_plan_costs prices = eg_machine_plan_costs(&costs);
  EG_TRY(eg_plan_unfold(s->step->alloc, &steps, inout, &prices, &whole));
  eg_emitted_plan_deinit(inout);
  *inout = whole;
  return EGRAPH_OK;
}

/// Unfolds a folded step's plans to the whole step; drops one that then exceeds
/// the memory.
static egraph_status unfold(const searcher *s, const fold *f, eg_planning *planning) {
  eg_plan_summary summary;
  for (int m = 0; m < EG_MATES; m++)
    if (planning->mates.has[m]) EG_TRY(unfold_plan(s, f, &planning->mates.plan[m]));
  if (!planning->has_plan) return EGRAPH_OK;
  EG_TRY(unfold_plan(s, f, &planning->emitted));
  EG_TRY(eg_plan_summary_make(&planning->emitted.plan, s->step->alloc, &summary));
  // Nodes made by rules are derived again in each block, where they may cost more.
  if (planning->is_exact && !has_rules(s))
    EG_TRY(eg_proof_check_equal("seconds of a folded plan and of the same plan unfolded",
                                planning->cost, summary.seconds));
  planning->cost = summary.seconds;
  planning->memory = summary.peak;
  bool fits = !(planning->memory > s->step->in.memory_limit);
  if (fits || s->planner->searcher != NULL) return EGRAPH_OK;
  eg_emitted_plan_deinit(&planning->emitted);
  planning->has_plan = false;
  planning->cost = INFINITY;
  return EGRAPH_OK;
}

/// Joins results of baselines; those of the whole step replace those of a folded step.
static void join_outcomes(eg_planning *out, const eg_planning *next, bool is_whole) {
  for (int b = 0; b < EG_BASELINE_OUTCOMES; b++)
    if (next->baseline[b].is_tried && (is_whole || !out->baseline[b].is_tried))
      out->baseline[b] = next->baseline[b];
  if (out->single_seconds == 0) out->single_seconds = next->single_seconds;
}

/// Returns the bound of all plans, from the next search and the searches before it. If
/// rules make variants, only a search of the whole step covers the variants of the whole
/// step; unless this search reached all variants, the lower bound is taken.
static double join_bounds(const searcher *s, const eg_planning *next, bool is_whole) {
  double known = s->out->bound, higher = fmax(known, next->bound);
  if (!has_rules(s)) return higher;
  bool is_all = next->stop == EG_STOP_SATURATED;
  if (is_whole) return is_all ? next->bound : fmin(known, next->bound);
  // Blocks folded in groups have more variants: a cheaper plan shows that the bound does
  // not hold for these variants.
  return next->has_plan && next->cost < higher ? 0 : higher;
}

static void add_times(eg_planning *out, const eg_planning *other) {
  out->saturate_seconds += other->saturate_seconds;
  out->space_seconds += other->space_seconds;
  out->solve_seconds += other->solve_seconds;
}

/// Joins the result of a further search: the cheaper plan, the higher bound, or the proof
/// that there is no plan. Takes over the plans of `next`.
static egraph_status join_found(searcher *s, eg_planning *next, bool is_whole) {
  eg_planning *out = s->out;
  if (!s->has_any) {
    *out = *next;
    s->has_any = true;
  } else {
    eg_planning other = *next;
    const eg_planning reported = is_whole ? *next : *out; // whose e-graph is reported
    uint32_t untried = next->untried;
    bool is_of_reached = out->is_of_reached; // groups do not change this
    double bound = join_bounds(s, next, is_whole);
    bool is_as_given = out->is_as_given && next->is_as_given;
    bool is_cheaper = next->has_plan && (!out->has_plan || next->cost < out->cost);
    bool is_taken = is_cheaper || (is_whole && !out->has_plan);
    if (is_taken) {
      other = *out;
      *out = *next;
    }
    join_outcomes(out, &other, is_whole != is_taken);
    out->bound = bound;
    out->is_as_given = is_as_given;
    out->is_of_reached = is_of_reached;
    out->stop = reported.stop;
    out->nodes = reported.nodes;
    out->classes = reported.classes;
    out->iterations = reported.iterations;
    if (is_whole) out->untried = untried;
    add_times(out, &other);
    eg_planning_deinit(&other);
  }
  next->has_plan = false; // moved
  next->mates = (eg_mates){.has = {false}};
  eg_planning_judge(out);
  return eg_proof_check_bound("plan", out->bound, out->has_plan ? out->cost : INFINITY);
}

/// Mixes plans of several kinds for equal blocks, beginning with a mate that fits.
static egraph_status mix(searcher *s, const eg_planning *folded) {
  eg_planner_input input = input_for(s, &s->step->whole, MIX_SHARE);
  const eg_plan *kind[EG_MIX_KINDS];
  uint32_t kinds = 0;
  EG_OWNED(eg_planning, next);
  kind[kinds++] = &folded->mates.plan[EG_MATE_SMALL].plan;
  if (folded->mates.has[EG_MATE_CHEAP])
    kind[kinds++] = &folded->mates.plan[EG_MATE_CHEAP].plan;
  if (folded->has_plan) kind[kinds++] = &folded->emitted.plan;
  EG_TRY(eg_planner_mix(s->step->alloc, &input, kind, kinds, &next));
  return next.has_plan ? join_found(s, &next, false) : EGRAPH_OK;
}

/// What a search of a folded step does.
typedef struct fold_search {
  double share; // of the remaining time and work
  bool compares;
  bool cut_only; // only the bound of the whole step, and plans to be mixed
} fold_search;
static const fold_search PRICED = {.share = FOLDED_SHARE, .cut_only = true},
                         PRICED_ALONE = {.share = 1, .cut_only = true},
                         FOLDED = {.share = FOLDED_SHARE, .compares = true},
                         GROUP = {.share = GROUP_SHARE};

static egraph_status search_folded(searcher *s, fold *f, const fold_search *what) {
  eg_whole_step *step = s->step;
  eg_planner_input input = input_for(s, &f->small, what->share);
  EG_OWNED(eg_planning, next);
  input.compares = what->compares && s->planner->compares;
  input.cut_only = what->cut_only;
  input.known = input.loose = NULL; // of the whole step
  input.is_alone = f != &step->folds[0];
  if (!input.is_alone) {
    double cut = what->cut_only ? what->share : CUT_SHARE;
    input.cut_seconds = cut * seconds_left(s);
    input.cut_work = eg_work_share(s->planner->budget.work_limit, cut);
  }
  input.binds = s->binds;
  if (!input.is_alone) input.hint = step->hint;
  EG_TRY(eg_planner_run(step->alloc, &input, &next));
  if (next.hint.price > 0) step->hint = next.hint;
  s->binds = s->binds || next.exceeds;
  EG_TRY(unfold(s, f, &next));
  // A search for equal blocks finds a plan and its cost; it proves nothing about others.
  next.bound = fmax(next.cut_bound, input.is_alone ? 0 : input.cut_floor);
  next.least_memory = 0;
  if (!next.has_plan) next.status = EG_LAYOUT_UNKNOWN;
  if (!input.is_alone) { // estimates the size of the whole step's problem
    double whole = eg_graph_node_count(step->whole.graph);
    double small = fmax(eg_graph_node_count(f->small.graph), 1);
    s->whole_size = ((double)next.places + next.arcs) * whole / small;
  }
  s->is_mixed = s->is_mixed || next.mates.has[EG_MATE_SMALL];
  if (next.mates.has[EG_MATE_SMALL]) EG_TRY(mix(s, &next));
  return join_found(s, &next, false);
}

static bool is_wide(const searcher *s) {
  const eg_layout_options *budget = &s->planner->budget;
  double gap =
      budget->late_work != 0 ? WIDE_GAP : fmax(budget->relative_gap, EG_PROVEN_GAP);
  return s->has_any && s->out->has_plan && s->out->gap > gap;
}

static egraph_status search_whole(searcher *s, double share, bool compares) {
  eg_planning *out = s->out;
  eg_planner_input input = input_for(s, &s->step->whole, share);
  EG_OWNED(eg_planning, next);
  // Uses all remaining time: this is the last search.
  input.budget.time_limit_seconds = seconds_left(s);
  bool goes_on = s->has_any && out->has_plan;
  if (goes_on && !(input.known != NULL && input.known_cost < out->cost)) {
    input.known = &out->emitted.plan;
    input.known_cost = out->cost;
  }
  double long_up_to = has_rules(s) ? TINY_STEP : SMALL_STEP;
  bool is_close = goes_on && s->planner->budget.late_work != 0 &&
                  out->gap <= s->planner->budget.late_gap;
  bool is_minor = goes_on && !is_wide(s) && (s->whole_size > long_up_to || is_close);
  if (is_minor && (input.budget.work_limit == 0 || input.budget.work_limit > WHOLE_WORK))
    input.budget.work_limit = WHOLE_WORK;
  input.compares = compares && s->planner->compares;
  input.binds = s->binds;
  EG_TRY(eg_planner_run(s->step->alloc, &input, &next));
  // With rules, the whole step has other variants than the folded step, and the bound of
  // the folded step does not hold for them. Therefore the new result must be worth the
  // loss of that bound.
  bool is_of_use = !has_rules(s) || !s->has_any || !out->has_plan ||
                   (next.has_plan && next.cost < out->cost) || next.bound > out->bound;
  if (!is_of_use) {
    join_outcomes(out, &next, true);
    add_times(out, &next);
    return EGRAPH_OK;
  }
  if (s->has_any) out->is_of_reached = false;
  return join_found(s, &next, true);
}

/// Returns the seconds of the cheapest plan so far, of any mesh; INFINITY: there is none.
static double least_cost(const searcher *s) {
  double at_hand = s->planner->at_hand > 0 ? s->planner->at_hand : INFINITY;
  return s->out->has_plan ? fmin(s->out->cost, at_hand) : at_hand;
}

/// False when the bound shows that no plan is noticeably cheaper than the cheapest so
/// far.
static bool has_open_gap(const searcher *s) {
  double gap = eg_planner_gap(s->planner, 0);
  if (s->planner->as_given && s->planner->binds) gap = fmax(gap, GIVEN_GAP);
  double least = least_cost(s);
  return !s->out->is_cancelled && (isinf(least) || s->out->bound < least * (1 - gap));
}

static egraph_status search_groups(searcher *s) {
  for (uint32_t size = 2; size <= MOST_GROUP && has_open_gap(s); size++) {
    fold *f = &s->step->folds[size - 1];
    if (f->blocks.count == 0 || s->deadline - eg_clock_seconds() < EG_LEAST_SECONDS)
      continue;
    if (!f->small.is_made) EG_TRY(make_fold(s->step, f));
    EG_TRY(search_folded(s, f, &GROUP));
  }
  return EGRAPH_OK;
}

/// True when the limit of memory is known to bind: then a price of memory soon gives a
/// bound of the whole step and two plans, and their mixture is often cheapest.
static bool is_priced_first(const searcher *s) {
  const eg_planner_input *planner = s->planner;
  return planner->binds && planner->baseline == NULL && !planner->compares &&
         !planner->algebra_first;
}

/// Looks for a bound and a mixture at a price of memory. *out_suffices: there is a plan,
/// and no work for more.
static egraph_status search_priced(searcher *s, fold *first, bool *out_suffices) {
  const eg_layout_options *budget = &s->planner->budget;
  uint64_t before = budget->done != NULL ? *budget->done : 0;
  EG_TRY(search_folded(s, first, &PRICED));
  double done = budget->done != NULL ? (double)(*budget->done - before) : 0;
  bool is_near = s->out->has_plan && s->out->gap <= PRICED_GAP;
  *out_suffices = is_near && budget->work_limit != 0 &&
                  done > MOST_PRICED * (double)budget->work_limit;
  return EGRAPH_OK;
}

/// True when the bound of the folded step proves the plan at hand. With rules, a small
/// whole step may have more variants.
static bool is_proven(const searcher *s) {
  return !has_open_gap(s) && !(has_rules(s) && s->whole_size <= SMALL_STEP);
}

/// Runs the search of another algorithm once.
static egraph_status search_by(searcher *s) {
  const fold *first = &s->step->folds[0];
  bool is_folded = first->small.is_made && !s->planner->searcher->is_whole;
  eg_planner_input input = input_for(s, is_folded ? &first->small : &s->step->whole, 1);
  EG_TRY(eg_planner_run(s->step->alloc, &input, s->out));
  s->has_any = true;
  return is_folded ? unfold(s, first, s->out) : EGRAPH_OK;
}

static egraph_status search_step(searcher *s) {
  fold *first = &s->step->folds[0];
  eg_planning *out = s->out;
  if (s->planner->searcher != NULL) return search_by(s);
  if (!first->small.is_made) return search_whole(s, 1, true);
  if (s->planner->cut_only) return search_folded(s, first, &PRICED_ALONE);
  bool suffices = false;
  if (is_priced_first(s)) EG_TRY(search_priced(s, first, &suffices));
  if (s->has_any && (suffices || is_proven(s))) return EGRAPH_OK;
  // If folded and whole step are planned, the whole step's baselines are compared.
  EG_TRY(search_folded(s, first, &FOLDED));
  bool is_small = s->whole_size <= SMALL_STEP;
  // The bound covers variants of the folded step; the whole step may have others.
  out->is_of_reached = has_rules(s);
  double most = s->planner->answer_limit;
  bool is_useless = most > 0 && out->has_plan && out->memory > most;
  if (out->is_cancelled || out->is_beaten || is_useless) return EGRAPH_OK;
  bool has_bound = out->has_plan && out->bound > 0;
  bool is_enough = has_rules(s) && has_bound && !is_small && !is_wide(s);
  bool is_done = !has_open_gap(s) && !s->planner->compares && !has_rules(s);
  if (is_enough || is_done) return EGRAPH_OK;
  if (!is_small && !s->is_mixed) EG_TRY(search_groups(s));
  if (s->whole_size > LARGE_STEP || s->deadline <= eg_clock_seconds()) return EGRAPH_OK;
  return search_whole(s, WHOLE_SHARE, is_small);
}

egraph_status eg_whole_step_plan(eg_whole_step *step, const eg_planner_input *planner,
                                 eg_planning *out) {
  assert(step->whole.is_made);
  searcher s = {.step = step,
                .planner = planner,
                .out = out,
                .binds = planner->binds,
                .deadline = eg_clock_seconds() + planner->budget.time_limit_seconds};
  egraph_status status = search_step(&s);
  if (status != EGRAPH_OK && s.has_any) eg_planning_deinit(out);
  return status;
}

egraph_status eg_whole_step_certify(eg_whole_step *step, const eg_planner_input *planner,
                                    const eg_plan_claim *claim,
                                    eg_plan_certificate *out) {
  const eg_planner_input input = input_of(planner, step, &step->whole);
  return eg_planner_certify(step->alloc, &input, claim, out);
}
