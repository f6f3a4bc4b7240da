// Pointwise operators: one kernel per type of arithmetic. Operator and dtypes are the
// same for all threads, so selecting them in the kernel costs little compared with the
// memory traffic. Reference: the formulas of ops/kernel_unary.c and ops/kernel_binary.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

// Divides integers: INT64_MIN / -1 wraps to itself; a division by zero gives 0.
__device__ static int64_t int_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x / y;
}
__device__ static int64_t int_rem(int64_t x, int64_t y) {
  return y == 0 || y == -1 ? 0 : x % y;
}
__device__ static int64_t int_mod(int64_t x, int64_t y) {
  const int64_t rest = int_rem(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
__device__ static int64_t int_pow(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0;
  uint64_t power = 1, base = static_cast<uint64_t>(x);
  for (; y != 0; y >>= 1, base *= base)
    if ((y & 1) != 0) power *= base;
  return static_cast<int64_t>(power);
}

// Operators on integers; arithmetic wraps.
#define U(value) static_cast<uint64_t>(value)
#define INT_LIST(X)                                                                      \
  X(RELU, x < 0 ? 0 : x)                                                                 \
  X(SQUARE, U(x) * U(x))                                                                 \
  X(NEG, 0 - U(x))                                                                       \
  X(ABS, x < 0 ? 0 - U(x) : U(x))                                                        \
  X(SIGN, x > 0 ? 1 : x < 0 ? -1 : 0)                                                    \
  X(CLIP, x < p ? (p < q ? p : q) : x > q ? q : x)                                       \
  X(ADD, U(x) + U(y))                                                                    \
  X(SUB, U(x) - U(y))                                                                    \
  X(MUL, U(x) * U(y))                                                                    \
  X(DIV, int_div(x, y))                                                                  \
  X(POW, int_pow(x, y))                                                                  \
  X(MAX, x > y ? x : y)                                                                  \
  X(MIN, x < y ? x : y)                                                                  \
  X(MOD, p != 0 ? int_rem(x, y) : int_mod(x, y))                                         \
  X(PRELU, x < 0 ? U(x) * U(y) : U(x))

#define CASE(id, formula)                                                                \
  case EG_OP_##id: return static_cast<T>(formula);

template <typename T> __device__ static T apply(int32_t op, T x, T y, T z, T p, T q) {
  switch (op) {
    EG_POINTWISE_FLOAT_LIST(CASE)
    EG_POINTWISE_COMMON_LIST(CASE)
  }
  return x;
}

template <>
__device__ int64_t apply<int64_t>(int32_t op, int64_t x, int64_t y, int64_t z, int64_t p,
                                  int64_t q) {
  using T = int64_t;
  switch (op) {
    INT_LIST(CASE)
    EG_POINTWISE_COMMON_LIST(CASE)
  }
  return x;
}

// Returns the outermost integer within a float bound, like the reference kernel.
template <typename T> __device__ static T bound(double value, bool) {
  return static_cast<T>(value);
}
template <> __device__ int64_t bound<int64_t>(double value, bool is_lower) {
  return narrow<int64_t>(is_lower ? ceil(value) : floor(value), INT64_MIN, INT64_MAX);
}

template <typename T>
__global__ void pointwise_kernel(const eg_pointwise work, void *to, const void *a,
                                 const void *b, const void *c) {
  const T p = bound<T>(work.params[0], true), q = bound<T>(work.params[1], false);
  const int32_t operands = work.loop.tensors - 1;
  for (int64_t i = first_item(); i < work.loop.count; i += item_step()) {
    int64_t at[EG_LOOP_TENSORS];
    locate<EG_LOOP_TENSORS>(work.loop, i, at);
    if (work.op == EG_OP_FILL) {
      store<double>(to, work.dtype[0], at[0], work.params[0]);
      continue;
    }
    const T x = load<T>(a, work.dtype[1], at[1]);
    const T y = operands > 1 ? load<T>(b, work.dtype[2], at[2]) : T(0);
    const T z = operands > 2 ? load<T>(c, work.dtype[3], at[3]) : T(0);
    T value = apply<T>(work.op, x, y, z, p, q);
    for (int32_t k = 0; k < work.chained; k++) {
      const auto &next = work.chain[k];
      value = apply<T>(next.op, value, next.tensor == 3 ? z : y, T(0),
                       bound<T>(next.params[0], true), bound<T>(next.params[1], false));
    }
    store<T>(to, work.dtype[0], at[0], value);
  }
}

extern "C" cudaError_t eg_launch_pointwise(const eg_pointwise *work,
                                           void *const *addresses, cudaStream_t stream) {
  const int64_t blocks = blocks_for(work->loop.count, EG_BLOCK);
  const int32_t tensors = work->loop.tensors;
  void *to = addresses[0];
  const void *a = tensors > 1 ? addresses[1] : nullptr;
  const void *b = tensors > 2 ? addresses[2] : nullptr;
  const void *c = tensors > 3 ? addresses[3] : nullptr;
  if (work->compute == EG_COMPUTE_F64)
    return EG_LAUNCH(pointwise_kernel<double>, blocks, EG_BLOCK, stream, *work, to, a, b,
                     c);
  if (work->compute == EG_COMPUTE_I64)
    return EG_LAUNCH(pointwise_kernel<int64_t>, blocks, EG_BLOCK, stream, *work, to, a, b,
                     c);
  return EG_LAUNCH(pointwise_kernel<float>, blocks, EG_BLOCK, stream, *work, to, a, b, c);
}

// ---- moves ----------------------------------------------------------------------

template <typename T>
__global__ void move_kernel(const eg_device_loop loop, T *to, const T *from) {
  for (int64_t i = first_item(); i < loop.count; i += item_step()) {
    int64_t at[2];
    locate<2>(loop, i, at);
    to[at[0]] = from[at[1]];
  }
}

template <typename T>
static cudaError_t move(const eg_device_loop *loop, void *to, const void *from,
                        cudaStream_t stream) {
  return EG_LAUNCH(move_kernel<T>, blocks_for(loop->count, EG_BLOCK), EG_BLOCK, stream,
                   *loop, static_cast<T *>(to), static_cast<const T *>(from));
}

extern "C" cudaError_t eg_launch_move(const eg_device_loop *loop, int32_t element_bytes,
                                      void *to, const void *from, cudaStream_t stream) {
  switch (element_bytes) {
  case 1: return move<uint8_t>(loop, to, from, stream);
  case 2: return move<uint16_t>(loop, to, from, stream);
  case 4: return move<uint32_t>(loop, to, from, stream);
  case 8: return move<uint64_t>(loop, to, from, stream);
  }
  return cudaErrorInvalidValue;
}

// ---- joins ----------------------------------------------------------------------

struct join_parts {
  void *address[EG_MOST_JOINED];
};

// Joins or splits rows; T is a unit that divides all sizes and addresses.
template <typename T>
__global__ void join_kernel(const eg_join work, const join_parts parts, void *whole) {
  const int64_t unit = static_cast<int64_t>(sizeof(T));
  const int64_t width = work.ends[work.parts - 1] / unit;
  for (int64_t i = first_item(); i < work.rows * width; i += item_step()) {
    const int64_t row = i / width, at = (i - row * width) * unit;
    int32_t low = 0, high = work.parts - 1; // the part that contains `at` is in [low, high]
    while (low < high) {
      const int32_t middle = (low + high) / 2;
      if (at < work.ends[middle])
        high = middle;
      else
        low = middle + 1;
    }
    const int64_t begin = low != 0 ? work.ends[low - 1] : 0;
    T *one = reinterpret_cast<T *>(static_cast<char *>(whole) + row * work.whole_step + at);
    T *other = reinterpret_cast<T *>(static_cast<char *>(parts.address[low]) +
                                     row * (work.ends[low] - begin) + at - begin);
    if (work.is_split)
      *other = *one;
    else
      *one = *other;
  }
}

template <typename T>
static cudaError_t join(const eg_join *work, const join_parts &parts, void *whole,
                        cudaStream_t stream) {
  const int64_t units = work->rows * work->ends[work->parts - 1] / (int64_t)sizeof(T);
  return EG_LAUNCH(join_kernel<T>, blocks_for(units, EG_BLOCK), EG_BLOCK, stream, *work,
                   parts, whole);
}

extern "C" cudaError_t eg_launch_join(const eg_join *work, void *const *addresses,
                                      cudaStream_t stream) {
  join_parts parts;
  uintptr_t bits = reinterpret_cast<uintptr_t>(addresses[0]) |
                   static_cast<uintptr_t>(work->whole_step);
  for (int32_t p = 0; p < work->parts; p++) {
    parts.address[p] = addresses[p + 1];
    bits |= reinterpret_cast<uintptr_t>(addresses[p + 1]) |
            static_cast<uintptr_t>(work->ends[p]);
  }
  if (bits % 16 == 0) return join<uint4>(work, parts, addresses[0], stream);
  if (bits % 4 == 0) return join<uint32_t>(work, parts, addresses[0], stream);
  if (bits % 2 == 0) return join<uint16_t>(work, parts, addresses[0], stream);
  return join<uint8_t>(work, parts, addresses[0], stream);
}
