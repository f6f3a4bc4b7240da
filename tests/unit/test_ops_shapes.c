// Type inference: the table of good nodes, and the messages for bad ones.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops_fixture.h"

static bool typed_by_owner(eg_op op) {
  return op == EG_OP_INPUT || op == EG_OP_WEIGHT || op == EG_OP_PART ||
         op == EG_OP_OPAQUE;
}

static void every_case_infers_its_result_types(void **state) {
  (void)state;
  for (int i = 0; i < OPS_CASES; i++) {
    const ops_case *row = &ops_cases[i];
    fixture f;
    eg_type wanted[FIXTURE_MAX_TYPES], found[FIXTURE_MAX_TYPES];
    fixture_init(&f, row);
    uint32_t count = read_types(row->results, wanted);
    assert_int_equal(eg_op_results(&f.attrs), count);
    assert_ok(eg_op_infer(&f.attrs, f.inputs, f.count, found));
    for (uint32_t r = 0; r < count; r++)
      if (!eg_type_same(&found[r], &wanted[r])) {
        eg_text text;
        eg_text_init(&text, eg_allocator_heap());
        assert_ok(eg_type_print(&text, &found[r]));
        print_error("%s %s: result %u is %s, not %s\n", eg_op_info_of(row->op)->name,
                    row->inputs, r, eg_text_of(&text), row->results);
        eg_text_deinit(&text);
        fail();
      }
    fixture_deinit(&f);
  }
}

static void every_operator_has_a_case(void **state) {
  (void)state;
  bool seen[EG_OP_COUNT] = {false};
  for (int i = 0; i < OPS_CASES; i++)
    seen[ops_cases[i].op] = true;
  for (int op = 0; op < EG_OP_COUNT; op++)
    if (!seen[op] && !typed_by_owner((eg_op)op))
      fail_msg("operator %s has no case in ops_cases.def",
               eg_op_info_of((eg_op)op)->name);
}

static void nodes_typed_by_their_graph_are_refused(void **state) {
  (void)state;
  static const ops_case rows[] = {{EG_OP_INPUT, "", "", ""},
                                  {EG_OP_WEIGHT, "", "", ""},
                                  {EG_OP_PART, "", "float32[1]", ""},
                                  {EG_OP_OPAQUE, "", "float32[1]", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture f;
    eg_type out;
    eg_factors factors;
    fixture_init(&f, &rows[i]);
    assert_true(typed_by_owner(rows[i].op));
    assert_fails(eg_op_infer(&f.attrs, f.inputs, f.count, &out), EGRAPH_E_ARGUMENT,
                 "known to its graph");
    assert_fails(eg_op_factors(&f.attrs, f.inputs, f.count, &factors), EGRAPH_E_ARGUMENT,
                 "known to its graph");
    assert_true(eg_op_flops(&f.attrs, f.inputs, f.count) == 0);
    fixture_deinit(&f);
  }
}

// Each row: a node that must be refused, and a part of the message.
static const ops_case bad_cases[] = {
#define REFUSED(ID, ATTRS, INPUTS, MESSAGE) {EG_OP_##ID, ATTRS, INPUTS, MESSAGE},
#include "tests/unit/ops_cases.def"
};

static void every_bad_node_is_refused_with_its_message(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
    fixture f;
    eg_type out[FIXTURE_MAX_TYPES], before[FIXTURE_MAX_TYPES];
    eg_factors factors;
    fixture_init(&f, &bad_cases[i]);
    memset(out, 0x5a, sizeof out);
    memcpy(before, out, sizeof out);
    assert_fails(eg_op_infer(&f.attrs, f.inputs, f.count, out), EGRAPH_E_TYPE,
                 bad_cases[i].results);
    assert_memory_equal(out, before, sizeof out);
    const char *name = eg_op_info_of(bad_cases[i].op)->name;
    assert_int_equal(strncmp(egraph_last_error(), name, strlen(name)), 0);
    assert_fails(eg_op_factors(&f.attrs, f.inputs, f.count, &factors), EGRAPH_E_TYPE, "");
    fixture_deinit(&f);
  }
}

static void malformed_operand_types_are_refused(void **state) {
  (void)state;
  eg_attrs relu = {.op = EG_OP_RELU};
  eg_type out, bad = eg_type_of(EGRAPH_FLOAT32, 1, (int64_t[]){-3});
  assert_fails(eg_op_infer(&relu, &bad, 1, &out), EGRAPH_E_TYPE,
               "relu: operand 0: dimension 0 is negative: -3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_case_infers_its_result_types),
      cmocka_unit_test(every_operator_has_a_case),
      cmocka_unit_test(nodes_typed_by_their_graph_are_refused),
      cmocka_unit_test(every_bad_node_is_refused_with_its_message),
      cmocka_unit_test(malformed_operand_types_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
