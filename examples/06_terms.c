// Builds an e-graph of plain terms: nodes without text, rules, a question and its answer.
//
//   06_terms
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

#include <inttypes.h>

static const char rules[] =
    "(egraph-rules 1 symbolic)\n"
    "(rule commute (lhs (+ ?a ?b)) (rhs (+ ?b ?a)))\n"
    "(rule associate (lhs (+ ?a (+ ?b ?c))) (rhs (+ (+ ?a ?b) ?c)))\n"
    "(rule twice (lhs (+ ?a ?a)) (rhs (double ?a)))\n";

// Builds a + (a + (a + a)), from symbols and classes instead of text.
static egraph_status build(egraph_terms *terms, egraph_class *out_sum) {
  egraph_symbol plus, a;
  egraph_class leaf = {0};
  egraph_status status = egraph_terms_symbol(terms, "+", &plus);
  if (status == EGRAPH_OK) status = egraph_terms_symbol(terms, "a", &a);
  if (status == EGRAPH_OK) status = egraph_terms_add_node(terms, a, NULL, 0, &leaf);
  *out_sum = leaf;
  for (int i = 0; status == EGRAPH_OK && i < 3; i++) {
    egraph_class sides[2] = {leaf, *out_sum};
    status = egraph_terms_add_node(terms, plus, sides, 2, out_sum);
  }
  return status;
}

static egraph_status saturate_terms(egraph_terms *terms) {
  egraph_class sum, doubled;
  egraph_terms_report report;
  uint64_t matches;
  char *text;
  egraph_status status = egraph_terms_add_rule_text(terms, "rules", rules);
  if (status == EGRAPH_OK) status = build(terms, &sum);
  if (status == EGRAPH_OK)
    status = egraph_terms_add(terms, "term", "(+ (double a) (double a))", &doubled);
  if (status == EGRAPH_OK) status = egraph_terms_saturate(terms, NULL, &report);
  if (status == EGRAPH_OK)
    status = egraph_terms_search(terms, "(double ?x)", NULL, NULL, &matches);
  if (status == EGRAPH_OK) status = egraph_terms_smallest(NULL, terms, sum, &text, NULL);
  if (status != EGRAPH_OK) return status;
  printf("%s: %" PRIu32 " nodes in %" PRIu32 " classes\n", report.stop, report.nodes,
         report.classes);
  printf("%" PRIu64 " doubled terms; the sum is %s; equal: %s\n", matches, text,
         egraph_terms_are_equal(terms, sum, doubled) ? "yes" : "no");
  egraph_string_free(NULL, text);
  return EGRAPH_OK;
}

int main(void) {
  egraph_terms *terms = NULL;
  egraph_status status = egraph_terms_create(NULL, &terms);
  if (status == EGRAPH_OK) status = saturate_terms(terms);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_terms_destroy(terms);
  return status == EGRAPH_OK ? 0 : 1;
}
