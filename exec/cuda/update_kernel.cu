// Updates of training steps. Reference: ops/kernel_gradient.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

// What is the same for all elements, computed in double.
struct adam_numbers {
  double added, kept; // times the weight: in the gradient, of what is kept
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
