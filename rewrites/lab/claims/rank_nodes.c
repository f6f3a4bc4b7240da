// The rows of neighbours are put around a part one axis after the other, so corners come
// by way of the neighbour on the first axis; backwards in the reverse order.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/rank_nodes.h"

#include <string.h>

#include "pcg/training/gradient.h"

/// A node on all ranks: operand 0 with the rows of neighbours.
typedef struct local_run {
  const eg_rank_node *of;
  eg_arena *arena;
  eg_spread spread;
  eg_halo halos[EG_MAX_MESH_AXES];
  uint32_t halo_count;
  const eg_tensor *first; // parts of operand 0
} local_run;

static egraph_status begin(eg_arena *arena, const eg_rank_node *node,
                           const eg_rank_value *const *inputs, local_run *out) {
  *out = (local_run){.of = node, .arena = arena};
  EG_TRY(eg_spread_init(&node->spec, &out->spread));
  if (node->spec.input_count == 0) return EGRAPH_OK;
  out->first = inputs[0]->parts;
  out->halo_count = eg_spread_halos(&out->spread, node->mesh, node->strategy, out->halos);
  for (uint32_t h = 0; h < out->halo_count; h++) {
    eg_tensor *wider;
    EG_TRY(eg_rank_halo(arena, node->mesh, &out->halos[h], out->first, &wider));
    out->first = wider;
  }
  return EGRAPH_OK;
}

/// Operands of a rank, and what it runs.
static egraph_status rank_operands(const local_run *run,
                                   const eg_rank_value *const *inputs, uint32_t rank,
                                   eg_node_spec *out_spec, eg_tensor **out) {
  uint32_t count = run->of->spec.input_count;
  EG_TRY(eg_spread_local(&run->spread, run->of->mesh, run->of->strategy, rank, run->arena,
                         out_spec));
  EG_TRY(eg_arena_alloc(run->arena, (size_t)count + 1, sizeof **out, out));
  for (uint32_t i = 0; i < count; i++) {
    (*out)[i] = i == 0 ? run->first[rank] : inputs[i]->parts[rank];
    if (!eg_type_same_shape(&(*out)[i].type, &out_spec->inputs[i]))
      return eg_fail(EGRAPH_E_TYPE,
                     "%s: the part of operand %u is not what a rank runs on",
                     eg_op_info_of((eg_op)out_spec->attrs->op)->name, i);
  }
  return EGRAPH_OK;
}

egraph_status eg_rank_node_run(eg_arena *arena, const eg_rank_node *node,
                               const eg_rank_value *const *inputs, eg_rank_value *out) {
  local_run run;
  EG_TRY(begin(arena, node, inputs, &run));
  uint32_t results = node->spec.result_count;
  eg_tensor *outputs;
  EG_TRY(eg_arena_alloc(arena, results, sizeof *outputs, &outputs));
  for (uint32_t i = 0; i < results; i++)
    EG_TRY(eg_rank_zeros(arena, node->mesh, &node->spec.results[i],
                         &node->strategy->result, &out[i]));
  for (uint32_t r = 0; r < eg_mesh_devices(node->mesh); r++) {
    eg_node_spec spec;
    eg_tensor *operands;
    EG_TRY(rank_operands(&run, inputs, r, &spec, &operands));
    for (uint32_t i = 0; i < results; i++)
      outputs[i] = out[i].parts[r];
    const eg_kernel_call call = {.attrs = spec.attrs,
                                 .inputs = operands,
                                 .input_count = spec.input_count,
                                 .outputs = outputs,
                                 .output_count = results,
                                 .alloc = arena->alloc};
    EG_TRY(eg_op_run(&call));
  }
  return EGRAPH_OK;
}

// ---- backwards ------------------------------------------------------------------------

