// Attention on the back-end for CUDA, over the emulator, or on a device: random sizes,
// masks and element types, with NaN and infinities among the operands, give what the
// reference gives.
// SPDX-License-Identifier: Apache-2.0
#include "exec/backend.h"
#include "tests/gpu/device_name.h"
#include "tests/unit/random_nodes.h"
#include "tests/unit/session_kit.h"

typedef struct element_type {
  const char *name;
  double tolerance; // of results, whose rounding is the type's
} element_type;
static const element_type element_types[] = {
    {"float32", 1e-5}, {"float64", 1e-12}, {"float16", 1e-3}, {"bfloat16", 8e-3}};
enum { TYPE_COUNT = sizeof element_types / sizeof *element_types };

/// Sizes of an attention; letters as in ops/attention.h.
typedef struct sizes {
  int64_t batch[2], groups, heads, rows, keys, depth, columns;
  uint32_t batches;
  bool is_rows_first;
} sizes;

static sizes draw_sizes(random_node *r) {
  static const int64_t lengths[] = {1, 2, 7, 33, 70}, widths[] = {1, 3, 8, 20, 66};
  sizes s = {.batch = {1 + draw_below(r, 2), 1},
             .groups = 1 + draw_below(r, 2),
             .rows = draw_of(r, lengths, 5),
             .keys = draw_of(r, lengths, 5),
             .depth = draw_of(r, widths, 5),
             .columns = draw_of(r, widths, 5),
             .batches = (uint32_t)draw_below(r, 3),
             .is_rows_first = draw_below(r, 2) != 0};
  s.heads = s.groups * (1 + draw_below(r, 2));
  return s;
}

#define PUT(...) assert_ok(eg_text_printf(&r->text, __VA_ARGS__))

static void put_tensor(random_node *r, const char *name, const char *type,
                       const int64_t *dims, uint32_t rank) {
  PUT("(input %s \"%s[", name, type);
  for (uint32_t dim = 0; dim < rank; dim++)
    PUT("%s%d", dim == 0 ? "" : ",", (int)dims[dim]);
  PUT("]\")");
}

static void put_heads(random_node *r, const char *name, const char *type, const sizes *s,
                      int64_t heads, int64_t rows, int64_t width) {
  int64_t dims[5] = {s->batch[0], s->batch[1]};
  dims[s->batches] = s->is_rows_first ? rows : heads;
  dims[s->batches + 1] = s->is_rows_first ? heads : rows;
  dims[s->batches + 2] = width;
  put_tensor(r, name, type, dims, s->batches + 3);
}

/// Puts a mask that broadcasts to the scores, two times in three; false: none.
static bool put_mask(random_node *r, const char *type, const sizes *s) {
  int64_t dims[5] = {s->batch[0], s->batch[1]};
  int64_t kind = draw_below(r, 3);
  uint32_t rank = s->batches + 3, skipped = (uint32_t)draw_below(r, rank);
  dims[s->batches] = s->heads;
  dims[s->batches + 1] = s->rows;
  dims[s->batches + 2] = s->keys;
  for (uint32_t dim = 0; dim < rank; dim++)
    if (draw_below(r, 4) == 0) dims[dim] = 1;
  if (kind == 0) return false;
  put_tensor(r, "m", kind == 1 ? "bool" : type, dims + skipped, rank - skipped);
  return true;
}

static const char *draw_attributes(random_node *r, const sizes *s, char *out,
                                   size_t bytes) {
  static const int64_t windows[] = {0, 0, 1, 5, 40};
  (void)snprintf(out, bytes,
                 ":scale %s :causal %d :window %d :offset %d :softcap %s :safe %d"
                 " :rows_first %d",
                 draw_below(r, 2) ? "0.35" : "-1.5", (int)draw_below(r, 2),
                 (int)draw_of(r, windows, 5), (int)draw_below(r, 40) - 10,
                 draw_below(r, 3) ? "0.0" : "2.5", (int)draw_below(r, 2),
                 s->is_rows_first);
  return out;
}

static void put_attention(random_node *r, const char *type) {
  char attributes[160];
  const sizes s = draw_sizes(r);
  draw_attributes(r, &s, attributes, sizeof attributes);
  PUT("(egraph-graph 1)");
  put_heads(r, "q", type, &s, s.heads, s.rows, s.depth);
  put_heads(r, "k", type, &s, s.groups, s.keys, s.depth);
  put_heads(r, "v", type, &s, s.groups, s.keys, s.columns);
  const char *mask = put_mask(r, type, &s) ? " m" : "";
  PUT("(let [o s] (attention %s q k v%s))(output o)(output s)", attributes, mask);
  put_heads(r, "d", type, &s, s.heads, s.rows, s.columns);
  // Weights are divided by their sum, so that a shift of all logarithms has no effect.
  PUT("(let c (fill :dtype %s :shape [] :value 0.5))(let t (add s c))",
      strcmp(type, "float64") == 0 ? type : "float32");
  PUT("(let [x y z] (attention-grad %s d q k v o t%s))(output x)(output y)(output z)",
      attributes, mask);
}

/// Replaces a few elements by values that are not finite.
static void put_specials(random_node *r, const kit_tensors *inputs) {
  static const double values[] = {NAN, INFINITY, -INFINITY};
  for (int64_t left = 1 + draw_below(r, 4); left > 0; left--) {
    const eg_tensor *x = &inputs->items[eg_rng_below(&r->rng, inputs->count)];
    int64_t count = eg_type_elements(&x->type);
    double value = values[draw_below(r, 3)];
    int64_t at = draw_below(r, (uint64_t)count);
    if (eg_dtype_is_float(x->type.dtype)) eg_tensor_set_double(x, at, value);
  }
}

