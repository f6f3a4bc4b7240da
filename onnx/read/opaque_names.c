// Names within opaque nodes: what their graphs use of the model has the name that it has
// now, and what they define hides nothing: it gets another name where the model, or a
// graph around, has that one. Only initializers that hide something hide it again
// (read/scopes.h).
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/owner.h"
#include "onnx/read/opaque.h"
#include "onnx/read/scopes.h"
#include "onnx/write/writer.h"

typedef struct renaming {
  eg_onnx_body *body; // of the node
  eg_onnx_writer *writer;
  eg_strmap initializers; // names of those within
  eg_onnx_scopes scopes;  // old name -> place in `fresh`
  eg_onnx_strings fresh;
} renaming;
#define OWNED                                                                            \
  (eg_strmap, initializers), (eg_onnx_scopes, scopes), (eg_onnx_strings, fresh)

static void rename_one(const renaming *r, char **inout) {
  uint32_t at;
  if (*inout != NULL && eg_onnx_scopes_find(&r->scopes, *inout, &at))
    *inout = (char *)(uintptr_t)r->fresh.data[at];
}

static egraph_status rename_list(renaming *r, size_t count, char ***inout) {
  char **list;
  EG_TRY(eg_arena_alloc(&r->writer->arena, count, sizeof *list, &list));
  for (size_t i = 0; i < count; i++) {
    list[i] = (*inout)[i];
    rename_one(r, &list[i]);
  }
  *inout = list;
  return EGRAPH_OK;
}

static egraph_status rename_infos(renaming *r, size_t count,
                                  Onnx__ValueInfoProto ***inout) {
  Onnx__ValueInfoProto **list, *infos;
  EG_TRY(eg_arena_alloc(&r->writer->arena, count, sizeof *list, &list));
  EG_TRY(eg_arena_alloc(&r->writer->arena, count, sizeof *infos, &infos));
  for (size_t i = 0; i < count; i++) {
    infos[i] = *(*inout)[i];
    list[i] = &infos[i];
    rename_one(r, &infos[i].name);
  }
  *inout = list;
  return EGRAPH_OK;
}

static egraph_status rename_tensors(renaming *r, size_t count,
                                    Onnx__TensorProto ***inout) {
  Onnx__TensorProto **list, *tensors;
  EG_TRY(eg_arena_alloc(&r->writer->arena, count, sizeof *list, &list));
  EG_TRY(eg_arena_alloc(&r->writer->arena, count, sizeof *tensors, &tensors));
  for (size_t i = 0; i < count; i++) {
    tensors[i] = *(*inout)[i];
    list[i] = &tensors[i];
    rename_one(r, &tensors[i].name);
  }
  *inout = list;
  return EGRAPH_OK;
}

static egraph_status rename_sparse(renaming *r, size_t count,
                                   Onnx__SparseTensorProto ***inout) {
  Onnx__SparseTensorProto **list, *tensors;
  EG_TRY(eg_arena_alloc(&r->writer->arena, count, sizeof *list, &list));
  EG_TRY(eg_arena_alloc(&r->writer->arena, count, sizeof *tensors, &tensors));
  for (size_t i = 0; i < count; i++) {
    Onnx__TensorProto **values = &tensors[i].values;
    tensors[i] = *(*inout)[i];
    list[i] = &tensors[i];
    if (*values == NULL) continue;
    EG_TRY(rename_tensors(r, 1, &values));
    tensors[i].values = values[0];
  }
  *inout = list;
  return EGRAPH_OK;
}

/// Returns whether a name is one of the model.
static bool is_of_model(const renaming *r, const char *name) {
  uint32_t of = EG_ONNX_INNER_NAME;
  return eg_strmap_find(&r->writer->names, name, &of) && of != EG_ONNX_INNER_NAME;
}

// A name that the model has, or a graph around, is made another one.
static egraph_status define(renaming *r, const char *name, bool is_initializer) {
  eg_onnx_body body = {.writer = r->writer, .stem = name};
  const char *fresh = name;
  uint32_t at;
  bool is_around = eg_onnx_scopes_find(&r->scopes, name, &at);
  if (is_around && is_initializer)
    fresh = r->fresh.data[at];
  else if (is_around || is_of_model(r, name))
    EG_TRY(eg_onnx_made_up(&body, &fresh));
  EG_TRY(eg_onnx_strings_push(&r->fresh, fresh));
  return eg_onnx_scopes_define(&r->scopes, name, (uint32_t)r->fresh.len - 1);
}

static egraph_status define_all(renaming *r, const Onnx__GraphProto *graph) {
  eg_onnx_strings names;
  eg_onnx_strings_init(&names, r->writer->alloc);
  egraph_status status = eg_onnx_initializer_names(graph, &names);
  const size_t initializers = names.len;
  names.len = 0;
  if (status == EGRAPH_OK) status = eg_onnx_defined_names(graph, &names);
  for (size_t i = 0; status == EGRAPH_OK && i < names.len; i++)
    status = define(r, names.data[i], i < initializers);
  eg_onnx_strings_deinit(&names);
  return status;
}

static egraph_status rename_graphs(renaming *r, Onnx__NodeProto *inout);

static egraph_status rename_node(renaming *r, Onnx__NodeProto **inout) {
  Onnx__NodeProto *node;
  EG_TRY(eg_arena_alloc(&r->writer->arena, 1, sizeof *node, &node));
  *node = **inout;
  *inout = node;
  EG_TRY(rename_list(r, node->n_input, &node->input));
  EG_TRY(rename_list(r, node->n_output, &node->output));
  return rename_graphs(r, node);
}

