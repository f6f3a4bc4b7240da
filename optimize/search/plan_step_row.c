// Fills the memory row of a plan step that makes or moves a value: the bytes that every
// plan holds then, found from the values that every plan makes.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_step_row.h"

#include <assert.h>
#include <math.h>

#include "base/groups.h"

// ---- values that every plan makes -------------------------------------------------

static bool has_strategy(const eg_layout_problem *p, uint32_t op) {
  for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
    if (!p->forbidden.data[s]) return true;
  return false;
}

static bool reads(const eg_layout_problem *p, uint32_t op, uint32_t value) {
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (p->inputs.data[i] == value) return true;
  return false;
}

/// True when every operator that may make `value` reads the value `other`.
static bool always_reads(const eg_plan_needs *needs, uint32_t value, uint32_t other) {
  const eg_layout_problem *p = &needs->model->problem;
  for (uint32_t i = needs->operator_begin.data[value];
       i < needs->operator_begin.data[value + 1]; i++) {
    uint32_t op = needs->operators.data[i];
    if (has_strategy(p, op) && !reads(p, op, other)) return false;
  }
  return true;
}

static egraph_status add_need(eg_plan_needs *needs, eg_bytes *inout, uint32_t value) {
  if (inout->data[value] != 0) return EGRAPH_OK;
  inout->data[value] = 1;
  return eg_u32s_push(&needs->queue, value);
}

/// Adds to a set the operands that a value always needs: operands of one of its operators
/// that all its operators read.
static egraph_status add_operands(eg_plan_needs *needs, uint32_t value, eg_bytes *inout) {
  const eg_layout_problem *p = &needs->model->problem;
  uint32_t at = needs->operator_begin.data[value];
  uint32_t end = needs->operator_begin.data[value + 1];
  while (at < end && !has_strategy(p, needs->operators.data[at]))
    at++;
  if (at == end) return EGRAPH_OK;
  uint32_t op = needs->operators.data[at];
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (always_reads(needs, value, p->inputs.data[i]))
      EG_TRY(add_need(needs, inout, p->inputs.data[i]));
  return EGRAPH_OK;
}

static egraph_status close(eg_plan_needs *needs, eg_bytes *inout) {
  while (needs->queue.len != 0)
    EG_TRY(add_operands(needs, eg_u32s_pop(&needs->queue), inout));
  return EGRAPH_OK;
}

static egraph_status index_arcs(eg_plan_needs *needs) {
  const eg_layout_problem *p = &needs->model->problem;
  EG_LOCAL(eg_u32s, value, needs->arcs.alloc);
  for (uint32_t a = 0; a < eg_layout_arc_count(p); a++)
    EG_TRY(eg_u32s_push(&value, needs->place_value.data[p->arc_to.data[a]]));
  return eg_group_items(&value, eg_layout_value_count(p), &needs->arc_begin,
                        &needs->arcs);
}

/// True when input i of an operator is not the same value as an earlier input.
static bool is_first_input(const eg_layout_problem *p, uint32_t op, uint32_t i) {
  for (uint32_t j = p->input_begin.data[op]; j < i; j++)
    if (p->inputs.data[j] == p->inputs.data[i]) return false;
  return true;
}

static egraph_status index_readers(eg_plan_needs *needs) {
  const eg_layout_problem *p = &needs->model->problem;
  EG_LOCAL(eg_u32s, value, needs->readers.alloc);
  EG_LOCAL(eg_u32s, reader, needs->readers.alloc);
  for (uint32_t o = 0; o < eg_layout_operator_count(p); o++)
    for (uint32_t i = p->input_begin.data[o]; i < p->input_begin.data[o + 1]; i++) {
      if (!is_first_input(p, o, i)) continue;
      EG_TRY(eg_u32s_push(&value, p->inputs.data[i]));
      EG_TRY(eg_u32s_push(&reader, o));
    }
  EG_TRY(eg_group_items(&value, eg_layout_value_count(p), &needs->reader_begin,
                        &needs->readers));
  for (size_t r = 0; r < needs->readers.len; r++)
    needs->readers.data[r] = reader.data[needs->readers.data[r]];
  return EGRAPH_OK;
}

static egraph_status index_exits(eg_plan_needs *needs) {
  const eg_plan_model *model = needs->model;
  needs->exits.len = 0;
  EG_TRY(eg_bytes_resize(&needs->exits, model->space->values.len));
  for (size_t v = 0; v < model->values.len; v++)
    if (model->values.data[v].role == EG_MODEL_EXIT)
      needs->exits.data[model->values.data[v].value] = 1;
  return EGRAPH_OK;
}

