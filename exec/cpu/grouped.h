// Convolutions in groups, of constant kernels, in memory with blocks of 8 channels, by a
// processor with AVX2: the sums of a few pixels of a block are registers, to which the
// channels of the group are added one after the other. oneDNN's kernel is made for many
// channels; a group has few.
//
// Rows of x are copied with their padding first, a band of them at a time, so that all
// pixels are computed alike.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_GROUPED_H
#define EG_EXEC_CPU_GROUPED_H

#include "exec/cpu/cpu_builder.h"
#include "exec/cpu/image_conv.h"

/// False where blocks are not the processor's vectors, or a group does not fill them.
bool eg_grouped_fits(const eg_image_conv *conv);
/// Appends the convolution of operands x, w, bias and z, of which w is a weight. z may
/// lie where the result does.
egraph_status eg_cpu_add_grouped(eg_cpu_builder *builder, const eg_image_conv *conv,
                                 const uint32_t operands[4]);

#endif
