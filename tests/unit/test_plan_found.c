// Parallelizations that are known to be best when only communication counts are found by
// the planner, which knows none of them: computing is free, and collectives cost by
// Alpa's formulas, whose constants prefer one all-reduce to a reduce-scatter and an
// all-gather along the same axis.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/alpa_mlp.h"
#include "tests/unit/plan_found_kit.h"

#define FREE "(egraph-machine 1)(name free)(compute free)(collectives alpa)"
static const char line[] = FREE "(link l (alpha 1) (beta 1))(axis a 8 l)";
#define SQUARE(slow, fast)                                                               \
  FREE "(link slow (alpha 1) (beta 1))(link fast (alpha 1) (beta 0.1))"                  \
       "(axis a " #slow " slow)(axis b " #fast " fast)"

enum { AXIS_A, AXIS_B };
enum { FLOAT32 = 4 }; // bytes

static eg_training_options descent(uint32_t micro_batches) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = EG_OPTIMIZER_SGD;
  options.micro_batches = micro_batches;
  return options;
}

/// Plans to the proven end.
static void find(planned *p, eg_text *model, const char *machine, const char *mesh,
                 uint32_t micro_batches) {
  const eg_training_options options = descent(micro_batches);
  planned_init(p, model, machine, mesh, &options);
  planned_run(p, INFINITY);
  assert_int_equal(p->planning.status, EG_LAYOUT_OPTIMAL);
  eg_text_deinit(model);
}

static void find_mlp(planned *p, const mlp_model *m, const char *machine,
                     const char *mesh, uint32_t micro_batches) {
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, m);
  find(p, &model, machine, mesh, micro_batches);
}

// ---- data parallelism ---------------------------------------------------------------

static void a_large_batch_is_split_and_gradients_reduced_once_a_step(void **state) {
  (void)state;
  const mlp_model m = {.layers = 2, .batch = 4096, .width = 128, .hidden = 256};
  const double weight = FLOAT32 * 128 * 256;
  planned p;
  find_mlp(&p, &m, line, "a=8", 4);
  EXPECT(&p, 0, {F, 1, ALL_REDUCE, AXIS_A, FLOAT32}, {U, 2, ALL_REDUCE, AXIS_A, weight});
  assert_int_equal(planned_digit(&p, "h0", AXIS_A), S0);
  assert_int_equal(planned_digit(&p, "x2", AXIS_A), S0);
  double once = 1 + 2 * 7.0 / 8 * weight + 0.01, loss = 1 + 2 * 7.0 / 8 * FLOAT32 + 0.01;
  assert_true(fabs(p.planning.cost - (2 * once + 4 * loss)) < 1e-9 * p.planning.cost);
  planned_deinit(&p);
}

static void gradients_of_biases_are_reduced_like_those_of_matrices(void **state) {
  (void)state;
  const mlp_model m = {
      .layers = 2, .batch = 4096, .width = 128, .hidden = 256, .biased = true};
  planned p;
  find_mlp(&p, &m, line, "a=8", 4);
  EXPECT(&p, 0, {F, 1, ALL_REDUCE, AXIS_A, FLOAT32},
         {U, 2, ALL_REDUCE, AXIS_A, FLOAT32 * 128 * 256},
         {U, 1, ALL_REDUCE, AXIS_A, FLOAT32 * 256},
         {U, 1, ALL_REDUCE, AXIS_A, FLOAT32 * 128});
  planned_deinit(&p);
}

/// An all-reduce over both axes: scattered on the fast one, reduced on the slow one.
static void an_all_reduce_over_two_axes_is_hierarchical(void **state) {
  (void)state;
  const mlp_model m = {.layers = 2, .batch = 4096, .width = 128, .hidden = 256};
  const double weight = FLOAT32 * 128 * 256;
  planned p;
  find_mlp(&p, &m, SQUARE(2, 4), "a=2,b=4", 4);
  EXPECT(&p, 0, {F, 1, ALL_REDUCE, AXIS_A, FLOAT32}, {F, 1, ALL_REDUCE, AXIS_B, FLOAT32},
         {U, 2, REDUCE_SCATTER, AXIS_B, weight}, {U, 2, ALL_REDUCE, AXIS_A, weight / 4},
         {U, 2, ALL_GATHER, AXIS_B, weight});
  planned_deinit(&p);
}

// ---- tensor parallelism -------------------------------------------------------------

static void a_wide_hidden_layer_is_split_by_columns_then_by_rows(void **state) {
  (void)state;
  const mlp_model m = {.layers = 4, .batch = 64, .width = 1024, .hidden = 4096};
  const double activation = FLOAT32 * 64 * 1024;
  planned p;
  find_mlp(&p, &m, line, "a=8", 1);
  EXPECT(&p, 0, {F, 2, ALL_REDUCE, AXIS_A, activation},
         {B, 1, ALL_REDUCE, AXIS_A, activation}); // nothing asks for that of the input
  assert_int_equal(planned_digit(&p, "w0", AXIS_A), S1);
  assert_int_equal(planned_digit(&p, "w1", AXIS_A), S0);
  assert_int_equal(planned_digit(&p, "h0", AXIS_A), S1);
  assert_int_equal(planned_digit(&p, "h1", AXIS_A), P);
  planned_deinit(&p);
}

