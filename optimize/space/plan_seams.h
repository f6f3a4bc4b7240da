// Seams of a folded step: where the block that stands for many meets its neighbours.
//
//      head | C | A x n | N | ...        the seams are C|A and A|N
//
// A *link* is a value of one block with a value of the next one that is made of it.
// Copies of A meet each other in the links of both seams at once: what is wanted of a
// value at C|A is wanted of its like at A|N. So the folded step costs what the whole one
// does in which all n copies are treated alike, if every link at one seam has its like at
// the other.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_PLAN_SEAMS_H
#define EG_OPTIMIZE_SPACE_PLAN_SEAMS_H

#include "base/vec.h"

enum { EG_SEAMS = 2 }; // before A, after A

/// The same link at both seams.
typedef struct eg_seam_link {
  uint32_t value[EG_SEAMS]; // of the space
  uint32_t user[EG_SEAMS];  // of the space, made of it
} eg_seam_link;
EG_VEC_DEFINE(eg_seam_links, eg_seam_link);

#endif
