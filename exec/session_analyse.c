// Liveness and sharing of memory, before anything is compiled. Time is counted in nodes:
// node n runs at n + 1, inputs are there at 0, outputs are read at node_count + 1.
// SPDX-License-Identifier: Apache-2.0
#include "exec/session_build.h"
#include "exec/views.h"
#include "pcg/spec_copy.h"

static const eg_value_info *value_at(const eg_session_builder *b, uint32_t id) {
  return eg_graph_value(b->graph, (eg_value){id});
}

static eg_graph_node_info node_at(const eg_session_builder *b, uint32_t id) {
  return eg_graph_node_at(b->graph, (eg_graph_node){id});
}

static void mark_needed(eg_session_builder *b) {
  uint32_t outputs = eg_graph_output_count(b->graph);
  for (uint32_t i = 0; i < outputs; i++)
    b->values[eg_graph_output(b->graph, i, NULL).id].is_needed = true;
  for (uint32_t n = b->node_count; n-- > 0;) {
    eg_graph_node_info info = node_at(b, n);
    for (uint32_t r = 0; r < info.result_count; r++)
      b->nodes[n].is_needed |= b->values[info.results[r].id].is_needed;
    if (!b->nodes[n].is_needed) continue;
    for (uint32_t i = 0; i < info.input_count; i++)
      b->values[info.inputs[i].id].is_needed = true;
  }
}

static egraph_status mark_constant(eg_session_builder *b) {
  bool *flags = NULL;
  EG_TRY(eg_alloc(b->session->alloc, b->value_count, sizeof *flags, &flags));
  egraph_status status = eg_graph_weight_only(b->graph, flags);
  for (uint32_t v = 0; status == EGRAPH_OK && v < b->value_count; v++)
    b->values[v].is_constant = flags[v];
  eg_free(b->session->alloc, flags, b->value_count, sizeof *flags);
  for (uint32_t n = 0; status == EGRAPH_OK && n < b->node_count; n++) {
    eg_graph_node_info info = node_at(b, n);
    b->nodes[n].is_constant =
        info.result_count != 0 && b->values[info.results[0].id].is_constant;
  }
  return status;
}

// A region per computed value and input; results of needed nodes live at least in the
// step that writes them.
static egraph_status add_regions(eg_session_builder *b) {
  for (uint32_t v = 0; v < b->value_count; v++) {
    const eg_value_info *info = value_at(b, v);
    uint32_t first = info->kind == EG_VALUE_COMPUTED ? info->node.id + 1 : 0;
    bool lives = info->kind == EG_VALUE_INPUT ||
                 (info->kind == EG_VALUE_COMPUTED && b->nodes[info->node.id].is_needed);
    b->values[v].region = UINT32_MAX;
    if (b->values[v].is_constant || !lives) continue;
    b->values[v].region = (uint32_t)b->regions.len;
    EG_TRY(eg_regions_add(&b->regions, eg_type_bytes(&info->type), first, first));
  }
  return EGRAPH_OK;
}

static void use_until(eg_session_builder *b, uint32_t value, uint32_t time) {
  uint32_t region = b->values[value].region;
  if (region != UINT32_MAX && b->regions.data[region].last < time)
    b->regions.data[region].last = time;
}

static void set_last_uses(eg_session_builder *b) {
  for (uint32_t n = 0; n < b->node_count; n++) {
    if (!b->nodes[n].is_needed) continue;
    eg_graph_node_info info = node_at(b, n);
    for (uint32_t i = 0; i < info.input_count; i++)
      use_until(b, info.inputs[i].id, n + 1);
  }
  uint32_t outputs = eg_graph_output_count(b->graph);
  for (uint32_t i = 0; i < outputs; i++)
    use_until(b, eg_graph_output(b->graph, i, NULL).id, b->node_count + 1);
}

