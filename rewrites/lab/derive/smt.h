// Writes a rule's instance as a question to another prover: an SMT-LIB 2.6 script over
// the real numbers that is satisfiable when the sides differ for some data.
//
//   every element of an input or weight    a constant
//   every element of a node's result       a definition; the reference kernel says which
//                                          elements it depends on (field_plan.h)
//   relu, max, clip, ...                   (ite ...)
//   a constant                             exact, a quotient of integers; a rounded n/d
//                                          (0.333...) is written as n/d
//   exp, tanh, erf, ...                    functions with few known properties: odd or
//                                          even; exp(-x) = 1 / exp x; sigmoid by tanh
//
// "unsat": the sides are equal for all real data of these sizes for which no divisor is
// 0, with n/d for the constants that `doubt` names. "sat" is conclusive only when the
// script has no function of the last row and no constant that may be rounded (1/6, the
// root of 1/2).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_EXPLAIN_SMT_H
#define EG_REWRITES_EXPLAIN_SMT_H

#include "base/text.h"
#include "rewrites/lab/derive/derive.h"

typedef struct eg_smt_question {
  bool is_decisive;  // true when a "sat" is conclusive (see above)
  const char *doubt; // why "sat" is not conclusive, a static string; "" when it is
  uint32_t definitions;
} eg_smt_question;

/// Draws instances of the rule and appends the SMT script of the instance with the most
/// distinct sizes among those with few elements. Fails with EGRAPH_E_UNSUPPORTED when
/// there is no such instance, when its sides differ in shape, or when the script cannot
/// express an operator, type or constant, which the message names; EGRAPH_E_MEMORY.
egraph_status eg_smt_print_rule(const eg_rule *rule, egraph_allocator alloc,
                                uint64_t seed, eg_text *out, eg_smt_question *question);

#endif
