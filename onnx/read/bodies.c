// Imports nodes as the nodes within them: calls of functions, the branch of an If whose
// condition is known, the steps of a short Loop.
//
// Every call is inlined, because a runtime computes a function by its body. The function
// is written again only when a sub-graph of an opaque node calls it.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/owner.h"
#include "onnx/read/instance.h"
#include "onnx/read/op.h"
#include "onnx/sets/versions.h"
#include "onnx/tensor.h"

// Limits nodes times steps; longer loops become opaque nodes.
enum { MAX_UNROLLED_NODES = 1024 };

// ---- graphs within nodes ------------------------------------------------------------

static const Onnx__GraphProto *graph_of(const eg_onnx_call *call, const char *name) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, name);
  return attr != NULL ? attr->g : NULL;
}

// True when the nodes of a body can be copied into the graph around it.
static bool is_plain(const Onnx__GraphProto *graph) {
  bool known = graph->n_sparse_initializer == 0;
  for (size_t i = 0; known && i < graph->n_initializer; i++) {
    eg_type type;
    known = eg_onnx_tensor_type(graph->initializer[i], &known, &type) == EGRAPH_OK &&
            known && graph->initializer[i]->name != NULL;
  }
  for (size_t i = 0; known && i < graph->n_output; i++)
    known = graph->output[i]->name != NULL;
  for (size_t i = 0; known && i < graph->n_input; i++)
    known = graph->input[i]->name != NULL;
  return known;
}

/// The search for an initializer that hides a tensor around it (read/scopes.h).
typedef struct hiding {
  const eg_onnx_reader *reader;
  eg_onnx_scopes scopes;
  eg_onnx_strings names; // scratch
  bool found;
} hiding;
EG_OWNER_DEFINE_STATIC(hiding, (eg_onnx_scopes, scopes), (eg_onnx_strings, names))

static egraph_status search_hiding(hiding *h, const Onnx__GraphProto *graph) {
  const size_t mark = h->scopes.hidden.len;
  uint32_t ignored;
  eg_onnx_ref ref;
  size_t initializers;
  h->names.len = 0;
  EG_TRY(eg_onnx_defined_names(graph, &h->names, &initializers));
  for (size_t i = 0; i < initializers; i++)
    h->found = h->found || eg_onnx_find_tensor(h->reader, h->names.data[i], &ref) ||
               eg_onnx_scopes_find(&h->scopes, h->names.data[i], &ignored);
  for (size_t i = 0; i < h->names.len; i++)
    EG_TRY(eg_onnx_scopes_define(&h->scopes, h->names.data[i], 0));
  for (size_t n = 0; n < graph->n_node && !h->found; n++)
    for (eg_onnx_graphs g = {0}; eg_onnx_next_graph(graph->node[n], &g);)
      EG_TRY(search_hiding(h, g.graph));
  eg_onnx_scopes_leave(&h->scopes, mark);
  return EGRAPH_OK;
}

/// Declines a body in which an initializer, there or in an inner graph, hides a tensor.
static egraph_status check_initializers(const eg_onnx_call *call,
                                        const Onnx__GraphProto *body) {
  EG_LOCAL(hiding, h, call->reader->alloc);
  h.reader = call->reader;
  EG_TRY(search_hiding(&h, body));
  return h.found ? eg_onnx_decline("an initializer within hides a tensor") : EGRAPH_OK;
}

static egraph_status add_initializer(eg_onnx_instance *instance,
                                     const Onnx__TensorProto *proto) {
  const char *name;
  Onnx__TensorProto *copy;
  EG_TRY(eg_onnx_instance_make(instance, proto->name, &name));
  EG_TRY(eg_onnx_instance_tensor(instance, proto, name, &copy));
  return eg_onnx_read_initializer(instance->reader, copy, name);
}

