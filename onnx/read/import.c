// ONNX import, in four steps:
//
//   1. every name of the file gets a tensor: graph inputs, initializers, results of nodes
//   2. nodes are put in an order in which operands come first (files need not have one)
//   3. each node is imported by the table of operators, or becomes opaque; a call of a
//      function, a branch or a loop that is known becomes its nodes, by steps 1 to 3
//   4. outputs, memory formats
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/event_queue.h"
#include "base/owner.h"
#include "onnx/header.h"
#include "onnx/read/op.h"
#include "onnx/read/opaque.h"
#include "onnx/read/reader.h"
#include "onnx/sets/versions.h"
#include "onnx/tensor.h"
#include "pcg/graph/graph_copy.h"
#include "pcg/graph/graph_internal.h"

// ---- the order of the nodes --------------------------------------------------

typedef struct sorter {
  eg_onnx_reader *reader;
  uint32_t begin, count; // the nodes to sort; earlier ones are done
  eg_u32s users;         // [tensor pairs] nodes that wait for a node: (first, next) lists
  uint32_t *missing;     // [count] operands that are not made yet
  uint32_t *first;       // [count] head of the list of users, or UINT32_MAX
  eg_event_queue ready;  // nodes, at one time: the first one of the file comes first
  eg_onnx_refs operands; // of one node
} sorter;
EG_OWNER_DEFINE_STATIC(sorter, (eg_u32s, users), (eg_event_queue, ready),
                       (eg_onnx_refs, operands))

static egraph_status add_dependency(sorter *s, uint32_t node, eg_onnx_ref ref) {
  const eg_onnx_tensor *tensor = eg_onnx_tensor_at(s->reader, ref);
  if (tensor->made) return EGRAPH_OK;
  if (tensor->producer == UINT32_MAX || tensor->producer < s->begin) // made in a body
    return eg_onnx_in_node(
        s->reader, s->begin + node,
        EG_FAIL(EGRAPH_E_PARSE, "its operand '%.200s' does not exist", tensor->name));
  uint32_t *first = &s->first[tensor->producer - s->begin];
  s->missing[node]++;
  EG_TRY(eg_u32s_push(&s->users, node));
  EG_TRY(eg_u32s_push(&s->users, *first));
  *first = (uint32_t)s->users.len - 2;
  return EGRAPH_OK;
}

/// Lists the tensors that a node reads: its operands, and tensors that its
/// graphs capture.
static egraph_status list_operands(eg_onnx_reader *r, uint32_t n, eg_onnx_refs *out) {
  const Onnx__NodeProto *node = r->nodes.data[n].node;
  eg_onnx_ref ref;
  out->len = 0;
  for (size_t i = 0; i < node->n_input; i++) {
    if (node->input[i][0] == '\0') continue;
    if (!eg_onnx_find_tensor(r, node->input[i], &ref))
      return eg_onnx_in_node(
          r, n,
          EG_FAIL(EGRAPH_E_PARSE, "its operand '%.200s' does not exist", node->input[i]));
    EG_TRY(eg_onnx_refs_push(out, ref));
  }
  egraph_status status = eg_onnx_captures(r, node, out);
  return status == EGRAPH_E_PARSE ? eg_onnx_in_node(r, n, status) : status;
}

static egraph_status sort_ready(sorter *s) {
  eg_onnx_reader *r = s->reader;
  EG_TRY(eg_event_queue_reserve(&s->ready, s->count));
  for (uint32_t n = 0; n < s->count; n++)
    if (s->missing[n] == 0) eg_event_queue_set(&s->ready, n, 0);
  while (!eg_event_queue_is_empty(&s->ready)) {
    uint32_t node = eg_event_queue_first(&s->ready).number;
    eg_event_queue_remove(&s->ready, node);
    EG_TRY(eg_u32s_push(&r->order, s->begin + node));
    for (uint32_t at = s->first[node]; at != UINT32_MAX; at = s->users.data[at + 1])
      if (--s->missing[s->users.data[at]] == 0)
        eg_event_queue_set(&s->ready, s->users.data[at], 0);
  }
  for (uint32_t n = 0; n < s->count; n++)
    if (s->missing[n] != 0)
      return eg_onnx_in_node(
          r, s->begin + n,
          EG_FAIL(EGRAPH_E_PARSE, "it is on a cycle, or needs a node that is"));
  return EGRAPH_OK;
}

static bool is_read(eg_onnx_reader *r, const Onnx__NodeProto *node) {
  eg_onnx_ref ref;
  for (size_t i = 0; i < node->n_output; i++)
    if (eg_onnx_find_tensor(r, node->output[i], &ref) && eg_onnx_tensor_at(r, ref)->used)
      return true;
  return false;
}

