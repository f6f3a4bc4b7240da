// Winograd's algorithm of ours (exec/cpu/winograd.c): convolutions of random sizes, in
// one chunk of patches and in several, with and without padding, bias and sum, agree with
// the reference kernels and have the same bits on several threads.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "tests/unit/session_kit.h"

static int draw_size(eg_rng *rng, const int *sizes, uint64_t count) {
  return sizes[eg_rng_below(rng, count)];
}

static void write_conv(eg_rng *rng, char *text, size_t bytes) {
  static const int edges[] = {3, 4, 5, 6, 7, 9, 14, 33};
  static const int channels[] = {8, 16, 24, 56, 128};
  static const char *const acts[] = {"none", "relu", "silu",
                                     "clip :act_alpha -0.25 :act_beta 0.5"};
  int images = 1 + (int)eg_rng_below(rng, 2), c = draw_size(rng, channels, 5);
  int made = draw_size(rng, channels, 5), operands = (int)eg_rng_below(rng, 3);
  int height = draw_size(rng, edges, 8), width = draw_size(rng, edges, 8), pads[4];
  for (int i = 0; i < 4; i++)
    pads[i] = (int)eg_rng_below(rng, 3);
  (void)snprintf(
      text, bytes,
      "(egraph-graph 1)(input x \"float32[%d,%d,%d,%d]\")(weight w "
      "\"float32[%d,%d,3,3]\")(weight b \"float32[%d]\")(input z "
      "\"float32[%d,%d,%d,%d]\")(let x0 (identity x) :formats [nChw8c])(let z0 "
      "(identity z) :formats [nChw8c])(let y0 (conv :strides [1 1] :pads [%d %d %d %d] "
      ":dilations [1 1] :act %s :algorithm winograd-4x4 x0 w%s%s) :formats [nChw8c])"
      "(let y (identity y0))(output y)(output z0)",
      images, c, height, width, made, c, made, images, made,
      height + pads[0] + pads[2] - 2, width + pads[1] + pads[3] - 2, pads[0], pads[1],
      pads[2], pads[3], acts[eg_rng_below(rng, 4)], operands > 0 ? " b" : "",
      operands > 1 ? " z0" : "");
}

static void check_conv(uint64_t seed) {
  char text[1024];
  eg_rng rng = {seed};
  write_conv(&rng, text, sizeof text);
  kit_check_cpu(text, 2 + (uint32_t)(seed % 3), 5e-5);
}

static void convolutions_are_those_of_the_reference(void **unused) {
  (void)unused;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(60);
  for (size_t i = 0; i < rounds; i++)
    check_conv(seed + i);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_are_those_of_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
