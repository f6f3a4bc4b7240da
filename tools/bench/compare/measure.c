// The child process writes its row to a pipe and ends without cleaning up. Any failure of
// the process (out of memory, a crash) becomes the message of a failed row.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "tools/bench/compare/measure.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "tools/console.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"

// ---- machines --------------------------------------------------------------------

/// Plans the smallest graph for a machine; the plan contains the number of devices.
static egraph_status plan_one_node(const egraph_graph *graph, const char *machine,
                                   uint32_t *out) {
  egraph_target target = egraph_target_default();
  egraph_options options = egraph_options_default();
  OWNED(egraph_result, result);
  target.machine = machine;
  options.target = &target;
  EG_TRY(egraph_optimize(NULL, graph, NULL, NULL, &options, &result));
  const egraph_plan *plan = egraph_result_plan(result);
  *out = plan != NULL ? egraph_plan_info_of(plan).devices : 1;
  return EGRAPH_OK;
}

egraph_status machine_devices(const char *machine, uint32_t *out) {
  OWNED(egraph_graph, graph);
  egraph_value x;
  const int64_t one = 1;
  EG_TRY(egraph_graph_create(NULL, &graph));
  EG_TRY(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 1, &one, &x));
  EG_TRY(egraph_graph_add(graph, NULL, "relu", NULL, &x, 1, &x));
  EG_TRY(egraph_graph_add_output(graph, NULL, x));
  return plan_one_node(graph, machine, out);
}

// ---- the search ------------------------------------------------------------------

/// The arguments of egraph_optimize.
typedef struct optimize_call {
  egraph_options options;
  egraph_target target;
  egraph_training training;
  egraph_search search;
  egraph_baselines baselines;
} optimize_call;

static const double NO_CLOCK = 1e6; // seconds, the most that the options accept
static const char *const FROZEN[] = {"mask"};

static void prepare_call(const compare_case *c, const egraph_graph *graph,
                         optimize_call *call) {
  const zoo_model *model = c->model.model;
  egraph_tensor mask;
  *call = (optimize_call){.options = egraph_options_default(),
                          .target = egraph_target_default(),
                          .training = egraph_training_default(),
                          .search = egraph_search_default(),
                          .baselines = egraph_baselines_default()};
  call->search.groups = c->groups;
  call->search.work_limit = c->work_limit;
  call->search.saturate_time_limit = NO_CLOCK; // other limits end saturation
  call->search.seed = c->seed;
  call->search.no_recompute = true; // as the other searches
  call->options.search = &call->search;
  if (c->search->kind == SEARCH_ALGORITHM) call->search.algorithm = c->search->name;
  call->search.overlap = c->search->kind == SEARCH_OWN_OVERLAP;
  // A search for a plan ends at its work limit; one for a graph has a default time limit.
  if (!zoo_trains(model)) {
    call->search.time_limit = NO_CLOCK;
    return;
  }
  call->target.machine = c->machine;
  call->options.target = &call->target;
  call->training.optimizer = model->optimizer;
  call->training.loss = model->loss;
  call->training.micro_batches = c->model.micro_batches;
  if (c->is_bfloat16) call->training.precision = "bf16";
  if (egraph_graph_find_weight(graph, FROZEN[0], &mask) == EGRAPH_OK) {
    call->training.freeze = FROZEN;
    call->training.freeze_count = 1;
  }
  call->options.training = &call->training;
  if (c->search->kind != SEARCH_BASELINE) return;
  call->baselines.only = c->search->name;
  call->options.compare = &call->baselines;
}

static egraph_status simulate(const egraph_plan *plan, const char *machine, double *out) {
  egraph_simulate_options options = egraph_simulate_options_default();
  OWNED(egraph_simulation, simulation);
  options.machine = machine;
  EG_TRY(egraph_simulate(NULL, plan, &options, &simulation));
  *out = egraph_simulation_info_of(simulation).seconds;
  return EGRAPH_OK;
}

/// Sets the status of a row by the bytes of memory that its plan lacks; 0 or less: the
/// plan fits, and the status is `otherwise`.
static void tell_fit(compare_row *row, double short_bytes, compare_status otherwise) {
  bool is_short = short_bytes > 0;
  row_set(row, COL_STATUS, compare_status_word(is_short ? STATUS_TOO_LARGE : otherwise));
  if (is_short) row_set_real(row, COL_SHORT, short_bytes);
}

static egraph_status tell_plan(const compare_case *c, const egraph_plan *plan,
                               compare_row *row) {
  egraph_plan_info info = egraph_plan_info_of(plan);
  double simulated;
  EG_TRY(simulate(plan, c->machine, &simulated));
  tell_fit(row, info.memory - info.memory_limit, STATUS_FITS);
  row_set_real(row, COL_SIMULATED, simulated);
  row_set_real(row, COL_MEMORY, info.memory);
  row_set(row, COL_MESH, info.mesh);
  return EGRAPH_OK;
}

/// Sets the status of a row without a plan: memory is lacking, or a limit came first.
static void tell_absence(egraph_result *result, compare_row *row) {
  const egraph_report *report = egraph_result_report(result);
  egraph_plan *none;
  double short_bytes = report->least_memory - report->memory_limit;
  tell_fit(row, short_bytes, STATUS_NONE_FOUND);
  if (short_bytes > 0) row_set_real(row, COL_MEMORY, report->least_memory);
  if (egraph_result_take_plan(result, &none) == EGRAPH_OK)
    egraph_plan_destroy(none); // there was a plan after all
  else
    row_set(row, COL_MESSAGE, egraph_last_error());
}

