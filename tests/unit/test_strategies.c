// Strategies of operators on meshes: what follows from the factors.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/strategy.h"
#include "tests/unit/ops_fixture.h"

/// An operator on a mesh and all its strategies.
typedef struct spreading {
  fixture f;
  eg_type results[FIXTURE_MAX_TYPES];
  eg_node_spec spec;
  eg_spread spread;
  eg_mesh mesh;
  eg_strategies all;
} spreading;

static void spreading_init(spreading *s, const ops_case *row, const char *mesh) {
  fixture_init(&s->f, row);
  assert_ok(eg_op_infer(&s->f.attrs, s->f.inputs, s->f.count, s->results));
  s->spec = (eg_node_spec){.attrs = &s->f.attrs,
                           .inputs = s->f.inputs,
                           .input_count = s->f.count,
                           .results = s->results,
                           .result_count = eg_op_results(&s->f.attrs)};
  assert_ok(eg_mesh_parse(mesh, &s->mesh));
  assert_ok(eg_spread_init(&s->spec, &s->spread));
  eg_strategies_init(&s->all, eg_allocator_heap());
  assert_ok(eg_spread_strategies(&s->spread, &s->mesh, &s->f.arena, &s->all));
}

static void spreading_deinit(spreading *s) {
  eg_strategies_deinit(&s->all);
  fixture_deinit(&s->f);
}

/// "S0 R -> S0", layouts of operands and result.
static void print(const spreading *s, const eg_strategy *strategy, eg_text *text) {
  for (uint32_t i = 0; i < s->f.count; i++) {
    assert_ok(eg_layout_print(text, &s->mesh, &strategy->inputs[i]));
    assert_ok(eg_text_append(text, " "));
  }
  assert_ok(eg_text_append(text, "-> "));
  assert_ok(eg_layout_print(text, &s->mesh, &strategy->result));
}

static void expect_all(const ops_case *row, const char *mesh, const char *const *wanted) {
  spreading s;
  spreading_init(&s, row, mesh);
  size_t count = 0;
  for (; wanted[count] != NULL; count++) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_in_range(count, 0, s.all.len - 1);
    print(&s, &s.all.data[count], &text);
    assert_string_equal(eg_text_of(&text), wanted[count]);
    eg_text_deinit(&text);
  }
  assert_int_equal(count, s.all.len);
  spreading_deinit(&s);
}

static void a_matmul_splits_any_loop_and_passes_sums(void **state) {
  (void)state;
  static const char *const wanted[] = {
      "R R -> R", "P R -> P", "R P -> P", "S0 R -> S0", "R S1 -> S1", "S1 S0 -> P", NULL};
  expect_all(&(ops_case){EG_OP_MATMUL, "", "float32[4,8] float32[8,4]", NULL}, "gpu=2",
             wanted);
}

static void an_addend_is_partial_where_the_sum_is(void **state) {
  (void)state;
  static const char *const wanted[] = {
      "R R R -> R",    "P R P -> P",   "R P P -> P", "S0 R R -> S0",
      "R S1 S0 -> S1", "S1 S0 P -> P", NULL};
  expect_all(&(ops_case){EG_OP_MATMUL, "", "float32[4,8] float32[8,4] float32[4]", NULL},
             "gpu=2", wanted);
}

static void a_sum_of_values_passes_both(void **state) {
  (void)state;
  static const char *const wanted[] = {"R R -> R", "P P -> P", "S0 S0 -> S0", NULL};
  expect_all(&(ops_case){EG_OP_ADD, "", "float32[4] float32[4]", NULL}, "gpu=2", wanted);
}

static void means_split_like_sums(void **state) {
  (void)state;
  static const char *const pool[] = {"R -> R",   "P -> P",  "S0 -> S0",
                                     "S1 -> S1", "S2 -> P", NULL};
  expect_all(&(ops_case){EG_OP_GLOBAL_AVERAGE_POOL, "", "float32[2,4,8,7]", NULL},
             "gpu=2", pool);
  static const char *const mean[] = {"R -> R", "P -> P", "S0 -> P", "S1 -> S0", NULL};
  expect_all(
      &(ops_case){EG_OP_REDUCE_MEAN, ":axes [0] :keepdims 0", "float32[4,6]", NULL},
      "gpu=2", mean);
}

/// Heads are dimension 2 of the output and 1 of the sums.
static void attention_splits_by_heads_behind_rows(void **state) {
  (void)state;
  static const char *const wanted[] = {"R R R -> R",   "S0 S0 S0 -> S0", "S2 S2 S2 -> S2",
                                       "S1 R R -> S1", "R R S3 -> S3",   NULL};
  expect_all(&(ops_case){EG_OP_ATTENTION, ":rows_first 1",
                         "float32[2,6,4,8] float32[2,10,4,8] float32[2,10,4,8]", NULL},
             "gpu=2", wanted);
}

