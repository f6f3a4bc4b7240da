// The graph container: an arena of rows, a pool of attributes, and a map of names.
//
// Every addition first gets all the memory it needs and then commits, so that a failed
// addition leaves the graph as it was (except unused arena bytes and attributes).
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "pcg/graph/graph_internal.h"

enum { MAX_ROWS = INT32_MAX };

#define OWNED                                                                            \
  (eg_arena, arena), (eg_value_rows, values), (eg_node_rows, nodes),                     \
      (eg_output_rows, outputs), (eg_opaque_rows, opaques), (eg_values, inputs),         \
      (eg_strmap, names, opaque_keys, output_names)

egraph_status eg_graph_create(const egraph_allocator *alloc, eg_graph **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_HELD(eg_graph, graph);
  EG_TRY(eg_alloc(heap, 1, sizeof *graph, &graph));
  *graph = (eg_graph){.alloc = heap};
  EG_INIT_MEMBERS(graph, heap, OWNED);
  EG_HAND_OVER(eg_attr_pool_create(&heap, &graph->pool), graph, out);
}

void eg_graph_destroy(eg_graph *graph) {
  if (graph == NULL) return;
  eg_open_sizes_release(graph->open_sizes);
  for (size_t i = 0; i < graph->values.len; i++)
    eg_buffer_release(graph->values.data[i]->data);
  eg_buffer_release(graph->header);
  EG_DEINIT_MEMBERS(graph, OWNED);
  eg_attr_pool_destroy(graph->pool);
  eg_free(graph->alloc, graph, 1, sizeof *graph);
}

egraph_allocator eg_graph_allocator(const eg_graph *graph) { return graph->alloc; }
eg_attr_pool *eg_graph_attrs(eg_graph *graph) { return graph->pool; }

eg_buffer *eg_graph_header(const eg_graph *graph) { return graph->header; }

void eg_graph_set_header(eg_graph *graph, eg_buffer *header) {
  eg_buffer *before = graph->header;
  graph->header = eg_buffer_retain(header);
  eg_buffer_release(before);
}

// ---- open dimensions ----------------------------------------------------------------

const eg_open_sizes *eg_graph_open_sizes(const eg_graph *graph) {
  return graph->open_sizes;
}

/// Retains the table of open sizes to which the graph's first open dimension belongs.
static void share_sizes(eg_graph *graph, const eg_type *type) {
  for (uint32_t i = 0; graph->open_sizes == NULL && i < type->rank; i++)
    graph->open_sizes = eg_open_sizes_retain(eg_size_owner(type->dims[i]));
}

egraph_status eg_graph_check_fixed(const eg_graph *graph, const char *what) {
  const eg_open_sizes *sizes = graph->open_sizes;
  if (sizes == NULL) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s needs the sizes of all dimensions, and '%.100s' is open; give it "
                 "when the model is loaded (--dim %.100s=N)",
                 what, eg_open_sizes_dim(sizes, 0)->name,
                 eg_open_sizes_dim(sizes, 0)->name);
}

// ---- reading ------------------------------------------------------------------------

uint32_t eg_graph_value_count(const eg_graph *graph) {
  return (uint32_t)graph->values.len;
}

uint32_t eg_graph_node_count(const eg_graph *graph) { return (uint32_t)graph->nodes.len; }

const eg_value_info *eg_graph_value(const eg_graph *graph, eg_value value) {
  return *eg_value_rows_at(&graph->values, value.id);
}

eg_graph_node_info eg_graph_node_at(const eg_graph *graph, eg_graph_node node) {
  return (*eg_node_rows_at(&graph->nodes, node.id))->info;
}

bool eg_graph_find_value(const eg_graph *graph, const char *name, eg_value *out) {
  uint32_t id;
  if (!eg_strmap_find(&graph->names, name, &id)) return false;
  if (id >= graph->values.len || strcmp(graph->values.data[id]->name, name) != 0)
    return false;
  *out = (eg_value){id};
  return true;
}

