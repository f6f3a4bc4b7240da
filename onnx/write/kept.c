// Writes opaque nodes into a model: the record of a node as it was read, with the
// present names of tensors. A node can be converted to a newer operator set if the
// change of its operator is known: an attribute became an operand (axes of reductions,
// sizes of Split), or new attributes have defaults with the old meaning.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/message.h"
#include "onnx/onnx.h"
#include "onnx/read/opaque.h"
#include "onnx/write/writer.h"

// ---- conversion to a newer set ----------------------------------------------------

/// An attribute, a list or one number, that became an operand in operator set `since`.
typedef struct moved {
  const char *op_type;
  int64_t since;
  const char *attribute;
  size_t operand;
} moved;

static const moved moves[] = {
    {"Slice", 10, "starts", 1},         {"Slice", 10, "ends", 2},
    {"Slice", 10, "axes", 3},           {"TopK", 10, "k", 1},
    {"ReduceSum", 13, "axes", 1},       {"Squeeze", 13, "axes", 1},
    {"Unsqueeze", 13, "axes", 1},       {"Split", 13, "split", 1},
    {"Split", 18, "num_outputs", 0}, // required without sizes
    {"ReduceL1", 18, "axes", 1},        {"ReduceL2", 18, "axes", 1},
    {"ReduceLogSum", 18, "axes", 1},    {"ReduceLogSumExp", 18, "axes", 1},
    {"ReduceMax", 18, "axes", 1},       {"ReduceMean", 18, "axes", 1},
    {"ReduceMin", 18, "axes", 1},       {"ReduceProd", 18, "axes", 1},
    {"ReduceSumSquare", 18, "axes", 1},
};
enum { MOVES = sizeof moves / sizeof *moves };

/// Operators that got optional attributes or operands, and without these mean the same.
static const struct {
  const char *op_type;
  int64_t since;
} extensions[] = {{"ArgMax", 12},
                  {"ArgMin", 12},
                  {"GatherND", 12},
                  {"DequantizeLinear", 13},
                  {"QuantizeLinear", 13},
                  {"GRU", 14},
                  {"LSTM", 14},
                  {"RNN", 14},
                  {"Reshape", 14},
                  {"Shape", 15},
                  {"ScatterElements", 16},
                  {"ScatterND", 16},
                  {"Pad", 18},
                  {"Resize", 18},
                  {"Cast", 19},
                  {"CastLike", 19},
                  {"QuantizeLinear", 19},
                  {"DequantizeLinear", 21},
                  {"QuantizeLinear", 21}};

static bool is_known_step(const char *op_type, int64_t since) {
  for (size_t i = 0; i < MOVES; i++)
    if (moves[i].since == since && strcmp(moves[i].op_type, op_type) == 0) return true;
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
    if (extensions[i].since == since && strcmp(extensions[i].op_type, op_type) == 0)
      return true;
  return false;
}

eg_onnx_sets eg_onnx_reach_of(const char *op_type, int64_t opset) {
  eg_onnx_sets sets = eg_onnx_sets_of(op_type, opset);
  while (sets.last < eg_onnx_newest_opset() && is_known_step(op_type, sets.last + 1))
    sets.last = eg_onnx_sets_of(op_type, sets.last + 1).last;
  return sets;
}

// ---- one node -----------------------------------------------------------------------

/// Removes an attribute from the node's list, which is a copy, and returns it; NULL: it
/// is absent.
static const Onnx__AttributeProto *take_attribute(Onnx__NodeProto *node,
                                                  const char *name) {
  const Onnx__AttributeProto *found = NULL;
  size_t kept = 0;
  for (size_t i = 0; i < node->n_attribute; i++)
    if (node->attribute[i]->name != NULL && strcmp(node->attribute[i]->name, name) == 0)
      found = node->attribute[i];
    else
      node->attribute[kept++] = node->attribute[i];
  node->n_attribute = kept;
  return found;
}

static egraph_status move_attribute(eg_onnx_body *body, const moved *move,
                                    Onnx__NodeProto *node) {
  const char *name;
  if (move->operand == 0) { // one equal part per result
    bool has_sizes = node->n_input > 1 && node->input[1][0] != '\0';
    return has_sizes
               ? EGRAPH_OK
               : eg_onnx_put_int(body, node, move->attribute, (int64_t)node->n_output);
  }
  const Onnx__AttributeProto *attr = take_attribute(node, move->attribute);
  if (attr == NULL) return EGRAPH_OK;
  bool is_list = attr->n_ints != 0 || !attr->has_i;
  if (attr->n_ints > UINT32_MAX)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "attribute '%s' is too long", move->attribute);
  EG_TRY(eg_onnx_constant_ints(body, is_list ? attr->ints : &attr->i,
                               is_list ? (uint32_t)attr->n_ints : 1, &name));
  return eg_onnx_put_operand(body, node, move->operand, name);
}

