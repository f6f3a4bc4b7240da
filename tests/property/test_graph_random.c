// Random graphs: text and ONNX give the same graph back; pruning, folding and the round
// trip do not change what a graph computes.
//
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include <stdlib.h>

#include "onnx/onnx.h"
#include "pcg/graph/attr_list.h"
#include "pcg/graph/graph_copy.h"
#include "pcg/graph/weights.h"

enum { STEPS = 14, MAX_VALUES = 256, MAX_OPERANDS = 8 };

// ---- building -----------------------------------------------------------------------

typedef struct builder {
  eg_rng rng;
  eg_graph *graph;
  eg_value values[MAX_VALUES];
  uint32_t count;
} builder;

static const eg_type *type_of(const builder *b, eg_value value) {
  return &eg_graph_value(b->graph, value)->type;
}

static eg_value pick(builder *b) { return b->values[eg_rng_below(&b->rng, b->count)]; }

static void add_leaf(builder *b, eg_type type) {
  eg_value value;
  if (eg_rng_below(&b->rng, 2) == 0) {
    assert_ok(eg_graph_add_input(b->graph, NULL, &type, &value));
  } else {
    eg_buffer *data = NULL;
    if (eg_rng_below(&b->rng, 4) != 0) {
      assert_ok(eg_buffer_create(NULL, eg_type_bytes(&type), &data));
      eg_tensor tensor = {.type = type, .data = eg_buffer_writable(data)};
      eg_weight_draw("w", eg_rng_next(&b->rng), &tensor);
    }
    assert_ok(eg_graph_add_weight(b->graph, NULL, &type, data, &value));
    eg_buffer_release(data);
  }
  b->values[b->count++] = value;
}

static void add_node(builder *b, const eg_attr_list *list, const eg_value *operands,
                     uint32_t count) {
  eg_attrs attrs = eg_attr_list_attrs(list);
  eg_value results[MAX_OPERANDS];
  uint32_t made = eg_op_results(&attrs);
  assert_true(made <= MAX_OPERANDS && b->count + made <= MAX_VALUES);
  assert_ok(eg_graph_add_node(b->graph, "n", &attrs, operands, count, NULL, results));
  for (uint32_t i = 0; i < made; i++)
    b->values[b->count++] = results[i];
}

static void add_unary(builder *b, eg_value x) {
  static const eg_op ops[] = {EG_OP_RELU,     EG_OP_TANH,    EG_OP_SIGMOID, EG_OP_SQUARE,
                              EG_OP_SILU,     EG_OP_GELU,    EG_OP_NEG,     EG_OP_ABS,
                              EG_OP_SOFTPLUS, EG_OP_IDENTITY};
  eg_attr_list list;
  eg_attr_list_init(&list, ops[eg_rng_below(&b->rng, sizeof ops / sizeof ops[0])]);
  add_node(b, &list, &x, 1);
}

static void add_binary(builder *b, eg_value x) {
  static const eg_op ops[] = {EG_OP_ADD, EG_OP_SUB, EG_OP_MUL, EG_OP_MAX, EG_OP_MIN};
  eg_attr_list list;
  eg_value pair[2] = {x, x};
  for (uint32_t tries = 0; tries < 8; tries++) {
    eg_value other = pick(b);
    if (eg_type_same_shape(type_of(b, x), type_of(b, other))) pair[1] = other;
  }
  eg_attr_list_init(&list, ops[eg_rng_below(&b->rng, sizeof ops / sizeof ops[0])]);
  add_node(b, &list, pair, 2);
}

static void add_transpose(builder *b, eg_value x) {
  uint32_t rank = type_of(b, x)->rank;
  int64_t perm[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t j = (uint32_t)eg_rng_below(&b->rng, i + 1);
    perm[i] = perm[j];
    perm[j] = i;
  }
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_TRANSPOSE);
  eg_attr_list_set_ints(&list, EG_A_TRANSPOSE_PERM, perm, rank);
  add_node(b, &list, &x, 1);
}

static void add_split(builder *b, eg_value x) {
  const eg_type *type = type_of(b, x);
  uint32_t axis = (uint32_t)eg_rng_below(&b->rng, type->rank);
  int64_t first = (int64_t)eg_rng_below(&b->rng, (uint64_t)type->dims[axis] + 1);
  const int64_t sizes[2] = {first, type->dims[axis] - first};
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_SPLIT);
  eg_attr_list_set_int(&list, EG_A_SPLIT_AXIS, axis);
  eg_attr_list_set_ints(&list, EG_A_SPLIT_SIZES, sizes, 2);
  add_node(b, &list, &x, 1);
}

