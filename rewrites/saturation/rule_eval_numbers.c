// Numbers, and lists of integers: shapes, permutations, pads. Integers that overflow have
// no value.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "rewrites/saturation/rule_eval.h"

// An operation in three versions: on integers, on open sizes, on floating-point numbers.
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
  // Multiplies magnitudes, so that one overflow check serves all signs; refuses the
  // least integer.
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

// Compute the remainder of open sizes, and their quotient if there is no remainder.
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

static bool is_open_value(const eg_rule_value *value) {
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

static bool apply_operation(eg_rule_env *env, operation op, const eg_rule_value *a,
                            const eg_rule_value *b, eg_rule_value *out) {
  if (a->kind == EG_RULE_INTS || b->kind == EG_RULE_INTS)
    return on_lists(env, op, a, b, out);
  if (a->kind == EG_RULE_FLOAT || b->kind == EG_RULE_FLOAT) {
    if (is_open_value(a) || is_open_value(b)) return false;
    *out = eg_rule_float(op.on_floats(eg_rule_number(a), eg_rule_number(b)));
    return !isnan(out->f);
  }
  out->kind = EG_RULE_INT;
  return apply_to_ints(op, a->i, b->i, &out->i);
}

static bool fold_arguments(eg_rule_env *env, operation op, const eg_rule_value *args,
                           uint32_t count, eg_rule_value *out) {
  eg_rule_value total = args[0];
  for (uint32_t i = 1; i < count; i++) {
    eg_rule_value next;
    if (!apply_operation(env, op, &total, &args[i], &next)) return false;
    total = next;
  }
  *out = total;
  return true;
}

#define NUMERIC(name, int_op, size_op, float_op)                                         \
  static const operation op_##name = {int_op, size_op, float_op};                        \
  EG_RULE_ROW(name, fold_arguments(env, op_##name, args, count, out))
NUMERIC(add, add_ints, eg_size_add, add_floats)
NUMERIC(mul, mul_ints, eg_size_mul, mul_floats)
NUMERIC(div, div_ints, div_sizes, div_floats)
NUMERIC(floor_div, floor_div_ints, eg_size_floor_div, floor_div_floats)
NUMERIC(mod, mod_ints, mod_sizes, mod_floats)
NUMERIC(min, min_ints, eg_size_min, fmin)
NUMERIC(max, max_ints, eg_size_max, fmax)

EG_RULE_EVALUATOR(sub) {
  operation op = {sub_ints, eg_size_sub, sub_floats};
  eg_rule_value zero = eg_rule_int(0);
  if (count == 1) return apply_operation(env, op, &zero, &args[0], out);
  return apply_operation(env, op, &args[0], &args[1], out);
}

#define REAL(name, expression)                                                           \
  EG_RULE_EVALUATOR(name) {                                                              \
    if (is_open_value(&args[0]) || is_open_value(&args[count - 1])) return false;        \
    double a = eg_rule_number(&args[0]);                                                 \
    *out = eg_rule_float(expression);                                                    \
    return !isnan(out->f);                                                               \
  }
REAL(sqrt, sqrt(a))
REAL(exp, exp(a))
REAL(float, a)
REAL(pow, pow(a, eg_rule_number(&args[1])))

EG_RULE_EVALUATOR(whole) {
  if (is_open_value(&args[0])) return false;
  const double most = 9007199254740992; // 2^53: above it floats skip whole numbers
  double a = eg_rule_number(&args[0]);
  if (!(fabs(a) <= most) || a != floor(a)) return false;
  *out = eg_rule_int((int64_t)a);
  return true;
}

// ---- conditions: no value where they hold at some sizes of open dimensions only ----

static bool decide_truth(bool holds, bool fails, eg_rule_value *out) {
  *out = eg_rule_bool(holds);
  return holds || fails;
}

/// Decides a < b; false when one is NaN, as for every comparison.
static bool decide_less(const eg_rule_value *a, const eg_rule_value *b,
                        eg_rule_value *out) {
  int64_t more;
  bool are_ints = a->kind == EG_RULE_INT && b->kind == EG_RULE_INT;
  if (!are_ints) {
    bool is_less = eg_rule_number(a) < eg_rule_number(b);
    return !is_open_value(a) && !is_open_value(b) && decide_truth(is_less, !is_less, out);
  }
  bool fails = eg_size_at_least(a->i, b->i);
  bool holds = !fails && eg_size_add(a->i, 1, &more) && eg_size_at_least(b->i, more);
  return decide_truth(holds, fails, out);
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
  return !is_open_value(a) && !is_open_value(b) &&
         decide_truth(is_at_most, !is_at_most, out);
}

static bool negate(bool has_value, eg_rule_value *out) {
  *out = eg_rule_bool(out->i == 0);
  return has_value;
}

bool eg_rule_decide_same(eg_ints a, eg_ints b, eg_rule_value *out) {
  bool holds = a.len == b.len, fails = a.len != b.len;
  for (uint32_t i = 0; !fails && i < a.len; i++) {
    holds = holds && eg_size_same(a.data[i], b.data[i]);
    fails = eg_size_differs(a.data[i], b.data[i]);
  }
  return decide_truth(holds && !fails, fails, out);
}

static bool decide_equal(eg_rule_env *env, const eg_rule_value *a, const eg_rule_value *b,
                         eg_rule_value *out) {
  if (a->kind == EG_RULE_INTS && b->kind == EG_RULE_INTS)
    return eg_rule_decide_same(a->ints, b->ints, out);
  if (a->kind == EG_RULE_INT && b->kind == EG_RULE_INT)
    return eg_rule_decide_same((eg_ints){&a->i, 1}, (eg_ints){&b->i, 1}, out);
  if (is_open_value(a) || is_open_value(b)) return false;
  bool holds = eg_rule_values_equal(env, a, b);
  return decide_truth(holds, !holds, out);
}

EG_RULE_ROW(lt, decide_less(&args[0], &args[1], out))
EG_RULE_ROW(le, decide_at_most(&args[0], &args[1], out))
EG_RULE_ROW(gt, decide_less(&args[1], &args[0], out))
EG_RULE_ROW(ge, decide_at_most(&args[1], &args[0], out))
EG_RULE_ROW(finite, !is_open_value(&args[0]) &&
                        decide_truth(isfinite(eg_rule_number(&args[0])),
                                     !isfinite(eg_rule_number(&args[0])), out))
EG_RULE_ROW(eq, decide_equal(env, &args[0], &args[1], out))
EG_RULE_ROW(ne, negate(decide_equal(env, &args[0], &args[1], out), out))
EG_RULE_ROW(not, decide_truth(args[0].i == 0, args[0].i != 0, out))

/// Sets *out to whether the remainder of a / b equals `wanted`.
static bool decide_rest(int64_t a, int64_t b, int64_t wanted, eg_rule_value *out) {
  int64_t rest;
  if (!apply_to_ints(op_mod, a, b, &rest)) return false;
  return decide_truth(eg_size_same(rest, wanted), eg_size_differs(rest, wanted), out);
}
EG_RULE_ROW(even, decide_rest(args[0].i, 2, 0, out))
EG_RULE_ROW(odd, decide_rest(args[0].i, 2, 1, out))
EG_RULE_ROW(divides, decide_rest(args[1].i, args[0].i, 0, out))

// ---- lists ----------------------------------------------------------------------

// Makes a new list of `len` items the result. NULL when it does not fit.
static int64_t *new_list(eg_rule_env *env, int64_t len, eg_rule_value *out) {
  if (len < 0 || len > EG_RULE_SCRATCH_INTS) return NULL;
  int64_t *data = eg_rule_ints(env, (uint32_t)len);
  *out =
      (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = (uint32_t)len}};
  return data;
}

static void copy_items(int64_t *to, const int64_t *from, uint32_t count) {
  if (count != 0) memcpy(to, from, count * sizeof *to);
}

EG_RULE_EVALUATOR(list) {
  int64_t *data = new_list(env, count, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < count; i++)
    data[i] = args[i].i;
  return true;
}

EG_RULE_EVALUATOR(append) {
  int64_t len = 0;
  for (uint32_t i = 0; i < count; i++)
    len += args[i].ints.len;
  int64_t *data = new_list(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < count; i++) {
    copy_items(data, args[i].ints.data, args[i].ints.len);
    data += args[i].ints.len;
  }
  return true;
}

EG_RULE_EVALUATOR(repeat) {
  int64_t *data = new_list(env, args[1].i, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < out->ints.len; i++)
    data[i] = args[0].i;
  return true;
}

EG_RULE_EVALUATOR(range) {
  int64_t first = args[0].i, end = args[1].i;
  if (eg_size_is_open(first) || eg_size_is_open(end)) return false;
  if (first < -EG_RULE_SCRATCH_INTS || end > EG_RULE_SCRATCH_INTS) return false;
  int64_t *data = new_list(env, end > first ? end - first : 0, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < out->ints.len; i++)
    data[i] = first + (int64_t)i;
  return true;
}

EG_RULE_ROW(len, eg_rule_give(eg_rule_int(args[0].ints.len), out))

EG_RULE_EVALUATOR(at) {
  uint32_t index;
  if (!eg_rule_index(args[1].i, args[0].ints.len, &index)) return false;
  *out = eg_rule_int(args[0].ints.data[index]);
  return true;
}

static bool fold_items(operation op, eg_ints list, int64_t total, eg_rule_value *out) {
  for (uint32_t i = 0; i < list.len; i++)
    if (!apply_to_ints(op, total, list.data[i], &total)) return false;
  return eg_rule_give(eg_rule_int(total), out);
}
EG_RULE_ROW(sum, fold_items(op_add, args[0].ints, 0, out))
EG_RULE_ROW(product, fold_items(op_mul, args[0].ints, 1, out))

EG_RULE_EVALUATOR(index_of) {
  for (uint32_t i = 0; i < args[0].ints.len; i++) {
    if (eg_size_same(args[0].ints.data[i], args[1].i)) {
      *out = eg_rule_int(i);
      return true;
    }
    if (!eg_size_differs(args[0].ints.data[i], args[1].i)) return false;
  }
  return false;
}

static bool give_range(const eg_rule_value *list, int64_t first, int64_t end,
                       eg_rule_value *out) {
  if (first < 0 || end < first || end > (int64_t)list->ints.len) return false;
  out->kind = EG_RULE_INTS;
  out->ints = (eg_ints){.len = (uint32_t)(end - first)};
  if (out->ints.len != 0) out->ints.data = list->ints.data + first;
  return true;
}

EG_RULE_ROW(take, give_range(&args[0], 0, args[1].i, out))
EG_RULE_ROW(drop, give_range(&args[0], args[1].i, args[0].ints.len, out))

EG_RULE_EVALUATOR(set_at) {
  uint32_t index, len = args[0].ints.len;
  if (!eg_rule_index(args[1].i, len, &index)) return false;
  int64_t *data = new_list(env, len, out);
  if (data == NULL) return false;
  copy_items(data, args[0].ints.data, len);
  data[index] = args[2].i;
  return true;
}

EG_RULE_EVALUATOR(remove_at) {
  uint32_t index, len = args[0].ints.len;
  if (!eg_rule_index(args[1].i, len, &index)) return false;
  int64_t *data = new_list(env, (int64_t)len - 1, out);
  if (data == NULL) return false;
  copy_items(data, args[0].ints.data, index);
  copy_items(data + index, args[0].ints.data + index + 1, len - 1 - index);
  return true;
}

// The index may be the length: then the item comes last. A negative index counts from the
// end of the result.
EG_RULE_EVALUATOR(insert_at) {
  uint32_t index, len = args[0].ints.len;
  if (!eg_rule_index(args[1].i, len + 1, &index)) return false;
  int64_t *data = new_list(env, (int64_t)len + 1, out);
  if (data == NULL) return false;
  copy_items(data, args[0].ints.data, index);
  data[index] = args[2].i;
  if (index < len) copy_items(data + index + 1, args[0].ints.data + index, len - index);
  return true;
}

EG_RULE_EVALUATOR(reverse) {
  uint32_t len = args[0].ints.len;
  int64_t *data = new_list(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < len; i++)
    data[i] = args[0].ints.data[len - 1 - i];
  return true;
}

// Sorts by insertion, because the lists are axes and shapes.
EG_RULE_EVALUATOR(sort) {
  uint32_t len = args[0].ints.len;
  if (len > 64 || (len > 1 && eg_size_any_open(args[0].ints.data, len))) return false;
  int64_t *data = new_list(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < len; i++) {
    uint32_t at = i;
    for (; at > 0 && data[at - 1] > args[0].ints.data[i]; at--)
      data[at] = data[at - 1];
    data[at] = args[0].ints.data[i];
  }
  return true;
}

// ---- permutations ---------------------------------------------------------------

EG_RULE_EVALUATOR(perm_apply) {
  uint32_t len = args[0].ints.len;
  if (args[1].ints.len != len) return false;
  int64_t *data = new_list(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < len; i++) {
    int64_t from = args[0].ints.data[i];
    if (from < 0 || from >= (int64_t)len) return false;
    data[i] = args[1].ints.data[from];
  }
  return true;
}

EG_RULE_EVALUATOR(perm_inverse) {
  uint32_t len = args[0].ints.len;
  int64_t *data = new_list(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < len; i++)
    data[i] = -1;
  for (uint32_t i = 0; i < len; i++) {
    int64_t to = args[0].ints.data[i];
    if (to < 0 || to >= (int64_t)len || data[to] >= 0) return false;
    data[to] = i;
  }
  return true;
}

EG_RULE_EVALUATOR(perm_swap) {
  uint32_t i, j;
  int64_t *data = new_list(env, args[0].i, out);
  if (data == NULL || !eg_rule_index(args[1].i, out->ints.len, &i) ||
      !eg_rule_index(args[2].i, out->ints.len, &j))
    return false;
  for (uint32_t k = 0; k < out->ints.len; k++)
    data[k] = k;
  data[i] = j;
  data[j] = i;
  return true;
}

// ---- conditions -----------------------------------------------------------------

/// A test of a list element. A list function decides if all elements pass; it gives no
/// value when some pass only at some sizes of open dimensions.
typedef bool item_test(int64_t item, int64_t other);

static bool decide_all(eg_ints list, item_test *holds, item_test *fails,
                       const int64_t *other, uint32_t step, eg_rule_value *out) {
  bool all = true, none = false;
  for (uint32_t i = 0; i < list.len; i++) {
    all = all && holds(list.data[i], other[i * step]);
    none = none || fails(list.data[i], other[i * step]);
  }
  *out = eg_rule_bool(all);
  return all || none;
}

EG_RULE_EVALUATOR(perm_identity) {
  bool identity = true;
  for (uint32_t i = 0; i < args[0].ints.len; i++)
    identity =
        identity && args[0].ints.data[i] == (int64_t)i; // a permutation has numbers
  *out = eg_rule_bool(identity);
  return true;
}

EG_RULE_ROW(all_equal,
            decide_all(args[0].ints, eg_size_same, eg_size_differs, &args[1].i, 0, out))

/// True when the remainder of an item divided by two is `rest`, at all sizes.
static bool has_parity(int64_t item, int64_t rest) {
  return !eg_size_is_open(item) && (item % 2 != 0) == (rest != 0);
}
static bool lacks_parity(int64_t item, int64_t rest) {
  return has_parity(item, rest == 0);
}
EG_RULE_EVALUATOR(all_odd) {
  const int64_t odd = 1;
  return decide_all(args[0].ints, has_parity, lacks_parity, &odd, 0, out);
}

EG_RULE_EVALUATOR(contains) {
  bool found = false, may_be = false;
  for (uint32_t i = 0; i < args[0].ints.len; i++) {
    found = found || eg_size_same(args[0].ints.data[i], args[1].i);
    may_be = may_be || !eg_size_differs(args[0].ints.data[i], args[1].i);
  }
  *out = eg_rule_bool(found);
  return found || !may_be;
}

static bool is_smaller(int64_t item, int64_t other) {
  int64_t more;
  return eg_size_add(item, 1, &more) && eg_size_at_least(other, more);
}

EG_RULE_EVALUATOR(sorted) {
  eg_ints list = args[0].ints, rest = {NULL, 0};
  if (list.len > 1) rest = (eg_ints){list.data + 1, list.len - 1};
  return decide_all(rest, eg_size_at_least, is_smaller, list.data, 1, out);
}
