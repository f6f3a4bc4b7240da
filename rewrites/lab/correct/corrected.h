// Corrected rules of a pair that is equal on a box of its result: the right side inside
// of the box, the left side outside of it, put together.
//
//      0   from  to  size            (concat :axis 0
//   0  +----------------+              LEFT[0, from)
//      |      left      |              (concat :axis 1 LEFT (slice RIGHT) LEFT)
//      +----+-----+-----+              LEFT[to, size))
//      |left|right|left |
//      +----+-----+-----+            One rule for each set of sides that have a left
//      part. |      left      |
//      +----------------+
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_CORRECTED_H
#define EG_REWRITES_CORRECTED_H

#include "base/sexpr.h"
#include "rewrites/lab/correct/border.h"

/// The borders of a box, by dimension of the result.
typedef struct eg_box {
  eg_border from[EGRAPH_MAX_RANK], to[EGRAPH_MAX_RANK];
} eg_box;

enum { EG_MOST_CORRECTED = 4 };

/// Which sides of the box have a left part, two bits a dimension: before, behind. The
/// sets that instances have, the one that most have first; those of few are left out.
typedef struct eg_box_sides {
  uint32_t count, sides[EG_MOST_CORRECTED];
} eg_box_sides;
eg_box_sides eg_box_sides_of(const eg_partial *partial, const eg_box *box);

/// Appends the rule for a set of sides. `form` is the pair as it is printed. *out_whole:
/// all of the left side is computed nevertheless.
egraph_status eg_corrected_print(const eg_partial *partial, const eg_box *box,
                                 uint32_t sides, uint32_t number, const eg_sexpr *form,
                                 eg_text *text, bool *out_whole);

#endif
