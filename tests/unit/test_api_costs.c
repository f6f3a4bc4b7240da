// Public cost objects: databases good and bad, own costs, predictions, validation.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/api_kit.h"

static const char db_path[] = "test_api_costs.db";

static void remove_database(void) {
  (void)remove(db_path);
  (void)remove("test_api_costs.db-wal");
  (void)remove("test_api_costs.db-shm");
}

static int setup(void **state) {
  remove_database();
  return api_kit_setup(state);
}

static int teardown(void **state) {
  remove_database();
  return api_kit_teardown(state);
}

static egraph_costs *open_costs(api_kit *kit, egraph_costs_options options) {
  egraph_costs *costs;
  assert_ok(egraph_costs_create(&kit->alloc, &options, &costs));
  return costs;
}

static void costs_are_estimated_without_a_database(void **state) {
  api_kit *kit = *state;
  egraph_costs *costs;
  assert_ok(egraph_costs_create(&kit->alloc, NULL, &costs));
  assert_non_null(strstr(egraph_costs_machine(costs), "1 thread"));
  uint32_t entries = 7;
  assert_ok(egraph_costs_entries(costs, &entries));
  assert_int_equal(entries, 0);
  egraph_graph *graph = api_layer(&kit->alloc);
  double seconds, again;
  assert_ok(egraph_costs_predict(costs, graph, &seconds));
  assert_ok(egraph_costs_predict(costs, graph, &again));
  assert_true(seconds > 0 && seconds < 1);
  assert_true(seconds == again);
  egraph_graph_destroy(graph);
  egraph_costs_destroy(costs);
  egraph_costs_destroy(NULL);
}

static void strings_of_the_options_are_not_kept(void **state) {
  api_kit *kit = *state;
  char backend[] = "reference", path[] = "test_api_costs.db";
  egraph_costs *costs =
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .backend = backend,
                                             .database = path});
  memset(backend, 'x', sizeof backend - 1);
  memset(path, 'x', sizeof path - 1);
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_validation v;
  assert_ok(egraph_costs_validate(costs, graph, 2, 1, &v));
  egraph_graph_destroy(graph);
  egraph_costs_destroy(costs);
}

static void measurements_are_kept_in_the_database(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  double first, second, third;
  uint32_t entries;
  egraph_costs *costs =
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .database = db_path,
                                             .measure = true});
  assert_ok(egraph_costs_predict(costs, graph, &first));
  egraph_costs_destroy(costs);
  costs = open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                                 .database = db_path});
  assert_ok(egraph_costs_entries(costs, &entries));
  assert_int_equal(entries, 2);
  assert_ok(egraph_costs_predict(costs, graph, &second));
  assert_true(first == second);
  egraph_costs_destroy(costs);
  // Another thread count is another machine.
  costs = open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                                 .database = db_path,
                                                 .threads = 2});
  assert_ok(egraph_costs_entries(costs, &entries));
  assert_int_equal(entries, 0);
  egraph_costs_destroy(costs);
  costs = open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                                 .database = db_path,
                                                 .read_only = true,
                                                 .measure = true});
  assert_ok(egraph_costs_predict(costs, graph, &third));
  assert_true(first == third);
  egraph_costs_destroy(costs);
  egraph_graph_destroy(graph);
}

static void a_read_only_database_is_not_changed(void **state) {
  api_kit *kit = *state;
  egraph_costs *costs =
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .database = db_path});
  egraph_costs_destroy(costs);
  size_t size, size_after;
  char *before = api_read_file(db_path, &size);
  egraph_graph *graph = api_layer(&kit->alloc);
  double seconds;
  uint32_t entries;
  costs = open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                                 .database = db_path,
                                                 .read_only = true,
                                                 .measure = true});
  assert_ok(egraph_costs_predict(costs, graph, &seconds));
  assert_ok(egraph_costs_entries(costs, &entries));
  assert_int_equal(entries, 2); // for this object only
  egraph_costs_destroy(costs);
  char *after = api_read_file(db_path, &size_after);
  assert_int_equal(size, size_after);
  assert_memory_equal(before, after, size);
  free(before);
  free(after);
  egraph_graph_destroy(graph);
}

static bool stop_at_once(void *user, uint32_t done, uint32_t total) {
  *(uint32_t *)user += 1;
  assert_true(done <= total);
  return true;
}

static void measuring_can_be_stopped(void **state) {
  api_kit *kit = *state;
  uint32_t calls = 0;
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_costs *costs =
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .database = db_path,
                                             .measure = true,
                                             .progress = stop_at_once,
                                             .user = &calls});
  double seconds;
  assert_ok(egraph_costs_predict(costs, graph, &seconds));
  assert_true(seconds > 0);
  assert_true(calls >= 1);
  uint32_t entries;
  assert_ok(egraph_costs_entries(costs, &entries));
  assert_true(entries < 2);
  egraph_costs_destroy(costs);
  egraph_graph_destroy(graph);
}

// ---- databases that cannot be used -----------------------------------------------

static void expect_refusal(api_kit *kit, const char *path, bool read_only,
                           egraph_status code, const char *part) {
  egraph_costs_options options = {
      .size = sizeof options, .database = path, .read_only = read_only};
  egraph_costs *costs = NULL;
  assert_fails(egraph_costs_create(&kit->alloc, &options, &costs), code, part);
  assert_non_null(strstr(egraph_last_error(), path));
  assert_null(costs);
}

