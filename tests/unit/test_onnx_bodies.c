// Bodies that run where they are called: functions of a model, the branch of an If whose
// condition is known, short loops; and what of them is kept or refused.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/sets/versions.h"
#include "tests/unit/onnx_kit.h"

#include <stdlib.h>

enum { MOST_FUNCTIONS = 40 };

typedef struct bodies {
  onnx_kit kit;
  onnx_kit body[MOST_FUNCTIONS]; // nodes of the functions
  Onnx__FunctionProto *functions[MOST_FUNCTIONS];
  Onnx__OperatorSetIdProto *imports[4];
} bodies;

static bodies b;

static Onnx__OperatorSetIdProto *import_of(const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *set = kit_alloc(&b.kit, 1, sizeof *set);
  *set = (Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
  set->domain = kit_string_copy(&b.kit, domain);
  set->has_version = true;
  set->version = version;
  return set;
}

/// A model with the domain "my".
static void begin(int64_t opset) {
  kit_begin(&b.kit, opset);
  b.imports[0] = &b.kit.opset;
  b.imports[1] = import_of("my", 1);
  b.kit.model.opset_import = b.imports;
  b.kit.model.n_opset_import = 2;
  b.kit.model.functions = b.functions;
}

/// A function; its nodes are those of the kit that is returned, which `seal` takes over.
static onnx_kit *function(const char *name, const char *inputs, const char *outputs,
                          int64_t opset) {
  size_t index = b.kit.model.n_functions++;
  Onnx__FunctionProto *made = kit_alloc(&b.kit, 1, sizeof *made);
  *made = (Onnx__FunctionProto)ONNX__FUNCTION_PROTO__INIT;
  made->name = kit_string_copy(&b.kit, name);
  made->domain = kit_string_copy(&b.kit, "my");
  made->input = kit_names(&b.kit, inputs, &made->n_input);
  made->output = kit_names(&b.kit, outputs, &made->n_output);
  made->opset_import = kit_alloc(&b.kit, 3, sizeof *made->opset_import);
  made->opset_import[made->n_opset_import++] = import_of("", opset);
  made->opset_import[made->n_opset_import++] = import_of("my", 1);
  kit_begin(&b.body[index], opset);
  made->node = b.body[index].nodes;
  b.functions[index] = made;
  return &b.body[index];
}

static void seal(void) {
  for (size_t i = 0; i < b.kit.model.n_functions; i++)
    b.functions[i]->n_node = b.body[i].graph.n_node;
}

static Onnx__NodeProto *call(onnx_kit *kit, const char *name, const char *inputs,
                             const char *outputs) {
  Onnx__NodeProto *node = kit_node(kit, name, inputs, outputs);
  node->domain = kit_string_copy(kit, "my");
  return node;
}

static void free_bodies(void) {
  for (size_t i = 0; i < b.kit.model.n_functions; i++)
    kit_end(&b.body[i]);
}

static void expect(const char *wanted) {
  seal();
  kit_expect(&b.kit, wanted);
  free_bodies();
}

static void refuse(const char *message) {
  seal();
  kit_refuse(&b.kit, EGRAPH_E_PARSE, message);
  free_bodies();
}

static Onnx__AttributeProto *refer(onnx_kit *kit, Onnx__NodeProto *node, const char *name,
                                   const char *to,
                                   Onnx__AttributeProto__AttributeType type) {
  Onnx__AttributeProto *attr = kit_attr(kit, node, name, type);
  attr->ref_attr_name = kit_string_copy(kit, to);
  return attr;
}

// ---- functions ----------------------------------------------------------------------

static void functions_are_inlined(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)kit_input(&b.kit, "w", "float32[2]");
  call(&b.kit, "f", "x,w", "a")->name = kit_string_copy(&b.kit, "first");
  (void)call(&b.kit, "f", "a,x", "c");
  (void)call(&b.kit, "f", "c,x", "y");
  kit_output(&b.kit, "y");
  onnx_kit *f = function("f", "p,q", "r", 13);
  kit_node(f, "Mul", "p,q", "t")->name = kit_string_copy(f, "product");
  (void)call(f, "g", "t", "r");
  (void)kit_node(function("g", "t", "u", 13), "Relu", "t", "u");
  expect("(input x \"float32[2]\")\n(input w \"float32[2]\")\n"
         "(let first/t (mul x w) :node first/product)\n(let a (relu first/t))\n"
         "(let f/t (mul a x) :node f/product)\n(let c (relu f/t))\n"
         "(let f/t.1 (mul c x) :node f/product)\n(let y (relu f/t.1))\n(output y)\n");
}

