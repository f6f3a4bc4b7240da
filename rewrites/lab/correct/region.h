// Writes the left side of a rule for a part of its result: terms of the rule language
// that read only the operand elements that this part needs. Convolutions, pooling,
// products and pointwise operators are computed on slices; other operators are computed
// whole, and their result is sliced.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_REGION_H
#define EG_REWRITES_REGION_H

#include "rewrites/lab/correct/partial.h"

/// A part of a tensor: [from, to) by dimension, as expressions; from NULL: all of it.
typedef struct eg_region {
  const char *from[EGRAPH_MAX_RANK], *to[EGRAPH_MAX_RANK];
} eg_region;

/// The state of writing a corrected rule: the clauses (`let`, conditions) of its terms.
typedef struct eg_region_writer {
  const eg_partial *partial;
  eg_arena arena;
  eg_text lets, conditions; // that the terms use
  eg_partial_atoms named; // expressions with a name; the name has the expression's number
  bool is_whole;          // some operator is computed whole
} eg_region_writer;

/// Initializes the writer without its rule; the caller sets `partial` afterwards.
void eg_region_writer_init(eg_region_writer *writer, egraph_allocator alloc);
void eg_region_writer_deinit(eg_region_writer *writer);

/// Appends the left side `term` as a pattern in which every operator and every attribute
/// has a name.
egraph_status eg_region_pattern(eg_region_writer *writer, uint32_t term, eg_text *text);
/// Appends `term` computed on `region`, a part of its result, only. The recursion is as
/// deep as the rule is nested, which the reader of rules limits.
egraph_status eg_region_term(eg_region_writer *writer, uint32_t term,
                             const eg_region *region, eg_text *text);
/// Names an expression by a `let` clause, once, and returns the name: "?c7". A text
/// without parentheses needs no name and is returned as it is.
egraph_status eg_region_name(eg_region_writer *writer, const char **out,
                             const char *format, ...) EG_PRINTF(3, 4);
/// Appends the slice `region` of the term `of` (a text); `sized` names a class of
/// its sizes.
void eg_region_slice(eg_text *text, uint32_t rank, const eg_region *region,
                     const char *sized, const char *of);
/// Returns the name of the class of a term of the left side: "?x", "?whole", "?inner3".
egraph_status eg_region_class(eg_region_writer *writer, uint32_t term, const char **out);

#endif
