// Leaves with a formula, and what only reads types: fill, eye, pool-kernel,
// conv-identity, shape, size.
// SPDX-License-Identifier: Apache-2.0
#include "ops/kernels.h"

static void fill_eye(const eg_tensor *to) {
  int64_t n = to->type.dims[0];
  eg_tensor_fill(to, 0.0);
  for (int64_t i = 0; i < n; i++)
    eg_tensor_set_double(to, i * n + i, 1.0);
}

// [c, c / group, kernel]: output channel o copies channel o, which is channel o mod (c /
// group) of its group, through the middle of the kernel.
static void fill_conv_identity(const eg_tensor *to) {
  const eg_type *type = &to->type;
  int64_t window = eg_dims_product(type->dims, 2, type->rank), inputs = type->dims[1];
  eg_tensor_fill(to, 0.0);
  for (int64_t o = 0; o < type->dims[0]; o++)
    eg_tensor_set_double(to, (o * inputs + o % inputs) * window + window / 2, 1.0);
}

egraph_status eg_kernel_fill(const eg_kernel_call *call) {
  const eg_tensor *to = &call->outputs[0];
  eg_op op = eg_kernel_op(call);
  if (op == EG_OP_FILL) {
    eg_tensor_fill(to, eg_attr_at(call->attrs, EG_A_FILL_VALUE)->f);
  } else if (op == EG_OP_EYE) {
    fill_eye(to);
  } else if (op == EG_OP_CONV_IDENTITY) {
    fill_conv_identity(to);
  } else {
    int64_t window = eg_dims_product(to->type.dims, 2, to->type.rank);
    eg_tensor_fill(to, 1.0 / (double)window);
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_shape_of(const eg_kernel_call *call) {
  const eg_type *type = &call->inputs[0].type;
  const eg_tensor *to = &call->outputs[0];
  if (eg_kernel_op(call) == EG_OP_SIZE) {
    eg_tensor_set_int(to, 0, eg_type_elements(type));
    return EGRAPH_OK;
  }
  int64_t start = eg_attr_at(call->attrs, EG_A_SHAPE_START)->i;
  if (start < 0) start += (int64_t)type->rank;
  if (start < 0) start = 0;
  for (int64_t i = 0; i < to->type.dims[0]; i++)
    eg_tensor_set_int(to, i, type->dims[start + i]);
  return EGRAPH_OK;
}
