// A gradient comes from the last block: it enters the middle one where that adds to it,
// and leaves it where the first does. A norm is added up from the first block on. What
// else is added to what another block hands on looks the same, and does no harm.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/step_sums.h"

enum { FIRST, MIDDLE, LAST }; // of three blocks

/// Where a value of block `to` is added to a sum of block `from`.
typedef struct sum_place {
  uint32_t from, to;
} sum_place;
static const sum_place places[][2] = {{{LAST, MIDDLE}, {MIDDLE, FIRST}},
                                      {{FIRST, MIDDLE}, {MIDDLE, LAST}}};

static egraph_status find_at(const sum_place *place, const eg_step_blocks *blocks,
                             const eg_graph *step, eg_u32s *out) {
  out->len = 0;
  for (uint32_t n = 0; n < eg_graph_node_count(step); n++) {
    eg_graph_node_info node = eg_graph_node_at(step, (eg_graph_node){n});
    uint32_t in = blocks->node.data[n];
    if (node.attrs->op != EG_OP_ADD || (in != place->to && in != EG_BLOCK_SEVERAL))
      continue;
    for (uint32_t i = 0; i < 2; i++) {
      uint32_t sum = node.inputs[i].id, added = node.inputs[1 - i].id;
      if (blocks->value.data[sum] == place->from &&
          blocks->value.data[added] == place->to)
        EG_TRY(eg_u32s_push(out, sum));
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_pairs(eg_step_sums *sums, const eg_step_blocks *blocks,
                                const eg_graph *step, eg_u32s *entering,
                                eg_u32s *leaving) {
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    EG_TRY(find_at(&places[k][0], blocks, step, entering));
    EG_TRY(find_at(&places[k][1], blocks, step, leaving));
    if (entering->len != leaving->len) continue;
    for (size_t i = 0; i < entering->len; i++)
      EG_TRY(eg_step_sums_push(sums,
                               (eg_step_sum){{entering->data[i]}, {leaving->data[i]}}));
  }
  return EGRAPH_OK;
}

egraph_status eg_step_sums_find(eg_step_sums *sums, const eg_step_blocks *blocks,
                                const eg_graph *step) {
  eg_u32s entering, leaving;
  eg_u32s_init(&entering, sums->alloc);
  eg_u32s_init(&leaving, sums->alloc);
  egraph_status status = find_pairs(sums, blocks, step, &entering, &leaving);
  eg_u32s_deinit(&leaving);
  eg_u32s_deinit(&entering);
  return status;
}