static void databases_that_are_none_are_refused(void **state) {
  api_kit *kit = *state;
  static const char garbage[] = "this is certainly no database, not even a small one....";
  expect_refusal(kit, ".", false, EGRAPH_E_IO, "folder");
  expect_refusal(kit, "no/such/folder/profile.db", false, EGRAPH_E_IO, "folder");
  expect_refusal(kit, db_path, true, EGRAPH_E_IO, "");
  api_write_file(db_path, garbage, sizeof garbage);
  expect_refusal(kit, db_path, false, EGRAPH_E_PARSE, "not a profile database");
  expect_refusal(kit, db_path, true, EGRAPH_E_PARSE, "not a profile database");
  size_t size;
  char *after = api_read_file(db_path, &size);
  assert_int_equal(size, sizeof garbage);
  assert_memory_equal(after, garbage, size);
  free(after);
}

static void execute(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
    fail_msg("%s: %s", sql, message);
}

static void foreign_databases_are_refused(void **state) {
  api_kit *kit = *state;
  sqlite3 *db;
  assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
  execute(db, "CREATE TABLE recipes (name TEXT)");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  expect_refusal(kit, db_path, false, EGRAPH_E_PARSE, "another program");
  remove_database();
  egraph_costs_destroy(
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .database = db_path}));
  assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
  execute(db, "PRAGMA user_version = 4711");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  expect_refusal(kit, db_path, false, EGRAPH_E_PARSE, "4711");
}

// In place of sqlite3_busy_timeout (CMakeLists.txt): seconds become a few milliseconds.
int __real_sqlite3_busy_timeout(sqlite3 *db, int milliseconds);
int __wrap_sqlite3_busy_timeout(sqlite3 *db, int milliseconds);
int __wrap_sqlite3_busy_timeout(sqlite3 *db, int milliseconds) {
  assert_true(milliseconds >= 1000);
  return __real_sqlite3_busy_timeout(db, milliseconds / 100);
}

static void a_locked_database_is_busy(void **state) {
  api_kit *kit = *state;
  egraph_costs_destroy(
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .database = db_path}));
  sqlite3 *db;
  assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
  execute(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;"
              "CREATE TABLE holding (x)");
  expect_refusal(kit, db_path, false, EGRAPH_E_BUSY, "another process");
  execute(db, "ROLLBACK");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  egraph_costs_destroy(
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .database = db_path}));
}

// ---- own costs -------------------------------------------------------------------

typedef struct price_list {
  uint32_t asked;
  double matmul; // seconds; other operators are left to the model
} price_list;

static bool price_matmul(void *user, const egraph_cost_query *query,
                         double *out_seconds) {
  price_list *list = user;
  list->asked++;
  assert_non_null(strstr(query->text, query->op));
  assert_non_null(strstr(query->text, "float32["));
  assert_true(query->bytes > 0);
  *out_seconds = list->matmul;
  return strcmp(query->op, "matmul") == 0;
}

static void own_costs_are_asked_first(void **state) {
  api_kit *kit = *state;
  price_list list = {.matmul = 5.0};
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_costs *costs =
      open_costs(kit, (egraph_costs_options){.size = sizeof(egraph_costs_options),
                                             .override_cost = price_matmul,
                                             .user = &list});
  double seconds = 7;
  assert_ok(egraph_costs_predict(costs, graph, &seconds));
  assert_true(seconds > 5.0 && seconds < 5.1);
  assert_true(list.asked >= 2);
  list.matmul = -1;
  assert_fails(egraph_costs_predict(costs, graph, &seconds), EGRAPH_E_ARGUMENT, "");
  list.matmul = NAN;
  assert_fails(egraph_costs_predict(costs, graph, &seconds), EGRAPH_E_ARGUMENT, "");
  egraph_costs_destroy(costs);
  egraph_graph_destroy(graph);
}

// ---- validation ------------------------------------------------------------------

static void predictions_are_compared_with_runs(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_costs *costs = open_costs(
      kit, (egraph_costs_options){.size = sizeof(egraph_costs_options), .measure = true});
  egraph_validation v;
  for (uint32_t repeats = 0; repeats < 4; repeats += 3) {
    assert_ok(egraph_costs_validate(costs, graph, repeats, 1, &v));
    assert_true(v.operators >= 1 && v.operators <= 2);
    assert_true(v.predicted > 0 && v.measured > 0 && v.steps > 0);
    assert_true(v.rank_correlation >= -1.0 - 1e-9 && v.rank_correlation <= 1.0 + 1e-9);
    assert_true(v.mean_error >= 0);
  }
  egraph_costs_destroy(costs);
  egraph_graph_destroy(graph);
}

static void a_graph_without_operators_predicts_nothing(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph;
  egraph_value x;
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 1, (int64_t[]){3}, &x));
  assert_ok(egraph_graph_add_output(graph, NULL, x));
  egraph_costs *costs = open_costs(
      kit, (egraph_costs_options){.size = sizeof(egraph_costs_options), .measure = true});
  egraph_validation v;
  assert_ok(egraph_costs_validate(costs, graph, 2, 1, &v));
  assert_int_equal(v.operators, 0);
  assert_true(v.predicted == 0 && v.rank_correlation == 1 && v.mean_error == 0);
  egraph_costs_destroy(costs);
  egraph_graph_destroy(graph);
}

#define costs_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      costs_test(costs_are_estimated_without_a_database),
      costs_test(strings_of_the_options_are_not_kept),
      costs_test(measurements_are_kept_in_the_database),
      costs_test(a_read_only_database_is_not_changed),
      costs_test(measuring_can_be_stopped),
      costs_test(databases_that_are_none_are_refused),
      costs_test(foreign_databases_are_refused),
      costs_test(a_locked_database_is_busy),
      costs_test(own_costs_are_asked_first),
      costs_test(predictions_are_compared_with_runs),
      costs_test(a_graph_without_operators_predicts_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