void eg_graph_set_data(eg_graph *graph, eg_value weight, eg_buffer *data) {
  eg_value_info *info = *eg_value_rows_at(&graph->values, weight.id);
  assert(info->kind == EG_VALUE_WEIGHT && info->data == NULL);
  assert(eg_buffer_size(data) == eg_type_bytes(&info->type));
  info->data = eg_buffer_retain(data);
}

uint32_t eg_graph_input_count(const eg_graph *graph) {
  return (uint32_t)graph->inputs.len;
}

eg_value eg_graph_input(const eg_graph *graph, uint32_t index) {
  return *eg_values_at(&graph->inputs, index);
}

uint32_t eg_graph_output_count(const eg_graph *graph) {
  return (uint32_t)graph->outputs.len;
}

eg_value eg_graph_output(const eg_graph *graph, uint32_t index, const char **out_name) {
  const eg_graph_output_row *row = eg_output_rows_at(&graph->outputs, index);
  if (out_name != NULL) *out_name = row->name;
  return row->value;
}

void eg_graph_describe_node(const char *name, const char *op, uint32_t id, char *buffer,
                            size_t size) {
  if (name != NULL && name[0] != '\0')
    (void)snprintf(buffer, size, "%s '%.200s'", op, name);
  else
    (void)snprintf(buffer, size, "%s (node %" PRIu32 ")", op, id);
}

// ---- values -------------------------------------------------------------------------

static egraph_status copy_string(eg_graph *graph, const char *text, const char **out) {
  return eg_arena_string(&graph->arena, text, strlen(text), out);
}

/// Values of the node under construction: `first`, `first` + 1, ... not yet in the graph.
typedef struct pending_rows {
  eg_value_info **infos;
  uint32_t first, count;
} pending_rows;

static bool name_taken(const eg_graph *graph, const pending_rows *pending,
                       const char *name) {
  uint32_t id;
  if (!eg_strmap_find(&graph->names, name, &id)) return false;
  if (id < graph->values.len) return strcmp(graph->values.data[id]->name, name) == 0;
  return id - pending->first < pending->count &&
         strcmp(pending->infos[id - pending->first]->name, name) == 0;
}

/// Makes up a name for value `id`: "v12", then "v12_1", ...
static egraph_status make_up_name(eg_graph *graph, const pending_rows *pending,
                                  uint32_t id, const char **out) {
  char text[40];
  (void)snprintf(text, sizeof text, "v%" PRIu32, id);
  for (uint32_t n = 1; name_taken(graph, pending, text); n++)
    (void)snprintf(text, sizeof text, "v%" PRIu32 "_%" PRIu32, id, n);
  return copy_string(graph, text, out);
}

static egraph_status choose_name(eg_graph *graph, const pending_rows *pending,
                                 uint32_t id, const char *name, const char **out) {
  if (name == NULL || name[0] == '\0') return make_up_name(graph, pending, id, out);
  if (name_taken(graph, pending, name))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the name '%.200s' is taken by another tensor; names must be unique",
                   name);
  return copy_string(graph, name, out);
}

/// Prepares the next value of a node and enters its name. The graph does not change
/// before the value is committed, which cannot fail.
static egraph_status prepare_value(eg_graph *graph, pending_rows *pending,
                                   const char *name, const eg_type *type) {
  uint32_t id = pending->first + pending->count;
  if (id >= MAX_ROWS)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a graph has at most 2^31 values");
  if (type != NULL) EG_TRY(eg_type_check(type));
  eg_value_info *info;
  EG_NEW(&graph->arena, 1, info);
  EG_TRY(choose_name(graph, pending, id, name, &info->name));
  info->typed = type != NULL;
  if (type != NULL) {
    info->type = *type;
    share_sizes(graph, type);
  }
  info->node = (eg_graph_node){UINT32_MAX};
  EG_TRY(eg_value_rows_reserve(&graph->values, (size_t)id + 1));
  EG_TRY(eg_strmap_put(&graph->names, info->name, id));
  pending->infos[pending->count++] = info;
  return EGRAPH_OK;
}

