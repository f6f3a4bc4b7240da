// The graph container: adding, naming, checking, pruning, folding; and every allocation
// failing.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "pcg/graph/attr_list.h"
#include "pcg/graph/graph_copy.h"

static test_heap heap;
static egraph_allocator alloc;
static eg_graph *graph;

static int setup(void **state) {
  (void)state;
  heap = (test_heap){0};
  alloc = test_heap_allocator(&heap);
  assert_ok(eg_graph_create(&alloc, &graph));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  eg_graph_destroy(graph);
  graph = NULL;
  assert_int_equal(heap.live_bytes, 0);
  return 0;
}

static eg_type matrix(int64_t rows, int64_t columns) {
  return eg_type_of(EGRAPH_FLOAT32, 2, (const int64_t[]){rows, columns});
}

static eg_value input_of(const char *name, eg_type type) {
  eg_value value;
  assert_ok(eg_graph_add_input(graph, name, &type, &value));
  return value;
}

static eg_value weight_of(const char *name, int64_t rows, int64_t columns, float first) {
  eg_type type = matrix(rows, columns);
  eg_buffer *buffer;
  eg_value value;
  assert_ok(eg_buffer_create(&alloc, eg_type_bytes(&type), &buffer));
  float *data = eg_buffer_writable(buffer);
  for (int64_t i = 0; i < rows * columns; i++)
    data[i] = first + (float)i;
  assert_ok(eg_graph_add_weight(graph, name, &type, buffer, &value));
  eg_buffer_release(buffer);
  return value;
}

static eg_value node_of(eg_op op, const char *name, eg_value a, eg_value b) {
  eg_attr_list list;
  eg_value operands[2] = {a, b}, result;
  eg_attr_list_init(&list, op);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  uint32_t count = b.id == EG_VALUE_NONE.id ? 1 : 2;
  assert_ok(eg_graph_add_node(graph, "", &attrs, operands, count, &name, &result));
  return result;
}

static eg_value split_of(eg_value x, const char *const *names, eg_value *out) {
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_SPLIT);
  eg_attr_list_set_int(&list, EG_A_SPLIT_AXIS, 1);
  eg_attr_list_set_ints(&list, EG_A_SPLIT_SIZES, (const int64_t[]){1, 3}, 2);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  assert_ok(eg_graph_add_node(graph, "cut", &attrs, &x, 1, names, out));
  return out[0];
}

static void nodes_get_inferred_types_and_names(void **state) {
  (void)state;
  eg_value x = input_of("x", matrix(2, 4)), parts[2];
  eg_value w = weight_of("w", 4, 3, 0.0F);
  eg_value y = node_of(EG_OP_MATMUL, "y", x, w);
  split_of(x, NULL, parts);
  const eg_value_info *info = eg_graph_value(graph, y);
  assert_int_equal(info->kind, EG_VALUE_COMPUTED);
  eg_type expected = matrix(2, 3);
  assert_true(eg_type_same(&info->type, &expected));
  assert_string_equal(eg_graph_value(graph, parts[1])->name, "v4");
  assert_int_equal(eg_graph_value(graph, parts[1])->result, 1);
  expected = matrix(2, 3);
  assert_true(eg_type_same(&eg_graph_value(graph, parts[1])->type, &expected));
  eg_value found;
  assert_true(eg_graph_find_value(graph, "y", &found));
  assert_int_equal(found.id, y.id);
  assert_false(eg_graph_find_value(graph, "absent", &found));
  assert_ok(eg_graph_check(graph));
}

static void names_are_unique_even_made_up_ones(void **state) {
  (void)state;
  eg_value x = input_of("v1", matrix(2, 4)), parts[2], value;
  eg_type type = matrix(2, 4);
  value = node_of(EG_OP_RELU, NULL, x, EG_VALUE_NONE);
  assert_string_equal(eg_graph_value(graph, value)->name, "v1_1");
  assert_fails(eg_graph_add_input(graph, "v1_1", &type, &value), EGRAPH_E_ARGUMENT,
               "'v1_1' is taken");
  const char *const same[2] = {"a", "a"};
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_SPLIT);
  eg_attr_list_set_int(&list, EG_A_SPLIT_AXIS, 1);
  eg_attr_list_set_ints(&list, EG_A_SPLIT_SIZES, (const int64_t[]){1, 3}, 2);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  assert_fails(eg_graph_add_node(graph, "cut", &attrs, &x, 1, same, parts),
               EGRAPH_E_ARGUMENT, "split 'cut'");
  // The failed node took no names.
  assert_int_equal(node_of(EG_OP_RELU, "a", x, EG_VALUE_NONE).id, 2);
  const char *const clash[2] = {"v4", NULL};
  split_of(x, clash, parts);
  assert_string_equal(eg_graph_value(graph, parts[1])->name, "v4_1");
  assert_ok(eg_graph_check(graph));
}

