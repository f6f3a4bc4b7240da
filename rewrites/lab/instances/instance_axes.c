// Tests whether permutations and axes are in a class of instances, and draws such values.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_tests.h"

// ---- permutations -------------------------------------------------------------------

/// Counts the positions that a permutation does not move; sets *is_own when the
/// permutation is its own inverse.
static uint32_t kept_of(eg_ints perm, bool *is_own) {
  uint32_t kept = 0;
  *is_own = true;
  for (uint32_t i = 0; i < perm.len; i++) {
    int64_t once = perm.data[i];
    kept += once == i;
    *is_own = *is_own && once >= 0 && once < perm.len && perm.data[once] == i;
  }
  return kept;
}

static bool is_rotation(eg_ints perm) {
  for (uint32_t i = 0; i < perm.len; i++)
    if (perm.data[i] != (perm.data[0] + i) % perm.len) return false;
  return perm.len > 0 && perm.data[0] != 0;
}

static bool is_reversal(eg_ints perm) {
  for (uint32_t i = 0; i < perm.len; i++)
    if (perm.data[i] != perm.len - 1 - i) return false;
  return perm.len > 1;
}

static bool swaps_neighbours(eg_ints perm) {
  for (uint32_t i = 0; i + 1 < perm.len; i++)
    if (perm.data[i] == i + 1) return true;
  return false;
}

static bool perm_is(eg_perm_kind kind, eg_ints perm) {
  bool is_own;
  uint32_t kept = kept_of(perm, &is_own), last = perm.len > 0 ? perm.len - 1 : 0;
  bool is_cycle = !is_own && kept < perm.len;
  bool keeps_first = is_cycle && perm.data[0] == 0;
  bool keeps_last = is_cycle && perm.data[last] == last;
  switch (kind) {
  case EG_PERM_NONE: return kept == perm.len;
  case EG_PERM_SWAP: return is_own && kept < perm.len;
  case EG_PERM_CYCLE: return is_cycle;
  case EG_PERM_ADJACENT: return is_own && kept + 2 == perm.len && swaps_neighbours(perm);
  case EG_PERM_ROTATION: return is_rotation(perm);
  case EG_PERM_REVERSAL: return is_reversal(perm);
  case EG_PERM_SWAPS: return is_own && kept + 4 <= perm.len;
  case EG_PERM_FIRST_KEPT: return keeps_first && !keeps_last;
  case EG_PERM_LAST_KEPT: return keeps_last && !keeps_first;
  case EG_PERM_ENDS_KEPT: return keeps_first && keeps_last;
  case EG_PERM_ALL_MOVED: return is_cycle && kept == 0;
  }
  return false;
}

static void swap(int64_t *perm, uint32_t a, uint32_t b) {
  int64_t kept = perm[a];
  perm[a] = perm[b];
  perm[b] = kept;
}

/// Exchanges two pairs of elements of a permutation, which are adjacent or cross.
static void swap_pairs(eg_verify_choice *choice, int64_t *perm, uint32_t rank) {
  if (rank < 4) return;
  uint32_t first = eg_verify_below(choice, rank - 3);
  bool crosses = eg_verify_chance(choice, 50);
  swap(perm, first, first + 1 + crosses);
  swap(perm, crosses ? first + 1 : first + 2, first + 3);
}

static eg_ints draw_perm(eg_perm_kind kind, eg_verify_choice *choice) {
  uint32_t rank = choice->types[0].rank;
  int64_t *perm = eg_verify_list(choice, rank);
  uint32_t by = rank > 2 ? 1 + eg_verify_below(choice, rank - 1) : rank / 2;
  bool rotates = kind == EG_PERM_ROTATION || kind == EG_PERM_CYCLE;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = kind == EG_PERM_REVERSAL ? rank - 1 - i : rotates ? (i + by) % rank : i;
  if (kind == EG_PERM_SWAP && rank > 1) {
    uint32_t a = eg_verify_below(choice, rank);
    swap(perm, a, (a + 1 + eg_verify_below(choice, rank - 1)) % rank);
  }
  if (kind == EG_PERM_ADJACENT && rank > 1) {
    uint32_t a = eg_verify_below(choice, rank - 1);
    swap(perm, a, a + 1);
  }
  if (kind == EG_PERM_SWAPS) swap_pairs(choice, perm, rank);
  bool keeps_first = kind == EG_PERM_FIRST_KEPT || kind == EG_PERM_ENDS_KEPT;
  bool keeps_last = kind == EG_PERM_LAST_KEPT || kind == EG_PERM_ENDS_KEPT;
  if (keeps_first || keeps_last || kind == EG_PERM_ALL_MOVED)
    for (uint32_t i = 0; i < 8 && !perm_is(kind, (eg_ints){perm, rank}); i++)
      for (uint32_t k = rank > 0 ? rank - keeps_last : 0; k > keeps_first + 1u; k--)
        swap(perm, k - 1, keeps_first + eg_verify_below(choice, k - keeps_first));
  return (eg_ints){.data = perm, .len = rank};
}

// ---- axes ---------------------------------------------------------------------------

