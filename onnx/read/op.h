// The importers of single ONNX operators, one per function named in read/ops.def, and
// what they share.
//
// An importer reads attributes and operands and emits nodes; the node that defines a
// result of the ONNX node comes last, so that an importer that gives up
// (EGRAPH_E_UNSUPPORTED) has defined nothing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_OP_H
#define EG_ONNX_READ_OP_H

#include "onnx/read/reader.h"

typedef egraph_status (*eg_onnx_importer)(const eg_onnx_call *call);

egraph_status eg_onnx_import_conv(const eg_onnx_call *call);
egraph_status eg_onnx_import_conv_transpose(const eg_onnx_call *call);
egraph_status eg_onnx_import_max_pool(const eg_onnx_call *call);
egraph_status eg_onnx_import_average_pool(const eg_onnx_call *call);
egraph_status eg_onnx_import_batch_norm(const eg_onnx_call *call);
egraph_status eg_onnx_import_layer_norm(const eg_onnx_call *call);
egraph_status eg_onnx_import_rms_norm(const eg_onnx_call *call);
egraph_status eg_onnx_import_group_norm(const eg_onnx_call *call);
egraph_status eg_onnx_import_chain(const eg_onnx_call *call);
egraph_status eg_onnx_import_mean(const eg_onnx_call *call);
egraph_status eg_onnx_import_clip(const eg_onnx_call *call);
egraph_status eg_onnx_import_cast(const eg_onnx_call *call);
egraph_status eg_onnx_import_cast_like(const eg_onnx_call *call);
egraph_status eg_onnx_import_dropout(const eg_onnx_call *call);
egraph_status eg_onnx_import_mod(const eg_onnx_call *call);
egraph_status eg_onnx_import_gelu(const eg_onnx_call *call);
egraph_status eg_onnx_import_softmax(const eg_onnx_call *call);
egraph_status eg_onnx_import_reduce(const eg_onnx_call *call);
egraph_status eg_onnx_import_reduce_l1(const eg_onnx_call *call);
egraph_status eg_onnx_import_reduce_l2(const eg_onnx_call *call);
egraph_status eg_onnx_import_reduce_sum_square(const eg_onnx_call *call);
egraph_status eg_onnx_import_reduce_log_sum(const eg_onnx_call *call);
egraph_status eg_onnx_import_top_k(const eg_onnx_call *call);
egraph_status eg_onnx_import_cum_sum(const eg_onnx_call *call);
egraph_status eg_onnx_import_constant(const eg_onnx_call *call);
egraph_status eg_onnx_import_fill(const eg_onnx_call *call);
egraph_status eg_onnx_import_eye(const eg_onnx_call *call);
egraph_status eg_onnx_import_range(const eg_onnx_call *call);
egraph_status eg_onnx_import_shape(const eg_onnx_call *call);
egraph_status eg_onnx_import_size(const eg_onnx_call *call);
egraph_status eg_onnx_import_reshape(const eg_onnx_call *call);
egraph_status eg_onnx_import_squeeze(const eg_onnx_call *call);
egraph_status eg_onnx_import_unsqueeze(const eg_onnx_call *call);
egraph_status eg_onnx_import_flatten(const eg_onnx_call *call);
egraph_status eg_onnx_import_transpose(const eg_onnx_call *call);
egraph_status eg_onnx_import_split(const eg_onnx_call *call);
egraph_status eg_onnx_import_slice(const eg_onnx_call *call);
egraph_status eg_onnx_import_pad(const eg_onnx_call *call);
egraph_status eg_onnx_import_expand(const eg_onnx_call *call);
egraph_status eg_onnx_import_tile(const eg_onnx_call *call);
egraph_status eg_onnx_import_depth_to_space(const eg_onnx_call *call);
egraph_status eg_onnx_import_space_to_depth(const eg_onnx_call *call);
egraph_status eg_onnx_import_resize(const eg_onnx_call *call);
egraph_status eg_onnx_import_upsample(const eg_onnx_call *call);
egraph_status eg_onnx_import_same(const eg_onnx_call *call);
egraph_status eg_onnx_import_formula(const eg_onnx_call *call);
egraph_status eg_onnx_import_trilu(const eg_onnx_call *call);
egraph_status eg_onnx_import_one_hot(const eg_onnx_call *call);
egraph_status eg_onnx_import_hardmax(const eg_onnx_call *call);
egraph_status eg_onnx_import_compress(const eg_onnx_call *call);
egraph_status eg_onnx_import_tensor_scatter(const eg_onnx_call *call);
egraph_status eg_onnx_import_center_crop_pad(const eg_onnx_call *call);
egraph_status eg_onnx_import_nll_loss(const eg_onnx_call *call);
egraph_status eg_onnx_import_cross_entropy(const eg_onnx_call *call);
egraph_status eg_onnx_import_attention(const eg_onnx_call *call);
egraph_status eg_onnx_import_linear_attention(const eg_onnx_call *call);
egraph_status eg_onnx_import_causal_conv(const eg_onnx_call *call);
egraph_status eg_onnx_import_rotary_embedding(const eg_onnx_call *call);
egraph_status eg_onnx_import_log_sum_exp(const eg_onnx_call *call);
egraph_status eg_onnx_import_mean_variance(const eg_onnx_call *call);
egraph_status eg_onnx_import_non_zero(const eg_onnx_call *call);
egraph_status eg_onnx_import_unique(const eg_onnx_call *call);
egraph_status eg_onnx_import_affine_grid(const eg_onnx_call *call);
egraph_status eg_onnx_import_window(const eg_onnx_call *call);
egraph_status eg_onnx_import_einsum(const eg_onnx_call *call);
egraph_status eg_onnx_import_dft(const eg_onnx_call *call);
egraph_status eg_onnx_import_quantize(const eg_onnx_call *call);
egraph_status eg_onnx_import_dequantize(const eg_onnx_call *call);
egraph_status eg_onnx_import_matmul_integer(const eg_onnx_call *call);
egraph_status eg_onnx_import_qlinear_matmul(const eg_onnx_call *call);
egraph_status eg_onnx_import_conv_integer(const eg_onnx_call *call);
egraph_status eg_onnx_import_qlinear_conv(const eg_onnx_call *call);
egraph_status eg_onnx_import_lp_pool(const eg_onnx_call *call);
egraph_status eg_onnx_import_global_lp_pool(const eg_onnx_call *call);
egraph_status eg_onnx_import_max_unpool(const eg_onnx_call *call);
egraph_status eg_onnx_import_grid_sample(const eg_onnx_call *call);
egraph_status eg_onnx_import_roi_align(const eg_onnx_call *call);
egraph_status eg_onnx_import_nms(const eg_onnx_call *call);
egraph_status eg_onnx_import_col2im(const eg_onnx_call *call);
egraph_status eg_onnx_import_recurrent(const eg_onnx_call *call);