static egraph_status index_problem(eg_plan_needs *needs) {
  const eg_layout_problem *p = &needs->model->problem;
  uint32_t values = eg_layout_value_count(p);
  needs->everywhere.len = needs->before.len = 0;
  needs->operator_begin.len = needs->operators.len = 0;
  needs->reader_begin.len = needs->readers.len = 0;
  needs->arc_begin.len = needs->arcs.len = 0;
  EG_TRY(eg_bytes_resize(&needs->everywhere, values));
  EG_TRY(eg_bytes_resize(&needs->before, values));
  EG_TRY(eg_group_items(&p->operator_value, values, &needs->operator_begin,
                        &needs->operators));
  needs->queue.len = needs->place_value.len = 0;
  for (uint32_t v = 0; v < values; v++)
    for (uint32_t l = 0; l < eg_layout_layout_count(p, v); l++)
      EG_TRY(eg_u32s_push(&needs->place_value, v));
  EG_TRY(index_readers(needs));
  EG_TRY(index_exits(needs));
  return index_arcs(needs);
}

// ---- order ----------------------------------------------------------------------------

/// True when the step of a value's node is in the value's phase: it is not an input and
/// not stored from an earlier phase.
static bool needs_own_step(const eg_plan_needs *needs, uint32_t value) {
  const eg_model_value *of = &needs->model->values.data[value];
  const eg_space_value *space = &needs->model->space->values.data[of->value];
  return of->role == EG_MODEL_COPY && !space->is_entry && space->phase == of->phase;
}

/// True for a copy in a later phase than the value's own: kept, or made when it is
/// needed.
static bool may_be_made_again(const eg_plan_needs *needs, uint32_t value) {
  const eg_model_value *of = &needs->model->values.data[value];
  const eg_space_value *space = &needs->model->space->values.data[of->value];
  return of->role == EG_MODEL_COPY && !space->is_entry && space->phase != of->phase;
}

/// True when one value is made before another of its phase in every plan that has both,
/// only because plans write values by their numbers.
static bool is_earlier(const eg_plan_needs *needs, uint32_t value, uint32_t other) {
  const eg_model_value *a = &needs->model->values.data[value],
                       *b = &needs->model->values.data[other];
  return needs_own_step(needs, value) && needs_own_step(needs, other) &&
         a->phase == b->phase && a->value < needs->first.data[other];
}

/// Fills `first`: a number below which all values of the phase are written before the
/// value. A value is written in the order of numbers, or before a value that needs it; a
/// sum as soon as its operands exist, which is no reason to write these earlier.
static egraph_status find_first(eg_plan_needs *needs) {
  const eg_plan_model *model = needs->model;
  const eg_layout_problem *p = &model->problem;
  EG_TRY(eg_u32s_resize(&needs->first, model->values.len));
  for (size_t v = 0; v < model->values.len; v++)
    needs->first.data[v] = model->values.data[v].value;
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t o = eg_layout_operator_count(p); o-- > 0;) {
      uint32_t reader = p->operator_value.data[o];
      for (uint32_t i = p->input_begin.data[o]; i < p->input_begin.data[o + 1]; i++) {
        uint32_t *mine = &needs->first.data[p->inputs.data[i]];
        bool is_phase = model->values.data[reader].phase ==
                        model->values.data[p->inputs.data[i]].phase;
        if (!is_phase || needs->first.data[reader] >= *mine) continue;
        *mine = needs->first.data[reader];
        moves = true;
      }
    }
  }
  for (size_t v = 0; v < model->values.len; v++)
    if (model->space->values.data[model->values.data[v].value].is_sum)
      needs->first.data[v] = 0;
  return EGRAPH_OK;
}

// ---- questions ------------------------------------------------------------------------

egraph_status eg_plan_needs_find(eg_plan_needs *needs, const eg_plan_model *model) {
  needs->model = model;
  EG_TRY(index_problem(needs));
  EG_TRY(find_first(needs));
  for (size_t r = 0; r < model->problem.root_value.len; r++)
    EG_TRY(add_need(needs, &needs->everywhere, model->problem.root_value.data[r]));
  return close(needs, &needs->everywhere);
}

/// Fills `before` with the values that must exist before `value` in every plan that makes
/// `value`. O(problem).
static egraph_status find_before(eg_plan_needs *needs, uint32_t value) {
  assert(value < needs->model->values.len);
  for (size_t v = 0; v < needs->before.len; v++)
    needs->before.data[v] = 0;
  EG_TRY(add_operands(needs, value, &needs->before));
  return close(needs, &needs->before);
}

// ---- rows -------------------------------------------------------------------------

// Finds the values made before the step, after it, or before and read after it, then
// counts the bytes of each strategy.

