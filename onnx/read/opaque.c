// Import of nodes, inputs and initializers that the tables do not cover: they become
// opaque nodes, which are written back unchanged.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/opaque.h"

#include <inttypes.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/read/reader.h"
#include "onnx/read/scopes.h"
#include "onnx/sets/versions.h"

// ---- tensors that sub-graphs use ----------------------------------------------------

egraph_status eg_onnx_inner_names(egraph_allocator alloc, const Onnx__NodeProto *node,
                                  eg_onnx_names_in *names_in, eg_strmap *out) {
  uint32_t ignored;
  for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(node, &g);) {
    EG_LOCAL(eg_onnx_strings, names, alloc);
    EG_TRY(names_in(g.graph, &names, NULL));
    for (size_t i = 0; i < names.len; i++)
      if (!eg_strmap_find(out, names.data[i], &ignored))
        EG_TRY(eg_strmap_put(out, names.data[i], EG_ONNX_INNER_NAME));
    for (size_t n = 0; n < g.graph->n_node; n++)
      EG_TRY(eg_onnx_inner_names(alloc, g.graph->node[n], names_in, out));
  }
  return EGRAPH_OK;
}

/// The search for tensors of the model that graphs within a node use.
typedef struct capture_search {
  eg_onnx_reader *reader;
  eg_onnx_scopes scopes; // names that are defined, or found already
  eg_onnx_strings names; // scratch
  eg_onnx_refs *out;
} capture_search;
EG_OWNER_DEFINE_STATIC(capture_search, (eg_onnx_scopes, scopes), (eg_onnx_strings, names))

// Adds the tensor of a name that the graphs do not define.
static egraph_status add_capture(capture_search *s, const char *name) {
  uint32_t ignored;
  eg_onnx_ref ref;
  if (name == NULL || name[0] == '\0' || eg_onnx_scopes_find(&s->scopes, name, &ignored))
    return EGRAPH_OK;
  if (!eg_strmap_find(&s->reader->names, name, &ref.id))
    return EG_FAIL(EGRAPH_E_PARSE, "a graph of it reads '%.200s', which does not exist",
                   name);
  EG_TRY(eg_onnx_scopes_keep(&s->scopes, name, 0));
  return eg_onnx_refs_push(s->out, ref);
}

/// Fails if a graph defines a name twice. An initializer may have the name of an input.
static egraph_status check_made_once(capture_search *s, size_t initializers) {
  EG_LOCAL(eg_strmap, made, s->reader->alloc);
  for (size_t i = initializers; i < s->names.len; i++) {
    uint32_t ignored;
    if (eg_strmap_find(&made, s->names.data[i], &ignored))
      return EG_FAIL(
          EGRAPH_E_PARSE,
          "a graph of it makes '%.200s' twice; each result needs a name of its own",
          s->names.data[i]);
    EG_TRY(eg_strmap_put(&made, s->names.data[i], 0));
  }
  return EGRAPH_OK;
}

static egraph_status search_graph(capture_search *s, const Onnx__GraphProto *graph) {
  const size_t mark = s->scopes.hidden.len;
  size_t initializers;
  s->names.len = 0;
  EG_TRY(eg_onnx_defined_names(graph, &s->names, &initializers));
  EG_TRY(check_made_once(s, initializers));
  for (size_t i = 0; i < s->names.len; i++)
    EG_TRY(eg_onnx_scopes_define(&s->scopes, s->names.data[i], 0));
  for (size_t n = 0; n < graph->n_node; n++) {
    for (size_t i = 0; i < graph->node[n]->n_input; i++)
      EG_TRY(add_capture(s, graph->node[n]->input[i]));
    for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(graph->node[n], &g);)
      EG_TRY(search_graph(s, g.graph));
  }
  for (size_t i = 0; i < graph->n_output; i++)
    EG_TRY(add_capture(s, graph->output[i]->name));
  eg_onnx_scopes_leave(&s->scopes, mark);
  return EGRAPH_OK;
}