// Adds the initializers and nodes of a graph. Tensors that the graph defines get new
// names, other names stay; formal operands are bound already.
static egraph_status add_graph(eg_onnx_instance *instance,
                               const Onnx__GraphProto *graph) {
  const char *name;
  for (size_t i = 0; i < graph->n_initializer; i++)
    EG_TRY(eg_onnx_about(instance->reader,
                         add_initializer(instance, graph->initializer[i]), "initializer",
                         graph->initializer[i]->name));
  for (size_t n = 0; n < graph->n_node; n++)
    for (size_t i = 0; i < graph->node[n]->n_output; i++)
      if (graph->node[n]->output[i][0] != '\0' &&
          !eg_onnx_instance_is_bound(instance, graph->node[n]->output[i]))
        EG_TRY(eg_onnx_instance_make(instance, graph->node[n]->output[i], &name));
  EG_TRY(eg_onnx_instance_add(instance, graph->node, graph->n_node));
  return eg_onnx_instance_declare(instance, graph->value_info, graph->n_value_info);
}

// Finds the names of the graph's results, and marks them as used.
static egraph_status name_results(eg_onnx_instance *instance,
                                  const Onnx__GraphProto *graph, const char ***out) {
  eg_onnx_reader *r = instance->reader;
  eg_onnx_ref ref;
  EG_NEW(&r->arena, graph->n_output, *out);
  for (size_t i = 0; i < graph->n_output; i++) {
    EG_TRY(eg_onnx_instance_name(instance, graph->output[i]->name, &(*out)[i]));
    if (!eg_onnx_find_tensor(r, (*out)[i], &ref))
      return EG_FAIL(EGRAPH_E_PARSE, "'%.200s', which it gives, is made by no node",
                     graph->output[i]->name);
    eg_onnx_tensor_at(r, ref)->used = true;
  }
  return EGRAPH_OK;
}

/// Imports the nodes from index `first` on. The types that the body declares for its
/// results count only if no earlier declaration exists.
static egraph_status import_graph_body(eg_onnx_instance *instance,
                                       const Onnx__GraphProto *graph, uint32_t first) {
  EG_TRY(eg_onnx_instance_declare(instance, graph->output, graph->n_output));
  egraph_status status = eg_onnx_import_from(instance->reader, first);
  // A refusal of an inner node does not mean that the form of this node is unsupported.
  return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_E_PARSE : status;
}

/// Reads an operand that is one known integer; false otherwise.
static bool known_number(const eg_onnx_call *call, eg_onnx_ref ref, int64_t *out) {
  const eg_onnx_tensor *tensor =
      ref.id != EG_ONNX_NONE.id ? eg_onnx_tensor_at(call->reader, ref) : NULL;
  if (tensor == NULL || tensor->data == NULL || eg_type_elements(&tensor->type) != 1 ||
      eg_dtype_is_float(tensor->type.dtype))
    return false;
  eg_tensor view = eg_onnx_view(tensor);
  *out = eg_tensor_get_int(&view, 0);
  return true;
}

// ---- If -----------------------------------------------------------------------------

static egraph_status import_branch(eg_onnx_instance *instance, const eg_onnx_call *call,
                                   const Onnx__GraphProto *branch) {
  eg_onnx_reader *r = call->reader;
  uint32_t first = (uint32_t)r->nodes.len;
  const char **names;
  EG_TRY(add_graph(instance, branch));
  EG_TRY(name_results(instance, branch, &names));
  for (uint32_t i = 0; i < call->output_count; i++)
    if (call->outputs[i].id != EG_ONNX_NONE.id)
      EG_TRY(eg_onnx_expect(r, names[i], call->outputs[i]));
  EG_TRY(import_graph_body(instance, branch, first));
  for (uint32_t i = 0; i < call->output_count; i++)
    if (call->outputs[i].id != EG_ONNX_NONE.id)
      EG_TRY(eg_onnx_alias(r, names[i], call->outputs[i]));
  return EGRAPH_OK;
}

