// Every statement narrows bit masks of layout letters (R, P, S0, ...), axis by axis. A
// statement is tried on a copy: a value that would have no layout left keeps its masks.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_limits.h"

#include <assert.h>
#include <string.h>

static const uint16_t ALL = UINT16_MAX;
static const uint16_t WHOLE = 1u << EG_SHARD_R;
static const uint16_t PARTIALS = (1u << EG_SHARD_P_SUM) | (1u << EG_SHARD_P_MAX);

static const eg_graph *space_graph(const eg_plan_space *space) {
  return eg_tensor_egraph_graph(space->egraph);
}

static uint32_t output_count(const eg_plan_space *space) {
  return eg_graph_output_count(space_graph(space));
}

// ---- kinds of values ------------------------------------------------------------------

// The kinds of inputs and of values passed to the next step are known; the kinds of other
// values follow from these. A value that forward computes from weights alone is a weight
// (such as a cast to a narrower type). A value that backward only casts or reshapes to a
// gradient is a gradient.

#define BIT(kind) ((uint16_t)(1u << (kind)))

static uint16_t *kinds_of(const eg_plan_limits *l, uint32_t value) {
  return &l->values[value].kinds;
}

static uint32_t limited_value(const eg_plan_limits *l, eg_value value) {
  return eg_plan_space_value(l->space,
                             eg_tensor_egraph_value_class(l->space->egraph, value));
}

static void mark_kind(eg_plan_limits *l, eg_value value, eg_plan_kind kind) {
  uint32_t v = limited_value(l, value);
  if (v != EG_SPACE_NONE) *kinds_of(l, v) |= BIT(kind);
}

static void mark_carried(eg_plan_limits *l) {
  const eg_step_info *info = l->space->info;
  for (uint32_t i = 0; i < info->carried_count; i++) {
    const eg_carried_value *carried = &info->carried[i];
    uint32_t v = limited_value(l, carried->entry);
    // Forward reads weights; only the update reads states of the optimizer.
    bool is_state = l->space->values.data[v].phase == EG_PHASE_UPDATE;
    eg_plan_kind kind = carried->is_sum ? EG_KIND_SUMS
                        : is_state      ? EG_KIND_STATES
                                        : EG_KIND_WEIGHTS;
    mark_kind(l, carried->entry, kind);
    if (carried->is_sum)
      mark_kind(l, eg_graph_output(space_graph(l->space), carried->output, NULL),
                EG_KIND_SUMS);
  }
}

/// Marks inputs that no step passes on. The first with a dimension gives the batch size.
static void mark_inputs(eg_plan_limits *l) {
  const eg_graph *graph = space_graph(l->space);
  int64_t batch = 0;
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){i});
    uint32_t v =
        info->kind == EG_VALUE_COMPUTED ? EG_SPACE_NONE : limited_value(l, (eg_value){i});
    if (v == EG_SPACE_NONE || *kinds_of(l, v) != 0) continue;
    if (info->kind == EG_VALUE_WEIGHT) {
      *kinds_of(l, v) |= BIT(EG_KIND_WEIGHTS);
      continue;
    }
    *kinds_of(l, v) |= BIT(EG_KIND_INPUTS);
    if (info->type.rank == 0) continue;
    if (batch == 0) batch = info->type.dims[0];
    if (info->type.dims[0] == batch) *kinds_of(l, v) |= BIT(EG_KIND_BATCHES);
  }
}

/// True when a forward operator makes its value from weights alone.
static bool is_made_of_weights(const eg_plan_limits *l, const eg_space_operator *op) {
  const uint32_t *inputs = l->space->inputs.data + op->inputs;
  for (uint32_t i = 0; i < op->input_count; i++)
    if ((*kinds_of(l, inputs[i]) & BIT(EG_KIND_WEIGHTS)) == 0) return false;
  return op->input_count != 0 &&
         l->space->values.data[op->value].phase == EG_PHASE_FORWARD;
}

static bool moves_only(const eg_plan_limits *l, const eg_space_operator *op) {
  eg_term term = eg_engine_term(eg_plan_space_engine(l->space), op->node);
  return op->input_count == 1 && (term.op == EG_OP_CAST || term.op == EG_OP_RESHAPE ||
                                  term.op == EG_OP_TRANSPOSE);
}

