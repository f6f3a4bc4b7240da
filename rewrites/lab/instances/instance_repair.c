// Makes false conditions true by changing one attribute or leaf (tensor) of the current
// term: equations by instance_solve.c, inequalities by a number in the interval that all
// allow. The result may still be wrong; the conditions are evaluated afterwards.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rewrites/lab/instances/instance_numbers.h"
#include "rewrites/lab/instances/instance_repair.h"
#include "rewrites/lab/instances/instance_ways.h"

typedef struct interval {
  double low, high;
  bool low_open, high_open;
} interval;

/// Narrows the interval in which operand `side` of an inequality must lie, if the
/// inequality is to hold.
static void narrow_by_bound(repair *r, const eg_rule_expr *call, uint32_t side,
                            interval *inout) {
  eg_rule_value other;
  if (!eg_repair_value_of(r, call->args[1 - side], &other)) return;
  double bound = eg_rule_number(&other);
  eg_rule_function how = call->function;
  bool is_open = how == EG_RULE_FN_LT || how == EG_RULE_FN_GT;
  bool is_below = (how == EG_RULE_FN_LT || how == EG_RULE_FN_LE) == (side == 0);
  if (is_below && bound <= inout->high) {
    inout->high_open = is_open || (bound == inout->high && inout->high_open);
    inout->high = bound;
  } else if (!is_below && bound >= inout->low) {
    inout->low_open = is_open || (bound == inout->low && inout->low_open);
    inout->low = bound;
  }
}

/// Narrows the interval of an expression's value so that a condition of the rule holds.
static void narrow_by(repair *r, uint32_t condition, uint32_t expr, interval *inout) {
  const eg_rule *rule = r->draws->rule;
  const eg_rule_expr *call = &rule->exprs[condition];
  if (call->form != EG_RULE_EXPR_CALL) return;
  if (call->function == EG_RULE_FN_AND)
    for (uint32_t i = 0; i < call->arg_count; i++)
      narrow_by(r, call->args[i], expr, inout);
  if (call->function != EG_RULE_FN_LT && call->function != EG_RULE_FN_LE &&
      call->function != EG_RULE_FN_GT && call->function != EG_RULE_FN_GE)
    return;
  for (uint32_t side = 0; side < 2; side++)
    if (eg_same_expr(rule, call->args[side], expr)) narrow_by_bound(r, call, side, inout);
}

static bool pick_between(repair *r, const interval *of, bool is_whole,
                         eg_rule_value *out) {
  double low = of->low, high = of->high, unit = eg_rng_unit(&r->draws->rng);
  if (is_whole) {
    low = isfinite(low) ? floor(low) + (of->low_open || floor(low) < low) : high - 4;
    high = isfinite(high) ? ceil(high) - (of->high_open || ceil(high) > high) : low + 4;
    if (!(low <= high) || !isfinite(low) || !isfinite(high) || fabs(low) > 1e15 ||
        fabs(high) > 1e15)
      return false;
    *out = eg_rule_int((int64_t)(low + floor(unit * (high - low + 1))));
    return true;
  }
  bool is_between = r->draws->choice.is_between;
  if (!isfinite(low)) low = is_between ? ceil(high) - 1 : high - 4;
  if (!isfinite(high)) high = is_between ? floor(low) + 1 : low + 4;
  if (!isfinite(low) || low > high) return false;
  *out = eg_rule_float((double)(float)(low + (0.05 + 0.9 * unit) * (high - low)));
  return true;
}

static bool solve_order(repair *r, const eg_rule_expr *call) {
  const eg_rule *rule = r->draws->rule;
  for (uint32_t side = 0; side < 2; side++) {
    interval left = {.low = -INFINITY, .high = INFINITY};
    narrow_by_bound(r, call, side, &left);
    for (uint32_t i = 0; i < rule->condition_count; i++)
      narrow_by(r, rule->conditions[i], call->args[side], &left);
    bool is_whole = rule->exprs[call->args[side]].kind == EG_RULE_INT;
    eg_rule_value value;
    if (pick_between(r, &left, is_whole, &value) &&
        eg_repair_solve(r, call->args[side], &value))
      return true;
  }
  return false;
}

// ---- conditions ---------------------------------------------------------------------

static bool solve_equal(repair *r, const eg_rule_expr *call) {
  uint32_t first = eg_repair_below(r, 2);
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t side = first ^ i;
    eg_rule_value value;
    if (eg_repair_value_of(r, call->args[1 - side], &value) &&
        value.kind != EG_RULE_TENSOR && eg_repair_solve(r, call->args[side], &value))
      return true;
  }
  return false;
}

