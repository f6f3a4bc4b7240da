// Names of the user's model first, then the step as it is planned, whole and folded, then
// the searches and how their findings are joined.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/whole_step.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "base/spelling.h"
#include "base/work.h"
#include "optimize/fold/unfold.h"

// ---- names of the model --------------------------------------------------------------

// The values of a user's model that constraints name, in the step that is planned: names
// with wildcards stand for all that they match, and values of repeated blocks for those
// of the block that stands for many, where all of these are wanted alike: where the
// statements that name their values are, one after the other, the same but for the block.

#define NONE UINT32_MAX
enum { LEAST_MIDDLE = 2 };

static bool name_any(const eg_plan_constraints *constraints) {
  for (size_t i = 0; i < constraints->rows.len; i++)
    if (constraints->rows.data[i].value != NULL) return true;
  return false;
}

static egraph_status fail_unknown_value(const eg_plan_constraint *row,
                                        const eg_graph *whole) {
  eg_spelling spelling = eg_spelling_start(row->value);
  if (strchr(row->value, '*') != NULL)
    return eg_plan_constraint_fail(
        row,
        "no value of the step has a name like '%.200s'; take the names from the "
        "model, or from the text of a plan",
        row->value);
  for (uint32_t v = 0; v < eg_graph_value_count(whole); v++)
    eg_spelling_offer(&spelling, eg_graph_value(whole, (eg_value){v})->name);
  if (spelling.best != NULL)
    return eg_plan_constraint_fail(
        row, "there is no value '%.200s' in the step; did you mean '%.200s'?", row->value,
        spelling.best);
  return eg_plan_constraint_fail(
      row,
      "there is no value '%.200s' in the step; take the name of an input, weight or "
      "result from the text of a plan, or say (all KIND)",
      row->value);
}

static egraph_status push_for(eg_plan_constraints *constraints, const eg_graph *whole,
                              const eg_plan_constraint *row, eg_value value,
                              eg_plan_constraint_rows *out) {
  eg_plan_constraint copy = *row;
  const char *name = eg_graph_value(whole, value)->name;
  EG_TRY(eg_arena_string(&constraints->arena, name, strlen(name), &copy.value));
  return eg_plan_constraint_rows_push(out, copy);
}

/// An output has two names: its own, and that of its value. From here on the latter
/// stands for it.
static egraph_status match_output(eg_plan_constraints *constraints, const eg_graph *whole,
                                  const eg_plan_constraint *row,
                                  eg_plan_constraint_rows *out) {
  size_t before = out->len;
  bool has_star = strchr(row->value, '*') != NULL;
  for (int by_value = 0; by_value < 2 && (has_star || out->len == before); by_value++)
    for (uint32_t o = 0; o < eg_graph_output_count(whole); o++) {
      const char *name;
      eg_value value = eg_graph_output(whole, o, &name);
      if (by_value != 0) name = eg_graph_value(whole, value)->name;
      if (has_star ? eg_wildcard_matches(row->value, name)
                   : strcmp(row->value, name) == 0)
        EG_TRY(push_for(constraints, whole, row, value, out));
    }
  if (out->len != before) return EGRAPH_OK;
  eg_value other;
  if (eg_graph_find_value(whole, row->value, &other)) // the limits say that it is none
    return eg_plan_constraint_rows_push(out, *row);
  if (has_star)
    return eg_plan_constraint_fail(row, "no output of the step has a name like '%.200s'",
                                   row->value);
  eg_spelling spelling = eg_spelling_start(row->value);
  for (uint32_t o = 0; o < eg_graph_output_count(whole); o++) {
    const char *name;
    (void)eg_graph_output(whole, o, &name);
    eg_spelling_offer(&spelling, name);
  }
  return spelling.best == NULL
             ? eg_plan_constraint_fail(row, "there is no output '%.200s' in the step",
                                       row->value)
             : eg_plan_constraint_fail(
                   row, "there is no output '%.200s' in the step; did you mean '%.200s'?",
                   row->value, spelling.best);
}

