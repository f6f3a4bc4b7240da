// Inputs and what is carried say what they are; the rest follows. What forward makes of
// weights alone is a weight (its cast to a narrower type), and what backward only casts
// or reshapes to a gradient is one.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_kinds.h"

#define BIT(kind) ((uint16_t)(1u << (kind)))

typedef struct finder {
  const eg_plan_space *space;
  uint16_t *kinds; // [values]
} finder;

static const eg_graph *graph_of(const finder *f) {
  return eg_tensor_egraph_graph(f->space->egraph);
}

static uint32_t value_of(const finder *f, eg_value value) {
  return eg_plan_space_value(f->space,
                             eg_tensor_egraph_value_class(f->space->egraph, value));
}

static void mark(finder *f, eg_value value, eg_plan_kind kind) {
  uint32_t v = value_of(f, value);
  if (v != EG_SPACE_NONE) f->kinds[v] |= BIT(kind);
}

// ---- what enters --------------------------------------------------------------------

static void mark_carried(finder *f) {
  const eg_step_info *info = f->space->info;
  for (uint32_t i = 0; i < info->carried_count; i++) {
    const eg_carried_value *carried = &info->carried[i];
    uint32_t v = value_of(f, carried->entry);
    // Forward reads weights; only the update reads what the optimizer remembers.
    bool is_state = f->space->values.data[v].phase == EG_PHASE_UPDATE;
    eg_plan_kind kind = carried->is_sum ? EG_KIND_SUMS
                        : is_state      ? EG_KIND_STATES
                                        : EG_KIND_WEIGHTS;
    mark(f, carried->entry, kind);
    if (carried->is_sum)
      mark(f, eg_graph_output(graph_of(f), carried->output, NULL), EG_KIND_SUMS);
  }
}

/// Of inputs that are not carried. The first with a dimension tells the batch.
static void mark_inputs(finder *f) {
  const eg_graph *graph = graph_of(f);
  int64_t batch = 0;
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){i});
    uint32_t v =
        info->kind == EG_VALUE_COMPUTED ? EG_SPACE_NONE : value_of(f, (eg_value){i});
    if (v == EG_SPACE_NONE || f->kinds[v] != 0) continue;
    if (info->kind == EG_VALUE_WEIGHT) {
      f->kinds[v] |= BIT(EG_KIND_WEIGHTS);
      continue;
    }
    f->kinds[v] |= BIT(EG_KIND_INPUTS);
    if (info->type.rank == 0) continue;
    if (batch == 0) batch = info->type.dims[0];
    if (info->type.dims[0] == batch) f->kinds[v] |= BIT(EG_KIND_BATCHES);
  }
}

// ---- what is made -------------------------------------------------------------------

static void mark_ahead(finder *f) {
  for (uint32_t v = 0; v < f->space->values.len; v++)
    if (f->space->values.data[v].ahead.id != EG_NODE_NONE.id)
      f->kinds[v] |= BIT(EG_KIND_WEIGHTS);
}

static void mark_gradients(finder *f) {
  const eg_step_info *info = f->space->info;
  for (uint32_t i = 0; i < info->gradient_count; i++)
    mark(f, info->gradients[i], EG_KIND_GRADIENTS);
}

static bool is_outside(const finder *f, uint32_t v) {
  return f->space->values.data[v].phase == EG_PHASE_UPDATE;
}

/// Whether some operator makes the value of weights alone.
static bool is_made_of_weights(const finder *f, const eg_space_operator *op) {
  const uint32_t *inputs = f->space->inputs.data + op->inputs;
  for (uint32_t i = 0; i < op->input_count; i++)
    if ((f->kinds[inputs[i]] & BIT(EG_KIND_WEIGHTS)) == 0) return false;
  return op->input_count != 0 &&
         f->space->values.data[op->value].phase == EG_PHASE_FORWARD;
}

static bool moves_only(const finder *f, const eg_space_operator *op) {
  eg_term term = eg_engine_term(eg_tensor_egraph_engine_of(f->space->egraph), op->node);
  return op->input_count == 1 && (term.op == EG_OP_CAST || term.op == EG_OP_RESHAPE ||
                                  term.op == EG_OP_TRANSPOSE);
}

static bool pass_on(finder *f, const eg_space_operator *op) {
  uint16_t *made = &f->kinds[op->value];
  if (*made == 0 && is_made_of_weights(f, op)) {
    *made = BIT(EG_KIND_WEIGHTS);
    return true;
  }
  if ((*made & BIT(EG_KIND_GRADIENTS)) == 0 || !moves_only(f, op)) return false;
  uint16_t *operand = &f->kinds[f->space->inputs.data[op->inputs]];
  if (*operand != 0) return false;
  *operand = BIT(EG_KIND_GRADIENTS);
  return true;
}

static void spread(finder *f) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t o = 0; o < f->space->operators.len; o++)
      if (pass_on(f, &f->space->operators.data[o])) changed = true;
  }
}

static bool is_carried(const finder *f, uint32_t output) {
  const eg_step_info *info = f->space->info;
  for (uint32_t i = 0; i < info->carried_count; i++)
    if (info->carried[i].output == output) return true;
  return false;
}

static void mark_outputs(finder *f, uint16_t carried) {
  uint32_t outputs = eg_graph_output_count(graph_of(f));
  for (uint32_t i = 0; i < outputs; i++) {
    uint32_t v =
        eg_plan_space_value(f->space, eg_tensor_egraph_root(f->space->egraph, i));
    f->kinds[v] |= is_carried(f, i) ? carried : BIT(EG_KIND_OUTPUTS);
  }
}

static void mark_rest(finder *f) {
  uint16_t none = BIT(EG_PLAN_KINDS); // of no kind but that of all
  mark_outputs(f, none);
  for (uint32_t v = 0; v < f->space->values.len; v++) {
    if (f->kinds[v] == 0 && !is_outside(f, v)) f->kinds[v] = BIT(EG_KIND_ACTIVATIONS);
    f->kinds[v] = (uint16_t)((f->kinds[v] & ~none) | BIT(EG_KIND_VALUES));
  }
}

void eg_plan_kinds_find(const eg_plan_space *space, uint16_t *out) {
  finder f = {.space = space, .kinds = out};
  for (uint32_t v = 0; v < space->values.len; v++)
    out[v] = 0;
  mark_carried(&f);
  mark_inputs(&f);
  mark_ahead(&f);
  mark_gradients(&f);
  spread(&f);
  mark_rest(&f);
}
