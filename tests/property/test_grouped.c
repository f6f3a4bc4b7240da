// Convolutions in groups on a kernel of ours (exec/cpu/grouped.c): of random sizes,
// kernels, strides and paddings, with and without bias and sum, they agree with the
// reference kernels, at weights that are infinite, too, and have the same bits on several
// threads.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "tests/unit/session_kit.h"

static int draw(eg_rng *rng, int first, int last) {
  return first + (int)eg_rng_below(rng, (uint64_t)(last - first + 1));
}

/// An axis of x on which the kernel has a place.
typedef struct conv_axis {
  int size, kernel, stride, dilation, before, after;
} conv_axis;

static conv_axis draw_axis(eg_rng *rng, int most_stride) {
  conv_axis a = {.kernel = draw(rng, 1, 4),
                 .stride = draw(rng, 1, most_stride),
                 .dilation = draw(rng, 1, 2),
                 .before = draw(rng, 0, 3),
                 .after = draw(rng, 0, 3)};
  int reach = (a.kernel - 1) * a.dilation + 1, padding = a.before + a.after;
  int least = reach > padding ? reach - padding : 1;
  a.size = draw(rng, least, least + (eg_rng_below(rng, 4) == 0 ? 130 : 30));
  return a;
}

static int results_of(const conv_axis *a) {
  return (a->size + a->before + a->after - (a->kernel - 1) * a->dilation - 1) /
             a->stride +
         1;
}

static void write_conv(eg_rng *rng, char *text, size_t bytes) {
  static const char *const acts[] = {"none", "relu", "silu",
                                     "clip :act_alpha -0.25 :act_beta 0.5"};
  int images = draw(rng, 1, 2), groups = draw(rng, 2, 5), operands = draw(rng, 0, 2);
  int c = 8 * draw(rng, 1, 2), made = groups * 8 * draw(rng, 1, 3);
  conv_axis rows = draw_axis(rng, 3), columns = draw_axis(rng, 2);
  bool is_infinite = eg_rng_below(rng, 4) == 0;
  (void)snprintf(
      text, bytes,
      "(egraph-graph 1)(input x \"float32[%d,%d,%d,%d]\")(weight u "
      "\"float32[%d,%d,%d,%d]\")(weight b \"float32[%d]\")(input z "
      "\"float32[%d,%d,%d,%d]\")(let most (fill :dtype float32 :shape [] :value 0.18))"
      "(let above (add u most))(let none (relu above))(let w1 (reciprocal none))"
      "(let x0 (identity x) :formats [nChw8c])(let z0 (identity z) :formats [nChw8c])"
      "(let y0 (conv :strides [%d %d] :pads [%d %d %d %d] :dilations [%d %d] :group %d "
      ":act %s x0 %s%s%s) :formats [nChw8c])(let y (identity y0))(output y)(output z0)",
      images, groups * c, rows.size, columns.size, made, c, rows.kernel, columns.kernel,
      made, images, made, results_of(&rows), results_of(&columns), rows.stride,
      columns.stride, rows.before, columns.before, rows.after, columns.after,
      rows.dilation, columns.dilation, groups, acts[eg_rng_below(rng, 4)],
      is_infinite ? "w1" : "u", operands > 0 ? " b" : "", operands > 1 ? " z0" : "");
}

static void check_conv(uint64_t seed) {
  char text[2048];
  eg_rng rng = {seed};
  write_conv(&rng, text, sizeof text);
  kit_check_cpu(text, 2 + (uint32_t)(seed % 3), 5e-5);
}

static void convolutions_are_those_of_the_reference(void **unused) {
  (void)unused;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(100);
  for (size_t i = 0; i < rounds; i++)
    check_conv(seed + i);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_are_those_of_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