// ---- graphs -------------------------------------------------------------------------

/// Operator sets of a conversion: from `from` to the writer's.
typedef struct conversion {
  eg_onnx_writer *writer;
  int64_t from;
} conversion;

static egraph_status convert_graph(void *self, Onnx__GraphProto **inout);

// Converts a node, and nodes of graphs within it, from set `from` to the set that is
// written; new constants go into the body before the node. `inout` is a copy whose lists
// may be replaced. A node that means the same in both sets stays.
static egraph_status convert_node(eg_onnx_body *body, int64_t from,
                                  Onnx__NodeProto *inout) {
  int64_t opset = body->writer->opset;
  conversion c = {body->writer, from};
  EG_TRY(eg_onnx_change_all_graphs(&c.writer->arena, convert_graph, &c, inout));
  if (inout->op_type == NULL || !eg_onnx_is_standard(inout->domain) ||
      eg_onnx_sets_have(eg_onnx_sets_of(inout->op_type, from), opset))
    return EGRAPH_OK;
  for (size_t i = 0; i < MOVES; i++)
    if (from < moves[i].since && moves[i].since <= opset &&
        strcmp(moves[i].op_type, inout->op_type) == 0)
      EG_TRY(move_attribute(body, &moves[i], inout));
  return EGRAPH_OK;
}

static egraph_status convert_nodes(eg_onnx_body *body, int64_t from,
                                   Onnx__GraphProto *inout) {
  for (size_t i = 0; i < inout->n_node; i++) {
    Onnx__NodeProto *node;
    EG_TRY(eg_onnx_copy(&body->writer->arena, inout->node[i], &node));
    EG_TRY(convert_node(body, from, node));
    EG_TRY(eg_onnx_nodes_push(&body->nodes, node));
  }
  return eg_onnx_take_nodes(body, &inout->node, &inout->n_node);
}

// Replaces *inout by a converted copy of the graph; its new constants are nodes.
static egraph_status convert_graph(void *self, Onnx__GraphProto **inout) {
  const conversion *c = self;
  EG_LOCAL_WITH(eg_onnx_body, body, c->writer->alloc, .writer = c->writer,
                .has_constant_nodes = true, .stem = "constant");
  EG_TRY(eg_onnx_copy(&c->writer->arena, *inout, inout));
  return convert_nodes(&body, c->from, *inout);
}

egraph_status eg_onnx_add_opset(eg_onnx_writer *writer, const char *domain,
                                int64_t version) {
  for (size_t i = 0; i < writer->opsets.len; i++) {
    if (strcmp(writer->opsets.data[i]->domain, domain) != 0) continue;
    if (writer->opsets.data[i]->version == version) return EGRAPH_OK;
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "nodes that are kept want versions %" PRId64 " and %" PRId64
                   " of the domain '%.200s'; a model has one",
                   writer->opsets.data[i]->version, version, domain);
  }
  Onnx__OperatorSetIdProto *opset;
  EG_TRY(eg_onnx_new(&writer->arena, &onnx__operator_set_id_proto__descriptor, &opset));
  opset->domain = eg_onnx_borrowed(domain);
  opset->has_version = true;
  opset->version = version;
  return eg_onnx_opsets_push(&writer->opsets, opset);
}

static bool has_function(const eg_onnx_writer *w, const Onnx__FunctionProto *function) {
  for (size_t i = 0; i < w->functions.len; i++)
    if (strcmp(w->functions.data[i]->name, function->name) == 0 &&
        strcmp(w->functions.data[i]->domain, function->domain) == 0 &&
        strcmp(eg_onnx_text(w->functions.data[i]->overload),
               eg_onnx_text(function->overload)) == 0)
      return true;
  return false;
}

// Adds the operator sets and functions that the node may need.
static egraph_status add_surroundings(eg_onnx_writer *w, const Onnx__ModelProto *record) {
  for (size_t i = 0; i < record->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *opset = record->opset_import[i];
    if (!eg_onnx_is_standard(opset->domain))
      EG_TRY(eg_onnx_add_opset(w, opset->domain, opset->version));
  }
  for (size_t i = 0; i < record->n_functions; i++) {
    if (has_function(w, record->functions[i])) continue;
    EG_TRY(eg_onnx_functions_push(&w->functions, record->functions[i]));
    if (strcmp(record->functions[i]->domain, EG_ONNX_DOMAIN) == 0)
      EG_TRY(eg_onnx_add_opset(w, EG_ONNX_DOMAIN, 1));
  }
  return EGRAPH_OK;
}

