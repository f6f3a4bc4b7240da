// Products with constant matrices (exec/cpu/panels.h): random sizes, from one row of a
// tile to several blocks of depth, with and without bias and sum, and with special
// values, agree with the reference kernels and have the same bits on two threads.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "tests/unit/session_kit.h"

static int64_t draw_size(eg_rng *rng, const int64_t *sizes, uint64_t count) {
  return sizes[eg_rng_below(rng, count)];
}

static void write_product(eg_rng *rng, char *text, size_t bytes) {
  static const int64_t rows[] = {4, 5, 6, 7, 13, 49, 97, 400};
  static const int64_t depths[] = {16, 17, 31, 96, 768, 769, 1600};
  static const int64_t columns[] = {1, 15, 16, 33, 48, 64, 80, 145, 300};
  static const char *const acts[] = {"none", "relu", "gelu",
                                     "clip :act_alpha -0.25 :act_beta 0.5"};
  int m = (int)draw_size(rng, rows, 8), k = (int)draw_size(rng, depths, 7);
  int n = (int)draw_size(rng, columns, 9), operands = (int)eg_rng_below(rng, 3);
  bool is_transposed = eg_rng_below(rng, 2);
  (void)snprintf(
      text, bytes,
      "(egraph-graph 1)(input x \"float32[%d,%d]\")(weight w "
      "\"float32[%d,%d]\")(weight b \"float32[%d]\")(input z "
      "\"float32[%d,%d]\")(let y (matmul :transB %d :act %s x w%s%s))(output y)",
      m, k, is_transposed ? n : k, is_transposed ? k : n, n, m, n, is_transposed,
      acts[eg_rng_below(rng, 4)], operands > 0 ? " b" : "", operands > 1 ? " z" : "");
}

static void put_specials(eg_rng *rng, const eg_tensor *x) {
  static const double specials[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 2; i++)
    eg_tensor_set_double(x,
                         (int64_t)eg_rng_below(rng, (uint64_t)eg_type_elements(&x->type)),
                         specials[eg_rng_below(rng, 3)]);
}

static bool is_near(double a, double b, double depth) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= 1e-6 * (depth + 10 * fabs(b));
}

static void check_product(uint64_t seed) {
  char text[1024];
  eg_rng rng = {seed};
  write_product(&rng, text, sizeof text);
  eg_graph *graph = kit_parse("product", text);
  kit_tensors inputs, one, two, plain;
  kit_inputs_draw(graph, &inputs);
  if (seed % 3 == 0) put_specials(&rng, &inputs.items[0]);
  kit_run(graph, "cpu", 1, &inputs, &one);
  kit_run(graph, "cpu", 2, &inputs, &two);
  kit_run(graph, "reference", 1, &inputs, &plain);
  const eg_tensor *y = &one.items[0];
  double depth = sqrt((double)inputs.items[0].type.dims[1]);
  for (int64_t i = 0; i < eg_type_elements(&y->type); i++) {
    double a = eg_tensor_get_double(y, i), b = eg_tensor_get_double(&two.items[0], i);
    double c = eg_tensor_get_double(&plain.items[0], i);
    if (!(a == b || (isnan(a) && isnan(b)))) fail_msg("two threads: %s", text);
    if (!is_near(a, c, depth))
      fail_msg("element %d is %g, not %g: %s", (int)i, a, c, text);
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&one);
  kit_tensors_deinit(&two);
  kit_tensors_deinit(&plain);
  eg_graph_destroy(graph);
}

static void products_are_those_of_the_reference(void **unused) {
  (void)unused;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(150);
  for (size_t i = 0; i < rounds; i++)
    check_product(seed + i);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_those_of_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
