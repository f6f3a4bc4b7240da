// Substitutions over tensors (TASO, Tensat).
//
// First the rule is tried as its file has it. If it does not hold, guards of a closed
// list are tried, weakest first, one by one and in pairs, then general guards
// (rewrites/lab/guards). A rule that holds is generalized: one attribute after the other
// becomes a variable, if the rule still holds then.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "rewrites/lab/guards/guards.h"
#include "rewrites/lab/import/import_internal.h"
#include "rewrites/lab/import/tensor_form.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"

#include <inttypes.h>
#include <stdio.h>

// NAMED_GUARDS: guards that are tried in pairs. GUARD_INSTANCES: instances on which a
// guard is found. At least one of GUARD_SHARE instances must satisfy the guard.
enum { NAMED_GUARDS = 16, GUARD_INSTANCES = 24, GUARD_SHARE = 4 };

typedef struct attempt {
  eg_importer *in;
  eg_tensor_form form;
  eg_text why;       // why the first trial does not hold
  eg_text condition; // text of form.condition
  eg_import_trial base;
} attempt;

EG_OWNER_DEFINE_STATIC(attempt, (eg_text, why, condition))

// ---- trials ---------------------------------------------------------------------------

static bool is_guarded(const attempt *a) {
  return a->form.guard_count != 0 || a->form.condition != NULL;
}

static egraph_status write_guards(const attempt *a, eg_text *out) {
  for (uint32_t i = 0; i < a->form.guard_count; i++)
    eg_guard_write(&a->form, &a->form.guards[i], out);
  if (a->form.condition != NULL) eg_text_printf(out, " %s", a->form.condition);
  return eg_text_status(out);
}

/// Writes the rule, with a source such as
/// "Tensat (MLSys'21), file.txt, substitution 17; holds if (= ?g0 1)".
static egraph_status write_form(attempt *a, const char **out_fault) {
  const eg_importer *in = a->in;
  const char *name = in->path;
  for (const char *c = in->path; *c != '\0'; c++)
    if (*c == '/') name = c + 1;
  EG_LOCAL(eg_text, source, in->alloc);
  eg_text_print_names(&source, "%s, %s, substitution %" PRIu32,
                      eg_subst_origin_words(in->file->origin), name, in->number);
  if (is_guarded(a)) eg_text_append(&source, "; holds if");
  EG_TRY(write_guards(a, &source));
  return eg_tensor_form_write(&a->form, in->name, eg_text_of(&source), &a->in->text,
                              out_fault);
}

static egraph_status try_form(attempt *a, uint32_t instances, uint64_t seed,
                              eg_import_trial *out) {
  const char *fault;
  EG_TRY(write_form(a, &fault));
  if (fault == NULL) return eg_import_try(a->in, instances, seed, out, NULL);
  *out = EG_TRIAL_NO_RULE;
  return eg_import_decide(a->in, EG_IMPORT_FOREIGN, fault);
}

// ---- guards ---------------------------------------------------------------------------

/// Tests the rule with its guard on few instances, then confirms it on many.
static egraph_status holds_guarded(attempt *a, bool *out) {
  eg_import_trial trial;
  EG_TRY(try_form(a, GUARD_INSTANCES, 1, &trial));
  for (uint64_t seed = 2; trial == EG_TRIAL_HOLDS && seed < 4; seed++)
    EG_TRY(try_form(a, EG_VERIFY_INSTANCES, seed, &trial));
  *out = trial == EG_TRIAL_HOLDS;
  return EGRAPH_OK;
}

/// Accepts guards except those on tensors filled with one number: rules of these files
/// are about shapes.
static egraph_status is_of_shapes(void *user, const char *guard, bool *out) {
  (void)user;
  *out = strstr(guard, "(splat") == NULL;
  return EGRAPH_OK;
}

/// Finds a condition under which the current form of the rule holds, in the general list
/// of rewrites/lab/guards.
static egraph_status find_condition(attempt *a, bool *out_found) {
  eg_importer *in = a->in;
  const char *fault;
  EG_LOCAL(eg_rules_own, rules, in->alloc);
  *out_found = false;
  EG_TRY(write_form(a, &fault));
  if (fault != NULL) return EGRAPH_OK;
  EG_TRY(eg_rules_try_text(in->alloc, "import", &in->text, &rules));
  if (rules != NULL)
    EG_TRY(eg_guard_find(
        in->alloc, eg_rules_at(rules, 0),
        &(eg_guard_search){.seed = 1, .share = GUARD_SHARE, .wants = is_of_shapes},
        &a->condition, out_found));
  if (*out_found) a->form.condition = eg_text_of(&a->condition);
  return EGRAPH_OK;
}

static egraph_status find_form_guard(attempt *a, bool *out_found) {
  eg_guard guards[EG_FORM_GUARDS];
  uint32_t count = eg_tensor_form_guards(&a->form, guards);
  a->form.guard_count = 1;
  for (uint32_t i = 0; i < count; i++) {
    a->form.guards[0] = guards[i];
    EG_TRY(holds_guarded(a, out_found));
    if (*out_found) return EGRAPH_OK;
  }
  a->form.guard_count = 2;
  for (uint32_t i = 0; i < count && i < NAMED_GUARDS; i++)
    for (uint32_t k = i + 1; k < count && k < NAMED_GUARDS; k++) {
      a->form.guards[0] = guards[i];
      a->form.guards[1] = guards[k];
      EG_TRY(holds_guarded(a, out_found));
      if (*out_found) return EGRAPH_OK;
    }
  a->form.guard_count = 0;
  return find_condition(a, out_found);
}

// ---- freedoms -------------------------------------------------------------------------

