// A substitution is written as the text of a rule and read back, so that it passes the
// checks of any other.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/unity/unity_import.h"
#include "rewrites/rule_files.h"

#include "rewrites/language/rule_ast.h"
#include "rewrites/unity/unity_text.h"
#include "rewrites/verify/verify.h"

enum { MAX_FILE_BYTES = 64 << 20, MAX_PARALLEL = 8, INSTANCES = 64 };

static const char *const outcome_names[EG_IMPORT_OUTCOMES] = {
#define OUTCOME_NAME(id, words) [id] = words,
    EG_IMPORT_LIST(OUTCOME_NAME)
#undef OUTCOME_NAME
};

const char *eg_import_outcome_name(eg_import_outcome outcome) {
  return outcome_names[outcome];
}

typedef struct importer {
  eg_rules *rules;
  egraph_allocator alloc;
  const char *file;
  uint32_t number;
  const eg_unity_rule *rule;
  egraph_math math; // that it is written with
  eg_unity_axes choice;
  uint32_t second; // EG_UNITY_TWO_AXES: what is on the second one
  eg_text text;
  eg_import_outcome outcome;
  eg_text detail;
} importer;

// ---- reading back ---------------------------------------------------------------------

static egraph_status refuse(importer *in, const char *reason) {
  in->outcome = EG_IMPORT_REFUSED;
  eg_text_clear(&in->detail);
  return eg_text_append(&in->detail, reason);
}

static egraph_status parse(const importer *in, const char *file, eg_rules *rules) {
  return eg_rules_parse(rules, file, eg_text_of(&in->text), in->text.chars.len);
}

typedef struct verdict {
  importer *in;
  egraph_status status;
} verdict;

static void on_verified(void *user, const char *rule, bool accepted, const char *detail) {
  verdict *v = user;
  (void)rule;
  if (accepted || v->status != EGRAPH_OK) return;
  v->status = refuse(v->in, "its sides differ in value, or no tensors fit it: ");
  if (v->status == EGRAPH_OK) v->status = eg_text_append(&v->in->detail, detail);
}

static egraph_status verify(importer *in, const eg_rules *trial) {
  verdict v = {.in = in, .status = EGRAPH_OK};
  if (eg_rules_count(trial) == 0) return EGRAPH_OK;
  const eg_verify_options options = {.seed = 1, .instances = INSTANCES};
  EG_TRY(eg_rules_verify(trial, &options, on_verified, &v, NULL));
  return v.status;
}

/// It has been read once: only another rule can be in the way.
static egraph_status add(importer *in) {
  uint32_t count = eg_rules_count(in->rules), implied = eg_rules_implied_count(in->rules);
  bool verified = eg_rules_set_verified(in->rules, false); // the trial was
  egraph_status status = parse(in, in->file, in->rules);
  (void)eg_rules_set_verified(in->rules, verified);
  if (status == EGRAPH_E_PARSE) {
    in->outcome = EG_IMPORT_KNOWN;
    return EGRAPH_OK;
  }
  EG_TRY(status);
  in->outcome = EG_IMPORT_KNOWN;
  if (eg_rules_count(in->rules) > count)
    in->outcome = EG_IMPORT_ADDED;
  else if (eg_rules_implied_count(in->rules) > implied &&
           eg_rules_implied_at(in->rules, implied)->implied)
    in->outcome = EG_IMPORT_IMPLIED;
  return EGRAPH_OK;
}

/// Reads the text into a set of its own. *out_fits is false when it is none of a rule, or
/// its layouts do not fit.
static egraph_status try_text(importer *in, bool *out_fits) {
  eg_rules *trial;
  EG_TRY(eg_rules_create(&in->alloc, &trial));
  egraph_status status = parse(in, "translated", trial);
  *out_fits = status == EGRAPH_OK;
  if (status == EGRAPH_OK) {
    in->outcome = EG_IMPORT_ADDED;
    status = verify(in, trial);
  } else if (status == EGRAPH_E_PARSE) {
    status = EGRAPH_OK;
    if (in->choice == EG_UNITY_ONE_AXIS) status = refuse(in, egraph_last_error());
  }
  eg_rules_destroy(trial);
  return status;
}

/// The next choice of axes; false after the last.
static bool next_axes(importer *in, uint32_t count) {
  if (count < 2 || (in->choice == EG_UNITY_TWO_AXES && ++in->second >> (count - 1) != 0))
    return false;
  if (in->choice == EG_UNITY_BY_DIMENSION) in->second = 1;
  if (in->choice != EG_UNITY_TWO_AXES) in->choice++;
  return true;
}

static egraph_status try_class(importer *in, egraph_math math, bool *out_fits) {
  EG_TRY(eg_unity_write(in->rule, in->number, math, in->choice, in->second, &in->text,
                        out_fits));
  if (*out_fits) return try_text(in, out_fits);
  *out_fits = true;
  return refuse(in, "is too large");
}

static egraph_status try_axes(importer *in) {
  uint32_t count = eg_unity_parallel_count(in->rule);
  if (count > MAX_PARALLEL) return refuse(in, "has too many parallel operators");
  in->choice = EG_UNITY_ONE_AXIS;
  do {
    bool fits;
    EG_TRY(try_class(in, EGRAPH_MATH_ASSOCIATIVE, &fits));
    // Sides that differ may do so in what is not finite alone.
    if (fits && in->outcome == EG_IMPORT_REFUSED)
      EG_TRY(try_class(in, EGRAPH_MATH_FAST, &fits));
    if (fits) return in->outcome == EG_IMPORT_REFUSED ? EGRAPH_OK : add(in);
  } while (next_axes(in, count));
  return EGRAPH_OK;
}

static egraph_status import_rule(importer *in) {
  const char *fault = eg_unity_fault(in->rule);
  return fault != NULL ? refuse(in, fault) : try_axes(in);
}

static egraph_status import_rules(importer *in, eg_unity_file *file,
                                  eg_import_report *report, void *user) {
  for (;; in->number++) {
    eg_unity_rule rule;
    bool any;
    EG_TRY(eg_unity_file_next(file, &any, &rule));
    if (!any) return EGRAPH_OK;
    in->rule = &rule;
    eg_text_clear(&in->detail);
    EG_TRY(import_rule(in));
    if (report != NULL)
      report(user, in->number, in->outcome,
             in->outcome == EG_IMPORT_REFUSED ? eg_text_of(&in->detail) : "");
  }
}

egraph_status eg_rules_import_unity(eg_rules *rules, const char *path,
                                    eg_import_report *report, void *user) {
  importer in = {.rules = rules, .alloc = eg_rules_allocator(rules), .file = path};
  char *bytes;
  size_t size;
  EG_TRY(eg_file_read(in.alloc, path, MAX_FILE_BYTES, &bytes, &size));
  eg_unity_file file = {.name = path,
                        .at = (const unsigned char *)bytes,
                        .end = (const unsigned char *)bytes + size};
  eg_text_init(&in.text, in.alloc);
  eg_text_init(&in.detail, in.alloc);
  egraph_status status = import_rules(&in, &file, report, user);
  eg_text_deinit(&in.text);
  eg_text_deinit(&in.detail);
  eg_free(in.alloc, bytes, size + 1, 1);
  return status;
}
