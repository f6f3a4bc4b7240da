// A parsed rule. Everything is in the arena of its eg_rules.
//
//   terms   children come before their parents: a loop over a range builds bottom-up
//   exprs   conditions and computed attributes, children before parents too
//   vars    class variables (kind TENSOR) and value variables, in the order of occurrence
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_AST_H
#define EG_REWRITES_RULE_AST_H

#include "base/sexpr.h"
#include "egraph/engine.h"
#include "ops/ops.h"
#include "pcg/parallel/mesh.h"

// Kinds of values in rules: id, words for messages. The first seven are the kinds of
// attributes, in their order.
#define EG_RULE_KIND_LIST(X)                                                             \
  X(EG_RULE_INT, "an integer")                                                           \
  X(EG_RULE_INTS, "a list of integers")                                                  \
  X(EG_RULE_FLOAT, "a number")                                                           \
  X(EG_RULE_SYMBOL, "a symbol")                                                          \
  X(EG_RULE_DTYPE, "an element type")                                                    \
  X(EG_RULE_STRING, "a string")                                                          \
  X(EG_RULE_FLOATS, "a list of numbers")                                                 \
  X(EG_RULE_BOOL, "a condition")                                                         \
  X(EG_RULE_TENSOR, "a tensor")
#define EG_RULE_KIND_ENUM(id, words) id,
typedef enum eg_rule_kind { EG_RULE_KIND_LIST(EG_RULE_KIND_ENUM) } eg_rule_kind;
#undef EG_RULE_KIND_ENUM

typedef struct eg_rule_value {
  eg_rule_kind kind;
  union {
    int64_t i;        // INT, DTYPE, BOOL
    double f;         // FLOAT
    eg_ints ints;     // INTS
    eg_floats floats; // FLOATS
    const char *text; // SYMBOL, STRING
    eg_class tensor;  // TENSOR
  };
} eg_rule_value;

#define EG_RULE_NONE UINT32_MAX

// Functions in expressions of rules: EG_RULE_FN_<ID>.
#define EG_RULE_FUNCTION(ID, ...) EG_RULE_FN_##ID,
typedef enum eg_rule_function {
#include "rewrites/language/rule_functions.def"
  EG_RULE_FN_COUNT
} eg_rule_function;

typedef enum eg_rule_expr_form {
  EG_RULE_EXPR_CONSTANT,
  EG_RULE_EXPR_VAR,
  EG_RULE_EXPR_CALL
} eg_rule_expr_form;

typedef struct eg_rule_expr {
  eg_rule_expr_form form;
  eg_rule_kind kind;         // kind of its value
  eg_rule_value constant;    // CONSTANT
  uint32_t var;              // VAR
  eg_rule_function function; // CALL
  const uint32_t *args;      // CALL: expression indices
  uint32_t arg_count;
} eg_rule_expr;

typedef enum eg_rule_slot_form {
  EG_RULE_SLOT_LITERAL, // must be / is this value (defaults that were left out included)
  EG_RULE_SLOT_VAR,     // value variable
  EG_RULE_SLOT_EXPR,    // must equal / is the value of an expression
  EG_RULE_SLOT_ANY      // patterns only
} eg_rule_slot_form;

/// One attribute slot of a term in a rule.
typedef struct eg_rule_slot {
  eg_rule_slot_form form;
  eg_attr literal;
  uint32_t index; // VAR: variable, EXPR: expression
} eg_rule_slot;

typedef struct eg_rule_term {
  bool is_var;
  uint32_t var; // is_var: the class variable; else the variable of `as`, or EG_RULE_NONE
  eg_op op;
  const eg_rule_slot *slots; // one per attribute of op
  const uint32_t *children;  // term indices
  uint32_t child_count;
} eg_rule_term;

typedef enum eg_rule_var_origin {
  EG_RULE_VAR_MATCHED, // bound by the left side (or given, in tests)
  EG_RULE_VAR_AS,      // names a sub-pattern
  EG_RULE_VAR_LET_VALUE,
  EG_RULE_VAR_LET_TERM,
  EG_RULE_VAR_LAYOUT // only in parallel operators: any dimension
} eg_rule_var_origin;

typedef struct eg_rule_var {
  const char *name; // with the '?'
  eg_rule_kind kind;
  eg_rule_var_origin origin;
  uint32_t pattern_var; // number in the engine's pattern; else EG_RULE_NONE
} eg_rule_var;

/// A clause `(let var ...)`: an expression, or the terms [first_term, term], of which
/// `term` is the root.
typedef struct eg_rule_let {
  uint32_t var;
  bool is_term;
  uint32_t expr, first_term, term;
} eg_rule_let;

/// One root of a rule's side: its terms are [first_term, term].
typedef struct eg_rule_root {
  uint32_t first_term, term;
} eg_rule_root;

/// The most mesh axes that a rule can name, and the largest size of such an axis.
enum { EG_RULE_MAX_AXES = 3, EG_RULE_MAX_DEGREE = 1024 };

