// Landmarks: for every class a set of classes that each of its derivations contains.
//
//   Nec(c) = {c} u  intersection over the nodes n of c of  union of Nec(children of n)
//
// The greatest fixpoint contains all landmarks (Hoffmann, Porteous, Sebastia 2004; causal
// landmarks of Keyder, Richter, Helmert 2010). On small problems rows are bits, and the
// search reaches the fixpoint; on large problems rows are sets with shared structure, and
// a search that becomes too large may miss landmarks. Readers may rely on:
//   - truth: every class of a row is in every derivation; a row may lack some;
//   - support: every class of the row of c, other than c, is in the row of some child of
//     every node of c. So "the classes that need d" is a set with a valid S-cut.
// A class without derivations needs all classes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PRESOLVE_LANDMARKS_H
#define EG_EXTRACT_PRESOLVE_LANDMARKS_H

#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/incumbent.h"
#include "extract/presolve/shared_sets.h"

/// Landmarks of large problems, a set (row) per class. Rows of bits take classes^2 / 8
/// bytes; a row here takes only the memory of the parts that it shares with no other row,
/// and all rows together have a limit.
typedef struct eg_landmark_sets {
  eg_sets sets;
  eg_u32s row;      // [class] set of positions
  eg_u32s order;    // [position] class, children first
  eg_u32s position; // [class]
  bool gave_up;     // on the fixpoint of some part
} eg_landmark_sets;

/// Limits of a search for landmarks. A search that needs more steps in a strongly
/// connected part of the class graph may miss landmarks of that part; one that needs more
/// set nodes may miss landmarks of all classes that it visits later.
typedef struct eg_landmark_limits {
  uint32_t set_nodes;      // about 25 to 35 bytes each; besides, one per class
  uint64_t steps_per_edge; // steps for a strongly connected part
  eg_patience patience;
} eg_landmark_limits;

typedef struct eg_landmarks {
  size_t dense_bytes;        // limit of bit rows; larger problems have shared sets
  eg_landmark_limits limits; // limits for shared sets; find sets `patience`
  bool dense;
  size_t words;  // words per row, when dense
  eg_words rows; // [class][words]
  eg_landmark_sets shared;
} eg_landmarks;

/// Initializes with the usual limits: 2 MiB of bit rows, about 100 MiB of sets.
void eg_landmarks_init(eg_landmarks *landmarks, egraph_allocator alloc);
void eg_landmarks_deinit(eg_landmarks *landmarks);
/// Finds the landmarks of all classes. Bit rows take O(rounds * edges * classes / 64)
/// time, sets as much as the limits allow; when a limit is reached, later calls have
/// fewer steps.
/// *out_done: false when patience ended first; the rows are then undefined.
egraph_status eg_landmarks_find(eg_landmarks *landmarks,
                                const eg_extract_problem *problem,
                                const eg_class_index *index, eg_patience patience,
                                bool *out_done);

/// Returns the landmarks of a class as a row of bits; needs landmarks->dense.
static inline const uint64_t *eg_landmarks_of(const eg_landmarks *landmarks,
                                              uint32_t class) {
  return landmarks->rows.data + (size_t) class * landmarks->words;
}
/// True when every derivation of `class` needs `needed`. O(log classes) at most.
static inline bool eg_landmarks_has(const eg_landmarks *landmarks, uint32_t class,
                                    uint32_t needed) {
  if (landmarks->dense) return eg_bits_has(eg_landmarks_of(landmarks, class), needed);
  const eg_landmark_sets *shared = &landmarks->shared;
  return eg_sets_has(&shared->sets, shared->row.data[class],
                     shared->position.data[needed]);
}
/// Appends the landmarks of `class`, in the same order every time.
egraph_status eg_landmarks_list(const eg_landmarks *landmarks, uint32_t class,
                                eg_u32s *out);
/// True when some child of `node` needs `needed`.
static inline bool eg_landmarks_node_has(const eg_landmarks *landmarks,
                                         const eg_extract_problem *problem, uint32_t node,
                                         uint32_t needed) {
  EG_EACH_CHILD(problem, node, child) {
    if (eg_landmarks_has(landmarks, child, needed)) return true;
  }
  return false;
}
/// Fills out with all landmarks of the children of `node`; needs landmarks->dense.
void eg_landmarks_closure(const eg_landmarks *landmarks,
                          const eg_extract_problem *problem, uint32_t node,
                          uint64_t *out);

/// Sums of weights over the landmarks of nodes: their part of a lower bound.
typedef struct eg_landmark_sums {
  const eg_landmarks *landmarks;
  const eg_extract_problem *problem;
  const double *weight; // [class], >= 0
  const uint64_t *paid; // [class] bits: weights that do not count
  eg_words row;         // scratch, of dense landmarks
  eg_doubles sum;       // [set node], for shared landmarks
} eg_landmark_sums;
EG_OWNER_DEFINE_STATIC(eg_landmark_sums, (eg_words, row), (eg_doubles, sum))

/// Prepares sums of these weights over landmarks. Borrows all pointers. O(rows) for
/// shared landmarks.
egraph_status eg_landmark_sums_start(eg_landmark_sums *sums,
                                     const eg_landmarks *landmarks,
                                     const eg_extract_problem *problem,
                                     const double *weight, const uint64_t *paid);
/// Returns the sum of the weights of all landmarks of the children of `node`, except paid
/// classes and the node's own class. With shared landmarks the sum may be lower, because
/// only some children count.
double eg_landmark_sums_of(eg_landmark_sums *sums, uint32_t node);

#endif
