// Arithmetic and comparisons. Integers that overflow have no value.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "rewrites/saturation/rule_eval.h"

// One operation, on integers and on floating-point numbers.
typedef struct operation {
  bool (*on_ints)(int64_t a, int64_t b, int64_t *out);
  double (*on_floats)(double a, double b);
} operation;

static bool add_ints(int64_t a, int64_t b, int64_t *out) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
  *out = a + b;
  return true;
}
static bool sub_ints(int64_t a, int64_t b, int64_t *out) {
  if (b > 0 ? a < INT64_MIN + b : a > INT64_MAX + b) return false;
  *out = a - b;
  return true;
}
static bool mul_ints(int64_t a, int64_t b, int64_t *out) {
  // Magnitudes, so that one check serves all signs; the least integer is given up.
  if (a == INT64_MIN || b == INT64_MIN) return false;
  int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
  if (y != 0 && x > INT64_MAX / y) return false;
  *out = a * b;
  return true;
}
static bool floor_div_ints(int64_t a, int64_t b, int64_t *out) {
  if (b == 0 || a == INT64_MIN) return false;
  *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}
static bool mod_ints(int64_t a, int64_t b, int64_t *out) {
  if (b == 0 || a == INT64_MIN) return false;
  int64_t rest = a % b;
  *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return true;
}
static bool div_ints(int64_t a, int64_t b, int64_t *out) {
  return floor_div_ints(a, b, out) && *out * b == a;
}
static bool min_ints(int64_t a, int64_t b, int64_t *out) {
  *out = a < b ? a : b;
  return true;
}
static bool max_ints(int64_t a, int64_t b, int64_t *out) {
  *out = a > b ? a : b;
  return true;
}

static double add_floats(double a, double b) { return a + b; }
static double sub_floats(double a, double b) { return a - b; }
static double mul_floats(double a, double b) { return a * b; }
static double div_floats(double a, double b) { return a / b; }
static double floor_div_floats(double a, double b) { return floor(a / b); }
static double mod_floats(double a, double b) { return a - b * floor(a / b); }

static int64_t item(const eg_rule_value *value, uint32_t i) {
  return value->kind == EG_RULE_INTS ? value->ints.data[i] : value->i;
}

static bool on_lists(eg_rule_env *env, operation op, const eg_rule_value *a,
                     const eg_rule_value *b, eg_rule_value *out) {
  bool both = a->kind == EG_RULE_INTS && b->kind == EG_RULE_INTS;
  if (both && a->ints.len != b->ints.len) return false;
  uint32_t len = a->kind == EG_RULE_INTS ? a->ints.len : b->ints.len;
  int64_t *data = eg_rule_ints(env, len);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < len; i++)
    if (!op.on_ints(item(a, i), item(b, i), &data[i])) return false;
  *out = (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = len}};
  return true;
}

static bool apply(eg_rule_env *env, operation op, const eg_rule_value *a,
                  const eg_rule_value *b, eg_rule_value *out) {
  if (a->kind == EG_RULE_INTS || b->kind == EG_RULE_INTS)
    return on_lists(env, op, a, b, out);
  if (a->kind == EG_RULE_FLOAT || b->kind == EG_RULE_FLOAT) {
    *out = eg_rule_float(op.on_floats(eg_rule_number(a), eg_rule_number(b)));
    return !isnan(out->f);
  }
  out->kind = EG_RULE_INT;
  return op.on_ints(a->i, b->i, &out->i);
}

static bool fold(eg_rule_env *env, operation op, const eg_rule_value *args,
                 uint32_t count, eg_rule_value *out) {
  eg_rule_value total = args[0];
  for (uint32_t i = 1; i < count; i++) {
    eg_rule_value next;
    if (!apply(env, op, &total, &args[i], &next)) return false;
    total = next;
  }
  *out = total;
  return true;
}

#define NUMERIC(name, int_op, float_op)                                                  \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out) {                                         \
    return fold(env, (operation){int_op, float_op}, args, count, out);                   \
  }
NUMERIC(add, add_ints, add_floats)
NUMERIC(mul, mul_ints, mul_floats)
NUMERIC(div, div_ints, div_floats)
NUMERIC(floor_div, floor_div_ints, floor_div_floats)
NUMERIC(mod, mod_ints, mod_floats)
NUMERIC(min, min_ints, fmin)
NUMERIC(max, max_ints, fmax)

bool eg_rule_eval_sub(eg_rule_env *env, const eg_rule_value *args, uint32_t count,
                      eg_rule_value *out) {
  operation op = {sub_ints, sub_floats};
  eg_rule_value zero = eg_rule_int(0);
  if (count == 1) return apply(env, op, &zero, &args[0], out);
  return apply(env, op, &args[0], &args[1], out);
}

#define REAL(name, expression)                                                           \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out) {                                         \
    (void)env, (void)count;                                                              \
    double a = eg_rule_number(&args[0]);                                                 \
    *out = eg_rule_float(expression);                                                    \
    return !isnan(out->f);                                                               \
  }
REAL(sqrt, sqrt(a))
REAL(exp, exp(a))
REAL(float, a)
REAL(pow, pow(a, eg_rule_number(&args[1])))

bool eg_rule_eval_whole(eg_rule_env *env, const eg_rule_value *args, uint32_t count,
                        eg_rule_value *out) {
  (void)env, (void)count;
  const double most = 9007199254740992; // 2^53: beyond it floats skip whole numbers
  double a = eg_rule_number(&args[0]);
  if (!(fabs(a) <= most) || a != floor(a)) return false;
  *out = eg_rule_int((int64_t)a);
  return true;
}

static bool is_less(const eg_rule_value *a, const eg_rule_value *b) {
  if (a->kind == EG_RULE_INT && b->kind == EG_RULE_INT) return a->i < b->i;
  return eg_rule_number(a) < eg_rule_number(b);
}

/// False of NaN, as every comparison.
static bool is_at_most(const eg_rule_value *a, const eg_rule_value *b) {
  if (a->kind == EG_RULE_INT && b->kind == EG_RULE_INT) return a->i <= b->i;
  return eg_rule_number(a) <= eg_rule_number(b);
}

#define TRUTH(name, expression)                                                          \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out) {                                         \
    (void)env, (void)count;                                                              \
    *out = eg_rule_bool(expression);                                                     \
    return true;                                                                         \
  }
TRUTH(lt, is_less(&args[0], &args[1]))
TRUTH(le, is_at_most(&args[0], &args[1]))
TRUTH(gt, is_less(&args[1], &args[0]))
TRUTH(ge, is_at_most(&args[1], &args[0]))
TRUTH(finite, isfinite(eg_rule_number(&args[0])))
TRUTH(eq, eg_rule_values_equal(env, &args[0], &args[1]))
TRUTH(ne, !eg_rule_values_equal(env, &args[0], &args[1]))
TRUTH(not, args[0].i == 0)
TRUTH(odd, args[0].i % 2 != 0)
TRUTH(even, args[0].i % 2 == 0)

bool eg_rule_eval_divides(eg_rule_env *env, const eg_rule_value *args, uint32_t count,
                          eg_rule_value *out) {
  (void)env, (void)count;
  int64_t rest;
  if (!mod_ints(args[1].i, args[0].i, &rest)) return false;
  *out = eg_rule_bool(rest == 0);
  return true;
}