static void ill_typed_nodes_are_refused_by_name(void **state) {
  (void)state;
  eg_value operands[2] = {input_of("x", matrix(2, 4)), input_of("z", matrix(3, 5))}, out;
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_MATMUL);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  assert_fails(eg_graph_add_node(graph, "m1", &attrs, operands, 2, NULL, &out),
               EGRAPH_E_TYPE, "matmul 'm1'");
  assert_fails(eg_graph_add_node(graph, "m1", &attrs, operands, 1, NULL, &out),
               EGRAPH_E_TYPE, "does not take 1 operands");
  operands[1] = (eg_value){77};
  assert_fails(eg_graph_add_node(graph, "", &attrs, operands, 2, NULL, &out),
               EGRAPH_E_ARGUMENT, "(node 0)");
  eg_attr_list_init(&list, EG_OP_INPUT);
  attrs = eg_attr_list_attrs(&list);
  assert_fails(eg_graph_add_node(graph, "i", &attrs, NULL, 0, NULL, &out),
               EGRAPH_E_ARGUMENT, "no node");
  assert_int_equal(eg_graph_node_count(graph), 0);
}

static void wrong_weights_are_refused(void **state) {
  (void)state;
  eg_type type = matrix(2, 2);
  eg_buffer *buffer;
  eg_value value;
  assert_ok(eg_buffer_create(&alloc, 15, &buffer));
  assert_fails(eg_graph_add_weight(graph, "w", &type, buffer, &value), EGRAPH_E_ARGUMENT,
               "needs 16 bytes but 15");
  eg_buffer_release(buffer);
  type.dims[0] = -1;
  assert_fails(eg_graph_add_weight(graph, "w", &type, NULL, &value), EGRAPH_E_TYPE, "-1");
  type = matrix(2, 2);
  type.layout.format = EG_FORMAT_NHWC;
  assert_fails(eg_graph_add_input(graph, "x", &type, &value), EGRAPH_E_TYPE, "row-major");
}

static void outputs_have_unique_names(void **state) {
  (void)state;
  eg_value x = input_of("x", matrix(2, 4));
  assert_ok(eg_graph_add_output(graph, NULL, x));
  assert_ok(eg_graph_add_output(graph, "again", x));
  assert_fails(eg_graph_add_output(graph, "x", x), EGRAPH_E_ARGUMENT, "two outputs");
  const char *name;
  assert_int_equal(eg_graph_output(graph, 1, &name).id, x.id);
  assert_string_equal(name, "again");
}

static void formats_are_checked(void **state) {
  (void)state;
  eg_type image = eg_type_of(EGRAPH_FLOAT32, 4, (const int64_t[]){1, 16, 4, 4});
  eg_value x = input_of("x", image);
  eg_value y = node_of(EG_OP_RELU, "y", x, EG_VALUE_NONE);
  assert_ok(eg_graph_set_format(graph, y, EG_FORMAT_NHWC));
  assert_int_equal(eg_graph_value(graph, y)->type.layout.format, EG_FORMAT_NHWC);
  assert_fails(eg_graph_set_format(graph, x, EG_FORMAT_NHWC), EGRAPH_E_TYPE, "'x'");
  eg_value m = node_of(EG_OP_RELU, "m", input_of("z", matrix(2, 2)), EG_VALUE_NONE);
  assert_fails(eg_graph_set_format(graph, m, EG_FORMAT_NHWC), EGRAPH_E_TYPE, "nhwc");
  assert_ok(eg_graph_check(graph));
}

static eg_value opaque_of(eg_value operand, const eg_type *type) {
  const eg_type *types[1] = {type};
  const char *names[1] = {NULL};
  eg_value out;
  assert_ok(eg_graph_add_opaque(graph, "odd", "Loop", "abc", 3, &operand, 1, types, names,
                                1, &out));
  return out;
}

