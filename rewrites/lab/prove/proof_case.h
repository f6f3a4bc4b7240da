// One case of a proof of a rule. Ranks, permutations, lists of axes and flags are chosen;
// sizes and the other attributes are symbols. Shapes of terms are polynomials; elements
// are scalars at symbolic indices.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROOF_CASE_H
#define EG_REWRITES_PROOF_CASE_H

#include "rewrites/lab/prove/proof_scalar.h"
#include "rewrites/language/rule_ast.h"

typedef struct eg_shape {
  uint32_t rank;
  eg_poly dims[EGRAPH_MAX_RANK];
} eg_shape;

/// Known facts about an element type (a "kind of numbers"). Types known to be equal share
/// one union-find root.
typedef struct eg_kind_of_numbers {
  uint32_t root;
  int64_t dtype; // -1: unknown
  bool is_float, is_int, is_bool;
} eg_kind_of_numbers;

typedef enum eg_datum_kind {
  EG_DATUM_OPEN, // a variable that is not bound
  EG_DATUM_INT,
  EG_DATUM_INTS,
  EG_DATUM_REAL,
  EG_DATUM_KEY, // a symbol: NUMBER (its place in the list), or KEY
  EG_DATUM_DTYPE,
  EG_DATUM_TENSOR,
  EG_DATUM_TEXT
} eg_datum_kind;

/// The value, over symbols, of an expression or attribute of a rule.
typedef struct eg_datum {
  eg_datum_kind kind;
  eg_poly number;      // INT
  const eg_poly *list; // INTS
  uint32_t count;      // INTS
  eg_scalar scalar;    // REAL, KEY
  uint32_t which;      // DTYPE: a kind of numbers; TENSOR: a term
  const char *text;    // TEXT
} eg_datum;

enum { EG_CASE_KINDS = 256, EG_CASE_RESULTS = 8 };

typedef struct eg_meaning eg_meaning;

typedef struct eg_case {
  eg_proof *p;
  const eg_rule *rule;
  const eg_meaning
      *meanings; // [EG_OP_COUNT]; pointwise operators use the entry of IDENTITY
  uint32_t max_rank;
  eg_datum *vars;    // [rule->var_count]
  eg_scalar *splats; // [rule->var_count]: the value of every element, or NONE
  bool *is_weight;   // [rule->var_count]: a weight is folded, and so finite
  eg_shape *shapes;  // [rule->term_count]
  bool *typed;       // [rule->term_count]
  uint32_t *kinds;   // [rule->term_count]: kinds of numbers
  uint32_t *extra;   // [rule->term_count]: split axis, or channels per group (polynomial)
  eg_datum ***slots; // [rule->term_count]: attributes after they are read, or NULL
  eg_kind_of_numbers numbers[EG_CASE_KINDS];
  uint32_t number_count;
  uint32_t *ranks;  // [rule->term_count]: terms of the same rank share one root
  int64_t *rank_of; // [rule->term_count]: rank of a root, or -1
  uint32_t keys;
  uint32_t levels; // current depth of nested terms
  // Attributes of the left side whose values must equal the value of an expression.
  struct {
    eg_datum value;
    uint32_t expr;
  } wanted[32];
  uint32_t wanted_count;
} eg_case;

// ---- kinds, ranks (proof_case.c); expressions, conditions (proof_values.c) ----------

_Noreturn void eg_case_give_up(eg_case *c, const char *format, const char *name);
_Noreturn void eg_case_vacuous(eg_case *c);
/// Evaluates an expression of the rule in this case; gives up the proof when it cannot.
eg_datum eg_case_expr(eg_case *c, uint32_t expr);
/// Assumes that a condition is true (`holds`) or false, as far as facts can express it.
void eg_case_assume(eg_case *c, uint32_t expr, bool holds);
/// Assumes that two values are equal, and adds this to the facts.
void eg_case_equate(eg_case *c, eg_datum a, eg_datum b);
/// Computes the value of a variable bound by `let` when it is first needed.
void eg_case_let(eg_case *c, uint32_t var);

eg_datum eg_datum_int(eg_poly number);
eg_datum eg_datum_ints(const eg_poly *list, uint32_t count);
/// Assume a = b, a >= 0, a >= 1. When the facts contradict the assumption, the case
/// cannot occur and is left.
void eg_case_need_equal(eg_case *c, eg_poly a, eg_poly b);
void eg_case_need_natural(eg_case *c, eg_poly a);
void eg_case_need_positive(eg_case *c, eg_poly a);
/// Returns a / b, which has no remainder: a new symbol unless the quotient is known.
eg_poly eg_case_over(eg_case *c, eg_poly a, eg_poly b, bool is_natural);
int64_t eg_case_const(eg_case *c, eg_poly a, const char *what);