/// A parallel operator around a term. It is not a term of the rule: it says how the value
/// is distributed on a mesh, which is verified (layout_check.h) and has no other effect.
typedef struct eg_rule_move {
  uint32_t term; // term whose value it moves
  eg_parallel_kind kind;
  bool keeps_one;  // REPLICATE
  uint32_t dim;    // expression; EG_RULE_NONE: the operator has no dimension
  uint32_t axis;   // index in eg_rule.axes
  uint32_t degree; // degree of the axis; 0: not given here
  uint32_t line, column;
} eg_rule_move;

/// An axis of the mesh, to which parallel operators refer.
typedef struct eg_rule_axis {
  const char *name; // "": no name is given
  uint32_t degree;  // 0: any
} eg_rule_axis;

/// Parameters of a rule (rule_schema.h).
typedef struct eg_rule_schema eg_rule_schema;

/// One direction of a `(rule ...)` form, or of the first case of a form with parameters.
typedef struct eg_rule {
  const char *name, *source, *file;
  uint32_t line;
  // The rule holds in both directions; the other direction is the next or previous rule.
  bool both_ways;
  bool reversed; // this is the second direction
  bool enabled;
  bool is_shipped;  // part of the library
  egraph_math math; // its class, "associative" unless the form declares another
  bool spreads;     // associative, but NaN and infinities reach more results than before
  const char *key;  // canonical text with renamed variables: equal keys, equal rules
  const char *parallel_key; // key with the parallel operators, which `key` leaves out
  // Both sides of the rule are the same term when parallel operators are removed.
  bool implied;
  // Name of the rule that this rule equals without parallel operators, or NULL.
  const char *known_as;
  const eg_rule_var *vars;
  uint32_t var_count, pattern_var_count;
  const eg_rule_term *terms;
  uint32_t term_count;
  uint32_t pattern_term_count; // the terms of the left side come first
  const eg_rule_expr *exprs;
  uint32_t expr_count;
  const eg_rule_root *lhs, *rhs; // [root_count]
  uint32_t root_count;
  const eg_rule_let *lets;
  uint32_t let_count;
  const uint32_t *conditions; // expression indices
  uint32_t condition_count;
  const eg_rule_move *moves; // by term, innermost first
  uint32_t move_count;
  const eg_rule_axis *axes; // in the order of moves
  uint32_t axis_count;
  const eg_rule_schema *schema; // NULL: the rule has no parameters
  const uint32_t *values;       // values of the parameters in this case
} eg_rule;

/// True for rules that are not applied (eg_rules_implied_count).
static inline bool eg_rule_is_implied(const eg_rule *rule) {
  return rule->implied || rule->known_as != NULL;
}
/// Finds the parallel operators around a term, the moves [*out_begin, result).
uint32_t eg_rule_moves_of(const eg_rule *rule, uint32_t term, uint32_t *out_begin);

/// A tensor that a `(test ...)` form gives.
typedef struct eg_rule_given {
  const char *name; // with the '?'
  const char *type_text;
  eg_type type;
  bool weight, filled;
  double value; // filled: of every element
} eg_rule_given;

typedef struct eg_rule_claim {
  bool equal; // true: `equals`; false: `differs`
  const eg_rule_root *roots;
  uint32_t line;
} eg_rule_claim;

typedef struct eg_rule_test {
  const char *name, *file;
  uint32_t line;
  const eg_rule_given *given; // variable i of `body`
  uint32_t given_count;
  const char *const *rules; // names; none: all of the file
  uint32_t rule_count;
  uint32_t iterations;
  eg_rule body; // variables and terms; rhs = the roots of (term ...)
  const eg_rule_claim *claims;
  uint32_t claim_count;
} eg_rule_test;

/// Returns the call if expression `expr` calls `function`, else NULL.
const eg_rule_expr *eg_rule_call_of(const eg_rule *rule, uint32_t expr,
                                    eg_rule_function function);
/// True when the expression, or one within it, calls `function`.
bool eg_rule_calls(const eg_rule *rule, uint32_t expr, eg_rule_function function);
/// Returns the variable if expression `expr` is one, else EG_RULE_NONE.
uint32_t eg_rule_var_of(const eg_rule *rule, uint32_t expr);
/// Return the expression, or the term, that `let` gives a variable, or EG_RULE_NONE.
uint32_t eg_rule_let_expr(const eg_rule *rule, uint32_t var);
uint32_t eg_rule_let_term(const eg_rule *rule, uint32_t var);

const char *eg_rule_kind_words(eg_rule_kind kind);

typedef struct eg_rule_function_info {
  const char *name;
  int min_args, max_args; // max -1: any number
  const char *arguments;  // kind letters, see the table
  char result;
} eg_rule_function_info;

const eg_rule_function_info *eg_rule_function_info_of(eg_rule_function function);
bool eg_rule_function_find(const char *name, eg_rule_function *out);

/// Returns the name of a class of rules: "exact" and so on; NULL for an unknown number.
const char *eg_rule_class_name(egraph_math math);
/// Finds the class of rules ("exact", ...) with a name. False when the name is unknown.
bool eg_rule_class_find(const char *name, egraph_math *out);

/// Appends an expression of a rule as text.
egraph_status eg_rule_print_expr(eg_text *text, const eg_rule *rule, uint32_t expr);

#endif
