// Gives every name of a model a tensor: initializers, graph inputs, results of nodes.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "onnx/read/op.h"
#include "onnx/tensor.h"
#include "pcg/graph/graph_internal.h"

enum { FIRST_IR_WITH_DEFAULTS = 4 };

bool eg_onnx_find_tensor(const eg_onnx_reader *r, const char *name, eg_onnx_ref *out) {
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

static egraph_status register_leaf(eg_onnx_reader *r, const char *name,
                                   eg_onnx_ref *out) {
  if (name[0] == '\0') return EG_FAIL(EGRAPH_E_PARSE, "it has no name");
  if (eg_onnx_find_tensor(r, name, out))
    return EG_FAIL(EGRAPH_E_PARSE, "there are two tensors of this name");
  return register_tensor(r, name, UINT32_MAX, out);
}

egraph_status eg_onnx_about(const eg_onnx_reader *r, egraph_status status,
                            const char *what, const char *name) {
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  (void)eg_fail_context(status, "%s: %s '%.200s'", r->file, what, name);
  return status == EGRAPH_E_TYPE || status == EGRAPH_E_ARGUMENT ? EGRAPH_E_PARSE : status;
}

egraph_status eg_onnx_data_of(const eg_onnx_reader *reader,
                              const Onnx__TensorProto *proto, const eg_type *type,
                              eg_buffer **out) {
  EG_TRY(eg_onnx_tensor_data(reader->alloc, proto, type, reader->base, out));
  if (*out != NULL || reader->options.draws_weights) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_IO,
                 "its data is in the file '%.200s', which is not beside the model; put "
                 "it there, or ask for random weights (--draw-weights)",
                 eg_onnx_tensor_location(proto));
}

egraph_status eg_onnx_read_initializer(eg_onnx_reader *r, Onnx__TensorProto *proto,
                                       const char *name) {
  eg_onnx_ref ref;
  bool known;
  eg_type type;
  eg_buffer *data;
  EG_TRY(register_leaf(r, name, &ref));
  EG_TRY(eg_onnx_tensor_type(proto, &known, &type));
  if (!known) return eg_onnx_import_foreign(r, NULL, proto);
  EG_TRY(eg_onnx_data_of(r, proto, &type, &data));
  egraph_status status = eg_onnx_define_constant(r, ref, &type, data);
  eg_buffer_release(data);
  return status;
}

static egraph_status read_sparse(eg_onnx_reader *r,
                                 const Onnx__SparseTensorProto *proto) {
  eg_onnx_ref ref;
  eg_type type;
  eg_buffer *data;
  EG_TRY(eg_onnx_sparse_data(r, proto, &type, &data));
  egraph_status status = register_leaf(r, proto->values->name, &ref);
  if (status == EGRAPH_OK) status = eg_onnx_define_constant(r, ref, &type, data);
  eg_buffer_release(data);
  return status;
}

// Fails with the reason why we have no type for a graph input that is a tensor.
static egraph_status explain_input(const eg_onnx_reader *r,
                                   const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
  if (tensor->shape == NULL) return EG_FAIL(EGRAPH_E_PARSE, "it has no shape");
  if (tensor->shape->n_dim > EGRAPH_MAX_RANK)
    return EG_FAIL(EGRAPH_E_PARSE, "it has more than %d dimensions", EGRAPH_MAX_RANK);
  for (size_t i = 0; i < tensor->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
    int64_t size;
    if (!eg_onnx_dim_size(r, dim, info->name, (uint32_t)i, &size))
      return eg_onnx_refuse_open(dim, info->name, (uint32_t)i);
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        dim->dim_value < 0)
      return EG_FAIL(EGRAPH_E_PARSE, "dimension %zu is %" PRId64, i, dim->dim_value);
  }
  return EG_FAIL(EGRAPH_E_PARSE, "its size overflows");
}

// Returns the value that the caller fixed for an input, or NULL.
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

// Reads an input with an initializer: a default value that callers may replace, so that
// results computed from it are not known. Before version 4 of the format every
// initializer was also listed as an input, and none could be replaced.
static egraph_status read_default(eg_onnx_reader *r, eg_onnx_ref ref) {
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(r, ref);
  if (tensor->value.id != EG_VALUE_NONE.id)
    return EG_FAIL(EGRAPH_E_PARSE, "there are two inputs of this name");
  if (r->model->ir_version < FIRST_IR_WITH_DEFAULTS || r->options.fixes_defaults)
    return EGRAPH_OK;
  EG_TRY(eg_graph_add_input(r->graph, tensor->name, &tensor->type, &tensor->value));
  EG_TRY(eg_graph_set_default(r->graph, tensor->value, tensor->data));
  eg_buffer_release(tensor->data);
  tensor->data = NULL;
  tensor->constant = false;
  return EGRAPH_OK;
}

