// Shared by the kernels: element access by dtype, positions in a loop nest, folds of a
// block. Kernels are correct for any number of blocks and any power of two of threads.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_KERNEL_COMMON_CUH
#define EG_EXEC_KERNEL_COMMON_CUH

#include <cfloat>
#include <cmath>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "exec/cuda/device/element_math.cuh"
#include "exec/cuda/device_kernels.h"
#include "include/egraph.h"

#define EG_OP(ID, ...) EG_OP_##ID,
enum eg_op {
#include "ops/op_table.def"
  EG_OP_COUNT
};

// Puts a kernel on a stream. Builds that run kernels without a device define their own.
#ifndef EG_LAUNCH
#define EG_LAUNCH(kernel, blocks, threads, stream, ...)                                  \
  (kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>( \
       __VA_ARGS__),                                                                     \
   cudaGetLastError())
#endif

// Puts a kernel template on a stream, instantiated for the type of sums (eg_compute).
#define EG_LAUNCH_SUMS(kernel, compute, blocks, stream, ...)                             \
  ((compute) == EG_COMPUTE_I64                                                           \
       ? EG_LAUNCH(kernel<int64_t>, blocks, EG_BLOCK, stream, __VA_ARGS__)               \
       : EG_LAUNCH(kernel<double>, blocks, EG_BLOCK, stream, __VA_ARGS__))

enum { EG_BLOCK = 256, EG_MOST_BLOCKS = 65536 };
enum { EG_LITTLE = 64 }; // most elements that one thread folds alone

/// Returns the blocks for `count` items, `each` of them per block; threads stride over
/// further items.
static inline int64_t blocks_for(int64_t count, int64_t each) {
  const int64_t blocks = (count + each - 1) / each;
  return blocks < 1 ? 1 : blocks > EG_MOST_BLOCKS ? EG_MOST_BLOCKS : blocks;
}

__device__ static inline int64_t first_item() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ static inline int64_t item_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

template <typename T>
__device__ static inline T load(const void *from, int32_t dtype, int64_t i) {
  switch (dtype) {
  case EGRAPH_FLOAT32: return static_cast<T>(static_cast<const float *>(from)[i]);
  case EGRAPH_FLOAT64: return static_cast<T>(static_cast<const double *>(from)[i]);
  case EGRAPH_FLOAT16:
    return static_cast<T>(__half2float(static_cast<const __half *>(from)[i]));
  case EGRAPH_BFLOAT16:
    return static_cast<T>(__bfloat162float(static_cast<const __nv_bfloat16 *>(from)[i]));
  case EGRAPH_INT8: return static_cast<T>(static_cast<const int8_t *>(from)[i]);
  case EGRAPH_INT16: return static_cast<T>(static_cast<const int16_t *>(from)[i]);
  case EGRAPH_INT32: return static_cast<T>(static_cast<const int32_t *>(from)[i]);
  case EGRAPH_INT64: return static_cast<T>(static_cast<const int64_t *>(from)[i]);
  case EGRAPH_UINT8: return static_cast<T>(static_cast<const uint8_t *>(from)[i]);
  case EGRAPH_UINT16: return static_cast<T>(static_cast<const uint16_t *>(from)[i]);
  case EGRAPH_UINT32: return static_cast<T>(static_cast<const uint32_t *>(from)[i]);
  case EGRAPH_UINT64: return static_cast<T>(static_cast<const uint64_t *>(from)[i]);
  case EGRAPH_BOOL: return static_cast<T>(static_cast<const uint8_t *>(from)[i] != 0);
  }
  return T(0);
}

