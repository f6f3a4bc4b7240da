// Convolution and transposed convolution of any number of spatial dimensions, with
// groups, strides, dilations and explicit padding. There is one plane of accumulators for
// each image and output channel; every input channel of the group adds its weighted rows
// (listed once per call, kernel_window.h) to this plane. The inner loop is a multiply-add
// of contiguous rows, and the plane stays in the cache.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/kernel_window.h"
#include "ops/kernels.h"

typedef struct eg_conv {
  const eg_window_rows *rows;
  const void *x, *w;
  int64_t taps, x_plane, y_plane; // elements of a kernel, and of a plane of x and of y
  bool transposed;
} eg_conv;

// Adds one input plane, weighted, to a plane of sums: the sums are the small plane in a
// convolution and the large one in a transposed convolution.
#define ADD_PLANE(suffix, type, sum)                                                     \
  EG_KERNEL_CLONES static void add_plane_##suffix(                                       \
      const eg_conv *conv, const void *plane, const void *weights, void *to) {           \
    for (size_t i = 0; i < conv->rows->len; i++) {                                       \
      const eg_window_row row = conv->rows->data[i];                                     \
      const sum w = (sum)((const type *)weights)[row.tap];                               \
      const bool scatter = conv->transposed;                                             \
      sum *y = (sum *)to + (scatter ? row.large : row.small);                            \
      const type *x = (const type *)plane + (scatter ? row.small : row.large);           \
      if (row.step == 1) {                                                               \
        for (int64_t j = 0; j < row.count; j++)                                          \
          y[j] += w * (sum)x[j];                                                         \
      } else if (scatter) {                                                              \
        for (int64_t j = 0; j < row.count; j++)                                          \
          y[j * row.step] += w * (sum)x[j];                                              \
      } else {                                                                           \
        for (int64_t j = 0; j < row.count; j++)                                          \
          y[j] += w * (sum)x[j * row.step];                                              \
      }                                                                                  \
    }                                                                                    \
  }
ADD_PLANE(f32, float, double)
ADD_PLANE(f64, double, double)
ADD_PLANE(int, uint64_t, uint64_t)

static void (*const add_plane[EG_WIDE_COUNT])(const eg_conv *conv, const void *plane,
                                              const void *weights, void *to) = {
    add_plane_f32, add_plane_f64, add_plane_int, add_plane_int};

// The operands of one output channel: input channels [first, first + inputs), and for
// each of them the plane of weights number first_weight + i * weight_step.
typedef struct eg_channel_plan {
  int64_t inputs, first, first_weight, weight_step;
} eg_channel_plan;

static eg_channel_plan channel_plan(const eg_kernel_call *call, int64_t group,
                                    int64_t output) {
  int64_t channels = call->inputs[0].type.dims[1],
          outputs = call->outputs[0].type.dims[1];
  int64_t inputs = channels / group, per_group = outputs / group;
  int64_t first = output / per_group * inputs;
  if (eg_kernel_op(call) == EG_OP_CONV)
    return (eg_channel_plan){inputs, first, output * inputs, 1};
  // w [C, Co / group, kernel]
  return (eg_channel_plan){inputs, first, first * per_group + output % per_group,
                           per_group};
}

static void run_planes(const eg_kernel_call *call, const eg_conv *conv, int64_t group,
                       const eg_finish *finish, void *sums) {
  int64_t size = (int64_t)eg_dtype_bytes(call->outputs[0].type.dtype);
  int64_t images = call->outputs[0].type.dims[0], outputs = call->outputs[0].type.dims[1];
  int64_t channels = call->inputs[0].type.dims[1], x_bytes = conv->x_plane * size;
  const unsigned char *x = conv->x, *w = conv->w;
  unsigned char *y = call->outputs[0].data;
  for (int64_t n = 0; n < images; n++) {
    for (int64_t o = 0; o < outputs; o++) {
      eg_channel_plan plan = channel_plan(call, group, o);
      memset(sums, 0, (size_t)conv->y_plane * sizeof(double));
      for (int64_t i = 0; i < plan.inputs; i++)
        add_plane[finish->wide](
            conv, x + (n * channels + plan.first + i) * x_bytes,
            w + (plan.first_weight + i * plan.weight_step) * conv->taps * size, sums);
      eg_finish row = *finish;
      for (uint32_t i = 0; i < row.addends; i++) {
        int64_t at = row.addend[i].step == 0 ? o : (n * outputs + o) * conv->y_plane;
        row.addend[i].data = (const unsigned char *)row.addend[i].data + at * size;
      }
      eg_finish_row(&row, sums, (size_t)conv->y_plane, y);
      y += conv->y_plane * size;
    }
  }
}

static egraph_status run_conv(const eg_kernel_call *call, const eg_window *window,
                              int64_t group, const eg_finish *finish) {
  assert(group > 0 && call->scratch != NULL);
  bool transposed = eg_kernel_op(call) == EG_OP_CONV_TRANSPOSE;
  int64_t small = eg_window_small(window), large = eg_window_large(window);
  EG_LOCAL(eg_window_rows, rows, call->alloc);
  eg_conv conv = {.rows = &rows,
                  .x = call->inputs[0].data,
                  .w = call->inputs[1].data,
                  .taps = eg_window_taps(window),
                  .x_plane = transposed ? small : large,
                  .y_plane = transposed ? large : small,
                  .transposed = transposed};
  void *sums;
  EG_TRY(eg_window_list(window, &rows));
  EG_TRY(eg_arena_alloc(call->scratch, (size_t)conv.y_plane, sizeof(double), &sums));
  run_planes(call, &conv, group, finish, sums);
  return EGRAPH_OK;
}

// Prepares the last steps: the bias has one element per channel, z the result's shape.
static egraph_status init_finish(const eg_kernel_call *call, eg_finish *finish) {
  *finish = (eg_finish){.scale = 1.0, .addends = call->input_count - 2};
  for (uint32_t i = 0; i < finish->addends; i++)
    finish->addend[i] =
        (eg_addend){.data = call->inputs[2 + i].data, .step = i, .factor = 1.0};
  egraph_dtype dtype = call->inputs[0].type.dtype;
  return eg_wide_find(dtype, &finish->wide) ? EGRAPH_OK : eg_kernel_refuse(call, dtype);
}

egraph_status eg_kernel_conv(const eg_kernel_call *call) {
  eg_finish finish;
  eg_window window;
  EG_TRY(init_finish(call, &finish));
  EG_TRY(eg_row_act_find(call, finish.wide, &finish.act));
  EG_TRY(eg_window_of_node(&window, call, &call->outputs[0].type, &call->inputs[0].type));
  return run_conv(call, &window, eg_attr_at(call->attrs, EG_A_CONV_GROUP)->i, &finish);
}

egraph_status eg_kernel_conv_transpose(const eg_kernel_call *call) {
  eg_finish finish;
  eg_window window;
  EG_TRY(init_finish(call, &finish));
  EG_TRY(eg_window_of_node(&window, call, &call->inputs[0].type, &call->outputs[0].type));
  return run_conv(call, &window, eg_attr_at(call->attrs, EG_A_CONV_TRANSPOSE_GROUP)->i,
                  &finish);
}
