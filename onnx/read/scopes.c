// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/scopes.h"

#include "base/owner.h"

EG_OWNER_DEFINE(eg_onnx_scopes, (eg_strmap, names), (eg_onnx_hidden_names, hidden))

bool eg_onnx_scopes_find(const eg_onnx_scopes *scopes, const char *name, uint32_t *out) {
  uint32_t value;
  if (!eg_strmap_find(&scopes->names, name, &value) || value == UINT32_MAX) return false;
  *out = value;
  return true;
}

egraph_status eg_onnx_scopes_keep(eg_onnx_scopes *scopes, const char *name,
                                  uint32_t value) {
  return eg_strmap_put(&scopes->names, name, value);
}

egraph_status eg_onnx_scopes_define(eg_onnx_scopes *scopes, const char *name,
                                    uint32_t value) {
  eg_onnx_hidden hidden = {.name = name, .before = UINT32_MAX};
  (void)eg_strmap_find(&scopes->names, name, &hidden.before);
  EG_TRY(eg_strmap_put(&scopes->names, name, value));
  return eg_onnx_hidden_names_push(&scopes->hidden, hidden);
}

void eg_onnx_scopes_leave(eg_onnx_scopes *scopes, size_t mark) {
  while (scopes->hidden.len > mark) {
    const eg_onnx_hidden *hidden = &scopes->hidden.data[--scopes->hidden.len];
    // The name exists in the map, so that this allocates nothing.
    (void)eg_strmap_put(&scopes->names, hidden->name, hidden->before);
  }
}

static egraph_status add_name(eg_onnx_strings *names, const char *name) {
  return name != NULL && name[0] != '\0' ? eg_onnx_strings_push(names, name) : EGRAPH_OK;
}

egraph_status eg_onnx_initializer_names(const Onnx__GraphProto *graph,
                                        eg_onnx_strings *out, size_t *out_initializers) {
  const size_t before = out->len;
  for (size_t i = 0; i < graph->n_initializer; i++)
    EG_TRY(add_name(out, graph->initializer[i]->name));
  for (size_t i = 0; i < graph->n_sparse_initializer; i++)
    if (graph->sparse_initializer[i]->values != NULL)
      EG_TRY(add_name(out, graph->sparse_initializer[i]->values->name));
  if (out_initializers != NULL) *out_initializers = out->len - before;
  return EGRAPH_OK;
}

egraph_status eg_onnx_defined_names(const Onnx__GraphProto *graph, eg_onnx_strings *out,
                                    size_t *out_initializers) {
  EG_TRY(eg_onnx_initializer_names(graph, out, out_initializers));
  for (size_t i = 0; i < graph->n_input; i++)
    EG_TRY(add_name(out, graph->input[i]->name));
  for (size_t n = 0; n < graph->n_node; n++)
    for (size_t i = 0; i < graph->node[n]->n_output; i++)
      EG_TRY(add_name(out, graph->node[n]->output[i]));
  return EGRAPH_OK;
}
