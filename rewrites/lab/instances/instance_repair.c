// Conditions that do not hold are solved for one attribute or one leaf of the term at
// hand: equations are turned round until a variable stands alone, inequalities pick a
// number of the interval that all of them leave. Nothing is promised; the conditions are
// decided afterwards.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rewrites/lab/instances/instance_named.h"
#include "rewrites/lab/instances/instance_repair.h"
#include "rewrites/lab/instances/instance_ways.h"

bool eg_repair_value_of(repair *r, uint32_t expr, eg_rule_value *out) {
  return eg_verify_can_eval(r->draws, expr) && eg_rule_eval(&r->draws->env, expr, out);
}

bool eg_repair_int_of(repair *r, uint32_t expr, int64_t *out) {
  eg_rule_value value;
  if (!eg_repair_value_of(r, expr, &value) || value.kind != EG_RULE_INT) return false;
  *out = value.i;
  return true;
}

static uint32_t below(repair *r, uint32_t bound) {
  return (uint32_t)eg_rng_below(&r->draws->rng, bound);
}

int64_t *eg_repair_copy(repair *r, eg_ints list, uint32_t len) {
  int64_t *copy = eg_rule_ints(&r->draws->env, len);
  for (uint32_t i = 0; copy != NULL && i < len; i++)
    copy[i] = i < list.len ? list.data[i] : 0;
  return copy;
}

eg_rule_value eg_repair_list(const int64_t *data, uint32_t len) {
  return (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = len}};
}

// ---- variables --------------------------------------------------------------------

/// The class that the draw is steered to stays.
static bool is_aimed_at(const repair *r, uint16_t slot) {
  const eg_instance_aim *aim = r->draws->choice.aim;
  bool has_slot = aim != NULL &&
                  (aim->subject == EG_INSTANCE_ATTR || aim->subject == EG_INSTANCE_VALUE);
  return has_slot && aim->slot == slot;
}

/// What is asked for may not be one as a whole, or be of another rank.
static void keep_permutation(repair *r, const eg_attr *slot, eg_rule_value *inout) {
  const int64_t *perm = eg_repair_perm(r, slot->ints, inout->ints);
  if (perm != NULL) *inout = eg_repair_list(perm, slot->ints.len);
}

/// Parts have the size that was cut up: others make up for those that change.
static void keep_sum(repair *r, const eg_attr *slot, eg_rule_value *inout) {
  eg_ints from = slot->ints, to = inout->ints;
  if (from.len != to.len || to.len == 0) return;
  int64_t *sizes = eg_repair_copy(r, to, to.len), more = 0;
  for (uint32_t i = 0; i < to.len; i++)
    more += to.data[i] - from.data[i];
  uint32_t first = below(r, to.len);
  for (uint32_t i = 0; sizes != NULL && i < to.len; i++) {
    uint32_t at = (first + i) % to.len;
    if (from.data[at] != to.data[at]) continue;
    int64_t by = more < sizes[at] ? more : sizes[at];
    sizes[at] -= by;
    more -= by;
  }
  if (sizes != NULL) *inout = eg_repair_list(sizes, to.len);
}

static bool solve_variable(repair *r, uint32_t var, const eg_rule_value *value) {
  eg_verify_draws *draws = r->draws;
  const eg_rule *rule = draws->rule;
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].var == var && !rule->lets[i].is_term)
      return eg_repair_solve(r, rule->lets[i].expr, value);
  if ((r->before >> var & 1) != 0) return false;
  eg_rule_value fitting = *value;
  if (rule->vars[var].kind == EG_RULE_FLOAT && value->kind == EG_RULE_INT)
    fitting = eg_rule_float((double)value->i);
  if (fitting.kind != rule->vars[var].kind) return false;
  bool found = false;
  for (uint16_t i = 0; i < draws->choice.info->attr_count; i++) {
    const eg_rule_slot *slot = &r->term->slots[i];
    if (slot->form != EG_RULE_SLOT_VAR || slot->index != var) continue;
    if (is_aimed_at(r, i)) return false;
    if (strcmp(draws->choice.info->attrs[i].name, "perm") == 0)
      keep_permutation(r, &draws->choice.slots[i], &fitting);
    if (strcmp(draws->choice.info->attrs[i].name, "sizes") == 0)
      keep_sum(r, &draws->choice.slots[i], &fitting);
    eg_attr attr;
    if (!eg_rule_attr_of_value(r->term->op, i, &fitting, &attr)) return false;
    draws->choice.slots[i] = attr;
    found = true;
  }
  if (found) draws->env.vars[var] = fitting;
  return found;
}