/// Declines a node of integers, which our operator does not take and ONNX's does.
egraph_status eg_onnx_want_floats(const eg_onnx_call *call);

/// The node becomes opaque: `return eg_onnx_decline("...")`.
egraph_status eg_onnx_decline(const char *why);
/// Emits with the node's operands (absent ones at the end left out) and its first result.
egraph_status eg_onnx_emit_node(const eg_onnx_call *call, const eg_attr_list *list);
/// True when something uses the result.
bool eg_onnx_is_used(const eg_onnx_call *call, uint32_t output);
/// Integers that older opsets have as attribute `name` and newer ones as operand `index`.
egraph_status eg_onnx_ints(const eg_onnx_call *call, const char *name, uint32_t index,
                           bool *out_present, eg_ints *out);
/// The same, of which some may be open sizes.
egraph_status eg_onnx_sizes(const eg_onnx_call *call, const char *name, uint32_t index,
                            bool *out_present, eg_ints *out);
/// Sorted, distinct axes in [0, rank) from ones that may be negative; arena memory.
egraph_status eg_onnx_sorted_axes(const eg_onnx_call *call, eg_ints axes, uint32_t rank,
                                  eg_ints *out);
/// A list of `count` integers in arena memory, all equal to `value`.
egraph_status eg_onnx_repeat(const eg_onnx_call *call, int64_t value, uint32_t count,
                             int64_t **out);
/// Makes `inout` a constant of zeros, whose elements are to be set through `out`;
/// EG_ONNX_NONE: a new nameless tensor. Declined where the type is open.
egraph_status eg_onnx_array(const eg_onnx_call *call, const eg_type *type,
                            eg_onnx_ref *inout, eg_tensor *out);
/// A nameless constant: a list of int64.
egraph_status eg_onnx_constant_list(const eg_onnx_call *call, const int64_t *data,
                                    uint32_t count, eg_onnx_ref *out);
/// Nodes in a row: x, reshaped.
egraph_status eg_onnx_emit_reshape(const eg_onnx_call *call, eg_onnx_ref operand,
                                   const int64_t *dims, uint32_t rank,
                                   eg_onnx_ref result);
/// Zeros of a type, as a fresh tensor.
egraph_status eg_onnx_emit_zeros(const eg_onnx_call *call, const eg_type *type,
                                 eg_onnx_ref *out);
/// Two operands and their zero points; the first zero point is 0 where only it is absent.
egraph_status eg_onnx_integer_operands(const eg_onnx_call *call, eg_onnx_ref operands[4],
                                       uint32_t *out_count);

#endif
