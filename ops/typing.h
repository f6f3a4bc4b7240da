// Shared functions for the typing of operator families. Each family of op_table.def has
// two functions:
//
//   eg_infer_<family>    result types, or EGRAPH_E_TYPE with a message that names the
//                        operator
//   eg_factors_<family>  loop factors of a node that inference accepted: cannot fail
//
// The dispatch (op_typing.c) checks, before it calls a family, the operand count, every
// operand type, and the dtype of operand 0 against the row's flags; after the call, that
// every result type is valid and its bytes fit. A family keeps its own arithmetic on
// sizes from overflowing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_TYPING_H
#define EG_OPS_TYPING_H

#include "base/status.h"
#include "ops/meaning.h"
#include "ops/ops.h"

/// A node for functions of its operator family; only eg_factors_<family> gets `results`.
typedef struct eg_typing {
  const eg_attrs *attrs;
  const eg_op_info *info;
  const eg_type *inputs;
  uint32_t count;
  const eg_type *results;
  uint32_t result_count;
} eg_typing;

// Families that share the function of another family.
#define eg_infer_part eg_infer_leaf
#define eg_infer_opaque eg_infer_leaf
#define eg_infer_cum_sum eg_infer_softmax
#define eg_factors_part eg_factors_leaf
#define eg_factors_opaque eg_factors_leaf
#define eg_factors_bit_cast eg_factors_classify

#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, ...)                            \
  egraph_status eg_infer_##FAMILY(const eg_typing *node, eg_type *out);                  \
  void eg_factors_##FAMILY(const eg_typing *node, eg_factors *out);
#include "ops/op_table.def"

// ---- messages -------------------------------------------------------------------

/// Fails with EGRAPH_E_TYPE and "operator: message". The message is composed only if
/// messages are on.
#define eg_typing_fail(...)                                                              \
  (eg_type_messages_are_on() ? eg_typing_fail_saying(__VA_ARGS__) : EGRAPH_E_TYPE)
egraph_status eg_typing_fail_saying(const eg_typing *node, const char *format, ...)
    EG_PRINTF(2, 3);

/// A type as text for messages: eg_type_text_of(&type).text lives until the end of
/// the expression.
typedef struct eg_type_text {
  char text[320];
} eg_type_text;
eg_type_text eg_type_text_of(const eg_type *type);

// ---- checks ---------------------------------------------------------------------

/// Checks that operands [first, count) have the dtype of operand 0.
egraph_status eg_typing_same_dtype(const eg_typing *node, uint32_t first);
egraph_status eg_typing_min_rank(const eg_typing *node, uint32_t operand, uint32_t rank);
/// Resolves an axis that may count from the end. Fails outside of [-rank, rank).
egraph_status eg_typing_axis(const eg_typing *node, int64_t axis, uint32_t rank,
                             uint32_t *out);
/// Checks that a list attribute has `len` entries, all >= least.
egraph_status eg_typing_list(const eg_typing *node, const char *name, eg_ints list,
                             uint32_t len, int64_t least);
/// Checks that an axis of `size` entries is a part of a whole axis: attribute `whole` has
/// the size of the whole axis, the next attribute the part's first entry; both are 0 if
/// the axis is whole. (op_movement.c)
egraph_status eg_typing_entries(const eg_typing *node, eg_attr_slot whole, int64_t size);
/// Checks that operand 1 is int32 or int64, as indices are.
egraph_status eg_typing_indices(const eg_typing *node);
/// Makes a type with the dimensions of an attribute.
egraph_status eg_typing_shape(const eg_typing *node, egraph_dtype dtype, eg_ints shape,
                              eg_type *out);