/// The gradient of a rank's part, as a graph of it.
typedef struct part_gradient {
  const eg_node_spec *spec;
  const eg_tensor *operands, *result_cotangents;
  eg_arena *arena;
  eg_graph *graph;
  eg_value *inputs, *results, *wanted; // wanted: cotangents of the inputs
  eg_tensor *values;                   // by value of the graph
} part_gradient;

static egraph_status declare(part_gradient *g, const eg_tensor *data, eg_value *out) {
  return eg_graph_add_input(g->graph, NULL, &data->type, out);
}

static egraph_status write_gradient(part_gradient *g, eg_node_cons *cons) {
  const eg_node_spec *spec = g->spec;
  eg_gradient_seed *seeds;
  uint32_t seed_count = 0;
  EG_TRY(eg_arena_alloc(g->arena, spec->result_count, sizeof *seeds, &seeds));
  for (uint32_t i = 0; i < spec->input_count; i++)
    EG_TRY(declare(g, &g->operands[i], &g->inputs[i]));
  EG_TRY(eg_graph_add_node(g->graph, NULL, spec->attrs, g->inputs, spec->input_count,
                           NULL, g->results));
  for (uint32_t i = 0; i < spec->result_count; i++) {
    if (!eg_dtype_is_float(g->result_cotangents[i].type.dtype)) continue;
    seeds[seed_count].value = g->results[i];
    EG_TRY(declare(g, &g->result_cotangents[i], &seeds[seed_count++].cotangent));
  }
  EG_TRY(eg_node_cons_init(cons, g->graph));
  return eg_graph_gradient(cons, seeds, seed_count, g->inputs, spec->input_count,
                           g->wanted);
}

static egraph_status run_graph_node(part_gradient *g, eg_graph_node_info node) {
  eg_tensor *inputs, *outputs;
  EG_TRY(eg_arena_alloc(g->arena, (size_t)node.input_count + 1, sizeof *inputs, &inputs));
  EG_TRY(eg_arena_alloc(g->arena, node.result_count, sizeof *outputs, &outputs));
  for (uint32_t i = 0; i < node.input_count; i++)
    inputs[i] = g->values[node.inputs[i].id];
  for (uint32_t i = 0; i < node.result_count; i++) {
    outputs[i].type = eg_graph_value(g->graph, node.results[i])->type;
    size_t bytes = eg_type_bytes(&outputs[i].type);
    EG_TRY(eg_arena_alloc(g->arena, bytes > 0 ? bytes : 1, 1, &outputs[i].data));
    g->values[node.results[i].id] = outputs[i];
  }
  const eg_kernel_call call = {.attrs = node.attrs,
                               .inputs = inputs,
                               .input_count = node.input_count,
                               .outputs = outputs,
                               .output_count = node.result_count,
                               .alloc = g->arena->alloc};
  return eg_op_run(&call);
}

/// Inputs of the graph are the operands and then the cotangents of floating-point
/// results.
static egraph_status run_graph(part_gradient *g) {
  uint32_t values = eg_graph_value_count(g->graph), next = 0;
  EG_TRY(eg_arena_alloc(g->arena, values, sizeof *g->values, &g->values));
  for (uint32_t i = 0; i < g->spec->input_count; i++)
    g->values[eg_graph_input(g->graph, next++).id] = g->operands[i];
  for (uint32_t i = 0; i < g->spec->result_count; i++)
    if (eg_dtype_is_float(g->result_cotangents[i].type.dtype))
      g->values[eg_graph_input(g->graph, next++).id] = g->result_cotangents[i];
  for (uint32_t v = 0; v < values; v++) {
    const eg_value_info *info = eg_graph_value(g->graph, (eg_value){v});
    if (info->kind != EG_VALUE_WEIGHT) continue;
    size_t bytes = eg_buffer_size(info->data);
    g->values[v].type = info->type;
    EG_TRY(eg_arena_alloc(g->arena, bytes > 0 ? bytes : 1, 1, &g->values[v].data));
    memcpy(g->values[v].data, eg_buffer_data(info->data), bytes);
  }
  for (uint32_t n = 0; n < eg_graph_node_count(g->graph); n++)
    EG_TRY(run_graph_node(g, eg_graph_node_at(g->graph, (eg_graph_node){n})));
  return EGRAPH_OK;
}

