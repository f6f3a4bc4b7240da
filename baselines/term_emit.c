// Terms of a graph in the order of their numbers, which is topological. A tuple is
// written as its node; its parts are the node's results.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "baselines/term_store.h"

EG_VEC_DEFINE(value_list, eg_value);
EG_VEC_DEFINE(name_list, const char *);

typedef struct emitter {
  eg_term_store *store;
  const uint32_t *roots;
  uint32_t root_count, next_name;
  eg_graph *graph;
  eg_u32s terms;       // of the graph
  eg_u32s made;        // [terms of the store] first value, or EG_TERM_NONE
  value_list operands; // of the node at hand
  value_list results;
  name_list names;
  eg_arena scratch; // of made-up names
} emitter;
EG_OWNER_DEFINE_STATIC(emitter, (eg_u32s, terms, made), (value_list, operands, results),
                       (name_list, names), (eg_arena, scratch))

// ---- names ------------------------------------------------------------------------

/// The value of the given graph that a term stands for.
static bool is_given(const emitter *e, uint32_t term, eg_value *out) {
  return eg_tensor_egraph_seed_value(e->store->terms,
                                     (eg_node){e->store->node.data[term]}, out);
}

/// What was changed behind an output has the name of the value that was there, unless
/// that one is needed, too.
static const char *name_of_output(const emitter *e, uint32_t term) {
  for (uint32_t i = 0; i < e->root_count; i++) {
    eg_value value = eg_graph_output(e->store->given, i, NULL), other;
    const char *name = eg_graph_value(e->store->given, value)->name;
    uint32_t before = eg_term_store_root(e->store, i);
    if (e->roots[i] != term || before == term) continue;
    bool is_needed = e->store->seen.data[before] == e->store->walk;
    if (!is_needed && !eg_graph_find_value(e->graph, name, &other)) return name;
  }
  return NULL;
}

static egraph_status make_name(emitter *e, const char **out) {
  char name[32];
  eg_value taken;
  do
    (void)snprintf(name, sizeof name, "opt_%u", e->next_name++);
  while (eg_graph_find_value(e->store->given, name, &taken));
  return eg_arena_string(&e->scratch, name, strlen(name), out);
}

static egraph_status name_results(emitter *e, uint32_t term, uint32_t results) {
  eg_value given;
  e->names.len = 0;
  for (uint32_t r = 0; r < results; r++) {
    const char *name = NULL;
    if (is_given(e, term, &given)) {
      eg_graph_node node = eg_graph_value(e->store->given, given)->node;
      eg_value value = eg_graph_node_at(e->store->given, node).results[r];
      name = eg_graph_value(e->store->given, value)->name;
    } else if (results == 1) {
      name = name_of_output(e, term);
    }
    if (name == NULL) EG_TRY(make_name(e, &name));
    EG_TRY(name_list_push(&e->names, name));
  }
  return EGRAPH_OK;
}

// ---- terms ------------------------------------------------------------------------

static egraph_status write_leaf(emitter *e, const eg_attrs *attrs, eg_value *out) {
  eg_value given;
  bool is_input = attrs->op == EG_OP_INPUT;
  const char *name =
      eg_attr_at(attrs, is_input ? EG_A_INPUT_NAME : EG_A_WEIGHT_NAME)->text;
  if (!eg_graph_find_value(e->store->given, name, &given))
    return EG_FAIL(EGRAPH_E_INTERNAL, "'%s' is not in the given graph", name);
  if (is_input) {
    bool is_there = eg_graph_find_value(e->graph, name, out);
    return is_there ? EGRAPH_OK : EG_FAIL(EGRAPH_E_INTERNAL, "no input '%s'", name);
  }
  const eg_value_info *info = eg_graph_value(e->store->given, given);
  return eg_graph_add_weight(e->graph, name, &info->type, info->data, out);
}

