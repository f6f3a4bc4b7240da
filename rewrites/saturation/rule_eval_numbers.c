// Arithmetic and comparisons. Integers that overflow have no value.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "rewrites/saturation/rule_eval.h"

// One operation: on integers, on open sizes, on floating-point numbers.
typedef struct operation {
  bool (*on_ints)(int64_t a, int64_t b, int64_t *out);
  bool (*on_sizes)(int64_t a, int64_t b, int64_t *out);
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

// Quotients of sizes: with a rest, without.
static bool mod_sizes(int64_t a, int64_t b, int64_t *out) {
  return eg_size_floor_div(a, b, out) && eg_size_mul(*out, b, out) &&
         eg_size_sub(a, *out, out);
}
static bool div_sizes(int64_t a, int64_t b, int64_t *out) {
  int64_t whole;
  return eg_size_floor_div(a, b, out) && eg_size_mul(*out, b, &whole) &&
         eg_size_same(whole, a);
}

static double add_floats(double a, double b) { return a + b; }
static double sub_floats(double a, double b) { return a - b; }
static double mul_floats(double a, double b) { return a * b; }
static double div_floats(double a, double b) { return a / b; }
static double floor_div_floats(double a, double b) { return floor(a / b); }
static double mod_floats(double a, double b) { return a - b * floor(a / b); }

static bool is_open(const eg_rule_value *value) {
  return value->kind == EG_RULE_INT && eg_size_is_open(value->i);
}

static bool apply_to_ints(operation op, int64_t a, int64_t b, int64_t *out) {
  bool any = eg_size_is_open(a) || eg_size_is_open(b);
  return any ? op.on_sizes(a, b, out) : op.on_ints(a, b, out);
}

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
    if (!apply_to_ints(op, item(a, i), item(b, i), &data[i])) return false;
  *out = (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = len}};
  return true;
}

static bool apply(eg_rule_env *env, operation op, const eg_rule_value *a,
                  const eg_rule_value *b, eg_rule_value *out) {
  if (a->kind == EG_RULE_INTS || b->kind == EG_RULE_INTS)
    return on_lists(env, op, a, b, out);
  if (a->kind == EG_RULE_FLOAT || b->kind == EG_RULE_FLOAT) {
    if (is_open(a) || is_open(b)) return false;
    *out = eg_rule_float(op.on_floats(eg_rule_number(a), eg_rule_number(b)));
    return !isnan(out->f);
  }
  out->kind = EG_RULE_INT;
  return apply_to_ints(op, a->i, b->i, &out->i);
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

#define NUMERIC(name, int_op, size_op, float_op)                                         \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out) {                                         \
    return fold(env, (operation){int_op, size_op, float_op}, args, count, out);          \
  }
NUMERIC(add, add_ints, eg_size_add, add_floats)
NUMERIC(mul, mul_ints, eg_size_mul, mul_floats)
NUMERIC(div, div_ints, div_sizes, div_floats)
NUMERIC(floor_div, floor_div_ints, eg_size_floor_div, floor_div_floats)
NUMERIC(mod, mod_ints, mod_sizes, mod_floats)
NUMERIC(min, min_ints, eg_size_min, fmin)
NUMERIC(max, max_ints, eg_size_max, fmax)

bool eg_rule_eval_sub(eg_rule_env *env, const eg_rule_value *args, uint32_t count,
                      eg_rule_value *out) {
  operation op = {sub_ints, eg_size_sub, sub_floats};
  eg_rule_value zero = eg_rule_int(0);
  if (count == 1) return apply(env, op, &zero, &args[0], out);
  return apply(env, op, &args[0], &args[1], out);
}

#define REAL(name, expression)                                                           \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out) {                                         \
    (void)env;                                                                           \
    if (is_open(&args[0]) || is_open(&args[count - 1])) return false;                    \
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
  if (is_open(&args[0])) return false;
  const double most = 9007199254740992; // 2^53: beyond it floats skip whole numbers
  double a = eg_rule_number(&args[0]);
  if (!(fabs(a) <= most) || a != floor(a)) return false;
  *out = eg_rule_int((int64_t)a);
  return true;
}

// ---- truth: no value where it holds at some sizes of open dimensions only

