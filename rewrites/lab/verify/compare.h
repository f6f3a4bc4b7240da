// Draws numbers of several kinds, and compares both sides of an instance on them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_COMPARE_H
#define EG_REWRITES_VERIFY_COMPARE_H

#include "rewrites/lab/instances/instance_draw.h"

// ---- data (data.c) --------------------------------------------------------------------

/// ORDINARY: small numbers, half of them whole. WIDE: numbers of all magnitudes up to
/// some hundreds. TINY: about 1e-5. TIES: few different numbers, zeros of both signs
/// among them. NEAR: at and on either side of the numbers of the instance (constants,
/// bounds), of any magnitude, and of results of operators on them; mostly near one such
/// number and of one sign in each leaf, and the leaves take turns. All kinds so far are
/// plain: the sides must have equal numbers. NOT_FINITE: NaN and infinities among small
/// whole numbers, of which no sum or product overflows. LARGE: zeros, and numbers whose
/// sums and products stay in range, and whose exponentials do not, or hardly. EXTREME:
/// the largest and smallest numbers, zeros of both signs. Integers are small in ORDINARY,
/// TINY and TIES, up to 120 in WIDE, or else at the ends of their range; unsigned
/// integers wrap only there.
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

/// The random state and settings from which the data of one comparison are drawn.
typedef struct eg_verify_source {
  eg_rng rng;
  eg_verify_data data;
  uint32_t kind;                  // ORDINARY: from 0 to 9
  uint32_t wanted;                // NOT_FINITE: bits that allow NaN, infinity, -infinity
  uint32_t percent;               // percentage of elements that are NaN or infinite
  double near[EG_VERIFY_NUMBERS]; // NEAR: positive numbers of the instance
  uint32_t near_count;
  uint32_t turn, leaf; // NEAR: counts turns of the rule, and leaves filled
  double around;  // the number near which the current leaf is drawn; 0: one per element
  int sign;       // sign of the current leaf; 0: one per element
  double largest; // largest of all these numbers
} eg_verify_source;

/// Prepares a source of random data. `turn` counts earlier draws of NEAR data.
eg_verify_source eg_verify_source_of(const eg_verify_instance *instance,
                                     eg_verify_data data, uint64_t seed, uint32_t turn);
/// Returns the largest absolute value that the instance names (constants, bounds, numbers
/// that fill a tensor), or 0 when it names no number.
double eg_verify_largest_number(const eg_verify_instance *instance);
/// Fills a tensor with random data for a leaf of the instance; indices, truth values and
/// constants get values that are valid for them.
void eg_verify_fill(eg_verify_source *source, const eg_verify_leaf *leaf,
                    const eg_tensor *tensor);

// ---- comparing (compare.c) ------------------------------------------------------------

typedef enum eg_verify_verdict {
  EG_VERIFY_EQUAL,    // equal within the error bound
  EG_VERIFY_EXACT,    // equal, and no operation rounded
  EG_VERIFY_VACUOUS,  // nothing finite to compare, no kernel, or numbers too large
  EG_VERIFY_DIFFERENT // different; the text says where
} eg_verify_verdict;

/// The outcome of one comparison, and the strictest class (exact, associative, fast) that
/// the rule can have when its sides are equal on such data.
typedef struct eg_verify_comparison {
  eg_verify_verdict verdict;
  egraph_math math;
  egraph_dtype dtype; // element type of the first result
  bool is_empty;      // VACUOUS because no result has an element
  bool is_large;      // VACUOUS because the kernels would take too long
} eg_verify_comparison;

/// Evaluates both sides of an instance and compares them. Clears the arena, which holds
/// the tensors. On DIFFERENT, and when `math` is beyond the class of the rule, writes the
/// element and both values to `text`. For floating-point results, data that are not plain
/// only decide the class.
egraph_status eg_verify_compare(eg_arena *arena, const eg_verify_instance *instance,
                                const eg_verify_source *source, eg_verify_comparison *out,
                                eg_text *text);

#endif
