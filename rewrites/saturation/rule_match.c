// Plans and makes checks. A variable is known from the step of the first term that binds
// it; an expression is known from the last step of its variables.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_match.h"

#include <assert.h>

EG_VEC_DEFINE(check_list, eg_rule_check);

typedef struct planner {
  const eg_rule *rule;
  const uint32_t *order; // term of each step
  uint32_t step_count;
  uint32_t *bound_at;
  uint32_t *expr_step;
} planner;

// ---- planning --------------------------------------------------------------------

static void bind_at(planner *p, uint32_t var, uint32_t step) {
  assert(var < p->rule->var_count && step < p->step_count);
  if (step < p->bound_at[var]) p->bound_at[var] = step;
}

static void note_variables(planner *p) {
  for (uint32_t step = 0; step < p->step_count; step++) {
    const eg_rule_term *term = &p->rule->terms[p->order[step]];
    if (term->var != EG_RULE_NONE) bind_at(p, term->var, step);
    uint16_t attrs = eg_op_info_of(term->op)->attr_count;
    for (uint16_t i = 0; i < attrs; i++)
      if (term->slots[i].form == EG_RULE_SLOT_VAR) bind_at(p, term->slots[i].index, step);
    for (uint32_t i = 0; i < term->child_count; i++) {
      const eg_rule_term *child = &p->rule->terms[term->children[i]];
      // Only its own term binds a name; later occurrences of the name do not.
      if (child->is_var && p->rule->vars[child->var].origin == EG_RULE_VAR_MATCHED)
        bind_at(p, child->var, step);
    }
  }
}

static uint32_t step_of_var(const planner *p, uint32_t var) {
  const eg_rule *rule = p->rule;
  if (rule->vars[var].origin != EG_RULE_VAR_LET_VALUE) return p->bound_at[var];
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].var == var) return p->expr_step[rule->lets[i].expr];
  return 0;
}

// Finds the step from which each expression is known. Arguments come before their calls,
// and a let before its uses.
static void note_expressions(planner *p) {
  for (uint32_t i = 0; i < p->rule->expr_count; i++) {
    const eg_rule_expr *expr = &p->rule->exprs[i];
    uint32_t step = expr->form == EG_RULE_EXPR_VAR ? step_of_var(p, expr->var) : 0;
    for (uint32_t k = 0; expr->form == EG_RULE_EXPR_CALL && k < expr->arg_count; k++)
      if (p->expr_step[expr->args[k]] > step) step = p->expr_step[expr->args[k]];
    p->expr_step[i] = step;
  }
}

