// The store is never rebuilt: a new term can be found by its hash and read by its number
// at once. A rebuild would only make indexes for matching; the store does not match.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/term_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"

#define MEMBERS (eg_u32s, node, like, seen, stack)

// ---- terms ----------------------------------------------------------------------------

static const eg_engine *store_engine(const eg_term_store *store) {
  return eg_tensor_egraph_engine_of(store->terms);
}

/// Adds the next term's entries to the arrays. `like`: a term with the same operator on
/// the same types, or the term itself.
static egraph_status note_store_term(eg_term_store *store, uint32_t node, uint32_t like) {
  EG_TRY(eg_u32s_push(&store->seen, 0));
  EG_TRY(eg_u32s_push(&store->like, like));
  return eg_u32s_push(&store->node, node);
}

egraph_status eg_term_store_init(eg_term_store *store, egraph_allocator alloc,
                                 const eg_graph *given) {
  *store = (eg_term_store){.alloc = alloc, .given = given};
  EG_INIT_MEMBERS(store, alloc, MEMBERS)
  EG_TRY(eg_tensor_egraph_create(&alloc, given, &store->terms));
  const eg_engine *engine = store_engine(store);
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    assert(eg_engine_class_of(engine, n).id == store->node.len);
    EG_TRY(note_store_term(store, n.id, (uint32_t)store->node.len));
  }
  return EGRAPH_OK;
}

void eg_term_store_deinit(eg_term_store *store) {
  eg_tensor_egraph_destroy(store->terms);
  store->terms = NULL;
  EG_DEINIT_MEMBERS(store, MEMBERS)
}

size_t eg_term_store_bytes(const eg_term_store *store) {
  return eg_tensor_egraph_bytes(store->terms) +
         (store->node.cap + store->like.cap + store->seen.cap + store->stack.cap) *
             sizeof(uint32_t);
}

uint32_t eg_term_store_root(const eg_term_store *store, uint32_t output) {
  return eg_tensor_egraph_root(store->terms, output).id;
}

eg_term eg_term_store_at(const eg_term_store *store, uint32_t term) {
  return eg_engine_term(store_engine(store), (eg_node){*eg_u32s_at(&store->node, term)});
}

const eg_attrs *eg_term_store_attrs(const eg_term_store *store, uint32_t term) {
  return eg_tensor_egraph_attrs_at(store->terms, eg_term_store_at(store, term).payload);
}

uint32_t eg_term_store_reason(const eg_term_store *store, uint32_t term) {
  return eg_engine_node_reason(store_engine(store),
                               (eg_node){*eg_u32s_at(&store->node, term)});
}

const eg_tensor_fact *eg_term_store_fact(const eg_term_store *store, uint32_t term) {
  return eg_tensor_egraph_fact(store->terms, (eg_class){term});
}

egraph_status eg_term_store_add(eg_term_store *store, const eg_attrs *attrs,
                                const uint32_t *operands, uint32_t count, uint32_t reason,
                                uint32_t *out) {
  _Static_assert(sizeof(eg_class) == sizeof(uint32_t), "a term is a class");
  uint32_t next = eg_engine_node_limit(store_engine(store));
  eg_class class;
  EG_TRY(eg_tensor_egraph_add(store->terms, attrs,
                              (const eg_class *)(const void *)operands, count, reason,
                              &class));
  *out = class.id;
  return class.id == store->node.len ? note_store_term(store, next, class.id) : EGRAPH_OK;
}

egraph_status eg_term_store_add_like(eg_term_store *store, uint32_t like,
                                     const uint32_t *operands, uint32_t *out) {
  uint32_t arity = eg_term_store_at(store, like).arity;
  size_t count = store->node.len;
  EG_TRY(eg_term_store_add(store, eg_term_store_attrs(store, like), operands, arity,
                           eg_term_store_reason(store, like), out));
  if (*out != count) return EGRAPH_OK; // the term existed
  eg_term term = eg_term_store_at(store, like);
  bool is_like = true;
  for (uint32_t i = 0; is_like && i < arity; i++)
    is_like = eg_term_store_fact(store, operands[i])->weight_only ==
              eg_term_store_fact(store, term.children[i].id)->weight_only;
  if (is_like) store->like.data[*out] = store->like.data[like];
  return EGRAPH_OK;
}

// ---- walks over a graph ---------------------------------------------------------------

static egraph_status reach_term(eg_term_store *store, uint32_t term) {
  if (store->seen.data[term] == store->walk) return EGRAPH_OK;
  store->seen.data[term] = store->walk;
  return eg_u32s_push(&store->stack, term);
}

/// Takes the next term of a graph walk from the stack, and pushes its new operands.
static egraph_status take_reached_term(eg_term_store *store, uint32_t *out) {
  *out = eg_u32s_pop(&store->stack);
  eg_term term = eg_term_store_at(store, *out);
  for (uint32_t i = 0; i < term.arity; i++)
    EG_TRY(reach_term(store, term.children[i].id));
  return EGRAPH_OK;
}

egraph_status eg_term_store_collect(eg_term_store *store, const uint32_t *roots,
                                    uint32_t count, eg_u32s *out) {
  out->len = 0;
  store->stack.len = 0;
  store->walk++;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(reach_term(store, roots[i]));
  while (store->stack.len != 0) {
    uint32_t number;
    EG_TRY(take_reached_term(store, &number));
    EG_TRY(eg_u32s_push(out, number));
  }
  if (out->len != 0) qsort(out->data, out->len, sizeof *out->data, eg_compare_u32s);
  return EGRAPH_OK;
}

// ---- graphs of terms --------------------------------------------------------------

// Terms of a graph are written in the order of their numbers, which is topological. A
// tuple is written as the node that makes it; its parts become the results of that node.

EG_VEC_DEFINE(value_list, eg_value);
EG_VEC_DEFINE(name_list, const char *);

typedef struct emitter {
  eg_term_store *store;
  const uint32_t *roots;
  uint32_t root_count, next_name;
  eg_graph *graph;
  eg_u32s terms;       // of the graph
  eg_u32s made;        // [terms of the store] first value, or EG_TERM_NONE
  value_list operands; // of the current node
  value_list results;
  name_list names;
  eg_arena scratch; // of made-up names
} emitter;
EG_OWNER_DEFINE_STATIC(emitter, (eg_u32s, terms, made), (value_list, operands, results),
                       (name_list, names), (eg_arena, scratch))

// ---- names ------------------------------------------------------------------------

/// Finds the value of the given graph that this term is; false: a rewrite made the term.
static bool is_given(const emitter *e, uint32_t term, eg_value *out) {
  return eg_tensor_egraph_seed_value(e->store->terms,
                                     (eg_node){e->store->node.data[term]}, out);
}

/// Returns the name of an output that was rewritten: the name of its value in the given
/// graph, unless the new graph has that value, too.
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

static egraph_status make_term_name(emitter *e, const char **out) {
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
    if (name == NULL) EG_TRY(make_term_name(e, &name));
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

/// Writes an unknown operator unchanged.
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

static egraph_status emit_terms(emitter *e, eg_u32s *reasons) {
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
  EG_HELD(eg_graph, graph);
  EG_TRY(eg_graph_create(&store->alloc, &graph));
  EG_LOCAL_WITH(emitter, e, store->alloc, .store = store, .graph = graph, .roots = roots,
                .root_count = count);
  reasons->len = 0;
  EG_HAND_OVER(emit_terms(&e, reasons), graph, out);
}
