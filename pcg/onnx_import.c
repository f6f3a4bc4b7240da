// ONNX import: names, order, one importer per node, outputs.
//
//   1. every name of the file gets a tensor: graph inputs, initializers, results of nodes
//   2. nodes are put in an order in which operands come first (files need not have one)
//   3. each node is imported by the table, or becomes opaque
//   4. outputs, memory formats
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "pcg/graph_internal.h"
#include "pcg/onnx_op.h"
#include "pcg/onnx_tensor.h"

// What older or newer sets changed shows in attributes that the table does not know;
// such nodes become opaque.
enum { FIRST_OPSET = 1, LAST_OPSET = 23 };

// ---- opset --------------------------------------------------------------------------

static bool is_standard_domain(const char *domain) {
  return domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

static bool has_standard_node(const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_node; i++)
    if (is_standard_domain(graph->node[i]->domain)) return true;
  return false;
}

static egraph_status read_opset(eg_onnx_reader *r) {
  const Onnx__ModelProto *model = r->model;
  if (model->graph == NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: the model has no graph; is it an ONNX model?",
                   r->file);
  for (size_t i = 0; i < model->n_opset_import; i++)
    if (is_standard_domain(model->opset_import[i]->domain))
      r->opset = model->opset_import[i]->version;
  if (r->opset >= FIRST_OPSET && r->opset <= LAST_OPSET) return EGRAPH_OK;
  if (r->opset == 0 && !has_standard_node(model->graph)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s: operator set %" PRId64
                 " is not supported, only %d to %d; convert the model with "
                 "onnx.version_converter",
                 r->file, r->opset, FIRST_OPSET, LAST_OPSET);
}

// ---- names --------------------------------------------------------------------------

static bool find_tensor(const eg_onnx_reader *r, const char *name, eg_onnx_ref *out) {
  return eg_strmap_find(&r->names, name, &out->id);
}

static egraph_status register_tensor(eg_onnx_reader *r, const char *name,
                                     uint32_t producer, eg_onnx_ref *out) {
  eg_onnx_tensor tensor = {.name = name, .value = EG_VALUE_NONE, .producer = producer};
  if (r->tensors.len >= INT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: too many tensors", r->file);
  EG_TRY(eg_strmap_put(&r->names, name, (uint32_t)r->tensors.len));
  *out = (eg_onnx_ref){(uint32_t)r->tensors.len};
  return eg_onnx_tensors_push(&r->tensors, tensor);
}

// Prefix of messages about an initializer, input or output.
static egraph_status about(const eg_onnx_reader *r, egraph_status status,
                           const char *what, const char *name) {
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  (void)eg_fail_context(status, "%s: %s '%.200s'", r->file, what, name);
  return status == EGRAPH_E_TYPE || status == EGRAPH_E_ARGUMENT ? EGRAPH_E_PARSE : status;
}

static egraph_status read_initializer(eg_onnx_reader *r, Onnx__TensorProto *proto) {
  eg_onnx_ref ref, other;
  bool known;
  eg_type type;
  eg_buffer *data;
  if (proto->name[0] == '\0') return EG_FAIL(EGRAPH_E_PARSE, "it has no name");
  if (find_tensor(r, proto->name, &other))
    return EG_FAIL(EGRAPH_E_PARSE, "there are two tensors of this name");
  EG_TRY(register_tensor(r, proto->name, UINT32_MAX, &ref));
  EG_TRY(eg_onnx_tensor_type(proto, &known, &type));
  if (!known) return eg_onnx_import_foreign_initializer(r, proto);
  EG_TRY(eg_onnx_tensor_data(r->alloc, proto, &type, r->base, &data));
  egraph_status status = eg_onnx_define_constant(r, ref, &type, data);
  eg_buffer_release(data);
  // Two copies of every weight would be in memory otherwise.
  eg_onnx_bytes_free(&r->heap, &proto->raw_data);
  proto->has_raw_data = false;
  return status;
}

// Why a graph input has no type of ours, when it is a tensor.
static egraph_status explain_input(const eg_onnx_reader *r,
                                   const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
  if (tensor->shape == NULL) return EG_FAIL(EGRAPH_E_PARSE, "it has no shape");
  if (tensor->shape->n_dim > EGRAPH_MAX_RANK)
    return EG_FAIL(EGRAPH_E_PARSE, "it has more than %d dimensions", EGRAPH_MAX_RANK);
  for (size_t i = 0; i < tensor->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        r->options.batch <= 0)
      return EG_FAIL(EGRAPH_E_PARSE,
                     "dimension %zu is symbolic ('%.100s'); give its value (batch)", i,
                     named ? dim->dim_param : "?");
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        dim->dim_value < 0)
      return EG_FAIL(EGRAPH_E_PARSE, "dimension %zu is %" PRId64, i, dim->dim_value);
  }
  return EG_FAIL(EGRAPH_E_PARSE, "its size overflows");
}

