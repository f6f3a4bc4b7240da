// What a user demands of values of repeated blocks: each plan keeps to it, in every block
// and in no other, whether blocks are folded or not.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_kit.h"

enum { BLOCKS = 9 };

/// Blocks x -> tanh(relu(x h.I.w1) h.I.w2).
static egraph_graph *make_stack(const egraph_allocator *alloc) {
  egraph_graph *graph;
  egraph_value x, w[2];
  char name[32];
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){8, 8}, &x));
  assert_ok(egraph_graph_add(graph, NULL, "tanh", NULL, &x, 1, &x));
  for (int i = 0; i < BLOCKS; i++) {
    for (int k = 0; k < 2; k++) {
      (void)snprintf(name, sizeof name, "h.%d.w%d", i, k + 1);
      assert_ok(egraph_graph_add_weight(graph, name, EGRAPH_FLOAT32, 2, (int64_t[]){8, 8},
                                        NULL, &w[k]));
    }
    assert_ok(
        egraph_graph_add(graph, NULL, "matmul", NULL, (egraph_value[]){x, w[0]}, 2, &x));
    assert_ok(egraph_graph_add(graph, NULL, "relu", NULL, &x, 1, &x));
    assert_ok(
        egraph_graph_add(graph, NULL, "matmul", NULL, (egraph_value[]){x, w[1]}, 2, &x));
    assert_ok(egraph_graph_add(graph, NULL, "tanh", NULL, &x, 1, &x));
  }
  assert_ok(egraph_graph_add_output(graph, "y", x));
  return graph;
}

static egraph_status plan_stack(api_kit *kit, const char *constraints, bool trains,
                                egraph_result **out) {
  api_problem problem = api_training();
  egraph_graph *graph = make_stack(&kit->alloc);
  problem.trains = trains;
  problem.training.clip_norm = 1;
  problem.constraints.text = constraints;
  problem.search.relative_gap = 0.05;
  egraph_status status = api_optimize(&kit->alloc, graph, &problem, out);
  egraph_graph_destroy(graph);
  return status;
}

/// The layout of a value where a plan's file names it first: in which it enters.
static bool enters(const char *plan, const char *name, const char *layout) {
  char text[96];
  (void)snprintf(text, sizeof text, "{\"value\": \"%s\", \"layout\": \"", name);
  const char *found = strstr(plan, text);
  assert_non_null(found);
  return strncmp(found + strlen(text), layout, strlen(layout)) == 0;
}

static void check_demand(api_kit *kit, const char *constraints, uint16_t cut,
                         uint32_t folded, bool trains) {
  egraph_result *result;
  char name[32];
  size_t size;
  assert_ok(plan_stack(kit, constraints, trains, &result));
  assert_int_equal(egraph_result_report(result)->blocks, folded);
  (void)snprintf(kit->path, sizeof kit->path, "test_plan_names.%ld.json", (long)getpid());
  assert_ok(egraph_plan_save(egraph_result_plan(result), kit->path));
  egraph_result_destroy(result);
  char *text = api_read_file(kit->path, &size);
  for (int i = 0; i < BLOCKS; i++) {
    bool is_cut = (cut >> i & 1) != 0;
    (void)snprintf(name, sizeof name, "h.%d.w1", i);
    if (!enters(text, name, is_cut ? "S0" : "R"))
      fail_msg("%s: %s is not %s", constraints, name, is_cut ? "cut" : "whole");
  }
  free(text);
}

/// Blocks in the middle, with two before them and one behind, that stand one behind the
/// other and are wanted alike, at most.
static uint32_t naive_run(uint16_t cut) {
  uint32_t best = 0;
  for (int first = 2; first < BLOCKS - 1; first++)
    for (int end = first + 1; end < BLOCKS; end++) { // [first, end)
      bool alike = true;
      for (int i = first; i + 1 < end; i++)
        alike = alike && (cut >> i & 1) == (cut >> (i + 1) & 1);
      uint32_t count = (uint32_t)(end - first);
      if (alike && count > best) best = count;
    }
  return best < 2 ? 0 : best;
}

static void blocks_that_are_wanted_alike_stay_folded(void **state) {
  static const uint16_t cuts[] = {0x000, 0x1ff, 0x010, 0x002, 0x101, 0x0aa, 0x0e3};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    char text[BLOCKS * 32] = "";
    for (int b = 0; b < BLOCKS; b++)
      (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                     "(pin h.%d.w1 *=%s)", b, (cuts[i] >> b & 1) != 0 ? "S0" : "R");
    check_demand(*state, text, cuts[i], naive_run(cuts[i]), i % 2 == 0);
  }
}

static void wildcards_stand_for_all_that_they_match(void **state) {
  check_demand(*state, "(pin h.*.w1 *=S0)", 0x1ff, BLOCKS - 3, true);
  check_demand(*state, "(pin h.*w1 *=R)(forbid h.*.w2 R)", 0, BLOCKS - 3, false);
}

/// What a step makes has names of its own; so do parts of the norm of all gradients.
static void all_that_a_step_makes_is_named(void **state) {
  check_demand(*state, "(pin h.*.w1 *=R)(forbid v* S1)", 0, BLOCKS - 3, true);
}

/// The layout in which the file of a plan delivers its only output, y, that is not
/// carried.
static void check_delivery(api_kit *kit, const char *constraints, const char *layout,
                           bool trains) {
  egraph_result *result;
  char *text, line[32];
  assert_ok(plan_stack(kit, constraints, trains, &result));
  assert_int_equal(egraph_result_report(result)->blocks, BLOCKS - 3);
  assert_ok(egraph_plan_print(&kit->alloc, egraph_result_plan(result), false, &text));
  const char *outputs = strstr(text, "\noutputs\n");
  assert_non_null(outputs);
  (void)snprintf(line, sizeof line, "@%s as y\n", layout);
  assert_non_null(strstr(outputs, line));
  egraph_string_free(&kit->alloc, text);
  egraph_result_destroy(result);
}

/// By the output's name, by that of its value in a folded step, and by wildcards.
static void outputs_are_named_in_folded_steps(void **state) {
  check_delivery(*state, "", "R", false);
  check_delivery(*state, "(deliver y *=S0)", "S0", false);
  check_delivery(*state, "(deliver * *=S1)", "S1", false);
  check_delivery(*state, "(pin h.*.w1 *=R)(deliver (all outputs) *=S0)", "S0", false);
}

static void names_that_no_value_has_fail(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"(pin h.4.w3 *=R)", "constraints:1:1: there is no value 'h.4.w3' in the step; did "
                           "you mean 'h."},
      {"\n(pin k.*.w1 *=R)", "constraints:2:1: no value of the step has a name like "},
      {"(deliver los *=R)", "there is no output 'los' in the step; did you mean 'loss'"},
      {"(deliver los* *=S)", "constraints:1:1: "},
      {"(deliver k.* *=R)", "no output of the step has a name like 'k.*'"},
      {"(deliver h.4.x *=R)", "there is no output 'h.4.x' in the step"},
      {"(pin nothing-like-it *=R)", "take the name of an input, weight or result"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    egraph_result *result = NULL;
    assert_int_equal(plan_stack(*state, cases[i].text, true, &result), EGRAPH_E_ARGUMENT);
    assert_non_null(strstr(egraph_last_error(), cases[i].message));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(blocks_that_are_wanted_alike_stay_folded),
      api_test(wildcards_stand_for_all_that_they_match),
      api_test(all_that_a_step_makes_is_named),
      api_test(outputs_are_named_in_folded_steps),
      api_test(names_that_no_value_has_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
