// The struct of a term space, which enumerate.c and term_space.c share.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_TERM_SPACE_INTERNAL_H
#define EG_REWRITES_GENERATE_TERM_SPACE_INTERNAL_H

#include "base/flatmap.h"
#include "base/hash.h"
#include "rewrites/lab/generate/term_space.h"

typedef struct eg_typed_type {
  eg_type type;
  uint32_t elements;
  uint64_t *weights; // [elements] random weights of the fingerprint
} eg_typed_type;

EG_VEC_DEFINE(eg_typed_types, eg_typed_type);
EG_VEC_DEFINE(eg_typed_variants, eg_typed_variant);
EG_VEC_DEFINE(eg_variants, eg_variant);

/// An operator applied to kept terms; each of its results is a term.
typedef struct eg_application {
  uint32_t template, a, b, first_term;
  uint32_t extras[EG_TERM_MAX_EXTRAS];
} eg_application;
EG_VEC_DEFINE(eg_applications, eg_application);

struct eg_term_space {
  egraph_allocator alloc;
  eg_arena arena; // holds plans and weights
  const eg_family *family;
  uint64_t seed;
  eg_typed_types types;
  eg_variants variants;
  eg_typed_variants typed;
  uint32_t tried_types; // types below this number have typed variants for all their pairs
  eg_flatmap typed_map; // (variant, a, b) -> typed
  eg_term_vec terms;
  eg_values values;
  eg_applications apps;
  eg_flatmap app_map;
  eg_flatmap by_value;      // fingerprint -> term
  eg_values fingerprints;   // by term
  eg_values scratch_values; // memory for eg_term_space_value
};

/// Scratch memory for the values of two operand terms whose values are not stored.
typedef struct eg_value_room {
  uint64_t values[4][EG_FIELD_MAX_ELEMENTS];
  uint32_t used;
} eg_value_room;
/// Returns the values of a term's elements, stored or computed into `room`.
const uint64_t *eg_term_values(const eg_term_space *space, uint32_t term,
                               eg_value_room *room);
/// Computes the elements of an operator's result on terms a and b; out: [elements].
void eg_term_space_run(const eg_term_space *space, const eg_typed_variant *typed,
                       uint32_t a, uint32_t b, eg_value_room *room, uint64_t *out);
/// Returns 63 bits that stand for a term's value, from its type and <weights, value>.
static inline uint64_t eg_term_fingerprint(uint16_t type, uint64_t dot) {
  return eg_hash_combine(dot, type) >> 1;
}
static inline uint32_t eg_term_b(eg_term_code code) {
  uint32_t b = (uint32_t)(code & 0x3ffffff);
  return b == 0x3ffffff ? EG_TERM_NONE : b;
}
static inline uint32_t eg_term_a(eg_term_code code) {
  uint32_t a = (uint32_t)(code >> 26 & 0x3ffffff);
  return a == 0x3ffffff ? EG_TERM_NONE : a;
}

/// Finds an operator's variant for operands of these types; NULL when they do not fit.
const eg_typed_variant *eg_term_space_typed(const eg_term_space *space, uint32_t variant,
                                            uint16_t a, uint16_t b);
/// Returns the kept term whose value has this fingerprint, or EG_TERM_NONE.
uint32_t eg_term_space_find(const eg_term_space *space, uint64_t fingerprint);
/// Stores a term in the space. `values` may be NULL: they are then computed on demand.
egraph_status eg_term_space_keep(eg_term_space *space, const eg_space_term *term,
                                 uint64_t fingerprint, const uint64_t *values);

#endif