// A value that the caller fixed, or NULL.
static const eg_onnx_fixed_input *fixed_input(const eg_onnx_reader *r, const char *name) {
  for (uint32_t i = 0; i < r->options.fixed_count; i++)
    if (strcmp(r->options.fixed[i].name, name) == 0) return &r->options.fixed[i];
  return NULL;
}

static egraph_status fix_input(eg_onnx_reader *r, eg_onnx_ref ref,
                               const Onnx__ValueInfoProto *info,
                               const eg_onnx_fixed_input *fixed) {
  eg_type declared;
  if (eg_buffer_size(fixed->data) != eg_type_bytes(&fixed->type))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "its fixed value has the wrong size");
  if (eg_onnx_declared_type(r, info, &declared) && !eg_type_same(&declared, &fixed->type))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "its fixed value is not of the declared type");
  return eg_onnx_define_constant(r, ref, &fixed->type, fixed->data);
}

static egraph_status read_input(eg_onnx_reader *r, Onnx__ValueInfoProto *info) {
  eg_onnx_ref ref;
  eg_type type;
  egraph_dtype dtype;
  const eg_onnx_fixed_input *fixed = fixed_input(r, info->name);
  if (info->name[0] == '\0') return EG_FAIL(EGRAPH_E_PARSE, "it has no name");
  if (find_tensor(r, info->name, &ref)) {
    // Inputs with an initializer are weights that a caller might replace.
    if (eg_onnx_tensor_at(r, ref)->constant) return EGRAPH_OK;
    return EG_FAIL(EGRAPH_E_PARSE, "there are two tensors of this name");
  }
  EG_TRY(register_tensor(r, info->name, UINT32_MAX, &ref));
  if (fixed != NULL) return fix_input(r, ref, info, fixed);
  bool is_tensor = info->type != NULL &&
                   info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                   eg_dtype_from_onnx(info->type->tensor_type->elem_type, &dtype);
  if (!is_tensor) return eg_onnx_import_foreign_input(r, info);
  if (!eg_onnx_declared_type(r, info, &type)) return explain_input(r, info);
  uint32_t ignored;
  if (eg_strmap_find(&r->absent, info->name, &ignored))
    return eg_onnx_define_constant(r, ref, &type, NULL);
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(r, ref);
  tensor->made = true;
  tensor->typed = true;
  tensor->type = type;
  return eg_graph_add_input(r->graph, info->name, &type, &tensor->value);
}

// What the metadata says of inputs that stand for absent weights, and of nodes that were
// opaque when the model was written.
static egraph_status read_metadata(eg_onnx_reader *r) {
  const size_t absent = sizeof EG_ONNX_ABSENT_PREFIX - 1;
  const size_t opset = sizeof EG_ONNX_OPSET_PREFIX - 1;
  for (size_t i = 0; i < r->model->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *entry = r->model->metadata_props[i];
    int64_t version;
    if (strncmp(entry->key, EG_ONNX_ABSENT_PREFIX, absent) == 0)
      EG_TRY(eg_strmap_put(&r->absent, entry->key + absent, 0));
    if (strncmp(entry->key, EG_ONNX_OPSET_PREFIX, opset) == 0 &&
        eg_parse_int64(entry->value, &version) && version > 0 && version <= LAST_OPSET)
      EG_TRY(eg_strmap_put(&r->opsets, entry->key + opset, (uint32_t)version));
  }
  return EGRAPH_OK;
}

static egraph_status register_leaves(eg_onnx_reader *r) {
  Onnx__GraphProto *graph = r->model->graph;
  EG_TRY(read_metadata(r));
  for (size_t i = 0; i < graph->n_initializer; i++)
    EG_TRY(about(r, read_initializer(r, graph->initializer[i]), "initializer",
                 graph->initializer[i]->name));
  if (graph->n_sparse_initializer != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: sparse initializers are not supported",
                   r->file);
  for (size_t i = 0; i < graph->n_input; i++)
    EG_TRY(about(r, read_input(r, graph->input[i]), "input", graph->input[i]->name));
  return EGRAPH_OK;
}

