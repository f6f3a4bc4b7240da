// Classes of instances: a rule is compared on each class that its conditions allow. Rows
// of classes are in instance_classes.def.
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
  EG_INSTANCE_VALUE,   // of a symbol or type attribute: no row
  EG_INSTANCE_WAY,     // that an expression goes (instance_ways.h): no row
  EG_INSTANCE_NAMED,   // an attribute near a number that the rule names: no row
  EG_INSTANCE_BETWEEN, // all numbers of the rule lie between two whole ones: no row
  EG_INSTANCE_SPECIAL, // a constant that the rule binds is special: no row
  EG_INSTANCE_DTYPE    // of operands: no row
} eg_instance_subject;

typedef struct eg_instance_class eg_instance_class; // a row

/// A class that instances of one rule may be in.
typedef struct eg_instance_aim {
  eg_instance_subject subject;
  const eg_instance_class *row; // NULL where there is no row
  uint32_t term;                // ATTR, KERNEL, OPERANDS, VALUE, NAMED: of the pattern
  uint16_t slot;                // ATTR, VALUE, NAMED
  uint32_t var;                 // DIMS, RANK
  uint32_t expr, rank;          // WAY: the call, and the rank that it asks for or 0
  bool is_chosen;               // WAY: the call is in a branch of an `if`
  // VALUE, DTYPE; NAMED, WAY: -1 below, 0 at, 1 above; SPECIAL: kind; BETWEEN: 1 if
  // operands are integers.
  int64_t value;
  double number; // NAMED
} eg_instance_aim;
EG_VEC_DEFINE(eg_instance_aims, eg_instance_aim);

/// A node that is complete.
typedef struct eg_instance_node {
  eg_op op;
  const eg_attr *slots;
  const eg_type *types; // of its operands
  uint32_t count;
} eg_instance_node;

/// True for a class variable of the left side, which has a leaf.
static inline bool eg_verify_is_leaf(const eg_rule *rule, uint32_t var) {
  return rule->vars[var].kind == EG_RULE_TENSOR &&
         rule->vars[var].origin == EG_RULE_VAR_MATCHED;
}

/// True when an attribute is 0 or 1, and nothing else.
bool eg_instance_is_flag(const char *name);
/// Appends the classes that the left side of a rule leaves open.
egraph_status eg_instance_aims_of(const eg_rule *rule, eg_instance_aims *out);
/// ATTR, KERNEL, OPERANDS, VALUE, NAMED: whether the node is in the class.
bool eg_instance_node_is_in(const eg_instance_aim *aim, const eg_instance_node *node);
/// Numbers of attributes that the left side leaves open, but those that are small by
/// their nature.
bool eg_instance_is_open_number(const eg_rule *rule, uint32_t term, uint16_t slot);
uint32_t eg_instance_open_numbers(const eg_rule *rule);
/// BETWEEN: whether the numbers of all terms are.
bool eg_instance_are_between(const eg_rule *rule, const eg_attrs *const *attrs);
/// DIMS, RANK: whether the type is.
bool eg_instance_type_is_in(const eg_instance_aim *aim, const eg_type *type);
/// DIMS, RANK: whether its instances are many times as large as others.
bool eg_instance_is_large(const eg_instance_aim *aim);
/// True when it is of operands without elements, which differ between element types.
bool eg_instance_is_empty(const eg_instance_aim *aim);
/// ATTR: whether some instances of it are enough, because other classes have many.
bool eg_instance_is_fine(const eg_instance_aim *aim);
/// Appends "stride 3 of max-pool" or "rank 2 of ?x".
egraph_status eg_instance_aim_print(eg_text *text, const eg_rule *rule,
                                    const eg_instance_aim *aim);

/// Prepares a choice of the term, or of a leaf, for the class: dimensions, rank, windows.
void eg_instance_prepare(const eg_instance_aim *aim, eg_verify_choice *choice);
/// Puts the attribute into the class if it is not set: once operand 0 is known, but for
/// what operand 0 is chosen by.
void eg_instance_put(const eg_instance_aim *aim, eg_verify_choice *choice);
/// OPERANDS, DIMS, RANK: puts the operand into the class. Often, where others may have to
/// follow.
void eg_instance_fit(const eg_instance_aim *aim, eg_verify_choice *choice,
                     uint32_t operand);
/// RANK: the least and the largest of the row, and one of it.
uint32_t eg_instance_least_rank(const eg_instance_aim *aim);
uint32_t eg_instance_most_rank(const eg_instance_aim *aim);
uint32_t eg_instance_rank(const eg_instance_aim *aim, eg_verify_choice *choice);

#endif