typedef struct step_view {
  const eg_plan_model *model;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  uint32_t value; // value that the step makes or moves
  uint32_t into;  // place into which the step moves the value, or EG_SPACE_NONE
  const eg_plan_needs *needs; // `before` is of the value
  const uint32_t *like;       // [problem values] strategies of a plan, or NULL
  uint32_t turn;       // values of the phase with lower numbers are made before the step
  eg_bytes after;      // [problem values] made after the step in every plan
  eg_bytes counts;     // [operators] keep a value that is held at the step
  eg_bytes kept;       // [space values] some problem value counts for it
  eg_u32s counted;     // [space values] the problem value that counts
  eg_doubles across;   // [places] bytes that a value made there holds across the step,
                       // of all equal blocks
  eg_bytes early;      // [places] a value may be moved there before the step
  eg_bytes is_across;  // [problem values] `across` has bytes of it
  double least_across; // sum over values that only plans with the step make
} step_view;
EG_OWNER_DEFINE_STATIC(step_view, (eg_bytes, after, counts, kept, early, is_across),
                       (eg_u32s, counted), (eg_doubles, across))

static const eg_model_value *step_value(const step_view *p, uint32_t value) {
  return &p->model->values.data[value];
}

static bool is_keeping(const step_view *p, uint32_t op) {
  return p->model->operators.data[op] == EG_SPACE_NONE;
}

/// Loops over the operators that read a value, in order; *o: the operator.
#define EACH_READER(p, value, o)                                                         \
  for (const uint32_t *                                                                  \
           o = (p)->needs->readers.data + (p)->needs->reader_begin.data[value],          \
          *end = (p)->needs->readers.data + (p)->needs->reader_begin.data[(value) + 1];  \
       o != end; o++)

/// True when some operator that may make the value of the step reads another value.
static bool may_read(const step_view *p, uint32_t value) {
  for (uint32_t i = p->needs->operator_begin.data[p->value];
       i < p->needs->operator_begin.data[p->value + 1]; i++)
    if (reads(p->problem, p->needs->operators.data[i], value)) return true;
  return false;
}

// ---- order ----------------------------------------------------------------------------

/// True when an operator reads a value made at the step or after it.
static bool is_op_after(const step_view *p, uint32_t op) {
  for (uint32_t i = p->problem->input_begin.data[op];
       i < p->problem->input_begin.data[op + 1]; i++) {
    uint32_t input = p->problem->inputs.data[i];
    bool is_result = p->into == EG_SPACE_NONE && input == p->value;
    if (is_result || p->after.data[input] != 0) return true;
  }
  return false;
}

/// True when a value is made after the step only because values are written in the order
/// of their numbers: a move comes before the last reader of the moved value.
static bool is_written_after(const step_view *p, uint32_t value) {
  if (p->into == EG_SPACE_NONE) return is_earlier(p->needs, p->value, value);
  bool is_read = false;
  EACH_READER(p, p->value, o) {
    uint32_t reader = p->problem->operator_value.data[*o];
    is_read = true;
    if (p->needs->everywhere.data[reader] == 0) return false;
    if (reader != value && !is_earlier(p->needs, reader, value)) return false;
  }
  return is_read;
}

/// True when a value of an earlier phase, if it is made again for the phase of the step,
/// is made after the step, because all that may read it comes after: plans write the
/// operands of a value that are made again behind its other operands.
static bool is_made_again_after(const step_view *p, uint32_t value) {
  bool is_read = false;
  eg_phase now = step_value(p, p->value)->phase;
  if (!may_be_made_again(p->needs, value) || step_value(p, value)->phase != now)
    return false;
  EACH_READER(p, value, o) {
    uint32_t reader = p->problem->operator_value.data[*o];
    is_read = true;
    if (is_keeping(p, *o) || p->after.data[reader] == 0) return false;
  }
  return is_read;
}

/// Finds the values that are made after the step: each operator that may make the value
/// runs after the step, or the value is written later.
static egraph_status find_after(step_view *p, egraph_allocator alloc) {
  uint32_t operators = eg_layout_operator_count(p->problem);
  EG_LOCAL(eg_bytes, before, alloc); // values that some operator may make before
  EG_TRY(eg_bytes_resize(&p->after, p->model->values.len));
  for (uint32_t v = 0; v < p->after.len; v++)
    p->after.data[v] = is_written_after(p, v);
  EG_TRY(eg_bytes_resize(&before, p->model->values.len));
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t v = 0; v < before.len; v++)
      before.data[v] = 2; // no operator makes it
    for (uint32_t o = 0; o < operators; o++) {
      uint8_t *mine = &before.data[p->problem->operator_value.data[o]];
      *mine = (uint8_t)((*mine & 1) | !is_op_after(p, o));
    }
    for (uint32_t v = 0; v < before.len; v++) {
      bool is_after = before.data[v] == 0 || is_made_again_after(p, v);
      grows = grows || (is_after && p->after.data[v] == 0);
      p->after.data[v] |= is_after;
    }
  }
  return EGRAPH_OK;
}

