// Uses one program for one device, for eight and for 512: optimizes a multilayer
// perceptron for this host, and plans a step of its training for nodes of eight H100.
//
//   11_targets
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

static const char mlp[] =
    "(egraph-graph 1)(input x \"bfloat16[8192,8192]\")"
    "(weight w1 \"bfloat16[8192,8192]\")(weight w2 \"bfloat16[8192,8192]\")"
    "(let h (matmul x w1))(let r (relu h))(let y (matmul r w2))(output y)";

static egraph_status optimize(const egraph_graph *graph, const egraph_rules *rules,
                              const char *machine) {
  egraph_target target = egraph_target_default();
  egraph_training training = egraph_training_default();
  egraph_options options = egraph_options_default();
  egraph_result *result = NULL;
  target.machine = machine;
  training.loss = "mean-squared-error";
  if (machine != NULL) options.target = &target, options.training = &training;
  egraph_status status = egraph_optimize(NULL, graph, rules, NULL, &options, &result);
  if (status == EGRAPH_OK) {
    egraph_plan_info plan = egraph_plan_info_of(egraph_result_plan(result));
    printf("%s: %u devices, %u nodes, %s\n", machine != NULL ? machine : "this host",
           plan.devices, plan.nodes, egraph_result_report(result)->status);
  }
  egraph_result_destroy(result);
  return status;
}

int main(void) {
  egraph_graph *graph = NULL;
  egraph_rules *rules = NULL;
  egraph_status s =
      egraph_graph_parse(NULL, "mlp.egraph", mlp, sizeof mlp - 1, NULL, &graph);
  if (s == EGRAPH_OK) s = egraph_rules_create(NULL, &rules);
  if (s == EGRAPH_OK) s = egraph_rules_add_builtin(rules);
  if (s == EGRAPH_OK) s = optimize(graph, rules, NULL);
  if (s == EGRAPH_OK) s = optimize(graph, rules, "dgx-h100*1");
  if (s == EGRAPH_OK) s = optimize(graph, rules, "dgx-h100*64");
  if (s != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_rules_destroy(rules);
  egraph_graph_destroy(graph);
  return s == EGRAPH_OK ? 0 : 1;
}
