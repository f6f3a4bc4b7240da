// Strided copies of elements of any type: what concat, split, slice and
// expand consist of.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_COPY_H
#define EG_EXEC_CPU_COPY_H

#include "exec/cpu/cpu_builder.h"
#include "exec/cpu/loop_nest.h"

/// Appends the copy from[strides 1] -> to[strides 0] over the nest, which is merged here.
/// Rows that are contiguous on both sides use memcpy; a float32 permutation without long
/// rows becomes a reorder of oneDNN.
egraph_status eg_cpu_add_copy(eg_cpu_builder *builder, const eg_loop_nest *nest,
                              egraph_dtype dtype, eg_place from, eg_place to);
/// Appends a stage that sets every element of a tensor to a value, converted to its type.
egraph_status eg_cpu_add_fill(eg_cpu_builder *builder, const eg_type *type, double value,
                              eg_place to);

#endif
