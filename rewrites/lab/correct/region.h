// Writes the left side of a pair on a part of its result: terms of the rule language that
// read only the elements of operands that the part needs. Convolutions, pooling, products
// and pointwise operators are computed on slices; other operators are computed whole, and
// their result is sliced.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_REGION_H
#define EG_REWRITES_REGION_H

#include "rewrites/lab/correct/partial.h"

/// A region [from, to) by dimension, as expressions; from NULL: the whole dimension.
typedef struct eg_region {
  const char *from[EGRAPH_MAX_RANK], *to[EGRAPH_MAX_RANK];
} eg_region;

/// The state of writing a rule: the clauses that its terms need.
typedef struct eg_region_writer {
  const eg_partial *partial;
  eg_arena arena;
  eg_text lets, conditions; // that the terms use
  eg_partial_atoms named; // expressions with a name; the name has the expression's number
  bool is_whole;          // some operator is computed whole
} eg_region_writer;

/// Initializes the writer without its pair; the caller sets `partial` afterwards.
void eg_region_writer_init(eg_region_writer *writer, egraph_allocator alloc);
void eg_region_writer_deinit(eg_region_writer *writer);

/// Appends the pattern of the left side, with a name for every operator and
/// every attribute.
egraph_status eg_region_pattern(eg_region_writer *writer, uint32_t term, eg_text *text);
/// Appends the term on a part of its result. The recursion is as deep as the rule is
/// nested, which the reader limits.
egraph_status eg_region_term(eg_region_writer *writer, uint32_t term,
                             const eg_region *region, eg_text *text);
/// Names an expression by a `let`, once: "?c7". A text without brackets needs no name and
/// is returned as it is.
egraph_status eg_region_name(eg_region_writer *writer, const char **out,
                             const char *format, ...) EG_PRINTF(3, 4);
/// Appends a slice of the term `of`; `sized` names a class with the same sizes.
void eg_region_slice(eg_text *text, uint32_t rank, const eg_region *region,
                     const char *sized, const char *of);
/// Returns the name of the class of a term of the left side: "?x", "?whole", "?inner3".
egraph_status eg_region_class(eg_region_writer *writer, uint32_t term, const char **out);

#endif