static void tell_report(const egraph_report *report, compare_row *row) {
  double work = report->search_work + report->saturate_work + report->extract_work;
  row_set_real(row, COL_COST, report->cost_after);
  if (report->bound > 0) row_set_real(row, COL_BOUND, report->bound);
  if (report->overlap_bound > 0)
    row_set_real(row, COL_SIMULATED_BOUND, report->overlap_bound);
  if (report->memory_limit > 0) row_set_real(row, COL_MEMORY_LIMIT, report->memory_limit);
  row_set(row, COL_ENDED, report->ended != NULL ? report->ended : "");
  if (work > 0) row_set_real(row, COL_WORK, work);
  row_set_real(row, COL_SECONDS, report->total_seconds);
}

/// Shows the progress line of the search after the name of the row.
static bool show_progress(void *user, const char *phase, const char *line) {
  (void)phase;
  (void)progress_line("bench", "%s: %s", (const char *)user, line);
  return false;
}

static egraph_status search_row(const compare_case *c, compare_row *row) {
  egraph_graph *graph;
  egraph_rules *rules = NULL;
  egraph_result *result;
  optimize_call call;
  char name[96];
  EG_TRY(zoo_build(&c->model, &graph));
  if (c->has_rules) EG_TRY(load_rules(true, false, NULL, 0, &rules));
  prepare_call(c, graph, &call);
  (void)snprintf(name, sizeof name, "%s, %s devices, %s", c->model.name,
                 row_cell(row, COL_DEVICES), c->search->name);
  call.options.progress = show_progress;
  call.options.user = name;
  EG_TRY(egraph_optimize(NULL, graph, rules, NULL, &call.options, &result));
  const egraph_report *report = egraph_result_report(result);
  tell_report(report, row);
  const egraph_plan *plan = egraph_result_plan(result);
  if (!zoo_trains(c->model.model)) {
    row_set(row, COL_STATUS, compare_status_word(STATUS_FITS));
    return EGRAPH_OK;
  }
  if (plan != NULL) return tell_plan(c, plan, row);
  if (report->overlapped > 0) { // a pipeline has no plan: its search simulated it
    tell_fit(row, report->excess_memory, STATUS_FITS);
    row_set_real(row, COL_SIMULATED, report->overlapped);
    row_set_real(row, COL_MEMORY, report->peak_memory);
  } else {
    tell_absence(result, row);
  }
  return EGRAPH_OK;
}

static void tell_failure(compare_row *row, const char *message) {
  row_set(row, COL_STATUS, compare_status_word(STATUS_FAILED));
  row_set(row, COL_MESSAGE, message);
}

// ---- the process -----------------------------------------------------------------

static void run_child(const compare_case *c, compare_row *row, int to) {
  (void)signal(SIGINT, SIG_DFL);
#if defined(__linux__)
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  double start = eg_clock_seconds();
  egraph_status status = search_row(c, row);
  if (status != EGRAPH_OK) {
    const char *message = egraph_last_error();
    tell_failure(row, *message != '\0' ? message : egraph_status_name(status));
    row_set_real(row, COL_SECONDS, eg_clock_seconds() - start);
  }
  FILE *out = fdopen(to, "w");
  if (out == NULL) _exit(EXIT_FAILED);
  row_write(out, row);
  _exit(fclose(out) == 0 ? EXIT_DONE : EXIT_FAILED);
}

/// Reads the output of the child process to its end. False: interrupted, or out of time.
static bool read_all(int from, double patience, FILE *to) {
  double end = eg_clock_seconds() + patience;
  char bytes[4096];
  for (;;) {
    struct pollfd wait = {.fd = from, .events = POLLIN};
    if (interrupted() || (patience > 0 && eg_clock_seconds() > end)) return false;
    if (poll(&wait, 1, 200) <= 0) continue;
    ssize_t count = read(from, bytes, sizeof bytes);
    if (count == 0) return true;
    if (count > 0) (void)fwrite(bytes, 1, (size_t)count, to);
    if (count < 0 && errno != EINTR) return true;
  }
}

static void judge_child(const compare_case *c, bool is_read, int status, FILE *text,
                        compare_row *row) {
  char message[200];
  compare_row answer;
  rewind(text);
  if (is_read && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE &&
      row_read(text, &answer, message, sizeof message)) {
    row_free(row);
    *row = answer;
    return;
  }
  if (!is_read)
    (void)snprintf(message, sizeof message, "took more than %g seconds (--patience)",
                   c->patience);
  else if (WIFSIGNALED(status))
    (void)snprintf(message, sizeof message, "the process was ended by signal %d",
                   WTERMSIG(status));
  else
    (void)snprintf(message, sizeof message, "the process gave no row");
  tell_failure(row, message);
  if (!is_read) row_set_real(row, COL_SECONDS, c->patience);
}

bool measure_row(const compare_case *c, compare_row *row) {
  int ends[2], status = 0;
  FILE *text = tmpfile();
  if (text == NULL || pipe(ends) != 0) {
    if (text != NULL) (void)fclose(text);
    tell_failure(row, strerror(errno));
    return true;
  }
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    (void)close(ends[0]);
    run_child(c, row, ends[1]);
  }
  (void)close(ends[1]);
  bool is_read = child > 0 && read_all(ends[0], c->patience, text);
  if (child > 0 && !is_read) (void)kill(child, SIGKILL);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  (void)close(ends[0]);
  if (child < 0)
    tell_failure(row, "no process can be started");
  else if (!interrupted())
    judge_child(c, is_read, status, text, row);
  (void)fclose(text);
  return !interrupted();
}