static egraph_status add_slots(const planner *p, uint32_t step, check_list *out) {
  for (uint32_t at = 0; at <= step; at++) {
    uint32_t index = p->order[at];
    const eg_rule_term *term = &p->rule->terms[index];
    uint16_t attrs = eg_op_info_of(term->op)->attr_count;
    for (uint16_t i = 0; i < attrs; i++) {
      if (term->slots[i].form != EG_RULE_SLOT_EXPR) continue;
      uint32_t known = p->expr_step[term->slots[i].index];
      if ((known > at ? known : at) != step) continue;
      eg_rule_check check = {.kind = EG_RULE_CHECK_SLOT, .term = index, .index = i};
      EG_TRY(check_list_push(out, check));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_checks(const planner *p, uint32_t step, check_list *out) {
  const eg_rule *rule = p->rule;
  for (uint32_t i = 0; i < rule->let_count; i++) {
    if (rule->lets[i].is_term || p->expr_step[rule->lets[i].expr] != step) continue;
    EG_TRY(check_list_push(out, (eg_rule_check){.kind = EG_RULE_CHECK_LET, .index = i}));
  }
  EG_TRY(add_slots(p, step, out));
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    if (p->expr_step[rule->conditions[i]] != step) continue;
    eg_rule_check check = {.kind = EG_RULE_CHECK_CONDITION, .index = rule->conditions[i]};
    EG_TRY(check_list_push(out, check));
  }
  return EGRAPH_OK;
}

/// True when another term has this term as an operand, directly or by its name.
static bool is_operand(const eg_rule *rule, uint32_t term) {
  uint32_t name = rule->terms[term].var;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    for (uint32_t k = 0; k < rule->terms[i].child_count; k++) {
      uint32_t child = rule->terms[i].children[k];
      bool is_name = rule->terms[child].is_var && rule->terms[child].var == name;
      if (child == term || (is_name && name != EG_RULE_NONE)) return true;
    }
  return false;
}

static egraph_status plan_steps(planner *p, eg_arena *arena, check_list *list,
                                eg_rule_steps *out) {
  EG_TRY(eg_arena_alloc(arena, p->step_count, sizeof *out->steps, &out->steps));
  for (uint32_t step = 0; step < p->step_count; step++) {
    uint32_t first = (uint32_t)list->len;
    EG_TRY(add_checks(p, step, list));
    out->steps[step] = (eg_rule_step){.term = p->order[step],
                                      .is_below = is_operand(p->rule, p->order[step]),
                                      .first_check = first,
                                      .check_count = (uint32_t)list->len - first};
  }
  EG_TRY(eg_arena_alloc(arena, list->len, sizeof *out->checks, &out->checks));
  for (size_t i = 0; i < list->len; i++)
    out->checks[i] = list->data[i];
  return EGRAPH_OK;
}

egraph_status eg_rule_steps_plan(const eg_rule *rule, const eg_matcher *matcher,
                                 eg_arena *arena, eg_rule_steps *out) {
  planner p = {.rule = rule};
  p.order = eg_matcher_order(matcher, &p.step_count);
  EG_TRY(eg_arena_alloc(arena, rule->var_count, sizeof *p.bound_at, &p.bound_at));
  EG_TRY(eg_arena_alloc(arena, rule->expr_count, sizeof *p.expr_step, &p.expr_step));
  for (uint32_t i = 0; i < rule->var_count; i++)
    p.bound_at[i] = EG_RULE_NONE;
  note_variables(&p);
  note_expressions(&p);
  *out = (eg_rule_steps){.step_count = p.step_count, .bound_at = p.bound_at};
  EG_LOCAL(check_list, list, arena->alloc);
  return plan_steps(&p, arena, &list, out);
}

// ---- checking --------------------------------------------------------------------

static bool is_typed(const eg_rule_env *env, eg_class class) {
  return eg_tensor_egraph_fact(env->egraph, class)->typed;
}

static const eg_attrs *attrs_of_node(const eg_rule_env *env, eg_node node) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  return eg_tensor_egraph_attrs_at(env->egraph, eg_engine_term(engine, node).payload);
}

// Binds the class variables among a term's operands, and the name of the term's class.
static bool bind_classes(const eg_rule_env *env, const eg_rule_term *term, eg_node node,
                         const eg_match *so_far) {
  const eg_rule *rule = env->rule;
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_rule_term *child = &rule->terms[term->children[i]];
    if (!child->is_var || rule->vars[child->var].origin != EG_RULE_VAR_MATCHED) continue;
    eg_class class = so_far->vars[rule->vars[child->var].pattern_var];
    if (!is_typed(env, class)) return false;
    env->vars[child->var] = (eg_rule_value){.kind = EG_RULE_TENSOR, .tensor = class};
  }
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  eg_class own = eg_engine_class_of(engine, node);
  if (term->var != EG_RULE_NONE)
    env->vars[term->var] = (eg_rule_value){.kind = EG_RULE_TENSOR, .tensor = own};
  return is_typed(env, own);
}

