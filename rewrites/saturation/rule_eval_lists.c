// Lists of integers: shapes, permutations, pads.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/saturation/rule_eval.h"

#define EVALUATOR(name)                                                                  \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out)
#define UNUSED (void)env, (void)args, (void)count

// A new list of `len` items as the result, or NULL.
static int64_t *result(eg_rule_env *env, int64_t len, eg_rule_value *out) {
  if (len < 0 || len > EG_RULE_SCRATCH_INTS) return NULL;
  int64_t *data = eg_rule_ints(env, (uint32_t)len);
  *out =
      (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = (uint32_t)len}};
  return data;
}

static void copy(int64_t *to, const int64_t *from, uint32_t count) {
  if (count != 0) memcpy(to, from, count * sizeof *to);
}

EVALUATOR(list) {
  int64_t *data = result(env, count, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < count; i++)
    data[i] = args[i].i;
  return true;
}

EVALUATOR(append) {
  int64_t len = 0;
  for (uint32_t i = 0; i < count; i++)
    len += args[i].ints.len;
  int64_t *data = result(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < count; i++) {
    copy(data, args[i].ints.data, args[i].ints.len);
    data += args[i].ints.len;
  }
  return true;
}

EVALUATOR(repeat) {
  UNUSED;
  int64_t *data = result(env, args[1].i, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < out->ints.len; i++)
    data[i] = args[0].i;
  return true;
}

EVALUATOR(range) {
  UNUSED;
  int64_t first = args[0].i, end = args[1].i;
  if (eg_size_is_open(first) || eg_size_is_open(end)) return false;
  if (first < -EG_RULE_SCRATCH_INTS || end > EG_RULE_SCRATCH_INTS) return false;
  int64_t *data = result(env, end > first ? end - first : 0, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < out->ints.len; i++)
    data[i] = first + (int64_t)i;
  return true;
}

EVALUATOR(len) {
  UNUSED;
  *out = eg_rule_int(args[0].ints.len);
  return true;
}

EVALUATOR(at) {
  UNUSED;
  uint32_t index;
  if (!eg_rule_index(args[1].i, args[0].ints.len, &index)) return false;
  *out = eg_rule_int(args[0].ints.data[index]);
  return true;
}

static bool fold(eg_rule_env *env, eg_rule_evaluator *operation,
                 const eg_rule_value *list, int64_t start, eg_rule_value *out) {
  eg_rule_value pair[2] = {eg_rule_int(start)};
  for (uint32_t i = 0; i < list->ints.len; i++) {
    pair[1] = eg_rule_int(list->ints.data[i]);
    eg_rule_value next;
    if (!operation(env, pair, 2, &next)) return false;
    pair[0] = next;
  }
  *out = pair[0];
  return true;
}

EVALUATOR(sum) {
  UNUSED;
  return fold(env, eg_rule_eval_add, &args[0], 0, out);
}

EVALUATOR(product) {
  UNUSED;
  return fold(env, eg_rule_eval_mul, &args[0], 1, out);
}

EVALUATOR(index_of) {
  UNUSED;
  for (uint32_t i = 0; i < args[0].ints.len; i++) {
    if (eg_size_same(args[0].ints.data[i], args[1].i)) {
      *out = eg_rule_int(i);
      return true;
    }
    if (!eg_size_differs(args[0].ints.data[i], args[1].i)) return false;
  }
  return false;
}

static bool cut(const eg_rule_value *list, int64_t first, int64_t end,
                eg_rule_value *out) {
  if (first < 0 || end < first || end > (int64_t)list->ints.len) return false;
  out->kind = EG_RULE_INTS;
  out->ints = (eg_ints){.len = (uint32_t)(end - first)};
  if (out->ints.len != 0) out->ints.data = list->ints.data + first;
  return true;
}

EVALUATOR(take) {
  UNUSED;
  return cut(&args[0], 0, args[1].i, out);
}

EVALUATOR(drop) {
  UNUSED;
  return cut(&args[0], args[1].i, args[0].ints.len, out);
}

EVALUATOR(set_at) {
  UNUSED;
  uint32_t index, len = args[0].ints.len;
  if (!eg_rule_index(args[1].i, len, &index)) return false;
  int64_t *data = result(env, len, out);
  if (data == NULL) return false;
  copy(data, args[0].ints.data, len);
  data[index] = args[2].i;
  return true;
}