/// A leaf that this term has drawn: the class variable that `expr` is, or NULL.
static eg_verify_leaf *own_leaf(repair *r, uint32_t expr, uint32_t *out_var) {
  const eg_rule_expr *at = &r->draws->rule->exprs[expr];
  if (at->form != EG_RULE_EXPR_VAR || (r->before >> at->var & 1) != 0) return NULL;
  if (r->draws->rule->vars[at->var].origin != EG_RULE_VAR_MATCHED ||
      r->draws->rule->vars[at->var].kind != EG_RULE_TENSOR)
    return NULL;
  *out_var = at->var;
  return &r->draws->leaves[at->var];
}

/// Whether a leaf that is in the class that the draw is steered to stays in it.
static bool keeps_aim(const repair *r, uint32_t var, const eg_type *from,
                      const eg_type *to) {
  const eg_instance_aim *aim = r->draws->aim;
  if (aim == NULL) return true;
  if (aim->subject == EG_INSTANCE_DTYPE) return from->dtype == to->dtype;
  if (aim->subject == EG_INSTANCE_DIMS || aim->subject == EG_INSTANCE_RANK)
    return aim->var != var || !eg_instance_type_is_in(aim, from) ||
           eg_instance_type_is_in(aim, to);
  if (aim->subject != EG_INSTANCE_KERNEL || r->draws->choice.aim == NULL) return true;
  const eg_rule_term *weight = &r->draws->rule->terms[r->term->children[1]];
  if (!weight->is_var || weight->var != var) return true;
  eg_type types[2] = {*from, *to};
  eg_instance_node node = {r->term->op, r->draws->choice.slots, types, 2};
  return eg_instance_node_is_in(aim, &node);
}

static bool set_type_of(repair *r, uint32_t var, const eg_type *type) {
  eg_verify_leaf *leaf = &r->draws->leaves[var];
  if (type->rank > EGRAPH_MAX_RANK || eg_type_check(type) != EGRAPH_OK ||
      eg_type_elements(type) > 1 << 16 || !keeps_aim(r, var, &leaf->type, type))
    return false;
  leaf->type = *type;
  r->draws->repaired |= UINT64_C(1) << var;
  for (uint32_t i = 0; i < r->term->child_count; i++) {
    const eg_rule_term *child = &r->draws->rule->terms[r->term->children[i]];
    if (child->is_var && child->var == var) r->draws->choice.types[i] = *type;
  }
  eg_verify_bind_leaf(r->draws, var);
  return true;
}

/// Gives a leaf of this term another type.
static bool set_type(repair *r, uint32_t expr, const eg_type *type) {
  uint32_t var;
  return own_leaf(r, expr, &var) != NULL && set_type_of(r, var, type);
}

static const eg_type *type_of(repair *r, uint32_t expr) {
  eg_rule_value value;
  if (!eg_repair_value_of(r, expr, &value) || value.kind != EG_RULE_TENSOR) return NULL;
  const eg_tensor_fact *fact = eg_rule_tensor(&r->draws->env, &value);
  return fact != NULL ? &fact->type : NULL;
}

// ---- equations ----------------------------------------------------------------------

bool eg_repair_combine(arithmetic how, int64_t a, int64_t b, int64_t *out) {
  if (how == PLUS) return !__builtin_add_overflow(a, b, out);
  if (how == MINUS) return !__builtin_sub_overflow(a, b, out);
  if (how == TIMES) return !__builtin_mul_overflow(a, b, out);
  if (b == 0 || b == -1 || a % b != 0) return false;
  *out = a / b;
  return true;
}

