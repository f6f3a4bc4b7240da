// Convolutions by 3x3 kernels of stride 1 by Winograd's minimal filtering, 4x4 results at
// a time (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks), in memory
// with blocks of 8 channels, by a processor with AVX2:
//
//   6x6 pixels of C channels  ->  a row of each of 36 matrices
//   36 products               ->  [patches, C] [C, K], on panels (panels.h)
//   a row of each of 36 sums  ->  4x4 results of K channels, bias, z, clip
//
// That is 36 multiplications for 16 results instead of 144. A chunk of patches stays in
// the cache from step to step.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_WINOGRAD_H
#define EG_EXEC_CPU_WINOGRAD_H

#include "exec/cpu/cpu_builder.h"
#include "exec/cpu/image_conv.h"

/// False where blocks are not the processor's vectors, or channels do not fill them.
bool eg_winograd_fits(const eg_image_conv *conv);
/// Appends the convolution of operands x, w, bias and z, of which w is a weight. z may
/// lie where the result does.
egraph_status eg_cpu_add_winograd(eg_cpu_builder *builder, const eg_image_conv *conv,
                                  const uint32_t operands[4]);

#endif
