// Inverts equations: passes the required value of an expression down to its operands
// until one attribute or one leaf of the term gets a value.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_repair.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool eg_repair_value_of(repair *r, uint32_t expr, eg_rule_value *out) {
  return eg_verify_can_eval(r->draws, expr) && eg_rule_eval(&r->draws->env, expr, out);
}

bool eg_repair_int_of(repair *r, uint32_t expr, int64_t *out) {
  eg_rule_value value;
  if (!eg_repair_value_of(r, expr, &value) || value.kind != EG_RULE_INT) return false;
  *out = value.i;
  return true;
}

uint32_t eg_repair_below(repair *r, uint32_t bound) {
  return (uint32_t)eg_rng_below(&r->draws->rng, bound);
}

int64_t *eg_repair_copy(repair *r, eg_ints list, uint32_t len) {
  int64_t *copy = eg_rule_ints(&r->draws->env, len);
  for (uint32_t i = 0; copy != NULL && i < len; i++)
    copy[i] = i < list.len ? list.data[i] : 0;
  return copy;
}

static eg_rule_value list_value(const int64_t *data, uint32_t len) {
  return (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = len}};
}

static bool is_permutation(eg_ints list) {
  uint64_t seen = 0;
  for (uint32_t i = 0; i < list.len; i++) {
    if (list.data[i] < 0 || list.data[i] >= list.len || list.len > 63) return false;
    seen |= UINT64_C(1) << list.data[i];
  }
  return seen == (UINT64_C(1) << list.len) - 1;
}

/// Replaces a list that should be a permutation by one that has the changed elements of
/// the list and otherwise agrees with `perm`, if possible.
static void keep_permutation(repair *r, eg_ints perm, eg_rule_value *inout) {
  eg_ints list = inout->ints;
  if (perm.len != list.len || !is_permutation(perm) || is_permutation(list)) return;
  int64_t *copy = eg_repair_copy(r, perm, perm.len);
  for (uint32_t i = 0; copy != NULL && i < perm.len; i++) {
    if (list.data[i] == perm.data[i] || list.data[i] == copy[i]) continue;
    uint32_t other = 0;
    while (other < perm.len && copy[other] != list.data[i])
      other++;
    if (other == perm.len) continue;
    copy[other] = copy[i];
    copy[i] = list.data[i];
  }
  if (copy != NULL) *inout = list_value(copy, perm.len);
}

bool eg_repair_solve_list(repair *r, uint32_t expr, const int64_t *data, uint32_t len) {
  eg_rule_value value = list_value(data, len);
  return data != NULL && eg_repair_solve(r, expr, &value);
}

bool eg_repair_solve_element(repair *r, uint32_t expr, eg_ints list, uint32_t at,
                             int64_t element) {
  int64_t *copy = eg_repair_copy(r, list, list.len);
  if (copy != NULL) copy[at] = element;
  return eg_repair_solve_list(r, expr, copy, list.len);
}

bool eg_repair_solve_int(repair *r, uint32_t expr, int64_t number) {
  eg_rule_value value = eg_rule_int(number);
  return eg_repair_solve(r, expr, &value);
}

// ---- variables --------------------------------------------------------------------

/// True for the attribute that the current class of instances is about: it stays.
static bool is_aimed_at(const repair *r, uint16_t slot) {
  const eg_instance_aim *aim = r->draws->choice.aim;
  bool has_slot = aim != NULL &&
                  (aim->subject == EG_INSTANCE_ATTR || aim->subject == EG_INSTANCE_VALUE);
  return has_slot && aim->slot == slot;
}