// Replaces the names that are not empty, in order. False when `fresh` has too few names.
static bool rename_present(char **names, size_t count, const char *const *fresh,
                           uint32_t fresh_count, char ***inout, size_t *out_used) {
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    (*inout)[i] = names[i];
    if (names[i][0] == '\0') continue;
    if (used == fresh_count) return false;
    (*inout)[i] = (char *)(uintptr_t)fresh[used++];
  }
  *out_used = used;
  return true;
}

static egraph_status damaged(const eg_onnx_writer *w, eg_graph_node node) {
  return EG_FAIL(
      EGRAPH_E_PARSE, "the record of the opaque %s '%.200s' does not fit its node",
      eg_graph_opaque_type(w->graph, node), eg_graph_node_at(w->graph, node).name);
}

// Adds the declared types of results whose types the graph cannot represent, under the
// present names of these results.
static egraph_status add_foreign_types(eg_onnx_writer *w, const Onnx__NodeProto *old,
                                       const Onnx__NodeProto *fresh,
                                       const Onnx__GraphProto *record,
                                       const eg_graph_node_info *node) {
  uint32_t result = 0;
  for (size_t i = 0; i < old->n_output; i++) {
    if (old->output[i][0] == '\0') continue;
    if (eg_graph_value(w->graph, node->results[result++])->typed) continue;
    for (size_t k = 0; k < record->n_value_info; k++)
      if (strcmp(record->value_info[k]->name, old->output[i]) == 0) {
        Onnx__ValueInfoProto *info;
        EG_TRY(eg_onnx_copy(&w->arena, record->value_info[k], &info));
        info->name = fresh->output[i];
        EG_TRY(eg_onnx_infos_push(&w->infos, info));
        break;
      }
  }
  return EGRAPH_OK;
}

/// Counts a standard node if ONNX Runtime does not load it with its operands' known
/// types.
static egraph_status note_loading(eg_onnx_writer *w, const Onnx__NodeProto *fresh,
                                  const eg_graph_node_info *node) {
  int *dtype;
  uint32_t operand = 0;
  if (!eg_onnx_is_standard(fresh->domain)) return EGRAPH_OK;
  EG_NEW(&w->arena, fresh->n_input, dtype);
  for (size_t i = 0; i < fresh->n_input; i++) {
    if (fresh->input[i][0] == '\0' || operand == node->input_count) continue;
    const eg_value_info *info = eg_graph_value(w->graph, node->inputs[operand++]);
    dtype[i] = info->typed ? eg_dtype_onnx(info->type.dtype) : 0;
  }
  eg_onnx_note_loading(w, fresh, dtype);
  return EGRAPH_OK;
}

static egraph_status write_record_node(eg_onnx_body *body, eg_graph_node id,
                                       int64_t opset, const Onnx__GraphProto *record,
                                       const char *const *inputs,
                                       const char *const *results) {
  eg_onnx_writer *w = body->writer;
  eg_graph_node_info node = eg_graph_node_at(w->graph, id);
  const Onnx__NodeProto *old = record->node[0];
  Onnx__NodeProto *fresh;
  size_t operands, made;
  EG_TRY(eg_onnx_copy(&w->arena, old, &fresh));
  EG_NEW(&w->arena, old->n_input, fresh->input);
  EG_NEW(&w->arena, old->n_output, fresh->output);
  if (!rename_present(old->input, old->n_input, inputs, node.input_count, &fresh->input,
                      &operands) ||
      !rename_present(old->output, old->n_output, results, node.result_count,
                      &fresh->output, &made) ||
      made != node.result_count)
    return damaged(w, id);
  if (record->n_input != node.input_count - operands) return damaged(w, id);
  EG_TRY(eg_onnx_rename_within(body, record, inputs + operands, fresh));
  EG_TRY(add_foreign_types(w, old, fresh, record, &node));
  if (opset != 0) EG_TRY(convert_node(body, opset, fresh));
  EG_TRY(note_loading(w, fresh, &node));
  return eg_onnx_nodes_push(&body->nodes, fresh);
}

