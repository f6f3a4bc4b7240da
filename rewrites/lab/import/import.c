// A substitution is written as the text of a rule and read back, so that it passes the
// checks of any other.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/import.h"

#include <inttypes.h>
#include <stdio.h>

#include "rewrites/lab/import/canonical.h"
#include "rewrites/lab/import/import_internal.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_ast.h"

enum { MAX_FILE_BYTES = 16 << 20 };

static const char *const outcome_names[EG_IMPORT_OUTCOMES] = {
#define OUTCOME_NAME(id, words) [id] = words,
    EG_IMPORT_LIST(OUTCOME_NAME)
#undef OUTCOME_NAME
};

const char *eg_import_outcome_name(eg_import_outcome outcome) {
  return outcome_names[outcome];
}

// ---- trials ---------------------------------------------------------------------------

typedef struct verdict {
  eg_importer *in;
  bool is_rejected;
  egraph_status status;
} verdict;

static void on_verified(void *user, const char *rule, bool accepted, const char *detail) {
  verdict *v = user;
  (void)rule;
  if (accepted || v->is_rejected) return;
  v->is_rejected = true;
  eg_text_clear(&v->in->detail);
  v->status = eg_text_append(&v->in->detail, detail);
}

static egraph_status verify(eg_importer *in, const eg_rules *trial, uint32_t instances,
                            uint64_t seed, eg_import_trial *out) {
  verdict v = {.in = in};
  eg_verify_options options = {.seed = seed, .instances = instances};
  uint32_t rejected;
  *out = EG_TRIAL_HOLDS;
  if (eg_rules_count(trial) == 0) return EGRAPH_OK; // layouts imply it
  EG_TRY(eg_rules_verify(trial, &options, on_verified, &v, NULL));
  EG_TRY(v.status);
  if (!v.is_rejected) return EGRAPH_OK;
  options.is_loading = true; // then too few instances are no reason
  EG_TRY(eg_rules_verify(trial, &options, NULL, NULL, &rejected));
  *out = rejected != 0 ? EG_TRIAL_DIFFERENT : EG_TRIAL_NO_INSTANCES;
  return EGRAPH_OK;
}

static egraph_status parse(const eg_importer *in, const char *file, eg_rules *rules) {
  return eg_rules_parse(rules, file, eg_text_of(&in->text), in->text.chars.len);
}

static egraph_status try_text(eg_importer *in, uint32_t instances, uint64_t seed,
                              eg_rules *trial, eg_import_trial *out) {
  egraph_status status = parse(in, "translated", trial);
  if (status != EGRAPH_E_PARSE)
    return status == EGRAPH_OK ? verify(in, trial, instances, seed, out) : status;
  *out = EG_TRIAL_NO_RULE;
  eg_text_clear(&in->detail);
  return eg_text_append(&in->detail, egraph_last_error());
}

egraph_status eg_import_try(eg_importer *in, uint32_t instances, uint64_t seed,
                            eg_import_trial *out, eg_rules **out_trial) {
  eg_rules *trial;
  EG_TRY(eg_rules_create_checked(&in->alloc, &trial));
  egraph_status status = try_text(in, instances, seed, trial, out);
  if (out_trial != NULL && status == EGRAPH_OK && *out == EG_TRIAL_HOLDS)
    *out_trial = trial;
  else
    eg_rules_destroy(trial);
  return status;
}

egraph_status eg_import_decide(eg_importer *in, eg_import_outcome outcome,
                               const char *detail) {
  in->outcome = outcome;
  eg_text_clear(&in->detail);
  return eg_text_append(&in->detail, detail);
}

/// It has been read once: only another rule can be in the way.
egraph_status eg_import_add(eg_importer *in, eg_import_outcome outcome) {
  uint32_t count = eg_rules_count(in->rules), implied = eg_rules_implied_count(in->rules);
  bool verified = eg_rules_set_verified(in->rules, false); // the trial was
  egraph_status status = parse(in, in->path, in->rules);
  (void)eg_rules_set_verified(in->rules, verified);
  if (status == EGRAPH_E_PARSE)
    return eg_import_decide(in, EG_IMPORT_DUPLICATE, egraph_last_error());
  EG_TRY(status);
  in->outcome = outcome;
  if (eg_rules_count(in->rules) > count) return EGRAPH_OK;
  const eg_rule *rule = eg_rules_implied_count(in->rules) > implied
                            ? eg_rules_implied_at(in->rules, implied)
                            : NULL;
  if (rule != NULL && rule->implied)
    return eg_import_decide(in, EG_IMPORT_IMPLIED, "by layouts");
  EG_TRY(eg_import_decide(in, EG_IMPORT_DUPLICATE, "of rule "));
  return eg_text_append(&in->detail, rule != NULL ? rule->known_as : "");
}

