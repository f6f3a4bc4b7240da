// What the kernels of fused nodes use (body_source.c writes them, NVRTC compiles them):
// operators as functions, elements of all types, packs of elements, folds of a block.
// NVRTC has no headers of the system; other compilers, which run these kernels in tests,
// take what it has built in from theirs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_BODY_DEVICE_CUH
#define EG_EXEC_BODY_DEVICE_CUH

#ifndef __CUDACC_RTC__
#include <cmath>
#include <cstring>

#include <vector_types.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "exec/cuda/device/body_work.h"
#include "exec/cuda/device/element_math.cuh"

#define EG_OPERATOR(id, formula)                                                         \
  template <typename T>                                                                  \
  __device__ static inline T op_##id(T x, T y = T(0), T z = T(0), T p = T(0),            \
                                     T q = T(0)) {                                       \
    return static_cast<T>(formula);                                                      \
  }
EG_POINTWISE_FLOAT_LIST(EG_OPERATOR)
EG_POINTWISE_COMMON_LIST(EG_OPERATOR)
#undef EG_OPERATOR

// ---- numbers --------------------------------------------------------------------------

/// Returns the double with these bits.
__device__ static inline double number(unsigned long long bits) {
#ifdef __CUDACC_RTC__
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}
#define EG_INFINITY number(0x7ff0000000000000ull)

// ---- elements in memory ---------------------------------------------------------------

struct eg_half {
  unsigned short bits;
};
struct eg_brain {
  unsigned short bits;
};
struct eg_flag {
  unsigned char byte;
};

#ifdef __CUDACC_RTC__
__device__ static inline float value_of(eg_half x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}
__device__ static inline float value_of(eg_brain x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ static inline void put(eg_half *to, float value) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(value));
}
__device__ static inline void put(eg_brain *to, float value) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(value));
}
#else
__device__ static inline float value_of(eg_half x) {
  return __half2float(__half(__half_raw{x.bits}));
}
__device__ static inline float value_of(eg_brain x) {
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{x.bits}));
}
__device__ static inline void put(eg_half *to, float value) {
  to->bits = static_cast<__half_raw>(__float2half_rn(value)).x;
}
__device__ static inline void put(eg_brain *to, float value) {
  to->bits = static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
}
#endif
__device__ static inline float value_of(float x) { return x; }
__device__ static inline double value_of(double x) { return x; }
__device__ static inline bool value_of(eg_flag x) { return x.byte != 0; }
__device__ static inline void put(float *to, float value) { *to = value; }
__device__ static inline void put(double *to, double value) { *to = value; }
__device__ static inline void put(eg_flag *to, bool value) { to->byte = value; }

/// Rounds a number as memory of this element type does.
template <typename Element> __device__ static inline float rounded(float value) {
  Element element;
  put(&element, value);
  return value_of(element);
}

/// Neighbouring elements, which one access reads or writes.
template <typename Element, int COUNT>
struct alignas(sizeof(Element) * COUNT > 16 ? 16 : sizeof(Element) * COUNT) pack {
  Element items[COUNT];
};
template <int COUNT, typename Element>
__device__ static inline pack<Element, COUNT> load_pack(const Element *from) {
  return *reinterpret_cast<const pack<Element, COUNT> *>(from);
}

/// What one instruction writes at most: the compiler splits the store of a struct.
template <int BYTES> struct word_of;
template <> struct word_of<4> { using type = unsigned; };
template <> struct word_of<8> { using type = uint2; };
template <> struct word_of<16> { using type = uint4; };
template <> struct word_of<32> : word_of<16> {};

template <int COUNT, typename Element>
__device__ static inline void store_pack(Element *to,
                                         const pack<Element, COUNT> &items) {
  using word = typename word_of<sizeof items>::type;
  word words[sizeof items / sizeof(word)];
  memcpy(words, &items, sizeof items);
  for (unsigned i = 0; i < sizeof items / sizeof(word); i++)
    reinterpret_cast<word *>(to)[i] = words[i];
}

// ---- folds ----------------------------------------------------------------------------

enum { EG_LANES = 32 };

/// Combines the values of the THREADS threads of the block, a multiple of EG_LANES,
/// always in the same order; all get the same result. `shared` has an entry per warp.
template <int THREADS, typename T, typename Combine>
__device__ static inline T fold_row(T value, double *shared, Combine combine) {
  for (int lanes = EG_LANES / 2; lanes != 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  if (threadIdx.x % EG_LANES == 0)
    shared[threadIdx.x / EG_LANES] = static_cast<double>(value);
  __syncthreads();
  T all = static_cast<T>(shared[0]);
  for (int warp = 1; warp < THREADS / EG_LANES; warp++)
    all = combine(all, static_cast<T>(shared[warp]));
  __syncthreads();
  return all;
}

#endif