static void attention_is_split_by_heads(void **state) {
  (void)state;
  const transformer_model m = {.layers = 1,
                               .batch = 2,
                               .sequence = 64,
                               .hidden = 512,
                               .heads = 8,
                               .dtype = "float32"};
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_attention_only(&model, &m);
  find(&p, &model, line, "a=8", 1);
  EXPECT(&p, 0, {F, 1, ALL_REDUCE, AXIS_A, FLOAT32 * 2 * 64 * 512});
  assert_int_equal(planned_digit(&p, "s0", AXIS_A), S1);
  assert_int_equal(planned_digit(&p, "wq0", AXIS_A), S1);
  assert_int_equal(planned_digit(&p, "wo0", AXIS_A), S0);
  planned_deinit(&p);
}

/// Megatron's f and g (Shoeybi et al., 2019).
static void a_transformer_block_pays_two_all_reduces_each_way(void **state) {
  (void)state;
  const transformer_model m = {.layers = 2,
                               .batch = 2,
                               .sequence = 64,
                               .hidden = 512,
                               .heads = 8,
                               .dtype = "float32"};
  const double activation = FLOAT32 * 2 * 64 * 512;
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_transformer(&model, &m);
  find(&p, &model, line, "a=8", 1);
  EXPECT(&p, FLOAT32 * 512, {F, 4, ALL_REDUCE, AXIS_A, activation},
         {B, 3, ALL_REDUCE, AXIS_A, activation});
  planned_deinit(&p);
}

/// A planner without partial sums reduces each product on its own (Alpa's own tests
/// expect two for h1 + h2).
static void a_sum_of_products_is_reduced_once(void **state) {
  (void)state;
  for (int terms = 2; terms <= 3; terms++) {
    const sum_model m = {.terms = terms, .batch = 64, .width = 1024, .hidden = 4096};
    planned p;
    eg_text model;
    eg_text_init(&model, eg_allocator_heap());
    model_sum(&model, &m);
    find(&p, &model, line, "a=8", 1);
    EXPECT(&p, 0, {F, 1, ALL_REDUCE, AXIS_A, FLOAT32 * 64 * 1024});
    assert_int_equal(planned_digit(&p, terms == 2 ? "s1" : "s2", AXIS_A), P);
    planned_deinit(&p);
  }
}

// ---- Alpa's optima ------------------------------------------------------------------

/// Where partial sums cannot help, Alpa's optimum; where they can, so much less. On one
/// axis they never do. On two, gradients of small weights are reduced hierarchically,
/// activations may take the shorter way as well.
static void alpas_optima_are_reproduced_or_beaten(void **state) {
  (void)state;
  static const struct {
    mlp_model model;
    bool is_square;
    double saved; // part of Alpa's cost
  } cases[] = {
      {{2, 4096, 128, 128, false}, false, 0},
      {{2, 64, 1024, 4096, false}, false, 0},
      {{12, 1024, 128, 128, false}, false, 0},
      {{12, 32, 256, 256, false}, false, 0},
      {{2, 640, 128, 128, false}, true, 0},
      {{12, 256, 128, 128, false}, true, 0},
      {{2, 512, 1024, 1024, false}, true, 0.0864},
      {{2, 64, 512, 2048, false}, true, 0.1945},
      {{12, 704, 128, 128, false}, true, 0.1340},
      {{12, 1024, 128, 128, false}, true, 0.2868},
  };
  static const alpa_axis axes[2][ALPA_AXES] = {{{8, 1, 1}, {1, 0, 0}},
                                               {{4, 1, 1}, {8, 1, 0.1}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool square = cases[i].is_square;
    double theirs = alpa_mlp(axes[square], &cases[i].model);
    planned p;
    find_mlp(&p, &cases[i].model, square ? SQUARE(4, 8) : line,
             square ? "a=4,b=8" : "a=8", 1);
    double saved = 1 - p.planning.cost / theirs;
    if (fabs(saved - cases[i].saved) > (cases[i].saved == 0 ? 1e-9 : 1e-4))
      fail_msg("case %zu: Alpa %.10g, here %.10g: %.6f less", i, theirs, p.planning.cost,
               saved);
    planned_deinit(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_large_batch_is_split_and_gradients_reduced_once_a_step),
      cmocka_unit_test(gradients_of_biases_are_reduced_like_those_of_matrices),
      cmocka_unit_test(an_all_reduce_over_two_axes_is_hierarchical),
      cmocka_unit_test(a_wide_hidden_layer_is_split_by_columns_then_by_rows),
      cmocka_unit_test(attention_is_split_by_heads),
      cmocka_unit_test(a_transformer_block_pays_two_all_reduces_each_way),
      cmocka_unit_test(a_sum_of_products_is_reduced_once),
      cmocka_unit_test(alpas_optima_are_reproduced_or_beaten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
