// The functions that stand for our operators in exported models mean what the reference
// kernels compute: each is taken out of the model, imported as a model of its own, run on
// the same drawn inputs, and compared.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include <math.h>
#include <stdlib.h>

#include "onnx/onnx.h"
#include "onnx/write/writer.h"
#include "pcg/graph/weights.h"
#include "tests/unit/ops_fixture.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

enum { MAX_VALUES = 256, MAX_OPERANDS = 64 };

// ---- running --------------------------------------------------------------------

// Row-major tensors of all values; inputs are drawn by position, so that names do not
// matter.
typedef struct evaluation {
  const eg_graph *graph;
  eg_tensor tensors[MAX_VALUES];
} evaluation;

static eg_tensor allocate(const eg_type *type) {
  size_t bytes = eg_type_bytes(type);
  eg_tensor tensor = {.type = *type, .data = calloc(bytes != 0 ? bytes : 1, 1)};
  assert_non_null(tensor.data);
  return tensor;
}

static void run_node(evaluation *e, const eg_graph_node_info *node) {
  eg_tensor inputs[MAX_OPERANDS], outputs[MAX_OPERANDS];
  assert_true(node->input_count <= MAX_OPERANDS && node->result_count <= MAX_OPERANDS);
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = e->tensors[node->inputs[i].id];
  for (uint32_t i = 0; i < node->result_count; i++) {
    eg_value result = node->results[i];
    outputs[i] = e->tensors[result.id] =
        allocate(&eg_graph_value(e->graph, result)->type);
  }
  eg_kernel_call call = {.attrs = node->attrs,
                         .inputs = inputs,
                         .input_count = node->input_count,
                         .outputs = outputs,
                         .output_count = node->result_count,
                         .alloc = eg_allocator_heap()};
  assert_ok(eg_op_run(&call));
}

static void run_graph(evaluation *e, const eg_graph *graph) {
  *e = (evaluation){.graph = graph};
  assert_true(eg_graph_value_count(graph) <= MAX_VALUES);
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++) {
    char position[16];
    eg_value input = eg_graph_input(graph, i);
    (void)snprintf(position, sizeof position, "x%u", i);
    e->tensors[input.id] = allocate(&eg_graph_value(graph, input)->type);
    eg_input_draw(position, 11, &e->tensors[input.id]);
  }
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){i});
    if (info->kind != EG_VALUE_WEIGHT) continue;
    e->tensors[i] = allocate(&info->type);
    memcpy(e->tensors[i].data, eg_buffer_data(info->data), eg_buffer_size(info->data));
  }
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    run_node(e, &node);
  }
}

static void finish(evaluation *e) {
  for (uint32_t i = 0; i < MAX_VALUES; i++)
    free(e->tensors[i].data);
}

// Both compute with at most a few dozen roundings, on numbers of about one.
static void expect_close(const eg_tensor *got, const eg_tensor *wanted, bool is_short) {
  eg_type plain = wanted->type;
  plain.layout = got->type.layout;
  double bound = is_short ? 1e-2 : 2e-5;
  assert_true(eg_type_same(&got->type, &plain));
  for (int64_t i = 0; i < eg_type_elements(&got->type); i++) {
    double x = eg_tensor_get_double(got, i), y = eg_tensor_get_double(wanted, i);
    if (x != y && !(fabs(x - y) <= bound * fmax(1.0, fabs(y))) && !(isnan(x) && isnan(y)))
      fail_msg("element %lld is %.9g instead of %.9g", (long long)i, x, y);
  }
}

// ---- functions ------------------------------------------------------------------

static bool is_known(const Onnx__FunctionProto *function, size_t nodes,
                     const char *name) {
  for (size_t i = 0; i < function->n_input; i++)
    if (strcmp(function->input[i], name) == 0) return true;
  for (size_t n = 0; n < nodes; n++)
    for (size_t i = 0; i < function->node[n]->n_output; i++)
      if (strcmp(function->node[n]->output[i], name) == 0) return true;
  return name[0] == '\0';
}