static egraph_status import_if(const eg_onnx_call *call) {
  int64_t condition;
  if (!known_number(call, eg_onnx_input(call, 0), &condition))
    return eg_onnx_decline("its condition is not known");
  const Onnx__GraphProto *branch =
      graph_of(call, condition != 0 ? "then_branch" : "else_branch");
  if (branch == NULL || !is_plain(branch) || branch->n_input != 0 ||
      branch->n_output < call->output_count)
    return eg_onnx_decline("its branch is not as it should be");
  EG_TRY(check_initializers(call, branch));
  EG_LOCAL(eg_onnx_instance, instance, call);
  return import_branch(&instance, call, branch);
}

// ---- Loop ---------------------------------------------------------------------------
//
// operands  steps, condition, carried values; body: step, condition, carried values ->
// condition, carried values, values that are stacked; results: carried values, stacks

typedef struct loop {
  const eg_onnx_call *call;
  const Onnx__GraphProto *body;
  uint32_t carried, stacked;
  const char **values; // [carried] names of their present tensors
  eg_onnx_refs rows;   // [steps][stacked]
  int64_t limit;       // most steps
  bool goes_on;        // the condition after the last step
  uint32_t steps;
} loop;
EG_OWNER_DEFINE_STATIC(loop, (eg_onnx_refs, rows))

/// Counts the nodes of a graph and of graphs within, up to about `limit`.
static size_t count_nodes(const Onnx__GraphProto *graph, size_t limit) {
  size_t count = graph->n_node;
  for (size_t n = 0; n < graph->n_node && count < limit; n++)
    for (size_t i = 0; i < graph->node[n]->n_attribute; i++)
      if (graph->node[n]->attribute[i]->g != NULL)
        count += count_nodes(graph->node[n]->attribute[i]->g, limit);
  return count;
}

static egraph_status plan_loop(loop *l) {
  const eg_onnx_call *call = l->call;
  eg_onnx_ref limit = eg_onnx_input(call, 0), condition = eg_onnx_input(call, 1);
  int64_t goes_on = 1;
  l->body = graph_of(call, "body");
  l->limit = INT64_MAX;
  if (limit.id != EG_ONNX_NONE.id && !known_number(call, limit, &l->limit))
    return eg_onnx_decline("its number of steps is not known");
  if (condition.id != EG_ONNX_NONE.id && !known_number(call, condition, &goes_on))
    return eg_onnx_decline("its condition is not known");
  if (call->input_count < 2 || l->body == NULL || !is_plain(l->body) ||
      l->body->n_input != call->input_count || l->body->n_output < l->body->n_input - 1 ||
      call->output_count > l->body->n_output - 1)
    return eg_onnx_decline("its body is not as it should be");
  EG_TRY(check_initializers(call, l->body));
  l->goes_on = goes_on != 0;
  l->carried = call->input_count - 2;
  l->stacked = (uint32_t)l->body->n_output - 1 - l->carried;
  EG_NEW(&call->reader->arena, l->carried, l->values);
  for (uint32_t i = 0; i < l->carried; i++) {
    if (call->inputs[i + 2].id == EG_ONNX_NONE.id)
      return eg_onnx_decline("a value that it carries is absent");
    l->values[i] = call->node->input[i + 2];
  }
  return EGRAPH_OK;
}

// Makes a constant under a new name, and binds a formal operand to it.
static egraph_status bind_constant(eg_onnx_instance *instance, const char *formal,
                                   egraph_dtype dtype, int64_t value) {
  const char *name;
  Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
  unsigned char bytes[sizeof value] = {0};
  eg_type type = eg_type_of(dtype, 0, NULL);
  eg_tensor tensor = {.type = type, .data = bytes};
  eg_tensor_set_int(&tensor, 0, value);
  proto.has_data_type = true;
  proto.data_type = eg_dtype_onnx(dtype);
  proto.has_raw_data = true;
  proto.raw_data = (ProtobufCBinaryData){.len = eg_type_bytes(&type), .data = bytes};
  EG_TRY(eg_onnx_instance_make(instance, formal, &name));
  return eg_onnx_read_initializer(instance->reader, &proto, name);
}