EVALUATOR(remove_at) {
  UNUSED;
  uint32_t index, len = args[0].ints.len;
  if (!eg_rule_index(args[1].i, len, &index)) return false;
  int64_t *data = result(env, (int64_t)len - 1, out);
  if (data == NULL) return false;
  copy(data, args[0].ints.data, index);
  copy(data + index, args[0].ints.data + index + 1, len - 1 - index);
  return true;
}

// The index may be the length: then the item comes last. Negative indices
// count in the result.
EVALUATOR(insert_at) {
  UNUSED;
  uint32_t index, len = args[0].ints.len;
  if (!eg_rule_index(args[1].i, len + 1, &index)) return false;
  int64_t *data = result(env, (int64_t)len + 1, out);
  if (data == NULL) return false;
  copy(data, args[0].ints.data, index);
  data[index] = args[2].i;
  if (index < len) copy(data + index + 1, args[0].ints.data + index, len - index);
  return true;
}

EVALUATOR(reverse) {
  UNUSED;
  uint32_t len = args[0].ints.len;
  int64_t *data = result(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < len; i++)
    data[i] = args[0].ints.data[len - 1 - i];
  return true;
}

// By insertion: the lists are axes and shapes.
EVALUATOR(sort) {
  UNUSED;
  uint32_t len = args[0].ints.len;
  if (len > 64 || (len > 1 && eg_size_any_open(args[0].ints.data, len))) return false;
  int64_t *data = result(env, len, out);
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

EVALUATOR(perm_apply) {
  UNUSED;
  uint32_t len = args[0].ints.len;
  if (args[1].ints.len != len) return false;
  int64_t *data = result(env, len, out);
  if (data == NULL) return false;
  for (uint32_t i = 0; i < len; i++) {
    int64_t from = args[0].ints.data[i];
    if (from < 0 || from >= (int64_t)len) return false;
    data[i] = args[1].ints.data[from];
  }
  return true;
}

EVALUATOR(perm_compose) { return eg_rule_eval_perm_apply(env, args, count, out); }

EVALUATOR(perm_inverse) {
  UNUSED;
  uint32_t len = args[0].ints.len;
  int64_t *data = result(env, len, out);
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

EVALUATOR(perm_swap) {
  UNUSED;
  uint32_t i, j;
  int64_t *data = result(env, args[0].i, out);
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

/// Whether all items are as wanted: no value where some are at some sizes of open
/// dimensions only.
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

EVALUATOR(perm_identity) {
  UNUSED;
  bool identity = true;
  for (uint32_t i = 0; i < args[0].ints.len; i++)
    identity =
        identity && args[0].ints.data[i] == (int64_t)i; // a permutation has numbers
  *out = eg_rule_bool(identity);
  return true;
}

EVALUATOR(all_equal) {
  UNUSED;
  return decide_all(args[0].ints, eg_size_same, eg_size_differs, &args[1].i, 0, out);
}

static bool is_odd(int64_t item, int64_t other) {
  (void)other;
  return !eg_size_is_open(item) && item % 2 != 0;
}
static bool is_even(int64_t item, int64_t other) {
  (void)other;
  return !eg_size_is_open(item) && item % 2 == 0;
}

EVALUATOR(all_odd) {
  UNUSED;
  const int64_t none = 0;
  return decide_all(args[0].ints, is_odd, is_even, &none, 0, out);
}

EVALUATOR(contains) {
  UNUSED;
  bool found = false, may_be = false;
  for (uint32_t i = 0; i < args[0].ints.len; i++) {
    found = found || eg_size_same(args[0].ints.data[i], args[1].i);
    may_be = may_be || !eg_size_differs(args[0].ints.data[i], args[1].i);
  }
  *out = eg_rule_bool(found);
  return found || !may_be;
}

static bool is_below(int64_t item, int64_t other) {
  int64_t more;
  return eg_size_add(item, 1, &more) && eg_size_at_least(other, more);
}

EVALUATOR(sorted) {
  UNUSED;
  eg_ints list = args[0].ints, rest = {NULL, 0};
  if (list.len > 1) rest = (eg_ints){list.data + 1, list.len - 1};
  return decide_all(rest, eg_size_at_least, is_below, list.data, 1, out);
}
