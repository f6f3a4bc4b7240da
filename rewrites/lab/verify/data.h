// Numbers on which both sides of a rule are compared, by kind.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_DATA_H
#define EG_REWRITES_VERIFY_DATA_H

#include "rewrites/lab/instances/instance_draw.h"

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
  double around;       // one of `near` or so for the leaf at hand, 0: for each element
  int sign;            // of the leaf at hand, 0: of each element
  double largest;      // of all such numbers
} eg_verify_source;

/// `turn`: how often data near the numbers of the rule were drawn.
eg_verify_source eg_verify_source_of(const eg_verify_instance *instance,
                                     eg_verify_data data, uint64_t seed, uint32_t turn);
/// Whether the instance has numbers to be near to.
bool eg_verify_has_numbers(const eg_verify_instance *instance);
/// The largest absolute value that the instance names: of constants, bounds, numbers that
/// are everywhere in a leaf. 0: none.
double eg_verify_largest_number(const eg_verify_instance *instance);
/// Fills a tensor for a leaf: index, truth value and constant stay what they must be.
void eg_verify_fill(eg_verify_source *source, const eg_verify_leaf *leaf,
                    const eg_tensor *tensor);

#endif
