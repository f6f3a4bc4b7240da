// A class that instances of a rule may be in, and a node that may be.
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
  EG_INSTANCE_NAMED,   // a number of an attribute beside one that the rule names: no row
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
  bool is_chosen;               // WAY: the call stands in a branch of an `if`
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

#endif