// Puts the file and the node in front of the message that was just set.
static egraph_status in_node(const eg_onnx_reader *r, uint32_t index,
                             egraph_status status) {
  const Onnx__NodeProto *node = r->model->graph->node[index];
  char what[256];
  eg_graph_describe_node(node->name, node->op_type, index, what, sizeof what);
  if (status == EGRAPH_E_TYPE || status == EGRAPH_E_ARGUMENT) status = EGRAPH_E_PARSE;
  return eg_fail_context(status, "%s: node %s", r->file, what);
}

static egraph_status register_results(eg_onnx_reader *r) {
  const Onnx__GraphProto *graph = r->model->graph;
  eg_onnx_ref ref;
  if (graph->n_node >= INT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: too many nodes", r->file);
  for (uint32_t n = 0; n < graph->n_node; n++) {
    const Onnx__NodeProto *node = graph->node[n];
    for (size_t i = 0; i < node->n_output; i++) {
      if (node->output[i][0] == '\0') continue;
      if (find_tensor(r, node->output[i], &ref))
        return in_node(r, n,
                       EG_FAIL(EGRAPH_E_PARSE,
                               "its result '%.200s' is made elsewhere, too; names must "
                               "be unique",
                               node->output[i]));
      EG_TRY(register_tensor(r, node->output[i], n, &ref));
    }
  }
  for (size_t i = 0; i < graph->n_value_info + graph->n_output; i++) {
    const Onnx__ValueInfoProto *info = i < graph->n_value_info
                                           ? graph->value_info[i]
                                           : graph->output[i - graph->n_value_info];
    if (find_tensor(r, info->name, &ref)) eg_onnx_tensor_at(r, ref)->declared = info;
  }
  return EGRAPH_OK;
}

// ---- order --------------------------------------------------------------------------

// Kahn's algorithm. Ready nodes wait in a heap by position, so that a file in order keeps
// its order.
typedef struct sorter {
  eg_onnx_reader *reader;
  eg_u32s users;     // [tensor pairs] nodes that wait for a node: (first, next) lists
  uint32_t *missing; // [nodes] operands that are not made yet
  uint32_t *first;   // [nodes] head of the list of users, or UINT32_MAX
  eg_u32s heap;
} sorter;

static egraph_status heap_push(eg_u32s *heap, uint32_t node) {
  EG_TRY(eg_u32s_push(heap, node));
  size_t at = heap->len - 1;
  while (at != 0 && heap->data[(at - 1) / 2] > heap->data[at]) {
    uint32_t parent = heap->data[(at - 1) / 2];
    heap->data[(at - 1) / 2] = heap->data[at];
    heap->data[at] = parent;
    at = (at - 1) / 2;
  }
  return EGRAPH_OK;
}

static uint32_t heap_pop(eg_u32s *heap) {
  uint32_t top = heap->data[0], last = eg_u32s_pop(heap);
  size_t at = 0;
  if (heap->len == 0) return top;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap->len) break;
    if (child + 1 < heap->len && heap->data[child + 1] < heap->data[child]) child++;
    if (heap->data[child] >= last) break;
    heap->data[at] = heap->data[child];
    at = child;
  }
  heap->data[at] = last;
  return top;
}

static egraph_status add_dependency(sorter *s, uint32_t node, eg_onnx_ref ref) {
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(s->reader, ref);
  tensor->used = true;
  if (tensor->producer == UINT32_MAX) return EGRAPH_OK;
  s->missing[node]++;
  EG_TRY(eg_u32s_push(&s->users, node));
  EG_TRY(eg_u32s_push(&s->users, s->first[tensor->producer]));
  s->first[tensor->producer] = (uint32_t)s->users.len - 2;
  return EGRAPH_OK;
}

