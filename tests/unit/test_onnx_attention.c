// Import of attention: the standard's, and ONNX Runtime's, above all GroupQueryAttention.
// tests/runtime_attention.py compares values with ONNX Runtime's.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/onnx_kit.h"

static Onnx__NodeProto *one_node(onnx_kit *kit, int64_t opset, const char *op,
                                 const char *type, const char *operands) {
  kit_begin(kit, opset);
  kit_input(kit, "x", type);
  kit_output(kit, "y");
  return kit_node(kit, op, operands, "y");
}

static void attention_and_rotation_are_operators(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 23, "Attention", "float32[2,4,5,4]", "x,x,x");
  kit_int(&kit, node, "is_causal", 1);
  kit_expect(&kit, "(input x \"float32[2,4,5,4]\")\n"
                   "(let [y y.2] (attention :scale 0.5 :causal 1 x x x))\n(output y)\n");
  node = one_node(&kit, 1, "MultiHeadAttention", "float32[2,5,8]", "x,x,x");
  node->domain = kit_string_copy(&kit, "com.microsoft");
  kit_int(&kit, node, "num_heads", 2);
  kit_expect(&kit, "(input x \"float32[2,5,8]\")\n"
                   "(let y.1 (reshape :shape [2 5 2 4] x))\n"
                   "(let y.2 (reshape :shape [2 5 2 4] x))\n"
                   "(let y.3 (reshape :shape [2 5 2 4] x))\n"
                   "(let [y.4 y.5] (attention :scale 0.5 :rows_first 1 y.1 y.2 y.3))\n"
                   "(let y (reshape :shape [2 5 8] y.4))\n(output y)\n");
  node = one_node(&kit, 1, "RotaryEmbedding", "float32[2,3,5,8]", "x,p,c,s");
  node->domain = kit_string_copy(&kit, "com.microsoft");
  kit_input(&kit, "p", "int64[2,5]");
  kit_input(&kit, "c", "float32[9,4]");
  kit_input(&kit, "s", "float32[9,4]");
  kit_expect(&kit, "(input x \"float32[2,3,5,8]\")\n(input p \"int64[2,5]\")\n"
                   "(input c \"float32[9,4]\")\n(input s \"float32[9,4]\")\n"
                   "(let y.1 (gather c p))\n(let y.2 (gather s p))\n"
                   "(let y (rope x y.1 y.2))\n(output y)\n");
}

// ---- GroupQueryAttention ------------------------------------------------------------

/// One node of four heads that share two, on queries `x` and lengths `l` and `t`.
static Onnx__NodeProto *grouped(onnx_kit *kit, const char *x, const char *operands,
                                const char *results) {
  kit_begin(kit, 17);
  kit_input(kit, "x", x);
  Onnx__NodeProto *node = kit_node(kit, "GroupQueryAttention", operands, results);
  node->domain = kit_string_copy(kit, "com.microsoft");
  kit_int(kit, node, "num_heads", 4);
  kit_int(kit, node, "kv_num_heads", 2);
  kit_output(kit, "y");
  return node;
}

/// The lengths of two sequences (their last positions) and of the longest one.
static void put_lengths(onnx_kit *kit, int32_t first, int32_t second, int32_t total) {
  (void)kit_weight(kit, "l", "int32[2]", (const int32_t[]){first, second});
  (void)kit_weight(kit, "t", "int32[]", &total);
}

