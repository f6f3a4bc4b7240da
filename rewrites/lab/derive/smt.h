// A rule's instance as a question to another prover: an SMT-LIB 2.6 script over the real
// numbers that is satisfiable where the sides differ for some data.
//
//   every element of an input or weight    a constant
//   every element of a node's result       a definition; which ones it is made of is read
//                                          off the reference kernel (field_plan.h)
//   relu, max, clip, ...                   (ite ...)
//   a constant                             exact, a quotient of integers; one that is n/d
//                                          rounded (0.333...) is written as n/d
//   exp, tanh, erf, ...                    functions of which next to nothing is known:
//                                          odd or even; exp(-x) = 1 / exp x; sigmoid by
//                                          tanh
//
// "unsat": the sides are equal for all real data of these sizes with which neither
// divides by 0, and with n/d for the constants that `doubt` tells of. "sat" says
// something where no such function and no constant that may be a rounded one (1/6, the
// root of 1/2) occurs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_EXPLAIN_SMT_H
#define EG_REWRITES_EXPLAIN_SMT_H

#include "base/text.h"
#include "rewrites/lab/derive/derive.h"

typedef struct eg_smt_question {
  bool is_decisive;  // no such function, and no constant that may be a rounded one
  const char *doubt; // why not: a static string; "" where it is
  uint32_t definitions;
} eg_smt_question;

/// Appends the script. Fails with EGRAPH_E_UNSUPPORTED, naming the operator, type or
/// constant that has no such meaning, or where shapes of the sides differ;
/// EGRAPH_E_MEMORY.
egraph_status eg_smt_print(const eg_side_graphs *sides, egraph_allocator alloc,
                           eg_text *out, eg_smt_question *question);
/// Writes the instance with most different sizes among the drawn instances with few
/// elements. Fails as eg_smt_print, and with EGRAPH_E_UNSUPPORTED when there is none.
egraph_status eg_smt_print_rule(const eg_rule *rule, egraph_allocator alloc,
                                uint64_t seed, eg_text *out, eg_smt_question *question);

#endif
