// Texts that a rule leaves open: equations of einsum and activations of recurrent layers,
// and what classes ask of them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_TEXTS_H
#define EG_REWRITES_INSTANCE_TEXTS_H

#include "rewrites/lab/instances/instance_choose.h"

enum { EG_EQUATION_BYTES = 96 };

typedef enum eg_equation_kind {
  EG_EQUATION_IN_ORDER, // the result has its letters in the order of the operands,
  EG_EQUATION_SWAP,     // in one that is its own reverse,
  EG_EQUATION_CYCLE,    // or in one that is not
  EG_EQUATION_SUM,      // over a letter of one operand
  EG_EQUATION_DIAGONAL, // a letter twice in an operand
  EG_EQUATION_DOTS,
  EG_EQUATION_PRODUCTS_SUMMED, // over a letter of several operands
  EG_EQUATION_BATCH,           // a letter of several operands in the result
  EG_EQUATION_OUTER            // letters of one operand each in the result
} eg_equation_kind;

/// Activations of a recurrent layer: the default, or others.
const char *eg_activations_draw(eg_verify_choice *choice, bool is_default);
/// A number for each of the activations, which are drawn now where they are not set, or
/// none.
void eg_activation_numbers_draw(eg_verify_choice *choice, bool is_default, eg_attr *attr);

/// Whether a well-formed equation with "->" is of the kind.
bool eg_equation_is(eg_equation_kind kind, const char *equation);
/// One for so many operands, the first of which is `first` (NULL: any).
void eg_equation_draw(eg_verify_choice *choice, uint32_t operands, const eg_type *first,
                      char out[EG_EQUATION_BYTES]);

#endif