/// Prepares an input or weight; committing it cannot fail.
static egraph_status prepare_leaf(eg_graph *graph, const char *name, const eg_type *type,
                                  eg_value_info **out) {
  pending_rows pending = {.infos = out, .first = (uint32_t)graph->values.len};
  return prepare_value(graph, &pending, name, type);
}

static eg_value commit_value(eg_graph *graph, eg_value_info *info) {
  assert(graph->values.len < graph->values.cap);
  graph->values.data[graph->values.len] = info;
  return (eg_value){(uint32_t)graph->values.len++};
}

static egraph_status require_plain(const char *name, const eg_type *type) {
  if (type->layout.format == EG_FORMAT_PLAIN) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_TYPE,
                 "'%.200s': inputs and weights are row-major; use an identity node to "
                 "reorder them",
                 name != NULL ? name : "");
}

egraph_status eg_graph_add_input(eg_graph *graph, const char *name, const eg_type *type,
                                 eg_value *out) {
  EG_TRY(require_plain(name, type));
  EG_TRY(eg_values_reserve(&graph->inputs, graph->inputs.len + 1));
  eg_value_info *info;
  EG_TRY(prepare_leaf(graph, name, type, &info));
  info->kind = EG_VALUE_INPUT;
  eg_value value = commit_value(graph, info);
  graph->inputs.data[graph->inputs.len++] = value;
  *out = value;
  return EGRAPH_OK;
}

egraph_status eg_graph_set_default(eg_graph *graph, eg_value input, eg_buffer *data) {
  eg_value_info *info = *eg_value_rows_at(&graph->values, input.id);
  if (info->kind != EG_VALUE_INPUT)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "'%.200s' is no input", info->name);
  if (data != NULL && eg_buffer_size(data) != eg_type_bytes(&info->type))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the default of '%.200s' needs %zu bytes but %zu are given",
                   info->name, eg_type_bytes(&info->type), eg_buffer_size(data));
  eg_buffer *before = info->data;
  info->data = eg_buffer_retain(data);
  eg_buffer_release(before);
  return EGRAPH_OK;
}

egraph_status eg_graph_add_weight(eg_graph *graph, const char *name, const eg_type *type,
                                  eg_buffer *data, eg_value *out) {
  EG_TRY(require_plain(name, type));
  EG_TRY(eg_type_check(type));
  if (data != NULL && eg_buffer_size(data) != eg_type_bytes(type))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "weight '%.200s' needs %zu bytes but %zu are given",
                   name != NULL ? name : "", eg_type_bytes(type), eg_buffer_size(data));
  eg_value_info *info;
  EG_TRY(prepare_leaf(graph, name, type, &info));
  info->kind = EG_VALUE_WEIGHT;
  info->data = eg_buffer_retain(data);
  *out = commit_value(graph, info);
  return EGRAPH_OK;
}

