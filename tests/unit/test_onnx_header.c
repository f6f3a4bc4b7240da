// What a model says beside its nodes survives reading and writing: documentation,
// metadata, who made it, inputs with a default value.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/graph_copy.h"
#include "tests/unit/onnx_kit.h"

static void put_entry(onnx_kit *kit, const char *key, const char *value) {
  Onnx__StringStringEntryProto *entry = kit_alloc(kit, 1, sizeof *entry);
  *entry = (Onnx__StringStringEntryProto)ONNX__STRING_STRING_ENTRY_PROTO__INIT;
  entry->key = kit_string_copy(kit, key);
  entry->value = kit_string_copy(kit, value);
  kit->entries[kit->model.n_metadata_props++] = entry;
}

static Onnx__ModelProto *pack_again(const eg_graph *graph) {
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  eg_free(eg_graph_allocator(graph), bytes, size, 1);
  return model;
}

static const char *entry_of(const Onnx__ModelProto *model, const char *key) {
  for (size_t i = 0; i < model->n_metadata_props; i++)
    if (strcmp(model->metadata_props[i]->key, key) == 0)
      return model->metadata_props[i]->value;
  return NULL;
}

// ---- documentation ------------------------------------------------------------------

static void build_documented(onnx_kit *kit) {
  kit_begin(kit, 13);
  kit->model.producer_name = kit_string_copy(kit, "pytorch");
  kit->model.producer_version = kit_string_copy(kit, "2.9");
  kit->model.domain = kit_string_copy(kit, "org.example");
  kit->model.has_model_version = true;
  kit->model.model_version = 7;
  kit->model.doc_string = kit_string_copy(kit, "a model");
  put_entry(kit, "author", "somebody");
  put_entry(kit, "egraph.format:a", "nhwc"); // ours, and of no tensor
  kit->graph.name = kit_string_copy(kit, "net");
  kit->graph.doc_string = kit_string_copy(kit, "a graph");
  kit_input(kit, "x", "float32[2]")->doc_string = kit_string_copy(kit, "an input");
  kit_weight(kit, "w", "float32[2]", (const float[]){1.0F, 2.0F})->doc_string =
      kit_string_copy(kit, "a weight");
  (void)kit_node(kit, "Add", "x,w", "s");
  Onnx__NodeProto *kept = kit_node(kit, "Fancy", "s", "f");
  kept->name = kit_string_copy(kit, "kept");
  kept->doc_string = kit_string_copy(kit, "a node");
  (void)kit_node(kit, "Relu", "s", "y");
  kit_declare(kit, "s", "float32[2]");
  kit->infos[0]->doc_string = kit_string_copy(kit, "a sum");
  kit_output(kit, "y");
  kit_output(kit, "f");
  kit->outputs[0]->doc_string = kit_string_copy(kit, "an output");
}

static void expect_documented(const eg_graph *graph) {
  Onnx__ModelProto *model = pack_again(graph);
  const Onnx__GraphProto *inner = model->graph;
  assert_string_equal(model->producer_name, "pytorch");
  assert_string_equal(model->producer_version, "2.9");
  assert_string_equal(model->domain, "org.example");
  assert_int_equal(model->model_version, 7);
  assert_string_equal(model->doc_string, "a model");
  assert_int_equal(model->n_metadata_props, 1);
  assert_string_equal(entry_of(model, "author"), "somebody");
  assert_string_equal(inner->name, "net");
  assert_string_equal(inner->doc_string, "a graph");
  assert_string_equal(inner->input[0]->doc_string, "an input");
  assert_string_equal(inner->output[0]->doc_string, "an output");
  assert_null(inner->output[1]->doc_string);
  assert_string_equal(inner->initializer[0]->doc_string, "a weight");
  assert_int_equal(inner->n_value_info, 1);
  assert_string_equal(inner->value_info[0]->doc_string, "a sum");
  for (size_t i = 0; i < inner->n_node; i++) {
    if (strcmp(inner->node[i]->op_type, "Fancy") != 0) continue;
    assert_string_equal(inner->node[i]->name, "kept");
    assert_string_equal(inner->node[i]->doc_string, "a node");
  }
  onnx__model_proto__free_unpacked(model, NULL);
}

static void documentation_survives(void **state) {
  (void)state;
  onnx_kit kit;
  eg_graph *graph, *copy, *parsed;
  eg_text text;
  build_documented(&kit);
  assert_ok(kit_import(&kit, NULL, &graph));
  kit_end(&kit);
  expect_documented(graph);
  assert_ok(eg_graph_folded(graph, &(eg_fold_options){.max_bytes = 1 << 20}, &copy));
  expect_documented(copy);
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_graph_print(graph, &text));
  assert_ok(eg_graph_parse(NULL, "t", eg_text_of(&text), text.chars.len, &parsed));
  expect_documented(parsed);
  eg_text_deinit(&text);
  eg_graph_destroy(parsed);
  eg_graph_destroy(copy);
  eg_graph_destroy(graph);
}

