// SPDX-License-Identifier: Apache-2.0
#include "onnx/header.h"

#include <string.h>

#include "base/strmap.h"
#include "onnx/message.h"

/// Copies documentation and metadata of a graph, a tensor or a declared value.
#define COPY_NOTES(to, from)                                                             \
  ((to)->doc_string = (from)->doc_string,                                                \
   (to)->n_metadata_props = (from)->n_metadata_props,                                    \
   (to)->metadata_props = (from)->metadata_props)

static bool is_text(const char *text) { return text != NULL && text[0] != '\0'; }

/// True when a header need not store a graph's name: it is absent, or the one that we
/// write.
static bool is_ours(const char *name) {
  return name == NULL || strcmp(name, EG_ONNX_OWN_NAME) == 0;
}

static void copy_model_notes(Onnx__ModelProto *to, const Onnx__ModelProto *from) {
  to->domain = from->domain;
  to->has_model_version = from->has_model_version;
  to->model_version = from->model_version;
  to->doc_string = from->doc_string;
  to->n_configuration = from->n_configuration;
  to->configuration = from->configuration;
}

// ---- reading ------------------------------------------------------------------------

static egraph_status pick_metadata(eg_arena *arena, const Onnx__ModelProto *model,
                                   Onnx__ModelProto *out) {
  const size_t own = sizeof EG_ONNX_OWN_PREFIX - 1;
  EG_NEW(arena, model->n_metadata_props, out->metadata_props);
  for (size_t i = 0; i < model->n_metadata_props; i++)
    if (strncmp(model->metadata_props[i]->key, EG_ONNX_OWN_PREFIX, own) != 0)
      out->metadata_props[out->n_metadata_props++] = model->metadata_props[i];
  return EGRAPH_OK;
}

/// Appends the documentation and metadata of these tensors. If they are the outputs of
/// graph `of`, also appends the declared types of outputs whose type the graph lacks.
static egraph_status pick_infos(eg_arena *arena, const eg_graph *of,
                                Onnx__ValueInfoProto *const *infos, size_t count,
                                Onnx__GraphProto *out) {
  for (size_t i = 0; i < count; i++) {
    bool keeps_type =
        of != NULL && !eg_graph_value(of, eg_graph_output(of, (uint32_t)i, NULL))->typed;
    if (!is_text(infos[i]->doc_string) && infos[i]->n_metadata_props == 0 && !keeps_type)
      continue;
    Onnx__ValueInfoProto *info;
    EG_TRY(eg_onnx_copy(arena, infos[i], &info));
    if (!keeps_type) info->type = NULL;
    out->value_info[out->n_value_info++] = info;
  }
  return EGRAPH_OK;
}

static egraph_status pick_values(eg_arena *arena, const eg_graph *of,
                                 const Onnx__GraphProto *graph, Onnx__GraphProto *out) {
  EG_NEW(arena, graph->n_input + graph->n_output + graph->n_value_info, out->value_info);
  EG_TRY(pick_infos(arena, NULL, graph->input, graph->n_input, out));
  EG_TRY(pick_infos(arena, of, graph->output, graph->n_output, out));
  return pick_infos(arena, NULL, graph->value_info, graph->n_value_info, out);
}

static egraph_status pick_weights(eg_arena *arena, const Onnx__GraphProto *graph,
                                  Onnx__GraphProto *out) {
  EG_NEW(arena, graph->n_initializer, out->initializer);
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const Onnx__TensorProto *weight = graph->initializer[i];
    if (!is_text(weight->doc_string) && weight->n_metadata_props == 0) continue;
    Onnx__TensorProto *tensor;
    EG_TRY(eg_onnx_new(arena, &onnx__tensor_proto__descriptor, &tensor));
    tensor->name = weight->name;
    COPY_NOTES(tensor, weight);
    out->initializer[out->n_initializer++] = tensor;
  }
  return EGRAPH_OK;
}

static egraph_status pack_into(eg_graph *graph, const Onnx__ModelProto *header) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  eg_buffer *buffer;
  size_t size = onnx__model_proto__get_packed_size(header);
  EG_TRY(eg_buffer_create(&alloc, size, &buffer));
  (void)onnx__model_proto__pack(header, eg_buffer_writable(buffer));
  eg_graph_set_header(graph, buffer);
  eg_buffer_release(buffer);
  return EGRAPH_OK;
}

