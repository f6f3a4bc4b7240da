// egraph optimize | profile | explain: three views of one optimization.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/plan_files.h"
#include "tools/planning.h"

enum { MAX_PATH_BYTES = 4096 };

static int finish(plan_session *session, egraph_status status) {
  int outcome = status == EGRAPH_OK ? EXIT_DONE : report_failure(status);
  plan_close(session);
  return outcome;
}

static int outcome_of(parse_outcome parsed) {
  return parsed == PARSE_HELP ? EXIT_DONE : EXIT_USAGE;
}

bool can_be_written(const char *path) {
  char folder[MAX_PATH_BYTES];
  const char *slash = strrchr(path, '/');
  size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  if (length >= sizeof folder) return true;
  memcpy(folder, path, length);
  folder[length] = '\0';
  struct stat info;
  bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
  if (!is_folder && access(length != 0 ? folder : ".", W_OK) == 0) return true;
  if (!is_folder && access(path, W_OK) == 0) return true; // a device, for instance
  fprintf(stderr, "egraph: %s: cannot be written: %s; choose another file\n", path,
          is_folder ? "it is a folder" : strerror(errno));
  return false;
}

/// The text form holds small weights only: says so when some were left out.
static egraph_status save(const egraph_graph *graph, const char *path) {
  egraph_status status = egraph_graph_save(graph, path);
  if (status != EGRAPH_OK || !is_graph_text(path)) return status;
  egraph_graph *written;
  status = egraph_graph_load(NULL, path, NULL, &written);
  if (status != EGRAPH_OK) return status;
  uint32_t absent = egraph_graph_info_of(written).absent_weights -
                    egraph_graph_info_of(graph).absent_weights;
  egraph_graph_destroy(written);
  if (absent != 0)
    fprintf(
        stderr,
        "egraph: note: %s: the data of %u weights is left out of text; write .onnx to "
        "keep it\n",
        path, absent);
  return EGRAPH_OK;
}

int command_optimize(int argc, char **argv) {
  plan_flags flags;
  plan_flags_init(&flags);
  flag rows[MAX_PLAN_FLAGS];
  size_t count = plan_flags_rows(&flags, rows);
  rows[count++] = (flag){"-o",
                         FLAG_TEXT,
                         &flags.output,
                         "FILE",
                         "write the optimized graph (.onnx or .egraph)",
                         0,
                         0};
  command cmd = {
      "optimize",
      "MODEL [-o FILE] [options]",
      "Finds the cheapest equivalent graph of an ONNX model (or .egraph text).",
      rows,
      count,
      1,
      1};
  positional models;
  parse_outcome parsed = parse_arguments(&cmd, argc, argv, &models);
  if (parsed != PARSE_RUN) return outcome_of(parsed);
  if (flags.output != NULL && !can_be_written(flags.output)) return EXIT_FAILED;
  plan_session session;
  egraph_status status = plan_run(&flags, models.items[0], &session);
  if (status == EGRAPH_OK && flags.output != NULL)
    status = save(egraph_result_graph(session.result), flags.output);
  if (status == EGRAPH_OK) (flags.json ? plan_print_json : plan_print_text)(&session);
  return finish(&session, status);
}

static void print_validation(const char *which, const egraph_validation *v, bool json) {
  if (json) {
    json_open(which, '{');
    json_real("predicted", v->predicted);
    json_real("measured", v->measured);
    json_real("steps", v->steps);
    json_real("rank_correlation", v->rank_correlation);
    json_real("mean_error", v->mean_error);
    json_int("operators", v->operators);
    json_close('}');
  } else {
    printf("%-9s  predicted %.3f ms, measured %.3f ms, sum of steps %.3f ms; rank "
           "correlation %.3f, mean error %.1f %% over %u operators\n",
           which, 1e3 * v->predicted, 1e3 * v->measured, 1e3 * v->steps,
           v->rank_correlation, 100 * v->mean_error, v->operators);
  }
}