/// What nobody knows is written back as it was.
static egraph_status write_opaque(emitter *e, uint32_t term, const eg_attrs *attrs) {
  eg_graph_node node;
  const char *key = eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text;
  if (!eg_graph_find_opaque(e->store->given, key, &node))
    return EG_FAIL(EGRAPH_E_INTERNAL, "no opaque operator '%s'", key);
  uint32_t results = eg_graph_node_at(e->store->given, node).result_count;
  EG_TRY(name_results(e, term, results));
  EG_TRY(value_list_resize(&e->results, results));
  return eg_graph_add_copy(e->graph, e->store->given, node, e->operands.data,
                           e->names.data, e->results.data);
}

static egraph_status write_known(emitter *e, uint32_t term, const eg_attrs *attrs) {
  uint32_t results = eg_op_results(attrs);
  EG_TRY(name_results(e, term, results));
  EG_TRY(value_list_resize(&e->results, results));
  return eg_graph_add_node(e->graph, e->names.data[0], attrs, e->operands.data,
                           (uint32_t)e->operands.len, e->names.data, e->results.data);
}

static egraph_status write_term(emitter *e, uint32_t term, eg_u32s *reasons) {
  const eg_attrs *attrs = eg_term_store_attrs(e->store, term);
  eg_term view = eg_term_store_at(e->store, term);
  eg_value first = EG_VALUE_NONE;
  e->operands.len = 0;
  for (uint32_t i = 0; i < view.arity; i++)
    EG_TRY(value_list_push(&e->operands, (eg_value){e->made.data[view.children[i].id]}));
  if (attrs->op == EG_OP_INPUT || attrs->op == EG_OP_WEIGHT) {
    EG_TRY(write_leaf(e, attrs, &first));
  } else if (attrs->op == EG_OP_PART) {
    first.id = e->operands.data[0].id + (uint32_t)eg_attr_at(attrs, EG_A_PART_INDEX)->i;
  } else {
    EG_TRY(attrs->op == EG_OP_OPAQUE ? write_opaque(e, term, attrs)
                                     : write_known(e, term, attrs));
    if (e->results.len != 0) first = e->results.data[0];
    EG_TRY(eg_u32s_push(reasons, eg_term_store_reason(e->store, term)));
  }
  e->made.data[term] = first.id;
  return EGRAPH_OK;
}

// ---- the whole --------------------------------------------------------------------

static egraph_status write_inputs(emitter *e) {
  const eg_graph *given = e->store->given;
  eg_graph_set_header(e->graph, eg_graph_header(given));
  for (uint32_t i = 0; i < eg_graph_input_count(given); i++) {
    const eg_value_info *info = eg_graph_value(given, eg_graph_input(given, i));
    eg_value value;
    EG_TRY(eg_graph_add_input(e->graph, info->name, &info->type, &value));
    EG_TRY(eg_graph_set_default(e->graph, value, info->data));
  }
  return EGRAPH_OK;
}

static egraph_status emit(emitter *e, eg_u32s *reasons) {
  EG_TRY(eg_graph_create(&e->store->alloc, &e->graph));
  EG_TRY(write_inputs(e));
  EG_TRY(eg_term_store_collect(e->store, e->roots, e->root_count, &e->terms));
  EG_TRY(eg_u32s_resize(&e->made, e->store->node.len));
  for (size_t i = 0; i < e->terms.len; i++)
    EG_TRY(write_term(e, e->terms.data[i], reasons));
  for (uint32_t i = 0; i < e->root_count; i++) {
    const char *name;
    (void)eg_graph_output(e->store->given, i, &name);
    EG_TRY(eg_graph_add_output(e->graph, name, (eg_value){e->made.data[e->roots[i]]}));
  }
  return EGRAPH_OK;
}

egraph_status eg_term_store_emit(eg_term_store *store, const uint32_t *roots,
                                 uint32_t count, eg_u32s *reasons, eg_graph **out) {
  emitter e;
  emitter_init(&e, store->alloc);
  e.store = store;
  e.roots = roots;
  e.root_count = count;
  reasons->len = 0;
  egraph_status status = emit(&e, reasons);
  if (status == EGRAPH_OK)
    *out = e.graph;
  else
    eg_graph_destroy(e.graph);
  emitter_deinit(&e);
  return status;
}