/// wanted[i].id of UINT32_MAX: zero.
static egraph_status differentiate(part_gradient *g) {
  eg_node_cons cons = {.graph = NULL};
  EG_TRY(eg_arena_alloc(g->arena, (size_t)g->spec->input_count + 1, sizeof *g->inputs,
                        &g->inputs));
  EG_TRY(eg_arena_alloc(g->arena, (size_t)g->spec->input_count + 1, sizeof *g->wanted,
                        &g->wanted));
  EG_TRY(
      eg_arena_alloc(g->arena, g->spec->result_count, sizeof *g->results, &g->results));
  egraph_status status = write_gradient(g, &cons);
  if (cons.graph != NULL) eg_node_cons_deinit(&cons);
  return status == EGRAPH_OK ? run_graph(g) : status;
}

static egraph_status rank_back(const local_run *run, const eg_rank_value *const *inputs,
                               const eg_rank_value *result_cotangents, uint32_t rank,
                               const eg_tensor *first_cotangents,
                               const eg_rank_value *const *inout_cotangents) {
  eg_node_spec spec;
  eg_tensor *operands, *cotangents;
  EG_TRY(rank_operands(run, inputs, rank, &spec, &operands));
  EG_TRY(eg_arena_alloc(run->arena, spec.result_count, sizeof *cotangents, &cotangents));
  for (uint32_t i = 0; i < spec.result_count; i++)
    cotangents[i] = result_cotangents[i].parts[rank];
  part_gradient g = {.spec = &spec,
                     .operands = operands,
                     .result_cotangents = cotangents,
                     .arena = run->arena};
  EG_TRY(eg_graph_create(&run->arena->alloc, &g.graph));
  egraph_status status = differentiate(&g);
  for (uint32_t i = 0; i < spec.input_count && status == EGRAPH_OK; i++) {
    if (g.wanted[i].id == UINT32_MAX || inout_cotangents[i] == NULL) continue;
    const eg_tensor *to =
        i == 0 ? &first_cotangents[rank] : &inout_cotangents[i]->parts[rank];
    eg_rank_add(&g.values[g.wanted[i].id], to);
  }
  eg_graph_destroy(g.graph);
  return status;
}

egraph_status eg_rank_node_back(eg_arena *arena, const eg_rank_node *node,
                                const eg_rank_value *const *inputs,
                                const eg_rank_value *result_cotangents,
                                const eg_rank_value *const *inout_cotangents) {
  local_run run;
  eg_tensor *first;
  uint32_t ranks = eg_mesh_devices(node->mesh);
  if (node->spec.input_count == 0) return EGRAPH_OK;
  EG_TRY(begin(arena, node, inputs, &run));
  EG_TRY(eg_arena_alloc(arena, ranks, sizeof *first, &first));
  for (uint32_t r = 0; r < ranks; r++) {
    size_t bytes = eg_type_bytes(&run.first[r].type);
    first[r].type = run.first[r].type;
    EG_TRY(eg_arena_alloc(arena, bytes > 0 ? bytes : 1, 1, &first[r].data));
  }
  for (uint32_t r = 0; r < ranks; r++)
    EG_TRY(rank_back(&run, inputs, result_cotangents, r, first, inout_cotangents));
  for (uint32_t h = run.halo_count; h-- > 0;)
    EG_TRY(eg_rank_halo_back(arena, node->mesh, &run.halos[h], first, &first));
  for (uint32_t r = 0; r < ranks && inout_cotangents[0] != NULL; r++)
    eg_rank_add(&first[r], &inout_cotangents[0]->parts[r]);
  return EGRAPH_OK;
}
