// The workspace of one case of a proof: integers for any size, index and attribute
// (polynomials over symbols), and the facts known about them.
//
//   polynomial   sum of integer factor x product of symbols; equal ones have one number
//   symbol       free (a size, an index, an entry of a list), or an operation that no
//                polynomial expresses: quotient, remainder, minimum, broadcasting
//   facts        polynomials >= 0 or != 0, and symbols with the polynomials that replace
//                them; a stack: assumptions of a branch are removed after it
//
// The workspace owns all memory. A failure (no memory, too large a number, a case that
// cannot occur) leaves by a long jump to the function that opened the case, so that no
// decision depends on a wrong number.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PROOF_WORK_H
#define EG_REWRITES_PROOF_WORK_H

#include <setjmp.h>

#include "base/vec.h"

typedef uint32_t eg_poly;   // number of a polynomial; 0 is zero
typedef uint32_t eg_scalar; // number of a scalar expression (proof_scalar.h)

enum {
  EG_PROOF_DEGREE = 26, // largest number of symbols in a product
  EG_PROOF_TERMS = 48,  // largest number of terms of a polynomial
  EG_PROOF_FACTOR = 1 << 30,
  EG_PROOF_CHOICES = 256, // largest number of open choices of a case
  EG_PROOF_INDICES = 64,  // largest number of fold indices
};
#define EG_PROOF_NONE UINT32_MAX

typedef enum eg_symbol_kind {
  EG_SYMBOL_FREE,
  EG_SYMBOL_DIV, // floor(a / b), b >= 1
  EG_SYMBOL_MIN, // minimum of a and b
  EG_SYMBOL_MAX, // maximum of a and b
  EG_SYMBOL_AT,  // index a of a dimension that was broadcast from size b: 0 if b is 1
  EG_SYMBOL_STRETCHED // size of dimensions a and b after broadcasting: b if a is 1
} eg_symbol_kind;

typedef struct eg_symbol {
  eg_symbol_kind kind;
  eg_poly a, b;
  bool is_natural; // FREE: known to be >= 0
  bool is_bound;   // the index of a fold around the current scalar
  eg_poly own;     // the polynomial that consists of this symbol
  eg_poly instead; // the polynomial equal to it, or EG_PROOF_NONE
} eg_symbol;

typedef struct eg_product {
  int64_t factor;
  uint32_t degree;
  uint32_t symbols[EG_PROOF_DEGREE]; // ascending
} eg_product;

typedef struct eg_polynomial {
  const eg_product *terms; // in order, no factor 0
  uint32_t count;
  uint32_t next; // next one with the same hash
} eg_polynomial;

typedef enum eg_fact_kind { EG_FACT_NATURAL, EG_FACT_NONZERO } eg_fact_kind;
typedef struct eg_fact {
  eg_fact_kind kind;
  eg_poly n;
} eg_fact;

/// Two dimensions a and b of operands that are broadcast: they are equal, or one of them
/// is 1. one_way: only a may be 1.
typedef struct eg_pairing {
  eg_poly a, b;
  bool one_way;
} eg_pairing;

typedef struct eg_memo {
  uint32_t version, result;
} eg_memo;

EG_VEC_DEFINE(eg_polynomials, eg_polynomial);
EG_VEC_DEFINE(eg_symbols, eg_symbol);
EG_VEC_DEFINE(eg_proof_facts, eg_fact);
EG_VEC_DEFINE(eg_pairings, eg_pairing);
EG_VEC_DEFINE(eg_memos, eg_memo);

/// The domain of an expression: floating-point numbers; integers modulo 2^n and truth
/// values; or either.
typedef enum eg_domain { EG_DOMAIN_ANY, EG_DOMAIN_REAL, EG_DOMAIN_WHOLE } eg_domain;

/// Laws that hold for integers and for finite real numbers. If x may be infinite or NaN,
/// x - x and 0 x can be NaN, and x (a + b) can be infinite while x a + x b is NaN.
typedef struct eg_laws {
  bool cancels; // x - x = 0, 0 x = 0
  // x (a + b) = x a + x b, and other laws that can turn an infinity into NaN.
  bool distributes;
  bool is_fast; // also the laws of ordinary numbers
} eg_laws;
/// The laws before eg_laws_set, and versions of the facts before and after it: results
/// computed under other laws are not reused.
typedef struct eg_laws_before {
  eg_laws laws;
  uint32_t version, inner;
} eg_laws_before;