static void a_prompt_of_packed_heads_reads_its_own_rows(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = grouped(&kit, "float32[2,3,32]", "x,,,,,l,t,c,s", "y,present");
  put_lengths(&kit, 2, 2, 3);
  kit_input(&kit, "c", "float32[9,2]");
  kit_input(&kit, "s", "float32[9,2]");
  kit_output(&kit, "present");
  kit_int(&kit, node, "do_rotary", 1);
  kit_int(&kit, node, "local_window_size", 2);
  kit_expect(
      &kit,
      "(input x \"float32[2,3,32]\")\n(input c \"float32[9,2]\")\n"
      "(input s \"float32[9,2]\")\n"
      "(let y.1 (slice :starts [0 0 0] :ends [2 3 16] :steps [1 1 1] x))\n"
      "(let y.2 (reshape :shape [2 3 4 4] y.1))\n"
      "(let y.3 (slice :starts [0 0 16] :ends [2 3 24] :steps [1 1 1] x))\n"
      "(let y.4 (reshape :shape [2 3 2 4] y.3))\n"
      "(let y.5 (slice :starts [0 0 24] :ends [2 3 32] :steps [1 1 1] x))\n"
      "(let y.6 (reshape :shape [2 3 2 4] y.5))\n"
      "(let y.7 (slice :starts [0 0] :ends [3 2] :steps [1 1] c))\n"
      "(let y.8 (slice :starts [0 0] :ends [3 2] :steps [1 1] s))\n"
      "(let y.9 (rope :rows_first 1 y.2 y.7 y.8))\n"
      "(let y.10 (rope :rows_first 1 y.4 y.7 y.8))\n"
      "(let present (transpose :perm [0 2 1 3] y.10))\n"
      "(let [y.12 y.13] (attention :scale 0.5 :causal 1 :window 2 :rows_first 1 y.9 y.10 "
      "y.6))\n"
      "(let y (reshape :shape [2 3 16] y.12))\n(output y)\n(output present)\n");
}

/// A query after a past of five sees all keys up to its own: the offset is the past.
static void a_past_of_known_length_comes_first(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node =
      grouped(&kit, "float32[2,1,16]", "x,k,v,p,q,l,t", "y,present,other");
  put_lengths(&kit, 5, 5, 6);
  kit_input(&kit, "k", "float32[2,1,8]");
  kit_input(&kit, "v", "float32[2,1,8]");
  kit_input(&kit, "p", "float32[2,2,5,4]");
  kit_input(&kit, "q", "float32[2,2,5,4]");
  kit_output(&kit, "present");
  kit_output(&kit, "other");
  kit_float(&kit, node, "scale", 0.25F);
  kit_float(&kit, node, "softcap", 2.0F);
  kit_expect(
      &kit,
      "(input x \"float32[2,1,16]\")\n(input k \"float32[2,1,8]\")\n"
      "(input v \"float32[2,1,8]\")\n(input p \"float32[2,2,5,4]\")\n"
      "(input q \"float32[2,2,5,4]\")\n"
      "(let y.1 (reshape :shape [2 1 4 4] x))\n(let y.2 (reshape :shape [2 1 2 4] k))\n"
      "(let y.3 (reshape :shape [2 1 2 4] v))\n"
      "(let y.4 (transpose :perm [0 2 1 3] y.2))\n"
      "(let present (concat :axis 2 p y.4))\n"
      "(let y.6 (transpose :perm [0 2 1 3] y.3))\n"
      "(let other (concat :axis 2 q y.6))\n"
      "(let y.8 (transpose :perm [0 2 1 3] y.1))\n"
      "(let [y.9 y.10] (attention :scale 0.25 :causal 1 :offset 5 :softcap 2.0 y.8 "
      "present "
      "other))\n"
      "(let y.11 (transpose :perm [0 2 1 3] y.9))\n"
      "(let y (reshape :shape [2 1 16] y.11))\n"
      "(output y)\n(output present)\n(output other)\n");
}

static uint32_t count_of(const eg_graph *graph, eg_op op) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++)
    count += eg_graph_node_at(graph, (eg_graph_node){i}).attrs->op == op;
  return count;
}

/// Ends the kit. `operands`: of the attention, a mask among them; 0: the node is kept.
static void expect_operands(onnx_kit *kit, uint32_t operands) {
  eg_graph *graph;
  assert_ok(kit_import(kit, NULL, &graph));
  assert_ok(eg_graph_check(graph));
  assert_int_equal(count_of(graph, EG_OP_OPAQUE), operands == 0);
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++) {
    const eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){i});
    if (node.attrs->op == EG_OP_ATTENTION) assert_int_equal(node.input_count, operands);
  }
  eg_graph_destroy(graph);
  kit_end(kit);
}

