// Marks the values of the layout problem that account for the bytes held at a plan step.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_peak.h"

#include <assert.h>

#include "optimize/model/plan_emit.h"
#include "pcg/plan/plan_cost.h"

// Flags of the reasons why a device holds a problem value at a step.
enum { MADE = 1, MOVED = 2, KEPT = 4, LEAVES = 8 };

typedef struct peak_view {
  const eg_plan_model *model;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  const eg_emitted_plan *emitted;
  uint32_t step;
  eg_plan_solution chosen;
  eg_bytes holds;   // [problem values] flags of the above
  eg_bytes is_read; // [inputs of the operator at the step] of this phase alone
  uint32_t reader;  // problem value that the step makes, or EG_SPACE_NONE: a move
  eg_peak_row *row;
} peak_view;
EG_OWNER_DEFINE_STATIC(peak_view, (eg_bytes, holds, is_read))

// ---- what is there --------------------------------------------------------------------

static const eg_model_value *peak_value(const peak_view *p, uint32_t value) {
  return &p->model->values.data[value];
}

/// Returns the place (value in a layout) where a state was first produced: by a node, by
/// a move, or as an input, before phases stored it.
static uint32_t origin_in(const eg_plan_solution *chosen, uint32_t place) {
  while (chosen->move_into.data[place] == EG_SPACE_NONE) {
    uint32_t before =
        eg_plan_solution_kept_from(chosen, chosen->value_of_place.data[place]);
    if (before == EG_SPACE_NONE) break;
    place = before;
  }
  return place;
}

static uint32_t origin_of(const peak_view *p, uint32_t place) {
  return origin_in(&p->chosen, place);
}

static bool takes_memory(const peak_view *p, uint32_t strategy) {
  return p->problem->memory[0].data[strategy] > 0 ||
         p->problem->memory[1].data[strategy] > 0;
}

/// Marks the problem value that stores the state of a place for a later phase, or lets it
/// leave the step; false: there is none. If several values store the state, one is
/// marked, because the state exists once.
static bool mark_kept(peak_view *p, uint32_t place, eg_store store) {
  uint32_t v = peak_value(p, p->chosen.value_of_place.data[place])->value,
           found = EG_SPACE_NONE;
  bool leaves = store == EG_STORE_OUTPUT;
  bool in_update = p->emitted->plan.steps.data[p->step].phase == EG_PHASE_UPDATE;
  for (uint32_t i = p->chosen.value_begin.data[v]; i < p->chosen.value_begin.data[v + 1];
       i++) {
    uint32_t value = p->chosen.values.data[i];
    eg_model_role role = peak_value(p, value)->role;
    uint32_t before = eg_plan_solution_kept_from(&p->chosen, value);
    if (before == EG_SPACE_NONE || origin_of(p, before) != place) continue;
    if (leaves != (role == EG_MODEL_EXIT)) continue;
    if (!leaves && !takes_memory(p, eg_plan_solution_strategy(&p->chosen, value)))
      continue;
    // Marks the first value that stores the state; in UPDATE the last one.
    if (found == EG_SPACE_NONE || (role == EG_MODEL_KEPT) != in_update) found = value;
  }
  if (found == EG_SPACE_NONE) return false;
  p->holds.data[found] |= leaves ? LEAVES : KEPT;
  return true;
}

/// Marks an operand of the step by the layout in which it is read; false: the place is no
/// operand, or an input of the step, which is held anyway.
static bool mark_operand(peak_view *p, uint32_t place) {
  if (p->reader == EG_SPACE_NONE) return false;
  uint32_t strategy = eg_plan_solution_strategy(&p->chosen, p->reader);
  uint32_t begin = p->problem->need_begin.data[strategy];
  bool is_found = false;
  for (uint32_t n = begin; n < p->problem->need_begin.data[strategy + 1]; n++) {
    uint32_t need = p->problem->needs.data[n];
    uint32_t v = peak_value(p, p->chosen.value_of_place.data[need])->value;
    if (p->space->values.data[v].is_entry || origin_of(p, need) != place) continue;
    if (v == peak_value(p, p->reader)->value) continue; // what is made again
    p->is_read.data[n - begin] = 1;
    is_found = true;
  }
  return is_found;
}

static void mark_held(peak_view *p, const eg_life *life) {
  if (life->store == EG_STORE_CARRIED || life->store == EG_STORE_INPUT) return;
  if (life->store == EG_STORE_SCRATCH) return;
  uint32_t place = p->emitted->place_of.data[life->state];
  uint32_t value = p->chosen.value_of_place.data[place];
  bool may_be_kept = life->store != EG_STORE_TRANSIENT;
  if (may_be_kept && mark_kept(p, place, life->store)) return;
  if (mark_operand(p, place)) return;
  p->holds.data[value] |= p->chosen.move_into.data[place] != EG_SPACE_NONE ? MOVED : MADE;
}

