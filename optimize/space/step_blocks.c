// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/step_blocks.h"

/// The block of each value by that of the forward value it was made for.
static egraph_status find_blocks(const eg_stamps *stamps, const eg_u32s *forward,
                                 eg_u32s *out) {
  for (size_t v = 0; v < stamps->len; v++) {
    uint32_t of = stamps->data[v].of;
    EG_TRY(
        eg_u32s_push(out, of == EG_STAMP_OF_NONE ? EG_BLOCK_OUTSIDE : forward->data[of]));
  }
  return EGRAPH_OK;
}

static egraph_status find(eg_step_blocks *out, const eg_graph *forward,
                          const eg_blocks *of_forward, const eg_training *training) {
  eg_u32s block, later; // [values of the forward graph]
  if (training == NULL)
    return eg_blocks_places(forward, of_forward, &out->value, &out->later);
  eg_u32s_init(&block, out->value.alloc);
  eg_u32s_init(&later, out->value.alloc);
  egraph_status status = eg_blocks_places(forward, of_forward, &block, &later);
  if (status == EGRAPH_OK) status = find_blocks(&training->stamps, &block, &out->value);
  if (status == EGRAPH_OK)
    status = eg_stamps_map(&training->stamps, &training->stamps, &later, &out->later);
  eg_u32s_deinit(&later);
  eg_u32s_deinit(&block);
  for (size_t v = 0; status == EGRAPH_OK && v < out->later.len; v++)
    if (out->value.data[v] == EG_BLOCK_OUTSIDE) out->later.data[v] = UINT32_MAX;
  return status;
}

egraph_status eg_step_blocks_init(eg_step_blocks *blocks, egraph_allocator alloc,
                                  const eg_graph *forward, const eg_blocks *of_forward,
                                  const eg_training *training) {
  eg_u32s_init(&blocks->value, alloc);
  eg_u32s_init(&blocks->later, alloc);
  egraph_status status = find(blocks, forward, of_forward, training);
  if (status != EGRAPH_OK) eg_step_blocks_deinit(blocks);
  return status;
}

void eg_step_blocks_deinit(eg_step_blocks *blocks) {
  eg_u32s_deinit(&blocks->value);
  eg_u32s_deinit(&blocks->later);
}

// ---- limits ---------------------------------------------------------------------------

enum { SEALED = 1, AT_AN_END = 2, IN_THE_MIDDLE = 4 };

/// Whether a value of a block is used where it is not the same for all: in another block;
/// outside, unless it comes from an end.
static bool crosses(uint32_t count, uint32_t from, uint32_t to) {
  if (from == EG_BLOCK_OUTSIDE || from == to) return false;
  bool is_inner = from != 0 && from != count - 1;
  return is_inner || to != EG_BLOCK_OUTSIDE;
}

static void flag_node(const eg_step_blocks *blocks, const eg_graph *step, uint32_t count,
                      uint32_t n, uint32_t *flags) {
  eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
  uint32_t to = eg_step_blocks_of(blocks, step, n);
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = node.inputs[i].id, from = blocks->value.data[v];
    if (crosses(count, from, to)) flags[v] |= SEALED;
    if (from != EG_BLOCK_OUTSIDE || to == EG_BLOCK_OUTSIDE) continue;
    flags[v] |= to == 0 || to == count - 1 ? AT_AN_END : IN_THE_MIDDLE;
  }
}

egraph_status eg_step_blocks_limits(const eg_step_blocks *blocks,
                                    const eg_training *training, const eg_graph *step,
                                    uint32_t count, eg_u32s *sealed, eg_u32s *fixed) {
  eg_u32s flags;
  eg_u32s_init(&flags, sealed->alloc);
  egraph_status status = eg_u32s_resize(&flags, eg_graph_value_count(step));
  for (uint32_t n = 0; status == EGRAPH_OK && n < eg_graph_node_count(step); n++)
    flag_node(blocks, step, count, n, flags.data);
  for (uint32_t v = 0; status == EGRAPH_OK && v < flags.len; v++) {
    bool ends = (flags.data[v] & (AT_AN_END | IN_THE_MIDDLE)) == AT_AN_END;
    bool is_sealed = (flags.data[v] & SEALED) != 0 || ends;
    if (eg_graph_value(step, (eg_value){v})->kind != EG_VALUE_COMPUTED) continue;
    eg_made made = training != NULL ? training->stamps.data[v].made : EG_MADE_COPY;
    if (made == EG_MADE_NORM || made == EG_MADE_COMMON)
      status = eg_u32s_push(fixed, v);
    else if (is_sealed)
      status = eg_u32s_push(sealed, v);
  }
  eg_u32s_deinit(&flags);
  return status;
}
