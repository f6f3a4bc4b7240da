// The kernels of this folder, as seen from C: plain structs that describe the work, and
// one launcher for each, which puts the kernel on a stream and returns the runtime's
// code. Strides and offsets are in elements. Addresses are device addresses.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_DEVICE_KERNELS_H
#define EG_EXEC_DEVICE_KERNELS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The most dimensions of a merged loop nest, and the most tensors that it steps through.
enum { EG_LOOP_RANK = 8, EG_LOOP_TENSORS = 4 };

/// A loop nest; the element of tensor t is at the sum of index[d] * strides[t][d].
typedef struct eg_device_loop {
  int32_t rank, tensors;
  int64_t count; // product of dims
  int64_t dims[EG_LOOP_RANK];
  int64_t strides[EG_LOOP_TENSORS][EG_LOOP_RANK];
} eg_device_loop;

/// The type in which arithmetic is done.
typedef enum eg_compute { EG_COMPUTE_F32, EG_COMPUTE_F64, EG_COMPUTE_I64 } eg_compute;

/// Computes result = op(operands), point by point; reference: ops/kernel_unary.c,
/// kernel_binary.c. Tensor 0 of the loop is the result. EG_OP_FILL writes params[0]. The
/// other operators of a chain, value = op(value, operand), follow in the same pass.
enum { EG_POINTWISE_CHAIN = 2 };
typedef struct eg_pointwise {
  eg_device_loop loop;
  int32_t op; // eg_op
  int32_t compute;
  int32_t dtype[EG_LOOP_TENSORS]; // egraph_dtype
  double params[2];               // the operator's numeric attributes
  int32_t chained;
  struct {
    int32_t op, tensor; // `tensor` 0: there is no second operand
    double params[2];
  } chain[EG_POINTWISE_CHAIN];
} eg_pointwise;
cudaError_t eg_launch_pointwise(const eg_pointwise *work, void *const *addresses,
                                cudaStream_t stream);

/// Copies elements of 1, 2, 4 or 8 bytes: tensor 0 from tensor 1.
cudaError_t eg_launch_move(const eg_device_loop *loop, int32_t element_bytes, void *to,
                           const void *from, cudaStream_t stream);

/// Limits the tensors that a join concatenates along rows, or that a split makes.
enum { EG_MOST_JOINED = 32 };
typedef struct eg_join {
  int64_t rows, whole_step;     // bytes from row to row of the whole tensor
  int64_t ends[EG_MOST_JOINED]; // bytes of a row up to the end of part p
  int32_t parts, is_split;
} eg_join;
/// Launches a join (concatenation) or a split; addresses: the whole tensor, its parts.
cudaError_t eg_launch_join(const eg_join *work, void *const *addresses,
                           cudaStream_t stream);

/// Computes result[kept] = fold over the dimensions `folded`; reference:
/// ops/kernel_reduce.c, kernel_select.c. Tensor 0 is the result, 1 the operand. ARG_*
/// write int64 positions.
typedef struct eg_reduction {
  eg_device_loop kept, folded;
  int32_t op; // EG_OP_REDUCE_*, EG_OP_ARG_*
  int32_t compute, dtype;
  int32_t take_last; // ARG_*: take the last of equal elements
  int64_t divisor;   // REDUCE_MEAN
} eg_reduction;
cudaError_t eg_launch_reduction(const eg_reduction *work, void *result,
                                const void *operand, cudaStream_t stream);

/// Computes result[kept] = sum over `folded` of the product of the operands; reference:
/// ops/kernel_einsum.c. Tensor 0 is the result, one to three operands follow.
typedef struct eg_contraction {
  eg_device_loop kept, folded;
  int32_t operands, compute, dtype;
} eg_contraction;
/// Launches a sum of products of up to three tensors; addresses: result, operands.
cudaError_t eg_launch_contraction(const eg_contraction *work, void *const *addresses,
                                  cudaStream_t stream);

