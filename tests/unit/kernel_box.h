// Runs one operator on literal tensors: types and attributes as text, values as doubles,
// results typed by inference. All memory comes from a counting heap that must be empty at
// the end.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_KERNEL_BOX_H
#define EG_TESTS_KERNEL_BOX_H

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "ops/ops.h"
#include "tests/testing.h"

enum { BOX_RESULTS = 8, BOX_ATTRS = 16 };

typedef struct kernel_box {
  test_heap heap;
  eg_arena arena;
  eg_tensor results[BOX_RESULTS]; // of the last run
  uint32_t result_count;
} kernel_box;

static inline void box_free(kernel_box *box, eg_tensor *tensor) {
  eg_free(box->arena.alloc, tensor->data, eg_type_bytes(&tensor->type), 1);
  tensor->data = NULL;
}

EG_MAYBE_UNUSED static void box_free_results(kernel_box *box) {
  for (uint32_t i = 0; i < box->result_count; i++)
    box_free(box, &box->results[i]);
  box->result_count = 0;
}

EG_MAYBE_UNUSED static int box_setup(void **state) {
  kernel_box *box = calloc(1, sizeof *box);
  assert_non_null(box);
  eg_arena_init(&box->arena, test_heap_allocator(&box->heap));
  *state = box;
  return 0;
}

EG_MAYBE_UNUSED static int box_teardown(void **state) {
  kernel_box *box = *state;
  box_free_results(box);
  eg_arena_deinit(&box->arena);
  size_t left = box->heap.live_bytes;
  free(box);
  assert_int_equal(left, 0);
  return 0;
}

static inline eg_tensor box_empty(kernel_box *box, const eg_type *type) {
  eg_tensor tensor = {.type = *type};
  // Blocks of their own, so that sanitizers see every step outside.
  assert_ok(eg_alloc(box->arena.alloc, eg_type_bytes(type), 1, &tensor.data));
  return tensor;
}

/// A tensor from text such as "float32[2,3]"; `values` may be NULL for zeros. box_free
/// it.
EG_MAYBE_UNUSED static eg_tensor box_tensor(kernel_box *box, const char *type_text,
                                            const double *values) {
  eg_type type;
  assert_ok(eg_type_parse("test", type_text, &type));
  eg_tensor tensor = box_empty(box, &type);
  for (int64_t i = 0; values != NULL && i < eg_type_elements(&type); i++)
    eg_tensor_set_double(&tensor, i, values[i]);
  return tensor;
}

/// Whole numbers in [-range, range], exact in every type they fit; unsigned types get [0,
/// range].
EG_MAYBE_UNUSED static eg_tensor box_random(kernel_box *box, const char *type_text,
                                            eg_rng *rng, int64_t range) {
  eg_tensor tensor = box_tensor(box, type_text, NULL);
  bool is_signed = tensor.type.dtype <= EGRAPH_INT64;
  for (int64_t i = 0; i < eg_type_elements(&tensor.type); i++) {
    int64_t span = is_signed ? 2 * range + 1 : range + 1;
    int64_t value = (int64_t)eg_rng_below(rng, (uint64_t)span) - (is_signed ? range : 0);
    eg_tensor_set_double(&tensor, i, (double)value);
  }
  return tensor;
}

/// Attributes from text such as "strides [1 1]; act relu"; the others get their defaults.
EG_MAYBE_UNUSED static eg_attrs box_attrs(kernel_box *box, eg_op op, const char *text) {
  eg_attr *slots = NULL;
  uint16_t count = eg_op_info_of(op)->attr_count;
  assert_ok(eg_arena_alloc(&box->arena, count, sizeof *slots, &slots));
  eg_attrs_defaults(op, slots);
  while (*text != '\0') {
    char name[64], value[256];
    int used = 0;
    assert_int_equal(sscanf(text, " %63[a-zA-Z_0-9] %255[^;]%n", name, value, &used), 2);
    text += used;
    if (*text == ';') text++;
    uint16_t slot = 0;
    if (!eg_op_find_attr(op, name, &slot))
      fail_msg("%s has no attribute %s", eg_op_info_of(op)->name, name);
    assert_ok(eg_attr_parse(&box->arena, op, slot, value, &slots[slot]));
  }
  return (eg_attrs){.op = (uint16_t)op, .count = count, .slots = slots};
}

