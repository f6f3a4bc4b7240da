// Values of expressions of lists: an element, a piece, a length, a permutation.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/instances/instance_repair.h"

bool eg_solve_at(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  eg_rule_value list;
  int64_t index;
  uint32_t at;
  if (!eg_repair_value_of(r, call->args[0], &list) ||
      !eg_repair_int_of(r, call->args[1], &index) || value->kind != EG_RULE_INT ||
      !eg_rule_index(index, list.ints.len, &at))
    return false;
  int64_t *copy = eg_repair_copy(r, list.ints, list.ints.len);
  if (copy == NULL) return false;
  copy[at] = value->i;
  eg_rule_value changed = eg_repair_list(copy, list.ints.len);
  return eg_repair_solve(r, call->args[0], &changed);
}

/// The first `count` elements, or all but these, are the value's.
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
  eg_rule_value whole = eg_repair_list(joined, head + tail);
  return eg_repair_solve(r, call->args[0], &whole);
}

bool eg_solve_take(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return solve_piece(r, call, value, true);
}

bool eg_solve_drop(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return solve_piece(r, call, value, false);
}

/// The elements of (list a b ...), one by one.
bool eg_solve_list(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  if (value->kind != EG_RULE_INTS || value->ints.len != call->arg_count) return false;
  bool all = true;
  for (uint32_t i = 0; i < call->arg_count; i++) {
    eg_rule_value element = eg_rule_int(value->ints.data[i]);
    int64_t is;
    if (eg_repair_int_of(r, call->args[i], &is) && is == element.i) continue;
    all = eg_repair_solve(r, call->args[i], &element) && all;
  }
  return all;
}

/// One element makes the sum, or the product; half of the time the others are drawn anew.
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
    if (!eg_repair_combine(inverse, last, copy[i], &last)) return false;
  }
  copy[at] = last;
  eg_rule_value changed = eg_repair_list(copy, list.ints.len);
  return eg_repair_solve(r, call->args[0], &changed);
}

bool eg_solve_sum(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return solve_total(r, call, value, MINUS);
}

bool eg_solve_product(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  return solve_total(r, call, value, OVER);
}

// ---- lengths ------------------------------------------------------------------------

/// Lists that have a number for each dimension, or for each but the first two.
static const struct {
  const char *name;
  uint32_t beside;
} lists_of_rank[] = {{"perm", 0},      {"starts", 0},      {"ends", 0},
                     {"steps", 0},     {"repeats", 0},     {"strides", 2},
                     {"dilations", 2}, {"kernel_shape", 2}};

/// The operand gets the rank; the list is drawn for it afterwards.
static bool solve_rank_of_list(repair *r, const char *name, int64_t len) {
  const eg_rule_term *child = &r->draws->rule->terms[r->term->children[0]];
  bool is_own = child->is_var && (r->before >> child->var & 1) == 0;
  bool is_pad = r->draws->choice.op == EG_OP_PAD;
  if (!is_own) return false;
  if (strcmp(name, "pads") == 0)
    return len % 2 == 0 && eg_repair_set_rank(r, child->var, len / 2 + (is_pad ? 0 : 2));
  for (size_t i = 0; i < sizeof lists_of_rank / sizeof *lists_of_rank; i++)
    if (strcmp(name, lists_of_rank[i].name) == 0)
      return eg_repair_set_rank(r, child->var, len + lists_of_rank[i].beside);
  return false;
}

/// The same sum in other parts, most of which are not empty where there are enough.
static void share(repair *r, eg_ints list, int64_t *out, uint32_t len) {
  int64_t left = 0;
  for (uint32_t i = 0; i < list.len; i++)
    left += list.data[i];
  for (uint32_t i = 0; i < len; i++)
    out[i] = 0;
  for (int64_t i = 0; len > 0 && i < left; i++)
    out[eg_rng_below(&r->draws->rng, len)]++;
}

/// Axes from the front, ones behind a shape.
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
  eg_rule_value value = eg_repair_list(copy, len);
  return eg_repair_solve(r, expr, &value);
}