static egraph_status read_input(eg_onnx_reader *r, Onnx__ValueInfoProto *info) {
  eg_onnx_ref ref;
  eg_type type;
  egraph_dtype dtype;
  const eg_onnx_fixed_input *fixed = fixed_input(r, info->name);
  if (info->name[0] == '\0') return EG_FAIL(EGRAPH_E_PARSE, "it has no name");
  if (eg_onnx_find_tensor(r, info->name, &ref)) {
    if (eg_onnx_tensor_at(r, ref)->constant) return read_default(r, ref);
    return EG_FAIL(EGRAPH_E_PARSE, "there are two tensors of this name");
  }
  EG_TRY(register_tensor(r, info->name, UINT32_MAX, &ref));
  if (fixed != NULL) return fix_input(r, ref, info, fixed);
  const Onnx__TypeProto__Tensor *declared = eg_onnx_declared_tensor(info);
  if (declared == NULL || !eg_dtype_from_onnx(declared->elem_type, &dtype))
    return eg_onnx_import_foreign(r, info, NULL);
  if (!eg_onnx_declared_type(r, info, &type)) return explain_input(r, info);
  if (r->options.as_in_file != NULL && type.rank != 0) type.dims[0] = r->options.batch;
  uint32_t ignored;
  if (eg_strmap_find(&r->absent, info->name, &ignored))
    return eg_onnx_define_constant(r, ref, &type, NULL);
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(r, ref);
  tensor->made = true;
  tensor->typed = true;
  tensor->type = type;
  return eg_graph_add_input(r->graph, info->name, &type, &tensor->value);
}

egraph_status eg_onnx_register_leaves(eg_onnx_reader *r) {
  Onnx__GraphProto *graph = r->model->graph;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    Onnx__TensorProto *proto = graph->initializer[i];
    EG_TRY(eg_onnx_about(r, eg_onnx_read_initializer(r, proto, proto->name),
                         "initializer", proto->name));
    // Frees the bytes in the message, so that no weight is in memory twice.
    eg_onnx_bytes_free(&r->unpacked.heap, &proto->raw_data);
    proto->has_raw_data = false;
  }
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    const Onnx__SparseTensorProto *sparse = graph->sparse_initializer[i];
    EG_TRY(eg_onnx_about(r, read_sparse(r, sparse), "sparse initializer",
                         sparse->values != NULL ? sparse->values->name : ""));
  }
  for (size_t i = 0; i < graph->n_input; i++)
    EG_TRY(
        eg_onnx_about(r, read_input(r, graph->input[i]), "input", graph->input[i]->name));
  return EGRAPH_OK;
}

egraph_status eg_onnx_in_node(const eg_onnx_reader *r, uint32_t index,
                              egraph_status status) {
  const eg_onnx_place *place = eg_onnx_places_at(&r->nodes, index);
  char what[256];
  eg_graph_describe_node(place->node->name, place->node->op_type, index, what,
                         sizeof what);
  if (status == EGRAPH_E_TYPE || status == EGRAPH_E_ARGUMENT) status = EGRAPH_E_PARSE;
  if (place->scope->outer != NULL) return eg_fail_context(status, "node %s", what);
  return eg_fail_context(status, "%s: node %s", r->file, what);
}

// Registers a result of a node. If a body defines the result of its call, the node of the
// body becomes the producer.
static egraph_status register_result(eg_onnx_reader *r, const char *name, uint32_t node,
                                     uint32_t first) {
  eg_onnx_ref ref;
  if (!eg_onnx_find_tensor(r, name, &ref)) return register_tensor(r, name, node, &ref);
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(r, ref);
  if (tensor->made || tensor->producer >= first)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "its result '%.200s' is made elsewhere, too; names must be unique",
                   name);
  tensor->producer = node;
  return EGRAPH_OK;
}

egraph_status eg_onnx_register_results(eg_onnx_reader *r, uint32_t first) {
  if (r->nodes.len >= INT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: too many nodes", r->file);
  for (uint32_t n = first; n < r->nodes.len; n++) {
    const Onnx__NodeProto *node = r->nodes.data[n].node;
    for (size_t i = 0; i < node->n_output; i++) {
      if (node->output[i][0] == '\0') continue;
      egraph_status status = register_result(r, node->output[i], n, first);
      if (status == EGRAPH_E_MEMORY) return status;
      if (status != EGRAPH_OK) return eg_onnx_in_node(r, n, status);
    }
  }
  return EGRAPH_OK;
}

void eg_onnx_declare(eg_onnx_reader *r, const char *name,
                     const Onnx__ValueInfoProto *declared) {
  eg_onnx_ref ref;
  if (declared->type == NULL || !eg_onnx_find_tensor(r, name, &ref)) return;
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(r, ref);
  if (tensor->declared == NULL) tensor->declared = declared;
}