/// Checks that axes are ascending, distinct and within [0, rank).
egraph_status eg_typing_axes(const eg_typing *node, eg_ints axes, uint32_t rank);
/// True when `type` broadcasts to `to` without changing it (aligned at
/// the last dimension).
bool eg_broadcasts_to(const eg_type *type, const eg_type *to);
/// Returns the dimension of `type` that is aligned with dimension `dim` of the broadcast
/// result `to`, or EG_NO_DIM when it is absent or stretched.
int eg_broadcast_dim(const eg_type *type, const eg_type *to, uint32_t dim);
/// Broadcasts the dimensions of *inout against those of `type`; the dtype stays.
egraph_status eg_typing_broadcast(const eg_typing *node, const eg_type *type,
                                  eg_type *inout);
/// Checks that a node with a fused activation has floating-point operands.
egraph_status eg_typing_activation(const eg_typing *node, const eg_attr *act);

/// A sliding window along one spatial dimension: kernel, stride, dilation, pads.
typedef struct eg_window {
  int64_t kernel, stride, pad_begin, pad_end, dilation;
} eg_window;

/// Computes the number of positions that the dilated kernel spans: (kernel - 1) dilation
/// + 1. False on overflow.
bool eg_window_reach(const eg_window *window, int64_t *out);
/// Computes the number of window positions over `size` elements. Fails when the kernel
/// does not fit into the padded input. With ceil_mode a last window may extend over the
/// end, but must begin before the end padding.
egraph_status eg_window_positions(const eg_typing *node, const eg_window *window,
                                  int64_t size, bool ceil_mode, int64_t *out);
/// Fails when an open size may be too small for the window (eg_size_reaches); pools
/// accept such sizes.
egraph_status eg_window_fits(const eg_typing *node, const eg_window *window,
                             int64_t size);
/// Returns the lists that describe the window of a node, from its attributes.
static inline eg_windows eg_typing_windows(const eg_typing *node) {
  eg_windows lists;
  (void)eg_op_windows(node->attrs, NULL, 0, &lists);
  return lists;
}
/// Returns the window along spatial dimension i; pads are in ONNX's order (all begins,
/// then all ends).
static inline eg_window eg_window_of(const eg_windows *lists, int64_t kernel,
                                     uint32_t i) {
  return (eg_window){.kernel = kernel,
                     .stride = lists->strides.data[i],
                     .pad_begin = lists->pads.data[i],
                     .pad_end = lists->pads.data[i + lists->strides.len],
                     .dilation =
                         lists->dilations.len == 0 ? 1 : lists->dilations.data[i]};
}
/// Returns the number of groups of channels of a convolution.
static inline int64_t eg_typing_groups(const eg_typing *node) {
  return eg_attr_of_role(node->attrs, EG_AR_GROUPS)->i;
}

// ---- factors --------------------------------------------------------------------

/// Appends a factor (loop index) that indexes no dimension yet. Asserts that there
/// is room.
eg_factor *eg_factors_add(eg_factors *factors, eg_factor_kind kind, int64_t size);
/// Appends one factor (loop index) for dimension `dim` of both operand 0 and result 0,
/// with the result's size.
eg_factor *eg_factors_add_dim(eg_factors *factors, eg_factor_kind kind,
                              const eg_type *result, uint32_t dim);
/// Appends a factor (loop index) for each dimension of `result`, also a dimension of
/// operand 0: BLOCKED where its bit is set in `blocked`, else PARALLEL. Returns the
/// first factor.
eg_factor *eg_factors_add_dims(eg_factors *factors, const eg_type *result,
                               uint32_t blocked);
/// Appends one parallel factor (loop index) per dimension of `result`, which indexes
/// every operand that is not stretched there.
void eg_factors_add_pointwise(const eg_typing *node, const eg_type *result,
                              eg_factors *out);
/// Returns a bit for each entry in factors' arrays that `count` operands use.
uint32_t eg_operand_bits(uint32_t count);

/// Points to an attribute that the operators of a family share: EG_SHARED(node,
/// REDUCE_SUM, AXES).
#define EG_SHARED(node, ID, SLOT)                                                        \
  (&(node)->attrs->slots[(int)EG_A_##ID##_##SLOT - (int)EG_A_BASE_##ID])

static inline eg_op eg_typing_op(const eg_typing *node) { return (eg_op)node->attrs->op; }

#endif
