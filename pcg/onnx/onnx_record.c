// SPDX-License-Identifier: Apache-2.0
#include "pcg/onnx/onnx_record.h"

#include <string.h>

#include "pcg/onnx/onnx_message.h"
#include "pcg/onnx/onnx_versions.h"

static const char *text_of(const char *text) { return text != NULL ? text : ""; }

static egraph_status is_same_message(egraph_allocator alloc, const ProtobufCMessage *a,
                                     const ProtobufCMessage *b, bool *out) {
  unsigned char *first, *second;
  size_t first_size, second_size;
  EG_TRY(eg_onnx_message_pack(alloc, a, &first, &first_size));
  egraph_status status = eg_onnx_message_pack(alloc, b, &second, &second_size);
  if (status == EGRAPH_OK) {
    *out = first_size == second_size &&
           (first_size == 0 || memcmp(first, second, first_size) == 0);
    eg_free(alloc, second, second_size, 1);
  }
  eg_free(alloc, first, first_size, 1);
  return status;
}

/// Names are free, but a place that is left out is left out in both.
static bool has_same_places(char *const *a, char *const *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if ((text_of(a[i])[0] == '\0') != (text_of(b[i])[0] == '\0')) return false;
  return true;
}

static egraph_status has_same_attributes(egraph_allocator alloc, const Onnx__NodeProto *a,
                                         const Onnx__NodeProto *b, bool *out) {
  *out = a->n_attribute == b->n_attribute;
  for (size_t i = 0; *out && i < a->n_attribute; i++) {
    const Onnx__AttributeProto *attr = a->attribute[i];
    *out = attr->g == NULL && attr->n_graphs == 0; // whose names are not free
    if (*out) EG_TRY(is_same_message(alloc, &attr->base, &b->attribute[i]->base, out));
  }
  return EGRAPH_OK;
}

/// Of the standard domain the operator means the same in both sets; of others the sets
/// are the same.
static egraph_status has_same_meaning(egraph_allocator alloc, const Onnx__ModelProto *a,
                                      const Onnx__ModelProto *b, bool *out) {
  const Onnx__NodeProto *node = a->graph->node[0];
  *out = a->n_opset_import == b->n_opset_import && a->n_functions == 0 &&
         b->n_functions == 0;
  if (*out && eg_onnx_is_standard(node->domain)) {
    int64_t first = eg_onnx_standard_opset(a->opset_import, a->n_opset_import);
    int64_t second = eg_onnx_standard_opset(b->opset_import, b->n_opset_import);
    *out = a->n_opset_import == 1 &&
           eg_onnx_sets_have(eg_onnx_sets_of(text_of(node->op_type), first), second);
    return EGRAPH_OK;
  }
  for (size_t i = 0; *out && i < a->n_opset_import; i++)
    EG_TRY(is_same_message(alloc, &a->opset_import[i]->base, &b->opset_import[i]->base,
                           out));
  return EGRAPH_OK;
}

static egraph_status compare(egraph_allocator alloc, const Onnx__ModelProto *a,
                             const Onnx__ModelProto *b, bool *out) {
  *out = a->graph != NULL && b->graph != NULL && a->graph->n_node == 1 &&
         b->graph->n_node == 1 && a->graph->n_initializer == 0 &&
         b->graph->n_initializer == 0;
  if (!*out) return EGRAPH_OK;
  const Onnx__NodeProto *x = a->graph->node[0], *y = b->graph->node[0];
  *out = strcmp(text_of(x->op_type), text_of(y->op_type)) == 0 &&
         strcmp(text_of(x->domain), text_of(y->domain)) == 0 &&
         x->n_input == y->n_input && x->n_output == y->n_output &&
         has_same_places(x->input, y->input, x->n_input) &&
         has_same_places(x->output, y->output, x->n_output);
  if (*out) EG_TRY(has_same_attributes(alloc, x, y, out));
  return *out ? has_same_meaning(alloc, a, b, out) : EGRAPH_OK;
}

egraph_status eg_onnx_is_same_record(egraph_allocator alloc, const void *a, size_t a_size,
                                     const void *b, size_t b_size, bool *out) {
  eg_onnx_heap heap;
  ProtobufCMessage *first = NULL, *second = NULL;
  const ProtobufCMessageDescriptor *type = &onnx__model_proto__descriptor;
  *out = a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
  if (*out) return EGRAPH_OK;
  eg_onnx_heap_init(&heap, alloc);
  egraph_status status =
      eg_onnx_message_unpack(&heap, type, "record", "a model", a, a_size, &first);
  if (status == EGRAPH_OK)
    status = eg_onnx_message_unpack(&heap, type, "record", "a model", b, b_size, &second);
  if (status == EGRAPH_OK)
    status = compare(alloc, (const Onnx__ModelProto *)first,
                     (const Onnx__ModelProto *)second, out);
  eg_onnx_message_free(&heap, first);
  eg_onnx_message_free(&heap, second);
  return status == EGRAPH_E_PARSE ? EGRAPH_OK
                                  : status; // no records of ours: not the same
}
