// The state while an instance is drawn: tensors of terms, leaves, and the e-graph to
// which complete left sides are added.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_draw_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "rewrites/lab/instances/instance_numbers.h"
#include "rewrites/saturation/tensor_facts.h"

// MAX_AGE: number of draws after which a new e-graph replaces the old one.
enum { MAX_AGE = 256, NAME_BYTES = 24 };

// ---- tensors of a walk ----------------------------------------------------------------

static const eg_tensor_fact *fact_of(const void *self, eg_class tensor) {
  const eg_verify_draws *draws = self;
  return &draws->facts[tensor.id];
}

/// Orders tensors; the order only steers a search, so draws alternate it.
static bool precedes(const void *self, eg_class a, eg_class b) {
  const eg_verify_draws *draws = self;
  return draws->age % 2 == 0 ? a.id < b.id : a.id > b.id;
}

static bool is_made_by(const void *self, eg_class tensor, eg_op op) {
  (void)self, (void)tensor, (void)op;
  return false;
}

// ---- set-up ---------------------------------------------------------------------

static egraph_status alloc_draws(eg_verify_draws *draws) {
  const eg_rule *rule = draws->rule;
  eg_arena *arena = &draws->arena;
  EG_TRY(eg_verify_read_hints(rule, arena, &draws->hints));
  EG_NEW(arena, rule->var_count, draws->leaves);
  EG_NEW(arena, rule->var_count, draws->env.vars);
  EG_NEW(arena, 1, draws->env.scratch);
  EG_NEW(arena, (size_t)rule->var_count + rule->pattern_term_count, draws->facts);
  EG_NEW(arena, rule->pattern_term_count, draws->attrs);
  size_t operands = (size_t)rule->pattern_term_count * EG_VERIFY_MAX_OPERANDS;
  if (draws->hints.has_layers) {
    EG_NEW(arena, operands, draws->layers);
    EG_NEW(arena, rule->pattern_term_count, draws->equations);
    EG_NEW(arena, rule->pattern_term_count, draws->drawn_equations);
  }
  EG_NEW(arena, rule->pattern_term_count, draws->classes);
  EG_NEW(arena, rule->pattern_term_count, draws->ill_typed);
  EG_NEW(arena, rule->condition_count, draws->refusals);
  return eg_rule_builder_reserve(&draws->builder, rule);
}

egraph_status eg_verify_draws_create(const egraph_allocator *alloc, const eg_rule *rule,
                                     uint64_t seed, eg_verify_draws **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_verify_draws *draws;
  EG_TRY(eg_alloc(heap, 1, sizeof *draws, &draws));
  draws->alloc = heap;
  draws->rule = rule;
  draws->env.rule = rule;
  // The seed of the random numbers includes the rule's name, so that adding a rule does
  // not change the tests of others.
  draws->rng.state = eg_hash_bytes(seed, rule->name, strlen(rule->name));
  eg_arena_init(&draws->arena, heap);
  eg_rule_builder_init(&draws->builder, heap);
  draws->tensors = (eg_rule_tensors){
      .self = draws, .fact = fact_of, .is_before = precedes, .is_made_by = is_made_by};
  egraph_status status = alloc_draws(draws);
  if (status != EGRAPH_OK) {
    eg_verify_draws_destroy(draws);
    return status;
  }
  *out = draws;
  return EGRAPH_OK;
}

static void drop_egraph(eg_verify_draws *draws) {
  eg_tensor_egraph_destroy(draws->egraph);
  eg_graph_destroy(draws->graph);
  draws->egraph = NULL;
  draws->graph = NULL;
}

void eg_verify_draws_destroy(eg_verify_draws *draws) {
  if (draws == NULL) return;
  drop_egraph(draws);
  eg_rule_builder_deinit(&draws->builder);
  eg_arena_deinit(&draws->arena);
  eg_free(draws->alloc, draws, 1, sizeof *draws);
}

egraph_status eg_verify_renew_egraph(eg_verify_draws *draws) {
  if (draws->egraph != NULL && ++draws->age < MAX_AGE) return EGRAPH_OK;
  drop_egraph(draws);
  draws->age = 0;
  EG_TRY(eg_graph_create(&draws->alloc, &draws->graph));
  EG_TRY(eg_tensor_egraph_create(&draws->alloc, draws->graph, &draws->egraph));
  draws->env.egraph = draws->egraph;
  return EGRAPH_OK;
}

// ---- leaves ---------------------------------------------------------------------