static void check_order(const Onnx__FunctionProto *function) {
  for (size_t n = 0; n < function->n_node; n++)
    for (size_t i = 0; i < function->node[n]->n_input; i++)
      if (!is_known(function, n, function->node[n]->input[i]))
        fail_msg("%s is read before it is made", function->node[n]->input[i]);
}

// The only function of a model, as a model: its formal names are those of a copy of graph
// inputs and outputs.
static void inline_function(Onnx__ModelProto *model, eg_graph **out) {
  assert_int_equal(model->n_functions, 1);
  Onnx__FunctionProto *function = model->functions[0];
  Onnx__GraphProto *graph = model->graph;
  assert_int_equal(function->n_input, graph->n_input);
  assert_int_equal(function->n_output, graph->n_output);
  check_order(function);
  Onnx__GraphProto body = ONNX__GRAPH_PROTO__INIT;
  Onnx__ModelProto whole = ONNX__MODEL_PROTO__INIT;
  Onnx__ValueInfoProto inputs[8], outputs[8], *input_list[8], *output_list[8];
  for (size_t i = 0; i < function->n_input; i++) {
    inputs[i] = *graph->input[i];
    inputs[i].name = function->input[i];
    input_list[i] = &inputs[i];
  }
  for (size_t i = 0; i < function->n_output; i++) {
    outputs[i] = *graph->output[i];
    outputs[i].name = function->output[i];
    output_list[i] = &outputs[i];
  }
  body.n_input = function->n_input, body.input = input_list;
  body.n_output = function->n_output, body.output = output_list;
  body.n_node = function->n_node, body.node = function->node;
  whole.graph = &body;
  whole.n_opset_import = function->n_opset_import;
  whole.opset_import = function->opset_import;
  size_t size = onnx__model_proto__get_packed_size(&whole);
  uint8_t *bytes = malloc(size);
  assert_non_null(bytes);
  (void)onnx__model_proto__pack(&whole, bytes);
  assert_ok(eg_onnx_parse(NULL, function->name, bytes, size, NULL, NULL, out));
  free(bytes);
}

// One operator on fresh inputs of these types, its results as outputs.
static void check_operator(const char *term, const char *const *types) {
  char text[1024] = "(egraph-graph 1)\n";
  for (uint32_t i = 0; types[i] != NULL; i++) {
    size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, "(input x%u \"%s\")\n", i, types[i]);
  }
  size_t used = strlen(text);
  bool is_pair = strncmp(term, "(attention ", strlen("(attention ")) == 0;
  (void)snprintf(text + used, sizeof text - used, "(let %s %s)\n(output y)\n%s",
                 is_pair ? "[y z]" : "y", term, is_pair ? "(output z)\n" : "");
  print_message("%s\n", term);
  eg_graph *graph, *body;
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &graph));
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  inline_function(model, &body);
  onnx__model_proto__free_unpacked(model, NULL);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  assert_true(eg_graph_node_count(body) + eg_graph_value_count(body) > 0);
  static evaluation own, inlined;
  run_graph(&own, graph);
  run_graph(&inlined, body);
  bool is_short = eg_dtype_bytes(own.tensors[0].type.dtype) == 2;
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    expect_close(&inlined.tensors[eg_graph_output(body, i, NULL).id],
                 &own.tensors[eg_graph_output(graph, i, NULL).id], is_short);
  finish(&inlined);
  finish(&own);
  eg_graph_destroy(body);
  eg_graph_destroy(graph);
}

#define TYPES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CONV "(conv :strides [1 2] :pads [1 0 1 2] :dilations [1 1] :group 2 "

static void activations_mean_what_they_say(void **state) {
  (void)state;
  static const char *const acts[] = {"relu",
                                     "sigmoid",
                                     "tanh",
                                     "gelu",
                                     "gelu-tanh",
                                     "silu",
                                     "hard-swish",
                                     "clip :act_alpha -0.25 :act_beta 0.5",
                                     "elu :act_alpha 0.75",
                                     "leaky-relu :act_alpha 0.125",
                                     "clip :act_alpha 0.0 :act_beta inf"};
  for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
    char term[256];
    (void)snprintf(term, sizeof term, CONV ":act %s x0 x1 x2)", acts[i]);
    check_operator(term, TYPES("float32[2,4,5,6]", "float32[6,2,3,2]", "float32[6]"));
  }
}

