// Sums of products over loops: what einsum is where it is no matrix product. A result is
// summed by a block where much is summed, by a thread where little is; either way in a
// fixed order. Reference: ops/kernel_einsum.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

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
  if (work->compute == EG_COMPUTE_I64)
    return EG_LAUNCH(contraction_kernel<int64_t>, blocks, EG_BLOCK, stream, *work,
                     is_joint, addresses[0], addresses[1], b, c);
  return EG_LAUNCH(contraction_kernel<double>, blocks, EG_BLOCK, stream, *work, is_joint,
                   addresses[0], addresses[1], b, c);
}
