// NaN, infinities and huge numbers through the back-ends: what the CPU computes is what
// the reference kernels do.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/session_kit.h"

enum { ROWS = 8, COLUMNS = 64 };

static const float specials[] = {0.0f,  -0.0f,     1.0f,   -1.0f, 3.0f,     -2.5f, NAN,
                                 100.f, -INFINITY, -100.f, 1e-3f, INFINITY, 7.0f};

static void fill_inputs(kit_tensors *inputs, uint32_t shift) {
  for (uint32_t i = 0; i < inputs->count; i++) {
    float *data = inputs->items[i].data;
    int64_t count = eg_type_elements(&inputs->items[i].type);
    for (int64_t k = 0; k < count; k++) // rows without any, with one, with many
      data[k] = k / COLUMNS % 4 == 0
                    ? (float)(k % 5) - 2
                    : specials[((uint32_t)(k * 7) + k / COLUMNS + shift + 5 * i) % 13];
  }
}

static bool is_alike(double x, double y) {
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (isinf(x) || isinf(y)) return x == y;
  return fabs(x - y) <= 1e-5 * fmax(1, fabs(x));
}

static void run_on(const eg_graph *graph, const char *backend, const kit_tensors *inputs,
                   kit_tensors *outputs) {
  eg_session *session;
  eg_session_options options = {.backend = backend, .threads = 1, .seed = 1};
  assert_ok(eg_session_create(NULL, graph, &options, &session));
  assert_ok(eg_session_run(session, inputs->items, outputs->items));
  eg_session_destroy(session);
}

static uint32_t differences(const char *name, const char *text) {
  kit_tensors inputs, want, have;
  eg_graph *graph = kit_parse(name, text);
  kit_inputs_draw(graph, &inputs);
  kit_outputs_alloc(graph, &want);
  kit_outputs_alloc(graph, &have);
  uint32_t found = 0;
  for (uint32_t shift = 0; shift < 13 && found == 0; shift++) {
    fill_inputs(&inputs, shift);
    run_on(graph, "reference", &inputs, &want);
    run_on(graph, "cpu", &inputs, &have);
    for (int64_t i = 0; i < eg_type_elements(&want.items[0].type) && found == 0; i++) {
      double x = eg_tensor_get_double(&want.items[0], i);
      double y = eg_tensor_get_double(&have.items[0], i);
      if (is_alike(x, y)) continue;
      printf("%s: x %g: element %d: reference %g, cpu %g\n", name,
             i < ROWS * COLUMNS ? eg_tensor_get_double(&inputs.items[0], i) : 0, (int)i,
             x, y);
      found++;
    }
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  eg_graph_destroy(graph);
  return found;
}

static void operators_of_one_operand(void **state) {
  (void)state;
  static const char *const terms[] = {"relu x",
                                      "sigmoid x",
                                      "tanh x",
                                      "exp x",
                                      "log x",
                                      "sqrt x",
                                      "rsqrt x",
                                      "reciprocal x",
                                      "square x",
                                      "neg x",
                                      "abs x",
                                      "sign x",
                                      "floor x",
                                      "ceil x",
                                      "round x",
                                      "erf x",
                                      "gelu x",
                                      "gelu :approximate tanh x",
                                      "silu x",
                                      "softplus x",
                                      "mish x",
                                      "softsign x",
                                      "hard-swish x",
                                      "hard-sigmoid x",
                                      "leaky-relu x",
                                      "elu x",
                                      "selu x",
                                      "celu x",
                                      "clip :min -1.0 :max 2.0 x",
                                      "clip :min 0.0 x",
                                      "clip :max 6.0 x",
                                      "reduce-sum :axes [1] x",
                                      "reduce-mean :axes [1] x",
                                      "reduce-max :axes [1] x",
                                      "reduce-min :axes [1] x",
                                      "reduce-max :axes [0] x",
                                      "reduce-min :axes [0] x",
                                      "reduce-sum :axes [0] x",
                                      "reduce-mean :axes [0] x",
                                      "softmax x",
                                      "softmax :axis 0 x",
                                      "log-softmax x",
                                      "log-softmax :axis 0 x",
                                      "softmax :axis 0 r",
                                      "log-softmax :axis 0 r"};
  uint32_t found = 0;
  char text[256];
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    (void)snprintf(text, sizeof text,
                   "(egraph-graph 1)\n(input x \"float32[8,64]\")\n"
                   "(let r (reshape :shape [128 4] x))\n(let y (%s))\n(output y)\n",
                   terms[i]);
    found += differences(terms[i], text);
  }
  assert_int_equal(found, 0);
}

