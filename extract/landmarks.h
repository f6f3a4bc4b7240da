// Landmarks: for every class a set of classes that each of its derivations contains.
//
//   Nec(c) = {c} u  intersection over the nodes n of c of  union of Nec(children of n)
//
// The greatest fixpoint holds all there are (notes: Hoffmann, Porteous, Sebastia 2004;
// causal landmarks of Keyder, Richter, Helmert 2010). On small problems rows are bits and
// the fixpoint is found; on large ones they are sets with shared structure and a search
// that becomes too large may leave landmarks out. What readers may rely on:
//   - truth: whatever a row holds is in every derivation; a row may hold less;
//   - support: what a row of c holds, other than c, is in the row of some child of every
//     node of c. So "the classes that need d" is a set with a valid S-cut.
// A class without derivations needs all classes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LANDMARKS_H
#define EG_EXTRACT_LANDMARKS_H

#include "extract/landmark_sets.h"

typedef struct eg_landmarks {
  size_t dense_bytes;        // what bit rows may take; above it are shared sets
  eg_landmark_limits limits; // of shared sets; patience is set by find
  bool dense;
  size_t words;  // of dense rows: words per row
  eg_words rows; // [class][words]
  eg_landmark_sets shared;
} eg_landmarks;

/// With the usual limits: 2 MiB of bit rows, some 100 MiB of sets.
void eg_landmarks_init(eg_landmarks *landmarks, egraph_allocator alloc);
void eg_landmarks_deinit(eg_landmarks *landmarks);
/// Bit rows take O(rounds * edges * classes / 64) time, sets what the limits allow; when
/// they strike, later calls have fewer steps.
/// *out_done: before patience ended; else the rows mean nothing.
egraph_status eg_landmarks_find(eg_landmarks *landmarks,
                                const eg_extract_problem *problem,
                                const eg_class_index *index, eg_patience patience,
                                bool *out_done);

/// Row of a class, when landmarks->dense.
static inline const uint64_t *eg_landmarks_of(const eg_landmarks *landmarks,
                                              uint32_t class) {
  return landmarks->rows.data + (size_t) class * landmarks->words;
}
/// Whether every derivation of `class` needs `needed`. O(1), or O(log classes) for sets.
static inline bool eg_landmarks_has(const eg_landmarks *landmarks, uint32_t class,
                                    uint32_t needed) {
  if (landmarks->dense) return eg_bits_has(eg_landmarks_of(landmarks, class), needed);
  const eg_landmark_sets *shared = &landmarks->shared;
  return eg_sets_has(&shared->sets, shared->row.data[class],
                     shared->position.data[needed]);
}
/// Appends the row of `class`, in the same order every time.
egraph_status eg_landmarks_list(const eg_landmarks *landmarks, uint32_t class,
                                eg_u32s *out);
/// Whether some child of `node` needs `needed`.
static inline bool eg_landmarks_node_has(const eg_landmarks *landmarks,
                                         const eg_extract_problem *problem, uint32_t node,
                                         uint32_t needed) {
  for (uint32_t i = problem->child_begin.data[node];
       i < problem->child_begin.data[node + 1]; i++)
    if (eg_landmarks_has(landmarks, problem->children.data[i], needed)) return true;
  return false;
}
/// out = union of Nec over the children of `node`, when landmarks->dense.
void eg_landmarks_closure(const eg_landmarks *landmarks,
                          const eg_extract_problem *problem, uint32_t node,
                          uint64_t *out);

#endif
