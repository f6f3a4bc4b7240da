// The memory row of a step is a sum over the values of a plan. The strategies of a value
// give the least bytes that it adds; each strategy and each arc is tried together with
// the least bytes of all other values that are needed with it.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_forbid.h"

#include <math.h>

#include "optimize/search/plan_step_row.h"

enum { MOST_ROUNDS = 4 };
static const double MOST_WORK = 3e8; // steps of a round

typedef struct forbidder {
  egraph_allocator alloc;
  eg_plan_model *model;
  eg_layout_problem *problem;
  double limit;
  eg_plan_needs needs;
  eg_doubles least; // [values] of a row
  eg_peak_row row;
  eg_plan_forbidden *out;
} forbidder;
EG_OWNER_DEFINE_STATIC(forbidder, (eg_plan_needs, needs), (eg_doubles, least),
                       (eg_peak_row, row))

// ---- rows -----------------------------------------------------------------------------

/// Finds the least number of bytes that each value adds to the memory row of a step.
static void find_least_shares(forbidder *f) {
  const eg_layout_problem *p = f->problem;
  for (size_t v = 0; v < f->least.len; v++) {
    double least = INFINITY;
    f->least.data[v] = 0;
    if (f->row.counts.data[v] == 0) continue;
    for (uint32_t i = f->needs.operator_begin.data[v];
         i < f->needs.operator_begin.data[v + 1]; i++) {
      uint32_t op = f->needs.operators.data[i];
      for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
           s++)
        if (!p->forbidden.data[s]) least = fmin(least, f->row.strategy.data[s]);
    }
    if (isfinite(least)) f->least.data[v] = least * p->memory_times.data[v];
  }
}

/// Sums the bytes that every plan adds to the memory row; `with_value`: that every plan
/// with `value` adds, without the bytes of `value`.
static double sum_shares(const forbidder *f, bool with_value, uint32_t value) {
  double sum = f->row.constant;
  for (uint32_t v = 0; v < f->least.len; v++) {
    bool is_there =
        f->needs.everywhere.data[v] != 0 || (with_value && f->needs.before.data[v] != 0);
    if (is_there && !(with_value && v == value)) sum += f->least.data[v];
  }
  return sum;
}

/// Returns a lower bound of the bytes that entries (inputs and weights of the training
/// step) hold beyond `f->least` if operator `op` takes `strategy`. The strategy needs
/// each operand in one layout: an entry enters in this layout, or it is converted and
/// held in two layouts.
static double excess_of_entries(const forbidder *f, uint32_t op, uint32_t strategy) {
  const eg_layout_problem *p = f->problem;
  const uint32_t *inputs = p->inputs.data + p->input_begin.data[op];
  const uint32_t *needs = p->needs.data + p->need_begin.data[strategy];
  uint32_t count = p->input_begin.data[op + 1] - p->input_begin.data[op];
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    const eg_model_value *of = &f->model->values.data[inputs[i]];
    uint32_t entry = f->model->entries.data[of->value];
    bool is_out = entry == EG_SPACE_NONE ||
                  f->model->operators.data[op] == EG_SPACE_NONE ||
                  f->model->space->values.data[of->value].is_sum;
    for (uint32_t j = 0; j < i; j++)
      is_out = is_out || f->model->values.data[inputs[j]].value == of->value;
    if (is_out) continue;
    uint32_t layout = eg_plan_model_layout(f->model, inputs[i],
                                           needs[i] - p->place_begin.data[inputs[i]]);
    double bytes = eg_plan_space_bytes(f->model->space, of->value, layout);
    sum += fmax(bytes - f->least.data[entry], 0);
  }
  return sum;
}