static bool pass_on(eg_plan_limits *l, const eg_space_operator *op) {
  uint16_t *made = kinds_of(l, op->value);
  if (*made == 0 && is_made_of_weights(l, op)) {
    *made = BIT(EG_KIND_WEIGHTS);
    return true;
  }
  if ((*made & BIT(EG_KIND_GRADIENTS)) == 0 || !moves_only(l, op)) return false;
  uint16_t *operand = kinds_of(l, l->space->inputs.data[op->inputs]);
  if (*operand != 0) return false;
  *operand = BIT(EG_KIND_GRADIENTS);
  return true;
}

/// Fills the kinds of all values. Linear in the space, except for chains of casts of
/// gradients.
static void find_kinds(eg_plan_limits *l) {
  const eg_plan_space *space = l->space;
  const eg_step_info *info = space->info;
  const uint16_t none = BIT(EG_PLAN_KINDS); // kind of every value
  mark_carried(l);
  mark_inputs(l);
  for (uint32_t v = 0; v < space->values.len; v++)
    if (space->values.data[v].ahead.id != EG_NODE_NONE.id)
      *kinds_of(l, v) |= BIT(EG_KIND_WEIGHTS);
  for (uint32_t i = 0; i < info->gradient_count; i++)
    mark_kind(l, info->gradients[i], EG_KIND_GRADIENTS);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t o = 0; o < space->operators.len; o++)
      if (pass_on(l, &space->operators.data[o])) changed = true;
  }
  for (uint32_t o = 0; o < output_count(space); o++)
    *kinds_of(l, l->outputs[o].value) |=
        l->outputs[o].is_carried ? none : BIT(EG_KIND_OUTPUTS);
  for (uint32_t v = 0; v < space->values.len; v++) {
    uint16_t *kinds = kinds_of(l, v);
    if (*kinds == 0 && space->values.data[v].phase != EG_PHASE_UPDATE)
      *kinds = BIT(EG_KIND_ACTIVATIONS);
    *kinds = (uint16_t)((*kinds & ~none) | BIT(EG_KIND_VALUES));
  }
}

static void begin_outputs(eg_plan_limits *limits) {
  const eg_step_info *info = limits->space->info;
  for (uint32_t i = 0; i < info->carried_count; i++) {
    eg_output_limits *output = &limits->outputs[info->carried[i].output];
    output->is_carried = true;
    output->is_sum = info->carried[i].is_sum;
  }
  for (uint32_t o = output_count(limits->space); o-- > 0;) {
    eg_output_limits *output = &limits->outputs[o];
    output->value = eg_plan_space_value(limits->space,
                                        eg_tensor_egraph_root(limits->space->egraph, o));
    output->next = limits->values[output->value].output;
    limits->values[output->value].output = o;
    for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++)
      output->digits[a] = output->is_carried ? ALL : WHOLE;
  }
}

egraph_status eg_plan_limits_init(eg_plan_limits *limits, egraph_allocator alloc,
                                  const eg_plan_space *space) {
  *limits = (eg_plan_limits){.alloc = alloc, .space = space};
  size_t count = space->values.len;
  EG_TRY(eg_alloc(alloc, count, sizeof *limits->values, &limits->values));
  egraph_status status =
      eg_alloc(alloc, output_count(space), sizeof *limits->outputs, &limits->outputs);
  if (status != EGRAPH_OK) {
    eg_plan_limits_deinit(limits);
    return status;
  }
  for (size_t v = 0; v < count; v++) {
    memset(limits->values[v].source, 0xff, sizeof limits->values[v].source);
    memset(limits->values[v].place, 0xff, sizeof limits->values[v].place);
    limits->values[v].output = EG_SPACE_NONE;
  }
  begin_outputs(limits);
  find_kinds(limits);
  return EGRAPH_OK;
}

void eg_plan_limits_deinit(eg_plan_limits *limits) {
  if (limits->space == NULL) return; // zeros
  eg_free(limits->alloc, limits->values, limits->space->values.len,
          sizeof *limits->values);
  eg_free(limits->alloc, limits->outputs, output_count(limits->space),
          sizeof *limits->outputs);
  limits->outputs = NULL;
  limits->values = NULL;
}

// ---- questions ----------------------------------------------------------------------

static const eg_layout *layout_at(const eg_plan_limits *limits, uint32_t value,
                                  uint32_t layout) {
  return &eg_plan_space_layouts(limits->space, value)->layouts.data[layout];
}

