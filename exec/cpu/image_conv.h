// A convolution of images as kernels of ours take it, in memory with blocks of channels.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_IMAGE_CONV_H
#define EG_EXEC_CPU_IMAGE_CONV_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