static egraph_status add_dependencies(sorter *s, uint32_t n, eg_onnx_refs *captures) {
  eg_onnx_reader *r = s->reader;
  const Onnx__NodeProto *node = r->model->graph->node[n];
  eg_onnx_ref ref;
  for (size_t i = 0; i < node->n_input; i++) {
    if (node->input[i][0] == '\0') continue;
    if (!find_tensor(r, node->input[i], &ref))
      return in_node(
          r, n,
          EG_FAIL(EGRAPH_E_PARSE, "its operand '%.200s' does not exist", node->input[i]));
    EG_TRY(add_dependency(s, n, ref));
  }
  captures->len = 0;
  EG_TRY(eg_onnx_captures(r, node, captures));
  for (size_t i = 0; i < captures->len; i++)
    EG_TRY(add_dependency(s, n, captures->data[i]));
  return EGRAPH_OK;
}

static egraph_status sort_ready(sorter *s) {
  eg_onnx_reader *r = s->reader;
  uint32_t count = (uint32_t)r->model->graph->n_node;
  for (uint32_t n = 0; n < count; n++)
    if (s->missing[n] == 0) EG_TRY(heap_push(&s->heap, n));
  while (s->heap.len != 0) {
    uint32_t node = heap_pop(&s->heap);
    EG_TRY(eg_u32s_push(&r->order, node));
    for (uint32_t at = s->first[node]; at != UINT32_MAX; at = s->users.data[at + 1])
      if (--s->missing[s->users.data[at]] == 0)
        EG_TRY(heap_push(&s->heap, s->users.data[at]));
  }
  for (uint32_t n = 0; n < count; n++)
    if (s->missing[n] != 0)
      return in_node(
          r, n, EG_FAIL(EGRAPH_E_PARSE, "it is on a cycle, or needs a node that is"));
  return EGRAPH_OK;
}

static egraph_status sort_nodes(eg_onnx_reader *r) {
  sorter s = {.reader = r};
  uint32_t count = (uint32_t)r->model->graph->n_node;
  eg_onnx_refs captures;
  EG_TRY(eg_arena_alloc(&r->arena, count, sizeof *s.missing, &s.missing));
  EG_TRY(eg_arena_alloc(&r->arena, count, sizeof *s.first, &s.first));
  eg_u32s_init(&s.users, r->alloc);
  eg_u32s_init(&s.heap, r->alloc);
  eg_onnx_refs_init(&captures, r->alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t n = 0; n < count; n++)
    s.first[n] = UINT32_MAX;
  for (uint32_t n = 0; status == EGRAPH_OK && n < count; n++)
    status = add_dependencies(&s, n, &captures);
  if (status == EGRAPH_OK) status = sort_ready(&s);
  eg_onnx_refs_deinit(&captures);
  eg_u32s_deinit(&s.heap);
  eg_u32s_deinit(&s.users);
  return status;
}

// ---- nodes --------------------------------------------------------------------------

static egraph_status gather_refs(eg_onnx_reader *r, char *const *names, size_t count,
                                 eg_onnx_ref **out) {
  EG_TRY(eg_arena_alloc(&r->arena, count, sizeof **out, out));
  for (size_t i = 0; i < count; i++) {
    (*out)[i] = EG_ONNX_NONE;
    if (names[i][0] != '\0') {
      bool found = find_tensor(r, names[i], &(*out)[i]);
      assert(found);
      (void)found;
    }
  }
  return EGRAPH_OK;
}

static bool is_typed(const eg_onnx_call *call) {
  for (uint32_t i = 0; i < call->input_count; i++)
    if (call->inputs[i].id != EG_ONNX_NONE.id &&
        !eg_onnx_tensor_at(call->reader, call->inputs[i])->typed)
      return false;
  return true;
}

// True for a node that our exporter wrote back from another operator set.
static bool stays_opaque(const eg_onnx_call *call) {
  uint32_t ignored;
  for (size_t i = 0; i < call->node->n_output; i++)
    if (eg_strmap_find(&call->reader->opsets, call->node->output[i], &ignored))
      return true;
  return false;
}

static egraph_status import_call(const eg_onnx_call *call) {
  const char *domain = call->node->domain;
  eg_onnx_reader *r = call->reader;
  uint32_t nodes = eg_graph_node_count(r->graph);
  bool known = is_typed(call) && !stays_opaque(call);
  egraph_status status = EGRAPH_E_UNSUPPORTED;
  if (known && is_standard_domain(domain)) status = eg_onnx_import_node(call);
  if (known && strcmp(domain, "egraph") == 0) status = eg_onnx_import_own(call);
  if (status != EGRAPH_E_UNSUPPORTED) return status;
  // An importer that gives up late leaves intermediate nodes that nobody uses.
  r->needs_pruning = r->needs_pruning || eg_graph_node_count(r->graph) != nodes;
  return eg_onnx_import_opaque(call);
}

