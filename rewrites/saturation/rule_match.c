// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_match.h"

bool eg_rule_match_keeps(const eg_rule_term *term, bool keeps_all) {
  if (term->is_var) return false;
  if (keeps_all) return true;
  if (term->var != EG_RULE_NONE) return true;
  uint16_t count = eg_op_info_of(term->op)->attr_count;
  for (uint16_t i = 0; i < count; i++)
    if (term->slots[i].form == EG_RULE_SLOT_VAR ||
        term->slots[i].form == EG_RULE_SLOT_EXPR)
      return true;
  return false;
}

// ---- kept matches ---------------------------------------------------------------

uint32_t eg_rule_match_words(const eg_rule *rule, bool keeps_all) {
  uint32_t words = rule->pattern_var_count + rule->root_count;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    words += eg_rule_match_keeps(&rule->terms[i], keeps_all);
  return words;
}

void eg_rule_match_pack(const eg_rule *rule, const eg_match *match, bool keeps_all,
                        uint32_t *out_words) {
  for (uint32_t i = 0; i < rule->pattern_var_count; i++)
    *out_words++ = match->vars[i].id;
  for (uint32_t i = 0; i < rule->root_count; i++)
    *out_words++ = match->roots[i].id;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (eg_rule_match_keeps(&rule->terms[i], keeps_all))
      *out_words++ = match->nodes[i].id;
}

eg_class eg_rule_match_root(const eg_rule *rule, const uint32_t *words, uint32_t root) {
  return (eg_class){.id = words[rule->pattern_var_count + root]};
}

// ---- binding --------------------------------------------------------------------

// A value variable is bound by the first term that has it; kind TENSOR means that it is
static bool bind_slots(eg_rule_env *env, const eg_rule_term *term,
                       const eg_attrs *attrs) {
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    if (slot->form != EG_RULE_SLOT_VAR) continue;
    eg_rule_value value = eg_rule_value_of_attr(term->op, i, &attrs->slots[i]);
    eg_rule_value *place = &env->vars[slot->index];
    if (place->kind == EG_RULE_TENSOR)
      *place = value;
    else if (!eg_rule_values_identical(place, &value))
      return false;
  }
  return true;
}

static const eg_attrs *attrs_of_node(const eg_rule_env *env, uint32_t node) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  eg_term term = eg_engine_term(engine, (eg_node){.id = node});
  return eg_tensor_egraph_attrs_at(env->egraph, term.payload);
}

static bool bind_nodes(eg_rule_env *env, const uint32_t *words) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  const eg_rule *rule = env->rule;
  bool keeps_all = eg_tensor_egraph_is_explained(env->egraph);
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (!eg_rule_match_keeps(term, keeps_all)) continue;
    uint32_t node = *words++;
    if (term->var != EG_RULE_NONE)
      env->vars[term->var].tensor = eg_engine_class_of(engine, (eg_node){.id = node});
    if (!bind_slots(env, term, attrs_of_node(env, node))) return false;
  }
  return true;
}

bool eg_rule_match_bind(eg_rule_env *env, const uint32_t *words) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  const eg_rule *rule = env->rule;
  env->scratch->int_count = 0;
  env->scratch->value_count = 0;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    env->vars[i] = (eg_rule_value){.kind = EG_RULE_TENSOR};
    env->vars[i].tensor = EG_CLASS_NONE;
    uint32_t place = rule->vars[i].pattern_var;
    if (place != EG_RULE_NONE)
      env->vars[i].tensor = eg_engine_find(engine, (eg_class){.id = words[place]});
  }
  if (!bind_nodes(env, words + rule->pattern_var_count + rule->root_count)) return false;
  for (uint32_t i = 0; i < env->rule->let_count; i++) {
    const eg_rule_let *let = &env->rule->lets[i];
    if (!let->is_term && !eg_rule_eval(env, let->expr, &env->vars[let->var]))
      return false;
  }
  return true;
}
