// Convolutions without an engine in cuDNN: of integers, for instance. One thread per
// result; one block per element of a weight's gradient, which sums over all images.
// Correct, but slow. Reference: ops/kernel_conv.c, ops/kernel_gradient.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

/// Finds the element of the large tensor at entry `tap` of a window; false: padding.
__device__ static bool meet(const eg_direct_conv &work, const int64_t *window,
                            const int64_t *tap, int64_t *at) {
  for (int d = 0; d < EG_POOL_RANK; d++)
    if (!find_entry(work, d, window[d], tap[d], &at[d])) return false;
  return true;
}

__device__ static bool find_windows(const eg_direct_conv &work, const int64_t *at,
                                    const int64_t *tap, int64_t *window) {
  for (int d = 0; d < EG_POOL_RANK; d++)
    if (!find_window(work, d, at[d], tap[d], &window[d])) return false;
  return true;
}

template <typename T>
__global__ void small_kernel(const eg_direct_conv work, void *to, const void *large,
                             const void *weight) {
  const int64_t channels = work.groups * work.small_channels;
  const int64_t count = work.images * channels * product(work.small);
  for (int64_t i = first_item(); i < count; i += item_step()) {
    int64_t window[EG_POOL_RANK], tap[EG_POOL_RANK], at[EG_POOL_RANK];
    const int64_t outer = split(i, work.small, window), o = outer % channels;
    const int64_t first = o / work.small_channels * work.large_channels;
    T total = T(0);
    for (int64_t k = 0; k < product(work.kernel); k++) {
      split(k, work.kernel, tap);
      if (!meet(work, window, tap, at)) continue;
      for (int64_t c = 0; c < work.large_channels; c++) {
        const int64_t x =
            offset_of(work.large_strides, outer / channels, first + c, at);
        const int64_t w = offset_of(work.weight_strides, o, c, tap);
        total = add(total, multiply(load<T>(large, work.dtype, x),
                                    load<T>(weight, work.dtype, w)));
      }
    }
    store<T>(to, work.dtype, offset_of(work.small_strides, outer / channels, o, window),
             total);
  }
}

template <typename T>
__global__ void large_kernel(const eg_direct_conv work, void *to, const void *small,
                             const void *weight) {
  const int64_t channels = work.groups * work.large_channels;
  const int64_t count = work.images * channels * product(work.large);
  for (int64_t i = first_item(); i < count; i += item_step()) {
    int64_t window[EG_POOL_RANK], tap[EG_POOL_RANK], at[EG_POOL_RANK];
    const int64_t outer = split(i, work.large, at), l = outer % channels;
    const int64_t first = l / work.large_channels * work.small_channels;
    T total = T(0);
    for (int64_t k = 0; k < product(work.kernel); k++) {
      split(k, work.kernel, tap);
      if (!find_windows(work, at, tap, window)) continue;
      for (int64_t o = first; o < first + work.small_channels; o++) {
        const int64_t y = offset_of(work.small_strides, outer / channels, o, window);
        const int64_t w =
            offset_of(work.weight_strides, o, l % work.large_channels, tap);
        total = add(total, multiply(load<T>(small, work.dtype, y),
                                    load<T>(weight, work.dtype, w)));
      }
    }
    store<T>(to, work.dtype, offset_of(work.large_strides, outer / channels, l, at),
             total);
  }
}

template <typename T>
__global__ void weight_kernel(const eg_direct_conv work, void *to, const void *small,
                              const void *large) {
  __shared__ T shared[EG_BLOCK];
  const int64_t count =
      work.groups * work.small_channels * work.large_channels * product(work.kernel);
  const int64_t folded = work.images * product(work.small);
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    int64_t window[EG_POOL_RANK], tap[EG_POOL_RANK], at[EG_POOL_RANK];
    const int64_t outer = split(i, work.kernel, tap), c = outer % work.large_channels;
    const int64_t o = outer / work.large_channels;
    const int64_t l = o / work.small_channels * work.large_channels + c;
    T total = T(0);
    for (int64_t k = threadIdx.x; k < folded; k += blockDim.x) {
      const int64_t image = split(k, work.small, window);
      if (!meet(work, window, tap, at)) continue;
      const int64_t y = offset_of(work.small_strides, image, o, window);
      const int64_t x = offset_of(work.large_strides, image, l, at);
      total = add(total, multiply(load<T>(small, work.dtype, y),
                                  load<T>(large, work.dtype, x)));
    }
    total = fold_block(total, shared, wrapping_sum());
    if (threadIdx.x == 0)
      store<T>(to, work.dtype, offset_of(work.weight_strides, o, c, tap), total);
  }
}

template <typename T>
static cudaError_t convolve(const eg_direct_conv &work, void *small, void *large,
                            void *weight, cudaStream_t stream) {
  const int64_t pairs = work.groups * work.small_channels * work.large_channels;
  const int64_t taps = work.kernel[0] * work.kernel[1] * work.kernel[2];
  int64_t results = work.images * work.groups;
  for (int d = 0; d < EG_POOL_RANK; d++)
    results *= work.kind == EG_CONV_SMALL ? work.small[d] : work.large[d];
  if (work.kind == EG_CONV_WEIGHT)
    return EG_LAUNCH(weight_kernel<T>, blocks_for(pairs * taps, 1), EG_BLOCK, stream,
                     work, weight, small, large);
  if (work.kind == EG_CONV_SMALL)
    return EG_LAUNCH(small_kernel<T>, blocks_for(results * work.small_channels, EG_BLOCK),
                     EG_BLOCK, stream, work, small, large, weight);
  return EG_LAUNCH(large_kernel<T>, blocks_for(results * work.large_channels, EG_BLOCK),
                   EG_BLOCK, stream, work, large, small, weight);
}

extern "C" cudaError_t eg_launch_direct_conv(const eg_direct_conv *work, void *small,
                                             void *large, void *weight,
                                             cudaStream_t stream) {
  if (work->compute == EG_COMPUTE_I64)
    return convolve<int64_t>(*work, small, large, weight, stream);
  return convolve<double>(*work, small, large, weight, stream);
}