/// A step after a past in storage for 9 positions.
static Onnx__NodeProto *step(onnx_kit *kit) {
  Onnx__NodeProto *node = grouped(kit, "float32[2,1,32]", "x,,,p,p,l,t", "y");
  kit_input(kit, "p", "float32[2,2,9,4]");
  return node;
}

static void lengths_that_are_data_hide_keys(void **state) {
  (void)state;
  onnx_kit kit;
  (void)step(&kit);
  kit_input(&kit, "l", "int32[2]");
  (void)kit_weight(&kit, "t", "int32[1]", &(int32_t){6});
  expect_operands(&kit, 4);
  (void)step(&kit);
  put_lengths(&kit, 5, 5, 6);
  expect_operands(&kit, 3);
  (void)step(&kit);
  put_lengths(&kit, 5, 0, 6);
  expect_operands(&kit, 4);
  // The rows of a causal prompt see no padding; those of another one see all keys.
  Onnx__NodeProto *node = grouped(&kit, "float32[2,3,32]", "x,,,,,l,t", "y");
  put_lengths(&kit, 2, 0, 3);
  expect_operands(&kit, 3);
  node = grouped(&kit, "float32[2,3,32]", "x,,,,,l,t", "y");
  put_lengths(&kit, 2, 0, 3);
  kit_int(&kit, node, "causal", 0);
  expect_operands(&kit, 4);
}

static void calls_of_another_meaning_are_kept(void **state) {
  static const struct {
    const char *attribute;
    int64_t value;
  } kept[] = {{"local_window_size", 0},
              {"local_window_size", -7},
              {"local_window_size", INT64_MIN},
              {"causal", 2},
              {"do_rotary", -1},
              {"smooth_softmax", INT64_MAX},
              {"rotary_interleaved", 4},
              {"qk_output", 1},
              {"sliding_window_cache", 1},
              {"of_the_future", 1}};
  (void)state;
  onnx_kit kit;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    Onnx__NodeProto *node = step(&kit);
    put_lengths(&kit, 5, 5, 6);
    kit_int(&kit, node, kept[i].attribute, kept[i].value);
    expect_operands(&kit, 0);
  }
  Onnx__NodeProto *node = step(&kit);
  put_lengths(&kit, 5, 5, 6);
  kit_string(&kit, node, "k_quant_type", "PER_TENSOR");
  expect_operands(&kit, 0);
  node = step(&kit);
  put_lengths(&kit, 5, 5, 6);
  kit_string(&kit, node, "v_quant_type", "NONE");
  expect_operands(&kit, 3);
  // Lengths that are not those of past and new rows, and one that is data.
  const int32_t totals[] = {11, 0, -1, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
    (void)step(&kit);
    put_lengths(&kit, 5, 5, totals[i]);
    expect_operands(&kit, 0);
  }
  (void)step(&kit);
  (void)kit_weight(&kit, "l", "int32[2]", (const int32_t[]){5, 5});
  kit_input(&kit, "t", "int32[]");
  expect_operands(&kit, 0);
  // Two rows of two sequences after a past; a past of other elements.
  (void)grouped(&kit, "float32[2,2,32]", "x,,,p,p,l,t", "y");
  kit_input(&kit, "p", "float32[2,2,9,4]");
  put_lengths(&kit, 5, 5, 6);
  expect_operands(&kit, 0);
  (void)grouped(&kit, "float32[2,1,32]", "x,,,p,p,l,t", "y");
  kit_input(&kit, "p", "int8[2,2,9,4]");
  put_lengths(&kit, 5, 5, 6);
  expect_operands(&kit, 0);
  // Norms of queries and keys; lengths of queries.
  (void)grouped(&kit, "float32[2,1,32]", "x,,,p,p,l,t,,,,,,,,w,w", "y");
  kit_input(&kit, "p", "float32[2,2,9,4]");
  kit_input(&kit, "w", "float32[4]");
  put_lengths(&kit, 5, 5, 6);
  expect_operands(&kit, 0);
  (void)grouped(&kit, "float32[2,1,32]", "x,,,p,p,l,t,,,,,,,,,,l", "y");
  kit_input(&kit, "p", "float32[2,2,9,4]");
  put_lengths(&kit, 5, 5, 6);
  expect_operands(&kit, 0);
}

