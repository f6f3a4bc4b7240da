// Parallelizations that are known to be good are found for devices that compute: DGX H100
// as it is shipped, Adam.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

enum { FLOAT32 = 4 }; // bytes
static const char node[] = "dgx-h100*1";

static eg_training_options training(eg_optimizer optimizer, uint32_t micro_batches) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = optimizer;
  options.micro_batches = micro_batches;
  return options;
}

/// Plans to the proven end. `options` NULL: the forward graph.
static void find(planned *p, eg_text *model, const char *machine, const char *mesh,
                 const eg_training_options *options) {
  planned_init(p, model, machine, mesh, options);
  planned_run(p, INFINITY);
  assert_int_equal(p->planning.status, EG_LAYOUT_OPTIMAL);
  eg_text_deinit(model);
}

// ---- tensor and sequence parallelism --------------------------------------------------

/// One long sequence: Megatron's tensor and sequence parallelism (Korthikanti et al.,
/// 2022). Per block and direction two activations are gathered and two are summed and
/// scattered; norms and what is added are split by the sequence; what was gathered is
/// kept for backward. x enters in any layout: its norm need not be gathered, and nothing
/// asks for its gradient: those of the norm's vectors take partial sums.
static void a_long_sequence_is_split_between_the_split_products(void **state) {
  (void)state;
  const transformer_model m = {.layers = 2,
                               .batch = 1,
                               .sequence = 2048,
                               .hidden = 12288,
                               .heads = 96,
                               .dtype = "float32"};
  for (int mixed = 0; mixed < 2; mixed++) {
    const double activation = (mixed ? 2 : FLOAT32) * 2048.0 * 12288;
    const double vector = FLOAT32 * 12288;
    eg_training_options options = training(EG_OPTIMIZER_ADAM, 1);
    options.precision = (eg_precision)mixed;
    planned p;
    eg_text model;
    eg_text_init(&model, eg_allocator_heap());
    model_transformer(&model, &m);
    find(&p, &model, node, "gpu=8", &options);
    EXPECT(&p, vector, {F, 4 - 1, ALL_GATHER, 0, activation},
           {F, 4, REDUCE_SCATTER, 0, activation}, {B, 4, ALL_GATHER, 0, activation},
           {B, 4 - 1, REDUCE_SCATTER, 0, activation});
    static const struct {
      const char *name;
      uint8_t digit;
    } made[] = {{"r0", S1},  {"m0", S1},  {"n1", S1}, // sequence
                {"s1", S1},                           // heads
                {"wq1", S1}, {"wo1", S0}, {"w11", S1}, {"w21", S0}, {"u1", P}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
      assert_int_equal(planned_digit(&p, made[i].name, 0), made[i].digit);
    planned_deinit(&p);
  }
}

// ---- experts --------------------------------------------------------------------------

/// Expert parallelism (GShard, Lepikhin et al., 2021): two all-to-alls each way, and no
/// traffic of experts' weights. The first dispatch reads inputs, which enter as they are
/// wanted.
static void experts_are_split_and_tokens_sent_to_them(void **state) {
  (void)state;
  const moe_model m = {.layers = 2,
                       .groups = 8,
                       .tokens = 1024,
                       .width = 1024,
                       .hidden = 4096,
                       .experts = 8,
                       .capacity = 256};
  const double sent = FLOAT32 * 8.0 * 8 * 256 * 1024, vector = FLOAT32 * 1024;
  const eg_training_options options = training(EG_OPTIMIZER_ADAM, 1);
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_moe(&model, &m);
  find(&p, &model, node, "gpu=8", &options);
  EXPECT(&p, vector, {F, 4 - 1, ALL_TO_ALL, 0, sent}, {B, 4, ALL_TO_ALL, 0, sent});
  assert_int_equal(planned_digit(&p, "w11", 0), S0); // experts
  assert_int_equal(planned_digit(&p, "w21", 0), S0);
  assert_int_equal(planned_digit(&p, "h1", 0), S0);
  assert_int_equal(planned_digit(&p, "d1", 0), S1); // groups
  assert_int_equal(planned_digit(&p, "n1", 0), S0);
  planned_deinit(&p);
}

// ---- partial sums ---------------------------------------------------------------------

static void a_sum_of_products_is_reduced_once(void **state) {
  (void)state;
  const eg_training_options options = training(EG_OPTIMIZER_ADAM, 1);
  for (int terms = 2; terms <= 3; terms++) {
    const sum_model m = {.terms = terms, .batch = 64, .width = 1024, .hidden = 4096};
    planned p;
    eg_text model;
    eg_text_init(&model, eg_allocator_heap());
    model_sum(&model, &m);
    find(&p, &model, node, "gpu=8", &options);
    EXPECT(&p, 0, {F, 1, ALL_REDUCE, 0, FLOAT32 * 64 * 1024});
    planned_deinit(&p);
  }
}

/// Over two nodes, a sum on all devices: scattered within a node, reduced between nodes,
/// gathered within a node.
static void sums_over_two_nodes_are_hierarchical(void **state) {
  (void)state;
  enum { NODE, GPU };
  const mlp_model wide = {.layers = 2, .batch = 64, .width = 8192, .hidden = 32768};
  const double activation = FLOAT32 * 64 * 8192;
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, &wide);
  find(&p, &model, "dgx-h100*2", "node=2,gpu=8", NULL);
  EXPECT(&p, 0, {F, 1, REDUCE_SCATTER, GPU, activation},
         {F, 1, ALL_REDUCE, NODE, activation / 8}, {F, 1, ALL_GATHER, GPU, activation});
  planned_deinit(&p);

  const mlp_model large = {.layers = 2, .batch = 65536, .width = 1024, .hidden = 4096};
  const eg_training_options options = training(EG_OPTIMIZER_SGD, 4);
  const double weight = FLOAT32 * 1024 * 4096;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, &large);
  find(&p, &model, "dgx-h100*2", "node=2,gpu=8", &options);
  EXPECT(&p, FLOAT32, {U, 2, REDUCE_SCATTER, GPU, weight},
         {U, 2, ALL_REDUCE, NODE, weight / 8}, {U, 2, ALL_GATHER, GPU, weight});
  planned_deinit(&p);
}

