// Bodies of fused nodes. A fused node computes several operators as one kernel: only its
// operands are read from memory, and only its result is written.
//
//   (fused :body "(mul a (sub b (reduce-sum :axes [1] :keepdims 1 (mul a b))))" y d)
//
// A body is a term in the syntax of graph files. The letters a, b, .. are the operands,
// in order; a number is a scalar of the dtype of operand a. Its operators are pointwise
// ones, and those that compute rows of the same rank: reductions that keep dimensions,
// softmax, normalizations and their gradients. Every value inside broadcasts to the same
// space; an operator that mixes elements of a dimension couples it, so it is not split.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_BODY_H
#define EG_OPS_BODY_H

#include "ops/build.h"

enum {
  EG_BODY_OPERANDS = 12,
  EG_BODY_STEPS = 32,
  EG_BODY_STEP_OPERANDS = 3,
  EG_BODY_SLOTS = 96, // attributes of all steps
  EG_BODY_INTS = 64   // entries of all lists among them
};

/// One operator of a body. Values are numbered: first the operands of the fused node,
/// then the results of steps.
typedef struct eg_body_step {
  eg_attrs attrs;
  uint32_t count;
  uint8_t operands[EG_BODY_STEP_OPERANDS]; // numbers of earlier values
  eg_type type;
  uint32_t mixed; // a bit per dimension of the space whose elements it mixes
} eg_body_step;

/// A body with the types of its values; the last step makes the result. Equal steps are
/// one step. It points into itself, so it cannot be copied.
typedef struct eg_body {
  eg_attr slots[EG_BODY_SLOTS];
  int64_t ints[EG_BODY_INTS];
  uint32_t slot_count, int_count;
  const eg_type *operands;
  uint32_t operand_count, count;
  eg_body_step steps[EG_BODY_STEPS];
  eg_type space;    // the shape to which all values broadcast
  uint32_t coupled; // a bit per dimension of the space whose elements are mixed
} eg_body;

/// Reads the body of a fused node, which may be hostile; `operands` must live as long as
/// the body. Allocates nothing. Fails with EGRAPH_E_TYPE.
egraph_status eg_body_read(eg_body *body, const eg_attrs *fused, const eg_type *operands,
                           uint32_t count);
/// Describes any node that a body may have as a body; a node that is not fused is a body
/// of one operator. As eg_body_read.
egraph_status eg_body_of_node(eg_body *body, const eg_attrs *attrs,
                              const eg_type *operands, uint32_t count);
/// True for attributes of a fused node, or of a node that may be a step of a body.
bool eg_body_may_have(const eg_attrs *attrs);
/// Returns the type of a value.
static inline const eg_type *eg_body_type(const eg_body *body, uint32_t value) {
  return value < body->operand_count ? &body->operands[value]
                                     : &body->steps[value - body->operand_count].type;
}
/// Returns the operations of all steps (eg_op_flops).
double eg_body_flops(const eg_body *body);
/// Returns a bit for each operand in which the result is linear when the others are
/// fixed; *out_joint: where there are none, operands in which it is linear together.
uint32_t eg_body_linear(const eg_body *body, uint32_t *out_joint);

/// Emits a formula (eg_build_formula_of) as one node: as a fused node if it has several
/// operators. `common` is the formula of the letter t; "": the formula lacks t. Letters
/// that do not occur need no value.
eg_ref eg_build_fused(eg_builder *b, const char *formula, const char *common,
                      const eg_attrs *attrs, const char *names, const eg_ref *values);

#endif