static egraph_status generalize(attempt *a, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    uint32_t before = a->form.freedoms;
    bool is_done = i == EG_FREE_AXIS_END && (before >> EG_FREE_AXIS & 1) != 0;
    if ((a->form.possible >> i & 1) == 0 || is_done) continue;
    eg_import_trial trial;
    a->form.freedoms = before | UINT32_C(1) << i;
    EG_TRY(try_form(a, EG_VERIFY_INSTANCES, 1, &trial));
    if (trial != EG_TRIAL_HOLDS) a->form.freedoms = before;
  }
  return EGRAPH_OK;
}

/// Finds the strictest class (exact, associative, fast) in which the rule holds, and
/// writes the rule with that class.
static egraph_status find_class(attempt *a, eg_import_trial *out) {
  static const egraph_math classes[] = {EGRAPH_MATH_EXACT, EGRAPH_MATH_ASSOCIATIVE,
                                        EGRAPH_MATH_FAST};
  *out = EG_TRIAL_DIFFERENT;
  for (uint32_t i = 0; i < 3 && *out != EG_TRIAL_HOLDS; i++) {
    a->form.math = classes[i];
    for (uint64_t seed = 1; seed < 3 && (seed == 1 || *out == EG_TRIAL_HOLDS); seed++)
      EG_TRY(try_form(a, EG_VERIFY_INSTANCES, seed, out));
  }
  return EGRAPH_OK;
}

// ---- verdicts -------------------------------------------------------------------------

static egraph_status describe_form(attempt *a, eg_text *out) {
  EG_TRY(write_guards(a, out));
  const char *comma = is_guarded(a) ? "; " : "";
  for (uint32_t i = 0; i < EG_FREEDOMS; i++) {
    if ((a->form.freedoms >> i & 1) == 0) continue;
    eg_text_printf(out, "%s%s", comma, eg_freedom_words((eg_freedom)i));
    comma = ", ";
  }
  return eg_text_status(out);
}

/// Checks whether other rules imply this rule with only the first attributes generalized.
static egraph_status check_implied(attempt *a, eg_implied *out, eg_text *names) {
  EG_LOCAL(eg_rules_own, trial, a->in->alloc);
  eg_import_trial held;
  const char *fault;
  *out = EG_IMPLIED_NOT;
  EG_TRY(write_form(a, &fault));
  if (fault != NULL) return EGRAPH_OK;
  EG_TRY(eg_import_try(a->in, EG_IMPORT_INSTANCES, 1, &held, &trial));
  if (trial == NULL || eg_rules_count(trial) == 0) return EGRAPH_OK;
  return eg_implied_check(&a->in->checker, eg_rules_at(trial, 0), out, names);
}

static egraph_status report_implied(attempt *a, eg_implied how, const char *names) {
  eg_importer *in = a->in;
  in->outcome = EG_IMPORT_IMPLIED;
  eg_text_clear(&in->detail);
  eg_text_printf(&in->detail, "%s: %s", eg_implied_words(how),
                 names[0] != '\0' ? names : "the same term");
  if (a->form.guard_count == 0) return eg_text_status(&in->detail);
  eg_text_append(&in->detail, "; holds if");
  return describe_form(a, &in->detail);
}

static egraph_status add_general(attempt *a) {
  eg_importer *in = a->in;
  eg_import_trial trial;
  EG_TRY(generalize(a, EG_FREE_STRIDE, EG_FREEDOMS));
  EG_TRY(find_class(a, &trial));
  if (trial != EG_TRIAL_HOLDS) { // a freedom was accepted too early
    a->form.freedoms = 0;
    EG_TRY(find_class(a, &trial));
  }
  if (trial != EG_TRIAL_HOLDS) {
    in->outcome = EG_IMPORT_REFUTED;
    return EGRAPH_OK;
  }
  EG_TRY(eg_import_add(in, is_guarded(a) ? EG_IMPORT_GUARDED : EG_IMPORT_TESTED));
  if (in->outcome != EG_IMPORT_GUARDED && in->outcome != EG_IMPORT_TESTED)
    return EGRAPH_OK;
  eg_text_clear(&in->detail);
  return describe_form(a, &in->detail);
}

static egraph_status judge_true(attempt *a) {
  eg_implied how;
  EG_LOCAL(eg_text, names, a->in->alloc);
  EG_TRY(generalize(a, 0, EG_FREE_STRIDE));
  EG_TRY(check_implied(a, &how, &names));
  return how == EG_IMPLIED_NOT ? add_general(a)
                               : report_implied(a, how, eg_text_of(&names));
}

egraph_status eg_import_tensors(eg_importer *in) {
  char buffer[96];
  bool found = false;
  EG_LOCAL(attempt, a, in->alloc);
  a.in = in;
  const char *fault = eg_tensor_form_read(in->subst, &a.form, buffer);
  if (fault != NULL) return eg_import_decide(in, EG_IMPORT_FOREIGN, fault);
  EG_TRY(try_form(&a, EG_VERIFY_INSTANCES, 1, &a.base));
  if (a.base == EG_TRIAL_NO_INSTANCES && eg_tensor_form_flip(&a.form))
    EG_TRY(try_form(&a, EG_VERIFY_INSTANCES, 1, &a.base)); // the other way may hold
  if (a.base == EG_TRIAL_HOLDS) return judge_true(&a);
  EG_TRY(eg_text_append(&a.why, eg_text_of(&in->detail)));
  if (a.base != EG_TRIAL_DIFFERENT)
    return eg_import_decide(in, EG_IMPORT_FOREIGN, eg_text_of(&a.why));
  EG_TRY(find_form_guard(&a, &found));
  if (found) return judge_true(&a);
  return eg_import_decide(in, EG_IMPORT_REFUTED, eg_text_of(&a.why));
}
