// Convolutions and the weight transformations of the published rule sets.
//
//   conv  x (n, g ci, s...), w (g co, ci, k...) -> (n, g co, o...)
//
//   n, g, co are parallel; ci and k are sums; o slides over s as a window. A dimension
//   with two factors is their product, the earlier one major. Bias and z are addends, as
//   in matmul; with an activation the sums are blocked.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

static egraph_status check_ranks(const eg_typing *node, const eg_windows *attrs) {
  const eg_type *x = &node->inputs[0], *w = &node->inputs[1];
  EG_TRY(eg_typing_same_dtype(node, 1));
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  if (w->rank != x->rank)
    return eg_typing_fail(node, "input %s and weight %s must have equal rank",
                          eg_type_text_of(x).text, eg_type_text_of(w).text);
  uint32_t spatial = x->rank - 2;
  EG_TRY(eg_typing_list(node, "strides", attrs->strides, spatial, 1));
  EG_TRY(eg_typing_list(node, "dilations", attrs->dilations, spatial, 1));
  EG_TRY(eg_typing_list(node, "pads", attrs->pads, 2 * spatial, 0));
  for (uint32_t i = 2; i < w->rank; i++)
    if (w->dims[i] == 0)
      return eg_typing_fail(node, "the kernel of weight %s is empty",
                            eg_type_text_of(w).text);
  int64_t group = eg_typing_groups(node);
  if (group < 1)
    return eg_typing_fail(node, "group is %" PRId64 "; the least is 1", group);
  return EGRAPH_OK;
}

static egraph_status check_channels(const eg_typing *node, int64_t group) {
  const eg_type *x = &node->inputs[0], *w = &node->inputs[1];
  int64_t channels;
  if (!eg_size_mul(w->dims[1], group, &channels) || !eg_size_agree(x->dims[1], channels))
    return eg_typing_fail(node,
                          "input has %" PRId64 " channels but the weight wants %" PRId64
                          " x group %" PRId64 "; set group to input channels / weight "
                          "channels",
                          x->dims[1], w->dims[1], group);
  if (eg_size_is_open(w->dims[0]) || w->dims[0] % group != 0)
    return eg_typing_fail(node,
                          "the weight makes %" PRId64
                          " channels, which is not a multiple of group %" PRId64,
                          w->dims[0], group);
  return EGRAPH_OK;
}

// Checks that operand 2 is a bias of `channels` elements.
static egraph_status check_bias(const eg_typing *node, int64_t channels) {
  if (node->count < 3) return EGRAPH_OK;
  const eg_type *bias = &node->inputs[2];
  if (bias->rank == 1 && eg_size_agree(bias->dims[0], channels)) return EGRAPH_OK;
  return eg_typing_fail(node, "the bias is %s; it must have shape [%" PRId64 "]",
                        eg_type_text_of(bias).text, channels);
}

egraph_status eg_infer_conv(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *w = &node->inputs[1];
  eg_windows attrs = eg_typing_windows(node);
  EG_TRY(check_ranks(node, &attrs));
  EG_TRY(eg_typing_activation(node, eg_attr_at(node->attrs, EG_A_CONV_ACT)));
  EG_TRY(check_channels(node, eg_typing_groups(node)));
  EG_TRY(check_bias(node, w->dims[0]));
  *out = eg_type_like(x);
  out->dims[1] = w->dims[0];
  for (uint32_t i = 0; i + 2 < x->rank; i++) {
    eg_window window = eg_window_of(&attrs, w->dims[i + 2], i);
    // Runtimes refuse a window larger than the padded input.
    EG_TRY(eg_window_fits(node, &window, x->dims[i + 2]));
    EG_TRY(eg_window_positions(node, &window, x->dims[i + 2], false, &out->dims[i + 2]));
  }
  if (node->count == 4 && !eg_type_agrees(&node->inputs[3], out))
    return eg_typing_fail(node, "z is %s; it must have the shape of the result %s",
                          eg_type_text_of(&node->inputs[3]).text,
                          eg_type_text_of(out).text);
  return EGRAPH_OK;
}

// Makes the factor (loop index) of result dimension `dim` index the addends: bias [Co], z
// like the result.
static void index_result(const eg_typing *node, uint32_t dim, eg_factor *factor) {
  factor->output_dim[0] = (int8_t)dim;
  if (node->count > 2 && dim == 1) factor->input_dim[2] = 0;
  if (node->count > 3) factor->input_dim[3] = (int8_t)dim;
}