static void attributes_by_reference_are_the_call_s(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2,3]");
  kit_float(&b.kit, call(&b.kit, "f", "x", "a"), "slope", 0.5F);
  (void)call(&b.kit, "f", "a", "y");
  kit_output(&b.kit, "y");
  onnx_kit *f = function("f", "p", "r", 13);
  const Onnx__AttributeProto__AttributeType number =
      ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
  Onnx__NodeProto *inner = call(f, "g", "p", "r");
  (void)refer(f, inner, "alpha", "slope", number);
  onnx_kit *g = function("g", "p", "r", 13);
  (void)refer(g, kit_node(g, "LeakyRelu", "p", "r"), "alpha", "alpha", number);
  // The default of f; nobody gives one of g.
  Onnx__NodeProto *defaults = kit_node(f, "Unused", "", "");
  kit_float(f, defaults, "slope", 0.25F);
  b.functions[0]->attribute_proto = defaults->attribute;
  b.functions[0]->n_attribute_proto = 1;
  f->graph.n_node--;
  expect("(input x \"float32[2,3]\")\n(let a (leaky-relu :alpha 0.5 x))\n"
         "(let y (leaky-relu :alpha 0.25 a))\n(output y)\n");
}

static void operands_may_be_absent(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)kit_weight(&b.kit, "one", "float32[]", (const float[]){1.0F});
  (void)call(&b.kit, "f", "x,,one", "a");
  (void)call(&b.kit, "f", "a,one", "y");
  kit_output(&b.kit, "y");
  (void)kit_node(function("f", "p,low,high", "r,s", 13), "Clip", "p,low,high", "r");
  (void)kit_node(&b.body[0], "Exp", "p", "s"); // a result that no call takes
  expect("(input x \"float32[2]\")\n(let a (clip :max 1.0 x))\n"
         "(let f/s (exp x))\n(let y (clip :min 1.0 a))\n(let f/s.1 (exp a))\n"
         "(output y)\n");
}

static void results_may_be_operands(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)call(&b.kit, "f", "x", "a,c,d");
  (void)kit_node(&b.kit, "Sum", "a,c,d", "y");
  kit_output(&b.kit, "y");
  (void)kit_node(function("f", "p", "p,r,r", 13), "Exp", "p", "r");
  expect("(input x \"float32[2]\")\n(let c (exp x))\n(let y.1 (add x c))\n"
         "(let y (add y.1 c))\n(output y)\n");
}

// Softmax of set 12 sees a matrix, that of set 13 the last axis.
static void functions_have_operator_sets_of_their_own(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2,3,4]");
  (void)call(&b.kit, "f", "x", "a");
  (void)kit_node(&b.kit, "Softmax", "a", "y");
  kit_output(&b.kit, "y");
  (void)kit_node(function("f", "p", "r", 12), "Softmax", "p", "r");
  expect("(input x \"float32[2,3,4]\")\n(let a.1 (flatten x))\n"
         "(let a.2 (softmax :axis 1 a.1))\n(let a (reshape :shape [2 3 4] a.2))\n"
         "(let y (softmax :axis 2 a))\n(output y)\n");
}

static void functions_that_grow_are_refused(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)call(&b.kit, "f", "x", "y");
  kit_output(&b.kit, "y");
  (void)call(function("f", "p", "r", 13), "g", "p", "r");
  (void)call(function("g", "p", "r", 13), "f", "p", "r");
  refuse("m.onnx: the function 'f' calls itself");
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)call(&b.kit, "f0", "x", "y");
  kit_output(&b.kit, "y");
  for (int i = 0; i < MOST_FUNCTIONS; i++) { // 2^40 nodes
    char name[16], next[16];
    (void)snprintf(name, sizeof name, "f%d", i);
    (void)snprintf(next, sizeof next, "f%d", i + 1);
    onnx_kit *f = function(name, "p", "r", 13);
    (void)call(f, next, "p", "q");
    (void)call(f, next, "q", "r");
  }
  refuse("m.onnx: with its functions written out the model has more than 262144 nodes");
}

