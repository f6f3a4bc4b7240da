// Weights through the public functions: what is trained, what plans from files get back,
// arrays in files.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/api_kit.h"

enum { MOST = 8 };

/// y = relu(x w) m: w may have data; m is a mask of ones below the diagonal, made of
/// constants, and multiplied with; s a scale of one element.
static egraph_status build(egraph_graph *graph, bool has_data) {
  static const float w[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  static const float s[1] = {0.5F},
                     c[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const int64_t square[] = {4, 4}, one[] = {1};
  egraph_value x, weight, scale, ones, y, t;
  egraph_status status =
      egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, square, &x);
  if (status == EGRAPH_OK)
    status = egraph_graph_add_weight(graph, "w", EGRAPH_FLOAT32, 2, square,
                                     has_data ? w : NULL, &weight);
  if (status == EGRAPH_OK)
    status = egraph_graph_add_weight(graph, "s", EGRAPH_FLOAT32, 1, one, s, &scale);
  if (status == EGRAPH_OK)
    status = egraph_graph_add_weight(graph, "c", EGRAPH_FLOAT32, 2, square, c, &ones);
  if (status == EGRAPH_OK)
    status =
        egraph_graph_add(graph, NULL, "matmul", NULL, (egraph_value[]){x, weight}, 2, &y);
  if (status == EGRAPH_OK)
    status =
        egraph_graph_add(graph, NULL, "mul", NULL, (egraph_value[]){y, scale}, 2, &y);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, NULL, "neg", NULL, &ones, 1, &t);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, NULL, "max", NULL, (egraph_value[]){y, t}, 2, &y);
  return status == EGRAPH_OK ? egraph_graph_add_output(graph, "y", y) : status;
}

static egraph_graph *model(const egraph_allocator *alloc, bool has_data) {
  egraph_graph *graph;
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(build(graph, has_data));
  return graph;
}

typedef struct seen {
  char text[256];
} seen;

static void note_weight(void *user, const egraph_model_weight *weight) {
  seen *s = user;
  size_t length = strlen(s->text);
  snprintf(s->text + length, sizeof s->text - length, "%s %s %lld%s; ", weight->name,
           weight->why, (long long)weight->elements, weight->is_absent ? " absent" : "");
}

static void weights_are_told_with_what_becomes_of_them(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = model(&kit->alloc, false);
  seen s = {""};
  assert_ok(egraph_training_weights(graph, NULL, note_weight, &s));
  assert_string_equal(s.text, "w trained 16 absent; s one element 1; c a constant 16; ");
  const char *freeze[] = {"w*"}, *only[] = {"c"};
  egraph_training options = egraph_training_default();
  options.freeze = freeze;
  options.freeze_count = 1;
  options.train_only = only;
  options.train_only_count = 1;
  s.text[0] = '\0';
  assert_ok(egraph_training_weights(graph, &options, note_weight, &s));
  assert_string_equal(s.text, "w frozen 16 absent; s one element 1; c trained 16; ");
  options.freeze = (const char *[]){NULL};
  assert_fails(egraph_training_weights(graph, &options, note_weight, &s),
               EGRAPH_E_ARGUMENT, "egraph_training.freeze is NULL, or has NULL at 0");
  options.freeze = NULL;
  assert_fails(egraph_training_weights(graph, &options, note_weight, &s),
               EGRAPH_E_ARGUMENT, "egraph_training.freeze is NULL");
  options.freeze = (const char *[]){"v"};
  assert_fails(egraph_training_weights(graph, &options, note_weight, &s),
               EGRAPH_E_ARGUMENT, "has a name like 'v'");
  egraph_graph_destroy(graph);
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  assert_fails(egraph_training_weights(graph, NULL, note_weight, &s), EGRAPH_E_ARGUMENT,
               "no output to take a loss of");
  egraph_graph_destroy(graph);
}

static void weights_are_found_by_name_and_number(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = model(&kit->alloc, true);
  egraph_tensor tensor;
  const char *name;
  assert_ok(egraph_graph_find_weight(graph, "w", &tensor));
  assert_int_equal(tensor.rank, 2);
  assert_true(((const float *)tensor.data)[15] == 16);
  assert_ok(egraph_graph_weight(graph, 1, &name, &tensor));
  assert_string_equal(name, "s");
  assert_fails(egraph_graph_weight(graph, 3, &name, &tensor), EGRAPH_E_ARGUMENT,
               "there is no weight 3; the graph has 3");
  assert_fails(egraph_graph_find_weight(graph, "x", &tensor), EGRAPH_E_ARGUMENT,
               "no weight 'x'");
  egraph_graph_destroy(graph);
}