egraph_status eg_onnx_captures(eg_onnx_reader *reader, const Onnx__NodeProto *node,
                               eg_onnx_refs *out) {
  EG_LOCAL(capture_search, search, reader->alloc);
  search.reader = reader;
  search.out = out;
  for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(node, &g);)
    EG_TRY(search_graph(&search, g.graph));
  return EGRAPH_OK;
}

// ---- records ------------------------------------------------------------------------

static bool is_foreign_domain(const char *domain) {
  return !eg_onnx_is_standard(domain) && strcmp(domain, EG_ONNX_DOMAIN) != 0;
}

static bool has_graphs(const Onnx__NodeProto *node) {
  return eg_onnx_next_graph(node, &(eg_onnx_graphs){0});
}

// Adds the nodes in graphs of the listed nodes, and in functions that they call, to
// `spans`, which is also the work list. Sets is_called [functions of the model].
static egraph_status search_calls(const eg_onnx_reader *r, eg_onnx_node_spans *spans,
                                  bool *is_called) {
  for (size_t s = 0; s < spans->len; s++)
    for (size_t n = 0; n < spans->data[s].count; n++) {
      const Onnx__NodeProto *node = spans->data[s].nodes[n];
      uint32_t index;
      EG_TRY(eg_onnx_push_graphs(node, spans));
      EG_TRY(eg_onnx_function_of(r, node, &index));
      if (index == UINT32_MAX || is_called[index]) continue;
      const Onnx__FunctionProto *function = r->model->functions[index];
      is_called[index] = true;
      EG_TRY(eg_onnx_node_spans_push(
          spans, (eg_onnx_node_span){function->node, function->n_node}));
    }
  return EGRAPH_OK;
}

/// Marks the functions that the graphs of a node call, directly or through functions.
static egraph_status mark_called(eg_onnx_reader *r, const Onnx__NodeProto *node,
                                 bool *is_called) {
  EG_LOCAL(eg_onnx_node_spans, spans, r->alloc);
  Onnx__NodeProto *whole = (Onnx__NodeProto *)(uintptr_t)node;
  EG_TRY(eg_onnx_node_spans_push(&spans, (eg_onnx_node_span){&whole, 1}));
  return search_calls(r, &spans, is_called);
}

// Makes the model of a record, with operator sets, around `graph`, which the caller
// fills. If the node (`node` may be NULL) is of another domain, or has sub-graphs, the
// model has the sets of all other domains. If it has sub-graphs, the model also has the
// standard set, and the functions that the sub-graphs call.
static egraph_status record_model(eg_onnx_reader *r, Onnx__GraphProto *graph,
                                  const Onnx__NodeProto *node, Onnx__ModelProto *out) {
  static char standard_domain[] = "";
  const Onnx__ModelProto *model = r->model;
  const eg_onnx_scope *scope = r->scope;
  Onnx__OperatorSetIdProto *standard;
  *out = (Onnx__ModelProto)ONNX__MODEL_PROTO__INIT;
  out->graph = graph;
  if (node == NULL) return EGRAPH_OK;
  EG_NEW(&r->arena, scope->import_count + 1, out->opset_import);
  EG_TRY(eg_onnx_new(&r->arena, &onnx__operator_set_id_proto__descriptor, &standard));
  if (scope->opset != 0 && (!is_foreign_domain(node->domain) || has_graphs(node))) {
    standard->domain = standard_domain;
    standard->has_version = true;
    standard->version = scope->opset;
    out->opset_import[out->n_opset_import++] = standard;
  }
  if (!is_foreign_domain(node->domain) && !has_graphs(node)) return EGRAPH_OK;
  for (size_t i = 0; i < scope->import_count; i++)
    if (scope->imports[i]->domain != NULL && is_foreign_domain(scope->imports[i]->domain))
      out->opset_import[out->n_opset_import++] = scope->imports[i];
  if (model->n_functions == 0 || !has_graphs(node)) return EGRAPH_OK;
  bool *is_called;
  EG_NEW(&r->arena, model->n_functions, is_called);
  EG_NEW(&r->arena, model->n_functions, out->functions);
  EG_TRY(mark_called(r, node, is_called));
  for (size_t i = 0; i < model->n_functions; i++)
    if (is_called[i]) out->functions[out->n_functions++] = model->functions[i];
  return EGRAPH_OK;
}

