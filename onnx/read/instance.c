// SPDX-License-Identifier: Apache-2.0
#include "onnx/read/instance.h"
#include "onnx/message.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Limits the bytes of names and nodes in all copies of an import; a node takes some
// hundred bytes.
static const size_t max_copied_bytes = (size_t)1 << 28;

void eg_onnx_instance_init(eg_onnx_instance *instance, const eg_onnx_call *call) {
  eg_onnx_reader *r = call->reader;
  *instance = (eg_onnx_instance){.reader = r, .scope = r->scope};
  instance->stem = call->node->name[0] != '\0' ? call->node->name : call->node->op_type;
  eg_onnx_scopes_init(&instance->index, r->alloc);
  eg_onnx_strings_init(&instance->names, r->alloc);
}

void eg_onnx_instance_deinit(eg_onnx_instance *instance) {
  eg_onnx_strings_deinit(&instance->names);
  eg_onnx_scopes_deinit(&instance->index);
}

static egraph_status charge(eg_onnx_reader *r, size_t bytes) {
  if (bytes <= max_copied_bytes - r->copied_bytes) {
    r->copied_bytes += bytes;
    return EGRAPH_OK;
  }
  return EG_FAIL(EGRAPH_E_PARSE,
                 "functions, branches and loops written out take more than %zu MiB",
                 max_copied_bytes >> 20);
}

// ---- names --------------------------------------------------------------------------

egraph_status eg_onnx_instance_bind(eg_onnx_instance *instance, const char *formal,
                                    const char *name) {
  EG_TRY(eg_onnx_strings_push(&instance->names, name));
  return eg_onnx_scopes_keep(&instance->index, formal, (uint32_t)instance->names.len - 1);
}

bool eg_onnx_instance_is_bound(const eg_onnx_instance *instance, const char *formal) {
  uint32_t ignored;
  return eg_onnx_scopes_find(&instance->index, formal, &ignored);
}

static bool is_taken(const eg_onnx_reader *r, const char *name) {
  uint32_t ignored;
  eg_value value;
  return eg_strmap_find(&r->names, name, &ignored) ||
         eg_strmap_find(&r->reserved, name, &ignored) ||
         eg_graph_find_value(r->graph, name, &value);
}

// Makes "conv1/x", then "conv1/x.1", ...: `reserved` has the last number under the
// plain name.
egraph_status eg_onnx_instance_make(eg_onnx_instance *instance, const char *formal,
                                    const char **out) {
  eg_onnx_reader *r = instance->reader;
  size_t room = strlen(instance->stem) + strlen(formal) + 16;
  char *name;
  EG_TRY(charge(r, room));
  EG_NEW(&r->arena, room, name);
  int length = snprintf(name, room, "%s/%s", instance->stem, formal);
  uint32_t number = 0;
  (void)eg_strmap_find(&r->reserved, name, &number);
  while (is_taken(r, name))
    (void)snprintf(name + length, room - (size_t)length, ".%" PRIu32, ++number);
  EG_TRY(eg_strmap_put(&r->reserved, name, 0));
  if (number != 0) {
    char dot = name[length];
    name[length] = '\0';
    EG_TRY(eg_strmap_put(&r->reserved, name, number));
    name[length] = dot;
  }
  *out = name;
  return eg_onnx_instance_bind(instance, formal, name);
}

egraph_status eg_onnx_instance_name(eg_onnx_instance *instance, const char *formal,
                                    const char **out) {
  uint32_t at;
  *out = eg_onnx_text(formal);
  if ((*out)[0] == '\0') return EGRAPH_OK;
  if (eg_onnx_scopes_find(&instance->index, formal, &at)) {
    *out = instance->names.data[at];
    return EGRAPH_OK;
  }
  return instance->function != NULL ? eg_onnx_instance_make(instance, formal, out)
                                    : EGRAPH_OK;
}

static egraph_status copy_names(eg_onnx_instance *instance, char *const *names,
                                size_t count, char ***out) {
  EG_TRY(charge(instance->reader, count * sizeof **out));
  EG_NEW(&instance->reader->arena, count, *out);
  for (size_t i = 0; i < count; i++) {
    const char *name;
    EG_TRY(eg_onnx_instance_name(instance, names[i], &name));
    (*out)[i] = eg_onnx_borrowed(name);
  }
  return EGRAPH_OK;
}