typedef struct wrong_call {
  const char *x, *others, *operands, *message; // others: the type of `o`
} wrong_call;

static void operands_that_do_not_fit_are_refused(void **state) {
  static const wrong_call calls[] = {
      {"float32[2,3]", NULL, "x,,,,,l,t", "queries are float32[2,3]"},
      {"float32[2,1,4,8]", NULL, "x,,,,,l,t", "queries are float32[2,1,4,8]"},
      {"float32[2,3,33]", NULL, "x,,,,,l,t", "packed rows of 33 cannot form 4 heads"},
      {"float32[2,3,0]", NULL, "x,,,,,l,t", "packed rows of 0"},
      {"float32[2,3,18]", "float32[2,3,8]", "x,o,o,,,l,t", "operand 0 cannot form 4"},
      {"float32[2,3,16]", "float32[2,3,4]", "x,o,o,,,l,t", "operand 1 is"},
      {"float32[2,3,16]", "float32[2,5,8]", "x,o,o,,,l,t", "operand 1 is"},
      {"float32[2,3,16]", "float32[1,3,8]", "x,o,o,,,l,t", "operand 1 is"},
      {"float32[2,3,16]", "float32[2,3,2,4]", "x,o,o,,,l,t", "operand 1 is"},
      {"float32[2,3,16]", "float32[2,3,8]", "x,o,,,,l,t",
       "keys and values come together"},
      {"float32[2,3,32]", "float32[2,2,9,4]", "x,,,o,,l,t", "come together"},
      {"float32[2,3,32]", "float32[2,2,4]", "x,,,o,o,l,t", "the past is float32[2,2,4]"},
      {"float32[2,3,32]", "float32[2,4,9,4]", "x,,,o,o,l,t", "the past is"},
      {"float32[2,3,32]", "float32[2,2,9,8]", "x,,,o,o,l,t", "the past is"},
      {"float32[2,3,32]", NULL, "x,,,,,,t", "operand 5 is missing"},
      {"float32[2,3,32]", NULL, "x,,,,,l,", "total_sequence_length is no scalar"},
      {"float32[4,3,32]", NULL, "x,,,,,l,t", "seqlens_k is int32[2]"},
      {"float32[2,3,32]", "float32[1,4,3,5]", "x,,,,,l,t,,,,o", "the bias is"},
      {"float32[2,3,32]", "float32[3,3]", "x,,,,,l,t,,,,o", "the bias is float32[3,3]"},
      {"float32[2,3,32]", "float32[2]", "x,,,,,l,t,,,,,o", "head_sink is float32[2]"},
  };
  (void)state;
  onnx_kit kit;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    (void)grouped(&kit, calls[i].x, calls[i].operands, "y");
    if (calls[i].others != NULL) kit_input(&kit, "o", calls[i].others);
    put_lengths(&kit, 2, 2, 3);
    kit_refuse(&kit, EGRAPH_E_PARSE, calls[i].message);
  }
}

static void numbers_that_do_not_fit_are_refused(void **state) {
  static const int64_t heads[] = {0, -4, 3, INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1};
  static const int32_t last[] = {-1, 3, INT32_MIN, INT32_MAX};
  (void)state;
  onnx_kit kit;
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    Onnx__NodeProto *node = grouped(&kit, "float32[2,3,32]", "x,,,,,l,t", "y");
    put_lengths(&kit, 2, 2, 3);
    node->attribute[0]->i = heads[i];
    kit_refuse(&kit, EGRAPH_E_PARSE, "heads");
    node = grouped(&kit, "float32[2,3,32]", "x,,,,,l,t", "y");
    put_lengths(&kit, 2, 2, 3);
    node->attribute[0]->i = heads[i];
    node->attribute[1]->i = heads[i];
    kit_refuse(&kit, EGRAPH_E_PARSE, "heads");
  }
  for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
    (void)grouped(&kit, "float32[2,3,32]", "x,,,,,l,t", "y");
    put_lengths(&kit, 2, last[i], 3);
    kit_refuse(&kit, EGRAPH_E_PARSE, "seqlens_k has");
  }
}