/// Keeps the sum of a split's part sizes: other sizes compensate for changed ones.
static void keep_sum(repair *r, const eg_attr *slot, eg_rule_value *inout) {
  eg_ints from = slot->ints, to = inout->ints;
  if (from.len != to.len || to.len == 0) return;
  int64_t *sizes = eg_repair_copy(r, to, to.len), more = 0;
  for (uint32_t i = 0; i < to.len; i++)
    more += to.data[i] - from.data[i];
  uint32_t first = eg_repair_below(r, to.len);
  for (uint32_t i = 0; sizes != NULL && i < to.len; i++) {
    uint32_t at = (first + i) % to.len;
    if (from.data[at] != to.data[at]) continue;
    int64_t by = more < sizes[at] ? more : sizes[at];
    sizes[at] -= by;
    more -= by;
  }
  if (sizes != NULL) *inout = list_value(sizes, to.len);
}

static bool solve_variable(repair *r, uint32_t var, const eg_rule_value *value) {
  eg_verify_draws *draws = r->draws;
  const eg_rule *rule = draws->rule;
  uint32_t let = eg_rule_let_expr(rule, var);
  if (let != EG_RULE_NONE) return eg_repair_solve(r, let, value);
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
      keep_permutation(r, draws->choice.slots[i].ints, &fitting);
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

eg_verify_leaf *eg_repair_leaf(repair *r, uint32_t expr, uint32_t *out_var) {
  const eg_rule_expr *at = &r->draws->rule->exprs[expr];
  if (at->form != EG_RULE_EXPR_VAR || (r->before >> at->var & 1) != 0) return NULL;
  if (r->draws->rule->vars[at->var].origin != EG_RULE_VAR_MATCHED ||
      r->draws->rule->vars[at->var].kind != EG_RULE_TENSOR)
    return NULL;
  *out_var = at->var;
  return &r->draws->leaves[at->var];
}

/// True unless changing the leaf's type takes it out of the current class of instances.
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

bool eg_repair_set_type(repair *r, uint32_t expr, const eg_type *type) {
  uint32_t var;
  return eg_repair_leaf(r, expr, &var) != NULL && set_type_of(r, var, type);
}

const eg_type *eg_repair_type_of(repair *r, uint32_t expr) {
  eg_rule_value value;
  if (!eg_repair_value_of(r, expr, &value) || value.kind != EG_RULE_TENSOR) return NULL;
  const eg_tensor_fact *fact = eg_rule_tensor(&r->draws->env, &value);
  return fact != NULL ? &fact->type : NULL;
}

/// Defines a solver (inverse of a rule-language function) that is one expression.
#define SOLVER(name, solved)                                                             \
  static bool name(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {    \
    return solved;                                                                       \
  }

// ---- equations ----------------------------------------------------------------------

static bool combine_ints(arithmetic how, int64_t a, int64_t b, int64_t *out) {
  if (how == PLUS) return !__builtin_add_overflow(a, b, out);
  if (how == MINUS) return !__builtin_sub_overflow(a, b, out);
  if (how == TIMES) return !__builtin_mul_overflow(a, b, out);
  if (b == 0 || b == -1 || a % b != 0) return false;
  *out = a / b;
  return true;
}

bool eg_repair_combine(repair *r, arithmetic how, const eg_rule_value *a,
                       const eg_rule_value *b, eg_rule_value *out) {
  bool lists = a->kind == EG_RULE_INTS || b->kind == EG_RULE_INTS;
  if (!lists && a->kind == EG_RULE_INT && b->kind == EG_RULE_INT) {
    *out = eg_rule_int(0);
    return combine_ints(how, a->i, b->i, &out->i);
  }
  if (!lists) {
    double x = eg_rule_number(a), y = eg_rule_number(b);
    *out = eg_rule_float(how == PLUS    ? x + y
                         : how == MINUS ? x - y
                         : how == TIMES ? x * y
                                        : x / y);
    return isfinite(out->f);
  }
  eg_ints list = a->kind == EG_RULE_INTS ? a->ints : b->ints;
  if (a->kind == EG_RULE_INTS && b->kind == EG_RULE_INTS && a->ints.len != b->ints.len)
    return false;
  int64_t *result = eg_repair_copy(r, list, list.len);
  for (uint32_t i = 0; result != NULL && i < list.len; i++) {
    int64_t x = a->kind == EG_RULE_INTS ? a->ints.data[i] : a->i;
    int64_t y = b->kind == EG_RULE_INTS ? b->ints.data[i] : b->i;
    if (!combine_ints(how, x, y, &result[i])) return false;
  }
  *out = list_value(result, list.len);
  return result != NULL;
}

/// Gives one operand of a sum or product the value that the result and all other
/// operands determine.
static bool solve_operand(repair *r, const eg_rule_expr *call, const eg_rule_value *value,
                          arithmetic inverse) {
  for (uint32_t i = 0; i < call->arg_count; i++) {
    eg_rule_value left = *value, other, rest;
    bool known = true;
    for (uint32_t k = 0; k < call->arg_count && known; k++) {
      if (k == i) continue;
      known = eg_repair_value_of(r, call->args[k], &other) &&
              eg_repair_combine(r, inverse, &left, &other, &rest);
      if (known) left = rest;
    }
    if (known && eg_repair_solve(r, call->args[i], &left)) return true;
  }
  return false;
}

SOLVER(solve_add, solve_operand(r, call, value, MINUS))
SOLVER(solve_mul, solve_operand(r, call, value, OVER))

/// Solves a (how) b = value for a or b: a is value (inverse) b, and b is a (how) value.
static bool solve_pair(repair *r, const eg_rule_expr *call, const eg_rule_value *value,
                       arithmetic how, arithmetic inverse) {
  eg_rule_value other, result;
  if (eg_repair_value_of(r, call->args[1], &other) &&
      eg_repair_combine(r, inverse, value, &other, &result) &&
      eg_repair_solve(r, call->args[0], &result))
    return true;
  return eg_repair_value_of(r, call->args[0], &other) &&
         eg_repair_combine(r, how, &other, value, &result) &&
         eg_repair_solve(r, call->args[1], &result);
}

static bool solve_sub(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  if (call->arg_count == 2) return solve_pair(r, call, value, MINUS, PLUS);
  eg_rule_value zero = eg_rule_int(0), result;
  return eg_repair_combine(r, MINUS, &zero, value, &result) &&
         eg_repair_solve(r, call->args[0], &result);
}

SOLVER(solve_div, solve_pair(r, call, value, OVER, TIMES))

static bool solve_floor_div(repair *r, const eg_rule_expr *call,
                            const eg_rule_value *value) {
  int64_t divisor, result;
  if (value->kind != EG_RULE_INT || !eg_repair_int_of(r, call->args[1], &divisor) ||
      divisor < 1 || divisor > INT32_MAX)
    return false;
  return combine_ints(TIMES, value->i, divisor, &result) &&
         combine_ints(PLUS, result, eg_repair_below(r, (uint32_t)divisor), &result) &&
         eg_repair_solve_int(r, call->args[0], result);
}

static bool solve_mod(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  int64_t divisor;
  if (value->kind != EG_RULE_INT || !eg_repair_int_of(r, call->args[1], &divisor) ||
      divisor < 1 || divisor > 1000)
    return false;
  return eg_repair_solve_int(r, call->args[0],
                             value->i + divisor * eg_repair_below(r, 3));
}

SOLVER(solve_first, eg_repair_solve(r, call->args[0], value))
SOLVER(solve_second, eg_repair_solve(r, call->args[1], value))

// ---- leaves -------------------------------------------------------------------------

static bool solve_shape(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  const eg_verify_leaf *leaf = eg_repair_leaf(r, call->args[0], &var);
  if (leaf == NULL || value->kind != EG_RULE_INTS || value->ints.len > EGRAPH_MAX_RANK)
    return false;
  eg_type type = eg_type_of(leaf->type.dtype, value->ints.len, value->ints.data);
  return eg_repair_set_type(r, call->args[0], &type);
}

static bool solve_dim(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var, at;
  const eg_verify_leaf *leaf = eg_repair_leaf(r, call->args[0], &var);
  int64_t index;
  if (leaf == NULL || value->kind != EG_RULE_INT || value->i < 0 ||
      !eg_repair_int_of(r, call->args[1], &index) ||
      !eg_rule_index(index, leaf->type.rank, &at))
    return false;
  eg_type type = leaf->type;
  type.dims[at] = value->i;
  return eg_repair_set_type(r, call->args[0], &type);
}

static bool set_rank(repair *r, uint32_t var, int64_t rank) {
  if (rank < 0 || rank > EGRAPH_MAX_RANK) return false;
  eg_type type = r->draws->leaves[var].type;
  for (; type.rank < (uint32_t)rank; type.rank++)
    type.dims[type.rank] = 1 + eg_repair_below(r, type.rank < 5 ? 3 : 2);
  type.rank = (uint32_t)rank;
  return set_type_of(r, var, &type);
}

static bool solve_rank(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  bool is_own =
      eg_repair_leaf(r, call->args[0], &var) != NULL && value->kind == EG_RULE_INT;
  return is_own && set_rank(r, var, value->i);
}

static bool solve_elements(repair *r, const eg_rule_expr *call,
                           const eg_rule_value *value) {
  uint32_t var;
  const eg_verify_leaf *leaf = eg_repair_leaf(r, call->args[0], &var);
  if (leaf == NULL || value->kind != EG_RULE_INT || value->i < 0) return false;
  eg_type type = leaf->type;
  for (uint32_t i = 0; i < type.rank; i++)
    type.dims[i] = i + 1 == type.rank ? value->i : 1;
  return (type.rank > 0 || value->i == 1) && eg_repair_set_type(r, call->args[0], &type);
}

static bool solve_dtype(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  const eg_verify_leaf *leaf = eg_repair_leaf(r, call->args[0], &var);
  if (leaf == NULL || value->kind != EG_RULE_DTYPE) return false;
  eg_type type = leaf->type;
  type.dtype = (egraph_dtype)value->i;
  return eg_repair_set_type(r, call->args[0], &type);
}

static bool solve_splat(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  uint32_t var;
  eg_verify_leaf *leaf = eg_repair_leaf(r, call->args[0], &var);
  if (leaf == NULL || leaf->index_bound > 0 ||
      eg_type_elements(&leaf->type) > EG_VERIFY_SPLAT_ELEMENTS)
    return false;
  leaf->weight = leaf->splat = true;
  leaf->splat_value = eg_rule_number(value);
  eg_verify_bind_leaf(r->draws, var);
  return true;
}

// ---- lists ----------------------------------------------------------------------------

static bool solve_at(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  eg_rule_value list;
  int64_t index;
  uint32_t at;
  return eg_repair_value_of(r, call->args[0], &list) &&
         eg_repair_int_of(r, call->args[1], &index) && value->kind == EG_RULE_INT &&
         eg_rule_index(index, list.ints.len, &at) &&
         eg_repair_solve_element(r, call->args[0], list.ints, at, value->i);
}

/// Solves for a list whose first `count` elements (or, unless `is_first`, the rest)
/// are `value`.
static bool solve_piece(repair *r, const eg_rule_expr *call, const eg_rule_value *value,
                        bool is_first) {
  eg_rule_value list;
  int64_t count;
  if (!eg_repair_value_of(r, call->args[0], &list) ||
      !eg_repair_int_of(r, call->args[1], &count) || value->kind != EG_RULE_INTS ||
      count < 0 || count > list.ints.len)
    return false;
  uint32_t head = is_first ? value->ints.len : (uint32_t)count;
  uint32_t tail = is_first ? list.ints.len - (uint32_t)count : value->ints.len;
  int64_t *joined = eg_rule_ints(&r->draws->env, head + tail);
  if (joined == NULL) return false;
  const int64_t *heads = is_first ? value->ints.data : list.ints.data;
  const int64_t *tails = is_first ? list.ints.data + count : value->ints.data;
  for (uint32_t i = 0; i < head + tail; i++)
    joined[i] = i < head ? heads[i] : tails[i - head];
  return eg_repair_solve_list(r, call->args[0], joined, head + tail);
}

SOLVER(solve_take, solve_piece(r, call, value, true))
SOLVER(solve_drop, solve_piece(r, call, value, false))

/// Solves for the elements of (list a b ...), one by one.
static bool solve_list(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  if (value->kind != EG_RULE_INTS || value->ints.len != call->arg_count) return false;
  bool all = true;
  for (uint32_t i = 0; i < call->arg_count; i++) {
    int64_t is, element = value->ints.data[i];
    if (eg_repair_int_of(r, call->args[i], &is) && is == element) continue;
    all = eg_repair_solve_int(r, call->args[i], element) && all;
  }
  return all;
}

/// Solves for one element of a sum or product over a list; half of the time draws the
/// other elements anew.
static bool solve_total(repair *r, const eg_rule_expr *call, const eg_rule_value *value,
                        arithmetic inverse) {
  eg_rule_value list;
  if (!eg_repair_value_of(r, call->args[0], &list) || list.ints.len == 0 ||
      value->kind != EG_RULE_INT)
    return false;
  int64_t *copy = eg_repair_copy(r, list.ints, list.ints.len), last = value->i;
  if (copy == NULL) return false;
  eg_rng *rng = &r->draws->rng;
  uint32_t at = (uint32_t)eg_rng_below(rng, list.ints.len);
  bool is_anew = eg_rng_below(rng, 2) == 0;
  for (uint32_t i = 0; i < list.ints.len; i++) {
    if (i == at) continue;
    if (is_anew) copy[i] = 1 + (int64_t)eg_rng_below(rng, 3);
    if (is_anew && inverse == OVER && last % copy[i] != 0) copy[i] = 1;
    if (!combine_ints(inverse, last, copy[i], &last)) return false;
  }
  copy[at] = last;
  return eg_repair_solve_list(r, call->args[0], copy, list.ints.len);
}

SOLVER(solve_sum, solve_total(r, call, value, MINUS))
SOLVER(solve_product, solve_total(r, call, value, OVER))

// ---- lengths ------------------------------------------------------------------------

/// Lists that have a number for each dimension (or for each dimension but the first two).
static const struct {
  const char *name;
  uint32_t beside;
} lists_of_rank[] = {{"perm", 0},      {"starts", 0},      {"ends", 0},
                     {"steps", 0},     {"repeats", 0},     {"strides", 2},
                     {"dilations", 2}, {"kernel_shape", 2}};

/// Gives operand 0 the rank for which the list attribute has `len` numbers; the list is
/// then drawn for this rank.
static bool solve_rank_of_list(repair *r, const char *name, int64_t len) {
  const eg_rule_term *child = &r->draws->rule->terms[r->term->children[0]];
  bool is_own = child->is_var && (r->before >> child->var & 1) == 0;
  bool is_pad = r->draws->choice.op == EG_OP_PAD;
  if (!is_own) return false;
  if (strcmp(name, "pads") == 0)
    return len % 2 == 0 && set_rank(r, child->var, len / 2 + (is_pad ? 0 : 2));
  for (size_t i = 0; i < sizeof lists_of_rank / sizeof *lists_of_rank; i++)
    if (strcmp(name, lists_of_rank[i].name) == 0)
      return set_rank(r, child->var, len + lists_of_rank[i].beside);
  return false;
}

/// Divides the sum of a list into `len` random parts.
static void share(repair *r, eg_ints list, int64_t *out, uint32_t len) {
  int64_t left = 0;
  for (uint32_t i = 0; i < list.len; i++)
    left += list.data[i];
  for (uint32_t i = 0; i < len; i++)
    out[i] = 0;
  for (int64_t i = 0; len > 0 && i < left; i++)
    out[eg_rng_below(&r->draws->rng, len)]++;
}

/// Changes the length of a list to `len`. Axes become 0, 1, 2 and so on. A shape gets
/// ones at its end, or its last dimension becomes the product of the dimensions that are
/// cut off.
static void stretch(eg_ints list, bool is_axes, int64_t *out, uint32_t len) {
  for (uint32_t i = 0; is_axes && i < len; i++)
    out[i] = i;
  for (uint32_t i = list.len; !is_axes && i < len; i++)
    out[i] = 1;
  for (uint32_t i = len; !is_axes && len > 0 && i < list.len; i++)
    out[len - 1] *= list.data[i];
}

static bool solve_free_length(repair *r, uint32_t expr, const char *name, eg_ints list,
                              uint32_t len) {
  bool is_axes = strcmp(name, "axes") == 0, is_sizes = strcmp(name, "sizes") == 0;
  if (!is_axes && !is_sizes && strcmp(name, "shape") != 0) return false;
  int64_t *copy = eg_repair_copy(r, list, len);
  if (copy == NULL) return false;
  if (is_sizes)
    share(r, list, copy, len);
  else
    stretch(list, is_axes, copy, len);
  return eg_repair_solve_list(r, expr, copy, len);
}

static bool solve_len(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  const eg_rule_expr *list = &r->draws->rule->exprs[call->args[0]];
  eg_rule_value is;
  if (list->form != EG_RULE_EXPR_VAR || value->kind != EG_RULE_INT || value->i < 0 ||
      value->i > 64 || r->term->child_count == 0 ||
      !eg_repair_value_of(r, call->args[0], &is) || is.kind != EG_RULE_INTS)
    return false;
  for (uint16_t i = 0; i < r->draws->choice.info->attr_count; i++) {
    const eg_rule_slot *slot = &r->term->slots[i];
    const char *name = r->draws->choice.info->attrs[i].name;
    if (slot->form != EG_RULE_SLOT_VAR || slot->index != list->var) continue;
    return solve_rank_of_list(r, name, value->i) ||
           solve_free_length(r, call->args[0], name, is.ints, (uint32_t)value->i);
  }
  return false;
}

// ---- elements in another order ------------------------------------------------------

static bool solve_index_of(repair *r, const eg_rule_expr *call,
                           const eg_rule_value *value) {
  eg_rule_value list;
  int64_t element;
  return eg_repair_value_of(r, call->args[0], &list) && value->kind == EG_RULE_INT &&
         eg_repair_int_of(r, call->args[1], &element) && value->i >= 0 &&
         value->i < list.ints.len &&
         eg_repair_solve_element(r, call->args[0], list.ints, (uint32_t)value->i,
                                 element);
}

static bool solve_reverse(repair *r, const eg_rule_expr *call,
                          const eg_rule_value *value) {
  if (value->kind != EG_RULE_INTS) return false;
  uint32_t len = value->ints.len;
  int64_t *copy = eg_repair_copy(r, value->ints, len);
  for (uint32_t i = 0; copy != NULL && i < len; i++)
    copy[i] = value->ints.data[len - 1 - i];
  return eg_repair_solve_list(r, call->args[0], copy, len);
}

/// Solves `set-at` for its list: the value, except for the element that is set.
static bool solve_set_at(repair *r, const eg_rule_expr *call,
                         const eg_rule_value *value) {
  eg_rule_value list;
  int64_t index, element;
  uint32_t at;
  if (!eg_repair_value_of(r, call->args[0], &list) || value->kind != EG_RULE_INTS ||
      value->ints.len != list.ints.len || !eg_repair_int_of(r, call->args[1], &index) ||
      !eg_rule_index(index, list.ints.len, &at))
    return false;
  return eg_repair_int_of(r, call->args[2], &element) &&
         element == value->ints.data[at] &&
         eg_repair_solve_element(r, call->args[0], value->ints, at, list.ints.data[at]);
}

// ---- permutations -------------------------------------------------------------------

static int64_t *inverse_of(repair *r, eg_ints perm) {
  int64_t *inverse = is_permutation(perm) ? eg_repair_copy(r, perm, perm.len) : NULL;
  for (uint32_t i = 0; inverse != NULL && i < perm.len; i++)
    inverse[perm.data[i]] = i;
  return inverse;
}

/// Returns the list with result[i] = list[perm[i]], or NULL.
static int64_t *permuted(repair *r, eg_ints list, eg_ints perm) {
  bool fits = is_permutation(perm) && list.len == perm.len;
  int64_t *copy = fits ? eg_repair_copy(r, list, list.len) : NULL;
  for (uint32_t i = 0; copy != NULL && i < perm.len; i++)
    copy[i] = list.data[perm.data[i]];
  return copy;
}

SOLVER(solve_perm_inverse,
       value->kind == EG_RULE_INTS &&
           eg_repair_solve_list(r, call->args[0], inverse_of(r, value->ints),
                                value->ints.len))

/// Solves list[perm[i]] = value[i]: the list is the value permuted back; the permutation
/// is found by looking up every element.
static bool solve_apply(repair *r, uint32_t perm, uint32_t list, eg_ints value) {
  eg_rule_value is;
  if (eg_repair_value_of(r, perm, &is) && is_permutation(is.ints) &&
      is.ints.len == value.len) {
    eg_ints back = {inverse_of(r, is.ints), is.ints.len};
    if (back.data != NULL &&
        eg_repair_solve_list(r, list, permuted(r, value, back), value.len))
      return true;
  }
  if (!eg_repair_value_of(r, list, &is) || is.ints.len != value.len) return false;
  int64_t *copy = eg_repair_copy(r, value, value.len);
  for (uint32_t i = 0; copy != NULL && i < value.len; i++) {
    copy[i] = 0;
    while (copy[i] < value.len && is.ints.data[copy[i]] != value.data[i])
      copy[i]++;
  }
  return eg_repair_solve_list(r, perm, copy, value.len);
}

SOLVER(solve_perm_apply, value->kind == EG_RULE_INTS &&
                             solve_apply(r, call->args[0], call->args[1], value->ints))

// ---- all functions --------------------------------------------------------------------

typedef bool solver(repair *r, const eg_rule_expr *call, const eg_rule_value *value);

bool eg_repair_solve(repair *r, uint32_t expr, const eg_rule_value *value) {
  assert(expr < r->draws->rule->expr_count);
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
      [EG_RULE_FN_AT] = solve_at,
      [EG_RULE_FN_TAKE] = solve_take,
      [EG_RULE_FN_DROP] = solve_drop,
      [EG_RULE_FN_LIST] = solve_list,
      [EG_RULE_FN_SUM] = solve_sum,
      [EG_RULE_FN_PRODUCT] = solve_product,
      [EG_RULE_FN_LEN] = solve_len,
      [EG_RULE_FN_INDEX_OF] = solve_index_of,
      [EG_RULE_FN_REVERSE] = solve_reverse,
      [EG_RULE_FN_SET_AT] = solve_set_at,
      [EG_RULE_FN_PERM_INVERSE] = solve_perm_inverse,
      [EG_RULE_FN_PERM_APPLY] = solve_perm_apply,
      [EG_RULE_FN_PERM_COMPOSE] = solve_perm_apply,
      [EG_RULE_FN_FLOOR_DIV] = solve_floor_div};
  const eg_rule_expr *at = &r->draws->rule->exprs[expr];
  if (at->form == EG_RULE_EXPR_CONSTANT) return false;
  if (at->form == EG_RULE_EXPR_VAR) return solve_variable(r, at->var, value);
  solver *by = solvers[at->function];
  return by != NULL && by(r, at, value);
}
