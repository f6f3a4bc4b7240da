// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx.h"

#include <string.h>

#include "base/owner.h"
#include "onnx/message.h"
#include "onnx/sets/versions.h"

/// True when both lists lack a name ("") at the same positions; the names may differ.
static bool has_same_places(char *const *a, char *const *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if ((eg_onnx_text(a[i])[0] == '\0') != (eg_onnx_text(b[i])[0] == '\0')) return false;
  return true;
}

/// Compares the messages of a repeated field of two messages by their bytes.
#define COMPARE_MESSAGES(alloc, a, b, field, out)                                        \
  do {                                                                                   \
    *(out) = (a)->n_##field == (b)->n_##field;                                           \
    for (size_t i = 0; *(out) && i < (a)->n_##field; i++)                                \
      EG_TRY(eg_onnx_is_same_message(alloc, &(a)->field[i]->base, &(b)->field[i]->base,  \
                                     out));                                              \
  } while (0)

/// True when the sub-graphs capture the same names in the same order.
static bool has_same_captures(const Onnx__GraphProto *a, const Onnx__GraphProto *b) {
  bool is_same = a->n_input == b->n_input;
  for (size_t i = 0; is_same && i < a->n_input; i++)
    is_same =
        strcmp(eg_onnx_text(a->input[i]->name), eg_onnx_text(b->input[i]->name)) == 0;
  return is_same;
}

/// True when the node, and all nodes in its sub-graphs, mean the same in set `second` of
/// the standard domain as in set `first`, which is older. The reader of messages bounds
/// the depth of the recursion.
static bool means_same_in(const Onnx__NodeProto *node, int64_t first, int64_t second) {
  if (eg_onnx_is_standard(node->domain) &&
      !eg_onnx_sets_have(eg_onnx_sets_of(eg_onnx_text(node->op_type), first), second))
    return false;
  for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(node, &g);)
    for (size_t n = 0; n < g.graph->n_node; n++)
      if (!means_same_in(g.graph->node[n], first, second)) return false;
  return true;
}

static const Onnx__OperatorSetIdProto *set_of(const Onnx__ModelProto *model,
                                              const char *domain) {
  for (size_t i = 0; i < model->n_opset_import; i++)
    if (strcmp(eg_onnx_text(model->opset_import[i]->domain), eg_onnx_text(domain)) == 0)
      return model->opset_import[i];
  return NULL;
}

/// True when `b` has all operator sets of `a` outside of the standard domain.
static bool has_other_sets(const Onnx__ModelProto *a, const Onnx__ModelProto *b) {
  for (size_t i = 0; i < a->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *set = a->opset_import[i];
    if (eg_onnx_is_standard(set->domain)) continue;
    const Onnx__OperatorSetIdProto *other = set_of(b, set->domain);
    if (other == NULL || other->version != set->version) return false;
  }
  return true;
}

static egraph_status has_same_meaning(egraph_allocator alloc, const Onnx__ModelProto *a,
                                      const Onnx__ModelProto *b, bool *out) {
  int64_t first = eg_onnx_standard_opset(a->opset_import, a->n_opset_import);
  int64_t second = eg_onnx_standard_opset(b->opset_import, b->n_opset_import);
  *out = has_other_sets(a, b) && has_other_sets(b, a) &&
         means_same_in(a->graph->node[0], first < second ? first : second,
                       first < second ? second : first);
  if (*out) COMPARE_MESSAGES(alloc, a, b, functions, out);
  return EGRAPH_OK;
}

static egraph_status compare_records(egraph_allocator alloc, const Onnx__ModelProto *a,
                                     const Onnx__ModelProto *b, bool *out) {
  *out = a->graph != NULL && b->graph != NULL && a->graph->n_node == 1 &&
         b->graph->n_node == 1 && a->graph->n_initializer == 0 &&
         b->graph->n_initializer == 0;
  if (!*out) return EGRAPH_OK;
  const Onnx__NodeProto *x = a->graph->node[0], *y = b->graph->node[0];
  *out = strcmp(eg_onnx_text(x->op_type), eg_onnx_text(y->op_type)) == 0 &&
         strcmp(eg_onnx_text(x->domain), eg_onnx_text(y->domain)) == 0 &&
         x->n_input == y->n_input && x->n_output == y->n_output &&
         has_same_places(x->input, y->input, x->n_input) &&
         has_same_places(x->output, y->output, x->n_output) &&
         has_same_captures(a->graph, b->graph);
  if (*out) COMPARE_MESSAGES(alloc, x, y, attribute, out);
  return *out ? has_same_meaning(alloc, a, b, out) : EGRAPH_OK;
}

egraph_status eg_onnx_is_same_record(egraph_allocator alloc, const void *a, size_t a_size,
                                     const void *b, size_t b_size, bool *out) {
  EG_OWNED(eg_onnx_unpacked, first);
  EG_OWNED(eg_onnx_unpacked, second);
  *out = a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
  if (*out) return EGRAPH_OK;
  egraph_status status =
      eg_onnx_model_unpack(alloc, "record", "a model", a, a_size, &first);
  if (status == EGRAPH_OK)
    status = eg_onnx_model_unpack(alloc, "record", "a model", b, b_size, &second);
  if (status == EGRAPH_OK)
    status = compare_records(alloc, first.model, second.model, out);
  // A record that is no ONNX model equals no other record.
  return status == EGRAPH_E_PARSE ? EGRAPH_OK : status;
}
