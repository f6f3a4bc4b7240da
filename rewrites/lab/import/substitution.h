// A published substitution as its file has it: two graphs that compute the same results.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_SUBSTITUTION_H
#define EG_REWRITES_IMPORT_SUBSTITUTION_H

#include "base/text.h"
#include "base/vec.h"

// Limits; larger substitutions are read and get the verdict "too large".
enum {
  EG_SUBST_OPS = 24,    // operators of a side
  EG_SUBST_TENSORS = 8, // operands of an operator, results of a substitution
  EG_SUBST_PARAMETERS = 18
};

// Kinds of operators, by their numbers in protocol buffer files. FlexFlow's own
// operators, whose numbers TASO uses for others, are 100 higher (subst_ops.def).
typedef enum eg_subst_kind {
#define EG_SUBST_OP(ID, NUMBER, WORDS, JSON) EG_SUBST_##ID = NUMBER,
#include "rewrites/lab/import/subst_ops.def"
#undef EG_SUBST_OP
} eg_subst_kind;
enum { EG_SUBST_FLEXFLOW = 100 };

typedef enum eg_subst_parameter {
#define EG_SUBST_PM(ID, NUMBER, JSON) EG_SUBST_PM_##ID = NUMBER,
#include "rewrites/lab/import/subst_ops.def"
#undef EG_SUBST_PM
} eg_subst_parameter;

// Values of operator parameters in substitution files.
enum { EG_SUBST_SAME = 0, EG_SUBST_VALID = 1 }; // PAD
enum {
  EG_SUBST_ACT_NONE = 0,
  EG_SUBST_ACT_SIGMOID,
  EG_SUBST_ACT_RELU, // ACTIVATION
  EG_SUBST_ACT_TANH
};

/// A tensor of a substitution: result `output` of operator `op`; op < 0: variable -op.
typedef struct eg_subst_tensor {
  int32_t op, output;
} eg_subst_tensor;

typedef struct eg_subst_op {
  int32_t kind; // eg_subst_kind, or another number
  eg_subst_tensor inputs[EG_SUBST_TENSORS];
  uint32_t input_count;
  int32_t parameter[EG_SUBST_PARAMETERS]; // 0 when the file does not give it
  uint32_t said;                          // bits of the parameters that the file gives
} eg_subst_op;

typedef struct eg_subst_side {
  eg_subst_op ops[EG_SUBST_OPS]; // operands precede the operators that use them
  uint32_t op_count;
  eg_subst_tensor results[EG_SUBST_TENSORS];
} eg_subst_side;

typedef struct eg_substitution {
  eg_subst_side left, right;
  uint32_t result_count;
  bool is_too_large;
} eg_substitution;

/// Returns the name of a kind of operator, "conv2d" and so on; for an unknown number,
/// "operator 99" in `buffer`.
const char *eg_subst_kind_name(int32_t kind, char buffer[32]);
// ---- for readers of files ------------------------------------------------------------

/// Sets a parameter of an operator; ignores numbers outside 0 .. EG_SUBST_PARAMETERS - 1.
void eg_subst_set(eg_subst_op *op, int32_t parameter, int32_t value);
/// Adds an operand to an operator; returns false when there are too many.
bool eg_subst_add_input(eg_subst_op *op, eg_subst_tensor input);
/// Adds an operator to a side of the substitution. Returns false when one of its operands
/// does not come first. Beyond the limit, marks the substitution as too large.
bool eg_subst_add_op(eg_substitution *subst, eg_subst_side *side, const eg_subst_op *op);
void eg_subst_add_result(eg_substitution *subst, eg_subst_tensor left,
                         eg_subst_tensor right);
/// True when the substitution has results, and the operators that compute them.
bool eg_subst_is_complete(const eg_substitution *subst);

// ---- for readers of sides -------------------------------------------------------------

/// True when the variable is a result of the side, or an operand of one of its operators.
bool eg_subst_side_has(const eg_subst_side *side, uint32_t results, int32_t variable);
/// True when a result of the side depends on operator `op`.
bool eg_subst_side_needs(const eg_subst_side *side, uint32_t results, uint32_t op);

/// Overwrites `out` with one text for all substitutions that are equal up to the names of
/// variables, the direction, the order of results, and the laws of sums and products:
/// sums and products of elements are commutative and associative, matrix products
/// associative. The laws are not applied when they alone make both sides the same: such a
/// substitution is an instance of the laws and keeps its own text. "" for a substitution
/// that is too large. Fails with EGRAPH_E_MEMORY. O(n! n log n) for n <= 6 variables;
/// with more variables, keeps the order of first occurrence and finds fewer duplicates.
egraph_status eg_subst_canonical(const eg_substitution *subst, egraph_allocator alloc,
                                 eg_text *out);

// ---- files ----------------------------------------------------------------------------

// Files may be hostile: sizes, nesting and numbers are bounded, operands precede their
// users, variables and results exist.

/// The largest number of substitutions of a file, and the largest number of a variable.
enum { EG_SUBST_MOST = 10000, EG_SUBST_VARIABLES = 1000000 };

EG_VEC_DEFINE(eg_substitutions, eg_substitution);

typedef enum eg_subst_origin {
  EG_SUBST_FROM_TASO,   // protocol buffers of TASO
  EG_SUBST_FROM_UNITY,  // FlexFlow's: tensors of copies, rows, columns
  EG_SUBST_FROM_TENSAT, // texts
  EG_SUBST_ORIGINS
} eg_subst_origin;
/// Returns "TASO (SOSP'19)" and so on, the text that a rule names as its source.
const char *eg_subst_origin_words(eg_subst_origin origin);
/// Returns "taso" and so on, the prefix of rule names.
const char *eg_subst_origin_prefix(eg_subst_origin origin);

typedef struct eg_subst_file {
  eg_substitutions list;
  eg_subst_origin origin;
} eg_subst_file;

void eg_subst_file_init(eg_subst_file *file, egraph_allocator alloc);
void eg_subst_file_deinit(eg_subst_file *file);

// Read a text or bytes in one format each into an empty file; `name` is for messages.
// Fail with EGRAPH_E_PARSE or EGRAPH_E_MEMORY.
egraph_status eg_subst_read_protobuf(const char *name, const char *bytes, size_t size,
                                     eg_subst_file *out);
egraph_status eg_subst_read_json(const char *name, const char *bytes, size_t size,
                                 eg_subst_file *out);
egraph_status eg_subst_read_text(const char *name, const char *bytes, size_t size,
                                 eg_subst_file *out);

#endif
