// Softmax and normalizations: a block per row; statistics in double, in a fixed order.
// Reference: ops/kernel_norm.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

// Computes softmax. A row that has only -inf gives NaN, as exp(-inf + inf) does.
__global__ void softmax_kernel(const eg_axis_rows work, bool is_log, void *to,
                               const void *from) {
  __shared__ double shared[EG_BLOCK];
  for (int64_t i = blockIdx.x; i < work.rows.count; i += gridDim.x) {
    int64_t at[2];
    locate<2>(work.rows, i, at);
    double top = -HUGE_VAL, total = 0.0;
    for (int64_t k = threadIdx.x; k < work.size; k += blockDim.x)
      top = larger_of()(top, load<double>(from, work.dtype, at[1] + k * work.steps[1]));
    top = fold_block(top, shared, larger_of());
    for (int64_t k = threadIdx.x; k < work.size; k += blockDim.x)
      total += exp(load<double>(from, work.dtype, at[1] + k * work.steps[1]) - top);
    total = fold_block(total, shared, sum_of());
    const double shift = log(total), factor = 1.0 / total;
    for (int64_t k = threadIdx.x; k < work.size; k += blockDim.x) {
      const double x = load<double>(from, work.dtype, at[1] + k * work.steps[1]) - top;
      store<double>(to, work.dtype, at[0] + k * work.steps[0],
                    is_log ? x - shift : exp(x) * factor);
    }
  }
}

extern "C" cudaError_t eg_launch_softmax(const eg_axis_rows *work, int32_t is_log,
                                         void *result, const void *operand,
                                         cudaStream_t stream) {
  return EG_LAUNCH(softmax_kernel, blocks_for(work->rows.count, 1), EG_BLOCK, stream,
                   *work, is_log != 0, result, operand);
}

// ---- rows with statistics of their own ------------------------------------------

__global__ void norm_rows_kernel(const eg_norm_rows work, void *to, const void *x,
                                 const void *scales, const void *shifts) {
  __shared__ double shared[EG_BLOCK];
  const double size = static_cast<double>(work.count);
  for (int64_t r = blockIdx.x; r < work.rows; r += gridDim.x) {
    const int64_t row = r * work.count, table = r % work.table_rows * work.table_step;
    double total = 0.0, squares = 0.0;
    if (work.is_centred) {
      for (int64_t i = threadIdx.x; i < work.count; i += blockDim.x)
        total += load<double>(x, work.dtype[1], row + i);
      total = fold_block(total, shared, sum_of());
    }
    const double mean = total / size;
    for (int64_t i = threadIdx.x; i < work.count; i += blockDim.x) {
      const double from_mean = load<double>(x, work.dtype[1], row + i) - mean;
      squares += from_mean * from_mean;
    }
    squares = fold_block(squares, shared, sum_of());
    const double inverse = 1.0 / sqrt(squares / size + work.epsilon);
    for (int64_t i = threadIdx.x; i < work.count; i += blockDim.x) {
      const int64_t entry = table + i / work.spread;
      const double scale = inverse * load<double>(scales, work.dtype[2], entry);
      const double shift =
          shifts != nullptr ? load<double>(shifts, work.dtype[3], entry) : 0.0;
      const double value = load<double>(x, work.dtype[1], row + i);
      store<double>(to, work.dtype[0], row + i, (value - mean) * scale + shift);
    }
  }
}

extern "C" cudaError_t eg_launch_norm_rows(const eg_norm_rows *work,
                                           void *const *addresses, cudaStream_t stream) {
  return EG_LAUNCH(norm_rows_kernel, blocks_for(work->rows, 1), EG_BLOCK, stream, *work,
                   addresses[0], addresses[1], addresses[2], addresses[3]);
}

// ---- batch normalization: statistics given per channel --------------------------

__global__ void channel_norm_kernel(const eg_channel_norm work, void *to, const void *x,
                                    const void *scales, const void *shifts,
                                    const void *means, const void *variances) {
  for (int64_t i = first_item(); i < work.loop.count; i += item_step()) {
    int64_t at[3];
    locate<3>(work.loop, i, at);
    const int64_t c = at[2];
    const double scale = load<double>(scales, work.dtype[2], c) /
                         sqrt(load<double>(variances, work.dtype[5], c) + work.epsilon);
    const double from_mean =
        load<double>(x, work.dtype[1], at[1]) - load<double>(means, work.dtype[4], c);
    store<double>(to, work.dtype[0], at[0],
                  from_mean * scale + load<double>(shifts, work.dtype[3], c));
  }
}

extern "C" cudaError_t eg_launch_channel_norm(const eg_channel_norm *work,
                                              void *const *addresses,
                                              cudaStream_t stream) {
  return EG_LAUNCH(channel_norm_kernel, blocks_for(work->loop.count, EG_BLOCK), EG_BLOCK,
                   stream, *work, addresses[0], addresses[1], addresses[2], addresses[3],
                   addresses[4], addresses[5]);
}

// ---- local response normalization -----------------------------------------------

__global__ void channel_window_kernel(const eg_channel_window work, void *to,
                                      const void *x) {
  for (int64_t i = first_item(); i < work.loop.count; i += item_step()) {
    int64_t at[3];
    locate<3>(work.loop, i, at);
    const int64_t c = at[2], first = c - (work.size - 1) / 2, end = c + work.size / 2 + 1;
    double squares = 0.0;
    for (int64_t k = first < 0 ? 0 : first; k < end && k < work.channels; k++) {
      const double value = load<double>(x, work.dtype, at[1] + (k - c) * work.step);
      squares += value * value;
    }
    const double divisor = pow(work.bias + work.alpha * squares, work.beta);
    store<double>(to, work.dtype, at[0], load<double>(x, work.dtype, at[1]) / divisor);
  }
}

extern "C" cudaError_t eg_launch_channel_window(const eg_channel_window *work,
                                                void *result, const void *x,
                                                cudaStream_t stream) {
  return EG_LAUNCH(channel_window_kernel, blocks_for(work->loop.count, EG_BLOCK),
                   EG_BLOCK, stream, *work, result, x);
}
