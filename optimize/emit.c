// A value to emit is a key: a class of the extraction problem (class, format), or, past
// those, an e-class that needs weights only. Keys are emitted children first by an
// explicit stack, each once.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/emit.h"

#include <assert.h>
#include <stdio.h>

#include "optimize/derivations.h"

#define NOT_EMITTED UINT32_MAX

EG_VEC_DEFINE(eg_values, eg_value);

typedef struct emitter {
  egraph_allocator alloc;
  eg_tensor_egraph *egraph;
  const eg_engine *engine;
  const eg_graph *original;
  const eg_expansion *expansion;
  const uint32_t *choice;
  uint32_t place_count, key_count;
  eg_node *weight_node;    // [class_limit] of what weights alone make
  eg_value *emitted;       // [key_count] first result, or NOT_EMITTED
  const char **class_name; // [class_limit] name of an original value of the class; NULL
                           // when none or used
  eg_u32s stack;
  eg_values inputs;
  eg_arena names; // made-up names
  uint32_t next_name;
  eg_emission *out;
  const eg_emission *before; // where the original's nodes come from; may be NULL
} emitter;

// ---- keys -----------------------------------------------------------------------

static bool key_is_weight(const emitter *e, uint32_t key) {
  return key >= e->place_count;
}

static eg_class class_of_key(const emitter *e, uint32_t key) {
  return (eg_class){key_is_weight(e, key) ? key - e->place_count
                                          : e->expansion->class_of.data[key]};
}

static unsigned format_of_key(const emitter *e, uint32_t key) {
  return key_is_weight(e, key) ? EG_FORMAT_PLAIN : e->expansion->format_of.data[key];
}

/// The chosen e-node of a key; EG_NODE_NONE for a reorder.
static eg_node node_of_key(const emitter *e, uint32_t key) {
  if (key_is_weight(e, key)) return e->weight_node[key - e->place_count];
  return e->expansion->variants.data[e->choice[key]].node;
}

/// Keys of the operands of a chosen node, pushed on `out` in operand order.
static egraph_status push_operands(const emitter *e, uint32_t key, eg_u32s *out) {
  const eg_extract_problem *problem = &e->expansion->problem;
  eg_node node = node_of_key(e, key);
  uint32_t next = 0; // children of the problem node: the operands that are not weights
  if (!key_is_weight(e, key)) next = problem->child_begin.data[e->choice[key]];
  if (node.id == EG_NODE_NONE.id) return eg_u32s_push(out, problem->children.data[next]);
  eg_term term = eg_engine_term(e->engine, node);
  for (uint32_t i = 0; i < term.arity; i++) {
    eg_class child = eg_engine_find(e->engine, term.children[i]);
    bool weight = eg_tensor_egraph_fact(e->egraph, child)->weight_only;
    EG_TRY(eg_u32s_push(out, weight ? e->place_count + child.id
                                    : problem->children.data[next++]));
  }
  return EGRAPH_OK;
}

// ---- writing one node -----------------------------------------------------------

/// The original's name for a class, given out once.
static const char *take_name(emitter *e, eg_class class) {
  const char *name = e->class_name[class.id];
  e->class_name[class.id] = NULL;
  return name;
}

/// A name for a value that the original does not have.
static egraph_status make_name(emitter *e, const char **out) {
  char name[32];
  eg_value taken;
  do
    (void)snprintf(name, sizeof name, "opt_%u", e->next_name++);
  while (eg_graph_find_value(e->original, name, &taken));
  return eg_arena_string(&e->names, name, strlen(name), out);
}

/// The rule that made an e-node; for a node of the original, the one that made it there.
static uint32_t reason_of(const emitter *e, eg_node node) {
  if (node.id == EG_NODE_NONE.id) return EG_REORDER;
  uint32_t reason = eg_engine_node_reason(e->engine, node), index;
  eg_value value;
  if (reason == EG_REASON_SEED && e->before != NULL &&
      eg_tensor_egraph_seed_value(e->egraph, node, &value) &&
      eg_strmap_find(&e->before->origin_of, eg_graph_value(e->original, value)->name,
                     &index))
    return e->before->origins.data[index].reason;
  return reason;
}