static void fused_contractions_mean_what_they_say(void **state) {
  (void)state;
  check_operator(CONV "x0 x1 x2 x3)", TYPES("float32[2,4,5,6]", "float32[6,2,3,2]",
                                            "float32[6]", "float32[2,6,5,4]"));
  check_operator("(matmul :transA 1 x0 x1)", TYPES("float32[2,4,3]", "float32[4,5]"));
  check_operator("(matmul :transB 1 x0 x1)", TYPES("float32[4]", "float32[2,5,4]"));
  check_operator("(matmul :transA 1 :transB 1 :act relu x0 x1 x2 x3)",
                 TYPES("float32[2,4,3]", "float32[5,4]", "float32[5]", "float32[2,3,5]"));
  check_operator("(matmul x0 x1 x2)",
                 TYPES("float32[3,4]", "float32[4,5]", "float32[1,5]"));
}

static void unary_operators_mean_what_they_say(void **state) {
  (void)state;
  check_operator("(square x0)", TYPES("float32[3,4]"));
  check_operator("(silu x0)", TYPES("float32[3,4]"));
  check_operator("(mish x0)", TYPES("float32[3,4]"));
  check_operator("(gelu x0)", TYPES("float32[3,4]"));
  check_operator("(gelu :approximate tanh x0)", TYPES("float32[3,4]"));
  check_operator("(reduce-sum :axes [] x0)", TYPES("float32[3,4]"));
  check_operator("(reduce-max :axes [] :keepdims 0 x0)", TYPES("float32[3,4]"));
}

// Drawn inputs have both signs; a root wants none, so that the constant comes from the
// graph.
static void reciprocal_roots_mean_what_they_say(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-graph 1)\n(weight w \"float32[3]\" [0.25 4.0 2.0])\n"
      "(let y (rsqrt w))\n(output y)\n";
  eg_graph *graph;
  static evaluation e;
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &graph));
  run_graph(&e, graph);
  const float *y = e.tensors[1].data;
  assert_true(y[0] == 2.0F && y[1] == 0.5F && fabsf(y[2] - 0.70710678F) < 1e-6F);
  finish(&e);
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  assert_int_equal(model->functions[0]->n_node, 2);
  assert_string_equal(model->functions[0]->node[0]->op_type, "Sqrt");
  assert_string_equal(model->functions[0]->node[1]->op_type, "Reciprocal");
  onnx__model_proto__free_unpacked(model, NULL);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  eg_graph_destroy(graph);
}

static void attention_means_what_it_says(void **state) {
  (void)state;
  check_operator("(attention :scale 0.5 x0 x1 x2)",
                 TYPES("float32[2,4,3,6]", "float32[2,4,5,6]", "float32[2,4,5,2]"));
  check_operator("(attention :causal 1 :offset 2 :softcap 1.5 x0 x1 x2)",
                 TYPES("float32[2,4,3,6]", "float32[2,2,5,6]", "float32[2,2,5,2]"));
  check_operator(
      "(attention :causal 1 :window 3 :offset 1 x0 x1 x2 x3)",
      TYPES("float32[6,4,3]", "float32[2,7,3]", "float32[2,7,2]", "float32[6,1,7]"));
  check_operator("(attention :window 3 x0 x1 x2)",
                 TYPES("float32[2,4,3]", "float32[1,7,3]", "float32[1,7,2]"));
}