/// Marks the tensors on which an output depends, in reverse order of the nodes; `begin`
/// is the first node in reader->order.
static egraph_status mark_read(sorter *s, size_t begin) {
  eg_onnx_reader *r = s->reader;
  for (size_t i = r->order.len; i-- > begin;) {
    uint32_t n = r->order.data[i];
    if (!is_read(r, r->nodes.data[n].node)) continue;
    EG_TRY(list_operands(r, n, &s->operands));
    for (size_t k = 0; k < s->operands.len; k++)
      eg_onnx_tensor_at(r, s->operands.data[k])->used = true;
  }
  return EGRAPH_OK;
}

// Appends the nodes from `first` on to reader->order, operands first: Kahn's algorithm.
// Ready nodes wait in a heap by position, so that a file in order keeps its order. Marks
// tensors that are used. Fails with EGRAPH_E_PARSE for operands that do not exist and
// cycles.
static egraph_status sort_nodes(eg_onnx_reader *r, uint32_t first) {
  EG_LOCAL(sorter, s, r->alloc);
  s.reader = r;
  s.begin = first;
  s.count = (uint32_t)r->nodes.len - first;
  EG_NEW(&r->arena, s.count, s.missing);
  EG_NEW(&r->arena, s.count, s.first);
  for (uint32_t n = 0; n < s.count; n++)
    s.first[n] = UINT32_MAX;
  size_t begin = r->order.len;
  for (uint32_t n = 0; n < s.count; n++) {
    EG_TRY(list_operands(r, first + n, &s.operands));
    for (size_t i = 0; i < s.operands.len; i++)
      EG_TRY(add_dependency(&s, n, s.operands.data[i]));
  }
  EG_TRY(sort_ready(&s));
  return mark_read(&s, begin);
}

// The newest set whose operators the table covers. A node becomes opaque if it means
// something else in its older set, or if a newer set changed its operator.
enum { KNOWN_OPSET = 28 };

// ---- opset --------------------------------------------------------------------------

static egraph_status read_opset(eg_onnx_reader *r) {
  const Onnx__ModelProto *model = r->model;
  if (model->graph == NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: the model has no graph; is it an ONNX model?",
                   r->file);
  r->whole.imports = model->opset_import;
  r->whole.import_count = model->n_opset_import;
  r->whole.opset = eg_onnx_standard_opset(model->opset_import, model->n_opset_import);
  const int64_t newest = eg_onnx_newest_opset(), opset = r->whole.opset;
  if (opset >= 1 && opset <= newest) return EGRAPH_OK;
  bool has_standard = false;
  for (size_t i = 0; i < model->graph->n_node; i++)
    has_standard = has_standard || eg_onnx_is_standard(model->graph->node[i]->domain);
  if (opset == 0 && !has_standard) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s: operator set %" PRId64 " is not supported, only 1 to %" PRId64
                 "; convert the model with "
                 "onnx.version_converter",
                 r->file, opset, newest);
}

// Reads from the metadata the names of inputs that replace absent weights.
static egraph_status read_metadata(eg_onnx_reader *r) {
  const size_t absent = sizeof EG_ONNX_ABSENT_PREFIX - 1;
  for (size_t i = 0; i < r->model->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *entry = r->model->metadata_props[i];
    if (strncmp(entry->key, EG_ONNX_ABSENT_PREFIX, absent) == 0)
      EG_TRY(eg_strmap_put(&r->absent, entry->key + absent, 0));
  }
  return EGRAPH_OK;
}

// ---- nodes --------------------------------------------------------------------------

