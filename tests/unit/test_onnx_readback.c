// A model is checked before it is given out: each kind of wrong message is refused.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/write/writer.h"
#include "tests/unit/onnx_kit.h"

/// x, c: y = c ? relu(x) of a graph within : x + w, written as the kit's model.
static const char text[] = "(egraph-graph 1)\n(input x \"float32[2,3]\")\n"
                           "(weight w \"float32[2,3]\")\n(let y (add x w))\n(output y)";

typedef struct fixture {
  onnx_kit kit, within;
  Onnx__NodeProto *add, *kept;
} fixture;

static void begin(fixture *f) {
  static const float w[6] = {0};
  kit_begin(&f->kit, 13);
  kit_begin(&f->within, 13);
  (void)kit_input(&f->kit, "x", "float32[2,3]");
  (void)kit_weight(&f->kit, "w", "float32[2,3]", w);
  f->add = kit_node(&f->kit, "Add", "x,w", "y");
  (void)kit_node(&f->within, "Relu", "y", "r");
  kit_output(&f->within, "r");
  (void)kit_weight(&f->kit, "c", "bool[]", (const unsigned char[]){1});
  f->kept = kit_node(&f->kit, "If", "c", "z");
  for (int i = 0; i < 2; i++)
    kit_attr(&f->kit, f->kept, i == 0 ? "then_branch" : "else_branch",
             ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)
        ->g = &f->within.graph;
  kit_output(&f->kit, "y");
  f->kit.outputs[0] = kit_info(&f->kit, "y", "float32[2,3]");
  kit_declare(&f->kit, "z", "float32[2,3]");
}

static egraph_status check(egraph_allocator alloc, void *user) {
  const fixture *f = user;
  const char *names[] = {"x", "w", "y"};
  eg_graph *graph;
  eg_onnx_writer w;
  EG_TRY(eg_graph_parse(&alloc, "text", text, sizeof text - 1, &graph));
  eg_onnx_writer_init(&w, alloc, graph, 13);
  w.value_names = names;
  egraph_status status = eg_onnx_check_written(&w, &f->kit.model);
  eg_onnx_writer_deinit(&w);
  eg_graph_destroy(graph);
  return status;
}

static void refuse(fixture *f, const char *message) {
  assert_fails(check(eg_allocator_heap(), f), EGRAPH_E_INTERNAL, message);
  kit_end(&f->within);
  kit_end(&f->kit);
}

static void what_is_right_passes(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  assert_ok(check(eg_allocator_heap(), &f));
  test_every_allocation_failing(check, &f);
  kit_end(&f.within);
  kit_end(&f.kit);
}

static void names_are_made_once_and_before(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.add->input[1] = kit_string_copy(&f.kit, "y"); // its own result
  refuse(&f, "Add 'y' reads what nothing before makes, 'y'");
  begin(&f);
  f.kit.nodes[0] = f.kept; // reads y within
  f.kit.nodes[1] = f.add;
  refuse(&f, "Relu 'r' reads what nothing before makes, 'y'");
  begin(&f);
  f.kept->output[0] = kit_string_copy(&f.kit, "w");
  refuse(&f, "'w' is made twice");
  begin(&f);
  f.within.nodes[0]->output[0] = kit_string_copy(&f.kit, "x"); // hides an input
  refuse(&f, "'x' is made twice");
  begin(&f);
  f.within.nodes[0]->output[0] = kit_string_copy(&f.kit, "z"); // made by the node around
  refuse(&f, "'z' is made twice");
  begin(&f);
  (void)kit_weight(&f.kit, "w", "bool[]", (const unsigned char[]){1});
  refuse(&f, "'w' is made twice");
  begin(&f);
  f.kit.infos[0] = kit_info(&f.kit, "q", "float32[]");
  refuse(&f, "'q' is declared, and nothing makes it");
}

static void element_types_are_those_that_follow(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.kit.outputs[0] = kit_info(&f.kit, "y", "float64[2,3]");
  refuse(&f, "'y' is declared with another element type");
}

/// A function of ours has its types by the operands of the call.
static void functions_are_followed(void **state) {
  (void)state;
  fixture f;
  onnx_kit body;
  Onnx__FunctionProto function = ONNX__FUNCTION_PROTO__INIT, *functions[] = {&function};
  for (int fault = 0; fault < 3; fault++) {
    begin(&f);
    kit_begin(&body, 13);
    (void)kit_node(&body, fault == 1 ? "IsNaN" : "Neg", "a", "t");
    (void)kit_node(&body, "Identity", fault == 2 ? "x" : "t", "b");
    function.name = kit_string_copy(&body, "neg.1");
    function.domain = kit_string_copy(&body, "egraph");
    function.input = kit_names(&body, "a", &function.n_input);
    function.output = kit_names(&body, "b", &function.n_output);
    function.node = body.nodes;
    function.n_node = body.graph.n_node;
    function.n_opset_import = 1;
    function.opset_import = body.opsets;
    f.kit.model.n_functions = 1;
    f.kit.model.functions = functions;
    f.add->op_type = function.name;
    f.add->domain = function.domain;
    f.add->n_input = 1;
    if (fault == 0) {
      assert_ok(check(eg_allocator_heap(), &f));
      kit_end(&f.within);
      kit_end(&f.kit);
    } else {
      refuse(&f, fault == 1 ? "'y' is declared with another element type"
                            : "Identity 'b' reads what nothing before makes, 'x'");
    }
    kit_end(&body);
  }
}

static void the_interface_is_the_graph_s(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.kit.inputs[0] = kit_info(&f.kit, "x", "float32[1,3]");
  refuse(&f, "'x' is of another type when it is read");
  begin(&f);
  f.kit.inputs[0]->name = f.add->input[0] = kit_string_copy(&f.kit, "x.1");
  refuse(&f, "'x' is no input when it is read");
  begin(&f);
  f.kit.outputs[0] = kit_info(&f.kit, "z", "float32[2,3]");
  refuse(&f, "'y' is not the output");
  begin(&f);
  f.kit.graph.n_output = 0;
  refuse(&f, "has other outputs");
  begin(&f);
  f.add->op_type = kit_string_copy(&f.kit, "MatMul"); // [2,3] and [2,3]
  refuse(&f, "not readable");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_right_passes),
      cmocka_unit_test(names_are_made_once_and_before),
      cmocka_unit_test(element_types_are_those_that_follow),
      cmocka_unit_test(functions_are_followed),
      cmocka_unit_test(the_interface_is_the_graph_s),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