typedef struct eg_scalar_pair {
  eg_scalar low, high;
} eg_scalar_pair;
typedef struct eg_tensor_size {
  uint32_t rank;
  const eg_poly *dims;
} eg_tensor_size;
EG_VEC_DEFINE(eg_scalar_pairs, eg_scalar_pair);
EG_VEC_DEFINE(eg_tensor_sizes, eg_tensor_size);

/// The heights of the stacks of facts when a branch of the proof begins.
typedef struct eg_branch {
  size_t facts, replaced, pairings;
  uint32_t version;
  bool is_impossible;
} eg_branch;

typedef struct eg_question eg_question;
typedef struct eg_scalar_node eg_scalar_node;
EG_VEC_DEFINE(eg_scalar_nodes, eg_scalar_node *);

typedef enum eg_proof_exit {
  EG_PROOF_MEMORY = 1,
  EG_PROOF_VACUOUS, // the case cannot occur
  EG_PROOF_GIVEN_UP
} eg_proof_exit;

typedef struct eg_proof {
  egraph_allocator alloc;
  eg_arena arena;
  jmp_buf leave;
  const char *reason; // why it gave up: a constant text, or one in the arena
  uint64_t steps;     // number of steps left
  // Integers: polynomials over symbols, each stored once.
  eg_polynomials polys;
  uint32_t poly_heads[1024];
  eg_symbols symbols;
  eg_proof_facts facts;
  eg_pairings pairings;
  eg_u32s replaced; // symbols, in order
  bool is_impossible;
  uint32_t version, versions; // versions of the facts
  eg_memos canonical;         // by polynomial
  eg_memos natural;           // by polynomial: true when it is known to be >= 0
  uint32_t depth;             // depth of nested questions about integers
  bool in_pairings, in_facts; // true during a search through them
  uint32_t nested;            // depth of nested canonical forms
  eg_question *questions[2];
  struct eg_rule_scratch *lists; // memory to evaluate functions of lists
  // Scalars, elements of tensors as expressions (proof_scalar.c).
  eg_scalar_nodes scalars;
  uint32_t scalar_heads[1024];
  eg_memos simple;         // by scalar
  bool is_exact;           // class exact: only laws that keep every bit
  bool is_fast;            // class fast: also the laws of ordinary numbers
  eg_laws laws;            // current laws of real numbers
  eg_domain domain;        // domain of the expression that is being built
  const bool *is_weight;   // [variables]: weights, which are finite
  uint64_t finite_reals;   // bit i: the i-th real symbol is known to be finite
  uint64_t ordered_reals;  // bit i: it is known not to be NaN
  eg_scalar_pairs orders;  // pairs of reals; the first is not above the second
  eg_tensor_sizes tensors; // by tensor variable
  eg_poly wish;            // a size; knowing if it is 1 would decide a comparison
  uint32_t splits;         // depth of nested branches
  uint32_t reals;          // number of symbols for real numbers
  uint32_t indices[EG_PROOF_INDICES], index_count; // symbols for indices of folds
  // The choices (of ranks, axes, flags) that select the current case.
  uint32_t choice[EG_PROOF_CHOICES], options[EG_PROOF_CHOICES];
  uint32_t choices, chosen; // number of choices recorded, and taken so far
} eg_proof;

_Noreturn void eg_proof_leave(eg_proof *p, eg_proof_exit exit, const char *reason);
/// Gives up the proof when `status` says that an allocation has failed.
void eg_proof_need(eg_proof *p, egraph_status status);
/// Allocates zeroed memory in the workspace.
void *eg_proof_memory(eg_proof *p, size_t count, size_t size);
/// Counts a step of the proof; gives up when there were too many.
void eg_proof_step(eg_proof *p);

void eg_proof_init(eg_proof *p, egraph_allocator alloc);
/// Clears the workspace except for the choices that select the current case.
void eg_proof_clear(eg_proof *p);
void eg_proof_deinit(eg_proof *p);

/// Sets the laws that rewriting may use; returns the state that eg_laws_restore needs.
eg_laws_before eg_laws_set(eg_proof *p, eg_laws laws);
/// Restricts the laws to those that hold for all numbers when an operator hides
/// infinities from its result.
eg_laws_before eg_laws_narrow(eg_proof *p, bool hides);
void eg_laws_restore(eg_proof *p, eg_laws_before before);