static void add_concat(builder *b, eg_value x) {
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_CONCAT);
  eg_attr_list_set_int(&list, EG_A_CONCAT_AXIS,
                       (int64_t)eg_rng_below(&b->rng, type_of(b, x)->rank));
  add_node(b, &list, (const eg_value[]){x, x}, 2);
}

static void add_slice(builder *b, eg_value x) {
  const eg_type *type = type_of(b, x);
  int64_t starts[EGRAPH_MAX_RANK], ends[EGRAPH_MAX_RANK], steps[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; i++) {
    bool backwards = eg_rng_below(&b->rng, 3) == 0;
    uint64_t size = (uint64_t)type->dims[i];
    int64_t low = (int64_t)eg_rng_below(&b->rng, size + 1) - (backwards ? 1 : 0);
    int64_t high = backwards ? (int64_t)size - 1 : (int64_t)size;
    starts[i] = backwards ? high : low;
    ends[i] = backwards ? low : high;
    steps[i] = (int64_t)eg_rng_below(&b->rng, 2) + 1;
    if (backwards) steps[i] = -steps[i];
  }
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_SLICE);
  eg_attr_list_set_ints(&list, EG_A_SLICE_STARTS, starts, type->rank);
  eg_attr_list_set_ints(&list, EG_A_SLICE_ENDS, ends, type->rank);
  eg_attr_list_set_ints(&list, EG_A_SLICE_STEPS, steps, type->rank);
  add_node(b, &list, &x, 1);
}

static void add_pad(builder *b, eg_value x) {
  uint32_t rank = type_of(b, x)->rank;
  int64_t pads[2 * EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < 2 * rank; i++)
    pads[i] = (int64_t)eg_rng_below(&b->rng, 2);
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_PAD);
  eg_attr_list_set_ints(&list, EG_A_PAD_PADS, pads, 2 * rank);
  eg_attr_list_set_float(&list, EG_A_PAD_VALUE, 0.5);
  add_node(b, &list, &x, 1);
}

static void add_reduce(builder *b, eg_value x) {
  const eg_type *type = type_of(b, x);
  int64_t axes[EGRAPH_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < type->rank; i++)
    if (eg_rng_below(&b->rng, 2) == 0) axes[count++] = i;
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_REDUCE_SUM);
  eg_attr_list_set_ints(&list, EG_A_REDUCE_SUM_AXES, axes, count);
  eg_attr_list_set_int(&list, EG_A_REDUCE_SUM_KEEPDIMS, 1);
  add_node(b, &list, &x, 1);
}

static void add_reshape(builder *b, eg_value x) {
  const eg_type *type = type_of(b, x);
  int64_t elements = eg_type_elements(type);
  const int64_t dims[2] = {elements % 2 == 0 ? 2 : 1,
                           elements / (elements % 2 == 0 ? 2 : 1)};
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_RESHAPE);
  eg_attr_list_set_ints(&list, EG_A_RESHAPE_SHAPE, dims, 2);
  add_node(b, &list, &x, 1);
}

// Fused, so that it becomes a function in ONNX: act(x xT).
static void add_matmul(builder *b, eg_value x) {
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_MATMUL);
  eg_attr_list_set_int(&list, EG_A_MATMUL_TRANS_B, 1);
  eg_attr_list_set_symbol(&list, EG_A_MATMUL_ACT, "tanh");
  add_node(b, &list, (const eg_value[]){x, x}, 2);
}

static void add_random_node(builder *b) {
  static void (*const kinds[])(builder *, eg_value) = {
      add_unary,  add_unary, add_binary, add_binary, add_transpose, add_split,
      add_concat, add_slice, add_pad,    add_reduce, add_reshape,   add_matmul};
  eg_value x = pick(b);
  if (eg_type_elements(type_of(b, x)) <= 4096)
    kinds[eg_rng_below(&b->rng, sizeof kinds / sizeof kinds[0])](b, x);
}

static eg_graph *build(uint64_t seed) {
  builder b = {.rng = {.state = seed}};
  assert_ok(eg_graph_create(NULL, &b.graph));
  for (int i = 0; i < 4; i++)
    add_leaf(&b, eg_type_of(EGRAPH_FLOAT32, 3, (const int64_t[]){2, 3 + i % 2, 4}));
  for (int i = 0; i < STEPS; i++)
    add_random_node(&b);
  for (int i = 0; i < 3; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "out%d", i);
    assert_ok(eg_graph_add_output(b.graph, name, b.values[b.count - 1 - (uint32_t)i]));
  }
  assert_ok(eg_graph_check(b.graph));
  return b.graph;
}

// ---- evaluating ---------------------------------------------------------------------

typedef struct evaluation {
  const eg_graph *graph;
  eg_tensor tensors[MAX_VALUES];
} evaluation;

