// Ground terms: terms without variables and classes, each stored once. A term is a
// number, larger than the numbers of its children. So a term is a directed acyclic graph,
// and two terms are equal exactly when their numbers are.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_GROUND_H
#define EG_EGRAPH_GROUND_H

#include "base/flatmap.h"
#include "base/vec.h"

typedef struct eg_ground_terms {
  eg_u32s words;   // per term: operator, payload, children
  eg_u32s offsets; // [terms] of the first word
  eg_flatmap map;
} eg_ground_terms;

/// A term, or a view of a stored term (then the children are borrowed until the
/// next addition).
typedef struct eg_ground {
  uint32_t op, payload, arity;
  const uint32_t *children;
} eg_ground;

void eg_ground_init(eg_ground_terms *terms, egraph_allocator alloc);
void eg_ground_deinit(eg_ground_terms *terms);
static inline uint32_t eg_ground_count(const eg_ground_terms *terms) {
  return (uint32_t)terms->offsets.len;
}

/// Interns a term: *out is its number, new or not. The children must exist, and their
/// array must not be borrowed from `terms`. O(arity) expected. Fails with EGRAPH_E_MEMORY
/// and then adds nothing.
egraph_status eg_ground_add(eg_ground_terms *terms, const eg_ground *term, uint32_t *out);
eg_ground eg_ground_at(const eg_ground_terms *terms, uint32_t term);
/// Interns the term with the child at `position` replaced. Overwrites `scratch`.
egraph_status eg_ground_replace(eg_ground_terms *terms, uint32_t term, uint32_t position,
                                uint32_t child, eg_u32s *scratch, uint32_t *out);

/// Copies terms from one set to another, each once.
typedef struct eg_ground_copier {
  const eg_ground_terms *from;
  eg_ground_terms *to;
  eg_flatmap map;     // number in `from` -> index of a pair
  eg_u32s pairs;      // number in `from`, number in `to`
  eg_u32s stack, row; // scratch
} eg_ground_copier;

/// Initializes a copier; the caller then sets `from` and `to`.
void eg_ground_copier_init(eg_ground_copier *copier, egraph_allocator alloc);
void eg_ground_copier_deinit(eg_ground_copier *copier);
/// Copies a term and its subterms to the other set; *out is the copy's number. O(subterms
/// not copied before). Fails with EGRAPH_E_MEMORY.
egraph_status eg_ground_copy(eg_ground_copier *copier, uint32_t term, uint32_t *out);

#endif