static void leaves_that_outputs_need_are_named(void **state) {
  (void)state;
  const eg_type *types[1] = {NULL};
  const char *names[1] = {"words"};
  eg_value words;
  assert_ok(eg_graph_add_opaque(graph, "", EG_OPAQUE_LEAF "Input", "", 0, NULL, 0, types,
                                names, 1, &words));
  assert_ok(eg_graph_add_output(graph, "y", words));
  assert_fails(eg_graph_check_known(graph, "planned"), EGRAPH_E_UNSUPPORTED,
               "input or initializer 'words' cannot be planned");
}

static void opaque_nodes_that_outputs_need_are_named(void **state) {
  (void)state;
  eg_type type = matrix(3, 3);
  eg_value x = input_of("x", type);
  eg_value needed = opaque_of(x, &type);
  (void)opaque_of(x, NULL);
  assert_ok(eg_graph_add_output(graph, "z", x));
  assert_ok(eg_graph_check_known(graph, "planned"));
  assert_ok(eg_graph_add_output(graph, "y", needed));
  assert_fails(eg_graph_check_known(graph, "planned"), EGRAPH_E_UNSUPPORTED,
               "operator 'Loop' cannot be planned: it is unknown here");
}

static void opaque_nodes_keep_their_record(void **state) {
  (void)state;
  eg_type type = matrix(3, 3);
  eg_value x = input_of("x", matrix(2, 4));
  eg_value typed = opaque_of(x, &type), untyped = opaque_of(x, NULL), out;
  assert_true(eg_graph_value(graph, typed)->typed);
  assert_false(eg_graph_value(graph, untyped)->typed);
  eg_graph_node node = eg_graph_value(graph, untyped)->node, found;
  size_t size;
  assert_memory_equal(eg_graph_opaque_record(graph, node, &size), "abc", 3);
  assert_int_equal(size, 3);
  assert_string_equal(eg_graph_opaque_type(graph, node), "Loop");
  // The record, 2 x 4 floats; and 3 x 3 floats, where they are known.
  eg_opaque_estimate estimate = eg_graph_opaque_estimate(graph, node);
  assert_true(estimate.bytes == 4 + 32);
  assert_int_equal(estimate.unsized, 1);
  assert_string_equal(estimate.unsized_value, eg_graph_value(graph, untyped)->name);
  node = eg_graph_value(graph, typed)->node;
  estimate = eg_graph_opaque_estimate(graph, node);
  assert_true(estimate.bytes == 4 + 32 + 36);
  assert_int_equal(estimate.unsized, 0);
  node = eg_graph_value(graph, untyped)->node;
  const eg_attrs *attrs = eg_graph_node_at(graph, node).attrs;
  assert_true(
      eg_graph_find_opaque(graph, eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text, &found));
  assert_int_equal(found.id, node.id);
  assert_false(eg_graph_find_opaque(graph, "Loop#9", &found));
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_RELU);
  eg_attrs relu = eg_attr_list_attrs(&list);
  assert_fails(eg_graph_add_node(graph, "r", &relu, &untyped, 1, NULL, &out),
               EGRAPH_E_TYPE, "is not known");
  assert_ok(eg_graph_check(graph));
}

static void pruning_keeps_inputs_and_what_outputs_need(void **state) {
  (void)state;
  eg_value x = input_of("x", matrix(2, 4)), parts[2];
  eg_value w = weight_of("w", 4, 3, 0.0F);
  (void)weight_of("unused", 4, 3, 0.0F);
  (void)node_of(EG_OP_TANH, "dead", node_of(EG_OP_EXP, "dead0", x, EG_VALUE_NONE),
                EG_VALUE_NONE);
  (void)input_of("idle", matrix(1, 1));
  const char *const names[2] = {"left", "right"};
  split_of(node_of(EG_OP_RELU, "r", x, EG_VALUE_NONE), names, parts);
  eg_value y = node_of(EG_OP_MATMUL, "y", x, w);
  assert_ok(eg_graph_add_output(graph, NULL, y));
  assert_ok(eg_graph_add_output(graph, "half", parts[1]));
  assert_ok(eg_graph_add_output(graph, "odd", opaque_of(parts[0], NULL)));
  eg_graph *pruned;
  assert_ok(eg_graph_pruned(graph, &pruned));
  assert_ok(eg_graph_check(pruned));
  eg_value found;
  assert_int_equal(eg_graph_node_count(pruned), 4);
  assert_int_equal(eg_graph_input_count(pruned), 2);
  assert_false(eg_graph_find_value(pruned, "unused", &found));
  assert_false(eg_graph_find_value(pruned, "dead", &found));
  assert_true(eg_graph_find_value(pruned, "left", &found));
  assert_true(eg_graph_find_value(pruned, "w", &found));
  assert_ptr_equal(eg_graph_value(pruned, found)->data, eg_graph_value(graph, w)->data);
  eg_graph_destroy(pruned);
}

