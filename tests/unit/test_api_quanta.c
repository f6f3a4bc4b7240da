// Quantized outputs of two graphs: steps that rounding explains, and those that it does
// not. One step everywhere, or in one channel, is an error.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/api_kit.h"

#include <math.h>

// Of one layer t is sum / 10: a tenth of all values are halves, but for rounding. The
// scale between two layers makes none.
static const struct {
  const char *name;
  double value;
} scales[] = {{"sx", 0.1}, {"sw", 0.3}, {"sy", 0.3}, {"sh", 0.7371}};
static const double deep_weights =
    0.03; // instead of 0.3: values stay as large as they are
enum { ROWS = 16, DEPTH = 64, COLUMNS = 24 };

typedef enum product { WHOLE, SPLIT, INTEGER } product;
typedef struct net {
  product product;
  bool is_back;     // the output is dequantized
  int layers;       // more than 2: with the scale of weights for deep ones
  int unquantized;  // the layer after which nothing is quantized; 0: none
  int zero;         // of the result
  double shift;     // added before it is quantized, in steps
  bool one_channel; // only there
} net;

static egraph_value node(egraph_graph *graph, const char *op, const char *attrs,
                         const egraph_value *inputs, uint32_t count) {
  egraph_value out[2];
  assert_ok(egraph_graph_add(graph, NULL, op, attrs, inputs, count, out));
  return out[0];
}
#define NODE(graph, op, attrs, ...)                                                      \
  node(graph, op, attrs, (const egraph_value[]){__VA_ARGS__},                            \
       sizeof((const egraph_value[]){__VA_ARGS__}) / sizeof(egraph_value))

static egraph_value number(egraph_graph *graph, const char *name, double value) {
  const float data = (float)value;
  egraph_value out;
  assert_ok(egraph_graph_add_weight(graph, name, EGRAPH_FLOAT32, 0, NULL, &data, &out));
  return out;
}

static egraph_value zero_point(egraph_graph *graph, int value) {
  const int8_t data = (int8_t)value;
  egraph_value out;
  assert_ok(egraph_graph_add_weight(graph, "", EGRAPH_INT8, 0, NULL, &data, &out));
  return out;
}

static egraph_value weight(egraph_graph *graph, int32_t columns) {
  const int64_t dims[] = {DEPTH, columns};
  int8_t data[DEPTH * DEPTH];
  uint32_t state = 7;
  egraph_value out;
  for (int32_t i = 0; i < DEPTH * columns; i++) {
    state = state * 1664525 + 1013904223;
    data[i] = (int8_t)((state >> 24) % 15) - 7;
  }
  assert_ok(egraph_graph_add_weight(graph, "", EGRAPH_INT8, 2, dims, data, &out));
  return out;
}

/// x w, as one product or as two halves of its sums.
static egraph_value multiply(egraph_graph *graph, egraph_value x, egraph_value w,
                             int columns, bool is_split) {
  egraph_value halves[2];
  if (!is_split) return NODE(graph, "matmul", NULL, x, w);
  for (int i = 0; i < 2; i++) {
    int from = i * DEPTH / 2, to = from + DEPTH / 2;
    char left[96], right[96];
    (void)snprintf(left, sizeof left, ":starts [0 %d] :ends [%d %d] :steps [1 1]", from,
                   ROWS, to);
    (void)snprintf(right, sizeof right, ":starts [%d 0] :ends [%d %d] :steps [1 1]", from,
                   to, columns);
    halves[i] = NODE(graph, "matmul", NULL, node(graph, "slice", left, &x, 1),
                     node(graph, "slice", right, &w, 1));
  }
  return NODE(graph, "add", NULL, halves[0], halves[1]);
}

static egraph_value shifted(egraph_graph *graph, egraph_value x, const net *n) {
  const int64_t dims[] = {COLUMNS};
  float data[COLUMNS];
  egraph_value bias;
  if (n->shift == 0) return x;
  for (int i = 0; i < COLUMNS; i++)
    data[i] = n->one_channel && i != 5 ? 0 : (float)(n->shift * scales[2].value);
  assert_ok(egraph_graph_add_weight(graph, "", EGRAPH_FLOAT32, 1, dims, data, &bias));
  return NODE(graph, "add", NULL, x, bias);
}

