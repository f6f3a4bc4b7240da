// The equation of an einsum, read: which loop index stands in which dimension.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_EINSUM_LABELS_H
#define EG_OPS_EINSUM_LABELS_H

#include "ops/build.h"

typedef struct eg_einsum {
  eg_labels *operands; // one per operand; the caller's memory
  eg_labels result;
  int64_t sizes[EG_MAX_LABELS]; // of every label
} eg_einsum;

/// Reads the equation of a node that inference accepted. Labels count from 0.
egraph_status eg_einsum_labels(const eg_attrs *attrs, const eg_type *inputs,
                               uint32_t count, eg_einsum *out);
/// Fails with EGRAPH_E_PARSE where a term names more dimensions than a tensor can have.
egraph_status eg_einsum_check(const char *equation);
enum { EG_EINSUM_TEXT = 1024 };
/// The canonical text of an equation: letters a, b, .. in the order in which they appear
/// first, the result written down, no spaces. Equal up to names, equal text. False, and
/// `out` undefined, where it cannot be read letter by letter, or takes more room; whether
/// operands fit it is for inference to say.
bool eg_einsum_canonical(const char *equation, char out[EG_EINSUM_TEXT]);

#endif
