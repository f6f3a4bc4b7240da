// Convolutions in groups on a kernel of ours (exec/cpu/grouped.h): of random sizes,
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

static bool is_near(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  return fabs(a - b) <= 5e-5 * (1 + fabs(b));
}

static void check_conv(uint64_t seed) {
  char text[2048];
  eg_rng rng = {seed};
  write_conv(&rng, text, sizeof text);
  eg_graph *graph = kit_parse("conv", text);
  kit_tensors inputs, one, more, plain;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "cpu", 1, &inputs, &one);
  uint32_t threads = 2 + (uint32_t)(seed % 3);
  kit_run(graph, "cpu", threads, &inputs, &more);
  kit_run(graph, "reference", 1, &inputs, &plain);
  const eg_tensor *y = &one.items[0];
  for (int64_t i = 0; i < eg_type_elements(&y->type); i++) {
    double a = eg_tensor_get_double(y, i), b = eg_tensor_get_double(&more.items[0], i);
    double c = eg_tensor_get_double(&plain.items[0], i);
    if (memcmp(&a, &b, sizeof a) != 0) fail_msg("%u threads: %s", threads, text);
    if (!is_near(a, c)) fail_msg("element %d is %g, not %g: %s", (int)i, a, c, text);
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&one);
  kit_tensors_deinit(&more);
  kit_tensors_deinit(&plain);
  eg_graph_destroy(graph);
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
