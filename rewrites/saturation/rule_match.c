// Patterns are matched modulo equality by the engine; payloads are read here.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_match.h"

static bool has_guard(const eg_rule_term *term) {
  uint16_t count = eg_op_info_of(term->op)->attr_count;
  for (uint16_t i = 0; i < count; i++)
    if (term->slots[i].form == EG_RULE_SLOT_LITERAL) return true;
  return false;
}

// True when a kept match must say which node this term matched.
static bool is_kept(const eg_rule_term *term) {
  if (term->is_var) return false;
  if (term->var != EG_RULE_NONE) return true;
  uint16_t count = eg_op_info_of(term->op)->attr_count;
  for (uint16_t i = 0; i < count; i++)
    if (term->slots[i].form == EG_RULE_SLOT_VAR ||
        term->slots[i].form == EG_RULE_SLOT_EXPR)
      return true;
  return false;
}

// ---- patterns -------------------------------------------------------------------

// Where the name of a sub-pattern occurs again, the pattern shares that sub-pattern.
static uint32_t named_term(const eg_rule *rule, uint32_t index) {
  const eg_rule_term *term = &rule->terms[index];
  if (!term->is_var || rule->vars[term->var].origin != EG_RULE_VAR_AS) return index;
  for (uint32_t i = 0; i < index; i++)
    if (!rule->terms[i].is_var && rule->terms[i].var == term->var) return i;
  return index;
}

static void lower_term(const eg_rule *rule, uint32_t index, eg_pattern_term *out,
                       uint32_t *children, uint32_t *inout_child_count) {
  const eg_rule_term *term = &rule->terms[index];
  if (term->is_var) {
    // A name has no variable; its own term is shared instead, and this
    // one is not reached.
    uint32_t var = rule->vars[term->var].pattern_var;
    *out =
        (eg_pattern_term){.kind = EG_PATTERN_VAR, .var = var == EG_RULE_NONE ? 0 : var};
    return;
  }
  *out = (eg_pattern_term){.kind = EG_PATTERN_NODE,
                           .op = term->op,
                           .guard = has_guard(term) ? index : EG_PATTERN_ANY_PAYLOAD,
                           .arity = term->child_count,
                           .children = *inout_child_count};
  for (uint32_t i = 0; i < term->child_count; i++)
    children[(*inout_child_count)++] = named_term(rule, term->children[i]);
}

egraph_status eg_rule_pattern(const eg_rule *rule, eg_arena *arena, eg_pattern *out) {
  uint32_t child_count = 0, count = rule->pattern_term_count;
  for (uint32_t i = 0; i < count; i++)
    child_count += rule->terms[i].child_count;
  eg_pattern_term *terms;
  uint32_t *children, *roots, filled = 0;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *terms, &terms));
  EG_TRY(eg_arena_alloc(arena, child_count, sizeof *children, &children));
  EG_TRY(eg_arena_alloc(arena, rule->root_count, sizeof *roots, &roots));
  for (uint32_t i = 0; i < count; i++)
    lower_term(rule, i, &terms[i], children, &filled);
  for (uint32_t i = 0; i < rule->root_count; i++)
    roots[i] = rule->lhs[i].term;
  *out = (eg_pattern){.terms = terms,
                      .term_count = count,
                      .children = children,
                      .child_count = child_count,
                      .roots = roots,
                      .root_count = rule->root_count,
                      .var_count = rule->pattern_var_count};
  return EGRAPH_OK;
}

static bool literal_fits(const eg_attr *wanted, const eg_attr *found) {
  if (wanted->kind == EG_ATTR_FLOAT)
    return eg_rule_close(wanted->f, found->f, EG_RULE_NUMBERS);
  return eg_attr_same(wanted, found);
}

bool eg_rule_accepts(const eg_rule *rule, uint32_t guard, const eg_attrs *attrs) {
  const eg_rule_slot *slots = rule->terms[guard].slots;
  for (uint16_t i = 0; i < attrs->count; i++)
    if (slots[i].form == EG_RULE_SLOT_LITERAL &&
        !literal_fits(&slots[i].literal, &attrs->slots[i]))
      return false;
  return true;
}

// ---- kept matches ---------------------------------------------------------------

uint32_t eg_rule_match_words(const eg_rule *rule) {
  uint32_t words = rule->pattern_var_count + rule->root_count;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    words += is_kept(&rule->terms[i]);
  return words;
}

void eg_rule_pack(const eg_rule *rule, const eg_match *match, uint32_t *out_words) {
  for (uint32_t i = 0; i < rule->pattern_var_count; i++)
    *out_words++ = match->vars[i].id;
  for (uint32_t i = 0; i < rule->root_count; i++)
    *out_words++ = match->roots[i].id;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (is_kept(&rule->terms[i])) *out_words++ = match->nodes[i].id;
}

eg_class eg_rule_packed_root(const eg_rule *rule, const uint32_t *words, uint32_t root) {
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
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (!is_kept(term)) continue;
    uint32_t node = *words++;
    if (term->var != EG_RULE_NONE)
      env->vars[term->var].tensor = eg_engine_class_of(engine, (eg_node){.id = node});
    if (!bind_slots(env, term, attrs_of_node(env, node))) return false;
  }
  return true;
}

static bool bind_lets(eg_rule_env *env) {
  for (uint32_t i = 0; i < env->rule->let_count; i++) {
    const eg_rule_let *let = &env->rule->lets[i];
    if (!let->is_term && !eg_rule_eval(env, let->expr, &env->vars[let->var]))
      return false;
  }
  return true;
}

bool eg_rule_bind(eg_rule_env *env, const uint32_t *words) {
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
  return bind_lets(env);
}