// Adds factors n, g, co and ci; co_dim and ci_dim are the dimensions of the weight with
// the output and the summed channels (g is major in dimension 0 of the weight).
static void add_channels(const eg_typing *node, int64_t group, int co_dim, int ci_dim,
                         eg_factor_kind sum, eg_factors *out) {
  const eg_type *x = &node->inputs[0], *w = &node->inputs[1];
  int64_t co = w->dims[co_dim] / (co_dim == 0 ? group : 1);
  eg_factor *n = eg_factors_add(out, EG_FACTOR_PARALLEL, x->dims[0]);
  n->input_dim[0] = 0;
  index_result(node, 0, n);
  if (group > 1) {
    eg_factor *g = eg_factors_add(out, EG_FACTOR_PARALLEL, group);
    g->input_dim[0] = 1;
    g->input_dim[1] = 0;
    index_result(node, 1, g);
  }
  eg_factor *made = eg_factors_add(out, EG_FACTOR_PARALLEL, co);
  made->input_dim[1] = (int8_t)co_dim;
  index_result(node, 1, made);
  eg_factor *summed = eg_factors_add(out, sum, x->dims[1] / group);
  summed->input_dim[0] = 1;
  summed->input_dim[1] = (int8_t)ci_dim;
}

void eg_factors_conv(const eg_typing *node, eg_factors *out) {
  const eg_type *w = &node->inputs[1];
  eg_windows attrs = eg_typing_windows(node);
  bool keeps_sums = eg_attr_at(node->attrs, EG_A_CONV_ACT)->i == EG_ACT_NONE;
  eg_factor_kind sum = keeps_sums ? EG_FACTOR_SUM : EG_FACTOR_BLOCKED;
  add_channels(node, eg_typing_groups(node), 0, 1, sum, out);
  for (uint32_t i = 0; i + 2 < w->rank; i++) {
    eg_window window = eg_window_of(&attrs, w->dims[i + 2], i);
    eg_factor *slide = eg_factors_add(out, EG_FACTOR_WINDOW, node->results->dims[i + 2]);
    (void)eg_window_reach(&window, &slide->window); // inference checked it
    slide->stride = window.stride;
    slide->pad = window.pad_begin;
    slide->input_dim[0] = (int8_t)(i + 2);
    index_result(node, i + 2, slide);
    eg_factors_add(out, sum, window.kernel)->input_dim[1] = (int8_t)(i + 2);
  }
  if (!keeps_sums) return;
  out->linear = eg_operand_bits(2);
  out->joint_linear = eg_operand_bits(node->count) & ~eg_operand_bits(2);
}

// ---- conv-transpose -------------------------------------------------------------

// Computes stride (in - 1) + output padding + reach - padding.
static egraph_status transposed_size(const eg_typing *node, const eg_window *window,
                                     int64_t size, int64_t output_padding, int64_t *out) {
  int64_t reach, grown, padding;
  bool fits =
      eg_window_reach(window, &reach) && eg_size_sub(size, size == 0 ? 0 : 1, &grown) &&
      eg_size_mul(grown, window->stride, &grown) && eg_size_add(grown, reach, &grown) &&
      eg_size_add(grown, output_padding, &grown) &&
      eg_size_add(window->pad_begin, window->pad_end, &padding);
  if (!fits)
    return eg_typing_fail(node, "the size of a window or of its padding overflows");
  if (!eg_size_reaches(grown, padding) || (size != 0 && !eg_size_at_least(size, 1)))
    return eg_typing_fail(node,
                          "pads cut %" PRId64 " elements from a result of %" PRId64
                          "; use smaller pads",
                          padding, grown);
  *out = 0;
  if (size == 0 || eg_size_sub(grown, padding, out)) return EGRAPH_OK;
  return eg_typing_fail(node, "the size of the result has no expression");
}

egraph_status eg_infer_conv_transpose(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *w = &node->inputs[1];
  eg_windows attrs = eg_typing_windows(node);
  int64_t group = eg_typing_groups(node);
  eg_ints extra = eg_attr_at(node->attrs, EG_A_CONV_TRANSPOSE_OUTPUT_PADDING)->ints;
  EG_TRY(check_ranks(node, &attrs));
  EG_TRY(eg_typing_list(node, "output_padding", extra, x->rank - 2, 0));
  if (!eg_size_agree(x->dims[1], w->dims[0]) || eg_size_is_open(w->dims[0]) ||
      w->dims[0] % group != 0)
    return eg_typing_fail(node,
                          "input has %" PRId64 " channels, the weight wants %" PRId64
                          ", and both must be a multiple of group %" PRId64,
                          x->dims[1], w->dims[0], group);
  *out = eg_type_like(x);
  if (!eg_size_mul(w->dims[1], group, &out->dims[1]))
    return eg_typing_fail(node, "the number of result channels overflows");
  EG_TRY(check_bias(node, out->dims[1]));
  for (uint32_t i = 0; i + 2 < x->rank; i++) {
    eg_window window = eg_window_of(&attrs, w->dims[i + 2], i);
    EG_TRY(
        transposed_size(node, &window, x->dims[i + 2], extra.data[i], &out->dims[i + 2]));
  }
  return EGRAPH_OK;
}