static egraph_status mark_all(peak_view *p, egraph_allocator alloc, double *out_bytes) {
  EG_LOCAL(eg_lives, lives, alloc);
  *out_bytes = 0;
  EG_TRY(eg_plan_lives(&p->emitted->plan, alloc, &lives));
  for (size_t i = 0; i < lives.len; i++) {
    if (lives.data[i].from > p->step || lives.data[i].until < p->step) continue;
    *out_bytes += lives.data[i].bytes;
    mark_held(p, &lives.data[i]);
  }
  return EGRAPH_OK;
}

// ---- the row --------------------------------------------------------------------------

static double bytes_at(const peak_view *p, uint32_t place) {
  uint32_t value = p->chosen.value_of_place.data[place];
  uint32_t number = place - p->problem->place_begin.data[value];
  return eg_plan_space_bytes(p->space, peak_value(p, value)->value,
                             eg_plan_model_layout(p->model, value, number));
}

/// Returns the bytes of the operands that a strategy reads, each layout once. Operands of
/// another operator of the value would also be held at that time.
static double bytes_read(const peak_view *p, uint32_t op, uint32_t strategy) {
  uint32_t mine = eg_plan_solution_strategy(&p->chosen, p->reader);
  bool is_same = p->chosen.operator_of.data[mine] == op;
  uint32_t begin = p->problem->need_begin.data[strategy];
  uint32_t end = p->problem->need_begin.data[strategy + 1];
  double bytes = 0;
  for (uint32_t n = begin; n < end; n++) {
    uint32_t need = p->problem->needs.data[n], before = begin;
    uint32_t v = peak_value(p, p->chosen.value_of_place.data[need])->value;
    bool is_in =
        is_same ? p->is_read.data[n - begin] != 0 : !p->space->values.data[v].is_entry;
    if (v == peak_value(p, p->reader)->value) continue; // what is made again
    while (before < n && p->problem->needs.data[before] != need)
      before++;
    if (is_in && before == n) bytes += bytes_at(p, need);
  }
  return bytes;
}

static double bytes_of_strategy(const peak_view *p, uint32_t op, uint32_t strategy) {
  uint32_t value = p->problem->operator_value.data[op];
  uint32_t place = p->problem->output.data[strategy];
  uint8_t holds = p->holds.data[value];
  double times = p->problem->memory_times.data[value];
  if (peak_value(p, value)->role == EG_MODEL_ENTRY)
    return p->problem->memory[0].data[strategy];
  if (p->model->operators.data[op] == EG_SPACE_NONE) {
    bool is_there =
        (holds & LEAVES) != 0 || ((holds & KEPT) != 0 && takes_memory(p, strategy));
    return is_there ? bytes_at(p, place) : 0;
  }
  double bytes = (holds & MADE) != 0 ? bytes_at(p, place) : 0;
  if (value == p->reader)
    bytes +=
        bytes_read(p, op, strategy) + eg_plan_model_strategy_scratch(p->model, strategy);
  return bytes / times;
}

static egraph_status fill_peak(peak_view *p) {
  const eg_layout_problem *problem = p->problem;
  const eg_layout_solution *solution = p->chosen.solution;
  p->row->value = 0;
  p->row->strategy.len = p->row->arc.len = 0;
  for (uint32_t s = 0; s < eg_layout_strategy_count(problem); s++) {
    uint32_t op = p->chosen.operator_of.data[s], value = problem->operator_value.data[op];
    double bytes = bytes_of_strategy(p, op, s);
    EG_TRY(eg_doubles_push(&p->row->strategy, bytes));
    if (solution->strategy.data[value] == s)
      p->row->value += bytes * problem->memory_times.data[value];
  }
  for (uint32_t a = 0; a < eg_layout_arc_count(problem); a++) {
    uint32_t to = problem->arc_to.data[a], value = p->chosen.value_of_place.data[to];
    double times = problem->memory_times.data[value];
    double bytes = (p->holds.data[value] & MOVED) != 0 ? bytes_at(p, to) / times : 0;
    if (to == p->row->into)
      bytes += eg_plan_model_arc_scratch(p->model, value, a) / times;
    EG_TRY(eg_doubles_push(&p->row->arc, bytes));
    if (solution->arc_used.data[a]) p->row->value += bytes * times;
  }
  return EGRAPH_OK;
}

/// True when a step makes or moves a value of an earlier phase, which another plan may
/// keep.
static bool is_of_earlier(const peak_view *p, uint32_t value) {
  const eg_model_value *of = peak_value(p, value);
  const eg_space_value *space = &p->space->values.data[of->value];
  return of->role == EG_MODEL_COPY && !space->is_entry && space->phase < of->phase;
}