/// True when every plan that has the value computes it by the step: no operator stores it
/// from another phase.
static bool is_always_made(const step_view *p) {
  const eg_plan_needs *needs = p->needs;
  for (uint32_t i = needs->operator_begin.data[p->value];
       i < needs->operator_begin.data[p->value + 1]; i++)
    if (is_keeping(p, needs->operators.data[i])) return false;
  return true;
}

/// True when every plan with the step (of this row) makes `value`, if at all, before it.
static bool is_made_before(const step_view *p, uint32_t value) {
  if (p->needs->before.data[value] != 0) return true;
  return value != p->value && needs_own_step(p->needs, value) &&
         step_value(p, value)->phase == step_value(p, p->value)->phase &&
         step_value(p, value)->value < p->turn;
}

/// Returns a number such that values of the phase with lower numbers are written before
/// the step. A move waits for a reader, unless the moved value is stored at once.
static uint32_t turn_of(const step_view *p) {
  uint32_t own = p->needs->first.data[p->value], turn = UINT32_MAX;
  if (p->into == EG_SPACE_NONE) return own;
  EACH_READER(p, p->value, o) {
    uint32_t reader = p->problem->operator_value.data[*o];
    if (!needs_own_step(p->needs, reader)) return own;
    turn = p->needs->first.data[reader] < turn ? p->needs->first.data[reader] : turn;
  }
  return turn;
}

// ---- what is kept ---------------------------------------------------------------------

enum { MOST_COPIES = 4 }; // copies in a chain

/// True when the block that represents many hands `handed` to a copy of itself, and what
/// reads it there follows the step. Only the last copy hands it to another block.
static bool is_handed_after(const step_view *p, uint32_t handed) {
  const eg_model_value *of = step_value(p, handed);
  const eg_space_value *made = &p->space->values.data[of->value];
  const eg_seam_links *links = &p->space->seams;
  uint32_t i = 0, count = (uint32_t)p->model->handed.len;
  while (i < count && p->model->handed.data[i] != handed)
    i++;
  if (i == count || made->block != p->space->info->fold.middle) return false;
  uint32_t user = links->data[i / EG_SEAMS % links->len].user[1 - i % EG_SEAMS];
  uint32_t copy = p->model->copies.data[(size_t)user * EG_PHASE_COUNT + of->phase];
  return copy != EG_SPACE_NONE && p->after.data[copy] != 0;
}

/// True when all possible readers of a value, first stored as `value`, follow the step;
/// with `inner`, readers of all but the last of equal blocks.
static bool is_read_after(const step_view *p, uint32_t value, int copies, bool inner) {
  bool is_read = false;
  EACH_READER(p, value, o) {
    uint32_t to = p->problem->operator_value.data[*o];
    const eg_model_value *reader = step_value(p, to);
    is_read = true;
    bool leaves = is_keeping(p, *o) &&
                  (reader->role == EG_MODEL_EXIT || reader->phase != EG_PHASE_BACKWARD);
    bool is_handed = inner && reader->role == EG_MODEL_HANDED;
    bool is_same = is_keeping(p, *o) && !leaves && !is_handed;
    if (leaves && step_value(p, value)->role != EG_MODEL_KEPT) return false;
    if (is_handed && !is_handed_after(p, to)) return false;
    if (is_same && (copies == 0 || !is_read_after(p, to, copies - 1, inner)))
      return false;
    if (!is_keeping(p, *o) && (to == p->value || p->after.data[to] == 0)) return false;
  }
  return is_read;
}

/// Returns the value of an earlier phase that an operator stores; EG_SPACE_NONE: none.
static uint32_t kept_from(const step_view *p, uint32_t op) {
  const eg_layout_problem *problem = p->problem;
  const eg_model_value *to = step_value(p, problem->operator_value.data[op]);
  uint32_t begin = problem->input_begin.data[op];
  if (!is_keeping(p, op) || problem->input_begin.data[op + 1] != begin + 1 ||
      (to->role != EG_MODEL_COPY && to->role != EG_MODEL_KEPT))
    return EG_SPACE_NONE;
  uint32_t from = problem->inputs.data[begin];
  bool is_copy = step_value(p, from)->role == EG_MODEL_COPY;
  return is_copy && step_value(p, from)->phase < to->phase ? from : EG_SPACE_NONE;
}

