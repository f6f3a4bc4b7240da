// Calls of the model's functions: the body of the function in the place of the call.
//
// Every call is inlined, because what a runtime does with a function is what its body
// says; the function itself is written again only where a sub-graph that is kept calls
// it.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "onnx/read/instance.h"
#include "onnx/sets/versions.h"

static const char *text_of(const char *text) { return text != NULL ? text : ""; }

// ---- the functions of the model -----------------------------------------------------

/// "domain\nname\noverload"; the two names of the standard domain are one.
static egraph_status write_key(eg_text *out, const char *domain, const char *name,
                               const char *overload) {
  eg_text_clear(out);
  return eg_text_printf(out, "%s\n%s\n%s", eg_onnx_is_standard(domain) ? "" : domain,
                        text_of(name), text_of(overload));
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
  eg_text key;
  *out = UINT32_MAX;
  if (reader->model->n_functions == 0) return EGRAPH_OK;
  eg_text_init(&key, reader->alloc);
  egraph_status status = write_key(&key, node->domain, node->op_type, node->overload);
  if (status == EGRAPH_OK)
    (void)eg_strmap_find(&reader->functions, eg_text_of(&key), out);
  eg_text_deinit(&key);
  return status;
}

// ---- how large the model is with all calls written out ------------------------------

enum { MAX_NODES = 1 << 18, NOT_WEIGHED = INT32_MAX, OPEN = INT32_MAX - 1 };

typedef struct scale {
  eg_onnx_reader *reader;
  uint32_t *weight; // [functions] nodes of its body with all calls written out
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

static egraph_status weigh_graphs(scale *s, const Onnx__NodeProto *node,
                                  uint32_t *inout) {
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *attr = node->attribute[i];
    if (attr->g != NULL) EG_TRY(weigh_nodes(s, attr->g->node, attr->g->n_node, inout));
    for (size_t k = 0; k < attr->n_graphs; k++)
      EG_TRY(weigh_nodes(s, attr->graphs[k]->node, attr->graphs[k]->n_node, inout));
  }
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
  return weigh_graphs(s, node, inout);
}

// By recursion, over functions and graphs within nodes.
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

/// Fails where functions call themselves, or are too large written out.
static egraph_status weigh_model(eg_onnx_reader *r) {
  const Onnx__GraphProto *graph = r->model->graph;
  scale s = {.reader = r};
  uint32_t total = 0;
  EG_TRY(eg_arena_alloc(&r->arena, r->model->n_functions, sizeof *s.weight, &s.weight));
  for (size_t i = 0; i < r->model->n_functions; i++)
    s.weight[i] = NOT_WEIGHED;
  return weigh_nodes(&s, graph->node, graph->n_node, &total);
}

egraph_status eg_onnx_register_functions(eg_onnx_reader *r) {
  eg_text key;
  egraph_status status = EGRAPH_OK;
  if (r->model->n_functions == 0) return EGRAPH_OK;
  if (r->model->n_functions >= INT32_MAX)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: too many functions", r->file);
  eg_text_init(&key, r->alloc);
  for (uint32_t i = 0; status == EGRAPH_OK && i < r->model->n_functions; i++)
    status = register_function(r, &key, i);
  eg_text_deinit(&key);
  return status == EGRAPH_OK ? weigh_model(r) : status;
}

// ---- one call -----------------------------------------------------------------------

/// The scope of the function's nodes.
static egraph_status enter(eg_onnx_reader *r, const Onnx__FunctionProto *function,
                           const eg_onnx_scope **out) {
  int64_t opset =
      eg_onnx_standard_opset(function->opset_import, function->n_opset_import);
  if (opset < 0 || opset > eg_onnx_newest_opset())
    return EG_FAIL(EGRAPH_E_PARSE,
                   "the function '%.200s' is of operator set %" PRId64
                   ", but only 1 to %" PRId64 " are known",
                   function->name, opset, eg_onnx_newest_opset());
  eg_onnx_scope *scope;
  EG_TRY(eg_arena_alloc(&r->arena, 1, sizeof *scope, &scope));
  *scope = (eg_onnx_scope){.outer = r->scope,
                           .function = function,
                           .imports = function->opset_import,
                           .import_count = function->n_opset_import,
                           .opset = opset != 0 ? opset : r->scope->opset};
  *out = scope;
  return EGRAPH_OK;
}

// Operands that the call leaves out are absent in the body. A result has the name that
// the caller gave it, unless it is an operand or another result, too.
static egraph_status bind_formals(eg_onnx_instance *instance, const eg_onnx_call *call) {
  const Onnx__FunctionProto *function = instance->function;
  for (size_t i = 0; i < function->n_input; i++)
    EG_TRY(eg_onnx_instance_bind(instance, function->input[i],
                                 i < call->input_count ? call->node->input[i] : ""));
  for (size_t i = 0; i < call->output_count; i++)
    if (call->node->output[i][0] != '\0' &&
        !eg_onnx_instance_is_bound(instance, function->output[i]))
      EG_TRY(eg_onnx_instance_bind(instance, function->output[i], call->node->output[i]));
  return EGRAPH_OK;
}

/// The tensor of the caller that a result is, where it has another name there.
static egraph_status result_name(eg_onnx_instance *instance, const eg_onnx_call *call,
                                 uint32_t index, const char **out) {
  const char *name;
  *out = NULL;
  if (call->outputs[index].id == EG_ONNX_NONE.id) return EGRAPH_OK;
  EG_TRY(eg_onnx_instance_name(instance, instance->function->output[index], &name));
  if (strcmp(name, call->node->output[index]) != 0) *out = name;
  return EGRAPH_OK;
}

static egraph_status import_body(eg_onnx_instance *instance, const eg_onnx_call *call) {
  const Onnx__FunctionProto *function = instance->function;
  eg_onnx_reader *r = call->reader;
  uint32_t first = (uint32_t)r->nodes.len;
  const char *name;
  EG_TRY(bind_formals(instance, call));
  EG_TRY(eg_onnx_instance_add(instance, function->node, function->n_node));
  EG_TRY(
      eg_onnx_instance_declare(instance, function->value_info, function->n_value_info));
  for (uint32_t i = 0; i < call->output_count; i++) {
    EG_TRY(result_name(instance, call, i, &name));
    if (name != NULL) EG_TRY(eg_onnx_expect(r, name, call->outputs[i]));
  }
  EG_TRY(eg_onnx_import_from(r, first));
  for (uint32_t i = 0; i < call->output_count; i++) {
    EG_TRY(result_name(instance, call, i, &name));
    if (name != NULL) EG_TRY(eg_onnx_alias(r, name, call->outputs[i]));
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_function(const eg_onnx_call *call,
                                      const Onnx__FunctionProto *function) {
  if (call->input_count > function->n_input || call->output_count > function->n_output)
    return EG_FAIL(
        EGRAPH_E_PARSE,
        "the function has %zu operands and %zu results, not %" PRIu32 " and %" PRIu32,
        function->n_input, function->n_output, call->input_count, call->output_count);
  eg_onnx_instance instance;
  eg_onnx_instance_init(&instance, call);
  instance.call = call->node;
  instance.function = function;
  egraph_status status = enter(call->reader, function, &instance.scope);
  if (status == EGRAPH_OK) status = import_body(&instance, call);
  eg_onnx_instance_deinit(&instance);
  return status;
}