static void join_views(eg_session_builder *b, const eg_graph_node_info *info,
                       const eg_node_spec *spec, eg_node_plan *plan) {
  uint32_t operand = b->values[info->inputs[0].id].region;
  for (uint32_t r = 0; r < info->result_count; r++) {
    size_t offset = 0;
    bool is_view = eg_view_of(spec, r, &offset);
    assert(is_view); // eg_node_is_view
    (void)is_view;
    eg_regions_join(&b->regions, b->values[info->results[r].id].region, operand, offset);
  }
  plan->is_view = true;
}

// The operands must be whole regions of their own, so that all of them can move into the
// result.
static bool can_gather(eg_session_builder *b, const eg_graph_node_info *info) {
  for (uint32_t i = 0; i < info->input_count; i++) {
    uint32_t region = b->values[info->inputs[i].id].region;
    if (region == UINT32_MAX || !eg_regions_is_whole(&b->regions, region)) return false;
    for (uint32_t j = 0; j < i; j++)
      if (eg_regions_find(&b->regions, region).root ==
          eg_regions_find(&b->regions, b->values[info->inputs[j].id].region).root)
        return false;
  }
  return true;
}

static void join_concat(eg_session_builder *b, const eg_graph_node_info *info,
                        const eg_node_spec *spec, eg_node_plan *plan) {
  if (!can_gather(b, info)) return;
  uint32_t result = b->values[info->results[0].id].region;
  size_t offset = 0;
  for (uint32_t i = 0; i < info->input_count; i++) {
    eg_regions_join(&b->regions, b->values[info->inputs[i].id].region, result, offset);
    offset += eg_type_bytes(&spec->inputs[i]);
  }
  plan->is_view = true;
}

static egraph_status join_regions(eg_session_builder *b) {
  for (uint32_t n = 0; n < b->node_count; n++) {
    if (!b->nodes[n].is_needed || b->nodes[n].is_constant) continue;
    eg_graph_node_info info = node_at(b, n);
    eg_node_spec spec;
    eg_arena_deinit(&b->scratch);
    EG_TRY(eg_session_spec(b, n, &spec));
    if (info.input_count == 1 && eg_node_is_view(&spec))
      join_views(b, &info, &spec, &b->nodes[n]);
    else if (eg_concat_is_region(&spec))
      join_concat(b, &info, &spec, &b->nodes[n]);
  }
  return EGRAPH_OK;
}

egraph_status eg_session_analyse(eg_session_builder *b) {
  EG_TRY(eg_graph_check_known(b->graph, "executed"));
  mark_needed(b);
  EG_TRY(mark_constant(b));
  EG_TRY(add_regions(b));
  set_last_uses(b);
  return join_regions(b);
}

egraph_status eg_session_spec(eg_session_builder *b, uint32_t node, eg_node_spec *out) {
  eg_graph_node_info info = node_at(b, node);
  eg_type *inputs = NULL, *results = NULL;
  if (info.input_count != 0)
    EG_TRY(eg_arena_alloc(&b->scratch, info.input_count, sizeof *inputs, &inputs));
  if (info.result_count != 0)
    EG_TRY(eg_arena_alloc(&b->scratch, info.result_count, sizeof *results, &results));
  uint64_t weights = 0;
  for (uint32_t i = 0; i < info.input_count; i++) {
    inputs[i] = value_at(b, info.inputs[i].id)->type;
    if (b->values[info.inputs[i].id].is_constant) weights |= eg_operand_bit(i);
  }
  for (uint32_t i = 0; i < info.result_count; i++)
    results[i] = value_at(b, info.results[i].id)->type;
  *out = (eg_node_spec){.attrs = info.attrs,
                        .inputs = inputs,
                        .input_count = info.input_count,
                        .results = results,
                        .result_count = info.result_count,
                        .weight_mask = weights};
  return EGRAPH_OK;
}

egraph_status eg_session_blame(const eg_session_builder *b, uint32_t node,
                               egraph_status status) {
  eg_graph_node_info info = node_at(b, node);
  const char *op = eg_op_info_of((eg_op)info.attrs->op)->name;
  if (info.name[0] != '\0') return eg_fail_context(status, "%s '%s'", op, info.name);
  return eg_fail_context(status, "%s (node %u)", op, node);
}