/// Models cut buckets of distances at logarithms of powers of two (T5), where the last
/// bit decides.
static void logarithms_are_the_closest_floats_at_powers_of_two(void **state) {
  (void)state;
  enum { COUNT = 277, LEAST = -149 };
  kit_tensors inputs, have;
  eg_graph *graph = kit_parse(
      "log", "(egraph-graph 1)(input x \"float32[277]\")(let y (log x))(output y)");
  kit_inputs_draw(graph, &inputs);
  kit_outputs_alloc(graph, &have);
  for (int32_t i = 0; i < COUNT; i++)
    ((float *)inputs.items[0].data)[i] = ldexpf(1, LEAST + i);
  run_on(graph, "cpu", &inputs, &have);
  for (int32_t i = 0; i < COUNT; i++) {
    double want = (float)log(ldexp(1, LEAST + i));
    assert_true(eg_tensor_get_double(&have.items[0], i) == want);
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&have);
  eg_graph_destroy(graph);
}

static void operators_of_two_operands(void **state) {
  (void)state;
  static const char *const terms[] = {"add x z", "sub x z", "mul x z", "div x z",
                                      "max x z", "min x z", "pow x z"};
  uint32_t found = 0;
  char text[256];
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    (void)snprintf(text, sizeof text,
                   "(egraph-graph 1)\n(input x \"float32[8,64]\")\n(input z "
                   "\"float32[8,64]\")\n(let y (%s))\n(output y)\n",
                   terms[i]);
    found += differences(terms[i], text);
  }
  assert_int_equal(found, 0);
}

// Exponents with a loop of their own, and two without.
static void powers_with_one_exponent(void **state) {
  (void)state;
  static const char *const exponents[] = {"2.0", "1.0",  "3.0", "-1.0",
                                          "0.5", "-0.5", "0.0", "1.5"};
  uint32_t found = 0;
  char text[256];
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    (void)snprintf(text, sizeof text,
                   "(egraph-graph 1)\n(input x \"float32[8,64]\")\n(let e (fill :dtype "
                   "float32 :shape [] :value %s))\n(let y (pow x e))\n(output y)\n",
                   exponents[i]);
    found += differences(exponents[i], text);
  }
  assert_int_equal(found, 0);
}

static void windows(void **state) {
  (void)state;
  static const char *const terms[] = {
      "average-pool :kernel_shape [2 2] :strides [2 2] :pads [0 0 0 0] x",
      "global-average-pool x",
      "max-pool :kernel_shape [2 2] :strides [2 2] :pads [0 0 0 0] :dilations [1 1] x",
      "max-pool :kernel_shape [3 3] :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x",
      "global-max-pool x"};
  uint32_t found = 0;
  char text[256];
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    (void)snprintf(text, sizeof text,
                   "(egraph-graph 1)\n(input x \"float32[1,16,8,8]\")\n(let y (%s))\n"
                   "(output y)\n",
                   terms[i]);
    found += differences(terms[i], text);
  }
  assert_int_equal(found, 0);
}

// With operands that stay, and with one that the result may overwrite.
static void fused_activations(void **state) {
  (void)state;
  static const char *const acts[] = {"relu",
                                     "clip :act_alpha -1.0 :act_beta 2.0",
                                     "clip :act_beta 6.0",
                                     "sigmoid",
                                     "tanh",
                                     "gelu",
                                     "gelu-tanh",
                                     "silu",
                                     "hard-swish",
                                     "leaky-relu :act_alpha 0.1",
                                     "elu :act_alpha 1.0"};
  static const char *const terms[] = {
      "(input x \"float32[8,64]\") (weight w \"float32[64,32]\") (weight b "
      "\"float32[32]\") (let y (matmul :act %s x w b))",
      "(input x \"float32[8,64]\") (weight w \"float32[64,32]\") (weight b "
      "\"float32[32]\") (input z \"float32[8,32]\") (let s (square z)) (let y (matmul "
      ":act %s x w b s))",
      "(input x \"float32[1,16,8,8]\") (weight w \"float32[24,16,1,1]\") (weight b "
      "\"float32[24]\") (let y (conv :strides [1 1] :pads [0 0 0 0] :dilations [1 1] "
      ":act %s x w b))",
      "(input x \"float32[1,16,8,8]\") (weight w \"float32[24,16,1,1]\") (weight b "
      "\"float32[24]\") (input z \"float32[1,24,8,8]\") (let s (square z)) (let y (conv "
      ":strides [1 1] :pads [0 0 0 0] :dilations [1 1] :act %s x w b s))"};
  uint32_t found = 0;
  char term[400], text[512];
  for (size_t t = 0; t < sizeof terms / sizeof *terms; t++)
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
      (void)snprintf(term, sizeof term, terms[t], acts[i]);
      (void)snprintf(text, sizeof text, "(egraph-graph 1) %s (output y)", term);
      found += differences(term, text);
    }
  assert_int_equal(found, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_of_one_operand),
      cmocka_unit_test(logarithms_are_the_closest_floats_at_powers_of_two),
      cmocka_unit_test(operators_of_two_operands),
      cmocka_unit_test(powers_with_one_exponent),
      cmocka_unit_test(windows),
      cmocka_unit_test(fused_activations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