// ---- attributes ---------------------------------------------------------------------

static egraph_status copy_node(eg_onnx_instance *instance, const Onnx__NodeProto *old,
                               Onnx__NodeProto **out);

egraph_status eg_onnx_instance_tensor(eg_onnx_instance *instance,
                                      const Onnx__TensorProto *old, const char *name,
                                      Onnx__TensorProto **out) {
  eg_arena *arena = &instance->reader->arena;
  EG_TRY(
      charge(instance->reader,
             sizeof **out + old->n_external_data * sizeof(Onnx__StringStringEntryProto)));
  EG_TRY(eg_onnx_copy(arena, old, out));
  (*out)->name = eg_onnx_borrowed(name);
  EG_TRY(eg_onnx_copy_list(arena, old->external_data, old->n_external_data,
                           &(*out)->external_data));
  for (size_t i = 0; i < old->n_external_data; i++) {
    Onnx__StringStringEntryProto *entry = (*out)->external_data[i];
    entry->key = eg_onnx_borrowed(eg_onnx_text(entry->key));
    entry->value = eg_onnx_borrowed(eg_onnx_text(entry->value));
  }
  return EGRAPH_OK;
}

static egraph_status copy_infos(eg_onnx_instance *instance,
                                Onnx__ValueInfoProto *const *infos, size_t count,
                                Onnx__ValueInfoProto ***out) {
  EG_TRY(charge(instance->reader, count * (sizeof ***out + sizeof **out)));
  EG_TRY(eg_onnx_copy_list(&instance->reader->arena, infos, count, out));
  for (size_t i = 0; i < count; i++) {
    const char *name;
    EG_TRY(eg_onnx_instance_name(instance, infos[i]->name, &name));
    (*out)[i]->name = eg_onnx_borrowed(name);
  }
  return EGRAPH_OK;
}

/// Gives the tensors that a graph within a node defines new names, until its scope
/// is left.
static egraph_status define_names(eg_onnx_instance *instance,
                                  const Onnx__GraphProto *graph) {
  EG_LOCAL(eg_onnx_strings, names, instance->reader->alloc);
  const char *fresh;
  EG_TRY(eg_onnx_defined_names(graph, &names, NULL));
  for (size_t i = 0; i < names.len; i++)
    EG_TRY(eg_onnx_scopes_define(&instance->index, names.data[i], 0));
  for (size_t i = 0; i < names.len; i++)
    EG_TRY(eg_onnx_instance_make(instance, names.data[i], &fresh));
  return EGRAPH_OK;
}

static egraph_status copy_initializers(eg_onnx_instance *instance,
                                       const Onnx__GraphProto *old,
                                       Onnx__GraphProto *out) {
  eg_arena *arena = &instance->reader->arena;
  const char *name;
  EG_NEW(arena, old->n_initializer, out->initializer);
  for (size_t i = 0; i < old->n_initializer; i++) {
    EG_TRY(eg_onnx_instance_name(instance, old->initializer[i]->name, &name));
    EG_TRY(eg_onnx_instance_tensor(instance, old->initializer[i], name,
                                   &out->initializer[i]));
  }
  EG_NEW(arena, old->n_sparse_initializer, out->sparse_initializer);
  for (size_t i = 0; i < old->n_sparse_initializer; i++) {
    Onnx__SparseTensorProto *sparse;
    if (old->sparse_initializer[i]->values == NULL)
      return EG_FAIL(EGRAPH_E_PARSE, "a sparse initializer has no values");
    EG_TRY(eg_onnx_copy(arena, old->sparse_initializer[i], &sparse));
    EG_TRY(eg_onnx_instance_name(instance, sparse->values->name, &name));
    EG_TRY(eg_onnx_instance_tensor(instance, sparse->values, name, &sparse->values));
    out->sparse_initializer[i] = sparse;
  }
  return EGRAPH_OK;
}