static void folding_evaluates_what_needs_only_weights(void **state) {
  (void)state;
  eg_value x = input_of("x", matrix(2, 2));
  eg_value a = weight_of("a", 2, 2, 1.0F), b = weight_of("b", 2, 2, 10.0F);
  eg_value sum = node_of(EG_OP_ADD, "sum", a, b);
  eg_value product = node_of(EG_OP_MUL, "product", sum, b);
  assert_ok(eg_graph_add_output(graph, NULL, node_of(EG_OP_ADD, "y", x, product)));
  assert_ok(eg_graph_add_output(graph, NULL, sum));
  bool flags[8];
  assert_int_equal(eg_graph_value_count(graph), 6);
  assert_ok(eg_graph_weight_only(graph, flags));
  assert_memory_equal(flags, ((bool[]){false, true, true, true, true, false}), 6);
  eg_graph *folded;
  assert_ok(eg_graph_folded(graph, &(eg_fold_options){.max_bytes = SIZE_MAX}, &folded));
  assert_ok(eg_graph_check(folded));
  assert_int_equal(eg_graph_node_count(folded), 1);
  eg_value found;
  assert_true(eg_graph_find_value(folded, "product", &found));
  const float *data = eg_buffer_data(eg_graph_value(folded, found)->data);
  assert_true(data[0] == 110.0F && data[3] == 17.0F * 13.0F);
  assert_true(eg_graph_find_value(folded, "sum", &found));
  assert_int_equal(eg_graph_value(folded, found)->kind, EG_VALUE_WEIGHT);
  assert_false(eg_graph_find_value(folded, "a", &found));
  eg_graph_destroy(folded);
  // Too small a limit: everything stays.
  assert_ok(eg_graph_folded(graph, &(eg_fold_options){.max_bytes = 15}, &folded));
  assert_int_equal(eg_graph_node_count(folded), 3);
  eg_graph_destroy(folded);
}

static void folding_leaves_absent_weights_and_fills(void **state) {
  (void)state;
  eg_type type = matrix(2, 2);
  eg_value absent, fill;
  assert_ok(eg_graph_add_weight(graph, "absent", &type, NULL, &absent));
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_FILL);
  eg_attr_list_set_ints(&list, EG_A_FILL_SHAPE, (const int64_t[]){2, 2}, 2);
  eg_attr_list_set_float(&list, EG_A_FILL_VALUE, 3.0);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  assert_ok(eg_graph_add_node(graph, "", &attrs, NULL, 0, NULL, &fill));
  assert_ok(eg_graph_add_output(graph, "p", node_of(EG_OP_ADD, "p", absent, fill)));
  assert_ok(
      eg_graph_add_output(graph, "q", node_of(EG_OP_EXP, "q", fill, EG_VALUE_NONE)));
  eg_graph *folded;
  assert_ok(eg_graph_folded(graph, &(eg_fold_options){.max_bytes = SIZE_MAX}, &folded));
  assert_int_equal(eg_graph_node_count(folded), 2);
  eg_value found;
  assert_true(eg_graph_find_value(folded, "p", &found));
  assert_int_equal(eg_graph_value(folded, found)->kind, EG_VALUE_COMPUTED);
  assert_true(eg_graph_find_value(folded, "q", &found));
  assert_int_equal(eg_graph_value(folded, found)->kind, EG_VALUE_WEIGHT);
  eg_graph_destroy(folded);
}

static void mapped_buffers_check_their_range(void **state) {
  (void)state;
  char path[] = "test_graph_map.tmp";
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (int i = 0; i < 5000; i++)
    (void)fputc(i % 251, file);
  (void)fclose(file);
  eg_buffer *buffer;
  assert_ok(eg_buffer_map(&alloc, path, 4099, 901, &buffer));
  assert_int_equal(*(const unsigned char *)eg_buffer_data(buffer), 4099 % 251);
  eg_buffer_release(buffer);
  assert_fails(eg_buffer_map(&alloc, path, 4099, 902, &buffer), EGRAPH_E_IO,
               "5000 bytes");
  assert_fails(eg_buffer_map(&alloc, path, UINT64_MAX, 2, &buffer), EGRAPH_E_IO, "5000");
  assert_fails(eg_buffer_map(&alloc, "absent.tmp", 0, 2, &buffer), EGRAPH_E_IO,
               "absent.tmp");
  assert_fails(eg_buffer_map(&alloc, ".", 0, 2, &buffer), EGRAPH_E_IO, ".");
  (void)remove(path);
}

