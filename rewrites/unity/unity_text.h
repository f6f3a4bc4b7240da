// Published substitutions of Unity, as its files hold them: messages of protocol buffers
// (GraphSubst of TASO and FlexFlow), rule by rule; and as text of the rule language.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_UNITY_TEXT_H
#define EG_REWRITES_UNITY_TEXT_H

#include "base/text.h"

// Larger rules are passed over.
enum {
  EG_UNITY_OPS = 16,    // of a side
  EG_UNITY_TENSORS = 8, // operands of an operator, results of a rule
  EG_UNITY_PARAMETERS = 17
};

// Operators, by the numbers of the file.
typedef enum eg_unity_kind {
  EG_UNITY_LINEAR = 5, // x, weight [out, in]
  EG_UNITY_RELU = 8,
  EG_UNITY_CONCAT = 12,
  EG_UNITY_SPLIT = 13, // in two halves
  EG_UNITY_ADD = 16,
  EG_UNITY_MUL = 17,
  EG_UNITY_PARTITION = 26,
  EG_UNITY_COMBINE = 27,
  EG_UNITY_REPLICATE = 28,
  EG_UNITY_REDUCE = 29
} eg_unity_kind;

typedef enum eg_unity_parameter {
  EG_UNITY_ACTIVATION = 9, // 0: none, 2: relu
  EG_UNITY_AXIS = 11,
  EG_UNITY_PARALLEL_DIM = 15,
  EG_UNITY_DEGREE = 16
} eg_unity_parameter;

/// Result `output` of the operator `op` of the same side; op < 0: the variable -op.
typedef struct eg_unity_tensor {
  int32_t op, output;
} eg_unity_tensor;

typedef struct eg_unity_op {
  int32_t kind; // eg_unity_kind, or another number
  eg_unity_tensor inputs[EG_UNITY_TENSORS];
  uint32_t input_count;
  int32_t parameter[EG_UNITY_PARAMETERS]; // 0 where the file says nothing
} eg_unity_op;

typedef struct eg_unity_side {
  eg_unity_op ops[EG_UNITY_OPS]; // operands stand before what uses them
  uint32_t op_count;
  eg_unity_tensor results[EG_UNITY_TENSORS];
} eg_unity_side;

typedef struct eg_unity_rule {
  eg_unity_side left, right;
  uint32_t result_count;
  bool is_too_large;
} eg_unity_rule;

typedef struct eg_unity_file {
  const unsigned char *at, *end;
  const char *name; // for messages
} eg_unity_file;

/// Reads the next rule; *out_any is false at the end. Fails with EGRAPH_E_PARSE.
egraph_status eg_unity_file_next(eg_unity_file *file, bool *out_any, eg_unity_rule *out);

// ---- text of the rule language -----------------------------------------------------

/// On which axes parallel operators work, in the order in which it is tried.
typedef enum eg_unity_axes {
  EG_UNITY_ONE_AXIS,
  EG_UNITY_BY_DIMENSION, // one for rows, one for columns, one for copies
  EG_UNITY_TWO_AXES      // every distribution over two
} eg_unity_axes;

/// Why a substitution has no meaning on a mesh, or NULL.
const char *eg_unity_fault(const eg_unity_rule *rule);
/// Parallel operators of both sides.
uint32_t eg_unity_parallel_count(const eg_unity_rule *rule);
/// Writes rule unity-<number> with its parallel operators on the axes chosen;
/// EG_UNITY_TWO_AXES: bit i of `second` puts the i-th on axis b, else on a. Overwrites
/// `text`; *out_fits is false when it would be too long. The substitution has no fault.
egraph_status eg_unity_write(const eg_unity_rule *rule, uint32_t number, egraph_math math,
                             eg_unity_axes axes, uint32_t second, eg_text *text,
                             bool *out_fits);

#endif
