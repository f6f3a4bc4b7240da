// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/inner.h"

#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/read/reader.h"
#include "onnx/read/scopes.h"
#include "onnx/tensor.h"

// Larger tensors enter the inner graph without content: types do not depend on it.
enum { MAX_CONTENT_ELEMENTS = 64 };

/// The model that is made from an inner graph.
typedef struct maker {
  eg_arena *arena;
  const eg_onnx_inner *inner;
  eg_onnx_infos inputs, outputs;
  eg_onnx_initializers initializers;
  eg_onnx_entries entries;
  eg_strmap names;  // of the graph's own tensors, then of outputs
  uint32_t *places; // [outputs of the inner graph]
} maker;

EG_OWNER_DEFINE_STATIC(maker, (eg_onnx_infos, inputs, outputs),
                       (eg_onnx_initializers, initializers), (eg_onnx_entries, entries),
                       (eg_strmap, names))

// ---- leaves -------------------------------------------------------------------------

/// Adds an input. A value whose type we lack becomes a list of as many bytes.
static egraph_status add_input(maker *m, const char *name, const eg_onnx_entering *from) {
  Onnx__ValueInfoProto *info;
  EG_TRY(eg_onnx_new(m->arena, &onnx__value_info_proto__descriptor, &info));
  info->name = eg_onnx_borrowed(name); // packing only reads
  if (from->type != NULL) {
    EG_TRY(eg_onnx_type_message(m->arena, eg_dtype_onnx(from->type->dtype),
                                from->type->rank, from->type->dims, &info->type));
  } else if (from->bytes >= 0 && from->bytes < 0x1p62) {
    const int64_t bytes = (int64_t)ceil(from->bytes);
    EG_TRY(eg_onnx_type_message(m->arena, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2, 1,
                                &bytes, &info->type));
  }
  return eg_onnx_infos_push(&m->inputs, info);
}

/// Adds a weight without data.
static egraph_status add_absent(maker *m, const char *name, const eg_type *type) {
  const eg_onnx_entering weight = {.name = name, .type = type};
  Onnx__StringStringEntryProto *entry;
  EG_TRY(eg_onnx_entry_message(m->arena, EG_ONNX_ABSENT_PREFIX, name, "", &entry));
  EG_TRY(eg_onnx_entries_push(&m->entries, entry));
  return add_input(m, name, &weight);
}

static egraph_status add_content(maker *m, const eg_onnx_entering *from) {
  Onnx__TensorProto *tensor;
  EG_TRY(eg_onnx_tensor_message(m->arena, from->type, eg_buffer_data(from->content),
                                &tensor));
  tensor->name = eg_onnx_borrowed(from->name); // packing only reads
  tensor->has_raw_data = true;
  tensor->raw_data.len = eg_buffer_size(from->content);
  return eg_onnx_initializers_push(&m->initializers, tensor);
}

static egraph_status add_entering(maker *m, const eg_onnx_entering *from) {
  const bool is_small =
      from->type != NULL && eg_type_elements(from->type) <= MAX_CONTENT_ELEMENTS;
  if (is_small && from->content != NULL) return add_content(m, from);
  if (from->type != NULL && from->is_weight) return add_absent(m, from->name, from->type);
  return add_input(m, from->name, from);
}

/// Adds the graph's own weights, without the content of large ones.
static egraph_status add_initializers(maker *m) {
  const Onnx__GraphProto *graph = m->inner->graph;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    Onnx__TensorProto *tensor = graph->initializer[i];
    bool is_ours;
    eg_type type;
    EG_TRY(eg_onnx_tensor_type(tensor, &is_ours, &type));
    if (is_ours && tensor->name != NULL && eg_type_elements(&type) > MAX_CONTENT_ELEMENTS)
      EG_TRY(add_absent(m, tensor->name, &type));
    else
      EG_TRY(eg_onnx_initializers_push(&m->initializers, tensor));
  }
  return EGRAPH_OK;
}

// ---- names --------------------------------------------------------------------------

static egraph_status find_own_names(maker *m) {
  EG_LOCAL(eg_onnx_strings, names, m->arena->alloc);
  EG_TRY(eg_onnx_defined_names(m->inner->graph, &names, NULL));
  for (size_t i = 0; i < names.len; i++)
    EG_TRY(eg_strmap_put(&m->names, names.data[i], UINT32_MAX));
  return EGRAPH_OK;
}

/// Adds inputs for the formal operands of an inner graph and for the outer tensors that
/// it captures, except names that this graph defines itself: another graph of the node
/// captures these.
static egraph_status add_all_entering(maker *m) {
  const eg_onnx_inner *inner = m->inner;
  uint32_t ignored;
  for (uint32_t i = 0; i < inner->count; i++) {
    const eg_onnx_entering *from = &inner->entering[i];
    bool is_formal = i < inner->graph->n_input;
    if (is_formal || !eg_strmap_find(&m->names, from->name, &ignored))
      EG_TRY(add_entering(m, from));
  }
  return EGRAPH_OK;
}

static egraph_status add_outputs(maker *m) {
  const Onnx__GraphProto *graph = m->inner->graph;
  EG_NEW(m->arena, graph->n_output, m->places);
  for (size_t i = 0; i < graph->n_output; i++) {
    const char *name = graph->output[i]->name;
    if (name == NULL) return EGRAPH_E_PARSE;
    if (eg_strmap_find(&m->names, name, &m->places[i]) && m->places[i] != UINT32_MAX)
      continue;
    m->places[i] = (uint32_t)m->outputs.len;
    EG_TRY(eg_strmap_put(&m->names, name, m->places[i]));
    EG_TRY(eg_onnx_infos_push(&m->outputs, graph->output[i]));
  }
  return EGRAPH_OK;
}

// ---- the model ----------------------------------------------------------------------

static egraph_status read_model(maker *m, eg_graph **out) {
  const egraph_allocator alloc = m->arena->alloc;
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  EG_OWNED(eg_onnx_packed, bytes);
  Onnx__GraphProto graph = *m->inner->graph;
  Onnx__ModelProto model = *m->inner->record;
  graph.n_input = m->inputs.len;
  graph.input = m->inputs.data;
  graph.n_output = m->outputs.len;
  graph.output = m->outputs.data;
  graph.n_initializer = m->initializers.len;
  graph.initializer = m->initializers.data;
  model.graph = &graph;
  model.n_metadata_props = m->entries.len;
  model.metadata_props = m->entries.data;
  EG_TRY(eg_onnx_message_pack(alloc, &model.base, &bytes));
  options.draws_weights = true;
  return eg_onnx_read(alloc, "a graph within a node", bytes.data, bytes.size, NULL,
                      &options, out);
}

static egraph_status make_and_read(maker *m, eg_graph **out) {
  EG_TRY(find_own_names(m));
  EG_TRY(add_initializers(m));
  EG_TRY(add_all_entering(m));
  EG_TRY(add_outputs(m));
  return read_model(m, out);
}

egraph_status eg_onnx_inner_read(eg_arena *arena, const eg_onnx_inner *inner,
                                 const uint32_t **out_places, eg_graph **out) {
  EG_LOCAL(maker, m, arena->alloc);
  m.arena = arena;
  m.inner = inner;
  *out = NULL;
  egraph_status status = make_and_read(&m, out);
  *out_places = m.places;
  return status == EGRAPH_E_MEMORY ? status : EGRAPH_OK;
}
