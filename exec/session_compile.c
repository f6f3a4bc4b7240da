// Programs of the nodes, decisions in place, and the memory plan.
// SPDX-License-Identifier: Apache-2.0
#include "exec/session_build.h"
#include "pcg/spec_copy.h"

egraph_status eg_session_program(eg_session_builder *b, const eg_node_spec *spec,
                                 uint64_t dying, eg_program **out) {
  return eg_program_cache_find(&b->session->programs, b->session->backend,
                               &(eg_compile_request){.spec = spec, .dying = dying}, out);
}

static uint32_t region_of(const eg_session_builder *b, eg_value value) {
  return b->values[value.id].region;
}

static egraph_status list_regions(eg_session_builder *b, const eg_graph_node_info *info,
                                  uint32_t **out) {
  EG_TRY(eg_arena_alloc(&b->scratch, info->input_count, sizeof **out, out));
  for (uint32_t i = 0; i < info->input_count; i++)
    (*out)[i] = region_of(b, info->inputs[i]);
  return EGRAPH_OK;
}

static egraph_status compile_node(eg_session_builder *b, uint32_t n) {
  eg_graph_node_info info = eg_graph_node_at(b->graph, (eg_graph_node){n});
  eg_node_spec spec;
  eg_arena_deinit(&b->scratch);
  EG_TRY(eg_session_spec(b, n, &spec));
  uint32_t *operands;
  EG_TRY(list_regions(b, &info, &operands));
  uint64_t dying = eg_regions_dying(&b->regions, operands, info.input_count,
                                    region_of(b, info.results[0]), n + 1);
  eg_program *program = NULL;
  EG_TRY(eg_session_program(b, &spec, dying, &program));
  b->nodes[n].program = program;
  if (program->info.scratch_bytes > b->scratch_bytes)
    b->scratch_bytes = program->info.scratch_bytes;
  if (program->info.overlay < 0) return EGRAPH_OK;
  uint32_t operand = (uint32_t)program->info.overlay;
  bool joined = eg_regions_join(&b->regions, region_of(b, info.results[0]),
                                region_of(b, info.inputs[operand]), 0);
  return joined ? EGRAPH_OK
                : EG_FAIL(EGRAPH_E_INTERNAL, "result cannot be laid over operand %u",
                          operand);
}

egraph_status eg_session_compile(eg_session_builder *b) {
  for (uint32_t n = 0; n < b->node_count; n++) {
    const eg_node_plan *plan = &b->nodes[n];
    if (!plan->is_needed || plan->is_constant || plan->is_view) continue;
    egraph_status status = compile_node(b, n);
    if (status != EGRAPH_OK) return eg_session_blame(b, n, status);
  }
  return eg_regions_place(&b->regions, &b->session->arena_bytes);
}