/// True when every plan that has the step reads a value after it.
static bool has_later_reader(const step_view *p, uint32_t value) {
  EACH_READER(p, value, o) {
    uint32_t reader = p->problem->operator_value.data[*o];
    if (p->needs->everywhere.data[reader] != 0 && p->after.data[reader] != 0 &&
        always_reads(p->needs, reader, value))
      return true;
  }
  return false;
}

/// True when every possible reader of an input of the plan, in the phase of the step, is
/// the step or comes before it.
static bool is_read_before(const step_view *p, uint32_t entry) {
  EACH_READER(p, entry, o) {
    uint32_t reader = p->problem->operator_value.data[*o];
    if (step_value(p, reader)->role == EG_MODEL_HANDED) return false; // unknown readers
    if (may_be_made_again(p->needs, reader) && !is_keeping(p, *o)) return false;
    if (!needs_own_step(p->needs, reader)) continue;
    bool is_step = reader == p->value && p->into == EG_SPACE_NONE;
    if (!is_step && !is_made_before(p, reader)) return false;
  }
  return true;
}

/// True when a value stored for the phase of the step is read only after the step; with
/// `inner`, in all but the last of equal blocks.
static bool is_untouched(const step_view *p, uint32_t value, bool inner) {
  bool is_last =
      p->into == EG_SPACE_NONE && step_value(p, value)->phase == EG_PHASE_BACKWARD;
  return is_last && is_read_after(p, value, MOST_COPIES, inner);
}

/// True when the bytes that value `from` stores as `to` are held at the step in every
/// plan. Either the value is made (or, if an input, read) before the step and stored at
/// once; or the step is between the two phases; or the value is read only after the step,
/// or also before it.
static bool is_there(const step_view *p, uint32_t from, uint32_t to) {
  eg_phase now = step_value(p, p->value)->phase, made = step_value(p, from)->phase,
           used = step_value(p, to)->phase;
  bool is_entry = p->space->values.data[step_value(p, from)->value].is_entry;
  if (now == made) return is_entry ? is_read_before(p, from) : is_made_before(p, from);
  if (now != used) return made < now && now < used;
  return is_untouched(p, to, true) || (!may_read(p, to) && has_later_reader(p, to));
}

/// Finds the stored values that are held at the step. A value may be stored from several
/// phases, by one operator each; only one problem value counts.
static egraph_status find_kept(step_view *p) {
  const eg_model_value *mine = step_value(p, p->value);
  EG_TRY(eg_bytes_resize(&p->counts, eg_layout_operator_count(p->problem)));
  EG_TRY(eg_bytes_resize(&p->kept, p->space->values.len));
  EG_TRY(eg_u32s_resize(&p->counted, p->space->values.len));
  bool is_step = mine->role == EG_MODEL_COPY && is_always_made(p);
  for (uint32_t o = 0; is_step && o < eg_layout_operator_count(p->problem); o++) {
    uint32_t to = p->problem->operator_value.data[o], v = step_value(p, to)->value;
    uint32_t from = kept_from(p, o);
    bool is_other = p->kept.data[v] != 0 && p->counted.data[v] != to;
    if (from == EG_SPACE_NONE || v == mine->value || is_other) continue;
    if (!is_there(p, from, to)) continue;
    p->counts.data[o] = p->kept.data[v] = 1;
    p->counted.data[v] = to;
  }
  return EGRAPH_OK;
}

static uint32_t layout_at(const step_view *p, uint32_t value, uint32_t place) {
  return eg_plan_model_layout(p->model, value,
                              place - p->problem->place_begin.data[value]);
}

static double bytes_at(const step_view *p, uint32_t value, uint32_t place) {
  return eg_plan_space_bytes(p->space, step_value(p, value)->value,
                             layout_at(p, value, place));
}

/// True when the value may share the storage of another value, as a value for the next
/// step, elements of a tuple and views do.
static bool has_storage(const step_view *p, uint32_t space_value) {
  const eg_space_value *value = &p->space->values.data[space_value];
  return p->needs->exits.data[space_value] != 0 || value->is_sum || value->is_tuple ||
         p->model->views.data[space_value] != space_value;
}

// ---- values across the step -----------------------------------------------------------

// A value of the phase that is made or stored before the step and read after it is held
// in the layout in which it was made or stored, or in a layout to which it was moved
// before the step for an earlier reader.