static egraph_status import_one(eg_onnx_reader *r, uint32_t n) {
  const Onnx__NodeProto *node = r->model->graph->node[n];
  eg_onnx_ref *inputs, *outputs;
  if (node->n_input > INT32_MAX || node->n_output > INT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "too many operands");
  EG_TRY(gather_refs(r, node->input, node->n_input, &inputs));
  EG_TRY(gather_refs(r, node->output, node->n_output, &outputs));
  eg_onnx_call call = {.reader = r,
                       .node = node,
                       .inputs = inputs,
                       .input_count = (uint32_t)node->n_input,
                       .outputs = outputs,
                       .output_count = (uint32_t)node->n_output};
  EG_TRY(import_call(&call));
  // Results that the operator does not have, and that nobody uses, stay unmade.
  for (uint32_t i = 0; i < call.output_count; i++)
    if (outputs[i].id != EG_ONNX_NONE.id && !eg_onnx_tensor_at(r, outputs[i])->made &&
        eg_onnx_tensor_at(r, outputs[i])->used)
      return EG_FAIL(EGRAPH_E_PARSE, "it has no result %" PRIu32, i);
  return EGRAPH_OK;
}

static egraph_status import_nodes(eg_onnx_reader *r) {
  for (size_t i = 0; i < r->order.len; i++) {
    uint32_t n = r->order.data[i];
    egraph_status status = import_one(r, n);
    if (status == EGRAPH_OK) continue;
    if (status == EGRAPH_E_MEMORY) return status;
    return in_node(r, n, status);
  }
  return EGRAPH_OK;
}

// ---- outputs ------------------------------------------------------------------------

static egraph_status mark_outputs(eg_onnx_reader *r) {
  const Onnx__GraphProto *graph = r->model->graph;
  eg_onnx_ref ref;
  for (size_t i = 0; i < graph->n_output; i++) {
    if (!find_tensor(r, graph->output[i]->name, &ref))
      return EG_FAIL(EGRAPH_E_PARSE, "%s: output '%.200s' is made by no node", r->file,
                     graph->output[i]->name);
    eg_onnx_tensor_at(r, ref)->used = true;
  }
  return EGRAPH_OK;
}

static egraph_status add_outputs(eg_onnx_reader *r) {
  const Onnx__GraphProto *graph = r->model->graph;
  eg_onnx_ref ref = EG_ONNX_NONE;
  eg_value value;
  for (size_t i = 0; i < graph->n_output; i++) {
    const char *name = graph->output[i]->name;
    bool found = find_tensor(r, name, &ref);
    assert(found);
    (void)found;
    EG_TRY(eg_onnx_value(r, ref, &value));
    EG_TRY(about(r, eg_graph_add_output(r->graph, name, value), "output", name));
  }
  return EGRAPH_OK;
}

// "egraph.format:<tensor>" in the metadata is the memory format of a tensor. Unknown
// tensors are left out: other tools may have changed the graph and kept the metadata.
static egraph_status set_formats(eg_onnx_reader *r) {
  const size_t length = sizeof EG_ONNX_FORMAT_PREFIX - 1;
  for (size_t i = 0; i < r->model->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *entry = r->model->metadata_props[i];
    eg_value value;
    eg_format format;
    if (strncmp(entry->key, EG_ONNX_FORMAT_PREFIX, length) != 0) continue;
    const char *name = entry->key + length;
    if (!eg_graph_find_value(r->graph, name, &value) ||
        eg_graph_value(r->graph, value)->kind != EG_VALUE_COMPUTED)
      continue;
    if (!eg_format_find(entry->value, &format))
      return EG_FAIL(EGRAPH_E_PARSE,
                     "%s: tensor '%.200s' has the unknown memory format '%.40s'", r->file,
                     name, entry->value);
    EG_TRY(about(r, eg_graph_set_format(r->graph, value, format), "tensor", name));
  }
  return EGRAPH_OK;
}

static egraph_status prune(eg_onnx_reader *r) {
  eg_graph *pruned;
  EG_TRY(eg_graph_pruned(r->graph, &pruned));
  eg_graph_destroy(r->graph);
  r->graph = pruned;
  return EGRAPH_OK;
}