// Sets a value variable from the first attribute slot of its step that has it; compares
// it with all other slots.
static bool bind_values(const eg_rule_steps *checks, eg_rule_env *env, uint32_t step,
                        const eg_rule_term *term, eg_node node) {
  const eg_attrs *attrs = attrs_of_node(env, node);
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    if (slot->form != EG_RULE_SLOT_VAR) continue;
    eg_rule_value value = eg_rule_value_of_attr(term->op, i, &attrs->slots[i]);
    bool is_set = checks->bound_at[slot->index] < step;
    for (uint16_t k = 0; k < i && !is_set; k++)
      is_set =
          term->slots[k].form == EG_RULE_SLOT_VAR && term->slots[k].index == slot->index;
    if (!is_set)
      env->vars[slot->index] = value;
    else if (!eg_rule_values_identical(&env->vars[slot->index], &value))
      return false;
  }
  return true;
}

static bool make_check(const eg_rule_check *check, eg_rule_env *env,
                       const eg_match *so_far) {
  const eg_rule_let *let;
  const eg_attr *attr;
  switch (check->kind) {
  case EG_RULE_CHECK_LET:
    let = &env->rule->lets[check->index];
    return eg_rule_eval(env, let->expr, &env->vars[let->var]);
  case EG_RULE_CHECK_SLOT:
    attr = &attrs_of_node(env, so_far->nodes[check->term])->slots[check->index];
    return eg_rule_slot_equals(env, &env->rule->terms[check->term],
                               (uint16_t)check->index, attr);
  case EG_RULE_CHECK_CONDITION: return eg_rule_holds(env, check->index);
  }
  return false;
}

// marks[step] is the working memory in use before that step of the search.
bool eg_rule_steps_pass(const eg_rule_steps *checks, eg_rule_env *env, uint32_t *marks,
                        uint32_t step, const eg_match *so_far) {
  assert(step < checks->step_count);
  const eg_rule_step *at = &checks->steps[step];
  // Keeps lists of earlier steps; drops lists of this step's other candidates.
  env->scratch->value_count = 0;
  env->scratch->int_count = marks[step];
  const eg_rule_term *term = &env->rule->terms[at->term];
  eg_node node = so_far->nodes[at->term];
  if (!bind_classes(env, term, node, so_far) ||
      !bind_values(checks, env, step, term, node))
    return false;
  for (uint32_t i = 0; i < at->check_count; i++)
    if (!make_check(&checks->checks[at->first_check + i], env, so_far)) return false;
  if (step + 1 < checks->step_count) marks[step + 1] = env->scratch->int_count;
  return true;
}

// ---- kept matches ---------------------------------------------------------------

/// True when a stored match has the node that this term matched. In explained e-graphs
/// all nodes are stored, because their attributes may differ from the pattern.
static bool keeps_node(const eg_rule_term *term, bool keeps_all) {
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

uint32_t eg_rule_match_words(const eg_rule *rule, bool keeps_all) {
  uint32_t words = rule->pattern_var_count + rule->root_count;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    words += keeps_node(&rule->terms[i], keeps_all);
  return words;
}

void eg_rule_match_pack(const eg_rule *rule, const eg_match *match, bool keeps_all,
                        uint32_t *out_words) {
  for (uint32_t i = 0; i < rule->pattern_var_count; i++)
    *out_words++ = match->vars[i].id;
  for (uint32_t i = 0; i < rule->root_count; i++)
    *out_words++ = match->roots[i].id;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (keeps_node(&rule->terms[i], keeps_all)) *out_words++ = match->nodes[i].id;
}

eg_class eg_rule_match_root(const eg_rule *rule, const uint32_t *words, uint32_t root) {
  assert(root < rule->root_count);
  return (eg_class){.id = words[rule->pattern_var_count + root]};
}

// ---- binding --------------------------------------------------------------------

/// Binds a value variable from the first attribute slot that has it, and compares it with
/// all other slots. Its kind is TENSOR before it is bound.
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

static bool bind_nodes(eg_rule_env *env, const uint32_t *words) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  const eg_rule *rule = env->rule;
  bool keeps_all = eg_tensor_egraph_is_explained(env->egraph);
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (!keeps_node(term, keeps_all)) continue;
    eg_node node = {.id = *words++};
    if (term->var != EG_RULE_NONE)
      env->vars[term->var].tensor = eg_engine_class_of(engine, node);
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