static bool has_gap(eg_ints axes, uint32_t rank) {
  uint64_t seen = 0;
  for (uint32_t i = 0; i < axes.len; i++) {
    int64_t axis = axes.data[i] < 0 ? axes.data[i] + rank : axes.data[i];
    if (axis >= 0 && axis < 63) seen |= UINT64_C(1) << axis;
  }
  while (seen != 0 && (seen & 1) == 0)
    seen >>= 1;
  return (seen & (seen + 1)) != 0;
}

static bool axes_are(eg_axis_kind kind, eg_ints axes, uint32_t rank) {
  if (axes.len == 0) return false;
  if (kind >= EG_AXES_ADJACENT)
    return axes.len > 1 && has_gap(axes, rank) == (kind == EG_AXES_APART);
  int64_t axis = axes.data[0] < 0 ? axes.data[0] + rank : axes.data[0];
  eg_axis_kind is = axis == 0                   ? EG_AXIS_FIRST
                    : axis + 1 == (int64_t)rank ? EG_AXIS_LAST
                                                : EG_AXIS_BETWEEN;
  return axes.len == 1 && is == kind;
}

static eg_ints draw_axes(eg_axis_kind kind, uint32_t rank, eg_verify_choice *choice) {
  int64_t *axes = eg_verify_list(choice, rank + 1);
  uint32_t len = 1, gap = kind == EG_AXES_APART;
  axes[0] = kind == EG_AXIS_LAST && rank > 0 ? rank - 1 : 0;
  if (kind == EG_AXIS_BETWEEN && rank > 2)
    axes[0] = 1 + eg_verify_below(choice, rank - 2);
  if (kind >= EG_AXES_ADJACENT && rank > 2) {
    axes[0] = eg_verify_below(choice, rank - 1 - gap);
    uint32_t most = rank - (uint32_t)axes[0] - gap;
    len = 2 + (most > 2 ? eg_verify_below(choice, most - 1) : 0);
    if (len > most) len = most;
    for (uint32_t i = 1; i < len; i++)
      axes[i] = axes[0] + i + gap;
  }
  return (eg_ints){.data = axes, .len = len};
}

// ---- what classes test --------------------------------------------------------------

EG_CLASS_HOLDS(holds_permutation) {
  return attr->ints.len >= row->high && perm_is((eg_perm_kind)row->low, attr->ints);
}

EG_CLASS_PUT(put_permutation) { attr->ints = draw_perm((eg_perm_kind)row->low, choice); }

/// Returns the axes of an attribute that is one axis or a list of axes.
static eg_ints axes_of(const eg_attr *attr) {
  return attr->kind == EG_ATTR_INTS ? attr->ints : (eg_ints){.data = &attr->i, .len = 1};
}

EG_CLASS_HOLDS(holds_axes) {
  uint32_t rank = node->types[0].rank;
  return rank >= row->high && axes_are((eg_axis_kind)row->low, axes_of(attr), rank);
}

/// Draws an attribute of axes; not for squeeze and unsqueeze, whose axes depend on sizes.
EG_CLASS_PUT(put_axes) {
  uint32_t rank = choice->types[0].rank;
  if (choice->op == EG_OP_SQUEEZE || choice->op == EG_OP_UNSQUEEZE) return;
  eg_ints axes = draw_axes((eg_axis_kind)row->low, rank, choice);
  if (attr->kind == EG_ATTR_INTS)
    attr->ints = axes;
  else
    attr->i = axes.data[0] - (eg_verify_chance(choice, 50) ? (int64_t)rank : 0);
}

/// True when the axes make every element of the result a reduction of no elements.
EG_CLASS_HOLDS(holds_empty_axes) {
  const eg_type *x = &node->types[0];
  bool is_empty = false, has_result = true;
  for (uint32_t i = 0; i < x->rank; i++) {
    eg_ints axes = axes_of(attr);
    bool is_one = false;
    for (uint32_t k = 0; k < axes.len; k++)
      is_one = is_one || axes.data[k] == i || axes.data[k] + x->rank == i;
    is_empty = is_empty || (x->dims[i] == 0 && is_one);
    has_result = has_result && (x->dims[i] != 0 || is_one);
  }
  return is_empty && has_result;
}

EG_CLASS_PUT(put_empty_axes) {
  const eg_type *x = &choice->types[0];
  int64_t *axes = eg_verify_list(choice, x->rank + 1);
  uint32_t len = 0;
  for (uint32_t i = 0; i < x->rank; i++)
    if (x->dims[i] == 0 || eg_verify_chance(choice, 20)) axes[len++] = i;
  if (len > 0) attr->ints = (eg_ints){.data = axes, .len = len};
}

/// Makes a random node's choice prefer many dimensions. Half of the draws make them
/// equal, so that only data show where each dimension went.
EG_CLASS_PREPARE(prepare_many_dims) {
  if (row->high <= 0) return;
  choice->rank = (uint32_t)row->high + eg_verify_below(choice, 3);
  if (eg_verify_chance(choice, 50)) choice->same_dim = 2;
}

const eg_class_test eg_test_PERMUTATION = {
    .holds = holds_permutation, .put = put_permutation, .prepare = prepare_many_dims};
const eg_class_test eg_test_AXES = {
    .holds = holds_axes, .put = put_axes, .prepare = prepare_many_dims};
const eg_class_test eg_test_EMPTY_AXES = {
    .holds = holds_empty_axes, .put = put_empty_axes, .prepare = eg_prepare_empty};
