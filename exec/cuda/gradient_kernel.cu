// Gradients of gathering and of normalizations; sums in double, in a fixed order.
// Reference: ops/kernel_gradient.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

// ---- gathering: equal indices are linked, each chain is summed from its first entry --

/// Fills links[n]: 1 when n is the first position of its index, which this part of the
/// table holds; links[count + n]: the next position with the same index, or -1.
__global__ void link_kernel(const eg_gathering work, const void *indices, int64_t *links,
                            int32_t *fault) {
  for (int64_t n = first_item(); n < work.count; n += item_step()) {
    const int64_t index = table_index(work, indices, n);
    int64_t before = n - 1, next = n + 1;
    if (index < 0) atomicExch(fault, 1);
    while (before >= 0 && table_index(work, indices, before) != index)
      before--;
    while (next < work.count && table_index(work, indices, next) != index)
      next++;
    const bool is_here = index >= work.first && index < work.first + work.size;
    links[n] = is_here && before < 0;
    links[work.count + n] = next < work.count ? next : -1;
  }
}

__global__ void gather_grad_kernel(const eg_gathering work, int32_t dtype, void *to,
                                   const void *cotangent, const void *indices,
                                   const int64_t *links) {
  const int64_t count = work.outer * work.count * work.inner;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t inner = i % work.inner, first = i / work.inner % work.count;
    const int64_t outer = i / work.inner / work.count;
    double total = 0.0;
    if (links[first] == 0) continue;
    for (int64_t n = first; n >= 0; n = links[work.count + n])
      total +=
          load<double>(cotangent, dtype, (outer * work.count + n) * work.inner + inner);
    const int64_t index = table_index(work, indices, first) - work.first;
    store<double>(to, dtype, (outer * work.size + index) * work.inner + inner, total);
  }
}

extern "C" cudaError_t eg_launch_gather_grad(const eg_gathering *work, int32_t dtype,
                                             void *result, const void *cotangent,
                                             const void *indices, int64_t *links,
                                             int32_t *fault, cudaStream_t stream) {
  const cudaError_t code = EG_LAUNCH(link_kernel, blocks_for(work->count, EG_BLOCK),
                                     EG_BLOCK, stream, *work, indices, links, fault);
  if (code != cudaSuccess) return code;
  return EG_LAUNCH(gather_grad_kernel,
                   blocks_for(work->outer * work->count * work->inner, EG_BLOCK),
                   EG_BLOCK, stream, *work, dtype, result, cotangent, indices, links);
}

// ---- normalizations: a block per row ---------------------------------------------

// Computes, with h = d scale, n = (x - mean) r and r = 1 / sqrt(variance + epsilon), x' =
// r (h - mean(h) - n mean(h n)), without mean(h) where rows are not centred.
__global__ void norm_grad_kernel(const eg_norm_rows work, void *to, const void *cotangent,
                                 const void *x, const void *scales) {
  __shared__ double shared[EG_BLOCK];
  const double size = static_cast<double>(work.count);
  for (int64_t r = blockIdx.x; r < work.rows; r += gridDim.x) {
    const int64_t row = r * work.count;
    double total = 0.0, squares = 0.0, level = 0.0, along = 0.0;
    if (work.is_centred) {
      for (int64_t i = threadIdx.x; i < work.count; i += blockDim.x)
        total += load<double>(x, work.dtype[2], row + i);
      total = fold_block(total, shared, sum_of());
    }
    const double mean = total / size;
    for (int64_t i = threadIdx.x; i < work.count; i += blockDim.x) {
      const double from_mean = load<double>(x, work.dtype[2], row + i) - mean;
      const double h = load<double>(cotangent, work.dtype[1], row + i) *
                       load<double>(scales, work.dtype[3], i);
      squares += from_mean * from_mean;
      along += h * from_mean;
      level += work.is_centred ? h : 0.0;
    }
    squares = fold_block(squares, shared, sum_of());
    along = fold_block(along, shared, sum_of());
    level = fold_block(level, shared, sum_of());
    const double inverse = 1.0 / sqrt(squares / size + work.epsilon);
    const double slope = inverse * inverse * along / size, shift = level / size;
    for (int64_t i = threadIdx.x; i < work.count; i += blockDim.x) {
      const double from_mean = load<double>(x, work.dtype[2], row + i) - mean;
      const double h = load<double>(cotangent, work.dtype[1], row + i) *
                       load<double>(scales, work.dtype[3], i);
      store<double>(to, work.dtype[0], row + i,
                    inverse * (h - shift - slope * from_mean));
    }
  }
}