static egraph_graph *build(const egraph_allocator *alloc, const net *n) {
  const int64_t dims[] = {ROWS, DEPTH};
  egraph_graph *graph;
  egraph_value x, s[4];
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, dims, &x));
  for (int i = 0; i < 4; i++)
    s[i] = number(graph, scales[i].name,
                  i == 1 && n->layers > 2 ? deep_weights : scales[i].value);
  egraph_value zx = zero_point(graph, 3), zw = zero_point(graph, 0);
  egraph_value zy = zero_point(graph, n->zero), plain = zero_point(graph, 5);
  egraph_value q = NODE(graph, "quantize-linear", NULL, x, s[0], zx), sq = s[0], zq = zx;
  egraph_value plain_y = x;
  for (int layer = 0; layer < n->layers; layer++) {
    bool is_last = layer + 1 == n->layers;
    egraph_value w = weight(graph, is_last ? COLUMNS : DEPTH), z = is_last ? zy : plain;
    egraph_value sz = is_last ? s[2] : s[3];
    if (n->product == INTEGER) {
      q = NODE(graph, "qlinear-matmul", NULL, q, sq, zq, w, s[1], zw, sz, z);
    } else {
      egraph_value d = NODE(graph, "dequantize-linear", NULL, q, sq, zq);
      if (layer != 0 && layer == n->unquantized) d = plain_y;
      egraph_value v = NODE(graph, "dequantize-linear", NULL, w, s[1], zw);
      egraph_value y =
          multiply(graph, d, v, is_last ? COLUMNS : DEPTH, n->product == SPLIT);
      if (is_last) y = shifted(graph, y, n);
      plain_y = y;
      q = NODE(graph, "quantize-linear", NULL, y, sz, z);
    }
    sq = sz, zq = plain;
  }
  if (n->is_back) q = NODE(graph, "dequantize-linear", NULL, q, s[2], plain);
  assert_ok(egraph_graph_add_output(graph, "y", q));
  return graph;
}

static egraph_comparison compare(const egraph_allocator *alloc, net a, net b,
                                 const char *backend, uint64_t seed) {
  a.zero += 5, b.zero += 5;
  egraph_graph *first = build(alloc, &a), *second = build(alloc, &b);
  egraph_compare_options options = egraph_compare_options_default();
  egraph_comparison c;
  options.backend = backend;
  options.repeats = 1;
  options.seed = seed;
  assert_ok(egraph_compare(alloc, first, second, &options, &c));
  egraph_graph_destroy(first);
  egraph_graph_destroy(second);
  return c;
}

static void neighbours_of_halves_are_explained(void **state) {
  api_kit *kit = *state;
  static const char *const backends[] = {"cpu", "reference"};
  uint64_t differ = 0;
  for (uint64_t seed = 1; seed <= 5; seed++)
    for (int i = 0; i < 8; i++) {
      net a = {.layers = 1 + i % 2, .is_back = i / 2 % 2}, b = a;
      b.product = SPLIT;
      egraph_comparison c = compare(&kit->alloc, a, b, backends[i / 4], seed);
      if (c.quanta_unexplained != 0)
        fail_msg("seed %d, case %d: %d of %d unexplained", (int)seed, i,
                 (int)c.quanta_unexplained, (int)c.quanta_differ);
      assert_true(c.plain_error == 0);
      assert_true(c.max_steps <= 1 || a.layers == 2);
      differ += c.quanta_differ;
      // As integers, and back.
      b.product = INTEGER;
      c = compare(&kit->alloc, a, b, "cpu", seed);
      assert_int_equal(c.quanta_unexplained, 0);
      differ += c.quanta_differ;
      c = compare(&kit->alloc, b, a, "cpu", seed);
      assert_int_equal(c.quanta_unexplained, 0);
    }
  assert_true(differ > 20);
}

/// Rounded quanta move others: after eight layers outputs differ by several steps, of
/// which none is an error, because the sums differ by their order alone.
static void steps_grow_through_layers(void **state) {
  api_kit *kit = *state;
  double steps = 0;
  for (uint64_t seed = 1; seed <= 3; seed++)
    for (int i = 0; i < 8; i++) {
      net a = {.layers = 4 << i / 4, .is_back = i % 2}, b = a;
      a.product = i / 2 % 2 == 0 ? WHOLE : INTEGER;
      b.product = SPLIT;
      egraph_comparison c = compare(&kit->alloc, a, b, "cpu", seed);
      if (c.quanta_unexplained != 0)
        fail_msg("seed %d, case %d: %d of %d unexplained", (int)seed, i,
                 (int)c.quanta_unexplained, (int)c.quanta_differ);
      steps = fmax(steps, c.max_steps);
    }
  assert_true(steps > 3);
}

