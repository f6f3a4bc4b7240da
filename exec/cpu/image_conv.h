// Convolutions of images on egraph's kernels: by Winograd's algorithm (winograd.c) and in
// groups (grouped.c), both with channels in blocks of 8 in memory; gradients of depthwise
// weights (depthwise_grad.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_IMAGE_CONV_H
#define EG_EXEC_CPU_IMAGE_CONV_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/cpu/cpu_builder.h"

typedef struct eg_image_conv {
  int64_t images, groups;
  int64_t channels, made; // per group: channels of x and of the result
  int64_t height, width;  // size of the image x
  int64_t rows, columns;  // size of the result
  int64_t kernel[2], strides[2], dilations[2];
  int64_t top, left; // padding
  bool has_bias, has_z;
  float low, high; // bounds of the clip; infinite: none
} eg_image_conv;

// ---- Winograd's algorithm -----------------------------------------------------------

// Computes convolutions by 3x3 kernels of stride 1 with Winograd's minimal filtering, 4x4
// results at a time (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks).
// Channels are in blocks of 8 in memory; the processor must have AVX2:
//
//   6x6 pixels of C channels  ->  a row of each of 36 matrices
//   36 products               ->  [patches, C] [C, K], on panels (panels.h)
//   a row of each of 36 sums  ->  4x4 results of K channels, bias, z, clip
//
// The algorithm takes 36 multiplications for 16 results instead of 144. A chunk of
// patches stays in the cache from step to step.

/// True when a vector has as many elements as a block has channels, and the channels of x
/// and of the result fill their blocks.
bool eg_winograd_fits(const eg_image_conv *conv);
/// Appends the convolution of operands x, w, bias and z; w is a weight. z may lie in the
/// memory of the result.
egraph_status eg_cpu_add_winograd(eg_cpu_builder *builder, const eg_image_conv *conv,
                                  const uint32_t operands[4]);

// ---- groups -------------------------------------------------------------------------

// Computes convolutions in groups with constant kernels; channels are in blocks of 8 in
// memory, and the processor must have AVX2. The sums of a few pixels of a block stay in
// registers; the products with the group's channels are added to them one after the
// other. oneDNN's kernel is made for many channels; a group has few.
//
// A band of rows of x is first copied with its padding, so that all pixels are alike.

/// True when egraph's kernel can run: a vector has as many elements as a block has
/// channels, and each group has few channels, which fill its blocks.
bool eg_grouped_fits(const eg_image_conv *conv);
/// Appends the convolution of operands x, w, bias and z; w is a weight. z may lie in the
/// memory of the result.
egraph_status eg_cpu_add_grouped(eg_cpu_builder *builder, const eg_image_conv *conv,
                                 const uint32_t operands[4]);

// ---- gradients of depthwise weights ---------------------------------------------------

// Computes the gradient of a depthwise convolution's weights, one channel per group, in
// all memory formats. The processor must have AVX2. oneDNN's kernel takes 15 to 28 times
// as long for 7x7.
//
// A band of rows is copied, a vector of channels in each pixel; x gets its padding:
//
//   x, d        ->  a band of x with padding, a band of d   (channels in vectors)
//   both bands  ->  sums [line, tap]                        (tiles.h: a line in
//   registers) all bands   ->  w [channel, line, tap]
//
// The bands of a vector of channels are divided into chunks, which threads compute. Sums
// of chunks are added in their order; chunks depend on sizes only, not on threads.

/// True when egraph's kernel computes this node's gradient.
bool eg_depthwise_grad_fits(const eg_node_spec *spec);
/// Appends the gradient of builder->spec.
egraph_status eg_cpu_add_depthwise_grad(eg_cpu_builder *builder);

#endif