static egraph_status match_row(eg_plan_constraints *constraints, const eg_graph *whole,
                               const eg_plan_constraint *row,
                               eg_plan_constraint_rows *out) {
  eg_value value;
  size_t before = out->len;
  if (row->value != NULL && row->verb == EG_VERB_DELIVER)
    return match_output(constraints, whole, row, out);
  if (row->value == NULL || eg_graph_find_value(whole, row->value, &value))
    return eg_plan_constraint_rows_push(out, *row);
  bool has_star = strchr(row->value, '*') != NULL;
  for (uint32_t v = 0; has_star && v < eg_graph_value_count(whole); v++) {
    if (eg_wildcard_matches(row->value, eg_graph_value(whole, (eg_value){v})->name))
      EG_TRY(push_for(constraints, whole, row, (eg_value){v}, out));
  }
  return out->len == before ? fail_unknown_value(row, whole) : EGRAPH_OK;
}

/// Puts rows in the place of those that there are, or gives them back.
static egraph_status replace_rows(eg_plan_constraints *constraints,
                                  eg_plan_constraint_rows *rows, egraph_status status) {
  eg_plan_constraint_rows dropped = status == EGRAPH_OK ? constraints->rows : *rows;
  if (status == EGRAPH_OK) constraints->rows = *rows;
  eg_plan_constraint_rows_deinit(&dropped);
  return status;
}

/// Puts a statement for every match in the place of one whose name has a '*', which
/// stands for any characters; a value of just that name comes first. Fails with
/// EGRAPH_E_ARGUMENT ("file:line:col: ...") for a name that no value of the whole step
/// has, saying which is closest; EGRAPH_E_MEMORY.
static egraph_status match_names(eg_plan_constraints *constraints,
                                 const eg_graph *whole) {
  eg_plan_constraint_rows rows;
  egraph_status status = EGRAPH_OK;
  eg_plan_constraint_rows_init(&rows, constraints->rows.alloc);
  for (size_t i = 0; status == EGRAPH_OK && i < constraints->rows.len; i++)
    status = match_row(constraints, whole, &constraints->rows.data[i], &rows);
  return replace_rows(constraints, &rows, status);
}

typedef struct resolver {
  const eg_plan_constraints *constraints;
  const eg_unfold_steps *steps;
  eg_unfold_match match; // of folding; before that its blocks alone
} resolver;

/// The value of the whole step that a statement names, or NONE: those of a kind.
static uint32_t named(const resolver *r, size_t i) {
  const eg_plan_constraint *row = &r->constraints->rows.data[i];
  eg_value value;
  bool is_there = row->value != NULL &&
                  eg_graph_find_value(eg_unfold_whole(r->steps), row->value, &value);
  return is_there ? value.id : NONE;
}

/// The block in the middle of which a statement names a value, or NONE.
static uint32_t middle_named(const resolver *r, size_t i) {
  uint32_t value = named(r, i);
  uint32_t block = value == NONE ? NONE : r->match.blocks.value.data[value];
  const eg_fold_ends ends = r->steps->ends;
  bool is_inside =
      block != NONE && block >= ends.lead && block < r->steps->blocks->count - ends.trail;
  return is_inside ? block : NONE;
}

/// Whether statement j demands of a block what statement i does of the one before.
static bool same_demand(const resolver *r, size_t i, size_t j) {
  const eg_plan_constraint *a = &r->constraints->rows.data[i],
                           *b = &r->constraints->rows.data[j];
  bool same_axis = a->axis == b->axis ||
                   (a->axis != NULL && b->axis != NULL && strcmp(a->axis, b->axis) == 0);
  return r->match.blocks.later.data[named(r, i)] == named(r, j) && a->verb == b->verb &&
         same_axis && a->digits == b->digits && a->moves == b->moves &&
         a->phase == b->phase;
}

/// The first statement from `at` on that names a value of a block.
static size_t next_of(const resolver *r, uint32_t block, size_t at) {
  while (at < r->constraints->rows.len && middle_named(r, at) != block)
    at++;
  return at;
}

/// Whether a block is wanted like the next one.
static bool blocks_agree(const resolver *r, uint32_t block) {
  size_t end = r->constraints->rows.len, i = next_of(r, block, 0),
         j = next_of(r, block + 1, 0);
  while (i < end && j < end && same_demand(r, i, j)) {
    i = next_of(r, block, i + 1);
    j = next_of(r, block + 1, j + 1);
  }
  return i == end && j == end;
}

