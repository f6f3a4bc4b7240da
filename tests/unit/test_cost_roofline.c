// Unit tests of sim/roofline: it recovers a synthetic machine from noisy measurements.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/vec.h"
#include "sim/roofline.h"
#include "tests/testing.h"

EG_VEC_DEFINE(points, eg_roofline_point);

// The machine behind the measurements: 1e11 flop/s, 2e10 byte/s, 3 microseconds per node;
// an operator reaches a part of that.
static double true_seconds(const eg_roofline_point *p, double ratio) {
  double compute = p->flops / 1e11, move = p->bytes / 2e10;
  return (compute > move ? compute : move) * ratio + 3e-6;
}

static double true_ratio(eg_op op, bool formatted) {
  if (op == EG_OP_CONV) return formatted ? 1.1 : 2.2;
  return op == EG_OP_MATMUL ? 1 : 1.5;
}

static eg_roofline_point random_point(eg_rng *rng) {
  static const eg_op ops[] = {EG_OP_CONV, EG_OP_CONV, EG_OP_MATMUL, EG_OP_RELU,
                              EG_OP_ADD};
  eg_roofline_point p = {.op = ops[eg_rng_below(rng, 5)]};
  p.formatted = p.op == EG_OP_CONV && eg_rng_below(rng, 2) == 0;
  p.bytes = exp2(12 + 12 * eg_rng_unit(rng));
  bool heavy = p.op == EG_OP_CONV || p.op == EG_OP_MATMUL;
  p.flops = p.bytes * (heavy ? 50 : 0.25);
  return p;
}

static void measure_points(points *all, size_t count, eg_rng *rng) {
  for (size_t i = 0; i < count; i++) {
    eg_roofline_point p = random_point(rng);
    double noise = 0.95 + 0.1 * eg_rng_unit(rng);
    if (eg_rng_below(rng, 20) == 0) noise *= 8; // descheduled while it was measured
    p.seconds = true_seconds(&p, true_ratio(p.op, p.formatted)) * noise;
    assert_ok(points_push(all, p));
  }
}

static double worst_error(const eg_roofline *r, eg_rng *rng) {
  double worst = 0;
  for (int i = 0; i < 500; i++) {
    eg_roofline_point p = random_point(rng);
    double truth = true_seconds(&p, true_ratio(p.op, p.formatted));
    double error = fabs(log(eg_roofline_estimate(r, &p) / truth));
    if (error > worst) worst = error;
  }
  return worst;
}

static void a_machine_is_recovered_from_noisy_measurements(void **state) {
  (void)state;
  eg_rng rng = {test_seed(21)};
  points all;
  points_init(&all, eg_allocator_heap());
  eg_roofline before, after;
  assert_ok(eg_roofline_fit(&before, eg_allocator_heap(), NULL, 0));
  measure_points(&all, 400, &rng);
  assert_ok(eg_roofline_fit(&after, eg_allocator_heap(), all.data, all.len));
  // Noise of 5 %, one in twenty off by 8: medians stay within 25 % everywhere.
  double error = worst_error(&after, &rng);
  print_message("worst factor %.3f, uncalibrated %.3f\n", exp(error),
                exp(worst_error(&before, &rng)));
  assert_true(error < log(1.25));
  assert_true(error < worst_error(&before, &rng) / 4);
  double gain = after.ratio[EG_OP_CONV][0] / after.ratio[EG_OP_CONV][1];
  assert_true(gain > 1.8 && gain < 2.2);
  points_deinit(&all);
}

static void the_order_of_the_points_does_not_matter(void **state) {
  (void)state;
  eg_rng rng = {test_seed(22)};
  points all;
  points_init(&all, eg_allocator_heap());
  measure_points(&all, 100, &rng);
  eg_roofline first, second;
  assert_ok(eg_roofline_fit(&first, eg_allocator_heap(), all.data, all.len));
  for (size_t i = all.len - 1; i > 0; i--) {
    size_t k = eg_rng_below(&rng, i + 1);
    eg_roofline_point swap = all.data[i];
    all.data[i] = all.data[k];
    all.data[k] = swap;
  }
  assert_ok(eg_roofline_fit(&second, eg_allocator_heap(), all.data, all.len));
  assert_memory_equal(&first, &second, sizeof first);
  points_deinit(&all);
}

