// egraph simulate: computes the time of a plan's step when exchanges overlap
// with computing.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/exchange_report.h"
#include "tools/plan_files.h"
#include "tools/simulate_files.h"

enum { MOST_LINES = 8 };

typedef struct simulate_flags {
  const char *machine, *trace, *html;
  cost_flags costs;
  const char *issue, *rounds;
  bool json;
} simulate_flags;

static double percent_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

static void print_streams(const simulated_plan *s, const egraph_simulation_info *info) {
  for (uint32_t i = 0; i < info->streams; i++) {
    egraph_simulation_stream stream = egraph_simulation_stream_at(s->simulation, i);
    printf("%-11s %-12s busy %-9s %5.1f %%\n", i == 0 ? "streams" : "", stream.name,
           seconds_text(stream.busy).text, percent_of(stream.busy, info->seconds));
  }
}

static void print_waits(const simulated_plan *s, const egraph_simulation_info *info) {
  for (uint32_t i = 0; i < info->waits && i < MOST_LINES; i++) {
    egraph_simulation_wait wait = egraph_simulation_wait_at(s->simulation, i);
    printf("%-11s %s, %s over %s: %s, %.1f %%, in %u exchanges\n", i == 0 ? "waits" : "",
           wait.phase, wait.kind, wait.axis, seconds_text(wait.seconds).text,
           percent_of(wait.seconds, info->seconds), wait.count);
  }
  if (info->waits == 0) printf("waits       computing waits for no exchange\n");
  if (info->waits > MOST_LINES)
    printf("%-11s and %u more\n", "", info->waits - MOST_LINES);
}

static void print_memory(const simulated_plan *s, const egraph_simulation_info *info) {
  double limit = egraph_plan_info_of(s->plan).memory_limit;
  printf("memory      %s at the peak, %s into the step",
         bytes_text(info->peak_bytes).text, seconds_text(info->peak_seconds).text);
  if (limit < 1e300) printf("; a device has %s", bytes_text(limit).text);
  printf("\n");
  for (uint32_t i = 0; i < info->alive && i < MOST_LINES; i++) {
    egraph_simulation_alive alive = egraph_simulation_alive_at(s->simulation, i);
    show(stdout, "%-11s %-9s %-12s %s\n", i == 0 ? "at the peak" : "",
         bytes_text(alive.bytes).text, alive.store, alive.name);
  }
  if (info->alive > MOST_LINES)
    printf("%-11s and %u more\n", "", info->alive - MOST_LINES);
  if (info->peak_bytes > limit)
    printf("warning     that is more than a device has; --issue reductions holds less, "
           "--issue in-order the least\n");
}

/// Prints the rounds of messages that determine the seconds of exchanges.
static void print_rounds(const simulated_plan *s, const egraph_simulation_info *info) {
  if (info->messages > 0) {
    printf("rounds      %.4g messages of %u devices", info->messages,
           egraph_plan_info_of(s->plan).devices);
    printf(", simulated for %u; all exchanges in closed form %s\n", info->kinds,
           seconds_text(info->closed_form).text);
  }
  if (s->rounds != EGRAPH_ROUNDS_NONE && info->closed != 0)
    printf("%-11s %u exchanges in closed form: the machine does not say their ports\n",
           info->messages > 0 ? "" : "rounds", info->closed);
  if (info->beside > 0)
    printf("computing   takes %.3g times as long while its device exchanges\n",
           info->beside);
  else if (s->rounds != EGRAPH_ROUNDS_NONE)
    printf("computing   is not slowed down by exchanges: the machine does not say how "
           "much\n");
}

static void print_simulated_text(const simulated_plan *s) {
  egraph_simulation_info info = egraph_simulation_info_of(s->simulation);
  printf("step        %s", seconds_text(info.seconds).text);
  if (info.seconds < info.in_order)
    printf(", exchanges overlapped; one thing after the other %s (%.3gx)",
           seconds_text(info.in_order).text, info.in_order / info.seconds);
  printf("\n");
  printf("issue       %s\n", issue_names[info.issue]);
  if (info.issue != EGRAPH_ISSUE_IN_ORDER)
    printf(
        "at least    %s in any order of issue: a stream is busy so long; %.3g %% below\n",
        seconds_text(info.most_busy).text,
        percent_of(info.seconds - info.most_busy, info.seconds));
  print_rounds(s, &info);
  print_streams(s, &info);
  print_waits(s, &info);
  print_memory(s, &info);
  if (info.seconds < info.in_order)
    printf("note        egraph run does one thing after the other, unless --issue is "
           "given\n");
}

