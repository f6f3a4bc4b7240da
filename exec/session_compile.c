// Programs of the nodes, decisions in place, and the memory plan.
// SPDX-License-Identifier: Apache-2.0
#include "exec/memory_plan.h"
#include "exec/session_build.h"
#include "pcg/spec_copy.h"

egraph_status eg_session_program(eg_session_builder *b, const eg_node_spec *spec,
                                 uint64_t dying, eg_program **out) {
  eg_session *session = b->session;
  eg_text key;
  eg_text_init(&key, session->alloc);
  uint32_t index;
  egraph_status status = eg_node_spec_print(&key, spec);
  EG_TRY_GOTO(status, status, done);
  EG_TRY_GOTO(status, eg_text_printf(&key, " dying %llx", (unsigned long long)dying),
              done);
  if (eg_strmap_find(&session->program_index, eg_text_of(&key), &index)) {
    *out = session->programs.data[index];
    goto done;
  }
  index = (uint32_t)session->programs.len;
  EG_TRY_GOTO(status, eg_program_refs_reserve(&session->programs, index + 1u), done);
  EG_TRY_GOTO(
      status,
      session->backend->vtable->compile(
          session->backend, &(eg_compile_request){.spec = spec, .dying = dying}, out),
      done);
  session->programs.data[session->programs.len++] = *out;
  status = eg_strmap_put(&session->program_index, eg_text_of(&key), index);
done:
  eg_text_deinit(&key);
  return status;
}

static uint32_t region_of(const eg_session_builder *b, eg_value value) {
  return b->values[value.id].region;
}

// Operands that nobody reads after this node, and whose memory nobody else in it uses.
static uint64_t dying_operands(eg_session_builder *b, const eg_graph_node_info *info,
                               uint32_t time) {
  uint64_t mask = 0;
  for (uint32_t i = 0; i < info->input_count && eg_operand_bit(i) != 0; i++) {
    uint32_t region = region_of(b, info->inputs[i]);
    if (region == UINT32_MAX) continue;
    uint32_t root = eg_regions_find(&b->regions, region).root;
    bool alone = b->regions.data[root].last == time;
    for (uint32_t j = 0; alone && j < info->input_count; j++) {
      uint32_t other = region_of(b, info->inputs[j]);
      alone = j == i || other == UINT32_MAX ||
              eg_regions_find(&b->regions, other).root != root;
    }
    if (alone) mask |= eg_operand_bit(i);
  }
  return mask;
}

// Result 0 can only take over an operand when one of the two is not part
// of something bigger.
static uint64_t joinable(eg_session_builder *b, const eg_graph_node_info *info,
                         uint64_t dying) {
  uint32_t result = region_of(b, info->results[0]);
  uint64_t mask = 0;
  for (uint32_t i = 0; i < info->input_count && i < 64; i++) {
    if ((dying & eg_operand_bit(i)) == 0) continue;
    uint32_t operand = region_of(b, info->inputs[i]);
    if (b->regions.data[operand].bytes == b->regions.data[result].bytes &&
        (eg_regions_is_whole(&b->regions, result) ||
         eg_regions_is_whole(&b->regions, operand)))
      mask |= eg_operand_bit(i);
  }
  return mask;
}

static egraph_status compile_node(eg_session_builder *b, uint32_t n) {
  eg_graph_node_info info = eg_graph_node_at(b->graph, (eg_graph_node){n});
  eg_node_spec spec;
  eg_arena_deinit(&b->scratch);
  EG_TRY(eg_session_spec(b, n, &spec));
  uint64_t dying = joinable(b, &info, dying_operands(b, &info, n + 1));
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

static egraph_status collect_roots(eg_session_builder *b, eg_plan_buffer *buffers,
                                   uint32_t *ids, uint32_t *out_count) {
  uint32_t count = 0;
  for (uint32_t r = 0; r < b->regions.len; r++) {
    const eg_region *region = &b->regions.data[r];
    ids[r] = UINT32_MAX;
    if (region->parent != r) continue;
    ids[r] = count;
    buffers[count++] = (eg_plan_buffer){
        .bytes = region->bytes, .first = region->first, .last = region->last};
  }
  *out_count = count;
  return EGRAPH_OK;
}

// Offsets of the roots are kept in their `offset`, which a root does not need otherwise.
static egraph_status plan_memory(eg_session_builder *b) {
  egraph_allocator alloc = b->session->alloc;
  size_t rows = b->regions.len;
  eg_plan_buffer *buffers = NULL;
  uint32_t *ids = NULL, count;
  egraph_status status = EGRAPH_OK;
  EG_TRY_GOTO(status, eg_alloc(alloc, rows, sizeof *buffers, &buffers), done);
  EG_TRY_GOTO(status, eg_alloc(alloc, rows, sizeof *ids, &ids), done);
  EG_TRY_GOTO(status, collect_roots(b, buffers, ids, &count), done);
  EG_TRY_GOTO(status,
              eg_memory_plan(alloc, buffers, count, EG_DEVICE_ALIGNMENT,
                             &b->session->arena_bytes),
              done);
#if EG_CHECK_LEVEL >= 2
  EG_TRY_GOTO(
      status,
      eg_memory_plan_check(buffers, count, EG_DEVICE_ALIGNMENT, b->session->arena_bytes),
      done);
#endif
  for (uint32_t r = 0; r < rows; r++)
    if (ids[r] != UINT32_MAX) b->regions.data[r].offset = buffers[ids[r]].offset;
done:
  eg_free(alloc, ids, rows, sizeof *ids);
  eg_free(alloc, buffers, rows, sizeof *buffers);
  return status;
}

egraph_status eg_session_compile(eg_session_builder *b) {
  for (uint32_t n = 0; n < b->node_count; n++) {
    const eg_node_plan *plan = &b->nodes[n];
    if (!plan->is_needed || plan->is_constant || plan->is_view) continue;
    egraph_status status = compile_node(b, n);
    if (status != EGRAPH_OK) return eg_session_blame(b, n, status);
  }
  return plan_memory(b);
}
