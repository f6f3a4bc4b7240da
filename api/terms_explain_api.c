// Public functions of explanations.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/arguments.h"
#include "api/terms.h"
#include "base/owner.h"
#include "rewrites/terms/symbolic_explain.h"

egraph_status egraph_terms_keep_explanations(egraph_terms *terms) {
  EG_REQUIRE(terms);
  return eg_symbolic_keep_explanations(terms->symbolic);
}

typedef struct reporting {
  const egraph_terms *terms;
  const eg_explanation *explanation;
  eg_text before, after; // texts before and after every second step
} reporting;
EG_OWNER_DEFINE_STATIC(reporting, (eg_text, before, after))

/// Writes a term as text; NULL when it is too large.
static egraph_status spell(reporting *r, eg_text *text, uint32_t term, const char **out) {
  eg_text_clear(text);
  egraph_status status =
      eg_symbolic_print_ground(r->terms->symbolic, &r->explanation->terms, term, text);
  *out = status == EGRAPH_OK ? eg_text_of(text) : NULL;
  return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
}

static egraph_status report_step(reporting *r, size_t index, egraph_terms_step *inout) {
  const eg_step *step = &r->explanation->steps.data[index];
  uint32_t rule, root;
  inout->rule = eg_symbolic_reason_of(step->reason, &rule, &root)
                    ? eg_symbolic_rule_at(r->terms->symbolic, rule)->name
                    : NULL;
  inout->backward = step->backward;
  inout->position = r->explanation->positions.data + step->position;
  inout->depth = step->depth;
  inout->before = inout->after;
  return spell(r, index % 2 == 0 ? &r->before : &r->after, step->after, &inout->after);
}

static egraph_status report_all(const egraph_terms *terms,
                                const eg_explanation *explanation,
                                bool (*report)(void *, const egraph_terms_step *),
                                void *user) {
  EG_LOCAL(reporting, r, terms->alloc);
  r.terms = terms;
  r.explanation = explanation;
  size_t count = explanation->steps.len;
  egraph_terms_step step = {.rule = NULL};
  if (report == NULL || count == 0) return EGRAPH_OK;
  EG_TRY(spell(&r, &r.after, explanation->from, &step.after));
  for (size_t i = 0; i < count; i++) {
    EG_TRY(report_step(&r, i, &step));
    if (report(user, &step)) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

static egraph_status explain(eg_symbolic_explainer *explainer, const char *from,
                             const char *to, eg_explanation *out) {
  uint32_t a, b;
  EG_TRY(eg_symbolic_explainer_read(explainer, "from", from, strlen(from), &a));
  EG_TRY(eg_symbolic_explainer_read(explainer, "to", to, strlen(to), &b));
  return eg_symbolic_explainer_explain(explainer, a, b, EG_EXPLAIN_MAX_WORDS, out);
}

egraph_status egraph_terms_explain(egraph_terms *terms, const char *from, const char *to,
                                   bool (*report)(void *user,
                                                  const egraph_terms_step *step),
                                   void *user, uint64_t *out_count) {
  EG_REQUIRE(terms, from, to);
  eg_symbolic_explainer *explainer;
  EG_LOCAL(eg_explanation, explanation, terms->alloc);
  EG_TRY(eg_symbolic_explainer_create(&terms->alloc, terms->symbolic, &explainer));
  egraph_status status = explain(explainer, from, to, &explanation);
  eg_symbolic_explainer_destroy(explainer); // frees its memory before the
                                            // checker allocates
  EG_TRY(status);
  EG_TRY(eg_symbolic_check_explanation(&terms->alloc, terms->symbolic, &explanation));
  EG_TRY(report_all(terms, &explanation, report, user));
  if (out_count != NULL) *out_count = explanation.steps.len;
  return EGRAPH_OK;
}