static void make_tensor(eg_tensor *tensor, const eg_type *type) {
  size_t bytes = eg_type_bytes(type);
  *tensor = (eg_tensor){.type = *type, .data = calloc(bytes != 0 ? bytes : 1, 1)};
  assert_non_null(tensor->data);
}

static void run_node(evaluation *e, const eg_graph_node_info *node) {
  eg_tensor inputs[MAX_OPERANDS], outputs[MAX_OPERANDS];
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = e->tensors[node->inputs[i].id];
  for (uint32_t i = 0; i < node->result_count; i++) {
    eg_tensor *tensor = &e->tensors[node->results[i].id];
    make_tensor(tensor, &eg_graph_value(e->graph, node->results[i])->type);
    outputs[i] = *tensor;
  }
  eg_kernel_call call = {.attrs = node->attrs,
                         .inputs = inputs,
                         .input_count = node->input_count,
                         .outputs = outputs,
                         .output_count = node->result_count,
                         .alloc = eg_allocator_heap()};
  assert_ok(eg_op_run(&call));
}

// Inputs and absent weights are drawn by name.
static void evaluate(evaluation *e, const eg_graph *graph) {
  *e = (evaluation){.graph = graph};
  assert_true(eg_graph_value_count(graph) <= MAX_VALUES);
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){i});
    if (info->kind == EG_VALUE_COMPUTED) continue;
    make_tensor(&e->tensors[i], &info->type);
    if (info->kind == EG_VALUE_INPUT)
      eg_input_draw(info->name, 5, &e->tensors[i]);
    else if (info->data == NULL)
      eg_weight_draw(info->name, 5, &e->tensors[i]);
    else
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

// The same kernels on the same numbers: bitwise.
static void expect_same_results(const eg_graph *graph, const eg_graph *other) {
  static evaluation a, b;
  evaluate(&a, graph);
  evaluate(&b, other);
  assert_int_equal(eg_graph_output_count(graph), eg_graph_output_count(other));
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    const char *name, *other_name;
    const eg_tensor *x = &a.tensors[eg_graph_output(graph, i, &name).id];
    const eg_tensor *y = &b.tensors[eg_graph_output(other, i, &other_name).id];
    assert_string_equal(name, other_name);
    assert_true(eg_type_same(&x->type, &y->type));
    assert_memory_equal(x->data, y->data, eg_type_bytes(&x->type));
  }
  finish(&b);
  finish(&a);
}

// ---- properties ---------------------------------------------------------------------

static char *print(const eg_graph *graph) {
  eg_text text;
  char *out;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_graph_print(graph, &text));
  assert_ok(eg_text_take(&text, &out));
  return out;
}

static void expect_same_text(const eg_graph *graph, const eg_graph *other) {
  char *a = print(graph), *b = print(other);
  assert_string_equal(a, b);
  eg_string_free(eg_allocator_heap(), b);
  eg_string_free(eg_allocator_heap(), a);
}

static eg_graph *through_onnx(const eg_graph *graph) {
  unsigned char *bytes, *again_bytes;
  size_t size, again_size;
  eg_graph *again;
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  assert_ok(eg_onnx_pack(graph, &again_bytes, &again_size));
  assert_int_equal(size, again_size);
  assert_memory_equal(bytes, again_bytes, size);
  assert_ok(eg_onnx_parse(NULL, "m", bytes, size, NULL, NULL, &again));
  eg_free(eg_allocator_heap(), bytes, size, 1);
  eg_free(eg_allocator_heap(), again_bytes, again_size, 1);
  return again;
}

static void check_seed(uint64_t seed) {
  eg_graph *graph = build(seed), *other, *third;
  char *text = print(graph);
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &other));
  expect_same_text(graph, other);
  eg_string_free(eg_allocator_heap(), text);
  eg_graph_destroy(other);
  assert_ok(eg_graph_pruned(graph, &other));
  assert_ok(eg_graph_check(other));
  expect_same_results(graph, other);
  assert_ok(eg_graph_folded(graph, &(eg_fold_options){.max_bytes = 1 << 16}, &third));
  assert_ok(eg_graph_check(third));
  expect_same_results(graph, third);
  eg_graph_destroy(third);
  eg_graph_destroy(other);
  other = through_onnx(graph);
  assert_ok(eg_graph_check(other));
  expect_same_results(graph, other);
  third = through_onnx(other);
  expect_same_text(other, third);
  eg_graph_destroy(third);
  eg_graph_destroy(other);
  eg_graph_destroy(graph);
}

static void random_graphs_survive_every_copy(void **state) {
  (void)state;
  uint64_t seed = test_seed(2024);
  size_t rounds = test_rounds(300);
  for (size_t i = 0; i < rounds; i++) {
    uint64_t own = eg_hash_combine(seed, i);
    check_seed(own);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs_survive_every_copy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