/// Of the same net but for an error.
static egraph_comparison compare_wrong(api_kit *kit, net right, net wrong) {
  wrong.layers = right.layers;
  wrong.is_back = right.is_back;
  egraph_comparison c = compare(&kit->alloc, right, wrong, "cpu", 3);
  if (c.quanta_unexplained == 0)
    fail_msg("%d layers, shift %g: %d differ, all explained", (int)right.layers,
             (double)wrong.shift, (int)c.quanta_differ);
  return c;
}

/// There, too, half a step everywhere is an error, a step in a channel, and a layer
/// after which nothing is quantized.
static void errors_are_found_behind_layers(void **state) {
  static const net wrong[] = {{.shift = 0.5},
                              {.shift = -0.5, .product = SPLIT},
                              {.shift = 1, .one_channel = true, .product = SPLIT},
                              {.unquantized = 1},
                              {.unquantized = 3, .product = SPLIT}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    for (int k = 0; k < 4; k++)
      (void)compare_wrong(*state, (net){.layers = 4 << k / 2, .is_back = k % 2},
                          wrong[i]);
}

static void a_step_everywhere_or_in_a_channel_is_not(void **state) {
  static const net wrong[] = {{.zero = 1},    {.zero = -1, .product = SPLIT},
                              {.shift = 1},   {.shift = -1, .product = SPLIT},
                              {.shift = 0.5}, {.shift = 1, .one_channel = true}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    for (int k = 0; k < 4; k++) {
      egraph_comparison c =
          compare_wrong(*state, (net){.layers = 1 + k % 2, .is_back = k / 2}, wrong[i]);
      assert_true(c.max_steps >= 1 - 1e-6);
    }
}

/// The quantizing operators of back-end cpu are those of the reference, bit for bit.
static void the_cpu_rounds_as_the_reference(void **state) {
  api_kit *kit = *state;
  for (int i = 0; i < 4; i++) {
    const net n = {.layers = i / 2 * 2, .is_back = i % 2, .product = INTEGER};
    egraph_graph *graph = build(&kit->alloc, &n);
    float x[ROWS * DEPTH], y[2][ROWS * DEPTH] = {{0}};
    for (int e = 0; e < ROWS * DEPTH; e++) // halves of the scale among them
      x[e] = (float)(e % 300 - 150) * 0.05F;
    const char *backends[] = {"cpu", "reference"};
    for (int b = 0; b < 2; b++) {
      egraph_session_options options = egraph_session_options_default();
      egraph_session *session;
      egraph_tensor in, out;
      const char *name;
      options.backend = backends[b];
      assert_ok(egraph_graph_input(graph, 0, &name, &in));
      assert_ok(egraph_graph_output(graph, 0, &name, &out));
      in.data = x;
      out.data = y[b];
      assert_ok(egraph_session_create(&kit->alloc, graph, &options, &session));
      assert_ok(egraph_session_run(session, &in, 1, &out, 1));
      egraph_session_destroy(session);
    }
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    egraph_graph_destroy(graph);
  }
}

typedef struct packed {
  void *bytes[2];
  size_t size[2];
} packed;

/// The copies of a graph come from its allocator.
static egraph_status compare_packed(egraph_allocator alloc, void *user) {
  const packed *p = user;
  egraph_graph *graphs[2] = {NULL, NULL};
  egraph_compare_options options = egraph_compare_options_default();
  egraph_comparison c;
  egraph_status status = EGRAPH_OK;
  options.repeats = 1;
  for (int i = 0; status == EGRAPH_OK && i < 2; i++)
    status =
        egraph_graph_parse(&alloc, "net.onnx", p->bytes[i], p->size[i], NULL, &graphs[i]);
  if (status == EGRAPH_OK)
    status = egraph_compare(&alloc, graphs[0], graphs[1], &options, &c);
  if (status == EGRAPH_OK) assert_true(c.quanta_unexplained != 0);
  egraph_graph_destroy(graphs[0]);
  egraph_graph_destroy(graphs[1]);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  packed p;
  for (int i = 0; i < 2; i++) {
    const net n = {.layers = 2, .is_back = true, .zero = 5 + i};
    egraph_graph *graph = build(NULL, &n);
    assert_ok(egraph_graph_pack(NULL, graph, &p.bytes[i], &p.size[i]));
    egraph_graph_destroy(graph);
  }
  test_every_allocation_failing(compare_packed, &p);
  for (int i = 0; i < 2; i++)
    egraph_bytes_free(NULL, p.bytes[i], p.size[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(neighbours_of_halves_are_explained),
      api_test(a_step_everywhere_or_in_a_channel_is_not),
      api_test(steps_grow_through_layers),
      api_test(errors_are_found_behind_layers),
      api_test(the_cpu_rounds_as_the_reference),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