/// Middle blocks [first, end) that agree, as many as possible one after the other.
static eg_blocks longest_run(const resolver *r) {
  const eg_blocks *all = r->steps->blocks;
  const eg_fold_ends ends = r->steps->ends;
  eg_blocks best = {.count = 0};
  for (uint32_t first = ends.lead, end; first + ends.trail < all->count; first = end) {
    for (end = first + 1; end + ends.trail < all->count && blocks_agree(r, end - 1);)
      end++;
    uint32_t count = end - first + ends.lead + ends.trail;
    if (end - first < LEAST_MIDDLE || count <= best.count) continue;
    best =
        (eg_blocks){all->first + (first - ends.lead) * all->period, all->period, count};
  }
  return best;
}

/// The longest run of the steps' blocks of which those in the middle are wanted alike; a
/// count of 0: there is none, so that nothing can be folded. Looks at the whole step
/// alone. O(names * blocks). Fails with EGRAPH_E_MEMORY.
static egraph_status find_agreeing(const eg_plan_constraints *constraints,
                                   egraph_allocator alloc, const eg_unfold_steps *steps,
                                   eg_blocks *out) {
  resolver r = {.constraints = constraints, .steps = steps};
  EG_TRY(eg_step_blocks_init(&r.match.blocks, alloc, steps->forward, steps->blocks,
                             steps->whole));
  *out = longest_run(&r);
  eg_step_blocks_deinit(&r.match.blocks);
  return EGRAPH_OK;
}

static egraph_status fold_row(const resolver *r, size_t i, eg_arena *arena,
                              eg_plan_constraint_rows *out) {
  eg_plan_constraint row = r->constraints->rows.data[i];
  uint32_t value = named(r, i), block = middle_named(r, i);
  if (block != NONE && block != r->steps->ends.lead)
    return EGRAPH_OK; // as of the first of them
  if (value != NONE) {
    eg_value small = {r->match.value.data[value]};
    const char *name =
        small.id == NONE ? NULL : eg_graph_value(eg_unfold_small(r->steps), small)->name;
    if (name == NULL)
      return eg_plan_constraint_fail(
          &row, "'%.200s' has no like in the folded step; plan each block (no_fold)",
          row.value);
    EG_TRY(eg_arena_string(arena, name, strlen(name), &row.value));
  }
  return eg_plan_constraint_rows_push(out, row);
}

/// Names of the whole step become names of the small one, of blocks on which they agree.
/// Fails with EGRAPH_E_MEMORY, EGRAPH_E_ARGUMENT for a value that the small step has not.
static egraph_status fold_names(eg_plan_constraints *constraints, egraph_allocator alloc,
                                const eg_unfold_steps *steps) {
  resolver r = {.constraints = constraints, .steps = steps};
  eg_plan_constraint_rows rows;
  EG_TRY(eg_unfold_match_init(&r.match, alloc, steps));
  eg_plan_constraint_rows_init(&rows, constraints->rows.alloc);
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; status == EGRAPH_OK && i < constraints->rows.len; i++)
    status = fold_row(&r, i, &constraints->arena, &rows);
  eg_unfold_match_deinit(&r.match);
  return replace_rows(constraints, &rows, status);
}

// ---- steps ----------------------------------------------------------------------------

enum { MOST_GROUP = 4 };
static const double LEAST_SECONDS = 0.01, PROVEN_GAP = 1e-9;
// Shares of all work, and of the time that is left: for the search of the folded step,
// for what it tells of the whole one, for each search in groups, and for the search of
// the whole step after these; of the time for mixing, which takes little work.
static const double FOLDED_SHARE = 0.5, CUT_SHARE = 0.3, GROUP_SHARE = 0.05,
                    WHOLE_SHARE = 0.3, MIX_SHARE = 0.5;
// Places and transitions of the whole step: up to which a search of it with rules may
// take long; up to which it is searched; and where there are no rules for improvements
// alone.
static const double TINY_STEP = 10e3, SMALL_STEP = 60e3, LARGE_STEP = 600e3;
// Steps of each search of a whole step that goes on from a plan, of a large one, or where
// the gap is small.
static const uint64_t WHOLE_WORK = UINT64_C(1000000000);
// A search of the whole step may use all the work that is left, not only WHOLE_WORK, if
// the folded step leaves a gap above this one; if a proof is asked for, at any gap.
static const double WIDE_GAP = 0.005;