static void calls_that_do_not_fit_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *inputs, *outputs, *message;
  } cases[] = {
      {"x,x", "y", "node f (node 0): the function has 1 operands and 1 results"},
      {"x", "y,z", "node f (node 0): the function has 1 operands and 1 results"},
      {"", "y", "node f (node 0): node Relu (node 1): relu does not take 0 operands"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(13);
    (void)kit_input(&b.kit, "x", "float32[2]");
    (void)call(&b.kit, "f", cases[i].inputs, cases[i].outputs);
    kit_output(&b.kit, "y");
    (void)kit_node(function("f", "p", "r", 13), "Relu", "p", "r");
    refuse(cases[i].message);
  }
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)call(&b.kit, "f", "x", "y");
  kit_output(&b.kit, "y");
  (void)kit_node(function("f", "p", "r", 13), "Relu", "p", "s");
  refuse("m.onnx: node f (node 0): it has no result 0");
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)call(&b.kit, "f", "x", "y,z");
  kit_output(&b.kit, "y");
  (void)kit_node(function("f", "p", "r,q", 13), "Add", "p,q", "r"); // q is made nowhere
  refuse("m.onnx: node f (node 0): node Add (node 1): its operand 'z' does not exist");
  begin(13);
  (void)kit_node(function("f", "p", "r", 13), "Relu", "p", "r");
  (void)kit_node(function("f", "p", "r", 13), "Exp", "p", "r");
  refuse("m.onnx: there are two functions 'f'");
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)call(&b.kit, "f", "x", "y");
  (void)kit_node(function("f", "p", "r", 99), "Relu", "p", "r");
  refuse("the function 'f' is of operator set 99");
}

/// The import, written and unpacked.
static Onnx__ModelProto *written(void) {
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  seal();
  assert_ok(kit_import(&b.kit, NULL, &graph));
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  eg_graph_destroy(graph);
  kit_end(&b.kit);
  free_bodies();
  return model;
}

static const Onnx__NodeProto *node_of(const Onnx__ModelProto *model, const char *op) {
  for (size_t i = 0; i < model->graph->n_node; i++)
    if (strcmp(model->graph->node[i]->op_type, op) == 0) return model->graph->node[i];
  fail_msg("there is no %s", op);
  return NULL;
}

static Onnx__GraphProto *branch(onnx_kit *kit, Onnx__NodeProto *node, const char *name,
                                onnx_kit *body) {
  kit_attr(kit, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g =
      &body->graph;
  return &body->graph;
}

// What is kept in a function's body has that function's sets.
static void kept_nodes_of_functions_are_as_they_were(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2,3]");
  (void)call(&b.kit, "f", "x", "y");
  kit_output(&b.kit, "y");
  onnx_kit *f = function("f", "p", "r", 11);
  kit_node(f, "Own", "p", "h")->domain = kit_string_copy(f, "other");
  (void)kit_node(f, "Hardmax", "h", "r"); // another operator from set 13 on
  b.functions[0]->opset_import[b.functions[0]->n_opset_import++] = import_of("other", 3);
  Onnx__ModelProto *model = written();
  assert_int_equal(model->opset_import[0]->version, 12);
  assert_int_equal(model->n_functions, 0);
  assert_string_equal(node_of(model, "Own")->output[0], "f/h");
  bool is_imported = false;
  for (size_t i = 0; i < model->n_opset_import; i++)
    is_imported = is_imported || (strcmp(model->opset_import[i]->domain, "other") == 0 &&
                                  model->opset_import[i]->version == 3);
  assert_true(is_imported);
  onnx__model_proto__free_unpacked(model, NULL);
}