typedef struct opaque_node {
  const char *name, *type;
  eg_value *operands;
  uint32_t count;
  const eg_type **types;
  const char **names;
  uint32_t result_count;
  eg_onnx_ref *results;
} opaque_node;

static egraph_status add_opaque(eg_onnx_reader *r, const opaque_node *node,
                                const Onnx__ModelProto *record) {
  EG_OWNED(eg_onnx_packed, bytes);
  eg_value *results;
  EG_NEW(&r->arena, node->result_count, results);
  EG_TRY(eg_onnx_message_pack(r->alloc, &record->base, &bytes));
  EG_TRY(eg_graph_add_opaque(r->graph, node->name, node->type, bytes.data, bytes.size,
                             node->operands, node->count,
                             (const eg_type *const *)node->types, node->names,
                             node->result_count, results));
  for (uint32_t i = 0; i < node->result_count; i++) {
    eg_onnx_tensor *tensor = eg_onnx_tensor_at(r, node->results[i]);
    tensor->made = true;
    tensor->value = results[i];
    tensor->typed = node->types[i] != NULL;
    if (tensor->typed) tensor->type = *node->types[i];
  }
  return EGRAPH_OK;
}

// Gathers the operands: present formal operands, then tensors that sub-graphs use.
static egraph_status gather_operands(const eg_onnx_call *call,
                                     const eg_onnx_refs *captures, opaque_node *out) {
  eg_onnx_reader *r = call->reader;
  EG_NEW(&r->arena, call->input_count + captures->len, out->operands);
  for (uint32_t i = 0; i < call->input_count; i++)
    if (call->inputs[i].id != EG_ONNX_NONE.id)
      EG_TRY(eg_onnx_value(r, call->inputs[i], &out->operands[out->count++]));
  for (size_t i = 0; i < captures->len; i++)
    EG_TRY(eg_onnx_value(r, captures->data[i], &out->operands[out->count++]));
  return EGRAPH_OK;
}

/// Fails if an opaque node's result has another element type than the file declares.
static egraph_status check_declared(const eg_onnx_call *call, const int *dtype,
                                    uint32_t result) {
  const Onnx__ValueInfoProto *info =
      eg_onnx_tensor_at(call->reader, call->outputs[result])->declared;
  const Onnx__TypeProto__Tensor *tensor = eg_onnx_declared_tensor(info);
  if (tensor == NULL) return EGRAPH_OK;
  const int declared = tensor->elem_type,
            made = eg_onnx_result_type(call->node, dtype, result, call->reader->opset);
  if (declared == 0 || made == 0 || declared == made) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_PARSE,
                 "its result '%.200s' is declared with element type %d of ONNX, but it "
                 "computes %d",
                 info->name, declared, made);
}

static egraph_status check_results(const eg_onnx_call *call) {
  int *dtype;
  if (!eg_onnx_is_standard(call->node->domain)) return EGRAPH_OK;
  EG_NEW(&call->reader->arena, call->input_count, dtype);
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (call->inputs[i].id == EG_ONNX_NONE.id) continue;
    const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, call->inputs[i]);
    if (tensor->typed) dtype[i] = eg_dtype_onnx(tensor->type.dtype);
  }
  for (uint32_t i = 0; i < call->output_count; i++)
    if (call->outputs[i].id != EG_ONNX_NONE.id) EG_TRY(check_declared(call, dtype, i));
  return EGRAPH_OK;
}

