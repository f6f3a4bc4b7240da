// Matches and builds by loops, because children come before their parents in the terms of
// a rule: matching goes from a root down, building goes up.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/replay/replay_step.h"

#include <assert.h>

#include "base/owner.h"
#include "pcg/graph/attr_list.h"

#define REFUSE(...) EG_FAIL(EGRAPH_E_ARGUMENT, __VA_ARGS__)

// ---- look-ups of expressions --------------------------------------------------------

static const eg_tensor_fact *find_fact(const void *self, eg_class tensor) {
  const eg_replay_stepper *s = self;
  return eg_replay_terms_fact(s->terms, tensor.id);
}

// Some conditions only guide a search and are no property of tensors: which of two
// tensors comes first, and which operators are known to compute a tensor. Either answer
// is right (condition_holds), because a rule holds for all tensors.

static bool answer_before(const void *self, eg_class a, eg_class b) {
  const eg_replay_stepper *s = self;
  (void)a, (void)b;
  return s->answer;
}

static bool answer_made_by(const void *self, eg_class tensor, eg_op op) {
  const eg_replay_stepper *s = self;
  (void)tensor, (void)op;
  return s->answer;
}

// ---- matching --------------------------------------------------------------------

static bool bind_tensor(eg_replay_stepper *s, uint32_t var, uint32_t term) {
  assert(var < s->bound.len);
  eg_rule_value *value = &s->vars[var];
  if (s->bound.data[var] != 0) return value->tensor.id == term;
  s->bound.data[var] = 1;
  *value = (eg_rule_value){.kind = EG_RULE_TENSOR, .tensor = {term}};
  return true;
}

static bool bind_value(eg_replay_stepper *s, uint32_t var, eg_rule_value found) {
  if (s->bound.data[var] != 0) return eg_rule_values_identical(&s->vars[var], &found);
  s->bound.data[var] = 1;
  s->vars[var] = found;
  return true;
}

static bool find_child(eg_replay_stepper *s, uint32_t child, uint32_t term) {
  assert(child < s->found.len);
  uint32_t *slot = &s->found.data[child];
  if (*slot == 0) *slot = term + 1;
  return *slot == term + 1;
}

static bool slot_matches(eg_replay_stepper *s, const eg_rule_term *pattern, uint16_t i,
                         const eg_attr *attr) {
  const eg_rule_slot *slot = &pattern->slots[i];
  if (slot->form == EG_RULE_SLOT_VAR)
    return bind_value(s, slot->index, eg_rule_value_of_attr(pattern->op, i, attr));
  if (slot->form != EG_RULE_SLOT_LITERAL) return true; // expressions: later
  return eg_rule_literal_fits(&slot->literal, attr);
}

static bool node_matches(eg_replay_stepper *s, const eg_rule_term *pattern,
                         uint32_t term) {
  eg_ground ground = eg_ground_at(&s->terms->ground, term);
  const eg_attrs *attrs = eg_replay_terms_attrs(s->terms, term);
  if (pattern->op == EG_OP_IDENTITY)
    return pattern->child_count == 1 && find_child(s, pattern->children[0], term);
  if (attrs == NULL || attrs->op != pattern->op || ground.arity != pattern->child_count)
    return false;
  for (uint16_t i = 0; i < attrs->count; i++)
    if (!slot_matches(s, pattern, i, &attrs->slots[i])) return false;
  for (uint32_t i = 0; i < ground.arity; i++)
    if (!find_child(s, pattern->children[i], ground.children[i])) return false;
  return true;
}

static bool matches(eg_replay_stepper *s, uint32_t first, uint32_t root, uint32_t term) {
  s->found.data[root] = term + 1;
  for (uint32_t i = root + 1; i-- > first;) {
    if (s->found.data[i] == 0) return false; // term below no root: no such rule is read
    const eg_rule_term *pattern = &s->rule->terms[i];
    uint32_t found = s->found.data[i] - 1;
    if (!eg_replay_terms_fact(s->terms, found)->typed) return false;
    if (pattern->var != EG_RULE_NONE && !bind_tensor(s, pattern->var, found))
      return false;
    if (!pattern->is_var && !node_matches(s, pattern, found)) return false;
  }
  return true;
}

// ---- conditions ------------------------------------------------------------------

static eg_rule_env step_env(eg_replay_stepper *s) {
  return (eg_rule_env){
      .tensors = &s->tensors, .rule = s->rule, .vars = s->vars, .scratch = s->scratch};
}

/// Checks the attributes of the left side for which the rule has expressions.
static bool slots_hold(eg_replay_stepper *s, eg_rule_env *env) {
  for (uint32_t t = 0; t < s->rule->pattern_term_count; t++) {
    const eg_rule_term *pattern = &s->rule->terms[t];
    if (pattern->is_var || pattern->op == EG_OP_IDENTITY) continue;
    const eg_attrs *attrs = eg_replay_terms_attrs(s->terms, s->found.data[t] - 1);
    for (uint16_t i = 0; i < attrs->count; i++) {
      if (pattern->slots[i].form == EG_RULE_SLOT_EXPR &&
          !eg_rule_slot_equals(env, pattern, i, &attrs->slots[i]))
        return false;
    }
  }
  return true;
}

static bool condition_holds(eg_replay_stepper *s, eg_rule_env *env, uint32_t condition) {
  s->answer = false;
  bool holds = eg_rule_holds(env, condition);
  s->answer = true;
  return holds || eg_rule_holds(env, condition);
}

