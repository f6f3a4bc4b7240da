// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_ways.h"

#include "rewrites/language/rules.h"

// ---- kinds --------------------------------------------------------------------------

static bool is_number_expr(const eg_rule *rule, uint32_t expr) {
  return rule->exprs[expr].kind == EG_RULE_INT || rule->exprs[expr].kind == EG_RULE_FLOAT;
}

eg_way_kind eg_way_kind_of(const eg_rule *rule, uint32_t expr) {
  static const eg_way_kind kinds[EG_RULE_FN_COUNT] = {
      [EG_RULE_FN_EQ] = EG_WAY_ORDER,
      [EG_RULE_FN_NE] = EG_WAY_ORDER,
      [EG_RULE_FN_LT] = EG_WAY_ORDER,
      [EG_RULE_FN_LE] = EG_WAY_ORDER,
      [EG_RULE_FN_GT] = EG_WAY_ORDER,
      [EG_RULE_FN_GE] = EG_WAY_ORDER,
      [EG_RULE_FN_MIN] = EG_WAY_ORDER,
      [EG_RULE_FN_MAX] = EG_WAY_ORDER,
      [EG_RULE_FN_MOD] = EG_WAY_REMAINDER,
      [EG_RULE_FN_FLOOR_DIV] = EG_WAY_REMAINDER,
      [EG_RULE_FN_AND] = EG_WAY_TRUTH,
      [EG_RULE_FN_OR] = EG_WAY_TRUTH,
      [EG_RULE_FN_SAME_SHAPE] = EG_WAY_TRUTH,
      [EG_RULE_FN_BROADCASTS_TO] = EG_WAY_TRUTH,
      [EG_RULE_FN_BROADCASTS_TO_SHAPE] = EG_WAY_TRUTH,
      [EG_RULE_FN_IS_SPLAT] = EG_WAY_TRUTH,
      [EG_RULE_FN_SPLAT_IS] = EG_WAY_TRUTH,
      [EG_RULE_FN_DIVIDES] = EG_WAY_TRUTH,
      [EG_RULE_FN_ODD] = EG_WAY_TRUTH,
      [EG_RULE_FN_EVEN] = EG_WAY_TRUTH,
      [EG_RULE_FN_ALL_EQUAL] = EG_WAY_TRUTH,
      [EG_RULE_FN_ALL_ODD] = EG_WAY_TRUTH,
      [EG_RULE_FN_CONTAINS] = EG_WAY_TRUTH,
      [EG_RULE_FN_SORTED] = EG_WAY_TRUTH,
      [EG_RULE_FN_PERM_IDENTITY] = EG_WAY_TRUTH};
  const eg_rule_expr *call = &rule->exprs[expr];
  if (call->form != EG_RULE_EXPR_CALL) return EG_WAY_NONE;
  eg_way_kind kind = kinds[call->function];
  if (kind == EG_WAY_NONE || kind == EG_WAY_TRUTH) return kind;
  bool are_numbers = call->arg_count == 2 && is_number_expr(rule, call->args[0]) &&
                     is_number_expr(rule, call->args[1]);
  if (are_numbers && kind == EG_WAY_REMAINDER) are_numbers = call->kind == EG_RULE_INT;
  if (are_numbers) return kind;
  return call->kind == EG_RULE_BOOL ? EG_WAY_TRUTH : EG_WAY_NONE;
}

bool eg_same_expr(const eg_rule *rule, uint32_t a, uint32_t b) {
  const eg_rule_expr *x = &rule->exprs[a], *y = &rule->exprs[b];
  if (a == b) return true;
  if (x->form != y->form || x->kind != y->kind) return false;
  if (x->form == EG_RULE_EXPR_VAR) return x->var == y->var;
  if (x->form == EG_RULE_EXPR_CONSTANT)
    return eg_rule_values_identical(&x->constant, &y->constant);
  if (x->function != y->function || x->arg_count != y->arg_count) return false;
  for (uint32_t i = 0; i < x->arg_count; i++)
    if (!eg_same_expr(rule, x->args[i], y->args[i])) return false;
  return true;
}

// ---- the ways of a rule -------------------------------------------------------------

/// True when `expr` is `condition`, or an operand of it that must be true or must
/// be false.
static bool is_settled_by(const eg_rule *rule, uint32_t condition, uint32_t expr) {
  const eg_rule_expr *call = &rule->exprs[condition];
  if (eg_same_expr(rule, condition, expr)) return true;
  bool settles = call->form == EG_RULE_EXPR_CALL &&
                 (call->function == EG_RULE_FN_AND || call->function == EG_RULE_FN_NOT);
  for (uint32_t i = 0; settles && i < call->arg_count; i++)
    if (is_settled_by(rule, call->args[i], expr)) return true;
  return false;
}

