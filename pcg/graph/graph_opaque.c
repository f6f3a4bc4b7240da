// Adds nodes whose operator the library does not know, and copies any node from graph
// to graph.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pcg/graph/graph_copy.h"
#include "pcg/graph/graph_internal.h"

// ---- reading ------------------------------------------------------------------------

static const eg_opaque *opaque_of(const eg_graph *graph, eg_graph_node node) {
  const eg_node_row *row = *eg_node_rows_at(&graph->nodes, node.id);
  assert(row->opaque != EG_NO_OPAQUE);
  return eg_opaque_rows_at(&graph->opaques, row->opaque);
}

const char *eg_graph_opaque_type(const eg_graph *graph, eg_graph_node node) {
  return opaque_of(graph, node)->type;
}

const void *eg_graph_opaque_record(const eg_graph *graph, eg_graph_node node,
                                   size_t *out_size) {
  const eg_opaque *opaque = opaque_of(graph, node);
  *out_size = opaque->record_size;
  return opaque->record;
}

static bool is_opaque_leaf(const eg_opaque *opaque) {
  return strncmp(opaque->type, EG_OPAQUE_LEAF, strlen(EG_OPAQUE_LEAF)) == 0;
}

// ---- estimates ----------------------------------------------------------------------

double eg_graph_value_bytes(const eg_graph *graph, eg_value value) {
  const eg_value_info *info = eg_graph_value(graph, value);
  const eg_type at_example = eg_type_at(&info->type, NULL);
  if (info->typed) return (double)eg_type_bytes(&at_example);
  const eg_opaque_work *work = opaque_of(graph, info->node)->work;
  return work != NULL && work->results != NULL ? work->results[info->result]
                                               : EG_BYTES_UNKNOWN;
}

static void add_result_bytes(const eg_graph *graph, const eg_graph_node_info *info,
                             eg_opaque_estimate *inout) {
  for (uint32_t i = 0; i < info->result_count; i++) {
    const double bytes = eg_graph_value_bytes(graph, info->results[i]);
    inout->bytes += bytes >= 0 ? bytes : 0;
    if (bytes >= 0) continue;
    if (inout->unsized++ == 0)
      inout->unsized_value = eg_graph_value(graph, info->results[i])->name;
  }
}

eg_opaque_estimate eg_graph_opaque_estimate(const eg_graph *graph, eg_graph_node node) {
  static const eg_opaque_work nothing = {.bytes = 0};
  const eg_opaque *opaque = opaque_of(graph, node);
  const eg_opaque_work *work = opaque->work != NULL ? opaque->work : &nothing;
  const eg_graph_node_info info = eg_graph_node_at(graph, node);
  eg_opaque_estimate out = {.bytes = 0};
  add_result_bytes(graph, &info, &out);
  if (is_opaque_leaf(opaque)) {
    out.bytes = 0;
    return out;
  }
  const uint32_t operands = work->has_graphs ? work->formals : info.input_count;
  for (uint32_t i = 0; i < operands; i++)
    out.bytes += fmax(eg_graph_value_bytes(graph, info.inputs[i]), 0);
  out.bytes += work->has_graphs ? work->bytes : (double)opaque->record_size;
  out.bytes += 1; // a text without a record
  if (out.unsized == 0) out.unsized_value = work->unsized_value;
  out.unsized += work->unsized;
  out.unknown_trips = work->unknown_trips;
  return out;
}

static egraph_status copy_work(eg_graph *graph, const eg_opaque_work *work,
                               uint32_t results, const eg_opaque_work **out) {
  eg_opaque_work *copy;
  EG_NEW(&graph->arena, 1, copy);
  *copy = *work;
  if (work->results != NULL) {
    double *bytes;
    EG_NEW(&graph->arena, results, bytes);
    if (results != 0) memcpy(bytes, work->results, results * sizeof *bytes);
    copy->results = bytes;
  }
  if (work->unsized_value != NULL)
    EG_TRY(eg_arena_string(&graph->arena, work->unsized_value,
                           strlen(work->unsized_value), &copy->unsized_value));
  *out = copy;
  return EGRAPH_OK;
}

