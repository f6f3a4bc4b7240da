// Repeated blocks: found, folded, and planned as if they were not.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "optimize/search/planner.h"
#include "pcg/plan/plan_cost.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/testing.h"

typedef struct text_graph {
  eg_text text;
  eg_graph *graph;
} text_graph;

/// Layers of two matrix products with a residual; `head` nodes before them.
static void make_layers(text_graph *t, int layers, bool head, bool shared) {
  eg_text_init(&t->text, eg_allocator_heap());
  assert_ok(eg_text_append(&t->text, "(egraph-graph 1)\n(input x \"float32[64,32]\")\n"));
  for (int i = 0; i < layers; i++)
    assert_ok(eg_text_printf(&t->text,
                             "(weight a%d \"float32[32,128]\")\n"
                             "(weight b%d \"float32[128,32]\")\n",
                             i, i));
  assert_ok(eg_text_append(&t->text, head ? "(let y (tanh x))\n" : "(let y (relu x))\n"));
  assert_ok(eg_text_append(&t->text, "(let r_ (exp y))\n"));
  for (int i = 0; i < layers; i++) {
    char before[16];
    (void)snprintf(before, sizeof before, i == 0 ? "r_" : "r%d", i - 1);
    assert_ok(eg_text_printf(&t->text,
                             "(let p%d (matmul %s a%d))\n(let q%d (relu p%d))\n"
                             "(let s%d (matmul q%d b%d))\n(let r%d (add %s s%d))\n",
                             i, before, shared ? 0 : i, i, i, i, i, i, i, before, i));
  }
  assert_ok(eg_text_printf(&t->text, "(output r%d)\n", layers - 1));
  const char *text = eg_text_of(&t->text);
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &t->graph));
}

static void text_graph_deinit(text_graph *t) {
  eg_graph_destroy(t->graph);
  eg_text_deinit(&t->text);
}

static const eg_fold_ends ENDS = {2, 2};

/// The block of every number stands for itself at the ends, and in the middle for all.
static void one_block_stands_for_those_in_the_middle(void **state) {
  (void)state;
  const eg_blocks blocks = {.period = 1, .count = 8};
  const uint32_t standing[] = {0, 1, 2, 2, 2, 2, 6, 7};
  for (uint32_t b = 0; b < 8; b++)
    assert_int_equal(eg_blocks_standing(&blocks, ENDS, b), standing[b]);
  eg_blocks pairs = eg_blocks_group(&blocks, 2);
  assert_int_equal(pairs.count, 4);
  assert_int_equal(pairs.period, 2);
  assert_false(eg_blocks_can_fold(&pairs, ENDS));
}

static void layers_are_found_and_folded(void **state) {
  (void)state;
  for (int layers = 4; layers < 12; layers++) {
    text_graph t;
    eg_blocks blocks;
    eg_folded folded;
    make_layers(&t, layers, layers % 2 == 0, false);
    assert_ok(eg_blocks_find(t.graph, &blocks));
    assert_int_equal(blocks.period, 4);
    assert_in_range(blocks.count, layers - 1, layers);
    if (blocks.count < 4) assert_int_equal(blocks.count, 0);
    if (eg_blocks_can_fold(&blocks, ENDS)) {
      assert_ok(eg_blocks_fold(t.graph, &blocks, ENDS, &folded));
      assert_ok(eg_graph_check(folded.graph));
      assert_int_equal(folded.blocks.count, 5);
      assert_int_equal(folded.middle, 2);
      assert_int_equal(folded.times, blocks.count - 4);
      assert_int_equal(eg_graph_node_count(folded.graph) + (folded.times - 1) * 4,
                       eg_graph_node_count(t.graph));
      eg_folded_deinit(&folded);
    }
    text_graph_deinit(&t);
  }
}