static egraph_status note_origin(emitter *e, uint32_t key, eg_node node) {
  eg_origin origin = {.reason = reason_of(e, node), .source = EG_COST_FREE};
  if (!key_is_weight(e, key)) {
    const eg_variant *variant = &e->expansion->variants.data[e->choice[key]];
    origin.seconds = variant->seconds;
    origin.source = variant->source;
  }
  const char *name = eg_graph_value(e->out->graph, e->emitted[key])->name;
  EG_TRY(eg_strmap_put(&e->out->origin_of, name, (uint32_t)e->out->origins.len));
  return eg_origins_push(&e->out->origins, origin);
}

static egraph_status write_leaf(emitter *e, uint32_t key, const eg_attrs *attrs) {
  const char *name =
      eg_attr_at(attrs, attrs->op == EG_OP_INPUT ? EG_A_INPUT_NAME : EG_A_WEIGHT_NAME)
          ->text;
  eg_value value;
  if (attrs->op == EG_OP_INPUT) {
    bool found = eg_graph_find_value(e->out->graph, name, &e->emitted[key]);
    (void)found;
    assert(found && "inputs are declared first");
    return EGRAPH_OK;
  }
  if (!eg_graph_find_value(e->original, name, &value))
    return EG_FAIL(EGRAPH_E_INTERNAL, "weight '%s' is not in the original graph", name);
  const eg_value_info *info = eg_graph_value(e->original, value);
  return eg_graph_add_weight(e->out->graph, name, &info->type, info->data,
                             &e->emitted[key]);
}

static egraph_status find_opaque(const emitter *e, const eg_attrs *attrs,
                                 eg_graph_node *out) {
  const char *key = eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text;
  if (eg_graph_find_opaque(e->original, key, out)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL, "opaque operator '%s' is not in the original graph",
                 key);
}

/// Result names and types of an opaque node are the original's: it is
/// written back as it was.
static egraph_status write_opaque(emitter *e, uint32_t key, const eg_attrs *attrs) {
  eg_graph_node node;
  EG_TRY(find_opaque(e, attrs, &node));
  eg_graph_node_info info = eg_graph_node_at(e->original, node);
  eg_values results;
  eg_values_init(&results, e->alloc);
  const eg_type **types = NULL;
  const char **names = NULL;
  egraph_status status = eg_values_resize(&results, info.result_count);
  if (status == EGRAPH_OK)
    status = eg_alloc(e->alloc, info.result_count, sizeof *types, &types);
  if (status == EGRAPH_OK)
    status = eg_alloc(e->alloc, info.result_count, sizeof *names, &names);
  for (uint32_t i = 0; status == EGRAPH_OK && i < info.result_count; i++) {
    const eg_value_info *result = eg_graph_value(e->original, info.results[i]);
    types[i] = result->typed ? &result->type : NULL;
    names[i] = result->name;
    (void)take_name(e, eg_tensor_egraph_value_class(e->egraph, info.results[i]));
  }
  if (status == EGRAPH_OK) {
    size_t size;
    const void *record = eg_graph_opaque_record(e->original, node, &size);
    status = eg_graph_add_opaque(e->out->graph, info.name,
                                 eg_graph_opaque_type(e->original, node), record, size,
                                 e->inputs.data, (uint32_t)e->inputs.len, types, names,
                                 info.result_count, results.data);
  }
  if (status == EGRAPH_OK && info.result_count != 0) e->emitted[key] = results.data[0];
  eg_free(e->alloc, types, info.result_count, sizeof *types);
  eg_free(e->alloc, names, info.result_count, sizeof *names);
  eg_values_deinit(&results);
  return status;
}

static egraph_status write_operator(emitter *e, uint32_t key, const eg_attrs *attrs) {
  uint32_t count = eg_op_results(attrs);
  eg_values results;
  eg_values_init(&results, e->alloc);
  const char **names = NULL;
  egraph_status status = eg_values_resize(&results, count);
  if (status == EGRAPH_OK) status = eg_alloc(e->alloc, count, sizeof *names, &names);
  if (status == EGRAPH_OK && count == 1) names[0] = take_name(e, class_of_key(e, key));
  for (uint32_t i = 0; status == EGRAPH_OK && i < count; i++)
    if (names[i] == NULL) status = make_name(e, &names[i]);
  if (status == EGRAPH_OK)
    status = eg_graph_add_node(e->out->graph, names[0], attrs, e->inputs.data,
                               (uint32_t)e->inputs.len, names, results.data);
  for (uint32_t i = 0; status == EGRAPH_OK && i < count; i++)
    if (format_of_key(e, key) != EG_FORMAT_PLAIN)
      status = eg_graph_set_format(e->out->graph, results.data[i],
                                   (eg_format)format_of_key(e, key));
  if (status == EGRAPH_OK) e->emitted[key] = results.data[0];
  eg_free(e->alloc, names, count, sizeof *names);
  eg_values_deinit(&results);
  return status;
}