// ---- recommendation, images -----------------------------------------------------------

/// Tables are split by columns, the rest by samples: what was looked up is exchanged, and
/// its gradient (Naumov et al., 2019).
static void tables_are_split_and_what_is_looked_up_is_exchanged(void **state) {
  (void)state;
  const dlrm_model m = {.batch = 8192,
                        .dense = 16,
                        .tables = 4,
                        .rows = 100000,
                        .width = 64,
                        .hidden = 512};
  const double looked_up = FLOAT32 * 8192 * 64, w1 = FLOAT32 * 5 * 64 * 512;
  const eg_training_options options = training(EG_OPTIMIZER_ADAM, 2);
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_dlrm(&model, &m);
  find(&p, &model, node, "gpu=8", &options);
  EXPECT(&p, FLOAT32 * 1024, {F, 4, ALL_TO_ALL, 0, looked_up},
         {B, 4, ALL_TO_ALL, 0, looked_up}, {U, 1, ALL_REDUCE, 0, w1});
  assert_int_equal(planned_digit(&p, "table0", 0), S1);
  assert_int_equal(planned_digit(&p, "h", 0), S0);
  planned_deinit(&p);
}

/// Convolutions are split by images, the matrix behind them by classes (Krizhevsky,
/// 2014).
static void convolutions_are_split_by_images_the_classifier_by_classes(void **state) {
  (void)state;
  const cnn_model m = {
      .layers = 3, .batch = 64, .channels = 64, .size = 32, .classes = 50000};
  const eg_training_options options = training(EG_OPTIMIZER_ADAM, 2);
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_cnn(&model, &m);
  find(&p, &model, node, "gpu=8", &options);
  EXPECT(&p, FLOAT32, {F, 1, ALL_GATHER, 0, FLOAT32 * 64 * 64},
         {B, 1, REDUCE_SCATTER, 0, FLOAT32 * 64 * 64},
         {U, 3, ALL_REDUCE, 0, FLOAT32 * 64 * 64 * 9});
  assert_int_equal(planned_digit(&p, "c2", 0), S0);
  assert_int_equal(planned_digit(&p, "wy", 0), S1);
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_long_sequence_is_split_between_the_split_products),
      cmocka_unit_test(experts_are_split_and_tokens_sent_to_them),
      cmocka_unit_test(a_sum_of_products_is_reduced_once),
      cmocka_unit_test(sums_over_two_nodes_are_hierarchical),
      cmocka_unit_test(tables_are_split_and_what_is_looked_up_is_exchanged),
      cmocka_unit_test(convolutions_are_split_by_images_the_classifier_by_classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
