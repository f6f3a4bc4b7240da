// SPDX-License-Identifier: Apache-2.0
#include "exec/strips.h"

#include <assert.h>

// Operations that a core performs in the time in which it copies a byte. Measured in
// nChw16c, with operands in the caches: 3x3 depthwise on [1,96,56,112] a copy takes 48
// us, a strip 2.5 us; 64 to 64 channels on [1,64,28,56] a copy 7.5 us, a strip 35 us.
static const double FLOPS_PER_BYTE = 2;

/// Returns the padding attribute of a window's node; NULL for operators that do not run
/// over strips: their rows differ from the result's rows, or a copy takes less time.
static const eg_attr *pads_of(const eg_node_spec *spec) {
  enum { CONV_OPERANDS = 3 }; // no operand z, which would have rows like the result
  switch ((int)spec->attrs->op) {
  case EG_OP_CONV: {
    // A convolution that mixes channels copies the block: with strides and other pads on
    // both sides, its measured slowdown exceeds the time of the copy.
    const eg_type *weight = &spec->inputs[1];
    bool is_depthwise =
        weight->dims[1] == 1 && weight->dims[0] == spec->inputs[0].dims[1];
    return spec->input_count <= CONV_OPERANDS && is_depthwise
               ? eg_attr_at(spec->attrs, EG_A_CONV_PADS)
               : NULL;
  }
  case EG_OP_MAX_POOL: return eg_attr_at(spec->attrs, EG_A_MAX_POOL_PADS);
  case EG_OP_AVERAGE_POOL: return eg_attr_at(spec->attrs, EG_A_AVERAGE_POOL_PADS);
  default: return NULL;
  }
}

// ---- specs ----------------------------------------------------------------------------

/// Copies `spec` with other numbers of rows of operand 0 and of the result.
static egraph_status with_rows(const eg_node_spec *spec, uint32_t dim, int64_t rows,
                               int64_t results, eg_arena *arena, eg_node_spec *out) {
  eg_type *types;
  EG_TRY(eg_arena_alloc(arena, spec->input_count + 1, sizeof *types, &types));
  memcpy(types, spec->inputs, spec->input_count * sizeof *types);
  types[spec->input_count] = spec->results[0];
  types[0].dims[dim] = rows;
  types[spec->input_count].dims[dim] = results;
  *out = *spec;
  out->inputs = types;
  out->results = types + spec->input_count;
  return EGRAPH_OK;
}

/// Replaces a neighbour's rows (halo) by padding of the window.
static egraph_status pad_rows(const eg_attr *pads, const eg_halo *halo, eg_arena *arena,
                              eg_node_spec *inout) {
  const eg_attrs *from = inout->attrs;
  eg_attrs *attrs;
  eg_attr *slots;
  int64_t *list;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *attrs, &attrs));
  EG_TRY(eg_arena_alloc(arena, from->count, sizeof *slots, &slots));
  EG_TRY(eg_arena_alloc(arena, pads->ints.len, sizeof *list, &list));
  memcpy(slots, from->slots, from->count * sizeof *slots);
  memcpy(list, pads->ints.data, pads->ints.len * sizeof *list);
  list[halo->dim - 2] = halo->before;
  list[halo->dim - 2 + pads->ints.len / 2] = halo->after;
  slots[pads - from->slots].ints.data = list;
  *attrs = (eg_attrs){.op = from->op, .count = from->count, .slots = slots};
  inout->attrs = attrs;
  return EGRAPH_OK;
}

static bool is_well_typed(const eg_node_spec *spec) {
  eg_type result;
  return eg_op_infer(spec->attrs, spec->inputs, spec->input_count, &result) ==
             EGRAPH_OK &&
         eg_type_same_shape(&result, &spec->results[0]);
}

// ---- strips ---------------------------------------------------------------------------

