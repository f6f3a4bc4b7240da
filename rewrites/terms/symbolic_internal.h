// The inside of an eg_symbolic: its atoms and rules, and the functions that read rules
// and terms.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_RULES_H
#define EG_REWRITES_SYMBOLIC_RULES_H

#include "base/flatmap.h"
#include "base/sexpr.h"
#include "egraph/pattern.h"
#include "rewrites/terms/symbolic.h"

/// Symbols of terms by number; the numbers are the operators of the engine.
typedef struct eg_atom {
  const char *text;
} eg_atom;
EG_VEC_DEFINE(eg_atom_vec, eg_atom);
typedef struct eg_atoms {
  eg_arena *arena;
  eg_atom_vec list;
  eg_flatmap map;
} eg_atoms;

/// Initializes a table of symbols (atoms); the caller then sets `arena`.
void eg_atoms_init(eg_atoms *atoms, egraph_allocator alloc);
void eg_atoms_deinit(eg_atoms *atoms);
egraph_status eg_atoms_add(eg_atoms *atoms, const char *text, uint32_t *out);

/// True when a text can be a symbol: no blanks, brackets, quotes or ;, no ?variable.
bool eg_symbolic_is_symbol(const char *text);

EG_VEC_DEFINE(eg_pattern_terms, eg_pattern_term);

/// Terms in the form of patterns, children before parents. Variables are
/// numbered by `names`.
typedef struct eg_symbolic_terms {
  eg_pattern_terms terms;
  eg_u32s children;
  eg_atom_vec names; // names of variables
} eg_symbolic_terms;

void eg_symbolic_terms_init(eg_symbolic_terms *terms, egraph_allocator alloc);
void eg_symbolic_terms_deinit(eg_symbolic_terms *terms);

/// The kinds of variables that a term in a text may have.
typedef enum eg_symbolic_variables {
  EG_SYMBOLIC_NONE, // none at all
  EG_SYMBOLIC_BIND, // new variables are bound
  EG_SYMBOLIC_BOUND // only bound variables
} eg_symbolic_variables;

egraph_status eg_symbolic_read_term(eg_atoms *atoms, const char *file,
                                    const eg_sexpr *expr, eg_symbolic_variables variables,
                                    eg_symbolic_terms *inout, uint32_t *out_term);

/// Reads a text of one term without variables. Fails with EGRAPH_E_PARSE.
egraph_status eg_symbolic_parse_term(eg_atoms *atoms, eg_arena *arena, const char *file,
                                     const char *text, size_t size,
                                     eg_symbolic_terms *out, uint32_t *out_root);

/// One direction of a rule. Arrays are in the arena; terms [0, lhs_term_count)
/// are the left sides.
typedef struct eg_symbolic_rule {
  const char *name;
  const eg_pattern_term *terms;
  const uint32_t *children;
  uint32_t term_count, lhs_term_count, child_count, lhs_child_count, var_count;
  const uint32_t *lhs, *rhs; // [root_count]
  uint32_t root_count;
  const bool *is_root; // [term_count] a right side that is no bare variable
} eg_symbolic_rule;

egraph_status eg_symbolic_read_rule(eg_atoms *atoms, egraph_allocator scratch,
                                    const char *file, const eg_sexpr *form, bool reversed,
                                    eg_symbolic_rule *out, bool *out_both_ways);

const eg_symbolic_rule *eg_symbolic_rule_at(const eg_symbolic *symbolic, uint32_t rule);
eg_atoms *eg_symbolic_atoms(eg_symbolic *symbolic);
egraph_allocator eg_symbolic_allocator(const eg_symbolic *symbolic);
uint32_t eg_symbolic_atom_count(const eg_symbolic *symbolic);
/// Returns the bytes that the e-graph, its symbols and rules use.
size_t eg_symbolic_bytes(const eg_symbolic *symbolic);
/// Replaces the engine of `symbolic` by `engine`, whose operators are its atoms, and
/// destroys the old engine with its pushed states.
void eg_symbolic_adopt(eg_symbolic *symbolic, eg_engine *engine);

#endif
