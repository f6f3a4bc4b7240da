// Pooling and its gradients (a thread per result), and gathering rows of a table.
// Reference: ops/kernel_pool.c, ops/kernel_gradient.c, ops/kernel_move.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

// Positions of a window within the padded input along dimension d, which is what the
// average over padding divides by.
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
__device__ static T pool_window(const eg_pooling &work, const void *x, int64_t base,
                                const int64_t *start, T *inside) {
  T value = work.is_max ? lowest_of<T>() : T(0);
  int64_t met = 0, at[EG_POOL_RANK];
  for (int64_t a = 0; a < work.kernel[0]; a++) {
    at[0] = start[0] + a * work.dilation[0];
    if (at[0] < 0 || at[0] >= work.large[0]) continue;
    for (int64_t b = 0; b < work.kernel[1]; b++) {
      at[1] = start[1] + b * work.dilation[1];
      if (at[1] < 0 || at[1] >= work.large[1]) continue;
      for (int64_t c = 0; c < work.kernel[2]; c++) {
        at[2] = start[2] + c * work.dilation[2];
        if (at[2] < 0 || at[2] >= work.large[2]) continue;
        const T next = load<T>(x, work.dtype,
                               base + at[0] * work.large_strides[2] +
                                   at[1] * work.large_strides[3] + at[2] * work.large_strides[4]);
        value = work.is_max ? larger_of()(value, next) : value + next;
        met++;
      }
    }
  }
  *inside = static_cast<T>(met);
  return value;
}

template <typename T>
__global__ void pooling_kernel(const eg_pooling work, void *to, const void *x) {
  const int64_t plane = work.small[0] * work.small[1] * work.small[2];
  const int64_t count = work.images * work.channels * plane;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t image = i / plane / work.channels, channel = i / plane % work.channels;
    const int64_t index[EG_POOL_RANK] = {i % plane / (work.small[1] * work.small[2]),
                                         i / work.small[2] % work.small[1],
                                         i % work.small[2]};
    int64_t start[EG_POOL_RANK], to_at = image * work.small_strides[0] +
                                         channel * work.small_strides[1];
    int64_t padded = 1;
    for (int d = 0; d < EG_POOL_RANK; d++) {
      start[d] = index[d] * work.stride[d] - work.pad[d];
      to_at += index[d] * work.small_strides[2 + d];
      padded *= work.include_pad ? padded_size(work, d, index[d]) : 1;
    }
    T inside;
    T value = pool_window<T>(work, x,
                             image * work.large_strides[0] + channel * work.large_strides[1],
                             start, &inside);
    if (!work.is_max) {
      const T divisor = work.include_pad ? static_cast<T>(padded) : inside;
      value = value / (divisor <= T(0) ? T(1) : divisor);
    }
    store<T>(to, work.dtype, to_at, value);
  }
}

extern "C" cudaError_t eg_launch_pooling(const eg_pooling *work, void *result,
                                         const void *x, cudaStream_t stream) {
  const int64_t count = work->images * work->channels * work->small[0] * work->small[1] *
                        work->small[2];
  const int64_t blocks = blocks_for(count, EG_BLOCK);
  if (work->compute == EG_COMPUTE_I64)
    return EG_LAUNCH(pooling_kernel<int64_t>, blocks, EG_BLOCK, stream, *work, result, x);
  return EG_LAUNCH(pooling_kernel<double>, blocks, EG_BLOCK, stream, *work, result, x);
}

// ---- gradients of pooling: every element looks for the windows it is in ------------

// The divisor of the average over a window.
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

// The place in a plane of the first maximum of a window; NaN is larger than all.
__device__ static int64_t first_maximum(const eg_pooling &work, const void *x,
                                        int64_t base, const int64_t *window) {
  int64_t at[EG_POOL_RANK], place = -1;
  double best = 0.0;
  for (int64_t a = 0; a < work.kernel[0]; a++) {
    at[0] = window[0] * work.stride[0] - work.pad[0] + a * work.dilation[0];
    if (at[0] < 0 || at[0] >= work.large[0]) continue;
    for (int64_t b = 0; b < work.kernel[1]; b++) {
      at[1] = window[1] * work.stride[1] - work.pad[1] + b * work.dilation[1];
      if (at[1] < 0 || at[1] >= work.large[1]) continue;
      for (int64_t c = 0; c < work.kernel[2]; c++) {
        at[2] = window[2] * work.stride[2] - work.pad[2] + c * work.dilation[2];
        if (at[2] < 0 || at[2] >= work.large[2]) continue;
        const int64_t next = at[0] * work.large_strides[2] +
                             at[1] * work.large_strides[3] +
                             at[2] * work.large_strides[4];
        const double value = load<double>(x, work.dtype, base + next);
        if (place >= 0 && !(value > best || (value != value && best == best))) continue;
        place = next;
        best = value;
      }
    }
  }
  return place;
}

__global__ void pool_grad_kernel(const eg_pooling work, void *to, const void *x,
                                 const void *cotangent) {
  const int64_t plane = work.large[0] * work.large[1] * work.large[2];
  const int64_t count = work.images * work.channels * plane;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t image = i / plane / work.channels, channel = i / plane % work.channels;
    const int64_t base =
        image * work.large_strides[0] + channel * work.large_strides[1];
    const int64_t from =
        image * work.small_strides[0] + channel * work.small_strides[1];
    const int64_t at[EG_POOL_RANK] = {i % plane / (work.large[1] * work.large[2]),
                                      i / work.large[2] % work.large[1],
                                      i % work.large[2]};
    const int64_t own = at[0] * work.large_strides[2] + at[1] * work.large_strides[3] +
                        at[2] * work.large_strides[4];
    int64_t window[EG_POOL_RANK];
    double total = 0.0;
    for (int64_t a = 0; a < work.kernel[0]; a++) {
      if (!find_window(work, 0, at[0], a, &window[0])) continue;
      for (int64_t b = 0; b < work.kernel[1]; b++) {
        if (!find_window(work, 1, at[1], b, &window[1])) continue;
        for (int64_t c = 0; c < work.kernel[2]; c++) {
          if (!find_window(work, 2, at[2], c, &window[2])) continue;
          if (work.is_max && first_maximum(work, x, base, window) != own) continue;
          const double d = load<double>(cotangent, work.dtype,
                                        from + window[0] * work.small_strides[2] +
                                            window[1] * work.small_strides[3] +
                                            window[2] * work.small_strides[4]);
          total += work.is_max ? d : d / divisor_of(work, window);
        }
      }
    }
    store<double>(to, work.dtype, base + own, total);
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
