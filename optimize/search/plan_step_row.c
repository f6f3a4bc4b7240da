// Values are found whose makers depend on the step; then each strategy is counted.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_step_row.h"

#include <math.h>

typedef struct step_view {
  const eg_plan_model *model;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  uint32_t value;  // whose step it is
  uint32_t into;   // place that the step moves it into, or EG_SPACE_NONE
  eg_bytes after;  // [problem values] made after the step, whatever is chosen
  eg_bytes counts; // [problem values] kept, and there at the step
  eg_bytes kept;   // [space values] some problem value of it counts
} step_view;
EG_OWNER_DEFINE_STATIC(step_view, (eg_bytes, after, counts, kept))

static const eg_model_value *value_at(const step_view *p, uint32_t value) {
  return &p->model->values.data[value];
}

static bool is_keeping(const step_view *p, uint32_t op) {
  return p->model->operators.data[op] == EG_SPACE_NONE;
}

static bool reads(const step_view *p, uint32_t op, uint32_t value) {
  for (uint32_t i = p->problem->input_begin.data[op];
       i < p->problem->input_begin.data[op + 1]; i++)
    if (p->problem->inputs.data[i] == value) return true;
  return false;
}

// ---- order ----------------------------------------------------------------------------

/// Whether an operator reads what is made at the step or after it.
static bool is_op_after(const step_view *p, uint32_t op) {
  for (uint32_t i = p->problem->input_begin.data[op];
       i < p->problem->input_begin.data[op + 1]; i++) {
    uint32_t input = p->problem->inputs.data[i];
    if (input == p->value || p->after.data[input] != 0) return true;
  }
  return false;
}

/// A value is made after the step where each operator that may make it runs after it.
static egraph_status find_after(step_view *p, egraph_allocator alloc) {
  uint32_t operators = eg_layout_operator_count(p->problem);
  eg_bytes before; // what some operator may make before
  EG_TRY(eg_bytes_resize(&p->after, p->model->values.len));
  eg_bytes_init(&before, alloc);
  egraph_status status = eg_bytes_resize(&before, p->model->values.len);
  for (bool grows = status == EGRAPH_OK; grows;) {
    grows = false;
    for (size_t v = 0; v < before.len; v++)
      before.data[v] = 2; // made by nothing
    for (uint32_t o = 0; o < operators; o++) {
      uint8_t *mine = &before.data[p->problem->operator_value.data[o]];
      *mine = (uint8_t)((*mine & 1) | !is_op_after(p, o));
    }
    for (size_t v = 0; v < before.len; v++) {
      grows = grows || (before.data[v] == 0 && p->after.data[v] == 0);
      p->after.data[v] |= before.data[v] == 0;
    }
  }
  eg_bytes_deinit(&before);
  return status;
}

/// Whether the step is there in every plan that has the value: nothing keeps it from
/// elsewhere.
static bool is_always_made(const step_view *p) {
  for (uint32_t o = 0; o < eg_layout_operator_count(p->problem); o++)
    if (p->problem->operator_value.data[o] == p->value && is_keeping(p, o)) return false;
  return true;
}

// ---- what is kept ---------------------------------------------------------------------

enum { MOST_COPIES = 4 }; // one of another

/// Whether everything that may read a state, first kept as `value`, comes after the step.
static bool is_read_after(const step_view *p, uint32_t value, int copies) {
  bool is_read = false;
  for (uint32_t o = 0; o < eg_layout_operator_count(p->problem); o++) {
    uint32_t to = p->problem->operator_value.data[o];
    const eg_model_value *reader = value_at(p, to);
    if (!reads(p, o, value)) continue;
    is_read = true;
    bool leaves = is_keeping(p, o) &&
                  (reader->role == EG_MODEL_EXIT || reader->phase != EG_PHASE_BACKWARD);
    bool is_same = is_keeping(p, o) && !leaves;
    if (leaves && value_at(p, value)->role != EG_MODEL_KEPT) return false;
    if (is_same && (copies == 0 || !is_read_after(p, to, copies - 1))) return false;
    if (!is_keeping(p, o) && (to == p->value || p->after.data[to] == 0)) return false;
  }
  return is_read;
}

/// Whether an operator keeps what FORWARD has made, for BACKWARD or both later phases.
static bool keeps_forward(const step_view *p, uint32_t op) {
  const eg_layout_problem *problem = p->problem;
  const eg_model_value *to = value_at(p, problem->operator_value.data[op]);
  bool is_kept = (to->role == EG_MODEL_COPY || to->role == EG_MODEL_KEPT) &&
                 to->phase == EG_PHASE_BACKWARD;
  if (!is_keeping(p, op) || !is_kept || p->space->values.data[to->value].is_entry)
    return false;
  if (problem->input_begin.data[op + 1] != problem->input_begin.data[op] + 1)
    return false;
  const eg_model_value *from =
      value_at(p, problem->inputs.data[problem->input_begin.data[op]]);
  return from->role == EG_MODEL_COPY && from->phase == EG_PHASE_FORWARD;
}

static egraph_status find_kept(step_view *p) {
  EG_TRY(eg_bytes_resize(&p->counts, p->model->values.len));
  EG_TRY(eg_bytes_resize(&p->kept, p->space->values.len));
  bool is_last = p->into == EG_SPACE_NONE &&
                 value_at(p, p->value)->phase == EG_PHASE_BACKWARD && is_always_made(p);
  for (uint32_t o = 0; is_last && o < eg_layout_operator_count(p->problem); o++) {
    uint32_t to = p->problem->operator_value.data[o], v = value_at(p, to)->value;
    if (!keeps_forward(p, o) || p->kept.data[v] != 0) continue;
    p->counts.data[to] = p->kept.data[v] = is_read_after(p, to, MOST_COPIES);
  }
  return EGRAPH_OK;
}

