// Saturates a symbolic expression with a few rules and prints the smallest
// equal expression.
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

static const char rules[] =
    "(egraph-rules 1 symbolic)\n"
    "(rule commute (source \"ring\") (lhs (* ?a ?b)) (rhs (* ?b ?a)))\n"
    "(rule associate (source \"ring\") (lhs (* (* ?a ?b) ?c)) (rhs (* ?a (* ?b ?c))))\n"
    "(rule factor (source \"ring\") (lhs (+ (* ?a ?b) (* ?a ?c))) (rhs (* ?a (+ ?b "
    "?c))))\n"
    "(rule one (source \"ring\") (lhs (* ?a 1)) (rhs ?a))\n"
    "(rule cancel (source \"ring\") (lhs (/ (* ?a ?b) ?b)) (rhs ?a))\n";

int main(void) {
  const char *term = "(/ (+ (* x 2) (* 2 y)) 2)";
  char *smallest = NULL;
  if (egraph_expression_simplify(NULL, rules, term, 10000, &smallest) != EGRAPH_OK) {
    fprintf(stderr, "%s\n", egraph_last_error());
    return 1;
  }
  printf("%s  =>  %s\n", term, smallest);
  egraph_string_free(NULL, smallest);
  return 0;
}
