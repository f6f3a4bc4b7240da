// Classes of instances (such as "stride 3" or "rank 2"). A rule is compared on each class
// that its conditions allow. The rows are in instance_classes.def.
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
  // All numbers of the instance lie between two neighbouring whole numbers; no row.
  EG_INSTANCE_BETWEEN,
  EG_INSTANCE_SPECIAL, // a constant that the rule binds is special: no row
  EG_INSTANCE_DTYPE    // element type of operands: no row
} eg_instance_subject;

typedef struct eg_instance_class eg_instance_class; // a row of the table

/// A class (such as "stride 3 of max-pool") that instances of one rule may be in.
typedef struct eg_instance_aim {
  eg_instance_subject subject;
  const eg_instance_class *row; // NULL when the class has no row
  uint32_t term;       // ATTR, KERNEL, OPERANDS, VALUE, NAMED: a term of the pattern
  uint16_t slot;       // ATTR, VALUE, NAMED
  uint32_t var;        // DIMS, RANK
  uint32_t expr, rank; // WAY: the call, and the rank that it requires or 0
  bool is_chosen;      // WAY: the call is in a branch of an `if`
  // Meaning by subject. VALUE, DTYPE: the value; NAMED, WAY: -1 below, 0 at, 1 above;
  // SPECIAL: kind of constant; BETWEEN: 1 if operands are integers.
  int64_t value;
  double number; // NAMED
} eg_instance_aim;
EG_VEC_DEFINE(eg_instance_aims, eg_instance_aim);

/// A node with its attributes and operand types, all of them chosen.
typedef struct eg_instance_node {
  eg_op op;
  const eg_attr *slots;
  const eg_type *types; // types of its operands
  uint32_t count;
} eg_instance_node;

/// True when the variable stands for a tensor and occurs on the left side; an instance
/// then has a leaf (type and kind of data) for it.
static inline bool eg_verify_is_leaf(const eg_rule *rule, uint32_t var) {
  return rule->vars[var].kind == EG_RULE_TENSOR &&
         rule->vars[var].origin == EG_RULE_VAR_MATCHED;
}

/// True when the only values of an attribute are 0 and 1.
bool eg_instance_is_flag(const char *name);
/// Appends the classes of instances that are possible for the left side of a rule.
egraph_status eg_instance_aims_of(const eg_rule *rule, eg_instance_aims *out);
/// True when a node is in the class of instances (ATTR, KERNEL, OPERANDS, VALUE, NAMED).
bool eg_instance_node_is_in(const eg_instance_aim *aim, const eg_instance_node *node);
/// True for an attribute (slot) that is a number, that the left side leaves open, and
/// that is not small by nature.
bool eg_instance_is_open_number(const eg_rule *rule, uint32_t term, uint16_t slot);
/// True when the numeric attributes of all terms are in the class, of subject BETWEEN.
bool eg_instance_are_between(const eg_rule *rule, const eg_attrs *const *attrs);
/// True when a tensor type is in the class of instances; its subject is DIMS or RANK.
bool eg_instance_type_is_in(const eg_instance_aim *aim, const eg_type *type);
/// True when instances of the class are many times as large as others (DIMS, RANK).
bool eg_instance_is_large(const eg_instance_aim *aim);
/// True when operands of the class have no elements; instances then differ between types.
bool eg_instance_is_empty(const eg_instance_aim *aim);
/// True when few instances of the class suffice, because its attribute has many classes.
bool eg_instance_is_fine(const eg_instance_aim *aim);
/// Appends a class of instances: "stride 3 of max-pool" or "rank 2 of ?x".
egraph_status eg_instance_aim_print(eg_text *text, const eg_rule *rule,
                                    const eg_instance_aim *aim);

/// Prepares the random choice of a node or leaf for the class: dimensions, rank, windows.
void eg_instance_prepare(const eg_instance_aim *aim, eg_verify_choice *choice);
/// Sets the attribute that the class is about to a value of the class unless it is set.
/// Called once operand 0 is known, except for attributes by which operand 0 is chosen.
void eg_instance_put(const eg_instance_aim *aim, eg_verify_choice *choice);
/// Changes an operand so that it is in the class of instances (OPERANDS, DIMS, RANK).
/// Does nothing in some draws, because other operands may have to change with it.
void eg_instance_fit(const eg_instance_aim *aim, eg_verify_choice *choice,
                     uint32_t operand);
/// Return the least and the largest rank that the class allows; the class is about RANK.
uint32_t eg_instance_least_rank(const eg_instance_aim *aim);
uint32_t eg_instance_most_rank(const eg_instance_aim *aim);
uint32_t eg_instance_rank(const eg_instance_aim *aim, eg_verify_choice *choice);

#endif