// Create an element type, find its union-find root, and assume that two types are equal.
uint32_t eg_kind_new(eg_case *c);
uint32_t eg_kind_root(const eg_case *c, uint32_t kind);
void eg_kind_equate(eg_case *c, uint32_t a, uint32_t b);
uint32_t eg_kind_of_dtype(eg_case *c, egraph_dtype dtype);
void eg_kind_mark(eg_case *c, uint32_t kind, bool is_float, bool is_int, bool is_bool);
bool eg_kind_is_real(const eg_case *c, uint32_t kind);
eg_domain eg_kind_domain(const eg_case *c, uint32_t kind);
/// Converts a number to an element type: returns the number itself when every type
/// represents it (in the class of the rule), else the result of the conversion.
eg_scalar eg_case_number(eg_case *c, uint32_t kind, eg_scalar s);

// Read attributes of a term (proof_terms.c).
eg_datum *eg_slot(eg_case *c, uint32_t term, uint16_t slot);
eg_poly eg_slot_int(eg_case *c, uint32_t term, uint16_t slot);
bool eg_slot_flag(eg_case *c, uint32_t term, uint16_t slot);
/// Reads an axis, from 0 to rank - 1; tries every axis if the rule leaves it open.
uint32_t eg_slot_axis(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank);
/// Reads an attribute that is a list of `len` numbers, all of them at least `least`.
const eg_poly *eg_slot_list(eg_case *c, uint32_t term, uint16_t slot, uint32_t len,
                            int64_t least);
/// Reads an attribute that is a shape; tries every length if the rule leaves it open.
eg_shape eg_slot_shape(eg_case *c, uint32_t term, uint16_t slot);
/// Read an attribute that is a permutation, or sorted axes as bits; try every value if
/// the rule leaves it open.
void eg_slot_perm(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank, uint32_t *out);
uint32_t eg_slot_axes(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank); // bits
eg_scalar eg_slot_scalar(eg_case *c, uint32_t term, uint16_t slot);

/// Finds the terms that have the same rank in every instance, so that this rank is
/// chosen once.
void eg_case_find_ranks(eg_case *c);
/// Returns the rank of a variable in this case: the known rank, or a chosen one.
uint32_t eg_case_rank(eg_case *c, uint32_t term);

// ---- terms (proof_terms.c and the files of operators) --------------------------------

/// The meaning of an operator: `type` sets the shape of the result and assumes the
/// conditions of typing; `element` returns an element of the result.
struct eg_meaning {
  void (*type)(eg_case *c, uint32_t term);
  eg_scalar (*element)(eg_case *c, uint32_t term, const eg_poly *at);
  uint32_t axes; // bits of EG_AXES_...
};
void eg_case_type(eg_case *c, uint32_t term);
eg_scalar eg_case_element(eg_case *c, uint32_t term, const eg_poly *at);
/// True when results must be equal bit by bit: in class exact, except for integers, whose
/// sums do not depend on the order.
static inline bool eg_case_is_bitwise(const eg_case *c) {
  return c->p->is_exact && c->p->domain != EG_DOMAIN_WHOLE;
}
/// Folds the elements of term `kid` (after `of`, a function of an element) over the axes
/// of `bits`; the other indices are in `at`. *out_count is the number of elements folded.
eg_scalar eg_case_folded(eg_case *c, uint32_t kid, uint32_t bits, const eg_poly *at,
                         eg_fold fold, eg_poly *out_count,
                         eg_scalar (*of)(eg_case *c, eg_scalar x));
/// Returns the result of a reduction from the fold of its elements. `inner` is their
/// distance in memory, which decides the order in which the kernel sums.
eg_scalar eg_case_reduced(eg_case *c, eg_op op, eg_scalar fold, eg_poly inner);
/// Returns the element of a term at an offset in row-major order.
eg_scalar eg_case_flat(eg_case *c, uint32_t term, eg_poly offset);
eg_poly eg_shape_elements(eg_case *c, const eg_shape *shape);
eg_poly eg_shape_offset(eg_case *c, const eg_shape *shape, const eg_poly *at);
/// Returns the shape to which a and b are broadcast; assumes that there is such a shape.
eg_shape eg_shape_stretched(eg_case *c, const eg_shape *a, const eg_shape *b);
/// Assumes that an index is below the size of its dimension.
void eg_case_assume_inside(eg_case *c, eg_poly place, eg_poly size);
/// Returns `inside` when the index is below the size, else `outside`.
eg_scalar eg_case_guarded(eg_case *c, eg_poly place, eg_poly size, eg_scalar inside,
                          eg_scalar outside);