/// Converts floats to integers: truncates and saturates; NaN becomes 0.
template <typename To>
__device__ static inline To to_integer(double value, double lowest, double highest,
                                       To low, To high) {
  if (value != value) return To(0);
  if (value <= lowest) return low;
  return value >= highest ? high : static_cast<To>(value);
}
template <typename To>
__device__ static inline To narrow(double value, To low, To high) {
  return to_integer<To>(value, static_cast<double>(low), static_cast<double>(high), low,
                        high);
}
template <typename To>
__device__ static inline To narrow(float value, To low, To high) {
  return narrow<To>(static_cast<double>(value), low, high);
}
/// Narrows integers, which wrap.
template <typename To> __device__ static inline To narrow(int64_t value, To, To) {
  return static_cast<To>(value);
}

__device__ static inline __half half_of(float value) { return __float2half_rn(value); }
__device__ static inline __half half_of(double value) { return __double2half(value); }
__device__ static inline __half half_of(int64_t value) {
  return __float2half_rn(static_cast<float>(value));
}
__device__ static inline __nv_bfloat16 brain_of(float value) {
  return __float2bfloat16_rn(value);
}
__device__ static inline __nv_bfloat16 brain_of(double value) {
  return __double2bfloat16(value);
}
__device__ static inline __nv_bfloat16 brain_of(int64_t value) {
  return __float2bfloat16_rn(static_cast<float>(value));
}

template <typename T>
__device__ static inline void store(void *to, int32_t dtype, int64_t i, T value) {
  switch (dtype) {
  case EGRAPH_FLOAT32: static_cast<float *>(to)[i] = static_cast<float>(value); break;
  case EGRAPH_FLOAT64: static_cast<double *>(to)[i] = static_cast<double>(value); break;
  case EGRAPH_FLOAT16: static_cast<__half *>(to)[i] = half_of(value); break;
  case EGRAPH_BFLOAT16: static_cast<__nv_bfloat16 *>(to)[i] = brain_of(value); break;
  case EGRAPH_INT8:
    static_cast<int8_t *>(to)[i] = narrow<int8_t>(value, INT8_MIN, INT8_MAX);
    break;
  case EGRAPH_INT16:
    static_cast<int16_t *>(to)[i] = narrow<int16_t>(value, INT16_MIN, INT16_MAX);
    break;
  case EGRAPH_INT32:
    static_cast<int32_t *>(to)[i] = narrow<int32_t>(value, INT32_MIN, INT32_MAX);
    break;
  case EGRAPH_INT64:
    static_cast<int64_t *>(to)[i] = narrow<int64_t>(value, INT64_MIN, INT64_MAX);
    break;
  case EGRAPH_UINT8:
    static_cast<uint8_t *>(to)[i] = narrow<uint8_t>(value, 0, UINT8_MAX);
    break;
  case EGRAPH_UINT16:
    static_cast<uint16_t *>(to)[i] = narrow<uint16_t>(value, 0, UINT16_MAX);
    break;
  case EGRAPH_UINT32:
    static_cast<uint32_t *>(to)[i] = narrow<uint32_t>(value, 0, UINT32_MAX);
    break;
  case EGRAPH_UINT64:
    static_cast<uint64_t *>(to)[i] = narrow<uint64_t>(value, 0, UINT64_MAX);
    break;
  case EGRAPH_BOOL: static_cast<uint8_t *>(to)[i] = value != T(0); break;
  }
}

/// Finds the offset of the element of every tensor at point i of the loop nest.
template <int TENSORS>
__device__ static inline void locate(const eg_device_loop &loop, int64_t i, int64_t *at) {
  for (int t = 0; t < TENSORS; t++)
    at[t] = 0;
  for (int32_t d = loop.rank; d-- > 0;) {
    const int64_t index = d == 0 ? i : i % loop.dims[d];
    i = d == 0 ? 0 : i / loop.dims[d];
    for (int t = 0; t < TENSORS; t++)
      at[t] += index * loop.strides[t][d];
  }
}

/// Adds and multiplies elements; integers wrap.
__device__ static inline double add(double a, double b) { return a + b; }
__device__ static inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
__device__ static inline double multiply(double a, double b) { return a * b; }
__device__ static inline int64_t multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// ---- windows over EG_POOL_RANK dimensions -----------------------------------------