// Makes a factor a WINDOW if the result is `stride` times as long as the operand, as in
// gradients of convolutions: the `stride` result positions from o * stride on then read
// the operand from o - floor((reach - 1 - padding) / stride) on.
static void try_window(const eg_typing *node, const eg_window *window, uint32_t dim,
                       int64_t result_size, eg_factor *out) {
  int64_t reach, stride = window->stride, size = node->inputs[0].dims[dim];
  (void)eg_window_reach(window, &reach); // inference checked it
  if (size == 0 || result_size % size != 0 || result_size / size != stride ||
      window->pad_begin >= reach)
    return;
  out->kind = EG_FACTOR_WINDOW;
  out->stride = 1;
  out->pad = (reach - 1 - window->pad_begin) / stride;
  out->window = out->pad + 1 + (window->pad_begin + stride - 1) / stride;
}

// Spatial factors count input positions, so that the product of all factors is the work;
// the result positions that an input position reaches are no other loop.
void eg_factors_conv_transpose(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[0], *w = &node->inputs[1];
  eg_windows attrs = eg_typing_windows(node);
  add_channels(node, eg_typing_groups(node), 1, 0, EG_FACTOR_SUM, out);
  for (uint32_t i = 2; i < x->rank; i++) {
    eg_window window = eg_window_of(&attrs, w->dims[i], i - 2);
    eg_factor *slide = eg_factors_add(out, EG_FACTOR_BLOCKED, x->dims[i]);
    try_window(node, &window, i, node->results->dims[i], slide);
    slide->input_dim[0] = (int8_t)i;
    index_result(node, i, slide);
    eg_factors_add(out, EG_FACTOR_BLOCKED, w->dims[i])->input_dim[1] = (int8_t)i;
    if (slide->kind != EG_FACTOR_WINDOW || window.stride == 1) continue;
    eg_factor *made = eg_factors_add(out, EG_FACTOR_BLOCKED, window.stride);
    made->is_no_loop = true;
    index_result(node, i, made);
  }
  out->linear = eg_operand_bits(2);
  out->joint_linear = eg_operand_bits(node->count) & ~eg_operand_bits(2);
}

// ---- transformations of weights -------------------------------------------------

egraph_status eg_infer_enlarge(const eg_typing *node, eg_type *out) {
  const eg_type *w = &node->inputs[0];
  eg_ints kernel = eg_attr_at(node->attrs, EG_A_ENLARGE_KERNEL_SHAPE)->ints;
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  EG_TRY(eg_typing_list(node, "kernel_shape", kernel, w->rank - 2, 1));
  *out = eg_type_like(w);
  for (uint32_t i = 0; i < kernel.len; i++) {
    int64_t from = w->dims[i + 2], to = kernel.data[i];
    if (to < from || (to - from) % 2 != 0)
      return eg_typing_fail(node,
                            "a kernel of %" PRId64 " cannot be centred in one of %" PRId64
                            "; grow it by an even number",
                            from, to);
    out->dims[i + 2] = to;
  }
  return EGRAPH_OK;
}

void eg_factors_enlarge(const eg_typing *node, eg_factors *out) {
  eg_factors_add_dims(out, node->results, ~UINT32_C(3));
  out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_merge_gconv(const eg_typing *node, eg_type *out) {
  const eg_type *w = &node->inputs[0];
  int64_t group = eg_attr_at(node->attrs, EG_A_MERGE_GCONV_GROUP)->i;
  int64_t count = eg_attr_at(node->attrs, EG_A_MERGE_GCONV_COUNT)->i;
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  if (count < 1 || group < 1 || group % count != 0 || w->dims[0] % group != 0)
    return eg_typing_fail(node,
                          "%" PRId64 " channels in %" PRId64
                          " groups cannot be merged by %" PRId64
                          "; count must divide group and group the channels",
                          w->dims[0], group, count);
  *out = eg_type_like(w);
  if (!eg_size_mul(w->dims[1], count, &out->dims[1]))
    return eg_typing_fail(node, "the number of channels overflows");
  return EGRAPH_OK;
}

// The factor (loop index) of merged groups is parallel. Within a merged group, the
// position of a row depends on its old group.
void eg_factors_merge_gconv(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *w = &node->inputs[0];
  int64_t group = eg_attr_at(node->attrs, EG_A_MERGE_GCONV_GROUP)->i;
  int64_t merged = group / eg_attr_at(node->attrs, EG_A_MERGE_GCONV_COUNT)->i;
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0)->size = merged;
  eg_factors_add_dim(out, EG_FACTOR_BLOCKED, results, 0)->size = w->dims[0] / merged;
  eg_factors_add_dim(out, EG_FACTOR_BLOCKED, results, 1);
  for (uint32_t dim = 2; dim < results->rank; dim++)
    eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, dim);
  out->linear = eg_operand_bits(1);
}
