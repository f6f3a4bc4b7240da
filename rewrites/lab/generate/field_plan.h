// Plans of operators in the field. A plan finds the elements on which a result depends
// by running the reference kernel on unit vectors in float64; then the kernel and the
// plan are compared on random numbers. An operator therefore means the same in the field
// as elsewhere.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_FIELD_PLAN_H
#define EG_REWRITES_GENERATE_FIELD_PLAN_H

#include "rewrites/lab/generate/field.h"

enum { EG_FIELD_MAX_OPERANDS = 6, EG_FIELD_MAX_ELEMENTS = 1024 };

/// Sums that give the elements of a result. Element i adds the entries [begin[i], begin[i
/// + 1]): products of two operand elements, or operand elements times factors.
typedef struct eg_field_terms {
  uint32_t *begin;   // [elements + 1]
  uint32_t *from;    // products: element of operand 0; else EG_FIELD_PLACE
  uint32_t *other;   // products: element of operand 1; else NULL
  uint64_t *factors; // NULL: all factors are 1
} eg_field_terms;
/// Packs the number of an operand and the index of one of its elements into one number.
#define EG_FIELD_PLACE(operand, element) ((uint32_t)(operand) << 24 | (element))

typedef enum eg_field_kind {
  EG_FIELD_POLYNOMIAL, // function(sum of products + sum of elements)
  EG_FIELD_PAIRWISE,   // function of two elements: quotient, maximum, comparison
  EG_FIELD_CHOICE,     // the second or third of three elements, selected by the first
  EG_FIELD_LATTICE,    // maximum or minimum of elements
  EG_FIELD_ROWS,       // softmax and normalization: function of all elements of a row
  EG_FIELD_CONSTANT
} eg_field_kind;

/// How to compute one result of an operator over the field GF(p), for certain operand
/// types. Lives in the arena that made it; may be used by several threads.
typedef struct eg_field_plan {
  eg_field_kind kind;
  eg_op op;
  eg_type type;      // type of the result, inferred from the operands' dtypes
  uint32_t elements; // number of elements of the result
  uint32_t operand_count;
  bool has_function;
  eg_field_function function;
  bool has_products;
  eg_field_terms products,
      sums; // elements of a result: PAIRWISE two, CHOICE three, LATTICE a window
  // EG_FIELD_ROWS: `sums` has the elements of each row that is normalized; channel[i] is
  // the index into scale, bias, ... for element i of the result.
  uint32_t *channel;
  uint32_t row_count;
  uint64_t epsilon;
  uint64_t *constants; // CONSTANT: its elements
  double *reals;       // the same elements as the kernel computes them
} eg_field_plan;

/// Makes the plan of result number `result` of an operator. Fails with EGRAPH_E_TYPE when
/// type inference does, and with EGRAPH_E_UNSUPPORTED when the field lacks the operator
/// ("top-k has no meaning in the field; leave it out of the family") or a type has more
/// than EG_FIELD_MAX_ELEMENTS elements.
egraph_status eg_field_plan_make(eg_arena *arena, const eg_attrs *attrs,
                                 const eg_type *types, uint32_t count, uint32_t result,
                                 uint64_t key, eg_field_plan *out);
/// Computes the planned result from the operands over the field; out: [plan->elements].
void eg_field_plan_run(const eg_field_plan *plan, const uint64_t *const *operands,
                       uint64_t *out);
/// For a polynomial plan without function: finds the numbers c with <c, operand 0> +
/// *out_rest = <weights, result>, given operand 1 (NULL when there is none) and the
/// operands after it. out: [elements of operand 0].
void eg_field_plan_adjoint(const eg_field_plan *plan, const uint64_t *const *operands,
                           const uint64_t *weights, uint32_t count, uint64_t *out,
                           uint64_t *out_rest);
/// Returns the sum of a[i] b[i].
uint64_t eg_field_dot(const uint64_t *a, const uint64_t *b, uint32_t count);

#endif
