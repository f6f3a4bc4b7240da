// A number stands beside a variable where it is an operand of a call of which another
// operand depends on the variable.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_named.h"

#include <math.h>
#include <string.h>

#include "rewrites/saturation/rule_eval.h"

enum { LARGEST_WHOLE = 2000, LARGEST_OF_LIST = 16 };

static bool depends_on(const eg_rule *rule, uint32_t expr, uint32_t var) {
  const eg_rule_expr *at = &rule->exprs[expr];
  if (at->form == EG_RULE_EXPR_VAR && at->var == var) return true;
  for (uint32_t i = 0; at->form == EG_RULE_EXPR_VAR && i < rule->let_count; i++)
    if (rule->lets[i].var == at->var && !rule->lets[i].is_term)
      return depends_on(rule, rule->lets[i].expr, var);
  for (uint32_t i = 0; at->form == EG_RULE_EXPR_CALL && i < at->arg_count; i++)
    if (depends_on(rule, at->args[i], var)) return true;
  return false;
}

/// Lists of which one number may be any.
static bool is_free_list(const eg_attr_info *info) {
  static const char *const names[] = {"strides", "dilations", "pads",
                                      "steps",   "repeats",   "kernel_shape"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(info->name, names[i]) == 0) return true;
  return false;
}

static bool has_own_class(double number) {
  return number == 0 || number == 1 || number == 2 || number == -1;
}

static bool fits(const eg_attr_info *info, double number) {
  if (!isfinite(number) || has_own_class(number)) return false;
  if (info->kind == EG_ATTR_FLOAT) return true;
  if (info->kind == EG_ATTR_INT) return fabs(number) <= LARGEST_WHOLE;
  return info->kind == EG_ATTR_INTS && is_free_list(info) &&
         fabs(number) <= LARGEST_OF_LIST;
}

/// False where a number of the call says which element or dimension is meant.
static bool compares(const eg_rule_expr *call) {
  return call->form == EG_RULE_EXPR_CALL && call->function != EG_RULE_FN_AT &&
         call->function != EG_RULE_FN_DIM;
}

static void add_number(const eg_attr_info *info, const eg_rule_expr *constant,
                       double *out, uint32_t *count) {
  bool is_number = constant->form == EG_RULE_EXPR_CONSTANT &&
                   (constant->kind == EG_RULE_INT || constant->kind == EG_RULE_FLOAT);
  if (!is_number || *count == EG_NAMED_NUMBERS) return;
  double number = eg_rule_number(&constant->constant);
  for (uint32_t i = 0; i < *count; i++)
    if (out[i] == number) return;
  if (fits(info, number)) out[(*count)++] = number;
}

uint32_t eg_named_numbers(const eg_rule *rule, uint32_t var, const eg_attr_info *info,
                          double *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *call = &rule->exprs[i];
    if (!compares(call) || !depends_on(rule, i, var)) continue;
    for (uint32_t k = 0; k < call->arg_count; k++)
      add_number(info, &rule->exprs[call->args[k]], out, &count);
  }
  return count;
}

// ---- steering -------------------------------------------------------------------------

void eg_named_prepare(double number, eg_verify_choice *choice) {
  if (!(fabs(number) <= EG_NAMED_LARGEST_DIM)) return;
  int64_t size = (int64_t)fabs(number);
  for (uint32_t i = 0; i < 3; i++)
    choice->dims[choice->dim_count++] = size + i;
  choice->dims[choice->dim_count++] = 2;
  if (size > 0) choice->channels = size + (int64_t)eg_verify_below(choice, 3);
}

double eg_named_draw(double number, int64_t side, bool is_whole,
                     eg_verify_choice *choice) {
  static const double parts[] = {0.0625, 0.5, 1};
  if (side == 0) return number;
  if (is_whole) {
    double beside = side > 0 ? floor(number) : ceil(number);
    return beside + (double)side * (1 + (eg_verify_chance(choice, 20) ? 1 : 0));
  }
  double far = fabs(number) * parts[eg_verify_below(choice, 3)];
  return (double)(float)(number + (double)side * far);
}
