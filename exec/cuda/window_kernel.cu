// Pooling and its gradients (a thread per result), and gathering rows of a table.
// Reference: ops/kernel_pool.c, ops/kernel_gradient.c, ops/kernel_move.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

// Returns the positions of a window within the padded input along dimension d; an average
// over padding divides by them.
__device__ static int64_t padded_size(const eg_pooling &work, int d, int64_t index) {
  const int64_t start = index * work.stride[d] - work.pad[d];
  const int64_t limit = work.large[d] + work.pad_end[d];
  int64_t size = 0;
  for (int64_t k = 0; k < work.kernel[d]; k++)
    size += start + k * work.dilation[d] < limit;
  return size;
}

template <typename T> __device__ static T lowest_of() { return T(-HUGE_VAL); }
template <> __device__ int64_t lowest_of<int64_t>() { return INT64_MIN; }

template <typename T>
__global__ void pooling_kernel(const eg_pooling work, void *to, const void *x) {
  const int64_t count = work.images * work.channels * product(work.small);
  for (int64_t i = first_item(); i < count; i += item_step()) {
    int64_t window[EG_POOL_RANK], inside = 0, padded = 1;
    const int64_t outer = split(i, work.small, window);
    const int64_t image = outer / work.channels, channel = outer % work.channels;
    T value = work.is_max ? lowest_of<T>() : T(0);
    const auto find = [&](int d, int64_t tap, int64_t *at) {
      return find_entry(work, d, window[d], tap, at);
    };
    each_tap(work, find, [&](const int64_t *at) {
      const T next =
          load<T>(x, work.dtype, offset_of(work.large_strides, image, channel, at));
      value = work.is_max ? larger_of()(value, next) : value + next;
      inside++;
    });
    if (!work.is_max) {
      for (int d = 0; d < EG_POOL_RANK && work.include_pad; d++)
        padded *= padded_size(work, d, window[d]);
      const T divisor = static_cast<T>(work.include_pad ? padded : inside);
      value = value / (divisor <= T(0) ? T(1) : divisor);
    }
    store<T>(to, work.dtype, offset_of(work.small_strides, image, channel, window),
             value);
  }
}

extern "C" cudaError_t eg_launch_pooling(const eg_pooling *work, void *result,
                                         const void *x, cudaStream_t stream) {
  const int64_t count = work->images * work->channels * work->small[0] * work->small[1] *
                        work->small[2];
  return EG_LAUNCH_SUMS(pooling_kernel, work->compute, blocks_for(count, EG_BLOCK),
                        stream, *work, result, x);
}

// ---- gradients of pooling: every element looks for the windows it is in ------------

// Returns the divisor of the average over a window.
__device__ static double divisor_of(const eg_pooling &work, const int64_t *window) {
  int64_t size = 1;
  for (int d = 0; d < EG_POOL_RANK; d++) {
    const int64_t start = window[d] * work.stride[d] - work.pad[d];
    int64_t inside = 0;
    for (int64_t k = 0; k < work.kernel[d]; k++)
      inside += start + k >= 0 && start + k < work.large[d];
    size *= work.include_pad ? padded_size(work, d, window[d]) : inside;
  }
  return size < 1 ? 1.0 : static_cast<double>(size);
}

// Returns the position of a window's first maximum in a plane; NaN is the largest.
__device__ static int64_t first_maximum(const eg_pooling &work, const void *x,
                                        int64_t image, int64_t channel,
                                        const int64_t *window) {
  int64_t place = -1;
  double best = 0.0;
  const auto find = [&](int d, int64_t tap, int64_t *at) {
    return find_entry(work, d, window[d], tap, at);
  };
  each_tap(work, find, [&](const int64_t *at) {
    const int64_t next = offset_of(work.large_strides, image, channel, at);
    const double value = load<double>(x, work.dtype, next);
    if (place >= 0 && !(value > best || (value != value && best == best))) return;
    place = next;
    best = value;
  });
  return place;
}

__global__ void pool_grad_kernel(const eg_pooling work, void *to, const void *x,
                                 const void *cotangent) {
  const int64_t count = work.images * work.channels * product(work.large);
  for (int64_t i = first_item(); i < count; i += item_step()) {
    int64_t at[EG_POOL_RANK];
    const int64_t outer = split(i, work.large, at);
    const int64_t image = outer / work.channels, channel = outer % work.channels;
    const int64_t own = offset_of(work.large_strides, image, channel, at);
    double total = 0.0;
    const auto find = [&](int d, int64_t tap, int64_t *window) {
      return find_window(work, d, at[d], tap, window);
    };
    each_tap(work, find, [&](const int64_t *window) {
      if (work.is_max && first_maximum(work, x, image, channel, window) != own) return;
      const double d = load<double>(
          cotangent, work.dtype, offset_of(work.small_strides, image, channel, window));
      total += work.is_max ? d : d / divisor_of(work, window);
    });
    store<double>(to, work.dtype, own, total);
  }
}

extern "C" cudaError_t eg_launch_pool_grad(const eg_pooling *work, void *result,
                                           const void *x, const void *cotangent,
                                           cudaStream_t stream) {
  const int64_t count = work->images * work->channels * work->large[0] * work->large[1] *
                        work->large[2];
  return EG_LAUNCH(pool_grad_kernel, blocks_for(count, EG_BLOCK), EG_BLOCK, stream, *work,
                   result, x, cotangent);
}

// ---- gather ---------------------------------------------------------------------

template <typename T>
__global__ void gather_kernel(const eg_gathering work, T *to, const T *table,
                              const void *indices, int32_t *fault) {
  const int64_t count = work.outer * work.count * work.inner;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t outer = i / work.inner / work.count, n = i / work.inner % work.count;
    const int64_t index = table_index(work, indices, n), here = index - work.first;
    if (index < 0) {
      atomicExch(fault, 1);
      continue;
    }
    const bool is_here = here >= 0 && here < work.size;
    to[i] = is_here ? table[(outer * work.size + here) * work.inner + i % work.inner] : T(0);
  }
}

template <typename T>
static cudaError_t gather(const eg_gathering *work, void *result, const void *table,
                          const void *indices, int32_t *fault, cudaStream_t stream) {
  return EG_LAUNCH(gather_kernel<T>,
                   blocks_for(work->outer * work->count * work->inner, EG_BLOCK),
                   EG_BLOCK, stream, *work, static_cast<T *>(result),
                   static_cast<const T *>(table), indices, fault);
}

extern "C" cudaError_t eg_launch_gather(const eg_gathering *work, void *result,
                                        const void *table, const void *indices,
                                        int32_t *fault, cudaStream_t stream) {
  switch (work->element_bytes) {
  case 1: return gather<uint8_t>(work, result, table, indices, fault, stream);
  case 2: return gather<uint16_t>(work, result, table, indices, fault, stream);
  case 4: return gather<uint32_t>(work, result, table, indices, fault, stream);
  case 8: return gather<uint64_t>(work, result, table, indices, fault, stream);
  }
  return cudaErrorInvalidValue;
}