/// True when every plan that has the step makes the value before it and reads it after.
static bool is_across(const step_view *p, uint32_t u) {
  const eg_model_value *of = step_value(p, u);
  bool is_own = needs_own_step(p->needs, u) &&
                of->phase == step_value(p, p->value)->phase &&
                (p->needs->everywhere.data[u] | p->needs->before.data[u]) != 0;
  return is_own && u != p->value && is_made_before(p, u) &&
         p->kept.data[of->value] == 0 && !may_read(p, u) && !has_storage(p, of->value) &&
         has_later_reader(p, u);
}

static bool may_need(const step_view *p, uint32_t op, uint32_t place) {
  for (uint32_t s = p->problem->strategy_begin.data[op];
       s < p->problem->strategy_begin.data[op + 1]; s++)
    for (uint32_t n = p->problem->need_begin.data[s];
         p->problem->forbidden.data[s] == 0 && n < p->problem->need_begin.data[s + 1];
         n++)
      if (p->problem->needs.data[n] == place) return true;
  return false;
}

/// True when an operator that may run before the step may need value u in layout `place`.
static bool is_needed_early(const step_view *p, uint32_t u, uint32_t place) {
  EACH_READER(p, u, o) {
    bool is_late = p->after.data[p->problem->operator_value.data[*o]] != 0;
    if (!is_late && may_need(p, *o, place)) return true;
  }
  return false;
}

/// Adds the bytes that a value made before the step and read after it holds at the step,
/// by the layout in which it is made: the least bytes of that layout and of the layouts
/// into which it may be moved before the step.
static void hold_across(step_view *p, uint32_t u) {
  const eg_layout_problem *problem = p->problem;
  const uint32_t *arcs = p->needs->arcs.data + p->needs->arc_begin.data[u];
  uint32_t count = p->needs->arc_begin.data[u + 1] - p->needs->arc_begin.data[u];
  uint32_t begin = problem->place_begin.data[u], end = problem->place_begin.data[u + 1];
  p->is_across.data[u] = 1;
  for (uint32_t place = begin; place < end; place++) {
    p->across.data[place] = bytes_at(p, u, place);
    p->early.data[place] = is_needed_early(p, u, place);
  }
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t a = arcs[i], from = problem->arc_from.data[a],
               to = problem->arc_to.data[a];
      if (problem->arc_forbidden.data[a] != 0 || p->early.data[to] == 0) continue;
      moves =
          moves || p->early.data[from] == 0 || p->across.data[to] < p->across.data[from];
      p->early.data[from] = 1;
      p->across.data[from] = fmin(p->across.data[from], p->across.data[to]);
    }
  }
}

/// Returns the least bytes that a value made before the step and read after it holds.
static double least_across(const step_view *p, uint32_t u) {
  double least = INFINITY;
  for (uint32_t place = p->problem->place_begin.data[u];
       place < p->problem->place_begin.data[u + 1]; place++)
    if (p->problem->place_forbidden.data[place] == 0)
      least = fmin(least, p->across.data[place]);
  return isfinite(least) ? least : 0;
}

/// True when an operator stored a value before the step, for the phase of the step.
static bool is_kept_before(const step_view *p, uint32_t op) {
  uint32_t to = p->problem->operator_value.data[op];
  eg_phase now = step_value(p, p->value)->phase;
  return p->counts.data[op] != 0 && step_value(p, to)->phase == now &&
         step_value(p, kept_from(p, op))->phase != now;
}

/// True when a value may be moved from a place before the step.
static bool may_move_early(const step_view *p, uint32_t u, uint32_t place) {
  for (uint32_t i = p->needs->arc_begin.data[u]; i < p->needs->arc_begin.data[u + 1];
       i++) {
    uint32_t a = p->needs->arcs.data[i];
    if (p->problem->arc_from.data[a] == place && p->problem->arc_forbidden.data[a] == 0 &&
        p->early.data[p->problem->arc_to.data[a]] != 0)
      return true;
  }
  return false;
}

/// Adds the bytes that a value, stored for the phase of the step, holds at the step: all
/// equal blocks store it, one of them at a time moves it or, before the step, has read
/// it.
static void hold_kept(step_view *p, uint32_t to) {
  bool stays = is_untouched(p, to, true);
  double times = p->problem->memory_times.data[to];
  if (stays && !is_untouched(p, to, false)) times--; // the last block's is read before
  if (!stays) hold_across(p, to);
  for (uint32_t place = p->problem->place_begin.data[to];
       place < p->problem->place_begin.data[to + 1]; place++)
    if (stays || !may_move_early(p, to, place))
      p->across.data[place] = times * bytes_at(p, to, place);
}

