// Leaves and structure: constants computed from attributes, and nodes whose owner sets
// their types. A constant may be split along a dimension if all its parts are equal.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

egraph_status eg_infer_leaf(const eg_typing *node, eg_type *out) {
  (void)out;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "%s: the type of this node is known to its graph only",
                 node->info->name);
}
void eg_factors_leaf(const eg_typing *node, eg_factors *out) { (void)node, (void)out; }

// Makes the type [first, second, kernel...] of a generated convolution weight.
static egraph_status kernel_shape(const eg_typing *node, egraph_dtype dtype,
                                  int64_t first, int64_t second, eg_ints kernel,
                                  eg_type *out) {
  int64_t dims[EGRAPH_MAX_RANK] = {first, second};
  if (kernel.len > EGRAPH_MAX_RANK - 2)
    return eg_typing_fail(node, "kernel_shape has %u entries; at most %d are supported",
                          kernel.len, EGRAPH_MAX_RANK - 2);
  EG_TRY(eg_typing_list(node, "kernel_shape", kernel, kernel.len, 1));
  for (uint32_t i = 0; i < kernel.len; i++)
    dims[i + 2] = kernel.data[i];
  *out = eg_type_of(dtype, kernel.len + 2, dims);
  return EGRAPH_OK;
}

static egraph_status infer_conv_identity(const eg_typing *node, egraph_dtype dtype,
                                         eg_type *out) {
  int64_t channels = eg_attr_at(node->attrs, EG_A_CONV_IDENTITY_CHANNELS)->i;
  int64_t group = eg_attr_at(node->attrs, EG_A_CONV_IDENTITY_GROUP)->i;
  eg_ints kernel = eg_attr_at(node->attrs, EG_A_CONV_IDENTITY_KERNEL_SHAPE)->ints;
  if (channels < 0 || group < 1 || channels % group != 0)
    return eg_typing_fail(node, "%" PRId64 " channels cannot form %" PRId64 " groups",
                          channels, group);
  for (uint32_t i = 0; i < kernel.len; i++)
    if (kernel.data[i] % 2 == 0)
      return eg_typing_fail(node,
                            "entry %u of kernel_shape is %" PRId64
                            "; only an odd kernel has a centre",
                            i, kernel.data[i]);
  return kernel_shape(node, dtype, channels, channels / group, kernel, out);
}

egraph_status eg_infer_fill(const eg_typing *node, eg_type *out) {
  const eg_attrs *attrs = node->attrs;
  egraph_dtype dtype = (egraph_dtype)EG_SHARED(node, FILL, DTYPE)->i;
  if (attrs->op == EG_OP_FILL)
    return eg_typing_shape(node, dtype, eg_attr_at(attrs, EG_A_FILL_SHAPE)->ints, out);
  if (attrs->op == EG_OP_EYE) {
    int64_t n = eg_attr_at(attrs, EG_A_EYE_N)->i;
    *out = eg_type_of(dtype, 2, (int64_t[]){n, n});
    return EGRAPH_OK;
  }
  if (attrs->op == EG_OP_CONV_IDENTITY) return infer_conv_identity(node, dtype, out);
  if (!eg_dtype_is_float(dtype))
    return eg_typing_fail(node, "the weights are fractions, so dtype cannot be %s",
                          eg_dtype_name(dtype));
  return kernel_shape(node, dtype, eg_attr_at(attrs, EG_A_POOL_KERNEL_CHANNELS)->i, 1,
                      eg_attr_at(attrs, EG_A_POOL_KERNEL_KERNEL_SHAPE)->ints, out);
}

// A dimension whose parts are equal is parallel: all of fill, and the channels of
// pool-kernel. The other constants have a diagonal.
void eg_factors_fill(const eg_typing *node, eg_factors *out) {
  eg_op op = eg_typing_op(node);
  for (uint32_t dim = 0; dim < node->results->rank; dim++) {
    bool alike = op == EG_OP_FILL || (op == EG_OP_POOL_KERNEL && dim == 0);
    eg_factor_kind kind = alike ? EG_FACTOR_PARALLEL : EG_FACTOR_BLOCKED;
    eg_factors_add(out, kind, node->results->dims[dim])->output_dim[0] = (int8_t)dim;
  }
}