/// Computes rows along an axis; reference: ops/kernel_norm.c, kernel_reduce.c
/// (running sum).
typedef struct eg_axis_rows {
  eg_device_loop rows; // tensor 0: result, 1: operand
  int64_t size;        // length of the axis
  int64_t steps[2];    // strides of the two tensors along the axis
  int32_t dtype;
} eg_axis_rows;
cudaError_t eg_launch_softmax(const eg_axis_rows *work, int32_t is_log, void *result,
                              const void *operand, cudaStream_t stream);
cudaError_t eg_launch_cum_sum(const eg_axis_rows *work, int32_t compute, void *result,
                              const void *operand, cudaStream_t stream);

/// Normalizes contiguous rows; scale and shift of element i of row r are at r %
/// table_rows * table_step + i / spread. Reference: ops/kernel_norm.c.
typedef struct eg_norm_rows {
  int64_t rows, count, table_rows, table_step, spread;
  double epsilon;
  int32_t is_centred;
  int32_t dtype[4]; // result, x, scale, shift
} eg_norm_rows;
/// Launches a normalization of rows; addresses: result, x, scale, shift (NULL: none).
cudaError_t eg_launch_norm_rows(const eg_norm_rows *work, void *const *addresses,
                                cudaStream_t stream);

/// Normalizes channels. Tensor 0: result, 1: x, 2: the channel number. addresses: result,
/// x, scale, shift, mean, variance.
typedef struct eg_channel_norm {
  eg_device_loop loop;
  double epsilon;
  int32_t dtype[6];
} eg_channel_norm;
cudaError_t eg_launch_channel_norm(const eg_channel_norm *work, void *const *addresses,
                                   cudaStream_t stream);

/// Describes local response normalization; its loop is like the loop of eg_channel_norm.
typedef struct eg_channel_window {
  eg_device_loop loop;
  int64_t channels, step, size; // `step`: stride of the channels of x
  double alpha, beta, bias;     // `alpha` is alpha / size
  int32_t dtype;
} eg_channel_window;
cudaError_t eg_launch_channel_window(const eg_channel_window *work, void *result,
                                     const void *x, cudaStream_t stream);

/// Sliding windows over up to three spatial dimensions; reference: ops/kernel_pool.c.
enum { EG_POOL_RANK = 3 };
typedef struct eg_pooling {
  int64_t images, channels;
  int64_t small[EG_POOL_RANK], large[EG_POOL_RANK], kernel[EG_POOL_RANK];
  int64_t stride[EG_POOL_RANK], dilation[EG_POOL_RANK];
  int64_t pad[EG_POOL_RANK], pad_end[EG_POOL_RANK];
  int64_t small_strides[EG_POOL_RANK + 2], large_strides[EG_POOL_RANK + 2];
  int32_t is_max, include_pad, compute, dtype;
} eg_pooling;
cudaError_t eg_launch_pooling(const eg_pooling *work, void *result, const void *x,
                              cudaStream_t stream);

/// Computes the cotangent of the pooled tensor from the result's cotangent; reference:
/// ops/kernel_gradient.c. The small tensor is the cotangent, the large ones are x (not
/// read by averages) and the result.
cudaError_t eg_launch_pool_grad(const eg_pooling *work, void *result, const void *x,
                                const void *cotangent, cudaStream_t stream);

/// Computes convolutions without cuDNN; reference: ops/kernel_conv.c,
/// ops/kernel_gradient.c. A convolution reads the large tensor and computes the small
/// one; any of the three tensors may be the result. Up to three spatial dimensions.
typedef enum eg_conv_kind {
  EG_CONV_SMALL, // convolution
  EG_CONV_LARGE, // transposed convolution
  EG_CONV_WEIGHT // gradient of the weight
} eg_conv_kind;
typedef struct eg_direct_conv {
  int32_t kind, compute, dtype;
  int64_t images, groups;
  int64_t small_channels, large_channels; // channels of one group
  int64_t small[EG_POOL_RANK], large[EG_POOL_RANK], kernel[EG_POOL_RANK];
  int64_t stride[EG_POOL_RANK], dilation[EG_POOL_RANK], pad[EG_POOL_RANK];
  int64_t small_strides[EG_POOL_RANK + 2], large_strides[EG_POOL_RANK + 2];
  int64_t weight_strides[EG_POOL_RANK + 2]; // small channel, large channel, space
} eg_direct_conv;
cudaError_t eg_launch_direct_conv(const eg_direct_conv *work, void *small, void *large,
                                  void *weight, cudaStream_t stream);

