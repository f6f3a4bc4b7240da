// The struct behind eg_open_sizes, and its functions, for size*.c.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_SIZE_INTERNAL_H
#define EG_OPS_SIZE_INTERNAL_H

#include <pthread.h>

#include "base/flatmap.h"
#include "base/vec.h"
#include "ops/size.h"
#include "ops/size_poly.h"

_Static_assert((int)EG_SIZE_POLY_DEGREE == (int)EG_SIZE_DEGREE, "atoms of a term");

/// A stored expression of open dimensions.
typedef struct eg_size_row {
  const eg_size_monomial *terms; // [count] terms, in the arena
  uint32_t count;
} eg_size_row;

EG_VEC_DEFINE(eg_size_rows, eg_size_row);
EG_VEC_DEFINE(eg_size_atoms, eg_size_atom);

/// Values of an atom (factor of a size expression) at a few choices of the open
/// dimensions: an inequality that fails at one of these points is refuted without a
/// proof. INT64_MAX: the value is too large.
enum { EG_SIZE_POINTS = 7 };
typedef struct eg_size_points {
  int64_t at[EG_SIZE_POINTS];
} eg_size_points;
EG_VEC_DEFINE(eg_size_points_list, eg_size_points);
EG_VEC_DEFINE(eg_open_dims, eg_open_dim);
/// A property of a size that holds whenever the model runs: the size is 0; it is not
/// negative; or it is the size at which two dimensions meet that are equal or one of
/// which is 1.
typedef enum eg_size_fact_kind {
  EG_SIZE_IS_ZERO,
  EG_SIZE_IS_NONNEGATIVE,
  EG_SIZE_IS_MEETING
} eg_size_fact_kind;
typedef struct eg_size_fact {
  eg_size_fact_kind kind;
  int64_t size;
} eg_size_fact;
EG_VEC_DEFINE(eg_size_facts, eg_size_fact);

/// A remembered answer. `holds`: there is a proof that a - b - less is never negative.
typedef struct eg_size_answer {
  int64_t a, b, less;
  bool holds;
} eg_size_answer;
EG_VEC_DEFINE(eg_size_answers, eg_size_answer);

struct eg_open_sizes {
  egraph_allocator alloc;
  pthread_mutex_t lock; // guards the following fields: several threads compute sizes
  uint32_t owners, slot;
  bool is_closed, has_failed, is_unreadable; // the model cannot be read at the example
  eg_arena arena;
  eg_open_dims dims;
  eg_size_atoms atoms;
  eg_size_points_list points; // [atoms]
  eg_size_rows rows;
  eg_flatmap map;              // hash of an expression -> its row
  eg_size_facts facts, wishes; // wishes only guide the choice of the example
  eg_size_answers answers;     // answers are kept once the last fact has been added
  eg_flatmap answered;
};

/// Computes floor(a / b); 0 for b = 0.
static inline int64_t eg_size_floor(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// Callers of the following functions hold the lock of the owner of sizes.

/// Returns the owner of the open size, a or b; NULL when both are numbers.
eg_open_sizes *eg_open_sizes_of(int64_t a, int64_t b);
void eg_size_load(const eg_open_sizes *sizes, int64_t size, eg_size_poly *out);
/// Stores an expression and returns its handle, or its number. False for lack of memory,
/// and for numbers beyond all sizes.
bool eg_size_store(eg_open_sizes *sizes, const eg_size_poly *p, int64_t *out);
/// Finds the number of an atom (factor of size expressions); atoms with equal kind and
/// operands have one number. `adds`: appends a new atom.
bool eg_size_find_atom(eg_open_sizes *sizes, const eg_size_atom *atom, bool adds,
                       uint16_t *out);

/// Returns the value of an expression at a sampled point (sizes of open dimensions).
int64_t eg_size_poly_at_point(const eg_open_sizes *sizes, const eg_size_poly *p,
                              uint32_t point);
eg_size_points eg_size_atom_points(const eg_open_sizes *sizes, const eg_size_atom *atom);

/// Appends a fact (condition on a size) unless it is there. False for lack of memory.
bool eg_size_note_fact(eg_open_sizes *sizes, eg_size_fact_kind kind, int64_t size);
/// While the model is read, appends a condition on a size; later, returns if it is known.
bool eg_size_admits(eg_open_sizes *sizes, eg_size_fact_kind kind, int64_t size);

/// True when an expression is >= 0 at all sizes; independent of facts, so that arithmetic
/// gives the same results before and after facts are noted.
bool eg_size_poly_is_nonnegative(const eg_open_sizes *sizes, const eg_size_poly *p);
/// True when an expression is 0 at all sizes that the model admits.
bool eg_size_poly_is_zero(const eg_open_sizes *sizes, const eg_size_poly *p);
/// Compute floor(p / b) for a number b >= 1, and max(p, 0); `out` must not be `p`.
bool eg_size_poly_floor_div(eg_open_sizes *sizes, const eg_size_poly *p, int64_t b,
                            eg_size_poly *out);
bool eg_size_poly_positive(eg_open_sizes *sizes, const eg_size_poly *p,
                           eg_size_poly *out);

#endif
