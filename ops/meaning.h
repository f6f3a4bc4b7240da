// Meanings of operators for code that evaluates them without their kernels: in a finite
// field, on scalars of a proof, as text for a solver, or by other operators.
//
// An element formula is parsed once into terms, operands first. One loop then computes a
// value per term. The caller computes a CALL itself when it knows the operator;
// otherwise it uses the formula of that operator. Operators without a formula are the
// primitives of formulas.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_MEANING_H
#define EG_OPS_MEANING_H

#include "ops/ops.h"

typedef enum eg_formula_kind {
  EG_FORMULA_NUMBER,
  EG_FORMULA_OPERAND,
  EG_FORMULA_ATTR, // a numeric attribute; a symbol is its index, a switch 0 or 1
  EG_FORMULA_CALL  // an operator with default attributes
} eg_formula_kind;

enum { EG_FORMULA_TERMS = 40, EG_FORMULA_OPERANDS = 3 };

typedef struct eg_formula_term {
  eg_formula_kind kind;
  uint8_t which; // OPERAND: number of the operand, ATTR: slot of the attribute
  uint8_t count; // CALL: number of operands
  uint8_t kids[EG_FORMULA_OPERANDS]; // CALL: operands, numbers of earlier terms
  bool is_rounded; // NUMBER: the nearest double to another number, such as 1/6
  eg_op op;        // CALL
  double number;   // NUMBER
} eg_formula_term;

/// A parsed formula: terms, operands first; the last term's value is the formula's.
typedef struct eg_formula {
  uint32_t count;
  eg_formula_term terms[EG_FORMULA_TERMS];
} eg_formula;

/// Reads the element formula of a pointwise operator; false when it has none.
bool eg_formula_of(eg_op op, eg_formula *out);
/// Reads a formula that is written in this program (not in input), in which letters are
/// operands: names[i] is the letter of operand i. Words may be attributes of `op`;
/// EG_OP_COUNT: there are none.
void eg_formula_read(const char *text, const char *names, eg_op op, eg_formula *out);

/// The fused activation of a node, with its two numbers (act_alpha, act_beta).
typedef struct eg_fused_act {
  eg_act act;
  double alpha, beta;
} eg_fused_act;
/// Reads the activation of a node that has the attribute `act`.
eg_fused_act eg_fused_act_of(const eg_attrs *attrs);
/// Returns the operator that an activation equals; identity for EG_ACT_NONE.
eg_op eg_act_operator(eg_act act);
/// Returns attributes, stored in `slots`, with which eg_act_operator(act) equals
/// the activation.
eg_attrs eg_act_attrs(eg_act act, double alpha, double beta, eg_attr slots[2]);

/// The window that an operator moves over spatial dimensions: lists with an entry
/// per dimension.
typedef struct eg_windows {
  eg_ints kernel, strides, pads, dilations; // empty dilations are all 1
} eg_windows;
/// Finds the window of a node; false when the operator has none. The kernel is an
/// attribute, or dimensions 2 and following of the weight.
bool eg_op_windows(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                   eg_windows *out);

#endif
