// The explanation of an optimized graph: terms, and the rewrites that prove the outputs
// of two graphs equal. Text form:
//
//   (egraph-explanation 1)
//   (terms (input :name "x")               number 0
//          (weight :name "w")              1
//          (matmul 0 1)                    2
//          (relu 2)                        3: operands are numbers of terms before
//          (constant 1)                    4: a weight with the value of term 1
//          (matmul :activation relu 0 1))  5
//   (steps (matmul-relu 3))                a rule, and the terms its left sides match
//   (outputs 5)
//
// A step says that the terms are equal to the right sides of the rule. Nothing else is
// needed: equal operands make equal terms. Terms are spelled as in rules and graphs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_EXPLAINED_H
#define EG_REWRITES_EXPLAINED_H

#include "base/text.h"
#include "egraph/ground.h"
#include "ops/ops.h"

/// The operator of a constant: a weight with the value of a term over weights and fills.
#define EG_EXPLAINED_CONSTANT EG_OP_COUNT

typedef struct eg_explained_step {
  const char *rule;
  uint32_t first, count; // terms of its left sides, in `roots`
} eg_explained_step;
EG_VEC_DEFINE(eg_explained_steps, eg_explained_step);

typedef struct eg_explained {
  egraph_allocator alloc;
  eg_arena names;
  eg_attr_pool *attrs; // payloads of terms are its ids; payloads of constants are 0
  eg_ground_terms terms;
  eg_explained_steps steps;
  eg_u32s roots, outputs; // terms
} eg_explained;

egraph_status eg_explained_init(eg_explained *explained, egraph_allocator alloc);
void eg_explained_deinit(eg_explained *explained);
/// Adds a term to an explanation, new or not; *out is its number. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_explained_add(eg_explained *explained, const eg_attrs *attrs,
                               const uint32_t *operands, uint32_t count, uint32_t *out);
egraph_status eg_explained_add_constant(eg_explained *explained, uint32_t of,
                                        uint32_t *out);
egraph_status eg_explained_add_step(eg_explained *explained, const char *rule,
                                    const uint32_t *roots, uint32_t count);
/// Returns the attributes of a term of an explanation; NULL for a constant.
const eg_attrs *eg_explained_attrs(const eg_explained *explained, uint32_t term);

/// Appends the text of an explanation, with the terms that its steps and outputs need.
egraph_status eg_explained_print(const eg_explained *explained, eg_text *out);
/// Reads a text into an empty explanation. Fails with EGRAPH_E_PARSE "file:line:col:
/// what", or EGRAPH_E_MEMORY.
egraph_status eg_explained_parse(eg_explained *explained, const char *file,
                                 const char *text, size_t size);

#endif