/// The results of a node follow each other, so a part is its tuple's first
/// value plus the index.
static void write_part(emitter *e, uint32_t key, const eg_attrs *attrs) {
  const eg_value_info *first = eg_graph_value(e->out->graph, e->inputs.data[0]);
  eg_graph_node_info node = eg_graph_node_at(e->out->graph, first->node);
  e->emitted[key] = node.results[eg_attr_at(attrs, EG_A_PART_INDEX)->i];
}

static egraph_status write_key(emitter *e, uint32_t key) {
  eg_node node = node_of_key(e, key);
  const eg_attrs identity = {.op = EG_OP_IDENTITY};
  const eg_attrs *attrs = &identity;
  if (node.id != EG_NODE_NONE.id)
    attrs = eg_attr_pool_get(eg_tensor_egraph_attrs(e->egraph),
                             (eg_attrs_id){eg_engine_term(e->engine, node).payload});
  if (attrs->op == EG_OP_INPUT || attrs->op == EG_OP_WEIGHT)
    return write_leaf(e, key, attrs);
  if (attrs->op == EG_OP_PART) {
    write_part(e, key, attrs);
    return EGRAPH_OK;
  }
  EG_TRY(attrs->op == EG_OP_OPAQUE ? write_opaque(e, key, attrs)
                                   : write_operator(e, key, attrs));
  return note_origin(e, key, node);
}

// ---- the walk -------------------------------------------------------------------

static bool all_emitted(const emitter *e, const eg_u32s *operands) {
  for (size_t i = 0; i < operands->len; i++)
    if (e->emitted[operands->data[i]].id == NOT_EMITTED) return false;
  return true;
}

/// Emits a key after its operands: the stack holds keys that wait; a key is written when
/// all operands are.
static egraph_status emit_key(emitter *e, uint32_t root, eg_u32s *operands) {
  EG_TRY(eg_u32s_push(&e->stack, root));
  while (e->stack.len != 0) {
    uint32_t key = e->stack.data[e->stack.len - 1];
    if (e->emitted[key].id != NOT_EMITTED) {
      (void)eg_u32s_pop(&e->stack);
      continue;
    }
    operands->len = 0;
    EG_TRY(push_operands(e, key, operands));
    if (!all_emitted(e, operands)) {
      for (size_t i = operands->len; i-- != 0;)
        if (e->emitted[operands->data[i]].id == NOT_EMITTED)
          EG_TRY(eg_u32s_push(&e->stack, operands->data[i]));
      continue;
    }
    e->inputs.len = 0;
    for (size_t i = 0; i < operands->len; i++)
      EG_TRY(eg_values_push(&e->inputs, e->emitted[operands->data[i]]));
    EG_TRY(write_key(e, key));
    (void)eg_u32s_pop(&e->stack);
  }
  return EGRAPH_OK;
}

static egraph_status emit_inputs(emitter *e) {
  for (uint32_t i = 0; i < eg_graph_input_count(e->original); i++) {
    const eg_value_info *info =
        eg_graph_value(e->original, eg_graph_input(e->original, i));
    eg_value value;
    EG_TRY(eg_graph_add_input(e->out->graph, info->name, &info->type, &value));
    EG_TRY(eg_graph_set_default(e->out->graph, value, info->data));
  }
  return EGRAPH_OK;
}

static uint32_t root_key(const emitter *e, uint32_t output) {
  eg_class root = eg_engine_find(e->engine, eg_tensor_egraph_root(e->egraph, output));
  if (eg_tensor_egraph_fact(e->egraph, root)->weight_only)
    return e->place_count + root.id;
  return e->expansion->place[(size_t)root.id * EG_FORMAT_COUNT + EG_FORMAT_PLAIN];
}