// ---- one substitution -----------------------------------------------------------------

static bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/// "taso-graph-subst-17": whose file, its stem, the number. Unity's has been published in
/// one file alone.
static void make_name(eg_importer *in) {
  const char *prefix = eg_subst_origin_prefix(in->file->origin), *slash = in->path;
  char stem[48];
  size_t length = 0;
  for (const char *c = in->path; *c != '\0'; c++)
    if (*c == '/') slash = c + 1;
  for (const char *c = slash; *c != '\0' && *c != '.' && length + 2 < sizeof stem; c++)
    if (is_word_character(lower(*c)))
      stem[length++] = lower(*c);
    else if (length != 0 && stem[length - 1] != '-')
      stem[length++] = '-';
  while (length != 0 && stem[length - 1] == '-')
    length--;
  stem[length] = '\0';
  bool is_said = length == 0 || in->file->origin == EG_SUBST_FROM_UNITY;
  bool has_prefix = !is_said && strncmp(stem, prefix, strlen(prefix)) == 0;
  (void)snprintf(in->name, sizeof in->name, "%s%s%s-%" PRIu32, has_prefix ? "" : prefix,
                 is_said || has_prefix ? "" : "-", is_said ? "" : stem, in->number);
}

static egraph_status is_duplicate(eg_importer *in, bool *out) {
  uint32_t first;
  *out = false;
  EG_TRY(eg_subst_canonical(in->subst, in->alloc, &in->text));
  const char *text = eg_text_of(&in->text);
  if (text[0] == '\0') return EGRAPH_OK;
  if (!eg_strmap_find(&in->known, text, &first))
    return eg_strmap_put(&in->known, text, in->number);
  *out = true;
  in->outcome = EG_IMPORT_DUPLICATE;
  eg_text_clear(&in->detail);
  return eg_text_printf(&in->detail, "of %" PRIu32, first);
}

static egraph_status import_one(eg_importer *in) {
  bool is_known;
  eg_text_clear(&in->detail);
  make_name(in);
  EG_TRY(is_duplicate(in, &is_known));
  if (is_known) return EGRAPH_OK;
  return in->file->origin == EG_SUBST_FROM_UNITY ? eg_import_unity(in)
                                                 : eg_import_tensors(in);
}

static egraph_status import_all(eg_importer *in, eg_import_report *report, void *user) {
  EG_TRY(eg_implied_checker_init(&in->checker, in->alloc));
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; status == EGRAPH_OK && i < in->file->list.len; i++) {
    in->number = (uint32_t)i;
    in->subst = &in->file->list.data[i];
    status = import_one(in);
    if (status == EGRAPH_OK && report != NULL)
      report(user, in->number, in->outcome, eg_text_of(&in->detail));
  }
  eg_implied_checker_deinit(&in->checker);
  return status;
}

static egraph_status import_file(eg_rules *rules, const char *path,
                                 const eg_subst_file *file, eg_import_report *report,
                                 void *user) {
  eg_importer in = {.rules = rules, .path = path, .file = file};
  in.alloc = eg_rules_allocator(rules);
  eg_strmap_init(&in.known, in.alloc);
  eg_text_init(&in.text, in.alloc);
  eg_text_init(&in.detail, in.alloc);
  egraph_status status = import_all(&in, report, user);
  eg_text_deinit(&in.text);
  eg_text_deinit(&in.detail);
  eg_strmap_deinit(&in.known);
  return status;
}

egraph_status eg_rules_import(eg_rules *rules, const char *path, eg_import_report *report,
                              void *user) {
  egraph_allocator alloc = eg_rules_allocator(rules);
  char *bytes;
  size_t size;
  eg_subst_file file;
  EG_TRY(eg_file_read(alloc, path, MAX_FILE_BYTES, &bytes, &size));
  eg_subst_file_init(&file, alloc);
  egraph_status status = eg_subst_file_parse(path, bytes, size, &file);
  eg_free(alloc, bytes, size + 1, 1);
  if (status == EGRAPH_OK && file.list.len == 0)
    status = EG_FAIL(EGRAPH_E_PARSE, "%s: there is no substitution in it", path);
  if (status == EGRAPH_OK) status = import_file(rules, path, &file, report, user);
  eg_subst_file_deinit(&file);
  return status;
}