static egraph_status import_model(eg_onnx_reader *r) {
  EG_TRY(read_opset(r));
  EG_TRY(register_leaves(r));
  EG_TRY(register_results(r));
  EG_TRY(mark_outputs(r));
  EG_TRY(sort_nodes(r));
  EG_TRY(import_nodes(r));
  EG_TRY(add_outputs(r));
  EG_TRY(set_formats(r));
  return r->needs_pruning ? prune(r) : EGRAPH_OK;
}

// ---- entry points -------------------------------------------------------------------

static void reader_init(eg_onnx_reader *r, egraph_allocator alloc) {
  r->alloc = alloc;
  eg_onnx_heap_init(&r->heap, alloc);
  eg_arena_init(&r->arena, alloc);
  eg_onnx_tensors_init(&r->tensors, alloc);
  eg_strmap_init(&r->names, alloc);
  eg_strmap_init(&r->absent, alloc);
  eg_strmap_init(&r->opsets, alloc);
  eg_u32s_init(&r->order, alloc);
}

static void reader_deinit(eg_onnx_reader *r) {
  for (size_t i = 0; i < r->tensors.len; i++)
    eg_buffer_release(r->tensors.data[i].data);
  eg_u32s_deinit(&r->order);
  eg_strmap_deinit(&r->names);
  eg_strmap_deinit(&r->absent);
  eg_strmap_deinit(&r->opsets);
  eg_onnx_tensors_deinit(&r->tensors);
  eg_arena_deinit(&r->arena);
}

egraph_status eg_onnx_parse(const egraph_allocator *alloc, const char *name,
                            const void *data, size_t size, const char *base,
                            const eg_onnx_import_options *options, eg_graph **out) {
  eg_onnx_reader r = {.file = name,
                      .base = base,
                      .options =
                          options != NULL
                              ? *options
                              : (eg_onnx_import_options)EG_ONNX_IMPORT_OPTIONS_DEFAULT};
  reader_init(&r, eg_allocator_or_heap(alloc));
  ProtobufCMessage *message = NULL;
  egraph_status status = eg_onnx_message_unpack(&r.heap, &onnx__model_proto__descriptor,
                                                name, "ONNX model", data, size, &message);
  r.model = (Onnx__ModelProto *)message;
  if (status == EGRAPH_OK) status = eg_onnx_fill_strings(&r.heap, r.model);
  if (status == EGRAPH_OK) status = eg_graph_create(&r.alloc, &r.graph);
  if (status == EGRAPH_OK) status = import_model(&r);
  reader_deinit(&r);
  eg_onnx_message_free(&r.heap, message);
  if (status != EGRAPH_OK) {
    eg_graph_destroy(r.graph);
    return status;
  }
  *out = r.graph;
  return EGRAPH_OK;
}

// The directory part of a path, "." without one.
static egraph_status directory_of(egraph_allocator alloc, const char *path, char **out) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return eg_string_copy(alloc, ".", out);
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  EG_TRY(eg_alloc(alloc, length + 1, 1, out));
  memcpy(*out, path, length);
  return EGRAPH_OK;
}

static egraph_status map_model(egraph_allocator alloc, const char *path, size_t max_bytes,
                               eg_buffer **out) {
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (exists && !S_ISREG(info.st_mode))
    return EG_FAIL(EGRAPH_E_IO, "%s: not a regular file; a model is read from a file",
                   path);
  if (exists && (uint64_t)info.st_size > max_bytes)
    return EG_FAIL(EGRAPH_E_IO,
                   "%s: larger than %zu bytes; store the weights as external data", path,
                   max_bytes);
  size_t size = exists ? (size_t)info.st_size : 1;
  return eg_buffer_map(&alloc, path, 0, size, out);
}

egraph_status eg_onnx_load(const egraph_allocator *alloc, const char *path,
                           const eg_onnx_import_options *options, eg_graph **out) {
  eg_onnx_import_options usual = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  if (options == NULL) options = &usual;
  eg_buffer *file;
  char *base;
  EG_TRY(map_model(heap, path, options->max_bytes, &file));
  egraph_status status = directory_of(heap, path, &base);
  if (status == EGRAPH_OK) {
    status = eg_onnx_parse(&heap, path, eg_buffer_data(file), eg_buffer_size(file), base,
                           options, out);
    eg_string_free(heap, base);
  }
  eg_buffer_release(file);
  return status;
}
