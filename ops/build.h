// Functions that emit computations as nodes into a holder of nodes: a graph, an e-graph,
// or another one. The builder reaches it through two function pointers.
//
//   eg_ref t = EG_FORMULA(b, "(mul d (sub 1 (square y)))", "dy", d, y);
//   eg_ref sum = eg_build_sum_to(b, t, type);
//
// The builder keeps the first failure: every later call does nothing and returns
// EG_REF_NONE, and the caller reads `status` at the end. At most one argument of a call
// may emit, because C does not fix the order in which arguments are evaluated.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_BUILD_H
#define EG_OPS_BUILD_H

#include "ops/ops.h"

/// A value of the holder (a graph, an e-graph) to which the builder adds nodes.
typedef struct eg_ref {
  uint32_t id;
} eg_ref;
#define EG_REF_NONE ((eg_ref){UINT32_MAX})
static inline bool eg_ref_exists(eg_ref ref) { return ref.id != UINT32_MAX; }

typedef struct eg_builder {
  void *self; /* required; the first argument of both functions */
  /* required: adds a node, or finds the equal one. out_results has room for
   * eg_op_results(attrs). */
  egraph_status (*emit)(void *self, const eg_attrs *attrs, const eg_ref *inputs,
                        uint32_t count, eg_ref *out_results);
  /* required: the type of a value; valid as long as the holder */
  const eg_type *(*type_of)(void *self, eg_ref value);
  egraph_allocator alloc; // allocates scratch memory
  egraph_dtype dtype;     // dtype of numbers in formulas
  egraph_status status;   // the first failure
} eg_builder;

static inline eg_attr eg_ints_attr(const int64_t *data, uint32_t len) {
  return (eg_attr){.kind = EG_ATTR_INTS, .ints = {.data = data, .len = len}};
}
static inline eg_attr eg_int_attr(int64_t value) {
  return (eg_attr){.kind = EG_ATTR_INT, .i = value};
}

/// Keeps a failure as the builder's status, unless it has one already.
void eg_build_keep(eg_builder *b, egraph_status status);
/// Returns the type of a value of the holder; for EG_REF_NONE, a scalar type.
const eg_type *eg_build_type(eg_builder *b, eg_ref value);

/// Emits a node; slots[0 .. attr_count) are its attributes; NULL: the defaults.
void eg_build_results(eg_builder *b, eg_op op, const eg_attr *slots, const eg_ref *inputs,
                      uint32_t count, eg_ref *out_results);
/// Emits a node with one result; `slots` are its attributes, NULL: the defaults.
eg_ref eg_build_node(eg_builder *b, eg_op op, const eg_attr *slots, const eg_ref *inputs,
                     uint32_t count);
/// Emits a node with default attributes: EG_BUILD(b, EG_OP_ADD, x, y).
#define EG_BUILD(b, op, ...)                                                             \
  eg_build_node((b), (op), NULL, (const eg_ref[]){__VA_ARGS__},                          \
                sizeof((const eg_ref[]){__VA_ARGS__}) / sizeof(eg_ref))

/// Emits a formula of operators with default attributes, in the syntax of rule files:
/// letters are variables, numbers are scalars of the builder's dtype. names[i] is the
/// letter of values[i].
eg_ref eg_build_formula(eg_builder *b, const char *formula, const char *names,
                        const eg_ref *values);
#define EG_FORMULA(b, formula, names, ...)                                               \
  eg_build_formula((b), (formula), (names), (const eg_ref[]){__VA_ARGS__})
/// Emits a formula that may also name numeric attributes in `attrs`; NULL: it has none.
eg_ref eg_build_formula_of(eg_builder *b, const char *formula, const eg_attrs *attrs,
                           const char *names, const eg_ref *values);
/// True when a formula has this variable.
bool eg_formula_uses(const char *formula, char name);

/// Emits a tensor of equal elements, or a scalar of the builder's dtype.
eg_ref eg_build_fill(eg_builder *b, const eg_type *type, double value);
eg_ref eg_build_number(eg_builder *b, double value);
/// Emits 0, 1, ... n - 1 in int64.
eg_ref eg_build_range(eg_builder *b, int64_t n);
eg_ref eg_build_cast(eg_builder *b, eg_ref x, egraph_dtype dtype);
/// Reshapes x, or broadcasts it to the shape of `to`, whose dtype is ignored. Emits no
/// node when x has that shape.
eg_ref eg_build_reshape(eg_builder *b, eg_ref x, uint32_t rank, const int64_t *dims);
eg_ref eg_build_expand(eg_builder *b, eg_ref x, const eg_type *to);
eg_ref eg_build_transpose(eg_builder *b, eg_ref x, const int64_t *perm);
/// Takes the elements [starts, ends) of every dimension with steps; `steps` NULL: all 1.
eg_ref eg_build_slice(eg_builder *b, eg_ref x, const int64_t *starts, const int64_t *ends,
                      const int64_t *steps);
/// Adds zeros before and after every dimension.
eg_ref eg_build_pad(eg_builder *b, eg_ref x, const int64_t *begins, const int64_t *ends);
/// Reduces x over the dimensions whose bit is set; emits no node when no bit is set.
eg_ref eg_build_reduce(eg_builder *b, eg_op op, eg_ref x, uint32_t dims, bool keep);
/// Sums x over all dimensions that broadcasting `type` to x's shape repeats. This turns
/// the cotangent of a result into the cotangent of a broadcast operand.
eg_ref eg_build_sum_to(eg_builder *b, eg_ref x, const eg_type *type);

/// Labels of an operand's dimensions: equal ones share a loop index (eg_build_contract).
typedef struct eg_labels {
  uint32_t rank;
  uint8_t label[EGRAPH_MAX_RANK];
} eg_labels;
enum { EG_MAX_LABELS = 52 };

/// Emits the product of the operands, summed over all labels that `to` lacks, as an
/// einsum does. A dimension of 1 under a label of another size is broadcast. The result
/// is repeated along labels that only `to` has; a label that `to` has twice is a
/// diagonal, with zeros elsewhere. The result has type `type`; `sizes` are the sizes of
/// the labels.
eg_ref eg_build_contract(eg_builder *b, const eg_ref *operands, const eg_labels *labels,
                         uint32_t count, const int64_t *sizes, const eg_labels *to,
                         const eg_type *type);

#endif
