// Enumerates terms over the operators of a family, each with its value at one random
// point of the field.
//
// A term of size k has k operators. A shared operator counts once (so does a split,
// whatever results are used); a constant counts as an operator. A term with several
// operators has a leaf. Only the first term with a value is kept and extended: a term
// over another term of that value equals the same term over the first.
//
// Among terms that differ only in the names of leaves, the canonical one has the leaves
// of every group in order of their first occurrence, from the left.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_TERM_SPACE_H
#define EG_REWRITES_GENERATE_TERM_SPACE_H

#include "rewrites/lab/generate/family.h"
#include "rewrites/lab/generate/field_plan.h"

enum { EG_TERM_MAX_SIZE = 4, EG_TERM_MAX_VARS = 12, EG_TERM_MAX_EXTRAS = 4 };
enum { EG_TERM_MAX_TYPES = 1023 };
#define EG_TERM_NONE UINT32_MAX

/// An operator template, one of its results, and the leaves that are its third and
/// later operands.
typedef struct eg_variant {
  uint32_t template, result;
  uint32_t operand_count;              // number of all operands
  uint32_t free_count;                 // min(operand_count, 2): operands that are terms
  uint32_t free[2];                    // numbers of these operands
  uint32_t extras[EG_TERM_MAX_EXTRAS]; // leaves that are the other operands
  bool commutes;                       // the operands that are terms commute
} eg_variant;

/// Returns operand i of `v`, an operator with chosen leaves, over terms a and b.
static inline uint32_t eg_variant_operand(const eg_variant *v, uint32_t i, uint32_t a,
                                          uint32_t b) {
  if (v->free_count > 0 && i == v->free[0]) return a;
  if (v->free_count > 1 && i == v->free[1]) return b;
  return v->extras[i - (i > v->free[0]) - (i > v->free[1])];
}

/// A variant (an operator template with chosen leaves) on operands of certain types.
typedef struct eg_typed_variant {
  uint32_t variant;
  uint16_t a, b; // types; b is 0 when there is one operand
  uint16_t type; // type of the result
  eg_field_plan plan;
} eg_typed_variant;

typedef struct eg_space_term {
  uint32_t variant; // EG_TERM_NONE: the term is leaf number a
  uint32_t a, b;    // terms, or EG_TERM_NONE
  uint32_t app;     // application that computes it; EG_TERM_NONE for a leaf
  uint32_t next_of_app;
  uint16_t type;
  uint8_t size, var_count;
  bool is_canonical;
  uint8_t vars[EG_TERM_MAX_VARS];  // leaves in order of first occurrence
  uint64_t leaves;                 // bits of these leaves
  uint32_t apps[EG_TERM_MAX_SIZE]; // its applications, sorted, [size]
  size_t values;                   // index of its values, or EG_TERM_NO_VALUES
} eg_space_term;

#define EG_TERM_NO_VALUES SIZE_MAX

EG_VEC_DEFINE(eg_term_vec, eg_space_term);
EG_VEC_DEFINE(eg_values, uint64_t);

/// Names a term in 64 bits without storing it: a kept term, or a variant over kept terms.
/// A smaller code comes first among terms of one size.
typedef uint64_t eg_term_code;
#define EG_TERM_KEPT(id) (UINT64_C(0xfff) << 52 | (id))
#define EG_TERM_CODE(variant, a, b)                                                      \
  ((uint64_t)(variant) << 52 | (uint64_t)(a) << 26 | (b))
enum { EG_TERM_MAX_VARIANTS = 0xffe, EG_TERM_MAX_TERMS = (1 << 26) - 2 };

typedef struct eg_term_space eg_term_space;

/// Creates a space of terms with the leaves of a family (kept by reference). Fails with
/// EGRAPH_E_UNSUPPORTED when the family has a number or operator that GF(p) lacks.
egraph_status eg_term_space_create(const egraph_allocator *alloc, const eg_family *family,
                                   uint64_t seed, eg_term_space **out);
void eg_term_space_destroy(eg_term_space *space);
const eg_family *eg_term_space_family(const eg_term_space *space);
size_t eg_term_space_bytes(const eg_term_space *space);
uint32_t eg_term_space_count(const eg_term_space *space);
const eg_space_term *eg_term_space_at(const eg_term_space *space, uint32_t term);
const eg_variant *eg_term_space_variant(const eg_term_space *space, uint32_t variant);
const eg_type *eg_term_space_type(const eg_term_space *space, uint32_t type);

/// Plans how operators are computed on all types that occur, so that codes of larger
/// terms can be read; eg_term_space_grow does this itself.
egraph_status eg_term_space_plan_all(eg_term_space *space);

/// Describes the term that a code names. Returns false for a code that this space has not
/// made, such as a code from a file. `out->values` is not set; app is EG_TERM_NONE.
bool eg_term_space_decode(const eg_term_space *space, eg_term_code code,
                          eg_space_term *out);

/// Two terms with one value: the first term that was found with this value, and
/// another term.
typedef struct eg_term_pair {
  eg_term_code first, other;
} eg_term_pair;
EG_VEC_DEFINE(eg_term_pairs, eg_term_pair);

typedef struct eg_enumeration {
  uint32_t threads;
  size_t byte_limit; // memory limit of terms, table and pairs
  bool (*progress)(void *user, const char *line); // returns true to stop. May be NULL
  void *user;
} eg_enumeration;

typedef struct eg_enumeration_counts {
  uint64_t terms;    // terms whose value was computed
  uint64_t distinct; // number of distinct values
  uint64_t pairs;
  uint32_t passes; // passes over the largest terms; each pass covers a part of the values
  size_t peak_bytes;
} eg_enumeration_counts;

/// Enumerates terms with `size` operators, after the terms with size - 1, and appends the
/// pairs of equal value found, in order. Keeps terms of sizes below `largest`, from which
/// larger terms are made; of the largest terms it makes canonical ones only and keeps
/// none. Fails with EGRAPH_E_LIMIT or EGRAPH_E_CANCELLED.
egraph_status eg_term_space_grow(eg_term_space *space, uint32_t size, uint32_t largest,
                                 const eg_enumeration *how, eg_term_pairs *out,
                                 eg_enumeration_counts *counts);

/// Where a term is evaluated: the seed draws the values of leaves, and the term `given`
/// (EG_TERM_NONE: none) takes given values instead of its own. *out is borrowed until the
/// next call.
typedef struct eg_term_point {
  uint64_t seed;
  uint32_t given;
} eg_term_point;
egraph_status eg_term_space_value(eg_term_space *space, eg_term_code code,
                                  const eg_term_point *point, eg_values *out);

#endif