static egraph_status rename_graph(renaming *r, Onnx__GraphProto **inout) {
  const size_t mark = r->scopes.hidden.len;
  const Onnx__GraphProto *old = *inout;
  Onnx__GraphProto *graph;
  EG_TRY(eg_arena_alloc(&r->writer->arena, 1, sizeof *graph, &graph));
  *graph = *old;
  graph->n_quantization_annotation = 0;
  EG_TRY(define_all(r, old));
  EG_TRY(rename_infos(r, graph->n_input, &graph->input));
  EG_TRY(rename_infos(r, graph->n_output, &graph->output));
  EG_TRY(rename_infos(r, graph->n_value_info, &graph->value_info));
  EG_TRY(rename_tensors(r, graph->n_initializer, &graph->initializer));
  EG_TRY(rename_sparse(r, graph->n_sparse_initializer, &graph->sparse_initializer));
  EG_TRY(
      eg_arena_alloc(&r->writer->arena, old->n_node, sizeof *graph->node, &graph->node));
  for (size_t i = 0; i < old->n_node; i++) {
    graph->node[i] = old->node[i];
    EG_TRY(rename_node(r, &graph->node[i]));
  }
  eg_onnx_scopes_leave(&r->scopes, mark);
  *inout = graph;
  return EGRAPH_OK;
}

static egraph_status rename_attribute(renaming *r, Onnx__AttributeProto **inout) {
  const Onnx__AttributeProto *old = *inout;
  Onnx__AttributeProto *attr;
  if (old->g == NULL && old->n_graphs == 0) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(&r->writer->arena, 1, sizeof *attr, &attr));
  *attr = *old;
  if (attr->g != NULL) EG_TRY(rename_graph(r, &attr->g));
  EG_TRY(eg_arena_alloc(&r->writer->arena, old->n_graphs, sizeof *attr->graphs,
                        &attr->graphs));
  for (size_t i = 0; i < old->n_graphs; i++) {
    attr->graphs[i] = old->graphs[i];
    EG_TRY(rename_graph(r, &attr->graphs[i]));
  }
  *inout = attr;
  return EGRAPH_OK;
}

static egraph_status rename_graphs(renaming *r, Onnx__NodeProto *inout) {
  Onnx__AttributeProto **list;
  EG_TRY(eg_arena_alloc(&r->writer->arena, inout->n_attribute, sizeof *list, &list));
  for (size_t i = 0; i < inout->n_attribute; i++) {
    list[i] = inout->attribute[i];
    EG_TRY(rename_attribute(r, &list[i]));
  }
  inout->attribute = list;
  return EGRAPH_OK;
}

static egraph_status list_initializers(renaming *r, const Onnx__NodeProto *node);

static egraph_status list_initializers_of(renaming *r, const Onnx__GraphProto *graph) {
  eg_onnx_strings names;
  eg_onnx_strings_init(&names, r->writer->alloc);
  egraph_status status = eg_onnx_initializer_names(graph, &names);
  for (size_t i = 0; status == EGRAPH_OK && i < names.len; i++)
    status = eg_strmap_put(&r->initializers, names.data[i], 0);
  for (size_t n = 0; status == EGRAPH_OK && n < graph->n_node; n++)
    status = list_initializers(r, graph->node[n]);
  eg_onnx_strings_deinit(&names);
  return status;
}

static egraph_status list_initializers(renaming *r, const Onnx__NodeProto *node) {
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *attr = node->attribute[i];
    if (attr->g != NULL) EG_TRY(list_initializers_of(r, attr->g));
    for (size_t k = 0; k < attr->n_graphs; k++)
      EG_TRY(list_initializers_of(r, attr->graphs[k]));
  }
  return EGRAPH_OK;
}

static bool is_alone(const char *const *captures, size_t count, size_t at) {
  for (size_t i = 0; i < count; i++)
    if (i != at && strcmp(captures[i], captures[at]) == 0) return false;
  return true;
}

// What the node's graphs call a tensor of the model: its old name, which a copy has where
// it is another tensor's or has changed, so that captures stay as many. One that an
// initializer may hide has a name that no other has.
static egraph_status bind_capture(renaming *r, const Onnx__GraphProto *record,
                                  const char *const *captures, size_t at) {
  const char *old = record->input[at]->name, *present = captures[at];
  eg_onnx_body named = {.writer = r->writer, .stem = old};
  uint32_t ignored;
  bool is_hidden = eg_strmap_find(&r->initializers, old, &ignored);
  if (strcmp(old, present) != 0 ||
      (is_hidden && !is_alone(captures, record->n_input, at))) {
    present = old;
    if (eg_strmap_find(&r->writer->names, old, &ignored)) // or within some other node
      EG_TRY(eg_onnx_made_up(&named, &present));
    EG_TRY(eg_strmap_put(&r->writer->names, present, 0));
    EG_TRY(eg_onnx_put(r->body, "Identity", &captures[at], 1, present, NULL, NULL));
  }
  EG_TRY(eg_onnx_strings_push(&r->fresh, present));
  return eg_onnx_scopes_keep(&r->scopes, old, (uint32_t)r->fresh.len - 1);
}

static egraph_status rename_all(renaming *r, const Onnx__GraphProto *record,
                                const char *const *captures, Onnx__NodeProto *inout) {
  EG_TRY(list_initializers(r, inout));
  for (size_t i = 0; i < record->n_input; i++)
    EG_TRY(bind_capture(r, record, captures, i));
  return rename_graphs(r, inout);
}

egraph_status eg_onnx_rename_within(eg_onnx_body *body, const Onnx__GraphProto *record,
                                    const char *const *captures, Onnx__NodeProto *inout) {
  renaming r = {.body = body, .writer = body->writer};
  EG_INIT_MEMBERS(&r, body->writer->alloc, OWNED);
  egraph_status status = rename_all(&r, record, captures, inout);
  EG_DEINIT_MEMBERS(&r, OWNED);
  return status;
}