/// Predicted against measured cost, before and after optimization.
static egraph_status validate(const plan_session *session, uint64_t repeats,
                              uint64_t seed, egraph_validation out[2]) {
  const egraph_graph *graphs[] = {session->graph, egraph_result_graph(session->result)};
  egraph_status status = EGRAPH_OK;
  for (int i = 0; status == EGRAPH_OK && i < 2; i++)
    status = egraph_costs_validate(session->costs, graphs[i], (uint32_t)repeats, seed,
                                   &out[i]);
  return status;
}

static egraph_status print_entry(void *user, const egraph_cost_entry *e) {
  const bool *json = user;
  char date[32] = "-";
  struct tm parts;
  time_t seconds = (time_t)e->date;
  if (e->samples != 0 && gmtime_r(&seconds, &parts) != NULL)
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (*json) {
    json_open(NULL, '{');
    json_text("node", e->node);
    json_text("key", e->text);
    json_text("source", e->source);
    json_real("seconds", e->seconds);
    json_int("samples", e->samples);
    json_real("spread", e->spread);
    json_real("load", e->load);
    json_text("date", date);
    json_close('}');
  } else {
    printf("%11.4f %10.4f %8u %6.2f  %-20s %-9s %s  %s\n", 1e3 * e->seconds,
           1e3 * e->spread, e->samples, e->load, date, e->source, e->node, e->text);
  }
  return EGRAPH_OK;
}

/// What the costs of a graph's operators rest on.
static egraph_status show_entries(const plan_session *session, const egraph_graph *graph,
                                  const char *which, bool json) {
  if (json)
    json_open(which, '[');
  else
    printf("\n%s\n%11s %10s %8s %6s  %-20s %-9s %s\n", which, "ms", "spread", "samples",
           "load", "date", "source", "operator");
  egraph_status status = egraph_costs_visit(session->costs, graph, print_entry, &json);
  if (json) json_close(']');
  return status;
}

/// `validation` is NULL when none was asked for.
static void print_profile(const plan_session *session, uint32_t entries,
                          const egraph_validation *validation, bool shows, bool json) {
  const egraph_report *r = egraph_result_report(session->result);
  const char *machine = egraph_costs_machine(session->costs);
  if (json) {
    json_begin();
    json_text("machine", machine);
    json_int("measured", r->measured);
    json_int("entries", entries);
    json_real("seconds", r->profile_seconds);
  } else {
    printf(
        "%u operators measured in %.1f s; the database holds %u for this machine\n%s\n",
        r->measured, r->profile_seconds, entries, machine);
  }
  if (validation != NULL) {
    print_validation("original", &validation[0], json);
    print_validation("optimized", &validation[1], json);
  }
  if (shows && show_entries(session, session->graph, "original_costs", json) == EGRAPH_OK)
    (void)!show_entries(session, egraph_result_graph(session->result), "optimized_costs",
                        json);
  if (json) json_end();
}

int command_profile(int argc, char **argv) {
  plan_flags flags;
  plan_flags_init(&flags);
  flag rows[MAX_PLAN_FLAGS];
  size_t count = plan_flags_rows(&flags, rows);
  uint64_t repeats = 0;
  bool shows = false;
  rows[count++] = (flag){"--again",
                         FLAG_SWITCH,
                         &flags.again,
                         NULL,
                         "measure what the database has, too, and replace it",
                         0,
                         0};
  rows[count++] = (flag){"--show",
                         FLAG_SWITCH,
                         &shows,
                         NULL,
                         "list the costs of all operators, and what they rest on",
                         0,
                         0};
  rows[count++] =
      (flag){"--validate",
             FLAG_UINT,
             &repeats,
             "N",
             "run the model N times and compare measured with predicted costs",
             0,
             MAX_REPEATS};
  command cmd = {"profile",
                 "MODEL [--db FILE] [options]",
                 "Measures every operator variant that optimizing the model asks for.",
                 rows,
                 count,
                 1,
                 1};
  positional models;
  parse_outcome parsed = parse_arguments(&cmd, argc, argv, &models);
  if (parsed != PARSE_RUN) return outcome_of(parsed);
  plan_session session;
  egraph_status status = plan_run(&flags, models.items[0], &session);
  uint32_t entries = 0;
  if (status == EGRAPH_OK) status = egraph_costs_entries(session.costs, &entries);
  egraph_validation validation[2];
  if (status == EGRAPH_OK && repeats != 0)
    status = validate(&session, repeats, flags.options.seed, validation);
  if (status == EGRAPH_OK)
    print_profile(&session, entries, repeats != 0 ? validation : NULL, shows, flags.json);
  return finish(&session, status);
}

