// Evaluates by recursion: expressions are trees no deeper than the reader allows. The
// reader has checked kinds.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_eval.h"

#include <assert.h>
#include <math.h>

#define EG_RULE_FUNCTION(ID, NAME, MIN, MAX, ARGUMENTS, RESULT, EVAL) eg_rule_eval_##EVAL,
static eg_rule_evaluator *const evaluators[EG_RULE_FN_COUNT] = {
#include "rewrites/language/rule_functions.def"
};

// Evaluates `and`, `or` and `if`, with only the operands that decide the value.
static bool eval_lazily(eg_rule_env *env, const eg_rule_expr *expr, eg_rule_value *out) {
  if (expr->function == EG_RULE_FN_IF) {
    eg_rule_value condition;
    if (!eg_rule_eval(env, expr->args[0], &condition)) return false;
    return eg_rule_eval(env, expr->args[condition.i != 0 ? 1 : 2], out);
  }
  bool decisive = expr->function == EG_RULE_FN_OR;
  for (uint32_t i = 0; i < expr->arg_count; i++) {
    if (!eg_rule_eval(env, expr->args[i], out)) return false;
    if ((out->i != 0) == decisive) return true;
  }
  return true;
}

/// Marks functions of the table that eval_lazily evaluates; it is never called.
bool eg_rule_eval_lazy(eg_rule_env *env, const eg_rule_value *args, uint32_t count,
                       eg_rule_value *out) {
  (void)env, (void)args, (void)count, (void)out;
  assert(false && "eval_lazily evaluates these");
  return false;
}

/// True when arguments are finite but the result is not: such a constant must not
/// be folded.
static bool overflows(const eg_rule_value *args, uint32_t count,
                      const eg_rule_value *result) {
  bool has_numbers = false;
  if (result->kind != EG_RULE_FLOAT || isfinite(result->f)) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (args[i].kind == EG_RULE_FLOAT && !isfinite(args[i].f)) return false;
    has_numbers |= args[i].kind == EG_RULE_FLOAT || args[i].kind == EG_RULE_INT;
  }
  return has_numbers;
}

static bool eval_call(eg_rule_env *env, const eg_rule_expr *expr, eg_rule_value *out) {
  eg_rule_evaluator *evaluator = evaluators[expr->function];
  if (evaluator == eg_rule_eval_lazy) return eval_lazily(env, expr, out);
  eg_rule_scratch *scratch = env->scratch;
  if (expr->arg_count > EG_RULE_SCRATCH_VALUES - scratch->value_count) return false;
  eg_rule_value *args = scratch->values + scratch->value_count;
  scratch->value_count += expr->arg_count;
  bool ok = true;
  for (uint32_t i = 0; ok && i < expr->arg_count; i++)
    ok = eg_rule_eval(env, expr->args[i], &args[i]);
  ok = ok && evaluator(env, args, expr->arg_count, out) &&
       !overflows(args, expr->arg_count, out);
  scratch->value_count -= expr->arg_count;
  return ok;
}

bool eg_rule_eval(eg_rule_env *env, uint32_t index, eg_rule_value *out) {
  assert(index < env->rule->expr_count);
  const eg_rule_expr *expr = &env->rule->exprs[index];
  switch (expr->form) {
  case EG_RULE_EXPR_CONSTANT: *out = expr->constant; return true;
  case EG_RULE_EXPR_VAR: *out = env->vars[expr->var]; return true;
  case EG_RULE_EXPR_CALL: return eval_call(env, expr, out);
  }
  return false;
}

bool eg_rule_holds(eg_rule_env *env, uint32_t expr) {
  eg_rule_value value;
  return eg_rule_eval(env, expr, &value) && value.i != 0;
}

bool eg_rule_eval_slot(eg_rule_env *env, const eg_rule_term *term, uint16_t attr,
                       eg_attr *out) {
  const eg_rule_slot *slot = &term->slots[attr];
  eg_rule_value value;
  switch (slot->form) {
  case EG_RULE_SLOT_LITERAL: *out = slot->literal; return true;
  case EG_RULE_SLOT_VAR: value = env->vars[slot->index]; break;
  case EG_RULE_SLOT_EXPR:
    if (!eg_rule_eval(env, slot->index, &value)) return false;
    break;
  case EG_RULE_SLOT_ANY: return false;
  }
  return eg_rule_attr_of_value(term->op, attr, &value, out);
}

bool eg_rule_slot_equals(eg_rule_env *env, const eg_rule_term *term, uint16_t attr,
                         const eg_attr *found) {
  eg_rule_value wanted, value = eg_rule_value_of_attr(term->op, attr, found);
  return eg_rule_eval(env, term->slots[attr].index, &wanted) &&
         eg_rule_values_equal(env, &wanted, &value);
}