static void a_domain_has_one_version(void **state) {
  (void)state;
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  begin(13);
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)call(&b.kit, "f", "x", "a");
  (void)call(&b.kit, "g", "a", "y");
  kit_output(&b.kit, "y");
  (void)call(function("f", "p", "r", 13), "Own", "p", "r");
  (void)call(function("g", "p", "r", 13), "Own", "p", "r");
  b.functions[1]->opset_import[1] = import_of("my", 2);
  seal();
  assert_ok(kit_import(&b.kit, NULL, &graph));
  assert_fails(eg_onnx_pack(graph, &bytes, &size), EGRAPH_E_UNSUPPORTED,
               "versions 1 and 2 of the domain 'my'");
  eg_graph_destroy(graph);
  kit_end(&b.kit);
  free_bodies();
}

// Functions stay where a sub-graph that is kept calls them, and only those.
static void functions_of_kept_graphs_stay(void **state) {
  (void)state;
  onnx_kit then;
  begin(13);
  kit_begin(&then, 13);
  (void)call(&then, "f", "x", "a");
  kit_output(&then, "a");
  (void)kit_input(&b.kit, "x", "float32[2]");
  (void)kit_input(&b.kit, "c", "bool[]");
  Onnx__NodeProto *node = kit_node(&b.kit, "If", "c", "y");
  (void)branch(&b.kit, node, "then_branch", &then);
  (void)branch(&b.kit, node, "else_branch", &then);
  kit_output(&b.kit, "y");
  (void)call(function("f", "p", "r", 13), "g", "p", "r");
  (void)kit_node(function("g", "p", "r", 13), "Exp", "p", "r");
  (void)kit_node(function("h", "p", "r", 13), "Log", "p", "r");
  Onnx__ModelProto *model = written();
  assert_int_equal(model->n_functions, 2);
  assert_string_equal(model->functions[0]->name, "f");
  assert_string_equal(model->functions[1]->name, "g");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&then);
}

// ---- functions of ours --------------------------------------------------------------

// A reciprocal root, written as a function of two nodes; a hand changes the first.
static void changed_functions_of_ours_are_what_they_say(void **state) {
  (void)state;
  static const char text[] = "(egraph-graph 1)\n(input x \"float32[2]\")\n"
                             "(let y (rsqrt x))\n(output y)\n";
  static char changed[] = "Exp";
  eg_graph *graph, *again;
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_graph_parse(NULL, "t", text, sizeof text - 1, &graph));
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  eg_graph_destroy(graph);
  assert_ok(eg_onnx_parse(NULL, "m", bytes, size, NULL, NULL, &again));
  kit_expect_graph(again, text);
  eg_graph_destroy(again);
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  char *before = model->functions[0]->node[0]->op_type;
  assert_string_equal(before, "Sqrt");
  model->functions[0]->node[0]->op_type = changed;
  size_t changed_size = onnx__model_proto__get_packed_size(model);
  uint8_t *changed_bytes = malloc(changed_size);
  (void)onnx__model_proto__pack(model, changed_bytes);
  model->functions[0]->node[0]->op_type = before;
  onnx__model_proto__free_unpacked(model, NULL);
  assert_ok(eg_onnx_parse(NULL, "m", changed_bytes, changed_size, NULL, NULL, &again));
  kit_expect_graph(again, "(egraph-graph 1)\n(input x \"float32[2]\")\n"
                          "(let rsqrt.1/t.1 (exp x))\n"
                          "(let y (reciprocal rsqrt.1/t.1))\n(output y)\n");
  eg_graph_destroy(again);
  free(changed_bytes);
  eg_free(eg_allocator_heap(), bytes, size, 1);
}

// ---- If -----------------------------------------------------------------------------