// ---- allocation failures ------------------------------------------------------------

static egraph_status build(eg_graph *to) {
  eg_type type = matrix(2, 4);
  eg_value x, w, y, parts[2];
  eg_buffer *data;
  egraph_allocator heap_of = eg_graph_allocator(to);
  EG_TRY(eg_graph_add_input(to, "x", &type, &x));
  EG_TRY(eg_buffer_create(&heap_of, 32, &data));
  egraph_status status = eg_graph_add_weight(to, "w", &type, data, &w);
  eg_buffer_release(data);
  EG_TRY(status);
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_EXP);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  EG_TRY(eg_graph_add_node(to, "e", &attrs, &w, 1, NULL, &w));
  eg_attr_list_init(&list, EG_OP_ADD);
  attrs = eg_attr_list_attrs(&list);
  EG_TRY(eg_graph_add_node(to, "a", &attrs, (eg_value[]){x, w}, 2, NULL, &y));
  eg_attr_list_init(&list, EG_OP_SPLIT);
  eg_attr_list_set_int(&list, EG_A_SPLIT_AXIS, 1);
  eg_attr_list_set_ints(&list, EG_A_SPLIT_SIZES, (const int64_t[]){1, 3}, 2);
  attrs = eg_attr_list_attrs(&list);
  const char *const names[2] = {"left", NULL};
  EG_TRY(eg_graph_add_node(to, "s", &attrs, &y, 1, names, parts));
  EG_TRY(eg_graph_add_opaque(to, "o", "If", "r", 1, parts, 2, NULL, NULL, 1, &y));
  return eg_graph_add_output(to, "y", y);
}

static egraph_status build_and_copy(egraph_allocator failing, void *user) {
  (void)user;
  eg_graph *built, *pruned = NULL, *folded = NULL;
  EG_TRY(eg_graph_create(&failing, &built));
  egraph_status status = build(built);
  if (status == EGRAPH_OK) status = eg_graph_pruned(built, &pruned);
  if (status == EGRAPH_OK)
    status = eg_graph_folded(built, &(eg_fold_options){.max_bytes = SIZE_MAX}, &folded);
  if (status == EGRAPH_OK) status = eg_graph_check(folded);
  eg_graph_destroy(folded);
  eg_graph_destroy(pruned);
  eg_graph_destroy(built);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  test_every_allocation_failing(build_and_copy, NULL);
}

static void a_graph_stays_sound_after_a_failed_addition(void **state) {
  (void)state;
  for (size_t n = 1; n < 60; n++) {
    test_heap failing = {0};
    egraph_allocator small = test_heap_allocator(&failing);
    eg_graph *partial;
    assert_ok(eg_graph_create(&small, &partial));
    failing.fail_at = failing.requests + n;
    egraph_status status = build(partial);
    failing.fail_at = 0;
    assert_ok(eg_graph_check(partial));
    eg_value value;
    eg_type type = matrix(1, 1);
    assert_ok(eg_graph_add_input(partial, "fresh", &type, &value));
    assert_ok(eg_graph_check(partial));
    eg_graph_destroy(partial);
    assert_int_equal(failing.live_bytes, 0);
    if (status == EGRAPH_OK) return;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
      CASE(nodes_get_inferred_types_and_names),
      CASE(names_are_unique_even_made_up_ones),
      CASE(ill_typed_nodes_are_refused_by_name),
      CASE(wrong_weights_are_refused),
      CASE(outputs_have_unique_names),
      CASE(formats_are_checked),
      CASE(leaves_that_outputs_need_are_named),
      CASE(opaque_nodes_that_outputs_need_are_named),
      CASE(opaque_nodes_keep_their_record),
      CASE(pruning_keeps_inputs_and_what_outputs_need),
      CASE(folding_evaluates_what_needs_only_weights),
      CASE(folding_leaves_absent_weights_and_fills),
      CASE(mapped_buffers_check_their_range),
      CASE(every_failing_allocation_is_survived),
      CASE(a_graph_stays_sound_after_a_failed_addition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
