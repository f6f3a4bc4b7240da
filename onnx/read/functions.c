// The functions of a model: finds the function that a node calls, and refuses models that
// are too large after all calls are inlined.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "onnx/message.h"
#include "onnx/read/reader.h"
#include "onnx/sets/versions.h"

// ---- the functions of the model -----------------------------------------------------

/// Writes "domain
/// name
/// overload" as a key; the two names of the standard domain give the same key.
static egraph_status write_key(eg_text *out, const char *domain, const char *name,
                               const char *overload) {
  eg_text_clear(out);
  return eg_text_printf(out, "%s\n%s\n%s", eg_onnx_is_standard(domain) ? "" : domain,
                        eg_onnx_text(name), eg_onnx_text(overload));
}

static egraph_status register_function(eg_onnx_reader *r, eg_text *key, uint32_t index) {
  const Onnx__FunctionProto *function = r->model->functions[index];
  uint32_t other;
  EG_TRY(write_key(key, function->domain, function->name, function->overload));
  if (eg_strmap_find(&r->functions, eg_text_of(key), &other))
    return EG_FAIL(EGRAPH_E_PARSE, "%s: there are two functions '%.200s'", r->file,
                   function->name);
  return eg_strmap_put(&r->functions, eg_text_of(key), index);
}

egraph_status eg_onnx_function_of(const eg_onnx_reader *reader,
                                  const Onnx__NodeProto *node, uint32_t *out) {
  *out = UINT32_MAX;
  if (reader->model->n_functions == 0) return EGRAPH_OK;
  EG_LOCAL(eg_text, key, reader->alloc);
  EG_TRY(write_key(&key, node->domain, node->op_type, node->overload));
  (void)eg_strmap_find(&reader->functions, eg_text_of(&key), out);
  return EGRAPH_OK;
}

// ---- how large the model is with all calls written out ------------------------------

enum { MAX_NODES = 1 << 18, NOT_WEIGHED = INT32_MAX, OPEN = INT32_MAX - 1 };

typedef struct scale {
  eg_onnx_reader *reader;
  uint32_t *weight; // [functions] nodes of the body after inlining
  uint32_t depth;
} scale;

static egraph_status weigh_nodes(scale *s, Onnx__NodeProto *const *nodes, size_t count,
                                 uint32_t *inout);

static egraph_status weigh_function(scale *s, uint32_t index) {
  const Onnx__FunctionProto *function = s->reader->model->functions[index];
  uint32_t weight = 0;
  if (s->weight[index] == OPEN)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: the function '%.200s' calls itself",
                   s->reader->file, function->name);
  if (s->weight[index] != NOT_WEIGHED) return EGRAPH_OK;
  s->weight[index] = OPEN;
  EG_TRY(weigh_nodes(s, function->node, function->n_node, &weight));
  s->weight[index] = weight;
  return EGRAPH_OK;
}

static egraph_status weigh_node(scale *s, const Onnx__NodeProto *node, uint32_t *inout) {
  uint32_t index;
  EG_TRY(eg_onnx_function_of(s->reader, node, &index));
  if (index != UINT32_MAX) {
    EG_TRY(weigh_function(s, index));
    *inout += s->weight[index];
  }
  if (++*inout > MAX_NODES)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: with its functions written out the model has more than %d nodes",
                   s->reader->file, MAX_NODES);
  for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(node, &g);)
    EG_TRY(weigh_nodes(s, g.graph->node, g.graph->n_node, inout));
  return EGRAPH_OK;
}

// Adds the number of nodes after inlining, by recursion over functions and graphs
// within nodes.
static egraph_status weigh_nodes(scale *s, Onnx__NodeProto *const *nodes, size_t count,
                                 uint32_t *inout) {
  if (s->depth == EG_ONNX_MAX_BODIES)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: functions call each other more than %d deep",
                   s->reader->file, EG_ONNX_MAX_BODIES);
  s->depth++;
  for (size_t i = 0; i < count; i++)
    EG_TRY(weigh_node(s, nodes[i], inout));
  s->depth--;
  return EGRAPH_OK;
}

/// Fails if functions call themselves, or the model is too large after inlining.
static egraph_status weigh_model(eg_onnx_reader *r) {
  const Onnx__GraphProto *graph = r->model->graph;
  scale s = {.reader = r};
  uint32_t total = 0;
  EG_NEW(&r->arena, r->model->n_functions, s.weight);
  for (size_t i = 0; i < r->model->n_functions; i++)
    s.weight[i] = NOT_WEIGHED;
  return weigh_nodes(&s, graph->node, graph->n_node, &total);
}

egraph_status eg_onnx_register_functions(eg_onnx_reader *r) {
  if (r->model->n_functions == 0) return EGRAPH_OK;
  if (r->model->n_functions >= INT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: too many functions", r->file);
  EG_LOCAL(eg_text, key, r->alloc);
  for (uint32_t i = 0; i < r->model->n_functions; i++)
    EG_TRY(register_function(r, &key, i));
  return weigh_model(r);
}