static void models_without_documentation_have_no_header(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  (void)kit_node(&kit, "Relu", "x", "y");
  kit_output(&kit, "y");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (relu x))\n(output y)\n");
}

static void damaged_headers_are_refused(void **state) {
  (void)state;
  static const char text[] = "(egraph-graph 1)\n(input x \"float32[2]\")\n(output x)\n"
                             "(header \"0aff\")\n";
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_graph_parse(NULL, "t", text, sizeof text - 1, &graph));
  assert_fails(eg_onnx_pack(graph, &bytes, &size), EGRAPH_E_PARSE, "header");
  eg_graph_destroy(graph);
  assert_fails(eg_graph_parse(NULL, "t", "(egraph-graph 1)(header x)", 26, &graph),
               EGRAPH_E_PARSE, "expected one (header");
}

// ---- inputs with default values -----------------------------------------------------

/// y = x + (w + w), w with a default.
static void build_with_default(onnx_kit *kit, int64_t ir_version) {
  kit_begin(kit, 13);
  kit->model.has_ir_version = true;
  kit->model.ir_version = ir_version;
  kit_input(kit, "x", "float32[2]");
  kit_input(kit, "w", "float32[2]");
  (void)kit_weight(kit, "w", "float32[2]", (const float[]){1.0F, 2.0F});
  (void)kit_node(kit, "Add", "w,w", "d");
  (void)kit_node(kit, "Add", "x,d", "y");
  kit_output(kit, "y");
}

static void defaults_stay_defaults(void **state) {
  (void)state;
  onnx_kit kit;
  eg_graph *graph, *folded;
  build_with_default(&kit, 8);
  assert_ok(kit_import(&kit, NULL, &graph));
  kit_end(&kit);
  assert_ok(eg_graph_folded(graph, &(eg_fold_options){.max_bytes = 1 << 20}, &folded));
  kit_expect_graph(folded, "(egraph-graph 1)\n(input x \"float32[2]\")\n"
                           "(input w \"float32[2]\" [1.0 2.0])\n(let d (add w w))\n"
                           "(let y (add x d))\n(output y)\n");
  assert_ok(eg_graph_check(folded));
  Onnx__ModelProto *model = pack_again(folded);
  assert_int_equal(model->graph->n_input, 2);
  assert_int_equal(model->graph->n_initializer, 1);
  assert_string_equal(model->graph->initializer[0]->name, "w");
  onnx__model_proto__free_unpacked(model, NULL);
  eg_graph_destroy(folded);
  eg_graph_destroy(graph);
  build_with_default(&kit, 8);
  kit_expect(&kit, "(input x \"float32[2]\")\n(input w \"float32[2]\" [1.0 2.0])\n"
                   "(let d (add w w))\n(let y (add x d))\n(output y)\n");
}

static void defaults_may_be_fixed(void **state) {
  (void)state;
  onnx_kit kit;
  build_with_default(&kit, 3); // every initializer is listed there
  static const char weights[] =
      "(egraph-graph 1)\n(input x \"float32[2]\")\n(weight d \"float32[2]\" [2.0 4.0])\n"
      "(let y (add x d))\n(output y)\n";
  eg_graph *graph;
  assert_ok(kit_import(&kit, NULL, &graph));
  kit_expect_graph(graph, weights);
  eg_graph_destroy(graph);
  kit_end(&kit);
  build_with_default(&kit, 8);
  size_t size;
  const uint8_t *bytes = kit_bytes(&kit, &size);
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.fixes_defaults = true;
  assert_ok(eg_onnx_parse(NULL, "m", bytes, size, NULL, &options, &graph));
  kit_expect_graph(graph, weights);
  eg_graph_destroy(graph);
  kit_end(&kit);
}

static void shapes_by_default_are_not_known(void **state) {
  (void)state;
  onnx_kit kit;
  eg_graph *graph;
  kit_begin(&kit, 13);
  kit.model.has_ir_version = true;
  kit.model.ir_version = 8;
  kit_input(&kit, "x", "float32[2,3]");
  kit_input(&kit, "shape", "int64[1]");
  kit_vector(&kit, "shape", 1, (const int64_t[]){6});
  (void)kit_node(&kit, "Reshape", "x,shape", "y");
  kit_output(&kit, "y");
  assert_ok(kit_import(&kit, NULL, &graph));
  kit_end(&kit);
  assert_int_equal(eg_graph_node_at(graph, (eg_graph_node){0}).attrs->op, EG_OP_OPAQUE);
  eg_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(documentation_survives),
      cmocka_unit_test(models_without_documentation_have_no_header),
      cmocka_unit_test(damaged_headers_are_refused),
      cmocka_unit_test(defaults_stay_defaults),
      cmocka_unit_test(defaults_may_be_fixed),
      cmocka_unit_test(shapes_by_default_are_not_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