/// Rank 1 of two has the upper half of the table.
static void a_table_splits_by_its_entries(void **state) {
  (void)state;
  static const char *const wanted[] = {"R R -> R",   "P R -> P",  "R S0 -> S0",
                                       "S1 R -> S1", "S0 R -> P", NULL};
  const ops_case row = {EG_OP_GATHER, "", "float32[8,4] int64[6]", NULL};
  expect_all(&row, "gpu=2", wanted);
  static const char *const grad[] = {"R R -> R",   "P R -> P",  "S0 S0 -> P",
                                     "S1 R -> S1", "R R -> S0", NULL};
  expect_all(&(ops_case){EG_OP_GATHER_GRAD, ":size 8", "float32[6,4] int64[6]", NULL},
             "gpu=2", grad);
  spreading s;
  eg_node_spec local;
  spreading_init(&s, &row, "gpu=2");
  assert_ok(eg_spread_local(&s.spread, &s.mesh, &s.all.data[4], 1, &s.f.arena, &local));
  assert_int_equal(local.inputs[0].dims[0], 4);
  assert_int_equal(eg_attr_at(local.attrs, EG_A_GATHER_WHOLE)->i, 8);
  assert_int_equal(eg_attr_at(local.attrs, EG_A_GATHER_FIRST)->i, 4);
  spreading_deinit(&s);
}

// [2,8] -> [16]: the batch is the coarse part of the result.
static void merged_dimensions_split_from_the_coarse_end(void **state) {
  (void)state;
  static const char *const one[] = {"R -> R", "P -> P", "S0 -> S0", NULL};
  expect_all(&(ops_case){EG_OP_RESHAPE, ":shape [16]", "float32[2,8]", NULL}, "gpu=2",
             one);
  static const char *const two[] = {
      "R,R -> R,R",   "R,P -> R,P",   "R,S0 -> R,S0", "P,R -> P,R",     "P,P -> P,P",
      "P,S0 -> P,S0", "S0,R -> S0,R", "S0,P -> S0,P", "S0,S1 -> S0,S0", NULL};
  expect_all(&(ops_case){EG_OP_RESHAPE, ":shape [16]", "float32[2,8]", NULL},
             "node=2,gpu=2", two);
}

static void a_convolution_by_rows_needs_its_neighbours(void **state) {
  (void)state;
  spreading s;
  spreading_init(&s,
                 &(ops_case){EG_OP_CONV,
                             ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]",
                             "float32[1,3,8,7] float32[5,3,3,3]", NULL},
                 "gpu=2");
  uint32_t windows = 0;
  for (size_t i = 0; i < s.all.len; i++) {
    eg_halo halos[EG_MAX_MESH_AXES];
    uint32_t count = eg_spread_halos(&s.spread, &s.mesh, &s.all.data[i], halos);
    if (count == 0) continue;
    windows++;
    assert_int_equal(halos[0].dim, 2);
    assert_int_equal(halos[0].before, 1);
    assert_int_equal(halos[0].after, 1);
    eg_node_spec local;
    assert_ok(eg_spread_local(&s.spread, &s.mesh, &s.all.data[i], 0, &s.f.arena, &local));
    assert_int_equal(local.inputs[0].dims[2], 6);
    assert_int_equal(local.results[0].dims[2], 4);
    assert_int_equal(eg_attr_at(local.attrs, EG_A_CONV_PADS)->ints.data[0], 0);
    assert_int_equal(eg_attr_at(local.attrs, EG_A_CONV_PADS)->ints.data[1], 1);
  }
  assert_int_equal(windows, 1); // seven columns do not divide
  eg_unevens unevens;
  eg_unevens_init(&unevens, eg_allocator_heap());
  assert_ok(eg_spread_unevens(&s.spread, &s.mesh, &unevens));
  assert_true(unevens.len >= 3); // columns, channels in and out
  eg_unevens_deinit(&unevens);
  spreading_deinit(&s);
}

static void attributes_follow_the_part(void **state) {
  (void)state;
  static const ops_case rows[] = {
      {EG_OP_RESHAPE, ":shape [4 2 6]", "float32[4,12]", NULL},
      {EG_OP_EXPAND, ":shape [4 6]", "float32[1,6]", NULL},
      {EG_OP_SLICE, ":starts [0 1] :ends [4 3] :steps [1 1]", "float32[4,6]", NULL},
      {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1] :group 4",
       "float32[2,8,4,4] float32[8,2,3,3]", NULL},
      {EG_OP_GROUP_NORM, ":num_groups 4", "float32[2,8,4,4] float32[8] float32[8]", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    spreading s;
    spreading_init(&s, &rows[i], "a=2,b=2");
    bool split = false;
    for (size_t k = 0; k < s.all.len; k++) // well-typed, or it would not be there
      split = split || s.all.data[k].share == 0.25;
    assert_true(split);
    spreading_deinit(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_matmul_splits_any_loop_and_passes_sums),
      cmocka_unit_test(an_addend_is_partial_where_the_sum_is),
      cmocka_unit_test(a_sum_of_values_passes_both),
      cmocka_unit_test(means_split_like_sums),
      cmocka_unit_test(attention_splits_by_heads_behind_rows),
      cmocka_unit_test(a_table_splits_by_its_entries),
      cmocka_unit_test(merged_dimensions_split_from_the_coarse_end),
      cmocka_unit_test(a_convolution_by_rows_needs_its_neighbours),
      cmocka_unit_test(attributes_follow_the_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
