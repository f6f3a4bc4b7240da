// Reads terms and expressions of rules from S-expressions, and checks names, arities and
// kinds on the way: rule_reader.c names and expressions, rule_read_terms.c terms.
//
// Recursion follows the nesting of the text, which base/sexpr.h limits to
// EG_SEXPR_MAX_DEPTH.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RULE_READER_H
#define EG_REWRITES_RULE_READER_H

#include "rewrites/language/rule_ast.h"

EG_VEC_DEFINE(eg_rule_vars, eg_rule_var);
EG_VEC_DEFINE(eg_rule_terms, eg_rule_term);
EG_VEC_DEFINE(eg_rule_exprs, eg_rule_expr);
EG_VEC_DEFINE(eg_rule_lets, eg_rule_let);
EG_VEC_DEFINE(eg_rule_roots, eg_rule_root);

/// A computed attribute of a pattern, which is read after all variables of the left side.
typedef struct eg_rule_late_slot {
  eg_op op;
  uint16_t attr;
  eg_rule_slot *slot;
  const eg_sexpr *at;
} eg_rule_late_slot;
EG_VEC_DEFINE(eg_rule_late_slots, eg_rule_late_slot);

/// A parallel operator around a term, which is read after all variables of the rule.
typedef struct eg_rule_late_move {
  uint32_t term;
  const eg_sexpr *at;
} eg_rule_late_move;
EG_VEC_DEFINE(eg_rule_late_moves, eg_rule_late_move);

typedef struct eg_rule_reader {
  eg_arena *arena; // memory for everything that the rule keeps
  const char *file;
  bool in_pattern;
  uint32_t pattern_vars;
  eg_rule_vars vars;
  eg_rule_terms terms;
  eg_rule_exprs exprs;
  eg_rule_lets lets;
  eg_rule_roots roots;
  eg_rule_late_slots late;
  eg_rule_late_moves moves;
  eg_u32s conditions;
  eg_text scratch;
} eg_rule_reader;

/// Initializes a reader of rules; the caller then sets arena and file.
void eg_rule_reader_init(eg_rule_reader *reader, egraph_allocator scratch);
void eg_rule_reader_deinit(eg_rule_reader *reader);

/// Returns the number of the variable called `name`, or EG_RULE_NONE.
uint32_t eg_rule_reader_find(const eg_rule_reader *reader, const char *name);
egraph_status eg_rule_reader_declare(eg_rule_reader *reader, const char *name,
                                     eg_rule_kind kind, eg_rule_var_origin origin,
                                     uint32_t *out_var);
/// True for an atom that spells a variable: '?' and at least one more character.
bool eg_rule_is_variable(const eg_sexpr *expr);

/// True for a list that begins with an atom, (word ...).
bool eg_rule_has_head(const eg_sexpr *expr);
/// True for an atom :word.
bool eg_rule_is_key(const eg_sexpr *expr);
/// Fails with a message that nothing binds a variable.
egraph_status eg_rule_fail_unbound(const eg_rule_reader *reader, const eg_sexpr *var);

/// Reads a pattern (if reader->in_pattern) or a term of a right side.
egraph_status eg_rule_read_term(eg_rule_reader *reader, const eg_sexpr *expr,
                                uint32_t *out_term);
/// Reads an expression of any kind.
egraph_status eg_rule_read_expr(eg_rule_reader *reader, const eg_sexpr *expr,
                                uint32_t *out_expr);
/// Fails unless the expression has this kind, or is a constant that can have this kind.
egraph_status eg_rule_want_kind(eg_rule_reader *reader, const eg_sexpr *at, uint32_t expr,
                                eg_rule_kind kind);
/// True when the value of a let is a term and no expression.
bool eg_rule_reads_as_term(const eg_rule_reader *reader, const eg_sexpr *expr);
/// Reads the computed attributes of patterns that were postponed.
egraph_status eg_rule_read_late(eg_rule_reader *reader);

/// Reads the postponed attributes of parallel operators, and sets the parallel operators
/// of the rule. Variables that occur nowhere else become layout variables.
egraph_status eg_rule_read_moves(eg_rule_reader *reader, eg_rule *rule);

/// True for an atom of small letters, digits and '-', as rule names are.
bool eg_rule_is_name(const eg_sexpr *expr);
/// Fails unless the second word of the form is a name; `what` is the first word.
egraph_status eg_rule_check_name(const char *file, const eg_sexpr *form,
                                 const char *what);
/// Makes the name of the second direction of a rule: "NAME-reversed".
egraph_status eg_rule_reversed_name(eg_arena *arena, const char *name, const char **out);
/// Reads the terms of a side, (lhs ...) or (rhs ...), as its roots.
egraph_status eg_rule_read_roots(eg_rule_reader *reader, const eg_sexpr *side);
/// Copies an array into the arena; out_pointer is the address of a pointer
/// to its elements.
egraph_status eg_rule_keep_bytes(eg_arena *arena, const void *data, size_t count,
                                 size_t size, void *out_pointer);
#define EG_RULE_KEEP(arena, vec, out)                                                    \
  eg_rule_keep_bytes((arena), (vec).data, (vec).len, sizeof *(vec).data, (out))
/// Copies the terms, expressions and variables that were read into the arena, and sets
/// the arrays of the rule. The first root_count roots are its left sides.
egraph_status eg_rule_keep(eg_rule_reader *reader, eg_rule *rule);

#endif
