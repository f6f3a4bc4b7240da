// Saturates plain terms: heads are any atoms, with any number of operands, and have no
// meaning. Uses the same engine, matcher, loop and budgets as for tensors, without types.
//
//   (egraph-rules 1 symbolic)
//   (rule distribute (lhs (* ?a (+ ?b ?c))) (rhs (+ (* ?a ?b) (* ?a ?c))) both-ways)
//
// A rule has as many left as right sides (two or more: a multi-pattern); a single left
// side may be a bare variable and then matches every class. (source "...") is optional.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_H
#define EG_REWRITES_SYMBOLIC_H

#include "base/owner.h"
#include "egraph/pattern.h"
#include "rewrites/saturation/saturate.h"

typedef struct eg_symbolic eg_symbolic;

egraph_status eg_symbolic_create(const egraph_allocator *alloc, eg_symbolic **out);
void eg_symbolic_destroy(eg_symbolic *symbolic);
EG_HOLDER_DEFINE(eg_symbolic)

/// Adds the rules of a text. Fails with EGRAPH_E_PARSE "file:line:col: what; remedy" and
/// then adds no rule.
egraph_status eg_symbolic_add_rules(eg_symbolic *symbolic, const char *file,
                                    const char *text, size_t size);
uint32_t eg_symbolic_rule_count(const eg_symbolic *symbolic);

/// Adds one term without variables to the e-graph; *out is its class.
egraph_status eg_symbolic_add_term(eg_symbolic *symbolic, const char *file,
                                   const char *text, size_t size, eg_class *out);
/// Saturates as eg_saturate does; report->rules is indexed by rule. Uses
/// options->use_rule, ignores multi_depth.
egraph_status eg_symbolic_saturate(eg_symbolic *symbolic,
                                   const eg_saturation_options *options,
                                   eg_saturation_report *out_report);

/// Appends the smallest term of a class, and counts its nodes (each occurrence). Clean
/// e-graph. O(nodes) in practice. Fails with EGRAPH_E_UNSUPPORTED when the term has more
/// than EG_SYMBOLIC_MAX_PRINTED nodes.
egraph_status eg_symbolic_smallest(const eg_symbolic *symbolic, eg_class class,
                                   eg_text *out, uint64_t *out_size);
enum { EG_SYMBOLIC_MAX_PRINTED = 1 << 20 };
/// Receives, in order, the smallest term of each class: its text, borrowed during the
/// call (NULL: more than EG_SYMBOLIC_MAX_PRINTED nodes), and its number of nodes. Sizes
/// are computed once, in O(nodes in practice); each text adds its length.
typedef void (*eg_smallest_report)(void *user, size_t index, const char *text,
                                   uint64_t size);
egraph_status eg_symbolic_smallest_each(const eg_symbolic *symbolic,
                                        egraph_allocator alloc, const eg_class *classes,
                                        size_t count, eg_smallest_report report,
                                        void *user);

/// Save, restore, and forget the terms, their equalities, and the number of rules; see
/// egraph/engine.h. pop drops the rules added since the push; symbols keep their numbers.
/// (Do not mix these calls with push and pop of the engine.)
egraph_status eg_symbolic_push(eg_symbolic *symbolic);
egraph_status eg_symbolic_pop(eg_symbolic *symbolic);
egraph_status eg_symbolic_drop(eg_symbolic *symbolic);

eg_engine *eg_symbolic_engine(eg_symbolic *symbolic);
const eg_engine *eg_symbolic_engine_of(const eg_symbolic *symbolic);
/// Finds or makes the number of a symbol; adds no node. Fails with EGRAPH_E_ARGUMENT when
/// the text is no symbol (blanks, brackets, quotes, a variable), EGRAPH_E_UNSUPPORTED
/// (too many symbols), EGRAPH_E_MEMORY. O(length) expected.
egraph_status eg_symbolic_symbol(eg_symbolic *symbolic, const char *text, uint32_t *out);
/// Returns the atom that belongs to an operator number of the engine.
const char *eg_symbolic_atom(const eg_symbolic *symbolic, uint32_t op);

typedef struct eg_symbolic_pattern {
  eg_arena arena;
  eg_matcher *matcher;
  const char *const *names; // [var_count], in order of first occurrence
  uint32_t var_count, root_count;
} eg_symbolic_pattern;

/// Reads a text of one pattern or several. Call eg_symbolic_pattern_deinit after a
/// failure, too. Fails with EGRAPH_E_PARSE "file:line:col: what; remedy".
egraph_status eg_symbolic_pattern_init(eg_symbolic_pattern *pattern,
                                       eg_symbolic *symbolic, egraph_allocator alloc,
                                       const char *file, const char *text, size_t size);
void eg_symbolic_pattern_deinit(eg_symbolic_pattern *pattern);

#endif
