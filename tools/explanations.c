// The steps are printed as they are reported; how many there are is known only at the
// end, and written there.
// SPDX-License-Identifier: Apache-2.0
#include "tools/explanations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Where the first term of a text ends: it is the first blank outside brackets.
static const char *end_of_term(const char *text) {
  size_t depth = 0;
  for (; *text != '\0'; text++) {
    if (*text == '(') depth++;
    if (*text == ')' && depth > 0) depth--;
    if (depth == 0 && (*text == ' ' || *text == '\t')) break;
  }
  return text;
}

typedef struct question {
  char *from; // owned
  const char *to;
} question;

static int read_question(const char *text, question *out) {
  text += strspn(text, " \t");
  const char *end = end_of_term(text), *to = end + strspn(end, " \t");
  if (*to == '\0') {
    fprintf(stderr,
            "egraph: --explain wants two terms, \"(+ a b) (+ b a)\"; got \"%s\"\n", text);
    return EXIT_USAGE;
  }
  size_t length = (size_t)(end - text);
  out->from = malloc(length + 1);
  if (out->from == NULL) return EXIT_FAILED;
  memcpy(out->from, text, length);
  out->from[length] = '\0';
  out->to = to;
  return EXIT_DONE;
}

static int explain(egraph_terms *terms, const question *q,
                   bool (*report)(void *, const egraph_terms_step *),
                   uint64_t *out_count) {
  egraph_status status =
      egraph_terms_explain(terms, q->from, q->to, report, NULL, out_count);
  return status == EGRAPH_OK ? EXIT_DONE : report_failure(status);
}

// ---- text ------------------------------------------------------------------------

static const char *shown(const char *term) {
  return term != NULL ? term : "(a term too large to write)";
}

static bool print_step(void *user, const egraph_terms_step *step) {
  (void)user;
  printf("  %s%s", step->rule != NULL ? step->rule : "united",
         step->backward ? ", backward" : "");
  for (uint32_t i = 0; i < step->depth; i++)
    printf("%s%" PRIu32, i == 0 ? ", at " : ".", step->position[i]);
  printf("\n    %s\n", shown(step->after));
  return false;
}

static int print_answer(egraph_terms *terms, const question *q) {
  uint64_t count;
  printf("\nexplain     %s = %s\n    %s\n", q->from, q->to, q->from);
  int outcome = explain(terms, q, print_step, &count);
  if (outcome == EXIT_DONE) printf("steps       %" PRIu64 "\n", count);
  return outcome;
}

// ---- JSON ------------------------------------------------------------------------

static bool write_step(void *user, const egraph_terms_step *step) {
  (void)user;
  json_open(NULL, '{');
  if (step->rule != NULL) json_text("rule", step->rule);
  json_bool("backward", step->backward);
  json_open("position", '[');
  for (uint32_t i = 0; i < step->depth; i++)
    json_int(NULL, step->position[i]);
  json_close(']');
  if (step->after != NULL) json_text("term", step->after);
  json_close('}');
  return false;
}

static int write_answer(egraph_terms *terms, const question *q) {
  json_open(NULL, '{');
  json_text("from", q->from);
  json_text("to", q->to);
  json_open("steps", '[');
  int outcome = explain(terms, q, write_step, NULL);
  json_close(']');
  json_close('}');
  return outcome;
}

// ---- all -------------------------------------------------------------------------

static int answer_all(egraph_terms *terms, const text_list *questions,
                      int (*answer)(egraph_terms *, const question *)) {
  int outcome = EXIT_DONE;
  for (size_t i = 0; i < questions->count && outcome == EXIT_DONE; i++) {
    question q = {.from = NULL};
    outcome = read_question(questions->items[i], &q);
    if (outcome == EXIT_DONE) outcome = answer(terms, &q);
    free(q.from);
  }
  return outcome;
}

static int no_answer(egraph_terms *terms, const question *q) {
  (void)terms;
  (void)q;
  return EXIT_DONE;
}

int explanations_check(const text_list *questions) {
  return answer_all(NULL, questions, no_answer);
}

int explanations_print(egraph_terms *terms, const text_list *questions) {
  return answer_all(terms, questions, print_answer);
}

int explanations_print_json(egraph_terms *terms, const text_list *questions) {
  json_open("explanations", '[');
  int outcome = answer_all(terms, questions, write_answer);
  json_close(']');
  return outcome;
}
