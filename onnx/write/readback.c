// Checks a written model: names and types in the message, then imports the message.
//
//   names   every name is made once in its scope; in the model, and in functions that we
//           write, before it is used; graphs within opaque nodes hide nothing
//   types   element types that follow from operands (of functions that we write, through
//           their bodies) are those that the message declares
//   import  the message is a model again, with inputs and outputs of the graph: at the
//           example sizes where dimensions are open, or with open dimensions where the
//           model itself cannot be read at these sizes
//
// Weights are left out: a model of gigabytes is read as fast as a small one.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/owner.h"
#include "onnx/message.h"
#include "onnx/onnx.h"
#include "onnx/read/scopes.h"
#include "onnx/write/writer.h"
#include "ops/size.h"

// ---- names and types ------------------------------------------------------------------

typedef struct checker {
  const Onnx__ModelProto *model;
  int64_t opset;
  eg_arena *arena;
  eg_onnx_scopes scopes; // tensor -> TensorProto.DataType, 0: not known
  eg_onnx_strings names; // scratch
  eg_strmap functions;   // our functions, by name
  eg_strmap made;        // names that nodes of the model define, earlier or later
} checker;
EG_OWNER_DEFINE_STATIC(checker, (eg_onnx_scopes, scopes), (eg_onnx_strings, names),
                       (eg_strmap, functions, made))

static egraph_status wrong(const Onnx__NodeProto *node, const char *what,
                           const char *name) {
  return EG_FAIL(EGRAPH_E_INTERNAL,
                 "the model that was written is wrong: %.64s '%.200s' %s '%.200s'; "
                 "nothing is given out",
                 eg_onnx_text(node->op_type), eg_onnx_name_of(node), what, name);
}

static egraph_status wrong_tensor(const char *name, const char *what) {
  return EG_FAIL(EGRAPH_E_INTERNAL,
                 "the model that was written is wrong: '%.200s' %s; nothing is given out",
                 name, what);
}

static egraph_status use(const checker *c, const Onnx__NodeProto *node, const char *name,
                         int *out_dtype) {
  uint32_t dtype = 0;
  *out_dtype = 0;
  if (eg_onnx_text(name)[0] == '\0') return EGRAPH_OK;
  if (!eg_onnx_scopes_find(&c->scopes, name, &dtype))
    return wrong(node, "reads what nothing before makes,", name);
  *out_dtype = (int)dtype;
  return EGRAPH_OK;
}

static egraph_status make(checker *c, const char *name, int dtype) {
  uint32_t ignored;
  if (eg_onnx_text(name)[0] == '\0') return EGRAPH_OK;
  if (eg_onnx_scopes_find(&c->scopes, name, &ignored))
    return wrong_tensor(name, "is made twice");
  return eg_onnx_scopes_define(&c->scopes, name, dtype > 0 ? (uint32_t)dtype : 0);
}

static int declared_type(const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto__Tensor *tensor = eg_onnx_declared_tensor(info);
  return tensor != NULL ? tensor->elem_type : 0;
}

static egraph_status check_declared(const checker *c, const Onnx__ValueInfoProto *info) {
  uint32_t dtype = 0;
  if (!eg_onnx_scopes_find(&c->scopes, info->name, &dtype))
    return wrong_tensor(info->name, "is declared, and nothing makes it");
  int declared = declared_type(info);
  return dtype == 0 || declared == 0 || dtype == (uint32_t)declared
             ? EGRAPH_OK
             : wrong_tensor(info->name, "is declared with another element type than is "
                                        "computed");
}

// ---- graphs within nodes

/// Defines the names of a graph within a node. Initializers may hide names around it
/// (read/scopes.h); operands and results may not, not even names that the model defines
/// later, which ONNX Runtime refuses.
static egraph_status define_within(checker *c, const Onnx__GraphProto *graph) {
  size_t initializers;
  c->names.len = 0;
  EG_TRY(eg_onnx_defined_names(graph, &c->names, &initializers));
  for (size_t i = initializers; i < c->names.len; i++) {
    uint32_t ignored;
    if (eg_strmap_find(&c->made, c->names.data[i], &ignored))
      return wrong_tensor(c->names.data[i], "is made twice");
    EG_TRY(make(c, c->names.data[i], 0));
  }
  for (size_t i = 0; i < initializers; i++)
    EG_TRY(eg_onnx_scopes_define(&c->scopes, c->names.data[i], 0));
  return EGRAPH_OK;
}