/// A step as it is planned.
typedef struct planned_step {
  const eg_graph *graph;
  eg_training training; // of which the graph is, if it trains
  eg_training_info info;
  eg_plan_constraints constraints;
  bool is_made;
} planned_step;

/// The same with its blocks folded in groups of so many.
typedef struct fold {
  eg_blocks blocks; // of the forward graph; count 0: it is not foldable so
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
  return (eg_unfold_steps){.forward = step->in.forward,
                           .blocks = &f->blocks,
                           .ends = step->ends,
                           .folded = &f->folded,
                           .whole = training_of(step, &step->whole),
                           .small = training_of(step, &f->small)};
}

/// `folded`: what the forward graph was made of, or NULL.
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

static egraph_status make_fold(eg_whole_step *step, fold *f) {
  const eg_plan_constraints *constraints = &step->whole.constraints;
  EG_TRY(eg_blocks_fold(step->in.forward, &f->blocks, step->ends, &f->folded));
  egraph_status status = make_step(step, f->folded.graph, &f->folded, &f->small);
  if (status != EGRAPH_OK) {
    eg_folded_deinit(&f->folded);
    return status;
  }
  if (step->in.constraints == NULL) return EGRAPH_OK;
  EG_TRY(eg_plan_constraints_copy(&f->small.constraints, constraints));
  if (!name_any(constraints)) return EGRAPH_OK;
  const eg_unfold_steps steps = unfold_steps(step, f);
  return fold_names(&f->small.constraints, step->alloc, &steps);
}

/// Whether a weight that an operand reads is trained; false of all else.
static bool trains_operand(const eg_whole_step *step, uint32_t node, uint32_t operand) {
  uint32_t found;
  const eg_graph *graph = step->in.forward;
  eg_value value = eg_graph_node_at(graph, (eg_graph_node){node}).inputs[operand];
  const eg_strmap *chosen = step->in.training->parameters.chosen;
  return eg_graph_value(graph, value)->kind == EG_VALUE_WEIGHT &&
         eg_strmap_find(chosen, eg_graph_value(graph, value)->name, &found);
}

/// Blocks of which a user freezes different weights are not equal.
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

static egraph_status find_blocks(eg_whole_step *step) {
  EG_TRY(eg_blocks_find(step->in.forward, &step->blocks));
  if (!eg_blocks_can_fold(&step->blocks, step->ends) || !train_alike(step, &step->blocks))
    step->blocks.count = 0;
  bool names = name_any(&step->whole.constraints);
  const eg_unfold_steps steps = {.forward = step->in.forward,
                                 .blocks = &step->blocks,
                                 .ends = step->ends,
                                 .whole = training_of(step, &step->whole)};
  if (step->blocks.count != 0 && names)
    EG_TRY(find_agreeing(&step->whole.constraints, step->alloc, &steps, &step->blocks));
  for (uint32_t size = 1; size <= MOST_GROUP && step->blocks.count != 0; size++) {
    fold *f = &step->folds[size - 1];
    f->blocks = eg_blocks_group(&step->blocks, size);
    if (!eg_blocks_can_fold(&f->blocks, step->ends) || (names && size > 1))
      f->blocks.count = 0;
  }
  if (step->blocks.count == 0) return EGRAPH_OK;
  EG_TRY(eg_training_info_mark(&step->whole.info, step->alloc, step->in.forward,
                               &step->blocks, training_of(step, &step->whole)));
  return make_fold(step, &step->folds[0]);
}

static egraph_status prepare_step(eg_whole_step *step) {
  EG_TRY(make_step(step, step->in.forward, NULL, &step->whole));
  if (step->in.constraints != NULL) {
    EG_TRY(eg_plan_constraints_copy(&step->whole.constraints, step->in.constraints));
    EG_TRY(match_names(&step->whole.constraints, step->whole.graph));
  }
  return step->in.folds ? find_blocks(step) : EGRAPH_OK;
}

