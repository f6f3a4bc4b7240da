// Convolutions of images on egraph's kernels, in memory with blocks of 8 channels: by
// Winograd's algorithm (winograd.c), and in groups (grouped.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_IMAGE_CONV_H
#define EG_EXEC_CPU_IMAGE_CONV_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/cpu/cpu_builder.h"

typedef struct eg_image_conv {
  int64_t images, groups;
  int64_t channels, made; // of a group: of x and of the result
  int64_t height, width;  // of x
  int64_t rows, columns;  // of the result
  int64_t kernel[2], strides[2], dilations[2];
  int64_t top, left; // padding
  bool has_bias, has_z;
  float low, high; // of the clip; infinite: none
} eg_image_conv;

// ---- Winograd's algorithm -----------------------------------------------------------

// Convolutions by 3x3 kernels of stride 1 by Winograd's minimal filtering, 4x4 results at
// a time (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks), in memory
// with blocks of 8 channels, by a processor with AVX2:
//
//   6x6 pixels of C channels  ->  a row of each of 36 matrices
//   36 products               ->  [patches, C] [C, K], on panels (panels.h)
//   a row of each of 36 sums  ->  4x4 results of K channels, bias, z, clip
//
// It takes 36 multiplications for 16 results instead of 144. A chunk of patches stays in
// the cache from step to step.

/// False where blocks are not the processor's vectors, or channels do not fill them.
bool eg_winograd_fits(const eg_image_conv *conv);
/// Appends the convolution of operands x, w, bias and z, of which w is a weight. z may
/// lie where the result does.
egraph_status eg_cpu_add_winograd(eg_cpu_builder *builder, const eg_image_conv *conv,
                                  const uint32_t operands[4]);

// ---- groups -------------------------------------------------------------------------

// Convolutions in groups, of constant kernels, in memory with blocks of 8 channels, by a
// processor with AVX2: the sums of a few pixels of a block are registers, to which the
// channels of the group are added one after the other. oneDNN's kernel is made for many
// channels; a group has few.
//
// Rows of x are copied with their padding first, a band of them at a time, so that all
// pixels are computed alike.

/// False where blocks are not the processor's vectors, or a group does not fill them.
bool eg_grouped_fits(const eg_image_conv *conv);
/// Appends the convolution of operands x, w, bias and z, of which w is a weight. z may
/// lie where the result does.
egraph_status eg_cpu_add_grouped(eg_cpu_builder *builder, const eg_image_conv *conv,
                                 const uint32_t operands[4]);

#endif