/// Gives the results of the last step the types that the file declares for the
/// loop's results.
static egraph_status expect_results(const loop *l, const char *const *names) {
  const eg_onnx_call *call = l->call;
  if (l->steps + 1 != l->limit) return EGRAPH_OK;
  for (uint32_t i = 0; i < l->carried && i < call->output_count; i++)
    if (call->outputs[i].id != EG_ONNX_NONE.id)
      EG_TRY(eg_onnx_expect(call->reader, names[i + 1], call->outputs[i]));
  return EGRAPH_OK;
}

static egraph_status run_step(loop *l, eg_onnx_instance *instance) {
  eg_onnx_reader *r = l->call->reader;
  const Onnx__GraphProto *body = l->body;
  uint32_t first = (uint32_t)r->nodes.len;
  const char **names;
  eg_onnx_ref ref = EG_ONNX_NONE;
  int64_t goes_on;
  EG_TRY(bind_constant(instance, body->input[0]->name, EGRAPH_INT64, l->steps));
  EG_TRY(bind_constant(instance, body->input[1]->name, EGRAPH_BOOL, 1));
  for (uint32_t i = 0; i < l->carried; i++)
    EG_TRY(eg_onnx_instance_bind(instance, body->input[i + 2]->name, l->values[i]));
  EG_TRY(add_graph(instance, body));
  EG_TRY(name_results(instance, body, &names));
  EG_TRY(expect_results(l, names));
  EG_TRY(import_graph_body(instance, body, first));
  for (uint32_t i = 0; i < l->carried; i++)
    l->values[i] = names[i + 1];
  for (uint32_t i = 0; i < l->stacked; i++) {
    (void)eg_onnx_find_tensor(r, names[l->carried + 1 + i], &ref);
    EG_TRY(eg_onnx_refs_push(&l->rows, ref));
  }
  (void)eg_onnx_find_tensor(r, names[0], &ref);
  l->steps++;
  if (!known_number(l->call, ref, &goes_on))
    return eg_onnx_decline("whether it goes on is not known");
  l->goes_on = goes_on != 0;
  return EGRAPH_OK;
}

// Stacks a value of all steps: each row gets a front axis, then all are concatenated.
static egraph_status stack(loop *l, uint32_t index, eg_onnx_ref result) {
  const eg_onnx_call *call = l->call;
  const int64_t front = 0;
  eg_attr_list widen = EG_LIST(UNSQUEEZE, EG_INTS(UNSQUEEZE_AXES, &front, 1));
  eg_attr_list join = EG_LIST(CONCAT, EG_INT(CONCAT_AXIS, 0));
  eg_onnx_ref *rows;
  EG_NEW(&call->reader->arena, l->steps, rows);
  for (uint32_t s = 0; s < l->steps; s++)
    EG_TRY(eg_onnx_emit_fresh(call, widen, &l->rows.data[s * l->stacked + index], 1,
                              &rows[s]));
  return eg_onnx_emit(call, &join, rows, l->steps, &result, 1);
}

static egraph_status give_results(loop *l) {
  const eg_onnx_call *call = l->call;
  for (size_t i = 0; i < l->rows.len; i++)
    if (!eg_onnx_tensor_at(call->reader, l->rows.data[i])->typed)
      return eg_onnx_decline("the type of a row is not known");
  if (l->steps == 0 && call->output_count > l->carried)
    return eg_onnx_decline("the type of a stack without rows is not known");
  for (uint32_t i = l->carried; i < call->output_count; i++)
    if (call->outputs[i].id != EG_ONNX_NONE.id)
      EG_TRY(stack(l, i - l->carried, call->outputs[i]));
  for (uint32_t i = 0; i < l->carried && i < call->output_count; i++)
    if (call->outputs[i].id != EG_ONNX_NONE.id)
      EG_TRY(eg_onnx_alias(call->reader, l->values[i], call->outputs[i]));
  return EGRAPH_OK;
}

