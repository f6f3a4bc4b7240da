// The rules on real networks, with default budgets: saturation ends soon, and what the
// rules are for is found. Skipped without the models.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx.h"
#include "pcg/graph/graph_copy.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"
#include "tests/testing.h"

typedef struct saturated {
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  eg_saturation_report report;
} saturated;

static eg_rules *rules;

static int load_rules(void **state) {
  (void)state;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  return 0;
}

static int destroy_rules(void **state) {
  (void)state;
  eg_rules_destroy(rules);
  return 0;
}

// False when the file is not there.
static bool load(const char *name, eg_graph **out) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/onnx/%s.onnx", EG_DATA_DIR, name);
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.batch = 1;
  options.draws_weights = true;
  egraph_status status = eg_onnx_load(NULL, path, &options, out);
  if (status == EGRAPH_E_IO) return false;
  assert_ok(status);
  return true;
}

static bool saturate(const char *name, saturated *out) {
  eg_graph *graph;
  if (!load(name, &graph)) return false;
  assert_ok(eg_graph_folded(graph, &(eg_fold_options){.max_bytes = (size_t)1 << 20},
                            &out->graph));
  eg_graph_destroy(graph);
  assert_ok(eg_tensor_egraph_create(NULL, out->graph, &out->egraph));
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  assert_ok(eg_saturate(out->egraph, rules, &options, &out->report));
  printf("%s: %u nodes, %u classes, %u iterations, %s, %.2f s\n", name, out->report.nodes,
         out->report.classes, out->report.iterations, eg_stop_name(out->report.stop),
         out->report.seconds);
  return true;
}

static void release(saturated *run) {
  eg_saturation_report_deinit(&run->report);
  eg_tensor_egraph_destroy(run->egraph);
  eg_graph_destroy(run->graph);
}

// Classes that hold a node of the operator; with `arity` > 0 only nodes with as many
// operands count, and with `also` < EG_OP_COUNT only classes that hold that operator too.
static uint32_t count_classes(const saturated *run, eg_op op, uint32_t arity,
                              eg_op also) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(run->egraph);
  uint32_t found = 0;
  for (eg_class class = eg_engine_first(engine); class.id != EG_CLASS_NONE.id;
       class = eg_engine_next(engine, class)) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(engine, class, &count);
    bool has = false, has_also = also == EG_OP_COUNT;
    for (uint32_t i = 0; i < count; i++) {
      eg_term term = eg_engine_term(engine, nodes[i]);
      has = has || (term.op == op && (arity == 0 || term.arity == arity));
      has_also = has_also || term.op == also;
    }
    found += has && has_also;
  }
  return found;
}

// Products with a weight that is three weights side by side.
static uint32_t count_triple_products(const saturated *run) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(run->egraph);
  uint32_t found = 0, last = UINT32_MAX;
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    eg_term product = eg_engine_term(engine, n);
    if (product.op != EG_OP_MATMUL) continue;
    uint32_t weights;
    const eg_node *weight = eg_engine_class_nodes(engine, product.children[1], &weights);
    for (uint32_t k = 0; k < weights; k++) {
      eg_term term = eg_engine_term(engine, weight[k]);
      if (term.op != EG_OP_CONCAT || term.arity != 3 || product.children[0].id == last)
        continue;
      last = product.children[0].id; // one per input
      found++;
    }
  }
  return found;
}

static void every_model_saturates_soon(void **state) {
  (void)state;
  static const char *const names[] = {"bert_base_hand.eval.op13",
                                      "bert_base_hand.eval.op17",
                                      "bert_base_hand.preserve.op13",
                                      "bert_base_hand.preserve.op17",
                                      "inception_v3.eval.op13",
                                      "inception_v3.preserve.op13",
                                      "resnet50.eval.op13",
                                      "resnet50.preserve.op13",
                                      "resnext50_32x4d.eval.op13",
                                      "resnext50_32x4d.preserve.op13",
                                      "squeezenet1_0.eval.op13",
                                      "squeezenet1_0.preserve.op13",
                                      "vgg19.eval.op13",
                                      "vgg19.preserve.op13"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    saturated run;
    if (!saturate(names[i], &run)) skip();
    assert_true(run.report.seconds < 15); // seconds, even with sanitizers
    assert_true(run.report.nodes < 20000);
    release(&run);
  }
}

// With rules that make variants without end, the budgets end the search, and no rule is
// found unsound on the way.
static void exploring_rules_keep_the_budgets(void **state) {
  (void)state;
  static const char *const topics[] = {"explore-algebra", "explore-conv",
                                       "explore-matmul"};
  static const char *const names[] = {"bert_base_hand.eval.op17", "vgg19.eval.op13"};
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    assert_ok(eg_rules_enable(rules, topics[i], true));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    saturated run;
    if (!saturate(names[i], &run)) skip();
    assert_int_equal(run.report.stop, EG_STOP_NODE_LIMIT);
    assert_true(run.report.nodes <= 20000);
    release(&run);
  }
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    assert_ok(eg_rules_enable(rules, topics[i], false));
}

static void layer_norms_and_gelus_of_bert_are_recognized(void **state) {
  (void)state;
  saturated run;
  if (!saturate("bert_base_hand.preserve.op13", &run)) skip();
  assert_int_equal(count_classes(&run, EG_OP_LAYER_NORM, 3, EG_OP_COUNT), 24);
  assert_int_equal(count_classes(&run, EG_OP_GELU, 0, EG_OP_COUNT), 12);
  release(&run);
}

static void queries_keys_and_values_of_bert_are_merged(void **state) {
  (void)state;
  saturated run;
  if (!saturate("bert_base_hand.eval.op17", &run)) skip();
  assert_true(count_triple_products(&run) >= 12);
  release(&run);
}

static void batch_norms_are_folded(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t count;
  } models[] = {{"resnet50.preserve.op13", 53},
                {"resnext50_32x4d.preserve.op13", 53},
                {"inception_v3.preserve.op13", 94}};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    saturated run;
    if (!saturate(models[i].name, &run)) skip();
    assert_int_equal(count_classes(&run, EG_OP_BATCH_NORM, 0, EG_OP_COUNT),
                     models[i].count);
    assert_int_equal(count_classes(&run, EG_OP_BATCH_NORM, 0, EG_OP_CONV),
                     models[i].count);
    release(&run);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_model_saturates_soon),
      cmocka_unit_test(exploring_rules_keep_the_budgets),
      cmocka_unit_test(layer_norms_and_gelus_of_bert_are_recognized),
      cmocka_unit_test(queries_keys_and_values_of_bert_are_merged),
      cmocka_unit_test(batch_norms_are_folded),
  };
  return cmocka_run_group_tests(tests, load_rules, destroy_rules);
}