egraph_status eg_graph_add_output(eg_graph *graph, const char *name, eg_value value) {
  if (value.id >= graph->values.len)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no value %" PRIu32, value.id);
  if (name == NULL || name[0] == '\0') name = eg_graph_value(graph, value)->name;
  uint32_t index;
  if (eg_strmap_find(&graph->output_names, name, &index) && index < graph->outputs.len &&
      strcmp(graph->outputs.data[index].name, name) == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there are two outputs named '%.200s'", name);
  eg_graph_output_row row = {.value = value};
  EG_TRY(copy_string(graph, name, &row.name));
  EG_TRY(eg_output_rows_reserve(&graph->outputs, graph->outputs.len + 1));
  EG_TRY(eg_strmap_put(&graph->output_names, row.name, (uint32_t)graph->outputs.len));
  return eg_output_rows_push(&graph->outputs, row);
}

egraph_status eg_graph_rename_value(eg_graph *graph, eg_value value, const char *name) {
  const pending_rows none = {.first = (uint32_t)graph->values.len};
  eg_value_info *info = *eg_value_rows_at(&graph->values, value.id);
  const char *chosen;
  EG_TRY(choose_name(graph, &none, value.id, name, &chosen));
  EG_TRY(eg_strmap_put(&graph->names, chosen, value.id));
  info->name = chosen;
  return EGRAPH_OK;
}

egraph_status eg_graph_set_format(eg_graph *graph, eg_value value, eg_format format) {
  eg_value_info *info = *eg_value_rows_at(&graph->values, value.id);
  if (info->kind != EG_VALUE_COMPUTED || !info->typed)
    return EG_FAIL(EGRAPH_E_TYPE, "'%.200s': only typed results of nodes have a format",
                   info->name);
  if (format != EG_FORMAT_PLAIN && !eg_format_fits(&info->type, format))
    return EG_FAIL(
        EGRAPH_E_TYPE,
        "'%.200s' cannot be stored as %s: that needs float32 or bool, rank 4 and at "
        "least one block of channels",
        info->name, eg_format_name(format));
  info->type.layout.format = (uint8_t)format;
  return EGRAPH_OK;
}

// ---- nodes --------------------------------------------------------------------------

egraph_status eg_graph_check_operands(const eg_graph *graph, const eg_value *inputs,
                                      uint32_t count, bool typed) {
  for (uint32_t i = 0; i < count; i++) {
    if (inputs[i].id >= graph->values.len)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "operand %" PRIu32 " is not a value of this graph", i);
    if (typed && !graph->values.data[inputs[i].id]->typed)
      return EG_FAIL(EGRAPH_E_TYPE,
                     "the type of operand '%.200s' is not known; declare it (value_info) "
                     "or add the node as opaque",
                     graph->values.data[inputs[i].id]->name);
  }
  return EGRAPH_OK;
}

/// Allocates all memory, then commits the node and its results to the graph.
egraph_status eg_graph_append_node(eg_graph *graph, const eg_new_node *node,
                                   eg_value *out_results) {
  uint32_t first = (uint32_t)graph->values.len;
  if (graph->nodes.len >= MAX_ROWS || node->result_count >= MAX_ROWS - first)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a graph has at most 2^31 nodes and values");
  assert(out_results != NULL || node->result_count == 0);
  eg_arena *arena = &graph->arena;
  eg_node_row *row;
  eg_value *inputs, *results;
  pending_rows pending = {.first = first};
  eg_attrs_id attrs;
  EG_TRY(eg_attr_pool_add(graph->pool, node->attrs, &attrs));
  EG_NEW(arena, 1, row);
  EG_NEW(arena, node->input_count, inputs);
  EG_NEW(arena, node->result_count, results);
  EG_NEW(arena, node->result_count, pending.infos);
  *row = (eg_node_row){.opaque = node->opaque};
  EG_TRY(copy_string(graph, node->name != NULL ? node->name : "", &row->info.name));
  for (uint32_t i = 0; i < node->result_count; i++) {
    EG_TRY(prepare_value(graph, &pending, node->names != NULL ? node->names[i] : NULL,
                         node->types[i]));
    eg_value_info *info = pending.infos[i];
    info->kind = EG_VALUE_COMPUTED;
    info->node = (eg_graph_node){(uint32_t)graph->nodes.len};
    info->result = i;
  }
  EG_TRY(eg_node_rows_push(&graph->nodes, row));
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = node->inputs[i];
  for (uint32_t i = 0; i < node->result_count; i++)
    out_results[i] = results[i] = commit_value(graph, pending.infos[i]);
  row->info.attrs = eg_attr_pool_get(graph->pool, attrs);
  row->info.inputs = inputs;
  row->info.input_count = node->input_count;
  row->info.results = results;
  row->info.result_count = node->result_count;
  return EGRAPH_OK;
}