static bool solve_unequal(repair *r, const eg_rule_expr *call) {
  for (uint32_t side = 0; side < 2; side++) {
    eg_rule_value value, one = eg_rule_int(1 + eg_repair_below(r, 3)), result;
    if (eg_repair_value_of(r, call->args[1 - side], &value) &&
        (value.kind == EG_RULE_INT || value.kind == EG_RULE_FLOAT) &&
        eg_repair_combine(r, PLUS, &value, &one, &result) &&
        eg_repair_solve(r, call->args[side], &result))
      return true;
  }
  return false;
}

/// Makes operand 2 of `divides` a multiple of operand 1 or, unless `wanted`, no multiple.
static bool solve_divides(repair *r, const eg_rule_expr *call, bool wanted) {
  int64_t divisor, multiple;
  if (eg_repair_int_of(r, call->args[0], &divisor) && divisor > 0 && divisor < 1000) {
    int64_t value = divisor * (1 + (int64_t)eg_repair_below(r, 3)) + (wanted ? 0 : 1);
    if (eg_repair_solve_int(r, call->args[1], value)) return true;
  }
  if (!wanted || !eg_repair_int_of(r, call->args[1], &multiple) || multiple < 1)
    return false;
  int64_t found = 1;
  for (int64_t i = 2; i <= multiple && i < 20; i++)
    if (multiple % i == 0 && eg_repair_below(r, 2) == 0) found = i;
  return eg_repair_solve_int(r, call->args[0], found);
}