static egraph_status gather_refs(eg_onnx_reader *r, char *const *names, size_t count,
                                 eg_onnx_ref **out) {
  EG_NEW(&r->arena, count, *out);
  for (size_t i = 0; i < count; i++) {
    (*out)[i] = EG_ONNX_NONE;
    if (names[i][0] != '\0') {
      bool found = eg_onnx_find_tensor(r, names[i], &(*out)[i]);
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

/// True unless the operator set of a node is newer than KNOWN_OPSET and changed
/// its operator.
static bool is_as_known(const eg_onnx_call *call) {
  int64_t opset = call->reader->opset;
  return opset <= KNOWN_OPSET ||
         eg_onnx_sets_have(eg_onnx_sets_of(call->node->op_type, KNOWN_OPSET), opset);
}

/// Imports a node of the standard domain or of ONNX Runtime's. If that fails, as for a
/// node that is valid only at some sizes of open dimensions, removes the conditions on
/// sizes that its importer noted.
static egraph_status import_known(const eg_onnx_call *call) {
  eg_open_sizes *sizes = call->reader->options.sizes;
  uint32_t facts = sizes != NULL ? eg_open_sizes_fact_count(sizes) : 0;
  bool done = false;
  if (sizes != NULL && eg_onnx_is_standard(call->node->domain))
    EG_TRY(eg_onnx_compute_sizes(call, &done));
  egraph_status status = done ? EGRAPH_OK : eg_onnx_import_node(call);
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY || sizes == NULL) return status;
  eg_open_sizes_forget_facts(sizes, facts);
  return eg_onnx_reads_open(call) ? EGRAPH_E_UNSUPPORTED : status;
}

// Imports a node by the table of ONNX operators if the table covers it; else imports a
// control-flow node as the nodes that run; else makes it an opaque node.
static egraph_status import_operator(const eg_onnx_call *call) {
  eg_onnx_reader *r = call->reader;
  const char *domain = call->node->domain;
  uint32_t nodes = eg_graph_node_count(r->graph);
  bool known = is_typed(call);
  egraph_status status = EGRAPH_E_UNSUPPORTED;
  bool is_microsoft = domain != NULL && strcmp(domain, "com.microsoft") == 0;
  if (known && (is_microsoft || (eg_onnx_is_standard(domain) && is_as_known(call))))
    status = import_known(call);
  if (known && strcmp(domain, EG_ONNX_DOMAIN) == 0)
    status = eg_onnx_import_own(call, NULL);
  if (status == EGRAPH_E_UNSUPPORTED && eg_onnx_is_standard(domain))
    status = eg_onnx_import_control(call);
  if (status != EGRAPH_E_UNSUPPORTED) return status;
  // An importer that gives up late leaves unused intermediate nodes.
  r->needs_pruning = r->needs_pruning || eg_graph_node_count(r->graph) != nodes;
  return eg_onnx_import_opaque(call);
}

static egraph_status import_call(const eg_onnx_call *call) {
  uint32_t index;
  EG_TRY(eg_onnx_function_of(call->reader, call->node, &index));
  if (index == UINT32_MAX) return import_operator(call);
  const Onnx__FunctionProto *function = call->reader->model->functions[index];
  egraph_status status = EGRAPH_E_UNSUPPORTED;
  if (strcmp(function->domain, EG_ONNX_DOMAIN) == 0 && is_typed(call))
    status = eg_onnx_import_own(call, function);
  return status == EGRAPH_E_UNSUPPORTED ? eg_onnx_import_function(call, function)
                                        : status;
}

static egraph_status check_attributes(const eg_onnx_reader *r,
                                      const Onnx__NodeProto *node) {
  EG_LOCAL(eg_strmap, names, r->alloc);
  uint32_t first;
  for (size_t i = 0; node->n_attribute > 1 && i < node->n_attribute; i++) {
    const char *name = node->attribute[i]->name;
    if (eg_strmap_find(&names, name, &first))
      return EG_FAIL(EGRAPH_E_PARSE, "it has attribute '%.200s' twice", name);
    EG_TRY(eg_strmap_put(&names, name, (uint32_t)i));
  }
  return EGRAPH_OK;
}

/// Finds out if a node reads a missing result, and no output depends on the node. A
/// result, for example a mask, is missing if no needed node reads it.
static egraph_status lacks_operands(eg_onnx_reader *r, uint32_t n, bool *out) {
  *out = false;
  if (is_read(r, r->nodes.data[n].node)) return EGRAPH_OK;
  EG_LOCAL(eg_onnx_refs, operands, r->alloc);
  EG_TRY(list_operands(r, n, &operands));
  for (size_t i = 0; i < operands.len; i++)
    *out = *out || !eg_onnx_tensor_at(r, operands.data[i])->made;
  return EGRAPH_OK;
}

static egraph_status import_one(eg_onnx_reader *r, uint32_t n) {
  const Onnx__NodeProto *node = r->nodes.data[n].node;
  eg_onnx_ref *inputs, *outputs;
  bool is_left_out;
  EG_TRY(check_attributes(r, node));
  EG_TRY(lacks_operands(r, n, &is_left_out));
  if (is_left_out) return EGRAPH_OK;
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
  r->scope = r->nodes.data[n].scope;
  r->opset = r->scope->opset;
  EG_TRY(import_call(&call));
  // An unused result that the operator lacks stays undefined.
  for (uint32_t i = 0; i < call.output_count; i++)
    if (outputs[i].id != EG_ONNX_NONE.id && !eg_onnx_tensor_at(r, outputs[i])->made &&
        eg_onnx_tensor_at(r, outputs[i])->used)
      return EG_FAIL(EGRAPH_E_PARSE, "it has no result %" PRIu32, i);
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_from(eg_onnx_reader *r, uint32_t first) {
  const eg_onnx_scope *scope = r->scope;
  size_t begin = r->order.len;
  if (r->depth == EG_ONNX_MAX_BODIES)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "functions, branches and loops are nested more than %d deep",
                   EG_ONNX_MAX_BODIES);
  r->depth++;
  EG_TRY(sort_nodes(r, first));
  for (size_t i = begin, end = r->order.len; i < end; i++) {
    uint32_t n = r->order.data[i]; // bodies extend the list
    egraph_status status = import_one(r, n);
    if (status == EGRAPH_E_MEMORY) return status;
    if (status != EGRAPH_OK) return eg_onnx_in_node(r, n, status);
  }
  r->depth--;
  r->scope = scope;
  r->opset = scope->opset;
  return EGRAPH_OK;
}

/// Registers the nodes of the model, their results, and the declarations of results.
static egraph_status register_nodes(eg_onnx_reader *r) {
  const Onnx__GraphProto *graph = r->model->graph;
  for (size_t n = 0; n < graph->n_node; n++) {
    EG_TRY(eg_onnx_places_push(&r->nodes, (eg_onnx_place){graph->node[n], &r->whole}));
    EG_TRY(eg_onnx_inner_names(r->alloc, graph->node[n], eg_onnx_defined_names,
                               &r->reserved));
  }
  EG_TRY(eg_onnx_register_results(r, 0));
  for (size_t i = 0; i < graph->n_output; i++)
    eg_onnx_declare(r, graph->output[i]->name, graph->output[i]);
  for (size_t i = 0; i < graph->n_value_info; i++)
    eg_onnx_declare(r, graph->value_info[i]->name, graph->value_info[i]);
  return EGRAPH_OK;
}

// ---- outputs ------------------------------------------------------------------------

static egraph_status mark_outputs(eg_onnx_reader *r) {
  const Onnx__GraphProto *graph = r->model->graph;
  eg_onnx_ref ref;
  for (size_t i = 0; i < graph->n_output; i++) {
    if (!eg_onnx_find_tensor(r, graph->output[i]->name, &ref))
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
    bool found = eg_onnx_find_tensor(r, name, &ref);
    assert(found);
    (void)found;
    EG_TRY(eg_onnx_value(r, ref, &value));
    EG_TRY(eg_onnx_about(r, eg_graph_add_output(r->graph, name, value), "output", name));
  }
  return EGRAPH_OK;
}

// Sets memory formats from the metadata "egraph.format:<tensor>". Skips unknown tensors:
// other tools may have changed the graph and kept the metadata.
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
    EG_TRY(
        eg_onnx_about(r, eg_graph_set_format(r->graph, value, format), "tensor", name));
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
  EG_TRY(read_metadata(r));
  EG_TRY(eg_onnx_resolve_dims(r));
  EG_TRY(eg_onnx_register_functions(r));
  EG_TRY(eg_onnx_register_leaves(r));
  EG_TRY(register_nodes(r));
  EG_TRY(mark_outputs(r));
  EG_TRY(eg_onnx_import_from(r, 0));
  EG_TRY(add_outputs(r));
  EG_TRY(eg_onnx_header_read(&r->arena, r->model, r->graph));
  EG_TRY(set_formats(r));
  return r->needs_pruning ? prune(r) : EGRAPH_OK;
}

// ---- the whole model ----------------------------------------------------------------

#define OWNED                                                                            \
  (eg_arena, arena), (eg_onnx_tensors, tensors), (eg_u32s, order),                       \
      (eg_strmap, names, absent, reserved, functions), (eg_onnx_dims, dims),             \
      (eg_onnx_places, nodes)

static void reader_deinit(eg_onnx_reader *r) {
  for (size_t i = 0; i < r->tensors.len; i++)
    eg_buffer_release(r->tensors.data[i].data);
  EG_DEINIT_MEMBERS(r, OWNED, (eg_onnx_unpacked, unpacked));
}

egraph_status eg_onnx_read(egraph_allocator alloc, const char *name, const void *data,
                           size_t size, const char *base,
                           const eg_onnx_import_options *options, eg_graph **out) {
  eg_onnx_reader r = {.file = name, .base = base, .options = *options, .alloc = alloc};
  EG_INIT_MEMBERS(&r, alloc, OWNED)
  r.scope = &r.whole;
  egraph_status status =
      eg_onnx_model_unpack(alloc, name, "ONNX model", data, size, &r.unpacked);
  r.model = r.unpacked.model;
  if (status == EGRAPH_OK) status = eg_onnx_fill_strings(&r.unpacked.heap, r.model);
  if (status == EGRAPH_OK) status = eg_graph_create(&r.alloc, &r.graph);
  if (status == EGRAPH_OK) status = import_model(&r);
  reader_deinit(&r);
  EG_HAND_OVER_OR_DESTROY(status, r.graph, eg_graph_destroy, out);
}