/// y = c ? x + w : relu(x), in both of which a name stands for another tensor.
static void build_if(onnx_kit *then, onnx_kit *other, bool is_known, bool value) {
  begin(13);
  kit_begin(then, 13);
  kit_begin(other, 13);
  (void)kit_weight(then, "w", "float32[2]", (const float[]){1.0F, 2.0F});
  (void)kit_node(then, "Add", "x,w", "a");
  kit_output(then, "a");
  (void)kit_node(other, "Relu", "x", "a");
  kit_output(other, "a");
  (void)kit_input(&b.kit, "x", "float32[2]");
  const unsigned char bytes[1] = {value};
  if (is_known)
    (void)kit_weight(&b.kit, "c", "bool[]", bytes);
  else
    (void)kit_input(&b.kit, "c", "bool[]");
  Onnx__NodeProto *node = kit_node(&b.kit, "If", "c", "y");
  (void)branch(&b.kit, node, "then_branch", then);
  (void)branch(&b.kit, node, "else_branch", other);
  kit_output(&b.kit, "y");
}

static void known_conditions_choose_a_branch(void **state) {
  (void)state;
  onnx_kit then, other;
  build_if(&then, &other, true, true);
  (void)kit_node(&b.kit, "Exp", "y", "z");
  b.kit.outputs[0] = kit_info(&b.kit, "z", NULL);
  expect("(input x \"float32[2]\")\n(weight If/w \"float32[2]\" [1.0 2.0])\n"
         "(let If/a (add x If/w))\n(let z (exp If/a))\n(output z)\n");
  kit_end(&then);
  kit_end(&other);
}

static void other_conditions_keep_both(void **state) {
  (void)state;
  onnx_kit then, other;
  build_if(&then, &other, false, false);
  Onnx__ModelProto *model = written();
  assert_int_equal(node_of(model, "If")->n_attribute, 2);
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&then);
  kit_end(&other);
}

/// What the file declares for a result holds for what the branch makes.
static void results_of_branches_have_their_types(void **state) {
  (void)state;
  onnx_kit then, other;
  build_if(&then, &other, true, true);
  then.nodes[0]->op_type = kit_string_copy(&then, "Fancy"); // kept, of unknown type
  kit_declare(&b.kit, "y", "float32[2]");
  (void)kit_node(&b.kit, "Exp", "y", "z");
  b.kit.outputs[0] = kit_info(&b.kit, "z", NULL);
  eg_graph *graph;
  seal();
  assert_ok(kit_import(&b.kit, NULL, &graph));
  assert_int_equal(eg_graph_node_at(graph, (eg_graph_node){1}).attrs->op, EG_OP_EXP);
  eg_graph_destroy(graph);
  kit_end(&b.kit);
  kit_end(&then);
  kit_end(&other);
}

/// Branches may give tensors from outside, and conditions may be computed.
static void branches_may_give_what_is_there(void **state) {
  (void)state;
  onnx_kit then, other;
  build_if(&then, &other, true, false);
  other.graph.n_node = 0;
  other.outputs[0] = kit_info(&other, "x", NULL);
  (void)kit_node(&b.kit, "Not", "c", "d");
  (void)kit_node(&b.kit, "Not", "d", "e");
  b.kit.nodes[0]->input[0] = kit_string_copy(&b.kit, "e");
  (void)kit_node(&b.kit, "Exp", "y", "z");
  b.kit.outputs[0] = kit_info(&b.kit, "z", NULL);
  expect("(input x \"float32[2]\")\n(let z (exp x))\n(output z)\n");
  kit_end(&then);
  kit_end(&other);
}

/// A tensor outside of a graph that is kept does not get a name from within.
static void names_within_are_left_alone(void **state) {
  (void)state;
  onnx_kit then, other;
  build_if(&then, &other, false, false);
  (void)kit_node(&b.kit, "Sum", "x,x,x", "a"); // would be a.1
  kit_output(&b.kit, "a");
  other.nodes[0]->output[0] = kit_string_copy(&other, "a.1");
  other.outputs[0] = kit_info(&other, "a.1", NULL);
  then.nodes[0]->output[0] = kit_string_copy(&then, "q");
  then.outputs[0] = kit_info(&then, "q", NULL);
  Onnx__ModelProto *model = written();
  assert_string_equal(node_of(model, "Add")->output[0], "a.2");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&then);
  kit_end(&other);
}

