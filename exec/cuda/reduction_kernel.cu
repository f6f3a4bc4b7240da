// Reductions, positions of extremes and running sums. A block folds a result of many
// elements, a thread a result of few; both fold in a fixed order. Floats accumulate in
// double. Reference: ops/kernel_reduce.c, ops/kernel_select.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

template <typename T> struct limits_of;
template <> struct limits_of<double> {
  __device__ static double lowest() { return -HUGE_VAL; }
  __device__ static double highest() { return HUGE_VAL; }
};
template <> struct limits_of<int64_t> {
  __device__ static int64_t lowest() { return INT64_MIN; }
  __device__ static int64_t highest() { return INT64_MAX; }
};

template <typename T> struct fold_of {
  int32_t op;
  __device__ T neutral() const {
    switch (op) {
    case EG_OP_REDUCE_MAX: return limits_of<T>::lowest();
    case EG_OP_REDUCE_MIN: return limits_of<T>::highest();
    case EG_OP_REDUCE_PROD: return T(1);
    }
    return T(0);
  }
  __device__ T operator()(T a, T b) const {
    switch (op) {
    case EG_OP_REDUCE_MAX: return b > a || b != b ? b : a;
    case EG_OP_REDUCE_MIN: return b < a || b != b ? b : a;
    case EG_OP_REDUCE_PROD: return multiply(a, b);
    }
    return add(a, b);
  }
};

template <typename T>
__global__ void reduction_kernel(const eg_reduction work, bool is_joint, void *to,
                                 const void *from) {
  __shared__ T shared[EG_BLOCK];
  const fold_of<T> fold = {work.op};
  const work_share share(is_joint);
  for (int64_t i = share.first; i < work.kept.count; i += share.step) {
    int64_t at[2], part[2];
    locate<2>(work.kept, i, at);
    T value = fold.neutral();
    for (int64_t k = share.first_part; k < work.folded.count; k += share.parts) {
      locate<2>(work.folded, k, part);
      value = fold(value, load<T>(from, work.dtype, at[1] + part[1]));
    }
    if (is_joint) value = fold_block(value, shared, fold);
    if (is_joint && threadIdx.x != 0) continue;
    if (work.op == EG_OP_REDUCE_MEAN) value = value / static_cast<T>(work.divisor);
    store<T>(to, work.dtype, at[0], value);
  }
}

// ---- positions of extremes ------------------------------------------------------

template <typename T> struct candidate {
  T value;
  int64_t position; // -1: none
};

// Selects the better candidate. NaN is extreme in both directions, and the first NaN
// wins; of equal numbers the first or (take_last) the last one wins.
template <typename T> struct better_of {
  bool is_max, take_last;
  __device__ candidate<T> operator()(candidate<T> a, candidate<T> b) const {
    if (a.position < 0) return b;
    if (b.position < 0) return a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return (a.value > b.value) == is_max ? a : b;
    return (a.position < b.position) != (take_last && !a_nan) ? a : b;
  }
};

template <typename T>
__global__ void arg_kernel(const eg_reduction work, bool is_joint, int64_t *to,
                           const void *from) {
  __shared__ candidate<T> shared[EG_BLOCK];
  const better_of<T> better = {work.op == EG_OP_ARG_MAX, work.take_last != 0};
  const work_share share(is_joint);
  for (int64_t i = share.first; i < work.kept.count; i += share.step) {
    int64_t at[2], part[2];
    locate<2>(work.kept, i, at);
    candidate<T> best = {T(0), -1};
    for (int64_t k = share.first_part; k < work.folded.count; k += share.parts) {
      locate<2>(work.folded, k, part);
      const candidate<T> next = {load<T>(from, work.dtype, at[1] + part[1]), k};
      best = better(best, next);
    }
    if (is_joint) best = fold_block(best, shared, better);
    if (!is_joint || threadIdx.x == 0) to[at[0]] = best.position;
  }
}

extern "C" cudaError_t eg_launch_reduction(const eg_reduction *work, void *result,
                                           const void *operand, cudaStream_t stream) {
  const bool is_joint = work->folded.count > EG_LITTLE;
  const int64_t blocks = blocks_for(work->kept.count, is_joint ? 1 : EG_BLOCK);
  if (work->op == EG_OP_ARG_MAX || work->op == EG_OP_ARG_MIN)
    return EG_LAUNCH_SUMS(arg_kernel, work->compute, blocks, stream, *work, is_joint,
                          static_cast<int64_t *>(result), operand);
  return EG_LAUNCH_SUMS(reduction_kernel, work->compute, blocks, stream, *work, is_joint,
                        result, operand);
}

// ---- running sum ----------------------------------------------------------------

template <typename T>
__global__ void cum_sum_kernel(const eg_axis_rows work, void *to, const void *from) {
  for (int64_t i = first_item(); i < work.rows.count; i += item_step()) {
    int64_t at[2];
    locate<2>(work.rows, i, at);
    T total = T(0);
    for (int64_t k = 0; k < work.size; k++) {
      total = add(total, load<T>(from, work.dtype, at[1] + k * work.steps[1]));
      store<T>(to, work.dtype, at[0] + k * work.steps[0], total);
    }
  }
}

extern "C" cudaError_t eg_launch_cum_sum(const eg_axis_rows *work, int32_t compute,
                                         void *result, const void *operand,
                                         cudaStream_t stream) {
  return EG_LAUNCH_SUMS(cum_sum_kernel, compute, blocks_for(work->rows.count, EG_BLOCK),
                        stream, *work, result, operand);
}

// ---- contractions -------------------------------------------------------------------

// Sums of products: einsums that are no matrix product. A block sums a result of many
// terms, a thread a result of few; both in a fixed order. Reference: ops/kernel_einsum.c.

template <typename T>
__global__ void contraction_kernel(const eg_contraction work, bool is_joint, void *to,
                                   const void *a, const void *b, const void *c) {
  __shared__ T shared[EG_BLOCK];
  const work_share share(is_joint);
  for (int64_t i = share.first; i < work.kept.count; i += share.step) {
    int64_t at[EG_LOOP_TENSORS], part[EG_LOOP_TENSORS];
    locate<EG_LOOP_TENSORS>(work.kept, i, at);
    T total = T(0);
    for (int64_t k = share.first_part; k < work.folded.count; k += share.parts) {
      locate<EG_LOOP_TENSORS>(work.folded, k, part);
      T product = load<T>(a, work.dtype, at[1] + part[1]);
      if (work.operands > 1)
        product = multiply(product, load<T>(b, work.dtype, at[2] + part[2]));
      if (work.operands > 2)
        product = multiply(product, load<T>(c, work.dtype, at[3] + part[3]));
      total = add(total, product);
    }
    if (is_joint) total = fold_block(total, shared, wrapping_sum());
    if (!is_joint || threadIdx.x == 0) store<T>(to, work.dtype, at[0], total);
  }
}

extern "C" cudaError_t eg_launch_contraction(const eg_contraction *work,
                                             void *const *addresses,
                                             cudaStream_t stream) {
  const bool is_joint = work->folded.count > EG_LITTLE;
  const int64_t blocks = blocks_for(work->kept.count, is_joint ? 1 : EG_BLOCK);
  const void *b = work->operands > 1 ? addresses[2] : nullptr;
  const void *c = work->operands > 2 ? addresses[3] : nullptr;
  return EG_LAUNCH_SUMS(contraction_kernel, work->compute, blocks, stream, *work, is_joint,
                        addresses[0], addresses[1], b, c);
}