static bool is_layout_within(const eg_plan_limits *limits, const uint16_t *masks,
                             const eg_layout *layout) {
  for (uint32_t a = 0; a < limits->space->mesh.axis_count; a++)
    if ((masks[a] >> layout->sharding[a] & 1) == 0) return false;
  return true;
}

bool eg_plan_limits_allow_source(const eg_plan_limits *limits, uint32_t value,
                                 uint32_t layout) {
  return is_layout_within(limits, limits->values[value].source,
                          layout_at(limits, value, layout));
}

bool eg_plan_limits_allow_place(const eg_plan_limits *limits, uint32_t value,
                                uint32_t place, uint32_t layout) {
  assert(place < EG_LIMIT_PLACES);
  return is_layout_within(limits, limits->values[value].place[place],
                          layout_at(limits, value, layout));
}

bool eg_plan_limits_allow_move(const eg_plan_limits *limits, uint32_t value,
                               eg_phase phase, const eg_transition *transition) {
  return (limits->values[value].moves[phase][transition->axis] >> transition->kind & 1) ==
         0;
}

/// Returns the sharding letters in which an output may leave the step. No value enters as
/// a partial sum; therefore none leaves as one, even if the next step does not use it.
/// Exception: a sum over micro-batches, which begins as zero on every device.
static uint16_t may_leave(const eg_output_limits *output) {
  uint16_t sums = output->is_sum ? 1u << EG_SHARD_P_SUM : 0;
  return (uint16_t)(~PARTIALS | sums);
}

bool eg_plan_limits_allow_output(const eg_plan_limits *limits, uint32_t output,
                                 uint32_t layout) {
  const eg_output_limits *mine = &limits->outputs[output];
  const eg_layout *l = layout_at(limits, mine->value, layout);
  if (l->format != EG_FORMAT_PLAIN && !mine->is_carried) return false;
  for (uint32_t a = 0; a < limits->space->mesh.axis_count; a++)
    if ((mine->digits[a] & may_leave(mine) & 1u << l->sharding[a]) == 0) return false;
  return true;
}

// ---- narrowing ----------------------------------------------------------------------

static void narrow_masks(eg_value_limits *value, const eg_plan_constraint *row,
                         uint32_t axis) {
  if (row->verb == EG_VERB_PIN) {
    value->source[axis] &= row->digits;
    return;
  }
  for (uint32_t p = 0; p < EG_LIMIT_PLACES; p++)
    if (row->phase == EG_PHASE_COUNT || row->phase == (eg_phase)p)
      value->place[p][axis] &= (uint16_t)~row->digits;
  for (uint32_t p = 0; p < EG_PHASE_COUNT; p++)
    if (row->phase == EG_PHASE_COUNT || row->phase == (eg_phase)p)
      value->moves[p][axis] |= row->moves;
}

/// True when all masks of sharding letters allow some common layout. Layouts of partial
/// sums do not count, except for values pinned to such layouts.
static bool some_layout(const eg_plan_limits *limits, uint32_t v,
                        const uint16_t *const *masks, uint32_t count, uint16_t others) {
  const eg_layout_graph *graph = eg_plan_space_layouts(limits->space, v);
  uint16_t both[EG_MAX_MESH_AXES];
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++) {
    both[a] = others;
    for (uint32_t m = 0; m < count; m++)
      both[a] &= masks[m][a];
  }
  for (size_t l = 0; l < graph->layouts.len; l++)
    if (is_layout_within(limits, both, &graph->layouts.data[l])) return true;
  return false;
}

/// True when an output can be delivered in an allowed layout, if its value may be made in
/// a layout of the mask `place`.
static bool is_deliverable(const eg_plan_limits *limits, const eg_output_limits *wanted,
                           const uint16_t *place) {
  return some_layout(limits, wanted->value, (const uint16_t *[]){wanted->digits, place},
                     2, may_leave(wanted));
}