/// c ? scan over rows of x, whose formals are `a` and `h` : relu(h), h being an input.
static void a_name_within_hides_no_other_graph_s(void **state) {
  (void)state;
  onnx_kit then, other, body;
  build_if(&then, &other, false, false);
  (void)kit_input(&b.kit, "h", "float32[2]");
  kit_begin(&body, 13);
  (void)kit_input(&body, "a", "float32[2]");
  (void)kit_input(&body, "h", "float32[]");
  (void)kit_node(&body, "Add", "a,h", "s");
  (void)kit_node(&body, "Exp", "h", "e");
  kit_output(&body, "s");
  kit_output(&body, "e");
  then.graph.n_node = 0;
  Onnx__NodeProto *scan = kit_node(&then, "Scan", "x,x", "q,rows");
  (void)branch(&then, scan, "body", &body);
  kit_int(&then, scan, "num_scan_inputs", 1);
  then.outputs[0] = kit_info(&then, "q", NULL);
  other.nodes[0]->input[0] = kit_string_copy(&other, "h");
  Onnx__ModelProto *model = written();
  const Onnx__NodeProto *kept = node_of(model, "If");
  assert_string_equal(model->graph->input[2]->name, "h");
  assert_string_equal(kept->attribute[1]->g->node[0]->input[0], "h");
  const Onnx__GraphProto *inner = kept->attribute[0]->g->node[0]->attribute[0]->g;
  assert_string_equal(inner->input[1]->name, "h.1");
  assert_string_equal(inner->node[0]->input[1], "h.1");
  assert_string_equal(inner->node[1]->input[0], "h.1");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&body);
  kit_end(&then);
  kit_end(&other);
}

static void a_name_made_twice_within_is_refused(void **state) {
  (void)state;
  onnx_kit then, other;
  build_if(&then, &other, false, false);
  (void)kit_node(&then, "Exp", "x", "a"); // as its Add does
  refuse("m.onnx: node If (node 0): a graph of it makes 'a' twice; each result needs a "
         "name of its own");
  kit_end(&then);
  kit_end(&other);
}

/// c ? x + w of the branch : relu(w): runtimes do not agree on which w the branch reads,
/// so that it reads what it read.
static void an_initializer_that_hides_does_so_again(void **state) {
  (void)state;
  onnx_kit then, other, same;
  build_if(&then, &other, false, false);
  (void)kit_input(&b.kit, "v", "float32[2]");
  kit_begin(&same, 13);
  kit_output(&same, "v"); // w is v from here on
  (void)kit_weight(&b.kit, "yes", "bool[]", (const unsigned char[]){1});
  Onnx__NodeProto *known = kit_node(&b.kit, "If", "yes", "w");
  (void)branch(&b.kit, known, "then_branch", &same);
  other.nodes[0]->input[0] = kit_string_copy(&other, "w");
  Onnx__ModelProto *model = written();
  const Onnx__NodeProto *kept = node_of(model, "If"), *copy = node_of(model, "Identity");
  assert_string_equal(copy->input[0], "v");
  assert_string_equal(copy->output[0], "w.1");
  assert_string_equal(kept->attribute[0]->g->initializer[0]->name, "w.1");
  assert_string_equal(kept->attribute[0]->g->node[0]->input[1], "w.1");
  assert_string_equal(kept->attribute[1]->g->node[0]->input[0], "w.1");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&then);
  kit_end(&other);
  build_if(&then, &other, true, true); // not taken out of its node either
  (void)kit_weight(&b.kit, "w", "float32[2]", (const float[]){3.0F, 4.0F});
  model = written();
  (void)node_of(model, "If");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&same);
  kit_end(&then);
  kit_end(&other);
}

// ---- Loop ---------------------------------------------------------------------------

