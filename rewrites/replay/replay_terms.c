// Adds, computes and checks terms. A constant is computed operands first, with an
// explicit stack; intermediate results are released, other constants kept.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/replay/replay_terms.h"

#include <assert.h>

#include "base/owner.h"
#include "ops/tensor.h"

#define OWNED                                                                            \
  (eg_ground, ground), (eg_replay_facts, facts), (eg_replay_buffers, buffers),           \
      (eg_u32s, values, data, made, stack, operands)

void eg_replay_terms_init(eg_replay_terms *terms, egraph_allocator alloc) {
  *terms = (eg_replay_terms){.alloc = alloc};
  EG_INIT_MEMBERS(terms, alloc, OWNED);
  eg_tensor_facts_init(&terms->of, alloc, NULL);
}

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
  EG_LOCAL(eg_arena, arena, terms->alloc);
  const eg_tensor_fact **facts;
  EG_TRY(eg_arena_alloc(&arena, count, sizeof *facts, &facts));
  for (uint32_t i = 0; i < count; i++)
    facts[i] = eg_replay_terms_fact(terms, operands[i]);
  return eg_tensor_facts_of_node(&terms->of, attrs, facts, count, out);
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
  assert(terms->facts.len == terms->data.len && *out <= terms->facts.len);
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
                    ground.arity <= MOST; // no pointwise operator has more operands
  if (!is_checked) return EGRAPH_OK;
  for (uint32_t i = 0; i < ground.arity; i++)
    facts[i] = eg_replay_terms_fact(terms, ground.children[i]);
  return eg_tensor_constants_fit(terms->alloc, eg_replay_terms_attrs(terms, term), facts,
                                 ground.arity, eg_replay_terms_fact(terms, term),
                                 out_fit);
}

// ---- the given graph -------------------------------------------------------------

static egraph_status add_given_leaf(eg_replay_terms *terms, const eg_value_info *info,
                                    uint32_t *out) {
  eg_attr slot = {.kind = EG_ATTR_STRING, .text = info->name};
  const eg_attrs attrs = {.op = info->kind == EG_VALUE_INPUT ? EG_OP_INPUT : EG_OP_WEIGHT,
                          .count = 1,
                          .slots = &slot};
  return eg_replay_terms_add(terms, &attrs, NULL, 0, out);
}

/// Adds a graph node's terms; several results of a node are PART terms over one term.
static egraph_status add_given_node(eg_replay_terms *terms,
                                    const eg_graph_node_info *node) {
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
      EG_TRY(add_given_leaf(terms, info, &terms->values.data[v]));
    } else if (info->result == 0) {
      eg_graph_node_info node = eg_graph_node_at(terms->given, info->node);
      EG_TRY(add_given_node(terms, &node));
    }
  }
  terms->given_count = eg_ground_count(&terms->ground);
  return EGRAPH_OK;
}

egraph_status eg_replay_terms_start(eg_replay_terms *terms, const eg_graph *given,
                                    size_t max_bytes) {
  terms->given = given;
  terms->max_bytes = max_bytes;
  terms->of.graph = given;
  EG_TRY(eg_attr_pool_create(&terms->alloc, &terms->attrs));
  return add_given(terms);
}

// ---- constants -------------------------------------------------------------------

typedef struct computer {
  eg_replay_terms *terms;
  size_t bytes; // bytes so far
} computer;

/// Records the last `count` buffers as the results of a term.
static egraph_status note_results(computer *c, uint32_t term, uint32_t count) {
  c->terms->data.data[term] = (uint32_t)(c->terms->buffers.len - count) + 1;
  return eg_u32s_push(&c->terms->made, term);
}

static eg_buffer *result_of(const eg_replay_terms *terms, uint32_t term, uint32_t index) {
  assert(terms->data.data[term] != 0);
  return terms->buffers.data[terms->data.data[term] - 1 + index];
}

static uint32_t result_count(const eg_replay_terms *terms, uint32_t term) {
  uint32_t parts = eg_replay_terms_fact(terms, term)->part_count;
  return parts != 0 ? parts : 1;
}

static const eg_type *result_type(const eg_replay_terms *terms, uint32_t term,
                                  uint32_t i) {
  const eg_tensor_fact *fact = eg_replay_terms_fact(terms, term);
  return fact->part_count != 0 ? &fact->parts[i] : &fact->type;
}

static egraph_status push_retained(computer *c, eg_buffer *buffer) {
  EG_TRY(eg_replay_buffers_reserve(&c->terms->buffers, c->terms->buffers.len + 1));
  return eg_replay_buffers_push(&c->terms->buffers, eg_buffer_retain(buffer));
}

static egraph_status make_room(computer *c, uint32_t term) {
  for (uint32_t i = 0; i < result_count(c->terms, term); i++) {
    size_t size = eg_type_bytes(result_type(c->terms, term, i));
    eg_buffer *buffer;
    if (size > c->terms->max_bytes || c->bytes > c->terms->max_bytes - size)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "a constant takes more than %zu bytes to compute",
                     c->terms->max_bytes);
    c->bytes += size;
    EG_TRY(eg_replay_buffers_reserve(&c->terms->buffers, c->terms->buffers.len + 1));
    EG_TRY(eg_buffer_create(&c->terms->alloc, size, &buffer));
    EG_TRY(eg_replay_buffers_push(&c->terms->buffers, buffer));
  }
  return EGRAPH_OK;
}

