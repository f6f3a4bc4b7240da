// Rule files: any bytes load or fail with a place; what loads prints, the print loads as
// the same rules, and the rules can be run: on a small graph they reach a budget, an end,
// or the proof that one of them is unsound.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"
#include "tests/fuzz/fuzz.h"

static eg_rules *create(void) {
  eg_rules *rules;
  FUZZ_CHECK(eg_rules_create_checked(NULL, &rules) == EGRAPH_OK);
  return rules;
}

static void check_round_trip(const eg_rules *rules) {
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  FUZZ_CHECK(eg_rules_print(rules, &first) == EGRAPH_OK);
  eg_rules *again = create();
  FUZZ_CHECK(eg_rules_parse(again, "f", eg_text_of(&first), first.chars.len) ==
             EGRAPH_OK);
  FUZZ_CHECK(eg_rules_count(again) == eg_rules_count(rules));
  FUZZ_CHECK(eg_rules_implied_count(again) == eg_rules_implied_count(rules));
  FUZZ_CHECK(eg_rules_print(again, &second) == EGRAPH_OK);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_rules_destroy(again);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

static const char small_graph[] =
    "(egraph-graph 1) (input x \"float32[2,3]\") (weight w \"float32[3,3]\")\n"
    "(weight s \"float32[1]\" [1.0]) (input i \"float32[1,2,4,4]\")\n"
    "(weight k \"float32[2,2,3,3]\") (weight b \"float32[2]\" [0.0 0.0])\n"
    "(let a (matmul x w)) (let c (relu a)) (let d (mul c s)) (let e (add d x))\n"
    "(let f (transpose :perm [1 0] e)) (let g (transpose :perm [1 0] f))\n"
    "(let [h j] (split :axis 1 :sizes [1 2] g)) (let l (concat :axis 1 h j))\n"
    "(let m (reshape :shape [6] l)) (let n (softmax m)) (output n)\n"
    "(let o (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] i k b))\n"
    "(let p (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] i k))\n"
    "(let q (add o p)) (output q)\n";

static void run_on_a_graph(const eg_rules *rules) {
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  FUZZ_CHECK(eg_graph_parse(NULL, "g", small_graph, strlen(small_graph), &graph) ==
             EGRAPH_OK);
  FUZZ_CHECK(eg_tensor_egraph_create(NULL, graph, &egraph) == EGRAPH_OK);
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.node_limit = 150;
  options.iteration_limit = 3;
  options.time_limit_seconds = 1;
  options.match_limit = 50;
  eg_saturation_report report;
  egraph_status status = eg_saturate(egraph, rules, &options, &report);
  eg_saturation_report_deinit(&report);
  if (status != EGRAPH_OK) fuzz_check_failure(status);
  FUZZ_CHECK(status == EGRAPH_OK || status == EGRAPH_E_TYPE);
  FUZZ_CHECK(eg_engine_check(eg_tensor_egraph_engine(egraph)) == EGRAPH_OK);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_rules *rules = create();
  egraph_status status = eg_rules_parse(rules, "f", (const char *)data, size);
  if (status == EGRAPH_OK) {
    check_round_trip(rules);
    run_on_a_graph(rules);
  } else {
    fuzz_check_failure(status);
    FUZZ_CHECK(eg_rules_count(rules) == 0); // all or nothing
  }
  eg_rules_destroy(rules);
  return 0;
}
