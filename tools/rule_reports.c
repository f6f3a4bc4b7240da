// SPDX-License-Identifier: Apache-2.0
#include "tools/rule_reports.h"

#include <stdio.h>
#include <string.h>

#include "tools/console.h"
#include "tools/tensor_files.h"

/// Counts of one report on rules, shared by its callbacks.
typedef struct report {
  rule_request *request;
  uint32_t all, proved, written;
  uint32_t guards[4]; // counts by outcome
} report;

static report begin_report(rule_request *request, const char *key) {
  if (request->json) json_begin_list(key);
  return (report){.request = request};
}

// ---- proofs -----------------------------------------------------------------------

static void on_proof(void *user, const egraph_rule_proof *proof) {
  report *r = user;
  r->all++;
  (void)progress_line("prove", "%s", proof->rule);
  if (r->request->json)
    JSON_OBJECT(NULL, JSON("name", proof->rule), JSON("proved", proof->is_proved),
                JSON("reason", proof->is_proved ? NULL : proof->reason),
                JSON("cases", proof->cases), JSON("ranks", proof->ranks));
  else if (proof->is_proved)
    show(stdout, "proved for all sizes  %s: %u cases of ranks, axes and flags\n",
         proof->rule, proof->cases);
  else
    show(stdout, "not proved            %s: %s\n", proof->rule, proof->reason);
}

egraph_status print_proofs(rule_request *request) {
  report r = begin_report(request, "proofs");
  egraph_status status = egraph_rules_prove(request->rules, on_proof, &r, &r.proved);
  progress_clear();
  if (request->json)
    JSON_END_LIST(JSON("rules", r.all), JSON("proved", r.proved));
  else if (status == EGRAPH_OK)
    printf("%u of %u rules proved for all sizes; none was tested (--verify does)\n",
           r.proved, r.all);
  return status;
}

static void on_derivation(void *user, const egraph_rule_derivation *d) {
  report *r = user;
  r->all++;
  r->proved += d->is_proved;
  (void)progress_line("derive", "%s", d->rule);
  if (r->request->json) {
    json_open(NULL, '{');
    JSON_MEMBERS(JSON("name", d->rule), JSON("proved", d->is_proved),
                 JSON("derived", d->is_derived));
    if (d->is_derived)
      JSON_MEMBERS(JSON("from", d->from), JSON("instances", d->instances),
                   JSON("steps", d->steps));
    else if (!d->is_proved)
      json_text("reason", d->reason);
    json_close('}');
  } else if (d->is_proved) {
    show(stdout, "proved for all sizes  %s\n", d->rule);
  } else if (d->is_derived) {
    show(stdout, "derived               %s: %u instances, %u steps, from %s\n", d->rule,
         d->instances, d->steps, d->from);
  } else {
    show(stdout, "neither               %s: %s\n", d->rule, d->reason);
  }
}

egraph_status print_derivations(rule_request *request) {
  report r = begin_report(request, "derivations");
  uint32_t derived = 0;
  egraph_status status =
      egraph_rules_derive(request->rules, request->seed, on_derivation, &r, &derived);
  progress_clear();
  if (request->json)
    JSON_END_LIST(JSON("rules", r.all), JSON("proved", r.proved),
                  JSON("derived", derived));
  else if (status == EGRAPH_OK)
    printf("%u of %u rules proved for all sizes, %u derived from them at instances\n",
           r.proved, r.all, derived);
  return status;
}

// ---- questions for a solver -------------------------------------------------------

/// Writes a script to a file with the name of its rule.
static bool write_script(const char *folder, const egraph_rule_question *question) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/%s.smt2", folder, question->rule);
  if (length > 0 && (size_t)length < sizeof path)
    return tensor_write(path, question->script, strlen(question->script));
  return complain_of("the path of '%s' is too long", question->rule);
}

static void on_question(void *user, const egraph_rule_question *question) {
  report *r = user;
  rule_request *request = r->request;
  r->all++;
  (void)progress_line("write", "%s", question->rule);
  if (question->script != NULL && !request->has_failed) {
    request->has_failed = !write_script(request->folder, question);
    r->written += !request->has_failed;
  }
  const char *reason = question->reason;
  if (request->json)
    JSON_OBJECT(NULL, JSON("name", question->rule),
                JSON("asked", (bool)(question->script != NULL)),
                JSON("decisive", question->is_decisive),
                JSON("reason", reason[0] != '\0' ? reason : NULL));
  else if (question->script == NULL)
    show(stdout, "not asked  %s: %s\n", question->rule, reason);
  else
    show(stdout, "asked      %s%s%s\n", question->rule, question->is_decisive ? "" : ": ",
         reason);
}

egraph_status write_questions(rule_request *request) {
  report r = begin_report(request, "questions");
  egraph_status status = egraph_rules_smt(request->rules, request->seed, on_question, &r);
  progress_clear();
  if (request->json)
    JSON_END_LIST(JSON("rules", r.all), JSON("asked", r.written));
  else if (status == EGRAPH_OK)
    show(stdout, "%u of %u rules asked in files of %s\n", r.written, r.all,
         request->folder);
  return status;
}

// ---- guards -----------------------------------------------------------------------

// Outcomes in the order of the summary.
static const char *const outcomes[] = {"holds", "weaker", "holds-if", "refuted"};
enum { OUTCOMES = sizeof outcomes / sizeof *outcomes };

static void on_guard(void *user, const egraph_rule_guard *guard) {
  report *r = user;
  for (uint32_t i = 0; i < OUTCOMES; i++)
    r->guards[i] += strcmp(guard->outcome, outcomes[i]) == 0;
  (void)progress_line("guards", "%s", guard->rule);
  if (r->request->json)
    JSON_OBJECT(NULL, JSON("rule", guard->rule), JSON("outcome", guard->outcome),
                JSON("guard", guard->guard), JSON("detail", guard->detail));
  else
    show(stdout, "%-8s  %s%s%s\n", guard->outcome, guard->rule,
         guard->detail[0] != '\0' ? ": " : "", guard->detail);
}

egraph_status print_guards(rule_request *request) {
  report r = begin_report(request, "guards");
  egraph_status status = egraph_rules_guards(request->rules, request->seed, on_guard, &r);
  progress_clear();
  if (request->json) json_close(']');
  for (uint32_t i = 0; i < OUTCOMES && status == EGRAPH_OK; i++)
    if (request->json)
      json_int(outcomes[i], r.guards[i]);
    else
      printf("%u %s%s", r.guards[i], outcomes[i], i + 1 < OUTCOMES ? ", " : "\n");
  if (request->json) json_end();
  request->has_failed = r.guards[2] + r.guards[3] != 0; // holds-if, refuted
  return status;
}