/// True when limits leave a value a layout in which it can be made, and a layout in each
/// phase and at the start of the step.
static bool can_keep_limits(const eg_plan_limits *limits, uint32_t v,
                            const eg_value_limits *wanted,
                            const eg_plan_constraint *row) {
  const eg_space_value *value = &limits->space->values.data[v];
  bool wants_partial = row->verb == EG_VERB_PIN && (row->digits & ~PARTIALS) == 0;
  uint16_t others = wants_partial ? ALL : (uint16_t)~PARTIALS;
  uint32_t home = value->is_entry ? EG_LIMIT_ENTRY : value->phase;
  const uint16_t *source[] = {wanted->source, wanted->place[home]};
  if (!some_layout(limits, v, source, 2, others)) return false;
  for (uint32_t p = 0; p < EG_LIMIT_PLACES; p++) {
    const uint16_t *place[] = {wanted->place[p]};
    if (!some_layout(limits, v, place, 1, others)) return false;
  }
  return true;
}

static bool try_narrow(eg_plan_limits *limits, uint32_t v, const eg_plan_constraint *row,
                       uint32_t axis) {
  eg_value_limits wanted = limits->values[v];
  narrow_masks(&wanted, row, axis);
  const uint16_t *place = wanted.place[limits->space->values.data[v].phase];
  if (!can_keep_limits(limits, v, &wanted, row)) return false;
  for (uint32_t o = wanted.output; o != EG_SPACE_NONE; o = limits->outputs[o].next)
    if (!is_deliverable(limits, &limits->outputs[o], place)) return false;
  limits->values[v] = wanted;
  return true;
}

/// Applies a deliver statement to an output: the first statement about an axis replaces
/// the default, further statements narrow the layouts.
static bool try_deliver(eg_plan_limits *limits, uint32_t output,
                        const eg_plan_constraint *row, uint32_t axis) {
  eg_output_limits wanted = limits->outputs[output];
  eg_phase phase = limits->space->values.data[wanted.value].phase;
  bool is_narrowed = wanted.is_carried || (wanted.is_said >> axis & 1) != 0;
  wanted.digits[axis] =
      is_narrowed ? (uint16_t)(wanted.digits[axis] & row->digits) : row->digits;
  wanted.is_said |= (uint8_t)(1u << axis);
  if (!is_deliverable(limits, &wanted, limits->values[wanted.value].place[phase]))
    return false;
  limits->outputs[output] = wanted;
  return true;
}

// ---- statements ---------------------------------------------------------------------

static egraph_status fail_unknown_name(const eg_plan_constraint *row) {
  return eg_plan_constraint_fail(
      row,
      "there is no value '%.200s' in the step; take the name of an "
      "input, weight or result from the text of a plan, or say (all KIND)",
      row->value);
}

static egraph_status fail_empty(const eg_plan_limits *limits,
                                const eg_plan_constraint *row, uint32_t v,
                                uint32_t axis) {
  const eg_mesh_axis *cut = &limits->space->mesh.axes[axis];
  eg_value_limits wanted = limits->values[v];
  narrow_masks(&wanted, row, axis);
  if (row->verb != EG_VERB_DELIVER && can_keep_limits(limits, v, &wanted, row))
    return eg_plan_constraint_fail(
        row,
        "this leaves no layout on axis %s=%u in which output '%.200s' may be delivered; "
        "outputs are delivered as R unless (deliver %.200s %s=S) says otherwise",
        cut->name, cut->size, row->value, row->value, cut->name);
  const eg_layout_graph *graph = eg_plan_space_layouts(limits->space, v);
  EG_LOCAL(eg_text, type, limits->alloc);
  EG_TRY(eg_type_print(&type, &graph->type));
  return eg_plan_constraint_fail(
      row,
      "this leaves '%.200s' (%s) no layout on axis %s=%u: a dimension is not there or "
      "does not divide, or a statement above is against it; change one of them",
      row->value, eg_text_of(&type), cut->name, cut->size);
}

static egraph_status add_to_all(eg_plan_limits *limits, const eg_plan_constraint *row,
                                uint32_t axis, bool lenient) {
  const eg_plan_space *space = limits->space;
  uint32_t members = 0, held = 0;
  for (uint32_t v = 0; v < space->values.len; v++) {
    if ((*kinds_of(limits, v) >> row->kind & 1) == 0) continue;
    members++;
    held += try_narrow(limits, v, row, axis);
  }
  if (lenient || held != 0) return EGRAPH_OK;
  if (members == 0)
    return eg_plan_constraint_fail(row, "the step has no %s; remove the statement",
                                   eg_plan_kind_name(row->kind));
  return eg_plan_constraint_fail(
      row,
      "none of %u %s can be so on axis %s=%u: no dimension divides, or a statement above "
      "is against it; change one of them",
      members, eg_plan_kind_name(row->kind), space->mesh.axes[axis].name,
      space->mesh.axes[axis].size);
}