egraph_status eg_graph_set_opaque_work(eg_graph *graph, eg_graph_node node,
                                       const eg_opaque_work *work) {
  const eg_node_row *row = *eg_node_rows_at(&graph->nodes, node.id);
  assert(row->opaque != EG_NO_OPAQUE && work->formals <= row->info.input_count);
  return copy_work(graph, work, row->info.result_count,
                   &graph->opaques.data[row->opaque].work);
}

bool eg_graph_find_opaque(const eg_graph *graph, const char *key, eg_graph_node *out) {
  uint32_t index;
  if (!eg_strmap_find(&graph->opaque_keys, key, &index)) return false;
  if (index >= graph->opaques.len || strcmp(graph->opaques.data[index].key, key) != 0)
    return false;
  *out = graph->opaques.data[index].node;
  return true;
}

// ---- opaque nodes that outputs need ---------------------------------------------------

static egraph_status refuse_opaque(const eg_graph *graph, eg_graph_node node,
                                   const char *what) {
  const eg_graph_node_info info = eg_graph_node_at(graph, node);
  const eg_opaque *opaque = opaque_of(graph, node);
  char place[16];
  if (is_opaque_leaf(opaque))
    return EG_FAIL(
        EGRAPH_E_UNSUPPORTED,
        "input or initializer '%.200s' cannot be %s: its elements are not of a "
        "type that is known here, or it is no tensor; take it out of the graph",
        eg_graph_value(graph, info.results[0])->name, what);
  (void)snprintf(place, sizeof place, "%" PRIu32, node.id);
  return EG_FAIL(
      EGRAPH_E_UNSUPPORTED,
      "node '%.200s': operator '%.100s' cannot be %s: it is unknown here, or only data "
      "tell the sizes of its results; take it out of the graph",
      info.name[0] != '\0' ? info.name : place, opaque->type, what);
}

egraph_status eg_graph_check_known(const eg_graph *graph, const char *what) {
  bool *is_needed;
  if (graph->opaques.len == 0) return EGRAPH_OK;
  EG_LOCAL(eg_arena, scratch, graph->alloc);
  EG_NEW(&scratch, graph->values.len, is_needed);
  eg_graph_flag_needed(graph, NULL, is_needed);
  // The first opaque node is refused: later nodes may be opaque only for lack of types.
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const eg_graph_node_info *node = &graph->nodes.data[n]->info;
    if (node->attrs->op == EG_OP_OPAQUE && eg_node_any_result(node, is_needed))
      return refuse_opaque(graph, (eg_graph_node){n}, what);
  }
  return EGRAPH_OK;
}

// ---- adding -------------------------------------------------------------------------

/// Makes the key of an opaque node: operator type and a number that makes the key unique
/// in the graph. Two opaque nodes are never equal, even with equal records: the operator
/// may have effects (random numbers).
static egraph_status make_key(eg_graph *graph, const char *op_type, const char **out) {
  char number[24];
  (void)snprintf(number, sizeof number, "#%zu", graph->opaques.len);
  size_t length = strlen(op_type), tail = strlen(number);
  char *key;
  EG_TRY(eg_arena_alloc(&graph->arena, length + tail + 1, 1, &key));
  memcpy(key, op_type, length);
  memcpy(key + length, number, tail + 1);
  *out = key;
  return EGRAPH_OK;
}

static egraph_status make_opaque(eg_graph *graph, const char *op_type, const void *record,
                                 size_t record_size, eg_opaque *out) {
  void *copy = NULL;
  EG_TRY(eg_arena_string(&graph->arena, op_type, strlen(op_type), &out->type));
  EG_TRY(make_key(graph, op_type, &out->key));
  EG_TRY(eg_arena_alloc(&graph->arena, record_size, 1, &copy));
  if (record_size != 0) memcpy(copy, record, record_size);
  out->record = copy;
  out->record_size = record_size;
  out->work = NULL;
  out->node = (eg_graph_node){(uint32_t)graph->nodes.len};
  EG_TRY(eg_opaque_rows_reserve(&graph->opaques, graph->opaques.len + 1));
  return eg_strmap_put(&graph->opaque_keys, out->key, (uint32_t)graph->opaques.len);
}

