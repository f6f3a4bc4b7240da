// Tensor types, their text form, and element access.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/tensor.h"
#include "tests/testing.h"

static eg_type parsed(const char *text) {
  eg_type type;
  assert_ok(eg_type_parse("test", text, &type));
  return type;
}

static void types_print_and_parse_back(void **state) {
  (void)state;
  static const char *const texts[] = {"float32[1,64,56,56]",
                                      "float64[]",
                                      "bool[0,3]",
                                      "int64[9223372036854]",
                                      "float32[1,3,8,8]@nhwc",
                                      "bfloat16[1,1,1,1,1,1,1,1,1,1,1,1]",
                                      "float32[1,20,8,8]@nChw16c",
                                      "uint8[2]"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    eg_type type = parsed(texts[i]);
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_type_print(&text, &type));
    assert_string_equal(eg_text_of(&text), texts[i]);
    eg_text_deinit(&text);
  }
}

static void malformed_types_are_refused_with_their_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
    egraph_status status;
  } rows[] = {
      {"float32", "g.eg:3:4: 'float32' is not a tensor type", EGRAPH_E_PARSE},
      {"", "is not a tensor type", EGRAPH_E_PARSE},
      {"averyveryverylongname[1]", "is not a tensor type", EGRAPH_E_PARSE},
      {"float31[1]", "unknown element type 'float31'", EGRAPH_E_PARSE},
      {"float32[1", "malformed shape", EGRAPH_E_PARSE},
      {"float32[1,]", "malformed shape", EGRAPH_E_PARSE},
      {"float32[,1]", "malformed shape", EGRAPH_E_PARSE},
      {"float32[1.5]", "malformed shape", EGRAPH_E_PARSE},
      {"float32[1,1,1,1,1,1,1,1,1,1,1,1,1]", "malformed shape", EGRAPH_E_PARSE},
      {"float32[99999999999999999999]", "malformed shape", EGRAPH_E_PARSE},
      {"float32[1]x", "unknown memory format 'x'", EGRAPH_E_PARSE},
      {"float32[1]@nchw", "unknown memory format", EGRAPH_E_PARSE},
      {"float32[1]@nhwc", "g.eg:3:4: 'float32[1]@nhwc': memory format nhwc needs rank 4",
       EGRAPH_E_TYPE},
      {"float32[-1]", "dimension 0 is negative: -1", EGRAPH_E_TYPE},
      {"float32[4611686018427387904]", "dimension 0 is too large", EGRAPH_E_TYPE},
      {"float32[2147483648,1073741824]", "overflows at dimension 1", EGRAPH_E_TYPE},
      {"float32[0,4294967296,4294967296]", "overflows at dimension 2", EGRAPH_E_TYPE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    eg_type type;
    assert_fails(eg_type_parse("g.eg:3:4", rows[i].text, &type), rows[i].status,
                 rows[i].message);
  }
}

static void checks_refuse_what_only_code_can_make(void **state) {
  (void)state;
  eg_type type = parsed("float32[2,3]");
  type.rank = EGRAPH_MAX_RANK + 1;
  assert_fails(eg_type_check(&type), EGRAPH_E_TYPE, "rank 13 is more than the 12");
  type = parsed("float32[2,3]");
  type.dtype = EGRAPH_DTYPE_COUNT;
  assert_fails(eg_type_check(&type), EGRAPH_E_TYPE, "unknown element type");
  type = parsed("float32[2,3]");
  type.layout.format = EG_FORMAT_COUNT;
  assert_fails(eg_type_check(&type), EGRAPH_E_TYPE, "unknown memory format");
}

