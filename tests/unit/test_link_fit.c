// Curves through measured exchanges: lines come back, classes without points, errors
// told.
// SPDX-License-Identifier: Apache-2.0
#include "sim/link_fit.h"

#include <math.h>

#include "tests/testing.h"

enum { POINTS = 9 };

/// 256 bytes to 16 MiB.
static void draw_line(eg_exchange_point out[POINTS], double latency, double per_byte) {
  double bytes = 256;
  for (int i = 0; i < POINTS; i++, bytes *= 4)
    out[i] = (eg_exchange_point){.bytes = bytes, .seconds = latency + bytes * per_byte};
}

static void assert_near(double a, double b) {
  if (!(fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)))) fail_msg("%.17g is not %.17g", a, b);
}

static void a_line_comes_back_in_every_class(void **state) {
  (void)state;
  eg_exchange_point points[POINTS];
  eg_fit_error errors[EG_SIZE_CLASSES];
  eg_link_curve curve = {.exchange = EG_TRANSITION_ALL_REDUCE, .devices = 4};
  draw_line(points, 3e-6, 2e-10);
  eg_link_fit(points, POINTS, &curve, errors);
  static const uint32_t counts[] = {4, 4, 2, 2};
  assert_int_equal(curve.class_count, 4);
  for (uint32_t c = 0; c < curve.class_count; c++) {
    assert_near(curve.classes[c].latency_seconds, 3e-6);
    assert_near(curve.classes[c].seconds_per_byte, 2e-10);
    assert_int_equal(errors[c].points, counts[c]);
    assert_true(errors[c].worst < 1e-9);
  }
  assert_int_equal(curve.devices, 4);
}

static void errors_are_those_of_the_points(void **state) {
  (void)state;
  eg_exchange_point points[] = {{.bytes = 256, .seconds = 1e-6},
                                {.bytes = 1024, .seconds = 3e-6},
                                {.bytes = 4096, .seconds = 1e-6}};
  eg_fit_error errors[EG_SIZE_CLASSES];
  eg_link_curve curve = {.devices = 2};
  eg_link_fit(points, 3, &curve, errors);
  double mean = 0, worst = 0;
  for (int i = 0; i < 3; i++) {
    double fitted = curve.classes[0].latency_seconds +
                    points[i].bytes * curve.classes[0].seconds_per_byte;
    double off = fabs(fitted / points[i].seconds - 1);
    mean += off / 3;
    worst = fmax(worst, off);
  }
  assert_true(worst > 0.3);
  assert_near(errors[0].mean, mean);
  assert_near(errors[0].worst, worst);
}

static void a_class_without_points_is_like_the_one_beside_it(void **state) {
  (void)state;
  eg_exchange_point points[POINTS];
  eg_fit_error errors[EG_SIZE_CLASSES];
  eg_link_curve curve = {.devices = 2};
  draw_line(points, 5e-6, 1e-9);
  eg_link_fit(points + 5, 2, &curve, errors); // 256 KiB, 1 MiB
  assert_int_equal(errors[0].points, 0);
  assert_int_equal(errors[3].points, 0);
  for (uint32_t c = 0; c < 4; c++)
    assert_true(curve.classes[c].latency_seconds >= 0);
  assert_near(curve.classes[0].seconds_per_byte, 1e-9);
  assert_near(curve.classes[1].latency_seconds, 5e-6);
  assert_true(curve.classes[0].most_bytes < curve.classes[1].most_bytes);
}

static void small_exchanges_never_have_a_latency_below_zero(void **state) {
  (void)state;
  const eg_exchange_point points[] = {{.bytes = 256, .seconds = 0},
                                      {.bytes = 16384, .seconds = 1e-3},
                                      {.bytes = 1048576, .seconds = 1},
                                      {.bytes = 4194304, .seconds = 8}};
  eg_fit_error errors[EG_SIZE_CLASSES];
  eg_link_curve curve = {.devices = 2};
  eg_link_fit(points, 4, &curve, errors);
  assert_true(curve.classes[0].latency_seconds >= 0);
  assert_true(curve.classes[0].seconds_per_byte > 0);
  // Behind the caches seconds grow faster than bytes.
  assert_true(curve.classes[2].latency_seconds < 0);
  assert_true(errors[2].worst < 1e-9);
}

static void seconds_that_fall_with_bytes_are_all_latency(void **state) {
  (void)state;
  const eg_exchange_point points[] = {{.bytes = 256, .seconds = 4e-6},
                                      {.bytes = 4096, .seconds = 2e-6}};
  eg_fit_error errors[EG_SIZE_CLASSES];
  eg_link_curve curve = {.devices = 2};
  eg_link_fit(points, 2, &curve, errors);
  assert_true(curve.classes[0].seconds_per_byte == 0);
  assert_true(curve.classes[0].latency_seconds > 2e-6 &&
              curve.classes[0].latency_seconds < 4e-6);
  assert_string_equal(eg_size_class_name(0), "small");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_comes_back_in_every_class),
      cmocka_unit_test(errors_are_those_of_the_points),
      cmocka_unit_test(a_class_without_points_is_like_the_one_beside_it),
      cmocka_unit_test(small_exchanges_never_have_a_latency_below_zero),
      cmocka_unit_test(seconds_that_fall_with_bytes_are_all_latency),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