static egraph_status emit_outputs(emitter *e, eg_u32s *operands) {
  for (uint32_t i = 0; i < eg_graph_output_count(e->original); i++) {
    uint32_t key = root_key(e, i);
    EG_TRY(emit_key(e, key, operands));
    const char *name;
    (void)eg_graph_output(e->original, i, &name);
    EG_TRY(eg_graph_add_output(e->out->graph, name, e->emitted[key]));
  }
  return EGRAPH_OK;
}

/// Outputs come first, so that the value behind an output keeps its name.
static void collect_names(emitter *e) {
  for (uint32_t i = eg_graph_value_count(e->original); i-- != 0;) {
    const eg_value_info *info = eg_graph_value(e->original, (eg_value){i});
    if (info->kind != EG_VALUE_COMPUTED) continue;
    eg_class class = eg_tensor_egraph_value_class(e->egraph, (eg_value){i});
    e->class_name[eg_engine_find(e->engine, class).id] = info->name;
  }
  for (uint32_t i = 0; i < eg_graph_output_count(e->original); i++) {
    const eg_value_info *info =
        eg_graph_value(e->original, eg_graph_output(e->original, i, NULL));
    eg_class root = eg_engine_find(e->engine, eg_tensor_egraph_root(e->egraph, i));
    if (info->kind == EG_VALUE_COMPUTED) e->class_name[root.id] = info->name;
  }
}

static egraph_status emit(emitter *e) {
  uint32_t limit = e->expansion->class_limit;
  EG_TRY(eg_alloc(e->alloc, limit, sizeof *e->weight_node, &e->weight_node));
  EG_TRY(eg_alloc(e->alloc, limit, sizeof *e->class_name, &e->class_name));
  EG_TRY(eg_alloc(e->alloc, e->key_count, sizeof *e->emitted, &e->emitted));
  for (uint32_t i = 0; i < e->key_count; i++)
    e->emitted[i] = (eg_value){NOT_EMITTED};
  EG_TRY(eg_derivations_find(e->alloc, e->egraph, e->weight_node));
  collect_names(e);
  eg_graph_set_header(e->out->graph, eg_graph_header(e->original));
  EG_TRY(emit_inputs(e));
  eg_u32s operands;
  eg_u32s_init(&operands, e->alloc);
  egraph_status status = emit_outputs(e, &operands);
  eg_u32s_deinit(&operands);
  return status;
}

egraph_status eg_emission_init(eg_emission *emission, egraph_allocator alloc,
                               eg_tensor_egraph *egraph, const eg_expansion *expansion,
                               const uint32_t *choice, const eg_emission *before) {
  *emission = (eg_emission){.graph = NULL};
  eg_strmap_init(&emission->origin_of, alloc);
  eg_origins_init(&emission->origins, alloc);
  emitter e = {.alloc = alloc,
               .egraph = egraph,
               .engine = eg_tensor_egraph_engine(egraph),
               .original = eg_tensor_egraph_graph(egraph),
               .expansion = expansion,
               .choice = choice,
               .place_count = expansion->problem.class_count,
               .key_count = expansion->problem.class_count + expansion->class_limit,
               .out = emission,
               .before = before};
  eg_u32s_init(&e.stack, alloc);
  eg_values_init(&e.inputs, alloc);
  eg_arena_init(&e.names, alloc);
  egraph_status status = eg_graph_create(&alloc, &emission->graph);
  if (status == EGRAPH_OK) status = emit(&e);
  eg_free(alloc, e.weight_node, expansion->class_limit, sizeof *e.weight_node);
  eg_free(alloc, e.class_name, expansion->class_limit, sizeof *e.class_name);
  eg_free(alloc, e.emitted, e.key_count, sizeof *e.emitted);
  eg_u32s_deinit(&e.stack);
  eg_values_deinit(&e.inputs);
  eg_arena_deinit(&e.names);
  if (status != EGRAPH_OK) eg_emission_deinit(emission);
  return status;
}

void eg_emission_deinit(eg_emission *emission) {
  eg_graph_destroy(emission->graph);
  emission->graph = NULL;
  eg_strmap_deinit(&emission->origin_of);
  eg_origins_deinit(&emission->origins);
}
