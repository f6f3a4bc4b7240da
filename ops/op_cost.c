// Work and traffic of a node.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

static double flops_per_point(unsigned flags) {
  if ((flags & EG_OPF_MOVES) != 0) return 0;
  if ((flags & EG_OPF_COSTLY) != 0) return EG_COSTLY_FLOPS;
  return (flags & EG_OPF_MULTIPLY_ADD) != 0 ? 2 : 1;
}

// The factors of a node are its loops.
double eg_op_flops(const eg_attrs *attrs, const eg_type *inputs, uint32_t count) {
  double flops = flops_per_point(eg_op_info_of((eg_op)attrs->op)->flags);
  eg_factors factors;
  if (flops == 0 || eg_op_factors(attrs, inputs, count, &factors) != EGRAPH_OK) return 0;
  for (uint32_t i = 0; i < factors.count; i++)
    if (!factors.factor[i].is_no_loop) flops *= (double)factors.factor[i].size;
  return flops;
}

static double bytes_of(const eg_type *types, uint32_t count) {
  double bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    bytes += (double)eg_type_bytes(&types[i]);
  return bytes;
}

double eg_op_bytes(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                   const eg_type *results, uint32_t result_count) {
  if ((eg_op_info_of((eg_op)attrs->op)->flags & EG_OPF_VIEW) != 0) return 0;
  double written = bytes_of(results, result_count);
  bool shape_only = attrs->op == EG_OP_SHAPE || attrs->op == EG_OP_SIZE;
  if (count == 0 || shape_only) return written;
  double first = bytes_of(inputs, 1), rest = bytes_of(inputs + 1, count - 1);
  bool selects = attrs->op == EG_OP_GATHER || attrs->op == EG_OP_SLICE;
  if (selects && written < first) first = written;
  return first + rest + written;
}
