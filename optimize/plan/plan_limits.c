// Every statement narrows masks of digits, axis by axis. It is tried on a copy: a value
// that would be left without a layout keeps the masks that it had.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_limits.h"

#include <string.h>

#include "optimize/plan/plan_kinds.h"

static const uint16_t ALL = UINT16_MAX;
static const uint16_t PARTIALS = (1u << EG_SHARD_P_SUM) | (1u << EG_SHARD_P_MAX);

egraph_status eg_plan_limits_init(eg_plan_limits *limits, egraph_allocator alloc,
                                  const eg_plan_space *space) {
  *limits = (eg_plan_limits){.alloc = alloc, .space = space};
  size_t count = space->values.len;
  EG_TRY(eg_alloc(alloc, count, sizeof *limits->values, &limits->values));
  egraph_status status = eg_alloc(alloc, count, sizeof *limits->kinds, &limits->kinds);
  if (status != EGRAPH_OK) {
    eg_plan_limits_deinit(limits);
    return status;
  }
  for (size_t v = 0; v < count; v++) {
    memset(limits->values[v].source, 0xff, sizeof limits->values[v].source);
    memset(limits->values[v].place, 0xff, sizeof limits->values[v].place);
  }
  eg_plan_kinds_find(space, limits->kinds);
  return EGRAPH_OK;
}

void eg_plan_limits_deinit(eg_plan_limits *limits) {
  size_t count = limits->space->values.len;
  eg_free(limits->alloc, limits->values, count, sizeof *limits->values);
  eg_free(limits->alloc, limits->kinds, count, sizeof *limits->kinds);
  limits->values = NULL;
  limits->kinds = NULL;
}

// ---- questions ----------------------------------------------------------------------

static const eg_layout *layout_at(const eg_plan_limits *limits, uint32_t value,
                                  uint32_t layout) {
  return &eg_plan_space_layouts(limits->space, value)->layouts.data[layout];
}

static bool is_within(const eg_plan_limits *limits, const uint16_t *masks,
                      const eg_layout *layout) {
  for (uint32_t a = 0; a < limits->space->mesh.axis_count; a++)
    if ((masks[a] >> layout->sharding[a] & 1) == 0) return false;
  return true;
}

bool eg_plan_limits_allow_source(const eg_plan_limits *limits, uint32_t value,
                                 uint32_t layout) {
  return is_within(limits, limits->values[value].source,
                   layout_at(limits, value, layout));
}

bool eg_plan_limits_allow_place(const eg_plan_limits *limits, uint32_t value,
                                uint32_t place, uint32_t layout) {
  return is_within(limits, limits->values[value].place[place],
                   layout_at(limits, value, layout));
}

bool eg_plan_limits_allow_move(const eg_plan_limits *limits, uint32_t value,
                               eg_phase phase, const eg_transition *transition) {
  return (limits->values[value].moves[phase][transition->axis] >> transition->kind & 1) ==
         0;
}

// ---- narrowing ----------------------------------------------------------------------

static void narrow(eg_value_limits *value, const eg_plan_constraint *row, uint32_t axis) {
  if (row->is_pin) {
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

/// Whether a layout is in all masks that count; but for what is pinned to them, partial
/// sums do not.
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
    if (is_within(limits, both, &graph->layouts.data[l])) return true;
  return false;
}

/// Whether the value can be made, and be in each of its places.
static bool is_possible(const eg_plan_limits *limits, uint32_t v,
                        const eg_value_limits *wanted, const eg_plan_constraint *row) {
  const eg_space_value *value = &limits->space->values.data[v];
  bool wants_partial = row->is_pin && (row->digits & ~PARTIALS) == 0;
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
  narrow(&wanted, row, axis);
  if (!is_possible(limits, v, &wanted, row)) return false;
  limits->values[v] = wanted;
  return true;
}

// ---- statements ---------------------------------------------------------------------

static egraph_status fail_unknown(const eg_plan_constraint *row) {
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
  const eg_layout_graph *graph = eg_plan_space_layouts(limits->space, v);
  eg_text type;
  eg_text_init(&type, limits->alloc);
  egraph_status status = eg_type_print(&type, &graph->type);
  if (status == EGRAPH_OK)
    status = eg_plan_constraint_fail(
        row,
        "this leaves '%.200s' (%s) no layout on axis %s=%u: a dimension is not there or "
        "does not divide, or a statement above is against it; change one of them",
        row->value, eg_text_of(&type), cut->name, cut->size);
  eg_text_deinit(&type);
  return status;
}

/// The value that a statement names; EG_SPACE_NONE: of a kind, or unknown.
static uint32_t named_value(const eg_plan_limits *limits, const eg_plan_constraint *row) {
  const eg_tensor_egraph *egraph = limits->space->egraph;
  eg_value value;
  if (row->value == NULL ||
      !eg_graph_find_value(eg_tensor_egraph_graph(egraph), row->value, &value))
    return EG_SPACE_NONE;
  return eg_plan_space_value(limits->space, eg_tensor_egraph_value_class(egraph, value));
}

static egraph_status add_to_all(eg_plan_limits *limits, const eg_plan_constraint *row,
                                uint32_t axis, bool lenient) {
  const eg_plan_space *space = limits->space;
  uint32_t members = 0, held = 0;
  for (uint32_t v = 0; v < space->values.len; v++) {
    if ((limits->kinds[v] >> row->kind & 1) == 0) continue;
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

static egraph_status add_statement(eg_plan_limits *limits, const eg_plan_constraint *row,
                                   bool lenient) {
  const eg_mesh *mesh = &limits->space->mesh;
  uint32_t v = named_value(limits, row);
  if (row->value != NULL && v == EG_SPACE_NONE)
    return lenient ? EGRAPH_OK : fail_unknown(row);
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
  for (size_t i = 0; i < count; i++)
    EG_TRY(add_statement(limits, &constraints->rows.data[i], lenient));
  return EGRAPH_OK;
}
