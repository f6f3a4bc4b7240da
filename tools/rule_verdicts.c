// Verifies rules and prints a verdict for each: proved, tested, holds as another class,
// holds if a condition is added, refuted, or untested when no instance was found.
// SPDX-License-Identifier: Apache-2.0
#include "tools/rule_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/console.h"
#include "tools/lists.h"

/// Results about a rule that were found before it is verified: a proof, a guard.
typedef struct finding {
  char *rule, *guard; // guard: for a rule that does not hold; NULL: none was found
  bool is_proved;
} finding;

typedef struct verdicts {
  finding *rows;
  size_t count, room;
  uint32_t accepted, rejected;
  bool json;
} verdicts;

// ---- proofs and guards ----------------------------------------------------------------

/// Finds the earlier results about a rule; NULL: there are none.
static finding *find_row(const verdicts *all, const char *rule) {
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->rows[i].rule, rule) == 0) return &all->rows[i];
  return NULL;
}

static finding *finding_of(verdicts *all, const char *rule) {
  finding *row = find_row(all, rule);
  if (row != NULL) return row;
  all->rows = list_grow(all->rows, all->count, &all->room, sizeof *all->rows);
  all->rows[all->count] = (finding){.rule = text_copy(rule, strlen(rule))};
  return &all->rows[all->count++];
}

static void on_proof(void *user, const egraph_rule_proof *proof) {
  (void)progress_line("prove", "%s", proof->rule);
  if (proof->is_proved) finding_of(user, proof->rule)->is_proved = true;
}

static void on_guard(void *user, const egraph_rule_guard *guard) {
  (void)progress_line("guards", "%s", guard->rule);
  if (strcmp(guard->outcome, "holds-if") == 0)
    finding_of(user, guard->rule)->guard = text_copy(guard->guard, strlen(guard->guard));
}

// ---- the verdict ----------------------------------------------------------------------

static bool is_guarded(const egraph_rule_evidence *evidence, const finding *found) {
  return found->guard != NULL && !evidence->is_accepted;
}

/// Returns the verdict on a rule. A proof is about real numbers; therefore "proved" also
/// requires that the rule is in its declared class.
static const char *verdict_of(const egraph_rule_evidence *evidence,
                              const finding *found) {
  if (evidence->is_accepted && found->is_proved) return "proved";
  return is_guarded(evidence, found) ? "holds-if" : evidence->verdict;
}

static void print_verdict(const egraph_rule_evidence *evidence, const finding *found) {
  const char *word = verdict_of(evidence, found);
  if (strcmp(word, "holds-as") == 0)
    show(stdout, "holds as class %s", egraph_math_name(evidence->math));
  else if (strcmp(word, "holds-if") == 0)
    show(stdout, "holds if %s", found->guard);
  else
    show(stdout, "%s", word);
  show(stdout, "  %s: %s\n", evidence->rule, evidence->detail);
}

static const char *reason_of(const egraph_rule_class *class) {
  return class->reason != NULL ? class->reason : "not drawn";
}

/// Prints the instance classes in which a rule was not compared, a line per reason.
static void print_missing(const egraph_rule_evidence *evidence) {
  const egraph_rule_class *classes = evidence->classes;
  for (uint32_t i = 0; i < evidence->class_count; i++) {
    const char *reason = reason_of(&classes[i]), *comma = " ";
    bool is_first = classes[i].instances == 0;
    for (uint32_t k = 0; k < i && is_first; k++)
      is_first = classes[k].instances != 0 || strcmp(reason, reason_of(&classes[k])) != 0;
    if (!is_first) continue;
    printf("  not reached, %s:", reason);
    for (uint32_t k = i; k < evidence->class_count; k++) {
      if (classes[k].instances != 0 || strcmp(reason, reason_of(&classes[k])) != 0)
        continue;
      printf("%s%s", comma, classes[k].name);
      comma = ", ";
    }
    printf("\n");
  }
}

static void json_rank_runs(const egraph_rule_evidence *evidence) {
  JSON_EACH("rank_runs", i, evidence->rank_run_count)
    JSON_OBJECT(NULL, JSON("ranks", evidence->rank_runs[i].ranks),
                JSON("forward", evidence->rank_runs[i].forward),
                JSON("backward", evidence->rank_runs[i].backward));
  json_text("no_backward", evidence->no_backward);
}

static void json_evidence(const egraph_rule_evidence *e, const finding *found) {
  json_open(NULL, '{');
  JSON_MEMBERS(
      JSON("name", e->rule), JSON("accepted", e->is_accepted),
      JSON("verdict", verdict_of(e, found)), JSON("class", egraph_math_name(e->math)),
      JSON("guard", is_guarded(e, found) ? found->guard : NULL),
      JSON("detail", e->detail), JSON("instances", e->instances), JSON("exact", e->exact),
      JSON("reached", e->reached), JSON("largest_rank", e->largest_rank),
      JSON("largest_dim", (uint64_t)e->largest_dim));
  JSON_EACH("classes", i, e->class_count)
    JSON_OBJECT(NULL, JSON("name", e->classes[i].name),
                JSON("instances", e->classes[i].instances),
                JSON("reason", e->classes[i].reason));
  if (e->rank_run_count != 0) json_rank_runs(e);
  json_close('}');
}

static void on_verified(void *user, const egraph_rule_evidence *evidence) {
  static const finding none = {.rule = NULL};
  verdicts *all = user;
  const finding *row = find_row(all, evidence->rule), *found = row != NULL ? row : &none;
  *(evidence->is_accepted ? &all->accepted : &all->rejected) += 1;
  if (all->json) {
    json_evidence(evidence, found);
  } else {
    print_verdict(evidence, found);
    if (evidence->is_accepted) print_missing(evidence);
  }
  (void)progress_line("verify", "%s", evidence->rule);
}

static egraph_status verify(rule_request *request, verdicts *all) {
  const egraph_rules *rules = request->rules;
  uint32_t rejected = 0;
  if (all->json) {
    JSON_BEGIN(JSON("rules", egraph_rules_count(rules)),
               JSON("implied", egraph_rules_implied_count(rules)));
    json_open("evidence", '[');
  }
  egraph_status status =
      egraph_rules_examine(rules, request->seed, on_verified, all, &rejected);
  progress_clear();
  request->has_failed = rejected != 0;
  if (all->json)
    JSON_END_LIST(JSON("accepted", all->accepted), JSON("rejected", all->rejected));
  else if (status == EGRAPH_OK)
    printf("%u accepted, %u rejected\n", all->accepted, all->rejected);
  return status;
}

egraph_status print_verdicts(rule_request *request) {
  verdicts all = {.json = request->json};
  uint32_t proved = 0;
  egraph_status status = EGRAPH_OK;
  if (request->proves)
    status = egraph_rules_prove(request->rules, on_proof, &all, &proved);
  if (status == EGRAPH_OK && request->guards)
    status = egraph_rules_guards(request->rules, request->seed, on_guard, &all);
  progress_clear();
  if (status == EGRAPH_OK) status = verify(request, &all);
  for (size_t i = 0; i < all.count; i++) {
    free(all.rows[i].rule);
    free(all.rows[i].guard);
  }
  free(all.rows);
  return status;
}
