// Convolutions get a plan from cuDNN, which needs no device for that: shapes, element
// types, strides and the choice of an engine are checked up to, but not including, the
// run. The properties are those of an H200, in the text form that cuDNN reads.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/conv_plan.h"
#include "tests/testing.h"

static const char properties_text[] =
    "{\"deviceVer\":900,\"driverVer\":13000,\"cudaDeviceId\":0,\"pciDeviceId\":0,"
    "\"deviceName\":\"NVIDIA H200\",\"name\":\"NVIDIA H200\","
    "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
    "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"smClockRateKHz\":1980000,"
    "\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"
    "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":150110011392}";

static cudnnBackendDescriptor_t open_properties(void) {
  cudnnBackendDescriptor_t properties;
  assert_int_equal(
      cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &properties),
      CUDNN_STATUS_SUCCESS);
  assert_int_equal(cudnnBackendSetAttribute(
                       properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                       CUDNN_TYPE_CHAR, sizeof properties_text - 1, properties_text),
                   CUDNN_STATUS_SUCCESS);
  assert_int_equal(cudnnBackendFinalize(properties), CUDNN_STATUS_SUCCESS);
  return properties;
}

static void set_strides(uint32_t rank, const int64_t *dims, bool is_nhwc, int64_t *out) {
  int64_t stride = is_nhwc ? dims[1] : 1;
  for (uint32_t d = rank; d-- > (is_nhwc ? 2u : 0u);) {
    out[d] = stride;
    stride *= dims[d];
  }
  if (!is_nhwc) return;
  out[1] = 1;
  out[0] = stride;
}

/// 64 channels of 14 x 14, padded by 1, into 32.
static eg_conv_problem problem_of(eg_conv_kind kind, egraph_dtype dtype, int64_t groups,
                                  int64_t kernel, bool is_nhwc, int64_t alignment) {
  int64_t size = 14 + 2 - kernel + 1;
  eg_conv_problem p = {.kind = kind,
                       .dtype = dtype,
                       .rank = 4,
                       .x = {2, 64, 14, 14},
                       .w = {32, 64 / groups, kernel, kernel},
                       .y = {2, 32, size, size},
                       .pads = {1, 1},
                       .pads_end = {1, 1},
                       .strides = {1, 1},
                       .dilations = {1, 1},
                       .alignment = alignment};
  set_strides(4, p.x, is_nhwc, p.x_strides);
  set_strides(4, p.w, is_nhwc, p.w_strides);
  set_strides(4, p.y, is_nhwc, p.y_strides);
  return p;
}

/// Whether there is a plan; complains if not.
static bool has_plan(cudnnBackendDescriptor_t properties, const eg_conv_problem *p,
                     const char *what) {
  static const char *const kinds[] = {"convolution", "transposed", "gradient of weight"};
  eg_conv_plan plan;
  if (eg_conv_plan_create(NULL, properties, p, &plan) == EGRAPH_OK) {
    assert_true(plan.workspace_bytes <= EG_CUDA_WORKSPACE);
    eg_conv_plan_destroy(&plan);
    return true;
  }
  print_error("%s of %s, %d channels of %d, kernel %d, %s, alignment %d: %s\n",
              kinds[p->kind], eg_dtype_name(p->dtype), (int)p->w[1], (int)p->x[1],
              (int)p->w[2], what, (int)p->alignment, egraph_last_error());
  return false;
}

static uint32_t count_without_plan(cudnnBackendDescriptor_t properties, eg_conv_kind kind,
                                   egraph_dtype dtype) {
  uint32_t without = 0;
  for (int64_t groups = 1; groups <= 2; groups++)
    for (int64_t kernel = 1; kernel <= 3; kernel += 2)
      for (uint32_t nhwc = 0; nhwc < 2; nhwc++)
        for (int64_t alignment = 4; alignment <= 16; alignment *= 4) {
          eg_conv_problem p =
              problem_of(kind, dtype, groups, kernel, nhwc != 0, alignment);
          without += !has_plan(properties, &p, nhwc != 0 ? "nhwc" : "plain");
        }
  return without;
}

static void every_kind_of_problem_has_a_plan(void **state) {
  (void)state;
  static const egraph_dtype dtypes[] = {EGRAPH_FLOAT32, EGRAPH_FLOAT16, EGRAPH_BFLOAT16};
  cudnnBackendDescriptor_t properties = open_properties();
  uint32_t without = 0;
  for (uint32_t d = 0; d < 3; d++)
    for (int kind = EG_CONV_SMALL; kind <= EG_CONV_WEIGHT; kind++)
      without += count_without_plan(properties, (eg_conv_kind)kind, dtypes[d]);
  assert_int_equal(without, 0);
  (void)cudnnBackendDestroyDescriptor(properties);
}

static void shapes_that_do_not_fit_are_refused(void **state) {
  (void)state;
  cudnnBackendDescriptor_t properties = open_properties();
  eg_conv_problem p = problem_of(EG_CONV_SMALL, EGRAPH_FLOAT32, 1, 3, false, 16);
  eg_conv_plan plan;
  p.y[3] = 15;
  assert_fails(eg_conv_plan_create(NULL, properties, &p, &plan), EGRAPH_E_UNSUPPORTED,
               "cuDNN");
  p = problem_of(EG_CONV_SMALL, EGRAPH_INT32, 1, 3, false, 16);
  assert_fails(eg_conv_plan_create(NULL, properties, &p, &plan), EGRAPH_E_UNSUPPORTED,
               "no convolutions of int32");
  (void)cudnnBackendDestroyDescriptor(properties);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_problem_has_a_plan),
      cmocka_unit_test(shapes_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