// ---- which case -------------------------------------------------------------------

/// Chooses a number from 0 to count - 1; the proof is repeated with each. If count is 0,
/// the case cannot occur.
uint32_t eg_proof_choose(eg_proof *p, uint32_t count);
/// Moves to the next case, with other choices; returns false after the last one.
bool eg_proof_next_case(eg_proof *p);

// ---- polynomials ------------------------------------------------------------------

eg_poly eg_poly_const(eg_proof *p, int64_t value);
eg_poly eg_poly_symbol(eg_proof *p, bool is_natural); // a new symbol
eg_poly eg_poly_add(eg_proof *p, eg_poly a, eg_poly b);
eg_poly eg_poly_sub(eg_proof *p, eg_poly a, eg_poly b);
eg_poly eg_poly_scale(eg_proof *p, eg_poly a, int64_t factor);
eg_poly eg_poly_mul(eg_proof *p, eg_poly a, eg_poly b);
/// Return quotient and remainder of division by b >= 1, rounded towards minus infinity.
eg_poly eg_poly_div(eg_proof *p, eg_poly a, eg_poly b);
eg_poly eg_poly_mod(eg_proof *p, eg_poly a, eg_poly b);
/// Returns the minimum or maximum (by `kind`) of two integers.
eg_poly eg_poly_extreme(eg_proof *p, eg_symbol_kind kind, eg_poly a, eg_poly b);
/// Returns the index at which an operand of size `size` is read for index `index` of a
/// broadcast result.
eg_poly eg_poly_at(eg_proof *p, eg_poly index, eg_poly size);
/// Returns the size of two dimensions after broadcasting; a pairing (eg_pairing) of them
/// must be known.
eg_poly eg_poly_stretched(eg_proof *p, eg_poly a, eg_poly b);
bool eg_poly_is_const(const eg_proof *p, eg_poly a, int64_t *out);
/// Returns the symbol that stands for an operation; equal operands give the same symbol.
eg_poly eg_poly_opaque(eg_proof *p, eg_symbol_kind kind, eg_poly a, eg_poly b);
/// Splits a into the terms that the product b divides (*out_whole is their sum over b)
/// and the other terms, *out_rest. Returns false when b is not one product.
bool eg_poly_split(eg_proof *p, eg_poly a, eg_poly b, eg_poly *out_whole,
                   eg_poly *out_rest);
/// True when b divides a; *out is the quotient.
bool eg_poly_divide(eg_proof *p, eg_poly a, eg_poly b, eg_poly *out);
bool eg_poly_has(const eg_proof *p, eg_poly a, uint32_t symbol);
/// Returns the number of the symbol of a polynomial that is a single symbol.
uint32_t eg_poly_symbol_of(const eg_proof *p, eg_poly a);

// ---- facts ------------------------------------------------------------------------

/// Simplifies an integer polynomial by the known facts.
eg_poly eg_poly_canonical(eg_proof *p, eg_poly a);
eg_branch eg_branch_open(eg_proof *p);
void eg_branch_close(eg_proof *p, eg_branch branch);
void eg_assume_natural(eg_proof *p, eg_poly a); // a >= 0
void eg_assume_below(eg_proof *p, eg_poly a, eg_poly b);
void eg_assume_zero(eg_proof *p, eg_poly a);
void eg_assume_nonzero(eg_proof *p, eg_poly a);
void eg_assume_pairing(eg_proof *p, eg_poly a, eg_poly b, bool one_way);
/// Replaces a symbol by a polynomial without it until the current branch ends.
void eg_replace(eg_proof *p, uint32_t symbol, eg_poly by);

/// True only if the known facts imply a >= 0, a = 0, a != 0.
bool eg_is_natural(eg_proof *p, eg_poly a);
bool eg_is_zero(eg_proof *p, eg_poly a);
bool eg_is_nonzero(eg_proof *p, eg_poly a);
/// True when the facts contradict each other.
bool eg_facts_contradict(eg_proof *p);
/// Finds a size in the operation symbols of `a` for which it matters if the size is 1 and
/// for which the facts do not decide this; EG_PROOF_NONE without such a size.
eg_poly eg_poly_undecided(eg_proof *p, eg_poly a);

#endif
