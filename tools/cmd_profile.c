// egraph profile: measures the costs of operators and stores them in the
// profile database.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "tools/arguments.h"
#include "tools/exchange_report.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"

static void print_validation(const char *which, const egraph_validation *v, bool json) {
  if (json)
    JSON_OBJECT(which, JSON("predicted", v->predicted), JSON("measured", v->measured),
                JSON("transfers", v->transfers), JSON("steps", v->steps),
                JSON("rank_correlation", v->rank_correlation),
                JSON("mean_error", v->mean_error), JSON("operators", v->operators));
  else
    printf("%-9s  predicted %.3f ms, measured %.3f ms (inputs and outputs: another %.3f "
           "ms), sum of steps %.3f ms; rank correlation %.3f, mean error %.1f %% over %u "
           "operators\n",
           which, 1e3 * v->predicted, 1e3 * v->measured, 1e3 * v->transfers,
           1e3 * v->steps, v->rank_correlation, 100 * v->mean_error, v->operators);
}

/// Compares predicted with measured cost, before and after optimization.
static egraph_status validate(const optimize_session *session, uint64_t repeats,
                              uint64_t seed, egraph_validation out[2]) {
  const egraph_graph *graphs[] = {session->graph, egraph_result_graph(session->result)};
  for (int i = 0; i < 2; i++)
    EG_TRY(egraph_costs_validate(session->costs, graphs[i], (uint32_t)repeats, seed,
                                 &out[i]));
  return EGRAPH_OK;
}

static egraph_status print_entry(void *user, const egraph_cost_entry *e) {
  const bool *json = user;
  const amount_text day = date_text(e->date, SECOND_FORMAT);
  const char *date = e->samples != 0 ? day.text : "-";
  if (*json)
    JSON_OBJECT(NULL, JSON("node", e->node), JSON("key", e->text),
                JSON("source", e->source), JSON("seconds", e->seconds),
                JSON("samples", e->samples), JSON("spread", e->spread),
                JSON("load", e->load), JSON("date", date));
  else
    show(stdout, "%11.4f %10.4f %8u %6.2f  %-20s %-9s %s  %s\n", 1e3 * e->seconds,
         1e3 * e->spread, e->samples, e->load, date, e->source, e->node, e->text);
  return EGRAPH_OK;
}

/// Prints counts of measured, estimated and guessed costs of a graph's operators.
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

typedef struct estimate_errors {
  uint32_t count;
  double sum;
  bool lists, json;
} estimate_errors;

static egraph_status add_error(void *user, const egraph_estimate_error *error) {
  estimate_errors *all = user;
  all->count += error->count;
  all->sum += error->count * error->mean;
  if (all->json)
    JSON_OBJECT(NULL, JSON("op", error->op), JSON("count", error->count),
                JSON("mean_error", error->mean), JSON("worst_error", error->worst));
  else if (all->lists)
    printf("%-28s %6u %7.1f %% %7.1f %%\n", error->op, error->count, 100 * error->mean,
           100 * error->worst);
  return EGRAPH_OK;
}

/// Prints the errors of estimates for operators with measurements.
static void print_estimates(const optimize_session *session, bool shows, bool json) {
  estimate_errors all = {.lists = shows, .json = json};
  if (json)
    json_open("estimates", '[');
  else if (shows)
    printf("\n%-28s %6s %9s %9s\n", "estimates of operators", "count", "error", "worst");
  egraph_status status = egraph_costs_estimate_errors(session->costs, add_error, &all);
  if (json) json_close(']');
  if (status == EGRAPH_OK && !json && all.count != 0)
    printf("estimates of the %u operators that are measured are off by %.0f %% in the "
           "mean%s\n",
           all.count, 100 * all.sum / all.count, shows ? "" : "; --show lists them");
}

/// Prints a model's costs; `validation` (comparison with a run) NULL: not requested.
static void print_profile(const optimize_session *session, uint32_t entries,
                          const egraph_validation *validation, bool shows, bool json) {
  const egraph_report *r = egraph_result_report(session->result);
  const char *machine = egraph_costs_machine(session->costs);
  if (json)
    JSON_BEGIN(JSON("machine", machine), JSON("measured", r->measured),
               JSON("entries", entries), JSON("seconds", r->profile_seconds));
  else
    printf(
        "%u operators measured in %.1f s; the database holds %u for this machine\n%s\n",
        r->measured, r->profile_seconds, entries, machine);
  if (validation != NULL) {
    print_validation("original", &validation[0], json);
    print_validation("optimized", &validation[1], json);
  }
  if (shows && show_entries(session, session->graph, "original_costs", json) == EGRAPH_OK)
    (void)!show_entries(session, egraph_result_graph(session->result), "optimized_costs",
                        json);
  print_estimates(session, shows, json);
  if (json) json_end();
}