egraph_status eg_whole_step_create(egraph_allocator alloc, const eg_whole_input *input,
                                   bool has_rules, eg_whole_step **out) {
  eg_whole_step *step;
  EG_TRY(eg_alloc(alloc, 1, sizeof *step, &step));
  // Blocks beside the one that stands for others must have what it has: before it one
  // that is not the first, after it one that is not the last, where rules look at them.
  *step = (eg_whole_step){.alloc = alloc, .in = *input, .ends = {2, has_rules ? 2 : 1}};
  egraph_status status = prepare_step(step);
  if (status == EGRAPH_OK)
    *out = step;
  else
    eg_whole_step_destroy(step);
  return status;
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

typedef struct searcher {
  eg_whole_step *step;
  const eg_planner_input *planner;
  eg_planning *out;
  double deadline;
  bool has_any;      // out is filled
  double whole_size; // places and transitions of the whole step, about
  bool is_mixed;     // of blocks of several kinds, which groups would be as well
  bool binds;        // the limit of memory: of the folded step, none keeps to it unasked
} searcher;

static double seconds_left(const searcher *s) {
  return fmax(s->deadline - eg_clock_seconds(), LEAST_SECONDS);
}

static eg_planner_input input_for(const searcher *s, const planned_step *planned,
                                  double share) {
  eg_planner_input input = *s->planner;
  input.graph = planned->graph;
  input.info = &planned->info.info;
  input.constraints = s->step->in.constraints != NULL ? &planned->constraints : NULL;
  input.layout.time_limit_seconds = share * seconds_left(s);
  input.layout.work_limit = eg_work_share(s->planner->layout.work_limit, share);
  return input;
}

/// Puts the plan of all blocks in the place of the plan of few.
static egraph_status unfold_plan(const searcher *s, const fold *f,
                                 eg_emitted_plan *inout) {
  const eg_unfold_steps steps = unfold_steps(s->step, f);
  eg_machine_costs costs = {.mesh = s->planner->mesh, .weights = s->planner->weights};
  eg_emitted_plan whole;
  EG_TRY(eg_device_cost_init(&costs.device, s->planner->machine, s->planner->costs));
  costs.device.plain_only = s->planner->plain_only;
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  EG_TRY(eg_plan_unfold(s->step->alloc, &steps, inout, &asked, &whole));
  eg_emitted_plan_deinit(inout);
  *inout = whole;
  return EGRAPH_OK;
}

/// A plan that takes more unfolded than its device has is none.
static egraph_status unfold(const searcher *s, const fold *f, eg_planning *planning) {
  eg_plan_summary summary;
  for (int m = 0; m < EG_MATES && planning->has_mates; m++)
    EG_TRY(unfold_plan(s, f, &planning->mates[m]));
  if (!planning->has_plan) return EGRAPH_OK;
  EG_TRY(unfold_plan(s, f, &planning->emitted));
  EG_TRY(eg_plan_summary_make(&planning->emitted.plan, s->step->alloc, &summary));
  // What rules have made is read anew in each block, and may cost more there.
  if (planning->is_exact && s->planner->rules == NULL)
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

/// Outcomes of the whole step's baselines stand before those of the folded one's.
static void join_outcomes(eg_planning *out, const eg_planning *next, bool is_whole) {
  for (int b = 0; b < EG_BASELINE_OUTCOMES; b++)
    if (next->baseline[b].is_tried && (is_whole || !out->baseline[b].is_tried))
      out->baseline[b] = next->baseline[b];
  if (out->single_seconds == 0) out->single_seconds = next->single_seconds;
}

/// What the next search says about all plans together with what is known. Where rules
/// make variants, those of the whole step count as soon as they are looked at, as far as
/// they were reached together with those of the folded one.
static double join_bounds(const searcher *s, const eg_planning *next, bool is_whole) {
  double known = s->out->bound, higher = fmax(known, next->bound);
  if (s->planner->rules == NULL) return higher;
  bool is_all = next->stop == EG_STOP_SATURATED;
  if (is_whole) return is_all ? next->bound : fmin(known, next->bound);
  // Groups have variants of their own: one that is cheaper shows that the bound is none
  // of them.
  return next->has_plan && next->cost < higher ? 0 : higher;
}

static void add_times(eg_planning *out, const eg_planning *other) {
  out->saturate_seconds += other->saturate_seconds;
  out->space_seconds += other->space_seconds;
  out->solve_seconds += other->solve_seconds;
}

/// Joins what a further search has found to what there is: the cheaper plan, the higher
/// bound, the proof that there is none.
static egraph_status join_found(searcher *s, eg_planning *next, bool is_whole) {
  eg_planning *out = s->out;
  if (!s->has_any) {
    *out = *next;
    s->has_any = true;
  } else {
    eg_planning other = *next;
    const eg_planning told = is_whole ? *next : *out; // the e-graph that is reported
    uint32_t untried = next->untried;
    bool is_of_reached = out->is_of_reached; // groups change nothing of it
    double bound = join_bounds(s, next, is_whole);
    bool is_as_given = out->is_as_given && next->is_as_given;
    bool is_cheaper = next->has_plan && (!out->has_plan || next->cost < out->cost);
    if (is_cheaper || (is_whole && !out->has_plan)) {
      other = *out;
      *out = *next;
    }
    join_outcomes(out, &other, is_whole != (is_cheaper || (is_whole && !out->has_plan)));
    out->bound = bound;
    out->is_as_given = is_as_given;
    out->is_of_reached = is_of_reached;
    out->stop = told.stop;
    out->nodes = told.nodes;
    out->classes = told.classes;
    out->iterations = told.iterations;
    if (is_whole) out->untried = untried;
    add_times(out, &other);
    eg_planning_deinit(&other);
  }
  eg_planning_judge(out);
  return eg_proof_check_bound("plan", out->bound, out->has_plan ? out->cost : INFINITY);
}

/// Equal blocks of two kinds, where a limit of memory lies between them.
static egraph_status mix(searcher *s, const eg_planning *folded) {
  eg_whole_step *step = s->step;
  eg_planner_input input = input_for(s, &step->whole, MIX_SHARE);
  const eg_plan *kind[] = {&folded->mates[EG_MATE_SMALL].plan,
                           &folded->mates[EG_MATE_CHEAP].plan, &folded->emitted.plan};
  eg_planning next;
  EG_TRY(eg_planner_mix(step->alloc, &input, kind, folded->has_plan ? 3 : 2, &next));
  if (next.has_plan) return join_found(s, &next, false);
  eg_planning_deinit(&next);
  return EGRAPH_OK;
}

static egraph_status search_folded(searcher *s, fold *f, double share, bool compares) {
  const eg_whole_step *step = s->step;
  eg_planner_input input = input_for(s, &f->small, share);
  eg_planning next;
  input.compares = compares && s->planner->compares;
  input.known = input.loose = NULL; // of the whole step
  input.is_alone = f != &step->folds[0];
  if (!input.is_alone) {
    input.cut_seconds = CUT_SHARE * seconds_left(s);
    input.cut_work = eg_work_share(s->planner->layout.work_limit, CUT_SHARE);
  }
  input.binds = s->binds;
  EG_TRY(eg_planner_run(step->alloc, &input, &next));
  s->binds = s->binds || next.exceeds;
  egraph_status status = unfold(s, f, &next);
  // Of a restricted search a plan and its cost stay, and nothing about others.
  next.bound = next.cut_bound;
  next.least_memory = 0;
  if (!next.has_plan) next.status = EG_LAYOUT_UNKNOWN;
  if (!input.is_alone) { // how large the whole step's problem will be
    double whole = eg_graph_node_count(step->whole.graph);
    double small = fmax(eg_graph_node_count(f->small.graph), 1);
    s->whole_size = ((double)next.places + next.arcs) * whole / small;
  }
  s->is_mixed = s->is_mixed || next.has_mates;
  if (status == EGRAPH_OK && next.has_mates) status = mix(s, &next);
  if (status == EGRAPH_OK) return join_found(s, &next, false);
  eg_planning_deinit(&next);
  return status;
}

static bool is_wide(const searcher *s) {
  const eg_layout_options *layout = &s->planner->layout;
  double asked =
      layout->late_work != 0 ? WIDE_GAP : fmax(layout->relative_gap, PROVEN_GAP);
  return s->has_any && s->out->has_plan && s->out->gap > asked;
}

static egraph_status search_whole(searcher *s, double share, bool compares) {
  const eg_whole_step *step = s->step;
  eg_planner_input input = input_for(s, &step->whole, share);
  eg_planning next;
  // After other searches all the time that is left.
  input.layout.time_limit_seconds = seconds_left(s);
  bool goes_on = s->has_any && s->out->has_plan;
  if (goes_on && !(input.known != NULL && input.known_cost < s->out->cost)) {
    input.known = &s->out->emitted.plan;
    input.known_cost = s->out->cost;
  }
  double long_up_to = s->planner->rules != NULL ? TINY_STEP : SMALL_STEP;
  bool is_close = goes_on && s->planner->layout.late_work != 0 &&
                  s->out->gap <= s->planner->layout.late_gap;
  bool is_minor = goes_on && !is_wide(s) && (s->whole_size > long_up_to || is_close);
  if (is_minor && (input.layout.work_limit == 0 || input.layout.work_limit > WHOLE_WORK))
    input.layout.work_limit = WHOLE_WORK;
  input.compares = compares && s->planner->compares;
  input.binds = s->binds;
  EG_TRY(eg_planner_run(step->alloc, &input, &next));
  // With rules it has looked at other variants than those of the folded one, whose bound
  // holds for the latter alone: it must be worth that.
  const eg_planning *out = s->out;
  bool tells_more = s->planner->rules == NULL || !s->has_any || !out->has_plan ||
                    (next.has_plan && next.cost < out->cost) || next.bound > out->bound;
  if (!tells_more) {
    join_outcomes(s->out, &next, true);
    add_times(s->out, &next);
    eg_planning_deinit(&next);
    return EGRAPH_OK;
  }
  if (s->has_any) s->out->is_of_reached = false;
  return join_found(s, &next, true);
}

static bool has_open_gap(const searcher *s) {
  double gap = fmax(s->planner->layout.relative_gap, PROVEN_GAP);
  return !s->out->is_cancelled && (!s->out->has_plan || s->out->gap > gap);
}

static egraph_status search_groups(searcher *s) {
  for (uint32_t size = 2; size <= MOST_GROUP && has_open_gap(s); size++) {
    fold *f = &s->step->folds[size - 1];
    if (f->blocks.count == 0 || s->deadline - eg_clock_seconds() < LEAST_SECONDS)
      continue;
    if (!f->small.is_made) EG_TRY(make_fold(s->step, f));
    EG_TRY(search_folded(s, f, GROUP_SHARE, false));
  }
  return EGRAPH_OK;
}

/// One search, by another algorithm.
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
  if (s->planner->searcher != NULL) return search_by(s);
  if (!first->small.is_made) return search_whole(s, 1, true);
  // Where both are planned, baselines are those of the whole step.
  EG_TRY(search_folded(s, first, FOLDED_SHARE, true));
  bool has_rules = s->planner->rules != NULL, is_small = s->whole_size <= SMALL_STEP;
  // The bound is of variants that the folded step has; the whole one may have others.
  s->out->is_of_reached = has_rules;
  double most = s->planner->answer_limit;
  bool is_useless = most > 0 && s->out->has_plan && s->out->memory > most;
  if (s->out->is_cancelled || s->out->is_beaten || is_useless) return EGRAPH_OK;
  bool is_proven = !has_open_gap(s), has_bound = s->out->has_plan && s->out->bound > 0;
  bool is_told = has_rules && has_bound && !is_small && !is_wide(s);
  bool is_done = is_proven && !s->planner->compares && !has_rules;
  if (is_told || is_done) return EGRAPH_OK;
  if (!is_small && !s->is_mixed) EG_TRY(search_groups(s));
  if (s->whole_size > LARGE_STEP || s->deadline <= eg_clock_seconds()) return EGRAPH_OK;
  return search_whole(s, WHOLE_SHARE, is_small);
}

egraph_status eg_whole_step_plan(eg_whole_step *step, const eg_planner_input *planner,
                                 eg_planning *out) {
  searcher s = {.step = step,
                .planner = planner,
                .out = out,
                .binds = planner->binds,
                .deadline = eg_clock_seconds() + planner->layout.time_limit_seconds};
  egraph_status status = search_step(&s);
  if (status != EGRAPH_OK && s.has_any) eg_planning_deinit(out);
  return status;
}

egraph_status eg_whole_step_certify(eg_whole_step *step, const eg_planner_input *planner,
                                    const eg_plan_claim *claim,
                                    eg_plan_certificate *out) {
  const searcher s = {.step = step, .planner = planner};
  const eg_planner_input input =
      input_for(&s, &step->whole, planner->layout.time_limit_seconds);
  return eg_planner_certify(step->alloc, &input, claim, out);
}