/// Names the step or, as a plan may lack it, the next step that makes a value of its own
/// phase.
static void name_step(peak_view *p) {
  const eg_plan_steps *steps = &p->emitted->plan.steps;
  uint32_t step = p->step;
  do {
    p->row->made = p->row->into = EG_SPACE_NONE;
    if (step >= steps->len) return;
    if (steps->data[step].is_move)
      p->row->into = p->emitted->place_of.data[steps->data[step].to];
    p->row->made = steps->data[step].is_move ? p->chosen.value_of_place.data[p->row->into]
                                             : p->emitted->value_at.data[step];
    step++;
  } while (p->row->made != EG_SPACE_NONE && is_of_earlier(p, p->row->made));
}

static egraph_status make_peak_row(peak_view *p, egraph_allocator alloc) {
  double bytes;
  EG_TRY(eg_bytes_resize(&p->holds, p->model->values.len));
  if (p->reader != EG_SPACE_NONE) {
    uint32_t strategy = eg_plan_solution_strategy(&p->chosen, p->reader);
    const uint32_t *begin = p->problem->need_begin.data + strategy;
    EG_TRY(eg_bytes_resize(&p->is_read, begin[1] - begin[0]));
  }
  EG_TRY(mark_all(p, alloc, &bytes));
  name_step(p);
  EG_TRY(fill_peak(p));
  p->row->constant = bytes - p->row->value;
  return EGRAPH_OK;
}

egraph_status eg_peak_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, const eg_layout_solution *solution,
                               const eg_emitted_plan *emitted, uint32_t step) {
  bool is_node =
      step < emitted->plan.steps.len && !emitted->plan.steps.data[step].is_move;
  EG_LOCAL_WITH(peak_view, p, alloc, .model = model, .space = model->space,
                .problem = &model->problem, .emitted = emitted, .step = step,
                .reader = is_node ? emitted->value_at.data[step] : EG_SPACE_NONE,
                .row = row);
  EG_TRY(eg_plan_solution_init(&p.chosen, alloc, model, solution));
  egraph_status status = make_peak_row(&p, alloc);
  eg_plan_solution_deinit(&p.chosen);
  return status;
}

bool eg_peak_row_set(const eg_peak_row *row, eg_layout_problem *problem, uint32_t number,
                     double limit) {
  assert(number < EG_LAYOUT_MEMORY_ROWS);
  if (!(limit > row->constant)) return false;
  for (uint32_t s = 0; s < row->strategy.len; s++)
    problem->memory[number].data[s] = row->strategy.data[s];
  for (uint32_t a = 0; a < row->arc.len; a++)
    problem->arc_memory[number].data[a] = row->arc.data[a];
  problem->memory_limit[number] = limit - row->constant;
  return true;
}

// ---- what is kept ---------------------------------------------------------------------

/// Adds the bytes that a value stores for later phases. `counted`: for each place the
/// mask of memory rows that already count it.
static void add_kept(const eg_plan_solution *chosen, uint32_t value, uint8_t *counted,
                     double *out) {
  const eg_layout_problem *problem = chosen->problem;
  uint32_t strategy = eg_plan_solution_strategy(chosen, value);
  uint32_t before = eg_plan_solution_kept_from(chosen, value);
  uint32_t origin = before == EG_SPACE_NONE ? EG_SPACE_NONE : origin_in(chosen, before);
  const eg_model_value *from =
      origin == EG_SPACE_NONE
          ? NULL
          : &chosen->model->values.data[chosen->value_of_place.data[origin]];
  if (from != NULL && from->role == EG_MODEL_ENTRY) return;
  for (uint32_t r = 0; r < problem->memory_rows; r++) {
    double bytes = problem->memory[r].data[strategy];
    if (bytes == 0 || (origin != EG_SPACE_NONE && (counted[origin] >> r & 1) != 0))
      continue;
    if (origin != EG_SPACE_NONE) counted[origin] |= (uint8_t)(1u << r);
    out[r] += bytes * problem->memory_times.data[value];
  }
}

egraph_status eg_plan_sum_kept(const eg_plan_model *model, egraph_allocator alloc,
                               const eg_layout_solution *solution,
                               double out[EG_LAYOUT_MEMORY_ROWS]) {
  EG_OWNED(eg_plan_solution, chosen);
  EG_LOCAL(eg_bytes, counted, alloc);
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    out[r] = 0;
  EG_TRY(eg_plan_solution_init(&chosen, alloc, model, solution));
  EG_TRY(eg_bytes_resize(&counted, eg_layout_place_count(&model->problem)));
  for (uint32_t v = 0; v < model->values.len; v++) {
    // Views that are kept one by one, though one could be made again, share one storage.
    uint32_t mine = model->values.data[v].value;
    bool shares = model->space->info->makes_again && model->views.data[mine] != mine;
    if (solution->strategy.data[v] != EG_LAYOUT_NONE && !shares)
      add_kept(&chosen, v, counted.data, out);
  }
  return EGRAPH_OK;
}