static void rope_means_what_it_says(void **state) {
  (void)state;
  check_operator("(rope x0 x1 x2)",
                 TYPES("float32[2,4,5,6]", "float32[5,3]", "float32[2,5,3]"));
  check_operator("(rope :interleaved 1 x0 x1 x2)",
                 TYPES("float32[2,4,5,7]", "float32[1,5,2]", "float32[5,2]"));
  check_operator("(rope :rows_first 1 x0 x1 x2)",
                 TYPES("float32[2,5,4,7]", "float32[1,5,2]", "float32[5,2]"));
  check_operator("(rope :interleaved 1 :rows_first 1 x0 x1 x2)",
                 TYPES("float32[5,4,6]", "float32[5,3]", "float32[5,3]"));
  check_operator("(rope :per_element 1 x0 x1 x2)",
                 TYPES("float32[2,4,5,7]", "float32[1,5,6]", "float32[5,6]"));
  check_operator("(rope :per_element 1 :interleaved 1 x0 x1 x2)",
                 TYPES("float32[2,4,5,6]", "float32[2,5,6]", "float32[5,6]"));
  check_operator("(rope :per_element 1 :interleaved 1 :rows_first 1 x0 x1 x2)",
                 TYPES("float32[5,4,7]", "float32[5,4]", "float32[5,4]"));
  check_operator("(rope :rows_first 1 x0 x1 x2)",
                 TYPES("float64[3,2,5,4,6]", "float64[2,5,3]", "float64[3,1,5,3]"));
}

static void normalizations_mean_what_they_say(void **state) {
  (void)state;
  check_operator("(rms-normalization :axis 1 :epsilon 0.125 x0 x1)",
                 TYPES("float32[2,3,4]", "float32[3,4]"));
  check_operator("(rms-normalization x0 x1)", TYPES("float32[2,3,4]", "float32[4]"));
  check_operator("(group-normalization :num_groups 3 :epsilon 0.01 x0 x1 x2)",
                 TYPES("float32[2,6,4,5]", "float32[6]", "float32[6]"));
}

static void weight_transformations_mean_what_they_say(void **state) {
  (void)state;
  check_operator("(enlarge :kernel_shape [5 3] x0)", TYPES("float32[4,2,3,1]"));
  check_operator("(merge-gconv :group 4 :count 2 x0)", TYPES("float32[8,3,2,2]"));
  check_operator("(merge-gconv :group 6 :count 3 x0)", TYPES("float32[6,2,1,1]"));
  check_operator("(eye :n 5)", TYPES(NULL));
  check_operator("(pool-kernel :channels 3 :kernel_shape [2 3])", TYPES(NULL));
  check_operator("(conv-identity :channels 6 :kernel_shape [3 5] :group 2)", TYPES(NULL));
}

// Operators whose functions no test above calls, too.
static void operators_in_all_cases_mean_what_they_say(void **state) {
  (void)state;
  for (size_t c = 0; c < OPS_CASES; c++) {
    const ops_case *row = &ops_cases[c];
    char term[512], words[512], *types[FIXTURE_MAX_TYPES + 1];
    uint32_t count = 0;
    fixture f;
    fixture_init(&f, row);
    const eg_onnx_item item = {
        .attrs = &f.attrs, .inputs = f.inputs, .input_count = f.count};
    bool needs = eg_onnx_needs_function(&item, eg_onnx_newest_opset());
    fixture_deinit(&f);
    if (!needs) continue;
    (void)snprintf(term, sizeof term, "(%s %s", eg_op_info_of(row->op)->name, row->attrs);
    (void)snprintf(words, sizeof words, "%s", row->inputs);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
      size_t used = strlen(term);
      (void)snprintf(term + used, sizeof term - used, " x%u", count);
      types[count++] = word;
    }
    types[count] = NULL;
    (void)strncat(term, ")", sizeof term - strlen(term) - 1);
    check_operator(term, (const char *const *)types);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(activations_mean_what_they_say),
      cmocka_unit_test(fused_contractions_mean_what_they_say),
      cmocka_unit_test(unary_operators_mean_what_they_say),
      cmocka_unit_test(reciprocal_roots_mean_what_they_say),
      cmocka_unit_test(attention_means_what_it_says),
      cmocka_unit_test(rope_means_what_it_says),
      cmocka_unit_test(normalizations_mean_what_they_say),
      cmocka_unit_test(weight_transformations_mean_what_they_say),
      cmocka_unit_test(operators_in_all_cases_mean_what_they_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
