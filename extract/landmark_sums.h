// Sums of weights over what nodes need: the part of a lower bound that landmarks give.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LANDMARK_SUMS_H
#define EG_EXTRACT_LANDMARK_SUMS_H

#include "extract/landmarks.h"

typedef struct eg_landmark_sums {
  const eg_landmarks *landmarks;
  const eg_extract_problem *problem;
  const double *weight; // [class], >= 0
  const uint64_t *paid; // [class] bits: weights that do not count
  eg_words row;         // scratch, of dense landmarks
  eg_doubles sum;       // [set node], of shared ones
} eg_landmark_sums;

void eg_landmark_sums_init(eg_landmark_sums *sums, egraph_allocator alloc);
void eg_landmark_sums_deinit(eg_landmark_sums *sums);
/// Borrows all pointers. O(rows) for shared landmarks.
egraph_status eg_landmark_sums_start(eg_landmark_sums *sums,
                                     const eg_landmarks *landmarks,
                                     const eg_extract_problem *problem,
                                     const double *weight, const uint64_t *paid);
/// Weights of what the children of `node` need, paid ones and the node's own class left
/// out. With shared landmarks at most that: only some children are looked at.
double eg_landmark_sums_of(eg_landmark_sums *sums, uint32_t node);

#endif