/// Adds a strip of border rows; *out_fits is false when it needs both neighbours' rows.
static egraph_status add_strip(const eg_node_spec *spec, const eg_halo *halo,
                               bool is_after, eg_arena *arena, eg_strips *inout,
                               bool *out_fits) {
  int64_t held = spec->inputs[0].dims[halo->dim] - halo->before - halo->after;
  int64_t all = spec->results[0].dims[halo->dim];
  // rows of the result that read rows after the block
  int64_t room = held + halo->before - halo->window;
  int64_t first_after = room < 0 ? 0 : room / halo->stride + 1;
  int64_t count_before = (halo->before + halo->stride - 1) / halo->stride;
  int64_t from = is_after ? first_after : 0;
  int64_t until = is_after ? all : count_before;
  int64_t rows = (until - from - 1) * halo->stride + halo->window;
  int64_t own = rows - (is_after ? halo->after : halo->before);
  *out_fits = from < until && until - from < all && own > 0 && own <= held;
  if (!*out_fits) return EGRAPH_OK;
  eg_node_spec *part = &inout->specs[inout->count];
  EG_TRY(with_rows(spec, halo->dim, rows, until - from, arena, part));
  *out_fits = is_well_typed(part);
  inout->strips[inout->count++] = (eg_strip){.operand = part->inputs[0],
                                             .result = part->results[0],
                                             .dim = halo->dim,
                                             .is_after = is_after,
                                             .own_from = is_after ? held - own : 0,
                                             .own_count = own,
                                             .result_from = from};
  return EGRAPH_OK;
}

static double cost_of(const eg_node_spec *spec) {
  double bytes = (double)eg_type_bytes(&spec->results[0]);
  for (uint32_t i = 0; i < spec->input_count; i++)
    bytes += (double)eg_type_bytes(&spec->inputs[i]);
  return bytes + eg_node_spec_flops(spec) / FLOPS_PER_BYTE;
}

static bool is_worth_while(const eg_node_spec *spec, const eg_strips *strips) {
  double cost = 0;
  for (uint32_t i = 0; i < strips->count; i++)
    cost += cost_of(&strips->specs[i]);
  return cost < (double)eg_type_bytes(&spec->inputs[0]);
}

egraph_status eg_strips_of(const eg_node_spec *spec, const eg_halo *halo, bool has_before,
                           bool has_after, eg_arena *arena, eg_strips *out) {
  assert(spec->input_count != 0 && halo->dim < spec->inputs[0].rank);
  const eg_attr *pads = pads_of(spec);
  const bool has[] = {has_before && halo->before > 0, has_after && halo->after > 0};
  bool fits = pads != NULL && spec->result_count == 1;
  eg_strips strips = {.is_used = false};
  *out = strips;
  if (!fits) return EGRAPH_OK;
  int64_t held = spec->inputs[0].dims[halo->dim] - halo->before - halo->after;
  EG_TRY(with_rows(spec, halo->dim, held, spec->results[0].dims[halo->dim], arena,
                   &strips.whole));
  EG_TRY(pad_rows(pads, halo, arena, &strips.whole));
  fits = is_well_typed(&strips.whole);
  for (int side = 0; fits && side < EG_MOST_STRIPS; side++)
    if (has[side]) EG_TRY(add_strip(spec, halo, side == 1, arena, &strips, &fits));
  strips.is_used = fits && is_worth_while(spec, &strips);
  *out = strips;
  return EGRAPH_OK;
}

// ---- rows -----------------------------------------------------------------------------

egraph_status eg_strip_gather(const eg_strip *strip, eg_backend *memory,
                              const eg_rows *block, const eg_halo_rows *rows, void *to) {
  assert(strip->own_count > 0);
  eg_rows operand = {.type = strip->operand, .data = to};
  const eg_rows *near = strip->is_after ? &rows->after : &rows->before;
  int64_t count = near->type.dims[strip->dim];
  EG_TRY(eg_rows_copy(memory, strip->dim, count, &operand,
                      strip->is_after ? strip->own_count : 0, near, 0));
  return eg_rows_copy(memory, strip->dim, strip->own_count, &operand,
                      strip->is_after ? 0 : count, block, strip->own_from);
}

egraph_status eg_strip_place(const eg_strip *strip, eg_backend *memory, void *from,
                             const eg_rows *result) {
  eg_rows part = {.type = strip->result, .data = from};
  return eg_rows_copy(memory, strip->dim, part.type.dims[strip->dim], result,
                      strip->result_from, &part, 0);
}
