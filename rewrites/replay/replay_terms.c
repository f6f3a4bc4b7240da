// SPDX-License-Identifier: Apache-2.0
#include "rewrites/replay/replay_terms.h"

#include "base/owner.h"

#define OWNED                                                                            \
  (eg_ground, ground), (eg_replay_facts, facts), (eg_replay_buffers, buffers),           \
      (eg_u32s, values, data, made, stack, operands)

void eg_replay_terms_deinit(eg_replay_terms *terms) {
  for (size_t i = 0; i < terms->buffers.len; i++)
    eg_buffer_release(terms->buffers.data[i]);
  EG_DEINIT_MEMBERS(terms, OWNED);
  eg_tensor_facts_deinit(&terms->of);
  eg_attr_pool_destroy(terms->attrs);
  terms->attrs = NULL;
}

const eg_attrs *eg_replay_terms_attrs(const eg_replay_terms *terms, uint32_t term) {
  eg_ground ground = eg_ground_at(&terms->ground, term);
  if (ground.op == EG_EXPLAINED_CONSTANT) return NULL;
  return eg_attr_pool_get(terms->attrs, (eg_attrs_id){ground.payload});
}

const eg_tensor_fact *eg_replay_terms_fact(const eg_replay_terms *terms, uint32_t term) {
  return eg_replay_facts_at(&terms->facts, term);
}

const eg_buffer *eg_replay_terms_data(const eg_replay_terms *terms, uint32_t term) {
  const eg_attrs *attrs = eg_replay_terms_attrs(terms, term);
  if (attrs == NULL) return terms->buffers.data[terms->data.data[term] - 1];
  eg_value value;
  if (attrs->op != EG_OP_WEIGHT ||
      !eg_graph_find_value(terms->given, eg_attr_at(attrs, EG_A_WEIGHT_NAME)->text,
                           &value))
    return NULL;
  return eg_graph_value(terms->given, value)->data;
}

// ---- adding ----------------------------------------------------------------------

static egraph_status infer(eg_replay_terms *terms, const eg_attrs *attrs,
                           const uint32_t *operands, uint32_t count,
                           eg_tensor_fact *out) {
  const eg_tensor_fact **facts;
  EG_TRY(eg_alloc(terms->alloc, count, sizeof *facts, &facts));
  for (uint32_t i = 0; i < count; i++)
    facts[i] = eg_replay_terms_fact(terms, operands[i]);
  egraph_status status = eg_tensor_facts_of_node(&terms->of, attrs, facts, count, out);
  eg_free(terms->alloc, facts, count, sizeof *facts);
  return status;
}

egraph_status eg_replay_terms_add(eg_replay_terms *terms, const eg_attrs *attrs,
                                  const uint32_t *operands, uint32_t count,
                                  uint32_t *out) {
  eg_attrs_id payload;
  eg_tensor_fact fact;
  if (attrs->op == EG_OP_IDENTITY && count == 1) {
    *out = operands[0];
    return EGRAPH_OK;
  }
  EG_TRY(infer(terms, attrs, operands, count, &fact));
  EG_TRY(eg_attr_pool_add(terms->attrs, attrs, &payload));
  const eg_ground ground = {
      .op = attrs->op, .payload = payload.id, .arity = count, .children = operands};
  EG_TRY(eg_replay_facts_reserve(&terms->facts, terms->facts.len + 1));
  EG_TRY(eg_u32s_reserve(&terms->data, terms->data.len + 1));
  EG_TRY(eg_ground_add(&terms->ground, &ground, out));
  if (*out < terms->facts.len) return EGRAPH_OK;
  EG_TRY(eg_replay_facts_push(&terms->facts, fact));
  return eg_u32s_push(&terms->data, 0);
}

egraph_status eg_replay_terms_fit(const eg_replay_terms *terms, uint32_t term,
                                  bool *out_fit) {
  enum { MOST = 8 };
  eg_ground ground = eg_ground_at(&terms->ground, term);
  const eg_tensor_fact *facts[MOST];
  *out_fit = true;
  bool is_checked = term >= terms->given_count && ground.op != EG_EXPLAINED_CONSTANT &&
                    ground.arity <= MOST; // of more operands no operator is pointwise
  if (!is_checked) return EGRAPH_OK;
  for (uint32_t i = 0; i < ground.arity; i++)
    facts[i] = eg_replay_terms_fact(terms, ground.children[i]);
  return eg_tensor_constants_fit(terms->alloc, eg_replay_terms_attrs(terms, term), facts,
                                 ground.arity, eg_replay_terms_fact(terms, term),
                                 out_fit);
}

// ---- the given graph -------------------------------------------------------------

static egraph_status add_leaf(eg_replay_terms *terms, const eg_value_info *info,
                              uint32_t *out) {
  eg_attr slot = {.kind = EG_ATTR_STRING, .text = info->name};
  const eg_attrs attrs = {.op = info->kind == EG_VALUE_INPUT ? EG_OP_INPUT : EG_OP_WEIGHT,
                          .count = 1,
                          .slots = &slot};
  return eg_replay_terms_add(terms, &attrs, NULL, 0, out);
}

/// The terms of a node's results: of several, parts of one.
static egraph_status add_node(eg_replay_terms *terms, const eg_graph_node_info *node) {
  uint32_t made;
  EG_TRY(eg_u32s_resize(&terms->operands, node->input_count));
  for (uint32_t i = 0; i < node->input_count; i++)
    terms->operands.data[i] = terms->values.data[node->inputs[i].id];
  EG_TRY(eg_replay_terms_add(terms, node->attrs, terms->operands.data, node->input_count,
                             &made));
  if (eg_replay_terms_fact(terms, made)->part_count == 0) {
    terms->values.data[node->results[0].id] = made;
    return EGRAPH_OK;
  }
  for (uint32_t i = 0; i < node->result_count; i++) {
    eg_attr slot = {.kind = EG_ATTR_INT, .i = i};
    const eg_attrs part = {.op = EG_OP_PART, .count = 1, .slots = &slot};
    EG_TRY(eg_replay_terms_add(terms, &part, &made, 1,
                               &terms->values.data[node->results[i].id]));
  }
  return EGRAPH_OK;
}

static egraph_status add_given(eg_replay_terms *terms) {
  uint32_t count = eg_graph_value_count(terms->given);
  EG_TRY(eg_u32s_resize(&terms->values, count));
  for (uint32_t v = 0; v < count; v++) {
    const eg_value_info *info = eg_graph_value(terms->given, (eg_value){v});
    if (info->kind != EG_VALUE_COMPUTED) {
      EG_TRY(add_leaf(terms, info, &terms->values.data[v]));
    } else if (info->result == 0) {
      eg_graph_node_info node = eg_graph_node_at(terms->given, info->node);
      EG_TRY(add_node(terms, &node));
    }
  }
  terms->given_count = eg_ground_count(&terms->ground);
  return EGRAPH_OK;
}

egraph_status eg_replay_terms_init(eg_replay_terms *terms, egraph_allocator alloc,
                                   const eg_graph *given, size_t max_bytes) {
  *terms = (eg_replay_terms){.alloc = alloc, .given = given, .max_bytes = max_bytes};
  EG_INIT_MEMBERS(terms, alloc, OWNED);
  eg_tensor_facts_init(&terms->of, alloc, given);
  EG_TRY(eg_attr_pool_create(&alloc, &terms->attrs));
  return add_given(terms);
}
