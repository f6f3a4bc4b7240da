// SPDX-License-Identifier: Apache-2.0
#include "sim/collective_rounds.h"

#include "base/owner.h"

EG_OWNER_DEFINE(eg_rounds, (eg_messages, messages), (eg_round_list, rounds))

/// A group of n devices; `levels` are the sizes of its hierarchy.
typedef struct group {
  uint32_t n, level_count;
  const uint32_t *levels;
  eg_rounds *out;
} group;

typedef egraph_status generate(const group *g);

static egraph_status begin_round(const group *g, uint32_t repeat) {
  return eg_round_list_push(
      &g->out->rounds,
      (eg_round){.first = (uint32_t)g->out->messages.len, .repeat = repeat});
}

static egraph_status send(const group *g, uint32_t from, uint32_t to, double share) {
  if (g->out->messages.len == EG_ROUNDS_MOST_MESSAGES)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "an exchange of %u devices is more than %d messages, too many to "
                   "simulate; take fewer devices, or closed forms",
                   g->n, EG_ROUNDS_MOST_MESSAGES);
  g->out->rounds.data[g->out->rounds.len - 1].count++;
  return eg_messages_push(&g->out->messages, (eg_message){from, to, share});
}

static bool is_power_of_two(uint32_t n) { return (n & (n - 1)) == 0; }

/// Returns the largest power of two that is not above n.
static uint32_t power_below(uint32_t n) {
  uint32_t power = 1;
  while (power <= n / 2)
    power *= 2;
  return power;
}

// ---- rings, of all or of a level of a hierarchy -----------------------------------

/// Adds rounds in which each ring of `size` devices, whose numbers differ by `stride`,
/// sends to the next devices, `repeat` times.
static egraph_status go_round(const group *g, uint32_t size, uint32_t stride,
                              uint32_t repeat, double share) {
  if (repeat == 0) return EGRAPH_OK;
  EG_TRY(begin_round(g, repeat));
  for (uint32_t d = 0; d < g->n; d++) {
    uint32_t place = d / stride % size;
    EG_TRY(send(g, d, d - place * stride + (place + 1) % size * stride, share));
  }
  return EGRAPH_OK;
}

/// Adds rounds in which every device sends to each other device of its ring (`size`).
static egraph_status send_to_each(const group *g, uint32_t size, uint32_t stride,
                                  double share) {
  for (uint32_t distance = 1; distance < size; distance++) {
    EG_TRY(begin_round(g, 1));
    for (uint32_t d = 0; d < g->n; d++) {
      uint32_t place = d / stride % size;
      EG_TRY(send(g, d, d - place * stride + (place + distance) % size * stride, share));
    }
  }
  return EGRAPH_OK;
}

static egraph_status ring_once(const group *g) {
  return go_round(g, g->n, 1, g->n - 1, 1.0 / g->n);
}

static egraph_status ring_twice(const group *g) {
  return go_round(g, g->n, 1, 2 * (g->n - 1), 1.0 / g->n);
}

static egraph_status pairwise(const group *g) {
  return send_to_each(g, g->n, 1, 1.0 / g->n / g->n);
}

// ---- halving and doubling ---------------------------------------------------------

/// Adds rounds in which blocks double: after a round of distance k a device has the
/// blocks of 2k devices.
static egraph_status double_blocks(const group *g) {
  for (uint32_t k = 1; k < g->n; k *= 2) {
    EG_TRY(begin_round(g, 1));
    uint32_t blocks = k < g->n - k ? k : g->n - k;
    for (uint32_t d = 0; d < g->n; d++)
      EG_TRY(send(g, d, is_power_of_two(g->n) ? d ^ k : (d + g->n - k) % g->n,
                  (double)blocks / g->n));
  }
  return EGRAPH_OK;
}

/// Adds the rounds of double_blocks in reverse order, with messages in reverse direction.
static egraph_status halve_blocks(const group *g) {
  for (uint32_t k = power_below(g->n - 1); k > 0; k /= 2) {
    EG_TRY(begin_round(g, 1));
    uint32_t blocks = k < g->n - k ? k : g->n - k;
    for (uint32_t d = 0; d < g->n; d++)
      EG_TRY(send(g, d, is_power_of_two(g->n) ? d ^ k : (d + k) % g->n,
                  (double)blocks / g->n));
  }
  return EGRAPH_OK;
}

