// Fused nodes on the back-end for CUDA, over the emulator, or on a device: their kernels,
// which are written for the body and compiled while the test runs, compute what the
// reference kernels compute. Over the emulator every access is checked, as it is of the
// other kernels.
// SPDX-License-Identifier: Apache-2.0
#include "exec/backend.h"
#include "tests/gpu/device_name.h"
#include "tests/unit/random_bodies.h"
#include "tests/unit/session_kit.h"

#define ONE "CUDA body"
#define STEPS "CUDA body in steps"

typedef struct body_case {
  const char *inputs[3]; // types of a, b, c; NULL: none
  const char *body, *kernel;
  double tolerance;
} body_case;

static const body_case cases[] = {
    // Packs, with elements behind them; broadcast operands; a flag.
    {{"float32[3,5,70]", "float32[3,5,70]"}, "(mul a (sigmoid b))", ONE, 1e-5},
    {{"float32[1]"}, "(exp (neg a))", ONE, 1e-5},
    {{"float32[6,8]", "float32[8]", "float32[6,1]"}, "(add (mul a b) c)", ONE, 1e-5},
    {{"float32[6,9]", "float32[9]", "float32[6,1]"}, "(add (mul a b) c)", ONE, 1e-5},
    {{"float32[4,1,8]", "float32[5,1]"}, "(sub a (tanh b))", ONE, 1e-5},
    {{"bool[7,12]", "float32[7,12]", "float32[12]"}, "(where a b (gelu c))", ONE, 1e-5},
    {{"float32[7,13]", "float32[7,13]"}, "(greater (square a) (abs b))", ONE, 0},
    {{"float32[7,13]"}, "(cast :to float64 (mul a 2))", ONE, 1e-6},
    {{"float32[5,3]"}, "(cast :to float32 (cast :to bfloat16 (add a 1)))", ONE, 0},
    // Other element types.
    {{"float64[33]", "float64[33]"}, "(div (erf a) (add 1.5 (square b)))", ONE, 1e-12},
    {{"float16[70]", "float16[70]"}, "(mul a (sigmoid b))", ONE, 1e-2},
    {{"bfloat16[9,70]", "bfloat16[70]"}, "(add (mul a 0.5) b)", ONE, 2e-2},
    {{"float16[5,70]"}, "(softmax (mul a 0.5))", ONE, 1e-2},
    {{"float64[5,70]"}, "(softmax (mul a 0.5))", ONE, 1e-12},
    // Parameters of operators.
    {{"float32[40]", "float32[40]"},
     "(add (leaky-relu :alpha 0.25 a) (clip :min -0.5 :max 0.75 b))",
     ONE,
     1e-6},
    {{"float32[40]"}, "(gelu :approximate tanh (elu :alpha 0.5 a))", ONE, 1e-5},
    // Rows: one element, less than a warp, several warps, longer than what is kept.
    {{"float32[6,1]"}, "(softmax (mul a 2))", ONE, 1e-6},
    {{"float32[6,7]", "float32[7]"}, "(softmax (add a b))", ONE, 1e-5},
    {{"float32[3,300]"}, "(log-softmax (mul a 2))", ONE, 1e-5},
    {{"float32[2,9001]", "float32[2,1]"}, "(softmax (mul (exp a) b))", ONE, 1e-5},
    {{"float32[4,600]", "float32[600]", "float32[600]"},
     "(layer-normalization (gelu a) b c)",
     ONE,
     1e-5},
    {{"float32[4,3,50]", "float32[3,50]"},
     "(layer-normalization :axis 1 a b)",
     ONE,
     1e-5},
    {{"float32[4,600]", "float32[600]"}, "(add a (rms-normalization a b))", ONE, 1e-5},
    {{"float32[4,600]", "float32[4,600]", "float32[600]"},
     "(mul 0.5 (layer-normalization-grad a (tanh b) c))",
     ONE,
     1e-4},
    {{"float32[4,600]", "float32[4,600]", "float32[600]"},
     "(rms-normalization-grad a (tanh b) c)",
     ONE,
     1e-4},
    {{"float32[4,90]", "float32[90]", "float32[4,1]"},
     "(mul (sub a (reduce-max :axes [1] (mul a b))) (reduce-min :axes [1] (add a c)))",
     ONE,
     1e-5},
    {{"float32[2,3,4,50]", "float32[3,1,50]"},
     "(div a (add 2 (reduce-sum :axes [2 3] (square (mul a b)))))",
     ONE,
     1e-5},
    {{"float32[4,90]"}, "(exp (reduce-mean :axes [1] (tanh a)))", ONE, 1e-5},
    // No kernel of their own: coupled dimensions that are not the last ones, two kinds of
    // rows, a reduction of an operand that is the same for all elements, integers.
    {{"float32[5,6,7]"}, "(softmax :axis 1 (mul a 2))", STEPS, 1e-5},
    {{"float32[5,6,7]"},
     "(add (reduce-sum :axes [2] a) (reduce-max :axes [1 2] (neg a)))",
     STEPS,
     1e-5},
    {{"float32[5,6]", "float32[5,1]"}, "(mul a (reduce-sum :axes [1] b))", STEPS, 1e-5},
    {{"int32[20]", "int32[20]"}, "(add a (mul a b))", STEPS, 0},
};

