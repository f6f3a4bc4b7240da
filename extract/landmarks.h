// Landmarks: for every class the set of classes that each of its derivations contains.
//
//   Nec(c) = {c} u  intersection over the nodes n of c of  union of Nec(children of n)
//
// the greatest fixpoint on bit rows (notes: Hoffmann, Porteous, Sebastia 2004; causal
// landmarks of Keyder, Richter, Helmert 2010). Any fixpoint from above is valid.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LANDMARKS_H
#define EG_EXTRACT_LANDMARKS_H

#include "extract/class_index.h"

typedef struct eg_landmarks {
  size_t words;  // per row
  eg_words rows; // [class][words]
} eg_landmarks;

void eg_landmarks_init(eg_landmarks *landmarks, egraph_allocator alloc);
void eg_landmarks_deinit(eg_landmarks *landmarks);
/// O(rounds * edges * classes / 64) time and classes^2 / 8 bytes; the caller bounds them.
/// *out_done: before the deadline (of eg_clock_seconds()); else the rows mean nothing.
egraph_status eg_landmarks_find(eg_landmarks *landmarks,
                                const eg_extract_problem *problem,
                                const eg_class_index *index, double deadline,
                                bool *out_done);

static inline const uint64_t *eg_landmarks_of(const eg_landmarks *landmarks,
                                              uint32_t class) {
  return landmarks->rows.data + (size_t) class * landmarks->words;
}
/// out = union of Nec over the children of `node`.
void eg_landmarks_closure(const eg_landmarks *landmarks,
                          const eg_extract_problem *problem, uint32_t node,
                          uint64_t *out);

#endif
