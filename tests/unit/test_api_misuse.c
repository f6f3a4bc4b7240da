// Misuse of the public functions: NULL where the headers do not allow it, and numbers
// past the end, are told, by name, and crash nothing.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/testing.h"

#include "include/egraph.h"

/// A pointer that nothing may follow.
#define AT ((void *)&somewhere)
static max_align_t somewhere;

static void refuses(egraph_status status, const char *message) {
  assert_int_equal(status, EGRAPH_E_ARGUMENT);
  assert_string_equal(egraph_last_error(), message);
}
#define REFUSES(function, argument, ...)                                                 \
  refuses(function(__VA_ARGS__), #function ": " argument " is NULL")

static void graphs_refuse_null(void **state) {
  (void)state;
  REFUSES(egraph_graph_create, "out", NULL, NULL);
  REFUSES(egraph_graph_load, "path", NULL, NULL, NULL, AT);
  REFUSES(egraph_graph_load, "out", NULL, AT, NULL, NULL);
  REFUSES(egraph_graph_parse, "name", NULL, NULL, AT, 1, NULL, AT);
  REFUSES(egraph_graph_parse, "bytes", NULL, AT, NULL, 1, NULL, AT);
  REFUSES(egraph_graph_parse, "out", NULL, AT, AT, 1, NULL, NULL);
  REFUSES(egraph_graph_pack, "graph", NULL, NULL, AT, AT);
  REFUSES(egraph_graph_pack, "out", NULL, AT, NULL, AT);
  REFUSES(egraph_graph_pack, "out_size", NULL, AT, AT, NULL);
  egraph_bytes_free(NULL, NULL, 1);
  egraph_options_fill(EGRAPH_LOAD_OPTIONS, NULL, 1);
  REFUSES(egraph_graph_open_dim, "graph", NULL, 1, AT);
  REFUSES(egraph_graph_open_dim, "out", AT, 1, NULL);
  REFUSES(egraph_graph_save, "graph", NULL, AT);
  REFUSES(egraph_graph_save, "path", AT, NULL);
  REFUSES(egraph_graph_add_input, "graph", NULL, AT, EGRAPH_FLOAT32, 1, AT, AT);
  REFUSES(egraph_graph_add_input, "name", AT, NULL, EGRAPH_FLOAT32, 1, AT, AT);
  REFUSES(egraph_graph_add_input, "out", AT, AT, EGRAPH_FLOAT32, 1, AT, NULL);
  REFUSES(egraph_graph_add_input, "dims", AT, AT, EGRAPH_FLOAT32, 1, NULL, AT);
  REFUSES(egraph_graph_add_weight, "graph", NULL, AT, EGRAPH_FLOAT32, 1, AT, AT, AT);
  REFUSES(egraph_graph_add_weight, "name", AT, NULL, EGRAPH_FLOAT32, 1, AT, AT, AT);
  REFUSES(egraph_graph_add_weight, "out", AT, AT, EGRAPH_FLOAT32, 1, AT, AT, NULL);
  REFUSES(egraph_graph_add_weight, "dims", AT, AT, EGRAPH_FLOAT32, 1, NULL, AT, AT);
  REFUSES(egraph_graph_add, "graph", NULL, AT, AT, AT, AT, 1, AT);
  REFUSES(egraph_graph_add, "op", AT, AT, NULL, AT, AT, 1, AT);
  REFUSES(egraph_graph_add, "out_results", AT, AT, AT, AT, AT, 1, NULL);
  REFUSES(egraph_graph_add, "inputs", AT, AT, AT, AT, NULL, 1, AT);
  REFUSES(egraph_graph_add_output, "graph", NULL, AT, (egraph_value){0});
  REFUSES(egraph_graph_input, "graph", NULL, 1, AT, AT);
  REFUSES(egraph_graph_input, "out_name", AT, 1, NULL, AT);
  REFUSES(egraph_graph_input, "out_type", AT, 1, AT, NULL);
  REFUSES(egraph_graph_output, "graph", NULL, 1, AT, AT);
  REFUSES(egraph_graph_output, "out_name", AT, 1, NULL, AT);
  REFUSES(egraph_graph_output, "out_type", AT, 1, AT, NULL);
  REFUSES(egraph_graph_text, "graph", NULL, NULL, AT);
  REFUSES(egraph_graph_text, "out", NULL, AT, NULL);
  REFUSES(egraph_operators_text, "out", NULL, NULL);
  REFUSES(egraph_graph_weight, "graph", NULL, 1, AT, AT);
  REFUSES(egraph_graph_weight, "out_name", AT, 1, NULL, AT);
  REFUSES(egraph_graph_weight, "out", AT, 1, AT, NULL);
  REFUSES(egraph_graph_find_weight, "graph", NULL, AT, AT);
  REFUSES(egraph_graph_find_weight, "name", AT, NULL, AT);
  REFUSES(egraph_graph_find_weight, "out", AT, AT, NULL);
}

static void arrays_refuse_null(void **state) {
  (void)state;
  REFUSES(egraph_arrays_create, "out", NULL, NULL);
  REFUSES(egraph_arrays_load, "path", NULL, NULL, AT);
  REFUSES(egraph_arrays_load, "out", NULL, AT, NULL);
  REFUSES(egraph_arrays_save, "arrays", NULL, AT);
  REFUSES(egraph_arrays_save, "path", AT, NULL);
  REFUSES(egraph_arrays_add, "arrays", NULL, AT, AT);
  REFUSES(egraph_arrays_add, "name", AT, NULL, AT);
  REFUSES(egraph_arrays_add, "tensor", AT, AT, NULL);
  REFUSES(egraph_model_save, "model", NULL, NULL, AT, AT);
  REFUSES(egraph_model_save, "arrays", NULL, AT, NULL, AT);
  REFUSES(egraph_model_save, "path", NULL, AT, AT, NULL);
}

static void rules_refuse_null(void **state) {
  (void)state;
  REFUSES(egraph_rules_create, "out", NULL, NULL);
  REFUSES(egraph_rules_add_builtin, "rules", NULL);
  REFUSES(egraph_rules_add_file, "rules", NULL, AT);
  REFUSES(egraph_rules_add_file, "path", AT, NULL);
  REFUSES(egraph_rules_add_text, "rules", NULL, AT, AT);
  REFUSES(egraph_rules_add_text, "name", AT, NULL, AT);
  REFUSES(egraph_rules_add_text, "text", AT, AT, NULL);
  REFUSES(egraph_rules_import, "rules", NULL, AT, NULL, NULL);
  REFUSES(egraph_rules_import, "path", AT, NULL, NULL, NULL);
  REFUSES(egraph_rules_enable, "rules", NULL, AT, false);
  REFUSES(egraph_rules_enable, "name", AT, NULL, false);
  REFUSES(egraph_rules_verify, "rules", NULL, 1, NULL, NULL, AT);
  REFUSES(egraph_rules_verify, "out_rejected", AT, 1, NULL, NULL, NULL);
  REFUSES(egraph_rules_prove, "rules", NULL, NULL, NULL, AT);
  REFUSES(egraph_rules_prove, "out_proved", AT, NULL, NULL, NULL);
  REFUSES(egraph_rules_derive, "rules", NULL, 1, NULL, NULL, AT);
  REFUSES(egraph_rules_derive, "out_derived", AT, 1, NULL, NULL, NULL);
  REFUSES(egraph_rules_smt, "rules", NULL, 1, NULL, NULL);
  REFUSES(egraph_rules_examine, "rules", NULL, 1, NULL, NULL, AT);
  REFUSES(egraph_rules_examine, "out_rejected", AT, 1, NULL, NULL, NULL);
  REFUSES(egraph_rules_text, "rules", NULL, NULL, AT);
  REFUSES(egraph_rules_text, "out", NULL, AT, NULL);
  REFUSES(egraph_rules_generate, "options", NULL, NULL, AT, AT);
  REFUSES(egraph_rules_generate, "out", NULL, AT, NULL, AT);
  REFUSES(egraph_rules_generate, "out_report", NULL, AT, AT, NULL);
  REFUSES(egraph_families_text, "out", NULL, NULL);
  REFUSES(egraph_rules_guards, "rules", NULL, 1, NULL, NULL);
  REFUSES(egraph_rules_correct, "rules", NULL, NULL, 0, NULL, NULL, AT);
  REFUSES(egraph_rules_correct, "out", NULL, AT, 0, NULL, NULL, NULL);
  REFUSES(egraph_rules_minimize, "rules", NULL, NULL, NULL, NULL, AT);
  REFUSES(egraph_rules_minimize, "out", NULL, AT, NULL, NULL, NULL);
  REFUSES(egraph_rules_found, "of", NULL, NULL, AT, 0, NULL, NULL);
  REFUSES(egraph_rules_found, "by", NULL, AT, NULL, 0, NULL, NULL);
}

static void optimizing_and_running_refuse_null(void **state) {
  (void)state;
  REFUSES(egraph_costs_create, "out", NULL, NULL, NULL);
  REFUSES(egraph_costs_entries, "costs", NULL, AT);
  REFUSES(egraph_costs_entries, "out", AT, NULL);
  REFUSES(egraph_costs_predict, "costs", NULL, AT, AT);
  REFUSES(egraph_costs_predict, "graph", AT, NULL, AT);
  REFUSES(egraph_costs_predict, "out_seconds", AT, AT, NULL);
  REFUSES(egraph_costs_visit, "costs", NULL, AT, NULL, NULL);
  REFUSES(egraph_costs_visit, "graph", AT, NULL, NULL, NULL);
  REFUSES(egraph_costs_visit, "each", AT, AT, NULL, NULL);
  REFUSES(egraph_optimize, "graph", NULL, NULL, AT, AT, NULL, AT);
  REFUSES(egraph_optimize, "out", NULL, AT, AT, AT, NULL, NULL);
  REFUSES(egraph_result_explain, "result", NULL, NULL, AT);
  REFUSES(egraph_result_explain, "out", NULL, AT, NULL);
  REFUSES(egraph_result_explanation, "result", NULL, AT);
  REFUSES(egraph_result_explanation, "out", AT, NULL);
  REFUSES(egraph_replay, "given", NULL, NULL, AT, AT, AT, AT, AT);
  REFUSES(egraph_replay, "result", NULL, AT, NULL, AT, AT, AT, AT);
  REFUSES(egraph_replay, "rules", NULL, AT, AT, NULL, AT, AT, AT);
  REFUSES(egraph_replay, "file", NULL, AT, AT, AT, NULL, AT, AT);
  REFUSES(egraph_replay, "explanation", NULL, AT, AT, AT, AT, NULL, AT);
  REFUSES(egraph_replay, "out", NULL, AT, AT, AT, AT, AT, NULL);
  REFUSES(egraph_result_stages, "result", NULL, NULL, EGRAPH_STAGES_BEST, AT);
  REFUSES(egraph_result_stages, "out", NULL, AT, EGRAPH_STAGES_BEST, NULL);
  REFUSES(egraph_session_create, "graph", NULL, NULL, NULL, AT);
  REFUSES(egraph_session_create, "out", NULL, AT, NULL, NULL);
  REFUSES(egraph_session_run, "session", NULL, AT, 1, AT, 1);
  REFUSES(egraph_session_run, "inputs", AT, NULL, 1, AT, 1);
  REFUSES(egraph_session_run, "outputs", AT, AT, 1, NULL, 1);
  REFUSES(egraph_compare, "a", NULL, NULL, AT, NULL, AT);
  REFUSES(egraph_compare, "b", NULL, AT, NULL, NULL, AT);
  REFUSES(egraph_compare, "out", NULL, AT, AT, NULL, NULL);
  REFUSES(egraph_session_steps, "session", NULL, 1, 1, NULL, NULL);
  REFUSES(egraph_session_steps, "report", AT, 1, 1, NULL, NULL);
  REFUSES(egraph_costs_validate, "costs", NULL, AT, 1, 1, AT);
  REFUSES(egraph_costs_validate, "graph", AT, NULL, 1, 1, AT);
  REFUSES(egraph_costs_validate, "out", AT, AT, 1, 1, NULL);
}

static void plans_refuse_null(void **state) {
  (void)state;
  REFUSES(egraph_machine_probe, "out", NULL, 1, NULL);
  REFUSES(egraph_costs_machine_file, "costs", NULL, 1, AT);
  REFUSES(egraph_costs_machine_file, "out", AT, 1, NULL);
  REFUSES(egraph_result_take_plan, "result", NULL, AT);
  REFUSES(egraph_result_take_plan, "out", AT, NULL);
  REFUSES(egraph_result_certificate, "result", NULL, AT);
  REFUSES(egraph_result_certificate, "out", AT, NULL);
  REFUSES(egraph_plan_price, "plan", NULL, NULL, NULL);
  REFUSES(egraph_plan_run_local, "plan", NULL, NULL, NULL, AT, 1, AT, 1);
  REFUSES(egraph_plan_run_local, "inputs", NULL, AT, NULL, NULL, 1, AT, 1);
  REFUSES(egraph_plan_run_local, "outputs", NULL, AT, NULL, AT, 1, NULL, 1);
  REFUSES(egraph_plan_run_rank, "plan", NULL, NULL, AT, NULL, AT, 1, AT, 1, AT);
  REFUSES(egraph_plan_run_rank, "channel", NULL, AT, NULL, NULL, AT, 1, AT, 1, AT);
  REFUSES(egraph_plan_run_rank, "out_rank", NULL, AT, AT, NULL, AT, 1, AT, 1, NULL);
  REFUSES(egraph_plan_run_rank, "inputs", NULL, AT, AT, NULL, NULL, 1, AT, 1, AT);
  REFUSES(egraph_plan_run_rank, "outputs", NULL, AT, AT, NULL, AT, 1, NULL, 1, AT);
  REFUSES(egraph_step_check_create, "step", NULL, NULL, NULL, 1, AT);
  REFUSES(egraph_step_check_create, "out", NULL, AT, NULL, 1, NULL);
  REFUSES(egraph_step_check_run, "check", NULL, AT, 1, AT, 1, AT);
  REFUSES(egraph_step_check_run, "out", AT, AT, 1, AT, 1, NULL);
  REFUSES(egraph_step_check_run, "inputs", AT, NULL, 1, AT, 1, AT);
  REFUSES(egraph_step_check_run, "outputs", AT, AT, 1, NULL, 1, AT);
  REFUSES(egraph_simulate, "plan", NULL, NULL, NULL, AT);
  REFUSES(egraph_simulate, "out", NULL, AT, NULL, NULL);
  REFUSES(egraph_costs_estimate_errors, "costs", NULL, NULL, NULL);
  REFUSES(egraph_costs_estimate_errors, "each", AT, NULL, NULL);
  REFUSES(egraph_costs_measure_exchanges, "costs", NULL, NULL, 2, AT);
  REFUSES(egraph_costs_measure_exchanges, "out_rank", AT, NULL, 2, NULL);
  REFUSES(egraph_costs_exchanges, "costs", NULL, NULL, 2, NULL, NULL, AT);
  REFUSES(egraph_costs_exchanges, "out", AT, NULL, 2, NULL, NULL, NULL);
  REFUSES(egraph_plan_remarks, "plan", NULL, NULL, false, AT);
  REFUSES(egraph_plan_remarks, "out", NULL, AT, false, NULL);
  REFUSES(egraph_plan_account, "plan", NULL, NULL, NULL, NULL);
  REFUSES(egraph_plan_pack, "plan", NULL, NULL, AT);
  REFUSES(egraph_plan_pack, "out", NULL, AT, NULL);
  REFUSES(egraph_plan_parse, "name", NULL, NULL, AT, 1, AT);
  REFUSES(egraph_plan_parse, "text", NULL, AT, NULL, 1, AT);
  REFUSES(egraph_plan_parse, "out", NULL, AT, AT, 1, NULL);
  REFUSES(egraph_plan_visit_memory, "plan", NULL, NULL, NULL);
  REFUSES(egraph_plan_visit_memory, "each", AT, NULL, NULL);
  REFUSES(egraph_plan_save, "plan", NULL, AT);
  REFUSES(egraph_plan_save, "path", AT, NULL);
  REFUSES(egraph_plan_load, "path", NULL, NULL, AT);
  REFUSES(egraph_plan_load, "out", NULL, AT, NULL);
  REFUSES(egraph_plan_print, "plan", NULL, NULL, false, AT);
  REFUSES(egraph_plan_print, "out", NULL, AT, false, NULL);
  REFUSES(egraph_plan_summary_json, "plan", NULL, NULL, AT);
  REFUSES(egraph_plan_summary_json, "out", NULL, AT, NULL);
  REFUSES(egraph_plan_diff, "before", NULL, NULL, AT, false, AT);
  REFUSES(egraph_plan_diff, "after", NULL, AT, NULL, false, AT);
  REFUSES(egraph_plan_diff, "out", NULL, AT, AT, false, NULL);
  REFUSES(egraph_plan_take_weights, "plan", NULL, AT);
  REFUSES(egraph_plan_take_weights, "model", AT, NULL);
  REFUSES(egraph_training_weights, "graph", NULL, NULL, NULL, NULL);
  REFUSES(egraph_training_weights, "report", AT, NULL, NULL, NULL);
  REFUSES(egraph_training_ties, "graph", NULL, NULL, NULL, NULL);
  REFUSES(egraph_training_ties, "report", AT, NULL, NULL, NULL);
  REFUSES(egraph_training_untie, "graph", NULL, NULL, AT, 1, AT);
  REFUSES(egraph_training_untie, "patterns", AT, NULL, NULL, 1, AT);
  REFUSES(egraph_training_untie, "out", AT, NULL, AT, 1, NULL);
}

static void extraction_refuses_null(void **state) {
  (void)state;
  REFUSES(egraph_extraction_load, "path", NULL, NULL, AT);
  REFUSES(egraph_extraction_load, "out", NULL, AT, NULL);
  REFUSES(egraph_extraction_run, "extraction", NULL, NULL);
  REFUSES(egraph_extraction_save_lp, "extraction", NULL, NULL, AT);
  REFUSES(egraph_extraction_save_lp, "path", AT, NULL, NULL);
  REFUSES(egraph_extraction_try_passes, "extraction", NULL, NULL, NULL, NULL);
  REFUSES(egraph_extraction_try_passes, "report", AT, NULL, NULL, NULL);
}

static void sharding_refuses_null(void **state) {
  (void)state;
  REFUSES(egraph_shard_create, "out", NULL, NULL);
  REFUSES(egraph_shard_load, "path", NULL, NULL, AT);
  REFUSES(egraph_shard_load, "out", NULL, AT, NULL);
  REFUSES(egraph_shard_add_node, "shard", NULL, 1, 1, AT, AT, 1, AT);
  REFUSES(egraph_shard_add_node, "cost", AT, 1, 1, NULL, AT, 1, AT);
  REFUSES(egraph_shard_add_node, "usage", AT, 1, 1, AT, NULL, 1, AT);
  REFUSES(egraph_shard_add_edge, "shard", NULL, 1, 1, AT);
  REFUSES(egraph_shard_add_edge, "table", AT, 1, 1, NULL);
  REFUSES(egraph_shard_set_limit, "shard", NULL, 1);
  REFUSES(egraph_shard_evaluate, "shard", NULL, AT, 1, AT, AT);
  REFUSES(egraph_shard_evaluate, "out_cost", AT, AT, 1, NULL, AT);
  REFUSES(egraph_shard_evaluate, "out_peak", AT, AT, 1, AT, NULL);
  REFUSES(egraph_shard_evaluate, "choice", AT, NULL, 1, AT, AT);
  REFUSES(egraph_shard_solve, "shard", NULL, NULL, NULL, AT);
  REFUSES(egraph_shard_solve, "out", NULL, AT, NULL, NULL);
}

static void terms_refuse_null(void **state) {
  (void)state;
  REFUSES(egraph_terms_saturate, "terms", NULL, NULL, AT);
  REFUSES(egraph_terms_search, "terms", NULL, AT, NULL, NULL, AT);
  REFUSES(egraph_terms_search, "pattern", AT, NULL, NULL, NULL, AT);
  REFUSES(egraph_expression_simplify, "rules_text", NULL, NULL, AT, 1, AT);
  REFUSES(egraph_expression_simplify, "term", NULL, AT, NULL, 1, AT);
  REFUSES(egraph_expression_simplify, "out", NULL, AT, AT, 1, NULL);
  REFUSES(egraph_terms_create, "out", NULL, NULL);
  REFUSES(egraph_terms_add_rule_text, "terms", NULL, AT, AT);
  REFUSES(egraph_terms_add_rule_text, "name", AT, NULL, AT);
  REFUSES(egraph_terms_add_rule_text, "text", AT, AT, NULL);
  REFUSES(egraph_terms_add_rule_file, "terms", NULL, AT);
  REFUSES(egraph_terms_add_rule_file, "path", AT, NULL);
  REFUSES(egraph_terms_add, "terms", NULL, AT, AT, AT);
  REFUSES(egraph_terms_add, "name", AT, NULL, AT, AT);
  REFUSES(egraph_terms_add, "text", AT, AT, NULL, AT);
  REFUSES(egraph_terms_add, "out", AT, AT, AT, NULL);
  REFUSES(egraph_terms_symbol, "terms", NULL, AT, AT);
  REFUSES(egraph_terms_symbol, "text", AT, NULL, AT);
  REFUSES(egraph_terms_symbol, "out", AT, AT, NULL);
  REFUSES(egraph_terms_add_node, "terms", NULL, (egraph_symbol){0}, AT, 1, AT);
  REFUSES(egraph_terms_add_node, "out", AT, (egraph_symbol){0}, AT, 1, NULL);
  REFUSES(egraph_terms_add_node, "children", AT, (egraph_symbol){0}, NULL, 1, AT);
  REFUSES(egraph_terms_add_nodes, "terms", NULL, (egraph_symbol){0}, 1, AT, 1, AT);
  REFUSES(egraph_terms_add_nodes, "out", AT, (egraph_symbol){0}, 1, AT, 1, NULL);
  REFUSES(egraph_terms_add_nodes, "children", AT, (egraph_symbol){0}, 1, NULL, 1, AT);
  REFUSES(egraph_terms_unite, "terms", NULL, (egraph_class){0}, (egraph_class){0}, AT);
  REFUSES(egraph_terms_rebuild, "terms", NULL);
  REFUSES(egraph_terms_smallest, "terms", NULL, NULL, (egraph_class){0}, AT, AT);
  REFUSES(egraph_terms_smallest, "out", NULL, AT, (egraph_class){0}, NULL, AT);
  REFUSES(egraph_terms_smallest_each, "terms", NULL, NULL, AT, 1, NULL, NULL);
  REFUSES(egraph_terms_smallest_each, "report", NULL, AT, NULL, 0, NULL, NULL);
  REFUSES(egraph_terms_dot, "terms", NULL, NULL, AT);
  REFUSES(egraph_terms_dot, "out", NULL, AT, NULL);
  REFUSES(egraph_terms_check, "terms", NULL);
  REFUSES(egraph_terms_keep_explanations, "terms", NULL);
  REFUSES(egraph_terms_explain, "terms", NULL, AT, AT, NULL, NULL, AT);
  REFUSES(egraph_terms_explain, "from", AT, NULL, AT, NULL, NULL, AT);
  REFUSES(egraph_terms_explain, "to", AT, AT, NULL, NULL, NULL, AT);
  REFUSES(egraph_terms_save, "terms", NULL, AT);
  REFUSES(egraph_terms_save, "path", AT, NULL);
  REFUSES(egraph_terms_pack, "terms", NULL, NULL, AT, AT);
  REFUSES(egraph_terms_pack, "out", NULL, AT, NULL, AT);
  REFUSES(egraph_terms_pack, "out_size", NULL, AT, AT, NULL);
  REFUSES(egraph_terms_parse, "name", NULL, NULL, AT, 1, AT);
  REFUSES(egraph_terms_parse, "bytes", NULL, AT, NULL, 1, AT);
  REFUSES(egraph_terms_parse, "out", NULL, AT, AT, 1, NULL);
  REFUSES(egraph_terms_load, "path", NULL, NULL, AT);
  REFUSES(egraph_terms_load, "out", NULL, AT, NULL);
  REFUSES(egraph_terms_save_json, "terms", NULL, AT, 1, AT);
  REFUSES(egraph_terms_save_json, "path", AT, AT, 1, NULL);
  REFUSES(egraph_terms_save_json, "roots", AT, NULL, 1, AT);
  REFUSES(egraph_terms_load_json, "path", NULL, NULL, NULL, NULL, AT);
  REFUSES(egraph_terms_load_json, "out", NULL, AT, NULL, NULL, NULL);
  REFUSES(egraph_terms_push, "terms", NULL);
  REFUSES(egraph_terms_pop, "terms", NULL);
  REFUSES(egraph_terms_drop, "terms", NULL);
}

/// Functions without a status say that there is nothing.
static void nothing_is_in_what_is_not_there(void **state) {
  (void)state;
  assert_null(egraph_dtype_name((egraph_dtype)99));
  assert_string_equal(egraph_status_name((egraph_status)99), "unknown status");
  assert_int_equal(egraph_tensor_bytes(NULL), 0);
  assert_int_equal(egraph_graph_open_dims(NULL), 0);
  assert_int_equal(egraph_graph_info_of(NULL).nodes, 0);
  assert_null(egraph_math_name((egraph_math)7));
  assert_false(egraph_math_find(NULL, AT));
  assert_int_equal(egraph_rules_count(NULL), 0);
  assert_null(egraph_rules_at(NULL, 0).name);
  assert_int_equal(egraph_rules_implied_count(NULL), 0);
  assert_null(egraph_rules_implied_at(NULL, 0).name);
  assert_null(egraph_costs_machine(NULL));
  assert_null(egraph_result_report(NULL));
  assert_null(egraph_result_graph(NULL));
  assert_int_equal(egraph_result_rule_count(NULL), 0);
  assert_null(egraph_result_rule(NULL, 0).name);
  assert_null(egraph_result_origin(NULL, (egraph_node){0}).made_by);
  assert_null(egraph_result_plan(NULL));
  assert_int_equal(egraph_plan_info_of(NULL).devices, 0);
  assert_null(egraph_plan_graph(NULL));
  egraph_simulation_destroy(NULL);
  assert_int_equal(egraph_simulation_info_of(NULL).tasks, 0);
  assert_null(egraph_simulation_stream_at(NULL, 0).name);
  assert_null(egraph_simulation_task_at(NULL, 0).name);
  assert_null(egraph_simulation_wait_at(NULL, 0).kind);
  assert_true(egraph_simulation_memory_at(NULL, 0).bytes == 0);
  assert_null(egraph_simulation_alive_at(NULL, 0).name);
  assert_true(isinf(egraph_tensor_error(NULL, NULL)));
  assert_int_equal(egraph_tensor_not_finite(NULL), 0);
  assert_int_equal(egraph_arrays_count(NULL), 0);
  assert_null(egraph_arrays_at(NULL, 0, NULL).data);
  assert_false(egraph_arrays_find(NULL, "x", AT));
  assert_string_equal(egraph_extraction_report(NULL).status, "none");
  assert_int_equal(egraph_extraction_choice_count(NULL), 0);
  assert_null(egraph_extraction_choice(NULL, 0).class_name);
  assert_null(egraph_extract_pass(1000).name);
  assert_int_equal(egraph_shard_info_of(NULL).nodes, 0);
  assert_null(egraph_shard_plan_report(NULL));
  assert_null(egraph_shard_plan_choice(NULL));
  assert_int_equal(egraph_terms_rule_count(NULL), 0);
  assert_null(egraph_terms_rule(NULL, 0).name);
  assert_false(egraph_terms_find_node(NULL, (egraph_symbol){0}, NULL, 0, NULL));
  assert_int_equal(egraph_terms_find(NULL, (egraph_class){5}).id, 5);
  assert_false(egraph_terms_are_equal(NULL, (egraph_class){1}, (egraph_class){2}));
  assert_int_equal(egraph_terms_info_of(NULL).nodes, 0);
  // Numbers past the end of what is there.
  egraph_rules *rules;
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_null(egraph_rules_at(rules, 0).name);
  assert_null(egraph_rules_implied_at(rules, 0).name);
  egraph_rules_destroy(rules);
}

/// What makes, fills and frees takes nothing for nothing.
static void no_graph_is_walked(void **state) {
  (void)state;
  const egraph_value value = {0};
  const egraph_node node = {0};
  assert_int_equal(egraph_graph_node_count(NULL), 0);
  assert_int_equal(egraph_graph_value_count(NULL), 0);
  assert_int_equal(egraph_graph_input_value(NULL, 0).id, EGRAPH_NONE);
  assert_int_equal(egraph_graph_output_value(NULL, 0).id, EGRAPH_NONE);
  assert_false(egraph_graph_find_value(NULL, "x", AT));
  assert_int_equal(egraph_value_kind_of(NULL, value), EGRAPH_VALUE_INPUT);
  assert_null(egraph_value_name(NULL, value));
  assert_false(egraph_value_type(NULL, value, AT));
  assert_null(egraph_value_format(NULL, value));
  assert_false(egraph_value_producer(NULL, value, AT, AT));
  assert_null(egraph_node_name(NULL, node));
  assert_null(egraph_node_operator(NULL, node));
  assert_int_equal(egraph_node_operand_count(NULL, node), 0);
  assert_int_equal(egraph_node_operand(NULL, node, 0).id, EGRAPH_NONE);
  assert_int_equal(egraph_node_result_count(NULL, node), 0);
  assert_int_equal(egraph_node_result(NULL, node, 0).id, EGRAPH_NONE);
  assert_false(egraph_node_is_opaque(NULL, node));
  assert_int_equal(egraph_result_unpriced(NULL, 0, AT), 0);
  assert_null(egraph_node_record(NULL, node, AT));
  assert_int_equal(egraph_node_attribute_count(NULL, node), 0);
  assert_false(egraph_node_attribute(NULL, node, 0, AT));
}

static void no_plan_is_walked(void **state) {
  (void)state;
  const egraph_state place = {0};
  assert_int_equal(egraph_plan_axis_count(NULL), 0);
  assert_null(egraph_plan_axis(NULL, 0, AT));
  assert_int_equal(egraph_plan_state_count(NULL), 0);
  assert_int_equal(egraph_plan_state_value(NULL, place).id, EGRAPH_NONE);
  assert_false(egraph_plan_state_layout(NULL, place, AT));
  assert_false(egraph_plan_state_type(NULL, place, AT));
  assert_false(egraph_plan_state_step(NULL, place, AT));
  assert_int_equal(egraph_plan_output_state(NULL, 0).id, EGRAPH_NONE);
  assert_int_equal(egraph_plan_carried_count(NULL), 0);
  assert_false(egraph_plan_carried(NULL, 0, AT, AT));
  assert_int_equal(egraph_plan_step_count(NULL), 0);
  assert_false(egraph_plan_step_is_move(NULL, 0));
  assert_null(egraph_plan_step_phase(NULL, 0));
  assert_null(egraph_plan_step_operator(NULL, 0));
  assert_false(egraph_plan_step_node(NULL, 0, AT));
  assert_int_equal(egraph_plan_step_operand_count(NULL, 0), 0);
  assert_int_equal(egraph_plan_step_operand(NULL, 0, 0).id, EGRAPH_NONE);
  assert_int_equal(egraph_plan_step_result_count(NULL, 0), 0);
  assert_int_equal(egraph_plan_step_result(NULL, 0, 0).id, EGRAPH_NONE);
  assert_false(egraph_plan_step_action(NULL, 0, 0, AT));
  assert_int_equal(egraph_plan_step_axis(NULL, 0), EGRAPH_NONE);
  assert_true(egraph_plan_step_bytes(NULL, 0) == 0);
  assert_true(egraph_plan_step_seconds(NULL, 0) == 0);
  assert_int_equal(egraph_plan_step_blocks(NULL, 0), 0);
}

static void nothing_is_done_to_what_is_not_there(void **state) {
  (void)state;
  egraph_draw_input(NULL, 1, NULL);
  egraph_draw_weight("w", 1, &(egraph_tensor){.rank = 1, .dims = {4}});
  egraph_tensor_convert(NULL, NULL);
  egraph_rules_trust(NULL, true);
  egraph_string_free(NULL, NULL);
  egraph_graph_destroy(NULL);
  egraph_rules_destroy(NULL);
  egraph_costs_destroy(NULL);
  egraph_result_destroy(NULL);
  egraph_session_destroy(NULL);
  egraph_plan_destroy(NULL);
  egraph_step_check_destroy(NULL);
  egraph_arrays_destroy(NULL);
  egraph_extraction_destroy(NULL);
  egraph_shard_destroy(NULL);
  egraph_shard_plan_destroy(NULL);
  egraph_terms_destroy(NULL);
}

/// Arrays without elements may be NULL.
static void empty_arrays_need_no_place(void **state) {
  (void)state;
  egraph_graph *graph;
  egraph_value value;
  assert_ok(egraph_graph_create(NULL, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 0, NULL, &value));
  assert_ok(egraph_graph_add_weight(graph, "w", EGRAPH_FLOAT32, 0, NULL, NULL, &value));
  egraph_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_refuse_null),
      cmocka_unit_test(arrays_refuse_null),
      cmocka_unit_test(rules_refuse_null),
      cmocka_unit_test(optimizing_and_running_refuse_null),
      cmocka_unit_test(plans_refuse_null),
      cmocka_unit_test(extraction_refuses_null),
      cmocka_unit_test(sharding_refuses_null),
      cmocka_unit_test(terms_refuse_null),
      cmocka_unit_test(nothing_is_in_what_is_not_there),
      cmocka_unit_test(no_graph_is_walked),
      cmocka_unit_test(no_plan_is_walked),
      cmocka_unit_test(nothing_is_done_to_what_is_not_there),
      cmocka_unit_test(empty_arrays_need_no_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
