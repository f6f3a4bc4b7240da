// A case of a rule: ranks, permutations, lists of axes and flags are chosen, sizes and
// the other attributes are symbols. Terms have shapes of polynomials, and elements at
// indices.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROOF_CASE_H
#define EG_REWRITES_PROOF_CASE_H

#include "rewrites/lab/prove/proof_scalar.h"
#include "rewrites/language/rule_ast.h"

typedef struct eg_shape {
  uint32_t rank;
  eg_poly dims[EGRAPH_MAX_RANK];
} eg_shape;

/// What is known of an element type; a set of equal ones has one root.
typedef struct eg_kind_of_numbers {
  uint32_t root;
  int64_t dtype; // or -1
  bool is_float, is_int, is_bool;
} eg_kind_of_numbers;

typedef enum eg_value_kind {
  EG_VALUE_OPEN, // a variable that nothing has bound
  EG_VALUE_INT,
  EG_VALUE_INTS,
  EG_VALUE_REAL,
  EG_VALUE_KEY, // a symbol: NUMBER of its place in the list, or KEY
  EG_VALUE_DTYPE,
  EG_VALUE_TENSOR,
  EG_VALUE_TEXT
} eg_value_kind;

typedef struct eg_value {
  eg_value_kind kind;
  eg_poly number;      // INT
  const eg_poly *list; // INTS
  uint32_t count;      // INTS
  eg_scalar scalar;    // REAL, KEY
  uint32_t which;      // DTYPE: kind of numbers; TENSOR: term
  const char *text;    // TEXT
} eg_value;

enum { EG_CASE_KINDS = 256, EG_CASE_RESULTS = 8 };

typedef struct eg_meaning eg_meaning;

typedef struct eg_case {
  eg_proof *p;
  const eg_rule *rule;
  const eg_meaning *meanings; // [EG_OP_COUNT]; of pointwise operators that of IDENTITY
  uint32_t max_rank;
  eg_value *vars;    // [rule->var_count]
  eg_scalar *splats; // [rule->var_count]: the number that every element is, or NONE
  bool *is_weight;   // [rule->var_count]: folded, and so finite
  eg_shape *shapes;  // [rule->term_count]
  bool *typed;       // [rule->term_count]
  uint32_t *kinds;   // [rule->term_count]: kinds of numbers
  uint32_t *extra; // [rule->term_count]: axis of a split; channels per group (polynomial)
  eg_value ***slots; // [rule->term_count]: attributes that were looked at, or NULL
  eg_kind_of_numbers numbers[EG_CASE_KINDS];
  uint32_t number_count;
  uint32_t *ranks;  // [rule->term_count]: terms of one rank have one root
  int64_t *rank_of; // [rule->term_count]: of a root, or -1
  uint32_t keys;
  uint32_t levels; // terms within terms at the moment
  // Attributes of a pattern that must be equal to an expression.
  struct {
    eg_value value;
    uint32_t expr;
  } wanted[32];
  uint32_t wanted_count;
} eg_case;

// ---- kinds of numbers, ranks (proof_case.c); expressions, conditions (proof_values.c)
// --

_Noreturn void eg_case_give_up(eg_case *c, const char *format, const char *name);
_Noreturn void eg_case_vacuous(eg_case *c);
/// The value of an expression. Gives up on what it does not know.
eg_value eg_case_expr(eg_case *c, uint32_t expr);
/// Assumes a condition (or that it does not hold), as far as it is understood.
void eg_case_assume(eg_case *c, uint32_t expr, bool holds);
/// Assumes that two values are equal.
void eg_case_equate(eg_case *c, eg_value a, eg_value b);
/// A let that is an expression, computed when it is first needed.
void eg_case_let(eg_case *c, uint32_t var);

eg_value eg_value_int(eg_poly number);
eg_value eg_value_ints(const eg_poly *list, uint32_t count);
/// Leaves, as a case that cannot occur, unless the facts allow this.
void eg_case_need_zero(eg_case *c, eg_poly a);
void eg_case_need_natural(eg_case *c, eg_poly a);
int64_t eg_case_const(eg_case *c, eg_poly a, const char *what);

