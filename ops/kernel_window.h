// Sliding windows: lists the pairs of output and input positions that meet at each
// place of the kernel, as rows. Convolution, transposed convolution and pooling run
// over these rows.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_KERNEL_WINDOW_H
#define EG_OPS_KERNEL_WINDOW_H

#include "base/vec.h"
#include "ops/ops.h"

/// How positions in two planes relate: large[d] = small[d] * stride[d] - pad[d] + tap[d]
/// * dilation[d]. For convolution and pooling the small plane is the result; for
/// transposed convolution it is the input.
typedef struct eg_window {
  uint32_t rank; // spatial dimensions, at least 1
  int64_t small[EGRAPH_MAX_RANK], large[EGRAPH_MAX_RANK], kernel[EGRAPH_MAX_RANK];
  int64_t stride[EGRAPH_MAX_RANK], pad[EGRAPH_MAX_RANK], dilation[EGRAPH_MAX_RANK];
} eg_window;

/// A row: `count` positions small + i and large + i * step of the two planes that meet at
/// kernel position `tap`. Positions that would lie in the padding are in no row.
typedef struct eg_window_row {
  int64_t tap, small, large, count, step;
} eg_window_row;

EG_VEC_DEFINE(eg_window_rows, eg_window_row);

/// Sets the dimensions of a window from two tensor types [N, C, spatial...] and a kernel,
/// and the attributes; `dilations` NULL: all are 1. Fails with EGRAPH_E_TYPE when there
/// is no spatial dimension.
egraph_status eg_window_init(eg_window *window, const eg_type *small,
                             const eg_type *large, const int64_t *kernel,
                             const int64_t *strides, const int64_t *pads,
                             const int64_t *dilations);
/// Sets the dimensions of a window as a node's attributes, or its weight, describe them.
egraph_status eg_window_of_node(eg_window *window, const eg_kernel_call *call,
                                const eg_type *small, const eg_type *large);
/// Appends the rows of positions for all taps of the kernel, in tap order. Rows that
/// continue each other are merged: a 1x1 window without strides is one row.
egraph_status eg_window_list(const eg_window *window, eg_window_rows *out);
int64_t eg_window_small(const eg_window *window); // number of positions in its plane
int64_t eg_window_large(const eg_window *window);
int64_t eg_window_taps(const eg_window *window);
/// Finds the first maximum of each of `windows` windows over plane x, and its position;
/// NaN is the largest. A window of only padding has maximum -infinity and position -1.
void eg_window_maxima(const eg_window_rows *rows, const double *x, int64_t windows,
                      double *out_maxima, int64_t *out_places);
/// Computes the divisor of each window's sum in average-pool: the number of elements of
/// the window, with or without the padding. A divisor of 0 becomes 1, because that sum is
/// 0. The caller sets `out` to zeros before the call.
void eg_window_divisors(const eg_window *window, const eg_window_rows *rows,
                        const int64_t *pad_ends, bool include_pad, double *out);

#endif