static egraph_status run_kernel(computer *c, uint32_t term, const eg_ground *ground) {
  eg_replay_terms *terms = c->terms;
  uint32_t results = result_count(terms, term);
  EG_TRY(make_room(c, term));
  size_t first = terms->buffers.len - results, count = (size_t)ground->arity + results;
  EG_LOCAL(eg_arena, arena, terms->alloc);
  eg_tensor *tensors;
  EG_TRY(eg_arena_alloc(&arena, count, sizeof *tensors, &tensors));
  // Shared and mapped bytes of weights are safe here, because kernels only read operands.
  for (uint32_t i = 0; i < ground->arity; i++)
    tensors[i] = (eg_tensor){.type = *result_type(terms, ground->children[i], 0),
                             .data = (void *)(uintptr_t)eg_buffer_data(
                                 result_of(terms, ground->children[i], 0))};
  for (uint32_t i = 0; i < results; i++)
    tensors[ground->arity + i] =
        (eg_tensor){.type = *result_type(terms, term, i),
                    .data = eg_buffer_writable(terms->buffers.data[first + i])};
  const eg_kernel_call call = {.attrs = eg_replay_terms_attrs(terms, term),
                               .inputs = tensors,
                               .input_count = ground->arity,
                               .outputs = tensors + ground->arity,
                               .output_count = results,
                               .alloc = terms->alloc};
  EG_TRY(eg_op_run(&call));
  return note_results(c, term, results);
}

static egraph_status take_weight(computer *c, uint32_t term, const eg_attrs *attrs) {
  const char *name = eg_attr_at(attrs, EG_A_WEIGHT_NAME)->text;
  eg_value value;
  bool found = eg_graph_find_value(c->terms->given, name, &value);
  eg_buffer *data = found ? eg_graph_value(c->terms->given, value)->data : NULL;
  if (data == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the data of weight '%.200s' are not in the given model", name);
  EG_TRY(push_retained(c, data));
  return note_results(c, term, 1);
}

/// Computes a term's value if its operands are computed; else pushes the other operands
/// onto the stack.
static egraph_status compute_one(computer *c, uint32_t term) {
  eg_replay_terms *terms = c->terms;
  const eg_attrs *attrs = eg_replay_terms_attrs(terms, term);
  eg_ground ground = eg_ground_at(&terms->ground, term);
  size_t waiting = terms->stack.len;
  for (uint32_t i = 0; i < ground.arity; i++)
    if (terms->data.data[ground.children[i]] == 0)
      EG_TRY(eg_u32s_push(&terms->stack, ground.children[i]));
  if (terms->stack.len != waiting) return EGRAPH_OK;
  terms->stack.len--;
  if (attrs->op == EG_OP_WEIGHT) return take_weight(c, term, attrs);
  if (attrs->op != EG_OP_PART) return run_kernel(c, term, &ground);
  EG_TRY(push_retained(c, result_of(terms, ground.children[0],
                                    (uint32_t)eg_attr_at(attrs, EG_A_PART_INDEX)->i)));
  return note_results(c, term, 1);
}

static egraph_status compute_term(computer *c, uint32_t root) {
  eg_replay_terms *terms = c->terms;
  terms->stack.len = 0;
  EG_TRY(eg_u32s_push(&terms->stack, root));
  while (terms->stack.len != 0) {
    uint32_t top = terms->stack.data[terms->stack.len - 1];
    if (terms->data.data[top] != 0)
      terms->stack.len--;
    else
      EG_TRY(compute_one(c, top));
  }
  return EGRAPH_OK;
}

/// Releases the computed buffers from number `buffers` on; *out_kept (may be NULL) gets
/// the result of `root`, retained.
static void release_results(eg_replay_terms *terms, size_t buffers, uint32_t root,
                            eg_buffer **out_kept) {
  if (out_kept != NULL) *out_kept = eg_buffer_retain(result_of(terms, root, 0));
  for (size_t i = 0; i < terms->made.len; i++)
    terms->data.data[terms->made.data[i]] = 0;
  while (terms->buffers.len > buffers)
    eg_buffer_release(eg_replay_buffers_pop(&terms->buffers));
  terms->made.len = 0;
}

egraph_status eg_replay_terms_compute(eg_replay_terms *terms, uint32_t term,
                                      eg_buffer **out) {
  computer c = {.terms = terms};
  size_t buffers = terms->buffers.len;
  *out = NULL;
  egraph_status status = compute_term(&c, term);
  release_results(terms, buffers, term, status == EGRAPH_OK ? out : NULL);
  return status;
}

egraph_status eg_replay_terms_add_constant(eg_replay_terms *terms, uint32_t of,
                                           uint32_t *out) {
  eg_tensor_fact fact = *eg_replay_terms_fact(terms, of);
  const eg_type type = fact.type;
  const eg_ground ground = {.op = EG_EXPLAINED_CONSTANT, .arity = 1, .children = &of};
  if (!fact.typed || fact.part_count != 0 || !fact.weight_only)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a constant is of a tensor that weights and fills alone make");
  EG_TRY(eg_ground_add(&terms->ground, &ground, out));
  if (*out < terms->facts.len) return EGRAPH_OK;
  eg_buffer *data;
  EG_TRY(eg_replay_terms_compute(terms, of, &data));
  eg_tensor_facts_of_data(&type, data, &fact);
  egraph_status status = eg_replay_buffers_push(&terms->buffers, data);
  if (status != EGRAPH_OK) eg_buffer_release(data);
  EG_TRY(status);
  EG_TRY(eg_replay_facts_push(&terms->facts, fact));
  return eg_u32s_push(&terms->data, (uint32_t)terms->buffers.len);
}