static egraph_status halve_and_double(const group *g) {
  EG_TRY(halve_blocks(g));
  return double_blocks(g);
}

static egraph_status double_whole(const group *g) {
  uint32_t most = power_below(g->n);
  for (uint32_t d = most; d < g->n; d++) {
    if (d == most) EG_TRY(begin_round(g, 1));
    EG_TRY(send(g, d, d - most, 1));
  }
  for (uint32_t k = 1; k < most; k *= 2) {
    EG_TRY(begin_round(g, 1));
    for (uint32_t d = 0; d < most; d++)
      EG_TRY(send(g, d, d ^ k, 1));
  }
  for (uint32_t d = most; d < g->n; d++) {
    if (d == most) EG_TRY(begin_round(g, 1));
    EG_TRY(send(g, d - most, d, 1));
  }
  return EGRAPH_OK;
}

/// Adds a round per power of two: each block moves by the powers of two in its distance.
static egraph_status travel_by_ones(const group *g) {
  for (uint32_t bit = 1; bit < g->n; bit *= 2) {
    uint32_t blocks = 0;
    for (uint32_t distance = 0; distance < g->n; distance++)
      blocks += (distance & bit) != 0;
    EG_TRY(begin_round(g, 1));
    for (uint32_t d = 0; d < g->n; d++)
      EG_TRY(send(g, d, (d + bit) % g->n, (double)blocks / g->n / g->n));
  }
  return EGRAPH_OK;
}

// ---- two trees --------------------------------------------------------------------

enum { TREES = 2 };

/// Returns the parent of device `d` in NCCL's binary tree of n devices, whose root is 0.
static uint32_t parent_in_tree(uint32_t n, uint32_t d) {
  uint32_t bit = d & (~d + 1), up = (d ^ bit) | bit << 1;
  return up < n ? up : d ^ bit;
}

/// Returns the parent of device `d` in one of two trees. The second tree is the first one
/// mirrored or shifted, so that no device is an inner node of both.
static uint32_t parent_of(uint32_t n, int tree, uint32_t d) {
  if (tree == 0) return parent_in_tree(n, d);
  if (n % 2 == 0) return n - 1 - parent_in_tree(n, n - 1 - d);
  return (parent_in_tree(n, (d + n - 1) % n) + 1) % n;
}

static uint32_t root_of_tree(uint32_t n, int tree) {
  return tree == 0 ? 0 : n % 2 == 0 ? n - 1 : 1;
}

static uint32_t depth_of(uint32_t n, int tree, uint32_t d) {
  uint32_t depth = 0;
  for (; d != root_of_tree(n, tree); d = parent_of(n, tree, d))
    depth++;
  return depth;
}

static bool is_turn(uint32_t round, uint32_t begin) {
  return round >= begin && round - begin < EG_ROUNDS_PIECES;
}

/// Adds rounds that send pieces, one after the other, up the two trees, then down.
static egraph_status two_trees(const group *g) {
  const double share = 1.0 / TREES / EG_ROUNDS_PIECES;
  uint32_t deepest = 0;
  for (int tree = 0; tree < TREES; tree++)
    for (uint32_t d = 0; d < g->n; d++) {
      uint32_t depth = depth_of(g->n, tree, d);
      if (depth > deepest) deepest = depth;
    }
  for (uint32_t round = 0; round + 1 < EG_ROUNDS_PIECES + 2 * deepest; round++) {
    EG_TRY(begin_round(g, 1));
    for (int tree = 0; tree < TREES; tree++)
      for (uint32_t d = 0; d < g->n; d++) {
        uint32_t depth = depth_of(g->n, tree, d);
        if (depth == 0) continue;
        uint32_t parent = parent_of(g->n, tree, d);
        if (is_turn(round, deepest - depth)) EG_TRY(send(g, d, parent, share));
        if (is_turn(round, deepest + depth - 1)) EG_TRY(send(g, parent, d, share));
      }
  }
  return EGRAPH_OK;
}

// ---- hierarchies ------------------------------------------------------------------

static egraph_status gather_by_levels(const group *g) {
  for (uint32_t i = g->level_count, stride = g->n; i-- > 0;) {
    stride /= g->levels[i];
    EG_TRY(
        go_round(g, g->levels[i], stride, g->levels[i] - 1, 1.0 / stride / g->levels[i]));
  }
  return EGRAPH_OK;
}

