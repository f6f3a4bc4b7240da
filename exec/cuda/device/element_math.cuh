// Formulas on elements, and folds of two. Kernels that nvcc compiles include this file,
// and so do kernels that are compiled while the program runs (body_device.cuh), from a
// copy in the plugin: it includes no header that only one of the two compilers has.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_ELEMENT_MATH_CUH
#define EG_EXEC_ELEMENT_MATH_CUH

#include "exec/cuda/device/pointwise_list.h"

template <typename T> __device__ static inline T clamp_unit(T y) {
  return y < 0 ? T(0) : y > 1 ? T(1) : y;
}

template <typename T> __device__ static inline T gelu(T x, bool is_tanh) {
  if (is_tanh)
    return x / 2 * (1 + tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
  return x / 2 * (1 + erf(x * T(0.70710678118654752440)));
}

/// Returns the remainder with the sign of the divisor.
template <typename T> __device__ static inline T floor_mod(T x, T y) {
  const T rest = fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

struct sum_of {
  template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
/// Returns the larger value; NaN wins.
struct larger_of {
  template <typename T> __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
/// Returns the smaller value; NaN wins.
struct smaller_of {
  template <typename T> __device__ T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};

#endif