static egraph_status find_across(step_view *p) {
  uint32_t places = eg_layout_place_count(p->problem);
  EG_TRY(eg_doubles_resize(&p->across, places));
  EG_TRY(eg_bytes_resize(&p->early, places));
  EG_TRY(eg_bytes_resize(&p->is_across, p->model->values.len));
  for (uint32_t o = 0; o < eg_layout_operator_count(p->problem); o++)
    if (is_kept_before(p, o)) hold_kept(p, p->problem->operator_value.data[o]);
  for (uint32_t u = 0; is_always_made(p) && u < p->model->values.len; u++) {
    if (!is_across(p, u)) continue;
    hold_across(p, u);
    if (p->needs->everywhere.data[p->value] != 0) continue;
    p->least_across += least_across(p, u);
    for (uint32_t place = p->problem->place_begin.data[u];
         place < p->problem->place_begin.data[u + 1]; place++)
      p->across.data[place] = 0;
  }
  return EGRAPH_OK;
}

// ---- operands that are entries --------------------------------------------------------

// An input that is needed in the layout in which it enters is held once, a moved input
// twice. A memory row can express this for one layout of each input: that layout counts
// where it is needed, any other layout where the input enters in it.

/// Returns the layout to which the plan `like` moves an input for the step;
/// EG_SPACE_NONE: it does not move the input, or may store it.
static uint32_t moved_layout(const step_view *p, uint32_t space_value) {
  uint32_t entry = p->model->entries.data[space_value];
  if (p->like == NULL || p->into != EG_SPACE_NONE || entry == EG_SPACE_NONE ||
      p->space->values.data[space_value].is_sum || p->kept.data[space_value] != 0)
    return EG_SPACE_NONE;
  uint32_t made = p->like[p->value], enters = p->like[entry];
  if (made == EG_LAYOUT_NONE || enters == EG_LAYOUT_NONE) return EG_SPACE_NONE;
  uint32_t own = layout_at(p, entry, p->problem->output.data[enters]);
  for (uint32_t n = p->problem->need_begin.data[made];
       n < p->problem->need_begin.data[made + 1]; n++) {
    uint32_t place = p->problem->needs.data[n], u = p->needs->place_value.data[place];
    if (step_value(p, u)->value == space_value && layout_at(p, u, place) != own)
      return layout_at(p, u, place);
  }
  return EG_SPACE_NONE;
}

// ---- the row --------------------------------------------------------------------------

/// True when input i of an operator has the value and layout of an earlier input.
static bool is_again(const step_view *p, uint32_t op, uint32_t strategy, uint32_t i) {
  const uint32_t *inputs = p->problem->inputs.data + p->problem->input_begin.data[op];
  const uint32_t *needs = p->problem->needs.data + p->problem->need_begin.data[strategy];
  for (uint32_t j = 0; j < i; j++)
    if (step_value(p, inputs[j])->value == step_value(p, inputs[i])->value &&
        layout_at(p, inputs[j], needs[j]) == layout_at(p, inputs[i], needs[i]))
      return true;
  return false;
}

/// Returns the bytes of operands and result of an operator that makes the step's value.
static double bytes_of_step(const step_view *p, uint32_t op, uint32_t strategy,
                            bool has_own) {
  const uint32_t *inputs = p->problem->inputs.data + p->problem->input_begin.data[op];
  const uint32_t *needs = p->problem->needs.data + p->problem->need_begin.data[strategy];
  uint32_t count =
      p->problem->input_begin.data[op + 1] - p->problem->input_begin.data[op];
  double bytes = has_own ? 0 : bytes_at(p, p->value, p->problem->output.data[strategy]);
  bytes += eg_plan_model_strategy_scratch(p->model, strategy);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t v = step_value(p, inputs[i])->value;
    if (v == step_value(p, p->value)->value) continue; // what is made again
    bool counts = p->space->values.data[v].is_entry || p->kept.data[v] != 0 ||
                  has_storage(p, v) || is_again(p, op, strategy, i);
    bool is_moved = layout_at(p, inputs[i], needs[i]) == moved_layout(p, v) &&
                    !is_again(p, op, strategy, i);
    if (!counts || is_moved) bytes += bytes_at(p, inputs[i], needs[i]);
  }
  return bytes;
}

/// Returns the bytes of one of `times` equal blocks, rounded down to a fraction whose
/// products and sums are exact, so that a memory row never exceeds a plan by rounding.
static double share_of(double bytes, double times) {
  static const double parts = 1024; // of a byte
  return floor(bytes / times * parts) / parts;
}