// Copies a graph within a node of the body. The tensors that it defines get unique names.
static egraph_status copy_graph(void *self, Onnx__GraphProto **inout) {
  eg_onnx_instance *instance = self;
  const Onnx__GraphProto *old = *inout;
  eg_arena *arena = &instance->reader->arena;
  const size_t mark = instance->index.hidden.len;
  Onnx__GraphProto *graph;
  EG_TRY(charge(instance->reader, sizeof *graph));
  EG_TRY(eg_onnx_copy(arena, old, &graph));
  graph->n_quantization_annotation = 0;
  EG_TRY(define_names(instance, old));
  EG_TRY(copy_infos(instance, old->input, old->n_input, &graph->input));
  EG_TRY(copy_infos(instance, old->output, old->n_output, &graph->output));
  EG_TRY(copy_infos(instance, old->value_info, old->n_value_info, &graph->value_info));
  EG_TRY(copy_initializers(instance, old, graph));
  EG_NEW(arena, old->n_node, graph->node);
  for (size_t i = 0; i < old->n_node; i++)
    EG_TRY(copy_node(instance, old->node[i], &graph->node[i]));
  eg_onnx_scopes_leave(&instance->index, mark);
  *inout = graph;
  return EGRAPH_OK;
}

static egraph_status copy_attribute(eg_onnx_instance *instance,
                                    const Onnx__AttributeProto *old,
                                    Onnx__AttributeProto **out) {
  eg_arena *arena = &instance->reader->arena;
  Onnx__AttributeProto *attr;
  EG_TRY(charge(instance->reader, sizeof *attr + old->n_graphs * sizeof *attr->graphs));
  EG_TRY(eg_onnx_copy(arena, old, &attr));
  attr->name = eg_onnx_borrowed(eg_onnx_text(old->name));
  if (old->t != NULL)
    EG_TRY(
        eg_onnx_instance_tensor(instance, old->t, eg_onnx_text(old->t->name), &attr->t));
  EG_TRY(eg_onnx_change_graphs(arena, copy_graph, instance, attr));
  *out = attr;
  return EGRAPH_OK;
}

// Resolves an attribute that refers to an attribute of the function. *out is the value in
// the call, which belongs to the caller; else the function's default; else NULL.
static egraph_status refer_attribute(eg_onnx_instance *instance,
                                     const Onnx__AttributeProto *old,
                                     Onnx__AttributeProto **out) {
  const Onnx__FunctionProto *function = instance->function;
  const Onnx__AttributeProto *given;
  if (function == NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute '%.100s' refers to one of a function",
                   eg_onnx_text(old->name));
  *out = NULL;
  given = eg_onnx_find_attribute(instance->call->attribute, instance->call->n_attribute,
                                 old->ref_attr_name);
  if (given != NULL) {
    EG_TRY(charge(instance->reader, sizeof **out));
    EG_TRY(eg_onnx_copy(&instance->reader->arena, given, out));
  } else {
    given = eg_onnx_find_attribute(function->attribute_proto, function->n_attribute_proto,
                                   old->ref_attr_name);
    if (given != NULL) EG_TRY(copy_attribute(instance, given, out));
  }
  if (given == NULL) return EGRAPH_OK;
  (*out)->name = eg_onnx_borrowed(eg_onnx_text(old->name));
  if (old->has_type && given->has_type && old->type != given->type)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "attribute '%.100s' refers to '%.100s', which is of another kind",
                   eg_onnx_text(old->name), old->ref_attr_name);
  return EGRAPH_OK;
}

// ---- nodes --------------------------------------------------------------------------

static egraph_status copy_attributes(eg_onnx_instance *instance,
                                     const Onnx__NodeProto *old, Onnx__NodeProto *out) {
  out->n_attribute = 0;
  EG_TRY(charge(instance->reader, old->n_attribute * sizeof *out->attribute));
  EG_NEW(&instance->reader->arena, old->n_attribute, out->attribute);
  for (size_t i = 0; i < old->n_attribute; i++) {
    const char *refers_to = old->attribute[i]->ref_attr_name;
    bool refers = refers_to != NULL && refers_to[0] != '\0';
    Onnx__AttributeProto *attr;
    EG_TRY(refers ? refer_attribute(instance, old->attribute[i], &attr)
                  : copy_attribute(instance, old->attribute[i], &attr));
    if (attr != NULL) out->attribute[out->n_attribute++] = attr;
  }
  return EGRAPH_OK;
}