static egraph_status import_loop(const eg_onnx_call *call) {
  EG_LOCAL(loop, own, call->reader->alloc);
  loop *l = &own;
  l->call = call;
  EG_TRY(plan_loop(l));
  size_t nodes = count_nodes(l->body, MAX_UNROLLED_NODES) + 1;
  while (l->goes_on && l->steps < l->limit) {
    if ((l->steps + 1) * nodes > MAX_UNROLLED_NODES)
      return eg_onnx_decline("it is too long to be written out");
    EG_LOCAL(eg_onnx_instance, instance, l->call);
    EG_TRY(run_step(l, &instance));
  }
  return give_results(l);
}

egraph_status eg_onnx_import_control(const eg_onnx_call *call) {
  if (strcmp(call->node->op_type, "If") == 0) return import_if(call);
  if (strcmp(call->node->op_type, "Loop") == 0) return import_loop(call);
  return eg_onnx_decline("the operator is not in the table");
}

// ---- calls of functions -------------------------------------------------------------

/// Makes the scope of the function's nodes.
static egraph_status enter_function(eg_onnx_reader *r,
                                    const Onnx__FunctionProto *function,
                                    const eg_onnx_scope **out) {
  int64_t opset =
      eg_onnx_standard_opset(function->opset_import, function->n_opset_import);
  if (opset < 0 || opset > eg_onnx_newest_opset())
    return EG_FAIL(EGRAPH_E_PARSE,
                   "the function '%.200s' is of operator set %" PRId64
                   ", but only 1 to %" PRId64 " are known",
                   function->name, opset, eg_onnx_newest_opset());
  eg_onnx_scope *scope;
  EG_NEW(&r->arena, 1, scope);
  *scope = (eg_onnx_scope){.outer = r->scope,
                           .function = function,
                           .imports = function->opset_import,
                           .import_count = function->n_opset_import,
                           .opset = opset != 0 ? opset : r->scope->opset};
  *out = scope;
  return EGRAPH_OK;
}

// Binds the operands and results of a function to names of the caller. Operands that the
// call leaves out are absent in the body. A result that is also an operand or another
// result is not bound again.
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

/// Finds the name, outside of the function, of result `index` of its body; *out is NULL
/// if the call's result has this name already, or is unused.
static egraph_status name_of_result(eg_onnx_instance *instance, const eg_onnx_call *call,
                                    uint32_t index, const char **out) {
  const char *name;
  *out = NULL;
  if (call->outputs[index].id == EG_ONNX_NONE.id) return EGRAPH_OK;
  EG_TRY(eg_onnx_instance_name(instance, instance->function->output[index], &name));
  if (strcmp(name, call->node->output[index]) != 0) *out = name;
  return EGRAPH_OK;
}

static egraph_status import_function_body(eg_onnx_instance *instance,
                                          const eg_onnx_call *call) {
  const Onnx__FunctionProto *function = instance->function;
  eg_onnx_reader *r = call->reader;
  uint32_t first = (uint32_t)r->nodes.len;
  const char *name;
  EG_TRY(bind_formals(instance, call));
  EG_TRY(eg_onnx_instance_add(instance, function->node, function->n_node));
  EG_TRY(
      eg_onnx_instance_declare(instance, function->value_info, function->n_value_info));
  for (uint32_t i = 0; i < call->output_count; i++) {
    EG_TRY(name_of_result(instance, call, i, &name));
    if (name != NULL) EG_TRY(eg_onnx_expect(r, name, call->outputs[i]));
  }
  EG_TRY(eg_onnx_import_from(r, first));
  for (uint32_t i = 0; i < call->output_count; i++) {
    EG_TRY(name_of_result(instance, call, i, &name));
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
  EG_LOCAL(eg_onnx_instance, instance, call);
  instance.call = call->node;
  instance.function = function;
  EG_TRY(enter_function(call->reader, function, &instance.scope));
  return import_function_body(&instance, call);
}
