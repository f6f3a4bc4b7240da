// The left side of a pair on a part of its result: terms of the rule language that read
// no more of the operands than the part needs. Convolutions, pooling, products and
// pointwise operators are computed on slices; of any other operator the part is sliced of
// its result, which is computed whole.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_REGION_H
#define EG_REWRITES_REGION_H

#include "rewrites/lab/correct/partial.h"

/// [from, to) by dimension, as expressions; from NULL: all of it.
typedef struct eg_region {
  const char *from[EGRAPH_MAX_RANK], *to[EGRAPH_MAX_RANK];
} eg_region;

/// The clauses of a rule that go with its terms.
typedef struct eg_region_writer {
  const eg_partial *partial;
  eg_arena arena;
  eg_text lets, conditions; // that the terms need
  eg_partial_atoms named;   // expressions that have a name, by its number
  bool is_whole;            // some operator is computed whole
} eg_region_writer;

/// `partial` is to be set afterwards.
void eg_region_writer_init(eg_region_writer *writer, egraph_allocator alloc);
void eg_region_writer_deinit(eg_region_writer *writer);

/// Appends the pattern of the left side, every operator and every attribute with a name.
egraph_status eg_region_pattern(eg_region_writer *writer, uint32_t term, eg_text *text);
/// Appends the term on a part of its result. Depth follows the nesting of the rule, which
/// its reader limits.
egraph_status eg_region_term(eg_region_writer *writer, uint32_t term,
                             const eg_region *region, eg_text *text);
/// Names an expression by a `let`, once: "?c7". A text without brackets stays as it is.
egraph_status eg_region_name(eg_region_writer *writer, const char **out,
                             const char *format, ...) EG_PRINTF(3, 4);
/// Appends a slice of the term `of`; `sized` names a class of the same sizes.
void eg_region_slice(eg_text *text, uint32_t rank, const eg_region *region,
                     const char *sized, const char *of);
/// The name of the class of a term of the left side: "?x", "?whole", "?inner3".
egraph_status eg_region_class(eg_region_writer *writer, uint32_t term, const char **out);

#endif