static double combine_floats(arithmetic how, double a, double b) {
  return how == PLUS ? a + b : how == MINUS ? a - b : how == TIMES ? a * b : a / b;
}

/// Of numbers, lists, or a list and a number.
static bool combine(repair *r, arithmetic how, const eg_rule_value *a,
                    const eg_rule_value *b, eg_rule_value *out) {
  bool lists = a->kind == EG_RULE_INTS || b->kind == EG_RULE_INTS;
  if (!lists && a->kind == EG_RULE_INT && b->kind == EG_RULE_INT) {
    *out = eg_rule_int(0);
    return eg_repair_combine(how, a->i, b->i, &out->i);
  }
  if (!lists) {
    *out = eg_rule_float(combine_floats(how, eg_rule_number(a), eg_rule_number(b)));
    return isfinite(out->f);
  }
  eg_ints list = a->kind == EG_RULE_INTS ? a->ints : b->ints;
  if (a->kind == EG_RULE_INTS && b->kind == EG_RULE_INTS && a->ints.len != b->ints.len)
    return false;
  int64_t *result = eg_repair_copy(r, list, list.len);
  for (uint32_t i = 0; result != NULL && i < list.len; i++) {
    int64_t x = a->kind == EG_RULE_INTS ? a->ints.data[i] : a->i;
    int64_t y = b->kind == EG_RULE_INTS ? b->ints.data[i] : b->i;
    if (!eg_repair_combine(how, x, y, &result[i])) return false;
  }
  *out = eg_repair_list(result, list.len);
  return result != NULL;
}

/// One operand of a sum or product, from the value and all others.
static bool solve_operand(repair *r, const eg_rule_expr *call, const eg_rule_value *value,
                          arithmetic inverse) {
  for (uint32_t i = 0; i < call->arg_count; i++) {
    eg_rule_value left = *value, other, rest;
    bool known = true;
    for (uint32_t k = 0; k < call->arg_count && known; k++) {
      if (k == i) continue;
      known = eg_repair_value_of(r, call->args[k], &other) &&
              combine(r, inverse, &left, &other, &rest);
      if (known) left = rest;
    }
    if (known && eg_repair_solve(r, call->args[i], &left)) return true;
  }
  return false;
}

static bool solve_add(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return solve_operand(r, call, value, MINUS);
}

static bool solve_mul(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return solve_operand(r, call, value, OVER);
}

/// a (how) b = value: a is value (inverse) b, and b is a (how) value.
static bool solve_pair(repair *r, const eg_rule_expr *call, const eg_rule_value *value,
                       arithmetic how, arithmetic inverse) {
  eg_rule_value other, result;
  if (eg_repair_value_of(r, call->args[1], &other) &&
      combine(r, inverse, value, &other, &result) &&
      eg_repair_solve(r, call->args[0], &result))
    return true;
  return eg_repair_value_of(r, call->args[0], &other) &&
         combine(r, how, &other, value, &result) &&
         eg_repair_solve(r, call->args[1], &result);
}

static bool solve_sub(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  if (call->arg_count == 2) return solve_pair(r, call, value, MINUS, PLUS);
  eg_rule_value zero = eg_rule_int(0), result;
  return combine(r, MINUS, &zero, value, &result) &&
         eg_repair_solve(r, call->args[0], &result);
}

static bool solve_div(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return solve_pair(r, call, value, OVER, TIMES);
}

static bool solve_floor_div(repair *r, const eg_rule_expr *call,
                            const eg_rule_value *value) {
  int64_t divisor;
  eg_rule_value result;
  if (value->kind != EG_RULE_INT || !eg_repair_int_of(r, call->args[1], &divisor) ||
      divisor < 1 || divisor > INT32_MAX)
    return false;
  result = eg_rule_int(0);
  return eg_repair_combine(TIMES, value->i, divisor, &result.i) &&
         eg_repair_combine(PLUS, result.i, below(r, (uint32_t)divisor), &result.i) &&
         eg_repair_solve(r, call->args[0], &result);
}

