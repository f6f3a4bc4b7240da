// Evaluates expressions of rules: conditions and computed attributes. Evaluation
// allocates nothing: lists and arguments are in fixed working memory. If an expression
// exceeds this memory, or has no value for other reasons (index out of range, inexact
// division), its rule is not applied.
//
// rule_values.c compares and converts values; rule_eval_numbers.c and rule_eval_tensors.c
// contain the functions; rule_eval.c contains the table of functions and the evaluation.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_EVAL_H
#define EG_REWRITES_RULE_EVAL_H

#include "rewrites/language/rule_ast.h"
#include "rewrites/saturation/tensor_egraph.h"

enum { EG_RULE_SCRATCH_INTS = 1 << 14, EG_RULE_SCRATCH_VALUES = 1 << 12 };

/// Working memory for expressions; lists in values point into it until it is reset.
typedef struct eg_rule_scratch {
  int64_t ints[EG_RULE_SCRATCH_INTS];
  eg_rule_value values[EG_RULE_SCRATCH_VALUES];
  uint32_t int_count, value_count;
} eg_rule_scratch;

/// Look-ups for the tensors of rule variables that are not classes of an e-graph.
typedef struct eg_rule_tensors {
  const void *self;
  const eg_tensor_fact *(*fact)(const void *self, eg_class tensor);
  bool (*is_before)(const void *self, eg_class a, eg_class b);
  bool (*is_made_by)(const void *self, eg_class tensor, eg_op op);
} eg_rule_tensors;

typedef struct eg_rule_env {
  const eg_tensor_egraph *egraph;
  const eg_rule_tensors *tensors; // used instead of the e-graph; NULL: the e-graph
  const eg_rule *rule;
  eg_rule_value *vars; // [rule->var_count]
  eg_rule_scratch *scratch;
} eg_rule_env;

/// Evaluates an expression of a rule. Returns false when it has no value.
bool eg_rule_eval(eg_rule_env *env, uint32_t expr, eg_rule_value *out);
/// True when an expression of a rule that is a condition has the value true.
bool eg_rule_holds(eg_rule_env *env, uint32_t expr);
/// Computes an attribute of a right side; returns false when its expression has no value.
bool eg_rule_eval_slot(eg_rule_env *env, const eg_rule_term *term, uint16_t attr,
                       eg_attr *out);
/// True when an attribute has the value of the expression that the left side has for
/// this attribute.
bool eg_rule_slot_equals(eg_rule_env *env, const eg_rule_term *term, uint16_t attr,
                         const eg_attr *found);

/// True when `a` is within one unit in the last place of `b`, which a type has rounded;
/// whole numbers, simple fractions (which no type rounds), infinities and NaN must be the
/// same.
bool eg_rule_close(double a, double b, egraph_dtype dtype);
/// Attributes are float32 in files of models, and so are numbers computed from them.
#define EG_RULE_NUMBERS EGRAPH_FLOAT32
/// True when an attribute has the value that a pattern spells.
bool eg_rule_literal_fits(const eg_attr *literal, const eg_attr *found);
bool eg_rule_values_equal(const eg_rule_env *env, const eg_rule_value *a,
                          const eg_rule_value *b);
/// True when two values are exactly the same, as for two occurrences of one variable. Not
/// for tensors.
bool eg_rule_values_identical(const eg_rule_value *a, const eg_rule_value *b);
/// Returns the value of an attribute for expressions; lists are borrowed.
eg_rule_value eg_rule_value_of_attr(eg_op op, uint16_t slot, const eg_attr *attr);
/// Makes an attribute from a value; returns false when the value is none of the symbols
/// that the slot allows.
bool eg_rule_attr_of_value(eg_op op, uint16_t slot, const eg_rule_value *value,
                           eg_attr *out);

// ---- for the functions ----------------------------------------------------------

typedef bool eg_rule_evaluator(eg_rule_env *env, const eg_rule_value *args,
                               uint32_t count, eg_rule_value *out);
#define EG_RULE_FUNCTION(ID, NAME, MIN, MAX, ARGUMENTS, RESULT, EVAL)                    \
  eg_rule_evaluator eg_rule_eval_##EVAL;
#include "rewrites/language/rule_functions.def"

/// The head of a C function that evaluates a function of the rule language. Few of them
/// read all parameters.
#define EG_RULE_EVALUATOR(name)                                                          \
  bool eg_rule_eval_##name(EG_MAYBE_UNUSED eg_rule_env *env, const eg_rule_value *args,  \
                           EG_MAYBE_UNUSED uint32_t count, eg_rule_value *out)
/// Defines, by one expression, the evaluation of a function of the rule language.
#define EG_RULE_ROW(name, expression)                                                    \
  EG_RULE_EVALUATOR(name) { return expression; }
static inline bool eg_rule_give(eg_rule_value value, eg_rule_value *out) {
  *out = value;
  return true;
}

/// Reserves memory for a list; NULL when the working memory is used up.
int64_t *eg_rule_ints(eg_rule_env *env, uint32_t count);
double eg_rule_number(const eg_rule_value *value); // the value must be INT or FLOAT
eg_rule_value eg_rule_bool(bool value);
eg_rule_value eg_rule_int(int64_t value);
eg_rule_value eg_rule_float(double value);
/// Computes an index, counted from the end when negative; false when out of range.
bool eg_rule_index(int64_t index, uint32_t len, uint32_t *out);
/// Sets *out to whether two lists of sizes are equal; gives no value (false) when they
/// are equal only at some sizes of open dimensions.
bool eg_rule_decide_same(eg_ints a, eg_ints b, eg_rule_value *out);
/// Returns the facts (type, weight-only, ...) of a tensor in the rule's environment.
const eg_tensor_fact *eg_rule_fact(const eg_rule_env *env, eg_class tensor);
/// Returns the facts of a tensor value with one known type, else NULL.
const eg_tensor_fact *eg_rule_tensor(const eg_rule_env *env, const eg_rule_value *value);

#endif
