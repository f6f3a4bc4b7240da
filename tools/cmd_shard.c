// egraph shard: finds the cheapest choice of strategies in a sharding problem.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"

typedef struct shard_flags {
  egraph_shard_options options;
  bool choices, json;
} shard_flags;

static bool show_sharding(void *user, int64_t cost, int64_t bound, double seconds) {
  (void)user;
  if (cost >= EGRAPH_SHARD_INFINITE)
    return progress_line("shard", "%.1f s, no choice yet, bound %" PRId64, seconds,
                         bound);
  return progress_line(
      "shard", "%.1f s, cost %" PRId64 ", bound %" PRId64 ", gap %.3f %%", seconds, cost,
      bound, cost > 0 ? 100 * (double)(cost - bound) / (double)cost : 0);
}

/// Returns a member that is null when the value is infinite.
static json_field finite(const char *key, int64_t value, int64_t infinity) {
  return value >= infinity ? json_field_real(key, INFINITY)
                           : json_field_int(key, (uint64_t)value);
}

static void print_sharding_json(egraph_shard_info info, const egraph_shard_plan *plan) {
  const egraph_shard_report *r = egraph_shard_plan_report(plan);
  const uint32_t *choice = egraph_shard_plan_choice(plan);
  bool found = r->cost < EGRAPH_SHARD_INFINITE;
  JSON_BEGIN(finite("cost", r->cost, EGRAPH_SHARD_INFINITE),
             finite("bound", r->bound, EGRAPH_SHARD_INFINITE),
             JSON("gap", found ? r->gap : INFINITY), JSON("status", r->status),
             JSON("seconds", r->seconds),
             JSON("best_seconds", found ? r->best_seconds : INFINITY),
             JSON("work", r->work), finite("checked", r->checked, EGRAPH_SHARD_INFINITE),
             finite("peak", found ? r->peak : INT64_MAX, INT64_MAX),
             finite("limit", r->limit, INT64_MAX), JSON("nodes", info.nodes),
             JSON("edges", info.edges), JSON("strategies", info.strategies));
  json_open("choices", '[');
  for (uint32_t node = 0; choice != NULL && node < info.nodes; node++)
    json_int(NULL, choice[node]);
  json_close(']');
  json_end();
}

/// Prints the last line of the contest's format; empty brackets: no choice.
static void print_choices(uint32_t nodes, const uint32_t *choice) {
  printf("[");
  for (uint32_t node = 0; choice != NULL && node < nodes; node++)
    printf(node == 0 ? "%u" : ", %u", choice[node]);
  printf("]\n");
}

static void print_sharding_text(egraph_shard_info info, const egraph_shard_plan *plan,
                                const char *certificate, bool choices) {
  const egraph_shard_report *r = egraph_shard_plan_report(plan);
  printf("problem   %u nodes, %u edges, %u strategies, %zu table entries\n", info.nodes,
         info.edges, info.strategies, info.entries);
  bool found = r->cost < EGRAPH_SHARD_INFINITE;
  if (found)
    printf("cost      %" PRId64 ", %s, bound %" PRId64 ", gap %.4f %%\n", r->cost,
           r->status, r->bound, 100 * r->gap);
  else
    printf("cost      none: %s\n", r->status);
  printf("memory    ");
  if (found) printf("peak %" PRId64 ", ", r->peak);
  if (r->limit == INT64_MAX)
    printf("no limit\n");
  else
    printf("limit %" PRId64 "\n", r->limit);
  printf("seconds   %.2f", r->seconds);
  if (found) printf(", the best choice after %.2f", r->best_seconds);
  printf("\n");
  if (certificate != NULL && r->checked < r->bound)
    printf("proof     %s, bound unchecked beyond %" PRId64 "\n", certificate, r->checked);
  else if (certificate != NULL)
    printf("proof     %s\n", certificate);
  if (choices) print_choices(info.nodes, egraph_shard_plan_choice(plan));
}

static egraph_status solve(const char *path, const shard_flags *flags) {
  OWNED(egraph_shard, shard);
  OWNED(egraph_shard_plan, plan);
  install_interrupt();
  EG_TRY(egraph_shard_load(NULL, path, &shard));
  egraph_status status = egraph_shard_solve(NULL, shard, &flags->options, &plan);
  progress_clear();
  EG_TRY(status);
  if (flags->json)
    print_sharding_json(egraph_shard_info_of(shard), plan);
  else
    print_sharding_text(egraph_shard_info_of(shard), plan, flags->options.certificate,
                        flags->choices);
  return EGRAPH_OK;
}

int command_shard(int argc, char **argv) {
  shard_flags flags = {.options = {.size = sizeof(egraph_shard_options),
                                   .seed = 1,
                                   .progress = show_sharding}};
  command cmd = new_command("shard", "FILE [options]", 1, 1,
                            "Finds the cheapest strategies of a sharding problem within "
                            "its memory limit (IOPDDL JSON, plain or gzip).");
  add_heading(&cmd, "Search");
  add_real(
      &cmd, "--time-limit X", &flags.options.time_limit, 0.001, 1e6,
      "seconds to look for better choices and bounds (default: no limit but --work)");
  add_uint(&cmd, "--work N", &flags.options.work_limit, 0, 0,
           "million steps to spend: the same result on any machine (default 60000 "
           "without --time-limit)");
  add_uint(&cmd, "--seed N", &flags.options.seed, 0, 0, "seed of the search");
  add_heading(&cmd, "Output");
  add_text(&cmd, "--certificate FILE", &flags.options.certificate,
           "write a proof of cost and bound, for check_certificate");
  add_switch(&cmd, "--choices", &flags.choices,
             "print the chosen strategies, too, in the format of the contest (--json "
             "always does)");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(files, &cmd, argc, argv);
  return outcome_of(solve(files.items[0], &flags));
}