static void tables_that_do_not_fit_are_refused(void **state) {
  static const char *const tables[] = {"float32[2,2]", "float32[9,3]", "float32[9]",
                                       "float32[9,2,1]"};
  (void)state;
  onnx_kit kit;
  for (size_t i = 0; i <= sizeof tables / sizeof *tables; i++) {
    bool is_given = i < sizeof tables / sizeof *tables;
    Onnx__NodeProto *node =
        grouped(&kit, "float32[2,3,32]", is_given ? "x,,,,,l,t,c,c" : "x,,,,,l,t", "y");
    if (is_given) kit_input(&kit, "c", tables[i]);
    put_lengths(&kit, 2, 2, 3);
    kit_int(&kit, node, "do_rotary", 1);
    kit_refuse(&kit, EGRAPH_E_PARSE,
               is_given ? "do not rotate 3 positions of 4" : "operand 7 is missing");
  }
  Onnx__NodeProto *node = grouped(&kit, "float32[2,3,32]", "x,,,,,l,t,c,c,p", "y");
  kit_input(&kit, "c", "float32[9,2]");
  kit_input(&kit, "p", "int64[3]");
  put_lengths(&kit, 2, 2, 3);
  kit_int(&kit, node, "do_rotary", 1);
  kit_refuse(&kit, EGRAPH_E_PARSE, "positions are int64[3], not [2,3]");
}

/// The scale of RotaryEmbedding takes part in tables that are made; rows of a packed
/// batch are longer than tables.
static void a_scale_rotates_no_row(void **state) {
  (void)state;
  onnx_kit kit;
  for (int64_t packed = 0; packed <= 1; packed++)
    for (int64_t rows = 2; rows <= 3; rows++) {
      Onnx__NodeProto *node =
          one_node(&kit, 1, "RotaryEmbedding", "float32[1,3,8]", "x,p,c,c");
      node->domain = kit_string_copy(&kit, "com.microsoft");
      kit_input(&kit, "p", "int64[1,3]");
      kit_input(&kit, "c", rows == 2 ? "float32[2,4]" : "float32[3,4]");
      kit_float(&kit, node, "scale", 2.0F);
      kit_int(&kit, node, "is_packed_batching", packed);
      eg_graph *graph;
      assert_ok(kit_import(&kit, NULL, &graph));
      assert_int_equal(count_of(graph, EG_OP_ROPE), packed == 1 || rows == 3);
      assert_int_equal(count_of(graph, EG_OP_OPAQUE), packed == 0 && rows == 2);
      eg_graph_destroy(graph);
      kit_end(&kit);
    }
}

static egraph_status import_once(egraph_allocator alloc, void *user) {
  eg_graph *graph;
  EG_TRY(kit_import(user, &alloc, &graph));
  eg_graph_destroy(graph);
  return EGRAPH_OK;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node =
      grouped(&kit, "float32[1,2,32]", "x,,,p,p,l,t,c,c,,b,h", "y,present");
  kit_input(&kit, "p", "float32[1,2,9,4]");
  kit_input(&kit, "l", "int32[1]");
  (void)kit_weight(&kit, "t", "int32[]", &(int32_t){6});
  kit_input(&kit, "c", "float32[9,2]");
  kit_input(&kit, "b", "float32[1,1,2,6]");
  kit_input(&kit, "h", "float32[4]");
  kit_output(&kit, "present");
  kit_int(&kit, node, "do_rotary", 1);
  test_every_allocation_failing(import_once, &kit);
  expect_operands(&kit, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_and_rotation_are_operators),
      cmocka_unit_test(a_prompt_of_packed_heads_reads_its_own_rows),
      cmocka_unit_test(a_past_of_known_length_comes_first),
      cmocka_unit_test(lengths_that_are_data_hide_keys),
      cmocka_unit_test(calls_of_another_meaning_are_kept),
      cmocka_unit_test(operands_that_do_not_fit_are_refused),
      cmocka_unit_test(numbers_that_do_not_fit_are_refused),
      cmocka_unit_test(tables_that_do_not_fit_are_refused),
      cmocka_unit_test(a_scale_rotates_no_row),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