/// Gathers the results, with their known types, or else the types that the file declares.
static egraph_status gather_results(const eg_onnx_call *call, opaque_node *out) {
  eg_onnx_reader *r = call->reader;
  EG_NEW(&r->arena, call->output_count, out->types);
  EG_NEW(&r->arena, call->output_count, out->names);
  EG_NEW(&r->arena, call->output_count, out->results);
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (call->outputs[i].id == EG_ONNX_NONE.id) continue;
    const eg_onnx_tensor *tensor = eg_onnx_tensor_at(r, call->outputs[i]);
    eg_type *type;
    EG_NEW(&r->arena, 1, type);
    uint32_t at = out->result_count++;
    // Declared types are only right for the batch of the file.
    bool is_known = tensor->typed;
    if (!is_known && r->options.as_in_file == NULL)
      EG_TRY(eg_onnx_kept_type(r, tensor->declared, &is_known, type));
    if (tensor->typed) *type = tensor->type;
    out->types[at] = is_known ? type : NULL;
    out->names[at] = tensor->name;
    out->results[at] = call->outputs[i];
  }
  return EGRAPH_OK;
}

// Fills the graph of a node's record: the node, the declared types of its results, the
// names of the tensors that it captures.
static egraph_status fill_record(const eg_onnx_call *call, const eg_onnx_refs *captures,
                                 Onnx__GraphProto *graph) {
  eg_onnx_reader *r = call->reader;
  EG_NEW(&r->arena, captures->len, graph->input);
  EG_NEW(&r->arena, call->output_count, graph->value_info);
  for (size_t i = 0; i < captures->len; i++) {
    Onnx__ValueInfoProto *info;
    EG_TRY(eg_onnx_new(&r->arena, &onnx__value_info_proto__descriptor, &info));
    // protobuf-c has no const strings; packing only reads.
    info->name = (char *)(uintptr_t)eg_onnx_tensor_at(r, captures->data[i])->name;
    graph->input[graph->n_input++] = info;
  }
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (call->outputs[i].id == EG_ONNX_NONE.id) continue;
    const Onnx__ValueInfoProto *declared =
        eg_onnx_tensor_at(r, call->outputs[i])->declared;
    if (declared != NULL && declared->type != NULL)
      graph->value_info[graph->n_value_info++] =
          (Onnx__ValueInfoProto *)(uintptr_t)declared;
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_opaque(const eg_onnx_call *call) {
  EG_LOCAL(eg_onnx_refs, captures, call->reader->alloc);
  EG_TRY(eg_onnx_captures(call->reader, call->node, &captures));
  Onnx__NodeProto *node = (Onnx__NodeProto *)(uintptr_t)call->node;
  opaque_node opaque = {.name = node->name, .type = node->op_type};
  Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
  EG_TRY(check_results(call));
  EG_TRY(gather_operands(call, &captures, &opaque));
  EG_TRY(gather_results(call, &opaque));
  EG_TRY(fill_record(call, &captures, &graph));
  graph.n_node = 1;
  graph.node = &node;
  Onnx__ModelProto model;
  EG_TRY(record_model(call->reader, &graph, node, &model));
  return add_opaque(call->reader, &opaque, &model);
}

// ---- inputs and initializers of foreign types ---------------------------------------

egraph_status eg_onnx_import_foreign(eg_onnx_reader *r, Onnx__ValueInfoProto *input,
                                     Onnx__TensorProto *initializer) {
  Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
  graph.n_input = input != NULL;
  graph.input = &input;
  graph.n_initializer = initializer != NULL;
  graph.initializer = &initializer;
  eg_onnx_ref ref = EG_ONNX_NONE;
  const eg_type *none = NULL;
  const char *name = input != NULL ? input->name : initializer->name;
  bool found = eg_strmap_find(&r->names, name, &ref.id);
  opaque_node opaque = {.name = "",
                        .type = input != NULL ? EG_ONNX_FOREIGN_INPUT
                                              : EG_ONNX_FOREIGN_INITIALIZER,
                        .types = &none,
                        .names = &name,
                        .result_count = 1,
                        .results = &ref};
  Onnx__ModelProto model;
  EG_TRY(record_model(r, &graph, NULL, &model));
  return found ? add_opaque(r, &opaque, &model) : EGRAPH_E_INTERNAL;
}