/// Returns the outcomes (bits 0 to 2: below, at, above) that a comparison which must hold
/// allows for its operands.
static unsigned ways_left(const eg_rule *rule, uint32_t expr) {
  static const unsigned left[EG_RULE_FN_COUNT] = {
      [EG_RULE_FN_NE] = 5, [EG_RULE_FN_LT] = 1,  [EG_RULE_FN_LE] = 3, [EG_RULE_FN_GT] = 4,
      [EG_RULE_FN_GE] = 6, [EG_RULE_FN_MIN] = 7, [EG_RULE_FN_MAX] = 7};
  eg_way_kind kind = eg_way_kind_of(rule, expr);
  bool is_settled = false;
  if (kind == EG_WAY_NONE) return 0;
  for (uint32_t i = 0; i < rule->condition_count; i++)
    is_settled = is_settled || is_settled_by(rule, rule->conditions[i], expr);
  if (is_settled) return kind == EG_WAY_ORDER ? left[rule->exprs[expr].function] : 0;
  return kind == EG_WAY_ORDER ? 7 : 6;
}

static bool is_constant(const eg_rule *rule, uint32_t expr) {
  const eg_rule_expr *at = &rule->exprs[expr];
  if (at->form != EG_RULE_EXPR_CALL) return at->form == EG_RULE_EXPR_CONSTANT;
  for (uint32_t i = 0; i < at->arg_count; i++)
    if (!is_constant(rule, at->args[i])) return false;
  return true;
}

/// True when the expression is the length of a list of parts (of a split), which does not
/// depend on ranks.
static bool counts_parts(const eg_rule *rule, uint32_t expr) {
  const eg_rule_expr *call = eg_rule_call_of(rule, expr, EG_RULE_FN_LEN);
  uint32_t list = call != NULL ? eg_rule_var_of(rule, call->args[0]) : EG_RULE_NONE;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    uint16_t slot;
    if (!term->is_var && eg_op_find_attr(term->op, "sizes", &slot) &&
        term->slots[slot].form == EG_RULE_SLOT_VAR && term->slots[slot].index == list)
      return true;
  }
  return false;
}

/// Returns the largest rank that an index, element count or list of the
/// expression requires.
static uint32_t rank_of_expr(const eg_rule *rule, uint32_t expr, int64_t way) {
  const eg_rule_expr *at = &rule->exprs[expr];
  int64_t rank = 0;
  if (at->form == EG_RULE_EXPR_CONSTANT)
    return at->kind == EG_RULE_INTS ? at->constant.ints.len : 0;
  if (at->form != EG_RULE_EXPR_CALL) return 0;
  if (at->function == EG_RULE_FN_LIST) rank = at->arg_count;
  for (uint32_t i = 0; i < at->arg_count; i++) {
    const eg_rule_expr *arg = &rule->exprs[at->args[i]];
    int64_t inner = rank_of_expr(rule, at->args[i], way);
    if (inner > rank) rank = inner;
    if (arg->form != EG_RULE_EXPR_CONSTANT || arg->kind != EG_RULE_INT) continue;
    int64_t number = arg->constant.i;
    bool is_index = at->function == EG_RULE_FN_AT || at->function == EG_RULE_FN_DIM;
    bool is_length = eg_way_kind_of(rule, expr) == EG_WAY_ORDER && at->arg_count == 2 &&
                     (eg_rule_calls(rule, at->args[1 - i], EG_RULE_FN_RANK) ||
                      eg_rule_calls(rule, at->args[1 - i], EG_RULE_FN_LEN)) &&
                     !counts_parts(rule, at->args[1 - i]);
    if (is_index) number = number < 0 ? -number : number + 1;
    if (is_length) number += i == 1 ? way : -way;
    if ((is_index || is_length) && number > rank) rank = number;
  }
  return rank <= EGRAPH_MAX_RANK ? (uint32_t)rank : 0;
}

enum { USUAL_RANK = 4 }; // larger ranks must be aimed at

uint32_t eg_rank_of_conditions(const eg_rule *rule) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    uint32_t rank = rank_of_expr(rule, rule->conditions[i], 0);
    if (rank > most) most = rank;
  }
  return most > USUAL_RANK ? most : 0;
}

uint32_t eg_rank_beside(uint32_t rank, eg_verify_choice *choice) {
  uint32_t kind = eg_verify_below(choice, 10), half = (rank + 1) / 2;
  if (kind < 6) return rank;
  uint32_t other = kind == 6   ? rank + 1
                   : kind == 7 ? rank + 2
                   : kind == 8 ? half
                               : half + 2;
  return other <= EGRAPH_MAX_RANK ? other : rank;
}

static bool holds_expr(const eg_rule *rule, uint32_t whole, uint32_t part) {
  const eg_rule_expr *at = &rule->exprs[whole];
  if (whole == part) return true;
  for (uint32_t i = 0; at->form == EG_RULE_EXPR_CALL && i < at->arg_count; i++)
    if (holds_expr(rule, at->args[i], part)) return true;
  return false;
}