/// True when a deliver statement applies to this output: it has the output's name, or it
/// is about a kind and no step hands the output to the next.
static bool is_meant(const eg_plan_limits *limits, const eg_plan_constraint *row,
                     uint32_t output) {
  const char *name;
  eg_value value = eg_graph_output(space_graph(limits->space), output, &name);
  if (row->value == NULL) return !limits->outputs[output].is_carried;
  return strcmp(row->value, eg_graph_value(space_graph(limits->space), value)->name) == 0;
}

static egraph_status fail_delivery(const eg_plan_limits *limits,
                                   const eg_plan_constraint *row, uint32_t output,
                                   uint32_t axis) {
  const char *name;
  (void)eg_graph_output(space_graph(limits->space), output, &name);
  if ((row->digits & may_leave(&limits->outputs[output])) == 0)
    return eg_plan_constraint_fail(
        row,
        "output '%.200s' would be delivered as partial results, which whoever takes it "
        "would have to put together; deliver it as R or S (pin says how it is made)",
        name);
  return fail_empty(limits, row, limits->outputs[output].value, axis);
}

static egraph_status fail_no_output(const eg_plan_limits *limits,
                                    const eg_plan_constraint *row) {
  eg_value value;
  if (row->value == NULL)
    return eg_plan_constraint_fail(
        row, "the step hands all its outputs to the next; remove the statement");
  if (!eg_graph_find_value(space_graph(limits->space), row->value, &value))
    return fail_unknown_name(row);
  return eg_plan_constraint_fail(
      row,
      "'%.200s' is no output of the step, so that it is delivered to nobody; pin says in "
      "which layout it is made",
      row->value);
}

static egraph_status add_delivery(eg_plan_limits *limits, const eg_plan_constraint *row,
                                  uint32_t axis, bool lenient) {
  uint32_t meant = 0, held = 0, last = 0;
  for (uint32_t o = 0; o < output_count(limits->space); o++) {
    if (!is_meant(limits, row, o)) continue;
    bool holds = try_deliver(limits, o, row, axis);
    meant++;
    held += holds;
    if (!holds) last = o;
  }
  if (lenient || (held == meant && held != 0) || (row->value == NULL && held != 0))
    return EGRAPH_OK;
  return meant == 0 ? fail_no_output(limits, row)
                    : fail_delivery(limits, row, last, axis);
}

static egraph_status add_statement(eg_plan_limits *limits, const eg_plan_constraint *row,
                                   bool lenient) {
  const eg_mesh *mesh = &limits->space->mesh;
  if (row->verb == EG_VERB_DELIVER) {
    for (uint32_t a = 0; a < mesh->axis_count; a++)
      if (row->axis == NULL || strcmp(row->axis, mesh->axes[a].name) == 0)
        EG_TRY(add_delivery(limits, row, a, lenient));
    return EGRAPH_OK;
  }
  eg_value named;
  bool is_named = row->value != NULL &&
                  eg_graph_find_value(space_graph(limits->space), row->value, &named);
  uint32_t v = is_named ? limited_value(limits, named) : EG_SPACE_NONE;
  if (row->value != NULL && v == EG_SPACE_NONE)
    return lenient ? EGRAPH_OK : fail_unknown_name(row);
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (row->axis != NULL && strcmp(row->axis, mesh->axes[a].name) != 0) continue;
    if (row->value == NULL)
      EG_TRY(add_to_all(limits, row, a, lenient));
    else if (!try_narrow(limits, v, row, a) && !lenient)
      return fail_empty(limits, row, v, a);
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_limits_add(eg_plan_limits *limits,
                                 const eg_plan_constraints *constraints, size_t count,
                                 bool lenient) {
  assert(count <= constraints->rows.len);
  const eg_plan_constraint_rows *rows = &constraints->rows;
  // Deliver statements come first: they allow more than before, other statements
  // allow less.
  for (size_t i = 0; i < rows->len; i++)
    if (rows->data[i].verb == EG_VERB_DELIVER)
      EG_TRY(add_statement(limits, &rows->data[i], lenient));
  for (size_t i = 0; i < count; i++)
    if (rows->data[i].verb != EG_VERB_DELIVER)
      EG_TRY(add_statement(limits, &rows->data[i], lenient));
  return EGRAPH_OK;
}
