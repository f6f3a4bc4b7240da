// NVRTC, which needs no device, compiles the kernels of fused nodes for sm_80 and sm_90:
// random bodies, and bodies of every pointwise operator in every element type. Without
// NVRTC on the machine the test is skipped.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/body_plan.h"
#include "exec/cuda/device/pointwise_list.h"
#include "exec/cuda/kernel_compiler.h"
#include "tests/unit/random_bodies.h"
#include "tests/unit/session_kit.h"

enum { SKIPPED = 77, MOST_OPERANDS = 8 };

static const int architectures[] = {80, 90};

static void compile(const char *source, const char *text) {
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
    eg_kernel_code code;
    egraph_status status =
        eg_kernel_compile(eg_allocator_heap(), source, architectures[i], &code);
    if (status != EGRAPH_OK) fail_msg("%s: %s:\n%s", text, egraph_last_error(), source);
    assert_true(code.count > 1000);
    assert_memory_equal(code.bytes, "\177ELF", 4);
    eg_free(eg_allocator_heap(), code.bytes, code.count, 1);
  }
}

/// Writes the kernel of the only fused node of a graph; false: it has none.
static bool write_source(const char *text, eg_text *out) {
  eg_graph *graph = kit_parse("graph", text);
  bool has_kernel = false;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){n});
    eg_type inputs[MOST_OPERANDS], result = eg_graph_value(graph, info.results[0])->type;
    if (info.attrs->op != EG_OP_FUSED) continue;
    for (uint32_t i = 0; i < info.input_count; i++)
      inputs[i] = eg_graph_value(graph, info.inputs[i])->type;
    const eg_node_spec spec = {.attrs = info.attrs,
                               .inputs = inputs,
                               .input_count = info.input_count,
                               .results = &result,
                               .result_count = 1};
    eg_body body;
    eg_body_plan plan;
    const char *why;
    assert_ok(eg_body_read(&body, spec.attrs, inputs, spec.input_count));
    egraph_status status =
        eg_body_plan_init(&plan, eg_allocator_heap(), &spec, &body, &why);
    has_kernel = status == EGRAPH_OK;
    if (has_kernel) assert_ok(eg_body_source_write(&plan, out));
    eg_body_plan_deinit(&plan);
  }
  eg_graph_destroy(graph);
  return has_kernel;
}

static void random_bodies_compile(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(24);
  for (size_t i = 0; i < rounds; i++) {
    random_node r = {.rng = {seed + i}};
    eg_text source;
    eg_text_init(&r.text, eg_allocator_heap());
    eg_text_init(&source, eg_allocator_heap());
    put_body_graph(&r);
    assert_true(write_source(eg_text_of(&r.text), &source));
    compile(eg_text_of(&source), eg_text_of(&r.text));
    eg_text_deinit(&source);
    eg_text_deinit(&r.text);
  }
}

/// Appends to the kernel of all operators a call of each, with this type of arithmetic.
static void put_operators(const char *type, eg_text *out) {
#define NAME(id, formula) #id,
  static const char *const names[] = {EG_POINTWISE_FLOAT_LIST(NAME)
                                          EG_POINTWISE_COMMON_LIST(NAME)};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_ok(eg_text_printf(out, "  x += op_%s<%s>(x, y, z, p, q);\n", names[i], type));
}

static void all_operators_compile(void **state) {
  (void)state;
  static const char *const types[] = {"float", "double"};
  for (size_t t = 0; t < 2; t++) {
    eg_text source;
    eg_text_init(&source, eg_allocator_heap());
    assert_ok(
        eg_text_printf(&source,
                       "#include \"exec/cuda/device/body_device.cuh\"\n"
                       "extern \"C\" __global__ void all(%s *at) {\n"
                       "  %s x = at[0], y = at[1], z = at[2], p = at[3], q = at[4];\n",
                       types[t], types[t]));
    put_operators(types[t], &source);
    assert_ok(eg_text_append(&source, "  at[0] = x;\n}\n"));
    compile(eg_text_of(&source), types[t]);
    eg_text_deinit(&source);
  }
}

static void elements_of_all_types_compile(void **state) {
  (void)state;
  static const char *const types[] = {"float32", "float64", "float16", "bfloat16"};
  static const char *const bodies[] = {
      "(where (greater a b) (tanh c) (mul b 2))",                     // packs
      "(mul b (sub a (reduce-sum :axes [1] :keepdims 1 (mul a c))))", // rows
      "(softmax (add a (mul b c)))"};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
      eg_text text, source;
      eg_text_init(&text, eg_allocator_heap());
      eg_text_init(&source, eg_allocator_heap());
      assert_ok(
          eg_text_printf(&text,
                         "(egraph-graph 1)(input x \"%s[4,96]\")(input y \"%s[96]\")"
                         "(input z \"%s[4,1]\")(let r (fused :body \"%s\" x y z))"
                         "(output r)",
                         types[t], types[t], types[t], bodies[b]));
      assert_true(write_source(eg_text_of(&text), &source));
      compile(eg_text_of(&source), eg_text_of(&text));
      eg_text_deinit(&source);
      eg_text_deinit(&text);
    }
}

static void a_refused_source_fails_with_the_log(void **state) {
  (void)state;
  eg_kernel_code code;
  assert_int_equal(eg_kernel_compile(eg_allocator_heap(), "int broken(", 90, &code),
                   EGRAPH_E_INTERNAL);
  assert_non_null(strstr(egraph_last_error(), "egraph_body.cu(1): error"));
  assert_non_null(strstr(egraph_last_error(), "sm_90"));
}

static void a_newer_device_gets_text_for_its_driver(void **state) {
  (void)state;
  eg_kernel_code code;
  assert_ok(eg_kernel_compile(eg_allocator_heap(),
                              "extern \"C\" __global__ void empty() {}", 9999, &code));
  assert_non_null(strstr(code.bytes, ".visible .entry empty"));
  eg_free(eg_allocator_heap(), code.bytes, code.count, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_bodies_compile),
      cmocka_unit_test(all_operators_compile),
      cmocka_unit_test(elements_of_all_types_compile),
      cmocka_unit_test(a_refused_source_fails_with_the_log),
      cmocka_unit_test(a_newer_device_gets_text_for_its_driver),
  };
  if (eg_kernel_compiler_version() == 0) {
    print_message("skipped: there is no NVRTC\n");
    return SKIPPED;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