static int compare_ints(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/// Solves all-equal, all-odd, sorted and perm-identity, which determine a
/// list's elements.
static bool solve_elements_of(repair *r, const eg_rule_expr *call) {
  eg_rule_value list;
  int64_t value = 0;
  if (!eg_repair_value_of(r, call->args[0], &list)) return false;
  bool is_equal = call->function == EG_RULE_FN_ALL_EQUAL;
  if (is_equal && !eg_repair_int_of(r, call->args[1], &value)) return false;
  int64_t *copy = eg_repair_copy(r, list.ints, list.ints.len);
  if (copy == NULL) return false;
  for (uint32_t i = 0; i < list.ints.len; i++) {
    if (is_equal) copy[i] = value;
    if (call->function == EG_RULE_FN_ALL_ODD) copy[i] |= 1;
    if (call->function == EG_RULE_FN_PERM_IDENTITY) copy[i] = i;
  }
  if (call->function == EG_RULE_FN_SORTED && list.ints.len > 1)
    qsort(copy, list.ints.len, sizeof *copy, compare_ints);
  return eg_repair_solve_list(r, call->args[0], copy, list.ints.len);
}

static bool solve_contains(repair *r, const eg_rule_expr *call) {
  eg_rule_value list;
  int64_t value;
  if (!eg_repair_value_of(r, call->args[0], &list) || list.ints.len == 0) return false;
  uint32_t at = eg_repair_below(r, list.ints.len);
  return eg_repair_solve_int(r, call->args[1], list.ints.data[at]) ||
         (eg_repair_int_of(r, call->args[1], &value) &&
          eg_repair_solve_element(r, call->args[0], list.ints, at, value));
}

// ---- types --------------------------------------------------------------------------

/// Gives the first operand of a condition, a drawn tensor, a shape that broadcasts
/// to `dims`.
static bool shrink_to(repair *r, uint32_t expr, eg_ints dims) {
  uint32_t var;
  const eg_verify_leaf *leaf = eg_repair_leaf(r, expr, &var);
  if (leaf == NULL || dims.len > EGRAPH_MAX_RANK) return false;
  uint32_t rank = eg_repair_below(r, dims.len + 1);
  eg_type type = eg_type_of(leaf->type.dtype, rank, dims.data + (dims.len - rank));
  for (uint32_t i = 0; i < rank; i++)
    if (eg_repair_below(r, 4) == 0) type.dims[i] = 1;
  return eg_repair_set_type(r, expr, &type);
}

static bool solve_broadcast(repair *r, const eg_rule_expr *call) {
  const eg_type *to = eg_repair_type_of(r, call->args[1]);
  if (to != NULL && shrink_to(r, call->args[0], (eg_ints){to->dims, to->rank}))
    return true;
  const eg_type *from = eg_repair_type_of(r, call->args[0]);
  if (from == NULL) return false;
  eg_type type = *from;
  return eg_repair_set_type(r, call->args[1], &type);
}

static bool solve_broadcast_to_shape(repair *r, const eg_rule_expr *call) {
  eg_rule_value shape;
  const eg_type *from = eg_repair_type_of(r, call->args[0]);
  if (eg_repair_value_of(r, call->args[1], &shape) &&
      shrink_to(r, call->args[0], shape.ints))
    return true;
  if (from == NULL) return false;
  int64_t *dims = eg_repair_copy(r, (eg_ints){from->dims, from->rank}, from->rank);
  if (dims == NULL) return false;
  return eg_repair_solve_list(r, call->args[1], dims, from->rank);
}

static bool solve_same_type(repair *r, const eg_rule_expr *call) {
  for (uint32_t side = 0; side < 2; side++) {
    const eg_type *other = eg_repair_type_of(r, call->args[1 - side]);
    const eg_type *own = eg_repair_type_of(r, call->args[side]);
    if (other == NULL || own == NULL) return false;
    eg_type type = *other;
    if (call->function == EG_RULE_FN_SAME_SHAPE) type.dtype = own->dtype;
    if (call->function == EG_RULE_FN_SAME_DTYPE) {
      type = *own;
      type.dtype = other->dtype;
    }
    if (eg_repair_set_type(r, call->args[side], &type)) return true;
  }
  return false;
}

// ---- all conditions -------------------------------------------------------------------

static bool satisfy(repair *r, uint32_t condition, bool wanted);

/// Makes a call of `and` or `or` true, or false unless `wanted`. For true, all operands
/// of `and`, or one of `or`, must be true; for false, one of `and`, or all of `or`, must
/// be false.
static bool satisfy_operands(repair *r, const eg_rule_expr *call, bool wanted) {
  bool all = (call->function == EG_RULE_FN_AND) == wanted, done = true;
  if (!all) return satisfy(r, call->args[eg_repair_below(r, call->arg_count)], wanted);
  for (uint32_t i = 0; i < call->arg_count; i++)
    done = satisfy(r, call->args[i], wanted) && done;
  return done;
}

/// Makes a condition true or, unless `wanted`, false.
typedef bool satisfier(repair *r, const eg_rule_expr *call, bool wanted);

static bool satisfy_equal(repair *r, const eg_rule_expr *call, bool wanted) {
  bool equal = (call->function == EG_RULE_FN_EQ) == wanted;
  return equal ? solve_equal(r, call) : solve_unequal(r, call);
}

static bool satisfy_parity(repair *r, const eg_rule_expr *call, bool wanted) {
  bool odd = (call->function == EG_RULE_FN_ODD) == wanted;
  int64_t is;
  return eg_repair_int_of(r, call->args[0], &is) && (is % 2 != 0) != odd &&
         is != INT64_MAX && eg_repair_solve_int(r, call->args[0], is + 1);
}

static bool satisfy_call(repair *r, const eg_rule_expr *call, bool wanted) {
  static satisfier *const satisfiers[EG_RULE_FN_COUNT] = {
      [EG_RULE_FN_EQ] = satisfy_equal,
      [EG_RULE_FN_NE] = satisfy_equal,
      [EG_RULE_FN_ODD] = satisfy_parity,
      [EG_RULE_FN_EVEN] = satisfy_parity,
      [EG_RULE_FN_DIVIDES] = solve_divides};
  static bool (*const others[EG_RULE_FN_COUNT])(repair *, const eg_rule_expr *) = {
      [EG_RULE_FN_LT] = solve_order,
      [EG_RULE_FN_LE] = solve_order,
      [EG_RULE_FN_GT] = solve_order,
      [EG_RULE_FN_GE] = solve_order,
      [EG_RULE_FN_ALL_EQUAL] = solve_elements_of,
      [EG_RULE_FN_ALL_ODD] = solve_elements_of,
      [EG_RULE_FN_SORTED] = solve_elements_of,
      [EG_RULE_FN_PERM_IDENTITY] = solve_elements_of,
      [EG_RULE_FN_CONTAINS] = solve_contains,
      [EG_RULE_FN_BROADCASTS_TO] = solve_broadcast,
      [EG_RULE_FN_BROADCASTS_TO_SHAPE] = solve_broadcast_to_shape,
      [EG_RULE_FN_SAME_SHAPE] = solve_same_type,
      [EG_RULE_FN_SAME_TYPE] = solve_same_type,
      [EG_RULE_FN_SAME_DTYPE] = solve_same_type};
  if (satisfiers[call->function] != NULL)
    return satisfiers[call->function](r, call, wanted);
  return wanted && others[call->function] != NULL && others[call->function](r, call);
}

static bool satisfy(repair *r, uint32_t condition, bool wanted) {
  const eg_rule_expr *call = &r->draws->rule->exprs[condition];
  eg_rule_value is;
  if (call->form != EG_RULE_EXPR_CALL || !eg_verify_can_eval(r->draws, condition))
    return false;
  if (eg_rule_eval(&r->draws->env, condition, &is) && (is.i != 0) == wanted) return true;
  if (call->function == EG_RULE_FN_NOT) return satisfy(r, call->args[0], !wanted);
  if (call->function == EG_RULE_FN_AND || call->function == EG_RULE_FN_OR)
    return satisfy_operands(r, call, wanted);
  return satisfy_call(r, call, wanted);
}

/// Gives the expression of the current class its outcome (below, at, above; true, false),
/// once this term decides it.
static void go_way(repair *r, uint64_t bound) {
  eg_verify_draws *draws = r->draws;
  const eg_instance_aim *aim = draws->aim;
  if (aim == NULL || aim->subject != EG_INSTANCE_WAY) return;
  uint64_t needs = draws->hints.needs[aim->expr];
  bool is_of_term = (needs & ~bound) != 0 && (needs & ~draws->bound) == 0, is_wanted;
  if (!is_of_term) return;
  for (uint32_t i = 0; aim->is_chosen && i < draws->rule->expr_count; i++)
    if (eg_way_leads_through(draws->rule, aim->expr, i, &is_wanted))
      (void)satisfy(r, draws->rule->exprs[i].args[0], is_wanted);
  if (eg_way_is_gone(&draws->env, aim)) return;
  const eg_rule_expr *call = &draws->rule->exprs[aim->expr];
  eg_way_kind kind = eg_way_kind_of(draws->rule, aim->expr);
  if (kind == EG_WAY_TRUTH) (void)satisfy(r, aim->expr, aim->value != 0);
  uint32_t first = eg_repair_below(r, 2);
  for (uint32_t i = 0; i < 2 && kind != EG_WAY_TRUTH; i++) {
    uint32_t side = kind == EG_WAY_ORDER ? first ^ i : 0;
    eg_rule_value other, value;
    if (!eg_repair_value_of(r, call->args[1 - side], &other)) continue;
    bool is_whole = draws->rule->exprs[call->args[side]].kind == EG_RULE_INT;
    double number = eg_rule_number(&other);
    if (kind == EG_WAY_REMAINDER && (number < 1 || number > 1000)) return;
    if (kind == EG_WAY_ORDER)
      number = eg_named_draw(number, side == 0 ? aim->value : -aim->value, is_whole,
                             &draws->choice);
    else
      number =
          number * eg_repair_below(r, 3) +
          (aim->value != 0 ? 1 + eg_repair_below(r, (uint32_t)number - (number > 1)) : 0);
    if (!isfinite(number) || (is_whole && fabs(number) > 1e15)) continue;
    value = is_whole ? eg_rule_int((int64_t)number) : eg_rule_float(number);
    if (eg_repair_solve(r, call->args[side], &value)) return;
  }
}

enum { PASSES = 2, PERCENT = 80 };

void eg_verify_repair(eg_verify_draws *draws, const eg_rule_term *term, uint64_t bound) {
  repair r = {.draws = draws, .term = term, .before = bound};
  uint64_t kept = draws->bound;
  const eg_rule *rule = draws->rule;
  // The term's attributes count as bound while conditions are solved.
  eg_verify_bind_slots(draws, term, draws->choice.slots);
  bool has_lets = eg_verify_bind_lets(draws);
  bool is_steered = eg_repair_below(&r, 100) < PERCENT;
  for (uint32_t pass = 0; has_lets && pass < PASSES; pass++) {
    if (is_steered) go_way(&r, bound);
    for (uint32_t i = 0; i < rule->condition_count; i++) {
      uint64_t needs = draws->hints.needs[rule->conditions[i]];
      bool is_of_term = (needs & ~bound) != 0 && (needs & ~draws->bound) == 0;
      if (is_of_term && eg_repair_below(&r, 100) < PERCENT)
        (void)satisfy(&r, rule->conditions[i], true);
    }
  }
  draws->bound = kept;
}