egraph_status eg_onnx_header_read(eg_arena *arena, const Onnx__ModelProto *model,
                                  eg_graph *graph) {
  Onnx__ModelProto header = ONNX__MODEL_PROTO__INIT;
  Onnx__GraphProto inner = ONNX__GRAPH_PROTO__INIT;
  if (!is_ours(model->producer_name)) {
    header.producer_name = model->producer_name;
    header.producer_version = model->producer_version;
  }
  copy_model_notes(&header, model);
  if (!is_ours(model->graph->name)) inner.name = model->graph->name;
  COPY_NOTES(&inner, model->graph);
  EG_TRY(pick_metadata(arena, model, &header));
  EG_TRY(pick_values(arena, graph, model->graph, &inner));
  EG_TRY(pick_weights(arena, model->graph, &inner));
  if (onnx__graph_proto__get_packed_size(&inner) != 0) header.graph = &inner;
  if (onnx__model_proto__get_packed_size(&header) == 0) return EGRAPH_OK;
  return pack_into(graph, &header);
}

// ---- writing ------------------------------------------------------------------------

static egraph_status put_metadata(eg_arena *arena, const Onnx__ModelProto *header,
                                  Onnx__ModelProto *inout) {
  Onnx__StringStringEntryProto **entries;
  size_t count = header->n_metadata_props;
  EG_NEW(arena, count + inout->n_metadata_props, entries);
  for (size_t i = 0; i < count; i++)
    entries[i] = header->metadata_props[i];
  for (size_t i = 0; i < inout->n_metadata_props; i++)
    entries[count++] = inout->metadata_props[i];
  inout->n_metadata_props = count;
  inout->metadata_props = entries;
  return EGRAPH_OK;
}

static void put_infos(const eg_strmap *places, const Onnx__GraphProto *header,
                      Onnx__ValueInfoProto *const *infos, size_t count) {
  uint32_t at;
  for (size_t i = 0; i < count; i++) {
    if (!eg_strmap_find(places, infos[i]->name, &at)) continue;
    if (infos[i]->type == NULL) infos[i]->type = header->value_info[at]->type;
    COPY_NOTES(infos[i], header->value_info[at]);
  }
}

static egraph_status put_values(const Onnx__GraphProto *header, eg_strmap *places,
                                Onnx__GraphProto *inout) {
  for (size_t i = header->n_value_info; i-- != 0;) // the first entry of a name wins
    if (header->value_info[i]->name != NULL)
      EG_TRY(eg_strmap_put(places, header->value_info[i]->name, (uint32_t)i));
  put_infos(places, header, inout->input, inout->n_input);
  put_infos(places, header, inout->output, inout->n_output);
  put_infos(places, header, inout->value_info, inout->n_value_info);
  return EGRAPH_OK;
}

static egraph_status put_weights(const Onnx__GraphProto *header, eg_strmap *places,
                                 Onnx__GraphProto *inout) {
  uint32_t at;
  for (size_t i = 0; i < header->n_initializer; i++)
    if (header->initializer[i]->name != NULL)
      EG_TRY(eg_strmap_put(places, header->initializer[i]->name, (uint32_t)i));
  for (size_t i = 0; i < inout->n_initializer; i++) {
    Onnx__TensorProto *weight = inout->initializer[i];
    if (eg_strmap_find(places, weight->name, &at))
      COPY_NOTES(weight, header->initializer[at]);
  }
  return EGRAPH_OK;
}

static egraph_status put_graph(eg_arena *arena, const Onnx__GraphProto *header,
                               Onnx__GraphProto *inout) {
  if (header->name != NULL) inout->name = header->name;
  COPY_NOTES(inout, header);
  EG_LOCAL(eg_strmap, values, arena->alloc);
  EG_LOCAL(eg_strmap, weights, arena->alloc);
  EG_TRY(put_values(header, &values, inout));
  return put_weights(header, &weights, inout);
}

egraph_status eg_onnx_header_write(eg_arena *arena, const Onnx__ModelProto *header,
                                   Onnx__ModelProto *inout) {
  if (header->producer_name != NULL) {
    inout->producer_name = header->producer_name;
    inout->producer_version = header->producer_version;
  }
  copy_model_notes(inout, header);
  EG_TRY(put_metadata(arena, header, inout));
  return header->graph != NULL ? put_graph(arena, header->graph, inout->graph)
                               : EGRAPH_OK;
}
