// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/layout_graph.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "optimize/price/plan_price.h"
#include "pcg/plan/step_scratch.h"

/// Finds the next combination of sharding letters, one per axis; false after the last.
static bool next_digits(const eg_mesh *mesh, uint32_t rank, eg_layout *layout) {
  for (uint32_t a = mesh->axis_count; a-- > 0;) {
    if (++layout->sharding[a] < EG_SHARD_S0 + rank) return true;
    layout->sharding[a] = EG_SHARD_R;
  }
  return false;
}

/// Adds a legal sharding in every memory format that fits the part of one device.
static egraph_status add_formats(eg_layout_graph *graph, const eg_mesh *mesh,
                                 eg_layout sharding) {
  eg_type local = eg_sharding_local(mesh, &graph->type, &sharding);
  for (unsigned f = EG_FORMAT_PLAIN; f < EG_FORMAT_COUNT; f++) {
    bool is_in = f == EG_FORMAT_PLAIN ||
                 ((graph->formats >> f & 1) != 0 && eg_format_fits(&local, (eg_format)f));
    sharding.format = (uint8_t)f;
    if (!is_in) continue;
    if (graph->layouts.len == EG_LAYOUT_GRAPH_MAX)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "a tensor of rank %u has more than %d layouts on this mesh; use a "
                     "mesh of fewer axes",
                     graph->type.rank, EG_LAYOUT_GRAPH_MAX);
    EG_TRY(eg_layouts_push(&graph->layouts, sharding));
  }
  return EGRAPH_OK;
}

static egraph_status add_reorders_from(eg_layout_graph *graph, const eg_mesh *mesh,
                                       uint32_t from, const eg_plan_costs *costs) {
  const eg_layout layout = graph->layouts.data[from];
  const eg_type local = eg_sharding_local(mesh, &graph->type, &layout);
  for (unsigned f = EG_FORMAT_PLAIN; f < EG_FORMAT_COUNT; f++) {
    eg_layout to = layout;
    eg_type target = local;
    to.format = target.layout.format = (uint8_t)f;
    eg_layout_move move = {.from = from, .to = eg_layout_graph_find(graph, &to)};
    if (move.to == UINT32_MAX ||
        !eg_transition_between(mesh, &graph->type, &layout, &to, &move.transition))
      continue;
    eg_node_price price = {.basis = 0};
    EG_TRY(eg_reorder_price(costs, &local, &target, &price));
    move.seconds = price.seconds;
    move.basis = price.basis;
    if (isfinite(move.seconds)) EG_TRY(eg_layout_moves_push(&graph->moves, move));
  }
  return EGRAPH_OK;
}

static egraph_status add_moves_from(eg_layout_graph *graph, const eg_mesh *mesh,
                                    uint32_t from, const eg_plan_costs *costs) {
  const eg_layout *layout = &graph->layouts.data[from];
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    for (uint32_t digit = 0; digit < EG_SHARD_S0 + graph->type.rank; digit++) {
      eg_layout to = *layout;
      to.sharding[a] = (uint8_t)digit;
      eg_layout_move move = {.from = from, .to = eg_layout_graph_find(graph, &to)};
      if (move.to == UINT32_MAX ||
          !eg_transition_between(mesh, &graph->type, layout, &to, &move.transition))
        continue;
      const eg_type before = eg_sharding_local(mesh, &graph->type, layout),
                    after = eg_sharding_local(mesh, &graph->type, &to);
      move.scratch = (double)eg_move_scratch(mesh, &move.transition, &before, &after);
      double bytes = eg_transition_bytes(mesh, &graph->type, layout, &move.transition);
      if (!eg_transition_is_local(move.transition.kind))
        move.seconds = costs->transition(costs->self, &move.transition, bytes);
      EG_TRY(eg_layout_moves_push(&graph->moves, move));
    }
  return EGRAPH_OK;
}

