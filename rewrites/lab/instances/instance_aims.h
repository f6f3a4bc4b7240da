// Classes of instances. A rule is compared on each class that its conditions allow. The
// rows are in instance_classes.def.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_AIMS_H
#define EG_REWRITES_INSTANCE_AIMS_H

#include "rewrites/lab/instances/instance_choose.h"
#include "rewrites/language/rule_ast.h"

typedef enum eg_instance_subject {
  EG_INSTANCE_ATTR,
  EG_INSTANCE_KERNEL,
  EG_INSTANCE_OPERANDS,
  EG_INSTANCE_DIMS,
  EG_INSTANCE_RANK,
  EG_INSTANCE_VALUE, // a symbol or type attribute: no row
  EG_INSTANCE_WAY,   // a way that an expression goes (instance_ways.h): no row
  EG_INSTANCE_NAMED, // an attribute near a number that the rule names: no row
  // All numbers of the rule lie between two neighbouring whole numbers: no row.
  EG_INSTANCE_BETWEEN,
  EG_INSTANCE_SPECIAL, // a constant that the rule binds is special: no row
  EG_INSTANCE_DTYPE    // element type of operands: no row
} eg_instance_subject;

typedef struct eg_instance_class eg_instance_class; // a row of the table

/// A class that instances of one rule may be in.
typedef struct eg_instance_aim {
  eg_instance_subject subject;
  const eg_instance_class *row; // NULL when the class has no row
  uint32_t term;       // ATTR, KERNEL, OPERANDS, VALUE, NAMED: a term of the pattern
  uint16_t slot;       // ATTR, VALUE, NAMED
  uint32_t var;        // DIMS, RANK
  uint32_t expr, rank; // WAY: the call, and the rank that it requires or 0
  bool is_chosen;      // WAY: the call is in a branch of an `if`
  // VALUE, DTYPE; NAMED, WAY: -1 below, 0 at, 1 above; SPECIAL: kind; BETWEEN: 1 if
  // operands are integers.
  int64_t value;
  double number; // NAMED
} eg_instance_aim;
EG_VEC_DEFINE(eg_instance_aims, eg_instance_aim);

/// A node whose attributes and operands are all chosen.
typedef struct eg_instance_node {
  eg_op op;
  const eg_attr *slots;
  const eg_type *types; // types of its operands
  uint32_t count;
} eg_instance_node;

/// True when the variable is a class variable of the left side; such a variable has
/// a leaf.
static inline bool eg_verify_is_leaf(const eg_rule *rule, uint32_t var) {
  return rule->vars[var].kind == EG_RULE_TENSOR &&
         rule->vars[var].origin == EG_RULE_VAR_MATCHED;
}

/// True when the only values of an attribute are 0 and 1.
bool eg_instance_is_flag(const char *name);
/// Appends the classes that are possible for the left side of a rule.
egraph_status eg_instance_aims_of(const eg_rule *rule, eg_instance_aims *out);
/// True when the node is in the class (ATTR, KERNEL, OPERANDS, VALUE, NAMED).
bool eg_instance_node_is_in(const eg_instance_aim *aim, const eg_instance_node *node);
/// True for an attribute that is a number, that the left side leaves open, and that is
/// not small by nature.
bool eg_instance_is_open_number(const eg_rule *rule, uint32_t term, uint16_t slot);
/// True when the numbers of all terms are in the class (BETWEEN).
bool eg_instance_are_between(const eg_rule *rule, const eg_attrs *const *attrs);
/// True when the type is in the class (DIMS, RANK).
bool eg_instance_type_is_in(const eg_instance_aim *aim, const eg_type *type);
/// True when instances of the class are many times as large as others (DIMS, RANK).
bool eg_instance_is_large(const eg_instance_aim *aim);
/// True when the class has operands without elements, which differ between element types.
bool eg_instance_is_empty(const eg_instance_aim *aim);
/// True when a few instances of the class suffice, because other classes have
/// many (ATTR).
bool eg_instance_is_fine(const eg_instance_aim *aim);
/// Appends "stride 3 of max-pool" or "rank 2 of ?x".
egraph_status eg_instance_aim_print(eg_text *text, const eg_rule *rule,
                                    const eg_instance_aim *aim);

/// Prepares a choice of the term, or of a leaf, for the class: dimensions, rank, windows.
void eg_instance_prepare(const eg_instance_aim *aim, eg_verify_choice *choice);
/// Sets the attribute to a value of the class unless it is set. Called once operand 0 is
/// known, except for attributes by which operand 0 is chosen.
void eg_instance_put(const eg_instance_aim *aim, eg_verify_choice *choice);
/// Changes the operand so that it is in the class (OPERANDS, DIMS, RANK). Does so in most
/// draws only, when other operands may have to follow.
void eg_instance_fit(const eg_instance_aim *aim, eg_verify_choice *choice,
                     uint32_t operand);
/// Return the least and the largest rank of the row, and a rank between them (RANK).
uint32_t eg_instance_least_rank(const eg_instance_aim *aim);
uint32_t eg_instance_most_rank(const eg_instance_aim *aim);
uint32_t eg_instance_rank(const eg_instance_aim *aim, eg_verify_choice *choice);

#endif
