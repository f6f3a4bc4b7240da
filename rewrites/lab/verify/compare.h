// Numbers on which both sides of an instance are compared, by kind, and the comparison.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_COMPARE_H
#define EG_REWRITES_VERIFY_COMPARE_H

#include "rewrites/lab/instances/instance_draw.h"

// ---- data (data.c) --------------------------------------------------------------------

/// ORDINARY: small numbers, whole ones half of the time. WIDE: of all sizes up to some
/// hundreds. TINY: about 1e-5. TIES: few different numbers,
/// zeros of both signs among them. NEAR: at and on either side of the numbers of the
/// instance (constants, bounds), of any size, and of what operators may make of them;
/// mostly of one such number and of one sign in each leaf, which take turns. These are
/// plain: sides must have equal numbers. NOT_FINITE:
/// NaN and infinities among small whole numbers, of which no sum or product overflows.
/// LARGE: zeros, and numbers whose sums and products stay in range, and whose
/// exponentials do not, or hardly. EXTREME: the largest and smallest numbers, zeros of
/// both signs. Integers are small in ORDINARY, TINY and TIES, up to 120 in WIDE, or else
/// at the ends of their range; those without a sign do not wrap but there.
typedef enum eg_verify_data {
  EG_VERIFY_ORDINARY,
  EG_VERIFY_WIDE,
  EG_VERIFY_TINY,
  EG_VERIFY_TIES,
  EG_VERIFY_NEAR,
  EG_VERIFY_NOT_FINITE,
  EG_VERIFY_LARGE,
  EG_VERIFY_EXTREME,
  EG_VERIFY_DATA_COUNT
} eg_verify_data;

static inline bool eg_verify_is_plain(eg_verify_data data) {
  return data < EG_VERIFY_NOT_FINITE;
}

enum { EG_VERIFY_NUMBERS = 8 };

/// How the numbers of one evaluation are drawn.
typedef struct eg_verify_source {
  eg_rng rng;
  eg_verify_data data;
  uint32_t kind;                  // ORDINARY: from 0 to 9
  uint32_t wanted;                // NOT_FINITE: bits of NaN, infinity, -infinity
  uint32_t percent;               // and how many elements are one of them
  double near[EG_VERIFY_NUMBERS]; // NEAR: positive
  uint32_t near_count;
  uint32_t turn, leaf; // NEAR: of the rule; of leaves that were filled
  double around;       // the number that the current leaf is near to; 0: one per element
  int sign;            // of the current leaf; 0: one per element
  double largest;      // of all such numbers
} eg_verify_source;

/// `turn`: how often data near the numbers of the rule were drawn.
eg_verify_source eg_verify_source_of(const eg_verify_instance *instance,
                                     eg_verify_data data, uint64_t seed, uint32_t turn);
/// The largest absolute value that the instance names: constants, bounds, numbers that
/// fill a leaf. 0: it names no number.
double eg_verify_largest_number(const eg_verify_instance *instance);
/// Fills a tensor for a leaf: index, truth value and constant stay what they must be.
void eg_verify_fill(eg_verify_source *source, const eg_verify_leaf *leaf,
                    const eg_tensor *tensor);

// ---- comparing (compare.c) ------------------------------------------------------------

typedef enum eg_verify_verdict {
  EG_VERIFY_EQUAL,    // within the bound
  EG_VERIFY_EXACT,    // equal, and nothing was rounded on the way
  EG_VERIFY_VACUOUS,  // nothing finite to compare, no kernel for it, or numbers too large
  EG_VERIFY_DIFFERENT // the text says where
} eg_verify_verdict;

/// True when the sides are equal, and the class that a rule is in at best that has such
/// an instance.
typedef struct eg_verify_comparison {
  eg_verify_verdict verdict;
  egraph_math math;
  egraph_dtype dtype; // of the first result
  bool is_empty;      // VACUOUS, because no result has an element;
  bool is_large;      // because the kernels would take too long
} eg_verify_comparison;

/// Clears the arena, which tensors are in. On DIFFERENT, and
/// where `math` is beyond the class of the rule, writes the element and both values to
/// `text`. Data that are not plain decide of floating-point results the class alone.
egraph_status eg_verify_compare(eg_arena *arena, const eg_verify_instance *instance,
                                const eg_verify_source *source, eg_verify_comparison *out,
                                eg_text *text);

#endif
