// Sizes: numbers, or expressions of open dimensions.
//
//   int64_t n, m;                        a size is an int64_t, as a dimension is
//   eg_open_sizes_add_dim(sizes, &dim, &n);   n: the open dimension "seq"
//   eg_size_mul(n, 12, &m);              m: 12*seq
//   eg_size_add(4, 8, &m);               m: 12; numbers are their own value
//
// The handle of an expression is a number beyond all sizes. It identifies its owner, so
// that code that computes with dimensions need not know whether they are open.
// Arithmetic on a handle by other means than these functions gives a number that is not
// a size (eg_size_is_broken).
//
// Expressions are polynomials over atoms: open dimensions, dimensions of tensors that
// cannot be computed, floor(p / q), max(p, 0), and broadcast(p, q). Equal polynomials
// have one handle. Functions that compare sizes return true only if the relation holds
// for all values >= 1 of open dimensions that the model admits: those that meet its
// facts, the conditions of its own operators.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_SIZE_H
#define EG_OPS_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct eg_open_sizes eg_open_sizes;

/// An open dimension of an input.
typedef struct eg_open_dim {
  const char *name;  // name in the file, or "INPUT.AXIS" for a dimension without a name
  bool is_named;     // the dimension has a name in the file
  const char *input; // the first input that has the dimension
  uint32_t axis;     // axis of that input
  int64_t example;   // the size at which the graph is priced
} eg_open_dim;

/// Creates an owner of expressions, which graphs share: each graph releases it, the last
/// one frees it. Fails with EGRAPH_E_MEMORY, and with EGRAPH_E_UNSUPPORTED when some
/// thousand owners exist.
egraph_status eg_open_sizes_create(egraph_allocator alloc, eg_open_sizes **out);
eg_open_sizes *eg_open_sizes_retain(eg_open_sizes *sizes); // NULL is allowed
void eg_open_sizes_release(eg_open_sizes *sizes);          // NULL is allowed
/// Adds an open dimension; texts are copied.
egraph_status eg_open_sizes_add_dim(eg_open_sizes *sizes, const eg_open_dim *dim,
                                    int64_t *out);
/// Adds dimension `axis` of a tensor whose operator is not known, as an open size; costs
/// are computed with `example`.
egraph_status eg_open_sizes_add_unknown(eg_open_sizes *sizes, const char *tensor,
                                        uint32_t axis, int64_t example, int64_t *out);
uint32_t eg_open_sizes_dim_count(const eg_open_sizes *sizes);
const eg_open_dim *eg_open_sizes_dim(const eg_open_sizes *sizes, uint32_t index);
/// Ends the collection of facts: conditions on open sizes that the model's operators
/// require. While a model is read, each condition becomes a fact: two sizes that must be
/// equal are then equal at all sizes that the model admits.
void eg_open_sizes_close(eg_open_sizes *sizes);
/// Changes example sizes of open dimensions that are not `given` ([dim count] flags)
/// until all facts (conditions of the model) hold and, if possible, no size in `filled`
/// [count] is 0. *out_found: all facts hold.
egraph_status eg_open_sizes_choose_examples(eg_open_sizes *sizes, const bool *given,
                                            const int64_t *filled, uint32_t count,
                                            bool *out_found);
/// True when all facts (conditions of the model) hold for open dimensions `dims`.
bool eg_open_sizes_admit(const eg_open_sizes *sizes, const int64_t *dims);
void eg_open_sizes_set_example(eg_open_sizes *sizes, uint32_t dim, int64_t example);
/// Records whether the model can be read at the example sizes: unknown nodes add no
/// conditions, and may need other sizes. Without a call, the model counts as readable.
void eg_open_sizes_tell_readable(eg_open_sizes *sizes, bool is_readable);
bool eg_open_sizes_is_readable(const eg_open_sizes *sizes);
/// Return the number of facts (conditions of the model), and remove all facts after the
/// first `count`: the facts of an operator that could not be read.
uint32_t eg_open_sizes_fact_count(const eg_open_sizes *sizes);
void eg_open_sizes_forget_facts(eg_open_sizes *sizes, uint32_t count);
/// Returns EGRAPH_E_MEMORY when a function below has failed for lack of memory.
egraph_status eg_open_sizes_status(const eg_open_sizes *sizes);

