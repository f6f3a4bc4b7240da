// Patterns, their compilation to matching programs, and the matcher.
//
// A pattern has one root or several (multi-pattern). Roots share class variables; the
// matcher joins several roots on shared variables through an index, never as a Cartesian
// product when they share one. Terms are numbered as in the pattern's array `terms`; a
// match reports the class of every variable and root, and the e-node matched by every
// NODE term, so that the caller can read payloads. Source: de Moura & Bjorner, "Efficient
// E-matching" (CADE'07); egg machine; Tensat section 4 (multi).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_PATTERN_H
#define EG_EGRAPH_PATTERN_H

#include "base/owner.h"
#include "egraph/engine.h"

typedef enum eg_pattern_kind { EG_PATTERN_VAR, EG_PATTERN_NODE } eg_pattern_kind;

#define EG_PATTERN_ANY_PAYLOAD UINT32_MAX

typedef struct eg_pattern_term {
  eg_pattern_kind kind;
  uint32_t var;      // VAR: index of the class variable
  uint32_t op;       // NODE
  uint32_t guard;    // NODE: number for `accept`, or EG_PATTERN_ANY_PAYLOAD
  bool exact;        // NODE: the payload must be `payload` (and pass the guard, if any)
  uint32_t payload;  // NODE, exact
  uint32_t arity;    // NODE
  uint32_t children; // NODE: index of the first child in eg_pattern.children
} eg_pattern_term;

typedef struct eg_pattern {
  const eg_pattern_term *terms;
  uint32_t term_count;
  const uint32_t *children; // term indices
  uint32_t child_count;
  // Roots: indices of `terms`, at least one. A VAR root that no term binds matches
  // all classes.
  const uint32_t *roots;
  uint32_t root_count;
  uint32_t var_count;
} eg_pattern;

/// A match, borrowed during on_match.
typedef struct eg_match {
  const eg_class *vars;  // [var_count], canonical; EG_CLASS_NONE: does not occur
  const eg_class *roots; // [root_count], canonical
  const eg_node *nodes;  // [term_count]; EG_NODE_NONE for VAR terms
  bool is_fresh;         // some node, or some class of a VAR root, is fresh
} eg_match;

typedef struct eg_matcher eg_matcher;

/// Compiles (and copies) a pattern. A term may be the child of several other terms, which
/// then share its class. Ignores terms that no root reaches. Fails with EGRAPH_E_ARGUMENT
/// when the pattern is malformed (an index out of range, no root, a term below itself).
egraph_status eg_matcher_create(const egraph_allocator *alloc, const eg_pattern *pattern,
                                eg_matcher **out);
void eg_matcher_destroy(eg_matcher *program);
EG_HOLDER_DEFINE(eg_matcher)
/// Returns the NODE terms in the order in which a search matches them:
/// [*out_count], borrowed.
const uint32_t *eg_matcher_order(const eg_matcher *program, uint32_t *out_count);

typedef struct eg_search {
  /// True when a payload fits guard number `guard`; may be NULL when no term has a guard.
  bool (*accept)(void *user, uint32_t guard, uint32_t op, uint32_t payload);
  /// Receives each match once, in a deterministic order; sets *pause to pause the search
  /// after this match.
  egraph_status (*on_match)(void *user, const eg_match *match, bool *pause);
  /// Called when a NODE term has matched: `step` counts as in eg_matcher_order; `so_far`
  /// has the nodes of this and earlier steps, the variables that are their operands, and
  /// no roots. Returns false to skip the node. May be NULL.
  bool (*is_possible)(void *user, uint32_t step, const eg_match *so_far);
  void *user;
  bool fresh_only; // only fresh matches (see eg_engine_start_epoch)
} eg_search;

/// Finds all matches of a pattern on a clean engine, without changes; a pause ends the
/// search. A match is one choice of nodes for NODE terms and classes for variables.
/// Scratch memory does not grow with the matches. Fails with EGRAPH_E_ARGUMENT (a guard
/// without `accept`, a dirty engine), EGRAPH_E_MEMORY, or as on_match does.
egraph_status eg_matcher_search(const eg_matcher *program, const eg_engine *engine,
                                const eg_search *search);

// ---- searching in parts ---------------------------------------------------------------
//
// Splits a search for matches into parts, which together find each match once. Several
// threads can search them at the same time, and their matches can be applied
// (eg_engine_add, eg_engine_unite) before the others are found: until the next rebuild a
// search sees the engine as the last rebuild left it.

typedef struct eg_part {
  uint32_t plan, first, count;
  bool in_changed; // first nodes are changed nodes; false: new nodes
  bool is_full;    // the plan visits all nodes; false: only fresh nodes
} eg_part;
EG_VEC_DEFINE(eg_parts, eg_part);

/// Splits a search: appends parts with `candidates` first nodes each (more when there are
/// very many nodes); none when there is no match. The search enters at the term with the
/// fewest nodes, or, with fresh_only, at fresh nodes. Fails with EGRAPH_E_ARGUMENT (a
/// guard without `accept`, a rebuild that failed) or EGRAPH_E_MEMORY.
egraph_status eg_matcher_split(const eg_matcher *program, const eg_engine *engine,
                               const eg_search *search, uint32_t candidates,
                               eg_parts *inout_parts);

/// A search that can be paused.
typedef struct eg_cursor eg_cursor;

/// Creates a cursor at the start of a part; copies `search`. Fails with EGRAPH_E_MEMORY.
egraph_status eg_cursor_create(egraph_allocator alloc, const eg_matcher *program,
                               const eg_engine *engine, const eg_search *search,
                               eg_part part, eg_cursor **out);
void eg_cursor_destroy(eg_cursor *cursor);
EG_HOLDER_DEFINE(eg_cursor)
/// Searches until the cursor's part is done, on_match pauses, or `max_steps` steps
/// are made.
egraph_status eg_cursor_run(eg_cursor *cursor, uint64_t max_steps, bool *out_done);
/// Returns the number of nodes tried so far, a measure of work independent of the clock.
uint64_t eg_cursor_looked_at(const eg_cursor *cursor);

#endif
