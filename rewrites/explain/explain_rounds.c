// Walks graphs value by value into two sets of terms: of the explainer of the round (over
// leaves of the graph that the round starts from), and of the whole explanation.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/explain/explain_rounds.h"

#include <assert.h>

#include "base/owner.h"
#include "rewrites/saturation/tensor_explain.h"

typedef struct walk {
  eg_explained_rounds *rounds;
  const eg_explained_round *round; // NULL: of the given graph
  const eg_graph *start;           // the graph that the round starts from
  eg_tensor_explainer *explainer;
  eg_u32s started, emitted, found; // [values] terms: of the explainer; of the explanation
  eg_u32s translated; // [terms of the explainer] 1 + the term in the explanation
  eg_u32s stack, operands, roots;
} walk;
EG_OWNER_DEFINE_STATIC(walk, (eg_u32s, started, emitted, found, translated, stack,
                              operands, roots))

/// Adds a term to the explainer or to the explanation.
typedef egraph_status add_term(walk *w, const eg_attrs *attrs, const uint32_t *operands,
                               uint32_t count, uint32_t *out);

static egraph_status add_explained(walk *w, const eg_attrs *attrs,
                                   const uint32_t *operands, uint32_t count,
                                   uint32_t *out) {
  return eg_explained_add(&w->rounds->explained, attrs, operands, count, out);
}

static egraph_status add_to_explainer(walk *w, const eg_attrs *attrs,
                                      const uint32_t *operands, uint32_t count,
                                      uint32_t *out) {
  return eg_tensor_explainer_add(w->explainer, attrs, operands, count, out);
}

static egraph_status missing(const char *name) {
  return EG_FAIL(EGRAPH_E_INTERNAL, "value '%.200s' is not where it comes from", name);
}

// ---- nodes -----------------------------------------------------------------------

/// Finds the opaque node that has a result of this name in the round's first graph.
static egraph_status find_opaque(const walk *w, const char *name,
                                 eg_graph_node_info *out) {
  eg_value value;
  if (!eg_graph_find_value(w->start, name, &value) ||
      eg_graph_value(w->start, value)->kind != EG_VALUE_COMPUTED)
    return missing(name);
  *out = eg_graph_node_at(w->start, eg_graph_value(w->start, value)->node);
  return out->attrs->op == EG_OP_OPAQUE ? EGRAPH_OK : missing(name);
}

/// Returns the attributes of an opaque node in the explanation, with the key of the
/// given graph.
static const eg_attrs *given_opaque(const walk *w, const eg_graph_node_info *node) {
  const eg_explained *e = &w->rounds->explained;
  uint32_t term = w->rounds->values.data[node->results[0].id];
  const eg_attrs *attrs = eg_explained_attrs(e, term);
  return attrs->op != EG_OP_PART
             ? attrs
             : eg_explained_attrs(e, eg_ground_at(&e->terms, term).children[0]);
}

/// Finds the attributes of a graph's node as the explainer, or the explanation, has them.
static egraph_status attrs_in(const walk *w, const eg_graph *graph,
                              const eg_graph_node_info *node, bool is_explained,
                              const eg_attrs **out) {
  eg_graph_node_info opaque;
  *out = node->attrs;
  if (w->round == NULL || node->attrs->op != EG_OP_OPAQUE) return EGRAPH_OK;
  EG_TRY(find_opaque(w, eg_graph_value(graph, node->results[0])->name, &opaque));
  *out = is_explained ? given_opaque(w, &opaque) : opaque.attrs;
  return EGRAPH_OK;
}

/// Adds the results of a node as terms; an identity is its operand.
static egraph_status walk_node(walk *w, const eg_graph *graph, eg_graph_node id,
                               add_term *add, eg_u32s *values) {
  eg_graph_node_info node = eg_graph_node_at(graph, id);
  const eg_attrs *attrs;
  uint32_t made;
  EG_TRY(eg_u32s_resize(&w->operands, node.input_count));
  for (uint32_t i = 0; i < node.input_count; i++)
    w->operands.data[i] = values->data[node.inputs[i].id];
  if (node.attrs->op == EG_OP_IDENTITY) {
    values->data[node.results[0].id] = w->operands.data[0];
    return EGRAPH_OK;
  }
  EG_TRY(attrs_in(w, graph, &node, add == add_explained, &attrs));
  EG_TRY(add(w, attrs, w->operands.data, node.input_count, &made));
  if (node.result_count == 1) values->data[node.results[0].id] = made;
  for (uint32_t i = 0; node.result_count > 1 && i < node.result_count; i++) {
    eg_attr slot = {.kind = EG_ATTR_INT, .i = i};
    const eg_attrs part = {.op = EG_OP_PART, .count = 1, .slots = &slot};
    EG_TRY(add(w, &part, &made, 1, &values->data[node.results[i].id]));
  }
  return EGRAPH_OK;
}

