// Meanings of operators for code that computes them without their kernels: in a finite
// field, as scalars of a proof, as text for a solver, by other operators.
//
// An element formula is parsed once into terms, operands first, and then computed by one
// loop over an array of values, one per term. The caller computes a CALL itself when it
// knows the operator, or else by the formula of that operator. Operators without a
// formula are the primitives of formulas.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_MEANING_H
#define EG_OPS_MEANING_H

#include "ops/ops.h"

typedef enum eg_formula_kind {
  EG_FORMULA_NUMBER,
  EG_FORMULA_OPERAND,
  EG_FORMULA_ATTR, // a numeric attribute; of symbols the index, of switches 0 or 1
  EG_FORMULA_CALL  // an operator with default attributes
} eg_formula_kind;

enum { EG_FORMULA_TERMS = 40, EG_FORMULA_OPERANDS = 3 };

typedef struct eg_formula_term {
  eg_formula_kind kind;
  uint8_t which;                     // OPERAND: its number, ATTR: its slot
  uint8_t count;                     // CALL: operands
  uint8_t kids[EG_FORMULA_OPERANDS]; // CALL: terms before this one
  bool is_rounded; // NUMBER: the nearest double to another number, such as 1/6
  eg_op op;        // CALL
  double number;   // NUMBER
} eg_formula_term;

/// The last term is the value.
typedef struct eg_formula {
  uint32_t count;
  eg_formula_term terms[EG_FORMULA_TERMS];
} eg_formula;

/// Reads the element formula of an operator; false when it has none.
bool eg_formula_of(eg_op op, eg_formula *out);
/// Reads a formula of this program, in which letters are operands: names[i] is the letter
/// of operand i. Words may be attributes of `op`; EG_OP_COUNT: there are none.
void eg_formula_read(const char *text, const char *names, eg_op op, eg_formula *out);

/// The operator that an activation equals; identity for none.
eg_op eg_act_operator(eg_act act);
/// The attributes of eg_act_operator(act) that make it equal the activation; they live in
/// `slots`.
eg_attrs eg_act_attrs(eg_act act, double alpha, double beta, eg_attr slots[2]);

/// The window that an operator moves over spatial dimensions, an entry per dimension.
typedef struct eg_windows {
  eg_ints kernel, strides, pads, dilations; // no dilations: 1 each
} eg_windows;
/// False when the operator has no such window. The kernel is an attribute, or dimensions
/// 2 and following of the weight.
bool eg_op_windows(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                   eg_windows *out);

#endif