static void defaults_are_positive_and_grow_with_the_work(void **state) {
  (void)state;
  eg_roofline r;
  assert_ok(eg_roofline_fit(&r, eg_allocator_heap(), NULL, 0));
  for (int op = 0; op < EG_OP_COUNT; op++) {
    eg_roofline_point none = {.op = (eg_op)op}, some = none, more = none;
    some.bytes = 1e6;
    more.bytes = 1e6;
    more.flops = 1e9;
    double a = eg_roofline_estimate(&r, &none), b = eg_roofline_estimate(&r, &some),
           c = eg_roofline_estimate(&r, &more);
    assert_true(a > 0 && b > a && c > b && isfinite(c));
  }
}

static void few_measurements_speak_for_their_family(void **state) {
  (void)state;
  // Three slow sigmoids: all pointwise operators of one operand are taken to be as slow;
  // convolutions, of which nothing is known, follow the median of everything.
  points all;
  points_init(&all, eg_allocator_heap());
  for (int i = 1; i <= 3; i++) {
    eg_roofline_point p = {.op = EG_OP_SIGMOID, .bytes = 1e6 * i, .flops = 1e4};
    p.seconds = 1e-3 * i;
    assert_ok(points_push(&all, p));
  }
  eg_roofline r;
  assert_ok(eg_roofline_fit(&r, eg_allocator_heap(), all.data, all.len));
  assert_true(r.ratio[EG_OP_TANH][0] == r.ratio[EG_OP_SIGMOID][0]);
  assert_true(r.ratio[EG_OP_TANH][1] == r.ratio[EG_OP_SIGMOID][0]);
  assert_true(r.ratio[EG_OP_CONV][0] == r.ratio[EG_OP_SIGMOID][0]);
  eg_roofline_point p = {.op = EG_OP_TANH, .bytes = 4e6};
  double estimate = eg_roofline_estimate(&r, &p);
  assert_true(estimate > 3.5e-3 && estimate < 4.5e-3);
  points_deinit(&all);
}

static void zeros_and_wild_values_stay_finite(void **state) {
  (void)state;
  eg_roofline_point wild[] = {
      {.op = EG_OP_RELU, .bytes = 1e9, .flops = 1e9, .seconds = 0},
      {.op = EG_OP_RELU, .bytes = 0, .flops = 0, .seconds = 1e6},
      {.op = EG_OP_RELU, .bytes = 1e300, .flops = 1e300, .seconds = 1e-300},
      {.op = EG_OP_RELU, .bytes = 1, .flops = 1, .seconds = 1e300},
      {.op = EG_OP_RELU, .bytes = 1e6, .flops = 1e6, .seconds = 0},
  };
  for (size_t count = 0; count <= 5; count++) {
    eg_roofline r;
    assert_ok(eg_roofline_fit(&r, eg_allocator_heap(), wild, count));
    eg_roofline_point p = {.op = EG_OP_CONV, .bytes = 1e6, .flops = 1e9};
    double seconds = eg_roofline_estimate(&r, &p);
    assert_true(seconds > 0 && isfinite(seconds));
  }
}

static egraph_status fit_once(egraph_allocator alloc, void *user) {
  eg_roofline r;
  return eg_roofline_fit(&r, alloc, user, 1);
}

static void fitting_survives_each_allocation_failing(void **state) {
  (void)state;
  eg_roofline_point p = {.op = EG_OP_RELU, .bytes = 1e6, .flops = 1e6, .seconds = 1};
  test_every_allocation_failing(fit_once, &p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_machine_is_recovered_from_noisy_measurements),
      cmocka_unit_test(the_order_of_the_points_does_not_matter),
      cmocka_unit_test(defaults_are_positive_and_grow_with_the_work),
      cmocka_unit_test(few_measurements_speak_for_their_family),
      cmocka_unit_test(zeros_and_wild_values_stay_finite),
      cmocka_unit_test(fitting_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
