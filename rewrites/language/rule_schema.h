// A rule with parameters: operators (`?f` of (operators ?f unary)) and numbers of
// operands (`?x...`). It represents one rule without parameters, a case, for every choice
// of these. The code that matches, verifies, explains or replays sees cases only.
// rewrites/rules/LANGUAGE.md has the meaning.
//
// rule_schema.c finds the parameters in a form, rule_case.c writes and lists the cases.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_SCHEMA_H
#define EG_REWRITES_RULE_SCHEMA_H

#include "rewrites/language/rule_forms.h"

enum {
  EG_RULE_MAX_PARAMETERS = 4, // parameters of a rule
  EG_RULE_MAX_COUNT = 60      // elements of a sequence
};

typedef struct eg_rule_parameter {
  const char *name; // ?f, or the first of the sequences with this length
  // Operators that the parameter ?f may be; NULL: the parameter is a number of elements.
  const eg_op *operators;
  uint32_t operator_count;
  uint32_t least; // elements
} eg_rule_parameter;

/// A number that depends on parameters: `fixed` plus the sum of times[p] * parameter p.
typedef struct eg_rule_sum {
  uint32_t fixed, times[EG_RULE_MAX_PARAMETERS];
} eg_rule_sum;

/// An operator of a side of a rule with parameters.
typedef struct eg_rule_spot {
  bool is_left;
  uint32_t parameter; // the operator variable; EG_RULE_NONE: `op`
  eg_op op;
  eg_rule_sum operands; // number of its operands
  uint32_t above;       // the spot that has this operator as an operand, or EG_RULE_NONE
  eg_rule_sum place;    // among the operands of that; in `each` the first
  uint32_t each;        // the length of the `each` around this operator, or EG_RULE_NONE
} eg_rule_spot;

struct eg_rule_schema {
  const eg_sexpr *form;
  const eg_rule_parameter *parameters;
  uint32_t parameter_count;
  const char *const *sequences; // with the dots
  const uint32_t *lengths;      // their parameters
  uint32_t sequence_count;
  const eg_rule_spot *spots;
  uint32_t spot_count;
  uint32_t sides; // the parameter that is the number of left sides, or EG_RULE_NONE
};

/// True when a rule form has parameters.
bool eg_rule_form_is_schema(const eg_sexpr *form);
/// True when all operators can have the numbers of operands that `values` gives: per
/// parameter the operator or the number.
bool eg_rule_case_is_legal(const eg_rule_schema *schema, const uint32_t *values);
/// Computes a sum of parameters for the parameters' values in a case.
uint32_t eg_rule_sum_of(const eg_rule_sum *sum, uint32_t parameter_count,
                        const uint32_t *values);
eg_op eg_rule_spot_op(const eg_rule_spot *spot, const uint32_t *values);

/// Appends the values of sample cases, parameter_count words each, without illegal
/// cases and `rule` itself. *out_all: they are all cases, which requires that some
/// operator bounds each sequence and that there are at most EG_RULE_MAX_CASES choices.
/// Otherwise they are the cases with the first operators and up to two elements in each
/// sequence, one case with up to EG_RULE_SAMPLE_COUNT elements, and a case for every
/// choice of operators.
enum { EG_RULE_SAMPLE_COUNT = 5, EG_RULE_MAX_CASES = 2000 };
egraph_status eg_rule_cases_sample(const eg_rule *rule, eg_u32s *out, bool *out_all);
/// Appends, for each sequence without a bound of its length, cases with 9 and 17
/// elements, and with the numbers of elements that the rule names.
enum { EG_RULE_LARGE_COUNTS = 8 };
egraph_status eg_rule_cases_sample_large(const eg_rule *rule, eg_u32s *out);

/// Sets *out to true when `rule` equals a case of a rule with parameters. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_rule_cases_have(const eg_rule *with_parameters, const eg_rule *rule,
                                 egraph_allocator alloc, bool *out);
/// Checks that the sample cases of a rule can be read. Fails as eg_rule_read, and when
/// there are more than EG_RULE_MAX_CASES choices of operators.
egraph_status eg_rule_cases_check(const eg_rule *rule, egraph_allocator alloc);

/// True for an atom that spells a sequence, ?x...
bool eg_rule_is_sequence(const eg_sexpr *expr);
/// True for (each ...), well-formed or not.
bool eg_rule_is_each(const eg_sexpr *expr);
/// True when the expression contains a sequence or (each ...).
bool eg_rule_has_sequence(const eg_sexpr *expr);
/// Returns the number of the sequence `name` among `sequences`, or EG_RULE_NONE.
uint32_t eg_rule_find_sequence(const char *const *sequences, uint32_t count,
                               const char *name);

/// Reads the case of a rule with these parameter values, and gives it the name of the
/// form. Fails as eg_rule_read.
egraph_status eg_rule_case_read(const eg_rule_source_text *from,
                                const eg_rule_schema *schema, const uint32_t *values,
                                bool reversed, eg_rule *out);
/// Finds the parameter values of the first legal case. False when no case is legal.
bool eg_rule_case_choose(const eg_rule_schema *schema, uint32_t *out);

#endif