egraph_status eg_graph_add_opaque(eg_graph *graph, const char *name, const char *op_type,
                                  const void *record, size_t record_size,
                                  const eg_value *inputs, uint32_t count,
                                  const eg_type *const *types, const char *const *names,
                                  uint32_t result_count, eg_value *out_results) {
  EG_TRY(eg_graph_check_operands(graph, inputs, count, false));
  const eg_type **no_types = NULL;
  if (types == NULL) {
    EG_NEW(&graph->arena, result_count, no_types);
    types = (const eg_type *const *)no_types;
  }
  eg_opaque opaque;
  EG_TRY(make_opaque(graph, op_type, record, record_size, &opaque));
  eg_attr slot = {.kind = EG_ATTR_STRING, .text = opaque.key};
  eg_attrs attrs = {.op = EG_OP_OPAQUE, .count = 1, .slots = &slot};
  eg_new_node node = {.name = name,
                      .attrs = &attrs,
                      .inputs = inputs,
                      .input_count = count,
                      .types = types,
                      .names = names,
                      .result_count = result_count,
                      .opaque = (uint32_t)graph->opaques.len};
  egraph_status status = eg_graph_append_node(graph, &node, out_results);
  if (status == EGRAPH_OK) {
    graph->opaques.data[graph->opaques.len++] = opaque;
    return EGRAPH_OK;
  }
  if (status == EGRAPH_E_MEMORY) return status;
  char text[256];
  eg_graph_describe_node(name, op_type, (uint32_t)graph->nodes.len, text, sizeof text);
  return eg_fail_context(status, "%s", text);
}

// ---- copies -------------------------------------------------------------------------

static egraph_status add_opaque_copy(eg_graph *graph, const eg_graph *from,
                                     eg_graph_node node, const eg_value *inputs,
                                     const char *const *names, eg_value *out_results) {
  const eg_opaque *opaque = opaque_of(from, node);
  eg_graph_node_info info = eg_graph_node_at(from, node);
  EG_LOCAL(eg_arena, arena, graph->alloc);
  const eg_type **types = NULL;
  EG_NEW(&arena, info.result_count, types);
  for (uint32_t i = 0; i < info.result_count; i++) {
    const eg_value_info *result = eg_graph_value(from, info.results[i]);
    types[i] = result->typed ? &result->type : NULL;
  }
  const eg_opaque_work *work = opaque->work; // `opaque` moves if both graphs are one
  EG_TRY(eg_graph_add_opaque(graph, info.name, opaque->type, opaque->record,
                             opaque->record_size, inputs, info.input_count,
                             (const eg_type *const *)types, names, info.result_count,
                             out_results));
  if (work == NULL) return EGRAPH_OK;
  const eg_graph_node copy = graph->opaques.data[graph->opaques.len - 1].node;
  return eg_graph_set_opaque_work(graph, copy, work);
}

egraph_status eg_graph_add_copy(eg_graph *graph, const eg_graph *from, eg_graph_node node,
                                const eg_value *inputs, const char *const *names,
                                eg_value *out_results) {
  eg_graph_node_info info = eg_graph_node_at(from, node);
  if (info.attrs->op == EG_OP_OPAQUE)
    return add_opaque_copy(graph, from, node, inputs, names, out_results);
  EG_TRY(eg_graph_add_node(graph, info.name, info.attrs, inputs, info.input_count, names,
                           out_results));
  for (uint32_t i = 0; i < info.result_count; i++) {
    const eg_value_info *result = eg_graph_value(from, info.results[i]);
    graph->values.data[out_results[i].id]->type.layout = result->type.layout;
  }
  return EGRAPH_OK;
}

egraph_status eg_graph_add_named_copy(eg_graph *graph, const eg_graph *from,
                                      eg_graph_node node, const eg_value *inputs,
                                      eg_value *out_results) {
  eg_graph_node_info info = eg_graph_node_at(from, node);
  EG_LOCAL(eg_arena, arena, graph->alloc);
  const char **names;
  EG_NEW(&arena, info.result_count, names);
  for (uint32_t i = 0; i < info.result_count; i++)
    names[i] = eg_graph_value(from, info.results[i])->name;
  return eg_graph_add_copy(graph, from, node, inputs, names, out_results);
}