static egraph_status scatter_by_levels(const group *g) {
  for (uint32_t i = 0, stride = 1; i < g->level_count; stride *= g->levels[i], i++)
    EG_TRY(
        go_round(g, g->levels[i], stride, g->levels[i] - 1, 1.0 / stride / g->levels[i]));
  return EGRAPH_OK;
}

static egraph_status reduce_by_levels(const group *g) {
  EG_TRY(scatter_by_levels(g));
  return gather_by_levels(g);
}

static egraph_status exchange_by_levels(const group *g) {
  for (uint32_t i = 0, stride = 1; i < g->level_count; stride *= g->levels[i], i++)
    EG_TRY(send_to_each(g, g->levels[i], stride, 1.0 / g->n / g->levels[i]));
  return EGRAPH_OK;
}

// ---- the table --------------------------------------------------------------------

static generate *const generators[EG_ALGORITHMS][EG_TRANSITION_KINDS] = {
    [EG_ALGORITHM_RING] = {[EG_TRANSITION_ALL_GATHER] = ring_once,
                           [EG_TRANSITION_REDUCE_SCATTER] = ring_once,
                           [EG_TRANSITION_ALL_REDUCE] = ring_twice,
                           [EG_TRANSITION_ALL_TO_ALL] = pairwise},
    [EG_ALGORITHM_HALVING] = {[EG_TRANSITION_ALL_GATHER] = double_blocks,
                              [EG_TRANSITION_REDUCE_SCATTER] = halve_blocks,
                              [EG_TRANSITION_ALL_REDUCE] = halve_and_double,
                              [EG_TRANSITION_ALL_TO_ALL] = travel_by_ones},
    [EG_ALGORITHM_DOUBLING] = {[EG_TRANSITION_ALL_GATHER] = double_blocks,
                               [EG_TRANSITION_REDUCE_SCATTER] = halve_blocks,
                               [EG_TRANSITION_ALL_REDUCE] = double_whole,
                               [EG_TRANSITION_ALL_TO_ALL] = travel_by_ones},
    [EG_ALGORITHM_TREE] = {[EG_TRANSITION_ALL_GATHER] = double_blocks,
                           [EG_TRANSITION_REDUCE_SCATTER] = halve_blocks,
                           [EG_TRANSITION_ALL_REDUCE] = two_trees,
                           [EG_TRANSITION_ALL_TO_ALL] = travel_by_ones},
    [EG_ALGORITHM_HIERARCHICAL] = {[EG_TRANSITION_ALL_GATHER] = gather_by_levels,
                                   [EG_TRANSITION_REDUCE_SCATTER] = scatter_by_levels,
                                   [EG_TRANSITION_ALL_REDUCE] = reduce_by_levels,
                                   [EG_TRANSITION_ALL_TO_ALL] = exchange_by_levels},
};

egraph_status eg_rounds_make(eg_collective_algorithm algorithm, eg_transition_kind kind,
                             uint32_t n, const uint32_t *levels, uint32_t level_count,
                             eg_rounds *out) {
  const group g = {n, level_count, levels, out};
  assert(algorithm < EG_ALGORITHMS && kind < EG_TRANSITION_KINDS);
  assert(n <= 1 || generators[algorithm][kind] != NULL);
  return n <= 1 ? EGRAPH_OK : generators[algorithm][kind](&g);
}

egraph_status eg_rounds_make_broadcast(uint32_t n, eg_rounds *out) {
  const group g = {.n = n, .out = out};
  for (uint32_t k = 1; k < n; k *= 2) {
    EG_TRY(begin_round(&g, 1));
    for (uint32_t d = 0; d < k && d + k < n; d++)
      EG_TRY(send(&g, d, d + k, 1));
  }
  return EGRAPH_OK;
}

egraph_status eg_rounds_make_neighbours(uint32_t n, eg_rounds *out) {
  const group g = {.n = n, .out = out};
  for (int back = 0; back < 2 && n > 1; back++) {
    EG_TRY(begin_round(&g, 1));
    for (uint32_t d = 0; d + 1 < n; d++)
      EG_TRY(send(&g, back ? d + 1 : d, back ? d : d + 1, 1));
  }
  return EGRAPH_OK;
}