static void sizes_count_the_padding_of_blocked_formats_in_bytes_only(void **state) {
  (void)state;
  eg_type type = parsed("float32[2,20,3,5]@nChw16c");
  assert_int_equal(eg_type_elements(&type), 600);
  assert_int_equal(eg_type_bytes(&type), 2 * 32 * 15 * 4);
  type = parsed("float32[2,20,3,5]@nChw8c");
  assert_int_equal(eg_type_bytes(&type), 2 * 24 * 15 * 4);
  type = parsed("float32[2,20,3,5]@nhwc");
  assert_int_equal(eg_type_bytes(&type), 600 * 4);
  type = parsed("float64[]");
  assert_int_equal(eg_type_elements(&type), 1);
  assert_int_equal(eg_type_bytes(&type), 8);
  type = parsed("float16[0,1152921504606846975]");
  assert_int_equal(eg_type_elements(&type), 0);
  assert_int_equal(eg_type_bytes(&type), 0);
}

static void equality_and_hash_see_every_part(void **state) {
  (void)state;
  eg_type a = parsed("float32[2,3,4,5]"), b = a;
  assert_true(eg_type_same(&a, &b));
  assert_int_equal(eg_type_hash(&a), eg_type_hash(&b));
  b.layout.sharding[5] = EG_SHARD_S0 + 1;
  assert_false(eg_type_same(&a, &b));
  assert_true(eg_type_same_shape(&a, &b));
  assert_int_not_equal(eg_type_hash(&a), eg_type_hash(&b));
  static const char *const others[] = {"float64[2,3,4,5]", "float32[2,3,4]",
                                       "float32[2,3,5,4]", "float32[2,3,4,5]@nhwc"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    b = parsed(others[i]);
    assert_false(eg_type_same(&a, &b));
    assert_int_not_equal(eg_type_hash(&a), eg_type_hash(&b));
  }
}

static void names_of_dtypes_and_formats_are_found_again(void **state) {
  (void)state;
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++) {
    egraph_dtype dtype = (egraph_dtype)i, by_name, by_number;
    assert_true(eg_dtype_find(eg_dtype_name(dtype), &by_name));
    assert_true(eg_dtype_from_onnx(eg_dtype_onnx(dtype), &by_number));
    assert_int_equal(by_name, dtype);
    assert_int_equal(by_number, dtype);
    assert_in_range(eg_dtype_bytes(dtype), 1, 8);
    assert_int_equal(eg_dtype_is_float(dtype),
                     strstr(eg_dtype_name(dtype), "float") != NULL);
  }
  for (int i = 0; i < EG_FORMAT_COUNT; i++) {
    eg_format format;
    assert_true(eg_format_find(eg_format_name((eg_format)i), &format));
    assert_int_equal(format, i);
  }
  egraph_dtype dtype;
  eg_format format;
  assert_false(eg_dtype_find("float", &dtype));
  assert_false(eg_dtype_from_onnx(8, &dtype)); // string
  assert_false(eg_format_find("nchw", &format));
}

// ---- elements -------------------------------------------------------------------

static uint16_t stored(egraph_dtype dtype, double value) {
  uint16_t bits = 0;
  eg_tensor tensor = {.type = eg_type_of(dtype, 0, NULL), .data = &bits};
  eg_tensor_set_double(&tensor, 0, value);
  return bits;
}

static double loaded(egraph_dtype dtype, uint16_t bits) {
  eg_tensor tensor = {.type = eg_type_of(dtype, 0, NULL), .data = &bits};
  return eg_tensor_get_double(&tensor, 0);
}