static egraph_status check_graph_within(checker *c, const Onnx__NodeProto *around,
                                        const Onnx__GraphProto *graph) {
  const size_t mark = c->scopes.hidden.len;
  int ignored;
  EG_TRY(define_within(c, graph));
  for (size_t n = 0; n < graph->n_node; n++) {
    const Onnx__NodeProto *node = graph->node[n];
    for (size_t i = 0; i < node->n_input; i++)
      EG_TRY(use(c, node, node->input[i], &ignored));
    for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(node, &g);)
      EG_TRY(check_graph_within(c, node, g.graph));
  }
  for (size_t i = 0; i < graph->n_output; i++)
    EG_TRY(use(c, around, graph->output[i]->name, &ignored));
  eg_onnx_scopes_leave(&c->scopes, mark);
  return EGRAPH_OK;
}

// ---- nodes, in order

static egraph_status check_call(checker *c, const Onnx__NodeProto *node, const int *dtype,
                                int *result);

/// Finds the element types of a node's results.
static egraph_status result_types(checker *c, const Onnx__NodeProto *node,
                                  const int *dtype, int *result) {
  if (eg_onnx_is_standard(node->domain)) {
    for (size_t i = 0; i < node->n_output; i++)
      result[i] = eg_onnx_result_type(node, dtype, i, c->opset);
    return EGRAPH_OK;
  }
  return strcmp(node->domain, EG_ONNX_DOMAIN) == 0 ? check_call(c, node, dtype, result)
                                                   : EGRAPH_OK;
}

static egraph_status check_nodes(checker *c, Onnx__NodeProto *const *nodes,
                                 size_t count) {
  for (size_t n = 0; n < count; n++) {
    const Onnx__NodeProto *node = nodes[n];
    int *dtype, *result;
    EG_NEW(c->arena, node->n_input, dtype);
    EG_NEW(c->arena, node->n_output, result);
    for (size_t i = 0; i < node->n_input; i++)
      EG_TRY(use(c, node, node->input[i], &dtype[i]));
    for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(node, &g);)
      EG_TRY(check_graph_within(c, node, g.graph));
    EG_TRY(result_types(c, node, dtype, result));
    for (size_t i = 0; i < node->n_output; i++)
      EG_TRY(make(c, node->output[i], result[i]));
  }
  return EGRAPH_OK;
}

/// Checks the body of a function that we write, with the types of the operands of one
/// call. The body does not see the names around the call.
static egraph_status check_call(checker *c, const Onnx__NodeProto *call, const int *dtype,
                                int *result) {
  uint32_t index;
  if (!eg_strmap_find(&c->functions, call->op_type, &index))
    return EGRAPH_OK; // a function of the file
  const Onnx__FunctionProto *function = c->model->functions[index];
  EG_LOCAL(checker, inner, c->arena->alloc);
  inner.model = c->model;
  inner.opset = c->opset;
  inner.arena = c->arena;
  for (size_t i = 0; i < function->n_input; i++)
    EG_TRY(make(&inner, function->input[i], i < call->n_input ? dtype[i] : 0));
  EG_TRY(check_nodes(&inner, function->node, function->n_node));
  for (size_t i = 0; i < function->n_output; i++) {
    int ignored;
    EG_TRY(use(&inner, call, function->output[i],
               i < call->n_output ? &result[i] : &ignored));
  }
  return EGRAPH_OK;
}

/// Defines inputs and initializers. An initializer with the name of an input is
/// its default.
static egraph_status check_leaves(checker *c, const Onnx__GraphProto *graph) {
  EG_LOCAL(eg_strmap, inputs, c->arena->alloc);
  for (size_t i = 0; i < graph->n_input; i++) {
    EG_TRY(make(c, graph->input[i]->name, declared_type(graph->input[i])));
    EG_TRY(eg_strmap_put(&inputs, graph->input[i]->name, 0));
  }
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const Onnx__TensorProto *tensor = graph->initializer[i];
    uint32_t defaults = 1;
    if (eg_strmap_find(&inputs, tensor->name, &defaults) && defaults == 0)
      EG_TRY(eg_strmap_put(&inputs, tensor->name, 1));
    else
      EG_TRY(make(c, tensor->name, tensor->data_type));
  }
  return EGRAPH_OK;
}