__device__ static inline int64_t product(const int64_t *dims) {
  return dims[0] * dims[1] * dims[2];
}

/// Returns the offset of element `at` of plane (first, second) of a tensor.
__device__ static inline int64_t offset_of(const int64_t *strides, int64_t first,
                                           int64_t second, const int64_t *at) {
  int64_t offset = first * strides[0] + second * strides[1];
  for (int d = 0; d < EG_POOL_RANK; d++)
    offset += at[d] * strides[2 + d];
  return offset;
}

/// Splits a number into indices within `dims`; returns the quotient that remains.
__device__ static inline int64_t split(int64_t i, const int64_t *dims, int64_t *at) {
  for (int d = EG_POOL_RANK; d-- > 0;) {
    at[d] = i % dims[d];
    i /= dims[d];
  }
  return i;
}

/// Finds the position along dimension d of entry `tap` of a window; false in the padding.
template <typename Work>
__device__ static inline bool find_entry(const Work &work, int d, int64_t window,
                                         int64_t tap, int64_t *out) {
  *out = window * work.stride[d] - work.pad[d] + tap * work.dilation[d];
  return *out >= 0 && *out < work.large[d];
}

/// Finds the window along dimension d whose entry `tap` is element `at`; false: none is.
template <typename Work>
__device__ static inline bool find_window(const Work &work, int d, int64_t at,
                                          int64_t tap, int64_t *out) {
  const int64_t from = at + work.pad[d] - tap * work.dilation[d];
  *out = from / work.stride[d];
  return from >= 0 && from % work.stride[d] == 0 && *out < work.small[d];
}

/// Visits in order the positions that `find` finds for the taps of a window.
template <typename Work, typename Find, typename Visit>
__device__ static inline void each_tap(const Work &work, Find find, Visit visit) {
  int64_t at[EG_POOL_RANK];
  for (int64_t a = 0; a < work.kernel[0]; a++) {
    if (!find(0, a, &at[0])) continue;
    for (int64_t b = 0; b < work.kernel[1]; b++) {
      if (!find(1, b, &at[1])) continue;
      for (int64_t c = 0; c < work.kernel[2]; c++)
        if (find(2, c, &at[2])) visit(at);
    }
  }
}

/// Returns index n of a gathering, counted from the front; -1: it is outside of
/// the table.
__device__ static inline int64_t table_index(const eg_gathering &work,
                                             const void *indices, int64_t n) {
  int64_t index = load<int64_t>(indices, work.index_dtype, n);
  if (index < 0) index += work.whole;
  return index < work.whole && index >= 0 ? index : -1;
}

/// Divides results of a fold among blocks, one each (is_joint), or among threads.
struct work_share {
  int64_t first, step;         // first result, and distance to the next
  int64_t first_part, parts;   // first part of a fold, and number of parts
  __device__ explicit work_share(bool is_joint) {
    first = is_joint ? static_cast<int64_t>(blockIdx.x) : first_item();
    step = is_joint ? static_cast<int64_t>(gridDim.x) : item_step();
    first_part = is_joint ? static_cast<int64_t>(threadIdx.x) : 0;
    parts = is_joint ? static_cast<int64_t>(blockDim.x) : 1;
  }
};

/// Combines the values of all threads, always in the same order; all get the result.
template <typename T, typename Combine>
__device__ static inline T fold_block(T value, T *shared, Combine combine) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned width = blockDim.x / 2; width != 0; width /= 2) {
    if (threadIdx.x < width)
      shared[threadIdx.x] =
          combine(shared[threadIdx.x], shared[threadIdx.x + width]);
    __syncthreads();
  }
  const T all = shared[0];
  __syncthreads();
  return all;
}

struct wrapping_sum {
  template <typename T> __device__ T operator()(T a, T b) const { return add(a, b); }
};

#endif