bool eg_way_leads_through(const eg_rule *rule, uint32_t expr, uint32_t choice,
                          bool *out_wanted) {
  const eg_rule_expr *at = eg_rule_call_of(rule, choice, EG_RULE_FN_IF);
  if (at == NULL) return false;
  *out_wanted = holds_expr(rule, at->args[1], expr);
  return *out_wanted || holds_expr(rule, at->args[2], expr);
}

/// Makes the class of instances in which an expression has an outcome (`way`), with the
/// rank that the `if`s around the expression require.
static eg_instance_aim way_of(const eg_rule *rule, uint32_t expr, int64_t way) {
  eg_instance_aim aim = {.subject = EG_INSTANCE_WAY,
                         .expr = expr,
                         .rank = rank_of_expr(rule, expr, way),
                         .value = way};
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    bool is_wanted;
    if (!eg_way_leads_through(rule, expr, i, &is_wanted)) continue;
    uint32_t rank = rank_of_expr(rule, rule->exprs[i].args[0], is_wanted ? 1 : -1);
    if (rank > aim.rank) aim.rank = rank;
    aim.is_chosen = true;
  }
  return aim;
}

static bool is_first(const eg_rule *rule, uint32_t expr) {
  for (uint32_t i = 0; i < expr; i++)
    if (eg_way_kind_of(rule, i) != EG_WAY_NONE && eg_same_expr(rule, i, expr))
      return false;
  return true;
}

egraph_status eg_instance_ways_of(const eg_rule *rule, eg_instance_aims *out) {
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    unsigned left = ways_left(rule, i);
    if (left == 0 || is_constant(rule, i) || !is_first(rule, i)) continue;
    for (int64_t way = -1; way <= 1; way++)
      if ((left >> (way + 1) & 1) != 0)
        EG_TRY(eg_instance_aims_push(out, way_of(rule, i, way)));
  }
  return EGRAPH_OK;
}

// ---- instances ----------------------------------------------------------------------

/// True when every `if` around the expression takes the branch that contains it.
static bool is_reached(eg_rule_env *env, uint32_t expr) {
  eg_rule_value is;
  bool is_wanted;
  for (uint32_t i = 0; i < env->rule->expr_count; i++)
    if (eg_way_leads_through(env->rule, expr, i, &is_wanted) &&
        (!eg_rule_eval(env, env->rule->exprs[i].args[0], &is) ||
         (is.i != 0) != is_wanted))
      return false;
  return true;
}

/// True when the expression has the class's outcome, even in a branch that is not taken.
static bool takes(eg_rule_env *env, const eg_instance_aim *aim) {
  const eg_rule_expr *call = &env->rule->exprs[aim->expr];
  eg_way_kind kind = eg_way_kind_of(env->rule, aim->expr);
  eg_rule_value a, b;
  if (kind == EG_WAY_TRUTH)
    return eg_rule_eval(env, aim->expr, &a) && (a.i != 0) == (aim->value != 0);
  if (!eg_rule_eval(env, call->args[0], &a) || !eg_rule_eval(env, call->args[1], &b))
    return false;
  if (kind == EG_WAY_REMAINDER)
    return b.i != 0 && b.i != -1 && (a.i % b.i != 0) == (aim->value != 0);
  double x = eg_rule_number(&a), y = eg_rule_number(&b);
  return (x > y) - (x < y) == aim->value;
}

static bool goes(eg_rule_env *env, const eg_instance_aim *aim) {
  return takes(env, aim) && (!aim->is_chosen || is_reached(env, aim->expr));
}

bool eg_way_is_gone(const eg_rule_env *env, const eg_instance_aim *aim) {
  uint32_t ints = env->scratch->int_count, values = env->scratch->value_count;
  eg_rule_env copy = *env;
  bool is = goes(&copy, aim);
  env->scratch->int_count = ints;
  env->scratch->value_count = values;
  return is;
}

egraph_status eg_way_print(eg_text *text, const eg_rule *rule,
                           const eg_instance_aim *aim) {
  static const char *const sides[] = {"below", "at", "above"};
  static const char *const remainders[] = {"without remainder", "with a remainder"};
  const eg_rule_expr *call = &rule->exprs[aim->expr];
  eg_way_kind kind = eg_way_kind_of(rule, aim->expr);
  if (kind != EG_WAY_ORDER) {
    EG_TRY(eg_rule_print_expr(text, rule, aim->expr));
    return eg_text_printf(text, " %s",
                          kind == EG_WAY_REMAINDER ? remainders[aim->value != 0]
                          : aim->value != 0        ? "true"
                                                   : "false");
  }
  EG_TRY(eg_rule_print_expr(text, rule, call->args[0]));
  EG_TRY(eg_text_printf(text, " %s ", sides[aim->value + 1]));
  return eg_rule_print_expr(text, rule, call->args[1]);
}