static egraph_status name_node(eg_onnx_instance *instance, const char *old, char **out) {
  char *name;
  *out = eg_onnx_borrowed("");
  if (eg_onnx_text(old)[0] == '\0') return EGRAPH_OK;
  size_t room = strlen(instance->stem) + strlen(old) + 2;
  EG_TRY(charge(instance->reader, room));
  EG_NEW(&instance->reader->arena, room, name);
  (void)snprintf(name, room, "%s/%s", instance->stem, old);
  *out = name;
  return EGRAPH_OK;
}

static egraph_status copy_node(eg_onnx_instance *instance, const Onnx__NodeProto *old,
                               Onnx__NodeProto **out) {
  Onnx__NodeProto *node;
  EG_TRY(charge(instance->reader, sizeof *node));
  EG_TRY(eg_onnx_copy(&instance->reader->arena, old, &node));
  node->op_type = eg_onnx_borrowed(eg_onnx_text(old->op_type));
  node->domain = eg_onnx_borrowed(eg_onnx_text(old->domain));
  EG_TRY(name_node(instance, old->name, &node->name));
  EG_TRY(copy_names(instance, old->input, old->n_input, &node->input));
  EG_TRY(copy_names(instance, old->output, old->n_output, &node->output));
  EG_TRY(copy_attributes(instance, old, node));
  *out = node;
  return EGRAPH_OK;
}

egraph_status eg_onnx_instance_add(eg_onnx_instance *instance,
                                   Onnx__NodeProto *const *nodes, size_t count) {
  eg_onnx_reader *r = instance->reader;
  uint32_t first = (uint32_t)r->nodes.len;
  if (count >= INT32_MAX - r->nodes.len) return EG_FAIL(EGRAPH_E_PARSE, "too many nodes");
  for (size_t i = 0; i < count; i++) {
    Onnx__NodeProto *node;
    EG_TRY(copy_node(instance, nodes[i], &node));
    EG_TRY(eg_onnx_places_push(&r->nodes, (eg_onnx_place){node, instance->scope}));
  }
  return eg_onnx_register_results(r, first);
}

egraph_status eg_onnx_instance_declare(eg_onnx_instance *instance,
                                       Onnx__ValueInfoProto *const *infos, size_t count) {
  Onnx__ValueInfoProto **copies;
  EG_TRY(copy_infos(instance, infos, count, &copies));
  for (size_t i = 0; i < count; i++)
    eg_onnx_declare(instance->reader, copies[i]->name, copies[i]);
  return EGRAPH_OK;
}

egraph_status eg_onnx_expect(eg_onnx_reader *reader, const char *name, eg_onnx_ref to) {
  const Onnx__ValueInfoProto *declared = eg_onnx_tensor_at(reader, to)->declared;
  Onnx__ValueInfoProto *copy;
  eg_onnx_ref ref;
  if (!eg_onnx_find_tensor(reader, name, &ref)) return EGRAPH_OK;
  eg_onnx_tensor_at(reader, ref)->used = true;
  if (declared == NULL) return EGRAPH_OK;
  EG_TRY(eg_onnx_copy(&reader->arena, declared, &copy));
  copy->name = eg_onnx_borrowed(name);
  eg_onnx_declare(reader, name, copy);
  return EGRAPH_OK;
}

egraph_status eg_onnx_alias(eg_onnx_reader *reader, const char *name, eg_onnx_ref to) {
  eg_onnx_ref ref;
  if (!eg_onnx_find_tensor(reader, name, &ref) || !eg_onnx_tensor_at(reader, ref)->made)
    return EG_FAIL(EGRAPH_E_PARSE, "'%.200s', which it gives, is made by no node", name);
  const eg_onnx_tensor *from = eg_onnx_tensor_at(reader, ref);
  eg_onnx_tensor *tensor = eg_onnx_tensor_at(reader, to);
  assert(!tensor->made);
  tensor->made = true;
  tensor->typed = from->typed;
  tensor->type = from->type;
  tensor->constant = from->constant;
  tensor->data = eg_buffer_retain(from->data);
  tensor->value = from->value;
  return EGRAPH_OK;
}