static egraph_status write_record(eg_onnx_body *body, eg_graph_node id,
                                  const Onnx__ModelProto *record) {
  eg_onnx_writer *w = body->writer;
  eg_graph_node_info node = eg_graph_node_at(w->graph, id);
  const Onnx__GraphProto *graph = record->graph;
  const char **inputs, **results;
  if (graph == NULL) return damaged(w, id);
  EG_TRY(eg_onnx_names_of(w, node.inputs, node.input_count, &inputs));
  EG_TRY(eg_onnx_names_of(w, node.results, node.result_count, &results));
  int64_t opset = eg_onnx_standard_opset(record->opset_import, record->n_opset_import);
  if (graph->n_node == 1)
    return write_record_node(body, id, opset, graph, inputs, results);
  if (node.result_count != 1 || node.input_count != 0) return damaged(w, id);
  if (graph->n_input == 1) {
    Onnx__ValueInfoProto *info;
    EG_TRY(eg_onnx_copy(&w->arena, graph->input[0], &info));
    info->name = eg_onnx_borrowed(results[0]);
    return eg_onnx_infos_push(&w->inputs, info);
  }
  if (graph->n_initializer != 1) return damaged(w, id);
  Onnx__TensorProto *tensor;
  EG_TRY(eg_onnx_copy(&w->arena, graph->initializer[0], &tensor));
  tensor->name = eg_onnx_borrowed(results[0]);
  return eg_onnx_initializers_push(&w->initializers, tensor);
}

egraph_status eg_onnx_unpack_record(eg_onnx_writer *w, const char *what,
                                    const void *bytes, size_t size,
                                    const Onnx__ModelProto **out) {
  ProtobufCMessage *message = NULL;
  EG_TRY(eg_onnx_messages_reserve(&w->records, w->records.len + 1));
  EG_TRY(eg_onnx_message_unpack(&w->heap, &onnx__model_proto__descriptor, what,
                                "record of a graph", bytes, size, &message));
  w->records.data[w->records.len++] = message;
  *out = (const Onnx__ModelProto *)message;
  return eg_onnx_fill_strings(&w->heap, (Onnx__ModelProto *)message);
}

/// Unpacks the record of a node, only once.
static egraph_status read_record(eg_onnx_writer *w, eg_graph_node node,
                                 const Onnx__ModelProto **out) {
  size_t size;
  const void *bytes = eg_graph_opaque_record(w->graph, node, &size);
  if (w->record_of == NULL)
    EG_NEW(&w->arena, eg_graph_node_count(w->graph), w->record_of);
  if (w->record_of[node.id] == NULL)
    EG_TRY(eg_onnx_unpack_record(w, eg_graph_opaque_type(w->graph, node), bytes, size,
                                 &w->record_of[node.id]));
  *out = w->record_of[node.id];
  return EGRAPH_OK;
}

egraph_status eg_onnx_reserve_opaque(eg_onnx_writer *writer, eg_graph_node node) {
  const Onnx__ModelProto *record;
  EG_TRY(read_record(writer, node, &record));
  if (record->graph == NULL) return damaged(writer, node);
  EG_TRY(add_surroundings(writer, record));
  return record->graph->n_node == 1
             ? eg_onnx_inner_names(writer->alloc, record->graph->node[0],
                                   eg_onnx_defined_names, &writer->names)
             : EGRAPH_OK;
}

egraph_status eg_onnx_write_opaque(eg_onnx_body *body, eg_graph_node node) {
  const Onnx__ModelProto *record;
  EG_TRY(read_record(body->writer, node, &record));
  return write_record(body, node, record);
}

egraph_status eg_onnx_narrow_to_opaque(eg_onnx_writer *w, eg_graph_node node,
                                       bool converts, eg_onnx_span *inout) {
  const Onnx__ModelProto *record;
  EG_TRY(read_record(w, node, &record));
  int64_t opset = eg_onnx_standard_opset(record->opset_import, record->n_opset_import);
  if (record->graph == NULL) return damaged(w, node);
  if (opset != 0)
    EG_TRY(eg_onnx_narrow(w->alloc, record->graph->node, record->graph->n_node, opset,
                          converts ? eg_onnx_reach_of : eg_onnx_sets_of, inout));
  for (size_t i = 0; i < record->n_functions; i++) { // functions name their own sets
    const Onnx__FunctionProto *function = record->functions[i];
    opset = eg_onnx_standard_opset(function->opset_import, function->n_opset_import);
    if (opset != 0)
      EG_TRY(eg_onnx_narrow(w->alloc, function->node, function->n_node, opset,
                            eg_onnx_sets_of, inout));
  }
  return EGRAPH_OK;
}