static void float16_rounds_to_nearest_even(void **state) {
  (void)state;
  static const struct {
    double value;
    uint16_t bits;
  } rows[] = {
      {0.0, 0x0000},
      {-0.0, 0x8000},
      {1.0, 0x3c00},
      {-2.0, 0xc000},
      {65504.0, 0x7bff},
      {65519.996, 0x7bff},
      {65520.0, 0x7c00},
      {1e300, 0x7c00},
      {-INFINITY, 0xfc00},
      {0x1p-14, 0x0400},
      {0x1p-24, 0x0001},
      {0x1p-25, 0x0000},
      {0x1.000002p-25, 0x0001},
      {0x1.8p-24, 0x0002},
      {0x1p-1074, 0x0000},
      {0x1.ff8p-15, 0x03ff},
      {0x1.ffcp-15, 0x0400},
      {1 + 0x1p-11, 0x3c00},
      {1 + 0x3p-11, 0x3c02},
      {1 + 0x1p-11 + 0x1p-40, 0x3c01},
      {1.0 / 3.0, 0x3555},
      {2 - 0x1p-11, 0x4000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(stored(EGRAPH_FLOAT16, rows[i].value), rows[i].bits);
  assert_true(isnan(loaded(EGRAPH_FLOAT16, stored(EGRAPH_FLOAT16, (double)NAN))));
}

static void bfloat16_rounds_to_nearest_even(void **state) {
  (void)state;
  static const struct {
    double value;
    uint16_t bits;
  } rows[] = {
      {1.0, 0x3f80},        {1 + 0x1p-8, 0x3f80}, {1 + 0x3p-8, 0x3f82},
      {3.14159265, 0x4049}, {-0x1p-133, 0x8001},  {0x1p-134, 0x0000},
      {0x1.fep127, 0x7f7f}, {0x1.ffp127, 0x7f80}, {(double)INFINITY, 0x7f80},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(stored(EGRAPH_BFLOAT16, rows[i].value), rows[i].bits);
  assert_true(isnan(loaded(EGRAPH_BFLOAT16, stored(EGRAPH_BFLOAT16, (double)NAN))));
}

// Every bit pattern survives, and every double between two neighbours goes to the nearer
// one.
static void every_16_bit_float_survives_and_attracts_its_neighbourhood(void **state) {
  (void)state;
  static const egraph_dtype dtypes[] = {EGRAPH_FLOAT16, EGRAPH_BFLOAT16};
  for (size_t d = 0; d < 2; d++)
    for (uint32_t bits = 0; bits < 0x8000; bits++) {
      double value = loaded(dtypes[d], (uint16_t)bits);
      if (isnan(value)) continue;
      assert_int_equal(stored(dtypes[d], value), bits);
      assert_int_equal(stored(dtypes[d], -value), bits | 0x8000);
      double next = loaded(dtypes[d], (uint16_t)(bits + 1));
      if (isinf(value) || isinf(next)) continue;
      assert_true(next > value);
      double middle = value + (next - value) / 2;
      assert_int_equal(stored(dtypes[d], nextafter(middle, value)), bits);
      assert_int_equal(stored(dtypes[d], nextafter(middle, next)), bits + 1);
      assert_int_equal(stored(dtypes[d], middle), bits + (bits & 1));
    }
}

static void integers_are_exact_and_wrap_when_narrowed(void **state) {
  (void)state;
  uint64_t word = 0;
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++) {
    egraph_dtype dtype = (egraph_dtype)i;
    eg_tensor tensor = {.type = eg_type_of(dtype, 0, NULL), .data = &word};
    eg_tensor_set_int(&tensor, 0, 1);
    assert_int_equal(eg_tensor_get_int(&tensor, 0), 1);
    assert_true(eg_tensor_get_double(&tensor, 0) == 1.0);
    eg_tensor_set_double(&tensor, 0, 1.75);
    assert_int_equal(eg_tensor_get_int(&tensor, 0), 1);
  }
  eg_tensor wide = {.type = eg_type_of(EGRAPH_INT64, 0, NULL), .data = &word};
  eg_tensor_set_int(&wide, 0, INT64_MIN + 1);
  assert_true(eg_tensor_get_int(&wide, 0) == INT64_MIN + 1);
  eg_tensor byte = {.type = eg_type_of(EGRAPH_INT8, 0, NULL), .data = &word};
  eg_tensor_set_int(&byte, 0, 0x1ff);
  assert_int_equal(eg_tensor_get_int(&byte, 0), -1);
  byte.type.dtype = EGRAPH_UINT8;
  assert_int_equal(eg_tensor_get_int(&byte, 0), 255);
  byte.type.dtype = EGRAPH_BOOL;
  eg_tensor_set_double(&byte, 0, 0.25);
  assert_int_equal(*(unsigned char *)byte.data, 1);
}

static void values_out_of_range_saturate(void **state) {
  (void)state;
  uint64_t word = 0;
  eg_tensor tensor = {.type = eg_type_of(EGRAPH_INT64, 0, NULL), .data = &word};
  eg_tensor_set_double(&tensor, 0, 1e30);
  assert_true(eg_tensor_get_int(&tensor, 0) == INT64_MAX);
  eg_tensor_set_double(&tensor, 0, -1e30);
  assert_true(eg_tensor_get_int(&tensor, 0) == INT64_MIN);
  eg_tensor_set_double(&tensor, 0, (double)NAN);
  assert_int_equal(eg_tensor_get_int(&tensor, 0), 0);
  tensor.type.dtype = EGRAPH_UINT64;
  eg_tensor_set_double(&tensor, 0, 0x1.8p63);
  assert_true(word == UINT64_C(0xc000000000000000));
  assert_true(eg_tensor_get_double(&tensor, 0) == 0x1.8p63);
  eg_tensor_set_double(&tensor, 0, 1e30);
  assert_true(word == UINT64_MAX);
  tensor.type.dtype = EGRAPH_FLOAT32;
  eg_tensor_set_int(&tensor, 0, -7);
  assert_true(eg_tensor_get_double(&tensor, 0) == -7.0);
}

static egraph_status print_a_type(egraph_allocator alloc, void *user) {
  const eg_type *type = user;
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = eg_type_print(&text, type);
  eg_text_deinit(&text);
  return status;
}

static void printing_survives_failing_allocations(void **state) {
  (void)state;
  eg_type type = parsed("float32[1000000,1000000,1,20]@nChw16c");
  test_every_allocation_failing(print_a_type, &type);
}

static void fills_have_a_number_for_infinities(void **state) {
  (void)state;
  static const struct {
    egraph_dtype dtype;
    int64_t lowest, highest; // of uint64 as int64
  } rows[] = {{EGRAPH_INT8, INT8_MIN, INT8_MAX},    {EGRAPH_INT32, INT32_MIN, INT32_MAX},
              {EGRAPH_INT64, INT64_MIN, INT64_MAX}, {EGRAPH_UINT8, 0, UINT8_MAX},
              {EGRAPH_UINT32, 0, UINT32_MAX},       {EGRAPH_UINT64, 0, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t room = 0;
    eg_tensor one = {.type = eg_type_of(rows[i].dtype, 0, NULL), .data = &room};
    eg_tensor_set_fill(&one, 0, -(double)INFINITY);
    assert_int_equal(eg_tensor_get_int(&one, 0), rows[i].lowest);
    eg_tensor_set_fill(&one, 0, (double)INFINITY);
    assert_int_equal(eg_tensor_get_int(&one, 0), rows[i].highest);
    eg_tensor_set_fill(&one, 0, 7);
    assert_int_equal(eg_tensor_get_int(&one, 0), 7);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_print_and_parse_back),
      cmocka_unit_test(malformed_types_are_refused_with_their_place),
      cmocka_unit_test(checks_refuse_what_only_code_can_make),
      cmocka_unit_test(sizes_count_the_padding_of_blocked_formats_in_bytes_only),
      cmocka_unit_test(equality_and_hash_see_every_part),
      cmocka_unit_test(names_of_dtypes_and_formats_are_found_again),
      cmocka_unit_test(float16_rounds_to_nearest_even),
      cmocka_unit_test(bfloat16_rounds_to_nearest_even),
      cmocka_unit_test(every_16_bit_float_survives_and_attracts_its_neighbourhood),
      cmocka_unit_test(integers_are_exact_and_wrap_when_narrowed),
      cmocka_unit_test(values_out_of_range_saturate),
      cmocka_unit_test(fills_have_a_number_for_infinities),
      cmocka_unit_test(printing_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
