// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/derive/derive.h"

#include "rewrites/saturation/tensor_facts.h"

enum { MOST_SIZES = 32 };

/// A side of an instance while its graph is built: the graph values of its terms.
typedef struct side {
  const eg_verify_instance *instance;
  eg_graph *graph;
  eg_arena *arena;
  eg_value **terms; // [term_count] results of each term
  eg_value **vars;  // [var_count] values of leaves, and of named parts of the left side
} side;

static egraph_status add_leaves(side *s) {
  const eg_rule *rule = s->instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    const eg_verify_leaf *leaf = &s->instance->leaves[i];
    const char *name = rule->vars[i].name + 1;
    bool is_leaf = false; // nor is it a named part of the left side
    for (uint32_t t = 0; t < rule->pattern_term_count; t++)
      is_leaf = is_leaf || (rule->terms[t].is_var && rule->terms[t].var == i);
    if (!is_leaf) continue;
    EG_NEW(s->arena, 1, s->vars[i]);
    if (leaf->splat)
      EG_TRY(
          eg_graph_add_splat(s->graph, name, &leaf->type, leaf->splat_value, s->vars[i]));
    else if (leaf->weight)
      EG_TRY(eg_graph_add_weight(s->graph, name, &leaf->type, NULL, s->vars[i]));
    else
      EG_TRY(eg_graph_add_input(s->graph, name, &leaf->type, s->vars[i]));
  }
  return EGRAPH_OK;
}

static egraph_status add_term_node(side *s, uint32_t index, const eg_attrs *attrs) {
  const eg_rule_term *term = &s->instance->rule->terms[index];
  eg_value *operands;
  if (term->op == EG_OP_PART) {
    s->terms[index] = s->terms[term->children[0]] + attrs->slots[0].i;
    return EGRAPH_OK;
  }
  uint32_t count = eg_op_results(attrs);
  EG_NEW(s->arena, (size_t)term->child_count + 1, operands);
  EG_NEW(s->arena, count, s->terms[index]);
  for (uint32_t i = 0; i < term->child_count; i++)
    operands[i] = s->terms[term->children[i]][0];
  return eg_graph_add_node(s->graph, NULL, attrs, operands, term->child_count, NULL,
                           s->terms[index]);
}

static egraph_status add_left(side *s) {
  const eg_rule *rule = s->instance->rule;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var) {
      s->terms[i] = s->vars[term->var];
      continue;
    }
    EG_TRY(add_term_node(s, i, s->instance->attrs[i]));
    if (term->var != EG_RULE_NONE) s->vars[term->var] = s->terms[i];
  }
  return EGRAPH_OK;
}

static egraph_status add_right(side *s) {
  const eg_rule *rule = s->instance->rule;
  const eg_rule_builder *builder = s->instance->builder;
  for (uint32_t i = rule->pattern_term_count; i < rule->term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    bool is_let = term->is_var && rule->vars[term->var].origin == EG_RULE_VAR_LET_TERM;
    if (is_let)
      s->terms[i] = s->terms[builder->alias[term->var]];
    else if (term->is_var)
      s->terms[i] = s->vars[term->var];
    else
      EG_TRY(add_term_node(s, i, eg_verify_attrs_of(s->instance, i)));
  }
  return EGRAPH_OK;
}

static egraph_status build_side(const eg_verify_instance *instance, bool is_right,
                                eg_graph *graph) {
  const eg_rule *rule = instance->rule;
  const eg_rule_root *roots = is_right ? rule->rhs : rule->lhs;
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(graph));
  side s = {.instance = instance, .graph = graph, .arena = &arena};
  EG_NEW(&arena, rule->term_count, s.terms);
  EG_NEW(&arena, rule->var_count, s.vars);
  EG_TRY(add_leaves(&s));
  EG_TRY(add_left(&s));
  if (is_right) EG_TRY(add_right(&s));
  for (uint32_t i = 0; i < rule->root_count; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "out%u", i);
    EG_TRY(eg_graph_add_output(graph, name, s.terms[roots[i].term][0]));
  }
  return EGRAPH_OK;
}

EG_OWNER_DEFINE(eg_side_graphs, (eg_graph_own, left, right))

egraph_status eg_side_graphs_make(egraph_allocator alloc,
                                  const eg_verify_instance *instance,
                                  eg_side_graphs *out) {
  EG_LOCAL(eg_side_graphs, made, alloc);
  EG_TRY(eg_graph_create(&alloc, &made.left));
  EG_TRY(eg_graph_create(&alloc, &made.right));
  EG_TRY(build_side(instance, false, made.left));
  EG_TRY(build_side(instance, true, made.right));
  *out = made;
  made = (eg_side_graphs){.left = NULL};
  return EGRAPH_OK;
}

uint32_t eg_side_graphs_merit(const eg_side_graphs *sides) {
  int64_t sizes[MOST_SIZES];
  uint32_t count = 0;
  bool is_float = true;
  for (uint32_t v = 0; v < eg_graph_value_count(sides->left); v++) {
    const eg_value_info *info = eg_graph_value(sides->left, (eg_value){v});
    if (info->kind == EG_VALUE_COMPUTED) continue;
    is_float = is_float && eg_dtype_is_float(info->type.dtype);
    for (uint32_t d = 0; d < info->type.rank; d++) {
      uint32_t at = 0;
      if (info->type.dims[d] == 0) return 0;
      while (at < count && sizes[at] != info->type.dims[d])
        at++;
      if (at == count && count < MOST_SIZES && info->type.dims[d] > 1)
        sizes[count++] = info->type.dims[d];
    }
  }
  return 1 + count + is_float;
}