// ---- exchanges ------------------------------------------------------------------

static egraph_status print_class(void *user, const egraph_exchange_class *c) {
  const bool *json = user;
  if (*json) {
    JSON_OBJECT(NULL, JSON("exchange", c->exchange), JSON("devices", c->devices),
                JSON("size", c->size), JSON("most_bytes", c->most_bytes),
                JSON("latency", c->latency_seconds),
                JSON("per_byte", c->seconds_per_byte), JSON("points", c->points),
                JSON("mean_error", c->mean_error), JSON("worst_error", c->worst_error));
    return EGRAPH_OK;
  }
  char speed[32] = "any";
  if (c->seconds_per_byte > 0)
    (void)snprintf(speed, sizeof speed, "%.2f", 1e-9 / c->seconds_per_byte);
  printf("%-15s %7u  %-7s %12s %8s %6u %7.1f %% %7.1f %%\n", c->exchange, c->devices,
         c->size, seconds_text(c->latency_seconds).text, speed, c->points,
         100 * c->mean_error, 100 * c->worst_error);
  return EGRAPH_OK;
}

static egraph_status print_exchanges(egraph_costs *costs, const char *channel,
                                     uint32_t ranks, bool json) {
  egraph_exchange_basis basis;
  if (json) {
    JSON_BEGIN(JSON("machine", egraph_costs_machine(costs)), JSON("channel", channel),
               JSON("ranks", ranks));
    json_open("exchanges", '[');
  } else {
    printf("%u ranks over %s, each exchange behind 0.1 ms of computing\n%s\n%-15s %7s  "
           "%-7s %12s %8s %6s %9s %9s\n",
           ranks, channel, egraph_costs_machine(costs), "exchange", "devices", "size",
           "latency", "GB/s", "points", "error", "worst");
  }
  egraph_status status =
      egraph_costs_exchanges(costs, channel, ranks, print_class, &json, &basis);
  if (json)
    JSON_END_LIST(JSON("beside", basis.beside), JSON("stood_still", basis.stood_still));
  else if (status == EGRAPH_OK && basis.beside > 0)
    print_slowdown(&basis);
  return status;
}

/// Measures exchanges; rank 0 alone prints them.
static egraph_status profile_exchanges(const optimize_flags *flags, const char *channel,
                                       uint32_t ranks) {
  OWNED(egraph_costs, costs);
  uint32_t rank = 0;
  EG_TRY(open_plan_costs(&flags->costs, NULL, &costs));
  EG_TRY(egraph_costs_measure_exchanges(costs, channel, ranks, &rank));
  return rank == 0 ? print_exchanges(costs, channel, ranks, flags->json) : EGRAPH_OK;
}

// ---- the command ----------------------------------------------------------------

int command_profile(int argc, char **argv) {
  optimize_flags flags;
  optimize_flags_init(&flags);
  uint64_t repeats = 0;
  uint32_t ranks = 2;
  bool shows = false, exchanges = false;
  const char *channel = NULL;
  command cmd = new_command(
      "profile", "MODEL [--db FILE] [options] | --collectives [--ranks N] [--db FILE]", 0,
      1,
      "Measures every operator variant that optimizing the model asks for; or the "
      "exchanges between ranks of this host.");
  add_load_flags(&cmd, &flags.load);
  add_heading(&cmd, "Measurement");
  add_switch(&cmd, "--again", &flags.costs.again,
             "measure again what the database has, and replace it");
  add_switch(&cmd, "--show", &shows,
             "list the costs of all operators, and the source of each");
  add_uint(&cmd, "--validate N", &repeats, 0, MAX_REPEATS,
           "run the model N times and compare measured with predicted costs");
  add_heading(&cmd, "Exchanges");
  add_switch(&cmd, "--collectives", &exchanges,
             "measure every kind of exchange by size, for plans for host*RANKS");
  add_uint32(&cmd, "--ranks N", &ranks, 2, 256, "ranks of this host (default 2)");
  add_choice(&cmd, "--channel local|mpi", &channel,
             "ranks are threads (local, the default), or processes that mpirun started "
             "(mpi), for plans for host-mpi*RANKS");
  add_optimize_flags(&cmd, &flags);
  PARSE_ARGUMENTS(models, &cmd, argc, argv);
  if (exchanges == (models.count != 0))
    return refuse("profile takes a model, or --collectives; see egraph profile --help");
  if (exchanges)
    return outcome_of(
        profile_exchanges(&flags, channel != NULL ? channel : "local", ranks));
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