bool eg_size_is_open(int64_t size);
/// Returns the owner of the expression, borrowed; NULL for a number.
eg_open_sizes *eg_size_owner(int64_t size);
/// True for a number that was computed from a handle by arithmetic other than eg_size_*.
bool eg_size_is_broken(int64_t size);
bool eg_size_any_open(const int64_t *sizes, uint32_t count);

// ---- arithmetic: false on overflow, and where the result has no expression -----------

bool eg_size_add(int64_t a, int64_t b, int64_t *out);
bool eg_size_sub(int64_t a, int64_t b, int64_t *out);
bool eg_size_mul(int64_t a, int64_t b, int64_t *out);
/// Round a / b, b >= 1, down and up to a whole number.
bool eg_size_floor_div(int64_t a, int64_t b, int64_t *out);
bool eg_size_ceil_div(int64_t a, int64_t b, int64_t *out);
/// Computes a / b if b is shown to divide a; while a model is read, this becomes a fact
/// (a condition that the model requires).
bool eg_size_exact_div(int64_t a, int64_t b, int64_t *out);
bool eg_size_min(int64_t a, int64_t b, int64_t *out);
bool eg_size_max(int64_t a, int64_t b, int64_t *out);
/// Computes the result size where two dimensions meet in a pointwise operator: they are
/// equal, or one of them is 1.
bool eg_size_broadcast(int64_t a, int64_t b, int64_t *out);

// ---- order: true if it holds at all sizes --------------------------------------------

bool eg_size_same(int64_t a, int64_t b);
bool eg_size_at_least(int64_t a, int64_t b);
/// True when a and b are equal at no value of the open dimensions.
bool eg_size_differs(int64_t a, int64_t b);
// While a model is read, these functions also return true, and their relation becomes a
// fact (a condition that the model requires), unless it is wrong at all sizes.
bool eg_size_agree(int64_t a, int64_t b);   // a = b; no fact where one of them is 1,
                                            // because broadcasting may stretch the other
bool eg_size_reaches(int64_t a, int64_t b); // a >= b
/// Records a wish, not a condition: the size is not negative at the example sizes.
void eg_size_wish(int64_t size);
/// True when dimension `size` broadcasts to dimension `to` without changing `to`.
bool eg_size_stretches_to(int64_t size, int64_t to);

// ---- values and parts ----------------------------------------------------------------

/// Returns the value of a size at the example sizes of open dimensions.
int64_t eg_size_example(int64_t size);
/// Returns the value of a size where open dimensions are `dims` [dim count]; dimensions
/// of tensors that cannot be computed have their example.
int64_t eg_size_at(int64_t size, const int64_t *dims);
/// True when open dimensions alone determine the value of a size.
bool eg_size_is_determined(int64_t size);
/// True when each unknown dimension in `size` also occurs in one of `others`.
bool eg_size_is_told_by(int64_t size, const int64_t *others, uint32_t count);
/// Appends the expression of a size: "2*seq + 1".
egraph_status eg_size_print(eg_text *text, int64_t size);

typedef enum eg_size_atom_kind {
  EG_SIZE_DIM,      // an open dimension: `index`
  EG_SIZE_UNKNOWN,  // dimension `index` of `tensor`
  EG_SIZE_FLOOR,    // floor(a / b)
  EG_SIZE_POSITIVE, // max(a, 0)
  EG_SIZE_STRETCH   // b where a is 1, else a
} eg_size_atom_kind;

typedef struct eg_size_atom {
  eg_size_atom_kind kind;
  int64_t a, b;
  uint32_t index;
  const char *tensor;
  int64_t example; // UNKNOWN: size at the example
} eg_size_atom;

enum { EG_SIZE_DEGREE = 8 };

/// A term of the polynomial of a size: coefficient * product of atoms (open dimensions,
/// floors, maxima); without atoms, a constant.
typedef struct eg_size_term {
  int64_t coefficient;
  uint32_t count;
  eg_size_atom atoms[EG_SIZE_DEGREE];
} eg_size_term;

/// Return the number of terms, and one term. An open size is the sum of its terms.
uint32_t eg_size_term_count(int64_t size);
void eg_size_term_at(int64_t size, uint32_t index, eg_size_term *out);

#endif