// ---- the row --------------------------------------------------------------------------

static uint32_t layout_at(const step_view *p, uint32_t value, uint32_t place) {
  return eg_plan_model_layout(p->model, value,
                              place - p->problem->place_begin.data[value]);
}

static double bytes_at(const step_view *p, uint32_t value, uint32_t place) {
  return eg_plan_space_bytes(p->space, value_at(p, value)->value,
                             layout_at(p, value, place));
}

/// Whether input i of an operator is the same state as one before it.
static bool is_again(const step_view *p, uint32_t op, uint32_t strategy, uint32_t i) {
  const uint32_t *inputs = p->problem->inputs.data + p->problem->input_begin.data[op];
  const uint32_t *needs = p->problem->needs.data + p->problem->need_begin.data[strategy];
  for (uint32_t j = 0; j < i; j++)
    if (value_at(p, inputs[j])->value == value_at(p, inputs[i])->value &&
        layout_at(p, inputs[j], needs[j]) == layout_at(p, inputs[i], needs[i]))
      return true;
  return false;
}

/// What the next step gets as an entry may be in its storage.
static bool has_storage(const step_view *p, uint32_t space_value) {
  for (uint32_t v = 0; v < p->model->values.len; v++)
    if (value_at(p, v)->role == EG_MODEL_EXIT && value_at(p, v)->value == space_value)
      return true;
  return p->space->values.data[space_value].is_sum;
}

/// Operands and result of an operator of the step.
static double bytes_of_step(const step_view *p, uint32_t op, uint32_t strategy,
                            bool has_own) {
  const uint32_t *inputs = p->problem->inputs.data + p->problem->input_begin.data[op];
  const uint32_t *needs = p->problem->needs.data + p->problem->need_begin.data[strategy];
  uint32_t count =
      p->problem->input_begin.data[op + 1] - p->problem->input_begin.data[op];
  double bytes = has_own ? 0 : bytes_at(p, p->value, p->problem->output.data[strategy]);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t v = value_at(p, inputs[i])->value;
    bool counts = p->space->values.data[v].is_entry || p->kept.data[v] != 0 ||
                  has_storage(p, v) || is_again(p, op, strategy, i);
    if (!counts) bytes += bytes_at(p, inputs[i], needs[i]);
  }
  return bytes;
}

static double bytes_of(const step_view *p, uint32_t op, uint32_t strategy, bool has_own) {
  const eg_layout_problem *problem = p->problem;
  uint32_t value = problem->operator_value.data[op];
  double times = problem->memory_times.data[value], bytes = INFINITY;
  if (value_at(p, value)->role == EG_MODEL_ENTRY) {
    for (uint32_t r = 0; r < problem->memory_rows; r++) // while it is there in all
      bytes = fmin(bytes, problem->memory[r].data[strategy]);
    return bytes;
  }
  if (is_keeping(p, op)) {
    bool counts = p->counts.data[value] != 0 && keeps_forward(p, op);
    return counts ? problem->memory[0].data[strategy] / times : 0;
  }
  bool is_step = value == p->value &&
                 (p->into == EG_SPACE_NONE || p->into == problem->output.data[strategy]);
  return is_step ? bytes_of_step(p, op, strategy, has_own) / times : 0;
}

/// Both ends of a move, unless one may be in the storage of an entry.
static double bytes_of_arc(const step_view *p, uint32_t arc, bool has_own) {
  uint32_t from = p->problem->arc_from.data[arc], to = p->problem->arc_to.data[arc];
  bool is_entry = p->space->values.data[value_at(p, p->value)->value].is_entry;
  if (p->into == EG_SPACE_NONE || to != p->into || has_own) return 0;
  double bytes = bytes_at(p, p->value, to);
  if (!is_entry) bytes += bytes_at(p, p->value, from);
  return bytes / p->problem->memory_times.data[p->value];
}

static egraph_status fill(const step_view *p, eg_peak_row *row) {
  const eg_layout_problem *problem = p->problem;
  bool has_own = has_storage(p, value_at(p, p->value)->value);
  row->constant = row->value = 0;
  row->strategy.len = row->arc.len = 0;
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++)
    for (uint32_t s = problem->strategy_begin.data[o];
         s < problem->strategy_begin.data[o + 1]; s++)
      EG_TRY(eg_doubles_push(&row->strategy, bytes_of(p, o, s, has_own)));
  for (uint32_t a = 0; a < eg_layout_arc_count(problem); a++)
    EG_TRY(eg_doubles_push(&row->arc, bytes_of_arc(p, a, has_own)));
  return EGRAPH_OK;
}

egraph_status eg_step_row_make(eg_peak_row *row, const eg_plan_model *model,
                               egraph_allocator alloc, uint32_t value, uint32_t into) {
  step_view p;
  step_view_init(&p, alloc);
  p.model = model;
  p.space = model->space;
  p.problem = &model->problem;
  p.value = value;
  p.into = into;
  egraph_status status = find_after(&p, alloc);
  if (status == EGRAPH_OK) status = find_kept(&p);
  if (status == EGRAPH_OK) status = fill(&p, row);
  step_view_deinit(&p);
  return status;
}