/// Adds a leaf to the graph as an input or weight.
static egraph_status declare_leaf(eg_verify_draws *draws, const eg_verify_leaf *leaf,
                                  const char *name) {
  eg_value value;
  if (leaf->weight && leaf->splat)
    return eg_graph_add_splat(draws->graph, name, &leaf->type, leaf->splat_value, &value);
  return leaf->weight ? eg_graph_add_weight(draws->graph, name, &leaf->type, NULL, &value)
                      : eg_graph_add_input(draws->graph, name, &leaf->type, &value);
}

static egraph_status add_leaf_node(eg_verify_draws *draws, uint32_t var) {
  const eg_verify_leaf *leaf = &draws->leaves[var];
  char name[NAME_BYTES];
  (void)snprintf(name, sizeof name, "x%u", eg_graph_value_count(draws->graph));
  EG_TRY(declare_leaf(draws, leaf, name));
  eg_attr slot = {.kind = EG_ATTR_STRING, .text = name};
  eg_attrs attrs = {
      .op = leaf->weight ? EG_OP_WEIGHT : EG_OP_INPUT, .count = 1, .slots = &slot};
  return eg_tensor_egraph_add(draws->egraph, &attrs, NULL, 0, EG_REASON_SEED,
                              &draws->env.vars[var].tensor);
}

void eg_verify_bind_leaf(eg_verify_draws *draws, uint32_t var) {
  eg_verify_leaf *leaf = &draws->leaves[var];
  if (leaf->splat && eg_dtype_is_float(leaf->type.dtype))
    leaf->splat_value = eg_special_zero(&draws->rng, leaf->splat_value);
  draws->env.vars[var] = (eg_rule_value){.kind = EG_RULE_TENSOR, .tensor = {var}};
  if (leaf->splat)
    eg_tensor_facts_of_splat(&leaf->type, leaf->splat_value, &draws->facts[var]);
  else
    eg_tensor_facts_of_leaf(&leaf->type, leaf->weight, &draws->facts[var]);
}

void eg_verify_bind_slots(eg_verify_draws *draws, const eg_rule_term *term,
                          const eg_attr *slots) {
  for (uint16_t i = 0; i < eg_op_info_of(term->op)->attr_count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    if (slot->form != EG_RULE_SLOT_VAR || eg_verify_is_bound(draws, slot->index))
      continue;
    draws->env.vars[slot->index] = eg_rule_value_of_attr(term->op, i, &slots[i]);
    draws->bound |= UINT64_C(1) << slot->index;
  }
}

bool eg_verify_bind_lets(eg_verify_draws *draws) {
  for (uint32_t i = 0; i < draws->rule->let_count; i++) {
    const eg_rule_let *let = &draws->rule->lets[i];
    if (let->is_term || !eg_verify_can_eval(draws, let->expr)) continue;
    if (!eg_rule_eval(&draws->env, let->expr, &draws->env.vars[let->var])) return false;
  }
  return true;
}

egraph_status eg_verify_add_left(eg_verify_draws *draws) {
  const eg_rule *rule = draws->rule;
  eg_class operands[EG_VERIFY_MAX_OPERANDS];
  draws->env.tensors = NULL;
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (eg_verify_is_leaf(rule, i)) EG_TRY(add_leaf_node(draws, i));
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var) continue;
    for (uint32_t k = 0; k < term->child_count; k++)
      operands[k] = eg_verify_operand_of(draws, term, k);
    EG_TRY(eg_tensor_egraph_add(draws->egraph, draws->attrs[i], operands,
                                term->child_count, EG_REASON_SEED, &draws->classes[i]));
    if (term->var != EG_RULE_NONE) draws->env.vars[term->var].tensor = draws->classes[i];
  }
  return EGRAPH_OK;
}

// ---- instances ------------------------------------------------------------------------

const eg_attrs *eg_verify_attrs_of(const eg_verify_instance *instance, uint32_t term) {
  assert(!instance->rule->terms[term].is_var);
  return term < instance->rule->pattern_term_count
             ? instance->attrs[term]
             : eg_tensor_egraph_attrs_at(instance->egraph,
                                         instance->builder->terms[term].payload);
}

void eg_verify_operand_types(const eg_verify_instance *instance, uint32_t term,
                             eg_type *out) {
  const eg_rule_term *terms = instance->rule->terms;
  assert(terms[term].child_count <= EG_VERIFY_MAX_OPERANDS);
  for (uint32_t i = 0; i < terms[term].child_count; i++) {
    uint32_t child = terms[term].children[i];
    eg_class class = terms[child].is_var ? instance->env->vars[terms[child].var].tensor
                                         : instance->classes[child];
    out[i] = eg_tensor_egraph_fact(instance->egraph, class)->type;
  }
}