/// steps (or none): s = s + x, row s * x; goes on while the step is less than `last`.
static void build_loop(onnx_kit *body, int64_t steps, int64_t last) {
  begin(13);
  kit_begin(body, 13);
  (void)kit_input(body, "i", "int64[]");
  (void)kit_input(body, "go", "bool[]");
  (void)kit_input(body, "s", "float32[2]");
  (void)kit_weight(body, "last", "int64[]", &last);
  (void)kit_node(body, "Less", "i,last", "more");
  (void)kit_node(body, "Add", "s,x", "t");
  (void)kit_node(body, "Mul", "t,x", "row");
  kit_output(body, "more");
  kit_output(body, "t");
  kit_output(body, "row");
  (void)kit_input(&b.kit, "x", "float32[2]");
  if (steps >= 0) (void)kit_weight(&b.kit, "n", "int64[]", &steps);
  Onnx__NodeProto *node = kit_node(&b.kit, "Loop", steps >= 0 ? "n,,x" : ",,x", "y,rows");
  (void)branch(&b.kit, node, "body", body);
  (void)kit_node(&b.kit, "Exp", "y", "z");
  kit_output(&b.kit, "z");
  kit_output(&b.kit, "rows");
}

static void short_loops_are_written_out(void **state) {
  (void)state;
  static const char wanted[] =
      "(input x \"float32[2]\")\n"
      "(let Loop/t (add x x))\n(let Loop/row (mul Loop/t x))\n"
      "(let Loop/t.1 (add Loop/t x))\n(let Loop/row.1 (mul Loop/t.1 x))\n"
      "(let y.1 (unsqueeze :axes [0] Loop/row))\n"
      "(let y.2 (unsqueeze :axes [0] Loop/row.1))\n"
      "(let rows (concat :axis 0 y.1 y.2))\n(let z (exp Loop/t.1))\n"
      "(output z)\n(output rows)\n";
  onnx_kit body;
  build_loop(&body, 2, 9);
  expect(wanted);
  kit_end(&body);
  build_loop(&body, -1, 1); // ends by its condition
  expect(wanted);
  kit_end(&body);
}

static void other_loops_are_kept(void **state) {
  (void)state;
  onnx_kit body;
  build_loop(&body, 100000, 100000);
  Onnx__ModelProto *model = written();
  (void)node_of(model, "Loop");
  assert_int_equal(model->graph->n_node, 2); // nothing is left of what was tried
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&body);
  build_loop(&body, INT64_MAX, INT64_MAX);
  model = written();
  (void)node_of(model, "Loop");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&body);
  build_loop(&body, 0, 1); // rows of no step have no type
  model = written();
  (void)node_of(model, "Loop");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&body);
}

/// A result of a loop that is written out has the type that the file declares, or what it
/// declares of it.
static void results_of_loops_have_their_types(void **state) {
  (void)state;
  onnx_kit body;
  build_loop(&body, 2, 9);
  body.nodes[1]->op_type = kit_string_copy(&body, "Fancy"); // kept, of unknown type
  body.graph.n_output = 2;
  b.kit.graph.n_output = 1;
  b.kit.nodes[0]->n_output = 1;
  kit_declare(&b.kit, "y", "float32[2]");
  eg_graph *graph;
  seal();
  assert_ok(kit_import(&b.kit, NULL, &graph));
  const eg_graph_node last = {eg_graph_node_count(graph) - 1};
  assert_int_equal(eg_graph_node_at(graph, last).attrs->op, EG_OP_EXP);
  eg_graph_destroy(graph);
  b.kit.graph.n_value_info = 0;
  b.kit.graph.n_node = 1;
  b.kit.outputs[0] = kit_info(&b.kit, "y", "float32[2]");
  b.kit.outputs[0]->type->tensor_type->shape = NULL;
  Onnx__ModelProto *model = written();
  const Onnx__ValueInfoProto *output = model->graph->output[0];
  assert_string_equal(output->name, "y");
  assert_int_equal(output->type->tensor_type->elem_type, eg_dtype_onnx(EGRAPH_FLOAT32));
  assert_null(output->type->tensor_type->shape);
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&body);
}