static egraph_status check_names(eg_onnx_writer *w, const Onnx__ModelProto *model) {
  EG_LOCAL(checker, c, w->alloc);
  c.model = model;
  c.opset = w->opset;
  c.arena = &w->arena;
  const Onnx__GraphProto *graph = model->graph;
  for (size_t i = 0; i < model->n_functions; i++)
    if (strcmp(model->functions[i]->domain, EG_ONNX_DOMAIN) == 0)
      EG_TRY(eg_strmap_put(&c.functions, model->functions[i]->name, (uint32_t)i));
  for (size_t n = 0; n < graph->n_node; n++)
    for (size_t i = 0; i < graph->node[n]->n_output; i++)
      EG_TRY(eg_strmap_put(&c.made, graph->node[n]->output[i], 0));
  EG_TRY(check_leaves(&c, graph));
  EG_TRY(check_nodes(&c, graph->node, graph->n_node));
  for (size_t i = 0; i < graph->n_output; i++)
    EG_TRY(check_declared(&c, graph->output[i]));
  for (size_t i = 0; i < graph->n_value_info; i++)
    EG_TRY(check_declared(&c, graph->value_info[i]));
  return EGRAPH_OK;
}

// ---- the message without its weights --------------------------------------------------

// Larger tensors are left out; integers, from which shapes are computed, have a
// higher limit.
enum { MOST_BYTES = 4096, MOST_INTEGER_BYTES = 65536 };

/// Copies the model; large weights of the copy refer to a file that does not exist.
static egraph_status copy_without_weights(eg_onnx_writer *w, const Onnx__ModelProto *old,
                                          Onnx__ModelProto *out) {
  Onnx__GraphProto *graph;
  EG_TRY(eg_onnx_copy(&w->arena, old->graph, &graph));
  EG_NEW(&w->arena, graph->n_initializer, graph->initializer);
  for (size_t i = 0; i < graph->n_initializer; i++) {
    Onnx__TensorProto *tensor = old->graph->initializer[i];
    graph->initializer[i] = tensor;
    egraph_dtype dtype;
    bool is_integer =
        eg_dtype_from_onnx(tensor->data_type, &dtype) && !eg_dtype_is_float(dtype);
    if (tensor->raw_data.len <= (is_integer ? MOST_INTEGER_BYTES : MOST_BYTES)) continue;
    EG_TRY(eg_onnx_copy(&w->arena, tensor, &tensor));
    graph->initializer[i] = tensor;
    tensor->has_raw_data = false;
    tensor->raw_data = (ProtobufCBinaryData){.len = 0};
    tensor->has_data_location = true;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  }
  *out = *old;
  out->graph = graph;
  return EGRAPH_OK;
}

// ---- the interface --------------------------------------------------------------------

/// The graph that was written, and the graph that was read back.
typedef struct reading {
  const eg_graph *graph, *again;
  eg_open_sizes *sizes;    // of `again`; NULL: it was read at the example
  int64_t *ones, *example; // sizes of open dimensions
} reading;

/// True when both sizes are equal where open dimensions have the sizes `dims`, or a
/// model does not admit these sizes.
static bool is_same_at(const reading *r, int64_t wanted, int64_t read,
                       const int64_t *dims) {
  return !eg_open_sizes_admit(r->sizes, dims) ||
         !eg_open_sizes_admit(eg_graph_open_sizes(r->graph), dims) ||
         eg_size_at(read, dims) == eg_size_at(wanted, dims);
}

/// True when a dimension was read back as the same size. Does not compare dimensions that
/// open ones do not determine: a file need not give them.
static bool is_read_as_size(const reading *r, int64_t wanted, int64_t read) {
  if (!eg_size_is_determined(wanted)) return true;
  if (r->sizes == NULL) return read == eg_size_example(wanted);
  return !eg_size_is_determined(read) || (is_same_at(r, wanted, read, r->ones) &&
                                          is_same_at(r, wanted, read, r->example));
}

static bool is_read_as(const reading *r, const eg_value_info *wanted,
                       const eg_value_info *read) {
  bool is_told = true;
  for (uint32_t d = 0; d < wanted->type.rank; d++)
    is_told &= eg_size_is_determined(wanted->type.dims[d]);
  // The reader may make a node opaque at the example sizes, for example because a table
  // is too large there; the result of the node then has no type.
  if (!read->typed)
    return !wanted->typed || !is_told || eg_graph_open_sizes(r->graph) != NULL;
  if (!wanted->typed) return true;
  if (read->type.dtype != wanted->type.dtype || read->type.rank != wanted->type.rank)
    return false;
  for (uint32_t d = 0; d < wanted->type.rank; d++)
    if (!is_read_as_size(r, wanted->type.dims[d], read->type.dims[d])) return false;
  return true;
}