static void print_rule_statistics(const plan_session *session) {
  printf("\n%-40s %10s %10s %8s %8s %6s %9s\n", "rule", "matches", "rejected", "nodes",
         "unions", "bans", "seconds");
  for (uint32_t i = 0; i < egraph_result_rule_count(session->result); i++) {
    egraph_rule_report r = egraph_result_rule(session->result, i);
    if (r.matches != 0)
      printf("%-40s %10llu %10llu %8u %8u %6u %9.4f\n", r.name,
             (unsigned long long)r.matches, (unsigned long long)r.rejected, r.nodes,
             r.unions, r.bans, r.seconds);
  }
}

static void print_explanation_json(const char *text) {
  json_begin();
  json_text("explanation", text);
  json_end();
}

int command_explain(int argc, char **argv) {
  plan_flags flags;
  plan_flags_init(&flags);
  flag rows[MAX_PLAN_FLAGS];
  size_t count = plan_flags_rows(&flags, rows);
  plan_view view = {.against = NULL};
  rows[count++] = (flag){"--against",
                         FLAG_TEXT,
                         &view.against,
                         "PLAN",
                         "of a plan: what is different in this one",
                         0,
                         0};
  rows[count++] = (flag){"--unity",
                         FLAG_SWITCH,
                         &view.unity,
                         NULL,
                         "of a plan: exchanges as Partition, Combine, Replicate, Reduce",
                         0,
                         0};
  rows[count++] = (flag){"--machine",
                         FLAG_TEXT,
                         &view.machine,
                         "NAME",
                         "of a plan: price its steps anew, one that was edited, say",
                         0,
                         0};
  command cmd = {
      "explain",
      "MODEL [options] | PLAN.json [--against PLAN.json] [--machine NAME]",
      "Optimizes a model and says which rule made every operator of the result; or says "
      "how a plan splits every operator, what it exchanges and what devices hold.",
      rows,
      count,
      1,
      1};
  positional models;
  parse_outcome parsed = parse_arguments(&cmd, argc, argv, &models);
  if (parsed != PARSE_RUN) return outcome_of(parsed);
  view.json = flags.json;
  view.database = flags.database;
  view.no_measure = flags.no_measure;
  if (is_plan_file(models.items[0])) return explain_plan_file(models.items[0], &view);
  if (view.against != NULL || view.machine != NULL || view.unity) {
    fprintf(stderr,
            "egraph: %s is no plan (.json); --against, --machine and --unity are of "
            "plans\n",
            models.items[0]);
    return EXIT_USAGE;
  }
  plan_session session;
  egraph_status status = plan_run(&flags, models.items[0], &session);
  char *text = NULL;
  if (status == EGRAPH_OK) status = egraph_result_explain(NULL, session.result, &text);
  if (status == EGRAPH_OK) {
    if (flags.json) {
      print_explanation_json(text);
    } else {
      plan_print_text(&session);
      printf("\n%s", text);
      print_rule_statistics(&session);
    }
  }
  egraph_string_free(NULL, text);
  return finish(&session, status);
}