static bool solve_mod(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  int64_t divisor;
  if (value->kind != EG_RULE_INT || !eg_repair_int_of(r, call->args[1], &divisor) ||
      divisor < 1 || divisor > 1000)
    return false;
  eg_rule_value result = eg_rule_int(value->i + divisor * below(r, 3));
  return eg_repair_solve(r, call->args[0], &result);
}

static bool solve_first(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return eg_repair_solve(r, call->args[0], value);
}

static bool solve_second(repair *r, const eg_rule_expr *call,
                         const eg_rule_value *value) {
  return eg_repair_solve(r, call->args[1], value);
}

// ---- leaves -------------------------------------------------------------------------

static bool solve_shape(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  const eg_verify_leaf *leaf = own_leaf(r, call->args[0], &var);
  if (leaf == NULL || value->kind != EG_RULE_INTS || value->ints.len > EGRAPH_MAX_RANK)
    return false;
  eg_type type = eg_type_of(leaf->type.dtype, value->ints.len, value->ints.data);
  return set_type(r, call->args[0], &type);
}

static bool solve_dim(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var, at;
  const eg_verify_leaf *leaf = own_leaf(r, call->args[0], &var);
  int64_t index;
  if (leaf == NULL || value->kind != EG_RULE_INT || value->i < 0 ||
      !eg_repair_int_of(r, call->args[1], &index) ||
      !eg_rule_index(index, leaf->type.rank, &at))
    return false;
  eg_type type = leaf->type;
  type.dims[at] = value->i;
  return set_type(r, call->args[0], &type);
}

bool eg_repair_set_rank(repair *r, uint32_t var, int64_t rank) {
  if (rank < 0 || rank > EGRAPH_MAX_RANK) return false;
  eg_type type = r->draws->leaves[var].type;
  for (; type.rank < (uint32_t)rank; type.rank++)
    type.dims[type.rank] = 1 + below(r, type.rank < 5 ? 3 : 2);
  type.rank = (uint32_t)rank;
  return set_type_of(r, var, &type);
}

static bool solve_rank(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  bool is_own = own_leaf(r, call->args[0], &var) != NULL && value->kind == EG_RULE_INT;
  return is_own && eg_repair_set_rank(r, var, value->i);
}

static bool solve_elements(repair *r, const eg_rule_expr *call,
                           const eg_rule_value *value) {
  uint32_t var;
  const eg_verify_leaf *leaf = own_leaf(r, call->args[0], &var);
  if (leaf == NULL || value->kind != EG_RULE_INT || value->i < 0) return false;
  eg_type type = leaf->type;
  for (uint32_t i = 0; i < type.rank; i++)
    type.dims[i] = i + 1 == type.rank ? value->i : 1;
  return (type.rank > 0 || value->i == 1) && set_type(r, call->args[0], &type);
}

static bool solve_dtype(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  const eg_verify_leaf *leaf = own_leaf(r, call->args[0], &var);
  if (leaf == NULL || value->kind != EG_RULE_DTYPE) return false;
  eg_type type = leaf->type;
  type.dtype = (egraph_dtype)value->i;
  return set_type(r, call->args[0], &type);
}

static bool solve_splat(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  eg_verify_leaf *leaf = own_leaf(r, call->args[0], &var);
  if (leaf == NULL || leaf->index_bound > 0 ||
      eg_type_elements(&leaf->type) > EG_VERIFY_SPLAT_ELEMENTS)
    return false;
  leaf->weight = leaf->splat = true;
  leaf->splat_value = eg_rule_number(value);
  eg_verify_bind_leaf(r->draws, var);
  return true;
}