static double operand_bytes(const step_view *p, uint32_t op, uint32_t strategy,
                            bool has_own) {
  const eg_layout_problem *problem = p->problem;
  uint32_t value = problem->operator_value.data[op];
  double times = problem->memory_times.data[value];
  if (step_value(p, value)->role == EG_MODEL_ENTRY) {
    if (layout_at(p, value, problem->output.data[strategy]) ==
        moved_layout(p, step_value(p, value)->value))
      return 0;
    return problem->memory[0].data[strategy];
  }
  if (is_keeping(p, op)) {
    if (p->counts.data[op] == 0) return 0;
    uint32_t from = kept_from(p, op);
    // Memory row 0 is the end of FORWARD, or of the step; row 1 is the end of BACKWARD.
    bool is_first = step_value(p, from)->phase == EG_PHASE_FORWARD ||
                    p->space->info->micro_batches > 1;
    double kept = problem->memory[is_first ? 0 : 1].data[strategy];
    if (!is_kept_before(p, op)) return kept;
    // Sums of micro-batches are in an entry: 0.
    double across = p->across.data[problem->output.data[strategy]];
    return fmin(kept, share_of(across, times));
  }
  uint32_t made = problem->output.data[strategy];
  if (value != p->value)
    return may_be_made_again(p->needs, value) ? 0 : share_of(p->across.data[made], times);
  bool is_step = p->into == EG_SPACE_NONE;
  double bytes = is_step ? bytes_of_step(p, op, strategy, has_own) : 0;
  return share_of(bytes + p->least_across, times);
}

/// Returns the bytes of both ends of a move into the row's place, except those that may
/// share other storage.
static double bytes_of_arc(const step_view *p, uint32_t arc, bool has_own) {
  uint32_t from = p->problem->arc_from.data[arc], to = p->problem->arc_to.data[arc];
  bool is_entry = p->space->values.data[step_value(p, p->value)->value].is_entry;
  double bytes = eg_plan_model_arc_scratch(p->model, p->value, arc);
  if (p->into != to && p->into != EG_STEP_EACH_MOVE) return 0;
  if (!has_own) bytes += bytes_at(p, p->value, to);
  if (!has_own && !is_entry) bytes += bytes_at(p, p->value, from);
  return share_of(bytes, p->problem->memory_times.data[p->value]);
}

/// True when strategies of an operator may have bytes in the row.
static bool may_count(const step_view *p, uint32_t op) {
  uint32_t value = p->problem->operator_value.data[op];
  if (step_value(p, value)->role == EG_MODEL_ENTRY) return true;
  if (is_keeping(p, op)) return p->counts.data[op] != 0;
  return value == p->value || p->is_across.data[value] != 0;
}

static egraph_status fill_step_row(const step_view *p, eg_peak_row *row) {
  const eg_layout_problem *problem = p->problem;
  bool has_own = has_storage(p, step_value(p, p->value)->value);
  row->constant = row->value = 0;
  row->strategy.len = row->arc.len = row->counts.len = 0;
  EG_TRY(eg_bytes_resize(&row->counts, p->model->values.len));
  EG_TRY(eg_doubles_resize(&row->strategy, eg_layout_strategy_count(problem)));
  EG_TRY(eg_doubles_resize(&row->arc, eg_layout_arc_count(problem)));
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++) {
    if (!may_count(p, o)) continue;
    row->counts.data[problem->operator_value.data[o]] = 1;
    for (uint32_t s = problem->strategy_begin.data[o];
         s < problem->strategy_begin.data[o + 1]; s++)
      row->strategy.data[s] = operand_bytes(p, o, s, has_own);
  }
  const uint32_t *arcs = p->needs->arcs.data;
  for (uint32_t i = p->needs->arc_begin.data[p->value];
       p->into != EG_SPACE_NONE && i < p->needs->arc_begin.data[p->value + 1]; i++)
    row->arc.data[arcs[i]] = bytes_of_arc(p, arcs[i], has_own);
  return EGRAPH_OK;
}

egraph_status eg_step_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, eg_plan_needs *needs,
                               uint32_t value, uint32_t into, const uint32_t *like) {
  assert(value < model->values.len);
  EG_LOCAL_WITH(step_view, p, alloc, .model = model, .space = model->space,
                .problem = &model->problem, .value = value, .into = into, .needs = needs,
                .like = like);
  EG_TRY(find_before(needs, value));
  p.turn = turn_of(&p);
  EG_TRY(find_after(&p, alloc));
  EG_TRY(find_kept(&p));
  EG_TRY(find_across(&p));
  return fill_step_row(&p, row);
}

egraph_status eg_step_row_note(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, uint32_t value, uint32_t into,
                               const uint32_t *like) {
  EG_LOCAL(eg_plan_needs, needs, alloc);
  EG_TRY(eg_plan_needs_find(&needs, model));
  EG_TRY(eg_step_row_make(row, model, alloc, &needs, value, into, like));
  row->made = value;
  row->into = into;
  return EGRAPH_OK;
}