static void three_layers_and_shared_weights(void **state) {
  (void)state;
  text_graph t;
  eg_blocks blocks;
  make_layers(&t, 3, true, false);
  assert_ok(eg_blocks_find(t.graph, &blocks));
  assert_int_equal(blocks.count, 0);
  text_graph_deinit(&t);
  // A weight that all layers share is common to all blocks, and there is one of it.
  eg_folded folded;
  eg_value shared;
  make_layers(&t, 8, true, true);
  assert_ok(eg_blocks_find(t.graph, &blocks));
  assert_int_equal(blocks.count, 8);
  assert_ok(eg_blocks_fold(t.graph, &blocks, ENDS, &folded));
  assert_ok(eg_graph_check(folded.graph));
  assert_true(eg_graph_find_value(folded.graph, "a0", &shared));
  assert_false(eg_graph_find_value(folded.graph, "a1", &shared));
  eg_folded_deinit(&folded);
  text_graph_deinit(&t);
}

/// Seconds of a step, and bytes of its weights and of the optimizer's states.
static double planned_cost(const eg_graph *graph, const eg_folded *folded,
                           eg_optimizer optimizer, const eg_rules *rules,
                           double *out_carried) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = optimizer;
  eg_training training;
  eg_training_info info;
  eg_machine machine;
  eg_planning planning;
  assert_ok(eg_training_step(graph, &options, &training));
  assert_ok(eg_training_info_init(&info, eg_allocator_heap(), &training, folded));
  assert_ok(eg_machine_load(NULL, "dgx-h100*1", &machine));
  const eg_plan_context context = {.machine = &machine, .rules = rules};
  eg_planner_input input = {.context = &context,
                            .graph = training.graph,
                            .info = &info.info,
                            .mesh = &machine.meshes[0],
                            .budget = EG_LAYOUT_OPTIONS_DEFAULT};
  assert_ok(eg_planner_run(eg_allocator_heap(), &input, &planning));
  assert_int_equal(planning.status, EG_LAYOUT_OPTIMAL);
  double cost = planning.cost;
  eg_plan_summary summary;
  assert_ok(eg_plan_summary_make(&planning.emitted.plan, eg_allocator_heap(), &summary));
  *out_carried = summary.most[EG_STORE_CARRIED];
  eg_planning_deinit(&planning);
  eg_machine_deinit(&machine);
  eg_training_info_deinit(&info);
  eg_training_deinit(&training);
  return cost;
}

static void compare_folded(const int layers[2], const eg_rules *rules) {
  // Adam's scalars are common to all blocks, and so to the updates of each.
  static const eg_optimizer optimizers[] = {EG_OPTIMIZER_MOMENTUM, EG_OPTIMIZER_ADAM};
  for (size_t i = 0; i < 2; i++) {
    text_graph t;
    eg_blocks blocks;
    eg_folded folded;
    make_layers(&t, layers[i], true, false);
    assert_ok(eg_blocks_find(t.graph, &blocks));
    assert_true(eg_blocks_can_fold(&blocks, ENDS));
    assert_ok(eg_blocks_fold(t.graph, &blocks, ENDS, &folded));
    for (size_t o = 0; o < sizeof optimizers / sizeof *optimizers; o++) {
      double carried, whole_carried;
      double whole = planned_cost(t.graph, NULL, optimizers[o], rules, &whole_carried);
      double cost = planned_cost(folded.graph, &folded, optimizers[o], rules, &carried);
      assert_true(fabs(cost - whole) <= 1e-9 * whole);
      assert_true(carried == whole_carried);
    }
    eg_folded_deinit(&folded);
    text_graph_deinit(&t);
  }
}

static void folded_steps_cost_what_whole_ones_do(void **state) {
  (void)state;
  compare_folded((const int[]){7, 9}, NULL);
}

/// Rules do not look from block to block of a folded step. Here nothing is to be gained
/// there; what is gained inside a block is gained as often as the block stands for.
static void so_they_do_with_rules(void **state) {
  (void)state;
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  compare_folded((const int[]){7, 8}, rules);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_block_stands_for_those_in_the_middle),
      cmocka_unit_test(layers_are_found_and_folded),
      cmocka_unit_test(three_layers_and_shared_weights),
      cmocka_unit_test(folded_steps_cost_what_whole_ones_do),
      cmocka_unit_test(so_they_do_with_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
