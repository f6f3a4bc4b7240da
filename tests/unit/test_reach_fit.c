// Unit tests of sim/reach_fit: known curves come back, wild measurements change nothing,
// more work never takes less time, at most EG_REACH_POINTS points.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "sim/reach_fit.h"
#include "tests/testing.h"

static const double PEAK = 1e12;

static void add(eg_reach_samples *samples, uint32_t kind, double work, double share) {
  const eg_reach_sample sample = {.kind = kind,
                                  .dtype = EGRAPH_FLOAT32,
                                  .work = work,
                                  .seconds = work / share / PEAK};
  assert_ok(eg_reach_samples_push(samples, sample));
}

static void fit(eg_reach_samples *samples, uint32_t kind, eg_reach *out) {
  assert_ok(eg_reach_fit(samples, kind, EGRAPH_FLOAT32, PEAK, out));
  for (uint32_t p = 0; p < out->point_count; p++) {
    const eg_reach_point *point = &out->points[p];
    assert_true(point->share > 0 && point->share <= 1);
    if (p == 0) continue;
    assert_true(point->work > point[-1].work);
    assert_true(point->work / point->share >=
                point[-1].work / point[-1].share * (1 - 1e-12));
  }
}

static void shares_come_back(void **state) {
  (void)state;
  eg_reach_samples samples;
  eg_reach curve;
  eg_reach_samples_init(&samples, eg_allocator_heap());
  for (int i = 0; i < 5; i++) {
    add(&samples, EG_REACH_PRODUCT, 1e9, 0.8);
    add(&samples, EG_REACH_PRODUCT, 1e6, 0.3);
    add(&samples, EG_REACH_ATTENTION, 1e9, 0.5);
  }
  add(&samples, EG_REACH_PRODUCT, 1e9, 0.01); // the machine was busy
  fit(&samples, EG_REACH_PRODUCT, &curve);
  assert_int_equal(curve.point_count, 2);
  assert_true(curve.points[0].work == 1e6 && fabs(curve.points[0].share - 0.3) < 1e-9);
  assert_true(curve.points[1].work == 1e9 && fabs(curve.points[1].share - 0.8) < 1e-9);
  fit(&samples, EG_REACH_CONVOLUTION, &curve);
  assert_int_equal(curve.point_count, 0);
  double fastest;
  assert_ok(eg_reach_fastest(&samples, false, &fastest));
  assert_true(fabs(fastest / (0.8 * PEAK) - 1) < 1e-9);
  assert_ok(eg_reach_fastest(&samples, true, &fastest));
  assert_true(fastest == 0);
  eg_reach_samples_deinit(&samples);
}

/// Bytes in a cache are faster than the memory: more of them do not take less time.
static void seconds_never_fall(void **state) {
  (void)state;
  eg_reach_samples samples;
  eg_reach curve;
  eg_reach_samples_init(&samples, eg_allocator_heap());
  uint64_t random = 1;
  for (int i = 0; i < 2000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    double work = pow(10, 2 + (double)(random >> 40) / (1 << 24) * 12);
    random = random * 6364136223846793005u + 1442695040888963407u;
    add(&samples, EG_REACH_BYTES, work, 1e-4 + (double)(random >> 40) / (1 << 24));
  }
  add(&samples, EG_REACH_BYTES, 1e16, 50); // above the peak
  fit(&samples, EG_REACH_BYTES, &curve);
  assert_true(curve.point_count > 8 && curve.point_count <= EG_REACH_POINTS);
  for (double work = 1; work < 1e17; work *= 1.1)
    assert_true(eg_reach_seconds(&curve, work * 1.1, PEAK) >=
                eg_reach_seconds(&curve, work, PEAK));
  eg_reach_samples_deinit(&samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shares_come_back),
                                     cmocka_unit_test(seconds_never_fall)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