// A plan that loses its data takes it from the model again; the constant that planning
// folded is computed again.
static void plans_take_weights_from_models(void **state) {
  api_kit *kit = *state;
  egraph_graph *sizes = model(&kit->alloc, false), *whole = model(&kit->alloc, true);
  egraph_plan *plan;
  const api_problem problem = api_target("host*2", NULL);
  assert_ok(api_plan(&kit->alloc, sizes, &problem, &plan));
  assert_int_equal(egraph_graph_info_of(egraph_plan_graph(plan)).absent_weights, 1);
  assert_ok(egraph_plan_take_weights(plan, whole));
  assert_int_equal(egraph_graph_info_of(egraph_plan_graph(plan)).absent_weights, 0);
  egraph_tensor tensor;
  assert_ok(egraph_graph_find_weight(egraph_plan_graph(plan), "w", &tensor));
  assert_true(((const float *)tensor.data)[2] == 3);
  // Only sums and products of what is known are left out of the step.
  for (uint32_t i = 0; i < egraph_graph_info_of(egraph_plan_graph(plan)).weights; i++) {
    const char *name;
    assert_ok(egraph_graph_weight(egraph_plan_graph(plan), i, &name, &tensor));
    assert_string_not_equal(name, "c");
  }
  egraph_plan_destroy(plan);
  egraph_graph *other = api_layer(&kit->alloc);
  assert_ok(api_plan(&kit->alloc, other, &problem, &plan));
  assert_fails(egraph_plan_take_weights(plan, whole), EGRAPH_E_TYPE,
               "weight 'w' is float32[4,4] in the model and float32[8,6] in the plan");
  egraph_plan_destroy(plan);
  egraph_graph_destroy(other);
  egraph_graph_destroy(whole);
  egraph_graph_destroy(sizes);
}

/// No file of a plan keeps a weight that was folded: the model must have what it was made
/// of.
static void weights_that_no_model_has_are_named(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph;
  egraph_value x, w, c, m;
  float data[16 * 16];
  for (int i = 0; i < 16 * 16; i++)
    data[i] = (float)i;
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  assert_ok(
      egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){4, 16}, &x));
  assert_ok(egraph_graph_add_weight(graph, "w", EGRAPH_FLOAT32, 2, (int64_t[]){16, 16},
                                    data, &w));
  assert_ok(egraph_graph_add_weight(graph, "c", EGRAPH_FLOAT32, 2, (int64_t[]){16, 16},
                                    data, &c));
  assert_ok(egraph_graph_add(graph, "s", "add", NULL, (egraph_value[]){w, c}, 2, &w));
  assert_ok(egraph_graph_add(graph, "t", "transpose", ":perm [1 0]", &w, 1, &w));
  assert_ok(egraph_graph_add(graph, "m", "matmul", NULL, (egraph_value[]){x, w}, 2, &m));
  assert_ok(egraph_graph_add_output(graph, "y", m));
  egraph_result *result;
  egraph_plan *plan, *back;
  char *text;
  assert_ok(egraph_optimize(&kit->alloc, graph, NULL, NULL, NULL, &result));
  assert_ok(egraph_result_take_plan(result, &plan));
  egraph_result_destroy(result);
  assert_ok(egraph_plan_pack(&kit->alloc, plan, &text));
  assert_ok(egraph_plan_parse(&kit->alloc, "p.json", text, strlen(text), &back));
  // A folded weight that keeps its name is computed again.
  assert_int_equal(egraph_graph_info_of(egraph_plan_graph(back)).absent_weights, 1);
  assert_ok(egraph_plan_take_weights(back, graph));
  assert_int_equal(egraph_graph_info_of(egraph_plan_graph(back)).absent_weights, 0);
  egraph_plan_destroy(back);
  assert_ok(egraph_plan_parse(&kit->alloc, "p.json", text, strlen(text), &back));
  egraph_graph *other = api_layer(&kit->alloc);
  assert_fails(egraph_plan_take_weights(back, other), EGRAPH_E_ARGUMENT,
               "of the plan is not in the model");
  egraph_graph_destroy(other);
  egraph_string_free(&kit->alloc, text);
  egraph_plan_destroy(back);
  egraph_plan_destroy(plan);
  egraph_graph_destroy(graph);
}