extern "C" cudaError_t eg_launch_norm_grad(const eg_norm_rows *work,
                                           void *const *addresses, cudaStream_t stream) {
  return EG_LAUNCH(norm_grad_kernel, blocks_for(work->rows, 1), EG_BLOCK, stream, *work,
                   addresses[0], addresses[1], addresses[2], addresses[3]);
}

// ---- updates ------------------------------------------------------------------------

// Updates of training steps. Reference: ops/kernel_gradient.c.

// The coefficients of Adam's step that all elements share, computed in double.
struct adam_numbers {
  double added, kept; // factors of the weight: in the gradient, and in the kept part
  double rate;        // learning rate / (1 - beta1^step)
  double root;        // 1 / sqrt(1 - beta2^step)
};

__device__ static void find_numbers(const eg_adam &work, double rate, double step,
                                    adam_numbers *out) {
  out->added = work.is_decoupled ? 0.0 : work.decay;
  out->kept = work.is_decoupled ? 1.0 - rate * work.decay : 1.0;
  out->rate = rate / (1.0 - pow(work.beta1, step));
  out->root = 1.0 / sqrt(1.0 - pow(work.beta2, step));
}

template <typename T>
__global__ void adam_kernel(const eg_adam work, T *new_w, T *new_m, T *new_v, const T *w,
                            const T *m, const T *v, const T *g, const double *rate,
                            const double *step) {
  __shared__ adam_numbers numbers;
  if (threadIdx.x == 0) find_numbers(work, *rate, *step, &numbers);
  __syncthreads();
  const T beta1 = T(work.beta1), rest1 = T(1 - work.beta1), beta2 = T(work.beta2);
  const T rest2 = T(1 - work.beta2), epsilon = T(work.epsilon), added = T(numbers.added);
  const T kept = T(numbers.kept), scale = T(numbers.rate), root = T(numbers.root);
  for (int64_t i = first_item(); i < work.count; i += item_step()) {
    const T weight = w[i], d = g[i] + added * weight;
    const T mean = beta1 * m[i] + rest1 * d, square = beta2 * v[i] + rest2 * (d * d);
    new_m[i] = mean;
    new_v[i] = square;
    new_w[i] = weight * kept - scale * mean / (sqrt(square) * root + epsilon);
  }
}

template <typename T>
static cudaError_t adam(const eg_adam *work, void *const *at, cudaStream_t stream) {
  return EG_LAUNCH(adam_kernel<T>, blocks_for(work->count, EG_BLOCK), EG_BLOCK, stream,
                   *work, static_cast<T *>(at[0]), static_cast<T *>(at[1]),
                   static_cast<T *>(at[2]), static_cast<const T *>(at[3]),
                   static_cast<const T *>(at[4]), static_cast<const T *>(at[5]),
                   static_cast<const T *>(at[6]), static_cast<const double *>(at[7]),
                   static_cast<const double *>(at[8]));
}

extern "C" cudaError_t eg_launch_adam(const eg_adam *work, void *const *addresses,
                                      cudaStream_t stream) {
  return work->dtype == EGRAPH_FLOAT64 ? adam<double>(work, addresses, stream)
                                       : adam<float>(work, addresses, stream);
}