bool eg_repair_solve(repair *r, uint32_t expr, const eg_rule_value *value) {
  static solver *const solvers[EG_RULE_FN_COUNT] = {
      [EG_RULE_FN_ADD] = solve_add,
      [EG_RULE_FN_SUB] = solve_sub,
      [EG_RULE_FN_MUL] = solve_mul,
      [EG_RULE_FN_DIV] = solve_div,
      [EG_RULE_FN_MIN] = solve_first,
      [EG_RULE_FN_MAX] = solve_first,
      [EG_RULE_FN_FLOAT] = solve_first,
      [EG_RULE_FN_WHOLE] = solve_first,
      [EG_RULE_FN_MOD] = solve_mod,
      [EG_RULE_FN_DIM] = solve_dim,
      [EG_RULE_FN_RANK] = solve_rank,
      [EG_RULE_FN_ELEMENTS] = solve_elements,
      [EG_RULE_FN_SHAPE] = solve_shape,
      [EG_RULE_FN_DTYPE] = solve_dtype,
      [EG_RULE_FN_SPLAT] = solve_splat,
      [EG_RULE_FN_AXIS] = solve_second,
      [EG_RULE_FN_AT] = eg_solve_at,
      [EG_RULE_FN_TAKE] = eg_solve_take,
      [EG_RULE_FN_DROP] = eg_solve_drop,
      [EG_RULE_FN_LIST] = eg_solve_list,
      [EG_RULE_FN_SUM] = eg_solve_sum,
      [EG_RULE_FN_PRODUCT] = eg_solve_product,
      [EG_RULE_FN_LEN] = eg_solve_len,
      [EG_RULE_FN_INDEX_OF] = eg_solve_index_of,
      [EG_RULE_FN_REVERSE] = eg_solve_reverse,
      [EG_RULE_FN_SET_AT] = eg_solve_set_at,
      [EG_RULE_FN_PERM_INVERSE] = eg_solve_perm_inverse,
      [EG_RULE_FN_PERM_APPLY] = eg_solve_perm_apply,
      [EG_RULE_FN_PERM_COMPOSE] = eg_solve_perm_compose,
      [EG_RULE_FN_FLOOR_DIV] = solve_floor_div};
  const eg_rule_expr *at = &r->draws->rule->exprs[expr];
  if (at->form == EG_RULE_EXPR_CONSTANT) return false;
  if (at->form == EG_RULE_EXPR_VAR) return solve_variable(r, at->var, value);
  solver *by = solvers[at->function];
  return by != NULL && by(r, at, value);
}

// ---- inequalities -------------------------------------------------------------------

typedef struct interval {
  double low, high;
  bool low_open, high_open;
} interval;

static bool is_order(eg_rule_function function) {
  return function == EG_RULE_FN_LT || function == EG_RULE_FN_LE ||
         function == EG_RULE_FN_GT || function == EG_RULE_FN_GE;
}

/// `expr` stands on side `side` of an inequality that must hold.
static void narrow(repair *r, const eg_rule_expr *call, uint32_t side, interval *inout) {
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

/// What all conditions of the rule leave.
static void narrow_by(repair *r, uint32_t condition, uint32_t expr, interval *inout) {
  const eg_rule *rule = r->draws->rule;
  const eg_rule_expr *call = &rule->exprs[condition];
  if (call->form != EG_RULE_EXPR_CALL) return;
  if (call->function == EG_RULE_FN_AND)
    for (uint32_t i = 0; i < call->arg_count; i++)
      narrow_by(r, call->args[i], expr, inout);
  if (!is_order(call->function)) return;
  for (uint32_t side = 0; side < 2; side++)
    if (eg_same_expr(rule, call->args[side], expr)) narrow(r, call, side, inout);
}

static bool pick(repair *r, const interval *of, bool is_whole, eg_rule_value *out) {
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
    narrow(r, call, side, &left);
    for (uint32_t i = 0; i < rule->condition_count; i++)
      narrow_by(r, rule->conditions[i], call->args[side], &left);
    bool is_whole = rule->exprs[call->args[side]].kind == EG_RULE_INT;
    eg_rule_value value;
    if (pick(r, &left, is_whole, &value) && eg_repair_solve(r, call->args[side], &value))
      return true;
  }
  return false;
}

// ---- conditions ---------------------------------------------------------------------

static bool solve_equal(repair *r, const eg_rule_expr *call) {
  uint32_t first = below(r, 2);
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
    eg_rule_value value, one = eg_rule_int(1 + below(r, 3)), result;
    if (eg_repair_value_of(r, call->args[1 - side], &value) &&
        (value.kind == EG_RULE_INT || value.kind == EG_RULE_FLOAT) &&
        combine(r, PLUS, &value, &one, &result) &&
        eg_repair_solve(r, call->args[side], &result))
      return true;
  }
  return false;
}