static const char *const rounds_names[] = {"none",     "auto", "ring",  "halving",
                                           "doubling", "tree", "levels"};
enum { ROUNDS_NAMES = sizeof rounds_names / sizeof *rounds_names };

/// Returns the index of a name in a list of choices, or `otherwise` for a NULL name.
static int number_of(const char *name, const char *const *names, int count,
                     int otherwise) {
  for (int i = 0; name != NULL && i < count; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return otherwise;
}

static egraph_status simulate(const simulate_flags *flags, simulated_plan *s) {
  egraph_simulate_options options = egraph_simulate_options_default();
  EG_TRY(plan_load(s->path, flags->machine, &flags->costs, &s->plan));
  EG_TRY(exchanges_find(flags->machine, egraph_plan_info_of(s->plan).devices,
                        &flags->costs, &s->basis));
  options.machine = flags->machine;
  options.rounds = s->rounds;
  options.beside = s->basis.beside;
  options.issue = EGRAPH_ISSUE_IN_ORDER;
  EG_TRY(egraph_simulate(NULL, s->plan, &options, &s->in_order));
  options.issue = (egraph_issue)number_of(flags->issue, issue_names,
                                          EGRAPH_ISSUE_SHORTEST, EGRAPH_ISSUE_SHORTEST);
  return egraph_simulate(NULL, s->plan, &options, &s->simulation);
}

static bool are_distinct(const char *a, const char *b) {
  return a == NULL || b == NULL || strcmp(a, b) != 0;
}

int command_simulate(int argc, char **argv) {
  simulate_flags flags = {.machine = NULL};
  command cmd = new_command(
      "simulate", "PLAN.json [--machine NAME] [--trace FILE.json] [--html FILE]", 1, 1,
      "Simulates the step of a plan: exchanges overlap with computing, reductions as "
      "early as possible, gathers of weights before their readers. Prints what computing "
      "waits for, and the memory of devices over time.");
  add_heading(&cmd, "Machine");
  add_text(&cmd, "--machine NAME", &flags.machine,
           "compute the costs again for this machine; exchanges over different classes "
           "of its links overlap");
  add_choice(&cmd, "--issue shortest|ahead-4|ahead-2|ahead|reductions|in-order",
             &flags.issue,
             "exchanges that overlap with computing: all, with weights gathered 4, 2 or "
             "1 readers ahead (ahead-4, ahead-2, ahead); reductions only, which takes "
             "less memory; none (in-order). Default: the order with the shortest step "
             "that fits in memory");
  add_choice(&cmd, "--rounds none|auto|ring|halving|doubling|tree|levels", &flags.rounds,
             "simulate exchanges as rounds of messages, which share the links of "
             "--machine; auto: by the algorithm that the plan's costs assume");
  add_cost_flags(&cmd, &flags.costs);
  add_heading(&cmd, "Output");
  add_text(&cmd, "--trace FILE", &flags.trace,
           "write a trace for Perfetto or chrome://tracing");
  add_text(&cmd, "--html FILE", &flags.html,
           "write a report that a browser shows without a network");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(plans, &cmd, argc, argv);
  simulated_plan s = {.path = plans.items[0]};
  s.rounds = (egraph_rounds)number_of(flags.rounds, rounds_names, ROUNDS_NAMES,
                                      EGRAPH_ROUNDS_NONE);
  if (!are_distinct(s.path, flags.trace) || !are_distinct(s.path, flags.html) ||
      !are_distinct(flags.trace, flags.html))
    return refuse("the plan, --trace and --html are three files");
  if (s.rounds != EGRAPH_ROUNDS_NONE && flags.machine == NULL)
    return refuse("--rounds go over the links of a machine; add --machine");
  egraph_status status = simulate(&flags, &s);
  bool written = status == EGRAPH_OK &&
                 (flags.trace == NULL || trace_write(flags.trace, &s)) &&
                 (flags.html == NULL || report_write(flags.html, &s));
  if (written && flags.json) {
    json_begin();
    simulation_json(&s);
    exchanges_json(flags.machine, egraph_plan_info_of(s.plan).devices, &s.basis);
    json_end();
  } else if (written) {
    print_simulated_text(&s);
    print_exchange_basis(flags.machine, egraph_plan_info_of(s.plan).devices, &s.basis);
  }
  egraph_simulation_destroy(s.simulation);
  egraph_simulation_destroy(s.in_order);
  egraph_plan_destroy(s.plan);
  if (status != EGRAPH_OK) return report_failure(status);
  return written ? EXIT_DONE : EXIT_FAILED;
}
