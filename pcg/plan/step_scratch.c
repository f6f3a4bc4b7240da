// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/step_scratch.h"

// ---- moves ----------------------------------------------------------------------------

/// Returns the row-major type with the same bytes in memory as `type`, and sets
/// *inout_dim to the dimension of this type. Channels in blocks become two dimensions;
/// the first one counts blocks.
static eg_type stored_as(const eg_type *type, uint32_t *inout_dim) {
  static const uint32_t NHWC_PLACE[] = {0, 3, 1, 2};
  eg_format format = (eg_format)type->layout.format;
  eg_type out = *type;
  out.layout.format = EG_FORMAT_PLAIN;
  if (format == EG_FORMAT_PLAIN) return out;
  if (format == EG_FORMAT_NHWC) {
    for (uint32_t d = 0; d < type->rank; d++)
      out.dims[NHWC_PLACE[d]] = type->dims[d];
    *inout_dim = NHWC_PLACE[*inout_dim];
    return out;
  }
  int64_t block = eg_format_block(format);
  out.dims[1] = (type->dims[1] + block - 1) / block;
  out.dims[out.rank++] = block;
  return out;
}

eg_cut eg_cut_of(const eg_type *whole, uint32_t dim, size_t parts) {
  const eg_type stored = stored_as(whole, &dim), *type = &stored;
  eg_cut cut = {.outer = 1, .parts = parts, .bytes = eg_dtype_bytes(type->dtype)};
  for (uint32_t d = 0; d < dim; d++)
    cut.outer *= (size_t)type->dims[d];
  for (uint32_t d = dim; d < type->rank; d++)
    cut.bytes *= (size_t)type->dims[d];
  cut.bytes /= parts;
  return cut;
}

eg_move_cuts eg_move_cuts_of(const eg_mesh *mesh, const eg_transition *transition,
                             const eg_type *from, const eg_type *to) {
  size_t parts = mesh->axes[transition->axis].size;
  eg_move_cuts cuts = {.packed = {.outer = 0}};
  if (eg_digit_is_shard(transition->to))
    cuts.packed = eg_cut_of(from, eg_digit_dim(transition->to), parts);
  if (eg_digit_is_shard(transition->from))
    cuts.unpacked = eg_cut_of(to, eg_digit_dim(transition->from), parts);
  return cuts;
}

size_t eg_move_scratch(const eg_mesh *mesh, const eg_transition *transition,
                       const eg_type *from, const eg_type *to) {
  if (eg_transition_is_local(transition->kind)) return 0;
  eg_move_cuts cuts = eg_move_cuts_of(mesh, transition, from, to);
  return (eg_cut_is_packed(&cuts.packed) ? 0 : eg_type_bytes(from)) +
         (eg_cut_is_packed(&cuts.unpacked) ? 0 : eg_type_bytes(to));
}

static size_t move_scratch(const eg_plan *plan, const eg_plan_step *step) {
  const eg_plan_state *from = &plan->states.data[step->from];
  const eg_plan_state *to = &plan->states.data[step->to];
  const eg_type *whole = &eg_graph_value(plan->graph, from->value)->type;
  eg_type before = eg_sharding_local(&plan->mesh, whole, &from->layout);
  eg_type after = eg_sharding_local(&plan->mesh, whole, &to->layout);
  return eg_move_scratch(&plan->mesh, &step->transition, &before, &after);
}

// ---- halos ----------------------------------------------------------------------------

size_t eg_halo_scratch(const eg_type *local, const eg_halo *halo) {
  eg_type rows = *local;
  rows.dims[halo->dim] = halo->before + halo->after;
  return 2 * eg_type_bytes(&rows); // sent and received
}

/// Sums the bytes of the operands, enlarged by rows of neighbours, and adds those of the
/// largest exchange.
size_t eg_strategy_scratch(const eg_mesh *mesh, const eg_spread *spread,
                           const eg_strategy *strategy) {
  eg_halo halos[EG_MAX_MESH_AXES];
  size_t exchange = 0, operands = 0;
  uint32_t count = eg_spread_halos(spread, mesh, strategy, halos);
  if (count == 0) return 0;
  eg_type type = eg_sharding_local(mesh, &spread->spec.inputs[0], &strategy->inputs[0]);
  for (uint32_t h = 0; h < count; h++) {
    size_t bytes = eg_halo_scratch(&type, &halos[h]);
    if (bytes > exchange) exchange = bytes;
    type.dims[halos[h].dim] += halos[h].before + halos[h].after;
    operands += eg_type_bytes(&type);
  }
  return operands + exchange;
}

static egraph_status node_scratch(const eg_plan *plan, const eg_plan_step *step,
                                  eg_arena *arena, size_t *out) {
  const eg_spread *spread;
  const eg_strategy *strategy;
  EG_TRY(eg_plan_spread(plan, step, arena, &spread, &strategy));
  *out = eg_strategy_scratch(&plan->mesh, spread, strategy);
  return EGRAPH_OK;
}

egraph_status eg_plan_step_scratch(const eg_plan *plan, const eg_plan_step *step,
                                   eg_arena *arena, double *out) {
  size_t bytes;
  if (step->is_move)
    bytes = move_scratch(plan, step);
  else
    EG_TRY(node_scratch(plan, step, arena, &bytes));
  *out = (double)bytes;
  return EGRAPH_OK;
}