static void arrays_go_to_files_and_come_back(void **state) {
  api_kit *kit = *state;
  snprintf(kit->path, sizeof kit->path, "test_api_training.npz");
  egraph_arrays *arrays, *read;
  float data[] = {1, 2, 3};
  egraph_tensor tensor = {.dtype = EGRAPH_FLOAT32, .rank = 1, .dims = {3}, .data = data};
  const char *name;
  assert_ok(egraph_arrays_create(&kit->alloc, &arrays));
  assert_ok(egraph_arrays_add(arrays, "a", &tensor));
  assert_fails(egraph_arrays_add(arrays, "a", &tensor), EGRAPH_E_ARGUMENT, "'a'");
  tensor.rank = 99;
  assert_fails(egraph_arrays_add(arrays, "b", &tensor), EGRAPH_E_ARGUMENT, "rank 99");
  assert_ok(egraph_arrays_save(arrays, kit->path));
  assert_ok(egraph_arrays_load(&kit->alloc, kit->path, &read));
  assert_int_equal(egraph_arrays_count(read), 1);
  tensor = egraph_arrays_at(read, 0, &name);
  assert_string_equal(name, "a");
  assert_memory_equal(tensor.data, data, sizeof data);
  assert_true(egraph_arrays_find(read, "a", &tensor));
  assert_false(egraph_arrays_find(read, "b", &tensor));
  egraph_arrays_destroy(read);
  assert_fails(egraph_model_save(&kit->alloc, kit->path, arrays, "nowhere.onnx"),
               EGRAPH_E_PARSE, "this is no ONNX model");
  egraph_arrays_destroy(arrays);
  assert_fails(egraph_arrays_load(&kit->alloc, "nowhere.npz", &read), EGRAPH_E_IO,
               "nowhere.npz");
  egraph_arrays_destroy(NULL);
}

static void checks_want_all_tensors(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = model(&kit->alloc, true);
  egraph_step_check *check;
  egraph_step_verdict verdict;
  egraph_tensor none = {.dtype = EGRAPH_FLOAT32};
  assert_fails(egraph_step_check_create(&kit->alloc, graph, NULL, 0, &check),
               EGRAPH_E_ARGUMENT, "micro_batches is 0");
  assert_ok(egraph_step_check_create(&kit->alloc, graph, NULL, 2, &check));
  assert_fails(egraph_step_check_run(check, &none, 1, &none, 1, &verdict),
               EGRAPH_E_ARGUMENT, "1 inputs and 1 outputs given; the step has 2 and 2");
  egraph_step_check_destroy(check);
  egraph_step_check_destroy(NULL);
  egraph_graph_destroy(graph);
}

static void note_tie(void *user, const egraph_tied_weight *weight) {
  seen *s = user;
  size_t length = strlen(s->text);
  int more = snprintf(s->text + length, sizeof s->text - length, "%s %lld:", weight->name,
                      (long long)weight->elements);
  for (uint32_t i = 0; i < weight->use_count; i++) {
    length += (size_t)more;
    more = snprintf(s->text + length, sizeof s->text - length, " %s %s", weight->ops[i],
                    weight->nodes[i]);
  }
}

static egraph_status tell_ties(egraph_allocator alloc, void *user) {
  static const char text[] =
      "(egraph-graph 1)(input x \"float32[2,4]\")(weight g \"float32[4]\")"
      "(let a (mul x g))(let y (mul a g))(output y)";
  static const char *const all[] = {"*"};
  seen *s = user;
  egraph_graph *graph, *untied = NULL;
  egraph_status status =
      egraph_graph_parse(&alloc, "m.egraph", text, sizeof text - 1, NULL, &graph);
  if (status != EGRAPH_OK) return status;
  s->text[0] = '\0';
  status = egraph_training_ties(graph, NULL, note_tie, s);
  if (status == EGRAPH_OK) status = egraph_training_untie(graph, NULL, all, 1, &untied);
  if (status == EGRAPH_OK) assert_string_equal(s->text, "g 4: mul a mul y");
  if (status == EGRAPH_OK) status = egraph_training_ties(untied, NULL, note_tie, s);
  if (status == EGRAPH_OK) assert_string_equal(s->text, "g 4: mul a mul y");
  egraph_graph_destroy(untied);
  egraph_graph_destroy(graph);
  return status;
}

static void ties_are_told_and_untied(void **state) {
  (void)state;
  seen s;
  test_every_allocation_failing(tell_ties, &s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(weights_are_told_with_what_becomes_of_them),
      api_test(weights_are_found_by_name_and_number),
      api_test(plans_take_weights_from_models),
      api_test(weights_that_no_model_has_are_named),
      api_test(arrays_go_to_files_and_come_back),
      api_test(checks_want_all_tensors),
      cmocka_unit_test(ties_are_told_and_untied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
