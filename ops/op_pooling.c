// Pooling: n and c parallel, positions slide as windows; the kernel only counts work (it
// indexes no operand, so it is blocked).
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

typedef struct pool_attrs {
  eg_ints kernel, strides, pads, dilations;
  bool ceil_mode;
} pool_attrs;

static pool_attrs pool_attrs_of(const eg_typing *node) {
  const eg_attrs *attrs = node->attrs;
  bool max = attrs->op != EG_OP_AVERAGE_POOL; // or has its slots
  return (pool_attrs){.kernel = EG_SHARED(node, MAX_POOL, KERNEL_SHAPE)->ints,
                      .strides = EG_SHARED(node, MAX_POOL, STRIDES)->ints,
                      .pads = EG_SHARED(node, MAX_POOL, PADS)->ints,
                      .dilations =
                          max ? EG_SHARED(node, MAX_POOL, DILATIONS)->ints : (eg_ints){0},
                      .ceil_mode = (max ? EG_SHARED(node, MAX_POOL, CEIL_MODE)
                                        : eg_attr_at(attrs, EG_A_AVERAGE_POOL_CEIL_MODE))
                                       ->i != 0};
}

// A window that lies in the padding only would have no elements.
static egraph_status check_padding(const eg_typing *node, const eg_window *window) {
  int64_t reach, most;
  if (!eg_window_reach(window, &reach) || !eg_size_sub(reach, 1, &most))
    return eg_typing_fail(node, "the size of a window overflows");
  if (eg_size_at_least(most, window->pad_begin) &&
      eg_size_at_least(most, window->pad_end))
    return EGRAPH_OK;
  return eg_typing_fail(node,
                        "pads %" PRId64 " and %" PRId64
                        " must be smaller than the %" PRId64 " elements of the kernel",
                        window->pad_begin, window->pad_end, reach);
}

egraph_status eg_infer_pool(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  pool_attrs attrs = pool_attrs_of(node);
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  uint32_t spatial = x->rank - 2;
  EG_TRY(eg_typing_list(node, "kernel_shape", attrs.kernel, spatial, 1));
  EG_TRY(eg_typing_list(node, "strides", attrs.strides, spatial, 1));
  EG_TRY(eg_typing_list(node, "pads", attrs.pads, 2 * spatial, 0));
  if (node->attrs->op != EG_OP_AVERAGE_POOL)
    EG_TRY(eg_typing_list(node, "dilations", attrs.dilations, spatial, 1));
  *out = eg_type_of(x->dtype, x->rank, x->dims);
  for (uint32_t i = 0; i < spatial; i++) {
    eg_window window =
        eg_window_of(attrs.kernel.data[i], attrs.strides, attrs.pads, attrs.dilations, i);
    EG_TRY(check_padding(node, &window));
    EG_TRY(eg_window_positions(node, &window, x->dims[i + 2], attrs.ceil_mode,
                               &out->dims[i + 2]));
  }
  return EGRAPH_OK;
}

void eg_factors_pool(const eg_typing *node, const eg_type *results, uint32_t result_count,
                     eg_factors *out) {
  (void)result_count;
  pool_attrs attrs = pool_attrs_of(node);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 1);
  for (uint32_t i = 0; i + 2 < results->rank; i++) {
    eg_window window =
        eg_window_of(attrs.kernel.data[i], attrs.strides, attrs.pads, attrs.dilations, i);
    eg_factor *slide = eg_factors_add_dim(out, EG_FACTOR_WINDOW, results, i + 2);
    (void)eg_window_reach(&window, &slide->window); // inference checked it
    slide->stride = window.stride;
    slide->pad = window.pad_begin;
    eg_factors_add(out, EG_FACTOR_BLOCKED, window.kernel);
  }
  if (node->attrs->op == EG_OP_AVERAGE_POOL) out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_global_pool(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  *out = eg_type_of(x->dtype, x->rank, x->dims);
  for (uint32_t i = 2; i < x->rank; i++)
    out->dims[i] = 1;
  return EGRAPH_OK;
}

// A maximum over parts is a maximum of their maxima; a mean is a sum of parts that are
// divided by the number of all positions (reduce-mean's attribute count).
void eg_factors_global_pool(const eg_typing *node, const eg_type *results,
                            uint32_t result_count, eg_factors *out) {
  (void)result_count;
  bool max = node->attrs->op == EG_OP_GLOBAL_MAX_POOL;
  const eg_type *x = &node->inputs[0];
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0);
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 1);
  for (uint32_t i = 2; i < x->rank; i++) {
    eg_factors_add(out, EG_FACTOR_PARALLEL, 1)->output_dim[0] = (int8_t)i;
    eg_factors_add(out, max ? EG_FACTOR_MAX : EG_FACTOR_SUM, x->dims[i])->input_dim[0] =
        (int8_t)i;
  }
  if (!max) out->linear = eg_operand_bits(1);
}