/// A graph within the body has names of its own, whatever the body's stand for.
static void names_within_loops_stay_apart(void **state) {
  (void)state;
  onnx_kit body, inner;
  build_loop(&body, 1, 9);
  kit_begin(&inner, 13);
  (void)kit_input(&inner, "x", "float32[]"); // hides what `s` of the body is
  (void)kit_node(&inner, "Mul", "x,s", "p");
  kit_output(&inner, "p");
  Onnx__NodeProto *scan = body.nodes[1];
  scan->op_type = kit_string_copy(&body, "Scan");
  scan->n_input = 1;
  scan->input[0] = kit_string_copy(&body, "s");
  (void)branch(&body, scan, "body", &inner);
  body.graph.n_output = 2;
  b.kit.graph.n_output = 1;
  b.kit.nodes[0]->n_output = 1;
  Onnx__ModelProto *model = written();
  const Onnx__GraphProto *kept = node_of(model, "Scan")->attribute[0]->g;
  assert_string_equal(kept->node[0]->input[0], kept->input[0]->name);
  assert_string_equal(kept->node[0]->input[1], "x");
  assert_string_not_equal(kept->input[0]->name, "x");
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&inner);
  kit_end(&body);
}

// ---- memory -------------------------------------------------------------------------

static egraph_status import_and_export(egraph_allocator alloc, void *user) {
  onnx_kit *kit = user;
  size_t size, packed;
  unsigned char *bytes = NULL;
  const uint8_t *model = kit_bytes(kit, &size);
  eg_graph *graph;
  EG_TRY(eg_onnx_parse(&alloc, "m.onnx", model, size, NULL, NULL, &graph));
  egraph_status status = eg_onnx_pack(graph, &bytes, &packed);
  if (status == EGRAPH_OK) eg_free(alloc, bytes, packed, 1);
  eg_graph_destroy(graph);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  onnx_kit body, then;
  build_loop(&body, 2, 9);
  kit_begin(&then, 13);
  (void)kit_weight(&then, "x", "float32[2]", (const float[]){1.0F, 2.0F}); // hides
  (void)call(&then, "f", "y", "a");
  (void)kit_node(&then, "Mul", "a,x", "z");
  kit_output(&then, "z");
  (void)kit_input(&b.kit, "c", "bool[]");
  Onnx__NodeProto *node = kit_node(&b.kit, "If", "c", "k"); // kept, with its function
  (void)branch(&b.kit, node, "then_branch", &then);
  (void)branch(&b.kit, node, "else_branch", &then);
  kit_output(&b.kit, "k");
  b.kit.model.doc_string = kit_string_copy(&b.kit, "about it");
  (void)call(&b.kit, "f", "y", "r");
  kit_output(&b.kit, "r");
  (void)call(function("f", "p", "q", 13), "g", "p", "q");
  (void)kit_node(function("g", "p", "q", 13), "Exp", "p", "q");
  seal();
  test_every_allocation_failing(import_and_export, &b.kit);
  kit_end(&b.kit);
  kit_end(&then);
  kit_end(&body);
  free_bodies();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_inlined),
      cmocka_unit_test(attributes_by_reference_are_the_call_s),
      cmocka_unit_test(operands_may_be_absent),
      cmocka_unit_test(results_may_be_operands),
      cmocka_unit_test(functions_have_operator_sets_of_their_own),
      cmocka_unit_test(functions_that_grow_are_refused),
      cmocka_unit_test(calls_that_do_not_fit_are_refused),
      cmocka_unit_test(kept_nodes_of_functions_are_as_they_were),
      cmocka_unit_test(a_domain_has_one_version),
      cmocka_unit_test(functions_of_kept_graphs_stay),
      cmocka_unit_test(changed_functions_of_ours_are_what_they_say),
      cmocka_unit_test(known_conditions_choose_a_branch),
      cmocka_unit_test(other_conditions_keep_both),
      cmocka_unit_test(results_of_branches_have_their_types),
      cmocka_unit_test(branches_may_give_what_is_there),
      cmocka_unit_test(names_within_are_left_alone),
      cmocka_unit_test(a_name_within_hides_no_other_graph_s),
      cmocka_unit_test(a_name_made_twice_within_is_refused),
      cmocka_unit_test(an_initializer_that_hides_does_so_again),
      cmocka_unit_test(short_loops_are_written_out),
      cmocka_unit_test(other_loops_are_kept),
      cmocka_unit_test(results_of_loops_have_their_types),
      cmocka_unit_test(names_within_loops_stay_apart),
      cmocka_unit_test(every_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