bool eg_solve_len(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
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

bool eg_solve_index_of(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  eg_rule_value list;
  int64_t element;
  if (!eg_repair_value_of(r, call->args[0], &list) || value->kind != EG_RULE_INT ||
      !eg_repair_int_of(r, call->args[1], &element) || value->i < 0 ||
      value->i >= list.ints.len)
    return false;
  int64_t *copy = eg_repair_copy(r, list.ints, list.ints.len);
  if (copy == NULL) return false;
  copy[value->i] = element;
  eg_rule_value changed = eg_repair_list(copy, list.ints.len);
  return eg_repair_solve(r, call->args[0], &changed);
}

bool eg_solve_reverse(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  if (value->kind != EG_RULE_INTS) return false;
  uint32_t len = value->ints.len;
  int64_t *copy = eg_repair_copy(r, value->ints, len);
  if (copy == NULL) return false;
  for (uint32_t i = 0; i < len; i++)
    copy[i] = value->ints.data[len - 1 - i];
  eg_rule_value changed = eg_repair_list(copy, len);
  return eg_repair_solve(r, call->args[0], &changed);
}

/// The list is the value but for the element that is set.
bool eg_solve_set_at(repair *r, const eg_rule_expr *call, const eg_rule_value *value) {
  eg_rule_value list;
  int64_t index, element;
  uint32_t at;
  if (!eg_repair_value_of(r, call->args[0], &list) || value->kind != EG_RULE_INTS ||
      value->ints.len != list.ints.len || !eg_repair_int_of(r, call->args[1], &index) ||
      !eg_rule_index(index, list.ints.len, &at))
    return false;
  if (!eg_repair_int_of(r, call->args[2], &element) || element != value->ints.data[at])
    return false;
  int64_t *copy = eg_repair_copy(r, value->ints, value->ints.len);
  if (copy == NULL) return false;
  copy[at] = list.ints.data[at];
  eg_rule_value changed = eg_repair_list(copy, list.ints.len);
  return eg_repair_solve(r, call->args[0], &changed);
}

// ---- permutations -------------------------------------------------------------------

static bool is_permutation(eg_ints list) {
  uint64_t seen = 0;
  for (uint32_t i = 0; i < list.len; i++) {
    if (list.data[i] < 0 || list.data[i] >= list.len || list.len > 63) return false;
    seen |= UINT64_C(1) << list.data[i];
  }
  return seen == (UINT64_C(1) << list.len) - 1;
}

const int64_t *eg_repair_perm(repair *r, eg_ints perm, eg_ints list) {
  if (perm.len != list.len || !is_permutation(perm)) return NULL;
  if (is_permutation(list)) return list.data;
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
  return copy;
}

static int64_t *inverse_of(repair *r, eg_ints perm) {
  int64_t *inverse = is_permutation(perm) ? eg_repair_copy(r, perm, perm.len) : NULL;
  for (uint32_t i = 0; inverse != NULL && i < perm.len; i++)
    inverse[perm.data[i]] = i;
  return inverse;
}

/// result[i] = list[perm[i]], or NULL.
static int64_t *permuted(repair *r, eg_ints list, eg_ints perm) {
  bool fits = is_permutation(perm) && list.len == perm.len;
  int64_t *copy = fits ? eg_repair_copy(r, list, list.len) : NULL;
  for (uint32_t i = 0; copy != NULL && i < perm.len; i++)
    copy[i] = list.data[perm.data[i]];
  return copy;
}

static bool solve_data(repair *r, uint32_t expr, const int64_t *data, uint32_t len) {
  eg_rule_value value = eg_repair_list(data, len);
  return data != NULL && eg_repair_solve(r, expr, &value);
}

bool eg_solve_perm_inverse(repair *r, const eg_rule_expr *call,
                           const eg_rule_value *value) {
  return value->kind == EG_RULE_INTS &&
         solve_data(r, call->args[0], inverse_of(r, value->ints), value->ints.len);
}

/// list[perm[i]] = value[i]: the list is the value permuted back; the permutation looks
/// every element up.
static bool solve_apply(repair *r, uint32_t perm, uint32_t list, eg_ints value) {
  eg_rule_value is;
  if (eg_repair_value_of(r, perm, &is) && is_permutation(is.ints) &&
      is.ints.len == value.len) {
    eg_ints back = {inverse_of(r, is.ints), is.ints.len};
    if (back.data != NULL && solve_data(r, list, permuted(r, value, back), value.len))
      return true;
  }
  if (!eg_repair_value_of(r, list, &is) || is.ints.len != value.len) return false;
  int64_t *copy = eg_repair_copy(r, value, value.len);
  for (uint32_t i = 0; copy != NULL && i < value.len; i++) {
    copy[i] = 0;
    while (copy[i] < value.len && is.ints.data[copy[i]] != value.data[i])
      copy[i]++;
  }
  return solve_data(r, perm, copy, value.len);
}

bool eg_solve_perm_apply(repair *r, const eg_rule_expr *call,
                         const eg_rule_value *value) {
  return value->kind == EG_RULE_INTS &&
         solve_apply(r, call->args[0], call->args[1], value->ints);
}

/// result[i] = q[p[i]]
bool eg_solve_perm_compose(repair *r, const eg_rule_expr *call,
                           const eg_rule_value *value) {
  return value->kind == EG_RULE_INTS &&
         solve_apply(r, call->args[0], call->args[1], value->ints);
}