static void put_case(const body_case *c, eg_text *out) {
  assert_ok(eg_text_append(out, "(egraph-graph 1)"));
  for (int i = 0; i < 3 && c->inputs[i] != NULL; i++)
    assert_ok(eg_text_printf(out, "(input %c \"%s\")", 'x' + i, c->inputs[i]));
  // The operand a has no other reader, so the result may lie over it.
  assert_ok(
      eg_text_printf(out, "(let t (identity x))(let r (fused :body \"%s\" t", c->body));
  for (int i = 1; i < 3 && c->inputs[i] != NULL; i++)
    assert_ok(eg_text_printf(out, " %c", 'x' + i));
  assert_ok(eg_text_append(out, "))(output r)"));
}

/// Compares the outputs of a graph on the device with those of the reference kernels.
static void compare(const char *text, double tolerance) {
  eg_graph *graph = kit_parse("graph", text);
  kit_tensors inputs, want, have;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "reference", 1, &inputs, &want);
  kit_run(graph, device_name(), 1, &inputs, &have);
  for (int64_t i = 0; i < eg_type_elements(&want.items[0].type); i++) {
    double a = eg_tensor_get_double(&have.items[0], i);
    double b = eg_tensor_get_double(&want.items[0], i);
    if (!kit_is_near(a, b, tolerance))
      fail_msg("element %d is %g, not %g: %s", (int)i, a, b, text);
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  eg_graph_destroy(graph);
}

static void check_kernel(eg_backend *backend, const char *text, const char *kernel) {
  eg_graph *graph = kit_parse("graph", text);
  eg_graph_node_info info =
      eg_graph_node_at(graph, (eg_graph_node){eg_graph_node_count(graph) - 1});
  eg_type inputs[8], result = eg_graph_value(graph, info.results[0])->type;
  eg_program *program;
  for (uint32_t i = 0; i < info.input_count; i++)
    inputs[i] = eg_graph_value(graph, info.inputs[i])->type;
  const eg_node_spec spec = {.attrs = info.attrs,
                             .inputs = inputs,
                             .input_count = info.input_count,
                             .results = &result,
                             .result_count = 1};
  assert_ok(
      backend->vtable->compile(backend, &(eg_compile_request){.spec = &spec}, &program));
  if (strcmp(program->info.kernel, kernel) != 0)
    fail_msg("'%s', not '%s': %s", program->info.kernel, kernel, text);
  eg_program_destroy(program);
  eg_graph_destroy(graph);
}

static void bodies_compute_what_the_reference_computes(void **state) {
  (void)state;
  eg_backend *backend;
  eg_backend_options options = {.threads = 1};
  assert_ok(eg_backend_create(NULL, device_name(), &options, &backend));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    put_case(&cases[i], &text);
    check_kernel(backend, eg_text_of(&text), cases[i].kernel);
    compare(eg_text_of(&text), cases[i].tolerance);
    eg_text_deinit(&text);
  }
  eg_backend_destroy(backend);
}

static void random_bodies_compute_what_the_reference_computes(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(24);
  for (size_t i = 0; i < rounds; i++) {
    random_node r = {.rng = {seed + i}};
    eg_text_init(&r.text, eg_allocator_heap());
    if (i % 6 == 0)
      put_body_images(&r);
    else
      put_body_graph(&r);
    compare(eg_text_of(&r.text), 2e-5);
    eg_text_deinit(&r.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_compute_what_the_reference_computes),
      cmocka_unit_test(random_bodies_compute_what_the_reference_computes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