egraph_status eg_layout_graph_build(eg_layout_graph *graph, const eg_mesh *mesh,
                                    const eg_type *type, uint32_t formats,
                                    const eg_plan_costs *costs) {
  assert(graph->layouts.len == 0 && graph->moves.len == 0);
  graph->type = *type;
  graph->formats = formats;
  graph->type.layout = (eg_layout){.format = EG_FORMAT_PLAIN};
  eg_layout layout = {.format = EG_FORMAT_PLAIN};
  do
    if (eg_sharding_check(mesh, &graph->type, &layout) == EG_SHARDING_LEGAL)
      EG_TRY(add_formats(graph, mesh, layout));
  while (next_digits(mesh, graph->type.rank, &layout));
  for (uint32_t i = 0; i < graph->layouts.len; i++) {
    EG_TRY(add_moves_from(graph, mesh, i, costs));
    if (formats != 0) EG_TRY(add_reorders_from(graph, mesh, i, costs));
  }
  return EGRAPH_OK;
}

_Static_assert(sizeof(eg_layout) == EG_MAX_MESH_AXES + 1,
               "layouts are compared as bytes: digits, then the format");

uint32_t eg_layout_graph_find(const eg_layout_graph *graph, const eg_layout *layout) {
  size_t low = 0, high = graph->layouts.len;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = memcmp(&graph->layouts.data[middle], layout, sizeof *layout);
    if (order == 0) return (uint32_t)middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return UINT32_MAX;
}

// ---- meshes without axes of one device --------------------------------------------

/// Finds the axes of `part` in `whole` by name, in order; returns how many were found.
static uint32_t find_axes(const eg_mesh *part, const eg_mesh *whole,
                          uint32_t out[EG_MAX_MESH_AXES]) {
  uint32_t count = 0;
  for (uint32_t a = 0; a < whole->axis_count && count < part->axis_count; a++)
    if (whole->axes[a].size == part->axes[count].size &&
        strcmp(whole->axes[a].name, part->axes[count].name) == 0)
      out[count++] = a;
  return count;
}

bool eg_unit_axes_are_of(const eg_mesh *part, const eg_mesh *whole) {
  uint32_t axes[EG_MAX_MESH_AXES];
  return find_axes(part, whole, axes) == part->axis_count;
}

eg_machine_mesh eg_unit_axes_drop(const eg_machine_mesh *mesh) {
  eg_machine_mesh out = {.collectives = mesh->collectives};
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) {
    if (mesh->mesh.axes[a].size == 1 || (mesh->idle >> a & 1) != 0) continue;
    out.mesh.axes[out.mesh.axis_count] = mesh->mesh.axes[a];
    out.links[out.mesh.axis_count++] = mesh->links[a];
  }
  return out;
}

eg_layout eg_unit_axes_narrow(const eg_layout *layout, const eg_mesh *whole,
                              const eg_mesh *part) {
  uint32_t axes[EG_MAX_MESH_AXES], count = find_axes(part, whole, axes);
  eg_layout out = *layout;
  memset(out.sharding, 0, sizeof out.sharding);
  for (uint32_t a = 0; a < count; a++)
    out.sharding[a] = layout->sharding[axes[a]];
  return out;
}

/// Moves `count` sharding letters or actions to the given axes of a larger mesh; the
/// other axes get 0 (R, REPLICATE).
static void spread_digits(uint8_t *digits, const uint32_t *axes, uint32_t count) {
  uint8_t narrow[EG_MAX_MESH_AXES];
  memcpy(narrow, digits, sizeof narrow);
  memset(digits, 0, sizeof narrow);
  for (uint32_t a = 0; a < count; a++)
    digits[axes[a]] = narrow[a];
}

void eg_unit_axes_restore(eg_plan *plan, const eg_mesh *whole) {
  _Static_assert(EG_SHARD_R == 0 && EG_ACTION_REPLICATE == 0, "left out means 0");
  uint32_t axes[EG_MAX_MESH_AXES], count = find_axes(&plan->mesh, whole, axes);
  assert(count == plan->mesh.axis_count);
  plan->mesh = *whole;
  for (size_t i = 0; i < plan->states.len; i++)
    spread_digits(plan->states.data[i].layout.sharding, axes, count);
  for (size_t i = 0; i < plan->steps.len; i++) {
    eg_plan_step *step = &plan->steps.data[i];
    if (!step->is_move)
      spread_digits(step->action, axes, count);
    else if (step->transition.kind != EG_TRANSITION_REORDER)
      step->transition.axis = axes[step->transition.axis];
  }
}
