// Renames within the graphs of opaque nodes. Tensors of the model that they use get their
// present names. A tensor that they define gets a new name if the model, or a graph
// around, has its name, so that it hides no other tensor. Only initializers that hid a
// tensor still hide it (read/scopes.h).
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/owner.h"
#include "onnx/read/opaque.h"
#include "onnx/read/scopes.h"
#include "onnx/write/writer.h"

typedef struct renaming {
  eg_onnx_body *body; // to which the node is written
  eg_onnx_writer *writer;
  eg_strmap initializers; // names of initializers in the graphs
  eg_onnx_scopes scopes;  // old name -> place in `fresh`
  eg_onnx_strings fresh;
} renaming;
EG_OWNER_DEFINE_STATIC(renaming, (eg_strmap, initializers), (eg_onnx_scopes, scopes),
                       (eg_onnx_strings, fresh))

static void rename_one(const renaming *r, char **inout) {
  uint32_t at;
  if (*inout != NULL && eg_onnx_scopes_find(&r->scopes, *inout, &at))
    *inout = eg_onnx_borrowed(r->fresh.data[at]);
}

static egraph_status rename_list(renaming *r, size_t count, char ***inout) {
  char **list;
  EG_NEW(&r->writer->arena, count, list);
  for (size_t i = 0; i < count; i++) {
    list[i] = (*inout)[i];
    rename_one(r, &list[i]);
  }
  *inout = list;
  return EGRAPH_OK;
}

/// Replaces a list of messages by copies with new names.
#define RENAME_MESSAGES(r, count, list)                                                  \
  do {                                                                                   \
    EG_TRY(eg_onnx_copy_list(&(r)->writer->arena, (list), (count), &(list)));            \
    for (size_t i_ = 0; i_ < (count); i_++)                                              \
      rename_one((r), &(list)[i_]->name);                                                \
  } while (0)

static egraph_status rename_sparse(renaming *r, size_t count,
                                   Onnx__SparseTensorProto ***inout) {
  EG_TRY(eg_onnx_copy_list(&r->writer->arena, *inout, count, inout));
  for (size_t i = 0; i < count; i++) {
    Onnx__TensorProto **values = &(*inout)[i]->values;
    if (*values == NULL) continue;
    EG_TRY(eg_onnx_copy(&r->writer->arena, *values, values));
    rename_one(r, &(*values)->name);
  }
  return EGRAPH_OK;
}

// Defines a name; replaces it by a new one if the model, or a graph around, has it.
static egraph_status define(renaming *r, const char *name, bool is_initializer) {
  eg_onnx_body body = {.writer = r->writer, .stem = name};
  const char *fresh = name;
  uint32_t at, of = EG_ONNX_INNER_NAME;
  bool is_around = eg_onnx_scopes_find(&r->scopes, name, &at);
  bool is_of_model =
      eg_strmap_find(&r->writer->names, name, &of) && of != EG_ONNX_INNER_NAME;
  if (is_around && is_initializer)
    fresh = r->fresh.data[at];
  else if (is_around || is_of_model)
    EG_TRY(eg_onnx_made_up(&body, &fresh));
  EG_TRY(eg_onnx_strings_push(&r->fresh, fresh));
  return eg_onnx_scopes_define(&r->scopes, name, (uint32_t)r->fresh.len - 1);
}

static egraph_status define_all(renaming *r, const Onnx__GraphProto *graph) {
  EG_LOCAL(eg_onnx_strings, names, r->writer->alloc);
  size_t initializers;
  EG_TRY(eg_onnx_defined_names(graph, &names, &initializers));
  for (size_t i = 0; i < names.len; i++)
    EG_TRY(define(r, names.data[i], i < initializers));
  return EGRAPH_OK;
}

static egraph_status rename_graph(void *self, Onnx__GraphProto **inout) {
  renaming *r = self;
  const size_t mark = r->scopes.hidden.len;
  const Onnx__GraphProto *old = *inout;
  Onnx__GraphProto *graph;
  EG_TRY(eg_onnx_copy(&r->writer->arena, old, &graph));
  graph->n_quantization_annotation = 0;
  EG_TRY(define_all(r, old));
  RENAME_MESSAGES(r, graph->n_input, graph->input);
  RENAME_MESSAGES(r, graph->n_output, graph->output);
  RENAME_MESSAGES(r, graph->n_value_info, graph->value_info);
  RENAME_MESSAGES(r, graph->n_initializer, graph->initializer);
  EG_TRY(rename_sparse(r, graph->n_sparse_initializer, &graph->sparse_initializer));
  EG_TRY(eg_onnx_copy_list(&r->writer->arena, old->node, old->n_node, &graph->node));
  for (size_t i = 0; i < old->n_node; i++) {
    Onnx__NodeProto *node = graph->node[i];
    EG_TRY(rename_list(r, node->n_input, &node->input));
    EG_TRY(rename_list(r, node->n_output, &node->output));
    EG_TRY(eg_onnx_change_all_graphs(&r->writer->arena, rename_graph, r, node));
  }
  eg_onnx_scopes_leave(&r->scopes, mark);
  *inout = graph;
  return EGRAPH_OK;
}

static bool is_alone(const char *const *captures, size_t count, size_t at) {
  for (size_t i = 0; i < count; i++)
    if (i != at && strcmp(captures[i], captures[at]) == 0) return false;
  return true;
}

// Binds the name by which the node's graphs read a tensor of the model. If the tensor
// has another name now, the graphs read a copy of the tensor, so that the number of
// captures stays. The copy has the old name, or a new name if the old one is taken. A
// tensor that an initializer may hide gets such a copy unless it is captured once.
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

egraph_status eg_onnx_rename_within(eg_onnx_body *body, const Onnx__GraphProto *record,
                                    const char *const *captures, Onnx__NodeProto *inout) {
  EG_LOCAL(renaming, r, body->writer->alloc);
  r.body = body;
  r.writer = body->writer;
  EG_TRY(eg_onnx_inner_names(r.writer->alloc, inout, eg_onnx_initializer_names,
                             &r.initializers));
  for (size_t i = 0; i < record->n_input; i++)
    EG_TRY(bind_capture(&r, record, captures, i));
  return eg_onnx_change_all_graphs(&r.writer->arena, rename_graph, &r, inout);
}
