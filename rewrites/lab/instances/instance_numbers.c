// Numbers next to which a rule's behaviour may change. A rule compares a number with a
// variable when both are in operands of one call. Constants that conditions and
// attributes bind also get infinities and ends of the range, like data, because they
// matter as much.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_numbers.h"

#include <math.h>
#include <string.h>

#include "rewrites/saturation/rule_eval.h"

// ---- numbers that a rule names --------------------------------------------------------

enum { LARGEST_WHOLE = 2000, LARGEST_OF_LIST = 16 };

static bool depends_on(const eg_rule *rule, uint32_t expr, uint32_t var) {
  const eg_rule_expr *at = &rule->exprs[expr];
  if (at->form == EG_RULE_EXPR_VAR) {
    uint32_t let = eg_rule_let_expr(rule, at->var);
    return at->var == var || (let != EG_RULE_NONE && depends_on(rule, let, var));
  }
  for (uint32_t i = 0; at->form == EG_RULE_EXPR_CALL && i < at->arg_count; i++)
    if (depends_on(rule, at->args[i], var)) return true;
  return false;
}

/// True for list attributes in which one number may have any value.
static bool is_free_list(const eg_attr_info *info) {
  static const char *const names[] = {"strides", "dilations", "pads",
                                      "steps",   "repeats",   "kernel_shape"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(info->name, names[i]) == 0) return true;
  return false;
}

static bool is_nameable(const eg_attr_info *info, double number) {
  bool has_own_class = number == 0 || number == 1 || number == 2 || number == -1;
  if (!isfinite(number) || has_own_class) return false;
  if (info->kind == EG_ATTR_FLOAT) return true;
  if (info->kind == EG_ATTR_INT) return fabs(number) <= LARGEST_WHOLE;
  return info->kind == EG_ATTR_INTS && is_free_list(info) &&
         fabs(number) <= LARGEST_OF_LIST;
}

static void add_number(const eg_attr_info *info, const eg_rule_expr *constant,
                       double *out, uint32_t *count) {
  bool is_number = constant->form == EG_RULE_EXPR_CONSTANT &&
                   (constant->kind == EG_RULE_INT || constant->kind == EG_RULE_FLOAT);
  if (!is_number || *count == EG_NAMED_NUMBERS) return;
  double number = eg_rule_number(&constant->constant);
  for (uint32_t i = 0; i < *count; i++)
    if (out[i] == number) return;
  if (is_nameable(info, number)) out[(*count)++] = number;
}

uint32_t eg_named_numbers(const eg_rule *rule, uint32_t var, const eg_attr_info *info,
                          double *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *call = &rule->exprs[i];
    // A number in `at` or `dim` selects an element or dimension; it is no value to
    // compare with.
    if (call->form != EG_RULE_EXPR_CALL || call->function == EG_RULE_FN_AT ||
        call->function == EG_RULE_FN_DIM || !depends_on(rule, i, var))
      continue;
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

// ---- special constants ----------------------------------------------------------------

bool eg_special_is_constant(const eg_rule *rule, uint32_t var) {
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *call = &rule->exprs[i];
    if (call->form != EG_RULE_EXPR_CALL ||
        (call->function != EG_RULE_FN_IS_SPLAT && call->function != EG_RULE_FN_SPLAT))
      continue;
    if (eg_rule_var_of(rule, call->args[0]) == var) return true;
  }
  return false;
}

// ---- numbers --------------------------------------------------------------------------

static double largest_whole(egraph_dtype dtype) {
  uint32_t bits = 8 * (uint32_t)eg_dtype_bytes(dtype);
  if (dtype == EGRAPH_BOOL) return 1;
  if (bits > 32) return 0x1p62; // an exact double
  return ldexp(1, (int)bits - !eg_dtype_is_unsigned(dtype)) - 1;
}

static double extreme_whole(eg_rng *rng, egraph_dtype dtype) {
  double most = largest_whole(dtype);
  bool may = !eg_dtype_is_unsigned(dtype) && dtype != EGRAPH_BOOL;
  const double values[] = {most, may ? -most - 1 : 0, floor(most / 2) + 1, may ? -1 : 1};
  return values[eg_rng_below(rng, 4)];
}

/// Draws an extreme number. The largest number itself is left out: moving it by a unit,
/// which measures rounding, would overflow.
static double extreme(eg_rng *rng, egraph_dtype dtype) {
  double largest = eg_dtype_largest(dtype), normal = eg_dtype_normal(dtype);
  const double values[] = {
      largest / 2,  fmin(largest, 1e9), sqrt(largest), normal, eg_dtype_unit(dtype, 0),
      sqrt(normal), fmax(normal, 1e-9)};
  double value = values[eg_rng_below(rng, sizeof values / sizeof *values)];
  return eg_rng_below(rng, 2) == 0 ? value : -value;
}

double eg_special_draw(eg_rng *rng, eg_special kind, egraph_dtype dtype) {
  static const double not_finite[] = {INFINITY, -INFINITY, INFINITY, -INFINITY, NAN};
  if (!eg_dtype_is_float(dtype)) return extreme_whole(rng, dtype);
  if (kind == EG_SPECIAL_EXTREME) return extreme(rng, dtype);
  return not_finite[eg_rng_below(rng, 5)];
}

double eg_special_zero(eg_rng *rng, double number) {
  return number == 0 && eg_rng_below(rng, 2) == 0 ? -number : number;
}

static bool is_lower_bound(const char *name) {
  return strcmp(name, "min") == 0 || strcmp(name, "act_alpha") == 0;
}

static bool is_upper_bound(const char *name) {
  return strcmp(name, "max") == 0 || strcmp(name, "act_beta") == 0;
}

double eg_special_draw_attr(eg_rng *rng, eg_special kind, egraph_dtype dtype,
                            const char *name) {
  bool is_bound = is_lower_bound(name) || is_upper_bound(name);
  bool is_whole = is_bound && !eg_dtype_is_float(dtype);
  double number = eg_special_draw(rng, kind, is_whole ? dtype : EGRAPH_FLOAT32);
  if (is_bound && isnan(number)) return is_lower_bound(name) ? INFINITY : -INFINITY;
  float rounded = (float)number;
  return fabs((double)rounded) > fabs(number) ? (double)nextafterf(rounded, 0)
                                              : (double)rounded;
}

// ---- what is special ------------------------------------------------------------------

bool eg_special_is(double number, eg_special kind, egraph_dtype dtype) {
  double size = fabs(number);
  if (kind == EG_SPECIAL_NOT_FINITE) return !isfinite(number);
  if (!eg_dtype_is_float(dtype)) return size >= floor(largest_whole(dtype) / 2);
  return isfinite(number) && (size >= fmin(1e9, sqrt(eg_dtype_largest(dtype))) ||
                              (size > 0 && size <= fmax(1e-9, eg_dtype_normal(dtype))));
}

bool eg_special_is_of_attr(double number, eg_special kind, const char *name) {
  bool bounds_nothing =
      isinf(number) && (number < 0 ? is_lower_bound(name) : is_upper_bound(name));
  return !bounds_nothing && eg_special_is(number, kind, EGRAPH_FLOAT32);
}