static egraph_status walk_leaf(walk *w, const eg_value_info *info, add_term *add,
                               uint32_t *out) {
  eg_attr slot = {.kind = EG_ATTR_STRING, .text = info->name};
  const eg_attrs attrs = {.op = info->kind == EG_VALUE_INPUT ? EG_OP_INPUT : EG_OP_WEIGHT,
                          .count = 1,
                          .slots = &slot};
  return add(w, &attrs, NULL, 0, out);
}

/// Walks a graph, and adds its values as terms; `weight` (NULL: walk_leaf)
/// translates weights.
static egraph_status walk_graph(walk *w, const eg_graph *graph, add_term *add,
                                egraph_status (*weight)(walk *, const eg_value_info *,
                                                        uint32_t *),
                                eg_u32s *out) {
  uint32_t count = eg_graph_value_count(graph);
  out->len = 0;
  EG_TRY(eg_u32s_resize(out, count));
  for (uint32_t v = 0; v < count; v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (info->kind == EG_VALUE_WEIGHT && weight != NULL)
      EG_TRY(weight(w, info, &out->data[v]));
    else if (info->kind != EG_VALUE_COMPUTED)
      EG_TRY(walk_leaf(w, info, add, &out->data[v]));
    else if (info->result == 0)
      EG_TRY(walk_node(w, graph, info->node, add, out));
  }
  return EGRAPH_OK;
}

// ---- from the explainer to the explanation ---------------------------------------

/// Translates a weight of the round's start into its term of the explanation.
static egraph_status translate_leaf(walk *w, const eg_attrs *attrs, uint32_t *out_term,
                                    bool *out_is_term) {
  eg_value value;
  *out_is_term = attrs->op == EG_OP_WEIGHT;
  if (!*out_is_term) return EGRAPH_OK;
  const char *name = eg_attr_at(attrs, EG_A_WEIGHT_NAME)->text;
  if (!eg_graph_find_value(w->start, name, &value)) return missing(name);
  *out_term = w->rounds->values.data[value.id];
  return EGRAPH_OK;
}

static egraph_status translate_opaque(const walk *w, const eg_attrs **inout_attrs) {
  eg_graph_node node;
  if ((*inout_attrs)->op != EG_OP_OPAQUE) return EGRAPH_OK;
  const char *key = eg_attr_at(*inout_attrs, EG_A_OPAQUE_KEY)->text;
  if (!eg_graph_find_opaque(w->start, key, &node)) return missing(key);
  eg_graph_node_info info = eg_graph_node_at(w->start, node);
  *inout_attrs = given_opaque(w, &info);
  return EGRAPH_OK;
}

/// Translates a term of the explainer into the explanation if its operands are
/// translated; else pushes the other operands onto the stack.
static egraph_status translate_one(walk *w, uint32_t term) {
  eg_ground ground = eg_ground_at(eg_tensor_explainer_terms(w->explainer), term);
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(w->round->egraph, ground.payload);
  size_t waiting = w->stack.len;
  uint32_t made = 0;
  bool is_done;
  EG_TRY(eg_u32s_resize(&w->operands, ground.arity));
  for (uint32_t i = 0; i < ground.arity; i++) {
    uint32_t known = w->translated.data[ground.children[i]];
    if (known == 0) EG_TRY(eg_u32s_push(&w->stack, ground.children[i]));
    w->operands.data[i] = known - 1;
  }
  if (w->stack.len != waiting) return EGRAPH_OK;
  EG_TRY(translate_leaf(w, attrs, &made, &is_done));
  EG_TRY(translate_opaque(w, &attrs));
  if (attrs->op == EG_OP_IDENTITY && ground.arity == 1)
    made = w->operands.data[0];
  else if (!is_done)
    EG_TRY(add_explained(w, attrs, w->operands.data, ground.arity, &made));
  w->translated.data[term] = made + 1;
  w->stack.len--;
  return EGRAPH_OK;
}