/// Gathers result [outer, count, inner] from table [outer, size, inner], which holds the
/// entries from `first` on of `whole` entries; missing entries give zeros. An index
/// outside of `whole` sets *fault and reads nothing. Reference: ops/kernel_move.c.
typedef struct eg_gathering {
  int64_t outer, count, inner, size, whole, first;
  int32_t element_bytes, index_dtype;
} eg_gathering;
cudaError_t eg_launch_gather(const eg_gathering *work, void *result, const void *table,
                             const void *indices, int32_t *fault, cudaStream_t stream);

/// Sums cotangent [outer, count, inner] by index into a result [outer, size, inner] of
/// zeros, in the order of the indices. `links` is scratch memory of 2 * count int64. Sets
/// *fault as eg_launch_gather does. Reference: ops/kernel_gradient.c.
cudaError_t eg_launch_gather_grad(const eg_gathering *work, int32_t dtype, void *result,
                                  const void *cotangent, const void *indices,
                                  int64_t *links, int32_t *fault, cudaStream_t stream);

/// Computes the cotangent of x of a normalization of contiguous rows; reference:
/// ops/kernel_gradient.c. addresses: result, cotangent, x, scale.
cudaError_t eg_launch_norm_grad(const eg_norm_rows *work, void *const *addresses,
                                cudaStream_t stream);

/// Attention; reference: ops/kernel_attention.c, words: ops/attention.h.
typedef struct eg_head_steps {
  int64_t batch, head, row; // elements from one to the next
} eg_head_steps;
typedef enum eg_mask_kind { EG_MASK_NONE, EG_MASK_HIDES, EG_MASK_ADDS } eg_mask_kind;
typedef struct eg_device_attention {
  int64_t batch, heads, groups, rows, keys, depth, columns;
  double scale, softcap;
  int64_t window, offset;
  int32_t is_safe, is_causal;
  int32_t dtype, mask_kind;
  eg_head_steps query, key, value, result;
  eg_device_loop mask; // over batches and heads. Tensor 0: their number, 1: the mask
  int64_t mask_row, mask_key;
} eg_device_attention;
/// Keys of one flag, which is 1 where all elements of these keys, or values, are finite.
enum { EG_ATTENTION_FLAG_KEYS = 64 };
/// Launches attention. Addresses: result, sums, queries, keys, values, flags (scratch
/// memory: for each batch, group and EG_ATTENTION_FLAG_KEYS keys an int32), and the mask,
/// if there is one.
cudaError_t eg_launch_attention(const eg_device_attention *work, void *const *addresses,
                                cudaStream_t stream);
/// Queries of one flag of the gradient.
enum { EG_ATTENTION_FLAG_ROWS = 4 };
/// Launches the gradient of attention. Addresses: cotangents of queries, keys and values;
/// the result's cotangent, queries, keys, values, result, sums; scratch memory: two
/// numbers of the sums' type for each query, in two places; for each batch, head and
/// EG_ATTENTION_FLAG_ROWS queries an int32; flags as above, of keys; the mask, if any.
cudaError_t eg_launch_attention_grad(const eg_device_attention *work,
                                     void *const *addresses, cudaStream_t stream);

/// Runs Adam's step on `count` elements; reference: ops/kernel_gradient.c. addresses:
/// weight and moments after the step, then weight, moments, gradient, learning rate and
/// number of the step (float64). The new weight may lie over the old one.
typedef struct eg_adam {
  int64_t count;
  double beta1, beta2, epsilon, decay;
  int32_t is_decoupled, dtype;
} eg_adam;
cudaError_t eg_launch_adam(const eg_adam *work, void *const *addresses,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