static egraph_status check_conditions(eg_replay_stepper *s) {
  eg_rule_env env = step_env(s);
  s->scratch->int_count = s->scratch->value_count = 0;
  for (uint32_t i = 0; i < s->rule->let_count; i++) {
    const eg_rule_let *let = &s->rule->lets[i];
    if (!let->is_term && !eg_rule_eval(&env, let->expr, &s->vars[let->var]))
      return REFUSE("its value %s has none", s->rule->vars[let->var].name);
  }
  if (!slots_hold(s, &env)) return REFUSE("an attribute is not as its left side says");
  for (uint32_t i = 0; i < s->rule->condition_count; i++)
    if (!condition_holds(s, &env, s->rule->conditions[i]))
      return REFUSE("condition %u of %u does not hold", i + 1, s->rule->condition_count);
  return EGRAPH_OK;
}

// ---- right sides -----------------------------------------------------------------

static egraph_status build_node(eg_replay_stepper *s, const eg_rule_term *term,
                                uint32_t *out) {
  eg_attr slots[EG_MAX_SLOTS];
  const eg_op_info *op = eg_op_info_of(term->op);
  const eg_attrs attrs = {
      .op = (uint16_t)term->op, .count = op->attr_count, .slots = slots};
  eg_rule_env env = step_env(s);
  for (uint16_t i = 0; i < attrs.count; i++)
    if (!eg_rule_eval_slot(&env, term, i, &slots[i]))
      return REFUSE("attribute %s of its %s has no value", op->attrs[i].name, op->name);
  EG_TRY(eg_u32s_resize(&s->operands, term->child_count));
  for (uint32_t i = 0; i < term->child_count; i++)
    s->operands.data[i] = s->found.data[term->children[i]] - 1;
  if (term->child_count != 0) { // saturation does the same
    const eg_tensor_fact *first = eg_replay_terms_fact(s->terms, s->operands.data[0]);
    if (first->typed) eg_op_axis_from_front(term->op, first->type.rank, slots);
  }
  egraph_status status =
      eg_replay_terms_add(s->terms, &attrs, s->operands.data, term->child_count, out);
  if (status == EGRAPH_E_TYPE)
    return eg_fail_context(EGRAPH_E_ARGUMENT, "its right side is ill-typed");
  EG_TRY(status);
  bool is_fitting;
  EG_TRY(eg_replay_terms_fit(s->terms, *out, &is_fitting));
  return is_fitting
             ? EGRAPH_OK
             : REFUSE("its %s makes a number that the type does not hold", op->name);
}

/// Returns the term of the rule that a variable bound by `let` names.
static uint32_t let_term(const eg_rule *rule, uint32_t var) {
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].is_term && rule->lets[i].var == var) return rule->lets[i].term;
  assert(false && "a name of a term is of a let");
  return 0;
}

static egraph_status build_right_sides(eg_replay_stepper *s) {
  const eg_rule *rule = s->rule;
  for (uint32_t t = rule->pattern_term_count; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    uint32_t made;
    if (!term->is_var)
      EG_TRY(build_node(s, term, &made));
    else if (rule->vars[term->var].origin == EG_RULE_VAR_LET_TERM)
      made = s->found.data[let_term(rule, term->var)] - 1;
    else
      made = s->vars[term->var].tensor.id;
    s->found.data[t] = made + 1;
  }
  return EGRAPH_OK;
}

// ---- the step --------------------------------------------------------------------

static egraph_status prepare(eg_replay_stepper *s, const eg_rule *rule) {
  if (s->scratch == NULL) EG_TRY(eg_alloc(s->alloc, 1, sizeof *s->scratch, &s->scratch));
  s->rule = rule;
  s->bound.len = s->found.len = 0;
  EG_TRY(eg_u32s_resize(&s->bound, rule->var_count));
  EG_TRY(eg_u32s_resize(&s->found, rule->term_count));
  if (rule->var_count <= s->var_cap) return EGRAPH_OK;
  EG_TRY(eg_resize(s->alloc, s->var_cap, rule->var_count, sizeof *s->vars, &s->vars));
  s->var_cap = rule->var_count;
  return EGRAPH_OK;
}

egraph_status eg_replay_step(eg_replay_stepper *stepper, const eg_rule *rule,
                             const uint32_t *roots, uint32_t count, uint32_t *out_right) {
  eg_replay_stepper *s = stepper;
  if (count != rule->root_count)
    return REFUSE("it has %u left sides, and %u terms are given", rule->root_count,
                  count);
  EG_TRY(prepare(s, rule));
  for (uint32_t r = 0; r < count; r++)
    if (!matches(s, rule->lhs[r].first_term, rule->lhs[r].term, roots[r]))
      return REFUSE("its left side does not match the term");
  EG_TRY(check_conditions(s));
  EG_TRY(build_right_sides(s));
  for (uint32_t r = 0; r < count; r++) {
    out_right[r] = s->found.data[rule->rhs[r].term] - 1;
    if (!eg_tensor_fact_same_type(eg_replay_terms_fact(s->terms, roots[r]),
                                  eg_replay_terms_fact(s->terms, out_right[r])))
      return REFUSE("its sides have different types");
  }
  return EGRAPH_OK;
}

#define OWNED (eg_u32s, bound, found, operands)

void eg_replay_stepper_init(eg_replay_stepper *stepper, egraph_allocator alloc) {
  *stepper = (eg_replay_stepper){.alloc = alloc,
                                 .tensors = {.self = stepper,
                                             .fact = find_fact,
                                             .is_before = answer_before,
                                             .is_made_by = answer_made_by}};
  EG_INIT_MEMBERS(stepper, alloc, OWNED);
}

void eg_replay_stepper_deinit(eg_replay_stepper *stepper) {
  EG_DEINIT_MEMBERS(stepper, OWNED);
  eg_free(stepper->alloc, stepper->vars, stepper->var_cap, sizeof *stepper->vars);
  eg_free(stepper->alloc, stepper->scratch, 1, sizeof *stepper->scratch);
}
