// Plans and adds right sides. A plan does not change the e-graph: a term whose operands
// all exist is looked up; the type of any other term is inferred from the facts of its
// operands, which are stored or inferred, too.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_build.h"

#include <assert.h>

void eg_rule_builder_init(eg_rule_builder *builder, egraph_allocator alloc) {
  *builder = (eg_rule_builder){.alloc = alloc};
}

void eg_rule_builder_deinit(eg_rule_builder *builder) {
  egraph_allocator alloc = builder->alloc;
  eg_free(alloc, builder->terms, builder->term_cap, sizeof *builder->terms);
  eg_free(alloc, builder->alias, builder->var_cap, sizeof *builder->alias);
  eg_free(alloc, builder->classes, builder->class_cap, sizeof *builder->classes);
  eg_free(alloc, builder->facts, builder->fact_cap, sizeof *builder->facts);
  eg_rule_builder_init(builder, alloc);
}

static egraph_status grow_array(egraph_allocator alloc, uint32_t count, size_t size,
                                uint32_t *inout_cap, void *inout_array) {
  if (count <= *inout_cap) return EGRAPH_OK;
  EG_TRY(eg_resize(alloc, *inout_cap, count, size, inout_array));
  *inout_cap = count;
  return EGRAPH_OK;
}

egraph_status eg_rule_builder_reserve(eg_rule_builder *builder, const eg_rule *rule) {
  eg_rule_builder *b = builder;
  uint32_t children = 1;
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (rule->terms[i].child_count > children) children = rule->terms[i].child_count;
  EG_TRY(
      grow_array(b->alloc, rule->term_count, sizeof *b->terms, &b->term_cap, &b->terms));
  EG_TRY(grow_array(b->alloc, rule->var_count, sizeof *b->alias, &b->var_cap, &b->alias));
  EG_TRY(grow_array(b->alloc, children, sizeof *b->classes, &b->class_cap, &b->classes));
  return grow_array(b->alloc, children, sizeof *b->facts, &b->fact_cap, &b->facts);
}

// ---- planning -------------------------------------------------------------------

static egraph_status plan_attrs(const eg_rule_builder *builder, eg_rule_env *env,
                                eg_tensor_egraph *egraph, const eg_rule_term *term,
                                bool *out_ok, eg_attrs_id *out) {
  eg_attr slots[EG_RULE_MAX_ATTRS];
  uint16_t count = eg_op_info_of(term->op)->attr_count;
  assert(count <= EG_RULE_MAX_ATTRS && "enlarge EG_RULE_MAX_ATTRS with the table");
  for (uint16_t i = 0; i < count; i++) {
    *out_ok = eg_rule_eval_slot(env, term, i, &slots[i]);
    if (!*out_ok) return EGRAPH_OK;
  }
  if (term->child_count != 0) {
    const eg_tensor_fact *first = builder->terms[term->children[0]].fact;
    if (first->typed) eg_op_axis_from_front(term->op, first->type.rank, slots);
  }
  eg_attrs attrs = {.op = (uint16_t)term->op, .count = count, .slots = slots};
  return eg_attr_pool_add(eg_tensor_egraph_attrs(egraph), &attrs, out);
}

static void plan_variable(eg_rule_builder *builder, eg_rule_env *env,
                          const eg_rule_term *term, eg_built_term *out) {
  const eg_rule_var *var = &env->rule->vars[term->var];
  if (var->origin == EG_RULE_VAR_LET_TERM) {
    const eg_built_term *same = &builder->terms[builder->alias[term->var]];
    *out = *same;
    if (same->fact == &same->inferred) out->fact = &out->inferred;
    return;
  }
  out->class = env->vars[term->var].tensor;
  out->fact = eg_tensor_egraph_fact(env->egraph, out->class);
}

// Looks up a node of the right side; if the e-graph has none, infers its facts.
static egraph_status plan_node(eg_rule_builder *builder, eg_tensor_egraph *egraph,
                               const eg_rule_term *term, eg_built_term *out,
                               bool *out_ok) {
  bool known = true;
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_built_term *child = &builder->terms[term->children[i]];
    builder->classes[i] = child->class;
    builder->facts[i] = child->fact;
    known = known && child->class.id != EG_CLASS_NONE.id;
  }
  eg_term node = {.op = out->op,
                  .payload = out->payload,
                  .arity = term->child_count,
                  .children = builder->classes};
  eg_engine *engine = eg_tensor_egraph_engine(egraph);
  if (known && eg_engine_find_term(engine, &node, &out->class)) {
    out->fact = eg_tensor_egraph_fact(egraph, out->class);
    return EGRAPH_OK;
  }
  out->class = EG_CLASS_NONE;
  out->fact = &out->inferred;
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(egraph, out->payload);
  egraph_status status = eg_tensor_egraph_infer(egraph, attrs, builder->facts,
                                                term->child_count, &out->inferred);
  *out_ok = false;
  if (status == EGRAPH_E_TYPE) return EGRAPH_OK;
  EG_TRY(status);
  return eg_tensor_constants_fit(builder->alloc, attrs, builder->facts, term->child_count,
                                 out->fact, out_ok);
}

egraph_status eg_rule_plan(eg_rule_builder *builder, eg_rule_env *env,
                           eg_tensor_egraph *egraph, uint32_t first, uint32_t end,
                           bool *out_ok, uint32_t *out_missing) {
  const eg_rule *rule = env->rule;
  assert(first <= end && end <= rule->term_count &&
         rule->term_count <= builder->term_cap);
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].is_term) builder->alias[rule->lets[i].var] = rule->lets[i].term;
  *out_ok = true;
  *out_missing = 0;
  for (uint32_t i = first; i < end; i++) {
    const eg_rule_term *term = &rule->terms[i];
    eg_built_term *built = &builder->terms[i];
    if (term->is_var) {
      plan_variable(builder, env, term, built);
      continue;
    }
    eg_attrs_id id;
    EG_TRY(plan_attrs(builder, env, egraph, term, out_ok, &id));
    if (!*out_ok) return EGRAPH_OK;
    built->op = term->op;
    built->payload = id.id;
    EG_TRY(plan_node(builder, egraph, term, built, out_ok));
    if (!*out_ok) return EGRAPH_OK;
    *out_missing += built->class.id == EG_CLASS_NONE.id;
  }
  return EGRAPH_OK;
}

// ---- adding ---------------------------------------------------------------------

egraph_status eg_rule_commit(eg_rule_builder *builder, const eg_rule *rule,
                             eg_tensor_egraph *egraph, uint32_t first, uint32_t end,
                             uint32_t reason) {
  assert(first <= end && end <= rule->term_count &&
         rule->term_count <= builder->term_cap);
  for (uint32_t i = first; i < end; i++) {
    const eg_rule_term *term = &rule->terms[i];
    eg_built_term *built = &builder->terms[i];
    if (built->class.id != EG_CLASS_NONE.id) continue;
    if (term->is_var) { // a let variable whose term was new
      built->class = builder->terms[builder->alias[term->var]].class;
      continue;
    }
    for (uint32_t c = 0; c < term->child_count; c++) {
      builder->classes[c] = builder->terms[term->children[c]].class;
      assert(builder->classes[c].id != EG_CLASS_NONE.id);
    }
    eg_term node = {.op = built->op,
                    .payload = built->payload,
                    .arity = term->child_count,
                    .children = builder->classes};
    EG_TRY(eg_engine_add(eg_tensor_egraph_engine(egraph), &node, reason, &built->class));
  }
  return EGRAPH_OK;
}