/// Returns the element of operand 0 at the indices `at`, or `outside` when an index of
/// dimension `first` or later is beyond its size.
eg_scalar eg_case_padded(eg_case *c, uint32_t term, uint32_t first, const eg_poly *at,
                         eg_scalar outside);

/// Computes an element of a pointwise operator; `kids` has elements of its operands, then
/// its attributes.
enum { EG_POINTWISE_KIDS = 8 };
eg_scalar eg_case_pointwise(eg_case *c, uint32_t term, eg_scalar kids[EG_POINTWISE_KIDS]);

/// Returns the element of operand i that the result's element at `at` uses: operands are
/// broadcast to the shape of the result.
eg_scalar eg_kid_element(eg_case *c, uint32_t term, uint32_t i, const eg_poly *at);
static inline eg_poly eg_one(eg_case *c) { return eg_poly_const(c->p, 1); }
static inline const eg_rule_term *eg_case_term(const eg_case *c, uint32_t term) {
  return &c->rule->terms[term];
}
static inline uint32_t eg_kid(const eg_case *c, uint32_t term, uint32_t i) {
  assert(i < c->rule->terms[term].child_count);
  return c->rule->terms[term].children[i];
}
static inline eg_shape *eg_kid_shape(const eg_case *c, uint32_t term, uint32_t i) {
  return &c->shapes[eg_kid(c, term, i)];
}
/// Assumes that operand i has the element type of operand 0.
static inline void eg_kid_equate(eg_case *c, uint32_t term, uint32_t i) {
  eg_kind_equate(c, c->kinds[eg_kid(c, term, 0)], c->kinds[eg_kid(c, term, i)]);
}
/// Converts the global number of an attribute slot to its number within the operator.
#define EG_SLOT(ID, SLOT) ((uint16_t)((int)EG_A_##ID##_##SLOT - (int)EG_A_BASE_##ID))

/// A sum (or other fold) over an index from 0 below size: begin, compute element, end.
typedef struct eg_loop {
  eg_branch branch;
  eg_poly index, size;
} eg_loop;
eg_loop eg_loop_begin(eg_case *c, eg_poly size);
eg_scalar eg_loop_end(eg_case *c, const eg_loop *loop, eg_fold fold, eg_scalar body);

/// Properties of how an operator treats the axes of its operands, as bits. Axes that the
/// operator does not name are plain (PROOFS.md, "Ranks").
enum {
  EG_AXES_KEPT = 1,      // operand 0 has the rank of the result
  EG_AXES_PLAIN = 2,     // the operator does the same on every plain axis
  EG_AXES_STILL = 4,     // it reads a plain axis at the index of the result, or at 0
  EG_AXES_SHIFTED = 8,   // the positions of axes, counted from the last, change
  EG_AXES_NAMED = 16,    // the operator names one axis
  EG_AXES_REDUCED = 32,  // the operator names a list of axes, its first attribute
  EG_AXES_PRODUCT = 64,  // the operator names the last two axes of operands 0 and 1
  EG_AXES_WINDOWS = 128, // it names batch and channels; windows slide over the rest
  EG_AXES_COUNTED = 256, // integer attributes are not axes
  EG_AXES_LISTED = 512,  // list attributes have an entry for each axis
  EG_AXES_PICKED = 1024  // elements of the result are elements of operands, or 0
};

#define EG_MEANING(ID, name, axes)                                                       \
  void eg_type_##name(eg_case *c, uint32_t term);                                        \
  eg_scalar eg_element_##name(eg_case *c, uint32_t term, const eg_poly *at);
#include "rewrites/lab/prove/meaning.def"
#undef EG_MEANING

// ---- ranks of a rule (rank_bound.c, rank_perms.c) -------------------------------------

/// Returns the number of axes beyond which a rule can only fail if it also fails with one
/// axis less (PROOFS.md, "Ranks"), or EGRAPH_MAX_RANK when no such bound is known.
uint32_t eg_rank_bound(const eg_rule *rule);
/// Returns the length that a list of axes has in every instance, or EG_RULE_NONE.
uint32_t eg_known_length(const eg_rule *rule, const eg_rule_slot *slot);
/// True when a condition says that a tensor variable has no axes.
bool eg_has_rank_zero(const eg_rule *rule, uint32_t var);
/// True when the permutations of the rule carry every axis to one axis of each term.
bool eg_perms_are_plain(const eg_rule *rule);
/// Returns the term to which a variable refers (by `let` or `as`), or `term` itself.
uint32_t eg_term_meant(const eg_rule *rule, uint32_t term);

#endif