static egraph_status translate(walk *w, uint32_t term, uint32_t *out) {
  EG_TRY(eg_u32s_resize(&w->translated,
                        eg_ground_count(eg_tensor_explainer_terms(w->explainer))));
  w->stack.len = 0;
  EG_TRY(eg_u32s_push(&w->stack, term));
  while (w->stack.len != 0) {
    uint32_t top = w->stack.data[w->stack.len - 1];
    if (w->translated.data[top] != 0)
      w->stack.len--;
    else
      EG_TRY(translate_one(w, top));
  }
  *out = w->translated.data[term] - 1;
  return EGRAPH_OK;
}

// ---- a round ---------------------------------------------------------------------

static egraph_status mark_outputs(walk *w) {
  for (uint32_t i = 0; i < eg_graph_output_count(w->start); i++) {
    const char *name;
    uint32_t before = w->started.data[eg_graph_output(w->start, i, &name).id];
    uint32_t after = w->emitted.data[eg_graph_output(w->round->emitted, i, NULL).id];
    egraph_status status = eg_tensor_explainer_mark(w->explainer, before, after);
    if (status == EGRAPH_E_ARGUMENT)
      return eg_fail_context(EGRAPH_E_INTERNAL, "output '%.200s' cannot be explained",
                             name);
    EG_TRY(status);
  }
  return EGRAPH_OK;
}

static egraph_status take_rewrite(void *user, const eg_rule *rule, const uint32_t *roots,
                                  uint32_t count) {
  walk *w = user;
  EG_TRY(eg_u32s_resize(&w->roots, count));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(translate(w, roots[i], &w->roots.data[i]));
  return eg_explained_add_step(&w->rounds->explained, rule->name, w->roots.data, count);
}

/// Adds a weight of the round's result: a weight of its start, or a value computed ahead.
static egraph_status found_weight(walk *w, const eg_value_info *info, uint32_t *out) {
  eg_value value;
  uint32_t term;
  if (!eg_graph_find_value(w->round->emitted, info->name, &value))
    return missing(info->name);
  EG_TRY(translate(w, w->emitted.data[value.id], &term));
  if (eg_graph_value(w->round->emitted, value)->kind == EG_VALUE_COMPUTED)
    return eg_explained_add_constant(&w->rounds->explained, term, out);
  *out = term;
  return EGRAPH_OK;
}

static egraph_status note_outputs(eg_explained_rounds *rounds, const eg_graph *graph) {
  eg_u32s *outputs = &rounds->explained.outputs;
  outputs->len = 0;
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    EG_TRY(
        eg_u32s_push(outputs, rounds->values.data[eg_graph_output(graph, i, NULL).id]));
  return EGRAPH_OK;
}

static egraph_status add_round(walk *w) {
  const eg_explained_round *round = w->round;
  eg_explained_rounds *rounds = w->rounds;
  EG_TRY(walk_graph(w, w->start, add_to_explainer, NULL, &w->started));
  EG_TRY(walk_graph(w, round->emitted, add_to_explainer, NULL, &w->emitted));
  EG_TRY(mark_outputs(w));
  EG_TRY(eg_tensor_explainer_visit(w->explainer, take_rewrite, w));
  EG_TRY(walk_graph(w, round->found, add_explained, found_weight, &w->found));
  rounds->noted += eg_tensor_explainer_count(w->explainer);
  eg_u32s values = rounds->values;
  rounds->values = w->found;
  w->found = values;
  return note_outputs(rounds, round->found);
}

egraph_status eg_explained_rounds_add(eg_explained_rounds *rounds,
                                      const eg_explained_round *round) {
  egraph_allocator alloc = rounds->explained.alloc;
  EG_LOCAL_WITH(walk, w, alloc, .rounds = rounds, .round = round,
                .start = eg_tensor_egraph_graph(round->egraph));
  assert(eg_graph_value_count(w.start) == rounds->values.len);
  EG_HELD(eg_tensor_explainer, explainer);
  EG_TRY(eg_tensor_explainer_create(alloc, round->egraph, round->rules, &explainer));
  w.explainer = explainer;
  return add_round(&w);
}

egraph_status eg_explained_rounds_init(eg_explained_rounds *rounds,
                                       egraph_allocator alloc, const eg_graph *given) {
  *rounds = (eg_explained_rounds){.noted = 0};
  eg_u32s_init(&rounds->values, alloc);
  EG_TRY(eg_explained_init(&rounds->explained, alloc));
  EG_LOCAL_WITH(walk, w, alloc, .rounds = rounds, .start = given);
  EG_TRY(walk_graph(&w, given, add_explained, NULL, &rounds->values));
  return note_outputs(rounds, given);
}

void eg_explained_rounds_deinit(eg_explained_rounds *rounds) {
  eg_explained_deinit(&rounds->explained);
  eg_u32s_deinit(&rounds->values);
}