/// Infers and runs; the results stand in the box until the next run.
EG_MAYBE_UNUSED static egraph_status box_try(kernel_box *box, const eg_attrs *attrs,
                                             const eg_tensor *inputs, uint32_t count) {
  eg_type types[BOX_ATTRS], results[BOX_RESULTS];
  box_free_results(box);
  assert_true(count <= BOX_ATTRS);
  for (uint32_t i = 0; i < count; i++)
    types[i] = inputs[i].type;
  assert_true(eg_op_results(attrs) <= BOX_RESULTS);
  EG_TRY(eg_op_infer(attrs, types, count, results));
  box->result_count = eg_op_results(attrs);
  for (uint32_t i = 0; i < box->result_count; i++) {
    box->results[i] = box_empty(box, &results[i]);
    // No kernel may rely on zeroed results.
    if (eg_type_bytes(&results[i]) != 0)
      memset(box->results[i].data, 0x5a, eg_type_bytes(&results[i]));
  }
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = count,
                         .outputs = box->results,
                         .output_count = box->result_count,
                         .alloc = box->arena.alloc};
  return eg_op_run(&call);
}

/// The same with attributes as text; frees the inputs.
EG_MAYBE_UNUSED static egraph_status box_call(kernel_box *box, eg_op op,
                                              const char *attrs, eg_tensor *inputs,
                                              uint32_t count) {
  eg_attrs parsed = box_attrs(box, op, attrs);
  egraph_status status = box_try(box, &parsed, inputs, count);
  for (uint32_t i = 0; i < count; i++)
    box_free(box, &inputs[i]);
  return status;
}

/// Asserts type and values of result `index` of the last run; a tolerance is relative,
/// and absolute below 1. NaN equals NaN.
EG_MAYBE_UNUSED static void box_expect(const kernel_box *box, uint32_t index,
                                       const char *type_text, double tolerance,
                                       size_t count, const double *values) {
  eg_type type;
  assert_true(index < box->result_count);
  const eg_tensor *result = &box->results[index];
  assert_ok(eg_type_parse("test", type_text, &type));
  if (!eg_type_same(&type, &result->type)) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_type_print(&text, &result->type));
    print_error("got %s instead of %s\n", eg_text_of(&text), type_text);
    eg_text_deinit(&text);
    fail();
  }
  assert_int_equal(count, eg_type_elements(&type));
  for (int64_t i = 0; i < eg_type_elements(&type); i++) {
    double got = eg_tensor_get_double(result, i), want = values[i];
    double bound = tolerance * (fabs(want) > 1 ? fabs(want) : 1);
    bool is_same =
        got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= bound;
    if (!is_same)
      fail_msg("element %lld is %.17g instead of %.17g", (long long)i, got, want);
  }
}

// RUN(EG_OP_NEG, "", T("int8[2]", 1, 2)); EXPECT("int8[2]", -1, -2);
#define T(type, ...) box_tensor(box, (type), (const double[]){__VA_ARGS__})
#define RUN(op, attrs, ...)                                                              \
  assert_ok(box_call(box, (op), (attrs), (eg_tensor[]){__VA_ARGS__},                     \
                     sizeof((eg_tensor[]){__VA_ARGS__}) / sizeof(eg_tensor)))
#define RUN_FAILS(code, part, op, attrs, ...)                                            \
  assert_fails(box_call(box, (op), (attrs), (eg_tensor[]){__VA_ARGS__},                  \
                        sizeof((eg_tensor[]){__VA_ARGS__}) / sizeof(eg_tensor)),         \
               (code), (part))
#define LIST(...)                                                                        \
  sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]) { __VA_ARGS__ }
#define EXPECT(type, ...) box_expect(box, 0, (type), 0.0, LIST(__VA_ARGS__))
#define EXPECT_NEAR(tolerance, type, ...)                                                \
  box_expect(box, 0, (type), (tolerance), LIST(__VA_ARGS__))
#define EXPECT_RESULT(index, type, ...)                                                  \
  box_expect(box, (index), (type), 0.0, LIST(__VA_ARGS__))

#endif