/// The second is a multiple of the first.
static bool solve_divides(repair *r, const eg_rule_expr *call, bool wanted) {
  int64_t divisor, multiple;
  if (eg_repair_int_of(r, call->args[0], &divisor) && divisor > 0 && divisor < 1000) {
    eg_rule_value value =
        eg_rule_int(divisor * (1 + (int64_t)below(r, 3)) + (wanted ? 0 : 1));
    if (eg_repair_solve(r, call->args[1], &value)) return true;
  }
  if (!wanted || !eg_repair_int_of(r, call->args[1], &multiple) || multiple < 1)
    return false;
  int64_t found = 1;
  for (int64_t i = 2; i <= multiple && i < 20; i++)
    if (multiple % i == 0 && below(r, 2) == 0) found = i;
  eg_rule_value value = eg_rule_int(found);
  return eg_repair_solve(r, call->args[0], &value);
}

static bool solve_parity(repair *r, const eg_rule_expr *call, bool odd) {
  int64_t is;
  if (!eg_repair_int_of(r, call->args[0], &is) || (is % 2 != 0) == odd || is == INT64_MAX)
    return false;
  eg_rule_value value = eg_rule_int(is + 1);
  return eg_repair_solve(r, call->args[0], &value);
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/// all-equal, all-odd, sorted, perm-identity: every element follows from the condition.
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
    qsort(copy, list.ints.len, sizeof *copy, by_size);
  eg_rule_value changed = eg_repair_list(copy, list.ints.len);
  return eg_repair_solve(r, call->args[0], &changed);
}

static bool solve_contains(repair *r, const eg_rule_expr *call) {
  eg_rule_value list;
  int64_t value;
  if (!eg_repair_value_of(r, call->args[0], &list) || list.ints.len == 0) return false;
  uint32_t at = below(r, list.ints.len);
  eg_rule_value element = eg_rule_int(list.ints.data[at]);
  if (eg_repair_solve(r, call->args[1], &element)) return true;
  int64_t *copy = eg_repair_copy(r, list.ints, list.ints.len);
  if (copy == NULL || !eg_repair_int_of(r, call->args[1], &value)) return false;
  copy[at] = value;
  eg_rule_value changed = eg_repair_list(copy, list.ints.len);
  return eg_repair_solve(r, call->args[0], &changed);
}

// ---- types --------------------------------------------------------------------------

/// The first gets dims that broadcast to `dims`.
static bool shrink_to(repair *r, uint32_t expr, eg_ints dims) {
  uint32_t var;
  const eg_verify_leaf *leaf = own_leaf(r, expr, &var);
  if (leaf == NULL || dims.len > EGRAPH_MAX_RANK) return false;
  uint32_t rank = below(r, dims.len + 1);
  eg_type type = eg_type_of(leaf->type.dtype, rank, dims.data + (dims.len - rank));
  for (uint32_t i = 0; i < rank; i++)
    if (below(r, 4) == 0) type.dims[i] = 1;
  return set_type(r, expr, &type);
}

static bool solve_broadcast(repair *r, const eg_rule_expr *call) {
  const eg_type *to = type_of(r, call->args[1]);
  if (to != NULL && shrink_to(r, call->args[0], (eg_ints){to->dims, to->rank}))
    return true;
  const eg_type *from = type_of(r, call->args[0]);
  if (from == NULL) return false;
  eg_type type = *from;
  return set_type(r, call->args[1], &type);
}

static bool solve_broadcast_to_shape(repair *r, const eg_rule_expr *call) {
  eg_rule_value shape;
  const eg_type *from = type_of(r, call->args[0]);
  if (eg_repair_value_of(r, call->args[1], &shape) &&
      shrink_to(r, call->args[0], shape.ints))
    return true;
  if (from == NULL) return false;
  int64_t *dims = eg_repair_copy(r, (eg_ints){from->dims, from->rank}, from->rank);
  if (dims == NULL) return false;
  eg_rule_value value = eg_repair_list(dims, from->rank);
  return eg_repair_solve(r, call->args[1], &value);
}