static egraph_status check_value(const reading *r, const eg_value_info *wanted,
                                 eg_value value, const char *name) {
  return is_read_as(r, wanted, eg_graph_value(r->again, value))
             ? EGRAPH_OK
             : wrong_tensor(name, "is of another type when it is read");
}

static egraph_status check_interface(const reading *r, const char *const *names) {
  const eg_graph *graph = r->graph, *again = r->again;
  eg_value value;
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){i});
    if (info->kind != EG_VALUE_INPUT) continue;
    if (!eg_graph_find_value(again, names[i], &value))
      return wrong_tensor(names[i], "is no input when it is read");
    EG_TRY(check_value(r, info, value, names[i]));
  }
  if (eg_graph_output_count(graph) != eg_graph_output_count(again))
    return EG_FAIL(EGRAPH_E_INTERNAL, "the model that was written has other outputs");
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    const char *wanted, *name;
    eg_value output = eg_graph_output(graph, i, &wanted);
    value = eg_graph_output(again, i, &name);
    if (strcmp(wanted, name) != 0) return wrong_tensor(wanted, "is not the output");
    EG_TRY(check_value(r, eg_graph_value(graph, output), value, name));
  }
  return EGRAPH_OK;
}

static egraph_status list_dims(eg_onnx_writer *w, reading *r,
                               eg_onnx_import_options *options) {
  const eg_open_sizes *sizes = eg_graph_open_sizes(w->graph);
  uint32_t count = sizes != NULL ? eg_open_sizes_dim_count(sizes) : 0;
  eg_onnx_dim *dims;
  EG_NEW(&w->arena, count, dims);
  EG_NEW(&w->arena, count, r->ones);
  EG_NEW(&w->arena, count, r->example);
  for (uint32_t i = 0; i < count; i++) {
    const eg_open_dim *dim = eg_open_sizes_dim(sizes, i);
    r->ones[i] = 1;
    r->example[i] = dim->example;
    dims[i] = (eg_onnx_dim){dim->name, dim->example};
    if (r->sizes != NULL) EG_TRY(eg_open_sizes_add_dim(r->sizes, dim, &dims[i].size));
  }
  options->dims = dims;
  options->dim_count = count;
  options->sizes = r->sizes;
  return EGRAPH_OK;
}

static egraph_status read_message(eg_onnx_writer *w, reading *r, const void *bytes,
                                  size_t size) {
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  eg_graph *again;
  options.draws_weights = true;
  EG_TRY(list_dims(w, r, &options));
  egraph_status status = eg_onnx_parse(&w->alloc, "the model that was written", bytes,
                                       size, NULL, &options, &again);
  if (status == EGRAPH_E_MEMORY) return status;
  if (status != EGRAPH_OK) return eg_fail_context(EGRAPH_E_INTERNAL, "not readable");
  if (r->sizes != NULL) eg_open_sizes_close(r->sizes);
  r->again = again;
  status = check_interface(r, w->value_names);
  eg_graph_destroy(again);
  return status;
}

static egraph_status read_again(eg_onnx_writer *w, const void *bytes, size_t size) {
  const eg_open_sizes *sizes = eg_graph_open_sizes(w->graph);
  reading r = {.graph = w->graph};
  if (sizes != NULL && !eg_open_sizes_is_readable(sizes))
    EG_TRY(eg_open_sizes_create(w->alloc, &r.sizes));
  egraph_status status = read_message(w, &r, bytes, size);
  eg_open_sizes_release(r.sizes);
  return status;
}

egraph_status eg_onnx_check_written(eg_onnx_writer *w, const Onnx__ModelProto *model) {
  Onnx__ModelProto light;
  EG_OWNED(eg_onnx_packed, bytes);
  EG_TRY(check_names(w, model));
  EG_TRY(copy_without_weights(w, model, &light));
  EG_TRY(eg_onnx_message_pack(w->alloc, &light.base, &bytes));
  return read_again(w, bytes.data, bytes.size);
}