static bool decide(bool holds, bool fails, eg_rule_value *out) {
  *out = eg_rule_bool(holds);
  return holds || fails;
}

/// Whether a < b; false of NaN, as every comparison.
static bool decide_less(const eg_rule_value *a, const eg_rule_value *b,
                        eg_rule_value *out) {
  int64_t more;
  bool are_ints = a->kind == EG_RULE_INT && b->kind == EG_RULE_INT;
  if (!are_ints) {
    bool is_less = eg_rule_number(a) < eg_rule_number(b);
    return !is_open(a) && !is_open(b) && decide(is_less, !is_less, out);
  }
  bool fails = eg_size_at_least(a->i, b->i);
  bool holds = !fails && eg_size_add(a->i, 1, &more) && eg_size_at_least(b->i, more);
  return decide(holds, fails, out);
}

static bool decide_at_most(const eg_rule_value *a, const eg_rule_value *b,
                           eg_rule_value *out) {
  bool are_ints = a->kind == EG_RULE_INT && b->kind == EG_RULE_INT;
  if (are_ints) {
    bool has_value = decide_less(b, a, out);
    *out = eg_rule_bool(out->i == 0);
    return has_value;
  }
  bool is_at_most = eg_rule_number(a) <= eg_rule_number(b);
  return !is_open(a) && !is_open(b) && decide(is_at_most, !is_at_most, out);
}

static bool negate(bool has_value, eg_rule_value *out) {
  *out = eg_rule_bool(out->i == 0);
  return has_value;
}

static bool decide_sizes(eg_ints a, eg_ints b, eg_rule_value *out) {
  bool holds = a.len == b.len, fails = a.len != b.len;
  for (uint32_t i = 0; !fails && i < a.len; i++) {
    holds = holds && eg_size_same(a.data[i], b.data[i]);
    fails = eg_size_differs(a.data[i], b.data[i]);
  }
  return decide(holds && !fails, fails, out);
}

bool eg_rule_decide_same(eg_ints a, eg_ints b, eg_rule_value *out) {
  return decide_sizes(a, b, out);
}

static bool decide_equal(eg_rule_env *env, const eg_rule_value *a, const eg_rule_value *b,
                         eg_rule_value *out) {
  if (a->kind == EG_RULE_INTS && b->kind == EG_RULE_INTS)
    return decide_sizes(a->ints, b->ints, out);
  if (a->kind == EG_RULE_INT && b->kind == EG_RULE_INT)
    return decide_sizes((eg_ints){(int64_t *)(uintptr_t)&a->i, 1},
                        (eg_ints){(int64_t *)(uintptr_t)&b->i, 1}, out);
  if (is_open(a) || is_open(b)) return false;
  bool holds = eg_rule_values_equal(env, a, b);
  return decide(holds, !holds, out);
}

#define TRUTH(name, expression)                                                          \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out) {                                         \
    (void)env, (void)count;                                                              \
    return expression;                                                                   \
  }
TRUTH(lt, decide_less(&args[0], &args[1], out))
TRUTH(le, decide_at_most(&args[0], &args[1], out))
TRUTH(gt, decide_less(&args[1], &args[0], out))
TRUTH(ge, decide_at_most(&args[1], &args[0], out))
TRUTH(finite, !is_open(&args[0]) && decide(isfinite(eg_rule_number(&args[0])),
                                           !isfinite(eg_rule_number(&args[0])), out))
TRUTH(eq, decide_equal(env, &args[0], &args[1], out))
TRUTH(ne, negate(decide_equal(env, &args[0], &args[1], out), out))
TRUTH(not, decide(args[0].i == 0, args[0].i != 0, out))

/// The rest of a division by a number.
static bool decide_rest(int64_t a, int64_t b, int64_t wanted, eg_rule_value *out) {
  const operation op = {mod_ints, mod_sizes, mod_floats};
  int64_t rest;
  if (!apply_to_ints(op, a, b, &rest)) return false;
  return decide(eg_size_same(rest, wanted), eg_size_differs(rest, wanted), out);
}
TRUTH(even, decide_rest(args[0].i, 2, 0, out))
TRUTH(odd, decide_rest(args[0].i, 2, 1, out))
TRUTH(divides, decide_rest(args[1].i, args[0].i, 0, out))