/// Infers the types of the results, in the graph's memory.
static egraph_status infer_results(eg_graph *graph, const eg_attrs *attrs,
                                   const eg_value *inputs, uint32_t count,
                                   uint32_t result_count, const eg_type ***out) {
  EG_LOCAL(eg_arena, scratch, graph->alloc);
  eg_type *operands, *results;
  const eg_type **pointers;
  EG_NEW(&graph->arena, result_count, results);
  EG_NEW(&graph->arena, result_count, pointers);
  EG_NEW(&scratch, count, operands);
  for (uint32_t i = 0; i < count; i++)
    operands[i] = graph->values.data[inputs[i].id]->type;
  EG_TRY(eg_op_infer(attrs, operands, count, results));
  for (uint32_t i = 0; i < result_count; i++) {
    results[i].layout = (eg_layout){.format = EG_FORMAT_PLAIN};
    pointers[i] = &results[i];
  }
  *out = pointers;
  return EGRAPH_OK;
}

static egraph_status check_operand_count(const eg_op_info *op, uint32_t count) {
  bool too_many = op->max_inputs >= 0 && count > (uint32_t)op->max_inputs;
  if (count >= (uint32_t)op->min_inputs && !too_many) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_TYPE, "%s does not take %" PRIu32 " operands", op->name, count);
}

/// Counts a negative axis from the front, in a copy, so that equal nodes have equal
/// attributes.
static egraph_status count_axis(eg_arena *arena, uint32_t rank, eg_attrs *inout) {
  uint16_t slot;
  eg_attr *slots;
  if (!eg_op_find_attr((eg_op)inout->op, "axis", &slot) || inout->slots[slot].i >= 0)
    return EGRAPH_OK;
  EG_NEW(arena, inout->count, slots);
  memcpy(slots, inout->slots, inout->count * sizeof *slots);
  eg_op_axis_from_front((eg_op)inout->op, rank, slots);
  inout->slots = slots;
  return EGRAPH_OK;
}

static egraph_status add_typed_node(eg_graph *graph, const char *name,
                                    const eg_attrs *attrs, const eg_value *inputs,
                                    uint32_t count, const char *const *names,
                                    eg_value *out_results) {
  EG_TRY(eg_graph_check_operands(graph, inputs, count, true));
  EG_TRY(check_operand_count(eg_op_info_of((eg_op)attrs->op), count));
  EG_LOCAL(eg_arena, scratch, graph->alloc);
  eg_attrs own = *attrs;
  if (count != 0)
    EG_TRY(count_axis(&scratch, graph->values.data[inputs[0].id]->type.rank, &own));
  attrs = &own;
  eg_new_node node = {.name = name,
                      .attrs = attrs,
                      .inputs = inputs,
                      .input_count = count,
                      .names = names,
                      .result_count = eg_op_results(attrs),
                      .opaque = EG_NO_OPAQUE};
  const eg_type **types;
  EG_TRY(infer_results(graph, attrs, inputs, count, node.result_count, &types));
  node.types = types;
  return eg_graph_append_node(graph, &node, out_results);
}

egraph_status eg_graph_add_node(eg_graph *graph, const char *name, const eg_attrs *attrs,
                                const eg_value *inputs, uint32_t count,
                                const char *const *names, eg_value *out_results) {
  if (attrs->op >= EG_OP_COUNT || attrs->op == EG_OP_INPUT || attrs->op == EG_OP_WEIGHT ||
      attrs->op == EG_OP_PART || attrs->op == EG_OP_OPAQUE)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "operator %u is no node of a graph; inputs, weights and opaque nodes "
                   "have functions of their own",
                   (unsigned)attrs->op);
  egraph_status status =
      add_typed_node(graph, name, attrs, inputs, count, names, out_results);
  if (status == EGRAPH_E_TYPE || status == EGRAPH_E_ARGUMENT) {
    char text[256];
    eg_graph_describe_node(name, eg_op_info_of((eg_op)attrs->op)->name,
                           (uint32_t)graph->nodes.len, text, sizeof text);
    return eg_fail_context(status, "%s", text);
  }
  return status;
}