/// Forbids strategies of a value that exceed the limit together with the least bytes of
/// all other values (`others`).
static bool forbid_strategies(forbidder *f, uint32_t value, bool is_step, double others) {
  eg_layout_problem *p = f->problem;
  bool found = false;
  for (uint32_t i = f->needs.operator_begin.data[value];
       i < f->needs.operator_begin.data[value + 1]; i++) {
    uint32_t op = f->needs.operators.data[i];
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
         s++) {
      double bytes = f->row.strategy.data[s] * p->memory_times.data[value];
      if (is_step) bytes += excess_of_entries(f, op, s);
      if (p->forbidden.data[s] || !(others + bytes > f->limit)) continue;
      p->forbidden.data[s] = 1;
      f->out->count++;
      found = true;
    }
  }
  return found;
}

static bool forbid_by_row(forbidder *f, uint32_t value) {
  bool found = false;
  find_least_shares(f);
  double sum = sum_shares(f, false, value), own = sum_shares(f, true, value);
  f->out->is_all = f->out->is_all || sum > f->limit;
  for (uint32_t v = 0; v < f->least.len; v++) {
    if (v != value && f->row.counts.data[v] == 0) continue;
    double others = sum - (f->needs.everywhere.data[v] != 0 ? f->least.data[v] : 0);
    found |= forbid_strategies(f, v, v == value, v == value ? own : others);
  }
  return found;
}

static bool forbid_moves(forbidder *f, uint32_t value) {
  eg_layout_problem *p = f->problem;
  bool found = false;
  find_least_shares(f);
  double others = sum_shares(f, true, value);
  for (uint32_t i = f->needs.arc_begin.data[value];
       i < f->needs.arc_begin.data[value + 1]; i++) {
    uint32_t a = f->needs.arcs.data[i];
    double bytes = f->row.arc.data[a] * p->memory_times.data[value];
    if (p->arc_forbidden.data[a] || bytes == 0 || !(others + bytes > f->limit)) continue;
    p->arc_forbidden.data[a] = 1;
    f->out->count++;
    found = true;
  }
  return found;
}

static egraph_status forbid_at(forbidder *f, uint32_t value, bool *found) {
  EG_TRY(eg_step_row_make(&f->row, f->model, f->alloc, &f->needs, value, EG_SPACE_NONE,
                          NULL));
  *found |= forbid_by_row(f, value);
  EG_TRY(eg_step_row_make(&f->row, f->model, f->alloc, &f->needs, value,
                          EG_STEP_EACH_MOVE, NULL));
  *found |= forbid_moves(f, value);
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

static bool is_too_large(const eg_layout_problem *p) {
  double each = (double)eg_layout_strategy_count(p) + eg_layout_arc_count(p) +
                (double)p->inputs.len;
  return eg_layout_value_count(p) * each > MOST_WORK;
}

egraph_status eg_plan_forbid_large(eg_plan_model *model, egraph_allocator alloc,
                                   double limit, eg_plan_forbidden *out) {
  eg_layout_problem *p = &model->problem;
  EG_TRY(eg_bytes_append(&out->strategy, p->forbidden.data, p->forbidden.len));
  EG_TRY(eg_bytes_append(&out->arc, p->arc_forbidden.data, p->arc_forbidden.len));
  if (is_too_large(p)) return EGRAPH_OK;
  EG_LOCAL_WITH(forbidder, f, alloc, .alloc = alloc, .model = model, .problem = p,
                .limit = limit, .out = out);
  EG_TRY(eg_doubles_resize(&f.least, eg_layout_value_count(p)));
  bool found = true;
  for (int round = 0; found && round < MOST_ROUNDS && !f.out->is_all; round++) {
    found = false;
    EG_TRY(eg_plan_needs_find(&f.needs, f.model));
    for (uint32_t v = 0; v < f.least.len && !f.out->is_all; v++)
      EG_TRY(forbid_at(&f, v, &found));
  }
  return EGRAPH_OK;
}

void eg_plan_forbid_undo(eg_plan_model *model, const eg_plan_forbidden *forbidden) {
  eg_layout_problem *p = &model->problem;
  for (size_t s = 0; s < forbidden->strategy.len; s++)
    p->forbidden.data[s] = forbidden->strategy.data[s];
  for (size_t a = 0; a < forbidden->arc.len; a++)
    p->arc_forbidden.data[a] = forbidden->arc.data[a];
}
