// The form in which a substitution over tensors (TASO, Tensat) is written as a rule: the
// side that is the left one, the ranks of its variables, the attributes that are made
// variable, and its guards.
//
// Files have what was found on one instance: convolutions of stride 1 with padding that
// keeps sizes, axis 0 or 1, matrices. A form begins with exactly that. Its freedoms are
// tried one by one (tensor_import.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_TENSOR_FORM_H
#define EG_REWRITES_IMPORT_TENSOR_FORM_H

#include "rewrites/lab/import/substitution.h"
#include "rewrites/language/rules.h"

enum { EG_FORM_VARIABLES = 16, EG_FORM_GUARDS = 96, EG_FORM_UNKNOWN = -1 };

// How a substitution's attributes can be generalized, in the order of trial: id, words.
#define EG_FREEDOM_LIST(X)                                                               \
  X(EG_FREE_ENLARGE, "kernels are enlarged by an even number") /* one operator for it */ \
  X(EG_FREE_GROUP, "groups as on the left")                                              \
  X(EG_FREE_STRIDE, "any stride")                                                        \
  X(EG_FREE_PADS, "any padding")                                                         \
  X(EG_FREE_DILATION, "any dilation")                                                    \
  X(EG_FREE_NO_ACT, "any activation")                                                    \
  X(EG_FREE_RELU_ACT, "any activation for relu")                                         \
  X(EG_FREE_KERNEL, "any kernel")                                                        \
  X(EG_FREE_COUNT, "padding counted or not")                                             \
  X(EG_FREE_PERM, "any permutation")                                                     \
  X(EG_FREE_AXIS, "any axis")                                                            \
  X(EG_FREE_AXIS_END, "axes from the end")                                               \
  X(EG_FREE_SHAPES, "any shapes that broadcast")                                         \
  X(EG_FREE_RANK, "any rank")
#define EG_FREEDOM_ENUM(id, words) id,
typedef enum eg_freedom { EG_FREEDOM_LIST(EG_FREEDOM_ENUM) EG_FREEDOMS } eg_freedom;
#undef EG_FREEDOM_ENUM
const char *eg_freedom_words(eg_freedom freedom);

typedef enum eg_guard_kind {
  EG_GUARD_SAME_DIM,      // variables a and b have the same size in dimension `dim`
  EG_GUARD_SAME_GROUPS,   // convolutions a and b have the same number of groups
  EG_GUARD_SAME_CHANNELS, // convolutions a and b have the same channels per group
  EG_GUARD_ODD_KERNELS,   // all kernels that are variables have odd sizes
  EG_GUARD_SAME_SHAPE,    // variables a and b have the same shape
  EG_GUARD_NO_GROUPS      // all convolutions have one group
} eg_guard_kind;

/// A condition that may be added to an imported rule. Convolutions are numbered as
/// operators of the left side.
typedef struct eg_guard {
  eg_guard_kind kind;
  uint32_t a, b;
  int32_t dim;
} eg_guard;

typedef struct eg_tensor_form {
  const eg_substitution *subst;
  const eg_subst_side *left, *right; // as the rule has them
  bool is_flipped;                   // the file has the sides in the other order
  int32_t variables[EG_FORM_VARIABLES];
  uint32_t variable_count;
  int8_t variable_ranks[EG_FORM_VARIABLES]; // EG_FORM_UNKNOWN when nothing determines it
  int8_t left_ranks[EG_SUBST_OPS], right_ranks[EG_SUBST_OPS];
  bool is_kernel[EG_FORM_VARIABLES]; // the variable is a kernel or a part of one
  uint32_t possible;                 // bits of the freedoms that make a difference
  uint32_t freedoms;                 // bits of the freedoms taken
  eg_guard guards[2];
  uint32_t guard_count;
  const char *condition; // in addition to the guards, in the rule language; NULL: none
  egraph_math math;
} eg_tensor_form;

/// Reads a substitution (kept by reference) into *out. Returns NULL, or the reason why
/// the library has no operators for it; `buffer` holds names in that reason.
const char *eg_tensor_form_read(const eg_substitution *subst, eg_tensor_form *out,
                                char buffer[96]);
/// Exchanges the sides; call it before attributes are generalized and guards found.
/// Returns false, without a change, when the right side cannot be a left side: it is a
/// bare variable, or lacks a variable of the left side.
bool eg_tensor_form_flip(eg_tensor_form *form);
int8_t eg_tensor_form_rank(const eg_tensor_form *form, const eg_subst_side *side,
                           eg_subst_tensor tensor);
/// Lists conditions to try as guards of a rule, weakest first; at most EG_FORM_GUARDS.
uint32_t eg_tensor_form_guards(const eg_tensor_form *form, eg_guard *out);

// ---- text (tensor_text.c) -----------------------------------------------------------

/// Overwrites `text` with a rule file of one rule. *out_fault is NULL, or the reason why
/// the form has no text: it has sizes that the language cannot express, or is too long.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_tensor_form_write(const eg_tensor_form *form, const char *name,
                                   const char *source, eg_text *text,
                                   const char **out_fault);
/// Appends a guard of an imported rule as a condition of the rule language.
egraph_status eg_guard_write(const eg_tensor_form *form, const eg_guard *guard,
                             eg_text *text);

#endif