// Kinds of numbers.
uint32_t eg_kind_new(eg_case *c);
uint32_t eg_kind_root(const eg_case *c, uint32_t kind);
void eg_kind_equate(eg_case *c, uint32_t a, uint32_t b);
uint32_t eg_kind_of_dtype(eg_case *c, egraph_dtype dtype);
void eg_kind_mark(eg_case *c, uint32_t kind, bool is_float, bool is_int, bool is_bool);
bool eg_kind_is_real(const eg_case *c, uint32_t kind);
eg_domain eg_kind_domain(const eg_case *c, uint32_t kind);
/// A number as an element of a kind: itself where conversion to all types keeps it (in
/// the class of the rule), else what the conversion makes of it.
eg_scalar eg_case_number(eg_case *c, uint32_t kind, eg_scalar s);

// Attributes of a term (proof_terms.c).
eg_value *eg_slot(eg_case *c, uint32_t term, uint16_t slot);
eg_poly eg_slot_int(eg_case *c, uint32_t term, uint16_t slot);
bool eg_slot_flag(eg_case *c, uint32_t term, uint16_t slot);
/// An axis of `rank` (or rank + 1 places, where `ends`), chosen if open.
uint32_t eg_slot_axis(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank);
/// A list of `len` numbers, all of them at least `least`.
const eg_poly *eg_slot_list(eg_case *c, uint32_t term, uint16_t slot, uint32_t len,
                            int64_t least);
/// A list of any length that is a shape; chosen if open.
eg_shape eg_slot_shape(eg_case *c, uint32_t term, uint16_t slot);
/// The numbers of a permutation or of sorted axes, chosen if open.
void eg_slot_perm(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank, uint32_t *out);
uint32_t eg_slot_axes(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank); // bits
eg_scalar eg_slot_scalar(eg_case *c, uint32_t term, uint16_t slot);

/// Finds the terms that have one rank in every instance, so that it is chosen once.
void eg_case_find_ranks(eg_case *c);
/// The rank of a variable: known, or chosen.
uint32_t eg_case_rank(eg_case *c, uint32_t term);

// ---- terms (proof_terms.c and the files of operators) --------------------------------

/// What an operator is: its result's shape, with what typing asks assumed, and an
/// element.
struct eg_meaning {
  void (*type)(eg_case *c, uint32_t term);
  eg_scalar (*element)(eg_case *c, uint32_t term, const eg_poly *at);
};
void eg_case_type(eg_case *c, uint32_t term);
eg_scalar eg_case_element(eg_case *c, uint32_t term, const eg_poly *at);
/// Whether bits count: in class exact, but not of integers, whose sums have no order.
static inline bool eg_case_is_bitwise(const eg_case *c) {
  return c->p->is_exact && c->p->domain != EG_DOMAIN_WHOLE;
}
/// What an operator makes of a fold whose elements lie `inner` apart, which is the order
/// in which its kernel goes through them.
eg_scalar eg_case_reduced(eg_case *c, eg_op op, eg_scalar fold, eg_poly inner);
/// The element of a term at an offset in row-major order.
eg_scalar eg_case_flat(eg_case *c, uint32_t term, eg_poly offset);
eg_poly eg_shape_elements(eg_case *c, const eg_shape *shape);
eg_poly eg_shape_offset(eg_case *c, const eg_shape *shape, const eg_poly *at);

/// The element of an operand that goes into the result's element at `at`: operands are
/// stretched to the result's shape.
eg_scalar eg_kid_element(eg_case *c, uint32_t term, uint32_t i, const eg_poly *at);
static inline const eg_rule_term *eg_case_term(const eg_case *c, uint32_t term) {
  return &c->rule->terms[term];
}
static inline uint32_t eg_kid(const eg_case *c, uint32_t term, uint32_t i) {
  return c->rule->terms[term].children[i];
}
static inline eg_shape *eg_kid_shape(const eg_case *c, uint32_t term, uint32_t i) {
  return &c->shapes[eg_kid(c, term, i)];
}
/// The slot number within its operator of a global one.
#define EG_SLOT(ID, SLOT) ((uint16_t)((int)EG_A_##ID##_##SLOT - (int)EG_A_BASE_##ID))