/// Every node has a kernel on the device: the reference would agree with itself.
static void check_kernels(const eg_graph *graph) {
  eg_backend *backend;
  eg_backend_options options = {.threads = 1};
  assert_ok(eg_backend_create(NULL, device_name(), &options, &backend));
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){n});
    eg_type inputs[8], results[8];
    eg_program *program;
    for (uint32_t i = 0; i < info.input_count; i++)
      inputs[i] = eg_graph_value(graph, info.inputs[i])->type;
    for (uint32_t i = 0; i < info.result_count; i++)
      results[i] = eg_graph_value(graph, info.results[i])->type;
    const eg_node_spec spec = {.attrs = info.attrs,
                               .inputs = inputs,
                               .input_count = info.input_count,
                               .results = results,
                               .result_count = info.result_count};
    assert_ok(backend->vtable->compile(backend, &(eg_compile_request){.spec = &spec},
                                       &program));
    assert_true(program->info.native);
    eg_program_destroy(program);
  }
  eg_backend_destroy(backend);
}

/// The largest difference, relative to 1 + the largest magnitude of the tensor: where all
/// weights are 1, gradients are roundings of 0. Infinite where only one is NaN.
static double error_of(const eg_tensor *want, const eg_tensor *have) {
  double scale = 1, difference = 0;
  for (int64_t i = 0; i < eg_type_elements(&want->type); i++) {
    double a = eg_tensor_get_double(want, i), b = eg_tensor_get_double(have, i);
    if (isfinite(a)) scale = fmax(scale, 1 + fabs(a));
    if (a == b || (isnan(a) && isnan(b))) continue;
    difference = isfinite(a - b) ? fmax(difference, fabs(a - b)) : INFINITY;
  }
  return difference / scale;
}

static void compare(const eg_graph *graph, const char *text, const kit_tensors *inputs,
                    double tolerance) {
  kit_tensors want, have;
  kit_run(graph, "reference", 1, inputs, &want);
  kit_run(graph, device_name(), 1, inputs, &have);
  for (uint32_t i = 0; i < want.count; i++) {
    double error = error_of(&want.items[i], &have.items[i]);
    if (!(error <= tolerance)) fail_msg("error %g of output %u: %s", error, i, text);
  }
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
}

static void check(random_node *r, double tolerance, bool has_specials) {
  const char *text = eg_text_of(&r->text);
  eg_graph *graph = kit_parse("attention", text);
  kit_tensors inputs;
  check_kernels(graph);
  kit_inputs_draw(graph, &inputs);
  if (has_specials) put_specials(r, &inputs);
  compare(graph, text, &inputs, tolerance);
  kit_tensors_deinit(&inputs);
  eg_graph_destroy(graph);
}

static void attention_agrees_with_the_reference(void **state) {
  (void)state;
  eg_rng rng = {test_seed(31)};
  for (size_t round = 0; round < test_rounds(32); round++) {
    const element_type *type = &element_types[round / 2 % TYPE_COUNT];
    random_node r = {.rng = {eg_rng_next(&rng)}};
    eg_text_init(&r.text, eg_allocator_heap());
    put_attention(&r, type->name);
    check(&r, type->tolerance, round % 2 != 0);
    eg_text_deinit(&r.text);
  }
}

/// No query sees a key of the last tile, but 0 times infinity is NaN.
static void infinities_reach_tiles_that_no_query_sees(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-graph 1)(input q \"float32[1,3,3]\")(input k \"float32[1,70,3]\")"
      "(input v \"float32[1,70,2]\")(input d \"float32[1,3,2]\")"
      "(let [o s] (attention :window 5 :softcap 2.5 q k v))(output o)"
      "(let [x y z] (attention-grad :window 5 :softcap 2.5 d q k v o s))"
      "(output x)(output y)(output z)";
  eg_graph *graph = kit_parse("attention", text);
  for (uint32_t input = 0; input < eg_graph_input_count(graph); input++)
    for (int is_last = 0; is_last < 2; is_last++) {
      kit_tensors inputs;
      kit_inputs_draw(graph, &inputs);
      const eg_tensor *x = &inputs.items[input];
      int64_t last = eg_type_elements(&x->type) - 1;
      eg_tensor_set_double(x, is_last ? last : 0, INFINITY);
      compare(graph, text, &inputs, 1e-5);
      kit_tensors_deinit(&inputs);
    }
  eg_graph_destroy(graph);
}

/// Sums are in a fixed order, whatever order threads run in.
static void runs_have_the_same_bits(void **state) {
  (void)state;
  eg_rng rng = {test_seed(32)};
  for (size_t round = 0; round < test_rounds(6); round++) {
    random_node r = {.rng = {eg_rng_next(&rng)}};
    kit_tensors inputs, first, second;
    eg_text_init(&r.text, eg_allocator_heap());
    put_attention(&r, "float32");
    eg_graph *graph = kit_parse("attention", eg_text_of(&r.text));
    kit_inputs_draw(graph, &inputs);
    test_set_variable("EG_EMULATED_SEED", "76");
    kit_run(graph, device_name(), 1, &inputs, &first);
    test_set_variable("EG_EMULATED_SEED", "77");
    kit_run(graph, device_name(), 1, &inputs, &second);
    for (uint32_t i = 0; i < first.count; i++)
      assert_memory_equal(first.items[i].data, second.items[i].data,
                          eg_type_bytes(&first.items[i].type));
    kit_tensors_deinit(&inputs);
    kit_tensors_deinit(&first);
    kit_tensors_deinit(&second);
    eg_graph_destroy(graph);
    eg_text_deinit(&r.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_agrees_with_the_reference),
      cmocka_unit_test(infinities_reach_tiles_that_no_query_sees),
      cmocka_unit_test(runs_have_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
