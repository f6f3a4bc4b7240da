// SPDX-License-Identifier: Apache-2.0
#include "pcg/onnx/onnx_convert.h"

#include <string.h>

/// An attribute that is an operand from an operator set on: a list, or one number.
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
    {"Split", 18, "num_outputs", 0}, // must be there where sizes are not
    {"ReduceL1", 18, "axes", 1},        {"ReduceL2", 18, "axes", 1},
    {"ReduceLogSum", 18, "axes", 1},    {"ReduceLogSumExp", 18, "axes", 1},
    {"ReduceMax", 18, "axes", 1},       {"ReduceMean", 18, "axes", 1},
    {"ReduceMin", 18, "axes", 1},       {"ReduceProd", 18, "axes", 1},
    {"ReduceSumSquare", 18, "axes", 1},
};
enum { MOVES = sizeof moves / sizeof *moves };

static bool is_known_step(const char *op_type, int64_t since) {
  for (size_t i = 0; i < MOVES; i++)
    if (moves[i].since == since && strcmp(moves[i].op_type, op_type) == 0) return true;
  return false;
}

eg_onnx_sets eg_onnx_reach_of(const char *op_type, int64_t opset) {
  eg_onnx_sets sets = eg_onnx_sets_of(op_type, opset);
  while (sets.last < eg_onnx_newest_opset() && is_known_step(op_type, sets.last + 1))
    sets.last = eg_onnx_sets_of(op_type, sets.last + 1).last;
  return sets;
}

// ---- one node -----------------------------------------------------------------------

/// Removes an attribute from the node's list, which is a copy; NULL: it is absent.
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

static egraph_status put_operand_at(eg_onnx_body *body, Onnx__NodeProto *node, size_t at,
                                    const char *name) {
  static char none[] = "";
  char **grown;
  size_t count = node->n_input > at + 1 ? node->n_input : at + 1;
  EG_TRY(eg_arena_alloc(&body->writer->arena, count, sizeof *grown, &grown));
  for (size_t i = 0; i < count; i++)
    grown[i] = i < node->n_input ? node->input[i] : none;
  grown[at] = (char *)(uintptr_t)name;
  node->input = grown;
  node->n_input = count;
  return EGRAPH_OK;
}

static egraph_status move_attribute(eg_onnx_body *body, const moved *move,
                                    Onnx__NodeProto *node) {
  const char *name;
  if (move->operand == 0) { // equal parts are as many as results
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
  return put_operand_at(body, node, move->operand, name);
}

// ---- graphs -------------------------------------------------------------------------

static egraph_status convert_graph(eg_onnx_writer *w, int64_t from,
                                   Onnx__GraphProto **inout);

static egraph_status copy_attributes(eg_onnx_writer *w, int64_t from,
                                     Onnx__NodeProto *inout) {
  Onnx__AttributeProto **list;
  EG_TRY(eg_arena_alloc(&w->arena, inout->n_attribute, sizeof *list, &list));
  for (size_t i = 0; i < inout->n_attribute; i++) {
    list[i] = inout->attribute[i];
    if (list[i]->g == NULL && list[i]->n_graphs == 0) continue;
    EG_TRY(eg_arena_alloc(&w->arena, 1, sizeof *list[i], &list[i]));
    *list[i] = *inout->attribute[i];
    if (list[i]->g != NULL) EG_TRY(convert_graph(w, from, &list[i]->g));
    EG_TRY(eg_arena_alloc(&w->arena, list[i]->n_graphs, sizeof *list[i]->graphs,
                          &list[i]->graphs));
    for (size_t k = 0; k < list[i]->n_graphs; k++) {
      list[i]->graphs[k] = inout->attribute[i]->graphs[k];
      EG_TRY(convert_graph(w, from, &list[i]->graphs[k]));
    }
  }
  inout->attribute = list;
  return EGRAPH_OK;
}

egraph_status eg_onnx_convert(eg_onnx_body *body, int64_t from, Onnx__NodeProto *inout) {
  int64_t opset = body->writer->opset;
  EG_TRY(copy_attributes(body->writer, from, inout));
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
  eg_onnx_writer *w = body->writer;
  for (size_t i = 0; i < inout->n_node; i++) {
    Onnx__NodeProto *node;
    EG_TRY(eg_arena_alloc(&w->arena, 1, sizeof *node, &node));
    *node = *inout->node[i];
    EG_TRY(eg_onnx_convert(body, from, node));
    EG_TRY(eg_onnx_nodes_push(&body->nodes, node));
  }
  EG_TRY(eg_arena_alloc(&w->arena, body->nodes.len, sizeof *inout->node, &inout->node));
  for (size_t i = 0; i < body->nodes.len; i++)
    inout->node[i] = body->nodes.data[i];
  inout->n_node = body->nodes.len;
  return EGRAPH_OK;
}

// A copy of the graph; its constants are nodes.
static egraph_status convert_graph(eg_onnx_writer *w, int64_t from,
                                   Onnx__GraphProto **inout) {
  Onnx__GraphProto *graph;
  EG_TRY(eg_arena_alloc(&w->arena, 1, sizeof *graph, &graph));
  *graph = **inout;
  *inout = graph;
  eg_onnx_body body = {.writer = w, .has_constant_nodes = true, .stem = "constant"};
  eg_onnx_nodes_init(&body.nodes, w->alloc);
  egraph_status status = convert_nodes(&body, from, graph);
  eg_onnx_nodes_deinit(&body.nodes);
  return status;
}
