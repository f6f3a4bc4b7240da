// Bit rows are united and summed up. For shared sets the sum of every part is known
// beforehand, so that only what the rows of the children have in common is walked
// through.
// SPDX-License-Identifier: Apache-2.0
#include "extract/landmark_sums.h"

#include "base/owner.h"

enum { MAX_CHILDREN = 8 };

EG_OWNER_DEFINE(eg_landmark_sums, (eg_words, row), (eg_doubles, sum))

static double sum_leaf(const eg_landmark_sums *sums, const eg_set_node *leaf) {
  uint32_t first = (leaf->code >> 1) * 64;
  double sum = 0;
  for (uint64_t word = eg_sets_word(leaf); word != 0; word &= word - 1) {
    uint32_t class = sums->landmarks->shared.order.data[first + eg_bits_lowest(word)];
    if (!eg_bits_has(sums->paid, class)) sum += sums->weight[class];
  }
  return sum;
}

static egraph_status sum_parts(eg_landmark_sums *sums) {
  const eg_set_nodes *nodes = &sums->landmarks->shared.sets.nodes;
  EG_TRY(eg_doubles_resize(&sums->sum, nodes->len));
  sums->sum.data[0] = 0;
  for (size_t id = 1; id < nodes->len; id++) {
    const eg_set_node *node = &nodes->data[id];
    sums->sum.data[id] = eg_sets_is_leaf(node)
                             ? sum_leaf(sums, node)
                             : sums->sum.data[node->left] + sums->sum.data[node->right];
  }
  return EGRAPH_OK;
}

egraph_status eg_landmark_sums_start(eg_landmark_sums *sums,
                                     const eg_landmarks *landmarks,
                                     const eg_extract_problem *problem,
                                     const double *weight, const uint64_t *paid) {
  sums->landmarks = landmarks;
  sums->problem = problem;
  sums->weight = weight;
  sums->paid = paid;
  if (landmarks->dense) return eg_words_resize(&sums->row, landmarks->words);
  return sum_parts(sums);
}

static double sum_dense(eg_landmark_sums *sums, uint32_t node) {
  uint64_t *row = sums->row.data;
  eg_landmarks_closure(sums->landmarks, sums->problem, node, row);
  eg_bits_clear(row, sums->problem->node_class.data[node]);
  double sum = 0;
  for (size_t w = 0; w < sums->row.len; w++)
    for (uint64_t bits = row[w] & ~sums->paid[w]; bits != 0; bits &= bits - 1)
      sum += sums->weight[(uint32_t)(w * 64) + eg_bits_lowest(bits)];
  return sum;
}

// Of `set` without the `count` sets in `others`, each of which may reach beyond it.
static double sum_rest(const eg_landmark_sums *sums, uint32_t set, const uint32_t *others,
                       uint32_t count) {
  const eg_sets *sets = &sums->landmarks->shared.sets;
  if (!(sums->sum.data[set] > 0)) return 0;
  const eg_set_node *node = &sets->nodes.data[set];
  uint32_t near[MAX_CHILDREN], left = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t other = eg_sets_narrow(sets, others[i], node->code);
    if (other == set) return 0;
    if (other != 0) near[left++] = other;
  }
  if (left == 0) return sums->sum.data[set];
  if (!eg_sets_is_leaf(node))
    return sum_rest(sums, node->left, near, left) +
           sum_rest(sums, node->right, near, left);
  uint64_t word = eg_sets_word(node);
  for (uint32_t i = 0; i < left; i++)
    word &= ~eg_sets_word(&sets->nodes.data[near[i]]);
  return sum_leaf(sums,
                  &(eg_set_node){node->code, (uint32_t)word, (uint32_t)(word >> 32)});
}

// A node that needs its own class is in no solution, so that counting it does no harm.
static double sum_shared(const eg_landmark_sums *sums, uint32_t node) {
  uint32_t rows[MAX_CHILDREN], count = 0;
  double sum = 0;
  for (uint32_t i = sums->problem->child_begin.data[node];
       i < sums->problem->child_begin.data[node + 1] && count < MAX_CHILDREN; i++) {
    uint32_t row = sums->landmarks->shared.row.data[sums->problem->children.data[i]];
    sum += sum_rest(sums, row, rows, count);
    rows[count++] = row;
  }
  return sum;
}

double eg_landmark_sums_of(eg_landmark_sums *sums, uint32_t node) {
  return sums->landmarks->dense ? sum_dense(sums, node) : sum_shared(sums, node);
}