/// A fold over an index that runs from 0 below size: begin, make the element, end.
typedef struct eg_loop {
  eg_branch branch;
  eg_poly index, size;
} eg_loop;
eg_loop eg_loop_begin(eg_case *c, eg_poly size);
eg_scalar eg_loop_end(eg_case *c, const eg_loop *loop, eg_fold fold, eg_scalar body);

/// The operators that are known, by what they mean (meaning_*.c); pointwise ones are as
/// identity.
#define EG_MEANINGS(X)                                                                   \
  X(IDENTITY, pointwise)                                                                 \
  X(FILL, fill)                                                                          \
  X(EYE, eye)                                                                            \
  X(POOL_KERNEL, pool_kernel)                                                            \
  X(CONV_IDENTITY, conv_identity)                                                        \
  X(TRANSPOSE, transpose)                                                                \
  X(CONCAT, concat)                                                                      \
  X(SPLIT, split)                                                                        \
  X(PART, part)                                                                          \
  X(SLICE, slice)                                                                        \
  X(PAD, pad)                                                                            \
  X(EXPAND, expand)                                                                      \
  X(TILE, tile)                                                                          \
  X(RESHAPE, reshape)                                                                    \
  X(SQUEEZE, squeeze)                                                                    \
  X(UNSQUEEZE, unsqueeze)                                                                \
  X(FLATTEN, flatten)                                                                    \
  X(MATMUL, matmul)                                                                      \
  X(GEMM, gemm)                                                                          \
  X(EINSUM, einsum)                                                                      \
  X(CONV, conv)                                                                          \
  X(MAX_POOL, max_pool)                                                                  \
  X(AVERAGE_POOL, average_pool)                                                          \
  X(GLOBAL_MAX_POOL, global_pool)                                                        \
  X(GLOBAL_AVERAGE_POOL, global_pool)                                                    \
  X(REDUCE_SUM, reduce)                                                                  \
  X(REDUCE_MEAN, reduce)                                                                 \
  X(REDUCE_MAX, reduce)                                                                  \
  X(REDUCE_MIN, reduce)                                                                  \
  X(REDUCE_PROD, reduce)                                                                 \
  X(SOFTMAX, softmax)                                                                    \
  X(LOG_SOFTMAX, softmax)                                                                \
  X(BATCH_NORM, batch_norm)                                                              \
  X(LAYER_NORM, layer_norm)                                                              \
  X(RMS_NORM, layer_norm)                                                                \
  X(ENLARGE, enlarge)                                                                    \
  X(TRILU, trilu)
#define EG_MEANING_DECLARE(OP, name)                                                     \
  void eg_type_##name(eg_case *c, uint32_t term);                                        \
  eg_scalar eg_element_##name(eg_case *c, uint32_t term, const eg_poly *at);
EG_MEANINGS(EG_MEANING_DECLARE)
#undef EG_MEANING_DECLARE

// ---- ranks of a rule (rank_bound.c, rank_perms.c) -------------------------------------

/// The number of axes beyond which a rule cannot fail without failing with one axis less
/// (README.md, "Ranks"); EGRAPH_MAX_RANK, all that there are, where none is known.
uint32_t eg_rank_bound(const eg_rule *rule);
/// The length that a list of axes has wherever the rule applies, or EG_RULE_NONE.
uint32_t eg_known_length(const eg_rule *rule, const eg_rule_slot *slot);
/// True when a condition says that a tensor variable has no axes.
bool eg_has_rank_zero(const eg_rule *rule, uint32_t var);
/// True when permutations carry every axis to one axis of each term.
bool eg_perms_are_plain(const eg_rule *rule);
/// The term that a variable stands for (by let or as), or the term itself.
uint32_t eg_term_meant(const eg_rule *rule, uint32_t term);

#endif
