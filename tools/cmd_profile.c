// egraph profile: what operators cost, measured into the profile database.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include "tools/arguments.h"
#include "tools/planning.h"

static void print_validation(const char *which, const egraph_validation *v, bool json) {
  if (json) {
    json_open(which, '{');
    json_real("predicted", v->predicted);
    json_real("measured", v->measured);
    json_real("transfers", v->transfers);
    json_real("steps", v->steps);
    json_real("rank_correlation", v->rank_correlation);
    json_real("mean_error", v->mean_error);
    json_int("operators", v->operators);
    json_close('}');
  } else {
    printf("%-9s  predicted %.3f ms, measured %.3f ms (inputs and outputs: another %.3f "
           "ms), sum of steps %.3f ms; rank correlation %.3f, mean error %.1f %% over %u "
           "operators\n",
           which, 1e3 * v->predicted, 1e3 * v->measured, 1e3 * v->transfers,
           1e3 * v->steps, v->rank_correlation, 100 * v->mean_error, v->operators);
  }
}

/// Predicted against measured cost, before and after optimization.
static egraph_status validate(const optimize_session *session, uint64_t repeats,
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
    show(stdout, "%11.4f %10.4f %8u %6.2f  %-20s %-9s %s  %s\n", 1e3 * e->seconds,
         1e3 * e->spread, e->samples, e->load, date, e->source, e->node, e->text);
  }
  return EGRAPH_OK;
}

/// What the costs of a graph's operators rest on.
static egraph_status show_entries(const optimize_session *session,
                                  const egraph_graph *graph, const char *which,
                                  bool json) {
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
static void print_profile(const optimize_session *session, uint32_t entries,
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
  optimize_flags flags;
  optimize_flags_init(&flags);
  uint64_t repeats = 0;
  bool shows = false;
  command cmd = {
      .name = "profile",
      .usage = "MODEL [--db FILE] [options]",
      .summary = "Measures every operator variant that optimizing the model asks for.",
      .min_positional = 1,
      .max_positional = 1};
  add_load_flags(&cmd, &flags.load);
  add_heading(&cmd, "Measurement");
  add_switch(&cmd, "--again", &flags.costs.again,
             "measure again what the database has, and replace it");
  add_switch(&cmd, "--show", &shows,
             "list the costs of all operators, and what they rest on");
  add_uint(&cmd, "--validate N", &repeats, 0, MAX_REPEATS,
           "run the model N times and compare measured with predicted costs");
  add_optimize_flags(&cmd, &flags);
  positional models;
  int parsed = parse_arguments(&cmd, argc, argv, &models);
  if (parsed != PARSE_RUN) return parsed;
  optimize_session session;
  egraph_status status = optimize_run(&flags, models.items[0], &session);
  uint32_t entries = 0;
  if (status == EGRAPH_OK) status = egraph_costs_entries(session.costs, &entries);
  egraph_validation validation[2];
  if (status == EGRAPH_OK && repeats != 0)
    status = validate(&session, repeats, flags.search.seed, validation);
  if (status == EGRAPH_OK)
    print_profile(&session, entries, repeats != 0 ? validation : NULL, shows, flags.json);
  return optimize_finish(&session, status);
}
