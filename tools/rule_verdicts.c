// Verifies rules and says one word of each: proved, tested, holds as another class, holds
// if a condition is added, refuted; or untested, where no instance was found.
// SPDX-License-Identifier: Apache-2.0
#include "tools/rule_verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/console.h"

/// Results about a rule from before it is verified.
typedef struct finding {
  char *rule, *guard; // guard: of a rule that does not hold; NULL: none was found
  bool is_proved;
} finding;

typedef struct verdicts {
  finding *rows;
  size_t count;
  bool has_failed; // to keep a row
  uint32_t accepted, rejected;
  bool json;
} verdicts;

// ---- proofs and guards ----------------------------------------------------------------

static char *copy_text(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = malloc(size);
  if (copy != NULL) memcpy(copy, text, size);
  return copy;
}

static finding *finding_of(verdicts *all, const char *rule) {
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->rows[i].rule, rule) == 0) return &all->rows[i];
  finding *rows = realloc(all->rows, (all->count + 1) * sizeof *rows);
  char *name = copy_text(rule);
  if (rows != NULL) all->rows = rows;
  if (rows == NULL || name == NULL) {
    free(name);
    all->has_failed = true;
    return NULL;
  }
  rows[all->count] = (finding){.rule = name};
  return &rows[all->count++];
}

static void on_proof(void *user, const egraph_rule_proof *proof) {
  progress_line("prove", proof->rule);
  if (!proof->is_proved) return;
  finding *row = finding_of(user, proof->rule);
  if (row != NULL) row->is_proved = true;
}

static void on_guard(void *user, const egraph_rule_guard *guard) {
  verdicts *all = user;
  progress_line("guards", guard->rule);
  if (strcmp(guard->outcome, "holds-if") != 0) return;
  finding *row = finding_of(all, guard->rule);
  if (row == NULL) return;
  row->guard = copy_text(guard->guard);
  all->has_failed = all->has_failed || row->guard == NULL;
}

// ---- the verdict ----------------------------------------------------------------------

static const finding *find(const verdicts *all, const char *rule) {
  static const finding none = {.rule = NULL};
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->rows[i].rule, rule) == 0) return &all->rows[i];
  return &none;
}

static bool is_guarded(const egraph_rule_evidence *evidence, const finding *found) {
  return found->guard != NULL && !evidence->is_accepted;
}

/// A proof is about numbers: what is proved and of another class than it declares holds
/// as that.
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

/// Classes without an instance, one line for each reason.
static void print_missing(const egraph_rule_evidence *evidence) {
  const egraph_rule_class *classes = evidence->classes;
  for (uint32_t i = 0; i < evidence->class_count; i++) {
    const char *reason = classes[i].reason != NULL ? classes[i].reason : "not drawn";
    bool is_first = classes[i].instances == 0;
    for (uint32_t k = 0; k < i && is_first; k++)
      is_first = classes[k].instances != 0 ||
                 strcmp(reason,
                        classes[k].reason != NULL ? classes[k].reason : "not drawn") != 0;
    if (!is_first) continue;
    printf("  not reached, %s:", reason);
    const char *comma = " ";
    for (uint32_t k = i; k < evidence->class_count; k++) {
      const char *own = classes[k].reason != NULL ? classes[k].reason : "not drawn";
      if (classes[k].instances != 0 || strcmp(own, reason) != 0) continue;
      printf("%s%s", comma, classes[k].name);
      comma = ", ";
    }
    printf("\n");
  }
}

static void json_rank_runs(const egraph_rule_evidence *evidence) {
  json_open("rank_runs", '[');
  for (uint32_t i = 0; i < evidence->rank_run_count; i++) {
    json_open(NULL, '{');
    json_int("ranks", evidence->rank_runs[i].ranks);
    json_int("forward", evidence->rank_runs[i].forward);
    json_int("backward", evidence->rank_runs[i].backward);
    json_close('}');
  }
  json_close(']');
  if (evidence->no_backward != NULL) json_text("no_backward", evidence->no_backward);
}

static void json_evidence(const egraph_rule_evidence *evidence, const finding *found) {
  json_open(NULL, '{');
  json_text("name", evidence->rule);
  json_bool("accepted", evidence->is_accepted);
  json_text("verdict", verdict_of(evidence, found));
  json_text("class", egraph_math_name(evidence->math));
  if (is_guarded(evidence, found)) json_text("guard", found->guard);
  json_text("detail", evidence->detail);
  json_int("instances", evidence->instances);
  json_int("exact", evidence->exact);
  json_int("reached", evidence->reached);
  json_int("largest_rank", evidence->largest_rank);
  json_int("largest_dim", (uint64_t)evidence->largest_dim);
  json_open("classes", '[');
  for (uint32_t i = 0; i < evidence->class_count; i++) {
    json_open(NULL, '{');
    json_text("name", evidence->classes[i].name);
    json_int("instances", evidence->classes[i].instances);
    if (evidence->classes[i].reason != NULL)
      json_text("reason", evidence->classes[i].reason);
    json_close('}');
  }
  json_close(']');
  if (evidence->rank_run_count != 0) json_rank_runs(evidence);
  json_close('}');
}

static void on_verified(void *user, const egraph_rule_evidence *evidence) {
  verdicts *all = user;
  const finding *found = find(all, evidence->rule);
  *(evidence->is_accepted ? &all->accepted : &all->rejected) += 1;
  if (all->json) {
    json_evidence(evidence, found);
  } else {
    print_verdict(evidence, found);
    if (evidence->is_accepted) print_missing(evidence);
  }
  progress_line("verify", evidence->rule);
}

static egraph_status verify(const egraph_rules *rules, uint64_t seed, verdicts *all,
                            uint32_t *rejected) {
  if (all->json) {
    json_begin();
    json_int("rules", egraph_rules_count(rules));
    json_int("implied", egraph_rules_implied_count(rules));
    json_open("evidence", '[');
  }
  egraph_status status = egraph_rules_examine(rules, seed, on_verified, all, rejected);
  progress_clear();
  if (all->json) {
    json_close(']');
    json_int("accepted", all->accepted);
    json_int("rejected", all->rejected);
    json_end();
  } else if (status == EGRAPH_OK) {
    printf("%u accepted, %u rejected\n", all->accepted, all->rejected);
  }
  return status;
}

egraph_status print_verdicts(const egraph_rules *rules, uint64_t seed, bool proves,
                             bool guards, bool json, uint32_t *out_rejected) {
  verdicts all = {.json = json};
  uint32_t proved = 0;
  egraph_status status = EGRAPH_OK;
  if (proves) status = egraph_rules_prove(rules, on_proof, &all, &proved);
  if (status == EGRAPH_OK && guards)
    status = egraph_rules_guards(rules, seed, on_guard, &all);
  progress_clear();
  if (all.has_failed) status = EGRAPH_E_MEMORY;
  if (status == EGRAPH_OK) status = verify(rules, seed, &all, out_rejected);
  for (size_t i = 0; i < all.count; i++) {
    free(all.rows[i].rule);
    free(all.rows[i].guard);
  }
  free(all.rows);
  return status;
}
