// Gradients of depthwise convolutions' weights on a kernel of egraph
// (exec/cpu/depthwise_grad.c): for random sizes, kernels, strides, paddings, dilations
// and memory formats, they agree with the reference kernel, also where the cotangent has
// infinities, and have the same bits on several threads.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "tests/unit/session_kit.h"

static int draw(eg_rng *rng, int first, int last) {
  return first + (int)eg_rng_below(rng, (uint64_t)(last - first + 1));
}

/// An axis of x on which the kernel has at least one place. The cotangent may have fewer
/// windows than fit.
typedef struct conv_axis {
  int size, kernel, stride, dilation, before, after, windows;
} conv_axis;

static conv_axis draw_axis(eg_rng *rng) {
  conv_axis a = {.kernel = draw(rng, 1, eg_rng_below(rng, 4) == 0 ? 19 : 8),
                 .stride = draw(rng, 1, 3),
                 .dilation = draw(rng, 1, 2),
                 .before = draw(rng, 0, 4),
                 .after = draw(rng, 0, 4)};
  int reach = (a.kernel - 1) * a.dilation + 1, padding = a.before + a.after;
  int least = reach > padding ? reach - padding : 1;
  a.size = draw(rng, least, least + (eg_rng_below(rng, 4) == 0 ? 130 : 20));
  a.windows = (a.size + padding - reach) / a.stride + 1;
  if (a.windows > 1 && eg_rng_below(rng, 4) == 0) a.windows--;
  return a;
}

static void write_images(eg_rng *rng, char *text, size_t bytes) {
  static const char *const formats[] = {"plain", "nhwc", "nChw8c", "nChw16c"};
  int images = draw(rng, 1, 3), format = draw(rng, 0, 3);
  int channels = format < 2 ? draw(rng, 2, 40) : 16 * draw(rng, 1, 3);
  conv_axis rows = draw_axis(rng), columns = draw_axis(rng);
  bool is_infinite = eg_rng_below(rng, 4) == 0;
  (void)snprintf(
      text, bytes,
      "(egraph-graph 1)(input x \"float32[%d,%d,%d,%d]\")(input c "
      "\"float32[%d,%d,%d,%d]\")"
      "(let most (fill :dtype float32 :shape [] :value 0.98))(let below (sub most c))"
      "(let side (sign below))(let none (relu side))(let c1 (div c none))"
      "(let x0 (identity x) :formats [%s])(let d0 (identity %s) :formats [%s])"
      "(let w (conv-grad-weight :strides [%d %d] :pads [%d %d %d %d] :dilations [%d %d] "
      ":group %d :kernel_shape [%d %d] x0 d0))(output w)(output x0)(output d0)",
      images, channels, rows.size, columns.size, images, channels, rows.windows,
      columns.windows, formats[format], is_infinite ? "c1" : "c", formats[format],
      rows.stride, columns.stride, rows.before, columns.before, rows.after, columns.after,
      rows.dilation, columns.dilation, channels, rows.kernel, columns.kernel);
}

static void write_lines(eg_rng *rng, char *text, size_t bytes) {
  int images = draw(rng, 1, 3), channels = draw(rng, 2, 40);
  conv_axis a = draw_axis(rng);
  (void)snprintf(
      text, bytes,
      "(egraph-graph 1)(input x \"float32[%d,%d,%d]\")(input d "
      "\"float32[%d,%d,%d]\")(let "
      "w (conv-grad-weight :strides [%d] :pads [%d %d] :dilations [%d] :group %d "
      ":kernel_shape [%d] x d))(output w)",
      images, channels, a.size, images, channels, a.windows, a.stride, a.before, a.after,
      a.dilation, channels, a.kernel);
}

static void gradients_are_those_of_the_reference(void **unused) {
  (void)unused;
  char text[2048];
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(100);
  for (size_t i = 0; i < rounds; i++) {
    eg_rng rng = {seed + i};
    (eg_rng_below(&rng, 5) == 0 ? write_lines : write_images)(&rng, text, sizeof text);
    kit_check_cpu(text, 2 + (uint32_t)((seed + i) % 3), 5e-5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_those_of_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