static bool solve_same_type(repair *r, const eg_rule_expr *call) {
  for (uint32_t side = 0; side < 2; side++) {
    const eg_type *other = type_of(r, call->args[1 - side]);
    const eg_type *own = type_of(r, call->args[side]);
    if (other == NULL || own == NULL) return false;
    eg_type type = *other;
    if (call->function == EG_RULE_FN_SAME_SHAPE) type.dtype = own->dtype;
    if (call->function == EG_RULE_FN_SAME_DTYPE) {
      type = *own;
      type.dtype = other->dtype;
    }
    if (set_type(r, call->args[side], &type)) return true;
  }
  return false;
}

// ---- all conditions -------------------------------------------------------------------

static bool satisfy(repair *r, uint32_t condition, bool wanted);

/// All operands of `and`, one of `or`; the other way round where none is wanted.
static bool satisfy_operands(repair *r, const eg_rule_expr *call, bool wanted) {
  bool all = (call->function == EG_RULE_FN_AND) == wanted, done = true;
  if (!all) return satisfy(r, call->args[below(r, call->arg_count)], wanted);
  for (uint32_t i = 0; i < call->arg_count; i++)
    done = satisfy(r, call->args[i], wanted) && done;
  return done;
}

/// A call that stands for a condition, which must hold or (`wanted`) must not.
typedef bool satisfier(repair *r, const eg_rule_expr *call, bool wanted);

static bool satisfy_equal(repair *r, const eg_rule_expr *call, bool wanted) {
  bool equal = (call->function == EG_RULE_FN_EQ) == wanted;
  return equal ? solve_equal(r, call) : solve_unequal(r, call);
}

static bool satisfy_parity(repair *r, const eg_rule_expr *call, bool wanted) {
  return solve_parity(r, call, (call->function == EG_RULE_FN_ODD) == wanted);
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

/// Attributes count as bound while conditions are solved.
static void bind_slots_for_now(repair *r) {
  eg_verify_draws *draws = r->draws;
  for (uint16_t i = 0; i < draws->choice.info->attr_count; i++) {
    const eg_rule_slot *slot = &r->term->slots[i];
    if (slot->form != EG_RULE_SLOT_VAR || eg_verify_is_bound(draws, slot->index))
      continue;
    draws->env.vars[slot->index] =
        eg_rule_value_of_attr(r->term->op, i, &draws->choice.slots[i]);
    draws->bound |= UINT64_C(1) << slot->index;
  }
}

/// Binds what conditions name. False: one has no value, and what it had in an earlier try
/// is not there any more.
static bool bind_lets_for_now(repair *r) {
  const eg_rule *rule = r->draws->rule;
  eg_rule_env *env = &r->draws->env;
  for (uint32_t i = 0; i < rule->let_count; i++) {
    const eg_rule_let *let = &rule->lets[i];
    if (!let->is_term && eg_verify_can_eval(r->draws, let->expr) &&
        !eg_rule_eval(env, let->expr, &env->vars[let->var]))
      return false;
  }
  return true;
}

/// The way that is aimed at, once this term decides it.
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
  uint32_t first = below(r, 2);
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
      number = number * below(r, 3) +
               (aim->value != 0 ? 1 + below(r, (uint32_t)number - (number > 1)) : 0);
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
  bind_slots_for_now(&r);
  bool has_lets = bind_lets_for_now(&r);
  bool is_steered = below(&r, 100) < PERCENT;
  for (uint32_t pass = 0; has_lets && pass < PASSES; pass++) {
    if (is_steered) go_way(&r, bound);
    for (uint32_t i = 0; i < rule->condition_count; i++) {
      uint64_t needs = draws->hints.needs[rule->conditions[i]];
      bool is_of_term = (needs & ~bound) != 0 && (needs & ~draws->bound) == 0;
      if (is_of_term && below(&r, 100) < PERCENT)
        (void)satisfy(&r, rule->conditions[i], true);
    }
  }
  draws->bound = kept;
}
