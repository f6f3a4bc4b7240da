// egraph explain: prints the rule that made each operator of a model, or the steps of
// a plan.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "tools/arguments.h"
#include "tools/owned.h"
#include "tools/result_print.h"

static void print_rule_statistics(const optimize_session *session) {
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

static egraph_status explain_model(const optimize_flags *flags, const char *model,
                                   optimize_session *session) {
  OWNED_TEXT(text);
  EG_TRY(optimize_run(flags, model, session));
  if (flags->json) {
    print_graph_json(session, true);
    return EGRAPH_OK;
  }
  EG_TRY(egraph_result_explain(NULL, session->result, &text));
  print_graph_text(session);
  printf("\n");
  show_lines(stdout, text);
  print_rule_statistics(session);
  return EGRAPH_OK;
}

int command_explain(int argc, char **argv) {
  optimize_flags flags;
  optimize_flags_init(&flags);
  plan_view view = {.against = NULL};
  command cmd = new_command(
      "explain", "MODEL [options] | PLAN.json [--against PLAN.json] [--machine NAME]", 1,
      1,
      "Optimizes a model and prints which rule made every operator of the result; or "
      "prints how a plan splits every operator, what it exchanges, and the memory of "
      "devices.");
  enum { PLAN = 1, MODEL = 2 };
  cmd.modes = MODEL;
  add_load_flags(&cmd, &flags.load);
  cmd.modes = PLAN;
  add_heading(&cmd, "Plan");
  add_text(&cmd, "--against PLAN", &view.against, "print the differences to this plan");
  add_switch(&cmd, "--text", &view.text,
             "print every step, too, states of the optimizer, memory by purpose");
  add_switch(&cmd, "--unity", &view.unity,
             "write exchanges as Partition, Combine, Replicate, Reduce");
  add_text(
      &cmd, "--machine NAME", &view.machine,
      "compute the costs again, for this machine (for instance after editing the plan)");
  offer_words(&cmd, MACHINE_WORDS);
  cmd.modes = MODEL;
  add_rule_flags(&cmd, &flags.rules);
  cmd.modes = PLAN | MODEL;
  add_cost_flags(&cmd, &flags.costs);
  cmd.modes = MODEL;
  add_search_flags(&cmd, &flags.search);
  cmd.modes = PLAN | MODEL;
  add_heading(&cmd, "Output");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(models, &cmd, argc, argv);
  view.json = flags.json;
  view.costs = &flags.costs;
  // A plan file is read, and priced if a machine is named; only egraph plan makes plans.
  if (is_plan_file(models.items[0]))
    return given_flags_matter(&cmd, &models, PLAN, "a plan that is there",
                              "give it to egraph plan")
               ? explain_plan_file(models.items[0], &view)
               : EXIT_USAGE;
  if (view.against != NULL || view.machine != NULL || view.text || view.unity)
    return refuse(
        "%s is no plan (.json); --against, --machine, --text and --unity are of plans",
        models.items[0]);
  optimize_session session;
  egraph_status status = explain_model(&flags, models.items[0], &session);
  return optimize_finish(&session, status);
}
